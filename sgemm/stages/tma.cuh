/* sgemm/stages/tma.cuh: stage tma: persistent blocks, TMA copies, stream-K; and stage clustered, with the same body. */
#ifndef SGEMM_STAGES_TMA_CUH
#define SGEMM_STAGES_TMA_CUH

#if SGEMM__HAS_TMA

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

/* Sums the results of a work unit and stores them to C or to a partial tile. Sliced-K variants sum in shared memory, in
   the buffer before buffer i, which the main loop read last (clustered: in the first buffer). Then they arrive at the
   mbarrier `empty` of the buffer that was read last. */
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
  /* The test of slice_k changes no result. With it ptxas keeps the order of instructions in the main loop of the
     variants with slice_k = 4 (docs/notebook/compile_time.md, "Epilogues in the kernels of plain calls"). */
  if (s->fused && (s->slice_k > 4 || p->applies_epilogue) && p->epilogue.vec_n != NULL)
    out.epilogue.vec_n += descriptor->col;
  if (descriptor->partial) {
    tile.C = args->partials + descriptor->offset;
    out.ldc = s->BN;
    out.alpha = 1.0f;
    out.beta = 0.0f;
    out.applies_epilogue = 0;
  }
  if (s->slice_k > 4) {
    last = i > 0 ? i - 1 : s->bufs - 1;
    sgemm__reduce_warps_and_store(&out, s, &tile, s->cluster_split_k ? shared : shared + last * buffer, acc);
    sgemm__fence_proxy_async();
    sgemm__mbarrier_arrive_warp(empty + last, 1);
  } else {
    sgemm__store_lanes(&out, s, &tile, descriptor->full, shared, acc);
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

/* Steps of a warp in a buffer. */
SGEMM__DEVICE int sgemm__steps_in_buffer(const sgemm__shape *s) { return s->BK / (s->slice_k / 4) / SGEMM__BOX; }

/* 1 if this step of the main loop is the last one of its buffer. steps: remaining steps of the tile, with this one.
   odd: 1 if the tile's last buffer has one step instead of two, see sgemm__skips_half_steps(). */
SGEMM__DEVICE int sgemm__ends_buffer(const sgemm__shape *s, int steps, int odd) {
  const int passes = sgemm__steps_in_buffer(s);
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
    for (q = 0; q < s->TM * s->TN; q += 16)
      sgemm__store_shared16(shared + sgemm__thread() * 16, acc + q);
  }
}

/* The body of the stage tma. One or two consumer warpgroups multiply. In code for sm_90a one thread of a further
   warpgroup, the producer, issues the copies; in other code the consumer warps take turns (sgemm__refill()). Variants
   with one consumer warpgroup have two blocks on an SM. Copies and consumers synchronize by two mbarriers per buffer:
   the bytes of the copies complete `full`; each consumer warp arrives at `empty` after it has issued the loads of the
   buffer's last fragments. sgemm__fence_proxy_async() before the arrival waits for these loads. The main loop has no
   barrier among consumer warps and executes little but fragment loads and FMAs.
   A step of the loop multiplies 32 k, in 8 groups of four k; a lane multiplies one k of each group. While a group is
   multiplied, the fragments of the next group load, also from the next buffer and for the next tile.
   row_values: shared memory of a reducing kernel.
     Measured choices (docs/notebook/tma_loop.md, "The slots of the loop", and docs/notebook/tile_ends.md, "Sums by
     shuffles"): a step has 32 k, because longer code misses the instruction cache; the change of buffers is among the
     FMAs of a buffer's last group; rows_before_loads rows are multiplied before the loads; with b_first B's fragments
     load before A's. Addresses are computed after setmaxnreg, because ptxas spills values that are live across it. The
     main loop is not a function of its own, because its SASS would then differ. Without a producer a warp arrives at
     `empty` after the first group of the next buffer, where no load is in flight, and refills a buffer at the head of a
     step, where the code branches anyway (docs/notebook/sm90.md). */
SGEMM__DEVICE void sgemm__tma(const sgemm__tma_args *args, const sgemm__shape *s, const sgemm__tensor_map *map_a,
                              const sgemm__tensor_map *map_b, float *shared, sgemm__mbarrier *full,
                              sgemm__tile_descriptor *descriptors, sgemm__unit_copies *copies, float *row_values,
                              float *acc, float *a, float *b) {
  const sgemm__args *p = &args->gemm;
  const int threads = SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, s->slice_k); /* consumer threads of a block */
  const int buffer = s->BK * s->BM + s->BK * s->BN;                           /* floats */
  const int producer = SGEMM__HAS_SM90A, warp = producer ? 0 : sgemm__warp();
  sgemm__mbarrier *empty = full + s->bufs;
  int i = 0, q, parity = 0, steps; /* i: buffer that is read; parity: parity of its phase */
  /* Without a producer. refills: 1 if the warp refills a buffer before its next step. owes_arrival: 1 if it has not
     arrived at `empty` of the buffer before yet. */
  int refills = 0, owes_arrival = 0;
  uint32_t index;
  if (!producer)
    sgemm__publish_first_units(args, s, descriptors, copies);
  sgemm__init_tma_barriers(s, full, threads / 32);
  sgemm__begin(p, s);
  if (!sgemm__has_work(p))
    return;
  if (producer && sgemm__thread() >= threads) {
    sgemm__setmaxnreg_producer();
    if (sgemm__thread() / 32 == threads / 32 && sgemm__elect_one())
      sgemm__produce_tiles(args, s, map_a, map_b, shared, full, empty, descriptors);
  } else {
    const int b_first = threads == 256 && s->b_k_major, rows_before_loads = s->b_k_major ? 0 : s->TM / 2;
    const int groups = SGEMM__BOX / 4;                                 /* groups of four k in a step */
    const int bytes_a = groups * 128 * (s->a_k_major ? s->BM / 8 : 4); /* bytes of a step in a buffer */
    const int bytes_b = groups * 128 * (s->b_k_major ? s->BN / 8 : 4);
    sgemm__address from_a, from_b, lanes_a[8], lanes_b[8];
    if (producer)
      sgemm__setmaxnreg_consumer(threads);
    else
      sgemm__fill_first_buffers(s, map_a, map_b, shared, full, copies);
    full = sgemm__pin_pointer(full);
    empty = full + s->bufs;
    sgemm__consumer_addresses(s, lanes_a, lanes_b);
    from_a = from_b = sgemm__address_of(shared);
    sgemm__mbarrier_wait(full, 0);
    if (sgemm__unconditional_prefetch(1) || (descriptors->rows > 0 && descriptors->steps > 0))
      sgemm__load_lane_fragments(s, 0, from_a, from_b, lanes_a, lanes_b, 0, a, b);
    for (index = 0; descriptors[index % SGEMM__DESCRIPTORS].rows > 0; index++) {
      const sgemm__tile_descriptor *descriptor = descriptors + index % SGEMM__DESCRIPTORS,
                                   *after = descriptors + (index + 1) % SGEMM__DESCRIPTORS;
      if (!producer && warp == (int)(index % (uint32_t)(threads / 32)) && sgemm__elect_one())
        sgemm__publish_unit(args, s, index + (uint32_t)s->bufs, descriptors, copies);
      SGEMM__UNROLL
      for (q = 0; q < s->TM * s->TN; q++)
        acc[q] = 0.0f;
      /* Main loop. odd: 1 if the last buffer has one step instead of two. */
      const int all = descriptor->steps, odd = sgemm__skips_half_steps(s) ? all % 2 : 0;
      for (steps = all; steps > 0; steps--) {
        const int ends = sgemm__ends_buffer(s, steps, odd);
        if (!producer && SGEMM__UNLIKELY(refills))
          sgemm__refill(s, map_a, map_b, shared, full, copies, i, parity, index,
                        (all - steps) / sgemm__steps_in_buffer(s));
        SGEMM__UNROLL
        for (q = 0; q < groups; q++) {
          const int now = q % 2, next = (q + 1) % groups;
          sgemm__multiply_fragments(acc, a + now * s->TM, 1, b + now * s->TN, 1, rows_before_loads, s->TN, 1);
          if (next == 0 && ends) {
            owes_arrival = !producer && (s->slice_k == 4 || steps > 1);
            if (producer) {
              sgemm__fence_proxy_async();
              sgemm__mbarrier_arrive_warp(empty + i, s->slice_k == 4 || steps > 1); /* else sgemm__store_unit() does */
            }
            i = i + 1 < s->bufs ? i + 1 : 0;
            parity ^= i == 0;
            refills = !producer && warp == i;
            from_a = from_b = sgemm__address_of(shared + i * buffer);
            if (sgemm__skips_half_steps(s) && steps == 2) {
              from_a += bytes_a;
              from_b += bytes_b;
            }
            sgemm__mbarrier_wait(full + i, parity);
          } else if (next == 0) {
            refills = 0;
            from_a += bytes_a;
            from_b += bytes_b;
          }
          if (sgemm__unconditional_prefetch(1) || next > 0 || steps > 1 || after->rows > 0)
            sgemm__load_lane_fragments(s, b_first, from_a, from_b, lanes_a, lanes_b, next, a + (1 - now) * s->TM,
                                       b + (1 - now) * s->TN);
          sgemm__multiply_fragments(acc + rows_before_loads * s->TN, a + now * s->TM + rows_before_loads, 1,
                                    b + now * s->TN, 1, s->TM - rows_before_loads, s->TN, 1);
          if (!producer && q == 0) {
            sgemm__fence_proxy_async();
            sgemm__mbarrier_arrive_warp(empty + (i > 0 ? i - 1 : s->bufs - 1), owes_arrival);
            owes_arrival = 0;
          }
        }
      }
      if (s->cluster_split_k ? all == 0 : p->k == 0) { /* this unit used one buffer */
        if (!producer && refills)
          sgemm__refill(s, map_a, map_b, shared, full, copies, i, parity, index, 0);
        sgemm__mbarrier_arrive_warp(empty + i, s->slice_k == 4);
        i = i + 1 < s->bufs ? i + 1 : 0;
        parity ^= i == 0;
        refills = !producer && warp == i;
        sgemm__mbarrier_wait(full + i, parity);
      }
      sgemm__align_accumulators(p, s, shared, acc);
      /* Epilogue. */
      sgemm__wait_for_c(p, s);
      if (s->fused == SGEMM__REDUCES)
        sgemm__reduce_unit(args, s, row_values, index, descriptor, acc);
      else
        sgemm__store_unit(args, s, shared, i, empty, descriptor, acc);
    }
  }
}

#endif

#if SGEMM__HAS_TMA
#define SGEMM__TMA_BODY                                                                                                \
  SGEMM__SHARED_DYNAMIC(tiles);                                                                                        \
  SGEMM__SHARED_MBARRIERS(barriers, 2 * bufs);                                                                         \
  SGEMM__SHARED_DESCRIPTORS(descriptors, SGEMM__DESCRIPTORS);                                                          \
  SGEMM__SHARED_COPIES(copies, SGEMM__DESCRIPTORS);                                                                    \
  SGEMM__SHARED(row_values, SGEMM__TMA_REDUCE_FLOATS(BM, BN, WN)); /* no memory in other kernels */                    \
  SGEMM__MAKE_TENSOR_MAPS(args, shape, map_a, map_b)                                                                   \
  float acc[TM * TN], a[2 * TM], b[2 * TN];                                                                            \
  sgemm__tma(&args, &shape, &map_a, &map_b, tiles, barriers, descriptors, copies, row_values, acc, a, b);
#else
#define SGEMM__TMA_BODY (void)shape, (void)args; /* no code: see sgemm_device.code_arch */
#endif
#define SGEMM__KERNEL_tma(stage, name, blocks, ...)                                                                    \
  SGEMM__GLOBAL_TMA(name, SGEMM__LAUNCH_THREADS(stage, __VA_ARGS__), blocks) {                                         \
    SGEMM__COLUMNS(stage, __VA_ARGS__)                                                                                 \
    SGEMM__ASSERT((int)fused != SGEMM__REDUCES || ((int)slice_k == 4 && !trans_a && trans_b),                          \
                  #name " reduces sums of one warp, of K-major operands")                                              \
    const sgemm__shape shape = SGEMM__SHAPE;                                                                           \
    SGEMM__TMA_BODY                                                                                                    \
  }

#define SGEMM__DECLARE_tma(name) SGEMM__DECLARE_TMA(name)

/* Bytes of static shared memory at most: mbarriers, tile descriptors and, without a producer, the copies of work units,
   1,088 bytes together, padded to the alignment of the tiles. */
#define SGEMM__TMA_STATIC_BYTES 2048
#define SGEMM__RULES_tma(name)                                                                                         \
  SGEMM__RULE(WM == 32 && WN == 32 && TM == 16 && TN == 8 && slice_k % 4 == 0,                                         \
              "a warp of tma has 32 x 32 results, 16 x 8 a lane, and slice_k a multiple of 4", name)                   \
  SGEMM__RULE(V == 4 && bufs >= 3 && bufs <= 4, "tma has V = 4 and 3 or 4 buffers", name)                              \
  SGEMM__RULE(BK % (SGEMM__BOX * (slice_k / 4)) == 0,                                                                  \
              "BK must be a multiple of 32 for each of the slice_k / 4 warps that divide it", name)                    \
  SGEMM__RULE(8 % (slice_k / 4) == 0 && BM * BN * (slice_k / 4) <= BK * (BM + BN),                                     \
              "the sums of a tile must fit into one buffer", name)                                                     \
  SGEMM__RULE(SGEMM__THREADS(BM, BN, TM, TN, slice_k) == 256 || SGEMM__THREADS(BM, BN, TM, TN, slice_k) == 128,        \
              "tma has one or two consumer warpgroups", name)                                                          \
  SGEMM__RULE(SGEMM__SHARED_BYTES(1, 0, BM, BN, BK, bufs, slice_k) + SGEMM__TMA_STATIC_BYTES <= 227 * 1024,            \
              "shared memory of a block is at most 227 KiB", name)

/* Stage clustered. Its trait cluster_split_k, a constant in each kernel, selects the work units and the sums of a
   cluster: see sgemm__work_unit_of() and sgemm__reduce_cluster_rows(). */
#define SGEMM__KERNEL_clustered(...) SGEMM__KERNEL_tma(__VA_ARGS__)
#define SGEMM__DECLARE_clustered(name) SGEMM__DECLARE_TMA(name)
/* sgemm__reduce_cluster_rows() stores one row at a time. In variants with two consumer warpgroups
   sgemm__store_lane_rows() needs two: it exchanges elements of unaligned rows. */
#define SGEMM__RULES_clustered(name)                                                                                   \
  SGEMM__RULES_tma(name)                                                                                               \
      SGEMM__RULE(SGEMM__THREADS(BM, BN, TM, TN, slice_k) == 128, "clustered has one consumer warpgroup", name)

#endif /* SGEMM_STAGES_TMA_CUH */
