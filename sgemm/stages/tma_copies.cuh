/* sgemm/stages/tma_copies.cuh: the TMA copies of the stage tma, by a producer thread (sm_90a) or by consumer warps. */
#ifndef SGEMM_STAGES_TMA_COPIES_CUH
#define SGEMM_STAGES_TMA_COPIES_CUH

#if SGEMM__HAS_TMA

/* Starts the TMA copies of one operand's tile to shared memory, in boxes with rows of 128 bytes. The tile of a K-major
   operand has BK / 32 boxes of MN rows and 32 k. The tile of an MN-major operand has MN / 32 boxes of BK rows and 32
   mn. The boxes follow each other in shared memory. mn, k: first row or column, and first k, of the tile. matrix:
   number in the batch. full: the mbarrier that counts the bytes. */
SGEMM__DEVICE void sgemm__copy_boxes(float *shared, const sgemm__tensor_map *map, int MN, int BK, int k_major, int mn,
                                     int k, int matrix, sgemm__mbarrier *full) {
  int i;
  for (i = 0; i < (k_major ? BK : MN) / SGEMM__BOX; i++)
    sgemm__copy_box(shared + i * (k_major ? MN : BK) * SGEMM__BOX, map,
                    k_major ? k + i * SGEMM__BOX : mn + i * SGEMM__BOX, k_major ? mn : k, matrix, full);
}

/* Initializes the mbarriers: `full` of each buffer, then `empty` of each. One thread initializes all: with several
   threads a call at 512 x 512 x 512 takes 8.7 us instead of 8.6 us (H200, docs/notebook/tile_ends.md, "Prologue and
   epilogue code"). */
SGEMM__DEVICE void sgemm__init_tma_barriers(const sgemm__shape *s, sgemm__mbarrier *full, int consumer_warps) {
  int i;
  if (sgemm__thread() == 0) {
    SGEMM__UNROLL
    for (i = 0; i < s->bufs; i++) {
      sgemm__mbarrier_init(full + i, 1);
      sgemm__mbarrier_init(full + s->bufs + i, consumer_warps * SGEMM__ARRIVALS);
    }
  }
  sgemm__mbarrier_init_fence();
  sgemm__barrier();
}

/* ---- Copies by a producer: code for sm_90a ----------------------------------------------------------------------- */

/* The producer, one thread. For each work unit of the block it publishes a tile descriptor and, for each iteration,
   fills one buffer with the tiles of A and B as soon as the buffer is empty. A unit with k = 0 uses one buffer and no
   bytes. After the last unit the producer publishes a descriptor with rows = 0.
     A descriptor slot is reused after SGEMM__DESCRIPTORS units, at least bufs + 2. This is safe, because each unit uses
     at least one buffer: when the producer publishes unit u, all consumer warps have read the buffer that was filled
     bufs + 1 fills before the first fill of u. That fill belongs to unit u - bufs - 1 or a later one, so all consumer
     warps have finished unit u - bufs - 2. */
SGEMM__DEVICE void sgemm__produce_tiles(const sgemm__tma_args *args, const sgemm__shape *s,
                                        const sgemm__tensor_map *map_a, const sgemm__tensor_map *map_b, float *shared,
                                        sgemm__mbarrier *full, sgemm__mbarrier *empty,
                                        sgemm__tile_descriptor *descriptors) {
  const sgemm__args *p = &args->gemm;
  const int b_at = s->BK * s->BM, buffer = b_at + s->BK * s->BN; /* floats of A's tile, and of a buffer */
  int i = 0, parity = 1; /* parity of the phase before the first: the first wait for each buffer returns at once */
  sgemm__work_unit unit;
  uint32_t index;
  for (index = 0; sgemm__work_unit_of(args, s, index, &unit); index++) {
    const sgemm__tile_coord at = sgemm__rasterize(p, unit.tile);
    const int row = (int)at.row * s->BM, col = (int)at.col * s->BN;
    const int matrix_a = p->stride_a != 0 ? (int)unit.matrix : 0, matrix_b = p->stride_b != 0 ? (int)unit.matrix : 0;
    /* half: first k of the iteration whose second half is left out; -1: none is. */
    const int half = sgemm__skips_last_half(args, s, &unit) ? (unit.begin + unit.iterations - 1) * s->BK : -1;
    int k = unit.begin * s->BK, iterations_left = unit.iterations;
    sgemm__publish(args, s, &unit, descriptors + index % SGEMM__DESCRIPTORS);
    /* The loop over buffers inside is short: its instructions use issue slots beside the FMAs. */
    while (iterations_left > 0) {
      const int end = iterations_left < s->bufs - i ? i + iterations_left : s->bufs;
      float *into = shared + i * buffer;
      iterations_left -= end - i;
      SGEMM__UNROLL_BY(1)
      for (; i < end; i++) {
        const int from = sgemm__skips_half_steps(s) && k == half
                             ? k - SGEMM__BOX
                             : k; /* the first half of the iteration then lies in the second half of the buffer */
        sgemm__mbarrier_wait(empty + i, parity);
        sgemm__mbarrier_arrive_expect_tx(full + i, 4 * buffer);
        sgemm__copy_boxes(into, map_a, s->BM, s->BK, s->a_k_major, row, from, matrix_a, full + i);
        sgemm__copy_boxes(into + b_at, map_b, s->BN, s->BK, s->b_k_major, col, from, matrix_b, full + i);
        into += buffer;
        k += s->BK;
      }
      parity ^= i == s->bufs;
      i = i < s->bufs ? i : 0;
    }
    if (unit.iterations == 0) {
      sgemm__mbarrier_wait(empty + i, parity);
      sgemm__mbarrier_arrive(full + i);
      i = i + 1 < s->bufs ? i + 1 : 0;
      parity ^= i == 0;
    }
  }
  descriptors[index % SGEMM__DESCRIPTORS].rows = 0;
  sgemm__mbarrier_wait(empty + i, parity);
  sgemm__mbarrier_arrive(full + i);
}

/* ---- Copies by the consumer warps: code for sm_90 without the letter, and for later GPUs ------------------------- */

/* Publishes work unit number `index` of the block, or that there is none. One thread for each unit: before the main
   loop, warp w publishes unit w < bufs; as unit u begins, warp u % warps publishes unit u + bufs.
     A slot is reused after SGEMM__DESCRIPTORS = 16 units, 2 * bufs + 1 or more. This is safe, because each unit uses at
   least one buffer: when a warp begins unit u, the unit's first buffer has been filled, so all warps have left the one
   that was filled bufs buffers before, which belongs to unit u - bufs or a later one. No warp needs earlier units.
     A warp that issues copies of unit u + bufs sees it: it issues them bufs - 2 buffers ahead, as it begins a buffer of
   unit u + 2 or a later one, and has waited until all warps had left the buffer two before, in unit u or a later
   one. */
SGEMM__DEVICE void sgemm__publish_unit(const sgemm__tma_args *args, const sgemm__shape *s, uint32_t index,
                                       sgemm__tile_descriptor *descriptors, sgemm__unit_copies *copies) {
  const sgemm__args *p = &args->gemm;
  sgemm__tile_descriptor *descriptor = descriptors + index % SGEMM__DESCRIPTORS;
  sgemm__unit_copies *to = copies + index % SGEMM__DESCRIPTORS;
  sgemm__work_unit unit;
  sgemm__tile_coord at;
  to->exists = sgemm__work_unit_of(args, s, index, &unit);
  if (!to->exists) {
    descriptor->rows = to->iterations = 0;
    return;
  }
  sgemm__publish(args, s, &unit, descriptor);
  at = sgemm__rasterize(p, unit.tile);
  to->row = (int)at.row * s->BM;
  to->col = (int)at.col * s->BN;
  to->matrix_a = p->stride_a != 0 ? (int)unit.matrix : 0;
  to->matrix_b = p->stride_b != 0 ? (int)unit.matrix : 0;
  to->k = unit.begin * s->BK;
  to->iterations = unit.iterations;
  to->half = sgemm__skips_last_half(args, s, &unit) ? (unit.begin + unit.iterations - 1) * s->BK : -1;
}

/* Publishes the first `bufs` units, each by another warp. A block has at least four warps. */
SGEMM__DEVICE void sgemm__publish_first_units(const sgemm__tma_args *args, const sgemm__shape *s,
                                              sgemm__tile_descriptor *descriptors, sgemm__unit_copies *copies) {
  const int warp = sgemm__warp();
  if (warp < s->bufs && sgemm__elect_one())
    sgemm__publish_unit(args, s, (uint32_t)warp, descriptors, copies);
}

/* Fills buffer i with the tiles of an iteration, counted from the first one of work unit `unit` on: it may belong to a
   later unit. A unit without iterations, and the end of the units, use one buffer and no bytes. */
SGEMM__DEVICE void sgemm__fill_buffer(const sgemm__shape *s, const sgemm__tensor_map *map_a,
                                      const sgemm__tensor_map *map_b, float *shared, sgemm__mbarrier *full,
                                      const sgemm__unit_copies *copies, int i, uint32_t unit, int iteration) {
  const int b_at = s->BK * s->BM, buffer = b_at + s->BK * s->BN; /* floats of A's tile, and of a buffer */
  sgemm__unit_copies c = copies[unit % SGEMM__DESCRIPTORS];
  while (c.exists && iteration > 0 && iteration >= c.iterations) {
    iteration -= c.iterations > 0 ? c.iterations : 1;
    c = copies[++unit % SGEMM__DESCRIPTORS];
  }
  if (c.iterations > 0) {
    float *into = shared + i * buffer;
    const int k = c.k + iteration * s->BK;
    /* The first half of a half iteration lies in the second half of the buffer. */
    const int from = sgemm__skips_half_steps(s) && k == c.half ? k - SGEMM__BOX : k;
    sgemm__mbarrier_arrive_expect_tx(full + i, 4 * buffer);
    sgemm__copy_boxes(into, map_a, s->BM, s->BK, s->a_k_major, c.row, from, c.matrix_a, full + i);
    sgemm__copy_boxes(into + b_at, map_b, s->BN, s->BK, s->b_k_major, c.col, from, c.matrix_b, full + i);
  } else {
    sgemm__mbarrier_arrive(full + i);
  }
}

/* Fills all buffers but the last, which the warp fills that reads buffer 1 first. */
SGEMM__DEVICE void sgemm__fill_first_buffers(const sgemm__shape *s, const sgemm__tensor_map *map_a,
                                             const sgemm__tensor_map *map_b, float *shared, sgemm__mbarrier *full,
                                             const sgemm__unit_copies *copies) {
  int i;
  if (sgemm__warp() == 0 && sgemm__elect_one()) {
    SGEMM__UNROLL_BY(1)
    for (i = 0; i < s->bufs - 1; i++)
      sgemm__fill_buffer(s, map_a, map_b, shared, full, copies, i, 0, i);
  }
}

/* Called as the warp begins to read buffer i, whose iteration in work unit `unit` is `iteration`: fills the buffer that
   was read two buffers before, as soon as all warps have left it. */
SGEMM__DEVICE void sgemm__refill(const sgemm__shape *s, const sgemm__tensor_map *map_a, const sgemm__tensor_map *map_b,
                                 float *shared, sgemm__mbarrier *full, const sgemm__unit_copies *copies, int i,
                                 int parity, uint32_t unit, int iteration) {
  const int to = i >= 2 ? i - 2 : i + s->bufs - 2;
  if (sgemm__elect_one()) {
    sgemm__mbarrier_wait(full + s->bufs + to, i >= 2 ? parity : parity ^ 1);
    sgemm__fill_buffer(s, map_a, map_b, shared, full, copies, to, unit, iteration + s->bufs - 2);
  }
}

#endif

#endif /* SGEMM_STAGES_TMA_COPIES_CUH */
