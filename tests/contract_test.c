/* Tests of the contract of every call: the status of the first fault in the documented order, C untouched on error,
   refused plans, quick returns, BLAS's argument list, and the selection. */
#include "tests/testing.h"

#include <string.h>

/* The first compiled variant that has code for every GPU: see the column prod of sgemm/variants.h. */
static sgemm_variant any_variant(void) {
  int v = 0;
  while (v < SGEMM_VARIANT_COUNT &&
         (!sgemm_compiled((sgemm_variant)v) || sgemm_variant_get((sgemm_variant)v)->production > 1))
    v++;
  cr_assert(v < SGEMM_VARIANT_COUNT, "no variant is compiled");
  return (sgemm_variant)v;
}

/* A compiled variant of stage tma. Its plan depends on the operands. Any other variant if the device cannot run tma. */
static sgemm_variant tma_variant(void) {
  sgemm_device device;
  int v;
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
    if (sgemm_variant_get((sgemm_variant)v)->uses_tma && sgemm_compiled((sgemm_variant)v) &&
        sgemm_device_query(-1, &device) == SGEMM_SUCCESS && device.has_sm90a_code)
      return (sgemm_variant)v;
  return any_variant();
}

/* Floats of a C that no call may write. */
enum { UNTOUCHED = 256 };

static float *untouched_make(void) {
  float host[UNTOUCHED], *device = (float *)machine_alloc(sizeof host);
  int i;
  for (i = 0; i < UNTOUCHED; i++)
    host[i] = (float)i + 0.5f;
  cr_assert(device != NULL && machine_upload(device, host, sizeof host) == 0, "no memory");
  return device;
}

static void untouched_check(float *device, const char *what) {
  float host[UNTOUCHED];
  int i;
  cr_assert(machine_wait() == 0 && machine_download(host, device, sizeof host) == 0);
  for (i = 0; i < UNTOUCHED; i++)
    cr_assert(host[i] == (float)i + 0.5f, "%s: C[%d] became %g", what, i, (double)host[i]);
}

/* Every entry point that takes params must return the same status. */
static void expect_status(const sgemm_params *p, sgemm_status want, const char *what) {
  const struct {
    const char *entry;
    sgemm_status got;
  } calls[] = {{"sgemm_check", sgemm_check(p)},
               {"sgemm_run", sgemm_run(p, NULL)},
               {"sgemm_run_variant", sgemm_run_variant(any_variant(), p, NULL)},
               {"sgemm_run_variant of tma", sgemm_run_variant(tma_variant(), p, NULL)},
               {"sgemm_run_stage", sgemm_run_stage(sgemm_variant_get(any_variant())->stage, p, NULL)}};
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

Test(status, cuda_errors_are_kept_in_the_status) {
  int i;
  cr_assert(SGEMM_SUCCESS == 0);
  for (i = -1; i <= SGEMM_STATUS_COUNT; i++)
    cr_assert(sgemm_cuda_error((sgemm_status)i) == 0, "status %d", i);
  for (i = 0; i < 1000; i++)
    cr_assert(sgemm_cuda_error((sgemm_status)(SGEMM_ERROR_CUDA + i)) == i);
}

/* CUDA's sentences are those of its runtime; the CPU model has none. */
Test(status, error_strings) {
  int i;
  for (i = -1; i <= SGEMM_STATUS_COUNT; i++)
    cr_assert_str_eq(sgemm_error_string((sgemm_status)i), sgemm_status_string((sgemm_status)i), "status %d", i);
  for (i = 1; i < 1000; i++) {
    const sgemm_status status = (sgemm_status)(SGEMM_ERROR_CUDA + i);
#if defined(MACHINE_CUDA) && MACHINE_CUDA
    cr_assert_str_eq(sgemm_error_string(status), cudaGetErrorString((cudaError_t)i));
    cr_assert(strcmp(sgemm_error_string(status), sgemm_status_string(status)) != 0);
#else
    cr_assert_str_eq(sgemm_error_string(status), sgemm_status_string(status));
#endif
  }
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
  CALL("m INT64_MIN",                  M,         COL,   N,   N, INT64_MIN,  6,  7,   7,   7,   6,  1,  35,  42,  30),
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
  CALL("interleaved rows, one short",  STRIDE_C,  ROW,   N,   N,         5,  6,  7,   7,   6,  19,  3,  35,  42,   7),
  CALL("A beyond 2^60",                TOO_LARGE, ROW,   N,   N,         5,  6,  7, BIG,   6,   6,  1,  35,  42,  30),
  CALL("B beyond 2^60",                TOO_LARGE, ROW,   N,   N,         5,  6,  7,   7, BIG,   6,  1,  35,  42,  30),
  CALL("C beyond 2^60",                TOO_LARGE, ROW,   N,   N,         5,  6,  7,   7,   6, BIG,  1,  35,  42,  30),
  CALL("batch of A beyond 2^60",       TOO_LARGE, ROW,   N,   N,         5,  6,  7,   7,   6,   6,  2, BIG,  42,  30),
  CALL("batch of B beyond 2^60",       TOO_LARGE, ROW,   N,   N,         5,  6,  7,   7,   6,   6,  2,  35, BIG,  30),
  CALL("batch of C beyond 2^60",       TOO_LARGE, ROW,   N,   N,         5,  6,  7,   7,   6,   6,  2,  35,  42, BIG),
  CALL("n of 2^60, no result",         TOO_LARGE, ROW,   N,   N,         0,BIG,  0,   1, BIG, BIG,  1,   0,   0,   0),
  CALL("sizes whose product wraps",    TOO_LARGE, ROW,   N,   N,       BIG,  6, 16,  16,   6,   6,  1,   0,  96,   0),
  CALL("no fault but NULL pointers",   A,         ROW,   N,   N,         5,  6,  7,   7,   6,   6,  1,  35,  42,  30),
  CALL("NULL pointers, ops C and T",   A,         COL,   C,   T,         5,  6,  7,   7,   6,   5,  1,  35,  42,  30),
  CALL("strides of a single matrix",   A,         ROW,   N,   N,         5,  6,  7,   7,   6,   6,  1,  -1,  -1,  -1),
  CALL("stride_a and stride_b 0",      A,         ROW,   N,   N,         5,  6,  7,   7,   6,   6,  2,   0,   0,  30),
  CALL("the smallest stride_c",        A,         ROW,   N,   N,         5,  6,  7,   7,   6,   8,  2,  35,  42,  38),
  CALL("interleaved rows that fit",    A,         ROW,   N,   N,         5,  6,  7,   7,   6,  18,  3,  35,  42,   6),
  CALL("rows apart that just fit",     A,         ROW,   N,   N,         5,  6,  7,   7,   6,  20,  3,  35,  42,   7),
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

/* First all pointers are NULL: the fault must be found before the pointers are checked. Then C is valid and must stay
   unchanged. */
Test(bad_arguments, each_has_its_status) {
  float *untouched;
  unsigned i;
  need_backend();
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
  need_backend();
  untouched = untouched_make();
  expect_status(NULL, SGEMM_ERROR_PARAMS, "no params");
  for (byte = 0; byte < 4; byte++) { /* 0: NULL; otherwise bytes behind the start of a float */
    const float *misaligned = byte ? (const float *)((const char *)untouched + byte) : NULL;
    bad = p;
    bad.A = misaligned;
    expect_status(&bad, SGEMM_ERROR_A, "A");
    bad.C = untouched;
    expect_status(&bad, SGEMM_ERROR_A, "A, with a good C");
    bad.A = untouched;
    bad.B = misaligned;
    expect_status(&bad, SGEMM_ERROR_B, "B, with a good C");
    bad.C = NULL;
    expect_status(&bad, SGEMM_ERROR_B, "B");
    bad.B = untouched;
    bad.C = (float *)(uintptr_t)misaligned;
    expect_status(&bad, SGEMM_ERROR_C, "C");
    bad.beta = 0.5f;
    bad.alpha = 0.0f;
    bad.A = bad.B = NULL;
    expect_status(&bad, SGEMM_ERROR_C, "C, alpha 0");
  }
  untouched_check(untouched, "pointers");
  machine_free(untouched);
}

/* C has more tiles or matrices than a grid has blocks. Only the launch finds this fault. */
Test(bad_arguments, grids_beyond_the_hardware) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, INT64_C(1) << 40, 1, 1);
  float *untouched;
  need_backend();
  untouched = untouched_make();
  p.A = p.B = p.C = untouched;
  cr_assert(sgemm_run(&p, NULL) == SGEMM_ERROR_GRID);
  cr_assert(sgemm_run_variant(any_variant(), &p, NULL) == SGEMM_ERROR_GRID);
  p = sgemm_params_init(SGEMM_N, SGEMM_N, 1, 1, 1);
  p.A = p.B = p.C = untouched;
  p.batch = INT64_C(65535) * 65535 + 1;
  cr_assert(sgemm_run(&p, NULL) == SGEMM_ERROR_GRID);
  untouched_check(untouched, "too large");
  machine_free(untouched);
}

/* For each status a fault that causes it in a batch of 2, in the order of the checks. */
#define FAULTS(X)                                                                                                      \
  X(SGEMM_ERROR_ORDER, order = 100)                                                                                    \
  X(SGEMM_ERROR_OP_A, op_a = 0)                                                                                        \
  X(SGEMM_ERROR_OP_B, op_b = 0)                                                                                        \
  X(SGEMM_ERROR_MODE, mode = 3)                                                                                        \
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

static void inject_fault(sgemm_params *p, sgemm_status status) {
#define INJECT(symbol, fault)                                                                                          \
  if (status == symbol)                                                                                                \
    p->fault;
  FAULTS(INJECT)
}

/* A call with two faults reports the one that comes first in SGEMM_STATUS_LIST. All pointers are NULL; they are checked
   last. */
Test(bad_arguments, the_first_fault_is_reported) {
#define SYMBOL(symbol, fault) symbol,
  static const sgemm_status order[] = {FAULTS(SYMBOL)};
  enum { COUNT = sizeof order / sizeof *order };
  int first, second;
  need_backend();
  for (first = 0; first < COUNT; first++)
    for (second = first; second < COUNT; second++) {
      sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 5, 6, 7);
      char what[80];
      p.batch = 2;
      inject_fault(&p, order[second]);
      inject_fault(&p, order[first]);
      snprintf(what, sizeof what, "faults %d and %d", order[first], order[second]);
      expect_status(&p, order[first], what);
    }
}

Test(bad_arguments, variants_and_stages) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 5, 6, 7);
  float *untouched;
  int v;
  need_backend();
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
  p.workspace = (void *)((uintptr_t)untouched / 16 * 16); /* enough bytes for variants that repack */
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

/* sgemm_run_plan() must refuse the plan for parameters p with status want. C of q must stay unchanged. */
static void expect_refusal(problem *q, sgemm_plan plan, const sgemm_params *p, sgemm_status want, const char *what) {
  const sgemm_variant_info *v = sgemm_variant_get(plan.variant);
  const sgemm_status got = sgemm_run_plan(&plan, p, NULL);
  cr_assert(got == want, "%s, cluster_k %d, split_k %d, stream_k %d, repack %d %d, %s: %d (%s), want %d",
            v ? v->name : "no variant", plan.cluster_k, plan.split_k, plan.stream_k, plan.repack_a, plan.repack_b, what,
            got, sgemm_status_string(got), want);
  CHECK(problem_download(q));
  cr_assert(memcmp(q->C.before, q->C.after, (size_t)q->C.count * sizeof(float)) == 0, "%s: C was written", what);
}

static void expect_bad_plan(problem *q, sgemm_plan plan) {
  sgemm_params p = q->p;
  expect_refusal(q, plan, &p, SGEMM_ERROR_PLAN, "no other fault");
  p.order = 0;
  expect_refusal(q, plan, &p, SGEMM_ERROR_PLAN, "and a bad order");
}

/* The variant's own plan for q, with another cluster_k and split_k. */
static sgemm_plan plan_of(const problem *q, int variant, int cluster_k, int split_k) {
  sgemm_plan plan = sgemm_variant_plan((sgemm_variant)variant, &q->p);
  plan.cluster_k = cluster_k;
  plan.split_k = split_k;
  return plan;
}

/* A plan is refused if no variant, or not this one, supports its cluster_k, split_k, stream_k or serial_k. */
Test(bad_plans, divisions_of_k) {
  static const int unsupported[][2] = {{17, 1}, {32, 1}, {0, 1}, {-2, 1},       {24, 2},
                                       {1, 0},  {1, -1}, {8, 0}, {INT32_MAX, 1}};
  static const int stream_k_values[] = {-1, 1, 65536}, serial_k_values[] = {0, -1, 9, INT32_MAX};
  int v, i;
  need_backend();
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    const sgemm_variant_info *r = sgemm_variant_get((sgemm_variant)v);
    problem q = problem_of((sgemm_variant)v, SGEMM_N, SGEMM_N, 5, 6, 70, EXACT);
    sgemm_plan plan;
    q.p.workspace_bytes = 8 * 5 * 32;
    problem_make(&q);
    CHECK(problem_upload(&q));
    for (i = 0; i < (int)(sizeof unsupported / sizeof *unsupported); i++)
      expect_bad_plan(&q, plan_of(&q, v, unsupported[i][0], unsupported[i][1]));
    for (i = 2; i <= 16 && !r->cluster_split_k; i++)
      expect_bad_plan(&q, plan_of(&q, v, i, 1));
    if (r->uses_tma || !can_split(r))
      expect_bad_plan(&q, plan_of(&q, v, 1, 2));
    plan = plan_of(&q, v, 1, 1);
    for (i = 0; i < (int)(sizeof stream_k_values / sizeof *stream_k_values); i++) {
      plan.stream_k = stream_k_values[i];
      expect_bad_plan(&q, plan);
    }
    if (!r->uses_tma) {
      plan.stream_k = 2;
      expect_bad_plan(&q, plan);
    }
    plan = plan_of(&q, v, 1, 1);
    for (i = 0; i < (int)(sizeof serial_k_values / sizeof *serial_k_values); i++) {
      plan.serial_k = serial_k_values[i];
      expect_bad_plan(&q, plan);
    }
    plan.serial_k = 2;
    plan.repack_a = r->uses_tma;
    if (!r->serial || plan.repack_a)
      expect_bad_plan(&q, plan);
    plan.split_k = 2;
    expect_bad_plan(&q, plan);
    for (i = 0; i < 3; i++) { /* slices of a strict plan */
      plan = plan_of(&q, v, 1, 1);
      *(i == 0 ? &plan.slices_m : i == 1 ? &plan.slices_n : &plan.slices_k) = -1;
      expect_bad_plan(&q, plan);
    }
    problem_free(&q);
  }
}

/* A tma variant must repack an operand whose leading dimension, address or stride a tensor map cannot describe. Other
   variants repack nothing. */
Test(bad_plans, repacks) {
  int v, ops, i;
  need_backend();
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
    for (ops = 0; ops < 4; ops++)
      for (i = 0; i < 4; i++) {
        const int uses_tma = sgemm_variant_get((sgemm_variant)v)->uses_tma, of_b = ops % 2;
        problem q = problem_of((sgemm_variant)v, ops / 2 ? SGEMM_T : SGEMM_N, SGEMM_N, 8, 12, 16, EXACT);
        sgemm_plan plan;
        sgemm_params p;
        int *repack = of_b ? &plan.repack_b : &plan.repack_a;
        q.p.batch = 2;
        problem_make(&q);
        CHECK(problem_upload(&q));
        p = q.p;
        if (i == 1)
          *(of_b ? &p.ldb : &p.lda) += 1;
        else if (i == 2)
          *(of_b ? &p.B : &p.A) += 1;
        else if (i == 3)
          *(of_b ? &p.stride_b : &p.stride_a) -= 4;
        plan = sgemm_variant_plan((sgemm_variant)v, &p);
        cr_assert(*repack == (uses_tma && i > 0), "%s, operand %d, case %d", sgemm_variant_get((sgemm_variant)v)->name,
                  of_b, i);
        cr_assert((of_b ? plan.repack_a : plan.repack_b) == 0);
        *repack ^= 1;
        if (!uses_tma || i > 0)
          expect_refusal(&q, plan, &p, SGEMM_ERROR_PLAN, uses_tma ? "not repacked" : "repacked");
        problem_free(&q);
      }
}

/* A plan with a tensor-core variant has split_k >= 1, no stream_k, no repacked operand, and the format of pre-split
   operands. */
Test(bad_plans, tensor) {
  problem q = problem_of(SGEMM_VARIANT_NONE, SGEMM_N, SGEMM_N, 5, 6, 70, EXACT);
  sgemm_device device;
  int t;
  need_backend();
  cr_assert(sgemm_device_query(-1, &device) == SGEMM_SUCCESS);
  problem_make(&q);
  CHECK(problem_upload(&q));
  for (t = 0; t < SGEMM_TENSOR_VARIANT_COUNT; t++) {
    sgemm_plan plan = plan_of(&q, any_variant(), 1, 1);
    plan.tensor = (sgemm_tensor_variant)t;
    plan.split_k = 0;
    expect_bad_plan(&q, plan);
    plan.split_k = 1;
    plan.serial_k = 2;
    expect_bad_plan(&q, plan);
    plan.serial_k = 1;
    plan.stream_k = 2;
    expect_bad_plan(&q, plan);
    plan.stream_k = 0;
    plan.repack_a = 1;
    expect_bad_plan(&q, plan);
    plan.repack_a = 0;
    plan.repack_b = 1;
    expect_bad_plan(&q, plan);
    plan.repack_b = 0;
    plan.cluster_k = 17;
    expect_bad_plan(&q, plan);
    plan.cluster_k = 1;
    if (device.has_sm90a_code) { /* the device can run every tensor-core variant */
      const sgemm_format format = sgemm_tensor_variant_get((sgemm_tensor_variant)t)->format;
      sgemm_params p = q.p;
      expect_refusal(&q, plan, &p, SGEMM_ERROR_WORKSPACE, "no workspace");
      p.prepared_a = p.prepared_b = (const char *)p.A - (uintptr_t)p.A % 16;
      p.mode = format == SGEMM_FORMAT_fp16x3 ? SGEMM_TENSOR : SGEMM_TENSOR_FULL;
      expect_refusal(&q, plan, &p, SGEMM_ERROR_WORKSPACE, "no workspace, with pre-split operands");
      p.mode = format == SGEMM_FORMAT_fp16x3 ? SGEMM_TENSOR_FULL : SGEMM_TENSOR;
      expect_refusal(&q, plan, &p, SGEMM_ERROR_PLAN, "pre-split operands of another format");
    }
  }
  problem_free(&q);
}

/* A variant that does not exist is reported before every other fault but missing params. */
Test(bad_plans, variants) {
  problem q = problem_of(SGEMM_VARIANT_NONE, SGEMM_N, SGEMM_N, 5, 6, 7, EXACT);
  int v;
  need_backend();
  problem_make(&q);
  CHECK(problem_upload(&q));
  for (v = -1; v <= SGEMM_VARIANT_COUNT; v += SGEMM_VARIANT_COUNT + 1) {
    sgemm_plan plan = plan_of(&q, any_variant(), 3, 0);
    plan.variant = (sgemm_variant)v;
    expect_refusal(&q, plan, NULL, SGEMM_ERROR_PARAMS, "no params");
    expect_refusal(&q, plan, &q.p, SGEMM_ERROR_VARIANT, "before its cluster_k and split_k");
  }
  cr_assert(sgemm_run_plan(NULL, &q.p, NULL) == SGEMM_ERROR_PLAN);
  cr_assert(sgemm_run_plan(NULL, NULL, NULL) == SGEMM_ERROR_PARAMS);
  for (v = -1; v <= SGEMM_TENSOR_VARIANT_COUNT + 1; v += SGEMM_TENSOR_VARIANT_COUNT + 2) {
    sgemm_plan plan = plan_of(&q, any_variant(), 3, 0);
    plan.tensor = (sgemm_tensor_variant)v;
    expect_refusal(&q, plan, NULL, SGEMM_ERROR_PARAMS, "no params");
    expect_refusal(&q, plan, &q.p, SGEMM_ERROR_VARIANT, "no such tensor-core variant");
  }
  problem_free(&q);
}

/* A workspace is refused if it is 16 bytes too small, empty, negative, misaligned or NULL. */
Test(bad_plans, workspaces) {
  int v;
  need_backend();
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    problem q = problem_of(SGEMM_VARIANT_NONE, SGEMM_N, SGEMM_T, 5, 6, 70, EXACT);
    const int uses_tma = sgemm_variant_get((sgemm_variant)v)->uses_tma;
    sgemm_plan plan;
    sgemm_params p;
    if (!can_split(sgemm_variant_get((sgemm_variant)v)))
      continue;
    q.p.batch = 2;
    plan = plan_of(&q, v, 1, uses_tma ? 1 : 3);
    plan.stream_k = uses_tma ? 3 : 0;
    q.p.workspace_bytes = sgemm_plan_workspace(&plan, &q.p) + 16;
    problem_make(&q);
    CHECK(problem_upload(&q));
    p = q.p;
    p.workspace_bytes -= 32;
    expect_refusal(&q, plan, &p, SGEMM_ERROR_WORKSPACE, "16 bytes short");
    p.workspace_bytes = 0;
    expect_refusal(&q, plan, &p, SGEMM_ERROR_WORKSPACE, "no bytes");
    p.workspace_bytes = -1;
    expect_refusal(&q, plan, &p, SGEMM_ERROR_WORKSPACE, "negative");
    p = q.p;
    p.workspace = (char *)p.workspace + 4;
    expect_refusal(&q, plan, &p, SGEMM_ERROR_WORKSPACE, "4 bytes beyond a multiple of 16");
    p.workspace = NULL;
    expect_refusal(&q, plan, &p, SGEMM_ERROR_WORKSPACE, "NULL");
    expect_status(&p, SGEMM_ERROR_WORKSPACE, "NULL, with bytes");
    p.C = NULL;
    expect_refusal(&q, plan, &p, SGEMM_ERROR_C, "NULL, after C");
    p.m = 0;
    expect_refusal(&q, plan, &p, SGEMM_SUCCESS, "NULL, with nothing to do");
    problem_free(&q);
  }
}

/* The bytes of the partitions wrap to 0 in 64 bits. Then the second kernel of split-K, or the packing kernel of tma,
   has more blocks than a grid. */
Test(bad_plans, beyond_the_hardware) {
  problem q = problem_of(SGEMM_VARIANT_NONE, SGEMM_N, SGEMM_N, 5, 6, 7, EXACT);
  int v;
  need_backend();
  problem_make(&q);
  CHECK(problem_upload(&q));
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    const int uses_tma = sgemm_variant_get((sgemm_variant)v)->uses_tma;
    sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 1 << 14, 1 << 14, 1);
    sgemm_plan plan;
    if (!can_split(sgemm_variant_get((sgemm_variant)v)) || !sgemm_compiled((sgemm_variant)v))
      continue;
    p.batch = INT64_C(1) << 31;
    p.stride_a = p.stride_b = 0;
    p.A = q.p.A;
    p.B = q.p.B;
    p.C = q.p.C;
    plan = sgemm_variant_plan((sgemm_variant)v, &p);
    plan.split_k = uses_tma ? 1 : 8;
    plan.stream_k = uses_tma ? 8 : 0;
    expect_refusal(&q, plan, &p, SGEMM_ERROR_WORKSPACE, "2^64 bytes");
    if (uses_tma) { /* a block of the packing kernel packs 128 rows of 64 k */
      p.m = INT64_C(1) << 31;
      p.n = p.ldb = p.ldc = 1;
      p.k = p.lda = 64 * 128;
    } else { /* a block of the second kernel sums 128 columns of a row; the first kernel has fewer blocks */
      p.m = 1 << 20;
      p.n = p.ldb = p.ldc = 1 << 18;
      p.k = p.lda = 1;
      plan.split_k = 2;
    }
    p.batch = 1;
    p.workspace = q.p.C - (uintptr_t)q.p.C / 4 % 4;
    plan.repack_a = plan.repack_b = uses_tma;
    p.workspace_bytes = sgemm_plan_workspace(&plan, &p);
    expect_refusal(&q, plan, &p, SGEMM_ERROR_GRID, "2^31 blocks of the second kernel, or of packing");
  }
  problem_free(&q);
}

/* ---- Entry points ------------------------------------------------------------------------------------------------ */

/* sgemm_run_<stage>() runs a variant of the stage, or reports that none is compiled. */
Test(entries, every_stage_by_name) {
  typedef sgemm_status entry(const sgemm_params *, sgemm_stream);
#define ENTRY(stage, ...) sgemm_run_##stage,
  static entry *const entries[] = {SGEMM_STAGES(ENTRY)};
  int s, v;
  need_backend();
  for (s = 0; s < SGEMM_STAGE_COUNT; s++) {
    problem q = problem_of(SGEMM_VARIANT_NONE, SGEMM_N, SGEMM_T, 37, 41, 43, EXACT);
    sgemm_status want = SGEMM_ERROR_NOT_COMPILED;
    int uses_tma = 0;
    for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
      if (sgemm_variant_get((sgemm_variant)v)->stage == (sgemm_stage)s && sgemm_compiled((sgemm_variant)v)) {
        want = SGEMM_SUCCESS;
        uses_tma = sgemm_variant_get((sgemm_variant)v)->uses_tma;
      }
    q.p.workspace_bytes = uses_tma ? 1 << 20 : 0;
    problem_make(&q);
    CHECK(problem_upload(&q));
    if (uses_tma) {
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

/* A quick return succeeds with any pointers. */
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
  need_backend();
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

/* C = beta * C is computed with A and B NULL. */
Test(entries, scaling_c_reads_no_operands) {
  int i;
  need_backend();
  for (i = 0; i < 4; i++) {
    problem q = problem_of(SGEMM_VARIANT_NONE, SGEMM_N, SGEMM_N, 65, 67, i % 2 ? 0 : 7, EXACT);
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

/* Sets each leading dimension to the smallest legal one plus 1. */
static void set_leading_dimensions(sgemm_params *p) {
  const int row_major = p->order == SGEMM_ROW_MAJOR;
  p->lda = ((p->op_a == SGEMM_N) == row_major ? p->k : p->m) + 1;
  p->ldb = ((p->op_b == SGEMM_N) == row_major ? p->n : p->k) + 1;
  p->ldc = (row_major ? p->n : p->m) + 1;
}

/* Every order and op pair, with the argument types of BLAS. */
Test(cblas, every_order_and_op) {
  static const float pairs[3][2] = {{1.0f, 0.0f}, {-0.7f, 1.3f}, {0.5f, 1.0f}};
  const int m = 67, n = 35, k = 41;
  int order, trans_a, trans_b, i;
  need_backend();
  for (order = SGEMM_ROW_MAJOR; order <= SGEMM_COL_MAJOR; order++)
    for (trans_a = SGEMM_N; trans_a <= SGEMM_C; trans_a++)
      for (trans_b = SGEMM_N; trans_b <= SGEMM_C; trans_b++)
        for (i = 0; i < 3; i++) {
          problem q = problem_of(SGEMM_VARIANT_NONE, trans_a, trans_b, m, n, k, ROUNDING);
          int lda, ldb, ldc;
          q.p.order = order;
          q.p.alpha = pairs[i][0];
          q.p.beta = pairs[i][1];
          set_leading_dimensions(&q.p);
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
  need_backend();
  for (i = 0; i < sizeof calls / sizeof *calls; i++) {
    const call *c = &calls[i];
    const sgemm_status got = sgemm_cblas(c->order, c->op_a, c->op_b, c->m, c->n, c->k, 1.0f, NULL, c->lda, NULL, c->ldb,
                                         0.0f, NULL, c->ldc, NULL);
    if (c->batch == 1) /* BLAS's argument list has no batch */
      cr_assert(got == c->status, "%s: %d (%s)", c->what, got, sgemm_status_string(got));
  }
}

/* A column-major batch: the kernel takes A and B exchanged, with their strides. */
Test(cblas, column_major_batches) {
  int ops, gap;
  need_backend();
  for (ops = 0; ops < 4; ops++)
    for (gap = 0; gap <= PRIME; gap += PRIME) {
      problem q = problem_of(SGEMM_VARIANT_NONE, ops / 2 ? T : N, ops % 2 ? T : N, 67, 35, 41, EXACT);
      q.p.order = SGEMM_COL_MAJOR;
      q.p.batch = 3;
      q.p.beta = gap ? 1.0f : 0.0f;
      set_leading_dimensions(&q.p);
      q.p.stride_a = gap ? q.p.lda * (ops / 2 ? q.p.m : q.p.k) + gap : 0;
      q.p.stride_b = q.p.ldb * (ops % 2 ? q.p.k : q.p.n) + gap;
      q.p.stride_c = q.p.ldc * q.p.n + gap;
      CHECK(problem_solve(&q, NULL));
    }
}

/* ---- Selection --------------------------------------------------------------------------------------------------- */

/* sgemm_run() on shapes for which it selects different variants: tiny, tall, wide, large k, several tiles. The
   workspace has the bytes of sgemm_workspace_query(), half of them, or none. */
Test(selection, any_shape) {
  static const int64_t shapes[][3] = {{1, 1, 1},   {1, 2, 3},      {500, 3, 7},    {3, 500, 7},   {5, 7, 900},
                                      {65, 63, 9}, {130, 257, 31}, {300, 310, 37}, {2, 1000, 33}, {1000, 1, 35}};
  unsigned i;
  int ops;
  need_backend();
  for (i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (ops = 0; ops < 4; ops++) {
      problem q = problem_of(SGEMM_VARIANT_NONE, ops / 2 ? T : N, ops % 2 ? T : N, shapes[i][0], shapes[i][1],
                             shapes[i][2], ROUNDING);
      q.p.alpha = -0.7f;
      q.p.beta = 1.3f;
      cr_assert(sgemm_workspace_query(&q.p, &q.p.workspace_bytes) == SGEMM_SUCCESS);
      q.p.workspace_bytes = ops < 2 ? q.p.workspace_bytes / (1 + ops) : 0;
      CHECK(problem_solve(&q, schedule(ops)));
    }
}

/* The workspace has the bytes of the best tma plan, 16 bytes less, or 16 bytes less than repacking needs. The selected
   plan must fit, run and compute the right result. Tensor maps cannot describe operands with an odd leading dimension;
   if the workspace has no room to repack them, no tma plan fits. */
Test(selection, plans_fit_the_workspace) {
  sgemm_device device;
  int ops, pad, less, fit = 0, refused = 0;
  need_backend();
  cr_assert(sgemm_device_query(-1, &device) == SGEMM_SUCCESS);
  for (ops = 0; ops < 4 && sgemm_variant_get(tma_variant())->uses_tma; ops++)
    for (pad = 0; pad < 2; pad++)
      for (less = 0; less < 3; less++) {
        problem q = problem_of(SGEMM_VARIANT_NONE, ops / 2 ? T : N, ops % 2 ? T : N, 36, 40, 132, ROUNDING);
        sgemm_plan plan;
        int64_t bytes;
        q.p.lda += pad ? PRIME : 0;
        q.p.ldb += pad ? PRIME : 0;
        q.p.workspace_bytes = INT64_MAX;
        plan = sgemm_select(&q.p, SGEMM_STAGE_tma, &device);
        bytes = sgemm_plan_workspace(&plan, &q.p);
        cr_assert(pad ? bytes > 0 : !plan.repack_a && !plan.repack_b);
        if (less == 2) { /* the plan may also divide k: repacking alone needs less */
          plan = sgemm_variant_plan(plan.variant, &q.p);
          bytes = sgemm_plan_workspace(&plan, &q.p);
        }
        bytes -= less > 0 ? 16 : 0;
        q.p.workspace_bytes = bytes > 0 ? bytes : 0;
        problem_make(&q);
        CHECK(problem_upload(&q));
        plan = sgemm_select(&q.p, SGEMM_STAGE_tma, &device);
        if (plan.variant == SGEMM_VARIANT_NONE) {
          cr_assert(pad && less > 0);
          cr_assert(sgemm_run_stage(SGEMM_STAGE_tma, &q.p, NULL) == SGEMM_ERROR_WORKSPACE);
          refused++;
        } else {
          cr_assert(sgemm_plan_workspace(&plan, &q.p) <= q.p.workspace_bytes);
          cr_assert(sgemm_run_plan(&plan, &q.p, NULL) == SGEMM_SUCCESS);
          CHECK(problem_download(&q));
          CHECK(problem_check(&q));
          fit += plan.repack_a && plan.repack_b;
        }
        problem_free(&q);
      }
  cr_assert(ops == 0 || (fit > 0 && refused > 0), "%d plans repack, %d do not fit", fit, refused);
}

/* ---- SGEMM_WORKSPACE_AUTO ---------------------------------------------------------------------------------------- */

/* Calls with a workspace, for operands that tensor maps cannot describe or that are split, and without one. The plan
   and the bits are those of a caller's workspace with the bytes of sgemm_workspace_query(). */
Test(workspace_auto, same_bits_as_the_callers_workspace) {
  static const int64_t shapes[][4] = {
    {300, 310, 500, PRIME},
    {36, 40, 132, PRIME},
    {300, 310, 37, 0},
    {5, 6, 7, 0},
#if defined(MACHINE_CUDA) && MACHINE_CUDA
    {300, 310, 2500, PRIME} /* large enough for a workspace on a GPU of many SMs */
#endif
  };
  sgemm_device device;
  unsigned i;
  int mode, with_workspace = 0;
  need_backend();
  cr_assert(sgemm_device_query(-1, &device) == SGEMM_SUCCESS);
  for (i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (mode = SGEMM_STRICT; mode <= SGEMM_TENSOR_FULL; mode++) {
      problem q = problem_of(SGEMM_VARIANT_NONE, N, T, shapes[i][0], shapes[i][1], shapes[i][2], ROUNDING);
      sgemm_plan plan, automatic;
      sgemm_params p;
      float *bits;
      size_t bytes;
      q.p.mode = mode;
      q.p.beta = 0.5f;
      q.p.lda += shapes[i][3];
      q.p.ldb += shapes[i][3];
      cr_assert(sgemm_workspace_query(&q.p, &q.p.workspace_bytes) == SGEMM_SUCCESS);
      with_workspace += q.p.workspace_bytes > 0;
      problem_make(&q);
      bytes = (size_t)q.C.count * sizeof(float);
      CHECK(problem_upload(&q));
      p = q.p;
      p.workspace = NULL;
      p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
      plan = sgemm_select(&q.p, SGEMM_STAGE_ANY, &device);
      automatic = sgemm_select(&p, SGEMM_STAGE_ANY, &device);
      cr_assert(plan.variant == automatic.variant && plan.tensor == automatic.tensor &&
                plan.cluster_k == automatic.cluster_k && plan.split_k == automatic.split_k &&
                plan.stream_k == automatic.stream_k && plan.repack_a == automatic.repack_a &&
                plan.repack_b == automatic.repack_b);
      cr_assert(sgemm_run(&q.p, NULL) == SGEMM_SUCCESS);
      CHECK(problem_download(&q));
      bits = (float *)malloc(bytes);
      cr_assert(bits != NULL);
      memcpy(bits, q.C.after, bytes);
      CHECK(problem_upload(&q));
      cr_assert(sgemm_run(&p, NULL) == SGEMM_SUCCESS);
      CHECK(problem_download(&q));
      CHECK(problem_check(&q));
      cr_assert(memcmp(bits, q.C.after, bytes) == 0, "shape %u, mode %d", i, mode);
      CHECK(problem_upload(&q));
      cr_assert(sgemm_run_plan(&plan, &p, NULL) == SGEMM_SUCCESS);
      CHECK(problem_download(&q));
      cr_assert(memcmp(bits, q.C.after, bytes) == 0, "shape %u, mode %d, by the plan", i, mode);
      free(bits);
      problem_free(&q);
    }
  /* In a build of one stage no plan may need one. */
  cr_assert(with_workspace > 0 || !sgemm_tensor_compiled(), "no call has a workspace");
  cr_assert(sgemm_release_workspaces() == SGEMM_SUCCESS);
}

/* Its value is for a NULL workspace alone, and no other negative size is allowed. */
Test(workspace_auto, refusals) {
  problem q = problem_of(SGEMM_VARIANT_NONE, N, T, 5, 6, 70, EXACT);
  sgemm_params p;
  uint32_t reason;
  need_backend();
  q.p.workspace_bytes = 1024;
  problem_make(&q);
  CHECK(problem_upload(&q));
  p = q.p;
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  expect_status(&p, SGEMM_ERROR_WORKSPACE, "SGEMM_WORKSPACE_AUTO with a workspace");
  p.workspace = NULL;
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO - 1;
  expect_status(&p, SGEMM_ERROR_WORKSPACE, "another negative size");
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  cr_assert(sgemm_guard_query(&p, &reason, NULL) == SGEMM_ERROR_WORKSPACE, "the word of the guard is gone");
  CHECK(problem_download(&q));
  cr_assert(memcmp(q.C.before, q.C.after, (size_t)q.C.count * sizeof(float)) == 0, "C was written");
  problem_free(&q);
}

/* ---- sgemm_tune() ------------------------------------------------------------------------------------------------ */

/* A tuned plan computes the call, in the caller's workspace, in that of SGEMM_WORKSPACE_AUTO, and in none. Tuning
   writes neither C nor its padding, though beta is not 0. */
Test(tuned, plans_compute_and_c_stays) {
  static const int64_t workspaces[] = {1 << 20, SGEMM_WORKSPACE_AUTO, 0};
  unsigned i;
  int mode;
  need_backend();
  for (i = 0; i < sizeof workspaces / sizeof *workspaces; i++)
    for (mode = SGEMM_STRICT; mode <= SGEMM_TENSOR_FULL; mode++) {
      problem q = problem_of(SGEMM_VARIANT_NONE, N, T, 70, 90, 300, ROUNDING);
      sgemm_plan plan;
      sgemm_params p;
      sgemm_status status;
      double us = -1.0;
      q.p.mode = mode;
      q.p.beta = 0.5f;
      q.p.batch = 2;
      q.p.ldc += PRIME;
      q.p.stride_c = q.p.m * q.p.ldc;
      q.p.workspace_bytes = workspaces[i] > 0 ? workspaces[i] : 0;
      problem_make(&q);
      CHECK(problem_upload(&q));
      p = q.p;
      if (workspaces[i] == SGEMM_WORKSPACE_AUTO)
        p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
      status = sgemm_tune(&p, 6, &plan, &us, NULL);
      cr_assert(status == SGEMM_SUCCESS && us >= 0.0, "workspace %u, mode %d: status %d, %g us", i, mode, status, us);
      CHECK(problem_download(&q));
      cr_assert(memcmp(q.C.before, q.C.after, (size_t)q.C.count * sizeof(float)) == 0, "C was written");
      cr_assert(sgemm_run_plan(&plan, &p, NULL) == SGEMM_SUCCESS);
      CHECK(problem_download(&q));
      CHECK(problem_check(&q));
      problem_free(&q);
    }
  cr_assert(sgemm_release_workspaces() == SGEMM_SUCCESS);
}
