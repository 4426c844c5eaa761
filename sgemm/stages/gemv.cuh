/* sgemm/stages/gemv.cuh: stage gemv: C has one row or one column. */
#ifndef SGEMM_STAGES_GEMV_CUH
#define SGEMM_STAGES_GEMV_CUH

/* V = 4: rows or columns of the matrix that a block multiplies, and float4s of it that a thread has in flight. */
#define SGEMM__GEMV_EXTENT 32
#define SGEMM__GEMV_VECTORS 8

/* The operands of a thread, from its elements of the next step on. The matrix is the operand with 32 rows or columns in
   the tile, the vector is the operand with one. */
typedef struct sgemm__gemv_source {
  const float *matrix, *vector;
  int64_t ld;   /* leading dimension of the matrix */
  int64_t step; /* floats from one k of the vector to the next */
  int k_major;  /* 1: the matrix is K-major */
  int exist;    /* rows or columns of the matrix that exist, from the thread's first one on */
  int aligned;  /* 1: float4s of the matrix start at multiples of 16 bytes */
} sgemm__gemv_source;

/* acc += the thread's products of a step of SGEMM__GEMV_VECTORS * slice_k of k. k_left: k that exist from the thread's
   first k on. full: 1 if all elements of the step exist, and its float4s start at multiples of 16 bytes.
   Elements that do not exist are zeros. All SGEMM__GEMV_VECTORS float4s of the matrix load before the first is used. */
SGEMM__DEVICE void sgemm__gemv_step(float *acc, float *w, const sgemm__shape *s, sgemm__gemv_source *from, int full,
                                    int64_t k_left) {
  const int step_k = SGEMM__GEMV_VECTORS * s->slice_k; /* k of the step */
  const int K = from->k_major ? 4 : 1;                 /* k of a float4; with 4, four float4s come from 4 rows */
  float x[4];
  int i, row, v;
  SGEMM__UNROLL
  for (i = 0; i < SGEMM__GEMV_VECTORS; i++) {
    const int k = i / K * s->slice_k * K;
    const float *p = from->matrix + (K == 4 ? i % 4 * from->ld + k : k * from->ld);
    if (full)
      sgemm__load_global4(w + i * 4, p);
    else
      sgemm__load_guarded4(w + i * 4, p, from->aligned,
                           K == 4 ? (i % 4 < from->exist ? k_left - k : 0) : (k < k_left ? from->exist : 0));
  }
  SGEMM__UNROLL
  for (i = 0; i < SGEMM__GEMV_VECTORS; i += K) {
    const int k = i * s->slice_k;
    if (full && K == 4) {
      sgemm__load_global4(x, from->vector + k);
    } else {
      SGEMM__UNROLL
      for (v = 0; v < K; v++)
        x[v] = full || k + v < k_left ? sgemm__load_global(from->vector + (k + v) * from->step) : 0.0f;
      sgemm__converge();
    }
    SGEMM__UNROLL
    for (row = 0; row < K; row++) {
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        acc[K == 4 ? row : v] = sgemm__fma(x[K == 4 ? v : 0], w[(i + row) * 4 + v], acc[K == 4 ? row : v]);
    }
  }
  from->matrix += K == 4 ? step_k : step_k * from->ld;
  from->vector += step_k * (full && K == 4 ? 1 : from->step);
}

/* What a block computes: the tile at a coordinate, over its part of k. */
typedef struct sgemm__gemv_work {
  sgemm__tile_coord at;
  uint32_t partition;    /* split-K partition */
  int64_t begin, k_left; /* the block's first k, and the number of its k; 0 or negative: none */
} sgemm__gemv_work;

/* The work of a block. Blocks are numbered by rank in the cluster, then by tile along the matrix, then by vector, then
   by partition. The blocks of a cluster divide the k-steps of a partition: each has an equal number, rounded up, and
   the last ranks have the rest. The conditions skip the divisions for one block in a cluster, one vector and one
   partition, the usual case (docs/stages/gemv.md, "How the block was chosen"). */
SGEMM__DEVICE sgemm__gemv_work sgemm__gemv_work_of(const sgemm__split_k_args *args, const sgemm__shape *s,
                                                   int matrix_is_b) {
  const sgemm__args *p = &args->gemm;
  const uint32_t tiles = matrix_is_b ? p->tiles_n : p->tiles_m, vectors = matrix_is_b ? p->tiles_m : p->tiles_n;
  const uint32_t cluster_k = sgemm__cluster_size();
  const uint32_t block = cluster_k > 1 ? sgemm__block_x() / cluster_k : sgemm__block_x();
  const uint32_t pass = block < tiles ? 0 : block / tiles; /* partition * vectors + vector */
  const uint32_t tile = block - pass * tiles, partition = pass < vectors ? 0 : pass / vectors;
  const uint32_t vector = pass - partition * vectors;
  sgemm__gemv_work work;
  work.at.row = matrix_is_b ? vector : tile;
  work.at.col = matrix_is_b ? tile : vector;
  work.partition = partition;
  work.begin = partition * args->k_per_split;
  work.k_left = p->k - work.begin < args->k_per_split ? p->k - work.begin : args->k_per_split;
  if (cluster_k > 1) {
    const int64_t steps = (work.k_left + s->BK - 1) / s->BK, k = (steps + cluster_k - 1) / cluster_k * s->BK;
    const int64_t skipped = sgemm__cluster_rank() * k;
    work.begin += skipped;
    work.k_left = work.k_left - skipped < k ? work.k_left - skipped : k;
  }
  return work;
}

/* The part of a tile that a thread computes: four rows or columns, and every slice_k-th k (MN-major) or every
   slice_k-th float4 of k (K-major). */
typedef struct sgemm__gemv_thread {
  int slice;    /* sliced-K group: 0 to slice_k - 1 */
  int group;    /* the thread's four rows or columns begin at 4 * group: 0 to 7 */
  int partial;  /* number of the warp's partial sum of the group's results: 0 to partials - 1 */
  int partials; /* partial sums of each result, after the sum over lanes */
} sgemm__gemv_thread;

SGEMM__DEVICE sgemm__gemv_thread sgemm__gemv_thread_of(const sgemm__shape *s, int k_major) {
  const int groups = SGEMM__GEMV_EXTENT / 4, t = sgemm__thread();
  sgemm__gemv_thread thread;
  thread.slice = k_major ? t % s->slice_k : t / groups;
  thread.group = k_major ? t / s->slice_k : t % groups;
  thread.partial = k_major ? thread.slice / 32 : t / 32;
  thread.partials = (k_major ? 1 : groups) * s->slice_k / 32;
  return thread;
}

/* Sums the partial sums of the tile's `extent` results, which lie one behind the other in shared memory, and stores the
   results: thread t sums result t, over the block and then over the blocks of the cluster, in order. */
SGEMM__DEVICE void sgemm__gemv_sum(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                   sgemm__tile_coord at, int extent, int partials, int matrix_is_b, float *shared) {
  const int t = sgemm__thread();
  const uint32_t cluster_k = sgemm__cluster_size();
  float sum = 0.0f;
  uint32_t rank;
  int i;
  sgemm__barrier();
  if (t < extent) {
    sum = sgemm__load_shared(shared + t);
    SGEMM__UNROLL
    for (i = 1; i < partials; i++)
      sum += sgemm__load_shared(shared + i * extent + t);
  }
  if (cluster_k > 1) {
    if (t < extent)
      sgemm__store_shared(shared + t, sum);
    sgemm__cluster_barrier();
    if (t < extent && sgemm__cluster_rank() == 0)
      for (rank = 1; rank < cluster_k; rank++)
        sum += sgemm__load_cluster(shared + t, rank);
    sgemm__cluster_barrier(); /* no block exits while rank 0 reads its shared memory */
    if (sgemm__cluster_rank() > 0)
      return;
  }
  if (t < extent && s->fused && p->applies_epilogue) {
    const sgemm__tile_position position = sgemm__tile_position_of(s, at, sgemm__block_yz());
    sgemm__store_through_epilogue(p, s, 1, tile, &position, matrix_is_b ? 0 : t, matrix_is_b ? t : 0, &sum);
  } else if (t < extent) {
    sgemm__store_vector(p, 1, tile, matrix_is_b ? 0 : t, matrix_is_b ? t : 0, &sum);
  }
}

/* Sums the sliced-K groups and stores the results. The first sum is over the lanes of a warp that have partial sums of
   the same four results (K-major: all 32; MN-major: every eighth), the second over warps, in order, through shared
   memory. */
SGEMM__DEVICE void sgemm__gemv_store(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                     sgemm__tile_coord at, const sgemm__gemv_thread *thread, int k_major,
                                     int matrix_is_b, float *shared, float *acc) {
  const int groups = SGEMM__GEMV_EXTENT / 4, lane = sgemm__thread() % 32;
  int mask;
  SGEMM__UNROLL
  for (mask = 16; mask > 0; mask /= 2)
    if (k_major || mask >= groups)
      sgemm__add_across_lanes4(acc, mask);
  if (lane < (k_major ? 1 : groups))
    sgemm__store_shared4(shared + thread->partial * SGEMM__GEMV_EXTENT + thread->group * 4, acc);
  sgemm__gemv_sum(p, s, tile, at, SGEMM__GEMV_EXTENT, thread->partials, matrix_is_b, shared);
}

/* The body of gemv with V = 4: a tile of 1 x 32 or 32 x 1. One thread uses each element of the matrix, once. So the
   matrix is loaded from global memory to registers, past shared memory, 16 bytes at a time. A thread has 8 such loads
   in flight, an SM with 512 threads 64 KiB; while a warp computes, the loads of 15 others are in flight. The vector
   comes from the caches. Threads are ordered as the matrix lies in memory:
     MN-major  8 lanes load 128 bytes of one k; slice_k groups of 8 lanes load slice_k consecutive k
     K-major   a warp loads 512 bytes of each of four rows or columns, 4 k per lane; slice_k / 32 warps load consecutive
               k of these rows or columns
   docs/stages/gemv.md has the measurements behind these choices. */
SGEMM__DEVICE void sgemm__gemv(const sgemm__split_k_args *args, const sgemm__shape *s, float *shared, float *acc,
                               float *w) {
  const sgemm__args *p = &args->gemm;
  /* Indices. */
  const int matrix_is_b = s->BN > s->BM; /* C is one row */
  const int k_major = matrix_is_b ? s->b_k_major : s->a_k_major;
  const int vector_k_major = matrix_is_b ? s->a_k_major : s->b_k_major;
  const int K = k_major ? 4 : 1, step_k = SGEMM__GEMV_VECTORS * s->slice_k; /* see sgemm__gemv_step() */
  const sgemm__gemv_thread thread = sgemm__gemv_thread_of(s, k_major);
  const sgemm__gemv_work work = sgemm__gemv_work_of(args, s, matrix_is_b);
  const int64_t first = work.begin + thread.slice * K; /* the thread's first k */
  sgemm__tile tile = sgemm__tile_at(p, s, work.at, sgemm__block_yz());
  /* Tile pointers. */
  const int limit = matrix_is_b ? tile.cols : tile.rows, mn = thread.group * 4;
  const int64_t ld = matrix_is_b ? p->ldb : p->lda, step = vector_k_major ? 1 : matrix_is_b ? p->lda : p->ldb;
  const float *X = (matrix_is_b ? tile.A : tile.B) + first * step;
  const float *W = (matrix_is_b ? tile.B : tile.A) + (k_major ? mn * ld + first : first * ld + mn);
  sgemm__gemv_source from = {W, X, ld, step, k_major, limit - mn, (uintptr_t)W % 16 == 0 && ld % 4 == 0};
  const int full = from.aligned && limit == SGEMM__GEMV_EXTENT &&
                   (!k_major || (step == 1 && (uintptr_t)X % 16 == 0)); /* 1: steps inside of k are full steps */
  /* Accumulators. */
  int64_t k_left = work.k_left;
  int i;
  SGEMM__UNROLL
  for (i = 0; i < 4; i++)
    acc[i] = 0.0f;
  tile.C += work.partition * args->split_stride;
  /* Main loop. Full steps have a loop of their own: with one loop for all steps ptxas keeps the addresses of both kinds
     of steps in registers, and the kernel is slower (docs/stages/gemv.md). */
  sgemm__pdl_wait();
  if (!sgemm__has_work(p))
    return;
  for (; full && k_left >= step_k; k_left -= step_k)
    sgemm__gemv_step(acc, w, s, &from, 1, k_left);
  for (; k_left > 0; k_left -= step_k)
    sgemm__gemv_step(acc, w, s, &from, 0, k_left - thread.slice * K);
  /* Epilogue. */
  sgemm__gemv_store(p, s, &tile, work.at, &thread, k_major, matrix_is_b, shared, acc);
}

/* ---- V = 1 ------------------------------------------------------------------------------------------------------- */

#define SGEMM__GEMV_LOADS 16 /* most elements of the matrix that a thread has in flight */

/* The operands of a thread of the body with V = 1, from its elements of the next step on. */
typedef struct sgemm__gemv_elements {
  const float *matrix, *vector;
  int64_t matrix_step, vector_step; /* floats from one k to the next */
} sgemm__gemv_elements;

/* acc + the thread's products of a step of BK. k_left: k that exist from the thread's first k on. full: 1 if the step's
   last k exists. Elements that do not exist are zeros. All elements load before the first is used. In full steps of 8
   elements each address follows from the one before: with all of them computed from the first, ptxas keeps that one
   too, and fewer loads are in flight. 16 addresses, or those of the last step, would wait for each other
   (docs/notebook/memory_bound.md, "Addresses one from the other"). */
SGEMM__DEVICE float sgemm__gemv_element_step(float acc, const sgemm__shape *s, sgemm__gemv_elements *from, int full,
                                             int64_t k_left) {
  const int loads = s->BK / s->slice_k, chain = full && loads <= 8;
  float w[SGEMM__GEMV_LOADS], x[SGEMM__GEMV_LOADS];
  int i;
  SGEMM__UNROLL
  for (i = 0; i < loads; i++) {
    const int k = i * s->slice_k, offset = chain ? 0 : k;
    w[i] = full || k < k_left ? sgemm__load_global(from->matrix + offset * from->matrix_step) : 0.0f;
    sgemm__converge();
    x[i] = full || k < k_left ? sgemm__load_global(from->vector + offset * from->vector_step) : 0.0f;
    sgemm__converge();
    from->matrix += chain ? s->slice_k * from->matrix_step : 0;
    from->vector += chain ? s->slice_k * from->vector_step : 0;
  }
  SGEMM__UNROLL
  for (i = 0; i < loads; i++)
    acc = sgemm__fma(x[i], w[i], acc);
  from->matrix += chain ? 0 : s->BK * from->matrix_step;
  from->vector += chain ? 0 : s->BK * from->vector_step;
  return acc;
}

/* Sums the sliced-K groups of the block and stores the results: first over the lanes of a warp that have partial sums
   of one result, then over warps or groups through shared memory. */
SGEMM__DEVICE void sgemm__gemv_store_elements(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                              sgemm__tile_coord at, int k_major, int matrix_is_b, float *shared,
                                              float acc) {
  const int extent = s->BM * s->BN, t = sgemm__thread(), slice = k_major ? t % s->slice_k : t / extent;
  const int result = k_major ? t / s->slice_k : t % extent;
  /* Lanes with parts of one result: consecutive ones if the matrix is K-major, else every extent-th. */
  const int partials = k_major ? (s->slice_k + 31) / 32 : extent < 32 ? extent * s->slice_k / 32 : s->slice_k;
  const int partial = k_major ? slice / 32 : extent < 32 ? t / 32 : slice;
  int mask;
  SGEMM__UNROLL
  for (mask = 16; mask > 0; mask /= 2)
    if (k_major ? mask < s->slice_k : mask >= extent)
      acc += sgemm__shuffle_xor(acc, mask);
  if (k_major ? slice % 32 == 0 : t % 32 < extent)
    sgemm__store_shared(shared + partial * extent + result, acc);
  sgemm__gemv_sum(p, s, tile, at, extent, partials, matrix_is_b, shared);
}

/* The body of gemv with V = 1: a tile of 1 x BN or BM x 1, one result for a thread and BK / slice_k elements of its row
   or column in flight. Alignment and edges cost nothing: each lane loads 4 bytes, and lanes beyond the edge load the
   elements of the last row or column and store no result. Threads are ordered as the matrix lies in memory, results
   first where it is MN-major and k first where it is K-major, so that the lanes of a warp load consecutive elements.
   docs/stages/gemv.md has the measurements behind these choices. */
SGEMM__DEVICE void sgemm__gemv_elements_body(const sgemm__split_k_args *args, const sgemm__shape *s, float *shared) {
  const sgemm__args *p = &args->gemm;
  /* Indices. */
  const int matrix_is_b = s->BN > s->BM; /* C is one row */
  const int k_major = matrix_is_b ? s->b_k_major : s->a_k_major;
  const int vector_k_major = matrix_is_b ? s->a_k_major : s->b_k_major;
  const int extent = s->BM * s->BN, t = sgemm__thread();
  const int result = k_major ? t / s->slice_k : t % extent, slice = k_major ? t % s->slice_k : t / extent;
  const sgemm__gemv_work work = sgemm__gemv_work_of(args, s, matrix_is_b);
  const int64_t first = work.begin + slice; /* the thread's first k */
  sgemm__tile tile = sgemm__tile_at(p, s, work.at, sgemm__block_yz());
  /* Tile pointers. */
  const int limit = matrix_is_b ? tile.cols : tile.rows, mn = result < limit ? result : limit - 1;
  const int64_t ld = matrix_is_b ? p->ldb : p->lda;
  sgemm__gemv_elements from = {NULL, NULL, k_major ? 1 : ld, vector_k_major ? 1 : matrix_is_b ? p->lda : p->ldb};
  /* Accumulators. */
  int64_t k_left = work.k_left - slice; /* k from the thread's first one on */
  float acc = 0.0f;
  from.matrix = (matrix_is_b ? tile.B : tile.A) + (k_major ? mn * ld : mn) + first * from.matrix_step;
  from.vector = (matrix_is_b ? tile.A : tile.B) + first * from.vector_step;
  tile.C += work.partition * args->split_stride;
  /* Main loop. */
  sgemm__pdl_wait();
  if (!sgemm__has_work(p))
    return;
  for (; k_left > s->BK - s->slice_k; k_left -= s->BK)
    acc = sgemm__gemv_element_step(acc, s, &from, 1, k_left);
  if (k_left > 0)
    acc = sgemm__gemv_element_step(acc, s, &from, 0, k_left);
  sgemm__converge();
  /* Epilogue. */
  sgemm__gemv_store_elements(p, s, &tile, work.at, k_major, matrix_is_b, shared, acc);
}

#define SGEMM__KERNEL_gemv(stage, name, blocks, ...)                                                                   \
  SGEMM__GLOBAL(name, SGEMM__LAUNCH_THREADS(stage, __VA_ARGS__), blocks, sgemm__split_k_args) {                        \
    SGEMM__COLUMNS(stage, __VA_ARGS__)                                                                                 \
    sgemm__shape shape = SGEMM__SHAPE;                                                                                 \
    SGEMM__SHARED_DYNAMIC(sums);                                                                                       \
    float acc[4], w[4 * SGEMM__GEMV_VECTORS];                                                                          \
    sgemm__read_op(&shape, trans_a, trans_b, &args.gemm);                                                              \
    if (V == 4)                                                                                                        \
      sgemm__gemv(&args, &shape, sums, acc, w);                                                                        \
    else                                                                                                               \
      sgemm__gemv_elements_body(&args, &shape, sums);                                                                  \
  }

#define SGEMM__DECLARE_gemv(name) SGEMM__DECLARE(name, sgemm__split_k_args)

#define SGEMM__RULES_gemv(name)                                                                                        \
  SGEMM__RULE((BM == 1) != (BN == 1) && BM == WM && BN == WN && bufs == 0,                                             \
              "gemv has one row or one column, and no tiles in shared memory", name)                                   \
  SGEMM__RULE(V == 1 || (BM + BN == 1 + SGEMM__GEMV_EXTENT && slice_k % 32 == 0 && BK == 4 * slice_k),                 \
              "gemv with V = 4 has 32 results, whole warps of sliced-K groups, and 4 of BK for each group", name)      \
  SGEMM__RULE(TM == (BM == 1 ? 1 : V) && TN == (BN == 1 ? 1 : V), "a thread of gemv computes V results", name)         \
  SGEMM__RULE(V == 4 || (SGEMM__DIVIDES(BM * BN, 32) && BK % slice_k == 0 && BK / slice_k <= SGEMM__GEMV_LOADS),       \
              "gemv with V = 1 has at most 16 of BK for each sliced-K group", name)

#endif /* SGEMM_STAGES_GEMV_CUH */
