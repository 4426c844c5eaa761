/* sgemm/stages/tma.cuh: stage tma: warp-specialized, persistent blocks, TMA copies, stream-K. */
#ifndef SGEMM_STAGES_TMA_CUH
#define SGEMM_STAGES_TMA_CUH

#if SGEMM__HAS_SM90A

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
    int k = unit.begin * s->BK, left = unit.iterations;
    sgemm__publish(args, s, &unit, descriptors + index % SGEMM__DESCRIPTORS);
    while (left > 0) { /* the loop over buffers inside is short: its instructions use issue slots beside the FMAs */
      const int end = left < s->bufs - i ? i + left : s->bufs;
      float *into = shared + i * buffer;
      left -= end - i;
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

/* The lane's byte offsets in a buffer, see sgemm__lane_addresses(). B's offsets include the offset of B's tile. In
   sliced-K variants s->slice_k / 4 groups of consumer warps divide the k of a buffer. */
SGEMM__DEVICE void sgemm__consumer_addresses(const sgemm__shape *s, sgemm__address *lanes_a, sgemm__address *lanes_b) {
  const int depth = s->BK / (s->slice_k / 4); /* k of a buffer that the warp multiplies */
  const int warp = sgemm__thread() / 32 % (s->BM / s->WM * (s->BN / s->WN));
  const int slice = sgemm__thread() / 32 / (s->BM / s->WM * (s->BN / s->WN));
  const int a_offset = sgemm__lane_offset(s, 0, warp / (s->BN / s->WN) * s->WM) +
                       slice * depth * (s->a_k_major ? s->BM / SGEMM__BOX : 1) * 128;
  const int b_offset = 4 * s->BK * s->BM + sgemm__lane_offset(s, 1, warp % (s->BN / s->WN) * s->WN) +
                       slice * depth * (s->b_k_major ? s->BN / SGEMM__BOX : 1) * 128;
  sgemm__lane_addresses(s, 0, a_offset, s->TM, lanes_a);
  sgemm__lane_addresses(s, 1, b_offset, s->TN, lanes_b);
}

/* Sums the results of a work unit and stores them to C or to a partial tile. Sliced-K variants sum in the buffer that
   the main loop read last, the one before buffer i, and arrive at its mbarrier `empty` afterwards. */
SGEMM__DEVICE void sgemm__store_unit(const sgemm__tma_args *args, const sgemm__shape *s, float *shared, int i,
                                     sgemm__mbarrier *empty, const sgemm__tile_descriptor *descriptor, float *acc) {
  const sgemm__args *p = &args->gemm;
  const int buffer = s->BK * s->BM + s->BK * s->BN; /* floats */
  sgemm__tile tile;
  sgemm__args out;
  int last;
  out = *p;
  tile.A = tile.B = NULL;
  tile.C = p->C + descriptor->offset;
  tile.rows = descriptor->rows;
  tile.cols = descriptor->cols;
  if (descriptor->partial) {
    tile.C = args->partials + descriptor->offset;
    out.ldc = s->BN;
    out.alpha = 1.0f;
    out.beta = 0.0f;
  }
  if (s->slice_k > 4) {
    last = i > 0 ? i - 1 : s->bufs - 1;
    sgemm__reduce_warps_and_store(&out, s, &tile, shared + last * buffer, acc);
    sgemm__fence_proxy_async();
    sgemm__mbarrier_arrive_warp(empty + last, 1);
  } else {
    sgemm__store_lanes(&out, s, &tile, descriptor->full, acc);
  }
}

/* Loads the fragments of A and B for float4 q of k, q = 0 to 7. b_first: 1 to load B's before A's. */
SGEMM__DEVICE void sgemm__load_lane_fragments(const sgemm__shape *s, int b_first, sgemm__address from_a,
                                              sgemm__address from_b, const sgemm__address *lanes_a,
                                              const sgemm__address *lanes_b, int q, float *a, float *b) {
  if (b_first)
    sgemm__load_lane_fragment(b, from_b, lanes_b, s->TN, s->b_k_major, q);
  sgemm__load_lane_fragment(a, from_a, lanes_a, s->TM, s->a_k_major, q);
  if (!b_first)
    sgemm__load_lane_fragment(b, from_b, lanes_b, s->TN, s->b_k_major, q);
}

/* 1 if this step of the main loop is the last one of its buffer. steps: remaining steps of the tile, with this one.
   odd: 1 if the tile's last buffer has one step instead of two, see sgemm__skips_half_steps(). */
SGEMM__DEVICE int sgemm__ends_buffer(const sgemm__shape *s, int steps, int odd) {
  const int passes = s->BK / (s->slice_k / 4) / SGEMM__BOX; /* steps of a warp in a buffer */
  return sgemm__skips_half_steps(s) ? steps == 1 || steps % 2 != odd : passes == 1 || steps % passes == 1;
}

/* Makes ptxas keep the accumulators in aligned groups of four registers: 128-bit stores use the groups, under a
   condition that is always false. Then fewer FMAs read two operands from one register bank, which saves 0.7 to 2.5 % of
   the time by a model of the banks (docs/notebook/tile_ends.md, "Sums by shuffles"). */
SGEMM__DEVICE void sgemm__align_accumulators(const sgemm__args *p, const sgemm__shape *s, float *shared,
                                             const float *acc) {
  int q;
  if (p->k < 0) {
    SGEMM__UNROLL
    for (q = 0; q < s->TM * s->TN; q += 4)
      sgemm__store_shared4(shared + q * 128 + sgemm__thread() * 4, acc + q);
  }
}

/* The body of the stage tma. One or two consumer warpgroups multiply, and one thread of a further warpgroup is the
   producer. Variants with one consumer warpgroup have two blocks on an SM. Producer and consumers synchronize by two
   mbarriers per buffer: the bytes of the copies complete `full`; each consumer warp arrives at `empty` when the
   buffer's last fragments are in its registers. The main loop has no barrier among consumer warps and executes little
   but fragment loads and FMAs. A step of the loop multiplies 32 k, in 8 groups of four k; a lane multiplies one k of
   each group. While a group is multiplied, the fragments of the next group load, also from the next buffer and for the
   next tile.
     Measured choices (docs/notebook/tma_loop.md, "The slots of the loop", and docs/notebook/tile_ends.md, "Sums by
     shuffles"): a step has 32 k, because longer code misses the instruction cache; the change of buffers is among the
     FMAs of a buffer's last group; `firsts` rows are multiplied before the loads; with b_first B's fragments load
     before A's. Addresses are computed after setmaxnreg, because ptxas spills values that are live across it. The main
     loop is not a function of its own, because its SASS would then differ. */
SGEMM__DEVICE void sgemm__tma(const sgemm__tma_args *args, const sgemm__shape *s, const sgemm__tensor_map *map_a,
                              const sgemm__tensor_map *map_b, float *shared, sgemm__mbarrier *full,
                              sgemm__tile_descriptor *descriptors, float *acc, float *a, float *b) {
  const sgemm__args *p = &args->gemm;
  const int threads = SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, s->slice_k); /* consumer threads of a block */
  const int buffer = s->BK * s->BM + s->BK * s->BN;                           /* floats */
  sgemm__mbarrier *empty = full + s->bufs;
  int i = 0, q, parity = 0, steps; /* i: buffer that is read; parity: parity of its phase */
  uint32_t index;
  sgemm__init_tma_barriers(s, full, threads / 32);
  sgemm__pdl_wait();
  if (!sgemm__has_work(p))
    return;
  if (sgemm__thread() >= threads) {
    sgemm__setmaxnreg_producer();
    if (sgemm__thread() / 32 == threads / 32 && sgemm__elect_one())
      sgemm__produce_tiles(args, s, map_a, map_b, shared, full, empty, descriptors);
  } else {
    const int b_first = threads == 256 && s->b_k_major, firsts = s->b_k_major ? 0 : s->TM / 2;
    const int groups = SGEMM__BOX / 4;                                 /* groups of four k in a step */
    const int bytes_a = groups * 128 * (s->a_k_major ? s->BM / 8 : 4); /* bytes of a step in a buffer */
    const int bytes_b = groups * 128 * (s->b_k_major ? s->BN / 8 : 4);
    sgemm__address from_a, from_b, lanes_a[8], lanes_b[8];
    sgemm__setmaxnreg_consumer(threads);
    full = sgemm__pin_pointer(full);
    empty = full + s->bufs;
    sgemm__consumer_addresses(s, lanes_a, lanes_b);
    from_a = from_b = sgemm__address_of(shared);
    sgemm__mbarrier_wait(full, 0);
    if (sgemm__unconditional_prefetch(1) || (p->k > 0 && descriptors->rows > 0))
      sgemm__load_lane_fragments(s, 0, from_a, from_b, lanes_a, lanes_b, 0, a, b);
    for (index = 0; descriptors[index % SGEMM__DESCRIPTORS].rows > 0; index++) {
      const sgemm__tile_descriptor *descriptor = descriptors + index % SGEMM__DESCRIPTORS,
                                   *after = descriptors + (index + 1) % SGEMM__DESCRIPTORS;
      SGEMM__UNROLL
      for (q = 0; q < s->TM * s->TN; q++)
        acc[q] = 0.0f;
      /* Main loop. odd: 1 if the last buffer has one step instead of two. */
      const int odd = sgemm__skips_half_steps(s) ? descriptor->steps % 2 : 0;
      for (steps = descriptor->steps; steps > 0; steps--) {
        const int ends = sgemm__ends_buffer(s, steps, odd);
        SGEMM__UNROLL
        for (q = 0; q < groups; q++) {
          const int now = q % 2, next = (q + 1) % groups;
          sgemm__multiply_fragments(acc, a + now * s->TM, 1, b + now * s->TN, 1, firsts, s->TN, 1);
          if (next == 0 && ends) {
            sgemm__fence_proxy_async();
            sgemm__mbarrier_arrive_warp(empty + i, s->slice_k == 4 || steps > 1); /* else sgemm__store_unit() does */
            i = i + 1 < s->bufs ? i + 1 : 0;
            parity ^= i == 0;
            from_a = from_b = sgemm__address_of(shared + i * buffer);
            if (sgemm__skips_half_steps(s) && steps == 2) {
              from_a += bytes_a;
              from_b += bytes_b;
            }
            sgemm__mbarrier_wait(full + i, parity);
          } else if (next == 0) {
            from_a += bytes_a;
            from_b += bytes_b;
          }
          if (sgemm__unconditional_prefetch(1) || next > 0 || steps > 1 || after->rows > 0)
            sgemm__load_lane_fragments(s, b_first, from_a, from_b, lanes_a, lanes_b, next, a + (1 - now) * s->TM,
                                       b + (1 - now) * s->TN);
          sgemm__multiply_fragments(acc + firsts * s->TN, a + now * s->TM + firsts, 1, b + now * s->TN, 1,
                                    s->TM - firsts, s->TN, 1);
        }
      }
      if (p->k == 0) { /* the producer used one buffer for this unit */
        sgemm__mbarrier_arrive_warp(empty + i, s->slice_k == 4);
        i = i + 1 < s->bufs ? i + 1 : 0;
        parity ^= i == 0;
        sgemm__mbarrier_wait(full + i, parity);
      }
      sgemm__align_accumulators(p, s, shared, acc);
      /* Epilogue. */
      sgemm__store_unit(args, s, shared, i, empty, descriptor, acc);
    }
  }
}

#endif

#if SGEMM__HAS_SM90A
#define SGEMM__TMA_BODY                                                                                                \
  SGEMM__SHARED_DYNAMIC(tiles);                                                                                        \
  SGEMM__SHARED_MBARRIERS(barriers, 2 * bufs);                                                                         \
  SGEMM__SHARED_DESCRIPTORS(descriptors, SGEMM__DESCRIPTORS);                                                          \
  SGEMM__MAKE_TENSOR_MAPS(args, shape, map_a, map_b)                                                                   \
  float acc[TM * TN], a[2 * TM], b[2 * TN];                                                                            \
  sgemm__tma(&args, &shape, &map_a, &map_b, tiles, barriers, descriptors, acc, a, b);
#else
#define SGEMM__TMA_BODY (void)shape, (void)args; /* no code: see sgemm_device.has_sm90a_code */
#endif
#define SGEMM__KERNEL_tma(stage, name, blocks, ...)                                                                    \
  SGEMM__GLOBAL_TMA(name, SGEMM__LAUNCH_THREADS(stage, __VA_ARGS__), blocks) {                                         \
    SGEMM__COLUMNS(stage, __VA_ARGS__)                                                                                 \
    const sgemm__shape shape = SGEMM__SHAPE;                                                                           \
    SGEMM__TMA_BODY                                                                                                    \
  }

#define SGEMM__DECLARE_tma(name) SGEMM__DECLARE_TMA(name)

#define SGEMM__RULES_tma(name)                                                                                         \
  SGEMM__RULE(WM == 32 && WN == 32 && TM == 16 && TN == 8 && slice_k % 4 == 0,                                         \
              "a warp of tma has 32 x 32 results, 16 x 8 a lane, and slice_k a multiple of 4", name)                   \
  SGEMM__RULE(V == 4 && bufs >= 3 && bufs <= 4, "tma has V = 4 and 3 or 4 buffers", name)                              \
  SGEMM__RULE(BK % (SGEMM__BOX * (slice_k / 4)) == 0,                                                                  \
              "BK must be a multiple of 32 for each of the slice_k / 4 warps that divide it", name)                    \
  SGEMM__RULE(8 % (slice_k / 4) == 0 && BM * BN / 2 * (slice_k > 4 ? slice_k * slice_k / 16 : 2) <= BK * (BM + BN),    \
              "the sums of a tile must fit into one buffer", name)                                                     \
  SGEMM__RULE(SGEMM__THREADS(BM, BN, TM, TN, slice_k) == 256 || SGEMM__THREADS(BM, BN, TM, TN, slice_k) == 128,        \
              "tma has one or two consumer warpgroups", name)                                                          \
  SGEMM__RULE(SGEMM__SHARED_BYTES(1, 0, BM, BN, BK, bufs, slice_k) + 1024 <= 227 * 1024,                               \
              "shared memory of a block is at most 227 KiB", name)

#endif /* SGEMM_STAGES_TMA_CUH */
