/* cpu/model/barrier.h: barriers of a block and of a cluster, mbarriers, warp barriers and named barriers of the CPU
   model. */
#ifndef SGEMM_CPU_BARRIER_H
#define SGEMM_CPU_BARRIER_H

#include "cpu/model/shared_memory.h"

/* ---- Barriers of a block and of a cluster ------------------------------------------------------------------------ */

/* The line tells apart the barriers of a kernel: all threads of a block have to wait at the same one. */
#define sgemm__barrier() sgemm__cpu_barrier(__LINE__)
#define sgemm__cluster_barrier() sgemm__cpu_barrier(-__LINE__)

static inline void sgemm__cpu_barrier(int line) {
  sgemm__cpu_running(sgemm__cpu)->barrier_line = line;
  sgemm__cpu_yield(sgemm__cpu);
}

/* ---- mbarriers --------------------------------------------------------------------------------------------------- */

static inline void sgemm__mbarrier_init(sgemm__mbarrier *b, int count) {
  const sgemm__mbarrier fresh = {(uint32_t)count, count, 0, 0};
  *b = fresh;
}

/* The memory holds what no tile has. */
static inline void sgemm__mbarrier_inval(sgemm__mbarrier *b) { memset(b, 0xff, sizeof *b); }
static inline void sgemm__mbarrier_init_fence(void) {}

static inline void sgemm__cpu_check_initialized(const sgemm__mbarrier *b) {
  if (b->count == SGEMM__CPU_UNWRITTEN)
    sgemm__cpu_abort_unwritten((const float *)b);
}

/* Subtracts arrivals and bytes from the pending ones of the current phase. When none is left, the phase completes and
   the next phase starts. */
static inline void sgemm__cpu_mbarrier_complete(sgemm__mbarrier *b, int arrivals, int bytes) {
  b->arrivals -= arrivals;
  b->tx_count -= bytes;
  if (b->arrivals == 0 && b->tx_count == 0) {
    b->arrivals = (int32_t)b->count;
    b->phase++;
  }
}

static inline void sgemm__mbarrier_arrive(sgemm__mbarrier *b) {
  sgemm__cpu_check_initialized(b);
  sgemm__cpu_mbarrier_complete(b, 1, 0);
}

static inline void sgemm__mbarrier_arrive_expect_tx(sgemm__mbarrier *b, int bytes) {
  sgemm__cpu_check_initialized(b);
  b->tx_count += bytes;
  sgemm__cpu_mbarrier_complete(b, 1, 0);
}

static inline void sgemm__mbarrier_wait(sgemm__mbarrier *b, int parity) {
  sgemm__cpu_check_initialized(b);
  while ((b->phase & 1) == (uint32_t)parity)
    sgemm__cpu_suspend(b, parity);
}

static inline sgemm__mbarrier *sgemm__pin_pointer(sgemm__mbarrier *b) { return b; }

/* A fiber's earlier reads of shared memory are complete: a load of the CPU model reads at once. */
static inline void sgemm__fence_proxy_async(void) {}

/* ---- Warps ------------------------------------------------------------------------------------------------------- */

/* The lanes of a warp wait for each other. Fibers do not run in lockstep: without this wait, a lane could arrive at an
   mbarrier on behalf of lanes that have not read the buffer yet. */
static inline void sgemm__warp_barrier(void) {
  sgemm__mbarrier *b = &sgemm__cpu->warp_barriers[sgemm__thread() / 32];
  const int parity = b->phase & 1;
  sgemm__cpu_mbarrier_complete(b, 1, 0);
  sgemm__mbarrier_wait(b, parity);
}

#define SGEMM__ARRIVALS 1
static inline void sgemm__mbarrier_arrive_warp(sgemm__mbarrier *b, int condition) {
  sgemm__warp_barrier();
  if (condition && sgemm__thread() % 32 == 0)
    sgemm__mbarrier_arrive(b);
}

/* ---- Named barriers ---------------------------------------------------------------------------------------------- */

/* On the GPU sgemm__barrier_threads() and the functions of warpgroup 0 use one barrier, number 1. Here each has its
   own, so a block that uses both fails. purpose: 1 for warpgroup 0, 2 for sgemm__barrier_threads(). */
static inline void sgemm__cpu_use_barrier_1(int purpose) {
  sgemm__cpu_worker *w = sgemm__cpu;
  if (w->barrier_1_purpose == 0)
    w->barrier_1_purpose = purpose;
  if (w->barrier_1_purpose != purpose)
    sgemm__cpu_abort(SGEMM_ERROR_DIVERGENCE, "named barrier 1 has two purposes", NULL, 0);
}

/* Ordered sequence of warpgroups 0 and 1. The barrier of a warpgroup counts 256 threads: 128 wait, 128 only arrive. */
static inline void sgemm__order_arrive(int warpgroup) {
  if (warpgroup == 0)
    sgemm__cpu_use_barrier_1(1);
  sgemm__cpu_mbarrier_complete(&sgemm__cpu->order_barriers[warpgroup], 1, 0);
}

static inline void sgemm__order_wait(int warpgroup) {
  const int parity = sgemm__cpu->order_barriers[warpgroup].phase & 1;
  sgemm__order_arrive(warpgroup);
  sgemm__mbarrier_wait(&sgemm__cpu->order_barriers[warpgroup], parity);
}

/* Barrier of `threads` threads of a block. The first thread of a cluster that waits here initializes it. */
static inline void sgemm__barrier_threads(int threads) {
  sgemm__mbarrier *b = &sgemm__cpu->consumer_barrier;
  int parity;
  sgemm__cpu_use_barrier_1(2);
  if (b->count == 0)
    sgemm__mbarrier_init(b, threads);
  parity = (int)(b->phase & 1);
  sgemm__cpu_mbarrier_complete(b, 1, 0);
  sgemm__mbarrier_wait(b, parity);
}

#endif /* SGEMM_CPU_BARRIER_H */
