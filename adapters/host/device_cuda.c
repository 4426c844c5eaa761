/* device_cuda.c: device.h by the CUDA runtime. */
#include "adapters/host/device.h"

#include <cuda_runtime_api.h>

static int status_of(cudaError_t e) { return e == cudaSuccess ? SGEMM_SUCCESS : SGEMM_ERROR_CUDA + (int)e; }

int sgemm_host__device_count(int *count) { return status_of(cudaGetDeviceCount(count)); }
int sgemm_host__device_get(int *device) { return status_of(cudaGetDevice(device)); }
int sgemm_host__device_set(int device) { return status_of(cudaSetDevice(device)); }

int sgemm_host__device_free_bytes(int64_t *bytes) {
  size_t available = 0, total = 0;
  const int status = status_of(cudaMemGetInfo(&available, &total));
  *bytes = (int64_t)available;
  return status;
}

/* An error of an allocation is not sticky, but the runtime keeps it until it is read. */
static int allocated(cudaError_t e) {
  if (e != cudaSuccess)
    cudaGetLastError();
  return status_of(e);
}

int sgemm_host__alloc(void **memory, int64_t bytes) { return allocated(cudaMalloc(memory, (size_t)bytes)); }
void sgemm_host__free(void *memory) { cudaFree(memory); }

int sgemm_host__pin(void **memory, int64_t bytes) {
  return allocated(cudaHostAlloc(memory, (size_t)bytes, cudaHostAllocPortable));
}
void sgemm_host__unpin(void *memory) { cudaFreeHost(memory); }

static sgemm_host__memory memory_at(const void *p) {
  struct cudaPointerAttributes a;
  if (cudaPointerGetAttributes(&a, p) != cudaSuccess) {
    cudaGetLastError();
    return SGEMM_HOST__PAGEABLE;
  }
  return a.type == cudaMemoryTypeDevice ? SGEMM_HOST__DEVICE
         : a.type == cudaMemoryTypeHost ? SGEMM_HOST__PINNED
                                        : SGEMM_HOST__PAGEABLE; /* managed memory is read and written by the host */
}

sgemm_host__memory sgemm_host__memory_of(const void *p, int64_t bytes) {
  const sgemm_host__memory first = memory_at(p);
  return first == SGEMM_HOST__PINNED ? memory_at((const char *)p + bytes - 1) : first;
}

int sgemm_host__stream_make(sgemm_host__stream *stream) {
  return status_of(cudaStreamCreateWithFlags((cudaStream_t *)stream, cudaStreamNonBlocking));
}
void sgemm_host__stream_drop(sgemm_host__stream stream) { cudaStreamDestroy((cudaStream_t)stream); }
int sgemm_host__stream_sync(sgemm_host__stream stream) {
  return status_of(cudaStreamSynchronize((cudaStream_t)stream));
}

/* A host thread that waits sleeps, so that the copying threads have the cores. */
int sgemm_host__event_make(sgemm_host__event *event) {
  return status_of(cudaEventCreateWithFlags((cudaEvent_t *)event, cudaEventDisableTiming | cudaEventBlockingSync));
}
void sgemm_host__event_drop(sgemm_host__event event) { cudaEventDestroy((cudaEvent_t)event); }
int sgemm_host__event_record(sgemm_host__event event, sgemm_host__stream stream) {
  return status_of(cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream));
}
int sgemm_host__event_sync(sgemm_host__event event) { return status_of(cudaEventSynchronize((cudaEvent_t)event)); }
int sgemm_host__event_wait(sgemm_host__event event, sgemm_host__stream stream) {
  return status_of(cudaStreamWaitEvent((cudaStream_t)stream, (cudaEvent_t)event, 0));
}

/* Copies row by row. The documentation of cudaMemcpy2DAsync() promises an error for pitches above
   cudaDeviceProp::memPitch, 2^31 - 1 bytes. Driver 580 takes them. */
static int copy_rows(const sgemm_host__copy *c, enum cudaMemcpyKind kind, sgemm_host__stream stream) {
  int64_t i;
  cudaError_t error = cudaSuccess;
  for (i = 0; i < c->rows && error == cudaSuccess; i++)
    error = cudaMemcpyAsync(c->to + (size_t)i * c->to_pitch, c->from + (size_t)i * c->from_pitch, c->width, kind,
                            (cudaStream_t)stream);
  return status_of(error);
}

static int copy_2d(const sgemm_host__copy *c, enum cudaMemcpyKind kind, sgemm_host__stream stream) {
  if (c->rows == 1 || c->to_pitch > INT32_MAX || c->from_pitch > INT32_MAX)
    return copy_rows(c, kind, stream);
  if (c->to_pitch == c->width && c->from_pitch == c->width)
    return status_of(cudaMemcpyAsync(c->to, c->from, c->width * (size_t)c->rows, kind, (cudaStream_t)stream));
  return status_of(cudaMemcpy2DAsync(c->to, c->to_pitch, c->from, c->from_pitch, c->width, (size_t)c->rows, kind,
                                     (cudaStream_t)stream));
}
int sgemm_host__copy_in(const sgemm_host__copy *copy, sgemm_host__stream stream) {
  return copy_2d(copy, cudaMemcpyHostToDevice, stream);
}
int sgemm_host__copy_out(const sgemm_host__copy *copy, sgemm_host__stream stream) {
  return copy_2d(copy, cudaMemcpyDeviceToHost, stream);
}

int sgemm_host__multiply(const sgemm_params *p, sgemm_host__stream stream) {
  return sgemm_run(p, (sgemm_stream)stream);
}
int64_t sgemm_host__workspace(const sgemm_params *p) {
  int64_t bytes = 0;
  return sgemm_workspace_query(p, &bytes) == SGEMM_SUCCESS ? bytes : 0;
}
