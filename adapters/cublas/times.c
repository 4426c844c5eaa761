/* times.c: measures a call here and in cuBLAS, on the stream of the call. */
#include "adapters/cublas/times.h"

#include <pthread.h>

#include "adapters/cublas/device.h"

enum { ROUNDS = 3, MAX_REPEATS = 20 };
static const double ROUND_US = 1000.0; /* a round repeats short calls for this time */

typedef struct work {
  const sgemm_cublas__call *call;
  float *C;
} work;

static int run_here(void *context) {
  const work *w = (const work *)context;
  return sgemm_cublas__compute(w->call, w->C) == SGEMM_SUCCESS;
}

static int run_cublas(void *context) {
  const work *w = (const work *)context;
  cublasStatus_t status;
  sgemm_cublas__enter();
  status = sgemm_cublas__leave(w->call->pass(w->call, w->C));
  return status == CUBLAS_STATUS_SUCCESS;
}

static int repeats_of(double us) {
  return us < 0.0 ? 0 : us * MAX_REPEATS < ROUND_US ? MAX_REPEATS : us >= ROUND_US ? 1 : (int)(ROUND_US / us);
}

/* The shortest round of each side. The first runs load code, and tell how long a run takes. Returns 0 after an
   error. */
static int measure(sgemm_cublas__bench *bench, work *w, double *cublas_us, double *sgemm_us) {
  const int warm = sgemm_cublas__bench_time(bench, run_cublas, w, 1) >= 0.0 &&
                   sgemm_cublas__bench_time(bench, run_here, w, 1) >= 0.0;
  const int repeats_cublas = warm ? repeats_of(sgemm_cublas__bench_time(bench, run_cublas, w, 1)) : 0;
  const int repeats_here = warm ? repeats_of(sgemm_cublas__bench_time(bench, run_here, w, 1)) : 0;
  int round;
  if (repeats_cublas == 0 || repeats_here == 0)
    return 0;
  for (round = 0; round < ROUNDS; round++) {
    const double cublas = sgemm_cublas__bench_time(bench, run_cublas, w, repeats_cublas);
    const double here = sgemm_cublas__bench_time(bench, run_here, w, repeats_here);
    if (cublas < 0.0 || here < 0.0)
      return 0;
    *cublas_us = round == 0 || cublas < *cublas_us ? cublas : *cublas_us;
    *sgemm_us = round == 0 || here < *sgemm_us ? here : *sgemm_us;
  }
  return 1;
}

void sgemm_cublas__measure(const sgemm_cublas__call *call, sgemm_cublas__entry *entry) {
  static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; /* two measurements at once would slow each other down */
  const sgemm_params *p = &call->p;
  const size_t elements = (size_t)(p->ldc * (p->n - 1) + p->m + (p->batch - 1) * p->stride_c);
  double cublas_us = 0.0, sgemm_us = 0.0;
  sgemm_cublas__bench bench;
  sgemm_cublas__opened opened;
  work w;
  if (call->pass == NULL || !sgemm_cublas__claim_times(entry))
    return;
  pthread_mutex_lock(&one);
  opened = sgemm_cublas__bench_open(elements * sizeof(float), call->stream, &bench);
  if (opened == SGEMM_CUBLAS_BENCH_OPEN) {
    w.call = call;
    w.C = bench.C;
    if (measure(&bench, &w, &cublas_us, &sgemm_us))
      sgemm_cublas__set_times(entry, cublas_us, sgemm_us);
    sgemm_cublas__bench_close(&bench);
  }
  pthread_mutex_unlock(&one);
  if (opened == SGEMM_CUBLAS_BENCH_CAPTURED)
    sgemm_cublas__unclaim_times(entry);
}
