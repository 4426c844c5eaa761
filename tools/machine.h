/* machine.h: the memory of the backend of a tool or a test, so that one source serves both backends. MACHINE_CUDA=1:
   device memory of the CUDA runtime. Otherwise: host memory for the CPU model. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stddef.h>

#if defined(MACHINE_CUDA) && MACHINE_CUDA

#include <cuda_runtime_api.h>

static inline const char *machine_name(void) { return "GPU"; }

/* 1 if there is a device. */
static inline int machine_present(void) {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

/* Device memory, aligned to 256 bytes; NULL where there is not enough. */
static inline void *machine_alloc(size_t bytes) {
  void *p = NULL;
  return cudaMalloc(&p, bytes ? bytes : 1) == cudaSuccess ? p : NULL;
}

static inline void machine_free(void *p) { cudaFree(p); }

/* Sets each byte; 0 is success. */
static inline int machine_set(void *device, int byte, size_t bytes) {
  return cudaMemset(device, byte, bytes) != cudaSuccess;
}

/* machine_upload() and machine_download() wait for all earlier work; 0 is success. */
static inline int machine_upload(void *device, const void *host, size_t bytes) {
  return cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice) != cudaSuccess;
}

static inline int machine_download(void *host, const void *device, size_t bytes) {
  return cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost) != cudaSuccess;
}

/* Waits for all work; 0 is success, another value the first error of the work so far. */
static inline int machine_wait(void) { return (int)cudaDeviceSynchronize(); }

static inline const char *machine_error(int error) { return cudaGetErrorString((cudaError_t)error); }

#else

#include <stdlib.h>
#include <string.h>

static inline const char *machine_name(void) { return "CPU model"; }
static inline int machine_present(void) { return 1; }

static inline void *machine_alloc(size_t bytes) { return aligned_alloc(256, (bytes + 256) / 256 * 256); }
static inline void machine_free(void *p) { free(p); }

static inline int machine_set(void *device, int byte, size_t bytes) {
  memset(device, byte, bytes);
  return 0;
}

static inline int machine_upload(void *device, const void *host, size_t bytes) {
  memcpy(device, host, bytes);
  return 0;
}

static inline int machine_download(void *host, const void *device, size_t bytes) {
  memcpy(host, device, bytes);
  return 0;
}

static inline int machine_wait(void) { return 0; }

static inline const char *machine_error(int error) {
  (void)error;
  return "none";
}

#endif
#endif
