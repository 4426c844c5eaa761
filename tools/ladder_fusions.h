/* ladder_fusions.h: the lines of --epilogues: the call of production with each row of the table of epilogues, and with
   each reduction of the rows and of the columns. A new row of a table, a project's too, has a line without a change
   here. A fusion is an epilogue or a reduction. */
#ifndef LADDER_FUSIONS_H
#define LADDER_FUSIONS_H

#include "tools/epilogue_reference.h"
#include "tools/ladder_data.h"

/* What a fusion computes. */
typedef struct fusion {
  const char *names[MODE_COUNT];            /* of its line in each mode */
  const char *epilogue, *reduction, *along; /* NULL: none */
} fusion;

#define FUSION_NAMES(name)                                                                                             \
  { "production+" name, "production_tensor+" name, "production_tensor_full+" name }
#define EPILOGUE_ROW(name, reads, expression, what) {FUSION_NAMES(#name), #name, NULL, NULL},
#define REDUCTION_ROWS(name, what)                                                                                     \
  {FUSION_NAMES(#name "_rows"), NULL, #name, "rows"}, {FUSION_NAMES(#name "_columns"), NULL, #name, "columns"},
static const fusion fusions[FUSION_COUNT] = {SGEMM_EPILOGUES(EPILOGUE_ROW) SGEMM_REDUCTIONS(REDUCTION_ROWS)};

/* The fusion of a subject: an epilogue by its number, then the reductions. The plain call has the epilogue none, 0. */
static int fusion_of(subject s) {
  return s < SUBJECT_FUSED || s >= SUBJECT_COUNT ? SGEMM_EPILOGUE_none : 1 + (s - SUBJECT_FUSED) / MODE_COUNT;
}
static int is_reduction(subject s) { return fusion_of(s) >= SGEMM_EPILOGUE_COUNT; }
static int axis_of(subject s) { return (fusion_of(s) - SGEMM_EPILOGUE_COUNT) % 2 ? SGEMM_EACH_COLUMN : SGEMM_EACH_ROW; }
static int reduction_of(subject s) { return (fusion_of(s) - SGEMM_EPILOGUE_COUNT) / 2; }
static int has_indices(int reduction) { return reduction == SGEMM_REDUCTION_max || reduction == SGEMM_REDUCTION_min; }

/* The numbers of the sequences of the operands; A and B have 1 and 2. */
enum { SEED_E = 3, SEED_M, SEED_N };

/* Factor of the sums: the largest power of two that is at most 1 / sqrt(k), which makes the sums about as large as the
   activations of a layer. */
static float alpha_of(int64_t k) { return (float)exp2(floor(-0.5 * log2((double)k))); }

static const float clamp_s = -0.5f, clamp_t = 0.75f;

/* ---- Operands ---------------------------------------------------------------------------------------------------- */

/* p of the product whose rows are the columns of p's. */
static sgemm_params transposed(const sgemm_params *p) {
  sgemm_params t = *p;
  t.m = p->n;
  t.n = p->m;
  t.A = p->B;
  t.lda = p->ldb;
  t.stride_a = p->stride_b;
  t.op_a = p->op_b == SGEMM_N ? SGEMM_T : SGEMM_N;
  t.B = p->A;
  t.ldb = p->lda;
  t.stride_b = p->stride_a;
  t.op_b = p->op_a == SGEMM_N ? SGEMM_T : SGEMM_N;
  return t;
}

/* The number of values of a reduction, of all matrices. */
static int64_t values_of(const data *d, int axis) { return d->p.batch * (axis == SGEMM_EACH_ROW ? d->p.m : d->p.n); }

static void close_fusions(data *d) {
  int axis;
  machine_free(d->f.E);
  machine_free(d->f.aux);
  machine_free(d->f.vec_m);
  machine_free(d->f.vec_n);
  machine_free(d->f.values);
  machine_free(d->f.indices);
  for (axis = 0; axis < 2; axis++)
    free(d->f.sum[axis]);
  memset(&d->f, 0, sizeof d->f);
}

/* The reference sums of the rows that are compared, and of the columns. 0 is success. */
static int open_reference(data *d, int axis) {
  const sgemm_params p = axis == SGEMM_EACH_ROW ? d->p : transposed(&d->p);
  const size_t count = (size_t)(matrices_rows(&p) * p.n);
  d->f.sum[axis] = (double *)malloc(2 * count * sizeof(double));
  if (d->f.sum[axis] == NULL)
    return 1;
  d->f.size[axis] = d->f.sum[axis] + count;
  return matrices_sums(&p, d->f.sum[axis], d->f.size[axis]);
}

/* Makes the operands of all fusions, aux only if with_aux is 1. Each set has its own E and aux; all use the same
   vectors and values. 0 is success. */
static int open_fusions(data *d, int with_aux) {
  const size_t values = (size_t)sgemm__max(values_of(d, SGEMM_EACH_ROW), values_of(d, SGEMM_EACH_COLUMN));
  d->f.E = alloc_sets(d->pitch_c, d->sets);
  d->f.aux = with_aux ? alloc_sets(d->pitch_c, d->sets) : NULL;
  d->f.vec_m = alloc_sets((size_t)d->p.m, 1);
  d->f.vec_n = alloc_sets((size_t)d->p.n, 1);
  d->f.values = alloc_sets(values, 1);
  d->f.indices = (int64_t *)machine_alloc(values * sizeof(int64_t));
  return d->f.E == NULL || (with_aux && d->f.aux == NULL) || d->f.vec_m == NULL || d->f.vec_n == NULL ||
         d->f.values == NULL || d->f.indices == NULL ||
         matrices_fill(d->f.E, (size_t)d->sets * d->pitch_c, d->pitch_c, SEED_E) ||
         matrices_fill(d->f.vec_m, (size_t)d->p.m, (size_t)d->p.m, SEED_M) ||
         matrices_fill(d->f.vec_n, (size_t)d->p.n, (size_t)d->p.n, SEED_N) || open_reference(d, SGEMM_EACH_ROW) ||
         open_reference(d, SGEMM_EACH_COLUMN);
}

/* 1 if an epilogue stores aux. */
static int stores_aux(const data *d, int epilogue) {
  return d->f.aux != NULL && (sgemm_epilogue_reads((sgemm_epilogue)epilogue) & SGEMM_READS_aux) != 0;
}

/* Adds the operands of a subject's fusion to its params for set number `set`. A bias is along n. An epilogue that reads
   the old C reads E in its place, so that repeated calls have the same result. */
static void add_fusion(sgemm_params *p, subject s, const data *d, int set) {
  const size_t at = (size_t)set * d->pitch_c;
  uint32_t reads;
  if (fusion_of(s) == SGEMM_EPILOGUE_none)
    return;
  p->alpha = alpha_of(p->k);
  if (is_reduction(s))
    return;
  p->epilogue = fusion_of(s);
  reads = sgemm_epilogue_reads((sgemm_epilogue)p->epilogue);
  if (reads & SGEMM_READS_c) {
    p->D = p->C;
    p->C = d->f.E + at;
  }
  p->E = reads & SGEMM_READS_e ? d->f.E + at : NULL;
  p->aux = stores_aux(d, p->epilogue) ? d->f.aux + at : NULL;
  p->vec_m = reads & SGEMM_READS_vec_m ? d->f.vec_m : NULL;
  p->vec_n = reads & (SGEMM_READS_vec_n | SGEMM_READS_bias) ? d->f.vec_n : NULL;
  p->s = clamp_s;
  p->t = clamp_t;
}

/* The parameters of a subject's reduction. */
static sgemm_reduction_params reduction_params_of(subject s, const data *d) {
  sgemm_reduction_params r = {0, 0, NULL, NULL, 0};
  r.reduction = reduction_of(s);
  r.axis = axis_of(s);
  r.values = d->f.values;
  r.indices = has_indices(r.reduction) ? d->f.indices : NULL;
  r.stride = r.axis == SGEMM_EACH_ROW ? d->p.m : d->p.n;
  return r;
}

/* Sets all bits of what a fusion stores besides C, as spoil() does. 0 is success. */
static int spoil_fusion(subject s, const data *d) {
  if (!is_reduction(s) && stores_aux(d, fusion_of(s)))
    return machine_set(d->f.aux, 0xff, (size_t)d->sets * d->pitch_c * sizeof(float));
  return is_reduction(s) && (machine_set(d->f.values, 0xff, (size_t)values_of(d, axis_of(s)) * sizeof(float)) ||
                             (has_indices(reduction_of(s)) &&
                              machine_set(d->f.indices, 0xff, (size_t)values_of(d, axis_of(s)) * sizeof(int64_t))));
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* How far a sum may be from its dot product: alpha (k + 2) 2^-24 |A||B|, as for the plain call. */
static double sum_bound(const data *d, int axis, int64_t at) {
  return (double)alpha_of(d->p.k) * ((double)d->p.k + 2.0) * 0x1p-24 * d->f.size[axis][at];
}

/* |got - want| / bound; infinity for a NaN. */
static double over_bound(double got, double want, double bound) {
  const double ratio = fabs(got - want) / bound;
  return isnan(ratio) ? INFINITY : ratio;
}

/* The values of result (i, j) except the sum. element: its number in C. */
static epilogue_values values_at(uint32_t reads, int64_t i, int64_t j, int64_t element) {
  const double e = (double)matrices_number(SEED_E, (uint64_t)element);
  epilogue_values v = {0};
  v.vec_m = reads & SGEMM_READS_vec_m ? (double)matrices_number(SEED_M, (uint64_t)i) : 0.0;
  v.vec_n = reads & (SGEMM_READS_vec_n | SGEMM_READS_bias) ? (double)matrices_number(SEED_N, (uint64_t)j) : 0.0;
  v.bias = v.vec_m + v.vec_n;
  v.c = reads & SGEMM_READS_c ? e : 0.0;
  v.e = reads & SGEMM_READS_e ? e : 0.0;
  v.row = i;
  v.col = j;
  v.s = (double)clamp_s;
  v.t = (double)clamp_t;
  return v;
}

/* The error over its bound of a result and of its aux. v: its values; at: the number of its reference sum. The bound is
   how the expression changes while the sum moves within its own bound and the rounding of a bias, and the rounding of
   the expression. */
static double epilogue_over_bound(const data *d, int epilogue, epilogue_values *v, int64_t at, double got,
                                  double got_aux) {
  const double sum = (double)alpha_of(d->p.k) * d->f.sum[0][at];
  const double delta = sum_bound(d, SGEMM_EACH_ROW, at) + 0x1p-23 * fabs(v->bias);
  double result[3], aux[3], bound, worst;
  int side;
  for (side = -1; side <= 1; side++) {
    v->sum = sum + side * delta;
    result[side + 1] = epilogue_reference(epilogue, v);
    aux[side + 1] = v->aux;
  }
  bound = fmax(fabs(result[0] - result[1]), fabs(result[2] - result[1]));
  worst = over_bound(got, result[1], bound + epilogue_rounding(epilogue, v, result[1]));
  if (!stores_aux(d, epilogue))
    return worst;
  bound = fmax(fabs(aux[0] - aux[1]), fabs(aux[2] - aux[1]));
  return fmax(worst, over_bound(got_aux, aux[1], bound + epilogue_rounding(epilogue, v, aux[1])));
}

/* *worst: the largest error over its bound of an epilogue, in the rows that are compared. 0 is success. */
static int epilogue_error(const data *d, subject s, int set, double *worst) {
  const size_t at = (size_t)set * d->pitch_c, n = (size_t)d->p.n;
  const int64_t rows = matrices_rows(&d->p);
  const uint32_t reads = sgemm_epilogue_reads((sgemm_epilogue)fusion_of(s));
  const int has_aux = stores_aux(d, fusion_of(s));
  float *got = (float *)calloc(2 * n, sizeof(float)), *aux = got + n;
  int64_t number, j;
  int failed = got == NULL, found = 0, found_aux = 0;
  *worst = 0.0;
  for (number = 0; number < rows && !failed; number++) {
    const int64_t row = matrices_row(&d->p, rows, number), first = row * d->p.ldc;
    failed = machine_download(got, d->p.C + at + first, n * sizeof(float)) ||
             (has_aux && machine_download(aux, d->f.aux + at + first, n * sizeof(float)));
    for (j = 0; j < d->p.n && !failed; j++) {
      epilogue_values v = values_at(reads, row % d->p.m, j, first + j);
      *worst = fmax(*worst,
                    epilogue_over_bound(d, fusion_of(s), &v, number * d->p.n + j, (double)got[j], (double)aux[j]));
    }
  }
  free(got);
  failed = failed || matrices_find_nan(d->p.C + at, (size_t)(d->p.stride_c * d->p.batch), &found) ||
           (has_aux && matrices_find_nan(d->f.aux + at, (size_t)(d->p.stride_c * d->p.batch), &found_aux));
  if (found || found_aux)
    *worst = INFINITY;
  return failed;
}

/* The error over its bound of the value, and the index, that a reduction gives for `count` elements, whose reference
   sums begin at number `first`. An index is wrong if its element, within its bound, cannot be the extreme one. */
static double reduction_over_bound(const data *d, subject s, int64_t first, int64_t count, double got, int64_t index) {
  const int axis = axis_of(s), reduction = reduction_of(s), extreme = has_indices(reduction);
  const double sign = reduction == SGEMM_REDUCTION_min ? -1.0 : 1.0, alpha = (double)alpha_of(d->p.k);
  double want = extreme ? -INFINITY : 0.0, low = -INFINITY, high = -INFINITY, bound = 0.0, size = 0.0;
  int64_t i;
  for (i = 0; i < count; i++) {
    const double x = sign * alpha * d->f.sum[axis][first + i], delta = sum_bound(d, axis, first + i);
    const double term = reduction == SGEMM_REDUCTION_sum_squares ? x * x : x;
    want = extreme ? fmax(want, x) : want + term;
    low = fmax(low, x - delta);
    high = fmax(high, x + delta);
    bound += reduction == SGEMM_REDUCTION_sum_squares ? (2.0 * fabs(x) + delta) * delta : delta;
    size += fabs(term);
  }
  if (!extreme)
    return over_bound(got, want, bound + ((double)count + 1.0) * 0x1p-24 * size);
  if (index < 0 || index >= count ||
      sign * alpha * d->f.sum[axis][first + index] + sum_bound(d, axis, first + index) < low)
    return INFINITY;
  return over_bound(sign * got, want, fmax(high - want, want - low));
}

/* *worst: the largest error over its bound of a reduction, in the rows or columns that are compared. 0 is success. */
static int reduction_error(const data *d, subject s, double *worst) {
  const int axis = axis_of(s), extreme = has_indices(reduction_of(s));
  const sgemm_params p = axis == SGEMM_EACH_ROW ? d->p : transposed(&d->p);
  const int64_t rows = matrices_rows(&p);
  const size_t values = (size_t)values_of(d, axis);
  float *got = (float *)malloc(values * sizeof(float));
  int64_t *indices = (int64_t *)calloc(values, sizeof(int64_t)), number;
  const int failed = got == NULL || indices == NULL || machine_download(got, d->f.values, values * sizeof(float)) ||
                     (extreme && machine_download(indices, d->f.indices, values * sizeof(int64_t)));
  size_t i;
  *worst = 0.0;
  for (number = 0; number < rows && !failed; number++) {
    const int64_t row = matrices_row(&p, rows, number);
    *worst = fmax(*worst, reduction_over_bound(d, s, number * p.n, p.n, (double)got[row], indices[row]));
  }
  for (i = 0; i < values && !failed; i++)
    if (isnan(got[i]) || indices[i] < 0 || indices[i] >= p.n)
      *worst = INFINITY;
  free(got);
  free(indices);
  return failed;
}

/* *worst: the largest error of a subject's fusion over its bound. 0 is success. */
static int fusion_error(const data *d, subject s, int set, double *worst) {
  return is_reduction(s) ? reduction_error(d, s, worst) : epilogue_error(d, s, set, worst);
}

#endif
