/* sgemm/device/apply_epilogue.cuh: the results of a thread through the expression of an epilogue. */
#ifndef SGEMM_DEVICE_APPLY_EPILOGUE_CUH
#define SGEMM_DEVICE_APPLY_EPILOGUE_CUH

/* 1 if the results of a kernel go through the call's epilogue. */
#ifndef SGEMM__APPLIES_EPILOGUE
#define SGEMM__APPLIES_EPILOGUE(p) ((p)->applies_epilogue)
#endif

/* The function of each row of the table. Its parameters are the values that the row lists, so that another value does
   not compile. */
#define SGEMM__UNPACK(...) __VA_ARGS__
#define SGEMM__DECLARATION(value) SGEMM__DECLARATION_##value
#define SGEMM__DECLARATION_sum float sum
#define SGEMM__DECLARATION_c float c
#define SGEMM__DECLARATION_vec_m float vec_m
#define SGEMM__DECLARATION_vec_n float vec_n
#define SGEMM__DECLARATION_bias float bias
#define SGEMM__DECLARATION_e float e
#define SGEMM__DECLARATION_aux float *aux
#define SGEMM__DECLARATION_row int64_t row
#define SGEMM__DECLARATION_col int64_t col
#define SGEMM__DECLARATION_s float s
#define SGEMM__DECLARATION_t float t
#define SGEMM__DECLARATIONS(...) SGEMM__EACH(SGEMM__DECLARATION, SGEMM__COMMA, __VA_ARGS__)
#define SGEMM__X(name, reads, expression, what)                                                                        \
  SGEMM__DEVICE float sgemm_epilogue_##name(SGEMM__DECLARATIONS reads) { return expression; }
SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X

/* Where an output vector of a thread lies: its matrix of the batch, the row and column of its first element. */
typedef struct sgemm__position {
  int64_t matrix, row, col;
} sgemm__position;

/* The position of the first element of a tile. tile: its address in D. The matrices of a batch follow each other, or
   their rows are interleaved (sgemm__batch_disjoint()). */
SGEMM__DEVICE sgemm__position sgemm__position_of(const sgemm__args *p, const float *tile) {
  const int64_t offset = tile - p->C;
  sgemm__position at = {0, 0, 0};
  int64_t rest = offset;
  if (p->batch > 1 && p->stride_c >= (p->m - 1) * p->ldc + p->n) {
    at.matrix = offset / p->stride_c;
    rest = offset - at.matrix * p->stride_c;
  }
  at.row = rest / p->ldc;
  at.col = rest - at.row * p->ldc;
  if (p->batch > 1 && at.col >= p->stride_c && p->stride_c < (p->m - 1) * p->ldc + p->n) {
    at.matrix = at.col / p->stride_c;
    at.col -= at.matrix * p->stride_c;
  }
  return at;
}

/* The values of 4 elements of a row, for the expressions. */
typedef struct sgemm__epilogue_values {
  float sum[4], c[4], vec_m[4], vec_n[4], bias[4], e[4], aux[4];
  float s, t;
  int64_t row, col; /* of the first element, row-major */
  int col_major;    /* 1: the caller's matrices are column-major: its row is the column here */
} sgemm__epilogue_values;

/* r <- the expression of an epilogue for the first `count` of 4 elements. wide, a literal: 1 evaluates all four at a
   time, whose independent instructions hide latency; 0 one at a time, in a quarter of the code. */
#define SGEMM__VALUE(value) SGEMM__VALUE_##value
#define SGEMM__VALUE_sum values->sum[v]
#define SGEMM__VALUE_c values->c[v]
#define SGEMM__VALUE_vec_m values->vec_m[v]
#define SGEMM__VALUE_vec_n values->vec_n[v]
#define SGEMM__VALUE_bias values->bias[v]
#define SGEMM__VALUE_e values->e[v]
#define SGEMM__VALUE_aux (values->aux + v)
#define SGEMM__VALUE_row (values->col_major ? values->col + v : values->row)
#define SGEMM__VALUE_col (values->col_major ? values->row : values->col + v)
#define SGEMM__VALUE_s values->s
#define SGEMM__VALUE_t values->t
#define SGEMM__VALUES(...) SGEMM__EACH(SGEMM__VALUE, SGEMM__COMMA, __VA_ARGS__)
SGEMM__DEVICE void sgemm__evaluate(int epilogue, int wide, int count, sgemm__epilogue_values *values, float *r) {
  int first, v;
  SGEMM__UNROLL_BY(1)
  for (first = 0; first < (wide ? 1 : count); first++) {
    switch (epilogue) {
#define SGEMM__X(name, reads, expression, what)                                                                        \
  case SGEMM_EPILOGUE_##name:                                                                                          \
    SGEMM__UNROLL                                                                                                      \
    for (v = first; v < (wide ? 4 : first + 1); v++)                                                                   \
      r[v] = sgemm_epilogue_##name(SGEMM__VALUES reads);                                                               \
    break;
      SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X
    }
  }
}

/* Loads and stores the first `count` of 4 consecutive elements; a count of 0 or less accesses nothing. */
SGEMM__DEVICE void sgemm__load_values(float *r, const float *p, int count) {
  int v;
  if (count == 4 && (uintptr_t)p % 16 == 0) {
    sgemm__load_result4(r, p);
  } else {
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      if (v < count)
        r[v] = sgemm__load_result(p + v);
  }
  sgemm__converge();
}

SGEMM__DEVICE void sgemm__store_values(float *p, const float *r, int count) {
  int v;
  if (count == 4 && (uintptr_t)p % 16 == 0) {
    sgemm__store_global4(p, r);
  } else if (count == 2 && (uintptr_t)p % 8 == 0) {
    sgemm__store_global2(p, r[0], r[1]);
  } else {
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      if (v < count)
        sgemm__store_global(p + v, r[v]);
  }
  sgemm__converge();
}

/* Where the results of a thread lie in a tile: in vectors of `width` elements of a row, numbered from `first` on.
   Vector i, with r = i / per_row and q = i % per_row, begins in row `row + r / group * row_stride + r % group` and in
   column `col + q * col_stride`. group and per_row are powers of two, given by their logarithms. */
typedef struct sgemm__result_layout {
  int row, col, row_stride, col_stride, first;
  int width, log2_group, log2_per_row;
} sgemm__result_layout;

/* The first element of an output vector, and its elements inside D, not above 0 if there are none. */
typedef struct sgemm__result_vector {
  int64_t row, col;
  int exist;
} sgemm__result_vector;

SGEMM__DEVICE sgemm__result_vector sgemm__result_vector_at(const sgemm__args *p, const sgemm__result_layout *l,
                                                           const sgemm__position *at, int vector) {
  const int number = l->first + vector, r = number >> l->log2_per_row, group = 1 << l->log2_group;
  sgemm__result_vector to;
  to.row = at->row + l->row + r / group * l->row_stride + r % group;
  to.col = at->col + l->col + (number - (r << l->log2_per_row)) * l->col_stride;
  to.exist = to.row < p->m ? sgemm__clip(p->n - to.col, l->width) : 0;
  return to;
}

/* Loads the elements of the caller's vectors for an output vector; an absent vector is zeros. */
SGEMM__DEVICE void sgemm__load_biases(const sgemm__epilogue_args *e, const sgemm__position *at,
                                      const sgemm__result_vector *to, sgemm__epilogue_values *values) {
  float along_m = 0.0f, along_n[4] = {0.0f};
  int v;
  if (e->vec_m != NULL && to->exist > 0)
    along_m = sgemm__load_global(e->vec_m + at->matrix * e->stride_vec_m + to->row);
  sgemm__converge();
  if (e->vec_n != NULL)
    sgemm__load_values(along_n, e->vec_n + at->matrix * e->stride_vec_n + to->col, to->exist);
  SGEMM__UNROLL
  for (v = 0; v < 4; v++) {
    values->vec_m[v] = e->col_major ? along_n[v] : along_m;
    values->vec_n[v] = e->col_major ? along_m : along_n[v];
    values->bias[v] = along_m + along_n[v];
  }
}

/* Starts the loads of C and E for all output vectors of a thread, so that they are in the L2 when they are used. */
SGEMM__DEVICE void sgemm__prefetch_values(const sgemm__args *p, const sgemm__result_layout *l,
                                          const sgemm__position *at, int vectors, int reads_c, int reads_e) {
  const sgemm__epilogue_args *e = &p->epilogue;
  int vector;
  SGEMM__UNROLL_BY(1)
  for (vector = 0; vector < vectors; vector++) {
    const sgemm__result_vector to = sgemm__result_vector_at(p, l, at, vector);
    if (to.exist > 0 && reads_c)
      sgemm__prefetch(e->C + at->matrix * e->stride_c + to.row * e->ldc + to.col);
    if (to.exist > 0 && reads_e)
      sgemm__prefetch(e->E + at->matrix * e->stride_e + to.row * e->lde + to.col);
  }
}

/* D <- the expression of the call's epilogue, for `vectors` output vectors of a thread, at most
   SGEMM__EPILOGUE_VECTORS. tile: address of the tile's first element in D. acc: the sums of products, 4 floats for each
   vector, in local memory. wide: see sgemm__evaluate(). */
#define SGEMM__EPILOGUE_VECTORS 8
SGEMM__DEVICE void sgemm__apply_to_results(const sgemm__args *p, const float *tile, const sgemm__result_layout *l,
                                           int wide, int vectors, const float *acc) {
  const sgemm__epilogue_args *e = &p->epilogue;
  const sgemm__position at = sgemm__position_of(p, tile);
  const float alpha = e->alpha != NULL ? sgemm__load_global(e->alpha) : p->alpha;
  const float beta = e->beta != NULL ? sgemm__load_global(e->beta) : p->beta;
  const float zero = beta != 0.0f ? -0.0f : 0.0f; /* the scaled sum for alpha = 0 in device memory */
  const int reads_c = beta != 0.0f || (e->reads & SGEMM__READS_c) != 0, reads_e = (e->reads & SGEMM__READS_e) != 0;
  sgemm__epilogue_values values = {{0.0f}, {0.0f}, {0.0f}, {0.0f}, {0.0f}, {0.0f}, {0.0f},
                                   e->s,   e->t,   0,      0,      e->col_major};
  float result[4] = {0.0f};
  int vector, v;
  if (wide && (reads_c || reads_e))
    sgemm__prefetch_values(p, l, &at, vectors, reads_c, reads_e);
  SGEMM__UNROLL_BY(1)
  for (vector = 0; vector < vectors; vector++) {
    const sgemm__result_vector to = sgemm__result_vector_at(p, l, &at, vector);
    values.row = e->row + to.row;
    values.col = e->col + to.col;
    if (reads_c)
      sgemm__load_values(values.c, e->C + at.matrix * e->stride_c + to.row * e->ldc + to.col, to.exist);
    if (reads_e)
      sgemm__load_values(values.e, e->E + at.matrix * e->stride_e + to.row * e->lde + to.col, to.exist);
    if (e->vec_m != NULL || e->vec_n != NULL)
      sgemm__load_biases(e, &at, &to, &values);
    SGEMM__UNROLL
    for (v = 0; v < 4; v++) {
      const float scaled = e->alpha != NULL && alpha == 0.0f ? zero : alpha * acc[vector * 4 + v];
      values.sum[v] = beta != 0.0f ? sgemm__fma(beta, values.c[v], scaled) : scaled;
    }
    sgemm__evaluate(e->number, wide, l->width, &values, result);
    sgemm__store_values(p->C + at.matrix * p->stride_c + to.row * p->ldc + to.col, result, to.exist);
    if (e->aux != NULL)
      sgemm__store_values(e->aux + at.matrix * e->stride_aux + to.row * e->ld_aux + to.col, values.aux, to.exist);
  }
}

/* The same as functions that kernels call. One body in a kernel, with loops that are not unrolled, costs little code,
   and the main loop keeps its registers (docs/notebook/epilogues.md). */
SGEMM__NOINLINE void sgemm__apply_wide(const sgemm__args *p, const float *tile, sgemm__result_layout l, int vectors,
                                       const float *acc) {
  sgemm__apply_to_results(p, tile, &l, 1, vectors, acc);
}
SGEMM__NOINLINE void sgemm__apply_narrow(const sgemm__args *p, const float *tile, sgemm__result_layout l,
                                         const float *acc) {
  sgemm__apply_to_results(p, tile, &l, 0, 1, acc);
}

/* D <- the expression for one vector of `width` results, from (row, col) of the tile on. */
SGEMM__DEVICE void sgemm__apply_to_vector(const sgemm__args *p, const float *tile, int row, int col, int width,
                                          const float *acc) {
  const sgemm__result_layout l = {row, col, 0, 0, 0, width, 0, 0};
  float sums[4] = {0.0f};
  int v;
  SGEMM__UNROLL
  for (v = 0; v < width; v++)
    sums[v] = acc[v];
  sgemm__apply_narrow(p, tile, l, sums);
}

#endif /* SGEMM_DEVICE_APPLY_EPILOGUE_CUH */
