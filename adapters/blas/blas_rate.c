/* blas_rate.c: measures cblas_sgemm() as the program gets it, with the adapter preloaded, beside the BLAS alone, and
   prints CSV. The matrices are pageable, packed and row-major.

     LD_PRELOAD=./libsgemm_blas.so SGEMM_BLAS_THRESHOLD=0 SGEMM_BLAS_INTENSITY=0 blas_rate [--repeat N] [--no-blas] SIZE...

   SIZE: M or M,N,K. The program is linked with OpenBLAS. A row has the first call, which allocates, and the fastest of
   N more [5]. error is the largest difference of 64 elements of C from a sum in double, over the bound of fp32
   summation, (k + 2) 2^-24 |A| |B|. */
#define _GNU_SOURCE /* RTLD_NOLOAD, clock_gettime() */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/common/rate.h"

void cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha, const float *A, int lda,
                 const float *B, int ldb, float beta, float *C, int ldc);
typedef __typeof__(&cblas_sgemm) function;

typedef struct setup {
  int m, n, k, repeat;
  float *A, *B, *C;
} setup;

static void stop(const char *what, const char *why) {
  fprintf(stderr, "blas_rate: %s: %s\n", what, why);
  exit(1);
}

static float *matrix(int64_t rows, int64_t columns, uint64_t seed) {
  float *X = (float *)malloc((size_t)(rows * columns) * sizeof *X);
  if (X == NULL)
    stop("malloc", "no memory");
  rate_fill(X, rows * columns, seed);
  return X;
}

/* The seconds of the first call, and of the fastest of the others. */
static void measure(const setup *s, const char *what, function f) {
  const double flop = 2.0 * s->m * s->n * s->k;
  const double bytes = 4.0 * ((double)s->m * s->k + (double)s->k * s->n + (double)s->m * s->n);
  double first = 0.0, fastest = INFINITY;
  int i;
  memset(s->C, 0xff, (size_t)s->m * (size_t)s->n * sizeof *s->C);
  for (i = 0; i <= s->repeat; i++) {
    const double start = rate_now();
    double seconds;
    f(101, 111, 111, s->m, s->n, s->k, 1.0f, s->A, s->k, s->B, s->n, 0.0f, s->C, s->n);
    seconds = rate_now() - start;
    first = i == 0 ? seconds : first;
    fastest = i > 0 && seconds < fastest ? seconds : fastest;
  }
  printf("%s,%d,%d,%d,%.3f,%.1f,%.3f,%.3f,%.3f,%.3g\n", what, s->m, s->n, s->k, 1e-9 * flop, flop / bytes, 1e3 * first,
         1e3 * fastest, 1e-12 * flop / fastest, rate_error(s->m, s->n, s->k, s->A, s->B, s->C));
  fflush(stdout);
}

int main(int argc, char **argv) {
  void *library = dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_NOLOAD);
  function blas = library == NULL ? NULL : (function)dlsym(library, "cblas_sgemm");
  setup s = {0, 0, 0, 5, NULL, NULL, NULL};
  int i;
  puts("what,m,n,k,gflop,flop_per_byte,first_ms,ms,tflops,error");
  for (i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--no-blas") == 0) {
      blas = NULL;
    } else if (strcmp(argv[i], "--repeat") == 0 && i + 1 < argc) {
      s.repeat = atoi(argv[++i]);
      if (s.repeat < 1)
        stop(argv[i], "--repeat needs a number from 1 on");
    } else {
      const int fields = sscanf(argv[i], "%d,%d,%d", &s.m, &s.n, &s.k);
      if ((fields != 1 && fields != 3) || s.m < 1 || (fields == 3 && (s.n < 1 || s.k < 1)))
        stop(argv[i], "a size is M or M,N,K, from 1 on");
      s.n = fields == 3 ? s.n : s.m;
      s.k = fields == 3 ? s.k : s.m;
      s.A = matrix(s.m, s.k, 1);
      s.B = matrix(s.k, s.n, 2);
      s.C = matrix(s.m, s.n, 3);
      measure(&s, "program", cblas_sgemm);
      if (blas != NULL)
        measure(&s, "blas", blas);
      free(s.A);
      free(s.B);
      free(s.C);
    }
  }
  return 0;
}
