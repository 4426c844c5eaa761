/* call.c: decides who computes a call. Calls of sgemm are computed one after the other: a call has all the device
   memory, and one already keeps the link or the GPU busy. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime() */
#include "adapters/blas/call.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "adapters/blas/settings.h"

static _Thread_local int inside; /* calls of the BLAS that this thread is in */

static pthread_mutex_t gpu_lock = PTHREAD_MUTEX_INITIALIZER;
static int used;                                        /* 1: the GPU was asked for */
static sgemm_blas__path no_gpu = SGEMM_BLAS_PATH_SGEMM; /* another value: every later call passes for this reason */

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

static void pass_if(int condition, sgemm_blas__path why, sgemm_blas__call *call) {
  if (condition && call->path == SGEMM_BLAS_PATH_SGEMM)
    call->path = why;
}

/* op_a, op_b: 0 is wrong. */
static sgemm_blas__call call_of(int col_major, int op_a, int op_b, int64_t m, int64_t n, int64_t k, float alpha,
                                const float *A, int64_t lda, const float *B, int64_t ldb, float beta, float *C,
                                int64_t ldc) {
  const int valid = op_a != 0 && op_b != 0;
  const sgemm_op a = valid ? (sgemm_op)op_a : SGEMM_N, b = valid ? (sgemm_op)op_b : SGEMM_N;
  sgemm_blas__call call;
  call.p = col_major ? sgemm_params_init_col(a, b, m, n, k) : sgemm_params_init(a, b, m, n, k);
  call.p.alpha = alpha;
  call.p.A = A;
  call.p.lda = lda;
  call.p.B = B;
  call.p.ldb = ldb;
  call.p.beta = beta;
  call.p.C = C;
  call.p.ldc = ldc;
  call.path = SGEMM_BLAS_PATH_SGEMM;
  call.begun = 0.0;
  pass_if(!valid, SGEMM_BLAS_PATH_ARGUMENTS, &call);
  return call;
}

static int fortran_op(char trans) {
  switch (trans) {
  case 'N':
  case 'n':
    return SGEMM_N;
  case 'T':
  case 't':
    return SGEMM_T;
  case 'C':
  case 'c':
    return SGEMM_C;
  default:
    return 0;
  }
}

sgemm_blas__call sgemm_blas__fortran_call(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha,
                                          const float *A, int64_t lda, const float *B, int64_t ldb, float beta,
                                          float *C, int64_t ldc) {
  return call_of(1, fortran_op(transa), fortran_op(transb), m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

/* CblasNoTrans, CblasTrans and CblasConjTrans have the values of sgemm_op, and the orders those of sgemm_order. */
static int c_op(int trans) { return trans == SGEMM_N || trans == SGEMM_T || trans == SGEMM_C ? trans : 0; }

sgemm_blas__call sgemm_blas__c_call(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha,
                                    const float *A, int64_t lda, const float *B, int64_t ldb, float beta, float *C,
                                    int64_t ldc) {
  sgemm_blas__call call = call_of(order == SGEMM_COL_MAJOR, c_op(transa), c_op(transb), m, n, k, alpha, A, lda, B, ldb,
                                  beta, C, ldc);
  pass_if(order != SGEMM_ROW_MAJOR && order != SGEMM_COL_MAJOR, SGEMM_BLAS_PATH_ARGUMENTS, &call);
  return call;
}

/* ---- The GPU ----------------------------------------------------------------------------------------------------- */

/* CUDA's state does not survive fork(), and neither do the threads of the host adapter. */
static void after_fork(void) {
  sgemm_blas__count_none();
  if (used)
    no_gpu = SGEMM_BLAS_PATH_FORKED;
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, after_fork); }

/* 1 for the errors by which later calls of the process fail too: every error of CUDA but 2 (too little memory), and
   devices that are not there. */
static int is_lasting(int status) {
  const int error = sgemm_cuda_error((sgemm_status)status);
  return (error != 0 && error != 2) || status == SGEMM_HOST_ERROR_DEVICES;
}

/* Computes the call. After an error the BLAS computes it, if C has its old values or they do not count. Otherwise part
   of C is lost, and the process ends: a BLAS has no status to return. */
static void run(sgemm_blas__call *call, const sgemm_blas__settings *settings) {
  sgemm_host_result result;
  int status;
  __atomic_store_n(&used, 1, __ATOMIC_RELAXED);
  pthread_mutex_lock(&gpu_lock);
  status = sgemm_host_run(&call->p, &settings->host, &result);
  pthread_mutex_unlock(&gpu_lock);
  if (status == SGEMM_SUCCESS)
    return;
  if (result.bytes_out > 0 && call->p.beta != 0.0f) {
    fprintf(stderr, "sgemm_blas: C is written in part and beta is not 0: %s\n", sgemm_host_error_string(status));
    abort();
  }
  sgemm_blas__count_error(status);
  call->path = is_lasting(status) ? SGEMM_BLAS_PATH_NO_GPU : SGEMM_BLAS_PATH_FALLBACK;
  if (is_lasting(status))
    __atomic_store_n(&no_gpu, SGEMM_BLAS_PATH_NO_GPU, __ATOMIC_RELAXED);
}

/* ---- The way of a call ------------------------------------------------------------------------------------------- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* FLOP of the call. A call with wrong arguments has none. */
static double flop_of(const sgemm_blas__call *call) {
  return call->path == SGEMM_BLAS_PATH_ARGUMENTS ? 0.0 : sgemm_flops(call->p.m, call->p.n, call->p.k);
}

int sgemm_blas__offer(sgemm_blas__call *call) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const sgemm_blas__settings *settings = sgemm_blas__settings_get();
  sgemm_params *p = &call->p;
  double flop;
  if (inside > 0)
    return 0;
  pthread_once(&once, watch_forks);
  if (settings->report)
    call->begun = now();
  p->mode = settings->mode;
  pass_if(sgemm_host_check(p, NULL) != SGEMM_SUCCESS, SGEMM_BLAS_PATH_ARGUMENTS, call);
  flop = flop_of(call);
  pass_if(settings->off, SGEMM_BLAS_PATH_OFF, call);
  pass_if(flop == 0.0 || p->alpha == 0.0f, SGEMM_BLAS_PATH_EMPTY, call);
  pass_if(flop < settings->least_flop, SGEMM_BLAS_PATH_SMALL, call);
  pass_if(flop < settings->least_intensity * sgemm_min_bytes(p->m, p->n, p->k, p->beta), SGEMM_BLAS_PATH_THIN, call);
  if (call->path == SGEMM_BLAS_PATH_SGEMM)
    call->path = __atomic_load_n(&no_gpu, __ATOMIC_RELAXED);
  if (call->path != SGEMM_BLAS_PATH_SGEMM)
    return 0;
  run(call, settings);
  if (call->path != SGEMM_BLAS_PATH_SGEMM)
    return 0;
  if (settings->report)
    sgemm_blas__count(call->path, flop, now() - call->begun);
  return 1;
}

void sgemm_blas__enter(void) { inside++; }

void sgemm_blas__leave(const sgemm_blas__call *call) {
  inside--;
  if (inside == 0 && sgemm_blas__settings_get()->report)
    sgemm_blas__count(call->path, flop_of(call), now() - call->begun);
}
