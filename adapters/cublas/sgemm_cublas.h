/* sgemm_cublas.h: redirects a file's calls of cuBLAS to the adapter at compile time, for a program that cannot preload
   it or link it before cuBLAS. C11 and C++14.

       #include <cublas_v2.h>
       #include <cublasLt.h>       (only if the file calls cublasLtMatmul)
       #include "sgemm_cublas.h"

   The program links libsgemm_cublas.so and cuBLAS, in any order. What the adapter does not take goes on to cuBLAS. The
   adapter has the same functions under the names below; names, arguments and results are those of cuBLAS. */
#ifndef SGEMM_CUBLAS_H
#define SGEMM_CUBLAS_H

#if !defined(CUBLAS_V2_H_)
#error "sgemm_cublas.h: include cublas_v2.h first"
#endif

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// clang-format off
#define SGEMM_CUBLAS__DECLARE(suffix, integer)                                                                         \
  cublasStatus_t sgemm_cublasSgemm_v2##suffix(                                                                         \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, integer k,      \
      const float *alpha, const float *A, integer lda, const float *B, integer ldb, const float *beta, float *C,       \
      integer ldc);                                                                                                    \
  cublasStatus_t sgemm_cublasSgemmStridedBatched##suffix(                                                              \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, integer k,      \
      const float *alpha, const float *A, integer lda, long long int strideA, const float *B, integer ldb,             \
      long long int strideB, const float *beta, float *C, integer ldc, long long int strideC, integer batchCount);     \
  cublasStatus_t sgemm_cublasSgemmEx##suffix(                                                                          \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, integer k,      \
      const float *alpha, const void *A, cudaDataType Atype, integer lda, const void *B, cudaDataType Btype,           \
      integer ldb, const float *beta, void *C, cudaDataType Ctype, integer ldc);                                       \
  cublasStatus_t sgemm_cublasGemmEx##suffix(                                                                           \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, integer k,      \
      const void *alpha, const void *A, cudaDataType Atype, integer lda, const void *B, cudaDataType Btype,            \
      integer ldb, const void *beta, void *C, cudaDataType Ctype, integer ldc, cublasComputeType_t computeType,        \
      cublasGemmAlgo_t algo);                                                                                          \
  cublasStatus_t sgemm_cublasGemmStridedBatchedEx##suffix(                                                             \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, integer k,      \
      const void *alpha, const void *A, cudaDataType Atype, integer lda, long long int strideA, const void *B,         \
      cudaDataType Btype, integer ldb, long long int strideB, const void *beta, void *C, cudaDataType Ctype,           \
      integer ldc, long long int strideC, integer batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo); \
  cublasStatus_t sgemm_cublasSgemv_v2##suffix(                                                                         \
      cublasHandle_t handle, cublasOperation_t trans, integer m, integer n, const float *alpha, const float *A,        \
      integer lda, const float *x, integer incx, const float *beta, float *y, integer incy);
// clang-format on
SGEMM_CUBLAS__DECLARE(, int)
SGEMM_CUBLAS__DECLARE(_64, int64_t)
#undef SGEMM_CUBLAS__DECLARE

#if defined(CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA) /* cublasLt.h is included */
cublasStatus_t sgemm_cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc, const void *alpha,
                                    const void *A, cublasLtMatrixLayout_t Adesc, const void *B,
                                    cublasLtMatrixLayout_t Bdesc, const void *beta, const void *C,
                                    cublasLtMatrixLayout_t Cdesc, void *D, cublasLtMatrixLayout_t Ddesc,
                                    const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspaceSizeInBytes,
                                    cudaStream_t stream);
#define cublasLtMatmul sgemm_cublasLtMatmul
#endif

#ifdef __cplusplus
} /* extern "C" */

/* cublas_api.h lets C++ pass a cudaDataType as the compute type. These two functions do the same for the adapter. */
static inline cublasStatus_t sgemm_cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                                                cublasOperation_t transb, int m, int n, int k, const void *alpha,
                                                const void *A, cudaDataType Atype, int lda, const void *B,
                                                cudaDataType Btype, int ldb, const void *beta, void *C,
                                                cudaDataType Ctype, int ldc, cudaDataType computeType,
                                                cublasGemmAlgo_t algo) {
  cublasComputeType_t type = CUBLAS_COMPUTE_32F;
  const cublasStatus_t status = cublasMigrateComputeType(handle, computeType, &type);
  return status != CUBLAS_STATUS_SUCCESS ? status
                                         : sgemm_cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, B,
                                                              Btype, ldb, beta, C, Ctype, ldc, type, algo);
}
static inline cublasStatus_t sgemm_cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, const void *alpha,
    const void *A, cudaDataType Atype, int lda, long long int strideA, const void *B, cudaDataType Btype, int ldb,
    long long int strideB, const void *beta, void *C, cudaDataType Ctype, int ldc, long long int strideC,
    int batchCount, cudaDataType computeType, cublasGemmAlgo_t algo) {
  cublasComputeType_t type = CUBLAS_COMPUTE_32F;
  const cublasStatus_t status = cublasMigrateComputeType(handle, computeType, &type);
  return status != CUBLAS_STATUS_SUCCESS
             ? status
             : sgemm_cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B,
                                                Btype, ldb, strideB, beta, C, Ctype, ldc, strideC, batchCount, type,
                                                algo);
}
#endif

#define cublasSgemm_v2 sgemm_cublasSgemm_v2 /* cublas_v2.h has cublasSgemm as a macro of this name */
#define cublasSgemm_v2_64 sgemm_cublasSgemm_v2_64
#define cublasSgemmStridedBatched sgemm_cublasSgemmStridedBatched
#define cublasSgemmStridedBatched_64 sgemm_cublasSgemmStridedBatched_64
#define cublasSgemmEx sgemm_cublasSgemmEx
#define cublasSgemmEx_64 sgemm_cublasSgemmEx_64
#define cublasGemmEx sgemm_cublasGemmEx
#define cublasGemmEx_64 sgemm_cublasGemmEx_64
#define cublasGemmStridedBatchedEx sgemm_cublasGemmStridedBatchedEx
#define cublasGemmStridedBatchedEx_64 sgemm_cublasGemmStridedBatchedEx_64
#define cublasSgemv_v2 sgemm_cublasSgemv_v2
#define cublasSgemv_v2_64 sgemm_cublasSgemv_v2_64

#endif /* SGEMM_CUBLAS_H */
