/* sgemm/stages/direct.cuh: stages naive, coalesced and direct: operands from global memory to registers. */
#ifndef SGEMM_STAGES_DIRECT_CUH
#define SGEMM_STAGES_DIRECT_CUH

/* The body of naive and coalesced. walks_rows: 1: consecutive threads compute consecutive rows of C (naive); 0:
   consecutive columns (coalesced). */
SGEMM__DEVICE void sgemm__direct(const sgemm__args *p, const sgemm__shape *s, int walks_rows) {
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

#define SGEMM__KERNEL_DIRECT(walks_rows, stage, name, blocks, ...)                                                     \
  SGEMM__GLOBAL(name, SGEMM__LAUNCH_THREADS(stage, __VA_ARGS__), blocks, sgemm__args) {                                \
    SGEMM__COLUMNS(stage, __VA_ARGS__)                                                                                 \
    const sgemm__shape shape = SGEMM__SHAPE;                                                                           \
    sgemm__pdl_wait();                                                                                                 \
    if (sgemm__has_work(&args))                                                                                        \
      sgemm__direct(&args, &shape, walks_rows);                                                                        \
  }
#define SGEMM__KERNEL_naive(...) SGEMM__KERNEL_DIRECT(1, __VA_ARGS__)
#define SGEMM__DECLARE_naive(name) SGEMM__DECLARE(name, sgemm__args)
#define SGEMM__KERNEL_coalesced(...) SGEMM__KERNEL_DIRECT(0, __VA_ARGS__)
#define SGEMM__DECLARE_coalesced(name) SGEMM__DECLARE(name, sgemm__args)

#define SGEMM__RULES_DIRECT(name)                                                                                      \
  SGEMM__RULE(TM == 1 && TN == 1 && BK == 1 && V == 1 && bufs == 0 && slice_k == 1,                                    \
              "naive and coalesced compute one result per thread, without tiles", name)
#define SGEMM__RULES_naive(name) SGEMM__RULES_DIRECT(name)
#define SGEMM__RULES_coalesced(name) SGEMM__RULES_DIRECT(name)

/* ---- Stage direct: short k --------------------------------------------------------------------------------------- */

/* The body of direct. A thread computes TM results of a column. The operands of BK k load before the first is used;
   elements beyond k are zeros. Lanes beyond an edge load the elements of the last row or column and store no result.
   Without a tile there is no barrier and little code: a prototype took 1.2 us for 16 x 16 x 4, the fastest pipeline 1.8
   us (H200, docs/stages/direct.md). */
SGEMM__DEVICE void sgemm__short_k(const sgemm__args *p, const sgemm__shape *s, float *acc, float *a, float *b) {
  /* Indices. */
  const int t = sgemm__thread(), row = t / s->BN * s->TM, col = t % s->BN;
  const sgemm__tile tile = sgemm__tile_of_block(p, s, sgemm__block_x());
  /* Tile pointers. */
  const int64_t a_step = s->a_k_major ? 1 : p->lda, b_step = s->b_k_major ? 1 : p->ldb;
  const float *B = tile.B + (col < tile.cols ? col : tile.cols - 1) * (s->b_k_major ? p->ldb : 1), *A = tile.A;
  int64_t a_row[4], k;
  int i, j;
  SGEMM__UNROLL
  for (i = 0; i < s->TM; i++)
    a_row[i] = (row + i < tile.rows ? row + i : tile.rows - 1) * (s->a_k_major ? p->lda : 1);
  /* Accumulators. */
  SGEMM__UNROLL
  for (i = 0; i < s->TM; i++)
    acc[i] = 0.0f;
  /* Main loop. */
  sgemm__pdl_wait();
  if (!sgemm__has_work(p))
    return;
  for (k = 0; k < p->k; k += s->BK, A += s->BK * a_step, B += s->BK * b_step) {
    SGEMM__UNROLL
    for (j = 0; j < s->BK; j++) {
      SGEMM__UNROLL
      for (i = 0; i < s->TM; i++)
        a[j * s->TM + i] = k + j < p->k ? sgemm__load_global(A + a_row[i] + j * a_step) : 0.0f;
      b[j] = k + j < p->k ? sgemm__load_global(B + j * b_step) : 0.0f;
    }
    SGEMM__UNROLL
    for (j = 0; j < s->BK; j++) {
      SGEMM__UNROLL
      for (i = 0; i < s->TM; i++)
        acc[i] = sgemm__fma(a[j * s->TM + i], b[j], acc[i]);
    }
  }
  /* Epilogue. */
  SGEMM__UNROLL
  for (i = 0; i < s->TM; i++)
    sgemm__store_vector(p, 1, &tile, row + i, col, acc + i);
}

#define SGEMM__KERNEL_direct(stage, name, blocks, ...)                                                                 \
  SGEMM__GLOBAL(name, SGEMM__LAUNCH_THREADS(stage, __VA_ARGS__), blocks, sgemm__args) {                                \
    SGEMM__COLUMNS(stage, __VA_ARGS__)                                                                                 \
    const sgemm__shape shape = SGEMM__SHAPE;                                                                           \
    float acc[TM], a[BK * TM], b[BK];                                                                                  \
    sgemm__short_k(&args, &shape, acc, a, b);                                                                          \
  }
#define SGEMM__DECLARE_direct(name) SGEMM__DECLARE(name, sgemm__args)
#define SGEMM__RULES_direct(name)                                                                                      \
  SGEMM__RULE(TM <= 4 && TN == 1 && V == 1 && bufs == 0 && slice_k == 1,                                               \
              "a thread of direct computes up to 4 results of a column, without tiles", name)                          \
  SGEMM__RULE(BN % 32 == 0 && BM == WM && BN == WN, "the lanes of a warp of direct have neighbouring columns", name)

#endif /* SGEMM_STAGES_DIRECT_CUH */
