/* cpu/model/launch.h: a launch of the CPU model: the OS threads that run its clusters, and their memory. */
#ifndef SGEMM_CPU_LAUNCH_H
#define SGEMM_CPU_LAUNCH_H

#include "cpu/model/scheduler.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- Workers ----------------------------------------------------------------------------------------------------- */

/* Idle workers of all OS threads. They are kept, because the page faults of new stacks would take as much time as the
   kernels of a test. */
static sgemm__cpu_worker *sgemm__cpu_idle;
static pthread_mutex_t sgemm__cpu_idle_lock = PTHREAD_MUTEX_INITIALIZER;

static void sgemm__cpu_free_worker(sgemm__cpu_worker *w) {
  int t;
  if (w == NULL)
    return;
  for (t = 0; w->fibers != NULL && t < w->fiber_count; t++)
    free(w->fibers[t].copies);
  free(w->bulk_copies);
  free(w->stacks);
  free(w->fibers);
  free(w);
}

/* An idle worker with as many fibers, or a new one. NULL: there is no memory. */
static sgemm__cpu_worker *sgemm__cpu_take_worker(int fibers) {
  sgemm__cpu_worker *w;
  pthread_mutex_lock(&sgemm__cpu_idle_lock);
  w = sgemm__cpu_idle;
  if (w != NULL)
    sgemm__cpu_idle = w->next_idle;
  pthread_mutex_unlock(&sgemm__cpu_idle_lock);
  if (w != NULL && w->fiber_count >= fibers)
    return w;
  sgemm__cpu_free_worker(w);
  w = (sgemm__cpu_worker *)calloc(1, sizeof *w);
  if (w == NULL)
    return NULL;
  w->fiber_count = fibers;
  w->fibers = (sgemm__cpu_fiber *)calloc((size_t)fibers, sizeof *w->fibers);
  w->stacks = (char *)malloc((size_t)fibers * SGEMM__CPU_STACK);
  if (w->fibers != NULL && w->stacks != NULL)
    return w;
  sgemm__cpu_free_worker(w);
  return NULL;
}

static void sgemm__cpu_give_back_worker(sgemm__cpu_worker *w) {
  pthread_mutex_lock(&sgemm__cpu_idle_lock);
  w->next_idle = sgemm__cpu_idle;
  sgemm__cpu_idle = w;
  pthread_mutex_unlock(&sgemm__cpu_idle_lock);
}

/* ---- Launches ---------------------------------------------------------------------------------------------------- */

/* Fails a launch before its OS thread runs a block. */
static void sgemm__cpu_lack_memory(sgemm__cpu_grid *g, const char *what) {
  pthread_mutex_lock(&g->lock);
  if (g->status == SGEMM_SUCCESS) {
    snprintf(g->message, sizeof g->message, "%s", what);
    g->status = SGEMM_ERROR_MEMORY;
  }
  pthread_mutex_unlock(&g->lock);
  atomic_store(&g->failed, 1);
}

/* The work of one OS thread of a launch: clusters until none is left. */
static void *sgemm__cpu_work(void *grid) {
  sgemm__cpu_grid *g = (sgemm__cpu_grid *)grid;
  const int ranks = (int)g->size.cluster;
  const int64_t blocks = (int64_t)g->size.x * g->size.y * g->size.z;
  sgemm__cpu_worker *w = sgemm__cpu_take_worker((int)g->size.threads * ranks);
  int t;
  if (w == NULL) {
    sgemm__cpu_lack_memory(g, "no memory for the fibers");
    return NULL;
  }
  w->grid = g;
  sgemm__cpu = w;
  for (t = 0; t < ranks && g->size.shared > 0; t++) {
    /* Swizzled boxes need an alignment of 1024 bytes. aligned_alloc() of C11 needs a multiple of it as the size. */
    w->dynamic_shared[t] = (char *)aligned_alloc(1024, (size_t)sgemm__ceil_div(g->size.shared, 1024) * 1024);
    if (w->dynamic_shared[t] == NULL)
      sgemm__cpu_lack_memory(g, "no memory for the shared memory");
  }
  while (!atomic_load(&g->failed) && (w->block = atomic_fetch_add(&g->next_block, ranks)) < blocks)
    sgemm__cpu_run_cluster(w);
  sgemm__count_finish(&g->counts, &g->lock);
  sgemm__cpu = NULL;
  for (t = 0; t < ranks; t++) {
    free(w->dynamic_shared[t]);
    w->dynamic_shared[t] = NULL;
  }
  if (atomic_load(&g->failed))
    sgemm__cpu_free_worker(w); /* its fibers may be within the kernel */
  else
    sgemm__cpu_give_back_worker(w);
  return NULL;
}

/* Runs a launch to its end, on the calling thread and on as many other OS threads as the model's settings and the
   number of blocks ask for. An OS thread that cannot be created only makes the launch slower. */
static sgemm_status sgemm__cpu_launch(sgemm__kernel kernel, sgemm__grid size, const void *args) {
  enum { MAX_HELPERS = 64 };
  pthread_t helpers[MAX_HELPERS];
  const int64_t blocks = (int64_t)size.x * size.y * size.z;
  const long cores = sgemm__cpu_model.cores > 0 ? sgemm__cpu_model.cores : sysconf(_SC_NPROCESSORS_ONLN);
  sgemm__cpu_grid g;
  int started = 0;
  memset(&g, 0, sizeof g);
  g.kernel = kernel;
  g.args = args;
  g.size = size;
  g.model = sgemm__cpu_model;
  pthread_mutex_init(&g.lock, NULL);
  while (started < MAX_HELPERS && started + 1 < cores && started + 1 < blocks &&
         pthread_create(&helpers[started], NULL, sgemm__cpu_work, &g) == 0)
    started++;
  sgemm__cpu_work(&g);
  while (started > 0)
    pthread_join(helpers[--started], NULL);
  pthread_mutex_destroy(&g.lock);
  sgemm__cpu_keep_counts(&g.counts);
  if (g.status != SGEMM_SUCCESS)
    memcpy(sgemm__cpu_message, g.message, sizeof g.message);
  return g.status;
}

#endif /* SGEMM_CPU_LAUNCH_H */
