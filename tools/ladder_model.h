/* ladder_model.h: the ladder on the CPU model: counted memory requests, and the roofline bounds of a GPU for them. */
#ifndef LADDER_MODEL_H
#define LADDER_MODEL_H

#include "cpu/sgemm_model.h"
#include "tools/gpus.h"
#include "tools/ladder_fusions.h"
#include "tools/ladder_report.h"

#if !SGEMM_CPU_COUNT
#error "the ladder needs the counting model: SGEMM_CPU_COUNT=1 for it and for cpu/sgemm.c"
#endif

enum { RUNS_ON_GPU = 0, DEFAULT_M = 256, DEFAULT_N = 256, DEFAULT_K = 64 };

/* The resources of the variants by architecture, from ptxas: variant, registers for NN, NT, TN and TT, bytes of static
   shared memory for NN, NT, TN and TT. A variant without an entry has no occupancy. */
enum { RESOURCE_CELLS = 9 };
static const int resources_sm80[] = {
#include "docs/measurements/registers_sm80.csv"
};
static const int resources_sm86[] = {
#include "docs/measurements/registers_sm86.csv"
};
static const int resources_sm90a[] = {
#include "docs/measurements/registers_sm90a.csv"
};

/* A GPU of gpus.h, and the resources of the variants on its architecture. */
typedef struct gpu {
  const char *name;
  sgemm_device device;
  const int *resources;
  size_t cells;
} gpu;

#define RESOURCES(name, device, arch)                                                                                  \
  {name, GPU_DEVICE device, resources_##arch, sizeof resources_##arch / sizeof *resources_##arch},
static const gpu gpus[] = {GPU_LIST(RESOURCES)};
enum { GPUS = sizeof gpus / sizeof *gpus, BY_HAND_LANES = 128 };

typedef struct meter {
  gpu gpu;
  double plain_bytes;  /* of global memory, of the plain call of the current problem */
  sgemm_status status; /* of the last call of this library */
} meter;

/* Returns 0, or 2 after an error message. */
static int open_meter(meter *m, const options *o, report *r) {
  const char *name = o->gpu ? o->gpu : gpus[0].name;
  int g = 0;
  while (g < GPUS && strcmp(gpus[g].name, name) != 0)
    g++;
  if (g == GPUS)
    return fail("--gpu is not H200, A100, RTX3090 or RTX3070; --peak and --bandwidth stand for others", name);
  m->gpu = gpus[g];
  if (o->peak_gflops > 0.0) {
    memset(&m->gpu, 0, sizeof m->gpu);
    strcpy(m->gpu.device.name, "a GPU given by hand");
    m->gpu.device.major = gpus[0].device.major; /* the selection may use all features of an H200 */
    m->gpu.device.code_arch = gpus[0].device.code_arch;
    m->gpu.device.shared_per_sm = gpus[0].device.shared_per_sm;
    m->gpu.device.shared_per_block = gpus[0].device.shared_per_block;
    m->gpu.device.lanes = BY_HAND_LANES;
    m->gpu.device.multiprocessors = 1;
    m->gpu.device.clock_mhz = (int)ceil(o->peak_gflops * 1e3 / (2 * BY_HAND_LANES));
    m->gpu.device.peak_gflops = o->peak_gflops;
    m->gpu.device.bandwidth_gbs = o->bandwidth_gbs;
  }
  add_text(r, "machine", "CPU model");
  add_text(r, "gpu", m->gpu.device.name);
  add_number(r, "peak_gflops", m->gpu.device.peak_gflops);
  add_number(r, "bandwidth_gbs", m->gpu.device.bandwidth_gbs);
  return 0;
}

static void close_meter(meter *m) { (void)m; }

/* The model has no caches. */
static int64_t eviction_bytes(const meter *m, int cold) {
  (void)m, (void)cold;
  return 0;
}

/* 1 if a subject that is not a variant is measured. */
static int has_subject(subject s, const options *o) { return s == SUBJECT_PRODUCTION && o->production; }

static void print_machine(const meter *m, const sgemm_params *p) {
  const sgemm_device *d = &m->gpu.device;
  (void)p;
  printf("counted by the CPU model, roofs of %s: FMA peak %.1f TFLOP/s, memory %.2f TB/s, ridge at %.1f FLOP/byte\n",
         d->name, d->peak_gflops * 1e-3, d->bandwidth_gbs * 1e-3, sgemm_ridge(d->peak_gflops, d->bandwidth_gbs));
}

static void print_legend(const report *r) {
  puts(r->epilogues
           ? "counts of all launches, 4-byte loads and stores for each result; over plain: bytes of global loads and "
             "stores over\n"
             "those of production with the same plan; a reduction has other plans, one for each slab"
           : "roofs in TFLOP/s; memory: bandwidth * FLOP per byte of the sectors that warps load, without caches\n"
             "shared: one wavefront per clock and SM, for the loads of the source; nvcc may combine scalar loads\n"
             "bound: the lowest of the two roofs and the FMA peak; regs: from ptxas for this GPU, - if unknown");
}

/* Counts have no score, and there is no cuBLAS whose errors could be compared. */
static void sum_up(const options *o, report *r) { (void)o, (void)r; }
static void print_errors(const options *o, const report *r) { (void)o, (void)r; }
static void compare_error(meter *m, row *w) { (void)m, (void)w; }

/* A subject needs no memory besides the matrices. */
static int open_subject(meter *m, subject s, const data *d, const options *o) {
  (void)s, (void)d, (void)o;
  m->status = SGEMM_SUCCESS;
  return 0;
}
static void close_subject(meter *m) { (void)m; }

/* The plan of a subject. Production gets no workspace, so that one launch has all counts. A variant of tma that packs
   an operand does so in an earlier launch, which is not counted. An epilogue runs the plan of the plain call, so that
   the rest of its counts is the epilogue's own. */
static sgemm_plan plan_of(const meter *m, subject s, const sgemm_params *p) {
  return is_production(s) ? sgemm_select(p, SGEMM_STAGE_ANY, &m->gpu.device) : sgemm_variant_plan((sgemm_variant)s, p);
}

/* The parameters of a subject. The model has one set of matrices. */
static sgemm_params params_of(subject s, const data *d) {
  sgemm_params p = d->p;
  add_fusion(&p, s, d, 0);
  return p;
}

static choice picked_by(const meter *m, subject s, const data *d) {
  const sgemm_plan plan = plan_of(m, s, &d->p);
  choice picked = choice_of(&plan);
  if (is_reduction(s))
    return no_choice();
  if (!is_production(s))
    picked.cluster_k = picked.split_k = picked.stream_k = picked.serial_k = NAN;
  return picked;
}

static double ratio(double a, double b) { return b > 0.0 ? a / b : NAN; }

static void fill_occupancy(const gpu *g, sgemm_variant variant, const sgemm_params *p, cell *cells) {
  static const char *const limits[] = {"threads", "blocks", "registers", "shared memory"};
  const int op = 2 * (p->op_a != SGEMM_N) + (p->op_b != SGEMM_N);
  size_t i;
  for (i = 0; i < g->cells; i += RESOURCE_CELLS)
    if (g->resources[i] == (int)variant) {
      const sgemm_variant_info *v = sgemm_variant_get(variant);
      const int registers = g->resources[i + 1 + (size_t)op], shared = g->resources[i + 5 + (size_t)op] + v->shared;
      const sgemm_occupancy o = sgemm_occupancy_of(&g->device, v->threads, registers, shared);
      cells[COLUMN_registers].number = registers;
      cells[COLUMN_shared_bytes].number = shared;
      cells[COLUMN_occupancy_percent].number = 100.0 * o.fraction;
      cells[COLUMN_occupancy_limit].text = limits[o.limit];
    }
}

/* Fills the roofs in TFLOP/s. At the peak an SM executes 2 * lanes FLOP per clock. */
static void fill_roofs(const gpu *g, const sgemm_counts *c, double flops, cell *cells) {
  const double peak = g->device.peak_gflops * 1e-3;
  const double wavefronts = (double)(c->shared_load_wavefronts + c->shared_store_wavefronts);
  const double memory = g->device.bandwidth_gbs * cells[COLUMN_global_flop_per_byte].number * 1e-3;
  const double shared = ratio(flops, wavefronts) * peak / (2.0 * g->device.lanes);
  const double roof = fmin(peak, fmin(memory, shared)); /* NAN without shared memory: fmin() ignores it */
  cells[COLUMN_memory_roof_tflops].number = memory;
  cells[COLUMN_shared_roof_tflops].number = shared;
  cells[COLUMN_roof_tflops].number = roof;
  cells[COLUMN_bound].text = roof == peak ? "FMA" : roof == memory ? "memory" : "shared";
}

/* Runs a subject once. 0 is success. */
static int run_once(meter *m, subject s, const data *d) {
  sgemm_params p = params_of(s, d);
  const sgemm_plan plan = plan_of(m, s, &d->p);
  int failed;
  if (is_reduction(s)) {
    const sgemm_reduction_params r = reduction_params_of(s, d);
    p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
    return keep_status(sgemm_run_reduction(&p, &r, NULL), &m->status);
  }
  p.workspace_bytes = sgemm_plan_workspace(&plan, &p);
  p.workspace = p.workspace_bytes > 0 ? machine_alloc((size_t)p.workspace_bytes) : NULL;
  if (p.workspace == NULL && p.workspace_bytes > 0)
    return 1;
  failed = keep_status(is_production(s) ? sgemm_run_plan(&plan, &p, NULL) : sgemm_run_variant(plan.variant, &p, NULL),
                       &m->status);
  machine_free(p.workspace);
  return failed;
}

/* The counts of a subject: of its last launch, or with a fusion of all its launches. before: the total before them. */
static sgemm_counts counts_of(subject s, const sgemm_counts *before) {
  sgemm_counts c = *sgemm_model_total();
  if (s < SUBJECT_FUSED)
    return *sgemm_model_counts();
  sgemm_counts_add(&c, before, -1);
  return c;
}

static void fill_counts(meter *m, subject s, const data *d, const sgemm_counts *c, cell *cells) {
  const double flops = sgemm_flops(d->p.m, d->p.n, d->p.k) * (double)d->p.batch;
  const double results = (double)d->p.m * (double)d->p.n * (double)d->p.batch;
  const double bytes = (double)(c->global_load_bytes + c->global_store_bytes);
#define COUNT_CELL(counter, metric) cells[COLUMN_##counter].number = (double)c->counter;
  SGEMM_COUNTS(COUNT_CELL)
#undef COUNT_CELL
  cells[COLUMN_global_loads_per_result].number = (double)c->global_load_bytes / 4.0 / results;
  cells[COLUMN_global_stores_per_result].number = (double)c->global_store_bytes / 4.0 / results;
  cells[COLUMN_sectors_per_load].number = ratio((double)c->global_load_sectors, (double)c->global_load_requests);
  cells[COLUMN_global_flop_per_byte].number = ratio(flops, 32.0 * (double)c->global_load_sectors);
  cells[COLUMN_shared_loads_per_result].number = (double)c->shared_load_bytes / 4.0 / results;
  cells[COLUMN_conflict_percent].number = 100.0 *
                                          ratio((double)(c->shared_load_conflicts + c->shared_store_conflicts),
                                                (double)(c->shared_load_wavefronts + c->shared_store_wavefronts));
  cells[COLUMN_shared_flop_per_byte].number = ratio(flops, (double)c->shared_load_bytes);
  if (s == SUBJECT_PRODUCTION)
    m->plain_bytes = bytes;
  if (is_production(s) && !is_reduction(s))
    cells[COLUMN_over_plain].number = bytes / m->plain_bytes;
  if (s < SUBJECT_FUSED)
    fill_roofs(&m->gpu, c, flops, cells);
}

/* 0 is success. */
static int measure(meter *m, subject s, const data *d, const options *o, int cold, row *w, int *set) {
  const sgemm_counts before = *sgemm_model_total();
  const clock_t cpu = clock();
  sgemm_counts counts;
  struct timespec start, stop;
  (void)o, (void)cold;
  clock_gettime(CLOCK_MONOTONIC, &start);
  if (run_once(m, s, d))
    return 1;
  clock_gettime(CLOCK_MONOTONIC, &stop);
  *set = 0;
  w->iterations = 1;
  w->cpu_ms = (double)(clock() - cpu) * 1e3 / CLOCKS_PER_SEC;
  w->real_ms = (double)(stop.tv_sec - start.tv_sec) * 1e3 + (double)(stop.tv_nsec - start.tv_nsec) * 1e-6;
  counts = counts_of(s, &before);
  fill_counts(m, s, d, &counts, w->cells);
  if (s < SUBJECT_FUSED)
    fill_occupancy(&m->gpu, plan_of(m, s, &d->p).variant, &d->p, w->cells);
  return 0;
}

#endif
