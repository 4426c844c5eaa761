/* pool.h: threads that copy rectangles of host memory, and prefault the pages of one while there is nothing to copy. */
#ifndef SGEMM_HOST_POOL_H
#define SGEMM_HOST_POOL_H

#include "adapters/host/device.h"

/* Jobs that are not waited for yet: at most one for each staging buffer of the loads and of the stores. */
enum { SGEMM_HOST__JOBS = 32 };

typedef struct sgemm_host__pool sgemm_host__pool;

/* A pool of `threads` threads, of which the thread that waits for a job is one. NULL: there is no memory. If a thread
   cannot be started, the pool has fewer. */
sgemm_host__pool *sgemm_host__pool_make(int threads);
void sgemm_host__pool_drop(sgemm_host__pool *pool);

/* Begins a copy and returns its job. wait() copies too, and returns when the job is done. Each job is waited for once,
   by any thread. */
int sgemm_host__pool_begin(sgemm_host__pool *pool, const sgemm_host__copy *copy);
void sgemm_host__pool_wait(sgemm_host__pool *pool, int job);

/* Begins to prefault a rectangle: the threads make the pages that overlap its side `to` present and writable, so that a
   later copy to it does not fault page by page. Contents do not change, and `from` is not used. A thread prefaults only
   while every copy is taken, and a thread in wait() never does. This is a hint: it has no effect if the pool has no
   threads beside the one that waits, or if the system refuses. A pool prefaults one rectangle at a time. */
void sgemm_host__pool_prefault(sgemm_host__pool *pool, const sgemm_host__copy *area);

/* Ends it: drops what no thread has begun and waits for the rest. After that the memory may be freed. Returns at once
   if nothing was begun, or for NULL. */
void sgemm_host__pool_prefault_end(sgemm_host__pool *pool);

#endif /* SGEMM_HOST_POOL_H */
