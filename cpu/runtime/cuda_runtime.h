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

typedef enum cudaError { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2 } cudaError_t;

enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};

typedef struct CUstream_st *cudaStream_t; /* the type sgemm_stream of sgemm.h */

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

/* For 0 bytes the pointer is NULL, as with the toolkit. memcpy() stores it, because callers cast a float ** to void **.
   */
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

static inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  free(stream);
  return cudaSuccess;
}

static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  (void)stream;
  return cudaSuccess;
}

#endif /* SGEMM_CPU_CUDA_RUNTIME_H */
