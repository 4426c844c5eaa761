/* tune.c: measures plans on a GPU, and fits to their times the calibration constants with which sgemm_select()
   estimates.

     tune measure FILE.csv [SHAPES.csv]   times plans of every compiled variant on this GPU, for built-in shapes or
                                          those of a file with the columns name,m,n,k,batch,op; appends the times to
                                          FILE.csv. Leaves out shapes that its memory does not hold, with a line on
                                          stderr
     tune check FILE.csv...               prints how much slower the plans with the least estimated time are than the
                                          fastest measured plans; needs no GPU
     tune fit FILE.csv...                 prints the constants with which the selection loses least on these files, to
                                          replace the text between BEGIN calibration and END calibration in
                                          sgemm/select/calibration_h200.h, and checks them; needs no GPU

   Columns of the times: m,n,k,batch,op,variant,cluster_k,split_k,stream_k,serial_k,microseconds, and, in the files that
   `random_calls measure --plans` writes, lda,ldb,ldc,beta. */
#include "sgemm.h"
#include "tools/gpus.h"
#include "tools/machine.h"
#include "tools/numbers.h"
#include "tools/plans.h"
#include "tools/shapes.h"

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
    qsort(sample, SAMPLES, sizeof *sample, numbers_compare);
    us = sample[SAMPLES / 2];
    *best = us < *best ? us : *best;
  }
  if (us <= SLOWEST * *best)
    fprintf(b->out, "%lld,%lld,%lld,%lld,%s,%s,%d,%d,%d,%d,%.3f\n", (long long)p->m, (long long)p->n, (long long)p->k,
            (long long)p->batch, op, sgemm_variant_get(plan->variant)->name, plan->cluster_k, plan->split_k,
            plan->stream_k, plan->serial_k, us);
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
  if (m * k * batch > OPERAND_FLOATS || k * n * batch > OPERAND_FLOATS || m * n * batch > RESULT_FLOATS) {
    fprintf(stderr,
            "tune: left out, A or B has more than %d floats, or C more than %d: %lld x %lld x %lld, batch %lld\n",
            OPERAND_FLOATS, RESULT_FLOATS, (long long)m, (long long)n, (long long)k, (long long)batch);
    return 0;
  }
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

/* shapes: count = 0 stands for the built-in ones. */
static int measure(const char *path, const problem *shapes, size_t count) {
  bench b;
  size_t i;
  int status = 0;
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
  fprintf(b.out, "m,n,k,batch,op,variant,cluster_k,split_k,stream_k,serial_k,microseconds\n");
  if (count == 0)
    status = measure_all(&b);
  for (i = 0; i < count && status == 0; i++)
    status = measure_shape(&b, shapes[i].m, shapes[i].n, shapes[i].k, shapes[i].batch, shapes[i].op);
  return fclose(b.out) != 0 ? fail(path, "cannot be written") : status;
}

#else

static int measure(const char *path, const problem *shapes, size_t count) {
  (void)path, (void)shapes, (void)count;
  return fail("measure", "needs a GPU");
}

#endif

/* Times the shapes of a file, or the built-in ones for NULL. */
static int measure_file(const char *path, const char *file) {
  static problem shapes[SHAPES_MOST];
  char where[SHAPES_WHERE];
  size_t count = 0;
  const char *wrong = file == NULL ? NULL : shapes_read(shapes, &count, file, where);
  return wrong != NULL ? fail(where, wrong) : measure(path, shapes, count);
}

/* The properties of the GPU, or, without one, of the H200 on which the committed times were measured. */
static sgemm_device tuned_device(void) {
#define DEVICE(name, device, arch) GPU_DEVICE device,
  static const sgemm_device gpus[] = {GPU_LIST(DEVICE)};
#undef DEVICE
  sgemm_device d;
#if defined(MACHINE_CUDA) && MACHINE_CUDA
  if (sgemm_device_query(-1, &d) == SGEMM_SUCCESS)
    return d;
#endif
  d = gpus[0];
  d.has_sm90a_code = 1;
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
    c.variants[v] = *sgemm__calibration_of((sgemm_variant)v);
  return c;
}

typedef struct sample {
  sgemm_params p;
  sgemm_plan plan;
  double us, estimated; /* microseconds */
  double slower[2];     /* log of the time over that of the fastest plan, of all [0], or without workspace [1] */
  int without;          /* 1: the plan needs no workspace */
  int shape;            /* number of the shape; samples of one shape follow each other */
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

/* Parses a line of times. Returns 0 if it is none, or if its variant is unknown. */
static int parse_sample(sample *t, const char *line) {
  char name[64], op[3];
  long long m, n, k, batch, lda, ldb, ldc;
  sgemm__args args;
  float beta;
  int cluster_k, split_k, stream_k, serial_k, variant;
  const int count = sscanf(line, "%lld,%lld,%lld,%lld,%2[NT],%63[^,],%d,%d,%d,%d,%lf,%lld,%lld,%lld,%f", &m, &n, &k,
                           &batch, op, name, &cluster_k, &split_k, &stream_k, &serial_k, &t->us, &lda, &ldb, &ldc,
                           &beta);
  variant = count == 11 || count == 15 ? variant_named(name) : SGEMM_VARIANT_COUNT;
  if (variant == SGEMM_VARIANT_COUNT)
    return 0;
  t->p = sgemm_params_init(op[0] == 'T' ? SGEMM_T : SGEMM_N, op[1] == 'T' ? SGEMM_T : SGEMM_N, m, n, k);
  t->p.batch = batch;
  if (count == 15) {
    t->p.lda = lda;
    t->p.ldb = ldb;
    t->p.ldc = ldc;
    t->p.beta = beta;
    t->p.stride_a = (t->p.op_a == SGEMM_N ? m : k) * lda;
    t->p.stride_b = (t->p.op_b == SGEMM_N ? k : n) * ldb;
    t->p.stride_c = m * ldc;
  }
  t->plan = sgemm__plain_plan((sgemm_variant)variant);
  t->plan.cluster_k = cluster_k;
  t->plan.split_k = split_k;
  t->plan.stream_k = stream_k;
  t->plan.serial_k = serial_k;
  args = sgemm__args_of(&t->p);
  sgemm__decide_repack(&t->plan, &args, INT64_MAX);
  t->without = sgemm_plan_workspace(&t->plan, &t->p) == 0;
  return 1;
}

static int same_shape(const sgemm_params *a, const sgemm_params *b) {
  return a->m == b->m && a->n == b->n && a->k == b->k && a->batch == b->batch && a->op_a == b->op_a &&
         a->op_b == b->op_b && a->lda == b->lda && a->ldb == b->ldb && a->ldc == b->ldc && a->beta == b->beta;
}

/* Adds a sample. 0 is success. */
static int add_sample(samples *s, const sample *t) {
  if (s->count == s->capacity) {
    s->capacity = 2 * s->capacity + 1024;
    s->all = (sample *)realloc(s->all, (size_t)s->capacity * sizeof *s->all);
    if (s->all == NULL)
      return fail("the times", "too many for the memory");
  }
  s->all[s->count] = *t;
  s->all[s->count].shape = s->count == 0 ? 0 : s->all[s->count - 1].shape + !same_shape(&t->p, &s->all[s->count - 1].p);
  s->count++;
  return 0;
}

/* One past the last sample of the shape that begins at `first`. */
static int shape_end(const samples *s, int first) {
  int end = first;
  while (end < s->count && s->all[end].shape == s->all[first].shape)
    end++;
  return end;
}

/* Reads the times of files. Skips variants that the table no longer has. */
static int read_samples(samples *s, char *const *paths, int count) {
  char line[256];
  int i, first, status = 0;
  sample t;
  for (i = 0; i < count && status == 0; i++) {
    FILE *f = fopen(paths[i], "r");
    if (f == NULL)
      return fail(paths[i], "cannot be read");
    while (status == 0 && fgets(line, sizeof line, f) != NULL)
      if (parse_sample(&t, line))
        status = add_sample(s, &t);
    fclose(f);
  }
  if (status == 0 && s->count == 0)
    return fail(paths[0], "no times of variants that the table has");
  for (first = 0; first < s->count; first = shape_end(s, first)) {
    const int end = shape_end(s, first);
    double fastest[2] = {1e30, 1e30};
    for (i = first; i < end; i++) {
      fastest[0] = fmin(fastest[0], s->all[i].us);
      if (s->all[i].without)
        fastest[1] = fmin(fastest[1], s->all[i].us);
    }
    for (i = first; i < end; i++) {
      s->all[i].slower[0] = log(s->all[i].us / fastest[0]);
      s->all[i].slower[1] = log(s->all[i].us / fastest[1]);
    }
  }
  return status;
}

/* The estimated time of a sample in microseconds. */
static double estimate(const sample *t, const sgemm_device *device, const calibration *c) {
  const sgemm__problem q = sgemm__problem_of(&t->p, device, &c->common);
  const sgemm__candidate r = sgemm__candidate_of(t->plan.variant, &c->variants[t->plan.variant], &q, &c->common);
  return sgemm__cost(&t->plan, &r, &q, &c->common) / device->clock_mhz;
}

/* Estimates the samples of one variant, or all samples for -1. */
static void estimate_all(samples *s, const calibration *c, int variant) {
  int i;
  for (i = 0; i < s->count; i++)
    if (variant < 0 || (int)s->all[i].plan.variant == variant)
      s->all[i].estimated = estimate(&s->all[i], &s->device, c);
}

/* The root mean square of log(estimated / measured time). The fastest plans matter most: a plan that takes twice the
   time of the fastest has an eighth of its weight. */
static double misfit(const samples *s) {
  double sum = 0.0, weights = 0.0;
  int i;
  for (i = 0; i < s->count; i++) {
    const double off = log(s->all[i].estimated / s->all[i].us), weight = exp(-3.0 * s->all[i].slower[0]);
    sum += weight * off * off;
    weights += weight;
  }
  return sqrt(sum / weights);
}

/* The mean over the shapes of log(time / fastest time) of the selected plan, with workspace and without. A selection of
   the lowest estimate would not change with small changes of the constants. So each plan is selected with a probability
   proportional to (1 / estimated time)^(1 / 0.03). */
static double expected_regret(const samples *s) {
  double sum = 0.0;
  int i, first, without, selections = 0;
  for (first = 0; first < s->count; first = shape_end(s, first))
    for (without = 0; without < 2; without++) {
      const int end = shape_end(s, first);
      double lowest = 1e30, chances = 0.0, slower = 0.0;
      for (i = first; i < end; i++)
        if (!without || s->all[i].without)
          lowest = fmin(lowest, s->all[i].estimated);
      for (i = first; i < end; i++)
        if ((!without || s->all[i].without) && s->all[i].estimated < 1.5 * lowest) {
          const double chance = pow(lowest / s->all[i].estimated, 1.0 / 0.03);
          chances += chance;
          slower += chance * s->all[i].slower[without];
        }
      if (chances > 0.0) {
        sum += slower / chances;
        selections++;
      }
    }
  return sum / selections;
}

/* What the fit minimizes. The misfit keeps the estimates near the times, so that they hold for other shapes too. */
static double loss(samples *s, const calibration *c, int variant) {
  estimate_all(s, c, variant);
  return expected_regret(s) + 2.0 * misfit(s);
}

/* Multiplies one constant by 1 + step, or divides it, as long as the loss falls and the constant is from `least` to
   `most`.
   *now: the loss. */
static void improve(samples *s, const calibration *c, double *constant, double least, double most, int variant,
                    double step, double *now) {
  int way, moves;
  for (way = 0; way < 2; way++)
    for (moves = 0; moves < 4; moves++) {
      const double before = *constant;
      double then;
      *constant *= way ? 1.0 / (1.0 + step) : 1.0 + step;
      then = *constant < least || *constant > most ? *now : loss(s, c, variant);
      if (then >= *now) {
        *constant = before;
        estimate_all(s, c, variant);
        break;
      }
      *now = then;
    }
}

/* Prints a plan of the report with its times. */
static void print_sample(const sample *t, FILE *out) {
  fprintf(out, " %s cluster_k %d split_k %d stream_k %d serial_k %d %.1f us (estimated %.1f)\n",
          sgemm_variant_get(t->plan.variant)->name, t->plan.cluster_k, t->plan.split_k, t->plan.stream_k,
          t->plan.serial_k, t->us, t->estimated);
}

/* The selected sample of a shape from `first` on: that with the lowest estimate, with workspace or without. -1: there
   is none. */
static int selected(const samples *s, int first, int without) {
  const int end = shape_end(s, first);
  int i, best = -1;
  for (i = first; i < end; i++)
    if ((!without || s->all[i].without) && (best < 0 || s->all[i].estimated < s->all[best].estimated))
      best = i;
  return best;
}

/* Prints how much slower the plans with the lowest estimates are than the fastest measured plans. `out`: the output of
   `tune fit` are the constants. */
static void report(samples *s, const calibration *c, FILE *out) {
  int without, first, i;
  estimate_all(s, c, -1);
  for (without = 0; without < 2; without++) {
    double log_sum = 0.0, worst = 0.0;
    int shapes = 0, worst_at = 0, far = 0;
    for (first = 0; first < s->count; first = shape_end(s, first)) {
      i = selected(s, first, without);
      if (i < 0)
        continue;
      shapes++;
      log_sum += s->all[i].slower[without];
      far += s->all[i].slower[without] > log(1.1);
      if (s->all[i].slower[without] > worst) {
        worst = s->all[i].slower[without];
        worst_at = i;
      }
    }
    fprintf(
        out,
        "tune: %s workspace, %d shapes: the plans chosen take %.2f %% longer than the fastest, %.1f %% of them more "
        "than 10 %% longer, at most %.0f %%:",
        without ? "without" : "with", shapes, 100.0 * (exp(log_sum / shapes) - 1.0), 100.0 * far / shapes,
        100.0 * (exp(worst) - 1.0));
    fprintf(out, " %lld x %lld x %lld,", (long long)s->all[worst_at].p.m, (long long)s->all[worst_at].p.n,
            (long long)s->all[worst_at].p.k);
    print_sample(&s->all[worst_at], out);
  }
  fprintf(out, "tune: %d times, misfit %.1f %%\n", s->count, 100.0 * misfit(s));
}

static int check(char *const *paths, int count) {
  samples s = {0};
  const calibration c = h200();
  const int status = read_samples(&s, paths, count);
  s.device = tuned_device();
  if (status == 0)
    report(&s, &c, stdout);
  free(s.all);
  return fflush(stdout) != 0 ? fail("stdout", "cannot be written") : status;
}

/* The constants that all variants share, in the order of the struct. */
typedef struct constant {
  const char *name, *format;
  double *value;
  int fitted; /* 0: the value is from other measurements */
} constant;

enum { CONSTANTS = 22 };
static void list_constants(sgemm__calibration *c, constant list[CONSTANTS]) {
  const constant all[CONSTANTS] = {{"launch", "%.0f", &c->launch, 1},
                                   {"persistent", "%.0f", &c->persistent, 1},
                                   {"cluster", "%.0f", &c->cluster, 1},
                                   {"cluster_block", "%.0f", &c->cluster_block, 1},
                                   {"cluster_result", "%.3f", &c->cluster_result, 1},
                                   {"split_k", "%.0f", &c->split_k, 1},
                                   {"partial_bytes", "%.1f", &c->partial_bytes, 1},
                                   {"stream_k", "%.0f", &c->stream_k, 1},
                                   {"stream_bytes", "%.1f", &c->stream_bytes, 1},
                                   {"split_wait", "%.0f", &c->split_wait, 1},
                                   {"serial", "%.0f", &c->serial, 1},
                                   {"pack", "%.0f", &c->pack, 1},
                                   {"apply", "%.0f", &c->apply, 0},
                                   {"bandwidth_share", "%.3f", &c->bandwidth_share, 1},
                                   {"read_c", "%.0f", &c->read_c, 1},
                                   {"read_ahead", "%.0f", &c->read_ahead, 1},
                                   {"read_tma", "%.0f", &c->read_tma, 1},
                                   {"read_bytes", "%.1f", &c->read_bytes, 1},
                                   {"read_bytes_tma", "%.1f", &c->read_bytes_tma, 1},
                                   {"scattered_c", "%.1f", &c->scattered_c, 1},
                                   {"narrow_row", "%.1f", &c->narrow_row, 1},
                                   {"lost_reuse", "%g", &c->lost_reuse, 0}};
  memcpy(list, all, sizeof all);
}

/* A constant of a variant. The fit keeps it between `least` and `most`. inverse: 1 if its column has 1 / value. */
typedef struct own_constant {
  double *value, least, most;
  int inverse;
} own_constant;

/* The constants of a variant, in the order of its row. */
enum { OWN_FACTORS = 6, OWN_CONSTANTS = OWN_FACTORS + 4 * (SGEMM__OPERAND_STATES - 1) };
static void list_own(sgemm__variant_calibration *c, own_constant list[OWN_CONSTANTS]) {
  const double peak_rate = 126.0; /* FMAs in a clock of an SM; all 128 lanes are never busy in all clocks */
  const own_constant first[OWN_FACTORS] = {{&c->fma_clocks, 1.0 / peak_rate, 1e9, 1},
                                           {&c->wave, 0.0, 1e9, 0},
                                           {&c->step, 0.0, 1e9, 0},
                                           {&c->block, 0.0, 1e9, 0},
                                           {&c->unaligned_c, 0.0, 1e9, 0},
                                           {&c->byte_clocks, 1.0 / 400.0, 1e9, 1}};
  int i;
  memcpy(list, first, sizeof first);
  for (i = 0; i < OWN_CONSTANTS - OWN_FACTORS; i++) {
    double *const factors[] = {c->fma_a, c->fma_b, c->load_a, c->load_b};
    const int states = SGEMM__OPERAND_STATES - 1;
    const own_constant factor = {&factors[i / states][1 + i % states], 0.0, 9.9, 0};
    list[OWN_FACTORS + i] = factor;
  }
}

static int has_samples(const samples *s, sgemm_variant variant) {
  int i;
  for (i = 0; i < s->count; i++)
    if (s->all[i].plan.variant == variant)
      return 1;
  return 0;
}

/* 1 if a variant gets an entry in the calibration: it has samples, or an entry so far. */
static int has_entry(const samples *s, sgemm_variant variant) {
#define ESTIMATED(name, like)                                                                                          \
  if (variant == SGEMM_##name)                                                                                         \
    return has_samples(s, variant);
  SGEMM_ESTIMATED(ESTIMATED)
#undef ESTIMATED
  (void)s, (void)variant;
  return 1;
}

/* Prints the text between BEGIN calibration and END calibration. A variant with an entry must not be in
   SGEMM_ESTIMATED. */
static void print_calibration(const samples *s, calibration *c) {
  constant list[CONSTANTS];
  char text[256], name[64];
  int i, last = -1, v;
  list_constants(&c->common, list);
  printf("/* BEGIN calibration */\nstatic const sgemm__calibration sgemm__h200 = {\n");
  for (i = 0; i < CONSTANTS; i++) {
    int used = snprintf(text, sizeof text, list[i].format, *list[i].value);
    snprintf(text + used, sizeof text - (size_t)used, ",");
    printf("  %-9s /* %s */\n", text, list[i].name);
  }
  printf(
      "};\n\n"
      "/* X([symbol] variant, rate, wave, step, block, unaligned_c, sm_bytes, then factors in percent: of the FMAs by "
      "A\n   and by B, of the loads by A and by B, each for an operand that is K-major, unaligned, both) "
      "*/\n%-119s\\\n",
      "#define SGEMM__H200_VARIANTS(X)");
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
    last = has_entry(s, (sgemm_variant)v) ? v : last;
  for (v = 0; v <= last; v++) {
    own_constant own[OWN_CONSTANTS];
    int used;
    if (!has_entry(s, (sgemm_variant)v))
      continue;
    snprintf(name, sizeof name, "%s,", sgemm_variant_get((sgemm_variant)v)->name + strlen("sgemm_"));
    list_own(&c->variants[v], own);
    used = snprintf(text, sizeof text, "  X(%-30s", name);
    for (i = 0; i < OWN_CONSTANTS; i++) {
      const double value = own[i].inverse ? 1.0 / *own[i].value : *own[i].value;
      used += i >= OWN_FACTORS ? snprintf(text + used, sizeof text - (size_t)used, ",%3.0f", 100.0 * value)
                               : snprintf(text + used, sizeof text - (size_t)used, "%s%5.*f", i > 0 ? "," : "",
                                          value < 99.95 ? 1 : 0, value);
    }
    snprintf(text + used, sizeof text - (size_t)used, ")");
    printf("%-*s%s\n", v < last ? 119 : 0, text, v < last ? "\\" : "");
  }
  printf("/* END calibration */\n");
}

static int fit(char *const *paths, int count) {
  samples s = {0};
  calibration c = h200();
  constant list[CONSTANTS];
  double step, now;
  int i, v, status = read_samples(&s, paths, count);
  s.device = tuned_device();
  list_constants(&c.common, list);
  now = status == 0 ? loss(&s, &c, -1) : 0.0;
  for (step = 0.25; step > 0.01 && status == 0; step *= 0.65) {
    for (i = 0; i < CONSTANTS; i++)
      if (list[i].fitted)
        improve(&s, &c, list[i].value, 0.0, 1e9, -1, step, &now);
    for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
      own_constant own[OWN_CONSTANTS];
      list_own(&c.variants[v], own);
      for (i = 0; i < OWN_CONSTANTS && has_samples(&s, (sgemm_variant)v); i++)
        improve(&s, &c, own[i].value, own[i].least, own[i].most, v, step, &now);
    }
    fprintf(stderr, "\rtune: fitting, step %.3f, loss %.4f  ", step, now);
  }
  if (status != 0)
    return status;
  fprintf(stderr, "\n");
  report(&s, &c, stderr);
  print_calibration(&s, &c);
  free(s.all);
  return fflush(stdout) != 0 ? fail("stdout", "cannot be written") : 0;
}

int main(int argc, char **argv) {
  if ((argc == 3 || argc == 4) && strcmp(argv[1], "measure") == 0)
    return measure_file(argv[2], argc == 4 ? argv[3] : NULL);
  if (argc >= 3 && strcmp(argv[1], "check") == 0)
    return check(argv + 2, argc - 2);
  if (argc >= 3 && strcmp(argv[1], "fit") == 0)
    return fit(argv + 2, argc - 2);
  return fail("usage", "tune measure FILE.csv [SHAPES.csv] | tune check FILE.csv... | tune fit FILE.csv...");
}
