/* ladder_data.h: the matrices of one problem in device memory. */
#ifndef LADDER_DATA_H
#define LADDER_DATA_H

#include "tools/ladder_options.h"
#include "tools/machine.h"
#include "tools/matrices.h"

/* Operands of --epilogues (ladder_fusions.h), all NULL without it. aux: NULL with --no-aux. sum, size: the reference
   sums on the host, for each sgemm_axis. */
typedef struct fusion_operands {
  float *E, *aux, *vec_m, *vec_n, *values;
  int64_t *indices;
  double *sum[2], *size[2];
} fusion_operands;

typedef struct data {
  sgemm_params p;                   /* parameters for the first set of matrices */
  int sets;                         /* sets of matrices in device memory: more than one for L2-cold timing */
  size_t pitch_a, pitch_b, pitch_c; /* floats from one set to the next */
  fusion_operands f;
} data;

/* The plan that runs for a subject. NULL and NAN: the plan has no such field. */
typedef struct choice {
  const char *variant;
  double cluster_k, split_k, stream_k, serial_k;
} choice;

static choice no_choice(void) {
  const choice none = {NULL, NAN, NAN, NAN, NAN};
  return none;
}

/* The choice of a plan of sgemm_run(). A tensor plan names its tensor-core variant. */
static choice choice_of(const sgemm_plan *plan) {
  choice c = no_choice();
  if (plan->tensor != SGEMM_TENSOR_VARIANT_NONE) {
    c.variant = sgemm_tensor_variant_get(plan->tensor)->name;
    c.split_k = plan->split_k;
  } else if (plan->variant != SGEMM_VARIANT_NONE) {
    c.variant = sgemm_variant_get(plan->variant)->name;
    c.cluster_k = plan->cluster_k;
    c.split_k = plan->split_k;
    c.stream_k = plan->stream_k;
    c.serial_k = plan->serial_k;
  }
  return c;
}

/* Keeps a status of this library for the error message. 0 is success. */
static int keep_status(sgemm_status status, sgemm_status *kept) {
  *kept = status;
  return status != SGEMM_SUCCESS;
}

/* Rounds up to 256 bytes, the alignment of cudaMalloc(). */
static size_t pitch_of(int64_t floats) { return ((size_t)floats + 63) / 64 * 64; }

/* Memory for `sets` matrices; NULL if there is not enough. */
static float *alloc_sets(size_t pitch, int sets) {
  return (float *)machine_alloc((size_t)sets * pitch * sizeof(float));
}

static void close_data(data *d) {
  machine_free((float *)d->p.A);
  machine_free((float *)d->p.B);
  machine_free(d->p.C);
}

/* Makes one set, and as many further sets as fill `passed` bytes. 0 is success. */
static int open_data(data *d, const problem *q, float beta, int64_t passed) {
  memset(d, 0, sizeof *d);
  d->p = sgemm_params_init(q->op[0] == 'N' ? SGEMM_N : SGEMM_T, q->op[1] == 'N' ? SGEMM_N : SGEMM_T, q->m, q->n, q->k);
  d->p.batch = q->batch;
  d->p.beta = beta;
  d->pitch_a = pitch_of(d->p.stride_a * q->batch);
  d->pitch_b = pitch_of(d->p.stride_b * q->batch);
  d->pitch_c = pitch_of(d->p.stride_c * q->batch);
  d->sets = 1 + (int)(passed / (int64_t)((d->pitch_a + d->pitch_b + d->pitch_c) * sizeof(float)));
  d->p.A = alloc_sets(d->pitch_a, d->sets);
  d->p.B = alloc_sets(d->pitch_b, d->sets);
  d->p.C = alloc_sets(d->pitch_c, d->sets);
  if (d->p.A != NULL && d->p.B != NULL && d->p.C != NULL &&
      matrices_fill((float *)d->p.A, (size_t)d->sets * d->pitch_a, d->pitch_a, 1) == 0 &&
      matrices_fill((float *)d->p.B, (size_t)d->sets * d->pitch_b, d->pitch_b, 2) == 0)
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

/* Sets all bits of every result, which makes a NaN, so that a result that a kernel does not write is an error. If beta
   is not 0 the kernel reads C, and the results become 0. 0 is success. */
static int spoil(const data *d) {
  return machine_set(d->p.C, d->p.beta == 0.0f ? 0xff : 0, (size_t)d->sets * d->pitch_c * sizeof(float));
}

/* *error: the componentwise error of one set, over the rows of C that are compared. 0 is success. */
static int error_of(const data *d, int set, double *error) {
  const sgemm_params p = set_of(d, set);
  return matrices_error(&p, error);
}

#endif
