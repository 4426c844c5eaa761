/* sgemm/launch/device_cuda.h: device properties, tensor maps and kernel launches by the CUDA runtime. */
#ifndef SGEMM_LAUNCH_DEVICE_CUDA_H
#define SGEMM_LAUNCH_DEVICE_CUDA_H

static sgemm_status sgemm__status_of(cudaError_t error) {
  return error == cudaSuccess ? SGEMM_SUCCESS : (sgemm_status)(SGEMM_ERROR_CUDA + (int)error);
}

const char *sgemm_error_string(sgemm_status status) {
  const int error = sgemm_cuda_error(status);
  return error != 0 ? cudaGetErrorString((cudaError_t)error) : sgemm_status_string(status);
}

/* ---- Device properties ------------------------------------------------------------------------------------------- */

/* Cached properties of each device, so that a call queries the runtime only for the number of the current device. Host
   threads may use the cache at the same time: the first to claim a device's entry fills it; until then the others query
   the properties themselves. */
enum { SGEMM__DEVICES = 64 }; /* cached devices; properties of further devices are queried in each call */
enum { SGEMM__UNKNOWN, SGEMM__CLAIMED, SGEMM__KNOWN };
static struct {
  int state;
  sgemm_device device;
  unsigned char ready[SGEMM__KERNEL_COUNT]; /* bit `ops` is 1: the opt-ins of the kernel are done */
  cudaMemPool_t pool;                       /* for SGEMM_WORKSPACE_AUTO; NULL: not created yet */
} sgemm__devices[SGEMM__DEVICES];

/* fp32 FMA lanes of an SM (CUDA C++ Programming Guide, "Arithmetic Instructions"). */
static int sgemm__lanes(int major, int minor) {
  return (major == 6 && minor == 0) || major == 7 || (major == 8 && minor == 0) ? 64 : 128;
}

/* Opt-ins of a kernel: more than 48 KiB of dynamic shared memory, and clusters of more than 8 blocks (CUDA C++
   Programming Guide, "Shared Memory" and "Thread Block Clusters"). */
static cudaError_t sgemm__opt_in(const void *kernel, int64_t shared, int large_clusters) {
  cudaError_t error = cudaSuccess;
  if (shared > 48 * 1024)
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
  if (error == cudaSuccess && large_clusters)
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  return error;
}

/* code_arch and has_sm90a_code of the current device. Only code for sm_90a has launch bounds of the stage tma with a
   producer warpgroup. */
static cudaError_t sgemm__read_code(sgemm_device *out) {
  struct cudaFuncAttributes attributes;
  int i;
  cudaError_t error = cudaFuncGetAttributes(&attributes, (const void *)sgemm_reduce_split_k);
  if (error != cudaSuccess)
    return error;
  out->code_arch = attributes.ptxVersion;
  out->has_sm90a_code = 0;
  for (i = 0; i < SGEMM_VARIANT_COUNT; i++)
    if (sgemm__variant_get((sgemm_variant)i)->uses_tma && sgemm_compiled((sgemm_variant)i)) {
      error = cudaFuncGetAttributes(&attributes, sgemm__kernels[i][0]);
      out->has_sm90a_code = error == cudaSuccess &&
                            attributes.maxThreadsPerBlock >= sgemm__variant_get((sgemm_variant)i)->threads;
      break;
    }
  return error;
}

/* cluster_limit of the current device. Clusters of more than 8 blocks run only where a GPC has enough SMs. The variant
   whose blocks have the most shared memory answers for all. */
static void sgemm__read_cluster_limit(sgemm_device *out) {
  const sgemm_variant_info *v = NULL;
  const void *kernel = NULL;
  cudaLaunchAttribute attribute;
  cudaLaunchConfig_t config;
  int i, clusters = 0;
  for (i = 0; i < SGEMM_VARIANT_COUNT && out->code_arch >= 90; i++) {
    const sgemm_variant_info *other = sgemm__variant_get((sgemm_variant)i);
    if (other->cluster_split_k && sgemm_compiled((sgemm_variant)i) && (v == NULL || other->shared > v->shared)) {
      v = other;
      kernel = sgemm__kernels[i][0];
    }
  }
  if (v == NULL)
    return;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = SGEMM__CLUSTER_LIMIT;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.gridDim = dim3(SGEMM__CLUSTER_LIMIT);
  config.blockDim = dim3((unsigned)sgemm_variant_threads(v, out));
  config.dynamicSmemBytes = (size_t)v->shared;
  config.stream = NULL;
  config.attrs = &attribute;
  config.numAttrs = 1;
  if (sgemm__opt_in(kernel, v->shared, 1) == cudaSuccess &&
      cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) == cudaSuccess && clusters > 0)
    out->cluster_limit = SGEMM__CLUSTER_LIMIT;
  else
    (void)cudaGetLastError(); /* clusters of 8 remain: the caller does not see the error */
}

static cudaError_t sgemm__read_device(int device, sgemm_device *out) {
  struct cudaDeviceProp prop;
  int current, clock_khz, memory_khz, bus_bits;
  cudaError_t error = cudaGetDeviceProperties(&prop, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, device);
  if (error == cudaSuccess)
    error = cudaGetDevice(&current);
  if (error != cudaSuccess)
    return error;
  memset(out, 0, sizeof *out);
  snprintf(out->name, sizeof out->name, "%.63s", prop.name);
  out->major = prop.major;
  out->minor = prop.minor;
  out->multiprocessors = prop.multiProcessorCount;
  out->lanes = sgemm__lanes(prop.major, prop.minor);
  out->clock_mhz = clock_khz / 1000;
  out->threads_per_sm = prop.maxThreadsPerMultiProcessor;
  out->blocks_per_sm = prop.maxBlocksPerMultiProcessor;
  out->registers_per_sm = prop.regsPerMultiprocessor;
  out->shared_per_sm = (int64_t)prop.sharedMemPerMultiprocessor;
  out->shared_per_block = (int64_t)prop.sharedMemPerBlockOptin;
  out->shared_reserved = (int64_t)prop.reservedSharedMemPerBlock;
  out->l2_bytes = prop.l2CacheSize;
  out->peak_gflops = 2.0 * out->lanes * out->multiprocessors * clock_khz * 1e-6;
  out->bandwidth_gbs = 2.0 * memory_khz * bus_bits / 8 * 1e-6;
  if (device != current)
    return cudaSuccess;
  error = sgemm__read_code(out);
  if (error == cudaSuccess)
    sgemm__read_cluster_limit(out);
  return error;
}

/* The current device: its number, and a pointer to its cached properties, or to `own` if they are not cached. */
static cudaError_t sgemm__current_device(int *device, const sgemm_device **properties, sgemm_device *own) {
  int unknown = SGEMM__UNKNOWN;
  cudaError_t error = cudaGetDevice(device);
  *properties = own;
  if (error != cudaSuccess)
    return error;
  if (*device < SGEMM__DEVICES && __atomic_load_n(&sgemm__devices[*device].state, __ATOMIC_ACQUIRE) == SGEMM__KNOWN) {
    *properties = &sgemm__devices[*device].device;
    return cudaSuccess;
  }
  error = sgemm__read_device(*device, own);
  if (error == cudaSuccess && *device < SGEMM__DEVICES &&
      __atomic_compare_exchange_n(&sgemm__devices[*device].state, &unknown, SGEMM__CLAIMED, 0, __ATOMIC_ACQ_REL,
                                  __ATOMIC_RELAXED)) {
    sgemm__devices[*device].device = *own;
    __atomic_store_n(&sgemm__devices[*device].state, SGEMM__KNOWN, __ATOMIC_RELEASE);
  }
  return error;
}

sgemm_status sgemm_device_query(int device, sgemm_device *out) {
  const sgemm_device *properties;
  sgemm_device own;
  int current;
  cudaError_t error = sgemm__current_device(&current, &properties, &own);
  if (error == cudaSuccess && device >= 0 && device != current)
    return sgemm__status_of(sgemm__read_device(device, out));
  if (error == cudaSuccess)
    *out = *properties;
  return sgemm__status_of(error);
}

sgemm_status sgemm_kernel_resources(sgemm_variant variant, sgemm_op op_a, sgemm_op op_b, int *registers,
                                    int64_t *shared_bytes, int64_t *local_bytes) {
  const sgemm_variant_info *v = sgemm__variant_get(variant);
  struct cudaFuncAttributes attributes;
  cudaError_t error;
  int number;
  if (!sgemm_compiled(variant))
    return SGEMM_ERROR_NOT_COMPILED;
  number = sgemm__kernel_number(v, op_a != SGEMM_N, op_b != SGEMM_N);
  error = cudaFuncGetAttributes(&attributes, sgemm__kernels[variant][number]);
  if (error != cudaSuccess)
    return sgemm__status_of(error);
  *registers = attributes.numRegs;
  *shared_bytes = (int64_t)attributes.sharedSizeBytes + v->shared;
  *local_bytes = (int64_t)attributes.localSizeBytes;
  return SGEMM_SUCCESS;
}

/* ---- Workspaces of SGEMM_WORKSPACE_AUTO -------------------------------------------------------------------------- */

/* A new memory pool of a device. It keeps freed memory until sgemm_release_workspaces(). While a stream is captured,
   the runtime refuses to create a pool, unless the mode of the thread is relaxed (CUDA Runtime API,
   "cudaThreadExchangeStreamCaptureMode"). */
static cudaError_t sgemm__new_pool(int device, cudaMemPool_t *pool) {
  enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaMemPoolProps props;
  uint64_t keep = UINT64_MAX;
  cudaError_t error = cudaThreadExchangeStreamCaptureMode(&mode);
  if (error != cudaSuccess)
    return error;
  memset(&props, 0, sizeof props);
  props.allocType = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = device;
  error = cudaMemPoolCreate(pool, &props);
  if (error == cudaSuccess) {
    error = cudaMemPoolSetAttribute(*pool, cudaMemPoolAttrReleaseThreshold, &keep);
    if (error != cudaSuccess)
      (void)cudaMemPoolDestroy(*pool);
  }
  (void)cudaThreadExchangeStreamCaptureMode(&mode); /* back to the mode that the thread had */
  return error;
}

/* The current device and its pool; NULL: it has none yet. Devices whose properties are not cached use their default
   pool. */
static cudaError_t sgemm__pool_if_any(int *device, cudaMemPool_t *pool) {
  const cudaError_t error = cudaGetDevice(device);
  if (error != cudaSuccess || *device >= SGEMM__DEVICES)
    return error != cudaSuccess ? error : cudaDeviceGetDefaultMemPool(pool, *device);
  *pool = __atomic_load_n(&sgemm__devices[*device].pool, __ATOMIC_ACQUIRE);
  return cudaSuccess;
}

/* The pool of the current device. If several host threads create a pool at the same time, the first stores its own, and
   the others destroy theirs. */
static cudaError_t sgemm__pool(cudaMemPool_t *pool) {
  cudaMemPool_t none = NULL;
  int device;
  cudaError_t error = sgemm__pool_if_any(&device, pool);
  if (error != cudaSuccess || *pool != NULL)
    return error;
  error = sgemm__new_pool(device, pool);
  if (error == cudaSuccess &&
      !__atomic_compare_exchange_n(&sgemm__devices[device].pool, &none, *pool, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    error = cudaMemPoolDestroy(*pool);
    *pool = none;
  }
  return error;
}

static sgemm_status sgemm__allocate(void **memory, int64_t bytes, sgemm_stream stream) {
  cudaMemPool_t pool;
  cudaError_t error = sgemm__pool(&pool);
  if (error == cudaSuccess)
    error = cudaMallocFromPoolAsync(memory, (size_t)bytes, pool, stream);
  if (error == cudaErrorMemoryAllocation || error == cudaErrorNotSupported) {
    (void)cudaGetLastError(); /* the call goes on without: the caller does not see the error */
    return SGEMM_ERROR_WORKSPACE;
  }
  return sgemm__status_of(error);
}

static sgemm_status sgemm__free(void *memory, sgemm_stream stream) {
  return sgemm__status_of(cudaFreeAsync(memory, stream));
}

sgemm_status sgemm_release_workspaces(void) {
  cudaMemPool_t pool;
  int device;
  cudaError_t error = sgemm__pool_if_any(&device, &pool);
  if (error == cudaSuccess && pool != NULL)
    error = cudaMemPoolTrimTo(pool, 0);
  return sgemm__status_of(error);
}

static sgemm_status sgemm__set_zeros(void *memory, int64_t bytes, sgemm_stream stream) {
  return sgemm__status_of(cudaMemsetAsync(memory, 0, (size_t)bytes, stream));
}

/* ---- Timing for sgemm_tune() ------------------------------------------------------------------------------------- */

/* A sample is a graph, so that no host stands between its launches. */
typedef struct sgemm__sample {
  int runs;
  cudaGraphExec_t graph;
} sgemm__sample;

enum { SGEMM__SAMPLE_RUNS = 64 }; /* runs of a sample, at most: a graph has a node for each launch */

typedef struct sgemm__timer {
  sgemm_stream stream; /* its own: the default stream cannot be captured */
  cudaEvent_t begin, end;
  enum cudaStreamCaptureMode mode; /* capture mode that the host thread had before */
} sgemm__timer;

/* Waits for the work of the timer. What could not be created is NULL. */
static void sgemm__close_timer(sgemm__timer *timer) {
  if (timer->stream != NULL) {
    (void)cudaStreamSynchronize(timer->stream);
    (void)cudaStreamDestroy(timer->stream);
  }
  if (timer->begin != NULL)
    (void)cudaEventDestroy(timer->begin);
  if (timer->end != NULL)
    (void)cudaEventDestroy(timer->end);
  (void)cudaThreadExchangeStreamCaptureMode(&timer->mode);
}

/* The work of the timer follows that of the caller's stream. The capture mode of the thread is relaxed, so that a
   capture by another thread goes on (CUDA Runtime API, "cudaThreadExchangeStreamCaptureMode"). The error for a stream
   that is being captured is cudaErrorStreamCaptureUnsupported. */
static sgemm_status sgemm__open_timer(sgemm__timer *timer, sgemm_stream stream) {
  enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  cudaError_t error = cudaStreamIsCapturing(stream, &capture);
  if (error == cudaSuccess && capture != cudaStreamCaptureStatusNone)
    error = cudaErrorStreamCaptureUnsupported;
  timer->stream = NULL;
  timer->begin = timer->end = NULL;
  timer->mode = cudaStreamCaptureModeRelaxed;
  if (error == cudaSuccess)
    error = cudaThreadExchangeStreamCaptureMode(&timer->mode);
  if (error != cudaSuccess)
    return sgemm__status_of(error);
  error = cudaStreamCreateWithFlags(&timer->stream, cudaStreamNonBlocking);
  if (error == cudaSuccess)
    error = cudaEventCreate(&timer->begin);
  if (error == cudaSuccess)
    error = cudaEventCreate(&timer->end);
  if (error == cudaSuccess)
    error = cudaEventRecord(timer->begin, stream);
  if (error == cudaSuccess)
    error = cudaStreamWaitEvent(timer->stream, timer->begin, 0);
  if (error != cudaSuccess)
    sgemm__close_timer(timer);
  return sgemm__status_of(error);
}

static sgemm_status sgemm__begin_sample(sgemm__timer *timer) {
  return sgemm__status_of(cudaStreamBeginCapture(timer->stream, cudaStreamCaptureModeRelaxed));
}

static sgemm_status sgemm__end_sample(sgemm__timer *timer, sgemm__sample *sample) {
  cudaGraph_t graph = NULL;
  cudaError_t error = cudaStreamEndCapture(timer->stream, &graph);
  if (error == cudaSuccess)
    error = cudaGraphInstantiate(&sample->graph, graph, 0);
  if (graph != NULL)
    (void)cudaGraphDestroy(graph);
  return sgemm__status_of(error);
}

static sgemm_status sgemm__time_sample(sgemm__timer *timer, sgemm__sample *sample, double *us) {
  float ms = 0.0f;
  cudaError_t error = cudaEventRecord(timer->begin, timer->stream);
  if (error == cudaSuccess)
    error = cudaGraphLaunch(sample->graph, timer->stream);
  if (error == cudaSuccess)
    error = cudaEventRecord(timer->end, timer->stream);
  if (error == cudaSuccess)
    error = cudaEventSynchronize(timer->end);
  if (error == cudaSuccess)
    error = cudaEventElapsedTime(&ms, timer->begin, timer->end);
  *us = 1e3 * (double)ms / sample->runs;
  return sgemm__status_of(error);
}

static void sgemm__close_sample(sgemm__sample *sample) { (void)cudaGraphExecDestroy(sample->graph); }

/* ---- Launch ------------------------------------------------------------------------------------------------------ */

/* The opt-ins of a kernel, once for each device. */
static cudaError_t sgemm__prepare_kernel(int device, const sgemm_device *properties, int kernel, int ops,
                                         const sgemm__grid *grid) {
  const sgemm_variant_info *v = sgemm__variant_get((sgemm_variant)kernel); /* NULL for kernels beside strict variants */
  unsigned char *ready = device < SGEMM__DEVICES ? &sgemm__devices[device].ready[kernel] : NULL;
  const int needed = grid->shared > 48 * 1024 || grid->cluster > (unsigned)SGEMM__PORTABLE_CLUSTER;
  cudaError_t error;
  if (!needed || (ready != NULL && (__atomic_load_n(ready, __ATOMIC_RELAXED) >> ops & 1)))
    return cudaSuccess;
  error = sgemm__opt_in(sgemm__kernel_of(kernel, ops), grid->shared,
                        v != NULL && v->cluster_split_k && properties->cluster_limit > (int)SGEMM__PORTABLE_CLUSTER);
  if (error == cudaSuccess && ready != NULL)
    __atomic_fetch_or(ready, (unsigned char)(1 << ops), __ATOMIC_RELAXED);
  return error;
}

SGEMM__ASSERT((int)CU_TENSOR_MAP_DATA_TYPE_FLOAT32 == (int)SGEMM__MAP_FLOAT32 &&
                  (int)CU_TENSOR_MAP_INTERLEAVE_NONE == (int)SGEMM__MAP_INTERLEAVE &&
                  (int)CU_TENSOR_MAP_SWIZZLE_128B == (int)SGEMM__MAP_SWIZZLE &&
                  (int)CU_TENSOR_MAP_L2_PROMOTION_L2_256B == (int)SGEMM__MAP_PROMOTION &&
                  (int)CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE == (int)SGEMM__MAP_FILL,
              "values of cuda.h")
SGEMM__ASSERT(sizeof(sgemm__tensor_map) == SGEMM__TENSOR_MAP_BYTES, "size of CUtensorMap")

/* cuTensorMapEncodeTiled is a function of the driver. The runtime returns its address, which is cached. */
static sgemm_status sgemm__encoder(sgemm_tensor_map_encoder *encode) {
  static sgemm_tensor_map_encoder known = NULL;
  cudaDriverEntryPointQueryResult found;
  void *entry = NULL;
  cudaError_t error;
  *encode = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (*encode != NULL)
    return SGEMM_SUCCESS;
  error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault, &found);
  if (error != cudaSuccess)
    return sgemm__status_of(error);
  if (found != cudaDriverEntryPointSuccess || entry == NULL)
    return sgemm__status_of(cudaErrorNotSupported);
  *encode = (sgemm_tensor_map_encoder)entry;
  __atomic_store_n(&known, *encode, __ATOMIC_RELAXED);
  return SGEMM_SUCCESS;
}

static sgemm_status sgemm__launch(int kernel, int ops, sgemm__grid grid, const void *args, sgemm_stream stream) {
  const sgemm_variant_info *v = sgemm__variant_get((sgemm_variant)kernel); /* NULL for kernels beside strict variants */
  const sgemm_device *properties;
  sgemm_device own;
  sgemm__tensor_map maps[2];
  void *arguments[3] = {(void *)args, &maps[0], &maps[1]}; /* the launch reads one for each parameter of the kernel */
  cudaLaunchAttribute attributes[3];
  cudaLaunchConfig_t config;
  int device;
  cudaError_t error = sgemm__current_device(&device, &properties, &own);
  if (error == cudaSuccess)
    error = sgemm__prepare_kernel(device, properties, kernel, ops, &grid);
  if (error != cudaSuccess)
    return sgemm__status_of(error);
  if (v != NULL && v->uses_tma && ((const sgemm__tma_args *)args)->gemm.k > 0) {
    sgemm_tensor_map_encoder encode;
    const sgemm_status status = sgemm__encoder(&encode);
    if (status != SGEMM_SUCCESS)
      return status;
    if (sgemm__encode_operands(encode, v, (const sgemm__args *)args, (unsigned char *)maps) != 0)
      return sgemm__status_of(cudaErrorInvalidValue);
  }
  config.gridDim = dim3(grid.x, grid.y, grid.z);
  config.blockDim = dim3(grid.threads);
  config.dynamicSmemBytes = grid.shared;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = 0;
  if (properties->code_arch >= 90) { /* PDL: the kernels wait in sgemm__pdl_wait() for the preceding launch */
    attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (grid.cluster > 1) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs].val.clusterDim.x = grid.cluster;
    attributes[config.numAttrs].val.clusterDim.y = 1;
    attributes[config.numAttrs++].val.clusterDim.z = 1;
    if (grid.cluster == SGEMM__BALANCED_CLUSTER) {
      attributes[config.numAttrs].id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
      attributes[config.numAttrs++].val.clusterSchedulingPolicyPreference = cudaClusterSchedulingPolicyLoadBalancing;
    }
  }
  return sgemm__status_of(cudaLaunchKernelExC(&config, sgemm__kernel_of(kernel, ops), arguments));
}

static sgemm_status sgemm__copy_word(uint32_t *to, const uint32_t *from, sgemm_stream stream) {
  return sgemm__status_of(cudaMemcpyAsync(to, from, sizeof *to, cudaMemcpyDefault, stream));
}

#endif /* SGEMM_LAUNCH_DEVICE_CUDA_H */
