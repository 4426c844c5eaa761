/* call.h: how an intercepted BLAS call is described, and either computed here or forwarded, for the functions of
   adapter.c. A call passes if it is forwarded to the real BLAS with unchanged arguments. */
#ifndef SGEMM_BLAS_CALL_H
#define SGEMM_BLAS_CALL_H

#include "adapters/blas/report.h"
#include "sgemm.h"

/* One intercepted call. */
typedef struct sgemm_blas__call {
  sgemm_params p;
  sgemm_blas__path path; /* SGEMM; or why the call passes, the first reason that was found */
  double begun;          /* seconds of a clock, if there is a report */
} sgemm_blas__call;

/* A call of sgemm_(), and of cblas_sgemm(). Arguments that are wrong make it pass. */
sgemm_blas__call sgemm_blas__fortran_call(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha,
                                          const float *A, int64_t lda, const float *B, int64_t ldb, float beta,
                                          float *C, int64_t ldc);
sgemm_blas__call sgemm_blas__c_call(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha,
                                    const float *A, int64_t lda, const float *B, int64_t ldb, float beta, float *C,
                                    int64_t ldc);

/* 1: the call is computed. 0: it passes, between sgemm_blas__enter() and sgemm_blas__leave(). */
int sgemm_blas__offer(sgemm_blas__call *call);

/* Between the two this thread is in the BLAS, whose own calls of sgemm_() pass and are not counted. */
void sgemm_blas__enter(void);
void sgemm_blas__leave(const sgemm_blas__call *call);

#endif /* SGEMM_BLAS_CALL_H */
