/* nearest.c: the nearest point of each query, from two .npy files; nearest --help lists the options.

   The squared distance of query i and point j is |q_i|^2 + |p_j|^2 - 2 q_i p_j. The products q_i p_j are a matrix
   multiplication of the queries and the transposed points, the rest is the epilogue `distance`, and the reduction min
   gives the index of the least distance of each row. The matrix of distances is never stored. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime() */

#include <cuda_runtime.h>

#include "examples/npy.h"
#include "sgemm.h"

#include <limits.h>
#include <stdarg.h>
#include <time.h>

static _Noreturn void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("nearest: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  exit(2);
}

/* ---- Input ------------------------------------------------------------------------------------------------------- */

typedef struct options {
  const char *queries, *points, *indices, *distances;
  int mode, repeat;
} options;

static void help(void) {
  puts(
      "usage: nearest QUERIES.npy POINTS.npy -o INDICES.npy [options]\n"
      "\n"
      "The index of the nearest point of each query, by Euclidean distance; of equal distances the lowest index. Both\n"
      "files hold a float32 matrix in C order, a vector in each row.\n"
      "\n"
      "  -o FILE           the indices, int64\n"
      "  --distances FILE  the squared distances, float32\n"
      "  --mode NAME       strict (the default), tensor or full: how the products are formed\n"
      "  --repeat N        compute N times, and print the least time in milliseconds");
  exit(fflush(stdout) == 0 ? 0 : 2);
}

static int mode_of(const char *name) {
  static const char *const names[] = {"strict", "tensor", "full"}; /* in the order of sgemm_mode */
  int i;
  for (i = 0; i < 3; i++)
    if (strcmp(name, names[i]) == 0)
      return i;
  fail("--mode %s: neither strict nor tensor nor full", name);
}

/* The whole number above 0 that an option has as its value. */
static int whole(const char *option, const char *value) {
  char *end;
  const long number = strtol(value, &end, 10);
  if (end == value || *end != '\0' || number < 1 || number > INT_MAX)
    fail("%s %s: not a whole number above 0", option, value);
  return (int)number;
}

static options parse(char **argv) {
  options o = {NULL, NULL, NULL, NULL, SGEMM_STRICT, 0};
  for (argv++; *argv != NULL; argv++) {
    const char *value = argv[1];
    if (strcmp(*argv, "--help") == 0)
      help();
    if (**argv != '-') {
      if (o.points != NULL)
        fail("%s: a third input file", *argv);
      *(o.queries == NULL ? &o.queries : &o.points) = *argv;
      continue;
    }
    if (value == NULL)
      fail("%s: its value is missing, or the option is unknown; nearest --help lists them", *argv);
    if (strcmp(*argv, "-o") == 0)
      o.indices = value;
    else if (strcmp(*argv, "--distances") == 0)
      o.distances = value;
    else if (strcmp(*argv, "--mode") == 0)
      o.mode = mode_of(value);
    else if (strcmp(*argv, "--repeat") == 0)
      o.repeat = whole(*argv, value);
    else
      fail("%s: unknown option; nearest --help lists them", *argv);
    argv++;
  }
  if (o.points == NULL || o.indices == NULL)
    fail("two input files and -o are needed; nearest --help lists the options");
  return o;
}

static npy_array load(const char *path) {
  npy_array a;
  char error[NPY_ERROR];
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    fail("%s: %s", path, strerror(errno));
  if (npy_read(file, &a, error) != 0)
    fail("%s: %s", path, error);
  fclose(file);
  if (a.dims != 2 || (a.fortran && a.shape[0] > 1 && a.shape[1] > 1))
    fail("%s: not a matrix in C order", path);
  return a;
}

static void save(const char *path, const npy_array *shape, const char *descr, const void *data, size_t bytes) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || npy_write_as(file, shape, descr, data, bytes) != 0 || fclose(file) != 0)
    fail("%s: %s", path, strerror(errno));
}

/* ---- Search ------------------------------------------------------------------------------------------------------ */

static void *on_device(const void *data, size_t bytes) {
  void *memory;
  if (cudaMalloc(&memory, bytes) != cudaSuccess)
    fail("there is no GPU, or it has no %zu bytes of memory left", bytes);
  if (data != NULL && cudaMemcpy(memory, data, bytes, cudaMemcpyHostToDevice) != cudaSuccess)
    fail("the copy to the GPU failed");
  return memory;
}

/* The squared norm of each row, in device memory. */
static float *squared_norms(const npy_array *a) {
  const int64_t rows = a->shape[0], k = a->shape[1];
  float *norms = malloc((size_t)rows * sizeof *norms + 1), *device;
  int64_t i, j;
  if (norms == NULL)
    fail("out of memory");
  for (i = 0; i < rows; i++) {
    double sum = 0.0;
    for (j = 0; j < k; j++)
      sum += (double)a->data[i * k + j] * (double)a->data[i * k + j];
    norms[i] = (float)sum;
  }
  device = on_device(norms, (size_t)rows * sizeof *norms);
  free(norms);
  return device;
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  const options o = parse(argv);
  const npy_array queries = load(o.queries), points = load(o.points);
  const int64_t m = queries.shape[0], n = points.shape[0], k = queries.shape[1];
  const size_t result_bytes = (size_t)m * sizeof(int64_t);
  npy_array result = {NULL, 1, {m}, 0, 0};
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_T, m, n, k);
  sgemm_reduction_params least = {SGEMM_REDUCTION_min, SGEMM_EACH_ROW, NULL, NULL, 0};
  void *host = malloc(result_bytes + 1);
  double best = 0.0;
  int run;
  (void)argc;
  if (points.shape[1] != k)
    fail("%s has vectors of %lld elements, %s of %lld", o.queries, (long long)k, o.points, (long long)points.shape[1]);
  if (host == NULL)
    fail("out of memory");

  p.A = on_device(queries.data, (size_t)(m * k) * sizeof(float));
  p.B = on_device(points.data, (size_t)(n * k) * sizeof(float));
  p.epilogue = SGEMM_EPILOGUE_distance;
  p.vec_m = squared_norms(&queries);
  p.vec_n = squared_norms(&points);
  p.mode = o.mode;
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  least.values = on_device(NULL, (size_t)m * sizeof(float));
  least.indices = on_device(NULL, result_bytes);
  for (run = 0; run < (o.repeat > 0 ? o.repeat : 1); run++) {
    const double start = milliseconds();
    const sgemm_status status = sgemm_run_reduction(&p, &least, NULL);
    double time;
    if (status != SGEMM_SUCCESS)
      fail("%s", sgemm_error_string(status));
    if (cudaDeviceSynchronize() != cudaSuccess)
      fail("the search failed on the GPU");
    time = milliseconds() - start;
    best = run == 0 || time < best ? time : best;
  }
  if (o.repeat > 0)
    printf("%.3f ms\n", best);

  if (cudaMemcpy(host, least.indices, result_bytes, cudaMemcpyDeviceToHost) != cudaSuccess)
    fail("the copy from the GPU failed");
  save(o.indices, &result, "<i8", host, sizeof(int64_t));
  if (o.distances != NULL) {
    if (cudaMemcpy(host, least.values, (size_t)m * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess)
      fail("the copy from the GPU failed");
    save(o.distances, &result, "<f4", host, sizeof(float));
  }
  cudaFree((void *)p.A);
  cudaFree((void *)p.B);
  cudaFree((void *)p.vec_m);
  cudaFree((void *)p.vec_n);
  cudaFree(least.values);
  cudaFree(least.indices);
  free(host);
  free(queries.data);
  free(points.data);
  return 0;
}
