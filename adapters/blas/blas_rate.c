/* blas_rate.c: measures cblas_sgemm() as the program gets it, with the adapter preloaded, beside the BLAS alone, and
   prints CSV. The matrices are pageable, packed and row-major.

     LD_PRELOAD=./libsgemm_blas.so SGEMM_BLAS_THRESHOLD=0 SGEMM_BLAS_INTENSITY=0 \
         blas_rate [--repeat N] [--no-blas] SIZE...

   SIZE: M or M,N,K. The program is linked with OpenBLAS. A row has the first call, which allocates, and the fastest of
   N more [5]. error is the largest difference of 64 elements of C from a sum in double, over the bound of fp32
   summation, (k + 2) 2^-24 |A| |B|. Exit status: 0, 1 if an error is above its bound, 2 if the arguments are wrong or
   there is no memory. */
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
  exit(2);
}

static float *matrix(int64_t rows, int64_t columns, uint64_t seed) {
  float *X = (float *)malloc((size_t)(rows * columns) * sizeof *X);
  if (X == NULL)
    stop("malloc", "no memory");
  rate_fill(X, rows * columns, seed);
  return X;
}

/* Prints the seconds of the first call, and of the fastest of the others. Returns 1 if C is wrong. */
static int measure(const setup *s, const char *what, function f) {
  const double flop = 2.0 * s->m * s->n * s->k;
  const double bytes = 4.0 * ((double)s->m * s->k + (double)s->k * s->n + (double)s->m * s->n);
  double first = 0.0, fastest = INFINITY, error;
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
  error = rate_error(s->m, s->n, s->k, s->A, s->B, s->C);
  printf("%s,%d,%d,%d,%.3f,%.1f,%.3f,%.3f,%.3f,%.3g\n", what, s->m, s->n, s->k, 1e-9 * flop, flop / bytes, 1e3 * first,
         1e3 * fastest, 1e-12 * flop / fastest, error);
  fflush(stdout);
  if (error > 1.0)
    fprintf(stderr, "blas_rate: %s, %d,%d,%d: the error is above its bound\n", what, s->m, s->n, s->k);
  return error > 1.0;
}

/* Measures the product of one size. Returns 1 if a result is wrong. */
static int measure_size(setup *s, const int64_t size[3], function blas) {
  int wrong;
  s->m = (int)size[0];
  s->n = (int)size[1];
  s->k = (int)size[2];
  s->A = matrix(s->m, s->k, 1);
  s->B = matrix(s->k, s->n, 2);
  s->C = matrix(s->m, s->n, 3);
  wrong = measure(s, "program", cblas_sgemm);
  if (blas != NULL)
    wrong |= measure(s, "blas", blas);
  free(s->A);
  free(s->B);
  free(s->C);
  return wrong;
}

int main(int argc, char **argv) {
  void *library = dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_NOLOAD);
  function blas = library == NULL ? NULL : (function)dlsym(library, "cblas_sgemm");
  setup s = {0, 0, 0, 5, NULL, NULL, NULL};
  int64_t number, size[3];
  int i, sizes = 0, wrong = 0;
  for (i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--no-blas") == 0) {
      blas = NULL;
    } else if (strcmp(argv[i], "--repeat") == 0) {
      if (++i == argc || !rate_whole(argv[i], 1.0, INT32_MAX, &number))
        stop("--repeat", "needs a whole number from 1 on");
      s.repeat = (int)number;
    } else {
      if (!rate_size(argv[i], INT32_MAX, size))
        stop(argv[i], "a size is M or M,N,K, from 1 on");
      if (sizes++ == 0)
        puts("what,m,n,k,gflop,flop_per_byte,first_ms,ms,tflops,error");
      wrong |= measure_size(&s, size, blas);
    }
  }
  if (sizes == 0)
    stop("usage", "blas_rate [--repeat N] [--no-blas] SIZE...");
  return wrong;
}
