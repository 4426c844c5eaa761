/* adapter.c: the intercepted functions of cuBLAS.

   Each function describes its call as sgemm_params. The call goes to this library if it is a product in fp32 on
   column-major matrices with host scalars, and else to the real cuBLAS with the arguments as the program gave them, so
   that cuBLAS reports bad arguments as the program expects. */
#include "adapters/cublas/adapter.h"

#include <limits.h>

#include "adapters/cublas/device.h"
#include "adapters/cublas/real.h"
#include "adapters/cublas/settings.h"
#include "adapters/cublas/times.h"
#include "adapters/cublas/tuned.h"

static _Thread_local int inside; /* calls of the real cuBLAS that this thread is in */

/* 1 after sgemm had no code for the current GPU: the search for it takes longer than the product. */
static int no_code;

/* ---- The way of a call ------------------------------------------------------------------------------------------- */

void sgemm_cublas__pass_if(int condition, sgemm_cublas__path why, sgemm_cublas__call *call) {
  if (condition && call->path == SGEMM_CUBLAS_PATH_STRICT)
    call->path = why;
}

sgemm_cublas__call sgemm_cublas__call_of(const char *function, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                         const void *alpha, const void *A, int64_t lda, const void *B, int64_t ldb,
                                         const void *beta, void *C, int64_t ldc) {
  static const sgemm_op ops[] = {SGEMM_N, SGEMM_T, SGEMM_C}; /* CUBLAS_OP_N, _T, _C */
  const int valid = transa >= CUBLAS_OP_N && transa <= CUBLAS_OP_C && transb >= CUBLAS_OP_N && transb <= CUBLAS_OP_C;
  sgemm_cublas__call call;
  call.function = function;
  call.p = sgemm_params_init_col(valid ? ops[transa] : SGEMM_N, valid ? ops[transb] : SGEMM_N, m, n, k);
  call.p.A = (const float *)A;
  call.p.lda = lda;
  call.p.B = (const float *)B;
  call.p.ldb = ldb;
  call.p.C = (float *)C;
  call.p.ldc = ldc;
  call.alpha = alpha;
  call.beta = beta;
  call.stream = NULL;
  call.pedantic = 0;
  call.path = SGEMM_CUBLAS_PATH_STRICT;
  call.status = CUBLAS_STATUS_SUCCESS;
  call.pass = NULL;
  call.context = NULL;
  sgemm_cublas__pass_if(!valid || alpha == NULL || beta == NULL, SGEMM_CUBLAS_PATH_ARGUMENTS, &call);
  return call;
}

void sgemm_cublas__compute_in(int type, sgemm_cublas__call *call) {
  const int tf32 = type == CUBLAS_COMPUTE_32F_FAST_TF32 && !sgemm_cublas__settings_get()->no_tf32;
  sgemm_cublas__pass_if(tf32 || (type != CUBLAS_COMPUTE_32F && type != CUBLAS_COMPUTE_32F_PEDANTIC &&
                                 type != CUBLAS_COMPUTE_32F_FAST_TF32),
                        SGEMM_CUBLAS_PATH_COMPUTE, call);
  call->pedantic |= type == CUBLAS_COMPUTE_32F_PEDANTIC;
}

static sgemm_cublas__entry *count(const sgemm_cublas__call *call) {
  static const char names[] = {'N', 'T', 'C'};
  sgemm_cublas__shape shape;
  shape.function = call->function;
  shape.m = call->p.m;
  shape.n = call->p.n;
  shape.k = call->p.k;
  shape.batch = call->p.batch;
  shape.op_a = names[call->p.op_a - SGEMM_N];
  shape.op_b = names[call->p.op_b - SGEMM_N];
  shape.path = call->path;
  return sgemm_cublas__count(&shape);
}

void sgemm_cublas__enter(void) { inside++; }
cublasStatus_t sgemm_cublas__leave(cublasStatus_t status) {
  inside--;
  return status;
}

int sgemm_cublas__bypass(const char *function) {
  const sgemm_cublas__settings *settings;
  if (inside > 0)
    return 1;
  settings = sgemm_cublas__settings_get();
  if (settings->off && settings->report) {
    const sgemm_cublas__shape shape = {function, 0, 0, 0, 0, '?', '?', SGEMM_CUBLAS_PATH_OFF};
    sgemm_cublas__count(&shape);
  }
  return settings->off;
}

/* The path of a call. A tensor mode computes a call in strict fp32 if that is faster, by the estimate or by the times
   of its tuned plan. */
static sgemm_cublas__path path_of(const sgemm_params *p) {
  sgemm_device device;
  if (p->mode == SGEMM_STRICT || sgemm_device_query(-1, &device) != SGEMM_SUCCESS ||
      sgemm_cublas__tuned_plan(p, &device).tensor == SGEMM_TENSOR_VARIANT_NONE)
    return SGEMM_CUBLAS_PATH_STRICT;
  return p->mode == SGEMM_TENSOR ? SGEMM_CUBLAS_PATH_TENSOR : SGEMM_CUBLAS_PATH_FULL;
}

/* 1 for the errors by which the CUDA runtime says that it cannot load the code of this library: cudaError_t 35 (driver
   too old), 98 (no such function on this device), 209 (no kernel image for this device), 222 (PTX too new). */
static int is_no_code(sgemm_status status) {
  const int error = sgemm_cuda_error(status);
  return error == 35 || error == 98 || error == 209 || error == 222;
}

/* 1 if cuBLAS can compute the call after sgemm returned this error: C has its old values, or they do not count. Only
   an error of the CUDA runtime can follow a launch that wrote C. */
static int can_fall_back(sgemm_status status, const sgemm_cublas__call *call) {
  return *(const float *)call->beta == 0.0f || is_no_code(status) || status == SGEMM_ERROR_NOT_COMPILED ||
         status == SGEMM_ERROR_PLAN || status == SGEMM_ERROR_WORKSPACE || status == SGEMM_ERROR_GRID;
}

sgemm_status sgemm_cublas__compute(const sgemm_cublas__call *call, float *C) {
  sgemm_params p = call->p;
  p.C = C;
  return sgemm_cublas__settings_get()->tune ? sgemm_cublas__run_tuned(&p, call->stream) : sgemm_run(&p, call->stream);
}

static void run(sgemm_cublas__call *call, const sgemm_cublas__settings *settings) {
  const sgemm_status status = sgemm_cublas__compute(call, call->p.C);
  if (status == SGEMM_SUCCESS) {
    call->path = settings->report ? path_of(&call->p) : SGEMM_CUBLAS_PATH_STRICT;
    return;
  }
  if (is_no_code(status))
    __atomic_store_n(&no_code, 1, __ATOMIC_RELAXED);
  call->path = is_no_code(status)            ? SGEMM_CUBLAS_PATH_NO_CODE
               : can_fall_back(status, call) ? SGEMM_CUBLAS_PATH_FALLBACK
                                             : SGEMM_CUBLAS_PATH_FAILED;
  call->status = CUBLAS_STATUS_EXECUTION_FAILED;
}

int sgemm_cublas__offer(sgemm_cublas__call *call) {
  const sgemm_cublas__settings *settings = sgemm_cublas__settings_get();
  sgemm_params *p = &call->p;
  sgemm_cublas__pass_if(__atomic_load_n(&no_code, __ATOMIC_RELAXED), SGEMM_CUBLAS_PATH_NO_CODE, call);
  sgemm_cublas__pass_if(p->m == 0 || p->n == 0 || p->k == 0 || p->batch == 0, SGEMM_CUBLAS_PATH_EMPTY, call);
  if (call->path == SGEMM_CUBLAS_PATH_STRICT) {
    p->alpha = *(const float *)call->alpha;
    p->beta = *(const float *)call->beta;
    p->mode = call->pedantic ? SGEMM_STRICT : settings->mode;
    p->workspace_bytes = SGEMM_WORKSPACE_AUTO;
    sgemm_cublas__pass_if(sgemm_check(p) != SGEMM_SUCCESS, SGEMM_CUBLAS_PATH_ARGUMENTS, call);
  }
  if (call->path == SGEMM_CUBLAS_PATH_STRICT)
    run(call, settings);
  if (settings->report) {
    sgemm_cublas__entry *entry = count(call);
    if (settings->times && entry != NULL && call->path <= SGEMM_CUBLAS_PATH_FULL)
      sgemm_cublas__measure(call, entry);
  }
  return call->path <= SGEMM_CUBLAS_PATH_FULL || call->path == SGEMM_CUBLAS_PATH_FAILED;
}

/* ---- The handle of cuBLAS ---------------------------------------------------------------------------------------- */

/* Reads what the handle says of the call. A getter that fails, as for a wrong handle, makes the call pass. */
static void read_handle(cublasHandle_t handle, sgemm_cublas__call *call) {
  const sgemm_cublas__functions *real = sgemm_cublas__real();
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  cudaStream_t stream = NULL;
  int sms = 0, mode;
  if (call->path != SGEMM_CUBLAS_PATH_STRICT)
    return;
  if (handle == NULL || real->cublasGetStream_v2 == NULL || real->cublasGetPointerMode_v2 == NULL ||
      real->cublasGetMathMode == NULL || real->cublasGetPointerMode_v2(handle, &pointers) != CUBLAS_STATUS_SUCCESS ||
      real->cublasGetMathMode(handle, &math) != CUBLAS_STATUS_SUCCESS ||
      real->cublasGetStream_v2(handle, &stream) != CUBLAS_STATUS_SUCCESS ||
      (real->cublasGetSmCountTarget != NULL && real->cublasGetSmCountTarget(handle, &sms) != CUBLAS_STATUS_SUCCESS)) {
    call->path = SGEMM_CUBLAS_PATH_ARGUMENTS;
    return;
  }
  mode = (int)math & 15;
  if (mode == CUBLAS_TF32_TENSOR_OP_MATH && sgemm_cublas__settings_get()->no_tf32)
    mode = CUBLAS_DEFAULT_MATH;
  call->stream = stream;
  call->pedantic |= mode == CUBLAS_PEDANTIC_MATH;
  sgemm_cublas__pass_if(pointers != CUBLAS_POINTER_MODE_HOST, SGEMM_CUBLAS_PATH_DEVICE_POINTERS, call);
  sgemm_cublas__pass_if(mode != CUBLAS_DEFAULT_MATH && mode != CUBLAS_PEDANTIC_MATH, SGEMM_CUBLAS_PATH_MATH_MODE, call);
  sgemm_cublas__pass_if(sms != 0, SGEMM_CUBLAS_PATH_SM_COUNT, call);
}

/* Runs the call by cublasSgemm, or cublasSgemmStridedBatched for a batch. In fp32 the Ex functions compute the same. */
static cublasStatus_t pass_product(const sgemm_cublas__call *call, float *C) {
  const sgemm_cublas__functions *real = sgemm_cublas__real();
  const sgemm_params *p = &call->p;
  const cublasHandle_t handle = (cublasHandle_t)call->context;
  const cublasOperation_t a = (cublasOperation_t)(p->op_a - SGEMM_N), b = (cublasOperation_t)(p->op_b - SGEMM_N);
  const float *alpha = (const float *)call->alpha, *beta = (const float *)call->beta;
  const int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb, ldc = (int)p->ldc;
  if (m != p->m || n != p->n || k != p->k || lda != p->lda || ldb != p->ldb || ldc != p->ldc || p->batch > INT_MAX ||
      real->cublasSgemm_v2 == NULL || real->cublasSgemmStridedBatched == NULL)
    return CUBLAS_STATUS_INVALID_VALUE;
  return p->batch == 1 ? real->cublasSgemm_v2(handle, a, b, m, n, k, alpha, p->A, lda, p->B, ldb, beta, C, ldc)
                       : real->cublasSgemmStridedBatched(handle, a, b, m, n, k, alpha, p->A, lda, p->stride_a, p->B,
                                                         ldb, p->stride_b, beta, C, ldc, p->stride_c, (int)p->batch);
}

static cublasStatus_t pass_vector(const sgemm_cublas__call *call, float *C) {
  const sgemm_cublas__functions *real = sgemm_cublas__real();
  const sgemm_params *p = &call->p;
  const int m = (int)p->m, k = (int)p->k, lda = (int)p->lda, plain = p->op_a == SGEMM_N;
  if (m != p->m || k != p->k || lda != p->lda || real->cublasSgemv_v2 == NULL)
    return CUBLAS_STATUS_INVALID_VALUE;
  return real->cublasSgemv_v2((cublasHandle_t)call->context, (cublasOperation_t)(p->op_a - SGEMM_N), plain ? m : k,
                              plain ? k : m, (const float *)call->alpha, p->A, lda, p->B, 1, (const float *)call->beta,
                              C, 1);
}

static int offer(cublasHandle_t handle, sgemm_cublas__call *call) {
  read_handle(handle, call);
  call->context = handle;
  if (call->pass == NULL)
    call->pass = pass_product;
  return sgemm_cublas__offer(call);
}

static void set_batch(int64_t stride_a, int64_t stride_b, int64_t stride_c, int64_t batch, sgemm_cublas__call *call) {
  call->p.stride_a = stride_a;
  call->p.stride_b = stride_b;
  call->p.stride_c = stride_c;
  call->p.batch = batch;
}

static void set_types(int a, int b, int c, sgemm_cublas__call *call) {
  sgemm_cublas__pass_if(a != CUDA_R_32F || b != CUDA_R_32F || c != CUDA_R_32F, SGEMM_CUBLAS_PATH_TYPE, call);
}

/* cuBLAS ignores the number of the algorithm from sm_80 on. */
static void set_algorithm(int algorithm, sgemm_cublas__call *call) {
  sgemm_cublas__pass_if(!(algorithm >= CUBLAS_GEMM_DEFAULT && algorithm <= CUBLAS_GEMM_ALGO23) &&
                            !(algorithm >= CUBLAS_GEMM_DEFAULT_TENSOR_OP && algorithm <= CUBLAS_GEMM_ALGO15_TENSOR_OP),
                        SGEMM_CUBLAS_PATH_ALGORITHM, call);
}

/* y (rows of op(A)) = alpha * op(A) * x + beta * y as a product with one column. */
static sgemm_cublas__call vector_call(const char *function, int trans, int64_t m, int64_t n, const float *alpha,
                                      const float *A, int64_t lda, const float *x, int64_t incx, const float *beta,
                                      float *y, int64_t incy) {
  const int64_t rows = trans == CUBLAS_OP_N ? m : n, columns = trans == CUBLAS_OP_N ? n : m;
  sgemm_cublas__call call = sgemm_cublas__call_of(function, trans, CUBLAS_OP_N, rows, 1, columns, alpha, A, lda, x,
                                                  sgemm__max(1, columns), beta, y, sgemm__max(1, rows));
  sgemm_cublas__pass_if(incx != 1 || incy != 1, SGEMM_CUBLAS_PATH_INCREMENT, &call);
  call.pass = pass_vector;
  return call;
}

/* ---- The functions ----------------------------------------------------------------------------------------------- */

/* Each with 32-bit and with 64-bit sizes. */
// clang-format off
#define SGEMM__SGEMM(name, integer)                                                                                    \
  SGEMM_CUBLAS_EXPORT(name)                                                                                            \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, \
                      integer k, const float *alpha, const float *A, integer lda, const float *B, integer ldb,         \
                      const float *beta, float *C, integer ldc) {                                                      \
    if (!sgemm_cublas__bypass(#name)) {                                                                                \
      sgemm_cublas__call call =                                                                                        \
          sgemm_cublas__call_of(#name, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);                  \
      if (offer(handle, &call))                                                                                        \
        return call.status;                                                                                            \
    }                                                                                                                  \
    return SGEMM_CUBLAS_PASS(sgemm_cublas__real(), name,                                                               \
                             (handle, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc));                  \
  }

#define SGEMM__SGEMM_STRIDED_BATCHED(name, integer)                                                                    \
  SGEMM_CUBLAS_EXPORT(name)                                                                                            \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, \
                      integer k, const float *alpha, const float *A, integer lda, long long int strideA,               \
                      const float *B, integer ldb, long long int strideB, const float *beta, float *C, integer ldc,    \
                      long long int strideC, integer batchCount) {                                                     \
    if (!sgemm_cublas__bypass(#name)) {                                                                                \
      sgemm_cublas__call call =                                                                                        \
          sgemm_cublas__call_of(#name, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);                  \
      set_batch(strideA, strideB, strideC, batchCount, &call);                                                         \
      if (offer(handle, &call))                                                                                        \
        return call.status;                                                                                            \
    }                                                                                                                  \
    return SGEMM_CUBLAS_PASS(sgemm_cublas__real(), name,                                                               \
                             (handle, transa, transb, m, n, k, alpha, A, lda, strideA, B, ldb, strideB, beta, C, ldc,  \
                              strideC, batchCount));                                                                   \
  }

#define SGEMM__SGEMM_EX(name, integer)                                                                                 \
  SGEMM_CUBLAS_EXPORT(name)                                                                                            \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, \
                      integer k, const float *alpha, const void *A, cudaDataType Atype, integer lda, const void *B,    \
                      cudaDataType Btype, integer ldb, const float *beta, void *C, cudaDataType Ctype, integer ldc) {  \
    if (!sgemm_cublas__bypass(#name)) {                                                                                \
      sgemm_cublas__call call =                                                                                        \
          sgemm_cublas__call_of(#name, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);                  \
      set_types((int)Atype, (int)Btype, (int)Ctype, &call);                                                            \
      if (offer(handle, &call))                                                                                        \
        return call.status;                                                                                            \
    }                                                                                                                  \
    return SGEMM_CUBLAS_PASS(                                                                                          \
        sgemm_cublas__real(), name,                                                                                    \
        (handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype, ldc));                  \
  }

#define SGEMM__GEMM_EX(name, integer)                                                                                  \
  SGEMM_CUBLAS_EXPORT(name)                                                                                            \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, \
                      integer k, const void *alpha, const void *A, cudaDataType Atype, integer lda, const void *B,     \
                      cudaDataType Btype, integer ldb, const void *beta, void *C, cudaDataType Ctype, integer ldc,     \
                      cublasComputeType_t computeType, cublasGemmAlgo_t algo) {                                        \
    if (!sgemm_cublas__bypass(#name)) {                                                                                \
      sgemm_cublas__call call =                                                                                        \
          sgemm_cublas__call_of(#name, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);                  \
      set_types((int)Atype, (int)Btype, (int)Ctype, &call);                                                            \
      sgemm_cublas__compute_in((int)computeType, &call);                                                               \
      set_algorithm((int)algo, &call);                                                                                 \
      if (offer(handle, &call))                                                                                        \
        return call.status;                                                                                            \
    }                                                                                                                  \
    return SGEMM_CUBLAS_PASS(sgemm_cublas__real(), name,                                                               \
                             (handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb, beta, C, Ctype,    \
                              ldc, computeType, algo));                                                                \
  }

#define SGEMM__GEMM_STRIDED_BATCHED_EX(name, integer)                                                                  \
  SGEMM_CUBLAS_EXPORT(name)                                                                                            \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, integer m, integer n, \
                      integer k, const void *alpha, const void *A, cudaDataType Atype, integer lda,                    \
                      long long int strideA, const void *B, cudaDataType Btype, integer ldb, long long int strideB,    \
                      const void *beta, void *C, cudaDataType Ctype, integer ldc, long long int strideC,               \
                      integer batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo) {                    \
    if (!sgemm_cublas__bypass(#name)) {                                                                                \
      sgemm_cublas__call call =                                                                                        \
          sgemm_cublas__call_of(#name, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);                  \
      set_batch(strideA, strideB, strideC, batchCount, &call);                                                         \
      set_types((int)Atype, (int)Btype, (int)Ctype, &call);                                                            \
      sgemm_cublas__compute_in((int)computeType, &call);                                                               \
      set_algorithm((int)algo, &call);                                                                                 \
      if (offer(handle, &call))                                                                                        \
        return call.status;                                                                                            \
    }                                                                                                                  \
    return SGEMM_CUBLAS_PASS(sgemm_cublas__real(), name,                                                               \
                             (handle, transa, transb, m, n, k, alpha, A, Atype, lda, strideA, B, Btype, ldb, strideB,  \
                              beta, C, Ctype, ldc, strideC, batchCount, computeType, algo));                           \
  }

#define SGEMM__SGEMV(name, integer)                                                                                    \
  SGEMM_CUBLAS_EXPORT(name)                                                                                            \
  cublasStatus_t name(cublasHandle_t handle, cublasOperation_t trans, integer m, integer n, const float *alpha,        \
                      const float *A, integer lda, const float *x, integer incx, const float *beta, float *y,          \
                      integer incy) {                                                                                  \
    if (!sgemm_cublas__bypass(#name)) {                                                                                \
      sgemm_cublas__call call = vector_call(#name, trans, m, n, alpha, A, lda, x, incx, beta, y, incy);                \
      if (offer(handle, &call))                                                                                        \
        return call.status;                                                                                            \
    }                                                                                                                  \
    return SGEMM_CUBLAS_PASS(sgemm_cublas__real(), name,                                                               \
                             (handle, trans, m, n, alpha, A, lda, x, incx, beta, y, incy));                            \
  }
// clang-format on

SGEMM__SGEMM(cublasSgemm_v2, int)
SGEMM__SGEMM(cublasSgemm_v2_64, int64_t)
SGEMM__SGEMM_STRIDED_BATCHED(cublasSgemmStridedBatched, int)
SGEMM__SGEMM_STRIDED_BATCHED(cublasSgemmStridedBatched_64, int64_t)
SGEMM__SGEMM_EX(cublasSgemmEx, int)
SGEMM__SGEMM_EX(cublasSgemmEx_64, int64_t)
SGEMM__GEMM_EX(cublasGemmEx, int)
SGEMM__GEMM_EX(cublasGemmEx_64, int64_t)
SGEMM__GEMM_STRIDED_BATCHED_EX(cublasGemmStridedBatchedEx, int)
SGEMM__GEMM_STRIDED_BATCHED_EX(cublasGemmStridedBatchedEx_64, int64_t)
SGEMM__SGEMV(cublasSgemv_v2, int)
SGEMM__SGEMV(cublasSgemv_v2_64, int64_t)
