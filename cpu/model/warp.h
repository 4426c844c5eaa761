/* cpu/model/warp.h: exchanges between the lanes of a warp: ldmatrix, shuffles, votes, elect.sync. Each of these
   functions waits for all lanes of the warp, because the GPU's instructions need all lanes. */
#ifndef SGEMM_CPU_WARP_H
#define SGEMM_CPU_WARP_H

#include "cpu/model/barrier.h"
#include "cpu/model/load_store.h"

/* The 32 words, one for each lane, that the lanes of the running warp write before the next warp barrier and read after
   it. The words change with each warp barrier: a lane may write those of the next exchange while others still read
   those of this one. No lane passes a second warp barrier before all have read. */
static inline uintptr_t *sgemm__cpu_exchange(void) {
  const int warp = sgemm__thread() / 32;
  return sgemm__cpu->exchange[warp][sgemm__cpu->warp_barriers[warp].phase & 1];
}

/* Each lane passes the address of a row, and reads one element of a row of each matrix after all lanes have passed
   theirs. */
static inline void sgemm__ldmatrix_floats(float *r, sgemm__address p, int vectors, int stride) {
  const int lane = sgemm__thread() % 32;
  sgemm__address *addresses = sgemm__cpu_exchange();
  int i;
  sgemm__cpu_check_aligned((const float *)p);
  for (i = 0; i < vectors; i++)
    sgemm__count_access(SGEMM__COUNT_LOAD_MATRIX, (const float *)(p + (uintptr_t)(i * stride)), 4);
  addresses[lane] = p;
  sgemm__warp_barrier();
  for (i = 0; i < 4 * vectors; i++)
    r[i] = sgemm__cpu_read_shared((const float *)(addresses[i % 4 * 8 + lane / 4] + (uintptr_t)(i / 4 * stride)) +
                                  lane % 4);
}

/* Each lane passes the address of its registers. The second warp barrier keeps a lane from overwriting its registers
   before the other lane has read them. */
static inline void sgemm__shuffle_xor4(float *r, int mask) {
  const int lane = sgemm__thread() % 32;
  uintptr_t *addresses = sgemm__cpu_exchange();
  float other[4];
  addresses[lane] = (uintptr_t)r;
  sgemm__warp_barrier();
  memcpy(other, (const float *)addresses[lane ^ mask], sizeof other);
  sgemm__warp_barrier();
  memcpy(r, other, sizeof other);
}

static inline float sgemm__shuffle_xor(float x, int mask) {
  const int lane = sgemm__thread() % 32;
  uintptr_t *addresses = sgemm__cpu_exchange();
  float other;
  addresses[lane] = (uintptr_t)&x;
  sgemm__warp_barrier();
  other = *(const float *)addresses[lane ^ mask];
  sgemm__warp_barrier();
  return other;
}

/* Lane 0 loads; the others read its value after the warp barrier. */
static inline uint64_t sgemm__load_for_warp(const uint64_t *p) {
  uintptr_t *words = sgemm__cpu_exchange();
  if (sgemm__thread() % 32 == 0)
    words[0] = (uintptr_t)__atomic_load_n(p, __ATOMIC_RELAXED);
  sgemm__warp_barrier();
  return words[0];
}

/* Elects lane 0. */
static inline int sgemm__elect_one(void) {
  sgemm__warp_barrier();
  return sgemm__thread() % 32 == 0;
}

/* Each lane compares all vectors itself. */
static inline uint32_t sgemm__vectors_differ(const float *x, const float *y, int vectors) {
  uint32_t differ = 0;
  float a[4], b[4];
  int i;
  sgemm__warp_barrier();
  for (i = 0; i < vectors; i++) {
    sgemm__load_shared4(a, x + 4 * i);
    sgemm__load_shared4(b, y + 4 * i);
    differ |= (uint32_t)(memcmp(a, b, sizeof a) != 0) << i;
  }
  return differ;
}

#endif /* SGEMM_CPU_WARP_H */
