#include "sgemm.h"

int main(void) {
  const float A[] = {1, 2, 3, 4}, B[] = {5, 6, 7, 8};
  float C[4];
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 2, 2, 2);
  p.A = A;
  p.B = B;
  p.C = C;
  return sgemm_run(&p, NULL) != SGEMM_SUCCESS || C[0] != 19 || C[1] != 22 || C[2] != 43 || C[3] != 50;
}
