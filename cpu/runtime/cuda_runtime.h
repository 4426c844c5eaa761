/* cpu/runtime/cuda_runtime.h: a stand-in for the CUDA runtime's header, so that a program written for a GPU runs on the
   CPU model without a change: compile it with -Icpu/runtime and link cpu/sgemm.c. It has the calls and types that
   examples/ uses, with the toolkit's names and signatures, and nothing else.

   Device memory is host memory, aligned to 256 bytes as cudaMalloc() aligns it. There is one device. A call of the CPU
   model ends before it returns, so every copy is complete when it returns, a stream is a name without a queue, and
   there is never anything to wait for. */
#ifndef SGEMM_CPU_CUDA_RUNTIME_H
#define SGEMM_CPU_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef enum cudaError { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2 } cudaError_t;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};

typedef struct CUstream_st *cudaStream_t; /* sgemm_stream of sgemm.h */

static inline const char *cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : error == cudaErrorMemoryAllocation ? "out of memory" : "invalid argument";
}

/* ---- Device ------------------------------------------------------------------------------------------------------ */

static inline cudaError_t cudaGetDeviceCount(int *count) {
  *count = 1;
  return cudaSuccess;
}

static inline cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* 0 bytes give NULL, as with the toolkit. memcpy() stores the address, since callers pass a float ** as void **. */
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

/* The stream is a byte of memory: a pointer that is not NULL. */
static inline cudaError_t cudaStreamCreate(cudaStream_t *stream) {
  *stream = (cudaStream_t)malloc(1);
  return *stream != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

static inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  free(stream);
  return cudaSuccess;
}

static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  (void)stream;
  return cudaSuccess;
}

#endif /* SGEMM_CPU_CUDA_RUNTIME_H */
