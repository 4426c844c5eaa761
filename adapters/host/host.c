/* host.c: the calls of sgemm_host.h: checks, the case without products, and the start and end of a call's threads. */
#define _GNU_SOURCE /* sched_getaffinity() */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapters/host/lane.h"

enum { THREADS = 16, MOST_THREADS = 256, LEAST_STAGING = SGEMM_HOST__STAGINGS * 4096 };
static const int64_t STAGING = (int64_t)96 << 20;
static const int64_t LEAST_PREFAULT = (int64_t)4 << 20;

const char *sgemm_host_error_string(int status) {
  switch (status) {
#define SGEMM__X(symbol, sentence)                                                                                     \
  case symbol:                                                                                                         \
    return sentence;
    SGEMM_HOST_STATUS_LIST(SGEMM__X)
#undef SGEMM__X
  default:
    return sgemm_error_string((sgemm_status)status);
  }
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

static int check_options(const sgemm_host_options *o) {
  int i, j;
  if (o->memory_bytes < 0)
    return SGEMM_HOST_ERROR_MEMORY_LIMIT;
  if (o->device_count < 0 || o->device_count > SGEMM_HOST_MAX_DEVICES || (o->device_count > 0 && o->devices == NULL))
    return SGEMM_HOST_ERROR_DEVICES;
  for (i = 0; i < o->device_count; i++)
    for (j = 0; j <= i; j++)
      if (o->devices[i] < 0 || (j < i && o->devices[i] == o->devices[j]))
        return SGEMM_HOST_ERROR_DEVICES;
  if (o->block < 0)
    return SGEMM_HOST_ERROR_BLOCK;
  if (o->panel < 0)
    return SGEMM_HOST_ERROR_PANEL;
  if (o->threads < 0 || o->threads > MOST_THREADS)
    return SGEMM_HOST_ERROR_THREADS;
  return o->staging_bytes != 0 && o->staging_bytes < LEAST_STAGING ? (int)SGEMM_HOST_ERROR_STAGING : SGEMM_SUCCESS;
}

int sgemm_host_check(const sgemm_params *p, const sgemm_host_options *options) {
  const int status = sgemm_check(p);
  if (status != SGEMM_SUCCESS)
    return status;
  if (p->epilogue != SGEMM_EPILOGUE_none)
    return SGEMM_HOST_ERROR_EPILOGUE;
  if (p->D != NULL)
    return SGEMM_HOST_ERROR_D;
  if (p->alpha_device != NULL)
    return SGEMM_HOST_ERROR_ALPHA_DEVICE;
  if (p->beta_device != NULL)
    return SGEMM_HOST_ERROR_BETA_DEVICE;
  if (p->batch > 1)
    return SGEMM_HOST_ERROR_BATCH;
  if (p->workspace != NULL)
    return SGEMM_HOST_ERROR_WORKSPACE;
  if (p->prepared_a != NULL || p->prepared_b != NULL)
    return SGEMM_HOST_ERROR_PREPARED;
  return options == NULL ? (int)SGEMM_SUCCESS : check_options(options);
}

/* The same multiplication in row-major order: a column-major C = A B is a row-major C' = B' A'. */
static sgemm_params row_major(const sgemm_params *p) {
  sgemm_params r = *p;
  if (p->order == SGEMM_ROW_MAJOR)
    return r;
  r.order = SGEMM_ROW_MAJOR;
  r.op_a = p->op_b;
  r.op_b = p->op_a;
  r.m = p->n;
  r.n = p->m;
  r.A = p->B;
  r.lda = p->ldb;
  r.B = p->A;
  r.ldb = p->lda;
  return r;
}

/* The bytes from the first element of a matrix to its last. */
static int64_t span(int64_t rows, int64_t width, int64_t ld) { return 4 * ((rows - 1) * ld + width); }

/* Looks where an operand is. Returns 0 if it is in device memory. */
static int host_memory(const float *X, int64_t bytes, int *staged) {
  const sgemm_host__memory memory = sgemm_host__memory_of(X, bytes);
  *staged = memory != SGEMM_HOST__PINNED;
  return memory != SGEMM_HOST__DEVICE;
}

static int look_at_operands(sgemm_host__call *call) {
  const sgemm_params *p = &call->p;
  const int plain_a = p->op_a == SGEMM_N, plain_b = p->op_b == SGEMM_N;
  const int64_t a = span(plain_a ? p->m : p->k, plain_a ? p->k : p->m, p->lda);
  const int64_t b = span(plain_b ? p->k : p->n, plain_b ? p->n : p->k, p->ldb);
  const int a_there = host_memory(p->A, a, &call->staged_a), b_there = host_memory(p->B, b, &call->staged_b);
  if (!(call->col_major ? b_there : a_there))
    return SGEMM_HOST_ERROR_A;
  if (!(call->col_major ? a_there : b_there))
    return SGEMM_HOST_ERROR_B;
  return host_memory(p->C, span(p->m, p->n, p->ldc), &call->staged_c) ? (int)SGEMM_SUCCESS : SGEMM_HOST_ERROR_C;
}

/* ---- Without products -------------------------------------------------------------------------------------------- */

/* C = beta * C on the host: memory alone limits it, and the link to a GPU is slower than memory. */
static int scale(const sgemm_params *p) {
  int64_t i, j;
  if (sgemm_host__memory_of(p->C, span(p->m, p->n, p->ldc)) == SGEMM_HOST__DEVICE)
    return SGEMM_HOST_ERROR_C;
  for (i = 0; i < p->m; i++) {
    float *row = p->C + i * p->ldc;
    if (p->beta == 0.0f)
      memset(row, 0, (size_t)p->n * sizeof *row);
    else
      for (j = 0; j < p->n; j++)
        row[j] *= p->beta;
  }
  return SGEMM_SUCCESS;
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

/* Held while a call reads the free device memory, makes its plan and allocates. So of two calls at once the second
   plans with what the first has left. */
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;

typedef struct lanes {
  int count;
  sgemm_host__lane *lane[SGEMM_HOST_MAX_DEVICES];
} lanes;

static int take_lanes(const sgemm_host_options *o, int current, lanes *l) {
  const int wanted = o->device_count > 0 ? o->device_count : 1;
  int there = 0, i, status = sgemm_host__device_count(&there);
  for (i = 0; i < o->device_count && status == SGEMM_SUCCESS; i++)
    if (o->devices[i] >= there)
      return SGEMM_HOST_ERROR_DEVICES;
  while (l->count < wanted && status == SGEMM_SUCCESS) {
    const int device = o->device_count > 0 ? o->devices[l->count] : current;
    status = sgemm_host__device_set(device);
    if (status == SGEMM_SUCCESS)
      status = sgemm_host__lane_take(device, &l->lane[l->count]);
    l->count += status == SGEMM_SUCCESS;
  }
  return status;
}

/* The device memory that each GPU may use: the caller's limit, or 80 % of what is free on the fullest GPU. */
static int memory_limit(const sgemm_host_options *o, const lanes *l, int64_t *limit) {
  int i, status = SGEMM_SUCCESS;
  *limit = o->memory_bytes > 0 ? o->memory_bytes : INT64_MAX;
  for (i = 0; i < l->count && o->memory_bytes == 0 && status == SGEMM_SUCCESS; i++) {
    int64_t bytes = 0;
    status = sgemm_host__device_set(l->lane[i]->device);
    if (status == SGEMM_SUCCESS)
      status = sgemm_host__device_free_bytes(&bytes);
    bytes = (bytes + l->lane[i]->memory_bytes) / 5 * 4;
    *limit = bytes < *limit ? bytes : *limit;
  }
  return status;
}

/* The copying threads of a lane: what the caller asked for, or its share of the CPUs on which the caller may run. */
static int threads_of(const sgemm_host_options *o, int lanes) {
  int cpus = 0;
  if (o->threads > 0)
    return o->threads;
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    cpus = CPU_COUNT(&set);
#endif
  if (cpus == 0)
    cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
  return (int)sgemm__max(1, cpus / lanes < THREADS ? cpus / lanes : THREADS);
}

/* Gives each lane its memory and sets it to the beginning of the call. */
static int prepare_lanes(sgemm_host__call *call, const lanes *l) {
  const sgemm_host_options *o = call->options;
  const int64_t staging = o->staging_bytes > 0 ? o->staging_bytes : STAGING;
  const int staged = call->staged_a || call->staged_b || call->staged_c;
  const sgemm_host__plan *plan = &call->plan;
  const int threads = threads_of(o, l->count);
  int i, j, status = SGEMM_SUCCESS;
  for (i = 0; i < l->count && status == SGEMM_SUCCESS; i++) {
    sgemm_host__lane *lane = l->lane[i];
    status = sgemm_host__device_set(lane->device);
    if (status == SGEMM_SUCCESS)
      status = sgemm_host__lane_prepare(lane, plan, threads, staged ? staging : 0);
    if (status != SGEMM_SUCCESS)
      break;
    for (j = 0; j < plan->panels; j++) {
      lane->panel[j].memory = lane->memory + j * plan->panel_bytes;
      lane->panel[j].operand = -1;
    }
    for (j = 0; j < plan->results; j++) {
      lane->result[j].memory = lane->memory + plan->panels * plan->panel_bytes + j * plan->result_bytes;
      lane->result[j].state = 0;
    }
    lane->workspace = lane->memory + plan->panels * plan->panel_bytes + plan->results * plan->result_bytes;
    lane->call = call;
    lane->step = lane->begun = lane->stored = lane->bytes_in = lane->bytes_out = 0;
    lane->ended = lane->load_next = 0;
    lane->prefault.rows = 0;
  }
  return status;
}

/* Starts two threads for each lane and waits for them. The first lane's work is done by the caller's thread. */
static void run_threads(sgemm_host__call *call, const lanes *l) {
  int made = 0, i;
  const int wanted = 2 * l->count - 1;
  for (i = 0; made == i && i < wanted; i++) {
    sgemm_host__lane *lane = l->lane[(i + 1) / 2];
    made += i % 2 == 0 ? pthread_create(&lane->store_thread, NULL, sgemm_host__lane_store, l->lane[i / 2]) == 0
                       : pthread_create(&lane->run_thread, NULL, sgemm_host__lane_run, lane) == 0;
  }
  pthread_mutex_lock(&call->lock);
  call->started = made == wanted ? 1 : -1;
  if (call->started < 0)
    call->status = SGEMM_HOST_ERROR_THREAD;
  pthread_cond_broadcast(&call->changed);
  pthread_mutex_unlock(&call->lock);
  if (call->started > 0)
    sgemm_host__lane_run(l->lane[0]);
  for (i = 0; i < made; i++)
    pthread_join(i % 2 == 0 ? l->lane[(i + 1) / 2]->store_thread : l->lane[(i + 1) / 2]->run_thread, NULL);
}

/* Tells the first lane to prefault C. In newly allocated memory no page of C is there, and faults would take the time
   of the store, which at the end of a call nothing hides. With beta != 0 C is read, so its pages are there. A C of less
   than 4 MiB is left to the store, because it is few windows for many threads. The pool of the first lane prefaults for
   all lanes: a lane learns from the queue which rows it stores, tile by tile. */
static void plan_prefault(const sgemm_host__call *call, sgemm_host__lane *first) {
  const sgemm_params *p = &call->p;
  sgemm_host__copy *area = &first->prefault;
  memset(area, 0, sizeof *area);
  if (!call->staged_c || p->beta != 0.0f || 4 * p->m * p->n < LEAST_PREFAULT)
    return;
  area->to = (char *)p->C;
  area->to_pitch = 4 * (size_t)p->ldc;
  area->width = 4 * (size_t)p->n;
  area->rows = p->m;
}

/* Waits for what is still in the streams. After an error copies may be on their way, and they must not outlive the call
   or the lane. */
static void settle(sgemm_host__call *call, const lanes *l) {
  int i;
  for (i = 0; i < l->count; i++) {
    sgemm_host__lane *lane = l->lane[i];
    const sgemm_host__stream streams[3] = {lane->in, lane->multiply, lane->out};
    int j, status = sgemm_host__device_set(lane->device);
    for (j = 0; j < 3; j++) {
      const int synced = sgemm_host__stream_sync(streams[j]);
      status = status == SGEMM_SUCCESS ? synced : status;
    }
    if (status != SGEMM_SUCCESS)
      sgemm_host__fail(call, status);
    call->bytes_in += lane->bytes_in;
    call->bytes_out += lane->bytes_out;
  }
}

/* Computes a call whose lanes have their memory. */
static int compute(sgemm_host__call *call, const lanes *l) {
  const sgemm_host__plan *plan = &call->plan;
  call->done_in_row = (int64_t *)calloc((size_t)plan->tiles_m, sizeof *call->done_in_row);
  if (call->done_in_row == NULL || !sgemm_host__queue_make(&call->queue, plan->tiles_m, plan->tiles_n))
    return SGEMM_HOST_ERROR_HOST_MEMORY;
  pthread_mutex_init(&call->lock, NULL);
  pthread_cond_init(&call->changed, NULL);
  plan_prefault(call, l->lane[0]);
  run_threads(call, l);
  sgemm_host__pool_prefault_end(l->lane[0]->pool); /* the caller may free C when the call returns */
  settle(call, l);
  pthread_cond_destroy(&call->changed);
  pthread_mutex_destroy(&call->lock);
  return call->status;
}

static void write_result(const sgemm_host__call *call, sgemm_host_result *result) {
  const sgemm_host__plan *plan = &call->plan;
  int64_t rows = 0;
  result->tiles = plan->tiles_m * plan->tiles_n;
  result->tiles_done = call->tiles_done;
  while (call->done_in_row != NULL && rows < plan->tiles_m && call->done_in_row[rows] == plan->tiles_n)
    rows++;
  result->lines_done = rows * plan->block_m < call->p.m ? rows * plan->block_m : call->p.m;
  result->block_m = call->col_major ? plan->block_n : plan->block_m;
  result->block_n = call->col_major ? plan->block_m : plan->block_n;
  result->panel_k = plan->panel_k;
  result->panels = plan->panels;
  result->device_bytes = plan->bytes;
  result->bytes_in = call->bytes_in;
  result->bytes_out = call->bytes_out;
}

/* Makes the plan of a call and gives its lanes their memory. */
static int plan_and_allocate(sgemm_host__call *call, const lanes *l) {
  sgemm_host__limits limits;
  int status;
  limits.devices = l->count;
  limits.block = call->options->block;
  limits.panel = call->options->panel;
  limits.workspace = sgemm_host__workspace;
  pthread_mutex_lock(&memory_lock);
  status = memory_limit(call->options, l, &limits.memory_bytes);
  if (status == SGEMM_SUCCESS && !sgemm_host__plan_make(&call->p, &limits, &call->plan))
    status = SGEMM_HOST_ERROR_MEMORY_LIMIT;
  if (status == SGEMM_SUCCESS)
    status = prepare_lanes(call, l);
  pthread_mutex_unlock(&memory_lock);
  return status;
}

/* A call with products. current: the device of the calling thread. */
static int run_products(sgemm_host__call *call, int current, lanes *l) {
  int status = look_at_operands(call);
  if (status == SGEMM_SUCCESS)
    status = take_lanes(call->options, current, l);
  if (status == SGEMM_SUCCESS)
    status = plan_and_allocate(call, l);
  return status == SGEMM_SUCCESS ? compute(call, l) : status;
}

int sgemm_host_run(const sgemm_params *p, const sgemm_host_options *options, sgemm_host_result *result) {
  const sgemm_host_options defaults = sgemm_host_options_init();
  sgemm_host__call call;
  lanes l = {0, {NULL}};
  int status = sgemm_host_check(p, options), current = 0, i;
  if (result != NULL)
    memset(result, 0, sizeof *result);
  if (status != SGEMM_SUCCESS)
    return status;
  if (sgemm__is_noop(p)) {
    if (result != NULL)
      result->lines_done = p->order == SGEMM_COL_MAJOR ? p->n : p->m;
    return SGEMM_SUCCESS;
  }
  memset(&call, 0, sizeof call);
  call.p = row_major(p);
  call.col_major = p->order == SGEMM_COL_MAJOR;
  call.options = options != NULL ? options : &defaults;
  if (sgemm__has_no_products(p)) {
    status = scale(&call.p);
    if (status == SGEMM_SUCCESS && result != NULL)
      result->lines_done = call.p.m;
    return status;
  }
  status = sgemm_host__device_get(&current);
  if (status != SGEMM_SUCCESS)
    return status;
  status = run_products(&call, current, &l);
  if (result != NULL && call.plan.bytes > 0)
    write_result(&call, result);
  for (i = 0; i < l.count; i++) {
    sgemm_host__device_set(l.lane[i]->device);
    sgemm_host__lane_give(l.lane[i], status == SGEMM_SUCCESS || status == SGEMM_HOST_CANCELLED);
  }
  sgemm_host__device_set(current);
  sgemm_host__queue_drop(&call.queue);
  free(call.done_in_row);
  return status;
}
