/* cpu/model/launch.h: a launch of the CPU model: the OS threads that run its clusters, and their memory. */
#ifndef SGEMM_CPU_LAUNCH_H
#define SGEMM_CPU_LAUNCH_H

#include "cpu/model/scheduler.h"

#include <stdlib.h>
#include <unistd.h>

/* One OS thread of a launch. It makes a fiber for each thread of a cluster and runs clusters until none is left. */
static void *sgemm__cpu_work(void *grid) {
  sgemm__cpu_worker w;
  int t, ranks, fibers;
  int64_t blocks;
  memset(&w, 0, sizeof w);
  w.grid = (sgemm__cpu_grid *)grid;
  ranks = (int)w.grid->size.cluster;
  fibers = (int)w.grid->size.threads * ranks;
  blocks = (int64_t)w.grid->size.x * w.grid->size.y * w.grid->size.z;
  w.fibers = (sgemm__cpu_fiber *)calloc((size_t)fibers, sizeof *w.fibers);
  w.stacks = (char *)malloc((size_t)fibers * SGEMM__CPU_STACK);
  w.thread_order = (int *)malloc((size_t)w.grid->size.threads * sizeof *w.thread_order);
  sgemm__cpu = &w;
  for (t = 0; t < ranks && w.grid->size.shared > 0; t++) {
    /* Swizzled boxes need an alignment of 1024 bytes. aligned_alloc() of C11 needs a multiple of it as the size. */
    w.dynamic_shared[t] = (char *)aligned_alloc(1024, (size_t)sgemm__ceil_div(w.grid->size.shared, 1024) * 1024);
    if (w.dynamic_shared[t] == NULL)
      sgemm__cpu_fail(SGEMM_ERROR_MEMORY, "no memory for the shared memory", NULL, 0);
  }
  if (w.fibers == NULL || w.stacks == NULL || w.thread_order == NULL)
    sgemm__cpu_fail(SGEMM_ERROR_MEMORY, "no memory for the fibers", NULL, 0);
  for (t = 0; t < fibers && !atomic_load(&w.grid->failed); t++) {
    sgemm__cpu_fiber *f = &w.fibers[t];
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = w.stacks + (size_t)t * SGEMM__CPU_STACK;
    f->context.uc_stack.ss_size = SGEMM__CPU_STACK;
    f->context.uc_link = NULL;
    makecontext(&f->context, sgemm__cpu_fiber_main, 0);
  }
  while (!atomic_load(&w.grid->failed) && (w.block = atomic_fetch_add(&w.grid->next_block, ranks)) < blocks)
    sgemm__cpu_run_cluster(&w);
  sgemm__count_finish(&w.grid->counts, &w.grid->lock);
  sgemm__cpu = NULL;
  for (t = 0; t < fibers && w.fibers != NULL; t++)
    free(w.fibers[t].copies);
  for (t = 0; t < ranks; t++)
    free(w.dynamic_shared[t]);
  free(w.bulk_copies);
  free(w.thread_order);
  free(w.stacks);
  free(w.fibers);
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
