/* sgemm/launch/calls.h: the bodies of the calls that sgemm.h declares. */
#ifndef SGEMM_LAUNCH_CALLS_H
#define SGEMM_LAUNCH_CALLS_H

int sgemm_tensor_compiled(void) { return SGEMM__WITH_TENSOR; }

int sgemm_compiled(sgemm_variant variant) {
  return (int)variant >= 0 && variant < SGEMM_VARIANT_COUNT && sgemm__kernels[variant][0] != 0;
}

const sgemm_variant_info *sgemm_variant_get(sgemm_variant variant) { return sgemm__variant_get(variant); }

const sgemm_tensor_variant_info *sgemm_tensor_variant_get(sgemm_tensor_variant tensor) {
  return sgemm__tensor_variant_get(tensor);
}

/* ---- Plans ------------------------------------------------------------------------------------------------------- */

sgemm_plan sgemm_variant_plan(sgemm_variant variant, const sgemm_params *p) {
  sgemm_plan plan = sgemm__plain_plan(variant);
  const sgemm__args args = sgemm__args_of(p);
  if (sgemm__variant_get(variant) != NULL)
    sgemm__decide_repack(&plan, &args, 0);
  return plan;
}

sgemm_plan sgemm_select(const sgemm_params *p, sgemm_stage stage, const sgemm_device *device) {
  sgemm__problem q;
  sgemm__best strict, best;
  sgemm__set_problem(&q, p, device, &sgemm__h200);
  strict = sgemm__select_strict(p, stage, device, &q);
  best = strict;
  if (stage == SGEMM_STAGE_ANY)
    sgemm__consider_tensor(p, device, &q, &best);
  if (best.plan.tensor != SGEMM_TENSOR_VARIANT_NONE)
    sgemm__set_fallback(&best.plan, &strict, p, device, &q);
  return best.plan;
}

int64_t sgemm_plan_workspace(const sgemm_plan *plan, const sgemm_params *p) {
  const sgemm__args args = sgemm__args_of(p);
  return sgemm__plan_bytes(plan, p, &args);
}

sgemm_status sgemm_workspace_query(const sgemm_params *p, int64_t *bytes) {
  sgemm_device device;
  sgemm_params unlimited;
  sgemm_plan plan;
  sgemm_status status;
  if (p == NULL)
    return SGEMM_ERROR_PARAMS;
  status = sgemm_device_query(-1, &device);
  if (status != SGEMM_SUCCESS)
    return status;
  unlimited = *p;
  unlimited.workspace_bytes = INT64_MAX;
  status = sgemm_check(&unlimited);
  if (status != SGEMM_SUCCESS && status < SGEMM_ERROR_A) /* the errors that follow are of pointers */
    return status;
  plan = sgemm__recent_select(&unlimited, SGEMM_STAGE_ANY, &device);
  *bytes = plan.variant == SGEMM_VARIANT_NONE ? 0 : sgemm_plan_workspace(&plan, &unlimited);
  return SGEMM_SUCCESS;
}

/* ---- Run --------------------------------------------------------------------------------------------------------- */

static inline sgemm_status sgemm__launch_plan(const sgemm_plan *plan, const sgemm_params *p, const sgemm_device *device,
                                              sgemm__target *to) {
  return plan->tensor != SGEMM_TENSOR_VARIANT_NONE ? sgemm__run_tensor(plan, p, device, to)
                                                   : sgemm__run_strict(plan, p, sgemm__args_of(p), device, NULL, to);
}

/* Launches a plan whose workspace is p's. With SGEMM_WORKSPACE_AUTO it is allocated before the launches and freed after
   them, in stream order; SGEMM_ERROR_WORKSPACE: it could not be allocated. */
static inline sgemm_status sgemm__run_selected(const sgemm_plan *plan, const sgemm_params *p,
                                               const sgemm_device *device, sgemm_stream stream) {
  sgemm__target to = sgemm__to_stream(stream);
  sgemm_params with;
  sgemm_status status, freed;
  if (p->workspace_bytes != SGEMM_WORKSPACE_AUTO)
    return sgemm__launch_plan(plan, p, device, &to);
  with = *p;
  with.workspace_bytes = sgemm_plan_workspace(plan, p);
  if (with.workspace_bytes == 0)
    return sgemm__launch_plan(plan, &with, device, &to);
  if (with.workspace_bytes == INT64_MAX)
    return SGEMM_ERROR_WORKSPACE;
  status = sgemm__allocate(&with.workspace, with.workspace_bytes, stream);
  if (status != SGEMM_SUCCESS)
    return status;
  status = sgemm__launch_plan(plan, &with, device, &to);
  freed = sgemm__free(with.workspace, stream);
  return status != SGEMM_SUCCESS ? status : freed;
}

/* The reason for which no plan fits. SGEMM_ERROR_NOT_COMPILED: no variant of the stage is compiled. SGEMM_ERROR_PLAN:
   the device can run no compiled variant of the stage, or none can apply the epilogue of p in place.
   SGEMM_ERROR_WORKSPACE: the workspace is too small for operands that tma has to pack. */
static inline sgemm_status sgemm__why_no_plan(sgemm_stage stage, const sgemm_params *p, const sgemm_device *device) {
  const sgemm__args args = sgemm__args_of(p);
  sgemm_status why = SGEMM_ERROR_NOT_COMPILED;
  int i;
  for (i = 0; i < SGEMM_VARIANT_COUNT; i++) {
    const sgemm_plan plan = sgemm__plain_plan((sgemm_variant)i);
    if ((stage == SGEMM_STAGE_ANY || sgemm__variant_get(plan.variant)->stage == stage) &&
        sgemm_compiled(plan.variant) && why != SGEMM_ERROR_WORKSPACE)
      why = sgemm__possible(&plan, device) && sgemm__suits_epilogue(&plan, &args) ? SGEMM_ERROR_WORKSPACE
                                                                                  : SGEMM_ERROR_PLAN;
  }
  return why;
}

sgemm_status sgemm_run_stage(sgemm_stage stage, const sgemm_params *p, sgemm_stream stream) {
  sgemm_status status = sgemm_check(p);
  sgemm_device device;
  sgemm_plan plan;
  if (status != SGEMM_SUCCESS || sgemm__is_noop(p))
    return status;
  status = sgemm_device_query(-1, &device);
  if (status != SGEMM_SUCCESS)
    return status;
  plan = sgemm__recent_select(p, stage, &device);
  if (plan.variant == SGEMM_VARIANT_NONE)
    return sgemm__why_no_plan(stage, p, &device);
  status = sgemm__run_selected(&plan, p, &device, stream);
  if (status == SGEMM_ERROR_WORKSPACE && plan.tensor_fallback != SGEMM_TENSOR_VARIANT_NONE) {
    plan.tensor_fallback = SGEMM_TENSOR_VARIANT_NONE; /* a smaller workspace */
    status = sgemm__run_selected(&plan, p, &device, stream);
  }
  if (status == SGEMM_ERROR_WORKSPACE && p->workspace_bytes == SGEMM_WORKSPACE_AUTO &&
      plan.tensor != SGEMM_TENSOR_VARIANT_NONE) { /* slices in a quarter */
    sgemm_params less = *p;
    less.workspace_bytes = sgemm_plan_workspace(&plan, p) / 4;
    plan = sgemm__recent_select(&less, stage, &device);
    status = sgemm__run_selected(&plan, p, &device, stream);
  }
  if (status == SGEMM_ERROR_WORKSPACE && p->workspace_bytes == SGEMM_WORKSPACE_AUTO) {
    sgemm_params without = *p;
    without.workspace_bytes = 0;
    return sgemm_run_stage(stage, &without, stream);
  }
  return status;
}

/* 1 if a plan may have this tensor_fallback on the device: full range, for a plan whose variant is of fp16x3. */
static inline int sgemm__tensor_fallback_possible(const sgemm_plan *plan, const sgemm_device *device) {
  const sgemm_tensor_variant_info *first = sgemm__tensor_variant_get(plan->tensor);
  const sgemm_tensor_variant_info *full = sgemm__tensor_variant_get(plan->tensor_fallback);
  return full == NULL || (first != NULL && first->format == SGEMM_FORMAT_fp16x3 &&
                          full->format == SGEMM_FORMAT_bf16x6 && sgemm__tensor_possible(full, device));
}

/* 1 if a tensor variant reads the format of p's pre-split operands. */
static inline int sgemm__suits_prepared(const sgemm_tensor_variant_info *v, const sgemm_params *p) {
  return (p->prepared_a == NULL && p->prepared_b == NULL) || v->format == sgemm__format_of(p);
}

/* Checks the caller's plan against the device and p's operands: SGEMM_SUCCESS or SGEMM_ERROR_PLAN. */
static inline sgemm_status sgemm__check_plan(const sgemm_plan *plan, const sgemm_params *p,
                                             const sgemm_device *device) {
  const sgemm__args args = sgemm__args_of(p);
  sgemm_plan strict = *plan;
  if (!sgemm__tensor_fallback_possible(plan, device))
    return SGEMM_ERROR_PLAN;
  if (plan->tensor != SGEMM_TENSOR_VARIANT_NONE) {
    const sgemm_tensor_variant_info *v = sgemm__tensor_variant_get(plan->tensor);
    if (!sgemm__tensor_possible(v, device) || !sgemm__suits_prepared(v, p) || plan->split_k < 1 ||
        plan->stream_k != 0 || plan->serial_k != 1 || plan->repack_a || plan->repack_b ||
        !sgemm__slices_possible(plan, p))
      return SGEMM_ERROR_PLAN;
    strict.split_k = 1; /* the fallback has no split-K */
  } else if (sgemm__is_sliced(plan) || !sgemm__slices_possible(plan, p)) {
    return SGEMM_ERROR_PLAN;
  }
  return sgemm__possible(&strict, device) && sgemm__suits_operands(&strict, &args) ? SGEMM_SUCCESS : SGEMM_ERROR_PLAN;
}

/* 1 if a tensor plan runs as sgemm_run(), because there are no products. */
static inline int sgemm__is_scaling(const sgemm_plan *plan, const sgemm_params *p) {
  return plan->tensor != SGEMM_TENSOR_VARIANT_NONE && sgemm__has_no_products(p);
}

/* Checks that params and a plan are given, and that the plan names variants. */
static inline sgemm_status sgemm__check_given(const sgemm_plan *plan, const sgemm_params *p) {
  if (p == NULL)
    return SGEMM_ERROR_PARAMS;
  if (plan == NULL)
    return SGEMM_ERROR_PLAN;
  return sgemm__variant_get(plan->variant) != NULL &&
                 (plan->tensor == SGEMM_TENSOR_VARIANT_NONE || sgemm__tensor_variant_get(plan->tensor) != NULL) &&
                 (plan->tensor_fallback == SGEMM_TENSOR_VARIANT_NONE ||
                  sgemm__tensor_variant_get(plan->tensor_fallback) != NULL)
             ? SGEMM_SUCCESS
             : SGEMM_ERROR_VARIANT;
}

/* Checks params and the caller's plan, which names variants, in the order of SGEMM_STATUS_LIST. device: NULL if it
   could not be read; the plan is then not checked. */
static inline sgemm_status sgemm__check_call(const sgemm_plan *plan, const sgemm_params *p,
                                             const sgemm_device *device) {
  const sgemm_status status = sgemm_check(p);
  if (device != NULL && (status == SGEMM_SUCCESS || status >= SGEMM_ERROR_ORDER)) {
    sgemm_device known = *device;
    known.has_sm90a_code |= !sgemm_compiled(plan->variant); /* it is unknown then; NOT_COMPILED follows later */
    if (sgemm__check_plan(plan, p, &known) != SGEMM_SUCCESS)
      return SGEMM_ERROR_PLAN;
  }
  return status;
}

/* The statuses of a plan that checks have passed: SGEMM_ERROR_WORKSPACE if it needs more than `bytes` of workspace,
   SGEMM_ERROR_NOT_COMPILED. */
static inline sgemm_status sgemm__check_build(const sgemm_plan *plan, const sgemm_params *p, int64_t bytes) {
  if (sgemm_plan_workspace(plan, p) > bytes)
    return SGEMM_ERROR_WORKSPACE;
  return sgemm_compiled(plan->variant) && (plan->tensor == SGEMM_TENSOR_VARIANT_NONE || sgemm_tensor_compiled())
             ? SGEMM_SUCCESS
             : SGEMM_ERROR_NOT_COMPILED;
}

sgemm_status sgemm_run_plan(const sgemm_plan *plan, const sgemm_params *p, sgemm_stream stream) {
  sgemm_device device;
  sgemm_status status = sgemm__check_given(plan, p), query;
  if (status != SGEMM_SUCCESS)
    return status;
  query = sgemm_device_query(-1, &device); /* a failure is returned below, if there is something to launch */
  status = sgemm__check_call(plan, p, query == SGEMM_SUCCESS ? &device : NULL);
  if (status != SGEMM_SUCCESS || sgemm__is_noop(p))
    return status;
  if (sgemm__is_scaling(plan, p))
    return sgemm_run_stage(SGEMM_STAGE_ANY, p, stream);
  status = sgemm__check_build(plan, p, p->workspace_bytes == SGEMM_WORKSPACE_AUTO ? INT64_MAX : p->workspace_bytes);
  if (status != SGEMM_SUCCESS || query != SGEMM_SUCCESS)
    return status != SGEMM_SUCCESS ? status : query;
  return sgemm__run_selected(plan, p, &device, stream);
}

sgemm_status sgemm_plan_launches(const sgemm_plan *plan, const sgemm_params *p, const sgemm_device *device,
                                 sgemm_tensor_map_encoder encode, sgemm_launch *launches, int capacity, int *count) {
  sgemm__target counted = {NULL, 1, NULL, 0, 0, encode}, written = {NULL, 1, launches, capacity, 0, encode};
  sgemm_params with;
  sgemm_plan own;
  sgemm_status status = sgemm__check_given(plan, p);
  if (status != SGEMM_SUCCESS)
    return status;
  if (device == NULL)
    return SGEMM_ERROR_DEVICE;
  if (count == NULL || (launches == NULL && capacity > 0))
    return SGEMM_ERROR_LAUNCHES;
  status = sgemm__check_call(plan, p, device);
  if (status != SGEMM_SUCCESS)
    return status;
  if (!sgemm__is_noop(p)) {
    with = *p;
    own = *plan;
    if (with.workspace_bytes == SGEMM_WORKSPACE_AUTO)
      with.workspace_bytes = 0; /* the list has no allocations */
    if (sgemm__is_scaling(plan, p))
      own = sgemm_select(&with, SGEMM_STAGE_ANY, device);
    if (own.variant == SGEMM_VARIANT_NONE)
      return sgemm__why_no_plan(SGEMM_STAGE_ANY, p, device);
    status = sgemm__check_build(&own, &with, with.workspace_bytes);
    if (status == SGEMM_SUCCESS)
      status = sgemm__launch_plan(&own, &with, device, &counted);
    if (status != SGEMM_SUCCESS)
      return status;
  }
  *count = counted.count;
  if (capacity < counted.count)
    return SGEMM_ERROR_CAPACITY;
  return counted.count == 0 ? SGEMM_SUCCESS : sgemm__launch_plan(&own, &with, device, &written);
}

sgemm_status sgemm_run_variant(sgemm_variant variant, const sgemm_params *p, sgemm_stream stream) {
  enum { MARGIN = 2 }; /* minimum k of a block of a cluster, in multiples of sgemm__min_block_k() */
  const sgemm_variant_info *v = sgemm__variant_get(variant);
  sgemm_device device;
  sgemm_plan plan = p != NULL ? sgemm_variant_plan(variant, p) : sgemm__plain_plan(variant);
  if (p != NULL && v != NULL && v->cluster_split_k && sgemm_device_query(-1, &device) == SGEMM_SUCCESS) {
    plan.cluster_k = SGEMM__PORTABLE_CLUSTER;
    while (plan.cluster_k > 1 &&
           (MARGIN * plan.cluster_k * sgemm__min_block_k(v) > (double)p->k || !sgemm__possible(&plan, &device)))
      plan.cluster_k /= 2;
  }
  return sgemm_run_plan(&plan, p, stream);
}

/* ---- Pre-split operands ------------------------------------------------------------------------------------------ */

/* Params for one operand, 'A' or 'B'. The other operand's size and alpha are set to 1, because the split depends on
   neither. The result of these sizes, which is not computed, has no padding. */
static inline sgemm_params sgemm__one_operand(const sgemm_params *p, char which) {
  const int row_major = p->order == SGEMM_ROW_MAJOR;
  sgemm_params one = *p;
  one.alpha = 1.0f;
  one.epilogue = SGEMM_EPILOGUE_none;
  one.D = one.aux = NULL;
  one.alpha_device = one.beta_device = NULL;
  one.workspace = NULL;
  one.workspace_bytes = 0;
  one.prepared_a = one.prepared_b = NULL;
  if (which == 'A')
    one.n = 1;
  else
    one.m = 1;
  one.ldc = sgemm__max(1, row_major ? one.n : one.m);
  one.stride_c = sgemm__product(one.ldc, row_major ? one.m : one.n);
  return one;
}

static inline int sgemm__terms_of(const sgemm_params *p) {
  return p->mode == SGEMM_TENSOR ? SGEMM__TERMS_fp16x3 : SGEMM__TERMS_bf16x6;
}

int64_t sgemm_prepared_bytes(const sgemm_params *p, char which) {
  const sgemm_params one = sgemm__one_operand(p, which);
  const sgemm__args args = sgemm__args_of(&one);
  const int of_a = (which == 'A') == (p->order == SGEMM_ROW_MAJOR);
  const int64_t batch = sgemm__matrix_count(args.batch, of_a ? args.stride_a : args.stride_b);
  sgemm__split_operand o;
  if (!sgemm__split_countable(args.m, args.n, args.k, batch))
    return INT64_MAX;
  return sgemm__split_operand_at(&o, NULL, of_a ? args.m : args.n, args.k, batch, sgemm__terms_of(p));
}

sgemm_status sgemm_prepare(const sgemm_params *p, char which, void *memory, sgemm_stream stream) {
  sgemm_params one;
  sgemm__target to = sgemm__to_stream(stream);
  sgemm__tensor_args t;
  sgemm_status status;
  if (p == NULL)
    return SGEMM_ERROR_PARAMS;
  if (which != 'A' && which != 'B')
    return SGEMM_ERROR_WHICH;
  one = sgemm__one_operand(p, which);
  one.C = (float *)memory;
  if (which == 'A')
    one.B = p->A;
  else
    one.A = p->B;
  status = sgemm_check(&one);
  if (p->mode == SGEMM_STRICT && (status == SGEMM_SUCCESS || status > SGEMM_ERROR_MODE))
    return SGEMM_ERROR_MODE;
  if (status == SGEMM_ERROR_A || status == SGEMM_ERROR_B) /* one.A and one.B are the same pointer */
    return which == 'A' ? SGEMM_ERROR_A : SGEMM_ERROR_B;
  if (status == SGEMM_ERROR_C || (status == SGEMM_SUCCESS && (uintptr_t)memory % 16 != 0))
    return SGEMM_ERROR_PREPARE_MEMORY;
  if (status != SGEMM_SUCCESS)
    return status;
  if (!sgemm_tensor_compiled())
    return SGEMM_ERROR_NOT_COMPILED;
  memset(&t, 0, sizeof t);
  t.gemm = sgemm__args_of(&one);
  if (t.gemm.k == 0 || sgemm__is_noop(&one))
    return SGEMM_SUCCESS;
  if (!sgemm__split_countable(t.gemm.m, t.gemm.n, t.gemm.k, t.gemm.batch))
    return SGEMM_ERROR_GRID;
  sgemm__split_operand_at(&t.a, (char *)memory, t.gemm.m, t.gemm.k, sgemm__matrix_count(t.gemm.batch, t.gemm.stride_a),
                          sgemm__terms_of(p));
  sgemm__split_operand_at(&t.b, (char *)memory, t.gemm.n, t.gemm.k, sgemm__matrix_count(t.gemm.batch, t.gemm.stride_b),
                          sgemm__terms_of(p));
  t.a.presplit = (which == 'A') != (p->order == SGEMM_ROW_MAJOR);
  t.b.presplit = !t.a.presplit;
  return sgemm__launch_split(&t, sgemm__format_of(p), &to);
}

sgemm_status sgemm_guard_query(const sgemm_params *p, uint32_t *reason, sgemm_stream stream) {
  return p == NULL ? SGEMM_ERROR_PARAMS
         : p->workspace == NULL || p->workspace_bytes < SGEMM__GUARD_BYTES
             ? SGEMM_ERROR_WORKSPACE
             : sgemm__copy_word(reason, (const uint32_t *)p->workspace, stream);
}

#endif /* SGEMM_LAUNCH_CALLS_H */
