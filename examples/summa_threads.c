/* summa_threads.c: the ranks of summa.h as threads of one process, each with one of its GPUs. */
#define _POSIX_C_SOURCE 200809L /* barriers */

#include "examples/summa.h"

#include <pthread.h>

#include <stdlib.h>
#include <unistd.h>

typedef struct thread {
  pthread_t id;
  void (*body)(summa_rank *rank);
  summa_rank *rank;
} thread;

static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double largest;
static int callers;

summa_world summa_start(int *argc, char ***argv) {
  summa_world world = {0, 0, 0, 0};
  (void)argc, (void)argv;
  if (cudaGetDeviceCount(&world.ranks) != cudaSuccess)
    world.ranks = 0;
  return world;
}

static void *start(void *context) {
  const thread *t = (const thread *)context;
  t->body(t->rank);
  return NULL;
}

void summa_each(summa_rank *ranks, int count, void (*body)(summa_rank *rank)) {
  thread *threads = (thread *)calloc((size_t)count, sizeof *threads);
  int i, failed = threads == NULL || pthread_barrier_init(&barrier, NULL, (unsigned)count) != 0;
  for (i = 0; i < count && !failed; i++) {
    threads[i].body = body;
    threads[i].rank = &ranks[i];
    failed = pthread_create(&threads[i].id, NULL, start, &threads[i]) != 0;
  }
  if (failed) {
    fprintf(stderr, "summa: no memory for a thread for each of %d GPUs\n", count);
    summa_abort(2);
  }
  for (i = 0; i < count; i++)
    pthread_join(threads[i].id, NULL);
  pthread_barrier_destroy(&barrier);
  free(threads);
}

/* The first caller sets `largest`. The second barrier keeps the first caller of the next call from doing so before all
   have read it. */
double summa_max(double x) {
  double result;
  pthread_mutex_lock(&lock);
  largest = callers++ == 0 || x > largest ? x : largest;
  pthread_mutex_unlock(&lock);
  if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
    callers = 0;
  result = largest;
  pthread_barrier_wait(&barrier);
  return result;
}

int summa_stop(int status) { return status; }

/* The end of the process ends the work of all its GPUs. Functions of atexit() might wait for that work. */
_Noreturn void summa_abort(int status) {
  fflush(stdout);
  _exit(status);
}
