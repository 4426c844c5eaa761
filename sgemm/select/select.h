/* sgemm/select/select.h: the selection: candidates, and the plan with the lowest estimated time. */
#ifndef SGEMM_SELECT_SELECT_H
#define SGEMM_SELECT_SELECT_H

/* 1 if a build of the production variants has code of this variant for the device. */
static inline int sgemm__in_production(const sgemm_variant_info *v, int code_arch) {
  return code_arch <= SGEMM__LAST_ARCH(v->production);
}

/* 1 if the selection for SGEMM_STAGE_ANY prefers the variant for the call on the device: C has not too many rows or
   columns for it. Before sm_80 there is no cp.async, and a pipeline waits for each load. */
static inline int sgemm__is_preferred(const sgemm__tile_sizes *t, const sgemm__problem *q, int code_arch) {
  return code_arch <= t->last_arch && code_arch >= t->first_arch && q->m <= t->most_m && q->n <= t->most_n;
}

/* 1 if the device can run the variant. A variant that is not compiled has no code: the caller reports that later, as
   SGEMM_ERROR_NOT_COMPILED. */
static inline int sgemm__runs_on(const sgemm_variant_info *v, int compiled, const sgemm_device *device) {
  const int has_code = SGEMM__WITH_STAGE || sgemm__in_production(v, device->code_arch) || !compiled;
  return has_code && v->shared <= device->shared_per_block && (!v->uses_tma || device->code_arch >= 90);
}

/* 1 if the variant and the device can run a strict plan. The operands are not checked. */
static inline int sgemm__possible(const sgemm_plan *plan, const sgemm_device *device) {
  const sgemm_variant_info *v = sgemm__variant_get(plan->variant);
  const int cluster = plan->cluster_k;
  const int clusters = cluster == 1 || (cluster > 1 && cluster <= sgemm__cluster_limit(device) && v->cluster_split_k);
  const int splits = plan->split_k == 1 || (plan->split_k > 1 && sgemm__can_split_k(v) && !v->uses_tma);
  const int streams = plan->stream_k == 0 ||
                      (plan->stream_k > 1 && v->uses_tma && sgemm__can_split_k(v) && plan->stream_k <= 65535);
  /* Launches of serial split-K do not wait for a kernel that packs. */
  const int serial = plan->serial_k == 1 || (plan->serial_k > 1 && plan->serial_k <= SGEMM__SERIAL_LIMIT && v->serial &&
                                             plan->split_k == 1 && !plan->repack_a && !plan->repack_b);
  return clusters && splits && streams && serial && sgemm__runs_on(v, sgemm_compiled(plan->variant), device);
}

/* 1 if the device can run a tensor-core variant. */
static inline int sgemm__tensor_possible(const sgemm_tensor_variant_info *v, const sgemm_device *device) {
  const int has_code = device->has_sm90a_code ? v->wgmma || SGEMM__WITH_MMA : !v->wgmma;
  return has_code && v->shared <= device->shared_per_block && device->code_arch >= 80;
}

/* 1 if strict plans of a variant can apply the epilogue of the call, and 1 if the plan can. */
static inline int sgemm__variant_suits(const sgemm_variant_info *v, const sgemm__args *args) {
  return sgemm__can_apply_after(args) || sgemm__fuses(v, args);
}
static inline int sgemm__suits_epilogue(const sgemm_plan *plan, const sgemm__args *args) {
  return plan->tensor == SGEMM_TENSOR_VARIANT_NONE && plan->serial_k <= 1
             ? sgemm__variant_suits(sgemm__variant_get(plan->variant), args)
             : sgemm__can_apply_after(args);
}

/* 1 if the operands suit the plan: a plan of tma packs each operand that tensor maps cannot describe, other plans
   none. */
static inline int sgemm__suits_operands(const sgemm_plan *plan, const sgemm__args *args) {
  const int tma = sgemm__variant_get(plan->variant)->uses_tma;
  if (!sgemm__suits_epilogue(plan, args))
    return 0;
  return tma ? (plan->repack_a || !sgemm__must_repack(args, 0)) && (plan->repack_b || !sgemm__must_repack(args, 1))
             : !plan->repack_a && !plan->repack_b;
}

/* The largest multiple of `tiles` up to `slots`: with so many stream-K blocks each tile has the same number of units. 0
   if there are more tiles than slots. */
static inline int sgemm__even_stream_k(double tiles, int slots) {
  return tiles >= 1.0 && tiles <= slots ? slots / (int)tiles * (int)tiles : 0;
}

/* A plan of a variant with all options off. */
static inline sgemm_plan sgemm__plain_plan(sgemm_variant variant) {
  sgemm_plan plan;
  plan.variant = variant;
  plan.tensor = plan.tensor_fallback = SGEMM_TENSOR_VARIANT_NONE;
  plan.cluster_k = 1;
  plan.split_k = 1;
  plan.stream_k = 0;
  plan.serial_k = 1;
  plan.repack_a = 0;
  plan.repack_b = 0;
  plan.slices_m = plan.slices_n = plan.slices_k = 1;
  return plan;
}

/* The best candidate: a plan and its estimated time in clocks. */
typedef struct sgemm__best {
  sgemm_plan plan;
  double cost;
  double limit; /* of a strict plan: sgemm__without_power(cost), which the times of better plans are below */
} sgemm__best;

/* 1 if the plan fits into the workspace. INT64_MAX bytes are too many for any. */
static inline int sgemm__fits_workspace(const sgemm_plan *plan, const sgemm_params *p, const sgemm__problem *q) {
  const int64_t bytes = sgemm__plan_bytes(plan, p, &q->args);
  return bytes != INT64_MAX && bytes <= q->workspace_bytes;
}

/* Makes a plan the best candidate if its estimated time is below the best one's and it fits into the workspace. */
static inline void sgemm__consider_plan(sgemm_plan *plan, const sgemm__candidate *r, const sgemm_params *p,
                                        const sgemm__problem *q, sgemm__best *best) {
  double cost;
  if (!sgemm__may_take_less(best->limit, plan, r, q, &sgemm__h200))
    return;
  /* The estimate assumes an unlimited workspace for repacking B, even if the plan then runs without it. So a smaller
     workspace cannot lower an estimate, and with exactly the bytes of sgemm_workspace_query() the selection finds the
     plan of the query. */
  if (r->v->uses_tma)
    sgemm__decide_repack(plan, &q->args, INT64_MAX);
  cost = sgemm__cost_below(best->cost, plan, r, q, &sgemm__h200);
  if (cost < best->cost) {
    if (r->v->uses_tma)
      sgemm__decide_repack(plan, &q->args, q->workspace_bytes);
    if (sgemm__fits_workspace(plan, p, q)) {
      best->plan = *plan;
      best->cost = cost;
      best->limit = sgemm__without_power(cost, q->power);
    }
  }
}

/* Sets the launches of serial split-K that fill a part of a wave, or fewer where k is short. Returns 0 if there is one,
   or if the plan of a whole wave has as many. The plan's cluster_k is set. */
static inline int sgemm__set_serial_k(double waves, const sgemm__candidate *r, const sgemm__problem *q,
                                      sgemm_plan *plan) {
  const double launches = r->slots * waves / plan->cluster_k;
  const double most = sgemm__smaller(r->most_serial / plan->cluster_k, q->serial_limit);
  plan->serial_k = (int)sgemm__smaller(launches, most);
  return plan->serial_k > 1 && (waves == 1.0 || launches < most);
}

/* The plans of a variant that the selection considers, by numbers. 0: k is not divided. 1 to 4: split-K with as many
   partitions as fill a wave, three quarters, a half or a third of it, or with fewer where k has less than
   sgemm__min_block_k() for each (docs/notebook/selection.md, "Parts of a wave"); stream-K with a block for each slot,
   or with equally many units for each tile. 5 to 11: a cluster for each tile, without partitions, the largest first:
   where clusters help, its estimate is often the lowest (docs/notebook/selection.md, "Clusters of 16"). From 12 on:
   serial split-K with as many launches as fill a wave, three quarters or a half of it, with one block or a cluster for
   each tile (docs/notebook/selection.md, "Serial split-K"). Returns 1 and sets the plan's fields, 0 if there is no plan
   of this number. */
enum { SGEMM__SPLIT_NUMBERS = 4, SGEMM__CLUSTER_NUMBER = 5, SGEMM__SERIAL_NUMBER = 12, SGEMM__PLAN_NUMBERS = 18 };
static inline int sgemm__numbered_plan(int number, const sgemm__candidate *r, const sgemm__problem *q,
                                       sgemm_plan *plan) {
  static const unsigned char clusters[SGEMM__SERIAL_NUMBER] = {1, 1, 1, 1, 1, 16, 8, 6, 5, 4, 3, 2};
  static const double waves[1 + SGEMM__SPLIT_NUMBERS] = {0.0, 1.0, 0.75, 0.5, 1.0 / 3.0};
  plan->split_k = 1;
  plan->stream_k = 0;
  plan->serial_k = 1;
  if (number >= SGEMM__SERIAL_NUMBER) { /* three parts of a wave with one block for each tile, three with a cluster */
    const int serial = number - SGEMM__SERIAL_NUMBER;
    plan->cluster_k = serial < 3 ? 1 : (int)SGEMM__SERIAL_CLUSTER;
    return plan->cluster_k <= r->most_blocks && sgemm__set_serial_k(waves[1 + serial % 3], r, q, plan);
  }
  plan->cluster_k = clusters[number];
  if (plan->cluster_k > 1 && plan->cluster_k > r->most_blocks)
    return 0;
  if (number == 0 || number > SGEMM__SPLIT_NUMBERS)
    return 1;
  if (!q->has_workspace || !sgemm__can_split_k(r->v))
    return 0; /* partial results need workspace */
  if (r->v->uses_tma) {
    const int slots = (int)(q->sms * r->v->resident);
    plan->stream_k = number == 1 ? slots : number == 2 ? sgemm__even_stream_k(r->tiles, slots) : 0;
  } else {
    const double parts = r->slots * waves[number];
    if (number > 1 && parts >= r->most_parts)
      return 0; /* the plan of a whole wave has as many partitions */
    plan->split_k = (int)sgemm__smaller(parts, r->most_parts);
  }
  return sgemm__summed_parts(plan) > 1;
}

/* The next of the numbered plans before `end`, from *number on, which then is the number after it. Returns 0 if there
   is none. */
static inline int sgemm__next_plan(int *number, int end, const sgemm__candidate *r, const sgemm__problem *q,
                                   sgemm_plan *plan) {
  int found = 0;
  while (!found && *number < end)
    found = sgemm__numbered_plan((*number)++, r, q, plan);
  return found;
}

/* Plans whose sgemm__bound_of() is not below this limit are not better than the best one. */
static inline double sgemm__bound_limit(const sgemm__best *best, const sgemm__problem *q) {
  const double limit = sgemm__larger(best->limit - q->fixed[0], 0.0);
  return limit * limit;
}

/* Considers the plans of a variant from a number on, before `end`. */
static inline void sgemm__consider_numbers(int number, int end, const sgemm__candidate *r, sgemm_variant variant,
                                           const sgemm_params *p, const sgemm__problem *q, sgemm__best *best) {
  sgemm_plan plan = sgemm__plain_plan(variant);
  while (sgemm__next_plan(&number, end, r, q, &plan))
    sgemm__consider_plan(&plan, r, p, q, best);
}

/* Considers the plans of one variant without serial split-K, of the kinds that may be better than the best one. Number
   0 has a call of its own, in which compilers know the plan's fields. */
static inline void sgemm__consider_variant(sgemm_variant variant, const sgemm_params *p, const sgemm_device *device,
                                           const sgemm__problem *q, sgemm__best *best) {
  const sgemm__candidate r = sgemm__candidate_of(variant, sgemm__calibration_of(variant), q, &sgemm__h200);
  sgemm_plan whole = sgemm__plain_plan(variant);
  if (!sgemm__runs_on(r.v, 1, device) || !sgemm__variant_suits(r.v, &q->args))
    return;
  sgemm__consider_plan(&whole, &r, p, q, best);
  if (sgemm__may_be_summed(best->limit, &r, q))
    sgemm__consider_numbers(1, SGEMM__CLUSTER_NUMBER, &r, variant, p, q, best);
  if (sgemm__may_be_clustered(best->limit, &r, q, &sgemm__h200))
    sgemm__consider_numbers(SGEMM__CLUSTER_NUMBER, SGEMM__SERIAL_NUMBER, &r, variant, p, q, best);
}

/* Variants to consider, and their sgemm__bound_of(). */
typedef struct sgemm__choices {
  int count, lowest; /* lowest: number of the lowest bound */
  double bounds[SGEMM_VARIANT_COUNT];
  sgemm_variant variants[SGEMM_VARIANT_COUNT];
} sgemm__choices;

/* Sets the compiled variants of a stage and their bounds. preferred: those alone that the device prefers. */
static inline void sgemm__find_choices(sgemm__choices *c, sgemm_stage stage, int preferred, int code_arch,
                                       const sgemm__problem *q) {
  double bound = SGEMM__COST_INFINITY * SGEMM__COST_INFINITY; /* the lowest so far */
  int count = 0, lowest = 0, i;
  for (i = 0; i < SGEMM_VARIANT_COUNT; i++) {
    const sgemm_variant variant = (sgemm_variant)i;
    const sgemm__tile_sizes *t = sgemm__tile_sizes_of(variant);
    if (!(preferred ? sgemm__is_preferred(t, q, code_arch) : stage == SGEMM_STAGE_ANY || t->stage == (int)stage) ||
        !sgemm_compiled(variant))
      continue;
    c->bounds[count] = sgemm__bound_of(t, sgemm__calibration_of(variant), q);
    lowest = c->bounds[count] < bound ? count : lowest; /* without a branch, which would be mispredicted */
    bound = sgemm__smaller(c->bounds[count], bound);
    c->variants[count++] = variant;
  }
  c->count = count;
  c->lowest = lowest;
}

/* Considers plans with serial split-K of the variants that have it, after all others. Two of five drawn calls are too
   short for any. */
static inline void sgemm__consider_serial(const sgemm__choices *c, const sgemm_params *p, const sgemm_device *device,
                                          const sgemm__problem *q, sgemm__best *best) {
  int i;
  if (q->serial_limit == 1 || best->limit - q->fixed[0] <= q->serial)
    return;
  for (i = 0; i < c->count; i++) {
    const sgemm_variant variant = c->variants[i];
    const sgemm__tile_sizes *t = sgemm__tile_sizes_of(variant);
    const sgemm__variant_calibration *own = sgemm__calibration_of(variant);
    if (sgemm__has_serial(t, q) && sgemm__serial_bound(t, own, q) < sgemm__bound_limit(best, q)) {
      const sgemm__candidate r = sgemm__candidate_of(variant, own, q, &sgemm__h200);
      if (sgemm__runs_on(r.v, 1, device) && sgemm__may_be_serial(best->limit, &r, q))
        sgemm__consider_numbers(SGEMM__SERIAL_NUMBER, SGEMM__PLAN_NUMBERS, &r, variant, p, q, best);
    }
  }
}

static inline sgemm__best sgemm__select_strict(const sgemm_params *p, sgemm_stage stage, const sgemm_device *device,
                                               const sgemm__problem *q) {
  sgemm__best best = {sgemm__plain_plan(SGEMM_VARIANT_NONE), SGEMM__COST_INFINITY, SGEMM__COST_INFINITY};
  sgemm__choices c;
  int preferred;
  /* For SGEMM_STAGE_ANY all variants are considered if no preferred one fits. */
  for (preferred = stage == SGEMM_STAGE_ANY; preferred >= 0 && best.plan.variant == SGEMM_VARIANT_NONE; preferred--) {
    int i, next = 0;
    sgemm__find_choices(&c, stage, preferred, device->code_arch, q);
    /* The variant of the lowest bound is considered first: the bounds of most others exceed its estimate. */
    for (i = c.lowest; i < c.count; i = next) {
      double limit;
      sgemm__consider_variant(c.variants[i], p, device, q, &best);
      c.bounds[i] = SGEMM__COST_INFINITY * SGEMM__COST_INFINITY; /* it is not considered again */
      limit = sgemm__bound_limit(&best, q);
      while (next < c.count && c.bounds[next] >= limit)
        next++;
    }
    sgemm__consider_serial(&c, p, device, q, &best);
  }
  return best;
}

/* 1 if a tensor plan's slices suit the operands. Slices of k are added up in C, so they have no place for an epilogue.
   They cannot take pre-split operands of a batch apart. */
static inline int sgemm__slices_possible(const sgemm_plan *plan, const sgemm_params *p) {
  return plan->slices_m >= 0 && plan->slices_n >= 0 && plan->slices_k >= 0 &&
         (plan->slices_k <= 1 ||
          (!sgemm__has_epilogue(p) && (p->prepared_a == NULL || sgemm__matrix_count(p->batch, p->stride_a) == 1) &&
           (p->prepared_b == NULL || sgemm__matrix_count(p->batch, p->stride_b) == 1)));
}

static inline int sgemm__is_sliced(const sgemm_plan *plan) {
  return plan->slices_m > 1 || plan->slices_n > 1 || plan->slices_k > 1;
}

/* Slices of a plan that the selection considers, at most. A slice has up to SGEMM_MAX_LAUNCHES launches. */
enum { SGEMM__SLICES_LIMIT = 1024 };

/* Sets the plan's slices of m, or of n, to the fewest with which it fits into the workspace. Its other slices are set.
   Returns 0 if it fits with none. The bytes grow in proportion to the tiles of a slice. */
static inline int sgemm__fit_slices(sgemm_plan *plan, int of_n, const sgemm_params *p, const sgemm__problem *q) {
  const sgemm__args *args = &q->args;
  const sgemm_tensor_variant_info *v = sgemm__tensor_variant_get(plan->tensor);
  const int64_t unit = of_n ? v->BN : v->BM, tiles = sgemm__ceil_div(of_n ? args->n : args->m, unit);
  int *slices = of_n ? &plan->slices_n : &plan->slices_m;
  sgemm_plan whole = *plan;
  sgemm__slices s;
  sgemm__args part = *args;
  int64_t one, two, fit;
  *slices = 1;
  s = sgemm__slices_of(plan, p, args);
  whole.slices_m = whole.slices_n = whole.slices_k = 1;
  part.m = of_n ? s.m : unit;
  part.n = of_n ? unit : s.n;
  part.k = s.k;
  one = sgemm__plan_bytes(&whole, p, &part);
  *(of_n ? &part.n : &part.m) = 2 * unit;
  two = sgemm__plan_bytes(&whole, p, &part);
  if (one > q->workspace_bytes || two == INT64_MAX)
    return 0;
  fit = two > one ? 1 + (q->workspace_bytes - one) / (two - one) : tiles;
  for (; fit > 0; fit--) { /* the bytes of a slice are rounded: a second iteration is rare */
    const int64_t count = sgemm__ceil_div(tiles, fit);
    if (count > SGEMM__SLICES_LIMIT)
      return 0;
    *slices = (int)sgemm__ceil_div(tiles, sgemm__ceil_div(tiles, count));
    if (sgemm__fits_workspace(plan, p, q))
      return 1;
  }
  return 0;
}

/* Makes a tensor plan with slices the best candidate if its estimated time is below the best one's. The plan without
   slices does not fit. For some numbers of slices of k, and for each for some of n, the plan with the fewest slices of
   m is considered, and the one with the fewest of n alone. Fewer slices of k are considered first; once C needs no
   slices of its own, more of k do not help. */
static inline void sgemm__consider_slices(const sgemm_plan *whole, const sgemm_params *p, const sgemm_device *device,
                                          const sgemm__problem *q, sgemm__best *best) {
  static const unsigned char counts[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
  enum { COUNTS = sizeof counts, SLICE_MIN_K = 256 };
  sgemm_plan plan = *whole;
  int i, j;
  for (i = 0; i < COUNTS && (i == 0 || counts[i] * (int64_t)SLICE_MIN_K <= p->k); i++) {
    int64_t considered = 0; /* slices of n */
    plan.slices_k = counts[i];
    plan.slices_m = plan.slices_n = 1;
    if (!sgemm__slices_possible(&plan, p) || sgemm__tensor_cost(&plan, p, device, q) >= best->cost)
      return;
    for (j = -1; j < COUNTS; j++) { /* -1: slices of n alone */
      sgemm__slices s;
      double cost;
      plan.slices_m = 1;
      plan.slices_n = j < 0 ? 1 : counts[j];
      s = sgemm__slices_of(&plan, p, &q->args);
      if ((j >= 0 && s.count_n == considered) || !sgemm__fit_slices(&plan, j < 0, p, q))
        continue;
      considered = j < 0 ? 0 : s.count_n;
      s = sgemm__slices_of(&plan, p, &q->args);
      cost = sgemm__tensor_cost(&plan, p, device, q);
      if (cost < best->cost && s.count_m * s.count_n * s.count_k <= SGEMM__SLICES_LIMIT) {
        plan.slices_n = (int)s.count_n;
        plan.slices_k = (int)s.count_k;
        best->plan = plan;
        best->cost = cost;
      }
      if (j < 0 && s.count_n == 1)
        return;
      if (j >= 0 && s.count_m == 1)
        break;
    }
  }
}

/* The format of a tensor mode. */
static inline sgemm_format sgemm__format_of(const sgemm_params *p) {
  return p->mode == SGEMM_TENSOR ? SGEMM_FORMAT_fp16x3 : SGEMM_FORMAT_bf16x6;
}

/* A tensor plan is selected if its estimated time is below this part of the strict plan's. The margin keeps an error of
   the estimate from making a tensor mode slower than strict fp32. */
#define SGEMM__TENSOR_MARGIN 0.85

/* The shortest k that tensor cores compute: for a shorter one the split costs more than it saves. */
static inline int sgemm__tensor_min_k(const sgemm_params *p) { return p->mode == SGEMM_TENSOR ? 128 : 64; }

/* 1 if the call may run on tensor cores at all. */
static inline int sgemm__may_use_tensor(const sgemm_params *p, const sgemm__problem *q) {
  return p->mode != SGEMM_STRICT && p->k >= sgemm__tensor_min_k(p) && q->args.k > 0 && !sgemm__is_noop(p) &&
         sgemm_tensor_compiled() && sgemm__can_apply_after(&q->args);
}

/* The largest split_k with which a tensor-core variant computes p; split_k is a power of two. 0: the variant does not
   compute p. sum_k: k over which one accumulator set sums hi hi products; tensor cores truncate these sums. Short
   strict sums, such as those of split-K, are more accurate for elements of one sign than truncated sums over more k
   (docs/stages/tensor.md, "The guard"). So split-K needs sum_k <= 32, and sum_k <= 16 in fp16x3 with k below
   UNSPLIT_K. */
static inline int sgemm__tensor_split_k(const sgemm_tensor_variant_info *v, const sgemm_params *p,
                                        const sgemm_device *device) {
  enum { SPLIT_K_LIMIT = 64, SPLIT_K_MIN_K = 256, UNSPLIT_K = 16384 };
  const int sum_k = SGEMM__K_BLOCK * v->k_blocks / v->sets;
  const int unsplit = sum_k > 32 || (sum_k > 16 && v->format == SGEMM_FORMAT_fp16x3 && p->k < UNSPLIT_K);
  int split_k = 1;
  if (v->format != sgemm__format_of(p) || !sgemm__tensor_possible(v, device) || (sum_k > 32 && p->k < SPLIT_K_MIN_K))
    return 0;
  while (!unsplit && split_k < SPLIT_K_LIMIT && 2 * split_k * SPLIT_K_MIN_K <= p->k)
    split_k *= 2;
  return split_k;
}

/* In a tensor mode, replaces the strict plan by a tensor plan that is faster by the margin. */
static inline void sgemm__consider_tensor(const sgemm_params *p, const sgemm_device *device, const sgemm__problem *q,
                                          sgemm__best *best) {
  sgemm_plan fallback = best->plan;
  int i;
  if (best->plan.variant == SGEMM_VARIANT_NONE || !sgemm__may_use_tensor(p, q))
    return;
  best->cost *= SGEMM__TENSOR_MARGIN;
  for (i = 0; i < SGEMM_TENSOR_VARIANT_COUNT && best->cost > 2.0 * SGEMM__COST_TENSOR_LAUNCH; i++) {
    const int limit = sgemm__tensor_split_k(sgemm__tensor_variant_get((sgemm_tensor_variant)i), p, device);
    sgemm_plan plan = sgemm__plain_plan(fallback.variant);
    plan.tensor = (sgemm_tensor_variant)i;
    for (plan.split_k = 1; plan.split_k <= limit; plan.split_k *= 2) {
      const double cost = sgemm__tensor_cost(&plan, p, device, q);
      if (cost >= best->cost)
        continue;
      if (sgemm__fits_workspace(&plan, p, q)) {
        best->plan = plan;
        best->cost = cost;
      } else if (q->workspace_bytes > SGEMM__GUARD_BYTES && sgemm__plan_bytes(&plan, p, &q->args) != INT64_MAX) {
        sgemm__consider_slices(&plan, p, device, q, best);
      }
    }
  }
}

/* Largest fraction of a plan's time that the full-range fallback may take in calls that do not need it. */
#define SGEMM__FALLBACK_FRACTION 0.03

/* Sets the full-range variant that computes the calls of a plan of fp16x3 whose guard fires for small elements, if the
   workspace has room for its terms, it is faster than strict fp32 by the margin, and its two launches, which return at
   once in other calls, take at most SGEMM__FALLBACK_FRACTION of the plan's time and leave the plan faster by the
   margin. It has the plan's split_k: the sum of the partitions is one launch, whichever variant computed them. A plan
   with slices may get more of them, so that the terms of full range fit, if that too costs no more. strict_cost:
   estimated clocks of the strict plan. */
static inline void sgemm__set_tensor_fallback(sgemm_plan *plan, double strict_cost, const sgemm_params *p,
                                              const sgemm_device *device, const sgemm__problem *q) {
  double lowest = SGEMM__TENSOR_MARGIN * strict_cost;
  const double cost_without = sgemm__tensor_cost(plan, p, device, q);
  sgemm_params unprepared = *p; /* the fallback splits both operands */
  sgemm__best with = {*plan, (1.0 + SGEMM__FALLBACK_FRACTION) * cost_without, 0.0};
  int i;
  if (sgemm__tensor_variant_get(plan->tensor)->format != SGEMM_FORMAT_fp16x3 ||
      2.0 * SGEMM__COST_TENSOR_LAUNCH > SGEMM__FALLBACK_FRACTION * cost_without)
    return;
  unprepared.prepared_a = unprepared.prepared_b = NULL;
  for (i = 0; i < SGEMM_TENSOR_VARIANT_COUNT; i++) {
    const sgemm_tensor_variant_info *v = sgemm__tensor_variant_get((sgemm_tensor_variant)i);
    sgemm_plan full = sgemm__plain_plan(plan->variant);
    double cost;
    full.tensor = (sgemm_tensor_variant)i;
    full.split_k = plan->split_k;
    if (v->format != SGEMM_FORMAT_bf16x6 || !sgemm__tensor_possible(v, device))
      continue;
    cost = sgemm__tensor_cost(&full, &unprepared, device, q);
    if (cost < lowest) {
      with.plan.tensor_fallback = full.tensor;
      lowest = cost;
    }
  }
  if (with.plan.tensor_fallback == SGEMM_TENSOR_VARIANT_NONE)
    return;
  if (!sgemm__fits_workspace(&with.plan, p, q) && sgemm__is_sliced(plan)) {
    const sgemm_plan whole = with.plan;
    sgemm__consider_slices(&whole, p, device, q, &with);
  }
  if (sgemm__fits_workspace(&with.plan, p, q) &&
      sgemm__tensor_cost(&with.plan, p, device, q) <
          sgemm__smaller(SGEMM__TENSOR_MARGIN * strict_cost, (1.0 + SGEMM__FALLBACK_FRACTION) * cost_without))
    *plan = with.plan;
}

/* Sets what a tensor plan falls back on: full range, and the strict variant and cluster_k. The strict fallback has no
   workspace, because the split-operand data and the guard's words are in it. It has one launch, because in most calls
   its launches return at once, and each takes time. */
static inline void sgemm__set_fallback(sgemm_plan *plan, const sgemm__best *strict, const sgemm_params *p,
                                       const sgemm_device *device, const sgemm__problem *q) {
  sgemm_params without = *p;
  sgemm_plan fallback = strict->plan;
  without.workspace_bytes = 0;
  if (fallback.split_k > 1 || fallback.stream_k > 0 || fallback.serial_k > 1 || fallback.repack_a ||
      fallback.repack_b) {
    sgemm__problem q_without = sgemm__problem_of(&without, device, &sgemm__h200);
    q_without.serial_limit = 1;
    fallback = sgemm__select_strict(&without, SGEMM_STAGE_ANY, device, &q_without).plan;
  }
  plan->variant = fallback.variant;
  plan->cluster_k = fallback.cluster_k;
  sgemm__set_tensor_fallback(plan, strict->cost, p, device, q);
}

#endif /* SGEMM_SELECT_SELECT_H */
