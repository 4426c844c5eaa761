/* pool.c: the copying threads. A job is cut into pieces of whole rows. Threads take pieces of the oldest job that has
   any left, so that a job is done early and its staging buffer can go on its way. */
#define _POSIX_C_SOURCE 200809L
#include "adapters/host/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a piece: long enough to hide the lock (about 0.1 us against 50 us at 5 GB/s), short enough that the last
   pieces of a job of 8 MiB keep 8 threads busy. */
enum { PIECE = 256 * 1024 };

typedef struct job {
  sgemm_host__copy copy;
  int used;
  uint64_t number;       /* jobs are done in the order of their numbers */
  int64_t next, pending; /* the first row that no thread has taken; rows that are not copied yet */
} job;

struct sgemm_host__pool {
  pthread_mutex_t lock;
  pthread_cond_t work, done; /* there are rows to take; a job is done, or a job's place is free */
  job jobs[SGEMM_HOST__JOBS];
  uint64_t number;
  int quit, threads;
  pthread_t thread[256];
};

static void copy_rows(const sgemm_host__copy *c, int64_t first, int64_t rows) {
  int64_t i;
  for (i = first; i < first + rows; i++)
    memcpy(c->to + (size_t)i * c->to_pitch, c->from + (size_t)i * c->from_pitch, c->width);
}

/* Takes a piece of the job and copies it. Called with the lock, which it opens while it copies. */
static void work_on(sgemm_host__pool *pool, job *j) {
  const sgemm_host__copy copy = j->copy;
  const int64_t first = j->next, left = copy.rows - first;
  int64_t rows = copy.width >= PIECE ? 1 : PIECE / (int64_t)sgemm__max(1, (int64_t)copy.width);
  rows = rows < left ? rows : left;
  j->next += rows;
  pthread_mutex_unlock(&pool->lock);
  copy_rows(&copy, first, rows);
  pthread_mutex_lock(&pool->lock);
  j->pending -= rows;
  if (j->pending == 0)
    pthread_cond_broadcast(&pool->done);
}

static job *oldest(sgemm_host__pool *pool) {
  job *found = NULL;
  int i;
  for (i = 0; i < SGEMM_HOST__JOBS; i++) {
    job *j = &pool->jobs[i];
    if (j->used && j->next < j->copy.rows && (found == NULL || j->number < found->number))
      found = j;
  }
  return found;
}

static void *worker(void *context) {
  sgemm_host__pool *pool = (sgemm_host__pool *)context;
  pthread_mutex_lock(&pool->lock);
  while (!pool->quit) {
    job *j = oldest(pool);
    if (j != NULL)
      work_on(pool, j);
    else
      pthread_cond_wait(&pool->work, &pool->lock);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

sgemm_host__pool *sgemm_host__pool_make(int threads) {
  sgemm_host__pool *pool = (sgemm_host__pool *)calloc(1, sizeof *pool);
  if (pool == NULL)
    return NULL;
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->work, NULL);
  pthread_cond_init(&pool->done, NULL);
  while (pool->threads < threads - 1 && pthread_create(&pool->thread[pool->threads], NULL, worker, pool) == 0)
    pool->threads++;
  return pool;
}

void sgemm_host__pool_drop(sgemm_host__pool *pool) {
  int i;
  if (pool == NULL)
    return;
  pthread_mutex_lock(&pool->lock);
  pool->quit = 1;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
  for (i = 0; i < pool->threads; i++)
    pthread_join(pool->thread[i], NULL);
  pthread_cond_destroy(&pool->work);
  pthread_cond_destroy(&pool->done);
  pthread_mutex_destroy(&pool->lock);
  free(pool);
}

int sgemm_host__pool_begin(sgemm_host__pool *pool, const sgemm_host__copy *copy) {
  int i = 0;
  pthread_mutex_lock(&pool->lock);
  while (pool->jobs[i].used)
    if (++i == SGEMM_HOST__JOBS) {
      pthread_cond_wait(&pool->done, &pool->lock);
      i = 0;
    }
  pool->jobs[i].copy = *copy;
  pool->jobs[i].used = 1;
  pool->jobs[i].number = pool->number++;
  pool->jobs[i].next = 0;
  pool->jobs[i].pending = copy->rows;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
  return i;
}

void sgemm_host__pool_wait(sgemm_host__pool *pool, int number) {
  job *j = &pool->jobs[number];
  pthread_mutex_lock(&pool->lock);
  while (j->pending > 0)
    if (j->next < j->copy.rows)
      work_on(pool, j);
    else
      pthread_cond_wait(&pool->done, &pool->lock);
  j->used = 0;
  pthread_cond_broadcast(&pool->done);
  pthread_mutex_unlock(&pool->lock);
}
