/* sgemm/stages/blocked.cuh: stages tiled, tile1d, tile2d, vectorized and warptiled: tiles in one shared buffer. */
#ifndef SGEMM_STAGES_BLOCKED_CUH
#define SGEMM_STAGES_BLOCKED_CUH

/* The body of tiled, tile1d, tile2d, vectorized and warptiled: one shared buffer and two barriers per tile. With V = 1
   a K-major A is K-major in shared memory too: neither its stores nor its broadcast loads have bank conflicts. With V =
   4 the fragments are 128-bit loads along m, so a K-major A is transposed as it is stored. a, b: fragments. ra, rb: the
   thread's elements of the next tiles, between the load and the store. */
SGEMM__DEVICE void sgemm__blocked(const sgemm__args *p, const sgemm__shape *s, float *As, float *Bs, float *acc,
                                  float *a, float *b, float *ra, float *rb) {
  /* Indices. */
  const sgemm__tile tile = sgemm__tile_of_block(p, s, sgemm__block_x());
  const sgemm__thread_tile own = sgemm__thread_tile_of(s);
  const int a_rows = s->V == 1 && s->a_k_major; /* 1: As[m][k]; 0: As[k][m]. B is Bs[k][n] */
  const int a_m = a_rows ? s->BK : 1, a_k = a_rows ? 1 : SGEMM__PITCH(s->BM, s->BK, s->V, s->a_k_major);
  const int b_k = SGEMM__PITCH(s->BN, s->BK, s->V, s->b_k_major);
  /* Tile pointers. */
  sgemm__loader load_a = sgemm__loader_of(s, s->V, SGEMM__LOAD_WIDTH(s->BK, s->V), s->BM, s->a_k_major, tile.A, p->lda,
                                          tile.rows);
  sgemm__loader load_b = sgemm__loader_of(s, s->V, SGEMM__LOAD_WIDTH(s->BK, s->V), s->BN, s->b_k_major, tile.B, p->ldb,
                                          tile.cols);
  const float *fragment_a = As + own.row * a_m, *fragment_b = Bs + own.col;
  /* Accumulators. */
  int64_t k_left;
  int i, k;
  SGEMM__UNROLL
  for (i = 0; i < s->TM * s->TN; i++)
    acc[i] = 0.0f;
  /* Main loop. */
  for (k_left = p->k; k_left > 0; k_left -= s->BK) {
    sgemm__load_tile(ra, &load_a, k_left);
    sgemm__load_tile(rb, &load_b, k_left);
    sgemm__barrier(); /* no thread reads the old tiles any more; the loads above are in flight meanwhile */
    sgemm__store_tile_shared(As, a_m, a_k, ra, &load_a);
    sgemm__store_tile_shared(Bs, 1, b_k, rb, &load_b);
    sgemm__barrier(); /* the new tiles are complete */
    SGEMM__UNROLL
    for (k = 0; k < s->BK; k++) {
      sgemm__load_fragment(a, fragment_a + k * a_k, s->TM, s->V, own.row_stride, a_m);
      sgemm__load_fragment(b, fragment_b + k * b_k, s->TN, s->V, own.col_stride, 1);
      sgemm__multiply_fragments(acc, a, 1, b, 1, s->TM, s->TN, 0);
    }
  }
  /* Epilogue. */
  sgemm__store_tile(p, s, &tile, &own, acc);
}

/* A kernel with static shared memory, for the stages of this file and doublebuffered. */
#define SGEMM__KERNEL_STATIC(body, stage, name, blocks, ...)                                                           \
  SGEMM__GLOBAL(name, SGEMM__LAUNCH_THREADS(stage, __VA_ARGS__), blocks, sgemm__args) {                                \
    SGEMM__COLUMNS(stage, __VA_ARGS__)                                                                                 \
    const sgemm__shape shape = SGEMM__SHAPE;                                                                           \
    SGEMM__SHARED(As, bufs *BK *SGEMM__PITCH(BM, BK, V, !trans_a));                                                    \
    SGEMM__SHARED(Bs, bufs *BK *SGEMM__PITCH(BN, BK, V, trans_b));                                                     \
    float acc[TM * TN], a[bufs * TM], b[bufs * TN];                                                                    \
    float ra[SGEMM__LOADS_PER_THREAD(BM, BK, SGEMM__THREADS(BM, BN, TM, TN, 1))];                                      \
    float rb[SGEMM__LOADS_PER_THREAD(BN, BK, SGEMM__THREADS(BM, BN, TM, TN, 1))];                                      \
    sgemm__pdl_wait();                                                                                                 \
    if (has_code && sgemm__has_work(&args))                                                                            \
      body(&args, &shape, As, Bs, acc, a, b, ra, rb);                                                                  \
  }
#define SGEMM__KERNEL_tiled(...) SGEMM__KERNEL_STATIC(sgemm__blocked, __VA_ARGS__)
#define SGEMM__DECLARE_tiled(name) SGEMM__DECLARE(name, sgemm__args)
#define SGEMM__KERNEL_tile1d(...) SGEMM__KERNEL_STATIC(sgemm__blocked, __VA_ARGS__)
#define SGEMM__DECLARE_tile1d(name) SGEMM__DECLARE(name, sgemm__args)
#define SGEMM__KERNEL_tile2d(...) SGEMM__KERNEL_STATIC(sgemm__blocked, __VA_ARGS__)
#define SGEMM__DECLARE_tile2d(name) SGEMM__DECLARE(name, sgemm__args)
#define SGEMM__KERNEL_vectorized(...) SGEMM__KERNEL_STATIC(sgemm__blocked, __VA_ARGS__)
#define SGEMM__DECLARE_vectorized(name) SGEMM__DECLARE(name, sgemm__args)
#define SGEMM__KERNEL_warptiled(...) SGEMM__KERNEL_STATIC(sgemm__blocked, __VA_ARGS__)
#define SGEMM__DECLARE_warptiled(name) SGEMM__DECLARE(name, sgemm__args)

#define SGEMM__RULES_STATIC(body_bufs, name)                                                                           \
  SGEMM__RULES_OF_TILES(name)                                                                                          \
  SGEMM__RULE(bufs == (body_bufs) && slice_k == 1, "a stage before async has the buffers of its body and no sliced-K", \
              name)                                                                                                    \
  SGEMM__RULE(SGEMM__LOADS_EVENLY(BM, BK, V, SGEMM__THREADS(BM, BN, TM, TN, 1)) &&                                     \
                  SGEMM__LOADS_EVENLY(BN, BK, V, SGEMM__THREADS(BM, BN, TM, TN, 1)),                                   \
              "all threads have equally many loads of a tile", name)                                                   \
  SGEMM__RULE(bufs *BK *(BM + BN + 8) * 4 <= 48 * 1024, "static shared memory is at most 48 KiB", name)
/* 1 if each load of all threads covers full rows of a tile of MN x BK, K-major or MN-major. */
#define SGEMM__LOADS_EVENLY(MN, BK, V, threads)                                                                        \
  ((MN) * (BK) % ((threads) * (V)) == 0 && SGEMM__DIVIDES((threads) * (V), MN) &&                                      \
   SGEMM__DIVIDES((threads) * (V) / SGEMM__LOAD_WIDTH(BK, V), MN))
#define SGEMM__RULES_tiled(name) SGEMM__RULES_STATIC(1, name)
#define SGEMM__RULES_tile1d(name) SGEMM__RULES_STATIC(1, name)
#define SGEMM__RULES_tile2d(name) SGEMM__RULES_STATIC(1, name)
#define SGEMM__RULES_vectorized(name) SGEMM__RULES_STATIC(1, name)
#define SGEMM__RULES_warptiled(name) SGEMM__RULES_STATIC(1, name)

#endif /* SGEMM_STAGES_BLOCKED_CUH */
