/* resources.c: the memory, streams, events and threads of a lane, kept from call to call. Their making costs
   milliseconds, above all that of pinned memory (about 0.3 ms for each MiB). */
#include <stdlib.h>

#include "adapters/host/lane.h"

/* Device memory that a lane keeps for the next call. */
#define KEPT_BYTES ((int64_t)2 << 30)

static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static sgemm_host__lane *kept;

static void drop_memory(sgemm_host__lane *lane) {
  if (lane->memory != NULL)
    sgemm_host__free(lane->memory);
  lane->memory = NULL;
  lane->memory_bytes = 0;
}

static void drop_staging(sgemm_host__lane *lane) {
  if (lane->staging != NULL)
    sgemm_host__unpin(lane->staging);
  lane->staging = NULL;
  lane->staging_bytes = 0;
}

static void drop_event(sgemm_host__event event) {
  if (event != NULL)
    sgemm_host__event_drop(event);
}

static void drop_stream(sgemm_host__stream stream) {
  if (stream != NULL)
    sgemm_host__stream_drop(stream);
}

/* Frees a lane. The device of the thread is the lane's. */
static void drop(sgemm_host__lane *lane) {
  int i;
  drop_memory(lane);
  drop_staging(lane);
  for (i = 0; i < SGEMM_HOST__STAGINGS; i++)
    drop_event(lane->staging_event[i]);
  for (i = 0; i < lane->panels; i++) {
    drop_event(lane->panel[i].loaded);
    drop_event(lane->panel[i].used);
  }
  for (i = 0; i < 3; i++) {
    drop_event(lane->result[i].loaded);
    drop_event(lane->result[i].computed);
    drop_event(lane->result[i].stored);
  }
  drop_stream(lane->in);
  drop_stream(lane->multiply);
  drop_stream(lane->out);
  sgemm_host__pool_drop(lane->pool);
  free(lane->panel);
  free(lane);
}

static int make(sgemm_host__lane *lane) {
  int status = sgemm_host__stream_make(&lane->in), i;
  if (status == SGEMM_SUCCESS)
    status = sgemm_host__stream_make(&lane->multiply);
  if (status == SGEMM_SUCCESS)
    status = sgemm_host__stream_make(&lane->out);
  for (i = 0; i < SGEMM_HOST__STAGINGS && status == SGEMM_SUCCESS; i++)
    status = sgemm_host__event_make(&lane->staging_event[i]);
  for (i = 0; i < 9 && status == SGEMM_SUCCESS; i++) {
    sgemm_host__result *result = &lane->result[i / 3];
    status = sgemm_host__event_make(i % 3 == 0 ? &result->loaded : i % 3 == 1 ? &result->computed : &result->stored);
  }
  return status;
}

int sgemm_host__lane_take(int device, sgemm_host__lane **lane) {
  sgemm_host__lane **link;
  int status;
  pthread_mutex_lock(&kept_lock);
  for (link = &kept; *link != NULL && (*link)->device != device; link = &(*link)->next)
    ;
  *lane = *link;
  if (*lane != NULL)
    *link = (*lane)->next;
  pthread_mutex_unlock(&kept_lock);
  if (*lane != NULL)
    return SGEMM_SUCCESS;
  *lane = (sgemm_host__lane *)calloc(1, sizeof **lane);
  if (*lane == NULL)
    return SGEMM_HOST_ERROR_HOST_MEMORY;
  (*lane)->device = device;
  status = make(*lane);
  if (status == SGEMM_SUCCESS)
    return SGEMM_SUCCESS;
  drop(*lane);
  *lane = NULL;
  return status;
}

static int more_panels(sgemm_host__lane *lane, int panels) {
  static const sgemm_host__panel empty = {NULL, -1, 0, 0, 0, NULL, NULL};
  sgemm_host__panel *grown;
  int status = SGEMM_SUCCESS;
  if (panels <= lane->panels)
    return SGEMM_SUCCESS;
  grown = (sgemm_host__panel *)realloc(lane->panel, (size_t)panels * sizeof *grown);
  if (grown == NULL)
    return SGEMM_HOST_ERROR_HOST_MEMORY;
  lane->panel = grown;
  while (lane->panels < panels && status == SGEMM_SUCCESS) {
    sgemm_host__panel *panel = &lane->panel[lane->panels];
    *panel = empty;
    status = sgemm_host__event_make(&panel->loaded);
    if (status == SGEMM_SUCCESS)
      status = sgemm_host__event_make(&panel->used);
    if (status == SGEMM_SUCCESS)
      lane->panels++;
    else
      drop_event(panel->loaded);
  }
  return status;
}

int sgemm_host__lane_prepare(sgemm_host__lane *lane, const sgemm_host__plan *plan, int threads, int64_t staging_bytes) {
  int status = more_panels(lane, plan->panels);
  if (status == SGEMM_SUCCESS && lane->memory_bytes < plan->bytes) {
    drop_memory(lane);
    status = sgemm_host__alloc((void **)&lane->memory, plan->bytes);
    lane->memory_bytes = status == SGEMM_SUCCESS ? plan->bytes : 0;
  }
  if (status == SGEMM_SUCCESS && staging_bytes > 0 && lane->staging_bytes != staging_bytes) {
    drop_staging(lane);
    status = sgemm_host__pin((void **)&lane->staging, staging_bytes);
    lane->staging_bytes = status == SGEMM_SUCCESS ? staging_bytes : 0;
  }
  if (status == SGEMM_SUCCESS && staging_bytes > 0 && (lane->pool == NULL || lane->threads != threads)) {
    sgemm_host__pool_drop(lane->pool);
    lane->pool = sgemm_host__pool_make(threads);
    lane->threads = threads;
    status = lane->pool == NULL ? (int)SGEMM_HOST_ERROR_HOST_MEMORY : (int)SGEMM_SUCCESS;
  }
  return status;
}

void sgemm_host__lane_give(sgemm_host__lane *lane, int healthy) {
  const sgemm_host__lane *other;
  if (lane->memory_bytes > KEPT_BYTES)
    drop_memory(lane);
  pthread_mutex_lock(&kept_lock);
  for (other = kept; other != NULL && other->device != lane->device; other = other->next)
    ;
  if (healthy && other == NULL) {
    lane->next = kept;
    kept = lane;
    lane = NULL;
  }
  pthread_mutex_unlock(&kept_lock);
  if (lane != NULL)
    drop(lane);
}

void sgemm_host_release(void) {
  sgemm_host__lane *lane;
  int device = 0;
  const int restore = sgemm_host__device_get(&device) == SGEMM_SUCCESS;
  pthread_mutex_lock(&kept_lock);
  lane = kept;
  kept = NULL;
  pthread_mutex_unlock(&kept_lock);
  while (lane != NULL) {
    sgemm_host__lane *next = lane->next;
    sgemm_host__device_set(lane->device);
    drop(lane);
    lane = next;
  }
  if (restore)
    sgemm_host__device_set(device);
}
