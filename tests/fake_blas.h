/* fake_blas.h: what a program sees of the stand-in for a BLAS. */
#ifndef FAKE_BLAS_H
#define FAKE_BLAS_H

#include <stddef.h>
#include <stdint.h>

/* Integers of the plain names. */
#ifndef FAKE_INTEGER
#define FAKE_INTEGER int
#endif
typedef FAKE_INTEGER blas_integer;

/* The functions of the BLAS: X([name], [type of integers]). FORTRAN, C: as sgemm_() and cblas_sgemm(). */
#define FAKE_BLAS_FORTRAN(X)                                                                                           \
  X(sgemm_, blas_integer) X(sgemm_64_, int64_t) X(scipy_sgemm_, int) X(scipy_sgemm_64_, int64_t)
#define FAKE_BLAS_C(X)                                                                                                 \
  X(cblas_sgemm, blas_integer)                                                                                         \
  X(cblas_sgemm64_, int64_t) X(cblas_sgemm_64, int64_t) X(scipy_cblas_sgemm, int) X(scipy_cblas_sgemm64_, int64_t)

#define DECLARE_FORTRAN(name, integer)                                                                                 \
  void name(const char *transa, const char *transb, const integer *m, const integer *n, const integer *k,              \
            const float *alpha, const float *A, const integer *lda, const float *B, const integer *ldb,                \
            const float *beta, float *C, const integer *ldc);
#define DECLARE_C(name, integer)                                                                                       \
  void name(int order, int transa, int transb, integer m, integer n, integer k, float alpha, const float *A,           \
            integer lda, const float *B, integer ldb, float beta, float *C, integer ldc);
#ifndef FAKE_BLAS_SOURCE
FAKE_BLAS_FORTRAN(DECLARE_FORTRAN)
#endif
FAKE_BLAS_C(DECLARE_C)

extern int fake_blas_calls;            /* of functions of the stand-in, but for those that it makes itself */
extern int fake_blas_info;             /* the number of the wrong argument of the last call, as xerbla has it */
extern const char *fake_blas_function; /* the last function that was called */
extern size_t fake_blas_lengths;       /* the lengths of the strings of the last call, their sum */

#endif /* FAKE_BLAS_H */
