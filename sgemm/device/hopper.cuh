/* sgemm/device/hopper.cuh: primitives of sm_90: mbarriers, bulk copies and TMA, elect.sync, register reallocation and
   the named barriers of warpgroups. Most are one instruction; the comment names its section of the PTX ISA. */
#ifndef SGEMM_DEVICE_HOPPER_CUH
#define SGEMM_DEVICE_HOPPER_CUH

/* SGEMM__HAS_TMA: the code has the stage tma. SGEMM__HAS_SM90A: it has setmaxnreg and wgmma too. */
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define SGEMM__HAS_SM90A 1
#else
#define SGEMM__HAS_SM90A 0
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define SGEMM__HAS_TMA 1
#else
#define SGEMM__HAS_TMA 0
#endif

/* The compiler prints the message once for each build that has code for sm_90 without the letter a. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900 && !SGEMM__HAS_SM90A && SGEMM__PART_HOST && SGEMM__ENABLED(tma, 1)
#pragma message(                                                                                                       \
    "sgemm: code for sm_90 lacks the wgmma kernels, and its stage tma is slower. For Hopper GPUs use sm_90a")
#endif

/* Barriers in shared memory (PTX ISA, "mbarrier"). A phase completes after `count` arrivals and after the arrival of
   all bytes that sgemm__mbarrier_arrive_expect_tx() announced. sgemm__mbarrier_wait() returns once the phase of the
   given parity, 0 or 1, has completed. */
typedef uint64_t sgemm__mbarrier;

SGEMM__DEVICE uint32_t sgemm__shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
SGEMM__DEVICE void sgemm__mbarrier_init(sgemm__mbarrier *b, int count) {
#if __CUDA_ARCH__ >= 800
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(sgemm__shared_address(b)), "r"(count) : "memory");
#endif
}
/* Ends the use of an mbarrier, before its memory holds something else (PTX ISA, "mbarrier.inval"). */
SGEMM__DEVICE void sgemm__mbarrier_inval(sgemm__mbarrier *b) {
#if __CUDA_ARCH__ >= 800
  asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(sgemm__shared_address(b)) : "memory");
#endif
}
/* Orders initializations of mbarriers before their use by other threads and by copies (PTX ISA, "membar/fence",
   fence.mbarrier_init). One call follows the last initialization; a block barrier follows the call. */
SGEMM__DEVICE void sgemm__mbarrier_init_fence(void) {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
SGEMM__DEVICE void sgemm__mbarrier_arrive(sgemm__mbarrier *b) {
#if __CUDA_ARCH__ >= 800
  asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(sgemm__shared_address(b))
               : "memory");
#endif
}
/* Announces `bytes` of copies to the current phase, and arrives once. */
SGEMM__DEVICE void sgemm__mbarrier_arrive_expect_tx(sgemm__mbarrier *b, int bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(sgemm__shared_address(b)), "r"(bytes)
               : "memory");
#endif
}
SGEMM__DEVICE void sgemm__mbarrier_wait(sgemm__mbarrier *b, int parity) {
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n.reg .pred done;\nmbarrier_wait:\nmbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
               "@!done bra mbarrier_wait;\n}" ::"r"(sgemm__shared_address(b)),
               "r"(parity)
               : "memory");
#elif __CUDA_ARCH__ >= 800
  asm volatile("{\n.reg .pred done;\nmbarrier_wait:\nmbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
               "@!done bra mbarrier_wait;\n}" ::"r"(sgemm__shared_address(b)),
               "r"(parity)
               : "memory");
#endif
}

/* Returns b, pinned in registers: nvcc cannot recompute the value inside a loop. */
SGEMM__DEVICE sgemm__mbarrier *sgemm__pin_pointer(sgemm__mbarrier *b) {
  asm volatile("" : "+l"(b));
  return b;
}

/* Copies `bytes` consecutive bytes from global to shared memory (PTX ISA, "cp.async.bulk") and reports their arrival to
   the mbarrier. Both addresses and `bytes` are multiples of 16. */
SGEMM__DEVICE void sgemm__copy_bulk(void *shared, const void *p, int bytes, sgemm__mbarrier *b) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   sgemm__shared_address(shared)),
               "l"(p), "r"(bytes), "r"(sgemm__shared_address(b))
               : "memory");
#endif
}

/* The tensor map of an operand (CUDA Driver API, "Tensor Map Object Management"). sgemm__launch() encodes it and passes
   it as a parameter of the kernel. */
#if defined(__CUDACC_RTC__)
typedef struct sgemm__tensor_map {
  __align__(64) uint64_t opaque[16];
} sgemm__tensor_map;
#else
typedef CUtensorMap sgemm__tensor_map;
#endif
/* The CPU model makes the tensor maps here. On the GPU they are kernel parameters. */
#define SGEMM__MAKE_TENSOR_MAPS(args, shape, a, b)

/* Copies a box of one matrix of the batch to shared memory (PTX ISA, "cp.async.bulk.tensor"). The box begins at element
   x of row y in memory and has SGEMM__BOX elements of each row. Elements outside of the matrix become zeros. Row r of
   the box occupies 128 bytes; its float4 c lies at the swizzled offset of float4 c ^ (r % 8)
   (CU_TENSOR_MAP_SWIZZLE_128B). */
SGEMM__DEVICE void sgemm__copy_box(float *shared, const sgemm__tensor_map *map, int x, int y, int matrix,
                                   sgemm__mbarrier *b) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(sgemm__shared_address(shared)),
               "l"(map), "r"(x), "r"(y), "r"(matrix), "r"(sgemm__shared_address(b))
               : "memory");
#endif
}

/* A 32-bit address of the shared window (PTX ISA, "State Spaces"), for XOR swizzles of addresses. */
typedef uint32_t sgemm__address;
SGEMM__DEVICE sgemm__address sgemm__address_of(const void *p) { return sgemm__shared_address(p); }
SGEMM__DEVICE sgemm__address sgemm__pin_address(sgemm__address p) { /* returns p, pinned in a register */
  asm volatile("" : "+r"(p));
  return p;
}
/* Loads 4 floats (PTX ISA, "ld", ld.shared.v4). */
SGEMM__DEVICE void sgemm__load_shared4_at(float *r, sgemm__address p) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3]) : "r"(p));
}

/* Stores 16 floats as four vectors, in one statement, which takes nvcc less time than four (PTX ISA, "st"). */
SGEMM__DEVICE void sgemm__store_shared16(float *p, const float *r) {
  asm volatile(
      "st.shared.v4.f32 [%16], {%0, %1, %2, %3};\nst.shared.v4.f32 [%16 + 16], {%4, %5, %6, %7};\n"
      "st.shared.v4.f32 [%16 + 32], {%8, %9, %10, %11};\nst.shared.v4.f32 [%16 + 48], {%12, %13, %14, %15};" ::"f"(
          r[0]),
      "f"(r[1]), "f"(r[2]), "f"(r[3]), "f"(r[4]), "f"(r[5]), "f"(r[6]), "f"(r[7]), "f"(r[8]), "f"(r[9]), "f"(r[10]),
      "f"(r[11]), "f"(r[12]), "f"(r[13]), "f"(r[14]), "f"(r[15]), "r"(sgemm__shared_address(p))
      : "memory");
}

/* Loads 4 * vectors floats per lane from shared memory with the exchange of ldmatrix (PTX ISA, "ldmatrix"): each
   instruction reads four matrices of 8 rows x 16 bytes. Lane 8i + g, i < 4, g < 8, passes the address p of row g of
   matrix i, a float4. Lane 4g + q, q < 4, receives element q of that row in register i. From one instruction to the
   next the addresses grow by `stride` bytes. */
SGEMM__DEVICE void sgemm__ldmatrix_floats(float *r, sgemm__address p, int vectors, int stride) {
#if __CUDA_ARCH__ >= 900
  int i;
  SGEMM__UNROLL
  for (i = 0; i < vectors; i++)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=f"(r[4 * i]), "=f"(r[4 * i + 1]), "=f"(r[4 * i + 2]), "=f"(r[4 * i + 3])
                 : "r"(p + (uint32_t)(i * stride)));
#endif
}

/* The register of lane ^ mask, and 4 registers replaced by those of that lane (PTX ISA, "shfl.sync"). All lanes of a
   warp call them. */
SGEMM__DEVICE float sgemm__shuffle_xor(float x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
SGEMM__DEVICE void sgemm__shuffle_xor4(float *r, int mask) {
  int i;
  SGEMM__UNROLL
  for (i = 0; i < 4; i++)
    r[i] = __shfl_xor_sync(0xffffffffu, r[i], mask);
}

/* Loads a word to which other blocks may store, for all lanes of a warp: all get the value that lane 0 has loaded. */
SGEMM__DEVICE uint64_t sgemm__load_for_warp(const uint64_t *p) {
  return __shfl_sync(0xffffffffu, (unsigned long long)*(const volatile uint64_t *)p, 0);
}

/* Orders the thread's earlier reads of shared memory before copies of the async proxy, whichever thread issues them
   (PTX ISA, "membar/fence", fence.proxy.async). An arrival at an mbarrier alone does not order them: without the fence,
   with two blocks per SM, one call in ten at 4096 x 4096 x 4096 had wrong results (H200, docs/notebook/tma_origins.md,
   "A race"). */
SGEMM__DEVICE void sgemm__fence_proxy_async(void) {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
SGEMM__DEVICE void sgemm__warp_barrier(void) { __syncwarp(); }

/* Elects one lane of a warp and returns 1 to it, 0 to the others (PTX ISA, "elect.sync"). With `threadIdx.x == 0` nvcc
   cannot prove that a single lane issues the TMA copies and wraps each copy in a loop over lanes
   (docs/notebook/tma_loop.md). */
SGEMM__DEVICE int sgemm__elect_one(void) {
  int elected = 0;
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n.reg .pred one;\nelect.sync _|one, 0xffffffff;\n@one mov.b32 %0, 1;\n}" : "+r"(elected));
#endif
  return elected;
}

/* Arrives at an mbarrier for a warp, if `condition` is not 0: a warp barrier, then one arrival of lane 0. racecheck of
   compute-sanitizer does not see that the warp barrier orders the earlier reads of the other lanes. With
   -DSGEMM_RACECHECK every lane arrives, which makes tma 0.6 % slower (docs/stages/tma.md, "Sanitizers").
   SGEMM__ARRIVALS: arrivals for each warp. */
#if defined(SGEMM_RACECHECK)
#define SGEMM__ARRIVALS 32
SGEMM__DEVICE void sgemm__mbarrier_arrive_warp(sgemm__mbarrier *b, int condition) {
  if (condition)
    sgemm__mbarrier_arrive(b);
}
#else
#define SGEMM__ARRIVALS 1
SGEMM__DEVICE void sgemm__mbarrier_arrive_warp(sgemm__mbarrier *b, int condition) {
  __syncwarp();
  if (condition && threadIdx.x % 32 == 0)
    sgemm__mbarrier_arrive(b);
}
#endif

/* Register reallocation between warpgroups (PTX ISA, "setmaxnreg"): registers per thread of a consumer and of the
   producer warpgroup. All threads of a warpgroup call one of these functions. An SM has 65,536 registers.
     tensor-core kernels            2 consumers 240, producer 24: 504 * 128 = 64,512 registers of a block
     tma, 256 consumer threads      2 consumers 232, producer 40: 504 * 128 = 64,512 registers of a block
     tma, 128 consumer threads      1 consumer 216, producer 40: 256 * 128 = 32,768 registers of a block, 2 blocks an SM
   The producer of tma needs 40 registers, because it also computes the position of the next tile. */
SGEMM__DEVICE void sgemm__setmaxnreg_consumer(int threads) {
#if SGEMM__HAS_SM90A
  if (threads == 128)
    asm volatile("setmaxnreg.inc.sync.aligned.u32 216;");
  else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
#endif
}
SGEMM__DEVICE void sgemm__setmaxnreg_producer(void) {
#if SGEMM__HAS_SM90A
  asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
#endif
}

#if SGEMM__HAS_SM90A

SGEMM__DEVICE void sgemm__setmaxnreg_tensor_consumer(void) { asm volatile("setmaxnreg.inc.sync.aligned.u32 240;"); }
SGEMM__DEVICE void sgemm__setmaxnreg_tensor_producer(void) { asm volatile("setmaxnreg.dec.sync.aligned.u32 24;"); }

/* Ordered sequence of warpgroups 0 and 1, as in the ping-pong kernels of CUTLASS. sgemm__order_wait() waits until this
   warpgroup may issue its products. sgemm__order_arrive() then lets the other warpgroup, its argument, issue its own.
   Named barriers 1 and 2 of the threads of both warpgroups (PTX ISA, "bar"). sgemm__barrier_threads() uses barrier 1
   too: a kernel calls that function or these, never both. */
SGEMM__DEVICE void sgemm__order_wait(int warpgroup) {
  asm volatile("bar.sync %0, %1;" ::"r"(1 + warpgroup), "n"(32 * SGEMM__CONSUMER_WARPS) : "memory");
}
SGEMM__DEVICE void sgemm__order_arrive(int warpgroup) {
  asm volatile("bar.arrive %0, %1;" ::"r"(1 + warpgroup), "n"(32 * SGEMM__CONSUMER_WARPS) : "memory");
}

#endif

#endif /* SGEMM_DEVICE_HOPPER_CUH */
