/* sgemm/launch/reduction.h: sgemm_run_reduction(). The result is computed in slabs: blocks of rows and columns, or
   whole matrices of a batch, about as large as the L2. Each slab is a call of sgemm_run_stage() for sums of products,
   and a kernel that reads them, applies the epilogue and reduces. */
#ifndef SGEMM_LAUNCH_REDUCTION_H
#define SGEMM_LAUNCH_REDUCTION_H

/* A reduction in row-major terms. */
typedef struct sgemm__reduction {
  sgemm__args whole; /* alpha and beta are those of the call; C is unused */
  sgemm_reduction_params r;
  float *D; /* the caller's, NULL: the result is not stored */
  int mode, along_n;
} sgemm__reduction;

/* How the slabs divide the result and the workspace. */
typedef struct sgemm__slabs {
  int64_t matrices, rows, cols;  /* of a slab; the last ones may be smaller */
  int64_t block_rows;            /* rows whose partial values the workspace holds */
  int64_t ld;                    /* floats from a row of a slab to the next: cols rounded up to a multiple of 4 */
  int64_t per_part, part_stride; /* as in sgemm__reduction_args */
  int parts, log2_lanes;         /* as in sgemm__reduction_args */
  int prepares_b;                /* 1: the slabs of a column share the split terms of B */
  int64_t partials;              /* partial values; 0: none */
  int64_t partial_bytes, prepared_bytes, sum_bytes, plan_bytes; /* in this order in the workspace */
  double cost;                                                  /* estimated us of all slabs */
} sgemm__slabs;

enum {
  SGEMM__REDUCTION_LIMIT = 64 << 20, /* bytes of workspace that a call asks for, for each SGEMM__REDUCTION_K of k */
  SGEMM__REDUCTION_K = 1024,
  SGEMM__PARTIAL_LIMIT = 1 << 18, /* partial values, if more rows could have them */
  SGEMM__PART_STEPS = 4,          /* vectors that a thread reduces, at least, if there are several parts */
  SGEMM__PART_BLOCKS = 4,         /* resident blocks of the reducing kernels on an SM */
  SGEMM__SLAB_CANDIDATES = 6,     /* numbers of columns */
  SGEMM__SLAB_US = 8              /* us of a slab that its size does not change: launches, and waits for them */
};

/* Bytes of workspace that a call asks for, at most: split operands need more with more k. */
static inline int64_t sgemm__reduction_limit(const sgemm__reduction *c) {
  const int64_t units = sgemm__ceil_div(c->whole.k, SGEMM__REDUCTION_K);
  return SGEMM__REDUCTION_LIMIT * sgemm__max(1, units < 1024 ? units : 1024);
}

static inline int64_t sgemm__align256(int64_t bytes) { return sgemm__ceil_div(bytes, 256) * 256; }

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
  s->prepared_bytes = s->prepares_b ? sgemm__align256(sgemm_prepared_bytes(&p, 'B')) : 0;
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
  s->cost = (double)count_m * (double)count_n * (sgemm_plan_estimate(&plan, &p, device) + (double)SGEMM__SLAB_US);
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

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

/* Where a slab begins, and its size. */
typedef struct sgemm__slab {
  int64_t matrix, row, col, matrices, rows, cols;
} sgemm__slab;

/* Args of a reduction's kernels for a slab, or for all of the result, which sgemm_reduce_direct multiplies itself.
   memory: the workspace. */
static inline sgemm__reduction_args sgemm__reduction_args_of(const sgemm__reduction *c, const sgemm__slabs *s,
                                                             const sgemm__slab *t, char *memory) {
  sgemm__reduction_args args;
  const int64_t kept = c->along_n ? t->row : t->col;
  memset(&args, 0, sizeof args);
  args.gemm = c->whole;
  args.gemm.m = t->rows;
  args.gemm.n = t->cols;
  args.gemm.batch = t->matrices;
  args.gemm.C = (float *)(memory + s->partial_bytes + s->prepared_bytes);
  args.gemm.ldc = s->ld;
  args.gemm.stride_c = t->rows * s->ld;
  sgemm__move_epilogue(&args.gemm.epilogue, t->matrix, t->row, t->col);
  args.ldd = c->whole.ldc;
  args.stride_d = c->whole.stride_c;
  args.D = c->D == NULL ? NULL : c->D + t->matrix * args.stride_d + t->row * args.ldd + t->col;
  args.stride = c->r.stride;
  args.values = c->r.values == NULL ? NULL : c->r.values + t->matrix * c->r.stride + kept;
  args.indices = c->r.indices == NULL ? NULL : c->r.indices + t->matrix * c->r.stride + kept;
  args.first = c->along_n ? t->col : t->row;
  args.parts = s->parts;
  args.per_part = s->per_part;
  args.log2_lanes = s->log2_lanes;
  args.along_n = c->along_n;
  args.accumulates = args.first > 0;
  args.reduction = c->r.reduction;
  return args;
}

/* Makes args have the partial values in the workspace, from number `kept` on: first their indices, then the values. */
static inline void sgemm__set_partials(sgemm__reduction_args *args, const sgemm__slabs *s, char *memory, int64_t kept) {
  args->partial_indices = (int64_t *)memory + kept;
  args->partial_values = (float *)(memory + 8 * s->partials) + kept;
  args->part_stride = s->part_stride;
}

/* The address of element `offset` of an operand, which is NULL if there are no products. */
static inline const float *sgemm__at(const float *operand, int64_t offset) {
  return operand == NULL ? NULL : operand + offset;
}

/* Multiplies a slab and reduces it. first_row: the first row with partial values in the workspace. */
static inline sgemm_status sgemm__run_slab(const sgemm__reduction *c, const sgemm__slabs *s, const sgemm__slab *t,
                                           int64_t first_row, char *memory, sgemm__target *to) {
  const sgemm__args *a = &c->whole;
  const int64_t groups = SGEMM__REDUCTION_THREADS >> s->log2_lanes, columns = (int64_t)4 << s->log2_lanes;
  const int64_t blocks = (c->along_n ? sgemm__ceil_div(t->rows, groups) : sgemm__ceil_div(t->cols, columns)) * s->parts;
  sgemm__reduction_args args = sgemm__reduction_args_of(c, s, t, memory);
  sgemm_params p = sgemm__slab_params(c, t->matrices, t->rows, t->cols);
  sgemm_status status;
  if (!sgemm__grid_fits((double)blocks, t->matrices))
    return SGEMM_ERROR_GRID;
  p.A = sgemm__at(p.A, t->matrix * a->stride_a + t->row * (a->trans_a ? 1 : a->lda));
  p.B = sgemm__at(p.B, t->matrix * a->stride_b + t->col * (a->trans_b ? a->ldb : 1));
  p.C = args.gemm.C;
  p.ldc = s->ld;
  p.stride_c = t->rows * s->ld;
  p.workspace = s->plan_bytes > 0 ? memory + s->partial_bytes + s->prepared_bytes + s->sum_bytes : NULL;
  p.workspace_bytes = s->plan_bytes;
  p.prepared_b = s->prepares_b ? memory + s->partial_bytes : NULL;
  status = sgemm_run_stage(SGEMM_STAGE_ANY, &p, to->stream);
  if (status != SGEMM_SUCCESS)
    return status;
  if (s->partials > 0) {
    const int64_t kept = c->along_n ? t->row - first_row : 0;
    sgemm__set_partials(&args, s, memory, kept);
  }
  return sgemm__emit(SGEMM__REDUCE_SLAB, 0, sgemm__grid_of(blocks, t->matrices, SGEMM__REDUCTION_THREADS, 0), &args,
                     to);
}

/* Combines the partial values of a block of rows or of columns, which t describes, to results. */
static inline sgemm_status sgemm__launch_parts(const sgemm__reduction *c, const sgemm__slabs *s, const sgemm__slab *t,
                                               char *memory, sgemm__target *to) {
  const int64_t blocks = sgemm__ceil_div(c->along_n ? t->rows : t->cols, SGEMM__REDUCTION_THREADS);
  sgemm__reduction_args args = sgemm__reduction_args_of(c, s, t, memory);
  if (s->partials == 0)
    return SGEMM_SUCCESS;
  sgemm__set_partials(&args, s, memory, 0);
  return sgemm__emit(SGEMM__REDUCE_PARTS, 0, sgemm__grid_of(blocks, t->matrices, SGEMM__REDUCTION_THREADS, 0), &args,
                     to);
}

/* Splits the columns of B that a block's slabs share. */
static inline sgemm_status sgemm__prepare_columns(const sgemm__reduction *c, const sgemm__slabs *s,
                                                  const sgemm__slab *t, char *memory, sgemm_stream stream) {
  const sgemm__args *a = &c->whole;
  sgemm_params p = sgemm__slab_params(c, t->matrices, t->rows, t->cols);
  p.B += t->matrix * a->stride_b + t->col * (a->trans_b ? a->ldb : 1);
  return s->prepares_b ? sgemm_prepare(&p, 'B', memory + s->partial_bytes, stream) : SGEMM_SUCCESS;
}

/* Runs the slabs of `rows` rows from `first` on, whose partial values fit into the workspace together. The order is
   column by column of slabs, so that the slabs of one column share the split terms of B. */
static inline sgemm_status sgemm__run_rows(const sgemm__reduction *c, const sgemm__slabs *s, int64_t matrix,
                                           int64_t matrices, int64_t first, int64_t rows, char *memory,
                                           sgemm__target *to) {
  sgemm__slab t = {matrix, first, 0, matrices, rows, 0};
  sgemm_status status = SGEMM_SUCCESS;
  for (t.col = 0; t.col < c->whole.n && status == SGEMM_SUCCESS; t.col += s->cols) {
    t.cols = c->whole.n - t.col < s->cols ? c->whole.n - t.col : s->cols;
    status = sgemm__prepare_columns(c, s, &t, memory, to->stream);
    for (t.row = first; t.row < first + rows && status == SGEMM_SUCCESS; t.row += s->rows) {
      t.rows = first + rows - t.row < s->rows ? first + rows - t.row : s->rows;
      status = sgemm__run_slab(c, s, &t, first, memory, to);
    }
    t.row = first;
    t.rows = rows;
    if (status == SGEMM_SUCCESS && !c->along_n)
      status = sgemm__launch_parts(c, s, &t, memory, to);
  }
  t.col = 0;
  return status == SGEMM_SUCCESS && c->along_n ? sgemm__launch_parts(c, s, &t, memory, to) : status;
}

static inline sgemm_status sgemm__run_slabs(const sgemm__reduction *c, const sgemm__slabs *s, char *memory,
                                            sgemm__target *to) {
  const int64_t m = c->whole.m, batch = c->whole.batch;
  sgemm_status status = SGEMM_SUCCESS;
  int64_t matrix, row;
  for (matrix = 0; matrix < batch; matrix += s->matrices)
    for (row = 0; row < m && status == SGEMM_SUCCESS; row += s->block_rows)
      status = sgemm__run_rows(c, s, matrix, batch - matrix < s->matrices ? batch - matrix : s->matrices, row,
                               m - row < s->block_rows ? m - row : s->block_rows, memory, to);
  return status;
}

/* Runs a reduction without a workspace: one kernel multiplies and reduces. A result without elements to reduce runs
   this way too. */
static inline sgemm_status sgemm__run_direct(const sgemm__reduction *c, sgemm__target *to) {
  const sgemm__args *a = &c->whole;
  const sgemm__slab all = {0, 0, 0, a->batch, a->m, a->n};
  const int64_t blocks = sgemm__ceil_div(c->along_n ? a->m : a->n, SGEMM__DIRECT_TILE);
  sgemm__slabs s;
  sgemm__reduction_args args;
  if (!sgemm__grid_fits((double)blocks, a->batch) || (c->along_n ? a->n : a->m) > INT32_MAX)
    return SGEMM_ERROR_GRID;
  memset(&s, 0, sizeof s);
  s.parts = 1;
  s.log2_lanes = c->along_n ? 2 : 4; /* a group for each row of a tile, or a lane for each vector of columns */
  args = sgemm__reduction_args_of(c, &s, &all, NULL);
  return sgemm__emit(SGEMM__REDUCE_DIRECT, 0, sgemm__grid_of(blocks, a->batch, SGEMM__REDUCTION_THREADS, 0), &args, to);
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

/* The reduction of checked arguments. */
static inline sgemm__reduction sgemm__reduction_of(const sgemm_params *p, const sgemm_reduction_params *r) {
  const sgemm_params with = sgemm__with_result(p);
  sgemm__reduction c;
  c.whole = sgemm__args_of(&with);
  c.r = *r;
  c.D = p->D;
  c.mode = p->mode;
  c.along_n = (r->axis == SGEMM_EACH_ROW) == (p->order == SGEMM_ROW_MAJOR);
  return c;
}

/* 1 if the result has elements. */
static inline int sgemm__has_elements(const sgemm_params *p) { return p->m > 0 && p->n > 0 && p->batch > 0; }

sgemm_status sgemm_reduction_workspace_query(const sgemm_params *p, const sgemm_reduction_params *r, int64_t *bytes) {
  sgemm_status status = sgemm_check_reduction(p, r);
  sgemm__reduction c;
  sgemm_device device;
  sgemm__slabs s;
  if (status != SGEMM_SUCCESS)
    return status;
  *bytes = 0;
  if (!sgemm__has_elements(p))
    return SGEMM_SUCCESS;
  status = sgemm_device_query(-1, &device);
  if (status != SGEMM_SUCCESS)
    return status;
  c = sgemm__reduction_of(p, r);
  if (sgemm__choose_slabs(&s, &c, &device, sgemm__reduction_limit(&c)))
    *bytes = sgemm__slabs_bytes(&s);
  return SGEMM_SUCCESS;
}

/* Runs the slabs in memory of the stream-ordered allocator; with less memory, if it cannot be had, and then without. */
static inline sgemm_status sgemm__run_allocated(const sgemm__reduction *c, const sgemm_device *device,
                                                sgemm__target *to) {
  int64_t limit = sgemm__reduction_limit(c);
  sgemm__slabs s;
  for (; sgemm__choose_slabs(&s, c, device, limit); limit /= 4) {
    void *memory;
    sgemm_status status = sgemm__allocate(&memory, sgemm__slabs_bytes(&s), to->stream), freed;
    if (status == SGEMM_ERROR_WORKSPACE)
      continue;
    if (status != SGEMM_SUCCESS)
      return status;
    status = sgemm__run_slabs(c, &s, (char *)memory, to);
    freed = sgemm__free(memory, to->stream);
    return status != SGEMM_SUCCESS ? status : freed;
  }
  return sgemm__run_direct(c, to);
}

sgemm_status sgemm_run_reduction(const sgemm_params *p, const sgemm_reduction_params *r, sgemm_stream stream) {
  sgemm__target to = sgemm__to_stream(stream);
  sgemm_status status = sgemm_check_reduction(p, r);
  sgemm__reduction c;
  sgemm_device device;
  sgemm__slabs s;
  if (status != SGEMM_SUCCESS || p->batch == 0 || (r->axis == SGEMM_EACH_ROW ? p->m : p->n) == 0)
    return status;
  c = sgemm__reduction_of(p, r);
  if (!sgemm__has_elements(p))
    return sgemm__run_direct(&c, &to);
  status = sgemm_device_query(-1, &device);
  if (status != SGEMM_SUCCESS)
    return status;
  if (p->workspace_bytes == SGEMM_WORKSPACE_AUTO)
    return sgemm__run_allocated(&c, &device, &to);
  return sgemm__choose_slabs(&s, &c, &device, p->workspace_bytes) ? sgemm__run_slabs(&c, &s, (char *)p->workspace, &to)
                                                                  : sgemm__run_direct(&c, &to);
}

#endif /* SGEMM_LAUNCH_REDUCTION_H */
