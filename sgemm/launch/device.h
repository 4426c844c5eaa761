/* sgemm/launch/device.h: what the launch sequences ask of a device. sgemm/launch/device_cuda.h does it with the CUDA
   runtime, sgemm/launch/device_cpu.h on the CPU model. */
#ifndef SGEMM_LAUNCH_DEVICE_H
#define SGEMM_LAUNCH_DEVICE_H

/* Launches a compiled kernel, of a variant that for ops = 2 * (A transposed) + (B transposed). args: of the kernel's
   type. */
static sgemm_status sgemm__launch(int kernel, int ops, sgemm__grid grid, const void *args, sgemm_stream stream);

/* Copies a word between any two memories, in stream order. */
static sgemm_status sgemm__copy_word(uint32_t *to, const uint32_t *from, sgemm_stream stream);

#endif /* SGEMM_LAUNCH_DEVICE_H */
