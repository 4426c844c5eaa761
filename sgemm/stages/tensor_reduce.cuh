/* sgemm/stages/tensor_reduce.cuh: the end of a tile in the reducing kernels of the engine wgmma. The results go through
   the epilogue of the call, and each row of the tile becomes a partial value. No result is stored. */
#ifndef SGEMM_STAGES_TENSOR_REDUCE_CUH
#define SGEMM_STAGES_TENSOR_REDUCE_CUH

#define SGEMM__TENSOR_REDUCE_BN 256 /* columns of the tiles */

/* Column v of the 4 that a thread has among 16, from its first one on. */
SGEMM__DEVICE int sgemm__column_of(int v) { return v / 2 * 8 + v % 2; }

/* Loads B's block scales and the elements of the vector along n for a thread's columns in the `width` columns from
   column `from` of the tile on. left: columns of the result from the thread's first one on. vec_n: the element for the
   thread's first column, or NULL. */
SGEMM__DEVICE void sgemm__tensor_load_vectors(const sgemm__tensor_results *own, int from, int width, int left,
                                              const float *vec_n, float *scale, float *along_n) {
  int j;
  sgemm__tensor_load_scales(own, from, width, scale);
  SGEMM__UNROLL
  for (j = 0; j < width / 8 && vec_n != NULL; j++)
    sgemm__load_first2(along_n + j * 2, vec_n + from + j * 8, left - (from + j * 8));
}

/* Adds a thread's results in 2 rows, r and r + 8, to 4 partial values of each row: number v is of the columns
   16 j + sgemm__column_of(v). Its index is stored without sgemm__column_of(v), which sgemm__combine_quad() adds. Each
   pass of a loop adds the results of 64 columns and rotates the others to their place, as in
   sgemm__tensor_store_general(). number: the number of the epilogue, a literal. along_m: the elements of the vector
   along m for the two rows. */
SGEMM__DEVICE void sgemm__tensor_reduce_rows(const sgemm__args *p, int number, int reduction,
                                             const sgemm__tensor_results *own, const float *along_m, float *acc,
                                             float *value, int *index) {
  enum { WIDTH = 64, COLUMNS = SGEMM__TENSOR_REDUCE_BN }; /* columns of a pass, and of all */
  const sgemm__epilogue_args *e = &p->epilogue;
  const float *vec_n = e->vec_n != NULL ? e->vec_n + own->col : NULL;
  const int left = sgemm__clip(p->n - own->col, COLUMNS); /* columns of the result from the thread's first one on */
  sgemm__epilogue_values values = sgemm__epilogue_values_of(e, 0);
  float scale[WIDTH / 4], along_n[WIDTH / 4] = {0.0f}, x[WIDTH / 4];
  int from, g, h, j;
  SGEMM__UNROLL_BY(1)
  for (from = 0; from < COLUMNS; from += WIDTH) {
    sgemm__tensor_load_vectors(own, from, WIDTH, left, vec_n, scale, along_n);
    SGEMM__UNROLL
    for (h = 0; h < 2; h++) {
      SGEMM__UNROLL
      for (g = 0; g < WIDTH / 16; g++) {
        SGEMM__UNROLL
        for (j = 0; j < 4; j++)
          values.sum[j] = sgemm__scale(p, acc[g * 8 + j / 2 * 4 + h * 2 + j % 2] * scale[g * 4 + j]);
        sgemm__set_biases(0, along_m[h], along_n + g * 4, 4, &values);
        sgemm__evaluate(number, 4, &values, x + g * 4);
      }
      if (left < from + WIDTH) {
        SGEMM__UNROLL
        for (j = 0; j < WIDTH / 4; j++)
          if (from + j / 4 * 16 + sgemm__column_of(j % 4) >= left)
            x[j] = sgemm__neutral_element(reduction);
      }
      sgemm__add_elements(reduction, 4, WIDTH / 4, x, (int)own->col + from, 0, 16, value + h * 4, index + h * 4);
    }
    SGEMM__UNROLL
    for (j = 0; j < COLUMNS / 2 - WIDTH / 2; j++)
      acc[j] = acc[j + WIDTH / 2];
  }
}

/* value, index of the first of 4 partial values <- those of a row over the four lanes of a quad. All lanes of the warp
   call it. */
SGEMM__DEVICE void sgemm__combine_quad(int reduction, float *value, int *index) {
  float words[4] = {0.0f};
  int mask, v;
  SGEMM__UNROLL
  for (v = 0; v < 4; v++)
    index[v] += sgemm__column_of(v);
  SGEMM__UNROLL
  for (v = 1; v < 4; v++)
    sgemm__combine_value(reduction, value, index, value[v], index[v]);
  SGEMM__UNROLL
  for (mask = 1; mask <= 2; mask *= 2) {
    words[0] = value[0];
    words[1] = sgemm__float_of((uint32_t)index[0]);
    sgemm__shuffle_xor4(words, mask);
    sgemm__combine_value(reduction, value, index, words[0], (int)sgemm__bits_of(words[1]));
  }
}

/* Reduces a warp's 16 rows of a tile, from tile_row on. Lanes 0 and 1 of a quad store the values of its rows r and
   r + 8. */
SGEMM__DEVICE void sgemm__tensor_reduce(const sgemm__tensor_args *args, const sgemm__tensor_unit *unit, int tile_row,
                                        float *acc) {
  const sgemm__args *p = &args->gemm;
  const sgemm__tensor_results own = sgemm__tensor_results_of(args, unit, tile_row, 0);
  const int64_t matrix_row = unit->batch * p->m + own.row; /* among the rows of all matrices */
  const int64_t number = matrix_row * p->tiles_n + unit->col / SGEMM__TENSOR_REDUCE_BN;
  const int q = sgemm__thread() % 4;
  float value[2 * 4], along_m[2] = {0.0f};
  int index[2 * 4], h, v;
  SGEMM__UNROLL
  for (h = 0; h < 2; h++)
    if (p->epilogue.vec_m != NULL && own.row + h * 8 < p->m)
      along_m[h] = sgemm__load_global(p->epilogue.vec_m + matrix_row + h * 8);
  SGEMM__UNROLL
  for (v = 0; v < 8; v++) {
    value[v] = sgemm__value_of_none(args->reduction);
    index[v] = (int)own.col; /* columns beyond the last lose against all others */
  }
  switch (p->epilogue.number) {
#define SGEMM__X(name, reads, expression, what)                                                                        \
  case SGEMM_EPILOGUE_##name:                                                                                          \
    if (SGEMM__IN_TILES(name))                                                                                         \
      sgemm__tensor_reduce_rows(p, SGEMM_EPILOGUE_##name, args->reduction, &own, along_m, acc, value, index);          \
    break;
    SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X
  }
  SGEMM__UNROLL
  for (h = 0; h < 2; h++) {
    sgemm__combine_quad(args->reduction, value + h * 4, index + h * 4);
    if (q == h && own.row + h * 8 < p->m)
      sgemm__store_tile_value(args->tile_values, number + h * 8 * (int64_t)p->tiles_n, value[h * 4], index[h * 4]);
    sgemm__converge();
  }
}

#endif /* SGEMM_STAGES_TENSOR_REDUCE_CUH */
