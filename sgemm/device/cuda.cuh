/* sgemm/device/cuda.cuh: the primitives of the kernels: indices, accesses to global and shared memory, FMA, barriers,
   clusters, cp.async, warp votes. Each is about one instruction. cpu/sgemm_cpu.h implements the same list for the CPU
   model. "PTX ISA" names a section of "Parallel Thread Execution ISA". */
#ifndef SGEMM_DEVICE_CUDA_CUH
#define SGEMM_DEVICE_CUDA_CUH

#if !defined(__CUDACC_RTC__)
#include <cuda.h> /* CUtensorMap; the driver library is not linked */
#include <cuda_runtime.h>
#endif

/* Maximum resident threads per SM (CUDA C++ Programming Guide, "Compute Capabilities"). The column `blocks` of a
   variant assumes 2048 threads; SGEMM__BLOCKS() clips it where an architecture has fewer. */
#if !defined(__CUDA_ARCH__)
#define SGEMM__SM_THREADS 2048
#elif __CUDA_ARCH__ == 750
#define SGEMM__SM_THREADS 1024
#elif (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1100
#define SGEMM__SM_THREADS 1536
#else
#define SGEMM__SM_THREADS 2048
#endif
#define SGEMM__BLOCKS(threads, blocks)                                                                                 \
  ((threads) * (blocks) > SGEMM__SM_THREADS ? SGEMM__SM_THREADS / (threads) : (blocks))

/* SGEMM__GLOBAL begins the definition of a kernel with one parameter `args`, of a type of sgemm/args.h.
   SGEMM__GLOBAL_TMA adds the tensor maps of A and B. SGEMM__DECLARE and SGEMM__DECLARE_TMA declare a kernel that
   another object file defines (SGEMM_PART). */
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
  extern __shared__ __align__(1024) float array[] /* the launch sets its size; swizzled boxes need the alignment */
#define SGEMM__UNROLL _Pragma("unroll")
#define SGEMM__UNROLL_BY(n) _Pragma(SGEMM__STRING(unroll n))
#define SGEMM__SHARED_WORDS(array, count) __shared__ uint32_t array[count]
#define SGEMM__SHARED_MBARRIERS(array, count) __shared__ sgemm__mbarrier array[count]
#define SGEMM__SHARED_DESCRIPTORS(array, count) __shared__ __align__(16) sgemm__tile_descriptor array[count]
#define SGEMM__SHARED_COPIES(array, count) __shared__ __align__(16) sgemm__unit_copies array[count]
#define SGEMM__KERNEL_POINTER(name) (const void *)name
#define SGEMM__UNLIKELY(condition) __builtin_expect((condition), 0) /* nvcc moves the code out of the main loop */

/* Marks the end of an access that some lanes may skip. The CPU model needs it to count the accesses of a warp. */
#define sgemm__converge() ((void)0)

/* Unconditional prefetch: 1 loads the next fragments even after the last tile, where they are not used, because a
   branch around the loads is slower (docs/notebook/issue_slots.md). The CPU model has 0, so that every load reads
   memory that was written. */
#define sgemm__unconditional_prefetch(faster) (faster)

typedef const void *sgemm__kernel;

SGEMM__DEVICE int sgemm__thread(void) { return (int)threadIdx.x; }
/* The thread's warp in the block. The shuffle lets nvcc know that all lanes have the same number, so that it keeps what
   depends on it in uniform registers. */
SGEMM__DEVICE int sgemm__warp(void) { return __shfl_sync(0xffffffffu, (int)threadIdx.x / 32, 0); }
/* Returns x through an empty asm, so that nvcc cannot hoist values that depend on x out of a loop. They then need no
   register there. */
SGEMM__DEVICE int sgemm__opaque(int x) {
  asm volatile("" : "+r"(x));
  return x;
}
/* Lets nvcc assume that threadIdx.x is below 1024. Without the assumption the int could be negative, and nvcc corrects
   each quotient and remainder for negative numbers (docs/notebook/tile_ends.md, "Quotients and half steps"). */
SGEMM__DEVICE void sgemm__assume_thread_index(void) { __builtin_assume(threadIdx.x < 1024); }
SGEMM__DEVICE uint32_t sgemm__block_x(void) { return blockIdx.x; }
SGEMM__DEVICE uint32_t sgemm__grid_x(void) { return gridDim.x; }
SGEMM__DEVICE int64_t sgemm__block_yz(void) { return (int64_t)blockIdx.z * gridDim.y + blockIdx.y; }
SGEMM__DEVICE void sgemm__barrier(void) { __syncthreads(); }
/* Named barrier of the first `threads` threads of a block: the consumer warps of a warp-specialized kernel (PTX ISA,
   "bar"). It is barrier 1, as that of warpgroup 0 in sgemm__order_wait() and sgemm__order_arrive(): a kernel calls this
   function or those, never both. */
SGEMM__DEVICE void sgemm__barrier_threads(int threads) { asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory"); }

/* PDL wait: waits until the preceding kernel of the stream has completed and its writes are visible (PTX ISA,
   "griddepcontrol"). Programmatic dependent launch (PDL) lets the blocks of a kernel start while the preceding kernel
   ends. */
SGEMM__DEVICE void sgemm__pdl_wait(void) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* PDL wait that follows later: until then a thread only copies operands, which the preceding kernel does not write. On
   the GPU no instruction. */
SGEMM__DEVICE void sgemm__pdl_defer(void) {}

/* PDL trigger: lets the blocks of the next kernel of the stream start (PTX ISA, "griddepcontrol", launch_dependents).
     sgemm_pack calls it: the next kernel is one of tma, whose blocks need an SM, or half an SM, each.
     The tensor-core kernels call it at their start: an SM has room for one of their blocks, so a block of the next
     kernel starts only on an SM whose block has ended.
     sgemm_split_<format> does not call it: a call at 1024 x 1024 x 1024 takes 27.1 us with the trigger and 25.9 us
     without (H200, docs/notebook/tensor.md). sgemm_split_fallback calls it, because in most calls it returns at once.
     The other strict kernels call it in serial split-K alone, in sgemm__begin(). In other calls blocks of the next
     kernel would occupy free block slots, two on one SM while other SMs are idle. A call at 512 x 512 x 512 takes 17.8
     us with the trigger and 11.1 us without (H200, docs/notebook/launches.md). */
SGEMM__DEVICE void sgemm__pdl_trigger(void) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/* Thread block clusters, from sm_90 on. Before sm_90 a cluster is one block.
     sgemm__cluster_size()     number of blocks in the cluster (PTX ISA, "%cluster_nctarank")
     sgemm__cluster_rank()     rank of this block in its cluster (PTX ISA, "%cluster_ctarank")
     sgemm__cluster_barrier()  barrier of all threads of the cluster (PTX ISA, "barrier.cluster")
     sgemm__load_cluster4(), sgemm__load_cluster()  loads from distributed shared memory (PTX ISA, "mapa"; "ld",
                               ld.shared::cluster) */
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
/* Loads 4 floats from the shared memory of block `rank`. p: the address of the corresponding element in this block. */
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
/* Loads a float from the shared memory of block `rank`. p: as in sgemm__load_cluster4(). */
SGEMM__DEVICE float sgemm__load_cluster(const float *p, uint32_t rank) {
  float x = 0.0f;
#if __CUDA_ARCH__ >= 900
  uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(address)
               : "r"((uint32_t)__cvta_generic_to_shared(p)), "r"(rank));
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(address) : "memory");
#else
  (void)p, (void)rank;
#endif
  return x;
}
SGEMM__DEVICE float sgemm__fma(float a, float b, float c) { return fmaf(a, b, c); }
/* A product that is rounded, and not part of an FMA. */
SGEMM__DEVICE float sgemm__multiply(float a, float b) { return __fmul_rn(a, b); }
/* 1 / x, at most 1 ulp; results below 2^-126 in magnitude are flushed to 0 (PTX ISA, "rcp"). */
SGEMM__DEVICE float sgemm__reciprocal(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
SGEMM__DEVICE int sgemm__log2(uint32_t x) { return 31 - __clz((int)x); } /* x: a power of two */

SGEMM__DEVICE float sgemm__load_global(const float *p) { return __ldg(p); }
SGEMM__DEVICE float sgemm__load_result(const float *p) { return *p; } /* no ld.global.nc: the kernel writes C */
SGEMM__DEVICE void sgemm__store_global(float *p, float x) { *p = x; }

/* These functions load or store the first `exist` of 4, or of 2, consecutive elements, one by one; 0 or negative:
   none. A load leaves the registers of the others as they are. Each function is one statement, because nvcc takes more
   time for a branch around each element. pairs: 1 if p is aligned to 8 bytes, so that two elements are one store. */
SGEMM__DEVICE void sgemm__load_first4(float *r, const float *p, int exist) {
  asm volatile("{\n.reg .pred exists;\n"
               "setp.gt.s32 exists, %5, 0;\n@exists ld.global.f32 %0, [%4];\n"
               "setp.gt.s32 exists, %5, 1;\n@exists ld.global.f32 %1, [%4 + 4];\n"
               "setp.gt.s32 exists, %5, 2;\n@exists ld.global.f32 %2, [%4 + 8];\n"
               "setp.gt.s32 exists, %5, 3;\n@exists ld.global.f32 %3, [%4 + 12];\n}"
               : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3])
               : "l"(__cvta_generic_to_global(p)), "r"(exist)
               : "memory");
}
SGEMM__DEVICE void sgemm__store_first4(float *p, const float *r, int exist) {
  asm volatile("{\n.reg .pred exists;\n"
               "setp.gt.s32 exists, %5, 0;\n@exists st.global.f32 [%4], %0;\n"
               "setp.gt.s32 exists, %5, 1;\n@exists st.global.f32 [%4 + 4], %1;\n"
               "setp.gt.s32 exists, %5, 2;\n@exists st.global.f32 [%4 + 8], %2;\n"
               "setp.gt.s32 exists, %5, 3;\n@exists st.global.f32 [%4 + 12], %3;\n}" ::"f"(r[0]),
               "f"(r[1]), "f"(r[2]), "f"(r[3]), "l"(__cvta_generic_to_global(p)), "r"(exist)
               : "memory");
}
SGEMM__DEVICE void sgemm__load_first2(float *r, const float *p, int exist) {
  asm volatile("{\n.reg .pred exists;\n"
               "setp.gt.s32 exists, %3, 0;\n@exists ld.global.f32 %0, [%2];\n"
               "setp.gt.s32 exists, %3, 1;\n@exists ld.global.f32 %1, [%2 + 4];\n}"
               : "+f"(r[0]), "+f"(r[1])
               : "l"(__cvta_generic_to_global(p)), "r"(exist)
               : "memory");
}
SGEMM__DEVICE void sgemm__store_first2(float *p, const float *r, int pairs, int exist) {
  asm volatile("{\n.reg .pred both, one;\n"
               "setp.gt.s32 one, %3, 1;\nsetp.ne.and.s32 both, %4, 0, one;\n"
               "@both st.global.v2.f32 [%2], {%0, %1};\n"
               "setp.gt.and.s32 one, %3, 0, !both;\n@one st.global.f32 [%2], %0;\n"
               "setp.gt.and.s32 one, %3, 1, !both;\n@one st.global.f32 [%2 + 4], %1;\n}" ::"f"(r[0]),
               "f"(r[1]), "l"(__cvta_generic_to_global(p)), "r"(exist), "r"(pairs)
               : "memory");
}

SGEMM__DEVICE float sgemm__load_shared(const float *p) { return *p; }
SGEMM__DEVICE void sgemm__store_shared(float *p, float x) { *p = x; }

/* 128-bit accesses. r: 4 registers. p: an address aligned to 16 bytes. */
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
/* Load or store four elements of C, at an address aligned to 16 bytes, if `inside` is not 0. Each is a statement: where
   another branch accesses the same elements one by one, nvcc joins the branches and splits a float4
   (docs/notebook/tile_ends.md, "Stores that nvcc splits"). */
SGEMM__DEVICE void sgemm__load_whole4(float *r, const float *p, int inside) {
  asm volatile("{\n.reg .pred inside;\nsetp.ne.s32 inside, %5, 0;\n"
               "@inside ld.global.v4.f32 {%0, %1, %2, %3}, [%4];\n}"
               : "+f"(r[0]), "+f"(r[1]), "+f"(r[2]), "+f"(r[3])
               : "l"(__cvta_generic_to_global(p)), "r"(inside)
               : "memory");
}
SGEMM__DEVICE void sgemm__store_whole4(float *p, const float *r, int inside) {
  asm volatile("{\n.reg .pred inside;\nsetp.ne.s32 inside, %5, 0;\n"
               "@inside st.global.v4.f32 [%0], {%1, %2, %3, %4};\n}" ::"l"(__cvta_generic_to_global(p)),
               "f"(r[0]), "f"(r[1]), "f"(r[2]), "f"(r[3]), "r"(inside)
               : "memory");
}
/* The L2 evicts the line first (PTX ISA, "Cache Operators", st.global.cs). */
SGEMM__DEVICE void sgemm__stream_global4(float *p, const float *r) {
  __stcs((float4 *)p, make_float4(r[0], r[1], r[2], r[3]));
}
SGEMM__DEVICE void sgemm__store_shared4(float *p, const float *r) {
  *(float4 *)p = make_float4(r[0], r[1], r[2], r[3]);
}

/* Asynchronous copies of 4 or 16 bytes from global to shared memory past the registers (PTX ISA, "cp.async"; before
   sm_80 a load and a store). If `inside` is 0, the copy writes zeros and does not read p. sgemm__copy_commit() closes
   a commit group of the thread's copies. sgemm__copy_wait(most) waits until at most `most` of the thread's groups, 0 to
   2, are in flight. After the wait a barrier makes the data visible to the other threads of the block. */
SGEMM__DEVICE void sgemm__copy(float *shared, const float *p, int inside) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((uint32_t)__cvta_generic_to_shared(shared)), "l"(p),
               "r"(inside ? 4 : 0)
               : "memory");
#else
  *shared = inside ? *p : 0.0f;
#endif
}
/* Four copies of 4 bytes in one statement, which takes nvcc less time than four. Copy v = 0 to 3 goes from p + v * step
   to shared + v * step. It writes a zero if v * step is not below `exist`. */
SGEMM__DEVICE void sgemm__copy_single4(float *shared, const float *p, int step, int exist) {
#if __CUDA_ARCH__ >= 800
  asm volatile("{\n.reg .pred reads;\n.reg .b32 bytes, to;\n.reg .b64 from;\n"
               "setp.gt.s32 reads, %3, 0;\nselp.b32 bytes, 4, 0, reads;\n"
               "cp.async.ca.shared.global [%0], [%1], 4, bytes;\n"
               "setp.gt.s32 reads, %3, %2;\nselp.b32 bytes, 4, 0, reads;\n"
               "add.s32 to, %0, %4;\nadd.s64 from, %1, %5;\n"
               "cp.async.ca.shared.global [to], [from], 4, bytes;\n"
               "setp.gt.s32 reads, %3, %6;\nselp.b32 bytes, 4, 0, reads;\n"
               "add.s32 to, to, %4;\nadd.s64 from, from, %5;\n"
               "cp.async.ca.shared.global [to], [from], 4, bytes;\n"
               "setp.gt.s32 reads, %3, %7;\nselp.b32 bytes, 4, 0, reads;\n"
               "add.s32 to, to, %4;\nadd.s64 from, from, %5;\n"
               "cp.async.ca.shared.global [to], [from], 4, bytes;\n}" ::"r"((uint32_t)__cvta_generic_to_shared(shared)),
               "l"(p), "r"(step), "r"(exist), "r"(4 * step), "l"((int64_t)4 * step), "r"(2 * step), "r"(3 * step)
               : "memory");
#else
  int v;
  SGEMM__UNROLL
  for (v = 0; v < 4; v++)
    shared[v * step] = v * step < exist ? p[v * step] : 0.0f;
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
  if (most == 0) /* cp.async.wait_group takes an immediate */
    asm volatile("cp.async.wait_group 0;" ::: "memory");
  else if (most == 1)
    asm volatile("cp.async.wait_group 1;" ::: "memory");
  else
    asm volatile("cp.async.wait_group 2;" ::: "memory");
#endif
}
/* A fence of the block in code for sm_120 and later, elsewhere nothing. It is there for ptxas alone: without it ptxas
   13.0.88 left out the wait for a load of a fragment in one kernel for sm_120 (docs/notebook/compile_time.md, "A fault
   of ptxas"). */
SGEMM__DEVICE void sgemm__ptxas_fence(void) {
#if __CUDA_ARCH__ >= 1200
  asm volatile("fence.acq_rel.cta;" ::: "memory");
#endif
}

/* Returns x, in code for sm_120 and later through an empty asm. Without it ptxas 13.0.88 left out the wait for a load
   of a fragment in two kernels that apply an epilogue in registers (docs/notebook/compile_time.md, "A fault of
   ptxas"). */
SGEMM__DEVICE int sgemm__ptxas_opaque(int x) {
#if __CUDA_ARCH__ >= 1200
  asm volatile("" : "+r"(x));
#endif
  return x;
}

SGEMM__DEVICE uint32_t sgemm__bits_of(float x) { return __float_as_uint(x); }
SGEMM__DEVICE float sgemm__float_of(uint32_t bits) { return __uint_as_float(bits); }
SGEMM__DEVICE void sgemm__store_words4(void *p, const uint32_t *r) { /* p: global, aligned to 16 bytes */
  *(uint4 *)p = make_uint4(r[0], r[1], r[2], r[3]);
}
SGEMM__DEVICE void sgemm__store_global2(float *p, float x, float y) { *(float2 *)p = make_float2(x, y); }

/* ORs the bits of every lane into a word of shared memory. All lanes of a warp call it. */
SGEMM__DEVICE void sgemm__or_shared(uint32_t *p, uint32_t bits) {
#if __CUDA_ARCH__ >= 800
  bits = __reduce_or_sync(0xffffffffu, bits);
  if (threadIdx.x % 32 == 0)
#endif
    atomicOr(p, bits);
}

/* Compares the bits of two arrays of `vectors` float4s in shared memory, 1 to 32 of them. Bit i of the result is 1 if
   elements 4i to 4i + 3 differ. All lanes of a warp call it. */
SGEMM__DEVICE uint32_t sgemm__vectors_differ(const float *x, const float *y, int vectors) {
  const int vector = threadIdx.x % 32 % vectors;
  const uint4 a = ((const uint4 *)x)[vector], b = ((const uint4 *)y)[vector];
  return __ballot_sync(0xffffffffu, ((a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w)) != 0);
}

#endif /* SGEMM_DEVICE_CUDA_CUH */
