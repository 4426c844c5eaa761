/* matrices.cu: random numbers and the reference in double precision, computed on the GPU. */
#include "tools/matrices.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace {

constexpr int WARP = 32, THREADS = 256, WARPS = THREADS / WARP, BLOCKS = 4096;

/* The largest error as the bits of a double. The bits of non-negative doubles have the order of the numbers. */
__device__ unsigned long long worst_bits;

__device__ void note(double error) { atomicMax(&worst_bits, (unsigned long long)__double_as_longlong(error)); }

__global__ void __launch_bounds__(THREADS) fill(float *x, size_t count, size_t period, uint64_t seed) {
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += (size_t)gridDim.x * THREADS)
    x[i] = matrices_number(seed, i % period);
}

__global__ void __launch_bounds__(THREADS) fill16(uint16_t *x, size_t count, int bf16, uint64_t seed) {
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += (size_t)gridDim.x * THREADS) {
    const float number = matrices_number(seed, i);
    x[i] = bf16 ? __bfloat16_as_ushort(__float2bfloat16(number)) : __half_as_ushort(__float2half(number));
  }
}

/* Each warp computes one result; k is interleaved across its lanes. The warps of a block compute neighbouring results
   of a row of C, so they read the same sectors of an MN-major B. All lanes receive the sums. */
__device__ void dot(const sgemm_params &p, int64_t row, int64_t j, double *sum, double *size) {
  const int64_t z = row / p.m, i = row % p.m;
  const float *a = p.A + z * p.stride_a + (p.op_a == SGEMM_N ? i * p.lda : i);
  const float *b = p.B + z * p.stride_b + (p.op_b == SGEMM_N ? j : j * p.ldb);
  const int64_t step_a = p.op_a == SGEMM_N ? 1 : p.lda, step_b = p.op_b == SGEMM_N ? p.ldb : 1;
  *sum = *size = 0.0;
  for (int64_t k = threadIdx.x % WARP; k < p.k; k += WARP) {
    const double product = (double)a[k * step_a] * b[k * step_b];
    *sum += product;
    *size += fabs(product);
  }
  for (int distance = WARP / 2; distance > 0; distance /= 2) {
    *sum += __shfl_xor_sync(~0u, *sum, distance);
    *size += __shfl_xor_sync(~0u, *size, distance);
  }
}

__global__ void __launch_bounds__(THREADS) compare(sgemm_params p, int64_t rows) {
  const int64_t result = (int64_t)blockIdx.x * WARPS + threadIdx.x / WARP;
  if (result >= rows * p.n)
    return;
  const int64_t row = matrices_row(&p, rows, result / p.n), j = result % p.n;
  double sum, size;
  dot(p, row, j, &sum, &size);
  if (threadIdx.x % WARP == 0)
    note(matrices_distance(p.C[row * p.ldc + j], (1.0 + p.beta) * sum, (1.0 + p.beta) * size));
}

/* sums: rows * n dot products, and as many of the absolute values. */
__global__ void __launch_bounds__(THREADS) store_sums(sgemm_params p, int64_t rows, double *sums) {
  const int64_t result = (int64_t)blockIdx.x * WARPS + threadIdx.x / WARP;
  if (result >= rows * p.n)
    return;
  double sum, size;
  dot(p, matrices_row(&p, rows, result / p.n), result % p.n, &sum, &size);
  if (threadIdx.x % WARP == 0) {
    sums[result] = sum;
    sums[rows * p.n + result] = size;
  }
}

__global__ void __launch_bounds__(THREADS) find_nan(const float *x, size_t count) {
  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += (size_t)gridDim.x * THREADS)
    if (isnan(x[i]))
      note((double)INFINITY);
}

} // namespace

extern "C" int matrices_fill(float *x, size_t count, size_t period, uint64_t seed) {
  fill<<<BLOCKS, THREADS>>>(x, count, period, seed);
  return (int)cudaGetLastError();
}

extern "C" int matrices_fill16(uint16_t *x, size_t count, int bf16, uint64_t seed) {
  fill16<<<BLOCKS, THREADS>>>(x, count, bf16, seed);
  return (int)cudaGetLastError();
}

extern "C" int matrices_error(const sgemm_params *p, double *worst) {
  const int64_t rows = matrices_rows(p);
  *worst = 0.0;
  cudaError_t error = cudaMemcpyToSymbol(worst_bits, worst, sizeof *worst);
  if (error == cudaSuccess) {
    compare<<<(unsigned)sgemm__ceil_div(rows * p->n, WARPS), THREADS>>>(*p, rows);
    find_nan<<<BLOCKS, THREADS>>>(p->C, (size_t)(p->stride_c * p->batch));
    error = cudaGetLastError();
  }
  return (int)(error == cudaSuccess ? cudaMemcpyFromSymbol(worst, worst_bits, sizeof *worst) : error);
}

extern "C" int matrices_sums(const sgemm_params *p, double *sum, double *size) {
  const int64_t rows = matrices_rows(p);
  const size_t bytes = (size_t)(rows * p->n) * sizeof *sum;
  double *sums = nullptr;
  cudaError_t error = cudaMalloc(&sums, 2 * bytes);
  if (error != cudaSuccess)
    return (int)error;
  store_sums<<<(unsigned)sgemm__ceil_div(rows * p->n, WARPS), THREADS>>>(*p, rows, sums);
  error = cudaGetLastError();
  if (error == cudaSuccess)
    error = cudaMemcpy(sum, sums, bytes, cudaMemcpyDeviceToHost);
  if (error == cudaSuccess)
    error = cudaMemcpy(size, sums + rows * p->n, bytes, cudaMemcpyDeviceToHost);
  cudaFree(sums);
  return (int)error;
}

extern "C" int matrices_find_nan(const float *x, size_t count, int *found) {
  double worst = 0.0;
  cudaError_t error = cudaMemcpyToSymbol(worst_bits, &worst, sizeof worst);
  if (error == cudaSuccess) {
    find_nan<<<BLOCKS, THREADS>>>(x, count);
    error = cudaGetLastError();
  }
  if (error == cudaSuccess)
    error = cudaMemcpyFromSymbol(&worst, worst_bits, sizeof worst);
  *found = worst > 0.0;
  return (int)error;
}
