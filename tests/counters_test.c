/* What every variant asks of the memories, counted by the CPU model, against closed forms: the table of stages, and
   what the comments of the kernels claim of sectors, banks and barriers. Built with SGEMM_CPU=1, SGEMM_CPU_COUNT=1. */
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

/* 1 in the quick tier, where each pair of ops takes a part of a property's cases; 0 with SGEMM_TEST_FULL=1. */
static int reduced(void) {
  const char *full = getenv("SGEMM_TEST_FULL");
  return full == NULL || strcmp(full, "1") != 0;
}

/* Rows of C begin on 16 bytes, so that 128-bit stores meet its right edge. */
static int64_t ldc_of(size s) { return sgemm__ceil_div(s.n, 4) * 4; }

/* 1 if plans of a variant may have a split_k above 1, or in tma a stream_k above 1. */
static int can_split(const sgemm_variant_info *v) { return v->bufs >= 3 || v->stage == SGEMM_STAGE_gemv; }

/* The counts of one multiplication; A and B are packed. split: the plan's split_k, or in tma its stream_k, where 1 is
   off. cluster_k 0: as sgemm_run_variant() runs the variant, which splits k of none of the sizes here. Where a call
   launches several kernels, the counts of the last. */
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

static int compared; /* each test fails if it compared nothing */

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

static int direct(const sgemm_variant_info *v) {
  return v->stage == SGEMM_STAGE_naive || v->stage == SGEMM_STAGE_coalesced;
}

/* 1 where C is read eight output vectors at a time if beta is not 0: in tma, and in async with 8 x 8 results a thread.
   */
static int reads_ahead(const sgemm_variant_info *v) {
  return v->uses_tma || (v->stage == SGEMM_STAGE_async && v->TM * v->TN == 64);
}

/* The size as the tiles cover it. */
static size covered(const sgemm_variant_info *v, size s) {
  size c = s;
  if (!direct(v)) {
    c.m = sgemm__ceil_div(s.m, v->BM) * v->BM;
    c.n = sgemm__ceil_div(s.n, v->BN) * v->BN;
    c.k = sgemm__ceil_div(s.k, v->BK) * v->BK;
  }
  return c;
}

/* k that tma leaves out at the end of the last step, where that many and more lie behind the end of k. It copies as
   many before that step once more instead. */
static int64_t left_out(const sgemm_variant_info *v, size s) {
  const int64_t rest = s.k % v->BK;
  return v->uses_tma && v->BM == 256 && s.k > v->BK && rest > 0 && rest <= SGEMM__BOX ? SGEMM__BOX : 0;
}

/* Elements that a launch loads: each of A once a column of tiles, each of B once a row of tiles; without tiles, one of
   both for each FMA. On tile multiples that is K (1/BM + 1/BN) a result, or 2K. */
static int64_t elements(const sgemm_variant_info *v, size s) {
  return direct(v) ? 2 * s.m * s.n * s.k
                   : s.m * s.k * sgemm__ceil_div(s.n, v->BN) + s.k * s.n * sgemm__ceil_div(s.m, v->BM);
}

/* Floats that the slices of a block store to shared memory for the sum over them, which loads them all. In tma the
   slices are the warps that share k, since the sum over lanes uses registers. */
static int64_t summed(const sgemm_variant_info *v, size t) {
  const int slice_k = v->uses_tma ? v->slice_k / 4 : v->slice_k;
  return slice_k > 1 ? slice_k * t.m * t.n : 0;
}

/* Lanes of a warp that belong to one slice. With fewer than 32, several slices share a warp, and the bank conflicts
   between them have no closed form here. */
static int lanes_of(const sgemm_variant_info *v) {
  return !v->uses_tma && v->threads / v->slice_k < 32 ? v->threads / v->slice_k : 32;
}

/* NULL, or the first counter that does not follow from the variant and the size alone. beta = 0. */
static const char *first_wrong(const sgemm_variant_info *v, size s, const sgemm_counts *c) {
  const size t = covered(v, s);
  const int64_t tiles = t.m / v->BM * (t.n / v->BN), steps = t.k / v->BK;
  const int64_t products = t.m * t.n * (t.k - left_out(v, s));
  const size reread = {s.m, s.n, left_out(v, s)};
  const int64_t blocks = v->uses_tma && tiles > v->resident ? v->resident
                                                            : tiles; /* persistent, on the model's one SM */
  const int64_t fragments = direct(v) ? 0 : products / v->TM + products / v->TN;
  const int64_t stored = direct(v) ? 0 : t.m * t.k * (t.n / v->BN) + t.k * t.n * (t.m / v->BM);
  const int64_t barriers = direct(v)      ? 0
                           : v->uses_tma  ? 1                                /* the rest are mbarriers */
                           : v->bufs >= 2 ? 1 + steps + 2 * (v->slice_k > 1) /* the sum over the slices */
                                          : 2 * steps;
#define FIRST(counter, want)                                                                                           \
  compared++;                                                                                                          \
  if (c->counter != (want))                                                                                            \
  return #counter
  FIRST(global_load_bytes, 4 * (elements(v, s) + elements(v, reread)));
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

/* Two by three tiles, and a k that every BK divides. */
static size whole_tiles(const sgemm_variant_info *v) { return (size){2 * v->BM, 3 * v->BN, v->BK > 64 ? v->BK : 64}; }

/* How an operand gets to shared memory: a tile of MN x BK elements, of which a thread has T results along MN. */
typedef struct way {
  int MN, k_major;
  int k_vectors; /* a pipeline that keeps a K-major operand K-major */
  int V;         /* elements of an access */
  int width;     /* K-major: elements of a row that neighbouring lanes take */
  int bulk;      /* elements of a tensor map's box; 0: there are none */
} way;

static way way_of(const sgemm_variant_info *v, int MN, int T, int k_major) {
  const int k_vectors = v->bufs >= 3 && SGEMM__K_VECTORS(T, v->BK, k_major);
  way w = {MN, k_major, k_vectors, v->V, SGEMM__LOAD_WIDTH(v->BK, v->V), 0};
  if (v->uses_tma) {
    w.bulk = SGEMM__BOX * (k_major ? MN : v->BK);
  } else if (v->bufs >= 3) { /* a copy that transposes takes one element at a time */
    w.V = k_major && !w.k_vectors ? 1 : 4;
    w.width = w.k_vectors ? v->BK : 8;
  }
  return w;
}

static way way_of_a(const sgemm_variant_info *v, int ops) { return way_of(v, v->BM, v->TM, ops / 2 == 0); }
static way way_of_b(const sgemm_variant_info *v, int ops) { return way_of(v, v->BN, v->TN, ops % 2); }

/* A tile's row of fewer than 8 elements fills a part of a sector. */
static int64_t sectors_of(way w, int64_t count) { return count / (w.k_major || w.MN > 8 ? 8 : w.MN); }

/* Eight lanes store 32 floats of rows of MN < 32 elements whose stride is MN + 4: two of the rows share 4 banks. */
static int64_t conflicts_of(const sgemm_variant_info *v, way w, int64_t count) {
  return v->bufs >= 3 && !w.k_major && w.MN < 32 ? count / 32 : 0;
}

/* gemv, with whole steps of k: each element of the matrix is loaded once for each of three vectors, and with each
   float4 of it, or each four of these, as many elements of the vector. A warp's lanes share these, or load 512 bytes of
   them, or each lane its own sector where their stride is three. Then each warp's sums pass through shared memory. */
static void gemv_body(sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const int row = v->BM == 1, groups = 8; /* row: C is one row, so the matrix is B */
  const size s = {row ? 3 : 64, row ? 64 : 3, 4 * v->BK};
  const int64_t products = s.m * s.n * s.k, tiles = s.m * s.n / 32, warps = v->threads / 32;
  int ops;
  for (ops = NN; ops <= TT; ops++) {
    const sgemm_counts c = counts_of(variant, ops, s, 0.0f);
    const int k_major = row ? ops % 2 : ops / 2 == 0;    /* the matrix */
    const int contiguous = row ? ops / 2 == 0 : ops % 2; /* the vector */
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

/* The closed forms, and what sizes that are multiples of the tile save: whole warps, whole sectors, each bank once. */
static void tile_multiples(sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const size s = whole_tiles(v);
  const int64_t results = s.m * s.n, warp = 32 * v->V; /* elements of a warp's request */
  const int64_t of_a = direct(v) ? 0 : s.m * s.k * (s.n / v->BN), of_b = elements(v, s) - of_a;
  int ops;
  for (ops = NN; ops <= TT; ops++) {
    const sgemm_counts c = counts_of(variant, ops, s, 0.0f);
    const way a = way_of_a(v, ops), b = way_of_b(v, ops);
    const int lanes_along_m = v->stage == SGEMM_STAGE_naive;
    closed_forms(v, ops, s, &c);
    COUNT(v, ops, &c, fma_instructions, results * s.k / 32);
    COUNT(v, ops, &c, global_load_requests, of_a / (a.bulk ? a.bulk : 32 * a.V) + of_b / (b.bulk ? b.bulk : 32 * b.V));
    COUNT(v, ops, &c, global_store_requests, results / (lanes_of(v) * v->V));
    COUNT(v, ops, &c, shared_load_requests,
          (c.shared_load_bytes / 4 - summed(v, s)) / warp + summed(v, s) / (lanes_of(v) * v->V));
    if (lanes_of(v) == 32)
      COUNT(v, ops, &c, shared_load_conflicts, 0);
    COUNT(v, ops, &c, shared_store_conflicts, conflicts_of(v, a, of_a) + conflicts_of(v, b, of_b));
    /* Where neighbouring lanes have different rows, each writes half a sector, or in naive an eighth. */
    COUNT(v, ops, &c, global_store_sectors, results / (lanes_along_m ? 1 : v->WN == v->TN ? 4 : 8));
    /* Without tiles a warp loads in each step of k one sector of the operand that its lanes share. Of the other operand
       it loads 4 where its lanes read neighbouring elements, 32 where each reads a row of its own: 33 for naive_nn, 5
       for coalesced_nn. */
    if (direct(v))
      COUNT(v, ops, &c, global_load_sectors,
            results / 32 * s.k * (1 + ((lanes_along_m ? ops / 2 : 1 - ops % 2) ? 4 : 32)));
    else
      COUNT(v, ops, &c, global_load_sectors, sectors_of(a, of_a) + sectors_of(b, of_b));
  }
}

/* Wavefronts of shared memory. An access of 4 bytes takes one. A load of 16 bytes takes 2 where lanes lie in squares;
   where they lie in a row, 2 for A and 4 for B; where they lie in a column, 4 for A and 2 for B; 4 where lanes have a k
   of their own. A store, or a load of the sum over slices, takes 4. */
static void wavefronts(sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const size s = whole_tiles(v);
  const int64_t stored = direct(v) ? 0 : elements(v, s);
  const int64_t of_a = direct(v) ? 0 : s.m * s.k * (s.n / v->BN);
  const int column = v->WN == v->TN, row = v->WM == v->TM || v->WM / v->TM * (v->WN / v->TN) > 32;
  int ops;
  for (ops = NN; ops <= TT; ops++) {
    const sgemm_counts c = counts_of(variant, ops, s, 0.0f);
    const way a = way_of_a(v, ops), b = way_of_b(v, ops);
    /* K-major operands, A of op N and B of op T, are transposed on their way, an element at a time, unless k_vectors.
       */
    const int64_t transposed = (a.k_major && !a.k_vectors ? of_a : 0) + (b.k_major && !b.k_vectors ? stored - of_a : 0);
    const int64_t conflicts = conflicts_of(v, a, of_a) + conflicts_of(v, b, stored - of_a);
    const int64_t from_a = s.m * s.n * s.k / v->TN / 128, from_b = s.m * s.n * s.k / v->TM / 128;
    if (v->V == 1) {
      COUNT(v, ops, &c, shared_load_wavefronts, c.shared_load_requests);
      COUNT(v, ops, &c, shared_store_wavefronts, stored / 32);
      COUNT(v, ops, &c, shared_store_requests, stored / 32);
    } else {
      if (lanes_of(v) == 32)
        COUNT(v, ops, &c, shared_load_wavefronts,
              (column || v->uses_tma ? 4 : 2) * from_a + (row || v->uses_tma ? 4 : 2) * from_b + summed(v, s) / 32);
      COUNT(v, ops, &c, shared_store_wavefronts, stored / 32 + conflicts + summed(v, s) / 32);
      COUNT(v, ops, &c, shared_store_requests,
            (v->uses_tma ? c.global_load_requests : transposed / 32 + (stored - transposed) / 128) +
                summed(v, s) / 128);
    }
  }
}

/* A warp's request: the lanes that take part, by their element's index from a pointer aligned to 32 bytes. */
static void request(const int64_t *index, int lanes, int64_t *requests, int64_t *sectors) {
  int i, j;
  *requests += lanes > 0;
  for (i = 0; i < lanes; i++) {
    for (j = 0; j < i && index[j] / 8 != index[i] / 8; j++)
      ;
    *sectors += j == i;
  }
}

/* What the loads of A and B of a launch ask for, and the conflicts of the stores that follow them. */
typedef struct loads {
  int64_t requests, sectors, conflicts;
} loads;

/* How a block loads a tile X[mn][k] of which `extent` x `depth` elements exist, enumerated as sgemm/device/load.cuh
   describes how its threads share the loads. first: index of the tile's first element. */
static void load_tile(const sgemm_variant_info *v, way w, int64_t first, int64_t ld, int64_t extent, int64_t depth,
                      loads *sum) {
  const int MN = w.MN, width = w.k_major ? w.width : 1, aligned = w.V == 1 || ld % 4 == 0;
  /* Pipelines copy vectors at edges too, if no vector lies across the edge. */
  const int all = aligned && ((extent >= MN && depth >= v->BK) ||
                              (v->bufs >= 3 && w.V == 4 && (w.k_major ? depth : extent) % 4 == 0));
  int start, f, lane;
  if (w.bulk) { /* a request a box; of each of its rows the elements that exist */
    const int64_t mn = extent < MN ? extent : MN, k = depth < v->BK ? depth : v->BK;
    const int64_t columns = w.k_major ? k : mn, rows = w.k_major ? mn : k;
    int64_t box, row;
    for (box = 0; box < (w.k_major ? v->BK : MN); box += SGEMM__BOX) {
      sum->requests++;
      for (row = first + box; row < first + box + rows * ld && box < columns; row += ld)
        sum->sectors += (row + (columns - box < SGEMM__BOX ? columns - box : SGEMM__BOX) - 1) / 8 - row / 8 + 1;
    }
    return;
  }
  for (start = 0; start < MN * v->BK; start += 32 * w.V) /* a warp's elements are consecutive */
    for (f = 0; f < (all ? 1 : w.V); f++) {
      int64_t index[32];
      int lanes = 0;
      for (lane = 0; lane < 32; lane++) {
        const int x = start + lane * w.V + f, mn = x / width % MN, k = x / (width * MN) * width + x % width;
        if (mn < extent && k < depth)
          index[lanes++] = first + (w.k_major ? mn * ld + k : k * ld + mn);
      }
      request(index, lanes, &sum->requests, &sum->sectors);
      /* A pipeline that copies element by element into a layout for four at a time: the stride of the lanes' words is
         4, so that they lie in 8 banks of the 32, or with rows of 4 elements 8, so that they lie in 4. */
      if (v->bufs >= 3 && !all && w.V == 4)
        sum->conflicts += w.k_major || MN > 4 ? 3 : 7;
    }
  if (all)
    sum->conflicts += conflicts_of(v, w, MN * v->BK);
}

/* Operands that tensor maps cannot describe are packed K-major, in rows of whole SGEMM__PACK_K. The kernel has the ops
   that are left after packing. */
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
  const way a = way_of_a(v, kernel_ops), b = way_of_b(v, kernel_ops);
  const int64_t packed = sgemm__ceil_div(s.k, SGEMM__PACK_K) * SGEMM__PACK_K;
  const int64_t lda = packed_a(v, ops, s) ? packed : a.k_major ? s.k : s.m;
  const int64_t ldb = packed_b(v, ops, s) ? packed : b.k_major ? s.k : s.n;
  loads sum = {0, 0, 0};
  int64_t i, j, k;
  for (i = 0; i < s.m; i += v->BM)
    for (j = 0; j < s.n; j += v->BN)
      for (k = 0; k < s.k; k += v->BK) {
        const int64_t from = k + v->BK > s.k ? k - left_out(v, s) : k;
        load_tile(v, a, a.k_major ? i * lda + from : from * lda + i, lda, s.m - i, s.k - from, &sum);
        load_tile(v, b, b.k_major ? j * ldb + from : from * ldb + j, ldb, s.n - j, s.k - from, &sum);
      }
  return sum;
}

/* The requests for C, one for each output vector of V results, as sgemm/device/tile.cuh describes which results of the
   tile a thread owns. Each slice stores some of the vectors of a thread tile, in the same layout. In tma, where k is
   interleaved across lanes, each of the four lanes of a quad stores a quarter of the results that they share. */
static void stores(const sgemm_variant_info *v, int ops, size s, int64_t *requests, int64_t *sectors) {
  const int lanes_m = v->WM / v->TM, lanes_n = v->WN / v->TN, group = lanes_m * lanes_n,
            kernel_ops = ops_of_kernel(v, ops, s);
  const int at_once = v->uses_tma ? v->slice_k : 1, vectors = v->TM * v->TN / v->V / at_once,
            row_vectors = v->TN / v->V;
  int64_t row0, col0;
  int w, vector, lane, f;
  *requests = *sectors = 0;
  for (row0 = 0; row0 < s.m; row0 += v->BM)
    for (col0 = 0; col0 < s.n; col0 += v->BN)
      for (w = 0; w < SGEMM__THREADS(v->BM, v->BN, v->TM, v->TN, at_once) / lanes_of(v); w++)
        for (vector = 0; vector < vectors; vector++) {
          int64_t whole[32], parts[4][32];
          int wholes = 0, count[4] = {0};
          for (lane = 0; lane < lanes_of(v); lane++) {
            const int t = w * 32 + lane, l = t % group, quad = l / 4, i = vector / row_vectors,
                      j = vector % row_vectors;
            int m = l / lanes_n, n = l % lanes_n;
            int64_t row, col;
            if (group == 32 && lanes_m > 1 && lanes_n > 1) { /* squares */
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
              const int warps = v->BM / 32 * (v->BN / 32), warp = w % warps; /* later warps have another share of k */
              const int r = lane % 2 * 8 + w / warps * vectors + vector, c = lane / 2 % 2; /* of 16 rows, 2 vectors */
              m = lane / 16;
              n = lane / 4 % 4;
              row = row0 + warp / (v->BN / 32) * 32 + (kernel_ops / 2 ? m * 16 + r : r / 4 * 8 + m * 4 + r % 4);
              col = col0 + warp % (v->BN / 32) * 32 +
                    (kernel_ops % 2 ? c * 16 + n * 4 : n % 2 * 16 + n / 2 * 8 + c * 4);
            }
            if (row < s.m && v->V == 4 && col + 4 <= s.n)
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

/* Sizes that no tile divides: the guarded paths. Whole warps load and multiply fragments there too. */
static void edges(sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  int ops, i;
  for (ops = NN; ops <= TT; ops++)
    for (i = reduced() ? ops : 0; i < (reduced() ? ops + 1 : 4); i++) {
      const size s = {v->BM + 1 + 2 * i, 2 * v->BN - 3 + 3 * i, 2 * v->BK + 5 + i};
      const size read = reads_ahead(v) ? covered(v, s) : s;
      const sgemm_counts c = counts_of(variant, ops, s, 0.0f), b = counts_of(variant, ops, s, 1.0f);
      loads f = {0, 0, 0};
      int64_t requests, sectors;
      closed_forms(v, ops, s, &c);
      stores(v, ops, s, &requests, &sectors);
      COUNT(v, ops, &c, global_store_requests, requests);
      COUNT(v, ops, &c, global_store_sectors, sectors);
      if (!direct(v)) {
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
      /* With beta each element of C is read once, in the order of the stores, for one FMA. Where C is read eight output
         vectors at a time, there is an FMA for each result of a tile, also outside of C. */
      COUNT(v, ops, &b, fma_threads, c.fma_threads + read.m * read.n);
      COUNT(v, ops, &b, global_load_bytes, c.global_load_bytes + c.global_store_bytes);
      COUNT(v, ops, &b, global_load_requests, c.global_load_requests + c.global_store_requests);
      COUNT(v, ops, &b, global_load_sectors, c.global_load_sectors + c.global_store_sectors);
      COUNT(v, ops, &b, global_store_requests, c.global_store_requests);
    }
}

/* What cluster_k, split_k and stream_k add, with as many steps as there are blocks of a cluster at least. The sum over
   a cluster passes each block's results through shared memory once more, behind two more barriers; nothing else is done
   twice. The second kernel of split-K reads each partition once and writes C, with an FMA a result if beta is not 0. */
static void splits(sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const size s = {2 * v->BM, 3 * v->BN, 8 * v->BK};
  const int64_t results = s.m * s.n;
  int ops, cluster_k, split_k;
  for (ops = NN; ops <= TT && can_split(v); ops++) {
    if (reduced() && (ops == NN || ops == TT) != variant % 2)
      continue;
    const sgemm_counts one = counts_of_plan(variant, 1, 1, ops, s, 0.0f);
    for (cluster_k = 2; cluster_k <= 8 && v->cluster_split_k; cluster_k *= 2) {
      if (reduced() && cluster_k != 2 << ops % 3)
        continue;
      const sgemm_counts c = counts_of_plan(variant, cluster_k, 1, ops, s, 0.0f);
      const int64_t warps = results / (v->TM * v->TN) * v->slice_k / 32 * cluster_k,
                    sums = results * (cluster_k - 1) * v->slice_k;
      COUNT(v, ops, &c, fma_threads, one.fma_threads);
      COUNT(v, ops, &c, global_load_bytes, one.global_load_bytes);
      COUNT(v, ops, &c, global_load_requests, one.global_load_requests);
      COUNT(v, ops, &c, global_load_sectors, one.global_load_sectors);
      COUNT(v, ops, &c, global_store_bytes, one.global_store_bytes);
      COUNT(v, ops, &c, global_store_requests, one.global_store_requests);
      COUNT(v, ops, &c, shared_load_bytes, one.shared_load_bytes + 4 * (sums + results * cluster_k));
      COUNT(v, ops, &c, shared_store_bytes, one.shared_store_bytes + 4 * (sums + results * cluster_k));
      COUNT(v, ops, &c, shared_load_conflicts, one.shared_load_conflicts);
      COUNT(v, ops, &c, shared_store_conflicts, one.shared_store_conflicts);
      COUNT(v, ops, &c, barriers, warps * (1 + 8 / cluster_k + 2 + 2));
    }
    if (v->uses_tma) { /* of six tiles four blocks share two, each in two units, of an odd k too; seven share all */
      const size odd = {s.m, s.n, 9 * v->BK};
      const sgemm_counts two = counts_of_plan(variant, 1, 4, ops, odd, 0.5f),
                         six = counts_of_plan(variant, 1, 7, ops, s, 0.5f);
      const int64_t tile = v->BM * v->BN;
      COUNT(v, ops, &two, fma_threads, 2 * tile);
      COUNT(v, ops, &two, global_load_bytes, 4 * tile * (4 + 2));
      COUNT(v, ops, &two, global_store_bytes, 4 * tile * 2);
      COUNT(v, ops, &six, fma_threads, 6 * tile);
      COUNT(v, ops, &six, global_load_bytes,
            4 * tile * (7 + 6 - 1 + 6)); /* ends of 7 units and 6 tiles, the last one both */
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
  compared++; /* variants with static buffers do not split k */
}

/* The same whatever the order of the threads and however many cores share the blocks. */
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
#define TILES_gemv(variant) PROPERTY(gemv_body, variant)
#define TILES_tma TILED
#define VARIANT(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, blocks, production, reason)                       \
  PROPERTY(splits, stage##_##BM##x##BN##x##BK##_##TM##x##TN)                                                           \
  PROPERTY(schedules, stage##_##BM##x##BN##x##BK##_##TM##x##TN)                                                        \
  TILES_##stage(stage##_##BM##x##BN##x##BK##_##TM##x##TN)

SGEMM_VARIANTS(VARIANT)

/* ---- The table of stages ----------------------------------------------------------------------------------------- */

/* A stage's first variant with those tiles; BK 0: with any BK. */
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

/* Element loads a result, as multiples of K, in writing: the closed forms above must not only agree with themselves. */
Test(spec, loads_a_result, .fini = compared_something) {
  static const struct {
    sgemm_stage stage;
    int BM, BN, TM, TN, global, global_of, shared, shared_of;
    int sectors; /* a warp and step of k, for op N and N; 0: not in the table */
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
    for (ops = NN; ops <= TT; ops++) {
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

/* The reasons that sgemm/variants.h gives for some variants. */
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

/* Each thread computes TM x TN results from global memory, with `redundant` loads of A too many in each step of k. */
static inline void results(const sgemm__args *p, int TM, int TN, int redundant) {
  const int64_t t = (int64_t)sgemm__block_x() * 32 + sgemm__thread();
  float acc[4] = {0}, a[4], b[4];
  int64_t k;
  int i, j;
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

/* Accesses a result at K = 8: (8 + 8 + 1) / 1, (8 + 32 + 4) / 4, (16 + 16 + 4) / 4. */
Test(worked, seventeen_eleven_nine) {
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

/* A load too many in each step of k fails the closed forms that the same kernel without it passes. */
Test(worked, a_redundant_load_is_seen) {
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

/* The addresses of a warp: lane i takes element index_of[i]; -1: none. */
typedef enum kind { LOAD, LOAD4, STORE, STORE4 } kind;
static int index_of[32];
static kind wanted;

enum { WORDS = 2048 };

SGEMM__GLOBAL(one_shared_access, 32, 1, sgemm__args) {
  SGEMM__SHARED(words, WORDS);
  const int at = index_of[sgemm__thread()];
  float r[4] = {0};
  int i;
  (void)args;
  if (wanted == LOAD || wanted == LOAD4)
    for (i = sgemm__thread(); i < WORDS; i += 32)
      words[i] = 0.0f; /* uncounted */
  sgemm__barrier();
  if (at >= 0 && wanted == LOAD)
    sgemm__load_shared(words + at);
  if (at >= 0 && wanted == LOAD4)
    sgemm__load_shared4(r, words + at);
  if (at >= 0 && wanted == STORE)
    sgemm__store_shared(words + at, 0.0f);
  if (at >= 0 && wanted == STORE4)
    sgemm__store_shared4(words + at, r);
}

/* Runs it with the addresses of index_of[]. */
static void shared(kind kind, int wavefronts, int conflicts, const char *what) {
  const int load = kind == LOAD || kind == LOAD4;
  sgemm__args args;
  sgemm_counts c;
  memset(&args, 0, sizeof args);
  wanted = kind;
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
    shared(LOAD, strides[i][1], strides[i][1] - 1, "strided");
    shared(STORE, strides[i][1], strides[i][1] - 1, "strided");
  }
  LANES(lane == 5 ? 32 : 0);
  shared(LOAD, 2, 1, "two words of a bank");
  LANES(lane < 8 ? lane * 32 : -1);
  shared(LOAD, 8, 7, "a part of the warp");
}

/* Seen on an H200: lanes in rows, 4 x 8, take 2 wavefronts for what depends on the row and 4 for what depends on the
   column; in 2 x 2 squares, 2 for both. */
Test(instruction, sixteen_bytes) {
  int lane;
  LANES(lane / 8 * 4);
  shared(LOAD4, 2, 0, "rows, by row");
  LANES(lane % 8 * 4);
  shared(LOAD4, 4, 0, "rows, by column");
  LANES((lane / 4 / 4 * 2 + lane / 2 % 2) * 4);
  shared(LOAD4, 2, 0, "squares, by row");
  LANES((lane / 4 % 4 * 2 + lane % 2) * 4);
  shared(LOAD4, 2, 0, "squares, by column");
  LANES(0);
  shared(LOAD4, 2, 0, "all the same");
  shared(STORE4, 4, 0, "all the same");
  LANES(lane * 4);
  shared(LOAD4, 4, 0, "512 bytes");
  shared(STORE4, 4, 0, "512 bytes");
  LANES(lane * 8);
  shared(LOAD4, 8, 4, "every other 16 bytes");
  shared(STORE4, 8, 4, "every other 16 bytes");
  LANES(lane * 32);
  shared(LOAD4, 32, 28, "128 bytes apart");
  LANES(lane / 2 * 32);
  shared(LOAD4, 16, 14, "pairs, 128 bytes apart");
  LANES(lane < 16 ? lane / 2 * 4 : lane * 4);
  shared(LOAD4, 3, 0, "only one half in pairs"); /* assumed */
  LANES(lane < 8 ? lane * 4 : -1);
  shared(LOAD4, 1, 0, "one quarter");
}

SGEMM__GLOBAL(one_global_load, 32, 1, sgemm__args) {
  const int at = index_of[sgemm__thread()];
  if (at >= 0)
    sgemm__load_global(args.A + at);
}

static void sectors(int requests, int sectors, int lanes, const char *what) {
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
  sectors(1, 4, 32, "side by side");
  LANES(lane + 1);
  sectors(1, 5, 32, "side by side, unaligned");
  LANES(0);
  sectors(1, 1, 32, "all the same");
  LANES(lane * 8);
  sectors(1, 32, 32, "a sector each");
  LANES(31 - lane);
  sectors(1, 4, 32, "backward");
  LANES(lane % 2 ? -1 : lane);
  sectors(1, 4, 16, "every other lane");
  LANES(lane == 31 ? 0 : -1);
  sectors(1, 1, 1, "one lane");
  LANES(-1);
  sectors(0, 0, 0, "no lane");
}

/* Odd lanes skip a load, then all load: two instructions, and one more where lanes go different ways at once. */
SGEMM__GLOBAL(skipped, 64, 1, sgemm__args) {
  const int t = sgemm__thread();
  float r[4];
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

Test(instruction, lanes_that_skip_others) {
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
  equal(c.fma_instructions, 2, "FMAs of warps");
}

/* Partial warps, and the counts of a launch: its own alone. */
SGEMM__GLOBAL(two_barriers, 48, 1, sgemm__args) {
  (void)args;
  sgemm__barrier();
  sgemm__barrier();
}

Test(instruction, barriers_and_launches_apart) {
  sgemm__args args;
  int i;
  memset(&args, 0, sizeof args);
  equal(sgemm_model_counts()->barriers, 0, "before the first launch");
  for (i = 0; i < 2; i++)
    equal(launch(two_barriers, 5, 48, &args).barriers, 5 * 2 * 2, "blocks, warps, barriers");
}
