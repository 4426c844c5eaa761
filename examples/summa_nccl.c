/* summa_nccl.c: the transport of summa.h by ncclBroadcast() between GPUs. Without SUMMA_MPI the ranks are threads of
   one process, and ncclCommInitAll() connects them. With SUMMA_MPI=1 each rank is a process. MPI carries the id by
   which the processes find each other. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime() */

#include "examples/summa.h"

#include <nccl.h>
#include <sched.h>
#include <stdlib.h>

const char *const summa_transport = "nccl";

static int nccl(summa_rank *rank, const char *what, ncclResult_t error) {
  if (error == ncclSuccess || error == ncclInProgress)
    return 0;
  return summa_report(rank, "%s: %s; NCCL_DEBUG=INFO tells more", what, ncclGetErrorString(error));
}

/* The calls of a communicator that does not block return ncclInProgress. Waits until such a call is done. */
static int settle(summa_rank *rank, const char *what, ncclComm_t comm, ncclResult_t result) {
  const double end = summa_now() + rank->timeout;
  while (result == ncclInProgress) {
    if (summa_now() > end)
      return summa_report(rank, "%s: another rank does not answer for %g s", what, rank->timeout);
    sched_yield();
    if (nccl(rank, "ncclCommGetAsyncError", ncclCommGetAsyncError(comm, &result)))
      return 1;
  }
  return nccl(rank, what, result);
}

#if SUMMA_MPI

#include <mpi.h>

/* Connects a rank with its row or column. */
static int connect_group(summa_rank *r, int group, int size, int color, int number) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclUniqueId id;
  ncclComm_t comm = NULL;
  ncclResult_t result;
  MPI_Comm members;
  config.blocking = 0; /* so that a rank can give up when another one does not answer */
  MPI_Comm_split(MPI_COMM_WORLD, color, number, &members);
  if (number == 0 && nccl(r, "ncclGetUniqueId", ncclGetUniqueId(&id)))
    return 1;
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, members);
  MPI_Comm_free(&members);
  result = ncclCommInitRankConfig(&comm, size, id, number, &config);
  r->comm[group] = comm;
  return settle(r, "ncclCommInitRankConfig", comm, result);
}

int summa_open(summa_rank *ranks, int count) {
  summa_rank *r = ranks;
  MPI_Comm host;
  int devices, on_host;
  (void)count; /* 1 */
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &on_host);
  MPI_Comm_rank(host, &r->device);
  MPI_Comm_free(&host);
  if (cudaGetDeviceCount(&devices) != cudaSuccess || on_host > devices)
    return summa_report(r, "%d ranks on a machine that has fewer GPUs", on_host);
  if (cudaSetDevice(r->device) != cudaSuccess)
    return summa_report(r, "GPU %d cannot be used", r->device);
  return (r->q > 1 && connect_group(r, SUMMA_ROW, r->q, r->row, r->col)) ||
         (r->p > 1 && connect_group(r, SUMMA_COLUMN, r->p, r->col, r->row));
}

#else

/* Connects `size` ranks, the first and each `step` after it. */
static int connect_group(summa_rank *first, int group, int size, int step) {
  ncclComm_t *comms = (ncclComm_t *)calloc((size_t)size, sizeof *comms);
  int *devices = (int *)calloc((size_t)size, sizeof *devices), i, failed;
  for (i = 0; i < size && devices != NULL; i++)
    devices[i] = first[i * step].device;
  failed = comms == NULL || devices == NULL ? summa_report(first, "out of memory on the host")
                                            : nccl(first, "ncclCommInitAll", ncclCommInitAll(comms, size, devices));
  for (i = 0; i < size && !failed; i++)
    first[i * step].comm[group] = comms[i];
  free(comms);
  free(devices);
  return failed;
}

int summa_open(summa_rank *ranks, int count) {
  const int p = ranks->p, q = ranks->q;
  int i, failed = 0;
  for (i = 0; i < count; i++)
    ranks[i].device = i;
  for (i = 0; i < p && q > 1 && !failed; i++)
    failed = connect_group(&ranks[i * q], SUMMA_ROW, q, 1);
  for (i = 0; i < q && p > 1 && !failed; i++)
    failed = connect_group(&ranks[i], SUMMA_COLUMN, p, q);
  return failed;
}

#endif

int summa_broadcast(summa_rank *rank, summa_group group, int root, size_t at, size_t rows, size_t columns,
                    float *buffer, cudaStream_t stream) {
  const ncclComm_t comm = (ncclComm_t)rank->comm[group];
  float *panel = buffer;
  if (summa_is_root(rank, group, root))
    panel = summa_packed(rank, group, at, rows, columns, buffer, stream);
  if (panel == NULL)
    return 1;
  return settle(rank, "ncclBroadcast", comm,
                ncclBroadcast(panel, panel, rows * columns, ncclFloat, root, comm, stream));
}

int summa_poll(summa_rank *rank) {
  int group;
  for (group = 0; group < 2; group++) {
    ncclResult_t result = ncclSuccess;
    if (rank->comm[group] != NULL &&
        (nccl(rank, "ncclCommGetAsyncError", ncclCommGetAsyncError((ncclComm_t)rank->comm[group], &result)) ||
         nccl(rank, "NCCL", result)))
      return 1;
  }
  return 0;
}

/* ncclCommAbort() ends broadcasts that wait on the GPU for a rank that has failed. */
void summa_close(summa_rank *rank, int failed) {
  int group;
  for (group = 0; group < 2; group++)
    if (rank->comm[group] != NULL && failed)
      ncclCommAbort((ncclComm_t)rank->comm[group]);
    else if (rank->comm[group] != NULL)
      ncclCommDestroy((ncclComm_t)rank->comm[group]);
}
