/* adapter_blas_test.c CASE: a program that calls BLAS and knows nothing of the adapter. adapter_blas_test.sh links it
   with the stand-in of fake_blas.c, preloads the adapter over the CPU model, and sets the adapter's environment. All
   values are small integers, so that every way to compute a result gives the same bits. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "adapters/host/device_cpu.h"
#include "expect.h"
#include "fake_blas.h"

/* The devices of the adapter. */
static sgemm_host__fake *devices(void) {
  sgemm_host__fake *state = (sgemm_host__fake *)dlsym(RTLD_DEFAULT, "sgemm_host__fake_state");
  if (state == NULL) {
    puts("the adapter over the CPU model is not preloaded");
    exit(1);
  }
  return state;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

enum { FORTRAN = 4, NAMES = 9 }; /* names like sgemm_(), which come first; all names */

static const char *const names[] = {
#define NAME(name, integer) #name,
    FAKE_BLAS_FORTRAN(NAME) FAKE_BLAS_C(NAME)
#undef NAME
};

typedef struct problem {
  int name, order; /* of `names`; CblasRowMajor or CblasColMajor */
  char transa, transb;
  int64_t m, n, k, lda, ldb, ldc;
  float alpha, beta;
  float *A, *B, *C, *start; /* start: what C is before the call */
  int64_t c_count;
} problem;

static int c_trans(char trans) {
  return strchr("Nn", trans) ? 111 : strchr("Tt", trans) ? 112 : strchr("Cc", trans) ? 113 : 99;
}

static void call(const problem *q) {
  int number = 0;
#define CALL(function, integer)                                                                                        \
  if (q->name == number++) {                                                                                           \
    const integer m = (integer)q->m, n = (integer)q->n, k = (integer)q->k;                                             \
    const integer lda = (integer)q->lda, ldb = (integer)q->ldb, ldc = (integer)q->ldc;                                 \
    function(&q->transa, &q->transb, &m, &n, &k, &q->alpha, q->A, &lda, q->B, &ldb, &q->beta, q->C, &ldc);             \
  }
  FAKE_BLAS_FORTRAN(CALL)
#undef CALL
#define CALL(function, integer)                                                                                        \
  if (q->name == number++)                                                                                             \
    function(q->order, c_trans(q->transa), c_trans(q->transb), (integer)q->m, (integer)q->n, (integer)q->k, q->alpha,  \
             q->A, (integer)q->lda, q->B, (integer)q->ldb, q->beta, q->C, (integer)q->ldc);
  FAKE_BLAS_C(CALL)
#undef CALL
}

/* ---- Problems ---------------------------------------------------------------------------------------------------- */

static float value_of(int64_t i) { return (float)((i * 7 + i / 3) % 11 - 5); }

static float *filled(int64_t count, int64_t seed) {
  float *X = (float *)malloc((size_t)count * sizeof *X);
  int64_t i;
  for (i = 0; i < count; i++)
    X[i] = value_of(i + seed);
  return X;
}

/* Rows or columns of a matrix that lie `ld` apart. */
static int64_t lines(const problem *q, int trans, int64_t rows, int64_t columns) {
  return (q->order == 101) == !trans ? rows : columns;
}
static int is_trans(char trans) { return strchr("Nn", trans) == NULL; }

static problem problem_of(int name, int order, char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha,
                          float beta) {
  problem q = {name, order, transa, transb, m, n, k, 0, 0, 0, alpha, beta, NULL, NULL, NULL, NULL, 0};
  int64_t i;
  q.lda = lines(&q, !is_trans(transa), m, k) + 3;
  q.ldb = lines(&q, !is_trans(transb), k, n) + 5;
  q.ldc = lines(&q, 1, m, n) + 2;
  q.A = filled(q.lda * lines(&q, is_trans(transa), m, k), 1);
  q.B = filled(q.ldb * lines(&q, is_trans(transb), k, n), 2);
  q.c_count = q.ldc * lines(&q, 0, m, n);
  q.C = filled(q.c_count, 3);
  for (i = 0; i < q.c_count && beta == 0.0f; i++)
    q.C[i] = NAN;
  q.start = (float *)malloc((size_t)q.c_count * sizeof *q.start);
  memcpy(q.start, q.C, (size_t)q.c_count * sizeof *q.start);
  return q;
}

static void drop(problem *q) {
  free(q->A);
  free(q->B);
  free(q->C);
  free(q->start);
}

static float at(const problem *q, const float *X, int trans, int64_t ld, int64_t row, int64_t column) {
  return (q->order == 101) == !trans ? X[row * ld + column] : X[column * ld + row];
}

/* C has the result, and what lies between its rows or columns is as before. */
static void check(const problem *q) {
  const int by_rows = q->order == 101;
  int64_t line, place, wrong = 0;
  for (line = 0; line < (by_rows ? q->m : q->n); line++)
    for (place = 0; place < q->ldc; place++) {
      const int64_t i = by_rows ? line : place, j = by_rows ? place : line, at_c = line * q->ldc + place;
      double wanted = 0.0;
      int64_t l;
      if (place >= (by_rows ? q->n : q->m)) {
        wrong += memcmp(&q->C[at_c], &q->start[at_c], sizeof *q->C) != 0;
        continue;
      }
      for (l = 0; l < q->k; l++)
        wanted += (double)at(q, q->A, is_trans(q->transa), q->lda, i, l) *
                  at(q, q->B, is_trans(q->transb), q->ldb, l, j);
      wanted = q->alpha * wanted + (q->beta == 0.0f ? 0.0 : (double)q->beta * q->start[at_c]);
      wrong += !((double)q->C[at_c] == wanted);
    }
  EXPECT(wrong == 0, "%s, order %d, %c%c, beta %g: %lld elements of %lld", names[q->name], q->order, q->transa,
         q->transb, (double)q->beta, (long long)wrong, (long long)q->c_count);
}

/* Makes a call, checks its result, and that `passes` calls came to the BLAS. */
static void expect(int passes, problem q) {
  const int before = fake_blas_calls;
  call(&q);
  check(&q);
  EXPECT(fake_blas_calls - before == passes, "%s, %lld x %lld x %lld: %d calls of the BLAS", names[q.name],
         (long long)q.m, (long long)q.n, (long long)q.k, fake_blas_calls - before);
  if (passes)
    EXPECT(strcmp(fake_blas_function, names[q.name]) == 0, "%s, %s", fake_blas_function, names[q.name]);
  drop(&q);
}

static problem plain(float beta) { return problem_of(0, 102, 'N', 'N', 40, 30, 50, 1.0f, beta); }

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

/* Every name, order and op. passes: 1 if all calls go to the BLAS. */
static void all_products(int passes) {
  static const char ops[] = "NTCntc";
  int name, order, a, b;
  for (name = 0; name < NAMES; name++)
    for (order = name < FORTRAN ? 102 : 101; order <= 102; order++)
      for (a = 0; a < 6; a++)
        for (b = 0; b < 6; b++)
          if ((name == 0 || name == FORTRAN) || a % 3 + b % 3 == 1)
            expect(passes,
                   problem_of(name, order, ops[a], ops[b], 37, 29, 41, a % 2 ? 2.0f : -1.0f, (float)(b % 2) / 2));
}
static void products(void) {
  all_products(0);
  EXPECT(devices()->multiplications > 0, "no multiplication on a device");
}
static void off(void) {
  all_products(1);
  EXPECT(devices()->multiplications == 0, "%lld multiplications on a device", (long long)devices()->multiplications);
}

/* Wrong arguments reach the BLAS, which finds the same number as without the adapter, and C is as before. */
static void wrong(int info, problem q) {
  const int before = fake_blas_calls;
  fake_blas_info = 0;
  call(&q);
  EXPECT(fake_blas_calls == before + 1 && fake_blas_info == info, "%s: %d calls, argument %d, not %d", names[q.name],
         fake_blas_calls - before, fake_blas_info, info);
  EXPECT(memcmp(q.C, q.start, (size_t)q.c_count * sizeof *q.C) == 0, "C has changed");
  drop(&q);
}
static void arguments(void) {
  int name;
  for (name = 0; name <= FORTRAN; name += FORTRAN) {
    problem q = plain(1.0f);
    q.name = name;
#define WRONG(info, change)                                                                                            \
  do {                                                                                                                 \
    q = plain(1.0f);                                                                                                   \
    q.name = name;                                                                                                     \
    change;                                                                                                            \
    wrong(info, q);                                                                                                    \
  } while (0)
    drop(&q);
    WRONG(1, q.transa = 'X');
    WRONG(2, q.transb = 'R');
    WRONG(3, q.m = -1);
    WRONG(4, q.n = -1);
    WRONG(5, q.k = -1);
    WRONG(8, q.lda = 39);
    WRONG(8, (q.transa = 'T', q.lda = 49));
    WRONG(10, q.ldb = 49);
    WRONG(13, q.ldc = 39);
  }
  {
    problem q = problem_of(FORTRAN, 102, 'N', 'N', 40, 40, 40, 1.0f, 1.0f);
    q.order = 100;
    wrong(-1, q);
  }
  expect(1, problem_of(0, 102, 'N', 'N', 40, 0, 50, 1.0f, 1.0f));
  expect(1, problem_of(0, 102, 'N', 'N', 40, 30, 0, 1.0f, 0.5f));
  expect(1, problem_of(0, 102, 'N', 'N', 40, 30, 50, 0.0f, 0.5f));
  expect(0, plain(1.0f));
}

/* The strings of sgemm_() get lengths, which this caller does not pass. */
static void lengths(void) {
  fake_blas_lengths = 0;
  expect(1, plain(0.0f));
  EXPECT(fake_blas_lengths == 2, "%zu", fake_blas_lengths);
}

/* SGEMM_BLAS_THRESHOLD is 0.00012 GFLOP, which 2 * 40 * 30 * 50 FLOP are. */
static void threshold(void) {
  expect(0, problem_of(0, 102, 'N', 'N', 40, 30, 50, 1.0f, 0.0f));
  expect(0, problem_of(FORTRAN, 101, 'T', 'N', 40, 31, 50, 1.0f, 0.0f));
  expect(1, problem_of(0, 102, 'N', 'N', 40, 30, 49, 1.0f, 0.0f));
  expect(1, problem_of(FORTRAN, 101, 'T', 'N', 39, 30, 50, 1.0f, 0.0f));
}

/* SGEMM_BLAS_INTENSITY is 5 FLOP for each byte: a square of 30 without beta, and one of 40 with it. */
static void intensity(void) {
  expect(0, problem_of(0, 102, 'N', 'N', 30, 30, 30, 1.0f, 0.0f));
  expect(1, problem_of(0, 102, 'N', 'N', 29, 29, 29, 1.0f, 0.0f));
  expect(1, problem_of(0, 102, 'N', 'N', 39, 39, 39, 1.0f, 1.0f));
  expect(0, problem_of(0, 102, 'N', 'N', 40, 40, 40, 1.0f, 1.0f));
  expect(1, problem_of(0, 102, 'N', 'N', 1000, 1, 1000, 1.0f, 0.0f));
}

/* A leading dimension that an int cannot have. With one column it is the distance to nothing. */
static void long_integers(void) {
  static const int long_names[] = {1, 3, 5, 6, 8};
  int i;
  for (i = 0; i < 5; i++) {
    problem q = problem_of(long_names[i], 102, 'N', 'N', 40, 1, 50, 1.0f, 0.0f);
    const int before = fake_blas_calls;
    q.ldb = ((int64_t)1 << 32) + 5;
    q.ldc = ((int64_t)1 << 32) + 6;
    call(&q);
    q.ldb = 50;
    q.ldc = 40;
    check(&q);
    EXPECT(fake_blas_calls == before, "%s", names[q.name]);
    drop(&q);
  }
  if (sizeof(blas_integer) == 8) {
    problem q = problem_of(FORTRAN, 102, 'N', 'N', 40, 1, 50, 1.0f, 0.0f);
    q.ldb = q.ldc = ((int64_t)1 << 32) + 6;
    call(&q);
    q.ldb = 50;
    q.ldc = 40;
    check(&q);
    EXPECT(fake_blas_calls == 0, "cblas_sgemm");
    drop(&q);
  }
}

static void *calls_of_thread(void *context) {
  int i;
  (void)context;
  for (i = 0; i < 12; i++) {
    problem q = problem_of(i % NAMES, 102, "NTC"[i % 3], 'N', 30 + i, 29, 41, 1.0f, (float)(i % 2));
    call(&q);
    check(&q);
    drop(&q);
  }
  return NULL;
}
static void threads(void) {
  pthread_t thread[8];
  int i;
  for (i = 0; i < 8; i++)
    pthread_create(&thread[i], NULL, calls_of_thread, NULL);
  for (i = 0; i < 8; i++)
    pthread_join(thread[i], NULL);
  EXPECT(fake_blas_calls == 0 && devices()->calls[SGEMM_HOST__FAKE_STREAM] == 3,
         "%d calls of the BLAS, %lld streams, of which a call has 3", fake_blas_calls,
         (long long)devices()->calls[SGEMM_HOST__FAKE_STREAM]);
}

/* A call is held where it reads A until a second call waits for it or has ended: both have the streams of one call. */
static char *held_page;
static int arrived[2], leaving[2]; /* pipes */
static void hold(int number, siginfo_t *info, void *context) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char c = 0;
  (void)context;
  if ((char *)info->si_addr < held_page || (char *)info->si_addr >= held_page + page)
    signal(number, SIG_DFL); /* a fault of the test itself */
  else if (write(arrived[1], &c, 1) != 1 || read(leaving[0], &c, 1) != 1 ||
           mprotect(held_page, page, PROT_READ | PROT_WRITE) != 0)
    abort();
}

static void nap(void) {
  const struct timespec time = {0, 1000000};
  nanosleep(&time, NULL);
}

/* Waits until every thread but the first, which calls this, sleeps, seen twice 1 ms apart, 20 s or more at most. */
static int others_sleep(void) {
  int i, seen = 0;
  for (i = 0; i < 20000 && seen < 2; i++) {
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;
    int awake = 0;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
      char path[64], text[256];
      const char *state;
      FILE *file;
      if (entry->d_name[0] == '.' || atoi(entry->d_name) == (int)getpid())
        continue;
      snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", entry->d_name);
      file = fopen(path, "r");
      if (file == NULL)
        continue; /* the thread has ended */
      text[fread(text, 1, sizeof text - 1, file)] = 0;
      fclose(file);
      state = strrchr(text, ')');
      awake += state != NULL && state[1] == ' ' && strchr("SXZ", state[2]) == NULL;
    }
    if (folder != NULL)
      closedir(folder);
    seen = awake == 0 ? seen + 1 : 0;
    nap();
  }
  return seen == 2;
}

static void *call_of_thread(void *context) {
  call((const problem *)context);
  return NULL;
}
static void held_call(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  problem q[2] = {plain(0.0f), plain(1.0f)};
  const size_t bytes = sizeof(float) * (size_t)(q[0].lda * q[0].k), all = (bytes + page - 1) / page * page;
  float *const own = q[0].A;
  struct sigaction action;
  pthread_t thread[2];
  char c = 0;
  int i;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = hold;
  action.sa_flags = SA_SIGINFO;
  held_page = (char *)mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (held_page == MAP_FAILED || pipe(arrived) != 0 || pipe(leaving) != 0 || sigaction(SIGSEGV, &action, NULL) != 0 ||
      sigaction(SIGBUS, &action, NULL) != 0) {
    EXPECT(0, "no page, no pipe or no handler");
    return;
  }
  q[0].A = (float *)memcpy(held_page, own, bytes);
  mprotect(held_page, page, PROT_NONE);
  pthread_create(&thread[0], NULL, call_of_thread, &q[0]);
  EXPECT(read(arrived[0], &c, 1) == 1, "no thread is held");
  pthread_create(&thread[1], NULL, call_of_thread, &q[1]);
  EXPECT(others_sleep(), "a thread works for 20 s");
  EXPECT(write(leaving[1], &c, 1) == 1, "the thread is not let go");
  for (i = 0; i < 2; i++)
    pthread_join(thread[i], NULL);
  EXPECT(fake_blas_calls == 0 && devices()->calls[SGEMM_HOST__FAKE_STREAM] == 3,
         "%d calls of the BLAS, %lld streams, of which a call has 3", fake_blas_calls,
         (long long)devices()->calls[SGEMM_HOST__FAKE_STREAM]);
  for (i = 0; i < 2; i++)
    check(&q[i]);
  q[0].A = own;
  for (i = 0; i < 2; i++)
    drop(&q[i]);
  munmap(held_page, all);
}

/* Runs a case in a child. The child writes its own report. */
static void in_child(int passes) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    expect(passes, plain(0.0f));
    expect(passes, plain(1.0f));
    exit(faults != 0);
  }
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child: %x", (unsigned)status);
}
static void forks(void) {
  expect(1, problem_of(0, 102, 'N', 'N', 40, 0, 50, 1.0f, 1.0f));
  in_child(0); /* the parent has not used the GPU */
  expect(0, plain(0.0f));
  in_child(1);
  expect(0, plain(0.0f));
}

/* Without a GPU the adapter asks once. */
static void no_gpu(void) {
  devices()->devices = 0;
  expect(1, plain(0.0f));
  devices()->devices = 1;
  expect(1, plain(1.0f));
}

/* SGEMM_BLAS_DEVICES names devices 0 and 2. Each gets the three streams of a lane. Which of them multiplies depends on
   the order of the threads. */
static void gpus(void) {
  devices()->devices = 3;
  expect(0, problem_of(0, 102, 'N', 'N', 90, 90, 50, 1.0f, 0.0f));
  EXPECT(devices()->streams_of[0] == 3 && devices()->streams_of[1] == 0 && devices()->streams_of[2] == 3,
         "%lld, %lld, %lld streams", (long long)devices()->streams_of[0], (long long)devices()->streams_of[1],
         (long long)devices()->streams_of[2]);
}
static void too_few_gpus(void) {
  devices()->devices = 2;
  expect(1, plain(0.0f));
  devices()->devices = 3;
  expect(1, plain(0.0f));
}

/* SGEMM_BLAS_MEMORY is 0.00005 GiB, which is 52 KiB. */
static void memory(void) {
  expect(0, problem_of(0, 102, 'N', 'N', 90, 90, 150, 1.0f, 0.0f));
  EXPECT(devices()->most_bytes > 20000 && devices()->most_bytes <= 53687, "%lld", (long long)devices()->most_bytes);
}

static void fail(int kind, int64_t number) {
  devices()->fail_call = kind;
  devices()->calls[kind] = 0;
  devices()->fail_at = number;
}

/* What fails before C is written, and what fails later if beta is 0, is computed by the BLAS. */
static void errors(void) {
  problem q;
  devices()->memory_bytes = 1024; /* too little memory concerns one call */
  expect(1, plain(1.0f));
  devices()->memory_bytes = (int64_t)1 << 30;
  expect(0, plain(1.0f));
  q = plain(0.0f);
  devices()->on_device = q.A;
  expect(1, q);
  devices()->on_device = NULL;
  expect(0, plain(1.0f));
}
static void error_before_c(void) {
  fail(SGEMM_HOST__FAKE_MULTIPLY, 1);
  expect(1, plain(1.0f));
  fail(SGEMM_HOST__FAKE_MULTIPLY, 0);
  expect(1, plain(1.0f)); /* an error of CUDA lasts */
}
static void error_after_c(void) {
  fail(SGEMM_HOST__FAKE_COPY_OUT, 2);
  expect(1, problem_of(0, 102, 'N', 'N', 90, 90, 150, 1.0f, 0.0f));
}
static void lost(void) {
  fail(SGEMM_HOST__FAKE_COPY_OUT, 2);
  expect(1, problem_of(0, 102, 'N', 'N', 90, 90, 150, 1.0f, 1.0f));
}

/* Calls for a report. */
static void report(void) {
  expect(0, problem_of(0, 102, 'N', 'N', 100, 100, 100, 1.0f, 0.0f));
  expect(0, problem_of(FORTRAN, 101, 'N', 'T', 100, 100, 100, 1.0f, 1.0f));
  expect(1, problem_of(0, 102, 'N', 'N', 50, 50, 50, 1.0f, 0.0f));
  expect(1, problem_of(FORTRAN, 101, 'N', 'N', 1000, 2, 500, 1.0f, 0.0f));
  expect(1, problem_of(FORTRAN, 101, 'N', 'N', 10, 20, 0, 1.0f, 0.0f));
}

static void nothing(void) {}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } cases[] = {{"products", products},   {"off", off},
               {"arguments", arguments}, {"lengths", lengths},
               {"threshold", threshold}, {"intensity", intensity},
               {"threads", threads},     {"long_integers", long_integers},
               {"forks", forks},         {"no_gpu", no_gpu},
               {"gpus", gpus},           {"too_few_gpus", too_few_gpus},
               {"memory", memory},       {"errors", errors},
               {"lost", lost},           {"error_before_c", error_before_c},
               {"report", report},       {"error_after_c", error_after_c},
               {"nothing", nothing},     {"held_call", held_call}};
  unsigned i;
  for (i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++)
    if (strcmp(argv[1], cases[i].name) == 0) {
      cases[i].run();
      return faults != 0;
    }
  puts("no such case");
  return 2;
}
