/* tune.c: measures plans on a GPU and fits to their times the figures that sgemm_select() reckons with.

     tune measure FILE.csv [SHAPES.csv]   times the plans of every compiled row on this GPU: of a list of its own, or of a
                                          file with columns name,m,n,k,batch,op; appends to FILE
     tune check FILE.csv                  says how far the plans that sgemm_select() would choose are from the fastest ones
     tune fit FILE.csv                    prints the figures that make the reckoned times fit the measured ones, to stand in
                                          sgemm.h between BEGIN figures and END figures; needs no GPU
                                          Ends with the check */
#include "sgemm.h"
#include "examples/machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what, const char *why) {
  fprintf(stderr, "tune: %s: %s\n", what, why);
  return 2;
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

#if defined(MACHINE_CUDA) && MACHINE_CUDA

#include "examples/matrices.h"

enum { OPERAND_FLOATS = 64 << 20, RESULT_FLOATS = 48 << 20, WORKSPACE_BYTES = 768 << 20 };
enum { SAMPLES = 3 };
#define SAMPLE_MS 0.7
#define SLOWEST 2.5 /* times the fastest plan of a shape so far: what takes longer is not written */

/* The matrices of all shapes lie at the same place. */
typedef struct bench {
  float *A, *B, *C;
  void *workspace;
  cudaStream_t stream;
  cudaEvent_t start, stop;
  sgemm_machine machine;
  FILE *out;
} bench;

/* Mean time of `count` calls behind one another in microseconds; negative for an error. */
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

/* Times a plan unless a first look shows it more than three times slower than *best. */
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
    fprintf(b->out, "%lld,%lld,%lld,%lld,%s,%s,%d,%d,%.3f\n", (long long)p->m, (long long)p->n, (long long)p->k,
            (long long)p->batch, op, sgemm_variant_get(plan->variant)->name, plan->ranks, plan->planes, us);
  return 0;
}

/* Every plan that is not hopeless: up to four rounds of the SMs, in steps of a half to a doubling. */
static int measure_shape(bench *b, int64_t m, int64_t n, int64_t k, int64_t batch, const char *op) {
  static const int PLANES[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
  sgemm_params p = sgemm_params_init(op[0] == 'T' ? SGEMM_T : SGEMM_N, op[1] == 'T' ? SGEMM_T : SGEMM_N, m, n, k);
  double best = 1e9;
  int i, j, status = 0;
  p.A = b->A;
  p.B = b->B;
  p.C = b->C;
  p.batch = batch;
  p.workspace = b->workspace;
  p.workspace_bytes = WORKSPACE_BYTES;
  if (m * k * batch > OPERAND_FLOATS || k * n * batch > OPERAND_FLOATS || m * n * batch > RESULT_FLOATS)
    return 0;
  for (i = SGEMM_VARIANT_COUNT - 1; i >= 0; i--) { /* the fast ones first */
    const sgemm_variant_info *v = sgemm_variant_get((sgemm_variant)i);
    const double tiles = (double)sgemm__ceil_div(m, v->BM) * (double)sgemm__ceil_div(n, v->BN) * (double)batch;
    sgemm_plan plan;
    plan.variant = (sgemm_variant)i;
    for (plan.ranks = 1; plan.ranks <= 8 && sgemm_compiled(plan.variant); plan.ranks *= 2)
      for (j = 0; j < (v->packs ? 3 : (int)(sizeof PLANES / sizeof *PLANES)) && status == 0; j++) {
        const int places = b->machine.multiprocessors * v->resident; /* for blocks, of a row that packs */
        const int even = sgemm__even_shares(tiles / (double)batch, places);
        double blocks;
        plan.planes = !v->packs || j == 0 ? PLANES[j] : j == 1 || even < 2 || even == places ? places : even;
        if (v->packs && j == 2 && plan.planes == places)
          continue;
        blocks = tiles * plan.ranks * plan.planes;
        if (sgemm__possible(&plan, &b->machine) && sgemm_plan_workspace(&plan, &p) <= p.workspace_bytes &&
            (plan.ranks * plan.planes == 1 || (v->packs && plan.planes > 1) ||
             (blocks <= 4.0 * b->machine.multiprocessors && 2 * plan.ranks * plan.planes * v->BK <= k)))
          status = measure_plan(b, &plan, &p, op, &best);
      }
  }
  return status;
}

/* Shapes of all kinds, round and odd; each family's ops take turns. */
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
    fprintf(stderr, "\rtune: deep and shallow, %d  ", i);
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
  if (!machine_present() || sgemm_machine_query(&b.machine) != SGEMM_SUCCESS)
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
  fprintf(b.out, "m,n,k,batch,op,variant,ranks,planes,microseconds\n");
  status = shapes != NULL ? measure_file(&b, shapes) : measure_all(&b);
  return fclose(b.out) != 0 ? fail(path, "cannot be written") : status;
}

#else

static int measure(const char *path, const char *shapes) {
  (void)path, (void)shapes;
  return fail("measure", "needs a GPU");
}

#endif

/* The GPU; where there is none, the one that the committed times were measured on. */
static void this_machine(sgemm_machine *machine) {
  const sgemm_machine h200 = {132, 90, 128, 1980, 4814.0, 227 * 1024, 1, 50 << 20};
#if defined(MACHINE_CUDA) && MACHINE_CUDA
  if (sgemm_machine_query(machine) == SGEMM_SUCCESS)
    return;
#endif
  *machine = h200;
}

/* ---- Fitting ----------------------------------------------------------------------------------------------------- */

typedef struct sample {
  sgemm_params p;
  sgemm_plan plan;
  double us, weight, reckoned;
  int shape; /* samples of one shape have one number and follow each other */
} sample;

typedef struct samples {
  sample *all;
  int count, capacity;
  sgemm_machine machine;
} samples;

static int variant_named(const char *name) {
  int v = 0;
  while (v < SGEMM_VARIANT_COUNT && strcmp(sgemm_variant_get((sgemm_variant)v)->name, name) != 0)
    v++;
  return v;
}

/* A row that the table no longer has is passed over. */
static int read_samples(samples *s, const char *path) {
  char line[256], name[64], op[3];
  long long m, n, k, batch, last[4] = {0, 0, 0, 0};
  char last_op[3] = "";
  int shape = 0, i, first = 0;
  sample t;
  FILE *f = fopen(path, "r");
  if (f == NULL)
    return fail(path, "cannot be read");
  while (fgets(line, sizeof line, f) != NULL) {
    if (sscanf(line, "%lld,%lld,%lld,%lld,%2[NT],%63[^,],%d,%d,%lf", &m, &n, &k, &batch, op, name, &t.plan.ranks,
               &t.plan.planes, &t.us) != 9 ||
        variant_named(name) == SGEMM_VARIANT_COUNT)
      continue;
    t.plan.variant = (sgemm_variant)variant_named(name);
    t.p = sgemm_params_init(op[0] == 'T' ? SGEMM_T : SGEMM_N, op[1] == 'T' ? SGEMM_T : SGEMM_N, m, n, k);
    t.p.batch = batch;
    if (m != last[0] || n != last[1] || k != last[2] || batch != last[3] || strcmp(op, last_op) != 0) {
      shape++;
      last[0] = m, last[1] = n, last[2] = k, last[3] = batch;
      strcpy(last_op, op);
    }
    t.shape = shape;
    if (s->count == s->capacity) {
      s->capacity = 2 * s->capacity + 1024;
      s->all = (sample *)realloc(s->all, (size_t)s->capacity * sizeof *s->all);
      if (s->all == NULL)
        return fail(path, "too long for the memory");
    }
    s->all[s->count++] = t;
  }
  fclose(f);
  /* What counts is the order among the fastest: a plan at twice the least time weighs a quarter. */
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
  return s->count > 0 ? 0 : fail(path, "no times of this table's rows");
}

/* Microseconds. */
static double reckon(const sgemm_plan *plan, const sgemm_params *p, const sgemm_machine *machine,
                     const sgemm__figures *f) {
  const sgemm__problem q = sgemm__problem_of(p, machine, f);
  const sgemm__row r = sgemm__row_of(plan->variant, &q, f);
  return sgemm__cost(plan, &r, &q, f) / machine->clock_mhz;
}

/* Weighted mean square of the logarithm of reckoned over measured time; of one row's samples, or of all for -1. */
static double misfit(const samples *s, const sgemm__figures *f, int row) {
  double sum = 0.0;
  int i;
  for (i = 0; i < s->count; i++)
    if (row < 0 || (int)s->all[i].plan.variant == row) {
      const sample *t = &s->all[i];
      const double off = log(reckon(&t->plan, &t->p, &s->machine, f) / t->us);
      sum += t->weight * off * off;
    }
  return sum / s->count;
}

/* Moves one figure by factors of 1 +- step while that makes the fit better. */
static void improve(const samples *s, sgemm__figures *f, double *figure, int row, double step) {
  double now = misfit(s, f, row);
  int way, moves;
  for (way = 0; way < 2; way++)
    for (moves = 0; moves < 8; moves++) {
      const double before = *figure;
      double then;
      *figure *= way ? 1.0 / (1.0 + step) : 1.0 + step;
      then = misfit(s, f, row);
      if (then >= now) {
        *figure = before;
        break;
      }
      now = then;
    }
}

/* How much slower the plan that the figures would choose is than the fastest measured, over the shapes. */
static void report(samples *s, const sgemm__figures *f) {
  double log_sum = 0.0, worst = 1.0;
  int i, first = 0, shapes = 0, worst_at = 0;
  for (i = 0; i <= s->count; i++)
    if (i == s->count || s->all[i].shape != s->all[first].shape) {
      int j, chosen = first, fastest = first;
      for (j = first; j < i; j++) {
        s->all[j].reckoned = reckon(&s->all[j].plan, &s->all[j].p, &s->machine, f);
        chosen = s->all[j].reckoned < s->all[chosen].reckoned ? j : chosen;
        fastest = s->all[j].us < s->all[fastest].us ? j : fastest;
      }
      log_sum += log(s->all[chosen].us / s->all[fastest].us);
      if (s->all[chosen].us / s->all[fastest].us > worst) {
        worst = s->all[chosen].us / s->all[fastest].us;
        worst_at = chosen;
      }
      if (s->all[chosen].us / s->all[fastest].us > 1.15)
        fprintf(stderr,
                "tune: %lldx%lldx%lld, batch %lld: %s %dx%d %.1f us (reckoned %.1f), fastest %s %dx%d %.1f us (%.1f)\n",
                (long long)s->all[chosen].p.m, (long long)s->all[chosen].p.n, (long long)s->all[chosen].p.k,
                (long long)s->all[chosen].p.batch, sgemm_variant_get(s->all[chosen].plan.variant)->name,
                s->all[chosen].plan.ranks, s->all[chosen].plan.planes, s->all[chosen].us, s->all[chosen].reckoned,
                sgemm_variant_get(s->all[fastest].plan.variant)->name, s->all[fastest].plan.ranks,
                s->all[fastest].plan.planes, s->all[fastest].us, s->all[fastest].reckoned);
      shapes++;
      first = i;
    }
  fprintf(stderr,
          "tune: %d times of %d shapes; misfit %.1f %%; the plans chosen take %.2f %% longer than the fastest, at most "
          "%.0f %% (%lldx%lldx%lld)\n",
          s->count, shapes, 100.0 * sqrt(misfit(s, f, -1)), 100.0 * (exp(log_sum / shapes) - 1.0),
          100.0 * (worst - 1.0), (long long)s->all[worst_at].p.m, (long long)s->all[worst_at].p.n,
          (long long)s->all[worst_at].p.k);
}

static int check(const char *path) {
  samples s = {NULL, 0, 0, {0, 0, 0, 0, 0.0, 0, 0, 0}};
  const int status = read_samples(&s, path);
  this_machine(&s.machine);
  if (status == 0)
    report(&s, &sgemm__measured);
  free(s.all);
  return status;
}

static int fit(const char *path) {
  samples s = {NULL, 0, 0, {0, 0, 0, 0, 0.0, 0, 0, 0}};
  sgemm__figures f = sgemm__measured;
  double *const common[] = {&f.launch, &f.cluster, &f.planes,  &f.plane,  &f.warps, &f.copy,
                            &f.place,  &f.guard,   &f.latency, &f.ingest, &f.memory};
  double step;
  int i, v, status = read_samples(&s, path);
  this_machine(&s.machine);
  for (step = 0.3; step > 0.004 && status == 0; step *= 0.7) {
    for (i = 0; i < (int)(sizeof common / sizeof *common); i++)
      improve(&s, &f, common[i], -1, step);
    for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
      improve(&s, &f, &f.rows[v].rate, v, step);
      improve(&s, &f, &f.rows[v].round, v, step);
    }
    fprintf(stderr, "\rtune: fitting, step %.3f, misfit %.2f %%  ", step, 100.0 * sqrt(misfit(&s, &f, -1)));
  }
  if (status != 0)
    return status;
  fprintf(stderr, "\n");
  report(&s, &f);
  printf("static const sgemm__figures sgemm__measured = {\n    %.0f, %.0f, %.0f, %.0f, %.2f, ", f.launch, f.cluster,
         f.planes, f.plane, f.warps);
  printf("%.4f, %.4f, %.4f, %.0f, %.1f, %.3f, %g,\n    {\n", f.copy, f.place, f.guard, f.latency, f.ingest, f.memory,
         f.drift);
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
    printf("        {%.1f, %.0f}, /* %s */\n", f.rows[v].rate, f.rows[v].round,
           sgemm_variant_get((sgemm_variant)v)->name);
  printf("    }};\n");
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
