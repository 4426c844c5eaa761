/* fake_gpu.c: the CUDA runtime and cuBLAS of fake_gpu.h on the CPU. The CPU model computes the calls of this library,
   and cuBLAS computes in double. Times do not depend on the machine:
     cublasSgemm                  1 ms a call
     cublasGemmEx, 16-bit types   1 ms for each k of the call; it computes nothing
     this library                 a sample takes 1 ms for each 256 bytes of the last cudaMemset, at least 1 ms. The
                                  ladder sets all copies of C, then what a call stores besides C
   One result of this library becomes NaN if n = 13. cudaMalloc() refuses more than 1 GiB. Link with
   --wrap=sgemm_device_query. */
#include "tests/fake_gpu.h"

#define matrices_fill fill_on_host
#define matrices_error error_on_host
#define matrices_sums sums_on_host
#define matrices_find_nan find_nan_on_host
#include "tools/ceilings.h"
#include "tools/matrices.h"
#undef matrices_fill
#undef matrices_error
#undef matrices_sums
#undef matrices_find_nan

#include <string.h>

int matrices_fill(float *x, size_t count, size_t period, uint64_t seed);
int matrices_fill16(uint16_t *x, size_t count, int bf16, uint64_t seed);
int matrices_error(const sgemm_params *p, double *worst);
int matrices_sums(const sgemm_params *p, double *sum, double *size);
int matrices_find_nan(const float *x, size_t count, int *found);
sgemm_status __real_sgemm_device_query(int device, sgemm_device *out);
sgemm_status __wrap_sgemm_device_query(int device, sgemm_device *out);

static int calls, calls_before; /* calls of cublasSgemm: so far, and before the last cudaMemset */
static int now_ms;              /* time of all cuBLAS calls */
static double ours_ms;
static int events[2];

cudaError_t cudaGetDeviceCount(int *count) { return *count = 1, cudaSuccess; }
cudaError_t cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }
cudaError_t cudaDeviceGetPCIBusId(char *bus, int size, int device) {
  (void)bus, (void)size, (void)device;
  return cudaErrorUnknown;
}
cudaError_t cudaRuntimeGetVersion(int *version) { return *version = 12030, cudaSuccess; }
cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
cudaError_t cudaGetLastError(void) { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "none" : "an error"; }

cudaError_t cudaMalloc(void *pointer, size_t bytes) {
  void *memory = bytes > (size_t)1 << 30 ? NULL : malloc(bytes);
  if (memory != NULL)
    memset(memory, 0xff, bytes); /* NaN, because freed memory of the CPU model holds its marks of unwritten words */
  memcpy(pointer, &memory, sizeof memory);
  return memory != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void *pointer) { return free(pointer), cudaSuccess; }
cudaError_t cudaMemset(void *pointer, int byte, size_t bytes) {
  ours_ms = fmax(1.0, (double)bytes / 256.0);
  calls_before = calls;
  return memset(pointer, byte, bytes), cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  (void)kind;
  return memcpy(to, from, bytes), cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event) {
  static int count;
  return *event = (cudaEvent_t)&events[count++], cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return (void)event, cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  (void)stream;
  return *(int *)event = now_ms, cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return (void)event, cudaSuccess; }
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t stop) {
  const int timed = *(int *)stop - *(int *)start;
  return *ms = (float)(timed > 0 ? timed : ours_ms), cudaSuccess;
}

cublasStatus_t cublasCreate(cublasHandle_t *handle) { return *handle = NULL, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasDestroy(cublasHandle_t handle) { return (void)handle, CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void *workspace, size_t bytes) {
  (void)handle, (void)workspace, (void)bytes;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion(cublasHandle_t handle, int *version) {
  return (void)handle, *version = 120304, CUBLAS_STATUS_SUCCESS;
}

/* Column-major. */
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                                         int n, int k, const float *alpha, const float *A, int lda, long long stride_a,
                                         const float *B, int ldb, long long stride_b, const float *beta, float *C,
                                         int ldc, long long stride_c, int batch) {
  int i, j, l, z;
  (void)handle, (void)alpha;
  calls++;
  now_ms++;
  for (z = 0; z < batch; z++, A += stride_a, B += stride_b, C += stride_c)
    for (j = 0; j < n; j++)
      for (i = 0; i < m; i++) {
        double sum = 0.0;
        for (l = 0; l < k; l++)
          sum += (double)A[op_a == CUBLAS_OP_N ? i + (size_t)l * lda : l + (size_t)i * lda] *
                 B[op_b == CUBLAS_OP_N ? l + (size_t)j * ldb : j + (size_t)l * ldb];
        C[i + (size_t)j * ldc] = (float)(*beta != 0.0f ? sum + *beta * C[i + (size_t)j * ldc] : sum);
      }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                           const float *alpha, const float *A, int lda, const float *B, int ldb, const float *beta,
                           float *C, int ldc) {
  return cublasSgemmStridedBatched(handle, op_a, op_b, m, n, k, alpha, A, lda, 0, B, ldb, 0, beta, C, ldc, 0, 1);
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                            const void *alpha, const void *A, cudaDataType type_a, int lda, const void *B,
                            cudaDataType type_b, int ldb, const void *beta, void *C, cudaDataType type_c, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  (void)handle, (void)alpha, (void)beta, (void)compute, (void)algorithm;
  now_ms += k;
  return A == NULL || B == NULL || C == NULL || type_a != type_b || type_a == type_c || type_c != CUDA_R_32F ||
                 lda < (op_a == CUBLAS_OP_N ? m : k) || ldb < (op_b == CUBLAS_OP_N ? k : n) || ldc < m
             ? CUBLAS_STATUS_INVALID_VALUE
             : CUBLAS_STATUS_SUCCESS;
}

/* Device properties of the CPU model with another name. */
sgemm_status __wrap_sgemm_device_query(int device, sgemm_device *out) {
  const sgemm_status status = __real_sgemm_device_query(device, out);
  strcpy(out->name, "a fake GPU");
  return status;
}

int ceilings_measure(double *ffma_gflops, double *copy_gbs) {
  *ffma_gflops = 0.1; /* so low that one call fills the warm-up time */
  *copy_gbs = 1e3;
  return 0;
}

int matrices_fill(float *x, size_t count, size_t period, uint64_t seed) { return fill_on_host(x, count, period, seed); }
int matrices_fill16(uint16_t *x, size_t count, int bf16, uint64_t seed) {
  (void)bf16, (void)seed;
  return memset(x, 0, count * sizeof *x), 0;
}
int matrices_error(const sgemm_params *p, double *worst) {
  if (calls == calls_before && p->n == 13)
    p->C[p->stride_c * p->batch - 1] = NAN;
  return error_on_host(p, worst);
}
int matrices_sums(const sgemm_params *p, double *sum, double *size) { return sums_on_host(p, sum, size); }
int matrices_find_nan(const float *x, size_t count, int *found) { return find_nan_on_host(x, count, found); }
