/* ladder: runs every stage at one size, checks each result against a double reference, and prints a table.

   On a GPU: time (median of the repetitions, CUDA events), rate, share of the FMA peak and of cuBLAS SGEMM in the same run.
   On the CPU model: what can be told without a GPU, the loads that a result costs and the intensities that follow. */
#include "examples/machine.h"
#include "sgemm.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(MACHINE_CUDA) && MACHINE_CUDA
#include <cublas_v2.h>
#endif

static const char usage[] = "usage: ladder [--m M] [--n N] [--k K] [--op NN|NT|TN|TT] [--stages a,b,...] [--reps R]\n"
                            "  sizes 1 to 65536; stages by name, in any order; repetitions 1 to 1000\n"
                            "  stages:";

typedef struct options {
  int64_t m, n, k;
  sgemm_op op_a, op_b;
  int stages[SGEMM_STAGE_COUNT]; /* 1: asked for */
  int reps;
} options;

static const char *stage_name(int stage) {
  static const char *const names[] = {
#define NAME(stage, idea) #stage,
      SGEMM_STAGES(NAME)
#undef NAME
  };
  return names[stage];
}

static int fail(const char *what, const char *argument) {
  fprintf(stderr, "ladder: %s: %s\n", what, argument);
  return 2;
}

/* A whole number in [1, most] from text; 0 if it is none. */
static int64_t parse_number(const char *text, int64_t most) {
  char *end;
  long long value;
  errno = 0;
  value = strtoll(text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && value >= 1 && value <= most ? value : 0;
}

static int parse_stages(options *o, const char *list) {
  const char *name = list;
  memset(o->stages, 0, sizeof o->stages);
  for (;;) {
    const size_t length = strcspn(name, ",");
    int stage = 0;
    while (stage < SGEMM_STAGE_COUNT &&
           (strlen(stage_name(stage)) != length || strncmp(stage_name(stage), name, length) != 0))
      stage++;
    if (stage == SGEMM_STAGE_COUNT)
      return 0;
    o->stages[stage] = 1;
    if (name[length] == '\0')
      return 1;
    name += length + 1;
  }
}

/* 0: go on; 1: help was asked for and given; 2: an argument is wrong, and that was said. */
static int parse(options *o, int argc, char **argv) {
  int i, s;
  for (i = 1; i < argc; i += 2) {
    const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(name, "--help") == 0) {
      fputs(usage, stdout);
      for (s = 0; s < SGEMM_STAGE_COUNT; s++)
        printf(" %s", stage_name(s));
      putchar('\n');
      return 1;
    }
    if (strcmp(name, "--m") != 0 && strcmp(name, "--n") != 0 && strcmp(name, "--k") != 0 && strcmp(name, "--op") != 0 &&
        strcmp(name, "--stages") != 0 && strcmp(name, "--reps") != 0)
      return fail("unknown option (--help lists them)", name);
    if (value == NULL)
      return fail("option needs a value", name);
    if (strcmp(name, "--op") == 0) {
      if (strlen(value) != 2 || strspn(value, "NT") != 2)
        return fail("--op is not NN, NT, TN or TT", value);
      o->op_a = value[0] == 'N' ? SGEMM_N : SGEMM_T;
      o->op_b = value[1] == 'N' ? SGEMM_N : SGEMM_T;
    } else if (strcmp(name, "--stages") == 0) {
      if (!parse_stages(o, value))
        return fail("--stages names an unknown stage (--help lists them)", value);
    } else if (strcmp(name, "--reps") == 0) {
      if ((o->reps = (int)parse_number(value, 1000)) == 0)
        return fail("--reps is not a whole number from 1 to 1000", value);
    } else {
      const int64_t size = parse_number(value, 65536);
      if (size == 0)
        return fail("a size is not a whole number from 1 to 65536", value);
      *(name[2] == 'm' ? &o->m : name[2] == 'n' ? &o->n : &o->k) = size;
    }
  }
  return 0;
}

/* ---- Data and reference ------------------------------------------------------------------------------------------ */

/* Uniform in [-1, 1), a multiple of 2^-23: the upper bits of splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static void fill(float *x, size_t count, uint64_t seed) {
  size_t i;
  for (i = 0; i < count; i++) {
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    x[i] = (float)((z ^ (z >> 31)) >> 40) * 0x1p-23f - 1.0f;
  }
}

/* Rows of C that are compared: all of a small C, otherwise 32 spread evenly from the first to the last. */
enum { SAMPLES = 32 };
static int64_t sample_count(const sgemm_params *p) { return p->m < SAMPLES ? p->m : SAMPLES; }
static int64_t sample_row(const sgemm_params *p, int64_t s) {
  return sample_count(p) == 1 ? 0 : s * (p->m - 1) / (sample_count(p) - 1);
}

/* reference[s][j], magnitude[s][j]: row sample_row(s) of op(A) op(B) and of |op(A)| |op(B)| in double. */
static void compute_reference(const sgemm_params *p, const float *A, const float *B, double *reference,
                              double *magnitude) {
  int64_t s, j, k;
  for (s = 0; s < sample_count(p); s++) {
    const int64_t i = sample_row(p, s);
    for (j = 0; j < p->n; j++)
      reference[s * p->n + j] = magnitude[s * p->n + j] = 0.0;
    for (k = 0; k < p->k; k++) {
      const double a = p->op_a == SGEMM_N ? A[i * p->lda + k] : A[k * p->lda + i];
      for (j = 0; j < p->n; j++) {
        const double product = a * (p->op_b == SGEMM_N ? B[k * p->ldb + j] : B[j * p->ldb + k]);
        reference[s * p->n + j] += product;
        magnitude[s * p->n + j] += fabs(product);
      }
    }
  }
}

/* Largest |error| over the sampled rows in units of the bound (K + 2) 2^-24 |A||B| of a dot product of K FMAs and its
   epilogue (Higham, Accuracy and Stability, 3.1): up to 1 is right. NaN anywhere in C, sampled or not, gives NaN. */
static double worst_error(const sgemm_params *p, const float *C, const double *reference, const double *magnitude) {
  double worst = 0.0;
  int64_t i, s, j;
  for (s = 0; s < sample_count(p); s++)
    for (j = 0; j < p->n; j++) {
      const double bound = (double)(p->k + 2) * 0x1p-24 * magnitude[s * p->n + j];
      const double error = fabs(C[sample_row(p, s) * p->ldc + j] - reference[s * p->n + j]);
      const double ratio = error == 0.0 ? 0.0 : error / bound;
      if (!(ratio <= worst))
        worst = ratio;
    }
  for (i = 0; i < p->m; i++)
    for (j = 0; j < p->n; j++)
      if (isnan(C[i * p->ldc + j]))
        return NAN;
  return worst;
}

/* ---- Timing ------------------------------------------------------------------------------------------------------ */

/* One call of what is measured: a variant, or cuBLAS for SGEMM_VARIANT_COUNT. 0 is success. */
typedef struct subject {
  sgemm_variant variant;
  const sgemm_params *p;
  void *cublas;
} subject;

#if defined(MACHINE_CUDA) && MACHINE_CUDA

/* Row-major C = A B is column-major C' = B' A'. */
static int run_cublas(const subject *s) {
  const float one = 1.0f, zero = 0.0f;
  const sgemm_params *p = s->p;
  return cublasSgemm((cublasHandle_t)s->cublas, p->op_b == SGEMM_N ? CUBLAS_OP_N : CUBLAS_OP_T,
                     p->op_a == SGEMM_N ? CUBLAS_OP_N : CUBLAS_OP_T, (int)p->n, (int)p->m, (int)p->k, &one, p->B,
                     (int)p->ldb, p->A, (int)p->lda, &zero, p->C, (int)p->ldc) != CUBLAS_STATUS_SUCCESS;
}

static int run_once(const subject *s) {
  return s->variant == SGEMM_VARIANT_COUNT ? run_cublas(s) : sgemm_run_variant(s->variant, s->p, NULL) != SGEMM_SUCCESS;
}

static int compare_floats(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* Milliseconds of one call: the median of `reps` samples, each of as many calls as take a millisecond; negative on error. */
static double measure(const subject *s, int reps) {
  cudaEvent_t start, stop;
  float samples[1000], once = 0.0f;
  int i, r, calls, bad = 0;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  bad |= run_once(s); /* warm-up: the first launch loads the kernel */
  for (r = -1; r < reps && !bad; r++) {
    calls = once > 0.0f && once < 1.0f ? (int)(1.0f / once) + 1 : 1;
    cudaEventRecord(start, NULL);
    for (i = 0; i < calls; i++)
      bad |= run_once(s);
    cudaEventRecord(stop, NULL);
    bad |= cudaEventSynchronize(stop) != cudaSuccess;
    cudaEventElapsedTime(r < 0 ? &once : &samples[r], start, stop);
    if (r >= 0)
      samples[r] /= (float)calls;
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  if (bad)
    return -1.0;
  qsort(samples, (size_t)reps, sizeof *samples, compare_floats);
  return reps % 2 ? samples[reps / 2] : 0.5 * (samples[reps / 2 - 1] + samples[reps / 2]);
}

/* The context of the run; NULL on error. cuBLAS gets the 32 MiB of workspace that its documentation names for Hopper. */
static void *open_cublas(void) {
  cublasHandle_t handle;
  void *workspace = machine_alloc((size_t)32 << 20);
  if (workspace == NULL || cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS ||
      cublasSetWorkspace(handle, workspace, (size_t)32 << 20) != CUBLAS_STATUS_SUCCESS)
    return NULL;
  return handle;
}

#endif

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* On a terminal only, over itself, and cleared before the row that it announced. */
static void show_progress(int index, int all, const char *name) {
  if (isatty(STDERR_FILENO))
    fprintf(stderr, "\r[%d/%d] %-40s", index, all, name);
}

static void clear_progress(void) {
  if (isatty(STDERR_FILENO))
    fprintf(stderr, "\r%60s\r", "");
}

#if defined(MACHINE_CUDA) && MACHINE_CUDA

/* What every row is measured against. */
typedef struct yardstick {
  sgemm_device device;
  void *cublas;
  double cublas_ms;
} yardstick;

/* Measures cuBLAS and prints the heading; 0 is success. */
static int print_heading(yardstick *y, const sgemm_params *p, int reps) {
  subject s = {SGEMM_VARIANT_COUNT, p, NULL};
  s.cublas = y->cublas = open_cublas();
  if (sgemm_device_query(-1, &y->device) != SGEMM_SUCCESS || y->cublas == NULL)
    return 1;
  y->cublas_ms = measure(&s, reps);
  if (y->cublas_ms < 0.0)
    return 1;
  printf("%s, %d SMs at %d MHz: FMA peak %.1f TFLOP/s, memory %.2f TB/s; cuBLAS SGEMM %.4f ms, %.2f TFLOP/s\n",
         y->device.name, y->device.multiprocessors, y->device.clock_mhz, y->device.peak_gflops * 1e-3,
         y->device.bandwidth_gbs * 1e-3, y->cublas_ms, sgemm_metrics_of(p, y->cublas_ms, 0.0, 0.0).gflops * 1e-3);
  printf("%-38s %10s %9s %7s %9s %8s\n", "variant", "ms", "GFLOP/s", "% peak", "% cuBLAS", "error");
  return 0;
}

/* Measures a variant and prints its row; 0 is success. */
static int print_row(const yardstick *y, sgemm_variant variant, const sgemm_params *p, int reps, double error) {
  const subject s = {variant, p, y->cublas};
  const double ms = measure(&s, reps);
  const sgemm_metrics r = sgemm_metrics_of(p, ms, y->device.peak_gflops, y->cublas_ms);
  clear_progress();
  if (ms < 0.0)
    return 1;
  printf("%-38s %10.4f %9.0f %7.1f %9.1f %8.4f%s\n", sgemm_variant_get(variant)->name, ms, r.gflops, r.percent_of_peak,
         r.percent_of_cublas, error, error <= 1.0 ? "" : " WRONG");
  return 0;
}

#else

typedef struct yardstick {
  double k;
} yardstick;

static int print_heading(yardstick *y, const sgemm_params *p, int reps) {
  (void)reps; /* the model has no clock */
  y->k = (double)p->k;
  printf("%-38s %7s | %-23s | %-23s |\n", "", "", "  toward global memory", "  toward shared memory");
  printf("%-38s %7s | %12s %10s | %12s %10s | %8s\n", "variant", "threads", "loads/result", "FLOP/byte", "loads/result",
         "FLOP/byte", "error");
  return 0;
}

/* Loads are of 4 bytes, of both operands together, for one result of a whole tile; 2 FLOP a step of k. */
static int print_row(const yardstick *y, sgemm_variant variant, const sgemm_params *p, int reps, double error) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const int direct = v->BK == 1; /* from global memory straight to registers */
  const double global = y->k * (direct ? 2.0 : 1.0 / v->BM + 1.0 / v->BN);
  const double shared = y->k * (1.0 / v->TM + 1.0 / v->TN);
  (void)p, (void)reps;
  clear_progress();
  printf("%-38s %7d | %12.1f %10.2f | ", v->name, v->threads, global, 2.0 * y->k / (4.0 * global));
  if (direct)
    printf("%12s %10s", "-", "-");
  else
    printf("%12.1f %10.2f", shared, 2.0 * y->k / (4.0 * shared));
  printf(" | %8.4f%s\n", error, error <= 1.0 ? "" : " WRONG");
  return 0;
}

#endif

static int run_ladder(const options *o) {
  sgemm_params p = sgemm_params_init(o->op_a, o->op_b, o->m, o->n, o->k);
  const size_t a_count = (size_t)p.stride_a, b_count = (size_t)p.stride_b, c_count = (size_t)p.stride_c;
  const size_t s_count = (size_t)(sample_count(&p) * p.n);
  float *A = (float *)malloc(a_count * sizeof *A), *B = (float *)malloc(b_count * sizeof *B);
  float *C = (float *)malloc(c_count * sizeof *C);
  double *reference = (double *)malloc(s_count * sizeof *reference);
  double *magnitude = (double *)malloc(s_count * sizeof *magnitude);
  float *dA = (float *)machine_alloc(a_count * sizeof *A), *dB = (float *)machine_alloc(b_count * sizeof *B);
  float *dC = (float *)machine_alloc(c_count * sizeof *C);
  yardstick y;
  int v, wrong = 0, done = 0, all = 0;
  if (!A || !B || !C || !reference || !magnitude || !dA || !dB || !dC)
    return fail("not enough memory for", "the matrices");
  fill(A, a_count, 1);
  fill(B, b_count, 2);
  compute_reference(&p, A, B, reference, magnitude);
  if (machine_upload(dA, A, a_count * sizeof *A) || machine_upload(dB, B, b_count * sizeof *B))
    return fail("the copy to the machine failed on the", machine_name());
  p.A = dA;
  p.B = dB;
  p.C = dC;
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
    all += o->stages[sgemm_variant_get((sgemm_variant)v)->stage] && sgemm_compiled((sgemm_variant)v);

  printf("C = op(A) op(B), m %lld, n %lld, k %lld, op %c%c, uniform [-1, 1), on the %s\n", (long long)p.m,
         (long long)p.n, (long long)p.k, p.op_a == SGEMM_N ? 'N' : 'T', p.op_b == SGEMM_N ? 'N' : 'T', machine_name());
  if (print_heading(&y, &p, o->reps))
    return fail("the measurement failed", "cuBLAS");
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    const sgemm_variant_info *info = sgemm_variant_get((sgemm_variant)v);
    size_t i;
    double error;
    if (!o->stages[info->stage] || !sgemm_compiled((sgemm_variant)v))
      continue;
    show_progress(++done, all, info->name);
    for (i = 0; i < c_count; i++)
      C[i] = NAN; /* what a kernel does not write is then found */
    if (machine_upload(dC, C, c_count * sizeof *C) || sgemm_run_variant((sgemm_variant)v, &p, NULL) != SGEMM_SUCCESS ||
        machine_download(C, dC, c_count * sizeof *C))
      return fail("the run failed", info->name);
    error = worst_error(&p, C, reference, magnitude);
    wrong += !(error <= 1.0);
    if (print_row(&y, (sgemm_variant)v, &p, o->reps, error))
      return fail("the measurement failed", info->name);
    fflush(stdout);
  }
  printf("%d variants; error: largest |C - double reference| over (k + 2) 2^-24 |A||B| in %lld rows, 1 is the bound; "
         "%d wrong\n",
         done, (long long)sample_count(&p), wrong);
  machine_free(dC);
  machine_free(dB);
  machine_free(dA);
  free(magnitude);
  free(reference);
  free(C);
  free(B);
  free(A);
  return wrong > 0;
}

int main(int argc, char **argv) {
  options o;
  int s, parsed;
  o.m = o.n = o.k = 4096;
#if !(defined(MACHINE_CUDA) && MACHINE_CUDA)
  o.m = 300, o.n = 280, o.k = 260; /* a few seconds of the model, off every tile size */
#endif
  o.op_a = o.op_b = SGEMM_N;
  o.reps = 10;
  for (s = 0; s < SGEMM_STAGE_COUNT; s++)
    o.stages[s] = 1;
  parsed = parse(&o, argc, argv);
  if (parsed != 0)
    return parsed == 1 ? 0 : parsed;
  if (!machine_present())
    return fail("no device to run on", machine_name());
  return run_ladder(&o);
}
