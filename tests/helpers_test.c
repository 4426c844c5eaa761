/* Tests of the functions that need no kernel: FLOP and bytes, roofline, metrics, occupancy, tables, calibration,
   selection and launch sequences. This file includes the headers of the selection and of the launches with a device of
   its own. The device computes nothing and records each launch. */
#include "sgemm.h"
#include "sgemm/geometry.h"
#include "sgemm/args.h"
#include "sgemm/tensor_map.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* ---- Stubs of the kernels ---------------------------------------------------------------------------------------- */

/* A variant is compiled if its first kernel is not NULL. All tensor-core variants are compiled. */
typedef const void *sgemm__kernel;
static sgemm__kernel sgemm__kernels[SGEMM_VARIANT_COUNT][6];
#define SGEMM__WITH_TENSOR 1

static int with_stage = 1; /* 0: a build of the production variants */
#define SGEMM__WITH_STAGE with_stage
#define SGEMM__WITH_MMA with_stage

#include "sgemm/select/tables.h"
#include "sgemm/select/calibration_h200.h"
#include "sgemm/select/workspace.h"
#include "sgemm/select/cost.h"
#include "sgemm/select/select.h"
#include "sgemm/launch/device.h"
#include "sgemm/launch/grid.h"
#include "sgemm/launch/recent.h"
#include "sgemm/launch/target.h"
#include "sgemm/launch/sequence.h"
#include "sgemm/launch/calls.h"
#include "sgemm/launch/describe.h"

/* ---- Stub of a device -------------------------------------------------------------------------------------------- */

static sgemm_status resources_status;
static sgemm_device current;

/* The launches since a test last set `launches` to 0. */
enum { LAUNCHES = 6 * 1024 };
static struct {
  int kernel; /* a variant, or a kernel number of sgemm/args.h */
  sgemm__grid grid;
  sgemm__args args;
} launched[LAUNCHES];
static int launches;
static sgemm_status launch_status; /* of each launch */

/* What the pool of SGEMM_WORKSPACE_AUTO was asked for. */
static struct {
  int empty;     /* 1: there is no memory */
  int64_t limit; /* not 0: there is no memory of more bytes */
  int allocations, frees;
  int launches; /* before the last free */
  int64_t bytes;
} pool;
static char pool_memory[256];

sgemm_status sgemm_device_query(int device, sgemm_device *out) {
  cr_assert(device == -1);
  *out = current;
  return SGEMM_SUCCESS;
}

static sgemm_status sgemm__launch(int kernel, int ops, sgemm__grid grid, const void *args, sgemm_stream stream) {
  (void)ops, (void)stream;
  cr_assert(launches < LAUNCHES);
  launched[launches].kernel = kernel;
  launched[launches].grid = grid;
  launched[launches++].args = *(const sgemm__args *)args; /* the first member of each kernel's parameter */
  return launch_status;
}

static sgemm_status sgemm__allocate(void **memory, int64_t bytes, sgemm_stream stream) {
  (void)stream;
  cr_assert(launches == 0 && bytes > 0);
  *memory = pool_memory;
  pool.bytes = bytes;
  if (pool.empty || (pool.limit > 0 && bytes > pool.limit))
    return SGEMM_ERROR_WORKSPACE;
  pool.allocations++;
  return SGEMM_SUCCESS;
}

static sgemm_status sgemm__free(void *memory, sgemm_stream stream) {
  (void)stream;
  cr_assert(memory == pool_memory);
  pool.launches = launches;
  pool.frees++;
  return SGEMM_SUCCESS;
}

static sgemm_status sgemm__copy_word(uint32_t *to, const uint32_t *from, sgemm_stream stream) {
  (void)to, (void)from, (void)stream;
  return SGEMM_ERROR_UNAVAILABLE;
}

sgemm_status sgemm_kernel_resources(sgemm_variant variant, sgemm_op op_a, sgemm_op op_b, int *registers,
                                    int64_t *shared_bytes, int64_t *local_bytes) {
  (void)variant, (void)op_a, (void)op_b;
  *registers = 128;
  *shared_bytes = 16384;
  *local_bytes = 0;
  return resources_status;
}

/* Marks the variants of a stage as compiled. SGEMM_STAGE_ANY: all variants. */
static void set_compiled(sgemm_stage stage) {
  static const int kernel;
  int v;
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
    sgemm__kernels[v][0] = stage == SGEMM_STAGE_ANY || sgemm_variant_get((sgemm_variant)v)->stage == stage ? &kernel
                                                                                                           : NULL;
}

static int near(double got, double want, double within) { return fabs(got - want) <= within; }

/* ---- Version, parameters, table ---------------------------------------------------------------------------------- */

Test(version, number_and_string_agree) {
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", sgemm_version() / 10000, sgemm_version() / 100 % 100, sgemm_version() % 100);
  cr_assert_str_eq(text, SGEMM_VERSION_STRING);
  cr_assert(sgemm_version() == SGEMM_VERSION);
}

Test(params, packed) {
  static const struct {
    sgemm_op op_a, op_b;
    int64_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c;
  } cases[] = {{SGEMM_N, SGEMM_N, 5, 6, 7, 7, 6, 6, 35, 42, 30},
               {SGEMM_N, SGEMM_T, 5, 6, 7, 7, 7, 6, 35, 42, 30},
               {SGEMM_T, SGEMM_N, 5, 6, 7, 5, 6, 6, 35, 42, 30},
               {SGEMM_C, SGEMM_C, 5, 6, 7, 5, 7, 6, 35, 42, 30},
               {SGEMM_N, SGEMM_N, 5, 6, 0, 1, 6, 6, 5, 0, 30},
               {SGEMM_N, SGEMM_T, 0, 0, 0, 1, 1, 1, 0, 0, 0},
               {SGEMM_N, SGEMM_N, INT64_C(1) << 40, 3, 70000, 70000, 3, 3, (INT64_C(1) << 40) * 70000, 210000,
                (INT64_C(1) << 40) * 3}};
  unsigned i;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    const sgemm_params p = sgemm_params_init(cases[i].op_a, cases[i].op_b, cases[i].m, cases[i].n, cases[i].k);
    cr_assert(p.order == SGEMM_ROW_MAJOR && p.op_a == (int)cases[i].op_a && p.op_b == (int)cases[i].op_b);
    cr_assert(p.m == cases[i].m && p.n == cases[i].n && p.k == cases[i].k);
    cr_assert(p.lda == cases[i].lda && p.ldb == cases[i].ldb && p.ldc == cases[i].ldc, "case %u: ld %lld %lld %lld", i,
              (long long)p.lda, (long long)p.ldb, (long long)p.ldc);
    cr_assert(p.stride_a == cases[i].stride_a && p.stride_b == cases[i].stride_b && p.stride_c == cases[i].stride_c,
              "case %u", i);
    cr_assert(p.alpha == 1.0f && p.beta == 0.0f && p.batch == 1 && p.A == NULL && p.B == NULL && p.C == NULL);
  }
}

/* A column-major matrix is the transpose of the row-major matrix with its leading dimension: C' = op(B)' * op(A)'. */
Test(params, column_major) {
  static const sgemm_op ops[] = {SGEMM_N, SGEMM_T, SGEMM_C};
  static const int64_t sizes[][3] = {{5, 6, 7}, {5, 6, 0}, {0, 6, 7}, {5, 0, 7}, {INT64_C(1) << 40, 3, 70000}};
  unsigned i, a, b;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (a = 0; a < 3; a++)
      for (b = 0; b < 3; b++) {
        const int64_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
        const sgemm_params p = sgemm_params_init_col(ops[a], ops[b], m, n, k);
        const sgemm_params r = sgemm_params_init(ops[b], ops[a], n, m, k);
        cr_assert(p.order == SGEMM_COL_MAJOR && p.op_a == (int)ops[a] && p.op_b == (int)ops[b]);
        cr_assert(p.m == m && p.n == n && p.k == k);
        cr_assert(p.lda == r.ldb && p.ldb == r.lda && p.ldc == r.ldc, "case %u: ld %lld %lld %lld", i, (long long)p.lda,
                  (long long)p.ldb, (long long)p.ldc);
        cr_assert(p.stride_a == r.stride_b && p.stride_b == r.stride_a && p.stride_c == r.stride_c, "case %u", i);
        cr_assert(p.alpha == 1.0f && p.beta == 0.0f && p.batch == 1 && p.A == NULL && p.B == NULL && p.C == NULL);
        cr_assert(p.workspace == NULL && p.workspace_bytes == 0 && p.mode == SGEMM_STRICT);
        cr_assert(p.prepared_a == NULL && p.prepared_b == NULL);
      }
}

Test(table, variants_follow_the_grammar) {
  int v, w;
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    const sgemm_variant_info *r = sgemm_variant_get((sgemm_variant)v);
    char name[80];
    snprintf(name, sizeof name, "sgemm_%s_%dx%dx%d_%dx%d", r->stage_name, r->BM, r->BN, r->BK, r->TM, r->TN);
    cr_assert_str_eq(r->name, name);
    cr_assert(r->threads == r->BM / r->TM * (r->BN / r->TN) * r->slice_k + 128 * r->uses_tma && r->threads <= 1024 &&
                  r->blocks * r->threads <= 2048,
              "%s", name);
    cr_assert(r->cluster_split_k == (r->stage == SGEMM_STAGE_splitk || r->stage == SGEMM_STAGE_gemv ||
                                     r->stage == SGEMM_STAGE_clustered) &&
                  (r->slice_k == 1 || r->cluster_split_k || r->uses_tma || r->stage == SGEMM_STAGE_direct),
              "%s", name);
    cr_assert(r->uses_tma == (r->stage == SGEMM_STAGE_tma || r->stage == SGEMM_STAGE_clustered), "%s", name);
    cr_assert(r->bufs >= 3 ? r->shared >= 4 * r->bufs * r->BK * (r->BM + r->BN) : (r->shared > 0) == r->cluster_split_k,
              "%s", name);
    cr_assert(!r->cluster_split_k || r->shared >= 4 * r->slice_k * r->BM * r->BN, "%s: the results of all slices",
              name);
    cr_assert(r->reason[0] != '\0' && (int)r->stage >= 0 && r->stage < SGEMM_STAGE_COUNT, "%s", name);
    for (w = 0; w < v; w++)
      cr_assert(strcmp(name, sgemm_variant_get((sgemm_variant)w)->name) != 0, "%s comes twice", name);
  }
  cr_assert(sgemm_variant_get(SGEMM_VARIANT_COUNT) == NULL && sgemm_variant_get((sgemm_variant)-1) == NULL);
}

/* ---- Calibration ------------------------------------------------------------------------------------------------- */

/* Every variant has a row of plausible constants, and no variant has one with which it is never selected. */
Test(calibration, each_variant_has_a_rate) {
  int v;
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    const sgemm__variant_calibration *c = sgemm__calibration_of((sgemm_variant)v);
    const char *name = sgemm_variant_get((sgemm_variant)v)->name;
    const double *const factors[] = {c->fma_a, c->fma_b, c->load_a, c->load_b};
    int i;
    cr_assert(c->fma_clocks >= 1.0 / 128.0 && c->fma_clocks < 10.0 && c->wave > 0.0 && c->wave < 1e6,
              "%s: %g clocks for an FMA, %g for a wave", name, c->fma_clocks, c->wave);
    cr_assert(c->step > 0.0 && c->step < 1e5 && c->block > 0.0 && c->block < 1e6 && c->unaligned_c > 0.0 &&
                  c->unaligned_c < 1e6 && c->byte_clocks >= 1.0 / 512.0 && c->byte_clocks < 10.0,
              "%s: step %g, block %g, unaligned_c %g, %g clocks for a byte", name, c->step, c->block, c->unaligned_c,
              c->byte_clocks);
    for (i = 0; i < 4 * SGEMM__OPERAND_STATES; i++) {
      const double factor = factors[i / SGEMM__OPERAND_STATES][i % SGEMM__OPERAND_STATES];
      cr_assert(i % SGEMM__OPERAND_STATES == 0 ? factor == 1.0 : factor >= 0.01 && factor < 10.0, "%s: factor %d: %g",
                name, i, factor);
    }
  }
  for (v = 0; v < SGEMM_TENSOR_VARIANT_COUNT; v++) {
    const sgemm__tensor_calibration c = sgemm__tensor_calibration_of((sgemm_tensor_variant)v);
    cr_assert(c.k_block > 0.0 && c.k_block < 1e6 && c.overhead > 0.0 && c.overhead < 1e6, "%s: k_block %g, overhead %g",
              sgemm_tensor_variant_get((sgemm_tensor_variant)v)->name, c.k_block, c.overhead);
  }
  cr_assert(sgemm__calibration_of(SGEMM_VARIANT_NONE)->wave == 1e9);
  cr_assert(sgemm__calibration_of((sgemm_variant)-1)->wave == 1e9);
  cr_assert(sgemm__tensor_calibration_of(SGEMM_TENSOR_VARIANT_NONE).k_block == 1e9);
}

/* A row sets the constants of the variant that it names, in whatever order the two tables are. */
Test(calibration, bound_by_name) {
#define ROW(variant, ...) {SGEMM_##variant, "sgemm_" #variant, {__VA_ARGS__}},
  static const struct {
    int variant;
    const char *name;
    double columns[18];
  } rows[] = {SGEMM__H200_VARIANTS(ROW)}, tensor[] = {SGEMM__H200_TENSOR_VARIANTS(ROW)};
#undef ROW
  const int states = SGEMM__OPERAND_STATES - 1;
  unsigned i;
  int column;
  for (i = 0; i < sizeof rows / sizeof *rows; i++) {
    const sgemm_variant v = (sgemm_variant)rows[i].variant;
    const sgemm__variant_calibration *c = sgemm__calibration_of(v);
    const double *const factors[] = {c->fma_a, c->fma_b, c->load_a, c->load_b}, *row = rows[i].columns;
    cr_assert_str_eq(sgemm_variant_get(v)->name, rows[i].name);
    cr_assert(c->fma_clocks == 1.0 / row[0] && c->wave == row[1] && c->step == row[2] && c->block == row[3] &&
                  c->unaligned_c == row[4] && c->byte_clocks == 1.0 / row[5],
              "%s", rows[i].name);
    for (column = 0; column < 4 * states; column++)
      cr_assert(factors[column / states][1 + column % states] == row[6 + column] / 100.0, "%s, factor %d", rows[i].name,
                column);
  }
  for (i = 0; i < sizeof tensor / sizeof *tensor; i++) {
    const sgemm_tensor_variant v = (sgemm_tensor_variant)tensor[i].variant;
    const sgemm__tensor_calibration c = sgemm__tensor_calibration_of(v);
    cr_assert_str_eq(sgemm_tensor_variant_get(v)->name, tensor[i].name);
    cr_assert(c.k_block == tensor[i].columns[0] && c.overhead == tensor[i].columns[1], "%s", tensor[i].name);
  }
}

/* ---- Counts ------------------------------------------------------------------------------------------------------ */

Test(counts, worked_examples) {
  cr_assert(sgemm_flops(1024, 2048, 512) == 2147483648.0);
  cr_assert(sgemm_min_bytes(1024, 2048, 512, 0.5f) == 23068672.0);
  cr_assert(near(sgemm_intensity(2147483648.0, 23068672.0), 93.1, 0.05));
  cr_assert(sgemm_flops(4096, 4096, 4096) == 137438953472.0);
  cr_assert(sgemm_min_bytes(4096, 4096, 4096, 1.0f) == 268435456.0);
  cr_assert(sgemm_intensity(137438953472.0, 268435456.0) == 512.0);
  cr_assert(sgemm_flops(2048, 2048, 2048) == 17179869184.0);
}

/* FLOP reach 2^31 at m = n = k = 1024. Bytes of one matrix exceed 2^31 at 23,171. */
Test(counts, no_overflow) {
  const int64_t big = INT64_C(1) << 20;
  cr_assert(sgemm_flops(1024, 1024, 1024) == 2147483648.0);
  cr_assert(sgemm_flops(1291, 1291, 1291) == 4303370342.0);
  cr_assert(sgemm_min_bytes(23171, 23171, 23171, 0.0f) == 6442742892.0);
  cr_assert(sgemm_min_bytes(23171, 23171, 23171, 1.0f) == 8590323856.0);
  cr_assert(sgemm_flops(big, big, big) == 0x1p61);
  cr_assert(sgemm_min_bytes(big, big, big, 1.0f) == 0x1p44);
  cr_assert(sgemm_flops(0, 5, 7) == 0.0 && sgemm_min_bytes(0, 0, 7, 1.0f) == 0.0);
}

/* C is read only if beta is not 0: n/8 FLOP per byte with C, n/6 without. */
Test(counts, beta_zero_reads_no_C) {
  int64_t n;
  cr_assert(sgemm_min_bytes(5, 6, 7, 0.0f) == 4.0 * (35 + 42 + 30));
  cr_assert(sgemm_min_bytes(5, 6, 7, -0.0f) == 4.0 * (35 + 42 + 30));
  cr_assert(sgemm_min_bytes(5, 6, 7, -1.5f) == 4.0 * (35 + 42 + 30 + 30));
  for (n = 3; n < 100000; n = 3 * n + 1) {
    cr_assert(near(sgemm_intensity(sgemm_flops(n, n, n), sgemm_min_bytes(n, n, n, 1.0f)), (double)n / 8, 1e-9));
    cr_assert(near(sgemm_intensity(sgemm_flops(n, n, n), sgemm_min_bytes(n, n, n, 0.0f)), (double)n / 6, 1e-9));
  }
  cr_assert(sgemm_intensity(8.0, 0.0) == 0.0);
}

/* ---- Roofline and metrics ---------------------------------------------------------------------------------------- */

Test(roofline, ridge_and_sides) {
  cr_assert(near(sgemm_ridge(19500.0, 768.0), 25.4, 0.05));
  cr_assert(sgemm_ridge(12000.0, 1000.0) * 4 == 48.0, "FLOP per 4-byte load");
  cr_assert(sgemm_attainable(19500.0, 768.0, 10.0) == 7680.0);
  cr_assert(sgemm_attainable(19500.0, 768.0, 512.0) == 19500.0);
  cr_assert(sgemm_attainable(12000.0, 1000.0, 12.0) == 12000.0);
  cr_assert(sgemm_attainable(12000.0, 1000.0, 0.0) == 0.0);
  cr_assert(sgemm_bound_at(12000.0, 1000.0, 11.999) == SGEMM_BOUND_MEMORY);
  cr_assert(sgemm_bound_at(12000.0, 1000.0, 12.0) == SGEMM_BOUND_COMPUTE);
  cr_assert(sgemm_bound_at(12000.0, 1000.0, 512.0) == SGEMM_BOUND_COMPUTE);
}

Test(metrics, worked_examples) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 4096, 4096, 4096);
  sgemm_metrics r;
  p.beta = 1.0f;
  r = sgemm_metrics_of(&p, 7.05, 38989.8, 6.345);
  cr_assert(r.elapsed_ms == 7.05);
  cr_assert(near(r.gflops, 19494.9, 0.05), "%g", r.gflops);
  cr_assert(near(r.bandwidth_gbs, 38.0759, 1e-4), "%g", r.bandwidth_gbs);
  cr_assert(near(r.intensity, 512.0, 1e-9));
  cr_assert(near(r.percent_of_peak, 50.0, 1e-3) && near(r.percent_of_cublas, 90.0, 1e-9));
}

Test(metrics, batches_and_unknown_references) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 100, 200, 300);
  sgemm_metrics r;
  p.batch = 5;
  r = sgemm_metrics_of(&p, 2.0, 0.0, 0.0);
  cr_assert(near(r.gflops, 5 * 12e6 / 2e6, 1e-9));
  cr_assert(near(r.bandwidth_gbs, 5 * 4 * 110e3 / 2e6, 1e-9));
  cr_assert(near(r.intensity, 12e6 / 440e3, 1e-9));
  cr_assert(r.percent_of_peak == 0.0 && r.percent_of_cublas == 0.0);
}

Test(metrics, print_one_line) {
  const sgemm_metrics r = {7.05, 19494.9, 38.08, 512.0, 50.0, 90.0};
  char line[400] = "";
  FILE *file = tmpfile();
  int length;
  cr_assert(file != NULL);
  length = sgemm_metrics_print(file, "4096 cubed", &r);
  rewind(file);
  cr_assert(fgets(line, sizeof line, file) != NULL && fgetc(file) == EOF);
  cr_assert(length == (int)strlen(line) && strchr(line, '\n') == line + length - 1, "one line and its end: %s", line);
  cr_assert(strncmp(line, "4096 cubed: 7.05", 16) == 0 && strstr(line, "19495 GFLOP/s") != NULL, "%s", line);
  fclose(file);
}

/* ---- Occupancy --------------------------------------------------------------------------------------------------- */

static sgemm_device h200(void) {
  sgemm_device d;
  memset(&d, 0, sizeof d);
  d.code_arch = 90;
  d.has_sm90a_code = 1;
  d.multiprocessors = 132;
  d.lanes = 128;
  d.clock_mhz = 1980;
  d.threads_per_sm = 2048;
  d.blocks_per_sm = 32;
  d.registers_per_sm = 65536;
  d.shared_per_sm = 228 * 1024;
  d.shared_per_block = 227 * 1024;
  d.shared_reserved = 1024;
  d.cluster_limit = 16;
  d.l2_bytes = 50 << 20;
  d.bandwidth_gbs = 4814.7;
  return d;
}

Test(occupancy, worked_examples) {
  static const struct {
    int threads, registers;
    int64_t shared;
    int blocks, warps;
    sgemm_limit limit;
  } cases[] = {
      {1024, 32, 8192, 2, 64, SGEMM_LIMIT_THREADS},   /* 2048 / 1024 */
      {48, 32, 0, 32, 64, SGEMM_LIMIT_THREADS},       /* 48 threads take the room of 64 */
      {32, 32, 0, 32, 32, SGEMM_LIMIT_BLOCKS},        /* threads allow 64 blocks of one warp, the SM 32 */
      {256, 128, 8448, 2, 16, SGEMM_LIMIT_REGISTERS}, /* 4096 a warp: 4 warps a sub-partition, 16 in all */
      {256, 255, 0, 1, 8, SGEMM_LIMIT_REGISTERS},     /* 8192 a warp after rounding: 2 warps a sub-partition */
      {1024, 33, 0, 1, 32, SGEMM_LIMIT_REGISTERS}, /* 1280 a warp after rounding: 12 warps a sub-partition, 48 in all */
      {32, 96, 0, 20, 20, SGEMM_LIMIT_REGISTERS},  /* 3072 a warp: 5 warps a sub-partition; all registers hold 21 */
      {1024, 128, 0, 0, 0, SGEMM_LIMIT_REGISTERS}, /* registers for 16 warps, the block has 32 */
      {128, 40, 49152, 4, 16, SGEMM_LIMIT_SHARED}, /* 49152 + 1024 reserved bytes: 4.65 blocks */
      {128, 32, 115712, 2, 8, SGEMM_LIMIT_SHARED}, /* 113 KiB + 1 KiB: half of 228 KiB */
      {128, 32, 115713, 1, 4, SGEMM_LIMIT_SHARED}, /* shared memory is allocated by 128 bytes */
  };
  const sgemm_device d = h200();
  unsigned i;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    const sgemm_occupancy o = sgemm_occupancy_of(&d, cases[i].threads, cases[i].registers, cases[i].shared);
    cr_assert(o.blocks == cases[i].blocks && o.warps == cases[i].warps && o.limit == cases[i].limit,
              "case %u: %d blocks, %d warps, limit %d", i, o.blocks, o.warps, o.limit);
    cr_assert(o.fraction == cases[i].warps / 64.0, "case %u: %g", i, o.fraction);
  }
}

Test(occupancy, of_a_variant) {
  sgemm_device d = h200();
  sgemm_occupancy o = {-1, -1, -1.0, SGEMM_LIMIT_THREADS};
  int v;
  resources_status = SGEMM_ERROR_UNAVAILABLE;
  cr_assert(sgemm_variant_occupancy((sgemm_variant)0, SGEMM_N, SGEMM_N, &d, &o) == SGEMM_ERROR_UNAVAILABLE);
  cr_assert(o.blocks == -1, "untouched on error");
  resources_status = SGEMM_SUCCESS;
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    const sgemm_variant_info *r = sgemm_variant_get((sgemm_variant)v);
    for (d.has_sm90a_code = 0; d.has_sm90a_code <= 1; d.has_sm90a_code++) {
      const int threads = r->uses_tma && !d.has_sm90a_code ? r->threads - 128 : r->threads;
      const sgemm_occupancy want = sgemm_occupancy_of(&d, threads, 128, 16384);
      cr_assert(sgemm_variant_threads(r, &d) == threads, "%s", r->name);
      cr_assert(sgemm_variant_occupancy((sgemm_variant)v, SGEMM_N, SGEMM_N, &d, &o) == SGEMM_SUCCESS);
      cr_assert(o.blocks == want.blocks && o.warps == want.warps && o.limit == want.limit, "%s", r->name);
    }
  }
}

/* ---- Selection --------------------------------------------------------------------------------------------------- */

static const int64_t SIZES[] = {1, 3, 31, 64, 129, 1000, 4096, 70000};
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES };

/* Shape i of SHAPES: m, n and k from SIZES. Batch, ops and order change with i. */
static sgemm_params shape(int i) {
  sgemm_params p = sgemm_params_init(i % 2 ? SGEMM_T : SGEMM_N, i % 5 ? SGEMM_N : SGEMM_T, SIZES[i % SIZE_COUNT],
                                     SIZES[i / SIZE_COUNT % SIZE_COUNT], SIZES[i / SIZE_COUNT / SIZE_COUNT]);
  p.batch = 1 + i % 3;
  if (i % 7 == 0) { /* the kernel takes A and B exchanged */
    p.order = SGEMM_COL_MAJOR;
    p.lda = p.ldb = p.ldc = SIZES[SIZE_COUNT - 1];
    p.stride_c = p.ldc * SIZES[SIZE_COUNT - 1];
  }
  return p;
}
enum { SHAPES = SIZE_COUNT * SIZE_COUNT * SIZE_COUNT };

/* Devices: each number of SMs with each architecture. An architecture is the code arch, the largest shared memory of a
   block in KiB (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"), and 1 if the code is
   for sm_90a. */
static const int MULTIPROCESSORS[] = {1, 58, 108, 132, 142};
static const int ARCHITECTURES[][3] = {{75, 64, 0},  {80, 163, 0}, {86, 99, 0},   {89, 99, 0},
                                       {90, 227, 0}, {90, 227, 1}, {100, 227, 0}, {120, 99, 0}};
enum { ARCHITECTURE_COUNT = sizeof ARCHITECTURES / sizeof *ARCHITECTURES, DEVICES = 5 * ARCHITECTURE_COUNT };

static sgemm_device device(int i) {
  const int *arch = ARCHITECTURES[i / 5];
  sgemm_device d = h200();
  d.code_arch = arch[0];
  d.shared_per_block = arch[1] * 1024;
  d.has_sm90a_code = arch[2];
  d.multiprocessors = MULTIPROCESSORS[i % 5];
  d.lanes = arch[0] <= 80 ? 64 : 128;
  d.clock_mhz = 1800;
  d.bandwidth_gbs = 2000.0;
  d.l2_bytes = 40 << 20;
  d.cluster_limit = i % 2 ? 16 : 0; /* 0: clusters of 8 */
  return d;
}

static int same_plan(const sgemm_plan *a, const sgemm_plan *b) {
  return a->variant == b->variant && a->tensor == b->tensor && a->tensor_fallback == b->tensor_fallback &&
         a->cluster_k == b->cluster_k && a->split_k == b->split_k && a->stream_k == b->stream_k &&
         a->serial_k == b->serial_k && a->slices_m == b->slices_m && a->slices_n == b->slices_n &&
         a->slices_k == b->slices_k && a->repack_a == b->repack_a && a->repack_b == b->repack_b;
}

/* Sets valid addresses. No call may follow them. Tensor maps can describe operands at these addresses. */
static void set_addresses(sgemm_params *p, int64_t workspace_bytes) {
  static _Alignas(16) float somewhere[4];
  p->A = p->B = p->C = somewhere;
  p->workspace = workspace_bytes > 0 ? (void *)(uintptr_t)4096 : NULL;
  p->workspace_bytes = workspace_bytes;
}

/* The selection returns equal plans for equal arguments, in any order of the calls. */
Test(selection, pure) {
  const sgemm_device d = h200(), other_device = device(0);
  sgemm_plan first[SHAPES];
  int i;
  set_compiled(SGEMM_STAGE_ANY);
  for (i = 0; i < SHAPES; i++) {
    sgemm_params p = shape(i);
    p.workspace_bytes = i % 4 * (1 << 20);
    first[i] = sgemm_select(&p, SGEMM_STAGE_ANY, &d);
    cr_assert(sgemm_variant_get(first[i].variant) != NULL);
  }
  for (i = SHAPES - 1; i >= 0; i--) {
    sgemm_params p = shape(i), other = shape((i * 7 + 1) % SHAPES);
    sgemm_plan again;
    p.workspace_bytes = i % 4 * (1 << 20);
    sgemm_select(&other, SGEMM_STAGE_doublebuffered, &other_device);
    again = sgemm_select(&p, SGEMM_STAGE_ANY, &d);
    cr_assert(same_plan(&again, &first[i]), "shape %d", i);
  }
}

Test(selection, only_compiled_variants_of_the_stage) {
  const sgemm_device d = h200();
  int s, t, i;
  for (s = 0; s <= SGEMM_STAGE_ANY; s++)
    for (t = 0; t <= SGEMM_STAGE_ANY; t++) {
      set_compiled((sgemm_stage)s);
      for (i = 0; i < SHAPES; i += 5) {
        sgemm_params p = shape(i);
        sgemm_variant v;
        p.workspace_bytes = INT64_MAX;
        v = sgemm_select(&p, (sgemm_stage)t, &d).variant;
        if (s != SGEMM_STAGE_ANY && t != SGEMM_STAGE_ANY && s != t)
          cr_assert(v == SGEMM_VARIANT_NONE, "stage %d of a build with %d only", t, s);
        else
          cr_assert(v != SGEMM_VARIANT_NONE && sgemm_compiled(v) &&
                        (t == SGEMM_STAGE_ANY || sgemm_variant_get(v)->stage == (sgemm_stage)t),
                    "stage %d of a build with %d", t, s);
      }
    }
  memset(sgemm__kernels, 0, sizeof sgemm__kernels);
  for (i = 0; i < SHAPES; i += 5) {
    const sgemm_params p = shape(i);
    cr_assert(sgemm_select(&p, SGEMM_STAGE_ANY, &d).variant == SGEMM_VARIANT_NONE, "a build without any variant");
  }
}

/* In each build the variants that are selected are in production for the device. Those for older GPUs are selected. */
Test(selection, prefers_production_variants) {
  static const int archs[] = {75, 80, 89, 90};
  int i, a;
  set_compiled(SGEMM_STAGE_ANY);
  for (a = 0; a < 4; a++) {
    sgemm_device d = h200();
    int older = 0;
    d.code_arch = archs[a];
    d.has_sm90a_code = archs[a] == 90;
    for (i = 0; i < 2 * SHAPES; i++) {
      const sgemm_params p = shape(i % SHAPES);
      int production;
      with_stage = i / SHAPES;
      production = sgemm_variant_get(sgemm_select(&p, SGEMM_STAGE_ANY, &d).variant)->production;
      cr_assert(production == 1 || production >= archs[a], "shape %d, code for sm_%d", i, archs[a]);
      older += production > 1;
    }
    cr_assert((older > 0) == (archs[a] < 90), "code for sm_%d", archs[a]);
  }
}

/* The selection leaves out variants and plans by lower bounds, which no estimate is below. It still finds the lowest
   estimate of all plans. */
Test(selection, finds_the_lowest_estimate) {
  static const int64_t workspaces[] = {0, 1 << 20, INT64_MAX};
  int i;
  set_compiled(SGEMM_STAGE_ANY);
  for (i = 0; i < SHAPES; i++) {
    const sgemm_device own_device = i % 2 ? h200() : device(i / 2 % DEVICES), *d = &own_device;
    sgemm_params p = shape(i);
    double lowest = 1e300;
    sgemm__problem q;
    sgemm_plan found;
    int v, number;
    set_addresses(&p, workspaces[i % 3]);
    q = sgemm__problem_of(&p, d, &sgemm__h200);
    found = sgemm_select(&p, SGEMM_STAGE_ANY, d);
    for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
      const sgemm__variant_calibration *own = sgemm__calibration_of((sgemm_variant)v);
      const sgemm__candidate r = sgemm__candidate_of((sgemm_variant)v, own, &q, &sgemm__h200);
      const sgemm__tile_sizes *t = sgemm__tile_sizes_of((sgemm_variant)v);
      sgemm_plan plan = sgemm__plain_plan((sgemm_variant)v);
      for (number = 0; number < SGEMM__PLAN_NUMBERS && sgemm__is_preferred(t, &q, d->code_arch); number++) {
        if (sgemm__numbered_plan(number, &r, &q, &plan) && sgemm__possible(&plan, d)) {
          sgemm__best above = {plan, 0.0, 0.0};
          double cost;
          sgemm__decide_repack(&plan, &q.args, INT64_MAX);
          cost = sgemm__cost(&plan, &r, &q, &sgemm__h200);
          above.cost = cost * (1.0 + 1e-12);
          above.limit = sgemm__without_power(above.cost, q.power);
          sgemm__decide_repack(&plan, &q.args, p.workspace_bytes);
          if (sgemm_plan_workspace(&plan, &p) > p.workspace_bytes)
            continue;
          if (plan.serial_k > 1)
            cr_assert(sgemm__has_serial(t, &q) && sgemm__serial_bound(t, own, &q) < sgemm__bound_limit(&above, &q) &&
                          sgemm__may_be_serial(above.limit, &r, &q),
                      "shape %d, %s, plan %d", i, r.v->name, number);
          else
            cr_assert(sgemm__bound_of(t, own, &q) < sgemm__bound_limit(&above, &q) &&
                          (sgemm__summed_parts(&plan) == 1 || sgemm__may_be_summed(above.limit, &r, &q)) &&
                          (plan.cluster_k == 1 || sgemm__may_be_clustered(above.limit, &r, &q, &sgemm__h200)),
                      "shape %d, %s, plan %d", i, r.v->name, number);
          cr_assert(sgemm__may_take_less(above.limit, &plan, &r, &q, &sgemm__h200), "shape %d, %s, plan %d", i,
                    r.v->name, number);
          if (cost < lowest)
            lowest = cost;
        }
      }
    }
    cr_assert(found.variant != SGEMM_VARIANT_NONE);
    {
      const sgemm__variant_calibration *own = sgemm__calibration_of(found.variant);
      const sgemm__candidate r = sgemm__candidate_of(found.variant, own, &q, &sgemm__h200);
      sgemm__decide_repack(&found, &q.args, INT64_MAX);
      cr_assert(sgemm__cost(&found, &r, &q, &sgemm__h200) <= lowest * (1.0 + 1e-12), "shape %d", i);
    }
  }
}

/* A build of the production variants refuses a plan whose variant has no code for the device. A variant that is not
   compiled has a status of its own. */
Test(selection, variants_for_older_gpus) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 72, 80, 96);
  int i;
  set_compiled(SGEMM_STAGE_ANY);
  set_addresses(&p, 0);
  current = h200();
  current.has_sm90a_code = 0;
  for (i = 0; i < SGEMM_VARIANT_COUNT * 4; i++) {
    const int v = i / 4, compiled = i % 2, production = sgemm_variant_get((sgemm_variant)v)->production;
    const sgemm_plan plan = sgemm_variant_plan((sgemm_variant)v, &p);
    with_stage = i / 2 % 2;
    if (compiled && production == 0 && !with_stage)
      continue; /* no such build */
    sgemm__kernels[v][0] = compiled ? "a kernel" : NULL;
    for (current.code_arch = 75; current.code_arch <= 90; current.code_arch += 5) {
      const int has_code = with_stage || production <= 1 || production >= current.code_arch;
      const int possible = current.code_arch == 90 || !sgemm_variant_get((sgemm_variant)v)->uses_tma;
      const sgemm_status want = !possible || (compiled && !has_code) ? SGEMM_ERROR_PLAN
                                : compiled                           ? SGEMM_SUCCESS
                                                                     : SGEMM_ERROR_NOT_COMPILED;
      launches = 0;
      cr_assert(sgemm_run_plan(&plan, &p, NULL) == want && launches == (want == SGEMM_SUCCESS),
                "%s, code for sm_%d, stage %d, compiled %d", sgemm_variant_get((sgemm_variant)v)->name,
                current.code_arch, with_stage, compiled);
    }
  }
}

/* 1 if a tensor map can describe an operand: all rows start on 16 bytes, and the stride is a multiple of ld. */
static int can_map(const float *X, int64_t ld, int64_t batch, int64_t stride) {
  return ((uintptr_t)X | (uintptr_t)(4 * ld)) % 16 == 0 && (batch == 1 || stride % ld == 0);
}

/* Bytes of an operand that is packed K-major. */
static int64_t packed_bytes(int64_t rows, int64_t k, int64_t batch, int64_t stride) {
  return 4 * ((rows + 127) / 128 * 128) * ((k + 63) / 64 * 64) * (stride == 0 ? 1 : batch);
}

/* Checks which operands a tma plan repacks: those that tensor maps cannot describe; and B of op NN if C has 2049 rows
   or more, k is 512 or more, and the workspace has room for it and the rest of the plan. In column-major order the
   kernel takes A and B exchanged. */
static void check_repacks(const sgemm_params *p, const sgemm_plan *plan, int i, int which) {
  const sgemm_variant_info *v = sgemm_variant_get(plan->variant);
  const int row_major = p->order == SGEMM_ROW_MAJOR;
  const int64_t m = row_major ? p->m : p->n, n = row_major ? p->n : p->m;
  const int64_t stride_a = row_major ? p->stride_a : p->stride_b, stride_b = row_major ? p->stride_b : p->stride_a;
  const int map_a = can_map(row_major ? p->A : p->B, row_major ? p->lda : p->ldb, p->batch, stride_a);
  const int map_b = can_map(row_major ? p->B : p->A, row_major ? p->ldb : p->lda, p->batch, stride_b);
  const int64_t bytes_a = map_a ? 0 : packed_bytes(m, p->k, p->batch, stride_a);
  const int64_t bytes_b = packed_bytes(n, p->k, p->batch, stride_b);
  const int64_t partials = 4 * 2 * (int64_t)plan->stream_k * v->BM * v->BN;
  const int faster = p->op_a == SGEMM_N && p->op_b == SGEMM_N && m > 2048 && p->k >= 512 &&
                     p->workspace_bytes >= bytes_a + bytes_b + partials;
  cr_assert(plan->repack_a == !map_a && plan->repack_b == (!map_b || faster), "shape %d, device %d: repack %d, %d", i,
            which, plan->repack_a, plan->repack_b);
}

/* Checks the launches of a tma plan. If the last wave is partial and stream-K is on, stream_k persistent blocks compute
   the tiles of the batch. Otherwise the number of persistent blocks is the smaller one of tiles and block slots. A
   block ends after about 32768 k of tiles, or after a tile of 8192 k, and another one takes its block slot. In stage
   clustered a cluster of blocks computes one tile. */
static void check_tma_launches(const sgemm_params *p, const sgemm_plan *plan, int64_t tiles, const char *entry, int i,
                               int which) {
  const sgemm_variant_info *v = sgemm_variant_get(plan->variant);
  const int64_t slots = (int64_t)current.multiprocessors * v->resident, all = tiles * p->batch;
  const int64_t rest = plan->stream_k > 0 ? all % plan->stream_k : 0;
  const int64_t persistent = rest > 0 ? plan->stream_k : all < slots ? all : slots;
  const int64_t waves = rest > 0 ? all / persistent : (all + persistent - 1) / persistent;
  const int64_t tiles_per_block = p->k < 8192 ? 32768 / (p->k + 1) + 1 : 1;
  const int64_t waves_of_blocks = waves <= tiles_per_block ? 1 : (waves + tiles_per_block - 1) / tiles_per_block;
  const int64_t blocks = v->cluster_split_k ? all * plan->cluster_k : persistent * waves_of_blocks;
  const int repacks = plan->repack_a || plan->repack_b;
  int l;
  check_repacks(p, plan, i, which);
  cr_assert(launches == repacks + 1 + (rest > 0), "%s, shape %d, device %d: %d launches", entry, i, which, launches);
  cr_assert(!repacks || launched[0].kernel == SGEMM__PACK);
  cr_assert(launched[repacks].kernel == (int)plan->variant && launched[repacks].grid.x == blocks &&
                launched[repacks].grid.shared == (unsigned)v->shared &&
                launched[repacks].grid.threads == (unsigned)sgemm_variant_threads(v, &current) &&
                launched[repacks].args.batch == p->batch,
            "%s, shape %d, device %d: %u blocks, want %lld", entry, i, which, launched[repacks].grid.x,
            (long long)blocks);
  cr_assert(rest == 0 || launched[repacks + 1].kernel == SGEMM__REDUCE_STREAM_K);
  for (l = 0; l < launches; l++)
    cr_assert(launched[l].grid.y == 1 && launched[l].grid.z == 1 &&
                  launched[l].grid.cluster == (l == repacks ? (unsigned)plan->cluster_k : 1),
              "launch %d", l);
}

/* Checks the launches of serial split-K: a part of k each, in order, of which all but the first add to C. Each but the
   last lets the next one start. */
static void check_serial_launches(const sgemm_params *p, const sgemm_plan *plan, int64_t tiles, const char *entry,
                                  int i, int which) {
  const sgemm_variant_info *v = sgemm_variant_get(plan->variant);
  const int swap = p->order == SGEMM_COL_MAJOR;
  const float *A = swap ? p->B : p->A, *B = swap ? p->A : p->B;
  const int64_t lda = swap ? p->ldb : p->lda, ldb = swap ? p->lda : p->ldb;
  const int trans_a = (swap ? p->op_b : p->op_a) != SGEMM_N, trans_b = (swap ? p->op_a : p->op_b) != SGEMM_N;
  const int64_t steps = (p->k + v->BK - 1) / v->BK, part_k = (steps + plan->serial_k - 1) / plan->serial_k * v->BK;
  int64_t begin = 0;
  int l;
  cr_assert(plan->split_k == 1 && plan->stream_k == 0 && v->serial && v->cluster_split_k);
  for (l = 0; l < launches; l++, begin += part_k) {
    const int64_t k = p->k - begin < part_k ? p->k - begin : part_k;
    cr_assert(launched[l].kernel == (int)plan->variant && launched[l].grid.cluster == (unsigned)plan->cluster_k &&
                  launched[l].grid.x == tiles * plan->cluster_k * (v->uses_tma ? p->batch : 1) &&
                  launched[l].args.k == k && k > 0 && launched[l].args.beta == (l > 0 ? 1.0f : p->beta) &&
                  launched[l].args.alpha == p->alpha && launched[l].args.follows == (l > 0) &&
                  launched[l].args.precedes == (l < launches - 1) &&
                  launched[l].args.A == A + begin * (trans_a ? lda : 1) &&
                  launched[l].args.B == B + begin * (trans_b ? 1 : ldb) && launched[l].args.C == p->C,
              "%s, shape %d, device %d: launch %d of %s", entry, i, which, l, v->name);
  }
  cr_assert(launches > 1 && begin >= p->k, "%s, shape %d, device %d: %d launches", entry, i, which, launches);
}

/* Checks the launches of a strict plan. */
static void check_launches(const sgemm_params *p, const sgemm_plan *plan, const char *entry, int i, int which) {
  const sgemm_variant_info *v = sgemm_variant_get(plan->variant);
  const int swap = p->order == SGEMM_COL_MAJOR;
  const int64_t m = swap ? p->n : p->m, n = swap ? p->m : p->n;
  const int64_t tiles = (m + v->BM - 1) / v->BM * ((n + v->BN - 1) / v->BN);
  const int64_t blocks = tiles * plan->cluster_k * plan->split_k;
  int l;
  cr_assert(plan->tensor == SGEMM_TENSOR_VARIANT_NONE, "%s, shape %d, device %d", entry, i, which);
  if (plan->serial_k > 1) {
    check_serial_launches(p, plan, tiles, entry, i, which);
    return;
  }
  if (v->uses_tma) {
    check_tma_launches(p, plan, tiles, entry, i, which);
    return;
  }
  cr_assert(!plan->repack_a && !plan->repack_b && plan->stream_k == 0, "%s, shape %d, device %d", entry, i, which);
  cr_assert(launches == (plan->split_k > 1 ? 2 : 1), "%s, shape %d, device %d: %d launches", entry, i, which, launches);
  cr_assert(launched[0].kernel == (int)plan->variant && launched[0].grid.x == blocks &&
                launched[0].grid.cluster == (unsigned)plan->cluster_k &&
                launched[0].grid.shared == (unsigned)v->shared && launched[0].grid.threads == (unsigned)v->threads,
            "%s, shape %d, device %d: %s in %u blocks, want %s in %lld", entry, i, which,
            launched[0].kernel < SGEMM_VARIANT_COUNT ? sgemm_variant_get((sgemm_variant)launched[0].kernel)->name
                                                     : "another kernel",
            launched[0].grid.x, v->name, (long long)blocks);
  cr_assert(launches == 1 || (launched[1].kernel == SGEMM__REDUCE_SPLIT_K && launched[1].grid.cluster == 1));
  for (l = 0; l < launches; l++)
    cr_assert((int64_t)launched[l].grid.y * launched[l].grid.z >= p->batch && launched[l].args.batch == p->batch);
}

/* The device can run every selected plan: sgemm_run_plan() accepts it, and sgemm_run() launches it. */
Test(selection, selected_plans_run) {
  static const int64_t workspaces[] = {0, 32 << 20};
  unsigned seen_cluster_k = 0; /* bit c: a plan with cluster_k c */
  int seen_split_k = 0, seen_stream_k = 0, seen_serial_k = 0, seen_repack_b = 0, which, w, i;
  set_compiled(SGEMM_STAGE_ANY);
  for (which = 0; which < DEVICES; which++)
    for (w = 0; w < 2; w++)
      for (i = 0; i < SHAPES; i++) {
        const sgemm_device d = current = device(which);
        sgemm_params p = shape(i);
        const sgemm_variant_info *v;
        sgemm_plan plan;
        sgemm_status status;
        set_addresses(&p, workspaces[w]);
        plan = sgemm_select(&p, SGEMM_STAGE_ANY, &d);
        v = sgemm_variant_get(plan.variant);
        cr_assert(v != NULL && plan.split_k >= 1 && plan.stream_k >= 0, "shape %d, device %d", i, which);
        cr_assert(plan.cluster_k == 1 || (d.code_arch >= 90 && v->cluster_split_k && plan.cluster_k > 1 &&
                                          plan.cluster_k <= (d.cluster_limit > 8 ? d.cluster_limit : 8)),
                  "shape %d, device %d: %s with cluster_k %d", i, which, v->name, plan.cluster_k);
        cr_assert(plan.split_k == 1 || (workspaces[w] > 0 && sgemm__can_split_k(v) && !v->uses_tma),
                  "shape %d, device %d: %s with split_k %d", i, which, v->name, plan.split_k);
        cr_assert(plan.serial_k == 1 || (plan.serial_k > 1 && plan.serial_k <= 8 && d.code_arch >= 90),
                  "shape %d, device %d: %s with serial_k %d", i, which, v->name, plan.serial_k);
        cr_assert(plan.stream_k == 0 || (workspaces[w] > 0 && plan.stream_k > 1 && v->uses_tma),
                  "shape %d, device %d: %s with stream_k %d", i, which, v->name, plan.stream_k);
        cr_assert(!v->uses_tma || d.code_arch >= 90, "shape %d, device %d: %s", i, which, v->name);
        cr_assert(sgemm_plan_workspace(&plan, &p) <= workspaces[w], "shape %d, device %d", i, which);
        cr_assert(v->shared <= d.shared_per_block, "shape %d, device %d: %s takes %d bytes of shared memory", i, which,
                  v->name, v->shared);
        launches = 0;
        status = sgemm_run_plan(&plan, &p, NULL);
        cr_assert(status == SGEMM_SUCCESS, "shape %d, device %d: status %d", i, which, status);
        check_launches(&p, &plan, "sgemm_run_plan", i, which);
        launches = 0;
        status = sgemm_run(&p, NULL);
        cr_assert(status == SGEMM_SUCCESS, "shape %d, device %d: status %d", i, which, status);
        check_launches(&p, &plan, "sgemm_run", i, which);
        seen_cluster_k |= 1u << plan.cluster_k;
        seen_split_k += plan.split_k > 1;
        seen_stream_k += plan.stream_k > 1;
        seen_serial_k += plan.serial_k > 1;
        seen_repack_b += plan.repack_b;
      }
  cr_assert(seen_cluster_k == 0x1017e && seen_split_k > 0 && seen_stream_k > 0 && seen_serial_k > 0 &&
                seen_repack_b > 0,
            "cluster sizes 0x%x; plans with split_k %d, stream_k %d, serial_k %d, repack_b %d", seen_cluster_k,
            seen_split_k, seen_stream_k, seen_serial_k, seen_repack_b);
}

/* Checks the launches of a slice of a tensor plan, or of a plan without slices, from *from on: split, multiply, the
   same for the full-range fallback, reduce, strict. The fallback's split has as many blocks as the device holds, at
   most. */
static void check_slice_launches(const sgemm_plan *plan, const sgemm__slice *slice, int *from, const char *entry,
                                 int i) {
  const int full = plan->tensor_fallback != SGEMM_TENSOR_VARIANT_NONE;
  const sgemm__args *args = &slice->args;
  int at = *from;
  cr_assert(launches >= at + 3 + 2 * full && launched[at].kernel < SGEMM__SPLIT_FALLBACK &&
                launched[at].kernel >= SGEMM__SPLIT,
            "%s, shape %d: %d launches", entry, i, launches);
  cr_assert(launched[++at].kernel == SGEMM__TENSOR_KERNEL + (int)plan->tensor, "%s, shape %d", entry, i);
  cr_assert(launched[at].args.m == args->m && launched[at].args.n == args->n && launched[at].args.k == args->k &&
                (plan->split_k > 1 || (launched[at].args.C == args->C && launched[at].args.beta == args->beta)),
            "%s, shape %d, launch %d: not the slice", entry, i, at);
  if (full) {
    cr_assert(launched[++at].kernel == SGEMM__SPLIT_FALLBACK && launched[at].grid.y == 1 && launched[at].grid.x >= 1 &&
                  launched[at].grid.x <= 4 * (unsigned)current.multiprocessors,
              "%s, shape %d: %u blocks", entry, i, launched[at].grid.x);
    cr_assert(launched[++at].kernel == SGEMM__TENSOR_KERNEL + (int)plan->tensor_fallback, "%s, shape %d", entry, i);
  }
  at += launched[at + 1].kernel == SGEMM__REDUCE_SPLIT_K;
  cr_assert(launched[++at].kernel == (int)plan->variant && launched[at].args.C == args->C &&
                launched[at].args.beta == args->beta,
            "%s, shape %d", entry, i);
  *from = at + 1;
}

/* Checks the launches of a tensor plan for p, which has no pre-split operand. */
static void check_tensor_launches(const sgemm_plan *plan, const sgemm_params *p, const char *entry, int i) {
  const sgemm__args args = sgemm__args_of(p);
  const sgemm__slices s = sgemm__slices_of(plan, p, &args);
  int64_t number;
  int at = 0;
  for (number = 0; number < s.count_m * s.count_n * s.count_k; number++) {
    const sgemm__slice slice = sgemm__slice_at(&s, &args, number);
    check_slice_launches(plan, &slice, &at, entry, i);
  }
  cr_assert(launches == at && sgemm__count_launches(plan, p, &current) == at, "%s, shape %d: %d launches", entry, i,
            launches);
}

/* The workspace shrinks step by step: from no limit to the bytes of the selected plan, then by one byte, and so on. In
   every mode the selected plan fits and runs. */
Test(selection, near_the_workspace_limit) {
  static const sgemm_mode modes[] = {SGEMM_STRICT, SGEMM_TENSOR, SGEMM_TENSOR_FULL};
  int seen_tensor = 0, seen_fallback = 0, seen_slices = 0, seen_repack_a = 0, seen_repack_b = 0, limits = 0, mode,
      misaligned, i;
  set_compiled(SGEMM_STAGE_ANY);
  current = h200();
  for (mode = 0; mode < 3; mode++)
    for (misaligned = 0; misaligned < 2; misaligned++) /* 1: tensor maps cannot describe A */
      for (i = 0; i < SHAPES; i += 3) {
        sgemm_params p = shape(i);
        int64_t limit = INT64_MAX - 15;
        int less = 1;
        sgemm_plan before = sgemm__plain_plan(SGEMM_VARIANT_NONE);
        p.mode = modes[mode];
        for (; limit >= 0; limits++) {
          sgemm_plan plan;
          sgemm_status status;
          int64_t bytes;
          set_addresses(&p, limit);
          p.A += misaligned;
          plan = sgemm_select(&p, SGEMM_STAGE_ANY, &current);
          bytes = sgemm_plan_workspace(&plan, &p);
          cr_assert(plan.variant != SGEMM_VARIANT_NONE && bytes <= limit, "mode %d, shape %d: %lld bytes of %lld", mode,
                    i, (long long)bytes, (long long)limit);
          cr_assert(less || modes[mode] != SGEMM_STRICT || same_plan(&plan, &before), "shape %d: another plan", i);
          launches = 0;
          status = sgemm_run_plan(&plan, &p, NULL);
          cr_assert(status == SGEMM_SUCCESS, "mode %d, shape %d, %lld bytes: status %d (%s)", mode, i, (long long)limit,
                    status, sgemm_status_string(status));
          if (plan.tensor == SGEMM_TENSOR_VARIANT_NONE)
            check_launches(&p, &plan, "sgemm_run_plan", i, 0);
          else
            check_tensor_launches(&plan, &p, "sgemm_run_plan", i);
          launches = 0;
          status = sgemm_run(&p, NULL);
          cr_assert(status == SGEMM_SUCCESS, "mode %d, shape %d, %lld bytes: status %d (%s)", mode, i, (long long)limit,
                    status, sgemm_status_string(status));
          if (plan.tensor == SGEMM_TENSOR_VARIANT_NONE)
            check_launches(&p, &plan, "sgemm_run", i, 0);
          else
            check_tensor_launches(&plan, &p, "sgemm_run", i);
          if (bytes > 0 && limit == bytes) {
            p.workspace_bytes--;
            cr_assert(sgemm_run_plan(&plan, &p, NULL) == SGEMM_ERROR_WORKSPACE, "mode %d, shape %d", mode, i);
          }
          seen_tensor += plan.tensor != SGEMM_TENSOR_VARIANT_NONE;
          seen_fallback += plan.tensor_fallback != SGEMM_TENSOR_VARIANT_NONE;
          seen_slices += sgemm__is_sliced(&plan);
          seen_repack_a += plan.repack_a;
          seen_repack_b += plan.repack_b;
          less = limit == bytes; /* the plan uses all bytes: the next limit is one byte smaller */
          limit = bytes - less;
          before = plan;
        }
      }
  cr_assert(seen_tensor > seen_fallback && seen_fallback > 0 && seen_slices > 0 && seen_repack_a > 0 &&
                seen_repack_b > 0,
            "%d limits: %d tensor plans, %d with a fallback, %d with slices, %d and %d repacks", limits, seen_tensor,
            seen_fallback, seen_slices, seen_repack_a, seen_repack_b);
}

/* If beta is not 0 and k is short, the loads of C take a large part of the time. Variants with more resident blocks
   hide the latency of these loads. */
Test(selection, beta_changes_the_variant) {
  const sgemm_device d = h200();
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 4096, 3072, 96);
  sgemm_plan plan;
  set_compiled(SGEMM_STAGE_ANY);
  set_addresses(&p, 0);
  plan = sgemm_select(&p, SGEMM_STAGE_ANY, &d);
  cr_assert(sgemm_variant_get(plan.variant)->stage == SGEMM_STAGE_tma, "%s", sgemm_variant_get(plan.variant)->name);
  p.beta = 0.5f;
  plan = sgemm_select(&p, SGEMM_STAGE_ANY, &d);
  cr_assert(sgemm_variant_get(plan.variant)->stage == SGEMM_STAGE_async, "%s", sgemm_variant_get(plan.variant)->name);
}

/* If the operands exceed the L2, each tile has a whole number of stream-K units, so that tiles which load the same rows
   load them at the same time. If the L2 holds the operands, every SM has a unit. */
Test(selection, l2_size_changes_stream_k) {
  sgemm_device d = h200();
  sgemm_params p = sgemm_params_init(SGEMM_T, SGEMM_N, 256, 256, 100000);
  int large;
  set_compiled(SGEMM_STAGE_ANY);
  set_addresses(&p, INT64_MAX);
  for (large = 0; large < 2; large++) {
    const sgemm_plan plan = sgemm_select(&p, SGEMM_STAGE_ANY, &d);
    const sgemm_variant_info *v = sgemm_variant_get(plan.variant);
    const int tiles = 256 / v->BM * (256 / v->BN);
    cr_assert(v->uses_tma && plan.stream_k > tiles && (plan.stream_k % tiles == 0) == !large, "%s with stream_k %d",
              v->name, plan.stream_k);
    d.l2_bytes = 1 << 30;
  }
}

/* A very long k does not make the selection leave tma for plans with a shorter k in each block. */
Test(selection, long_k_stays_with_tma) {
  static const int64_t shapes[][3] = {
      {4096, 768, 50304}, {768, 4096, 50304}, {1024, 1024, 32768}, {512, 2048, 40000}, {1280, 640, 60000}};
  const sgemm_device d = h200();
  unsigned i;
  int ops;
  set_compiled(SGEMM_STAGE_ANY);
  for (i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (ops = 0; ops < 4; ops++) {
      sgemm_params p = sgemm_params_init(ops / 2 ? SGEMM_T : SGEMM_N, ops % 2 ? SGEMM_T : SGEMM_N, shapes[i][0],
                                         shapes[i][1], shapes[i][2]);
      set_addresses(&p, INT64_MAX);
      cr_assert(sgemm_variant_get(sgemm_select(&p, SGEMM_STAGE_ANY, &d).variant)->uses_tma, "shape %u, ops %d", i, ops);
    }
}

/* A call gets the plan that sgemm_select() returns, whichever calls its thread made before: calls that differ in one
   argument alone follow each other, twice, in more keys than the thread keeps. */
Test(selection, recent_plans) {
  enum { CHANGES = 17 };
  const sgemm_device devices[2] = {h200(), device(3)};
  int pass, i, change, stage, differ[CHANGES] = {0};
  set_compiled(SGEMM_STAGE_ANY);
  for (pass = 0; pass < 2; pass++)
    for (i = 0; i < SHAPES; i++) {
      sgemm_plan base = sgemm__plain_plan(SGEMM_VARIANT_NONE);
      for (change = 0; change < CHANGES; change++) {
        sgemm_params p = shape(i);
        const sgemm_device *d = &devices[change == 15];
        sgemm_plan kept, wanted;
        set_addresses(&p, INT64_MAX);
        stage = change == 16 ? (int)SGEMM_STAGE_async : (int)SGEMM_STAGE_ANY;
        p.m += 64 * (change == 1);
        p.n += 64 * (change == 2);
        p.k += 512 * (change == 3);
        p.lda += change == 1 ? 65 : 512 + (change == 4);
        p.ldb += change == 2 ? 64 : 512 + (change == 5);
        p.ldc += change == 2 ? 64 : 512 + (change == 6);
        p.batch += 2 * (change == 7);
        p.stride_a = change == 8 ? 0 : p.stride_a + 4096;
        p.workspace_bytes = change == 9 ? 4096 : p.workspace_bytes;
        p.beta = change == 10 ? 1.0f : 0.0f;
        p.alpha = change == 11 ? 0.0f : 1.0f;
        p.op_a = change == 12 ? (p.op_a == SGEMM_N ? SGEMM_T : SGEMM_N) : p.op_a;
        p.A += change == 13;
        p.mode = change == 14 ? SGEMM_TENSOR_FULL : SGEMM_STRICT;
        wanted = sgemm_select(&p, (sgemm_stage)stage, d);
        kept = sgemm__recent_select(&p, (sgemm_stage)stage, d);
        cr_assert(same_plan(&kept, &wanted), "pass %d, shape %d, change %d", pass, i, change);
        base = change == 0 ? wanted : base;
        differ[change] += !same_plan(&wanted, &base);
      }
    }
  for (change = 1; change < CHANGES; change++)
    cr_assert(differ[change] > 0 || change == 8, "change %d changes no plan", change);
}

/* The plans of two devices that differ in the largest cluster that they run alone. */
Test(selection, recent_plans_of_devices) {
  sgemm_device devices[2] = {h200(), h200()};
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 32, 32, 8192);
  sgemm_plan wanted[2], kept;
  int i;
  set_compiled(SGEMM_STAGE_ANY);
  set_addresses(&p, 0);
  devices[1].cluster_limit = 0;
  for (i = 0; i < 2; i++) {
    wanted[i] = sgemm_select(&p, SGEMM_STAGE_ANY, &devices[i]);
    kept = sgemm__recent_select(&p, SGEMM_STAGE_ANY, &devices[i]);
    cr_assert(same_plan(&kept, &wanted[i]), "device %d", i);
  }
  cr_assert(wanted[0].cluster_k == 16 && wanted[1].cluster_k == 8, "%d and %d", wanted[0].cluster_k,
            wanted[1].cluster_k);
}

/* Calls without results get a strict plan, in the tensor modes too, with any workspace. */
Test(selection, no_results) {
  static const int64_t bytes[] = {0, 1 << 20, 16 << 20, INT64_MAX};
  const sgemm_device d = h200();
  int i;
  set_compiled(SGEMM_STAGE_ANY);
  for (i = 0; i < 3 * 3 * 4; i++) {
    const int none = i % 3;
    sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, none == 0 ? 0 : 4096, none == 1 ? 0 : 4096, 4096);
    sgemm_plan plan;
    set_addresses(&p, bytes[i / 9]);
    p.mode = i / 3 % 3 == 0 ? SGEMM_STRICT : i / 3 % 3 == 1 ? SGEMM_TENSOR : SGEMM_TENSOR_FULL;
    p.batch = none == 2 ? 0 : 64;
    p.stride_a = p.stride_b = 0;
    plan = sgemm_select(&p, SGEMM_STAGE_ANY, &d);
    cr_assert(plan.variant != SGEMM_VARIANT_NONE && plan.tensor == SGEMM_TENSOR_VARIANT_NONE, "call %d", i);
  }
}

/* An epilogue with each combination of what the selection reads of it. The sizes in strict fp32 are some for which the
   epilogue changes the variant. */
enum { EPILOGUE_CALLS = SGEMM_EPILOGUE_COUNT * 3 * 512 };
static sgemm_params epilogue_call(int i) {
  static _Alignas(16) float elsewhere[4];
  const int bits = i % 512, result = i / 512 % 3, size = bits & 256 ? 2048 : 192;
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_T, size, size, 2048);
  set_addresses(&p, bits & 1 ? INT64_MAX : 0);
  p.epilogue = i / (3 * 512);
  p.D = result == 0 ? NULL : result == 1 ? elsewhere : p.C;
  p.beta = bits & 2 ? 1.0f : 0.0f;
  p.alpha_device = bits & 4 ? elsewhere : NULL;
  p.beta_device = bits & 8 ? elsewhere : NULL;
  p.vec_m = bits & 16 ? elsewhere : NULL;
  p.vec_n = bits & 32 ? elsewhere : NULL;
  p.aux = bits & 64 ? elsewhere : NULL;
  p.batch = bits & 128 ? 2 : 1;
  p.mode = bits & 256 ? SGEMM_TENSOR : SGEMM_STRICT;
  p.stride_vec_m = p.stride_vec_n = i % 7 == 0 ? size : 0;
  return p;
}

/* A kept plan is that of sgemm_select() for every epilogue, and can apply it: kernels before the one that applies the
   epilogue do not overwrite what it reads. */
Test(selection, recent_plans_of_epilogues) {
  const sgemm_device d = h200();
  int i;
  set_compiled(SGEMM_STAGE_ANY);
  for (i = 0; i < 2 * EPILOGUE_CALLS; i++) {
    /* Calls that differ in one thing alone follow each other: first in a bit, then in the epilogue. */
    const int other = i % EPILOGUE_CALLS, stride = EPILOGUE_CALLS / SGEMM_EPILOGUE_COUNT;
    sgemm_params p = epilogue_call(
        i < EPILOGUE_CALLS ? other : other % SGEMM_EPILOGUE_COUNT * stride + other / SGEMM_EPILOGUE_COUNT);
    int layout; /* 1: with another ld_aux, 2: with another stride_aux */
    for (layout = 0; layout < (p.aux != NULL ? 3 : 1); layout++) {
      sgemm_plan wanted, kept;
      p.ld_aux = p.D != NULL ? p.ldd : p.ldc;
      p.stride_aux = p.D != NULL ? p.stride_d : p.stride_c;
      p.ld_aux += layout == 1;
      p.stride_aux += layout == 2;
      wanted = sgemm_select(&p, SGEMM_STAGE_ANY, &d);
      kept = sgemm__recent_select(&p, SGEMM_STAGE_ANY, &d);
      cr_assert(same_plan(&kept, &wanted), "call %d, layout %d", i, layout);
      cr_assert(sgemm__check_plan(&wanted, &p, &d) == SGEMM_SUCCESS, "call %d, layout %d", i, layout);
    }
  }
}

/* The launches of a described plan are those of sgemm_run_plan(), where the last partitions have no k, stream-K has no
   tiles, the last slice of k has fewer partitions, there is nothing to pack, no products, or no results. A plan of too
   many slices has INT32_MAX, and one without partitions is described too. */
Test(selection, described_launches) {
  static const struct {
    int64_t m, n, k;
    sgemm_variant variant;
    sgemm_tensor_variant tensor;
    int split_k, stream_k, slices_k, repack, epilogue, launches;
  } cases[] = {{256, 256, 128, SGEMM_gemv_1x2x512_1x1, SGEMM_wgmma_fp16x3_128x128, 2, 0, 1, 0, SGEMM_EPILOGUE_none, 3},
               {256, 256, 300, SGEMM_gemv_1x2x512_1x1, SGEMM_wgmma_fp16x3_128x128, 2, 0, 1, 0, SGEMM_EPILOGUE_none, 4},
               {256, 256, 384, SGEMM_gemv_1x2x512_1x1, SGEMM_wgmma_fp16x3_128x128, 2, 0, 2, 0, SGEMM_EPILOGUE_none, 7},
               {256, 256, 128, SGEMM_async_64x64x8_8x8, SGEMM_wgmma_fp16x3_128x128, 2, 0, 1, 0, SGEMM_EPILOGUE_tanh, 4},
               {256, 256, 64, SGEMM_tma_64x64x32_16x8, SGEMM_TENSOR_VARIANT_NONE, 1, 8, 1, 0, SGEMM_EPILOGUE_none, 1},
               {256, 320, 64, SGEMM_tma_64x64x32_16x8, SGEMM_TENSOR_VARIANT_NONE, 1, 8, 1, 1, SGEMM_EPILOGUE_none, 3},
               {256, 320, 0, SGEMM_tma_64x64x32_16x8, SGEMM_TENSOR_VARIANT_NONE, 1, 8, 1, 1, SGEMM_EPILOGUE_none, 1},
               {256, 256, 0, SGEMM_async_64x64x8_8x8, SGEMM_wgmma_fp16x3_128x128, 2, 0, 1, 0, SGEMM_EPILOGUE_none, 1},
               {0, 256, 300, SGEMM_async_64x64x8_8x8, SGEMM_wgmma_fp16x3_128x128, 2, 0, 1, 0, SGEMM_EPILOGUE_none, 0},
               {256, 0, 64, SGEMM_async_64x64x8_8x8, SGEMM_TENSOR_VARIANT_NONE, 2, 0, 1, 0, SGEMM_EPILOGUE_tanh, 0}};
  unsigned i;
  set_compiled(SGEMM_STAGE_ANY);
  current = h200();
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, cases[i].m, cases[i].n, cases[i].k);
    sgemm_plan plan = sgemm__plain_plan(cases[i].variant);
    set_addresses(&p, INT64_MAX);
    p.epilogue = cases[i].epilogue;
    plan.tensor = cases[i].tensor;
    plan.split_k = cases[i].split_k;
    plan.stream_k = cases[i].stream_k;
    plan.slices_k = cases[i].slices_k;
    plan.repack_a = plan.repack_b = cases[i].repack;
    launches = 0;
    cr_assert(sgemm_run_plan(&plan, &p, NULL) == SGEMM_SUCCESS, "case %u", i);
    cr_assert(launches == cases[i].launches && sgemm__count_launches(&plan, &p, &current) == launches,
              "case %u: %d launches, described as %d", i, launches, sgemm__count_launches(&plan, &p, &current));
  }
  {
    sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 1 << 26, 1 << 26, 128);
    sgemm_plan plan = sgemm__plain_plan(SGEMM_async_64x64x8_8x8);
    char text[300];
    set_addresses(&p, INT64_MAX);
    plan.tensor = SGEMM_wgmma_fp16x3_128x128;
    plan.slices_m = plan.slices_n = INT32_MAX;
    cr_assert(sgemm__count_launches(&plan, &p, &current) == INT32_MAX);
    plan.split_k = 0;
    cr_assert(sgemm_plan_describe(&plan, &p, &current, text, sizeof text) > 0);
  }
}

/* Sizes that no workspace holds have INT64_MAX bytes, whatever the padding of their rows, and are not launched. */
Test(selection, split_operands_beyond_64_bits) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 1, 1, 1 << 24);
  sgemm_plan plan = sgemm__plain_plan(SGEMM_gemv_1x32x64_1x1);
  set_compiled(SGEMM_STAGE_ANY);
  current = h200();
  set_addresses(&p, INT64_MAX);
  p.mode = SGEMM_TENSOR_FULL;
  p.batch = INT32_MAX;
  p.stride_a = 1;
  p.stride_b = 0;
  plan.tensor = SGEMM_wgmma_bf16x6_128x64;
  cr_assert(sgemm_check(&p) == SGEMM_SUCCESS);
  cr_assert(sgemm_plan_workspace(&plan, &p) == INT64_MAX && sgemm_prepared_bytes(&p, 'A') == INT64_MAX);
  cr_assert(sgemm_prepared_bytes(&p, 'B') > 0 && sgemm_prepared_bytes(&p, 'B') < INT64_MAX); /* one matrix */
  launches = 0;
  p.workspace_bytes = INT64_MAX - 1;
  cr_assert(sgemm_run_plan(&plan, &p, NULL) == SGEMM_ERROR_WORKSPACE);
  cr_assert(sgemm_prepare(&p, 'A', p.C, NULL) == SGEMM_ERROR_GRID && launches == 0);
  p = sgemm_params_init(SGEMM_N, SGEMM_N, 1000000000, 1000000000, 1000000000);
  set_addresses(&p, INT64_MAX);
  p.mode = SGEMM_TENSOR_FULL;
  cr_assert(sgemm_select(&p, SGEMM_STAGE_ANY, &current).tensor == SGEMM_TENSOR_VARIANT_NONE);
}

/* A plan whose strict fallback, or whose rounded number of persistent blocks, exceeds a grid launches nothing. */
Test(selection, grids_are_checked_before_the_first_launch) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 70000, 70000, 256);
  sgemm_plan plan = sgemm__plain_plan(SGEMM_gemv_1x2x512_1x1);
  set_compiled(SGEMM_STAGE_ANY);
  current = h200();
  set_addresses(&p, INT64_MAX);
  plan.tensor = SGEMM_wgmma_fp16x3_128x256;
  launches = 0;
  cr_assert(sgemm_run_plan(&plan, &p, NULL) == SGEMM_ERROR_GRID && launches == 0, "%d launches", launches);
  plan.slices_m = 2; /* 35072 x 35000 tiles of the fallback */
  cr_assert(sgemm_run_plan(&plan, &p, NULL) == SGEMM_SUCCESS && launches == 6, "%d launches", launches);
  p = sgemm_params_init(SGEMM_N, SGEMM_N, 33, 1, 8192);
  set_addresses(&p, 0);
  p.stride_a = p.stride_b = 0;
  p.ldb = 4;
  p.batch = 1073741823; /* 2^31 - 2 tiles, which persistent blocks round up to 2^31 + 64 */
  plan = sgemm__plain_plan(SGEMM_tma_32x32x128_16x8);
  launches = 0;
  cr_assert(sgemm_run_plan(&plan, &p, NULL) == SGEMM_ERROR_GRID && launches == 0, "%d launches", launches);
  p.k = p.lda = 4096; /* a block computes several tiles */
  cr_assert(sgemm_run_plan(&plan, &p, NULL) == SGEMM_SUCCESS && launches == 1, "%d launches", launches);
}

/* ---- Random calls ------------------------------------------------------------------------------------------------ */

static uint64_t random_state;
static uint64_t random_below(uint64_t limit) { /* xorshift64 (Marsaglia, "Xorshift RNGs") */
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state % limit;
}

/* A size from 1 to about 2^most_log2, log-uniform. extreme: or a size beside a power of two up to 2^45, or below
   300. */
static int64_t random_size(double most_log2, int extreme) {
  if (!extreme)
    return (int64_t)exp2(most_log2 * (double)random_below(100000) / 1e5);
  return random_below(3) == 0 ? (int64_t)random_below(300)
                              : ((int64_t)1 << random_below(46)) + (int64_t)random_below(3) - 1;
}

/* An address at a multiple of 4 bytes, one in two at one of 16. */
static float *random_address(void) {
  static _Alignas(16) float memory[8];
  return memory + (random_below(2) ? 0 : random_below(4));
}

/* Sets an epilogue, a result in place or apart from C, and what the epilogue may read. */
static void random_epilogue(sgemm_params *p) {
  p->epilogue = (int)random_below(SGEMM_EPILOGUE_COUNT);
  p->D = random_below(3) == 0 ? NULL : random_below(3) == 0 ? p->C : random_address();
  p->ldd = p->D == p->C ? p->ldc : p->ldc + (int64_t)random_below(3);
  p->stride_d = sgemm__product(p->ldd, p->order == SGEMM_ROW_MAJOR ? p->m : p->n);
  p->vec_m = random_below(2) ? random_address() : NULL;
  p->vec_n = random_below(2) ? random_address() : NULL;
  p->E = random_below(4) ? random_address() : NULL;
  p->aux = random_below(4) ? NULL : random_address();
  p->stride_vec_m = random_below(2) ? p->m : 0;
  p->stride_vec_n = random_below(2) ? p->n : 0;
  p->alpha_device = random_below(4) ? NULL : random_address();
  p->beta_device = random_below(4) ? NULL : random_address();
}

static sgemm_params random_call(int extreme) {
  static const sgemm_op ops[3] = {SGEMM_N, SGEMM_T, SGEMM_C};
  const sgemm_op op_a = ops[random_below(3)], op_b = ops[random_below(3)];
  const int64_t m = random_size(17.6, extreme), n = random_size(17.6, extreme);
  const int64_t k = random_below(20) ? random_size(16.6, extreme) : 0;
  sgemm_params p = random_below(2) ? sgemm_params_init(op_a, op_b, m, n, k)
                                   : sgemm_params_init_col(op_a, op_b, m, n, k);
  p.A = random_address();
  p.B = random_address();
  p.C = random_address();
  p.lda += random_below(2) ? 0 : (int64_t)random_below(5);
  p.ldb += random_below(2) ? 0 : (int64_t)random_below(5);
  if (random_below(3) == 0) {
    p.batch = random_size(11.6, extreme);
    p.stride_a = random_below(5) ? p.stride_a : 0;
    p.stride_b = random_below(5) ? p.stride_b : 0;
  }
  p.mode = (int)random_below(3);
  p.alpha = random_below(10) ? 1.5f : 0.0f;
  p.beta = random_below(2) ? 0.0f : 2.0f;
  if (random_below(2))
    random_epilogue(&p);
  p.prepared_a = p.mode != SGEMM_STRICT && random_below(5) == 0 ? (const void *)(uintptr_t)4096 : NULL;
  p.prepared_b = p.mode != SGEMM_STRICT && random_below(5) == 0 ? (const void *)(uintptr_t)4096 : NULL;
  switch (random_below(4)) {
  case 0:
    break;
  case 1:
    p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
    break;
  default:
    p.workspace = (void *)(uintptr_t)4096;
    p.workspace_bytes = random_below(2) ? 32 << 20 : random_size(32.0, 0);
  }
  return p;
}

/* Checks the selected plan of a call on the current device, if there is one. */
static void check_selected(const sgemm_params *p, const char *what, int i) {
  const sgemm_plan plan = sgemm_select(p, SGEMM_STAGE_ANY, &current);
  const sgemm_plan kept = sgemm__recent_select(p, SGEMM_STAGE_ANY, &current);
  sgemm_status by_plan, status;
  int64_t bytes = -1;
  int by_plan_launches;
  cr_assert(same_plan(&kept, &plan), "%s call %d: the kept plan is another", what, i);
  cr_assert(sgemm_workspace_query(p, &bytes) == SGEMM_SUCCESS && bytes >= 0, "%s call %d: %lld bytes", what, i,
            (long long)bytes);
  launches = 0;
  if (plan.variant == SGEMM_VARIANT_NONE) {
    status = sgemm_run(p, NULL);
    cr_assert((status == SGEMM_ERROR_WORKSPACE || status == SGEMM_ERROR_PLAN) && launches == 0, "%s call %d: status %d",
              what, i, status);
    return;
  }
  cr_assert(sgemm_plan_estimate(&plan, p, &current) > 0.0, "%s call %d", what, i);
  by_plan = sgemm_run_plan(&plan, p, NULL);
  by_plan_launches = launches;
  cr_assert(by_plan == SGEMM_SUCCESS || (by_plan == SGEMM_ERROR_GRID && launches == 0),
            "%s call %d: status %d after %d launches", what, i, by_plan, launches);
  if (by_plan == SGEMM_SUCCESS)
    cr_assert(sgemm__count_launches(&plan, p, &current) == launches, "%s call %d: %d launches, described as %d", what,
              i, launches, sgemm__count_launches(&plan, p, &current));
  launches = 0;
  status = sgemm_run(p, NULL);
  cr_assert(status == by_plan && launches == by_plan_launches, "%s call %d: status %d after %d launches, %d after %d",
            what, i, status, launches, by_plan, by_plan_launches);
}

/* Whatever the arguments are, the selected plan passes the checks of sgemm_run_plan(), launches what sgemm_run() and
   the description say, or launches nothing because a grid does not suffice. Under sanitizers no size overflows. */
Test(selection, random_calls) {
  enum { CALLS = 20000 };
  int extreme, i, run = 0;
  set_compiled(SGEMM_STAGE_ANY);
  random_state = 20261128;
  for (extreme = 0; extreme < 2; extreme++)
    for (i = 0; i < CALLS; i++) {
      const sgemm_params p = random_call(extreme);
      current = device((int)random_below(DEVICES));
      if (sgemm_check(&p) != SGEMM_SUCCESS || sgemm__is_noop(&p))
        continue;
      check_selected(&p, extreme ? "extreme" : "random", i);
      run++;
    }
  cr_assert(run > CALLS, "%d calls", run);
}

/* ---- Descriptions, estimates, workspaces ------------------------------------------------------------------------- */

/* The line of a plan has its fields, its launches and its workspace, and tells why a tensor mode is not taken. */
static void expect_line(const sgemm_plan *plan, const sgemm_params *p, const sgemm_device *d, const char *begin,
                        const char *end) {
  char text[300], part[12];
  const int length = sgemm_plan_describe(plan, p, d, text, sizeof text);
  cr_assert(length > 0 && (size_t)length == strlen(text), "%d: %s", length, text);
  cr_assert(strncmp(text, begin, strlen(begin)) == 0, "%s: does not begin with %s", text, begin);
  cr_assert(strlen(text) > strlen(end) && strcmp(text + strlen(text) - strlen(end), end) == 0,
            "%s: does not end with %s", text, end);
  memset(part, 'x', sizeof part);
  cr_assert(sgemm_plan_describe(plan, p, d, part, 10) == length && memcmp(part, text, 9) == 0 && part[9] == '\0' &&
                part[10] == 'x',
            "%s", text);
  cr_assert(sgemm_plan_describe(plan, p, d, NULL, 0) == length);
}

Test(selection, descriptions) {
  sgemm_device d = h200();
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 4096, 4096, 4095);
  sgemm_plan plan = sgemm__plain_plan(SGEMM_tma_64x64x32_16x8);
  sgemm_params small = sgemm_params_init(SGEMM_N, SGEMM_N, 64, 64, 256);
  set_compiled(SGEMM_STAGE_ANY);
  set_addresses(&p, INT64_MAX);
  plan.stream_k = 264;
  plan.repack_a = 1;
  expect_line(&plan, &p, &d, "tma_64x64x32_16x8, stream_k 264, packs A; 3 launches, 72.2 MiB of workspace, estimated ",
              " us");
  p.order = SGEMM_COL_MAJOR;
  expect_line(&plan, &p, &d, "tma_64x64x32_16x8, stream_k 264, packs B; 3 launches, ", " us");
  plan.repack_b = 1;
  plan.stream_k = 0;
  expect_line(&plan, &p, &d, "tma_64x64x32_16x8, packs A and B; 2 launches, ", " us");
  plan = sgemm__plain_plan(SGEMM_splitk_32x64x32_8x4);
  expect_line(&plan, &p, &d, "splitk_32x64x32_8x4; 1 launch, 0.0 MiB of workspace, estimated ", " us");
  plan.cluster_k = 4;
  plan.split_k = 2;
  expect_line(&plan, &p, &d, "splitk_32x64x32_8x4, cluster_k 4, split_k 2; 2 launches, 128.0 MiB of workspace, ",
              " us");
  plan.tensor = SGEMM_wgmma_fp16x3_128x128;
  plan.tensor_fallback = SGEMM_wgmma_bf16x6_128x128;
  expect_line(&plan, &p, &d, "wgmma_fp16x3_128x128, split_k 2; 6 launches, ",
              " us; falls back on wgmma_bf16x6_128x128, then on splitk_32x64x32_8x4");
  plan.tensor_fallback = SGEMM_TENSOR_VARIANT_NONE;
  p.prepared_a = p.prepared_b = p.A;
  plan.split_k = 1;
  expect_line(&plan, &p, &d, "wgmma_fp16x3_128x128; 2 launches, ", " us; falls back on splitk_32x64x32_8x4");
  p.prepared_a = NULL; /* column-major: the kernel's A is pre-split, and slices of m share its B */
  plan.slices_m = 2;
  plan.slices_n = 3;
  plan.slices_k = 4;
  expect_line(&plan, &p, &d, "wgmma_fp16x3_128x128, slices_m 2, slices_n 3, slices_k 4; 60 launches, ",
              " us; falls back on splitk_32x64x32_8x4");
  p.prepared_a = p.prepared_b = NULL;

  p.mode = small.mode = SGEMM_TENSOR;
  p.workspace_bytes = 1 << 20;
  plan = sgemm_select(&p, SGEMM_STAGE_ANY, &d);
  expect_line(&plan, &p, &d, "",
              "; strict fp32, because the workspace is smaller than that of sgemm_workspace_query()");
  plan = sgemm_select(&small, SGEMM_STAGE_ANY, &d);
  expect_line(&plan, &small, &d, "",
              "; strict fp32, because tensor cores are not estimated to take less than 0.85 of its time");
  small.k = 127;
  plan = sgemm_select(&small, SGEMM_STAGE_ANY, &d);
  expect_line(&plan, &small, &d, "", "; strict fp32, because k is below 128");
  small.mode = SGEMM_TENSOR_FULL;
  small.k = 63;
  plan = sgemm_select(&small, SGEMM_STAGE_ANY, &d);
  expect_line(&plan, &small, &d, "", "; strict fp32, because k is below 64");
  small.alpha = 0.0f;
  expect_line(&plan, &small, &d, "", "; strict fp32, because there are no products");
  small.alpha = 1.0f;
  small.k = 256;
  p.workspace_bytes = INT64_MAX;
  p.epilogue = SGEMM_EPILOGUE_bias;
  p.beta_device = p.A;
  plan = sgemm_select(&p, SGEMM_STAGE_ANY, &d);
  expect_line(&plan, &p, &d, "", "overwrite the C that the epilogue reads; with D apart from C they do not");
  d.code_arch = 75;
  d.has_sm90a_code = 0;
  plan = sgemm_select(&small, SGEMM_STAGE_ANY, &d);
  expect_line(&plan, &small, &d, "", "; strict fp32, because the device or its code has no tensor-core variant");
  small.mode = SGEMM_STRICT;
  expect_line(&plan, &small, &d, "", " us");
  plan.variant = SGEMM_VARIANT_NONE;
  expect_line(&plan, &small, &d, "no plan of this stage", " stage");
  set_compiled(SGEMM_STAGE_tma);
  expect_line(&plan, &small, &d, "no plan fits: ", sgemm_status_string(SGEMM_ERROR_PLAN));
}

/* The estimate of the selected plan is the lowest among the plans of its variants, and grows with the sizes. With k of
   16384 the L2 no longer holds what the tiles of 8192 x 8192 load: four times the k take longer than four times. */
Test(selection, estimates) {
  const sgemm_device d = h200();
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 2048, 2048, 2048);
  sgemm_plan plan;
  double us, larger;
  int v;
  set_compiled(SGEMM_STAGE_ANY);
  set_addresses(&p, 0);
  plan = sgemm_select(&p, SGEMM_STAGE_ANY, &d);
  us = sgemm_plan_estimate(&plan, &p, &d);
  cr_assert(us > 250.0 && us < 400.0, "%g us", us); /* 17.2 GFLOP at 43 to 69 TFLOP/s */
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    const sgemm_plan other = sgemm_variant_plan((sgemm_variant)v, &p);
    if (sgemm__variant_get((sgemm_variant)v)->production == 1 && sgemm_plan_workspace(&other, &p) == 0)
      cr_assert(sgemm_plan_estimate(&other, &p, &d) >= us, "%s", sgemm__variant_get((sgemm_variant)v)->name);
  }
  p.k = p.lda = 4096;
  larger = sgemm_plan_estimate(&plan, &p, &d);
  cr_assert(larger > 1.8 * us && larger < 2.2 * us, "%g and %g us", us, larger);
  plan = sgemm__plain_plan(SGEMM_tma_64x64x32_16x8);
  p = sgemm_params_init(SGEMM_N, SGEMM_N, 8192, 8192, 4096);
  us = sgemm_plan_estimate(&plan, &p, &d);
  p.k = p.lda = 16384;
  larger = sgemm_plan_estimate(&plan, &p, &d);
  cr_assert(larger > 4.1 * us && larger < 4.6 * us, "%g and %g us", us, larger);
  plan.variant = SGEMM_VARIANT_NONE;
  cr_assert(sgemm_plan_estimate(&plan, &p, &d) == 0.0);
}

/* The estimated clocks of a variant's plan without options. */
static double cost_of(sgemm_variant variant, const sgemm_params *p, const sgemm_device *d) {
  const sgemm__variant_calibration *own = sgemm__calibration_of(variant);
  const sgemm__problem q = sgemm__problem_of(p, d, &sgemm__h200);
  const sgemm__candidate r = sgemm__candidate_of(variant, own, &q, &sgemm__h200);
  const sgemm_plan plan = sgemm__plain_plan(variant);
  return sgemm__cost(&plan, &r, &q, &sgemm__h200);
}

/* A vector whose elements are consecutive costs the same with both ops. With the other op a larger stride costs more,
   up to 8, where each element takes a sector. */
Test(selection, strides_of_vectors) {
  const sgemm_device d = h200();
  int column, stride;
  for (column = 0; column < 2; column++) {
    const sgemm_variant variant = column ? SGEMM_gemv_2x1x512_1x1 : SGEMM_gemv_1x2x512_1x1;
    double cost[5];
    for (stride = 0; stride < 5; stride++) { /* 0: the op with which the vector is K-major; 2, 3, 4: ld 3, 7, 17 */
      const sgemm_op op = (stride == 0) != column ? SGEMM_N : SGEMM_T;
      sgemm_params p = sgemm_params_init(column ? SGEMM_N : op, column ? op : SGEMM_T, column ? 37 : 1, column ? 1 : 37,
                                         9001);
      if (stride >= 2)
        *(column ? &p.ldb : &p.lda) = stride == 2 ? 3 : stride == 3 ? 7 : 17;
      cost[stride] = cost_of(variant, &p, &d);
    }
    cr_assert(cost[0] == cost[1] && cost[3] > cost[2] && cost[4] > cost[3], "column %d: %g, %g, %g, %g, %g clocks",
              column, cost[0], cost[1], cost[2], cost[3], cost[4]);
  }
}

/* A variant's candidate for a call. */
static sgemm__candidate candidate_of(sgemm_variant variant, const sgemm__problem *q) {
  return sgemm__candidate_of(variant, sgemm__calibration_of(variant), q, &sgemm__h200);
}

/* With beta each block waits for C, and the SM loads it; rows of C that are not aligned cost the SM time. A plan of
   split-K pays neither, because its partial results have aligned rows and no old C. */
Test(selection, c_costs_work_and_wait) {
  static const sgemm_variant variants[] = {SGEMM_direct_16x32x4_4x1, SGEMM_async_64x64x8_8x8, SGEMM_async_64x128x8_8x8,
                                           SGEMM_splitk_8x32x128_4x4, SGEMM_tma_64x64x32_16x8};
  const sgemm_device d = h200();
  unsigned i;
  int split_k;
  for (i = 0; i < sizeof variants / sizeof *variants; i++) {
    sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 64, 128, 256);
    sgemm__problem q = sgemm__problem_of(&p, &d, &sgemm__h200);
    const char *name = sgemm_variant_get(variants[i])->name;
    const sgemm__candidate plain = candidate_of(variants[i], &q);
    sgemm__candidate r;
    p.ldc = 130;
    q = sgemm__problem_of(&p, &d, &sgemm__h200);
    r = candidate_of(variants[i], &q);
    cr_assert(r.read_c == 0.0 && r.tile_c > 0.0, "%s", name);
    p.beta = 0.5f;
    q = sgemm__problem_of(&p, &d, &sgemm__h200);
    r = candidate_of(variants[i], &q);
    cr_assert(plain.read_c == 0.0 && plain.tile_c == 0.0 && r.read_c > 0.0 && r.tile_c > 0.0, "%s", name);
    for (split_k = 1; split_k <= 2; split_k++) {
      sgemm_plan plan = sgemm__plain_plan(variants[i]);
      sgemm__candidate no_wait = r, no_work = r;
      double cost, without_wait, without_work;
      plan.split_k = split_k;
      no_wait.read_c = no_work.tile_c = 0.0;
      cost = sgemm__cost(&plan, &r, &q, &sgemm__h200);
      without_wait = sgemm__cost(&plan, &no_wait, &q, &sgemm__h200);
      without_work = sgemm__cost(&plan, &no_work, &q, &sgemm__h200);
      cr_assert(split_k == 1 ? without_wait < cost && without_work < cost
                             : without_wait == cost && without_work == cost,
                "%s, split_k %d: %g, %g and %g clocks", name, split_k, cost, without_wait, without_work);
    }
  }
}

/* Each state of an operand has its own factors. At an edge a tile loads the rows that exist. */
Test(selection, factors_of_operands) {
  const sgemm_device d = h200();
  const sgemm_variant variant = SGEMM_splitk_64x64x16_8x4;
  const sgemm__variant_calibration *own = sgemm__calibration_of(variant);
  sgemm_params p = sgemm_params_init(SGEMM_T, SGEMM_N, 256, 128, 512);
  sgemm__problem q = sgemm__problem_of(&p, &d, &sgemm__h200);
  const sgemm__candidate plain = candidate_of(variant, &q);
  int a, b;
  for (a = 0; a < SGEMM__OPERAND_STATES; a++)
    for (b = 0; b < SGEMM__OPERAND_STATES; b++) {
      sgemm__candidate r;
      p = sgemm_params_init(a & SGEMM__K_MAJOR ? SGEMM_N : SGEMM_T, b & SGEMM__K_MAJOR ? SGEMM_T : SGEMM_N, 256, 128,
                            512);
      p.lda += (a & SGEMM__UNALIGNED) != 0;
      p.ldb += (b & SGEMM__UNALIGNED) != 0;
      q = sgemm__problem_of(&p, &d, &sgemm__h200);
      r = candidate_of(variant, &q);
      cr_assert(fabs(r.per_k / plain.per_k - own->fma_a[a] * own->fma_b[b]) < 1e-9, "%d, %d: %g", a, b,
                r.per_k / plain.per_k);
      cr_assert(fabs(r.load / plain.load - own->load_a[a] * own->load_b[b]) < 1e-9, "%d, %d: %g", a, b,
                r.load / plain.load);
    }
  p = sgemm_params_init(SGEMM_T, SGEMM_N, 256, 128 - 48, 512); /* a tile of B has 16 of 64 columns */
  q = sgemm__problem_of(&p, &d, &sgemm__h200);
  cr_assert(fabs(candidate_of(variant, &q).load / plain.load - (2 * 256 + 4 * 80) / (2 * 256 + 4 * 128.0)) < 1e-9);
}

/* A tensor plan that stores to a C whose rows start at odd multiples of 4 bytes stores single results: 0.7 clocks of an
   SM more for each. Partial results are aligned. */
Test(selection, odd_rows_of_tensor_results) {
  const sgemm_device d = h200();
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 1000, 2000, 512);
  sgemm_plan plan = sgemm__plain_plan(SGEMM_tiled_32x32x32_1x1);
  int split_k, padding;
  plan.tensor = SGEMM_wgmma_fp16x3_128x128;
  p.mode = SGEMM_TENSOR;
  for (split_k = 1; split_k <= 2; split_k++)
    for (padding = 1; padding <= 3; padding++) {
      sgemm_params padded = p;
      double more;
      plan.split_k = split_k;
      padded.ldc += padding;
      more = sgemm_plan_estimate(&plan, &padded, &d) - sgemm_plan_estimate(&plan, &p, &d);
      cr_assert(near(more, split_k == 1 && padding % 2 ? 0.7 * 2e6 / 132.0 / 1980.0 : 0.0, 1e-6),
                "split_k %d, ldc %d: %g us more", split_k, (int)padded.ldc, more);
    }
}

/* The plans of split-K have as many partitions as fill a wave, three quarters, a half and a third of it. 30 tiles of
   64 x 64 with four blocks on each of 132 SMs leave 17.6 slots for each tile. */
Test(selection, partitions_of_parts_of_a_wave) {
  static const int partitions[] = {1, 17, 13, 8, 5};
  const sgemm_device d = h200();
  const sgemm_variant variant = SGEMM_async_64x64x16_8x4;
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 300, 350, 4000);
  sgemm_plan plan = sgemm__plain_plan(variant);
  sgemm__candidate r;
  sgemm__problem q;
  int number;
  p.workspace_bytes = 32 << 20;
  q = sgemm__problem_of(&p, &d, &sgemm__h200);
  r = sgemm__candidate_of(variant, sgemm__calibration_of(variant), &q, &sgemm__h200);
  cr_assert(near(r.slots, 17.6, 1e-9), "%g slots", r.slots);
  for (number = 0; number < (int)(sizeof partitions / sizeof *partitions); number++)
    cr_assert(sgemm__numbered_plan(number, &r, &q, &plan) == 1 && plan.split_k == partitions[number] &&
                  plan.cluster_k == 1 && plan.stream_k == 0,
              "plan %d: %d partitions", number, plan.split_k);
}

/* Where lanes divide k, a load of 32 k of a column of B touches as many lines as the distance of its rows says, at most
   one for each k, if B is MN-major. Where it is K-major the distance of the columns does not count. */
Test(selection, lines_where_lanes_divide_k) {
  static const sgemm_variant variants[] = {SGEMM_direct_4x8x64_4x8, SGEMM_direct_8x4x256_8x4};
  const sgemm_device d = h200();
  unsigned i;
  for (i = 0; i < sizeof variants / sizeof *variants; i++) {
    const sgemm_plan plan = sgemm__plain_plan(variants[i]);
    sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 4, 4, 2000);
    double near, apart, farther;
    p.batch = 1000;
    near = sgemm_plan_estimate(&plan, &p, &d);
    p.ldb = 32;
    apart = sgemm_plan_estimate(&plan, &p, &d);
    p.ldb = 64;
    farther = sgemm_plan_estimate(&plan, &p, &d);
    cr_assert(apart > 1.3 * near && apart == farther, "%g us, %g us, %g us", near, apart, farther);
    p = sgemm_params_init(SGEMM_N, SGEMM_T, 4, 4, 2000);
    p.batch = 1000;
    near = sgemm_plan_estimate(&plan, &p, &d);
    p.ldb = 2400;
    apart = sgemm_plan_estimate(&plan, &p, &d);
    cr_assert(apart == near, "%g us, %g us", near, apart);
  }
}

/* Where k is too short for a full wave of partitions, the plan of split-K has as many as k allows: one for each 1,024 k
   of gemv 1x4x1024. With more k there are 128, the limit, in place of the 528 of a wave, and never two such plans. */
Test(selection, partitions_of_a_short_k) {
  static const int64_t cases[][2] = {{1500, 0}, {2047, 0}, {2048, 2}, {5000, 4}, {131071, 127}, {1000000, 128}};
  const sgemm_device d = h200();
  const sgemm_variant variant = SGEMM_gemv_1x4x1024_1x1;
  const sgemm__variant_calibration *own = sgemm__calibration_of(variant);
  unsigned i;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_T, 1, 4, cases[i][0]);
    sgemm_plan plan = sgemm__plain_plan(variant);
    int64_t partitions = 0;
    sgemm__candidate r;
    sgemm__problem q;
    int number;
    p.workspace_bytes = 32 << 20;
    q = sgemm__problem_of(&p, &d, &sgemm__h200);
    r = sgemm__candidate_of(variant, own, &q, &sgemm__h200);
    for (number = 0; number < SGEMM__PLAN_NUMBERS; number++)
      if (sgemm__numbered_plan(number, &r, &q, &plan) > 0 && plan.cluster_k == 1 && plan.split_k > 1)
        partitions += plan.split_k;
    cr_assert(partitions == cases[i][1], "k %lld: %lld partitions", (long long)cases[i][0], (long long)partitions);
  }
}

/* sgemm_run_variant() chooses cluster_k by k alone, so that the bits of a result depend on neither m nor the batch. */
Test(selection, run_variant_chooses_cluster_k_by_k) {
  int v, i;
  set_compiled(SGEMM_STAGE_ANY);
  current = h200();
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    const sgemm_variant_info *info = sgemm_variant_get((sgemm_variant)v);
    unsigned cluster_k[SIZE_COUNT] = {0}, largest = 1;
    sgemm_status status;
    for (i = 0; i < SHAPES; i++) {
      sgemm_params p = shape(i);
      unsigned *of_k = &cluster_k[i / SIZE_COUNT / SIZE_COUNT];
      set_addresses(&p, INT64_MAX);
      launches = 0;
      status = sgemm_run_variant((sgemm_variant)v, &p, NULL);
      if (status == SGEMM_ERROR_GRID) { /* 70000 x 70000 by blocks of a few results */
        cr_assert((double)p.m * (double)p.n / (info->BM * info->BN) * (info->cluster_split_k ? 8 : 1) > 2147483647.0);
        continue;
      }
      cr_assert(status == SGEMM_SUCCESS);
      cr_assert(launches == 1 || (launches == 2 && launched[0].kernel == SGEMM__PACK));
      launched[0] = launched[launches - 1];
      cr_assert(launched[0].kernel == v);
      *of_k = *of_k > 0 ? *of_k : launched[0].grid.cluster;
      cr_assert(launched[0].grid.cluster == *of_k, "%s, shape %d", info->name, i);
      largest = *of_k > largest ? *of_k : largest;
    }
    cr_assert(largest == (info->cluster_split_k ? 8 : 1));
  }
}

/* With the bytes of sgemm_workspace_query() the selection returns the best plan; with 16 bytes less, another plan. */
Test(selection, workspace_query) {
  int with = 0, which, i;
  set_compiled(SGEMM_STAGE_ANY);
  for (which = 0; which < DEVICES; which++)
    for (i = 0; i < SHAPES; i++) {
      const sgemm_device d = current = device(which);
      sgemm_params p = shape(i), unlimited = p;
      sgemm_plan best, plan;
      int64_t bytes = -1;
      unlimited.workspace_bytes = INT64_MAX;
      best = sgemm_select(&unlimited, SGEMM_STAGE_ANY, &d);
      cr_assert(sgemm_workspace_query(&p, &bytes) == SGEMM_SUCCESS);
      cr_assert(bytes == sgemm_plan_workspace(&best, &unlimited) && bytes >= 0, "shape %d, device %d", i, which);
      set_addresses(&p, bytes);
      plan = sgemm_select(&p, SGEMM_STAGE_ANY, &d);
      cr_assert(same_plan(&plan, &best), "shape %d, device %d", i, which);
      launches = 0;
      cr_assert(sgemm_run(&p, NULL) == SGEMM_SUCCESS);
      check_launches(&p, &best, "sgemm_run", i, which);
      if (bytes > 0) {
        p.workspace_bytes = bytes - 16;
        plan = sgemm_select(&p, SGEMM_STAGE_ANY, &d);
        cr_assert(!same_plan(&plan, &best), "shape %d, device %d", i, which);
        cr_assert(sgemm_plan_workspace(&plan, &p) < bytes, "shape %d, device %d", i, which);
        with++;
      }
    }
  cr_assert(with > 0, "no best plan uses a workspace");
  cr_assert(sgemm_workspace_query(NULL, NULL) == SGEMM_ERROR_PARAMS);
  {
    sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, INT64_C(1) << 45, INT64_C(1) << 45, 8);
    int64_t bytes = -1;
    cr_assert(sgemm_workspace_query(&p, &bytes) == SGEMM_ERROR_TOO_LARGE && bytes == -1);
    p.mode = 7;
    cr_assert(sgemm_workspace_query(&p, &bytes) == SGEMM_ERROR_MODE);
  }
}

/* Where no variant of a stage can apply an epilogue in place, no workspace helps. */
Test(selection, no_plan_applies_the_epilogue) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 64, 64, 64);
  set_compiled(SGEMM_STAGE_ANY);
  current = h200();
  set_addresses(&p, INT64_MAX);
  p.beta_device = p.A;
  cr_assert(sgemm_run_stage(SGEMM_STAGE_async, &p, NULL) == SGEMM_ERROR_PLAN);
  cr_assert(sgemm_run_stage(SGEMM_STAGE_splitk, &p, NULL) == SGEMM_SUCCESS);
  p.D = (float *)p.workspace;
  cr_assert(sgemm_run_stage(SGEMM_STAGE_async, &p, NULL) == SGEMM_SUCCESS);
}

/* A partition has rows of a multiple of 16 bytes, for each matrix of the batch. A number of bytes that exceeds 64 bits
   becomes INT64_MAX and does not wrap to 0. */
Test(selection, workspace_of_a_plan) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 5, 6, 7);
  sgemm_plan plan = sgemm_variant_plan(SGEMM_async_64x64x16_8x4, &p);
  plan.split_k = 3;
  p.batch = 2;
  cr_assert(sgemm_plan_workspace(&plan, &p) == 3 * 2 * 5 * 32);
  p.order = SGEMM_COL_MAJOR;
  cr_assert(sgemm_plan_workspace(&plan, &p) == 3 * 2 * 6 * 32);
  plan.split_k = 1;
  cr_assert(sgemm_plan_workspace(&plan, &p) == 0);
  p = sgemm_params_init(SGEMM_N, SGEMM_N, 1 << 14, 1 << 14, 1);
  p.batch = INT64_C(1) << 31;
  plan.split_k = 8;
  cr_assert(sgemm_plan_workspace(&plan, &p) == INT64_MAX);
  plan = sgemm_variant_plan(SGEMM_tma_64x128x64_16x8, &p);
  plan.stream_k = 8;
  for (p.batch = 0; p.batch < 2; p.batch++) {
    p.m = p.n = p.k = INT64_C(1) << 40;
    cr_assert(sgemm_plan_workspace(&plan, &p) == INT64_MAX);
  }
  p = sgemm_params_init(SGEMM_N, SGEMM_N, 129, 5, 65);
  plan = sgemm_variant_plan(SGEMM_tma_64x128x64_16x8, &p);
  cr_assert(plan.repack_a == 1 && plan.repack_b == 1 && plan.cluster_k == 1 && plan.split_k == 1 &&
            plan.stream_k == 0 && plan.tensor == SGEMM_TENSOR_VARIANT_NONE);
  cr_assert(sgemm_plan_workspace(&plan, &p) == 4 * (256 + 128) * 128);
  plan.stream_k = 3;
  cr_assert(sgemm_plan_workspace(&plan, &p) == 4 * (256 + 128) * 128 + 4 * 3 * 2 * 64 * 128);
}

/* Workspace bytes of a tma plan after sgemm__decide_repack(). workspace_bytes: of the call. */
static int64_t repack_bytes(int op_b, int64_t m, int64_t n, int64_t k, int64_t workspace_bytes) {
  sgemm_params p = sgemm_params_init(SGEMM_N, (sgemm_op)op_b, m, n, k);
  sgemm_plan plan = sgemm_variant_plan(SGEMM_tma_64x128x64_16x8, &p);
  const sgemm__args args = sgemm__args_of(&p);
  cr_assert(!plan.repack_a && !plan.repack_b, "the variant's own plan packs an operand that tensor maps can describe");
  sgemm__decide_repack(&plan, &args, workspace_bytes);
  cr_assert(!plan.repack_a && plan.repack_b == (sgemm_plan_workspace(&plan, &p) > 0));
  return sgemm_plan_workspace(&plan, &p);
}

Test(selection, repack_of_b) {
  const int64_t room = 4 * 128 * 512;
  cr_assert(repack_bytes(SGEMM_N, 2048, 8, 512, room) == 0, "up to 2048 rows B is not repacked");
  cr_assert(repack_bytes(SGEMM_N, 2049, 8, 512, room) == 4 * 128 * 512, "with more rows it is faster to repack B");
  cr_assert(repack_bytes(SGEMM_N, 2049, 8, 512, room - 1) == 0, "the workspace has no room");
  cr_assert(repack_bytes(SGEMM_N, 2049, 8, 508, room) == 0, "k is too short");
  cr_assert(repack_bytes(SGEMM_T, 2049, 8, 512, room) == 0, "B is K-major");
}

/* ---- SGEMM_WORKSPACE_AUTO ---------------------------------------------------------------------------------------- */

/* A call with a plan that has a workspace: the bytes of the plan are allocated before the first launch and freed after
   the last one, also if a launch fails. */
Test(workspace_auto, allocated_and_freed_around_the_launches) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_T, 64, 64, 65536);
  sgemm_plan plan;
  int by_plan, fails;
  current = h200();
  set_compiled(SGEMM_STAGE_ANY);
  set_addresses(&p, 0);
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  plan = sgemm_select(&p, SGEMM_STAGE_ANY, &current);
  cr_assert(sgemm_plan_workspace(&plan, &p) > 0, "the plan has no workspace");
  for (by_plan = 0; by_plan < 2; by_plan++)
    for (fails = 0; fails < 2; fails++) {
      const sgemm_status want = fails ? (sgemm_status)(SGEMM_ERROR_CUDA + 1) : SGEMM_SUCCESS;
      memset(&pool, 0, sizeof pool);
      launches = 0;
      launch_status = want;
      cr_assert((by_plan ? sgemm_run_plan(&plan, &p, NULL) : sgemm_run(&p, NULL)) == want);
      cr_assert(pool.allocations == 1 && pool.frees == 1 && pool.launches == launches && launches > !fails);
      cr_assert(pool.bytes == sgemm_plan_workspace(&plan, &p));
    }
  launch_status = SGEMM_SUCCESS;
}

/* If the pool has memory for the terms of fp16x3 but not for those of full range, sgemm_run() launches the tensor plan
   without the full-range fallback. sgemm_run_plan() launches nothing. */
Test(workspace_auto, no_memory_for_full_range) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_T, 4096, 4096, 4096);
  sgemm_plan plan, less;
  current = h200();
  set_compiled(SGEMM_STAGE_ANY);
  set_addresses(&p, 0);
  p.mode = SGEMM_TENSOR;
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  plan = less = sgemm_select(&p, SGEMM_STAGE_ANY, &current);
  cr_assert(plan.tensor_fallback != SGEMM_TENSOR_VARIANT_NONE);
  less.tensor_fallback = SGEMM_TENSOR_VARIANT_NONE;
  memset(&pool, 0, sizeof pool);
  pool.limit = sgemm_plan_workspace(&less, &p);
  launches = 0;
  cr_assert(sgemm_run_plan(&plan, &p, NULL) == SGEMM_ERROR_WORKSPACE && launches == 0);
  cr_assert(sgemm_run(&p, NULL) == SGEMM_SUCCESS && pool.bytes == pool.limit && pool.frees == 1);
  check_tensor_launches(&less, &p, "sgemm_run", 0);
}

/* If the pool has a quarter of the memory for the terms of fp16x3, sgemm_run() launches the tensor plan with slices
   that fits, and with a byte less the plan without a workspace. */
Test(workspace_auto, slices_in_a_quarter) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_T, 4096, 4096, 4096), without = p;
  sgemm_plan plan, strict;
  int64_t quarter;
  current = h200();
  set_compiled(SGEMM_STAGE_ANY);
  set_addresses(&p, 0);
  set_addresses(&without, 0);
  p.mode = without.mode = SGEMM_TENSOR;
  strict = sgemm_select(&without, SGEMM_STAGE_ANY, &current);
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  plan = sgemm_select(&p, SGEMM_STAGE_ANY, &current);
  plan.tensor_fallback = SGEMM_TENSOR_VARIANT_NONE;
  quarter = p.workspace_bytes = sgemm_plan_workspace(&plan, &p) / 4;
  plan = sgemm_select(&p, SGEMM_STAGE_ANY, &current);
  cr_assert(sgemm__is_sliced(&plan) && sgemm_plan_workspace(&plan, &p) <= quarter);
  memset(&pool, 0, sizeof pool);
  pool.limit = sgemm_plan_workspace(&plan, &p);
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  launches = 0;
  cr_assert(sgemm_run(&p, NULL) == SGEMM_SUCCESS && pool.bytes == pool.limit && pool.frees == 1);
  check_tensor_launches(&plan, &p, "sgemm_run", 0);
  pool.limit--;
  launches = 0;
  cr_assert(sgemm_run(&p, NULL) == SGEMM_SUCCESS && pool.frees == 1);
  check_launches(&without, &strict, "sgemm_run", 0, 0);
}

/* A pool without memory: sgemm_run() launches the plan that it selects without a workspace, sgemm_run_plan() launches
   nothing. A plan without a workspace asks for no memory. */
Test(workspace_auto, no_memory) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_T, 64, 64, 65536), without;
  sgemm_plan plan, without_plan;
  current = h200();
  set_compiled(SGEMM_STAGE_ANY);
  set_addresses(&p, 0);
  without = p;
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  plan = sgemm_select(&p, SGEMM_STAGE_ANY, &current);
  without_plan = sgemm_select(&without, SGEMM_STAGE_ANY, &current);
  cr_assert(!same_plan(&plan, &without_plan));
  memset(&pool, 0, sizeof pool);
  pool.empty = 1;
  launches = 0;
  cr_assert(sgemm_run_plan(&plan, &p, NULL) == SGEMM_ERROR_WORKSPACE && launches == 0);
  cr_assert(sgemm_run(&p, NULL) == SGEMM_SUCCESS);
  check_launches(&without, &without_plan, "sgemm_run", 0, 0);
  cr_assert(pool.frees == 0);
  launches = 0;
  pool.bytes = 0;
  cr_assert(sgemm_run_plan(&without_plan, &p, NULL) == SGEMM_SUCCESS && launches > 0 && pool.bytes == 0);
  /* Partitions whose bytes 64 bits do not hold. */
  p = sgemm_params_init(SGEMM_N, SGEMM_N, 1LL << 29, 1LL << 29, 4096);
  set_addresses(&p, 0);
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  plan = sgemm_variant_plan(SGEMM_async_64x64x16_8x4, &p);
  plan.split_k = 128;
  cr_assert(sgemm_plan_workspace(&plan, &p) == INT64_MAX);
  pool.empty = launches = 0;
  cr_assert(sgemm_run_plan(&plan, &p, NULL) == SGEMM_ERROR_WORKSPACE && launches == 0 && pool.bytes == 0);
}
