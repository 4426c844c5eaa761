/* transfer.c: copies between host memory and the device.

   Pinned memory is copied by the device. Pageable memory goes through staging buffers of pinned memory: the copying
   threads fill one while the device copies those before. */
#include "adapters/host/lane.h"

/* The chunks of a rectangle, each of which fits a staging buffer: whole rows, or parts of one row. */
typedef struct chunks {
  const sgemm_host__copy *copy;
  int64_t width, rows;    /* bytes of a row of a chunk, and its rows */
  int64_t per_row, count; /* chunks that a row of the copy is cut into, and all chunks */
} chunks;

static chunks chunks_of(const sgemm_host__copy *copy, int64_t buffer_bytes) {
  chunks c;
  c.copy = copy;
  c.width = (int64_t)copy->width < buffer_bytes ? (int64_t)copy->width : buffer_bytes;
  c.rows = buffer_bytes / c.width;
  c.per_row = sgemm__ceil_div((int64_t)copy->width, c.width);
  c.count = c.per_row * sgemm__ceil_div(copy->rows, c.rows);
  return c;
}

/* Chunk i as a copy between the two sides of the whole copy. */
static sgemm_host__copy chunk(const chunks *c, int64_t i) {
  const int64_t col = i % c->per_row * c->width, row = i / c->per_row * c->rows;
  const int64_t width = (int64_t)c->copy->width - col, rows = c->copy->rows - row;
  sgemm_host__copy part = *c->copy;
  part.to += row * (int64_t)part.to_pitch + col;
  part.from += row * (int64_t)part.from_pitch + col;
  part.width = (size_t)(width < c->width ? width : c->width);
  part.rows = rows < c->rows ? rows : c->rows;
  return part;
}

static int64_t buffer_bytes(const sgemm_host__lane *lane) {
  return lane->staging_bytes / SGEMM_HOST__STAGINGS / 4096 * 4096;
}
static char *buffer_of(const sgemm_host__lane *lane, int buffer) {
  return lane->staging + (int64_t)buffer * buffer_bytes(lane);
}

/* A chunk on its way in: its buffer is filled by the job. */
typedef struct pending {
  sgemm_host__copy to_device;
  int buffer, job;
} pending;

/* Waits for the job of a chunk and hands the chunk to the device, unless there was an error. */
static int send(sgemm_host__lane *lane, const pending *p, int status) {
  sgemm_host__pool_wait(lane->pool, p->job);
  if (status == SGEMM_SUCCESS)
    status = sgemm_host__copy_in(&p->to_device, lane->in);
  return status != SGEMM_SUCCESS ? status : sgemm_host__event_record(lane->staging_event[p->buffer], lane->in);
}

static int load_staged(sgemm_host__lane *lane, const sgemm_host__copy *copy) {
  const chunks c = chunks_of(copy, buffer_bytes(lane));
  pending way[SGEMM_HOST__LOADS];
  int64_t begun = 0, sent = 0;
  int status = SGEMM_SUCCESS;
  while (begun < c.count && status == SGEMM_SUCCESS) {
    pending *p = &way[begun % SGEMM_HOST__LOADS];
    sgemm_host__copy to_buffer;
    if (begun - sent == SGEMM_HOST__LOADS)
      status = send(lane, &way[sent++ % SGEMM_HOST__LOADS], status);
    p->buffer = lane->load_next;
    if (status == SGEMM_SUCCESS)
      status = sgemm_host__event_sync(lane->staging_event[p->buffer]);
    if (status != SGEMM_SUCCESS)
      break;
    lane->load_next = (lane->load_next + 1) % SGEMM_HOST__LOADS;
    to_buffer = p->to_device = chunk(&c, begun);
    to_buffer.to = buffer_of(lane, p->buffer);
    to_buffer.to_pitch = to_buffer.width;
    p->to_device.from = to_buffer.to;
    p->to_device.from_pitch = to_buffer.width;
    p->job = sgemm_host__pool_begin(lane->pool, &to_buffer);
    begun++;
  }
  while (sent < begun)
    status = send(lane, &way[sent++ % SGEMM_HOST__LOADS], status);
  return status;
}

int sgemm_host__load(sgemm_host__lane *lane, int staged, const sgemm_host__copy *copy) {
  lane->bytes_in += (int64_t)copy->width * copy->rows;
  return staged ? load_staged(lane, copy) : sgemm_host__copy_in(copy, lane->in);
}

/* Waits for chunk i in its staging buffer and begins to copy it to its place. */
static int unload(sgemm_host__lane *lane, const chunks *c, int64_t i, int *job) {
  const int buffer = SGEMM_HOST__LOADS + (int)(i % SGEMM_HOST__STORES);
  const int status = sgemm_host__event_sync(lane->staging_event[buffer]);
  sgemm_host__copy part = chunk(c, i);
  part.from = buffer_of(lane, buffer);
  part.from_pitch = part.width;
  if (status == SGEMM_SUCCESS)
    *job = sgemm_host__pool_begin(lane->pool, &part);
  return status;
}

/* Up to half of the buffers are on the link, and the others are emptied. */
static int store_staged(sgemm_host__lane *lane, const sgemm_host__copy *copy) {
  const chunks c = chunks_of(copy, buffer_bytes(lane));
  int job[SGEMM_HOST__STORES], status = SGEMM_SUCCESS;
  int64_t issued, unloaded = 0, waited = 0;
  for (issued = 0; issued < c.count && status == SGEMM_SUCCESS; issued++) {
    const int buffer = SGEMM_HOST__LOADS + (int)(issued % SGEMM_HOST__STORES);
    sgemm_host__copy part = chunk(&c, issued);
    if (issued - waited == SGEMM_HOST__STORES)
      sgemm_host__pool_wait(lane->pool, job[waited++ % SGEMM_HOST__STORES]);
    part.to = buffer_of(lane, buffer);
    part.to_pitch = part.width;
    status = sgemm_host__copy_out(&part, lane->out);
    if (status == SGEMM_SUCCESS)
      status = sgemm_host__event_record(lane->staging_event[buffer], lane->out);
    if (status == SGEMM_SUCCESS && issued - unloaded >= SGEMM_HOST__STORES / 2) {
      status = unload(lane, &c, unloaded, &job[unloaded % SGEMM_HOST__STORES]);
      unloaded += status == SGEMM_SUCCESS;
    }
  }
  while (unloaded < issued && status == SGEMM_SUCCESS) {
    status = unload(lane, &c, unloaded, &job[unloaded % SGEMM_HOST__STORES]);
    unloaded += status == SGEMM_SUCCESS;
  }
  while (waited < unloaded)
    sgemm_host__pool_wait(lane->pool, job[waited++ % SGEMM_HOST__STORES]);
  return status;
}

int sgemm_host__store(sgemm_host__lane *lane, int staged, const sgemm_host__copy *copy, sgemm_host__event stored) {
  int status;
  lane->bytes_out += (int64_t)copy->width * copy->rows;
  if (staged)
    return store_staged(lane, copy);
  status = sgemm_host__copy_out(copy, lane->out);
  if (status == SGEMM_SUCCESS)
    status = sgemm_host__event_record(stored, lane->out);
  return status == SGEMM_SUCCESS ? sgemm_host__event_sync(stored) : status;
}
