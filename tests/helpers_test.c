/* The header's own functions: counts, roofline, metrics, occupancy, table and selection, against figures worked out by
   hand. Needs no implementation file; what it would provide, this file answers itself. */
#include "sgemm.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* ---- In place of an implementation ------------------------------------------------------------------------------- */

static int compiled[SGEMM_VARIANT_COUNT];
static sgemm_status resources_status;
static sgemm_machine current;

/* What the last call launched: nothing is computed. */
enum { LAUNCHES = 2 };
static struct {
  int number; /* of a kernel: a variant's is the variant */
  sgemm__grid grid;
  sgemm__args args;
} launched[LAUNCHES];
static int launches;

sgemm_status sgemm_machine_query(sgemm_machine *out) {
  *out = current;
  return SGEMM_SUCCESS;
}

sgemm_status sgemm__launch(int number, int ops, sgemm__grid grid, const sgemm__args *args, sgemm_stream stream) {
  (void)ops, (void)stream;
  cr_assert(launches < LAUNCHES);
  launched[launches].number = number;
  launched[launches].grid = grid;
  launched[launches++].args = *args;
  return SGEMM_SUCCESS;
}

sgemm_status sgemm__copy_word(uint32_t *to, const uint32_t *from, sgemm_stream stream) {
  (void)to, (void)from, (void)stream;
  return SGEMM_ERROR_UNAVAILABLE;
}

int sgemm_compiled(sgemm_variant variant) { return compiled[variant]; }
int sgemm_tensor_compiled(void) { return 0; }

sgemm_status sgemm_kernel_resources(sgemm_variant variant, sgemm_op op_a, sgemm_op op_b, int *registers,
                                    int64_t *shared_bytes, int64_t *local_bytes) {
  (void)variant, (void)op_a, (void)op_b;
  *registers = 128;
  *shared_bytes = 16384;
  *local_bytes = 0;
  return resources_status;
}

/* Stage COUNT: every row. */
static void compile(sgemm_stage stage) {
  int v;
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
    compiled[v] = stage == SGEMM_STAGE_COUNT || sgemm_variant_get((sgemm_variant)v)->stage == stage;
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

Test(table, rows_follow_the_grammar) {
  int v, w;
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    const sgemm_variant_info *r = sgemm_variant_get((sgemm_variant)v);
    char name[80];
    snprintf(name, sizeof name, "sgemm_%s_%dx%dx%d_%dx%d", r->stage_name, r->BM, r->BN, r->BK, r->TM, r->TN);
    cr_assert_str_eq(r->name, name);
    cr_assert(r->threads == r->BM / r->TM * (r->BN / r->TN) * r->slices + 128 * r->packs && r->threads <= 1024 &&
                  r->blocks * r->threads <= 2048,
              "%s", name);
    cr_assert(r->split == (r->stage == SGEMM_STAGE_splitk) &&
                  (r->slices == 1 || r->split || r->packs || r->stage == SGEMM_STAGE_gemv),
              "%s", name);
    cr_assert(r->packs == (r->stage == SGEMM_STAGE_tma), "%s", name);
    cr_assert(r->bufs >= 3 ? r->shared >= 4 * r->bufs * r->BK * (r->BM + r->BN) : r->shared == 0, "%s", name);
    cr_assert(!r->split || r->shared >= 4 * r->slices * r->BM * r->BN, "%s: the slices' results", name);
    cr_assert(r->reason[0] != '\0' && (int)r->stage >= 0 && r->stage < SGEMM_STAGE_COUNT, "%s", name);
    for (w = 0; w < v; w++)
      cr_assert(strcmp(name, sgemm_variant_get((sgemm_variant)w)->name) != 0, "%s comes twice", name);
  }
  cr_assert(sgemm_variant_get(SGEMM_VARIANT_COUNT) == NULL && sgemm_variant_get((sgemm_variant)-1) == NULL);
}

/* ---- Counts ------------------------------------------------------------------------------------------------------ */

Test(counts, worked_figures) {
  cr_assert(sgemm_flops(1024, 2048, 512) == 2147483648.0);
  cr_assert(sgemm_min_bytes(1024, 2048, 512, 0.5f) == 23068672.0);
  cr_assert(near(sgemm_intensity(2147483648.0, 23068672.0), 93.1, 0.05));
  cr_assert(sgemm_flops(4096, 4096, 4096) == 137438953472.0);
  cr_assert(sgemm_min_bytes(4096, 4096, 4096, 1.0f) == 268435456.0);
  cr_assert(sgemm_intensity(137438953472.0, 268435456.0) == 512.0);
  cr_assert(sgemm_flops(2048, 2048, 2048) == 17179869184.0);
}

/* Past 2^31 from a square of 1024 (FLOP) and of 23,171 (bytes of one matrix) on. */
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

/* C is read only for a beta that is not 0: n/8 FLOP per byte with it, n/6 without. */
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

Test(metrics, worked_figures) {
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

/* What an SM of an H200 has. */
static sgemm_device h200(void) {
  sgemm_device d;
  memset(&d, 0, sizeof d);
  d.threads_per_sm = 2048;
  d.blocks_per_sm = 32;
  d.registers_per_sm = 65536;
  d.shared_per_sm = 228 * 1024;
  d.shared_reserved = 1024;
  return d;
}

Test(occupancy, worked_figures) {
  static const struct {
    int threads, registers;
    int64_t shared;
    int blocks, warps;
    sgemm_limit limit;
  } cases[] = {
      {1024, 32, 8192, 2, 64, SGEMM_LIMIT_THREADS},   /* 2048 / 1024 */
      {48, 32, 0, 32, 64, SGEMM_LIMIT_THREADS},       /* 48 threads take the place of 64 */
      {32, 32, 0, 32, 32, SGEMM_LIMIT_BLOCKS},        /* 64 blocks of a warp would fit, 32 may */
      {256, 128, 8448, 2, 16, SGEMM_LIMIT_REGISTERS}, /* 4096 a warp: 4 in a quarter, 16 in all */
      {256, 255, 0, 1, 8, SGEMM_LIMIT_REGISTERS},     /* 8160, rounded to 8192: 2 in a quarter */
      {1024, 33, 0, 1, 32, SGEMM_LIMIT_REGISTERS},    /* 1056, rounded to 1280: 12 in a quarter, 48 in all */
      {32, 96, 0, 20, 20, SGEMM_LIMIT_REGISTERS},     /* 3072: 5 in a quarter; 21 would fit the whole */
      {1024, 128, 0, 0, 0, SGEMM_LIMIT_REGISTERS},    /* 16 warps fit, the block has 32 */
      {128, 40, 49152, 4, 16, SGEMM_LIMIT_SHARED},    /* 49152 + 1024 reserved: 4.65 of them */
      {128, 32, 115712, 2, 8, SGEMM_LIMIT_SHARED},    /* 113 KiB + 1: exactly half */
      {128, 32, 115713, 1, 4, SGEMM_LIMIT_SHARED},    /* a byte more takes 128 */
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
  const sgemm_device d = h200();
  sgemm_occupancy o = {-1, -1, -1.0, SGEMM_LIMIT_THREADS};
  int v;
  resources_status = SGEMM_ERROR_UNAVAILABLE;
  cr_assert(sgemm_variant_occupancy((sgemm_variant)0, SGEMM_N, SGEMM_N, &d, &o) == SGEMM_ERROR_UNAVAILABLE);
  cr_assert(o.blocks == -1, "untouched on error");
  resources_status = SGEMM_SUCCESS;
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    const sgemm_occupancy want = sgemm_occupancy_of(&d, sgemm_variant_get((sgemm_variant)v)->threads, 128, 16384);
    cr_assert(sgemm_variant_occupancy((sgemm_variant)v, SGEMM_N, SGEMM_N, &d, &o) == SGEMM_SUCCESS);
    cr_assert(o.blocks == want.blocks && o.warps == want.warps && o.limit == want.limit, "row %d", v);
  }
}

/* ---- Selection --------------------------------------------------------------------------------------------------- */

static const int64_t SIZES[] = {1, 3, 31, 64, 129, 1000, 4096, 70000};
enum { SIZE_COUNT = sizeof SIZES / sizeof *SIZES };

/* Shape i of all that SIZES make, with a batch, ops and an order that vary. */
static sgemm_params shape(int i) {
  sgemm_params p = sgemm_params_init(i % 2 ? SGEMM_T : SGEMM_N, i % 5 ? SGEMM_N : SGEMM_T, SIZES[i % SIZE_COUNT],
                                     SIZES[i / SIZE_COUNT % SIZE_COUNT], SIZES[i / SIZE_COUNT / SIZE_COUNT]);
  p.batch = 1 + i % 3;
  if (i % 7 == 0) { /* the transposed product, whose operands trade places */
    p.order = SGEMM_COL_MAJOR;
    p.lda = p.ldb = p.ldc = SIZES[SIZE_COUNT - 1];
    p.stride_c = p.ldc * SIZES[SIZE_COUNT - 1];
  }
  return p;
}
enum { SHAPES = SIZE_COUNT * SIZE_COUNT * SIZE_COUNT };

/* Real multiprocessor counts with every architecture that the implementation knows to differ, and what a block may have of
   shared memory there (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"). */
static const int MULTIPROCESSORS[] = {1, 58, 108, 132, 142};
static const int ARCHITECTURES[][2] = {{75, 64}, {80, 163}, {86, 99}, {89, 99}, {90, 227}, {100, 227}, {120, 99}};
enum { ARCHITECTURE_COUNT = sizeof ARCHITECTURES / sizeof *ARCHITECTURES, MACHINES = 5 * ARCHITECTURE_COUNT };

static sgemm_machine machine(int i) {
  const int *arch = ARCHITECTURES[i / 5];
  const sgemm_machine m = {
      MULTIPROCESSORS[i % 5], arch[0], arch[0] <= 80 ? 64 : 128, 1800, 2000.0, arch[1] * 1024, 0, 40 << 20};
  return m;
}

static sgemm_machine h200_machine(void) {
  const sgemm_machine m = {132, 90, 128, 1980, 4814.7, 227 * 1024, 1, 50 << 20};
  return m;
}

static int same_plan(const sgemm_plan *a, const sgemm_plan *b) {
  return a->variant == b->variant && a->ranks == b->ranks && a->planes == b->planes;
}

/* Addresses that no call may follow, since nothing is computed. */
static void point(sgemm_params *p, int64_t workspace_bytes) {
  static _Alignas(16) float somewhere[4]; /* which tensor maps can describe */
  p->A = p->B = p->C = somewhere;
  p->workspace = workspace_bytes > 0 ? (void *)(uintptr_t)4096 : NULL;
  p->workspace_bytes = workspace_bytes;
}

/* The same answer for the same arguments, in whatever order and after whatever else is asked. */
Test(selection, pure) {
  const sgemm_machine m = h200_machine(), other_machine = machine(0);
  sgemm_plan first[SHAPES];
  int i;
  compile(SGEMM_STAGE_COUNT);
  for (i = 0; i < SHAPES; i++) {
    sgemm_params p = shape(i);
    p.workspace_bytes = i % 4 * (1 << 20);
    first[i] = sgemm_select(&p, SGEMM_STAGE_COUNT, &m);
    cr_assert(sgemm_variant_get(first[i].variant) != NULL);
  }
  for (i = SHAPES - 1; i >= 0; i--) {
    sgemm_params p = shape(i), other = shape((i * 7 + 1) % SHAPES);
    sgemm_plan again;
    p.workspace_bytes = i % 4 * (1 << 20);
    sgemm_select(&other, SGEMM_STAGE_doublebuffered, &other_machine);
    again = sgemm_select(&p, SGEMM_STAGE_COUNT, &m);
    cr_assert(same_plan(&again, &first[i]), "shape %d", i);
  }
}

Test(selection, only_compiled_rows_of_the_stage) {
  const sgemm_machine m = h200_machine();
  int s, t, i;
  for (s = 0; s <= SGEMM_STAGE_COUNT; s++)
    for (t = 0; t <= SGEMM_STAGE_COUNT; t++) {
      compile((sgemm_stage)s);
      for (i = 0; i < SHAPES; i += 5) {
        sgemm_params p = shape(i);
        sgemm_variant v;
        p.workspace_bytes = INT64_MAX;
        v = sgemm_select(&p, (sgemm_stage)t, &m).variant;
        if (s != SGEMM_STAGE_COUNT && t != SGEMM_STAGE_COUNT && s != t)
          cr_assert(v == SGEMM_VARIANT_COUNT, "stage %d of a build with %d only", t, s);
        else
          cr_assert(v != SGEMM_VARIANT_COUNT && compiled[v] &&
                        (t == SGEMM_STAGE_COUNT || sgemm_variant_get(v)->stage == (sgemm_stage)t),
                    "stage %d of a build with %d", t, s);
      }
    }
  memset(compiled, 0, sizeof compiled);
  for (i = 0; i < SHAPES; i += 5) {
    const sgemm_params p = shape(i);
    cr_assert(sgemm_select(&p, SGEMM_STAGE_COUNT, &m).variant == SGEMM_VARIANT_COUNT, "a build without any row");
  }
}

Test(selection, production_goes_first) {
  const sgemm_machine m = h200_machine();
  int i;
  compile(SGEMM_STAGE_COUNT);
  for (i = 0; i < SHAPES; i++) {
    const sgemm_params p = shape(i);
    cr_assert(sgemm_variant_get(sgemm_select(&p, SGEMM_STAGE_COUNT, &m).variant)->production, "shape %d", i);
  }
}

/* 1 if an operand's rows start on 16 bytes each, and matrices are whole rows apart: nothing to pack. */
static int taken(const float *X, int64_t ld, int64_t batch, int64_t stride) {
  return ((uintptr_t)X | (uintptr_t)(4 * ld)) % 16 == 0 && (batch == 1 || stride % ld == 0);
}

/* Nor is there if B of op NN has but few rows of C or a short k to go with, or is to be packed along k and finds no room. In
   column-major order it is A. */
static int packs_nothing(const sgemm_params *p) {
  const int row_major = p->order == SGEMM_ROW_MAJOR;
  const int64_t rows = row_major ? p->m : p->n, columns = row_major ? p->n : p->m;
  const int turned = p->op_a == SGEMM_N && p->op_b == SGEMM_N && rows > 2048 && p->k >= 512 &&
                     p->workspace_bytes >= 4 * ((columns + 127) / 128 * 128) * ((p->k + 63) / 64 * 64) *
                                               ((row_major ? p->stride_b : p->stride_a) == 0 ? 1 : p->batch);
  return !turned && taken(p->A, p->lda, p->batch, p->stride_a) && taken(p->B, p->ldb, p->batch, p->stride_b);
}

/* The same for a row that packs. Of R tiles that `planes` SMs share, each has one or two jobs: the SMs' ranges meet R
   boundaries of tiles, of which every one at which a range begins costs no second job. */
static void check_packed_launches(const sgemm_params *p, const sgemm_plan *plan, int64_t tiles, const char *entry,
                                  int i, int which) {
  const sgemm_variant_info *v = sgemm_variant_get(plan->variant);
  const int64_t rest = plan->planes > 1 ? tiles % plan->planes : 0;
  const int packs = p->alpha != 0.0f && p->k > 0 && !packs_nothing(p);
  int64_t blocks = tiles - rest, share;
  for (share = 0; share < plan->planes && rest > 0; share++)
    blocks += 1 + ((share + 1) * rest - 1) / plan->planes - share * rest / plan->planes;
  cr_assert(launches == packs + 1 + (rest > 0), "%s, shape %d, machine %d: %d launches", entry, i, which, launches);
  cr_assert(!packs || (launched[0].number == SGEMM__PACK && launched[0].grid.y == 1 && launched[0].grid.z == 1));
  cr_assert(launched[packs].number == (int)plan->variant && launched[packs].grid.x == blocks &&
                launched[packs].grid.ranks == 1 && launched[packs].grid.shared == (unsigned)v->shared &&
                launched[packs].grid.threads == (unsigned)v->threads,
            "%s, shape %d, machine %d: %u blocks, want %lld", entry, i, which, launched[packs].grid.x,
            (long long)blocks);
  cr_assert((int64_t)launched[packs].grid.y * launched[packs].grid.z >= p->batch);
  cr_assert(rest == 0 || launched[packs + 1].number == SGEMM__SUM_SHARES);
}

/* What a launch of a plan must be, from its definition. */
static void check_launches(const sgemm_params *p, const sgemm_plan *plan, const char *entry, int i, int which) {
  const sgemm_variant_info *v = sgemm_variant_get(plan->variant);
  const int swap = p->order == SGEMM_COL_MAJOR;
  const int64_t m = swap ? p->n : p->m, n = swap ? p->m : p->n;
  const int64_t tiles = (m + v->BM - 1) / v->BM * ((n + v->BN - 1) / v->BN);
  const int64_t blocks = tiles * plan->ranks * plan->planes;
  int l;
  if (v->packs) {
    check_packed_launches(p, plan, tiles, entry, i, which);
    return;
  }
  cr_assert(launches == (plan->planes > 1 ? 2 : 1), "%s, shape %d, machine %d: %d launches", entry, i, which, launches);
  cr_assert(launched[0].number == (int)plan->variant && launched[0].grid.x == blocks &&
                launched[0].grid.ranks == (unsigned)plan->ranks && launched[0].grid.shared == (unsigned)v->shared &&
                launched[0].grid.threads == (unsigned)v->threads,
            "%s, shape %d, machine %d: %s in %u blocks, want %s in %lld", entry, i, which,
            launched[0].number < SGEMM_VARIANT_COUNT ? sgemm_variant_get((sgemm_variant)launched[0].number)->name
                                                     : "a sum",
            launched[0].grid.x, v->name, (long long)blocks);
  cr_assert(launches == 1 || (launched[1].number == SGEMM__SUM_PLANES && launched[1].grid.ranks == 1));
  for (l = 0; l < launches; l++)
    cr_assert((int64_t)launched[l].grid.y * launched[l].grid.z >= p->batch && launched[l].args.batch == p->batch);
}

/* Whatever is selected the machine can do: sgemm_run_plan() takes it, and sgemm_run() launches it. */
Test(selection, possible) {
  static const int64_t workspaces[] = {0, 32 << 20};
  int seen_ranks = 0, seen_planes = 0, which, w, i;
  compile(SGEMM_STAGE_COUNT);
  for (which = 0; which < MACHINES; which++)
    for (w = 0; w < 2; w++)
      for (i = 0; i < SHAPES; i++) {
        const sgemm_machine m = current = machine(which);
        sgemm_params p = shape(i);
        const sgemm_variant_info *v;
        sgemm_plan plan;
        sgemm_status status;
        point(&p, workspaces[w]);
        plan = sgemm_select(&p, SGEMM_STAGE_COUNT, &m);
        v = sgemm_variant_get(plan.variant);
        cr_assert(v != NULL && plan.planes >= 1, "shape %d, machine %d", i, which);
        cr_assert(plan.ranks == 1 ||
                      (m.arch >= 90 && v->split && (plan.ranks == 2 || plan.ranks == 4 || plan.ranks == 8)),
                  "shape %d, machine %d: %s with %d ranks", i, which, v->name, plan.ranks);
        cr_assert(plan.planes == 1 || (workspaces[w] > 0 && sgemm__cuts(v)), "shape %d, machine %d: %s with %d planes",
                  i, which, v->name, plan.planes);
        cr_assert(sgemm_plan_workspace(&plan, &p) <= workspaces[w], "shape %d, machine %d", i, which);
        cr_assert(v->shared <= m.shared_per_block, "shape %d, machine %d: %s takes %d bytes of shared memory", i, which,
                  v->name, v->shared);
        launches = 0;
        status = sgemm_run_plan(&plan, &p, NULL);
        cr_assert(status == SGEMM_SUCCESS, "shape %d, machine %d: status %d", i, which, status);
        check_launches(&p, &plan, "sgemm_run_plan", i, which);
        launches = 0;
        status = sgemm_run(&p, NULL);
        cr_assert(status == SGEMM_SUCCESS, "shape %d, machine %d: status %d", i, which, status);
        check_launches(&p, &plan, "sgemm_run", i, which);
        seen_ranks += plan.ranks > 1;
        seen_planes += plan.planes > 1;
      }
  cr_assert(seen_ranks > 0 && seen_planes > 0, "%d plans with ranks, %d with planes", seen_ranks, seen_planes);
}

/* A short k leaves little time to wait for C in, where beta asks for it: rows of more blocks an SM do so beside each other. */
Test(selection, beta_counts) {
  const sgemm_machine m = h200_machine();
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 8192, 8192, 64);
  sgemm_plan plan;
  compile(SGEMM_STAGE_COUNT);
  point(&p, 0);
  plan = sgemm_select(&p, SGEMM_STAGE_COUNT, &m);
  cr_assert(sgemm_variant_get(plan.variant)->stage == SGEMM_STAGE_tma, "%s", sgemm_variant_get(plan.variant)->name);
  p.beta = 0.5f;
  plan = sgemm_select(&p, SGEMM_STAGE_COUNT, &m);
  cr_assert(sgemm_variant_get(plan.variant)->stage == SGEMM_STAGE_async, "%s", sgemm_variant_get(plan.variant)->name);
}

/* Where operands are more than the L2 holds, shares are whole parts of tiles, so that who takes in the same does so at the same
   time; where it holds them, every SM has a share. */
Test(selection, the_l2_counts) {
  sgemm_machine m = h200_machine();
  sgemm_params p = sgemm_params_init(SGEMM_T, SGEMM_N, 256, 256, 100000);
  int large;
  compile(SGEMM_STAGE_COUNT);
  point(&p, INT64_MAX);
  for (large = 0; large < 2; large++) {
    const sgemm_plan plan = sgemm_select(&p, SGEMM_STAGE_COUNT, &m);
    const sgemm_variant_info *v = sgemm_variant_get(plan.variant);
    const int tiles = 256 / v->BM * (256 / v->BN);
    cr_assert(v->packs && plan.planes > tiles && (plan.planes % tiles == 0) == !large, "%s in %d shares", v->name,
              plan.planes);
    m.l2_bytes = 1 << 30;
  }
}

/* Of tiles that keep the SMs at work alike, those that take in less are chosen, since that takes power. */
Test(selection, power_counts) {
  const sgemm_machine m = h200_machine();
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 128, 4096, 4096);
  const sgemm_variant_info *v;
  compile(SGEMM_STAGE_COUNT);
  point(&p, INT64_MAX);
  v = sgemm_variant_get(sgemm_select(&p, SGEMM_STAGE_COUNT, &m).variant);
  cr_assert(v->packs && v->BM * v->BN >= 8192, "%s", v->name);
}

/* A row runs in ranks that follow from k alone, whatever is free: sgemm_run_variant()'s bits depend on neither m nor batch. */
Test(selection, a_row_alone_is_cut_by_k_alone) {
  int v, i;
  compile(SGEMM_STAGE_COUNT);
  current = h200_machine();
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    unsigned ranks[SIZE_COUNT] = {0}, most = 1;
    for (i = 0; i < SHAPES; i++) {
      sgemm_params p = shape(i);
      unsigned *of_k = &ranks[i / SIZE_COUNT / SIZE_COUNT];
      point(&p, INT64_MAX);
      launches = 0;
      cr_assert(sgemm_run_variant((sgemm_variant)v, &p, NULL) == SGEMM_SUCCESS);
      cr_assert(launches == 1 || (launches == 2 && launched[0].number == SGEMM__PACK));
      launched[0] = launched[launches - 1];
      cr_assert(launched[0].number == v);
      *of_k = *of_k > 0 ? *of_k : launched[0].grid.ranks;
      cr_assert(launched[0].grid.ranks == *of_k, "%s, shape %d", sgemm_variant_get((sgemm_variant)v)->name, i);
      most = *of_k > most ? *of_k : most;
    }
    cr_assert(most == (sgemm_variant_get((sgemm_variant)v)->split ? 8 : 1));
  }
}

/* With as much as sgemm_workspace_query() says a call is at its best; the best plan is gone with 16 bytes less, or packs
   less. */
Test(selection, workspace_query) {
  int with = 0, which, i;
  compile(SGEMM_STAGE_COUNT);
  for (which = 0; which < MACHINES; which++)
    for (i = 0; i < SHAPES; i++) {
      const sgemm_machine m = current = machine(which);
      sgemm_params p = shape(i), roomy = p;
      sgemm_plan best, plan;
      int64_t bytes = -1;
      roomy.workspace_bytes = INT64_MAX;
      best = sgemm_select(&roomy, SGEMM_STAGE_COUNT, &m);
      cr_assert(sgemm_workspace_query(&p, &bytes) == SGEMM_SUCCESS);
      cr_assert(bytes == sgemm_plan_workspace(&best, &roomy) && bytes >= 0, "shape %d, machine %d", i, which);
      point(&p, bytes);
      plan = sgemm_select(&p, SGEMM_STAGE_COUNT, &m);
      cr_assert(same_plan(&plan, &best), "shape %d, machine %d", i, which);
      launches = 0;
      cr_assert(sgemm_run(&p, NULL) == SGEMM_SUCCESS);
      check_launches(&p, &best, "sgemm_run", i, which);
      if (bytes > 0) {
        p.workspace_bytes = bytes - 16;
        plan = sgemm_select(&p, SGEMM_STAGE_COUNT, &m);
        cr_assert(!same_plan(&plan, &best) || sgemm_plan_workspace(&best, &p) < bytes, "shape %d, machine %d", i,
                  which);
        cr_assert(sgemm_plan_workspace(&plan, &p) < bytes, "shape %d, machine %d", i, which);
        with++;
      }
    }
  cr_assert(with > 0, "no shape wants a workspace");
  cr_assert(sgemm_workspace_query(NULL, NULL) == SGEMM_ERROR_PARAMS);
}

/* Planes in rows of whole 16 bytes, for each matrix of the batch; more than there can be is told from what wraps to 0. */
Test(selection, workspace_of_a_plan) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 5, 6, 7);
  sgemm_plan plan = {SGEMM_async_64x64x16_8x4, 1, 3};
  p.batch = 2;
  cr_assert(sgemm_plan_workspace(&plan, &p) == 3 * 2 * 5 * 32);
  p.order = SGEMM_COL_MAJOR;
  cr_assert(sgemm_plan_workspace(&plan, &p) == 3 * 2 * 6 * 32);
  plan.planes = 1;
  cr_assert(sgemm_plan_workspace(&plan, &p) == 0);
  p = sgemm_params_init(SGEMM_N, SGEMM_N, 1 << 14, 1 << 14, 1);
  p.batch = INT64_C(1) << 31;
  plan.planes = 8;
  cr_assert(sgemm_plan_workspace(&plan, &p) == INT64_MAX);
  plan.variant = SGEMM_tma_64x128x64_16x8;
  for (p.batch = 0; p.batch < 2; p.batch++) {
    p.m = p.n = p.k = INT64_C(1) << 40;
    cr_assert(sgemm_plan_workspace(&plan, &p) == INT64_MAX);
  }
  p = sgemm_params_init(SGEMM_N, SGEMM_N, 129, 5, 65);
  plan.planes = 1;
  cr_assert(sgemm_plan_workspace(&plan, &p) == 4 * (256 + 128) * 128);
  plan.planes = 3;
  cr_assert(sgemm_plan_workspace(&plan, &p) == 4 * (256 + 128) * 128 + 4 * 3 * 2 * 64 * 128);
  plan.planes = 1;
  p = sgemm_params_init(SGEMM_N, SGEMM_N, 2048, 8, 512);
  p.workspace_bytes = 4 * 128 * 512;
  cr_assert(sgemm_plan_workspace(&plan, &p) == 0, "rows of 16 bytes are taken as they are");
  p = sgemm_params_init(SGEMM_N, SGEMM_N, 2049, 8, 512);
  p.workspace_bytes = 4 * 128 * 512;
  cr_assert(sgemm_plan_workspace(&plan, &p) == 4 * 128 * 512, "more rows are worth it to pack B");
  p.workspace_bytes--;
  cr_assert(sgemm_plan_workspace(&plan, &p) == 0, "if there is room");
  p = sgemm_params_init(SGEMM_N, SGEMM_N, 2049, 8, 508);
  p.workspace_bytes = 4 * 128 * 512;
  cr_assert(sgemm_plan_workspace(&plan, &p) == 0, "a shorter k is not");
  p = sgemm_params_init(SGEMM_N, SGEMM_T, 2049, 8, 512);
  p.workspace_bytes = 4 * 128 * 512;
  cr_assert(sgemm_plan_workspace(&plan, &p) == 0, "B is along k");
}
