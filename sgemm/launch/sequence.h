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

/* The number of a variant's kernel: 2 * (op_a is T) + (op_b is T), and 4 more with an epilogue. */
static inline int sgemm__kernel_number(const sgemm_variant_info *v, const sgemm__args *args) {
  return 2 * args->trans_a + args->trans_b + (v->fuses && args->applies_epilogue ? 4 : 0);
}

/* ---- Stages without TMA ------------------------------------------------------------------------------------------ */

static inline sgemm_status sgemm__run_tiles(const sgemm_plan *plan, const sgemm_params *p, const sgemm__args *args,
                                            sgemm__target *to) {
  const sgemm_variant_info *v = sgemm__variant_get(plan->variant);
  const int64_t tiles_m = sgemm__ceil_div(args->m, v->BM), tiles_n = sgemm__ceil_div(args->n, v->BN);
  const double blocks = (double)tiles_m * (double)tiles_n * plan->cluster_k * plan->split_k;
  const int apply = sgemm__applies_after(plan, args);
  float *partials = (float *)p->workspace;
  sgemm__split_k_args s;
  sgemm__grid grid;
  sgemm_status status;
  if (!sgemm__grid_fits(blocks, args->batch) ||
      (plan->split_k > 1 && !sgemm__grid_fits(sgemm__reduce_blocks(args), 0)) ||
      (apply && !sgemm__grid_fits(sgemm__apply_blocks(args), 0)))
    return SGEMM_ERROR_GRID;
  s.gemm = plan->split_k > 1 ? sgemm__into_partitions(args, partials, plan->split_k)
           : apply           ? sgemm__before_epilogue(args)
                             : *args;
  s.gemm.tiles_m = (uint32_t)tiles_m;
  s.gemm.tiles_n = (uint32_t)tiles_n;
  s.k_per_split = plan->split_k > 1 ? sgemm__ceil_div(sgemm__ceil_div(args->k, v->BK), plan->split_k) * v->BK : args->k;
  s.split_stride = plan->split_k > 1 ? sgemm__partition_floats(args) : 0;
  grid = sgemm__grid_of((int64_t)blocks, args->batch, v->threads, v->shared);
  grid.cluster = (unsigned)plan->cluster_k;
  /* The parameter of kernels without split-K is sgemm__args, the first member of s. */
  status = sgemm__emit(plan->variant, sgemm__kernel_number(v, &s.gemm), grid, &s, to);
  if (status != SGEMM_SUCCESS || (plan->split_k == 1 && !apply))
    return status;
  return apply ? sgemm__launch_apply(args, to) : sgemm__launch_reduce(args, partials, plan->split_k, to);
}

/* ---- Stages tma and clustered ------------------------------------------------------------------------------------ */

/* k after which a persistent block ends at its next tile and the next block of the grid gets its slot, and k of a tile
   from which on it ends after each. Without a limit persistent blocks come to each k at more and more different times,
   and lost L2 reuse costs power, and so clocks. A block that ends also leaves the next tile to the SM that is free
   first. With the first limit a call at 16384 x 16384 x 16384 takes 159 ms instead of 165 ms, and 4096 x 4096 x 4096 is
   as fast as without. With the second, calls without stream-K take 2 % less time; a shorter k takes 2 to 4 % more in
   calls that load the GPU for long (H200, docs/notebook/tma_loop.md, "Persistent blocks"). */
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

/* Divides the tiles among persistent blocks, and the tiles of the last, partial wave among stream-K units. A block has
   one stream-K unit, a unit has at least one iteration (k-step of BK). Returns 0 if the numbers are too large for the
   kernel. */
static inline int sgemm__schedule_tiles(const sgemm_plan *plan, const sgemm_device *device, sgemm__tma_args *t) {
  const sgemm_variant_info *v = sgemm__variant_get(plan->variant);
  const int64_t tiles_m = sgemm__ceil_div(t->gemm.m, v->BM), tiles_n = sgemm__ceil_div(t->gemm.n, v->BN);
  const int64_t tiles = tiles_m * tiles_n * t->gemm.batch, slots = (int64_t)device->multiprocessors * v->resident;
  const double all_tiles = (double)tiles_m * (double)tiles_n * (double)t->gemm.batch;
  const uint32_t stream_k_tiles = plan->stream_k > 0 && t->gemm.k > 0 ? (uint32_t)(tiles % plan->stream_k) : 0;
  const double iterations = (double)stream_k_tiles * (double)sgemm__ceil_div(t->gemm.k, v->BK);
  if (!sgemm__grid_fits(all_tiles * plan->cluster_k + 2.0 * plan->stream_k, t->gemm.batch) ||
      iterations >= 2147483648.0)
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
  return 1;
}

static inline sgemm_status sgemm__run_tma(const sgemm_plan *plan, const sgemm_params *p, const sgemm__args *args,
                                          const sgemm_device *device, sgemm__target *to) {
  const sgemm_variant_info *v = sgemm__variant_get(plan->variant);
  const sgemm__tma_layout l = sgemm__tma_layout_of(plan, args, p->workspace);
  const int apply = sgemm__applies_after(plan, args);
  sgemm__tma_args t;
  int64_t tiles, waves, reduce_blocks;
  sgemm__grid grid;
  sgemm_status status;
  t.gemm = apply ? sgemm__before_epilogue(args) : *args;
  t.partials = l.partials;
  if (!sgemm__tma_countable(plan, args) || !sgemm__schedule_tiles(plan, device, &t))
    return SGEMM_ERROR_GRID;
  reduce_blocks = (int64_t)t.stream_k_tiles * (v->BM * v->BN / (4 * SGEMM__PACK_THREADS)) * t.reduce_threads;
  if (!sgemm__grid_fits((double)reduce_blocks, 1) || (apply && !sgemm__grid_fits(sgemm__apply_blocks(args), 0)))
    return SGEMM_ERROR_GRID;
  status = sgemm__launch_pack(&l, &t.gemm, to);
  if (status != SGEMM_SUCCESS)
    return status;
  tiles = (int64_t)t.gemm.tiles_m * t.gemm.tiles_n * args->batch;
  waves = t.stream_k_tiles > 0 ? tiles / t.persistent_blocks : sgemm__ceil_div(tiles, t.persistent_blocks);
  waves = waves > t.tiles_per_block ? sgemm__ceil_div(waves, t.tiles_per_block) : 1;
  grid = sgemm__grid_of(v->cluster_split_k ? tiles * plan->cluster_k : t.persistent_blocks * waves, 1,
                        sgemm_variant_threads(v, device), v->shared);
  grid.cluster = (unsigned)plan->cluster_k;
  status = sgemm__emit(plan->variant, sgemm__kernel_number(v, &t.gemm), grid, &t, to);
  if (status == SGEMM_SUCCESS && reduce_blocks > 0)
    status = sgemm__emit(SGEMM__REDUCE_STREAM_K, 0, sgemm__grid_of(reduce_blocks, 1, SGEMM__PACK_THREADS, 0), &t, to);
  return status == SGEMM_SUCCESS && apply ? sgemm__launch_apply(args, to) : status;
}

/* The launches of a strict plan for args, which are those of p or of a slice. fallback_reason: NULL, or the word of a
   tensor mode's guard. With a word the kernels return at once if it is 0. */
static inline sgemm_status sgemm__run_strict(const sgemm_plan *plan, const sgemm_params *p, sgemm__args args,
                                             const sgemm_device *device, const uint32_t *fallback_reason,
                                             sgemm__target *to) {
  args.fallback_reason = fallback_reason;
  args.run_on_fallback = 1;
  return sgemm__variant_get(plan->variant)->uses_tma ? sgemm__run_tma(plan, p, &args, device, to)
                                                     : sgemm__run_tiles(plan, p, &args, to);
}

/* ---- Tensor modes ------------------------------------------------------------------------------------------------ */

/* Launches the split of those operands of args that are not pre-split, into terms of a format. */
static inline sgemm_status sgemm__launch_split(const sgemm__tensor_args *args, sgemm_format format, sgemm__target *to) {
  const int64_t row_blocks = (args->a.presplit ? 0 : args->a.rows / SGEMM__ROW_BLOCK * args->a.batch) +
                             (args->b.presplit ? 0 : args->b.rows / SGEMM__ROW_BLOCK * args->b.batch);
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

/* Launches the multiplying kernel of a tensor-core variant, one persistent block on each SM. t: all but the tiles. */
static inline sgemm_status sgemm__launch_tensor(sgemm_tensor_variant tensor, sgemm__tensor_args *t,
                                                const sgemm_device *device, sgemm__target *to) {
  const sgemm_tensor_variant_info *v = sgemm__tensor_variant_get(tensor);
  const int64_t tiles_m = sgemm__ceil_div(t->gemm.m, v->BM), tiles_n = sgemm__ceil_div(t->gemm.n, v->BN);
  const double units = (double)tiles_m * (double)tiles_n * (double)t->gemm.batch * t->split_k;
  t->gemm.tiles_m = (uint32_t)tiles_m;
  t->gemm.tiles_n = (uint32_t)tiles_n;
  return sgemm__emit(SGEMM__TENSOR_KERNEL + (int)tensor, 0,
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
  status = sgemm__emit(
      SGEMM__SPLIT_FALLBACK, 0,
      sgemm__grid_of(blocks < (double)resident ? (int64_t)blocks : resident, 1, SGEMM__SPLIT_THREADS, 0), &t, to);
  return status != SGEMM_SUCCESS ? status : sgemm__launch_tensor(plan->tensor_fallback, &t, device, to);
}

/* The args of a slice's split and first multiplication. */
static inline sgemm__tensor_args sgemm__tensor_args_of(const sgemm_plan *plan, const sgemm__tensor_layout *l,
                                                       const sgemm__slice *slice, int adds_to_report, uint32_t *words) {
  /* A split-K partition is a multiple of 128 k, which have one block scale. The last partitions of a plan may have no
     k; they are neither computed nor summed. */
  const int64_t scale_blocks = sgemm__ceil_div(slice->args.k, SGEMM__SCALE_K);
  const int64_t blocks_per_split = sgemm__ceil_div(scale_blocks, plan->split_k);
  const int full_range = plan->tensor_fallback != SGEMM_TENSOR_VARIANT_NONE;
  sgemm__tensor_args t;
  t.gemm = slice->args;
  t.a = l->a;
  t.b = l->b;
  t.split_k = (int)sgemm__ceil_div(scale_blocks, blocks_per_split);
  t.k_per_split = blocks_per_split * SGEMM__SCALE_K;
  t.split_stride = 0;
  t.guard_word = words + (full_range ? SGEMM__WORD_FIRST : SGEMM__WORD_STRICT);
  t.first_reason = NULL;
  t.report = full_range ? NULL : words + SGEMM__WORD_REPORT;
  t.adds_to_report = adds_to_report;
  t.full_terms = full_range && (slice->shares_a || slice->shares_b) ? words + SGEMM__WORD_FULL_TERMS : NULL;
  return t;
}

/* The launches of a slice: split, multiply, the same in full range, reduce, and a strict kernel. The kernels of each
   further way to compute the slice run only if those before it have not. l: its layout. */
static inline sgemm_status sgemm__run_slice(const sgemm_plan *plan, const sgemm_params *p,
                                            const sgemm__tensor_layout *l, const sgemm__slice *slice,
                                            int adds_to_report, const sgemm_device *device, sgemm__target *to) {
  uint32_t *words = (uint32_t *)p->workspace;
  const uint32_t *strict_reason = words + SGEMM__WORD_STRICT;
  sgemm__tensor_args t = sgemm__tensor_args_of(plan, l, slice, adds_to_report, words);
  sgemm_plan fallback = sgemm__plain_plan(plan->variant);
  const int apply = sgemm__applies_after_tensor(plan, t.split_k, &slice->args); /* also after a fallback */
  sgemm__args strict = slice->args;
  sgemm_status status = sgemm__launch_split(&t, sgemm__tensor_variant_get(plan->tensor)->format, to);
  fallback.cluster_k = plan->cluster_k;
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
  sgemm_status status = SGEMM_SUCCESS;
  int64_t number;
  if (!sgemm__tensor_tiles_fit(plan->tensor, &whole) || !sgemm__tensor_tiles_fit(plan->tensor_fallback, &whole) ||
      (plan->tensor_fallback != SGEMM_TENSOR_VARIANT_NONE &&
       !sgemm__grid_fits(sgemm__full_range_row_blocks(&l, slices.k), 0)) ||
      (!sgemm__grid_fits(sgemm__reduce_blocks(&whole), 0) && plan->split_k > 1) ||
      (!sgemm__grid_fits(sgemm__apply_blocks(&whole), 0) && whole.applies_epilogue))
    return SGEMM_ERROR_GRID;
  for (number = 0; number < count && status == SGEMM_SUCCESS; number++) {
    const sgemm__slice slice = sgemm__slice_at(&slices, &whole, number);
    const sgemm__tensor_layout at = sgemm__slice_layout(&l, plan, &whole, &slice);
    status = sgemm__run_slice(plan, p, &at, &slice, number > 0, device, to);
  }
  return status;
}

#endif /* SGEMM_LAUNCH_SEQUENCE_H */
