/* ladder_data.h: the matrices of one problem, on the host and on the machine, and what their product should be. */
#ifndef LADDER_DATA_H
#define LADDER_DATA_H

#include "examples/ladder_options.h"
#include "examples/machine.h"

/* Rows of C that are compared, of the whole batch: all of a few, otherwise 32 evenly from the first to the last. */
enum { SAMPLED_ROWS = 32 };

typedef struct data {
  sgemm_params p;                   /* of the first set of matrices */
  int sets;                         /* of matrices on the machine: more than one for cold timing */
  size_t pitch_a, pitch_b, pitch_c; /* floats from one set to the next */
  float *C;                         /* the host's copy of a result */
  size_t count_c;
  int64_t rows;                  /* compared */
  double *reference, *magnitude; /* op(A) op(B) and |op(A)| |op(B)| in double: n a row compared */
} data;

/* Uniform in [-1, 1), a multiple of 2^-23: the upper bits of splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static void fill(float *x, size_t count, uint64_t seed) {
  size_t i;
  for (i = 0; i < count; i++) {
    uint64_t z = seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    x[i] = (float)((z ^ (z >> 31)) >> 40) * 0x1p-23f - 1.0f;
  }
}

/* Of the s-th row compared: its place among the batch * m rows of all results. */
static int64_t sampled_row(const data *d, int64_t s) {
  return d->rows == 1 ? 0 : s * (d->p.batch * d->p.m - 1) / (d->rows - 1);
}

static void compute_reference(const data *d, const float *A, const float *B) {
  const sgemm_params *p = &d->p;
  int64_t s, j, k;
  for (s = 0; s < d->rows; s++) {
    const int64_t z = sampled_row(d, s) / p->m, i = sampled_row(d, s) % p->m;
    const float *a = A + z * p->stride_a + (p->op_a == SGEMM_N ? i * p->lda : i);
    const int64_t step_a = p->op_a == SGEMM_N ? 1 : p->lda;
    const float *b = B + z * p->stride_b;
    double *sum = d->reference + s * p->n, *size = d->magnitude + s * p->n;
    for (j = 0; j < p->n; j++)
      sum[j] = size[j] = 0.0;
    /* The loop that walks along B's stored rows is the inner one. */
    if (p->op_b == SGEMM_N) {
      for (k = 0; k < p->k; k++)
        for (j = 0; j < p->n; j++) {
          const double product = (double)a[k * step_a] * b[k * p->ldb + j];
          sum[j] += product;
          size[j] += fabs(product);
        }
    } else {
      for (j = 0; j < p->n; j++)
        for (k = 0; k < p->k; k++) {
          const double product = (double)a[k * step_a] * b[j * p->ldb + k];
          sum[j] += product;
          size[j] += fabs(product);
        }
    }
  }
}

/* Copies of x, pitch floats apart, on the machine; NULL if there is no memory. */
static float *upload_sets(const float *x, size_t count, size_t pitch, int sets) {
  float *copies = (float *)machine_alloc((size_t)sets * pitch * sizeof *copies);
  int s;
  for (s = 0; copies != NULL && s < sets; s++)
    if (machine_upload(copies + (size_t)s * pitch, x, count * sizeof *x)) {
      machine_free(copies);
      return NULL;
    }
  return copies;
}

static void close_data(data *d) {
  machine_free((float *)d->p.A);
  machine_free((float *)d->p.B);
  machine_free(d->p.C);
  free(d->C);
  free(d->reference);
  free(d->magnitude);
}

/* As many sets as `passed` bytes take, but one. 0 is success. */
static int open_data(data *d, const problem *q, int64_t passed) {
  size_t count_a, count_b;
  float *A, *B;
  memset(d, 0, sizeof *d);
  d->p = sgemm_params_init(q->op[0] == 'N' ? SGEMM_N : SGEMM_T, q->op[1] == 'N' ? SGEMM_N : SGEMM_T, q->m, q->n, q->k);
  d->p.batch = q->batch;
  count_a = (size_t)(d->p.stride_a * q->batch);
  count_b = (size_t)(d->p.stride_b * q->batch);
  d->count_c = (size_t)(d->p.stride_c * q->batch);
  d->pitch_a = (count_a + 63) / 64 * 64; /* 256 bytes, as cudaMalloc aligns */
  d->pitch_b = (count_b + 63) / 64 * 64;
  d->pitch_c = (d->count_c + 63) / 64 * 64;
  d->sets = 1 + (int)(passed / (int64_t)((d->pitch_a + d->pitch_b + d->pitch_c) * sizeof(float)));
  d->rows = q->batch * q->m < SAMPLED_ROWS ? q->batch * q->m : SAMPLED_ROWS;
  A = (float *)malloc(count_a * sizeof *A);
  B = (float *)malloc(count_b * sizeof *B);
  d->C = (float *)malloc(d->count_c * sizeof *d->C);
  d->reference = (double *)malloc((size_t)(d->rows * q->n) * sizeof *d->reference);
  d->magnitude = (double *)malloc((size_t)(d->rows * q->n) * sizeof *d->magnitude);
  if (A != NULL && B != NULL && d->C != NULL && d->reference != NULL && d->magnitude != NULL) {
    fill(A, count_a, 1);
    fill(B, count_b, 2);
    compute_reference(d, A, B);
    d->p.A = upload_sets(A, count_a, d->pitch_a, d->sets);
    d->p.B = upload_sets(B, count_b, d->pitch_b, d->sets);
    d->p.C = (float *)machine_alloc((size_t)d->sets * d->pitch_c * sizeof *d->C);
  }
  free(A);
  free(B);
  if (d->p.A != NULL && d->p.B != NULL && d->p.C != NULL)
    return 0;
  close_data(d);
  return 1;
}

/* The parameters for set number s. */
static sgemm_params set_of(const data *d, int s) {
  sgemm_params p = d->p;
  p.A += (size_t)s * d->pitch_a;
  p.B += (size_t)s * d->pitch_b;
  p.C += (size_t)s * d->pitch_c;
  return p;
}

/* NaN in every result, so that what a kernel does not write is found. 0 is success. */
static int spoil(const data *d) {
  size_t i;
  int s, bad = 0;
  for (i = 0; i < d->count_c; i++)
    d->C[i] = NAN;
  for (s = 0; s < d->sets; s++)
    bad |= machine_upload(set_of(d, s).C, d->C, d->count_c * sizeof *d->C);
  return bad;
}

/* Of one set: the largest |error| in the rows compared in units of the bound (K + 2) 2^-24 |A||B| of a dot product of K
   FMAs and its epilogue (Higham, Accuracy and Stability, 3.1): up to 1 is right. NaN anywhere in C gives NaN. */
static int worst_error(const data *d, int set, double *worst) {
  const sgemm_params *p = &d->p;
  size_t i;
  int64_t s, j;
  if (machine_download(d->C, set_of(d, set).C, d->count_c * sizeof *d->C))
    return 1;
  *worst = 0.0;
  for (s = 0; s < d->rows; s++)
    for (j = 0; j < p->n; j++) {
      const double bound = (double)(p->k + 2) * 0x1p-24 * d->magnitude[s * p->n + j];
      const double error = fabs(d->C[sampled_row(d, s) * p->n + j] - d->reference[s * p->n + j]);
      const double ratio = error == 0.0 ? 0.0 : error / bound;
      if (!(ratio <= *worst))
        *worst = ratio;
    }
  for (i = 0; i < d->count_c; i++)
    if (isnan(d->C[i]))
      *worst = NAN;
  return 0;
}

#endif
