/* device_cpu.h: what tests set and see of the devices of device_cpu.c. */
#ifndef SGEMM_HOST_DEVICE_CPU_H
#define SGEMM_HOST_DEVICE_CPU_H

#include <stdint.h>

/* When the work in a stream is done. A result must not depend on it. */
typedef enum sgemm_host__fake_order {
  SGEMM_HOST__FAKE_LATE,         /* when something waits for it, and no more than that */
  SGEMM_HOST__FAKE_EARLY_COPIES, /* copies at once, with what they wait for, multiplications late */
  SGEMM_HOST__FAKE_RANDOM        /* after each call, one entry of a stream chosen at random (`seed`) is executed */
} sgemm_host__fake_order;

/* The kinds of calls that can fail. */
typedef enum sgemm_host__fake_call {
  SGEMM_HOST__FAKE_DEVICE, /* set, get, count, free bytes */
  SGEMM_HOST__FAKE_ALLOC,
  SGEMM_HOST__FAKE_PIN,
  SGEMM_HOST__FAKE_STREAM,
  SGEMM_HOST__FAKE_EVENT,
  SGEMM_HOST__FAKE_RECORD,
  SGEMM_HOST__FAKE_WAIT,
  SGEMM_HOST__FAKE_SYNC,
  SGEMM_HOST__FAKE_COPY_IN,
  SGEMM_HOST__FAKE_COPY_OUT,
  SGEMM_HOST__FAKE_MULTIPLY,
  SGEMM_HOST__FAKE_CALLS
} sgemm_host__fake_call;

enum { SGEMM_HOST__FAKE_ERROR = 2999 }; /* the status of a call that fails */

typedef struct sgemm_host__fake {
  int devices;           /* GPUs of the machine */
  int64_t memory_bytes;  /* device memory of each GPU */
  int pinned;            /* 1: all host memory is pinned */
  const void *on_device; /* sgemm_host__memory_of() takes this pointer for device memory */
  int order;             /* sgemm_host__fake_order */
  uint64_t seed;
  int fail_call;     /* sgemm_host__fake_call */
  int64_t fail_at;   /* its call number 1, 2, ... fails, and so do all later ones; 0: none */
  int64_t query_us;  /* microseconds that a query of the free memory takes after it has read it */
  int fail_when_run; /* 1: a copy or multiplication fails when it is done, and what waits for it gets the error */
  /* What happened. */
  int64_t calls[SGEMM_HOST__FAKE_CALLS];
  int64_t copies_in, copies_out, bytes_in, bytes_out, multiplications;
  int64_t multiplications_of[16];             /* multiplications of each device */
  int64_t streams_of[16];                     /* streams that were made on each device */
  int64_t allocations, pins, streams, events; /* alive */
  int64_t bytes, most_bytes;                  /* device memory in use, and the largest allocation */
  int64_t bytes_of[16];                       /* device memory in use of each device */
  int64_t longest_queue;                      /* entries of a stream that waited at one time */
} sgemm_host__fake;
__attribute__((visibility("default"))) extern sgemm_host__fake sgemm_host__fake_state;

#endif /* SGEMM_HOST_DEVICE_CPU_H */
