/* sgemm/launch/recent.h: the plans of recent calls. The selection takes about 1 us on a host core
   (docs/notebook/selection.md, "Work and wait"), and the kernels of a small call take little longer. Programs repeat
   their calls, so each host thread keeps the plans of its last ones. A plan follows from its key alone, so a kept plan
   is the plan that sgemm_select() returns. */
#ifndef SGEMM_LAUNCH_RECENT_H
#define SGEMM_LAUNCH_RECENT_H

#if defined(__cplusplus)
#define SGEMM__THREAD_LOCAL thread_local
#else
#define SGEMM__THREAD_LOCAL _Thread_local
#endif

enum { SGEMM__RECENT_PLANS = 32, SGEMM__KEY_WORDS = 32 };

/* All that sgemm_select() depends on. Only the alignment of an address counts, or whether it is NULL, and whether alpha
   and beta are 0. The device's bandwidth is in MB/s. */
typedef struct sgemm__plan_key {
  int64_t words[SGEMM__KEY_WORDS];
} sgemm__plan_key;

/* What sgemm__in_registers() and sgemm__can_apply_after() read of an epilogue besides its number, a bit for each. */
static inline int64_t sgemm__epilogue_key(const sgemm_params *p) {
  const int64_t ldd = p->D != NULL ? p->ldd : p->ldc, stride_d = p->D != NULL ? p->stride_d : p->stride_c;
  return (p->alpha_device != NULL) | (p->beta_device != NULL) << 1 | (p->vec_m != NULL) << 2 | (p->vec_n != NULL) << 3 |
         (p->stride_vec_m != 0) << 4 | (p->stride_vec_n != 0) << 5 | (p->aux != NULL) << 6 |
         (p->D == NULL || p->D == p->C) << 7 | sgemm__reads_c(p) << 8 | (p->ld_aux == ldd) << 9 |
         (p->stride_aux == stride_d) << 10;
}

static inline sgemm__plan_key sgemm__plan_key_of(const sgemm_params *p, sgemm_stage stage, const sgemm_device *d) {
  const sgemm__plan_key key = {{stage,
                                p->order,
                                p->op_a,
                                p->op_b,
                                p->mode,
                                p->m,
                                p->n,
                                p->k,
                                p->batch,
                                p->lda,
                                p->ldb,
                                p->D != NULL ? p->ldd : p->ldc,
                                p->stride_a,
                                p->stride_b,
                                p->workspace_bytes,
                                (uintptr_t)p->A % 16 != 0,
                                (uintptr_t)p->B % 16 != 0,
                                sgemm__has_no_products(p),
                                p->epilogue,
                                p->D != NULL,
                                sgemm__epilogue_key(p),
                                p->beta != 0.0f,
                                p->prepared_a != NULL,
                                p->prepared_b != NULL,
                                d->multiprocessors,
                                d->lanes,
                                d->clock_mhz,
                                10 * d->code_arch + (d->has_sm90a_code != 0),
                                d->shared_per_block,
                                d->cluster_limit,
                                d->l2_bytes,
                                (int64_t)(1e3 * d->bandwidth_gbs)}};
  return key;
}

typedef struct sgemm__recent_plan {
  sgemm__plan_key key;
  sgemm_plan plan;
  int used; /* 1: the entry holds a plan */
} sgemm__recent_plan;

static SGEMM__THREAD_LOCAL sgemm__recent_plan sgemm__recent_plans[SGEMM__RECENT_PLANS];

/* The entry of a key. The multiplications are those of a 64-bit FNV-1a hash over words instead of bytes. */
static inline sgemm__recent_plan *sgemm__recent_entry(const sgemm__plan_key *key) {
  uint64_t hash = 0xcbf29ce484222325u;
  int i;
  for (i = 0; i < SGEMM__KEY_WORDS; i++)
    hash = (hash ^ (uint64_t)key->words[i]) * 0x100000001b3u;
  return &sgemm__recent_plans[(hash ^ hash >> 32) % SGEMM__RECENT_PLANS];
}

/* sgemm_select(), or the plan that it returned for the same key before. */
static inline sgemm_plan sgemm__recent_select(const sgemm_params *p, sgemm_stage stage, const sgemm_device *device) {
  const sgemm__plan_key key = sgemm__plan_key_of(p, stage, device);
  sgemm__recent_plan *entry = sgemm__recent_entry(&key);
  if (!entry->used || memcmp(&entry->key, &key, sizeof key) != 0) {
    entry->plan = sgemm_select(p, stage, device);
    entry->key = key;
    entry->used = 1;
  }
  return entry->plan;
}

#endif /* SGEMM_LAUNCH_RECENT_H */
