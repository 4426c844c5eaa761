#include <cuda_runtime_api.h>
#include "sgemm.h"

int main(void) {
  float host[] = {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0}; // A, B, C
  const float *C = host + 8;
  float *device;
  if (cudaMalloc((void **)&device, sizeof host) != cudaSuccess) {
    puts("no GPU: nothing was run");
    return 0;
  }
  cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);

  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 2, 2, 2);
  p.A = device;
  p.B = device + 4;
  p.C = device + 8;
  if (sgemm_run(&p, NULL) != SGEMM_SUCCESS)
    return 1;

  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  return C[0] != 19 || C[1] != 22 || C[2] != 43 || C[3] != 50;
}
