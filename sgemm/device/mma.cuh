/* sgemm/device/mma.cuh: primitives of tensor cores: conversions to and from 16 bits, mma.sync with its fragments (sm_80
   and later), wgmma with its matrix descriptors (sm_90a). */
#ifndef SGEMM_DEVICE_MMA_CUH
#define SGEMM_DEVICE_MMA_CUH

/* Rounds x and y to 16 bits, to nearest, ties to even, and packs them into a word: x in the lower half (PTX ISA,
   "cvt"). sgemm__from_fp16() converts the lower half of a word back. */
SGEMM__DEVICE uint32_t sgemm__to_fp16x2(float x, float y) {
  uint32_t word = 0;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(y), "f"(x));
#endif
  return word;
}
SGEMM__DEVICE uint32_t sgemm__to_bf16x2(float x, float y) {
  uint32_t word = 0;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(y), "f"(x));
#endif
  return word;
}
SGEMM__DEVICE float sgemm__from_fp16(uint32_t h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((uint16_t)h));
  return x;
}

/* SGEMM__HAS_MMA: the code has the tensor engine mma. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 800 || (SGEMM__HAS_SM90A && !SGEMM__WITH_MMA)
#define SGEMM__HAS_MMA 0
#else
#define SGEMM__HAS_MMA 1

/* Four matrices of 8 rows x 8 elements of 16 bits in the registers of a warp (PTX ISA, "ldmatrix"). Word i of lane 4r +
   q, r < 8, q < 4, holds elements 2q and 2q + 1 of row r of matrix i. */
typedef struct sgemm__fragment {
  uint32_t words[4];
} sgemm__fragment;

/* Loads four matrices from shared memory. p: on lane 8i + r the address of row r of matrix i, aligned to 16 bytes. */
SGEMM__DEVICE void sgemm__load_matrices(sgemm__fragment *f, const char *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(f->words[0]), "=r"(f->words[1]), "=r"(f->words[2]), "=r"(f->words[3])
               : "r"(sgemm__shared_address(p))
               : "memory");
}

/* Loads a fragment of an operand that is stored in 8 x 8 matrices of 128 bytes. Matrices of consecutive k follow each
   other. group_bytes is the stride from one group of 8 rows to the next.
     A  16 rows x 16 k: matrices (rows 0 to 7, k 0 to 7), (rows 8 to 15, k 0 to 7), (rows 0 to 7, k 8 to 15),
        (rows 8 to 15, k 8 to 15)
     B  8 columns x 32 k: matrices of k 0 to 7, 8 to 15, 16 to 23, 24 to 31 */
SGEMM__DEVICE void sgemm__load_fragment_a(sgemm__fragment *f, const char *p, int group_bytes) {
  const int lane = threadIdx.x % 32;
  sgemm__load_matrices(f, p + lane / 8 % 2 * group_bytes + lane / 16 * 128 + lane % 8 * 16);
}
SGEMM__DEVICE void sgemm__load_fragment_b(sgemm__fragment *f, const char *p) {
  sgemm__load_matrices(f, p + threadIdx.x % 32 * 16);
}

/* One product of a warp (PTX ISA, "mma.sync", m16n8k16): d = a b + c. d and c are 16 x 8 in fp32, a is 16 x 16, b is 16
   x 8. Lane 4r + q, r < 8, q < 4, holds columns 2q and 2q + 1 of row r in d[0] and d[1], and those of row r + 8 in d[2]
   and d[3]. */
#define SGEMM__MMA(type)                                                                                               \
  SGEMM__DEVICE void sgemm__mma_##type(float *d, const uint32_t *a, const uint32_t *b, const float *c) {               \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." #type "." #type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
        "{%10, %11, %12, %13};"                                                                                        \
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                                                               \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),           \
          "f"(c[3]));                                                                                                  \
  }
SGEMM__MMA(f16)
SGEMM__MMA(bf16)

/* d = a b, plus d if add is 1. The product is over k 0 to 15 (half = 0) or 16 to 31 (half = 1) of b. */
SGEMM__DEVICE void sgemm__mma(float *d, const sgemm__fragment *a, const sgemm__fragment *b, int half, int add,
                              int format) {
  const float zero[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  if (format == SGEMM_FORMAT_fp16x3)
    sgemm__mma_f16(d, a->words, b->words + 2 * half, add ? d : zero);
  else
    sgemm__mma_bf16(d, a->words, b->words + 2 * half, add ? d : zero);
}
#endif

#if SGEMM__HAS_SM90A

/* Describes an operand in shared memory to wgmma (PTX ISA, "Matrix Descriptor Format"), without a swizzle. 8 x 8
   matrices of 128 bytes and consecutive k follow each other. group_bytes is the stride from one group of 8 rows to the
   next. */
typedef uint64_t sgemm__matrix_descriptor;
SGEMM__DEVICE sgemm__matrix_descriptor sgemm__matrix_descriptor_at(const void *p, int group_bytes) {
  return (sgemm__shared_address(p) & 0x3ffff) >> 4 | (uint64_t)(128 >> 4) << 16 | (uint64_t)(group_bytes >> 4) << 32;
}
SGEMM__DEVICE sgemm__matrix_descriptor sgemm__matrix_descriptor_advance(sgemm__matrix_descriptor m, int bytes) {
  return m + (uint64_t)(bytes >> 4);
}

/* Orders the warpgroup's earlier accesses to registers and to shared memory before its products (PTX ISA,
   "wgmma.fence"). */
SGEMM__DEVICE void sgemm__wgmma_fence(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/* Commits the products that the warpgroup has issued as one group (PTX ISA, "wgmma.commit_group"). */
SGEMM__DEVICE void sgemm__wgmma_commit(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/* Waits until all committed products of the warpgroup have completed (PTX ISA, "wgmma.wait_group"). d: their `count`
   accumulators. The empty asm keeps nvcc from moving a use of them before the wait. */
SGEMM__DEVICE void sgemm__wgmma_wait(float *d, int count) {
  int i;
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  SGEMM__UNROLL
  for (i = 0; i < count; i++)
    asm volatile("" : "+f"(d[i]));
}

/* One product of a warpgroup (PTX ISA, "wgmma.mma_async", m64nNk16, N = 64 or 128): d = a b, plus d if add is 1. d is
   64 x N in fp32, N / 2 registers per thread; a is 64 x 16, b is 16 x N. */
// clang-format off
#define SGEMM__REGISTERS_32 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                   \
                            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SGEMM__REGISTERS_64 SGEMM__REGISTERS_32 ", "                                                                   \
                            "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "         \
                            "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SGEMM__IN_OUT_8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]),                                 \
                           "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define SGEMM__IN_OUT_32(i) SGEMM__IN_OUT_8(i), SGEMM__IN_OUT_8(i + 8), SGEMM__IN_OUT_8(i + 16), SGEMM__IN_OUT_8(i + 24)
#define SGEMM__IN_OUT_64(i) SGEMM__IN_OUT_32(i), SGEMM__IN_OUT_32(i + 32)
#define SGEMM__WGMMA(type, N, registers, A, B, ADD)                                                                    \
  SGEMM__DEVICE void sgemm__wgmma_##type##_##N(float *d, sgemm__matrix_descriptor a, sgemm__matrix_descriptor b,       \
                                               int add) {                                                              \
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " ADD ", 0;\n"                                                  \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." #type "." #type                                     \
                 " {" SGEMM__REGISTERS_##registers "}, " A ", " B ", add, 1, 1, 0, 0;\n}"                              \
                 : SGEMM__IN_OUT_##registers(0) : "l"(a), "l"(b), "r"(add));                                           \
  }
// clang-format on
SGEMM__WGMMA(f16, 64, 32, "%32", "%33", "%34")
SGEMM__WGMMA(f16, 128, 64, "%64", "%65", "%66")
SGEMM__WGMMA(bf16, 64, 32, "%32", "%33", "%34")
SGEMM__WGMMA(bf16, 128, 64, "%64", "%65", "%66")

SGEMM__DEVICE void sgemm__wgmma(float *d, sgemm__matrix_descriptor a, sgemm__matrix_descriptor b, int add, int format,
                                int N) {
  if (format == SGEMM_FORMAT_fp16x3 && N == 64)
    sgemm__wgmma_f16_64(d, a, b, add);
  else if (format == SGEMM_FORMAT_fp16x3)
    sgemm__wgmma_f16_128(d, a, b, add);
  else if (N == 64)
    sgemm__wgmma_bf16_64(d, a, b, add);
  else
    sgemm__wgmma_bf16_128(d, a, b, add);
}

#endif

#endif /* SGEMM_DEVICE_MMA_CUH */
