/* report.c: the counts of the calls, and the report. */
#define _POSIX_C_SOURCE 200809L /* getpid(), open_memstream() */
#include "adapters/blas/report.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/blas/settings.h"
#include "adapters/common/environment.h"

typedef struct counts {
  uint64_t calls;
  double flop, seconds;
} counts;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static counts of_path[SGEMM_BLAS_PATH_COUNT];
static int first_error;

void sgemm_blas__count(sgemm_blas__path path, double flop, double seconds) {
  pthread_mutex_lock(&lock);
  of_path[path].calls++;
  of_path[path].flop += flop;
  of_path[path].seconds += seconds;
  pthread_mutex_unlock(&lock);
}

void sgemm_blas__count_error(int status) {
  int none = SGEMM_SUCCESS;
  __atomic_compare_exchange_n(&first_error, &none, status, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* The child of a fork has one thread. A thread of the parent may have held the lock. */
void sgemm_blas__count_none(void) {
  static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
  lock = unlocked;
  memset(of_path, 0, sizeof of_path);
  first_error = SGEMM_SUCCESS;
}

static void write_text(FILE *file, uint64_t calls) {
  static const char *const sentences[] = {
#define SGEMM__X(symbol, sentence) sentence,
      SGEMM_BLAS_PATHS(SGEMM__X)
#undef SGEMM__X
  };
  int path;
  fprintf(file, "sgemm_blas: %llu calls of process %ld, SGEMM_BLAS_MODE=%s\n", (unsigned long long)calls,
          (long)getpid(), sgemm_blas__settings_get()->mode_name);
  fprintf(file, "%12s %14s %12s  computed by\n", "calls", "GFLOP", "seconds");
  for (path = 0; path < SGEMM_BLAS_PATH_COUNT; path++)
    if (of_path[path].calls > 0)
      fprintf(file, "%12llu %14.3f %12.6f  %s\n", (unsigned long long)of_path[path].calls, 1e-9 * of_path[path].flop,
              of_path[path].seconds, sentences[path]);
  if (first_error != SGEMM_SUCCESS)
    fprintf(file, "the first error of sgemm: %s (cudaError_t %d)\n", sgemm_host_error_string(first_error),
            sgemm_cuda_error((sgemm_status)first_error));
}

/* A process that made no call writes nothing, so that the shells and tools which inherit LD_PRELOAD stay silent. */
__attribute__((destructor)) static void write_report(void) {
  uint64_t calls = 0;
  FILE *text;
  char *report = NULL;
  size_t size = 0;
  int path;
  for (path = 0; path < SGEMM_BLAS_PATH_COUNT; path++)
    calls += of_path[path].calls;
  text = calls == 0 ? NULL : open_memstream(&report, &size);
  if (text == NULL)
    return;
  write_text(text, calls);
  fclose(text);
  sgemm_adapter__write("sgemm_blas", sgemm_blas__settings_get()->report_file, report, size);
  free(report);
}
