#include <cuda_runtime_api.h>
#include "sgemm.h"

int main(void) {
  float *A, *B, *C;
  if (cudaMallocManaged((void **)&A, 12 * sizeof(float), cudaMemAttachGlobal) != cudaSuccess) {
    puts("no GPU: nothing was run");
    return 0;
  }
  B = A + 4;
  C = A + 8;
  for (int i = 0; i < 8; i++)
    A[i] = (float)(i + 1);
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 2, 2, 2);
  p.A = A;
  p.B = B;
  p.C = C;
  if (sgemm_run(&p, NULL) != SGEMM_SUCCESS || cudaDeviceSynchronize() != cudaSuccess)
    return 1;
  return C[0] != 19 || C[1] != 22 || C[2] != 43 || C[3] != 50;
}
