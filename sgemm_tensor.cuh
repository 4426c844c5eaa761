/* sgemm_tensor.cuh: fp32-accurate multiplication on tensor cores. Included by sgemm_kernels.cuh only.

   A call is two launches. sgemm_split_<format> writes each operand as the sum of 2 or 3 16-bit parts, scaled by powers of
   two; a row of SGEMM_TENSORS multiplies the parts, small products first, and every 32 or 64 k adds what the tensor cores
   have summed to fp32 registers, because their own sums are cut off, not rounded. A third launch, of a strict row, finds
   nothing to do unless the guard fired. docs/tensor.md has the method and its bound.

   READING   formats -> guard -> split -> the wgmma body -> stamping.
   LEGEND    row: of op(A), or a column of op(B); part: one of the 16-bit numbers that make an element; chunk: 32 k;
             group: 8 rows of a chunk; unit: the power of two that 1 stands for, one a row and 128 k; panel: 64 rows.   */
#ifndef SGEMM_TENSOR_CUH
#define SGEMM_TENSOR_CUH

#if SGEMM__WITH_TENSOR

/* ---- Formats ----------------------------------------------------------------------------------------------------- */

/* fp16x3: the largest of a row's 128 k is brought to [2^14, 2^15). An element is whole, 22 bits, while its lo is no
   subnormal: down to 2^-3, which is 2^17 below the largest. bf16x6: the largest is brought to [1, 2), and an element is
   whole, 24 bits, down to 2^-110. */
SGEMM__DEVICE int sgemm__parts(int format) {
  return format == SGEMM_FORMAT_fp16x3 ? SGEMM__PARTS_fp16x3 : SGEMM__PARTS_bf16x6;
}
SGEMM__DEVICE int sgemm__top(int format) { return format == SGEMM_FORMAT_fp16x3 ? 14 : 0; }
SGEMM__DEVICE float sgemm__whole_from(int format) { return format == SGEMM_FORMAT_fp16x3 ? 0x1p-3f : 0x1p-110f; }

/* The nearest 16-bit number, ties to even, and what it stands for. bf16 is the upper half of an fp32. */
SGEMM__DEVICE uint32_t sgemm__to_part(float x, int format) {
  const uint32_t bits = sgemm__bits_of(x);
  return format == SGEMM_FORMAT_fp16x3 ? sgemm__to_fp16(x) : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
SGEMM__DEVICE float sgemm__from_part(uint32_t part, int format) {
  return format == SGEMM_FORMAT_fp16x3 ? sgemm__from_fp16(part) : sgemm__float_of(part << 16);
}

/* The products, small ones first: product i is of part sgemm__part_a of A and sgemm__part_b of B; 0 is hi. */
SGEMM__DEVICE int sgemm__products(int format) { return format == SGEMM_FORMAT_fp16x3 ? 3 : 6; }
SGEMM__DEVICE int sgemm__part_a(int format, int i) {
  const int fp16x3[3] = {1, 0, 0}, bf16x6[6] = {2, 1, 0, 1, 0, 0};
  return format == SGEMM_FORMAT_fp16x3 ? fp16x3[i] : bf16x6[i];
}
SGEMM__DEVICE int sgemm__part_b(int format, int i) {
  const int fp16x3[3] = {0, 1, 0}, bf16x6[6] = {0, 1, 2, 0, 1, 0};
  return format == SGEMM_FORMAT_fp16x3 ? fp16x3[i] : bf16x6[i];
}

/* Where an operand has its things. Planes: chunk by chunk, in it group by group of 8 rows, in it part by part, each 4
   matrices of 8 rows x 8 k, which tensor cores take as 128 consecutive bytes. So the rows of a tile lie together in each
   chunk, whatever the tile, and one bulk copy brings them. Units: 128 k by 128 k; in every 16 rows the 4 that a thread owns
   among wgmma's results, 2q, 2q + 1, 2q + 8, 2q + 9, side by side. */
SGEMM__DEVICE int64_t sgemm__chunk_bytes(const sgemm__operand *o, int format) {
  return o->rows * SGEMM__ROW_BYTES(sgemm__parts(format));
}
SGEMM__DEVICE int64_t sgemm__unit_at(int64_t row) {
  return row / 16 * 16 + row % 8 / 2 * 4 + row % 16 / 8 * 2 + row % 2;
}

/* ---- The guard --------------------------------------------------------------------------------------------------- */

/* What the split tells of a panel's 128 k, in one word. Bits 4 to 31 say which exponents the largest elements of its rows
   have: bit 4 + i for -150 + 10 i to -141 + 10 i. */
enum {
  SGEMM__MARK_NONFINITE = 1, /* an Inf or a NaN */
  SGEMM__MARK_SPREAD = 2,    /* a row with SGEMM__MANY or more elements, not 0, that are not whole */
  SGEMM__MARK_LOST = 4,      /* an element, not 0, that is not whole */
  SGEMM__MARK_LONE = 8,      /* a row with one element that is not 0, among others that are */
  SGEMM__MARK_RANGE = 16     /* the lowest of the bits of exponents */
};
enum { SGEMM__MANY = 8 };

/* The verdict on all marks of A and of B: 0, or reasons to go by strict fp32 instead. docs/tensor.md derives the limits. */
SGEMM__DEVICE uint32_t sgemm__verdict(uint32_t a, uint32_t b) {
  uint32_t verdict = 0;
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
  if ((a | b) & SGEMM__MARK_NONFINITE)
    verdict |= SGEMM_GUARD_NONFINITE;
  if ((a | b) & SGEMM__MARK_SPREAD)
    verdict |= SGEMM_GUARD_SPREAD;
  if ((a & SGEMM__MARK_LOST && b & SGEMM__MARK_LONE) || (b & SGEMM__MARK_LOST && a & SGEMM__MARK_LONE))
    verdict |= SGEMM_GUARD_SPARSE;
  /* The accumulators are in B's units of the moment: 2^(a_high + 16 + 24) at most for k up to 2^24, as far again as B's
     units move. */
  if (a_high >= 0 && b_high >= 0) {
    const int moves = 10 * (b_high - b_low) + 9;
    if (10 * a_high - 141 + moves > 86 || 10 * a_low - 150 - moves < -120 || moves > 119)
      verdict |= SGEMM_GUARD_RANGE;
  }
  return verdict;
}

/* ---- Split ------------------------------------------------------------------------------------------------------- */

/* A multiple of 4, and rows 4 banks apart: 128-bit loads meet none twice. */
enum { SGEMM__SPLIT_PITCH = SGEMM__UNIT_K + 4 };

/* A block's panel of 64 rows and 128 k: into shared memory, in whichever direction memory runs; then a thread a row for its
   unit and its marks; then a thread for every 8 k of a row, which it writes as 16 bytes a part. */
SGEMM__DEVICE void sgemm__split(const sgemm__args *p, int format, float *shared, float *scales, uint32_t *mark) {
  const int t = sgemm__thread(), parts = sgemm__parts(format);
  const int64_t blocks_k = (p->k + SGEMM__UNIT_K - 1) / SGEMM__UNIT_K, chunks = SGEMM__CHUNKS(p->k);
  /* Which panel. The blocks of A come first. */
  const int64_t panels_a = p->a.ready ? 0 : p->a.rows / SGEMM__PANEL * p->a.batch;
  const int64_t number = sgemm__block_x(), of_b = number >= panels_a * blocks_k;
  const sgemm__operand *o = of_b ? &p->b : &p->a;
  const float *X = of_b ? p->B : p->A;
  const int64_t ld = of_b ? p->ldb : p->lda, extent = of_b ? p->n : p->m;
  const int along_k = of_b ? p->trans_b : !p->trans_a;
  const int64_t local = number - (of_b ? panels_a * blocks_k : 0), panels = o->rows / SGEMM__PANEL;
  const int64_t k0 = local % blocks_k * SGEMM__UNIT_K, e0 = local / blocks_k % panels * SGEMM__PANEL;
  const int64_t batch = local / blocks_k / panels;
  const int64_t units_at = (batch * blocks_k + k0 / SGEMM__UNIT_K) * o->rows + e0;
  char *planes = (char *)o->planes + (batch * chunks + k0 / SGEMM__CHUNK_K) * sgemm__chunk_bytes(o, format);
  float x[32];
  int i, j, part;
  X += batch * (of_b ? p->stride_b : p->stride_a);
  /* Fetch, then place: all loads under way before the first is waited for. */
  SGEMM__UNROLL
  for (i = 0; i < 32; i++) {
    const int k = along_k ? t % 128 : i * 4 + t / 64, e = along_k ? i * 2 + t / 128 : t % 64;
    x[i] = 0.0f;
    if (e0 + e < extent && k0 + k < p->k)
      x[i] = sgemm__load_global(X + (along_k ? (e0 + e) * ld + k0 + k : (k0 + k) * ld + e0 + e));
  }
  SGEMM__UNROLL
  for (i = 0; i < 32; i++) {
    const int k = along_k ? t % 128 : i * 4 + t / 64, e = along_k ? i * 2 + t / 128 : t % 64;
    sgemm__store_shared(shared + e * SGEMM__SPLIT_PITCH + k, x[i]);
  }
  if (t == 0)
    *mark = 0;
  sgemm__barrier();
  /* Units: four threads a row, 32 k each, all find the row's largest; one tells it. */
  {
    const int e = t % 64, quarter = t / 64;
    uint32_t largest = 0, bits = 0;
    int exponent, lost = 0, others = 0;
    float scale;
    SGEMM__UNROLL_BY(4)
    for (i = 0; i < SGEMM__UNIT_K; i += 4) {
      sgemm__load_shared4(x, shared + e * SGEMM__SPLIT_PITCH + i);
      SGEMM__UNROLL
      for (j = 0; j < 4; j++) {
        const uint32_t size = sgemm__bits_of(x[j]) & 0x7fffffff;
        largest = largest > size ? largest : size;
        others += size != 0;
      }
    }
    /* The scale is a normal number for every exponent, and so is its inverse. */
    exponent = (int)(largest >> 23) - 127;
    exponent = exponent < sgemm__top(format) - 126 ? sgemm__top(format) - 126 : exponent;
    exponent = exponent > sgemm__top(format) + 126 ? sgemm__top(format) + 126 : exponent;
    exponent = largest == 0 ? sgemm__top(format) : exponent;
    scale = sgemm__float_of((uint32_t)(sgemm__top(format) - exponent + 127) << 23);
    SGEMM__UNROLL_BY(4)
    for (i = 0; i < SGEMM__UNIT_K && quarter == 0; i += 4) {
      sgemm__load_shared4(x, shared + e * SGEMM__SPLIT_PITCH + i);
      SGEMM__UNROLL
      for (j = 0; j < 4; j++)
        lost += x[j] != 0.0f && fabsf(x[j]) * scale < sgemm__whole_from(format);
    }
    if (largest >= 0x7f800000)
      bits |= SGEMM__MARK_NONFINITE;
    if (lost > 0)
      bits |= SGEMM__MARK_LOST;
    if (lost >= SGEMM__MANY)
      bits |= SGEMM__MARK_SPREAD;
    if (others == 1 && p->k - k0 > 1)
      bits |= SGEMM__MARK_LONE;
    if (largest != 0) /* -149 for subnormals, none of which is left out */
      bits |= SGEMM__MARK_RANGE << (((largest >> 23 == 0 ? -149 : (int)(largest >> 23) - 127) + 150) / 10);
    sgemm__or_shared(mark, bits);
    if (quarter == 0) {
      sgemm__store_shared(scales + e, scale);
      sgemm__store_global(o->units + units_at + sgemm__unit_at(e),
                          sgemm__float_of((uint32_t)(exponent - sgemm__top(format) + 127) << 23));
    }
  }
  sgemm__barrier();
  if (t == 0)
    o->marks[(batch * blocks_k + k0 / SGEMM__UNIT_K) * panels + e0 / SGEMM__PANEL] = *mark;
  /* Parts. */
  SGEMM__UNROLL_BY(1)
  for (i = 0; i < 4; i++) {
    const int e = t / 32 * 8 + t % 8, matrix = t / 8 % 4; /* a warp writes a group */
    const float scale = sgemm__load_shared(scales + e);
    char *to = planes + i * sgemm__chunk_bytes(o, format) + (e0 + e) / 8 * (SGEMM__GROUP_BYTES * parts) + matrix * 128 +
               e % 8 * 16;
    uint32_t words[3][4];
    if (k0 / SGEMM__CHUNK_K + i >= chunks)
      break;
    SGEMM__UNROLL
    for (j = 0; j < 8; j += 4)
      sgemm__load_shared4(x + j, shared + e * SGEMM__SPLIT_PITCH + i * SGEMM__CHUNK_K + matrix * 8 + j);
    SGEMM__UNROLL
    for (j = 0; j < 8; j++) {
      float rest = x[j] * scale;
      SGEMM__UNROLL
      for (part = 0; part < parts; part++) {
        const uint32_t h = sgemm__to_part(rest, format);
        rest -= sgemm__from_part(h, format); /* exact: the rest has no more bits than x had */
        words[part][j / 2] = j % 2 == 0 ? h : words[part][j / 2] | h << 16;
      }
    }
    SGEMM__UNROLL
    for (part = 0; part < parts; part++)
      sgemm__store_words4(to + part * SGEMM__GROUP_BYTES, words[part]);
  }
}

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */

/* A row of SGEMM_TENSORS: after inlining each member is a constant. */
typedef struct sgemm__tensor_shape {
  int format, BM, BN, WN, chunks, bufs;
} sgemm__tensor_shape;

/* What a block computes: a tile of C and a part of its k. Blocks take work w, w + blocks, ... of all planes of all tiles. */
typedef struct sgemm__work {
  int64_t row, col, batch, plane; /* of C: its first row and column */
  int64_t begin, end;             /* chunks */
} sgemm__work;

SGEMM__DEVICE int64_t sgemm__works(const sgemm__args *p, int64_t planes) {
  return (int64_t)p->tiles_m * p->tiles_n * planes * p->batch;
}

SGEMM__DEVICE sgemm__work sgemm__work_at(const sgemm__args *p, const sgemm__tensor_shape *s, int64_t planes,
                                         int64_t w) {
  const int64_t tiles = (int64_t)p->tiles_m * p->tiles_n, chunks = SGEMM__CHUNKS(p->k);
  const sgemm__dealt at = sgemm__deal(p, (uint32_t)(w % tiles));
  sgemm__work work;
  work.row = (int64_t)at.row * s->BM;
  work.col = (int64_t)at.col * s->BN;
  work.plane = w / tiles % planes;
  work.batch = w / tiles / planes;
  work.begin = work.plane * (p->k_plane / SGEMM__CHUNK_K);
  work.end = work.begin + p->k_plane / SGEMM__CHUNK_K;
  work.end = work.end < chunks ? work.end : chunks;
  return work;
}

/* The verdict of this call, which each block works out for itself and the first one writes down. words: 3 of shared memory. */
SGEMM__DEVICE uint32_t sgemm__guard(const sgemm__args *p, uint32_t *words, int threads) {
  const int64_t blocks_k = (p->k + SGEMM__UNIT_K - 1) / SGEMM__UNIT_K;
  const int64_t of_a = p->a.rows / SGEMM__PANEL * blocks_k * p->a.batch;
  const int64_t of_b = p->b.rows / SGEMM__PANEL * blocks_k * p->b.batch;
  uint32_t a = 0, b = 0;
  int64_t i;
  if (sgemm__thread() < 2)
    words[sgemm__thread()] = 0;
  sgemm__barrier();
  for (i = sgemm__thread(); i < of_a; i += threads)
    a |= p->a.marks[i];
  for (i = sgemm__thread(); i < of_b; i += threads)
    b |= p->b.marks[i];
  sgemm__or_shared(words, a);
  sgemm__or_shared(words + 1, b);
  sgemm__barrier();
  if (sgemm__thread() == 0) {
    words[2] = sgemm__verdict(words[0], words[1]);
    if (sgemm__block_x() == 0)
      *p->verdict = words[2];
  }
  sgemm__barrier();
  return words[2];
}

/* C <- alpha * x + beta * C for two neighbours of a row, (x, y) at columns col and col + 1. */
SGEMM__DEVICE void sgemm__store_pair(const sgemm__args *p, float *C, int64_t col, float x, float y) {
  x *= p->alpha;
  y *= p->alpha;
  if (col + 1 < p->n && (uintptr_t)C % 8 == 0) {
    if (p->beta != 0.0f) {
      x = sgemm__fma(p->beta, sgemm__load_result(C), x);
      y = sgemm__fma(p->beta, sgemm__load_result(C + 1), y);
    }
    sgemm__store_global2(C, x, y);
    return;
  }
  if (col < p->n)
    sgemm__store_global(C, p->beta != 0.0f ? sgemm__fma(p->beta, sgemm__load_result(C), x) : x);
  if (col + 1 < p->n)
    sgemm__store_global(C + 1, p->beta != 0.0f ? sgemm__fma(p->beta, sgemm__load_result(C + 1), y) : y);
}

#if SGEMM__HAS_wgmma

/* The warpgroup that copies: one thread of it fills buffer after buffer, as the others empty them. */
SGEMM__DEVICE void sgemm__feed(const sgemm__args *p, const sgemm__tensor_shape *s, char *shared, sgemm__mbarrier *full,
                               sgemm__mbarrier *empty, int64_t planes) {
  const int row_bytes = SGEMM__ROW_BYTES(sgemm__parts(s->format)), units = SGEMM__UNIT_K / SGEMM__CHUNK_K;
  const int64_t chunks = SGEMM__CHUNKS(p->k), blocks_k = (p->k + SGEMM__UNIT_K - 1) / SGEMM__UNIT_K;
  int64_t w;
  int i = 0, parity = 1; /* the first round finds all buffers empty */
  for (w = sgemm__block_x(); w < sgemm__works(p, planes); w += sgemm__blocks()) {
    const sgemm__work work = sgemm__work_at(p, s, planes, w);
    const int64_t a_batch = p->a.batch > 1 ? work.batch : 0, b_batch = p->b.batch > 1 ? work.batch : 0;
    const char *a = (const char *)p->a.planes + ((a_batch * chunks + work.begin) * p->a.rows + work.row) * row_bytes;
    const char *b = (const char *)p->b.planes + ((b_batch * chunks + work.begin) * p->b.rows + work.col) * row_bytes;
    const float *a_units = p->a.units + (a_batch * blocks_k + work.begin / units) * p->a.rows + work.row;
    const float *b_units = p->b.units + (b_batch * blocks_k + work.begin / units) * p->b.rows + work.col;
    const float *b_before = b_units;
    int64_t c;
    SGEMM__UNROLL_BY(1)
    for (c = work.begin; c < work.end; c++) {
      char *to = shared + i * SGEMM__BUFFER_BYTES(s->BM, s->BN, sgemm__parts(s->format));
      float *to_units = (float *)(to + SGEMM__CHUNK_BYTES(s->BM, s->BN, sgemm__parts(s->format)));
      const int fresh = c % units == 0;
      sgemm__mbarrier_wait(empty + i, parity);
      sgemm__mbarrier_expect(full + i, (s->BM + s->BN) * row_bytes + (fresh ? 4 * s->BM + 8 * s->BN : 0));
      sgemm__copy_bulk(to, a, s->BM * row_bytes, full + i);
      sgemm__copy_bulk(to + s->BM * row_bytes, b, s->BN * row_bytes, full + i);
      if (fresh) {
        sgemm__copy_bulk(to_units, a_units, 4 * s->BM, full + i);
        sgemm__copy_bulk(to_units + s->BM, b_units, 4 * s->BN, full + i);
        sgemm__copy_bulk(to_units + s->BM + s->BN, b_before, 4 * s->BN, full + i);
        b_before = b_units;
        a_units += p->a.rows;
        b_units += p->b.rows;
      }
      a += p->a.rows * row_bytes;
      b += p->b.rows * row_bytes;
      if (++i == s->bufs) {
        i = 0;
        parity ^= 1;
      }
    }
  }
}

/* Two warpgroups of 64 rows each that multiply, one that copies; blocks stay for tile after tile. The accumulators are in
   units of B's columns, which change every 128 k. acc: BN/2 registers, sum: WN/2. */
SGEMM__DEVICE void sgemm__tensor_wgmma(const sgemm__args *p, const sgemm__tensor_shape *s, float *tiles,
                                       sgemm__mbarrier *full, float *acc, float *sum) {
  const int parts = sgemm__parts(s->format), group = SGEMM__GROUP_BYTES * parts;
  const int buffer = SGEMM__BUFFER_BYTES(s->BM, s->BN, parts), units = SGEMM__UNIT_K / SGEMM__CHUNK_K;
  const int64_t chunks = SGEMM__CHUNKS(p->k), planes = (chunks * SGEMM__CHUNK_K + p->k_plane - 1) / p->k_plane;
  const int lane = sgemm__thread() % 32, warp = sgemm__thread() / 32;
  char *shared = (char *)tiles;
  sgemm__mbarrier *empty = full + s->bufs;
  int64_t w, c;
  int i = 0, parity = 0, g, h, j, product;
  if (sgemm__thread() < s->bufs) {
    sgemm__mbarrier_init(full + sgemm__thread(), 1);
    sgemm__mbarrier_init(empty + sgemm__thread(), 8); /* warps that multiply */
  }
  sgemm__mbarriers_ready();
  sgemm__barrier();
  if (warp >= 8) {
    sgemm__fewer_registers();
    if (sgemm__thread() == 8 * 32)
      sgemm__feed(p, s, shared, full, empty, planes);
    return;
  }
  sgemm__more_registers();
  for (w = sgemm__block_x(); w < sgemm__works(p, planes); w += sgemm__blocks()) {
    const sgemm__work work = sgemm__work_at(p, s, planes, w);
    float a_unit0 = 1.0f, a_unit8 = 1.0f; /* of the thread's row, and of the one 8 below */
    SGEMM__UNROLL
    for (j = 0; j < s->BN / 2; j++)
      acc[j] = 0.0f;
    SGEMM__UNROLL_BY(1)
    for (c = work.begin; c < work.end; c += s->chunks) {
      char *from = shared + i * buffer;
      const float *a_units = (const float *)(from + SGEMM__CHUNK_BYTES(s->BM, s->BN, parts));
      const float *b_units = a_units + s->BM + lane % 4 * 4;
      const sgemm__matrices a = sgemm__matrices_at(from + warp / 4 * 8 * group, group);
      const sgemm__matrices b = sgemm__matrices_at(from + s->BM / 8 * group, group);
      const int fresh = c % units == 0;
      SGEMM__UNROLL
      for (j = 0; j < s->chunks; j++)
        sgemm__mbarrier_wait(full + i + j, parity);
      if (fresh) {
        a_unit0 = sgemm__load_shared(a_units + sgemm__unit_at(warp * 16 + lane / 4));
        a_unit8 = sgemm__load_shared(a_units + sgemm__unit_at(warp * 16 + lane / 4 + 8));
      }
      SGEMM__UNROLL
      for (h = 0; h < s->BN / s->WN; h++) {
        /* Multiply. */
        sgemm__wgmma_begin();
        SGEMM__UNROLL
        for (product = 0; product < sgemm__products(s->format); product++)
          SGEMM__UNROLL
        for (j = 0; j < 2 * s->chunks; j++) { /* 16 k: 2 matrices */
          const int at = j / 2 * buffer + j % 2 * 256;
          sgemm__wgmma(sum, sgemm__matrices_behind(a, at + sgemm__part_a(s->format, product) * SGEMM__GROUP_BYTES),
                       sgemm__matrices_behind(b, at + sgemm__part_b(s->format, product) * SGEMM__GROUP_BYTES +
                                                     h * (s->WN / 8) * group),
                       product + j > 0, s->format, s->WN);
        }
        sgemm__wgmma_commit();
        /* Meanwhile, what is there into B's new units, by the difference of their exponents. */
        if (fresh) {
          SGEMM__UNROLL
          for (g = 0; g < s->WN / 16; g++) {
            float now[4], before[4];
            float *x = acc + h * (s->WN / 2) + g * 8;
            sgemm__load_shared4(now, b_units + h * s->WN + g * 16);
            sgemm__load_shared4(before, b_units + s->BN + h * s->WN + g * 16);
            SGEMM__UNROLL
            for (j = 0; j < 8; j++) {
              const int col = j / 4 * 2 + j % 2;
              x[j] *= sgemm__float_of(0x3f800000 + sgemm__bits_of(before[col]) - sgemm__bits_of(now[col]));
            }
          }
        }
        sgemm__wgmma_wait(sum, s->WN / 2);
        if (h == s->BN / s->WN - 1) { /* nobody of this warp reads the buffers any more */
          sgemm__warp_barrier();
          if (lane == 0) {
            SGEMM__UNROLL
            for (j = 0; j < s->chunks; j++)
              sgemm__mbarrier_arrive(empty + i + j);
          }
        }
        /* Promote. */
        SGEMM__UNROLL
        for (j = 0; j < s->WN / 2; j++)
          acc[h * (s->WN / 2) + j] = sgemm__fma(sum[j], j % 4 < 2 ? a_unit0 : a_unit8, acc[h * (s->WN / 2) + j]);
      }
      i += s->chunks;
      if (i == s->bufs) {
        i = 0;
        parity ^= 1;
      }
    }
    /* Epilogue. */
    {
      const int64_t row = work.row + warp * 16 + lane / 4, col = work.col + lane % 4 * 2;
      const int64_t b_batch = p->b.batch > 1 ? work.batch : 0;
      const int64_t blocks_k = (p->k + SGEMM__UNIT_K - 1) / SGEMM__UNIT_K;
      const float *last = p->b.units + (b_batch * blocks_k + (work.end - 1) / units) * p->b.rows;
      float *C = p->C + work.batch * p->stride_c + work.plane * p->stride_plane + row * p->ldc + col;
      SGEMM__UNROLL
      for (g = 0; g < s->BN / 8; g++) {
        if (col + g * 8 < p->n) {
          const float unit0 = sgemm__load_global(last + sgemm__unit_at(col + g * 8));
          const float unit1 = sgemm__load_global(last + sgemm__unit_at(col + g * 8) + 1);
          SGEMM__UNROLL
          for (h = 0; h < 2; h++)
            if (row + 8 * h < p->m)
              sgemm__store_pair(p, C + 8 * h * p->ldc + g * 8, col + g * 8, acc[g * 4 + h * 2] * unit0,
                                acc[g * 4 + h * 2 + 1] * unit1);
        }
      }
    }
  }
}

#define SGEMM__TENSOR_BODY_wgmma(BM, BN, WN, bufs)                                                                     \
  {                                                                                                                    \
    SGEMM__SHARED_DYNAMIC(tiles);                                                                                      \
    SGEMM__SHARED_MBARRIERS(barriers, 2 * (bufs));                                                                     \
    SGEMM__SHARED_WORDS(words, 3);                                                                                     \
    float acc[(BN) / 2], sum[(WN) / 2];                                                                                \
    sgemm__begin();                                                                                                    \
    if (sgemm__guard(&args, words, SGEMM__TENSOR_THREADS_wgmma) == 0)                                                  \
      sgemm__tensor_wgmma(&args, &shape, tiles, barriers, acc, sum);                                                   \
  }
#else
#define SGEMM__TENSOR_BODY_wgmma(BM, BN, WN, bufs) (void)shape, (void)args; /* sgemm_machine.wgmma says so */
#endif

/* ---- Stamping ---------------------------------------------------------------------------------------------------- */

#define SGEMM__TENSOR_NAME(engine, format, BM, BN) sgemm_##engine##_##format##_##BM##x##BN

#define SGEMM__TENSOR_RULES_wgmma(name, format, BM, BN, WN, chunks, bufs)                                              \
  SGEMM__RULE((BM) == 128, "wgmma rows have two warpgroups of 64 rows", name)                                          \
  SGEMM__RULE((WN) == 64 || (WN) == 128, "WN must be 64 or 128", name)                                                 \
  SGEMM__RULE((BN) % (WN) == 0 && (BN) <= 256, "BN must be a multiple of WN, and at most 256", name)                   \
  SGEMM__RULE(((chunks) == 1 || (chunks) == 2) && (bufs) % (chunks) == 0 && (bufs) <= 8,                               \
              "chunks must be 1 or 2 and divide bufs, of at most 8", name)                                             \
  SGEMM__RULE((bufs)*SGEMM__BUFFER_BYTES(BM, BN, SGEMM__PARTS_##format) <= 226 * 1024,                                 \
              "shared memory of a block is at most 227 KiB, with its mbarriers", name)

#define SGEMM__X(engine, format, BM, BN, WN, chunks, bufs, reason)                                                     \
  SGEMM__TENSOR_RULES_##engine(SGEMM__TENSOR_NAME(engine, format, BM, BN), format, BM, BN, WN, chunks, bufs)           \
      SGEMM__GLOBAL(SGEMM__TENSOR_NAME(engine, format, BM, BN), SGEMM__TENSOR_THREADS_##engine,                        \
                    1)(const sgemm__args args) {                                                                       \
    const sgemm__tensor_shape shape = {SGEMM_FORMAT_##format, BM, BN, WN, chunks, bufs};                               \
    SGEMM__TENSOR_BODY_##engine(BM, BN, WN, bufs)                                                                      \
  }
SGEMM_TENSORS(SGEMM__X)
#undef SGEMM__X

#define SGEMM__X(format, parts, idea)                                                                                  \
  SGEMM__GLOBAL(sgemm_split_##format, SGEMM__SPLIT_THREADS, 4)(const sgemm__args args) {                               \
    SGEMM__SHARED(panel, SGEMM__PANEL *SGEMM__SPLIT_PITCH);                                                            \
    SGEMM__SHARED(scales, SGEMM__PANEL);                                                                               \
    SGEMM__SHARED_WORDS(mark, 1);                                                                                      \
    sgemm__begin();                                                                                                    \
    sgemm__split(&args, SGEMM_FORMAT_##format, panel, scales, mark);                                                   \
  }
SGEMM_FORMATS(SGEMM__X)
#undef SGEMM__X

#endif /* SGEMM__WITH_TENSOR */
#endif /* SGEMM_TENSOR_CUH */
