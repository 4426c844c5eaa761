/* plane.h: operands of the tests of epilogues and reductions. */
#ifndef PLANE_H
#define PLANE_H

#include "tests/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A batch of matrices, or of vectors (n = 1), with NaN around every row and matrix. Element (0, 0) of matrix 0 has
   number `first`. It is aligned to 16 bytes if ld is a multiple of 4, else to 4 bytes. */
typedef struct plane {
  int64_t m, n, ld, stride, batch, count, first;
  int col_major;
  float *before, *after, *device;
} plane;

static const float POISON = NAN;

static int64_t plane_at(const plane *x, int64_t b, int64_t i, int64_t j) {
  return x->first + b * x->stride + (x->col_major ? j * x->ld + i : i * x->ld + j);
}

/* unit: elements are multiples of it, from -8 to 8 units; 0: NaN alone. */
static plane plane_make(int64_t m, int64_t n, int64_t batch, int col_major, int pad, float unit, unsigned *seed) {
  plane x;
  int64_t b, i, j;
  x.m = m;
  x.n = n;
  x.batch = batch;
  x.col_major = col_major;
  x.ld = (col_major ? m : n) + pad;
  x.stride = x.ld * (col_major ? n : m) + pad;
  x.first = x.ld % 4 == 0 ? 40 : 37;
  x.count = 2 * x.first + batch * x.stride;
  x.before = (float *)malloc((size_t)x.count * sizeof(float));
  x.after = (float *)malloc((size_t)x.count * sizeof(float));
  x.device = (float *)machine_alloc((size_t)x.count * sizeof(float));
  cr_assert(x.before != NULL && x.after != NULL && x.device != NULL, "no memory for an operand");
  for (i = 0; i < x.count; i++)
    x.before[i] = POISON;
  for (b = 0; b < batch; b++)
    for (i = 0; i < m; i++)
      for (j = 0; j < n; j++) {
        *seed = *seed * 1664525u + 1013904223u;
        if (unit != 0.0f)
          x.before[plane_at(&x, b, i, j)] = (float)((int)(*seed >> 16) % 17 - 8) * unit;
      }
  return x;
}

static float *plane_upload(plane *x) {
  cr_assert(machine_upload(x->device, x->before, (size_t)x->count * sizeof(float)) == 0, "upload failed");
  return x->device + x->first;
}

static void plane_download(plane *x) {
  cr_assert(machine_download(x->after, x->device, (size_t)x->count * sizeof(float)) == 0, "download failed");
}

/* 1 if what was downloaded is what was uploaded. */
static int plane_unchanged(const plane *x) {
  return memcmp(x->after, x->before, (size_t)x->count * sizeof(float)) == 0;
}

static void plane_free(plane *x) {
  free(x->before);
  free(x->after);
  machine_free(x->device);
}

/* op(X) of rows x cols as it is stored. */
static plane plane_make_op(int op, int64_t rows, int64_t cols, int64_t batch, int col_major, int pad, unsigned *seed) {
  return op == SGEMM_N ? plane_make(rows, cols, batch, col_major, pad, 1.0f, seed)
                       : plane_make(cols, rows, batch, col_major, pad, 1.0f, seed);
}

static double plane_op_element(const plane *x, int op, int64_t b, int64_t i, int64_t j) {
  return (double)x->before[op == SGEMM_N ? plane_at(x, b, i, j) : plane_at(x, b, j, i)];
}

#endif
