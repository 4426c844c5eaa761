/* cpu/model/load_store.h: loads and stores of the CPU model, in global, shared and distributed shared memory. */
#ifndef SGEMM_CPU_LOAD_STORE_H
#define SGEMM_CPU_LOAD_STORE_H

#include "cpu/model/shared_memory.h"

/* ---- Global memory ----------------------------------------------------------------------------------------------- */

/* Replaces a NaN by 0x7fffffff, the NaN that arithmetic of the GPU produces (CUDA C++ Programming Guide,
   "Floating-point Standard"). A test thus sees a write to poisoned padding, even where the kernel read a NaN there and
   added to it. */
static inline float sgemm__cpu_canonical_nan(float x) { return x != x ? sgemm__float_of(0x7fffffffu) : x; }

static inline float sgemm__load_global(const float *p) {
  sgemm__cpu_check_waited(SGEMM__CPU_WAITED);
  sgemm__count_access(SGEMM__COUNT_LOAD_GLOBAL, p, 1);
  return *p;
}

static inline float sgemm__load_result(const float *p) { return sgemm__load_global(p); }

static inline void sgemm__store_global(float *p, float x) {
  sgemm__cpu_check_waited(SGEMM__CPU_WAITED);
  sgemm__count_access(SGEMM__COUNT_STORE_GLOBAL, p, 1);
  *p = sgemm__cpu_canonical_nan(x);
}

static inline void sgemm__load_first4(float *r, const float *p, int exist) {
  int v;
  for (v = 0; v < 4 && v < exist; v++)
    r[v] = sgemm__load_global(p + v);
}

static inline void sgemm__store_first4(float *p, const float *r, int exist) {
  int v;
  for (v = 0; v < 4 && v < exist; v++)
    sgemm__store_global(p + v, r[v]);
}

static inline void sgemm__store_global2(float *p, float x, float y) {
  sgemm__cpu_check_waited(SGEMM__CPU_WAITED);
  if ((uintptr_t)p % 8 != 0)
    sgemm__cpu_abort(SGEMM_ERROR_MISALIGNED, "a 64-bit access that is not aligned to 8 bytes", NULL, 0);
  sgemm__count_access(SGEMM__COUNT_STORE_GLOBAL, p, 2);
  p[0] = x;
  p[1] = y;
}

static inline void sgemm__load_first2(float *r, const float *p, int exist) {
  sgemm__load_first4(r, p, exist < 2 ? exist : 2);
}

static inline void sgemm__store_first2(float *p, const float *r, int pairs, int exist) {
  if (pairs && exist > 1)
    sgemm__store_global2(p, r[0], r[1]);
  else
    sgemm__store_first4(p, r, exist < 2 ? exist : 2);
}

static inline void sgemm__load_global4(float *r, const float *p) {
  sgemm__cpu_check_waited(SGEMM__CPU_WAITED);
  sgemm__cpu_check_aligned(p);
  sgemm__count_access(SGEMM__COUNT_LOAD_GLOBAL, p, 4);
  memcpy(r, p, 16);
}

static inline void sgemm__load_result4(float *r, const float *p) { sgemm__load_global4(r, p); }

static inline void sgemm__store_global4(float *p, const float *r) {
  int v;
  sgemm__cpu_check_waited(SGEMM__CPU_WAITED);
  sgemm__cpu_check_aligned(p);
  sgemm__count_access(SGEMM__COUNT_STORE_GLOBAL, p, 4);
  for (v = 0; v < 4; v++)
    p[v] = sgemm__cpu_canonical_nan(r[v]);
}

static inline void sgemm__load_whole4(float *r, const float *p, int inside) {
  if (inside)
    sgemm__load_global4(r, p);
}

static inline void sgemm__store_whole4(float *p, const float *r, int inside) {
  if (inside)
    sgemm__store_global4(p, r);
}

static inline void sgemm__stream_global4(float *p, const float *r) { sgemm__store_global4(p, r); }

static inline void sgemm__store_words4(void *p, const uint32_t *r) {
  sgemm__cpu_check_waited(SGEMM__CPU_WAITED);
  sgemm__cpu_check_aligned((const float *)p);
  sgemm__count_access(SGEMM__COUNT_STORE_GLOBAL, (const float *)p, 4);
  memcpy(p, r, 16);
}

/* ---- Shared memory ----------------------------------------------------------------------------------------------- */

static inline float sgemm__load_shared(const float *p) {
  sgemm__count_access(SGEMM__COUNT_LOAD_SHARED, p, 1);
  return sgemm__cpu_read_shared(p);
}

static inline void sgemm__store_shared(float *p, float x) {
  sgemm__count_access(SGEMM__COUNT_STORE_SHARED, p, 1);
  *p = x;
}

static inline void sgemm__load_shared4(float *r, const float *p) {
  int v;
  sgemm__cpu_check_aligned(p);
  sgemm__count_access(SGEMM__COUNT_LOAD_SHARED, p, 4);
  for (v = 0; v < 4; v++)
    r[v] = sgemm__cpu_read_shared(p + v);
}

static inline void sgemm__store_shared4(float *p, const float *r) {
  sgemm__cpu_check_aligned(p);
  sgemm__count_access(SGEMM__COUNT_STORE_SHARED, p, 4);
  memcpy(p, r, 16);
}

static inline void sgemm__store_shared16(float *p, const float *r) {
  int i;
  for (i = 0; i < 16; i += 4)
    sgemm__store_shared4(p + i, r + i);
}

static inline void sgemm__or_shared(uint32_t *p, uint32_t bits) { *p |= bits; }

/* Distributed shared memory. p: the address of the corresponding element in the running block. */
static inline void sgemm__load_cluster4(float *r, const float *p, uint32_t rank) {
  const sgemm__cpu_worker *w = sgemm__cpu;
  sgemm__load_shared4(r, (const float *)(w->dynamic_shared[rank] + ((const char *)p - w->dynamic_shared[w->rank])));
}

static inline float sgemm__load_cluster(const float *p, uint32_t rank) {
  const sgemm__cpu_worker *w = sgemm__cpu;
  return sgemm__load_shared((const float *)(w->dynamic_shared[rank] + ((const char *)p - w->dynamic_shared[w->rank])));
}

/* An address of shared memory as an integer, for XOR swizzles of addresses. */
typedef uintptr_t sgemm__address;
static inline sgemm__address sgemm__address_of(const void *p) { return (uintptr_t)p; }
static inline sgemm__address sgemm__pin_address(sgemm__address p) { return p; }
static inline void sgemm__load_shared4_at(float *r, sgemm__address p) { sgemm__load_shared4(r, (const float *)p); }

#endif /* SGEMM_CPU_LOAD_STORE_H */
