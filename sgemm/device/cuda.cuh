/* sgemm/device/cuda.cuh: what a kernel asks of its GPU: indices, one access to global or shared memory, an FMA,
   barriers, clusters, cp.async, warp shuffles. One instruction each. cpu/sgemm_cpu.h has the same list for the CPU
   model. */
#ifndef SGEMM_DEVICE_CUDA_CUH
#define SGEMM_DEVICE_CUDA_CUH

#include <cuda.h> /* types of tensor maps; nothing of it is linked */
#include <cuda_runtime.h>

/* Threads that a multiprocessor holds; sm_75 and the smaller chips of later generations hold fewer than a row may ask
   for (CUDA C++ Programming Guide, "Compute Capabilities"). */
#if !defined(__CUDA_ARCH__)
#define SGEMM__RESIDENT 2048
#elif __CUDA_ARCH__ == 750
#define SGEMM__RESIDENT 1024
#elif (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1200
#define SGEMM__RESIDENT 1536
#else
#define SGEMM__RESIDENT 2048
#endif
#define SGEMM__BLOCKS(threads, blocks) ((threads) * (blocks) > SGEMM__RESIDENT ? SGEMM__RESIDENT / (threads) : (blocks))

/* A kernel, whose parameter is `args` of a type of sgemm/args.h; one of tma, with the tensor maps of its operands; and
   their declarations, where another part of the implementation defines them. */
#define SGEMM__GLOBAL(name, threads, blocks, type)                                                                     \
  extern "C" __global__ void __launch_bounds__(threads, SGEMM__BLOCKS(threads, blocks)) name(const type args)
#define SGEMM__GLOBAL_TMA(name, threads, blocks)                                                                       \
  extern "C" __global__ void __launch_bounds__(threads, SGEMM__BLOCKS(threads, blocks))                                \
      name(const sgemm__tma_args args, const __grid_constant__ sgemm__tensor_map map_a,                                \
           const __grid_constant__ sgemm__tensor_map map_b)
#define SGEMM__DECLARE(name, type) extern "C" __global__ void name(const type args);
#define SGEMM__DECLARE_TMA(name)                                                                                       \
  extern "C" __global__ void name(const sgemm__tma_args args, const __grid_constant__ sgemm__tensor_map map_a,         \
                                  const __grid_constant__ sgemm__tensor_map map_b);
#define SGEMM__DEVICE static __device__ __forceinline__
#define SGEMM__SHARED(array, count) __shared__ __align__(16) float array[count]
#define SGEMM__SHARED_DYNAMIC(array)                                                                                   \
  extern __shared__ __align__(1024) float array[] /* sized by the launch; for swizzles */
#define SGEMM__UNROLL _Pragma("unroll")
#define SGEMM__UNROLL_BY(n) _Pragma(SGEMM__STRING(unroll n))
#define SGEMM__SHARED_WORDS(array, count) __shared__ uint32_t array[count]
#define SGEMM__SHARED_MBARRIERS(array, count) __shared__ sgemm__mbarrier array[count]
#define SGEMM__SHARED_DESCRIPTORS(array, count) __shared__ __align__(16) sgemm__tile_descriptor array[count]
#define SGEMM__KERNEL_POINTER(name) (const void *)name
#define sgemm__converge() ((void)0) /* lanes that skipped a guarded access have caught up: the CPU model counts by it */
#define sgemm__unconditional_prefetch(faster)                                                                          \
  (faster) /* what nobody uses, where a branch costs more; not on the CPU model */
typedef const void *sgemm__kernel;

SGEMM__DEVICE int sgemm__thread(void) { return (int)threadIdx.x; }
/* Tells the compiler, from here on, that a thread's number is not negative, which its quotients need not allow for
   then. */
SGEMM__DEVICE void sgemm__assume_thread_index(void) { __builtin_assume(threadIdx.x < 1024); }
SGEMM__DEVICE uint32_t sgemm__block_x(void) { return blockIdx.x; }
SGEMM__DEVICE uint32_t sgemm__grid_x(void) { return gridDim.x; }
SGEMM__DEVICE int64_t sgemm__block_yz(void) { return (int64_t)blockIdx.z * gridDim.y + blockIdx.y; }
SGEMM__DEVICE void sgemm__barrier(void) { __syncthreads(); }
SGEMM__DEVICE void sgemm__barrier_threads(int threads) { /* the first of a block, where further ones only copy */
  asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
}

/* Programmatic dependent launch (PTX ISA, griddepcontrol): a kernel's blocks may take their places while the one before
   ends, and wait here until all that it wrote can be seen. No strict kernel but sgemm_pack calls its successor earlier,
   by launch_dependents: the successor would take the places that are free, two on one SM, and then run two to an SM
   beside idle ones. */
SGEMM__DEVICE void sgemm__pdl_wait(void) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* sgemm_pack calls it, since blocks of tma need an SM each; and the tensor modes' multiplying kernels do, first of all:
   their launches fill the SMs, one block each, so that the successor's come only where one has left. The tensor modes'
   split does not: with it a call takes 1 us longer at 1024 cubed. */
SGEMM__DEVICE void sgemm__pdl_trigger(void) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/* Blocks of a cluster (from sm_90 on; a block alone before): how many, which one, a barrier among all their threads,
   and 4 elements of another block's shared memory, where p is the address of the same in this block's. */
SGEMM__DEVICE uint32_t sgemm__cluster_size(void) {
  uint32_t size = 1;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
#endif
  return size;
}
SGEMM__DEVICE uint32_t sgemm__cluster_rank(void) {
  uint32_t rank = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}
SGEMM__DEVICE void sgemm__cluster_barrier(void) {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  __syncthreads();
#endif
}
SGEMM__DEVICE void sgemm__load_cluster4(float *r, const float *p, uint32_t rank) {
#if __CUDA_ARCH__ >= 900
  uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(address)
               : "r"((uint32_t)__cvta_generic_to_shared(p)), "r"(rank));
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3])
               : "r"(address)
               : "memory");
#else
  (void)r, (void)p, (void)rank;
#endif
}
SGEMM__DEVICE float sgemm__fma(float a, float b, float c) { return fmaf(a, b, c); }
SGEMM__DEVICE int sgemm__log2(uint32_t x) { return 31 - __clz((int)x); } /* of a power of two */

SGEMM__DEVICE float sgemm__load_global(const float *p) { return __ldg(p); }
SGEMM__DEVICE float sgemm__load_result(const float *p) { return *p; } /* C is written too: no read-only path */
SGEMM__DEVICE void sgemm__store_global(float *p, float x) { *p = x; }
SGEMM__DEVICE float sgemm__load_shared(const float *p) { return *p; }
SGEMM__DEVICE void sgemm__store_shared(float *p, float x) { *p = x; }

/* r: 4 registers; p: aligned to 16 bytes. */
SGEMM__DEVICE void sgemm__unpack4(float *r, float4 x) {
  r[0] = x.x;
  r[1] = x.y;
  r[2] = x.z;
  r[3] = x.w;
}
SGEMM__DEVICE void sgemm__load_global4(float *r, const float *p) { sgemm__unpack4(r, __ldg((const float4 *)p)); }
SGEMM__DEVICE void sgemm__load_result4(float *r, const float *p) { sgemm__unpack4(r, *(const float4 *)p); }
SGEMM__DEVICE void sgemm__load_shared4(float *r, const float *p) { sgemm__unpack4(r, *(const float4 *)p); }
SGEMM__DEVICE void sgemm__store_global4(float *p, const float *r) {
  *(float4 *)p = make_float4(r[0], r[1], r[2], r[3]);
}
SGEMM__DEVICE void sgemm__stream_global4(float *p, const float *r) { /* first to leave the L2 */
  __stcs((float4 *)p, make_float4(r[0], r[1], r[2], r[3]));
}
SGEMM__DEVICE void sgemm__store_shared4(float *p, const float *r) {
  *(float4 *)p = make_float4(r[0], r[1], r[2], r[3]);
}

/* Copies from global to shared memory past the registers (cp.async, from sm_80 on; at once before), of 4 or of 16
   bytes; zeros where `inside` is 0, in which case p is not read. A thread's copies since its last commit make a group;
   wait returns when all but its `most` latest groups have arrived, which a barrier then tells the others. */
SGEMM__DEVICE void sgemm__copy(float *shared, const float *p, int inside) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((uint32_t)__cvta_generic_to_shared(shared)), "l"(p),
               "r"(inside ? 4 : 0)
               : "memory");
#else
  *shared = inside ? *p : 0.0f;
#endif
}
SGEMM__DEVICE void sgemm__copy4(float *shared, const float *p) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(shared)), "l"(p)
               : "memory");
#else
  *(float4 *)shared = *(const float4 *)p;
#endif
}
SGEMM__DEVICE void sgemm__copy4_if(float *shared, const float *p, int inside) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint32_t)__cvta_generic_to_shared(shared)),
               "l"(p), "r"(inside ? 16 : 0)
               : "memory");
#else
  *(float4 *)shared = inside ? *(const float4 *)p : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#endif
}
SGEMM__DEVICE void sgemm__copy_commit(void) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
SGEMM__DEVICE void sgemm__copy_wait(int most) {
#if __CUDA_ARCH__ >= 800
  if (most == 0) /* the instruction takes a literal */
    asm volatile("cp.async.wait_group 0;" ::: "memory");
  else if (most == 1)
    asm volatile("cp.async.wait_group 1;" ::: "memory");
  else
    asm volatile("cp.async.wait_group 2;" ::: "memory");
#endif
}

SGEMM__DEVICE uint32_t sgemm__bits_of(float x) { return __float_as_uint(x); }
SGEMM__DEVICE float sgemm__float_of(uint32_t bits) { return __uint_as_float(bits); }
SGEMM__DEVICE void sgemm__store_words4(void *p, const uint32_t *r) { /* p: global, aligned to 16 bytes */
  *(uint4 *)p = make_uint4(r[0], r[1], r[2], r[3]);
}
SGEMM__DEVICE void sgemm__store_global2(float *p, float x, float y) { *(float2 *)p = make_float2(x, y); }

/* ORs each lane's bits to a shared word; all lanes of a warp call it. */
SGEMM__DEVICE void sgemm__or_shared(uint32_t *p, uint32_t bits) {
#if __CUDA_ARCH__ >= 800
  bits = __reduce_or_sync(0xffffffffu, bits);
  if (threadIdx.x % 32 == 0)
#endif
    atomicOr(p, bits);
}

/* Which quads of two shared arrays differ, bit i for elements 4i to 4i + 3, of up to 32 quads; all lanes of a warp call
   it. */
SGEMM__DEVICE uint32_t sgemm__vectors_differ(const float *x, const float *y, int quads) {
  const int quad = threadIdx.x % 32 % quads;
  const uint4 a = ((const uint4 *)x)[quad], b = ((const uint4 *)y)[quad];
  return __ballot_sync(0xffffffffu, ((a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w)) != 0);
}

#endif /* SGEMM_DEVICE_CUDA_CUH */
