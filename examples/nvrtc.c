/* nvrtc.c: multiplies with kernels that NVRTC compiles and the driver API launches, without nvcc and the CUDA runtime.

     nvrtc list ARCH                     prints the launches of each problem, for an H200 with code for ARCH
     nvrtc compile ARCH MODULES FOLDER   compiles the parts of these launches, or those named behind FOLDER, and writes
                                         them to the folder MODULES. FOLDER has sgemm.h. ARCH is as sm_90a for machine
                                         code, or as compute_90a for PTX
     nvrtc run ARCH MODULES              launches them on GPU 0, and compares with a product on the CPU

   list and compile need no GPU. compile opens libnvrtc, run opens libcuda.so.1: the program links neither. It is built
   with the implementation for programs that launch kernels themselves:

     gcc -std=c11 -O2 -I. -I/usr/local/cuda/include -DSGEMM_HOST_ONLY=1 -DSGEMM_IMPLEMENTATION examples/nvrtc.c -ldl -lm
 */
#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>
#include <stdlib.h>
#include <string.h>

#include "sgemm.h"

static int fail(const char *what, const char *why) {
  fprintf(stderr, "nvrtc: %s: %s\n", what, why);
  exit(1);
}

/* ---- Problems ---------------------------------------------------------------------------------------------------- */

/* A problem and the plan for it: of one variant with the options given, or, for SGEMM_VARIANT_NONE, the selected
   one. */
typedef struct problem {
  const char *name;
  int order, op_a, op_b, mode;
  int64_t m, n, k, batch, pad; /* pad: elements between the rows of A */
  float beta;
  sgemm_variant variant;
  int cluster_k, split_k, stream_k;
  sgemm_tensor_variant tensor, tensor_fallback;
} problem;

#define ROW SGEMM_ROW_MAJOR
#define COL SGEMM_COL_MAJOR
#define STRICT SGEMM_TENSOR_VARIANT_NONE, SGEMM_TENSOR_VARIANT_NONE
#define SELECTED SGEMM_VARIANT_NONE, 1, 1, 0, STRICT
// clang-format off
static const problem problems[] = {
  {"selected, strict",      ROW, SGEMM_N, SGEMM_N, SGEMM_STRICT,      600, 500,  400, 1, 0, 0, SELECTED},
  {"selected, column-major",COL, SGEMM_T, SGEMM_N, SGEMM_STRICT,      130, 270,  310, 1, 3, 2, SELECTED},
  {"selected, tensor",      ROW, SGEMM_N, SGEMM_T, SGEMM_TENSOR,     1000, 900,  500, 1, 0, 0, SELECTED},
  {"batch",                 ROW, SGEMM_N, SGEMM_N, SGEMM_STRICT,      165, 133,   70, 9, 1, 1, SELECTED},
  {"gemv",                  ROW, SGEMM_N, SGEMM_N, SGEMM_STRICT,        1, 500,  700, 1, 0, 0,
   SGEMM_gemv_1x32x256_1x4, 1, 1, 0, STRICT},
  {"async",                 ROW, SGEMM_T, SGEMM_T, SGEMM_STRICT,      190, 210,   90, 1, 0, 0,
   SGEMM_async_64x64x8_8x8, 1, 1, 0, STRICT},
  {"single elements",       ROW, SGEMM_T, SGEMM_N, SGEMM_STRICT,      331, 251,   93, 1, 1, 0,
   SGEMM_async_64x128x8_8x8, 1, 1, 0, STRICT},
  {"split-K",               ROW, SGEMM_N, SGEMM_T, SGEMM_STRICT,       90,  70, 2100, 1, 0, 2,
   SGEMM_splitk_64x64x16_8x4, 1, 5, 0, STRICT},
  {"clusters",              ROW, SGEMM_T, SGEMM_N, SGEMM_STRICT,       90,  70, 2100, 1, 0, 0,
   SGEMM_splitk_16x32x128_4x4, 4, 1, 0, STRICT},
  {"tma",                   ROW, SGEMM_N, SGEMM_T, SGEMM_STRICT,      300, 260,  200, 1, 4, 0,
   SGEMM_tma_64x64x32_16x8, 1, 1, 0, STRICT},
  {"tma, few rows",         ROW, SGEMM_N, SGEMM_T, SGEMM_STRICT,       20, 600,  300, 1, 4, 0,
   SGEMM_tma_32x256x64_16x8, 1, 1, 0, STRICT},
  {"tma, packing, stream-K",ROW, SGEMM_T, SGEMM_N, SGEMM_STRICT,      310, 250,  333, 1, 1, 2,
   SGEMM_tma_64x64x32_16x8, 1, 1, 50, STRICT},
  {"wgmma, full range",     ROW, SGEMM_N, SGEMM_N, SGEMM_TENSOR,      310, 250,  700, 1, 1, 0,
   SGEMM_splitk_64x64x16_8x4, 1, 2, 0, SGEMM_wgmma_fp16x3_128x64, SGEMM_wgmma_bf16x6_128x64},
  {"bf16x6",                COL, SGEMM_N, SGEMM_T, SGEMM_TENSOR_FULL, 270, 310,  290, 1, 2, 1,
   SGEMM_async_64x64x8_8x8, 1, 1, 0, SGEMM_wgmma_bf16x6_128x128, SGEMM_TENSOR_VARIANT_NONE},
};
// clang-format on
enum { PROBLEMS = sizeof problems / sizeof *problems };

static sgemm_params params_of(const problem *q) {
  sgemm_params p = q->order == ROW ? sgemm_params_init((sgemm_op)q->op_a, (sgemm_op)q->op_b, q->m, q->n, q->k)
                                   : sgemm_params_init_col((sgemm_op)q->op_a, (sgemm_op)q->op_b, q->m, q->n, q->k);
  const int64_t rows = (q->op_a == SGEMM_N) == (q->order == ROW) ? q->m : q->k;
  p.lda += q->pad;
  p.stride_a = rows * p.lda;
  p.batch = q->batch;
  p.beta = q->beta;
  p.mode = q->mode;
  p.workspace_bytes = INT64_MAX; /* the plan decides; the memory comes later */
  return p;
}

static sgemm_plan plan_of(const problem *q, const sgemm_params *p, const sgemm_device *device) {
  sgemm_plan plan;
  if (q->variant == SGEMM_VARIANT_NONE)
    return sgemm_select(p, SGEMM_STAGE_ANY, device);
  plan = sgemm_variant_plan(q->variant, p);
  plan.cluster_k = q->cluster_k;
  plan.split_k = q->split_k;
  plan.stream_k = q->stream_k;
  plan.tensor = q->tensor;
  plan.tensor_fallback = q->tensor_fallback;
  return plan;
}

/* The architecture of the code: sm_90a is 90 with the letter. */
static void set_code(sgemm_device *device, const char *arch) {
  const char *number = strrchr(arch, '_');
  device->code_arch = number == NULL ? 0 : atoi(number + 1);
  device->has_sm90a_code = number != NULL && strcmp(number, "_90a") == 0;
  if (device->code_arch < 75)
    fail(arch, "an architecture is as sm_90a or compute_90a");
}

/* An H200, for list and compile. Its last member, cluster_limit, is 0: clusters of more than 8 blocks would need an
   opt-in of the kernel. */
static sgemm_device h200(const char *arch) {
  sgemm_device device = {"H200", 9,         0,         90,        1,    132,      128,   1980,   2048,
                         32,     64 * 1024, 228 << 10, 227 << 10, 1024, 60 << 20, 66908, 4814.7, 0};
  set_code(&device, arch);
  return device;
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

/* Takes the place of the driver's encoder where there is no driver. */
static int no_encoder(void *map, int type, uint32_t rank, void *first, const uint64_t *sizes, const uint64_t *strides,
                      const uint32_t *box, const uint32_t *element_strides, int interleave, int swizzle, int promotion,
                      int fill) {
  (void)map, (void)type, (void)rank, (void)first, (void)sizes, (void)strides, (void)box, (void)element_strides;
  (void)interleave, (void)swizzle, (void)promotion, (void)fill;
  return 0;
}

/* The launches of a problem, or 0 if the device lacks what the plan needs. Addresses are only numbers here. */
static int list_launches(const problem *q, const sgemm_device *device, sgemm_launch *launches) {
  sgemm_params p = params_of(q);
  const sgemm_plan plan = plan_of(q, &p, device);
  sgemm_status status;
  int count;
  p.A = p.B = (const float *)4096;
  p.C = (float *)4096;
  p.workspace = (void *)4096;
  status = sgemm_plan_launches(&plan, &p, device, no_encoder, launches, SGEMM_MAX_LAUNCHES, &count);
  if (status == SGEMM_ERROR_PLAN)
    return 0;
  if (status != SGEMM_SUCCESS)
    fail(q->name, sgemm_status_string(status));
  return count;
}

static void list(const char *arch) {
  const sgemm_device device = h200(arch);
  sgemm_launch launches[SGEMM_MAX_LAUNCHES];
  int i, j;
  for (i = 0; i < PROBLEMS; i++) {
    const int count = list_launches(&problems[i], &device, launches);
    for (j = 0; j < count; j++)
      printf("%s %s %d # %s\n", launches[j].part, launches[j].kernel, (int)launches[j].argument_bytes,
             problems[i].name);
  }
}

/* ---- compile ----------------------------------------------------------------------------------------------------- */

/* Opens a library and fills a table of its functions; the members have the names of the functions. */
static void open_library(const char *const *names, const char *const *symbols, void **functions, int count) {
  void *library = NULL;
  int i;
  for (i = 0; names[i] != NULL && library == NULL; i++)
    library = dlopen(names[i], RTLD_NOW);
  if (library == NULL)
    fail(names[0], "there is no such library");
  for (i = 0; i < count; i++)
    if ((functions[i] = dlsym(library, symbols[i])) == NULL)
      fail(symbols[i], "the library lacks this function");
}

#define QUOTE2(x) #x
#define QUOTE(x) QUOTE2(x)

#define NVRTC(X)                                                                                                       \
  X(nvrtcCreateProgram)                                                                                                \
  X(nvrtcCompileProgram)                                                                                               \
  X(nvrtcGetProgramLogSize)                                                                                            \
  X(nvrtcGetProgramLog)                                                                                                \
  X(nvrtcGetPTXSize)                                                                                                   \
  X(nvrtcGetPTX)                                                                                                       \
  X(nvrtcGetCUBINSize)                                                                                                 \
  X(nvrtcGetCUBIN)                                                                                                     \
  X(nvrtcGetErrorString)                                                                                               \
  X(nvrtcDestroyProgram)

static struct nvrtc {
#define MEMBER(function) __typeof__(function) *function;
  NVRTC(MEMBER)
} nvrtc;

static void open_nvrtc(void) {
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
#define NAME(function) QUOTE(function),
  static const char *const symbols[] = {NVRTC(NAME)};
  void *functions[sizeof symbols / sizeof *symbols];
  open_library(names, symbols, functions, sizeof symbols / sizeof *symbols);
  memcpy(&nvrtc, functions, sizeof nvrtc);
}

static void check_nvrtc(nvrtcResult result, const char *what) {
  if (result != NVRTC_SUCCESS)
    fail(what, nvrtc.nvrtcGetErrorString(result));
}

static void path_of(char *path, size_t size, const char *modules, const char *part, const char *arch) {
  if (snprintf(path, size, "%s/%s.%s", modules, part, arch) >= (int)size)
    fail(modules, "the path is too long");
}

/* Compiles the kernels of a part. The program is that of the implementation file. */
static void compile_part(const char *arch, const char *modules, const char *part, const char *folder) {
  char include[1024], part_option[64], arch_option[64], path[1024];
  const char *const options[] = {arch_option, part_option, include};
  const int ptx = strncmp(arch, "compute", 7) == 0;
  nvrtcProgram program;
  nvrtcResult result;
  size_t bytes;
  char *text;
  FILE *file;
  snprintf(include, sizeof include, "-I%s", folder);
  snprintf(part_option, sizeof part_option, "-DSGEMM_PART=%s", part);
  snprintf(arch_option, sizeof arch_option, "--gpu-architecture=%s", arch);
  check_nvrtc(nvrtc.nvrtcCreateProgram(&program, "#define SGEMM_IMPLEMENTATION\n#include \"sgemm.h\"\n", "sgemm.cu", 0,
                                       NULL, NULL),
              part);
  result = nvrtc.nvrtcCompileProgram(program, 3, options);
  check_nvrtc(nvrtc.nvrtcGetProgramLogSize(program, &bytes), part);
  text = (char *)malloc(bytes);
  check_nvrtc(nvrtc.nvrtcGetProgramLog(program, text), part);
  fputs(text, stderr);
  free(text);
  check_nvrtc(result, part);
  check_nvrtc((ptx ? nvrtc.nvrtcGetPTXSize : nvrtc.nvrtcGetCUBINSize)(program, &bytes), part);
  text = (char *)malloc(bytes);
  check_nvrtc((ptx ? nvrtc.nvrtcGetPTX : nvrtc.nvrtcGetCUBIN)(program, text), part);
  path_of(path, sizeof path, modules, part, arch);
  file = fopen(path, "wb");
  if (file == NULL || fwrite(text, 1, bytes, file) != bytes || fclose(file) != 0)
    fail(path, "cannot be written");
  free(text);
  check_nvrtc(nvrtc.nvrtcDestroyProgram(&program), part);
}

/* Compiles each part of the launches once; of `only`, if it names parts. */
static void compile(const char *arch, const char *modules, const char *folder, char **only, int only_count) {
  const sgemm_device device = h200(arch);
  sgemm_launch launches[SGEMM_MAX_LAUNCHES];
  const char *done[32];
  int parts = 0, i, j, known, wanted;
  open_nvrtc();
  for (i = 0; i < PROBLEMS; i++) {
    const int count = list_launches(&problems[i], &device, launches);
    for (j = 0; j < count; j++) {
      for (known = 0; known < parts && strcmp(done[known], launches[j].part) != 0; known++)
        ;
      for (wanted = 0; wanted < only_count && strcmp(only[wanted], launches[j].part) != 0; wanted++)
        ;
      if (known == parts && (only_count == 0 || wanted < only_count)) {
        done[parts++] = launches[j].part;
        compile_part(arch, modules, launches[j].part, folder);
      }
    }
  }
}

/* ---- run --------------------------------------------------------------------------------------------------------- */

#define DRIVER(X)                                                                                                      \
  X(cuInit)                                                                                                            \
  X(cuGetErrorString)                                                                                                  \
  X(cuDeviceGet)                                                                                                       \
  X(cuDeviceGetName)                                                                                                   \
  X(cuDeviceGetAttribute)                                                                                              \
  X(cuDevicePrimaryCtxRetain)                                                                                          \
  X(cuCtxSetCurrent)                                                                                                   \
  X(cuModuleLoadData)                                                                                                  \
  X(cuModuleGetFunction)                                                                                               \
  X(cuFuncSetAttribute)                                                                                                \
  X(cuMemAlloc)                                                                                                        \
  X(cuMemFree)                                                                                                         \
  X(cuMemcpyHtoD)                                                                                                      \
  X(cuMemcpyDtoH)                                                                                                      \
  X(cuMemsetD8)                                                                                                        \
  X(cuStreamSynchronize)                                                                                               \
  X(cuTensorMapEncodeTiled)                                                                                            \
  X(cuLaunchKernelEx)

/* cuda.h defines cuMemAlloc as cuMemAlloc_v2, and so on. */
static struct driver { DRIVER(MEMBER) } driver;

static void check(CUresult result, const char *what) {
  const char *why = "unknown error";
  if (result == CUDA_SUCCESS)
    return;
  driver.cuGetErrorString(result, &why);
  fail(what, why);
}

static int attribute(CUdevice gpu, CUdevice_attribute which) {
  int value;
  check(driver.cuDeviceGetAttribute(&value, which, gpu), "cuDeviceGetAttribute");
  return value;
}

/* What sgemm_device_query() fills in where the CUDA runtime is linked. */
static sgemm_device open_gpu(const char *arch) {
  static const char *const names[] = {"libcuda.so.1", NULL};
  static const char *const symbols[] = {DRIVER(NAME)};
  void *functions[sizeof symbols / sizeof *symbols];
  sgemm_device d;
  CUdevice gpu;
  CUcontext context;
  double memory_khz, bits;
  open_library(names, symbols, functions, sizeof symbols / sizeof *symbols);
  memcpy(&driver, functions, sizeof driver);
  check(driver.cuInit(0), "cuInit");
  check(driver.cuDeviceGet(&gpu, 0), "cuDeviceGet");
  check(driver.cuDevicePrimaryCtxRetain(&context, gpu), "cuDevicePrimaryCtxRetain");
  check(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  memset(&d, 0, sizeof d);
  check(driver.cuDeviceGetName(d.name, sizeof d.name, gpu), "cuDeviceGetName");
  d.major = attribute(gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  d.minor = attribute(gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  d.multiprocessors = attribute(gpu, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  d.lanes = d.major == 7 || (d.major == 8 && d.minor == 0) ? 64 : 128;
  d.clock_mhz = attribute(gpu, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000;
  d.threads_per_sm = attribute(gpu, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  d.blocks_per_sm = attribute(gpu, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  d.registers_per_sm = attribute(gpu, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  d.shared_per_sm = attribute(gpu, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  d.shared_per_block = attribute(gpu, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  d.shared_reserved = attribute(gpu, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  d.l2_bytes = attribute(gpu, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  memory_khz = attribute(gpu, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  bits = attribute(gpu, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  d.peak_gflops = 2e-3 * d.lanes * d.multiprocessors * d.clock_mhz;
  d.bandwidth_gbs = 2.0 * memory_khz * bits / 8 * 1e-6;
  set_code(&d, arch);
  return d;
}

/* A kernel of a part, whose module is loaded once. */
static CUfunction function_of(const sgemm_launch *launch, const char *arch, const char *modules) {
  static struct {
    const char *part;
    CUmodule module;
  } loaded[32];
  char path[1024];
  CUfunction function;
  int i;
  for (i = 0; loaded[i].part != NULL && strcmp(loaded[i].part, launch->part) != 0; i++)
    ;
  if (loaded[i].part == NULL) {
    char *image = (char *)calloc(1, 64 << 20);
    FILE *file;
    path_of(path, sizeof path, modules, launch->part, arch);
    file = fopen(path, "rb");
    if (file == NULL || image == NULL || fread(image, 1, (64 << 20) - 1, file) == 0)
      fail(path, "cannot be read");
    fclose(file);
    check(driver.cuModuleLoadData(&loaded[i].module, image), path);
    loaded[i].part = launch->part;
    free(image);
  }
  check(driver.cuModuleGetFunction(&function, loaded[i].module, launch->kernel), launch->kernel);
  return function;
}

/* A launch as sgemm_run() would make it. Programmatic dependent launch is optional: the kernels wait for the preceding
   one, and without the attribute the stream does. */
static void launch_kernel(const sgemm_launch *launch, const sgemm_device *device, CUfunction function) {
  void *parameters[3];
  CUlaunchAttribute attributes[3];
  CUlaunchConfig config;
  int i;
  for (i = 0; i < launch->argument_count; i++)
    parameters[i] = (void *)(launch->arguments + launch->argument_offset[i]);
  memset(attributes, 0, sizeof attributes);
  memset(&config, 0, sizeof config);
  config.gridDimX = launch->grid_x;
  config.gridDimY = launch->grid_y;
  config.gridDimZ = launch->grid_z;
  config.blockDimX = launch->threads;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = launch->shared_bytes;
  config.attrs = attributes;
  if (device->code_arch >= 90) {
    attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[config.numAttrs++].value.programmaticStreamSerializationAllowed = 1;
  }
  if (launch->cluster > 1) {
    attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[config.numAttrs].value.clusterDim.x = launch->cluster;
    attributes[config.numAttrs].value.clusterDim.y = attributes[config.numAttrs].value.clusterDim.z = 1;
    config.numAttrs++;
  }
  if (launch->cluster == 4) { /* more clusters of 4 run at a time; others are as fast or faster without */
    attributes[config.numAttrs].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
    attributes[config.numAttrs++].value.clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
  }
  if (launch->shared_bytes > 48 * 1024) /* once for each kernel is enough */
    check(
        driver.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)launch->shared_bytes),
        launch->kernel);
  check(driver.cuLaunchKernelEx(&config, function, parameters, NULL), launch->kernel);
}

/* Integers in [-3, 3], so that fp32 is exact, and the result of a plain loop has equal bits. */
static float *filled(int64_t count, uint32_t seed) {
  float *x = (float *)malloc((size_t)count * sizeof(float));
  int64_t i;
  for (i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)(int)(seed >> 16 & 3) - (float)(int)(seed >> 20 & 3);
  }
  return x;
}

static void *upload(const void *x, int64_t bytes) {
  CUdeviceptr memory;
  check(driver.cuMemAlloc(&memory, bytes > 0 ? (size_t)bytes : 16), "cuMemAlloc");
  if (x != NULL)
    check(driver.cuMemcpyHtoD(memory, x, (size_t)bytes), "cuMemcpyHtoD");
  else
    check(driver.cuMemsetD8(memory, 0xff, (size_t)bytes), "cuMemsetD8"); /* NaN */
  return (void *)(uintptr_t)memory;
}

/* Elements of C that are not those of a plain loop. before: C before the call. */
static int64_t count_wrong(const sgemm_params *p, const float *A, const float *B, const float *before,
                           const float *after) {
  const int row = p->order == SGEMM_ROW_MAJOR;
  const int64_t a_i = (p->op_a == SGEMM_N) == row ? p->lda : 1, a_l = (p->op_a == SGEMM_N) == row ? 1 : p->lda;
  const int64_t b_l = (p->op_b == SGEMM_N) == row ? p->ldb : 1, b_j = (p->op_b == SGEMM_N) == row ? 1 : p->ldb;
  int64_t wrong = 0, b, i, j, l;
  for (b = 0; b < p->batch; b++)
    for (i = 0; i < p->m; i++)
      for (j = 0; j < p->n; j++) {
        const int64_t at = b * p->stride_c + (row ? i * p->ldc + j : j * p->ldc + i);
        float sum = 0.0f;
        for (l = 0; l < p->k; l++)
          sum += A[b * p->stride_a + i * a_i + l * a_l] * B[b * p->stride_b + l * b_l + j * b_j];
        sum = p->alpha * sum + (p->beta != 0.0f ? p->beta * before[at] : 0.0f);
        wrong += !(after[at] == sum);
      }
  return wrong;
}

/* Returns 1 if the results of a problem are wrong. */
static int run_problem(const problem *q, const sgemm_device *device, const char *arch, const char *modules) {
  sgemm_params p = params_of(q);
  const sgemm_plan plan = plan_of(q, &p, device);
  const int64_t a = p.stride_a * p.batch, b = p.stride_b * p.batch, c = p.stride_c * p.batch;
  float *A, *B, *C, *after;
  sgemm_launch launches[SGEMM_MAX_LAUNCHES];
  sgemm_status status;
  int64_t wrong;
  int count, i;
  if (plan.variant == SGEMM_VARIANT_NONE)
    fail(q->name, "no plan");
  A = filled(a, 1);
  B = filled(b, 2);
  C = filled(c, 3);
  after = (float *)malloc((size_t)c * sizeof(float));
  p.A = (float *)upload(A, 4 * a);
  p.B = (float *)upload(B, 4 * b);
  p.C = (float *)upload(q->beta != 0.0f ? C : NULL, 4 * c); /* with beta = 0, NaN */
  p.workspace_bytes = sgemm_plan_workspace(&plan, &p);
  p.workspace = p.workspace_bytes > 0 ? upload(NULL, p.workspace_bytes) : NULL;
  status = sgemm_plan_launches(&plan, &p, device, (sgemm_tensor_map_encoder)driver.cuTensorMapEncodeTiled, launches,
                               SGEMM_MAX_LAUNCHES, &count);
  if (status == SGEMM_ERROR_PLAN) {
    printf("skipped  %s: the GPU or its code lacks what the plan needs\n", q->name);
    return 0;
  }
  if (status != SGEMM_SUCCESS)
    fail(q->name, sgemm_status_string(status));
  for (i = 0; i < count; i++)
    launch_kernel(&launches[i], device, function_of(&launches[i], arch, modules));
  check(driver.cuStreamSynchronize(NULL), q->name);
  check(driver.cuMemcpyDtoH(after, (CUdeviceptr)(uintptr_t)p.C, 4 * (size_t)c), "cuMemcpyDtoH");
  wrong = count_wrong(&p, A, B, C, after);
  printf("%s  %s: %d launches, %s; %lld of %lld elements wrong\n", wrong == 0 ? "ok     " : "FAILED ", q->name, count,
         launches[count > 1].kernel, (long long)wrong, (long long)(p.m * p.n * p.batch));
  check(driver.cuMemFree((CUdeviceptr)(uintptr_t)p.A), "cuMemFree");
  check(driver.cuMemFree((CUdeviceptr)(uintptr_t)p.B), "cuMemFree");
  check(driver.cuMemFree((CUdeviceptr)(uintptr_t)p.C), "cuMemFree");
  if (p.workspace != NULL)
    check(driver.cuMemFree((CUdeviceptr)(uintptr_t)p.workspace), "cuMemFree");
  free(A);
  free(B);
  free(C);
  free(after);
  return wrong != 0;
}

static int run(const char *arch, const char *modules) {
  const sgemm_device device = open_gpu(arch);
  int i, failed = 0;
  printf("%s, code for %s\n", device.name, arch);
  for (i = 0; i < PROBLEMS; i++)
    failed += run_problem(&problems[i], &device, arch, modules);
  printf(failed == 0 ? "passed\n" : "%d problems failed\n", failed);
  return failed != 0;
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "list") == 0)
    return list(argv[2]), 0;
  if (argc >= 5 && strcmp(argv[1], "compile") == 0)
    return compile(argv[2], argv[3], argv[4], argv + 5, argc - 5), 0;
  if (argc == 4 && strcmp(argv[1], "run") == 0)
    return run(argv[2], argv[3]);
  return fail("usage", "list ARCH | compile ARCH MODULES FOLDER [PART...] | run ARCH MODULES");
}
