/* A driver API whose GPU is the CPU model, as libcuda.so.1 for examples/nvrtc.c: a module has the kernels of the CPU
   model, whatever its image holds. An image must have the name of each kernel that is asked for. */
#include <cuda.h>
#include <stdlib.h>
#include <string.h>

#define SGEMM_IMPLEMENTATION
#include "sgemm.h"

/* The kernels by name. */
#define PAIR(name) {#name, name},
#define PAIR_OF(name) PAIR(name)
#define NAMED(stage, name, ...) PAIR_OF(name)
#define ROW(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, blocks, production, reason)                           \
  SGEMM__IF(SGEMM__ENABLED(stage, production))                                                                         \
  (SGEMM__KERNELS(stage, BM, BN, BK, TM, TN)(NAMED, stage, SGEMM__NAME(stage, BM, BN, BK, TM, TN), 0))
#define FORMAT(format, terms, idea) PAIR_OF(SGEMM__CAT(sgemm_split_, format))
#define TENSOR(engine, format, BM, BN, ...) PAIR_OF(SGEMM__TENSOR_NAME(engine, format, BM, BN))
typedef struct named_kernel {
  const char *name;
  sgemm__kernel kernel;
} named_kernel;
static const named_kernel kernels[] = {PAIR(sgemm_pack) PAIR(sgemm_reduce_split_k) PAIR(sgemm_reduce_stream_k)
                                           PAIR(sgemm_apply_epilogue) PAIR(sgemm_split_fallback) SGEMM_VARIANTS(ROW)
                                               SGEMM_FORMATS(FORMAT) SGEMM_TENSOR_VARIANTS(TENSOR)};

static int opted_in; /* bytes of dynamic shared memory that the last cuFuncSetAttribute() allowed */

CUresult cuInit(unsigned flags) {
  const sgemm_model model = {SGEMM_MODEL_FORWARD, 0, 0, 6};
  sgemm_model_set(&model);
  return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = error == CUDA_ERROR_LAUNCH_FAILED ? sgemm_model_error() : "an error of the stand-in";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int number) {
  *device = number;
  return number == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  (void)device;
  snprintf(name, (size_t)size, "CPU model");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  (void)device;
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR               ? 9
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR             ? 0
           : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT                 ? 6
           : attribute == CU_DEVICE_ATTRIBUTE_CLOCK_RATE                           ? 1980000
           : attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN    ? 227 << 10
           : attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR ? 228 << 10
           : attribute == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR       ? 2048
           : attribute == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE                    ? 3201000
           : attribute == CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH              ? 6016
           : attribute == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE                        ? 60 << 20
                                                                                   : 1024;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  (void)device;
  *context = (CUcontext)1;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return context == (CUcontext)1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  const size_t bytes = strlen((const char *)image) + 1; /* PTX */
  char *copy = (char *)malloc(bytes);
  memcpy(copy, image, bytes);
  *module = (CUmodule)copy;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  char entry[128];
  size_t i;
  snprintf(entry, sizeof entry, ".entry %s(", name);
  for (i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (strcmp(kernels[i].name, name) == 0 && strstr((const char *)module, entry) != NULL) {
      *function = (CUfunction)&kernels[i];
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  (void)function;
  opted_in = value;
  return attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemAlloc(CUdeviceptr *memory, size_t bytes) {
  *memory = (CUdeviceptr)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *memory != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFree(CUdeviceptr memory) {
  free((void *)(uintptr_t)memory);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
  memcpy((void *)(uintptr_t)to, from, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
  memcpy(to, (void *)(uintptr_t)from, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t bytes) {
  memset((void *)(uintptr_t)to, value, bytes);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) { return stream == NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *first,
                                const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                CUtensorMapFloatOOBfill fill) {
  memset(map, 0x77, sizeof *map);
  return type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 && rank == 3 && first != NULL && sizes[0] > 0 &&
                 strides[0] % 16 == 0 && box[0] == 32 && element_strides[0] == 1 &&
                 interleave == CU_TENSOR_MAP_INTERLEAVE_NONE && swizzle == CU_TENSOR_MAP_SWIZZLE_128B &&
                 promotion == CU_TENSOR_MAP_L2_PROMOTION_L2_256B && fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params, void **extra) {
  const named_kernel *kernel = (const named_kernel *)function;
  const int tma = strncmp(kernel->name, "sgemm_tma", 9) == 0;
  sgemm__grid grid = {config->gridDimX,      config->gridDimY, config->gridDimZ, config->blockDimX, 1,
                      config->sharedMemBytes};
  unsigned i;
  if (params == NULL || extra != NULL || (config->sharedMemBytes > 48 * 1024 && opted_in < (int)config->sharedMemBytes))
    return CUDA_ERROR_INVALID_VALUE;
  for (i = 0; i < config->numAttrs; i++)
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      grid.cluster = config->attrs[i].value.clusterDim.x;
  for (i = 1; tma && i < 3; i++)
    if (((const unsigned char *)params[i])[0] != 0x77 || ((const unsigned char *)params[i])[127] != 0x77)
      return CUDA_ERROR_INVALID_VALUE; /* without the two tensor maps */
  opted_in = 0;
  return sgemm__cpu_launch(kernel->kernel, grid, params[0]) == SGEMM_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}
