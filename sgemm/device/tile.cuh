/* sgemm/device/tile.cuh: a variant's shape, the tile of C that a block computes, the order of tiles, and the results of
   the tile that a thread owns. */
#ifndef SGEMM_DEVICE_TILE_CUH
#define SGEMM_DEVICE_TILE_CUH

/* The columns of a variant and the ops of one kernel. A kernel passes literals. After inlining each member is a
   constant, each loop over them unrolls, and each array indexed by them lives in registers. */
typedef struct sgemm__shape {
  int BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k;
  int cluster_split_k; /* 1: blocks of a cluster may divide a tile's k */
  int a_k_major;       /* 1: A is contiguous along k in memory (op N); 0: along m (op T) */
  int b_k_major;       /* 1: B is contiguous along k in memory (op T); 0: along n (op N) */
  int fused;           /* SGEMM__FUSED_<variant>: which epilogues the results go through; SGEMM__REDUCES: and are
                          reduced, not stored */
  int elements;        /* not 0: a pipeline copies single elements alone, see sgemm__copy_elements() */
  int serial;          /* 1: launches may have serial split-K, see sgemm__begin() */
  int small_a;         /* 1: A's op is read at run time, or A is MN-major with at most 8 rows: SGEMM__IS_SMALL; in a
                          pipeline without `elements` A then has the loader sgemm__small_loader_of() */
  int small_b;         /* 1: B's op is read at run time, or B is MN-major with at most 8 columns; its loader as A's */
} sgemm__shape;

/* Values of sgemm__shape.fused besides 0, no epilogue: every row of the table, the rows in registers, and those of a
   reducing kernel. The mark 3 is no such value: <variant>_fused has 2, and the other kernels of the variant 0. */
#define SGEMM__EVERY_EPILOGUE 1
#define SGEMM__EPILOGUES_IN_REGISTERS 2
#define SGEMM__REDUCES 4

/* Reads the ops that the kernel does not fix from the call. trans_a, trans_b: those of the kernel. */
SGEMM__DEVICE void sgemm__read_op(sgemm__shape *s, int trans_a, int trans_b, const sgemm__args *p) {
  if (trans_a == SGEMM__OP_AT_RUN_TIME)
    s->a_k_major = !p->trans_a;
  if (trans_b == SGEMM__OP_AT_RUN_TIME)
    s->b_k_major = p->trans_b;
}

/* The shape of a kernel without a main loop whose threads store one output vector each of a BM x BN tile. */
SGEMM__DEVICE sgemm__shape sgemm__vector_shape(int BM, int BN) {
  sgemm__shape s = {0};
  s.BM = BM;
  s.BN = BN;
  s.TM = 1;
  s.TN = 4;
  s.V = 4;
  s.slice_k = 1;
  s.a_k_major = 1;
  s.b_k_major = 1;
  return s;
}

/* A tile of C, and the rows of op(A) and columns of op(B) that belong to it. */
typedef struct sgemm__tile {
  const float *A, *B; /* op(A) at (first row, k = 0); op(B) at (k = 0, first column) */
  float *C;           /* C at (first row, first column) */
  int rows, cols;     /* rows and columns of the tile inside C: 1 to BM, 1 to BN */
} sgemm__tile;

/* Where a tile lies in the result: its matrix of the batch, and its first row and column. */
typedef struct sgemm__tile_position {
  int64_t matrix, row, col;
} sgemm__tile_position;

SGEMM__DEVICE int sgemm__clip(int64_t rest, int most) { return rest < most ? (int)rest : most; }

/* 1 if the block has work: its y and z are the number of a matrix of the batch, and in a tensor mode the fallback
   reason selects this kernel. */
SGEMM__DEVICE int sgemm__has_work(const sgemm__args *p) {
  return sgemm__block_yz() < p->batch &&
         (p->fallback_reason == NULL || (*p->fallback_reason != 0) == p->run_on_fallback);
}

/* The PDL wait at the start of a kernel. In serial split-K several launches divide k and add to C, in their order. The
   first launch waits, and then its trigger lets the blocks of the next launch start, which load and multiply operands
   meanwhile. Every later launch executes its PDL wait before it reads C: sgemm__wait_for_c(). The wait returns when the
   preceding launch has completed, and that launch completed only after its own wait. So the launches add to C in their
   order.
     The operands were complete before the first launch's wait returned, and a later launch starts after that. The PTX
   ISA guarantees visibility only for griddepcontrol.wait. A later launch, which reads operands before its own wait,
   relies on the start of a kernel, which invalidates the L1. No kernel that packs operands runs between the
   launches. */
SGEMM__DEVICE void sgemm__begin(const sgemm__args *p, const sgemm__shape *s) {
  if (s->serial && p->follows)
    sgemm__pdl_defer();
  else
    sgemm__pdl_wait();
  if (s->serial && p->precedes)
    sgemm__pdl_trigger();
}
SGEMM__DEVICE void sgemm__wait_for_c(const sgemm__args *p, const sgemm__shape *s) {
  if (s->serial && p->follows)
    sgemm__pdl_wait();
}

/* Rasterization: the tiles of C are numbered by raster groups of SGEMM__RASTER_ROWS tile rows, within a group by tile
   columns, within a tile column by rows. Blocks of one wave then cover a compact part of C and reuse A and B in the
   L2. */
#define SGEMM__RASTER_ROWS 16

typedef struct sgemm__tile_coord {
  uint32_t row, col; /* tile row, tile column */
} sgemm__tile_coord;

SGEMM__DEVICE sgemm__tile_coord sgemm__rasterize(const sgemm__args *p, uint32_t number) {
  /* group: tiles of a full raster group. */
  const uint32_t group = (p->tiles_m < SGEMM__RASTER_ROWS ? p->tiles_m : SGEMM__RASTER_ROWS) * p->tiles_n;
  const uint32_t top = number / group * SGEMM__RASTER_ROWS, index = number % group;
  const uint32_t rows_left = p->tiles_m - top < SGEMM__RASTER_ROWS ? p->tiles_m - top : SGEMM__RASTER_ROWS;
  sgemm__tile_coord at;
  at.row = top + index % rows_left;
  at.col = index / rows_left;
  return at;
}

/* sgemm__tile_at(): the tile at a coordinate in a matrix of the batch. sgemm__tile_by_number(): the tile with a number
   in raster order. sgemm__tile_of_block(): the tile with a number in raster order in the matrix of the block's y and
   z. */
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

SGEMM__DEVICE sgemm__tile_position sgemm__tile_position_of(const sgemm__shape *s, sgemm__tile_coord at, int64_t batch) {
  const sgemm__tile_position position = {batch, (int64_t)at.row * s->BM, (int64_t)at.col * s->BN};
  return position;
}

SGEMM__DEVICE sgemm__tile sgemm__tile_by_number(const sgemm__args *p, const sgemm__shape *s, uint32_t number,
                                                int64_t batch) {
  return sgemm__tile_at(p, s, sgemm__rasterize(p, number), batch);
}

SGEMM__DEVICE sgemm__tile sgemm__tile_of_block(const sgemm__args *p, const sgemm__shape *s, uint32_t number) {
  return sgemm__tile_by_number(p, s, number, sgemm__block_yz());
}

/* The TM x TN results of the block's tile that a thread owns, in groups of V rows x V columns. row_stride and
   col_stride are the row and column strides from one group to the next. The lanes of a warp tile own consecutive
   groups, WM/TM of them along m and WN/TN along n, so that shared loads have no bank conflicts and stores to C are
   coalesced.
     Lanes 4q to 4q + 3 of a warp own 2 x 2 consecutive groups: lanes i and i ^ 1 load the same elements of A, lanes i
     and i ^ 2 the same of B. The hardware serves such a 128-bit shared load of a warp in 2 wavefronts instead of 4. */
typedef struct sgemm__thread_tile {
  int row, col;               /* row and column of the thread's first result in the tile */
  int row_stride, col_stride; /* constants: WM/TM * V, WN/TN * V */
  int col_xor;                /* element v of a vector belongs to column v ^ col_xor of it; not 0 in tma alone */
} sgemm__thread_tile;

SGEMM__DEVICE sgemm__thread_tile sgemm__thread_tile_of(const sgemm__shape *s) {
  const int lanes_m = s->WM / s->TM, lanes_n = s->WN / s->TN; /* threads of a warp tile along m and n */
  const int t = sgemm__thread() % (SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, 1)); /* in its sliced-K group */
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
