/* The tensor modes: what the split makes of an operand, when the guard fires, every row of SGEMM_TENSORS, prepared operands
   and the selection. */
#include "tests/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- What the tests share ---------------------------------------------------------------------------------------- */

static uint64_t state = 1;

/* Marsaglia's xorshift64, and numbers made of it: uniform in (-1, 1), and normal by Box and Muller. */
static uint64_t next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static double uniform(void) { return (double)((int64_t)(next() >> 11) * 2 + 1 - (INT64_C(1) << 53)) * 0x1p-53; }

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

/* The bound of a row in 2^-24 |alpha| |A| |B|, where all elements are whole.
     parts     fp16x3 keeps 22 bits of an element, 4 units for each operand, and leaves out lo lo, 4 units; bf16x6 keeps all
               24 bits and leaves out mid lo and lo mid, 2^-24 each, and lo lo.
     sums      17 numbers cut off 2^25 below the largest of them and a sum cut off to 24 bits: 17/2 + 2 units for each wgmma
               of hi hi, of which sum_k / 16 go into one sum; all others together are 2^-7 of that and less.
     fp32      a rounding for each sum, promotion and plane, and 3 for alpha, beta and the sum. */
static int sum_k(const sgemm_tensor_info *v) { return 32 * v->chunks / v->sums; }

static double units_of(const sgemm_tensor_plan *plan, int64_t k) {
  const sgemm_tensor_info *v = sgemm_tensor_get(plan->tensor);
  const double parts = v->format == SGEMM_FORMAT_fp16x3 ? 12.0 : 3.0, sums = 10.5 * sum_k(v) / 16 + 1.0;
  return parts + sums + v->sums + ceil((double)k / (32.0 * v->chunks)) + plan->planes + 3.0;
}

static problem problem_tensor(int row, int planes, int op_a, int op_b, int64_t m, int64_t n, int64_t k, layer layer) {
  problem q = problem_of(SGEMM_VARIANT_COUNT, op_a, op_b, m, n, k, layer);
  q.tensor.tensor = (sgemm_tensor)row;
  q.tensor.planes = planes;
  q.p.mode = mode_of(sgemm_tensor_get(q.tensor.tensor)->format);
  q.units = units_of(&q.tensor, k);
  return q;
}

/* 1 if the machine can run a row: the GPU may have no wgmma, or the code may be of an architecture without. */
static int can_run(int row) {
  const sgemm_tensor_info *v = sgemm_tensor_get((sgemm_tensor)row);
  sgemm_machine machine;
  cr_assert(sgemm_machine_query(&machine) == SGEMM_SUCCESS);
  return machine.arch >= 80 && (machine.wgmma || !v->wgmma) && v->shared <= machine.shared_per_block;
}

static void need_row(int row) {
  need_machine();
  need(can_run(row), sgemm_tensor_get((sgemm_tensor)row)->name);
}

/* Rows from `row` on that the machine can run. */
static int next_row(int row) {
  while (row < SGEMM_TENSOR_COUNT && !can_run(row))
    row++;
  return row;
}

/* Of them those whose cases are not left out: all, or every third where time is short, the smallest tile of a format. */
static int next_chosen(int row) {
  row = next_row(row);
  while (reduced() && row < SGEMM_TENSOR_COUNT && row % 3 != 2)
    row = next_row(row + 1);
  return row;
}

/* Column-major, with packed leading dimensions. */
static void transpose(problem *q) {
  sgemm_params *p = &q->p;
  p->order = SGEMM_COL_MAJOR;
  p->lda = p->op_a == SGEMM_N ? p->m : p->k;
  p->ldb = p->op_b == SGEMM_N ? p->k : p->n;
  p->ldc = p->m;
}

static void widen(problem *q, int64_t surplus) {
  sgemm_params *p = &q->p;
  const int row_major = p->order == SGEMM_ROW_MAJOR;
  p->lda += surplus;
  p->ldb += surplus;
  p->ldc += surplus;
  p->stride_a = p->lda * ((p->op_a == SGEMM_N) == row_major ? p->m : p->k);
  p->stride_b = p->ldb * ((p->op_b == SGEMM_N) == row_major ? p->k : p->n);
  p->stride_c = p->ldc * (row_major ? p->m : p->n);
}

static void fill(problem *q, matrix *x, int64_t i_count, int64_t j_count, distribution of) {
  int64_t b, i, j;
  for (b = 0; b < q->p.batch; b++)
    for (i = 0; i < i_count; i++)
      for (j = 0; j < j_count; j++)
        *element(x, b, i, j) = (float)of();
}

static void fill_both(problem *q, distribution of) {
  fill(q, &q->A, q->p.m, q->p.k, of);
  fill(q, &q->B, q->p.k, q->p.n, of);
}

static uint32_t verdict_of(const problem *q) {
  uint32_t verdict = 0xdead;
  cr_assert(sgemm_guard_query(&q->p, &verdict, NULL) == SGEMM_SUCCESS && machine_wait() == 0);
  return verdict;
}

/* A copy of C as it was downloaded, and whether the next is the same. */
static float *keep(const problem *q) {
  float *c = (float *)malloc((size_t)q->C.count * sizeof *c);
  cr_assert(c != NULL);
  memcpy(c, q->C.after, (size_t)q->C.count * sizeof *c);
  return c;
}

static int kept(const problem *q, const float *c) { return memcmp(c, q->C.after, (size_t)q->C.count * sizeof *c) == 0; }

/* The same call in strict fp32, without workspace. */
static void run_strict(problem *q) {
  problem strict = *q;
  strict.tensor.planes = 0;
  strict.p.mode = SGEMM_STRICT;
  strict.p.workspace_bytes = 0;
  strict.p.prepared_a = strict.p.prepared_b = NULL;
  CHECK(problem_run(&strict, NULL));
}

/* ---- The split --------------------------------------------------------------------------------------------------- */

/* A split operand, as the comments of sgemm_tensor.cuh describe it. */
typedef struct split {
  const char *planes;
  const float *units;
  int64_t rows, chunks, blocks_k;
  int parts;
} split;

static split split_at(const void *memory, sgemm_format format, int64_t extent, int64_t k, int64_t batch) {
  split s;
  s.parts = format == SGEMM_FORMAT_fp16x3 ? 2 : 3;
  s.rows = (extent + 63) / 64 * 64;
  s.chunks = (k + 63) / 64 * 2;
  s.blocks_k = (k + 127) / 128;
  s.planes = (const char *)memory;
  s.units = (const float *)(s.planes + (s.rows * s.chunks * batch + 256) * 64 * s.parts);
  return s;
}

/* Chunks of 32 k, in them groups of 8 rows, in them parts, in them 4 matrices of 8 rows x 8 k. */
static uint32_t part_of(const split *s, int64_t batch, int64_t row, int64_t k, int part) {
  const int64_t group = ((batch * s->chunks + k / 32) * s->rows + row) / 8;
  uint16_t h;
  memcpy(&h, s->planes + ((group * s->parts + part) * 4 + k % 32 / 8) * 128 + row % 8 * 16 + k % 8 * 2, sizeof h);
  return h;
}

static double unit_of(const split *s, int64_t batch, int64_t row, int64_t k) {
  static const int order[16] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15}; /* rows as they lie */
  int at = 0;
  while (order[at] != row % 16)
    at++;
  return (double)s->units[(batch * s->blocks_k + k / 128) * s->rows + row / 16 * 16 + at];
}

/* What 16 bits stand for: a sign, 5 or 8 bits of exponent, 10 or 7 of significand. */
static double value_of(uint32_t h, sgemm_format format) {
  const int fraction = format == SGEMM_FORMAT_fp16x3 ? 10 : 7, bias = format == SGEMM_FORMAT_fp16x3 ? 15 : 127;
  const int exponent = (int)(h >> fraction) & (2 * bias + 1);
  const double significand = (double)(h & ((1u << fraction) - 1)) + (exponent > 0 ? 1 << fraction : 0);
  cr_assert(exponent <= 2 * bias, "part 0x%x is no number", h);
  return (h >> 15 ? -1.0 : 1.0) * ldexp(significand, (exponent > 0 ? exponent : 1) - bias - fraction);
}

/* The machine's memory for a prepared operand, with some behind it that must stay as it is. */
enum { BEHIND = 512 };
static char *prepared_memory(int64_t bytes) {
  char *memory = (char *)machine_alloc((size_t)bytes + BEHIND);
  cr_assert(memory != NULL && bytes % 16 == 0);
  cr_assert(machine_set(memory, 0xff, (size_t)bytes) == 0 && machine_set(memory + bytes, 0xa5, BEHIND) == 0);
  return memory;
}

/* A copy of it on the host. */
static char *prepared_download(const char *memory, int64_t bytes) {
  char *copy = (char *)malloc((size_t)bytes + BEHIND);
  int i;
  cr_assert(copy != NULL && machine_wait() == 0 && machine_download(copy, memory, (size_t)bytes + BEHIND) == 0);
  for (i = 0; i < BEHIND; i++)
    cr_assert((unsigned char)copy[bytes + i] == 0xa5, "byte %d behind a prepared operand was written", i);
  return copy;
}

/* One operand's split, as sgemm_prepare() makes it: on the host, for free(). */
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

/* A's or B's parts and units against its elements; row r of the split is row r of op(A) or column r of op(B). */
static void check_split(problem *q, char which) {
  const sgemm_format format = q->p.mode == SGEMM_TENSOR ? SGEMM_FORMAT_fp16x3 : SGEMM_FORMAT_bf16x6;
  const double low = format == SGEMM_FORMAT_fp16x3 ? 0x1p14 : 1.0; /* where the largest lands, and up to twice of it */
  const int64_t extent = which == 'A' ? q->p.m : q->p.n;
  char *memory = split_of(q, which);
  const split s = split_at(memory, format, extent, q->p.k, q->p.batch);
  int64_t b, row, k, at;
  int part;
  for (b = 0; b < q->p.batch; b++)
    for (row = 0; row < s.rows; row++)
      for (k = 0; k < s.chunks * 32; k++) {
        const int inside = row < extent && k < q->p.k;
        const double unit = unit_of(&s, b, row, k);
        double x, sum = 0.0, error, within;
        int exponent;
        cr_assert(frexp(unit, &exponent) == 0.5, "unit %g is no power of two", unit);
        for (part = s.parts - 1; part >= 0; part--) {
          const uint32_t h = part_of(&s, b, row, k, part);
          cr_assert(inside || h == 0, "part %d of (%d, %d), which is outside, is 0x%x", part, (int)row, (int)k, h);
          sum += value_of(h, format);
        }
        if (!inside)
          continue;
        x = (double)*(which == 'A' ? element(&q->A, b, row, k) : element(&q->B, b, k, row)) / unit;
        error = fabs(sum - x);
        /* fp16: half of lo's last place, which is 2^-24 at least; bf16: nothing down to 2^-110, then half of 2^-133. */
        within = format == SGEMM_FORMAT_fp16x3 ? fmax(fabs(x) * 0x1p-23, 0x1p-25)
                 : fabs(x) >= 0x1p-110         ? 0.0
                                               : 0x1p-134;
        cr_assert(error <= within, "(%d, %d) is %a, its parts make %a", (int)row, (int)k, x, sum);
        if (k % 128 == 0) {
          double largest = 0.0;
          for (at = k; at < k + 128 && at < q->p.k; at++)
            largest = fmax(largest,
                           fabs((double)*(which == 'A' ? element(&q->A, b, row, at) : element(&q->B, b, at, row))));
          cr_assert(largest == 0.0 || (largest / unit >= low && largest / unit < 2.0 * low),
                    "the largest of row %d from %d on, %g, became %g", (int)row, (int)k, largest, largest / unit);
        }
      }
  free(memory);
}

Test(split, parts_make_the_elements) {
  static const int64_t sizes[][3] = {{1, 65, 127},  {63, 130, 33}, {64, 5, 128},
                                     {66, 67, 129}, {129, 1, 290}, {65, 70, 1}};
  static const distribution data[] = {uniform, spread_by_exp, spread_widely};
  int mode, ops, order, i, cases = 0;
  need_machine();
  for (mode = SGEMM_TENSOR; mode <= SGEMM_TENSOR_FULL; mode++)
    for (ops = 0; ops < 4; ops++)
      for (order = 0; order < 2; order++)
        for (i = 0; i < 6; i++) {
          const int64_t *size = sizes[i];
          problem q = problem_of(SGEMM_VARIANT_COUNT, ops / 2 ? SGEMM_T : SGEMM_N, ops % 2 ? SGEMM_C : SGEMM_N, size[0],
                                 size[1], size[2], ROUNDING);
          if (reduced() && (mode + ops + order + i) % 4 != 0)
            continue;
          if (order)
            transpose(&q);
          widen(&q, i % 2 ? PRIME : 0);
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

/* Exponents at both ends of fp32, where a scale or its inverse could be no normal number. */
Test(split, ends_of_the_range) {
  static const float ends[] = {0x1.fffffep127f, 0x1p126f, 0x1p-100f, 0x1p-111f, 0x1.8p-112f, 0x1p-126f, 0x1p-149f};
  int mode, i, part;
  need_machine();
  for (mode = SGEMM_TENSOR; mode <= SGEMM_TENSOR_FULL; mode++)
    for (i = 0; i < (int)(sizeof ends / sizeof *ends); i++) {
      const sgemm_format format = mode == SGEMM_TENSOR ? SGEMM_FORMAT_fp16x3 : SGEMM_FORMAT_bf16x6;
      problem q = problem_of(SGEMM_VARIANT_COUNT, SGEMM_N, SGEMM_N, 1, 1, 2, ROUNDING);
      char *memory;
      split s;
      double sum = 0.0;
      q.p.mode = mode;
      problem_make(&q);
      *element(&q.A, 0, 0, 0) = ends[i];
      *element(&q.A, 0, 0, 1) = 0.0f;
      memory = split_of(&q, 'A');
      s = split_at(memory, format, 1, 2, 1);
      for (part = s.parts - 1; part >= 0; part--)
        sum += value_of(part_of(&s, 0, 0, 0, part), format);
      sum *= unit_of(&s, 0, 0, 0);
      cr_assert(fabs(sum - (double)ends[i]) <= (mode == SGEMM_TENSOR ? 0x1p-23 * (double)ends[i] : 0.0), "%a became %a",
                (double)ends[i], sum);
      free(memory);
      problem_free(&q);
    }
}

/* hi is the nearest 16-bit number, ties to even: by rint() in units of its last place. */
Test(split, hi_is_nearest) {
  int mode;
  need_machine();
  for (mode = SGEMM_TENSOR; mode <= SGEMM_TENSOR_FULL; mode++) {
    const sgemm_format format = mode == SGEMM_TENSOR ? SGEMM_FORMAT_fp16x3 : SGEMM_FORMAT_bf16x6;
    const int fraction = mode == SGEMM_TENSOR ? 10 : 7, lowest = mode == SGEMM_TENSOR ? -14 : -126;
    problem q = problem_of(SGEMM_VARIANT_COUNT, SGEMM_N, SGEMM_N, 128, 1, 256, ROUNDING);
    char *memory;
    split s;
    int64_t row, k;
    q.p.mode = mode;
    problem_make(&q);
    for (row = 0; row < 128; row++)
      for (k = 0; k < 256; k++) {
        /* Few bits, so that ties are common; every exponent from the top to below the least subnormal. */
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
        const double place = ldexp(1.0, (ilogb(x) > lowest ? ilogb(x) : lowest) - fraction);
        const double got = value_of(part_of(&s, 0, row, k, 0), format);
        cr_assert(got == rint(x / place) * place, "%a became %a", x, got);
      }
    free(memory);
    problem_free(&q);
  }
}

/* ---- The guard --------------------------------------------------------------------------------------------------- */

/* A case: what is changed in operands of whole elements, and what the guard says of it. low: an element that is not whole
   beside 1. */
typedef void (*change)(problem *q, float low);

static void nothing(problem *q, float low) { (void)q, (void)low; }
static void uniformly(problem *q, float low) { (void)low, fill_both(q, uniform); }
static void nan_in_a(problem *q, float low) { (void)low, *element(&q->A, 0, 69, 299) = NAN; }
static void inf_in_b(problem *q, float low) { (void)low, *element(&q->B, 0, 128, 39) = -INFINITY; }

static void not_whole(problem *q, int many, float low) {
  int k;
  for (k = 128; k < 256; k++)
    *element(&q->A, 0, 65, k) = k - 128 < many ? low : 1.0f;
}
static void three_not_whole(problem *q, float low) { not_whole(q, 3, low); }
static void four_not_whole(problem *q, float low) { not_whole(q, 4, -low); }
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

static void lone(matrix *x, int along_i, int64_t at) {
  int k;
  for (k = 0; k < 128; k++)
    *(along_i ? element(x, 0, k, at) : element(x, 0, at, k)) = k == 77 ? 1.0f : 0.0f;
}
static void lone_in_b(problem *q, float low) { (void)low, lone(&q->B, 1, 39); }
static void lost_in_a_lone_in_b(problem *q, float low) {
  not_whole(q, 1, low);
  lone(&q->B, 1, 39);
}
static void lost_in_b_lone_in_a(problem *q, float low) {
  *element(&q->B, 0, 0, 3) = 1.0f;
  *element(&q->B, 0, 1, 3) = low;
  lone(&q->A, 0, 0);
}
static void lost_and_lone_in_a(problem *q, float low) {
  not_whole(q, 1, low);
  lone(&q->A, 0, 0);
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
static void columns_apart(problem *q, float low) {
  int k;
  (void)low;
  for (k = 0; k < 128; k++)
    *element(&q->B, 0, k, 7) = 0x1p120f;
}
static void normally(problem *q, float low) { (void)low, fill_both(q, normal); }
static void by_exp(problem *q, float low) { (void)low, fill_both(q, spread_by_exp); }
static void of_one_sign(problem *q, float low) { (void)low, fill_both(q, positive); }

static const struct {
  const char *name;
  change change;
  uint32_t verdict;
} GUARDED[] = {{"digits", nothing, 0},
               {"uniform", uniformly, 0},
               {"normal", normally, 0},
               {"(u - 0.5) exp(n)", by_exp, 0},
               {"of one sign", of_one_sign, 0},
               {"a NaN", nan_in_a, SGEMM_GUARD_NONFINITE},
               {"an infinity", inf_in_b, SGEMM_GUARD_NONFINITE},
               {"3 of 16 not whole", three_not_whole, 0},
               {"4 of 16 not whole", four_not_whole, SGEMM_GUARD_SPREAD},
               {"3 of each 16 not whole", three_in_each_16, 0},
               {"4 of a column's last k not whole", four_of_a_column, SGEMM_GUARD_SPREAD},
               {"a lone element", lone_in_b, 0},
               {"a lone element of B, one of A not whole", lost_in_a_lone_in_b, SGEMM_GUARD_SPARSE},
               {"a lone element of A, one of B not whole", lost_in_b_lone_in_a, SGEMM_GUARD_SPARSE},
               {"both in A", lost_and_lone_in_a, 0},
               {"2^60", large, 0},
               {"2^100", too_large, SGEMM_GUARD_RANGE},
               {"2^-90", small, 0},
               {"2^-125", too_small, SGEMM_GUARD_RANGE},
               {"columns 2^120 apart", columns_apart, SGEMM_GUARD_RANGE}};

Test(guard, verdicts) {
  static const int rows[4] = {SGEMM_wgmma_fp16x3_128x64, SGEMM_wgmma_bf16x6_128x64, SGEMM_mma_fp16x3_128x128,
                              SGEMM_mma_bf16x6_128x128};
  int r, i, planes;
  need_machine();
  for (r = 0; r < 4; r++)
    for (i = 0; i < (int)(sizeof GUARDED / sizeof *GUARDED); i++)
      for (planes = 1; planes <= 2; planes++) {
        problem q = problem_tensor(rows[r], planes, SGEMM_N, SGEMM_N, 70, 40, 300, ROUNDING);
        uint32_t verdict;
        if (!can_run(rows[r]) || ((planes == 2 || r >= 2) && (i + r) % 4 != 0))
          continue;
        q.p.beta = 0.5f;
        q.nonfinite = 1;
        problem_make(&q);
        fill_both(&q, digits);
        GUARDED[i].change(&q, r % 2 ? 0x1p-111f : 0x1p-18f);
        CHECK(problem_run(&q, schedule(i)));
        verdict = verdict_of(&q);
        cr_assert(verdict == GUARDED[i].verdict, "%s: verdict %u, want %u", GUARDED[i].name, verdict,
                  GUARDED[i].verdict);
        if (GUARDED[i].verdict == 0)
          CHECK(problem_check(&q));
        else {
          float *c = keep(&q);
          run_strict(&q);
          cr_assert(kept(&q, c), "%s: not the bits of strict fp32", GUARDED[i].name);
          free(c);
        }
        problem_free(&q);
      }
}

/* The largest floats of one operand and zeros of the other make zeros: no range to speak of. */
Test(guard, largest_times_zero) {
  int r;
  need_machine();
  for (r = next_row(0); r < SGEMM_TENSOR_COUNT; r = next_row(r + 1)) {
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

/* Root of the mean square of errors in 2^-24 |A| |B|, of alpha 1 and beta 0. */
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

/* Case i of a row: sizes off its tile, ops and order in turn, padding, alpha and beta, batches and planes. In the last three
   the split takes whole panels, in vectors where they are aligned. 0: no such. */
static int tensor_case(problem *q, int row, layer layer, int i) {
  static const struct {
    int m, n; /* beside the tile's */
    int64_t k;
    int planes;
    int64_t batch, surplus;
    int shared; /* 1: A is, 2: B is, by all the batch */
    float alpha, beta;
  } cases[] = {{-100, 1, 65, 1, 2, 1, 0, 1.0f, 0.0f},  {3, -50, 161, 1, 1, PRIME, 0, 0.5f, 0.0f},
               {-1, -63, 33, 1, 3, 1, 0, 1.0f, 1.0f},  {-60, 5, 130, 2, 1, PRIME, 0, -0.75f, 1.25f},
               {-127, -31, 7, 1, 2, 0, 1, 1.0f, 0.0f}, {-64, -33, 431, 3, 1, PRIME, 0, 1.0f, 0.0f},
               {-60, -47, 96, 1, 3, 4, 2, 0.5f, 0.5f}, {-71, -13, 515, 3, 2, 3, 0, 2.0f, 1.0f},
               {-96, 6, 40, 1, 1, 2, 0, 1.0f, -1.0f},  {-112, -2, 40, 1, 2, 2, 0, 1.0f, 0.0f},
               {-60, 8, 132, 1, 1, 0, 0, 1.0f, 0.0f},  {-110, 8, 132, 1, 2, 0, 0, 1.0f, 0.0f},
               {-110, 8, 132, 1, 2, 0, 0, 1.0f, 0.0f}};
  const sgemm_tensor_info *v = sgemm_tensor_get((sgemm_tensor)row);
  if (i >= (int)(sizeof cases / sizeof *cases))
    return 0;
  *q = problem_tensor(row, cases[i].planes, i / 2 % 2 ? SGEMM_T : SGEMM_N, i % 2 ? SGEMM_C : SGEMM_N,
                      v->BM + cases[i].m, v->BN + cases[i].n, cases[i].k, layer);
  if (i / 4 % 2)
    transpose(q);
  widen(q, cases[i].surplus);
  q->p.batch = cases[i].batch;
  q->p.stride_a = cases[i].shared == 1 ? 0 : q->p.stride_a + 5;
  q->p.stride_b = cases[i].shared == 2 ? 0 : q->p.stride_b + 3;
  q->p.stride_c += 1; /* every other matrix of even rows is off 8 bytes */
  q->p.alpha = cases[i].alpha;
  q->p.beta = cases[i].beta;
  q->seed = (uint64_t)(i + 1);
  q->C.offset = i % 3; /* pairs of results at and off 8 bytes */
  return 1;
}

#define SGEMM__X(engine, format, BM, BN, WN, chunks, sums, bufs, reason)                                               \
  Test(engine##_##format##_##BM##x##BN, cases) {                                                                       \
    problem q;                                                                                                         \
    int i;                                                                                                             \
    need_row(SGEMM_##engine##_##format##_##BM##x##BN);                                                                 \
    for (i = 0; tensor_case(&q, SGEMM_##engine##_##format##_##BM##x##BN, i % 3 == 1 ? EXACT : ROUNDING, i); i++) {     \
      if (reduced() && i % 3 != 0)                                                                                     \
        continue;                                                                                                      \
      CHECK(problem_solve(&q, schedule(i)));                                                                           \
    }                                                                                                                  \
  }
SGEMM_TENSORS(SGEMM__X)
#undef SGEMM__X

/* Errors of typical data are a fraction of 2^-24 |A| |B|, or of one sign, whose sums are cut off toward zero, a few, the
   fewer the shorter the sums; any product that is left out makes more. */
Test(product, typical_errors) {
  static const distribution data[] = {uniform, positive, normal, spread_by_exp};
  int r, d;
  need_machine();
  for (r = next_chosen(0); r < SGEMM_TENSOR_COUNT; r = next_chosen(r + 1))
    for (d = 0; d < 4; d++) {
      problem q = problem_tensor(r, 1, SGEMM_N, SGEMM_N, 66, 35, 260, ROUNDING);
      double rms;
      problem_make(&q);
      fill_both(&q, data[d]);
      CHECK(problem_run(&q, NULL));
      CHECK(problem_check(&q));
      cr_assert(verdict_of(&q) == 0);
      rms = rms_of(&q);
      cr_assert(rms < (data[d] == positive ? 0.5 + 0.06 * sum_k(sgemm_tensor_get((sgemm_tensor)r)) : 0.7),
                "%s, data %d: %g units", sgemm_tensor_get((sgemm_tensor)r)->name, d, rms);
      problem_free(&q);
    }
}

/* Integers below 2^11 whose sums stay below 2^24: no bit is lost, in whatever part it is. */
Test(product, integers) {
  int r, i;
  need_machine();
  for (r = next_chosen(0); r < SGEMM_TENSOR_COUNT; r = next_chosen(r + 1))
    for (i = 0; i < 2; i++) {
      problem q = problem_tensor(r, 1, SGEMM_N, SGEMM_T, 67, 33, 200 + i, EXACT);
      int64_t at, k;
      problem_make(&q); /* integers up to 8 */
      for (at = 0; at < (i ? q.p.n : q.p.m); at++)
        for (k = 0; k < q.p.k; k++)
          *(i ? element(&q.B, 0, k, at) : element(&q.A, 0, at, k)) = (float)((int)(next() % 4095) - 2047);
      CHECK(problem_run(&q, NULL));
      CHECK(problem_check(&q));
      cr_assert(verdict_of(&q) == 0);
      problem_free(&q);
    }
}

/* Rows and columns in units of their own, which also change along k. */
Test(product, units) {
  int r;
  need_machine();
  for (r = next_row(0); r < SGEMM_TENSOR_COUNT; r = next_row(r + 1)) {
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
    cr_assert(verdict_of(&q) == 0);
    problem_free(&q);
  }
}

/* The same bits each time, on every stream or in every order of threads, and however many blocks share the tiles. */
Test(product, bits) {
  int r, i, multiprocessors;
  need_machine();
  for (r = next_chosen(0); r < SGEMM_TENSOR_COUNT; r = next_chosen(r + 1)) {
    const sgemm_tensor_info *v = sgemm_tensor_get((sgemm_tensor)r);
    problem q = problem_tensor(r, 2, SGEMM_N, SGEMM_N, 70, v->BN + 5, 200, ROUNDING);
    float *c;
    problem_make(&q);
    CHECK(problem_run(&q, schedule(0)));
    c = keep(&q);
    for (i = 1; i < SCHEDULES; i++) {
      CHECK(problem_run(&q, schedule(i)));
      cr_assert(kept(&q, c), "%s, schedule %d", v->name, i);
    }
    for (multiprocessors = 1; multiprocessors <= 5; multiprocessors += 2) {
      sgemm_machine machine;
      cr_assert(sgemm_machine_query(&machine) == SGEMM_SUCCESS);
      machine.multiprocessors = multiprocessors;
      CHECK(problem_upload(&q));
      const sgemm_plan strict = sgemm_select(&q.p, SGEMM_STAGE_COUNT, &machine);
      cr_assert(sgemm__run_tensor(&q.tensor, &strict, &q.p, &machine, NULL) == SGEMM_SUCCESS);
      CHECK(problem_download(&q));
      cr_assert(kept(&q, c), "%s on %d multiprocessors", v->name, multiprocessors);
    }
    free(c);
    problem_free(&q);
  }
}

/* Planes that are left without any k are neither made nor summed. */
Test(product, more_planes_than_k) {
  static const int64_t sizes[][2] = {{3, 500}, {4, 1152}, {7, 130}, {2, 64}, {64, 1000}};
  int i;
  need_row(SGEMM_wgmma_fp16x3_128x64);
  for (i = 0; i < 5; i++) {
    problem q = problem_tensor(SGEMM_wgmma_fp16x3_128x64, (int)sizes[i][0], SGEMM_N, SGEMM_N, 5, 6, sizes[i][1],
                               ROUNDING);
    CHECK(problem_solve(&q, NULL));
  }
}

/* Nothing to multiply: beta C, and A and B are not read. */
Test(product, nothing_to_multiply) {
  int r, i;
  need_machine();
  for (r = next_row(0); r < SGEMM_TENSOR_COUNT; r = next_row(r + 1))
    for (i = 0; i < 4; i++) {
      problem q = problem_tensor(r, 1 + i / 2, SGEMM_N, SGEMM_N, 5, 6, i % 2 ? 70 : 0, ROUNDING);
      q.p.alpha = i % 2 ? 0.0f : 1.0f;
      q.p.beta = i / 2 ? 0.5f : 0.0f;
      CHECK(problem_solve(&q, NULL));
    }
  for (i = 0; i < 2; i++) {
    problem q = problem_tensor(i, 1, SGEMM_N, SGEMM_N, i ? 0 : 5, i ? 5 : 0, 70, ROUNDING);
    cr_assert(sgemm_run_tensor_plan(&q.tensor, &q.p, NULL) == SGEMM_SUCCESS && sgemm_run(&q.p, NULL) == SGEMM_SUCCESS);
  }
}

/* ---- Prepared operands ------------------------------------------------------------------------------------------- */

Test(prepared, same_bits) {
  int r, i, which;
  need_machine();
  for (r = next_chosen(0); r < SGEMM_TENSOR_COUNT; r = next_chosen(r + 1))
    for (i = 1; i < 8; i += reduced() ? 4 : 2) { /* all by the smallest tiles, one by each other row */
      problem q;
      float *c;
      if (r % 3 != 2 && i != 1 + r % 4 * 2)
        continue;
      cr_assert(tensor_case(&q, r, ROUNDING, i));
      problem_make(&q);
      CHECK(problem_run(&q, NULL));
      c = keep(&q);
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
        other = q.p; /* neither the other operand's size nor what is made of the product plays a part */
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
        cr_assert(kept(&q, c), "%s, case %d, prepared %d", sgemm_tensor_get((sgemm_tensor)r)->name, i, which);
        CHECK(problem_check(&q));
        problem_free(&q);
        machine_free(a);
        machine_free(b);
      }
      free(c);
    }
}

Test(prepared, statuses) {
  enum { BYTES = 131072 };
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 3, 5, 70);
  float *memory;
  int mode;
  need_machine();
  memory = (float *)machine_alloc(BYTES);
  cr_assert(memory != NULL && machine_set(memory, 0, BYTES) == 0);
  cr_assert(sgemm_prepare(NULL, 'A', memory, NULL) == SGEMM_ERROR_PARAMS);
  p.mode = 3;
  cr_assert(sgemm_check(&p) == SGEMM_ERROR_MODE);
  p.m = -1;
  cr_assert(sgemm_check(&p) == SGEMM_ERROR_MODE, "before m");
  p.op_b = 0;
  cr_assert(sgemm_check(&p) == SGEMM_ERROR_OP_B, "behind op_b");
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
    cr_assert(sgemm_run(&p, NULL) == SGEMM_ERROR_WORKSPACE, "before prepared operands");
    p.workspace = NULL;
    p.prepared_b = NULL;
    if (mode == SGEMM_STRICT) {
      cr_assert(sgemm_prepare(&p, 'A', memory, NULL) == SGEMM_ERROR_MODE);
      continue;
    }
    cr_assert(sgemm_prepare(&p, 'A', NULL, NULL) == SGEMM_ERROR_PREPARED);
    cr_assert(sgemm_prepare(&p, 'B', memory + 1, NULL) == SGEMM_ERROR_PREPARED);
    cr_assert(sgemm_prepare(&p, 'C', memory, NULL) == SGEMM_ERROR_PREPARED);
    p.B = NULL;
    cr_assert(sgemm_prepare(&p, 'A', memory, NULL) == SGEMM_SUCCESS, "B plays no part");
    cr_assert(sgemm_prepare(&p, 'B', memory, NULL) != SGEMM_SUCCESS, "there is no B");
    p.k = -1;
    cr_assert(sgemm_prepare(&p, 'A', memory, NULL) == SGEMM_ERROR_K);
  }
  cr_assert(machine_wait() == 0);
  machine_free(memory);
}

/* ---- Plans, workspace and selection ------------------------------------------------------------------------------ */

Test(plan, statuses) {
  problem q = problem_tensor(0, 1, SGEMM_N, SGEMM_N, 3, 5, 70, ROUNDING);
  sgemm_tensor_plan plan = q.tensor;
  uint32_t verdict;
  need_row(0);
  problem_make(&q);
  CHECK(problem_upload(&q));
  cr_assert(sgemm_run_tensor_plan(&plan, NULL, NULL) == SGEMM_ERROR_PARAMS);
  plan.tensor = SGEMM_TENSOR_COUNT;
  cr_assert(sgemm_run_tensor_plan(&plan, &q.p, NULL) == SGEMM_ERROR_VARIANT);
  plan = q.tensor;
  plan.planes = 0;
  cr_assert(sgemm_run_tensor_plan(&plan, &q.p, NULL) == SGEMM_ERROR_PLAN);
  q.p.workspace_bytes -= 16;
  cr_assert(sgemm_run_tensor_plan(&q.tensor, &q.p, NULL) == SGEMM_ERROR_WORKSPACE);
  q.p.workspace_bytes = 112;
  cr_assert(sgemm_guard_query(&q.p, &verdict, NULL) == SGEMM_ERROR_WORKSPACE);
  cr_assert(sgemm_guard_query(NULL, &verdict, NULL) == SGEMM_ERROR_PARAMS);
  q.p.workspace_bytes += 16;
  problem_free(&q);
}

/* sgemm_run() with all the workspace it asks for takes a row; with less it does strict fp32. */
Test(selection, workspace) {
  int mode;
  need_machine();
  for (mode = SGEMM_TENSOR; mode <= SGEMM_TENSOR_FULL; mode++) {
    problem q;
    sgemm_tensor_plan plan = {SGEMM_TENSOR_COUNT, 1};
    sgemm_machine machine;
    float *c;
    int64_t bytes = 0, size;
    cr_assert(sgemm_machine_query(&machine) == SGEMM_SUCCESS);
    for (size = 128; plan.tensor == SGEMM_TENSOR_COUNT; size *= 2) { /* until the split pays on this machine */
      need(size <= 4096, "machine that selects a tensor mode");
      q = problem_of(SGEMM_VARIANT_COUNT, SGEMM_N, SGEMM_N, size + 2, size + 12, 300, ROUNDING);
      q.p.mode = mode;
      cr_assert(sgemm_workspace_query(&q.p, &bytes) == SGEMM_SUCCESS);
      q.p.workspace_bytes = bytes;
      plan = sgemm_tensor_select(&q.p, &machine);
    }
    cr_assert(bytes == sgemm_tensor_workspace(&plan, &q.p));
    q.units = units_of(&plan, q.p.k);
    problem_make(&q);
    CHECK(problem_run(&q, NULL));
    CHECK(problem_check(&q));
    cr_assert(verdict_of(&q) == 0);
    c = keep(&q);
    q.p.workspace_bytes = 0;
    CHECK(problem_run(&q, NULL));
    cr_assert(!kept(&q, c), "without workspace it is strict");
    free(c);
    c = keep(&q);
    run_strict(&q);
    cr_assert(kept(&q, c));
    free(c);
    q.p.workspace_bytes = bytes; /* too little for the plan, enough for others perhaps */
    plan = sgemm_tensor_select(&q.p, &machine);
    q.p.workspace_bytes = bytes - 16;
    cr_assert(sgemm_tensor_select(&q.p, &machine).tensor != plan.tensor ||
              sgemm_tensor_select(&q.p, &machine).planes != plan.planes);
    problem_free(&q);
  }
}

Test(selection, rows) {
  static const int64_t sizes[] = {1, 63, 64, 128, 255, 256, 1000, 4096, 16384};
  static const sgemm_machine machines[] = {
      {132, 90, 128, 1980, 4814.7, 227 * 1024, 1, 50 << 20}, {132, 90, 128, 1980, 4814.7, 227 * 1024, 0, 50 << 20},
      {108, 80, 64, 1410, 1555.0, 163 * 1024, 0, 40 << 20},  {68, 75, 64, 1545, 616.0, 64 * 1024, 0, 4 << 20},
      {1, 90, 128, 1000, 100.0, 227 * 1024, 1, 1 << 20},     {132, 90, 128, 1980, 4814.7, 99 * 1024, 1, 50 << 20}};
  enum { SIZES = 9, SHAPES = SIZES * SIZES * SIZES };
  int machine, mode, i, taken = 0;
  for (machine = 0; machine < 6; machine++)
    for (mode = SGEMM_STRICT; mode <= SGEMM_TENSOR_FULL; mode++)
      for (i = 0; i < SHAPES; i++) {
        const sgemm_machine *m = &machines[machine];
        const int64_t k = sizes[i / SIZES / SIZES];
        sgemm_params p = sgemm_params_init(i % 3 ? SGEMM_N : SGEMM_T, SGEMM_N, sizes[i % SIZES],
                                           sizes[i / SIZES % SIZES], k);
        sgemm_params other = sgemm_params_init(SGEMM_T, SGEMM_T, 777, 1, 5);
        sgemm_tensor_plan plan, again;
        const sgemm_tensor_info *v;
        p.mode = mode;
        p.batch = 1 + i % 2;
        p.workspace_bytes = i % 5 ? INT64_C(1) << (18 + i % 17) : 0;
        plan = sgemm_tensor_select(&p, m);
        sgemm_tensor_select(&other, &machines[(machine + 1) % 6]);
        again = sgemm_tensor_select(&p, m);
        cr_assert(plan.tensor == again.tensor && plan.planes == again.planes);
        v = sgemm_tensor_get(plan.tensor);
        if (v == NULL) {
          cr_assert(plan.planes == 1);
          continue;
        }
        cr_assert(mode != SGEMM_STRICT && k >= (mode == SGEMM_TENSOR ? 128 : 64) && m->arch >= 80);
        cr_assert(!v->wgmma || m->wgmma, "%s without wgmma", v->name);
        cr_assert(v->format == (mode == SGEMM_TENSOR ? SGEMM_FORMAT_fp16x3 : SGEMM_FORMAT_bf16x6));
        cr_assert(sum_k(v) <= 32 || (k >= 256 && plan.planes == 1), "%s for k = %d in %d", v->name, (int)k,
                  plan.planes);
        cr_assert(v->format != SGEMM_FORMAT_fp16x3 || sum_k(v) <= 16 || k >= 16384 || plan.planes == 1,
                  "%s for k = %d in %d", v->name, (int)k, plan.planes);
        cr_assert(v->shared <= m->shared_per_block && plan.planes >= 1);
        cr_assert(sgemm_tensor_workspace(&plan, &p) <= p.workspace_bytes);
        taken++;
      }
  cr_assert(taken > 0);
}
