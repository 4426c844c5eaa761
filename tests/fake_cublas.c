/* fake_cublas.c: the stand-in for cuBLAS (without FAKE_LT) and for cuBLASLt (with FAKE_LT=1). As of the real ones, the
   first depends on the second, which has the record. */
#include "adapters/cublas/cublas_abi.h"
#include "tests/fake_cublas.h"

#include <string.h>

void fake_call(const char *function, const uint64_t *arguments, int count);

#define RECORD(function, ...)                                                                                          \
  do {                                                                                                                 \
    const uint64_t words[] = {WORDS(__VA_ARGS__)};                                                                     \
    fake_call(function, words, (int)(sizeof words / sizeof *words));                                                   \
  } while (0)

#define RESULT (fake.succeeds ? CUBLAS_STATUS_SUCCESS : (cublasStatus_t)FAKE_STATUS)

#if defined(FAKE_LT)

fake_record fake;

void fake_call(const char *function, const uint64_t *arguments, int count) {
  fake.calls++;
  fake.function = function;
  memset(fake.arguments, 0, sizeof fake.arguments);
  memcpy(fake.arguments, arguments, (size_t)count * sizeof *arguments);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *A,
                              cublasLtMatrixLayout_t a, const void *B, cublasLtMatrixLayout_t b, const void *beta,
                              const void *C, cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes, cudaStream_t stream) {
  RECORD("cublasLtMatmul", handle, desc, alpha, A, a, B, b, beta, C, c, D, d, algo, workspace, bytes, stream);
  return RESULT;
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              void *to, size_t bytes, size_t *written) {
  const int word = (int)attribute == SGEMM_CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER ? FAKE_D_OUT_SCALE : (int)attribute;
  if (word >= 30 && fake.old)
    return CUBLAS_STATUS_INVALID_VALUE;
  memcpy(to, &desc->data[word], bytes);
  if (written != NULL)
    *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, void *to, size_t bytes,
                                                size_t *written) {
  (void)written;
  if ((int)attribute == SGEMM_CUBLASLT_MATRIX_LAYOUT_BATCH_MODE) {
    if (fake.old)
      return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, &fake.batch_mode, bytes);
  } else {
    memcpy(to, &layout->data[attribute], bytes);
  }
  return CUBLAS_STATUS_SUCCESS;
}

#else

extern fake_record fake;

#define GETTER(name, type, field)                                                                                      \
  cublasStatus_t name(cublasHandle_t handle, type *to) {                                                               \
    const fake_handle *h = (const fake_handle *)handle;                                                                \
    if (h == NULL || h->broken)                                                                                        \
      return CUBLAS_STATUS_NOT_INITIALIZED;                                                                            \
    *to = (type)h->field;                                                                                              \
    return CUBLAS_STATUS_SUCCESS;                                                                                      \
  }
GETTER(cublasGetStream_v2, cudaStream_t, stream)
GETTER(cublasGetPointerMode_v2, cublasPointerMode_t, pointers)
GETTER(cublasGetMathMode, cublasMath_t, math)
GETTER(cublasGetSmCountTarget, int, sms)

/* The real library calls cuBLASLt for some products. */
static void call_lt(void) {
  static const float one = 1.0f, zero = 0.0f;
  cublasLtMatrixLayout_t layout = (cublasLtMatrixLayout_t)fake.inner[2];
  if (fake.nested)
    cublasLtMatmul((cublasLtHandle_t)fake.inner[0], (cublasLtMatmulDesc_t)fake.inner[1], &one, fake.inner[3], layout,
                   fake.inner[4], layout, &zero, fake.inner[5], layout, fake.inner[5], layout, NULL, NULL, 0, NULL);
}

#define FUNCTIONS(suffix, integer)                                                                                     \
  cublasStatus_t cublasSgemm_v2##suffix(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,     \
                                        integer m, integer n, integer k, const float *alpha, const float *A,           \
                                        integer lda, const float *B, integer ldb, const float *beta, float *C,         \
                                        integer ldc) {                                                                 \
    call_lt();                                                                                                         \
    RECORD("cublasSgemm_v2" #suffix, handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);            \
    return RESULT;                                                                                                     \
  }                                                                                                                    \
  cublasStatus_t cublasSgemmStridedBatched##suffix(                                                                    \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, integer k,      \
      const float *alpha, const float *A, integer lda, long long int strideA, const float *B, integer ldb,             \
      long long int strideB, const float *beta, float *C, integer ldc, long long int strideC, integer batchCount) {    \
    RECORD("cublasSgemmStridedBatched" #suffix, handle, transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb,       \
           strideB, beta, C, ldc, strideC, batchCount);                                                                \
    return RESULT;                                                                                                     \
  }                                                                                                                    \
  cublasStatus_t cublasSgemmEx##suffix(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,      \
                                       integer m, integer n, integer k, const float *alpha, const void *A,             \
                                       cudaDataType Atype, integer lda, const void *B, cudaDataType Btype,             \
                                       integer ldb, const float *beta, void *C, cudaDataType Ctype, integer ldc) {     \
    RECORD("cublasSgemmEx" #suffix, handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C,     \
           Ctype, ldc);                                                                                                \
    return RESULT;                                                                                                     \
  }                                                                                                                    \
  cublasStatus_t cublasGemmEx##suffix(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,       \
                                      integer m, integer n, integer k, const void *alpha, const void *A,               \
                                      cudaDataType Atype, integer lda, const void *B, cudaDataType Btype, integer ldb, \
                                      const void *beta, void *C, cudaDataType Ctype, integer ldc,                      \
                                      cublasComputeType_t computeType, cublasGemmAlgo_t algo) {                        \
    call_lt();                                                                                                         \
    RECORD("cublasGemmEx" #suffix, handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C,      \
           Ctype, ldc, computeType, algo);                                                                             \
    return RESULT;                                                                                                     \
  }                                                                                                                    \
  cublasStatus_t cublasGemmStridedBatchedEx##suffix(                                                                   \
      cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, integer k,      \
      const void *alpha, const void *A, cudaDataType Atype, integer lda, long long int strideA, const void *B,         \
      cudaDataType Btype, integer ldb, long long int strideB, const void *beta, void *C, cudaDataType Ctype,           \
      integer ldc, long long int strideC, integer batchCount, cublasComputeType_t computeType,                         \
      cublasGemmAlgo_t algo) {                                                                                         \
    RECORD("cublasGemmStridedBatchedEx" #suffix, handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B,    \
           Btype, ldb, strideB, beta, C, Ctype, ldc, strideC, batchCount, computeType, algo);                          \
    return RESULT;                                                                                                     \
  }                                                                                                                    \
  cublasStatus_t cublasSgemv_v2##suffix(cublasHandle_t handle, cublasOperation_t trans, integer m, integer n,          \
                                        const float *alpha, const float *A, integer lda, const float *x, integer incx, \
                                        const float *beta, float *y, integer incy) {                                   \
    RECORD("cublasSgemv_v2" #suffix, handle, trans, m, n, alpha, A, lda, x, incx, beta, y, incy);                      \
    return RESULT;                                                                                                     \
  }
FUNCTIONS(, int)
FUNCTIONS(_64, int64_t)

#endif
