/* sgemm/launch/slabs.h: how a reduction is divided into slabs: blocks of rows and columns, or whole matrices of a
   batch, about as large as the L2, whose sums of products are stored. Those of sgemm/launch/tile_slabs.h store none. */
#ifndef SGEMM_LAUNCH_SLABS_H
#define SGEMM_LAUNCH_SLABS_H

/* A reduction in row-major terms. */
typedef struct sgemm__reduction {
  sgemm__args whole; /* alpha and beta are those of the call; C is unused */
  sgemm_reduction_params r;
  float *D; /* the caller's, NULL: the result is not stored */
  int mode, along_n;
} sgemm__reduction;

/* How the slabs divide the result and the workspace. */
typedef struct sgemm__slabs {
  int64_t matrices, rows, cols;  /* sizes of a slab; the last one of a direction may be smaller */
  int64_t block_rows;            /* rows whose partial values the workspace holds */
  int64_t ld;                    /* floats from a row of a slab to the next: cols rounded up to a multiple of 4 */
  int64_t per_part, part_stride; /* as in sgemm__reduction_args */
  int parts, log2_lanes;         /* as in sgemm__reduction_args */
  int in_tiles, fallback_parts;  /* in_tiles: 1: kernels reduce the tiles (tile_slabs.h). fallback_parts: as in
                                    sgemm__tile_reduction_args */
  int prepares_b;                /* 1: the slabs of a column share the split terms of B */
  int64_t partials;              /* partial values; 0: none */
  int64_t partial_bytes, prepared_bytes, sum_bytes, plan_bytes; /* bytes of the parts of the workspace, in this order;
                                                                   with in_tiles plan_bytes comes before sum_bytes */
  double cost;                                                  /* estimated us of all slabs */
} sgemm__slabs;

enum {
  /* Bytes of workspace that a call asks for, for each SGEMM__REDUCTION_K of k: below the 64 MiB that
     sgemm_reduction_workspace_query() promises. */
  SGEMM__REDUCTION_LIMIT = 63 << 20,
  SGEMM__REDUCTION_K = 1024,
  SGEMM__PARTIAL_LIMIT = 1 << 18, /* partial values, if more rows could have them */
  SGEMM__PART_STEPS = 4,          /* vectors that a thread reduces, at least, if there are several parts */
  SGEMM__PART_BLOCKS = 4,         /* resident blocks of the reducing kernels on an SM */
  SGEMM__SLAB_CANDIDATES = 6,     /* numbers of columns */
  SGEMM__SLAB_US = 8,             /* us of a slab that its size does not change: launches, and waits for them */
  SGEMM__REDUCE_RATE = 4800       /* elements that an SM reduces in 1 us (docs/notebook/reductions.md) */
};

/* Bytes of workspace that a call asks for, at most: split operands need more with more k. */
static inline int64_t sgemm__reduction_limit(const sgemm__reduction *c) {
  const int64_t units = sgemm__ceil_div(c->whole.k, SGEMM__REDUCTION_K);
  return SGEMM__REDUCTION_LIMIT * sgemm__max(1, units < 1024 ? units : 1024);
}

static inline int64_t sgemm__align256(int64_t bytes) { return sgemm__ceil_div(bytes, 256) * 256; }

/* Where a slab begins, and its size. */
typedef struct sgemm__slab {
  int64_t matrix, row, col, matrices, rows, cols;
} sgemm__slab;

/* The address of element `offset` of an operand, which is NULL if there are no products. */
static inline const float *sgemm__at(const float *operand, int64_t offset) {
  return operand == NULL ? NULL : operand + offset;
}

/* ---- Division into slabs ----------------------------------------------------------------------------------------- */

/* The multiplication of a slab: sums of products, without memory for them. */
static inline sgemm_params sgemm__slab_params(const sgemm__reduction *c, int64_t matrices, int64_t rows, int64_t cols) {
  const sgemm__args *a = &c->whole;
  sgemm_params p = sgemm_params_init(a->trans_a ? SGEMM_T : SGEMM_N, a->trans_b ? SGEMM_T : SGEMM_N, rows, cols, a->k);
  p.A = a->A;
  p.B = a->B;
  p.lda = a->lda;
  p.ldb = a->ldb;
  p.stride_a = a->stride_a;
  p.stride_b = a->stride_b;
  p.batch = matrices;
  p.mode = c->mode;
  p.ldc = sgemm__ceil_div(cols, 4) * 4;
  p.stride_c = p.ldc * rows;
  return p;
}

/* Divides the reduced direction of a slab among the blocks of its kernel, as far as they run at the same time. */
static inline void sgemm__divide_parts(sgemm__slabs *s, const sgemm__reduction *c, const sgemm_device *device) {
  int64_t lanes, groups, blocks, steps, parts, most;
  s->log2_lanes = 0;
  while (s->log2_lanes < 5 && (4 << s->log2_lanes) < s->cols)
    s->log2_lanes++;
  lanes = (int64_t)1 << s->log2_lanes;
  groups = SGEMM__REDUCTION_THREADS >> s->log2_lanes;
  blocks = (c->along_n ? sgemm__ceil_div(s->rows, groups) : sgemm__ceil_div(s->cols, 4 * lanes)) * s->matrices;
  steps = c->along_n ? sgemm__ceil_div(s->cols, 4 * lanes) : sgemm__ceil_div(s->rows, groups);
  parts = SGEMM__PART_BLOCKS * device->multiprocessors / blocks;
  most = steps / SGEMM__PART_STEPS;
  s->parts = (int)sgemm__max(1, parts < most ? parts : most);
  s->per_part = sgemm__ceil_div(c->along_n ? sgemm__ceil_div(s->cols, 4) : s->rows, s->parts);
}

/* Sets the bytes of B that slabs with these params share, if they prepare it. Returns 0 if they are too many. */
static inline int sgemm__set_prepared_bytes(sgemm__slabs *s, const sgemm_params *p) {
  const int64_t bytes = s->prepares_b ? sgemm_prepared_bytes(p, 'B') : 0;
  s->prepared_bytes = bytes == INT64_MAX ? bytes : sgemm__align256(bytes);
  return bytes != INT64_MAX;
}

/* Lays out slabs of a size in at most `limit` bytes. Returns 0 if they do not fit. */
static inline int sgemm__lay_out_slabs(sgemm__slabs *s, const sgemm__reduction *c, const sgemm_device *device,
                                       int64_t limit) {
  const sgemm__args *a = &c->whole;
  const int64_t count_m = sgemm__ceil_div(a->m, s->rows), count_n = sgemm__ceil_div(a->n, s->cols);
  sgemm_params p = sgemm__slab_params(c, s->matrices, s->rows, s->cols);
  sgemm_plan plan;
  int64_t kept;
  sgemm__divide_parts(s, c, device);
  s->ld = p.ldc;
  s->block_rows = a->m;
  if (c->along_n && (s->parts > 1 || count_n > 1))
    s->block_rows = sgemm__max(1, SGEMM__PARTIAL_LIMIT / s->parts / s->rows) * s->rows;
  kept = c->along_n ? (s->block_rows < a->m ? s->block_rows : a->m) : s->cols;
  s->part_stride = kept;
  s->partials = s->parts > 1 || (c->along_n ? count_n : count_m) > 1 ? kept * s->parts * s->matrices : 0;
  s->partial_bytes = sgemm__align256(12 * s->partials);
  s->sum_bytes = sgemm__align256(4 * s->rows * s->ld * s->matrices);
  s->prepares_b = c->mode != SGEMM_STRICT && a->k > 0 && count_m > 1 && sgemm_tensor_compiled();
  if (!sgemm__set_prepared_bytes(s, &p))
    return 0;
  p.workspace_bytes = limit - s->partial_bytes - s->prepared_bytes - s->sum_bytes;
  if (p.workspace_bytes < 0)
    return 0;
  if (s->prepares_b)
    p.prepared_b = &s->ld; /* not read: any address that is not NULL */
  plan = sgemm__recent_select(&p, SGEMM_STAGE_ANY, device);
  if (s->prepares_b && plan.tensor == SGEMM_TENSOR_VARIANT_NONE) {
    s->prepares_b = 0;
    s->prepared_bytes = 0;
    p.prepared_b = NULL;
    p.mode = SGEMM_STRICT;
    plan = sgemm__recent_select(&p, SGEMM_STAGE_ANY, device);
  }
  if (plan.variant == SGEMM_VARIANT_NONE)
    return 0;
  s->plan_bytes = sgemm__align256(sgemm_plan_workspace(&plan, &p));
  if (s->plan_bytes > p.workspace_bytes)
    s->plan_bytes = p.workspace_bytes / 256 * 256;
  s->cost = (double)sgemm__ceil_div(a->batch, s->matrices) * (double)count_m * (double)count_n *
            (sgemm_plan_estimate(&plan, &p, device) + (double)SGEMM__SLAB_US +
             (double)s->rows * (double)s->cols * (double)s->matrices / device->multiprocessors /
                 (double)SGEMM__REDUCE_RATE);
  return 1;
}

static inline int64_t sgemm__slabs_bytes(const sgemm__slabs *s) {
  return s->partial_bytes + s->prepared_bytes + s->sum_bytes + s->plan_bytes;
}

/* Finds the slabs of at most `elements` elements with the lowest estimated time. Returns 0 if none fits into `limit`
   bytes. */
static inline int sgemm__choose_slabs_of(sgemm__slabs *best, const sgemm__reduction *c, const sgemm_device *device,
                                         double elements, int64_t limit) {
  enum { MIN_ROWS = 128, TILE = 256 }; /* a slab has whole tiles */
  const int64_t m = c->whole.m, n = c->whole.n;
  const double least_rows = m < MIN_ROWS ? (double)m : (double)MIN_ROWS;
  sgemm__slabs s;
  int64_t divisor, candidate;
  int found = 0;
  memset(&s, 0, sizeof s);
  if ((double)m * (double)n <= elements) {
    const double matrices = elements / ((double)m * (double)n);
    s.matrices = matrices < (double)c->whole.batch ? (int64_t)matrices : c->whole.batch;
    s.rows = m;
    s.cols = n;
    *best = s;
    return sgemm__lay_out_slabs(best, c, device, limit);
  }
  divisor = (int64_t)sgemm__ceil(least_rows * (double)n / elements);
  for (candidate = 0; candidate < SGEMM__SLAB_CANDIDATES; candidate++) {
    s.matrices = 1;
    s.cols = divisor == 1 ? n : sgemm__ceil_div(sgemm__ceil_div(n, divisor), TILE) * TILE;
    s.cols = s.cols < n ? s.cols : n;
    s.rows = elements / (double)s.cols < (double)m ? (int64_t)(elements / (double)s.cols) : m;
    s.rows = s.rows < m && s.rows > MIN_ROWS ? s.rows / MIN_ROWS * MIN_ROWS : sgemm__max(1, s.rows);
    if (sgemm__lay_out_slabs(&s, c, device, limit) && (!found || s.cost < best->cost)) {
      *best = s;
      found = 1;
    }
    divisor = sgemm__max(divisor + 1, divisor * 4 / 3);
  }
  return found;
}

/* The slabs for a workspace, at most a third larger than the L2: larger ones have fewer launches and partial waves, and
   most of a slab is still in the L2 when it is read (docs/notebook/reductions.md). Returns 0 if slabs do not fit into
   `limit` bytes. */
static inline int sgemm__choose_slabs(sgemm__slabs *s, const sgemm__reduction *c, const sgemm_device *device,
                                      int64_t limit) {
  enum { LEAST = 1 << 12 }; /* elements */
  double elements = (double)device->l2_bytes / 3.0;
  for (; elements >= (double)LEAST; elements /= 2.0)
    if (sgemm__choose_slabs_of(s, c, device, elements, limit))
      return 1;
  return 0;
}

#endif /* SGEMM_LAUNCH_SLABS_H */
