/* host_rate.c: measures sgemm_host_run() on GPUs, beside the rate of the same tiles in device memory and beside
   cuBLASXt, and prints CSV.

     host_rate [--size M[,N,K]] [--mode strict|tensor|full] [--pageable] [--new-c] [--memory GIB] [--devices N]
               [--block N] [--panel K] [--threads N] [--staging MIB] [--beta X] [--repeat N] [--xt-block N] [--no-xt]

   A row is a run. what: "tiles" is the rate of the multiplications of a tile by a panel, one after the other, with
   everything in device memory; "host" is sgemm_host_run(); "cublasxt" is cublasXtSgemm() in its default math mode, and
   its column mode is empty. The column of_tiles is the rate over that of the tiles. error is the largest of 64 elements
   of C, over the bound of fp32 summation, (k + 2) 2^-24 |A| |B|; a tensor mode keeps it too. It is empty where C is not
   checked: for the tiles, and with a beta other than 0. With --new-c each run of "host" allocates C, in huge pages
   where the system has them, and frees the one before, as NumPy does; so C is in pageable memory. The first run of
   "host" allocates, the others find the staging memory and the threads of the run before. Exit status: 0, 1 if an error
   is above its bound, 2 if the program could not run. */
#define _GNU_SOURCE /* clock_gettime() */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "adapters/common/rate.h"
#include "adapters/host/plan.h"
#include "adapters/host/sgemm_host.h"

typedef struct setup {
  int64_t m, n, k;
  int mode, pageable, new_c, devices, repeat, xt, xt_block;
  const char *mode_name;
  float beta;
  sgemm_host_options options;
  int numbers[SGEMM_HOST_MAX_DEVICES];
  float *A, *B, *C;
  double tiles_tflops;
  int wrong; /* 1: an error is above its bound */
} setup;

static void stop(const char *what, const char *why) {
  fprintf(stderr, "host_rate: %s: %s\n", what, why);
  exit(2);
}

static void cuda(const char *what, cudaError_t e) {
  if (e != cudaSuccess)
    stop(what, cudaGetErrorString(e));
}

/* ---- Command line ------------------------------------------------------------------------------------------------ */

static void read_size(setup *s, const char *value) {
  int64_t size[3];
  if (!rate_size(value, 0x1p24, size))
    stop("--size", "M or M,N,K, from 1 to 16777216");
  s->m = size[0];
  s->n = size[1];
  s->k = size[2];
}

static void read_mode(setup *s, const char *value) {
  static const char *const names[] = {"strict", "tensor", "full"};
  for (s->mode = 0; s->mode < 3; s->mode++)
    if (strcmp(value, names[s->mode]) == 0)
      break;
  if (s->mode == 3)
    stop("--mode", "strict, tensor or full");
  s->mode_name = names[s->mode];
}

/* A whole number from `least` to `most`. */
static int64_t whole(const char *name, const char *value, int least, int most) {
  char why[64];
  int64_t number;
  snprintf(why, sizeof why, "needs a whole number from %d to %d", least, most);
  if (!rate_whole(value, least, most, &number))
    stop(name, why);
  return number;
}

/* A number from 0 on, in units of so many bytes. */
static int64_t bytes_of(const char *name, const char *value, double unit) {
  double number;
  if (!rate_number(value, 0.0, 1e6, &number))
    stop(name, "needs a number from 0 to 1000000");
  return (int64_t)(number * unit);
}

static void read_value(setup *s, const char *name, const char *value) {
  double beta;
  if (strcmp(name, "--size") == 0)
    read_size(s, value);
  else if (strcmp(name, "--mode") == 0)
    read_mode(s, value);
  else if (strcmp(name, "--memory") == 0)
    s->options.memory_bytes = bytes_of(name, value, 1073741824.0);
  else if (strcmp(name, "--devices") == 0)
    s->options.device_count = (int)whole(name, value, 1, SGEMM_HOST_MAX_DEVICES);
  else if (strcmp(name, "--block") == 0)
    s->options.block = whole(name, value, 0, INT32_MAX);
  else if (strcmp(name, "--panel") == 0)
    s->options.panel = whole(name, value, 0, INT32_MAX);
  else if (strcmp(name, "--threads") == 0)
    s->options.threads = (int)whole(name, value, 0, 256);
  else if (strcmp(name, "--staging") == 0)
    s->options.staging_bytes = bytes_of(name, value, 1048576.0);
  else if (strcmp(name, "--beta") == 0) {
    if (!rate_number(value, -1e6, 1e6, &beta))
      stop(name, "needs a number from -1000000 to 1000000");
    s->beta = (float)beta;
  } else if (strcmp(name, "--repeat") == 0)
    s->repeat = (int)whole(name, value, 1, INT32_MAX);
  else if (strcmp(name, "--xt-block") == 0)
    s->xt_block = (int)whole(name, value, 1, INT32_MAX);
  else
    stop(name, "no such option; the head of host_rate.c lists them");
}

static void read_options(setup *s, int argc, char **argv) {
  int i;
  for (i = 1; i < argc; i++)
    if (strcmp(argv[i], "--pageable") == 0)
      s->pageable = 1;
    else if (strcmp(argv[i], "--new-c") == 0)
      s->pageable = s->new_c = 1;
    else if (strcmp(argv[i], "--no-xt") == 0)
      s->xt = 0;
    else if (i + 1 < argc) {
      read_value(s, argv[i], argv[i + 1]);
      i++;
    } else
      stop(argv[i], "no such option, or no value");
}

/* ---- Matrices ---------------------------------------------------------------------------------------------------- */

static float *matrix(const setup *s, int64_t count, uint64_t seed) {
  float *X = NULL;
  if (s->pageable)
    X = (float *)malloc(4 * (size_t)count);
  else
    cuda("cudaHostAlloc", cudaHostAlloc((void **)&X, 4 * (size_t)count, cudaHostAllocPortable));
  if (X == NULL)
    stop("malloc", "no memory");
  rate_fill(X, count, seed);
  return X;
}

#define NOT_CHECKED (-1.0)

/* The error of C, which can only be checked if C did not add to the product. */
static double error_of(const setup *s) {
  return s->beta == 0.0f ? rate_error(s->m, s->n, s->k, s->A, s->B, s->C) : NOT_CHECKED;
}

/* ---- Measurements ------------------------------------------------------------------------------------------------ */

static void print_row(setup *s, const char *what, const char *mode, int run, double seconds, double flop,
                      const sgemm_host_result *r, double error) {
  const double tflops = flop / seconds / 1e12;
  char checked[32] = "";
  if (error != NOT_CHECKED)
    snprintf(checked, sizeof checked, "%.3g", error);
  printf("%s,%d,%lld,%lld,%lld,%s,%s,%d,%lld,%lld,%lld,%d,%.2f,%.4f,%.2f,%.3f,%.2f,%.2f,%s\n", what, run,
         (long long)s->m, (long long)s->n, (long long)s->k, mode,
         s->new_c      ? "new"
         : s->pageable ? "pageable"
                       : "pinned",
         s->options.device_count, (long long)r->block_m, (long long)r->block_n, (long long)r->panel_k, r->panels,
         (double)r->device_bytes / 1073741824.0, seconds, tflops,
         s->tiles_tflops > 0.0 ? tflops / s->tiles_tflops / s->options.device_count : 1.0,
         (double)r->bytes_in / 1073741824.0, (double)r->bytes_out / 1073741824.0, checked);
  fflush(stdout);
  if (error > 1.0) {
    fprintf(stderr, "host_rate: %s, run %d: the error is above its bound\n", what, run);
    s->wrong = 1;
  }
}

/* Memory for C, whose pages are not there yet. */
static float *new_c(const setup *s) {
  enum { HUGE_PAGE = 2 << 20 };
  const size_t bytes = ((size_t)(4 * s->m * s->n) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  float *C = (float *)aligned_alloc(HUGE_PAGE, bytes);
  if (C == NULL)
    stop("aligned_alloc", "no memory");
  madvise(C, bytes, MADV_HUGEPAGE); /* an error means that the kernel has no huge pages */
  return C;
}

static double run_host(setup *s, sgemm_host_result *result) {
  const double start = rate_now();
  float *old = s->C;
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, s->m, s->n, s->k);
  int status;
  if (s->new_c)
    s->C = new_c(s);
  p.A = s->A;
  p.B = s->B;
  p.C = s->C;
  p.beta = s->beta;
  p.mode = s->mode;
  status = sgemm_host_run(&p, &s->options, result);
  if (status != SGEMM_SUCCESS)
    stop("sgemm_host_run", sgemm_host_error_string(status));
  if (s->new_c)
    free(old);
  return rate_now() - start;
}

/* The rate of the tiles of a plan with panels that are in device memory: at least 1 s of multiplications. */
static void run_tiles(setup *s, const sgemm_host_result *plan) {
  const sgemm_params whole = {.op_a = SGEMM_N, .op_b = SGEMM_N, .alpha = 1.0f, .mode = s->mode};
  sgemm_params p = sgemm_host__tile_params(&whole, plan->block_m, plan->block_n, plan->panel_k);
  const int64_t a = 4 * p.lda * p.m, b = 4 * p.ldb * p.k, c = 4 * p.ldc * p.m;
  const double flop = sgemm_flops(p.m, p.n, p.k);
  int64_t workspace = sgemm_workspace_query(&p, &p.workspace_bytes) == SGEMM_SUCCESS ? p.workspace_bytes : 0;
  int steps = 8, i, status;
  double start, seconds = 0.0;
  char *memory = NULL;
  cuda("cudaMalloc", cudaMalloc((void **)&memory, (size_t)(a + b + c + workspace)));
  cuda("cudaMemcpy",
       cudaMemcpy(memory, s->A, (size_t)sgemm__max(1, a < 4 * s->m * s->k ? a : 4 * s->m * s->k), cudaMemcpyDefault));
  cuda("cudaMemcpy",
       cudaMemcpy(memory + a, s->B, (size_t)(b < 4 * s->n * s->k ? b : 4 * s->n * s->k), cudaMemcpyDefault));
  cuda("cudaMemset", cudaMemset(memory + a + b, 0, (size_t)c));
  p.A = (const float *)memory;
  p.B = (const float *)(memory + a);
  p.C = (float *)(memory + a + b);
  p.workspace = workspace > 0 ? memory + a + b + c : NULL;
  p.workspace_bytes = workspace;
  while (seconds < 1.0) {
    steps *= 2;
    cuda("cudaDeviceSynchronize", cudaDeviceSynchronize());
    start = rate_now();
    for (i = 0; i < steps; i++)
      if ((status = sgemm_run(&p, NULL)) != SGEMM_SUCCESS)
        stop("sgemm_run", sgemm_host_error_string(status));
    cuda("cudaDeviceSynchronize", cudaDeviceSynchronize());
    seconds = rate_now() - start;
  }
  print_row(s, "tiles", s->mode_name, 1, seconds / steps, flop, plan, NOT_CHECKED);
  s->tiles_tflops = flop * steps / seconds / 1e12;
  cuda("cudaFree", cudaFree(memory));
}

/* cuBLASXt of the machine, if it has one. C = A B row-major is C' = B' A' column-major. */
static void run_xt(setup *s) {
  static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
  sgemm_host_result none;
  void *library = NULL, *handle = NULL;
  const float alpha = 1.0f;
  int i, failed;
  for (i = 0; i < 3 && library == NULL; i++)
    library = dlopen(names[i], RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "host_rate: no libcublas, so cuBLASXt is not measured\n");
    return;
  }
  memset(&none, 0, sizeof none);
  {
    int (*create)(void **) = (int (*)(void **))dlsym(library, "cublasXtCreate");
    int (*destroy)(void *) = (int (*)(void *))dlsym(library, "cublasXtDestroy");
    int (*devices)(void *, int, int *) = (int (*)(void *, int, int *))dlsym(library, "cublasXtDeviceSelect");
    int (*block)(void *, int) = (int (*)(void *, int))dlsym(library, "cublasXtSetBlockDim");
    int (*gemm)(void *, int, int, size_t, size_t, size_t, const float *, const float *, size_t, const float *, size_t,
                const float *, float *, size_t) = (int (*)(void *, int, int, size_t, size_t, size_t, const float *,
                                                           const float *, size_t, const float *, size_t, const float *,
                                                           float *, size_t))dlsym(library, "cublasXtSgemm");
    failed = create == NULL || destroy == NULL || devices == NULL || block == NULL || gemm == NULL || create(&handle) ||
             devices(handle, s->options.device_count, s->numbers) || block(handle, s->xt_block);
    for (i = 0; i < (s->pageable ? 1 : 2) && !failed; i++) {
      const double start = rate_now();
      failed = gemm(handle, 0, 0, (size_t)s->n, (size_t)s->m, (size_t)s->k, &alpha, s->B, (size_t)s->n, s->A,
                    (size_t)s->k, &s->beta, s->C, (size_t)s->n);
      none.block_m = none.block_n = s->xt_block;
      if (!failed)
        print_row(s, "cublasxt", "", i + 1, rate_now() - start, sgemm_flops(s->m, s->n, s->k), &none, error_of(s));
    }
    if (handle != NULL)
      destroy(handle);
  }
  if (failed)
    stop("cuBLASXt", "returned an error");
}

int main(int argc, char **argv) {
  setup s;
  sgemm_host_result result;
  int i;
  memset(&s, 0, sizeof s);
  s.m = s.n = s.k = 32768;
  s.mode_name = "strict";
  s.repeat = 3;
  s.xt = 1;
  s.xt_block = 4096;
  s.options = sgemm_host_options_init();
  s.options.device_count = 1;
  read_options(&s, argc, argv);
  for (i = 0; i < SGEMM_HOST_MAX_DEVICES; i++)
    s.numbers[i] = i;
  s.options.devices = s.numbers;
  s.A = matrix(&s, s.m * s.k, 1);
  s.B = matrix(&s, s.k * s.n, 2);
  s.C = matrix(&s, s.m * s.n, 3);
  printf("what,run,m,n,k,mode,memory,devices,block_m,block_n,panel,panels,device_gib,seconds,tflops,of_tiles,gib_in,"
         "gib_out,error\n");
  for (i = 0; i < s.repeat; i++) {
    const double seconds = run_host(&s, &result);
    const double error = error_of(&s);
    if (i == 0)
      run_tiles(&s, &result);
    print_row(&s, "host", s.mode_name, i + 1, seconds, sgemm_flops(s.m, s.n, s.k), &result, error);
  }
  sgemm_host_release();
  if (s.xt)
    run_xt(&s);
  return s.wrong;
}
