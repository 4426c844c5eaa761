/* gpus.h: properties of GPUs, for tools that need none of them. */
#ifndef GPUS_H
#define GPUS_H

#include "sgemm.h"

/* Sources of boost clocks, L2 sizes and bandwidths: NVIDIA A100 Tensor Core GPU Architecture (A100 SXM 40 GB), NVIDIA
   Ampere GA102 GPU Architecture (both RTX cards, founders' editions), and the driver of the H200. Limits of an SM: CUDA
   C++ Programming Guide, "Technical Specifications per Compute Capability".
     X("name", (device), [symbol] architecture of the resources from ptxas). device: name, compute capability,
   architecture of the code, SMs, lanes, MHz; of an SM: threads, blocks, registers, shared memory; of a block: shared
   memory, reserved shared memory; L2, GFLOP/s, GB/s, blocks of a cluster. GPU_DEVICE has no sm_90a code. */
// clang-format off
#define GPU_DEVICE(name, major, minor, arch, ...) {name, major, minor, arch, 0, __VA_ARGS__}
#define GPU_LIST(X)                                                                                                    \
  X("H200",    ("H200",             9, 0, 90, 132, 128, 1980, 2048, 32, 65536, 228 << 10, 227 << 10, 1024, 60 << 20,   \
                66908, 4814.7, 16), sm90a)                                                                             \
  X("A100",    ("A100 SXM 40 GB",   8, 0, 80, 108,  64, 1410, 2048, 32, 65536, 164 << 10, 163 << 10, 1024, 40 << 20,   \
                19492, 1555.0, 0), sm80)                                                                               \
  X("RTX3090", ("GeForce RTX 3090", 8, 6, 86,  82, 128, 1695, 1536, 16, 65536, 100 << 10,  99 << 10, 1024,  6 << 20,   \
                35581,  936.2, 0), sm86)                                                                               \
  X("RTX3070", ("GeForce RTX 3070", 8, 6, 86,  46, 128, 1725, 1536, 16, 65536, 100 << 10,  99 << 10, 1024,  4 << 20,   \
                20314,  448.0, 0), sm86)
// clang-format on

#endif
