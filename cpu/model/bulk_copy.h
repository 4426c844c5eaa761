/* cpu/model/bulk_copy.h: bulk copies of the CPU model: consecutive bytes (cp.async.bulk) and boxes that a tensor map
   describes (cp.async.bulk.tensor). A bulk copy takes place when no thread of the block can run without one. From the
   issue to the copy the destination is unwritten, so the model reports a thread that reads it too early. */
#ifndef SGEMM_CPU_BULK_COPY_H
#define SGEMM_CPU_BULK_COPY_H

#include "cpu/model/barrier.h"

#include <stdlib.h>

/* ---- Issue ------------------------------------------------------------------------------------------------------- */

/* Adds a copy to the pending ones of the worker. */
static void sgemm__cpu_issue_bulk_copy(const sgemm__cpu_bulk_copy *copy) {
  sgemm__cpu_worker *w = sgemm__cpu;
  sgemm__cpu_check_waited(SGEMM__CPU_DEFERRED);
  sgemm__cpu_check_initialized(copy->mbarrier);
  if ((uintptr_t)copy->to % 16 != 0 || (uintptr_t)copy->from % 16 != 0 || copy->bytes % 16 != 0)
    sgemm__cpu_abort(SGEMM_ERROR_MISALIGNED, "a bulk copy whose addresses or size are not multiples of 16 bytes", NULL,
                     0);
  if (w->bulk_copy_count == w->bulk_copy_capacity) {
    const int capacity = w->bulk_copy_capacity > 0 ? 2 * w->bulk_copy_capacity : 64;
    sgemm__cpu_bulk_copy *copies = (sgemm__cpu_bulk_copy *)realloc(w->bulk_copies, (size_t)capacity * sizeof *copies);
    if (copies == NULL)
      sgemm__cpu_abort(SGEMM_ERROR_MEMORY, "no memory for the pending copies", NULL, 0);
    w->bulk_copies = copies;
    w->bulk_copy_capacity = capacity;
  }
  w->bulk_copies[w->bulk_copy_count++] = *copy;
  sgemm__count_bulk_copy(copy);
  sgemm__cpu_mark_unwritten((float *)copy->to, (size_t)copy->bytes / sizeof(float));
}

static inline void sgemm__copy_bulk(void *shared, const void *p, int bytes, sgemm__mbarrier *b) {
  const sgemm__cpu_bulk_copy copy = {
      .to = shared, .from = p, .bytes = bytes, .rows = 1, .row_bytes = bytes, .shared_stride = bytes, .mbarrier = b};
  sgemm__cpu_issue_bulk_copy(&copy);
}

typedef sgemm__tensor_map_shape sgemm__tensor_map;
#define SGEMM__MAKE_TENSOR_MAPS(args, shape, a, b)                                                                     \
  const sgemm__tensor_map a = sgemm__tensor_map_shape_of(&args.gemm, 0, shape.BM, shape.BK);                           \
  const sgemm__tensor_map b = sgemm__tensor_map_shape_of(&args.gemm, 1, shape.BN, shape.BK);

/* A matrix that no tensor map can describe is a misalignment. A box that begins before the first row or column, or in a
   matrix that the tensor map does not have, fails too: the hardware would write zeros, but no kernel means to. Elements
   outside of the matrix are zeros. */
static inline void sgemm__copy_box(float *shared, const sgemm__tensor_map *map, int x, int y, int matrix,
                                   sgemm__mbarrier *b) {
  const int64_t columns = sgemm__max(0, map->row_length - x < SGEMM__BOX ? map->row_length - x : SGEMM__BOX);
  const int64_t rows = sgemm__max(0, map->rows - y < map->box_rows ? map->rows - y : map->box_rows);
  sgemm__cpu_bulk_copy copy;
  if ((uintptr_t)map->first % 16 != 0 || map->ld % 4 != 0 || map->stride % 4 != 0)
    sgemm__cpu_abort(SGEMM_ERROR_MISALIGNED, "a copy by a tensor map of rows that do not start on 16 bytes", NULL, 0);
  if (x < 0 || y < 0 || matrix < 0 || matrix >= map->matrices)
    sgemm__cpu_abort(SGEMM_ERROR_MISALIGNED, "a copy by a tensor map that begins outside of its matrices", NULL, 0);
  copy = (sgemm__cpu_bulk_copy){.to = shared,
                                .from = map->first + matrix * map->stride + y * map->ld + x,
                                .bytes = 4 * SGEMM__BOX * map->box_rows,
                                .rows = (int)rows,
                                .row_bytes = 4 * (int)columns,
                                .shared_stride = 4 * SGEMM__BOX,
                                .global_stride = 4 * map->ld,
                                .swizzled = 1,
                                .mbarrier = b};
  sgemm__cpu_issue_bulk_copy(&copy);
}

/* ---- Completion -------------------------------------------------------------------------------------------------- */

/* Copies the rows of a bulk copy. The swizzle follows from the address in shared memory, as on the GPU. */
static void sgemm__cpu_copy_rows(const sgemm__cpu_bulk_copy *copy) {
  int row, at;
  for (row = 0; row < copy->rows; row++) {
    char *to = (char *)copy->to + row * copy->shared_stride;
    const char *from = (const char *)copy->from + row * copy->global_stride;
    for (at = 0; copy->swizzled && at < copy->row_bytes; at += 16)
      memcpy(to + (at ^ (uintptr_t)to / 128 % 8 * 16), from + at,
             (size_t)(copy->row_bytes - at < 16 ? copy->row_bytes - at : 16));
    if (!copy->swizzled)
      memcpy(to, from, (size_t)copy->row_bytes);
  }
}

/* Completes one pending bulk copy: the oldest one in forward order of the threads, the youngest one in backward order,
   any one in shuffled order. Returns 0 if none is pending. */
static int sgemm__cpu_complete_bulk_copy(sgemm__cpu_worker *w) {
  const sgemm_model_order order = w->grid->model.order;
  const uint32_t unwritten = SGEMM__CPU_UNWRITTEN;
  sgemm__cpu_bulk_copy copy;
  int i;
  if (w->bulk_copy_count == 0)
    return 0;
  i = order == SGEMM_MODEL_FORWARD    ? 0
      : order == SGEMM_MODEL_BACKWARD ? w->bulk_copy_count - 1
                                      : w->thread_order[0] % w->bulk_copy_count;
  copy = w->bulk_copies[i];
  memmove(&w->bulk_copies[i], &w->bulk_copies[i + 1], (size_t)(--w->bulk_copy_count - i) * sizeof *w->bulk_copies);
  memset(copy.to, 0, (size_t)copy.bytes);
  sgemm__cpu_copy_rows(&copy);
  /* A tile at an edge may copy rows that nobody has written. Where the heap reuses dynamic shared memory of an earlier
     launch, such rows can hold the mark of an unwritten word: zeros take its place. */
  for (i = 0; i < copy.bytes / 4; i++)
    if (memcmp((char *)copy.to + 4 * i, &unwritten, 4) == 0)
      memset((char *)copy.to + 4 * i, 0, 4);
  sgemm__cpu_mbarrier_complete(copy.mbarrier, 0, copy.bytes);
  return 1;
}

#endif /* SGEMM_CPU_BULK_COPY_H */
