/* lane.c: a tile's way through a GPU.

   The thread of a lane puts copies into the stream `in` and multiplications into the stream `multiply`, and runs ahead
   of the GPU until every result has a tile. Events order the two: a multiplication waits for the copies of its panels,
   and a copy waits for the last multiplication that reads the panel whose place it takes. The thread of stores takes
   finished tiles out on the stream `out`. */
#include "adapters/host/lane.h"

/* ---- Panels ------------------------------------------------------------------------------------------------------ */

/* Where a panel comes in the order of a tile. Neighbouring tiles go through k in opposite directions, so that a tile
   begins with the panels that the tile before had last. The direction depends on the tile alone, so that the order of
   summation does not depend on which GPU computes it. */
static int64_t position(int64_t panels_k, int64_t tile, int64_t index) {
  return tile % 2 == 0 ? index : panels_k - 1 - index;
}

/* Number of k-steps until the panel is used again, counted from step `at` of the tile. INT64_MAX: no known use. */
static int64_t steps_to_use(const sgemm_host__lane *lane, const sgemm_host__tile *tile, int64_t at,
                            const sgemm_host__panel *panel) {
  const int64_t panels_k = lane->call->plan.panels_k, parity = tile->row + tile->col;
  const int after = position(panels_k, parity, panel->index) < at;
  const int64_t tiles = sgemm_host__next_use(tile, panel->operand, panel->block, after);
  return tiles < 0 ? INT64_MAX : tiles * panels_k + position(panels_k, parity + tiles, panel->index) - at;
}

/* The panel buffer to reuse: an empty one, or else that of the panel which is used again last (Belady 1966), and among
   equals the one that was used longest ago. The panels of this step stay. Those of the step before go only if there is
   no other, because their multiplication has just begun. */
static sgemm_host__panel *place_for(const sgemm_host__lane *lane, const sgemm_host__tile *tile, int64_t at) {
  sgemm_host__panel *best = NULL;
  int64_t best_steps = -1;
  int best_recent = 1, i;
  for (i = 0; i < lane->call->plan.panels; i++) {
    sgemm_host__panel *panel = &lane->panel[i];
    int64_t steps;
    int recent;
    if (panel->operand < 0)
      return panel;
    if (panel->last == lane->step)
      continue;
    recent = panel->last == lane->step - 1;
    steps = steps_to_use(lane, tile, at, panel);
    if (best == NULL || recent < best_recent ||
        (recent == best_recent && (steps > best_steps || (steps == best_steps && panel->last < best->last)))) {
      best = panel;
      best_steps = steps;
      best_recent = recent;
    }
  }
  return best;
}

/* The rectangle of host memory that a panel is, and its copy to the panel's place. first, size: the panel's rows of A
   or columns of B; from, depth: its k. */
static sgemm_host__copy panel_copy(const sgemm_params *p, int operand, char *to, int64_t first, int64_t size,
                                   int64_t from, int64_t depth) {
  const float *X = operand == 0 ? p->A : p->B;
  const int64_t ld = operand == 0 ? p->lda : p->ldb;
  const int k_is_row = operand == 0 ? p->op_a != SGEMM_N : p->op_b == SGEMM_N; /* a stored row has one k */
  const int64_t width = k_is_row ? size : depth;
  sgemm_host__copy copy;
  copy.to = to;
  copy.to_pitch = 4 * (size_t)sgemm_host__pitch(width);
  copy.from = (const char *)(X + (k_is_row ? from * ld + first : first * ld + from));
  copy.from_pitch = 4 * (size_t)ld;
  copy.width = 4 * (size_t)width;
  copy.rows = k_is_row ? depth : size;
  return copy;
}

static int64_t part(int64_t size, int64_t block, int64_t i) {
  return size - i * block < block ? size - i * block : block;
}

/* Finds a panel on the device or loads it. at: the step of the tile. */
static int get_panel(sgemm_host__lane *lane, const sgemm_host__tile *tile, int64_t at, int operand, int64_t index,
                     sgemm_host__panel **out) {
  const sgemm_host__call *call = lane->call;
  const sgemm_host__plan *plan = &call->plan;
  const int64_t block = operand == 0 ? tile->row : tile->col;
  const int64_t size = operand == 0 ? call->p.m : call->p.n, unit = operand == 0 ? plan->block_m : plan->block_n;
  sgemm_host__copy copy;
  sgemm_host__panel *panel;
  int status = SGEMM_SUCCESS, i;
  for (i = 0; i < plan->panels; i++)
    if (lane->panel[i].operand == operand && lane->panel[i].block == block && lane->panel[i].index == index) {
      *out = &lane->panel[i];
      lane->panel[i].last = lane->step;
      return SGEMM_SUCCESS;
    }
  panel = *out = place_for(lane, tile, at);
  if (panel->operand >= 0)
    status = sgemm_host__event_wait(panel->used, lane->in);
  panel->operand = operand;
  panel->block = block;
  panel->index = index;
  panel->last = lane->step;
  copy = panel_copy(&call->p, operand, panel->memory, block * unit, part(size, unit, block), index * plan->panel_k,
                    part(call->p.k, plan->panel_k, index));
  if (status == SGEMM_SUCCESS)
    status = sgemm_host__load(lane, operand == 0 ? call->staged_a : call->staged_b, &copy);
  return status == SGEMM_SUCCESS ? sgemm_host__event_record(panel->loaded, lane->in) : status;
}

/* ---- Tiles ------------------------------------------------------------------------------------------------------- */

static sgemm_host__copy result_copy(const sgemm_host__call *call, const sgemm_host__tile *tile, char *memory, int in) {
  const sgemm_host__plan *plan = &call->plan;
  const int64_t rows = part(call->p.m, plan->block_m, tile->row), cols = part(call->p.n, plan->block_n, tile->col);
  const size_t pitch = 4 * (size_t)sgemm_host__pitch(cols), host_pitch = 4 * (size_t)call->p.ldc;
  char *host = (char *)(call->p.C + tile->row * plan->block_m * call->p.ldc + tile->col * plan->block_n);
  sgemm_host__copy copy;
  copy.to = in ? memory : host;
  copy.to_pitch = in ? pitch : host_pitch;
  copy.from = in ? host : memory;
  copy.from_pitch = in ? host_pitch : pitch;
  copy.width = 4 * (size_t)cols;
  copy.rows = rows;
  return copy;
}

/* Waits for the event of a copy in the stream of multiplications. */
static int after(sgemm_host__lane *lane, sgemm_host__event event, int status) {
  return status == SGEMM_SUCCESS ? sgemm_host__event_wait(event, lane->multiply) : status;
}

static int multiply_step(sgemm_host__lane *lane, sgemm_host__result *result, int64_t at) {
  const sgemm_host__call *call = lane->call;
  const sgemm_host__plan *plan = &call->plan;
  const sgemm_host__tile *tile = &result->tile;
  const int64_t index = position(plan->panels_k, tile->row + tile->col, at);
  sgemm_host__panel *a = NULL, *b = NULL;
  sgemm_params p = sgemm_host__tile_params(&call->p, part(call->p.m, plan->block_m, tile->row),
                                           part(call->p.n, plan->block_n, tile->col),
                                           part(call->p.k, plan->panel_k, index));
  int status;
  lane->step++;
  status = get_panel(lane, tile, at, 0, index, &a);
  if (status == SGEMM_SUCCESS)
    status = get_panel(lane, tile, at, 1, index, &b);
  if (status != SGEMM_SUCCESS)
    return status;
  p.A = (const float *)a->memory;
  p.B = (const float *)b->memory;
  p.C = (float *)result->memory;
  p.beta = at == 0 ? call->p.beta : 1.0f;
  p.workspace = plan->workspace_bytes > 0 ? lane->workspace : NULL;
  p.workspace_bytes = plan->workspace_bytes;
  status = after(lane, b->loaded, after(lane, a->loaded, SGEMM_SUCCESS));
  if (status == SGEMM_SUCCESS)
    status = sgemm_host__multiply(&p, lane->multiply);
  if (status == SGEMM_SUCCESS)
    status = sgemm_host__event_record(a->used, lane->multiply);
  return status == SGEMM_SUCCESS ? sgemm_host__event_record(b->used, lane->multiply) : status;
}

/* Puts the work on a tile into the streams. */
static int compute(sgemm_host__lane *lane, sgemm_host__result *result) {
  sgemm_host__call *call = lane->call;
  int status = SGEMM_SUCCESS;
  int64_t at;
  if (call->p.beta != 0.0f) {
    const sgemm_host__copy copy = result_copy(call, &result->tile, result->memory, 1);
    status = sgemm_host__load(lane, call->staged_c, &copy);
    if (status == SGEMM_SUCCESS)
      status = sgemm_host__event_record(result->loaded, lane->in);
    status = after(lane, result->loaded, status);
  }
  for (at = 0; at < call->plan.panels_k && status == SGEMM_SUCCESS; at++) {
    if (sgemm_host__stopped(call))
      return SGEMM_HOST_CANCELLED;
    status = multiply_step(lane, result, at);
  }
  return status == SGEMM_SUCCESS ? sgemm_host__event_record(result->computed, lane->multiply) : status;
}

/* The place for the next tile, when it is free. NULL: the call has stopped. */
static sgemm_host__result *free_result(sgemm_host__lane *lane) {
  sgemm_host__call *call = lane->call;
  sgemm_host__result *result = &lane->result[lane->begun % call->plan.results];
  pthread_mutex_lock(&call->lock);
  while (result->state != 0 && !call->stop)
    pthread_cond_wait(&call->changed, &call->lock);
  if (call->stop)
    result = NULL;
  pthread_mutex_unlock(&call->lock);
  return result;
}

/* ---- The threads of a lane --------------------------------------------------------------------------------------- */

int sgemm_host__fail(sgemm_host__call *call, int status) {
  pthread_mutex_lock(&call->lock);
  if (call->status == SGEMM_SUCCESS || call->status == SGEMM_HOST_CANCELLED)
    call->status = status;
  call->stop = 1;
  pthread_cond_broadcast(&call->changed);
  pthread_mutex_unlock(&call->lock);
  return status;
}

int sgemm_host__stopped(sgemm_host__call *call) {
  int stop;
  pthread_mutex_lock(&call->lock);
  stop = call->stop;
  pthread_mutex_unlock(&call->lock);
  return stop;
}

/* Waits until every thread of the call is there. Returns 0 if one is not. */
static int start(sgemm_host__lane *lane) {
  sgemm_host__call *call = lane->call;
  int started, status;
  pthread_mutex_lock(&call->lock);
  while (call->started == 0)
    pthread_cond_wait(&call->changed, &call->lock);
  started = call->started;
  pthread_mutex_unlock(&call->lock);
  status = started > 0 ? sgemm_host__device_set(lane->device) : SGEMM_SUCCESS;
  if (status != SGEMM_SUCCESS)
    sgemm_host__fail(call, status);
  return started > 0 && status == SGEMM_SUCCESS;
}

/* Begins to prefault, once the panels of a row of tiles are on their way. Until then the GPU waits for copies, and
   threads that clear pages would take the bandwidth of the memory from them. */
static void begin_prefault(sgemm_host__lane *lane) {
  if (lane->prefault.rows > 0)
    sgemm_host__pool_prefault(lane->pool, &lane->prefault);
  lane->prefault.rows = 0;
}

void *sgemm_host__lane_run(void *context) {
  sgemm_host__lane *lane = (sgemm_host__lane *)context;
  sgemm_host__call *call = lane->call;
  sgemm_host__tile tile = {-1, 0, 0, 0, 0, 0};
  int status = SGEMM_SUCCESS;
  if (start(lane))
    while (status == SGEMM_SUCCESS) {
      sgemm_host__result *result = free_result(lane);
      if (result == NULL || !sgemm_host__queue_take(&call->queue, &tile))
        break;
      result->tile = tile;
      result->state = 1;
      status = compute(lane, result);
      if (tile.left == 0)
        begin_prefault(lane);
      if (status == SGEMM_SUCCESS) {
        pthread_mutex_lock(&call->lock);
        lane->begun++;
        pthread_cond_broadcast(&call->changed);
        pthread_mutex_unlock(&call->lock);
      }
    }
  if (status != SGEMM_SUCCESS && status != SGEMM_HOST_CANCELLED)
    sgemm_host__fail(call, status);
  pthread_mutex_lock(&call->lock);
  lane->ended = 1;
  pthread_cond_broadcast(&call->changed);
  pthread_mutex_unlock(&call->lock);
  return NULL;
}

/* Counts a finished tile and tells the caller. A callback that cancels is not called again, and with the last tile
   there is nothing left to cancel. Called with the lock. */
static void finish(sgemm_host__call *call, const sgemm_host__tile *tile) {
  const sgemm_host__plan *plan = &call->plan;
  sgemm_host_progress now;
  int64_t line = tile->row * plan->block_m, column = tile->col * plan->block_n;
  int64_t lines = part(call->p.m, plan->block_m, tile->row), width = part(call->p.n, plan->block_n, tile->col);
  call->tiles_done++;
  call->done_in_row[tile->row]++;
  if (call->options->progress == NULL || call->status != SGEMM_SUCCESS)
    return;
  now.done = call->tiles_done;
  now.total = plan->tiles_m * plan->tiles_n;
  now.row = call->col_major ? column : line;
  now.col = call->col_major ? line : column;
  now.rows = call->col_major ? width : lines;
  now.cols = call->col_major ? lines : width;
  if (call->options->progress(call->options->context, &now) != 0 && now.done < now.total) {
    call->status = SGEMM_HOST_CANCELLED;
    call->stop = 1;
  }
}

void *sgemm_host__lane_store(void *context) {
  sgemm_host__lane *lane = (sgemm_host__lane *)context;
  sgemm_host__call *call = lane->call;
  if (!start(lane))
    return NULL;
  pthread_mutex_lock(&call->lock);
  for (;;) {
    sgemm_host__result *result = &lane->result[lane->stored % call->plan.results];
    int status;
    while (lane->stored == lane->begun && !lane->ended)
      pthread_cond_wait(&call->changed, &call->lock);
    if (lane->stored == lane->begun)
      break;
    status = call->status == SGEMM_HOST_CANCELLED ? SGEMM_SUCCESS : call->status;
    pthread_mutex_unlock(&call->lock);
    if (status == SGEMM_SUCCESS) {
      const sgemm_host__copy copy = result_copy(call, &result->tile, result->memory, 0);
      status = sgemm_host__event_wait(result->computed, lane->out);
      if (status == SGEMM_SUCCESS)
        status = sgemm_host__store(lane, call->staged_c, &copy, result->stored);
      if (status != SGEMM_SUCCESS)
        sgemm_host__fail(call, status);
    }
    pthread_mutex_lock(&call->lock);
    if (status == SGEMM_SUCCESS)
      finish(call, &result->tile);
    lane->stored++;
    result->state = 0;
    pthread_cond_broadcast(&call->changed);
  }
  pthread_mutex_unlock(&call->lock);
  return NULL;
}
