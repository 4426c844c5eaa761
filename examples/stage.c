/* stage.c: a stage picked at compile time. Where the implementation is compiled with -DSGEMM_STAGE=NAME, only that
   stage's rows exist and sgemm_run() uses them; its callers do not change. This program links an implementation, or
   is one:

     nvcc -x cu -I. -DMACHINE_CUDA=1 -DSGEMM_IMPLEMENTATION -DSGEMM_STAGE=tiled examples/stage.c
     gcc -std=c11 -I. -DSGEMM_CPU=1 -DSGEMM_IMPLEMENTATION -DSGEMM_STAGE=tiled examples/stage.c -lpthread -lm */
#include "examples/machine.h"
#include "sgemm.h"

enum { M = 512, N = 384, K = 256 };
static float A[M][K], B[K][N], C[M][N];

/* Sum of (i + 1) (j + 1) C[i][j], which is exact: all elements of A and B are small whole numbers. */
static double checksum_of_result(void) {
  double sum = 0.0;
  int i, j;
  for (i = 0; i < M; i++)
    for (j = 0; j < N; j++)
      sum += (i + 1.0) * (j + 1.0) * C[i][j];
  return sum;
}

/* The same without the product: the weighted column sums of A times the weighted row sums of B. */
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
  float *a = (float *)machine_alloc(sizeof A), *b = (float *)machine_alloc(sizeof B);
  float *c = (float *)machine_alloc(sizeof C);
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, M, N, K);
  sgemm_machine machine;
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
  if (!a || !b || !c || machine_upload(a, A, sizeof A) || machine_upload(b, B, sizeof B))
    return fprintf(stderr, "stage: no %s, or no memory on it\n", machine_name()), 1;

  /* What sgemm_run() will do. */
  status = sgemm_machine_query(&machine);
  if (status != SGEMM_SUCCESS)
    return fprintf(stderr, "stage: %s\n", sgemm_status_string(status)), 1;
  status = sgemm_workspace_query(&p, &p.workspace_bytes);
  if (status != SGEMM_SUCCESS)
    return fprintf(stderr, "stage: %s\n", sgemm_status_string(status)), 1;
  p.workspace = p.workspace_bytes > 0 ? machine_alloc((size_t)p.workspace_bytes) : NULL;
  if (p.workspace == NULL && p.workspace_bytes > 0)
    return fprintf(stderr, "stage: no memory for the workspace\n"), 1;
  plan = sgemm_select(&p, SGEMM_STAGE_COUNT, &machine);
  printf("selected for %d x %d x %d: %s\n", M, N, K, sgemm_variant_get(plan.variant)->name);

  p.A = a;
  p.B = b;
  p.C = c;
  status = sgemm_run(&p, NULL);
  if (status != SGEMM_SUCCESS)
    return fprintf(stderr, "stage: %s\n", sgemm_status_string(status)), 1;
  if (machine_download(C, c, sizeof C))
    return fprintf(stderr, "stage: the result did not come back\n"), 1;
  machine_free(a);
  machine_free(b);
  machine_free(c);
  machine_free(p.workspace);

  got = checksum_of_result();
  want = checksum_of_inputs();
  printf("checksum %.0f, %s\n", got, got == want ? "as it should be" : "WRONG");
  return got == want ? 0 : 1;
}
