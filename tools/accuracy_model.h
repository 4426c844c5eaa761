/* accuracy_model.h: the references without a GPU: the product in double; a chain of fp32 FMAs along k in place of
   cuBLAS SGEMM; and in place of TF32 a chain of FMAs on the upper 19 bits of the operands. */
#ifndef ACCURACY_MODEL_H
#define ACCURACY_MODEL_H

#include "tools/accuracy_data.h"
#include "tools/machine.h"

enum { DEFAULT_SIDE = 128 }; /* with fewer results the largest error of rule B varies by chance */
static const int64_t accuracy_depths[] = {64, 256}, accuracy_quick_depths[] = {256};
static const char accuracy_baseline_name[] = "chain", accuracy_control_name[] = "chain_tf32";

typedef struct baseline {
  int none;
} baseline;

/* Prints one line to stderr. Returns 2, the exit status. */
static inline int accuracy_fail(const char *what, const char *why) {
  fprintf(stderr, "accuracy: %s: %s\n", what, why);
  return 2;
}

static inline int machine_failed(int error, const char *what) {
  return error == 0 ? 0 : accuracy_fail(what, machine_error(error));
}

static inline int open_baseline(baseline *b, int64_t of_a, int64_t of_b) {
  (void)of_a;
  (void)of_b;
  b->none = 0;
  return 0;
}

static inline void close_baseline(baseline *b) { (void)b; }

static inline int baseline_in_double(baseline *b, const sgemm_params *p, double *sum, double *size) {
  int64_t i, j, k;
  (void)b;
  for (i = 0; i < p->m; i++)
    for (j = 0; j < p->n; j++) {
      double of_products = 0.0, of_sizes = 0.0;
      for (k = 0; k < p->k; k++) {
        const double product = (double)p->A[i * p->k + k] * p->B[k * p->n + j];
        of_products += product;
        of_sizes += fabs(product);
      }
      sum[i * p->n + j] = of_products;
      size[i * p->n + j] = of_sizes;
    }
  return 0;
}

static inline float cut_to_tf32(float x) {
  uint32_t word = accuracy_word(x) & 0xffffe000;
  memcpy(&x, &word, sizeof x);
  return x;
}

static inline int baseline_multiply(const baseline *b, const sgemm_params *p, int tf32) {
  int64_t i, j, k;
  (void)b;
  for (i = 0; i < p->m; i++)
    for (j = 0; j < p->n; j++) {
      float sum = 0.0f;
      for (k = 0; k < p->k; k++) {
        const float x = p->A[i * p->k + k], y = p->B[k * p->n + j];
        sum = tf32 ? fmaf(cut_to_tf32(x), cut_to_tf32(y), sum) : fmaf(x, y, sum);
      }
      p->C[i * p->n + j] = sum;
    }
  return 0;
}

#endif
