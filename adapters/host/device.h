/* device.h: what the host adapter does on a device. device_cuda.c has the functions for CUDA, device_cpu.c has them for
   the CPU model. A status is a sgemm_status. All but the functions on devices and host memory work on the device of
   the calling thread. */
#ifndef SGEMM_HOST_DEVICE_H
#define SGEMM_HOST_DEVICE_H

#include "sgemm.h"

typedef void *sgemm_host__stream;
typedef void *sgemm_host__event;

typedef enum sgemm_host__memory {
  SGEMM_HOST__PAGEABLE, /* copies go through staging memory */
  SGEMM_HOST__PINNED,   /* the device copies from it and to it */
  SGEMM_HOST__DEVICE    /* not host memory */
} sgemm_host__memory;

/* A rectangle of bytes and its copy. Pitches are bytes from a row to the next. */
typedef struct sgemm_host__copy {
  char *to;
  size_t to_pitch;
  const char *from;
  size_t from_pitch, width;
  int64_t rows;
} sgemm_host__copy;

int sgemm_host__device_count(int *count);
int sgemm_host__device_get(int *device);
int sgemm_host__device_set(int device);
int sgemm_host__device_free_bytes(int64_t *bytes);

int sgemm_host__alloc(void **memory, int64_t bytes);
void sgemm_host__free(void *memory);
int sgemm_host__pin(void **memory, int64_t bytes); /* pinned host memory, for every device */
void sgemm_host__unpin(void *memory);

/* The kind of the `bytes` bytes of host memory at p. Memory that is pinned in part is pageable. */
sgemm_host__memory sgemm_host__memory_of(const void *p, int64_t bytes);

int sgemm_host__stream_make(sgemm_host__stream *stream);
void sgemm_host__stream_drop(sgemm_host__stream stream);
int sgemm_host__stream_sync(sgemm_host__stream stream);
int sgemm_host__event_make(sgemm_host__event *event);
void sgemm_host__event_drop(sgemm_host__event event);
int sgemm_host__event_record(sgemm_host__event event, sgemm_host__stream stream);
int sgemm_host__event_sync(sgemm_host__event event);
int sgemm_host__event_wait(sgemm_host__event event, sgemm_host__stream stream); /* the stream waits, not the host */

int sgemm_host__copy_in(const sgemm_host__copy *copy, sgemm_host__stream stream);  /* from pinned memory */
int sgemm_host__copy_out(const sgemm_host__copy *copy, sgemm_host__stream stream); /* to pinned memory */
int sgemm_host__multiply(const sgemm_params *p, sgemm_host__stream stream);
int64_t sgemm_host__workspace(const sgemm_params *p); /* useful bytes of workspace; 0 if the device does not say */

#endif /* SGEMM_HOST_DEVICE_H */
