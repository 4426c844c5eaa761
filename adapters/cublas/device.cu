/* device.cu: device.h for CUDA. */
#include "adapters/cublas/device.h"

#include <cuda_runtime.h>

/* ---- Measurements ------------------------------------------------------------------------------------------------ */

static void set_capture_mode(int *mode) {
  cudaStreamCaptureMode swapped = (cudaStreamCaptureMode)*mode;
  cudaThreadExchangeStreamCaptureMode(&swapped);
  *mode = (int)swapped;
}

/* Another stream may be captured in a mode in which cudaMalloc() would end that capture, unless this thread is
   relaxed. */
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
