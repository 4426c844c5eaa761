/* random_calls.c: sgemm_run() beside cuBLAS on calls that a seed draws, so that nobody chose the shapes.

     random_calls draw [--seed S] [--count N]      prints the calls as CSV; needs no GPU
     random_calls measure FILE.csv [OPTION]...     times the calls on this GPU; appends a line for each to FILE.csv
       --seed S, --count N    the calls to draw: by default seed 1, 2000 calls
       --calls FILE           the calls of a file that draw or measure wrote, in place of drawn ones
       --plans FILE           times every strict plan of each call too, and appends the times to FILE, for `tune fit`
       --mode MODE            strict (default), tensor or tensor_full; without workspace every call runs in strict fp32
       --tune N               runs the fastest of N candidates, by sgemm_tune(), in place of the selected plan; its
                              workspace has no limit
       --stream               calls from a stream, host included; by default calls are captured in graphs, so that no
                              host stands between two calls
     random_calls report FILE.csv                  prints the distribution of cuBLAS's time over this library's, by
                                                   kinds of calls, the slowest calls and the regret; needs no GPU

   cuBLAS runs in strict fp32, with 32 MiB of workspace and its default math mode. The library runs twice, with the
   workspace that sgemm_workspace_query() asks for, in the mode of the option, and without workspace. All calls are
   L2-warm: one set of matrices. Each result is compared with cuBLAS's. The regret is the time of the selected plan over
   that of the fastest strict plan.
     Exit status: 0, 1 if a result is wrong, 2 if the tool could not run. */
#include "sgemm.h"
#include "tools/machine.h"
#include "tools/matrices.h"
#include "tools/numbers.h"
#include "tools/plans.h"

static int fail(const char *what, const char *why) {
  fprintf(stderr, "random_calls: %s: %s\n", what, why);
  return 2;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

enum { CALL_CAPACITY = 100000, OPERAND_FLOATS = 96 << 20 }; /* floats of A, of B and of C, padding included */
#define LARGEST_FLOPS 4e11

/* A random number from 0 to 1, the next of a seed's sequence. */
typedef struct random_numbers {
  uint64_t seed, count;
} random_numbers;

static double draw(random_numbers *r) { return (double)(matrices_bits(r->seed, r->count++) >> 11) * 0x1p-53; }

/* A whole number from `least` to `most` whose logarithm is uniform. */
static int64_t draw_size(random_numbers *r, double least, double most) {
  return (int64_t)exp(log(least) + draw(r) * (log(most + 1.0) - log(least)));
}

/* The matrices of a batch follow each other in memory. */
static void set_strides(sgemm_params *p) {
  p->stride_a = (p->op_a == SGEMM_N ? p->m : p->k) * p->lda;
  p->stride_b = (p->op_b == SGEMM_N ? p->k : p->n) * p->ldb;
  p->stride_c = p->m * p->ldc;
}

/* A call: m and n from 1 to 16384, k from 1 to 65536, their logarithms uniform; each op pair alike; one call in four a
   batch of 2 to 2048; one in two with sizes that are multiples of 4, so that packed rows are aligned to 16 bytes; one
   in four with rows 1 to 32 floats wider than packed ones (a multiple of 4 if the sizes are); one in four with beta
   0.5. Calls that exceed the memory of an operand or 4e11 FLOP are drawn again. */
static sgemm_params draw_call(random_numbers *r) {
  sgemm_params p;
  do {
    const int aligned = draw(r) < 0.5;
    int64_t *lds[3], padding;
    int i;
    p = sgemm_params_init(draw(r) < 0.5 ? SGEMM_N : SGEMM_T, draw(r) < 0.5 ? SGEMM_N : SGEMM_T,
                          draw_size(r, 1.0, 16384.0), draw_size(r, 1.0, 16384.0), draw_size(r, 1.0, 65536.0));
    if (aligned)
      p = sgemm_params_init(p.op_a, p.op_b, sgemm__ceil_div(p.m, 4) * 4, sgemm__ceil_div(p.n, 4) * 4,
                            sgemm__ceil_div(p.k, 4) * 4);
    padding = draw(r) < 0.25 ? draw_size(r, 1.0, 32.0) : 0;
    padding = aligned ? sgemm__ceil_div(padding, 4) * 4 : padding;
    lds[0] = &p.lda;
    lds[1] = &p.ldb;
    lds[2] = &p.ldc;
    for (i = 0; i < 3; i++)
      *lds[i] += padding;
    p.batch = draw(r) < 0.25 ? draw_size(r, 2.0, 2048.0) : 1;
    p.beta = draw(r) < 0.25 ? 0.5f : 0.0f;
    p.mode = SGEMM_STRICT;
    set_strides(&p);
  } while (p.stride_a * p.batch > OPERAND_FLOATS || p.stride_b * p.batch > OPERAND_FLOATS ||
           p.stride_c * p.batch > OPERAND_FLOATS || sgemm_flops(p.m, p.n, p.k) * (double)p.batch > LARGEST_FLOPS);
  return p;
}

static const char call_columns[] = "m,n,k,batch,op,lda,ldb,ldc,beta";

static void print_call(FILE *out, const sgemm_params *p) {
  fprintf(out, "%lld,%lld,%lld,%lld,%c%c,%lld,%lld,%lld,%g", (long long)p->m, (long long)p->n, (long long)p->k,
          (long long)p->batch, p->op_a == SGEMM_N ? 'N' : 'T', p->op_b == SGEMM_N ? 'N' : 'T', (long long)p->lda,
          (long long)p->ldb, (long long)p->ldc, (double)p->beta);
}

/* 1 if the sizes and leading dimensions are in their ranges, and the batch of each operand fits the memory for it. */
static int is_in_range(const sgemm_params *p) {
  const int64_t numbers[] = {p->m, p->n, p->k, p->batch, p->lda, p->ldb, p->ldc};
  unsigned i;
  for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (numbers[i] < 1 || numbers[i] > OPERAND_FLOATS)
      return 0;
  return p->lda >= (p->op_a == SGEMM_N ? p->k : p->m) && p->ldb >= (p->op_b == SGEMM_N ? p->n : p->k) &&
         p->ldc >= p->n && isfinite(p->beta) && p->stride_a <= OPERAND_FLOATS / p->batch &&
         p->stride_b <= OPERAND_FLOATS / p->batch && p->stride_c <= OPERAND_FLOATS / p->batch;
}

/* Parses the first columns of a line. Returns the number of its characters that they take, 0 if the line is no call. */
static int parse_call(const char *line, sgemm_params *p) {
  long long m, n, k, batch, lda, ldb, ldc;
  char op[3];
  int used = 0;
  float beta;
  if (sscanf(line, "%lld,%lld,%lld,%lld,%2[NT],%lld,%lld,%lld,%f%n", &m, &n, &k, &batch, op, &lda, &ldb, &ldc, &beta,
             &used) != 9 ||
      strlen(op) != 2)
    return 0;
  *p = sgemm_params_init(op[0] == 'N' ? SGEMM_N : SGEMM_T, op[1] == 'N' ? SGEMM_N : SGEMM_T, m, n, k);
  p->batch = batch;
  p->lda = lda;
  p->ldb = ldb;
  p->ldc = ldc;
  p->beta = beta;
  p->mode = SGEMM_STRICT;
  set_strides(p);
  return is_in_range(p) ? used : 0;
}

typedef struct call_list {
  sgemm_params *all;
  int count;
} call_list;

static int draw_calls(call_list *calls, uint64_t seed, int count) {
  random_numbers r = {seed, 0};
  int i;
  calls->all = (sgemm_params *)malloc((size_t)count * sizeof *calls->all);
  if (calls->all == NULL)
    return fail("draw", "there is no memory for so many calls");
  for (i = 0; i < count; i++)
    calls->all[i] = draw_call(&r);
  calls->count = count;
  return 0;
}

/* Calls parse(line, all, number) for each line of a file, with numbers from 0 on. Empty lines and headings do not
   count. A file of several parts has several headings. Returns the number of lines, or -1 after an error message: the
   file cannot be read, parse() returned 0, or there are no lines or too many. `what`: the message for such a line. */
static int read_lines(const char *path, int (*parse)(const char *line, void *all, int number), void *all,
                      const char *what) {
  char line[1024], where[300];
  int count = 0, number = 0, bad = 0;
  FILE *f = fopen(path, "r");
  if (f == NULL)
    return fail(path, strerror(errno)), -1;
  while (!bad && fgets(line, sizeof line, f) != NULL) {
    line[strcspn(line, "\r\n")] = '\0';
    number++;
    if (line[0] == '\0' || strncmp(line, "m,n,k", strlen("m,n,k")) == 0)
      continue;
    bad = count == CALL_CAPACITY || !parse(line, all, count);
    count++;
  }
  fclose(f);
  snprintf(where, sizeof where, "%.250s, line %d", path, number);
  if (bad && count > CALL_CAPACITY)
    return fail(where, "more than 100000 calls"), -1;
  if (bad || count == 0)
    return fail(bad ? where : path, what), -1;
  return count;
}

static int parse_listed(const char *line, void *all, int number) {
  return parse_call(line, &((sgemm_params *)all)[number]) > 0;
}

static int read_calls(call_list *calls, const char *path) {
  calls->all = (sgemm_params *)malloc(CALL_CAPACITY * sizeof *calls->all);
  if (calls->all == NULL)
    return fail(path, "there is no memory for it");
  calls->count = read_lines(
      path, parse_listed, calls->all,
      "no call: m, n, k, batch, op, lda, ldb, ldc and beta, each operand of at most 100663296 floats");
  return calls->count > 0 ? 0 : 2;
}

typedef struct options {
  uint64_t seed;
  int count, stream;
  int candidates;            /* 0: not given */
  int mode;                  /* sgemm_mode */
  const char *calls, *plans; /* NULL: not given */
} options;

#if defined(MACHINE_CUDA) && MACHINE_CUDA

#include "tools/cublas_call.h"

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

enum { ROUNDS = 5, CALLS_MOST = 40, CUBLAS_WORKSPACE = 32 << 20, COMPARED = 16 };
enum { SUBJECT_CUBLAS, SUBJECT_RUN, SUBJECT_RUN_WITHOUT, SUBJECT_PLAN, SUBJECTS_TIMED = SUBJECT_PLAN };
#define WORKSPACE_BYTES ((int64_t)3 << 30)
#define SAMPLE_US 400.0 /* a sample has as many calls as take so long, at most CALLS_MOST */
#define HOPELESS 3.0    /* a plan that takes so many times the fastest plan's time is measured no further */

typedef struct bench {
  float *A, *B, *C;
  void *workspace;
  cudaStream_t stream;
  cudaEvent_t start, stop;
  cublasHandle_t cublas;
  sgemm_device device;
  int from_stream; /* 1: calls from a stream, 0: in graphs */
  int mode;        /* sgemm_mode */
  int candidates;  /* of sgemm_tune(); 0: the plans are those that sgemm_run() selects */
  FILE *out, *plans;
} bench;

/* What is timed: cuBLAS, sgemm_run() with p's workspace, or a plan. */
typedef struct subject {
  int kind;
  sgemm_params p;
  sgemm_plan plan;
} subject;

/* One call on the stream; 0 is success. */
static int run(const bench *b, const subject *s) {
  if (s->kind == SUBJECT_CUBLAS)
    return cublas_call(b->cublas, &s->p);
  return (s->kind == SUBJECT_PLAN ? sgemm_run_plan(&s->plan, &s->p, b->stream) : sgemm_run(&s->p, b->stream)) !=
         SGEMM_SUCCESS;
}

/* Calls that are timed together: in a graph, or, for graph = NULL, from the stream. */
typedef struct sample {
  cudaGraphExec_t graph;
  int calls;
} sample;

/* Captures `calls` calls in a graph. */
static int capture(const bench *b, const subject *s, int calls, sample *out) {
  cudaGraph_t graph = NULL;
  int i, bad = cudaStreamBeginCapture(b->stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess;
  out->calls = calls;
  for (i = 0; i < calls && !bad; i++)
    bad = run(b, s);
  bad = cudaStreamEndCapture(b->stream, &graph) != cudaSuccess || bad ||
        cudaGraphInstantiate(&out->graph, graph, 0) != cudaSuccess;
  if (graph != NULL)
    cudaGraphDestroy(graph);
  return bad;
}

/* Microseconds of a call in one sample; negative after an error. */
static double time_sample(const bench *b, const subject *s, const sample *t) {
  float ms = -1.0f;
  int i, bad = cudaEventRecord(b->start, b->stream) != cudaSuccess;
  if (t->graph != NULL)
    bad = bad || cudaGraphLaunch(t->graph, b->stream) != cudaSuccess;
  for (i = 0; t->graph == NULL && i < t->calls && !bad; i++)
    bad = run(b, s);
  bad = bad || cudaEventRecord(b->stop, b->stream) != cudaSuccess || cudaEventSynchronize(b->stop) != cudaSuccess ||
        cudaEventElapsedTime(&ms, b->start, b->stop) != cudaSuccess;
  return bad ? -1.0 : 1e3 * ms / t->calls;
}

/* Prepares the sample of a subject: its number of calls follows from the time of two calls. *us: that time. */
static int open_sample(const bench *b, const subject *s, sample *t, double *us) {
  const sample first = {NULL, 1}, second = {NULL, 2};
  int calls;
  t->graph = NULL;
  if (time_sample(b, s, &first) < 0.0) /* loads the kernel */
    return 1;
  *us = time_sample(b, s, &second);
  calls = *us >= SAMPLE_US ? 1 : *us * CALLS_MOST <= SAMPLE_US ? CALLS_MOST : (int)(SAMPLE_US / *us) + 1;
  t->calls = calls;
  return *us < 0.0 || (!b->from_stream && capture(b, s, calls, t));
}

static void close_sample(sample *t) {
  if (t->graph != NULL)
    cudaGraphExecDestroy(t->graph);
}

/* us[i]: the median microseconds of subject i. The samples of the subjects alternate. 0 is success. */
static int time_subjects(const bench *b, const subject *subjects, int count, double *us) {
  sample samples[SUBJECTS_TIMED];
  double times[SUBJECTS_TIMED][ROUNDS], about;
  int i, round, bad = 0, open;
  for (open = 0; open < count && !bad; open++)
    bad = open_sample(b, &subjects[open], &samples[open], &about);
  for (i = 0; i < count && !bad; i++)
    bad = time_sample(b, &subjects[i], &samples[i]) < 0.0; /* warms up */
  for (round = 0; round < ROUNDS && !bad; round++)
    for (i = 0; i < count && !bad; i++) {
      times[i][round] = time_sample(b, &subjects[i], &samples[i]);
      bad = times[i][round] < 0.0;
    }
  for (i = 0; i < open; i++)
    close_sample(&samples[i]);
  for (i = 0; i < count && !bad; i++) {
    qsort(times[i], ROUNDS, sizeof *times[i], numbers_compare);
    us[i] = times[i][ROUNDS / 2];
  }
  return bad;
}

/* Downloads COMPARED rows of the results of one call on a C whose bytes are 0xff, NaNs, or, if beta is not 0, zeros. */
static int result_of(const bench *b, const subject *s, float *rows) {
  const sgemm_params *p = &s->p;
  int i;
  if (machine_set(p->C, p->beta == 0.0f ? 0xff : 0, sizeof(float) * (size_t)(p->stride_c * p->batch)) != 0 ||
      machine_wait() != 0 || run(b, s) != 0 || machine_wait() != 0)
    return 1;
  for (i = 0; i < COMPARED; i++) {
    const int64_t row = matrices_row(p, COMPARED, i);
    if (machine_download(rows + i * p->n, p->C + row / p->m * p->stride_c + row % p->m * p->ldc,
                         sizeof(float) * (size_t)p->n) != 0)
      return 1;
  }
  return 0;
}

/* 1 if a result of the library differs from cuBLAS's by more than two sums of k rounded products of numbers in [-1, 1)
   can: the error of a sum is far below k 2^-24 times its largest partial sum, which is about sqrt(k). Negative after an
   error of the device. */
static int differs(const bench *b, const subject *subjects, int count) {
  const sgemm_params *p = &subjects[0].p;
  const double bound = 0x1p-24 * (double)p->k * (4.0 + sqrt((double)p->k) / 8.0) + 0x1p-23;
  float *wanted = (float *)malloc(sizeof(float) * COMPARED * (size_t)p->n * 2), *got = wanted + COMPARED * p->n;
  int64_t j;
  int i, wrong = wanted == NULL || result_of(b, &subjects[0], wanted) != 0 ? -1 : 0;
  for (i = 1; i < count && wrong == 0; i++) {
    wrong = result_of(b, &subjects[i], got) != 0 ? -1 : 0;
    for (j = 0; j < COMPARED * p->n && wrong == 0; j++)
      wrong = !(fabs((double)got[j] - wanted[j]) <= bound); /* a NaN is wrong */
  }
  free(wanted);
  return wrong;
}

/* The fastest plan of a call so far. */
typedef struct fastest {
  sgemm_plan plan;
  double us;
} fastest;

static void print_plan(FILE *out, const sgemm_plan *plan) {
  const sgemm_tensor_variant_info *tensor = sgemm_tensor_variant_get(plan->tensor);
  fprintf(out, "%s:%d:%d:%d:%d:%d%d", (tensor != NULL ? tensor->name : sgemm_variant_get(plan->variant)->name) + 6,
          plan->cluster_k, plan->split_k, plan->stream_k, plan->serial_k, plan->repack_a, plan->repack_b);
}

/* Times all plans of a call. with: the fastest of all, without: of those that need no workspace; both hold the selected
   plans before. */
static int time_plans(bench *b, const sgemm_params *p, fastest *with, fastest *without) {
  static sgemm_plan plans[SGEMM_VARIANT_COUNT][PLANS_MOST];
  int v, i;
  for (v = SGEMM_VARIANT_COUNT - 1; v >= 0; v--) {
    const int count = plans_of((sgemm_variant)v, p, &b->device, plans[v]);
    for (i = 0; i < count; i++) {
      const int bare = sgemm_plan_workspace(&plans[v][i], p) == 0;
      subject s = {SUBJECT_PLAN, *p, plans[v][i]};
      double us, times[3];
      sample t;
      int round, bad = open_sample(b, &s, &t, &us);
      for (round = 0; round < 3 && !bad && us < HOPELESS * (bare ? without->us : with->us) + 5.0; round++) {
        times[round] = time_sample(b, &s, &t);
        bad = times[round] < 0.0;
      }
      close_sample(&t);
      if (bad)
        return fail(sgemm_variant_get((sgemm_variant)v)->name, "did not run");
      if (round < 3)
        continue;
      qsort(times, 3, sizeof *times, numbers_compare);
      if (times[1] < with->us)
        *with = (fastest){s.plan, times[1]};
      if (bare && times[1] < without->us)
        *without = (fastest){s.plan, times[1]};
      fprintf(b->plans, "%lld,%lld,%lld,%lld,%c%c,%s,%d,%d,%d,%d,%.3f,%lld,%lld,%lld,%g\n", (long long)p->m,
              (long long)p->n, (long long)p->k, (long long)p->batch, p->op_a == SGEMM_N ? 'N' : 'T',
              p->op_b == SGEMM_N ? 'N' : 'T', sgemm_variant_get((sgemm_variant)v)->name, s.plan.cluster_k,
              s.plan.split_k, s.plan.stream_k, s.plan.serial_k, times[1], (long long)p->lda, (long long)p->ldb,
              (long long)p->ldc, (double)p->beta);
    }
  }
  return 0;
}

/* Sets the workspace and the plan of a subject that is no call of cuBLAS. 0 is success. */
static int set_plan(const bench *b, int64_t bytes, subject *s) {
  const int with = s->kind == SUBJECT_RUN && (bytes > 0 || b->candidates > 0);
  if (with) {
    s->p.workspace = b->workspace;
    s->p.workspace_bytes = bytes < WORKSPACE_BYTES && b->candidates == 0 ? bytes : WORKSPACE_BYTES;
  }
  if (b->candidates == 0) {
    s->plan = sgemm_select(&s->p, SGEMM_STAGE_ANY, &b->device);
    return 0;
  }
  s->kind = SUBJECT_PLAN;
  return sgemm_tune(&s->p, b->candidates, &s->plan, NULL, b->stream) != SGEMM_SUCCESS;
}

/* Times a call and writes its line. *wrong: 1 if a result is. */
static int measure_call(bench *b, sgemm_params p, int *wrong) {
  subject subjects[SUBJECTS_TIMED];
  double us[SUBJECTS_TIMED];
  fastest with, without;
  int64_t bytes;
  int i, differ;
  p.A = b->A;
  p.B = b->B;
  p.C = b->C;
  p.mode = b->mode;
  if (sgemm_workspace_query(&p, &bytes) != SGEMM_SUCCESS)
    return fail("sgemm_workspace_query", "refused a call");
  for (i = 0; i < SUBJECTS_TIMED; i++) {
    subjects[i].kind = i;
    subjects[i].p = p;
    if (i != SUBJECT_CUBLAS && set_plan(b, bytes, &subjects[i]))
      return fail("sgemm_tune", "failed");
  }
  if (time_subjects(b, subjects, SUBJECTS_TIMED, us))
    return fail("a call did not run", machine_error((int)cudaGetLastError()));
  differ = differs(b, subjects, SUBJECTS_TIMED);
  if (differ < 0)
    return fail("a result could not be read", machine_error((int)cudaGetLastError()));
  *wrong |= differ;
  with = (fastest){subjects[SUBJECT_RUN].plan, us[SUBJECT_RUN]};
  without = (fastest){subjects[SUBJECT_RUN_WITHOUT].plan, us[SUBJECT_RUN_WITHOUT]};
  p.workspace = b->workspace;
  p.workspace_bytes = WORKSPACE_BYTES;
  if (b->plans != NULL && time_plans(b, &p, &with, &without))
    return 2;
  print_call(b->out, &p);
  fprintf(b->out, ",%d,%.3f,%.3f,%.3f,%.3f,%.3f,", differ, us[SUBJECT_CUBLAS], us[SUBJECT_RUN], us[SUBJECT_RUN_WITHOUT],
          b->plans != NULL ? with.us : 0.0, b->plans != NULL ? without.us : 0.0);
  print_plan(b->out, &subjects[SUBJECT_RUN].plan);
  fputc(',', b->out);
  print_plan(b->out, &subjects[SUBJECT_RUN_WITHOUT].plan);
  if (b->plans != NULL) {
    fputc(',', b->out);
    print_plan(b->out, &with.plan);
    fputc(',', b->out);
    print_plan(b->out, &without.plan);
  } else {
    fputs(",,", b->out);
  }
  return fputc('\n', b->out) == EOF || fflush(b->out) == EOF ? fail("a line could not be written", strerror(errno)) : 0;
}

/* Opens a file to append to, with its header if it is new. */
static FILE *open_table(const char *path, const char *header) {
  FILE *f = fopen(path, "a");
  if (f != NULL && fseek(f, 0, SEEK_END) == 0 && ftell(f) == 0)
    fprintf(f, "%s\n", header);
  return f;
}

static int measure(const char *path, const call_list *calls, const options *o) {
  const size_t floats = OPERAND_FLOATS;
  char header[256];
  bench b;
  int i, status = 0, wrong = 0;
  memset(&b, 0, sizeof b);
  b.from_stream = o->stream;
  b.mode = o->mode;
  b.candidates = o->candidates;
  if (!machine_present() || sgemm_device_query(-1, &b.device) != SGEMM_SUCCESS)
    return fail("measure", "needs a GPU");
  b.A = (float *)machine_alloc(sizeof(float) * floats);
  b.B = (float *)machine_alloc(sizeof(float) * floats);
  b.C = (float *)machine_alloc(sizeof(float) * floats);
  b.workspace = machine_alloc((size_t)WORKSPACE_BYTES);
  if (!b.A || !b.B || !b.C || !b.workspace || matrices_fill(b.A, floats, floats, 1) != 0 ||
      matrices_fill(b.B, floats, floats, 2) != 0 || machine_wait() != 0 ||
      cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking) != cudaSuccess ||
      cudaEventCreate(&b.start) != cudaSuccess || cudaEventCreate(&b.stop) != cudaSuccess)
    return fail("measure", "the GPU has no memory or stream for it");
  if (cublasCreate(&b.cublas) != CUBLAS_STATUS_SUCCESS ||
      cublasSetStream(b.cublas, b.stream) != CUBLAS_STATUS_SUCCESS ||
      cublasSetWorkspace(b.cublas, machine_alloc(CUBLAS_WORKSPACE), CUBLAS_WORKSPACE) != CUBLAS_STATUS_SUCCESS)
    return fail("measure", "cuBLAS does not start");
  snprintf(header, sizeof header, "%s,wrong,cublas_us,us,us_without,fastest_us,fastest_us_without,plan,plan_without,%s",
           call_columns, "fastest_plan,fastest_plan_without");
  b.out = open_table(path, header);
  b.plans = o->plans == NULL
                ? NULL
                : open_table(
                      o->plans,
                      "m,n,k,batch,op,variant,cluster_k,split_k,stream_k,serial_k,microseconds,lda,ldb,ldc,beta");
  if (b.out == NULL || (o->plans != NULL && b.plans == NULL))
    return fail(b.out == NULL ? path : o->plans, "cannot be written");
  for (i = 0; i < calls->count && status == 0; i++) {
    if (i % 20 == 0)
      fprintf(stderr, "\rrandom_calls: %d of %d  ", i, calls->count);
    status = measure_call(&b, calls->all[i], &wrong);
  }
  fprintf(stderr, "\rrandom_calls: %d of %d\n", i, calls->count);
  if (fclose(b.out) != 0 || (b.plans != NULL && fclose(b.plans) != 0))
    status = fail(path, "cannot be written");
  return status != 0 ? status : wrong;
}

#else

static int measure(const char *path, const call_list *calls, const options *o) {
  (void)path, (void)calls, (void)o;
  return fail("measure", "needs a GPU");
}

#endif

/* ---- The report -------------------------------------------------------------------------------------------------- */

/* A measured call: cuBLAS's time over the library's, and the regret or 0, with workspace [0] and without [1]. */
typedef struct result {
  sgemm_params p;
  int wrong;
  double speedup[2], regret[2];
  char plans[256];
} result;

static int parse_result(const char *line, void *all, int number) {
  result *r = &((result *)all)[number];
  double cublas, us[2], fastest[2];
  const int used = parse_call(line, &r->p);
  if (used == 0 || sscanf(line + used, ",%d,%lf,%lf,%lf,%lf,%lf,%255[^,],", &r->wrong, &cublas, &us[0], &us[1],
                          &fastest[0], &fastest[1], r->plans) != 7)
    return 0;
  r->speedup[0] = r->wrong ? 0.0 : cublas / us[0];
  r->speedup[1] = r->wrong ? 0.0 : cublas / us[1];
  r->regret[0] = fastest[0] > 0.0 ? us[0] / fastest[0] : 0.0;
  r->regret[1] = fastest[1] > 0.0 ? us[1] / fastest[1] : 0.0;
  return 1;
}

/* The kinds of calls of which the report has a line each. */
static int64_t narrow_side(const sgemm_params *p) { return p->m < p->n ? p->m : p->n; }
static int is_aligned(const sgemm_params *p) { return p->lda % 4 == 0 && p->ldb % 4 == 0 && p->ldc % 4 == 0; }
static int kind_all(const sgemm_params *p) { return p != NULL; }
static int kind_aligned(const sgemm_params *p) { return is_aligned(p); }
static int kind_unaligned(const sgemm_params *p) { return !is_aligned(p); }
static int kind_vector(const sgemm_params *p) { return narrow_side(p) <= 2; }
static int kind_narrow(const sgemm_params *p) { return narrow_side(p) > 2 && narrow_side(p) <= 16; }
static int kind_medium(const sgemm_params *p) { return narrow_side(p) > 16 && narrow_side(p) <= 64; }
static int kind_wide(const sgemm_params *p) { return narrow_side(p) > 64 && narrow_side(p) <= 256; }
static int kind_large(const sgemm_params *p) { return narrow_side(p) > 256; }
static int kind_short_k(const sgemm_params *p) { return p->k <= 32; }
static int kind_long_k(const sgemm_params *p) { return p->k > 8192; }
static int kind_batch(const sgemm_params *p) { return p->batch > 1; }
static int kind_beta(const sgemm_params *p) { return p->beta != 0.0f; }

static const struct {
  const char *name;
  int (*has)(const sgemm_params *p);
} kinds[] = {{"all calls", kind_all},
             {"rows aligned to 16 bytes", kind_aligned},
             {"rows not aligned", kind_unaligned},
             {"min(m, n) 1 to 2", kind_vector},
             {"min(m, n) 3 to 16", kind_narrow},
             {"min(m, n) 17 to 64", kind_medium},
             {"min(m, n) 65 to 256", kind_wide},
             {"min(m, n) above 256", kind_large},
             {"k up to 32", kind_short_k},
             {"k above 8192", kind_long_k},
             {"batches", kind_batch},
             {"beta not 0", kind_beta}};

/* The value of `count` ascending numbers that `share` of them do not exceed. */
static double quantile(const double *sorted, int count, double share) { return sorted[(int)(share * (count - 1))]; }

/* The geometric mean of `count` numbers; 0 if one of them is 0. */
static double geometric_mean(const double *numbers, int count) {
  double sum = 0.0;
  int i;
  for (i = 0; i < count; i++)
    sum += log(numbers[i]);
  return exp(sum / count);
}

/* Prints one line: the speed-ups of the calls of one kind. numbers: room for `count`. */
static void report_kind(const result *all, int count, int kind, int without, double *numbers) {
  int i, n = 0, behind = 0, far = 0;
  for (i = 0; i < count; i++)
    if (kinds[kind].has(&all[i].p))
      numbers[n++] = all[i].speedup[without];
  if (n == 0)
    return;
  for (i = 0; i < n; i++) {
    behind += numbers[i] < 0.97;
    far += numbers[i] < 0.80;
  }
  qsort(numbers, (size_t)n, sizeof *numbers, numbers_compare);
  printf("%-26s %6d %7.3f %8.1f %8.1f %7.3f %7.3f\n", kinds[kind].name, n, geometric_mean(numbers, n),
         100.0 * behind / n, 100.0 * far / n, quantile(numbers, n, 0.05), numbers[0]);
}

/* Prints the regret of the selection over the calls whose plans were timed. numbers: room for `count`. */
static void report_regret(const result *all, int count, int without, double *numbers) {
  double sum = 0.0;
  int i, n = 0;
  for (i = 0; i < count; i++)
    if (all[i].regret[without] > 0.0) {
      numbers[n++] = all[i].regret[without];
      sum += all[i].regret[without];
    }
  if (n == 0) {
    printf("regret: not measured, see --plans\n");
    return;
  }
  qsort(numbers, (size_t)n, sizeof *numbers, numbers_compare);
  printf("regret of %d calls: mean %.3f, 95th percentile %.3f, worst %.3f\n", n, sum / n, quantile(numbers, n, 0.95),
         numbers[n - 1]);
}

static int sorted_without; /* qsort() has no argument for it */
static int by_speedup(const void *a, const void *b) {
  return numbers_compare(&((const result *)a)->speedup[sorted_without], &((const result *)b)->speedup[sorted_without]);
}

/* Prints the report of `count` measured calls. Returns 1 if a result is wrong. numbers: room for `count`. */
static int print_report(result *all, int count, double *numbers) {
  enum { WORST = 12 };
  int wrong = 0, i, kind, without;
  for (i = 0; i < count; i++)
    wrong += all[i].wrong;
  for (without = 0; without < 2; without++) {
    printf("%s workspace: cuBLAS's time over this library's\n%-26s %6s %7s %8s %8s %7s %7s\n",
           without ? "without" : "with", "", "calls", "mean", "% < 0.97", "% < 0.80", "5th pc.", "least");
    for (kind = 0; kind < (int)(sizeof kinds / sizeof *kinds); kind++)
      report_kind(all, count, kind, without, numbers);
    report_regret(all, count, without, numbers);
    sorted_without = without;
    qsort(all, (size_t)count, sizeof *all, by_speedup);
    for (i = 0; i < WORST && i < count; i++) {
      printf("%.3f  ", all[i].speedup[without]);
      print_call(stdout, &all[i].p);
      if (all[i].regret[without] > 0.0)
        printf("  regret %.2f", all[i].regret[without]);
      putchar('\n');
    }
    printf("\n");
  }
  printf("%d of %d results wrong\n", wrong, count);
  return wrong > 0;
}

static int report(const char *path) {
  result *all = (result *)malloc(CALL_CAPACITY * sizeof *all);
  double *numbers = (double *)malloc(CALL_CAPACITY * sizeof *numbers);
  int count, status = 2;
  if (all == NULL || numbers == NULL)
    fail(path, "there is no memory for it");
  else if ((count = read_lines(path, parse_result, all, "no measured calls")) > 0)
    status = print_report(all, count, numbers);
  free(all);
  free(numbers);
  return status;
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

/* The mode of a name. Returns 0 if there is none. */
static int parse_mode(const char *name, int *mode) {
  static const char *const names[] = {"strict", "tensor", "tensor_full"};
  for (*mode = SGEMM_STRICT; *mode <= SGEMM_TENSOR_FULL; (*mode)++)
    if (strcmp(names[*mode], name) == 0)
      return 1;
  return 0;
}

/* Parses the options from argv[first] on. only_draw: 1 if options of measuring are refused. 0 is success. */
static int parse_options(int argc, char **argv, int first, int only_draw, options *o) {
  long long number;
  int i;
  *o = (options){1, 2000, 0, 0, SGEMM_STRICT, NULL, NULL};
  for (i = first; i < argc; i++) {
    const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(name, "--stream") == 0 && !only_draw) {
      o->stream = 1;
      continue;
    }
    if (strcmp(name, "--seed") != 0 && strcmp(name, "--count") != 0 &&
        (only_draw || (strcmp(name, "--calls") != 0 && strcmp(name, "--plans") != 0 && strcmp(name, "--tune") != 0 &&
                       strcmp(name, "--mode") != 0)))
      return fail(name, "unknown option");
    if (value == NULL)
      return fail(name, "the option needs a value");
    i++;
    if (strcmp(name, "--calls") == 0) {
      o->calls = value;
    } else if (strcmp(name, "--plans") == 0) {
      o->plans = value;
    } else if (strcmp(name, "--mode") == 0) {
      if (!parse_mode(value, &o->mode))
        return fail("--mode is not strict, tensor or tensor_full", value);
    } else if (strcmp(name, "--tune") == 0) {
      if (!numbers_parse(value, 1, SGEMM_MAX_CANDIDATES, &number))
        return fail("--tune is not a whole number from 1 to 64", value);
      o->candidates = (int)number;
    } else if (strcmp(name, "--seed") == 0) {
      if (!numbers_parse(value, 0, INT64_MAX, &number))
        return fail("--seed is not a whole number of at least 0", value);
      o->seed = (uint64_t)number;
    } else {
      if (!numbers_parse(value, 1, CALL_CAPACITY, &number))
        return fail("--count is not a whole number from 1 to 100000", value);
      o->count = (int)number;
    }
  }
  return 0;
}

int main(int argc, char **argv) {
  const char *verb = argc > 1 ? argv[1] : "";
  call_list calls = {NULL, 0};
  options o;
  int status, i;
  if (strcmp(verb, "report") == 0 && argc == 3)
    return report(argv[2]);
  if (strcmp(verb, "draw") == 0) {
    status = parse_options(argc, argv, 2, 1, &o);
    status = status != 0 ? status : draw_calls(&calls, o.seed, o.count);
    if (status != 0)
      return status;
    printf("%s\n", call_columns);
    for (i = 0; i < calls.count; i++) {
      print_call(stdout, &calls.all[i]);
      putchar('\n');
    }
    free(calls.all);
    return fflush(stdout) == 0 ? 0 : fail("standard output", strerror(errno));
  }
  if (strcmp(verb, "measure") == 0 && argc > 2) {
    status = parse_options(argc, argv, 3, 0, &o);
    if (status == 0)
      status = o.calls != NULL ? read_calls(&calls, o.calls) : draw_calls(&calls, o.seed, o.count);
    status = status != 0 ? status : measure(argv[2], &calls, &o);
    free(calls.all);
    return status;
  }
  return fail("usage", "random_calls draw [OPTION]... | measure FILE.csv [OPTION]... | report FILE.csv");
}
