/* multiply_cpu.c: multiplies two matrices on the CPU model. Pointers are host memory. */
#include "sgemm.h"

int main(void) {
  const float A[2][3] = {{1, 2, 3}, {4, 5, 6}}, B[3][2] = {{1, 0}, {0, 1}, {1, 1}};
  float C[2][2];
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 2, 2, 3);
  p.A = A[0], p.B = B[0], p.C = C[0];
  const sgemm_status status = sgemm_run(&p, NULL);
  if (status != SGEMM_SUCCESS)
    return fprintf(stderr, "multiply_cpu: %s\n", sgemm_status_string(status)), 1;
  printf("%g %g\n%g %g\n", C[0][0], C[0][1], C[1][0], C[1][1]);
  return 0;
}
