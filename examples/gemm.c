/* gemm.c: multiplies the matrices of two .npy files; gemm --help lists the options.

   A matrix in Fortran order is the transpose of a matrix in C order, so no element has to move. An operand in Fortran
   order changes its op. If C0 is in Fortran order, the call is column-major and the result's file is in Fortran order.
   A batch in Fortran order has matrices interleaved element by element, and is copied to C order first. */
#define _XOPEN_SOURCE 700 /* mkstemp(), realpath(), fsync(), sigaction() */

#include <cuda_runtime.h>

#include "examples/npy.h"
#include "sgemm.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Failure: one line on stderr, exit status 2, no temporary file ----------------------------------------------- */

/* The temporary file's name until the output is complete; empty if there is none. */
static char temporary[PATH_MAX];

static _Noreturn void fail(const char *format, ...) {
  char line[3 * PATH_MAX], *c;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  for (c = line; *c != '\0'; c++)
    if (iscntrl((unsigned char)*c)) /* a file's name may hold a newline */
      *c = '?';
  fprintf(stderr, "gemm: %s\n", line);
  if (temporary[0] != '\0')
    unlink(temporary);
  exit(2);
}

static void interrupted(int number) {
  unlink(temporary);
  raise(number); /* takes its default effect when the handler returns */
}

static void watch_signals(void) {
  static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};
  struct sigaction action;
  size_t i;
  for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    sigaction(numbers[i], NULL, &action);
    if (action.sa_handler == SIG_IGN) /* as nohup sets it */
      continue;
    action.sa_handler = interrupted;
    action.sa_flags = SA_RESETHAND;
    sigaction(numbers[i], &action, NULL);
  }
  signal(SIGXFSZ, SIG_IGN); /* write() then reports that the file is too large */
}

/* ---- Options ----------------------------------------------------------------------------------------------------- */

typedef struct options {
  const char *a, *b, *c, *out; /* files; c: NULL if there is none */
  int trans_a, trans_b;
  float alpha, beta;
  sgemm_stage stage; /* SGEMM_STAGE_ANY: all */
} options;

static const struct {
  const char *name, *idea;
} stages[] = {
#define STAGE(stage, cluster_split_k, tma, idea) {#stage, idea},
    SGEMM_STAGES(STAGE)
#undef STAGE
};

/* The name of the device that multiplies, for messages. */
static const char *device_name(void) {
  static sgemm_device device;
  return sgemm_device_query(-1, &device) == SGEMM_SUCCESS ? device.name : "GPU";
}

static _Noreturn void help(void) {
  int i;
  printf("usage: gemm A.npy B.npy -o C.npy [option ...]\n"
         "\n"
         "C = alpha * op(A) * op(B) + beta * C0 in float32, on the %s.\n"
         "\n"
         "A, B and C0 are float32, or float64, which is rounded to float32, in C or Fortran order. A 3-D array is a\n"
         "batch of matrices. Two batches are multiplied pair by pair. A matrix is multiplied with each matrix of a\n"
         "batch. C is float32 in C order, or in Fortran order if C0 is a matrix in Fortran order. The file of C is\n"
         "complete or does not exist, unless it is a pipe or a device. The exit status is 0, or 2 with one line on\n"
         "standard error.\n"
         "\n"
         "  -o C.npy      the file of the result; -o - for standard output\n"
         "  --op XY       op(A) and op(B), N for the matrix itself, T for its transpose: NN (default), NT, TN, TT\n"
         "  --alpha X     default 1\n"
         "  --beta Y      default 0; any other value needs --c\n"
         "  --c C0.npy    the matrix C0, needs --beta\n"
         "  --stage NAME  use only variants of one stage:\n",
         device_name());
  for (i = 0; i < SGEMM_STAGE_COUNT; i++)
    printf("    %-15s %s\n", stages[i].name, stages[i].idea);
  exit(fflush(stdout) == 0 ? 0 : 2);
}

static float number(const char *option, const char *text) {
  char *end;
  const float x = strtof(text, &end);
  if (end == text || *end != '\0' || isspace((unsigned char)*text) || !isfinite(x))
    fail("%s %s: not a finite number of float32", option, text);
  return x;
}

static int transposed(const char *ops, int operand) {
  if (strlen(ops) != 2 || strspn(ops, "NT") != 2)
    fail("--op %s: not NN, NT, TN or TT", ops);
  return ops[operand] == 'T';
}

static sgemm_stage stage_of(const char *name) {
  int i;
  for (i = 0; i < SGEMM_STAGE_COUNT; i++)
    if (strcmp(name, stages[i].name) == 0)
      return (sgemm_stage)i;
  fail("--stage %s: no such stage; gemm --help lists them", name);
}

static options parse(char **argv) {
  options o = {0};
  const char *ops = "NN", *alpha = "1", *beta = NULL, *stage = NULL;
  const struct {
    const char *name, **value;
  } known[] = {{"-o", &o.out},    {"--op", &ops}, {"--alpha", &alpha},
               {"--beta", &beta}, {"--c", &o.c},  {"--stage", &stage}};
  const size_t count = sizeof known / sizeof *known;
  for (argv++; *argv != NULL; argv++) {
    size_t i = 0;
    if (strcmp(*argv, "--help") == 0)
      help();
    if (**argv != '-') {
      if (o.b != NULL)
        fail("%s: a third input file", *argv);
      *(o.a == NULL ? &o.a : &o.b) = *argv;
      continue;
    }
    while (i < count && strcmp(*argv, known[i].name) != 0)
      i++;
    if (i == count)
      fail("%s: unknown option; gemm --help lists them", *argv);
    if (argv[1] == NULL)
      fail("%s: its value is missing", *argv);
    *known[i].value = *++argv;
  }
  if (o.b == NULL)
    fail("two input files are needed; gemm --help lists the options");
  if (o.out == NULL)
    fail("-o is missing: the file of the result");
  o.trans_a = transposed(ops, 0);
  o.trans_b = transposed(ops, 1);
  o.alpha = number("--alpha", alpha);
  o.beta = beta != NULL ? number("--beta", beta) : 0.0f;
  o.stage = stage != NULL ? stage_of(stage) : SGEMM_STAGE_ANY;
  if (o.c == NULL && o.beta != 0.0f)
    fail("--beta %s needs --c", beta);
  if (o.c != NULL && beta == NULL)
    fail("--c %s needs --beta", o.c);
  return o;
}

/* ---- Input ------------------------------------------------------------------------------------------------------- */

/* The content of a file: a matrix (batch = 1), or a batch of matrices. */
typedef struct operand {
  const char *path;
  npy_array array;
  char shape[NPY_SHAPE]; /* as text */
  int64_t batch, rows, cols;
} operand;

static size_t bytes_of(const operand *x) {
  return (size_t)npy_count(x->array.dims, x->array.shape) * sizeof *x->array.data;
}

static float *allocate(const operand *x) {
  float *data = malloc(bytes_of(x) + 1); /* malloc(0) may return NULL */
  if (data == NULL)
    fail("out of memory: no %zu bytes for shape %s", bytes_of(x), x->shape);
  return data;
}

/* Copies a batch from Fortran to C order. */
static void reorder(operand *x) {
  const float *from = x->array.data;
  float *to = allocate(x), *next = to;
  int64_t b, i, j;
  for (b = 0; b < x->batch && bytes_of(x) > 0; b++)
    for (i = 0; i < x->rows; i++)
      for (j = 0; j < x->cols; j++)
        *next++ = from[b + x->batch * (i + x->rows * j)];
  free(x->array.data);
  x->array.data = to;
  x->array.fortran = 0;
}

static void load(operand *x, const char *path) {
  npy_array *a = &x->array;
  char error[NPY_ERROR];
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    fail("%s: %s", path, strerror(errno));
  if (npy_read(file, a, error) != 0)
    fail("%s: %s", path, error);
  fclose(file);
  npy_shape(a, x->shape);
  if (a->dims != 2 && a->dims != 3)
    fail("%s: shape %s is neither a matrix nor a 3-D batch of matrices", path, x->shape);
  x->path = path;
  x->batch = a->dims == 3 ? a->shape[0] : 1;
  x->rows = a->shape[a->dims - 2];
  x->cols = a->shape[a->dims - 1];
  if (a->fortran && x->batch > 1)
    reorder(x);
}

/* ---- Output ------------------------------------------------------------------------------------------------------ */

/* The file to which the temporary one is renamed: the path with its symbolic links resolved. */
static char target[PATH_MAX];

/* Opens the output before the multiplication, so that a path that cannot be written fails at once. */
static FILE *open_output(const char *path) {
  struct stat old;
  const int exists = stat(path, &old) == 0;
  const char *slash;
  FILE *file;
  int descriptor;
  if (strcmp(path, "-") == 0)
    return stdout;
  if (exists && !S_ISREG(old.st_mode)) {
    file = fopen(path, "wb");
  } else if ((exists && access(path, W_OK) != 0) || (realpath(path, target) == NULL && errno != ENOENT)) {
    file = NULL;
  } else {
    if (!exists)
      snprintf(target, sizeof target, "%s", path);
    slash = strrchr(target, '/');
    snprintf(temporary, sizeof temporary, "%.*s.gemm-XXXXXX", slash != NULL ? (int)(slash + 1 - target) : 0, target);
    descriptor = mkstemp(temporary);
    file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
    if (file != NULL) {
      const mode_t mask = umask(0); /* umask() cannot be read without setting it */
      umask(mask);
      fchmod(descriptor, exists ? old.st_mode & 0777 : 0666 & ~mask);
    }
  }
  if (file == NULL)
    fail("%s: %s", path, strerror(errno));
  return file;
}

static void close_output(FILE *file, const char *path, const npy_array *result) {
  const int regular = temporary[0] != '\0';
  if (npy_write(file, result) != 0 || fflush(file) != 0 || (regular && fsync(fileno(file)) != 0) || fclose(file) != 0 ||
      (regular && rename(temporary, target) != 0))
    fail("%s: %s", path, strerror(errno));
}

/* ---- Multiplication ---------------------------------------------------------------------------------------------- */

/* The shape of the product; *k: the length of its dot products. */
static void shape_result(operand *c, int64_t *k, const options *o, const operand *a, const operand *b) {
  const int64_t k_of_b = o->trans_b ? b->cols : b->rows;
  int64_t *shape = c->array.shape;
  *k = o->trans_a ? a->rows : a->cols;
  if (*k != k_of_b)
    fail("%s %s and %s %s do not match: op(A) has %lld columns, op(B) %lld rows", a->path, a->shape, b->path, b->shape,
         (long long)*k, (long long)k_of_b);
  if (a->array.dims == 3 && b->array.dims == 3 && a->batch != b->batch)
    fail("%s %s and %s %s do not match: batches of %lld and %lld matrices", a->path, a->shape, b->path, b->shape,
         (long long)a->batch, (long long)b->batch);
  c->rows = o->trans_a ? a->cols : a->rows;
  c->cols = o->trans_b ? b->rows : b->cols;
  c->batch = a->array.dims == 3 ? a->batch : b->batch;
  if (a->array.dims == 3 || b->array.dims == 3)
    *shape++ = c->batch;
  *shape++ = c->rows;
  *shape++ = c->cols;
  c->array.dims = (int)(shape - c->array.shape);
  c->array.fortran = 0;
  npy_shape(&c->array, c->shape);
  if (npy_count(c->array.dims, c->array.shape) < 0)
    fail("%s %s and %s %s: their product of shape %s has more elements than any memory", a->path, a->shape, b->path,
         b->shape, c->shape);
}

/* The leading dimension; and the stride from one matrix of a batch to the next, 0 for a matrix that serves a batch. */
static int64_t ld_of(const operand *x) {
  const int64_t width = x->array.fortran ? x->rows : x->cols;
  return width > 0 ? width : 1;
}

static int64_t stride_of(const operand *x) { return x->batch > 1 ? x->rows * x->cols : 0; }

/* Device memory for an operand, with its data if a kernel reads them. */
static float *upload(const operand *x, int with_data) {
  void *memory;
  if (cudaMalloc(&memory, bytes_of(x)) != cudaSuccess)
    fail("out of memory: the %s has no %zu bytes for shape %s", device_name(), bytes_of(x), x->shape);
  if (with_data && cudaMemcpy(memory, x->array.data, bytes_of(x), cudaMemcpyHostToDevice) != cudaSuccess)
    fail("the copy to the %s failed", device_name());
  return (float *)memory;
}

static void multiply(const options *o, const operand *a, const operand *b, operand *c, int64_t k) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, c->rows, c->cols, k);
  float *A, *B, *C;
  sgemm_status status;
  cudaError_t error;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
    fail("there is no GPU to run on");
  p.order = c->array.fortran ? SGEMM_COL_MAJOR : SGEMM_ROW_MAJOR;
  p.op_a = o->trans_a != (a->array.fortran != c->array.fortran) ? SGEMM_T : SGEMM_N;
  p.op_b = o->trans_b != (b->array.fortran != c->array.fortran) ? SGEMM_T : SGEMM_N;
  p.alpha = o->alpha;
  p.beta = o->beta;
  p.A = A = upload(a, 1);
  p.B = B = upload(b, 1);
  p.C = C = upload(c, o->beta != 0.0f);
  p.lda = ld_of(a);
  p.ldb = ld_of(b);
  p.ldc = ld_of(c);
  p.batch = c->batch;
  p.stride_a = stride_of(a);
  p.stride_b = stride_of(b);
  p.stride_c = stride_of(c);
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;

  status = sgemm_run_stage(o->stage, &p, NULL);
  if (status != SGEMM_SUCCESS)
    fail("%s", sgemm_error_string(status));
  error = cudaDeviceSynchronize();
  if (error != cudaSuccess)
    fail("the multiplication failed: %s", cudaGetErrorString(error));
  if (cudaMemcpy(c->array.data, C, bytes_of(c), cudaMemcpyDeviceToHost) != cudaSuccess)
    fail("the copy from the %s failed", device_name());
  cudaFree(A);
  cudaFree(B);
  cudaFree(C);
}

static void finish(operand *x) {
  if (x->array.rounded)
    fprintf(stderr, "gemm: %s: float64, rounded to float32\n", x->path);
  free(x->array.data);
}

int main(int argc, char **argv) {
  const char *directory = getenv("BUILD_WORKING_DIRECTORY"); /* the directory in which `bazel run` was called */
  operand a, b, c, c0;
  options o;
  FILE *file;
  int64_t k;

  (void)argc;
  o = parse(argv);
  if (directory != NULL && *directory != '\0' && chdir(directory) != 0)
    fail("BUILD_WORKING_DIRECTORY %s: %s", directory, strerror(errno));
  watch_signals();
  file = open_output(o.out);
  load(&a, o.a);
  load(&b, o.b);
  shape_result(&c, &k, &o, &a, &b);
  if (o.c != NULL) {
    load(&c0, o.c);
    if (strcmp(c0.shape, c.shape) != 0)
      fail("%s %s has not the shape of the product, %s", o.c, c0.shape, c.shape);
    c = c0;
  } else {
    c.array.data = allocate(&c);
    c.array.rounded = 0;
  }
  multiply(&o, &a, &b, &c, k);
  close_output(file, o.out, &c.array);
  finish(&a);
  finish(&b);
  finish(&c);
  return 0;
}
