/* adapter.c: the intercepted functions of BLAS. Each offers its call to this library. A call that passes goes to the
   BLAS with its arguments as they are, so that the BLAS reports bad arguments as the program expects. */
#include "adapters/blas/call.h"
#include "adapters/blas/real.h"

#if SGEMM_BLAS_ILP64
typedef int64_t plain_integer;
#else
typedef int plain_integer;
#endif

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

/* The two numbers at the end of the BLAS's function are the lengths of the two strings, which a Fortran compiler passes
   and may read. A caller in C does not pass them. */
// clang-format off
#define SGEMM__FORTRAN(name, integer)                                                                                  \
  typedef void name##function(const char *transa, const char *transb, const integer *m, const integer *n,             \
                              const integer *k, const float *alpha, const float *A, const integer *lda,                \
                              const float *B, const integer *ldb, const float *beta, float *C, const integer *ldc,     \
                              size_t, size_t);                                                                         \
  EXPORT void name(const char *transa, const char *transb, const integer *m, const integer *n, const integer *k,       \
                   const float *alpha, const float *A, const integer *lda, const float *B, const integer *ldb,         \
                   const float *beta, float *C, const integer *ldc);                                                   \
  void name(const char *transa, const char *transb, const integer *m, const integer *n, const integer *k,              \
            const float *alpha, const float *A, const integer *lda, const float *B, const integer *ldb,                \
            const float *beta, float *C, const integer *ldc) {                                                         \
    static void *found;                                                                                                \
    sgemm_blas__call call = sgemm_blas__fortran_call(*transa, *transb, *m, *n, *k, *alpha, A, *lda, B, *ldb, *beta, C, \
                                                     *ldc);                                                            \
    name##function *real;                                                                                              \
    if (sgemm_blas__offer(&call))                                                                                      \
      return;                                                                                                          \
    real = (name##function *)sgemm_blas__real(#name, (void *)name, CALLER, &found);                                    \
    sgemm_blas__enter();                                                                                               \
    real(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc, 1, 1);                                          \
    sgemm_blas__leave(&call);                                                                                          \
  }

#define SGEMM__C(name, integer)                                                                                        \
  EXPORT void name(int order, int transa, int transb, integer m, integer n, integer k, float alpha, const float *A,    \
                   integer lda, const float *B, integer ldb, float beta, float *C, integer ldc);                       \
  void name(int order, int transa, int transb, integer m, integer n, integer k, float alpha, const float *A,           \
            integer lda, const float *B, integer ldb, float beta, float *C, integer ldc) {                             \
    static void *found;                                                                                                \
    sgemm_blas__call call = sgemm_blas__c_call(order, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);   \
    __typeof__(&name) real;                                                                                            \
    if (sgemm_blas__offer(&call))                                                                                      \
      return;                                                                                                          \
    real = (__typeof__(&name))sgemm_blas__real(#name, (void *)name, CALLER, &found);                                   \
    sgemm_blas__enter();                                                                                               \
    real(order, transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);                                         \
    sgemm_blas__leave(&call);                                                                                          \
  }
// clang-format on

/* The names of BLAS and CBLAS. */
SGEMM__FORTRAN(sgemm_, plain_integer)
SGEMM__C(cblas_sgemm, plain_integer)

/* Names with 64-bit integers: of OpenBLAS with the suffix 64_ (Fedora, Julia, numpy before 2.0), and of the reference
   CBLAS from 3.11 on. */
SGEMM__FORTRAN(sgemm_64_, int64_t)
SGEMM__C(cblas_sgemm64_, int64_t)
SGEMM__C(cblas_sgemm_64, int64_t)

/* The OpenBLAS inside the packages of scipy and, with 64-bit integers, numpy of PyPI. */
SGEMM__FORTRAN(scipy_sgemm_, int)
SGEMM__C(scipy_cblas_sgemm, int)
SGEMM__FORTRAN(scipy_sgemm_64_, int64_t)
SGEMM__C(scipy_cblas_sgemm64_, int64_t)
