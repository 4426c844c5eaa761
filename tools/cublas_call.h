/* cublas_call.h: a multiplication by cuBLAS. */
#ifndef CUBLAS_CALL_H
#define CUBLAS_CALL_H

#include "sgemm.h"

#include <cublas_v2.h>

/* Runs p, which is row-major, on the handle's stream. Row-major C = A B is column-major C' = B' A'. 0 is success. */
static inline int cublas_call(cublasHandle_t handle, const sgemm_params *p) {
  const cublasOperation_t a = p->op_a == SGEMM_N ? CUBLAS_OP_N : CUBLAS_OP_T;
  const cublasOperation_t b = p->op_b == SGEMM_N ? CUBLAS_OP_N : CUBLAS_OP_T;
  const int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb, ldc = (int)p->ldc;
  return (p->batch == 1 ? cublasSgemm(handle, b, a, n, m, k, &p->alpha, p->B, ldb, p->A, lda, &p->beta, p->C, ldc)
                        : cublasSgemmStridedBatched(handle, b, a, n, m, k, &p->alpha, p->B, ldb, p->stride_b, p->A, lda,
                                                    p->stride_a, &p->beta, p->C, ldc, p->stride_c, (int)p->batch)) !=
         CUBLAS_STATUS_SUCCESS;
}

#endif
