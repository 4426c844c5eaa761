/* probe.cu: adds 16 products to an accumulator on tensor cores, with inputs that each test one property. All rows of A
   are equal, and all columns of B, so every result is d = c + a[0] b[0] + ... + a[15] b[15]. */
#include "tools/probe.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

namespace {

enum Engine { WGMMA, MMA };
enum Format { FP16, BF16 };

struct Dot {
  uint16_t a[16], b[16];
  float c;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* A from registers, B in shared memory: 2 matrices of 8 columns x 8 k, 128 bytes each, no swizzle (PTX ISA,
   "Asynchronous Warpgroup Level Matrix Instructions"). */
#define PROBE_WGMMA(type)                                                                                              \
  asm volatile("wgmma.fence.sync.aligned;\n"                                                                           \
               "wgmma.mma_async.sync.aligned.m64n8k16.f32." type "." type                                              \
               " {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;\n"                                                \
               "wgmma.commit_group.sync.aligned;\n"                                                                    \
               "wgmma.wait_group.sync.aligned 0;\n"                                                                    \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(matrices)                                             \
               : "memory")
#endif
#define PROBE_MMA(type)                                                                                                \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                                                  \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                  \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                        \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

/* Runs one warpgroup. The result is NaN if the code in use lacks the engine. */
__global__ void __launch_bounds__(128) multiply(Dot dot, Engine engine, Format format, float *out) {
  const int k = threadIdx.x % 4 * 2; /* the first k of the thread in each half */
  uint32_t a[4], b[2];
  float d[4] = {dot.c, dot.c, dot.c, dot.c};
  bool known = false;
  for (int half = 0; half < 2; half++) {
    a[2 * half] = a[2 * half + 1] = dot.a[8 * half + k] | (uint32_t)dot.a[8 * half + k + 1] << 16;
    b[half] = dot.b[8 * half + k] | (uint32_t)dot.b[8 * half + k + 1] << 16;
  }
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  if (engine == WGMMA) {
    __shared__ __align__(128) uint16_t columns[2 * 8 * 8]; /* [k / 8][column][k % 8] */
    const uint64_t matrices = (__cvta_generic_to_shared(columns) & 0x3ffff) >> 4 | (uint64_t)8 << 16 |
                              (uint64_t)8 << 32;
    columns[threadIdx.x] = dot.b[threadIdx.x / 64 * 8 + threadIdx.x % 8];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    known = true;
    if (format == FP16)
      PROBE_WGMMA("f16");
    else
      PROBE_WGMMA("bf16");
  }
#endif
#if __CUDA_ARCH__ >= 800
  if (engine == MMA) {
    known = true;
    if (format == FP16)
      PROBE_MMA("f16");
    else
      PROBE_MMA("bf16");
  }
#endif
  if (threadIdx.x == 0)
    *out = known ? d[0] : NAN;
}

/* A power of two or its negative in a format, which may be a subnormal. */
uint16_t power(Format format, int exponent, bool negative = false) {
  const int bias = format == FP16 ? 15 : 127, bits = format == FP16 ? 10 : 7, field = exponent + bias;
  const int word = field > 0 ? field << bits : 1 << (bits - 1 + field);
  return (uint16_t)(word | (negative ? 0x8000 : 0));
}

/* One format on one engine. `error` keeps the first error. */
struct Probe {
  Engine engine;
  Format format;
  float *out;
  cudaError_t error = cudaSuccess;

  /* The sum of c and `count` products of +-2^exponent, which begin at product number `first`. If first is 1, product 0
     is 1. */
  float sum(float c, int first, int count, int exponent, bool negative = false) {
    Dot dot;
    memset(&dot, 0, sizeof dot);
    dot.c = c;
    if (first == 1)
      dot.a[0] = dot.b[0] = power(format, 0);
    for (int i = first; i < first + count; i++) {
      dot.a[i] = power(format, exponent / 2, negative);
      dot.b[i] = power(format, exponent - exponent / 2);
    }
    return run(dot);
  }

  float run(const Dot &dot) {
    float d = NAN;
    multiply<<<1, 128>>>(dot, engine, format, out);
    if (error == cudaSuccess)
      error = cudaGetLastError();
    if (error == cudaSuccess)
      error = cudaMemcpy(&d, out, sizeof d, cudaMemcpyDeviceToHost);
    return d;
  }

  /* The largest b for which addends of 2^-b still count: 1 (in C, or as a product) plus 2^(b-23) addends of 2^-b, whose
     sum is 2^-23, exceeds 1. */
  int bits_beside(bool product) {
    int bits = 22;
    while (bits < 27 - product && sum(product ? 0.0f : 1.0f, product, 1 << (bits - 22), -(bits + 1)) > 1.0f)
      bits++;
    return bits;
  }

  void print() {
    const char *name = engine == WGMMA ? "wgmma" : "mma", *type = format == FP16 ? "fp16" : "bf16";
    const float ulp = 0x1p-23f, three = sum(1.0f, 0, 7, -25), minus_three = sum(-1.0f, 0, 7, -25, true);
    if (error != cudaSuccess)
      return;
    if (std::isnan(three)) {
      printf("accumulate: %s %s: not in the code for this device\n", name, type);
      return;
    }
    printf("accumulate: %s %s: addends count down to 2^-%d beside 1 in C, 2^-%d beside a product of 1\n", name, type,
           bits_beside(false), bits_beside(true));
    /* 7 * 2^-25 is 1.75 units in the last place of 1. 2^-28 is below the last bit that is kept. */
    printf("accumulate: %s %s: a sum of 1 + 1.75 units is %s, of -1 - 1.75 units %s\n", name, type,
           three == 1 + ulp       ? "cut to 1"
           : three == 1 + 2 * ulp ? "rounded to 2"
                                  : "neither cut to 1 unit nor rounded to 2",
           minus_three == -1 - ulp       ? "cut to -1: toward zero"
           : minus_three == -1 - 2 * ulp ? "brought to -2"
                                         : "neither");
    printf("accumulate: %s %s: 1 - 2^-28 is %s\n", name, type,
           sum(1.0f, 0, 1, -28, true) == 1.0f ? "1: addends are cut toward zero, or lost"
                                              : "below 1: addends are cut down");
    /* A subnormal input times a power of two that makes the product normal; and a subnormal result. */
    const int low = format == FP16 ? -20 : -130;
    Dot dot;
    memset(&dot, 0, sizeof dot);
    dot.a[0] = power(format, low);
    dot.b[0] = power(format, format == FP16 ? 10 : 100);
    printf("accumulate: %s %s: subnormal inputs %s\n", name, type,
           run(dot) == std::ldexp(1.0f, low + (format == FP16 ? 10 : 100)) ? "count" : "are taken as 0");
    if (format == BF16)
      printf("accumulate: %s %s: subnormal results %s\n", name, type,
             sum(0.0f, 0, 1, -140) == 0x1p-140f ? "are kept" : "become 0");
  }
};

} // namespace

extern "C" int probe_print(void) {
  float *out = nullptr;
  cudaError_t error = cudaMalloc(&out, sizeof *out);
  for (int engine = WGMMA; engine <= MMA && error == cudaSuccess; engine++)
    for (int format = FP16; format <= BF16 && error == cudaSuccess; format++) {
      Probe probe = {(Engine)engine, (Format)format, out};
      probe.print();
      error = probe.error;
    }
  cudaFree(out);
  return (int)error;
}
