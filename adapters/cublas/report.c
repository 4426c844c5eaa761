/* report.c: the counts of the calls, and the report.

   The table of shapes has a fixed size and only grows, so that threads need no lock: a thread claims an empty entry,
   writes the shape and publishes the entry. A thread does not wait for another one. So a shape that two threads count
   for the first time at once can have two entries, and two lines in the report. */
#define _POSIX_C_SOURCE 200809L /* getpid(), open_memstream() */
#include "adapters/cublas/report.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/common/environment.h"
#include "adapters/cublas/settings.h"

enum { ENTRIES = 4096, PROBES = 64, LINES = 20 }; /* entries; entries that a shape may be in; shapes in the report */
enum { EMPTY, CLAIMED, READY };

struct sgemm_cublas__entry {
  int state;
  uint64_t calls;
  sgemm_cublas__shape shape;
  int times; /* READY: the two below are measured */
  double cublas_us, sgemm_us;
};
typedef sgemm_cublas__entry entry;

static entry entries[ENTRIES];
static uint64_t path_calls[SGEMM_CUBLAS_PATH_COUNT];
static uint64_t uncounted; /* calls whose shape found no entry */

/* ---- Counting ---------------------------------------------------------------------------------------------------- */

static int same_shape(const sgemm_cublas__shape *a, const sgemm_cublas__shape *b) {
  return a->m == b->m && a->n == b->n && a->k == b->k && a->batch == b->batch && a->op_a == b->op_a &&
         a->op_b == b->op_b && a->path == b->path && strcmp(a->function, b->function) == 0;
}

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 over the golden ratio (Knuth, TAOCP 3, 6.4) */
  return hash ^ hash >> 29;
}

static uint64_t hash_of(const sgemm_cublas__shape *s) {
  uint64_t hash = mix((uint64_t)s->m, (uint64_t)s->n);
  hash = mix(mix(hash, (uint64_t)s->k), (uint64_t)s->batch);
  return mix(hash, (uint64_t)s->op_a << 16 | (uint64_t)s->op_b << 8 | (uint64_t)s->path);
}

/* Forgets the calls: those of a parent are not those of its child. */
static void count_none(void) {
  memset(entries, 0, sizeof entries);
  memset(path_calls, 0, sizeof path_calls);
  uncounted = 0;
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, count_none); }

sgemm_cublas__entry *sgemm_cublas__count(const sgemm_cublas__shape *shape) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const uint64_t hash = hash_of(shape);
  unsigned probe;
  pthread_once(&once, watch_forks);
  __atomic_fetch_add(&path_calls[shape->path], 1, __ATOMIC_RELAXED);
  for (probe = 0; probe < PROBES; probe++) {
    entry *e = &entries[(hash + probe) % ENTRIES];
    int state = __atomic_load_n(&e->state, __ATOMIC_ACQUIRE);
    if (state == EMPTY &&
        __atomic_compare_exchange_n(&e->state, &state, CLAIMED, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      e->shape = *shape;
      __atomic_store_n(&e->state, state = READY, __ATOMIC_RELEASE);
    }
    if (state == READY && same_shape(&e->shape, shape)) {
      __atomic_fetch_add(&e->calls, 1, __ATOMIC_RELAXED);
      return e;
    }
  }
  __atomic_fetch_add(&uncounted, 1, __ATOMIC_RELAXED);
  return NULL;
}

int sgemm_cublas__claim_times(sgemm_cublas__entry *e) {
  int state = EMPTY;
  return __atomic_compare_exchange_n(&e->times, &state, CLAIMED, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void sgemm_cublas__unclaim_times(sgemm_cublas__entry *e) { __atomic_store_n(&e->times, EMPTY, __ATOMIC_RELEASE); }

void sgemm_cublas__set_times(sgemm_cublas__entry *e, double cublas_us, double sgemm_us) {
  e->cublas_us = cublas_us;
  e->sgemm_us = sgemm_us;
  __atomic_store_n(&e->times, READY, __ATOMIC_RELEASE);
}

/* ---- Report ------------------------------------------------------------------------------------------------------ */

static const char *sentence_of(sgemm_cublas__path path) {
  static const char *const sentences[] = {
#define SGEMM__X(symbol, sentence) sentence,
      SGEMM_CUBLAS_PATHS(SGEMM__X)
#undef SGEMM__X
  };
  return sentences[path];
}

/* FLOP of all calls of an entry, in units of 10^9: 2 m n k each. A call with wrong arguments has none. */
static double gflop_of(const entry *e) {
  const sgemm_cublas__shape *s = &e->shape;
  if (s->path == SGEMM_CUBLAS_PATH_ARGUMENTS || s->m < 0 || s->n < 0 || s->k < 0 || s->batch < 0)
    return 0.0;
  return 2e-9 * (double)s->m * (double)s->n * (double)s->k * (double)s->batch * (double)e->calls;
}

/* Copies the entries that are in use to `used`. Returns their number. */
static int collect(entry *used) {
  int i, count = 0;
  for (i = 0; i < ENTRIES; i++) {
    if (__atomic_load_n(&entries[i].state, __ATOMIC_ACQUIRE) != READY)
      continue;
    used[count].times = __atomic_load_n(&entries[i].times, __ATOMIC_ACQUIRE);
    used[count].cublas_us = entries[i].cublas_us;
    used[count].sgemm_us = entries[i].sgemm_us;
    used[count].shape = entries[i].shape;
    used[count++].calls = __atomic_load_n(&entries[i].calls, __ATOMIC_RELAXED);
  }
  return count;
}

/* Most calls first; then the larger product, so that the order does not depend on the table. */
static int by_calls(const void *a, const void *b) {
  const entry *x = (const entry *)a, *y = (const entry *)b;
  if (x->calls != y->calls)
    return x->calls < y->calls ? 1 : -1;
  return gflop_of(x) < gflop_of(y) ? 1 : gflop_of(x) > gflop_of(y) ? -1 : 0;
}

static void print_paths(FILE *file, const entry *used, int count) {
  int path, i;
  fprintf(file, "%12s %14s  computed by\n", "calls", "GFLOP");
  for (path = 0; path < SGEMM_CUBLAS_PATH_COUNT; path++) {
    const uint64_t calls = __atomic_load_n(&path_calls[path], __ATOMIC_RELAXED);
    double gflop = 0.0;
    if (calls == 0)
      continue;
    for (i = 0; i < count; i++)
      gflop += (int)used[i].shape.path == path ? gflop_of(&used[i]) : 0.0;
    fprintf(file, "%12llu %14.3f  %s\n", (unsigned long long)calls, gflop, sentence_of((sgemm_cublas__path)path));
  }
}

/* The time that the calls of sgemm saved: for each shape its calls, times what one call saves. */
static void print_times(FILE *file, const entry *used, int count) {
  uint64_t measured = 0, others = 0;
  double cublas_ms = 0.0, sgemm_ms = 0.0;
  int i;
  for (i = 0; i < count; i++)
    if (used[i].times == READY) {
      measured += used[i].calls;
      cublas_ms += 1e-3 * used[i].cublas_us * (double)used[i].calls;
      sgemm_ms += 1e-3 * used[i].sgemm_us * (double)used[i].calls;
    } else if (used[i].shape.path <= SGEMM_CUBLAS_PATH_FULL) {
      others += used[i].calls;
    }
  fprintf(file, "time saved: %.3f ms; %llu calls of sgemm take %.3f ms, in cuBLAS %.3f ms; %llu are not measured\n",
          cublas_ms - sgemm_ms, (unsigned long long)measured, sgemm_ms, cublas_ms, (unsigned long long)others);
}

static void print_shapes(FILE *file, const entry *used, int count, int times) {
  const uint64_t lost = __atomic_load_n(&uncounted, __ATOMIC_RELAXED);
  int i;
  fprintf(file, "the most frequent shapes, column-major (%d of %d):\n", count < LINES ? count : LINES, count);
  fprintf(file, "%12s %8s %8s %8s %6s ops  %-30s%s computed by\n", "calls", "m", "n", "k", "batch", "function",
          times ? "  cuBLAS us   sgemm us" : "");
  for (i = 0; i < count && i < LINES; i++) {
    const sgemm_cublas__shape *s = &used[i].shape;
    char measured[64] = "";
    if (times && used[i].times == READY)
      snprintf(measured, sizeof measured, " %10.1f %10.1f", used[i].cublas_us, used[i].sgemm_us);
    else if (times)
      snprintf(measured, sizeof measured, " %10s %10s", "-", "-");
    fprintf(file, "%12llu %8lld %8lld %8lld %6lld %c%c   %-30s%s %s\n", (unsigned long long)used[i].calls,
            (long long)s->m, (long long)s->n, (long long)s->k, (long long)s->batch, s->op_a, s->op_b, s->function,
            measured, sentence_of(s->path));
  }
  if (lost > 0)
    fprintf(file, "%12llu calls have shapes that the table of %d shapes had no room for; their GFLOP are missing\n",
            (unsigned long long)lost, ENTRIES);
}

static void write_text(FILE *file, uint64_t calls, const sgemm_cublas__settings *settings) {
  static entry used[ENTRIES];
  const int count = collect(used);
  qsort(used, (size_t)count, sizeof *used, by_calls);
  fprintf(file, "sgemm_cublas: %llu calls of process %ld, SGEMM_CUBLAS_MODE=%s\n", (unsigned long long)calls,
          (long)getpid(), settings->mode_name);
  print_paths(file, used, count);
  if (settings->times)
    print_times(file, used, count);
  print_shapes(file, used, count, settings->times);
}

/* A process that made no call writes nothing, so that the shells and tools which inherit LD_PRELOAD stay silent. */
__attribute__((destructor)) static void write_report(void) {
  const sgemm_cublas__settings *settings;
  uint64_t calls = 0;
  FILE *text;
  char *report = NULL;
  size_t size = 0;
  int path;
  for (path = 0; path < SGEMM_CUBLAS_PATH_COUNT; path++)
    calls += __atomic_load_n(&path_calls[path], __ATOMIC_RELAXED);
  text = calls == 0 ? NULL : open_memstream(&report, &size);
  if (text == NULL)
    return;
  settings = sgemm_cublas__settings_get();
  write_text(text, calls, settings);
  fclose(text);
  sgemm_adapter__write("sgemm_cublas", settings->report_file, report, size);
  free(report);
}
