/* sgemm/stages/tma.cuh: stage tma: warp-specialized, persistent blocks, TMA copies, stream-K. */
#ifndef SGEMM_STAGES_TMA_CUH
#define SGEMM_STAGES_TMA_CUH

#if SGEMM__HAS_SM90A

/* tma, the thread that feeds: a tile of E rows of an operand, from k on, by boxes of 128 bytes along memory. Along k it
   is boxes of E rows of 32 k, one behind the other; along e of BK rows of 32 e. */
SGEMM__DEVICE void sgemm__copy_boxes(float *shared, const sgemm__tensor_map *map, int E, int BK, int k_major, int e,
                                     int k, int matrix, sgemm__mbarrier *full) {
  int i;
  for (i = 0; i < (k_major ? BK : E) / SGEMM__BOX; i++)
    sgemm__copy_box(shared + i * (k_major ? E : BK) * SGEMM__BOX, map,
                    k_major ? k + i * SGEMM__BOX : e + i * SGEMM__BOX, k_major ? e : k, matrix, full);
}

/* And a buffer's tiles of both operands, as buffers come free, for all jobs of the block; behind them a task of rows 0.
   Each job has a step; one of no k takes a buffer of no bytes. So a task may take the place of the one s->bufs + 2
   before: the step s->bufs + 1 before this one has been multiplied, by all warps, and was of a later job than that. */
SGEMM__DEVICE void sgemm__produce_tiles(const sgemm__tma_args *args, const sgemm__shape *s,
                                        const sgemm__tensor_map *map_a, const sgemm__tensor_map *map_b, float *shared,
                                        sgemm__mbarrier *full, sgemm__mbarrier *empty, sgemm__tile_descriptor *tasks) {
  const sgemm__args *p = &args->gemm;
  const int b_at = s->BK * s->BM, buffer = b_at + s->BK * s->BN;
  int i = 0, parity = 1; /* of the phase before the first: nobody has yet to read the buffers */
  sgemm__work_unit job;
  uint32_t turn;
  for (turn = 0; sgemm__work_unit_of(args, s, turn, &job); turn++) {
    const sgemm__tile_coord at = sgemm__rasterize(p, job.tile);
    const int row = (int)at.row * s->BM, col = (int)at.col * s->BN;
    const int matrix_a = p->stride_a != 0 ? (int)job.matrix : 0, matrix_b = p->stride_b != 0 ? (int)job.matrix : 0;
    const int half = sgemm__skips_last_half(args, s, &job) ? (job.begin + job.steps - 1) * s->BK : -1; /* where it is */
    int k = job.begin * s->BK, left = job.steps;
    sgemm__publish(args, s, &job, tasks + turn % SGEMM__DESCRIPTORS);
    while (left > 0) { /* buffers up to the last one, in a short loop: its instructions take the place of FMAs */
      const int end = left < s->bufs - i ? i + left : s->bufs;
      float *into = shared + i * buffer;
      left -= end - i;
      SGEMM__UNROLL_BY(1)
      for (; i < end; i++) {
        const int from = sgemm__skips_half_steps(s) && k == half ? k - SGEMM__BOX
                                                                 : k; /* it lies in its buffer's second half */
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
    if (job.steps == 0) {
      sgemm__mbarrier_wait(empty + i, parity);
      sgemm__mbarrier_arrive(full + i);
      i = i + 1 < s->bufs ? i + 1 : 0;
      parity ^= i == 0;
    }
  }
  tasks[turn % SGEMM__DESCRIPTORS].rows = 0;
  sgemm__mbarrier_wait(empty + i, parity);
  sgemm__mbarrier_arrive(full + i);
}

/* tma: a warpgroup of which one thread copies and two that multiply, or one, where two blocks share an SM. They meet at
   two mbarriers a buffer: `full`, which the copies' bytes complete, and `empty`, at which each multiplying warp arrives
   when it has read the buffer for the last time. So no warp waits for another but by way of the copies, and there is
   nothing in the loop but loads of fragments and FMAs. The fragments of 4 k load while those before multiply, as in
   sgemm__pipelined(), across buffers too, and across tiles: a block does tile after tile, and behind the last one comes
   an empty task. What the main loop needs is reckoned behind setmaxnreg: held across it, it would be spilled. How the
   loop is arranged was measured, not derived (docs/performance.md, "Blocks that stay" to "The slots of the loop"): its
   body is 32 k, as longer code does not come in time; buffers change among the FMAs of the last quad; which fragments
   load first, and behind how many FMAs, was tried. And ptxas keeps registers that are stored four by four side by side,
   as fragments are. Its arrangement of the accumulators meets fewer banks so, 1 to 2 %, though the store that stands
   behind the loop for that is never reached. */
SGEMM__DEVICE void sgemm__tma(const sgemm__tma_args *args, const sgemm__shape *s, const sgemm__tensor_map *map_a,
                              const sgemm__tensor_map *map_b, float *shared, sgemm__mbarrier *full,
                              sgemm__tile_descriptor *tasks, float *acc, float *a, float *b) {
  const sgemm__args *p = &args->gemm;
  /* Indices. */
  const int threads = SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, s->slice_k); /* that multiply */
  const int b_at = s->BK * s->BM, buffer = b_at + s->BK * s->BN;              /* floats of a buffer, B's behind A's */
  sgemm__mbarrier *empty = full + s->bufs;
  int i = 0, q, parity = 0, steps;
  uint32_t turn;
  if (sgemm__thread() == 0) {
    SGEMM__UNROLL
    for (i = 0; i < s->bufs; i++) {
      sgemm__mbarrier_init(full + i, 1);
      sgemm__mbarrier_init(empty + i, threads / 32 * SGEMM__ARRIVALS);
    }
    i = 0;
  }
  sgemm__mbarrier_init_fence();
  sgemm__barrier();
  sgemm__pdl_wait();
  if (!sgemm__has_work(p))
    return;
  if (sgemm__thread() >= threads) {
    sgemm__setmaxnreg_producer();
    if (sgemm__thread() / 32 == threads / 32 && sgemm__elect_one())
      sgemm__produce_tiles(args, s, map_a, map_b, shared, full, empty, tasks);
  } else {
    const int b_first = threads == 256 && s->b_k_major; /* B's fragments load before A's */
    const int firsts = s->b_k_major ? 0 : s->TM / 2;    /* rows that multiply before the next load */
    const int depth = s->BK / (s->slice_k / 4), passes = depth / SGEMM__BOX; /* k of a step, for a warp; of the loop */
    const int quads = SGEMM__BOX / 4; /* of k in a pass, which are bytes of A and of B: */
    const int quads_a = quads * 128 * (s->a_k_major ? s->BM / 8 : 4),
              quads_b = quads * 128 * (s->b_k_major ? s->BN / 8 : 4);
    int warp, part, a_at, b_offset;
    sgemm__address from_a, from_b, lanes_a[8], lanes_b[8];
    sgemm__setmaxnreg_consumer(threads);
    full = sgemm__pin_pointer(full);
    empty = full + s->bufs;
    warp = sgemm__thread() / 32 % (s->BM / s->WM * (s->BN / s->WN));
    part = sgemm__thread() / 32 / (s->BM / s->WM * (s->BN / s->WN));
    a_at = sgemm__lane_offset(s, 0, warp / (s->BN / s->WN) * s->WM) +
           part * depth * (s->a_k_major ? s->BM / SGEMM__BOX : 1) * 128;
    b_offset = 4 * b_at + sgemm__lane_offset(s, 1, warp % (s->BN / s->WN) * s->WN) +
               part * depth * (s->b_k_major ? s->BN / SGEMM__BOX : 1) * 128;
    sgemm__lane_addresses(s, 0, a_at, s->TM, lanes_a);
    sgemm__lane_addresses(s, 1, b_offset, s->TN, lanes_b);
    from_a = from_b = sgemm__address_of(shared);
    sgemm__mbarrier_wait(full, 0);
    if (sgemm__unconditional_prefetch(1) || (p->k > 0 && tasks->rows > 0)) {
      sgemm__load_lane_fragment(a, from_a, lanes_a, s->TM, s->a_k_major, 0);
      sgemm__load_lane_fragment(b, from_b, lanes_b, s->TN, s->b_k_major, 0);
    }
    for (turn = 0; tasks[turn % SGEMM__DESCRIPTORS].rows > 0; turn++) {
      const sgemm__tile_descriptor *task = tasks + turn % SGEMM__DESCRIPTORS,
                                   *after = tasks + (turn + 1) % SGEMM__DESCRIPTORS;
      sgemm__tile tile;
      sgemm__args out;
      int last;
      /* Accumulators. */
      SGEMM__UNROLL
      for (q = 0; q < s->TM * s->TN; q++)
        acc[q] = 0.0f;
      /* Main loop. */
      const int odd = sgemm__skips_half_steps(s) ? task->steps % 2
                                                 : 0; /* 1: the last buffer has one step of the loop, not two */
      for (steps = task->steps; steps > 0; steps--) {
        const int ends = sgemm__skips_half_steps(s) ? steps == 1 || steps % 2 != odd
                                                    : passes == 1 || steps % passes == 1; /* a buffer */
        SGEMM__UNROLL
        for (q = 0; q < quads; q++) {
          const int now = q % 2, next = (q + 1) % quads;
          sgemm__multiply_fragments(acc, a + now * s->TM, 1, b + now * s->TN, 1, firsts, s->TN, 1);
          if (next == 0 && ends) {
            sgemm__fence_proxy_async();
            sgemm__mbarrier_arrive_warp(empty + i, s->slice_k == 4 || steps > 1); /* or the sums go through it */
            i = i + 1 < s->bufs ? i + 1 : 0;
            parity ^= i == 0;
            from_a = sgemm__address_of(shared + i * buffer);
            from_b = from_a;
            if (sgemm__skips_half_steps(s) && steps == 2) {
              from_a += quads_a;
              from_b += quads_b;
            }
            sgemm__mbarrier_wait(full + i, parity);
          } else if (next == 0) {
            from_a += quads_a;
            from_b += quads_b;
          }
          if (sgemm__unconditional_prefetch(1) || next > 0 || steps > 1 || after->rows > 0) {
            if (b_first)
              sgemm__load_lane_fragment(b + (1 - now) * s->TN, from_b, lanes_b, s->TN, s->b_k_major, next);
            sgemm__load_lane_fragment(a + (1 - now) * s->TM, from_a, lanes_a, s->TM, s->a_k_major, next);
            if (!b_first)
              sgemm__load_lane_fragment(b + (1 - now) * s->TN, from_b, lanes_b, s->TN, s->b_k_major, next);
          }
          sgemm__multiply_fragments(acc + firsts * s->TN, a + now * s->TM + firsts, 1, b + now * s->TN, 1,
                                    s->TM - firsts, s->TN, 1);
        }
      }
      if (p->k == 0) {
        sgemm__mbarrier_arrive_warp(empty + i, s->slice_k == 4);
        i = i + 1 < s->bufs ? i + 1 : 0;
        parity ^= i == 0;
        sgemm__mbarrier_wait(full + i, parity);
      }
      if (p->k < 0) { /* never reached: see above */
        SGEMM__UNROLL
        for (q = 0; q < s->TM * s->TN; q += 4)
          sgemm__store_shared4(shared + q * 128 + sgemm__thread() * 4, acc + q);
      }
      /* Epilogue. */
      out = *p;
      tile.A = tile.B = NULL;
      tile.C = p->C + task->at;
      tile.rows = task->rows;
      tile.cols = task->cols;
      if (task->partial) {
        tile.C = args->partials + task->at;
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
        sgemm__store_lanes(&out, s, &tile, task->plain, acc);
      }
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
#define SGEMM__TMA_BODY (void)shape, (void)args; /* no code: sgemm_device.has_sm90a_code says so at run time */
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
  SGEMM__RULE(BK % (SGEMM__BOX * (slice_k / 4)) == 0, "warps that share BK have whole boxes of it", name)              \
  SGEMM__RULE(8 % (slice_k / 4) == 0 && BM * BN / 2 * (slice_k > 4 ? slice_k * slice_k / 16 : 2) <= BK * (BM + BN),    \
              "the sums of a tile go through one buffer", name)                                                        \
  SGEMM__RULE(SGEMM__THREADS(BM, BN, TM, TN, slice_k) == 256 || SGEMM__THREADS(BM, BN, TM, TN, slice_k) == 128,        \
              "registers are reallocated to two consumer warpgroups, or to one", name)                                 \
  SGEMM__RULE(SGEMM__SHARED_BYTES(1, 0, BM, BN, BK, bufs, slice_k) + 1024 <= 227 * 1024,                               \
              "shared memory of a block is at most 227 KiB", name)

#endif /* SGEMM_STAGES_TMA_CUH */
