/* sgemm/stages/tensor_mma.cuh: tensor engine mma (sm_80 and later): mma.sync and ldmatrix, 8 warps. */
#ifndef SGEMM_STAGES_TENSOR_MMA_CUH
#define SGEMM_STAGES_TENSOR_MMA_CUH

#if SGEMM__HAS_MMA

/* Copies the next k-block of a source, if there is one, to shared memory with cp.async: the split terms of A and B.
   With the first k-block of 128 k it also copies the block scales of A and B, and those of B for the 128 k before. All
   threads of the block call it. */
SGEMM__DEVICE void sgemm__copy_k_block(const sgemm__tensor_args *args, const sgemm__tensor_shape *s,
                                       sgemm__k_block_source *from, float *to) {
  const int row_floats = SGEMM__ROW_BYTES(sgemm__terms(s->format)) / 4, threads = SGEMM__TENSOR_THREADS_mma;
  const int at = sgemm__thread() * 4;
  int i;
  if (from->k_block == from->end)
    return;
  SGEMM__UNROLL
  for (i = 0; i < s->BM * row_floats; i += threads * 4)
    sgemm__copy4(to + i + at, (const float *)from->a + i + at);
  to += s->BM * row_floats;
  SGEMM__UNROLL
  for (i = 0; i < s->BN * row_floats; i += threads * 4)
    sgemm__copy4(to + i + at, (const float *)from->b + i + at);
  to += s->BN * row_floats;
  if (sgemm__starts_scale(from->k_block) && at < s->BM + 2 * s->BN)
    sgemm__copy4(to + at, at < s->BM           ? from->a_scales + at
                          : at < s->BM + s->BN ? from->b_scales + at - s->BM
                                               : from->b_before + at - s->BM - s->BN);
  sgemm__k_block_source_advance(args, s, from);
}

/* The fallback reason. The guard's words and mbarrier lie in the first buffer, because the buffers use all of the
   shared memory. */
SGEMM__DEVICE uint32_t sgemm__guard_in_buffer(const sgemm__tensor_args *args, int format, float *tiles) {
  uint32_t *words = (uint32_t *)tiles, reason;
  sgemm__mbarrier *flags_combined = (sgemm__mbarrier *)(tiles + 4);
  if (sgemm__thread() == 0) {
    words[0] = words[1] = 0;
    sgemm__mbarrier_init(flags_combined, SGEMM__TENSOR_THREADS_mma / 32);
  }
  sgemm__barrier();
  reason = sgemm__guard(args, format, words, flags_combined, SGEMM__TENSOR_THREADS_mma);
  sgemm__barrier(); /* no thread waits any more */
  if (sgemm__thread() == 0)
    sgemm__mbarrier_inval(flags_combined);
  return reason;
}

/* The body of the engine mma: 8 warps, each with 64 rows and WN columns. B's fragments of a k-block are kept in
   registers while the warp multiplies A's rows, 16 at a time. The accumulators hold sums divided by B's block scales,
   which change every 128 k. The promotion interval is one k-block. acc: 2 WN registers. sum: WN / 2 registers. a_scale:
   8 registers. a: 2 fragments per term. b: WN / 8 fragments per term. */
SGEMM__DEVICE void sgemm__tensor_mma(const sgemm__tensor_args *args, const sgemm__tensor_shape *s, float *tiles,
                                     float *acc, float *sum, float *a_scale, sgemm__fragment *a, sgemm__fragment *b) {
  const int terms = sgemm__terms(s->format), group = SGEMM__GROUP_BYTES * terms; /* bytes of 8 rows of a k-block */
  const int buffer = SGEMM__BUFFER_BYTES(s->BM, s->BN, terms);
  const int lane = sgemm__thread() % 32, warp = sgemm__thread() / 32;
  const int row = warp / (s->BN / s->WN) * 64, col = warp % (s->BN / s->WN) * s->WN; /* the warp's, in the tile */
  char *shared = (char *)tiles;
  int64_t w, c;
  int i, g, h, j, term, product;
  if (sgemm__guard_in_buffer(args, s->format, tiles) != 0)
    return;
  for (w = sgemm__block_x(); w < sgemm__tensor_units(args); w += sgemm__grid_x()) {
    const sgemm__tensor_unit unit = sgemm__tensor_unit_at(args, s, w);
    sgemm__k_block_source source = sgemm__k_block_source_at(args, s, &unit);
    SGEMM__UNROLL
    for (j = 0; j < 2 * s->WN; j++)
      acc[j] = 0.0f;
    sgemm__barrier(); /* all warps have read the last unit's buffers, and the guard's words */
    SGEMM__UNROLL
    for (i = 0; i < s->bufs - 1; i++) {
      sgemm__copy_k_block(args, s, &source, (float *)(shared + i * buffer));
      sgemm__copy_commit();
    }
    i = 0;
    SGEMM__UNROLL_BY(1)
    for (c = unit.begin; c < unit.end; c++) {
      const char *from_a = shared + i * buffer + row / 8 * group;
      const char *from_b = shared + i * buffer + (s->BM + col) / 8 * group;
      const float *a_scales = (const float *)(shared + i * buffer + SGEMM__K_BLOCK_BYTES(s->BM, s->BN, terms));
      const float *b_scales = a_scales + s->BM + col;
      sgemm__copy_wait(s->bufs - 2);
      sgemm__barrier();
      sgemm__copy_k_block(args, s, &source, (float *)(shared + (i + s->bufs - 1) % s->bufs * buffer));
      sgemm__copy_commit();
      i = (i + 1) % s->bufs;
      if (sgemm__starts_scale(c)) {
        SGEMM__UNROLL
        for (g = 0; g < 8; g++)
          a_scale[g] = sgemm__load_shared(a_scales + sgemm__scale_offset(row + g * 8 + lane / 4));
        SGEMM__UNROLL
        for (g = 0; g < 4; g++)
          sgemm__rescale(acc + g * (s->WN / 2), s->WN, b_scales, b_scales + s->BN);
      }
      SGEMM__UNROLL
      for (g = 0; g < s->WN / 8; g++) {
        SGEMM__UNROLL
        for (term = 0; term < terms; term++)
          sgemm__load_fragment_b(b + g * terms + term, from_b + g * group + term * SGEMM__GROUP_BYTES);
      }
      SGEMM__UNROLL
      for (h = 0; h < 4; h++) { /* 16 rows */
        SGEMM__UNROLL
        for (term = 0; term < terms; term++) {
          const char *from = from_a + 2 * h * group + term * SGEMM__GROUP_BYTES;
          sgemm__load_fragment_a(a + term, from, group);
          sgemm__load_fragment_a(a + terms + term, from + 256, group); /* the second 16 k: an offset of 2 matrices */
        }
        SGEMM__UNROLL
        for (product = 0; product < sgemm__products(s->format); product++) {
          const int of_a = sgemm__term_a(s->format, product), of_b = sgemm__term_b(s->format, product);
          SGEMM__UNROLL
          for (j = 0; j < 2; j++) {
            SGEMM__UNROLL
            for (g = 0; g < s->WN / 8; g++)
              sgemm__mma(sum + g * 4, a + j * terms + of_a, b + g * terms + of_b, j, product + j > 0, s->format);
          }
        }
        /* Promotion. */
        SGEMM__UNROLL
        for (j = 0; j < s->WN / 2; j++)
          acc[h * (s->WN / 2) + j] = sgemm__fma(sum[j], a_scale[2 * h + (j % 4 < 2 ? 0 : 1)], acc[h * (s->WN / 2) + j]);
      }
    }
    SGEMM__UNROLL
    for (h = 0; h < 4; h++)
      sgemm__tensor_store(args, &unit, row + h * 16, col, s->WN, 0, acc + h * (s->WN / 2));
  }
}

#endif

#if SGEMM__HAS_MMA
#define SGEMM__TENSOR_BODY_mma(BM, BN, WN, terms, sets, bufs)                                                          \
  {                                                                                                                    \
    SGEMM__SHARED_DYNAMIC(tiles);                                                                                      \
    float acc[2 * (WN)], sum[(WN) / 2], a_scale[8];                                                                    \
    sgemm__fragment a[2 * (terms)], b[(WN) / 8 * (terms)];                                                             \
    sgemm__pdl_trigger();                                                                                              \
    sgemm__pdl_wait();                                                                                                 \
    if (sgemm__tensor_has_no_work(&args, shape.format))                                                                \
      return;                                                                                                          \
    sgemm__tensor_mma(&args, &shape, tiles, acc, sum, a_scale, a, b);                                                  \
  }
#else
#define SGEMM__TENSOR_BODY_mma(BM, BN, WN, terms, sets, bufs)                                                          \
  (void)shape, (void)args; /* no code: see sgemm_device.code_arch */
#endif

#define SGEMM__TENSOR_RULES_mma(name, format, BM, BN, WN, k_blocks, sets, bufs)                                        \
  SGEMM__RULE((BM) % 64 == 0 && (BN) % 64 == 0, "BM and BN must be multiples of 64", name)                             \
  SGEMM__RULE((WN) == 16 || (WN) == 32, "WN must be 16 or 32", name)                                                   \
  SGEMM__RULE((BM) / 64 * ((BN) / (WN)) == 8, "mma variants have 8 warps of 64 rows and WN columns", name)             \
  SGEMM__RULE((k_blocks) == 1 && (sets) == 1 && ((bufs) == 2 || (bufs) == 3),                                          \
              "k_blocks and sets must be 1, and bufs 2 or 3", name)                                                    \
  SGEMM__RULE((bufs)*SGEMM__BUFFER_BYTES(BM, BN, SGEMM__TERMS_##format) <= 99 * 1024,                                  \
              "shared memory of a block is at most 99 KiB on sm_86, sm_89 and sm_120", name)

#endif /* SGEMM_STAGES_TENSOR_MMA_CUH */
