/* sgemm/stages/tma_reduce.cuh: the end of a tile in the reducing kernel of the stage tma. The results go through the
   epilogue of the call, and each row of the tile becomes a partial value. No result is stored. */
#ifndef SGEMM_STAGES_TMA_REDUCE_CUH
#define SGEMM_STAGES_TMA_REDUCE_CUH

#if SGEMM__HAS_TMA

/* Floats of shared memory of the reducing kernel, see sgemm__reduce_unit(): a partial value for each row of the tile
   and each warp along n, twice. */
#define SGEMM__TMA_REDUCE_FLOATS(BM, BN, WN) (2 * 2 * (BM) * ((BN) / (WN)))

/* The elements of the caller's vectors for a lane's 8 rows of 4 columns; zeros where there is none. */
typedef struct sgemm__lane_biases {
  float along_m[8], along_n[4];
} sgemm__lane_biases;

SGEMM__DEVICE void sgemm__load_lane_biases(const sgemm__args *p, const sgemm__tile_descriptor *tile,
                                           const sgemm__thread_tile *own, sgemm__lane_biases *biases) {
  const sgemm__epilogue_args *e = &p->epilogue;
  int i;
  SGEMM__UNROLL
  for (i = 0; i < 8; i++)
    biases->along_m[i] = 0.0f;
  SGEMM__UNROLL
  for (i = 0; i < 4; i++)
    biases->along_n[i] = 0.0f;
  SGEMM__UNROLL
  for (i = 0; i < 2 && e->vec_m != NULL; i++) {
    const int row = own->row + i * own->row_stride;
    sgemm__load_values(biases->along_m + i * 4, e->vec_m + tile->offset + row, 4, sgemm__clip(tile->rows - row, 4));
  }
  if (e->vec_n != NULL)
    sgemm__load_values(biases->along_n, e->vec_n + tile->col + own->col, 4, sgemm__clip(tile->cols - own->col, 4));
}

/* Adds a lane's 8 rows of 4 results to 8 partial values. number: that of the epilogue, a literal. acc: the sums of
   products, row by row. */
SGEMM__DEVICE void sgemm__reduce_lane_rows(const sgemm__args *p, int number, int reduction,
                                           const sgemm__tile_descriptor *tile, int own_col,
                                           const sgemm__lane_biases *biases, const float *acc, float *value,
                                           int *index) {
  const sgemm__epilogue_args *e = &p->epilogue;
  sgemm__epilogue_values values = sgemm__epilogue_values_of(e, 0);
  float x[4 * 8], row[4]; /* results, column by column */
  int i, v;
  SGEMM__UNROLL
  for (i = 0; i < 8; i++) {
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      values.sum[v] = sgemm__scale(p, acc[i * 4 + v]);
    sgemm__set_biases(0, biases->along_m[i], biases->along_n, 4, &values);
    sgemm__evaluate(number, 4, &values, row);
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      x[v * 8 + i] = row[v];
  }
  if (tile->cols - own_col < 4) {
    SGEMM__UNROLL
    for (i = 0; i < 4 * 8; i++)
      if (own_col + i / 8 >= tile->cols)
        x[i] = sgemm__neutral_element(reduction);
  }
  sgemm__add_elements(reduction, 8, 4 * 8, x, tile->col + own_col, 0, 1, value, index);
}

/* Combines the partial values of `count` rows with those of the lane whose number differs in the bit `mask`. Each lane
   keeps half of the rows: the lane with bit 0 the first half. */
SGEMM__DEVICE void sgemm__combine_lane_pair(int reduction, int count, int mask, float *value, int *index) {
  const int keeps_second = (sgemm__thread() & mask) != 0, half = count / 2;
  int i, v;
  SGEMM__UNROLL
  for (i = 0; i < half; i += 2) {
    float words[4] = {0.0f}; /* value and index of two rows */
    SGEMM__UNROLL
    for (v = i; v < half && v < i + 2; v++) {
      const float first = value[v];
      const int first_index = index[v];
      words[2 * (v - i)] = keeps_second ? first : value[half + v];
      words[2 * (v - i) + 1] = sgemm__float_of((uint32_t)(keeps_second ? first_index : index[half + v]));
      value[v] = keeps_second ? value[half + v] : first;
      index[v] = keeps_second ? index[half + v] : first_index;
    }
    sgemm__shuffle_xor4(words, mask);
    SGEMM__UNROLL
    for (v = i; v < half && v < i + 2; v++)
      sgemm__combine_value(reduction, value + v, index + v, words[2 * (v - i)],
                           (int)sgemm__bits_of(words[2 * (v - i) + 1]));
  }
}

/* Reduces the rows of a tile. Both operands are K-major: after sgemm__reduce_lanes() the 8 lanes that differ in bits 1,
   2 and 3 have 4 columns each of the same 8 rows of a warp tile, and in the end one of these rows each. The warps along
   n pass their values to the first of them in shared memory. Two copies of this memory take turns: a warp writes the
   copy of this unit while others may still read that of the unit before. shared: SGEMM__TMA_REDUCE_FLOATS. number: that
   of the block's work unit. */
SGEMM__DEVICE void sgemm__reduce_unit(const sgemm__tma_args *args, const sgemm__shape *s, float *shared,
                                      uint32_t number, const sgemm__tile_descriptor *tile, float *acc) {
  const sgemm__args *p = &args->gemm;
  const sgemm__thread_tile own = sgemm__lane_result_tile(s);
  const int lane = sgemm__thread() % 32, warps_n = s->BN / s->WN, warp_n = sgemm__thread() / 32 % warps_n;
  const int row = own.row + (lane & 8) / 8 * own.row_stride + (lane & 4) / 2 + (lane & 2) / 2;
  float *of_warps = shared + (int)(number % 2) * 2 * s->BM * warps_n + 2 * row;
  sgemm__lane_biases biases;
  float value[8];
  int index[8], i, warp;
  sgemm__load_lane_biases(p, tile, &own, &biases); /* in flight during the sums over the lanes */
  sgemm__reduce_lanes(s, acc);
  SGEMM__UNROLL
  for (i = 0; i < 8; i++) {
    value[i] = sgemm__value_of_none(args->reduction);
    index[i] = tile->col + own.col; /* columns beyond the last lose against all others */
  }
  switch (p->epilogue.number) {
#define SGEMM__X(name, reads, expression, what)                                                                        \
  case SGEMM_EPILOGUE_##name:                                                                                          \
    if (SGEMM__IN_TILES(name))                                                                                         \
      sgemm__reduce_lane_rows(p, SGEMM_EPILOGUE_##name, args->reduction, tile, own.col, &biases, acc, value, index);   \
    break;
    SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X
  }
  sgemm__combine_lane_pair(args->reduction, 8, 8, value, index);
  sgemm__combine_lane_pair(args->reduction, 4, 4, value, index);
  sgemm__combine_lane_pair(args->reduction, 2, 2, value, index);
  if (warp_n > 0) {
    sgemm__store_shared(of_warps + warp_n * 2 * s->BM, value[0]);
    sgemm__store_shared(of_warps + warp_n * 2 * s->BM + 1, sgemm__float_of((uint32_t)index[0]));
  }
  sgemm__barrier_threads(SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, s->slice_k));
  if (warp_n > 0)
    return;
  SGEMM__UNROLL
  for (warp = 1; warp < warps_n; warp++)
    sgemm__combine_value(args->reduction, value, index, sgemm__load_shared(of_warps + warp * 2 * s->BM),
                         (int)sgemm__bits_of(sgemm__load_shared(of_warps + warp * 2 * s->BM + 1)));
  if (row < tile->rows)
    sgemm__store_tile_value(args->tile_values, (tile->offset + row) * p->tiles_n + tile->col / s->BN, value[0],
                            index[0]);
}

#endif

#endif /* SGEMM_STAGES_TMA_REDUCE_CUH */
