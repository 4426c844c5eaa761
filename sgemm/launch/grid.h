/* sgemm/launch/grid.h: the grid of a launch, and the one check of its limits. */
#ifndef SGEMM_LAUNCH_GRID_H
#define SGEMM_LAUNCH_GRID_H

/* Limits of a grid: x up to 2^31 - 1, y and z up to 65535 (CUDA C++ Programming Guide, "Technical Specifications per
   Compute Capability"). */
#define SGEMM__GRID_X_LIMIT 2147483647.0
#define SGEMM__GRID_YZ_LIMIT 65535

/* 1 if `blocks` blocks fit into x, and `batch` matrices, or scale blocks, into y and z. */
static inline int sgemm__grid_fits(double blocks, int64_t batch) {
  return blocks <= SGEMM__GRID_X_LIMIT && batch <= (int64_t)SGEMM__GRID_YZ_LIMIT * SGEMM__GRID_YZ_LIMIT;
}

/* A grid that fits. blocks: blocks in x. batch: minimum of y * z. threads, shared: threads, and bytes of dynamic shared
   memory, of a block. */
static inline sgemm__grid sgemm__grid_of(int64_t blocks, int64_t batch, int threads, int shared) {
  sgemm__grid grid;
  grid.x = (unsigned)blocks;
  grid.z = (unsigned)sgemm__ceil_div(batch, SGEMM__GRID_YZ_LIMIT);
  grid.y = (unsigned)sgemm__ceil_div(batch, grid.z);
  grid.threads = (unsigned)threads;
  grid.cluster = 1;
  grid.shared = (unsigned)shared;
  return grid;
}

#endif /* SGEMM_LAUNCH_GRID_H */
