/* plan.h: the sizes of the tiles and panels of a call. */
#ifndef SGEMM_HOST_PLAN_H
#define SGEMM_HOST_PLAN_H

#include "sgemm.h"

/* A tile of C has block_m x block_n elements, a panel of A block_m x panel_k and a panel of B panel_k x block_n; the
   last ones of a row or column may be smaller. A result buffer holds one tile of C in device memory. */
typedef struct sgemm_host__plan {
  int64_t block_m, block_n, panel_k;
  int64_t tiles_m, tiles_n, panels_k; /* tiles of a column and of a row of C, panels of a tile */
  int panels, results;                /* panels and results that device memory has room for */
  int64_t panel_bytes, result_bytes, workspace_bytes;
  int64_t bytes; /* device memory in all */
} sgemm_host__plan;

/* What a plan has to keep to. block, panel: 0 is the default. workspace(): useful bytes for one multiplication. */
typedef struct sgemm_host__limits {
  int64_t memory_bytes;
  int devices;
  int64_t block, panel;
  int64_t (*workspace)(const sgemm_params *p);
} sgemm_host__limits;

/* The elements from a row of a rectangle in device memory to the next: a multiple of 128 bytes, so that every row is
   aligned for TMA and for 128-bit loads. */
static inline int64_t sgemm_host__pitch(int64_t width) { return (width + 31) / 32 * 32; }

/* The params of the multiplication of a tile of C by panels of k `depth`. p is row-major. */
sgemm_params sgemm_host__tile_params(const sgemm_params *p, int64_t rows, int64_t cols, int64_t depth);

/* Makes the plan of a row-major multiplication with products. A pure function of its arguments. Returns 0 if even the
   smallest tiles do not fit the memory. */
int sgemm_host__plan_make(const sgemm_params *p, const sgemm_host__limits *limits, sgemm_host__plan *plan);

#endif /* SGEMM_HOST_PLAN_H */
