/* rate.h: what the programs that measure the adapters share: the numbers of a command line, a clock, the elements of a
   matrix, and the error of a product. A file that includes it first defines _POSIX_C_SOURCE or _GNU_SOURCE for
   clock_gettime(). */
#ifndef SGEMM_ADAPTER_RATE_H
#define SGEMM_ADAPTER_RATE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Reads a number from `least` to `most`. Returns 0 if the text is something else. */
static inline int rate_number(const char *text, double least, double most, double *number) {
  char *end;
  *number = strtod(text, &end);
  return end != text && *end == '\0' && *number >= least && *number <= most;
}

/* Reads a whole number from `least` to `most`, at most 2^53. Returns 0 if the text is something else. */
static inline int rate_whole(const char *text, double least, double most, int64_t *number) {
  double x;
  if (!rate_number(text, least, most, &x) || strspn(text, "0123456789") != strlen(text))
    return 0;
  *number = (int64_t)x;
  return 1;
}

/* Reads a size, M for m = n = k or M,N,K, with numbers from 1 to `most`. Returns 0 if the text is something else. */
static inline int rate_size(const char *text, double most, int64_t size[3]) {
  int count = 0, i;
  for (;; text++) {
    const size_t length = strcspn(text, ",");
    char number[24];
    if (count == 3 || length >= sizeof number)
      return 0;
    memcpy(number, text, length);
    number[length] = '\0';
    if (!rate_whole(number, 1.0, most, &size[count++]))
      return 0;
    text += length;
    if (*text == '\0')
      break;
  }
  for (i = count; i < 3; i++)
    size[i] = size[0];
  return count != 2;
}

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
   (k + 2) 2^-24 |A| |B|. The last element is one of them. INFINITY: an element is NaN. */
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
    worst = isnan(ratio) ? (double)INFINITY : ratio > worst ? ratio : worst;
  }
  return worst;
}

#endif /* SGEMM_ADAPTER_RATE_H */
