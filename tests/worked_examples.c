/* worked_examples.c: runs the worked examples of docs/epilogues.md, which readme_test.sh writes to the files below, on
   the CPU model. Compares their results with double, and prints the bytes of the table there: for each element of the
   result, the global loads and stores of a second kernel that applies the epilogue, and of an epilogue in registers. */
#include "example_2.c" /* it defines the project's row, so it comes first */

#include "example_1.c"
#include "example_3.c"

#include "cpu/sgemm_model.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 128, OUT = 512, IN = 64 }; /* so large that one launch makes each sum */
static float X[ROWS * IN], W[IN * OUT], vec_m[ROWS], vec_n[OUT], pre[ROWS * OUT], D[ROWS * OUT], values[OUT];
static float E[ROWS * OUT], points_norms[ROWS];
static int64_t nearest[ROWS];

static void fail(const char *what) {
  fprintf(stderr, "worked_examples: %s\n", what);
  exit(1);
}

static void fill(float *x, int count, unsigned seed, float unit) {
  int i;
  for (i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)((int)(seed >> 16) % 17 - 8) * unit;
  }
}

static void near(const char *what, double got, double want, double size) {
  if (!(fabs(got - want) <= 1e-5 * size))
    fprintf(stderr, "%s: %.9g, not %.9g\n", what, got, want), fail(what);
}

/* (X W)(i, j), or (X W')(i, j) with W of OUT x IN. */
static double product(int i, int j, int transposed) {
  double sum = 0.0;
  int k;
  for (k = 0; k < IN; k++)
    sum += (double)X[i * IN + k] * (double)(transposed ? W[j * IN + k] : W[k * OUT + j]);
  return sum;
}

static double gelu_slope(double x) {
  const double root = sqrt(2.0 / acos(-1.0)), t = tanh(root * (x + 0.044715 * x * x * x));
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * root * (1.0 + 3.0 * 0.044715 * x * x);
}

static void check_layer(sgemm_counts *backward) {
  double sums[OUT] = {0.0};
  int i, j;
  if (gelu_forward(X, W, vec_n, pre, D, ROWS, OUT, IN, NULL) != SGEMM_SUCCESS)
    fail("gelu_forward");
  for (i = 0; i < ROWS; i++)
    for (j = 0; j < OUT; j++) {
      const double x = product(i, j, 0) + (double)vec_n[j];
      near("pre", pre[i * OUT + j], x, 8.0);
      near("gelu", D[i * OUT + j], 0.5 * x * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x))), 8.0);
    }
  if (gelu_backward(X, W, pre, D, values, ROWS, OUT, IN, NULL) != SGEMM_SUCCESS)
    fail("gelu_backward");
  *backward = *sgemm_model_counts();
  for (i = 0; i < ROWS; i++)
    for (j = 0; j < OUT; j++) {
      const double want = product(i, j, 1) * gelu_slope((double)pre[i * OUT + j]);
      near("dpre", D[i * OUT + j], want, 8.0);
      sums[j] += want;
    }
  for (j = 0; j < OUT; j++)
    near("dbias", values[j], sums[j], 8.0 * ROWS);
}

static sgemm_counts check_capped(void) {
  sgemm_counts counts;
  int i, j;
  if (capped_branch(X, W, vec_m, E, 0.75f, D, ROWS, OUT, IN, NULL) != SGEMM_SUCCESS)
    fail("capped_branch");
  counts = *sgemm_model_counts();
  for (i = 0; i < ROWS; i++)
    for (j = 0; j < OUT; j++)
      near("capped", D[i * OUT + j], (double)E[i * OUT + j] + 0.75 * tanh(product(i, j, 0) * (double)vec_m[i] / 0.75),
           8.0);
  return counts;
}

static sgemm_counts check_nearest(void) {
  sgemm_counts counts;
  double distances[OUT];
  int i, j, k, best;
  for (i = 0; i < ROWS; i++)
    for (points_norms[i] = 0.0f, k = 0; k < IN; k++)
      points_norms[i] += X[i * IN + k] * X[i * IN + k];
  for (j = 0; j < OUT; j++)
    for (vec_n[j] = 0.0f, k = 0; k < IN; k++)
      vec_n[j] += W[j * IN + k] * W[j * IN + k];
  if (assign(X, W, points_norms, vec_n, nearest, values, ROWS, OUT, IN, NULL) != SGEMM_SUCCESS)
    fail("assign");
  counts = *sgemm_model_counts();
  for (i = 0; i < ROWS; i++) {
    for (best = 0, j = 0; j < OUT; j++) {
      distances[j] = (double)points_norms[i] + (double)vec_n[j] - 2.0 * product(i, j, 1);
      best = distances[j] < distances[best] ? j : best;
    }
    if (nearest[i] < 0 || nearest[i] >= OUT)
      fail("an index is outside");
    near("nearest", distances[nearest[i]], distances[best], 8.0);
    near("distance", values[i], distances[best], 8.0);
  }
  return counts;
}

/* A call with an epilogue of the examples, or for none a plain one. */
static sgemm_params call_of(int epilogue) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, ROWS, OUT, IN);
  p.A = X, p.B = W, p.C = D;
  p.epilogue = epilogue;
  if (epilogue == SGEMM_EPILOGUE_gelu)
    p.vec_n = vec_n, p.aux = pre;
  if (epilogue == SGEMM_EPILOGUE_capped)
    p.vec_m = vec_m, p.E = E, p.s = 0.75f;
  return p;
}

/* The counts of all kernels of a call with the plan of a variant. */
static sgemm_counts counts_of(sgemm_variant variant, int epilogue) {
  const sgemm_params p = call_of(epilogue);
  const sgemm_plan plan = sgemm_variant_plan(variant, &p);
  sgemm_counts before = *sgemm_model_total(), c;
  if (sgemm_run_plan(&plan, &p, NULL) != SGEMM_SUCCESS)
    fail("a plan of a variant");
  c = *sgemm_model_total();
  sgemm_counts_add(&c, &before, -1);
  return c;
}

/* The counts of an epilogue that a variant's kernel applies to results in registers: those of the call less those of a
   plain one. */
static sgemm_counts in_registers(sgemm_variant variant, int epilogue) {
  sgemm_counts c = counts_of(variant, epilogue);
  const sgemm_counts plain = counts_of(variant, SGEMM_EPILOGUE_none);
  sgemm_counts_add(&c, &plain, -1);
  return c;
}

/* The counts of the second kernel that applies an epilogue after a variant that does not. */
static sgemm_counts second_kernel(int epilogue) {
  counts_of(SGEMM_async_64x64x8_8x8, epilogue);
  return *sgemm_model_counts();
}

static void print_bytes(const char *name, const sgemm_counts *c) {
  printf("%s: %.1f loaded, %.1f stored\n", name, (double)c->global_load_bytes / (ROWS * OUT),
         (double)c->global_store_bytes / (ROWS * OUT));
}

int main(void) {
  sgemm_counts forward, backward, capped, distances, gelu, registers;
  fill(X, ROWS * IN, 1, 0x1p-5f);
  fill(W, IN * OUT, 2, 0x1p-5f);
  fill(vec_m, ROWS, 3, 0.125f);
  fill(vec_n, OUT, 4, 0.125f);
  fill(E, ROWS * OUT, 5, 0.125f);
  check_layer(&backward);
  capped = check_capped();
  forward = second_kernel(SGEMM_EPILOGUE_gelu);
  gelu = in_registers(SGEMM_tma_64x64x32_16x8, SGEMM_EPILOGUE_gelu);
  registers = in_registers(SGEMM_splitk_32x32x32_4x4, SGEMM_EPILOGUE_capped);
  distances = check_nearest();
  print_bytes("gelu_forward", &forward);
  print_bytes("gelu_forward, in registers", &gelu);
  print_bytes("gelu_backward", &backward);
  print_bytes("capped_branch", &capped);
  print_bytes("capped_branch, in registers", &registers);
  print_bytes("assign", &distances);
  return 0;
}
