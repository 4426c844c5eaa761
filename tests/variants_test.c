/* Tests of the contract in sgemm.h for every variant that SGEMM_STAGE compiles. A Criterion suite is a property, a test
   is a variant. A new row of SGEMM_VARIANTS is tested without a change of this file. */
#include "tests/testing.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int OPS[4][2] = {{SGEMM_N, SGEMM_N}, {SGEMM_N, SGEMM_T}, {SGEMM_T, SGEMM_N}, {SGEMM_T, SGEMM_T}};

static uint32_t bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

/* The variant with test sizes in place of tile sizes of 1 and 2: BM and BN 4, BK 8. */
static sgemm_variant_info tile_of(sgemm_variant variant) {
  sgemm_variant_info v = *sgemm_variant_get(variant);
  v.BK = v.BK > 1 ? v.BK : 8;
  v.BM = v.BM > 2 ? v.BM : 4;
  v.BN = v.BN > 2 ? v.BN : 4;
  return v;
}

/* ---- Properties -------------------------------------------------------------------------------------------------- */

/* x * x - (1 + 2^-11) with x = 1 + 2^-12 is 2^-24. Only an fp32 FMA gives this result: a rounded product gives 0, and
   TF32 rounds x to 1. The distance of the two terms along k makes one lane compute both: 4 k in stage tma, where k is
   interleaved across 4 lanes, BK in stages gemv and direct, where lanes divide k. */
static void fused(sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const int64_t distance = v->bufs == 0 && v->slice_k > 1 ? v->BK : 4;
  problem q = problem_of(variant, SGEMM_N, SGEMM_N, 3, 5, distance + 1, EXACT);
  int64_t i, k;
  problem_make(&q);
  for (i = 0; i < 5; i++) {
    for (k = 1; k < distance; k++)
      *element(&q.A, 0, i % 3, k) = 0.0f;
    *element(&q.A, 0, i % 3, 0) = -(1.0f + 0x1p-11f);
    *element(&q.B, 0, 0, i) = 1.0f;
    *element(&q.A, 0, i % 3, distance) = *element(&q.B, 0, distance, i) = 1.0f + 0x1p-12f;
  }
  CHECK(problem_run(&q, NULL));
  CHECK(problem_check(&q));
  problem_free(&q);
}

static void shapes_exact(sgemm_variant variant) {
  problem q;
  int i;
  for (i = 0; sweep(&q, variant, EXACT, i); i++)
    CHECK(problem_solve(&q, schedule(i)));
  fused(variant);
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

/* alpha = 0 or k = 0: C = beta * C bit for bit, for any alpha, A and B. */
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
        CHECK(problem_fault(&q, "C(%d, %d) is %g, want %g bit for bit", (int)i, (int)j, (double)got, (double)want));
    }
  problem_free(&q);
}

/* NaN and Inf at corners and edges of A, B and C reach their row or column of C and no other result, as in a dot
   product. Inf * 0 and Inf - Inf are NaN. split 0: sgemm_run_variant() makes the plan. */
static void nan_rules_spreading(sgemm_variant variant, int op_a, int op_b, float alpha, float beta, int cluster_k,
                                int split) {
  const sgemm_variant_info v = tile_of(variant);
  problem q = problem_of(variant, op_a, op_b, v.BM + 2, v.BN + 3, v.BK + 5, EXACT);
  const int64_t m = q.p.m, n = q.p.n, k = q.p.k;
  q.p.alpha = alpha;
  q.p.beta = beta;
  q.nonfinite = 1;
  if (split > 0)
    problem_plan(&q, cluster_k, split);
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
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  int ops, b;
  for (ops = 0; ops < 4; ops++) {
    const int op_a = OPS[ops][0], op_b = OPS[ops][1];
    for (b = 0; b < 4; b++) {
      nan_rules_scaling(variant, op_a, op_b, 0.0f, betas[b], 5);
      nan_rules_scaling(variant, op_a, op_b, 1.0f, betas[b], 0);
    }
    nan_rules_scaling(variant, op_a, op_b, NAN, 0.5f, 0);
    nan_rules_scaling(variant, op_a, op_b, -INFINITY, 0.0f, 0);
    nan_rules_spreading(variant, op_a, op_b, 1.0f, 0.0f, 0, 0);
    nan_rules_spreading(variant, op_a, op_b, -0.5f, 1.0f, 0, 0);
    if (can_split(v) || v->cluster_split_k)
      nan_rules_spreading(variant, op_a, op_b, -0.5f, 1.0f, v->cluster_split_k ? 2 : 1, can_split(v) ? 3 : 1);
  }
  nan_rules_spreading(variant, SGEMM_N, SGEMM_N, NAN, 1.0f, 0, 0);
  nan_rules_spreading(variant, SGEMM_N, SGEMM_N, INFINITY, 0.0f, 0, 0);
  nan_rules_spreading(variant, SGEMM_N, SGEMM_N, 1.0f, NAN, 0, 0);
}

/* 3 raster groups, the last one with fewer tile rows, and 3 tile columns. */
static void raster_groups(sgemm_variant variant) {
  const sgemm_variant_info v = tile_of(variant);
  problem q = problem_of(variant, SGEMM_N, SGEMM_N, 33 * v.BM + 1, 2 * v.BN + 2, 3, EXACT);
  CHECK(problem_solve(&q, NULL));
}

/* Leading dimensions are multiples of 4, so the alignment of the pointers alone decides whether 128-bit accesses are
   legal. No access goes beyond the 16 bytes in which an operand ends. */
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
      q.guard_page = 1;
      q.p.alpha = 0.5f;
      q.p.beta = b % 2 ? 1.0f : 0.0f;
      CHECK(problem_solve(&q, NULL));
    }
}

/* The matrices of a batch in memory.
     PACKED       one behind the other
     GAP          one behind the other with a gap of PRIME floats, so that not all start on 16 bytes
     STRIDE_0     one matrix for the whole batch
     INTERLEAVED  row i of all matrices, then row i + 1 of all matrices */
typedef enum layout { PACKED, GAP, STRIDE_0, INTERLEAVED } layout;

static void set_layout(layout layout, int64_t batch, int64_t *ld, int64_t *stride) {
  if (layout == GAP)
    *stride += PRIME;
  if (layout == STRIDE_0)
    *stride = 0;
  if (layout == INTERLEAVED) {
    *stride = *ld;
    *ld *= batch;
  }
}

static void batches(sgemm_variant variant) {
  static const layout layouts[][3] = {{PACKED, PACKED, PACKED},     {GAP, GAP, GAP},
                                      {STRIDE_0, PACKED, PACKED},   {PACKED, STRIDE_0, GAP},
                                      {STRIDE_0, STRIDE_0, PACKED}, {INTERLEAVED, INTERLEAVED, INTERLEAVED},
                                      {PACKED, GAP, INTERLEAVED}};
  enum { LAYOUTS = sizeof layouts / sizeof *layouts };
  const sgemm_variant_info v = tile_of(variant);
  int c;
  for (c = 0; c < (v.uses_tma ? 2 : 1) * LAYOUTS; c++) { /* the second pass has operands that need packing */
    const int i = c % LAYOUTS, odd = c / LAYOUTS;
    problem q = problem_of(variant, OPS[i % 4][0], OPS[i % 4][1], v.BM + 4 + odd, v.BN + 8 + odd, v.BK + 12 + odd,
                           EXACT);
    q.p.batch = 3;
    q.p.beta = i % 2 ? 0.5f : 0.0f;
    set_layout(layouts[i][0], q.p.batch, &q.p.lda, &q.p.stride_a);
    set_layout(layouts[i][1], q.p.batch, &q.p.ldb, &q.p.stride_b);
    set_layout(layouts[i][2], q.p.batch, &q.p.ldc, &q.p.stride_c);
    CHECK(problem_solve(&q, schedule(i)));
  }
}

/* Shapes at the limits of cluster_k and split_k: k of one k-step, of less than one, of so few that blocks of a cluster
   and partitions have no k, and a number of k-steps that neither cluster_k nor split_k divides. m and n are smaller or
   larger than a tile. */
enum { PLAN_SHAPES = 6 };

static problem plan_problem(sgemm_variant variant, int shape, int cluster_k, int split, int ops) {
  const sgemm_variant_info v = tile_of(variant);
  const int64_t shapes[PLAN_SHAPES][3] = {{v.BM + 1, 3, 1},         {2, v.BN + 1, v.BK - 3},
                                          {v.BM - 1, v.BN, v.BK},   {5, v.BN - 1, 3 * v.BK + 5},
                                          {v.BM, 7, 17 * v.BK + 2}, {v.BM + 2, v.BN + 5, 8 * v.BK}};
  int64_t m = shapes[shape][0], n = shapes[shape][1];
  problem q;
  while (m == shapes[shape][2])
    m += 2;
  while (n == m || n == shapes[shape][2])
    n += 3;
  q = problem_of(variant, OPS[ops][0], OPS[ops][1], m, n, shapes[shape][2], EXACT);
  problem_plan(&q, cluster_k, split);
  return q;
}

/* Rows of a stored matrix, or columns of a column-major one. op(X) is rows x columns. */
static int64_t stored_rows(const sgemm_params *p, sgemm_op op, int64_t rows, int64_t columns) {
  return (op == SGEMM_N) == (p->order == SGEMM_ROW_MAJOR) ? rows : columns;
}

/* Runs a plan on a shape. The other parameters of the call change with c. */
static void plan_case(sgemm_variant variant, int cluster_k, int split, int shape, int c) {
  static const float pairs[4][2] = {{1.0f, 0.0f}, {-0.75f, 1.25f}, {0.0f, 0.5f}, {0.5f, 0.0f}};
  problem q = plan_problem(variant, shape, cluster_k, split, (c / PLAN_SHAPES + shape) % 4);
  q.p.alpha = pairs[c / 3 % 4][0];
  q.p.beta = pairs[c / 3 % 4][1];
  q.p.batch = c % 8 == 5 ? 3 : 1;
  q.p.order = c % 7 == 6 ? SGEMM_COL_MAJOR : SGEMM_ROW_MAJOR;
  if (q.p.order == SGEMM_COL_MAJOR) {
    const sgemm_params col = sgemm_params_init_col(q.p.op_a, q.p.op_b, q.p.m, q.p.n, q.p.k);
    q.p.lda = col.lda;
    q.p.ldb = col.ldb;
    q.p.ldc = col.ldc;
  }
  q.p.lda += c % 3 == 1 ? PRIME : 0;
  q.p.ldb += c % 4 == 1 ? PRIME : 0;
  q.p.ldc += c % 2 ? PRIME : 0;
  q.p.stride_a = q.p.lda * stored_rows(&q.p, q.p.op_a, q.p.m, q.p.k) + c % 2;
  q.p.stride_b = q.p.ldb * stored_rows(&q.p, q.p.op_b, q.p.k, q.p.n);
  q.p.stride_c = q.p.ldc * stored_rows(&q.p, SGEMM_N, q.p.m, q.p.n) + 1;
  q.A.offset = c / 2 % 3;
  q.B.offset = c / 3 % 2;
  q.C.offset = c / 5 % 4;
  q.seed = (uint64_t)c + 1;
  CHECK(problem_solve(&q, schedule(c)));
}

/* Stream-K over 6 tiles, or 12 in a batch of 2. The number of units is smaller or larger than the number of tiles, with
   and without a common divisor. With 100 units for 72 iterations some persistent blocks have no unit. With 100 units
   for 108 iterations several warps sum the partial tiles of a tile. With 25 units, rounding to whole iterations makes a
   unit begin with the next tile. */
static void stream_k_tiles(sgemm_variant variant) {
  static const int blocks[6] = {4, 9, 10, 100, 25, 100}, steps[6] = {5, 5, 5, 5, 5, 8};
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  int i;
  for (i = 0; i < 6; i++) {
    problem q = problem_of(variant, OPS[i % 4][0], OPS[i % 4][1], v->BM + 2, 2 * v->BN + 3, steps[i] * v->BK + 3,
                           EXACT);
    q.p.batch = 1 + i % 2;
    q.p.alpha = -0.5f;
    q.p.beta = i == 1 ? 0.0f : 2.0f;
    problem_plan(&q, 1, blocks[i]);
    CHECK(problem_solve(&q, schedule(i)));
  }
}

/* Five tiles on two persistent blocks. k is so long that tiles_per_block is small: a block ends after it, the next
   block takes its slot, and the last two share the last tile. */
static void tiles_per_block(sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  problem q = problem_of(variant, OPS[0][0], OPS[0][1], 3, 4 * v->BN + 3, 8192, EXACT);
  q.p.beta = 2.0f;
  problem_plan(&q, 1, 2);
  CHECK(problem_solve(&q, schedule(0)));
}

/* Partitions that all have k: the second kernel sums groups of 16 of them, and the rest. */
static void many_partitions(sgemm_variant variant) {
  static const int splits[] = {15, 16, 19, 35};
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  int i;
  for (i = 0; i < 4; i++) {
    problem q = problem_of(variant, OPS[i][0], OPS[i][1], 3, 5, splits[i] * v->BK, EXACT);
    q.p.beta = 2.0f;
    problem_plan(&q, 1, splits[i]);
    CHECK(problem_solve(&q, schedule(0)));
  }
}

/* The blocks of a cluster have different numbers of k-steps, so that they end in different buffers; one has none. */
static void uneven_clusters(sgemm_variant variant) {
  static const int steps[] = {3, 5, 7, 6, 7}, clusters[] = {2, 4, 4, 8, 3};
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  int i;
  for (i = 0; i < 5; i++) {
    problem q = problem_of(variant, OPS[i % 4][0], OPS[i % 4][1], v->BM + 3, 5, steps[i] * v->BK - 4, EXACT);
    q.p.beta = 2.0f;
    problem_plan(&q, clusters[i], 1);
    CHECK(problem_solve(&q, schedule(0)));
  }
}

/* Launches that add to C in their order: all with the same k, the last one with less, fewer than the plan has, one, and
   one of k = 0. alpha, beta and a batch apply once. Where the variant has clusters, two of the plans do. */
static void serial_plans(sgemm_variant variant) {
  static const struct {
    int serial_k, cluster_k, steps;
    float alpha, beta;
  } cases[] = {{2, 1, 4, 1.0f, 0.0f},  {3, 2, 11, -0.5f, 2.0f}, {8, 1, 9, 0.5f, 0.0f},
               {5, 3, 21, 2.0f, 1.0f}, {4, 1, 1, 1.0f, -2.0f},  {7, 1, 0, 1.0f, 0.5f}};
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  int i;
  for (i = quick_tier() ? (int)variant % 3 : 0; i < 6; i += quick_tier() ? 3 : 1) {
    problem q = problem_of(variant, OPS[i % 4][0], OPS[i % 4][1], v->BM + 3, 5, cases[i].steps * v->BK, EXACT);
    q.p.k -= cases[i].steps > 4 ? 3 : 0;
    q.p.alpha = cases[i].alpha;
    q.p.beta = cases[i].beta;
    q.p.batch = 1 + i % 2;
    q.p.ldc += i % 3;
    q.p.stride_c = q.p.m * q.p.ldc;
    if (v->uses_tma) { /* no operand is packed */
      q.p.lda = (q.p.lda + 3) / 4 * 4;
      q.p.ldb = (q.p.ldb + 3) / 4 * 4;
      q.p.stride_a = q.p.lda * (q.p.op_a == SGEMM_N ? q.p.m : q.p.k);
      q.p.stride_b = q.p.ldb * (q.p.op_b == SGEMM_N ? q.p.k : q.p.n);
    }
    problem_plan_serial(&q, v->cluster_split_k ? cases[i].cluster_k : 1, cases[i].serial_k);
    CHECK(problem_solve(&q, schedule(i)));
  }
}

/* cluster_k of 1 to 8 and 16, with several split_k where it is 1, 2, 4 or 8, each on each shape, or, with BK = 1024, on
   every second one: these two variants of gemv would take half of the time of all of its tests.
   Mutants run with every fifth case. The quick tier has every seventh, with BK from 256 on every eleventh, and with BK
   = 1024, where a case takes longest, every 17th. */
static void plans(sgemm_variant variant) {
  static const int splits[4] = {1, 2, 3, 7}, clusters[9] = {1, 2, 3, 4, 5, 6, 7, 8, 16};
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const int step = !quick_tier() ? 5 : v->BK >= 1024 ? 17 : v->BK >= 256 ? 11 : 7;
  int size, i, shape, c = 0;
  for (size = 0; size < (v->cluster_split_k ? 9 : 1); size++)
    for (i = 0; i < (can_split(v) && 8 % clusters[size] == 0 ? 4 : 1); i++)
      for (shape = 0; shape < PLAN_SHAPES; shape++, c++)
        if (reduced() ? c % step == 0 : v->BK < 1024 || (shape + i) % 2 == 0)
          plan_case(variant, clusters[size], splits[i], shape, c);
  if (v->serial)
    serial_plans(variant);
  if (v->uses_tma && can_split(v))
    stream_k_tiles(variant);
  if (v->uses_tma && can_split(v) && v->BM * v->BN == 1024)
    tiles_per_block(variant); /* only the variant with the shortest time on the CPU */
  if (v->uses_tma && v->cluster_split_k)
    uneven_clusters(variant);
  if (!v->uses_tma && can_split(v) && v->BM * v->BN == 1024)
    many_partitions(variant);
}

/* k is so long that sgemm_run_variant() uses each cluster_k. In stage tma k ends in the middle of a k-step, whose
   second half the kernel may skip, or one element later. Variants that copy single elements have code of their own for
   tiles without an edge, beside tiles behind whose rows and columns no memory is. */
static void long_k(sgemm_variant variant) {
  const sgemm_variant_info v = tile_of(variant);
  int cluster_k, i;
  for (cluster_k = 2; cluster_k <= (v.cluster_split_k ? 8 : 2); cluster_k *= 2) {
    problem q = problem_of(variant, SGEMM_N, SGEMM_T, 3, v.BN + 1, 4 * cluster_k * v.BK + 3, EXACT);
    CHECK(problem_solve(&q, schedule(cluster_k)));
  }
  for (i = 0; v.uses_tma && i < 4; i++) {
    problem q = problem_of(variant, OPS[i][0], OPS[i][1], 3, v.BN + 1, v.BK * 5 / 2 + i % 2, EXACT);
    CHECK(problem_solve(&q, schedule(i)));
  }
  for (i = 0; v.copies_elements && i < 4; i++) {
    problem q = problem_of(variant, OPS[i][0], OPS[i][1], v.BM + 2, v.BN + 5, 6 * v.BK + 3, EXACT);
    q.guard_page = 1;
    CHECK(problem_solve(&q, schedule(i)));
  }
}

/* Copies operands to a smaller problem: the rows of A and C from `row` on, and B, of matrix b. */
static void copy_rows(problem *to, const problem *from, int64_t b, int64_t row) {
  int64_t i, j, k;
  for (k = 0; k < to->p.k; k++) {
    for (i = 0; i < to->p.m; i++)
      *element(&to->A, 0, i, k) = *element(&from->A, b, row + i, k);
    for (j = 0; j < to->p.n; j++)
      *element(&to->B, 0, k, j) = *element(&from->B, b, k, j);
  }
  for (i = 0; i < to->p.m; i++)
    for (j = 0; j < to->p.n; j++)
      *element(&to->C, 0, i, j) = *element(&from->C, b, row + i, j);
}

/* m rows of a solved problem must have the same bits if they are computed alone. */
static void check_alone(const problem *solved, int64_t b, int64_t row, int64_t m) {
  const sgemm_params *p = &solved->p;
  problem q = problem_of(solved->variant, p->op_a, p->op_b, m, p->n, p->k, solved->kind);
  int64_t i, j;
  q.p.beta = p->beta;
  q.plan = solved->plan;
  problem_make(&q);
  copy_rows(&q, solved, b, row);
  CHECK(problem_run(&q, schedule(0)));
  for (i = 0; i < m; i++)
    for (j = 0; j < p->n; j++)
      if (bits(result(&q, 0, i, j)) != bits(result(solved, b, row + i, j)))
        CHECK(problem_fault(&q, "C(%d, %d) is %.9g, but %.9g as row %d of %d in matrix %d of %d", (int)i, (int)j,
                            (double)result(&q, 0, i, j), (double)result(solved, b, row + i, j), (int)(row + i),
                            (int)p->m, (int)b, (int)p->batch));
  problem_free(&q);
}

/* Results have the same bits on every schedule. A row of C, or a matrix of a batch, has the same bits if it is computed
   alone. Stream-K is the exception: its units depend on the number of tiles. In stage splitk each op pair has another
   cluster_k, and some blocks of a cluster have no k. If the variant can split k, op pair NT has split_k or stream_k 3.
   The quick tier has one of the four op pairs, by turns from variant to variant, and a mutant has two. */
static void repeatability(sgemm_variant variant) {
  const sgemm_variant_info v = tile_of(variant);
  const int64_t rows[] = {0, v.BM - 1, v.BM, 2 * v.BM};
  int ops, s, i;
  const int step = quick_tier() ? 4 : reduced() ? 2 : 1;
  for (ops = (int)variant % step; ops < 4; ops += step) {
    problem q = problem_of(variant, OPS[ops][0], OPS[ops][1], 2 * v.BM + 1, v.BN + 3, 4 * v.BK + 5, ROUNDING);
    problem batch = problem_of(variant, OPS[ops][0], OPS[ops][1], 2, v.BN + 3, 4 * v.BK + 5, ROUNDING);
    const int stream_k = v.uses_tma && can_split(&v) && ops == 1;
    float *first;
    if (can_split(&v) || v.cluster_split_k) {
      problem_plan(&q, v.cluster_split_k ? 1 << ops : 1, can_split(&v) && ops == 1 ? 3 : 1);
      batch.plan = q.plan;
    }
    q.p.beta = batch.p.beta = 1.3f;
    batch.p.batch = 3;
    problem_make(&q);
    problem_make(&batch);
    first = (float *)malloc((size_t)q.C.count * sizeof(float));
    cr_assert(first != NULL);
    for (s = 0; s <= schedules(); s++) { /* the first schedule runs again at the end */
      CHECK(problem_run(&q, schedule(s % schedules())));
      CHECK(problem_check(&q));
      if (s == 0)
        memcpy(first, q.C.after, (size_t)q.C.count * sizeof(float));
      if (memcmp(first, q.C.after, (size_t)q.C.count * sizeof(float)) != 0)
        CHECK(problem_fault(&q, "schedule %d gives other bits than the first", s));
    }
    for (i = 0; i < 4 && !stream_k; i++)
      check_alone(&q, 0, rows[i], 1);
    CHECK(problem_run(&batch, schedule(0)));
    CHECK(problem_check(&batch));
    for (i = 0; i < 3 && !stream_k; i++)
      check_alone(&batch, i, 0, 2);
    free(first);
    problem_free(&batch);
    problem_free(&q);
  }
}

/* An offset in elements beyond 2^31. As an int it is negative. */
#define LARGE_OFFSET (INT64_C(0x80000000) + 5)
enum { SMALL = 4096 }; /* floats of a small operand, and of the large operand behind LARGE_OFFSET */

/* What lies LARGE_OFFSET elements behind the first element of the large operand. */
typedef enum target { NEXT_ROW, NEXT_TILE, NEXT_MATRIX } target;

static float offsets_value(int x, int64_t b, int64_t r, int64_t c) {
  return (float)((5 * b + 3 * r + 2 * c + x) % 7 + 1);
}

/* Writes the rows of an operand; nan 1: writes NaN. */
static void offsets_fill(int x, float *device, int64_t batch, int64_t stride, int64_t rows, int64_t width, int64_t ld,
                         int nan) {
  float row[SMALL];
  int64_t b, r, c;
  for (b = 0; b < batch; b++)
    for (r = 0; r < rows; r++) {
      for (c = 0; c < width; c++)
        row[c] = nan ? NAN : offsets_value(x, b, r, c);
      cr_assert(machine_upload(device + b * stride + r * ld, row, (size_t)width * sizeof *row) == 0);
    }
}

static void offsets_case(sgemm_variant variant, const int *ops, int large_operand, target target, float *large,
                         float *const small[3]) {
  enum { SIDE = 3 };
  const sgemm_variant_info v = tile_of(variant);
  const int contiguous[3] = {ops[0] == SGEMM_N, ops[1] == SGEMM_N, 1};
  /* The tile size along the stored rows' index, and m, n, k. */
  const int tile[3] = {contiguous[0] ? v.BM : v.BK, contiguous[1] ? v.BK : v.BN, v.BM};
  int64_t size[3] = {SIDE, SIDE, SIDE};
  const int row_size[3] = {contiguous[0] ? 0 : 2, contiguous[1] ? 2 : 1, 0},
            col_size[3] = {contiguous[0] ? 2 : 0, contiguous[1] ? 1 : 2, 1};
  sgemm_params p;
  float *device[3];
  int64_t *ld[3] = {&p.lda, &p.ldb, &p.ldc}, *stride[3] = {&p.stride_a, &p.stride_b, &p.stride_c};
  int64_t b, i, j, k;
  int x;
  if (target != NEXT_MATRIX)
    size[row_size[large_operand]] = target == NEXT_TILE ? tile[large_operand] + 1 : 2;
  p = sgemm_params_init((sgemm_op)ops[0], (sgemm_op)ops[1], size[0], size[1], size[2]);
  if (target == NEXT_MATRIX) {
    p.batch = 2;
    *stride[large_operand] = LARGE_OFFSET;
  } else {
    *ld[large_operand] = LARGE_OFFSET / (size[row_size[large_operand]] - 1) + 1;
  }
  for (x = 0; x < 3; x++) {
    device[x] = x == large_operand ? large : small[x];
    offsets_fill(x, device[x], p.batch, *stride[x], size[row_size[x]], size[col_size[x]], *ld[x], x == 2);
  }
  p.A = device[0];
  p.B = device[1];
  p.C = device[2];
  if (v.uses_tma) {
    const sgemm_plan plan = sgemm_variant_plan(variant, &p);
    p.workspace_bytes = sgemm_plan_workspace(&plan, &p);
    p.workspace = machine_alloc((size_t)p.workspace_bytes);
    cr_assert(p.workspace != NULL);
  }
  cr_assert(sgemm_run_variant(variant, &p, NULL) == SGEMM_SUCCESS && machine_wait() == 0);
  machine_free(p.workspace);
  for (b = 0; b < p.batch; b++)
    for (i = 0; i < p.m; i++) {
      float row[SMALL];
      cr_assert(machine_download(row, p.C + b * p.stride_c + i * p.ldc, (size_t)p.n * sizeof *row) == 0);
      for (j = 0; j < p.n; j++) {
        float want = 0.0f;
        for (k = 0; k < p.k; k++)
          want += offsets_value(0, b, contiguous[0] ? i : k, contiguous[0] ? k : i) *
                  offsets_value(1, b, contiguous[1] ? k : j, contiguous[1] ? j : k);
        cr_assert(row[j] == want,
                  "%s, ops %d %d, m %d, n %d, k %d, %s of operand %d beyond 2^31: C(%d, %d) of matrix %d is "
                  "%g, want %g",
                  v.name, ops[0], ops[1], (int)p.m, (int)p.n, (int)p.k, target == NEXT_MATRIX ? "matrices" : "rows",
                  large_operand, (int)i, (int)j, (int)b, (double)row[j], (double)want);
      }
    }
  offsets_fill(large_operand, large, p.batch, *stride[large_operand], size[row_size[large_operand]],
               size[col_size[large_operand]], *ld[large_operand], 1);
}

/* The large operand has 8.6 GB. On a CPU the operating system allocates only the pages that are used. */
static void offsets(sgemm_variant variant) {
  float *large = (float *)machine_alloc((size_t)(LARGE_OFFSET + SMALL) * sizeof(float)), *small[3];
  int x, ops, target;
  need_memory(large, "8.6 GB of memory");
  for (x = 0; x < 3; x++) {
    small[x] = (float *)machine_alloc(SMALL * sizeof(float));
    cr_assert(small[x] != NULL);
  }
  for (ops = 0; ops < 4; ops++)
    for (x = 0; x < 3; x++)
      for (target = NEXT_ROW; target <= NEXT_MATRIX; target++)
        offsets_case(variant, OPS[ops], x, (enum target)target, large, small);
  for (x = 0; x < 3; x++)
    machine_free(small[x]);
  machine_free(large);
}

/* ---- Expansion --------------------------------------------------------------------------------------------------- */

#define VARIANT_NAME(stage, BM, BN, BK, TM, TN) stage##_##BM##x##BN##x##BK##_##TM##x##TN
#define PROPERTY(property, variant)                                                                                    \
  Test(property, variant) {                                                                                            \
    need_backend();                                                                                                    \
    property(SGEMM_##variant);                                                                                         \
  }
#define PROPERTY_OF_VALUES(property, variant)                                                                          \
  Test(property, variant) {                                                                                            \
    need_backend();                                                                                                    \
    need_no_sanitizer();                                                                                               \
    property(SGEMM_##variant);                                                                                         \
  }
#define PROPERTIES(variant)                                                                                            \
  PROPERTY(shapes_exact, variant)                                                                                      \
  PROPERTY(shapes_rounding, variant)                                                                                   \
  PROPERTY_OF_VALUES(nan_rules, variant)                                                                               \
  PROPERTY(raster_groups, variant)                                                                                     \
  PROPERTY(alignment, variant)                                                                                         \
  PROPERTY(batches, variant)                                                                                           \
  PROPERTY(plans, variant)                                                                                             \
  PROPERTY(long_k, variant)                                                                                            \
  PROPERTY(offsets, variant)                                                                                           \
  PROPERTY_OF_VALUES(repeatability, variant)
#define VARIANT(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, blocks, production, reason)                       \
  VARIANT_IF(stage, production)(PROPERTIES(VARIANT_NAME(stage, BM, BN, BK, TM, TN)))

SGEMM_VARIANTS(VARIANT)

/* VARIANT_IF must know every stage: the variants of an unknown stage are compiled and not tested. */
Test(variants, every_compiled_variant_is_tested, ANYWHERE) {
#define TESTED(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, blocks, production, reason)                        \
  VARIANT_IF(stage, production)(tested[SGEMM_##stage##_##BM##x##BN##x##BK##_##TM##x##TN] = 1;)
  int tested[SGEMM_VARIANT_COUNT] = {0}, i, count = 0;
  SGEMM_VARIANTS(TESTED)
  for (i = 0; i < SGEMM_VARIANT_COUNT; i++) {
    cr_assert(tested[i] == sgemm_compiled((sgemm_variant)i), "%s: compiled %d, tested %d",
              sgemm_variant_get((sgemm_variant)i)->name, sgemm_compiled((sgemm_variant)i), tested[i]);
    count += tested[i];
  }
  cr_assert(count > 0, "no variant is compiled");
}
