/* What sgemm_run() and its kin promise for any row: the first fault in the documented order, C untouched on error,
   quick returns, and BLAS's argument list. */
#include "tests/testing.h"

#include <string.h>

/* A compiled row, for calls that name one. */
static sgemm_variant any_row(void) {
  int v = 0;
  while (v < SGEMM_VARIANT_COUNT && !sgemm_compiled((sgemm_variant)v))
    v++;
  cr_assert(v < SGEMM_VARIANT_COUNT, "no row is compiled");
  return (sgemm_variant)v;
}

/* A result that no call may touch. */
enum { UNTOUCHED = 256 };

static float *untouched_make(void) {
  float host[UNTOUCHED], *machine = (float *)machine_alloc(sizeof host);
  int i;
  for (i = 0; i < UNTOUCHED; i++)
    host[i] = (float)i + 0.5f;
  cr_assert(machine != NULL && machine_upload(machine, host, sizeof host) == 0, "no memory");
  return machine;
}

static void untouched_check(float *machine, const char *what) {
  float host[UNTOUCHED];
  int i;
  cr_assert(machine_wait() == 0 && machine_download(host, machine, sizeof host) == 0);
  for (i = 0; i < UNTOUCHED; i++)
    cr_assert(host[i] == (float)i + 0.5f, "%s: C[%d] became %g", what, i, (double)host[i]);
}

/* Every entry that takes params, in turn, agrees on the status. */
static void expect_status(const sgemm_params *p, sgemm_status want, const char *what) {
  const struct {
    const char *entry;
    sgemm_status got;
  } calls[] = {{"sgemm_check", sgemm_check(p)},
               {"sgemm_run", sgemm_run(p, NULL)},
               {"sgemm_run_variant", sgemm_run_variant(any_row(), p, NULL)},
               {"sgemm_run_stage", sgemm_run_stage(sgemm_variant_get(any_row())->stage, p, NULL)}};
  unsigned i;
  for (i = 0; i < sizeof calls / sizeof *calls; i++)
    cr_assert(calls[i].got == want, "%s: %s gives %d (%s), want %d (%s)", what, calls[i].entry, calls[i].got,
              sgemm_status_string(calls[i].got), want, sgemm_status_string(want));
}

/* ---- Statuses ---------------------------------------------------------------------------------------------------- */

Test(status, strings_are_distinct) {
  int i, j;
  for (i = 0; i < SGEMM_STATUS_COUNT; i++) {
    const char *sentence = sgemm_status_string((sgemm_status)i);
    cr_assert(sentence != NULL && sentence[0] != '\0', "status %d", i);
    for (j = -1; j < i; j++)
      cr_assert(strcmp(sentence, sgemm_status_string((sgemm_status)j)) != 0, "%d and %d: %s", i, j, sentence);
    cr_assert(strcmp(sentence, sgemm_status_string((sgemm_status)(SGEMM_ERROR_CUDA + 1))) != 0, "status %d", i);
  }
  cr_assert_str_eq(sgemm_status_string(SGEMM_STATUS_COUNT), sgemm_status_string((sgemm_status)-1));
  cr_assert_str_eq(sgemm_status_string(SGEMM_ERROR_CUDA), sgemm_status_string((sgemm_status)-1));
}

Test(status, cuda_errors_come_out_again) {
  int i;
  cr_assert(SGEMM_SUCCESS == 0);
  for (i = -1; i <= SGEMM_STATUS_COUNT; i++)
    cr_assert(sgemm_cuda_error((sgemm_status)i) == 0, "status %d", i);
  for (i = 0; i < 1000; i++)
    cr_assert(sgemm_cuda_error((sgemm_status)(SGEMM_ERROR_CUDA + i)) == i);
}

/* ---- Bad arguments ----------------------------------------------------------------------------------------------- */

enum { ROW = SGEMM_ROW_MAJOR, COL = SGEMM_COL_MAJOR, N = SGEMM_N, T = SGEMM_T, C = SGEMM_C };
#define BIG INT64_C(0x1000000000000000) /* 2^60 */

typedef struct call {
  const char *what;
  sgemm_status status;
  int order, op_a, op_b;
  int64_t m, n, k, lda, ldb, ldc, batch, stride_a, stride_b, stride_c;
} call;

// clang-format off
#define CALL(what, status, ...) {what, SGEMM_ERROR_##status, __VA_ARGS__}
static const call calls[] = {
  /* what, status; order, ops of A and B; m, n, k; lda, ldb, ldc; batch and the strides of A, B and C */
  CALL("order 0",                      ORDER,       0,   N,   N,         5,  6,  7,   7,   6,   6,  1,  35,  42,  30),
  CALL("order 103",                    ORDER,     103,   N,   N,         5,  6,  7,   7,   6,   6,  1,  35,  42,  30),
  CALL("op_a 0",                       OP_A,      ROW,   0,   N,         5,  6,  7,   7,   6,   6,  1,  35,  42,  30),
  CALL("op_a 114",                     OP_A,      ROW, 114,   N,         5,  6,  7,   7,   6,   6,  1,  35,  42,  30),
  CALL("op_b 'T'",                     OP_B,      ROW,   N, 'T',         5,  6,  7,   7,   6,   6,  1,  35,  42,  30),
  CALL("op_b 110",                     OP_B,      COL,   N, 110,         5,  6,  7,   7,   7,   6,  1,  35,  42,  30),
  CALL("m -1",                         M,         ROW,   N,   N,        -1,  6,  7,   7,   6,   6,  1,  35,  42,  30),
  CALL("m the most negative",          M,         COL,   N,   N, INT64_MIN,  6,  7,   7,   7,   6,  1,  35,  42,  30),
  CALL("n -1",                         N,         ROW,   N,   N,         5, -1,  7,   7,   6,   6,  1,  35,  42,  30),
  CALL("n -1, m 0",                    N,         ROW,   N,   N,         0, -1,  7,   7,   6,   6,  1,  35,  42,  30),
  CALL("k -1",                         K,         ROW,   N,   N,         5,  6, -1,   7,   6,   6,  1,  35,  42,  30),
  CALL("k -1, n 0",                    K,         ROW,   N,   N,         5,  0, -1,   7,   6,   6,  1,  35,  42,  30),
  CALL("lda < k",                      LDA,       ROW,   N,   N,         5,  6,  7,   6,   6,   6,  1,  35,  42,  30),
  CALL("lda < m, A transposed",        LDA,       ROW,   T,   N,         5,  6,  7,   4,   6,   6,  1,  35,  42,  30),
  CALL("lda < m, A conjugated",        LDA,       ROW,   C,   N,         5,  6,  7,   4,   6,   6,  1,  35,  42,  30),
  CALL("lda < m, column-major",        LDA,       COL,   N,   N,         5,  6,  7,   4,   7,   5,  1,  35,  42,  30),
  CALL("lda < k, column-major, T",     LDA,       COL,   T,   N,         5,  6,  7,   6,   7,   5,  1,  35,  42,  30),
  CALL("lda 0, k 0",                   LDA,       ROW,   N,   N,         5,  6,  0,   0,   6,   6,  1,   0,   0,  30),
  CALL("lda negative, m 0",            LDA,       ROW,   T,   N,         0,  6,  7,  -1,   6,   6,  1,   0,  42,   0),
  CALL("ldb < n",                      LDB,       ROW,   N,   N,         5,  6,  7,   7,   5,   6,  1,  35,  42,  30),
  CALL("ldb < k, B transposed",        LDB,       ROW,   N,   T,         5,  6,  7,   7,   6,   6,  1,  35,  42,  30),
  CALL("ldb < k, B conjugated",        LDB,       ROW,   N,   C,         5,  6,  7,   7,   6,   6,  1,  35,  42,  30),
  CALL("ldb < k, column-major",        LDB,       COL,   N,   N,         5,  6,  7,   5,   6,   5,  1,  35,  42,  30),
  CALL("ldb < n, column-major, T",     LDB,       COL,   N,   T,         5,  6,  7,   5,   5,   5,  1,  35,  42,  30),
  CALL("ldb 0, n 0",                   LDB,       ROW,   N,   N,         5,  0,  7,   7,   0,   6,  1,  35,   0,   0),
  CALL("ldc < n",                      LDC,       ROW,   N,   N,         5,  6,  7,   7,   6,   5,  1,  35,  42,  30),
  CALL("ldc < m, column-major",        LDC,       COL,   N,   N,         5,  6,  7,   5,   7,   4,  1,  35,  42,  30),
  CALL("ldc 0, n 0",                   LDC,       ROW,   N,   N,         5,  0,  7,   7,   6,   0,  1,  35,   0,   0),
  CALL("batch -1",                     BATCH,     ROW,   N,   N,         5,  6,  7,   7,   6,   6, -1,  35,  42,  30),
  CALL("stride_a -1",                  STRIDE_A,  ROW,   N,   N,         5,  6,  7,   7,   6,   6,  2,  -1,  42,  30),
  CALL("stride_b -1",                  STRIDE_B,  ROW,   N,   N,         5,  6,  7,   7,   6,   6,  2,  35,  -1,  30),
  CALL("stride_c 0",                   STRIDE_C,  ROW,   N,   N,         5,  6,  7,   7,   6,   6,  2,  35,  42,   0),
  CALL("stride_c an element short",    STRIDE_C,  ROW,   N,   N,         5,  6,  7,   7,   6,   8,  2,  35,  42,  37),
  CALL("stride_c short, column-major", STRIDE_C,  COL,   N,   N,         5,  6,  7,   5,   7,   8,  2,  35,  42,  44),
  CALL("stride_c negative",            STRIDE_C,  ROW,   N,   N,         5,  6,  7,   7,   6,   6,  2,  35,  42, -30),
  CALL("interleaved rows overlap",     STRIDE_C,  ROW,   N,   N,         5,  6,  7,   7,   6,  12,  2,  35,  42,   5),
  CALL("interleaved rows wrap",        STRIDE_C,  ROW,   N,   N,         5,  6,  7,   7,   6,  17,  3,  35,  42,   6),
  CALL("A beyond 2^60",                TOO_LARGE, ROW,   N,   N,         5,  6,  7, BIG,   6,   6,  1,  35,  42,  30),
  CALL("B beyond 2^60",                TOO_LARGE, ROW,   N,   N,         5,  6,  7,   7, BIG,   6,  1,  35,  42,  30),
  CALL("C beyond 2^60",                TOO_LARGE, ROW,   N,   N,         5,  6,  7,   7,   6, BIG,  1,  35,  42,  30),
  CALL("batch of A beyond 2^60",       TOO_LARGE, ROW,   N,   N,         5,  6,  7,   7,   6,   6,  2, BIG,  42,  30),
  CALL("batch of B beyond 2^60",       TOO_LARGE, ROW,   N,   N,         5,  6,  7,   7,   6,   6,  2,  35, BIG,  30),
  CALL("batch of C beyond 2^60",       TOO_LARGE, ROW,   N,   N,         5,  6,  7,   7,   6,   6,  2,  35,  42, BIG),
  CALL("sizes whose product wraps",    TOO_LARGE, ROW,   N,   N,       BIG,  6, 16,  16,   6,   6,  1,   0,  96,   0),
  CALL("nothing but A",                A,         ROW,   N,   N,         5,  6,  7,   7,   6,   6,  1,  35,  42,  30),
  CALL("nothing but A, all C and T",   A,         COL,   C,   T,         5,  6,  7,   7,   6,   5,  1,  35,  42,  30),
  CALL("strides of a single matrix",   A,         ROW,   N,   N,         5,  6,  7,   7,   6,   6,  1,  -1,  -1,  -1),
  CALL("shared A and B",               A,         ROW,   N,   N,         5,  6,  7,   7,   6,   6,  2,   0,   0,  30),
  CALL("the least stride_c",           A,         ROW,   N,   N,         5,  6,  7,   7,   6,   8,  2,  35,  42,  38),
  CALL("interleaved rows that fit",    A,         ROW,   N,   N,         5,  6,  7,   7,   6,  18,  3,  35,  42,   6),
};
// clang-format on

static sgemm_params params_of(const call *c) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, c->m, c->n, c->k);
  p.order = c->order;
  p.op_a = c->op_a;
  p.op_b = c->op_b;
  p.lda = c->lda;
  p.ldb = c->ldb;
  p.ldc = c->ldc;
  p.batch = c->batch;
  p.stride_a = c->stride_a;
  p.stride_b = c->stride_b;
  p.stride_c = c->stride_c;
  return p;
}

/* With all pointers NULL, so that the check must come before any of them counts; then with a C that must stay as is. */
Test(bad_arguments, each_has_its_status) {
  float *untouched;
  unsigned i;
  need_machine();
  untouched = untouched_make();
  for (i = 0; i < sizeof calls / sizeof *calls; i++) {
    sgemm_params p = params_of(&calls[i]);
    expect_status(&p, calls[i].status, calls[i].what);
    p.C = untouched;
    expect_status(&p, calls[i].status, calls[i].what);
    untouched_check(untouched, calls[i].what);
  }
  machine_free(untouched);
}

Test(bad_arguments, pointers) {
  const sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 5, 6, 7);
  sgemm_params bad = p;
  float *untouched;
  int byte;
  need_machine();
  untouched = untouched_make();
  expect_status(NULL, SGEMM_ERROR_PARAMS, "no params");
  for (byte = 0; byte < 4; byte++) { /* 0: NULL; otherwise so many bytes beyond a float */
    const float *crooked = byte ? (const float *)((const char *)untouched + byte) : NULL;
    bad = p;
    bad.A = crooked;
    expect_status(&bad, SGEMM_ERROR_A, "A");
    bad.C = untouched;
    expect_status(&bad, SGEMM_ERROR_A, "A, with a good C");
    bad.A = untouched;
    bad.B = crooked;
    expect_status(&bad, SGEMM_ERROR_B, "B, with a good C");
    bad.C = NULL;
    expect_status(&bad, SGEMM_ERROR_B, "B");
    bad.B = untouched;
    bad.C = (float *)(uintptr_t)crooked;
    expect_status(&bad, SGEMM_ERROR_C, "C");
    bad.beta = 0.5f;
    bad.alpha = 0.0f;
    bad.A = bad.B = NULL;
    expect_status(&bad, SGEMM_ERROR_C, "C, alpha 0");
  }
  untouched_check(untouched, "pointers");
  machine_free(untouched);
}

/* What only the launch can tell: C of more tiles or matrices than a grid holds. */
Test(bad_arguments, grids_beyond_the_hardware) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, INT64_C(1) << 40, 1, 1);
  float *untouched;
  need_machine();
  untouched = untouched_make();
  p.A = p.B = p.C = untouched;
  cr_assert(sgemm_run(&p, NULL) == SGEMM_ERROR_GRID);
  cr_assert(sgemm_run_variant(any_row(), &p, NULL) == SGEMM_ERROR_GRID);
  p = sgemm_params_init(SGEMM_N, SGEMM_N, 1, 1, 1);
  p.A = p.B = p.C = untouched;
  p.batch = INT64_C(65535) * 65535 + 1;
  cr_assert(sgemm_run(&p, NULL) == SGEMM_ERROR_GRID);
  untouched_check(untouched, "too large");
  machine_free(untouched);
}

/* Something that earns each status in a batch of 2, in the order of the checks. */
#define FAULTS(X)                                                                                                      \
  X(SGEMM_ERROR_ORDER, order = 100)                                                                                    \
  X(SGEMM_ERROR_OP_A, op_a = 0)                                                                                        \
  X(SGEMM_ERROR_OP_B, op_b = 0)                                                                                        \
  X(SGEMM_ERROR_M, m = -1)                                                                                             \
  X(SGEMM_ERROR_N, n = -1)                                                                                             \
  X(SGEMM_ERROR_K, k = -1)                                                                                             \
  X(SGEMM_ERROR_LDA, lda = 0)                                                                                          \
  X(SGEMM_ERROR_LDB, ldb = 0)                                                                                          \
  X(SGEMM_ERROR_LDC, ldc = 0)                                                                                          \
  X(SGEMM_ERROR_BATCH, batch = -1)                                                                                     \
  X(SGEMM_ERROR_STRIDE_A, stride_a = -1)                                                                               \
  X(SGEMM_ERROR_STRIDE_B, stride_b = -1)                                                                               \
  X(SGEMM_ERROR_STRIDE_C, stride_c = 0)                                                                                \
  X(SGEMM_ERROR_TOO_LARGE, lda = BIG)

static void damage(sgemm_params *p, sgemm_status status) {
#define DAMAGE(symbol, fault)                                                                                          \
  if (status == symbol)                                                                                                \
    p->fault;
  FAULTS(DAMAGE)
}

/* Of two faults the one that comes first in SGEMM_STATUS_LIST is told; pointers, all NULL here, come last of all. */
Test(bad_arguments, the_first_fault_counts) {
#define SYMBOL(symbol, fault) symbol,
  static const sgemm_status order[] = {FAULTS(SYMBOL)};
  enum { COUNT = sizeof order / sizeof *order };
  int first, second;
  need_machine();
  for (first = 0; first < COUNT; first++)
    for (second = first; second < COUNT; second++) {
      sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 5, 6, 7);
      char what[80];
      p.batch = 2;
      damage(&p, order[second]);
      damage(&p, order[first]);
      snprintf(what, sizeof what, "faults %d and %d", order[first], order[second]);
      expect_status(&p, order[first], what);
    }
}

Test(bad_arguments, variants_and_stages) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 5, 6, 7);
  float *untouched;
  int v;
  need_machine();
  untouched = untouched_make();
  for (v = -1; v <= SGEMM_VARIANT_COUNT; v += SGEMM_VARIANT_COUNT + 1) {
    cr_assert(sgemm_variant_get((sgemm_variant)v) == NULL && !sgemm_compiled((sgemm_variant)v));
    cr_assert(sgemm_run_variant((sgemm_variant)v, NULL, NULL) == SGEMM_ERROR_PARAMS);
    p.order = 100;
    cr_assert(sgemm_run_variant((sgemm_variant)v, &p, NULL) == SGEMM_ERROR_VARIANT, "before the order");
    p.order = SGEMM_ROW_MAJOR;
    cr_assert(sgemm_run_variant((sgemm_variant)v, &p, NULL) == SGEMM_ERROR_VARIANT, "before the pointers");
  }
  p.A = p.B = p.C = untouched;
  p.workspace = (void *)((uintptr_t)untouched / 16 * 16); /* enough, as far as the sizes go, for rows that pack */
  p.workspace_bytes = 1 << 20;
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
    if (!sgemm_compiled((sgemm_variant)v))
      cr_assert(sgemm_run_variant((sgemm_variant)v, &p, NULL) == SGEMM_ERROR_NOT_COMPILED, "%s",
                sgemm_variant_get((sgemm_variant)v)->name);
  cr_assert(sgemm_run_stage((sgemm_stage)(SGEMM_STAGE_COUNT + 1), &p, NULL) == SGEMM_ERROR_NOT_COMPILED);
  untouched_check(untouched, "variants");
  machine_free(untouched);
}

/* ---- Bad plans --------------------------------------------------------------------------------------------------- */

/* A plan that must be refused with this status, for a call that is right but for `p`; C stays as it is. */
static void expect_refusal(problem *q, sgemm_plan plan, const sgemm_params *p, sgemm_status want, const char *what) {
  const sgemm_variant_info *v = sgemm_variant_get(plan.variant);
  const sgemm_status got = sgemm_run_plan(&plan, p, NULL);
  cr_assert(got == want, "%s, %d ranks, %d planes, %s: %d (%s), want %d", v ? v->name : "no row", plan.ranks,
            plan.planes, what, got, sgemm_status_string(got), want);
  CHECK(problem_download(q));
  cr_assert(memcmp(q->C.before, q->C.after, (size_t)q->C.count * sizeof(float)) == 0, "%s: C was touched", what);
}

static void expect_bad_plan(problem *q, int variant, int ranks, int planes) {
  const sgemm_plan plan = {(sgemm_variant)variant, ranks, planes};
  sgemm_params p = q->p;
  expect_refusal(q, plan, &p, SGEMM_ERROR_PLAN, "all else right");
  p.order = 0;
  expect_refusal(q, plan, &p, SGEMM_ERROR_PLAN, "a bad order after it");
}

/* Ranks and planes that no row, or not this one, can do. */
Test(bad_plans, ranks_and_planes) {
  static const int nobodys[][2] = {{3, 1}, {16, 1}, {0, 1}, {-2, 1}, {5, 2}, {1, 0}, {1, -1}, {8, 0}, {INT32_MAX, 1}};
  int v, i;
  need_machine();
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    const sgemm_variant_info *r = sgemm_variant_get((sgemm_variant)v);
    problem q = problem_of((sgemm_variant)v, SGEMM_N, SGEMM_N, 5, 6, 70, EXACT);
    q.p.workspace_bytes = 8 * 5 * 32;
    problem_make(&q);
    CHECK(problem_upload(&q));
    for (i = 0; i < (int)(sizeof nobodys / sizeof *nobodys); i++)
      expect_bad_plan(&q, v, nobodys[i][0], nobodys[i][1]);
    for (i = 2; i <= 8 && !r->split; i *= 2)
      expect_bad_plan(&q, v, i, 1);
    if (!sgemm__cuts(r))
      expect_bad_plan(&q, v, 1, 2);
    problem_free(&q);
  }
}

/* No row, before any other fault but that there are no params. */
Test(bad_plans, variants) {
  problem q = problem_of(SGEMM_VARIANT_COUNT, SGEMM_N, SGEMM_N, 5, 6, 7, EXACT);
  int v;
  need_machine();
  problem_make(&q);
  CHECK(problem_upload(&q));
  for (v = -1; v <= SGEMM_VARIANT_COUNT; v += SGEMM_VARIANT_COUNT + 1) {
    const sgemm_plan plan = {(sgemm_variant)v, 3, 0};
    expect_refusal(&q, plan, NULL, SGEMM_ERROR_PARAMS, "no params");
    expect_refusal(&q, plan, &q.p, SGEMM_ERROR_VARIANT, "before its ranks and planes");
  }
  problem_free(&q);
}

/* A workspace that is too small by 16 bytes or altogether, crooked, or not there. */
Test(bad_plans, workspaces) {
  int v;
  need_machine();
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    const sgemm_plan plan = {(sgemm_variant)v, 1, 3};
    problem q = problem_of((sgemm_variant)v, SGEMM_N, SGEMM_T, 5, 6, 70, EXACT);
    sgemm_params p;
    if (!sgemm__cuts(sgemm_variant_get((sgemm_variant)v)))
      continue;
    q.p.batch = 2;
    q.p.workspace_bytes = sgemm_plan_workspace(&plan, &q.p) + 16;
    problem_make(&q);
    CHECK(problem_upload(&q));
    p = q.p;
    p.workspace_bytes -= 32;
    expect_refusal(&q, plan, &p, SGEMM_ERROR_WORKSPACE, "16 bytes short");
    p.workspace_bytes = 0;
    expect_refusal(&q, plan, &p, SGEMM_ERROR_WORKSPACE, "no bytes");
    p.workspace_bytes = -1;
    expect_refusal(&q, plan, &p, SGEMM_ERROR_WORKSPACE, "less than none");
    p = q.p;
    p.workspace = (char *)p.workspace + 4;
    expect_refusal(&q, plan, &p, SGEMM_ERROR_WORKSPACE, "4 bytes beyond a multiple of 16");
    p.workspace = NULL;
    expect_refusal(&q, plan, &p, SGEMM_ERROR_WORKSPACE, "NULL");
    expect_status(&p, SGEMM_ERROR_WORKSPACE, "NULL, and bytes of it");
    p.C = NULL;
    expect_refusal(&q, plan, &p, SGEMM_ERROR_C, "NULL, after C");
    p.m = 0;
    expect_refusal(&q, plan, &p, SGEMM_SUCCESS, "NULL, with nothing to do");
    problem_free(&q);
  }
}

/* Planes whose bytes wrap to 0 in 64 bits, and whose sum takes more blocks than a grid holds. */
Test(bad_plans, beyond_the_hardware) {
  problem q = problem_of(SGEMM_VARIANT_COUNT, SGEMM_N, SGEMM_N, 5, 6, 7, EXACT);
  int v;
  need_machine();
  problem_make(&q);
  CHECK(problem_upload(&q));
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    const sgemm_plan plan = {(sgemm_variant)v, 1, 8};
    sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 1 << 14, 1 << 14, 1);
    if (!sgemm__cuts(sgemm_variant_get((sgemm_variant)v)) || !sgemm_compiled((sgemm_variant)v))
      continue;
    p.batch = INT64_C(1) << 31;
    p.stride_a = p.stride_b = 0;
    p.A = q.p.A;
    p.B = q.p.B;
    p.C = q.p.C;
    expect_refusal(&q, plan, &p, SGEMM_ERROR_WORKSPACE, "2^64 bytes");
    p.m = INT64_C(1) << 31;
    p.n = p.ldb = p.ldc = 1;
    p.k = p.lda = sgemm_variant_get((sgemm_variant)v)->packs ? SGEMM__PACK_K * SGEMM__PACK_ROWS : 1;
    p.batch = 1;
    p.workspace = q.p.C - (uintptr_t)q.p.C / 4 % 4;
    p.workspace_bytes = sgemm_plan_workspace(&plan, &p);
    expect_refusal(&q, plan, &p, SGEMM_ERROR_GRID, "2^31 blocks of the sum, or of packing");
  }
  problem_free(&q);
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

/* sgemm_run_naive() and so on run a row of their stage, or say that none is compiled. */
Test(entries, every_stage_by_name) {
  typedef sgemm_status entry(const sgemm_params *, sgemm_stream);
#define ENTRY(stage, idea) sgemm_run_##stage,
  static entry *const entries[] = {SGEMM_STAGES(ENTRY)};
  int s, v;
  need_machine();
  for (s = 0; s < SGEMM_STAGE_COUNT; s++) {
    problem q = problem_of(SGEMM_VARIANT_COUNT, SGEMM_N, SGEMM_T, 37, 41, 43, EXACT);
    sgemm_status want = SGEMM_ERROR_NOT_COMPILED;
    int packs = 0;
    for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
      if (sgemm_variant_get((sgemm_variant)v)->stage == (sgemm_stage)s && sgemm_compiled((sgemm_variant)v)) {
        want = SGEMM_SUCCESS;
        packs = sgemm_variant_get((sgemm_variant)v)->packs;
      }
    q.p.workspace_bytes = packs ? 1 << 20 : 0;
    problem_make(&q);
    CHECK(problem_upload(&q));
    if (packs) {
      sgemm_params without = q.p;
      without.workspace_bytes = 0;
      cr_assert(entries[s](&without, NULL) == SGEMM_ERROR_WORKSPACE, "stage %d without a workspace", s);
    }
    cr_assert(entries[s](&q.p, NULL) == want, "stage %d", s);
    CHECK(problem_download(&q));
    if (want == SGEMM_SUCCESS)
      CHECK(problem_check(&q));
    else
      cr_assert(memcmp(q.C.before, q.C.after, (size_t)q.C.count * sizeof(float)) == 0, "stage %d wrote to C", s);
    problem_free(&q);
  }
}

/* Nothing to do: success, whatever the pointers. */
Test(entries, quick_returns) {
  static const struct {
    const char *what;
    int64_t m, n, k, batch;
    float alpha, beta;
  } cases[] = {{"m 0", 0, 6, 7, 1, 1.0f, 0.0f},
               {"n 0", 5, 0, 7, 1, 1.0f, 0.0f},
               {"batch 0", 5, 6, 7, 0, 1.0f, 0.0f},
               {"all 0", 0, 0, 0, 0, 0.0f, 0.0f},
               {"alpha 0, beta 1", 5, 6, 7, 1, 0.0f, 1.0f},
               {"alpha -0, beta 1", 5, 6, 7, 1, -0.0f, 1.0f},
               {"k 0, beta 1", 5, 6, 0, 1, 1.0f, 1.0f},
               {"m 0, k 0, beta 0", 0, 6, 0, 1, 1.0f, 0.0f}};
  float *untouched;
  unsigned i;
  need_machine();
  untouched = untouched_make();
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, cases[i].m, cases[i].n, cases[i].k);
    p.batch = cases[i].batch;
    p.alpha = cases[i].alpha;
    p.beta = cases[i].beta;
    expect_status(&p, SGEMM_SUCCESS, cases[i].what);
    p.C = untouched;
    expect_status(&p, SGEMM_SUCCESS, cases[i].what);
    untouched_check(untouched, cases[i].what);
  }
  machine_free(untouched);
}

/* C = beta * C needs no A and no B. */
Test(entries, scaling_needs_no_operands) {
  int i;
  need_machine();
  for (i = 0; i < 4; i++) {
    problem q = problem_of(SGEMM_VARIANT_COUNT, SGEMM_N, SGEMM_N, 65, 67, i % 2 ? 0 : 7, EXACT);
    q.p.alpha = i % 2 ? 1.0f : 0.0f;
    q.p.beta = i / 2 ? 0.5f : 0.0f;
    problem_make(&q);
    CHECK(problem_upload(&q));
    q.p.A = q.p.B = NULL;
    cr_assert(sgemm_run(&q.p, NULL) == SGEMM_SUCCESS);
    CHECK(problem_download(&q));
    CHECK(problem_check(&q));
    problem_free(&q);
  }
}

/* ---- BLAS -------------------------------------------------------------------------------------------------------- */

/* The least leading dimensions for an order, and one more. */
static void set_lds(sgemm_params *p) {
  const int row_major = p->order == SGEMM_ROW_MAJOR;
  p->lda = ((p->op_a == SGEMM_N) == row_major ? p->k : p->m) + 1;
  p->ldb = ((p->op_b == SGEMM_N) == row_major ? p->n : p->k) + 1;
  p->ldc = (row_major ? p->n : p->m) + 1;
}

/* Every order and pair of ops, with BLAS's own argument types. */
Test(cblas, every_order_and_op) {
  static const float pairs[3][2] = {{1.0f, 0.0f}, {-0.7f, 1.3f}, {0.5f, 1.0f}};
  const int m = 67, n = 35, k = 41;
  int order, trans_a, trans_b, i;
  need_machine();
  for (order = SGEMM_ROW_MAJOR; order <= SGEMM_COL_MAJOR; order++)
    for (trans_a = SGEMM_N; trans_a <= SGEMM_C; trans_a++)
      for (trans_b = SGEMM_N; trans_b <= SGEMM_C; trans_b++)
        for (i = 0; i < 3; i++) {
          problem q = problem_of(SGEMM_VARIANT_COUNT, trans_a, trans_b, m, n, k, ROUNDING);
          int lda, ldb, ldc;
          q.p.order = order;
          q.p.alpha = pairs[i][0];
          q.p.beta = pairs[i][1];
          set_lds(&q.p);
          lda = (int)q.p.lda;
          ldb = (int)q.p.ldb;
          ldc = (int)q.p.ldc;
          problem_make(&q);
          CHECK(problem_upload(&q));
          cr_assert(sgemm_cblas(order, trans_a, trans_b, m, n, k, q.p.alpha, q.p.A, lda, q.p.B, ldb, q.p.beta, q.p.C,
                                ldc, NULL) == SGEMM_SUCCESS);
          CHECK(problem_download(&q));
          CHECK(problem_check(&q));
          CHECK(problem_check_blas(&q));
          problem_free(&q);
        }
}

Test(cblas, bad_arguments) {
  unsigned i;
  need_machine();
  for (i = 0; i < sizeof calls / sizeof *calls; i++) {
    const call *c = &calls[i];
    const sgemm_status got = sgemm_cblas(c->order, c->op_a, c->op_b, c->m, c->n, c->k, 1.0f, NULL, c->lda, NULL, c->ldb,
                                         0.0f, NULL, c->ldc, NULL);
    if (c->batch == 1) /* what BLAS's list can say */
      cr_assert(got == c->status, "%s: %d (%s)", c->what, got, sgemm_status_string(got));
  }
}

/* Column-major batches, whose operands trade places on the way to the kernel, strides and all. */
Test(cblas, column_major_batches) {
  int ops, gap;
  need_machine();
  for (ops = 0; ops < 4; ops++)
    for (gap = 0; gap <= PRIME; gap += PRIME) {
      problem q = problem_of(SGEMM_VARIANT_COUNT, ops / 2 ? T : N, ops % 2 ? T : N, 67, 35, 41, EXACT);
      q.p.order = SGEMM_COL_MAJOR;
      q.p.batch = 3;
      q.p.beta = gap ? 1.0f : 0.0f;
      set_lds(&q.p);
      q.p.stride_a = gap ? q.p.lda * (ops / 2 ? q.p.m : q.p.k) + gap : 0;
      q.p.stride_b = q.p.ldb * (ops % 2 ? q.p.k : q.p.n) + gap;
      q.p.stride_c = q.p.ldc * q.p.n + gap;
      CHECK(problem_solve(&q, NULL));
    }
}

/* ---- Selection --------------------------------------------------------------------------------------------------- */

/* sgemm_run() on shapes that lead it to different rows: long, wide, deep, tiny, and not small; with as much workspace as
   it asks for, half of that and none. */
Test(selection, any_shape) {
  static const int64_t shapes[][3] = {{1, 1, 1},   {1, 2, 3},      {500, 3, 7},    {3, 500, 7},   {5, 7, 900},
                                      {65, 63, 9}, {130, 257, 31}, {300, 310, 37}, {2, 1000, 33}, {1000, 1, 35}};
  unsigned i;
  int ops;
  need_machine();
  for (i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (ops = 0; ops < 4; ops++) {
      problem q = problem_of(SGEMM_VARIANT_COUNT, ops / 2 ? T : N, ops % 2 ? T : N, shapes[i][0], shapes[i][1],
                             shapes[i][2], ROUNDING);
      q.p.alpha = -0.7f;
      q.p.beta = 1.3f;
      cr_assert(sgemm_workspace_query(&q.p, &q.p.workspace_bytes) == SGEMM_SUCCESS);
      q.p.workspace_bytes = ops < 2 ? q.p.workspace_bytes / (1 + ops) : 0;
      CHECK(problem_solve(&q, schedule(ops)));
    }
}
