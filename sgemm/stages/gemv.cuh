/* sgemm/stages/gemv.cuh: stage gemv: C has one row or one column. */
#ifndef SGEMM_STAGES_GEMV_CUH
#define SGEMM_STAGES_GEMV_CUH

/* Rows or columns of the matrix that a block multiplies, and float4s of the matrix that a thread has in flight. */
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

/* acc += the thread's products of a step of SGEMM__GEMV_VECTORS * slice_k of k. rest: k that exist from the thread's
   first k on. whole: 1 for a full step: all its elements exist, and its float4s start at multiples of 16 bytes.
   Elements that do not exist are zeros. All SGEMM__GEMV_VECTORS float4s of the matrix load before the first is used. */
SGEMM__DEVICE void sgemm__gemv_step(float *acc, float *w, const sgemm__shape *s, sgemm__gemv_source *from, int whole,
                                    int64_t rest) {
  const int step_k = SGEMM__GEMV_VECTORS * s->slice_k; /* k of the step */
  const int K = from->k_major ? 4 : 1;                 /* k of a float4; with 4, four float4s come from 4 rows */
  float x[4];
  int i, row, v;
  SGEMM__UNROLL
  for (i = 0; i < SGEMM__GEMV_VECTORS; i++) {
    const int k = i / K * s->slice_k * K;
    const float *p = from->matrix + (K == 4 ? i % 4 * from->ld + k : k * from->ld);
    if (whole)
      sgemm__load_global4(w + i * 4, p);
    else
      sgemm__load_guarded4(w + i * 4, p, from->aligned,
                           K == 4 ? (i % 4 < from->exist ? rest - k : 0) : (k < rest ? from->exist : 0));
  }
  SGEMM__UNROLL
  for (i = 0; i < SGEMM__GEMV_VECTORS; i += K) {
    const int k = i * s->slice_k;
    if (whole && K == 4) {
      sgemm__load_global4(x, from->vector + k);
    } else {
      SGEMM__UNROLL
      for (v = 0; v < K; v++)
        x[v] = whole || k + v < rest ? sgemm__load_global(from->vector + (k + v) * from->step) : 0.0f;
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
  from->vector += step_k * from->step;
}

/* What a block computes: the tile at a coordinate, over one split-K partition. */
typedef struct sgemm__gemv_work {
  sgemm__tile_coord at;
  uint32_t partition;
} sgemm__gemv_work;

/* The work of a block. Blocks are numbered by tile along the matrix, then by vector, then by partition. The conditions
   skip the divisions for one vector and one partition, the usual case (docs/stages/gemv.md, "How the block was
   chosen"). */
SGEMM__DEVICE sgemm__gemv_work sgemm__gemv_work_of(const sgemm__args *p, int matrix_is_b) {
  const uint32_t tiles = matrix_is_b ? p->tiles_n : p->tiles_m, vectors = matrix_is_b ? p->tiles_m : p->tiles_n;
  const uint32_t pass = sgemm__block_x() < tiles ? 0 : sgemm__block_x() / tiles; /* partition * vectors + vector */
  const uint32_t tile = sgemm__block_x() - pass * tiles, partition = pass < vectors ? 0 : pass / vectors;
  const uint32_t vector = pass - partition * vectors;
  sgemm__gemv_work work;
  work.at.row = matrix_is_b ? vector : tile;
  work.at.col = matrix_is_b ? tile : vector;
  work.partition = partition;
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

/* Sums the sliced-K groups and stores the results. The first sum is over the lanes of a warp that have partial sums of
   the same four results (K-major: all 32; MN-major: every eighth), the second over warps, in order, through shared
   memory. */
SGEMM__DEVICE void sgemm__gemv_store(const sgemm__args *p, const sgemm__tile *tile, const sgemm__gemv_thread *thread,
                                     int k_major, int matrix_is_b, float *shared, float *acc) {
  const int groups = SGEMM__GEMV_EXTENT / 4, t = sgemm__thread(), lane = t % 32;
  int i, mask;
  SGEMM__UNROLL
  for (mask = 16; mask > 0; mask /= 2)
    if (k_major || mask >= groups)
      sgemm__add_across_lanes4(acc, mask);
  if (lane < (k_major ? 1 : groups))
    sgemm__store_shared4(shared + thread->partial * SGEMM__GEMV_EXTENT + thread->group * 4, acc);
  sgemm__barrier();
  if (t < SGEMM__GEMV_EXTENT) {
    float sum = sgemm__load_shared(shared + t);
    SGEMM__UNROLL
    for (i = 1; i < thread->partials; i++)
      sum += sgemm__load_shared(shared + i * SGEMM__GEMV_EXTENT + t);
    sgemm__store_vector(p, 1, tile, matrix_is_b ? 0 : t, matrix_is_b ? t : 0, &sum);
  }
}

/* The body of gemv: a tile of 1 x 32 or 32 x 1. One thread uses each element of the matrix, once. So the matrix is
   loaded from global memory to registers, past shared memory, 16 bytes at a time. A thread has 8 such loads in flight,
   an SM with 512 threads 64 KiB; while a warp computes, the loads of 15 others are in flight. The vector comes from the
   caches. Threads are ordered as the matrix lies in memory:
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
  const sgemm__gemv_work work = sgemm__gemv_work_of(p, matrix_is_b);
  const int64_t begin = work.partition * args->k_per_split, first = begin + thread.slice * K; /* block's, thread's */
  sgemm__tile tile = sgemm__tile_at(p, s, work.at, sgemm__block_yz());
  /* Tile pointers. */
  const int limit = matrix_is_b ? tile.cols : tile.rows, mn = thread.group * 4;
  const int64_t ld = matrix_is_b ? p->ldb : p->lda, step = vector_k_major ? 1 : matrix_is_b ? p->lda : p->ldb;
  const float *X = (matrix_is_b ? tile.A : tile.B) + first * step;
  const float *W = (matrix_is_b ? tile.B : tile.A) + (k_major ? mn * ld + first : first * ld + mn);
  sgemm__gemv_source from = {W, X, ld, step, k_major, limit - mn, (uintptr_t)W % 16 == 0 && ld % 4 == 0};
  const int whole = from.aligned && limit == SGEMM__GEMV_EXTENT &&
                    (!k_major || (step == 1 && (uintptr_t)X % 16 == 0)); /* 1: steps inside of k are full steps */
  /* Accumulators. */
  int64_t rest = p->k - begin < args->k_per_split ? p->k - begin : args->k_per_split;
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
  for (; whole && rest >= step_k; rest -= step_k)
    sgemm__gemv_step(acc, w, s, &from, 1, rest);
  for (; rest > 0; rest -= step_k)
    sgemm__gemv_step(acc, w, s, &from, 0, rest - thread.slice * K);
  /* Epilogue. */
  sgemm__gemv_store(p, &tile, &thread, k_major, matrix_is_b, shared, acc);
}

#define SGEMM__KERNEL_gemv(stage, name, blocks, ...)                                                                   \
  SGEMM__GLOBAL(name, SGEMM__LAUNCH_THREADS(stage, __VA_ARGS__), blocks, sgemm__split_k_args) {                        \
    SGEMM__COLUMNS(stage, __VA_ARGS__)                                                                                 \
    const sgemm__shape shape = SGEMM__SHAPE;                                                                           \
    SGEMM__SHARED(sums, SGEMM__GEMV_EXTENT *SGEMM__THREADS(BM, BN, TM, TN, slice_k) / 32);                             \
    float acc[4], w[4 * SGEMM__GEMV_VECTORS];                                                                          \
    sgemm__gemv(&args, &shape, sums, acc, w);                                                                          \
  }

#define SGEMM__DECLARE_gemv(name) SGEMM__DECLARE(name, sgemm__split_k_args)

#define SGEMM__RULES_gemv(name)                                                                                        \
  SGEMM__RULE(BM + BN == 1 + SGEMM__GEMV_EXTENT && (BM == 1 || BN == 1) && BM == WM && BN == WN,                       \
              "gemv has one row of 32 columns, or one column of 32 rows", name)                                        \
  SGEMM__RULE(TM == (BM == 1 ? 1 : 4) && TN == (BN == 1 ? 1 : 4) && V == 4,                                            \
              "a thread of gemv computes four of the 32 results, V = 4", name)                                         \
  SGEMM__RULE(bufs == 0 && slice_k % 32 == 0 && BK == 4 * slice_k,                                                     \
              "gemv has no tiles in shared memory, whole warps of sliced-K groups, and 4 of BK for each group", name)

#endif /* SGEMM_STAGES_GEMV_CUH */
