/* Every row of SGEMM_VARIANTS that SGEMM_STAGE compiles, against the contract in sgemm.h: one suite a property, one test a
   row. A row added to the table is tested without a line here. */
#include "tests/testing.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const int OPS[4][2] = {{SGEMM_N, SGEMM_N}, {SGEMM_N, SGEMM_T}, {SGEMM_T, SGEMM_N}, {SGEMM_T, SGEMM_T}};

static uint32_t bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

/* The row's tile, with a depth to test where the row has none of its own. */
static sgemm_variant_info tile_of(sgemm_variant variant) {
  sgemm_variant_info v = *sgemm_variant_get(variant);
  v.BK = v.BK > 1 ? v.BK : 8;
  return v;
}

/* ---- Properties -------------------------------------------------------------------------------------------------- */

static void shapes_exact(sgemm_variant variant) {
  problem q;
  int i;
  for (i = 0; sweep(&q, variant, EXACT, i); i++)
    CHECK(problem_solve(&q, schedule(i)));
}

static void shapes_rounding(sgemm_variant variant) {
  problem q;
  int i;
  for (i = 0; sweep(&q, variant, ROUNDING, i); i++) {
    problem_make(&q);
    CHECK(problem_run(&q, schedule(i)));
    CHECK(problem_check(&q));
    CHECK(problem_check_blas(&q));
    problem_free(&q);
  }
}

/* alpha = 0 or k = 0: C = beta * C to the bit, whatever alpha, A and B hold. */
static void nan_rules_scaling(sgemm_variant variant, int op_a, int op_b, float alpha, float beta, int64_t k) {
  static const float values[] = {-0.0f, 0.0f, 1.0f, -3.0f, 1e-40f, FLT_MAX, INFINITY, NAN};
  enum { VALUES = sizeof values / sizeof *values };
  const sgemm_variant_info v = tile_of(variant);
  problem q = problem_of(variant, op_a, op_b, v.BM + 1, VALUES + 4, k, EXACT);
  int64_t i, j;
  q.p.alpha = alpha;
  q.p.beta = beta;
  problem_make(&q);
  for (i = 0; beta != 0.0f && i < q.p.m; i++)
    for (j = 0; j < q.p.n; j++)
      *element(&q.C, 0, i, j) = values[(i + j) % VALUES];
  CHECK(problem_run(&q, NULL));
  for (i = 0; i < q.p.m; i++)
    for (j = 0; j < q.p.n; j++) {
      const float got = result(&q, 0, i, j), want = beta == 0.0f ? 0.0f : beta * values[(i + j) % VALUES];
      if (isnan(want) ? !isnan(got) : bits(got) != bits(want))
        CHECK(problem_fault(&q, "C(%d, %d) is %g, want %g to the bit", (int)i, (int)j, (double)got, (double)want));
    }
  problem_free(&q);
}

/* NaN and Inf at the corners and edges of A, B and C spread over their row or column and no further, as they do through
   a plain dot product; Inf * 0 and Inf - Inf are NaN. */
static void nan_rules_spreading(sgemm_variant variant, int op_a, int op_b, float alpha, float beta) {
  const sgemm_variant_info v = tile_of(variant);
  problem q = problem_of(variant, op_a, op_b, v.BM + 2, v.BN + 3, v.BK + 5, EXACT);
  const int64_t m = q.p.m, n = q.p.n, k = q.p.k;
  q.p.alpha = alpha;
  q.p.beta = beta;
  q.nonfinite = 1;
  problem_make(&q);
  *element(&q.A, 0, 0, 0) = INFINITY;
  *element(&q.A, 0, v.BM - 1, v.BK) = -INFINITY;
  *element(&q.A, 0, m - 1, k - 1) = NAN;
  *element(&q.B, 0, 0, n - 1) = NAN;
  *element(&q.B, 0, k - 1, v.BN - 1) = INFINITY;
  *element(&q.B, 0, 0, 1) = 0.0f;
  if (beta != 0.0f) {
    *element(&q.C, 0, 1, 0) = NAN;
    *element(&q.C, 0, 2, 1) = -INFINITY;
    *element(&q.C, 0, v.BM, v.BN) = INFINITY;
  }
  CHECK(problem_run(&q, NULL));
  CHECK(problem_check(&q));
  problem_free(&q);
}

static void nan_rules(sgemm_variant variant) {
  static const float betas[] = {0.0f, 1.0f, 0.5f, -1.5f};
  int ops, b;
  for (ops = 0; ops < 4; ops++) {
    const int op_a = OPS[ops][0], op_b = OPS[ops][1];
    for (b = 0; b < 4; b++) {
      nan_rules_scaling(variant, op_a, op_b, 0.0f, betas[b], 5);
      nan_rules_scaling(variant, op_a, op_b, 1.0f, betas[b], 0);
    }
    nan_rules_scaling(variant, op_a, op_b, NAN, 0.5f, 0);
    nan_rules_scaling(variant, op_a, op_b, -INFINITY, 0.0f, 0);
    nan_rules_spreading(variant, op_a, op_b, 1.0f, 0.0f);
    nan_rules_spreading(variant, op_a, op_b, -0.5f, 1.0f);
  }
  nan_rules_spreading(variant, SGEMM_N, SGEMM_N, NAN, 1.0f);
  nan_rules_spreading(variant, SGEMM_N, SGEMM_N, INFINITY, 0.0f);
  nan_rules_spreading(variant, SGEMM_N, SGEMM_N, 1.0f, NAN);
}

/* Leading dimensions that suit 128-bit accesses, at pointers that do or do not. */
static void alignment(sgemm_variant variant) {
  const sgemm_variant_info v = tile_of(variant);
  int a, b;
  for (a = 0; a < 4; a++)
    for (b = 0; b < 4; b++) {
      const int ops = (a + b) % 4;
      problem q = problem_of(variant, OPS[ops][0], OPS[ops][1], v.BM + 4, v.BN, 2 * v.BK, EXACT);
      q.A.offset = a;
      q.B.offset = b;
      q.C.offset = a ^ b;
      q.p.beta = b % 2 ? 1.0f : 0.0f;
      CHECK(problem_solve(&q, NULL));
    }
}

/* How the matrices of a batch lie: one behind the other, with a gap that breaks alignment, all the same one, or the rows of
   all side by side. */
typedef enum layout { PACKED, GAP, SHARED, INTERLEAVED } layout;

static void lay(layout layout, int64_t batch, int64_t *ld, int64_t *stride) {
  if (layout == GAP)
    *stride += PRIME;
  if (layout == SHARED)
    *stride = 0;
  if (layout == INTERLEAVED) {
    *stride = *ld;
    *ld *= batch;
  }
}

static void batches(sgemm_variant variant) {
  static const layout layouts[][3] = {{PACKED, PACKED, PACKED}, {GAP, GAP, GAP},
                                      {SHARED, PACKED, PACKED}, {PACKED, SHARED, GAP},
                                      {SHARED, SHARED, PACKED}, {INTERLEAVED, INTERLEAVED, INTERLEAVED},
                                      {PACKED, GAP, INTERLEAVED}};
  const sgemm_variant_info v = tile_of(variant);
  unsigned i;
  for (i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    problem q = problem_of(variant, OPS[i % 4][0], OPS[i % 4][1], v.BM + 4, v.BN + 8, v.BK + 12, EXACT);
    q.p.batch = 3;
    q.p.beta = i % 2 ? 0.5f : 0.0f;
    lay(layouts[i][0], q.p.batch, &q.p.lda, &q.p.stride_a);
    lay(layouts[i][1], q.p.batch, &q.p.ldb, &q.p.stride_b);
    lay(layouts[i][2], q.p.batch, &q.p.ldc, &q.p.stride_c);
    CHECK(problem_solve(&q, schedule((int)i)));
  }
}

/* The same bits on every schedule, and for a row of C or a matrix of a batch computed alone. */
static void repeatability(sgemm_variant variant) {
  const sgemm_variant_info v = tile_of(variant);
  int ops, s;
  for (ops = 0; ops < 4; ops++) {
    const int64_t m = 2 * v.BM + 1, n = v.BN + 3, k = 4 * v.BK + 5, rows[] = {0, v.BM - 1, v.BM, 2 * v.BM};
    problem q = problem_of(variant, OPS[ops][0], OPS[ops][1], m, n, k, ROUNDING);
    problem all, one;
    float *first;
    int64_t b, i, j, r;
    q.p.beta = 1.3f;
    problem_make(&q);
    CHECK(problem_run(&q, schedule(0)));
    CHECK(problem_check(&q));
    first = (float *)malloc((size_t)q.C.count * sizeof(float));
    cr_assert(first != NULL);
    memcpy(first, q.C.after, (size_t)q.C.count * sizeof(float));
    for (s = 0; s < SCHEDULES; s++) { /* the first one again, too */
      CHECK(problem_run(&q, schedule(s)));
      if (memcmp(first, q.C.after, (size_t)q.C.count * sizeof(float)) != 0)
        CHECK(problem_fault(&q, "schedule %d gives other bits than the first", s));
    }
    for (r = 0; r < 4; r++) {
      one = problem_of(variant, OPS[ops][0], OPS[ops][1], 1, n, k, ROUNDING);
      one.p.beta = q.p.beta;
      problem_make(&one);
      for (i = 0; i < k; i++) {
        *element(&one.A, 0, 0, i) = *element(&q.A, 0, rows[r], i);
        for (j = 0; j < n; j++)
          *element(&one.B, 0, i, j) = *element(&q.B, 0, i, j);
      }
      for (j = 0; j < n; j++)
        *element(&one.C, 0, 0, j) = *element(&q.C, 0, rows[r], j);
      CHECK(problem_run(&one, schedule(0)));
      for (j = 0; j < n; j++)
        if (bits(result(&one, 0, 0, j)) != bits(result(&q, 0, rows[r], j)))
          CHECK(problem_fault(&one, "row %d of m = %d, alone, has other bits at column %d: %.9g, not %.9g", (int)rows[r],
                              (int)m, (int)j, (double)result(&one, 0, 0, j), (double)result(&q, 0, rows[r], j)));
      problem_free(&one);
    }
    all = problem_of(variant, OPS[ops][0], OPS[ops][1], 2, n, k, ROUNDING);
    all.p.batch = 3;
    problem_make(&all);
    CHECK(problem_run(&all, schedule(0)));
    for (b = 0; b < 3; b++) {
      one = problem_of(variant, OPS[ops][0], OPS[ops][1], 2, n, k, ROUNDING);
      problem_make(&one);
      for (i = 0; i < k; i++) {
        for (j = 0; j < 2; j++)
          *element(&one.A, 0, j, i) = *element(&all.A, b, j, i);
        for (j = 0; j < n; j++)
          *element(&one.B, 0, i, j) = *element(&all.B, b, i, j);
      }
      CHECK(problem_run(&one, schedule(0)));
      for (i = 0; i < 2; i++)
        for (j = 0; j < n; j++)
          if (bits(result(&one, 0, i, j)) != bits(result(&all, b, i, j)))
            CHECK(problem_fault(&one, "matrix %d of a batch, alone, has other bits at C(%d, %d)", (int)b, (int)i, (int)j));
      problem_free(&one);
    }
    problem_free(&all);
    problem_free(&q);
    free(first);
  }
}

/* ---- Expansion --------------------------------------------------------------------------------------------------- */

#define ROW_NAME(stage, BM, BN, BK, TM, TN) stage##_##BM##x##BN##x##BK##_##TM##x##TN
#define PROPERTY(property, row)                                                                                        \
  Test(property, row) {                                                                                                \
    need_machine();                                                                                                    \
    property(SGEMM_##row);                                                                                             \
  }
#define PROPERTIES(row)                                                                                                \
  PROPERTY(shapes_exact, row)                                                                                          \
  PROPERTY(shapes_rounding, row)                                                                                       \
  PROPERTY(nan_rules, row)                                                                                             \
  PROPERTY(alignment, row)                                                                                             \
  PROPERTY(batches, row)                                                                                               \
  PROPERTY(repeatability, row)
#define ROW(stage, BM, BN, BK, TM, TN, WM, WN, V, blocks, production, reason)                                          \
  ROW_IF(stage, production)(PROPERTIES(ROW_NAME(stage, BM, BN, BK, TM, TN)))

SGEMM_VARIANTS(ROW)

/* A stage that ROW_IF does not know would be compiled and never tested. */
Test(rows, every_compiled_row_is_tested) {
#define ROW_TESTED(stage, BM, BN, BK, TM, TN, WM, WN, V, blocks, production, reason)                                   \
  ROW_IF(stage, production)(tested[SGEMM_##stage##_##BM##x##BN##x##BK##_##TM##x##TN] = 1;)
  int tested[SGEMM_VARIANT_COUNT] = {0}, i, count = 0;
  SGEMM_VARIANTS(ROW_TESTED)
  for (i = 0; i < SGEMM_VARIANT_COUNT; i++) {
    cr_assert(tested[i] == sgemm_compiled((sgemm_variant)i), "%s: compiled %d, tested %d",
              sgemm_variant_get((sgemm_variant)i)->name, sgemm_compiled((sgemm_variant)i), tested[i]);
    count += tested[i];
  }
  cr_assert(count > 0, "no row is compiled");
}
