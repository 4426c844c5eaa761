/* device.h: what the adapter itself does on the device. device.cu has it for CUDA; tests have a stand-in. */
#ifndef SGEMM_CUBLAS_DEVICE_H
#define SGEMM_CUBLAS_DEVICE_H

#include <stddef.h>

#include "sgemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory for results that nobody reads, and a clock of the stream. */
typedef struct sgemm_cublas__bench {
  float *C;
  void *begin, *end; /* cudaEvent_t */
  int capture_mode;  /* cudaStreamCaptureMode of the thread before */
  sgemm_stream stream;
} sgemm_cublas__bench;

/* Work that is timed: enqueues itself on the stream. Returns 1, or 0 after an error. */
typedef int sgemm_cublas__work(void *context);

typedef enum sgemm_cublas__opened {
  SGEMM_CUBLAS_BENCH_CAPTURED = -1, /* the stream is being captured, and no work may run now */
  SGEMM_CUBLAS_BENCH_FAILED = 0,    /* no memory, or another error */
  SGEMM_CUBLAS_BENCH_OPEN = 1
} sgemm_cublas__opened;

/* Gets `bytes` of memory on the current device, filled with zeros. Only an open bench is closed. */
sgemm_cublas__opened sgemm_cublas__bench_open(size_t bytes, sgemm_stream stream, sgemm_cublas__bench *bench);
void sgemm_cublas__bench_close(sgemm_cublas__bench *bench);

/* Runs the work `repeats` times in a row and waits for it. Returns the microseconds of one run on the stream, or a
   negative number after an error. */
double sgemm_cublas__bench_time(sgemm_cublas__bench *bench, sgemm_cublas__work *work, void *context, int repeats);

#ifdef __cplusplus
}
#endif

#endif /* SGEMM_CUBLAS_DEVICE_H */
