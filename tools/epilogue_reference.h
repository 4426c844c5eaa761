/* epilogue_reference.h: every row of the table of epilogues in double, a project's too, and the bound of the rounding
   of a row's expression in fp32. A row's own expression is the reference, with functions in double in place of those of
   sgemm/device/activations.cuh. For tests and tools, which do not define SGEMM_IMPLEMENTATION. */
#ifndef EPILOGUE_REFERENCE_H
#define EPILOGUE_REFERENCE_H

#include "sgemm.h"

#include <math.h>

static inline double reference_relu(double x) { return x < 0.0 ? 0.0 : x; }
static inline double reference_clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }
static inline double reference_sigmoid(double x) { return x < 0.0 ? exp(x) / (1.0 + exp(x)) : 1.0 / (1.0 + exp(-x)); }
static inline double reference_tanh(double x) { return tanh(x); }
static inline double reference_silu(double x) { return x * reference_sigmoid(x); }
static inline double reference_dsilu(double x) { return reference_sigmoid(x) * (1.0 + x * reference_sigmoid(-x)); }
static inline double reference_gelu_argument(double x) {
  return 2.0 * sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x);
}
static inline double reference_gelu(double x) { return x * reference_sigmoid(reference_gelu_argument(x)); }
static inline double reference_dgelu(double x) {
  const double y = reference_sigmoid(reference_gelu_argument(x)),
               slope = 2.0 * sqrt(2.0 / acos(-1.0)) * (1.0 + 3.0 * 0.044715 * x * x);
  return y + x * y * reference_sigmoid(-reference_gelu_argument(x)) * slope;
}
static inline double reference_gelu_erf(double x) { return 0.5 * x * erfc(-x / sqrt(2.0)); }
static inline double reference_dgelu_erf(double x) {
  return 0.5 * erfc(-x / sqrt(2.0)) + x * exp(-0.5 * x * x) / sqrt(2.0 * acos(-1.0));
}
#define sgemm_relu reference_relu
#define sgemm_clamp reference_clamp
#define sgemm_sigmoid reference_sigmoid
#define sgemm_tanh reference_tanh
#define sgemm_silu reference_silu
#define sgemm_dsilu reference_dsilu
#define sgemm_gelu reference_gelu
#define sgemm_dgelu reference_dgelu
#define sgemm_gelu_erf reference_gelu_erf
#define sgemm_dgelu_erf reference_dgelu_erf

typedef struct epilogue_values {
  double sum, c, vec_m, vec_n, bias, e, aux, s, t;
  int64_t row, col;
} epilogue_values;

#define REFERENCE_DECLARATION(value) REFERENCE_DECLARATION_##value
#define REFERENCE_DECLARATION_sum double sum
#define REFERENCE_DECLARATION_c double c
#define REFERENCE_DECLARATION_vec_m double vec_m
#define REFERENCE_DECLARATION_vec_n double vec_n
#define REFERENCE_DECLARATION_bias double bias
#define REFERENCE_DECLARATION_e double e
#define REFERENCE_DECLARATION_aux double *aux
#define REFERENCE_DECLARATION_row int64_t row
#define REFERENCE_DECLARATION_col int64_t col
#define REFERENCE_DECLARATION_s double s
#define REFERENCE_DECLARATION_t double t
#define REFERENCE_DECLARATIONS(...) SGEMM__EACH(REFERENCE_DECLARATION, SGEMM__COMMA, __VA_ARGS__)
#define REFERENCE_VALUE(value) REFERENCE_VALUE_##value
#define REFERENCE_VALUE_sum v->sum
#define REFERENCE_VALUE_c v->c
#define REFERENCE_VALUE_vec_m v->vec_m
#define REFERENCE_VALUE_vec_n v->vec_n
#define REFERENCE_VALUE_bias v->bias
#define REFERENCE_VALUE_e v->e
#define REFERENCE_VALUE_aux &v->aux
#define REFERENCE_VALUE_row v->row
#define REFERENCE_VALUE_col v->col
#define REFERENCE_VALUE_s v->s
#define REFERENCE_VALUE_t v->t
#define REFERENCE_VALUES(...) SGEMM__EACH(REFERENCE_VALUE, SGEMM__COMMA, __VA_ARGS__)
#define SGEMM__X(name, reads, expression, what)                                                                        \
  static inline double epilogue_reference_##name(REFERENCE_DECLARATIONS reads) { return expression; }
SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X
static inline double epilogue_reference(int epilogue, epilogue_values *v) {
  switch (epilogue) {
#define SGEMM__X(name, reads, expression, what)                                                                        \
  case SGEMM_EPILOGUE_##name:                                                                                          \
    return epilogue_reference_##name(REFERENCE_VALUES reads);
    SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X
  default:
    return NAN;
  }
}

/* The bound of |result - want| from the rounding of the expression alone: 4 ulp of the result, and where it adds terms
   2 ulp of their magnitudes. Derivatives cross 0 between terms of the size of `sum`. */
static inline double epilogue_rounding(int epilogue, const epilogue_values *v, double want) {
  const double terms = fabs(v->sum) * (2.0 + fabs(v->e)) + fabs(v->c) + fabs(v->vec_m) + fabs(v->vec_n) + fabs(v->e);
  const uint32_t summed = SGEMM_READS_e | SGEMM_READS_vec_m | SGEMM_READS_vec_n | SGEMM_READS_c;
  const uint32_t reads = sgemm_epilogue_reads((sgemm_epilogue)epilogue);
  return 4.0 * 0x1p-23 * fabs(want) + (reads & summed ? 2.0 * 0x1p-23 * terms : 0.0) + 0x1p-120;
}

#endif
