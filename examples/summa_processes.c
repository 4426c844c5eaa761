/* summa_processes.c: the ranks of summa.h as processes of MPI. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime() */

#include "examples/summa.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

summa_world summa_start(int *argc, char ***argv) {
  summa_world world = {0, 1, 0, 1};
  MPI_Init(argc, argv);
  MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &world.first);
  return world;
}

void summa_each(summa_rank *ranks, int count, void (*body)(summa_rank *rank)) {
  (void)count; /* 1 */
  body(ranks);
}

double summa_max(double x) {
  double result = x;
  if (MPI_Allreduce(&x, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS) {
    fputs("summa: MPI_Allreduce failed\n", stderr);
    summa_abort(2);
  }
  return result;
}

int summa_stop(int status) {
  MPI_Finalize();
  return status;
}

_Noreturn void summa_abort(int status) {
  MPI_Abort(MPI_COMM_WORLD, status);
  abort(); /* MPI_Abort() does not return */
}
