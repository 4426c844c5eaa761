/* accuracy_gpu.h: the references on a GPU, computed by cuBLAS: the product in double, SGEMM, and SGEMM with TF32. */
#ifndef ACCURACY_GPU_H
#define ACCURACY_GPU_H

#include "tools/accuracy_data.h"
#include "tools/machine.h"

#include <cublas_v2.h>

enum { DEFAULT_SIDE = 2048, BASELINE_WORKSPACE = 32 << 20 /* bytes that cuBLAS's manual recommends on Hopper */ };
static const int64_t accuracy_depths[] = {64, 128, 512, 1024, 4096, 16384}, accuracy_quick_depths[] = {128, 1024};
static const char accuracy_baseline_name[] = "cublas", accuracy_control_name[] = "cublas_tf32";

typedef struct baseline {
  cublasHandle_t cublas;
  void *workspace;
  double *wide_a, *wide_b; /* copies of the operands */
} baseline;

/* Prints one line to stderr. Returns 2, the exit status. */
static inline int accuracy_fail(const char *what, const char *why) {
  fprintf(stderr, "accuracy: %s: %s\n", what, why);
  return 2;
}

static inline int cublas_failed(cublasStatus_t status, const char *what) {
  return status == CUBLAS_STATUS_SUCCESS ? 0 : accuracy_fail(what, cublasGetStatusString(status));
}

static inline int machine_failed(int error, const char *what) {
  return error == 0 ? 0 : accuracy_fail(what, machine_error(error));
}

/* of_a, of_b: the most elements of A and of B. Returns 0, or 2 after an error message. */
static inline int open_baseline(baseline *b, int64_t of_a, int64_t of_b) {
  memset(b, 0, sizeof *b);
  b->workspace = machine_alloc(BASELINE_WORKSPACE);
  b->wide_a = (double *)machine_alloc((size_t)of_a * sizeof *b->wide_a);
  b->wide_b = (double *)machine_alloc((size_t)of_b * sizeof *b->wide_b);
  if (b->workspace == NULL || b->wide_a == NULL || b->wide_b == NULL)
    return accuracy_fail("not enough memory", "for the operands in double");
  return cublas_failed(cublasCreate(&b->cublas), "cuBLAS does not start") ||
                 cublas_failed(cublasSetWorkspace(b->cublas, b->workspace, BASELINE_WORKSPACE), "cublasSetWorkspace") ||
                 cublas_failed(cublasSetMathMode(b->cublas, CUBLAS_DEFAULT_MATH), "cublasSetMathMode")
             ? 2
             : 0;
}

static inline void close_baseline(baseline *b) {
  if (b->cublas != NULL)
    cublasDestroy(b->cublas);
  machine_free(b->workspace);
  machine_free(b->wide_a);
  machine_free(b->wide_b);
}

/* Computes A B and |A||B| in double. Row-major C = A B is column-major C' = B' A'. Returns 0, or 2 after an error
   message. */
static inline int baseline_in_double(baseline *b, const sgemm_params *p, double *sum, double *size) {
  const double one = 1.0, zero = 0.0;
  const int m = (int)p->m, n = (int)p->n, k = (int)p->k;
  int absolute;
  for (absolute = 0; absolute < 2; absolute++)
    if (machine_failed(accuracy_widen(b->wide_a, p->A, p->m * p->k, absolute), "A in double") ||
        machine_failed(accuracy_widen(b->wide_b, p->B, p->k * p->n, absolute), "B in double") ||
        cublas_failed(cublasDgemm(b->cublas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b->wide_b, n, b->wide_a, k, &zero,
                                  absolute ? size : sum, n),
                      "cublasDgemm"))
      return 2;
  return 0;
}

/* Computes C = A B with cuBLAS, in fp32 or on TF32 tensor cores. Returns 0, or 2 after an error message. */
static inline int baseline_multiply(const baseline *b, const sgemm_params *p, int tf32) {
  const float one = 1.0f, zero = 0.0f;
  const int m = (int)p->m, n = (int)p->n, k = (int)p->k;
  return tf32 ? cublas_failed(cublasGemmEx(b->cublas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, p->B, CUDA_R_32F, n,
                                           p->A, CUDA_R_32F, k, &zero, p->C, CUDA_R_32F, n,
                                           CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT),
                              "cublasGemmEx")
              : cublas_failed(
                    cublasSgemm(b->cublas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, p->B, n, p->A, k, &zero, p->C, n),
                    "cublasSgemm");
}

#endif
