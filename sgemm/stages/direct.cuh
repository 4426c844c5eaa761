/* sgemm/stages/direct.cuh: stages naive, coalesced and direct: operands from global memory to registers. */
#ifndef SGEMM_STAGES_DIRECT_CUH
#define SGEMM_STAGES_DIRECT_CUH

/* The body of naive and coalesced. walks_rows: 1: consecutive threads compute consecutive rows of C (naive); 0:
   consecutive columns (coalesced). */
SGEMM__DEVICE void sgemm__one_result(const sgemm__args *p, const sgemm__shape *s, int walks_rows) {
  /* Indices. */
  const int t = sgemm__thread();
  const sgemm__tile tile = sgemm__tile_of_block(p, s, sgemm__block_x());
  const sgemm__thread_tile own = {walks_rows ? t % s->BM : t / s->BN, walks_rows ? t / s->BM : t % s->BN, 1, 1, 0};
  /* Tile pointers. */
  const int64_t a_step = s->a_k_major ? 1 : p->lda, b_step = s->b_k_major ? 1 : p->ldb;
  const float *A = tile.A + own.row * (s->a_k_major ? p->lda : 1);
  const float *B = tile.B + own.col * (s->b_k_major ? p->ldb : 1);
  /* Accumulators. */
  float acc[4] = {0.0f}; /* acc[0] is the result; a vector of sgemm__store_thread_vector() has up to 4 */
  int64_t k;
  if (own.row >= tile.rows || own.col >= tile.cols)
    return;
  /* Main loop. It is unrolled by 16, so that the loads of 16 k are in flight at a time (docs/notebook/ladder.md). */
  SGEMM__UNROLL_BY(16)
  for (k = 0; k < p->k; k++)
    acc[0] = sgemm__fma(sgemm__load_global(A + k * a_step), sgemm__load_global(B + k * b_step), acc[0]);
  /* Epilogue. */
  sgemm__store_thread_vector(p, s, &tile, &own, 0, acc);
}

#define SGEMM__KERNEL_ONE_RESULT(walks_rows, stage, name, blocks, ...)                                                 \
  SGEMM__GLOBAL(name, SGEMM__LAUNCH_THREADS(stage, __VA_ARGS__), blocks, sgemm__args) {                                \
    SGEMM__COLUMNS(stage, __VA_ARGS__)                                                                                 \
    const sgemm__shape shape = SGEMM__SHAPE;                                                                           \
    sgemm__pdl_wait();                                                                                                 \
    if (sgemm__has_work(&args))                                                                                        \
      sgemm__one_result(&args, &shape, walks_rows);                                                                    \
  }
#define SGEMM__KERNEL_naive(...) SGEMM__KERNEL_ONE_RESULT(1, __VA_ARGS__)
#define SGEMM__DECLARE_naive(name) SGEMM__DECLARE(name, sgemm__args)
#define SGEMM__KERNEL_coalesced(...) SGEMM__KERNEL_ONE_RESULT(0, __VA_ARGS__)
#define SGEMM__DECLARE_coalesced(name) SGEMM__DECLARE(name, sgemm__args)

#define SGEMM__RULES_ONE_RESULT(name)                                                                                  \
  SGEMM__RULE(TM == 1 && TN == 1 && BK == 1 && V == 1 && bufs == 0 && slice_k == 1,                                    \
              "naive and coalesced compute one result per thread, without tiles", name)
#define SGEMM__RULES_naive(name) SGEMM__RULES_ONE_RESULT(name)
#define SGEMM__RULES_coalesced(name) SGEMM__RULES_ONE_RESULT(name)

/* ---- Stage direct: short k --------------------------------------------------------------------------------------- */

/* Where a thread of direct loads: TM rows of op(A) and V columns of op(B). Rows and columns beyond an edge are replaced
   by the last that exists; their results are not stored. */
typedef struct sgemm__short_k_source {
  const float *row[4], *column[4]; /* the next k of each row and column */
  int64_t a_step, b_step;          /* floats from one k to the next */
  int b_vectors;                   /* 1: four columns, or four k, of B are a float4 at a multiple of 16 bytes */
} sgemm__short_k_source;

SGEMM__DEVICE sgemm__short_k_source sgemm__short_k_source_of(const sgemm__args *p, const sgemm__shape *s,
                                                             const sgemm__tile *tile, const sgemm__thread_tile *own) {
  sgemm__short_k_source from;
  int i;
  SGEMM__UNROLL
  for (i = 0; i < s->TM; i++)
    from.row[i] = tile->A + (own->row + i < tile->rows ? own->row + i : tile->rows - 1) * (s->a_k_major ? p->lda : 1);
  SGEMM__UNROLL
  for (i = 0; i < s->V; i++)
    from.column[i] = tile->B +
                     (own->col + i < tile->cols ? own->col + i : tile->cols - 1) * (s->b_k_major ? p->ldb : 1);
  from.a_step = s->a_k_major ? 1 : p->lda;
  from.b_step = s->b_k_major ? 1 : p->ldb;
  from.b_vectors = s->V == 4 && (uintptr_t)tile->B % 16 == 0 && p->ldb % 4 == 0 &&
                   (s->b_k_major || own->col + 4 <= tile->cols);
  return from;
}

/* Loads the next BK k: element (row i, k j) of A to a[j * TM + i], element (k j, column v) of B to b[j * V + v].
   k_left: k that exist; elements beyond are zeros. */
SGEMM__DEVICE void sgemm__load_short_k(float *a, float *b, const sgemm__shape *s, sgemm__short_k_source *from,
                                       int64_t k_left) {
  const int V = s->V;
  int i, j, v;
  SGEMM__UNROLL
  for (j = 0; j < s->BK; j++) {
    SGEMM__UNROLL
    for (i = 0; i < s->TM; i++)
      a[j * s->TM + i] = j < k_left ? sgemm__load_global(from->row[i] + j * from->a_step) : 0.0f;
  }
  if (from->b_vectors && k_left >= s->BK && !s->b_k_major) {
    SGEMM__UNROLL
    for (j = 0; j < s->BK; j++)
      sgemm__load_global4(b + j * 4, from->column[0] + j * from->b_step);
  } else if (from->b_vectors && k_left >= s->BK) {
    SGEMM__UNROLL
    for (j = 0; j < s->BK; j += 4) {
      SGEMM__UNROLL
      for (v = 0; v < V; v++) {
        float r[4];
        sgemm__load_global4(r, from->column[v] + j);
        SGEMM__UNROLL
        for (i = 0; i < 4; i++)
          b[(j + i) * V + v] = r[i];
      }
    }
  } else {
    SGEMM__UNROLL
    for (j = 0; j < s->BK; j++) {
      SGEMM__UNROLL
      for (v = 0; v < V; v++)
        b[j * V + v] = j < k_left ? sgemm__load_global(from->column[v] + j * from->b_step) : 0.0f;
    }
  }
  sgemm__converge();
  SGEMM__UNROLL
  for (i = 0; i < s->TM; i++)
    from->row[i] += s->BK * from->a_step;
  SGEMM__UNROLL
  for (v = 0; v < V; v++)
    from->column[v] += s->BK * from->b_step;
}

/* acc[TM][TN] += the products of `count` k, which have TM elements of a and TN of b each. */
SGEMM__DEVICE void sgemm__multiply_k(float *acc, const float *a, const float *b, int count, int TM, int TN) {
  int i, j, k;
  SGEMM__UNROLL
  for (k = 0; k < count; k++) {
    SGEMM__UNROLL
    for (i = 0; i < TM; i++) {
      SGEMM__UNROLL
      for (j = 0; j < TN; j++)
        acc[i * TN + j] = sgemm__fma(a[k * TM + i], b[k * TN + j], acc[i * TN + j]);
    }
  }
}

/* The body of direct. A thread computes TM rows of V columns. The operands of BK k load before the first is used. So do
   the thread's elements of C, if beta is not 0. Without a tile in shared memory there is no barrier and little code: a
   prototype took 1.2 us for 16 x 16 x 4, the fastest pipeline 1.8 us (H200, docs/stages/direct.md). */
SGEMM__DEVICE void sgemm__short_k(const sgemm__args *p, const sgemm__shape *s, float *acc, float *a, float *b) {
  /* Indices. */
  const int threads_n = s->BN / s->TN; /* threads along n */
  const sgemm__tile tile = sgemm__tile_of_block(p, s, sgemm__block_x());
  const sgemm__thread_tile own = {sgemm__thread() / threads_n * s->TM, sgemm__thread() % threads_n * s->V, s->V,
                                  s->BN / s->TN * s->V, 0};
  /* Tile pointers. */
  sgemm__short_k_source from = sgemm__short_k_source_of(p, s, &tile, &own);
  int64_t k_left;
  float bias = 0.0f;
  int i;
  /* Accumulators. */
  SGEMM__UNROLL
  for (i = 0; i < s->TM * s->V; i++)
    acc[i] = 0.0f;
  /* Main loop. */
  sgemm__pdl_wait();
  if (!sgemm__has_work(p))
    return;
  if (s->fused)
    bias = sgemm__bias_of(p, s, &tile, sgemm__block_x(), &own);
  SGEMM__UNROLL_BY(1)
  for (k_left = p->k; k_left > 0; k_left -= s->BK) {
    sgemm__load_short_k(a, b, s, &from, k_left);
    sgemm__multiply_k(acc, a, b, s->BK, s->TM, s->V);
  }
  /* Epilogue. */
  if (s->fused) /* a thread has one result */
    sgemm__store_result_through_epilogue(p, &tile, &own, bias, acc[0]);
  else
    sgemm__scale_and_store(p, s->V, &tile, &own, 1, s->TM, acc);
}

/* ---- Stage direct: few rows and columns, longer k ---------------------------------------------------------------- */

#define SGEMM__LANE_RESULTS 32 /* results of a tile whose k lanes divide: one for each lane, after the sum over lanes */

/* Adds 2 * count sums of two lanes whose numbers differ in the bit `count`, a literal. Each lane keeps half of them, in
   acc[0] to acc[count - 1]: the lane with bit 0 the first half. */
SGEMM__DEVICE void sgemm__add_halves(float *acc, int count) {
  const int second = (sgemm__thread() & count) != 0;
  int i;
  SGEMM__UNROLL
  for (i = 0; i < count; i++) {
    const float own = second ? acc[i + count] : acc[i], other = second ? acc[i] : acc[i + count];
    acc[i] = own + sgemm__shuffle_xor(other, count);
  }
}

/* Adds the sums of the lanes of a warp for the same 32 results: acc[0] of lane l is then result l. This takes 31
   shuffles. A sum that every lane gets would take five for each result, 160. */
SGEMM__DEVICE void sgemm__add_lanes(float *acc) {
  sgemm__add_halves(acc, 16);
  sgemm__add_halves(acc, 8);
  sgemm__add_halves(acc, 4);
  sgemm__add_halves(acc, 2);
  sgemm__add_halves(acc, 1);
}

/* The body of direct where lanes divide k: each computes all 32 results of the tile over every slice_k-th k. So a warp
   has work for all its lanes where C has a few rows and columns, and neither copies tiles to shared memory nor waits
   for other warps. All elements of a step of BK load before the first is used; those that do not exist are zeros. sums:
   slice_k floats in shared memory, if the block has more than one warp. */
SGEMM__DEVICE void sgemm__lanes_divide_k(const sgemm__args *p, const sgemm__shape *s, float *sums, float *acc, float *a,
                                         float *b) {
  /* Indices. */
  const int t = sgemm__thread(), lane = t % 32, loads = s->BK / s->slice_k; /* loads: k of a lane in a step */
  const sgemm__tile tile = sgemm__tile_of_block(p, s, sgemm__block_x());
  /* Tile pointers. */
  const int64_t a_step = s->a_k_major ? 1 : p->lda, a_row = s->a_k_major ? p->lda : 1;
  const int64_t b_step = s->b_k_major ? 1 : p->ldb, b_col = s->b_k_major ? p->ldb : 1;
  const float *A = tile.A + t * a_step, *B = tile.B + t * b_step;
  const sgemm__thread_tile own = {lane / s->TN, lane % s->TN, 1, 1, 0}; /* the result that the lane has at the end */
  int64_t k_left; /* k of the block from the step's first one on */
  float bias = 0.0f;
  int i, j, v;
  /* Accumulators. */
  SGEMM__UNROLL
  for (i = 0; i < s->TM * s->TN; i++)
    acc[i] = 0.0f;
  /* Main loop. */
  sgemm__pdl_wait();
  if (!sgemm__has_work(p))
    return;
  if (s->fused)
    bias = sgemm__bias_of(p, s, &tile, sgemm__block_x(), &own);
  SGEMM__UNROLL_BY(1)
  for (k_left = p->k; k_left > 0; k_left -= s->BK) {
    SGEMM__UNROLL
    for (j = 0; j < loads; j++) {
      const int k = j * s->slice_k, exists = t + k < k_left;
      SGEMM__UNROLL
      for (i = 0; i < s->TM; i++)
        a[j * s->TM + i] = exists && i < tile.rows ? sgemm__load_global(A + i * a_row + k * a_step) : 0.0f;
      SGEMM__UNROLL
      for (v = 0; v < s->TN; v++)
        b[j * s->TN + v] = exists && v < tile.cols ? sgemm__load_global(B + v * b_col + k * b_step) : 0.0f;
    }
    sgemm__converge();
    sgemm__multiply_k(acc, a, b, loads, s->TM, s->TN);
    A += s->BK * a_step;
    B += s->BK * b_step;
  }
  /* Epilogue. The first warp adds the sums of the warps, in their order. */
  sgemm__add_lanes(acc);
  if (s->slice_k > 32) {
    sgemm__store_shared(sums + t, acc[0]);
    sgemm__barrier();
    if (t >= 32)
      return;
    SGEMM__UNROLL
    for (i = 1; i < s->slice_k / 32; i++)
      acc[0] += sgemm__load_shared(sums + i * 32 + lane);
  }
  if (s->fused)
    sgemm__store_result_through_epilogue(p, &tile, &own, bias, acc[0]);
  else
    sgemm__store_vector(p, 1, &tile, lane / s->TN, lane % s->TN, acc);
}

#define SGEMM__KERNEL_direct(stage, name, blocks, ...)                                                                 \
  SGEMM__GLOBAL(name, SGEMM__LAUNCH_THREADS(stage, __VA_ARGS__), blocks, sgemm__args) {                                \
    SGEMM__COLUMNS(stage, __VA_ARGS__)                                                                                 \
    sgemm__shape shape = SGEMM__SHAPE;                                                                                 \
    SGEMM__SHARED(sums, slice_k); /* no memory where it is not used */                                                 \
    float acc[TM * TN], a[BK / slice_k * TM], b[BK / slice_k * TN];                                                    \
    sgemm__read_op(&shape, trans_a, trans_b, &args);                                                                   \
    if (slice_k == 1)                                                                                                  \
      sgemm__short_k(&args, &shape, acc, a, b);                                                                        \
    else                                                                                                               \
      sgemm__lanes_divide_k(&args, &shape, sums, acc, a, b);                                                           \
  }
#define SGEMM__DECLARE_direct(name) SGEMM__DECLARE(name, sgemm__args)
#define SGEMM__RULES_direct(name)                                                                                      \
  SGEMM__RULE(slice_k > 1 || (TM <= 4 && TN == V && BK % V == 0 && bufs == 0),                                         \
              "a thread of direct computes up to 4 rows of V columns, without tiles", name)                            \
  SGEMM__RULE(SGEMM__DIVIDES(BN / TN, 32) && BM == WM && BN == WN,                                                     \
              "neighbouring lanes of direct have neighbouring columns", name)                                          \
  SGEMM__RULE(V == 1 || BN / TN == 32,                                                                                 \
              "with V = 4 the lanes of a warp of direct are in a row, where they exchange elements", name)             \
  SGEMM__RULE(slice_k == 1 || (BM == TM && BN == TN && BM * BN == SGEMM__LANE_RESULTS && V == 1 && bufs == 0 &&        \
                               slice_k % 32 == 0 && BK % slice_k == 0),                                                \
              "lanes of direct that divide k compute a whole tile of 32 results each", name)

#endif /* SGEMM_STAGES_DIRECT_CUH */
