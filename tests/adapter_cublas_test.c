/* adapter_cublas_test.c CASE: a program that calls cuBLAS and knows nothing of the adapter. adapter_cublas_test.sh
   links it with the stand-in of fake_cublas.c and preloads the adapter. The matrices are in host memory, because the
   adapter of the test is linked with the CPU model or with the stand-in of fake_sgemm.c. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <cublas_v2.h>

#include <cublasLt.h>
#ifdef REDIRECT
#include "adapters/cublas/sgemm_cublas.h"
#endif

#include "expect.h"
#include "fake_cublas.h"
#include "sgemm.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *A, int lda,
                 const float *B, int ldb, float beta, float *C, int ldc);

/* ---- Descriptions of cuBLASLt ------------------------------------------------------------------------------------ */

/* What a call of cublasLtMatmul reads. The stand-in has attribute i in word i. */
typedef struct matmul {
  cublasLtMatmulDescOpaque_t desc;
  cublasLtMatrixLayoutOpaque_t a, b, c, d;
} matmul;

static cublasLtMatrixLayoutOpaque_t layout_of(int64_t rows, int64_t columns, int64_t ld, int64_t batch,
                                              int64_t stride) {
  cublasLtMatrixLayoutOpaque_t l;
  memset(&l, 0, sizeof l);
  l.data[CUBLASLT_MATRIX_LAYOUT_TYPE] = CUDA_R_32F;
  l.data[CUBLASLT_MATRIX_LAYOUT_ORDER] = CUBLASLT_ORDER_COL;
  l.data[CUBLASLT_MATRIX_LAYOUT_ROWS] = (uint64_t)rows;
  l.data[CUBLASLT_MATRIX_LAYOUT_COLS] = (uint64_t)columns;
  l.data[CUBLASLT_MATRIX_LAYOUT_LD] = (uint64_t)ld;
  l.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = (uint64_t)batch;
  l.data[CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET] = (uint64_t)stride;
  return l;
}

static cublasLtMatmulDescOpaque_t desc_of(cublasOperation_t transa, cublasOperation_t transb) {
  cublasLtMatmulDescOpaque_t d;
  memset(&d, 0, sizeof d);
  d.data[CUBLASLT_MATMUL_DESC_COMPUTE_TYPE] = CUBLAS_COMPUTE_32F;
  d.data[CUBLASLT_MATMUL_DESC_SCALE_TYPE] = CUDA_R_32F;
  d.data[CUBLASLT_MATMUL_DESC_TRANSA] = transa;
  d.data[CUBLASLT_MATMUL_DESC_TRANSB] = transb;
  d.data[CUBLASLT_MATMUL_DESC_FILL_MODE] = CUBLAS_FILL_MODE_FULL;
  d.data[CUBLASLT_MATMUL_DESC_EPILOGUE] = CUBLASLT_EPILOGUE_DEFAULT;
  return d;
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */

/* A product and its operands. Elements are integers from -8 to 8, so every order of summation gives the same bits.
   Padding, and C where beta is 0, hold NaN. */
typedef struct product {
  cublasOperation_t transa, transb;
  int m, n, k, batch;
  float alpha, beta;
  int lda, ldb, ldc;
  long long stride_a, stride_b, stride_c;
  float *A, *B, *C, *want;
  size_t count_c;
  fake_handle handle;
} product;

static float *matrix_of(size_t count, int rows, int columns, int ld, int batch, long long stride, unsigned seed) {
  float *x = (float *)malloc(count * sizeof *x);
  size_t i;
  int b, r, c;
  for (i = 0; i < count; i++)
    x[i] = NAN;
  for (b = 0; b < batch; b++)
    for (c = 0; c < columns; c++)
      for (r = 0; r < rows; r++) {
        seed = seed * 1664525u + 1013904223u; /* Knuth, TAOCP 2, 3.3.4 */
        x[b * stride + (long long)c * ld + r] = (float)((int)(seed >> 16) % 17 - 8);
      }
  return x;
}

/* batch > 1: the matrices have gaps between them, and B is one matrix for all. */
static product product_of(cublasOperation_t transa, cublasOperation_t transb, int m, int n, int k, int batch,
                          float alpha, float beta) {
  product q;
  const int rows_a = transa == CUBLAS_OP_N ? m : k, columns_a = transa == CUBLAS_OP_N ? k : m;
  const int rows_b = transb == CUBLAS_OP_N ? k : n, columns_b = transb == CUBLAS_OP_N ? n : k;
  int b;
  memset(&q, 0, sizeof q);
  q.transa = transa, q.transb = transb;
  q.m = m, q.n = n, q.k = k, q.batch = batch;
  q.alpha = alpha, q.beta = beta;
  q.lda = rows_a + 3, q.ldb = rows_b + 5, q.ldc = m + 7;
  q.stride_a = (long long)q.lda * columns_a + 11;
  q.stride_b = 0;
  q.stride_c = (long long)q.ldc * n + 13;
  q.count_c = (size_t)(q.stride_c * batch);
  q.A = matrix_of((size_t)(q.stride_a * batch), rows_a, columns_a, q.lda, batch, q.stride_a, 1);
  q.B = matrix_of((size_t)q.ldb * columns_b, rows_b, columns_b, q.ldb, 1, 0, 2);
  q.C = matrix_of(q.count_c, m, beta != 0.0f ? n : 0, q.ldc, batch, q.stride_c, 3);
  q.want = (float *)malloc(q.count_c * sizeof *q.want);
  memcpy(q.want, q.C, q.count_c * sizeof *q.want);
  for (b = 0; b < batch; b++)
    cblas_sgemm(102, 111 + (int)transa, 111 + (int)transb, m, n, k, alpha, q.A + b * q.stride_a, q.lda,
                q.B + b * q.stride_b, q.ldb, beta, q.want + b * q.stride_c, q.ldc);
  return q;
}

static void product_free(product *q) { free(q->A), free(q->B), free(q->C), free(q->want); }

/* The forms in which a program can ask for a product. A form without batches is called once for each matrix. */
typedef cublasStatus_t form(const product *q, cublasHandle_t h);

#define GEMM q->transa, q->transb, q->m, q->n, q->k, &q->alpha
#define F32 CUDA_R_32F
static cublasStatus_t sgemm32(const product *q, cublasHandle_t h) {
  return cublasSgemm_v2(h, GEMM, q->A, q->lda, q->B, q->ldb, &q->beta, q->C, q->ldc);
}
static cublasStatus_t sgemm64(const product *q, cublasHandle_t h) {
  return cublasSgemm_v2_64(h, GEMM, q->A, q->lda, q->B, q->ldb, &q->beta, q->C, q->ldc);
}
static cublasStatus_t sgemm_ex32(const product *q, cublasHandle_t h) {
  return cublasSgemmEx(h, GEMM, q->A, F32, q->lda, q->B, F32, q->ldb, &q->beta, q->C, F32, q->ldc);
}
static cublasStatus_t sgemm_ex64(const product *q, cublasHandle_t h) {
  return cublasSgemmEx_64(h, GEMM, q->A, F32, q->lda, q->B, F32, q->ldb, &q->beta, q->C, F32, q->ldc);
}
static cublasStatus_t gemm_ex32(const product *q, cublasHandle_t h) {
  return cublasGemmEx(h, GEMM, q->A, F32, q->lda, q->B, F32, q->ldb, &q->beta, q->C, F32, q->ldc, CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT);
}
static cublasStatus_t gemm_ex64(const product *q, cublasHandle_t h) {
  return cublasGemmEx_64(h, GEMM, q->A, F32, q->lda, q->B, F32, q->ldb, &q->beta, q->C, F32, q->ldc,
                         CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_GEMM_DEFAULT_TENSOR_OP);
}
static cublasStatus_t strided32(const product *q, cublasHandle_t h) {
  return cublasSgemmStridedBatched(h, GEMM, q->A, q->lda, q->stride_a, q->B, q->ldb, q->stride_b, &q->beta, q->C,
                                   q->ldc, q->stride_c, q->batch);
}
static cublasStatus_t strided64(const product *q, cublasHandle_t h) {
  return cublasSgemmStridedBatched_64(h, GEMM, q->A, q->lda, q->stride_a, q->B, q->ldb, q->stride_b, &q->beta, q->C,
                                      q->ldc, q->stride_c, q->batch);
}
static cublasStatus_t strided_ex32(const product *q, cublasHandle_t h) {
  return cublasGemmStridedBatchedEx(h, GEMM, q->A, F32, q->lda, q->stride_a, q->B, F32, q->ldb, q->stride_b, &q->beta,
                                    q->C, F32, q->ldc, q->stride_c, q->batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}
static cublasStatus_t strided_ex64(const product *q, cublasHandle_t h) {
  return cublasGemmStridedBatchedEx_64(h, GEMM, q->A, F32, q->lda, q->stride_a, q->B, F32, q->ldb, q->stride_b,
                                       &q->beta, q->C, F32, q->ldc, q->stride_c, q->batch, CUBLAS_COMPUTE_32F,
                                       CUBLAS_GEMM_ALGO23);
}

static matmul matmul_of(const product *q) {
  const int plain_a = q->transa == CUBLAS_OP_N, plain_b = q->transb == CUBLAS_OP_N;
  matmul x;
  x.desc = desc_of(q->transa, q->transb);
  x.a = layout_of(plain_a ? q->m : q->k, plain_a ? q->k : q->m, q->lda, q->batch, q->stride_a);
  x.b = layout_of(plain_b ? q->k : q->n, plain_b ? q->n : q->k, q->ldb, q->batch, q->stride_b);
  x.c = x.d = layout_of(q->m, q->n, q->ldc, q->batch, q->stride_c);
  return x;
}
static cublasStatus_t lt(const product *q, cublasHandle_t h) {
  matmul x = matmul_of(q);
  return cublasLtMatmul((cublasLtHandle_t)h, &x.desc, &q->alpha, q->A, &x.a, q->B, &x.b, &q->beta, q->C, &x.c, q->C,
                        &x.d, NULL, NULL, 0, NULL);
}

static const struct {
  const char *name;
  form *call;
  int batched;
} forms[] = {{"cublasSgemm", sgemm32, 0},
             {"cublasSgemm_64", sgemm64, 0},
             {"cublasSgemmEx", sgemm_ex32, 0},
             {"cublasSgemmEx_64", sgemm_ex64, 0},
             {"cublasGemmEx", gemm_ex32, 0},
             {"cublasGemmEx_64", gemm_ex64, 0},
             {"cublasSgemmStridedBatched", strided32, 1},
             {"cublasSgemmStridedBatched_64", strided64, 1},
             {"cublasGemmStridedBatchedEx", strided_ex32, 1},
             {"cublasGemmStridedBatchedEx_64", strided_ex64, 1},
             {"cublasLtMatmul", lt, 1}};
enum { FORMS = sizeof forms / sizeof *forms };

/* Compares all of C, padding included, with OpenBLAS. A NaN must stay a NaN. */
static void product_check(const product *q, const char *name) {
  size_t i, wrong = 0;
  for (i = 0; i < q->count_c; i++)
    wrong += isnan(q->want[i]) ? !isnan(q->C[i]) : q->C[i] != q->want[i];
  EXPECT(wrong == 0, "%s, %d x %d x %d, ops %d %d, alpha %g, beta %g: %zu elements", name, q->m, q->n, q->k,
         (int)q->transa, (int)q->transb, q->alpha, q->beta, wrong);
}

/* 1: the adapter measures calls, so it calls cuBLAS. */
static int is_timed(void) { return getenv("SGEMM_CUBLAS_TIMES") != NULL; }

/* Every form with every pair of ops, and with alpha and beta. */
static void test_products(void) {
  static const float scalars[][2] = {{1, 0}, {-2, 3}, {0, 2}};
  int i, op, s;
  fake.succeeds = is_timed();
  for (i = 0; i < FORMS; i++)
    for (op = 0; op < 9; op++)
      for (s = 0; s < 3; s++) {
        product q = product_of((cublasOperation_t)(op / 3), (cublasOperation_t)(op % 3), 13, 10, 21,
                               forms[i].batched ? 3 : 1, scalars[s][0], scalars[s][1]);
        const cublasStatus_t status = forms[i].call(&q, (cublasHandle_t)&q.handle);
        EXPECT(status == CUBLAS_STATUS_SUCCESS, "%s: %d", forms[i].name, (int)status);
        product_check(&q, forms[i].name);
        product_free(&q);
      }
  EXPECT((fake.calls > 0) == is_timed(), "%d calls of cuBLAS", fake.calls);
}

/* cublasLtMatmul with a bias, for every pair of ops: the bias is added to every column. */
static void test_bias(void) {
  static float bias[] = {5, -3, 2, 0, 7, 1, -8, 4, 6, -2, 9, -7, 3};
  int op, c;
  fake.succeeds = is_timed();
  for (op = 0; op < 9; op++) {
    product q = product_of((cublasOperation_t)(op / 3), (cublasOperation_t)(op % 3), 13, 10, 21, 1, -2, 0);
    matmul x = matmul_of(&q);
    cublasStatus_t status;
    x.desc.data[CUBLASLT_MATMUL_DESC_EPILOGUE] = CUBLASLT_EPILOGUE_BIAS;
    x.desc.data[CUBLASLT_MATMUL_DESC_BIAS_POINTER] = (uint64_t)(uintptr_t)bias;
    x.desc.data[CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE] = op % 2 ? (uint32_t)-1 : CUDA_R_32F;
    for (c = 0; c < q.n; c++)
      memcpy(q.want + c * q.ldc, bias, sizeof bias);
    cblas_sgemm(102, 111 + op / 3, 111 + op % 3, q.m, q.n, q.k, q.alpha, q.A, q.lda, q.B, q.ldb, 1.0f, q.want, q.ldc);
    status = cublasLtMatmul((cublasLtHandle_t)&q.handle, &x.desc, &q.alpha, q.A, &x.a, q.B, &x.b, &q.beta, NULL, &x.c,
                            q.C, &x.d, NULL, NULL, 0, NULL);
    EXPECT(status == CUBLAS_STATUS_SUCCESS, "%d", (int)status);
    product_check(&q, "cublasLtMatmul with bias");
    product_free(&q);
  }
  EXPECT((fake.calls > 0) == is_timed(), "%d calls of cuBLAS", fake.calls);
}

/* y = alpha * op(A) * x + beta * y for both sizes of integers. */
static void test_vectors(void) {
  int op, wide;
  for (op = 0; op < 3; op++)
    for (wide = 0; wide < 2; wide++) {
      /* The product's A is rows x columns, and op(A) of the vector's call is m x k. */
      product q = product_of((cublasOperation_t)op, CUBLAS_OP_N, 13, 1, 21, 1, -2, 3);
      const int rows = op == 0 ? q.m : q.k, columns = op == 0 ? q.k : q.m;
      const cublasHandle_t h = (cublasHandle_t)&q.handle;
      const cublasStatus_t status =
          wide ? cublasSgemv_v2_64(h, q.transa, rows, columns, &q.alpha, q.A, q.lda, q.B, 1, &q.beta, q.C, 1)
               : cublasSgemv_v2(h, q.transa, rows, columns, &q.alpha, q.A, q.lda, q.B, 1, &q.beta, q.C, 1);
      EXPECT(status == CUBLAS_STATUS_SUCCESS, "%d", (int)status);
      product_check(&q, "cublasSgemv");
      product_free(&q);
    }
  EXPECT(fake.calls == 0, "%d calls of cuBLAS", fake.calls);
}

/* ---- Calls that pass --------------------------------------------------------------------------------------------- */

static float A[4096], B[4096], C[4096];

/* The stand-in has recorded one call with these arguments, its status came back, and C is untouched. */
static void check_passed(int line, const char *function, cublasStatus_t status, const uint64_t *words, int count) {
  int i;
  for (i = 0; i < 4096; i++)
    if (C[i] != 42.0f)
      break;
  if (fake.calls != 1 || strcmp(fake.function, function) != 0 || (int)status != FAKE_STATUS || i < 4096 ||
      memcmp(fake.arguments, words, (size_t)count * sizeof *words) != 0) {
    printf("line %d: %s: %d calls, status %d, C %s\n", line, function, fake.calls, (int)status,
           i < 4096 ? "changed" : "kept");
    faults++;
  }
  fake.calls = 0;
  for (i = 0; i < 4096; i++)
    C[i] = 42.0f;
}

#define NAME_OF(name) NAME_OF2(name)
#define NAME_OF2(name) (strncmp(#name, "sgemm_", 6) == 0 ? #name + 6 : #name) /* sgemm_cublas.h redirects the names */
#define PASSES(name, ...)                                                                                              \
  do {                                                                                                                 \
    const uint64_t words[] = {WORDS(__VA_ARGS__)};                                                                     \
    const cublasStatus_t status = name(__VA_ARGS__);                                                                   \
    check_passed(__LINE__, NAME_OF(name), status, words, (int)(sizeof words / sizeof *words));                         \
  } while (0)

/* The call reaches this library, and not cuBLAS. */
#define TAKEN(name, ...)                                                                                               \
  do {                                                                                                                 \
    const cublasStatus_t status = name(__VA_ARGS__);                                                                   \
    int i;                                                                                                             \
    EXPECT(status == CUBLAS_STATUS_SUCCESS && fake.calls == 0, "status %d, %d calls", (int)status, fake.calls);        \
    fake.calls = 0;                                                                                                    \
    for (i = 0; i < 4096; i++)                                                                                         \
      C[i] = 42.0f;                                                                                                    \
  } while (0)

static const float one = 1.0f, zero = 0.0f, two = 2.0f;
#define N CUBLAS_OP_N
#define T CUBLAS_OP_T

static cublasHandle_t handle_with(int pointers, int math, int sms, int broken) {
  static fake_handle h;
  h.stream = NULL, h.pointers = pointers, h.math = math, h.sms = sms, h.broken = broken;
  return (cublasHandle_t)&h;
}

static void fill_c(void) {
  int i;
  for (i = 0; i < 4096; i++)
    C[i] = 42.0f;
}

static void test_handles_that_pass(void) {
  static const int math[] = {CUBLAS_TENSOR_OP_MATH, CUBLAS_TF32_TENSOR_OP_MATH, CUBLAS_TF32_TENSOR_OP_MATH | 16, 4};
  static const int taken[] = {CUBLAS_DEFAULT_MATH, CUBLAS_PEDANTIC_MATH,
                              CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION};
  unsigned i;
  fill_c();
  for (i = 0; i < sizeof math / sizeof *math; i++)
    PASSES(cublasSgemm_v2, handle_with(0, math[i], 0, 0), N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  for (i = 0; i < sizeof taken / sizeof *taken; i++)
    TAKEN(cublasSgemm_v2, handle_with(0, taken[i], 0, 0), N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, handle_with(CUBLAS_POINTER_MODE_DEVICE, 0, 0, 0), N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C,
         10);
  PASSES(cublasSgemm_v2, handle_with(0, 0, 66, 0), N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, handle_with(0, 0, 0, 1), N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, (cublasHandle_t)NULL, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
}

static void test_arguments_that_pass(void) {
  const cublasHandle_t h = handle_with(0, 0, 0, 0);
  const cublasOperation_t bad = (cublasOperation_t)3;
  float *misaligned = (float *)((char *)C + 2);
  fill_c();
  PASSES(cublasSgemm_v2, h, bad, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, h, N, bad, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, h, N, T, -5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, h, N, T, 5, -6, 7, &one, A, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, h, N, T, 5, 6, -7, &one, A, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, h, N, T, 0, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, h, N, T, 5, 0, 7, &one, A, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, h, N, T, 5, 6, 0, &one, A, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, h, N, T, 5, 6, 7, (const float *)NULL, A, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, B, 9, (const float *)NULL, C, 10);
  PASSES(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, (const float *)NULL, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, (const float *)NULL, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, (float *)NULL, 10);
  PASSES(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, misaligned, 10);
  PASSES(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 4, B, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, B, 5, &two, C, 10);
  PASSES(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 4);
  PASSES(cublasSgemm_v2_64, h, N, T, 5, INT64_C(-4294967290), 7, &one, A, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemmStridedBatched, h, N, T, 5, 6, 7, &one, A, 8, 56, B, 9, 63, &two, C, 10, 60, 0);
  PASSES(cublasSgemmStridedBatched, h, N, T, 5, 6, 7, &one, A, 8, 56, B, 9, 63, &two, C, 10, 60, -1);
  PASSES(cublasSgemmStridedBatched, h, N, T, 5, 6, 7, &one, A, 8, -56, B, 9, 63, &two, C, 10, 60, 2);
  PASSES(cublasSgemmStridedBatched_64, h, N, T, 5, 6, 7, &one, A, 8, 56, B, 9, 63, &two, C, 10, 20, 2);
  PASSES(cublasSgemv_v2, h, N, 5, 6, &one, A, 8, B, 2, &two, C, 1);
  PASSES(cublasSgemv_v2, h, N, 5, 6, &one, A, 8, B, 1, &two, C, 2);
  PASSES(cublasSgemv_v2_64, h, T, 5, 6, &one, A, 8, B, -1, &two, C, 1);
  PASSES(cublasSgemv_v2, h, T, 5, 0, &one, A, 8, B, 1, &two, C, 1);
}

static void test_types_that_pass(void) {
  static const cublasComputeType_t computes[] = {CUBLAS_COMPUTE_16F, CUBLAS_COMPUTE_32F_FAST_16F,
                                                 CUBLAS_COMPUTE_32F_FAST_16BF, CUBLAS_COMPUTE_32F_FAST_TF32};
  const cublasHandle_t h = handle_with(0, 0, 0, 0);
  const cublasComputeType_t f = CUBLAS_COMPUTE_32F;
  const cublasGemmAlgo_t any = CUBLAS_GEMM_DEFAULT, tune = (cublasGemmAlgo_t)999, under = (cublasGemmAlgo_t)-2;
  unsigned i;
  fill_c();
  for (i = 0; i < 3; i++) {
    const cudaDataType a = i == 0 ? CUDA_R_16F : F32, b = i == 1 ? CUDA_R_16BF : F32, c = i == 2 ? CUDA_R_64F : F32;
    PASSES(cublasSgemmEx, h, N, T, 5, 6, 7, &one, A, a, 8, B, b, 9, &two, C, c, 10);
    PASSES(cublasSgemmEx_64, h, N, T, 5, 6, 7, &one, A, a, 8, B, b, 9, &two, C, c, 10);
    PASSES(cublasGemmEx, h, N, T, 5, 6, 7, &one, A, a, 8, B, b, 9, &two, C, c, 10, f, any);
    PASSES(cublasGemmStridedBatchedEx, h, N, T, 5, 6, 7, &one, A, a, 8, 56, B, b, 9, 63, &two, C, c, 10, 60, 2, f, any);
  }
  for (i = 0; i < sizeof computes / sizeof *computes; i++) {
    PASSES(cublasGemmEx, h, N, T, 5, 6, 7, &one, A, F32, 8, B, F32, 9, &two, C, F32, 10, computes[i], any);
    PASSES(cublasGemmEx_64, h, N, T, 5, 6, 7, &one, A, F32, 8, B, F32, 9, &two, C, F32, 10, computes[i], any);
    PASSES(cublasGemmStridedBatchedEx, h, N, T, 5, 6, 7, &one, A, F32, 8, 56, B, F32, 9, 63, &two, C, F32, 10, 60, 2,
           computes[i], any);
    PASSES(cublasGemmStridedBatchedEx_64, h, N, T, 5, 6, 7, &one, A, F32, 8, 56, B, F32, 9, 63, &two, C, F32, 10, 60, 2,
           computes[i], any);
  }
  PASSES(cublasGemmEx, h, N, T, 5, 6, 7, &one, A, F32, 8, B, F32, 9, &two, C, F32, 10, f, tune);
  PASSES(cublasGemmEx, h, N, T, 5, 6, 7, &one, A, F32, 8, B, F32, 9, &two, C, F32, 10, f, under);
  PASSES(cublasGemmEx, h, N, T, 5, 6, 7, &one, A, F32, 8, B, F32, 9, &two, C, F32, 10, f, (cublasGemmAlgo_t)24);
  PASSES(cublasGemmStridedBatchedEx, h, N, T, 5, 6, 7, &one, A, F32, 8, 56, B, F32, 9, 63, &two, C, F32, 10, 60, 2, f,
         (cublasGemmAlgo_t)116);
  /* The handle asks for TF32 where the call asks for no more than fp32. */
  PASSES(cublasGemmEx, handle_with(0, CUBLAS_TF32_TENSOR_OP_MATH, 0, 0), N, T, 5, 6, 7, &one, A, F32, 8, B, F32, 9,
         &two, C, F32, 10, f, any);
}

/* ---- cuBLASLt ---------------------------------------------------------------------------------------------------- */

/* A valid call, 5 x 6 x 7, ops N and T, of two matrices; C is D. */
static matmul lt_base(void) {
  matmul x;
  x.desc = desc_of(N, T);
  x.a = layout_of(5, 7, 8, 2, 56);
  x.b = layout_of(6, 7, 9, 2, 63);
  x.c = x.d = layout_of(5, 6, 10, 2, 60);
  return x;
}

#define LT(x, beta, in)                                                                                                \
  handle, &(x).desc, &one, A, &(x).a, B, &(x).b, beta, in, &(x).c, C, &(x).d, &algorithm, workspace, sizeof workspace, \
      stream

static cublasLtMatmulAlgo_t algorithm;
static char workspace[16];
static const cudaStream_t stream = NULL;

static void test_lt_attributes_that_pass(void) {
  static const struct {
    int attribute;
    uint64_t value;
  } cases[] = {{CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_32F_FAST_TF32},
               {CUBLASLT_MATMUL_DESC_SCALE_TYPE, CUDA_R_64F},
               {CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLAS_POINTER_MODE_DEVICE},
               {CUBLASLT_MATMUL_DESC_TRANSA, 3},
               {CUBLASLT_MATMUL_DESC_TRANSB, 3},
               {CUBLASLT_MATMUL_DESC_TRANSC, CUBLAS_OP_T},
               {CUBLASLT_MATMUL_DESC_FILL_MODE, 0},
               {CUBLASLT_MATMUL_DESC_EPILOGUE, 130}, /* ReLU, and its mask in aux */
               {CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS},
               {CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 66},
               {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, 64},
               {CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, 64},
               {CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, 64},
               {CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, 64},
               {CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, 64},
               {FAKE_D_OUT_SCALE, 64}};
  const cublasLtHandle_t handle = (cublasLtHandle_t)handle_with(0, 0, 0, 0);
  matmul x = lt_base();
  unsigned i;
  fill_c();
  TAKEN(cublasLtMatmul, LT(x, &two, C));
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    x = lt_base();
    x.desc.data[cases[i].attribute] = cases[i].value;
    PASSES(cublasLtMatmul, LT(x, &two, C));
  }
  x = lt_base();
  x.desc.data[CUBLASLT_MATMUL_DESC_COMPUTE_TYPE] = CUBLAS_COMPUTE_32F_PEDANTIC;
  TAKEN(cublasLtMatmul, LT(x, &two, C));
  x = lt_base();
  PASSES(cublasLtMatmul, (cublasLtHandle_t)NULL, &x.desc, &one, A, &x.a, B, &x.b, &two, C, &x.c, C, &x.d, &algorithm,
         workspace, sizeof workspace, stream);
  PASSES(cublasLtMatmul, handle, (cublasLtMatmulDesc_t)NULL, &one, A, &x.a, B, &x.b, &two, C, &x.c, C, &x.d, &algorithm,
         workspace, sizeof workspace, stream);
  PASSES(cublasLtMatmul, handle, &x.desc, &one, A, (cublasLtMatrixLayout_t)NULL, B, &x.b, &two, C, &x.c, C, &x.d,
         &algorithm, workspace, sizeof workspace, stream);
  PASSES(cublasLtMatmul, LT(x, (const float *)NULL, C));
  x.desc.data[FAKE_D_OUT_SCALE] = 64; /* what lies there is no attribute of older versions */
  fake.old = 1, fake.batch_mode = 1;
  TAKEN(cublasLtMatmul, LT(x, &two, C));
  fake.old = 0;
  x = lt_base();
  PASSES(cublasLtMatmul, LT(x, &two, C)); /* the batch mode */
  fake.batch_mode = 0;
}

/* A bias is taken for one matrix and a vector in fp32. */
static void test_lt_biases_that_pass(void) {
  static const float bias[] = {1, 2, 3, 4, 5, 6};
  const cublasLtHandle_t handle = (cublasLtHandle_t)handle_with(0, 0, 0, 0);
  matmul x = lt_base(), batched = lt_base();
  fill_c();
  x.a.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = x.b.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = 1;
  x.c.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = x.d.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = 1;
  x.desc.data[CUBLASLT_MATMUL_DESC_EPILOGUE] = CUBLASLT_EPILOGUE_BIAS;
  x.desc.data[CUBLASLT_MATMUL_DESC_BIAS_POINTER] = (uint64_t)(uintptr_t)bias;
  TAKEN(cublasLtMatmul, LT(x, &zero, C));
  TAKEN(cublasLtMatmul, LT(x, &two, C));
  PASSES(cublasLtMatmul, LT(x, (const float *)NULL, C));
  batched.desc = x.desc;
  PASSES(cublasLtMatmul, LT(batched, &zero, C));
  x.desc.data[CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE] = CUDA_R_16F;
  PASSES(cublasLtMatmul, LT(x, &zero, C));
  x.desc.data[CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE] = CUDA_R_32F;
  x.desc.data[CUBLASLT_MATMUL_DESC_BIAS_POINTER] += 2;
  PASSES(cublasLtMatmul, LT(x, &zero, C));
  x.desc.data[CUBLASLT_MATMUL_DESC_BIAS_POINTER] = 0;
  PASSES(cublasLtMatmul, LT(x, &zero, C));
  x.desc.data[CUBLASLT_MATMUL_DESC_EPILOGUE] = 164; /* GELU with bias, and x in aux */
  x.desc.data[CUBLASLT_MATMUL_DESC_BIAS_POINTER] = (uint64_t)(uintptr_t)bias;
  PASSES(cublasLtMatmul, LT(x, &zero, C));
}

static void test_lt_layouts_that_pass(void) {
  static const struct {
    int attribute;
    uint64_t value;
  } cases[] = {{CUBLASLT_MATRIX_LAYOUT_TYPE, CUDA_R_16F},
               {CUBLASLT_MATRIX_LAYOUT_ORDER, 1},
               {CUBLASLT_MATRIX_LAYOUT_ROWS, 4},
               {CUBLASLT_MATRIX_LAYOUT_COLS, 8},
               {CUBLASLT_MATRIX_LAYOUT_LD, 3},
               {CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 3},
               {CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, 1024}};
  const cublasLtHandle_t handle = (cublasLtHandle_t)handle_with(0, 0, 0, 0);
  matmul x;
  unsigned i, which;
  fill_c();
  for (i = 0; i < sizeof cases / sizeof *cases; i++)
    for (which = 0; which < 4; which++) {
      x = lt_base();
      (which == 0 ? &x.a : which == 1 ? &x.b : which == 2 ? &x.c : &x.d)->data[cases[i].attribute] = cases[i].value;
      PASSES(cublasLtMatmul, LT(x, &two, C));
    }
  /* C and D differ. With beta = 0 the leading dimension, the stride and the pointer of C do not count. */
  x = lt_base();
  PASSES(cublasLtMatmul, LT(x, &two, A));
  TAKEN(cublasLtMatmul, LT(x, &zero, A));
  TAKEN(cublasLtMatmul, LT(x, &zero, (const float *)NULL));
  x.c.data[CUBLASLT_MATRIX_LAYOUT_LD] = 11;
  PASSES(cublasLtMatmul, LT(x, &two, C));
  TAKEN(cublasLtMatmul, LT(x, &zero, C));
  x = lt_base();
  x.c.data[CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET] = 80;
  PASSES(cublasLtMatmul, LT(x, &two, C));
  x.a.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = x.b.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = 1;
  x.c.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = x.d.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = 1;
  TAKEN(cublasLtMatmul, LT(x, &two, C)); /* one matrix has no stride */
}

/* cuBLAS calls cuBLASLt for a call that passed: this inner call is one that the adapter would take. */
static void test_nested(void) {
  const cublasHandle_t h = handle_with(0, 0, 0, 0);
  cublasLtMatmulDescOpaque_t desc = desc_of(N, N);
  cublasLtMatrixLayoutOpaque_t layout = layout_of(5, 5, 5, 1, 0);
  fill_c();
  fake.nested = 1;
  fake.inner[0] = h, fake.inner[1] = &desc, fake.inner[2] = &layout;
  fake.inner[3] = A, fake.inner[4] = B, fake.inner[5] = C;
  cublasGemmEx(h, N, N, 5, 5, 5, &one, A, F32, 5, B, F32, 5, &zero, C, F32, 5, CUBLAS_COMPUTE_32F_FAST_TF32,
               CUBLAS_GEMM_DEFAULT);
  EXPECT(fake.calls == 2 && C[0] == 42.0f, "%d calls", fake.calls);
  fake.nested = 0;
  fake.calls = 0;
  TAKEN(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
}

/* ---- NVIDIA_TF32_OVERRIDE=0 -------------------------------------------------------------------------------------- */

/* A call that asks for TF32 is one in fp32. Other modes pass. */
static void test_no_tf32(void) {
  const cublasHandle_t h = handle_with(0, CUBLAS_TF32_TENSOR_OP_MATH, 0, 0);
  const cublasLtHandle_t handle = (cublasLtHandle_t)h;
  const cublasComputeType_t tf32 = CUBLAS_COMPUTE_32F_FAST_TF32;
  matmul x = lt_base();
  fill_c();
  TAKEN(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  TAKEN(cublasGemmEx, h, N, T, 5, 6, 7, &one, A, F32, 8, B, F32, 9, &two, C, F32, 10, tf32, CUBLAS_GEMM_DEFAULT);
  x.desc.data[CUBLASLT_MATMUL_DESC_COMPUTE_TYPE] = CUBLAS_COMPUTE_32F_FAST_TF32;
  TAKEN(cublasLtMatmul, LT(x, &two, C));
  x.desc.data[CUBLASLT_MATMUL_DESC_COMPUTE_TYPE] = CUBLAS_COMPUTE_32F_FAST_16F;
  PASSES(cublasLtMatmul, LT(x, &two, C));
  PASSES(cublasGemmEx, h, N, T, 5, 6, 7, &one, A, F32, 8, B, F32, 9, &two, C, F32, 10, CUBLAS_COMPUTE_32F_FAST_16BF,
         CUBLAS_GEMM_DEFAULT);
  PASSES(cublasSgemm_v2, handle_with(0, CUBLAS_TENSOR_OP_MATH, 0, 0), N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemm_v2, handle_with(0, 4, 0, 0), N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
}

/* ---- SGEMM_CUBLAS_MODE=off --------------------------------------------------------------------------------------- */

static void test_off(void) {
  const cublasHandle_t h = handle_with(0, 0, 0, 0);
  const cublasLtHandle_t handle = (cublasLtHandle_t)h;
  matmul x = lt_base();
  fill_c();
  PASSES(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  PASSES(cublasSgemmStridedBatched, h, N, T, 5, 6, 7, &one, A, 8, 56, B, 9, 63, &two, C, 10, 60, 2);
  PASSES(cublasSgemmEx_64, h, N, T, 5, 6, 7, &one, A, F32, 8, B, F32, 9, &two, C, F32, 10);
  PASSES(cublasGemmEx, h, N, T, 5, 6, 7, &one, A, F32, 8, B, F32, 9, &two, C, F32, 10, CUBLAS_COMPUTE_32F,
         CUBLAS_GEMM_DEFAULT);
  PASSES(cublasGemmStridedBatchedEx, h, N, T, 5, 6, 7, &one, A, F32, 8, 56, B, F32, 9, 63, &two, C, F32, 10, 60, 2,
         CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  PASSES(cublasSgemv_v2, h, N, 5, 6, &one, A, 8, B, 1, &two, C, 1);
  PASSES(cublasLtMatmul, LT(x, &two, C));
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 8, CALLS = 40 };

/* Every thread has a handle and shapes of its own, and some that all have. */
static void *work(void *argument) {
  const int number = (int)(intptr_t)argument;
  int i;
  for (i = 0; i < CALLS; i++) {
    product q = product_of(i & 1 ? T : N, i & 2 ? T : N, 4 + i % 5, 3 + (i & 4 ? number : 0), 6, 1, 1, 0);
    form *call = forms[(i + number) % FORMS].call;
    const cublasStatus_t status = call(&q, (cublasHandle_t)&q.handle);
    EXPECT(status == CUBLAS_STATUS_SUCCESS, "thread %d: %d", number, (int)status);
    product_check(&q, "thread");
    product_free(&q);
  }
  return NULL;
}

static void test_threads(void) {
  pthread_t threads[THREADS];
  int i;
  for (i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
  for (i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  EXPECT(fake.calls == 0, "%d calls of cuBLAS", fake.calls);
}

/* ---- Over the stand-in of fake_sgemm.c --------------------------------------------------------------------------- */

typedef struct fake_sgemm_record {
  int runs;
  sgemm_params p;
  sgemm_stream stream;
  sgemm_status status;
  int tunes, by_plan, releases, tuned_split_k, ran_split_k;
  sgemm_status tune_status, plan_status;
} fake_sgemm_record;

typedef struct fake_device_record {
  int benches, open;
  int captured, no_memory;
  size_t bytes;
  double us;
} fake_device_record;

static void *stand_in(const char *name) {
  void *record = dlsym(RTLD_DEFAULT, name);
  if (record == NULL) {
    printf("no stand-in %s\n", name);
    exit(1);
  }
  return record;
}
static fake_sgemm_record *below(void) { return (fake_sgemm_record *)stand_in("fake_sgemm"); }
static fake_device_record *device_below(void) { return (fake_device_record *)stand_in("fake_device"); }

/* The stream, the mode and the workspace that reach this library. SGEMM_CUBLAS_MODE is tensor. */
static void test_stream_and_mode(void) {
  fake_sgemm_record *s = below();
  const cudaStream_t stream = (cudaStream_t)0x1230;
  fake_handle h = {(void *)0x4560, 0, 0, 0, 0};
  const cublasLtHandle_t handle = (cublasLtHandle_t)&h;
  matmul x = lt_base();
  TAKEN(cublasSgemm_v2, (cublasHandle_t)&h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  EXPECT(s->runs == 1 && s->stream == (sgemm_stream)0x4560, "stream %p", (void *)s->stream);
  EXPECT(s->p.mode == SGEMM_TENSOR && s->p.workspace == NULL && s->p.workspace_bytes == SGEMM_WORKSPACE_AUTO, "%d",
         s->p.mode);
  TAKEN(cublasLtMatmul, LT(x, &two, C));
  EXPECT(s->runs == 2 && s->stream == (sgemm_stream)0x1230, "stream %p", (void *)s->stream);
  EXPECT(s->p.mode == SGEMM_TENSOR, "%d", s->p.mode);
  x.c = layout_of(5, 6, 11, 2, 80); /* with beta = 0 the result's layout is that of D */
  TAKEN(cublasLtMatmul, LT(x, &zero, A));
  EXPECT(s->p.C == C && s->p.ldc == 10 && s->p.stride_c == 60, "ldc %d", (int)s->p.ldc);
  x = lt_base();
  x.desc.data[CUBLASLT_MATMUL_DESC_COMPUTE_TYPE] = CUBLAS_COMPUTE_32F_PEDANTIC;
  TAKEN(cublasLtMatmul, LT(x, &two, C));
  EXPECT(s->p.mode == SGEMM_STRICT, "%d", s->p.mode);
  h.math = CUBLAS_PEDANTIC_MATH;
  TAKEN(cublasSgemm_v2, (cublasHandle_t)&h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  EXPECT(s->p.mode == SGEMM_STRICT, "%d", s->p.mode);
  h.math = 0;
  TAKEN(cublasGemmEx, (cublasHandle_t)&h, N, T, 5, 6, 7, &one, A, F32, 8, B, F32, 9, &two, C, F32, 10,
        CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_GEMM_DEFAULT);
  EXPECT(s->runs == 6 && s->p.mode == SGEMM_STRICT, "%d", s->p.mode);
}

/* Errors of this library: cuBLAS computes the call, unless a launch may have written C and beta reads it. The last case
   is a missing kernel image, after which this library is not asked again. */
static void test_fallback(void) {
  static const struct {
    int status;
    int falls_back; /* with beta = 2; with beta = 0 every error falls back */
  } cases[] = {{SGEMM_ERROR_NOT_COMPILED, 1}, {SGEMM_ERROR_PLAN, 1},     {SGEMM_ERROR_WORKSPACE, 1},
               {SGEMM_ERROR_GRID, 1},         {SGEMM_ERROR_CUDA + 2, 0}, {SGEMM_ERROR_CUDA + 700, 0},
               {SGEMM_ERROR_CUDA + 209, 1}};
  fake_sgemm_record *s = below();
  const cublasHandle_t h = handle_with(0, 0, 0, 0);
  unsigned i;
  fill_c();
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    s->status = (sgemm_status)cases[i].status;
    if (cases[i].falls_back) {
      PASSES(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
    } else {
      const cublasStatus_t status = cublasSgemm_v2(h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
      EXPECT(status == CUBLAS_STATUS_EXECUTION_FAILED && fake.calls == 0, "case %u: status %d", i, (int)status);
      PASSES(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, B, 9, &zero, C, 10);
    }
  }
  i = (unsigned)s->runs;
  s->status = SGEMM_SUCCESS;
  PASSES(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  EXPECT(s->runs == (int)i, "%d runs, not %u", s->runs, i);
}

/* Epilogues of cuBLASLt reach this library. After an error cuBLAS computes the call, because the beta of the program is
   0. */
static void test_epilogue_fallback(void) {
  static const float bias[] = {1, 2, 3, 4, 5};
  static const struct {
    int of_lt, epilogue;
  } pairs[] = {{CUBLASLT_EPILOGUE_BIAS, SGEMM_EPILOGUE_bias},
               {CUBLASLT_EPILOGUE_RELU, SGEMM_EPILOGUE_relu},
               {6, SGEMM_EPILOGUE_relu},
               {CUBLASLT_EPILOGUE_GELU, SGEMM_EPILOGUE_gelu},
               {36, SGEMM_EPILOGUE_gelu}};
  fake_sgemm_record *s = below();
  const cublasLtHandle_t handle = (cublasLtHandle_t)handle_with(0, 0, 0, 0);
  matmul x = lt_base();
  int i;
  x.a.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = x.b.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = 1;
  x.c.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = x.d.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = 1;
  x.desc.data[CUBLASLT_MATMUL_DESC_BIAS_POINTER] = (uint64_t)(uintptr_t)bias;
  for (i = 0; i < (int)(sizeof pairs / sizeof *pairs); i++) {
    const float *want = pairs[i].of_lt & CUBLASLT_EPILOGUE_BIAS ? bias : NULL;
    x.desc.data[CUBLASLT_MATMUL_DESC_EPILOGUE] = (uint64_t)pairs[i].of_lt;
    EXPECT(cublasLtMatmul(LT(x, &two, C)) == CUBLAS_STATUS_SUCCESS && fake.calls == 0, "%d calls", fake.calls);
    EXPECT(s->runs == i + 1 && s->p.beta == 2.0f && s->p.C == C, "%d runs, beta %g", s->runs, s->p.beta);
    EXPECT(s->p.epilogue == pairs[i].epilogue && s->p.vec_m == want && s->p.vec_n == NULL, "epilogue %d",
           s->p.epilogue);
  }
  s->status = (sgemm_status)(SGEMM_ERROR_CUDA + 700);
  EXPECT((int)cublasLtMatmul(LT(x, &zero, C)) == FAKE_STATUS && fake.calls == 1, "%d calls", fake.calls);
}

/* SGEMM_ERROR_GRID comes before the first launch. SGEMM_CUBLAS_MODE is strict. */
static void test_strict_fallback(void) {
  fill_c();
  below()->status = SGEMM_ERROR_GRID;
  PASSES(cublasSgemm_v2, handle_with(0, 0, 0, 0), N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
}

/* The first call of a kind is tuned, and each runs by the plan of its kind. A call of another leading dimension,
   alignment or beta is of another kind; with another C it is not. With SGEMM_CUBLAS_TUNE=1, over the stand-in. */
static void test_tuned(void) {
  const cublasHandle_t h = handle_with(0, 0, 0, 0);
  fake_sgemm_record *s = below();
  int i;
  s->tuned_split_k = 7;
  for (i = 1; i <= 3; i++) {
    TAKEN(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, i == 3 ? C + 1 : C, 10);
    EXPECT(s->tunes == 1 && s->by_plan == i && s->runs == 0 && s->ran_split_k == 7, "%d tuned, %d by the plan, %d not",
           s->tunes, s->by_plan, s->runs);
  }
  s->tuned_split_k = 9;
  TAKEN(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 12, B, 9, &two, C, 10);
  EXPECT(s->tunes == 2 && s->ran_split_k == 9, "another lda: %d tuned", s->tunes);
  TAKEN(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A + 1, 8, B, 9, &two, C, 10);
  TAKEN(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, B, 9, &zero, C, 10);
  EXPECT(s->tunes == 4, "another alignment, another beta: %d tuned", s->tunes);
  TAKEN(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  EXPECT(s->tunes == 4 && s->ran_split_k == 7, "the first kind again: %d tuned, split_k %d", s->tunes, s->ran_split_k);

  EXPECT(s->releases == 4, "%d times memory was given back", s->releases);

  /* A stream that is being captured: the call is tuned later. Another error: it is not tuned again. */
  s->by_plan = s->tunes = 0;
  s->tune_status = (sgemm_status)(SGEMM_ERROR_CUDA + 900);
  TAKEN(cublasSgemm_v2, h, N, T, 5, 6, 8, &one, A, 8, B, 9, &two, C, 10);
  EXPECT(s->tunes == 1 && s->by_plan == 0 && s->runs == 1, "captured: %d by the plan", s->by_plan);
  s->tune_status = SGEMM_SUCCESS;
  TAKEN(cublasSgemm_v2, h, N, T, 5, 6, 8, &one, A, 8, B, 9, &two, C, 10);
  EXPECT(s->tunes == 2 && s->by_plan == 1 && s->runs == 1, "captured no more: %d tuned", s->tunes);
  s->tune_status = SGEMM_ERROR_SCRATCH;
  for (i = 0; i < 2; i++)
    TAKEN(cublasSgemm_v2, h, N, T, 5, 6, 9, &one, A, 8, B, 9, &two, C, 10);
  EXPECT(s->tunes == 3 && s->by_plan == 1 && s->runs == 3, "no memory: %d tuned", s->tunes);

  /* No memory for the workspace of the plan: the call runs without it. Another error is that of the call. */
  s->plan_status = SGEMM_ERROR_WORKSPACE;
  TAKEN(cublasSgemm_v2, h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  EXPECT(s->runs == 4, "no workspace: %d runs", s->runs);
  s->plan_status = (sgemm_status)(SGEMM_ERROR_CUDA + 700);
  EXPECT(cublasSgemm_v2(h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10) == CUBLAS_STATUS_EXECUTION_FAILED &&
             s->runs == 4,
         "%d runs", s->runs);
}

/* Calls for the report, over the stand-in and with SGEMM_CUBLAS_MODE=tensor. */
static void test_report(void) {
  const cublasHandle_t h = handle_with(0, 0, 0, 0);
  int i;
  for (i = 0; i < 3; i++)
    cublasSgemm_v2(h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  for (i = 0; i < 2; i++)
    cublasSgemmStridedBatched(h, T, N, 50, 6, 100, &one, A, 100, 0, B, 100, 0, &two, C, 50, 300, 4);
  cublasSgemm_v2(handle_with(0, CUBLAS_TF32_TENSOR_OP_MATH, 0, 0), N, CUBLAS_OP_C, 50, 60, 70, &one, A, 50, B, 60, &two,
                 C, 50);
  cublasSgemv_v2(handle_with(0, 0, 0, 0), T, 5, 7, &one, A, 5, B, 2, &two, C, 1);
  below()->status = SGEMM_ERROR_PLAN;
  cublasGemmEx(h, N, N, 9, 8, 7, &one, A, F32, 9, B, F32, 7, &zero, C, F32, 9, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

/* The last call of cuBLAS has these arguments, except for that with number `result`, which is not C. */
static void check_measured(int line, const char *function, const uint64_t *words, int count, int result) {
  uint64_t got[FAKE_ARGUMENTS];
  memcpy(got, fake.arguments, sizeof got);
  if (fake.calls > 0)
    got[result] = got[result] != (uint64_t)(uintptr_t)C ? words[result] : 0;
  if (fake.calls == 0 || strcmp(fake.function, function) != 0 || memcmp(got, words, (size_t)count * sizeof *words)) {
    printf("line %d: %s: %d calls of %s\n", line, function, fake.calls, fake.calls > 0 ? fake.function : "nothing");
    faults++;
  }
  fake.calls = 0;
}
#define MEASURED(function, result, ...)                                                                                \
  do {                                                                                                                 \
    const uint64_t words[] = {WORDS(__VA_ARGS__)};                                                                     \
    check_measured(__LINE__, function, words, (int)(sizeof words / sizeof *words), result);                            \
  } while (0)

/* Which calls are measured, and how. A call that is not measured is none of cuBLAS. With SGEMM_CUBLAS_TIMES=1 and
   SGEMM_CUBLAS_MODE=tensor, over the stand-in. */
static void test_times(void) {
  static const float bias[] = {1, 2, 3, 4, 5};
  const cublasHandle_t h = handle_with(0, 0, 0, 0);
  const cublasLtHandle_t handle = (cublasLtHandle_t)h;
  fake_sgemm_record *s = below();
  fake_device_record *device = device_below();
  matmul x = lt_base();
  cublasLtMatrixLayoutOpaque_t square = layout_of(5, 5, 5, 1, 0);
  int i, runs;
  fake.succeeds = 1;
  cublasSgemm_v2(h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  MEASURED("cublasSgemm_v2", 12, h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  EXPECT(s->p.C != C && s->p.A == A && s->p.ldc == 10 && device->bytes == 55 * sizeof(float), "%zu", device->bytes);
  runs = s->runs;
  for (i = 0; i < 4; i++)
    cublasSgemm_v2(h, N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  EXPECT(fake.calls == 0 && s->runs == runs + 4 && s->p.C == C, "%d calls", fake.calls);
  cublasGemmStridedBatchedEx(h, T, CUBLAS_OP_C, 50, 6, 100, &one, A, F32, 100, 0, B, F32, 7, 3, &two, C, F32, 50, 300,
                             4, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  MEASURED("cublasSgemmStridedBatched", 14, h, T, CUBLAS_OP_C, 50, 6, 100, &one, A, 100, 0, B, 7, 3, &two, C, 50, 300,
           4);
  EXPECT(device->bytes == 1200 * sizeof(float), "%zu", device->bytes);
  cublasSgemv_v2(h, T, 5, 7, &one, A, 6, B, 1, &two, C, 1);
  MEASURED("cublasSgemv_v2", 10, h, T, 5, 7, &one, A, 6, B, 1, &two, C, 1);
  x.a.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = x.b.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = 1;
  x.c.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = x.d.data[CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT] = 1;
  x.desc.data[CUBLASLT_MATMUL_DESC_EPILOGUE] = CUBLASLT_EPILOGUE_BIAS;
  x.desc.data[CUBLASLT_MATMUL_DESC_BIAS_POINTER] = (uint64_t)(uintptr_t)bias;
  cublasLtMatmul(LT(x, &zero, C));
  EXPECT(fake.calls > 0 && fake.arguments[8] == fake.arguments[10], "C is not D"); /* in the measurement */
  fake.arguments[8] = (uint64_t)(uintptr_t)C;
  MEASURED("cublasLtMatmul", 10, LT(x, &zero, C));
  EXPECT(s->p.epilogue == SGEMM_EPILOGUE_bias && s->p.vec_m == bias, "epilogue %d", s->p.epilogue);
  device->captured = 1;
  cublasSgemm_v2(h, N, N, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  EXPECT(fake.calls == 0, "%d calls", fake.calls);
  device->captured = 0;
  cublasSgemm_v2(h, N, N, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  EXPECT(fake.calls > 0, "%d calls", fake.calls);
  fake.calls = 0;
  device->no_memory = 1;
  cublasSgemm_v2(h, N, N, 5, 6, 8, &one, A, 8, B, 9, &two, C, 10);
  device->no_memory = 0;
  cublasSgemm_v2(h, N, N, 5, 6, 8, &one, A, 8, B, 9, &two, C, 10);
  EXPECT(fake.calls == 0, "%d calls", fake.calls);
  cublasSgemm_v2(handle_with(0, CUBLAS_TF32_TENSOR_OP_MATH, 0, 0), N, N, 5, 6, 11, &one, A, 8, B, 11, &two, C, 10);
  EXPECT(fake.calls == 1, "%d calls for one that passes", fake.calls);
  handle_with(0, 0, 0, 0);
  runs = s->runs; /* this library is timed in runs of 1, 1, 5, 5 and 5, and none of them is for a call of cuBLAS */
  x = lt_base();
  fake.nested = 1;
  fake.inner[0] = h, fake.inner[1] = &x.desc, fake.inner[2] = &square;
  fake.inner[3] = A, fake.inner[4] = B, fake.inner[5] = C;
  cublasSgemm_v2(h, N, N, 5, 6, 10, &one, A, 8, B, 10, &two, C, 10);
  EXPECT(s->runs == runs + 18, "%d runs", s->runs - runs);
  fake.nested = 0;
  fake.calls = 0;
  fake.succeeds = 0;
  cublasSgemm_v2(h, N, N, 5, 6, 9, &one, A, 8, B, 9, &two, C, 10);
  EXPECT(fake.calls == 1 && device->open == 0, "%d calls, %d open", fake.calls, device->open);
  fake.calls = 0;
  cublasSgemm_v2_64(h, N, T, 5, 6, 7, &one, A, INT64_C(1) << 32, B, 9, &two, C, 10); /* no number of 32 bits */
  EXPECT(fake.calls == 0 && device->open == 0, "%d calls, %d open", fake.calls, device->open);
}

static void test_nothing(void) {}

/* Calls whose sizes are wrong: they would be 2 GFLOP each. */
static void test_negative(void) {
  cublasSgemm_v2(handle_with(0, 0, 0, 0), N, N, -1000, -1000, 1000, &one, A, 8, B, 9, &two, C, 10);
  cublasSgemmEx(handle_with(0, 0, 0, 0), N, N, -1000, -1000, 1000, &one, A, CUDA_R_16F, 8, B, F32, 9, &two, C, F32, 10);
}

/* A call before fork(), and another one in the child, which writes its own report. */
static void test_forks(void) {
  int status = 0;
  pid_t child;
  cublasSgemm_v2(handle_with(0, 0, 0, 0), N, T, 5, 6, 7, &one, A, 8, B, 9, &two, C, 10);
  child = fork();
  if (child == 0) {
    cublasSgemm_v2(handle_with(0, 0, 0, 0), N, T, 8, 6, 7, &one, A, 8, B, 9, &two, C, 10);
    exit(0);
  }
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child: %x", (unsigned)status);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } cases[] = {{"products", test_products},
               {"vectors", test_vectors},
               {"bias", test_bias},
               {"handles", test_handles_that_pass},
               {"arguments", test_arguments_that_pass},
               {"types", test_types_that_pass},
               {"lt_attributes", test_lt_attributes_that_pass},
               {"lt_layouts", test_lt_layouts_that_pass},
               {"lt_biases", test_lt_biases_that_pass},
               {"no_tf32", test_no_tf32},
               {"nested", test_nested},
               {"off", test_off},
               {"threads", test_threads},
               {"stream_and_mode", test_stream_and_mode},
               {"fallback", test_fallback},
               {"strict_fallback", test_strict_fallback},
               {"epilogue_fallback", test_epilogue_fallback},
               {"tuned", test_tuned},
               {"report", test_report},
               {"times", test_times},
               {"negative", test_negative},
               {"forks", test_forks},
               {"nothing", test_nothing}};
  /* A call that the adapter does not have. Without one, a linker may leave cuBLAS out of a program that has the
     adapter. */
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
  unsigned i;
  cublasGetMathMode(handle_with(0, CUBLAS_PEDANTIC_MATH, 0, 0), &math);
  EXPECT(math == CUBLAS_PEDANTIC_MATH, "%d", (int)math);
  for (i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++)
    if (strcmp(argv[1], cases[i].name) == 0) {
      cases[i].run();
      return faults > 0;
    }
  puts("no such case");
  return 2;
}
