/* sgemm/device/epilogue.cuh: the epilogue: from accumulators to C, with alpha, beta, edges and 128-bit stores. */
#ifndef SGEMM_DEVICE_EPILOGUE_CUH
#define SGEMM_DEVICE_EPILOGUE_CUH

/* alpha and beta without an expression of the table: C = alpha * x + beta * c for a sum x and the old element c of C.
   sgemm__evaluate_vector() and sgemm__evaluate_in_registers() apply them with one.
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

/* Stores V sums of a row of the tile, from (row, col) on, through the call's epilogue. at: position of the tile in the
   result. sums is overwritten. */
SGEMM__DEVICE void sgemm__store_through_epilogue(const sgemm__args *p, const sgemm__shape *s, int V,
                                                 const sgemm__tile *tile, const sgemm__tile_position *at, int row,
                                                 int col, float *sums) {
  const sgemm__result_vector to = sgemm__result_vector_at(p, at->matrix, at->row + row, at->col + col, V);
  if (s->fused == SGEMM__EVERY_EPILOGUE)
    sgemm__apply_epilogue(p, V, &to, sums);
  else
    sgemm__store_elements(p, V, tile->C + row * p->ldc + col, to.col, to.exist, sums);
}

/* Stores output vector number `vector` of a thread, through the call's epilogue if it has one and the kernel applies
   it. number: that of the tile in raster order. The position of the tile is computed in calls with an epilogue alone,
   because its division makes plain calls of 2 us 2 to 4 % slower (docs/notebook/epilogues.md, "Small results"). sums is
   overwritten. */
SGEMM__DEVICE void sgemm__store_thread_results(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                               uint32_t number, const sgemm__thread_tile *own, int vector,
                                               float *sums) {
  if (s->fused && p->applies_epilogue) {
    const uint32_t tile_number = (uint32_t)sgemm__ptxas_opaque((int)number);
    const sgemm__tile_position at = sgemm__tile_position_of(s, sgemm__rasterize(p, tile_number), sgemm__block_yz());
    sgemm__store_through_epilogue(p, s, s->V, tile, &at, sgemm__ptxas_opaque((int)sgemm__vector_row(s, own, 0, vector)),
                                  sgemm__ptxas_opaque((int)sgemm__vector_col(s, own, 0, vector)), sums);
  } else {
    sgemm__store_thread_vector(p, s, tile, own, vector, sums);
  }
}

/* 1 for a full tile: all of it lies inside C, beta is 0, and the rows of C are aligned to 16 bytes. */
SGEMM__DEVICE int sgemm__is_full_tile(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile) {
  return tile->rows == s->BM && tile->cols == s->BN && p->beta == 0.0f && (uintptr_t)tile->C % 16 == 0 &&
         p->ldc % 4 == 0;
}

/* 1 for variants that have code of their own for full tiles, which needs no test for a vector: those with 64 results
   per thread and at least 2 buffers. In variants with larger thread tiles this code slows the main loop; in those with
   smaller thread tiles it makes ptxas spill registers (docs/notebook/tile_ends.md, "The ends of tiles"). */
SGEMM__DEVICE int sgemm__stores_full_tiles(const sgemm__shape *s) {
  return s->bufs > 1 && s->V == 4 && s->TM * s->TN == 64;
}

/* Stores all results of a thread in a full tile. */
SGEMM__DEVICE void sgemm__store_full_tile(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                          const sgemm__thread_tile *own, const float *acc) {
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
}

/* Stores all results of a thread. */
SGEMM__DEVICE void sgemm__store_tile(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                     const sgemm__thread_tile *own, const float *acc) {
  int vector;
  if (sgemm__stores_full_tiles(s) && sgemm__is_full_tile(p, s, tile)) {
    sgemm__store_full_tile(p, s, tile, own, acc);
  } else {
    SGEMM__UNROLL
    for (vector = 0; vector < s->TM * s->TN / s->V; vector++)
      sgemm__store_thread_vector(p, s, tile, own, vector, acc + vector * s->V);
  }
}

/* 1 if the rows of C in the tile are whole vectors of V results: V is 4, the rows are aligned to 16 bytes, and no
   vector has elements outside of C. */
SGEMM__DEVICE int sgemm__has_whole_vectors(const sgemm__args *p, int V, const sgemm__tile *tile) {
  return V == 4 && (uintptr_t)tile->C % 16 == 0 && p->ldc % 4 == 0 && tile->cols % 4 == 0;
}

/* Exchanges elements of x, two rows of 4, between two lanes whose numbers differ in the bit `mask`. upper: 1 in the
   lane with the bit set. Elements i and i + stride, stride = 1 or 2, form a pair. The upper lane keeps the second
   element of each pair and gets the other lane's second element as its first. The other lane keeps the first element
   and gets the upper lane's first element as its second. */
SGEMM__DEVICE void sgemm__exchange_elements(float *x, int stride, int upper, int mask) {
  float r[4];
  int v;
  SGEMM__UNROLL
  for (v = 0; v < 4; v++) {
    const int at = v / 2 * 4 + (stride == 1 ? v % 2 * 2 : v % 2); /* first element of a pair */
    r[v] = upper ? x[at] : x[at + stride];
  }
  sgemm__shuffle_xor4(r, mask);
  SGEMM__UNROLL
  for (v = 0; v < 4; v++) {
    const int at = v / 2 * 4 + (stride == 1 ? v % 2 * 2 : v % 2);
    x[at] = upper ? r[v] : x[at];
    x[at + stride] = upper ? x[at + stride] : r[v];
  }
}

/* Exchanges the elements of `vectors` output vectors, 4 results each, among lanes that own vectors of the same rows. d:
   a quarter of the warp's lanes along n. Lane i * d + j along n, i < 4, j < d, has vector i * d + j of a row before.
   Afterwards it has element i of vectors j, d + j, 2d + j and 3d + j, so that a store of a warp writes 4d consecutive
   elements. Returns i. */
SGEMM__DEVICE int sgemm__exchange_vectors(int d, int vectors, float *acc) {
  /* The bits of the thread index that are bits d and 2d of the lane's number along n. With 32 lanes along n both
     numbers are equal. With fewer, bit 1 of the thread index counts along m, see sgemm__thread_tile_of(), and bit 1 and
     higher bits of the number along n are one place higher in the thread index. */
  const int next = d == 1 || d == 8 ? d : 2 * d, after = d == 8 ? 2 * d : 4 * d;
  const int odd = (sgemm__thread() & next) != 0, high = (sgemm__thread() & after) != 0;
  int i;
  SGEMM__UNROLL
  for (i = 0; i < vectors; i += 2) {
    sgemm__exchange_elements(acc + i * 4, 1, odd, next);
    sgemm__exchange_elements(acc + i * 4, 2, high, after);
  }
  return odd + 2 * high;
}

/* C <- acc + beta * C for `vectors` output vectors of a thread, V results each, numbered row by row: per_row in a row
   of the thread tile. acc has been multiplied by alpha. whole: sgemm__has_whole_vectors(), a literal. Without whole
   vectors of 4 results, the lanes exchange elements first: each store of a warp would otherwise write 4 of every 16
   bytes. The loads of eight vectors of C are in flight before the first is used: with one at a time, as in
   sgemm__store_vector(), each would expose the full latency of memory (docs/notebook/tile_ends.md, "Reading C when beta
   is not 0"). */
SGEMM__DEVICE void sgemm__store_vectors(const sgemm__args *p, int V, int whole, const sgemm__tile *tile,
                                        const sgemm__thread_tile *own, int per_row, int vectors, float *acc) {
  enum { AHEAD = 8 };
  const int exchanges = !whole && V == 4, lanes_n = own->col_stride / V;
  const int stride = exchanges ? lanes_n : 1; /* columns from element to element of a vector */
  const int left = exchanges ? (lanes_n - 1) * sgemm__exchange_vectors(lanes_n / 4, vectors, acc) : 0;
  const int own_col = own->col - left;
  float *C = tile->C + own->row * p->ldc + own_col;
  float c[4 * AHEAD] = {0.0f};
  int first, i, v;
  SGEMM__UNROLL
  for (first = 0; first < vectors && p->beta != 0.0f; first += AHEAD) {
    SGEMM__UNROLL
    for (i = first; i < vectors && i < first + AHEAD; i++) {
      const int row = i / per_row / V * own->row_stride + i / per_row % V, col = i % per_row * own->col_stride;
      if (whole)
        sgemm__load_whole4(c + (i - first) * 4, C + row * p->ldc + col,
                           own->row + row < tile->rows && own_col + col < tile->cols);
      SGEMM__UNROLL
      for (v = 0; v < V; v++)
        if (!whole && own->row + row < tile->rows && own_col + col + v * stride < tile->cols)
          c[(i - first) * V + v] = sgemm__load_result(C + row * p->ldc + col + v * stride);
      sgemm__converge();
    }
    SGEMM__UNROLL
    for (i = first * V; i < vectors * V && i < (first + AHEAD) * V; i++)
      acc[i] = sgemm__add_c(p, acc[i], c[i - first * V]);
  }
  SGEMM__UNROLL
  for (i = 0; i < vectors; i++) {
    const int row = i / per_row / V * own->row_stride + i / per_row % V, col = i % per_row * own->col_stride;
    if (whole)
      sgemm__store_whole4(C + row * p->ldc + col, acc + i * 4,
                          own->row + row < tile->rows && own_col + col < tile->cols);
    SGEMM__UNROLL
    for (v = 0; v < V; v++)
      if (!whole && own->row + row < tile->rows && own_col + col + v * stride < tile->cols)
        sgemm__store_global(C + row * p->ldc + col + v * stride, acc[i * V + v]);
    sgemm__converge();
  }
}

/* C <- alpha * acc + beta * C for all output vectors of a thread: all results are multiplied by alpha, then C is
   loaded, then all are stored. Whole vectors have code of their own. In one branch for both cases nvcc stores their
   elements one by one. */
SGEMM__DEVICE void sgemm__scale_and_store(const sgemm__args *p, int V, const sgemm__tile *tile,
                                          const sgemm__thread_tile *own, int per_row, int vectors, float *acc) {
  int i;
  SGEMM__UNROLL
  for (i = 0; i < vectors * V; i++)
    acc[i] = sgemm__scale(p, acc[i]);
  if (sgemm__has_whole_vectors(p, V, tile))
    sgemm__store_vectors(p, V, 1, tile, own, per_row, vectors, acc);
  else
    sgemm__store_vectors(p, V, 0, tile, own, per_row, vectors, acc);
}

/* The args of results to which alpha and beta have been applied: alpha 1, beta 0. */
SGEMM__DEVICE sgemm__args sgemm__unscaled(const sgemm__args *p) {
  sgemm__args args = *p;
  args.alpha = 1.0f;
  args.beta = 0.0f;
  args.applies_epilogue = 0;
  return args;
}

/* ---- Kernels of their own for epilogues: calls that sgemm__in_registers() describes, without aux ----------------- */

/* The kernels load elements of the call's vector along n before the main loop, where they have registers for them: at
   the end of a call of 1.2 us their latency takes 0.15 us (docs/notebook/epilogues.md, "Kernels of their own for short
   calls"). number: that of the tile in raster order.
     sgemm__bias_of()             the element for a result of the tile; 0 without a vector, or without such a result
     sgemm__load_thread_biases()  bias <- the elements for the columns of a thread; zeros without a vector */
SGEMM__DEVICE float sgemm__bias_of(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                   uint32_t number, const sgemm__thread_tile *own) {
  const float *vec_n = p->epilogue.vec_n;
  return vec_n != NULL && own->row < tile->rows && own->col < tile->cols
             ? sgemm__load_global(vec_n + (int64_t)sgemm__rasterize(p, number).col * s->BN + own->col)
             : 0.0f;
}
SGEMM__DEVICE void sgemm__load_thread_biases(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                             uint32_t number, const sgemm__thread_tile *own, float *bias) {
  const float *vec_n = p->epilogue.vec_n;
  int j;
  if (vec_n != NULL)
    vec_n += (int64_t)sgemm__rasterize(p, number).col * s->BN + own->col;
  SGEMM__UNROLL
  for (j = 0; j < s->TN / 4; j++) {
    const int col = j * own->col_stride;
    sgemm__load_row_bias(vec_n == NULL ? NULL : vec_n + col, tile->cols - own->col - col, bias + 4 * j);
  }
}

/* Stores the one result of a thread. */
SGEMM__DEVICE void sgemm__store_result_through_epilogue(const sgemm__args *p, const sgemm__tile *tile,
                                                        const sgemm__thread_tile *own, float bias, float sum) {
  const float result = sgemm__evaluate_element(p, bias, sum);
  if (own->row < tile->rows && own->col < tile->cols)
    sgemm__store_global(tile->C + own->row * p->ldc + own->col, result);
}

/* Stores the TM x TN results of a thread. bias: see sgemm__load_thread_biases(). No barrier of the block may follow.
     The sums are multiplied by alpha first. Without this ptxas 13.0.88 gives the accumulators of async 64x128x8_8x8
   other registers, and 340 of 512 FMAs of the main loop read two operands from one register bank in place of 141.
     At edges and in unaligned rows a loop stores two rows a pass and rotates the others to their place. */
SGEMM__DEVICE void sgemm__store_tile_through_epilogue(const sgemm__args *p, const sgemm__shape *s,
                                                      const sgemm__tile *tile, const sgemm__thread_tile *own,
                                                      const float *bias, float *acc) {
  const sgemm__args scaled = sgemm__unscaled(p);
  const int per_row = s->TN / 4, vectors = s->TM * per_row;
  const int warp = sgemm__thread() / 32, warps_n = s->BN / s->WN;
  int i, j;
  if (warp / warps_n * s->WM >= tile->rows || warp % warps_n * s->WN >= tile->cols)
    return; /* all results of the warp lie beyond an edge */
  SGEMM__UNROLL
  for (i = 0; i < 4 * vectors; i++)
    acc[i] = sgemm__scale(p, acc[i]);
  if (sgemm__is_short(p->epilogue.number))
    sgemm__evaluate_in_registers(&scaled, SGEMM__SHORT_EPILOGUES, bias, per_row, 1, vectors, acc);
  else
    sgemm__apply_long_epilogue(&scaled, bias, per_row, vectors, 2 * per_row, acc);
  if (sgemm__is_full_tile(&scaled, s, tile)) {
    sgemm__store_full_tile(&scaled, s, tile, own, acc);
  } else {
    SGEMM__UNROLL_BY(1)
    for (i = 0; i < s->TM; i += 2) {
      sgemm__thread_tile rows = *own;
      float x[32];
      rows.row += i / 4 * own->row_stride + i % 4;
      SGEMM__UNROLL
      for (j = 0; j < 2 * s->TN; j++)
        x[j] = acc[j];
      sgemm__store_vectors(&scaled, s->V, 0, tile, &rows, per_row, 2 * per_row, x);
      SGEMM__UNROLL
      for (j = 0; j < (s->TM - 2) * s->TN; j++)
        acc[j] = acc[j + 2 * s->TN];
    }
  }
}

#endif /* SGEMM_DEVICE_EPILOGUE_CUH */
