/* sgemm/launch/reduction.h: sgemm_run_reduction(). The result is computed in slabs. Each slab is a call of
   sgemm_run_stage() for sums of products, and a kernel that reads them, applies the epilogue and reduces; or the
   multiplying kernels reduce their tiles (sgemm/launch/tile_slabs.h). */
#ifndef SGEMM_LAUNCH_REDUCTION_H
#define SGEMM_LAUNCH_REDUCTION_H

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

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
  args.gemm.C = memory == NULL ? NULL : (float *)(memory + s->partial_bytes + s->prepared_bytes);
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
                                           const sgemm_device *device, sgemm__target *to) {
  sgemm__slab t = {matrix, first, 0, matrices, rows, 0};
  sgemm_status status = SGEMM_SUCCESS;
  for (t.col = 0; t.col < c->whole.n && status == SGEMM_SUCCESS; t.col += s->cols) {
    t.cols = c->whole.n - t.col < s->cols ? c->whole.n - t.col : s->cols;
    status = sgemm__prepare_columns(c, s, &t, memory, to->stream);
    for (t.row = first; t.row < first + rows && status == SGEMM_SUCCESS; t.row += s->rows) {
      t.rows = first + rows - t.row < s->rows ? first + rows - t.row : s->rows;
      status = s->in_tiles ? sgemm__run_tiles_of_slab(c, s, &t, first, memory, device, to)
                           : sgemm__run_slab(c, s, &t, first, memory, to);
    }
    t.row = first;
    t.rows = rows;
    if (status == SGEMM_SUCCESS && !s->in_tiles && !c->along_n)
      status = sgemm__launch_parts(c, s, &t, memory, to);
  }
  t.col = 0;
  return status == SGEMM_SUCCESS && !s->in_tiles && c->along_n ? sgemm__launch_parts(c, s, &t, memory, to) : status;
}

static inline sgemm_status sgemm__run_slabs(const sgemm__reduction *c, const sgemm__slabs *s, char *memory,
                                            const sgemm_device *device, sgemm__target *to) {
  const int64_t m = c->whole.m, batch = c->whole.batch;
  sgemm_status status = SGEMM_SUCCESS;
  int64_t matrix, row;
  for (matrix = 0; matrix < batch; matrix += s->matrices)
    for (row = 0; row < m && status == SGEMM_SUCCESS; row += s->block_rows)
      status = sgemm__run_rows(c, s, matrix, batch - matrix < s->matrices ? batch - matrix : s->matrices, row,
                               m - row < s->block_rows ? m - row : s->block_rows, memory, device, to);
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

/* Chooses the slabs of a reduction for at most `limit` bytes: of the two kinds, those with the lower estimated time. *c
   becomes a reduction by rows if its tiles are reduced. Returns 0 if neither fits. */
static inline int sgemm__choose(sgemm__slabs *s, sgemm__reduction *c, const sgemm_device *device, int64_t limit) {
  const sgemm__reduction by_rows = sgemm__by_rows(c);
  const int slabs = sgemm__choose_slabs(s, c, device, limit);
  sgemm__slabs tiles;
  if (!sgemm__choose_tiles(&tiles, &by_rows, device, limit) || (slabs && s->cost <= tiles.cost))
    return slabs;
  *s = tiles;
  *c = by_rows;
  return 1;
}

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
  if (sgemm__choose(&s, &c, &device, sgemm__reduction_limit(&c)))
    *bytes = sgemm__slabs_bytes(&s);
  return SGEMM_SUCCESS;
}

/* Runs the slabs in memory of the stream-ordered allocator; with less memory, if it cannot be had, and then without. */
static inline sgemm_status sgemm__run_allocated(sgemm__reduction *c, const sgemm_device *device, sgemm__target *to) {
  int64_t limit = sgemm__reduction_limit(c);
  sgemm__slabs s;
  for (; sgemm__choose(&s, c, device, limit); limit /= 4) {
    void *memory;
    sgemm_status status = sgemm__allocate(&memory, sgemm__slabs_bytes(&s), to->stream), freed;
    if (status == SGEMM_ERROR_WORKSPACE)
      continue;
    if (status != SGEMM_SUCCESS)
      return status;
    status = sgemm__run_slabs(c, &s, (char *)memory, device, to);
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
  return sgemm__choose(&s, &c, &device, p->workspace_bytes)
             ? sgemm__run_slabs(&c, &s, (char *)p->workspace, &device, &to)
             : sgemm__run_direct(&c, &to);
}

#endif /* SGEMM_LAUNCH_REDUCTION_H */
