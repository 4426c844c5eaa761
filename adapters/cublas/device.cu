/* device.cu: device.h for CUDA. */
#include "adapters/cublas/device.h"

#include <cuda_runtime.h>

enum { THREADS = 256, BLOCKS = 2048 };

/* A thread writes `V` rows of every (gridDim.y * blockDim.y)-th column. It reads its part of the column once. */
#define FILL(name, type, V)                                                                                            \
  extern "C" __global__ void __launch_bounds__(THREADS)                                                                \
      name(const float *column, int64_t m, int64_t n, float *C, int64_t ldc) {                                         \
    const int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * V;                                            \
    int64_t j = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;                                                        \
    if (i < m) {                                                                                                       \
      const type value = *(const type *)(column + i);                                                                  \
      for (; j < n; j += (int64_t)gridDim.y * blockDim.y)                                                              \
        *(type *)(C + i + j * ldc) = value;                                                                            \
    }                                                                                                                  \
  }
FILL(sgemm_cublas__fill1, float, 1)
FILL(sgemm_cublas__fill4, float4, 4)

static sgemm_status status_of(cudaError_t error) {
  return error == cudaSuccess ? SGEMM_SUCCESS : (sgemm_status)(SGEMM_ERROR_CUDA + (int)error);
}

sgemm_status sgemm_cublas__fill_columns(const float *column, int64_t m, int64_t n, float *C, int64_t ldc,
                                        sgemm_stream stream) {
  const int vectors = m % 4 == 0 && ldc % 4 == 0 && (uintptr_t)column % 16 == 0 && (uintptr_t)C % 16 == 0;
  const int64_t items = vectors ? m / 4 : m;
  int64_t blocks_x, blocks_y;
  dim3 block(1, 1, 1), grid(1, 1, 1);
  cudaLaunchConfig_t config = {};
  while (block.x < items && block.x < THREADS)
    block.x *= 2;
  block.y = THREADS / block.x;
  blocks_x = (items + block.x - 1) / block.x;
  blocks_y = (n + block.y - 1) / block.y;
  if (blocks_x > INT32_MAX)
    return SGEMM_ERROR_GRID;
  grid.x = (unsigned)blocks_x;
  grid.y = (unsigned)(blocks_x >= BLOCKS ? 1 : blocks_y < BLOCKS / blocks_x ? blocks_y : BLOCKS / blocks_x);
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = (cudaStream_t)stream;
  return status_of(
      cudaLaunchKernelEx(&config, vectors ? sgemm_cublas__fill4 : sgemm_cublas__fill1, column, m, n, C, ldc));
}

/* ---- Measurements ------------------------------------------------------------------------------------------------ */

static void set_capture_mode(int *mode) {
  cudaStreamCaptureMode swapped = (cudaStreamCaptureMode)*mode;
  cudaThreadExchangeStreamCaptureMode(&swapped);
  *mode = (int)swapped;
}

/* Another stream may be captured in a mode in which cudaMalloc() would end that capture, unless this thread is relaxed. */
sgemm_cublas__opened sgemm_cublas__bench_open(size_t bytes, sgemm_stream stream, sgemm_cublas__bench *bench) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  cudaEvent_t begin = NULL, end = NULL;
  void *memory = NULL;
  if (cudaStreamIsCapturing((cudaStream_t)stream, &capture) != cudaSuccess || capture != cudaStreamCaptureStatusNone)
    return SGEMM_CUBLAS_BENCH_CAPTURED;
  bench->capture_mode = (int)cudaStreamCaptureModeRelaxed;
  set_capture_mode(&bench->capture_mode);
  bench->stream = stream;
  if (cudaMalloc(&memory, bytes) == cudaSuccess &&
      cudaMemsetAsync(memory, 0, bytes, (cudaStream_t)stream) == cudaSuccess &&
      cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess) {
    bench->C = (float *)memory;
    bench->begin = begin;
    bench->end = end;
    return SGEMM_CUBLAS_BENCH_OPEN;
  }
  if (begin != NULL)
    cudaEventDestroy(begin);
  cudaFree(memory);
  set_capture_mode(&bench->capture_mode);
  return SGEMM_CUBLAS_BENCH_FAILED;
}

void sgemm_cublas__bench_close(sgemm_cublas__bench *bench) {
  cudaStreamSynchronize((cudaStream_t)bench->stream);
  cudaEventDestroy((cudaEvent_t)bench->begin);
  cudaEventDestroy((cudaEvent_t)bench->end);
  cudaFree(bench->C);
  set_capture_mode(&bench->capture_mode);
}

double sgemm_cublas__bench_time(sgemm_cublas__bench *bench, sgemm_cublas__work *work, void *context, int repeats) {
  const cudaStream_t stream = (cudaStream_t)bench->stream;
  float ms = 0.0f;
  int i, done = cudaEventRecord((cudaEvent_t)bench->begin, stream) == cudaSuccess;
  for (i = 0; i < repeats && done; i++)
    done = work(context);
  return done && cudaEventRecord((cudaEvent_t)bench->end, stream) == cudaSuccess &&
                 cudaEventSynchronize((cudaEvent_t)bench->end) == cudaSuccess &&
                 cudaEventElapsedTime(&ms, (cudaEvent_t)bench->begin, (cudaEvent_t)bench->end) == cudaSuccess
             ? 1e3 * (double)ms / repeats
             : -1.0;
}
