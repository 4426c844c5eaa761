/* tune.c: measures plans on a GPU, and fits to their times the calibration constants with which sgemm_select() estimates.

     tune measure FILE.csv [SHAPES.csv]   times plans of every compiled variant on this GPU, for built-in shapes or those
                                          of a file with the columns name,m,n,k,batch,op; appends the times to FILE.csv
     tune check FILE.csv                  prints how much slower the plans with the least estimated time are than the
                                          fastest measured plans; needs no GPU
     tune fit FILE.csv                    prints the constants with which the estimated times fit the measured times, to
                                          replace the text between BEGIN calibration and END calibration in
                                          sgemm/select/calibration_h200.h, and checks them; needs no GPU

   Columns of the times: m,n,k,batch,op,variant,cluster_k,split_k,stream_k,microseconds. A file of version 0.1 has `ranks`
   in place of cluster_k and `planes` in place of split_k and stream_k. In such a file `planes` of a tma variant is
   stream_k, where 1 means off. */
#include "sgemm.h"
#include "tools/machine.h"
#include "tools/plans.h"

#include <stdlib.h>

enum { WORKSPACE_BYTES = 768 << 20 }; /* workspace of the timed plans */

static int fail(const char *what, const char *why) {
  fprintf(stderr, "tune: %s: %s\n", what, why);
  return 2;
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

#if defined(MACHINE_CUDA) && MACHINE_CUDA

#include "tools/matrices.h"

enum { OPERAND_FLOATS = 64 << 20, RESULT_FLOATS = 48 << 20 };
enum { SAMPLES = 3 };
#define SAMPLE_MS 0.7
#define SLOWEST 2.5 /* a plan that takes longer than so many times the fastest of its shape so far is not written */

/* All shapes use the same memory. */
typedef struct bench {
  float *A, *B, *C;
  void *workspace;
  cudaStream_t stream;
  cudaEvent_t start, stop;
  sgemm_device device;
  FILE *out;
} bench;

/* The mean time of `count` consecutive calls in microseconds; negative after an error. */
static double timed(bench *b, const sgemm_plan *plan, const sgemm_params *p, int count) {
  float ms = -1.0f;
  int i, bad = cudaEventRecord(b->start, b->stream) != cudaSuccess;
  for (i = 0; i < count && !bad; i++)
    bad = sgemm_run_plan(plan, p, b->stream) != SGEMM_SUCCESS;
  bad = bad || cudaEventRecord(b->stop, b->stream) != cudaSuccess || cudaEventSynchronize(b->stop) != cudaSuccess ||
        cudaEventElapsedTime(&ms, b->start, b->stop) != cudaSuccess;
  return bad ? -1.0 : 1e3 * ms / count;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Times a plan, unless two first calls take more than three times *best. */
static int measure_plan(bench *b, const sgemm_plan *plan, const sgemm_params *p, const char *op, double *best) {
  double sample[SAMPLES], us;
  int i;
  timed(b, plan, p, 1); /* loads the kernel */
  us = timed(b, plan, p, 2);
  for (i = 0; i < SAMPLES && us < 3.0 * *best + 5.0; i++) {
    sample[i] = timed(b, plan, p, us > 1e3 * SAMPLE_MS ? 1 : (int)(1e3 * SAMPLE_MS / us) + 1);
    if (sample[i] < 0.0)
      return fail(sgemm_variant_get(plan->variant)->name, "did not run");
  }
  if (i == SAMPLES) {
    qsort(sample, SAMPLES, sizeof *sample, by_value);
    us = sample[SAMPLES / 2];
    *best = us < *best ? us : *best;
  }
  if (us <= SLOWEST * *best)
    fprintf(b->out, "%lld,%lld,%lld,%lld,%s,%s,%d,%d,%d,%.3f\n", (long long)p->m, (long long)p->n, (long long)p->k,
            (long long)p->batch, op, sgemm_variant_get(plan->variant)->name, plan->cluster_k, plan->split_k,
            plan->stream_k, us);
  return 0;
}

/* Times every plan of a shape that may be among the fastest. */
static int measure_shape(bench *b, int64_t m, int64_t n, int64_t k, int64_t batch, const char *op) {
  sgemm_params p = sgemm_params_init(op[0] == 'T' ? SGEMM_T : SGEMM_N, op[1] == 'T' ? SGEMM_T : SGEMM_N, m, n, k);
  sgemm_plan plans[PLANS_MOST];
  double best = 1e9;
  int i, j, count, status = 0;
  p.A = b->A;
  p.B = b->B;
  p.C = b->C;
  p.batch = batch;
  p.workspace = b->workspace;
  p.workspace_bytes = WORKSPACE_BYTES;
  if (m * k * batch > OPERAND_FLOATS || k * n * batch > OPERAND_FLOATS || m * n * batch > RESULT_FLOATS)
    return 0;
  for (i = SGEMM_VARIANT_COUNT - 1; i >= 0; i--) { /* the fastest variants first */
    count = plans_of((sgemm_variant)i, &p, &b->device, plans);
    for (j = 0; j < count && status == 0; j++)
      status = measure_plan(b, &plans[j], &p, op, &best);
  }
  return status;
}

/* Times built-in shapes of all kinds, powers of two and others, with the op pairs in rotation. */
static int measure_all(bench *b) {
  static const int SQUARES[] = {96,   160,  224,  320,  333,  448,  640,  777,  896,
                                1152, 1280, 1555, 1920, 2560, 2777, 3200, 4001, 5120};
  static const int NARROW[] = {1, 3, 6, 12, 24, 48, 96, 192};
  static const char *OPS[] = {"NN", "NT", "TN", "TT"};
  int i, status = 0, turn = 0;
  for (i = 0; i < (int)(sizeof SQUARES / sizeof *SQUARES) && status == 0; i++, turn++) {
    const int s = SQUARES[i];
    fprintf(stderr, "\rtune: squares, %d  ", s);
    status = measure_shape(b, s, s, s, 1, "NN") | measure_shape(b, s, s, s, 1, OPS[1 + turn % 3]);
  }
  for (i = 0; i < (int)(sizeof NARROW / sizeof *NARROW) && status == 0; i++, turn++) {
    const int s = NARROW[i];
    fprintf(stderr, "\rtune: narrow, %d  ", s);
    status = measure_shape(b, s, 3072, 5120, 1, OPS[turn % 2]) |
             measure_shape(b, s, 10240, 2560, 1, OPS[1 - turn % 2]) |
             measure_shape(b, 5120, s, 3072, 1, turn % 2 ? "NN" : "TN") | measure_shape(b, 6000, s, 6000, 1, "NN");
  }
  for (i = 32; i <= 512 && status == 0; i *= 2, turn++) {
    fprintf(stderr, "\rtune: long and short k, %d  ", i);
    status = measure_shape(b, i, i, 40000, 1, OPS[turn % 4]) |
             measure_shape(b, i, 2 * i, 10000, 1, OPS[(turn + 2) % 4]) |
             measure_shape(b, 5000, 5000, i / 4, 1, OPS[turn % 4]) | measure_shape(b, 80 * i, 512, 96, 1, "NT");
  }
  for (i = 48; i <= 400 && status == 0; i = i * 3 / 2, turn++) {
    fprintf(stderr, "\rtune: batches, %d  ", i);
    status = measure_shape(b, i, i, i, 20000 / i, OPS[turn % 4]) | measure_shape(b, i, i, i, 12, OPS[turn % 4]) |
             measure_shape(b, 400, 400, i, 100, "NT") | measure_shape(b, 400, i, 400, 100, "NN");
  }
  fprintf(stderr, "\n");
  return status;
}

static int measure_file(bench *b, const char *path) {
  char line[256], name[64], op[3];
  long long m, n, k, batch;
  int status = 0;
  FILE *f = fopen(path, "r");
  if (f == NULL)
    return fail(path, "cannot be read");
  while (fgets(line, sizeof line, f) != NULL && status == 0)
    if (sscanf(line, "%63[^,],%lld,%lld,%lld,%lld,%2s", name, &m, &n, &k, &batch, op) == 6)
      status = measure_shape(b, m, n, k, batch, op);
  fclose(f);
  return status;
}

static int measure(const char *path, const char *shapes) {
  bench b;
  int status;
  if (!machine_present() || sgemm_device_query(-1, &b.device) != SGEMM_SUCCESS)
    return fail("measure", "needs a GPU");
  b.A = (float *)machine_alloc(sizeof(float) * OPERAND_FLOATS);
  b.B = (float *)machine_alloc(sizeof(float) * OPERAND_FLOATS);
  b.C = (float *)machine_alloc(sizeof(float) * RESULT_FLOATS);
  b.workspace = machine_alloc(WORKSPACE_BYTES);
  if (!b.A || !b.B || !b.C || !b.workspace || matrices_fill(b.A, OPERAND_FLOATS, OPERAND_FLOATS, 1) != 0 ||
      matrices_fill(b.B, OPERAND_FLOATS, OPERAND_FLOATS, 2) != 0 || machine_wait() != 0 ||
      cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking) != cudaSuccess ||
      cudaEventCreate(&b.start) != cudaSuccess || cudaEventCreate(&b.stop) != cudaSuccess)
    return fail("measure", "the GPU has no memory or stream for it");
  b.out = fopen(path, "a");
  if (b.out == NULL)
    return fail(path, "cannot be written");
  fprintf(b.out, "m,n,k,batch,op,variant,cluster_k,split_k,stream_k,microseconds\n");
  status = shapes != NULL ? measure_file(&b, shapes) : measure_all(&b);
  return fclose(b.out) != 0 ? fail(path, "cannot be written") : status;
}

#else

static int measure(const char *path, const char *shapes) {
  (void)path, (void)shapes;
  return fail("measure", "needs a GPU");
}

#endif

/* The properties of the GPU, or, without one, of the H200 on which the committed times were measured. Only the
   properties that the estimate uses are set. */
static sgemm_device tuned_device(void) {
  sgemm_device d;
#if defined(MACHINE_CUDA) && MACHINE_CUDA
  if (sgemm_device_query(-1, &d) == SGEMM_SUCCESS)
    return d;
#endif
  memset(&d, 0, sizeof d);
  d.code_arch = 90;
  d.has_sm90a_code = 1;
  d.multiprocessors = 132;
  d.lanes = 128;
  d.clock_mhz = 1980;
  d.shared_per_block = 227 * 1024;
  d.l2_bytes = 50 << 20;
  d.bandwidth_gbs = 4814.0;
  return d;
}

/* ---- Fitting ----------------------------------------------------------------------------------------------------- */

/* The constants that are fitted. */
typedef struct calibration {
  sgemm__calibration common;
  sgemm__variant_calibration variants[SGEMM_VARIANT_COUNT];
} calibration;

static calibration h200(void) {
  calibration c;
  int v;
  c.common = sgemm__h200;
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
    c.variants[v] = sgemm__calibration_of((sgemm_variant)v);
  return c;
}

typedef struct sample {
  sgemm_params p;
  sgemm_plan plan;
  double us, weight, estimated;
  int shape; /* number of the shape; samples of one shape follow each other */
} sample;

typedef struct samples {
  sample *all;
  int count, capacity;
  sgemm_device device;
} samples;

static int variant_named(const char *name) {
  int v = 0;
  while (v < SGEMM_VARIANT_COUNT && strcmp(sgemm_variant_get((sgemm_variant)v)->name, name) != 0)
    v++;
  return v;
}

/* Parses a line of times of either version. Returns 0 if it is none, or if its variant is unknown. */
static int parse_sample(sample *t, const char *line) {
  char name[64], op[3];
  long long m, n, k, batch;
  sgemm__args args;
  double numbers[4]; /* cluster_k, split_k, stream_k, microseconds; or ranks, planes, microseconds */
  const int count = sscanf(line, "%lld,%lld,%lld,%lld,%2[NT],%63[^,],%lf,%lf,%lf,%lf", &m, &n, &k, &batch, op, name,
                           &numbers[0], &numbers[1], &numbers[2], &numbers[3]);
  const int old = count == 9, variant = count >= 9 ? variant_named(name) : SGEMM_VARIANT_COUNT;
  if (variant == SGEMM_VARIANT_COUNT)
    return 0;
  t->p = sgemm_params_init(op[0] == 'T' ? SGEMM_T : SGEMM_N, op[1] == 'T' ? SGEMM_T : SGEMM_N, m, n, k);
  t->p.batch = batch;
  t->plan = sgemm__plain_plan((sgemm_variant)variant);
  t->plan.cluster_k = (int)numbers[0];
  if (old && sgemm_variant_get(t->plan.variant)->uses_tma)
    t->plan.stream_k = numbers[1] > 1.0 ? (int)numbers[1] : 0;
  else
    t->plan.split_k = (int)numbers[1];
  if (!old)
    t->plan.stream_k = (int)numbers[2];
  t->us = numbers[old ? 2 : 3];
  args = sgemm__args_of(&t->p);
  sgemm__decide_repack(&t->plan, &args, WORKSPACE_BYTES);
  return 1;
}

static int same_shape(const sgemm_params *a, const sgemm_params *b) {
  return a->m == b->m && a->n == b->n && a->k == b->k && a->batch == b->batch && a->op_a == b->op_a &&
         a->op_b == b->op_b;
}

/* Reads the times of a file. Skips variants that the table no longer has. */
static int read_samples(samples *s, const char *path) {
  char line[256];
  int i, first = 0;
  sample t;
  FILE *f = fopen(path, "r");
  if (f == NULL)
    return fail(path, "cannot be read");
  while (fgets(line, sizeof line, f) != NULL) {
    if (!parse_sample(&t, line))
      continue;
    t.shape = s->count == 0 ? 0 : s->all[s->count - 1].shape + !same_shape(&t.p, &s->all[s->count - 1].p);
    if (s->count == s->capacity) {
      s->capacity = 2 * s->capacity + 1024;
      s->all = (sample *)realloc(s->all, (size_t)s->capacity * sizeof *s->all);
      if (s->all == NULL)
        return fail(path, "too long for the memory");
    }
    s->all[s->count++] = t;
  }
  fclose(f);
  /* The order of the fastest plans matters most: a plan with twice the least time has a quarter of the weight. */
  for (i = 0; i <= s->count; i++)
    if (i == s->count || s->all[i].shape != s->all[first].shape) {
      double least = 1e30;
      int j;
      for (j = first; j < i; j++)
        least = fmin(least, s->all[j].us);
      for (j = first; j < i; j++)
        s->all[j].weight = pow(least / s->all[j].us, 2.0);
      first = i;
    }
  return s->count > 0 ? 0 : fail(path, "no times of variants that the table has");
}

/* The estimated time of a sample in microseconds. */
static double estimate(const sample *t, const sgemm_device *device, const calibration *c) {
  const sgemm__problem q = sgemm__problem_of(&t->p, device, &c->common);
  const sgemm__candidate r = sgemm__candidate_of(t->plan.variant, &c->variants[t->plan.variant], &q, &c->common);
  return sgemm__cost(&t->plan, &r, &q, &c->common) / device->clock_mhz;
}

/* The weighted mean square of log(estimated / measured time) of one variant's samples, or of all samples for -1. */
static double misfit(const samples *s, const calibration *c, int variant) {
  double sum = 0.0;
  int i;
  for (i = 0; i < s->count; i++)
    if (variant < 0 || (int)s->all[i].plan.variant == variant) {
      const sample *t = &s->all[i];
      const double off = log(estimate(t, &s->device, c) / t->us);
      sum += t->weight * off * off;
    }
  return sum / s->count;
}

/* Multiplies one constant by 1 + step, or divides it, as long as the misfit falls. */
static void improve(const samples *s, const calibration *c, double *constant, int variant, double step) {
  double now = misfit(s, c, variant);
  int way, moves;
  for (way = 0; way < 2; way++)
    for (moves = 0; moves < 8; moves++) {
      const double before = *constant;
      double then;
      *constant *= way ? 1.0 / (1.0 + step) : 1.0 + step;
      then = misfit(s, c, variant);
      if (then >= now) {
        *constant = before;
        break;
      }
      now = then;
    }
}

/* Prints a plan of the report with its times. */
static void print_sample(const char *what, const sample *t, const char *end) {
  fprintf(stderr, "%s %s cluster_k %d split_k %d stream_k %d %.1f us (estimated %.1f)%s", what,
          sgemm_variant_get(t->plan.variant)->name, t->plan.cluster_k, t->plan.split_k, t->plan.stream_k, t->us,
          t->estimated, end);
}

/* Prints how much slower the plans with the least estimated time are than the fastest measured plans. */
static void report(samples *s, const calibration *c) {
  double log_sum = 0.0, worst = 1.0;
  int i, first = 0, shapes = 0, worst_at = 0;
  for (i = 0; i <= s->count; i++)
    if (i == s->count || s->all[i].shape != s->all[first].shape) {
      int j, chosen = first, fastest = first;
      for (j = first; j < i; j++) {
        s->all[j].estimated = estimate(&s->all[j], &s->device, c);
        chosen = s->all[j].estimated < s->all[chosen].estimated ? j : chosen;
        fastest = s->all[j].us < s->all[fastest].us ? j : fastest;
      }
      log_sum += log(s->all[chosen].us / s->all[fastest].us);
      if (s->all[chosen].us / s->all[fastest].us > worst) {
        worst = s->all[chosen].us / s->all[fastest].us;
        worst_at = chosen;
      }
      if (s->all[chosen].us / s->all[fastest].us > 1.15) {
        const sgemm_params *p = &s->all[chosen].p;
        fprintf(stderr, "tune: %lldx%lldx%lld, batch %lld:", (long long)p->m, (long long)p->n, (long long)p->k,
                (long long)p->batch);
        print_sample("", &s->all[chosen], ",");
        print_sample(" fastest", &s->all[fastest], "\n");
      }
      shapes++;
      first = i;
    }
  fprintf(stderr,
          "tune: %d times of %d shapes; misfit %.1f %%; the plans chosen take %.2f %% longer than the fastest, at most "
          "%.0f %% (%lldx%lldx%lld)\n",
          s->count, shapes, 100.0 * sqrt(misfit(s, c, -1)), 100.0 * (exp(log_sum / shapes) - 1.0),
          100.0 * (worst - 1.0), (long long)s->all[worst_at].p.m, (long long)s->all[worst_at].p.n,
          (long long)s->all[worst_at].p.k);
}

static int check(const char *path) {
  samples s = {0};
  const calibration c = h200();
  const int status = read_samples(&s, path);
  s.device = tuned_device();
  if (status == 0)
    report(&s, &c);
  free(s.all);
  return status;
}

/* The constants that all variants share, in the order of the struct. */
typedef struct constant {
  const char *name, *format;
  double *value;
  int fitted; /* 0: the value is from other measurements */
} constant;

enum { CONSTANTS = 12 };
static void list_constants(sgemm__calibration *c, constant list[CONSTANTS]) {
  const constant all[CONSTANTS] = {{"launch", "%.0f", &c->launch, 1},
                                   {"cluster", "%.0f", &c->cluster, 1},
                                   {"split_k", "%.0f", &c->split_k, 1},
                                   {"partition", "%.0f", &c->partition, 1},
                                   {"half_rate_warps", "%.2f", &c->half_rate_warps, 1},
                                   {"copy", "%.4f", &c->copy, 1},
                                   {"store", "%.4f", &c->store, 1},
                                   {"guarded", "%.4f", &c->guarded, 1},
                                   {"latency", "%.0f", &c->latency, 1},
                                   {"sm_bytes", "%.1f", &c->sm_bytes, 1},
                                   {"bandwidth_share", "%.3f", &c->bandwidth_share, 1},
                                   {"lost_reuse", "%g", &c->lost_reuse, 0}};
  memcpy(list, all, sizeof all);
}

/* 1 if a variant gets an entry in the calibration: it has samples, or an entry so far. */
static int has_entry(const samples *s, sgemm_variant variant) {
  int i;
  for (i = 0; i < s->count; i++)
    if (s->all[i].plan.variant == variant)
      return 1;
#define ESTIMATED(name, like)                                                                                          \
  if (variant == SGEMM_##name)                                                                                         \
    return 0;
  SGEMM_ESTIMATED(ESTIMATED)
#undef ESTIMATED
  return 1;
}

/* Prints the text between BEGIN calibration and END calibration. A variant with an entry must not be in SGEMM_ESTIMATED.
   */
static void print_calibration(const samples *s, calibration *c) {
  constant list[CONSTANTS];
  char text[128];
  int i, last = -1, v;
  list_constants(&c->common, list);
  printf("/* BEGIN calibration */\nstatic const sgemm__calibration sgemm__h200 = {\n");
  for (i = 0; i < CONSTANTS; i++) {
    int used = snprintf(text, sizeof text, list[i].format, *list[i].value);
    snprintf(text + used, sizeof text - (size_t)used, ",");
    printf("  %-9s /* %s */\n", text, list[i].name);
  }
  printf("};\n\n/* X([symbol] variant, rate, overhead) */\n%-119s\\\n", "#define SGEMM__H200_VARIANTS(X)");
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
    last = has_entry(s, (sgemm_variant)v) ? v : last;
  for (v = 0; v <= last; v++) {
    const char *name = sgemm_variant_get((sgemm_variant)v)->name + strlen("sgemm_");
    if (!has_entry(s, (sgemm_variant)v))
      continue;
    snprintf(text, sizeof text, "  X(%s,%*s%5.1f, %5.0f)", name, 32 - (int)strlen(name), "", c->variants[v].rate,
             c->variants[v].overhead);
    printf("%-*s%s\n", v < last ? 119 : 0, text, v < last ? "\\" : "");
  }
  printf("/* END calibration */\n");
}

static int fit(const char *path) {
  samples s = {0};
  calibration c = h200();
  constant list[CONSTANTS];
  double step;
  int i, v, status = read_samples(&s, path);
  s.device = tuned_device();
  list_constants(&c.common, list);
  for (step = 0.3; step > 0.004 && status == 0; step *= 0.7) {
    for (i = 0; i < CONSTANTS; i++)
      if (list[i].fitted)
        improve(&s, &c, list[i].value, -1, step);
    for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
      improve(&s, &c, &c.variants[v].rate, v, step);
      improve(&s, &c, &c.variants[v].overhead, v, step);
    }
    fprintf(stderr, "\rtune: fitting, step %.3f, misfit %.2f %%  ", step, 100.0 * sqrt(misfit(&s, &c, -1)));
  }
  if (status != 0)
    return status;
  fprintf(stderr, "\n");
  report(&s, &c);
  print_calibration(&s, &c);
  free(s.all);
  return fflush(stdout) != 0 ? fail("stdout", "cannot be written") : 0;
}

int main(int argc, char **argv) {
  if ((argc == 3 || argc == 4) && strcmp(argv[1], "measure") == 0)
    return measure(argv[2], argc == 4 ? argv[3] : NULL);
  if (argc == 3 && strcmp(argv[1], "check") == 0)
    return check(argv[2]);
  if (argc == 3 && strcmp(argv[1], "fit") == 0)
    return fit(argv[2]);
  return fail("usage", "tune measure FILE.csv [SHAPES.csv] | tune check FILE.csv | tune fit FILE.csv");
}
