/* accuracy_data.h: the inputs on which accuracy is judged, and three measures of a result's error. MACHINE_CUDA=1: the
   GPU computes the inputs and the sums of errors (tools/accuracy.cu). */
#ifndef ACCURACY_DATA_H
#define ACCURACY_DATA_H

#include "tools/matrices.h"

#include <float.h>
#include <string.h>

/* ---- Inputs ------------------------------------------------------------------------------------------------------ */

/* X([symbol], rule that judges it, kind, amount, "description"). D is a diagonal matrix that scales A's columns; its
   inverse scales B's rows. integers_a has integers of up to 11 bits in A, integers_b in B. */
// clang-format off
#define ACCURACY_INPUTS(X)                                                                                             \
  X(uniform,      'A', UNIFORM,    0,  "uniform in [-1, 1)")                                                           \
  X(positive,     'A', POSITIVE,   0,  "uniform in [0, 1)")                                                            \
  X(normal,       'A', NORMAL,     0,  "normal")                                                                       \
  X(phi1,         'A', HEAVY,      1,  "(u - 1/2) exp(n), u uniform in [0, 1), n normal")                              \
  X(phi2,         'A', HEAVY,      2,  "(u - 1/2) exp(2 n)")                                                           \
  X(exponent5,    'A', EXPONENTS,  5,  "exponents uniform over +-5 binades")                                           \
  X(exponent15,   'A', EXPONENTS,  15, "exponents uniform over +-15 binades")                                          \
  X(smooth8,      'D', SMOOTH,     8,  "uniform, A D and D^-1 B, log D linear in k over +-8 binades")                  \
  X(smooth14,     'D', SMOOTH,     14, "the same, +-14")                                                               \
  X(smooth20,     'D', SMOOTH,     20, "the same, +-20")                                                               \
  X(smooth40,     'D', SMOOTH,     40, "the same, +-40")                                                               \
  X(random8,      'D', RANDOM,     8,  "uniform, A D and D^-1 B, log D random over +-8 binades")                       \
  X(random14,     'D', RANDOM,     14, "the same, +-14")                                                               \
  X(random20,     'D', RANDOM,     20, "the same, +-20")                                                               \
  X(random40,     'D', RANDOM,     40, "the same, +-40")                                                               \
  X(outlier,      'D', OUTLIER,    60, "uniform, one element of each row of A is 2^60")                                \
  X(tiny_rows,    'D', TINY_ROWS,  120, "uniform, every fourth row of A times 2^-120")                                 \
  X(huge_columns, 'D', HUGE_COLS,  100, "uniform, every fourth column of B times 2^100")                               \
  X(sparse,       'D', SPARSE,     0,  "uniform, each column of B has a single 1")                                     \
  X(integers_a,   'E', INTEGERS,   0,  "integers below 2^11, sums below 2^24")                                         \
  X(integers_b,   'E', INTEGERS,   1,  "the same, the larger ones in B")                                               \
  X(ragged,       'F', UNIFORM,    0,  "uniform, sizes that are multiples of nothing, k = 0")                          \
  X(zeros,        'F', ZEROS,      0,  "A of 0 and -0")                                                                \
  X(subnormal,    'F', SUBNORMAL,  0,  "A of subnormal numbers")                                                       \
  X(largest,      'F', LARGEST,    0,  "rows of A with FLT_MAX, sums that overflow")                                   \
  X(infinite,     'F', INFINITE,   0,  "rows of A with Inf, sums that are Inf or NaN")                                 \
  X(nan,          'F', NOT_NUMBER, 0,  "rows of A with NaN")
// clang-format on

enum {
  UNIFORM,
  POSITIVE,
  NORMAL,
  HEAVY,
  EXPONENTS,
  SMOOTH,
  RANDOM,
  OUTLIER,
  TINY_ROWS,
  HUGE_COLS,
  SPARSE,
  INTEGERS,
  ZEROS,
  SUBNORMAL,
  LARGEST,
  INFINITE,
  NOT_NUMBER
};

typedef struct accuracy_input {
  const char *name;
  char rule; /* A to F; rules B, C and G take inputs of A */
  int kind;
  double amount;
  const char *idea;
} accuracy_input;

enum {
#define X(name, rule, kind, amount, idea) INPUT_##name,
  ACCURACY_INPUTS(X)
#undef X
      INPUTS
};

static inline const accuracy_input *accuracy_input_get(int input) {
  static const accuracy_input inputs[INPUTS] = {
#define X(name, rule, kind, amount, idea) {#name, rule, kind, amount, idea},
      ACCURACY_INPUTS(X)
#undef X
  };
  return &inputs[input];
}

/* A number uniform in [0, 1) with all bits of a double, so that rounding to fp32 gives all bits of fp32. */
MATRICES_BOTH double accuracy_unit(uint64_t stream, uint64_t i) {
  return (double)(matrices_bits(stream, i) >> 11) * 0x1p-53;
}

/* Element k of row e of A, or of column e of B, which have `depth` elements. */
MATRICES_BOTH float accuracy_element(int kind, double amount, int of_b, uint64_t seed, int64_t depth, int64_t e,
                                     int64_t k) {
  const uint64_t stream = 16 * seed + 8 * (uint64_t)of_b, at = (uint64_t)(e * depth + k);
  const double u = accuracy_unit(stream, at), centered = 2.0 * u - 1.0;
  const double side = of_b ? -1.0 : 1.0;                                       /* B gets the inverse of D */
  const double radius = sqrt(-2.0 * log(1.0 - accuracy_unit(stream + 1, at))); /* Box and Muller's normal numbers */
  const double normal = radius * cos(6.283185307179586 * accuracy_unit(stream + 2, at));
  const int marked = !of_b && e % 4 == 1; /* the rows with special elements */
  switch (kind) {
  case POSITIVE:
    return (float)u;
  case NORMAL:
    return (float)normal;
  case HEAVY:
    return (float)((u - 0.5) * exp(amount * normal));
  case EXPONENTS:
    return (float)((centered < 0.0 ? -1.0 : 1.0) * (1.0 + fabs(centered)) *
                   exp2(floor((2.0 * amount + 1.0) * accuracy_unit(stream + 1, at)) - amount));
  case SMOOTH:
    return (float)(centered * exp2(side * amount * (depth < 2 ? 0.0 : 2.0 * (double)k / (double)(depth - 1) - 1.0)));
  case RANDOM:
    return (float)(centered * exp2(side * amount * (2.0 * accuracy_unit(16 * seed + 3, (uint64_t)k) - 1.0)));
  case OUTLIER:
    return (float)(!of_b && k == (int64_t)(matrices_bits(stream + 1, (uint64_t)e) % (uint64_t)depth) ? exp2(amount)
                                                                                                     : centered);
  case TINY_ROWS:
    return (float)(marked ? centered * exp2(-amount) : centered);
  case HUGE_COLS:
    return (float)(of_b && e % 4 == 1 ? centered * exp2(amount) : centered);
  case SPARSE:
    return (float)(!of_b                                                                      ? centered
                   : k == (int64_t)(matrices_bits(stream + 1, (uint64_t)e) % (uint64_t)depth) ? 1.0
                                                                                              : 0.0);
  case INTEGERS: {
    const double most = floor(fmin(2047.0, 0x1p23 / (double)depth));
    const double limit = of_b == (amount != 0.0) ? most : floor(fmin(2047.0, 0x1p23 / ((double)depth * most)));
    return (float)(floor(u * (2.0 * limit + 1.0)) - limit);
  }
  case ZEROS:
    return of_b ? (float)centered : u < 0.5 ? 0.0f : -0.0f;
  case SUBNORMAL:
    return (float)(of_b ? centered : centered * 0x1p-126);
  case LARGEST: /* in even columns of C the sum is at least 1.5 FLT_MAX, in odd columns it is much smaller */
    return of_b                                   ? (float)(e % 2 == 0 ? 0.75 + 0.25 * u : centered * 0x1p-10)
           : marked && (k == 0 || k == depth - 1) ? FLT_MAX
                                                  : (float)centered;
  case INFINITE:
    if (of_b)
      return e % 8 == 3 && k == depth / 2 ? 0.0f : (float)centered;
    return (e % 4 == 1 || e % 4 == 2) && k == depth / 2 ? (float)INFINITY
           : e % 4 == 2 && k == depth / 3               ? -(float)INFINITY
                                                        : (float)centered;
  case NOT_NUMBER:
    return marked && k == depth / 2 ? (float)NAN : (float)centered;
  default:
    return (float)centered;
  }
}

/* ---- Sums -------------------------------------------------------------------------------------------------------- */

/* Sums over the results that are judged. */
typedef struct accuracy_sums {
  double error2, sum2; /* squares of the errors, and of the results in double */
  double worst;        /* the largest |error| / (|A||B|); infinity if anything is NaN */
  double bias;         /* sum of sign(C) error / (|A||B|) */
  double inexact;      /* number of results that differ from the rounded result in double */
  double differing;    /* number of results whose bits differ from the first subject's */
  double faults; /* number of results that exceed the bound of a dot product in fp32, or that are NaN or Inf where the
                          first subject's are not, or the reverse */
} accuracy_sums;

MATRICES_BOTH uint32_t accuracy_word(float x) {
  uint32_t word;
  memcpy(&word, &x, sizeof word);
  return word;
}

/* Adds one result c. first: the first subject's result; sum: the dot product in double; size: the dot product of the
   absolute values. The bound of k FMAs and an epilogue is (k + 2) 2^-24 |A||B| (Higham, Accuracy and Stability, 3.1)
   plus half of the least subnormal for each. */
MATRICES_BOTH void accuracy_add(accuracy_sums *s, float c, float first, double sum, double size, int64_t k) {
  const double error = (double)c - sum, bound = (double)(k + 2) * (0x1p-24 * size + 0x1p-150);
  const float exact = sum == 0.0 ? 0.0f : (float)sum;
  s->error2 += error * error;
  s->sum2 += sum * sum;
  s->worst = fmax(s->worst, matrices_distance(c, sum, size));
  s->bias += error == 0.0 ? 0.0 : (sum < 0.0 ? -error : error) / size;
  s->inexact += accuracy_word(c) != accuracy_word(exact);
  s->differing += accuracy_word(c) != accuracy_word(first);
  s->faults += isnan(first) ? !isnan(c) : isinf(first) ? c != first : !(fabs(error) <= bound);
}

MATRICES_BOTH void accuracy_merge(accuracy_sums *s, const accuracy_sums *more) {
  s->error2 += more->error2;
  s->sum2 += more->sum2;
  s->worst = fmax(s->worst, more->worst);
  s->bias += more->bias;
  s->inexact += more->inexact;
  s->differing += more->differing;
  s->faults += more->faults;
}

/* ---- On the backend ---------------------------------------------------------------------------------------------- */

#if defined(MACHINE_CUDA) && MACHINE_CUDA

#ifdef __cplusplus
extern "C" {
#endif

/* Fills x with A, extent x k, or with B, k x extent, row-major and packed. Returns 0 or a cudaError_t. */
int accuracy_fill(float *x, int kind, double amount, int of_b, uint64_t seed, int64_t extent, int64_t k);

/* wide[i] = x[i], or |x[i]|. Returns 0 or a cudaError_t. */
int accuracy_widen(double *wide, const float *x, int64_t count, int absolute);

/* sums[s], in host memory, receives the sums of subject s, whose `count` results are at C + s * count. sum and size are
   the products A B and |A||B| in double. There are at most SUBJECTS_MOST subjects. The order of summation is fixed.
   Returns 0 or a cudaError_t. */
int accuracy_judge(accuracy_sums *sums, const float *C, int subjects, const double *sum, const double *size,
                   int64_t count, int64_t k);

#ifdef __cplusplus
}
#endif

#else

static inline int accuracy_fill(float *x, int kind, double amount, int of_b, uint64_t seed, int64_t extent, int64_t k) {
  int64_t e, i;
  for (e = 0; e < extent; e++)
    for (i = 0; i < k; i++)
      x[of_b ? i * extent + e : e * k + i] = accuracy_element(kind, amount, of_b, seed, k, e, i);
  return 0;
}

static inline int accuracy_judge(accuracy_sums *sums, const float *C, int subjects, const double *sum,
                                 const double *size, int64_t count, int64_t k) {
  int64_t i;
  int s;
  memset(sums, 0, (size_t)subjects * sizeof *sums);
  for (s = 0; s < subjects; s++)
    for (i = 0; i < count; i++)
      accuracy_add(&sums[s], C[s * count + i], C[i], sum[i], size[i], k);
  return 0;
}

#endif

enum { SUBJECTS_MOST = 8 };

#endif
