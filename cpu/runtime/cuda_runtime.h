/* cpu/runtime/cuda_runtime.h: the calls and types of the CUDA runtime that examples/ uses, for the CPU model. A program
   written for a GPU runs on the CPU model without a change: compile it with -Icpu/runtime and link cpu/sgemm.c. Names
   and signatures are those of the CUDA toolkit.

   Device memory is host memory, aligned to 256 bytes as cudaMalloc() aligns it. There is one device. Every call is
   complete when it returns, so a stream is a handle without a queue and synchronization does nothing. */
#ifndef SGEMM_CPU_CUDA_RUNTIME_H
#define SGEMM_CPU_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidDevice = 101,
  cudaErrorNotReady = 600
} cudaError_t;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};

typedef struct CUstream_st *cudaStream_t; /* the type sgemm_stream of sgemm.h */

static inline const char *cudaGetErrorString(cudaError_t error) {
  switch (error) {
  case cudaSuccess:
    return "no error";
  case cudaErrorMemoryAllocation:
    return "out of memory";
  case cudaErrorInvalidDevice:
    return "invalid device ordinal";
  case cudaErrorNotReady:
    return "device not ready";
  default:
    return "invalid argument";
  }
}

/* ---- Device ------------------------------------------------------------------------------------------------------ */

static inline cudaError_t cudaGetDeviceCount(int *count) {
  *count = 1;
  return cudaSuccess;
}

static inline cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }

static inline cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* For 0 bytes the pointer is NULL, as with the toolkit. memcpy() stores it, because callers cast a float ** to void
   **. */
static inline cudaError_t cudaMalloc(void **pointer, size_t bytes) {
  const size_t alignment = 256, rounded = (bytes + alignment - 1) / alignment * alignment;
  void *memory = bytes == 0 || rounded < bytes ? NULL : aligned_alloc(alignment, rounded);
  memcpy(pointer, &memory, sizeof memory);
  return bytes == 0 || memory != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

static inline cudaError_t cudaFree(void *pointer) {
  free(pointer);
  return cudaSuccess;
}

static inline cudaError_t cudaMemset(void *pointer, int byte, size_t bytes) {
  if (bytes > 0)
    memset(pointer, byte, bytes);
  return cudaSuccess;
}

static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return cudaErrorInvalidValue;
  if (bytes > 0)
    memcpy(to, from, bytes);
  return cudaSuccess;
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

static inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                          cudaStream_t stream) {
  (void)stream;
  return cudaMemcpy(to, from, bytes, kind);
}

/* A stream is a byte of memory, so that its handle is not NULL. */
static inline cudaError_t cudaStreamCreate(cudaStream_t *stream) {
  *stream = (cudaStream_t)malloc(1);
  return *stream != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };

/* All streams have one priority. */
static inline cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}

static inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
  (void)flags, (void)priority;
  return cudaStreamCreate(stream);
}

static inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  free(stream);
  return cudaSuccess;
}

static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  (void)stream;
  return cudaSuccess;
}

static inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                            size_t width, size_t height, enum cudaMemcpyKind kind,
                                            cudaStream_t stream) {
  size_t row;
  if (width > to_pitch || width > from_pitch)
    return cudaErrorInvalidValue;
  for (row = 0; row < height; row++) {
    const cudaError_t error = cudaMemcpyAsync((char *)to + row * to_pitch, (const char *)from + row * from_pitch, width,
                                              kind, stream);
    if (error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}

/* ---- Events: each has happened when cudaEventRecord() returns ---------------------------------------------------- */

typedef struct CUevent_st *cudaEvent_t;
enum { cudaEventDefault = 0, cudaEventDisableTiming = 2 };

static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  (void)flags;
  *event = (cudaEvent_t)malloc(1);
  return *event != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

static inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  free(event);
  return cudaSuccess;
}

static inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  (void)event, (void)stream;
  return cudaSuccess;
}

static inline cudaError_t cudaEventQuery(cudaEvent_t event) {
  (void)event;
  return cudaSuccess;
}

static inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  (void)stream, (void)event, (void)flags;
  return cudaSuccess;
}

#endif /* SGEMM_CPU_CUDA_RUNTIME_H */
