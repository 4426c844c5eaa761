/* sgemm/launch/device_cpu.h: the device of the CPU model. */
#ifndef SGEMM_LAUNCH_DEVICE_CPU_H
#define SGEMM_LAUNCH_DEVICE_CPU_H

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

static sgemm_status sgemm__copy_word(uint32_t *to, const uint32_t *from, sgemm_stream stream) {
  (void)stream;
  *to = *from;
  return SGEMM_SUCCESS;
}

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
