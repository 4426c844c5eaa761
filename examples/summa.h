/* summa.h: what summa.c needs of its ranks and of the transport of panels. A rank is a GPU with a place in a grid of
   p x q. A function that returns an int returns 0, or another value and a sentence in rank->error.

     program           ranks                transport
     summa_peer        summa_threads.c      summa_peer.c   one process, a thread for each GPU
     summa_nccl        summa_threads.c      summa_nccl.c   one process, a thread for each GPU
     summa_nccl_mpi    summa_processes.c    summa_nccl.c   a process of MPI for each GPU; -DSUMMA_MPI=1
     summa_cpu         summa_processes.c    summa_mpi.c    processes of MPI, each with the CPU model */
#ifndef SUMMA_H
#define SUMMA_H

#include <cuda_runtime.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h> /* a file that includes summa.h first defines _POSIX_C_SOURCE for clock_gettime() */

/* The ranks of a row exchange panels of A, those of a column panels of B. */
typedef enum summa_group { SUMMA_ROW, SUMMA_COLUMN } summa_group;

typedef struct summa_rank {
  int p, q, row, col; /* the grid, and the place of this rank, whose number is row * q + col */
  int device;         /* its GPU, which summa_open() sets */
  double timeout;     /* seconds that a rank waits for a panel or a product before it gives up */
  float *block[2];    /* for each group: the block of A, of B; set before the first broadcast of any rank */
  size_t ld[2];       /* elements from one row of the block to the next */
  void *comm[2];      /* what the transport has for each group; NULL: the rank is alone in the group */
  char error[256];
} summa_rank;

/* Writes the sentence of an error. */
static inline int summa_report(summa_rank *rank, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(rank->error, sizeof rank->error, format, arguments);
  va_end(arguments);
  return 1;
}

/* Seconds since some moment. */
static inline double summa_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whether the rank is the member `root` of the group. */
static inline int summa_is_root(const summa_rank *rank, summa_group group, int root) {
  return root == (group == SUMMA_ROW ? rank->col : rank->row);
}

/* For a transport that sends contiguous memory: the panel of a root without gaps between rows. It is the block's own
   memory where the panel has whole rows, and a copy in the buffer otherwise. NULL after an error. */
static inline float *summa_packed(summa_rank *rank, summa_group group, size_t at, size_t rows, size_t columns,
                                  float *buffer, cudaStream_t stream) {
  const size_t width = columns * sizeof(float), pitch = rank->ld[group] * sizeof(float);
  cudaError_t error;
  if (width == pitch)
    return rank->block[group] + at;
  error = cudaMemcpy2DAsync(buffer, width, rank->block[group] + at, pitch, width, rows, cudaMemcpyDeviceToDevice,
                            stream);
  if (error == cudaSuccess)
    return buffer;
  summa_report(rank, "the copy of a panel of %c: %s", "AB"[group], cudaGetErrorString(error));
  return NULL;
}

/* ---- Transport --------------------------------------------------------------------------------------------------- */

extern const char *const summa_transport; /* the name of the transport */

/* Connects the `count` ranks of this process with each other and with those of other processes. */
int summa_open(summa_rank *ranks, int count);

/* Brings a panel of rows x columns to the buffers of all members of the group but the root, in the order of the stream.
   The panel begins `at` elements after the first one of the root's block. In a buffer it has no gaps between rows. The
   root's buffer may be used to remove the gaps, and has no defined content. All members make the call. Every rank makes
   that for its row before that for its column, so that no two groups wait for each other. */
int summa_broadcast(summa_rank *rank, summa_group group, int root, size_t at, size_t rows, size_t columns,
                    float *buffer, cudaStream_t stream);

/* Ends the connections of a rank. `failed`: what was begun is given up. */
void summa_close(summa_rank *rank, int failed);

/* Reports an error that came up after a broadcast returned. A rank calls it while it waits. */
int summa_poll(summa_rank *rank);

/* ---- Ranks ------------------------------------------------------------------------------------------------------- */

typedef struct summa_world {
  int ranks, exact; /* how many ranks the grid may have; exact: and must have */
  int first;        /* the number of this process's first rank */
  int alone;        /* this process has one rank; otherwise it has all */
} summa_world;

summa_world summa_start(int *argc, char ***argv);

/* Calls body() for each rank of this process, for all at once. */
void summa_each(summa_rank *ranks, int count, void (*body)(summa_rank *rank));

/* The largest x of all ranks. Each rank calls it, and no call returns before the last one has begun. */
double summa_max(double x);

/* Ends the process when all ranks have done the same, or (abort) at once and with it all ranks. */
int summa_stop(int status);
_Noreturn void summa_abort(int status);

#endif
