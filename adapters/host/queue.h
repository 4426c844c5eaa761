/* queue.h: the tiles of C that no GPU has taken yet. */
#ifndef SGEMM_HOST_QUEUE_H
#define SGEMM_HOST_QUEUE_H

#include <pthread.h>
#include <stdint.h>

typedef struct sgemm_host__queue_row {
  int64_t first, end; /* the columns of tiles that are left */
  int taken;          /* 1: a GPU works in this row */
  int backwards;      /* 1: that GPU takes columns from the end */
} sgemm_host__queue_row;

typedef struct sgemm_host__queue {
  pthread_mutex_t lock;
  int64_t rows, cols;
  sgemm_host__queue_row *row;
} sgemm_host__queue;

/* A tile, and what the GPU will probably take next: the rest of its row, and then the row `next`. */
typedef struct sgemm_host__tile {
  int64_t row, col;
  int64_t left; /* tiles of the row behind this one */
  int backwards;
  int64_t next; /* -1: there is none */
  int64_t cols; /* tiles of a row */
} sgemm_host__tile;

/* Returns 0 if there is no memory. */
int sgemm_host__queue_make(sgemm_host__queue *queue, int64_t rows, int64_t cols);
void sgemm_host__queue_drop(sgemm_host__queue *queue);

/* Takes the next tile of a GPU. *tile is its last one, with row -1 before the first. A GPU walks along a row, whose
   panels of A it keeps, and then begins the next row at the column where it is, whose panels of B it has. If
   every row has been started, it helps with the row that has most tiles left, from the opposite end. Returns 0 if no
   tile is left. */
int sgemm_host__queue_take(sgemm_host__queue *queue, sgemm_host__tile *tile);

/* In how many tiles from `tile` on a GPU uses the row `block` of A (operand 0) or the column `block` of B (operand 1):
   0 for this tile, -1 for never. */
int64_t sgemm_host__next_use(const sgemm_host__tile *tile, int operand, int64_t block, int after);

#endif /* SGEMM_HOST_QUEUE_H */
