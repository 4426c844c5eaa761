/* ladder_gpu.h: the ladder on a GPU: times, beside cuBLAS and beside what the device does at most. */
#ifndef LADDER_GPU_H
#define LADDER_GPU_H

#include "examples/ceilings.h"
#include "examples/ladder_data.h"
#include "examples/ladder_report.h"

#include <cublas_v2.h>
#include <dlfcn.h>

enum { RUNS_ON_GPU = 1, DEFAULT_M = 4096, DEFAULT_N = 4096, DEFAULT_K = 4096 };

/* When a case has been timed enough, in seconds and percent; also the usage's. */
#define WARM_UP_SECONDS 0.05
#define ENOUGH_SECONDS 0.5
#define ENOUGH_SPREAD 0.5
enum {
  ENOUGH_SAMPLES = 10,
  FEWEST_SAMPLES = 3,
  WORKSPACE = 32 << 20 /* what cuBLAS's manual asks for on Hopper; production has the same */
};

/* ---- Clocks ------------------------------------------------------------------------------------------------------ */

/* The driver's management library, loaded where it is there: its header is not part of every toolkit. device is NULL
   where it is not. https://docs.nvidia.com/deploy/nvml-api */
typedef struct nvml {
  void *library, *device;
  int (*clock)(void *device, int type, unsigned *mhz);
  int (*power)(void *device, unsigned *mw);
  int (*reasons)(void *device, unsigned long long *bits);
  char driver[80];
} nvml;

enum { NVML_CLOCK_SM = 1 };

static void open_nvml(nvml *n, int device) {
  char bus[32];
  int (*init)(void), (*handle)(const char *, void **), (*driver)(char *, unsigned);
  memset(n, 0, sizeof *n);
  n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (n->library == NULL)
    return;
  *(void **)&init = dlsym(n->library, "nvmlInit_v2"); /* as POSIX says to, since C has no such conversion */
  *(void **)&handle = dlsym(n->library, "nvmlDeviceGetHandleByPciBusId_v2");
  *(void **)&driver = dlsym(n->library, "nvmlSystemGetDriverVersion");
  *(void **)&n->clock = dlsym(n->library, "nvmlDeviceGetClockInfo");
  *(void **)&n->power = dlsym(n->library, "nvmlDeviceGetPowerUsage");
  *(void **)&n->reasons = dlsym(n->library, "nvmlDeviceGetCurrentClocksThrottleReasons");
  if (!init || !handle || !driver || !n->clock || !n->power || !n->reasons || init() != 0 ||
      cudaDeviceGetPCIBusId(bus, sizeof bus, device) != cudaSuccess || handle(bus, &n->device) != 0)
    n->device = NULL;
  else if (driver(n->driver, sizeof n->driver) != 0)
    n->driver[0] = '\0';
}

/* NAN where the driver does not tell. */
static double clock_mhz(const nvml *n) {
  unsigned mhz;
  return n->device != NULL && n->clock(n->device, NVML_CLOCK_SM, &mhz) == 0 ? mhz : NAN;
}

static double power_w(const nvml *n) {
  unsigned mw;
  return n->device != NULL && n->power(n->device, &mw) == 0 ? mw * 1e-3 : NAN;
}

/* The gravest of the reasons for which clocks are below what was asked for; NULL where the driver does not tell.
   Neither idleness nor clocks set by hand are reasons. */
static const char *throttle(const nvml *n) {
  static const struct {
    unsigned long long bit;
    const char *name;
  } names[] = {{0x80, "power brake"}, {0x40, "HW thermal"}, {0x8, "HW slowdown"},
               {0x20, "SW thermal"},  {0x4, "power cap"},   {0x10, "sync boost"}};
  unsigned long long bits;
  size_t i;
  if (n->device == NULL || n->reasons(n->device, &bits) != 0)
    return NULL;
  for (i = 0; i < sizeof names / sizeof *names; i++)
    if (bits & names[i].bit)
      return names[i].name;
  return "none";
}

/* ---- The meter --------------------------------------------------------------------------------------------------- */

typedef struct meter {
  sgemm_device device;
  sgemm_machine machine;
  double ffma_gflops, copy_gbs;
  cublasHandle_t cublas;
  void *workspace;
  nvml nvml;
  cudaEvent_t start, stop;
  double cublas_ms, cublas_error; /* of the problem at hand */
  char cublas_version[24], runtime[24];
  float samples[SAMPLES_MOST]; /* ascending */
} meter;

/* 0, or 2 and the fault was said. */
static int open_meter(meter *m, const options *o, report *r) {
  int device, error, version = 0, runtime = 0;
  (void)o;
  if (cudaGetDevice(&device) != cudaSuccess || sgemm_device_query(device, &m->device) != SGEMM_SUCCESS ||
      sgemm_machine_query(&m->machine) != SGEMM_SUCCESS || cudaEventCreate(&m->start) != cudaSuccess ||
      cudaEventCreate(&m->stop) != cudaSuccess)
    return fail("the device does not answer", machine_error((int)cudaGetLastError()));
  error = ceilings_measure(&m->ffma_gflops, &m->copy_gbs);
  if (error != 0)
    return fail("the ceilings could not be measured", machine_error(error));
  m->workspace = machine_alloc(WORKSPACE);
  if (m->workspace == NULL || cublasCreate(&m->cublas) != CUBLAS_STATUS_SUCCESS ||
      cublasSetWorkspace(m->cublas, m->workspace, WORKSPACE) != CUBLAS_STATUS_SUCCESS ||
      cublasGetVersion(m->cublas, &version) != CUBLAS_STATUS_SUCCESS || cudaRuntimeGetVersion(&runtime) != cudaSuccess)
    return fail("cuBLAS does not start", m->device.name);
  open_nvml(&m->nvml, device);
  snprintf(m->cublas_version, sizeof m->cublas_version, "%d.%d.%d", version / 10000, version / 100 % 100,
           version % 100);
  snprintf(m->runtime, sizeof m->runtime, "%d.%d", runtime / 1000, runtime / 10 % 100);
  add_text(r, "machine", "GPU");
  add_text(r, "gpu", m->device.name);
  add_number(r, "multiprocessors", m->device.multiprocessors);
  add_number(r, "clock_mhz", m->device.clock_mhz);
  add_number(r, "peak_gflops", m->device.peak_gflops);
  add_number(r, "bandwidth_gbs", m->device.bandwidth_gbs);
  add_number(r, "ffma_gflops", m->ffma_gflops);
  add_number(r, "copy_gbs", m->copy_gbs);
  add_text(r, "cuda_runtime", m->runtime);
  add_text(r, "cublas", m->cublas_version);
  add_text(r, "driver", m->nvml.device != NULL ? m->nvml.driver : NULL);
  return 0;
}

static void close_meter(meter *m) {
  cublasDestroy(m->cublas);
  machine_free(m->workspace);
  cudaEventDestroy(m->start);
  cudaEventDestroy(m->stop);
  if (m->nvml.library != NULL)
    dlclose(m->nvml.library);
}

/* That other matrices have to take before the same ones come again. */
static int64_t bytes_to_pass(const meter *m, int cold) { return cold ? 2 * m->device.l2_bytes : 0; }

/* What there is beside the rows. */
static int has_subject(subject s, const options *o) { return s == SUBJECT_CUBLAS || o->production; }

/* What production gets to work in: as calls follow one another, what cuBLAS had. */
static sgemm_params with_workspace(const meter *m, const sgemm_params *p) {
  sgemm_params roomy = *p;
  roomy.workspace = m->workspace;
  roomy.workspace_bytes = WORKSPACE;
  return roomy;
}

/* What runs for a subject; of production the plan. */
static sgemm_plan picked(const meter *m, subject s, const sgemm_params *p) {
  const sgemm_params roomy = with_workspace(m, p);
  const sgemm_plan row = {s == SUBJECT_CUBLAS ? SGEMM_VARIANT_COUNT : (sgemm_variant)s, 1, 1};
  return s == SUBJECT_PRODUCTION ? sgemm_select(&roomy, SGEMM_STAGE_COUNT, &m->machine) : row;
}

/* Of a problem whose first subject, cuBLAS, is measured. */
static void print_machine(const meter *m, const sgemm_params *p) {
  const sgemm_device *d = &m->device;
  printf("%s, %d SMs at %d MHz: FMA peak %.1f TFLOP/s, memory %.2f TB/s; cuBLAS SGEMM %.4f ms, %.2f TFLOP/s\n", d->name,
         d->multiprocessors, d->clock_mhz, d->peak_gflops * 1e-3, d->bandwidth_gbs * 1e-3, m->cublas_ms,
         sgemm_metrics_of(p, m->cublas_ms, 0.0, 0.0).gflops * 1e-3);
  printf("measured ceilings: FFMA %.1f TFLOP/s, copy %.2f TB/s\n", m->ffma_gflops * 1e-3, m->copy_gbs * 1e-3);
}

static void print_legend(const report *r) {
  const char *reason = NULL;
  size_t i, held = 0;
  for (i = 0; i < r->row_count; i++) {
    const char *now = r->rows[i].cells[COLUMN_throttle].text;
    reason = now != NULL && (reason == NULL || strcmp(now, "none") != 0) ? now : reason;
    held += now != NULL && strcmp(now, "none") != 0;
  }
  printf("ms: median of the runs; spread: their interquartile range over it; %% copy: the fewest bytes over the time\n"
         "MHz: of the SMs, with the last run in flight; ");
  if (reason == NULL)
    printf("the driver does not tell\n");
  else
    printf("throttled in %zu of %zu cases: %s\n", held, r->row_count, reason);
}

/* ---- The suite --------------------------------------------------------------------------------------------------- */

/* Of what sgemm_run() picks, in one mode: a value's geometric mean over the rows, and the row where it is worst. */
typedef struct digest {
  size_t count;
  double mean, worst;
  const row *at;
} digest;

static digest digest_of(const report *r, int cold, double (*value)(const row *), int lowest_is_worst) {
  digest d = {0, 0.0, 0.0, NULL};
  size_t i;
  for (i = 0; i < r->row_count; i++) {
    const row *w = &r->rows[i];
    double v;
    if (w->subject != SUBJECT_PRODUCTION || w->cold != cold)
      continue;
    v = value(w);
    d.mean += log(v);
    d.count++;
    if (d.at == NULL || (lowest_is_worst ? v < d.worst : v > d.worst)) {
      d.worst = v;
      d.at = w;
    }
  }
  d.mean = isinf(d.worst) ? d.worst : exp(d.mean / (double)d.count);
  return d;
}

/* Its name in the shape file, or its sizes. */
static const char *case_of(const row *w) {
  return w->cells[COLUMN_shape].text != NULL ? w->cells[COLUMN_shape].text : strchr(w->name, '/') + 1;
}

/* cuBLAS's time over ours; a wrong result has no speed. */
static double speed_of(const row *w) { return w->wrong ? 0.0 : w->cells[COLUMN_percent_of_cublas].number / 100.0; }

static void add_score(report *r, int cold) {
  const digest d = digest_of(r, cold, speed_of, 1);
  if (d.count == 0)
    return;
  add_number(r, cold ? "score_cold" : "score_hot", d.mean);
  add_number(r, cold ? "score_cold_worst" : "score_hot_worst", d.worst);
  add_text(r, cold ? "score_cold_worst_shape" : "score_hot_worst_shape", d.at->cells[COLUMN_shape].text);
  snprintf(r->summary[r->summary_count++], sizeof *r->summary,
           "score, %s: %.3f of cuBLAS's speed, geometric mean of %zu shapes; worst %.3f: %s", cold ? "cold" : "hot",
           d.mean, d.count, d.worst, d.at->cells[COLUMN_shape].text);
}

/* Of a row whose error is filled in; cuBLAS's comes first. Infinite beside cuBLAS too where either is. */
static void compare_error(meter *m, row *w) {
  const double ours = w->cells[COLUMN_componentwise_error].number;
  if (w->subject == SUBJECT_CUBLAS)
    m->cublas_error = ours;
  w->cells[COLUMN_error_over_cublas].number = !isfinite(ours) || !isfinite(m->cublas_error) ? INFINITY
                                              : ours == m->cublas_error                     ? 1.0
                                                                                            : ours / m->cublas_error;
}

static double error_of_row(const row *w) { return w->cells[COLUMN_error_over_cublas].number; }

/* The mode whose errors are told where there are both: they do not depend on it. */
static int errors_cold(const options *o) { return !o->hot; }

static void add_errors(const options *o, report *r) {
  const digest d = digest_of(r, errors_cold(o), error_of_row, 0);
  add_number(r, "error_ratio", d.mean);
  add_number(r, "error_ratio_largest", d.worst);
  add_text(r, "error_ratio_largest_shape", case_of(d.at));
  snprintf(r->summary[r->summary_count++], sizeof *r->summary,
           "errors: %.3f of cuBLAS's, geometric mean of %zu shapes; largest %.3f: %s", d.mean, d.count, d.worst,
           case_of(d.at));
}

static void print_errors(const options *o, const report *r) {
  double cublas = NAN;
  size_t i;
  if (!o->errors)
    return;
  printf("\nlargest |C - double reference| / |A||B|\n%-40s %10s %10s %7s\n", "shape", "production", "cublas", "ratio");
  for (i = 0; i < r->row_count; i++) {
    const row *w = &r->rows[i];
    const double error = w->cells[COLUMN_componentwise_error].number;
    if (w->subject == SUBJECT_CUBLAS)
      cublas = error;
    else if (w->subject == SUBJECT_PRODUCTION && w->cold == errors_cold(o))
      printf("%-40s %10.3e %10.3e %7.3f\n", case_of(w), error, cublas, error_of_row(w));
  }
  putchar('\n');
}

/* What can be said when all is measured: only a shape file names its problems, and has a score. */
static void sum_up(const options *o, report *r) {
  int cold;
  for (cold = 0; cold < 2 && o->problems[0].name[0] != '\0'; cold++)
    add_score(r, cold);
  if (o->errors)
    add_errors(o, r);
}

/* ---- Timing ------------------------------------------------------------------------------------------------------ */

/* Row-major C = A B is column-major C' = B' A'. */
static int run_cublas(cublasHandle_t handle, const sgemm_params *p) {
  const float one = 1.0f, zero = 0.0f;
  const cublasOperation_t a = p->op_a == SGEMM_N ? CUBLAS_OP_N : CUBLAS_OP_T;
  const cublasOperation_t b = p->op_b == SGEMM_N ? CUBLAS_OP_N : CUBLAS_OP_T;
  const int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb, ldc = (int)p->ldc;
  return (p->batch == 1
              ? cublasSgemm(handle, b, a, n, m, k, &one, p->B, ldb, p->A, lda, &zero, p->C, ldc)
              : cublasSgemmStridedBatched(handle, b, a, n, m, k, &one, p->B, ldb, p->stride_b, p->A, lda, p->stride_a,
                                          &zero, p->C, ldc, p->stride_c, (int)p->batch)) != CUBLAS_STATUS_SUCCESS;
}

/* As many calls as asked for, of one set of matrices after the other from *set on; the last one's is left in *set. */
static int run_calls(const meter *m, subject s, const data *d, int calls, int *set) {
  int i, bad = 0;
  for (i = 0; i < calls && !bad; i++) {
    sgemm_params p, roomy;
    *set = (*set + 1) % d->sets;
    p = set_of(d, *set);
    roomy = with_workspace(m, &p);
    bad = s == SUBJECT_CUBLAS       ? run_cublas(m->cublas, &p)
          : s == SUBJECT_PRODUCTION ? sgemm_run(&roomy, NULL) != SGEMM_SUCCESS
                                    : sgemm_run_variant((sgemm_variant)s, &p, NULL) != SGEMM_SUCCESS;
  }
  return bad;
}

/* Milliseconds of one of these calls, on the device. While they run, what the driver tells goes into the cells. */
static int time_calls(const meter *m, subject s, const data *d, int calls, int *set, cell *cells, float *ms) {
  if (cudaEventRecord(m->start, NULL) != cudaSuccess || run_calls(m, s, d, calls, set) ||
      cudaEventRecord(m->stop, NULL) != cudaSuccess)
    return 1;
  cells[COLUMN_clock_after_mhz].number = clock_mhz(&m->nvml);
  cells[COLUMN_power_w].number = power_w(&m->nvml);
  cells[COLUMN_throttle].text = throttle(&m->nvml);
  if (cudaEventSynchronize(m->stop) != cudaSuccess || cudaEventElapsedTime(ms, m->start, m->stop) != cudaSuccess)
    return 1;
  *ms /= (float)calls;
  return 0;
}

static double seconds_since(const struct timespec *start) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) * 1e-9;
}

/* Between the sorted samples where it falls between two. */
static double quantile(const float *samples, int count, double q) {
  const double place = q * (count - 1);
  const int below = (int)place, above = below + 1 < count ? below + 1 : below;
  return samples[below] + (place - below) * (samples[above] - samples[below]);
}

static double spread_percent(const float *samples, int count) {
  return 100.0 * (quantile(samples, count, 0.75) - quantile(samples, count, 0.25)) / quantile(samples, count, 0.5);
}

static int is_enough(const meter *m, const options *o, int count, double seconds) {
  if (o->reps > 0 || count == SAMPLES_MOST)
    return count >= o->reps;
  if (count >= FEWEST_SAMPLES && seconds >= o->seconds)
    return 1;
  return count >= ENOUGH_SAMPLES && seconds >= ENOUGH_SECONDS && spread_percent(m->samples, count) < ENOUGH_SPREAD;
}

/* Fills all cells but those of the case and of the check. 0 is success; *set is one that timed calls have written. */
static int measure(meter *m, subject s, const data *d, const options *o, int cold, row *w, int *set) {
  /* The first launch also loads the kernel: it counts as what it took at least. */
  double warm = sgemm_flops(d->p.m, d->p.n, d->p.k) * (double)d->p.batch / m->ffma_gflops * 1e-9;
  float ms = 0.0f;
  int count = 0, calls = 1, i;
  struct timespec start;
  clock_t cpu;
  cell *cells = w->cells;
  sgemm_metrics r;
  *set = d->sets - 1;
  if (run_calls(m, s, d, 1, set))
    return 1;
  while (warm < WARM_UP_SECONDS) { /* the clock rises */
    if (time_calls(m, s, d, calls, set, cells, &ms))
      return 1;
    warm += ms * 1e-3 * calls;
    calls = ms < 1.0f ? (int)(1.0f / ms) + 1 : 1; /* a sample takes a millisecond at least */
  }
  if (machine_wait())
    return 1;
  clock_gettime(CLOCK_MONOTONIC, &start);
  cpu = clock();
  for (; !is_enough(m, o, count, seconds_since(&start)); count++) {
    if (time_calls(m, s, d, calls, set, cells, &ms))
      return 1;
    if (count == 0)
      cells[COLUMN_clock_before_mhz].number = cells[COLUMN_clock_after_mhz].number;
    for (i = count; i > 0 && m->samples[i - 1] > ms; i--)
      m->samples[i] = m->samples[i - 1];
    m->samples[i] = ms;
  }
  w->iterations = (int64_t)count * calls;
  w->cpu_ms = (double)(clock() - cpu) * 1e3 / CLOCKS_PER_SEC / (double)w->iterations;
  w->real_ms = quantile(m->samples, count, 0.5);
  if (s == SUBJECT_CUBLAS)
    m->cublas_ms = w->real_ms;
  r = sgemm_metrics_of(&d->p, w->real_ms, m->device.peak_gflops, m->cublas_ms);
  cells[COLUMN_mode].text = cold ? "cold" : "hot";
  cells[COLUMN_time_ms].number = w->real_ms;
  cells[COLUMN_gflops].number = r.gflops;
  cells[COLUMN_percent_of_peak].number = r.percent_of_peak;
  cells[COLUMN_percent_of_cublas].number = r.percent_of_cublas;
  cells[COLUMN_percent_of_ffma].number = 100.0 * r.gflops / m->ffma_gflops;
  cells[COLUMN_percent_of_copy].number = 100.0 * r.bandwidth_gbs / m->copy_gbs;
  cells[COLUMN_spread_percent].number = spread_percent(m->samples, count);
  cells[COLUMN_samples].number = count;
  return 0;
}

#endif
