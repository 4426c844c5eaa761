/* cpu/model/kernel.h: kernel definitions, indices, programmatic dependent launch and arithmetic of the CPU model. */
#ifndef SGEMM_CPU_KERNEL_H
#define SGEMM_CPU_KERNEL_H

#include "cpu/sgemm_count.h"

#include <math.h>
#include <string.h>

/* ---- Kernel definitions ------------------------------------------------------------------------------------------ */

/* SGEMM__GLOBAL begins the definition of a kernel with one parameter `args`. The function `name` has the type
   sgemm__kernel. A TMA kernel makes its tensor maps itself: SGEMM__MAKE_TENSOR_MAPS in bulk_copy.h. The CPU model has
   no use for the launch bounds `threads` and `blocks`. */
#define SGEMM__GLOBAL(name, threads, blocks, type)                                                                     \
  static void SGEMM__CAT(name, _body)(const type args);                                                                \
  static void name(const void *args) { SGEMM__CAT(name, _body)(*(const type *)args); }                                 \
  static void SGEMM__CAT(name, _body)(const type args)
#define SGEMM__GLOBAL_TMA(name, threads, blocks) SGEMM__GLOBAL(name, threads, blocks, sgemm__tma_args)
#define SGEMM__DEVICE static inline
#define SGEMM__UNROLL
#define SGEMM__UNROLL_BY(n)
#define SGEMM__KERNEL_POINTER(name) name
#define SGEMM__UNLIKELY(condition) (condition)

/* Marks the end of an access that some lanes may skip: the counters need it. */
static inline void sgemm__converge(void) { sgemm__count_converge(); }

/* 0: kernels load only the fragments that they use. So every load is of memory that was written, and the counters count
   no further loads. */
static inline int sgemm__unconditional_prefetch(int faster) {
  (void)faster;
  return 0;
}

/* ---- Indices ----------------------------------------------------------------------------------------------------- */

static inline int sgemm__thread(void) { return sgemm__cpu->thread; }
static inline int sgemm__warp(void) { return sgemm__cpu->thread / 32; }
static inline void sgemm__assume_thread_index(void) {}
static inline int sgemm__opaque(int x) { return x; }
static inline int sgemm__ptxas_opaque(int x) { return x; }
static inline uint32_t sgemm__block_x(void) { return (uint32_t)(sgemm__cpu->block % sgemm__cpu->grid->size.x); }
static inline uint32_t sgemm__grid_x(void) { return sgemm__cpu->grid->size.x; }
static inline int64_t sgemm__block_yz(void) { return sgemm__cpu->block / sgemm__cpu->grid->size.x; }
static inline uint32_t sgemm__cluster_size(void) { return sgemm__cpu->grid->size.cluster; }
static inline uint32_t sgemm__cluster_rank(void) { return (uint32_t)sgemm__cpu->rank; }

/* ---- Launches and registers -------------------------------------------------------------------------------------- */

/* Programmatic dependent launch: a launch of the CPU model starts after the preceding launch has ended. On a GPU a
   thread without the wait may read what the preceding kernel has not written yet, or overwrite what it still reads.
   So the model requires the wait before a thread's first load or store of global memory. Before its first copy it also
   allows sgemm__pdl_defer(). It sees those that are calls of its functions, and not a pointer that a kernel
   dereferences. */
static inline void sgemm__pdl_wait(void) { sgemm__cpu_running(sgemm__cpu)->waited = SGEMM__CPU_WAITED; }
static inline void sgemm__pdl_defer(void) { sgemm__cpu_running(sgemm__cpu)->waited = SGEMM__CPU_DEFERRED; }
static inline void sgemm__pdl_trigger(void) {}

/* least: SGEMM__CPU_DEFERRED for a copy, SGEMM__CPU_WAITED for another access. */
static inline void sgemm__cpu_check_waited(int least) {
  if (sgemm__cpu_running(sgemm__cpu)->waited < least)
    sgemm__cpu_abort(SGEMM_ERROR_DIVERGENCE, "an access to global memory before the PDL wait", NULL, 0);
}

/* The CPU model has the primitives of sm_90a. With SGEMM_CPU_SM90=1 the stage tma is that of sm_90 without the
   letter. */
#define SGEMM__HAS_TMA 1
#if defined(SGEMM_CPU_SM90) && SGEMM_CPU_SM90
#define SGEMM__HAS_SM90A 0
#else
#define SGEMM__HAS_SM90A 1
#endif

/* Register reallocation: the CPU model does not limit registers. */
static inline void sgemm__setmaxnreg_tensor_consumer(void) {}
static inline void sgemm__setmaxnreg_tensor_producer(void) {}
static inline void sgemm__setmaxnreg_consumer(int threads) { (void)threads; }
static inline void sgemm__setmaxnreg_producer(void) {}

/* ---- Arithmetic -------------------------------------------------------------------------------------------------- */

static inline float sgemm__multiply(float a, float b) { return a * b; }
/* As on a GPU, results below 2^-126 in magnitude are flushed to 0. */
static inline float sgemm__reciprocal(float x) {
  const float r = 1.0f / x;
  return fabsf(r) < 0x1p-126f ? 0.0f * r : r;
}
static inline float sgemm__fma(float a, float b, float c) {
  sgemm__count_fma();
  return fmaf(a, b, c);
}

static inline int sgemm__log2(uint32_t x) { return 31 - __builtin_clz(x); } /* x: a power of two */

static inline uint32_t sgemm__bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float sgemm__float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

#endif /* SGEMM_CPU_KERNEL_H */
