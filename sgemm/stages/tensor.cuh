/* sgemm/stages/tensor.cuh: tensor modes: work units, guard, block scales and epilogue of the engines wgmma and mma. */
#ifndef SGEMM_STAGES_TENSOR_CUH
#define SGEMM_STAGES_TENSOR_CUH

/* The columns of a variant of SGEMM_TENSOR_VARIANTS. After inlining each member is a constant. */
typedef struct sgemm__tensor_shape {
  int format, BM, BN, WN, k_blocks, sets, bufs;
  int reduces; /* 1: the kernel reduces the rows of its tiles and stores no results */
} sgemm__tensor_shape;

/* A work unit: a tile of C over one split-K partition. Persistent block w of `blocks` computes units w, w + blocks, w +
   2 blocks and so on. Units are numbered by tile in raster order, then by partition, then by matrix of the batch. */
typedef struct sgemm__tensor_unit {
  int64_t row, col;         /* first row and column of the tile in C */
  int64_t batch, partition; /* matrix of the batch; split-K partition, 0 to split_k - 1 */
  int64_t begin, end;       /* k-blocks begin to end - 1 */
} sgemm__tensor_unit;

/* Number of work units. */
SGEMM__DEVICE int64_t sgemm__tensor_units(const sgemm__tensor_args *args) {
  const sgemm__args *p = &args->gemm;
  return (int64_t)p->tiles_m * p->tiles_n * args->split_k * p->batch;
}

/* Work unit number w. */
SGEMM__DEVICE sgemm__tensor_unit sgemm__tensor_unit_at(const sgemm__tensor_args *args, const sgemm__tensor_shape *s,
                                                       int64_t w) {
  const sgemm__args *p = &args->gemm;
  const int64_t tiles = (int64_t)p->tiles_m * p->tiles_n, k_blocks = SGEMM__K_BLOCKS(p->k);
  const sgemm__tile_coord at = sgemm__rasterize(p, (uint32_t)(w % tiles));
  sgemm__tensor_unit unit;
  unit.row = (int64_t)at.row * s->BM;
  unit.col = (int64_t)at.col * s->BN;
  unit.partition = w / tiles % args->split_k;
  unit.batch = w / tiles / args->split_k;
  unit.begin = unit.partition * (args->k_per_split / SGEMM__K_BLOCK);
  unit.end = unit.begin + args->k_per_split / SGEMM__K_BLOCK;
  unit.end = unit.end < k_blocks ? unit.end : k_blocks;
  return unit;
}

/* Writes the fallback reason of a slice to the report, beside the bits of earlier slices. One thread of a launch calls
   it. */
SGEMM__DEVICE void sgemm__report(const sgemm__tensor_args *args, uint32_t fallback_reason) {
  *args->report = (args->adds_to_report ? *args->report : 0) | fallback_reason;
}

/* 1 if a multiplying kernel has no work. All threads of a block call it.
     fp16x3 has no work if slices share an operand and full range has split it: full range computes this slice too. The
     fallback reason stays that of the slice before.
     A kernel of tensor_fallback has no work if fp16x3 has computed C or strict fp32 will. Block 0 then writes the words
     that it would write after its own guard. */
SGEMM__DEVICE int sgemm__tensor_has_no_work(const sgemm__tensor_args *args, int format) {
  uint32_t first;
  if (format == SGEMM_FORMAT_fp16x3)
    return args->full_terms != NULL && *args->full_terms;
  if (args->first_reason == NULL)
    return 0;
  first = *args->first_reason;
  if (sgemm__full_range_may_compute(first))
    return 0;
  if (sgemm__thread() == 0 && sgemm__block_x() == 0) {
    *args->guard_word = first;
    *args->full_terms = 0;
    sgemm__report(args, first);
  }
  return 1;
}

/* The guard: returns the fallback reason of this format. Each block combines the flag bits of all of A and B, and block
   0 writes the reason to args->guard_word. A kernel of tensor_fallback reports the reason of fp16x3 beside its own.
   If warps left out rows, the flag bits of fp16x3 are incomplete. With spread_at the reason is SGEMM_GUARD_SPREAD alone
   after a spread, and the guard of full range finds Inf, NaN and range. The first `threads` threads of the block call
   it. words: 2 words of shared memory, 0 before the call. flags_combined: an mbarrier at which each of these warps
   arrives once. */
SGEMM__DEVICE uint32_t sgemm__guard(const sgemm__tensor_args *args, int format, uint32_t *words,
                                    sgemm__mbarrier *flags_combined, int threads) {
  const sgemm__args *p = &args->gemm;
  const int64_t scale_blocks = sgemm__scale_blocks(p->k);
  const int64_t of_a = args->a.rows / SGEMM__ROW_BLOCK * scale_blocks * args->a.batch;
  const int64_t of_b = args->b.rows / SGEMM__ROW_BLOCK * scale_blocks * args->b.batch;
  uint32_t a = 0, b = 0, fallback_reason;
  int64_t i;
  for (i = sgemm__thread(); i < of_a; i += threads)
    a |= args->a.flags[i];
  for (i = sgemm__thread(); i < of_b; i += threads)
    b |= args->b.flags[i];
  sgemm__or_shared(words, a);
  sgemm__or_shared(words + 1, b);
  sgemm__warp_barrier();
  if (sgemm__thread() % 32 == 0)
    sgemm__mbarrier_arrive(flags_combined);
  sgemm__mbarrier_wait(flags_combined, 0);
  fallback_reason = sgemm__fallback_reason(words[0], words[1]);
  if (args->spread_at != NULL && fallback_reason & SGEMM_GUARD_SPREAD)
    fallback_reason = SGEMM_GUARD_SPREAD;
  if (sgemm__thread() == 0 && sgemm__block_x() == 0) {
    *args->guard_word = fallback_reason;
    if (args->spread_at != NULL && fallback_reason == 0)
      *args->spread_at = SGEMM__NO_SPREAD;
    if (format != SGEMM_FORMAT_fp16x3 && args->first_reason != NULL) {
      *args->full_terms = 1;
      sgemm__report(args, *args->first_reason | fallback_reason | (fallback_reason == 0 ? SGEMM_GUARD_FULL_RANGE : 0));
    } else if (args->report != NULL) {
      sgemm__report(args, fallback_reason);
    }
  }
  return fallback_reason;
}

/* The position of the next k-block of a work unit in global memory. */
typedef struct sgemm__k_block_source {
  int64_t k_block, end;             /* number of the next k-block; number of the last k-block of the unit, plus 1 */
  const char *a, *b;                /* terms of the tile's rows and columns in the next k-block */
  const float *a_scales, *b_scales; /* block scales of the tile's rows and columns for the next k-block */
  const float *b_before;            /* block scales of the columns for the 128 k before */
} sgemm__k_block_source;

/* The source at the first k-block of a work unit, with b_before = b_scales. */
SGEMM__DEVICE sgemm__k_block_source sgemm__k_block_source_at(const sgemm__tensor_args *args,
                                                             const sgemm__tensor_shape *s,
                                                             const sgemm__tensor_unit *unit) {
  const sgemm__args *p = &args->gemm;
  const int row_bytes = SGEMM__ROW_BYTES(sgemm__terms(s->format)), k_blocks_per_scale = SGEMM__SCALE_K / SGEMM__K_BLOCK;
  const int64_t k_blocks = SGEMM__K_BLOCKS(p->k), scale_blocks = sgemm__scale_blocks(p->k);
  const int64_t a_batch = args->a.batch > 1 ? unit->batch : 0, b_batch = args->b.batch > 1 ? unit->batch : 0;
  sgemm__k_block_source from;
  from.k_block = unit->begin;
  from.end = unit->end;
  from.a = (const char *)args->a.data + ((a_batch * k_blocks + unit->begin) * args->a.rows + unit->row) * row_bytes;
  from.b = (const char *)args->b.data + ((b_batch * k_blocks + unit->begin) * args->b.rows + unit->col) * row_bytes;
  from.a_scales = args->a.scales + (a_batch * scale_blocks + unit->begin / k_blocks_per_scale) * args->a.rows +
                  unit->row;
  from.b_scales = args->b.scales + (b_batch * scale_blocks + unit->begin / k_blocks_per_scale) * args->b.rows +
                  unit->col;
  from.b_before = from.b_scales;
  return from;
}

/* 1 if this k-block is the first of 128 k, which have their own block scales. */
SGEMM__DEVICE int sgemm__starts_scale(int64_t k_block) { return k_block % (SGEMM__SCALE_K / SGEMM__K_BLOCK) == 0; }

/* Advances the source by one k-block. */
SGEMM__DEVICE void sgemm__k_block_source_advance(const sgemm__tensor_args *args, const sgemm__tensor_shape *s,
                                                 sgemm__k_block_source *from) {
  const int row_bytes = SGEMM__ROW_BYTES(sgemm__terms(s->format));
  if (sgemm__starts_scale(from->k_block)) {
    from->b_before = from->b_scales;
    from->a_scales += args->a.rows;
    from->b_scales += args->b.rows;
  }
  from->a += args->a.rows * row_bytes;
  from->b += args->b.rows * row_bytes;
  from->k_block++;
}

/* Multiplies accumulators by the ratio of B's old block scales to the new ones, a difference of exponents. acc: a
   thread's accumulators of 16 rows and `columns` columns, a multiple of 16, at most 128. now, before: the new and the
   old block scales of these columns in shared memory. Block scales seldom change, so groups of 16 columns with equal
   scales are skipped. */
SGEMM__DEVICE void sgemm__rescale(float *acc, int columns, const float *now, const float *before) {
  const uint32_t differ = sgemm__vectors_differ(now, before, columns / 4);
  const int own = sgemm__thread() % 4 * 4;
  float new_scale[4], old_scale[4];
  int g, j;
  if (differ == 0)
    return;
  SGEMM__UNROLL
  for (g = 0; g < columns / 16; g++) {
    if ((differ >> 4 * g & 15) == 0)
      continue;
    sgemm__load_shared4(new_scale, now + g * 16 + own);
    sgemm__load_shared4(old_scale, before + g * 16 + own);
    SGEMM__UNROLL
    for (j = 0; j < 8; j++) {
      const int col = j / 4 * 2 + j % 2;
      acc[g * 8 + j] *= sgemm__float_of(0x3f800000 + sgemm__bits_of(old_scale[col]) - sgemm__bits_of(new_scale[col]));
    }
  }
}

/* A thread's results in a tile. Its first result is element (row, col) of the matrix. */
typedef struct sgemm__tensor_results {
  int64_t row, col;
  float *C;            /* its address */
  const float *scales; /* B's last block scales, from that of its column on, see sgemm__scale_offset() */
} sgemm__tensor_results;

/* The results of a thread in the rows and columns of a tile from (tile_row, tile_col) on. */
SGEMM__DEVICE sgemm__tensor_results sgemm__tensor_results_of(const sgemm__tensor_args *args,
                                                             const sgemm__tensor_unit *unit, int tile_row,
                                                             int tile_col) {
  const sgemm__args *p = &args->gemm;
  const int lane = sgemm__thread() % 32, k_blocks_per_scale = SGEMM__SCALE_K / SGEMM__K_BLOCK;
  const int64_t row = unit->row + tile_row, col = unit->col + tile_col;
  const int64_t b_block = (args->b.batch > 1 ? unit->batch : 0) * sgemm__scale_blocks(p->k) +
                          (unit->end - 1) / k_blocks_per_scale;
  sgemm__tensor_results own;
  own.row = row + lane / 4;
  own.col = col + lane % 4 * 2;
  own.C = p->C + unit->batch * p->stride_c + unit->partition * args->split_stride + own.row * p->ldc + own.col;
  own.scales = args->b.scales + b_block * args->b.rows + col + lane % 4 * 4;
  return own;
}

/* The fast store of a thread's results in 16 rows and `columns` columns: C <- alpha * acc * block scale. All results
   lie inside C, pairs are aligned to 8 bytes and beta is 0. Lane 4r + q owns columns 2q and 2q + 1 of every 8, in rows
   r and r + 8 (PTX ISA, "Register Fragments and Shared Memory Matrix Layouts"). */
SGEMM__DEVICE void sgemm__tensor_store_full(const sgemm__args *p, const sgemm__tensor_results *own, int columns,
                                            const float *acc) {
  int g, j;
  SGEMM__UNROLL
  for (g = 0; g < columns / 16; g++) {
    float scale[4]; /* block scales of columns 2q, 2q + 1, 2q + 8, 2q + 9 */
    sgemm__load_global4(scale, own->scales + g * 16);
    SGEMM__UNROLL
    for (j = 0; j < 4; j++) { /* 4 pairs: rows r and r + 8, columns 2q and 2q + 8 */
      const float *pair = acc + g * 8 + j % 2 * 4 + j / 2 * 2, *own_scale = scale + j % 2 * 2;
      sgemm__store_global2(own->C + j / 2 * 8 * p->ldc + g * 16 + j % 2 * 8, sgemm__scale(p, pair[0] * own_scale[0]),
                           sgemm__scale(p, pair[1] * own_scale[1]));
    }
  }
}

/* Loads B's block scales of a thread's columns in the `width` columns from column `from` of the tile on: 4 of each 16
   columns. */
SGEMM__DEVICE void sgemm__tensor_load_scales(const sgemm__tensor_results *own, int from, int width, float *scale) {
  int g;
  SGEMM__UNROLL
  for (g = 0; g < width / 16; g++)
    sgemm__load_global4(scale + g * 4, own->scales + from + g * 16);
}

/* The general store of a thread's results in 16 rows and `columns` columns, for any edge, alignment and beta. Each pass
   of a loop stores the first 16 accumulators, which are those of 32 columns, and rotates the others to their place:
   registers have no index, and unrolled code would be half of the kernel (docs/notebook/compile_time.md, "The general
   store of tensor tiles"). The block scales of the next 32 columns load meanwhile. */
SGEMM__DEVICE void sgemm__tensor_store_general(const sgemm__args *p, const sgemm__tensor_results *own, int columns,
                                               float *acc) {
  const int width = columns < 32 ? columns : 32; /* columns of a pass */
  const int pairs = p->ldc % 2 == 0 && (uintptr_t)own->C % 8 == 0, reads_c = p->beta != 0.0f;
  float scale[8], next_scale[8], x[4];
  const int left = sgemm__clip(p->n - own->col, columns); /* columns of C from the thread's first one on */
  int from, g, h, j;
  sgemm__tensor_load_scales(own, 0, width, next_scale);
  SGEMM__UNROLL_BY(1)
  for (from = 0; from < columns; from += width) {
    float c[16] = {0.0f}; /* 8 pairs of C are in flight before the first is used */
    SGEMM__UNROLL
    for (j = 0; j < width / 4; j++)
      scale[j] = next_scale[j];
    if (from + width < columns)
      sgemm__tensor_load_scales(own, from + width, width, next_scale);
    if (reads_c) {
      SGEMM__UNROLL
      for (j = 0; j < width / 4; j++) {
        const int row = j / 2 % 2 * 8, at = from + j / 4 * 16 + j % 2 * 8;
        sgemm__load_first2(c + j * 2, own->C + row * p->ldc + at, own->row + row < p->m ? left - at : 0);
      }
    }
    SGEMM__UNROLL
    for (g = 0; g < width / 16; g++) {
      SGEMM__UNROLL
      for (h = 0; h < 2; h++) { /* rows r and r + 8 */
        SGEMM__UNROLL
        for (j = 0; j < 4; j++)
          x[j] = sgemm__epilogue(p, reads_c, acc[g * 8 + j / 2 * 4 + h * 2 + j % 2] * scale[g * 4 + j],
                                 c[g * 8 + h * 4 + j]);
        SGEMM__UNROLL
        for (j = 0; j < 2; j++) {
          const int at = from + g * 16 + j * 8;
          sgemm__store_first2(own->C + h * 8 * p->ldc + at, x + j * 2, pairs, own->row + h * 8 < p->m ? left - at : 0);
        }
      }
    }
    SGEMM__UNROLL
    for (j = 0; j < columns / 2 - width / 2; j++)
      acc[j] = acc[j + width / 2];
  }
}

/* Loads the biases of the columns of sgemm__tensor_load_scales(). vec_n: the element of the caller's vector for the
   thread's first column, or NULL. */
SGEMM__DEVICE void sgemm__tensor_load_biases(const sgemm__args *p, const sgemm__tensor_results *own, int from,
                                             int width, const float *vec_n, float *bias) {
  int j;
  SGEMM__UNROLL
  for (j = 0; j < width / 4; j++) {
    const int at = from + j / 4 * 16 + j % 4 / 2 * 8 + j % 2;
    bias[j] = vec_n != NULL && own->col + at < p->n ? sgemm__load_global(vec_n + at) : 0.0f;
  }
}

/* aux <- the sums and biases of `width` columns from column `from` on, the value before the function of a long
   epilogue. x: sums in the order of sgemm__tensor_store_epilogue(). left: columns of C from the thread's first one on.
   The rows of aux lie as those of C do. */
SGEMM__DEVICE void sgemm__tensor_store_aux(const sgemm__args *p, const sgemm__tensor_results *own, int from, int width,
                                           int left, const float *bias, const float *x) {
  float *aux = p->epilogue.aux + (own->C - p->C), pair[2];
  const int pairs = p->ldc % 2 == 0 && (uintptr_t)aux % 8 == 0;
  int j, v;
  SGEMM__UNROLL
  for (j = 0; j < width / 2; j += 2) {
    const int row = j / 4 % 2 * 8, at = from + j / 8 * 16 + j % 4 * 4;
    SGEMM__UNROLL
    for (v = 0; v < 2; v++)
      pair[v] = sgemm__fma(p->alpha, x[j + v], bias[j / 8 * 4 + j % 4 + v]);
    sgemm__store_first2(aux + row * p->ldc + at, pair, pairs, own->row + row < p->m ? left - at : 0);
  }
}

/* C <- the epilogue of a call that sgemm__in_registers() describes, for a thread's results in 16 rows and `columns`
   columns. full: see sgemm__tensor_store_full(). Each pass of a loop stores the results of 32 columns and rotates the
   others to their place, as in sgemm__tensor_store_general(). The block scales and biases of the next 32 columns load
   meanwhile. */
SGEMM__DEVICE void sgemm__tensor_store_epilogue(const sgemm__args *p, const sgemm__tensor_results *own, int columns,
                                                int full, float *acc) {
  const int width = columns < 32 ? columns : 32; /* columns of a pass */
  const int pairs = p->ldc % 2 == 0 && (uintptr_t)own->C % 8 == 0;
  const int left = sgemm__clip(p->n - own->col, columns); /* columns of C from the thread's first one on */
  const float *vec_n = p->epilogue.vec_n != NULL ? p->epilogue.vec_n + own->col : NULL;
  float scale[8], bias[8], next_bias[8], x[16];
  int from, j;
  sgemm__tensor_load_scales(own, 0, width, scale);
  sgemm__tensor_load_biases(p, own, 0, width, vec_n, next_bias);
  SGEMM__UNROLL_BY(1)
  for (from = 0; from < columns; from += width) {
    SGEMM__UNROLL
    for (j = 0; j < width / 2; j++) /* in each 16 columns: 4 elements of row r, 4 of row r + 8 */
      x[j] = acc[j / 8 * 8 + j % 4 / 2 * 4 + j / 4 % 2 * 2 + j % 2] * scale[j / 8 * 4 + j % 4];
    SGEMM__UNROLL
    for (j = 0; j < width / 4; j++)
      bias[j] = next_bias[j];
    if (from + width < columns) {
      sgemm__tensor_load_scales(own, from + width, width, scale);
      sgemm__tensor_load_biases(p, own, from + width, width, vec_n, next_bias);
    }
    if (p->epilogue.aux != NULL)
      sgemm__tensor_store_aux(p, own, from, width, left, bias, x);
    sgemm__evaluate_in_registers(p, SGEMM__ALL_IN_REGISTERS, bias, width / 16, 2, width / 8, x);
    if (full) {
      SGEMM__UNROLL
      for (j = 0; j < width / 2; j += 2)
        sgemm__store_global2(own->C + j / 4 % 2 * 8 * p->ldc + from + j / 8 * 16 + j % 4 * 4, x[j], x[j + 1]);
    } else {
      SGEMM__UNROLL
      for (j = 0; j < width / 2; j += 2) {
        const int row = j / 4 % 2 * 8, at = from + j / 8 * 16 + j % 4 * 4;
        sgemm__store_first2(own->C + row * p->ldc + at, x + j, pairs, own->row + row < p->m ? left - at : 0);
      }
    }
    SGEMM__UNROLL
    for (j = 0; j < columns / 2 - width / 2; j++)
      acc[j] = acc[j + width / 2];
  }
}

/* Stores a warp's results in 16 rows and `columns` columns of a tile, from (tile_row, tile_col) on. fused: 1 in engines
   that apply an epilogue. */
SGEMM__DEVICE void sgemm__tensor_store(const sgemm__tensor_args *args, const sgemm__tensor_unit *unit, int tile_row,
                                       int tile_col, int columns, int fused, float *acc) {
  const sgemm__args *p = &args->gemm;
  const sgemm__tensor_results own = sgemm__tensor_results_of(args, unit, tile_row, tile_col);
  const int inside = unit->row + tile_row + 16 <= p->m && unit->col + tile_col + columns <= p->n;
  const int full = inside && p->beta == 0.0f && p->ldc % 2 == 0 && (uintptr_t)own.C % 8 == 0;
  if (full && !(fused && p->applies_epilogue))
    sgemm__tensor_store_full(p, &own, columns, acc);
  else if (fused && p->applies_epilogue)
    sgemm__tensor_store_epilogue(p, &own, columns, full, acc);
  else
    sgemm__tensor_store_general(p, &own, columns, acc);
}

#endif /* SGEMM_STAGES_TENSOR_CUH */
