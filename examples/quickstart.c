/* quickstart.c: multiplies two small matrices on a GPU and prints the result. Compiled with -Icpu/runtime in place of
   the CUDA toolkit's headers, it runs on the CPU model. */
#include <cuda_runtime.h>

#include "sgemm.h"

int main(void) {
  const float A[2][3] = {{1, 2, 3}, {4, 5, 6}}, B[3][2] = {{1, 0}, {0, 1}, {1, 1}};
  float C[2][2];
  float *a, *b, *c;
  if (cudaMalloc((void **)&a, sizeof A) || cudaMalloc((void **)&b, sizeof B) || cudaMalloc((void **)&c, sizeof C) ||
      cudaMemcpy(a, A, sizeof A, cudaMemcpyHostToDevice) || cudaMemcpy(b, B, sizeof B, cudaMemcpyHostToDevice))
    return fprintf(stderr, "quickstart: no GPU, or no memory on it\n"), 1;

  /* m, n, k: C = A * B is 2 x 2, and its dot products have 3 terms. */
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 2, 2, 3);
  p.A = a, p.B = b, p.C = c;
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO; /* memory for packed operands and partial sums, in stream order */
  const sgemm_status status = sgemm_run(&p, NULL);
  if (status != SGEMM_SUCCESS)
    return fprintf(stderr, "quickstart: %s\n", sgemm_status_string(status)), 1;
  if (cudaMemcpy(C, c, sizeof C, cudaMemcpyDeviceToHost)) /* waits for the multiplication */
    return fprintf(stderr, "quickstart: the result did not come back\n"), 1;

  printf("%g %g\n%g %g\n", C[0][0], C[0][1], C[1][0], C[1][1]);
  cudaFree(a), cudaFree(b), cudaFree(c);
  return 0;
}
