/* summa_mpi.c: the transport of summa.h by MPI, on buffers in host memory. A broadcast is complete when it returns, as
   every call of the CPU model is. So it needs no stream, and nothing overlaps. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime(), sched_yield() */

#include "examples/summa.h"

#include <mpi.h>
#include <sched.h>
#include <stdlib.h>

const char *const summa_transport = "mpi";

/* An error of MPI as a sentence. */
static int mpi(summa_rank *rank, const char *what, int error) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length;
  if (error == MPI_SUCCESS)
    return 0;
  MPI_Error_string(error, text, &length);
  return summa_report(rank, "%s: %s", what, text);
}

int summa_open(summa_rank *ranks, int count) {
  summa_rank *r = ranks;
  const int size[2] = {r->q, r->p}, color[2] = {r->row, r->col}, number[2] = {r->col, r->row};
  int group;
  (void)count; /* 1 */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (group = 0; group < 2; group++)
    if (size[group] > 1) {
      MPI_Comm *comm = (MPI_Comm *)malloc(sizeof *comm);
      if (comm == NULL)
        return summa_report(r, "out of memory on the host");
      r->comm[group] = comm;
      if (mpi(r, "MPI_Comm_split", MPI_Comm_split(MPI_COMM_WORLD, color[group], number[group], comm)))
        return 1;
    }
  return 0;
}

/* MPI_Ibcast() and MPI_Test() instead of MPI_Bcast(), which would wait for ever for a rank that does not answer. */
static int broadcast(summa_rank *rank, MPI_Comm comm, int root, float *buffer, int count) {
  const double end = summa_now() + rank->timeout;
  MPI_Request request;
  int done = 0;
  if (mpi(rank, "MPI_Ibcast", MPI_Ibcast(buffer, count, MPI_FLOAT, root, comm, &request)))
    return 1;
  while (!done) {
    if (mpi(rank, "MPI_Test", MPI_Test(&request, &done, MPI_STATUS_IGNORE)))
      return 1;
    if (!done && summa_now() > end)
      return summa_report(rank, "no panel came for %g s; another rank does not answer", rank->timeout);
    sched_yield();
  }
  return 0;
}

int summa_broadcast(summa_rank *rank, summa_group group, int root, size_t at, size_t rows, size_t columns,
                    float *buffer, cudaStream_t stream) {
  const size_t most = (size_t)1 << 30, count = rows * columns; /* the count of MPI is an int */
  float *panel = buffer;
  size_t begin;
  if (summa_is_root(rank, group, root))
    panel = summa_packed(rank, group, at, rows, columns, buffer, stream);
  if (panel == NULL)
    return 1;
  for (begin = 0; begin < count; begin += most) {
    const int part = (int)(count - begin < most ? count - begin : most);
    if (broadcast(rank, *(MPI_Comm *)rank->comm[group], root, panel + begin, part))
      return 1;
  }
  return 0;
}

int summa_poll(summa_rank *rank) { return (void)rank, 0; }

void summa_close(summa_rank *rank, int failed) {
  int group;
  for (group = 0; group < 2 && !failed; group++)
    if (rank->comm[group] != NULL) {
      MPI_Comm_free((MPI_Comm *)rank->comm[group]);
      free(rank->comm[group]);
    }
}
