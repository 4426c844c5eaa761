/* summa_peer.c: the transport of summa.h between GPUs of one process. Each rank copies the panel that it needs out of
   the block of the root. The copy engines of the GPUs do that, so the multiplications keep all SMs. Blocks of A and B
   do not change, so a copy waits for no other rank. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime() */

#include "examples/summa.h"

const char *const summa_transport = "peer";

/* Lets a GPU read the memory of another one. Where the machine cannot do that, CUDA copies through host memory. */
static int enable_access(summa_rank *rank, const summa_rank *other) {
  int can = 0;
  cudaError_t error = cudaSetDevice(rank->device);
  if (error == cudaSuccess)
    error = cudaDeviceCanAccessPeer(&can, rank->device, other->device);
  if (error == cudaSuccess && can)
    error = cudaDeviceEnablePeerAccess(other->device, 0);
  return error == cudaSuccess ? 0
                              : summa_report(rank, "access from GPU %d to GPU %d: %s", rank->device, other->device,
                                             cudaGetErrorString(error));
}

/* A row and a column have one rank in common at most, so no pair is connected twice. */
int summa_open(summa_rank *ranks, int count) {
  int i, j;
  for (i = 0; i < count; i++)
    ranks[i].device = i;
  for (i = 0; i < count; i++)
    for (j = 0; j < count; j++)
      if (i != j && (ranks[i].row == ranks[j].row || ranks[i].col == ranks[j].col) &&
          enable_access(&ranks[i], &ranks[j])) {
        if (i > 0) /* summa_open() reports in the first rank */
          summa_report(ranks, "%s", ranks[i].error);
        return 1;
      }
  return 0;
}

int summa_broadcast(summa_rank *rank, summa_group group, int root, size_t at, size_t rows, size_t columns,
                    float *buffer, cudaStream_t stream) {
  /* The ranks of a process are an array in the order of their numbers. */
  const summa_rank *from = group == SUMMA_ROW ? rank + (root - rank->col) : rank + (root - rank->row) * rank->q;
  const size_t width = columns * sizeof(float);
  struct cudaMemcpy3DPeerParms copy = {0};
  cudaError_t error;
  if (from == rank)
    return 0;
  copy.srcDevice = from->device;
  copy.srcPtr = make_cudaPitchedPtr(from->block[group] + at, from->ld[group] * sizeof(float), width, rows);
  copy.dstDevice = rank->device;
  copy.dstPtr = make_cudaPitchedPtr(buffer, width, width, rows);
  copy.extent = make_cudaExtent(width, rows, 1);
  error = cudaMemcpy3DPeerAsync(&copy, stream);
  return error == cudaSuccess
             ? 0
             : summa_report(rank, "the copy of a panel of %c: %s", "AB"[group], cudaGetErrorString(error));
}

/* An error of a copy comes up where the rank waits for its stream. */
int summa_poll(summa_rank *rank) { return (void)rank, 0; }

void summa_close(summa_rank *rank, int failed) { (void)rank, (void)failed; }
