/* sgemm/stages/doublebuffered.cuh: stage doublebuffered: two shared buffers, so that the next tile's loads overlap
   FMAs. */
#ifndef SGEMM_STAGES_DOUBLEBUFFERED_CUH
#define SGEMM_STAGES_DOUBLEBUFFERED_CUH

/* The body of doublebuffered. While a tile is multiplied from one shared buffer, the next tile is loaded to registers
   and then stored to the other buffer. After the one barrier per tile the next tile is complete and the buffer of this
   tile is free. Fragments alternate between two sets of registers: those of step k + 1 load while those of step k are
   multiplied. a, b: two fragments each. ra, rb: the thread's elements of the next tiles, between the load and the
   store. */
SGEMM__DEVICE void sgemm__doublebuffered(const sgemm__args *p, const sgemm__shape *s, float *As, float *Bs, float *acc,
                                         float *a, float *b, float *ra, float *rb) {
  /* Indices. */
  const sgemm__tile tile = sgemm__tile_of_block(p, s, sgemm__block_x());
  const sgemm__thread_tile own = sgemm__thread_tile_of(s);
  const int a_k = SGEMM__PITCH(s->BM, s->BK, s->V, s->a_k_major);
  const int b_k = SGEMM__PITCH(s->BN, s->BK, s->V, s->b_k_major);
  /* Tile pointers. */
  sgemm__loader load_a = sgemm__loader_of(s, s->V, SGEMM__LOAD_WIDTH(s->BK, s->V), s->BM, s->a_k_major, tile.A, p->lda,
                                          tile.rows);
  sgemm__loader load_b = sgemm__loader_of(s, s->V, SGEMM__LOAD_WIDTH(s->BK, s->V), s->BN, s->b_k_major, tile.B, p->ldb,
                                          tile.cols);
  int buffer = 0; /* the buffer that is multiplied: 0 or 1 */
  /* Accumulators. */
  int64_t k_left;
  int i, k;
  SGEMM__UNROLL
  for (i = 0; i < s->TM * s->TN; i++)
    acc[i] = 0.0f;
  /* Main loop. */
  if (p->k > 0) {
    sgemm__load_tile(ra, &load_a, p->k);
    sgemm__load_tile(rb, &load_b, p->k);
    sgemm__store_tile_shared(As, 1, a_k, ra, &load_a);
    sgemm__store_tile_shared(Bs, 1, b_k, rb, &load_b);
    sgemm__barrier();
  }
  for (k_left = p->k; k_left > 0; k_left -= s->BK) {
    const float *fragment_a = As + buffer * s->BK * a_k + own.row;
    const float *fragment_b = Bs + buffer * s->BK * b_k + own.col;
    if (k_left > s->BK) {
      sgemm__load_tile(ra, &load_a, k_left - s->BK);
      sgemm__load_tile(rb, &load_b, k_left - s->BK);
    }
    sgemm__load_fragment(a, fragment_a, s->TM, s->V, own.row_stride, 1);
    sgemm__load_fragment(b, fragment_b, s->TN, s->V, own.col_stride, 1);
    SGEMM__UNROLL
    for (k = 0; k < s->BK; k++) {
      const int now = k % 2, next = 1 - now;
      if (k + 1 < s->BK) {
        sgemm__load_fragment(a + next * s->TM, fragment_a + (k + 1) * a_k, s->TM, s->V, own.row_stride, 1);
        sgemm__load_fragment(b + next * s->TN, fragment_b + (k + 1) * b_k, s->TN, s->V, own.col_stride, 1);
      }
      sgemm__multiply_fragments(acc, a + now * s->TM, 1, b + now * s->TN, 1, s->TM, s->TN, 0);
    }
    buffer = 1 - buffer;
    if (k_left > s->BK) {
      sgemm__store_tile_shared(As + buffer * s->BK * a_k, 1, a_k, ra, &load_a);
      sgemm__store_tile_shared(Bs + buffer * s->BK * b_k, 1, b_k, rb, &load_b);
    }
    sgemm__barrier();
  }
  /* Epilogue. */
  sgemm__store_tile(p, s, &tile, &own, acc);
}

#define SGEMM__KERNEL_doublebuffered(...) SGEMM__KERNEL_STATIC(sgemm__doublebuffered, __VA_ARGS__)
#define SGEMM__DECLARE_doublebuffered(name) SGEMM__DECLARE(name, sgemm__args)
#define SGEMM__RULES_doublebuffered(name) SGEMM__RULES_STATIC(2, name)

#endif /* SGEMM_STAGES_DOUBLEBUFFERED_CUH */
