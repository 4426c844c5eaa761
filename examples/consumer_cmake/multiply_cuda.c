/* multiply_cuda.c: multiplies two matrices on a GPU. */
#include <cuda_runtime_api.h>

#include "sgemm.h"

int main(void) {
  const float A[2][3] = {{1, 2, 3}, {4, 5, 6}}, B[3][2] = {{1, 0}, {0, 1}, {1, 1}};
  float C[2][2], *device; /* A, B and C one after the other */
  if (cudaMalloc((void **)&device, sizeof A + sizeof B + sizeof C) ||
      cudaMemcpy(device, A, sizeof A, cudaMemcpyHostToDevice) ||
      cudaMemcpy(device + 6, B, sizeof B, cudaMemcpyHostToDevice))
    return fprintf(stderr, "multiply_cuda: no GPU, or no memory on it\n"), 1;
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 2, 2, 3);
  p.A = device, p.B = device + 6, p.C = device + 12;
  const sgemm_status status = sgemm_run(&p, NULL);
  if (status != SGEMM_SUCCESS)
    return fprintf(stderr, "multiply_cuda: %s\n", sgemm_status_string(status)), 1;
  if (cudaMemcpy(C, p.C, sizeof C, cudaMemcpyDeviceToHost))
    return fprintf(stderr, "multiply_cuda: the result did not come back\n"), 1;
  printf("%g %g\n%g %g\n", C[0][0], C[0][1], C[1][0], C[1][1]);
  return cudaFree(device) != cudaSuccess;
}
