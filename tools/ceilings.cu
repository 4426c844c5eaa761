/* ceilings.cu: a kernel that only executes FMAs, and a kernel that only copies. */
#include "tools/ceilings.h"

#include <cuda_runtime.h>

namespace {

/* Each quarter of an SM has 8 warps with 8 independent FMAs each, more than hide the latency of an FMA, and all blocks
   are resident at once. A launch takes some 8 ms, so the clock has risen after the first. */
constexpr int CHAINS = 8, STEPS = 1 << 18, UNROLL = 16, THREADS = 256, BLOCKS_PER_SM = 4, RUNS = 10;

__global__ void __launch_bounds__(THREADS) run_ffma(float *out, float a, float b) {
  float x[CHAINS];
#pragma unroll
  for (int c = 0; c < CHAINS; c++)
    x[c] = a * (float)(threadIdx.x + c);
  for (int step = 0; step < STEPS / UNROLL; step++) {
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
#pragma unroll
      for (int c = 0; c < CHAINS; c++)
        x[c] = fmaf(x[c], a, b);
    }
  }
  float sum = 0.0f;
#pragma unroll
  for (int c = 0; c < CHAINS; c++)
    sum += x[c];
  if (sum == 0.5f) /* never true, which the compiler cannot prove */
    *out = sum;
}

/* A thread has four loads in flight. The grid covers a multiple of 4 * THREADS float4s. */
__global__ void __launch_bounds__(THREADS) run_copy(float4 *to, const float4 *from) {
  const size_t first = (size_t)blockIdx.x * (4 * THREADS) + threadIdx.x;
  float4 x[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    x[i] = from[first + i * THREADS];
#pragma unroll
  for (int i = 0; i < 4; i++)
    to[first + i * THREADS] = x[i];
}

/* Milliseconds of the fastest run, after a first run that is not timed; 0 on error. */
template <typename Launch> float best_ms(Launch launch) {
  cudaEvent_t start, stop;
  float best = 0.0f;
  if (cudaEventCreate(&start) != cudaSuccess || cudaEventCreate(&stop) != cudaSuccess)
    return 0.0f;
  launch();
  for (int run = 0; run < RUNS; run++) {
    float ms = 0.0f;
    cudaEventRecord(start);
    launch();
    cudaEventRecord(stop);
    if (cudaEventSynchronize(stop) != cudaSuccess || cudaEventElapsedTime(&ms, start, stop) != cudaSuccess)
      return 0.0f;
    if (best == 0.0f || ms < best)
      best = ms;
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  return best;
}

} // namespace

extern "C" int ceilings_measure(double *ffma_gflops, double *copy_gbs) {
  const size_t bytes = (size_t)1 << 30, count = bytes / sizeof(float4);
  int device, multiprocessors;
  float4 *from = nullptr, *to = nullptr;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaMalloc(&from, bytes);
  if (error == cudaSuccess)
    error = cudaMalloc(&to, bytes);
  if (error == cudaSuccess)
    error = cudaMemset(from, 0, bytes);
  if (error == cudaSuccess) {
    const int blocks = multiprocessors * BLOCKS_PER_SM;
    const double flops = 2.0 * CHAINS * STEPS * THREADS * (double)blocks;
    const float ffma = best_ms([=] { run_ffma<<<blocks, THREADS>>>((float *)to, 0.999f, 0.001f); });
    const float copy = best_ms([=] { run_copy<<<(unsigned)(count / (4 * THREADS)), THREADS>>>(to, from); });
    *ffma_gflops = ffma > 0.0f ? flops / ffma * 1e-6 : 0.0;
    *copy_gbs = copy > 0.0f ? 2.0 * (double)bytes / copy * 1e-6 : 0.0;
    error = ffma > 0.0f && copy > 0.0f ? cudaGetLastError() : cudaErrorUnknown;
  }
  cudaFree(to);
  cudaFree(from);
  return (int)error;
}
