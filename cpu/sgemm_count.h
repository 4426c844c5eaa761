/* sgemm_count.h: the counters of the CPU model. They count the memory requests and the FMAs of a launch, warp by warp
   as an NVIDIA GPU counts them. SGEMM_CPU_COUNT=1 turns them on. SGEMM_COUNTS of sgemm_model.h lists them.

   The counters count the accesses of the source. nvcc may merge a thread's scalar loads of neighbouring words of shared
   memory, so a GPU has a quarter of the requests for A where V = 1 and A's tile is K-major. The bytes are equal.

   WARPS    A warp is 32 consecutive threads. Fibers run one after the other, so the model reassembles the instructions
            of a warp from the accesses of its lanes. Accesses of several lanes are one instruction if they are of one
            kind and each is the n-th access of its lane since the last sgemm__converge(), with the same n, between the
            same two barriers. sgemm__converge() follows each access that some lanes may skip, so that the next access
            has the same n in all lanes. Lanes that have exited take no part.
   SECTORS  A request to global memory moves each 32-byte sector that its active lanes touch once (CUDA C++ Programming
            Guide, "Global Memory").
   BANKS    Shared memory has 32 banks of 4 bytes. A wavefront reads one word of each bank, for any number of lanes
            (CUDA C++ Programming Guide, "Shared Memory"). An access of 4 bytes per lane takes as many wavefronts as the
            busiest bank has different words. An access of 16 bytes per lane is served in groups of 8 lanes. A load
            serves the two groups of a half-warp together if each active lane i of it reads the address of lane i ^ 1,
            or if each reads the address of lane i ^ 2 (G. Smith,
            https://forums.developer.nvidia.com/t/unexpected-shared-memory-bank-conflict/77228/2). ncu agrees on an
            H200: a warp with such loads took 2 wavefronts, other warps 4. ncu also shows that ldmatrix serves each of
            its matrices alone. The model assumes that each half-warp combines its groups independently of the other,
            and that stores never combine groups. Conflicts are the wavefronts beyond the first of each group.
   FMAS     The FMAs between two accesses of a lane are one run. Where lanes of a warp take different branches, the runs
            of both branches count as one, so fma_instructions is a lower bound. fma_threads is exact.
   BARRIERS A barrier of the block or of the cluster counts once for each warp. Named barriers are not counted
            (sgemm__barrier_threads(), sgemm__order_wait(), sgemm__order_arrive()). In SASS block barriers and named
            barriers are BAR, and cluster barriers are UCGABAR. */
#ifndef SGEMM_COUNT_H
#define SGEMM_COUNT_H

#include "cpu/model/fiber.h"

#include <stdlib.h>
#include <string.h>

/* The kinds of records, in the order in which a lane meets records of the same n: the FMAs before the n-th access come
   before that access. */
typedef enum sgemm__count_kind {
  SGEMM__COUNT_FMA,
  SGEMM__COUNT_LOAD_GLOBAL,
  SGEMM__COUNT_STORE_GLOBAL,
  SGEMM__COUNT_LOAD_SHARED,
  SGEMM__COUNT_STORE_SHARED,
  SGEMM__COUNT_LOAD_MATRIX /* ldmatrix: each lane passes the address of one row of 16 bytes */
} sgemm__count_kind;

#if !SGEMM_CPU_COUNT

#define sgemm__count_resume(thread) ((void)0)
#define sgemm__count_converge() ((void)0)
#define sgemm__count_access(kind, p, floats) ((void)0)
#define sgemm__count_skip() ((void)0)
#define sgemm__count_fma() ((void)0)
#define sgemm__count_bulk_copy(copy) ((void)0)
#define sgemm__count_barrier(threads, line) ((void)0)
#define sgemm__count_finish(total, lock) ((void)0)

#else

enum { SGEMM__COUNT_WARPS = 1024 / 32 }; /* maximum warps of a block */

/* An access instruction of a warp, or a run of FMAs. */
typedef struct sgemm__count_record {
  uint64_t key; /* converged, n, kind, floats: the order in which each lane meets the records of its warp */
  sgemm__count_kind kind;
  int floats;            /* floats per lane: 1, 2 or 4 */
  uint32_t lanes;        /* bit i is 1 if lane i takes part */
  uintptr_t address[32]; /* address of each lane's access; for FMAs, the number of each lane's FMAs */
} sgemm__count_record;

/* The records of a warp since the last barrier, sorted by key. */
typedef struct sgemm__count_warp {
  sgemm__count_record *records;
  size_t count, capacity;
} sgemm__count_warp;

/* A thread's position among the records of its warp. It lasts from barrier to barrier, while the fiber may yield. */
typedef struct sgemm__count_position {
  uint64_t converged; /* calls of sgemm__converge() since the barrier */
  uint64_t n;         /* accesses since the last sgemm__converge() */
  size_t record;      /* index of the record that the thread has reached */
} sgemm__count_position;

/* The counters of an OS thread and the positions of the threads of the running block. */
typedef struct sgemm__counter {
  sgemm_counts counts;
  sgemm__count_warp warps[SGEMM__COUNT_WARPS];
  sgemm__count_position positions[32 * SGEMM__COUNT_WARPS];
  int thread; /* the running thread */
} sgemm__counter;

static _Thread_local sgemm__counter sgemm__count;

/* ---- While fibers run -------------------------------------------------------------------------------------------- */

/* The scheduler resumes that thread. */
static inline void sgemm__count_resume(int thread) { sgemm__count.thread = thread; }

static inline sgemm__count_position *sgemm__count_here(void) { return &sgemm__count.positions[sgemm__count.thread]; }

static inline void sgemm__count_converge(void) {
  sgemm__count_here()->converged++;
  sgemm__count_here()->n = 0;
}

static void sgemm__count_grow(sgemm__count_warp *w) {
  const size_t capacity = w->capacity > 0 ? 2 * w->capacity : 64;
  sgemm__count_record *records = (sgemm__count_record *)realloc(w->records, capacity * sizeof *records);
  if (records == NULL)
    sgemm__cpu_abort(SGEMM_ERROR_MEMORY, "no memory for the counters", NULL, 0);
  w->records = records;
  w->capacity = capacity;
}

/* Returns the running lane's word of the record for its current access. The first lane that reaches a record inserts
   it. Each lane passes the records in order, so the call is one step of a merge of sorted lists. */
static inline uintptr_t *sgemm__count_lane(sgemm__count_kind kind, int floats) {
  sgemm__counter *c = &sgemm__count;
  sgemm__count_warp *w = &c->warps[c->thread / 32];
  sgemm__count_position *here = sgemm__count_here();
  const uint64_t key = here->converged << 32 | here->n << 8 | (uint64_t)kind << 4 | (uint64_t)floats;
  const uint32_t lane = (uint32_t)c->thread % 32;
  sgemm__count_record *r;
  while (here->record < w->count && w->records[here->record].key < key)
    here->record++;
  if (here->record == w->count || w->records[here->record].key != key) {
    if (w->count == w->capacity)
      sgemm__count_grow(w);
    r = &w->records[here->record];
    memmove(r + 1, r, (w->count - here->record) * sizeof *r);
    w->count++;
    memset(r, 0, sizeof *r);
    r->key = key;
    r->kind = kind;
    r->floats = floats;
  }
  r = &w->records[here->record];
  r->lanes |= UINT32_C(1) << lane;
  return &r->address[lane];
}

static inline void sgemm__count_access(sgemm__count_kind kind, const float *p, int floats) {
  *sgemm__count_lane(kind, floats) = (uintptr_t)p;
  sgemm__count_here()->n++;
}

/* An access that other lanes may make and that a predicate turns off for the running lane. */
static inline void sgemm__count_skip(void) { sgemm__count_here()->n++; }

static inline void sgemm__count_fma(void) { ++*sgemm__count_lane(SGEMM__COUNT_FMA, 1); }

/* A bulk copy, issued by one thread. It reads the sectors of each row, and a wavefront stores 128 bytes. */
static inline void sgemm__count_bulk_copy(const sgemm__cpu_bulk_copy *copy) {
  sgemm_counts *c = &sgemm__count.counts;
  int i;
  c->global_load_requests++;
  for (i = 0; i < copy->rows && copy->row_bytes > 0; i++) {
    const uintptr_t first = (uintptr_t)copy->from + (uintptr_t)(i * copy->global_stride);
    c->global_load_sectors += (int64_t)((first + (uintptr_t)copy->row_bytes - 1) / 32 - first / 32 + 1);
  }
  c->global_load_bytes += (int64_t)copy->rows * copy->row_bytes;
  c->shared_store_requests++;
  c->shared_store_wavefronts += copy->bytes / 128;
  c->shared_store_bytes += copy->bytes;
}

/* ---- At a barrier ------------------------------------------------------------------------------------------------ */

static int64_t sgemm__count_sectors(const sgemm__count_record *r) {
  uintptr_t sectors[32]; /* each lane touches one sector: its access is aligned to its size */
  int lane, i, count = 0;
  for (lane = 0; lane < 32; lane++) {
    const uintptr_t sector = r->address[lane] / 32;
    for (i = count - 1; i >= 0 && sectors[i] != sector; i--)
      ;
    if (r->lanes >> lane & 1 && i < 0)
      sectors[count++] = sector;
  }
  return count;
}

/* Wavefronts of lanes first to end - 1, served together: the number of different words of the busiest bank. */
static int64_t sgemm__count_group(const sgemm__count_record *r, int first, int end) {
  uintptr_t words[32][32]; /* [bank][i]; each lane adds at most one word to a bank */
  int count[32] = {0}, most = 0, lane, f, i;
  for (lane = first; lane < end; lane++)
    for (f = 0; f < r->floats && r->lanes >> lane & 1; f++) {
      const uintptr_t word = r->address[lane] / 4 + (unsigned)f, bank = word % 32;
      for (i = 0; i < count[bank] && words[bank][i] != word; i++)
        ;
      if (i == count[bank])
        words[bank][count[bank]++] = word;
      most = count[bank] > most ? count[bank] : most;
    }
  return most;
}

/* 1 if each lane i, first <= i < end, has the same address as lane i ^ mask where both are active. */
static int sgemm__count_paired(const sgemm__count_record *r, int first, int end, int mask) {
  int i;
  for (i = first; i < end; i++)
    if (r->lanes >> i & 1 && r->lanes >> (i ^ mask) & 1 && r->address[i] != r->address[i ^ mask])
      return 0;
  return 1;
}

/* Adds the wavefronts and the bank conflicts of an access to shared memory. */
static void sgemm__count_wavefronts(const sgemm__count_record *r, int64_t *wavefronts, int64_t *conflicts) {
  int first, lanes; /* lanes: the size of the group of lanes that begins at `first` */
  for (first = 0; first < 32; first += lanes) {
    int64_t group;
    lanes = r->floats == 1 ? 32 : 8;
    if (r->floats == 4 && r->kind == SGEMM__COUNT_LOAD_SHARED && first % 16 == 0 &&
        (sgemm__count_paired(r, first, first + 16, 1) || sgemm__count_paired(r, first, first + 16, 2)))
      lanes = 16;
    group = sgemm__count_group(r, first, first + lanes);
    *wavefronts += group;
    *conflicts += group > 0 ? group - 1 : 0;
  }
}

/* Adds a complete record to the counters. */
static void sgemm__count_add(sgemm_counts *c, const sgemm__count_record *r) {
  const int64_t bytes = 4 * r->floats * (int64_t)__builtin_popcount(r->lanes);
  uintptr_t most = 0;
  int lane;
  switch (r->kind) {
  case SGEMM__COUNT_FMA:
    for (lane = 0; lane < 32; lane++) {
      c->fma_threads += (int64_t)r->address[lane];
      most = r->address[lane] > most ? r->address[lane] : most;
    }
    c->fma_instructions += (int64_t)most;
    break;
  case SGEMM__COUNT_LOAD_GLOBAL:
    c->global_load_requests++;
    c->global_load_sectors += sgemm__count_sectors(r);
    c->global_load_bytes += bytes;
    break;
  case SGEMM__COUNT_STORE_GLOBAL:
    c->global_store_requests++;
    c->global_store_sectors += sgemm__count_sectors(r);
    c->global_store_bytes += bytes;
    break;
  case SGEMM__COUNT_LOAD_SHARED:
  case SGEMM__COUNT_LOAD_MATRIX:
    c->shared_load_requests++;
    sgemm__count_wavefronts(r, &c->shared_load_wavefronts, &c->shared_load_conflicts);
    c->shared_load_bytes += bytes;
    break;
  case SGEMM__COUNT_STORE_SHARED:
    c->shared_store_requests++;
    sgemm__count_wavefronts(r, &c->shared_store_wavefronts, &c->shared_store_conflicts);
    c->shared_store_bytes += bytes;
    break;
  }
}

/* All threads of a block have reached the barrier in that source line, or have exited (line 0). */
static void sgemm__count_barrier(int threads, int line) {
  int w;
  size_t i;
  for (w = 0; w < SGEMM__COUNT_WARPS; w++) {
    for (i = 0; i < sgemm__count.warps[w].count; i++)
      sgemm__count_add(&sgemm__count.counts, &sgemm__count.warps[w].records[i]);
    sgemm__count.warps[w].count = 0;
  }
  memset(sgemm__count.positions, 0, (size_t)threads * sizeof *sgemm__count.positions);
  if (line != 0)
    sgemm__count.counts.barriers += (threads + 31) / 32;
}

/* Adds the counters of this OS thread to the total of its launch and resets them. */
static void sgemm__count_finish(sgemm_counts *total, pthread_mutex_t *lock) {
  int w;
  pthread_mutex_lock(lock);
  sgemm_counts_add(total, &sgemm__count.counts, 1);
  pthread_mutex_unlock(lock);
  for (w = 0; w < SGEMM__COUNT_WARPS; w++)
    free(sgemm__count.warps[w].records);
  memset(&sgemm__count, 0, sizeof sgemm__count);
}

#endif /* SGEMM_CPU_COUNT */
#endif /* SGEMM_COUNT_H */
