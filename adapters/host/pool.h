/* pool.h: threads that copy rectangles of host memory. */
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

#endif /* SGEMM_HOST_POOL_H */
