/* lane.h: one GPU of a call: its memory, streams and threads, and the way of a tile through it. */
#ifndef SGEMM_HOST_LANE_H
#define SGEMM_HOST_LANE_H

#include <pthread.h>

#include "adapters/host/device.h"
#include "adapters/host/plan.h"
#include "adapters/host/pool.h"
#include "adapters/host/queue.h"
#include "adapters/host/sgemm_host.h"

/* Staging buffers. While one is filled by the copying threads, the ones before are on the link. */
enum { SGEMM_HOST__LOADS = 8, SGEMM_HOST__STORES = 4, SGEMM_HOST__STAGINGS = SGEMM_HOST__LOADS + SGEMM_HOST__STORES };

/* ---- The call ---------------------------------------------------------------------------------------------------- */

/* What the lanes of a call share. `lock` guards the fields from `changed` on. */
typedef struct sgemm_host__call {
  sgemm_params p; /* row-major */
  int col_major;  /* 1: p is the transpose of what the caller asked for */
  const sgemm_host_options *options;
  sgemm_host__plan plan;
  sgemm_host__queue queue;
  int staged_a, staged_b, staged_c; /* 1: the operand is in pageable memory */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int started; /* 1: every thread of the call is there; -1: one is not, and nothing is computed */
  int stop;    /* 1: no tile is begun any more */
  int status;  /* the first error */
  int64_t tiles_done, bytes_in, bytes_out;
  int64_t *done_in_row; /* finished tiles of each row of tiles */
} sgemm_host__call;

/* Records an error and stops the call. Returns the status. */
int sgemm_host__fail(sgemm_host__call *call, int status);
int sgemm_host__stopped(sgemm_host__call *call);

/* ---- The lane ---------------------------------------------------------------------------------------------------- */

/* The place of a panel. A panel is known by its operand (0: A, 1: B; -1: the place is empty), its block and its k. */
typedef struct sgemm_host__panel {
  char *memory;
  int operand;
  int64_t block, index;
  int64_t last;                   /* the step in which it was used last */
  sgemm_host__event loaded, used; /* its copy; the last multiplication that reads it */
} sgemm_host__panel;

/* The place of a tile of C, and the tile in it. */
typedef struct sgemm_host__result {
  char *memory;
  sgemm_host__event loaded, computed, stored;
  sgemm_host__tile tile;
  int state; /* 0: free; 1: it is computed or waits for its store */
} sgemm_host__result;

typedef struct sgemm_host__lane {
  struct sgemm_host__lane *next; /* in the list of lanes that no call uses */
  int device;
  sgemm_host__stream in, multiply, out;
  char *memory; /* device memory: panels, results, workspace */
  int64_t memory_bytes;
  sgemm_host__pool *pool;
  int threads;
  char *staging; /* pinned memory */
  int64_t staging_bytes;
  sgemm_host__event staging_event[SGEMM_HOST__STAGINGS];
  int load_next; /* the staging buffer of the next load */
  sgemm_host__panel *panel;
  int panels; /* places that have their events */
  sgemm_host__result result[3];
  /* The fields below belong to the present call. */
  sgemm_host__call *call;
  char *workspace;
  int64_t step;
  int64_t begun,
      stored; /* tiles that were handed to the thread of stores, and that it has finished; under call->lock */
  int ended;  /* 1: no tile comes any more */
  sgemm_host__copy prefault; /* what the pool of the lane is to prefault; 0 rows: nothing, or it has begun */
  int64_t bytes_in, bytes_out;
  pthread_t run_thread, store_thread;
} sgemm_host__lane;

/* Takes a lane that no call uses, or makes one. prepare() gives it the memory of a plan. give() keeps it for the next
   call; after an error (healthy = 0) it is dropped. */
int sgemm_host__lane_take(int device, sgemm_host__lane **lane);
int sgemm_host__lane_prepare(sgemm_host__lane *lane, const sgemm_host__plan *plan, int threads, int64_t staging_bytes);
void sgemm_host__lane_give(sgemm_host__lane *lane, int healthy);

/* The work of a lane's two threads, from the start of the call to its end. The context is the lane. */
void *sgemm_host__lane_run(void *lane);
void *sgemm_host__lane_store(void *lane);

/* ---- Transfers --------------------------------------------------------------------------------------------------- */

/* Copies a rectangle from host memory to the device in the order of the stream `in`. Returns when every copy is in the
   stream; a staged operand may be overwritten then. */
int sgemm_host__load(sgemm_host__lane *lane, int staged, const sgemm_host__copy *copy);

/* Copies a rectangle to host memory behind the event, and returns when it is there. */
int sgemm_host__store(sgemm_host__lane *lane, int staged, const sgemm_host__copy *copy, sgemm_host__event stored);

#endif /* SGEMM_HOST_LANE_H */
