/* sgemm/stages/tensor_split.cuh: tensor modes: fp32 elements to 16-bit terms, and the guard that judges them. */
#ifndef SGEMM_STAGES_TENSOR_SPLIT_CUH
#define SGEMM_STAGES_TENSOR_SPLIT_CUH

/* fp16x3: the largest of a row's 128 k is brought to [2^14, 2^15). An element is whole, 22 bits, while its lo is no
   subnormal: down to 2^-3, which is 2^17 below the largest. bf16x6: the largest is brought to [1, 2), and an element is
   whole, 24 bits, down to 2^-110. */
SGEMM__DEVICE int sgemm__terms(int format) {
  return format == SGEMM_FORMAT_fp16x3 ? SGEMM__TERMS_fp16x3 : SGEMM__TERMS_bf16x6;
}
SGEMM__DEVICE int sgemm__max_exponent(int format) { return format == SGEMM_FORMAT_fp16x3 ? 14 : 0; }
SGEMM__DEVICE float sgemm__exact_from(int format) { return format == SGEMM_FORMAT_fp16x3 ? 0x1p-3f : 0x1p-110f; }

/* The nearest 16-bit numbers of two, the first in the lower half of the word, and what they stand for. bf16 is the
   upper half of an fp32. */
SGEMM__DEVICE uint32_t sgemm__round_terms(float x, float y, int format) {
  return format == SGEMM_FORMAT_fp16x3 ? sgemm__to_fp16x2(x, y) : sgemm__to_bf16x2(x, y);
}
SGEMM__DEVICE float sgemm__lower_term(uint32_t terms, int format) {
  return format == SGEMM_FORMAT_fp16x3 ? sgemm__from_fp16(terms & 0xffff) : sgemm__float_of(terms << 16);
}
SGEMM__DEVICE float sgemm__upper_term(uint32_t terms, int format) {
  return format == SGEMM_FORMAT_fp16x3 ? sgemm__from_fp16(terms >> 16) : sgemm__float_of(terms & 0xffff0000);
}

/* The products, small ones first: product i is of part sgemm__term_a of A and sgemm__term_b of B; 0 is hi. */
SGEMM__DEVICE int sgemm__products(int format) { return format == SGEMM_FORMAT_fp16x3 ? 3 : 6; }
SGEMM__DEVICE int sgemm__term_a(int format, int i) {
  const int fp16x3[3] = {1, 0, 0}, bf16x6[6] = {2, 1, 0, 1, 0, 0};
  return format == SGEMM_FORMAT_fp16x3 ? fp16x3[i] : bf16x6[i];
}
SGEMM__DEVICE int sgemm__term_b(int format, int i) {
  const int fp16x3[3] = {0, 1, 0}, bf16x6[6] = {0, 1, 2, 0, 1, 0};
  return format == SGEMM_FORMAT_fp16x3 ? fp16x3[i] : bf16x6[i];
}

/* Blocks of 128 k. */
SGEMM__DEVICE int64_t sgemm__scale_blocks(int64_t k) { return (k + SGEMM__SCALE_K - 1) / SGEMM__SCALE_K; }

/* Where an operand has its things. Planes: chunk by chunk, in it group by group of 8 rows, in it part by part, each 4
   matrices of 8 rows x 8 k, which tensor cores take as 128 consecutive bytes. So the rows of a tile lie together in
   each chunk, whatever the tile, and one bulk copy brings them. Units: 128 k by 128 k; in every 16 rows the 4 that a
   thread owns among wgmma's results, 2q, 2q + 1, 2q + 8, 2q + 9, side by side. */
SGEMM__DEVICE int64_t sgemm__k_block_bytes(const sgemm__split_operand *o, int format) {
  return o->rows * SGEMM__ROW_BYTES(sgemm__terms(format));
}
SGEMM__DEVICE int64_t sgemm__scale_offset(int64_t row) {
  return row / 16 * 16 + row % 8 / 2 * 4 + row % 16 / 8 * 2 + row % 2;
}

/* What the split tells of a panel's 128 k, in one word. Bits 4 to 31 say which exponents the largest elements of its
   rows have: bit 4 + i for -150 + 10 i to -141 + 10 i. */
enum {
  SGEMM__FLAG_NONFINITE = 1, /* an Inf or a NaN */
  SGEMM__FLAG_SPREAD = 2,    /* 16 k of a row with SGEMM__SPREAD_MIN or more elements, not 0, that are not whole */
  SGEMM__FLAG_INEXACT = 4,   /* an element, not 0, that is not whole */
  SGEMM__FLAG_SINGLE = 8,    /* a row whose other elements are 0, or so small that they do not change its sum */
  SGEMM__FLAG_EXPONENTS = 16 /* the lowest of the bits of exponents */
};
enum { SGEMM__SPREAD_MIN = 4 };

/* The fallback_reason on all marks of A and of B: 0, or reasons to go by strict fp32 instead, as docs/tensor.md has
   them. */
SGEMM__DEVICE uint32_t sgemm__fallback_reason(uint32_t a, uint32_t b) {
  uint32_t fallback_reason = 0;
  int i, a_low = 28, a_high = -1, b_low = 28, b_high = -1;
  for (i = 0; i < 28; i++) {
    if (a >> (4 + i) & 1) {
      a_low = a_low < i ? a_low : i;
      a_high = i;
    }
    if (b >> (4 + i) & 1) {
      b_low = b_low < i ? b_low : i;
      b_high = i;
    }
  }
  if ((a | b) & SGEMM__FLAG_NONFINITE)
    fallback_reason |= SGEMM_GUARD_NONFINITE;
  if ((a | b) & SGEMM__FLAG_SPREAD)
    fallback_reason |= SGEMM_GUARD_SPREAD;
  if ((a & SGEMM__FLAG_INEXACT && b & SGEMM__FLAG_SINGLE) || (b & SGEMM__FLAG_INEXACT && a & SGEMM__FLAG_SINGLE))
    fallback_reason |= SGEMM_GUARD_SPARSE;
  /* The accumulators are in B's units of the moment: 2^(a_high + 16 + 24) at most for k up to 2^24, as far again as B's
     units move. */
  if (a_high >= 0 && b_high >= 0) {
    const int moves = 10 * (b_high - b_low) + 9;
    if (10 * a_high - 141 + moves > 86 || 10 * a_low - 150 - moves < -120 || moves > 119)
      fallback_reason |= SGEMM_GUARD_RANGE;
  }
  return fallback_reason;
}

/* Of a row in shared memory, and of what its 4 threads tell each other. Multiples of 4, and 8 rows 4 or 12 banks apart:
   128-bit accesses by 8 rows meet no bank twice. */
enum { SGEMM__SPLIT_PITCH = SGEMM__SCALE_K + 4, SGEMM__STATS_PITCH = 12 };

/* An operand's panel of 64 rows, the number-th, and 128 k of it, the block_k-th, by a block. Its warps have 8 rows each
   and wait for one another only in the end, for the mark. A warp fetches its rows into shared memory; from there a
   thread takes twice 16 k of a row, 64 apart, into registers, finds with the three others of the row its unit, and
   writes the parts, 16 bytes at a time. Instructions and barriers count: with 16 million and two more for 4096 x 4096,
   half of them to find out where things are, it took 42 us, with 10 million 37, as a copy of the same pattern does. X
   has `extent` rows of k_all elements, side by side if k_major, else ld apart, and a batch every `stride`. told: for
   each of the 64 rows, the largest sizes of its threads and the sums of sizes of each 16 k; marks: one a warp. */
SGEMM__DEVICE void sgemm__split_row_block(const sgemm__split_operand *o, const float *X, int64_t ld, int64_t stride,
                                          int64_t extent, int64_t k_all, int k_major, uint32_t number, uint32_t block_k,
                                          int format, float *shared, float *stats, uint32_t *flags) {
  const uint32_t t = (uint32_t)sgemm__thread(), warp = t / 32, lane = t % 32;
  const uint32_t e = warp * 8 + lane % 8, share = lane / 8; /* the thread's row, 16 k, and those 64 k on */
  const uint32_t row_blocks = (uint32_t)(o->rows / SGEMM__ROW_BLOCK), batch = o->batch > 1 ? number / row_blocks : 0;
  const int64_t e0 = (int64_t)(number - batch * row_blocks) * SGEMM__ROW_BLOCK, k0 = (int64_t)block_k * SGEMM__SCALE_K;
  const int64_t at_k = batch * sgemm__scale_blocks(k_all) + block_k, k_blocks = SGEMM__K_BLOCKS(k_all);
  const int64_t k_block = k0 / SGEMM__K_BLOCK + share / 2;
  const int terms = sgemm__terms(format);
  /* Of the panel, inside X; in the padding there are none. */
  const int rows = (int)(extent - e0 < SGEMM__ROW_BLOCK ? extent - e0 : SGEMM__ROW_BLOCK);
  const int ks = (int)(k_all - k0 < SGEMM__SCALE_K ? k_all - k0 : SGEMM__SCALE_K);
  const int inside = rows == SGEMM__ROW_BLOCK && ks == SGEMM__SCALE_K;
  const float *first = X + batch * stride + (e0 + warp * 8) * (k_major ? ld : 1) + k0 * (k_major ? 1 : ld);
  float *place = shared + warp * 8 * SGEMM__SPLIT_PITCH, *row_stats = stats + e * SGEMM__STATS_PITCH;
  char *to;
  float x[32], unit, whole, scale, largest = 0.0f, least = INFINITY, all, some[4];
  uint32_t bits = 0;
  int i, j, h, term, exponent;
  if (lane == 0)
    flags[warp] = 0;
  /* Fetch, then place: all loads under way before the first is waited for. */
  if (inside && k_major && ld % 4 == 0 && (uintptr_t)first % 16 == 0) {
    SGEMM__UNROLL
    for (i = 0; i < 8; i++)
      sgemm__load_global4(x + i * 4, first + i * ld + lane * 4);
    SGEMM__UNROLL
    for (i = 0; i < 8; i++)
      sgemm__store_shared4(place + i * SGEMM__SPLIT_PITCH + lane * 4, x + i * 4);
  } else {
    /* An element at a time: 32 threads take 32 k of a row, four times, and go on to the next row; or 8 threads take all
       rows of a k, and all of them 4 k. */
    const int row = k_major ? 0 : (int)lane % 8, k = k_major ? (int)lane : (int)lane / 8;
    const int64_t step = k_major ? 32 : 4 * ld, on = k_major ? ld - 96 : 4 * ld;
    const float *from = first + (k_major ? k : row + k * ld);
    if (inside) {
      SGEMM__UNROLL
      for (i = 0; i < 32; i++) {
        x[i] = sgemm__load_global(from);
        from += i % 4 < 3 ? step : on;
      }
    } else {
      SGEMM__UNROLL
      for (i = 0; i < 32; i++) {
        const int down = k_major ? i / 4 : 0, right = k_major ? i % 4 * 32 : i * 4;
        x[i] = 0.0f;
        if ((int)(warp * 8) + row + down < rows && k + right < ks)
          x[i] = sgemm__load_global(from);
        from += i % 4 < 3 ? step : on;
      }
    }
    place += row * SGEMM__SPLIT_PITCH + k;
    SGEMM__UNROLL
    for (i = 0; i < 32; i++)
      sgemm__store_shared(place + (k_major ? i / 4 * SGEMM__SPLIT_PITCH + i % 4 * 32 : i * 4), x[i]);
  }
  sgemm__warp_barrier();
  SGEMM__UNROLL
  for (i = 0; i < 32; i += 4)
    sgemm__load_shared4(x + i, shared + e * SGEMM__SPLIT_PITCH + i / 16 * 64 + share * 16 + i % 16);
  /* The thread's largest size and its least, which do not see a NaN, and its sums, which do. */
  SGEMM__UNROLL
  for (h = 0; h < 2; h++) {
    all = 0.0f;
    SGEMM__UNROLL
    for (i = h * 16; i < h * 16 + 16; i++) {
      largest = fmaxf(largest, fabsf(x[i]));
      least = fminf(least, fabsf(x[i]));
      all += fabsf(x[i]);
    }
    sgemm__store_shared(row_stats + 4 + h * 4 + share, all);
  }
  /* The row's. */
  sgemm__store_shared(row_stats + share, largest);
  sgemm__warp_barrier();
  sgemm__load_shared4(some, row_stats);
  largest = fmaxf(fmaxf(some[0], some[1]), fmaxf(some[2], some[3]));
  all = 0.0f;
  SGEMM__UNROLL
  for (i = 4; i < 12; i += 4) {
    sgemm__load_shared4(some, row_stats + i);
    SGEMM__UNROLL
    for (j = 0; j < 4; j++)
      all += some[j];
  }
  largest = all == all ? largest : INFINITY;
  /* The scale is a normal number for every exponent, and so is its inverse, the unit. */
  exponent = (int)(sgemm__bits_of(largest) >> 23) - 127;
  exponent = exponent < sgemm__max_exponent(format) - 126 ? sgemm__max_exponent(format) - 126 : exponent;
  exponent = exponent > sgemm__max_exponent(format) + 126 ? sgemm__max_exponent(format) + 126 : exponent;
  exponent = largest == 0.0f ? sgemm__max_exponent(format) : exponent;
  scale = sgemm__float_of((uint32_t)(sgemm__max_exponent(format) - exponent + 127) << 23);
  unit = sgemm__float_of((uint32_t)(exponent - sgemm__max_exponent(format) + 127) << 23);
  if (share == 0)
    sgemm__store_global(o->scales + at_k * o->rows + e0 + sgemm__scale_offset(e), unit);
  /* Marks. Seldom is there anything to count, but zeros. */
  whole = unit * sgemm__exact_from(format);
  if (least < whole) {
    SGEMM__UNROLL
    for (h = 0; h < 2; h++) {
      int lost = 0;
      SGEMM__UNROLL
      for (i = h * 16; i < h * 16 + 16; i++)
        lost += x[i] != 0.0f && fabsf(x[i]) < whole;
      bits |= (lost > 0 ? SGEMM__FLAG_INEXACT : 0) | (lost >= SGEMM__SPREAD_MIN ? SGEMM__FLAG_SPREAD : 0);
    }
  }
  if (largest != 0.0f) { /* -149 for subnormals, none of which is left out */
    const int size = (int)(sgemm__bits_of(largest) >> 23);
    bits |= (uint32_t)SGEMM__FLAG_EXPONENTS << (((size == 0 ? -149 : size - 127) + 150) / 10);
    bits |= all == largest && k_all - k0 > 1 ? SGEMM__FLAG_SINGLE : 0;
  }
  sgemm__or_shared(flags + warp, largest == INFINITY ? SGEMM__FLAG_NONFINITE : bits);
  /* Parts, of 8 k at a time. */
  to = (char *)o->data + (batch * k_blocks + k_block) * sgemm__k_block_bytes(o, format) +
       (e0 / 8 + warp) * (SGEMM__GROUP_BYTES * terms) + share % 2 * 256 + lane % 8 * 16;
  SGEMM__UNROLL
  for (i = 0; i < 32; i += 8) {
    uint32_t words[3][4];
    if (i == 16 && k_block + 2 >= k_blocks)
      break;
    SGEMM__UNROLL
    for (j = 0; j < 4; j++) {
      float lower = x[i + 2 * j] * scale, upper = x[i + 2 * j + 1] * scale;
      SGEMM__UNROLL
      for (term = 0; term < terms; term++) {
        words[term][j] = sgemm__round_terms(lower, upper, format);
        lower -= sgemm__lower_term(words[term][j], format); /* exact: the rest has no more bits than x had */
        upper -= sgemm__upper_term(words[term][j], format);
      }
    }
    SGEMM__UNROLL
    for (term = 0; term < terms; term++)
      sgemm__store_words4(to + term * SGEMM__GROUP_BYTES + i % 16 / 8 * 128, words[term]);
    if (i == 8)
      to += 2 * sgemm__k_block_bytes(o, format);
  }
  sgemm__barrier();
  if (t == 0) {
    SGEMM__UNROLL
    for (i = 1; i < SGEMM__SPLIT_THREADS / 32; i++)
      flags[0] |= flags[i];
    o->flags[at_k * row_blocks + e0 / SGEMM__ROW_BLOCK] = flags[0];
  }
}

/* A block's panel, along x, where those of A come first, and its 128 k, along y and z, which may reach too far. Blocks
   side by side have rows side by side. */
SGEMM__DEVICE void sgemm__split_block(const sgemm__tensor_args *args, int format, float *shared, float *stats,
                                      uint32_t *flags) {
  const sgemm__args *p = &args->gemm;
  const uint32_t block = sgemm__block_x(), block_k = (uint32_t)sgemm__block_yz();
  const uint32_t of_a = args->a.presplit ? 0 : (uint32_t)(args->a.rows / SGEMM__ROW_BLOCK) * (uint32_t)args->a.batch;
  if (block_k >= sgemm__scale_blocks(p->k))
    return;
  if (block < of_a)
    sgemm__split_row_block(&args->a, p->A, p->lda, p->stride_a, p->m, p->k, !p->trans_a, block, block_k, format, shared,
                           stats, flags);
  else
    sgemm__split_row_block(&args->b, p->B, p->ldb, p->stride_b, p->n, p->k, p->trans_b, block - of_a, block_k, format,
                           shared, stats, flags);
}

#define SGEMM__SPLIT_KERNEL(format)                                                                                    \
  SGEMM__GLOBAL(sgemm_split_##format, SGEMM__SPLIT_THREADS, 4, sgemm__tensor_args) {                                   \
    SGEMM__SHARED(rows, SGEMM__ROW_BLOCK *SGEMM__SPLIT_PITCH);                                                         \
    SGEMM__SHARED(stats, SGEMM__ROW_BLOCK *SGEMM__STATS_PITCH);                                                        \
    SGEMM__SHARED_WORDS(flags, SGEMM__SPLIT_THREADS / 32);                                                             \
    sgemm__pdl_wait();                                                                                                 \
    sgemm__split_block(&args, SGEMM_FORMAT_##format, rows, stats, flags);                                              \
  }

#endif /* SGEMM_STAGES_TENSOR_SPLIT_CUH */
