/* cpu/model/scheduler.h: the scheduler of an OS thread. It runs the fibers of a block from barrier to barrier, and the
   blocks of a cluster from cluster barrier to cluster barrier. */
#ifndef SGEMM_CPU_SCHEDULER_H
#define SGEMM_CPU_SCHEDULER_H

#include "cpu/model/bulk_copy.h"

/* A random number from 0 to n - 1, by Marsaglia's generator xorshift64. */
static int sgemm__cpu_random(sgemm__cpu_worker *w, int n) {
  w->random_state ^= w->random_state << 13;
  w->random_state ^= w->random_state >> 7;
  w->random_state ^= w->random_state << 17;
  return (int)(w->random_state % (uint64_t)n);
}

/* Sets the order in which the threads of a block run in one pass. The shuffled order comes from the algorithm of Fisher
   and Yates. */
static void sgemm__cpu_reorder(sgemm__cpu_worker *w) {
  const int threads = (int)w->grid->size.threads;
  int i;
  for (i = 0; i < threads; i++)
    w->thread_order[i] = w->grid->model.order == SGEMM_MODEL_BACKWARD ? threads - 1 - i : i;
  if (w->grid->model.order != SGEMM_MODEL_SHUFFLED)
    return;
  for (i = threads - 1; i > 0; i--) {
    const int other = sgemm__cpu_random(w, i + 1), t = w->thread_order[i];
    w->thread_order[i] = w->thread_order[other];
    w->thread_order[other] = t;
  }
}

/* 1 if a fiber is suspended and what it waits for has happened. */
static int sgemm__cpu_may_resume(const sgemm__cpu_fiber *f) {
  return f->suspended && (f->awaited == NULL || (f->awaited->phase & 1) != f->awaited_parity);
}

/* Runs all threads of a block to their next barrier or exit, in one pass or more. Each pass resumes the fibers that may
   resume. After a pass that resumes none, one bulk copy completes. In shuffled order one warp of the block pauses, so
   that the others run ahead of it as far as their barriers let them: it runs when no other thread can run and no copy
   is pending, and then another warp pauses. Returns 0 if the launch has failed. */
static int sgemm__cpu_run_threads(sgemm__cpu_worker *w, sgemm__cpu_fiber *fibers) {
  const int threads = (int)w->grid->size.threads;
  const int pauses = w->grid->model.order == SGEMM_MODEL_SHUFFLED;
  int i, suspended = threads, paused = pauses ? sgemm__cpu_random(w, (threads + 31) / 32) : -1;
  for (i = 0; i < threads; i++) {
    fibers[i].suspended = fibers[i].barrier_line != 0; /* not if it has exited */
    fibers[i].awaited = NULL;
  }
  while (suspended > 0) {
    int resumed = 0;
    suspended = 0;
    sgemm__cpu_reorder(w);
    for (i = 0; i < threads; i++) {
      sgemm__cpu_fiber *f = &fibers[w->thread_order[i]];
      if (w->thread_order[i] / 32 != paused && sgemm__cpu_may_resume(f)) {
        f->suspended = 0;
        resumed++;
        w->thread = w->thread_order[i];
        sgemm__count_resume(w->thread);
        sgemm__cpu_resume(w);
        if (atomic_load_explicit(&w->grid->failed, memory_order_relaxed))
          return 0;
      }
      suspended += f->suspended;
    }
    if (resumed > 0) {
      paused = pauses && paused < 0 ? sgemm__cpu_random(w, (threads + 31) / 32) : paused;
    } else if (suspended > 0 && !sgemm__cpu_complete_bulk_copy(w)) {
      if (paused < 0) {
        for (i = 0; !fibers[i].suspended; i++)
          ;
        w->thread = i;
        sgemm__cpu_fail(SGEMM_ERROR_DIVERGENCE, "waits for an event that no other thread causes", NULL, 0);
        return 0;
      }
      paused = -1;
    }
  }
  return 1;
}

/* Runs the block of a rank from barrier to barrier, until all its threads wait at a cluster barrier or have exited. */
static void sgemm__cpu_run_block(sgemm__cpu_worker *w, int rank) {
  const int threads = (int)w->grid->size.threads;
  sgemm__cpu_fiber *fibers = w->fibers + rank * threads;
  int i, waiting, line = 1;
  w->block += rank - w->rank;
  w->rank = rank;
  while (line > 0) {
    if (!sgemm__cpu_run_threads(w, fibers))
      return;
    /* A barrier of the cluster does not wait for threads that have exited (PTX ISA, "barrier.cluster"). */
    line = fibers[0].barrier_line;
    for (i = waiting = 0; i < threads; i++) {
      const int other = fibers[w->thread_order[i]].barrier_line;
      if (other != line && (line > 0 || other != 0)) {
        w->thread = w->thread_order[i];
        sgemm__cpu_fail(SGEMM_ERROR_DIVERGENCE, "not at the barrier of the other threads", NULL, 0);
        return;
      }
      waiting += other == line;
    }
    sgemm__count_barrier(waiting, line);
  }
  if (line == 0 && w->bulk_copy_count > 0) {
    sgemm__cpu_fail(SGEMM_ERROR_DIVERGENCE, "its block exited before a copy to its shared memory completed", NULL, 0);
    return;
  }
  /* An exited block has no shared memory any more: a read of it by another block of the cluster is reported. */
  if (line == 0)
    for (i = 0; i < w->shared_array_count; i++)
      if ((char *)w->shared_arrays[i].first == w->dynamic_shared[rank])
        sgemm__cpu_mark_unwritten(w->shared_arrays[i].first, w->shared_arrays[i].count);
}

/* Resets the worker's state for the cluster whose first block is w->block. */
static void sgemm__cpu_start_cluster(sgemm__cpu_worker *w) {
  const int ranks = (int)w->grid->size.cluster, threads = (int)w->grid->size.threads;
  int i;
  w->rank = 0;
  w->shared_array_count = 0;
  w->random_state = (w->grid->model.seed + 1) * 0x9e3779b97f4a7c15u ^ (uint64_t)(w->block + 1) * 0xbf58476d1ce4e5b9u;
  w->random_state += w->random_state == 0;
  w->bulk_copy_count = 0;
  for (i = 0; i < ranks * threads; i++) {
    w->fibers[i].barrier_line = 1; /* it has not exited */
    w->fibers[i].waited = SGEMM__CPU_NOT_WAITED;
    w->fibers[i].copy_count = w->fibers[i].copy_group = 0;
    w->fibers[i].product_count = w->fibers[i].committed_products = 0;
  }
  for (i = 0; i < 32; i++)
    sgemm__mbarrier_init(&w->warp_barriers[i], 32);
  for (i = 0; i < 2; i++)
    sgemm__mbarrier_init(&w->order_barriers[i], 32 * SGEMM__CONSUMER_WARPS);
  w->barrier_1_purpose = 0;
  sgemm__mbarrier_init(&w->consumer_barrier, 0); /* 0: sgemm__barrier_threads() sets the number of threads */
  for (i = 0; i < ranks && w->grid->size.shared > 0; i++)
    sgemm__cpu_declare((float *)w->dynamic_shared[i], w->grid->size.shared / sizeof(float), "shared memory");
}

/* Runs the cluster whose first block is w->block, from one cluster barrier to the next. */
static void sgemm__cpu_run_cluster(sgemm__cpu_worker *w) {
  const int ranks = (int)w->grid->size.cluster, threads = (int)w->grid->size.threads;
  int i;
  sgemm__cpu_start_cluster(w);
  do {
    for (i = 0; i < ranks; i++) {
      const int before = w->rank;
      sgemm__cpu_run_block(w, w->grid->model.order == SGEMM_MODEL_BACKWARD ? ranks - 1 - i : i);
      if (!atomic_load(&w->grid->failed) && i > 0 &&
          w->fibers[w->rank * threads].barrier_line != w->fibers[before * threads].barrier_line)
        sgemm__cpu_fail(SGEMM_ERROR_DIVERGENCE, "its block is not at the barrier of the cluster's others", NULL, 0);
      if (atomic_load(&w->grid->failed))
        return;
    }
  } while (w->fibers[0].barrier_line != 0);
}

#endif /* SGEMM_CPU_SCHEDULER_H */
