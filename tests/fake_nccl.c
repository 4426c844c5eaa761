/* fake_nccl.c: GPUs and NCCL on the CPU, for examples/summa*.c with threads as ranks. Work is put into streams. It is
   done while all ranks wait, one piece at a time, in an order that is as far from the order of the calls as the events
   allow. So an event that nothing waits for shows in the result. New memory holds NaN. Variables of the environment:

     FAKE_GPUS   the number of GPUs
     FAKE_ORDER  late: multiplications before copies; early: copies before multiplications; a number: the seed of a
                 random order
     FAKE_FAIL   CALL:N: the Nth call of a function fails. CALL is a word of `names`. stuck: the Nth broadcast never
                 ends; async: NCCL reports an error after its Nth broadcast; hang: the Nth of ncclCommInitAll() and
                 ncclBroadcast() does not return

   Link with --wrap=pthread_barrier_init and --wrap=pthread_barrier_wait. */
#define _GNU_SOURCE
#include "tests/fake_nccl.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum call {
  MALLOC,
  STREAM,
  EVENT,
  COPY,
  WAIT,
  RECORD,
  QUERY,
  MULTIPLY,
  RUN,
  INIT,
  BROADCAST,
  STUCK,
  ASYNC,
  PEER,
  HANG,
  CALLS
} call;
static const char *const names[CALLS] = {"malloc",    "stream", "event",    "copy", "wait",
                                         "record",    "query",  "multiply", "run",  "init",
                                         "broadcast", "stuck",  "async",    "peer", "hang"};

enum { MOST = 64, BYTES_LIMIT = 1 << 30 };

struct CUevent_st {
  cudaStream_t of; /* NULL: never recorded */
  int at;          /* the event has happened when the stream has done so many pieces */
};
typedef struct group group;
struct ncclComm {
  group *of;
  int member;
};
struct group {
  struct ncclComm members[MOST];
  int count, open;
};

typedef struct piece {
  call kind; /* COPY, WAIT, RECORD, MULTIPLY, BROADCAST */
  struct CUevent_st event;
  char *to;
  const char *from;
  size_t to_pitch, from_pitch, width, height;
  sgemm_params p;
  ncclComm_t comm;
  int root, stuck;
} piece;
struct CUstream_st {
  piece pieces[MOST]; /* a ring */
  int put, done, copies, device;
  cudaStream_t next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static cudaStream_t streams;
static _Thread_local int current;
static int ranks, polling, resting, round_of_work; /* resting: in a barrier */
static int count_of[CALLS];
static cudaError_t sticky; /* of a piece that failed when it ran */

static _Noreturn void stop(const char *what) {
  fprintf(stderr, "fake_nccl: %s\n", what);
  _Exit(9);
}

static int fails(call kind) {
  const char *text = getenv("FAKE_FAIL"), *colon = text != NULL ? strchr(text, ':') : NULL;
  count_of[kind]++;
  return colon != NULL && strncmp(text, names[kind], (size_t)(colon - text)) == 0 &&
         names[kind][colon - text] == '\0' && count_of[kind] == atoi(colon + 1);
}
static cudaError_t counted(call kind) {
  cudaError_t error;
  pthread_mutex_lock(&lock);
  error = fails(kind) ? cudaErrorFake : cudaSuccess;
  pthread_mutex_unlock(&lock);
  return error;
}

/* Does not return if this is the call that FAKE_FAIL names. */
static void hang(void) {
  if (counted(HANG) != cudaSuccess)
    for (;;)
      pause();
}

/* ---- The work of the streams; all with the lock ------------------------------------------------------------------ */

static int happened(const struct CUevent_st *event) { return event->of == NULL || event->of->done >= event->at; }

static piece *head(cudaStream_t s) { return s->done < s->put ? &s->pieces[s->done % MOST] : NULL; }

/* The stream of a member whose next piece is a broadcast of the group; NULL: there is none. */
static cudaStream_t stream_of(const struct ncclComm *member) {
  cudaStream_t s;
  for (s = streams; s != NULL; s = s->next)
    if (head(s) != NULL && head(s)->kind == BROADCAST && head(s)->comm == member)
      return s;
  return NULL;
}

static int runnable(cudaStream_t s) {
  const piece *x = head(s);
  int i;
  if (x == NULL || (x->kind == WAIT && !happened(&x->event)))
    return 0;
  for (i = 0; x->kind == BROADCAST && i < x->comm->of->count; i++) {
    cudaStream_t other = stream_of(&x->comm->of->members[i]);
    if (other == NULL || head(other)->stuck)
      return 0;
    if (head(other)->root != x->root || head(other)->width != x->width)
      stop("members of a broadcast differ in root or count");
  }
  return 1;
}

static void broadcast(const piece *x) {
  group *g = x->comm->of;
  const char *from = head(stream_of(&g->members[x->root]))->from;
  int i;
  for (i = 0; i < g->count; i++) {
    cudaStream_t s = stream_of(&g->members[i]);
    if (head(s)->to != from)
      memcpy(head(s)->to, from, x->width);
    s->done++;
  }
}

static void run(cudaStream_t s) {
  const piece *x = head(s);
  size_t row;
  if (x->kind == BROADCAST) {
    broadcast(x);
    return;
  }
  if (x->kind == COPY)
    for (row = 0; row < x->height; row++)
      memcpy(x->to + row * x->to_pitch, x->from + row * x->from_pitch, x->width);
  if (x->kind == MULTIPLY && (sgemm_run(&x->p, NULL) != SGEMM_SUCCESS || fails(RUN)))
    sticky = cudaErrorFake;
  s->done++;
}

/* How soon a stream's next piece is run, if it can: the lowest number first. */
static int turn(cudaStream_t s) {
  static unsigned state;
  const char *order = getenv("FAKE_ORDER");
  const piece *x = head(s);
  if (x->kind == WAIT || x->kind == RECORD)
    return -1;
  if (order == NULL || strcmp(order, "late") == 0)
    return s->copies;
  if (strcmp(order, "early") == 0)
    return !s->copies;
  if (state == 0)
    state = (unsigned)atoi(order) * 2654435761u + 1;
  state = state * 1664525u + 1013904223u;
  return (int)(state >> 8);
}

/* Runs one piece. */
static void work(void) {
  cudaStream_t s, best = NULL;
  int least = 0;
  for (s = streams; s != NULL; s = s->next)
    if (runnable(s)) {
      const int number = turn(s);
      if (best == NULL || number < least) {
        best = s;
        least = number;
      }
    }
  if (best != NULL)
    run(best);
  round_of_work++;
  pthread_cond_broadcast(&changed);
}

/* The caller waits or rests: when all ranks do, a piece is run. */
static void work_if_all_wait(void) {
  if (polling > 0 && polling + resting == ranks)
    work();
}

int __real_pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *a, unsigned count);
int __wrap_pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *a, unsigned count);
int __wrap_pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *a, unsigned count) {
  ranks = (int)count;
  return __real_pthread_barrier_init(b, a, count);
}
int __real_pthread_barrier_wait(pthread_barrier_t *b);
int __wrap_pthread_barrier_wait(pthread_barrier_t *b);
int __wrap_pthread_barrier_wait(pthread_barrier_t *b) {
  pthread_mutex_lock(&lock);
  if (++resting == ranks)
    resting = 0; /* all are released */
  else
    work_if_all_wait();
  pthread_mutex_unlock(&lock);
  return __real_pthread_barrier_wait(b);
}

static piece *put(cudaStream_t s, call kind) {
  piece *x = &s->pieces[s->put % MOST];
  if (s->put - s->done == MOST)
    stop("the host is too far ahead of the GPU");
  memset(x, 0, sizeof *x);
  x->kind = kind;
  s->put++;
  return x;
}

static void check_idle(void) {
  cudaStream_t s;
  for (s = streams; s != NULL; s = s->next)
    if (s->device == current && head(s) != NULL)
      stop("work is left on a GPU");
}

/* ---- The CUDA runtime -------------------------------------------------------------------------------------------- */

const char *cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : error == cudaErrorFake ? "a fake error" : "no error";
}
cudaError_t cudaGetDeviceCount(int *count) { return *count = atoi(getenv("FAKE_GPUS")), cudaSuccess; }
cudaError_t cudaSetDevice(int device) {
  current = device;
  return device < atoi(getenv("FAKE_GPUS")) ? cudaSuccess : cudaErrorFake;
}
cudaError_t cudaDeviceSynchronize(void) {
  pthread_mutex_lock(&lock);
  check_idle();
  pthread_mutex_unlock(&lock);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  return *least = 0, *greatest = -5, cudaSuccess;
}

cudaError_t cudaMalloc(void **pointer, size_t bytes) {
  *pointer = NULL;
  if (counted(MALLOC) != cudaSuccess || bytes > BYTES_LIMIT)
    return cudaErrorMemoryAllocation;
  if (bytes > 0)
    memset(*pointer = malloc(bytes), 0xff, bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void *pointer) { return free(pointer), cudaSuccess; }
cudaError_t cudaMemset(void *pointer, int byte, size_t bytes) { return memset(pointer, byte, bytes), cudaSuccess; }
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) {
  return (void)kind, memcpy(to, from, bytes), cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                              size_t height, enum cudaMemcpyKind kind, cudaStream_t stream) {
  piece *x;
  int failed;
  (void)kind;
  pthread_mutex_lock(&lock);
  failed = fails(COPY);
  x = put(stream, COPY);
  x->to = (char *)to;
  x->from = (const char *)from;
  x->to_pitch = to_pitch;
  x->from_pitch = from_pitch;
  x->width = width;
  x->height = height;
  pthread_mutex_unlock(&lock);
  return failed ? cudaErrorFake : cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
  return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}

struct cudaPitchedPtr make_cudaPitchedPtr(void *pointer, size_t pitch, size_t width, size_t height) {
  return (struct cudaPitchedPtr){pointer, pitch, width, height};
}
struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
  return (struct cudaExtent){width, height, depth};
}
cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *copy, cudaStream_t stream) {
  if (copy->dstDevice != current || copy->srcDevice == current || copy->extent.depth != 1)
    stop("a copy between GPUs with wrong arguments");
  return cudaMemcpy2DAsync(copy->dstPtr.ptr, copy->dstPtr.pitch, copy->srcPtr.ptr, copy->srcPtr.pitch,
                           copy->extent.width, copy->extent.height, cudaMemcpyDeviceToDevice, stream);
}
/* GPUs whose numbers differ by 3 cannot access each other. */
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int other) {
  *can = device - other != 3 && other - device != 3;
  return device == other ? cudaErrorFake : cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int other, unsigned flags) {
  static unsigned char enabled[MOST][MOST];
  if (flags != 0 || enabled[current][other]++ || other - current == 3 || current - other == 3)
    return cudaErrorFake;
  return counted(PEER);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
  *stream = (cudaStream_t)calloc(1, sizeof **stream);
  (*stream)->copies = priority < 0;
  (*stream)->device = current;
  if (flags != cudaStreamNonBlocking)
    stop("a stream waits for the default stream");
  pthread_mutex_lock(&lock);
  (*stream)->next = streams;
  streams = *stream;
  pthread_mutex_unlock(&lock);
  return counted(STREAM);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  cudaStream_t *at;
  pthread_mutex_lock(&lock);
  if (head(stream) != NULL)
    stop("a stream with work is destroyed");
  for (at = &streams; *at != stream; at = &(*at)->next)
    ;
  *at = stream->next;
  pthread_mutex_unlock(&lock);
  free(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  int failed;
  (void)flags;
  pthread_mutex_lock(&lock);
  failed = fails(WAIT);
  put(stream, WAIT)->event = *event;
  pthread_mutex_unlock(&lock);
  return failed ? cudaErrorFake : cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  (void)flags;
  *event = (cudaEvent_t)calloc(1, sizeof **event);
  return counted(EVENT);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return free(event), cudaSuccess; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  int failed;
  pthread_mutex_lock(&lock);
  failed = fails(RECORD);
  put(stream, RECORD);
  event->of = stream;
  event->at = stream->put;
  pthread_mutex_unlock(&lock);
  return failed ? cudaErrorFake : cudaSuccess;
}
/* Blocks until all ranks wait and a piece has been run. */
cudaError_t cudaEventQuery(cudaEvent_t event) {
  cudaError_t error;
  const int before = (pthread_mutex_lock(&lock), round_of_work);
  if (!happened(event)) {
    polling++;
    work_if_all_wait();
    while (round_of_work == before)
      pthread_cond_wait(&changed, &lock);
    polling--;
  }
  error = fails(QUERY)            ? cudaErrorFake
          : sticky != cudaSuccess ? sticky
          : happened(event)       ? cudaSuccess
                                  : cudaErrorNotReady;
  pthread_mutex_unlock(&lock);
  return error;
}

sgemm_status fake_multiply(const sgemm_params *p, cudaStream_t stream) {
  sgemm_status status = sgemm_check(p);
  pthread_mutex_lock(&lock);
  if (fails(MULTIPLY))
    status = SGEMM_ERROR_WORKSPACE;
  put(stream, MULTIPLY)->p = *p;
  pthread_mutex_unlock(&lock);
  return status;
}

/* ---- NCCL -------------------------------------------------------------------------------------------------------- */

const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "a fake error of NCCL";
}

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int count, const int *devices) {
  group *g = (group *)calloc(1, sizeof *g);
  int i, j;
  hang();
  g->count = g->open = count;
  for (i = 0; i < count; i++) {
    for (j = 0; j < i; j++)
      if (devices[i] == devices[j])
        stop("a GPU is twice in a communicator");
    g->members[i].of = g;
    g->members[i].member = i;
    comms[i] = &g->members[i];
  }
  if (counted(INIT) == cudaSuccess)
    return ncclSuccess;
  free(g);
  return ncclUnhandledCudaError;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  pthread_mutex_lock(&lock);
  if (--comm->of->open == 0)
    free(comm->of);
  pthread_mutex_unlock(&lock);
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  static int told;
  (void)comm;
  pthread_mutex_lock(&lock);
  if (!told++)
    fprintf(stderr, "fake_nccl: aborted\n");
  pthread_mutex_unlock(&lock);
  return ncclSuccess;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result) {
  static int broken;
  (void)comm;
  pthread_mutex_lock(&lock);
  while (count_of[ASYNC] < count_of[BROADCAST])
    broken |= fails(ASYNC);
  *result = broken ? ncclRemoteError : ncclSuccess;
  pthread_mutex_unlock(&lock);
  return ncclSuccess;
}
ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  piece *x;
  int failed;
  hang();
  if (type != ncclFloat || count == 0 || root < 0 || root >= comm->of->count)
    stop("a broadcast with wrong arguments");
  pthread_mutex_lock(&lock);
  failed = fails(BROADCAST);
  x = put(stream, BROADCAST);
  x->from = (const char *)from;
  x->to = (char *)to;
  x->width = count * sizeof(float);
  x->root = root;
  x->comm = comm;
  x->stuck = fails(STUCK);
  pthread_mutex_unlock(&lock);
  return failed ? ncclUnhandledCudaError : ncclSuccess;
}
