/* stage.c: a stage chosen at compile time. If the implementation is compiled with -DSGEMM_STAGE=NAME, only the variants
   of that stage exist, and sgemm_run() uses them. The calls stay the same. This program links an implementation, or is
   the implementation file itself:

     nvcc -x cu -I. -DSGEMM_IMPLEMENTATION -DSGEMM_STAGE=tiled examples/stage.c
     gcc -std=c11 -I. -Icpu/runtime -DSGEMM_CPU=1 -DSGEMM_IMPLEMENTATION -DSGEMM_STAGE=tiled examples/stage.c \
         -lpthread -lm */
#include <cuda_runtime.h>

#include "sgemm.h"

enum { M = 512, N = 384, K = 256 };
static float A[M][K], B[K][N], C[M][N];

/* The sum of (i + 1) (j + 1) C[i][j]. It is exact, because all elements of A and B are small integers. */
static double checksum_of_result(void) {
  double sum = 0.0;
  int i, j;
  for (i = 0; i < M; i++)
    for (j = 0; j < N; j++)
      sum += (i + 1.0) * (j + 1.0) * C[i][j];
  return sum;
}

/* The checksum of A B, computed from A and B: the weighted column sums of A times the weighted row sums of B. */
static double checksum_of_inputs(void) {
  double sum = 0.0;
  int i, j, k;
  for (k = 0; k < K; k++) {
    double column = 0.0, row = 0.0;
    for (i = 0; i < M; i++)
      column += (i + 1.0) * A[i][k];
    for (j = 0; j < N; j++)
      row += (j + 1.0) * B[k][j];
    sum += column * row;
  }
  return sum;
}

int main(void) {
  float *a, *b, *c;
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, M, N, K);
  sgemm_device device;
  sgemm_plan plan;
  sgemm_status status;
  double want, got;
  int i;

  printf("compiled:");
  for (i = 0; i < SGEMM_VARIANT_COUNT; i++)
    if (sgemm_compiled((sgemm_variant)i))
      printf(" %s", sgemm_variant_get((sgemm_variant)i)->name);
  printf("\n");

  for (i = 0; i < M * K; i++)
    A[i / K][i % K] = (float)(i * 7 % 11 - 5);
  for (i = 0; i < K * N; i++)
    B[i / N][i % N] = (float)(i * 5 % 13 - 6);
  if (cudaMalloc((void **)&a, sizeof A) || cudaMalloc((void **)&b, sizeof B) || cudaMalloc((void **)&c, sizeof C) ||
      cudaMemcpy(a, A, sizeof A, cudaMemcpyHostToDevice) || cudaMemcpy(b, B, sizeof B, cudaMemcpyHostToDevice))
    return fprintf(stderr, "stage: no GPU, or no memory on it\n"), 1;

  /* The plan that sgemm_run() will select. */
  status = sgemm_device_query(-1, &device);
  if (status != SGEMM_SUCCESS)
    return fprintf(stderr, "stage: %s\n", sgemm_status_string(status)), 1;
  status = sgemm_workspace_query(&p, &p.workspace_bytes);
  if (status != SGEMM_SUCCESS)
    return fprintf(stderr, "stage: %s\n", sgemm_status_string(status)), 1;
  if (p.workspace_bytes > 0 && cudaMalloc(&p.workspace, (size_t)p.workspace_bytes))
    return fprintf(stderr, "stage: no memory for the workspace\n"), 1;
  plan = sgemm_select(&p, SGEMM_STAGE_ANY, &device);
  printf("selected for %d x %d x %d: %s\n", M, N, K, sgemm_variant_get(plan.variant)->name);

  p.A = a;
  p.B = b;
  p.C = c;
  status = sgemm_run(&p, NULL);
  if (status != SGEMM_SUCCESS)
    return fprintf(stderr, "stage: %s\n", sgemm_status_string(status)), 1;
  if (cudaMemcpy(C, c, sizeof C, cudaMemcpyDeviceToHost))
    return fprintf(stderr, "stage: the result did not come back\n"), 1;
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
  cudaFree(p.workspace);

  got = checksum_of_result();
  want = checksum_of_inputs();
  printf("checksum %.0f, %s\n", got, got == want ? "as it should be" : "WRONG");
  return got == want ? 0 : 1;
}
