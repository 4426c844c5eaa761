/* sgemm/launch/device.h: the functions of a device that the launch sequences call. sgemm/launch/device_cuda.h
   implements them with the CUDA runtime, sgemm/launch/device_cpu.h on the CPU model. sgemm/launch/device_none.h has no
   device. Each of the three also defines the functions that sgemm/launch/tune.h declares, and four calls of sgemm.h:
   sgemm_device_query(), sgemm_kernel_resources(), sgemm_error_string() and sgemm_release_workspaces(). */
#ifndef SGEMM_LAUNCH_DEVICE_H
#define SGEMM_LAUNCH_DEVICE_H

/* Launches a compiled kernel. kernel: a variant, or a number of sgemm/args.h. ops: for a variant
   sgemm__kernel_number(), else 0. args: a struct of the kernel's parameter type. */
static sgemm_status sgemm__launch(int kernel, int ops, sgemm__grid grid, const void *args, sgemm_stream stream);

/* Allocates and frees device memory in stream order, from a memory pool that keeps it. bytes > 0; the memory is aligned
   to 256 bytes. SGEMM_ERROR_WORKSPACE: there is no memory. */
static sgemm_status sgemm__allocate(void **memory, int64_t bytes, sgemm_stream stream);
static sgemm_status sgemm__free(void *memory, sgemm_stream stream);

/* Copies a word in stream order. to, from: host or device memory. */
static sgemm_status sgemm__copy_word(uint32_t *to, const uint32_t *from, sgemm_stream stream);

#endif /* SGEMM_LAUNCH_DEVICE_H */
