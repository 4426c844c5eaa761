/* rate.h: what the programs that measure the adapters share: a clock, the elements of a matrix, and the error of a
   product. A file that includes it first defines _POSIX_C_SOURCE or _GNU_SOURCE for clock_gettime(). */
#ifndef SGEMM_ADAPTER_RATE_H
#define SGEMM_ADAPTER_RATE_H

#include <math.h>
#include <stdint.h>
#include <time.h>

/* Seconds since some moment. */
static inline double rate_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The next number of Knuth's MMIX generator. Its high bits are the good ones. */
static inline uint64_t rate_next(uint64_t *seed) { return *seed = *seed * 6364136223846793005u + 1442695040888963407u; }

/* Fills X with numbers in [-1, 1). */
static inline void rate_fill(float *X, int64_t count, uint64_t seed) {
  int64_t i;
  for (i = 0; i < count; i++)
    X[i] = (float)(int32_t)(rate_next(&seed) >> 32) * 0x1p-31f;
}

/* The largest error of 64 elements of C = A B, row-major and without padding, over the bound of fp32 summation,
   (k + 2) 2^-24 |A| |B|. The last element is one of them. */
static inline double rate_error(int64_t m, int64_t n, int64_t k, const float *A, const float *B, const float *C) {
  double worst = 0.0;
  uint64_t seed = 7;
  int e;
  for (e = 0; e < 64; e++) {
    const int64_t random_i = (int64_t)((rate_next(&seed) >> 33) % (uint64_t)m), i = e == 0 ? m - 1 : random_i;
    const int64_t random_j = (int64_t)((rate_next(&seed) >> 33) % (uint64_t)n), j = e == 0 ? n - 1 : random_j;
    double sum = 0.0, bound = 0.0, ratio;
    int64_t l;
    for (l = 0; l < k; l++) {
      const double product = (double)A[i * k + l] * (double)B[l * n + j];
      sum += product;
      bound += fabs(product);
    }
    ratio = fabs((double)C[i * n + j] - sum) / ((double)(k + 2) * 0x1p-24 * bound);
    worst = ratio <= worst ? worst : ratio; /* a NaN stays */
  }
  return worst;
}

#endif /* SGEMM_ADAPTER_RATE_H */
