/* quickstart.c: multiplies two small matrices on the GPU and prints the result. */
#include "examples/machine.h"
#include "sgemm.h"

int main(void) {
  const float A[2][3] = {{1, 2, 3}, {4, 5, 6}}, B[3][2] = {{1, 0}, {0, 1}, {1, 1}};
  float C[2][2];
  float *a = machine_alloc(sizeof A), *b = machine_alloc(sizeof B), *c = machine_alloc(sizeof C); /* cudaMalloc() */
  if (!a || !b || !c || machine_upload(a, A, sizeof A) || machine_upload(b, B, sizeof B))         /* cudaMemcpy() */
    return fprintf(stderr, "quickstart: no %s, or no memory on it\n", machine_name()), 1;

  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 2, 2, 3); /* C = A * B is 2 x 2, its dot products 3 long */
  p.A = a, p.B = b, p.C = c;
  const sgemm_status status = sgemm_run(&p, NULL);
  if (status != SGEMM_SUCCESS)
    return fprintf(stderr, "quickstart: %s\n", sgemm_status_string(status)), 1;
  if (machine_download(C, c, sizeof C))
    return fprintf(stderr, "quickstart: the result did not come back\n"), 1;

  printf("%g %g\n%g %g\n", C[0][0], C[0][1], C[1][0], C[1][1]);
  machine_free(a), machine_free(b), machine_free(c);
  return 0;
}
