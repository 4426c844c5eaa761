/* sgemm/launch/describe.h: a plan in words, and its estimated time. */
#ifndef SGEMM_LAUNCH_DESCRIBE_H
#define SGEMM_LAUNCH_DESCRIBE_H

double sgemm_plan_estimate(const sgemm_plan *plan, const sgemm_params *p, const sgemm_device *device) {
  const sgemm__problem q = sgemm__problem_of(p, device, &sgemm__h200);
  const sgemm__variant_calibration *own = sgemm__calibration_of(plan->variant);
  sgemm__candidate r;
  if (sgemm__variant_get(plan->variant) == NULL)
    return 0.0;
  if (sgemm__tensor_variant_get(plan->tensor) != NULL)
    return sgemm__tensor_cost(plan, p, device, &q) / device->clock_mhz;
  r = sgemm__candidate_of(plan->variant, own, &q, &sgemm__h200);
  return sgemm__cost(plan, &r, &q, &sgemm__h200) / device->clock_mhz;
}

/* Text that grows as snprintf() counts: `length` passes `size` where the text does not fit. */
typedef struct sgemm__text {
  char *at;
  size_t size, length;
} sgemm__text;

#define SGEMM__APPEND(t, ...)                                                                                          \
  ((t)->length += (size_t)snprintf((t)->length < (t)->size ? (t)->at + (t)->length : NULL,                             \
                                   (t)->length < (t)->size ? (t)->size - (t)->length : 0, __VA_ARGS__))

/* Launches of a slice whose sums have k products, without those of the split: multiply, both launches of full range,
   reduce, strict fp32, apply the epilogue. */
static inline int sgemm__slice_launches(const sgemm_plan *plan, const sgemm__args *args, int64_t k) {
  const int partitions = sgemm__used_partitions(k, plan->split_k);
  const int apply = sgemm__applies_after_tensor(plan, partitions, args) ||
                    (args->applies_epilogue && !sgemm__fuses(sgemm__variant_get(plan->variant), args));
  return 2 + (partitions > 1) + apply + (plan->tensor_fallback != SGEMM_TENSOR_VARIANT_NONE ? 2 : 0);
}

/* Launches of a strict plan that multiply: in serial split-K those that have any k. */
static inline int sgemm__serial_launches(const sgemm_plan *plan, const sgemm__args *args) {
  return plan->serial_k > 1 && args->k > 0
             ? (int)sgemm__ceil_div(args->k, sgemm__part_k(plan->variant, args->k, plan->serial_k))
             : 1;
}

/* Launches of a plan: those of packing or splitting, of the product and of the sum, and the kernels that return at once
   unless the guard fires; INT32_MAX if they are more. */
static inline int sgemm__count_launches(const sgemm_plan *plan, const sgemm_params *p, const sgemm_device *device) {
  const sgemm__args args = sgemm__args_of(p);
  sgemm_plan scaling;
  sgemm__slices s;
  double slices, launches;
  if (sgemm__is_noop(p))
    return 0;
  if (sgemm__is_scaling(plan, p)) {
    scaling = sgemm_select(p, SGEMM_STAGE_ANY, device);
    return scaling.variant == SGEMM_VARIANT_NONE ? 0 : sgemm__count_launches(&scaling, p, device);
  }
  if (plan->tensor == SGEMM_TENSOR_VARIANT_NONE)
    return sgemm__serial_launches(plan, &args) + (plan->split_k > 1 || sgemm__stream_k_tiles(plan, &args) > 0) +
           sgemm__applies_after(plan, &args) + ((plan->repack_a || plan->repack_b) && args.k > 0);
  s = sgemm__slices_of(plan, p, &args);
  slices = (double)s.count_m * (double)s.count_n;
  launches = slices * (double)(s.count_k - 1) * sgemm__slice_launches(plan, &args, s.k) +
             slices * sgemm__slice_launches(plan, &args, args.k - (s.count_k - 1) * s.k) +
             sgemm__split_launches(&s, sgemm__prepared_of(p, 0) == NULL, sgemm__prepared_of(p, 1) == NULL);
  return (int)sgemm__smaller(launches, 2147483647.0);
}

/* Why the plan of a tensor mode is strict, as a sentence; NULL: it is not, or the mode is strict. */
static inline const char *sgemm__why_strict(const sgemm_plan *plan, const sgemm_params *p, const sgemm_device *device) {
  const sgemm__args args = sgemm__args_of(p);
  sgemm_params unlimited = *p;
  sgemm_plan best;
  int i, possible = 0;
  if (p->mode == SGEMM_STRICT || plan->tensor != SGEMM_TENSOR_VARIANT_NONE)
    return NULL;
  if (!sgemm_tensor_compiled())
    return "the implementation file was compiled without the tensor modes";
  for (i = 0; i < SGEMM_TENSOR_VARIANT_COUNT; i++)
    possible |= sgemm__tensor_possible(sgemm__tensor_variant_get((sgemm_tensor_variant)i), device);
  if (!possible)
    return "the device or its code has no tensor-core variant";
  if (args.k == 0)
    return "there are no products";
  if (p->k < sgemm__tensor_min_k(p))
    return p->mode == SGEMM_TENSOR ? "k is below 128" : "k is below 64";
  if (!sgemm__can_apply_after(&args))
    return "tensor cores overwrite the C that the epilogue reads; with D apart from C they do not";
  unlimited.workspace_bytes = INT64_MAX;
  best = sgemm_select(&unlimited, SGEMM_STAGE_ANY, device);
  return best.tensor == SGEMM_TENSOR_VARIANT_NONE ? "tensor cores are not estimated to take less than 0.85 of its time"
                                                  : "the workspace is smaller than that of sgemm_workspace_query()";
}

int sgemm_plan_describe(const sgemm_plan *plan, const sgemm_params *p, const sgemm_device *device, char *text,
                        size_t size) {
  const sgemm_variant_info *v = sgemm__variant_get(plan->variant);
  const sgemm_tensor_variant_info *tensor = sgemm__tensor_variant_get(plan->tensor),
                                  *full = sgemm__tensor_variant_get(plan->tensor_fallback);
  const size_t prefix = strlen("sgemm_");
  const char *strict, *epilogue = NULL;
  sgemm__text t = {text, size, 0};
  int launches;
  if (v == NULL) {
    const int other = sgemm_select(p, SGEMM_STAGE_ANY, device).variant != SGEMM_VARIANT_NONE; /* 1: some stage fits */
    SGEMM__APPEND(&t, "no plan%s%s", other ? " of this stage" : " fits: ",
                  other ? "" : sgemm_status_string(sgemm__why_no_plan(SGEMM_STAGE_ANY, p, device)));
    return (int)t.length;
  }
  if (p->epilogue != SGEMM_EPILOGUE_none)
    epilogue = sgemm_epilogue_name((sgemm_epilogue)p->epilogue);
  strict = sgemm__why_strict(plan, p, device);
  launches = sgemm__count_launches(plan, p, device);
  SGEMM__APPEND(&t, "%s", (tensor != NULL ? tensor->name : v->name) + prefix);
  if (plan->cluster_k > 1 && tensor == NULL)
    SGEMM__APPEND(&t, ", cluster_k %d", plan->cluster_k);
  if (plan->split_k > 1)
    SGEMM__APPEND(&t, ", split_k %d", plan->split_k);
  if (plan->stream_k > 1)
    SGEMM__APPEND(&t, ", stream_k %d", plan->stream_k);
  if (plan->serial_k > 1)
    SGEMM__APPEND(&t, ", serial_k %d", plan->serial_k);
  if (plan->slices_m > 1)
    SGEMM__APPEND(&t, ", slices_m %d", plan->slices_m);
  if (plan->slices_n > 1)
    SGEMM__APPEND(&t, ", slices_n %d", plan->slices_n);
  if (plan->slices_k > 1)
    SGEMM__APPEND(&t, ", slices_k %d", plan->slices_k);
  if (plan->repack_a || plan->repack_b)
    SGEMM__APPEND(&t, ", packs %s",
                  plan->repack_a && plan->repack_b                         ? "A and B"
                  : (plan->repack_a != 0) == (p->order == SGEMM_ROW_MAJOR) ? "A"
                                                                           : "B");
  if (epilogue != NULL)
    SGEMM__APPEND(&t, ", epilogue %s", epilogue);
  SGEMM__APPEND(&t, "; %d launch%s, %.1f MiB of workspace, estimated %.1f us", launches, launches == 1 ? "" : "es",
                (double)sgemm_plan_workspace(plan, p) / 1048576.0, sgemm_plan_estimate(plan, p, device));
  if (tensor != NULL)
    SGEMM__APPEND(&t, "; falls back on %s%s%s", full != NULL ? full->name + prefix : "",
                  full != NULL ? ", then on " : "", v->name + prefix);
  if (strict != NULL)
    SGEMM__APPEND(&t, "; strict fp32, because %s", strict);
  return (int)t.length;
}

#endif /* SGEMM_LAUNCH_DESCRIBE_H */
