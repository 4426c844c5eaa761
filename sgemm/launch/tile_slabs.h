/* sgemm/launch/tile_slabs.h: reductions whose multiplying kernels reduce the rows of each tile and store a partial
   value for each, not the results. Their slabs need no memory for sums of products, and are larger than the L2. */
#ifndef SGEMM_LAUNCH_TILE_SLABS_H
#define SGEMM_LAUNCH_TILE_SLABS_H

/* The plan of the reducing kernel of tma, of which there is one. Tensor-core variants of 256 columns reduce too. */
SGEMM__ASSERT(SGEMM__REDUCING(sgemm_tma_64x64x32_16x8), "the variant has a reducing kernel")
static inline sgemm_plan sgemm__strict_tile_plan(void) { return sgemm__plain_plan(SGEMM_tma_64x64x32_16x8); }

/* Reduction c along rows. A reduction of columns becomes one of the rows of C' = op(B)' op(A)'. */
static inline sgemm__reduction sgemm__by_rows(const sgemm__reduction *c) {
  const sgemm__args *a = &c->whole;
  const sgemm__epilogue_args *e = &a->epilogue;
  sgemm__reduction t = *c;
  if (c->along_n)
    return t;
  t.along_n = 1;
  t.whole.m = a->n;
  t.whole.n = a->m;
  t.whole.A = a->B;
  t.whole.B = a->A;
  t.whole.lda = a->ldb;
  t.whole.ldb = a->lda;
  t.whole.stride_a = a->stride_b;
  t.whole.stride_b = a->stride_a;
  t.whole.trans_a = !a->trans_b;
  t.whole.trans_b = !a->trans_a;
  t.whole.epilogue.vec_m = e->vec_n;
  t.whole.epilogue.vec_n = e->vec_m;
  t.whole.epilogue.stride_vec_m = e->stride_vec_n;
  t.whole.epilogue.stride_vec_n = e->stride_vec_m;
  t.whole.epilogue.col_major = !e->col_major;
  return t;
}

/* 1 if the reducing kernels have the epilogue of a call. */
static inline int sgemm__epilogue_in_tiles(const sgemm__epilogue_args *e) {
  switch (e->number) {
#define SGEMM__X(name, reads, expression, what)                                                                        \
  case SGEMM_EPILOGUE_##name:                                                                                          \
    return SGEMM__IN_TILES(name);
    SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X
  default:
    return 0;
  }
}

/* 1 if the reducing kernels can run a reduction by rows: both operands are K-major, tensor maps can describe them, and
   the epilogue reads no matrix and no scalar of device memory. The vector along m continues from matrix to matrix, that
   along n is one for all. */
static inline int sgemm__reduces_in_tiles(const sgemm__reduction *c, const sgemm_device *device) {
  const sgemm_plan strict = sgemm__strict_tile_plan();
  const sgemm__args *a = &c->whole;
  const sgemm__epilogue_args *e = &a->epilogue;
  const int one = a->batch == 1;
  return a->k > 0 && !a->trans_a && a->trans_b && c->D == NULL && !sgemm__epilogue_reads_c(a) && e->alpha == NULL &&
         sgemm__epilogue_in_tiles(e) && (one || e->vec_m == NULL || e->stride_vec_m == a->m) &&
         (one || e->vec_n == NULL || e->stride_vec_n == 0) && sgemm_compiled(strict.variant) &&
         sgemm__possible(&strict, device) && sgemm__tma_countable(&strict, a) && !sgemm__must_repack(a, 0) &&
         !sgemm__must_repack(a, 1);
}

/* The plan of the slabs of a reduction. */
static inline sgemm_plan sgemm__tile_plan(const sgemm__reduction *c) {
  sgemm_plan plan = sgemm__strict_tile_plan();
  plan.tensor = c->mode == SGEMM_STRICT   ? SGEMM_TENSOR_VARIANT_NONE
                : c->mode == SGEMM_TENSOR ? SGEMM_wgmma_fp16x3_128x256
                                          : SGEMM_wgmma_bf16x6_128x256;
  return plan;
}

/* Columns of the tiles that the plan's first multiplication reduces. */
static inline int sgemm__tile_columns(const sgemm_plan *plan) {
  const sgemm_tensor_variant_info *tensor = sgemm__tensor_variant_get(plan->tensor);
  return tensor != NULL ? tensor->BN : sgemm__variant_get(plan->variant)->BN;
}

/* ---- Division into slabs ----------------------------------------------------------------------------------------- */

/* Lays out slabs of a size. Returns 0 if the launches of one do not fit their grids. */
static inline int sgemm__lay_out_tiles(sgemm__slabs *s, const sgemm__reduction *c, const sgemm_device *device) {
  const sgemm__args *a = &c->whole;
  const sgemm_plan plan = sgemm__tile_plan(c);
  const sgemm_variant_info *v = sgemm__variant_get(plan.variant);
  const sgemm_tensor_variant_info *tensor = sgemm__tensor_variant_get(plan.tensor);
  const int64_t count_m = sgemm__ceil_div(a->m, s->rows), count_n = sgemm__ceil_div(a->n, s->cols);
  const int64_t rows = s->rows * s->matrices;
  sgemm_params p = sgemm__slab_params(c, s->matrices, s->rows, s->cols);
  sgemm__tma_args strict;
  int64_t strict_bytes;
  s->in_tiles = 1;
  s->parts = (int)sgemm__ceil_div(s->cols, sgemm__tile_columns(&plan));
  s->fallback_parts = (int)sgemm__ceil_div(s->cols, v->BN);
  s->block_rows = count_n > 1 ? sgemm__max(1, SGEMM__PARTIAL_LIMIT / s->rows) * s->rows : a->m;
  s->partials = count_n > 1 ? (s->block_rows < a->m ? s->block_rows : a->m) : 0;
  s->partial_bytes = sgemm__align256(8 * s->partials);
  s->prepares_b = tensor != NULL && count_m > 1;
  if (!sgemm__set_prepared_bytes(s, &p))
    return 0;
  p.prepared_b = s->prepares_b ? &s->ld : NULL; /* not read: any address that is not NULL */
  strict.gemm = sgemm__args_of(&p);
  s->plan_bytes = 0;
  s->sum_bytes = 8 * rows * s->parts;
  if (tensor != NULL) {
    const sgemm__tensor_layout l = sgemm__tensor_layout_of(&plan, &p, &strict.gemm);
    if (l.bytes == INT64_MAX || !sgemm__tensor_tiles_fit(plan.tensor, &strict.gemm) || !sgemm__splits_fit(&l, a->k))
      return 0;
    s->plan_bytes = sgemm__align256(l.bytes);
    strict_bytes = 8 * rows * s->fallback_parts; /* behind the guard's words, over the split operands */
    s->sum_bytes = sgemm__max(s->sum_bytes, SGEMM__GUARD_BYTES + strict_bytes - s->plan_bytes);
  }
  s->sum_bytes = sgemm__align256(s->sum_bytes);
  return sgemm__schedule_tiles(&plan, device, &strict) > 0 && sgemm__grid_fits((double)rows, 1);
}

/* 1 if slabs of so many rows fit into `limit` bytes. */
static inline int sgemm__rows_fit(sgemm__slabs *s, const sgemm__reduction *c, const sgemm_device *device, int64_t rows,
                                  int64_t limit) {
  s->rows = rows < c->whole.m ? rows : c->whole.m;
  return sgemm__lay_out_tiles(s, c, device) && sgemm__slabs_bytes(s) <= limit;
}

/* The estimated time of all slabs in us. */
static inline double sgemm__tile_slabs_us(const sgemm__slabs *s, const sgemm__reduction *c,
                                          const sgemm_device *device) {
  const sgemm__args *a = &c->whole;
  const sgemm_plan plan = sgemm__tile_plan(c);
  const int64_t count_m = sgemm__ceil_div(a->m, s->rows), rest = a->m - (count_m - 1) * s->rows;
  const double columns = (double)sgemm__ceil_div(a->n, s->cols), blocks = (double)sgemm__ceil_div(a->m, s->block_rows);
  const double batches = (double)sgemm__ceil_div(a->batch, s->matrices);
  /* The split of B reads and writes each element, at the bandwidth of the memory in bytes a us. */
  const double prepare = s->prepares_b ? 8.0 * (double)s->cols * (double)a->k / (device->bandwidth_gbs * 1e3) : 0.0;
  sgemm_params whole = sgemm__slab_params(c, s->matrices, s->rows, s->cols), last = whole;
  last.m = rest;
  whole.prepared_b = last.prepared_b = s->prepares_b ? &s->ld : NULL;
  return batches * columns *
         (blocks * prepare + (double)(count_m - 1) * sgemm_plan_estimate(&plan, &whole, device) +
          sgemm_plan_estimate(&plan, &last, device) + (double)count_m * (double)SGEMM__SLAB_US);
}

/* Replaces *best by slabs of these rows, if they fit and take less time. */
static inline void sgemm__consider_tiles(sgemm__slabs *best, const sgemm__slabs *like, const sgemm__reduction *c,
                                         const sgemm_device *device, int64_t rows, int64_t limit) {
  sgemm__slabs s = *like;
  if (rows < 1 || !sgemm__rows_fit(&s, c, device, rows, limit))
    return;
  s.cost = sgemm__tile_slabs_us(&s, c, device);
  if (!best->in_tiles || s.cost < best->cost)
    *best = s;
}

/* Considers slabs of like->cols columns: of as many rows as fit, of whole waves of tiles, and of equal rows. */
static inline void sgemm__consider_columns(sgemm__slabs *best, const sgemm__slabs *like, const sgemm__reduction *c,
                                           const sgemm_device *device, int64_t limit) {
  enum { TILE = 128 }; /* rows of the tensor-core tiles, two of tma */
  const sgemm_plan plan = sgemm__tile_plan(c);
  const int64_t m = c->whole.m, tiles_n = sgemm__ceil_div(like->cols, sgemm__tile_columns(&plan));
  const int64_t wave = device->multiprocessors; /* tensor-core tiles; of tma two blocks run on an SM */
  int64_t fits = 1, too_many = sgemm__ceil_div(m, TILE) + 1, tiles;
  sgemm__slabs s = *like;
  if (!sgemm__rows_fit(&s, c, device, TILE, limit))
    return;
  while (too_many - fits > 1) {
    const int64_t middle = fits + (too_many - fits) / 2;
    if (sgemm__rows_fit(&s, c, device, middle * TILE, limit))
      fits = middle;
    else
      too_many = middle;
  }
  tiles = sgemm__max(1, fits * tiles_n / wave * wave / tiles_n);
  sgemm__consider_tiles(best, like, c, device, fits * TILE, limit);
  sgemm__consider_tiles(best, like, c, device, tiles * TILE, limit);
  tiles = sgemm__ceil_div(sgemm__ceil_div(m, sgemm__ceil_div(m, fits * TILE)), TILE);
  sgemm__consider_tiles(best, like, c, device, tiles * TILE, limit);
}

/* The slabs of a reduction by rows with the lowest estimated time. Returns 0 if its tiles cannot be reduced, or none
   fits into `limit` bytes. */
static inline int sgemm__choose_tiles(sgemm__slabs *best, const sgemm__reduction *c, const sgemm_device *device,
                                      int64_t limit) {
  enum { TILE = 256 };
  const sgemm_plan plan = sgemm__tile_plan(c);
  const sgemm_tensor_variant_info *tensor = sgemm__tensor_variant_get(plan.tensor);
  const int64_t m = c->whole.m, n = c->whole.n;
  sgemm__slabs s;
  int64_t divisor;
  int candidate;
  memset(best, 0, sizeof *best);
  memset(&s, 0, sizeof s);
  if (!sgemm__reduces_in_tiles(c, device) ||
      (tensor != NULL && (!sgemm_tensor_compiled() || !sgemm__tensor_possible(tensor, device))))
    return 0;
  s.cols = n;
  for (s.matrices = c->whole.batch; s.matrices > 1; s.matrices /= 2)
    if (sgemm__rows_fit(&s, c, device, m, limit)) {
      sgemm__consider_tiles(best, &s, c, device, m, limit);
      return best->in_tiles;
    }
  for (divisor = 1, candidate = 0; candidate < SGEMM__SLAB_CANDIDATES && divisor <= sgemm__ceil_div(n, TILE);
       divisor = sgemm__max(divisor + 1, divisor * 3 / 2)) {
    s.cols = divisor == 1 ? n : sgemm__ceil_div(sgemm__ceil_div(n, divisor), TILE) * TILE;
    sgemm__consider_columns(best, &s, c, device, limit);
    candidate += best->in_tiles;
  }
  return best->in_tiles;
}

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

/* Args of the multiplication of a slab. values: where its partial values go. */
static inline sgemm__args sgemm__tile_args(const sgemm__reduction *c, const sgemm__slab *t, float *values) {
  const sgemm__args *a = &c->whole;
  sgemm__args args = *a;
  args.m = t->rows;
  args.n = t->cols;
  args.batch = t->matrices;
  args.A += t->matrix * a->stride_a + t->row * a->lda;
  args.B += t->matrix * a->stride_b + t->col * a->ldb;
  args.C = values; /* not stored to */
  args.ldc = args.stride_c = 0;
  sgemm__move_epilogue(&args.epilogue, t->matrix, t->row, t->col);
  return args;
}

/* Launches the multiplication of a slab by tma. */
static inline sgemm_status sgemm__launch_tiles(const sgemm__reduction *c, const sgemm__args *args, float *values,
                                               const sgemm_device *device, sgemm__target *to) {
  const sgemm_plan plan = sgemm__strict_tile_plan();
  const sgemm_variant_info *v = sgemm__variant_get(plan.variant);
  sgemm__tma_args t;
  int64_t blocks;
  memset(&t, 0, sizeof t);
  t.gemm = *args;
  t.tile_values = values;
  t.reduction = c->r.reduction;
  blocks = sgemm__schedule_tiles(&plan, device, &t);
  return blocks == 0 ? SGEMM_ERROR_GRID
                     : sgemm__emit(plan.variant, SGEMM__FURTHER_KERNEL,
                                   sgemm__grid_of(blocks, 1, sgemm_variant_threads(v, device), v->shared), &t, to);
}

/* Launches the split and the multiplication of a slab on tensor cores. p: the slab, with its workspace. */
static inline sgemm_status sgemm__launch_tensor_tiles(const sgemm__reduction *c, const sgemm_params *p,
                                                      const sgemm__args *args, float *values,
                                                      const sgemm_device *device, sgemm__target *to) {
  const sgemm_plan plan = sgemm__tile_plan(c);
  const sgemm__tensor_layout l = sgemm__tensor_layout_of(&plan, p, args);
  sgemm__slice slice;
  sgemm__tensor_args t;
  sgemm_status status;
  memset(&slice, 0, sizeof slice);
  slice.args = *args;
  t = sgemm__tensor_args_of(&plan, &l, &slice, 0, (uint32_t *)p->workspace);
  t.tile_values = values;
  t.reduction = c->r.reduction;
  status = sgemm__launch_split(&t, sgemm__tensor_variant_get(plan.tensor)->format, to);
  return status != SGEMM_SUCCESS ? status : sgemm__launch_tensor(plan.tensor, &t, device, to);
}

/* Multiplies a slab by the reducing kernels, and combines the values of its tiles with those of the slabs before in the
   same rows. first_row: the first row with values in the workspace. */
static inline sgemm_status sgemm__run_tiles_of_slab(const sgemm__reduction *c, const sgemm__slabs *s,
                                                    const sgemm__slab *t, int64_t first_row, char *memory,
                                                    const sgemm_device *device, sgemm__target *to) {
  const sgemm_plan plan = sgemm__tile_plan(c);
  const int tensor = c->mode != SGEMM_STRICT, strict_columns = sgemm__variant_get(plan.variant)->BN;
  char *workspace = memory + s->partial_bytes + s->prepared_bytes;
  float *values = (float *)(workspace + s->plan_bytes),
        *strict_values = tensor ? (float *)(workspace + SGEMM__GUARD_BYTES) : values;
  sgemm__args args = sgemm__tile_args(c, t, values);
  sgemm__tile_reduction_args r;
  sgemm_status status = SGEMM_SUCCESS;
  memset(&r, 0, sizeof r);
  if (tensor) {
    sgemm_params p = sgemm__slab_params(c, t->matrices, t->rows, t->cols);
    p.workspace = workspace;
    p.workspace_bytes = s->plan_bytes;
    p.prepared_b = s->prepares_b ? memory + s->partial_bytes : NULL;
    status = sgemm__launch_tensor_tiles(c, &p, &args, values, device, to);
    args.fallback_reason = (const uint32_t *)workspace + SGEMM__WORD_STRICT;
    args.run_on_fallback = 1;
  }
  if (status == SGEMM_SUCCESS)
    status = sgemm__launch_tiles(c, &args, strict_values, device, to);
  r.slab.gemm = args;
  r.slab.values = c->r.values == NULL ? NULL : c->r.values + t->matrix * c->r.stride + t->row;
  r.slab.indices = c->r.indices == NULL ? NULL : c->r.indices + t->matrix * c->r.stride + t->row;
  r.slab.stride = c->r.stride;
  r.slab.first = t->col;
  r.slab.parts = (int)sgemm__ceil_div(t->cols, sgemm__tile_columns(&plan));
  r.slab.accumulates = t->col > 0;
  r.slab.reduction = c->r.reduction;
  r.tiles = values;
  r.fallback = strict_values;
  r.earlier = s->partials > 0 ? (float *)memory + 2 * (t->row - first_row) : NULL;
  r.fallback_parts = (int)sgemm__ceil_div(t->cols, strict_columns);
  r.ends = t->col + t->cols == c->whole.n;
  return status != SGEMM_SUCCESS
             ? status
             : sgemm__emit(SGEMM__REDUCE_TILES, 0,
                           sgemm__grid_of(sgemm__ceil_div(32 * t->rows * t->matrices, SGEMM__REDUCTION_THREADS), 1,
                                          SGEMM__REDUCTION_THREADS, 0),
                           &r, to);
}

#endif /* SGEMM_LAUNCH_TILE_SLABS_H */
