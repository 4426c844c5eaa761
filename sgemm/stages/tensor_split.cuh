/* sgemm/stages/tensor_split.cuh: tensor modes: the split of fp32 elements into 16-bit terms, and the guard. */
#ifndef SGEMM_STAGES_TENSOR_SPLIT_CUH
#define SGEMM_STAGES_TENSOR_SPLIT_CUH

/* Constants of a format. fp16x3: the scale brings the largest element of a row within 128 k to [2^14, 2^15). A scaled
   element is exact, with 22 bits, if its magnitude is at least 2^-3, that is 2^-17 of the largest: below 2^-3 its term
   lo is subnormal. bf16x6: the scale brings the largest element to [1, 2). A scaled element is exact, with 24 bits,
   from 2^-110 on. */
SGEMM__DEVICE int sgemm__terms(int format) {
  return format == SGEMM_FORMAT_fp16x3 ? SGEMM__TERMS_fp16x3 : SGEMM__TERMS_bf16x6;
}
SGEMM__DEVICE int sgemm__max_exponent(int format) { return format == SGEMM_FORMAT_fp16x3 ? 14 : 0; }
SGEMM__DEVICE float sgemm__exact_from(int format) { return format == SGEMM_FORMAT_fp16x3 ? 0x1p-3f : 0x1p-110f; }

/* sgemm__round_terms(): the 16-bit numbers nearest to x, in the lower half of the word, and to y. sgemm__lower_term(),
   sgemm__upper_term(): the value of a half. A bf16 number is the upper half of an fp32 number. */
SGEMM__DEVICE uint32_t sgemm__round_terms(float x, float y, int format) {
  return format == SGEMM_FORMAT_fp16x3 ? sgemm__to_fp16x2(x, y) : sgemm__to_bf16x2(x, y);
}
SGEMM__DEVICE float sgemm__lower_term(uint32_t terms, int format) {
  return format == SGEMM_FORMAT_fp16x3 ? sgemm__from_fp16(terms & 0xffff) : sgemm__float_of(terms << 16);
}
SGEMM__DEVICE float sgemm__upper_term(uint32_t terms, int format) {
  return format == SGEMM_FORMAT_fp16x3 ? sgemm__from_fp16(terms >> 16) : sgemm__float_of(terms & 0xffff0000);
}

/* Product i, 0 to sgemm__products() - 1, multiplies term sgemm__term_a() of A by term sgemm__term_b() of B. Small
   products come first. Term 0 is hi. Term 1 is lo in fp16x3 and mid in bf16x6. Term 2 is lo in bf16x6. */
SGEMM__DEVICE int sgemm__products(int format) { return format == SGEMM_FORMAT_fp16x3 ? 3 : 6; }
SGEMM__DEVICE int sgemm__term_a(int format, int i) {
  const int fp16x3[3] = {1, 0, 0}, bf16x6[6] = {2, 1, 0, 1, 0, 0};
  return format == SGEMM_FORMAT_fp16x3 ? fp16x3[i] : bf16x6[i];
}
SGEMM__DEVICE int sgemm__term_b(int format, int i) {
  const int fp16x3[3] = {0, 1, 0}, bf16x6[6] = {0, 1, 2, 0, 1, 0};
  return format == SGEMM_FORMAT_fp16x3 ? fp16x3[i] : bf16x6[i];
}

/* Number of blocks of 128 k, each with block scales of its own. */
SGEMM__DEVICE int64_t sgemm__scale_blocks(int64_t k) { return (k + SGEMM__SCALE_K - 1) / SGEMM__SCALE_K; }

/* Layout of a split operand.
     Terms: a sequence of k-blocks of 32 k; a k-block is a sequence of groups of 8 rows; a group has its terms one after
     the other; a term has 4 matrices of 8 rows x 8 k, 128 consecutive bytes each, as wgmma reads them without a swizzle
     (PTX ISA, "wgmma", "Core matrix"). So the rows of any tile are consecutive in a k-block, and one bulk copy brings
     them.
     Block scales: all rows of the first 128 k, then all rows of the next. In each 16 rows the four scales that a thread
     needs for its results of wgmma, those of rows 2q, 2q + 1, 2q + 8 and 2q + 9, q = 0 to 3, are consecutive.
     sgemm__k_block_bytes(): bytes of a k-block. sgemm__scale_offset(): position of a row's scale, in floats. */
SGEMM__DEVICE int64_t sgemm__k_block_bytes(const sgemm__split_operand *o, int format) {
  return o->rows * SGEMM__ROW_BYTES(sgemm__terms(format));
}
SGEMM__DEVICE int64_t sgemm__scale_offset(int64_t row) {
  return row / 16 * 16 + row % 8 / 2 * 4 + row % 16 / 8 * 2 + row % 2;
}

/* The flag bits of a row block (64 rows) and 128 k, one word. Bits 4 to 31 hold the exponents of the rows' largest
   elements: bit 4 + i is 1 if a row has an exponent from -150 + 10 i to -141 + 10 i. */
enum {
  SGEMM__FLAG_NONFINITE = 1, /* an element is Inf or NaN */
  SGEMM__FLAG_SPREAD = 2,    /* SGEMM__SPREAD_MIN or more of 16 consecutive k of a row are inexact */
  SGEMM__FLAG_INEXACT = 4,   /* an element is inexact: not 0, and below sgemm__exact_from() after scaling */
  SGEMM__FLAG_SINGLE = 8,    /* a row whose 128 magnitudes add up, in fp32, to the largest one alone; no row if one
                                k exists */
  SGEMM__FLAG_EXPONENTS = 16 /* the lowest of the exponent bits */
};
enum { SGEMM__SPREAD_MIN = 4 };

/* The fallback reason, SGEMM_GUARD_* bits, from the flag bits of all of A and of all of B. 0: tensor cores compute C.
   docs/stages/tensor.md, "The guard", has the reasons for the first three conditions. */
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
  /* The accumulators hold sums divided by the current block scales of B. `moves` bounds the ratio of two of B's block
     scales, as an exponent. The largest elements of A's rows have exponents from 10 a_low - 150 to 10 a_high - 141.
       86    A product is below 2^16 times A's largest power of two, because a scaled element of B is below 2^15. With
             2^24 of k and the ratio, a sum is below 2^(exponent + 16 + 24 + moves). 86 = 127 - (16 + 24) - 1: sums stay
             below 2^126, a factor of 2 below the largest power of two in fp32, 2^127. The headroom to 2^128 covers k up
             to 2^26, but for roundings. The left side is 10 i - 132 for an integer i, so that the largest that passes
             is 78, and not 86: sums of up to 2^33 of k stay below 2^127.
       -120  The product of the largest elements of two rows, after a rescale, is at least 2^-120. Sums below 2^-126 are
             subnormal; their roundings, up to 2^-150, are then 2^-30 of this product.
       119   sgemm__rescale() needs the ratio as a normal number, so `moves` is at most 126. It is 9, 19, 29 and so on;
             119 is the last of these below 126. */
  if (a_high >= 0 && b_high >= 0) {
    const int moves = 10 * (b_high - b_low) + 9; /* largest ratio of two of B's block scales, as an exponent */
    if (10 * a_high - 141 + moves > 86 || 10 * a_low - 150 - moves < -120 || moves > 119)
      fallback_reason |= SGEMM_GUARD_RANGE;
  }
  return fallback_reason;
}

/* 1 if full range may compute a call that fp16x3 did not compute for this reason: some elements are too small for fp16.
   Inf, NaN and the range of the block scales stop both formats. */
SGEMM__DEVICE int sgemm__full_range_may_compute(uint32_t fallback_reason) {
  return fallback_reason != 0 && (fallback_reason & ~(uint32_t)(SGEMM_GUARD_SPREAD | SGEMM_GUARD_SPARSE)) == 0;
}

/* Floats from a row to the next in shared memory, for rows of elements and for rows of statistics. Both pitches are
   multiples of 4; modulo 32 banks they are 4 and 12, so that 128-bit accesses of 8 rows have no bank conflict. */
enum { SGEMM__SPLIT_PITCH = SGEMM__SCALE_K + 4, SGEMM__STATS_PITCH = 12 };

/* Loads a warp's 8 rows of 128 k and stores them to shared memory at `to`, SGEMM__SPLIT_PITCH floats a row. All loads
   of a thread are in flight before its first store. first: the element at row 0 and k 0 of the warp. ld: elements from
   a row to the next if k_major, else from a k to the next. rows, ks: rows of the row block, and k, that exist in the
   operand; elements outside become 0. inside: 1 if all 64 rows and 128 k exist. x: 32 registers. */
SGEMM__DEVICE void sgemm__load_split_rows(const float *first, int64_t ld, int k_major, uint32_t warp, uint32_t lane,
                                          int rows, int ks, int inside, float *to, float *x) {
  int i;
  if (inside && k_major && ld % 4 == 0 && (uintptr_t)first % 16 == 0) {
    SGEMM__UNROLL
    for (i = 0; i < 8; i++)
      sgemm__load_global4(x + i * 4, first + i * ld + lane * 4);
    SGEMM__UNROLL
    for (i = 0; i < 8; i++)
      sgemm__store_shared4(to + i * SGEMM__SPLIT_PITCH + lane * 4, x + i * 4);
  } else {
    /* Loads of single elements. K-major: 32 lanes load 32 k of a row, four times, then the next row. MN-major: 8 lanes
       load the 8 rows of a k, and the warp 4 k at a time. */
    const int row = k_major ? 0 : (int)lane % 8, k = k_major ? (int)lane : (int)lane / 8;
    const int64_t step = k_major ? 32 : 4 * ld, next_row = k_major ? ld - 96 : 4 * ld;
    const float *from = first + (k_major ? k : row + k * ld);
    if (inside) {
      SGEMM__UNROLL
      for (i = 0; i < 32; i++) {
        x[i] = sgemm__load_global(from);
        from += i % 4 < 3 ? step : next_row;
      }
    } else {
      SGEMM__UNROLL
      for (i = 0; i < 32; i++) {
        const int row_step = k_major ? i / 4 : 0, k_step = k_major ? i % 4 * 32 : i * 4;
        x[i] = 0.0f;
        if ((int)(warp * 8) + row + row_step < rows && k + k_step < ks)
          x[i] = sgemm__load_global(from);
        from += i % 4 < 3 ? step : next_row;
      }
    }
    to += row * SGEMM__SPLIT_PITCH + k;
    SGEMM__UNROLL
    for (i = 0; i < 32; i++)
      sgemm__store_shared(to + (k_major ? i / 4 * SGEMM__SPLIT_PITCH + i % 4 * 32 : i * 4), x[i]);
  }
}

/* The magnitudes of a row's 128 k. Four threads have 32 k each. */
typedef struct sgemm__row_stats {
  float smallest; /* smallest magnitude of this thread's 32 elements, without NaN */
  float largest;  /* largest magnitude of the row; Inf if an element is Inf or NaN */
  float sum;      /* sum of the row's magnitudes */
} sgemm__row_stats;

/* The magnitudes of the row of this thread. x: the thread's 32 elements. row_stats: the row's 12 floats in shared
   memory, the largest magnitude of each thread, then the sums of each 16 k. segment: number of the thread in the row, 0
   to 3. */
SGEMM__DEVICE sgemm__row_stats sgemm__row_stats_of(const float *x, float *row_stats, uint32_t segment) {
  sgemm__row_stats row;
  float some[4];
  int i, j, h;
  row.largest = 0.0f;
  row.smallest = INFINITY;
  SGEMM__UNROLL
  for (h = 0; h < 2; h++) {
    row.sum = 0.0f;
    SGEMM__UNROLL
    for (i = h * 16; i < h * 16 + 16; i++) {
      row.largest = fmaxf(row.largest, fabsf(x[i])); /* fmaxf and fminf leave a NaN out, the sum keeps it */
      row.smallest = fminf(row.smallest, fabsf(x[i]));
      row.sum += fabsf(x[i]);
    }
    sgemm__store_shared(row_stats + 4 + h * 4 + segment, row.sum);
  }
  sgemm__store_shared(row_stats + segment, row.largest);
  sgemm__warp_barrier();
  sgemm__load_shared4(some, row_stats);
  row.largest = fmaxf(fmaxf(some[0], some[1]), fmaxf(some[2], some[3]));
  row.sum = 0.0f;
  SGEMM__UNROLL
  for (i = 4; i < 12; i += 4) {
    sgemm__load_shared4(some, row_stats + i);
    SGEMM__UNROLL
    for (j = 0; j < 4; j++)
      row.sum += some[j];
  }
  row.largest = row.sum == row.sum ? row.largest : INFINITY;
  return row;
}

/* The exponent of the row's largest element, clamped so that the scale and its inverse, the block scale, are normal
   numbers. The scale of a row of zeros is 1. */
SGEMM__DEVICE int sgemm__scale_exponent(float largest, int format) {
  int exponent = (int)(sgemm__bits_of(largest) >> 23) - 127;
  exponent = exponent < sgemm__max_exponent(format) - 126 ? sgemm__max_exponent(format) - 126 : exponent;
  exponent = exponent > sgemm__max_exponent(format) + 126 ? sgemm__max_exponent(format) + 126 : exponent;
  return largest == 0.0f ? sgemm__max_exponent(format) : exponent;
}

/* The block scale of a row, the inverse of its scale. exponent: that of its largest element. */
SGEMM__DEVICE float sgemm__block_scale(int exponent, int format) {
  return sgemm__float_of((uint32_t)(exponent - sgemm__max_exponent(format) + 127) << 23);
}

/* The flag bits of this thread's 32 elements and of its row. exact_from: the smallest magnitude, before scaling, of an
   exact element. k_left: k of the operand from the first of the 128 k on. */
SGEMM__DEVICE uint32_t sgemm__flags_of(const float *x, const sgemm__row_stats *row, float exact_from, int64_t k_left) {
  uint32_t bits = 0;
  int i, h;
  if (row->smallest < exact_from) { /* rare, except with zeros */
    SGEMM__UNROLL
    for (h = 0; h < 2; h++) {
      int inexact = 0;
      SGEMM__UNROLL
      for (i = h * 16; i < h * 16 + 16; i++)
        inexact += x[i] != 0.0f && fabsf(x[i]) < exact_from;
      bits |= (inexact > 0 ? SGEMM__FLAG_INEXACT : 0) | (inexact >= SGEMM__SPREAD_MIN ? SGEMM__FLAG_SPREAD : 0);
    }
  }
  if (row->largest != 0.0f) { /* subnormal numbers count as 2^-149 */
    const int biased = (int)(sgemm__bits_of(row->largest) >> 23);
    bits |= (uint32_t)SGEMM__FLAG_EXPONENTS << (((biased == 0 ? -149 : biased - 127) + 150) / 10);
    bits |= row->sum == row->largest && k_left > 1 ? SGEMM__FLAG_SINGLE : 0;
  }
  return row->largest == INFINITY ? SGEMM__FLAG_NONFINITE : bits;
}

#include "sgemm/stages/tensor_spread.cuh"

/* Splits this thread's 32 elements and stores their terms, 8 k of a term (16 bytes) at a time. to: the address of term
   hi of the first 8 k. next: bytes to the first 8 of the second 16 k, which lie 64 k further on. both: 1 if the
   second 16 elements are stored; 0 if the operand's k-blocks end before them. */
SGEMM__DEVICE void sgemm__store_terms(const float *x, float scale, int format, char *to, int64_t next, int both) {
  const int terms = sgemm__terms(format);
  int i, j, term;
  SGEMM__UNROLL
  for (i = 0; i < 32; i += 8) {
    uint32_t words[3][4];
    if (i == 16 && !both)
      break;
    SGEMM__UNROLL
    for (j = 0; j < 4; j++) {
      float lower = x[i + 2 * j] * scale, upper = x[i + 2 * j + 1] * scale;
      SGEMM__UNROLL
      for (term = 0; term < terms; term++) {
        words[term][j] = sgemm__round_terms(lower, upper, format);
        lower -= sgemm__lower_term(words[term][j], format); /* exact: the difference has no more bits than x */
        upper -= sgemm__upper_term(words[term][j], format);
      }
    }
    SGEMM__UNROLL
    for (term = 0; term < terms; term++)
      sgemm__store_words4(to + term * SGEMM__GROUP_BYTES + i % 16 / 8 * 128, words[term]);
    if (i == 8)
      to += next;
  }
}

/* Splits row block `number` of an operand, 64 rows, over 128 k, number block_k. Each of 8 warps splits 8 rows, four
   threads a row. A thread splits 16 k of its row, number segment = 0 to 3, and the 16 k that lie 64 k further on.
   The warps have one barrier, to combine their flag bits. A warp that knows of a spread leaves out its rows.
     The number of instructions limits the kernel. With 10 million instructions for 4096 x 4096 in fp16x3 it takes 37
     us, and a copy with the same access pattern 36.5 us; with 16 million instructions and two more barriers it took 42
     us (H200, docs/notebook/tensor.md).
     shared: 64 rows of elements. stats: 64 rows of statistics. flags: one word for each warp. */
SGEMM__DEVICE void sgemm__split_row_block(const sgemm__tensor_args *args, int of_b, uint32_t number, uint32_t block_k,
                                          int format, float *shared, float *stats, uint32_t *flags) {
  const sgemm__args *p = &args->gemm;
  const sgemm__split_operand *o = of_b ? &args->b : &args->a;
  const float *X = of_b ? p->B : p->A;
  const int64_t ld = of_b ? p->ldb : p->lda, stride = of_b ? p->stride_b : p->stride_a;
  const int64_t extent = of_b ? p->n : p->m, k_all = p->k;
  const int k_major = of_b ? p->trans_b : !p->trans_a;
  const uint32_t t = (uint32_t)sgemm__thread(), warp = t / 32, lane = t % 32;
  const uint32_t own = warp * 8 + lane % 8, segment = lane / 8; /* the thread's row, and its 16 k */
  const uint32_t row_blocks = (uint32_t)(o->rows / SGEMM__ROW_BLOCK), batch = o->batch > 1 ? number / row_blocks : 0;
  const int64_t row0 = (int64_t)(number - batch * row_blocks) * SGEMM__ROW_BLOCK,
                k0 = (int64_t)block_k * SGEMM__SCALE_K;
  const int64_t at_k = batch * sgemm__scale_blocks(k_all) + block_k, k_blocks = SGEMM__K_BLOCKS(k_all);
  const int64_t k_block = k0 / SGEMM__K_BLOCK + segment / 2; /* k-block of the thread's first 16 k */
  const int rows = (int)(extent - row0 < SGEMM__ROW_BLOCK ? extent - row0 : SGEMM__ROW_BLOCK); /* rows inside X */
  const int ks = (int)(k_all - k0 < SGEMM__SCALE_K ? k_all - k0 : SGEMM__SCALE_K);
  const float *first = X + batch * stride + (row0 + warp * 8) * (k_major ? ld : 1) + k0 * (k_major ? 1 : ld);
  float *warp_rows = shared + warp * 8 * SGEMM__SPLIT_PITCH, *row_stats = stats + own * SGEMM__STATS_PITCH;
  const int inside = rows == SGEMM__ROW_BLOCK && ks == SGEMM__SCALE_K;
  float x[32], scale, block_scale, exact_from; /* block_scale = 1 / scale */
  sgemm__row_stats row;
  char *to; /* address of term hi of the thread's first 8 k */
  uint32_t bits;
  int i, exponent;
  const int leave_out = sgemm__spread_is_known(args, lane, format);
  if (lane == 0)
    flags[warp] = leave_out ? SGEMM__FLAG_SPREAD : 0;
  if (!leave_out) {
    sgemm__load_split_rows(first, ld, k_major, warp, lane, rows, ks, inside, warp_rows, x);
    sgemm__warp_barrier();
    SGEMM__UNROLL
    for (i = 0; i < 32; i += 4)
      sgemm__load_shared4(x + i, shared + own * SGEMM__SPLIT_PITCH + i / 16 * 64 + segment * 16 + i % 16);
    row = sgemm__row_stats_of(x, row_stats, segment);
    exponent = sgemm__scale_exponent(row.largest, format);
    scale = sgemm__float_of((uint32_t)(sgemm__max_exponent(format) - exponent + 127) << 23);
    block_scale = sgemm__block_scale(exponent, format);
    if (segment == 0)
      sgemm__store_global(o->scales + at_k * o->rows + row0 + sgemm__scale_offset(own), block_scale);
    exact_from = block_scale * sgemm__exact_from(format);
    bits = sgemm__flags_of(x, &row, exact_from, k_all - k0);
    sgemm__or_shared(flags + warp, bits);
    if (args->spread_at != NULL && bits & SGEMM__FLAG_SPREAD)
      *(volatile uint64_t *)args->spread_at = sgemm__spread_place(o, of_b, number, block_k, own);
    to = (char *)o->data + (batch * k_blocks + k_block) * sgemm__k_block_bytes(o, format) +
         (row0 / 8 + warp) * (SGEMM__GROUP_BYTES * sgemm__terms(format)) + segment % 2 * 256 + lane % 8 * 16;
    sgemm__store_terms(x, scale, format, to, 2 * sgemm__k_block_bytes(o, format), k_block + 2 < k_blocks);
  }
  sgemm__barrier();
  if (t == 0) {
    SGEMM__UNROLL
    for (i = 1; i < SGEMM__SPLIT_THREADS / 32; i++)
      flags[0] |= flags[i];
    o->flags[at_k * row_blocks + row0 / SGEMM__ROW_BLOCK] = flags[0];
  }
}

/* Row blocks of an operand, of all its matrices. With is_split 1 there is none to split. */
SGEMM__DEVICE uint32_t sgemm__row_blocks(const sgemm__split_operand *o, int is_split) {
  return is_split ? 0 : (uint32_t)(o->rows / SGEMM__ROW_BLOCK) * (uint32_t)o->batch;
}

/* Splits row block number `block`, A's `of_a` before B's, over 128 k, number block_k. Numbers beyond the end of k have
   no work. */
SGEMM__DEVICE void sgemm__split_block(const sgemm__tensor_args *args, uint32_t of_a, uint32_t block, uint32_t block_k,
                                      int format, float *shared, float *stats, uint32_t *flags) {
  if (block_k >= sgemm__scale_blocks(args->gemm.k))
    return;
  if (block < of_a)
    sgemm__split_row_block(args, 0, block, block_k, format, shared, stats, flags);
  else
    sgemm__split_row_block(args, 1, block - of_a, block_k, format, shared, stats, flags);
}

/* The work of a block of the fallback's split: row blocks block_x, block_x + grid_x and so on, counted over the row
   blocks of the first 128 k, then those of the next. In most calls the blocks return at once, so there are only as many
   as the GPU holds at a time. An operand that slices share is split by the first of them that comes to full range. */
SGEMM__DEVICE void sgemm__split_on_fallback(const sgemm__tensor_args *args, int format, float *shared, float *stats,
                                            uint32_t *flags) {
  const int full_terms = (args->a.presplit || args->b.presplit) && *args->full_terms;
  const uint32_t of_a = sgemm__row_blocks(&args->a, args->a.presplit && full_terms);
  const uint32_t row_blocks = of_a + sgemm__row_blocks(&args->b, args->b.presplit && full_terms);
  const uint32_t all = row_blocks * (uint32_t)sgemm__scale_blocks(args->gemm.k);
  uint32_t w;
  if (!sgemm__full_range_may_compute(*args->first_reason))
    return;
  SGEMM__UNROLL_BY(1)
  for (w = sgemm__block_x(); w < all; w += sgemm__grid_x()) {
    sgemm__split_block(args, of_a, w % row_blocks, w / row_blocks, format, shared, stats, flags);
    sgemm__barrier(); /* all threads have read their elements in shared memory, and thread 0 the flag bits */
  }
}

/* The x of a block is the number of its row block, y and z number its 128 k. Consecutive blocks read consecutive
   rows. After full range has split an operand that this slice shares with the slice before, full range computes this
   slice too. */
#define SGEMM__SPLIT_KERNEL(format)                                                                                    \
  SGEMM__GLOBAL(sgemm_split_##format, SGEMM__SPLIT_THREADS, SGEMM__SPLIT_RESIDENT, sgemm__tensor_args) {               \
    SGEMM__SHARED(rows, SGEMM__ROW_BLOCK *SGEMM__SPLIT_PITCH);                                                         \
    SGEMM__SHARED(stats, SGEMM__ROW_BLOCK *SGEMM__STATS_PITCH);                                                        \
    SGEMM__SHARED_WORDS(flags, SGEMM__SPLIT_THREADS / 32);                                                             \
    sgemm__pdl_wait();                                                                                                 \
    if (args.full_terms != NULL && *args.full_terms)                                                                   \
      return;                                                                                                          \
    sgemm__split_block(&args, sgemm__row_blocks(&args.a, args.a.presplit), sgemm__block_x(),                           \
                       (uint32_t)sgemm__block_yz(), SGEMM_FORMAT_##format, rows, stats, flags);                        \
  }

/* The fallback's split calls the PDL trigger at its start: a block of the next kernel needs an SM of its own, and so
   starts only where all blocks of this one have ended. */
#define SGEMM__SPLIT_FALLBACK_KERNEL                                                                                   \
  SGEMM__GLOBAL(sgemm_split_fallback, SGEMM__SPLIT_THREADS, SGEMM__SPLIT_RESIDENT, sgemm__tensor_args) {               \
    SGEMM__SHARED(rows, SGEMM__ROW_BLOCK *SGEMM__SPLIT_PITCH);                                                         \
    SGEMM__SHARED(stats, SGEMM__ROW_BLOCK *SGEMM__STATS_PITCH);                                                        \
    SGEMM__SHARED_WORDS(flags, SGEMM__SPLIT_THREADS / 32);                                                             \
    sgemm__pdl_trigger();                                                                                              \
    sgemm__pdl_wait();                                                                                                 \
    sgemm__split_on_fallback(&args, SGEMM_FORMAT_bf16x6, rows, stats, flags);                                          \
  }

#endif /* SGEMM_STAGES_TENSOR_SPLIT_CUH */
