/* sgemm/select/candidates.h: the plans for a call in the order of their estimated times. */
#ifndef SGEMM_SELECT_CANDIDATES_H
#define SGEMM_SELECT_CANDIDATES_H

/* Plans and their estimated microseconds. The selected plan comes first. The others follow in ascending order. */
typedef struct sgemm__ranking {
  sgemm_plan *plans;
  double *us;
  int count, capacity;
} sgemm__ranking;

/* Adds a plan, in place of the last one if there is no room. A plan that is there is not added again. */
static inline void sgemm__rank(const sgemm_plan *plan, double us, sgemm__ranking *r) {
  int i;
  for (i = 0; i < r->count; i++)
    if (memcmp(&r->plans[i], plan, sizeof *plan) == 0) /* ints alone: no padding */
      return;
  if (r->count < r->capacity)
    r->count++;
  else if (r->capacity == 1 || us >= r->us[r->count - 1])
    return;
  for (i = r->count - 1; i > 1 && us < r->us[i - 1]; i--) {
    r->plans[i] = r->plans[i - 1];
    r->us[i] = r->us[i - 1];
  }
  r->plans[i] = *plan;
  r->us[i] = us;
}

/* Adds the plans of one variant that fit. The selection considers the same plans: sgemm__consider_variant(). */
static inline void sgemm__rank_variant(sgemm_variant variant, const sgemm_params *p, const sgemm_device *device,
                                       const sgemm__problem *q, sgemm__ranking *ranking) {
  const sgemm__candidate r = sgemm__candidate_of(variant, sgemm__calibration_of(variant), q, &sgemm__h200);
  sgemm_plan plan = sgemm__plain_plan(variant);
  int number = 0;
  if (!sgemm__runs_on(r.v, 1, device) || !sgemm__variant_suits(r.v, &q->args))
    return;
  while (sgemm__next_plan(&number, SGEMM__PLAN_NUMBERS, &r, q, &plan)) {
    sgemm__decide_repack(&plan, &q->args, q->workspace_bytes);
    if (sgemm__fits_workspace(&plan, p, q))
      sgemm__rank(&plan, sgemm__cost(&plan, &r, q, &sgemm__h200) / device->clock_mhz, ranking);
  }
}

/* Adds the strict plans that the selection considers. preferred: 1: of the variants that the device prefers, 0: of the
   others. */
static inline void sgemm__rank_strict(int preferred, const sgemm_params *p, const sgemm_device *device,
                                      const sgemm__problem *q, sgemm__ranking *ranking) {
  int i;
  for (i = 0; i < SGEMM_VARIANT_COUNT; i++) {
    const sgemm_variant variant = (sgemm_variant)i;
    if (sgemm_compiled(variant) &&
        sgemm__is_preferred(sgemm__tile_sizes_of(variant), q, device->code_arch) == preferred)
      sgemm__rank_variant(variant, p, device, q, ranking);
  }
}

/* Adds the tensor plans without slices that fit, with what they fall back on. */
static inline void sgemm__rank_tensor(const sgemm_params *p, const sgemm_device *device, const sgemm__problem *q,
                                      sgemm__ranking *ranking) {
  const sgemm__best strict = sgemm__select_strict(p, SGEMM_STAGE_ANY, device, q);
  int i, split_k;
  if (strict.plan.variant == SGEMM_VARIANT_NONE || !sgemm__may_use_tensor(p, q))
    return;
  for (i = 0; i < SGEMM_TENSOR_VARIANT_COUNT; i++) {
    const int limit = sgemm__tensor_split_k(sgemm__tensor_variant_get((sgemm_tensor_variant)i), p, device);
    for (split_k = 1; split_k <= limit; split_k *= 2) {
      sgemm_plan plan = sgemm__plain_plan(strict.plan.variant);
      plan.tensor = (sgemm_tensor_variant)i;
      plan.split_k = split_k;
      if (!sgemm__fits_workspace(&plan, p, q))
        continue;
      sgemm__set_fallback(&plan, &strict, p, device, q);
      sgemm__rank(&plan, sgemm__tensor_cost(&plan, p, device, q) / device->clock_mhz, ranking);
    }
  }
}

#endif /* SGEMM_SELECT_CANDIDATES_H */
