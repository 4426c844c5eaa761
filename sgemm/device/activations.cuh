/* sgemm/device/activations.cuh: the functions that rows of the table of epilogues use. Errors are those against the
   exact function of the float argument: at most 2 ulp for relu and clamp, 4 ulp for the others while the result is
   above 2^-100 in magnitude. NaN gives NaN. */
#ifndef SGEMM_DEVICE_ACTIVATIONS_CUH
#define SGEMM_DEVICE_ACTIVATIONS_CUH

SGEMM__DEVICE float sgemm_relu(float x) { return x < 0.0f ? 0.0f : x; }
SGEMM__DEVICE float sgemm_clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
SGEMM__DEVICE float sgemm_tanh(float x) { return tanhf(x); }

/* 1 / (1 + exp(-(x + rest))), for a rest far below x: e = exp(-|x|) cannot overflow, and the sum 1 + e lies between 1
   and 2. The rest moves the exponent, so that it changes the result in proportion to exp(rest) = 1 + rest. */
SGEMM__DEVICE float sgemm__sigmoid_of(float x, float rest) {
  const float e = expf(-fabsf(x)) * (1.0f - (x < 0.0f ? -rest : rest));
  const float r = sgemm__reciprocal(1.0f + e);
  return x < 0.0f ? e * r : r;
}
SGEMM__DEVICE float sgemm_sigmoid(float x) { return sgemm__sigmoid_of(x, 0.0f); }
SGEMM__DEVICE float sgemm_silu(float x) { return x * sgemm_sigmoid(x); }
SGEMM__DEVICE float sgemm_dsilu(float x) {
  const float y = sgemm_sigmoid(x);
  return sgemm__fma(x * y, 1.0f - y, y);
}

/* GELU by tanh: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) = x sigmoid(u), u = x (a + b x^2). The exponential of
   -u multiplies u's error by |u|, so u is computed with its rounding error, *rest. (Hendrycks, Gimpel, "Gaussian Error
   Linear Units", 2016.) */
#define SGEMM__GELU_A 1.5957691669464111f  /* a = 2 sqrt(2 / pi) */
#define SGEMM__GELU_A_REST -4.534068e-8f   /* what float leaves out of a */
#define SGEMM__GELU_B 0.07135481387376785f /* b = 0.044715 a */
#define SGEMM__GELU_B_REST 2.3988324e-9f
SGEMM__DEVICE float sgemm__gelu_argument(float x, float *rest) {
  const float square = sgemm__multiply(x, x), square_rest = sgemm__fma(x, x, -square);
  const float product = sgemm__multiply(SGEMM__GELU_B, square);
  const float product_rest = sgemm__fma(SGEMM__GELU_B, square, -product);
  const float factor = sgemm__add(SGEMM__GELU_A, product), a = factor - product;
  const float rounded = (SGEMM__GELU_A - a) + (product - (factor - a)); /* of the sum (Knuth's TwoSum) */
  const float factor_rest = sgemm__fma(SGEMM__GELU_B, square_rest, sgemm__fma(SGEMM__GELU_B_REST, square, rounded)) +
                            (product_rest + SGEMM__GELU_A_REST);
  const float u = sgemm__multiply(x, factor);
  *rest = sgemm__fma(x, factor, -u) + x * factor_rest;
  return u;
}
SGEMM__DEVICE float sgemm_gelu(float x) {
  float rest;
  const float u = sgemm__gelu_argument(x, &rest);
  return x * sgemm__sigmoid_of(u, rest);
}

/* The derivative: sigmoid(u) + x sigmoid(u) (1 - sigmoid(u)) u', u' = a + 3 b x^2. */
SGEMM__DEVICE float sgemm_dgelu(float x) {
  float rest;
  const float u = sgemm__gelu_argument(x, &rest), y = sgemm__sigmoid_of(u, rest);
  const float slope = sgemm__fma(3.0f * SGEMM__GELU_B, x * x, SGEMM__GELU_A);
  return sgemm__fma(x * y * sgemm__sigmoid_of(-u, -rest), slope, y);
}

/* GELU by erf: x Phi(x), Phi(x) = erfc(-x / sqrt(2)) / 2. For z = -x / sqrt(2) above 0, erfc(z + rest) is about
   erfc(z) (1 - 2 z rest). */
SGEMM__DEVICE float sgemm__normal_cdf(float x) {
  const float r = -0.70710677f, r_rest = -1.2101617e-8f; /* -1 / sqrt(2), and what float leaves out of it */
  const float z = sgemm__multiply(x, r), rest = sgemm__fma(x, r, -z) + x * r_rest;
  return 0.5f * erfcf(z) * (z > 0.0f ? sgemm__fma(-2.0f * z, rest, 1.0f) : 1.0f);
}
SGEMM__DEVICE float sgemm_gelu_erf(float x) { return x * sgemm__normal_cdf(x); }

/* The derivative: Phi(x) + x phi(x), phi(x) = exp(-x^2 / 2) / sqrt(2 pi). */
SGEMM__DEVICE float sgemm_dgelu_erf(float x) {
  return sgemm__fma(x * 0.3989422804014327f, expf(-0.5f * x * x), sgemm__normal_cdf(x));
}

#endif /* SGEMM_DEVICE_ACTIVATIONS_CUH */
