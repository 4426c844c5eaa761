/* Tests of sgemm_candidates() and sgemm_tune(), which need no kernel. This file includes the headers of the selection
   and of the launches with a device of its own. The device computes nothing, and its clock says what a test sets. */
#include "sgemm.h"
#include "sgemm/geometry.h"
#include "sgemm/args.h"
#include "sgemm/tensor_map.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tools/gpus.h"

typedef const void *sgemm__kernel;
static sgemm__kernel sgemm__kernels[SGEMM_VARIANT_COUNT][6]; /* a variant is compiled if its first is not NULL */
#define SGEMM__WITH_TENSOR 1
#define SGEMM__WITH_STAGE 1
#define SGEMM__WITH_MMA 1

#include "sgemm/select/tables.h"
#include "sgemm/select/calibration_h200.h"
#include "sgemm/select/workspace.h"
#include "sgemm/select/cost.h"
#include "sgemm/select/select.h"
#include "sgemm/select/candidates.h"
#include "sgemm/launch/device.h"
#include "sgemm/launch/grid.h"
#include "sgemm/launch/recent.h"
#include "sgemm/launch/target.h"
#include "sgemm/launch/sequence.h"
#include "tools/plans.h"

/* ---- The device -------------------------------------------------------------------------------------------------- */

enum { ERROR = SGEMM_ERROR_CUDA + 7, ALLOCATIONS = 8, EVER = 1000 };

/* What the device does, and what happened on it. Zeros: nothing fails. */
static struct {
  sgemm_device properties;
  int64_t limit;                                /* not 0: there is no memory for more bytes at once */
  int launch_fails, timer_fails, begin_fails;   /* 1: returns ERROR */
  int end_fails, time_fails;                    /* the number of the call that returns ERROR, from 1 on */
  double us[SGEMM_MAX_CANDIDATES], first_us;    /* of each sample; first_us: added to the first of each */
  int allocated, freed, zeroed;                 /* calls */
  int64_t bytes[ALLOCATIONS];                   /* of each allocation */
  int timers_open, opened, open;                /* timers; samples ever, and now */
  int ends, timed, taken[SGEMM_MAX_CANDIDATES]; /* calls; of each sample */
  int launches, recorded, recording;            /* launches in all, and of the sample that is being recorded */
  int per_run[SGEMM_MAX_CANDIDATES], runs[SGEMM_MAX_CANDIDATES]; /* launches, and runs, of each sample */
  sgemm__args last;                                              /* of the last launch */
} gpu;
static _Alignas(16) char memory[ALLOCATIONS][64];

static void reset(void) {
  static const int kernel;
  int v;
  memset(&gpu, 0, sizeof gpu);
#define X(name, device, arch)                                                                                          \
  gpu.properties = gpu.properties.lanes > 0 ? gpu.properties : (sgemm_device)GPU_DEVICE device;
  GPU_LIST(X)
#undef X
  gpu.properties.has_sm90a_code = 1;
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
    sgemm__kernels[v][0] = &kernel;
}

sgemm_status sgemm_device_query(int device, sgemm_device *out) {
  cr_assert(device == -1);
  *out = gpu.properties;
  return SGEMM_SUCCESS;
}

static sgemm_status sgemm__launch(int kernel, int ops, sgemm__grid grid, const void *args, sgemm_stream stream) {
  (void)kernel, (void)ops, (void)grid;
  cr_assert(stream == (sgemm_stream)2, "not the timer's stream");
  gpu.last = *(const sgemm__args *)args; /* the first member of each kernel's parameter */
  gpu.launches++;
  gpu.recorded += gpu.recording;
  return gpu.launch_fails ? (sgemm_status)ERROR : SGEMM_SUCCESS;
}

static sgemm_status sgemm__allocate(void **at, int64_t bytes, sgemm_stream stream) {
  cr_assert(stream == (sgemm_stream)2 && bytes > 0);
  if (gpu.limit > 0 && bytes > gpu.limit)
    return SGEMM_ERROR_WORKSPACE;
  cr_assert(gpu.allocated < ALLOCATIONS);
  gpu.bytes[gpu.allocated] = bytes;
  *at = memory[gpu.allocated++];
  return SGEMM_SUCCESS;
}

static sgemm_status sgemm__free(void *at, sgemm_stream stream) {
  cr_assert(stream == (sgemm_stream)2 && at != NULL);
  gpu.freed++;
  return SGEMM_SUCCESS;
}

static sgemm_status sgemm__set_zeros(void *at, int64_t bytes, sgemm_stream stream) {
  cr_assert(stream == (sgemm_stream)2 && gpu.allocated > 0);
  cr_assert(at == memory[gpu.allocated - 1] && bytes == gpu.bytes[gpu.allocated - 1]);
  gpu.zeroed++;
  return SGEMM_SUCCESS;
}

static sgemm_status sgemm__copy_word(uint32_t *to, const uint32_t *from, sgemm_stream stream) {
  (void)to, (void)from, (void)stream;
  return SGEMM_ERROR_UNAVAILABLE;
}

typedef struct sgemm__timer {
  sgemm_stream stream;
} sgemm__timer;

typedef struct sgemm__sample {
  int runs, number;
} sgemm__sample;

enum { SGEMM__SAMPLE_RUNS = 10 };

static sgemm_status sgemm__open_timer(sgemm__timer *timer, sgemm_stream stream) {
  cr_assert(stream == (sgemm_stream)1, "not the caller's stream");
  if (gpu.timer_fails)
    return (sgemm_status)ERROR;
  gpu.timers_open++;
  timer->stream = (sgemm_stream)2;
  return SGEMM_SUCCESS;
}

static void sgemm__close_timer(sgemm__timer *timer) {
  cr_assert(timer->stream == (sgemm_stream)2);
  gpu.timers_open--;
}

static sgemm_status sgemm__begin_sample(sgemm__timer *timer) {
  cr_assert(timer->stream == (sgemm_stream)2 && !gpu.recording);
  gpu.recorded = 0;
  gpu.recording = !gpu.begin_fails;
  return gpu.begin_fails ? (sgemm_status)ERROR : SGEMM_SUCCESS;
}

static sgemm_status sgemm__end_sample(sgemm__timer *timer, sgemm__sample *sample) {
  cr_assert(timer->stream == (sgemm_stream)2 && gpu.recording);
  gpu.recording = 0;
  if (++gpu.ends == gpu.end_fails)
    return (sgemm_status)ERROR;
  sample->number = gpu.opened++;
  gpu.open++;
  gpu.runs[sample->number] = sample->runs;
  gpu.per_run[sample->number] = gpu.recorded / sample->runs;
  cr_assert(gpu.recorded % sample->runs == 0);
  return SGEMM_SUCCESS;
}

static sgemm_status sgemm__time_sample(sgemm__timer *timer, sgemm__sample *sample, double *us) {
  cr_assert(timer->stream == (sgemm_stream)2);
  *us = gpu.us[sample->number] + (gpu.taken[sample->number]++ == 0 ? gpu.first_us : 0.0);
  return ++gpu.timed == gpu.time_fails ? (sgemm_status)ERROR : SGEMM_SUCCESS;
}

static void sgemm__close_sample(sgemm__sample *sample) {
  cr_assert(sample->number >= 0 && sample->number < gpu.opened);
  gpu.open--;
}

#include "sgemm/launch/calls.h"
#include "sgemm/launch/describe.h"
#include "sgemm/launch/tune.h"

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

static int same_plan(const sgemm_plan *a, const sgemm_plan *b) { return memcmp(a, b, sizeof *a) == 0; }

/* The addresses of operands, which nothing follows. */
static float *address(int number) { return (float *)(uintptr_t)(4096 * number); }

static sgemm_params call(sgemm_op op_a, sgemm_op op_b, int64_t m, int64_t n, int64_t k) {
  sgemm_params p = sgemm_params_init(op_a, op_b, m, n, k);
  p.mode = SGEMM_STRICT;
  p.A = address(1);
  p.B = address(2);
  p.C = address(3);
  return p;
}

enum { SHAPES = 80, SQUARES = 20, ALL = 1200 };

/* SQUARES squares of 128 to 1344, for some of which tensor cores are estimated to be faster by less than the margin of
   the selection. For the others the sizes are 1 to 4096 in m and n and 1 to 16384 in k, by three generators; one call
   in four is a batch. */
static sgemm_params shape(int i) {
  const int64_t m = 1LL << i % 13, n = 1LL << i * 5 % 13, k = 1LL << i * 11 % 15;
  sgemm_params p = call(i % 2 ? SGEMM_T : SGEMM_N, i / 2 % 2 ? SGEMM_T : SGEMM_N, m + i % 3, n + i % 5, k + i % 7);
  const int64_t square = 128 + 64 * i;
  if (i < SQUARES)
    return call(SGEMM_N, SGEMM_T, square, square, square);
  p.batch = i % 4 == 3 ? 1 + i : 1;
  p.beta = i % 3 == 0 ? 0.5f : 0.0f;
  return p;
}

/* Sets the bytes of the workspace, at an address. */
static void set_workspace(sgemm_params *p, int64_t bytes) {
  p->workspace = bytes > 0 ? (void *)address(5) : NULL;
  p->workspace_bytes = bytes;
}

/* ---- sgemm_candidates() ------------------------------------------------------------------------------------------ */

/* The first candidate is the selected plan. The others are different plans that the device can run in the workspace, in
   the order of their estimates; without workspace plans with clusters are among them. No strict candidate without a
   limit on the workspace is estimated to be faster than the selected plan. A smaller capacity gives the first ones. */
Test(candidates, in_order) {
  static const int64_t workspaces[] = {INT64_MAX, SGEMM_WORKSPACE_AUTO, 0, 100000};
  static sgemm_plan plans[ALL];
  static double us[ALL];
  int i, j, l, mode, more = 0, tensor = 0, of_strict = 0, clusters = 0;
  unsigned w;
  reset();
  for (i = 0; i < SHAPES; i++)
    for (mode = SGEMM_STRICT; mode <= SGEMM_TENSOR_FULL; mode++)
      for (w = 0; w < sizeof workspaces / sizeof *workspaces; w++) {
        sgemm_params p = shape(i);
        const sgemm_device *d = &gpu.properties;
        sgemm_plan selected, fewer[3];
        double fewer_us[3];
        int count, least;
        p.mode = mode;
        set_workspace(&p, workspaces[w]);
        if (workspaces[w] == SGEMM_WORKSPACE_AUTO)
          p.workspace = NULL;
        selected = sgemm_select(&p, SGEMM_STAGE_ANY, d);
        count = sgemm_candidates(&p, d, plans, us, ALL);
        cr_assert(count >= 1 && count < ALL && same_plan(&plans[0], &selected), "shape %d, mode %d", i, mode);
        for (j = 0; j < count; j++) {
          const int64_t bytes = sgemm_plan_workspace(&plans[j], &p);
          cr_assert(bytes != INT64_MAX && (p.workspace_bytes < 0 || bytes <= p.workspace_bytes));
          cr_assert(sgemm__check_plan(&plans[j], &p, d) == SGEMM_SUCCESS, "shape %d, plan %d", i, j);
          cr_assert(us[j] == sgemm_plan_estimate(&plans[j], &p, d) || p.workspace_bytes < 0);
          cr_assert(j < 2 || us[j] >= us[j - 1], "shape %d, plan %d of %d: %g us after %g us", i, j, count, us[j],
                    us[j - 1]);
          cr_assert(mode != SGEMM_STRICT || workspaces[w] == 100000 || us[j] >= us[0],
                    "shape %d, plan %d: %g us, selected %g us", i, j, us[j], us[0]);
          for (l = 0; l < j; l++)
            cr_assert(!same_plan(&plans[l], &plans[j]), "shape %d: plans %d and %d", i, l, j);
          tensor += plans[j].tensor != SGEMM_TENSOR_VARIANT_NONE && j > 0;
          of_strict += plans[j].tensor == SGEMM_TENSOR_VARIANT_NONE && plans[0].tensor != SGEMM_TENSOR_VARIANT_NONE;
        }
        for (j = 1; j < count && workspaces[w] == 0; j++)
          clusters += plans[j].cluster_k > 1;
        more += count > 8;
        least = sgemm_candidates(&p, d, fewer, fewer_us, 3);
        cr_assert(least == (count < 3 ? count : 3) && memcmp(fewer, plans, sizeof *plans * (size_t)least) == 0 &&
                      memcmp(fewer_us, us, sizeof *us * (size_t)least) == 0,
                  "shape %d, mode %d: others with a capacity of 3", i, mode);
        cr_assert(sgemm_candidates(&p, d, fewer, fewer_us, 1) == 1 && same_plan(fewer, &selected));
        cr_assert(sgemm_candidates(&p, d, NULL, NULL, 0) == 0);
      }
  cr_assert(more > SHAPES && tensor > SHAPES && of_strict > SHAPES && clusters > SHAPES, "%d, %d, %d, %d", more, tensor,
            of_strict, clusters);
}

/* If no variant that the device prefers is compiled, the candidates are of the others; if none is compiled, there are
   none. */
Test(candidates, of_a_stage) {
  static sgemm_plan plans[ALL];
  static double us[ALL];
  sgemm_params p = call(SGEMM_N, SGEMM_N, 300, 310, 320);
  int v, i, count;
  reset();
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
    if (sgemm__variant_get((sgemm_variant)v)->stage != SGEMM_STAGE_tiled)
      sgemm__kernels[v][0] = NULL;
  count = sgemm_candidates(&p, &gpu.properties, plans, us, ALL);
  cr_assert(count >= 2, "%d", count);
  for (i = 0; i < count; i++)
    cr_assert(sgemm__variant_get(plans[i].variant)->stage == SGEMM_STAGE_tiled);
  memset(sgemm__kernels, 0, sizeof sgemm__kernels);
  cr_assert(sgemm_candidates(&p, &gpu.properties, plans, us, ALL) == 0);
}

/* The plans that the tools time are plans that the device runs. With operands that tma has to pack none has serial
   split-K in the stage clustered, and with others some have. */
Test(candidates, of_the_tools) {
  static sgemm_plan plans[PLANS_MOST];
  int i, j, v, serial[2] = {0, 0};
  reset();
  for (i = 0; i < 4 * SHAPES; i++) {
    sgemm_params p = shape(i / 4);
    int packs;
    p.lda += i % 2;
    p.ldb += i / 2 % 2;
    packs = p.lda % 4 != 0 || p.ldb % 4 != 0;
    set_workspace(&p, i % 3 == 0 ? 0 : INT64_MAX);
    for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
      const int count = plans_of((sgemm_variant)v, &p, &gpu.properties, plans);
      for (j = 0; j < count; j++) {
        const sgemm_variant_info *info = sgemm__variant_get(plans[j].variant);
        cr_assert(sgemm__check_plan(&plans[j], &p, &gpu.properties) == SGEMM_SUCCESS, "shape %d, %s, plan %d", i,
                  info->name, j);
        serial[packs] += info->cluster_split_k && info->uses_tma && plans[j].serial_k > 1;
      }
    }
  }
  cr_assert(serial[0] > 0 && serial[1] == 0, "%d, %d", serial[0], serial[1]);
}

/* The candidates of a call that has no results are plans that may run too. */
Test(candidates, without_results) {
  static sgemm_plan plans[ALL];
  static double us[ALL];
  int i, j;
  reset();
  for (i = 0; i < 3 * SHAPES; i++) {
    sgemm_params p = shape(i / 3);
    int count;
    *(i % 3 == 0 ? &p.m : i % 3 == 1 ? &p.n : &p.batch) = 0;
    set_workspace(&p, i % 2 == 0 ? 0 : INT64_MAX);
    count = sgemm_candidates(&p, &gpu.properties, plans, us, ALL);
    cr_assert(count > 0);
    for (j = 0; j < count; j++)
      cr_assert(sgemm__check_plan(&plans[j], &p, &gpu.properties) == SGEMM_SUCCESS, "shape %d, plan %d", i, j);
  }
}

/* ---- sgemm_tune() ------------------------------------------------------------------------------------------------ */

/* Whatever happened, everything that was opened is closed. */
static void expect_closed(void) {
  cr_assert(gpu.timers_open == 0 && gpu.open == 0 && !gpu.recording && gpu.freed == gpu.allocated,
            "%d timers, %d samples, %d of %d arrays", gpu.timers_open, gpu.open, gpu.freed, gpu.allocated);
}

/* The fastest of the candidates is returned, with its time, wherever it is in the order. Each is timed as often as the
   others, but for those that are far slower. */
Test(tune, the_fastest_candidate) {
  enum { COUNT = 8, SLOW = 3 };
  const sgemm_params p = call(SGEMM_N, SGEMM_T, 300, 310, 320);
  sgemm_plan plans[COUNT], plan;
  double us[COUNT], taken;
  int fastest, i;
  for (fastest = 0; fastest < COUNT; fastest++) {
    reset();
    gpu.first_us = 7.0;
    for (i = 0; i < COUNT; i++)
      gpu.us[i] = i == fastest ? 9.5 : i == SLOW ? 50.0 : 10.0 + 0.1 * i;
    cr_assert(sgemm_candidates(&p, &gpu.properties, plans, us, COUNT) == COUNT);
    cr_assert(sgemm_tune(&p, COUNT, &plan, &taken, (sgemm_stream)1) == SGEMM_SUCCESS);
    cr_assert(same_plan(&plan, &plans[fastest]) && taken == 9.5, "%d: %g us", fastest, taken);
    cr_assert(gpu.opened == COUNT);
    expect_closed();
    for (i = 0; i < COUNT; i++) {
      const int slow = i == SLOW && fastest != SLOW;
      cr_assert(gpu.taken[i] == (slow ? 1 : (int)SGEMM__TUNE_ROUNDS), "sample %d: %d times", i, gpu.taken[i]);
      cr_assert(gpu.runs[i] == (200.0 / us[i] < 10.0 ? (int)(200.0 / us[i]) : 10) && gpu.per_run[i] >= 1,
                "sample %d: %d runs for %g us", i, gpu.runs[i], us[i]);
    }
    cr_assert(sgemm_tune(&p, COUNT, &plan, NULL, (sgemm_stream)1) == SGEMM_SUCCESS, "without a place for the time");
  }
}

/* A sample is one run of a plan that takes longer than a sample should. */
Test(tune, long_runs) {
  const sgemm_params p = call(SGEMM_N, SGEMM_N, 4000, 4100, 4200);
  sgemm_plan plan;
  reset();
  gpu.us[0] = gpu.us[1] = 1.0;
  cr_assert(sgemm_tune(&p, 2, &plan, NULL, (sgemm_stream)1) == SGEMM_SUCCESS && gpu.runs[0] == 1 && gpu.runs[1] == 1);
}

/* The runs write to zeros that are allocated in the place of the results, with their alignment, and read the caller's
   operands. order: the matrices of a column-major batch have columns. */
Test(tune, results_stay_as_they_are) {
  int place, order; /* place: 0: C, 1: D apart, 2: D that is C; and aux */
  for (order = SGEMM_ROW_MAJOR; order <= SGEMM_COL_MAJOR; order++)
    for (place = 0; place < 3; place++) {
      const int64_t rows = order == SGEMM_ROW_MAJOR ? 70 : 50, width = order == SGEMM_ROW_MAJOR ? 50 : 70;
      sgemm_params p = order == SGEMM_ROW_MAJOR ? sgemm_params_init(SGEMM_N, SGEMM_N, 70, 50, 30)
                                                : sgemm_params_init_col(SGEMM_N, SGEMM_N, 70, 50, 30);
      const sgemm__epilogue_args *e = &gpu.last.epilogue;
      sgemm_plan plan;
      reset();
      p.mode = SGEMM_STRICT;
      p.A = address(1);
      p.B = address(2);
      p.C = address(3) + 1;
      p.beta = 0.5f;
      p.batch = 3;
      p.ldc += 3;
      p.stride_c = rows * p.ldc + 5;
      if (place > 0) {
        p.epilogue = SGEMM_EPILOGUE_gelu;
        p.D = place == 2 ? p.C : address(4) + 2;
        p.ldd = p.ldc + 4 * (place == 1);
        p.stride_d = rows * p.ldd + 5;
        p.aux = address(6) + 3;
        p.ld_aux = width + 9;
        p.stride_aux = rows * p.ld_aux;
      }
      gpu.us[0] = 1.0;
      cr_assert(sgemm_tune(&p, 1, &plan, NULL, (sgemm_stream)1) == SGEMM_SUCCESS, "place %d", place);
      expect_closed();
      cr_assert(gpu.allocated == 1 + (place > 0) && gpu.zeroed == gpu.allocated, "place %d", place);
      cr_assert(gpu.bytes[0] == (place == 1 ? 8 : 4) + 4 * (2 * (rows * (width + 3 + 4 * (place == 1)) + 5) +
                                                            (rows - 1) * (width + 3 + 4 * (place == 1)) + width),
                "place %d: %lld bytes", place, (long long)gpu.bytes[0]);
      cr_assert((char *)gpu.last.C == memory[0] + (place == 1 ? 8 : 4), "place %d", place);
      cr_assert(place == 0 || (const char *)e->C == (place == 1 ? (const char *)p.C : memory[0] + 4), "old C");
      if (place > 0) {
        cr_assert((char *)e->aux == memory[1] + 12, "aux");
        cr_assert(gpu.bytes[1] == 12 + 4 * (2 * rows * (width + 9) + (rows - 1) * (width + 9) + width));
      }
      cr_assert(gpu.last.A == (order == SGEMM_ROW_MAJOR ? p.A : p.B));
    }
}

/* With SGEMM_WORKSPACE_AUTO one workspace serves all candidates. Plans for which there is no memory are left out, so
   that the tuned plan is another one. */
Test(tune, workspace) {
  enum { COUNT = 32 };
  sgemm_params p = call(SGEMM_N, SGEMM_T, 64, 64, 65536);
  sgemm_plan plans[COUNT], plan;
  double us[COUNT];
  int64_t most = 0;
  int i, with = 0, without = 0;
  reset();
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  cr_assert(sgemm_candidates(&p, &gpu.properties, plans, us, COUNT) == COUNT);
  for (i = 0; i < COUNT; i++) {
    const int64_t bytes = sgemm_plan_workspace(&plans[i], &p);
    gpu.us[i] = 1.0;
    with += bytes > 0;
    without += bytes == 0;
    most = bytes > most ? bytes : most;
  }
  cr_assert(with > 2 && without > 0 && sgemm_plan_workspace(&plans[0], &p) > 0, "%d and %d", with, without);
  cr_assert(sgemm_tune(&p, COUNT, &plan, NULL, (sgemm_stream)1) == SGEMM_SUCCESS && gpu.opened == COUNT);
  cr_assert(gpu.allocated == 2 && gpu.zeroed == 1 && gpu.bytes[1] == most);
  expect_closed();

  reset();
  gpu.limit = most - 1;
  cr_assert(sgemm_tune(&p, COUNT, &plan, NULL, (sgemm_stream)1) == SGEMM_SUCCESS);
  cr_assert(gpu.opened < COUNT && gpu.opened > without && gpu.allocated == 2 && gpu.bytes[1] < most);
  expect_closed();

  reset();
  gpu.limit = 4 * 64 * 64; /* C alone */
  cr_assert(sgemm_tune(&p, COUNT, &plan, NULL, (sgemm_stream)1) == SGEMM_SUCCESS);
  cr_assert(sgemm_plan_workspace(&plan, &p) <= gpu.limit && gpu.opened >= without && gpu.opened < COUNT);
  expect_closed();

  reset();
  set_workspace(&p, 1 << 20);
  gpu.us[0] = gpu.us[1] = 1.0;
  cr_assert(sgemm_tune(&p, 2, &plan, NULL, (sgemm_stream)1) == SGEMM_SUCCESS && gpu.allocated == 1);
  expect_closed();
}

/* After an error the plan and the time are as before, and everything is closed. */
Test(tune, errors) {
  sgemm_params p = call(SGEMM_N, SGEMM_T, 300, 310, 320);
  const sgemm_plan none = sgemm__plain_plan(SGEMM_VARIANT_NONE);
  int fault;
  reset();
  for (fault = 0; fault < 10; fault++) {
    sgemm_plan plan = none;
    double us = -1.0;
    sgemm_status want = (sgemm_status)ERROR, got;
    reset();
    gpu.us[0] = gpu.us[1] = gpu.us[2] = 1.0;
    gpu.launch_fails = fault == 0;
    gpu.timer_fails = fault == 1;
    gpu.begin_fails = fault == 2;
    gpu.end_fails = fault == 3 ? 1 : fault == 4 ? 3 : 0;
    gpu.time_fails = fault == 5 ? 1 : fault == 6 ? 5 : 0;
    gpu.limit = fault == 7 ? 4 * 300 * 310 - 1 : 0;
    if (fault == 7)
      want = SGEMM_ERROR_SCRATCH;
    p.m = fault == 8 ? -1 : 300;
    if (fault == 8)
      want = SGEMM_ERROR_M;
    if (fault == 9) {
      memset(sgemm__kernels, 0, sizeof sgemm__kernels);
      want = SGEMM_ERROR_NOT_COMPILED;
    }
    got = sgemm_tune(&p, 3, &plan, &us, (sgemm_stream)1);
    cr_assert(got == want, "fault %d: status %d", fault, got);
    cr_assert(same_plan(&plan, &none) && us == -1.0, "fault %d", fault);
    expect_closed();
  }
}

/* Arguments of its own, before those of the call, in the order of SGEMM_STATUS_LIST. */
Test(tune, bad_arguments) {
  sgemm_params p = call(SGEMM_N, SGEMM_T, 300, 310, 320);
  sgemm_plan plan;
  reset();
  p.order = 0;
  cr_assert(sgemm_tune(NULL, 0, NULL, NULL, NULL) == SGEMM_ERROR_PARAMS);
  cr_assert(sgemm_tune(&p, 0, NULL, NULL, NULL) == SGEMM_ERROR_PLAN);
  cr_assert(sgemm_tune(&p, 0, &plan, NULL, NULL) == SGEMM_ERROR_CANDIDATES);
  cr_assert(sgemm_tune(&p, SGEMM_MAX_CANDIDATES + 1, &plan, NULL, NULL) == SGEMM_ERROR_CANDIDATES);
  cr_assert(sgemm_tune(&p, SGEMM_MAX_CANDIDATES, &plan, NULL, NULL) == SGEMM_ERROR_ORDER);
  cr_assert(gpu.launches == 0 && gpu.allocated == 0);
}

/* Plans whose grid is too large are left out, and the others are timed. If all are, the call says so. */
Test(tune, large_grids) {
  sgemm_params p = call(SGEMM_N, SGEMM_T, 11270670550, 2, 1);
  sgemm_plan plan, plans[SGEMM_MAX_CANDIDATES];
  double us[SGEMM_MAX_CANDIDATES];
  int i, count, large = 0;
  reset();
  count = sgemm_candidates(&p, &gpu.properties, plans, us, SGEMM_MAX_CANDIDATES);
  for (i = 0; i < count; i++) {
    const sgemm__args args = sgemm__args_of(&p);
    large += !sgemm__variant_get(plans[i].variant)->uses_tma && !sgemm__tiles_fit(&plans[i], &args);
    gpu.us[i] = 2.0 + i;
  }
  cr_assert(large > 0 && large < count, "%d of %d", large, count);
  cr_assert(sgemm_tune(&p, SGEMM_MAX_CANDIDATES, &plan, NULL, (sgemm_stream)1) == SGEMM_SUCCESS);
  cr_assert(gpu.opened == count - large && same_plan(&plan, &plans[0]), "%d", gpu.opened);
  expect_closed();
  p.batch = (int64_t)1 << 40;
  p.stride_a = p.stride_b = 0;
  p.m = p.n = p.k = 1;
  p.lda = p.ldb = p.ldc = p.stride_c = 1;
  reset();
  cr_assert(sgemm_tune(&p, 8, &plan, NULL, (sgemm_stream)1) == SGEMM_ERROR_GRID);
  expect_closed();
}

/* A call that has nothing to compute gets the selected plan, without a launch. */
Test(tune, nothing_to_compute) {
  int mode;
  for (mode = 0; mode < 3; mode++) {
    sgemm_params p = call(SGEMM_N, SGEMM_T, 0, 310, 320);
    sgemm_plan plan, selected;
    double us = -1.0;
    reset();
    p.mode = mode == 0 ? SGEMM_STRICT : mode == 1 ? SGEMM_TENSOR : SGEMM_TENSOR_FULL;
    selected = sgemm_select(&p, SGEMM_STAGE_ANY, &gpu.properties);
    cr_assert(sgemm_tune(&p, 8, &plan, &us, NULL) == SGEMM_SUCCESS && same_plan(&plan, &selected) && us == 0.0);
    cr_assert(gpu.launches == 0 && gpu.allocated == 0);
  }
}
