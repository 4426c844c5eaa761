/* adapter.h: how an intercepted cuBLAS call is described, and either computed here or forwarded, for the functions of
   adapter.c and lt.c. A call passes if it is forwarded to the real cuBLAS with unchanged arguments. */
#ifndef SGEMM_CUBLAS_ADAPTER_H
#define SGEMM_CUBLAS_ADAPTER_H

#include "adapters/cublas/cublas_abi.h"
#include "adapters/cublas/report.h"
#include "sgemm.h"

/* One intercepted call. The function that is intercepted fills it in and calls sgemm_cublas__offer(). */
typedef struct sgemm_cublas__call {
  const char *function;
  sgemm_params p;           /* column-major; alpha, beta, mode and workspace are set by the offer */
  const void *alpha, *beta; /* the program's pointers, to floats on the host if path is still STRICT at the offer */
  sgemm_stream stream;
  int pedantic;            /* 1: strict, whatever SGEMM_CUBLAS_MODE says */
  sgemm_cublas__path path; /* STRICT; or why the call passes, the first reason that was found */
  cublasStatus_t status;   /* the result, if this library took the call */
  /* Runs the call in the real cuBLAS and writes the result to C. Only SGEMM_CUBLAS_TIMES uses it; NULL: the call cannot
     be measured. `context` holds what this function needs: the handle, or the arguments. */
  cublasStatus_t (*pass)(const struct sgemm_cublas__call *call, float *C);
  const void *context;
} sgemm_cublas__call;

/* A call of column-major matrices, not yet of a stream. transa, transb: cublasOperation_t. */
sgemm_cublas__call sgemm_cublas__call_of(const char *function, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                         const void *alpha, const void *A, int64_t lda, const void *B, int64_t ldb,
                                         const void *beta, void *C, int64_t ldc);

/* Makes the call pass for this reason, unless there is a reason already or the condition is 0. */
void sgemm_cublas__pass_if(int condition, sgemm_cublas__path why, sgemm_cublas__call *call);

/* Computes the offered call with its result in C. */
sgemm_status sgemm_cublas__compute(const sgemm_cublas__call *call, float *C);

/* Makes the call pass if its compute type is not fp32. type: cublasComputeType_t. */
void sgemm_cublas__compute_in(int type, sgemm_cublas__call *call);

/* Runs the call if nothing makes it pass, and counts it. Returns 1 if call->status is the call's result, 0 if the
   call passes. */
int sgemm_cublas__offer(sgemm_cublas__call *call);

/* 1 if SGEMM_CUBLAS_MODE is off or the call comes from cuBLAS: it passes without a look at its arguments. */
int sgemm_cublas__bypass(const char *function);

/* The result of the real function, called with the arguments in brackets. */
#define SGEMM_CUBLAS_PASS(functions, name, arguments)                                                                  \
  ((functions)->name == NULL ? CUBLAS_STATUS_NOT_INITIALIZED                                                           \
                             : (sgemm_cublas__enter(), sgemm_cublas__leave((functions)->name arguments)))

/* Between the two the thread is in the real cuBLAS, which calls cuBLASLt. Such calls pass and are not counted. leave()
   returns its argument. */
void sgemm_cublas__enter(void);
cublasStatus_t sgemm_cublas__leave(cublasStatus_t status);

/* The intercepted functions are visible to the program, under cuBLAS's name and under the name that sgemm_cublas.h
   redirects calls to. */
#define SGEMM_CUBLAS_EXPORT(name)                                                                                      \
  __attribute__((visibility("default"))) __typeof__(name) name;                                                        \
  __attribute__((visibility("default"), alias(#name))) __typeof__(name) sgemm_##name;

#endif /* SGEMM_CUBLAS_ADAPTER_H */
