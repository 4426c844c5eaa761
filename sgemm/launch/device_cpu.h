/* sgemm/launch/device_cpu.h: the device of the CPU model. */
#ifndef SGEMM_LAUNCH_DEVICE_CPU_H
#define SGEMM_LAUNCH_DEVICE_CPU_H

#include <time.h>

const char *sgemm_error_string(sgemm_status status) { return sgemm_status_string(status); }

static sgemm_status sgemm__launch(int kernel, int ops, sgemm__grid grid, const void *args, sgemm_stream stream) {
  (void)stream; /* the CPU model completes a launch before it returns */
  return sgemm__cpu_launch(sgemm__kernel_of(kernel, ops), grid, args);
}

/* Every byte of new memory is 0xff: a float that nothing has written is NaN. */
static sgemm_status sgemm__allocate(void **memory, int64_t bytes, sgemm_stream stream) {
  const int64_t alignment = 256;
  (void)stream;
  *memory = bytes > INT64_MAX - alignment
                ? NULL
                : aligned_alloc((size_t)alignment, (size_t)(sgemm__ceil_div(bytes, alignment) * alignment));
  if (*memory == NULL)
    return SGEMM_ERROR_WORKSPACE;
  memset(*memory, 0xff, (size_t)bytes);
  return SGEMM_SUCCESS;
}

static sgemm_status sgemm__free(void *memory, sgemm_stream stream) {
  (void)stream;
  free(memory);
  return SGEMM_SUCCESS;
}

sgemm_status sgemm_release_workspaces(void) { return SGEMM_SUCCESS; } /* the CPU model keeps none */

static sgemm_status sgemm__set_zeros(void *memory, int64_t bytes, sgemm_stream stream) {
  (void)stream;
  memset(memory, 0, (size_t)bytes);
  return SGEMM_SUCCESS;
}

static sgemm_status sgemm__copy_word(uint32_t *to, const uint32_t *from, sgemm_stream stream) {
  (void)stream;
  *to = *from;
  return SGEMM_SUCCESS;
}

/* ---- Timing for sgemm_tune() ------------------------------------------------------------------------------------- */

typedef struct sgemm__timer {
  sgemm_stream stream;
  clock_t begin;
} sgemm__timer;

typedef struct sgemm__sample {
  int runs;
  double us; /* microseconds of a run */
} sgemm__sample;

enum { SGEMM__SAMPLE_RUNS = 1 }; /* runs of a sample, at most */

/* The model's time is the processor time of the host. It tells nothing of a GPU. */
static sgemm_status sgemm__open_timer(sgemm__timer *timer, sgemm_stream stream) {
  timer->stream = stream;
  return SGEMM_SUCCESS;
}

static void sgemm__close_timer(sgemm__timer *timer) { (void)timer; }

static sgemm_status sgemm__begin_sample(sgemm__timer *timer) {
  timer->begin = clock();
  return SGEMM_SUCCESS;
}

static sgemm_status sgemm__end_sample(sgemm__timer *timer, sgemm__sample *sample) {
  sample->us = 1e6 * (double)(clock() - timer->begin) / CLOCKS_PER_SEC / sample->runs;
  return SGEMM_SUCCESS;
}

static sgemm_status sgemm__time_sample(sgemm__timer *timer, sgemm__sample *sample, double *us) {
  (void)timer;
  *us = sample->us;
  return SGEMM_SUCCESS;
}

static void sgemm__close_sample(sgemm__sample *sample) { (void)sample; }

/* ---- The device -------------------------------------------------------------------------------------------------- */

/* An sm_90a device, or with SGEMM_CPU_SM90=1 one of sm_90 without the letter, with nominal values and the number of SMs
   of sgemm_model_set(). */
sgemm_status sgemm_device_query(int device, sgemm_device *out) {
  static const sgemm_device model = {"CPU model", 9,     0,          90,         1,    1,       128,   1000,  2048,
                                     32,          65536, 228 * 1024, 227 * 1024, 1024, 1 << 20, 256.0, 100.0, 16};
  if (device > 0)
    return SGEMM_ERROR_UNAVAILABLE;
  memcpy(out, &model, sizeof model); /* with its padding, so that two answers have the same bytes */
  out->has_sm90a_code = SGEMM__HAS_SM90A;
  out->multiprocessors = sgemm__cpu_model.multiprocessors > 0 ? sgemm__cpu_model.multiprocessors : 1;
  out->peak_gflops *= out->multiprocessors;
  return SGEMM_SUCCESS;
}

sgemm_status sgemm_kernel_resources(sgemm_variant variant, sgemm_op op_a, sgemm_op op_b, int *registers,
                                    int64_t *shared_bytes, int64_t *local_bytes) {
  (void)variant, (void)op_a, (void)op_b, (void)registers, (void)shared_bytes, (void)local_bytes;
  return SGEMM_ERROR_UNAVAILABLE;
}

#endif /* SGEMM_LAUNCH_DEVICE_CPU_H */
