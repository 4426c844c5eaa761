/* plans.h: the plans of a variant that may be the fastest for a call, for the tools that time them all. */
#ifndef PLANS_H
#define PLANS_H

#include "sgemm.h"
#include "sgemm/geometry.h"
#include "sgemm/args.h"
#include "sgemm/tensor_map.h"

#include <math.h>
#include <string.h>

#ifndef SGEMM__WITH_STAGE   /* tests include the headers of the selection themselves */
#define SGEMM__WITH_STAGE 0 /* the tools time no variants that production leaves to older GPUs */
#define SGEMM__WITH_MMA 0   /* and no tensor-core variants */
#endif
#include "sgemm/select/tables.h"
#include "sgemm/select/calibration_h200.h"
#include "sgemm/select/workspace.h"
#include "sgemm/select/cost.h"
#include "sgemm/select/select.h"

enum { PLANS_MOST = 120 }; /* plans of a variant */

/* Adds a plan if the device can run it, with the operands that it has to pack, and its workspace has at most
   p->workspace_bytes. Returns the number of plans. */
static inline int plans_add(sgemm_plan *plans, int count, sgemm_plan plan, const sgemm_params *p,
                            const sgemm_device *device) {
  const sgemm__args args = sgemm__args_of(p);
  sgemm__decide_repack(&plan, &args, p->workspace_bytes);
  if (count == PLANS_MOST || !sgemm__possible(&plan, device) || sgemm_plan_workspace(&plan, p) > p->workspace_bytes)
    return count;
  plans[count] = plan;
  return count + 1;
}

/* The plans of a variant of tma: without stream-K, with all resident blocks, and with a multiple of the number of
   tiles. */
static inline int plans_of_tma(sgemm_variant variant, const sgemm_params *p, const sgemm_device *device,
                               sgemm_plan *plans) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const sgemm__args args = sgemm__args_of(p);
  const double tiles = (double)sgemm__ceil_div(args.m, v->BM) * (double)sgemm__ceil_div(args.n, v->BN) *
                       (double)args.batch;
  const int slots = device->multiprocessors * v->resident, even = sgemm__even_stream_k(tiles, slots);
  sgemm_plan plan = sgemm__plain_plan(variant);
  int count = plans_add(plans, 0, plan, p, device);
  plan.stream_k = slots;
  count = plans_add(plans, count, plan, p, device);
  plan.stream_k = even;
  return even >= 2 && even != slots ? plans_add(plans, count, plan, p, device) : count;
}

/* The plans of any other variant: clusters of 1 to 16 blocks with up to 16 blocks for each SM, and, for clusters of 1,
   2, 4 and 8, split-K with up to 4 blocks for each SM, and serial split-K with up to 6. */
static inline int plans_of_splits(sgemm_variant variant, const sgemm_params *p, const sgemm_device *device,
                                  sgemm_plan *plans) {
  static const int split_k[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const sgemm__args args = sgemm__args_of(p);
  const double tiles = (double)sgemm__ceil_div(args.m, v->BM) * (double)sgemm__ceil_div(args.n, v->BN) *
                       (double)args.batch;
  sgemm_plan plan = sgemm__plain_plan(variant);
  int i, count = 0;
  for (plan.cluster_k = 1; plan.cluster_k <= SGEMM__CLUSTER_LIMIT; plan.cluster_k++) {
    const int splits = 8 % plan.cluster_k == 0;
    for (i = 0; i < (splits ? (int)(sizeof split_k / sizeof *split_k) : 1); i++) {
      const int parts = plan.cluster_k * split_k[i]; /* parts of a tile's k */
      const double most = split_k[i] == 1 ? 16.0 : 4.0;
      plan.split_k = split_k[i];
      if (parts == 1 ||
          (tiles * parts <= most * device->multiprocessors && parts * sgemm__min_block_k(v) <= (double)p->k))
        count = plans_add(plans, count, plan, p, device);
    }
    plan.split_k = 1;
    for (plan.serial_k = 2; splits && plan.serial_k <= SGEMM__SERIAL_LIMIT; plan.serial_k++) {
      const int parts = plan.cluster_k * plan.serial_k;
      if (tiles * parts <= 6.0 * device->multiprocessors && parts * sgemm__min_block_k(v) <= (double)p->k)
        count = plans_add(plans, count, plan, p, device);
    }
    plan.serial_k = 1;
  }
  return count;
}

/* Writes the plans of a compiled variant to plans[0] to plans[PLANS_MOST - 1]. Returns their number. */
static inline int plans_of(sgemm_variant variant, const sgemm_params *p, const sgemm_device *device,
                           sgemm_plan *plans) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  if (!sgemm_compiled(variant))
    return 0;
  return v->uses_tma && sgemm__can_split_k(v) ? plans_of_tma(variant, p, device, plans)
                                              : plans_of_splits(variant, p, device, plans);
}

#endif
