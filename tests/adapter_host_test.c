/* Tests of the host adapter: results, plans, the queue of tiles, the copying threads, the pages of C, order of the
   streams, errors of each device call, several devices, cancelling, and what stays allocated. With MACHINE_CUDA=1 the
   tests that need no device of adapters/host/device_cpu.c run on a GPU.

   Elements are integers in [-8, 8] and alpha and beta are small powers of 2, so that every order of summation is exact
   and results must be equal to those in double. Padding holds NaN, as does C where beta is 0. */
#define _GNU_SOURCE /* mincore(), madvise(), sched_setaffinity(), SYS_tgkill */
#include "adapters/host/plan.h"
#include "adapters/host/pool.h"
#include "adapters/host/queue.h"
#include "adapters/host/sgemm_host.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#if defined(MACHINE_CUDA)
#include <cuda_runtime_api.h>
#else
#include "adapters/host/device_cpu.h"
#define fake sgemm_host__fake_state
#endif

/* ---- Problems ---------------------------------------------------------------------------------------------------- */

enum { PAD = 7, GUARD = 64 };

typedef struct operand {
  int64_t rows, width, ld, count; /* as stored */
  float *memory, *first;
} operand;

typedef struct problem {
  sgemm_params p;
  sgemm_host_options o;
  sgemm_host_result r;
  operand A, B, C;
  float *before; /* the memory of C before the call */
  int pinned;
} problem;

static float *allocate(int64_t count, int pinned) {
  void *memory = NULL;
#if defined(MACHINE_CUDA)
  if (pinned) {
    cr_assert(cudaHostAlloc(&memory, 4 * (size_t)count, cudaHostAllocDefault) == cudaSuccess);
    return (float *)memory;
  }
#endif
  (void)pinned;
  memory = malloc(4 * (size_t)count);
  cr_assert(memory != NULL);
  return (float *)memory;
}

static operand operand_of(int64_t rows, int64_t width, uint64_t seed, int empty, int pinned) {
  operand x = {rows, width, width + PAD, 0, NULL, NULL};
  int64_t i, j;
  x.count = rows * x.ld + 2 * GUARD;
  x.memory = allocate(x.count, pinned);
  x.first = x.memory + GUARD;
  for (i = 0; i < x.count; i++)
    x.memory[i] = NAN;
  for (i = 0; i < rows && !empty; i++)
    for (j = 0; j < width; j++) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      x.first[i * x.ld + j] = (float)((int)((seed >> 33) % 17) - 8);
    }
  return x;
}

/* Element (i, j) of op(X). plain: element (i, j) is in stored row i. */
static double at(const operand *x, int plain, int64_t i, int64_t j) {
  return (double)(plain ? x->first[i * x->ld + j] : x->first[j * x->ld + i]);
}

static problem problem_of(int order, int op_a, int op_b, int64_t m, int64_t n, int64_t k, float alpha, float beta) {
  problem q;
  memset(&q, 0, sizeof q);
  q.p = order == SGEMM_ROW_MAJOR ? sgemm_params_init((sgemm_op)op_a, (sgemm_op)op_b, m, n, k)
                                 : sgemm_params_init_col((sgemm_op)op_a, (sgemm_op)op_b, m, n, k);
  q.p.alpha = alpha;
  q.p.beta = beta;
  q.o = sgemm_host_options_init();
  return q;
}

/* Gives a problem its operands. */
static void make(problem *q) {
  const int row = q->p.order == SGEMM_ROW_MAJOR;
  const int a_plain = (q->p.op_a == SGEMM_N) == row, b_plain = (q->p.op_b == SGEMM_N) == row;
  q->A = operand_of(a_plain ? q->p.m : q->p.k, a_plain ? q->p.k : q->p.m, 1, q->p.alpha == 0.0f, q->pinned);
  q->B = operand_of(b_plain ? q->p.k : q->p.n, b_plain ? q->p.n : q->p.k, 2, q->p.alpha == 0.0f, q->pinned);
  q->C = operand_of(row ? q->p.m : q->p.n, row ? q->p.n : q->p.m, 3, q->p.beta == 0.0f, q->pinned);
  q->p.A = q->A.first, q->p.lda = q->A.ld;
  q->p.B = q->B.first, q->p.ldb = q->B.ld;
  q->p.C = q->C.first, q->p.ldc = q->C.ld;
  q->before = (float *)malloc(4 * (size_t)q->C.count);
  memcpy(q->before, q->C.memory, 4 * (size_t)q->C.count);
}

static void release(problem *q) {
  operand *const x[3] = {&q->A, &q->B, &q->C};
  int i;
  for (i = 0; i < 3; i++) {
#if defined(MACHINE_CUDA)
    if (q->pinned) {
      cudaFreeHost(x[i]->memory);
      continue;
    }
#endif
    free(x[i]->memory);
  }
  free(q->before);
}

static int run(problem *q) { return sgemm_host_run(&q->p, &q->o, &q->r); }

static int same(const float *a, const float *b, int64_t count) { return memcmp(a, b, 4 * (size_t)count) == 0; }

/* What element (i, j) of C must be. */
static float wanted(const problem *q, int64_t i, int64_t j) {
  const int row = q->p.order == SGEMM_ROW_MAJOR;
  const int a_plain = (q->p.op_a == SGEMM_N) == row, b_plain = (q->p.op_b == SGEMM_N) == row;
  const int64_t at_c = row ? i * q->C.ld + j : j * q->C.ld + i;
  double sum = 0.0;
  int64_t l;
  for (l = 0; l < q->p.k && q->p.alpha != 0.0f; l++)
    sum += at(&q->A, a_plain, i, l) * at(&q->B, b_plain, l, j);
  sum *= (double)q->p.alpha;
  return (float)(q->p.beta == 0.0f ? sum : sum + (double)q->p.beta * (double)q->before[GUARD + at_c]);
}

/* Checks rows (column-major: columns) 0 ... lines - 1 of C, and that nothing beside the matrix was written. */
static void check_lines(const problem *q, int64_t lines) {
  const int row = q->p.order == SGEMM_ROW_MAJOR;
  int64_t i, j;
  for (i = 0; i < lines; i++)
    for (j = 0; j < q->C.width; j++) {
      const float want = row ? wanted(q, i, j) : wanted(q, j, i), got = q->C.first[i * q->C.ld + j];
      cr_assert(got == want, "line %lld, element %lld: %g is not %g", (long long)i, (long long)j, (double)got,
                (double)want);
    }
  for (i = 0; i < q->C.rows; i++)
    cr_assert(same(q->C.first + i * q->C.ld + q->C.width, q->before + GUARD + i * q->C.ld + q->C.width, PAD),
              "padding of line %lld", (long long)i);
  cr_assert(same(q->C.memory, q->before, GUARD) &&
            same(q->C.memory + q->C.count - GUARD, q->before + q->C.count - GUARD, GUARD));
}

static void check_done(problem *q) {
  const int status = run(q);
  cr_assert(status == SGEMM_SUCCESS, "%s", sgemm_host_error_string(status));
  cr_assert(q->r.lines_done == q->C.rows && q->r.tiles_done == q->r.tiles);
  check_lines(q, q->C.rows);
}

static void check_untouched(const problem *q) { cr_assert(same(q->C.memory, q->before, q->C.count), "C was written"); }

/* A problem with 3 x 4 tiles of 3 panels, or more if memory is short. */
static problem tiled(int order, int op_a, int op_b, float alpha, float beta) {
  problem q = problem_of(order, op_a, op_b, 75, 101, 83, alpha, beta);
  q.o.block = 32;
  q.o.panel = 32;
  q.o.threads = 2;
  return q;
}

static void nothing_is_left(void) {
  sgemm_host_release();
#if !defined(MACHINE_CUDA)
  cr_assert(fake.allocations == 0 && fake.pins == 0 && fake.streams == 0 && fake.events == 0 && fake.bytes == 0,
            "%lld allocations, %lld pinned, %lld streams, %lld events are left", (long long)fake.allocations,
            (long long)fake.pins, (long long)fake.streams, (long long)fake.events);
#endif
}

/* ---- Other threads ----------------------------------------------------------------------------------------------- */

static void nap(int ms) {
  const struct timespec time = {0, ms * 1000000};
  nanosleep(&time, NULL);
}

/* The state of a thread: 'S' if it sleeps, 'X' if it has ended. */
static char state_of(pid_t thread) {
  char path[64], text[256];
  const char *name_end = NULL;
  FILE *file;
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
  file = fopen(path, "r");
  if (file == NULL)
    return 'X';
  text[fread(text, 1, sizeof text - 1, file)] = 0;
  fclose(file);
  name_end = strrchr(text, ')');
  return name_end == NULL || name_end[1] != ' ' ? 'X' : name_end[2] == 'Z' ? 'X' : name_end[2];
}

/* Lists the other threads of this process, 64 at most. Returns how many there are. */
static int other_threads(pid_t thread[64]) {
  const pid_t own = (pid_t)syscall(SYS_gettid);
  DIR *folder = opendir("/proc/self/task");
  const struct dirent *entry;
  int count = 0;
  cr_assert(folder != NULL);
  while ((entry = readdir(folder)) != NULL && count < 64)
    if (entry->d_name[0] != '.' && atoi(entry->d_name) != own)
      thread[count++] = (pid_t)atoi(entry->d_name);
  closedir(folder);
  return count;
}

/* Waits until every other thread sleeps, seen twice 1 ms apart, 20 s or more at most. So a thread that has been given
   work has done it. Returns 1 if they sleep. */
static int others_sleep(void) {
  pid_t thread[64];
  int i, seen = 0;
  for (i = 0; i < 20000 && seen < 2; i++) {
    int j, awake = 0;
    for (j = other_threads(thread) - 1; j >= 0; j--) {
      const char state = state_of(thread[j]);
      awake += state != 'S' && state != 'X';
    }
    seen = awake == 0 ? seen + 1 : 0;
    nap(1);
  }
  return seen == 2;
}

/* Memory that a thread cannot touch before it has called a function. */
typedef struct trap {
  char *memory;
  int64_t bytes;
  void (*touched)(void);
} trap;
static trap traps[2];

static void on_fault(int number, siginfo_t *info, void *context) {
  const int kept = errno;
  int i;
  (void)context;
  for (i = 0; i < 2; i++)
    if (traps[i].memory <= (char *)info->si_addr && (char *)info->si_addr < traps[i].memory + traps[i].bytes) {
      traps[i].touched();
      mprotect(traps[i].memory, (size_t)traps[i].bytes, PROT_READ | PROT_WRITE);
      errno = kept;
      return;
    }
  signal(number, SIG_DFL); /* a fault of the test itself */
}

/* allowed: PROT_NONE, or PROT_READ if only a store is a touch. */
static void set_trap(int i, char *memory, int64_t bytes, int allowed, void (*touched)(void)) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  traps[i].memory = memory;
  traps[i].bytes = bytes;
  traps[i].touched = touched;
  cr_assert(sigaction(SIGSEGV, &action, NULL) == 0 && sigaction(SIGBUS, &action, NULL) == 0);
  cr_assert(mprotect(memory, (size_t)bytes, allowed) == 0);
}

/* Pipes: a thread that calls hold() writes to the first and reads from the second. */
static int arrived[2], leaving[2];

static void hold(void) {
  char c = 0;
  if (write(arrived[1], &c, 1) != 1 || read(leaving[0], &c, 1) != 1)
    abort();
}

static void wait_for_arrival(void) {
  struct pollfd end = {arrived[0], POLLIN, 0};
  char c;
  cr_assert(poll(&end, 1, 20000) == 1 && read(arrived[0], &c, 1) == 1, "no thread is held after 20 s");
}

static void let_go(void) { cr_assert(write(leaving[1], "", 1) == 1); }

/* ---- Results ----------------------------------------------------------------------------------------------------- */

/* Every order and op, with beta 0 and not 0, pageable and pinned. */
static void every_op(int pinned) {
  static const int ops[3] = {SGEMM_N, SGEMM_T, SGEMM_C};
  int order, a, b, beta;
#if !defined(MACHINE_CUDA)
  fake.pinned = pinned;
#endif
  for (order = SGEMM_ROW_MAJOR; order <= SGEMM_COL_MAJOR; order++)
    for (a = 0; a < 3; a++)
      for (b = 0; b < 3; b++)
        for (beta = 0; beta < 2; beta++) {
          problem q = tiled(order, ops[a], ops[b], 2.0f, beta ? -0.5f : 0.0f);
          q.pinned = pinned;
          make(&q);
          check_done(&q);
          cr_assert(q.r.tiles == 12 && q.r.block_m == 32 && q.r.block_n == 32 && q.r.panel_k == 32);
          release(&q);
        }
  nothing_is_left();
}
Test(results, every_op_pageable) { every_op(0); }
Test(results, every_op_pinned) { every_op(1); }

/* Sizes from a single element on, with default options. */
Test(results, sizes) {
  static const int64_t sizes[][3] = {{1, 2, 3}, {1, 300, 7}, {300, 1, 9}, {5, 3, 400}, {130, 67, 1}, {129, 65, 257}};
  unsigned i;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    problem q = problem_of(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_T, sizes[i][0], sizes[i][1], sizes[i][2], 1.0f, 0.5f);
    make(&q);
    check_done(&q);
    cr_assert(q.r.tiles == 1);
    release(&q);
  }
}

/* Panels longer than k and blocks wider than C are cut; one tile with many panels; many tiles with one panel. */
Test(results, blocks_and_panels) {
  static const int64_t cuts[][2] = {{1000, 1000}, {1000, 32}, {32, 1000}, {33, 45}, {1, 83}, {101, 1}};
  unsigned i;
  for (i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    problem q = tiled(SGEMM_COL_MAJOR, SGEMM_T, SGEMM_N, -1.0f, 1.0f);
    if (cuts[i][0] == 1)
      q.p = sgemm_params_init_col(SGEMM_T, SGEMM_N, 7, 9, 83), q.p.beta = 1.0f;
    q.o.block = cuts[i][0];
    q.o.panel = cuts[i][1];
    make(&q);
    check_done(&q);
    release(&q);
  }
}

/* Memory that holds few panels, down to the least. More memory never means more copies. */
Test(results, memory_limits) {
  static const int64_t kib[] = {16, 24, 32, 40, 64, 100, 200, 1000};
  int64_t bytes = INT64_MAX;
  unsigned i;
  for (i = 0; i < sizeof kib / sizeof *kib; i++) {
    problem q = tiled(SGEMM_ROW_MAJOR, SGEMM_T, SGEMM_N, 0.5f, 2.0f);
    q.o.memory_bytes = kib[i] * 1024;
    make(&q);
    check_done(&q);
    cr_assert(q.r.device_bytes <= q.o.memory_bytes);
    cr_assert(q.r.bytes_in <= bytes, "%lld KiB", (long long)kib[i]);
    bytes = q.r.bytes_in;
    release(&q);
  }
  /* With 1000 KiB each element of A, B and C comes in once. */
  cr_assert(bytes == 4 * (75 * 83 + 83 * 101 + 75 * 101), "%lld", (long long)bytes);
}

/* Staging buffers narrower than a row, and rows that fill a buffer in part. */
Test(results, staging) {
  static const int64_t kib[] = {48, 60, 96, 1024};
  unsigned i;
  for (i = 0; i < sizeof kib / sizeof *kib; i++) {
    problem q = problem_of(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 9, 2600, 1500, 1.0f, 1.0f);
    q.o.staging_bytes = kib[i] * 1024;
    q.o.threads = 1 + (int)i;
    q.o.block = 1300;
    make(&q);
    check_done(&q);
    release(&q);
  }
}

Test(results, tensor_modes) {
  int mode;
  for (mode = SGEMM_TENSOR; mode <= SGEMM_TENSOR_FULL; mode++) {
    problem q = problem_of(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_T, 70, 90, 400, 1.0f, 1.0f);
    q.p.mode = mode;
    q.o.block = 64;
    q.o.panel = 160;
    make(&q);
    check_done(&q);
    release(&q);
  }
}

/* Without products C is scaled, and neither A nor B is read. */
Test(results, no_products) {
  static const float betas[] = {0.0f, 0.5f};
  int i;
  for (i = 0; i < 4; i++) {
    problem q = tiled(SGEMM_COL_MAJOR, SGEMM_N, SGEMM_N, i < 2 ? 0.0f : 1.0f, betas[i % 2]);
    if (i >= 2) {
      q.p = sgemm_params_init_col(SGEMM_N, SGEMM_N, 75, 101, 0);
      q.p.beta = betas[i % 2];
    }
    make(&q);
    q.p.A = q.p.B = NULL;
    cr_assert(run(&q) == SGEMM_SUCCESS && q.r.lines_done == 101 && q.r.tiles == 0);
    check_lines(&q, q.C.rows);
    release(&q);
  }
}

Test(results, nothing_to_do) {
  problem q = problem_of(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 0, 5, 6, 1.0f, 0.0f);
  cr_assert(sgemm_host_run(&q.p, NULL, NULL) == SGEMM_SUCCESS);
  q.p = sgemm_params_init(SGEMM_N, SGEMM_N, 4, 5, 0);
  q.p.beta = 1.0f;
  cr_assert(sgemm_host_run(&q.p, NULL, NULL) == SGEMM_SUCCESS);
}

/* An Inf or NaN of A goes to its row of C alone. */
Test(results, nonfinite) {
  static const float values[] = {NAN, INFINITY, -INFINITY};
  int i;
  for (i = 0; i < 3; i++) {
    problem q = tiled(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 1.0f, 0.0f);
    int64_t j;
    make(&q);
    q.A.first[40 * q.A.ld + 50] = values[i];
    cr_assert(run(&q) == SGEMM_SUCCESS);
    for (j = 0; j < 101; j++) {
      const float got = q.C.first[40 * q.C.ld + j], product = values[i] * q.B.first[50 * q.B.ld + j];
      cr_assert(isnan(product) ? isnan(got) : got == product, "element %lld: %g is not %g", (long long)j, (double)got,
                (double)product);
      cr_assert(isfinite(q.C.first[39 * q.C.ld + j]) && isfinite(q.C.first[41 * q.C.ld + j]));
    }
    release(&q);
  }
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

#define REFUSED(symbol, word, change)                                                                                  \
  do {                                                                                                                 \
    problem q = tiled(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 1.0f, 0.0f);                                                  \
    int status;                                                                                                        \
    make(&q);                                                                                                          \
    change;                                                                                                            \
    status = run(&q);                                                                                                  \
    cr_assert(status == (int)symbol, #change ": %s", sgemm_host_error_string(status));                                 \
    cr_assert(strstr(sgemm_host_error_string(status), word) != NULL, "%s", sgemm_host_error_string(status));           \
    check_untouched(&q);                                                                                               \
    release(&q);                                                                                                       \
  } while (0)

Test(arguments, refused) {
  static float x[64];
  static const int twice[] = {0, 0}, absent[] = {99}, negative[] = {-1};
  REFUSED(SGEMM_ERROR_M, "m ", q.p.m = -1);
  REFUSED(SGEMM_ERROR_LDC, "ldc", q.p.ldc = 100);
  REFUSED(SGEMM_ERROR_A, "A ", q.p.A = NULL);
  REFUSED(SGEMM_HOST_ERROR_EPILOGUE, "epilogue", q.p.epilogue = SGEMM_EPILOGUE_gelu);
  REFUSED(SGEMM_HOST_ERROR_D, "D ", q.p.D = x);
  REFUSED(SGEMM_HOST_ERROR_ALPHA_DEVICE, "alpha_device", q.p.alpha_device = x);
  REFUSED(SGEMM_HOST_ERROR_BETA_DEVICE, "beta_device", q.p.beta_device = x);
  REFUSED(SGEMM_HOST_ERROR_BATCH, "batch", q.p.batch = 2; q.p.stride_c = 10000);
  REFUSED(SGEMM_HOST_ERROR_WORKSPACE, "workspace", q.p.workspace = (void *)((uintptr_t)(x + 3) / 16 * 16));
  REFUSED(SGEMM_HOST_ERROR_PREPARED, "prepared", q.p.mode = SGEMM_TENSOR;
          q.p.prepared_b = (void *)((uintptr_t)(x + 3) / 16 * 16));
  REFUSED(SGEMM_HOST_ERROR_MEMORY_LIMIT, "memory_bytes", q.o.memory_bytes = -1);
  REFUSED(SGEMM_HOST_ERROR_MEMORY_LIMIT, "memory_bytes", q.o.memory_bytes = 4096);
  REFUSED(SGEMM_HOST_ERROR_DEVICES, "device_count", q.o.device_count = 17);
  REFUSED(SGEMM_HOST_ERROR_DEVICES, "devices", q.o.device_count = 1);
  REFUSED(SGEMM_HOST_ERROR_DEVICES, "devices", q.o.device_count = 2; q.o.devices = twice);
  REFUSED(SGEMM_HOST_ERROR_DEVICES, "devices", q.o.device_count = 1; q.o.devices = negative);
  REFUSED(SGEMM_HOST_ERROR_DEVICES, "devices", q.o.device_count = 1; q.o.devices = absent);
  REFUSED(SGEMM_HOST_ERROR_BLOCK, "block", q.o.block = -1);
  REFUSED(SGEMM_HOST_ERROR_PANEL, "panel", q.o.panel = -1);
  REFUSED(SGEMM_HOST_ERROR_THREADS, "threads", q.o.threads = 257);
  REFUSED(SGEMM_HOST_ERROR_STAGING, "staging_bytes", q.o.staging_bytes = 4096);
  nothing_is_left();
}

Test(arguments, null) {
  cr_assert(sgemm_host_run(NULL, NULL, NULL) == SGEMM_ERROR_PARAMS);
  cr_assert(sgemm_host_check(NULL, NULL) == SGEMM_ERROR_PARAMS);
  cr_assert(strcmp(sgemm_host_error_string(SGEMM_SUCCESS), "success") == 0);
  cr_assert(sgemm_host_error_string(-5) != NULL);
}

/* ---- Progress ---------------------------------------------------------------------------------------------------- */

typedef struct record {
  int64_t calls, stop_at, area, last;
  int64_t wrong; /* calls with another number than the next one */
  sgemm_host_progress first;
} record;

static int progress(void *context, const sgemm_host_progress *now) {
  record *r = (record *)context;
  if (r->calls == 0)
    r->first = *now;
  r->calls++;
  r->wrong += now->done != r->calls;
  r->area += now->rows * now->cols;
  r->last = now->total;
  return r->calls == r->stop_at;
}

Test(progress, counts) {
  record r;
  problem q = tiled(SGEMM_COL_MAJOR, SGEMM_N, SGEMM_T, 1.0f, 0.0f);
  memset(&r, 0, sizeof r);
  q.o.progress = progress;
  q.o.context = &r;
  make(&q);
  check_done(&q);
  cr_assert(r.calls == 12 && r.wrong == 0 && r.last == 12 && r.area == 75 * 101);
  cr_assert(r.first.row == 0 && r.first.col == 0 && r.first.rows == 32 && r.first.cols == 32);
  release(&q);
}

/* A call that is cancelled in the callback of tile `stop_at`, with `memory` bytes on the device, 0 for the default. */
static problem cancelled(int64_t stop_at, int64_t memory) {
  record r;
  problem q = tiled(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 1.0f, 0.0f);
  int status;
  memset(&r, 0, sizeof r);
  r.stop_at = stop_at;
  q.o.progress = progress;
  q.o.context = &r;
  q.o.memory_bytes = memory;
  make(&q);
  status = run(&q);
  cr_assert(status == (stop_at < 12 ? (int)SGEMM_HOST_CANCELLED : (int)SGEMM_SUCCESS));
  cr_assert(r.calls == stop_at, "called again after it cancelled");
  cr_assert(r.wrong == 0);
  return q;
}

/* After a cancel the tiles on their way are out, no others are begun, and the next call works. */
Test(progress, cancels) {
  int64_t stop_at;
  for (stop_at = 1; stop_at <= 12; stop_at++) {
    problem q = cancelled(stop_at, 0);
    cr_assert(q.r.tiles_done >= stop_at && q.r.tiles_done <= stop_at + 3);
    cr_assert(q.r.lines_done <= 75 && (q.r.tiles_done < 4 || q.r.lines_done >= 32));
    check_lines(&q, q.r.lines_done);
    release(&q);
  }
  nothing_is_left();
}

/* With memory for one result no tile is on its way while another goes out, so that the finished tiles and lines follow
   from the tile of the cancel, in rows of four tiles of 32 lines. */
Test(progress, cancels_with_one_result) {
  int64_t stop_at;
  for (stop_at = 1; stop_at <= 12; stop_at++) {
    problem q = cancelled(stop_at, 16 * 1024);
    const int64_t lines = stop_at == 12 ? 75 : stop_at / 4 * 32;
    cr_assert(q.r.block_m == 32 && q.r.block_n == 32, "%lld x %lld", (long long)q.r.block_m, (long long)q.r.block_n);
    cr_assert(q.r.tiles_done == stop_at, "%lld tiles", (long long)q.r.tiles_done);
    cr_assert(q.r.lines_done == lines, "%lld lines, not %lld", (long long)q.r.lines_done, (long long)lines);
    check_lines(&q, q.r.lines_done);
    release(&q);
  }
  nothing_is_left();
}

#if !defined(MACHINE_CUDA) /* CUDA has threads of its own */
/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static int see_threads(void *context, const sgemm_host_progress *now) {
  pid_t thread[64];
  *(int *)context = other_threads(thread);
  (void)now;
  return 0;
}

/* By default a call has a copying thread for each CPU that the process may use, the caller's among them, and a thread
   that stores. The system may list a thread for a moment after it was joined. */
Test(threads, by_default) {
  cpu_set_t all, some;
  pid_t thread[64];
  const int before = other_threads(thread);
  int cpu, cpus = 0, i;
  cr_assert(sched_getaffinity(0, sizeof all, &all) == 0);
  CPU_ZERO(&some);
  for (cpu = 0; cpu < CPU_SETSIZE && cpus < 3; cpu++)
    if (CPU_ISSET(cpu, &all)) {
      problem q = tiled(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 1.0f, 0.0f);
      int during = 0;
      CPU_SET(cpu, &some);
      cpus++;
      cr_assert(sched_setaffinity(0, sizeof some, &some) == 0);
      q.o.threads = 0;
      q.o.progress = see_threads;
      q.o.context = &during;
      make(&q);
      check_done(&q);
      cr_assert(during == before + cpus, "%d threads more on %d CPUs", during - before, cpus);
      release(&q);
      nothing_is_left();
      for (i = 0; i < 20000 && other_threads(thread) > before; i++)
        nap(1);
      cr_assert(i < 20000, "a thread is left");
    }
}
#endif

/* ---- Plan -------------------------------------------------------------------------------------------------------- */

static int64_t no_workspace(const sgemm_params *p) {
  (void)p;
  return 0;
}
static int64_t a_workspace(const sgemm_params *p) { return 4 * (p->lda * p->m + p->ldb * p->k); }

static sgemm_host__plan plan_of(int64_t m, int64_t n, int64_t k, int mode, double gib, int devices) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, m, n, k);
  sgemm_host__limits limits = {(int64_t)(gib * 1073741824.0), devices, 0, 0, a_workspace};
  sgemm_host__plan plan;
  p.mode = mode;
  cr_assert(sgemm_host__plan_make(&p, &limits, &plan));
  cr_assert(plan.bytes <= limits.memory_bytes);
  cr_assert(plan.bytes == plan.workspace_bytes + plan.results * plan.result_bytes + plan.panels * plan.panel_bytes);
  return plan;
}

Test(plan, large) {
  const sgemm_host__plan a = plan_of(32768, 32768, 32768, SGEMM_STRICT, 100.0, 1);
  const sgemm_host__plan t = plan_of(32768, 32768, 32768, SGEMM_TENSOR, 100.0, 1);
  cr_assert(a.block_m == 8192 && a.block_n == 8192 && a.panel_k == 2048 && a.results == 3);
  cr_assert(a.panels == 2 * 4 * 16, "every panel has a place");
  cr_assert(t.panel_k == 4096);
}

Test(plan, limited) {
  const sgemm_host__plan a = plan_of(65536, 65536, 16384, SGEMM_STRICT, 16.0, 1);
  const sgemm_host__plan b = plan_of(65536, 65536, 16384, SGEMM_STRICT, 1.0, 1);
  cr_assert(a.block_m == 8192 && a.block_n == 8192 && a.panels >= 4 * a.panels_k);
  cr_assert(b.block_m >= 2048 && b.panels >= 4 && b.results >= 2);
}

/* A C that is cut for lack of memory has a second place, so that a tile is computed while the one before goes out. */
Test(plan, cut) {
  const sgemm_host__plan a = plan_of(3000, 3000, 3000, SGEMM_STRICT, 1.0 / 32.0, 1);
  cr_assert(a.tiles_m * a.tiles_n > 1 && a.results >= 2 && a.panels >= 4);
}

/* Every limit has a plan that fits, or none. Less memory never means larger tiles. */
Test(plan, every_limit) {
  static const int64_t sizes[][3] = {{100000, 90000, 80000}, {3, 5, 7}, {1, 1000000, 17}, {40000, 50, 100}};
  unsigned i;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_T, sizes[i][0], sizes[i][1], sizes[i][2]);
    int64_t bytes, area = INT64_MAX;
    for (bytes = (int64_t)1 << 37; bytes >= 16 * 1024; bytes = bytes / 3 * 2) {
      const sgemm_host__limits limits = {bytes, 1, 0, 0, a_workspace};
      sgemm_host__plan plan;
      cr_assert(sgemm_host__plan_make(&p, &limits, &plan), "%lld bytes", (long long)bytes);
      cr_assert(plan.bytes <= bytes && plan.panels >= (plan.tiles_m * plan.tiles_n * plan.panels_k > 0 ? 2 : 0));
      cr_assert(plan.block_m * plan.block_n <= area);
      area = plan.block_m * plan.block_n;
    }
  }
}

Test(plan, too_small) {
  const sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 100, 100, 100);
  const sgemm_host__limits limits = {3 * 4096 - 1, 1, 0, 0, no_workspace};
  sgemm_host__plan plan;
  cr_assert(!sgemm_host__plan_make(&p, &limits, &plan));
}

/* Each of several devices has at least 4 tiles, where the sizes allow it. */
Test(plan, devices) {
  const sgemm_host__plan a = plan_of(16384, 16384, 16384, SGEMM_STRICT, 50.0, 8);
  const sgemm_host__plan b = plan_of(1000, 64000, 500, SGEMM_STRICT, 50.0, 4);
  cr_assert(a.tiles_m * a.tiles_n >= 32);
  cr_assert(b.tiles_m == 1 && b.tiles_n >= 16);
}

/* ---- Queue ------------------------------------------------------------------------------------------------------- */

/* Several GPUs take every tile once, and one GPU walks to and fro. */
Test(queue, every_tile_once) {
  int gpus;
  for (gpus = 1; gpus <= 5; gpus++) {
    sgemm_host__tile tile[5];
    int taken[4][7], g, i, j, tiles = 0;
    sgemm_host__queue queue;
    memset(taken, 0, sizeof taken);
    memset(tile, 0, sizeof tile);
    cr_assert(sgemm_host__queue_make(&queue, 4, 7));
    for (g = 0; g < gpus; g++)
      tile[g].row = -1;
    for (g = 0; sgemm_host__queue_take(&queue, &tile[g]); g = (g + 1) % gpus) {
      if (gpus == 1) {
        cr_assert(tile[0].row == tiles / 7);
        cr_assert(tile[0].col == (tiles / 7 % 2 == 0 ? tiles % 7 : 6 - tiles % 7));
      }
      taken[tile[g].row][tile[g].col]++;
      tiles++;
    }
    for (i = 0; i < 4; i++)
      for (j = 0; j < 7; j++)
        cr_assert(taken[i][j] == 1);
    sgemm_host__queue_drop(&queue);
  }
}

/* The use that is predicted for a panel is the one that comes, for one GPU, within the present row of tiles and the
   next. */
Test(queue, next_use) {
  sgemm_host__tile path[20], tile;
  sgemm_host__queue queue;
  int tiles = 0, i, j, operand;
  int64_t block;
  memset(&tile, 0, sizeof tile);
  tile.row = -1;
  cr_assert(sgemm_host__queue_make(&queue, 4, 5));
  while (sgemm_host__queue_take(&queue, &tile))
    path[tiles++] = tile;
  cr_assert(tiles == 20);
  for (i = 0; i < tiles; i++)
    for (operand = 0; operand < 2; operand++)
      for (block = 0; block < (operand == 0 ? 4 : 5); block++) {
        const int64_t predicted = sgemm_host__next_use(&path[i], operand, block, 1);
        for (j = i + 1; j < tiles && (operand == 0 ? path[j].row : path[j].col) != block; j++)
          ;
        if (j < tiles && path[j].row > path[i].row + 1)
          j = tiles;
        cr_assert(predicted == (j < tiles ? j - i : -1), "tile %d: %lld", i, (long long)predicted);
        if (block == (operand == 0 ? path[i].row : path[i].col))
          cr_assert(sgemm_host__next_use(&path[i], operand, block, 0) == 0);
      }
  sgemm_host__queue_drop(&queue);
}

/* ---- Pages ------------------------------------------------------------------------------------------------------- */

enum { MIB = 1 << 20 };
static int64_t page_bytes(void) { return (int64_t)sysconf(_SC_PAGESIZE); }

/* Memory of which no page is present. Without huge pages, so that each page shows what was done to it. Skips the test
   if the kernel cannot prefault. */
static char *fresh(int64_t bytes) {
  char *memory = (char *)mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cr_assert(memory != MAP_FAILED);
  madvise(memory, (size_t)bytes, MADV_NOHUGEPAGE); /* an error means that the kernel has no huge pages */
  if (madvise(memory, (size_t)page_bytes(), MADV_POPULATE_WRITE) != 0) {
    fprintf(stderr, "skipped: MADV_POPULATE_WRITE fails\n"); /* mutants_test.sh reads it; Criterion prints no reason */
    cr_skip_test("MADV_POPULATE_WRITE fails: a kernel before Linux 5.14");
  }
  cr_assert(madvise(memory, (size_t)page_bytes(), MADV_DONTNEED) == 0);
  return memory;
}

/* Reads which pages are present, a byte for each. Returns how many are. */
static int64_t residency(char *memory, int64_t bytes, unsigned char *pages) {
  const int64_t count = sgemm__ceil_div(bytes, page_bytes());
  int64_t i, sum = 0;
  cr_assert(mincore(memory, (size_t)bytes, pages) == 0);
  for (i = 0; i < count; i++)
    sum += pages[i] &= 1;
  return sum;
}

static int64_t present(char *memory, int64_t bytes) {
  unsigned char *pages = (unsigned char *)malloc((size_t)sgemm__ceil_div(bytes, page_bytes()));
  const int64_t sum = residency(memory, bytes, pages);
  free(pages);
  return sum;
}

/* Waits until `least` pages are present, 20 s or more at most. Returns 1 if they are. */
static int become_present(char *memory, int64_t bytes, int64_t least) {
  int i;
  for (i = 0; i < 20000 && present(memory, bytes) < least; i++)
    nap(1);
  return i < 20000;
}

static sgemm_host__copy area_of(char *to, int64_t width, int64_t pitch, int64_t rows) {
  sgemm_host__copy area;
  memset(&area, 0, sizeof area);
  area.to = to;
  area.to_pitch = (size_t)pitch;
  area.width = (size_t)width;
  area.rows = rows;
  return area;
}

/* Prefaults a rectangle that begins `offset` bytes behind a multiple of 2 MiB, the bytes that one thread prefaults: the
   pages that overlap it are present then, no other page is, and contents are as before. */
static void prefaults(int64_t offset, int64_t width, int64_t pitch, int64_t rows) {
  const int64_t page = page_bytes(), span = (rows - 1) * pitch + width;
  const int64_t pages = sgemm__ceil_div(5 * MIB + offset + span, page), bytes = pages * page;
  char *memory = fresh(bytes), *expected = (char *)calloc(1, (size_t)pages);
  const int64_t head = 4 * MIB - (int64_t)((uintptr_t)memory % (2 * MIB)) + offset;
  const sgemm_host__copy area = area_of(memory + head, width, pitch, rows);
  sgemm_host__pool *pool = sgemm_host__pool_make(4);
  unsigned char *there = (unsigned char *)malloc((size_t)pages);
  int64_t i, j, count = 0, written = 0;
  for (i = 0; i < rows; i++)
    for (j = (head + i * pitch) / page; j <= (head + i * pitch + width - 1) / page; j++)
      expected[j] = 1;
  for (i = 0; i < pages; i++)
    count += expected[i];
  for (i = 0; i < rows; i += 5)
    area.to[i * pitch] = (char)(1 + i % 100);
  sgemm_host__pool_prefault(pool, &area);
  cr_assert(become_present(memory, bytes, count), "%lld of %lld pages", (long long)present(memory, bytes),
            (long long)count);
  sgemm_host__pool_prefault_end(pool);
  residency(memory, bytes, there);
  for (i = 0; i < pages; i++)
    cr_assert(there[i] == expected[i], "page %lld of %lld is %s", (long long)i, (long long)pages,
              there[i] ? "present" : "absent");
  for (i = 0; i < rows; i += 5) {
    cr_assert(area.to[i * pitch] == (char)(1 + i % 100), "row %lld", (long long)i);
    area.to[i * pitch] = 0;
  }
  for (i = 0; i < bytes; i++)
    written += memory[i] != 0;
  cr_assert(written == 0, "%lld bytes are written", (long long)written);
  sgemm_host__pool_drop(pool);
  munmap(memory, (size_t)bytes);
  free(expected);
  free(there);
}

/* Rows with whole pages between them, at and beside the beginnings of pages; rows that share pages; rows without
   padding; rows longer than 2 MiB; 2 MiB without a row; a row around a multiple of 2 MiB. */
Test(pool, prefaults) {
  const int64_t page = page_bytes();
  prefaults(100, 3 * page + 52, 8 * page + 24, 300);
  prefaults(0, 2 * page, 3 * page, 700);
  prefaults(8, 4, 2 * page + 4, 900);
  prefaults(page - 4, 8, page + 4, 700);
  prefaults(0, 2 * page, 2 * page, 1000);
  prefaults(4, 40, 40, 200000);
  prefaults(12, 5 * MIB, 5 * MIB + 3 * page, 3);
  prefaults(12, page, 5 * MIB, 4);
  prefaults(4, 10 * page, 10 * page, 1);
  prefaults(2 * MIB - page, 2 * page, 2 * page, 1);
  prefaults(2 * MIB - 4, 8, 2 * MIB, 3);
}

/* One thread prefaults when every copy is done, and not before. */
Test(pool, copies_come_first) {
  enum { COPIES = 8 };
  const int64_t bytes = 4 * MIB, all = COPIES * bytes / page_bytes();
  char *from = (char *)calloc(1, (size_t)bytes), *to = fresh(COPIES * bytes), *C = fresh(bytes);
  const sgemm_host__copy area = area_of(C, bytes, bytes, 1);
  sgemm_host__pool *pool = sgemm_host__pool_make(2);
  int job[COPIES], i;
  for (i = 0; i < COPIES; i++) {
    sgemm_host__copy copy = area_of(to + i * bytes, 4096, 4096, bytes / 4096);
    copy.from = from;
    copy.from_pitch = 4096;
    job[i] = sgemm_host__pool_begin(pool, &copy);
  }
  sgemm_host__pool_prefault(pool, &area);
  cr_assert(become_present(C, bytes, 1));
  cr_assert(present(to, COPIES * bytes) == all, "prefaulted before a copy");
  for (i = 0; i < COPIES; i++)
    sgemm_host__pool_wait(pool, job[i]);
  sgemm_host__pool_prefault_end(pool);
  sgemm_host__pool_drop(pool);
  munmap(to, (size_t)(COPIES * bytes));
  munmap(C, (size_t)bytes);
  free(from);
}

/* A thread is held in a copy until a second copy and a prefault wait for it: it copies first. */
static char *area_to_prefault;
static int64_t pages_at_copy = -1;
static void see_pages(void) { __atomic_store_n(&pages_at_copy, present(area_to_prefault, 4 * MIB), __ATOMIC_SEQ_CST); }

Test(pool, held_thread_copies_first) {
  const int64_t page = page_bytes();
  char *from = (char *)calloc(1, (size_t)page), *to = fresh(2 * page);
  sgemm_host__pool *pool = sgemm_host__pool_make(2);
  sgemm_host__copy area;
  int job[2], i;
  area_to_prefault = fresh(4 * MIB);
  area = area_of(area_to_prefault, 4 * MIB, 4 * MIB, 1);
  cr_assert(pipe(arrived) == 0 && pipe(leaving) == 0);
  set_trap(0, to, page, PROT_NONE, hold);
  set_trap(1, to + page, page, PROT_NONE, see_pages);
  for (i = 0; i < 2; i++) {
    sgemm_host__copy copy = area_of(to + i * page, page, page, 1);
    copy.from = from;
    copy.from_pitch = (size_t)page;
    job[i] = sgemm_host__pool_begin(pool, &copy);
    if (i == 0)
      wait_for_arrival();
  }
  sgemm_host__pool_prefault(pool, &area);
  let_go();
  for (i = 0; i < 20000 && __atomic_load_n(&pages_at_copy, __ATOMIC_SEQ_CST) < 0; i++)
    nap(1);
  cr_assert(pages_at_copy == 0, "%lld pages were prefaulted before the second copy", (long long)pages_at_copy);
  for (i = 0; i < 2; i++)
    sgemm_host__pool_wait(pool, job[i]);
  sgemm_host__pool_prefault_end(pool);
  sgemm_host__pool_drop(pool);
  munmap(to, (size_t)(2 * page));
  munmap(area_to_prefault, 4 * MIB);
  free(from);
}

/* A thread that waits for a copy returns when the copy is done. Without another thread nothing is prefaulted. */
Test(pool, waiting_does_not_prefault) {
  char from[100] = "content", to[100] = "", *C = fresh(4 * MIB);
  const sgemm_host__copy area = area_of(C, 4 * MIB, 4 * MIB, 1);
  sgemm_host__copy copy = area_of(to, 100, 100, 1);
  sgemm_host__pool *pool = sgemm_host__pool_make(1);
  copy.from = from;
  copy.from_pitch = 100;
  sgemm_host__pool_prefault(pool, &area);
  sgemm_host__pool_wait(pool, sgemm_host__pool_begin(pool, &copy));
  cr_assert(memcmp(from, to, 100) == 0 && present(C, 4 * MIB) == 0);
  sgemm_host__pool_prefault_end(pool);
  sgemm_host__pool_drop(pool);
  munmap(C, 4 * MIB);
}

/* Fails if pages of the memory become present until all other threads sleep. */
static void nothing_goes_on(char *memory, int64_t bytes) {
  unsigned char *pages = (unsigned char *)malloc((size_t)sgemm__ceil_div(bytes, page_bytes()));
  const int64_t before = residency(memory, bytes, pages);
  cr_assert(others_sleep());
  cr_assert(residency(memory, bytes, pages) == before, "pages become present after the end");
  free(pages);
}

/* The end waits for the threads that prefault and drops the rest, and the next rectangle can begin. A machine that
   stops this thread for long may have nothing left to drop, but not each time. */
Test(pool, prefault_ends) {
  const int64_t bytes = 256 * MIB;
  sgemm_host__pool *pool = sgemm_host__pool_make(3);
  int i, dropped = 0;
  sgemm_host__pool_prefault_end(NULL);
  sgemm_host__pool_prefault_end(pool);
  for (i = 0; i < 20; i++) {
    char *memory = fresh(bytes);
    const sgemm_host__copy area = area_of(memory, bytes, bytes, 1);
    sgemm_host__pool_prefault(pool, &area);
    cr_assert(become_present(memory + bytes - 4 * MIB, 4 * MIB, 1));
    sgemm_host__pool_prefault_end(pool);
    nothing_goes_on(memory + bytes - 32 * MIB, 32 * MIB);
    dropped += present(memory, 4 * MIB) == 0;
    munmap(memory, (size_t)bytes);
  }
  cr_assert(dropped > 0, "the end prefaults all that is left");
  sgemm_host__pool_drop(pool);
}

/* Memory that cannot be written or is not mapped ends the prefaulting, and has no other effect: not on its contents,
   and not on the next rectangle or copy. */
Test(pool, prefault_is_refused) {
  const int64_t bytes = 8 * MIB;
  sgemm_host__pool *pool = sgemm_host__pool_make(2);
  int unmapped;
  for (unmapped = 0; unmapped < 2; unmapped++) {
    char *memory = fresh(bytes), *end = memory + bytes - 4 * MIB;
    const sgemm_host__copy area = area_of(memory, bytes, bytes, 1), good = area_of(memory, bytes / 2, bytes / 2, 1);
    end[0] = 3;
    cr_assert((unmapped ? munmap(end, 4 * MIB) : mprotect(end, 4 * MIB, PROT_READ)) == 0);
    sgemm_host__pool_prefault(pool, &area);
    cr_assert(others_sleep());
    sgemm_host__pool_prefault_end(pool);
    cr_assert(present(memory, 4 * MIB) == 0, "went on after an error");
    cr_assert(unmapped || (end[0] == 3 && end[1] == 0 && present(end, 4 * MIB) == 1));
    sgemm_host__pool_prefault(pool, &good);
    cr_assert(become_present(memory, 4 * MIB, 4 * MIB / page_bytes()));
    sgemm_host__pool_prefault_end(pool);
    munmap(memory, (size_t)bytes);
  }
  sgemm_host__pool_drop(pool);
}

/* ---- Without a GPU ----------------------------------------------------------------------------------------------- */

#if defined(MACHINE_CUDA)
/* Without a GPU only the suites that need none run. With SGEMM_REQUIRE_GPU=1 all run, and fail. */
ReportHook(PRE_ALL)(struct criterion_test_set *tests) {
  const char *required = getenv("SGEMM_REQUIRE_GPU");
  int count = 0;
  if ((cudaGetDeviceCount(&count) == cudaSuccess && count > 0) || (required != NULL && strcmp(required, "1") == 0))
    return;
  fprintf(stderr, "no GPU: the tests that need one are skipped\n");
  FOREACH_SET(struct criterion_suite_set * suite, tests->suites) {
    FOREACH_SET(struct criterion_test * test, suite->tests) {
      if (strcmp(test->category, "plan") != 0 && strcmp(test->category, "queue") != 0 &&
          strcmp(test->category, "pool") != 0)
        test->data->disabled = true;
    }
  }
}
#endif

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

/* The memory in use does not grow, and what a call keeps the next one uses. */
Test(calls, thousand) {
  int i;
  for (i = 0; i < 1000; i++) {
    problem q = problem_of(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 5 + i % 7, 9, 4 + i % 3, 1.0f, 0.0f);
    q.o.memory_bytes = 1 << 20;
    q.o.staging_bytes = 1 << 20;
    make(&q);
    check_done(&q);
    release(&q);
#if !defined(MACHINE_CUDA)
    cr_assert(fake.allocations == 1 && fake.pins == 1 && fake.streams == 3);
    cr_assert(fake.calls[SGEMM_HOST__FAKE_PIN] == 1 && fake.calls[SGEMM_HOST__FAKE_ALLOC] <= 7);
#endif
  }
  nothing_is_left();
}

/* ---- Pages of C -------------------------------------------------------------------------------------------------- */

/* A call with a fresh C of m rows of 4 KiB, and its callback, which cancels the call after the first row of tiles. A
   tile is 64 x 64, and a row has 16. */
typedef struct fresh_call {
  problem q;
  char *C;
  int64_t bytes;
  int waits;          /* the callback waits until the other threads sleep, after the first tile and before it cancels */
  int awake;          /* times that it waited in vain */
  int64_t early, all; /* pages of the second half of C after the first tile, and of C at the cancel, that are present */
} fresh_call;

static int cancel_second_row(void *context, const sgemm_host_progress *now) {
  fresh_call *f = (fresh_call *)context;
  if (f->waits && (now->done == 1 || now->done == 16))
    f->awake += !others_sleep();
  if (now->done == 1)
    f->early = present(f->C + f->bytes / 2, f->bytes / 2);
  if (now->done == 16)
    f->all = present(f->C, f->bytes);
  return now->done >= 16;
}

static void run_fresh(fresh_call *f, int order, int64_t m, float beta, int waits) {
  f->q = problem_of(order, SGEMM_N, SGEMM_N, order == SGEMM_ROW_MAJOR ? m : 1024, order == SGEMM_ROW_MAJOR ? 1024 : m,
                    1, 1.0f, beta);
  f->bytes = 4096 * m;
  f->C = fresh(f->bytes);
  f->waits = waits;
  f->awake = 0;
  f->q.p.A = (float *)calloc((size_t)sgemm__max(m, 1024), 4);
  f->q.p.B = (float *)calloc((size_t)sgemm__max(m, 1024), 4);
  f->q.p.C = (float *)f->C;
  f->q.o.block = 64;
  f->q.o.threads = 2;
  f->q.o.staging_bytes = MIB;
  f->q.o.progress = cancel_second_row;
  f->q.o.context = f;
  cr_assert(run(&f->q) == SGEMM_HOST_CANCELLED);
  cr_assert(f->awake == 0, "a thread works for 20 s");
}

static void release_fresh(fresh_call *f) {
  free((void *)f->q.p.A);
  free((void *)f->q.p.B);
  munmap(f->C, (size_t)f->bytes);
}

/* With beta = 0 every page of C becomes present when the first row of tiles has its panels, and not before. */
Test(pages, of_c_become_present) {
  int order;
  for (order = SGEMM_ROW_MAJOR; order <= SGEMM_COL_MAJOR; order++) {
    fresh_call f;
    run_fresh(&f, order, 2048, 0.0f, 1);
    cr_assert(f.all == f.bytes / page_bytes(), "%lld of %lld KiB", (long long)f.all * page_bytes() / 1024,
              (long long)f.bytes / 1024);
    cr_assert(f.early == 0, "%lld pages are present after the first tile", (long long)f.early);
    release_fresh(&f);
  }
}

/* A C that is read, a small C and a C in pinned memory are not prefaulted: pages far behind the first tiles are
   absent. */
Test(pages, of_other_c_stay_absent) {
  static const struct {
    int64_t m;
    float beta;
    int pinned;
  } cases[] = {{2048, 1.0f, 0}, {1000, 0.0f, 0}, {2048, 0.0f, 1}};
  unsigned i;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    fresh_call f;
#if defined(MACHINE_CUDA)
    if (cases[i].pinned) /* pinned memory of CUDA is always present */
      continue;
#else
    fake.pinned = cases[i].pinned;
#endif
    run_fresh(&f, SGEMM_ROW_MAJOR, cases[i].m, cases[i].beta, 1);
    cr_assert(present(f.C + f.bytes / 2, f.bytes / 2) == 0, "case %u", i);
    release_fresh(&f);
  }
}

/* A call that ends before all of C is present leaves no thread that works on C. */
Test(pages, are_left_alone_after_the_call) {
  int i;
  for (i = 0; i < 10; i++) {
    fresh_call f;
    run_fresh(&f, SGEMM_ROW_MAJOR, 65536, 0.0f, 0);
    nothing_goes_on(f.C, f.bytes);
    release_fresh(&f);
  }
}

#if !defined(MACHINE_CUDA)
/* The copying thread is held while a call plans to prefault C and ends. It leaves C alone when it goes on. */
static void hold_on_signal(int number) {
  (void)number;
  hold();
}
Test(pages, are_left_alone_by_a_held_thread) {
  struct sigaction action;
  pid_t before[64], after[64];
  const int count = other_threads(before);
  fresh_call first, f;
  int i, j, worker = -1;
  memset(&action, 0, sizeof action);
  action.sa_handler = hold_on_signal;
  action.sa_flags = SA_RESTART;
  cr_assert(sigaction(SIGUSR1, &action, NULL) == 0 && pipe(arrived) == 0 && pipe(leaving) == 0);
  run_fresh(&first, SGEMM_ROW_MAJOR, 2048, 0.0f, 0); /* its copying thread is kept for the next call */
  for (i = 0; i < 20000 && other_threads(after) > count + 1; i++)
    nap(1);
  cr_assert(other_threads(after) == count + 1);
  for (i = 0; i <= count; i++) {
    for (j = 0; j < count && before[j] != after[i]; j++)
      ;
    worker = j == count ? (int)after[i] : worker;
  }
  cr_assert(worker > 0 && syscall(SYS_tgkill, getpid(), worker, SIGUSR1) == 0);
  wait_for_arrival();
  run_fresh(&f, SGEMM_ROW_MAJOR, 2048, 0.0f, 0);
  let_go();
  cr_assert(others_sleep());
  cr_assert(present(f.C + f.bytes / 2, f.bytes / 2) == 0, "pages become present after the call");
  release_fresh(&first);
  release_fresh(&f);
}
#endif

/* The result of a call whose C is prefaulted, with padding and without fresh memory. */
Test(pages, with_content) {
  problem q = problem_of(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 1100, 1000, 3, 1.0f, 0.0f);
  make(&q);
  check_done(&q);
  release(&q);
}

#if !defined(MACHINE_CUDA)
#include "tests/adapter_host_fake.h"
#endif
