/* sgemm/device/hopper.cuh: primitives of sm_90: mbarriers, bulk copies and TMA, elect.sync, register reallocation and
   the named barriers of warpgroups. Each is one instruction of the PTX ISA, whose section its comment names. */
#ifndef SGEMM_DEVICE_HOPPER_CUH
#define SGEMM_DEVICE_HOPPER_CUH

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define SGEMM__HAS_SM90A 1
#else
#define SGEMM__HAS_SM90A 0
#endif

/* Barriers in shared memory (PTX ISA, "mbarrier"). A phase ends when `count` arrivals have come, and the bytes that
   were announced; wait returns once the phase of that parity has ended. */
typedef uint64_t sgemm__mbarrier;

SGEMM__DEVICE uint32_t sgemm__shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
SGEMM__DEVICE void sgemm__mbarrier_init(sgemm__mbarrier *b, int count) {
#if __CUDA_ARCH__ >= 800
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(sgemm__shared_address(b)), "r"(count) : "memory");
#endif
}
SGEMM__DEVICE void sgemm__mbarrier_init_fence(void) { /* behind the last init; a barrier of the block follows */
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
SGEMM__DEVICE void sgemm__mbarrier_arrive_expect_tx(sgemm__mbarrier *b, int bytes) { /* and arrives */
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

/* The same pointer, that the compiler has to hold in registers: where a loop needs it, it would reckon it anew. */
SGEMM__DEVICE sgemm__mbarrier *sgemm__pin_pointer(sgemm__mbarrier *b) {
  asm volatile("" : "+l"(b));
  return b;
}

/* Copies consecutive bytes, a multiple of 16 at multiples of 16, from global to shared memory (cp.async.bulk, from
   sm_90 on); their arrival is told to the mbarrier. */
SGEMM__DEVICE void sgemm__copy_bulk(void *shared, const void *p, int bytes, sgemm__mbarrier *b) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   sgemm__shared_address(shared)),
               "l"(p), "r"(bytes), "r"(sgemm__shared_address(b))
               : "memory");
#endif
}

/* An operand as TMA sees it (CUDA Driver API, "Tensor Map Object Management"): encoded by sgemm__launch(), a parameter
   of the kernel. A copy brings a box of one matrix, SGEMM__BOX elements of each of so many rows of memory, with zeros
   where nothing exists: x elements and y rows behind the first. Row r is 128 bytes of shared memory, its quad c at
   place c ^ r % 8 (CU_TENSOR_MAP_SWIZZLE_128B). */
typedef CUtensorMap sgemm__tensor_map;
#define SGEMM__MAKE_TENSOR_MAPS(args, shape, a, b)

SGEMM__DEVICE void sgemm__copy_box(float *shared, const sgemm__tensor_map *map, int x, int y, int matrix,
                                   sgemm__mbarrier *b) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(sgemm__shared_address(shared)),
               "l"(map), "r"(x), "r"(y), "r"(matrix), "r"(sgemm__shared_address(b))
               : "memory");
#endif
}

/* Shared memory by number, where addresses are made by exclusive or. */
typedef uint32_t sgemm__address;
SGEMM__DEVICE sgemm__address sgemm__address_of(const void *p) { return sgemm__shared_address(p); }
SGEMM__DEVICE sgemm__address sgemm__pin_address(sgemm__address p) { /* see sgemm__pin_pointer() */
  asm volatile("" : "+r"(p));
  return p;
}
SGEMM__DEVICE void sgemm__load_shared4_at(float *r, sgemm__address p) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3]) : "r"(p));
}

/* So many pieces of four elements a lane, `apart` bytes apart, which lanes deal each other: lane 8i + g tells the
   address of a quad, of which lane 4g + q gets element q as its i-th (PTX ISA, "ldmatrix", of four matrices of 8 rows x
   16 bytes). */
SGEMM__DEVICE void sgemm__ldmatrix_floats(float *r, sgemm__address p, int pieces, int apart) {
#if __CUDA_ARCH__ >= 900
  int i;
  SGEMM__UNROLL
  for (i = 0; i < pieces; i++)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=f"(r[4 * i]), "=f"(r[4 * i + 1]), "=f"(r[4 * i + 2]), "=f"(r[4 * i + 3])
                 : "r"(p + (uint32_t)(i * apart)));
#endif
}

/* r: 4 registers; <- those of the lane whose number differs by the bit `mask`. All lanes of a warp call it. */
SGEMM__DEVICE void sgemm__shuffle_xor4(float *r, int mask) {
  int i;
  SGEMM__UNROLL
  for (i = 0; i < 4; i++)
    r[i] = __shfl_xor_sync(0xffffffffu, r[i], mask);
}

/* What the thread has read of shared memory is read before copies overwrite it, whoever asks for them later (PTX ISA,
   fence.proxy.async). An mbarrier alone does not see to that: with two blocks an SM, at 4096 cubed, one call in ten had
   wrong results. */
SGEMM__DEVICE void sgemm__fence_proxy_async(void) {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
SGEMM__DEVICE void sgemm__warp_barrier(void) { __syncwarp(); }

/* 1 for one lane of the warp, of which the compiler knows that it is alone (PTX ISA, "elect.sync"). Around each copy by
   tensor map of a thread that was chosen by its number it puts a loop over all lanes that may be there. */
SGEMM__DEVICE int sgemm__elect_one(void) {
  int elected = 0;
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n.reg .pred one;\nelect.sync _|one, 0xffffffff;\n@one mov.b32 %0, 1;\n}" : "+r"(elected));
#endif
  return elected;
}

/* A warp's arrival, SGEMM__ARRIVALS of them, once all its lanes have come here. compute-sanitizer's racecheck does not
   see that a warp's barrier orders what the other lanes read before it; with -DSGEMM_RACECHECK each lane arrives, which
   is 0.6 % slower in tma. */
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

#if SGEMM__HAS_SM90A

/* A block's 504 registers a thread of each of three warpgroups, dealt anew: 240 to those that multiply, 24 to that
   which copies (PTX ISA, setmaxnreg); in tma, whose copying thread also reckons where the next tile is, 232 and 40, or
   216 and 40 of the 256 that a block of two warpgroups has, of which an SM holds two. Each thread of a warpgroup calls
   its one. */
SGEMM__DEVICE void sgemm__setmaxnreg_tensor_consumer(void) { asm volatile("setmaxnreg.inc.sync.aligned.u32 240;"); }
SGEMM__DEVICE void sgemm__setmaxnreg_tensor_producer(void) { asm volatile("setmaxnreg.dec.sync.aligned.u32 24;"); }
SGEMM__DEVICE void sgemm__setmaxnreg_consumer(int threads) {
  if (threads == 128)
    asm volatile("setmaxnreg.inc.sync.aligned.u32 216;");
  else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
}
SGEMM__DEVICE void sgemm__setmaxnreg_producer(void) { asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); }

/* Turns of warpgroups 0 and 1: one waits for its turn, and gives the other one its (PTX ISA, "bar", of 256 threads). */
SGEMM__DEVICE void sgemm__order_wait(int warpgroup) {
  asm volatile("bar.sync %0, 256;" ::"r"(1 + warpgroup) : "memory");
}
SGEMM__DEVICE void sgemm__order_arrive(int warpgroup) {
  asm volatile("bar.arrive %0, 256;" ::"r"(1 + warpgroup) : "memory");
}

#endif

#endif /* SGEMM_DEVICE_HOPPER_CUH */
