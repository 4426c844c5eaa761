/* accuracy.cu: the inputs of tools/accuracy.c and the errors of its results, computed on the GPU. */
#include "tools/accuracy_data.h"

#include <cuda_runtime.h>

namespace {

constexpr int THREADS = 256, BLOCKS = 2048, JUDGES = 512;

__device__ accuracy_sums all_sums[SUBJECTS_MOST];

__global__ void __launch_bounds__(THREADS)
    fill(float *x, int kind, double amount, int of_b, uint64_t seed, int64_t extent, int64_t k) {
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < extent * k; i += (int64_t)gridDim.x * THREADS)
    x[i] = of_b ? accuracy_element(kind, amount, of_b, seed, k, i % extent, i / extent)
                : accuracy_element(kind, amount, of_b, seed, k, i / k, i % k);
}

__global__ void __launch_bounds__(THREADS) widen(double *wide, const float *x, int64_t count, int absolute) {
  for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += (int64_t)gridDim.x * THREADS)
    wide[i] = absolute ? fabs((double)x[i]) : (double)x[i];
}

/* One block for each subject, so that the order of summation does not depend on the order of blocks. */
__global__ void __launch_bounds__(JUDGES)
    judge(const float *C, const double *sum, const double *size, int64_t count, int64_t k) {
  __shared__ accuracy_sums of_threads[JUDGES];
  accuracy_sums mine = {0, 0, 0, 0, 0, 0, 0};
  for (int64_t i = threadIdx.x; i < count; i += JUDGES)
    accuracy_add(&mine, C[blockIdx.x * count + i], C[i], sum[i], size[i], k);
  of_threads[threadIdx.x] = mine;
  __syncthreads();
  for (int half = JUDGES / 2; half > 0; half /= 2) {
    if ((int)threadIdx.x < half)
      accuracy_merge(&of_threads[threadIdx.x], &of_threads[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0)
    all_sums[blockIdx.x] = of_threads[0];
}

} // namespace

extern "C" int accuracy_fill(float *x, int kind, double amount, int of_b, uint64_t seed, int64_t extent, int64_t k) {
  fill<<<BLOCKS, THREADS>>>(x, kind, amount, of_b, seed, extent, k);
  return (int)cudaGetLastError();
}

extern "C" int accuracy_widen(double *wide, const float *x, int64_t count, int absolute) {
  widen<<<BLOCKS, THREADS>>>(wide, x, count, absolute);
  return (int)cudaGetLastError();
}

extern "C" int accuracy_judge(accuracy_sums *sums, const float *C, int subjects, const double *sum, const double *size,
                              int64_t count, int64_t k) {
  judge<<<subjects, JUDGES>>>(C, sum, size, count, k);
  const cudaError_t error = cudaGetLastError();
  return (int)(error == cudaSuccess ? cudaMemcpyFromSymbol(sums, all_sums, (size_t)subjects * sizeof *sums) : error);
}
