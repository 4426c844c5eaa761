/* Tests of the tensor modes: the split of an operand, the fallback reasons of the guard, every tensor-core variant,
   pre-split operands, plans and the selection. */
#include "tests/testing.h"
#include "sgemm/geometry.h"
#include "sgemm/args.h"
#if !defined(MACHINE_CUDA) || !MACHINE_CUDA
#include "cpu/sgemm_model.h"
#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Helpers ----------------------------------------------------------------------------------------------------- */

static uint64_t state = 1;

/* xorshift64 (Marsaglia 2003). */
static uint64_t next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

/* Uniform in (-1, 1). */
static double uniform(void) { return (double)((int64_t)(next() >> 11) * 2 + 1 - (INT64_C(1) << 53)) * 0x1p-53; }

/* Normal, by the transform of Box and Muller. */
static double normal(void) {
  const double u = fabs(uniform()), v = uniform();
  return sqrt(-2.0 * log(u)) * cos(3.14159265358979323846 * v);
}

typedef double (*distribution)(void);
static double digits(void) { return (double)(next() % 9 + 1); }
static double zero(void) { return 0.0; }
static double positive(void) { return fabs(uniform()); }
static double spread_by_exp(void) { return 0.5 * uniform() * exp(normal()); }
static double spread_widely(void) { return normal() * exp2(30.0 * uniform()); }

static int mode_of(sgemm_format format) { return format == SGEMM_FORMAT_fp16x3 ? SGEMM_TENSOR : SGEMM_TENSOR_FULL; }

/* k of the hi hi products that go into one accumulator set before it is promoted. */
static int k_per_set(const sgemm_tensor_variant_info *v) { return 32 * v->k_blocks / v->sets; }

/* The error bound of a plan in 2^-24 |alpha| |A| |B|, if all elements are exact.
     terms  fp16x3 keeps 22 bits of an element: an error of 4 for each operand. It omits lo lo: an error of 4.
            bf16x6 keeps all 24 bits. It omits mid lo and lo mid, an error of 1 each, and lo lo, an error below 1.
     sums   An instruction truncates 17 numbers 2^25 below the largest one, and their sum to 24 bits: 17/2 + 2 for each
            instruction of hi hi. k_per_set() / 16 of them go into one accumulator set. All other instructions together
            add at most 2^-7 of this error.
     fp32   A rounding for each accumulator set, promotion and partition, and 3 for alpha, beta and the sum. */
static double roundings_of(const sgemm_plan *plan, int64_t k) {
  const sgemm_tensor_variant_info *v = sgemm_tensor_variant_get(plan->tensor);
  const double terms = v->format == SGEMM_FORMAT_fp16x3 ? 12.0 : 3.0, sums = 10.5 * k_per_set(v) / 16 + 1.0;
  return terms + sums + v->sets + ceil((double)k / (32.0 * v->k_blocks)) + plan->split_k + 3.0;
}

static problem problem_tensor(int variant, int split_k, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                              data_kind kind) {
  problem q = problem_of(SGEMM_VARIANT_NONE, op_a, op_b, m, n, k, kind);
  problem_plan_tensor(&q, (sgemm_tensor_variant)variant, split_k);
  q.p.mode = mode_of(sgemm_tensor_variant_get(q.plan.tensor)->format);
  q.roundings = roundings_of(&q.plan, k);
  return q;
}

static void need_variant(int variant) {
  need_backend();
  if (!can_run_tensor(variant) && can_run_tensor(SGEMM_wgmma_fp16x3_128x64))
    cr_skip_test("production code for sm_90a has no mma: skipped");
  need(can_run_tensor(variant), sgemm_tensor_variant_get((sgemm_tensor_variant)variant)->name);
}

/* The first variant from `variant` on that the backend can run; SGEMM_TENSOR_VARIANT_COUNT: there is none. */
static int next_variant(int variant) {
  while (variant < SGEMM_TENSOR_VARIANT_COUNT && !can_run_tensor(variant))
    variant++;
  return variant;
}

/* As next_variant(), but the quick tier takes only every third variant: the one of a format with the smallest tile. */
static int next_in_tier(int variant) {
  variant = next_variant(variant);
  while (reduced() && variant < SGEMM_TENSOR_VARIANT_COUNT && variant % 3 != 2)
    variant = next_variant(variant + 1);
  return variant;
}

/* Makes q column-major with the smallest leading dimensions. */
static void make_column_major(problem *q) {
  sgemm_params *p = &q->p;
  p->order = SGEMM_COL_MAJOR;
  p->lda = p->op_a == SGEMM_N ? p->m : p->k;
  p->ldb = p->op_b == SGEMM_N ? p->k : p->n;
  p->ldc = p->m;
}

/* Adds padding to each leading dimension, in floats, and sets the strides to match. */
static void pad(problem *q, int64_t padding) {
  sgemm_params *p = &q->p;
  const int row_major = p->order == SGEMM_ROW_MAJOR;
  p->lda += padding;
  p->ldb += padding;
  p->ldc += padding;
  p->stride_a = p->lda * ((p->op_a == SGEMM_N) == row_major ? p->m : p->k);
  p->stride_b = p->ldb * ((p->op_b == SGEMM_N) == row_major ? p->k : p->n);
  p->stride_c = p->ldc * (row_major ? p->m : p->n);
}

static void fill(problem *q, matrix *x, int64_t i_count, int64_t j_count, distribution next_element) {
  int64_t b, i, j;
  for (b = 0; b < q->p.batch; b++)
    for (i = 0; i < i_count; i++)
      for (j = 0; j < j_count; j++)
        *element(x, b, i, j) = (float)next_element();
}

static void fill_both(problem *q, distribution next_element) {
  fill(q, &q->A, q->p.m, q->p.k, next_element);
  fill(q, &q->B, q->p.k, q->p.n, next_element);
}

static uint32_t reason_of(const problem *q) {
  uint32_t reason = 0xdead;
  cr_assert(sgemm_guard_query(&q->p, &reason, NULL) == SGEMM_SUCCESS && machine_wait() == 0);
  return reason;
}

/* A copy of the downloaded C, for free(). */
static float *copy_of_c(const problem *q) {
  float *c = (float *)malloc((size_t)q->C.count * sizeof *c);
  cr_assert(c != NULL);
  memcpy(c, q->C.after, (size_t)q->C.count * sizeof *c);
  return c;
}

/* 1 if the downloaded C equals the copy bit for bit. */
static int equals_c(const problem *q, const float *c) {
  return memcmp(c, q->C.after, (size_t)q->C.count * sizeof *c) == 0;
}

/* Runs the call in strict fp32 without workspace. C replaces the one of q. */
static void run_strict(problem *q) {
  problem strict = *q;
  strict.plan.tensor = strict.plan.tensor_fallback = SGEMM_TENSOR_VARIANT_NONE;
  strict.plan.split_k = 0;
  strict.p.mode = SGEMM_STRICT;
  strict.p.workspace_bytes = 0;
  strict.p.prepared_a = strict.p.prepared_b = NULL;
  CHECK(problem_run(&strict, NULL));
}

/* ---- The split --------------------------------------------------------------------------------------------------- */

/* Split-operand data in the layout of sgemm/stages/tensor_split.cuh. */
typedef struct split {
  const char *data;
  const float *scales;
  int64_t rows, k_blocks, scale_blocks;
  int terms;
} split;

static split split_at(const void *memory, sgemm_format format, int64_t extent, int64_t k, int64_t batch) {
  split s;
  s.terms = format == SGEMM_FORMAT_fp16x3 ? 2 : 3;
  s.rows = (extent + 63) / 64 * 64;
  s.k_blocks = (k + 63) / 64 * 2;
  s.scale_blocks = (k + 127) / 128;
  s.data = (const char *)memory;
  s.scales = (const float *)(s.data + (s.rows * s.k_blocks * batch + 256) * 64 * s.terms);
  return s;
}

/* One split term of an element. A k-block of 32 k has groups of 8 rows, a group has the terms, a term has 4 matrices of
   8 rows x 8 k. */
static uint32_t term_of(const split *s, int64_t batch, int64_t row, int64_t k, int term) {
  const int64_t group = ((batch * s->k_blocks + k / 32) * s->rows + row) / 8;
  uint16_t h;
  memcpy(&h, s->data + ((group * s->terms + term) * 4 + k % 32 / 8) * 128 + row % 8 * 16 + k % 8 * 2, sizeof h);
  return h;
}

/* The block scale of an element. */
static double scale_of(const split *s, int64_t batch, int64_t row, int64_t k) {
  static const int order[16] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15}; /* rows in memory order */
  int at = 0;
  while (order[at] != row % 16)
    at++;
  return (double)s->scales[(batch * s->scale_blocks + k / 128) * s->rows + row / 16 * 16 + at];
}

/* The value of a split term: a sign, then 5 bits of exponent and 10 of significand (fp16), or 8 and 7 (bf16). */
static double value_of(uint32_t h, sgemm_format format) {
  const int fraction = format == SGEMM_FORMAT_fp16x3 ? 10 : 7, bias = format == SGEMM_FORMAT_fp16x3 ? 15 : 127;
  const int exponent = (int)(h >> fraction) & (2 * bias + 1);
  const double significand = (double)(h & ((1u << fraction) - 1)) + (exponent > 0 ? 1 << fraction : 0);
  cr_assert(exponent <= 2 * bias, "term 0x%x is Inf or NaN", h);
  return (h >> 15 ? -1.0 : 1.0) * ldexp(significand, (exponent > 0 ? exponent : 1) - bias - fraction);
}

/* The backend's memory for a pre-split operand. No call may write the guard behind it. */
enum { GUARD_BYTES = 512 };
static char *prepared_memory(int64_t bytes) {
  char *memory = (char *)machine_alloc((size_t)bytes + GUARD_BYTES);
  cr_assert(memory != NULL && bytes % 16 == 0);
  cr_assert(machine_set(memory, 0xff, (size_t)bytes) == 0 && machine_set(memory + bytes, 0xa5, GUARD_BYTES) == 0);
  return memory;
}

/* Copies a pre-split operand to the host, for free(), and checks the guard. */
static char *prepared_download(const char *memory, int64_t bytes) {
  char *copy = (char *)malloc((size_t)bytes + GUARD_BYTES);
  int i;
  cr_assert(copy != NULL && machine_wait() == 0 && machine_download(copy, memory, (size_t)bytes + GUARD_BYTES) == 0);
  for (i = 0; i < GUARD_BYTES; i++)
    cr_assert((unsigned char)copy[bytes + i] == 0xa5, "byte %d behind a pre-split operand was written", i);
  return copy;
}

/* Splits an operand by sgemm_prepare() and returns a copy on the host, for free(). */
static char *split_of(problem *q, char which) {
  const int64_t bytes = sgemm_prepared_bytes(&q->p, which);
  char *memory = prepared_memory(bytes), *copy;
  sgemm_status status;
  CHECK(problem_upload(q));
  status = sgemm_prepare(&q->p, which, memory, NULL);
  cr_assert(status == SGEMM_SUCCESS, "%s", sgemm_status_string(status));
  copy = prepared_download(memory, bytes);
  machine_free(memory);
  return copy;
}

/* Compares the terms and block scales of A or B with the elements. Row r of the split is row r of op(A) or column r of
   op(B). */
static void check_split(problem *q, char which) {
  const sgemm_format format = q->p.mode == SGEMM_TENSOR ? SGEMM_FORMAT_fp16x3 : SGEMM_FORMAT_bf16x6;
  const double low = format == SGEMM_FORMAT_fp16x3 ? 0x1p14 : 1.0; /* the largest scaled element is in [low, 2 low) */
  const int64_t extent = which == 'A' ? q->p.m : q->p.n;
  char *memory = split_of(q, which);
  const split s = split_at(memory, format, extent, q->p.k, q->p.batch);
  int64_t b, row, k, at;
  int term;
  for (b = 0; b < q->p.batch; b++)
    for (row = 0; row < s.rows; row++)
      for (k = 0; k < s.k_blocks * 32; k++) {
        const int inside = row < extent && k < q->p.k;
        const double scale = scale_of(&s, b, row, k);
        double x, sum = 0.0, error, within;
        int exponent;
        cr_assert(frexp(scale, &exponent) == 0.5, "scale %g is no power of two", scale);
        for (term = s.terms - 1; term >= 0; term--) {
          const uint32_t h = term_of(&s, b, row, k, term);
          cr_assert(inside || h == 0, "term %d of (%d, %d), which is outside of the operand, is 0x%x", term, (int)row,
                    (int)k, h);
          sum += value_of(h, format);
        }
        if (!inside)
          continue;
        x = (double)*(which == 'A' ? element(&q->A, b, row, k) : element(&q->B, b, k, row)) / scale;
        error = fabs(sum - x);
        /* fp16: half a unit in the last place of lo, at least 2^-25. bf16: 0 from 2^-110 on, below it 2^-134. */
        within = format == SGEMM_FORMAT_fp16x3 ? fmax(fabs(x) * 0x1p-23, 0x1p-25)
                 : fabs(x) >= 0x1p-110         ? 0.0
                                               : 0x1p-134;
        cr_assert(error <= within, "(%d, %d) is %a, its terms make %a", (int)row, (int)k, x, sum);
        if (k % 128 == 0) {
          double largest = 0.0;
          for (at = k; at < k + 128 && at < q->p.k; at++)
            largest = fmax(largest,
                           fabs((double)*(which == 'A' ? element(&q->A, b, row, at) : element(&q->B, b, at, row))));
          cr_assert(largest == 0.0 || (largest / scale >= low && largest / scale < 2.0 * low),
                    "the largest element of row %d from k %d on, %g, became %g", (int)row, (int)k, largest,
                    largest / scale);
        }
      }
  free(memory);
}

Test(split, terms_make_the_elements) {
  static const int64_t sizes[][3] = {{1, 65, 127},  {63, 130, 33}, {64, 5, 128},
                                     {66, 67, 129}, {129, 1, 290}, {65, 70, 1}};
  static const distribution data[] = {uniform, spread_by_exp, spread_widely};
  int mode, ops, order, i, cases = 0;
  need_backend();
  for (mode = SGEMM_TENSOR; mode <= SGEMM_TENSOR_FULL; mode++)
    for (ops = 0; ops < 4; ops++)
      for (order = 0; order < 2; order++)
        for (i = 0; i < 6; i++) {
          const int64_t *size = sizes[i];
          problem q = problem_of(SGEMM_VARIANT_NONE, ops / 2 ? SGEMM_T : SGEMM_N, ops % 2 ? SGEMM_C : SGEMM_N, size[0],
                                 size[1], size[2], ROUNDING);
          if (reduced() && (mode + ops + order + i) % 4 != 0)
            continue;
          if (order)
            make_column_major(&q);
          pad(&q, i % 2 ? PRIME : 0);
          q.p.mode = mode;
          q.p.batch = 1 + i % 2;
          problem_make(&q);
          fill_both(&q, data[(i + ops) % 3]);
          *element(&q.A, 0, 0, size[2] / 2) = 0.0f;
          *element(&q.B, 0, size[2] - 1, size[1] / 2) = -0.0f;
          check_split(&q, 'A');
          check_split(&q, 'B');
          problem_free(&q);
          cases++;
        }
  cr_assert(cases > 0);
}

/* Exponents at both ends of fp32, where a block scale or its inverse is close to the end of the normal numbers. */
Test(split, ends_of_the_range) {
  static const float ends[] = {0x1.fffffep127f, 0x1p126f, 0x1p-100f, 0x1p-111f, 0x1.8p-112f, 0x1p-126f, 0x1p-149f};
  int mode, i, term;
  need_backend();
  for (mode = SGEMM_TENSOR; mode <= SGEMM_TENSOR_FULL; mode++)
    for (i = 0; i < (int)(sizeof ends / sizeof *ends); i++) {
      const sgemm_format format = mode == SGEMM_TENSOR ? SGEMM_FORMAT_fp16x3 : SGEMM_FORMAT_bf16x6;
      problem q = problem_of(SGEMM_VARIANT_NONE, SGEMM_N, SGEMM_N, 1, 1, 2, ROUNDING);
      char *memory;
      split s;
      double sum = 0.0;
      q.p.mode = mode;
      problem_make(&q);
      *element(&q.A, 0, 0, 0) = ends[i];
      *element(&q.A, 0, 0, 1) = 0.0f;
      memory = split_of(&q, 'A');
      s = split_at(memory, format, 1, 2, 1);
      for (term = s.terms - 1; term >= 0; term--)
        sum += value_of(term_of(&s, 0, 0, 0, term), format);
      sum *= scale_of(&s, 0, 0, 0);
      cr_assert(fabs(sum - (double)ends[i]) <= (mode == SGEMM_TENSOR ? 0x1p-23 * (double)ends[i] : 0.0), "%a became %a",
                (double)ends[i], sum);
      free(memory);
      problem_free(&q);
    }
}

/* hi is the nearest 16-bit number, ties to even. rint() in units in the last place gives the reference. */
Test(split, hi_is_nearest) {
  int mode;
  need_backend();
  for (mode = SGEMM_TENSOR; mode <= SGEMM_TENSOR_FULL; mode++) {
    const sgemm_format format = mode == SGEMM_TENSOR ? SGEMM_FORMAT_fp16x3 : SGEMM_FORMAT_bf16x6;
    const int fraction = mode == SGEMM_TENSOR ? 10 : 7, lowest = mode == SGEMM_TENSOR ? -14 : -126;
    problem q = problem_of(SGEMM_VARIANT_NONE, SGEMM_N, SGEMM_N, 128, 1, 256, ROUNDING);
    char *memory;
    split s;
    int64_t row, k;
    q.p.mode = mode;
    problem_make(&q);
    for (row = 0; row < 128; row++)
      for (k = 0; k < 256; k++) {
        /* Few bits, so that ties are common. Every exponent from the largest to below the smallest subnormal. */
        const double significand = 1.0 + floor(positive() * (8 << fraction)) / (8 << fraction);
        const int top = mode == SGEMM_TENSOR ? 14 : 0;
        const double x = ldexp(significand, top - (int)(positive() * (top - lowest + fraction + 3)));
        *element(&q.A, 0, row, k) = (float)(k % 128 == 0 ? ldexp(1.0, top) : k % 2 ? -x : x);
      }
    memory = split_of(&q, 'A');
    s = split_at(memory, format, 128, 256, 1);
    for (row = 0; row < 128; row++)
      for (k = 0; k < 256; k++) {
        const double x = (double)*element(&q.A, 0, row, k);
        const double ulp = ldexp(1.0, (ilogb(x) > lowest ? ilogb(x) : lowest) - fraction);
        const double got = value_of(term_of(&s, 0, row, k, 0), format);
        cr_assert(got == rint(x / ulp) * ulp, "%a became %a", x, got);
      }
    free(memory);
    problem_free(&q);
  }
}

/* ---- The guard --------------------------------------------------------------------------------------------------- */

/* A case changes operands whose elements are exact, and expects a fallback reason. low: an element that is inexact if
   the largest element with the same block scale is 1. */
typedef void (*change)(problem *q, float low);

static void unchanged(problem *q, float low) { (void)q, (void)low; }
static void uniform_elements(problem *q, float low) { (void)low, fill_both(q, uniform); }
static void nan_in_a(problem *q, float low) { (void)low, *element(&q->A, 0, 69, 299) = NAN; }
static void inf_in_b(problem *q, float low) { (void)low, *element(&q->B, 0, 128, 39) = -INFINITY; }

/* Row 65 of A: of the 128 k with one block scale the first `count` are inexact. */
static void inexact(problem *q, int count, float low) {
  int k;
  for (k = 128; k < 256; k++)
    *element(&q->A, 0, 65, k) = k - 128 < count ? low : 1.0f;
}
static void three_inexact(problem *q, float low) { inexact(q, 3, low); }
static void four_inexact(problem *q, float low) { inexact(q, 4, -low); }
static void three_in_each_16(problem *q, float low) {
  int k;
  for (k = 128; k < 256; k++)
    *element(&q->A, 0, 65, k) = k % 16 < 3 ? low : 1.0f;
}
static void four_of_a_column(problem *q, float low) {
  int k;
  for (k = 256; k < 300; k++)
    *element(&q->B, 0, k, 1) = k >= 296 ? low : 1.0f;
}

/* A single non-zero in a block of 128 k of a row of A, or of a column of B. */
static void single(matrix *x, int along_i, int64_t at) {
  int k;
  for (k = 0; k < 128; k++)
    *(along_i ? element(x, 0, k, at) : element(x, 0, at, k)) = k == 77 ? 1.0f : 0.0f;
}
static void single_in_b(problem *q, float low) { (void)low, single(&q->B, 1, 39); }
static void inexact_in_a_single_in_b(problem *q, float low) {
  inexact(q, 1, low);
  single(&q->B, 1, 39);
}
static void inexact_in_b_single_in_a(problem *q, float low) {
  *element(&q->B, 0, 0, 3) = 1.0f;
  *element(&q->B, 0, 1, 3) = low;
  single(&q->A, 0, 0);
}
static void inexact_and_single_in_a(problem *q, float low) {
  inexact(q, 1, low);
  single(&q->A, 0, 0);
}

static void scale(problem *q, int exponent) {
  int64_t i, k;
  for (i = 0; i < q->p.m; i++)
    for (k = 0; k < q->p.k; k++)
      *element(&q->A, 0, i, k) = ldexpf(*element(&q->A, 0, i, k), exponent);
}
static void large(problem *q, float low) { (void)low, scale(q, 60); }
static void too_large(problem *q, float low) { (void)low, scale(q, 100); }
static void small(problem *q, float low) { (void)low, scale(q, -90); }
static void too_small(problem *q, float low) { (void)low, scale(q, -125); }
static void columns_of_different_size(problem *q, float low) {
  int k;
  (void)low;
  for (k = 0; k < 128; k++)
    *element(&q->B, 0, k, 7) = 0x1p120f;
}
static void normal_elements(problem *q, float low) { (void)low, fill_both(q, normal); }
static void exp_spread_elements(problem *q, float low) { (void)low, fill_both(q, spread_by_exp); }
static void positive_elements(problem *q, float low) { (void)low, fill_both(q, positive); }

static const struct {
  const char *name;
  change change;
  uint32_t reason;
} GUARDED[] = {{"digits", unchanged, 0},
               {"uniform", uniform_elements, 0},
               {"normal", normal_elements, 0},
               {"(u - 0.5) exp(n)", exp_spread_elements, 0},
               {"of one sign", positive_elements, 0},
               {"a NaN", nan_in_a, SGEMM_GUARD_NONFINITE},
               {"an infinity", inf_in_b, SGEMM_GUARD_NONFINITE},
               {"3 inexact of 16", three_inexact, 0},
               {"4 inexact of 16", four_inexact, SGEMM_GUARD_SPREAD},
               {"3 inexact of each 16", three_in_each_16, 0},
               {"4 inexact at the end of a column", four_of_a_column, SGEMM_GUARD_SPREAD},
               {"a single non-zero", single_in_b, 0},
               {"a single non-zero in B, an inexact element in A", inexact_in_a_single_in_b, SGEMM_GUARD_SPARSE},
               {"a single non-zero in A, an inexact element in B", inexact_in_b_single_in_a, SGEMM_GUARD_SPARSE},
               {"a single non-zero and an inexact element in A", inexact_and_single_in_a, 0},
               {"2^60", large, 0},
               {"2^100", too_large, SGEMM_GUARD_RANGE},
               {"2^-90", small, 0},
               {"2^-125", too_small, SGEMM_GUARD_RANGE},
               {"columns with a ratio of 2^120", columns_of_different_size, SGEMM_GUARD_RANGE}};

Test(guard, reasons) {
  static const int variants[4] = {SGEMM_wgmma_fp16x3_128x64, SGEMM_wgmma_bf16x6_128x64, SGEMM_mma_fp16x3_128x128,
                                  SGEMM_mma_bf16x6_128x128};
  int r, i, split_k;
  need_backend();
  for (r = 0; r < 4; r++)
    for (i = 0; i < (int)(sizeof GUARDED / sizeof *GUARDED); i++)
      for (split_k = 1; split_k <= 2; split_k++) {
        problem q = problem_tensor(variants[r], split_k, SGEMM_N, SGEMM_N, 70, 40, 300, ROUNDING);
        uint32_t reason;
        if (!can_run_tensor(variants[r]) || ((split_k == 2 || r >= 2) && (i + r) % 4 != 0))
          continue;
        q.p.beta = 0.5f;
        q.nonfinite = 1;
        problem_make(&q);
        fill_both(&q, digits);
        GUARDED[i].change(&q, r % 2 ? 0x1p-111f : 0x1p-18f);
        CHECK(problem_run(&q, schedule(i)));
        reason = reason_of(&q);
        cr_assert(reason == GUARDED[i].reason, "%s: reason %u, want %u", GUARDED[i].name, reason, GUARDED[i].reason);
        if (GUARDED[i].reason == 0)
          CHECK(problem_check(&q));
        else {
          float *c = copy_of_c(&q);
          run_strict(&q);
          cr_assert(equals_c(&q, c), "%s: not the bits of strict fp32", GUARDED[i].name);
          free(c);
        }
        problem_free(&q);
      }
}

/* FLT_MAX in A times zeros in B is 0. Zeros have no exponent, so the guard sees no range. */
Test(guard, largest_times_zero) {
  int r;
  need_backend();
  for (r = next_variant(0); r < SGEMM_TENSOR_VARIANT_COUNT; r = next_variant(r + 1)) {
    problem q = problem_tensor(r, 1, SGEMM_N, SGEMM_N, 2, 3, 70, EXACT);
    problem_make(&q);
    fill(&q, &q.A, 2, 70, zero);
    fill(&q, &q.B, 70, 3, zero);
    *element(&q.A, 0, 1, 3) = 0x1.fffffep127f;
    CHECK(problem_run(&q, NULL));
    CHECK(problem_check(&q));
    problem_free(&q);
  }
}

/* ---- The product ------------------------------------------------------------------------------------------------- */

/* Root mean square of the errors in 2^-24 |A| |B|, for alpha 1 and beta 0. */
static double rms_of(const problem *q) {
  double squares = 0.0;
  int64_t i, j, k;
  for (i = 0; i < q->p.m; i++)
    for (j = 0; j < q->p.n; j++) {
      double sum = 0.0, size = 0.0, error;
      for (k = 0; k < q->p.k; k++) {
        const double product = (double)*element(&q->A, 0, i, k) * (double)*element(&q->B, 0, k, j);
        sum += product;
        size += fabs(product);
      }
      error = ((double)result(q, 0, i, j) - sum) / size * 0x1p24;
      squares += error * error;
    }
  return sqrt(squares / (double)(q->p.m * q->p.n));
}

/* Sets case i of a variant; returns 0 if there is none. Sizes differ from the tile. Ops, order, padding, alpha, beta,
   batch and split_k change from case to case. In the last three cases the split reads whole row blocks, by vectors if
   they are aligned. */
static int tensor_case(problem *q, int variant, data_kind kind, int i) {
  static const struct {
    int m, n; /* added to BM and BN */
    int64_t k;
    int split_k;
    int64_t batch, padding;
    int stride_0; /* 1: the batch has one A; 2: one B */
    float alpha, beta;
  } cases[] = {{-100, 1, 65, 1, 2, 1, 0, 1.0f, 0.0f},  {3, -50, 161, 1, 1, PRIME, 0, 0.5f, 0.0f},
               {-1, -63, 33, 1, 3, 1, 0, 1.0f, 1.0f},  {-60, 5, 130, 2, 1, PRIME, 0, -0.75f, 1.25f},
               {-127, -31, 7, 1, 2, 0, 1, 1.0f, 0.0f}, {-64, -33, 431, 3, 1, PRIME, 0, 1.0f, 0.0f},
               {-60, -47, 96, 1, 3, 4, 2, 0.5f, 0.5f}, {-71, -13, 515, 3, 2, 3, 0, 2.0f, 1.0f},
               {-96, 6, 40, 1, 1, 2, 0, 1.0f, -1.0f},  {-112, -2, 40, 1, 2, 2, 0, 1.0f, 0.0f},
               {-60, 8, 132, 1, 1, 0, 0, 1.0f, 0.0f},  {-110, 8, 132, 1, 2, 0, 0, 1.0f, 0.0f},
               {-110, 8, 132, 1, 2, 0, 0, 1.0f, 0.0f}};
  const sgemm_tensor_variant_info *v = sgemm_tensor_variant_get((sgemm_tensor_variant)variant);
  if (i >= (int)(sizeof cases / sizeof *cases))
    return 0;
  *q = problem_tensor(variant, cases[i].split_k, i / 2 % 2 ? SGEMM_T : SGEMM_N, i % 2 ? SGEMM_C : SGEMM_N,
                      v->BM + cases[i].m, v->BN + cases[i].n, cases[i].k, kind);
  if (i / 4 % 2)
    make_column_major(q);
  pad(q, cases[i].padding);
  q->p.batch = cases[i].batch;
  q->p.stride_a = cases[i].stride_0 == 1 ? 0 : q->p.stride_a + 5;
  q->p.stride_b = cases[i].stride_0 == 2 ? 0 : q->p.stride_b + 3;
  q->p.stride_c += 1; /* an odd stride: matrices start on and off 8 bytes */
  q->p.alpha = cases[i].alpha;
  q->p.beta = cases[i].beta;
  q->seed = (uint64_t)(i + 1);
  q->C.offset = i % 3; /* C starts on and off 8 bytes */
  return 1;
}

#define SGEMM__X(engine, format, BM, BN, WN, k_blocks, sets, bufs, reason)                                             \
  Test(engine##_##format##_##BM##x##BN, cases) {                                                                       \
    problem q;                                                                                                         \
    int i;                                                                                                             \
    need_variant(SGEMM_##engine##_##format##_##BM##x##BN);                                                             \
    for (i = 0; tensor_case(&q, SGEMM_##engine##_##format##_##BM##x##BN, i % 3 == 1 ? EXACT : ROUNDING, i); i++) {     \
      if (reduced() && i % 3 != 0)                                                                                     \
        continue;                                                                                                      \
      CHECK(problem_solve(&q, schedule(i)));                                                                           \
    }                                                                                                                  \
  }
SGEMM_TENSOR_VARIANTS(SGEMM__X)
#undef SGEMM__X

/* Typical data have errors below 2^-24 |A| |B|. Data of one sign have errors of a few 2^-24 |A| |B|, because their sums
   are truncated toward zero; shorter sums have smaller errors. An omitted product makes errors larger than these
   bounds. */
Test(product, typical_errors) {
  static const distribution data[] = {uniform, positive, normal, spread_by_exp};
  int r, d;
  need_backend();
  for (r = next_in_tier(0); r < SGEMM_TENSOR_VARIANT_COUNT; r = next_in_tier(r + 1))
    for (d = 0; d < 4; d++) {
      problem q = problem_tensor(r, 1, SGEMM_N, SGEMM_N, 66, 35, 260, ROUNDING);
      double rms;
      problem_make(&q);
      fill_both(&q, data[d]);
      CHECK(problem_run(&q, NULL));
      CHECK(problem_check(&q));
      cr_assert(reason_of(&q) == 0);
      rms = rms_of(&q);
      cr_assert(
          rms < (data[d] == positive ? 0.5 + 0.06 * k_per_set(sgemm_tensor_variant_get((sgemm_tensor_variant)r)) : 0.7),
          "%s, data %d: %g of 2^-24 |A| |B|", sgemm_tensor_variant_get((sgemm_tensor_variant)r)->name, d, rms);
      problem_free(&q);
    }
}

/* Products of integers below 2^11 whose sums stay below 2^24 are exact: no term loses a bit. */
Test(product, integers) {
  int r, i;
  need_backend();
  for (r = next_in_tier(0); r < SGEMM_TENSOR_VARIANT_COUNT; r = next_in_tier(r + 1))
    for (i = 0; i < 2; i++) {
      problem q = problem_tensor(r, 1, SGEMM_N, SGEMM_T, 67, 33, 200 + i, EXACT);
      int64_t at, k;
      problem_make(&q); /* EXACT: integers up to 8 */
      for (at = 0; at < (i ? q.p.n : q.p.m); at++)
        for (k = 0; k < q.p.k; k++)
          *(i ? element(&q.B, 0, k, at) : element(&q.A, 0, at, k)) = (float)((int)(next() % 4095) - 2047);
      CHECK(problem_run(&q, NULL));
      CHECK(problem_check(&q));
      cr_assert(reason_of(&q) == 0);
      problem_free(&q);
    }
}

/* Each row and each column has another block scale, and the scales change along k. */
Test(product, scales) {
  int r;
  need_backend();
  for (r = next_variant(0); r < SGEMM_TENSOR_VARIANT_COUNT; r = next_variant(r + 1)) {
    problem q = problem_tensor(r, 1, SGEMM_T, SGEMM_N, 67, 70, 420, EXACT);
    int64_t i, j, k;
    problem_make(&q);
    for (k = 0; k < q.p.k; k++) {
      for (i = 0; i < q.p.m; i++)
        *element(&q.A, 0, i, k) = ldexpf(*element(&q.A, 0, i, k), (int)(i * 7 % 23) - 11 + (int)(k / 128 * 5));
      for (j = 0; j < q.p.n; j++)
        *element(&q.B, 0, k, j) = ldexpf(*element(&q.B, 0, k, j), (int)(j * 5 % 31) - 15 - (int)(k / 128 * 5));
    }
    CHECK(problem_run(&q, NULL));
    CHECK(problem_check(&q));
    cr_assert(reason_of(&q) == 0);
    problem_free(&q);
  }
}

/* Results have the same bits on every schedule and for any number of persistent blocks. */
Test(product, same_bits) {
  int r, i;
  need_backend();
  for (r = next_in_tier(0); r < SGEMM_TENSOR_VARIANT_COUNT; r = next_in_tier(r + 1)) {
    const sgemm_tensor_variant_info *v = sgemm_tensor_variant_get((sgemm_tensor_variant)r);
    problem q = problem_tensor(r, 2, SGEMM_N, SGEMM_N, 70, v->BN + 5, 200, ROUNDING);
    float *c;
    problem_make(&q);
    CHECK(problem_run(&q, schedule(0)));
    c = copy_of_c(&q);
    for (i = 1; i < SCHEDULES; i++) {
      CHECK(problem_run(&q, schedule(i)));
      cr_assert(equals_c(&q, c), "%s, schedule %d", v->name, i);
    }
#if !defined(MACHINE_CUDA) || !MACHINE_CUDA /* the number of SMs of a GPU is fixed */
    for (i = 1; i <= 5; i += 2) {
      const sgemm_model model = {SGEMM_MODEL_FORWARD, 0, 1, i};
      sgemm_model_set(&model);
      CHECK(problem_run(&q, NULL));
      cr_assert(equals_c(&q, c), "%s on %d multiprocessors", v->name, i);
    }
#endif
    free(c);
    problem_free(&q);
  }
}

/* Partitions without k are neither computed nor summed. */
Test(product, partitions_without_k) {
  static const int64_t sizes[][2] = {{3, 500}, {4, 1152}, {7, 130}, {2, 64}, {64, 1000}};
  int i;
  need_variant(SGEMM_wgmma_fp16x3_128x64);
  for (i = 0; i < 5; i++) {
    problem q = problem_tensor(SGEMM_wgmma_fp16x3_128x64, (int)sizes[i][0], SGEMM_N, SGEMM_N, 5, 6, sizes[i][1],
                               ROUNDING);
    CHECK(problem_solve(&q, NULL));
  }
}

/* alpha = 0, k = 0, m = 0 or n = 0: A and B are not read. */
Test(product, nothing_to_multiply) {
  int r, i;
  need_backend();
  for (r = next_variant(0); r < SGEMM_TENSOR_VARIANT_COUNT; r = next_variant(r + 1))
    for (i = 0; i < 4; i++) {
      problem q = problem_tensor(r, 1 + i / 2, SGEMM_N, SGEMM_N, 5, 6, i % 2 ? 70 : 0, ROUNDING);
      q.p.alpha = i % 2 ? 0.0f : 1.0f;
      q.p.beta = i / 2 ? 0.5f : 0.0f;
      CHECK(problem_solve(&q, NULL));
    }
  for (i = 0; i < 2; i++) {
    problem q = problem_tensor(i, 1, SGEMM_N, SGEMM_N, i ? 0 : 5, i ? 5 : 0, 70, ROUNDING);
    q.plan.variant = (sgemm_variant)0;
    q.plan.cluster_k = 1;
    cr_assert(sgemm_run_plan(&q.plan, &q.p, NULL) == SGEMM_SUCCESS && sgemm_run(&q.p, NULL) == SGEMM_SUCCESS);
  }
}

/* ---- Pre-split operands ------------------------------------------------------------------------------------------ */

Test(prepared, same_bits) {
  int r, i, which;
  need_backend();
  for (r = next_in_tier(0); r < SGEMM_TENSOR_VARIANT_COUNT; r = next_in_tier(r + 1))
    for (i = 1; i < 8; i += reduced() ? 4 : 2) { /* variants with the smallest tiles take all cases, others one */
      problem q;
      float *c;
      if (r % 3 != 2 && i != 1 + r % 4 * 2)
        continue;
      cr_assert(tensor_case(&q, r, ROUNDING, i));
      problem_make(&q);
      CHECK(problem_run(&q, NULL));
      c = copy_of_c(&q);
      problem_free(&q);
      for (which = 1; which < 4; which++) {
        const int64_t bytes_a = sgemm_prepared_bytes(&q.p, 'A'), bytes_b = sgemm_prepared_bytes(&q.p, 'B');
        char *a = prepared_memory(bytes_a), *b = prepared_memory(bytes_b);
        sgemm_params other;
        tensor_case(&q, r, ROUNDING, i);
        q.p.prepared_a = which & 1 ? a : NULL;
        q.p.prepared_b = which & 2 ? b : NULL;
        problem_make(&q);
        CHECK(problem_upload(&q));
        other = q.p; /* the other operand's size, alpha and beta have no effect */
        other.alpha = 0.0f;
        other.beta = 1.0f;
        other.n = 0;
        cr_assert(!(which & 1) || sgemm_prepare(&other, 'A', a, NULL) == SGEMM_SUCCESS);
        other.n = q.p.n;
        other.m = 0;
        cr_assert(!(which & 2) || sgemm_prepare(&other, 'B', b, NULL) == SGEMM_SUCCESS);
        cr_assert(sgemm_prepared_bytes(&other, 'B') == bytes_b);
        free(prepared_download(a, bytes_a));
        free(prepared_download(b, bytes_b));
        CHECK(problem_run(&q, NULL));
        cr_assert(equals_c(&q, c), "%s, case %d, prepared %d", sgemm_tensor_variant_get((sgemm_tensor_variant)r)->name,
                  i, which);
        CHECK(problem_check(&q));
        problem_free(&q);
        machine_free(a);
        machine_free(b);
      }
      free(c);
    }
}

/* An operand is split in a call that has no result, whose C may have no rows: nothing is checked of C. */
Test(prepared, without_results) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 0, 8, 64);
  char *memory;
  need_backend();
  p.batch = 4;
  p.mode = SGEMM_TENSOR;
  p.B = (const float *)machine_alloc(4 * 4 * 8 * 64);
  cr_assert(p.B != NULL && machine_set((void *)(uintptr_t)p.B, 0, 4 * 4 * 8 * 64) == 0);
  memory = prepared_memory(sgemm_prepared_bytes(&p, 'B'));
  cr_assert(sgemm_check(&p) == SGEMM_SUCCESS && sgemm_prepare(&p, 'B', memory, NULL) == SGEMM_SUCCESS);
  p.order = SGEMM_COL_MAJOR; /* the same operand, as A of the transposed product */
  p.m = 8;
  p.n = 0;
  p.lda = 8;
  p.ldb = 64;
  p.ldc = 8;
  p.A = p.B;
  cr_assert(sgemm_check(&p) == SGEMM_SUCCESS && sgemm_prepare(&p, 'A', memory, NULL) == SGEMM_SUCCESS);
  cr_assert(machine_wait() == 0);
  machine_free(memory);
  machine_free((void *)(uintptr_t)p.B);
}

Test(prepared, statuses) {
  enum { BYTES = 131072 };
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 3, 5, 70);
  float *memory;
  int mode;
  need_backend();
  memory = (float *)machine_alloc(BYTES);
  cr_assert(memory != NULL && machine_set(memory, 0, BYTES) == 0);
  cr_assert(sgemm_prepare(NULL, 'A', memory, NULL) == SGEMM_ERROR_PARAMS);
  p.mode = 3;
  cr_assert(sgemm_check(&p) == SGEMM_ERROR_MODE);
  p.m = -1;
  cr_assert(sgemm_check(&p) == SGEMM_ERROR_MODE, "before m");
  p.op_b = 0;
  cr_assert(sgemm_check(&p) == SGEMM_ERROR_OP_B, "after op_b");
  for (mode = SGEMM_STRICT; mode <= SGEMM_TENSOR_FULL; mode++) {
    p = sgemm_params_init(SGEMM_N, SGEMM_N, 3, 5, 70);
    p.A = p.B = memory;
    p.C = memory + 64;
    p.mode = mode;
    cr_assert(sgemm_check(&p) == SGEMM_SUCCESS);
    p.prepared_a = memory;
    cr_assert(sgemm_check(&p) == (mode == SGEMM_STRICT ? SGEMM_ERROR_PREPARED : SGEMM_SUCCESS));
    p.prepared_a = memory + 1;
    cr_assert(sgemm_run(&p, NULL) == SGEMM_ERROR_PREPARED);
    p.prepared_a = NULL;
    p.prepared_b = memory + 2;
    cr_assert(sgemm_run(&p, NULL) == SGEMM_ERROR_PREPARED);
    p.workspace = memory + 1;
    cr_assert(sgemm_run(&p, NULL) == SGEMM_ERROR_PREPARED, "before the workspace");
    p.prepared_b = NULL;
    cr_assert(sgemm_run(&p, NULL) == SGEMM_ERROR_WORKSPACE);
    if (mode == SGEMM_STRICT) {
      cr_assert(sgemm_prepare(&p, 'A', memory, NULL) == SGEMM_ERROR_MODE, "a workspace is not used");
      p.m = -1;
      cr_assert(sgemm_prepare(&p, 'A', memory, NULL) == SGEMM_ERROR_MODE, "before m");
      p.order = 0;
      cr_assert(sgemm_prepare(&p, 'A', memory, NULL) == SGEMM_ERROR_ORDER, "after order");
      continue;
    }
    cr_assert(sgemm_prepare(&p, 'A', NULL, NULL) == SGEMM_ERROR_PREPARE_MEMORY);
    cr_assert(sgemm_prepare(&p, 'B', memory + 1, NULL) == SGEMM_ERROR_PREPARE_MEMORY);
    cr_assert(sgemm_prepare(&p, 'C', memory, NULL) == SGEMM_ERROR_WHICH);
    p.B = NULL;
    cr_assert(sgemm_prepare(&p, 'A', memory, NULL) == SGEMM_SUCCESS, "B is not used");
    cr_assert(sgemm_prepare(&p, 'B', memory, NULL) != SGEMM_SUCCESS, "B is NULL");
    p.k = -1;
    cr_assert(sgemm_prepare(&p, 'A', memory, NULL) == SGEMM_ERROR_K);
  }
  cr_assert(machine_wait() == 0);
  machine_free(memory);
}

/* ---- The full-range fallback ------------------------------------------------------------------------------------- */

/* The pairs of variants: case i of each engine has one of fp16x3 and one of bf16x6 with another tile. */
static const struct {
  sgemm_tensor_variant first, full;
} PAIRS[] = {{SGEMM_wgmma_fp16x3_128x64, SGEMM_wgmma_bf16x6_128x128},
             {SGEMM_wgmma_fp16x3_128x128, SGEMM_wgmma_bf16x6_128x64},
             {SGEMM_wgmma_fp16x3_128x256, SGEMM_wgmma_bf16x6_128x256},
             {SGEMM_mma_fp16x3_128x128, SGEMM_mma_bf16x6_128x128}};
enum { PAIR_COUNT = sizeof PAIRS / sizeof *PAIRS };

/* The next pair from `pair` on that the backend can run, in the quick tier the first pair of each engine. */
static int next_pair(int pair) {
  while (pair < PAIR_COUNT && (!can_run_tensor(PAIRS[pair].first) || !can_run_tensor(PAIRS[pair].full) ||
                               (reduced() && (pair == 1 || pair == 2))))
    pair++;
  return pair;
}

/* Gives a plan of fp16x3 the pair's full-range variant, whose bound is the one to check. */
static void add_fallback(problem *q, int pair) {
  sgemm_plan full = q->plan;
  full.tensor = q->plan.tensor_fallback = PAIRS[pair].full;
  q->roundings = roundings_of(&full, q->p.k);
}

/* Elements of a gradient in a vocabulary: row i of op(A) is a softmax minus one-hot. In the 128 k with the element
   close to -1 most probabilities are below 2^-17. */
static void fill_gradient(problem *q) {
  int64_t b, i, k;
  fill(q, &q->B, q->p.k, q->p.n, normal);
  for (b = 0; b < (q->p.stride_a == 0 ? 1 : q->p.batch); b++)
    for (i = 0; i < q->p.m; i++) {
      const int64_t label = (int64_t)(next() % (uint64_t)q->p.k);
      double sum = 0.0;
      for (k = 0; k < q->p.k; k++) {
        const double probability = exp(8.0 * normal());
        *element(&q->A, b, i, k) = (float)probability;
        sum += probability;
      }
      for (k = 0; k < q->p.k; k++)
        *element(&q->A, b, i, k) = (float)((double)*element(&q->A, b, i, k) / sum - (k == label ? 1.0 : 0.0));
    }
}

/* 1 if full range computed a call with the elements of fill_gradient(). The element close to -1 may be the only one
   that counts in its 128 k. */
static int gradient_by_full_range(const problem *q) {
  return (reason_of(q) & ~(uint32_t)SGEMM_GUARD_SPARSE) == (SGEMM_GUARD_SPREAD | SGEMM_GUARD_FULL_RANGE);
}

/* Runs the call in full range by the variant and the split_k of q's fallback. C replaces the one of q. */
static void run_full_range(problem *q) {
  problem full = *q;
  full.plan.tensor = q->plan.tensor_fallback;
  full.plan.tensor_fallback = SGEMM_TENSOR_VARIANT_NONE;
  full.p.mode = SGEMM_TENSOR_FULL;
  full.p.prepared_a = full.p.prepared_b = NULL;
  CHECK(problem_run(&full, NULL));
  cr_assert(reason_of(&full) == 0);
}

/* Full range computes a gradient within its bound, with the bits of a call in full range, in all ops and orders, for
   batches, split-K, alpha, beta and padding. */
Test(fallback, gradients) {
  int pair, i, cases = 0;
  need_backend();
  for (pair = next_pair(0); pair < PAIR_COUNT; pair = next_pair(pair + 1)) {
    problem q;
    for (i = 0; tensor_case(&q, PAIRS[pair].first, ROUNDING, i); i++) {
      float *c;
      if (q.p.k < 96 || (reduced() && PAIRS[pair].first == SGEMM_mma_fp16x3_128x128 && i != 5))
        continue;
      add_fallback(&q, pair);
      problem_make(&q);
      fill_gradient(&q);
      CHECK(problem_run(&q, schedule(i)));
      CHECK(problem_check(&q));
      cr_assert(gradient_by_full_range(&q), "pair %d, case %d: reason %u", pair, i, reason_of(&q));
      c = copy_of_c(&q);
      run_full_range(&q);
      cr_assert(equals_c(&q, c), "pair %d, case %d: not the bits of full range", pair, i);
      free(c);
      problem_free(&q);
      cases++;
    }
  }
  cr_assert(cases > 0 || next_pair(0) == PAIR_COUNT);
}

/* k = 4096, where each row block has several blocks of 128 k. */
Test(fallback, long_k) {
  problem q = problem_tensor(PAIRS[0].first, 3, SGEMM_N, SGEMM_T, 70, 9, 4096, ROUNDING);
  float *c;
  need_variant(PAIRS[0].first);
  add_fallback(&q, 0);
  problem_make(&q);
  fill_gradient(&q);
  CHECK(problem_run(&q, NULL));
  CHECK(problem_check(&q));
  cr_assert(gradient_by_full_range(&q));
  c = copy_of_c(&q);
  run_full_range(&q);
  cr_assert(equals_c(&q, c));
  free(c);
  problem_free(&q);
}

/* Runs the plan of an uploaded problem with a value in the workspace's word for the place of a spread, and returns the
   word's value afterwards. */
static uint64_t run_with_place(problem *q, uint64_t place) {
  uint64_t *word;
  CHECK(problem_upload(q));
  word = (uint64_t *)((uint32_t *)q->p.workspace + SGEMM__WORD_SPREAD_AT);
  cr_assert(machine_upload(word, &place, sizeof place) == 0);
  cr_assert(sgemm_run_plan(&q->plan, &q->p, NULL) == SGEMM_SUCCESS);
  CHECK(problem_download(q));
  cr_assert(machine_download(&place, word, sizeof place) == 0);
  return place;
}

/* Digits; in B a spread in the last 128 k, and in the first 128 k an inexact element beside a single non-zero in A. */
static void late_spread(problem *q) {
  int64_t k;
  fill_both(q, digits);
  for (k = 1; k < 128; k++)
    *element(&q->A, 0, 1, k) = 0.0f;
  *element(&q->B, 0, 5, 2) = 0x1p-18f;
  for (k = 1; k <= 4; k++)
    *element(&q->B, 0, q->p.k - k, 3) = 0x1p-18f;
}

/* A split so long that its warps look for a known spread. Whatever the word says before the call, its way and its bits
   are the same: those of fp16x3 for elements without a spread, even if the word names a row of them, and those of full
   range for others. The word names no place after the former, and after the latter one in the operand with a spread. */
Test(fallback, known_spread) {
  /* Rows 0 of A and of B, row 69 of A, two rows beyond A, k beyond the end. */
  uint64_t places[] = {SGEMM__NO_SPREAD, 0, 64, 1 << 7 | 5, 1 << 7 | 6, 3 << 7 | 63, 1 << 30, (1ull << 63) + 64};
  enum { PLACES = sizeof places / sizeof *places, PLAIN = 0, GRADIENT, LATE, KINDS };
  problem q = problem_tensor(PAIRS[0].first, 2, SGEMM_N, SGEMM_T, 70, 9, 0, ROUNDING);
  sgemm_device device;
  int i, kind, step;
  need_variant(PAIRS[0].first);
  cr_assert(sgemm_device_query(-1, &device) == SGEMM_SUCCESS);
  q.p.k = (int64_t)SGEMM__SCALE_K * (16 * SGEMM__SPLIT_RESIDENT * device.multiprocessors / 3 + 1);
  q.p.lda = q.p.ldb = q.p.k + 5;
  q.guard_page = 1;
  step = device.multiprocessors > 16 ? 3 : 1; /* with so long a k each run copies 0.5 GB */
  add_fallback(&q, 0);
  for (kind = PLAIN; kind < KINDS; kind++) {
    const uint32_t reason = kind == PLAIN ? 0 : (uint32_t)SGEMM_GUARD_SPREAD | SGEMM_GUARD_FULL_RANGE;
    problem plain;
    float *c;
    problem_make(&q);
    if (kind == GRADIENT)
      fill_gradient(&q);
    else if (kind == LATE)
      late_spread(&q);
    else
      fill_both(&q, digits);
    places[0] = run_with_place(&q, SGEMM__NO_SPREAD);
    cr_assert(kind == PLAIN ? places[0] == SGEMM__NO_SPREAD
                            : places[0] != SGEMM__NO_SPREAD && (places[0] >> 6 & 1) == (kind == LATE),
              "kind %d: place %llx", kind, (unsigned long long)places[0]);
    c = copy_of_c(&q);
    for (i = 0; i < PLACES; i += step) {
      cr_assert(reason_of(&q) == reason, "kind %d, before place %d: reason %u", kind, i, reason_of(&q));
      run_with_place(&q, places[i]);
      cr_assert(equals_c(&q, c), "kind %d, place %d: other bits", kind, i);
    }
    CHECK(problem_check(&q));
    if (kind == PLAIN) {
      plain = q;
      plain.plan.tensor_fallback = SGEMM_TENSOR_VARIANT_NONE;
      CHECK(problem_run(&plain, NULL));
    } else {
      run_full_range(&q);
    }
    cr_assert(equals_c(&q, c), "kind %d: not the bits of the one way", kind);
    free(c);
    problem_free(&q);
  }
}

static void large_spread(problem *q, float low) {
  inexact(q, 4, low);
  scale(q, 100);
}
static void nan_and_spread(problem *q, float low) {
  four_of_a_column(q, low);
  nan_in_a(q, low);
}

/* Each input with a small element in the reach of full range (low = 2^-18), and with one beyond it (2^-111). Exactly
   one of fp16x3, full range and strict fp32 computes the call, with the bits of a plan that has no other way. */
Test(fallback, one_of_three) {
  static const struct {
    const char *name;
    change change;
    uint32_t reason;
  } more[] = {{"a large spread", large_spread, SGEMM_GUARD_SPREAD | SGEMM_GUARD_RANGE},
              {"a NaN and a spread", nan_and_spread, SGEMM_GUARD_SPREAD | SGEMM_GUARD_NONFINITE}};
  enum { GUARDED_COUNT = sizeof GUARDED / sizeof *GUARDED, CASES = GUARDED_COUNT + 2 };
  int pair, i, beyond, by_full_range = 0;
  need_backend();
  for (pair = next_pair(0); pair < PAIR_COUNT; pair = next_pair(pair + 1))
    for (i = 0; i < CASES; i++)
      for (beyond = 0; beyond < 2; beyond++) {
        const char *name = i < GUARDED_COUNT ? GUARDED[i].name : more[i - GUARDED_COUNT].name;
        const change change = i < GUARDED_COUNT ? GUARDED[i].change : more[i - GUARDED_COUNT].change;
        const uint32_t first = i < GUARDED_COUNT ? GUARDED[i].reason : more[i - GUARDED_COUNT].reason;
        const int small = first == SGEMM_GUARD_SPREAD || first == SGEMM_GUARD_SPARSE, full = small && !beyond;
        problem q = problem_tensor(PAIRS[pair].first, 1 + i % 2, SGEMM_N, SGEMM_N, 70, 40, 300, ROUNDING);
        uint32_t reason;
        float *c;
        if ((beyond && !small) || (pair == PAIR_COUNT - 1 && i % 4 != 0 && i < GUARDED_COUNT))
          continue;
        q.p.beta = 0.5f;
        q.nonfinite = 1;
        add_fallback(&q, pair);
        problem_make(&q);
        fill_both(&q, digits);
        change(&q, beyond ? 0x1p-111f : 0x1p-18f);
        CHECK(problem_run(&q, schedule(i)));
        reason = reason_of(&q);
        cr_assert(reason == (first | (full ? SGEMM_GUARD_FULL_RANGE : 0)), "%s: reason %u, want %u and full range %d",
                  name, reason, first, full);
        c = copy_of_c(&q);
        if (first == 0) {
          q.plan.tensor_fallback = SGEMM_TENSOR_VARIANT_NONE;
          CHECK(problem_run(&q, NULL));
        } else if (full) {
          run_full_range(&q);
        } else {
          run_strict(&q);
        }
        cr_assert(equals_c(&q, c), "%s, beyond %d: not the bits of the one way", name, beyond);
        by_full_range += full;
        free(c);
        problem_free(&q);
      }
  cr_assert(by_full_range > 0 || next_pair(0) == PAIR_COUNT);
}

/* The fallback splits the original operands again: those pre-split in fp16 keep their bytes. */
Test(fallback, prepared) {
  int which;
  need_variant(PAIRS[0].first);
  for (which = 1; which < 4; which++) {
    problem q = problem_tensor(PAIRS[0].first, 2, SGEMM_T, SGEMM_N, 70, 40, 300, ROUNDING);
    const int64_t bytes_a = sgemm_prepared_bytes(&q.p, 'A'), bytes_b = sgemm_prepared_bytes(&q.p, 'B');
    const int64_t bytes = which & 1 ? bytes_a : bytes_b; /* of one pre-split operand */
    char *a = prepared_memory(bytes_a), *b = prepared_memory(bytes_b), *before, *after;
    float *c;
    q.p.beta = 0.25f;
    q.p.prepared_a = which & 1 ? a : NULL;
    q.p.prepared_b = which & 2 ? b : NULL;
    add_fallback(&q, 0);
    problem_make(&q);
    fill_gradient(&q);
    CHECK(problem_upload(&q));
    cr_assert(!(which & 1) || sgemm_prepare(&q.p, 'A', a, NULL) == SGEMM_SUCCESS);
    cr_assert(!(which & 2) || sgemm_prepare(&q.p, 'B', b, NULL) == SGEMM_SUCCESS);
    before = prepared_download(which & 1 ? a : b, bytes);
    CHECK(problem_run(&q, NULL));
    CHECK(problem_check(&q));
    cr_assert(gradient_by_full_range(&q));
    after = prepared_download(which & 1 ? a : b, bytes);
    cr_assert(memcmp(before, after, (size_t)bytes) == 0, "prepared %d: a pre-split operand was written", which);
    c = copy_of_c(&q);
    run_full_range(&q);
    cr_assert(equals_c(&q, c), "prepared %d", which);
    free(c);
    free(before);
    free(after);
    problem_free(&q);
    machine_free(a);
    machine_free(b);
  }
}

/* A call by full range has the same bits on every schedule, for any number of blocks that split and multiply. */
Test(fallback, same_bits) {
  problem q = problem_tensor(PAIRS[0].first, 2, SGEMM_N, SGEMM_N, 330, 69, 300, ROUNDING);
  float *c;
  int i;
  need_no_sanitizer();
  need_variant(PAIRS[0].first);
  add_fallback(&q, 0);
  problem_make(&q);
  fill_gradient(&q);
  CHECK(problem_run(&q, schedule(0)));
  c = copy_of_c(&q);
  for (i = 1; i < SCHEDULES; i++) {
    CHECK(problem_run(&q, schedule(i)));
    cr_assert(equals_c(&q, c), "schedule %d", i);
  }
#if !defined(MACHINE_CUDA) || !MACHINE_CUDA /* the number of SMs of a GPU is fixed */
  for (i = 1; i <= 5; i += 2) {
    const sgemm_model model = {SGEMM_MODEL_FORWARD, 0, 1, i};
    sgemm_model_set(&model);
    CHECK(problem_run(&q, NULL));
    cr_assert(equals_c(&q, c), "%d multiprocessors", i);
  }
#endif
  free(c);
  problem_free(&q);
}

/* ---- Slices ------------------------------------------------------------------------------------------------------ */

/* A problem of more than one tile in each direction, whose tiles are 128 x 64 in fp16x3 or bf16x6. Ops, order, padding,
   alpha, beta, batch and split_k change with i. Fields of the plan may be set before problem_make(). */
static problem sliced_problem(sgemm_tensor_variant variant, int i, data_kind kind) {
  static const int64_t sizes[][3] = {{261, 131, 140}, {130, 135, 200}, {131, 70, 290}, {257, 129, 130}};
  const int64_t *size = sizes[i % 4];
  problem q = problem_tensor((int)variant, 1 + i % 3 / 2, i / 2 % 2 ? SGEMM_T : SGEMM_N, i % 2 ? SGEMM_C : SGEMM_N,
                             size[0], size[1], size[2], kind);
  if (i / 4 % 2)
    make_column_major(&q);
  pad(&q, i % 3 == 0 ? PRIME : i % 3);
  q.p.batch = 1 + (i % 4 == 2);
  q.p.stride_b = i == 6 ? 0 : q.p.stride_b + 3;
  q.p.alpha = i % 3 ? 0.5f : 1.0f;
  q.p.beta = i % 4 == 1 ? 0.0f : 0.75f;
  q.seed = (uint64_t)(i + 1);
  q.C.offset = i % 3;
  return q;
}

static const sgemm_tensor_variant SLICED[] = {SGEMM_wgmma_fp16x3_128x64, SGEMM_wgmma_bf16x6_128x64};

static void set_slices(problem *q, int m, int n, int k) {
  q->plan.slices_m = m;
  q->plan.slices_n = n;
  q->plan.slices_k = k;
  q->roundings += 2.0 * k; /* for alpha and the sum of each slice */
}

/* Slices of m and n have the bits of the whole, in all ops and orders, for batches, alpha, beta and split-K, and need
   less workspace. */
Test(slices, same_bits) {
  static const int slices[][2] = {{1, 2}, {2, 1}, {2, 3}, {3, 2}, {9, 9}};
  int v, i, s, one_tile;
  need_no_sanitizer();
  need_variant(SLICED[0]);
  for (v = 0; v < 2; v++)
    for (i = 0; i < 8; i++) {
      problem q = sliced_problem(SLICED[v], i, ROUNDING);
      int64_t bytes;
      float *c;
      if (reduced() && (v + i) % (quick_tier() ? 4 : 2))
        continue;
      problem_make(&q);
      bytes = q.p.workspace_bytes;
      CHECK(problem_run(&q, NULL));
      c = copy_of_c(&q);
      problem_free(&q);
      for (s = 0; s < 5; s++) {
        if (reduced() && s != (i + 1) % 4 && s != 4)
          continue;
        q = sliced_problem(SLICED[v], i, ROUNDING);
        set_slices(&q, slices[s][0], slices[s][1], 1);
        problem_make(&q);
        /* A dimension of one tile cannot be sliced. The kernel's m is n in column-major order. */
        one_tile = (slices[s][0] == 1 || (q.p.order == SGEMM_COL_MAJOR ? q.p.n : q.p.m) <= 128) &&
                   (slices[s][1] == 1 || (q.p.order == SGEMM_COL_MAJOR ? q.p.m : q.p.n) <= 64);
        cr_assert(one_tile ? q.p.workspace_bytes == bytes : q.p.workspace_bytes < bytes, "case %d, slices %d %d", i,
                  slices[s][0], slices[s][1]);
        CHECK(problem_run(&q, schedule(s)));
        cr_assert(equals_c(&q, c), "%s, case %d, slices %d %d: not the bits of the whole",
                  sgemm_tensor_variant_get(SLICED[v])->name, i, slices[s][0], slices[s][1]);
        CHECK(problem_check(&q));
        cr_assert(reason_of(&q) == 0);
        problem_free(&q);
      }
      free(c);
    }
}

/* Slices of k, alone and with others, keep the bound, and sums of integers are exact. */
Test(slices, of_k) {
  static const int slices[][3] = {{1, 1, 2}, {2, 1, 3}, {1, 3, 2}, {2, 2, 9}};
  int v, i;
  need_variant(SLICED[0]);
  for (v = 0; v < 2; v++)
    for (i = 0; i < 8; i++) {
      const int *s = slices[(i + i / 4) % 4];
      problem q = sliced_problem(SLICED[v], i, i % 2 ? EXACT : ROUNDING), whole = q;
      if (reduced() && (v + i) % 2)
        continue;
      set_slices(&q, s[0], s[1], s[2]);
      problem_make(&q);
      CHECK(problem_run(&q, schedule(i)));
      CHECK(problem_check(&q));
      cr_assert(reason_of(&q) == 0 && q.p.workspace_bytes < sgemm_plan_workspace(&whole.plan, &whole.p));
      problem_free(&q);
    }
}

/* The errors of eight slices of k are smaller than those of the whole. */
Test(slices, errors_of_k) {
  static const distribution data[] = {uniform, positive};
  int d, sliced;
  need_variant(SLICED[0]);
  for (d = 0; d < 2; d++) {
    double rms[2];
    for (sliced = 0; sliced < 2; sliced++) {
      problem q = problem_tensor(SLICED[0], 1, SGEMM_N, SGEMM_N, 66, 35, 2048, ROUNDING);
      set_slices(&q, 1, 1, sliced ? 8 : 1);
      problem_make(&q);
      state = 1;
      fill_both(&q, data[d]);
      CHECK(problem_run(&q, NULL));
      CHECK(problem_check(&q));
      rms[sliced] = rms_of(&q);
      problem_free(&q);
    }
    cr_assert(rms[1] < rms[0], "data %d: %g and %g of 2^-24 |A| |B|", d, rms[0], rms[1]);
  }
}

/* Compares the downloaded C of q with three others, element by element: `by` says which one has the bits of an element,
   0, 1 or 2. */
static void check_elements(const problem *q, const float *c[3], int (*by)(int64_t i, int64_t j), const char *what) {
  int64_t i, j;
  for (i = 0; i < q->p.m; i++)
    for (j = 0; j < q->p.n; j++) {
      const float *at = element(&q->C, 0, i, j);
      const ptrdiff_t index = at - q->C.before;
      cr_assert(memcmp(&q->C.after[index], &c[by(i, j)][index], sizeof *at) == 0, "%s: (%d, %d) is %a, want %a of %d",
                what, (int)i, (int)j, (double)q->C.after[index], (double)c[by(i, j)][index], by(i, j));
    }
}

/* Which of fp16x3 (0), full range (1) and strict fp32 (2) computes element (i, j) of 261 x 200 in slices of 128 rows or
   64 columns. */
static int second_columns_strict(int64_t i, int64_t j) { return (void)i, j / 64 == 1 ? 2 : 0; }
static int second_rows_strict(int64_t i, int64_t j) { return (void)j, i / 128 == 1 ? 2 : 0; }
static int columns_full_from_second(int64_t i, int64_t j) { return (void)i, j / 64 >= 1; }
static int rows_full_from_second(int64_t i, int64_t j) { return (void)j, i / 128 >= 1; }
static int last_columns_strict(int64_t i, int64_t j) { return (void)i, j / 64 == 3 ? 2 : j / 64 >= 1; }

static void make_small(problem *q, int of_b, int64_t at) { /* a spread in row, or column, `at` */
  int64_t k;
  for (k = 0; k < 8; k++)
    *(of_b ? element(&q->B, 0, k, at) : element(&q->A, 0, at, k)) = k < 4 ? 0x1p-18f : 1.0f;
}
static void spread_in_second_columns(problem *q) { make_small(q, 1, 100); }
static void spread_in_second_rows(problem *q) { make_small(q, 0, 200); }
static void nan_in_second_columns(problem *q) { *element(&q->B, 0, 65, 64) = NAN; }
static void nan_in_second_rows(problem *q) { *element(&q->A, 0, 255, 0) = INFINITY; }
static void spread_and_nan(problem *q) {
  make_small(q, 1, 64);
  *element(&q->B, 0, 0, 199) = NAN;
}

/* The guard fires in one slice: that slice falls back alone. After full range has split an operand that slices share,
   it computes the slices that follow with this operand. beta is not 0, so a second update of C would change it. With k
   130 the terms in fp16 of the next slice would lie over elements of the kept operand, with k 66 over padding alone. */
Test(slices, fallback_of_one) {
  static const struct {
    const char *name;
    void (*change)(problem *q);
    int slices_m, slices_n, full; /* full: 1 with the full-range fallback */
    uint32_t reason;
    int (*by)(int64_t i, int64_t j);
  } cases[] = {
      {"NaN, slices of n", nan_in_second_columns, 1, 4, 0, SGEMM_GUARD_NONFINITE, second_columns_strict},
      {"NaN, slices of n, full range", nan_in_second_columns, 1, 4, 1, SGEMM_GUARD_NONFINITE, second_columns_strict},
      {"NaN, slices of m, full range", nan_in_second_rows, 3, 1, 1, SGEMM_GUARD_NONFINITE, second_rows_strict},
      {"NaN, slices of m and n", nan_in_second_columns, 3, 4, 0, SGEMM_GUARD_NONFINITE, second_columns_strict},
      {"spread, slices of n", spread_in_second_columns, 1, 4, 0, SGEMM_GUARD_SPREAD, second_columns_strict},
      {"spread, slices of n, full range", spread_in_second_columns, 1, 4, 1,
       SGEMM_GUARD_SPREAD | SGEMM_GUARD_FULL_RANGE, columns_full_from_second},
      {"spread, slices of m, full range", spread_in_second_rows, 3, 1, 1, SGEMM_GUARD_SPREAD | SGEMM_GUARD_FULL_RANGE,
       rows_full_from_second},
      {"spread, slices of m and n, full range", spread_in_second_columns, 3, 4, 1,
       SGEMM_GUARD_SPREAD | SGEMM_GUARD_FULL_RANGE, columns_full_from_second},
      {"spread, then NaN", spread_and_nan, 1, 4, 1, SGEMM_GUARD_SPREAD | SGEMM_GUARD_NONFINITE | SGEMM_GUARD_FULL_RANGE,
       last_columns_strict}};
  const int count = (int)(sizeof cases / sizeof *cases);
  int i, way;
  need_variant(SLICED[0]);
  for (i = quick_tier(); i < count; i += 1 + quick_tier()) { /* the quick tier has every second case */
    const float *c[3] = {NULL, NULL, NULL};
    problem q;
    for (way = 0; way < 4; way++) { /* 3: the slices */
      q = problem_tensor(SLICED[way == 1], 1, SGEMM_N, SGEMM_N, 261, 200, 130, ROUNDING);
      q.p.beta = 0.5f;
      q.nonfinite = 1;
      if (way == 3) {
        set_slices(&q, cases[i].slices_m, cases[i].slices_n, 1);
        q.plan.tensor_fallback = cases[i].full ? SLICED[1] : SGEMM_TENSOR_VARIANT_NONE;
      }
      problem_make(&q);
      state = 3;
      fill_both(&q, uniform);
      if (way > 0)
        cases[i].change(&q);
      if (way == 1 && isnan(*element(&q.B, 0, 0, 199)))
        *element(&q.B, 0, 0, 199) = 0.5f; /* full range computes the other columns */
      if (way == 2)
        run_strict(&q);
      else
        CHECK(problem_run(&q, NULL));
      if (way < 3) {
        c[way] = copy_of_c(&q);
        problem_free(&q);
      }
    }
    cr_assert(reason_of(&q) == cases[i].reason, "%s: reason %u, want %u", cases[i].name, reason_of(&q),
              cases[i].reason);
    CHECK(problem_check(&q));
    check_elements(&q, c, cases[i].by, cases[i].name);
    problem_free(&q);
    for (way = 0; way < 3; way++)
      free((void *)c[way]);
  }
}

/* Slices of k: the guard fires in the second, or in both the first and the last. Each element is the sum of what three
   ways computed, within the bound, and C is added once. */
Test(slices, fallback_of_k) {
  int i, full;
  need_variant(SLICED[0]);
  for (i = 0; i < 3; i++)
    for (full = 0; full < 2; full++) {
      problem q = problem_tensor(SLICED[0], 1 + full, SGEMM_T, SGEMM_N, 70, 131, 500, EXACT);
      const uint32_t reason = i == 2 ? SGEMM_GUARD_NONFINITE
                                     : SGEMM_GUARD_SPREAD | (full ? (uint32_t)SGEMM_GUARD_FULL_RANGE : 0);
      int64_t k;
      set_slices(&q, 1, 1 + i, 4);
      if (full)
        q.plan.tensor_fallback = SLICED[1];
      q.p.beta = 3.0f;
      q.nonfinite = 1;
      problem_make(&q);
      for (k = 0; k < 128;
           k++) /* exact in strict fp32 and full range; their bits in C depend on the sums of all slices */
        if (i < 2)
          *element(&q.A, 0, 66, 128 + k) = k < 64 ? 0x1p-16f : k == 64 ? 8.0f : 0.0f;
      for (k = 0; k < 500 && i < 2; k++)
        *element(&q.B, 0, k, 3) = 1.0f;
      if (i == 1)
        for (k = 0; k < 128; k++)
          *element(&q.A, 0, 5, k) = *element(&q.A, 0, 5, 384 + k % 116) = k % 128 < 64 ? 0x1p-16f : 4.0f;
      if (i == 2)
        *element(&q.A, 0, 66, 499) = NAN;
      CHECK(problem_run(&q, schedule(i)));
      cr_assert(reason_of(&q) == reason, "case %d, full range %d: reason %u, want %u", i, full, reason_of(&q), reason);
      q.kind = i == 2 ? EXACT : ROUNDING; /* the small elements need more bits than the sums have */
      q.roundings = 520.0;
      CHECK(problem_check(&q));
      problem_free(&q);
    }
}

/* Pre-split operands in slices: those of m and n have the bits of the whole, those of k the bits of slices of operands
   that are not pre-split. Slices of k cannot take a pre-split operand of a batch apart. */
Test(slices, prepared) {
  static const int slices[][3] = {{1, 3, 1}, {2, 1, 1}, {2, 2, 1}, {1, 1, 2}, {2, 2, 3}};
  int i, s, which;
  need_variant(SLICED[0]);
  for (i = 1; i < 8; i++) {
    for (s = 0; s < 5; s++) {
      problem q = sliced_problem(SLICED[i % 2], i, ROUNDING);
      float *c;
      if (reduced() && s != 2 * i % 5)
        continue;
      if (q.p.batch > 1 && slices[s][2] > 1) {
        q.p.prepared_a = (const void *)4096; /* is not read */
        set_slices(&q, 1, 1, 2);
        problem_make(&q);
        CHECK(problem_upload(&q));
        cr_assert(sgemm_run_plan(&q.plan, &q.p, NULL) == SGEMM_ERROR_PLAN);
        problem_free(&q);
        continue;
      }
      set_slices(&q, slices[s][0], slices[s][1], slices[s][2]);
      problem_make(&q);
      CHECK(problem_run(&q, NULL));
      c = copy_of_c(&q);
      problem_free(&q);
      for (which = 1; which < 4; which++) {
        const int64_t bytes_a = sgemm_prepared_bytes(&q.p, 'A'), bytes_b = sgemm_prepared_bytes(&q.p, 'B');
        char *a, *b;
        if (reduced() && which != 1 + (i + s) % 3)
          continue;
        a = prepared_memory(bytes_a);
        b = prepared_memory(bytes_b);
        q = sliced_problem(SLICED[i % 2], i, ROUNDING);
        set_slices(&q, slices[s][0], slices[s][1], slices[s][2]);
        q.p.prepared_a = which & 1 ? a : NULL;
        q.p.prepared_b = which & 2 ? b : NULL;
        problem_make(&q);
        CHECK(problem_upload(&q));
        cr_assert(!(which & 1) || sgemm_prepare(&q.p, 'A', a, NULL) == SGEMM_SUCCESS);
        cr_assert(!(which & 2) || sgemm_prepare(&q.p, 'B', b, NULL) == SGEMM_SUCCESS);
        CHECK(problem_run(&q, NULL));
        cr_assert(equals_c(&q, c), "case %d, slices %d %d %d, prepared %d", i, slices[s][0], slices[s][1], slices[s][2],
                  which);
        CHECK(problem_check(&q));
        free(prepared_download(a, bytes_a));
        free(prepared_download(b, bytes_b));
        problem_free(&q);
        machine_free(a);
        machine_free(b);
      }
      free(c);
    }
  }
}

/* The guard reads the flags of each slice of k of a pre-split operand. */
Test(slices, guard_of_a_prepared_operand) {
  int64_t k;
  need_variant(SLICED[0]);
  for (k = 0; k < 500; k += 499) {
    problem q = problem_tensor(SLICED[0], 1, SGEMM_N, SGEMM_N, 70, 131, 500, EXACT);
    const int64_t bytes = sgemm_prepared_bytes(&q.p, 'A');
    char *a = prepared_memory(bytes);
    set_slices(&q, 1, 2, 3);
    q.p.beta = 1.0f;
    q.p.prepared_a = a;
    q.nonfinite = 1;
    problem_make(&q);
    *element(&q.A, 0, 69, k) = INFINITY;
    CHECK(problem_upload(&q));
    cr_assert(sgemm_prepare(&q.p, 'A', a, NULL) == SGEMM_SUCCESS);
    CHECK(problem_run(&q, NULL));
    cr_assert(reason_of(&q) == SGEMM_GUARD_NONFINITE, "k %d: reason %u", (int)k, reason_of(&q));
    CHECK(problem_check(&q));
    problem_free(&q);
    machine_free(a);
  }
}

/* sgemm_run() with workspaces from just below the whole down to a fifth: the selected plan has slices, fits and
   computes C within the bound. */
Test(slices, selected) {
  static const double parts[] = {0.999, 0.75, 0.5, 0.34, 0.25, 0.2};
  int mode, i, seen = 0;
  need_backend();
  for (mode = SGEMM_TENSOR; mode <= SGEMM_TENSOR_FULL; mode++) {
    sgemm_params p;
    sgemm_device device;
    sgemm_plan plan;
    int64_t bytes = 0, size = 128;
    cr_assert(sgemm_device_query(-1, &device) == SGEMM_SUCCESS);
    do { /* Doubles the size until a plan with slices is selected in half of the workspace on this device. */
      p = sgemm_params_init(SGEMM_N, SGEMM_T, size + 2, size + 70, 520);
      p.mode = mode;
      p.workspace_bytes = INT64_MAX;
      plan = sgemm_select(&p, SGEMM_STAGE_ANY, &device);
      bytes = sgemm_plan_workspace(&plan, &p);
      p.workspace_bytes = bytes / 2;
      plan = sgemm_select(&p, SGEMM_STAGE_ANY, &device);
      size *= 2;
      need(size <= 8192, "device that selects a tensor mode with slices");
    } while (plan.slices_m == 1 && plan.slices_n == 1 && plan.slices_k == 1);
    for (i = 0; i < (int)(sizeof parts / sizeof *parts); i++) {
      problem q = problem_of(SGEMM_VARIANT_NONE, SGEMM_N, SGEMM_T, p.m, p.n, p.k, ROUNDING);
      if (reduced() && (mode + i) % (quick_tier() ? 3 : 2))
        continue;
      q.p.mode = mode;
      q.p.beta = i % 2 ? 0.5f : 0.0f;
      q.p.workspace_bytes = (int64_t)((double)bytes * parts[i]) / 16 * 16;
      plan = sgemm_select(&q.p, SGEMM_STAGE_ANY, &device);
      cr_assert(sgemm_plan_workspace(&plan, &q.p) <= q.p.workspace_bytes);
      if (plan.tensor != SGEMM_TENSOR_VARIANT_NONE)
        q.roundings = roundings_of(&plan, p.k) + 2.0 * plan.slices_k;
      seen += plan.slices_m > 1 || plan.slices_n > 1 || plan.slices_k > 1;
      CHECK(problem_solve(&q, schedule(i)));
    }
  }
  cr_assert(seen > 0, "no plan has slices");
}

/* ---- Plans, workspace and selection ------------------------------------------------------------------------------ */

Test(plan, statuses) {
  problem q = problem_tensor(0, 1, SGEMM_N, SGEMM_N, 3, 5, 70, ROUNDING);
  sgemm_tensor_variant full;
  sgemm_plan plan;
  uint32_t reason;
  need_variant(0);
  full = can_run_tensor(SGEMM_mma_bf16x6_128x128) ? SGEMM_mma_bf16x6_128x128 : SGEMM_wgmma_bf16x6_128x64;
  problem_make(&q);
  CHECK(problem_upload(&q));
  plan = q.plan;
  cr_assert(sgemm_run_plan(&plan, NULL, NULL) == SGEMM_ERROR_PARAMS);
  plan.tensor = (sgemm_tensor_variant)(SGEMM_TENSOR_VARIANT_NONE + 1);
  cr_assert(sgemm_run_plan(&plan, &q.p, NULL) == SGEMM_ERROR_VARIANT);
  plan = q.plan;
  plan.variant = SGEMM_VARIANT_NONE;
  cr_assert(sgemm_run_plan(&plan, &q.p, NULL) == SGEMM_ERROR_VARIANT, "no fallback");
  plan = q.plan;
  plan.split_k = 0;
  cr_assert(sgemm_run_plan(&plan, &q.p, NULL) == SGEMM_ERROR_PLAN);
  plan = q.plan;
  plan.stream_k = 2;
  cr_assert(sgemm_run_plan(&plan, &q.p, NULL) == SGEMM_ERROR_PLAN);
  plan = q.plan;
  plan.repack_b = 1;
  cr_assert(sgemm_run_plan(&plan, &q.p, NULL) == SGEMM_ERROR_PLAN);
  plan = q.plan;
  plan.slices_n = -1;
  cr_assert(sgemm_run_plan(&plan, &q.p, NULL) == SGEMM_ERROR_PLAN);
  plan = q.plan;
  plan.tensor = SGEMM_TENSOR_VARIANT_NONE;
  plan.slices_k = 2;
  cr_assert(sgemm_run_plan(&plan, &q.p, NULL) == SGEMM_ERROR_PLAN, "a strict plan has no slices");
  plan = q.plan;
  plan.tensor_fallback = (sgemm_tensor_variant)(SGEMM_TENSOR_VARIANT_NONE + 1);
  cr_assert(sgemm_run_plan(&plan, &q.p, NULL) == SGEMM_ERROR_VARIANT);
  plan.tensor_fallback = SGEMM_wgmma_fp16x3_128x64;
  cr_assert(sgemm_run_plan(&plan, &q.p, NULL) == SGEMM_ERROR_PLAN, "the fallback is not full range");
  plan.tensor_fallback = full;
  cr_assert(sgemm_plan_workspace(&plan, &q.p) > q.p.workspace_bytes, "full range has more terms");
  cr_assert(sgemm_run_plan(&plan, &q.p, NULL) == SGEMM_ERROR_WORKSPACE);
  plan.tensor = full;
  cr_assert(sgemm_run_plan(&plan, &q.p, NULL) == SGEMM_ERROR_PLAN, "a plan in full range has no such fallback");
  plan.tensor = SGEMM_TENSOR_VARIANT_NONE;
  cr_assert(sgemm_run_plan(&plan, &q.p, NULL) == SGEMM_ERROR_PLAN, "a strict plan has no such fallback");
  q.p.workspace_bytes -= 16;
  cr_assert(sgemm_run_plan(&q.plan, &q.p, NULL) == SGEMM_ERROR_WORKSPACE);
  q.p.workspace_bytes = 112;
  cr_assert(sgemm_guard_query(&q.p, &reason, NULL) == SGEMM_ERROR_WORKSPACE);
  cr_assert(sgemm_guard_query(NULL, &reason, NULL) == SGEMM_ERROR_PARAMS);
  problem_free(&q);
}

/* sgemm_run() with the bytes of sgemm_workspace_query() runs a tensor-core variant; without workspace it computes
   strict fp32. */
Test(selection, workspace) {
  int mode;
  need_backend();
  for (mode = SGEMM_TENSOR; mode <= SGEMM_TENSOR_FULL; mode++) {
    problem q;
    sgemm_plan
        plan = {SGEMM_VARIANT_NONE, SGEMM_TENSOR_VARIANT_NONE, SGEMM_TENSOR_VARIANT_NONE, 1, 1, 0, 1, 0, 0, 1, 1, 1},
        less;
    sgemm_device device;
    float *c;
    int64_t bytes = 0, size;
    cr_assert(sgemm_device_query(-1, &device) == SGEMM_SUCCESS);
    /* Doubles the size until a tensor-core variant is selected on this device. */
    for (size = 128; plan.tensor == SGEMM_TENSOR_VARIANT_NONE; size *= 2) {
      need(size <= 4096, "device that selects a tensor mode");
      q = problem_of(SGEMM_VARIANT_NONE, SGEMM_N, SGEMM_N, size + 2, size + 12, 300, ROUNDING);
      q.p.mode = mode;
      cr_assert(sgemm_workspace_query(&q.p, &bytes) == SGEMM_SUCCESS);
      q.p.workspace_bytes = bytes;
      plan = sgemm_select(&q.p, SGEMM_STAGE_ANY, &device);
    }
    cr_assert(bytes == sgemm_plan_workspace(&plan, &q.p));
    q.roundings = roundings_of(&plan, q.p.k);
    problem_make(&q);
    CHECK(problem_run(&q, NULL));
    CHECK(problem_check(&q));
    cr_assert(reason_of(&q) == 0);
    c = copy_of_c(&q);
    q.p.workspace_bytes = 0;
    CHECK(problem_run(&q, NULL));
    cr_assert(!equals_c(&q, c), "without workspace it is strict");
    free(c);
    c = copy_of_c(&q);
    run_strict(&q);
    cr_assert(equals_c(&q, c));
    free(c);
    q.p.workspace_bytes = bytes; /* 16 bytes less: another plan, perhaps of another variant */
    plan = sgemm_select(&q.p, SGEMM_STAGE_ANY, &device);
    q.p.workspace_bytes = bytes - 16;
    less = sgemm_select(&q.p, SGEMM_STAGE_ANY, &device);
    cr_assert(less.tensor != plan.tensor || less.tensor_fallback != plan.tensor_fallback ||
              less.split_k != plan.split_k || less.slices_m > 1 || less.slices_n > 1 || less.slices_k > 1);
    problem_free(&q);
  }
}

Test(selection, variants) {
  static const int64_t sizes[] = {1, 63, 64, 128, 255, 256, 1000, 4096, 16384};
  static const struct {
    int multiprocessors, arch, lanes, clock_mhz;
    double bandwidth_gbs;
    int64_t shared_per_block;
    int has_sm90a_code;
    int64_t l2_bytes;
  } devices[] = {
      {132, 90, 128, 1980, 4814.7, 227 * 1024, 1, 50 << 20}, {132, 90, 128, 1980, 4814.7, 227 * 1024, 0, 50 << 20},
      {108, 80, 64, 1410, 1555.0, 163 * 1024, 0, 40 << 20},  {68, 75, 64, 1545, 616.0, 64 * 1024, 0, 4 << 20},
      {1, 90, 128, 1000, 100.0, 227 * 1024, 1, 1 << 20},     {132, 90, 128, 1980, 4814.7, 99 * 1024, 1, 50 << 20}};
  enum { SIZES = 9, SHAPES = SIZES * SIZES * SIZES };
  sgemm_device device[6];
  int d, mode, i, taken = 0, with_fallback = 0;
  memset(device, 0, sizeof device);
  for (d = 0; d < 6; d++) {
    device[d].multiprocessors = devices[d].multiprocessors;
    device[d].major = devices[d].arch / 10;
    device[d].minor = devices[d].arch % 10;
    device[d].code_arch = devices[d].arch;
    device[d].lanes = devices[d].lanes;
    device[d].clock_mhz = devices[d].clock_mhz;
    device[d].bandwidth_gbs = devices[d].bandwidth_gbs;
    device[d].shared_per_block = devices[d].shared_per_block;
    device[d].has_sm90a_code = devices[d].has_sm90a_code;
    device[d].l2_bytes = devices[d].l2_bytes;
  }
  for (d = 0; d < 6; d++)
    for (mode = SGEMM_STRICT; mode <= SGEMM_TENSOR_FULL; mode++)
      for (i = 0; i < SHAPES; i++) {
        const sgemm_device *m = &device[d];
        const int64_t k = sizes[i / SIZES / SIZES];
        sgemm_params p = sgemm_params_init(i % 3 ? SGEMM_N : SGEMM_T, SGEMM_N, sizes[i % SIZES],
                                           sizes[i / SIZES % SIZES], k);
        sgemm_params other = sgemm_params_init(SGEMM_T, SGEMM_T, 777, 1, 5);
        sgemm_plan plan, again;
        const sgemm_tensor_variant_info *v, *full;
        p.mode = mode;
        p.batch = 1 + i % 2;
        p.workspace_bytes = i % 5 ? INT64_C(1) << (18 + i % 17) : 0;
        plan = sgemm_select(&p, SGEMM_STAGE_ANY, m);
        sgemm_select(&other, SGEMM_STAGE_ANY, &device[(d + 1) % 6]);
        again = sgemm_select(&p, SGEMM_STAGE_ANY, m);
        cr_assert(plan.variant == again.variant && plan.tensor == again.tensor &&
                  plan.tensor_fallback == again.tensor_fallback && plan.cluster_k == again.cluster_k &&
                  plan.split_k == again.split_k && plan.stream_k == again.stream_k);
        v = sgemm_tensor_variant_get(plan.tensor);
        full = sgemm_tensor_variant_get(plan.tensor_fallback);
        cr_assert(full == NULL || (mode == SGEMM_TENSOR && v != NULL && full->format == SGEMM_FORMAT_bf16x6 &&
                                   (!full->wgmma || m->has_sm90a_code) && full->shared <= m->shared_per_block));
        with_fallback += full != NULL;
        if (v == NULL)
          continue;
        cr_assert(mode != SGEMM_STRICT && k >= (mode == SGEMM_TENSOR ? 128 : 64) && m->code_arch >= 80);
        cr_assert(!v->wgmma || m->has_sm90a_code, "%s without wgmma", v->name);
        cr_assert(v->format == (mode == SGEMM_TENSOR ? SGEMM_FORMAT_fp16x3 : SGEMM_FORMAT_bf16x6));
        cr_assert(k_per_set(v) <= 32 || (k >= 256 && plan.split_k == 1), "%s for k = %d in %d", v->name, (int)k,
                  plan.split_k);
        cr_assert(v->format != SGEMM_FORMAT_fp16x3 || k_per_set(v) <= 16 || k >= 16384 || plan.split_k == 1,
                  "%s for k = %d in %d", v->name, (int)k, plan.split_k);
        cr_assert(v->shared <= m->shared_per_block && plan.split_k >= 1);
        cr_assert(plan.stream_k == 0 && !plan.repack_a && !plan.repack_b, "the fallback has no workspace");
        cr_assert(sgemm_plan_workspace(&plan, &p) <= p.workspace_bytes);
        taken++;
      }
  cr_assert(taken > with_fallback && with_fallback > 0);
}

/* The products of a training step have the full-range fallback on an H200 if the workspace has room for its terms, and
   strict fp32 alone as a fallback with a byte less. A pre-split B does not change this. */
Test(selection, full_range_fallback) {
  static const int64_t sizes[][3] = {{4096, 768, 50304}, {768, 50304, 4096}, {50304, 768, 4096}, {4096, 50304, 768}};
  sgemm_device device;
  int i, prepared;
  memset(&device, 0, sizeof device);
  device.multiprocessors = 132;
  device.major = 9;
  device.code_arch = 90;
  device.has_sm90a_code = 1;
  device.lanes = 128;
  device.clock_mhz = 1980;
  device.bandwidth_gbs = 4814.7;
  device.shared_per_block = 227 * 1024;
  device.l2_bytes = 50 << 20;
  need(sgemm_tensor_compiled(), "build with the tensor modes");
  for (i = 0; i < 4; i++)
    for (prepared = 0; prepared < 2; prepared++) {
      sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, sizes[i][0], sizes[i][1], sizes[i][2]);
      sgemm_plan plan, less;
      p.mode = SGEMM_TENSOR;
      p.prepared_b = prepared ? (const void *)4096 : NULL;
      p.workspace_bytes = INT64_MAX;
      plan = sgemm_select(&p, SGEMM_STAGE_ANY, &device);
      cr_assert(plan.tensor != SGEMM_TENSOR_VARIANT_NONE && plan.tensor_fallback != SGEMM_TENSOR_VARIANT_NONE);
      cr_assert(sgemm_tensor_variant_get(plan.tensor_fallback)->wgmma);
      p.workspace_bytes = sgemm_plan_workspace(&plan, &p);
      cr_assert(p.workspace_bytes >= 6 * p.k * (p.m + p.n));
      less = sgemm_select(&p, SGEMM_STAGE_ANY, &device);
      cr_assert(less.tensor == plan.tensor && less.tensor_fallback == plan.tensor_fallback);
      p.workspace_bytes--;
      less = sgemm_select(&p, SGEMM_STAGE_ANY, &device);
      cr_assert(less.tensor == plan.tensor && less.tensor_fallback == SGEMM_TENSOR_VARIANT_NONE &&
                less.split_k == plan.split_k && less.variant == plan.variant);
      cr_assert(sgemm_plan_workspace(&less, &p) < p.workspace_bytes);
      p.mode = SGEMM_TENSOR_FULL;
      p.prepared_b = NULL;
      p.workspace_bytes = INT64_MAX;
      cr_assert(sgemm_select(&p, SGEMM_STAGE_ANY, &device).tensor_fallback == SGEMM_TENSOR_VARIANT_NONE);
    }
}
