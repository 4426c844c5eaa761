/* sgemm/device/epilogue.cuh: the epilogue: from accumulators to C, with alpha, beta, edges and 128-bit stores. */
#ifndef SGEMM_DEVICE_EPILOGUE_CUH
#define SGEMM_DEVICE_EPILOGUE_CUH

/* The only functions that apply alpha and beta: C = alpha * x + beta * c for a sum x and the old element c of C.
   reads_c: 1 if beta is not 0. With beta = 0, c is not used, so that NaN in C cannot reach the result. Partial results
   are stored with alpha = 1 and beta = 0. A caller that branches on beta applies sgemm__scale() before the branch, so
   that the code has the multiplications once. */
SGEMM__DEVICE float sgemm__scale(const sgemm__args *p, float x) { return p->alpha * x; }
SGEMM__DEVICE float sgemm__add_c(const sgemm__args *p, float scaled, float c) { return sgemm__fma(p->beta, c, scaled); }
SGEMM__DEVICE float sgemm__epilogue(const sgemm__args *p, int reads_c, float x, float c) {
  return reads_c ? sgemm__add_c(p, sgemm__scale(p, x), c) : sgemm__scale(p, x);
}

/* C <- alpha * acc + beta * C for V elements of a row of the tile, from (row, col) on. Elements outside of C are not
   stored. This is the general store, for any V, edge, alignment and beta. Split-K uses it for its partial results, with
   alpha 1 and beta 0. */
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
    float c[4] = {0.0f, 0.0f, 0.0f, 0.0f}; /* all loads are in flight before the first is used */
    if (p->beta != 0.0f) {
      SGEMM__UNROLL
      for (v = 0; v < V; v++)
        if (col + v < tile->cols)
          c[v] = sgemm__load_result(C + v);
    }
    SGEMM__UNROLL
    for (v = 0; v < V; v++)
      if (col + v < tile->cols)
        sgemm__store_global(C + v, p->beta != 0.0f ? sgemm__add_c(p, r[v], c[v]) : r[v]);
  }
  sgemm__converge();
}

/* Row, and column of the first result, of a thread's output vector number `vector`, V results. The vectors are numbered
   row by row: TN / V in a row. first: first row or column of the tile; 0 for the position in the tile. */
SGEMM__DEVICE int64_t sgemm__vector_row(const sgemm__shape *s, const sgemm__thread_tile *own, int64_t first,
                                        int vector) {
  const int i = vector / (s->TN / s->V);
  return first + own->row + i / s->V * own->row_stride + i % s->V;
}
SGEMM__DEVICE int64_t sgemm__vector_col(const sgemm__shape *s, const sgemm__thread_tile *own, int64_t first,
                                        int vector) {
  return first + own->col + vector % (s->TN / s->V) * own->col_stride;
}

/* Stores output vector number `vector` of a thread. */
SGEMM__DEVICE void sgemm__store_thread_vector(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                              const sgemm__thread_tile *own, int vector, const float *acc) {
  sgemm__store_vector(p, s->V, tile, (int)sgemm__vector_row(s, own, 0, vector),
                      (int)sgemm__vector_col(s, own, 0, vector), acc);
}

/* Stores output vector number `vector` of a thread, through the call's epilogue if fused is 1. at: position of the tile
   in the result. */
SGEMM__DEVICE void sgemm__store_thread_results(const sgemm__args *p, const sgemm__shape *s, int fused,
                                               const sgemm__tile *tile, const sgemm__tile_position *at,
                                               const sgemm__thread_tile *own, int vector, const float *acc) {
  if (fused && p->applies_epilogue) {
    const sgemm__result_vector to = sgemm__result_vector_at(p, at->matrix, sgemm__vector_row(s, own, at->row, vector),
                                                            sgemm__vector_col(s, own, at->col, vector), s->V);
    sgemm__apply_epilogue(p, s->V, &to, acc);
  } else {
    sgemm__store_thread_vector(p, s, tile, own, vector, acc);
  }
}

/* The args of results to which alpha and beta have been applied: alpha 1, beta 0. */
SGEMM__DEVICE sgemm__args sgemm__unscaled(const sgemm__args *p) {
  sgemm__args args = *p;
  args.alpha = 1.0f;
  args.beta = 0.0f;
  args.applies_epilogue = 0;
  return args;
}

/* Loads V elements of a row of C to registers c, from (row, col) of the tile on. Elements outside of C leave c
   unchanged. */
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

/* acc <- acc + beta * C for `vectors` output vectors of a thread, V results each, from number `first` on. per_row:
   output vectors in a row of the thread tile. acc has been multiplied by alpha. beta is not 0. Eight vectors of C are
   in flight before the first is used: with one load at a time, as in sgemm__store_vector(), each would expose the full
   latency of memory (docs/notebook/tile_ends.md, "Reading C when beta is not 0"). */
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

/* 1 for a full tile: all of it lies inside C, beta is 0, and the rows of C are aligned to 16 bytes. */
SGEMM__DEVICE int sgemm__is_full_tile(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile) {
  return tile->rows == s->BM && tile->cols == s->BN && p->beta == 0.0f && (uintptr_t)tile->C % 16 == 0 &&
         p->ldc % 4 == 0;
}

/* Stores all results of a thread. Variants with 8 x 8 results per thread and at least 2 buffers store a full tile
   without a test for each vector. In variants with larger thread tiles this code slows the main loop; in those with
   smaller thread tiles it makes ptxas spill registers (docs/notebook/tile_ends.md, "The ends of tiles"). */
SGEMM__DEVICE void sgemm__store_tile(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                     const sgemm__thread_tile *own, const float *acc) {
  int vector;
  if (s->bufs > 1 && s->V == 4 && s->TM * s->TN == 64 && sgemm__is_full_tile(p, s, tile)) {
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
    for (vector = 0; vector < s->TM * s->TN / s->V; vector++)
      sgemm__store_thread_vector(p, s, tile, own, vector, acc + vector * s->V);
  }
}

#endif /* SGEMM_DEVICE_EPILOGUE_CUH */
