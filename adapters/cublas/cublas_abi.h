/* cublas_abi.h: the types, values and functions of cuBLAS and cuBLASLt that the adapter uses, so that it is built
   without the CUDA toolkit. Names and values are those of cublas_v2.h and cublasLt.h of CUDA 11 to 13. With
   SGEMM_CUBLAS_TOOLKIT=1 these headers replace the declarations; a test compiles the adapter against both and compares
   the values. */
#ifndef SGEMM_CUBLAS_ABI_H
#define SGEMM_CUBLAS_ABI_H

#if defined(SGEMM_CUBLAS_TOOLKIT) && SGEMM_CUBLAS_TOOLKIT
#include <cublas_v2.h>

#include <cublasLt.h>
#else

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- cuBLAS ------------------------------------------------------------------------------------------------------ */

typedef struct CUstream_st *cudaStream_t;
typedef struct cublasContext *cublasHandle_t;

typedef enum {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13
} cublasStatus_t;

typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 } cublasOperation_t;
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 } cudaDataType;

/* The mode is in the low 4 bits. CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION is a flag beside it. */
typedef enum {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;

typedef enum {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;

typedef enum {
  CUBLAS_GEMM_DEFAULT = -1,
  CUBLAS_GEMM_ALGO23 = 23,
  CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
  CUBLAS_GEMM_ALGO15_TENSOR_OP = 115
} cublasGemmAlgo_t;

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream);
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode);
cublasStatus_t cublasGetSmCountTarget(cublasHandle_t handle, int *count);

/* The calls of which there is one with 32-bit and one with 64-bit sizes. */
// clang-format off
#define SGEMM_CUBLAS_ABI(suffix, integer)                                                                              \
  cublasStatus_t cublasSgemm_v2##suffix(                                                                               \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, integer k,      \
      const float *alpha, const float *A, integer lda, const float *B, integer ldb, const float *beta, float *C,       \
      integer ldc);                                                                                                    \
  cublasStatus_t cublasSgemmStridedBatched##suffix(                                                                    \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, integer k,      \
      const float *alpha, const float *A, integer lda, long long int strideA, const float *B, integer ldb,             \
      long long int strideB, const float *beta, float *C, integer ldc, long long int strideC, integer batchCount);     \
  cublasStatus_t cublasSgemmEx##suffix(                                                                                \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, integer k,      \
      const float *alpha, const void *A, cudaDataType Atype, integer lda, const void *B, cudaDataType Btype,           \
      integer ldb, const float *beta, void *C, cudaDataType Ctype, integer ldc);                                       \
  cublasStatus_t cublasGemmEx##suffix(                                                                                 \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, integer k,      \
      const void *alpha, const void *A, cudaDataType Atype, integer lda, const void *B, cudaDataType Btype,            \
      integer ldb, const void *beta, void *C, cudaDataType Ctype, integer ldc, cublasComputeType_t computeType,        \
      cublasGemmAlgo_t algo);                                                                                          \
  cublasStatus_t cublasGemmStridedBatchedEx##suffix(                                                                   \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, integer k,      \
      const void *alpha, const void *A, cudaDataType Atype, integer lda, long long int strideA, const void *B,         \
      cudaDataType Btype, integer ldb, long long int strideB, const void *beta, void *C, cudaDataType Ctype,           \
      integer ldc, long long int strideC, integer batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo); \
  cublasStatus_t cublasSgemv_v2##suffix(                                                                               \
      cublasHandle_t handle, cublasOperation_t trans, integer m, integer n, const float *alpha, const float *A,        \
      integer lda, const float *x, integer incx, const float *beta, float *y, integer incy);
// clang-format on
SGEMM_CUBLAS_ABI(, int)
SGEMM_CUBLAS_ABI(_64, int64_t)
#undef SGEMM_CUBLAS_ABI

/* ---- cuBLASLt ---------------------------------------------------------------------------------------------------- */

typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct {
  uint64_t data[8];
} cublasLtMatrixLayoutOpaque_t, cublasLtMatmulAlgo_t;
typedef struct {
  uint64_t data[32];
} cublasLtMatmulDescOpaque_t;
typedef cublasLtMatrixLayoutOpaque_t *cublasLtMatrixLayout_t;
typedef cublasLtMatmulDescOpaque_t *cublasLtMatmulDesc_t;

enum {
  CUBLAS_FILL_MODE_FULL = 2,
  CUBLASLT_ORDER_COL = 0,
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_RELU = 2,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_GELU = 32
};

typedef enum {
  CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,     /* int32_t */
  CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1,       /* int32_t: type of alpha and beta */
  CUBLASLT_MATMUL_DESC_POINTER_MODE = 2,     /* int32_t */
  CUBLASLT_MATMUL_DESC_TRANSA = 3,           /* int32_t */
  CUBLASLT_MATMUL_DESC_TRANSB = 4,           /* int32_t */
  CUBLASLT_MATMUL_DESC_TRANSC = 5,           /* int32_t */
  CUBLASLT_MATMUL_DESC_FILL_MODE = 6,        /* int32_t */
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,         /* uint32_t */
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,     /* const void *, in device memory */
  CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET = 15, /* int32_t; 0: all SMs */
  CUBLASLT_MATMUL_DESC_A_SCALE_POINTER = 17, /* pointers; NULL: none */
  CUBLASLT_MATMUL_DESC_B_SCALE_POINTER = 18,
  CUBLASLT_MATMUL_DESC_C_SCALE_POINTER = 19,
  CUBLASLT_MATMUL_DESC_D_SCALE_POINTER = 20,
  CUBLASLT_MATMUL_DESC_AMAX_D_POINTER = 21,
  CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26 /* int32_t; -1: the type of D */
} cublasLtMatmulDescAttributes_t;

typedef enum {
  CUBLASLT_MATRIX_LAYOUT_TYPE = 0,                 /* uint32_t */
  CUBLASLT_MATRIX_LAYOUT_ORDER = 1,                /* int32_t */
  CUBLASLT_MATRIX_LAYOUT_ROWS = 2,                 /* uint64_t */
  CUBLASLT_MATRIX_LAYOUT_COLS = 3,                 /* uint64_t */
  CUBLASLT_MATRIX_LAYOUT_LD = 4,                   /* int64_t */
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,          /* int32_t */
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6, /* int64_t: elements */
  CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET = 7          /* int64_t: bytes to the imaginary plane */
} cublasLtMatrixLayoutAttribute_t;

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc, const void *alpha,
                              const void *A, cublasLtMatrixLayout_t Adesc, const void *B, cublasLtMatrixLayout_t Bdesc,
                              const void *beta, const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
                              cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspaceSizeInBytes, cudaStream_t stream);
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              void *buf, size_t sizeInBytes, size_t *sizeWritten);
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, void *buf,
                                                size_t sizeInBytes, size_t *sizeWritten);

#ifdef __cplusplus
}
#endif

#endif /* SGEMM_CUBLAS_TOOLKIT */

/* Attributes that cuBLASLt has from version 13 on. CUDA 12 has no enumerators for them, and its calls refuse them. */
enum { SGEMM_CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER = 36, SGEMM_CUBLASLT_MATRIX_LAYOUT_BATCH_MODE = 8 };

#endif /* SGEMM_CUBLAS_ABI_H */
