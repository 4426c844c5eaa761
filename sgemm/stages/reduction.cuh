/* sgemm/stages/reduction.cuh: the kernels of reductions. sgemm_reduce_results reads a slab of sums of products that the
   multiplication has left in the L2, applies the epilogue and reduces each row or column. sgemm_reduce_parts combines
   partial values. sgemm_reduce_direct multiplies too, for calls without a workspace. */
#ifndef SGEMM_STAGES_REDUCTION_CUH
#define SGEMM_STAGES_REDUCTION_CUH

/* ---- Partial values ---------------------------------------------------------------------------------------------- */

/* A partial value: a sum, or the key and the index of the element that wins so far. The key is the element for min and
   the negated element for max; the smallest key wins. */
typedef struct sgemm__partial {
  float value;
  int64_t index;
} sgemm__partial;

#define SGEMM__NO_INDEX ((int64_t)0x7fffffffffffffff) /* of no elements */

SGEMM__DEVICE int sgemm__sums(int reduction) { return reduction <= SGEMM_REDUCTION_sum_squares; }

SGEMM__DEVICE sgemm__partial sgemm__no_elements(int reduction) {
  sgemm__partial none;
  none.value = sgemm__sums(reduction) ? 0.0f : sgemm__float_of(0x7f800000u); /* Inf */
  none.index = SGEMM__NO_INDEX;
  return none;
}

/* 1 if element a wins over b: a NaN over a number, then the smaller key, then the lower index. */
SGEMM__DEVICE int sgemm__wins(const sgemm__partial *a, const sgemm__partial *b) {
  const int a_nan = a->value != a->value, b_nan = b->value != b->value;
  return a_nan != b_nan ? a_nan : a->value < b->value || (!(a->value > b->value) && a->index < b->index);
}

/* a <- a and b. */
SGEMM__DEVICE void sgemm__combine(int reduction, sgemm__partial *a, const sgemm__partial *b) {
  if (sgemm__sums(reduction))
    a->value += b->value;
  else if (sgemm__wins(b, a))
    *a = *b;
}

/* a <- a and the element x. */
SGEMM__DEVICE void sgemm__combine_element(int reduction, sgemm__partial *a, float x, int64_t index) {
  sgemm__partial b;
  b.value = reduction == SGEMM_REDUCTION_sum_squares ? x * x : reduction == SGEMM_REDUCTION_max ? -x : x;
  b.index = index;
  sgemm__combine(reduction, a, &b);
}

/* An index in memory is 8 bytes, the low word first. */
SGEMM__DEVICE void sgemm__store_index(int64_t *p, int64_t index) {
  sgemm__store_global2((float *)p, sgemm__float_of((uint32_t)index),
                       sgemm__float_of((uint32_t)((uint64_t)index >> 32)));
}
SGEMM__DEVICE int64_t sgemm__load_index(const int64_t *p) {
  const uint64_t low = sgemm__bits_of(sgemm__load_result((const float *)p));
  return (int64_t)(low | (uint64_t)sgemm__bits_of(sgemm__load_result((const float *)p + 1)) << 32);
}

/* Stores a result of the call: number `kept` of a matrix. */
SGEMM__DEVICE void sgemm__store_reduced(const sgemm__reduction_args *r, int64_t matrix, int64_t kept,
                                        const sgemm__partial *a) {
  const int64_t at = matrix * r->stride + kept;
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
SGEMM__DEVICE void sgemm__store_part(const sgemm__reduction_args *r, int64_t matrix, int64_t part, int64_t kept,
                                     sgemm__partial *a) {
  const int64_t at = (matrix * r->parts + part) * r->part_stride + kept;
  a->index += a->index != SGEMM__NO_INDEX ? r->first : 0;
  if (r->partial_values == NULL) {
    sgemm__store_reduced(r, matrix, kept, a);
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

/* Threads load vectors of 4 columns. 2^log2_lanes neighbouring threads, the lanes, load neighbouring vectors of a row.
   The lanes of one row are a group. Each thread has a partial value for each of its 4 columns. */
typedef struct sgemm__reduction_thread {
  int lane, lanes, group, groups;
  sgemm__partial partial[4];
} sgemm__reduction_thread;

SGEMM__DEVICE sgemm__reduction_thread sgemm__reduction_thread_of(const sgemm__reduction_args *r, int threads) {
  sgemm__reduction_thread own;
  int v;
  own.lanes = 1 << r->log2_lanes;
  own.groups = threads >> r->log2_lanes;
  own.lane = sgemm__thread() & (own.lanes - 1);
  own.group = sgemm__thread() >> r->log2_lanes;
  SGEMM__UNROLL
  for (v = 0; v < 4; v++)
    own.partial[v] = sgemm__no_elements(r->reduction);
  return own;
}

/* Applies the epilogue to a vector of sums, stores what is to be stored, and adds the elements to the partial values.
   The indices are those in the slab. */
SGEMM__DEVICE void sgemm__reduce_vector(const sgemm__reduction_args *r, const sgemm__result_vector *at,
                                        const float *sums, sgemm__partial *partial) {
  float result[4] = {0.0f}, aux[4];
  int v;
  sgemm__evaluate_vector(&r->gemm, 4, at, sums, result, aux);
  if (r->D != NULL)
    sgemm__store_values(r->D + at->matrix * r->stride_d + at->row * r->ldd + at->col, result, 4, at->exist);
  sgemm__store_aux(&r->gemm, 4, at, aux);
  SGEMM__UNROLL
  for (v = 0; v < 4; v++)
    if (v < at->exist)
      sgemm__combine_element(r->reduction, &partial[v], result[v], r->along_n ? at->col + v : at->row);
}

/* Combines the 4 partial values of the threads of a row's lanes. Lane 0 has the row's value in partial[0]; the order of
   the sums is fixed. All threads of the block call it. */
SGEMM__DEVICE void sgemm__combine_lanes(const sgemm__reduction_args *r, sgemm__reduction_thread *own) {
  sgemm__partial *sum = &own->partial[0], other;
  float words[4] = {0.0f};
  int mask, v;
  SGEMM__UNROLL
  for (v = 1; v < 4; v++)
    sgemm__combine(r->reduction, sum, &own->partial[v]);
  for (mask = 1; mask < own->lanes; mask *= 2) {
    words[0] = sum->value;
    words[1] = sgemm__float_of((uint32_t)sum->index);
    words[2] = sgemm__float_of((uint32_t)((uint64_t)sum->index >> 32));
    sgemm__shuffle_xor4(words, mask);
    other.value = words[0];
    other.index = (int64_t)(sgemm__bits_of(words[1]) | (uint64_t)sgemm__bits_of(words[2]) << 32);
    sgemm__combine(r->reduction, sum, &other);
  }
}

/* Combines the partial values of a column over the groups, in order. shared: 12 floats for each thread. All threads of
   the block call it; the first 4 * lanes have the columns' values in partial[0]. */
SGEMM__DEVICE void sgemm__combine_groups(const sgemm__reduction_args *r, sgemm__reduction_thread *own, float *shared) {
  const int thread = sgemm__thread(), columns = 4 * own->lanes;
  float *value = shared, *low = shared + 4 * SGEMM__REDUCTION_THREADS, *high = low + 4 * SGEMM__REDUCTION_THREADS;
  int group, v;
  SGEMM__UNROLL
  for (v = 0; v < 4; v++) {
    sgemm__store_shared(value + 4 * thread + v, own->partial[v].value);
    sgemm__store_shared(low + 4 * thread + v, sgemm__float_of((uint32_t)own->partial[v].index));
    sgemm__store_shared(high + 4 * thread + v, sgemm__float_of((uint32_t)((uint64_t)own->partial[v].index >> 32)));
  }
  sgemm__barrier();
  own->partial[0] = sgemm__no_elements(r->reduction);
  if (thread < columns)
    for (group = 0; group < own->groups; group++) {
      sgemm__partial other;
      other.value = sgemm__load_shared(value + group * columns + thread);
      other.index = (int64_t)(sgemm__bits_of(sgemm__load_shared(low + group * columns + thread)) |
                              (uint64_t)sgemm__bits_of(sgemm__load_shared(high + group * columns + thread)) << 32);
      sgemm__combine(r->reduction, &own->partial[0], &other);
    }
}

/* Combines the partial values of the block's threads and stores them. kept: the block's first row or column; for rows,
   the first of its groups. */
SGEMM__DEVICE void sgemm__store_parts(const sgemm__reduction_args *r, int64_t matrix, int64_t part, int64_t kept,
                                      sgemm__reduction_thread *own, float *shared) {
  const int thread = sgemm__thread();
  if (r->along_n) {
    sgemm__combine_lanes(r, own);
    if (own->lane == 0 && kept + own->group < r->gemm.m)
      sgemm__store_part(r, matrix, part, kept + own->group, &own->partial[0]);
  } else {
    sgemm__combine_groups(r, own, shared);
    if (thread < 4 * own->lanes && kept + thread < r->gemm.n)
      sgemm__store_part(r, matrix, part, kept + thread, &own->partial[0]);
  }
}

/* ---- Reduce a slab ----------------------------------------------------------------------------------------------- */

/* A block reduces one part of the rows of its groups, or of 4 columns for each lane. */
SGEMM__DEVICE void sgemm__reduce_slab(const sgemm__reduction_args *r, float *shared, int threads) {
  const sgemm__args *p = &r->gemm;
  sgemm__reduction_thread own = sgemm__reduction_thread_of(r, threads);
  const int64_t part = sgemm__block_x() % (uint32_t)r->parts, block = sgemm__block_x() / (uint32_t)r->parts;
  const int64_t matrix = sgemm__block_yz(), kept = block * (r->along_n ? own.groups : 4 * own.lanes);
  const int64_t length = r->along_n ? (p->n + 3) / 4 : p->m, first = part * r->per_part;
  const int64_t end = first + r->per_part < length ? first + r->per_part : length;
  const int step = r->along_n ? own.lanes : own.groups;
  int64_t i;
  sgemm__pdl_wait();
  if (matrix >= p->batch)
    return;
  for (i = first + (r->along_n ? own.lane : own.group); i < end; i += step) {
    const sgemm__result_vector at = r->along_n ? sgemm__result_vector_at(p, matrix, kept + own.group, 4 * i, 4)
                                               : sgemm__result_vector_at(p, matrix, i, kept + 4 * own.lane, 4);
    float sums[4] = {0.0f};
    if (at.exist > 0) {
      sgemm__load_values(sums, p->C + at.matrix * p->stride_c + at.row * p->ldc + at.col, 4, at.exist);
      sgemm__reduce_vector(r, &at, sums, own.partial);
    }
  }
  sgemm__store_parts(r, matrix, part, kept, &own, shared);
}

/* ---- Combine parts ----------------------------------------------------------------------------------------------- */

/* Combines the parts of a row or column in order; a thread has one. */
SGEMM__DEVICE void sgemm__reduce_all_parts(const sgemm__reduction_args *r, int threads) {
  const int64_t kept = (int64_t)sgemm__block_x() * threads + sgemm__thread(), matrix = sgemm__block_yz();
  sgemm__partial a = sgemm__no_elements(r->reduction);
  int part;
  sgemm__pdl_wait();
  if (kept >= (r->along_n ? r->gemm.m : r->gemm.n) || matrix >= r->gemm.batch)
    return;
  for (part = 0; part < r->parts; part++) {
    const sgemm__partial b = sgemm__load_partial(r, (matrix * r->parts + part) * r->part_stride + kept);
    sgemm__combine(r->reduction, &a, &b);
  }
  sgemm__store_reduced(r, matrix, kept, &a);
}

/* ---- Multiply and reduce, without a workspace --------------------------------------------------------------------- */

/* Loads SGEMM__DIRECT_TILE rows (of op(A), or columns of op(B)) of SGEMM__DIRECT_K k to shared memory, k by k. Elements
   outside are zeros. rows, k: those that exist. by_row: 1 if neighbours in memory are neighbours along k. */
SGEMM__DEVICE void sgemm__load_direct(float *tile, const float *p, int64_t ld, int by_row, int64_t rows, int64_t k,
                                      int threads) {
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
    sgemm__load_direct(a, A + k * (p->trans_a ? p->lda : 1), p->lda, !p->trans_a, p->m - row, p->k - k, threads);
    sgemm__load_direct(b, B + k * (p->trans_b ? 1 : p->ldb), p->ldb, p->trans_b, p->n - col, p->k - k, threads);
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
   Each tile goes to shared memory, from which threads take vectors as from a slab: each group has a row of the tile, or
   the lanes have all of its columns. sums: SGEMM__DIRECT_TILE squared floats, at least 12 for each thread. */
SGEMM__DEVICE void sgemm__reduce_direct(const sgemm__reduction_args *r, float *operands, float *sums, int threads) {
  const sgemm__args *p = &r->gemm;
  const int64_t matrix = sgemm__block_yz(), kept = (int64_t)sgemm__block_x() * SGEMM__DIRECT_TILE;
  const int64_t length = r->along_n ? p->n : p->m;
  sgemm__reduction_thread own = sgemm__reduction_thread_of(r, threads);
  const int end = r->along_n ? SGEMM__DIRECT_TILE / 4 : SGEMM__DIRECT_TILE, step = r->along_n ? own.lanes : own.groups;
  int64_t first;
  int i;
  sgemm__pdl_wait();
  if (matrix >= p->batch)
    return;
  for (first = 0; first < length; first += SGEMM__DIRECT_TILE) {
    const int64_t row = r->along_n ? kept : first, col = r->along_n ? first : kept;
    sgemm__multiply_direct(p, matrix, row, col, operands, sums, threads);
    for (i = r->along_n ? own.lane : own.group; i < end; i += step) {
      const int tile_row = r->along_n ? own.group : i, tile_col = 4 * (r->along_n ? i : own.lane);
      const sgemm__result_vector at = sgemm__result_vector_at(p, matrix, row + tile_row, col + tile_col, 4);
      float vector[4];
      sgemm__load_shared4(vector, sums + tile_row * SGEMM__DIRECT_TILE + tile_col);
      if (at.exist > 0)
        sgemm__reduce_vector(r, &at, vector, own.partial);
    }
    sgemm__barrier();
  }
  sgemm__store_parts(r, matrix, 0, kept, &own, sums);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

SGEMM__GLOBAL(sgemm_reduce_results, SGEMM__REDUCTION_THREADS, 4, sgemm__reduction_args) {
  SGEMM__SHARED(shared, 12 * SGEMM__REDUCTION_THREADS);
  sgemm__reduce_slab(&args, shared, SGEMM__REDUCTION_THREADS);
}

SGEMM__GLOBAL(sgemm_reduce_parts, SGEMM__REDUCTION_THREADS, 8, sgemm__reduction_args) {
  sgemm__reduce_all_parts(&args, SGEMM__REDUCTION_THREADS);
}

SGEMM__GLOBAL(sgemm_reduce_direct, SGEMM__REDUCTION_THREADS, 4, sgemm__reduction_args) {
  SGEMM__SHARED(operands, 2 * SGEMM__DIRECT_TILE * SGEMM__DIRECT_K);
  SGEMM__SHARED(sums, SGEMM__DIRECT_TILE * SGEMM__DIRECT_TILE);
  sgemm__reduce_direct(&args, operands, sums, SGEMM__REDUCTION_THREADS);
}

#endif /* SGEMM_STAGES_REDUCTION_CUH */
