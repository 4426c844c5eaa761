/* sgemm_tensor.cuh: fp32-accurate multiplication on tensor cores. Included by sgemm_kernels.cuh only.

   A call is two launches. sgemm_split_<format> writes each operand as the sum of 2 or 3 16-bit parts, scaled by powers of
   two; a row of SGEMM_TENSORS multiplies the parts, small products first, and every 32 or 64 k adds what the tensor cores
   have summed to fp32 registers, because their own sums are cut off, not rounded. A third launch, of a strict row, finds
   nothing to do unless the guard fired. docs/tensor.md has the method and its bound.

   READING   formats -> guard -> split -> the bodies: wgmma, mma -> stamping.
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

/* The nearest 16-bit numbers of two, the first in the lower half of the word, and what they stand for. bf16 is the upper
   half of an fp32. */
SGEMM__DEVICE uint32_t sgemm__to_parts(float x, float y, int format) {
  return format == SGEMM_FORMAT_fp16x3 ? sgemm__to_fp16x2(x, y) : sgemm__to_bf16x2(x, y);
}
SGEMM__DEVICE float sgemm__from_lower(uint32_t parts, int format) {
  return format == SGEMM_FORMAT_fp16x3 ? sgemm__from_fp16(parts & 0xffff) : sgemm__float_of(parts << 16);
}
SGEMM__DEVICE float sgemm__from_upper(uint32_t parts, int format) {
  return format == SGEMM_FORMAT_fp16x3 ? sgemm__from_fp16(parts >> 16) : sgemm__float_of(parts & 0xffff0000);
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

/* Blocks of 128 k. */
SGEMM__DEVICE int64_t sgemm__unit_blocks(int64_t k) { return (k + SGEMM__UNIT_K - 1) / SGEMM__UNIT_K; }

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
  SGEMM__MARK_SPREAD = 2,    /* 16 k of a row with SGEMM__MANY or more elements, not 0, that are not whole */
  SGEMM__MARK_LOST = 4,      /* an element, not 0, that is not whole */
  SGEMM__MARK_LONE = 8,      /* a row whose other elements are 0, or so small that they do not change its sum */
  SGEMM__MARK_RANGE = 16     /* the lowest of the bits of exponents */
};
enum { SGEMM__MANY = 4 };

/* The verdict on all marks of A and of B: 0, or reasons to go by strict fp32 instead, as docs/tensor.md has
   them. */
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

/* Of a row in shared memory, and of what its 4 threads tell each other. Multiples of 4, and 8 rows 4 or 12 banks apart:
   128-bit accesses by 8 rows meet no bank twice. */
enum { SGEMM__SPLIT_PITCH = SGEMM__UNIT_K + 4, SGEMM__TOLD_PITCH = 12 };

/* An operand's panel of 64 rows, the number-th, and 128 k of it, the block_k-th, by a block. Its warps have 8 rows each and
   wait for one another only in the end, for the mark. A warp fetches its rows into shared memory; from there a thread takes
   twice 16 k of a row, 64 apart, into registers, finds with the three others of the row its unit, and writes the parts, 16
   bytes at a time. Instructions and barriers count: with 16 million and two more for 4096 x 4096, half of them to find out
   where things are, it took 42 us, with 10 million 37, as a copy of the same pattern does. X has `extent` rows of k_all
   elements, side by side if along_k, else ld apart, and a batch every `stride`. told: for each of the 64 rows, the largest
   sizes of its threads and the sums of sizes of each 16 k; marks: one a warp. */
SGEMM__DEVICE void sgemm__split_panel(const sgemm__operand *o, const float *X, int64_t ld, int64_t stride,
                                      int64_t extent, int64_t k_all, int along_k, uint32_t number, uint32_t block_k,
                                      int format, float *shared, float *told, uint32_t *marks) {
  const uint32_t t = (uint32_t)sgemm__thread(), warp = t / 32, lane = t % 32;
  const uint32_t e = warp * 8 + lane % 8, share = lane / 8; /* the thread's row, 16 k, and those 64 k on */
  const uint32_t panels = (uint32_t)(o->rows / SGEMM__PANEL), batch = o->batch > 1 ? number / panels : 0;
  const int64_t e0 = (int64_t)(number - batch * panels) * SGEMM__PANEL, k0 = (int64_t)block_k * SGEMM__UNIT_K;
  const int64_t at_k = batch * sgemm__unit_blocks(k_all) + block_k, chunks = SGEMM__CHUNKS(k_all);
  const int64_t chunk = k0 / SGEMM__CHUNK_K + share / 2;
  const int parts = sgemm__parts(format);
  /* Of the panel, inside X; in the padding there are none. */
  const int rows = (int)(extent - e0 < SGEMM__PANEL ? extent - e0 : SGEMM__PANEL);
  const int ks = (int)(k_all - k0 < SGEMM__UNIT_K ? k_all - k0 : SGEMM__UNIT_K);
  const int inside = rows == SGEMM__PANEL && ks == SGEMM__UNIT_K;
  const float *first = X + batch * stride + (e0 + warp * 8) * (along_k ? ld : 1) + k0 * (along_k ? 1 : ld);
  float *place = shared + warp * 8 * SGEMM__SPLIT_PITCH, *tell = told + e * SGEMM__TOLD_PITCH;
  char *to;
  float x[32], unit, whole, scale, largest = 0.0f, least = INFINITY, all, some[4];
  uint32_t bits = 0;
  int i, j, h, part, exponent;
  if (lane == 0)
    marks[warp] = 0;
  /* Fetch, then place: all loads under way before the first is waited for. */
  if (inside && along_k && ld % 4 == 0 && (uintptr_t)first % 16 == 0) {
    SGEMM__UNROLL
    for (i = 0; i < 8; i++)
      sgemm__load_global4(x + i * 4, first + i * ld + lane * 4);
    SGEMM__UNROLL
    for (i = 0; i < 8; i++)
      sgemm__store_shared4(place + i * SGEMM__SPLIT_PITCH + lane * 4, x + i * 4);
  } else {
    /* An element at a time: 32 threads take 32 k of a row, four times, and go on to the next row; or 8 threads take all
       rows of a k, and all of them 4 k. */
    const int row = along_k ? 0 : (int)lane % 8, k = along_k ? (int)lane : (int)lane / 8;
    const int64_t step = along_k ? 32 : 4 * ld, on = along_k ? ld - 96 : 4 * ld;
    const float *from = first + (along_k ? k : row + k * ld);
    if (inside) {
      SGEMM__UNROLL
      for (i = 0; i < 32; i++) {
        x[i] = sgemm__load_global(from);
        from += i % 4 < 3 ? step : on;
      }
    } else {
      SGEMM__UNROLL
      for (i = 0; i < 32; i++) {
        const int down = along_k ? i / 4 : 0, right = along_k ? i % 4 * 32 : i * 4;
        x[i] = 0.0f;
        if ((int)(warp * 8) + row + down < rows && k + right < ks)
          x[i] = sgemm__load_global(from);
        from += i % 4 < 3 ? step : on;
      }
    }
    place += row * SGEMM__SPLIT_PITCH + k;
    SGEMM__UNROLL
    for (i = 0; i < 32; i++)
      sgemm__store_shared(place + (along_k ? i / 4 * SGEMM__SPLIT_PITCH + i % 4 * 32 : i * 4), x[i]);
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
    sgemm__store_shared(tell + 4 + h * 4 + share, all);
  }
  /* The row's. */
  sgemm__store_shared(tell + share, largest);
  sgemm__warp_barrier();
  sgemm__load_shared4(some, tell);
  largest = fmaxf(fmaxf(some[0], some[1]), fmaxf(some[2], some[3]));
  all = 0.0f;
  SGEMM__UNROLL
  for (i = 4; i < 12; i += 4) {
    sgemm__load_shared4(some, tell + i);
    SGEMM__UNROLL
    for (j = 0; j < 4; j++)
      all += some[j];
  }
  largest = all == all ? largest : INFINITY;
  /* The scale is a normal number for every exponent, and so is its inverse, the unit. */
  exponent = (int)(sgemm__bits_of(largest) >> 23) - 127;
  exponent = exponent < sgemm__top(format) - 126 ? sgemm__top(format) - 126 : exponent;
  exponent = exponent > sgemm__top(format) + 126 ? sgemm__top(format) + 126 : exponent;
  exponent = largest == 0.0f ? sgemm__top(format) : exponent;
  scale = sgemm__float_of((uint32_t)(sgemm__top(format) - exponent + 127) << 23);
  unit = sgemm__float_of((uint32_t)(exponent - sgemm__top(format) + 127) << 23);
  if (share == 0)
    sgemm__store_global(o->units + at_k * o->rows + e0 + sgemm__unit_at(e), unit);
  /* Marks. Seldom is there anything to count, but zeros. */
  whole = unit * sgemm__whole_from(format);
  if (least < whole) {
    SGEMM__UNROLL
    for (h = 0; h < 2; h++) {
      int lost = 0;
      SGEMM__UNROLL
      for (i = h * 16; i < h * 16 + 16; i++)
        lost += x[i] != 0.0f && fabsf(x[i]) < whole;
      bits |= (lost > 0 ? SGEMM__MARK_LOST : 0) | (lost >= SGEMM__MANY ? SGEMM__MARK_SPREAD : 0);
    }
  }
  if (largest != 0.0f) { /* -149 for subnormals, none of which is left out */
    const int size = (int)(sgemm__bits_of(largest) >> 23);
    bits |= (uint32_t)SGEMM__MARK_RANGE << (((size == 0 ? -149 : size - 127) + 150) / 10);
    bits |= all == largest && k_all - k0 > 1 ? SGEMM__MARK_LONE : 0;
  }
  sgemm__or_shared(marks + warp, largest == INFINITY ? SGEMM__MARK_NONFINITE : bits);
  /* Parts, of 8 k at a time. */
  to = (char *)o->planes + (batch * chunks + chunk) * sgemm__chunk_bytes(o, format) +
       (e0 / 8 + warp) * (SGEMM__GROUP_BYTES * parts) + share % 2 * 256 + lane % 8 * 16;
  SGEMM__UNROLL
  for (i = 0; i < 32; i += 8) {
    uint32_t words[3][4];
    if (i == 16 && chunk + 2 >= chunks)
      break;
    SGEMM__UNROLL
    for (j = 0; j < 4; j++) {
      float lower = x[i + 2 * j] * scale, upper = x[i + 2 * j + 1] * scale;
      SGEMM__UNROLL
      for (part = 0; part < parts; part++) {
        words[part][j] = sgemm__to_parts(lower, upper, format);
        lower -= sgemm__from_lower(words[part][j], format); /* exact: the rest has no more bits than x had */
        upper -= sgemm__from_upper(words[part][j], format);
      }
    }
    SGEMM__UNROLL
    for (part = 0; part < parts; part++)
      sgemm__store_words4(to + part * SGEMM__GROUP_BYTES + i % 16 / 8 * 128, words[part]);
    if (i == 8)
      to += 2 * sgemm__chunk_bytes(o, format);
  }
  sgemm__barrier();
  if (t == 0) {
    SGEMM__UNROLL
    for (i = 1; i < SGEMM__SPLIT_THREADS / 32; i++)
      marks[0] |= marks[i];
    o->marks[at_k * panels + e0 / SGEMM__PANEL] = marks[0];
  }
}

/* A block's panel, along x, where those of A come first, and its 128 k, along y and z, which may reach too far. Blocks side
   by side have rows side by side. */
SGEMM__DEVICE void sgemm__split(const sgemm__args *p, int format, float *shared, float *told, uint32_t *marks) {
  const uint32_t block = sgemm__block_x(), block_k = (uint32_t)sgemm__block_yz();
  const uint32_t of_a = p->a.ready ? 0 : (uint32_t)(p->a.rows / SGEMM__PANEL) * (uint32_t)p->a.batch;
  if (block_k >= sgemm__unit_blocks(p->k))
    return;
  if (block < of_a)
    sgemm__split_panel(&p->a, p->A, p->lda, p->stride_a, p->m, p->k, !p->trans_a, block, block_k, format, shared, told,
                       marks);
  else
    sgemm__split_panel(&p->b, p->B, p->ldb, p->stride_b, p->n, p->k, p->trans_b, block - of_a, block_k, format, shared,
                       told, marks);
}

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */

/* A row of SGEMM_TENSORS: after inlining each member is a constant. */
typedef struct sgemm__tensor_shape {
  int format, BM, BN, WN, chunks, sums, bufs;
} sgemm__tensor_shape;

/* What a block computes: a tile of C and a part of its k. Blocks take work w, w + blocks, ... of all planes of all tiles. */
typedef struct sgemm__work {
  int64_t row, col, batch, plane; /* of C: its first row and column */
  int64_t begin, end;             /* chunks */
} sgemm__work;

SGEMM__DEVICE int64_t sgemm__works(const sgemm__args *p) {
  return (int64_t)p->tiles_m * p->tiles_n * p->planes * p->batch;
}

SGEMM__DEVICE sgemm__work sgemm__work_at(const sgemm__args *p, const sgemm__tensor_shape *s, int64_t w) {
  const int64_t tiles = (int64_t)p->tiles_m * p->tiles_n, chunks = SGEMM__CHUNKS(p->k);
  const sgemm__dealt at = sgemm__deal(p, (uint32_t)(w % tiles));
  sgemm__work work;
  work.row = (int64_t)at.row * s->BM;
  work.col = (int64_t)at.col * s->BN;
  work.plane = w / tiles % p->planes;
  work.batch = w / tiles / p->planes;
  work.begin = work.plane * (p->k_plane / SGEMM__CHUNK_K);
  work.end = work.begin + p->k_plane / SGEMM__CHUNK_K;
  work.end = work.end < chunks ? work.end : chunks;
  return work;
}

/* The verdict of this call, which each block works out for itself and the first one writes down. By `threads` threads, each
   warp of which arrives once at `found`; words: 2 of shared memory, 0 before. */
SGEMM__DEVICE uint32_t sgemm__guard(const sgemm__args *p, uint32_t *words, sgemm__mbarrier *found, int threads) {
  const int64_t blocks_k = sgemm__unit_blocks(p->k);
  const int64_t of_a = p->a.rows / SGEMM__PANEL * blocks_k * p->a.batch;
  const int64_t of_b = p->b.rows / SGEMM__PANEL * blocks_k * p->b.batch;
  uint32_t a = 0, b = 0, verdict;
  int64_t i;
  for (i = sgemm__thread(); i < of_a; i += threads)
    a |= p->a.marks[i];
  for (i = sgemm__thread(); i < of_b; i += threads)
    b |= p->b.marks[i];
  sgemm__or_shared(words, a);
  sgemm__or_shared(words + 1, b);
  sgemm__warp_barrier();
  if (sgemm__thread() % 32 == 0)
    sgemm__mbarrier_arrive(found);
  sgemm__mbarrier_wait(found, 0);
  verdict = sgemm__verdict(words[0], words[1]);
  if (sgemm__thread() == 0 && sgemm__block_x() == 0)
    *p->verdict = verdict;
  return verdict;
}

/* Two neighbours of a row of C, the first at column col, as far as they lie inside. */
SGEMM__DEVICE void sgemm__load_pair(const sgemm__args *p, const float *C, int64_t col, float *c) {
  if (col < p->n)
    c[0] = sgemm__load_result(C);
  if (col + 1 < p->n)
    c[1] = sgemm__load_result(C + 1);
}

/* The same to C. pairs: 1 if each pair is inside C or outside, and aligned to 8 bytes. */
SGEMM__DEVICE void sgemm__store_pair(const sgemm__args *p, float *C, int64_t col, int pairs, float x, float y) {
  if (col < p->n && pairs)
    sgemm__store_global2(C, x, y);
  else {
    if (col < p->n)
      sgemm__store_global(C, x);
    if (col + 1 < p->n)
      sgemm__store_global(C + 1, y);
  }
}

/* Where the chunks of a block's work are: the next of them, and the units of A, of B and of B before. */
typedef struct sgemm__source {
  int64_t chunk, end;
  const char *a, *b;
  const float *a_units, *b_units, *b_before;
} sgemm__source;

SGEMM__DEVICE sgemm__source sgemm__source_at(const sgemm__args *p, const sgemm__tensor_shape *s,
                                             const sgemm__work *work) {
  const int row_bytes = SGEMM__ROW_BYTES(sgemm__parts(s->format)), units = SGEMM__UNIT_K / SGEMM__CHUNK_K;
  const int64_t chunks = SGEMM__CHUNKS(p->k), blocks_k = sgemm__unit_blocks(p->k);
  const int64_t a_batch = p->a.batch > 1 ? work->batch : 0, b_batch = p->b.batch > 1 ? work->batch : 0;
  sgemm__source from;
  from.chunk = work->begin;
  from.end = work->end;
  from.a = (const char *)p->a.planes + ((a_batch * chunks + work->begin) * p->a.rows + work->row) * row_bytes;
  from.b = (const char *)p->b.planes + ((b_batch * chunks + work->begin) * p->b.rows + work->col) * row_bytes;
  from.a_units = p->a.units + (a_batch * blocks_k + work->begin / units) * p->a.rows + work->row;
  from.b_units = p->b.units + (b_batch * blocks_k + work->begin / units) * p->b.rows + work->col;
  from.b_before = from.b_units;
  return from;
}

/* 1 if the next chunk begins 128 k, and with them new units. */
SGEMM__DEVICE int sgemm__fresh(int64_t chunk) { return chunk % (SGEMM__UNIT_K / SGEMM__CHUNK_K) == 0; }

SGEMM__DEVICE void sgemm__source_advance(const sgemm__args *p, const sgemm__tensor_shape *s, sgemm__source *from) {
  const int row_bytes = SGEMM__ROW_BYTES(sgemm__parts(s->format));
  if (sgemm__fresh(from->chunk)) {
    from->b_before = from->b_units;
    from->a_units += p->a.rows;
    from->b_units += p->b.rows;
  }
  from->a += p->a.rows * row_bytes;
  from->b += p->b.rows * row_bytes;
  from->chunk++;
}

/* Into B's new units, by the difference of their exponents: a thread's accumulators of 16 rows and so many columns, of
   which now and before are the units. Most are what they were: 16 columns without a new one stay as they are. */
SGEMM__DEVICE void sgemm__rescale(float *acc, int columns, const float *now, const float *before) {
  const uint32_t differ = sgemm__quads_differ(now, before, columns / 4);
  const int own = sgemm__thread() % 4 * 4;
  float to[4], of[4];
  int g, j;
  if (differ == 0)
    return;
  SGEMM__UNROLL
  for (g = 0; g < columns / 16; g++) {
    if ((differ >> 4 * g & 15) == 0)
      continue;
    sgemm__load_shared4(to, now + g * 16 + own);
    sgemm__load_shared4(of, before + g * 16 + own);
    SGEMM__UNROLL
    for (j = 0; j < 8; j++) {
      const int col = j / 4 * 2 + j % 2;
      acc[g * 8 + j] *= sgemm__float_of(0x3f800000 + sgemm__bits_of(of[col]) - sgemm__bits_of(to[col]));
    }
  }
}

/* What a thread owns of 16 rows and so many columns: columns 2q and 2q + 1 of every 8, of rows r and r + 8, where its lane is
   4r + q. C: its first result, at (row, col); last: B's units from there on. Constants, plain: all is inside, aligned to 8 bytes,
   and C is not read; reads: beta asks for it. */
SGEMM__DEVICE void sgemm__store_piece(const sgemm__args *p, float *C, int64_t row, int64_t col, int columns,
                                      const float *last, int plain, int reads, const float *acc) {
  const int pairs = p->n % 2 == 0 && p->ldc % 2 == 0 && (uintptr_t)C % 8 == 0;
  int g, j;
  SGEMM__UNROLL
  for (g = 0; g < columns / 16; g++) {
    float unit[4];       /* of columns 2q, 2q + 1, 2q + 8, 2q + 9 */
    float c[8] = {0.0f}; /* C's pairs, in the order of j */
    sgemm__load_global4(unit, last + g * 16);
    if (reads) {
      SGEMM__UNROLL
      for (j = 0; j < 4; j++) /* all under way before the first is used */
        if (row + j / 2 * 8 < p->m)
          sgemm__load_pair(p, C + j / 2 * 8 * p->ldc + g * 16 + j % 2 * 8, col + g * 16 + j % 2 * 8, c + j * 2);
    }
    SGEMM__UNROLL
    for (j = 0; j < 4; j++) {
      const int down = j / 2 * 8, across = g * 16 + j % 2 * 8;
      const float *pair = acc + g * 8 + j % 2 * 4 + j / 2 * 2;
      float x = p->alpha * (pair[0] * unit[j % 2 * 2]), y = p->alpha * (pair[1] * unit[j % 2 * 2 + 1]);
      if (reads) {
        x = sgemm__fma(p->beta, c[j * 2], x);
        y = sgemm__fma(p->beta, c[j * 2 + 1], y);
      }
      if (plain)
        sgemm__store_global2(C + down * p->ldc + across, x, y);
      else if (row + down < p->m)
        sgemm__store_pair(p, C + down * p->ldc + across, col + across, pairs, x, y);
    }
  }
}

/* The epilogue of 16 rows and so many columns of a tile, from its (tile_row, tile_col) on. */
SGEMM__DEVICE void sgemm__store_results(const sgemm__args *p, const sgemm__work *work, int tile_row, int tile_col,
                                        int columns, const float *acc) {
  const int lane = sgemm__thread() % 32, units = SGEMM__UNIT_K / SGEMM__CHUNK_K;
  const int64_t row = work->row + tile_row, col = work->col + tile_col;
  const int64_t b_block = (p->b.batch > 1 ? work->batch : 0) * sgemm__unit_blocks(p->k) + (work->end - 1) / units;
  const float *last = p->b.units + b_block * p->b.rows + col + lane % 4 * 4;
  float *C = p->C + work->batch * p->stride_c + work->plane * p->stride_plane + (row + lane / 4) * p->ldc + col +
             lane % 4 * 2;
  if (row + 16 <= p->m && col + columns <= p->n && p->beta == 0.0f && p->ldc % 2 == 0 && (uintptr_t)C % 8 == 0)
    sgemm__store_piece(p, C, row + lane / 4, col + lane % 4 * 2, columns, last, 1, 0, acc);
  else if (p->beta == 0.0f)
    sgemm__store_piece(p, C, row + lane / 4, col + lane % 4 * 2, columns, last, 0, 0, acc);
  else
    sgemm__store_piece(p, C, row + lane / 4, col + lane % 4 * 2, columns, last, 0, 1, acc);
}

#if SGEMM__HAS_wgmma

/* The warpgroup that copies: one thread of it fills buffer after buffer, as the others empty them. All buffers are filled
   once while the guard is still at work; if it fires, the others set *stop before they empty the first. */
SGEMM__DEVICE void sgemm__feed(const sgemm__args *p, const sgemm__tensor_shape *s, char *shared, sgemm__mbarrier *full,
                               sgemm__mbarrier *empty, const uint32_t *stop) {
  const int row_bytes = SGEMM__ROW_BYTES(sgemm__parts(s->format));
  int64_t w;
  int i = 0, parity = 1, first_round = 1; /* which finds all buffers empty */
  for (w = sgemm__block_x(); w < sgemm__works(p); w += sgemm__blocks()) {
    const sgemm__work work = sgemm__work_at(p, s, w);
    sgemm__source from = sgemm__source_at(p, s, &work);
    SGEMM__UNROLL_BY(1)
    for (; from.chunk < from.end; sgemm__source_advance(p, s, &from)) {
      char *to = shared + i * SGEMM__BUFFER_BYTES(s->BM, s->BN, sgemm__parts(s->format));
      float *to_units = (float *)(to + SGEMM__CHUNK_BYTES(s->BM, s->BN, sgemm__parts(s->format)));
      const int fresh = sgemm__fresh(from.chunk);
      sgemm__mbarrier_wait(empty + i, parity);
      if (!first_round && *(const volatile uint32_t *)stop)
        return;
      sgemm__mbarrier_expect(full + i, (s->BM + s->BN) * row_bytes + (fresh ? 4 * s->BM + 8 * s->BN : 0));
      sgemm__copy_bulk(to, from.a, s->BM * row_bytes, full + i);
      sgemm__copy_bulk(to + s->BM * row_bytes, from.b, s->BN * row_bytes, full + i);
      if (fresh) {
        sgemm__copy_bulk(to_units, from.a_units, 4 * s->BM, full + i);
        sgemm__copy_bulk(to_units + s->BM, from.b_units, 4 * s->BN, full + i);
        sgemm__copy_bulk(to_units + s->BM + s->BN, from.b_before, 4 * s->BN, full + i);
      }
      if (++i == s->bufs) {
        i = 0;
        parity ^= 1;
        first_round = 0;
      }
    }
  }
}

/* Two warpgroups of 64 rows each that multiply, one that copies; blocks stay for tile after tile. The two take turns in
   giving the tensor cores work, so that one promotes while the other one's products are under way; left alone they come
   to promote at the same time. The accumulators are in units of B's columns, which change every 128 k. acc: BN/2
   registers, sum: WN/2 each. */
SGEMM__DEVICE void sgemm__tensor_wgmma(const sgemm__args *p, const sgemm__tensor_shape *s, float *tiles,
                                       sgemm__mbarrier *full, uint32_t *words, float *acc, float *sum) {
  const int parts = sgemm__parts(s->format), group = SGEMM__GROUP_BYTES * parts;
  const int buffer = SGEMM__BUFFER_BYTES(s->BM, s->BN, parts);
  const int lane = sgemm__thread() % 32, warp = sgemm__thread() / 32, warpgroup = warp / 4;
  char *shared = (char *)tiles;
  sgemm__mbarrier *empty = full + s->bufs, *found = empty + s->bufs;
  int64_t w, c;
  int i = 0, parity = 0, h, j, product, other;
  if (sgemm__thread() < 3)
    words[sgemm__thread()] = 0;
  if (sgemm__thread() == 0)
    sgemm__mbarrier_init(found, 8);
  if (sgemm__thread() < s->bufs) {
    sgemm__mbarrier_init(full + sgemm__thread(), 1);
    sgemm__mbarrier_init(empty + sgemm__thread(), 8); /* warps that multiply */
  }
  sgemm__mbarriers_ready();
  sgemm__barrier();
  if (warp >= 8) {
    sgemm__fewer_registers();
    if (sgemm__thread() == 8 * 32)
      sgemm__feed(p, s, shared, full, empty, words + 2);
    return;
  }
  sgemm__more_registers();
  if (sgemm__guard(p, words, found, 256) != 0) {
    /* The copies that are under way must end before the block does. */
    int64_t filled = 0;
    for (w = sgemm__block_x(); w < sgemm__works(p) && filled < s->bufs; w += sgemm__blocks()) {
      const sgemm__work work = sgemm__work_at(p, s, w);
      filled += work.end - work.begin;
    }
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
    sgemm__turn_give(0);
  for (w = sgemm__block_x(); w < sgemm__works(p); w += sgemm__blocks()) {
    const sgemm__work work = sgemm__work_at(p, s, w);
    float a_unit0 = 1.0f, a_unit8 = 1.0f; /* of the thread's row, and of the one 8 below */
    SGEMM__UNROLL
    for (j = 0; j < s->BN / 2; j++)
      acc[j] = 0.0f;
    SGEMM__UNROLL_BY(1)
    for (c = work.begin; c < work.end; c += s->chunks) {
      char *from = shared + i * buffer;
      const float *a_units = (const float *)(from + SGEMM__CHUNK_BYTES(s->BM, s->BN, parts));
      const float *b_units = a_units + s->BM;
      const sgemm__matrices a = sgemm__matrices_at(from + warpgroup * 8 * group, group);
      const sgemm__matrices b = sgemm__matrices_at(from + s->BM / 8 * group, group);
      const int fresh = sgemm__fresh(c);
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
        sgemm__turn_wait(warpgroup);
        sgemm__wgmma_begin();
        SGEMM__UNROLL
        for (product = 0; product < sgemm__products(s->format); product++) {
          SGEMM__UNROLL
          for (j = 0; j < 2 * s->chunks; j++) { /* 16 k: 2 matrices */
            const int at = j / 2 * buffer + j % 2 * 256;
            /* The large products, which come last, fill one sum after the other; the small ones are all in the first. */
            const int large = product == sgemm__products(s->format) - 1, ks = 2 * s->chunks / s->sums;
            const int into = large ? j / ks : 0, begins = large && into > 0 ? j % ks == 0 : product + j == 0;
            sgemm__wgmma(sum + into * (s->WN / 2),
                         sgemm__matrices_behind(a, at + sgemm__part_a(s->format, product) * SGEMM__GROUP_BYTES),
                         sgemm__matrices_behind(b, at + sgemm__part_b(s->format, product) * SGEMM__GROUP_BYTES +
                                                       h * (s->WN / 8) * group),
                         !begins, s->format, s->WN);
          }
        }
        sgemm__wgmma_commit();
        sgemm__turn_give(1 - warpgroup);
        if (fresh) /* meanwhile */
          sgemm__rescale(acc + h * (s->WN / 2), s->WN, b_units + h * s->WN, b_units + s->BN + h * s->WN);
        sgemm__wgmma_wait(sum, s->WN / 2 * s->sums);
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
        for (j = 0; j < s->WN / 2; j++) {
          float all = sum[j];
          SGEMM__UNROLL
          for (other = 1; other < s->sums; other++)
            all += sum[other * (s->WN / 2) + j];
          acc[h * (s->WN / 2) + j] = sgemm__fma(all, j % 4 < 2 ? a_unit0 : a_unit8, acc[h * (s->WN / 2) + j]);
        }
      }
      i += s->chunks;
      if (i == s->bufs) {
        i = 0;
        parity ^= 1;
      }
    }
    sgemm__store_results(p, &work, warp * 16, 0, s->BN, acc);
  }
}

#define SGEMM__TENSOR_BODY_wgmma(BM, BN, WN, parts, sums, bufs)                                                        \
  {                                                                                                                    \
    SGEMM__SHARED_DYNAMIC(tiles);                                                                                      \
    SGEMM__SHARED_MBARRIERS(barriers, 2 * (bufs) + 1);                                                                 \
    SGEMM__SHARED_WORDS(words, 3);                                                                                     \
    float acc[(BN) / 2], sum[(WN) / 2 * (sums)];                                                                       \
    sgemm__successor_may_come();                                                                                       \
    sgemm__begin();                                                                                                    \
    sgemm__tensor_wgmma(&args, &shape, tiles, barriers, words, acc, sum);                                              \
  }
#else
#define SGEMM__TENSOR_BODY_wgmma(BM, BN, WN, parts, sums, bufs)                                                        \
  (void)shape, (void)args; /* sgemm_machine.wgmma says so */
#endif

#if SGEMM__HAS_mma

/* The block copies the next chunk of a source, where there is one. */
SGEMM__DEVICE void sgemm__copy_chunk(const sgemm__args *p, const sgemm__tensor_shape *s, sgemm__source *from,
                                     float *to) {
  const int row_floats = SGEMM__ROW_BYTES(sgemm__parts(s->format)) / 4, threads = SGEMM__TENSOR_THREADS_mma;
  const int at = sgemm__thread() * 4;
  int i;
  if (from->chunk == from->end)
    return;
  SGEMM__UNROLL
  for (i = 0; i < s->BM * row_floats; i += threads * 4)
    sgemm__copy4(to + i + at, (const float *)from->a + i + at);
  to += s->BM * row_floats;
  SGEMM__UNROLL
  for (i = 0; i < s->BN * row_floats; i += threads * 4)
    sgemm__copy4(to + i + at, (const float *)from->b + i + at);
  to += s->BN * row_floats;
  if (sgemm__fresh(from->chunk) && at < s->BM + 2 * s->BN)
    sgemm__copy4(to + at, at < s->BM           ? from->a_units + at
                          : at < s->BM + s->BN ? from->b_units + at - s->BM
                                               : from->b_before + at - s->BM - s->BN);
  sgemm__source_advance(p, s, from);
}

/* 8 warps, each of 64 rows, in 4 pieces of 16, and WN columns. B's fragments of a chunk stay in registers while A's
   pass, piece by piece. acc: 2 WN registers, in units of B's columns as with wgmma; sum: WN/2; a_unit: 8; a: 2 a part;
   b: WN/8 a part. */
SGEMM__DEVICE void sgemm__tensor_mma(const sgemm__args *p, const sgemm__tensor_shape *s, float *tiles, float *acc,
                                     float *sum, float *a_unit, sgemm__fragment *a, sgemm__fragment *b) {
  const int parts = sgemm__parts(s->format), group = SGEMM__GROUP_BYTES * parts;
  const int buffer = SGEMM__BUFFER_BYTES(s->BM, s->BN, parts);
  const int lane = sgemm__thread() % 32, warp = sgemm__thread() / 32;
  const int row = warp / (s->BN / s->WN) * 64, col = warp % (s->BN / s->WN) * s->WN; /* of the warp, in the tile */
  char *shared = (char *)tiles;
  int64_t w, c;
  int i, g, h, j, part, product;
  /* The guard has its words where the first chunk goes: tiles take all that there is. */
  uint32_t *words = (uint32_t *)tiles;
  sgemm__mbarrier *found = (sgemm__mbarrier *)(tiles + 4);
  if (sgemm__thread() == 0) {
    words[0] = words[1] = 0;
    sgemm__mbarrier_init(found, SGEMM__TENSOR_THREADS_mma / 32);
  }
  sgemm__barrier();
  if (sgemm__guard(p, words, found, SGEMM__TENSOR_THREADS_mma) != 0)
    return;
  for (w = sgemm__block_x(); w < sgemm__works(p); w += sgemm__blocks()) {
    const sgemm__work work = sgemm__work_at(p, s, w);
    sgemm__source source = sgemm__source_at(p, s, &work);
    SGEMM__UNROLL
    for (j = 0; j < 2 * s->WN; j++)
      acc[j] = 0.0f;
    sgemm__barrier(); /* nobody reads the last tile any more, or the guard's words */
    SGEMM__UNROLL
    for (i = 0; i < s->bufs - 1; i++) {
      sgemm__copy_chunk(p, s, &source, (float *)(shared + i * buffer));
      sgemm__copies_commit();
    }
    i = 0;
    SGEMM__UNROLL_BY(1)
    for (c = work.begin; c < work.end; c++) {
      const char *from_a = shared + i * buffer + row / 8 * group;
      const char *from_b = shared + i * buffer + (s->BM + col) / 8 * group;
      const float *a_units = (const float *)(shared + i * buffer + SGEMM__CHUNK_BYTES(s->BM, s->BN, parts));
      const float *b_units = a_units + s->BM + col;
      sgemm__copies_wait(s->bufs - 2);
      sgemm__barrier();
      sgemm__copy_chunk(p, s, &source, (float *)(shared + (i + s->bufs - 1) % s->bufs * buffer));
      sgemm__copies_commit();
      i = (i + 1) % s->bufs;
      if (sgemm__fresh(c)) {
        SGEMM__UNROLL
        for (g = 0; g < 8; g++)
          a_unit[g] = sgemm__load_shared(a_units + sgemm__unit_at(row + g * 8 + lane / 4));
        SGEMM__UNROLL
        for (g = 0; g < 4; g++)
          sgemm__rescale(acc + g * (s->WN / 2), s->WN, b_units, b_units + s->BN);
      }
      SGEMM__UNROLL
      for (g = 0; g < s->WN / 8; g++) {
        SGEMM__UNROLL
        for (part = 0; part < parts; part++)
          sgemm__load_fragment_b(b + g * parts + part, from_b + g * group + part * SGEMM__GROUP_BYTES);
      }
      SGEMM__UNROLL
      for (h = 0; h < 4; h++) {
        SGEMM__UNROLL
        for (part = 0; part < parts; part++) {
          const char *from = from_a + 2 * h * group + part * SGEMM__GROUP_BYTES;
          sgemm__load_fragment_a(a + part, from, group);
          sgemm__load_fragment_a(a + parts + part, from + 256, group); /* the other 16 k: 2 matrices on */
        }
        /* Multiply. */
        SGEMM__UNROLL
        for (product = 0; product < sgemm__products(s->format); product++) {
          const int of_a = sgemm__part_a(s->format, product), of_b = sgemm__part_b(s->format, product);
          SGEMM__UNROLL
          for (j = 0; j < 2; j++) {
            SGEMM__UNROLL
            for (g = 0; g < s->WN / 8; g++)
              sgemm__mma(sum + g * 4, a + j * parts + of_a, b + g * parts + of_b, j, product + j > 0, s->format);
          }
        }
        /* Promote. */
        SGEMM__UNROLL
        for (j = 0; j < s->WN / 2; j++)
          acc[h * (s->WN / 2) + j] = sgemm__fma(sum[j], a_unit[2 * h + (j % 4 < 2 ? 0 : 1)], acc[h * (s->WN / 2) + j]);
      }
    }
    SGEMM__UNROLL
    for (h = 0; h < 4; h++)
      sgemm__store_results(p, &work, row + h * 16, col, s->WN, acc + h * (s->WN / 2));
  }
}

#define SGEMM__TENSOR_BODY_mma(BM, BN, WN, parts, sums, bufs)                                                          \
  {                                                                                                                    \
    SGEMM__SHARED_DYNAMIC(tiles);                                                                                      \
    float acc[2 * (WN)], sum[(WN) / 2], a_unit[8];                                                                     \
    sgemm__fragment a[2 * (parts)], b[(WN) / 8 * (parts)];                                                             \
    sgemm__successor_may_come();                                                                                       \
    sgemm__begin();                                                                                                    \
    sgemm__tensor_mma(&args, &shape, tiles, acc, sum, a_unit, a, b);                                                   \
  }
#else
#define SGEMM__TENSOR_BODY_mma(BM, BN, WN, parts, sums, bufs) (void)shape, (void)args; /* sgemm_machine.arch says so */
#endif

/* ---- Stamping ---------------------------------------------------------------------------------------------------- */

#define SGEMM__TENSOR_NAME(engine, format, BM, BN) sgemm_##engine##_##format##_##BM##x##BN

#define SGEMM__TENSOR_RULES_wgmma(name, format, BM, BN, WN, chunks, sums, bufs)                                        \
  SGEMM__RULE((BM) == 128, "wgmma rows have two warpgroups of 64 rows", name)                                          \
  SGEMM__RULE((WN) == 64 || (WN) == 128, "WN must be 64 or 128", name)                                                 \
  SGEMM__RULE((BN) % (WN) == 0 && (BN) <= 256, "BN must be a multiple of WN, and at most 256", name)                   \
  SGEMM__RULE(((chunks) == 1 || (chunks) == 2) && (bufs) % (chunks) == 0 && (bufs) <= 8,                               \
              "chunks must be 1 or 2 and divide bufs, of at most 8", name)                                             \
  SGEMM__RULE((sums) == 1 || (sums) == 2 || (sums) == 2 * (chunks), "sums must be 1, 2 or 2 chunks", name)             \
  SGEMM__RULE((bufs)*SGEMM__BUFFER_BYTES(BM, BN, SGEMM__PARTS_##format) <= 226 * 1024,                                 \
              "shared memory of a block is at most 227 KiB, with its mbarriers", name)
#define SGEMM__TENSOR_RULES_mma(name, format, BM, BN, WN, chunks, sums, bufs)                                          \
  SGEMM__RULE((BM) % 64 == 0 && (BN) % 64 == 0, "BM and BN must be multiples of 64", name)                             \
  SGEMM__RULE((WN) == 16 || (WN) == 32, "WN must be 16 or 32", name)                                                   \
  SGEMM__RULE((BM) / 64 * ((BN) / (WN)) == 8, "mma rows have 8 warps of 64 rows and WN columns", name)                 \
  SGEMM__RULE((chunks) == 1 && (sums) == 1 && ((bufs) == 2 || (bufs) == 3),                                            \
              "chunks and sums must be 1, and bufs 2 or 3", name)                                                      \
  SGEMM__RULE((bufs)*SGEMM__BUFFER_BYTES(BM, BN, SGEMM__PARTS_##format) <= 99 * 1024,                                  \
              "shared memory of a block is at most 99 KiB on sm_86, sm_89 and sm_120", name)

#define SGEMM__X(engine, format, BM, BN, WN, chunks, sums, bufs, reason)                                               \
  SGEMM__TENSOR_RULES_##engine(SGEMM__TENSOR_NAME(engine, format, BM, BN), format, BM, BN, WN, chunks, sums, bufs)     \
      SGEMM__GLOBAL(SGEMM__TENSOR_NAME(engine, format, BM, BN), SGEMM__TENSOR_THREADS_##engine,                        \
                    1)(const sgemm__args args) {                                                                       \
    const sgemm__tensor_shape shape = {SGEMM_FORMAT_##format, BM, BN, WN, chunks, sums, bufs};                         \
    SGEMM__TENSOR_BODY_##engine(BM, BN, WN, SGEMM__PARTS_##format, sums, bufs)                                         \
  }
SGEMM_TENSORS(SGEMM__X)
#undef SGEMM__X

#define SGEMM__X(format, parts, idea)                                                                                  \
  SGEMM__GLOBAL(sgemm_split_##format, SGEMM__SPLIT_THREADS, 4)(const sgemm__args args) {                               \
    SGEMM__SHARED(panel, SGEMM__PANEL *SGEMM__SPLIT_PITCH);                                                            \
    SGEMM__SHARED(told, SGEMM__PANEL *SGEMM__TOLD_PITCH);                                                              \
    SGEMM__SHARED_WORDS(marks, SGEMM__SPLIT_THREADS / 32);                                                             \
    sgemm__begin();                                                                                                    \
    sgemm__split(&args, SGEMM_FORMAT_##format, panel, told, marks);                                                    \
  }
SGEMM_FORMATS(SGEMM__X)
#undef SGEMM__X

#endif /* SGEMM__WITH_TENSOR */
#endif /* SGEMM_TENSOR_CUH */
