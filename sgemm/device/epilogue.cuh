/* sgemm/device/epilogue.cuh: results on their way to C: alpha, beta, edges, 128-bit stores. */
#ifndef SGEMM_DEVICE_EPILOGUE_CUH
#define SGEMM_DEVICE_EPILOGUE_CUH

/* The one place where alpha and beta are applied: what becomes of a sum x and of the old element c of C. reads_c: 1
   where beta is not 0; c is not used otherwise, so that NaN in C cannot reach the result. Partial results have alpha 1
   and beta 0. A caller that branches on beta late scales before the branch, and adds behind it: in each branch the
   scaling would be code anew. */
SGEMM__DEVICE float sgemm__scale(const sgemm__args *p, float x) { return p->alpha * x; }
SGEMM__DEVICE float sgemm__add_c(const sgemm__args *p, float scaled, float c) { return sgemm__fma(p->beta, c, scaled); }
SGEMM__DEVICE float sgemm__epilogue(const sgemm__args *p, int reads_c, float x, float c) {
  return reads_c ? sgemm__add_c(p, sgemm__scale(p, x), c) : sgemm__scale(p, x);
}

/* C <- alpha * acc + beta * C, V elements from (row, col) of the tile on, as far as they lie inside C. The one epilogue
   of every stage; into planes and partial tiles with alpha 1 and beta 0. */
SGEMM__DEVICE void sgemm__store_vector(const sgemm__args *p, int V, const sgemm__tile *tile, int row, int col,
                                       const float *acc) {
  const int vectors = V == 4 && (uintptr_t)tile->C % 16 == 0 && p->ldc % 4 == 0;
  float *C = tile->C + row * p->ldc + col;
  float r[4];
  int v;
  SGEMM__UNROLL
  for (v = 0; v < V; v++)
    r[v] = sgemm__scale(p, acc[v]);
  if (row < tile->rows && vectors && col + 4 <= tile->cols) {
    if (p->beta != 0.0f) {
      float c[4];
      sgemm__load_result4(c, C);
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        r[v] = sgemm__add_c(p, r[v], c[v]);
    }
    sgemm__store_global4(C, r);
  } else if (row < tile->rows) {
    SGEMM__UNROLL
    for (v = 0; v < V; v++)
      if (col + v < tile->cols)
        sgemm__store_global(C + v, p->beta != 0.0f ? sgemm__add_c(p, r[v], sgemm__load_result(C + v)) : r[v]);
  }
  sgemm__converge();
}

/* The same for a thread's piece of V results, numbered row by row. */
SGEMM__DEVICE void sgemm__store_thread_vector(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                              const sgemm__thread_tile *own, int piece, const float *acc) {
  const int i = piece / (s->TN / s->V), j = piece % (s->TN / s->V);
  sgemm__store_vector(p, s->V, tile, own->row + i / s->V * own->row_stride + i % s->V, own->col + j * own->col_stride,
                      acc);
}

/* The args for results that alpha and beta have been applied to. */
SGEMM__DEVICE sgemm__args sgemm__unscaled(const sgemm__args *p) {
  sgemm__args args = *p;
  args.alpha = 1.0f;
  args.beta = 0.0f;
  return args;
}

/* c <- C, V elements from (row, col) of the tile on, as far as they lie inside C. */
SGEMM__DEVICE void sgemm__load_c_vector(const sgemm__args *p, int V, const sgemm__tile *tile, int row, int col,
                                        float *c) {
  const int vectors = V == 4 && (uintptr_t)tile->C % 16 == 0 && p->ldc % 4 == 0;
  const float *C = tile->C + row * p->ldc + col;
  int v;
  if (row < tile->rows && vectors && col + 4 <= tile->cols) {
    sgemm__load_result4(c, C);
  } else if (row < tile->rows) {
    SGEMM__UNROLL
    for (v = 0; v < V; v++)
      if (col + v < tile->cols)
        c[v] = sgemm__load_result(C + v);
  }
  sgemm__converge();
}

/* acc <- acc + beta * C where beta is not 0, for a thread's scaled output vectors of V results, from number `first` on,
   `per_row` of them in a row of results. The loads of eight vectors of C are issued before the first is used. One by
   one, as in sgemm__store_vector(), each load would expose the whole latency of memory. */
SGEMM__DEVICE void sgemm__add_c_vectors(const sgemm__args *p, int V, const sgemm__tile *tile,
                                        const sgemm__thread_tile *own, int per_row, int first, int vectors,
                                        float *acc) {
  float c[8 * 4] = {0.0f};
  int vector, i;
  SGEMM__UNROLL
  for (vector = 0; vector < vectors; vector += 8) {
    const int count = vectors - vector < 8 ? vectors - vector : 8;
    SGEMM__UNROLL
    for (i = 0; i < count; i++) {
      const int row = (first + vector + i) / per_row, column = (first + vector + i) % per_row;
      sgemm__load_c_vector(p, V, tile, own->row + row / V * own->row_stride + row % V,
                           own->col + column * own->col_stride, c + i * V);
    }
    SGEMM__UNROLL
    for (i = 0; i < count * V; i++)
      acc[vector * V + i] = sgemm__add_c(p, acc[vector * V + i], c[i]);
  }
}

/* 1 for a whole tile to which nothing is added, in rows of whole 16 bytes: the usual case. */
SGEMM__DEVICE int sgemm__is_full_tile(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile) {
  return tile->rows == s->BM && tile->cols == s->BN && p->beta == 0.0f && (uintptr_t)tile->C % 16 == 0 &&
         p->ldc % 4 == 0;
}

/* And for all of them. Rows of 8 x 8, from doublebuffered on, store a plain tile without asking for each piece; of
   larger rows that spoils the main loop, and smaller ones have no registers left for it. */
SGEMM__DEVICE void sgemm__store_tile(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                     const sgemm__thread_tile *own, const float *acc) {
  int piece;
  if (s->bufs > 1 && s->TM * s->TN == 64 && sgemm__is_full_tile(p, s, tile)) {
    float *C = tile->C + own->row * p->ldc + own->col;
    int i, j, v;
    SGEMM__UNROLL
    for (i = 0; i < s->TM; i++) {
      float *row = C + (i / 4 * own->row_stride + i % 4) * p->ldc;
      SGEMM__UNROLL
      for (j = 0; j < s->TN; j += 4) {
        float r[4];
        SGEMM__UNROLL
        for (v = 0; v < 4; v++)
          r[v] = sgemm__scale(p, acc[i * s->TN + j + v]);
        sgemm__store_global4(row + j / 4 * own->col_stride, r);
      }
    }
  } else {
    SGEMM__UNROLL
    for (piece = 0; piece < s->TM * s->TN / s->V; piece++)
      sgemm__store_thread_vector(p, s, tile, own, piece, acc + piece * s->V);
  }
}

#endif /* SGEMM_DEVICE_EPILOGUE_CUH */
