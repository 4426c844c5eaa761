/* submatrix.c: adds a block of A times a block of B to a block of C, in place inside larger matrices and on a stream. A
   block is given by a pointer to its first element and the leading dimension of the larger matrix. */
#include <cuda_runtime.h>

#include "sgemm.h"

enum { ROWS = 300, COLS = 257, DEPTH = 129 }; /* A is ROWS x DEPTH, B DEPTH x COLS, C ROWS x COLS */
enum { M = 100, N = 90, K = 70 };             /* sizes of the blocks */
enum { I = 101, J = 83, L = 31 };             /* first elements: C's block (I, J), A's (I, L), B's (L, J) */
static float A[ROWS][DEPTH], B[DEPTH][COLS], before[ROWS][COLS], C[ROWS][COLS];

/* Small integers, so that fp32 is exact and the result of a plain loop has equal bits. */
static void fill(float *x, int count, int seed) {
  int i;
  for (i = 0; i < count; i++)
    x[i] = (float)(i * 7 % 11 + seed);
}

static int is_right(int i, int j) {
  float want = before[i][j];
  int l;
  if (i >= I && i < I + M && j >= J && j < J + N)
    for (l = L; l < L + K; l++)
      want += A[i][l] * B[l][j];
  return C[i][j] == want;
}

int main(void) {
  float *a, *b, *c;
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, M, N, K);
  cudaStream_t stream;
  sgemm_status status;
  int i, j, wrong = 0;

  fill(A[0], ROWS * DEPTH, -5);
  fill(B[0], DEPTH * COLS, -3);
  fill(before[0], ROWS * COLS, 1);
  if (cudaStreamCreate(&stream) || cudaMalloc((void **)&a, sizeof A) || cudaMalloc((void **)&b, sizeof B) ||
      cudaMalloc((void **)&c, sizeof C) || cudaMemcpyAsync(a, A, sizeof A, cudaMemcpyHostToDevice, stream) ||
      cudaMemcpyAsync(b, B, sizeof B, cudaMemcpyHostToDevice, stream) ||
      cudaMemcpyAsync(c, before, sizeof before, cudaMemcpyHostToDevice, stream))
    return fprintf(stderr, "submatrix: no GPU, or no memory on it\n"), 1;

  p.A = a + I * DEPTH + L;
  p.lda = DEPTH;
  p.B = b + L * COLS + J;
  p.ldb = COLS;
  p.C = c + I * COLS + J;
  p.ldc = COLS;
  p.beta = 1.0f;
  status = sgemm_run(&p, stream);
  if (status != SGEMM_SUCCESS)
    return fprintf(stderr, "submatrix: %s\n", sgemm_status_string(status)), 1;
  if (cudaMemcpyAsync(C, c, sizeof C, cudaMemcpyDeviceToHost, stream) || cudaStreamSynchronize(stream))
    return fprintf(stderr, "submatrix: the result did not come back\n"), 1;

  for (i = 0; i < ROWS; i++)
    for (j = 0; j < COLS; j++)
      wrong += !is_right(i, j);
  printf("a %d x %d block of a %d x %d matrix updated in place, %d of its %d elements wrong\n", M, N, ROWS, COLS, wrong,
         ROWS * COLS);
  cudaStreamDestroy(stream);
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
  return wrong != 0;
}
