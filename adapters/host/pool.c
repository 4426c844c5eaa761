/* pool.c: the copying threads. A job is cut into parts of whole rows. Threads take parts of the oldest job that has
   any left, so that a job is done early and its staging buffer can go on its way. A thread that finds no part
   prefaults a window. */
#define _DEFAULT_SOURCE /* madvise(), mincore() */
#define _POSIX_C_SOURCE 200809L
#include "adapters/host/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* include/uapi/asm-generic/mman-common.h of Linux 5.14 */
#endif
#endif

/* Bytes of a part: long enough to hide the lock (about 0.1 us against 50 us at 5 GB/s), short enough that the last
   parts of a job of 8 MiB keep 16 threads busy. */
enum { PART = 256 * 1024 };

/* Bytes of a window, the part of a rectangle that one thread prefaults at a time. Windows begin at multiples of their
   size. So a huge page of 2 MiB (x86-64, and arm64 with pages of 4 KiB) lies in one window, and no two threads clear
   the same huge page. A window is also the longest time for which a copy can find a thread busy with prefaulting. */
enum { WINDOW = 2 * 1024 * 1024 };

typedef struct job {
  sgemm_host__copy copy;
  int used;
  uint64_t number;       /* jobs are done in the order of their numbers */
  int64_t next, pending; /* the first row that no thread has taken; rows that are not copied yet */
} job;

typedef struct prefault {
  sgemm_host__copy area; /* its side `to` */
  int64_t left;          /* windows that no thread has taken; the last of them is the next */
  int busy;              /* threads that prefault a window */
} prefault;

struct sgemm_host__pool {
  pthread_mutex_t lock;
  pthread_cond_t work; /* there are rows or windows to take */
  pthread_cond_t done; /* a job or the prefaulting is done, or a job's place is free */
  job jobs[SGEMM_HOST__JOBS];
  prefault prefault;
  uint64_t number;
  int quit, threads;
  pthread_t thread[256];
};

static void copy_rows(const sgemm_host__copy *c, int64_t first, int64_t rows) {
  int64_t i;
  for (i = first; i < first + rows; i++)
    memcpy(c->to + (size_t)i * c->to_pitch, c->from + (size_t)i * c->from_pitch, c->width);
}

/* Takes a part of the job and copies it. Called with the lock, which it opens while it copies. */
static void work_on(sgemm_host__pool *pool, job *j) {
  const sgemm_host__copy copy = j->copy;
  const int64_t first = j->next, left = copy.rows - first;
  int64_t rows = copy.width >= PART ? 1 : PART / (int64_t)sgemm__max(1, (int64_t)copy.width);
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

#if defined(__linux__)
/* 1: all pages of a range within a window are present. mincore() answers sooner than MADV_POPULATE_WRITE, which takes
   each page by itself, so that a C that is no new memory costs the threads little. A page that was only read counts as
   present and is left to the store. */
static int all_present(void *from, size_t bytes, size_t page) {
  unsigned char pages[WINDOW / 4096];
  size_t i;
  if (bytes / page > sizeof pages || mincore(from, bytes, pages) != 0)
    return 0;
  for (i = 0; i < bytes / page; i++)
    if ((pages[i] & 1) == 0)
      return 0;
  return 1;
}
#endif

/* Prefaults the part of the rectangle in a window: for each row the pages that overlap it. A page that a row shares
   with other memory may be populated too, because that changes no content. Returns 0 if the system refuses. */
static int populate(const sgemm_host__copy *area, int64_t window) {
#if defined(__linux__)
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), to = (uintptr_t)area->to;
  const uintptr_t begin = to / WINDOW * WINDOW + (uintptr_t)window * WINDOW, end = begin + WINDOW;
  /* i: the first row that ends behind the beginning of the window. */
  int64_t i = begin < to + area->width ? 0 : (int64_t)((begin - to - area->width) / area->to_pitch) + 1;
  for (; i < area->rows && to + (uintptr_t)i * area->to_pitch < end; i++) {
    const uintptr_t row = to + (uintptr_t)i * area->to_pitch;
    const uintptr_t first = row / page * page, last = (row + area->width + page - 1) / page * page;
    const uintptr_t from = first > begin ? first : begin, until = last < end ? last : end;
    if (!all_present((void *)from, until - from, page) && madvise((void *)from, until - from, MADV_POPULATE_WRITE) != 0)
      return 0;
  }
  return 1;
#else
  (void)area;
  (void)window;
  return 0;
#endif
}

/* Takes a window and prefaults it. Called with the lock, which it opens meanwhile. The windows go from the last to the
   first, because results are stored from the first row on: so threads do not fault in the pages that a store is
   writing, and the last rows, whose store nothing hides, are there first. An error ends the prefaulting: kernels before
   5.14 know no MADV_POPULATE_WRITE, and memory that cannot be populated is left to the store. */
static void prefault_window(sgemm_host__pool *pool) {
  prefault *p = &pool->prefault;
  const sgemm_host__copy area = p->area;
  const int64_t window = --p->left;
  int done;
  p->busy++;
  pthread_mutex_unlock(&pool->lock);
  done = populate(&area, window);
  pthread_mutex_lock(&pool->lock);
  if (!done)
    p->left = 0;
  if (--p->busy == 0)
    pthread_cond_broadcast(&pool->done);
}

static void *worker(void *context) {
  sgemm_host__pool *pool = (sgemm_host__pool *)context;
  pthread_mutex_lock(&pool->lock);
  while (!pool->quit) {
    job *j = oldest(pool);
    if (j != NULL)
      work_on(pool, j);
    else if (pool->prefault.left > 0)
      prefault_window(pool);
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

void sgemm_host__pool_prefault(sgemm_host__pool *pool, const sgemm_host__copy *area) {
  const size_t span = (size_t)(area->rows - 1) * area->to_pitch + area->width;
  sgemm_host__copy whole = *area;
#if defined(__linux__)
  /* Between rows that are less than a page apart there is no whole page. They are one row, which needs fewer calls. */
  if (area->rows > 1 && area->to_pitch - area->width < (size_t)sysconf(_SC_PAGESIZE)) {
    whole.to_pitch = whole.width = span;
    whole.rows = 1;
  }
#endif
  pthread_mutex_lock(&pool->lock);
  pool->prefault.area = whole;
  pool->prefault.left = (int64_t)(((uintptr_t)area->to + span - 1) / WINDOW - (uintptr_t)area->to / WINDOW) + 1;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
}

void sgemm_host__pool_prefault_end(sgemm_host__pool *pool) {
  if (pool == NULL)
    return;
  pthread_mutex_lock(&pool->lock);
  pool->prefault.left = 0;
  while (pool->prefault.busy > 0)
    pthread_cond_wait(&pool->done, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
}
