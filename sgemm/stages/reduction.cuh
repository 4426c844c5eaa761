/* sgemm/stages/reduction.cuh: the kernels of reductions. sgemm_reduce_slab reads a slab of sums of products that the
   multiplication has left in the L2, applies the epilogue and reduces rows or columns. sgemm_reduce_parts combines its
   partial values. sgemm_reduce_tiles combines those of the multiplying kernels that reduce the rows of their tiles
   (sgemm/stages/tma_reduce.cuh, tensor_reduce.cuh). sgemm_reduce_direct multiplies too, for calls without a
   workspace. */
#ifndef SGEMM_STAGES_REDUCTION_CUH
#define SGEMM_STAGES_REDUCTION_CUH

/* Stores a result of the call. kept_index: the row or column that it belongs to, of those that the reduction keeps. */
SGEMM__DEVICE void sgemm__store_reduced(const sgemm__reduction_args *r, int64_t matrix, int64_t kept_index,
                                        const sgemm__partial *a) {
  const int64_t at = matrix * r->stride + kept_index;
  if (r->values != NULL)
    sgemm__store_global(r->values + at, r->reduction == SGEMM_REDUCTION_max ? -a->value : a->value);
  if (r->indices != NULL)
    sgemm__store_index(r->indices + at, a->index == SGEMM__NO_INDEX ? -1 : a->index);
}

SGEMM__DEVICE sgemm__partial sgemm__load_partial(const sgemm__reduction_args *r, int64_t at) {
  sgemm__partial a;
  a.value = sgemm__load_result(r->partial_values + at);
  a.index = sgemm__sums(r->reduction) ? 0 : sgemm__load_index(r->partial_indices + at);
  return a;
}

/* Stores the value of a part: as a result if it is the only part, or to the workspace. */
SGEMM__DEVICE void sgemm__store_part(const sgemm__reduction_args *r, int64_t matrix, int64_t part, int64_t kept_index,
                                     sgemm__partial *a) {
  const int64_t at = (matrix * r->parts + part) * r->part_stride + kept_index;
  if (r->partial_values == NULL) {
    sgemm__store_reduced(r, matrix, kept_index, a);
    return;
  }
  if (r->accumulates) {
    sgemm__partial earlier = sgemm__load_partial(r, at);
    sgemm__combine(r->reduction, &earlier, a);
    *a = earlier;
  }
  sgemm__store_global(r->partial_values + at, a->value);
  if (!sgemm__sums(r->reduction))
    sgemm__store_index(r->partial_indices + at, a->index);
}

/* ---- A thread's vectors ------------------------------------------------------------------------------------------ */

/* Threads load vectors of 4 columns. 2^log2_lanes neighbouring threads, a row group, load neighbouring vectors of a
   row. A thread has a partial value for each of its 4 columns.
     row_thread, row_threads  number of the thread in its row group; threads of a row group
     row_group, row_groups    number of the thread's row group in the block; row groups of a block */
typedef struct sgemm__reduction_thread {
  int row_thread, row_threads, row_group, row_groups;
  float value[4];
  int index[4];
} sgemm__reduction_thread;

SGEMM__DEVICE sgemm__reduction_thread sgemm__reduction_thread_of(const sgemm__reduction_args *r, int threads) {
  const int has_elements = (r->along_n ? r->gemm.n : r->gemm.m) > 0;
  sgemm__reduction_thread own;
  int v;
  own.row_threads = 1 << r->log2_lanes;
  own.row_groups = threads >> r->log2_lanes;
  own.row_thread = sgemm__thread() & (own.row_threads - 1);
  own.row_group = sgemm__thread() >> r->log2_lanes;
  SGEMM__UNROLL
  for (v = 0; v < 4; v++) {
    own.value[v] = sgemm__value_of_none(r->reduction);
    own.index[v] = has_elements ? 0 : SGEMM__NO_SLAB_INDEX;
  }
  return own;
}

/* Applies the epilogue to a vector of sums, stores D and aux where the call has them, and adds the elements to the
   partial values. number: that of the epilogue. */
SGEMM__DEVICE void sgemm__reduce_vector(const sgemm__reduction_args *r, int number, uint32_t reads,
                                        const sgemm__scalars *scalars, const sgemm__result_vector *at,
                                        const float *sums, sgemm__reduction_thread *own) {
  const int first = (int)(r->along_n ? at->col : at->row);
  float result[4] = {0.0f}, aux[4];
  int v;
  sgemm__evaluate_vector(&r->gemm, number, reads, scalars, 4, at, sums, result, aux);
  if (r->D != NULL)
    sgemm__store_values(r->D + at->matrix * r->stride_d + at->row * r->ldd + at->col, result, 4, at->exist);
  if (reads & SGEMM_READS_aux)
    sgemm__store_aux(&r->gemm, 4, at, aux);
  if (at->exist < 4) {
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      if (v >= at->exist)
        result[v] = sgemm__neutral_element(r->reduction);
  }
  sgemm__add_elements(r->reduction, 4, 4, result, first, r->along_n, 0, own->value, own->index);
}

/* partial value 0 <- the value of a row, from the 4 of each thread of its row group; the order of the sums is fixed.
   All threads of the block call it. */
SGEMM__DEVICE void sgemm__combine_row_threads(const sgemm__reduction_args *r, sgemm__reduction_thread *own) {
  float words[4] = {0.0f};
  int mask, v;
  SGEMM__UNROLL
  for (v = 1; v < 4; v++)
    sgemm__combine_value(r->reduction, own->value, own->index, own->value[v], own->index[v]);
  for (mask = 1; mask < own->row_threads; mask *= 2) {
    words[0] = own->value[0];
    words[1] = sgemm__float_of((uint32_t)own->index[0]);
    sgemm__shuffle_xor4(words, mask);
    sgemm__combine_value(r->reduction, own->value, own->index, words[0], (int)sgemm__bits_of(words[1]));
  }
}

/* partial value 0 <- the value of column `thread` of the first 4 * row_threads, from those of all row groups, in order.
   shared: 8 floats for each thread. All threads of the block call it. */
SGEMM__DEVICE void sgemm__combine_row_groups(const sgemm__reduction_args *r, sgemm__reduction_thread *own,
                                             float *shared, int threads) {
  const int thread = sgemm__thread(), columns = 4 * own->row_threads;
  float *indices = shared + 4 * threads;
  int group, v;
  SGEMM__UNROLL
  for (v = 0; v < 4; v++) {
    sgemm__store_shared(shared + 4 * thread + v, own->value[v]);
    sgemm__store_shared(indices + 4 * thread + v, sgemm__float_of((uint32_t)own->index[v]));
  }
  sgemm__barrier();
  own->value[0] = sgemm__value_of_none(r->reduction);
  own->index[0] = SGEMM__NO_SLAB_INDEX;
  for (group = 0; group < own->row_groups && thread < columns; group++)
    sgemm__combine_value(r->reduction, own->value, own->index, sgemm__load_shared(shared + group * columns + thread),
                         (int)sgemm__bits_of(sgemm__load_shared(indices + group * columns + thread)));
}

/* Combines the partial values of the block's threads and stores them. kept_index: the block's first row or column. */
SGEMM__DEVICE void sgemm__store_parts(const sgemm__reduction_args *r, int64_t matrix, int64_t part, int64_t kept_index,
                                      sgemm__reduction_thread *own, float *shared, int threads) {
  const int64_t at = kept_index + (r->along_n ? own->row_group : sgemm__thread());
  sgemm__partial sum;
  if (r->along_n)
    sgemm__combine_row_threads(r, own);
  else
    sgemm__combine_row_groups(r, own, shared, threads);
  sum.value = own->value[0];
  sum.index = own->index[0] == SGEMM__NO_SLAB_INDEX ? SGEMM__NO_INDEX : r->first + own->index[0];
  if (r->along_n ? own->row_thread == 0 && at < r->gemm.m : sgemm__thread() < 4 * own->row_threads && at < r->gemm.n)
    sgemm__store_part(r, matrix, part, at, &sum);
}

/* ---- Reduce a slab ----------------------------------------------------------------------------------------------- */

/* What a block reduces: one part of the rows of its row groups (along_n), or one part of 4 * row_threads columns. */
typedef struct sgemm__part {
  int64_t matrix, part, kept_index; /* kept_index: the first row or column */
  int first, end;                   /* vectors of a row, or rows: first to end - 1 */
} sgemm__part;

SGEMM__DEVICE sgemm__part sgemm__part_of(const sgemm__reduction_args *r, const sgemm__reduction_thread *own) {
  const int length = (int)(r->along_n ? (r->gemm.n + 3) / 4 : r->gemm.m);
  sgemm__part t;
  t.matrix = sgemm__block_yz();
  t.part = sgemm__block_x() % (uint32_t)r->parts;
  t.kept_index = (int64_t)(sgemm__block_x() / (uint32_t)r->parts) *
                 (r->along_n ? own->row_groups : 4 * own->row_threads);
  t.first = (int)(t.part * r->per_part);
  t.end = sgemm__clip(t.first + r->per_part, length);
  return t;
}

/* The vector that a thread reduces, and its step to the next one. */
typedef struct sgemm__part_position {
  int i, end;        /* number of the vector in the row, or number of the row; the first that is not the thread's */
  int row, col;      /* row and column of the vector's first element in the slab */
  const float *from; /* the vector in the slab */
  int step;          /* i of the next vector minus i */
  int row_step, col_step; /* rows and columns from the vector to the next */
  int64_t floats;         /* floats from the vector to the next */
} sgemm__part_position;

SGEMM__DEVICE sgemm__part_position sgemm__part_position_of(const sgemm__reduction_args *r, const sgemm__part *t,
                                                           const sgemm__reduction_thread *own) {
  const sgemm__args *p = &r->gemm;
  sgemm__part_position w;
  w.i = t->first + (r->along_n ? own->row_thread : own->row_group);
  w.row = r->along_n ? (int)t->kept_index + own->row_group : w.i;
  w.col = r->along_n ? 4 * w.i : (int)t->kept_index + 4 * own->row_thread;
  w.step = r->along_n ? own->row_threads : own->row_groups;
  w.row_step = r->along_n ? 0 : w.step;
  w.col_step = r->along_n ? 4 * w.step : 0;
  w.floats = r->along_n ? w.col_step : w.row_step * p->ldc;
  w.from = p->C + t->matrix * p->stride_c + w.row * p->ldc + w.col;
  w.end = w.row < (int)p->m && w.col < (int)p->n ? t->end : 0; /* none beyond the last row or column that is kept */
  return w;
}

/* Reduces the thread's vectors of a part. number, reads: literals. The sums of the next vector are loaded before those
   of this one are used. A slab's rows are whole vectors; columns beyond the last are loaded, not used. */
SGEMM__DEVICE void sgemm__reduce_any_part(const sgemm__reduction_args *r, int number, uint32_t reads,
                                          const sgemm__part *t, sgemm__reduction_thread *own) {
  const sgemm__args *p = &r->gemm;
  const sgemm__scalars scalars = sgemm__scalars_of(p);
  sgemm__part_position w = sgemm__part_position_of(r, t, own);
  float sums[4] = {0.0f}, next[4] = {0.0f};
  int v;
  if (w.i < w.end)
    sgemm__load_result4(sums, w.from);
  sgemm__converge();
  for (; w.i < w.end; w.i += w.step, w.row += w.row_step, w.col += w.col_step) {
    const sgemm__result_vector at = {t->matrix, w.row, w.col, sgemm__clip((int)p->n - w.col, 4)};
    w.from += w.floats;
    if (w.i + w.step < w.end)
      sgemm__load_result4(next, w.from);
    sgemm__converge();
    sgemm__reduce_vector(r, number, reads, &scalars, &at, sums, own);
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      sums[v] = next[v];
  }
}

/* 1 for calls in which no vector needs a test: all columns are in whole vectors, the epilogue reads sums and vectors
   alone, the scalars are on the host, and nothing is stored. reads: a literal. */
SGEMM__DEVICE int sgemm__is_plain_reduction(const sgemm__reduction_args *r, uint32_t reads) {
  const sgemm__epilogue_args *e = &r->gemm.epilogue;
  return !(reads & (SGEMM_READS_c | SGEMM_READS_e | SGEMM_READS_aux)) && r->D == NULL && e->alpha == NULL &&
         e->beta == NULL && r->gemm.beta == 0.0f && r->gemm.n % 4 == 0 && (uintptr_t)e->vec_n % 16 == 0 &&
         e->stride_vec_n % 4 == 0;
}

/* sgemm__reduce_any_part() for plain reductions, with half of the instructions (docs/notebook/reductions.md). */
SGEMM__DEVICE void sgemm__reduce_plain_part(const sgemm__reduction_args *r, int number, uint32_t reads,
                                            const sgemm__part *t, sgemm__reduction_thread *own) {
  const sgemm__epilogue_args *e = &r->gemm.epilogue;
  const uint32_t vectors = SGEMM_READS_vec_m | SGEMM_READS_vec_n | SGEMM_READS_bias;
  const int has_m = (reads & vectors) && e->vec_m != NULL, has_n = (reads & vectors) && e->vec_n != NULL;
  /* Without a vector its address is any: it is not read. */
  const float *vec_m = has_m ? e->vec_m + t->matrix * e->stride_vec_m : r->gemm.C;
  const float *vec_n = has_n ? e->vec_n + t->matrix * e->stride_vec_n : r->gemm.C;
  sgemm__epilogue_values values = sgemm__epilogue_values_of(e, e->col_major);
  sgemm__part_position w = sgemm__part_position_of(r, t, own);
  float next[4] = {0.0f}, along_m = 0.0f, along_n[4] = {0.0f}, result[4];
  int v;
  if (w.i < w.end)
    sgemm__load_result4(next, w.from);
  sgemm__converge();
  for (; w.i < w.end; w.i += w.step, w.row += w.row_step, w.col += w.col_step) {
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      values.sum[v] = r->gemm.alpha * next[v];
    w.from += w.floats;
    if (w.i + w.step < w.end)
      sgemm__load_result4(next, w.from);
    sgemm__converge();
    if (has_m)
      along_m = sgemm__load_global(vec_m + w.row);
    if (has_n)
      sgemm__load_global4(along_n, vec_n + w.col);
    sgemm__converge();
    sgemm__set_biases(e->col_major, along_m, along_n, 4, &values);
    values.row = e->row + w.row;
    values.col = e->col + w.col;
    sgemm__evaluate(number, 4, &values, result);
    sgemm__add_elements(r->reduction, 4, 4, result, r->along_n ? w.col : w.row, r->along_n, 0, own->value, own->index);
  }
}

SGEMM__DEVICE void sgemm__reduce_part(const sgemm__reduction_args *r, int number, uint32_t reads, const sgemm__part *t,
                                      sgemm__reduction_thread *own) {
  if (sgemm__is_plain_reduction(r, reads))
    sgemm__reduce_plain_part(r, number, reads, t, own);
  else
    sgemm__reduce_any_part(r, number, reads, t, own);
}

/* A block reduces one part. The loop over its vectors is there for each epilogue, because one loop with all of them has
   four times the instructions for an element, and the L2 delivers sums faster than they are issued. */
SGEMM__DEVICE void sgemm__reduce_slab(const sgemm__reduction_args *r, float *shared, int threads) {
  sgemm__reduction_thread own = sgemm__reduction_thread_of(r, threads);
  const sgemm__part t = sgemm__part_of(r, &own);
  sgemm__pdl_wait();
  if (t.matrix >= r->gemm.batch)
    return;
  switch (r->gemm.epilogue.number) {
#define SGEMM__X(name, reads, expression, what)                                                                        \
  case SGEMM_EPILOGUE_##name:                                                                                          \
    sgemm__reduce_part(r, SGEMM_EPILOGUE_##name, SGEMM__MASK reads, &t, &own);                                         \
    break;
    SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X
  }
  sgemm__store_parts(r, t.matrix, t.part, t.kept_index, &own, shared, threads);
}

/* ---- Combine parts ----------------------------------------------------------------------------------------------- */

/* Combines the parts of a row or column in order; a thread has one. */
SGEMM__DEVICE void sgemm__reduce_all_parts(const sgemm__reduction_args *r, int threads) {
  const int64_t kept_index = (int64_t)sgemm__block_x() * threads + sgemm__thread(), matrix = sgemm__block_yz();
  sgemm__partial a;
  int part;
  sgemm__pdl_wait();
  if (kept_index >= (r->along_n ? r->gemm.m : r->gemm.n) || matrix >= r->gemm.batch)
    return;
  a.value = sgemm__value_of_none(r->reduction);
  a.index = SGEMM__NO_INDEX;
  for (part = 0; part < r->parts; part++) {
    const sgemm__partial b = sgemm__load_partial(r, (matrix * r->parts + part) * r->part_stride + kept_index);
    sgemm__combine(r->reduction, &a, &b);
  }
  sgemm__store_reduced(r, matrix, kept_index, &a);
}

/* ---- Combine tiles ----------------------------------------------------------------------------------------------- */

/* Combines the partial values of the tiles of a row; a warp has one row. Each lane combines those of every 32nd tile,
   then the lanes combine theirs, in a fixed order. */
SGEMM__DEVICE void sgemm__reduce_tiles(const sgemm__tile_reduction_args *r, int threads) {
  const sgemm__args *p = &r->slab.gemm;
  const int64_t row = ((int64_t)sgemm__block_x() * threads + sgemm__thread()) / 32; /* among those of all matrices */
  const int lane = sgemm__thread() % 32, reduction = r->slab.reduction;
  float value = sgemm__value_of_none(reduction), words[4] = {0.0f};
  int index = SGEMM__NO_SLAB_INDEX, mask, part, parts, strict;
  const float *from;
  sgemm__partial sum;
  sgemm__pdl_wait();
  if (row >= p->m * p->batch)
    return;
  strict = p->fallback_reason != NULL && *p->fallback_reason != 0;
  parts = strict ? r->fallback_parts : r->slab.parts;
  from = (strict ? r->fallback : r->tiles) + 2 * row * parts;
  for (part = lane; part < parts; part += 32)
    sgemm__combine_value(reduction, &value, &index, sgemm__load_result(from + 2 * part),
                         (int)sgemm__bits_of(sgemm__load_result(from + 2 * part + 1)));
  sgemm__converge();
  SGEMM__UNROLL
  for (mask = 1; mask < 32; mask *= 2) {
    words[0] = value;
    words[1] = sgemm__float_of((uint32_t)index);
    sgemm__shuffle_xor4(words, mask);
    sgemm__combine_value(reduction, &value, &index, words[0], (int)sgemm__bits_of(words[1]));
  }
  if (lane > 0)
    return;
  if (!sgemm__sums(reduction)) /* a slab has columns, so that each row has an index */
    index += (int)r->slab.first;
  if (r->slab.accumulates)
    sgemm__combine_value(reduction, &value, &index, sgemm__load_result(r->earlier + 2 * row),
                         (int)sgemm__bits_of(sgemm__load_result(r->earlier + 2 * row + 1)));
  sum.value = value;
  sum.index = index;
  if (r->ends)
    sgemm__store_reduced(&r->slab, row / p->m, row % p->m, &sum);
  else
    sgemm__store_tile_value(r->earlier, row, value, index);
}

/* ---- Multiply and reduce, without a workspace -------------------------------------------------------------------- */

/* Loads SGEMM__DIRECT_TILE rows (of op(A), or columns of op(B)) of SGEMM__DIRECT_K k to shared memory, k by k. Elements
   outside are zeros. rows, k: those that exist. by_row: 1 if neighbours in memory are neighbours along k. */
SGEMM__DEVICE void sgemm__load_operand_tile(float *tile, const float *p, int64_t ld, int by_row, int64_t rows,
                                            int64_t k, int threads) {
  int i;
  for (i = sgemm__thread(); i < SGEMM__DIRECT_TILE * SGEMM__DIRECT_K; i += threads) {
    const int row = by_row ? i / SGEMM__DIRECT_K : i % SGEMM__DIRECT_TILE;
    const int step = by_row ? i % SGEMM__DIRECT_K : i / SGEMM__DIRECT_TILE;
    const int inside = row < rows && step < k;
    float x = 0.0f;
    if (inside)
      x = sgemm__load_global(p + (by_row ? row * ld + step : step * ld + row));
    sgemm__store_shared(tile + step * SGEMM__DIRECT_TILE + row, x);
  }
}

/* sums[row][col] <- op(A) * op(B) for the tile at (row, col) of a matrix. A thread computes 4 x 4 elements. operands:
   shared memory for the two tiles; sums too. */
SGEMM__DEVICE void sgemm__multiply_direct(const sgemm__args *p, int64_t matrix, int64_t row, int64_t col,
                                          float *operands, float *sums, int threads) {
  float *a = operands, *b = operands + SGEMM__DIRECT_TILE * SGEMM__DIRECT_K;
  const float *A = p->A + matrix * p->stride_a + row * (p->trans_a ? 1 : p->lda);
  const float *B = p->B + matrix * p->stride_b + col * (p->trans_b ? p->ldb : 1);
  const int own_row = sgemm__thread() / 16 * 4, own_col = sgemm__thread() % 16 * 4;
  float acc[16] = {0.0f}, x[4], y[4];
  int64_t k;
  int step, i, j;
  for (k = 0; k < p->k; k += SGEMM__DIRECT_K) {
    sgemm__load_operand_tile(a, A + k * (p->trans_a ? p->lda : 1), p->lda, !p->trans_a, p->m - row, p->k - k, threads);
    sgemm__load_operand_tile(b, B + k * (p->trans_b ? 1 : p->ldb), p->ldb, p->trans_b, p->n - col, p->k - k, threads);
    sgemm__barrier();
    SGEMM__UNROLL_BY(4)
    for (step = 0; step < SGEMM__DIRECT_K; step++) {
      sgemm__load_shared4(x, a + step * SGEMM__DIRECT_TILE + own_row);
      sgemm__load_shared4(y, b + step * SGEMM__DIRECT_TILE + own_col);
      SGEMM__UNROLL
      for (i = 0; i < 4; i++) {
        SGEMM__UNROLL
        for (j = 0; j < 4; j++)
          acc[4 * i + j] = sgemm__fma(x[i], y[j], acc[4 * i + j]);
      }
    }
    sgemm__barrier();
  }
  SGEMM__UNROLL
  for (i = 0; i < 4; i++)
    sgemm__store_shared4(sums + (own_row + i) * SGEMM__DIRECT_TILE + own_col, acc + 4 * i);
  sgemm__barrier();
}

/* A block owns SGEMM__DIRECT_TILE rows, or columns, of the result, and computes all tiles along the other direction.
   Each tile goes to shared memory, from which threads take vectors as from a slab: each row group has a row of the
   tile, or the threads of a row group have all of its columns. sums: SGEMM__DIRECT_TILE squared floats, at least 8 for
   each thread. */
SGEMM__DEVICE void sgemm__reduce_direct(const sgemm__reduction_args *r, float *operands, float *sums, int threads) {
  const sgemm__args *p = &r->gemm;
  const int64_t matrix = sgemm__block_yz(), kept_index = (int64_t)sgemm__block_x() * SGEMM__DIRECT_TILE;
  const int64_t length = r->along_n ? p->n : p->m;
  sgemm__reduction_thread own = sgemm__reduction_thread_of(r, threads);
  const int end = r->along_n ? SGEMM__DIRECT_TILE / 4 : SGEMM__DIRECT_TILE,
            step = r->along_n ? own.row_threads : own.row_groups;
  sgemm__scalars scalars;
  int64_t first;
  int i;
  sgemm__pdl_wait();
  if (matrix >= p->batch)
    return;
  scalars = sgemm__scalars_of(p);
  for (first = 0; first < length; first += SGEMM__DIRECT_TILE) {
    const int64_t row = r->along_n ? kept_index : first, col = r->along_n ? first : kept_index;
    sgemm__multiply_direct(p, matrix, row, col, operands, sums, threads);
    for (i = r->along_n ? own.row_thread : own.row_group; i < end; i += step) {
      const int tile_row = r->along_n ? own.row_group : i, tile_col = 4 * (r->along_n ? i : own.row_thread);
      const sgemm__result_vector at = sgemm__result_vector_at(p, matrix, row + tile_row, col + tile_col, 4);
      float vector[4];
      sgemm__load_shared4(vector, sums + tile_row * SGEMM__DIRECT_TILE + tile_col);
      if (at.exist > 0)
        sgemm__reduce_vector(r, p->epilogue.number, p->epilogue.reads, &scalars, &at, vector, &own);
    }
    sgemm__barrier();
  }
  sgemm__store_parts(r, matrix, 0, kept_index, &own, sums, threads);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

SGEMM__GLOBAL(sgemm_reduce_slab, SGEMM__REDUCTION_THREADS, 4, sgemm__reduction_args) {
  SGEMM__SHARED(shared, 8 * SGEMM__REDUCTION_THREADS);
  sgemm__reduce_slab(&args, shared, SGEMM__REDUCTION_THREADS);
}

SGEMM__GLOBAL(sgemm_reduce_parts, SGEMM__REDUCTION_THREADS, 8, sgemm__reduction_args) {
  sgemm__reduce_all_parts(&args, SGEMM__REDUCTION_THREADS);
}

SGEMM__GLOBAL(sgemm_reduce_tiles, SGEMM__REDUCTION_THREADS, 8, sgemm__tile_reduction_args) {
  sgemm__reduce_tiles(&args, SGEMM__REDUCTION_THREADS);
}

SGEMM__GLOBAL(sgemm_reduce_direct, SGEMM__REDUCTION_THREADS, 4, sgemm__reduction_args) {
  SGEMM__SHARED(operands, 2 * SGEMM__DIRECT_TILE * SGEMM__DIRECT_K);
  SGEMM__SHARED(sums, SGEMM__DIRECT_TILE * SGEMM__DIRECT_TILE);
  sgemm__reduce_direct(&args, operands, sums, SGEMM__REDUCTION_THREADS);
}

#endif /* SGEMM_STAGES_REDUCTION_CUH */
