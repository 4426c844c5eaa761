/* tuned.c: a table of tuned plans.

   The table has a fixed size and only grows, so that threads need no lock: one thread writes the key of an entry, and
   one writes its plan. No thread waits for another one. So two threads that meet a call for the first time at once can
   make two entries for it, and both tune it. */
#include "adapters/cublas/tuned.h"

#include <string.h>

enum { ENTRIES = 4096, PROBES = 64 };                     /* entries; entries that a call may be in */
enum { CANDIDATES = 8 };                                  /* see docs/notebook/selection.md, "Timed candidates" */
enum { EMPTY, CLAIMED, UNTUNED, TUNING, READY, REFUSED }; /* of an entry; from UNTUNED on it has its key */
enum { WORDS = 29 };

/* What the fastest plan depends on: sizes, leading dimensions, strides, ops, mode, epilogue and workspace, the
   alignment of A and B, whether alpha and beta are 0, and the properties of the device that sgemm_select() reads. */
typedef struct key {
  int64_t words[WORDS];
} key;

typedef struct entry {
  int state;
  key key;
  sgemm_plan plan;
} entry;

static entry entries[ENTRIES];

static key key_of(const sgemm_params *p, const sgemm_device *d) {
  const key k = {{p->order,
                  p->op_a,
                  p->op_b,
                  p->mode,
                  p->m,
                  p->n,
                  p->k,
                  p->batch,
                  p->lda,
                  p->ldb,
                  p->ldc,
                  p->stride_a,
                  p->stride_b,
                  p->stride_c,
                  p->workspace_bytes,
                  (int64_t)((uintptr_t)p->A % 16),
                  (int64_t)((uintptr_t)p->B % 16),
                  p->alpha != 0.0f,
                  p->beta != 0.0f,
                  p->epilogue,
                  (p->vec_m != NULL) + 2 * (p->vec_n != NULL),
                  d->multiprocessors,
                  d->lanes,
                  d->clock_mhz,
                  10 * d->code_arch + d->has_sm90a_code,
                  d->shared_per_block,
                  d->cluster_limit,
                  d->l2_bytes,
                  (int64_t)(1e3 * d->bandwidth_gbs)}};
  return k;
}

static uint64_t hash_of(const key *k) {
  uint64_t hash = 0;
  int i;
  for (i = 0; i < WORDS; i++) {
    hash = (hash ^ (uint64_t)k->words[i]) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 over the golden ratio (Knuth 6.4) */
    hash ^= hash >> 29;
  }
  return hash;
}

/* The entry of a key, which is made if there is none and `make` is 1. NULL: there is no entry, or no room for it. */
static entry *find(const key *k, int make) {
  const uint64_t hash = hash_of(k);
  unsigned probe;
  for (probe = 0; probe < PROBES; probe++) {
    entry *e = &entries[(hash + probe) % ENTRIES];
    int state = __atomic_load_n(&e->state, __ATOMIC_ACQUIRE);
    if (state == EMPTY && !make)
      return NULL;
    if (state == EMPTY &&
        __atomic_compare_exchange_n(&e->state, &state, CLAIMED, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      e->key = *k;
      __atomic_store_n(&e->state, state = UNTUNED, __ATOMIC_RELEASE);
    }
    if (state >= UNTUNED && memcmp(&e->key, k, sizeof *k) == 0)
      return e;
  }
  return NULL;
}

/* Tunes the call of an entry, unless another thread tunes one: two at once would slow each other down. Then, and if the
   stream is being captured, a later call is tuned. */
static void tune(entry *e, const sgemm_params *p, sgemm_stream stream) {
  enum { CAPTURED = 900 }; /* cudaErrorStreamCaptureUnsupported */
  static int busy;
  int state = __atomic_load_n(&e->state, __ATOMIC_ACQUIRE);
  if (state != UNTUNED || __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
    return;
  if (__atomic_compare_exchange_n(&e->state, &state, TUNING, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    const sgemm_status status = sgemm_tune(p, CANDIDATES, &e->plan, NULL, stream);
    if (status == SGEMM_SUCCESS)
      (void)sgemm_release_workspaces(); /* the program gets the memory of the results back */
    state = status == SGEMM_SUCCESS ? READY : sgemm_cuda_error(status) == CAPTURED ? UNTUNED : REFUSED;
    __atomic_store_n(&e->state, state, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

static int is_ready(const entry *e) { return e != NULL && __atomic_load_n(&e->state, __ATOMIC_ACQUIRE) == READY; }

sgemm_status sgemm_cublas__run_tuned(const sgemm_params *p, sgemm_stream stream) {
  sgemm_status status = SGEMM_ERROR_WORKSPACE;
  sgemm_device device;
  entry *e = NULL;
  if (sgemm_device_query(-1, &device) == SGEMM_SUCCESS) {
    const key k = key_of(p, &device);
    e = find(&k, 1);
  }
  if (e != NULL)
    tune(e, p, stream);
  if (is_ready(e))
    status = sgemm_run_plan(&e->plan, p, stream);
  /* sgemm_run() has a plan without workspace where there is no memory for another one. */
  return status == SGEMM_ERROR_WORKSPACE ? sgemm_run(p, stream) : status;
}

sgemm_plan sgemm_cublas__tuned_plan(const sgemm_params *p, const sgemm_device *device) {
  const key k = key_of(p, device);
  const entry *e = find(&k, 0);
  return is_ready(e) ? e->plan : sgemm_select(p, SGEMM_STAGE_ANY, device);
}
