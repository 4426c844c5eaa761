/* sgemm/stages/gemv.cuh: stage gemv: one row or one column. */
#ifndef SGEMM_STAGES_GEMV_CUH
#define SGEMM_STAGES_GEMV_CUH

/* The geometry of gemv: rows or columns of the matrix that a block takes, and quads of it that a thread has under way.
   */
#define SGEMM__GEMV_EXTENT 32
#define SGEMM__GEMV_VECTORS 8

/* What a thread of gemv takes, from its elements of the next step on. */
typedef struct sgemm__gemv_source {
  const float *matrix, *vector;
  int64_t ld, step; /* of the matrix; from one k of the vector to the next */
  int k_major;      /* 1: the matrix is contiguous along k in memory */
  int exist;        /* rows or columns of the matrix, from the thread's first one on */
  int quads;        /* 1: those of the matrix start on 16 bytes */
} sgemm__gemv_source;

/* acc += the thread's part of a step, of which from its first k on `rest` exist; `whole` says that all do, in quads
   that start on 16 bytes. What does not exist reads as zero. The matrix's quads are under way before the first is used.
   */
SGEMM__DEVICE void sgemm__gemv_step(float *acc, float *w, const sgemm__shape *s, sgemm__gemv_source *from, int whole,
                                    int64_t rest) {
  const int depth = SGEMM__GEMV_VECTORS * s->slice_k; /* k of the step, and of a quad: of four rows of it, or of one */
  const int K = from->k_major ? 4 : 1;
  float x[4];
  int i, row, v;
  SGEMM__UNROLL
  for (i = 0; i < SGEMM__GEMV_VECTORS; i++) {
    const int k = i / K * s->slice_k * K;
    const float *quad = from->matrix + (K == 4 ? i % 4 * from->ld + k : k * from->ld);
    if (whole)
      sgemm__load_global4(w + i * 4, quad);
    else
      sgemm__load_guarded4(w + i * 4, quad, from->quads,
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
  from->matrix += K == 4 ? depth : depth * from->ld;
  from->vector += depth * from->step;
}

/* gemv: a tile of one row and 32 columns, or upright. Of the large operand, the matrix, each element is of use to one
   block, and there to one thread; so it goes from memory to that thread's registers, past shared memory, 16 bytes at a
   time, eight of which a thread has under way. That makes 64 KB an SM, and what a warp computes between its loads is
   behind those of 15 others. The threads' order follows the matrix:
     along e   8 lanes take 128 bytes of a row of k, and 64 slice_k as many rows
     along k   a warp takes 512 bytes of each of four rows, 4 k a lane, and two warps 256 k of them
   The vector comes from the caches. At the end the slice_k' sums are added up, over lanes first, then over warps in
   order. */
SGEMM__DEVICE void sgemm__gemv(const sgemm__split_k_args *args, const sgemm__shape *s, float *shared, float *acc,
                               float *w) {
  const sgemm__args *p = &args->gemm;
  /* Indices. k is cut into planes as in sgemm__pipelined(). */
  const int across = s->BN > s->BM; /* B is the matrix, and its columns those of the tile */
  const int k_major = across ? s->b_k_major : s->a_k_major, vector_k_major = across ? s->a_k_major : s->b_k_major;
  const int K = k_major ? 4 : 1, depth = SGEMM__GEMV_VECTORS * s->slice_k, groups = SGEMM__GEMV_EXTENT / 4;
  const int t = sgemm__thread(), lane = t % 32;
  const int slice = k_major ? t % s->slice_k : t / groups, group = k_major ? t / s->slice_k : t % groups;
  const int part = k_major ? slice / 32 : t / 32, parts = (k_major ? 1 : groups) * s->slice_k / 32; /* of sums: warps */
  const uint32_t strips = across ? p->tiles_n : p->tiles_m, vectors = across ? p->tiles_m : p->tiles_n;
  const uint32_t turn = sgemm__block_x() < strips ? 0 : sgemm__block_x() / strips; /* most often no division */
  const uint32_t strip = sgemm__block_x() - turn * strips, plane = turn < vectors ? 0 : turn / vectors;
  const uint32_t vector = turn - plane * vectors;
  const int64_t begin = plane * args->k_per_split, first = begin + slice * K; /* k of the block, and of the thread */
  const sgemm__tile_coord at = {across ? vector : strip, across ? strip : vector};
  sgemm__tile tile = sgemm__tile_at(p, s, at, sgemm__block_yz());
  /* Tile pointers. */
  const int limit = across ? tile.cols : tile.rows;
  const int64_t ld = across ? p->ldb : p->lda, step = vector_k_major ? 1 : across ? p->lda : p->ldb;
  const float *X = (across ? tile.A : tile.B) + first * step;
  const float *W = (across ? tile.B : tile.A) + (k_major ? group * 4 * ld + first : first * ld + group * 4);
  sgemm__gemv_source from = {W, X, ld, step, k_major, limit - group * 4, (uintptr_t)W % 16 == 0 && ld % 4 == 0};
  const int whole = from.quads && limit == SGEMM__GEMV_EXTENT && (!k_major || (step == 1 && (uintptr_t)X % 16 == 0));
  /* Accumulators. */
  int64_t rest = p->k - begin < args->k_per_split ? p->k - begin : args->k_per_split;
  int i, mask;
  SGEMM__UNROLL
  for (i = 0; i < 4; i++)
    acc[i] = 0.0f;
  tile.C += plane * args->split_stride;
  /* Main loop: steps of which all exists, then the others. */
  sgemm__pdl_wait();
  if (!sgemm__has_work(p))
    return;
  for (; whole && rest >= depth; rest -= depth)
    sgemm__gemv_step(acc, w, s, &from, 1, rest);
  for (; rest > 0; rest -= depth)
    sgemm__gemv_step(acc, w, s, &from, 0, rest - slice * K);
  /* Epilogue. Lanes that have parts of the same four sums: of a warp every eighth, or along k all. */
  SGEMM__UNROLL
  for (mask = 16; mask > 0; mask /= 2)
    if (k_major || mask >= groups)
      sgemm__add_across_lanes4(acc, mask);
  if (lane < (k_major ? 1 : groups))
    sgemm__store_shared4(shared + part * SGEMM__GEMV_EXTENT + group * 4, acc);
  sgemm__barrier();
  if (t < SGEMM__GEMV_EXTENT) {
    float sum = sgemm__load_shared(shared + t);
    SGEMM__UNROLL
    for (i = 1; i < parts; i++)
      sum += sgemm__load_shared(shared + i * SGEMM__GEMV_EXTENT + t);
    sgemm__store_vector(p, 1, &tile, across ? 0 : t, across ? t : 0, &sum);
  }
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
              "a thread of gemv computes four of them, V = 4", name)                                                   \
  SGEMM__RULE(bufs == 0 && slice_k % 32 == 0 && BK == 4 * slice_k,                                                     \
              "gemv has no tiles, slices in whole warps, and a float4 of BK for each", name)

#endif /* SGEMM_STAGES_GEMV_CUH */
