/* sgemm/launch/device_none.h: no device, for SGEMM_HOST_ONLY. The calls that need one return
   SGEMM_ERROR_UNAVAILABLE. */
#ifndef SGEMM_LAUNCH_DEVICE_NONE_H
#define SGEMM_LAUNCH_DEVICE_NONE_H

const char *sgemm_error_string(sgemm_status status) { return sgemm_status_string(status); }

static sgemm_status sgemm__launch(int kernel, int ops, sgemm__grid grid, const void *args, sgemm_stream stream) {
  (void)kernel, (void)ops, (void)grid, (void)args, (void)stream;
  return SGEMM_ERROR_UNAVAILABLE;
}

static sgemm_status sgemm__allocate(void **memory, int64_t bytes, sgemm_stream stream) {
  (void)memory, (void)bytes, (void)stream;
  return SGEMM_ERROR_UNAVAILABLE;
}

static sgemm_status sgemm__free(void *memory, sgemm_stream stream) {
  (void)memory, (void)stream;
  return SGEMM_ERROR_UNAVAILABLE;
}

static sgemm_status sgemm__copy_word(uint32_t *to, const uint32_t *from, sgemm_stream stream) {
  (void)to, (void)from, (void)stream;
  return SGEMM_ERROR_UNAVAILABLE;
}

sgemm_status sgemm_release_workspaces(void) { return SGEMM_SUCCESS; } /* there are none */

static sgemm_status sgemm__set_zeros(void *memory, int64_t bytes, sgemm_stream stream) {
  (void)memory, (void)bytes, (void)stream;
  return SGEMM_ERROR_UNAVAILABLE;
}

typedef struct sgemm__timer {
  sgemm_stream stream;
} sgemm__timer;

typedef struct sgemm__sample {
  int runs;
} sgemm__sample;

enum { SGEMM__SAMPLE_RUNS = 1 };

static sgemm_status sgemm__open_timer(sgemm__timer *timer, sgemm_stream stream) {
  (void)timer, (void)stream;
  return SGEMM_ERROR_UNAVAILABLE;
}

static void sgemm__close_timer(sgemm__timer *timer) { (void)timer; }

static sgemm_status sgemm__begin_sample(sgemm__timer *timer) {
  (void)timer;
  return SGEMM_ERROR_UNAVAILABLE;
}

static sgemm_status sgemm__end_sample(sgemm__timer *timer, sgemm__sample *sample) {
  (void)timer, (void)sample;
  return SGEMM_ERROR_UNAVAILABLE;
}

static sgemm_status sgemm__time_sample(sgemm__timer *timer, sgemm__sample *sample, double *us) {
  (void)timer, (void)sample, (void)us;
  return SGEMM_ERROR_UNAVAILABLE;
}

static void sgemm__close_sample(sgemm__sample *sample) { (void)sample; }

sgemm_status sgemm_device_query(int device, sgemm_device *out) {
  (void)device, (void)out;
  return SGEMM_ERROR_UNAVAILABLE;
}

sgemm_status sgemm_kernel_resources(sgemm_variant variant, sgemm_op op_a, sgemm_op op_b, int *registers,
                                    int64_t *shared_bytes, int64_t *local_bytes) {
  (void)variant, (void)op_a, (void)op_b, (void)registers, (void)shared_bytes, (void)local_bytes;
  return SGEMM_ERROR_UNAVAILABLE;
}

#endif /* SGEMM_LAUNCH_DEVICE_NONE_H */
