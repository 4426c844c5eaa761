/* sgemm_count.h: what a launch on the CPU model asks of the memories, counted as an NVIDIA GPU counts it, warp by warp.
   Only with SGEMM_CPU_COUNT=1; the counters are SGEMM_COUNTS of sgemm_model.h. Included by sgemm_cpu.h.

   It counts what the source asks for. nvcc may ask less: it joins a thread's scalar loads from neighbouring words of
   shared memory, so that rows with V = 1 that keep A along k take a quarter of A's requests; the bytes are the same.

   WARPS    32 consecutive threads. Fibers run one after the other, so a warp's instruction is put together afterwards:
            between two barriers, the n-th access of a lane since it last passed sgemm__converge() and the n-th of other
            lanes are one instruction, if they are of one kind. sgemm__converge() stands behind each access that lanes
            may skip: there all have caught up. Lanes that have left the kernel take no part.
   SECTORS  A request to global memory moves the 32-byte sectors that its active lanes touch, each once (CUDA C++
            Programming Guide, "Global Memory").
   BANKS    Shared memory has 32 banks of 4 bytes; a wavefront reads one word of each, for any number of lanes (CUDA C++
            Programming Guide, "Shared Memory"). An access of 4 bytes a lane takes as many wavefronts as the busiest
            bank has different words. One of 16 bytes is served a quarter of a warp at a time, 8 lanes. Both quarters of
            a half load together if each active lane i of it reads what lane i ^ 1 reads, or each what lane i ^ 2 reads
            (G. Smith, https://forums.developer.nvidia.com/t/unexpected-shared-memory-bank-conflict/77228/2; by ncu on
            an H200 too, where a warp of such loads took 2 wavefronts and others 4). Assumed: that each half of a load
            decides on its own, and that stores never do so, nor ldmatrix, whose parts are its matrices (by ncu too).
            Conflicts are the wavefronts beyond one a part.
   FMAS     A run of FMAs between two accesses is one record. Where a warp divides, the runs of both paths count as
            one, so that fma_instructions is a lower bound there; fma_threads is exact everywhere.                   */
#ifndef SGEMM_COUNT_H
#define SGEMM_COUNT_H

/* FMA first: a run of FMAs and the access behind it have the same n. */
typedef enum sgemm__count_kind {
  SGEMM__COUNT_FMA,
  SGEMM__COUNT_LOAD_GLOBAL,
  SGEMM__COUNT_STORE_GLOBAL,
  SGEMM__COUNT_LOAD_SHARED,
  SGEMM__COUNT_STORE_SHARED,
  SGEMM__COUNT_LOAD_MATRIX /* from shared memory by ldmatrix, of which each lane tells a part's address */
} sgemm__count_kind;

#if !SGEMM_CPU_COUNT

#define sgemm__count_turn(thread) ((void)0)
#define sgemm__count_converge() ((void)0)
#define sgemm__count_access(kind, p, floats) ((void)0)
#define sgemm__count_skip() ((void)0)
#define sgemm__count_fma() ((void)0)
#define sgemm__count_bulk(copy) ((void)0)
#define sgemm__count_barrier(threads, line) ((void)0)
#define sgemm__count_finish(total, lock) ((void)0)

#else

enum { SGEMM__COUNT_WARPS = 1024 / 32 }; /* of a block, at most */

/* An instruction of a warp, or a run of FMAs. */
typedef struct sgemm__count_record {
  uint64_t key; /* orders the records of a warp as each of its lanes meets them: converge, n, kind, floats */
  sgemm__count_kind kind;
  int floats;            /* of a lane: 1 or 4 */
  uint32_t lanes;        /* bit i: lane i takes part */
  uintptr_t address[32]; /* of each lane; of FMAs their number */
} sgemm__count_record;

/* The records of a warp since the last barrier, by key. */
typedef struct sgemm__count_warp {
  sgemm__count_record *records;
  size_t count, capacity;
} sgemm__count_warp;

/* Where a fiber is; it may pause between barriers, at an mbarrier. */
typedef struct sgemm__count_place {
  uint64_t converged, n; /* passes of sgemm__converge() since the barrier, accesses since the last of them */
  size_t at;             /* the warp's record that the thread has reached */
} sgemm__count_place;

/* An OS thread's counts, and its fibers. */
typedef struct sgemm__counter {
  sgemm_counts counts;
  sgemm__count_warp warps[SGEMM__COUNT_WARPS];
  sgemm__count_place places[32 * SGEMM__COUNT_WARPS];
  int thread; /* that runs */
} sgemm__counter;

static _Thread_local sgemm__counter sgemm__count;

/* ---- While fibers run -------------------------------------------------------------------------------------------- */

/* The thread runs from here on. */
static inline void sgemm__count_turn(int thread) { sgemm__count.thread = thread; }

static inline sgemm__count_place *sgemm__count_here(void) { return &sgemm__count.places[sgemm__count.thread]; }

static inline void sgemm__count_converge(void) {
  sgemm__count_here()->converged++;
  sgemm__count_here()->n = 0;
}

static void sgemm__count_grow(sgemm__count_warp *w) {
  const size_t capacity = w->capacity > 0 ? 2 * w->capacity : 64;
  sgemm__count_record *records = (sgemm__count_record *)realloc(w->records, capacity * sizeof *records);
  if (records == NULL) {
    sgemm__cpu_fail(SGEMM_ERROR_MEMORY, "no memory for the counters", NULL, 0);
    sgemm__cpu_yield(sgemm__cpu); /* for good */
  }
  w->records = records;
  w->capacity = capacity;
}

/* The running lane's part of its warp's record, which the first lane to get there makes. Each lane goes through the
   records in order, so this is a step of a merge. */
static inline uintptr_t *sgemm__count_lane(sgemm__count_kind kind, int floats) {
  sgemm__counter *c = &sgemm__count;
  sgemm__count_warp *w = &c->warps[c->thread / 32];
  sgemm__count_place *here = sgemm__count_here();
  const uint64_t key = here->converged << 32 | here->n << 8 | (uint64_t)kind << 4 | (uint64_t)floats;
  const uint32_t lane = (uint32_t)c->thread % 32;
  sgemm__count_record *r;
  while (here->at < w->count && w->records[here->at].key < key)
    here->at++;
  if (here->at == w->count || w->records[here->at].key != key) {
    if (w->count == w->capacity)
      sgemm__count_grow(w);
    r = &w->records[here->at];
    memmove(r + 1, r, (w->count - here->at) * sizeof *r);
    w->count++;
    memset(r, 0, sizeof *r);
    r->key = key;
    r->kind = kind;
    r->floats = floats;
  }
  r = &w->records[here->at];
  r->lanes |= UINT32_C(1) << lane;
  return &r->address[lane];
}

static inline void sgemm__count_access(sgemm__count_kind kind, const float *p, int floats) {
  *sgemm__count_lane(kind, floats) = (uintptr_t)p;
  sgemm__count_here()->n++;
}

/* An access of the other lanes that this one leaves out by a predicate. */
static inline void sgemm__count_skip(void) { sgemm__count_here()->n++; }

static inline void sgemm__count_fma(void) { ++*sgemm__count_lane(SGEMM__COUNT_FMA, 1); }

/* A bulk copy, which one thread asks for: the sectors of each row, and whole rows of banks. */
static inline void sgemm__count_bulk(const sgemm__cpu_bulk *copy) {
  sgemm_counts *c = &sgemm__count.counts;
  int i;
  c->global_load_requests++;
  for (i = 0; i < copy->rows && copy->wide > 0; i++) {
    const uintptr_t first = (uintptr_t)copy->from + (uintptr_t)(i * copy->apart);
    c->global_load_sectors += (int64_t)((first + (uintptr_t)copy->wide - 1) / 32 - first / 32 + 1);
  }
  c->global_load_bytes += (int64_t)copy->rows * copy->wide;
  c->shared_store_requests++;
  c->shared_store_wavefronts += copy->bytes / 128;
  c->shared_store_bytes += copy->bytes;
}

/* ---- When all have met ------------------------------------------------------------------------------------------- */

static int64_t sgemm__count_sectors(const sgemm__count_record *r) {
  uintptr_t sectors[32]; /* one a lane at most: its 4 or 16 bytes are aligned to their size */
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

/* The wavefronts that the lanes from `first` to `end` take together: the most words of one bank. */
static int64_t sgemm__count_served(const sgemm__count_record *r, int first, int end) {
  uintptr_t words[32][32]; /* [bank][i]: a lane adds at most one word to a bank */
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

/* 1 if each lane from `first` to `end` reads the same as lane i ^ other, where both are active. */
static int sgemm__count_paired(const sgemm__count_record *r, int first, int end, int other) {
  int i;
  for (i = first; i < end; i++)
    if (r->lanes >> i & 1 && r->lanes >> (i ^ other) & 1 && r->address[i] != r->address[i ^ other])
      return 0;
  return 1;
}

static void sgemm__count_wavefronts(const sgemm__count_record *r, int64_t *wavefronts, int64_t *conflicts) {
  int first, part;
  for (first = 0; first < 32; first += part) {
    int64_t served;
    part = r->floats == 1 ? 32 : 8;
    if (r->floats == 4 && r->kind == SGEMM__COUNT_LOAD_SHARED && first % 16 == 0 &&
        (sgemm__count_paired(r, first, first + 16, 1) || sgemm__count_paired(r, first, first + 16, 2)))
      part = 16;
    served = sgemm__count_served(r, first, first + part);
    *wavefronts += served;
    *conflicts += served > 0 ? served - 1 : 0;
  }
}

static void sgemm__count_record_done(sgemm_counts *c, const sgemm__count_record *r) {
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

/* Every thread of a block has reached the barrier in that line, or for 0 its end. */
static void sgemm__count_barrier(int threads, int line) {
  int w;
  size_t i;
  for (w = 0; w < SGEMM__COUNT_WARPS; w++) {
    for (i = 0; i < sgemm__count.warps[w].count; i++)
      sgemm__count_record_done(&sgemm__count.counts, &sgemm__count.warps[w].records[i]);
    sgemm__count.warps[w].count = 0;
  }
  memset(sgemm__count.places, 0, (size_t)threads * sizeof *sgemm__count.places);
  if (line != 0)
    sgemm__count.counts.barriers += (threads + 31) / 32;
}

/* Adds what this OS thread has counted to its launch's total, and starts anew. */
static void sgemm__count_finish(sgemm_counts *total, pthread_mutex_t *lock) {
  int w;
  pthread_mutex_lock(lock);
#define SGEMM__X(counter, metric) total->counter += sgemm__count.counts.counter;
  SGEMM_COUNTS(SGEMM__X)
#undef SGEMM__X
  pthread_mutex_unlock(lock);
  for (w = 0; w < SGEMM__COUNT_WARPS; w++)
    free(sgemm__count.warps[w].records);
  memset(&sgemm__count, 0, sizeof sgemm__count);
}

#endif /* SGEMM_CPU_COUNT */
#endif /* SGEMM_COUNT_H */
