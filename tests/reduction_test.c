/* Tests of reductions: every kind, axis, order and op, epilogues before, batches, and each size of workspace, against
   sums in double and a search in the order of the indices. */
#include "tests/plane.h"

/* ---- A call ------------------------------------------------------------------------------------------------------ */

typedef struct call {
  int reduction, axis, order, op_a, op_b, epilogue, mode, stores, pad;
  int64_t m, n, k, batch;
  float alpha, beta;
  int wants;        /* 1: values, 2: indices, 3: both */
  int nans;         /* every so-manyth element of E is NaN; 0: none */
  int nan_operands; /* 1: elements of A and B are NaN and Inf */
  int whole;        /* 1: vec_m and vec_n begin at multiples of 16 bytes, if m and n are multiples of 4 */
  int scalars_on_device;
  int dense_vectors;   /* 1: those of a matrix follow those of the matrix before */
  int without_vectors; /* 1: vec_m is NULL, 2: vec_n is, 3: both, for epilogues that need none */
  int64_t workspace;
} call;

typedef struct operands {
  plane A, B, C, D, E, vec_m, vec_n, values;
  int64_t *indices, *device_indices;
  float *scalars; /* alpha and beta on the device */
  int64_t count;  /* results of a matrix */
} operands;

static double relu(double x) { return x < 0.0 ? 0.0 : x; } /* NaN for NaN */

/* The element (i, j) of the result in double. All operands are small multiples of powers of two, so it is exact. */
static double result_element(const call *c, const operands *o, int64_t b, int64_t i, int64_t j) {
  double sum = 0.0, vec_m, vec_n;
  int64_t k;
  for (k = 0; k < c->k; k++)
    sum += plane_op_element(&o->A, c->op_a, b, i, k) * plane_op_element(&o->B, c->op_b, b, k, j);
  sum = (double)c->alpha * sum +
        (c->beta != 0.0f ? (double)c->beta * (double)o->C.before[plane_at(&o->C, b, i, j)] : 0.0);
  vec_m = c->without_vectors & 1 ? 0.0 : (double)o->vec_m.before[plane_at(&o->vec_m, b, i, 0)];
  vec_n = c->without_vectors & 2 ? 0.0 : (double)o->vec_n.before[plane_at(&o->vec_n, b, j, 0)];
  return c->epilogue == SGEMM_EPILOGUE_bias       ? sum + vec_m + vec_n
         : c->epilogue == SGEMM_EPILOGUE_relu     ? relu(sum + vec_m + vec_n)
         : c->epilogue == SGEMM_EPILOGUE_cosine   ? 1.0 - sum * vec_m * vec_n
         : c->epilogue == SGEMM_EPILOGUE_residual ? sum + vec_m + vec_n + (double)o->E.before[plane_at(&o->E, b, i, j)]
         : c->epilogue == SGEMM_EPILOGUE_distance ? relu(vec_m + vec_n - 2.0 * sum)
                                                  : sum;
}

/* 1 if x wins over the best element so far. */
static int wins(int reduction, double x, double best) {
  if (isnan(x) || isnan(best))
    return isnan(x) && !isnan(best);
  return reduction == SGEMM_REDUCTION_max ? x > best : x < best;
}

static const char *kind_name(int reduction) {
#define X(name, what) #name,
  static const char *const names[] = {SGEMM_REDUCTIONS(X)};
#undef X
  return names[reduction];
}

/* Compares result `kept` of matrix b with elements[0] to elements[length - 1]. */
static void compare_one(const call *c, const operands *o, int64_t b, int64_t kept, const double *elements,
                        int64_t length, const char *name) {
  const int sums = c->reduction <= SGEMM_REDUCTION_sum_squares;
  const double got = (double)o->values.after[plane_at(&o->values, b, kept, 0)];
  double want = sums ? 0.0 : c->reduction == SGEMM_REDUCTION_max ? -INFINITY : INFINITY, magnitude = 0.0;
  int64_t index = -1, i;
  for (i = 0; i < length; i++) {
    const double x = c->reduction == SGEMM_REDUCTION_sum_squares ? elements[i] * elements[i] : elements[i];
    magnitude += fabs(x);
    if (sums)
      want += x;
    else if (index < 0 || wins(c->reduction, x, want)) {
      want = x;
      index = i;
    }
  }
  if (c->wants & 1)
    cr_assert((isnan(want) && isnan(got)) || got == want ||
                  (sums && fabs(got - want) <= ((double)length + 2.0) * 0x1p-24 * magnitude),
              "%s, %s of axis %d, epilogue %s, order %d, ops %d %d, m %lld, n %lld, k %lld, mode %d, workspace %lld: "
              "value %lld of matrix %lld is %.9g, want %.9g",
              name, kind_name(c->reduction), c->axis, sgemm_epilogue_name((sgemm_epilogue)c->epilogue), c->order,
              c->op_a, c->op_b, (long long)c->m, (long long)c->n, (long long)c->k, c->mode, (long long)c->workspace,
              (long long)kept, (long long)b, got, want);
  if (c->wants & 2)
    cr_assert(o->indices[b * o->values.stride + kept] == index,
              "%s, %s of axis %d, epilogue %s, order %d, ops %d %d, m %lld, n %lld, k %lld, mode %d, workspace %lld: "
              "index %lld of matrix %lld is %lld, want %lld",
              name, kind_name(c->reduction), c->axis, sgemm_epilogue_name((sgemm_epilogue)c->epilogue), c->order,
              c->op_a, c->op_b, (long long)c->m, (long long)c->n, (long long)c->k, c->mode, (long long)c->workspace,
              (long long)kept, (long long)b, (long long)o->indices[b * o->values.stride + kept], (long long)index);
}

static void compare(const call *c, const operands *o, const char *name) {
  const int rows = c->axis == SGEMM_EACH_ROW;
  const int64_t length = rows ? c->n : c->m;
  double *elements = (double *)malloc((size_t)(length + 1) * sizeof(double));
  int64_t b, kept, i;
  cr_assert(elements != NULL, "no memory");
  for (b = 0; b < c->batch; b++)
    for (kept = 0; kept < o->count; kept++) {
      for (i = 0; i < length; i++) {
        elements[i] = result_element(c, o, b, rows ? kept : i, rows ? i : kept);
        if (c->stores) {
          const double got = (double)o->D.after[plane_at(&o->D, b, rows ? kept : i, rows ? i : kept)];
          cr_assert(got == elements[i] || (isnan(got) && isnan(elements[i])), "%s: D is %.9g, want %.9g", name, got,
                    elements[i]);
        }
      }
      compare_one(c, o, b, kept, elements, length, name);
    }
  free(elements);
}

/* What must not change: the inputs, D if it is not stored, and what is between and behind the results. */
static void compare_untouched(const call *c, operands *o, const char *name) {
  const plane *const inputs[] = {&o->A, &o->B, &o->C, &o->E, &o->vec_m, &o->vec_n};
  int64_t b, kept, i, j;
  for (i = 0; i < 6; i++)
    cr_assert(plane_unchanged(inputs[i]), "%s: %s was written", name,
              (const char *const[]){"A", "B", "C", "E", "vec_m", "vec_n"}[i]);
  for (b = 0; b < c->batch && c->stores; b++)
    for (i = 0; i < c->m; i++)
      for (j = 0; j < c->n; j++)
        o->D.after[plane_at(&o->D, b, i, j)] = o->D.before[plane_at(&o->D, b, i, j)];
  cr_assert(plane_unchanged(&o->D), "%s: D was written where nothing is stored", name);
  for (b = 0; b < c->batch; b++)
    for (kept = 0; kept < o->count; kept++)
      if (c->wants & 1)
        o->values.after[plane_at(&o->values, b, kept, 0)] = o->values.before[plane_at(&o->values, b, kept, 0)];
  cr_assert(plane_unchanged(&o->values), "%s: values were written where there are none", name);
  for (b = 0; b < c->batch; b++)
    for (kept = c->wants & 2 ? o->count : 0; kept < o->values.stride; kept++)
      cr_assert(o->indices[b * o->values.stride + kept] == -77, "%s: an index was written where there is none", name);
}

static void make_operands(const call *c, operands *o, sgemm_params *p) {
  const int col = c->order == SGEMM_COL_MAJOR;
  unsigned seed = 5u + (unsigned)(c->m + 3 * c->n + 7 * c->k);
  int64_t i;
  o->count = c->axis == SGEMM_EACH_ROW ? c->m : c->n;
  o->A = plane_make_op(c->op_a, c->m, c->k, c->batch, col, c->pad, &seed);
  o->B = plane_make_op(c->op_b, c->k, c->n, c->batch, col, c->pad, &seed);
  o->C = plane_make(c->m, c->n, c->batch, col, c->pad, c->beta != 0.0f ? 0.125f : 0.0f, &seed);
  o->D = plane_make(c->m, c->n, c->batch, col, c->pad + 1, 0.0f, &seed);
  o->E = plane_make(c->m, c->n, c->batch, col, c->pad + 2, 0.25f, &seed);
  o->vec_m = plane_make(c->m, 1, c->batch, 1, c->dense_vectors ? 0 : c->whole ? 4 : 3, 0.5f, &seed);
  o->vec_n = plane_make(c->n, 1, c->batch, 1, c->dense_vectors ? 0 : c->whole ? 4 : 5, 0.25f, &seed);
  o->values = plane_make(o->count, 1, c->batch, 1, 3, 0.0f, &seed);
  for (i = 0; c->nans > 0 && i < c->m * c->n; i += c->nans)
    o->E.before[plane_at(&o->E, 0, i / c->n, i % c->n)] = NAN;
  if (c->nan_operands) {
    o->A.before[plane_at(&o->A, 0, o->A.m / 2, o->A.n / 3)] = NAN;
    o->B.before[plane_at(&o->B, 0, o->B.m / 3, o->B.n / 2)] = -INFINITY;
  }
  o->indices = (int64_t *)malloc((size_t)(c->batch * o->values.stride) * sizeof(int64_t));
  o->device_indices = (int64_t *)machine_alloc((size_t)(c->batch * o->values.stride) * sizeof(int64_t));
  o->scalars = (float *)machine_alloc(2 * sizeof(float));
  cr_assert(o->indices != NULL && o->device_indices != NULL && o->scalars != NULL, "no memory for the indices");
  for (i = 0; i < c->batch * o->values.stride; i++)
    o->indices[i] = -77;
  machine_upload(o->device_indices, o->indices, (size_t)(c->batch * o->values.stride) * sizeof(int64_t));
  *p = col ? sgemm_params_init_col((sgemm_op)c->op_a, (sgemm_op)c->op_b, c->m, c->n, c->k)
           : sgemm_params_init((sgemm_op)c->op_a, (sgemm_op)c->op_b, c->m, c->n, c->k);
  p->mode = c->mode;
  p->batch = c->batch;
  p->alpha = c->alpha;
  p->beta = c->beta;
  machine_upload(o->scalars, &c->alpha, sizeof c->alpha);
  machine_upload(o->scalars + 1, &c->beta, sizeof c->beta);
  if (c->scalars_on_device) {
    p->alpha_device = o->scalars;
    p->beta_device = c->beta != 0.0f ? o->scalars + 1 : NULL;
    p->alpha = 0.5f; /* not used */
  }
  p->epilogue = c->epilogue;
  p->A = plane_upload(&o->A);
  p->B = plane_upload(&o->B);
  p->C = plane_upload(&o->C);
  p->D = plane_upload(&o->D);
  if (!c->stores)
    p->D = NULL;
  p->E = plane_upload(&o->E);
  p->vec_m = plane_upload(&o->vec_m);
  p->vec_n = plane_upload(&o->vec_n);
  p->lda = o->A.ld;
  p->ldb = o->B.ld;
  p->ldc = o->C.ld;
  p->ldd = o->D.ld;
  p->lde = o->E.ld;
  p->stride_a = o->A.stride;
  p->stride_b = o->B.stride;
  p->stride_c = o->C.stride;
  p->stride_d = o->D.stride;
  p->stride_e = o->E.stride;
  p->stride_vec_m = o->vec_m.stride;
  p->stride_vec_n = o->vec_n.stride;
  if (c->without_vectors & 1) {
    p->vec_m = NULL;
    p->stride_vec_m = 0;
  }
  if (c->without_vectors & 2) {
    p->vec_n = NULL;
    p->stride_vec_n = 0;
  }
}

static void free_operands(operands *o) {
  plane *const planes[] = {&o->A, &o->B, &o->C, &o->D, &o->E, &o->vec_m, &o->vec_n, &o->values};
  size_t i;
  for (i = 0; i < sizeof planes / sizeof *planes; i++)
    plane_free(planes[i]);
  free(o->indices);
  machine_free(o->device_indices);
  machine_free(o->scalars);
}

enum { FENCE = 256 }; /* bytes before and behind the workspace that no kernel may write */

/* Runs a call and checks it. c->workspace: bytes, or SGEMM_WORKSPACE_AUTO. */
static void solve(const call *c, const char *name) {
  operands o;
  sgemm_params p;
  sgemm_reduction_params r = {c->reduction, c->axis, NULL, NULL, 0};
  const int64_t bytes = c->workspace > 0 ? c->workspace : 0;
  unsigned char *fence = (unsigned char *)malloc((size_t)bytes + 2 * FENCE);
  unsigned char *memory = (unsigned char *)machine_alloc((size_t)bytes + 2 * FENCE);
  sgemm_status status;
  int64_t i;
  make_operands(c, &o, &p);
  memset(fence, 0xff, (size_t)bytes + 2 * FENCE);
  machine_upload(memory, fence, (size_t)bytes + 2 * FENCE);
  p.workspace = bytes > 0 ? memory + FENCE : NULL;
  p.workspace_bytes = c->workspace;
  r.values = plane_upload(&o.values);
  r.values = c->wants & 1 ? r.values : NULL;
  r.indices = c->wants & 2 ? o.device_indices : NULL;
  r.stride = o.values.stride;
  status = sgemm_run_reduction(&p, &r, NULL);
  cr_assert(status == SGEMM_SUCCESS, "%s, %s: %s", name, kind_name(c->reduction), sgemm_status_string(status));
  cr_assert(machine_wait() == 0, "%s: the backend reports an error", name);
  for (i = 0; i < 8; i++)
    plane_download((plane *const[]){&o.A, &o.B, &o.C, &o.D, &o.E, &o.vec_m, &o.vec_n, &o.values}[i]);
  machine_download(o.indices, o.device_indices, (size_t)(c->batch * o.values.stride) * sizeof(int64_t));
  machine_download(fence, memory, (size_t)bytes + 2 * FENCE);
  for (i = 0; i < FENCE; i++)
    cr_assert(fence[i] == 0xff && fence[FENCE + bytes + i] == 0xff, "%s: the workspace was exceeded", name);
  compare(c, &o, name);
  compare_untouched(c, &o, name);
  free_operands(&o);
  free(fence);
  machine_free(memory);
}

/* Case i: all choices meet in turn. The sums of products stay below 2^24 units. */
static call case_of(int i) {
  static const int epilogues[] = {SGEMM_EPILOGUE_none, SGEMM_EPILOGUE_bias, SGEMM_EPILOGUE_residual,
                                  SGEMM_EPILOGUE_distance};
  static const int64_t sizes[][3] = {{37, 150, 5}, {203, 9, 11}, {6, 700, 2}, {1, 333, 4}, {130, 1, 3}, {65, 66, 17}};
  call c;
  memset(&c, 0, sizeof c);
  c.reduction = i % SGEMM_REDUCTION_COUNT;
  c.axis = i / 4 % 2 ? SGEMM_EACH_COLUMN : SGEMM_EACH_ROW;
  c.order = i / 3 % 2 ? SGEMM_COL_MAJOR : SGEMM_ROW_MAJOR;
  c.op_a = i % 2 ? SGEMM_T : SGEMM_N;
  c.op_b = i / 5 % 2 ? SGEMM_T : SGEMM_N;
  c.epilogue = epilogues[i / 7 % 4];
  c.mode = SGEMM_STRICT;
  c.stores = i % 3 == 1;
  c.pad = i % 2 ? 4 : 1;
  c.m = sizes[i / 2 % 6][0];
  c.n = sizes[i / 2 % 6][1];
  c.k = sizes[i / 2 % 6][2];
  c.batch = i % 5 == 2 ? 3 : 1;
  c.alpha = i % 4 == 3 ? -2.0f : 1.0f;
  c.scalars_on_device = i % 9 == 3;
  c.beta = i % 7 < 3 ? 2.0f : 0.0f;
  c.wants = c.reduction <= SGEMM_REDUCTION_sum_squares ? 1 : 1 + i / 4 % 3;
  c.nans = c.epilogue == SGEMM_EPILOGUE_residual && i % 2 ? 5 : 0;
  c.workspace = SGEMM_WORKSPACE_AUTO;
  return c;
}

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

/* One slab, in memory that the call takes itself, and without a workspace. */
Test(reductions, small, ANYWHERE) {
  int i;
  need_backend();
  for (i = 0; i < (reduced() ? 84 : 840); i++) {
    call c = case_of(i);
    solve(&c, "auto");
    c.workspace = 0;
    solve(&c, "without a workspace");
  }
}

/* Whole vectors of results and of vec_m and vec_n, which have a loop of their own in calls that store nothing and have
   beta 0. */
Test(reductions, whole_vectors, ANYWHERE) {
  static const int64_t sizes[][3] = {{36, 152, 5}, {204, 8, 11}, {8, 700, 2}, {4, 332, 4}, {132, 4, 3}, {64, 68, 17}};
  int i;
  need_backend();
  for (i = 0; i < (reduced() ? 84 : 840); i++) {
    call c = case_of(i);
    c.whole = 1;
    c.m = sizes[i / 2 % 6][0];
    c.n = sizes[i / 2 % 6][1];
    c.k = sizes[i / 2 % 6][2];
    if (i % 4 < 2) {
      c.stores = 0;
      c.beta = 0.0f;
    }
    solve(&c, "whole vectors");
    c.without_vectors = c.epilogue == SGEMM_EPILOGUE_none || c.epilogue == SGEMM_EPILOGUE_bias ? 3 : 0;
    c.m++;
    c.n++;
    c.workspace = 300000; /* full of NaNs */
    solve(&c, "vectors with an edge");
  }
}

/* Several slabs along m and n, with partial values: results larger than the slabs that fit into the workspace. */
Test(reductions, slabs, ANYWHERE) {
  static const int64_t bytes[] = {40000, 90000, 300000, SGEMM_WORKSPACE_AUTO};
  int i;
  need_backend();
  for (i = 0; i < (reduced() ? 16 : 64); i++) {
    call c = case_of(i * 5);
    c.m = i % 2 ? 391 : 270;
    c.n = i % 2 ? 270 : 1100;
    c.k = 3 + i % 4;
    c.workspace = bytes[i / 2 % 4];
    solve(&c, "slabs");
  }
}

/* Batches whose matrices share slabs, and more matrices than one slab holds. */
Test(reductions, batches, ANYWHERE) {
  int i;
  need_backend();
  for (i = 0; i < (reduced() ? 8 : 32); i++) {
    call c = case_of(i * 3);
    c.m = 20 + i;
    c.n = 51 - i;
    c.k = 3;
    c.batch = 37;
    c.workspace = i % 2 ? 50000 : SGEMM_WORKSPACE_AUTO;
    solve(&c, "batch");
  }
}

/* The tensor modes. Integers split exactly. */
Test(reductions, tensor, ANYWHERE) {
  int i;
  need_backend();
  for (i = 0; i < (reduced() ? 6 : 24); i++) {
    call c = case_of(i * 11);
    c.mode = i % 2 ? SGEMM_TENSOR_FULL : SGEMM_TENSOR;
    c.m = 260;
    c.n = 530;
    c.k = 100;
    if (i % 3 == 0) { /* several columns of slabs */
      c.order = SGEMM_ROW_MAJOR;
      c.m = 700;
      c.n = 1500;
    }
    c.batch = 1;
    c.workspace = i % 3 == 1 ? 1000000 : SGEMM_WORKSPACE_AUTO;
    solve(&c, "tensor");
  }
}

/* A number from 0 to count - 1 (the mixing of Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
   2014, with 32 bits). */
static int64_t pick(uint32_t *seed, int64_t count) {
  uint32_t x = *seed += 0x9e3779b9u;
  x = (x ^ x >> 16) * 0x21f0aaadu;
  x = (x ^ x >> 15) * 0x735a2d97u;
  return (int64_t)(x ^ x >> 15) % count;
}

/* Both operands K-major, in calls that kernels reduce in the tiles of the product: edges, several slabs along m and n,
   batches; NaN and Inf, for which strict fp32 replaces the tensor modes. Some calls differ in what these kernels need:
   the ops, the scalars, a vector for each matrix. A GPU with many SMs runs smaller results by other kernels. */
Test(reductions, tiles, ANYWHERE) {
  static const int epilogues[] = {SGEMM_EPILOGUE_none, SGEMM_EPILOGUE_bias, SGEMM_EPILOGUE_distance,
                                  SGEMM_EPILOGUE_cosine, SGEMM_EPILOGUE_relu};
  static const int modes[] = {SGEMM_STRICT, SGEMM_STRICT, SGEMM_TENSOR, SGEMM_TENSOR_FULL};
  static const int64_t kepts[] = {200, 63, 140}, lengths[] = {257, 390, 530};
  static const int64_t few_bytes[] = {4500, 7500, 7500, SGEMM_WORKSPACE_AUTO};
  sgemm_device device;
  uint32_t seed = 7;
  int i;
  need_backend();
  cr_assert(sgemm_device_query(-1, &device) == SGEMM_SUCCESS, "no device");
  for (i = 0; i < (reduced() ? 100 : 300); i++) {
    int64_t kept, length;                 /* results; elements of each */
    const int odd = (int)pick(&seed, 12); /* 0 to 2: what the kernels cannot run */
    call c = case_of((int)pick(&seed, 840));
    c.mode = modes[pick(&seed, 4)];
    c.epilogue = epilogues[pick(&seed, odd > 0 ? 4 : 5)];
    c.op_a = odd > 0 && c.order == SGEMM_COL_MAJOR ? SGEMM_T : SGEMM_N;
    c.op_b = odd > 0 && c.order == SGEMM_ROW_MAJOR ? SGEMM_T : SGEMM_N;
    c.scalars_on_device = odd == 1;
    c.wants |= c.reduction > SGEMM_REDUCTION_sum_squares ? 2 : 0;
    c.stores = 0;
    c.beta = 0.0f;
    kept = kepts[pick(&seed, 3)];
    length = lengths[pick(&seed, 3)];
    c.k = 68 + 4 * pick(&seed, 3);
    if (device.multiprocessors > 16 && pick(&seed, 6) == 0) {
      kept = 2100;
      length = 3010;
    }
    if (odd == 0) { /* B is contiguous along n, and tensor maps could describe it */
      c.axis = SGEMM_EACH_ROW;
      c.order = SGEMM_ROW_MAJOR;
      length = 260;
    }
    c.m = c.axis == SGEMM_EACH_ROW ? kept : length;
    c.n = c.axis == SGEMM_EACH_ROW ? length : kept;
    c.batch = pick(&seed, 3) == 0 ? 3 : 1;
    c.pad = c.batch > 1 ? 0 : 4; /* TMA needs strides that are multiples of the leading dimension */
    c.dense_vectors = c.batch > 1;
    if (c.epilogue < SGEMM_EPILOGUE_gelu && odd != 2) /* a batch has one vector along the columns, or none */
      c.without_vectors = c.batch > 1 ? (c.axis == SGEMM_EACH_ROW ? 2 : 1) : (int)pick(&seed, 4);
    c.nan_operands = pick(&seed, 6) == 0;
    /* With few bytes there are several slabs, and in strict fp32 no room for sums. */
    c.workspace = c.mode == SGEMM_STRICT && c.batch == 1 ? few_bytes[pick(&seed, 4)] : SGEMM_WORKSPACE_AUTO;
    if (c.mode != SGEMM_STRICT && pick(&seed, 3) == 0)
      c.workspace = 250000;
    solve(&c, "tiles");
  }
}

/* Slabs of tiles: three columns of one and of two slabs, and a batch in one slab. */
Test(reductions, slabs_of_tiles, ANYWHERE) {
  static const struct {
    int64_t kept, length, batch, workspace;
  } sizes[] = {{63, 530, 1, 3000}, {200, 530, 1, 7500}, {130, 257, 3, SGEMM_WORKSPACE_AUTO}};
  int i;
  need_backend();
  for (i = 0; i < 3 * 2 * SGEMM_REDUCTION_COUNT; i++) {
    call c = case_of(0);
    c.reduction = i % SGEMM_REDUCTION_COUNT;
    c.axis = i / SGEMM_REDUCTION_COUNT % 2 ? SGEMM_EACH_COLUMN : SGEMM_EACH_ROW;
    c.op_b = SGEMM_T;
    c.epilogue = SGEMM_EPILOGUE_bias;
    c.wants = c.reduction <= SGEMM_REDUCTION_sum_squares ? 1 : 3;
    c.beta = 0.0f;
    c.m = c.axis == SGEMM_EACH_ROW ? sizes[i / 8].kept : sizes[i / 8].length;
    c.n = c.axis == SGEMM_EACH_ROW ? sizes[i / 8].length : sizes[i / 8].kept;
    c.k = 68;
    c.batch = sizes[i / 8].batch;
    c.pad = c.batch > 1 ? 0 : 4;
    c.dense_vectors = c.batch > 1;
    if (c.batch > 1)
      c.without_vectors = c.axis == SGEMM_EACH_ROW ? 2 : 1;
    c.workspace = sizes[i / 8].workspace;
    solve(&c, "slabs of tiles");
  }
}

/* The size that the query gives is enough and gives the bits of SGEMM_WORKSPACE_AUTO. */
Test(reductions, query, ANYWHERE) {
  call c = case_of(3);
  operands o;
  sgemm_params p;
  sgemm_reduction_params r = {SGEMM_REDUCTION_min, SGEMM_EACH_ROW, NULL, NULL, 0};
  need_backend();
  c.m = 310;
  c.n = 700;
  make_operands(&c, &o, &p);
  r.values = plane_upload(&o.values);
  cr_assert(sgemm_reduction_workspace_query(&p, &r, &c.workspace) == SGEMM_SUCCESS && c.workspace > 0 &&
                c.workspace <= 64 << 20,
            "the query gives %lld bytes", (long long)c.workspace);
  free_operands(&o);
  solve(&c, "query");
}

/* No elements: sums are 0, max is -Inf, min is Inf, indices are -1. k = 0 and alpha = 0 leave beta * C. */
Test(reductions, empty, ANYWHERE) {
  int i;
  need_backend();
  for (i = 0; i < 16; i++) {
    call c = case_of(i);
    c.m = 5;
    c.n = 7;
    *(c.axis == SGEMM_EACH_ROW ? &c.n : &c.m) = 0;
    solve(&c, "no elements");
    c.m = 5;
    c.n = 7;
    *(c.axis == SGEMM_EACH_ROW ? &c.m : &c.n) = 0;
    solve(&c, "no results");
    c = case_of(i);
    c.k = 0;
    solve(&c, "k = 0");
    c = case_of(i);
    c.alpha = 0.0f;
    solve(&c, "alpha = 0");
  }
}

/* The bits of sums do not change from call to call, and the sums are right. */
Test(reductions, repeat, ANYWHERE) {
  enum { N = 61, M = 1003 };
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, M, N, 9);
  sgemm_reduction_params r = {SGEMM_REDUCTION_sum, SGEMM_EACH_COLUMN, NULL, NULL, 0};
  float *memory = (float *)machine_alloc((M * 9 + 9 * N + N) * sizeof(float)), first[N], next[N];
  float *host = (float *)malloc((M * 9 + 9 * N + N) * sizeof(float)), *const B = host + M * 9, *const none = B + 9 * N;
  int i, j, k, run;
  need_backend();
  for (i = 0; i < M * 9 + 9 * N; i++)
    host[i] = sinf((float)i);
  for (i = 0; i < N; i++)
    none[i] = NAN;
  machine_upload(memory, host, (M * 9 + 9 * N) * sizeof(float));
  p.A = memory;
  p.B = memory + M * 9;
  r.values = memory + M * 9 + 9 * N;
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  for (run = 0; run < (reduced() ? 5 : 50); run++) {
    machine_upload(r.values, none, sizeof first);
    schedule(run % schedules());
    cr_assert(sgemm_run_reduction(&p, &r, NULL) == SGEMM_SUCCESS && machine_wait() == 0, "the call failed");
    machine_download(run == 0 ? first : next, r.values, sizeof first);
    cr_assert(run == 0 || memcmp(first, next, sizeof first) == 0, "run %d has other bits", run);
  }
  for (j = 0; j < N; j++) {
    double sum = 0.0, magnitude = 0.0;
    for (i = 0; i < M; i++)
      for (k = 0; k < 9; k++) {
        const double product = (double)host[i * 9 + k] * (double)B[k * N + j];
        sum += product;
        magnitude += fabs(product);
      }
    cr_assert(fabs((double)first[j] - sum) <= (M + 9.0) * 0x1p-24 * magnitude, "value %d is %.9g, want %.9g", j,
              (double)first[j], sum);
  }
  free(host);
  machine_free(memory);
}

/* Each argument that is wrong has its status, and nothing is written. */
Test(reductions, statuses, ANYWHERE) {
  float memory[64];
  int64_t indices[8] = {0};
  sgemm_params good = sgemm_params_init(SGEMM_N, SGEMM_N, 3, 4, 2), p;
  sgemm_reduction_params good_r = {SGEMM_REDUCTION_min, SGEMM_EACH_ROW, NULL, NULL, 0}, r;
  int i;
  for (i = 0; i < 64; i++)
    memory[i] = 7.0f;
  good.A = good.B = memory;
  good_r.values = memory + 32;
  good_r.indices = indices;
#define BAD(change, status)                                                                                            \
  p = good, r = good_r;                                                                                                \
  change;                                                                                                              \
  cr_assert(sgemm_run_reduction(&p, &r, NULL) == status, "%s gives %s", #change,                                       \
            sgemm_status_string(sgemm_run_reduction(&p, &r, NULL)));                                                   \
  cr_assert(sgemm_check_reduction(&p, &r) == status, "%s, checked", #change)
  BAD(r.reduction = -1, SGEMM_ERROR_REDUCTION);
  BAD(r.reduction = SGEMM_REDUCTION_COUNT, SGEMM_ERROR_REDUCTION);
  BAD(r.axis = 2, SGEMM_ERROR_AXIS);
  BAD(p.order = 0, SGEMM_ERROR_ORDER);
  BAD(p.k = -1, SGEMM_ERROR_K);
  BAD(p.lda = 1, SGEMM_ERROR_LDA);
  BAD(p.A = NULL, SGEMM_ERROR_A);
  BAD(p.beta = 1.0f, SGEMM_ERROR_C);
  BAD((p.D = memory, p.ldd = 3), SGEMM_ERROR_LDD);
  BAD(p.epilogue = SGEMM_EPILOGUE_scale, SGEMM_ERROR_VEC_M);
  BAD((r.values = NULL, r.indices = NULL), SGEMM_ERROR_VALUES);
  BAD(r.values = (float *)((char *)memory + 2), SGEMM_ERROR_VALUES);
  BAD(r.indices = (int64_t *)((char *)indices + 4), SGEMM_ERROR_INDICES);
  BAD(r.reduction = SGEMM_REDUCTION_sum, SGEMM_ERROR_INDICES);
  BAD((p.batch = 2, r.stride = 2), SGEMM_ERROR_STRIDE_VALUES);
  BAD((p.workspace = memory + 1, p.workspace_bytes = 16), SGEMM_ERROR_WORKSPACE);
#undef BAD
  cr_assert(sgemm_run_reduction(NULL, &good_r, NULL) == SGEMM_ERROR_PARAMS, "params NULL");
  cr_assert(sgemm_run_reduction(&good, NULL, NULL) == SGEMM_ERROR_REDUCTION, "reduction NULL");
  for (i = 32; i < 64; i++)
    cr_assert(memory[i] == 7.0f, "values were written");
}
