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
