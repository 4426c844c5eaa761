/* device_cpu.c: device.h over the CPU model, for tests. A machine has any number of devices. Work is put into streams
   and done later, in an order that is as far from the order of the calls as the events allow, so that an event which
   nothing waits for shows in the result. New device memory and pinned memory hold NaN. */
#define _POSIX_C_SOURCE 200809L
#include "adapters/host/device_cpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "adapters/host/device.h"

sgemm_host__fake sgemm_host__fake_state = {
    1, (int64_t)1 << 30, 0, NULL, 0, 1, 0, 0, 0, 0, {0}, 0, 0, 0, 0, 0, {0}, {0}, 0, 0, 0, 0, 0, 0, {0}, 0};
#define fake sgemm_host__fake_state

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int current;

typedef struct stream stream;
typedef struct event {
  stream *of; /* NULL: never recorded */
  int64_t at; /* the event has happened when the stream has done so many entries */
} event;

typedef enum kind { COPY, MULTIPLY, RECORD, WAIT } kind;
typedef struct entry {
  kind kind;
  int fails;
  sgemm_host__copy copy;
  sgemm_params p;
  event awaited;
} entry;

struct stream {
  int device, early, status;
  entry *entries;
  int64_t put, done, capacity;
  stream *next;
};
static stream *all;

/* Counts a call. Called with the lock. Returns the status of the call. */
static int counted(sgemm_host__fake_call call) {
  fake.calls[call]++;
  return fake.fail_at > 0 && fake.fail_call == (int)call && fake.calls[call] >= fake.fail_at ? SGEMM_HOST__FAKE_ERROR
                                                                                             : SGEMM_SUCCESS;
}

static int counted_alone(sgemm_host__fake_call call) {
  int status;
  pthread_mutex_lock(&lock);
  status = counted(call);
  pthread_mutex_unlock(&lock);
  return status;
}

/* ---- Devices and memory ------------------------------------------------------------------------------------------ */

int sgemm_host__device_count(int *count) {
  *count = fake.devices;
  return counted_alone(SGEMM_HOST__FAKE_DEVICE);
}
int sgemm_host__device_get(int *device) {
  *device = current;
  return fake.devices == 0 ? (int)SGEMM_ERROR_CUDA + 100 : counted_alone(SGEMM_HOST__FAKE_DEVICE);
}
int sgemm_host__device_set(int device) {
  const int status = counted_alone(SGEMM_HOST__FAKE_DEVICE);
  if (status == SGEMM_SUCCESS)
    current = device;
  return status;
}
int sgemm_host__device_free_bytes(int64_t *bytes) {
  struct timespec t = {0, 0};
  int status;
  pthread_mutex_lock(&lock);
  *bytes = sgemm__max(0, fake.memory_bytes - fake.bytes_of[current % 16]);
  status = counted(SGEMM_HOST__FAKE_DEVICE);
  pthread_mutex_unlock(&lock);
  t.tv_nsec = 1000 * (long)fake.query_us;
  if (fake.query_us > 0)
    nanosleep(&t, NULL);
  return status;
}

/* Memory whose bytes are all 0xff. Its size and its device stand before it. */
enum { HEAD = 256 };
static void *make(int64_t bytes) {
  char *memory = (char *)aligned_alloc(HEAD, (size_t)((bytes + 2 * HEAD - 1) / HEAD * HEAD));
  if (memory == NULL)
    return NULL;
  memcpy(memory, &bytes, sizeof bytes);
  memcpy(memory + sizeof bytes, &current, sizeof current);
  memset(memory + HEAD, 0xff, (size_t)bytes);
  return memory + HEAD;
}
static int64_t drop(void *memory) {
  int64_t bytes;
  memcpy(&bytes, (char *)memory - HEAD, sizeof bytes);
  free((char *)memory - HEAD);
  return bytes;
}

int sgemm_host__alloc(void **memory, int64_t bytes) {
  int status;
  pthread_mutex_lock(&lock);
  status = counted(SGEMM_HOST__FAKE_ALLOC);
  *memory = status == SGEMM_SUCCESS && bytes <= fake.memory_bytes - fake.bytes_of[current % 16] ? make(bytes) : NULL;
  if (*memory != NULL) {
    fake.allocations++;
    fake.bytes += bytes;
    fake.bytes_of[current % 16] += bytes;
    if (bytes > fake.most_bytes)
      fake.most_bytes = bytes;
  } else if (status == SGEMM_SUCCESS)
    status = SGEMM_ERROR_CUDA + 2;
  pthread_mutex_unlock(&lock);
  return status;
}
void sgemm_host__free(void *memory) {
  int64_t bytes;
  int device;
  pthread_mutex_lock(&lock);
  memcpy(&device, (char *)memory - HEAD + sizeof bytes, sizeof device);
  bytes = drop(memory);
  fake.allocations--;
  fake.bytes -= bytes;
  fake.bytes_of[device % 16] -= bytes;
  pthread_mutex_unlock(&lock);
}

int sgemm_host__pin(void **memory, int64_t bytes) {
  int status;
  pthread_mutex_lock(&lock);
  status = counted(SGEMM_HOST__FAKE_PIN);
  *memory = status == SGEMM_SUCCESS ? make(bytes) : NULL;
  fake.pins += *memory != NULL;
  pthread_mutex_unlock(&lock);
  return status;
}
void sgemm_host__unpin(void *memory) {
  pthread_mutex_lock(&lock);
  fake.pins--;
  drop(memory);
  pthread_mutex_unlock(&lock);
}

sgemm_host__memory sgemm_host__memory_of(const void *p, int64_t bytes) {
  (void)bytes;
  return p != NULL && p == fake.on_device ? SGEMM_HOST__DEVICE
         : fake.pinned                    ? SGEMM_HOST__PINNED
                                          : SGEMM_HOST__PAGEABLE;
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

static void copy_rows(const sgemm_host__copy *c) {
  int64_t i;
  for (i = 0; i < c->rows; i++)
    memcpy(c->to + (size_t)i * c->to_pitch, c->from + (size_t)i * c->from_pitch, c->width);
}

/* Does the entries of a stream before `end`, and in other streams what they wait for. */
static void go_on(stream *s, int64_t end) {
  while (s->done < end) {
    const entry *e = &s->entries[s->done];
    const event awaited = e->awaited;
    if (e->kind == WAIT && awaited.of != NULL) {
      go_on(awaited.of, awaited.at);
      s->status = s->status != SGEMM_SUCCESS ? s->status : awaited.of->status;
    }
    e = &s->entries[s->done]; /* the stream may not have grown, but the compiler need not know it */
    if (s->status == SGEMM_SUCCESS && e->fails)
      s->status = SGEMM_HOST__FAKE_ERROR;
    if (s->status == SGEMM_SUCCESS && e->kind == COPY)
      copy_rows(&e->copy);
    if (s->status == SGEMM_SUCCESS && e->kind == MULTIPLY)
      s->status = sgemm_run(&e->p, NULL);
    s->done++;
  }
}

/* Lets a stream go on as the order wants. */
static void after_call(stream *s) {
  stream *other;
  int64_t streams = 0;
  if (s->put - s->done > fake.longest_queue)
    fake.longest_queue = s->put - s->done;
  if (fake.order == SGEMM_HOST__FAKE_EARLY_COPIES && s->early)
    go_on(s, s->put);
  if (fake.order != SGEMM_HOST__FAKE_RANDOM)
    return;
  fake.seed = fake.seed * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
  for (other = all; other != NULL; other = other->next)
    streams++;
  streams = (int64_t)((fake.seed >> 33) % (uint64_t)streams);
  for (other = all; streams > 0; streams--)
    other = other->next;
  if (other->done < other->put)
    go_on(other, other->done + 1);
}

/* Puts an entry into a stream. Called with the lock. */
static int put(stream *s, const entry *e) {
  if (s->put == s->capacity) {
    s->capacity = 2 * s->capacity + 64;
    s->entries = (entry *)realloc(s->entries, (size_t)s->capacity * sizeof *s->entries);
  }
  s->entries[s->put++] = *e;
  if (e->kind == MULTIPLY)
    s->early = 0;
  after_call(s);
  return SGEMM_SUCCESS;
}

static int put_counted(sgemm_host__fake_call call, sgemm_host__stream context, entry *e) {
  stream *s = (stream *)context;
  int status;
  pthread_mutex_lock(&lock);
  status = counted(call);
  if (status != SGEMM_SUCCESS && fake.fail_when_run && (e->kind == COPY || e->kind == MULTIPLY)) {
    e->fails = 1;
    status = SGEMM_SUCCESS;
  }
  if (status == SGEMM_SUCCESS)
    status = put(s, e);
  pthread_mutex_unlock(&lock);
  return status;
}

int sgemm_host__stream_make(sgemm_host__stream *out) {
  int status;
  *out = NULL;
  pthread_mutex_lock(&lock);
  status = counted(SGEMM_HOST__FAKE_STREAM);
  if (status == SGEMM_SUCCESS) {
    stream *s = (stream *)calloc(1, sizeof *s);
    s->device = current;
    s->early = 1;
    s->next = all;
    all = s;
    fake.streams++;
    fake.streams_of[current % 16]++;
    *out = s;
  }
  pthread_mutex_unlock(&lock);
  return status;
}
void sgemm_host__stream_drop(sgemm_host__stream context) {
  stream *s = (stream *)context, **link = &all;
  pthread_mutex_lock(&lock);
  go_on(s, s->put);
  while (*link != s)
    link = &(*link)->next;
  *link = s->next;
  free(s->entries);
  free(s);
  fake.streams--;
  pthread_mutex_unlock(&lock);
}
int sgemm_host__stream_sync(sgemm_host__stream context) {
  stream *s = (stream *)context;
  int status;
  pthread_mutex_lock(&lock);
  status = counted(SGEMM_HOST__FAKE_SYNC);
  go_on(s, s->put);
  status = status != SGEMM_SUCCESS ? status : s->status;
  pthread_mutex_unlock(&lock);
  return status;
}

int sgemm_host__event_make(sgemm_host__event *out) {
  int status;
  *out = NULL;
  pthread_mutex_lock(&lock);
  status = counted(SGEMM_HOST__FAKE_EVENT);
  if (status == SGEMM_SUCCESS) {
    *out = calloc(1, sizeof(event));
    fake.events++;
  }
  pthread_mutex_unlock(&lock);
  return status;
}
void sgemm_host__event_drop(sgemm_host__event e) {
  pthread_mutex_lock(&lock);
  free(e);
  fake.events--;
  pthread_mutex_unlock(&lock);
}
int sgemm_host__event_record(sgemm_host__event context, sgemm_host__stream s) {
  event *e = (event *)context;
  entry record;
  int status;
  memset(&record, 0, sizeof record);
  record.kind = RECORD;
  pthread_mutex_lock(&lock);
  status = counted(SGEMM_HOST__FAKE_RECORD);
  if (status == SGEMM_SUCCESS) {
    e->of = (stream *)s;
    e->at = e->of->put + 1;
    status = put(e->of, &record);
  }
  pthread_mutex_unlock(&lock);
  return status;
}
int sgemm_host__event_sync(sgemm_host__event context) {
  const event *e = (const event *)context;
  int status;
  pthread_mutex_lock(&lock);
  status = counted(SGEMM_HOST__FAKE_SYNC);
  if (e->of != NULL) {
    go_on(e->of, e->at);
    status = status != SGEMM_SUCCESS ? status : e->of->status;
  }
  pthread_mutex_unlock(&lock);
  return status;
}
int sgemm_host__event_wait(sgemm_host__event context, sgemm_host__stream s) {
  entry wait;
  memset(&wait, 0, sizeof wait);
  wait.kind = WAIT;
  pthread_mutex_lock(&lock);
  wait.awaited = *(const event *)context;
  pthread_mutex_unlock(&lock);
  return put_counted(SGEMM_HOST__FAKE_WAIT, s, &wait);
}

/* ---- Work -------------------------------------------------------------------------------------------------------- */

static entry copy_entry(const sgemm_host__copy *copy) {
  entry e;
  memset(&e, 0, sizeof e);
  e.kind = COPY;
  e.copy = *copy;
  return e;
}

int sgemm_host__copy_in(const sgemm_host__copy *copy, sgemm_host__stream s) {
  entry e = copy_entry(copy);
  pthread_mutex_lock(&lock);
  fake.copies_in++;
  fake.bytes_in += (int64_t)copy->width * copy->rows;
  pthread_mutex_unlock(&lock);
  return put_counted(SGEMM_HOST__FAKE_COPY_IN, s, &e);
}
int sgemm_host__copy_out(const sgemm_host__copy *copy, sgemm_host__stream s) {
  entry e = copy_entry(copy);
  pthread_mutex_lock(&lock);
  fake.copies_out++;
  fake.bytes_out += (int64_t)copy->width * copy->rows;
  pthread_mutex_unlock(&lock);
  return put_counted(SGEMM_HOST__FAKE_COPY_OUT, s, &e);
}

int sgemm_host__multiply(const sgemm_params *p, sgemm_host__stream s) {
  entry e;
  const int status = sgemm_check(p);
  memset(&e, 0, sizeof e);
  e.kind = MULTIPLY;
  e.p = *p;
  pthread_mutex_lock(&lock);
  fake.multiplications++;
  fake.multiplications_of[((stream *)s)->device % 16]++;
  pthread_mutex_unlock(&lock);
  return status != SGEMM_SUCCESS ? status : put_counted(SGEMM_HOST__FAKE_MULTIPLY, s, &e);
}
int64_t sgemm_host__workspace(const sgemm_params *p) {
  int64_t bytes = 0;
  return sgemm_workspace_query(p, &bytes) == SGEMM_SUCCESS ? bytes : 0;
}
