/* sgemm/stages/tensor_wgmma.cuh: tensor engine wgmma (sm_90a): warp-specialized, operands in shared memory. */
#ifndef SGEMM_STAGES_TENSOR_WGMMA_CUH
#define SGEMM_STAGES_TENSOR_WGMMA_CUH

#if SGEMM__HAS_SM90A

/* The producer, one thread. For each k-block it fills one buffer with the split terms of A and B as soon as the buffer
   is empty. With the first k-block of 128 k it also copies the block scales of A and B, and those of B for the 128 k
   before. All buffers are filled once while the consumers still compute the fallback reason. On fallback the consumers
   set *stop before they arrive at `empty` for the first time. */
SGEMM__DEVICE void sgemm__produce_k_blocks(const sgemm__tensor_args *args, const sgemm__tensor_shape *s, char *shared,
                                           sgemm__mbarrier *full, sgemm__mbarrier *empty, const uint32_t *stop) {
  const int row_bytes = SGEMM__ROW_BYTES(sgemm__terms(s->format));
  int64_t w;
  int i = 0, parity = 1, first_pass = 1; /* parity of the phase before the first: the first waits return at once */
  for (w = sgemm__block_x(); w < sgemm__tensor_units(args); w += sgemm__grid_x()) {
    const sgemm__tensor_unit unit = sgemm__tensor_unit_at(args, s, w);
    sgemm__k_block_source from = sgemm__k_block_source_at(args, s, &unit);
    SGEMM__UNROLL_BY(1)
    for (; from.k_block < from.end; sgemm__k_block_source_advance(args, s, &from)) {
      char *to = shared + i * SGEMM__BUFFER_BYTES(s->BM, s->BN, sgemm__terms(s->format));
      float *to_scales = (float *)(to + SGEMM__K_BLOCK_BYTES(s->BM, s->BN, sgemm__terms(s->format)));
      const int new_scales = sgemm__starts_scale(from.k_block);
      sgemm__mbarrier_wait(empty + i, parity);
      if (!first_pass && *(const volatile uint32_t *)stop)
        return;
      sgemm__mbarrier_arrive_expect_tx(full + i,
                                       (s->BM + s->BN) * row_bytes + (new_scales ? 4 * s->BM + 8 * s->BN : 0));
      sgemm__copy_bulk(to, from.a, s->BM * row_bytes, full + i);
      sgemm__copy_bulk(to + s->BM * row_bytes, from.b, s->BN * row_bytes, full + i);
      if (new_scales) {
        sgemm__copy_bulk(to_scales, from.a_scales, 4 * s->BM, full + i);
        sgemm__copy_bulk(to_scales + s->BM, from.b_scales, 4 * s->BN, full + i);
        sgemm__copy_bulk(to_scales + s->BM + s->BN, from.b_before, 4 * s->BN, full + i);
      }
      if (++i == s->bufs) {
        i = 0;
        parity ^= 1;
        first_pass = 0;
      }
    }
  }
}

/* Initializes the mbarriers and the words of shared memory. words[0], words[1]: for the guard. words[2]: *stop of the
   producer. full, empty: one mbarrier per buffer. flags_combined: an mbarrier for the guard. */
SGEMM__DEVICE void sgemm__init_wgmma_barriers(const sgemm__tensor_shape *s, sgemm__mbarrier *full,
                                              sgemm__mbarrier *empty, sgemm__mbarrier *flags_combined,
                                              uint32_t *words) {
  if (sgemm__thread() < 3)
    words[sgemm__thread()] = 0;
  if (sgemm__thread() == 0)
    sgemm__mbarrier_init(flags_combined, SGEMM__CONSUMER_WARPS);
  if (sgemm__thread() < s->bufs) {
    sgemm__mbarrier_init(full + sgemm__thread(), 1);
    sgemm__mbarrier_init(empty + sgemm__thread(), SGEMM__CONSUMER_WARPS);
  }
  sgemm__mbarrier_init_fence();
  sgemm__barrier();
}

/* Number of buffers that the producer fills without waiting for a consumer, if below s->bufs: one for each k-block of
   the block's work units. A result of s->bufs or more means all buffers. */
SGEMM__DEVICE int64_t sgemm__buffers_in_flight(const sgemm__tensor_args *args, const sgemm__tensor_shape *s) {
  int64_t w, filled = 0;
  for (w = sgemm__block_x(); w < sgemm__tensor_units(args) && filled < s->bufs; w += sgemm__grid_x()) {
    const sgemm__tensor_unit unit = sgemm__tensor_unit_at(args, s, w);
    filled += unit.end - unit.begin;
  }
  return filled;
}

/* Issues the wgmma instructions of a promotion interval, s->k_blocks k-blocks of 32 k, for 64 rows and s->WN columns,
   and commits them as one group (PTX ISA, "wgmma.mma_async"). a, b: matrix descriptors of the rows and of the columns
   in the first of the buffers. sum: s->sets accumulator sets of WN / 2 registers, which start from 0. The small
   products come first, in set 0. The large products, hi hi, come last and are divided among the sets by k. */
SGEMM__DEVICE void sgemm__issue_products(const sgemm__tensor_shape *s, sgemm__matrix_descriptor a,
                                         sgemm__matrix_descriptor b, float *sum) {
  const int buffer = SGEMM__BUFFER_BYTES(s->BM, s->BN, sgemm__terms(s->format));
  int product, j;
  sgemm__wgmma_fence();
  SGEMM__UNROLL
  for (product = 0; product < sgemm__products(s->format); product++) {
    SGEMM__UNROLL
    for (j = 0; j < 2 * s->k_blocks; j++) { /* 16 k, 2 matrices of 128 bytes */
      const int at = j / 2 * buffer + j % 2 * 256;
      const int large = product == sgemm__products(s->format) - 1, ks = 2 * s->k_blocks / s->sets;
      const int into = large ? j / ks : 0, begins = large && into > 0 ? j % ks == 0 : product + j == 0;
      sgemm__wgmma(sum + into * (s->WN / 2),
                   sgemm__matrix_descriptor_advance(a, at + sgemm__term_a(s->format, product) * SGEMM__GROUP_BYTES),
                   sgemm__matrix_descriptor_advance(b, at + sgemm__term_b(s->format, product) * SGEMM__GROUP_BYTES),
                   !begins, s->format, s->WN);
    }
  }
  sgemm__wgmma_commit();
}

/* Promotion: acc += (sum of the accumulator sets) * A's block scale, in fp32. a_scale0, a_scale8: block scales of the
   thread's rows r and r + 8. */
SGEMM__DEVICE void sgemm__promote(const sgemm__tensor_shape *s, const float *sum, float a_scale0, float a_scale8,
                                  float *acc) {
  int j, set;
  SGEMM__UNROLL
  for (j = 0; j < s->WN / 2; j++) {
    float all = sum[j];
    SGEMM__UNROLL
    for (set = 1; set < s->sets; set++)
      all += sum[set * (s->WN / 2) + j];
    acc[j] = sgemm__fma(all, j % 4 < 2 ? a_scale0 : a_scale8, acc[j]);
  }
}

/* The body of the engine wgmma: two consumer warpgroups of 64 rows each, a producer, persistent blocks. The consumer
   warpgroups issue their products alternately, ordered by named barriers, as in the ping-pong kernels of CUTLASS: one
   promotes while the tensor cores multiply for the other. Without this order both warpgroups would promote at the same
   time (docs/notebook/tensor.md, "What helped"). The accumulators hold sums divided by B's block scales, which change
   every 128 k. words: 3 words of shared memory. acc: BN / 2 registers. sum: WN / 2 registers for each of s->sets
   accumulator sets. */
SGEMM__DEVICE void sgemm__tensor_wgmma(const sgemm__tensor_args *args, const sgemm__tensor_shape *s, float *tiles,
                                       sgemm__mbarrier *full, uint32_t *words, float *acc, float *sum) {
  const int terms = sgemm__terms(s->format), group = SGEMM__GROUP_BYTES * terms; /* bytes of 8 rows of a k-block */
  const int buffer = SGEMM__BUFFER_BYTES(s->BM, s->BN, terms);
  const int lane = sgemm__thread() % 32, warp = sgemm__thread() / 32, warpgroup = warp / 4;
  char *shared = (char *)tiles;
  sgemm__mbarrier *empty = full + s->bufs, *flags_combined = empty + s->bufs;
  int64_t w, c;
  int i = 0, parity = 0, h, j;
  sgemm__init_wgmma_barriers(s, full, empty, flags_combined, words);
  if (warp >= SGEMM__CONSUMER_WARPS) {
    sgemm__setmaxnreg_tensor_producer();
    if (sgemm__thread() == 32 * SGEMM__CONSUMER_WARPS)
      sgemm__produce_k_blocks(args, s, shared, full, empty, words + 2);
    return;
  }
  sgemm__setmaxnreg_tensor_consumer();
  if (sgemm__guard(args, s->format, words, flags_combined, 32 * SGEMM__CONSUMER_WARPS) != 0) {
    /* The block must not exit before the copies in flight have completed. *stop then ends the producer. */
    const int64_t filled = sgemm__buffers_in_flight(args, s);
    for (j = 0; j < s->bufs && j < filled; j++)
      sgemm__mbarrier_wait(full + j, 0);
    if (lane == 0) {
      words[2] = 1;
      for (j = 0; j < s->bufs; j++)
        sgemm__mbarrier_arrive(empty + j);
    }
    return;
  }
  if (warpgroup == 1)
    sgemm__order_arrive(0);
  for (w = sgemm__block_x(); w < sgemm__tensor_units(args); w += sgemm__grid_x()) {
    const sgemm__tensor_unit unit = sgemm__tensor_unit_at(args, s, w);
    float a_scale0 = 1.0f, a_scale8 = 1.0f; /* A's block scales of the thread's rows r and r + 8 */
    SGEMM__UNROLL
    for (j = 0; j < s->BN / 2; j++)
      acc[j] = 0.0f;
    SGEMM__UNROLL_BY(1)
    for (c = unit.begin; c < unit.end; c += s->k_blocks) {
      char *from = shared + i * buffer;
      const float *a_scales = (const float *)(from + SGEMM__K_BLOCK_BYTES(s->BM, s->BN, terms));
      const float *b_scales = a_scales + s->BM;
      const sgemm__matrix_descriptor a = sgemm__matrix_descriptor_at(from + warpgroup * 8 * group, group);
      const sgemm__matrix_descriptor b = sgemm__matrix_descriptor_at(from + s->BM / 8 * group, group);
      const int new_scales = sgemm__starts_scale(c);
      SGEMM__UNROLL
      for (j = 0; j < s->k_blocks; j++)
        sgemm__mbarrier_wait(full + i + j, parity);
      if (new_scales) {
        a_scale0 = sgemm__load_shared(a_scales + sgemm__scale_offset(warp * 16 + lane / 4));
        a_scale8 = sgemm__load_shared(a_scales + sgemm__scale_offset(warp * 16 + lane / 4 + 8));
      }
      SGEMM__UNROLL
      for (h = 0; h < s->BN / s->WN; h++) { /* WN columns */
        sgemm__order_wait(warpgroup);
        sgemm__issue_products(s, a, sgemm__matrix_descriptor_advance(b, h * (s->WN / 8) * group), sum);
        sgemm__order_arrive(1 - warpgroup);
        if (new_scales) /* while the tensor cores multiply */
          sgemm__rescale(acc + h * (s->WN / 2), s->WN, b_scales + h * s->WN, b_scales + s->BN + h * s->WN);
        sgemm__wgmma_wait(sum, s->WN / 2 * s->sets);
        if (h == s->BN / s->WN - 1) { /* the warp has read the buffers */
          if (new_scales)
            sgemm__fence_proxy_async(); /* the lane's loads of block scales come before the copies that replace them */
          sgemm__warp_barrier();
          if (lane == 0) {
            SGEMM__UNROLL
            for (j = 0; j < s->k_blocks; j++)
              sgemm__mbarrier_arrive(empty + i + j);
          }
        }
        sgemm__promote(s, sum, a_scale0, a_scale8, acc + h * (s->WN / 2));
      }
      i += s->k_blocks;
      if (i == s->bufs) {
        i = 0;
        parity ^= 1;
      }
    }
    if (s->reduces)
      sgemm__tensor_reduce(args, &unit, warp * 16, acc);
    else
      sgemm__tensor_store(args, &unit, warp * 16, 0, s->BN, 1, acc);
  }
}

#endif

#if SGEMM__HAS_SM90A
#define SGEMM__TENSOR_BODY_wgmma(BM, BN, WN, terms, sets, bufs)                                                        \
  {                                                                                                                    \
    SGEMM__SHARED_DYNAMIC(tiles);                                                                                      \
    SGEMM__SHARED_MBARRIERS(barriers, 2 * (bufs) + 1);                                                                 \
    SGEMM__SHARED_WORDS(words, 3);                                                                                     \
    float acc[(BN) / 2], sum[(WN) / 2 * (sets)];                                                                       \
    sgemm__pdl_trigger();                                                                                              \
    sgemm__pdl_wait();                                                                                                 \
    if (sgemm__tensor_has_no_work(&args, shape.format))                                                                \
      return;                                                                                                          \
    sgemm__tensor_wgmma(&args, &shape, tiles, barriers, words, acc, sum);                                              \
  }
#else
#define SGEMM__TENSOR_BODY_wgmma(BM, BN, WN, terms, sets, bufs)                                                        \
  (void)shape, (void)args; /* no code: see sgemm_device.has_sm90a_code */
#endif

#define SGEMM__TENSOR_RULES_wgmma(name, format, BM, BN, WN, k_blocks, sets, bufs)                                      \
  SGEMM__RULE((BM) == 128, "wgmma variants have two warpgroups of 64 rows", name)                                      \
  SGEMM__RULE((WN) == 64 || (WN) == 128, "WN must be 64 or 128", name)                                                 \
  SGEMM__RULE((BN) % (WN) == 0 && (BN) <= 256, "BN must be a multiple of WN, and at most 256", name)                   \
  SGEMM__RULE(((k_blocks) == 1 || (k_blocks) == 2) && (bufs) % (k_blocks) == 0 && (bufs) <= 8,                         \
              "k_blocks must be 1 or 2 and divide bufs, of at most 8", name)                                           \
  SGEMM__RULE((sets) == 1 || (sets) == 2 || (sets) == 2 * (k_blocks), "sets must be 1, 2 or 2 k_blocks", name)         \
  SGEMM__RULE((bufs)*SGEMM__BUFFER_BYTES(BM, BN, SGEMM__TERMS_##format) <= 226 * 1024,                                 \
              "shared memory of a block is at most 227 KiB, with its mbarriers", name)

#endif /* SGEMM_STAGES_TENSOR_WGMMA_CUH */
