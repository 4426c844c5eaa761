/* Compares the counters of the CPU model with closed forms, for every variant: requests, sectors, bytes, wavefronts,
   bank conflicts, barriers and FMAs. Compiled with SGEMM_CPU=1 and SGEMM_CPU_COUNT=1. */
#define SGEMM_IMPLEMENTATION
#include "sgemm.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#if !SGEMM_CPU_COUNT
#error "counters_test.c needs SGEMM_CPU_COUNT=1"
#endif

enum { NN, NT, TN, TT };
static const char *const OPS[] = {"nn", "nt", "tn", "tt"};

typedef struct size {
  int64_t m, n, k;
} size;

static float *operand(int64_t count) {
  float *x = (float *)aligned_alloc(256, ((size_t)count * sizeof *x + 255) / 256 * 256);
  cr_assert(x != NULL);
  memset(x, 0, (size_t)count * sizeof *x);
  return x;
}

/* 1 in the quick tier, which runs a part of the cases; 0 with SGEMM_TEST_FULL=1. */
static int reduced(void) {
  const char *full = getenv("SGEMM_TEST_FULL");
  return full == NULL || strcmp(full, "1") != 0;
}

/* 1 for an op pair that the quick tier leaves out: it has one of each variant, by turns. */
static int leaves_out(sgemm_variant variant, int ops) { return reduced() && ops != (int)variant % 4; }

/* A multiple of 4, so that each row of C starts on 16 bytes and 128-bit stores reach the right edge. */
static int64_t ldc_of(size s) { return sgemm__ceil_div(s.n, 4) * 4; }

/* 1 if plans of a variant may have split_k > 1, in stage tma stream_k > 1, or in stage clustered cluster_k > 1. */
static int can_split(const sgemm_variant_info *v) { return v->bufs >= 3 || v->stage == SGEMM_STAGE_gemv; }

/* Returns the counts of one multiplication with the smallest lda and ldb. If the call launches several kernels, the
   counts are those of the last. split: the plan's split_k, or in stage tma its stream_k (1: off). cluster_k 0:
   sgemm_run_variant() makes the plan, which splits no k of these sizes. */
static sgemm_counts counts_of_plan(sgemm_variant variant, int cluster_k, int split, int ops, size s, float beta) {
  sgemm_params p = sgemm_params_init(ops / 2 ? SGEMM_T : SGEMM_N, ops % 2 ? SGEMM_T : SGEMM_N, s.m, s.n, s.k);
  float *A = operand(s.m * s.k), *B = operand(s.k * s.n), *C = operand(s.m * ldc_of(s));
  sgemm_plan plan;
  p.ldc = ldc_of(s);
  p.beta = beta;
  p.A = A;
  p.B = B;
  p.C = C;
  plan = sgemm_variant_plan(variant, &p);
  plan.cluster_k = cluster_k > 0 ? cluster_k : 1;
  if (sgemm_variant_get(variant)->uses_tma)
    plan.stream_k = split > 1 ? split : 0;
  else
    plan.split_k = split;
  p.workspace_bytes = sgemm_plan_workspace(&plan, &p);
  p.workspace = p.workspace_bytes > 0 ? operand(p.workspace_bytes / 4) : NULL;
  cr_assert((cluster_k > 0 ? sgemm_run_plan(&plan, &p, NULL) : sgemm_run_variant(variant, &p, NULL)) == SGEMM_SUCCESS,
            "%s", sgemm_model_error());
  free(p.workspace);
  free(A);
  free(B);
  free(C);
  return *sgemm_model_counts();
}

static sgemm_counts counts_of(sgemm_variant variant, int ops, size s, float beta) {
  return counts_of_plan(variant, 0, 1, ops, s, beta);
}

/* ---- Comparison -------------------------------------------------------------------------------------------------- */

static int compared; /* comparisons of a test */

static void compared_something(void) { cr_assert(compared > 0, "nothing was compared"); }

static void equal(int64_t got, int64_t want, const char *format, ...) {
  char what[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  compared++;
  cr_assert(got == want, "%s: %lld, want %lld", what, (long long)got, (long long)want);
}

#define COUNT(v, ops, c, counter, want) equal((c)->counter, want, "%s_%s: %s", (v)->name, OPS[ops], #counter)

/* ---- Closed forms ------------------------------------------------------------------------------------------------ */

static int one_result(const sgemm_variant_info *v) {
  return v->stage == SGEMM_STAGE_naive || v->stage == SGEMM_STAGE_coalesced;
}

/* 1 if the epilogue loads C eight output vectors at a time where beta is not 0: stage tma, and pipelines without
   sliced-K groups that have 8 x 8 results a thread or copies of single elements. */
static int loads_c_ahead(const sgemm_variant_info *v) {
  return v->uses_tma || (v->bufs >= 3 && v->slice_k == 1 && (v->TM * v->TN == 64 || v->copies_elements));
}

/* 1 if lanes exchange elements of results before they store them to rows that are no whole vectors: the pipelines with
   loads_c_ahead() and V = 4. */
static int exchanges_results(const sgemm_variant_info *v) { return v->V == 4 && !v->uses_tma && loads_c_ahead(v); }

/* The size rounded up to whole tiles. */
static size covered(const sgemm_variant_info *v, size s) {
  size c = s;
  if (!one_result(v)) {
    c.m = sgemm__ceil_div(s.m, v->BM) * v->BM;
    c.n = sgemm__ceil_div(s.n, v->BN) * v->BN;
    c.k = sgemm__ceil_div(s.k, v->BK) * v->BK;
  }
  return c;
}

/* Stage tma with BM = 256: if at most SGEMM__BOX k are left for the last k-step, the kernel copies this step from
   SGEMM__BOX k earlier on, and multiplies only its second half. Returns the number of k that are copied twice. */
static int64_t skipped_k(const sgemm_variant_info *v, size s) {
  const int64_t rest = s.k % v->BK;
  return v->uses_tma && v->BM == 256 && s.k > v->BK && rest > 0 && rest <= SGEMM__BOX ? SGEMM__BOX : 0;
}

/* Elements that a launch loads. With tiles it loads A once for each tile column and B once for each tile row: k (1/BM +
   1/BN) for each result if the tiles divide the size. Without tiles it loads 2k for each result. */
static int64_t elements(const sgemm_variant_info *v, size s) {
  return one_result(v) ? 2 * s.m * s.n * s.k
                       : s.m * s.k * sgemm__ceil_div(s.n, v->BN) + s.k * s.n * sgemm__ceil_div(s.m, v->BM);
}

/* Floats that the sliced-K groups of a launch store to shared memory and load again for their sum. In stage tma the
   lanes of a quad are summed in registers, so only the slice_k / 4 warps that share k use shared memory. */
static int64_t summed(const sgemm_variant_info *v, size t) {
  const int slice_k = v->uses_tma ? v->slice_k / 4 : v->slice_k;
  return slice_k > 1 ? slice_k * t.m * t.n : 0;
}

/* Lanes of a warp that belong to one sliced-K group. With fewer than 32, a warp has several groups. The bank conflicts
   between the groups have no closed form here. */
static int lanes_of(const sgemm_variant_info *v) {
  return !v->uses_tma && v->threads / v->slice_k < 32 ? v->threads / v->slice_k : 32;
}

/* Returns the name of the first counter that differs from its closed form with beta = 0; NULL: none does. */
static const char *first_wrong(const sgemm_variant_info *v, size s, const sgemm_counts *c) {
  const size t = covered(v, s);
  const int64_t tiles = t.m / v->BM * (t.n / v->BN), steps = t.k / v->BK;
  const int64_t products = t.m * t.n * (t.k - skipped_k(v, s));
  const size again = {s.m, s.n, skipped_k(v, s)}; /* k that are copied twice */
  /* Persistent blocks fill the one SM of the model. */
  const int64_t blocks = v->uses_tma && !v->cluster_split_k && tiles > v->resident ? v->resident : tiles;
  const int64_t fragments = one_result(v) ? 0 : products / v->TM + products / v->TN;
  const int64_t stored = one_result(v) ? 0 : t.m * t.k * (t.n / v->BN) + t.k * t.n * (t.m / v->BM);
  const int64_t barriers = one_result(v)  ? 0
                           : v->uses_tma  ? 1                                /* the others are mbarriers */
                           : v->bufs >= 2 ? 1 + steps + 2 * (v->slice_k > 1) /* sum over sliced-K groups */
                                          : 2 * steps;
#define FIRST(counter, want)                                                                                           \
  compared++;                                                                                                          \
  if (c->counter != (want))                                                                                            \
  return #counter
  FIRST(global_load_bytes, 4 * (elements(v, s) + elements(v, again)));
  FIRST(global_store_bytes, 4 * s.m * s.n);
  FIRST(shared_load_bytes, 4 * (fragments + summed(v, t)));
  FIRST(shared_store_bytes, 4 * (stored + summed(v, t)));
  FIRST(fma_threads, products);
  FIRST(barriers, blocks * v->threads / 32 * barriers);
#undef FIRST
  return NULL;
}

static void closed_forms(const sgemm_variant_info *v, int ops, size s, const sgemm_counts *c) {
  const char *wrong = first_wrong(v, s, c);
  cr_assert(wrong == NULL, "%s_%s, m %d, n %d, k %d: %s is wrong", v->name, OPS[ops], (int)s.m, (int)s.n, (int)s.k,
            wrong);
}

/* ---- Properties of a variant ------------------------------------------------------------------------------------- */

/* 2 x 3 tiles. k is a multiple of every BK, and too short for a cluster of sgemm_run_variant(). */
static size whole_tiles(const sgemm_variant_info *v) {
  return (size){2 * v->BM, 3 * v->BN, v->BK > 64 ? v->BK : v->cluster_split_k && v->BK == 8 ? 32 : 64};
}

/* How a block moves a tile of MN x BK elements of an operand from global to shared memory. */
typedef struct transfer {
  int MN, k_major;
  int k_vectors; /* 1: the pipeline stores a K-major operand as float4s of 4 k */
  int V;         /* elements of a thread that are neighbours in memory */
  int access;    /* elements of one access of a thread: V, or 1 */
  int width;     /* K-major: elements of a row that neighbouring lanes load */
  int box;       /* elements of one TMA copy; 0: no TMA */
  int small;     /* 1: single elements of an operand of few rows or columns */
  int rows;      /* rows or columns of an access of all threads in variants that copy single elements; else 0 */
} transfer;

/* The transfer of an operand. T: results of a thread along MN. any_op: 1 if the kernel reads its op at run time. */
static transfer transfer_of(const sgemm_variant_info *v, int MN, int T, int k_major, int any_op) {
  const int small = v->stage == SGEMM_STAGE_splitk && !v->copies_elements && (any_op || (MN <= 8 && !k_major));
  const int k_vectors = v->bufs >= 3 && !v->copies_elements && !small && SGEMM__K_VECTORS(T, v->BK, k_major);
  transfer x = {MN, k_major, k_vectors, v->V, v->V, SGEMM__LOAD_WIDTH(v->BK, v->V), 0, small, 0};
  if (v->uses_tma) {
    x.box = SGEMM__BOX * (k_major ? MN : v->BK);
  } else if (small) {
    x.V = x.access = 1;
    x.width = v->threads / MN < 16 ? v->threads / MN : 16;
  } else if (v->copies_elements) {
    x.V = x.access = 1;
    x.width = 8;
    x.rows = SGEMM__ROWS_OF_ACCESS(v->threads);
  } else if (v->bufs >= 3) { /* a copy that transposes moves one element at a time */
    x.V = x.access = k_major && !x.k_vectors ? 1 : 4;
    x.width = x.k_vectors ? v->BK : 8;
  }
  return x;
}

static transfer transfer_of_a(const sgemm_variant_info *v, int ops) {
  return transfer_of(v, v->BM, v->TM, ops / 2 == 0, v->any_op_a);
}
static transfer transfer_of_b(const sgemm_variant_info *v, int ops) {
  return transfer_of(v, v->BN, v->TN, ops % 2, v->any_op_b);
}

/* The place of element `at` of a tile in the order in which threads load: its mn and k. With single elements of an
   MN-major operand a warp loads `rows` consecutive elements of 32 / rows different k, which lie rows / 4 apart. */
static int mn_of(transfer x, int at) {
  if (x.rows && !x.k_major)
    return at / 32 % (x.MN / x.rows) * x.rows + at % x.rows;
  return x.k_major ? at / x.width % x.MN : at % x.MN;
}
static int k_of(transfer x, int at) {
  const int spacing = x.rows / 4;
  if (x.rows && !x.k_major) {
    const int warp = at / 32 / (x.MN / x.rows);
    return warp / spacing * 8 + at % 32 / x.rows * spacing + warp % spacing;
  }
  return x.k_major ? at / (x.width * x.MN) * x.width + at % x.width : at / x.MN;
}

/* Its word in shared memory, without k_vectors. Small tiles of 4 rows or columns have 4 words between every 8 k. */
static int word_of(transfer x, int at) {
  return x.small && x.MN == 4 ? k_of(x, at) * 4 + k_of(x, at) / 8 * 4 + mn_of(x, at)
                              : k_of(x, at) * (x.MN + 4) + mn_of(x, at);
}

/* Bank conflicts of a store of single elements by a warp. */
static int conflicts_of_elements(transfer x) {
  int banks[32] = {0}, most = 0, lane;
  for (lane = 0; lane < 32; lane++) {
    const int bank = word_of(x, lane) % 32;
    banks[bank]++;
    most = banks[bank] > most ? banks[bank] : most;
  }
  return most - 1;
}

/* Sectors of `count` elements. A row of a tile with fewer than 8 elements uses a part of a sector. */
static int64_t sectors_of(transfer x, int64_t count) { return count / (x.k_major || x.MN > 8 ? 8 : x.MN); }

/* Bank conflicts of the stores of `count` elements. Eight lanes store 32 floats. If MN < 32, these are parts of several
   rows with stride MN + 4, and two of the rows share 4 banks. Single elements of a warp use all banks. */
static int64_t conflicts_of(const sgemm_variant_info *v, transfer x, int64_t count) {
  if (x.small)
    return count / 32 * conflicts_of_elements(x);
  return v->bufs >= 3 && !x.k_major && x.MN < 32 && !x.rows ? count / 32 : 0;
}

/* Counters of the GEMV body with V = 4 and whole k-steps. Each of three vectors loads each element of the matrix once,
   and a quarter as many elements of the vector. The vector elements of a load are equal for all lanes, or are 512
   contiguous bytes, or have a stride of 3 and lie in one sector a lane. The sum over warps uses shared memory. */
static void gemv_vectors(sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const int row = v->BM == 1, groups = 8; /* row 1: C is one row, and the matrix is B */
  const size s = {row ? 3 : 64, row ? 64 : 3, 4 * v->BK};
  const int64_t products = s.m * s.n * s.k, tiles = s.m * s.n / 32, warps = v->threads / 32;
  int ops;
  for (ops = NN; ops <= TT; ops++) {
    const sgemm_counts c = counts_of(variant, ops, s, 0.0f);
    const int k_major = row ? ops % 2 : ops / 2 == 0;    /* of the matrix */
    const int contiguous = row ? ops / 2 == 0 : ops % 2; /* of the vector */
    const int64_t of_matrix = products / 128, of_vector = k_major && contiguous ? of_matrix / 4 : of_matrix;
    const int64_t partials = v->slice_k * (k_major ? 1 : groups) / 32;
    COUNT(v, ops, &c, fma_threads, products);
    COUNT(v, ops, &c, fma_instructions, products / 32);
    COUNT(v, ops, &c, global_load_bytes, 5 * products);
    COUNT(v, ops, &c, global_load_requests, of_matrix + of_vector);
    COUNT(v, ops, &c, global_load_sectors,
          16 * of_matrix + of_vector * (k_major ? (contiguous ? 16 : 32) : (contiguous ? 1 : 2)));
    COUNT(v, ops, &c, global_store_bytes, 4 * s.m * s.n);
    COUNT(v, ops, &c, global_store_requests, tiles);
    COUNT(v, ops, &c, global_store_sectors, tiles * (row ? 4 : 16)); /* ldc 4 */
    COUNT(v, ops, &c, shared_store_bytes, tiles * partials * 32 * 4);
    COUNT(v, ops, &c, shared_store_requests, tiles * warps);
    COUNT(v, ops, &c, shared_store_wavefronts, tiles * warps);
    COUNT(v, ops, &c, shared_load_bytes, tiles * partials * 32 * 4);
    COUNT(v, ops, &c, shared_load_requests, tiles * partials);
    COUNT(v, ops, &c, shared_load_wavefronts, tiles * partials);
    COUNT(v, ops, &c, barriers, tiles * warps);
  }
}

/* Counters of the GEMV body with V = 1 and whole k-steps. A thread loads an element of the matrix and one of the vector
   for each FMA. The vector's elements are consecutive, or have a stride of 3. */
static void gemv_elements(sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const int row = v->BM == 1, extent = v->BM * v->BN, slice_k = v->slice_k;
  const size s = {row ? 3 : 2 * extent, row ? 2 * extent : 3, 2 * v->BK};
  const int64_t products = s.m * s.n * s.k, tiles = s.m * s.n / extent, warps = v->threads / 32;
  int ops;
  for (ops = NN; ops <= TT; ops++) {
    const sgemm_counts c = counts_of(variant, ops, s, 0.0f);
    const int k_major = row ? ops % 2 : ops / 2 == 0;                                      /* of the matrix */
    const int contiguous = row ? ops / 2 == 0 : ops % 2;                                   /* of the vector */
    const int k = k_major ? (slice_k < 32 ? slice_k : 32) : extent < 32 ? 32 / extent : 1; /* that a warp loads */
    const int64_t partials = k_major ? (slice_k + 31) / 32 : extent < 32 ? warps : slice_k;
    const int64_t of_matrix = k_major ? (slice_k < 8 ? 32 : 4) : extent < 32 ? 8 : 4; /* sectors of a request */
    const int64_t of_vector = ((contiguous ? 1 : 3) * k + 7) / 8;
    COUNT(v, ops, &c, fma_threads, products);
    COUNT(v, ops, &c, fma_instructions, products / 32);
    COUNT(v, ops, &c, global_load_bytes, 8 * products);
    COUNT(v, ops, &c, global_load_requests, products / 16);
    COUNT(v, ops, &c, global_load_sectors, products / 32 * (of_matrix + of_vector));
    COUNT(v, ops, &c, global_store_bytes, 4 * s.m * s.n);
    COUNT(v, ops, &c, global_store_requests, tiles * ((extent + 31) / 32));
    COUNT(v, ops, &c, global_store_sectors, tiles * (row ? (extent + 7) / 8 : extent / 2)); /* ldc 4 */
    COUNT(v, ops, &c, shared_store_bytes, tiles * partials * extent * 4);
    COUNT(v, ops, &c, shared_store_requests, tiles * warps);
    COUNT(v, ops, &c, shared_store_wavefronts, tiles * warps);
    COUNT(v, ops, &c, shared_load_bytes, tiles * partials * extent * 4);
    COUNT(v, ops, &c, shared_load_requests, tiles * partials * ((extent + 31) / 32));
    COUNT(v, ops, &c, shared_load_wavefronts, tiles * partials * ((extent + 31) / 32));
    COUNT(v, ops, &c, barriers, tiles * warps);
  }
}

static void gemv_body(sgemm_variant variant) {
  if (sgemm_variant_get(variant)->V == 4)
    gemv_vectors(variant);
  else
    gemv_elements(variant);
}

/* Counters of stage direct where lanes divide k: TM elements of A and TN of B for TM * TN FMAs. A request has 32
   consecutive k of one row or column: 4 sectors, or 32 of an MN-major operand, whose leading dimension is 8 or more. A
   warp stores its 32 results at once, after a sum over its lanes and, through shared memory, over the warps. */
static void direct_lanes(sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const size s = {2 * v->BM, 3 * v->BN, 2 * v->BK}, edge = {v->BM + 1, 2 * v->BN - 3, v->BK + 3};
  const int64_t tiles = 6, warps = v->slice_k / 32, sums = warps > 1 ? warps : 0; /* shared requests of a tile */
  int ops;
  for (ops = NN; ops <= TT; ops++) {
    const sgemm_counts c = counts_of(variant, ops, s, 0.0f), e = counts_of(variant, ops, edge, 0.0f);
    const int64_t a_sectors = ops / 2 == 0 ? 4 : 32, b_sectors = ops % 2 ? 4 : 32;
    COUNT(v, ops, &c, fma_threads, s.m * s.n * s.k);
    COUNT(v, ops, &c, global_load_bytes, 4 * tiles * (v->TM + v->TN) * s.k);
    COUNT(v, ops, &c, global_load_requests, tiles * (v->TM + v->TN) * s.k / 32);
    COUNT(v, ops, &c, global_load_sectors, tiles * (v->TM * a_sectors + v->TN * b_sectors) * s.k / 32);
    COUNT(v, ops, &c, global_store_bytes, 4 * s.m * s.n);
    COUNT(v, ops, &c, global_store_requests, tiles);
    COUNT(v, ops, &c, shared_store_requests, tiles * sums);
    COUNT(v, ops, &c, shared_load_requests, tiles * (sums > 0 ? sums - 1 : 0));
    COUNT(v, ops, &c, shared_load_conflicts, 0);
    COUNT(v, ops, &c, barriers, tiles * sums);
    COUNT(v, ops, &e, fma_threads, 4 * v->TM * v->TN * 2 * v->BK);
    COUNT(v, ops, &e, global_load_bytes, 4 * edge.k * (2 * edge.m + 2 * edge.n)); /* of rows and columns that exist */
    COUNT(v, ops, &e, global_store_bytes, 4 * edge.m * edge.n);
  }
}

/* Counters of stage direct where lanes do not divide k: TM elements of A, which are equal for all lanes, and a vector
   of V elements of B for TM * V FMAs: of V columns, or, K-major, of V consecutive k of each of V columns. At edges all
   lanes load single elements, and the FMAs of k that do not exist multiply zeros. */
static void direct_rows(sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const size whole = {2 * v->BM, 3 * v->BN, 2 * v->BK}, edge = {v->BM + 1, 2 * v->BN - 3, v->BK + 3};
  const int64_t lanes = whole.m * whole.n / (v->TM * v->V), edge_lanes = 4 * v->threads;
  int ops;
  for (ops = NN; ops <= TT; ops++) {
    const sgemm_counts c = counts_of(variant, ops, whole, 0.0f), e = counts_of(variant, ops, edge, 0.0f);
    COUNT(v, ops, &c, fma_threads, whole.m * whole.n * whole.k);
    COUNT(v, ops, &c, global_load_bytes, 4 * lanes * (v->TM + v->V) * whole.k);
    COUNT(v, ops, &c, global_load_requests, lanes / 32 * (v->TM + 1) * whole.k);
    COUNT(v, ops, &c, global_load_sectors, lanes / 32 * (v->TM + (ops % 2 ? 32 : 4 * v->V)) * whole.k);
    COUNT(v, ops, &c, global_store_bytes, 4 * whole.m * whole.n);
    COUNT(v, ops, &c, global_store_requests, whole.m * whole.n / (32 * v->V));
    COUNT(v, ops, &c, global_store_sectors, whole.m * whole.n / 8);
    COUNT(v, ops, &c, shared_load_bytes, 0);
    COUNT(v, ops, &c, shared_store_bytes, 0);
    COUNT(v, ops, &c, barriers, 0);
    COUNT(v, ops, &e, fma_threads, edge_lanes * v->TM * v->V * 2 * v->BK);
    COUNT(v, ops, &e, global_load_bytes, 4 * edge_lanes * (v->TM + v->V) * edge.k);
    COUNT(v, ops, &e, global_store_bytes, 4 * edge.m * edge.n);
  }
}

static void direct_body(sgemm_variant variant) {
  if (sgemm_variant_get(variant)->slice_k > 1)
    direct_lanes(variant);
  else
    direct_rows(variant);
}

/* Sizes that are multiples of the tile: every request is of a whole warp, every sector is whole, no bank conflicts. */
static void tile_multiples(sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const size s = whole_tiles(v);
  const int64_t results = s.m * s.n, warp = 32 * v->V; /* elements of a request */
  const int64_t of_a = one_result(v) ? 0 : s.m * s.k * (s.n / v->BN), of_b = elements(v, s) - of_a;
  int ops;
  for (ops = NN; ops <= TT; ops++) {
    const sgemm_counts c = counts_of(variant, ops, s, 0.0f);
    const transfer a = transfer_of_a(v, ops), b = transfer_of_b(v, ops);
    const int lanes_along_m = v->stage == SGEMM_STAGE_naive;
    closed_forms(v, ops, s, &c);
    COUNT(v, ops, &c, fma_instructions, results * s.k / 32);
    COUNT(v, ops, &c, global_load_requests,
          of_a / (a.box ? a.box : 32 * a.access) + of_b / (b.box ? b.box : 32 * b.access));
    COUNT(v, ops, &c, global_store_requests, results / (lanes_of(v) * v->V));
    COUNT(v, ops, &c, shared_load_requests,
          (c.shared_load_bytes / 4 - summed(v, s)) / warp + summed(v, s) / (lanes_of(v) * v->V));
    if (lanes_of(v) == 32)
      COUNT(v, ops, &c, shared_load_conflicts, 0);
    COUNT(v, ops, &c, shared_store_conflicts, conflicts_of(v, a, of_a) + conflicts_of(v, b, of_b));
    /* If neighbouring lanes store different rows, each writes half a sector; in stage naive, an eighth. */
    COUNT(v, ops, &c, global_store_sectors, results / (lanes_along_m ? 1 : v->WN == v->TN ? 4 : 8));
    /* Without tiles a warp loads, for each k, 1 sector of the operand whose element is equal for all lanes. It loads 4
       sectors of the other operand if the lanes read neighbouring elements, 32 if each reads another row: 33 sectors
       for naive_nn, 5 for coalesced_nn. */
    if (one_result(v))
      COUNT(v, ops, &c, global_load_sectors,
            results / 32 * s.k * (1 + ((lanes_along_m ? ops / 2 : 1 - ops % 2) ? 4 : 32)));
    else
      COUNT(v, ops, &c, global_load_sectors, sectors_of(a, of_a) + sectors_of(b, of_b));
  }
}

/* Wavefronts of shared memory for each request of a warp.
     4-byte access                          1
     16-byte load, lanes in 2 x 2 squares   2
     16-byte load, lanes in a row           2 for A, 4 for B
     16-byte load, lanes in a column        4 for A, 2 for B
     16-byte load, k interleaved on lanes   4
     16-byte store                          4
     16-byte load, sum of sliced-K groups   4 */
static void wavefronts(sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const size s = whole_tiles(v);
  const int64_t stored = one_result(v) ? 0 : elements(v, s);
  const int64_t of_a = one_result(v) ? 0 : s.m * s.k * (s.n / v->BN);
  const int column = v->WN == v->TN, row = v->WM == v->TM || v->WM / v->TM * (v->WN / v->TN) > 32;
  int ops;
  for (ops = NN; ops <= TT; ops++) {
    const sgemm_counts c = counts_of(variant, ops, s, 0.0f);
    const transfer a = transfer_of_a(v, ops), b = transfer_of_b(v, ops);
    /* Without k_vectors, a K-major operand (A of op N, B of op T) is transposed: a store has one element. So it has in
       variants that copy single elements, and for small operands. */
    const int64_t transposed = (v->copies_elements || a.small || (a.k_major && !a.k_vectors) ? of_a : 0) +
                               (v->copies_elements || b.small || (b.k_major && !b.k_vectors) ? stored - of_a : 0);
    const int64_t conflicts = conflicts_of(v, a, of_a) + conflicts_of(v, b, stored - of_a);
    const int64_t from_a = s.m * s.n * s.k / v->TN / 128, from_b = s.m * s.n * s.k / v->TM / 128;
    if (v->V == 1)
      COUNT(v, ops, &c, shared_load_wavefronts, c.shared_load_requests);
    if (v->V == 1 && v->bufs < 3) {
      COUNT(v, ops, &c, shared_store_wavefronts, stored / 32);
      COUNT(v, ops, &c, shared_store_requests, stored / 32);
    } else { /* a pipeline copies 16 bytes at a time with V = 1 too */
      if (v->V == 4 && lanes_of(v) == 32)
        COUNT(v, ops, &c, shared_load_wavefronts,
              (column || v->uses_tma ? 4 : 2) * from_a + (row || v->uses_tma ? 4 : 2) * from_b + summed(v, s) / 32);
      COUNT(v, ops, &c, shared_store_wavefronts, stored / 32 + conflicts + summed(v, s) / 32);
      COUNT(v, ops, &c, shared_store_requests,
            (v->uses_tma ? c.global_load_requests : transposed / 32 + (stored - transposed) / 128) +
                summed(v, s) / 128);
    }
  }
}

/* Adds a warp's request and its sectors. index: of each active lane's element, from a pointer aligned to 32 bytes. */
static void request(const int64_t *index, int lanes, int64_t *requests, int64_t *sectors) {
  int i, j;
  *requests += lanes > 0;
  for (i = 0; i < lanes; i++) {
    for (j = 0; j < i && index[j] / 8 != index[i] / 8; j++)
      ;
    *sectors += j == i;
  }
}

/* Requests and sectors of the loads of A and B of a launch, and bank conflicts of the stores to shared memory. */
typedef struct loads {
  int64_t requests, sectors, conflicts;
} loads;

/* Adds the loads of a tile X[mn][k]. extent x depth elements of the tile exist. sgemm/device/load.cuh describes how the
   threads share the loads. first: index of the tile's first element. */
static void load_tile(const sgemm_variant_info *v, transfer x, int64_t first, int64_t ld, int64_t extent, int64_t depth,
                      loads *sum) {
  const int MN = x.MN;
  const int aligned = x.V == 1 || ld % 4 == 0;
  /* 1: vector accesses. A pipeline uses them at edges too, if no vector crosses the edge. */
  const int all = aligned && ((extent >= MN && depth >= v->BK) ||
                              (v->bufs >= 3 && x.V == 4 && (x.k_major ? depth : extent) % 4 == 0));
  /* Lanes that copy neighbours in turn: sgemm__copy_tile() says which. */
  const int exchange = v->bufs >= 3 && !all && x.V == 4 && !x.k_major && v->BK > 8;
  const int sharing = !exchange ? 1 : MN < 128 ? MN / 4 : 32;
  int start, f, lane;
  if (x.box) { /* a request for each box, with the elements of its rows that exist */
    const int64_t mn = extent < MN ? extent : MN, k = depth < v->BK ? depth : v->BK;
    const int64_t columns = x.k_major ? k : mn, rows = x.k_major ? mn : k;
    int64_t box, row;
    for (box = 0; box < (x.k_major ? v->BK : MN); box += SGEMM__BOX) {
      sum->requests++;
      for (row = first + box; row < first + box + rows * ld && box < columns; row += ld)
        sum->sectors += (row + (columns - box < SGEMM__BOX ? columns - box : SGEMM__BOX) - 1) / 8 - row / 8 + 1;
    }
    return;
  }
  for (start = 0; start < MN * v->BK; start += 32 * x.V) /* elements of a warp are consecutive in this order */
    for (f = 0; f < (all ? 1 : x.V); f++) {
      int64_t index[32];
      int lanes = 0, banks[32] = {0}, most = 0;
      for (lane = 0; lane < 32; lane++) {
        const int at = start + lane / sharing * sharing * x.V + lane % sharing * (sharing > 1 ? 1 : x.V) + f * sharing;
        const int mn = mn_of(x, at), k = k_of(x, at), bank = word_of(x, at) % 32;
        banks[bank]++;
        most = banks[bank] > most ? banks[bank] : most;
        if (mn < extent && k < depth)
          index[lanes++] = first + (x.k_major ? mn * ld + k : k * ld + mn);
      }
      request(index, lanes, &sum->requests, &sum->sectors);
      /* A pipeline that copies single elements. The words of a K-major operand have stride 4 in a layout of float4s and
         lie in 8 of the 32 banks. */
      if (x.small || (v->bufs >= 3 && !all && x.V == 4))
        sum->conflicts += x.k_major && !x.small ? 3 : most - 1;
    }
  if (all && !x.small)
    sum->conflicts += conflicts_of(v, x, MN * v->BK);
}

/* Stage tma packs operands that tensor maps cannot describe: K-major, in rows of a multiple of SGEMM__PACK_K elements.
   The kernel that multiplies has the op pair of the packed operands. */
static int packed_a(const sgemm_variant_info *v, int ops, size s) {
  return v->uses_tma && (ops / 2 ? s.m : s.k) % 4 != 0;
}
static int packed_b(const sgemm_variant_info *v, int ops, size s) {
  return v->uses_tma && (ops % 2 ? s.k : s.n) % 4 != 0;
}
static int ops_of_kernel(const sgemm_variant_info *v, int ops, size s) {
  return (packed_a(v, ops, s) ? 0 : ops / 2 * 2) + (packed_b(v, ops, s) ? 1 : ops % 2);
}

static loads loads_of(const sgemm_variant_info *v, int ops, size s) {
  const int kernel_ops = ops_of_kernel(v, ops, s);
  const transfer a = transfer_of_a(v, kernel_ops), b = transfer_of_b(v, kernel_ops);
  const int64_t packed = sgemm__ceil_div(s.k, SGEMM__PACK_K) * SGEMM__PACK_K;
  const int64_t lda = packed_a(v, ops, s) ? packed : a.k_major ? s.k : s.m;
  const int64_t ldb = packed_b(v, ops, s) ? packed : b.k_major ? s.k : s.n;
  loads sum = {0, 0, 0};
  int64_t i, j, k;
  for (i = 0; i < s.m; i += v->BM)
    for (j = 0; j < s.n; j += v->BN)
      for (k = 0; k < s.k; k += v->BK) {
        const int64_t from = k + v->BK > s.k ? k - skipped_k(v, s) : k;
        load_tile(v, a, a.k_major ? i * lda + from : from * lda + i, lda, s.m - i, s.k - from, &sum);
        load_tile(v, b, b.k_major ? j * ldb + from : from * ldb + j, ldb, s.n - j, s.k - from, &sum);
      }
  return sum;
}

/* Requests and sectors of the stores to C, one request for each output vector of V results. sgemm/device/tile.cuh says
   which results of a tile a thread owns. Where lanes exchange elements, sgemm__exchange_vectors() says which a thread
   stores. Each sliced-K group stores a part of the vectors of a thread tile. In stage tma, where k is interleaved
   across lanes, each lane of a quad stores a quarter of the quad's results. */
static void stores(const sgemm_variant_info *v, int ops, size s, int64_t *requests, int64_t *sectors) {
  const int lanes_m = v->WM / v->TM, lanes_n = v->WN / v->TN, group = lanes_m * lanes_n,
            kernel_ops = ops_of_kernel(v, ops, s);
  const int groups = v->uses_tma ? v->slice_k : 1, vectors = v->TM * v->TN / v->V / groups, row_vectors = v->TN / v->V;
  int64_t row0, col0;
  int w, vector, lane, f;
  *requests = *sectors = 0;
  for (row0 = 0; row0 < s.m; row0 += v->BM)
    for (col0 = 0; col0 < s.n; col0 += v->BN)
      for (w = 0; w < SGEMM__THREADS(v->BM, v->BN, v->TM, v->TN, groups) / lanes_of(v); w++)
        for (vector = 0; vector < vectors; vector++) {
          int64_t whole[32], parts[4][32];
          int wholes = 0, count[4] = {0};
          for (lane = 0; lane < lanes_of(v); lane++) {
            const int t = w * 32 + lane, l = t % group, quad = l / 4, i = vector / row_vectors,
                      j = vector % row_vectors;
            int m = l / lanes_n, n = l % lanes_n;
            int64_t row, col;
            if (group == 32 && lanes_m > 1 && lanes_n > 1) { /* lanes in 2 x 2 squares */
              m = quad / (lanes_n / 2) * 2 + l / 2 % 2;
              n = quad % (lanes_n / 2) * 2 + l % 2;
            }
            if (v->stage == SGEMM_STAGE_naive) {
              m = t % v->BM;
              n = t / v->BM;
            }
            row = row0 + t / group / (v->BN / v->WN) * v->WM + (i / v->V * lanes_m + m) * v->V + i % v->V;
            col = col0 + t / group % (v->BN / v->WN) * v->WN + (j * lanes_n + n) * v->V;
            if (v->uses_tma) {
              const int warps = v->BM / 32 * (v->BN / 32), warp = w % warps; /* warps from `warps` on have another k */
              const int r = lane % 2 * 8 + w / warps * vectors + vector,
                        c = lane / 2 % 2; /* of 16 rows and of 2 vectors */
              m = lane / 16;
              n = lane / 4 % 4;
              row = row0 + warp / (v->BN / 32) * 32 + (kernel_ops / 2 ? m * 16 + r : r / 4 * 8 + m * 4 + r % 4);
              col = col0 + warp % (v->BN / 32) * 32 +
                    (kernel_ops % 2 ? c * 16 + n * 4 : n % 2 * 16 + n / 2 * 8 + c * 4);
            }
            if (exchanges_results(v) && col0 + v->BN > s.n && s.n % 4 != 0) {
              const int64_t first = col - n * 4 + n % (lanes_n / 4) * 4 + n / (lanes_n / 4);
              for (f = 0; f < 4; f++)
                if (row < s.m && first + f * lanes_n < s.n)
                  parts[f][count[f]++] = row * ldc_of(s) + first + f * lanes_n;
            } else if (row < s.m && v->V == 4 && col + 4 <= s.n)
              whole[wholes++] = row * ldc_of(s) + col;
            else
              for (f = 0; f < v->V; f++)
                if (row < s.m && col + f < s.n)
                  parts[f][count[f]++] = row * ldc_of(s) + col + f;
          }
          request(whole, wholes, requests, sectors);
          for (f = 0; f < v->V; f++)
            request(parts[f], count[f], requests, sectors);
        }
}

/* Sizes that are no multiples of the tile. Whole warps load and multiply fragments there too. */
static void edges(sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  int ops, i;
  for (ops = NN; ops <= TT; ops++)
    for (i = reduced() ? ops : 0; i < (reduced() ? ops + 1 : 4) && !leaves_out(variant, ops); i++) {
      const size s = {v->BM + 1 + 2 * i, 2 * v->BN - 3 + 3 * i, 2 * v->BK + 5 + i};
      const size read = loads_c_ahead(v) ? covered(v, s) : s;
      const sgemm_counts c = counts_of(variant, ops, s, 0.0f), b = counts_of(variant, ops, s, 1.0f);
      loads f = {0, 0, 0};
      int64_t requests, sectors;
      closed_forms(v, ops, s, &c);
      stores(v, ops, s, &requests, &sectors);
      COUNT(v, ops, &c, global_store_requests, requests);
      COUNT(v, ops, &c, global_store_sectors, sectors);
      if (!one_result(v)) {
        f = loads_of(v, ops, s);
        COUNT(v, ops, &c, global_load_requests, f.requests);
        COUNT(v, ops, &c, global_load_sectors, f.sectors);
        COUNT(v, ops, &c, fma_instructions, c.fma_threads / 32);
        COUNT(v, ops, &c, shared_load_requests,
              (c.shared_load_bytes / 4 - summed(v, covered(v, s))) / (32 * v->V) +
                  summed(v, covered(v, s)) / (lanes_of(v) * v->V));
      }
      if (lanes_of(v) == 32)
        COUNT(v, ops, &c, shared_load_conflicts, 0);
      COUNT(v, ops, &c, shared_store_conflicts, f.conflicts);
      /* If beta is not 0, each element of C is loaded once, by the requests of the stores, for one FMA. With
         loads_c_ahead() the tile has an FMA for each result, also outside of C. */
      COUNT(v, ops, &b, fma_threads, c.fma_threads + read.m * read.n);
      COUNT(v, ops, &b, global_load_bytes, c.global_load_bytes + c.global_store_bytes);
      COUNT(v, ops, &b, global_load_requests, c.global_load_requests + c.global_store_requests);
      COUNT(v, ops, &b, global_load_sectors, c.global_load_sectors + c.global_store_sectors);
      COUNT(v, ops, &b, global_store_requests, c.global_store_requests);
    }
}

/* Counters that cluster_k, split_k and stream_k add. k has 8 or 9 k-steps, so each block of a cluster has one. The sum
   over a cluster stores each block's results to shared memory once more, and needs two more barriers. In gemv each
   block stores its sums, and one block loads those of the others. The second kernel of split-K loads each partition
   once and stores C, with an FMA for each result if beta is not 0. The quick tier has the variants of production. */
static void splits(sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const size s = {2 * v->BM, 3 * v->BN, 8 * v->BK};
  const int64_t results = s.m * s.n;
  const int gemv = v->stage == SGEMM_STAGE_gemv;
  int ops, cluster_k, split_k;
  for (ops = NN; ops <= TT && can_split(v) && (v->production || !reduced()); ops++) {
    if (reduced() && ops != (int)variant % 4)
      continue;
    const sgemm_counts one = counts_of_plan(variant, 1, 1, ops, s, 0.0f);
    const int groups = (int)(summed(v, (size){1, 1, 1})); /* sliced-K groups that sum in shared memory */
    const int one_group = v->slice_k == 1 && !gemv;       /* its results go through shared memory in a cluster alone */
    /* gemv with V = 4 and 8 blocks would have half a step of 2 BK for each. */
    for (cluster_k = 2; cluster_k <= (gemv && v->V == 4 ? 4 : 8) && v->cluster_split_k; cluster_k *= 2) {
      if (reduced() && cluster_k != 2 << ops % 3)
        continue;
      const sgemm_counts c = counts_of_plan(variant, cluster_k, 1, ops, s, 0.0f);
      const int64_t warps = results / (v->TM * v->TN) * v->slice_k / 32 * cluster_k,
                    sums = results * (one_group ? cluster_k : (cluster_k - 1) * groups);
      COUNT(v, ops, &c, fma_threads, one.fma_threads);
      COUNT(v, ops, &c, global_load_bytes, one.global_load_bytes);
      COUNT(v, ops, &c, global_load_requests, one.global_load_requests);
      COUNT(v, ops, &c, global_load_sectors, one.global_load_sectors);
      COUNT(v, ops, &c, global_store_bytes, one.global_store_bytes);
      COUNT(v, ops, &c, global_store_requests, one.global_store_requests);
      COUNT(v, ops, &c, shared_load_bytes,
            gemv ? cluster_k * one.shared_load_bytes + 4 * results * (cluster_k - 1)
                 : one.shared_load_bytes + 4 * (sums + results * cluster_k));
      COUNT(v, ops, &c, shared_store_bytes,
            gemv ? cluster_k * one.shared_store_bytes + 4 * results * cluster_k
                 : one.shared_store_bytes + 4 * (sums + results * cluster_k));
      COUNT(v, ops, &c, shared_load_conflicts, one.shared_load_conflicts);
      COUNT(v, ops, &c, shared_store_conflicts, one.shared_store_conflicts);
      COUNT(v, ops, &c, barriers,
            v->uses_tma ? cluster_k * one.barriers + 2 * warps : warps * (gemv ? 3 : 1 + 8 / cluster_k + 2 + 2));
    }
    /* Six tiles: 4 units share two of them, with an odd number of k-steps; 7 units share all six. */
    if (v->uses_tma && !v->cluster_split_k) {
      const size odd = {s.m, s.n, 9 * v->BK};
      const sgemm_counts two = counts_of_plan(variant, 1, 4, ops, odd, 0.5f),
                         six = counts_of_plan(variant, 1, 7, ops, s, 0.5f);
      const int64_t tile = v->BM * v->BN;
      COUNT(v, ops, &two, fma_threads, 2 * tile);
      COUNT(v, ops, &two, global_load_bytes, 4 * tile * (4 + 2));
      COUNT(v, ops, &two, global_store_bytes, 4 * tile * 2);
      COUNT(v, ops, &six, fma_threads, 6 * tile);
      COUNT(v, ops, &six, global_load_bytes,
            4 * tile * (7 + 6 - 1 + 6)); /* partial tiles: 7 units and 6 tiles end, the last ones together */
      COUNT(v, ops, &six, global_store_bytes, 4 * tile * 6);
    }
    for (split_k = 2; split_k <= 7 && !v->uses_tma; split_k += 5) {
      if (reduced() && split_k != (ops % 2 ? 7 : 2))
        continue;
      const sgemm_counts c = counts_of_plan(variant, 1, split_k, ops, s, 0.5f);
      COUNT(v, ops, &c, fma_threads, results);
      COUNT(v, ops, &c, global_load_bytes, 4 * results * (split_k + 1));
      COUNT(v, ops, &c, global_store_bytes, 4 * results);
      COUNT(v, ops, &c, shared_load_bytes, 0);
      COUNT(v, ops, &c, shared_store_bytes, 0);
      COUNT(v, ops, &c, barriers, 0);
    }
  }
  if (!can_split(v) || (reduced() && !v->production))
    compared++; /* there is nothing to compare */
}

/* Counters do not depend on the order of the threads or on the number of cores that share the blocks. */
static void schedules(sgemm_variant variant) {
  static const sgemm_model models[] = {{SGEMM_MODEL_FORWARD, 0, 1, 1},
                                       {SGEMM_MODEL_BACKWARD, 0, 1, 1},
                                       {SGEMM_MODEL_SHUFFLED, 7, 1, 1},
                                       {SGEMM_MODEL_SHUFFLED, 8, 3, 1}};
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const size s = {v->BM + 5, v->BN + 6, v->BK + 7};
  int i, ops;
  for (ops = NN; ops <= TT; ops++) {
    sgemm_counts first;
    if (leaves_out(variant, ops))
      continue;
    sgemm_model_set(&models[0]);
    first = counts_of(variant, ops, s, 0.5f);
    for (i = 1; i < 4; i++) {
      sgemm_counts c;
      if (reduced() && i != 1 + ops % 3)
        continue;
      sgemm_model_set(&models[i]);
      c = counts_of(variant, ops, s, 0.5f);
#define SAME(counter, metric) COUNT(v, ops, &c, counter, first.counter);
      SGEMM_COUNTS(SAME)
#undef SAME
    }
  }
}

#define PROPERTY(property, variant)                                                                                    \
  Test(property, variant, .fini = compared_something) { property(SGEMM_##variant); }
#define TILED(variant)                                                                                                 \
  PROPERTY(tile_multiples, variant)                                                                                    \
  PROPERTY(wavefronts, variant)                                                                                        \
  PROPERTY(edges, variant)
#define TILES_naive TILED
#define TILES_coalesced TILED
#define TILES_tiled TILED
#define TILES_tile1d TILED
#define TILES_tile2d TILED
#define TILES_vectorized TILED
#define TILES_warptiled TILED
#define TILES_doublebuffered TILED
#define TILES_async TILED
#define TILES_splitk TILED
#define TILES_direct(variant) PROPERTY(direct_body, variant)
#define TILES_gemv(variant) PROPERTY(gemv_body, variant)
#define TILES_tma TILED
#define TILES_clustered TILED
#define VARIANT(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, blocks, production, reason)                       \
  PROPERTY(splits, stage##_##BM##x##BN##x##BK##_##TM##x##TN)                                                           \
  PROPERTY(schedules, stage##_##BM##x##BN##x##BK##_##TM##x##TN)                                                        \
  TILES_##stage(stage##_##BM##x##BN##x##BK##_##TM##x##TN)

SGEMM_VARIANTS(VARIANT)

/* ---- The table of stages ----------------------------------------------------------------------------------------- */

/* The first variant of a stage with these tiles. BK 0: any BK. */
static sgemm_variant variant_of(sgemm_stage stage, int BM, int BN, int BK, int TM, int TN) {
  int i;
  for (i = 0; i < SGEMM_VARIANT_COUNT; i++) {
    const sgemm_variant_info *v = sgemm_variant_get((sgemm_variant)i);
    if (v->stage == stage && v->BM == BM && v->BN == BN && (BK == 0 || v->BK == BK) && v->TM == TM && v->TN == TN)
      return (sgemm_variant)i;
  }
  cr_assert(0, "no variant of stage %d with tiles of %d x %d, %d x %d", (int)stage, BM, BN, TM, TN);
  return SGEMM_VARIANT_NONE;
}

/* Element loads for each result, as multiples of k. These numbers are written out, so that an error in the closed forms
   of this file is found. */
Test(spec, loads_per_result, .fini = compared_something) {
  static const struct {
    sgemm_stage stage;
    int BM, BN, TM, TN, global, global_of, shared, shared_of;
    int sectors; /* of a warp for each k, op NN; 0: not compared */
  } variants[] = {{SGEMM_STAGE_naive, 32, 32, 1, 1, 2, 1, 0, 1, 33},
                  {SGEMM_STAGE_coalesced, 32, 32, 1, 1, 2, 1, 0, 1, 5},
                  {SGEMM_STAGE_tiled, 16, 16, 1, 1, 2, 16, 2, 1, 0},
                  {SGEMM_STAGE_tiled, 32, 32, 1, 1, 2, 32, 2, 1, 0},
                  {SGEMM_STAGE_tile1d, 64, 64, 8, 1, 1, 32, 9, 8, 0},
                  {SGEMM_STAGE_tile2d, 128, 128, 8, 8, 1, 64, 1, 4, 0},
                  {SGEMM_STAGE_vectorized, 128, 128, 8, 8, 1, 64, 1, 4, 0},
                  {SGEMM_STAGE_warptiled, 128, 128, 8, 16, 1, 64, 3, 16, 0},
                  {SGEMM_STAGE_doublebuffered, 128, 128, 8, 8, 1, 64, 1, 4, 0}};
  const size s = {128, 256, 64};
  const int64_t terms = s.m * s.n * s.k;
  int i, ops;
  for (i = 0; i < (int)(sizeof variants / sizeof *variants); i++)
    for (ops = NN; ops <= (reduced() ? NN : TT); ops++) {
      const sgemm_variant variant = variant_of(variants[i].stage, variants[i].BM, variants[i].BN, 0, variants[i].TM,
                                               variants[i].TN);
      const sgemm_variant_info *v = sgemm_variant_get(variant);
      const sgemm_counts c = counts_of(variant, ops, s, 0.0f);
      COUNT(v, ops, &c, global_load_bytes, 4 * terms * variants[i].global / variants[i].global_of);
      COUNT(v, ops, &c, shared_load_bytes, 4 * terms * variants[i].shared / variants[i].shared_of);
      COUNT(v, ops, &c, global_store_bytes, 4 * s.m * s.n);
      COUNT(v, ops, &c, fma_threads, terms);
      if (ops == NN && variants[i].sectors > 0)
        COUNT(v, ops, &c, global_load_sectors, terms / 32 * variants[i].sectors);
    }
}

/* Counts that sgemm/variants.h gives as the reason for some variants. */
Test(spec, reasons, .fini = compared_something) {
  const size s = {128, 256, 64};
  const sgemm_counts tile1d = counts_of(variant_of(SGEMM_STAGE_tile1d, 64, 64, 8, 8, 1), NN, s, 0.0f);
  const sgemm_counts long_steps = counts_of(variant_of(SGEMM_STAGE_tile1d, 64, 64, 32, 8, 1), NN, s, 0.0f);
  const sgemm_counts tile2d = counts_of(variant_of(SGEMM_STAGE_tile2d, 128, 128, 0, 8, 8), NN, s, 0.0f);
  const sgemm_counts vectorized = counts_of(variant_of(SGEMM_STAGE_vectorized, 128, 128, 0, 8, 8), NN, s, 0.0f);
  const sgemm_counts warptiled = counts_of(variant_of(SGEMM_STAGE_warptiled, 128, 128, 0, 8, 8), NN, s, 0.0f);
  equal(long_steps.barriers * 4, tile1d.barriers, "a quarter of the barriers");
  equal(vectorized.global_load_requests * 4, tile2d.global_load_requests, "a quarter of the load instructions, global");
  equal(vectorized.shared_load_requests * 4, tile2d.shared_load_requests, "a quarter of the load instructions, shared");
  equal(vectorized.shared_load_wavefronts * 2, warptiled.shared_load_wavefronts * 3, "squares: 2 wavefronts, not 3");
}

/* ---- Small kernels ----------------------------------------------------------------------------------------------- */

static sgemm_counts launch(sgemm__kernel kernel, int blocks, int threads, const sgemm__args *args) {
  const sgemm__grid grid = {(unsigned)blocks, 1, 1, (unsigned)threads, 1, 0};
  cr_assert(sgemm__cpu_launch(kernel, grid, args) == SGEMM_SUCCESS, "%s", sgemm_model_error());
  return *sgemm_model_counts();
}

/* Each thread computes TM x TN results from global memory. It loads A `redundant` times too often for each k. */
static inline void results(const sgemm__args *p, int TM, int TN, int redundant) {
  const int64_t t = (int64_t)sgemm__block_x() * 32 + sgemm__thread();
  float acc[4] = {0}, a[4], b[4];
  int64_t k;
  int i, j;
  sgemm__pdl_wait();
  for (k = 0; k < p->k; k++) {
    for (i = 0; i < TM; i++)
      a[i] = sgemm__load_global(p->A + i * p->k + k);
    for (j = 0; j < TN; j++)
      b[j] = sgemm__load_global(p->B + k * p->n + t * TN + j);
    for (i = 0; i < redundant; i++)
      a[0] = sgemm__load_global(p->A + k);
    for (i = 0; i < TM * TN; i++)
      acc[i] = sgemm__fma(a[i / TN], b[i % TN], acc[i]);
  }
  for (i = 0; i < TM * TN; i++)
    sgemm__store_global(p->C + i / TN * p->n + t * TN + i % TN, acc[i]);
}

SGEMM__GLOBAL(results_1x1, 32, 1, sgemm__args) { results(&args, 1, 1, 0); }
SGEMM__GLOBAL(results_1x4, 32, 1, sgemm__args) { results(&args, 1, 4, 0); }
SGEMM__GLOBAL(results_2x2, 32, 1, sgemm__args) { results(&args, 2, 2, 0); }
SGEMM__GLOBAL(results_1x1_redundant, 32, 1, sgemm__args) { results(&args, 1, 1, 1); }

static sgemm_counts results_counts(sgemm__kernel kernel, int TM, int TN, int blocks, int64_t k) {
  sgemm__args args;
  sgemm_counts c;
  float *A = operand(TM * k), *B = operand(k * TN * 32 * blocks), *C = operand(TM * TN * 32 * blocks);
  memset(&args, 0, sizeof args);
  args.n = TN * 32 * blocks;
  args.k = k;
  args.A = A;
  args.B = B;
  args.C = C;
  c = launch(kernel, blocks, 32, &args);
  free(A);
  free(B);
  free(C);
  return c;
}

/* Accesses of global memory for each result at k = 8: (8 + 8 + 1) / 1, (8 + 32 + 4) / 4, (16 + 16 + 4) / 4. */
Test(worked, accesses_per_result) {
  static const struct {
    sgemm__kernel kernel;
    int TM, TN, accesses;
  } cases[] = {{results_1x1, 1, 1, 17}, {results_1x4, 1, 4, 11}, {results_2x2, 2, 2, 9}};
  int i;
  for (i = 0; i < 3; i++) {
    const int results = cases[i].TM * cases[i].TN * 32;
    const sgemm_counts c = results_counts(cases[i].kernel, cases[i].TM, cases[i].TN, 1, 8);
    equal(c.global_load_bytes + c.global_store_bytes, 4 * results * cases[i].accesses, "%d x %d", cases[i].TM,
          cases[i].TN);
    equal(c.fma_threads, 8 * results, "%d x %d", cases[i].TM, cases[i].TN);
  }
}

/* The closed forms accept a kernel, and refuse it with one more load for each k. */
Test(worked, a_redundant_load_is_detected) {
  const sgemm_variant_info *v = sgemm_variant_get(variant_of(SGEMM_STAGE_coalesced, 32, 32, 0, 1, 1));
  const size s = {1, 96, 40};
  sgemm_counts c = results_counts(results_1x1, 1, 1, 3, s.k);
  const char *wrong = first_wrong(v, s, &c);
  cr_assert(wrong == NULL, "%s", wrong);
  equal(c.global_load_sectors, 3 * s.k * 5, "sectors");
  c = results_counts(results_1x1_redundant, 1, 1, 3, s.k);
  wrong = first_wrong(v, s, &c);
  cr_assert(wrong != NULL && strcmp(wrong, "global_load_bytes") == 0, "%s", wrong ? wrong : "accepted");
}

/* ---- One instruction --------------------------------------------------------------------------------------------- */

/* Lane i accesses element index_of[i]; -1: the lane is inactive. */
typedef enum kind { LOAD, LOAD4, STORE, STORE4 } kind;
static int index_of[32];
static kind access_kind;

enum { WORDS = 2048 };

SGEMM__GLOBAL(one_shared_access, 32, 1, sgemm__args) {
  SGEMM__SHARED(words, WORDS);
  const int at = index_of[sgemm__thread()];
  float r[4] = {0};
  int i;
  (void)args;
  if (access_kind == LOAD || access_kind == LOAD4)
    for (i = sgemm__thread(); i < WORDS; i += 32)
      words[i] = 0.0f; /* not counted */
  sgemm__barrier();
  if (at >= 0 && access_kind == LOAD)
    sgemm__load_shared(words + at);
  if (at >= 0 && access_kind == LOAD4)
    sgemm__load_shared4(r, words + at);
  if (at >= 0 && access_kind == STORE)
    sgemm__store_shared(words + at, 0.0f);
  if (at >= 0 && access_kind == STORE4)
    sgemm__store_shared4(words + at, r);
}

/* Runs one access of shared memory with the addresses of index_of[], and compares its counts. */
static void expect_shared(kind kind, int wavefronts, int conflicts, const char *what) {
  const int load = kind == LOAD || kind == LOAD4;
  sgemm__args args;
  sgemm_counts c;
  memset(&args, 0, sizeof args);
  access_kind = kind;
  c = launch(one_shared_access, 1, 32, &args);
  equal(c.shared_load_requests, load, "%s: loads", what);
  equal(c.shared_store_requests, !load, "%s: stores", what);
  equal(load ? c.shared_load_wavefronts : c.shared_store_wavefronts, wavefronts, "%s: wavefronts", what);
  equal(load ? c.shared_load_conflicts : c.shared_store_conflicts, conflicts, "%s: conflicts", what);
}

#define LANES(expression)                                                                                              \
  for (lane = 0; lane < 32; lane++)                                                                                    \
  index_of[lane] = (expression)

Test(instruction, four_bytes) {
  static const int strides[][2] = {{0, 1}, {1, 1}, {2, 2}, {3, 1}, {4, 4}, {8, 8}, {16, 16}, {32, 32}, {33, 1}};
  int lane, i;
  for (i = 0; i < 9; i++) {
    LANES(lane * strides[i][0]);
    expect_shared(LOAD, strides[i][1], strides[i][1] - 1, "strided");
    expect_shared(STORE, strides[i][1], strides[i][1] - 1, "strided");
  }
  LANES(lane == 5 ? 32 : 0);
  expect_shared(LOAD, 2, 1, "two words of a bank");
  LANES(lane < 8 ? lane * 32 : -1);
  expect_shared(LOAD, 8, 7, "8 lanes");
}

/* Measured on an H200. Lanes in 4 rows of 8: a load takes 2 wavefronts if the address depends on the row, 4 if it
   depends on the column. Lanes in 2 x 2 squares: 2 in both cases. */
Test(instruction, sixteen_bytes) {
  int lane;
  LANES(lane / 8 * 4);
  expect_shared(LOAD4, 2, 0, "rows, by row");
  LANES(lane % 8 * 4);
  expect_shared(LOAD4, 4, 0, "rows, by column");
  LANES((lane / 4 / 4 * 2 + lane / 2 % 2) * 4);
  expect_shared(LOAD4, 2, 0, "squares, by row");
  LANES((lane / 4 % 4 * 2 + lane % 2) * 4);
  expect_shared(LOAD4, 2, 0, "squares, by column");
  LANES(0);
  expect_shared(LOAD4, 2, 0, "all the same");
  expect_shared(STORE4, 4, 0, "all the same");
  LANES(lane * 4);
  expect_shared(LOAD4, 4, 0, "512 bytes");
  expect_shared(STORE4, 4, 0, "512 bytes");
  LANES(lane * 8);
  expect_shared(LOAD4, 8, 4, "every other 16 bytes");
  expect_shared(STORE4, 8, 4, "every other 16 bytes");
  LANES(lane * 32);
  expect_shared(LOAD4, 32, 28, "stride 128 bytes");
  LANES(lane / 2 * 32);
  expect_shared(LOAD4, 16, 14, "pairs of lanes, stride 128 bytes");
  LANES(lane < 16 ? lane / 2 * 4 : lane * 4);
  expect_shared(LOAD4, 3, 0, "one half of the warp in pairs"); /* not measured */
  LANES(lane < 8 ? lane * 4 : -1);
  expect_shared(LOAD4, 1, 0, "a quarter of the warp");
}

SGEMM__GLOBAL(one_global_load, 32, 1, sgemm__args) {
  const int at = index_of[sgemm__thread()];
  sgemm__pdl_wait();
  if (at >= 0)
    sgemm__load_global(args.A + at);
}

/* Runs one load of global memory with the addresses of index_of[], and compares its counts. */
static void expect_sectors(int requests, int sectors, int lanes, const char *what) {
  float *words = operand(WORDS);
  sgemm__args args;
  sgemm_counts c;
  memset(&args, 0, sizeof args);
  args.A = words;
  c = launch(one_global_load, 1, 32, &args);
  free(words);
  equal(c.global_load_requests, requests, "%s: requests", what);
  equal(c.global_load_sectors, sectors, "%s: sectors", what);
  equal(c.global_load_bytes, 4 * lanes, "%s: bytes", what);
}

Test(instruction, sectors) {
  int lane;
  LANES(lane);
  expect_sectors(1, 4, 32, "side by side");
  LANES(lane + 1);
  expect_sectors(1, 5, 32, "side by side, unaligned");
  LANES(0);
  expect_sectors(1, 1, 32, "all the same");
  LANES(lane * 8);
  expect_sectors(1, 32, 32, "a sector each");
  LANES(31 - lane);
  expect_sectors(1, 4, 32, "backward");
  LANES(lane % 2 ? -1 : lane);
  expect_sectors(1, 4, 16, "every other lane");
  LANES(lane == 31 ? 0 : -1);
  expect_sectors(1, 1, 1, "one lane");
  LANES(-1);
  expect_sectors(0, 0, 0, "no lane");
}

/* Odd lanes load, then all lanes load. Then odd and even lanes diverge: a 16-byte load, and a 4-byte load with an FMA.
   Half of the second warp returns before the store. */
SGEMM__GLOBAL(skipped, 64, 1, sgemm__args) {
  const int t = sgemm__thread();
  float r[4];
  sgemm__pdl_wait();
  if (t % 2)
    sgemm__load_global(args.A + t);
  sgemm__converge();
  sgemm__load_global(args.A + t);
  if (t % 2)
    sgemm__load_global4(r, args.A + t * 4);
  else
    sgemm__fma(sgemm__load_global(args.A + t), 0.0f, 0.0f);
  sgemm__converge();
  if (t >= 48)
    return;
  sgemm__store_global(args.C + t, 0.0f);
}

Test(instruction, divergent_lanes) {
  float *words = operand(WORDS);
  sgemm__args args;
  sgemm_counts c;
  memset(&args, 0, sizeof args);
  args.A = args.C = words;
  c = launch(skipped, 1, 64, &args);
  free(words);
  equal(c.global_load_requests, 2 * 4, "loads");
  equal(c.global_load_bytes, 4 * (32 + 64 + 4 * 32 + 32), "bytes");
  equal(c.global_load_sectors, 2 * (4 + 4 + 16 + 4), "sectors");
  equal(c.global_store_requests, 2, "stores, one by half a warp");
  equal(c.global_store_sectors, 6, "sectors of stores");
  equal(c.fma_threads, 32, "FMAs");
  equal(c.fma_instructions, 2, "FMA instructions of warps");
}

/* Two barriers in blocks of a warp and a half. */
SGEMM__GLOBAL(two_barriers, 48, 1, sgemm__args) {
  (void)args;
  sgemm__barrier();
  sgemm__barrier();
}

/* The counts of a launch start at 0. */
Test(instruction, barriers_of_each_launch) {
  sgemm__args args;
  int i;
  memset(&args, 0, sizeof args);
  equal(sgemm_model_counts()->barriers, 0, "before the first launch");
  for (i = 0; i < 2; i++)
    equal(launch(two_barriers, 5, 48, &args).barriers, 5 * 2 * 2, "blocks, warps, barriers");
}

/* ---- Epilogues and reductions ------------------------------------------------------------------------------------ */

enum { EPILOGUE_M = 48, EPILOGUE_N = 132, RESULT_BYTES = 4 * EPILOGUE_M * EPILOGUE_N };

/* Counts of the last launch of a call with every operand: of the kernel that applies an epilogue, or that reduces. r:
   NULL for a call that stores its result. */
static sgemm_counts counts_of_epilogue(int epilogue, float beta, int stores_aux, const sgemm_reduction_params *r) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, EPILOGUE_M, EPILOGUE_N, 8);
  float *memory = operand(6 * EPILOGUE_M * EPILOGUE_N);
  sgemm_plan plan = sgemm_variant_plan(SGEMM_async_64x64x16_8x4, &p);
  sgemm_status status;
  p.A = p.B = memory;
  p.C = memory + EPILOGUE_M * EPILOGUE_N;
  p.D = r == NULL ? memory + 2 * EPILOGUE_M * EPILOGUE_N : NULL;
  p.E = memory + 3 * EPILOGUE_M * EPILOGUE_N;
  p.aux = stores_aux ? memory + 4 * EPILOGUE_M * EPILOGUE_N : NULL;
  p.vec_n = memory + 5 * EPILOGUE_M * EPILOGUE_N;
  p.epilogue = epilogue;
  p.beta = beta;
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  status = r == NULL ? sgemm_run_plan(&plan, &p, NULL) : sgemm_run_reduction(&p, r, NULL);
  cr_assert(status == SGEMM_SUCCESS, "%s", sgemm_status_string(status));
  free(memory);
  return *sgemm_model_counts();
}

/* An epilogue loads the sums, an element of vec_n for each, and C and E where they are read, and stores D and aux. */
Test(epilogue, bytes, .fini = compared_something) {
  static const struct {
    int epilogue, stores_aux, matrices_loaded;
    float beta;
  } calls[] = {{SGEMM_EPILOGUE_bias, 0, 2, 0.0f},
               {SGEMM_EPILOGUE_gelu, 1, 2, 0.0f},
               {SGEMM_EPILOGUE_gelu, 0, 3, 2.0f},
               {SGEMM_EPILOGUE_residual, 0, 3, 0.0f},
               {SGEMM_EPILOGUE_drelu, 0, 2, 0.0f}};
  int i;
  for (i = 0; i < (int)(sizeof calls / sizeof *calls); i++) {
    const sgemm_counts c = counts_of_epilogue(calls[i].epilogue, calls[i].beta, calls[i].stores_aux, NULL);
    equal(c.global_load_bytes, calls[i].matrices_loaded * (int64_t)RESULT_BYTES, "call %d: bytes loaded", i);
    equal(c.global_store_bytes, (1 + calls[i].stores_aux) * (int64_t)RESULT_BYTES, "call %d: bytes stored", i);
  }
}

/* A reduction loads the sums once, and stores a value, and an index of 8 bytes, for each row or column. */
Test(reduction, bytes, .fini = compared_something) {
  float values[EPILOGUE_N];
  int64_t indices[EPILOGUE_N];
  int axis;
  for (axis = 0; axis < 2; axis++) {
    const sgemm_reduction_params sum = {SGEMM_REDUCTION_sum, axis, values, NULL, 0};
    const sgemm_reduction_params min = {SGEMM_REDUCTION_min, axis, values, indices, 0};
    const int64_t count = axis == SGEMM_EACH_ROW ? EPILOGUE_M : EPILOGUE_N;
    sgemm_counts c = counts_of_epilogue(SGEMM_EPILOGUE_none, 0.0f, 0, &sum);
    equal(c.global_load_bytes, RESULT_BYTES, "axis %d: bytes loaded", axis);
    equal(c.global_store_bytes, 4 * count, "axis %d: bytes of values", axis);
    c = counts_of_epilogue(SGEMM_EPILOGUE_bias, 0.0f, 0, &min);
    equal(c.global_load_bytes, 2 * (int64_t)RESULT_BYTES, "axis %d: bytes loaded, with a bias", axis);
    equal(c.global_store_bytes, 12 * count, "axis %d: bytes of values and indices", axis);
  }
}

/* Bytes that a tensor call loads. */
static int64_t bytes_loaded(const sgemm_plan *plan, const sgemm_params *p) {
  const int64_t before = sgemm_model_total()->global_load_bytes;
  cr_assert(sgemm_run_plan(plan, p, NULL) == SGEMM_SUCCESS, "%s", sgemm_model_error());
  return sgemm_model_total()->global_load_bytes - before;
}

/* The only spread is in the last 128 k of the last row. The first call finds it after it has split the rest. The second
   call finds its place in the workspace, and its split in fp16x3 loads the row there alone. Before the first call the
   word of the workspace is 0, the place of another row, which each warp loads too. */
Test(tensor, a_known_spread_ends_the_split) {
  enum { M = 128, N = 64, K = 70 * 128 };
  const sgemm_model one_core = {SGEMM_MODEL_FORWARD, 0, 1, 1};
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_T, M, N, K);
  sgemm_plan plan = sgemm_variant_plan(SGEMM_tiled_32x32x32_1x1, &p);
  float *A = operand(M * K), *B = operand(N * K), *C = operand(M * N);
  int64_t first, second, i;
  sgemm_model_set(&one_core);
  for (i = 0; i < M * K; i++)
    A[i] = 1.0f;
  for (i = 0; i < N * K; i++)
    B[i] = i < N * K - 64 ? 1.0f : 0x1p-20f;
  plan.tensor = SGEMM_wgmma_fp16x3_128x64;
  plan.tensor_fallback = SGEMM_wgmma_bf16x6_128x64;
  p.mode = SGEMM_TENSOR;
  p.A = A;
  p.B = B;
  p.C = C;
  p.workspace_bytes = sgemm_plan_workspace(&plan, &p);
  p.workspace = operand(p.workspace_bytes / 4);
  first = bytes_loaded(&plan, &p);
  second = bytes_loaded(&plan, &p);
  equal(first - second, 4 * (int64_t)(M + N) * K, "bytes of the split");
  free(p.workspace);
  free(A);
  free(B);
  free(C);
}
