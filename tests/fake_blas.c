/* fake_blas.c: a stand-in for a BLAS. It computes calls, counts them, and finds wrong arguments as the reference BLAS
   does. As in the reference CBLAS, cblas_sgemm() calls sgemm_(). */
#define FAKE_BLAS_SOURCE
#include "fake_blas.h"

int fake_blas_calls, fake_blas_info;
const char *fake_blas_function;
size_t fake_blas_lengths;

static _Thread_local int in_cblas;

static int64_t at_least_1(int64_t x) { return x > 1 ? x : 1; }

static int is_plain(char trans) { return trans == 'N' || trans == 'n'; }
static int is_trans(char trans) {
  return is_plain(trans) || trans == 'T' || trans == 't' || trans == 'C' || trans == 'c';
}

static int info_of(char transa, char transb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc) {
  return !is_trans(transa)                            ? 1
         : !is_trans(transb)                          ? 2
         : m < 0                                      ? 3
         : n < 0                                      ? 4
         : k < 0                                      ? 5
         : lda < at_least_1(is_plain(transa) ? m : k) ? 8
         : ldb < at_least_1(is_plain(transb) ? k : n) ? 10
         : ldc < at_least_1(m)                        ? 13
                                                      : 0;
}

static void multiply(const char *name, char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha,
                     const float *A, int64_t lda, const float *B, int64_t ldb, float beta, float *C, int64_t ldc,
                     size_t lengths) {
  int64_t i, j, l;
  if (!in_cblas) {
    __atomic_fetch_add(&fake_blas_calls, 1, __ATOMIC_RELAXED);
    fake_blas_function = name;
  }
  fake_blas_lengths = lengths;
  fake_blas_info = info_of(transa, transb, m, n, k, lda, ldb, ldc);
  for (i = 0; i < m && fake_blas_info == 0; i++)
    for (j = 0; j < n; j++) {
      double sum = 0.0;
      for (l = 0; l < k; l++)
        sum += (double)A[is_plain(transa) ? l * lda + i : i * lda + l] *
               B[is_plain(transb) ? j * ldb + l : l * ldb + j];
      C[j * ldc + i] = (float)(alpha * sum + (beta == 0.0f ? 0.0 : (double)beta * C[j * ldc + i]));
    }
}

/* The lengths of the strings come at the end, as a Fortran compiler passes them. */
#define DEFINE_FORTRAN(name, integer)                                                                                  \
  void name(const char *transa, const char *transb, const integer *m, const integer *n, const integer *k,              \
            const float *alpha, const float *A, const integer *lda, const float *B, const integer *ldb,                \
            const float *beta, float *C, const integer *ldc, size_t length_a, size_t length_b);                        \
  void name(const char *transa, const char *transb, const integer *m, const integer *n, const integer *k,              \
            const float *alpha, const float *A, const integer *lda, const float *B, const integer *ldb,                \
            const float *beta, float *C, const integer *ldc, size_t length_a, size_t length_b) {                       \
    multiply(#name, *transa, *transb, *m, *n, *k, *alpha, A, *lda, B, *ldb, *beta, C, *ldc, length_a + length_b);      \
  }
FAKE_BLAS_FORTRAN(DEFINE_FORTRAN)

static char letter(int trans) { return trans == 111 ? 'N' : trans == 112 ? 'T' : trans == 113 ? 'C' : '?'; }

#define DEFINE_C(name, integer)                                                                                        \
  void name(int order, int transa, int transb, integer m, integer n, integer k, float alpha, const float *A,           \
            integer lda, const float *B, integer ldb, float beta, float *C, integer ldc) {                             \
    const char a = letter(order == 101 ? transb : transa), b = letter(order == 101 ? transa : transb);                 \
    const blas_integer rows = (blas_integer)(order == 101 ? n : m), columns = (blas_integer)(order == 101 ? m : n);    \
    const blas_integer depth = (blas_integer)k, ld_c = (blas_integer)ldc;                                              \
    const blas_integer ld_x = (blas_integer)(order == 101 ? ldb : lda);                                                \
    const blas_integer ld_y = (blas_integer)(order == 101 ? lda : ldb);                                                \
    __atomic_fetch_add(&fake_blas_calls, 1, __ATOMIC_RELAXED);                                                         \
    fake_blas_function = #name;                                                                                        \
    fake_blas_info = -1; /* the order is wrong */                                                                      \
    if (order != 101 && order != 102)                                                                                  \
      return;                                                                                                          \
    in_cblas = 1;                                                                                                      \
    sgemm_(&a, &b, &rows, &columns, &depth, &alpha, order == 101 ? B : A, &ld_x, order == 101 ? A : B, &ld_y, &beta,   \
           C, &ld_c, 1, 1);                                                                                            \
    in_cblas = 0;                                                                                                      \
  }
FAKE_BLAS_C(DEFINE_C)
