/* sgemm/device/activations.cuh: the functions that rows of the table of epilogues use. Errors are those against the
   exact function of a finite float argument: none for relu and clamp, at most 4 ulp for the others while the result is
   above 2^-100 in magnitude, and for derivatives, whose terms can cancel, 2 ulp of the magnitudes of their terms more.
   docs/notebook/epilogues.md has the errors over all floats. NaN gives NaN. Inf and -Inf give the limit of the
   function, except that silu, gelu and gelu_erf of -Inf are NaN, from a product Inf * 0. */
#ifndef SGEMM_DEVICE_ACTIVATIONS_CUH
#define SGEMM_DEVICE_ACTIVATIONS_CUH

SGEMM__DEVICE float sgemm_relu(float x) { return x < 0.0f ? 0.0f : x; }
SGEMM__DEVICE float sgemm_clamp(float x, float low, float high) { return x < low ? low : x > high ? high : x; }
SGEMM__DEVICE float sgemm_tanh(float x) { return tanhf(x); }

/* A sum with this shift, 1.5 * 2^23, is rounded to a whole number, which stands in its last places. */
#define SGEMM__WHOLE_SHIFT 12582912.0f

/* 2^(n + f) for f in [-0.525, 0.525] and n from -126 to 127. shifted: n + SGEMM__WHOLE_SHIFT. A polynomial of degree 6,
   whose coefficients are floats, computes 2^f with a relative error of 4.3e-9 besides its roundings, and n is added to
   its exponent. ex2.approx has errors of 2.06 ulp there (measured), which with the roundings of a sigmoid are more than
   4 ulp. */
SGEMM__DEVICE float sgemm__power_of_2(float shifted, float f) {
  float r = 1.53097266e-4f;
  r = sgemm__fma(r, f, 1.33964187e-3f);
  r = sgemm__fma(r, f, 9.61862877e-3f);
  r = sgemm__fma(r, f, 5.55034988e-2f);
  r = sgemm__fma(r, f, 2.40226462e-1f);
  r = sgemm__fma(r, f, 6.93147182e-1f);
  r = sgemm__fma(r, f, 1.0f);
  return sgemm__float_of(sgemm__bits_of(r) + (sgemm__bits_of(shifted) << 23));
}

/* 2^(x (factor + low)), for |x low| up to 0.025. low is what factor lacks to more than 24 bits, because an error of the
   exponent is a relative error of the power. The product x factor is not rounded: with n, the nearest whole number,
   x factor - n is one FMA, whose result is in [-0.5, 0.5]. */
SGEMM__DEVICE float sgemm__power_of_product(float x, float factor, float low) {
  const float shifted = sgemm__fma(x, factor, SGEMM__WHOLE_SHIFT), n = shifted - SGEMM__WHOLE_SHIFT;
  return sgemm__power_of_2(shifted, sgemm__fma(x, low, sgemm__fma(x, factor, -n)));
}

/* 1 / (x + low), for low far below x: an approximation and a step of Newton's method, which leaves little more than
   the error of one rounding. */
SGEMM__DEVICE float sgemm__inverse(float x, float low) {
  const float near = sgemm__reciprocal(x);
  return sgemm__fma(near, sgemm__fma(-low, near, sgemm__fma(-x, near, 1.0f)), near);
}

/* The nearest number to x from low to high; low for NaN. sgemm_clamp() keeps NaN, which takes comparisons. */
SGEMM__DEVICE float sgemm__limit(float x, float low, float high) { return fminf(fmaxf(x, low), high); }

/* Sigmoids y = 1 / (1 + e), e = 2^v. The two functions limit x to where -127 < v < 127, for the sigmoid of x and for
   GELU. At the lower limit of x, where v is above 126, the reciprocal would be below 2^-126 and is flushed to 0. At the
   upper limit y is 1. The difference 1 - y is computed as e y, without cancellation. The error of the approximate
   reciprocal, at most 1 ulp, is within the 4 ulp. */
SGEMM__DEVICE float sgemm__limit_for_sigmoid(float x) { return sgemm__limit(x, -88.0f, 64.0f); }
SGEMM__DEVICE float sgemm__limit_for_gelu(float x) { return sgemm__limit(x, -10.03f, 10.0f); }

/* exp(-x) as 2^(-x / ln(2)), for the limited x. */
SGEMM__DEVICE float sgemm__exp_of_minus(float x) {
  const float near = sgemm__limit_for_sigmoid(x);
  return sgemm__power_of_product(near, -1.442695f, -1.925963e-8f);
}
SGEMM__DEVICE float sgemm_sigmoid(float x) { return x != x ? x : sgemm__reciprocal(1.0f + sgemm__exp_of_minus(x)); }
SGEMM__DEVICE float sgemm_silu(float x) { return x * sgemm__reciprocal(1.0f + sgemm__exp_of_minus(x)); }
SGEMM__DEVICE float sgemm_dsilu(float x) {
  const float e = sgemm__exp_of_minus(x), y = sgemm__reciprocal(1.0f + e);
  return x != x ? x : sgemm__fma(sgemm__limit_for_sigmoid(x) * y, e * y, y);
}

/* GELU by tanh: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) = x y with y = 1 / (1 + 2^v), v = x (a + b x^2).
   (Hendrycks, Gimpel, "Gaussian Error Linear Units", 2016.) An error of v is a relative error of 2^v, so a + b x^2 is
   the sum of two floats. For the first one x^2 is rounded to a multiple of 2^-5, b to one of 2^-15 and a to one of
   2^-20. It is below 16 and a multiple of 2^-20: a float, without rounding. The second one, below 0.0024, has what the
   three lack. */
#define SGEMM__SQUARE_SHIFT 393216.0f            /* 1.5 * 2^18: a sum with it is rounded to a multiple of 2^-5 */
#define SGEMM__GELU_A -2.302208f                 /* a = -2 sqrt(2 / pi) / ln(2), rounded to a multiple of 2^-20 */
#define SGEMM__GELU_A_LOW -2.5136697e-7f         /* a - SGEMM__GELU_A */
#define SGEMM__GELU_B -0.10294324f               /* b = 0.044715 a */
#define SGEMM__GELU_B_HIGH (-3373.0f / 32768.0f) /* b, rounded to a multiple of 2^-15 */
#define SGEMM__GELU_B_LOW -7.448564e-6f          /* b - SGEMM__GELU_B_HIGH */
SGEMM__DEVICE float sgemm__gelu_power(float x) {
  const float near = sgemm__limit_for_gelu(x);
  const float square = sgemm__fma(near, near, SGEMM__SQUARE_SHIFT) - SGEMM__SQUARE_SHIFT;
  const float rest = sgemm__fma(near, near, -square);
  const float factor = sgemm__fma(SGEMM__GELU_B_HIGH, square, SGEMM__GELU_A);
  const float low = sgemm__fma(SGEMM__GELU_B, rest, sgemm__fma(SGEMM__GELU_B_LOW, square, SGEMM__GELU_A_LOW));
  return sgemm__power_of_product(near, factor, low);
}
SGEMM__DEVICE float sgemm_gelu(float x) { return x * sgemm__reciprocal(1.0f + sgemm__gelu_power(x)); }

/* The derivative: y + x y (1 - y) u', u' = -ln(2) (a + 3 b x^2). */
SGEMM__DEVICE float sgemm_dgelu(float x) {
  const float near = sgemm__limit_for_gelu(x), slope = sgemm__fma(0.21406445f, near * near, 1.5957691f);
  const float e = sgemm__gelu_power(x), y = sgemm__reciprocal(1.0f + e);
  return x != x ? x : sgemm__fma(near * y * (e * y), slope, y);
}

/* Phi(x), the distribution function of the normal distribution, and *bell = exp(-x^2 / 2), both with a small relative
   error. Phi(-|x|) is *bell p(t) / (|x| + 2): a polynomial of degree 11 in t = (|x| - 2) / (|x| + 2), which maps the
   half line to [-1, 1), as M. Shepherd and J. Laframboise do for erfc ("Chebyshev Approximation of (1 + 2x) exp(x^2)
   erfc x in 0 <= x < inf", Math. Comp. 36, 1981). Interpolated in Chebyshev points for |x| up to 13.5, with a relative
   error of 3.4e-9. Beyond +-13, where both are below 2^-121, *bell and Phi(-|x|) are 0. */
SGEMM__DEVICE float sgemm__normal_cdf(float x, float *bell) {
  const float factor = -0.7213475f, factor_low = -9.629815e-9f; /* -1 / (2 ln(2)), and its rounding error */
  const float a = fminf(fabsf(x), 13.0f), square = sgemm__multiply(a, a), square_low = sgemm__fma(a, a, -square);
  const float v = sgemm__multiply(square, factor), shifted = v + SGEMM__WHOLE_SHIFT;
  const float low = sgemm__fma(square, factor, -v) + sgemm__fma(square, factor_low, square_low * factor);
  const float sum = a + 2.0f, sum_low = a - (sum - 2.0f);
  const float r = sgemm__inverse(sum, sum_low), t = sgemm__fma(-4.0f, r, 1.0f);
  const float c0 = 0.672407985f, c0_low = 1.96906171e-08f; /* the polynomial at 0, and its rounding error */
  float p = -6.3444917e-05f, q, q_low, product, tail;
  p = sgemm__fma(p, t, -0.000145594939f);
  p = sgemm__fma(p, t, 0.000131244771f);
  p = sgemm__fma(p, t, 0.000831557263f);
  p = sgemm__fma(p, t, 0.000823607959f);
  p = sgemm__fma(p, t, -0.00194908236f);
  p = sgemm__fma(p, t, -0.00673424685f);
  p = sgemm__fma(p, t, -0.000470262603f);
  p = sgemm__fma(p, t, 0.0367193408f);
  p = sgemm__fma(p, t, 0.0287974086f);
  p = sgemm__fma(p, t, -0.331404477f);
  q = sgemm__fma(p, t, c0);
  q_low = sgemm__fma(p, t, c0 - q) + c0_low; /* the rounding error of q: c0 - q is exact */
  product = sgemm__multiply(q, r);
  *bell = a < 13.0f ? sgemm__power_of_2(shifted, v - (shifted - SGEMM__WHOLE_SHIFT) + low) : 0.0f;
  tail = sgemm__fma(product, *bell, sgemm__fma(q_low, r, sgemm__fma(q, r, -product)) * *bell);
  return x > 0.0f ? 1.0f - tail : tail;
}

/* GELU by erf: x Phi(x) = x / 2 (1 + erf(x / sqrt(2))). */
SGEMM__DEVICE float sgemm_gelu_erf(float x) {
  float bell;
  return x * sgemm__normal_cdf(x, &bell);
}

/* The derivative: Phi(x) + x phi(x), phi(x) = exp(-x^2 / 2) / sqrt(2 pi). */
SGEMM__DEVICE float sgemm_dgelu_erf(float x) {
  float bell;
  const float y = sgemm__normal_cdf(x, &bell), near = sgemm__limit(x, -13.0f, 13.0f);
  return x != x ? x : sgemm__fma(near * 0.3989423f, bell, y);
}

#endif /* SGEMM_DEVICE_ACTIVATIONS_CUH */
