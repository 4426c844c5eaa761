/* real.h: the functions of the real cuBLAS and cuBLASLt. */
#ifndef SGEMM_CUBLAS_REAL_H
#define SGEMM_CUBLAS_REAL_H

#include "adapters/cublas/cublas_abi.h"

/* The functions that the adapter calls: X([symbol]). The first of each list is in every version, and the library that
   provides it provides the others. */
#define SGEMM_CUBLAS_FUNCTIONS(X)                                                                                      \
  X(cublasGetStream_v2)                                                                                                \
  X(cublasGetPointerMode_v2)                                                                                           \
  X(cublasGetMathMode)                                                                                                 \
  X(cublasGetSmCountTarget)                                                                                            \
  X(cublasSgemm_v2)                                                                                                    \
  X(cublasSgemm_v2_64)                                                                                                 \
  X(cublasSgemmStridedBatched)                                                                                         \
  X(cublasSgemmStridedBatched_64)                                                                                      \
  X(cublasSgemmEx)                                                                                                     \
  X(cublasSgemmEx_64)                                                                                                  \
  X(cublasGemmEx)                                                                                                      \
  X(cublasGemmEx_64)                                                                                                   \
  X(cublasGemmStridedBatchedEx)                                                                                        \
  X(cublasGemmStridedBatchedEx_64)                                                                                     \
  X(cublasSgemv_v2)                                                                                                    \
  X(cublasSgemv_v2_64)
#define SGEMM_CUBLASLT_FUNCTIONS(X)                                                                                    \
  X(cublasLtMatmul)                                                                                                    \
  X(cublasLtMatmulDescGetAttribute)                                                                                    \
  X(cublasLtMatrixLayoutGetAttribute)

/* NULL: the loaded version lacks the function, or no library was found. */
typedef struct sgemm_cublas__functions {
#define SGEMM__X(name) __typeof__(&name) name;
  SGEMM_CUBLAS_FUNCTIONS(SGEMM__X)
#undef SGEMM__X
} sgemm_cublas__functions;
typedef struct sgemm_cublas__lt_functions {
#define SGEMM__X(name) __typeof__(&name) name;
  SGEMM_CUBLASLT_FUNCTIONS(SGEMM__X)
#undef SGEMM__X
} sgemm_cublas__lt_functions;

/* The functions of cuBLAS, and of cuBLASLt. The first call of each looks for the library; any number of threads may
   call at once. */
const sgemm_cublas__functions *sgemm_cublas__real(void);
const sgemm_cublas__lt_functions *sgemm_cublas__real_lt(void);

#endif /* SGEMM_CUBLAS_REAL_H */
