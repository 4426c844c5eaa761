/* sgemm/launch/sequence.h: the launches of a plan, in order: pack or split the operands, multiply, reduce, fall back.
   The functions expect params that sgemm_check() has passed and that are not a quick return, and a plan that suits
   them. */
#ifndef SGEMM_LAUNCH_SEQUENCE_H
#define SGEMM_LAUNCH_SEQUENCE_H

/* ---- Split-K ----------------------------------------------------------------------------------------------------- */

/* Args whose results go to the split-K partitions in the workspace instead of to C, with rows padded to 16 bytes, alpha
   1 and beta 0. */
static inline sgemm__args sgemm__into_partitions(const sgemm__args *args, float *partials, int partitions) {
  sgemm__args into = *args;
  into.C = partials;
  into.ldc = sgemm__partition_ld(args);
  into.stride_c = sgemm__partition_floats(args) * partitions;
  into.alpha = 1.0f;
  into.beta = 0.0f;
  into.applies_epilogue = 0;
  return into;
}

/* ---- Epilogue ---------------------------------------------------------------------------------------------------- */

/* 1 if the kernels before sgemm_apply_epilogue compute alpha * sum + beta * C instead of the sums of products: C is D,
   and the sums would take its place before it is read. See sgemm__can_apply_after(). */
static inline int sgemm__scales_before(const sgemm__args *args) {
  return sgemm__epilogue_reads_c(args) && args->epilogue.C == args->C;
}

/* Args of kernels before sgemm_apply_epilogue. */
static inline sgemm__args sgemm__before_epilogue(const sgemm__args *args) {
  sgemm__args before = *args;
  before.applies_epilogue = 0;
  if (!sgemm__scales_before(args)) {
    before.alpha = 1.0f;
    before.beta = 0.0f;
  }
  return before;
}

/* Blocks of sgemm_apply_epilogue. */
static inline double sgemm__apply_blocks(const sgemm__args *args) {
  return sgemm__ceil((double)args->m * (double)sgemm__ceil_div(args->n, 4) / SGEMM__APPLY_THREADS);
}
static inline sgemm_status sgemm__launch_apply(const sgemm__args *args, sgemm__target *to) {
  sgemm__args after = *args;
  if (sgemm__scales_before(args)) {
    after.alpha = 1.0f;
    after.beta = 0.0f;
  }
  return sgemm__emit(SGEMM__APPLY_EPILOGUE, 0,
                     sgemm__grid_of((int64_t)sgemm__apply_blocks(args), args->batch, SGEMM__APPLY_THREADS, 0), &after,
                     to);
}

/* The kernel that sums partitions: the logarithm of the columns that a block sums, 2 for up to 4 columns of C, 7 for
   128; and its blocks. Narrow results have several rows in a block. */
static inline int sgemm__reduce_log2_cols(const sgemm__args *args) {
  int log2_cols = 2;
  while ((1 << log2_cols) < SGEMM__REDUCE_THREADS && (1 << log2_cols) < args->n)
    log2_cols++;
  return log2_cols;
}
static inline double sgemm__reduce_blocks(const sgemm__args *args) {
  const int log2_cols = sgemm__reduce_log2_cols(args);
  return (double)sgemm__ceil_div(args->m, SGEMM__REDUCE_THREADS >> log2_cols) *
         (double)sgemm__ceil_div(args->n, 1 << log2_cols);
}

static inline sgemm_status sgemm__launch_reduce(const sgemm__args *args, float *partials, int partitions,
                                                sgemm__target *to) {
  sgemm__reduce_args r;
  r.gemm = *args;
  r.partials = partials;
  r.ld_partials = sgemm__partition_ld(args);
  r.split_stride = sgemm__partition_floats(args);
  r.stride_partials = r.split_stride * partitions;
  r.partitions = partitions;
  r.log2_cols = sgemm__reduce_log2_cols(args);
  return sgemm__emit(SGEMM__REDUCE_SPLIT_K, 0,
                     sgemm__grid_of((int64_t)sgemm__reduce_blocks(args), args->batch, SGEMM__REDUCE_THREADS, 0), &r,
                     to);
}

/* The number of a variant's kernel for a call. */
static inline int sgemm__kernel_number_of(const sgemm_variant_info *v, const sgemm__args *args) {
  return v->fuses == 3 && args->applies_epilogue ? (int)SGEMM__FURTHER_KERNEL
                                                 : sgemm__kernel_number(v, args->trans_a, args->trans_b);
}

/* The k of each of `parts` parts of k that several blocks or launches multiply, but the last ones: whole k-steps. The
   last part may be shorter, and parts after it have none. */
static inline int64_t sgemm__part_k(sgemm_variant variant, int64_t k, int parts) {
  const int64_t BK = sgemm__variant_get(variant)->BK;
  return sgemm__ceil_div(sgemm__ceil_div(k, BK), parts) * BK;
}

/* ---- Stages without TMA ------------------------------------------------------------------------------------------ */

/* 1 if the grids of the launches of sgemm__run_tiles() fit, and a pipeline has fewer than 2^30 steps, so that
   its numbers of steps are ints. */
static inline int sgemm__tiles_fit(const sgemm_plan *plan, const sgemm__args *args) {
  const sgemm_variant_info *v = sgemm__variant_get(plan->variant);
  const double tiles = (double)sgemm__ceil_div(args->m, v->BM) * (double)sgemm__ceil_div(args->n, v->BN);
  return sgemm__grid_fits(tiles * plan->cluster_k * plan->split_k, args->batch) &&
         (v->bufs < 3 || sgemm__ceil_div(args->k, v->BK) < (int64_t)1 << 30) &&
         (plan->split_k == 1 || sgemm__grid_fits(sgemm__reduce_blocks(args), 0)) &&
         (!sgemm__applies_after(plan, args) || sgemm__grid_fits(sgemm__apply_blocks(args), 0));
}

static inline sgemm_status sgemm__run_tiles(const sgemm_plan *plan, const sgemm_params *p, const sgemm__args *args,
                                            sgemm__target *to) {
  const sgemm_variant_info *v = sgemm__variant_get(plan->variant);
  const int64_t tiles_m = sgemm__ceil_div(args->m, v->BM), tiles_n = sgemm__ceil_div(args->n, v->BN);
  const int apply = sgemm__applies_after(plan, args);
  float *partials = (float *)p->workspace;
  sgemm__split_k_args s;
  sgemm__grid grid;
  sgemm_status status;
  if (!sgemm__tiles_fit(plan, args))
    return SGEMM_ERROR_GRID;
  s.gemm = plan->split_k > 1 ? sgemm__into_partitions(args, partials, plan->split_k)
           : apply           ? sgemm__before_epilogue(args)
                             : *args;
  s.gemm.tiles_m = (uint32_t)tiles_m;
  s.gemm.tiles_n = (uint32_t)tiles_n;
  s.k_per_split = plan->split_k > 1 ? sgemm__part_k(plan->variant, args->k, plan->split_k) : args->k;
  s.split_stride = plan->split_k > 1 ? sgemm__partition_floats(args) : 0;
  grid = sgemm__grid_of(tiles_m * tiles_n * plan->cluster_k * plan->split_k, args->batch, v->threads, v->shared);
  grid.cluster = (unsigned)plan->cluster_k;
  /* The parameter of kernels without split-K is sgemm__args, the first member of s. */
  status = sgemm__emit(plan->variant, sgemm__kernel_number_of(v, &s.gemm), grid, &s, to);
  if (status != SGEMM_SUCCESS || (plan->split_k == 1 && !apply))
    return status;
  return apply ? sgemm__launch_apply(args, to) : sgemm__launch_reduce(args, partials, plan->split_k, to);
}

/* ---- Stages tma and clustered ------------------------------------------------------------------------------------ */

/* SGEMM__PERSISTENT_K: a persistent block starts no tile after this much k, and frees its slot for the next block of
   the grid. SGEMM__PERSISTENT_TILE_K: a block computes one tile if the tile has this much k. Without a limit persistent
   blocks come to each k at more and more different times, and lost L2 reuse costs power, and so clocks. A block that
   ends also leaves the next tile to the SM that is free first. With the first limit a call at 16384 x 16384 x 16384
   takes 159 ms instead of 165 ms, and 4096 x 4096 x 4096 is as fast as without. With the second, calls without stream-K
   take 2 % less time; a shorter k takes 2 to 4 % more in calls that load the GPU for long (H200,
   docs/notebook/tma_loop.md, "Persistent blocks"). */
enum { SGEMM__PERSISTENT_K = 32768, SGEMM__PERSISTENT_TILE_K = 8192 };

/* Launches the packing of the plan's operands, and makes args describe the packed operands. */
static inline sgemm_status sgemm__launch_pack(const sgemm__tma_layout *l, sgemm__args *args, sgemm__target *to) {
  const int64_t rows = (l->a.repack ? l->a.rows * l->a.batch : 0) + (l->b.repack ? l->b.rows * l->b.batch : 0);
  const int64_t blocks = rows / SGEMM__PACK_ROWS * (l->ld / SGEMM__PACK_K);
  sgemm__pack_args pack;
  if (!sgemm__grid_fits((double)blocks, 1))
    return SGEMM_ERROR_GRID;
  pack.gemm = *args;
  pack.gemm.batch = 1; /* sgemm__pack_block_of() numbers the matrices by the block's x */
  pack.a = l->a;
  pack.b = l->b;
  if (l->a.repack) {
    args->A = l->a.data;
    args->trans_a = 0;
    args->lda = l->ld;
    args->stride_a = l->a.batch > 1 ? l->a.rows * l->ld : 0;
  }
  if (l->b.repack) {
    args->B = l->b.data;
    args->trans_b = 1;
    args->ldb = l->ld;
    args->stride_b = l->b.batch > 1 ? l->b.rows * l->ld : 0;
  }
  return blocks == 0 ? SGEMM_SUCCESS
                     : sgemm__emit(SGEMM__PACK, 0, sgemm__grid_of(blocks, 1, SGEMM__PACK_THREADS, 0), &pack, to);
}

/* Tiles of the last, partial wave, which stream-K units divide; 0: none. */
static inline int64_t sgemm__stream_k_tiles(const sgemm_plan *plan, const sgemm__args *args) {
  const sgemm_variant_info *v = sgemm__variant_get(plan->variant);
  const int64_t tiles = sgemm__ceil_div(args->m, v->BM) * sgemm__ceil_div(args->n, v->BN) * args->batch;
  return plan->stream_k > 0 && args->k > 0 ? tiles % plan->stream_k : 0;
}

/* Divides the tiles among persistent blocks, and the tiles of the last, partial wave among stream-K units. A block has
   one stream-K unit, a unit has at least one iteration (k-step of BK). Returns the blocks of the launch; 0 if the
   numbers are too large for the kernel or its grid. */
static inline int64_t sgemm__schedule_tiles(const sgemm_plan *plan, const sgemm_device *device, sgemm__tma_args *t) {
  const sgemm_variant_info *v = sgemm__variant_get(plan->variant);
  const int64_t tiles_m = sgemm__ceil_div(t->gemm.m, v->BM), tiles_n = sgemm__ceil_div(t->gemm.n, v->BN);
  const int64_t tiles = tiles_m * tiles_n * t->gemm.batch, slots = (int64_t)device->multiprocessors * v->resident;
  const double all_tiles = (double)tiles_m * (double)tiles_n * (double)t->gemm.batch;
  uint32_t stream_k_tiles;
  double iterations;
  int64_t waves, blocks;
  if (!sgemm__tma_countable(plan, &t->gemm) ||
      !sgemm__grid_fits(all_tiles * plan->cluster_k + 2.0 * plan->stream_k, t->gemm.batch))
    return 0;
  stream_k_tiles = (uint32_t)sgemm__stream_k_tiles(plan, &t->gemm);
  iterations = (double)stream_k_tiles * (double)sgemm__ceil_div(t->gemm.k, v->BK);
  if (iterations >= 2147483648.0)
    return 0;
  t->gemm.tiles_m = (uint32_t)tiles_m;
  t->gemm.tiles_n = (uint32_t)tiles_n;
  t->persistent_blocks = (uint32_t)(stream_k_tiles > 0 ? plan->stream_k : tiles < slots ? tiles : slots);
  t->tiles_per_block = t->gemm.k < SGEMM__PERSISTENT_TILE_K ? (uint32_t)(SGEMM__PERSISTENT_K / (t->gemm.k + 1) + 1) : 1;
  t->stream_k_tiles = stream_k_tiles;
  t->stream_k_units = iterations < plan->stream_k ? (uint32_t)iterations : (uint32_t)plan->stream_k;
  t->unit_iterations = 0;
  t->reduce_threads = 1;
  if (stream_k_tiles > 0) { /* rounded up: see sgemm__unit_begin() */
    t->unit_iterations = (((uint64_t)iterations << 32) + t->stream_k_units - 1) / t->stream_k_units;
    t->reduce_threads = sgemm__reduce_threads(t->stream_k_units / stream_k_tiles);
  } else {
    t->stream_k_units = 0;
  }
  t->BM = v->BM;
  t->BN = v->BN;
  t->BK = v->BK;
  waves = stream_k_tiles > 0 ? tiles / t->persistent_blocks : sgemm__ceil_div(tiles, t->persistent_blocks);
  waves = waves > t->tiles_per_block ? sgemm__ceil_div(waves, t->tiles_per_block) : 1;
  blocks = v->cluster_split_k ? tiles * plan->cluster_k : t->persistent_blocks * waves;
  return sgemm__grid_fits((double)blocks, 1) ? blocks : 0;
}

static inline sgemm_status sgemm__run_tma(const sgemm_plan *plan, const sgemm_params *p, const sgemm__args *args,
                                          const sgemm_device *device, sgemm__target *to) {
  const sgemm_variant_info *v = sgemm__variant_get(plan->variant);
  const sgemm__tma_layout l = sgemm__tma_layout_of(plan, args, p->workspace);
  const int apply = sgemm__applies_after(plan, args);
  sgemm__tma_args t;
  int64_t blocks, reduce_blocks;
  sgemm__grid grid;
  sgemm_status status;
  memset(&t, 0, sizeof t);
  t.gemm = apply ? sgemm__before_epilogue(args) : *args;
  t.partials = l.partials;
  blocks = sgemm__schedule_tiles(plan, device, &t);
  if (blocks == 0)
    return SGEMM_ERROR_GRID;
  reduce_blocks = (int64_t)t.stream_k_tiles * (v->BM * v->BN / (4 * SGEMM__PACK_THREADS)) * t.reduce_threads;
  if (!sgemm__grid_fits((double)reduce_blocks, 1) || (apply && !sgemm__grid_fits(sgemm__apply_blocks(args), 0)))
    return SGEMM_ERROR_GRID;
  status = sgemm__launch_pack(&l, &t.gemm, to);
  if (status != SGEMM_SUCCESS)
    return status;
  grid = sgemm__grid_of(blocks, 1, sgemm_variant_threads(v, device), v->shared);
  grid.cluster = (unsigned)plan->cluster_k;
  status = sgemm__emit(plan->variant, sgemm__kernel_number_of(v, &t.gemm), grid, &t, to);
  if (status == SGEMM_SUCCESS && reduce_blocks > 0)
    status = sgemm__emit(SGEMM__REDUCE_STREAM_K, 0, sgemm__grid_of(reduce_blocks, 1, SGEMM__PACK_THREADS, 0), &t, to);
  return status == SGEMM_SUCCESS && apply ? sgemm__launch_apply(args, to) : status;
}

/* 1 if the grids of the launches of a plan's strict variant fit: the fallback of a tensor plan for args. */
static inline int sgemm__fallback_fits(const sgemm_plan *fallback, const sgemm__args *args,
                                       const sgemm_device *device) {
  sgemm__tma_args t;
  t.gemm = *args;
  return sgemm__variant_get(fallback->variant)->uses_tma ? sgemm__schedule_tiles(fallback, device, &t) > 0
                                                         : sgemm__tiles_fit(fallback, args);
}

/* ---- Strict plans ------------------------------------------------------------------------------------------------ */

/* The launches of a plan without serial split-K. */
static inline sgemm_status sgemm__run_parallel(const sgemm_plan *plan, const sgemm_params *p, const sgemm__args *args,
                                               const sgemm_device *device, sgemm__target *to) {
  return sgemm__variant_get(plan->variant)->uses_tma ? sgemm__run_tma(plan, p, args, device, to)
                                                     : sgemm__run_tiles(plan, p, args, to);
}

/* The launches of serial split-K, one for each part of k, and the one that applies an epilogue. With beta 1 each adds
   to the C of the launch before; see sgemm__begin(). With k = 0 there is one. */
static inline sgemm_status sgemm__run_serial(const sgemm_plan *plan, const sgemm_params *p, const sgemm__args *args,
                                             const sgemm_device *device, sgemm__target *to) {
  const int64_t part_k = sgemm__part_k(plan->variant, args->k, plan->serial_k);
  const int apply = sgemm__applies_after(plan, args);
  sgemm__args part = apply ? sgemm__before_epilogue(args) : *args;
  sgemm_status status;
  int64_t begin = 0;
  if (apply && !sgemm__grid_fits(sgemm__apply_blocks(args), 0))
    return SGEMM_ERROR_GRID;
  do {
    part.k = args->k - begin < part_k ? args->k - begin : part_k;
    part.A = args->A + begin * (args->trans_a ? args->lda : 1);
    part.B = args->B + begin * (args->trans_b ? 1 : args->ldb);
    part.follows = begin > 0;
    part.precedes = begin + part_k < args->k;
    status = sgemm__run_parallel(plan, p, &part, device, to);
    part.beta = 1.0f;
    begin += part_k;
  } while (status == SGEMM_SUCCESS && begin < args->k);
  return status == SGEMM_SUCCESS && apply ? sgemm__launch_apply(args, to) : status;
}

/* The launches of a strict plan for args, which are those of p or of a slice. fallback_reason: NULL, or the word of a
   tensor mode's guard. With a word the kernels return at once if it is 0. */
static inline sgemm_status sgemm__run_strict(const sgemm_plan *plan, const sgemm_params *p, sgemm__args args,
                                             const sgemm_device *device, const uint32_t *fallback_reason,
                                             sgemm__target *to) {
  args.fallback_reason = fallback_reason;
  args.run_on_fallback = 1;
  return plan->serial_k > 1 ? sgemm__run_serial(plan, p, &args, device, to)
                            : sgemm__run_parallel(plan, p, &args, device, to);
}

/* ---- Tensor modes ------------------------------------------------------------------------------------------------ */

/* Row blocks of those operands that are not pre-split. */
static inline int64_t sgemm__split_row_blocks(const sgemm__split_operand *a, const sgemm__split_operand *b) {
  return (a->presplit ? 0 : a->rows / SGEMM__ROW_BLOCK * a->batch) +
         (b->presplit ? 0 : b->rows / SGEMM__ROW_BLOCK * b->batch);
}

/* 1 if the grid of the split fits for operands with these k. */
static inline int sgemm__splits_fit(const sgemm__tensor_layout *l, int64_t k) {
  return sgemm__grid_fits((double)sgemm__split_row_blocks(&l->a, &l->b), sgemm__ceil_div(k, SGEMM__SCALE_K));
}

/* Launches the split of those operands of args that are not pre-split, into terms of a format. */
static inline sgemm_status sgemm__launch_split(const sgemm__tensor_args *args, sgemm_format format, sgemm__target *to) {
  const int64_t row_blocks = sgemm__split_row_blocks(&args->a, &args->b);
  const int64_t scale_blocks = sgemm__ceil_div(args->gemm.k, SGEMM__SCALE_K);
  if (row_blocks == 0 || scale_blocks == 0)
    return SGEMM_SUCCESS;
  if (!sgemm__grid_fits((double)row_blocks, scale_blocks))
    return SGEMM_ERROR_GRID;
  return sgemm__emit(SGEMM__SPLIT + (int)format, 0, sgemm__grid_of(row_blocks, scale_blocks, SGEMM__SPLIT_THREADS, 0),
                     args, to);
}

/* Row blocks of 64 rows and 128 k that the split of tensor_fallback writes. */
static inline double sgemm__full_range_row_blocks(const sgemm__tensor_layout *l, int64_t k) {
  return ((double)l->full_a.rows * (double)l->full_a.batch + (double)l->full_b.rows * (double)l->full_b.batch) /
         SGEMM__ROW_BLOCK * (double)sgemm__ceil_div(k, SGEMM__SCALE_K);
}

/* 1 if a tensor-core variant can count the tiles of args; 1 for SGEMM_TENSOR_VARIANT_NONE. */
static inline int sgemm__tensor_tiles_fit(sgemm_tensor_variant tensor, const sgemm__args *args) {
  const sgemm_tensor_variant_info *v = sgemm__tensor_variant_get(tensor);
  return v == NULL ||
         sgemm__grid_fits((double)sgemm__ceil_div(args->m, v->BM) * (double)sgemm__ceil_div(args->n, v->BN),
                          args->batch);
}

/* Launches the multiplying kernel of a tensor-core variant, or the reducing one if it gets memory for the values of
   tiles: one persistent block on each SM. t: all but the tiles. */
static inline sgemm_status sgemm__launch_tensor(sgemm_tensor_variant tensor, sgemm__tensor_args *t,
                                                const sgemm_device *device, sgemm__target *to) {
  const sgemm_tensor_variant_info *v = sgemm__tensor_variant_get(tensor);
  const int64_t tiles_m = sgemm__ceil_div(t->gemm.m, v->BM), tiles_n = sgemm__ceil_div(t->gemm.n, v->BN);
  const double units = (double)tiles_m * (double)tiles_n * (double)t->gemm.batch * t->split_k;
  t->gemm.tiles_m = (uint32_t)tiles_m;
  t->gemm.tiles_n = (uint32_t)tiles_n;
  return sgemm__emit((t->tile_values != NULL ? SGEMM__TENSOR_REDUCED : SGEMM__TENSOR_KERNEL) + (int)tensor, 0,
                     sgemm__grid_of(units < device->multiprocessors ? (int64_t)units : device->multiprocessors, 1,
                                    v->threads, v->shared),
                     t, to);
}

/* Launches the kernels of a plan's tensor_fallback, which return at once unless fp16x3 did not compute C and full range
   may: the split of the original operands, over the terms in fp16, and the multiplication. t: the args of the first
   multiplication. */
static inline sgemm_status sgemm__launch_full_range(const sgemm_plan *plan, const sgemm__tensor_layout *l,
                                                    sgemm__tensor_args t, uint32_t *words, const sgemm_device *device,
                                                    sgemm__target *to) {
  const double blocks = sgemm__full_range_row_blocks(l, t.gemm.k);
  const int64_t resident = (int64_t)device->multiprocessors * SGEMM__SPLIT_RESIDENT;
  sgemm_status status;
  t.a = l->full_a;
  t.b = l->full_b;
  t.guard_word = words + SGEMM__WORD_STRICT;
  t.first_reason = words + SGEMM__WORD_FIRST;
  t.report = words + SGEMM__WORD_REPORT;
  t.full_terms = words + SGEMM__WORD_FULL_TERMS;
  t.spread_at = NULL;
  status = sgemm__emit(
      SGEMM__SPLIT_FALLBACK, 0,
      sgemm__grid_of(blocks < (double)resident ? (int64_t)blocks : resident, 1, SGEMM__SPLIT_THREADS, 0), &t, to);
  return status != SGEMM_SUCCESS ? status : sgemm__launch_tensor(plan->tensor_fallback, &t, device, to);
}

/* Scale blocks of each split-K partition of a tensor plan, and the partitions that have any. A partition is a multiple
   of SGEMM__SCALE_K elements of k, which have one block scale. The last partitions of a plan may have no k; they are
   neither computed nor summed. */
static inline int64_t sgemm__blocks_per_split(int64_t k, int split_k) {
  return sgemm__max(1, sgemm__ceil_div(sgemm__ceil_div(k, SGEMM__SCALE_K), sgemm__max(1, split_k)));
}
static inline int sgemm__used_partitions(int64_t k, int split_k) {
  return (int)sgemm__ceil_div(sgemm__ceil_div(k, SGEMM__SCALE_K), sgemm__blocks_per_split(k, split_k));
}

/* The args of a slice's split and first multiplication. */
static inline sgemm__tensor_args sgemm__tensor_args_of(const sgemm_plan *plan, const sgemm__tensor_layout *l,
                                                       const sgemm__slice *slice, int adds_to_report, uint32_t *words) {
  const int full_range = plan->tensor_fallback != SGEMM_TENSOR_VARIANT_NONE;
  sgemm__tensor_args t;
  t.gemm = slice->args;
  t.a = l->a;
  t.b = l->b;
  t.split_k = sgemm__used_partitions(slice->args.k, plan->split_k);
  t.k_per_split = sgemm__blocks_per_split(slice->args.k, plan->split_k) * SGEMM__SCALE_K;
  t.split_stride = 0;
  t.guard_word = words + (full_range ? SGEMM__WORD_FIRST : SGEMM__WORD_STRICT);
  t.first_reason = NULL;
  t.report = full_range ? NULL : words + SGEMM__WORD_REPORT;
  t.adds_to_report = adds_to_report;
  t.full_terms = full_range && (slice->shares_a || slice->shares_b) ? words + SGEMM__WORD_FULL_TERMS : NULL;
  t.spread_at = NULL;
  t.tile_values = NULL;
  t.reduction = 0;
  return t;
}

/* 1 if the warps of a split look for a spread that an earlier one has found (sgemm/stages/tensor_spread.cuh): a split
   of both operands would have SGEMM__SPREAD_WAVES waves of blocks or more. A shorter one has less to leave out, and the
   look costs it 1 us: 1.4 % of 1792 x 1792 x 1792 (docs/notebook/tensor.md, "A spread ends the split"). */
enum { SGEMM__SPREAD_WAVES = 16 };
static inline int sgemm__is_long_split(const sgemm__tensor_layout *l, int64_t k, const sgemm_device *device) {
  return sgemm__full_range_row_blocks(l, k) >=
         (double)SGEMM__SPREAD_WAVES * SGEMM__SPLIT_RESIDENT * device->multiprocessors;
}

/* The plan of a tensor plan's strict fallback. */
static inline sgemm_plan sgemm__fallback_plan(const sgemm_plan *plan) {
  sgemm_plan fallback = sgemm__plain_plan(plan->variant);
  fallback.cluster_k = plan->cluster_k;
  return fallback;
}

/* The launches of a slice: split, multiply, both again in full range, reduce, strict fp32, apply the epilogue. Kernels
   of a later way to compute the slice run only if the earlier ways have not. l: the slice's layout. */
static inline sgemm_status sgemm__run_slice(const sgemm_plan *plan, const sgemm_params *p,
                                            const sgemm__tensor_layout *l, const sgemm__slice *slice,
                                            int adds_to_report, const sgemm_device *device, sgemm__target *to) {
  uint32_t *words = (uint32_t *)p->workspace;
  const uint32_t *strict_reason = words + SGEMM__WORD_STRICT;
  sgemm__tensor_args t = sgemm__tensor_args_of(plan, l, slice, adds_to_report, words);
  const sgemm_plan fallback = sgemm__fallback_plan(plan);
  const int apply = sgemm__applies_after_tensor(plan, t.split_k, &slice->args); /* also after a fallback */
  sgemm__args strict = slice->args;
  sgemm_status status;
  if (plan->tensor_fallback != SGEMM_TENSOR_VARIANT_NONE && sgemm__is_long_split(l, slice->args.k, device))
    t.spread_at = (uint64_t *)(words + SGEMM__WORD_SPREAD_AT);
  status = sgemm__launch_split(&t, sgemm__tensor_variant_get(plan->tensor)->format, to);
  if (status != SGEMM_SUCCESS)
    return status;
  if (t.split_k > 1) {
    t.gemm = sgemm__into_partitions(&slice->args, l->partials, t.split_k);
    t.split_stride = sgemm__partition_floats(&slice->args);
  }
  if (apply)
    t.gemm = strict = sgemm__before_epilogue(&slice->args);
  status = sgemm__launch_tensor(plan->tensor, &t, device, to);
  if (status == SGEMM_SUCCESS && plan->tensor_fallback != SGEMM_TENSOR_VARIANT_NONE)
    status = sgemm__launch_full_range(plan, l, t, words, device, to);
  if (status == SGEMM_SUCCESS && t.split_k > 1) {
    sgemm__args reduce = slice->args; /* the sum runs if tensor cores computed the partitions */
    reduce.fallback_reason = strict_reason;
    status = sgemm__launch_reduce(&reduce, l->partials, t.split_k, to);
  }
  if (status == SGEMM_SUCCESS)
    status = sgemm__run_strict(&fallback, p, strict, device, strict_reason, to);
  return status == SGEMM_SUCCESS && apply ? sgemm__launch_apply(&slice->args, to) : status;
}

/* The launches of a tensor plan: those of each slice, one after the other. alpha and k are not 0. */
static inline sgemm_status sgemm__run_tensor(const sgemm_plan *plan, const sgemm_params *p, const sgemm_device *device,
                                             sgemm__target *to) {
  const sgemm__args whole = sgemm__args_of(p);
  const sgemm__slices slices = sgemm__slices_of(plan, p, &whole);
  const sgemm__tensor_layout l = sgemm__tensor_layout_of(plan, p, &whole);
  const int64_t count = slices.count_m * slices.count_n * slices.count_k;
  const sgemm_plan fallback = sgemm__fallback_plan(plan);
  const sgemm__args largest = sgemm__largest_slice(&slices, &whole);
  sgemm_status status = SGEMM_SUCCESS;
  int64_t number;
  if (!sgemm__tensor_tiles_fit(plan->tensor, &largest) || !sgemm__tensor_tiles_fit(plan->tensor_fallback, &largest) ||
      !sgemm__splits_fit(&l, slices.k) || !sgemm__fallback_fits(&fallback, &largest, device) ||
      (plan->tensor_fallback != SGEMM_TENSOR_VARIANT_NONE &&
       !sgemm__grid_fits(sgemm__full_range_row_blocks(&l, slices.k), 0)) ||
      (!sgemm__grid_fits(sgemm__reduce_blocks(&largest), 0) && plan->split_k > 1) ||
      (!sgemm__grid_fits(sgemm__apply_blocks(&largest), 0) && whole.applies_epilogue))
    return SGEMM_ERROR_GRID;
  for (number = 0; number < count && status == SGEMM_SUCCESS; number++) {
    const sgemm__slice slice = sgemm__slice_at(&slices, &whole, number);
    const sgemm__tensor_layout at = sgemm__slice_layout(&l, plan, &whole, &slice);
    status = sgemm__run_slice(plan, p, &at, &slice, number > 0, device, to);
  }
  return status;
}

#endif /* SGEMM_LAUNCH_SEQUENCE_H */
