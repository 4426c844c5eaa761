/* matrices.h: random numbers for the matrices of a multiplication, and the error of its result. MACHINE_CUDA=1: the GPU
   computes both (tools/matrices.cu), because the rows that are compared at 16384 x 16384 x 16384 have 2^33 products,
   which take a host seconds. */
#ifndef MATRICES_H
#define MATRICES_H

#include "sgemm.h"

#include <math.h>
#include <stdlib.h>

/* The least number of rows of C that are compared, and the least number of results in them. All rows are compared if C
   has fewer. */
enum { COMPARED_ROWS = 32, COMPARED_RESULTS = 1024 };

#ifdef __CUDACC__
#define MATRICES_BOTH static inline __host__ __device__
#else
#define MATRICES_BOTH static inline
#endif

/* Number i of a sequence of 64 random bits: splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
MATRICES_BOTH uint64_t matrices_bits(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* Number i as a float, uniform in [-1, 1), a multiple of 2^-23, from the upper 24 bits. */
MATRICES_BOTH float matrices_number(uint64_t seed, uint64_t i) {
  return (float)(matrices_bits(seed, i) >> 40) * 0x1p-23f - 1.0f;
}

/* The number of rows that are compared. All results together have batch * m rows. */
static inline int64_t matrices_rows(const sgemm_params *p) {
  const int64_t all = p->batch * p->m, enough = sgemm__max(COMPARED_ROWS, sgemm__ceil_div(COMPARED_RESULTS, p->n));
  return all < enough ? all : enough;
}

/* The row number s of the rows that are compared, evenly from the first row of all results to the last. */
MATRICES_BOTH int64_t matrices_row(const sgemm_params *p, int64_t rows, int64_t s) {
  return rows == 1 ? 0 : s * (p->batch * p->m - 1) / (rows - 1);
}

/* The componentwise error of one result c: |c - sum| / size, with the dot product `sum` and the dot product `size` of
   the absolute values, both in double. Infinity for a NaN. */
MATRICES_BOTH double matrices_distance(float c, double sum, double size) {
  const double error = fabs((double)c - sum);
  return isnan(c) ? (double)INFINITY : error == 0.0 ? 0.0 : error / size;
}

#if defined(MACHINE_CUDA) && MACHINE_CUDA

#ifdef __cplusplus
extern "C" {
#endif

/* x[i] = number i % period of the seed's sequence. Returns 0 or a cudaError_t. */
int matrices_fill(float *x, size_t count, size_t period, uint64_t seed);

/* x[i] = number i of the seed's sequence as bf16 or fp16. Returns 0 or a cudaError_t. */
int matrices_fill16(uint16_t *x, size_t count, int bf16, uint64_t seed);

/* *worst: the largest matrices_distance() of the rows that are compared, or infinity if C has a NaN. p is row-major and
   packed, with alpha 1. C is the result of one call if beta is 0. Otherwise it is the result of two calls on a C of
   zeros, (1 + beta) op(A) op(B). Returns 0 or a cudaError_t. */
int matrices_error(const sgemm_params *p, double *worst);

/* sum[s * n + j], size[s * n + j]: the dot product of result j of row number s of the rows that are compared, and that
   of the absolute values, without alpha. They are on the host. Returns 0 or a cudaError_t. */
int matrices_sums(const sgemm_params *p, double *sum, double *size);

/* *found: 1 if x has a NaN. Returns 0 or a cudaError_t. */
int matrices_find_nan(const float *x, size_t count, int *found);

#ifdef __cplusplus
}
#endif

#else

static inline int matrices_fill(float *x, size_t count, size_t period, uint64_t seed) {
  size_t i;
  for (i = 0; i < count; i++)
    x[i] = matrices_number(seed, i % period);
  return 0;
}

/* sum[j], size[j] for each result j of a row, which counts over all matrices of the batch. */
static inline void matrices_sums_of_row(const sgemm_params *p, int64_t row, double *sum, double *size) {
  const int64_t z = row / p->m, i = row % p->m;
  const float *a = p->A + z * p->stride_a + (p->op_a == SGEMM_N ? i * p->lda : i);
  const int64_t step_a = p->op_a == SGEMM_N ? 1 : p->lda;
  const float *b = p->B + z * p->stride_b;
  int64_t j, k;
  for (j = 0; j < p->n; j++)
    sum[j] = size[j] = 0.0;
  /* The inner loop runs along B's stored rows. */
  if (p->op_b == SGEMM_N) {
    for (k = 0; k < p->k; k++)
      for (j = 0; j < p->n; j++) {
        const double product = (double)a[k * step_a] * b[k * p->ldb + j];
        sum[j] += product;
        size[j] += fabs(product);
      }
  } else {
    for (j = 0; j < p->n; j++)
      for (k = 0; k < p->k; k++) {
        const double product = (double)a[k * step_a] * b[j * p->ldb + k];
        sum[j] += product;
        size[j] += fabs(product);
      }
  }
}

/* The functions of the same names above, on the host. 0 is success. */
static inline int matrices_sums(const sgemm_params *p, double *sum, double *size) {
  const int64_t rows = matrices_rows(p);
  int64_t s;
  for (s = 0; s < rows; s++)
    matrices_sums_of_row(p, matrices_row(p, rows, s), sum + s * p->n, size + s * p->n);
  return 0;
}

static inline int matrices_find_nan(const float *x, size_t count, int *found) {
  size_t i;
  *found = 0;
  for (i = 0; i < count; i++)
    *found |= isnan(x[i]) != 0;
  return 0;
}

/* Returns 1 if there is no memory. */
static inline int matrices_error(const sgemm_params *p, double *worst) {
  const int64_t rows = matrices_rows(p);
  double *sum = (double *)malloc((size_t)p->n * 2 * sizeof *sum), *size = sum + p->n;
  int64_t s, j;
  int found;
  if (sum == NULL)
    return 1;
  *worst = 0.0;
  for (s = 0; s < rows; s++) {
    const int64_t row = matrices_row(p, rows, s);
    matrices_sums_of_row(p, row, sum, size);
    for (j = 0; j < p->n; j++)
      *worst = fmax(*worst,
                    matrices_distance(p->C[row * p->ldc + j], (1.0 + p->beta) * sum[j], (1.0 + p->beta) * size[j]));
  }
  matrices_find_nan(p->C, (size_t)(p->stride_c * p->batch), &found);
  if (found)
    *worst = INFINITY;
  free(sum);
  return 0;
}

#endif
#endif
