#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "tests/testing.h"

#include <criterion/hooks.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#if defined(MACHINE_CUDA) && MACHINE_CUDA
#include <cublas_v2.h>
#else
#include "cpu/sgemm_model.h"
#include <cblas.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

static const uint32_t POISON = 0x7fc0dead; /* a NaN with a payload that no arithmetic produces */

/* ---- Problems ---------------------------------------------------------------------------------------------------- */

problem problem_of(sgemm_variant variant, int op_a, int op_b, int64_t m, int64_t n, int64_t k, data_kind kind) {
  problem q;
  memset(&q, 0, sizeof q);
  q.p = sgemm_params_init((sgemm_op)op_a, (sgemm_op)op_b, m, n, k);
  q.variant = variant;
  q.plan.tensor = q.plan.tensor_fallback = SGEMM_TENSOR_VARIANT_NONE;
  q.kind = kind;
  q.seed = 1;
  return q;
}

int can_split(const sgemm_variant_info *v) {
  return (v->bufs >= 3 && !(v->uses_tma && v->cluster_split_k)) || v->stage == SGEMM_STAGE_gemv;
}

int can_run_tensor(int variant) {
  static char memory[256];
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 4, 4, 4);
  sgemm_device device;
  sgemm_plan plan;
  int strict = 0, launches;
  p.A = p.B = p.C = p.workspace = memory; /* nothing is launched */
  p.workspace_bytes = INT64_MAX;
  while (strict < SGEMM_VARIANT_COUNT && !sgemm_compiled((sgemm_variant)strict))
    strict++;
  plan = sgemm_variant_plan((sgemm_variant)strict, &p);
  plan.tensor = (sgemm_tensor_variant)variant;
  return sgemm_tensor_compiled() && sgemm_device_query(-1, &device) == SGEMM_SUCCESS &&
         sgemm_plan_launches(&plan, &p, &device, NULL, NULL, 0, &launches) != SGEMM_ERROR_PLAN;
}

void problem_plan(problem *q, int cluster_k, int split) {
  const int tma = sgemm_variant_get(q->variant)->uses_tma;
  q->plan.variant = q->variant;
  q->plan.cluster_k = cluster_k;
  q->plan.split_k = tma ? 1 : split;
  q->plan.stream_k = tma && split > 1 ? split : 0;
  q->plan.serial_k = 1;
}

void problem_plan_serial(problem *q, int cluster_k, int serial_k) {
  problem_plan(q, cluster_k, 1);
  q->plan.serial_k = serial_k;
}

void problem_plan_tensor(problem *q, sgemm_tensor_variant tensor, int split_k) {
  q->plan.tensor = tensor;
  q->plan.split_k = split_k;
  q->plan.serial_k = 1;
}

static int is_tensor(const problem *q) { return q->plan.tensor != SGEMM_TENSOR_VARIANT_NONE; }

const char *problem_fault(problem *q, const char *format, ...) {
  const sgemm_params *p = &q->p;
  const sgemm_variant_info *v = sgemm_variant_get(q->variant);
  const sgemm_tensor_variant_info *t = sgemm_tensor_variant_get(q->plan.tensor);
  const int n = snprintf(
      q->fault, sizeof q->fault,
      "%s, cluster_k %d, split_k %d, stream_k %d, serial_k %d, repacked %d %d, order %d, ops %d %d, m %lld, "
      "n %lld, k %lld, ld %lld %lld %lld, alpha %g, beta %g, batch %lld"
      " at %lld %lld %lld, offsets %lld %lld %lld, %s, seed %llu: ",
      t   ? t->name
      : v ? v->name
          : "selected",
      q->plan.cluster_k, q->plan.split_k, q->plan.stream_k, q->plan.serial_k, q->plan.repack_a, q->plan.repack_b,
      p->order, p->op_a, p->op_b, (long long)p->m, (long long)p->n, (long long)p->k, (long long)p->lda,
      (long long)p->ldb, (long long)p->ldc, (double)p->alpha, (double)p->beta, (long long)p->batch,
      (long long)p->stride_a, (long long)p->stride_b, (long long)p->stride_c, (long long)q->A.offset,
      (long long)q->B.offset, (long long)q->C.offset, q->kind == EXACT ? "exact" : "rounding",
      (unsigned long long)q->seed);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(q->fault + n, sizeof q->fault - (size_t)n, format, arguments);
  va_end(arguments);
  return q->fault;
}

/* splitmix64 (Vigna 2015). */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static float next_value(uint64_t *state, data_kind kind) {
  const uint64_t r = next_random(state);
  if (kind == EXACT)
    return (float)((int)(r >> 33) % 17 - 8);
  return (float)((int64_t)(r >> 41) * 2 + 1 - (1 << 24)) * 0x1p-24f;
}

static int is_set(const char *name) {
  const char *value = getenv(name);
  return value != NULL && strcmp(value, "1") == 0;
}

int reduced(void) { return !is_set("SGEMM_TEST_FULL"); }
int quick_tier(void) { return reduced() && !is_set("SGEMM_TEST_MUTANT"); }

static float *first_element(const matrix *x, float *image) { return image + x->guard + x->offset; }

/* Makes the host image of an operand X. op(X) is i_count x j_count. contiguous_rows: 1 if a row of op(X) is contiguous.
   filled 0: every float stays NaN. */
static void matrix_make(matrix *x, int contiguous_rows, int64_t i_count, int64_t j_count, int64_t ld, int64_t batch,
                        int64_t stride, int filled, data_kind kind, uint64_t *random) {
  int64_t b, r, c, i;
  x->rows = contiguous_rows ? i_count : j_count;
  x->width = contiguous_rows ? j_count : i_count;
  x->ld = ld;
  x->batch = batch;
  x->stride = stride;
  x->row = contiguous_rows ? ld : 1;
  x->col = contiguous_rows ? 1 : ld;
  x->guard = x->guard_page || is_set("SGEMM_TEST_UNGUARDED") ? 0 : GUARD;
  x->count = 2 * x->guard + x->offset;
  if (x->rows > 0 && x->width > 0 && batch > 0)
    x->count += (x->rows - 1) * ld + x->width + (batch - 1) * stride;
  x->before = (float *)malloc((size_t)x->count * sizeof(float));
  x->after = (float *)malloc((size_t)x->count * sizeof(float));
  cr_assert(x->before != NULL && x->after != NULL, "no memory for a host image of %lld floats", (long long)x->count);
  for (i = 0; i < x->count; i++)
    memcpy(&x->before[i], &POISON, sizeof POISON);
  if (filled)
    for (b = 0; b < batch; b++)
      for (r = 0; r < x->rows; r++)
        for (c = 0; c < x->width; c++)
          first_element(x, x->before)[b * stride + r * ld + c] = next_value(random, kind);
}

/* 1 if the result depends on A and B; 0: a call may not read them. */
static int has_product(const sgemm_params *p) { return p->alpha != 0.0f && p->k > 0; }

/* 1 if the selection repacks B of op NN K-major because the main loop is then faster: sgemm/select/workspace.h. */
static int prefers_k_major_b(const sgemm_params *p) {
  const int row_major = p->order == SGEMM_ROW_MAJOR;
  return p->op_a == SGEMM_N && p->op_b == SGEMM_N && (row_major ? p->m : p->n) > 2048 && p->k >= 512;
}

/* Completes q->plan for the strides and the alignment of q's operands, and sets the bytes of the workspace. */
static void complete_plan(problem *q) {
  sgemm_params params = q->p;
  sgemm_plan plan;
  params.A = (const float *)16 + q->A.offset;
  params.B = (const float *)16 + q->B.offset;
  params.C = (float *)16 + q->C.offset;
  if (is_tensor(q)) {
    sgemm_device device;
    cr_assert(sgemm_device_query(-1, &device) == SGEMM_SUCCESS);
    params.mode = SGEMM_STRICT;
    params.workspace_bytes = 0; /* the fallback of a tensor-core variant has no workspace */
    plan = sgemm_select(&params, SGEMM_STAGE_ANY, &device);
    q->plan.variant = plan.variant;
    q->plan.cluster_k = plan.cluster_k;
    q->p.workspace_bytes = sgemm_plan_workspace(&q->plan, &q->p);
  } else if (q->plan.split_k > 0) {
    plan = sgemm_variant_plan(q->variant, &params);
    q->plan.repack_a = plan.repack_a;
    q->plan.repack_b = plan.repack_b || (sgemm_variant_get(q->variant)->uses_tma && prefers_k_major_b(&params));
    q->p.workspace_bytes = sgemm_plan_workspace(&q->plan, &params);
  } else if (q->variant != SGEMM_VARIANT_NONE && sgemm_variant_get(q->variant)->uses_tma) {
    plan = sgemm_variant_plan(q->variant, &params);
    q->p.workspace_bytes = sgemm_plan_workspace(&plan, &params);
  }
}

void problem_make(problem *q) {
  sgemm_params *p = &q->p;
  const int row_major = p->order == SGEMM_ROW_MAJOR;
  uint64_t random = q->seed;
  q->A.guard_page = q->B.guard_page = q->C.guard_page = q->workspace.guard_page = q->guard_page;
  matrix_make(&q->A, (p->op_a == SGEMM_N) == row_major, p->m, p->k, p->lda, p->batch, p->stride_a, has_product(p),
              q->kind, &random);
  matrix_make(&q->B, (p->op_b == SGEMM_N) == row_major, p->k, p->n, p->ldb, p->batch, p->stride_b, has_product(p),
              q->kind, &random);
  matrix_make(&q->C, row_major, p->m, p->n, p->ldc, p->batch, p->stride_c, p->beta != 0.0f, q->kind, &random);
  complete_plan(q);
  if (p->workspace_bytes > 0)
    matrix_make(&q->workspace, 1, 1, p->workspace_bytes / 4, p->workspace_bytes / 4, 1, 0, 0, q->kind, &random);
}

#if defined(MACHINE_CUDA) && MACHINE_CUDA

static float *guard_page_alloc(size_t bytes) { return (float *)machine_alloc(bytes); }
static void guard_page_free(float *p, size_t bytes) {
  (void)bytes;
  machine_free(p);
}

#else

/* Bytes of the whole pages that hold an operand. The operand's last 16 bytes end the last page. The next page has no
   access rights. */
static size_t whole_pages(size_t bytes) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return (bytes + page - 1) / page * page;
}

static float *guard_page_alloc(size_t bytes) {
  const size_t size = whole_pages(bytes), page = (size_t)sysconf(_SC_PAGESIZE);
  char *p = (char *)mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(p + size, page, PROT_NONE) != 0)
    return NULL;
  return (float *)(p + size - (bytes + 15) / 16 * 16);
}

static void guard_page_free(float *p, size_t bytes) {
  const size_t size = whole_pages(bytes), page = (size_t)sysconf(_SC_PAGESIZE);
  munmap((char *)p + (bytes + 15) / 16 * 16 - size, size + page);
}

#endif

static void matrix_free(matrix *x) {
  free(x->before);
  free(x->after);
  if (x->device != NULL && x->guard_page)
    guard_page_free(x->device, (size_t)x->count * sizeof(float));
  else if (x->device != NULL)
    machine_free(x->device);
  x->before = x->after = x->device = NULL;
}

void problem_free(problem *q) {
  matrix_free(&q->A);
  matrix_free(&q->B);
  matrix_free(&q->C);
  matrix_free(&q->workspace);
}

float *element(const matrix *x, int64_t b, int64_t i, int64_t j) {
  return first_element(x, x->before) + b * x->stride + i * x->row + j * x->col;
}

float result(const problem *q, int64_t b, int64_t i, int64_t j) {
  return first_element(&q->C, q->C.after)[b * q->C.stride + i * q->C.row + j * q->C.col];
}

static int matrix_upload(matrix *x) {
  const size_t bytes = (size_t)x->count * sizeof(float);
  if (x->count == 0)
    return 0;
  if (x->device == NULL)
    x->device = x->guard_page ? guard_page_alloc(bytes) : (float *)machine_alloc(bytes);
  return x->device == NULL || machine_upload(x->device, x->before, bytes) != 0;
}

const char *problem_upload(problem *q) {
  if (matrix_upload(&q->A) || matrix_upload(&q->B) || matrix_upload(&q->C) || matrix_upload(&q->workspace) ||
      machine_wait())
    return problem_fault(q, "the operands cannot be uploaded");
  q->p.A = first_element(&q->A, q->A.device);
  q->p.B = first_element(&q->B, q->B.device);
  q->p.C = first_element(&q->C, q->C.device);
  q->p.workspace = q->p.workspace_bytes > 0 ? first_element(&q->workspace, q->workspace.device) : NULL;
  return NULL;
}

static int matrix_download(matrix *x) {
  return x->count > 0 && machine_download(x->after, x->device, (size_t)x->count * sizeof(float)) != 0;
}

const char *problem_download(problem *q) {
  const int error = machine_wait();
  if (error)
    return problem_fault(q, "the backend reports: %s", machine_error(error));
  return matrix_download(&q->A) || matrix_download(&q->B) || matrix_download(&q->C) || matrix_download(&q->workspace)
             ? problem_fault(q, "the operands cannot be downloaded")
             : NULL;
}

static const char *status_fault(problem *q, sgemm_status status) {
#if defined(MACHINE_CUDA) && MACHINE_CUDA
  const char *more = machine_error(sgemm_cuda_error(status));
#else
  const char *more = sgemm_model_error();
#endif
  return status == SGEMM_SUCCESS ? NULL
                                 : problem_fault(q, "status %d, %s (%s)", status, sgemm_status_string(status), more);
}

const char *problem_run(problem *q, sgemm_stream stream) {
  const char *fault = problem_upload(q);
  if (fault == NULL)
    fault = status_fault(q, q->plan.split_k > 0                ? sgemm_run_plan(&q->plan, &q->p, stream)
                            : q->variant == SGEMM_VARIANT_NONE ? sgemm_run(&q->p, stream)
                                                               : sgemm_run_variant(q->variant, &q->p, stream));
  return fault != NULL ? fault : problem_download(q);
}

/* Compares a host image bit for bit. The sentence has the index of the first float that differs. Index 0 is the first
   element. */
static const char *check_unchanged(problem *q, const char *name, const matrix *x, const float *after) {
  int64_t i = 0;
  if (x->count == 0 || memcmp(x->before, after, (size_t)x->count * sizeof(float)) == 0)
    return NULL;
  while (memcmp(&x->before[i], &after[i], sizeof(float)) == 0)
    i++;
  return problem_fault(
      q, "%s was written where no write is allowed: float %lld of %lld from its first element, %g became %g", name,
      (long long)(i - x->guard - x->offset), (long long)(x->count - 2 * x->guard - x->offset), (double)x->before[i],
      (double)after[i]);
}

/* A call may write the workspace but not its guards. */
static const char *check_workspace(problem *q) {
  const matrix *x = &q->workspace;
  if (x->count > 0)
    memcpy(first_element(x, x->after), first_element(x, x->before), (size_t)x->width * sizeof(float));
  return check_unchanged(q, "the workspace", x, x->after);
}

/* 1 if got and want differ by at most bound, or are both NaN or the same infinity, whose bound may be infinite. A
   comparison with NaN is false. */
static int agrees(double got, double want, double bound) {
  if (isnan(want))
    return isnan(got);
  if (isinf(want))
    return got == want;
  return got == want || fabs(got - want) <= bound;
}

/* Compares each result with the reference or, where other is not NULL, with another implementation's C within twice the
   bound. All other floats must equal what was uploaded. */
static const char *check(problem *q, const float *other) {
  const sgemm_params *p = &q->p;
  const int64_t k_count = has_product(p) ? p->k : 0;
  const size_t results = (size_t)(p->n > 0 ? p->n : 1);
  double *B = (double *)malloc((size_t)(k_count + 2) * results * sizeof(double));
  double *sum = B + (size_t)k_count * results, *size = sum + results;
  float *rest = (float *)malloc((size_t)q->C.count * sizeof(float)); /* C as downloaded, results as uploaded */
  const char *fault = NULL;
  int64_t b, i, j, k, compared = 0;
  cr_assert(B != NULL && rest != NULL, "no memory for the reference");
  memcpy(rest, q->C.after, (size_t)q->C.count * sizeof(float));
  for (b = 0; b < p->batch; b++) {
    for (k = 0; k < k_count; k++)
      for (j = 0; j < p->n; j++)
        B[k * p->n + j] = (double)*element(&q->B, b, k, j);
    for (i = 0; i < p->m; i++) {
      for (j = 0; j < p->n; j++)
        sum[j] = size[j] = 0.0;
      for (k = 0; k < k_count; k++) {
        const double a = (double)*element(&q->A, b, i, k), *row = B + k * p->n;
        for (j = 0; j < p->n; j++) {
          sum[j] += a * row[j];
          size[j] += fabs(a * row[j]);
        }
      }
      for (j = 0; j < p->n && fault == NULL; j++) {
        const float *before = element(&q->C, b, i, j);
        const int64_t at = before - q->C.before;
        const double alpha = (double)p->alpha, beta = (double)p->beta, got = (double)q->C.after[at];
        const double c = p->beta != 0.0f ? (double)*before : 0.0;
        const double scaled = k_count > 0 ? alpha * sum[j] : 0.0, magnitude = k_count > 0 ? fabs(alpha) * size[j] : 0.0;
        const double want = p->beta != 0.0f ? scaled + beta * c : scaled;
        const double roundings = q->roundings > 0.0 ? q->roundings : (double)(p->k + 2);
        const double bound = q->kind == EXACT ? 0.0 : roundings * 0x1p-24 * (magnitude + fabs(beta * c));
        compared++;
        rest[at] = *before;
        if (!q->nonfinite && !isfinite(want))
          fault = problem_fault(q, "the reference of C(%lld, %lld) is not finite", (long long)i, (long long)j);
        else if (q->kind == EXACT && isfinite(want) && (double)(float)want != want)
          fault = problem_fault(q, "the reference of C(%lld, %lld) is not exact in fp32", (long long)i, (long long)j);
        else if (other != NULL ? !agrees(got, (double)other[at], 2.0 * bound) : !agrees(got, want, bound))
          fault = problem_fault(q, "C(%lld, %lld) of matrix %lld is %.9g, want %.9g%s, bound %.3g", (long long)i,
                                (long long)j, (long long)b, got, other != NULL ? (double)other[at] : want,
                                other != NULL ? " (BLAS)" : "", other != NULL ? 2.0 * bound : bound);
      }
    }
  }
  if (fault == NULL && compared == 0)
    fault = problem_fault(q, "nothing was compared");
  if (fault == NULL)
    fault = check_unchanged(q, "A", &q->A, q->A.after);
  if (fault == NULL)
    fault = check_unchanged(q, "B", &q->B, q->B.after);
  if (fault == NULL)
    fault = check_unchanged(q, "C", &q->C, rest);
  if (fault == NULL)
    fault = check_workspace(q);
  free(rest);
  free(B);
  return fault;
}

const char *problem_check(problem *q) { return check(q, NULL); }

const char *problem_solve(problem *q, sgemm_stream stream) {
  const char *fault;
  problem_make(q);
  fault = problem_run(q, stream);
  if (fault == NULL)
    fault = problem_check(q);
  problem_free(q);
  return fault;
}

/* ---- The backend's BLAS ------------------------------------------------------------------------------------------ */

#if defined(MACHINE_CUDA) && MACHINE_CUDA

/* cuBLAS is column-major. A row-major C = A B is the column-major C^T = B^T A^T, so A and B change places. */
static int blas(const sgemm_params *p) {
  static cublasHandle_t handle;
  const int swap = p->order == SGEMM_ROW_MAJOR;
  const cublasOperation_t op_a = p->op_a == SGEMM_N ? CUBLAS_OP_N : CUBLAS_OP_T;
  const cublasOperation_t op_b = p->op_b == SGEMM_N ? CUBLAS_OP_N : CUBLAS_OP_T;
  if (handle == NULL && (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS ||
                         cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH) != CUBLAS_STATUS_SUCCESS))
    return 1;
  return (swap ? cublasSgemm(handle, op_b, op_a, (int)p->n, (int)p->m, (int)p->k, &p->alpha, p->B, (int)p->ldb, p->A,
                             (int)p->lda, &p->beta, p->C, (int)p->ldc)
               : cublasSgemm(handle, op_a, op_b, (int)p->m, (int)p->n, (int)p->k, &p->alpha, p->A, (int)p->lda, p->B,
                             (int)p->ldb, &p->beta, p->C, (int)p->ldc)) != CUBLAS_STATUS_SUCCESS;
}

#else

static int blas(const sgemm_params *p) {
  cblas_sgemm((CBLAS_ORDER)p->order, (CBLAS_TRANSPOSE)p->op_a, (CBLAS_TRANSPOSE)p->op_b, (int)p->m, (int)p->n,
              (int)p->k, p->alpha, p->A, (int)p->lda, p->B, (int)p->ldb, p->beta, p->C, (int)p->ldc);
  return 0;
}

#endif

static const char *check_blas(problem *q) {
  float *ours = q->C.after;
  float *theirs = q->C.after = (float *)malloc((size_t)q->C.count * sizeof(float));
  const char *fault = theirs == NULL ? "no memory for BLAS's result" : problem_upload(q);
  if (fault == NULL && blas(&q->p) != 0)
    fault = problem_fault(q, "BLAS fails");
  if (fault == NULL)
    fault = problem_download(q);
  q->C.after = ours;
  if (fault == NULL)
    fault = check(q, theirs);
  free(theirs);
  return fault;
}

const char *problem_check_blas(problem *q) {
  if (!has_product(&q->p))
    return NULL; /* OpenBLAS 0.3.21 multiplies small A and B although alpha = 0, so a NaN in them reaches C */
  return check_blas(q);
}

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

/* The sizes around a tile, where edge code begins and ends. */
static int64_t boundary_size(int tile, int i) {
  const int64_t sizes[5] = {1, tile - 1, tile, tile + 1, 2 * tile + 1};
  return sizes[i];
}

int swept_tile(int tile) { return tile == 1 ? 8 : tile == 2 ? 4 : tile; }

/* A case of a sweep: for each factor the index of its value. */
typedef struct factors {
  int m, n, k;   /* index for boundary_size() */
  int ops, pair; /* op pair, pair (alpha, beta) */
  int a, b, c;   /* padding of lda, ldb, ldc */
} factors;

/* The full tier: each shape once with each op pair. */
enum { SHAPES = 5 * 5 * 5, OP_PAIRS = 4, CASES = SHAPES * OP_PAIRS };

static factors factors_of(int i) {
  const int pass = i / SHAPES;
  factors c;
  c.m = i / 25 % 5;
  c.n = i / 5 % 5;
  c.k = i % 5;
  c.ops = (c.m + 2 * c.n + 3 * c.k + pass) % 4;
  c.pair = (c.m + c.n + c.k + pass) % 5;
  c.a = i % 3;
  c.b = i / 3 % 3;
  c.c = i / 9 % 3;
  return c;
}

/* The quick tier: an orthogonal array of 25 rows, six columns of five values and strength 2 (K. A. Bush, Orthogonal
   arrays of index unity, 1952). Any two of m, n, k, the ops and (alpha, beta) take each pair of their values. The ops
   and the padding of each leading dimension take each pair too. EXACT and ROUNDING have different arrays: k and (alpha,
   beta) differ. */
enum { REDUCED_CASES = 5 * 5 };

static factors reduced_factors_of(int i, data_kind kind) {
  const int x = i / 5 % 5, y = i % 5, ops = (x + 3 * y) % 5, padding = (x + 4 * y) % 5;
  factors c;
  c.m = x;
  c.n = y;
  c.k = (x + y + (kind == ROUNDING)) % 5;
  c.ops = ops < 4 ? ops : x % 4;
  c.pair = (x + 2 * y + 2 * (kind == ROUNDING)) % 5;
  c.a = padding % 3;
  c.b = (padding + x) % 3;
  c.c = (padding + y) % 3;
  return c;
}

int sweep(problem *q, sgemm_variant variant, data_kind kind, int i) {
  static const float pairs[5][2] = {{1.0f, 0.0f}, {1.0f, 1.0f}, {0.0f, 0.5f}, {0.5f, 0.0f}, {-0.7f, 1.3f}};
  static const int padding[3] = {0, 1, PRIME};
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const factors c = reduced() ? reduced_factors_of(i, kind) : factors_of(i);
  const int transposed = i % 2 ? SGEMM_T : SGEMM_C;
  const int64_t m = boundary_size(swept_tile(v->BM), c.m);
  int64_t n = boundary_size(swept_tile(v->BN), c.n), k = boundary_size(swept_tile(v->BK), c.k);
  if (i >= (reduced() ? REDUCED_CASES : CASES))
    return 0;
  while (n == m)
    n += 5; /* each shape comes once, with different m, n and k */
  while (k == m || k == n)
    k += 5;
  *q = problem_of(variant, c.ops / 2 ? transposed : SGEMM_N, c.ops % 2 ? transposed : SGEMM_N, m, n, k, kind);
  q->p.alpha = pairs[c.pair][0];
  q->p.beta = pairs[c.pair][1];
  if (kind == EXACT && c.pair == 4) { /* -0.7 and 1.3 are not exact in binary */
    q->p.alpha = -0.75f;
    q->p.beta = 1.25f;
  }
  q->p.lda += padding[c.a];
  q->p.ldb += padding[c.b];
  q->p.ldc += padding[c.c];
  q->seed = (uint64_t)i + 1;
  return 1;
}

/* ---- Schedules --------------------------------------------------------------------------------------------------- */

/* One with the sanitizers, which look at each access whatever the order. */
int schedules(void) { return is_set("SGEMM_TEST_UNGUARDED") ? 1 : reduced() ? REDUCED_SCHEDULES : SCHEDULES; }

#if defined(MACHINE_CUDA) && MACHINE_CUDA

sgemm_stream schedule(int i) {
  static cudaStream_t streams[SCHEDULES];
  cudaStream_t *stream = &streams[i % SCHEDULES];
  if (i % SCHEDULES != 0 && *stream == NULL)
    cr_assert(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking) == cudaSuccess, "no stream");
  return *stream;
}

#else

sgemm_stream schedule(int i) {
  static const sgemm_model models[SCHEDULES] = {{SGEMM_MODEL_FORWARD, 0, 1, 1},
                                                {SGEMM_MODEL_BACKWARD, 0, 2, 1},
                                                {SGEMM_MODEL_SHUFFLED, 1, 1, 1},
                                                {SGEMM_MODEL_SHUFFLED, 2, 2, 1},
                                                {SGEMM_MODEL_SHUFFLED, 3, 3, 1}};
  sgemm_model_set(&models[i % SCHEDULES]);
  return NULL;
}

#endif

static void lacks(const char *what) {
  cr_assert(!is_set("SGEMM_REQUIRE_GPU"), "no %s, and SGEMM_REQUIRE_GPU=1 asks for it", what);
  cr_skip_test("no %s: skipped", what);
}

void need(int present, const char *what) {
  if (present)
    return;
#if !defined(MACHINE_CUDA)
  cr_assert(!sgemm_tensor_compiled(), "the CPU model has no %s", what);
#endif
  lacks(what);
}

void need_memory(const void *memory, const char *size) {
  if (memory == NULL)
    lacks(size);
}

void need_backend(void) { need(machine_present(), machine_name()); }

void need_no_sanitizer(void) {
  if (is_set("SGEMM_TEST_UNGUARDED"))
    cr_skip_test("no sanitizer finds what this test looks for");
}

/* Disables all tests but those marked ANYWHERE if there is no device. Otherwise Criterion starts a process for each
   test, and each process loads cuBLAS before it finds no device. Criterion prints no reason of a skip, so this hook
   does. */
ReportHook(PRE_ALL)(struct criterion_test_set *tests) {
  if (machine_present())
    return;
  fprintf(stderr, "no %s: the tests that need one are skipped\n", machine_name());
  FOREACH_SET(struct criterion_suite_set * suite, tests->suites) {
    FOREACH_SET(struct criterion_test * test, suite->tests) {
      if (!is_set("SGEMM_REQUIRE_GPU") && test->data->description == NULL)
        test->data->disabled = true;
    }
  }
}
