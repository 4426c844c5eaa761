/* fake_device.c: device.h of the cuBLAS adapter on the host, for tests with matrices in host memory. A bench has a
   clock of its own: work that calls fake_device_us() takes these microseconds, and other work takes FAKE_CUBLAS_US. */
#include "adapters/cublas/device.h"

#include <stdlib.h>

enum { FAKE_CUBLAS_US = 300 };

typedef struct fake_device_record {
  int benches, open;       /* calls; benches that are not closed */
  int captured, no_memory; /* 1: a bench cannot be opened */
  size_t bytes;            /* of the last bench */
  double us;               /* time of the work that runs */
} fake_device_record;
fake_device_record fake_device;

void fake_device_us(double us);
void fake_device_us(double us) { fake_device.us += us; }

sgemm_cublas__opened sgemm_cublas__bench_open(size_t bytes, sgemm_stream stream, sgemm_cublas__bench *bench) {
  if (fake_device.captured)
    return SGEMM_CUBLAS_BENCH_CAPTURED;
  if (fake_device.no_memory)
    return SGEMM_CUBLAS_BENCH_FAILED;
  fake_device.benches++;
  fake_device.open++;
  fake_device.bytes = bytes;
  bench->C = (float *)calloc(1, bytes);
  bench->stream = stream;
  return SGEMM_CUBLAS_BENCH_OPEN;
}

void sgemm_cublas__bench_close(sgemm_cublas__bench *bench) {
  fake_device.open--;
  free(bench->C);
}

double sgemm_cublas__bench_time(sgemm_cublas__bench *bench, sgemm_cublas__work *work, void *context, int repeats) {
  int i;
  (void)bench;
  fake_device.us = 0.0;
  for (i = 0; i < repeats; i++)
    if (!work(context))
      return -1.0;
  return fake_device.us > 0.0 ? fake_device.us / repeats : (double)FAKE_CUBLAS_US;
}
