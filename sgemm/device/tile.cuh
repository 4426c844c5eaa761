/* sgemm/device/tile.cuh: a variant's shape, the tile of C that a block computes, the order of tiles, and the results of
   the tile that a thread owns. */
#ifndef SGEMM_DEVICE_TILE_CUH
#define SGEMM_DEVICE_TILE_CUH

/* The columns of a variant and the ops of one kernel. A kernel passes literals. After inlining each member is a
   constant, each loop over them unrolls, and each array indexed by them lives in registers. */
typedef struct sgemm__shape {
  int BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k;
  int cluster_split_k; /* 1: blocks of a cluster may share a tile's k */
  int uses_tma;        /* 1: a producer warpgroup copies by tensor maps */
  int a_k_major;       /* 1: A is contiguous along k in memory (op N); 0: along m (op T) */
  int b_k_major;       /* 1: B is contiguous along k in memory (op T); 0: along n (op N) */
} sgemm__shape;

/* A tile of C, and where it comes from. */
typedef struct sgemm__tile {
  const float *A, *B; /* element (row 0, k = 0) of op(A)'s rows and (k = 0, column 0) of op(B)'s columns */
  float *C;
  int rows, cols; /* of the tile, inside C: 1 to BM, 1 to BN */
} sgemm__tile;

SGEMM__DEVICE int sgemm__clip(int64_t rest, int most) { return rest < most ? (int)rest : most; }

/* 1 if the block has work: its y and z number a matrix of the batch, and the guard of a tensor mode, if there is one,
   decided for this kernel. */
SGEMM__DEVICE int sgemm__has_work(const sgemm__args *p) {
  return sgemm__block_yz() < p->batch &&
         (p->fallback_reason == NULL || (*p->fallback_reason != 0) == p->run_on_fallback);
}

/* Rasterization: tile numbers run through raster groups of SGEMM__RASTER_ROWS tile rows, down each tile column of a
   group first. Blocks that run at the same time then cover a compact part of C and share in the L2 what they read of A
   and of B. */
#define SGEMM__RASTER_ROWS 16

typedef struct sgemm__tile_coord {
  uint32_t row, col; /* in tiles */
} sgemm__tile_coord;

SGEMM__DEVICE sgemm__tile_coord sgemm__rasterize(const sgemm__args *p, uint32_t number) {
  const uint32_t group = (p->tiles_m < SGEMM__RASTER_ROWS ? p->tiles_m : SGEMM__RASTER_ROWS) *
                         p->tiles_n; /* tiles of a whole raster group */
  const uint32_t top = number / group * SGEMM__RASTER_ROWS, index = number % group;
  const uint32_t rows_left = p->tiles_m - top < SGEMM__RASTER_ROWS ? p->tiles_m - top : SGEMM__RASTER_ROWS;
  sgemm__tile_coord at;
  at.row = top + index % rows_left;
  at.col = index / rows_left;
  return at;
}

/* The tile at a coordinate of a matrix of the batch; of a number in raster order; of a number in the block's own
   matrix. */
SGEMM__DEVICE sgemm__tile sgemm__tile_at(const sgemm__args *p, const sgemm__shape *s, sgemm__tile_coord at,
                                         int64_t batch) {
  const int64_t row = (int64_t)at.row * s->BM, col = (int64_t)at.col * s->BN;
  sgemm__tile tile;
  tile.A = p->A + batch * p->stride_a + row * (s->a_k_major ? p->lda : 1);
  tile.B = p->B + batch * p->stride_b + col * (s->b_k_major ? p->ldb : 1);
  tile.C = p->C + batch * p->stride_c + row * p->ldc + col;
  tile.rows = sgemm__clip(p->m - row, s->BM);
  tile.cols = sgemm__clip(p->n - col, s->BN);
  return tile;
}

SGEMM__DEVICE sgemm__tile sgemm__tile_by_number(const sgemm__args *p, const sgemm__shape *s, uint32_t number,
                                                int64_t batch) {
  return sgemm__tile_at(p, s, sgemm__rasterize(p, number), batch);
}

SGEMM__DEVICE sgemm__tile sgemm__tile_of_block(const sgemm__args *p, const sgemm__shape *s, uint32_t number) {
  return sgemm__tile_by_number(p, s, number, sgemm__block_yz());
}

/* The TM x TN results of the block's tile that a thread owns: output vectors of V consecutive rows and columns,
   row_stride rows and col_stride columns apart. The strides are as long as the threads of a warp tile reach, so that
   neighbouring lanes own neighbouring columns: shared loads meet no bank twice, and stores to C are coalesced. Lanes 4q
   to 4q + 3 of a warp own a 2 x 2 square of vectors: lanes i and i ^ 1 read the same of A, and i and i ^ 2 the same of
   B. The hardware then serves a 128-bit shared load of a warp in 2 wavefronts; it takes 4 where neither holds. */
typedef struct sgemm__thread_tile {
  int row, col;               /* of the thread's first result in the tile */
  int row_stride, col_stride; /* constants: WM/TM * V, WN/TN * V */
  int col_xor;                /* element v of a vector belongs to its column v ^ col_xor: 0 but in tma */
} sgemm__thread_tile;

SGEMM__DEVICE sgemm__thread_tile sgemm__thread_tile_of(const sgemm__shape *s) {
  const int lanes_m = s->WM / s->TM, lanes_n = s->WN / s->TN; /* threads of a warp tile along m and n */
  const int t = sgemm__thread() % (SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, 1)); /* within its slice of k */
  const int warp = t / (lanes_m * lanes_n), lane = t % (lanes_m * lanes_n);
  const int squares = lanes_m * lanes_n == 32 && lanes_m > 1 && lanes_n > 1, squares_n = lanes_n / 2; /* along n */
  const int lane_m = squares ? lane / 4 / squares_n * 2 + lane / 2 % 2 : lane / lanes_n;
  const int lane_n = squares ? lane / 4 % squares_n * 2 + lane % 2 : lane % lanes_n;
  sgemm__thread_tile own;
  own.row = warp / (s->BN / s->WN) * s->WM + lane_m * s->V;
  own.col = warp % (s->BN / s->WN) * s->WN + lane_n * s->V;
  own.row_stride = lanes_m * s->V;
  own.col_stride = lanes_n * s->V;
  own.col_xor = 0;
  return own;
}

#endif /* SGEMM_DEVICE_TILE_CUH */
