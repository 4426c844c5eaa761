/* queue.c: schedules the tiles of C on the GPUs. */
#include "adapters/host/queue.h"

#include <stdlib.h>

int sgemm_host__queue_make(sgemm_host__queue *queue, int64_t rows, int64_t cols) {
  int64_t i;
  queue->rows = rows;
  queue->cols = cols;
  queue->row = (sgemm_host__queue_row *)malloc((size_t)rows * sizeof *queue->row);
  if (queue->row == NULL)
    return 0;
  for (i = 0; i < rows; i++) {
    queue->row[i].first = 0;
    queue->row[i].end = cols;
    queue->row[i].taken = queue->row[i].backwards = 0;
  }
  pthread_mutex_init(&queue->lock, NULL);
  return 1;
}

void sgemm_host__queue_drop(sgemm_host__queue *queue) {
  if (queue->row != NULL)
    pthread_mutex_destroy(&queue->lock);
  free(queue->row);
  queue->row = NULL;
}

/* The lowest row that no GPU has taken, or -1. */
static int64_t untouched(const sgemm_host__queue *queue) {
  int64_t i;
  for (i = 0; i < queue->rows; i++)
    if (!queue->row[i].taken)
      return i;
  return -1;
}

static int64_t fullest(const sgemm_host__queue *queue) {
  int64_t i, best = 0;
  for (i = 1; i < queue->rows; i++)
    if (queue->row[i].end - queue->row[i].first > queue->row[best].end - queue->row[best].first)
      best = i;
  return best;
}

/* 1 if a row is begun at its last column by a GPU that was at column `col`. */
static int begins_at_end(int64_t col, int64_t cols) { return col > cols - 1 - col; }

int sgemm_host__queue_take(sgemm_host__queue *queue, sgemm_host__tile *tile) {
  sgemm_host__queue_row *row;
  int64_t i = tile->row;
  int backwards = tile->backwards, found;
  pthread_mutex_lock(&queue->lock);
  if (i < 0 || queue->row[i].first == queue->row[i].end) {
    const int64_t next = untouched(queue);
    const int64_t col = i < 0 ? 0 : tile->col;
    i = next >= 0 ? next : fullest(queue);
    backwards = next >= 0 ? begins_at_end(col, queue->cols) : !queue->row[i].backwards;
    if (next >= 0)
      queue->row[i].backwards = backwards;
    queue->row[i].taken = 1;
  }
  row = &queue->row[i];
  found = row->first < row->end;
  if (found) {
    tile->row = i;
    tile->backwards = backwards;
    tile->col = backwards ? --row->end : row->first++;
    tile->left = row->end - row->first;
    tile->next = untouched(queue);
    tile->cols = queue->cols;
  }
  pthread_mutex_unlock(&queue->lock);
  return found;
}

int64_t sgemm_host__next_use(const sgemm_host__tile *tile, int operand, int64_t block, int after) {
  const int64_t last = tile->backwards ? tile->col - tile->left : tile->col + tile->left;
  int64_t distance;
  if (operand == 0) {
    if (block == tile->row)
      return !after ? 0 : tile->left > 0 ? 1 : -1;
    return block == tile->next ? tile->left + 1 : -1;
  }
  distance = tile->backwards ? tile->col - block : block - tile->col;
  if (distance >= 0 && distance <= tile->left && (distance > 0 || !after))
    return distance;
  if (tile->next < 0)
    return -1;
  return tile->left + 1 + (begins_at_end(last, tile->cols) ? tile->cols - 1 - block : block);
}
