/* ladder_gpu.h: the ladder on a GPU: times, compared with those of cuBLAS and with the device's measured ceilings. */
#ifndef LADDER_GPU_H
#define LADDER_GPU_H

#include "tools/ceilings.h"
#include "tools/cublas_call.h"
#include "tools/ladder_fusions.h"
#include "tools/ladder_report.h"

#include <cublas_v2.h>
#include <dlfcn.h>

enum { RUNS_ON_GPU = 1, DEFAULT_M = 4096, DEFAULT_N = 4096, DEFAULT_K = 4096 };

/* A case ends after these seconds, at this spread in percent. The usage text has these numbers too. */
#define WARM_UP_SECONDS 0.05
#define ENOUGH_SECONDS 0.5
#define ENOUGH_SPREAD 0.5
enum {
  ENOUGH_SAMPLES = 10,
  FEWEST_SAMPLES = 3,
  WORKSPACE = 32 << 20, /* bytes that cuBLAS's manual recommends on Hopper */
  LARGE = 512,          /* least m, n and k of a tensor mode's second score; also in the usage text */
  CEILING_FROM = 1024   /* the ceiling of squares from here on is always measured; also in the usage text */
};

/* ---- Clocks ------------------------------------------------------------------------------------------------------ */

/* The driver's management library, loaded at run time, because not every toolkit has its header. device is NULL if the
   library is missing. https://docs.nvidia.com/deploy/nvml-api */
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
  *(void **)&init = dlsym(n->library, "nvmlInit_v2"); /* the form that POSIX recommends; C lacks this conversion */
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

/* The SM clock in MHz; NAN if the driver does not report it. */
static double clock_mhz(const nvml *n) {
  unsigned mhz;
  return n->device != NULL && n->clock(n->device, NVML_CLOCK_SM, &mhz) == 0 ? mhz : NAN;
}

static double power_w(const nvml *n) {
  unsigned mw;
  return n->device != NULL && n->power(n->device, &mw) == 0 ? mw * 1e-3 : NAN;
}

/* The most severe reason for which clocks are reduced; NULL if the driver does not report reasons. Neither idleness nor
   application clocks count as reasons. */
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
  double ffma_gflops, copy_gbs;
  cublasHandle_t cublas;
  void *workspace; /* of cuBLAS */
  void *room;      /* workspace of the current subject */
  int64_t room_bytes;
  char *prepared[2]; /* pre-split A and B of all sets, for the current subject; NULL: not requested */
  size_t pitch_prepared[2];
  nvml nvml;
  cudaEvent_t start, stop;
  double cublas_ms, cublas_error, plain_ms[MODE_COUNT]; /* of the current problem */
  sgemm_status status;                                  /* of the last call of this library */
  char cublas_version[24], runtime[24];
  float samples[SAMPLES_MOST]; /* ascending */
} meter;

/* Returns 0, or 2 after an error message. */
static int open_meter(meter *m, const options *o, report *r) {
  int device, error, version = 0, runtime = 0;
  if (cudaGetDevice(&device) != cudaSuccess || sgemm_device_query(device, &m->device) != SGEMM_SUCCESS ||
      cudaEventCreate(&m->start) != cudaSuccess || cudaEventCreate(&m->stop) != cudaSuccess)
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
  if (o->beta != 0.0f)
    add_number(r, "beta", o->beta);
  if (o->limited)
    add_number(r, "workspace_mib", o->workspace_mib);
  if (o->prepared)
    add_text(r, "prepared", o->both_prepared_cases ? "B; A and B" : o->prepared_both ? "A and B" : "B");
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

/* L2-cold: bytes of other matrix sets touched before a set is used again; 0: L2-warm. */
static int64_t eviction_bytes(const meter *m, int cold) { return cold ? 2 * m->device.l2_bytes : 0; }

/* 1 if a subject that is not a variant is measured. */
static int has_subject(subject s, const options *o) {
  return s == SUBJECT_CUBLAS || (o->production && o->modes[mode_of(s)] &&
                                 (s < SUBJECT_BOTH_PREPARED || (o->both_prepared_cases && mode_of(s) != SGEMM_STRICT)));
}

/* The parameters with which a subject runs set number `set`. Calls run one after another, so one workspace suffices. */
static sgemm_params params_of(const meter *m, subject s, const data *d, int set) {
  sgemm_params p = set_of(d, set);
  p.mode = mode_of(s);
  p.workspace = m->room;
  p.workspace_bytes = m->room_bytes;
  if (p.mode != SGEMM_STRICT) {
    p.prepared_a = m->prepared[0] == NULL ? NULL : m->prepared[0] + (size_t)set * m->pitch_prepared[0];
    p.prepared_b = m->prepared[1] == NULL ? NULL : m->prepared[1] + (size_t)set * m->pitch_prepared[1];
  }
  add_fusion(&p, s, d, set);
  return p;
}

static void close_subject(meter *m) {
  machine_free(m->room);
  machine_free(m->prepared[0]);
  machine_free(m->prepared[1]);
  m->room = NULL;
  m->room_bytes = 0;
  m->prepared[0] = m->prepared[1] = NULL;
}

/* Splits one operand, 0 for A or 1 for B, of all sets. 0 is success. */
static int prepare(meter *m, subject s, const data *d, int operand) {
  sgemm_params p = params_of(m, s, d, 0);
  const size_t pitch = (size_t)sgemm__ceil_div(sgemm_prepared_bytes(&p, "AB"[operand]), 256) * 256;
  char *memory = (char *)machine_alloc((size_t)d->sets * pitch);
  int set;
  m->prepared[operand] = memory;
  m->pitch_prepared[operand] = pitch;
  for (set = 0; set < d->sets && memory != NULL; set++) {
    p = params_of(m, s, d, set);
    if (keep_status(sgemm_prepare(&p, "AB"[operand], memory + (size_t)set * pitch, NULL), &m->status))
      return 1;
  }
  return memory == NULL;
}

static sgemm_status query_workspace(subject s, const data *d, const sgemm_params *p, int64_t *bytes) {
  if (is_reduction(s)) {
    const sgemm_reduction_params r = reduction_params_of(s, d);
    return sgemm_reduction_workspace_query(p, &r, bytes);
  }
  return sgemm_workspace_query(p, bytes);
}

/* Allocates the memory that a subject needs besides the matrices. 0 is success. After a failure m->status is the error
   of this library, or SGEMM_SUCCESS: there is not enough memory. */
static int open_subject(meter *m, subject s, const data *d, const options *o) {
  sgemm_params p;
  int64_t bytes;
  m->status = SGEMM_SUCCESS;
  close_subject(m);
  if (s == SUBJECT_CUBLAS)
    return 0;
  if (mode_of(s) != SGEMM_STRICT &&
      ((o->prepared && prepare(m, s, d, 1)) ||
       (o->prepared_both && (!o->both_prepared_cases || s >= SUBJECT_BOTH_PREPARED) && prepare(m, s, d, 0))))
    return 1;
  p = params_of(m, s, d, 0);
  if (!is_production(s)) {
    const sgemm_plan plan = sgemm_variant_plan((sgemm_variant)s, &p);
    bytes = sgemm_plan_workspace(&plan, &p);
  } else if (keep_status(query_workspace(s, d, &p, &bytes), &m->status)) {
    return 1;
  }
  if (is_production(s) && mode_of(s) == SGEMM_STRICT && o->limited && bytes > (int64_t)o->workspace_mib << 20)
    bytes = (int64_t)o->workspace_mib << 20;
  if (bytes > 0)
    m->room = machine_alloc((size_t)bytes);
  m->room_bytes = m->room == NULL ? 0 : bytes;
  return m->room_bytes != bytes;
}

static sgemm_plan production_plan(const meter *m, subject s, const data *d) {
  const sgemm_params p = params_of(m, s, d, 0);
  return sgemm_select(&p, SGEMM_STAGE_ANY, &m->device);
}

static choice picked_by(const meter *m, subject s, const data *d) {
  choice picked = no_choice();
  if (is_reduction(s))
    return picked;
  if (is_production(s)) {
    const sgemm_plan plan = production_plan(m, s, d);
    return choice_of(&plan);
  }
  if (s != SUBJECT_CUBLAS)
    picked.variant = sgemm_variant_get((sgemm_variant)s)->name;
  return picked;
}

/* Prints the device and cuBLAS's time. Requires that cuBLAS, the first subject, is measured. */
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
  if (r->epilogues)
    puts(
        "ms: median of the runs; spread: interquartile range of the runs over the median; over plain: ms over those of "
        "the\nplain call of the same mode");
  else
    puts("ms: median of the runs; spread: interquartile range of the runs over the median; % copy: minimum bytes over "
         "time");
  printf("MHz: SM clock during the last run; ");
  if (reason == NULL)
    printf("the driver reports no throttle reason\n");
  else
    printf("throttled in %zu of %zu cases: %s\n", held, r->row_count, reason);
}

/* ---- The suite --------------------------------------------------------------------------------------------------- */

/* A value of sgemm_run() in one mode, L2-warm or L2-cold, over the shapes whose m, n and k are at least `from`: its
   geometric mean over the rows that have it, and the row with the worst. */
typedef struct digest {
  size_t count;
  double mean, worst;
  const row *at;
} digest;

static digest digest_of(const report *r, int mode, int cold, int64_t from, double (*value)(const row *),
                        int lowest_is_worst) {
  digest d = {0, 0.0, 0.0, NULL};
  size_t i;
  for (i = 0; i < r->row_count; i++) {
    const row *w = &r->rows[i];
    const cell *cells = w->cells;
    double v;
    if (w->subject != SUBJECT_PRODUCTION + mode || w->cold != cold || cells[COLUMN_m].number < (double)from ||
        cells[COLUMN_n].number < (double)from || cells[COLUMN_k].number < (double)from || isnan(v = value(w)))
      continue;
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

/* The names of the ceilings of the tensor modes, for the table. */
static const char *const ceiling_names[MODE_COUNT] = {NULL, "cuBLAS on fp16 at 3 k", "cuBLAS on bf16 at 6 k"};

/* The name of the row's problem in the shape file, or its sizes. */
static const char *case_of(const row *w) {
  return w->cells[COLUMN_shape].text != NULL ? w->cells[COLUMN_shape].text : strchr(w->name, '/') + 1;
}

/* cuBLAS's time over this library's time; 0 for a wrong result. */
static double speed_of(const row *w) { return w->wrong ? 0.0 : w->cells[COLUMN_percent_of_cublas].number / 100.0; }

static double share_of_ceiling(const row *w) { return w->cells[COLUMN_percent_of_ceiling].number / 100.0; }

/* Adds the facts key, key_worst and key_worst_shape, and a sentence of the summary. Adds nothing if no row has the
   value. */
static void add_digest(report *r, const digest *d, const char *key, const char *title, const char *of,
                       const char *worst) {
  char longer[48];
  if (d->count == 0)
    return;
  add_number(r, key, d->mean);
  snprintf(longer, sizeof longer, "%s_%s", key, worst);
  add_number(r, longer, d->worst);
  snprintf(longer, sizeof longer, "%s_%s_shape", key, worst);
  add_text(r, longer, case_of(d->at));
  snprintf(r->summary[r->summary_count++], sizeof *r->summary,
           "%s: %.3f of %s, geometric mean of %zu shapes; %s %.3f: %s", title, d->mean, of, d->count, worst, d->worst,
           case_of(d->at));
}

/* Joins the texts that are not empty and the mode's name, which is empty for strict. */
static const char *joined(char text[64], const char *between, const char *what, int mode, const char *how,
                          const char *further) {
  const char *const parts[] = {what, mode == SGEMM_STRICT ? "" : mode_name(mode), how, further};
  size_t i, used = 0;
  for (i = 0; i < sizeof parts / sizeof *parts; i++)
    if (*parts[i] != '\0')
      used += (size_t)snprintf(text + used, 64 - used, "%s%s", used > 0 ? between : "", parts[i]);
  return text;
}

static const char *const l2_states[] = {"warm", "cold"}, *const l2_titles[] = {"L2-warm", "L2-cold"};

static void add_score(report *r, int mode, int cold, int large) {
  const digest d = digest_of(r, mode, cold, large ? LARGE : 0, speed_of, 1);
  char key[64], title[64];
  add_digest(r, &d, joined(key, "_", "score", mode, l2_states[cold], large ? "large" : ""),
             joined(title, ", ", "score", mode, l2_titles[cold], large ? "m, n, k >= 512" : ""), "cuBLAS's speed",
             "worst");
}

static void add_ceiling(report *r, int mode, int cold) {
  const digest d = digest_of(r, mode, cold, 0, share_of_ceiling, 1);
  char key[64], title[64];
  add_digest(r, &d, joined(key, "_", "ceiling", mode, l2_states[cold], ""),
             joined(title, ", ", "ceiling", mode, l2_titles[cold], ""), ceiling_names[mode], "worst");
}

/* Fills the error over cuBLAS's error, which is measured first. It is infinite if either is. */
static void compare_error(meter *m, row *w) {
  const double ours = w->cells[COLUMN_componentwise_error].number;
  if (w->subject == SUBJECT_CUBLAS)
    m->cublas_error = ours;
  w->cells[COLUMN_error_over_cublas].number = !isfinite(ours) || !isfinite(m->cublas_error) ? INFINITY
                                              : ours == m->cublas_error                     ? 1.0
                                                                                            : ours / m->cublas_error;
}

static double error_of_row(const row *w) { return w->cells[COLUMN_error_over_cublas].number; }

/* The L2 state whose errors are printed. Errors do not depend on the L2 state. */
static int errors_cold(const options *o) { return !o->warm; }

static void add_errors(const options *o, report *r, int mode) {
  const digest d = digest_of(r, mode, errors_cold(o), 0, error_of_row, 0);
  char key[64], title[64];
  add_digest(r, &d, joined(key, "_", "error_ratio", mode, "", ""), joined(title, ", ", "errors", mode, "", ""),
             "cuBLAS's", "largest");
}

/* Prints the table of one mode. */
static void print_errors_of(const options *o, const report *r, int mode) {
  double cublas = NAN;
  size_t i, lines = 0;
  for (i = 0; i < r->row_count; i++) {
    const row *w = &r->rows[i];
    const double error = w->cells[COLUMN_componentwise_error].number;
    const char *name = w->cells[COLUMN_variant].text;
    if (w->subject == SUBJECT_CUBLAS)
      cublas = error;
    if (w->subject != SUBJECT_PRODUCTION + mode || w->cold != errors_cold(o))
      continue;
    if (lines++ == 0)
      printf("%-40s %10s %10s %7s\n", "shape", name, "cublas", "ratio");
    printf("%-40s %*.3e %10.3e %7.3f\n", case_of(w), (int)strlen(name), error, cublas, error_of_row(w));
  }
  if (lines > 0)
    putchar('\n');
}

static void print_errors(const options *o, const report *r) {
  int mode;
  if (o->errors)
    puts("\nlargest |C - double reference| / |A||B|");
  for (mode = 0; mode < MODE_COUNT && o->errors; mode++)
    print_errors_of(o, r, mode);
}

/* The summary of all measurements. Only a shape file, whose problems have names, has a score. */
static void sum_up(const options *o, report *r) {
  int mode, cold;
  for (mode = 0; mode < MODE_COUNT; mode++)
    for (cold = 0; cold < 2; cold++) {
      if (o->problems[0].name[0] != '\0')
        add_score(r, mode, cold, 0);
      if (o->problems[0].name[0] != '\0' && mode != SGEMM_STRICT)
        add_score(r, mode, cold, 1);
      add_ceiling(r, mode, cold);
    }
  for (mode = 0; mode < MODE_COUNT && o->errors; mode++)
    add_errors(o, r, mode);
}

/* ---- Timing ------------------------------------------------------------------------------------------------------ */

/* C = op(A) op(B) of 16-bit numbers, summed and written in fp32: as many products as a tensor mode computes, in one
   sum. */
static int run_ceiling(cublasHandle_t handle, int mode, const sgemm_params *p) {
  const float one = 1.0f, zero = 0.0f;
  const cublasOperation_t a = p->op_a == SGEMM_N ? CUBLAS_OP_N : CUBLAS_OP_T;
  const cublasOperation_t b = p->op_b == SGEMM_N ? CUBLAS_OP_N : CUBLAS_OP_T;
  const cudaDataType type = mode == SGEMM_TENSOR ? CUDA_R_16F : CUDA_R_16BF;
  return cublasGemmEx(handle, b, a, (int)p->n, (int)p->m, (int)p->k, &one, p->B, type, (int)p->ldb, p->A, type,
                      (int)p->lda, &zero, p->C, CUDA_R_32F, (int)p->ldc, CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT) != CUBLAS_STATUS_SUCCESS;
}

static int run_call(meter *m, subject s, const data *d, int set) {
  const sgemm_params p = params_of(m, s, d, set);
  if (is_reduction(s)) {
    const sgemm_reduction_params r = reduction_params_of(s, d);
    return keep_status(sgemm_run_reduction(&p, &r, NULL), &m->status);
  }
  return s >= SUBJECT_CEILING  ? run_ceiling(m->cublas, s - SUBJECT_CEILING, &p)
         : s == SUBJECT_CUBLAS ? cublas_call(m->cublas, &p)
         : is_production(s)    ? keep_status(sgemm_run(&p, NULL), &m->status)
                               : keep_status(sgemm_run_variant((sgemm_variant)s, &p, NULL), &m->status);
}

/* Runs `calls` calls, each on the set after the previous one's, from the set after *set on. Leaves the last set in
   *set. */
static int run_calls(meter *m, subject s, const data *d, int calls, int *set) {
  int i, bad = 0;
  for (i = 0; i < calls && !bad; i++) {
    *set = (*set + 1) % d->sets;
    bad = run_call(m, s, d, *set);
  }
  return bad;
}

/* *ms: device milliseconds of one of `calls` calls. The cells receive the clock, the power and the throttle reason that
   the driver reports during the calls. */
static int time_calls(meter *m, subject s, const data *d, int calls, int *set, cell *cells, float *ms) {
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

/* The quantile q of sorted samples, interpolated between two samples. */
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

/* Fills the times and the cells that are not rates. 0 is success; *set is a set that timed calls have written. */
static int time_subject(meter *m, subject s, const data *d, const options *o, row *w, int *set) {
  /* The first launch also loads the kernel, so its time is not known. It counts in the warm-up as the least time that
     fp32 FMA needs, and as 0 on tensor cores. */
  const int by_ffma = s < SUBJECT_CEILING && mode_of(s) == SGEMM_STRICT;
  double warm = by_ffma ? sgemm_flops(d->p.m, d->p.n, d->p.k) * (double)d->p.batch / m->ffma_gflops * 1e-9 : 0.0;
  float ms = 0.0f;
  int count = 0, calls = 1, i;
  struct timespec start;
  clock_t cpu;
  cell *cells = w->cells;
  *set = d->sets - 1;
  if (run_calls(m, s, d, 1, set))
    return 1;
  while (warm < WARM_UP_SECONDS) { /* until the clock has risen */
    if (time_calls(m, s, d, calls, set, cells, &ms))
      return 1;
    warm += ms * 1e-3 * calls;
    calls = ms < 1.0f ? (int)(1.0f / ms) + 1 : 1; /* a sample takes at least a millisecond */
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
  cells[COLUMN_time_ms].number = w->real_ms;
  cells[COLUMN_spread_percent].number = spread_percent(m->samples, count);
  cells[COLUMN_samples].number = count;
  return 0;
}

/* A leading dimension, rounded up so that rows of 16-bit numbers are aligned to 16 bytes, which is fastest. */
static int64_t padded(int64_t length) { return sgemm__ceil_div(length, 8) * 8; }

/* Makes the matrices of a tensor mode's ceiling: A and B of 16-bit numbers, with k times the number of products. 0 is
   success. */
static int open_ceiling(data *c, const sgemm_params *p, int mode, int64_t passed) {
  const int64_t k = p->k * (mode == SGEMM_TENSOR ? 3 : 6);
  memset(c, 0, sizeof *c);
  c->p = sgemm_params_init((sgemm_op)p->op_a, (sgemm_op)p->op_b, p->m, p->n, k);
  c->p.lda = padded(c->p.lda);
  c->p.ldb = padded(c->p.ldb);
  c->p.ldc = padded(c->p.ldc);
  c->pitch_a = pitch_of(c->p.lda / 2 * (p->op_a == SGEMM_N ? p->m : k));
  c->pitch_b = pitch_of(c->p.ldb / 2 * (p->op_b == SGEMM_N ? k : p->n));
  c->pitch_c = pitch_of(c->p.ldc * p->m);
  c->sets = 1 + (int)(passed / (int64_t)((c->pitch_a + c->pitch_b + c->pitch_c) * sizeof(float)));
  c->p.A = alloc_sets(c->pitch_a, c->sets);
  c->p.B = alloc_sets(c->pitch_b, c->sets);
  c->p.C = alloc_sets(c->pitch_c, c->sets);
  if (c->p.A != NULL && c->p.B != NULL && c->p.C != NULL &&
      matrices_fill16((uint16_t *)c->p.A, 2 * (size_t)c->sets * c->pitch_a, mode != SGEMM_TENSOR, 1) == 0 &&
      matrices_fill16((uint16_t *)c->p.B, 2 * (size_t)c->sets * c->pitch_b, mode != SGEMM_TENSOR, 2) == 0)
    return 0;
  close_data(c);
  return 1;
}

static int has_ceiling(const options *o, subject s, const sgemm_params *p) {
  return s < SUBJECT_FUSED && mode_of(s) != SGEMM_STRICT && p->batch == 1 &&
         (o->ceilings || (p->m >= CEILING_FROM && p->m == p->n && p->m == p->k));
}

/* Times a tensor mode's ceiling, for the row of the mode, which was timed before. 0 is success. */
static int measure_ceiling(meter *m, subject s, const data *d, const options *o, int cold, row *w) {
  const int mode = mode_of(s);
  row ceiling = *w; /* only its times are used */
  data c;
  int set, failed;
  cell *cells = w->cells;
  if (open_ceiling(&c, &d->p, mode, eviction_bytes(m, cold)))
    return 1;
  failed = time_subject(m, SUBJECT_CEILING + mode, &c, o, &ceiling, &set);
  close_data(&c);
  cells[COLUMN_ceiling_gflops].number = sgemm_metrics_of(&d->p, ceiling.real_ms, 0.0, 0.0).gflops;
  cells[COLUMN_percent_of_ceiling].number = 100.0 * cells[COLUMN_gflops].number / cells[COLUMN_ceiling_gflops].number;
  return failed;
}

/* Writes the plan that production ran, for the table. If the guard fired, full range or strict fp32 computed the
   call. */
static void write_note(subject s, row *w) {
  static const struct {
    int column;
    const char *name;
  } fields[] = {{COLUMN_cluster_k, "cluster_k"},
                {COLUMN_split_k, "split_k"},
                {COLUMN_stream_k, "stream_k"},
                {COLUMN_serial_k, "serial_k"}};
  const cell *cells = w->cells;
  int used = snprintf(w->note, sizeof w->note, "%s", cells[COLUMN_picked].text);
  size_t i;
  for (i = 0; i < sizeof fields / sizeof *fields; i++)
    if (!isnan(cells[fields[i].column].number))
      used += snprintf(w->note + used, sizeof w->note - (size_t)used, ", %s %.0f", fields[i].name,
                       cells[fields[i].column].number);
  if (cells[COLUMN_guard].number > 0.0)
    used += snprintf(w->note + used, sizeof w->note - (size_t)used,
                     (int)cells[COLUMN_guard].number & SGEMM_GUARD_FULL_RANGE ? ", full range" : ", guard fired");
  if (!isnan(cells[COLUMN_percent_of_ceiling].number))
    snprintf(w->note + used, sizeof w->note - (size_t)used, "; %.1f %% of %s: %.1f TFLOP/s",
             cells[COLUMN_percent_of_ceiling].number, ceiling_names[mode_of(s)],
             cells[COLUMN_ceiling_gflops].number * 1e-3);
}

/* Fills the cells of production. 0 is success. */
static int measure_production(meter *m, subject s, const data *d, const options *o, int cold, int set, row *w) {
  const sgemm_params p = params_of(m, s, d, set);
  uint32_t fallback_reason = 0;
  w->cells[COLUMN_workspace_bytes].number = (double)p.workspace_bytes;
  if (is_reduction(s))
    return 0;
  if (production_plan(m, s, d).tensor != SGEMM_TENSOR_VARIANT_NONE) {
    if (keep_status(sgemm_guard_query(&p, &fallback_reason, NULL), &m->status) || machine_wait())
      return 1;
    w->cells[COLUMN_guard].number = fallback_reason;
  }
  if (has_ceiling(o, s, &p) && measure_ceiling(m, s, d, o, cold, w))
    return 1;
  if (s < SUBJECT_FUSED)
    write_note(s, w);
  return 0;
}

/* If beta is not 0, the result depends on the number of timed calls. Two more calls on a C of zeros then compute
   (1 + beta) op(A) op(B), which is checked. 0 is success. */
static int call_twice(meter *m, subject s, const data *d, int set) {
  return d->p.beta != 0.0f && (spoil(d) || run_call(m, s, d, set) || run_call(m, s, d, set) || machine_wait());
}

/* Fills all cells except those of the case and of the check. 0 is success; *set is the set to check. */
static int measure(meter *m, subject s, const data *d, const options *o, int cold, row *w, int *set) {
  cell *cells = w->cells;
  sgemm_metrics r;
  if (time_subject(m, s, d, o, w, set))
    return 1;
  if (s == SUBJECT_CUBLAS)
    m->cublas_ms = w->real_ms;
  if (s >= SUBJECT_PRODUCTION && s < SUBJECT_BOTH_PREPARED)
    m->plain_ms[mode_of(s)] = w->real_ms;
  if (o->epilogues && is_production(s))
    cells[COLUMN_over_plain].number = w->real_ms / m->plain_ms[mode_of(s)];
  r = sgemm_metrics_of(&d->p, w->real_ms, m->device.peak_gflops, m->cublas_ms);
  cells[COLUMN_mode].text = l2_states[cold];
  cells[COLUMN_gflops].number = r.gflops;
  cells[COLUMN_percent_of_peak].number = r.percent_of_peak;
  cells[COLUMN_percent_of_cublas].number = r.percent_of_cublas;
  cells[COLUMN_percent_of_ffma].number = 100.0 * r.gflops / m->ffma_gflops;
  cells[COLUMN_percent_of_copy].number = 100.0 * r.bandwidth_gbs / m->copy_gbs;
  return (is_production(s) && measure_production(m, s, d, o, cold, *set, w)) || call_twice(m, s, d, *set);
}

#endif
