/* Two kernels that do one thing each, as fast as the device can. */
#include "tools/ceilings.h"

#include <cuda_runtime.h>

namespace {

/* 8 warps on each quarter of an SM, each with 8 FMAs in flight, are more than any pipe's latency asks for, and fit any
   SM at once. A launch takes some 8 ms, so that the clock has risen after the first. */
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
  if (sum == 0.5f) /* never, but the compiler cannot know */
    *out = sum;
}

/* Four loads in flight a thread. count is a multiple of 4 * THREADS. */
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

/* Milliseconds of the fastest run behind one that warms up; 0 on error. */
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
