/* sgemm.h: single-precision matrix multiplication on NVIDIA GPUs, from three headers.     version 0.1.0, MIT licence

       C = alpha * op(A) * op(B) + beta * C            A, B, C row-major, op(X) = X or its transpose, IEEE fp32 FMA

   USE.  Copy sgemm.h, sgemm_kernels.cuh and sgemm_tensor.cuh into the project. One .cu file emits the kernels:

       #define SGEMM_IMPLEMENTATION
       #include "sgemm.h"

   and any C or C++ file calls them, without nvcc on its own:

       #include "sgemm.h"

       sgemm_status multiply(const float *A, const float *B, float *C, int m, int n, int k, sgemm_stream stream) {
         sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, m, n, k);   // packed leading dimensions, alpha 1, beta 0
         p.A = A;                                                         // device pointers
         p.B = B;
         p.C = C;
         return sgemm_run(&p, stream);                                    // asynchronous; 0 is success
       }

   Link with the CUDA runtime only (-lcudart_static -ldl -lrt -lpthread -lm, and -lstdc++ where gcc links).

   OPTIONS, defined before the header is included:

     name                  where                        meaning, cost
     SGEMM_IMPLEMENTATION  exactly one .cu file         emits the kernels that the stage option leaves in
     SGEMM_STAGE=name      that file                    unset: the production rows, chosen by shape. A stage's name (tiled,
                                                        warptiled, ...): only its rows exist and sgemm_run() uses them.
                                                        all: every row, for measuring and teaching
     SGEMM_MODE=name       any file                     the mode that sgemm_params_init() sets there: SGEMM_STRICT if unset
     SGEMM_CPU=1           that file, if gcc or clang   the CPU model in cpu/: the same kernels without a GPU, slow and
                           compiles it as C11           exact, for tests and study

   CONTRACT
     - Row-major: element (i, j) of a matrix with leading dimension ld is at i * ld + j. ld >= the stored row's length;
       the padding between rows is never used and never written. Column-major callers set params.order or use sgemm_cblas().
     - m, n, k are any 64-bit sizes >= 0; pointers need 4-byte alignment only (16 bytes and ld % 4 == 0 are faster).
     - beta = 0: C is not read, so NaN in it cannot reach the result. alpha = 0 or k = 0: A and B are not read and
       C = beta * C. m = 0, n = 0 or batch = 0, the other arguments in order: success, nothing is touched, all pointers may
       be NULL. The same holds for (alpha = 0 or k = 0) with beta = 1.
     - NaN and Inf propagate as through a plain dot product over k = 0, 1, 2, ...
     - Every launch goes to the caller's stream. Nothing allocates or synchronises, so calls can be captured in a graph.
     - The same call gives the same bits each time. Within one plan (a variant, and into how many parts k is cut) a row's bits
       depend on neither m nor the batch count; sgemm_run_variant() cuts k by k alone.
     - Scratch memory is the caller's, params.workspace, and optional: sgemm_workspace_query() says how much is of use.
     - Strict fp32 unless params.mode asks for a tensor mode. These keep fp32 accuracy, and what they cannot carry strict
       fp32 does, Inf and NaN among it; as the whole input decides that, so may it a row's bits (docs/tensor.md).
     - Arguments are checked before anything is launched, in the order of SGEMM_STATUS_LIST below; on error C is untouched.
     - Any number of host threads, streams and devices. Nothing is kept but figures of each device, read once, which
       kernels it allows their shared memory, and where the driver encodes tensor maps.

   CONTENTS   Version . Status . Parameters . Device . Variants . Helpers . Occupancy . Validation . Selection
              Tensor modes . Launch
*/
#ifndef SGEMM_H
#define SGEMM_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#if defined(__cplusplus) && __cplusplus < 201402L
#error "sgemm.h needs C++14 or later"
#elif !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L)
#error "sgemm.h needs C11 or later"
#endif

/* ---- Version ----------------------------------------------------------------------------------------------------- */

#define SGEMM_VERSION_MAJOR 0
#define SGEMM_VERSION_MINOR 1
#define SGEMM_VERSION_PATCH 0
#define SGEMM_VERSION (SGEMM_VERSION_MAJOR * 10000 + SGEMM_VERSION_MINOR * 100 + SGEMM_VERSION_PATCH)

#define SGEMM__STRING2(x) #x
#define SGEMM__STRING(x) SGEMM__STRING2(x)
#define SGEMM_VERSION_STRING                                                                                           \
  SGEMM__STRING(SGEMM_VERSION_MAJOR) "." SGEMM__STRING(SGEMM_VERSION_MINOR) "." SGEMM__STRING(SGEMM_VERSION_PATCH)

static inline int sgemm_version(void) { return SGEMM_VERSION; }

/* ---- Status ------------------------------------------------------------------------------------------------------ */

/* The one list of status codes, in the order in which arguments are checked: X([symbol], "sentence"). */
// clang-format off
#define SGEMM_STATUS_LIST(X)                                                                                           \
  X(SGEMM_SUCCESS,              "success")                                                                             \
  X(SGEMM_ERROR_PARAMS,         "params is NULL")                                                                      \
  X(SGEMM_ERROR_VARIANT,        "variant is not a row of SGEMM_VARIANTS")                                              \
  X(SGEMM_ERROR_PLAN,           "the plan's ranks or planes are not ones that its variant and the device can do")      \
  X(SGEMM_ERROR_ORDER,          "order is neither row-major (101) nor column-major (102)")                             \
  X(SGEMM_ERROR_OP_A,           "op_a (transA) is not one of N, T and C (111, 112, 113)")                              \
  X(SGEMM_ERROR_OP_B,           "op_b (transB) is not one of N, T and C (111, 112, 113)")                              \
  X(SGEMM_ERROR_MODE,           "mode is neither strict (0) nor tensor (1) nor full-range tensor (2)")                 \
  X(SGEMM_ERROR_M,              "m is negative")                                                                       \
  X(SGEMM_ERROR_N,              "n is negative")                                                                       \
  X(SGEMM_ERROR_K,              "k is negative")                                                                       \
  X(SGEMM_ERROR_LDA,            "lda is smaller than the length of a stored row of A, or than 1")                      \
  X(SGEMM_ERROR_LDB,            "ldb is smaller than the length of a stored row of B, or than 1")                      \
  X(SGEMM_ERROR_LDC,            "ldc is smaller than the length of a stored row of C, or than 1")                      \
  X(SGEMM_ERROR_BATCH,          "batch is negative")                                                                   \
  X(SGEMM_ERROR_STRIDE_A,       "stride_a is negative")                                                                \
  X(SGEMM_ERROR_STRIDE_B,       "stride_b is negative")                                                                \
  X(SGEMM_ERROR_STRIDE_C,       "stride_c lets two results of the batch overlap")                                      \
  X(SGEMM_ERROR_TOO_LARGE,      "a matrix reaches beyond 2^60 elements")                                               \
  X(SGEMM_ERROR_A,              "A is NULL or not aligned to 4 bytes")                                                 \
  X(SGEMM_ERROR_B,              "B is NULL or not aligned to 4 bytes")                                                 \
  X(SGEMM_ERROR_C,              "C is NULL or not aligned to 4 bytes")                                                 \
  X(SGEMM_ERROR_WORKSPACE,      "workspace is not aligned to 16 bytes, NULL, or smaller than the plan or than 0")      \
  X(SGEMM_ERROR_PREPARED,       "a prepared operand is not aligned to 16 bytes, or given without a tensor mode")       \
  X(SGEMM_ERROR_NOT_COMPILED,   "the implementation file was compiled without this variant or stage (SGEMM_STAGE)")    \
  X(SGEMM_ERROR_GRID,           "C has more than 2^31 - 1 tiles, or the batch more than 65535 * 65535 matrices")       \
  X(SGEMM_ERROR_UNAVAILABLE,    "the CPU model has no device to ask")                                                  \
  X(SGEMM_ERROR_MEMORY,         "the CPU model could not get memory or a thread for its fibers")                       \
  X(SGEMM_ERROR_DIVERGENCE,     "CPU model: threads of a block met at different barriers, or some had left")           \
  X(SGEMM_ERROR_UNWRITTEN,      "CPU model: a thread read a word of shared memory that nothing had written")             \
  X(SGEMM_ERROR_MISALIGNED,     "CPU model: a 128-bit access at an address that is not a multiple of 16 bytes")
// clang-format on

typedef enum sgemm_status {
#define SGEMM__X(symbol, sentence) symbol,
  SGEMM_STATUS_LIST(SGEMM__X)
#undef SGEMM__X
      SGEMM_STATUS_COUNT,
  SGEMM_ERROR_CUDA = 1000 /* plus the cudaError_t: sgemm_cuda_error() takes it out again */
} sgemm_status;

/* The cudaError_t inside a status, or 0 (cudaSuccess) if the status is not of the CUDA runtime's making. */
static inline int sgemm_cuda_error(sgemm_status status) {
  return (int)status > SGEMM_ERROR_CUDA ? (int)status - SGEMM_ERROR_CUDA : 0;
}

/* A sentence for any status; never NULL. */
static inline const char *sgemm_status_string(sgemm_status status) {
  switch ((int)status) {
#define SGEMM__X(symbol, sentence)                                                                                     \
  case symbol:                                                                                                         \
    return sentence;
    SGEMM_STATUS_LIST(SGEMM__X)
#undef SGEMM__X
  default:
    return sgemm_cuda_error(status) ? "the CUDA runtime reported an error; sgemm_cuda_error() gives its cudaError_t"
                                    : "not a status of sgemm";
  }
}

/* ---- Parameters -------------------------------------------------------------------------------------------------- */

/* The CUDA runtime's cudaStream_t under a name of our own, so that C files need no CUDA header. NULL: default stream. */
typedef struct CUstream_st *sgemm_stream;

/* The numbers are CBLAS's, so that CblasRowMajor, CblasTrans and the like can be passed as they are. */
typedef enum sgemm_order { SGEMM_ROW_MAJOR = 101, SGEMM_COL_MAJOR = 102 } sgemm_order;
typedef enum sgemm_op { SGEMM_N = 111, SGEMM_T = 112, SGEMM_C = 113 } sgemm_op; /* C: conjugate, T for real numbers */

/* How the products are formed. The tensor modes are as accurate as strict fp32 (docs/tensor.md has the bound), and fall back
   on it: where it is faster, where the workspace is too small, or on the device where the input is beyond what the mode
   can carry, which sgemm_guard_query() tells afterwards. */
typedef enum sgemm_mode {
  SGEMM_STRICT = 0,     /* IEEE fp32 FMA */
  SGEMM_TENSOR = 1,     /* fp16 in 2 parts, 3 products: 22 bits of what is within 2^17 of a row's largest in 128 k */
  SGEMM_TENSOR_FULL = 2 /* bf16 in 3 parts, 6 products: 24 bits of what is within 2^110 */
} sgemm_mode;

/* Why the guard of a tensor mode sent a call to strict fp32: a sum of these; 0: it did not. */
typedef enum sgemm_guard {
  SGEMM_GUARD_NONFINITE = 1, /* an Inf or NaN in A or B */
  SGEMM_GUARD_SPREAD = 2,    /* 4 or more of a row's 16 k too far below the largest of 128 */
  SGEMM_GUARD_SPARSE = 4,    /* some such in one operand, and in the other 128 k with a single element that is not 0 */
  SGEMM_GUARD_RANGE = 8      /* exponents so far apart, or so large, that fp32 accumulators could overflow */
} sgemm_guard;

#ifndef SGEMM_MODE
#define SGEMM_MODE SGEMM_STRICT
#endif

/* One multiplication, or `batch` of them at constant strides. Sizes, leading dimensions and strides in elements. */
typedef struct sgemm_params {
  int order, op_a, op_b;      /* sgemm_order, sgemm_op */
  int64_t m, n, k;            /* op(A) is m x k, op(B) is k x n, C is m x n; each >= 0 */
  float alpha, beta;          /* host values */
  const float *A, *B;         /* device pointers; neither may overlap C */
  float *C;                   /* device pointer */
  int64_t lda, ldb, ldc;      /* row-major: lda >= k for op_a = N, >= m for T; ldb >= n or k; ldc >= n */
  int64_t batch;              /* multiplications in this call, >= 0 */
  int64_t stride_a, stride_b; /* from one matrix to the next, >= 0; 0 shares one operand among all */
  int64_t stride_c;           /* as far apart that no two results overlap; interleaved rows are allowed */
  void *workspace; /* device memory for partial results, aligned to 16 bytes; NULL: none, see sgemm_workspace_query() */
  int64_t workspace_bytes;
  int mode;                            /* sgemm_mode */
  const void *prepared_a, *prepared_b; /* what sgemm_prepare() made of A and B; NULL: split in each call */
} sgemm_params;

static inline int64_t sgemm__max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t sgemm__ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
/* In unsigned, where the overflow of an absurd size is defined: sgemm_check() then refuses it. */
static inline int64_t sgemm__product(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

/* Row-major, packed leading dimensions and strides, alpha 1, beta 0, a batch of 1, pointers NULL, mode SGEMM_MODE. */
static inline sgemm_params sgemm_params_init(sgemm_op op_a, sgemm_op op_b, int64_t m, int64_t n, int64_t k) {
  sgemm_params p;
  p.order = SGEMM_ROW_MAJOR;
  p.op_a = op_a;
  p.op_b = op_b;
  p.m = m;
  p.n = n;
  p.k = k;
  p.alpha = 1.0f;
  p.beta = 0.0f;
  p.A = NULL;
  p.B = NULL;
  p.C = NULL;
  p.lda = sgemm__max(1, op_a == SGEMM_N ? k : m);
  p.ldb = sgemm__max(1, op_b == SGEMM_N ? n : k);
  p.ldc = sgemm__max(1, n);
  p.batch = 1;
  p.stride_a = sgemm__product(p.lda, op_a == SGEMM_N ? m : k);
  p.stride_b = sgemm__product(p.ldb, op_b == SGEMM_N ? k : n);
  p.stride_c = sgemm__product(p.ldc, m);
  p.workspace = NULL;
  p.workspace_bytes = 0;
  p.mode = SGEMM_MODE;
  p.prepared_a = NULL;
  p.prepared_b = NULL;
  return p;
}

/* ---- Device ------------------------------------------------------------------------------------------------------ */

typedef struct sgemm_device {
  char name[64];
  int major, minor;                  /* compute capability */
  int multiprocessors;               /* SMs */
  int lanes;                         /* fp32 FMA lanes of an SM: 64 or 128 */
  int clock_mhz;                     /* the highest SM clock */
  int64_t l2_bytes;                  /* L2 cache */
  int threads_per_sm, blocks_per_sm; /* resident at most */
  int registers_per_sm;              /* 32-bit registers */
  int64_t shared_per_sm;             /* bytes of shared memory */
  int64_t shared_reserved;           /* of them the system takes per block: 1024 from sm_80 on */
  double peak_gflops;                /* 2 * lanes * SMs * clock: fp32 FMA, no tensor cores */
  double bandwidth_gbs;              /* memory clock * bus width, both edges */
} sgemm_device;

/* The few figures of a device that the selection goes by. */
typedef struct sgemm_machine {
  int multiprocessors;  /* SMs */
  int arch;             /* 10 * major + minor of the kernels' code in use, which may be older than the device */
  int lanes;            /* fp32 FMA lanes of an SM */
  int clock_mhz;        /* the highest SM clock */
  double bandwidth_gbs; /* of memory */
  int shared_per_block; /* bytes of shared memory that a block may ask for */
  int wgmma;            /* 1: the kernels' code in use is of sm_90a */
  int l2_bytes;         /* bytes that the L2 holds */
} sgemm_machine;

/* ---- Variants ---------------------------------------------------------------------------------------------------- */

/* An operand of a tensor mode, split: row i of op(A), or column i of op(B), is row i of it. docs/tensor.md draws it. Or one
   of tma, packed, without units and marks: see sgemm__pack(). */
typedef struct sgemm__operand {
  void *planes;    /* 16-bit parts, in the order in which tensor cores take them; or fp32, as FMAs do */
  float *units;    /* powers of two: what 1 stands for, for each row and SGEMM__UNIT_K of k */
  uint32_t *marks; /* what is to be known of each SGEMM__PANEL rows and SGEMM__UNIT_K of k: see SGEMM__MARK_LOST */
  int64_t rows;    /* whole panels */
  int64_t batch;   /* matrices: 1 where all the batch shares one */
  int ready;       /* 1: prepared before this call; of tma: taken as it is */
} sgemm__operand;

/* What a kernel receives: params made row-major and free of special cases (sgemm__arguments() below). */
typedef struct sgemm__args {
  int64_t m, n, k;
  int64_t lda, ldb, ldc;
  int64_t batch, stride_a, stride_b, stride_c;
  const float *A, *B;
  float *C;
  float alpha, beta;
  uint32_t tiles_m, tiles_n; /* tiles of C along m and n */
  int64_t k_plane;           /* k of a plane; k where there is one plane */
  int64_t stride_plane;      /* from a result's plane to the next in the workspace */
  int planes;                /* of a tensor mode */
  uint32_t *verdict;         /* of the tensor mode's guard: 0, or why it fired; NULL: no such mode */
  int when_fired;            /* where there is a verdict: 1: the kernel runs if the guard fired; 0: if it did not */
  int trans_a, trans_b;      /* 1: op T */
  sgemm__operand a, b;       /* of a tensor mode or of tma */
  uint32_t blocks;           /* of tma: that work side by side, */
  uint32_t turns;            /* and tiles that each does before another takes its place */
  uint32_t shared;           /* of tma: tiles that make no whole round of blocks, and */
  uint32_t shares;           /* blocks that share their k; 0: none do */
  uint64_t share_steps;      /* of BK, that each of these gets, in units of 2^-32 */
  float *partials;           /* of tma: two partial tiles a share, of */
  int BM, BN, BK;            /* rows and columns each; and k of a step */
  uint32_t sums;             /* of these tiles: threads that share each sum, a power of two up to 32 */
} sgemm__args;

/* An operand of tma as its tensor map describes it: `high` rows of memory of `wide` elements, ld apart, of so many matrices;
   and of how many rows one copy brings SGEMM__BOX elements. */
typedef struct sgemm__view {
  const float *first;
  int64_t wide, high, ld, matrices, stride;
  int rows;
} sgemm__view;

/* Blocks of a launch, and threads of a block: x counts the tiles of one C, y * z >= batch, with y and z <= 65535. */
typedef struct sgemm__grid {
  unsigned x, y, z, threads;
  unsigned ranks;  /* blocks of a cluster, along x */
  unsigned shared; /* bytes of dynamic shared memory */
} sgemm__grid;

static inline sgemm__view sgemm__view_of(const sgemm__args *args, int of_b, int E, int BK) {
  const int along_k = of_b ? args->trans_b : !args->trans_a;
  const int64_t extent = of_b ? args->n : args->m;
  sgemm__view v;
  v.first = of_b ? args->B : args->A;
  v.wide = along_k ? args->k : extent;
  v.high = along_k ? extent : args->k;
  v.ld = of_b ? args->ldb : args->lda;
  v.stride = of_b ? args->stride_b : args->stride_a;
  v.matrices = v.stride == 0 ? 1 : args->batch;
  v.stride = v.matrices > 1 ? v.stride : v.ld; /* of one alone, any that can be */
  v.rows = along_k ? E : BK;
  return v;
}

#include "sgemm_kernels.cuh" /* the stages, the variants, and under SGEMM_IMPLEMENTATION the kernels */

typedef struct sgemm_variant_info {
  const char *name;       /* sgemm_tiled_32x32x32_1x1; its kernels append _nn, _nt, _tn, _tt for the ops of A and B */
  const char *stage_name; /* tiled */
  const char *reason;     /* why the row is there */
  sgemm_stage stage;
  int BM, BN, BK; /* tile of C that a block computes, and the depth of one step along k */
  int TM, TN;     /* results that a thread computes */
  int WM, WN;     /* tile that a warp computes; BM, BN where the stage knows no warps */
  int V;          /* elements of one access: 4 (128 bits) or 1 */
  int bufs;       /* tiles of each operand that shared memory holds at a time */
  int slices;     /* groups of threads that share each tile's k */
  int split;      /* 1: the blocks of a cluster may share a tile's k */
  int packs;      /* 1: operands go by tensor maps, or else are packed into the workspace; sm_90a alone */
  int shared;     /* bytes of dynamic shared memory of a block */
  int resident;   /* blocks that fit on an SM of 228 KiB of shared memory, `blocks` at most */
  int threads;    /* of a block */
  int blocks;     /* resident on a multiprocessor that the registers are budgeted for */
  int production; /* 1: a candidate where no stage is pinned */
} sgemm_variant_info;

/* The row of a variant; NULL if there is no such variant. */
static inline const sgemm_variant_info *sgemm_variant_get(sgemm_variant variant) {
  static const sgemm_variant_info rows[SGEMM_VARIANT_COUNT] = {
#define SGEMM__X(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks, production, reason)                       \
  {SGEMM__STRING(SGEMM__NAME(stage, BM, BN, BK, TM, TN)),                                                              \
   #stage,                                                                                                             \
   reason,                                                                                                             \
   SGEMM_STAGE_##stage,                                                                                                \
   BM,                                                                                                                 \
   BN,                                                                                                                 \
   BK,                                                                                                                 \
   TM,                                                                                                                 \
   TN,                                                                                                                 \
   WM,                                                                                                                 \
   WN,                                                                                                                 \
   V,                                                                                                                  \
   bufs,                                                                                                               \
   slices,                                                                                                             \
   SGEMM__SPLIT_##stage,                                                                                               \
   SGEMM__PACKS_##stage,                                                                                               \
   SGEMM__SHARED_BYTES(SGEMM__PACKS_##stage, SGEMM__SPLIT_##stage, BM, BN, BK, bufs, slices),                          \
   SGEMM__RESIDENT_BLOCKS(SGEMM__PACKS_##stage, SGEMM__SPLIT_##stage, BM, BN, BK, bufs, slices, blocks),               \
   SGEMM__BLOCK_THREADS(SGEMM__PACKS_##stage, BM, BN, TM, TN, slices),                                                 \
   blocks,                                                                                                             \
   production},
      SGEMM_VARIANTS(SGEMM__X)
#undef SGEMM__X
  };
  return (int)variant >= 0 && variant < SGEMM_VARIANT_COUNT ? &rows[variant] : NULL;
}

/* ---- Helpers ----------------------------------------------------------------------------------------------------- */

/* 2 m n k: a multiplication and an addition for each step of each dot product, the field's convention. With alpha and
   beta the exact count is m n (2k + 3). In double, since 2 m n k passes 2^31 at a square of 1024. */
static inline double sgemm_flops(int64_t m, int64_t n, int64_t k) { return 2.0 * (double)m * (double)n * (double)k; }

/* The fewest bytes that any kernel moves: A and B read once, C written once, and read once only if beta is not 0. */
static inline double sgemm_min_bytes(int64_t m, int64_t n, int64_t k, float beta) {
  const double mn = (double)m * (double)n;
  return 4.0 * ((double)m * (double)k + (double)k * (double)n + mn + (beta != 0.0f ? mn : 0.0));
}

/* FLOP per byte: n/8 for a square with beta, n/6 without; 0 where there are no bytes. */
static inline double sgemm_intensity(double flops, double bytes) { return bytes > 0.0 ? flops / bytes : 0.0; }

/* The intensity at which a machine of that peak (GFLOP/s) and bandwidth (GB/s) passes from memory- to compute-bound.
   Source for this and the next two: Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009. */
static inline double sgemm_ridge(double peak_gflops, double bandwidth_gbs) { return peak_gflops / bandwidth_gbs; }

/* GFLOP/s that the roofline allows at an intensity: min(peak, bandwidth * intensity). */
static inline double sgemm_attainable(double peak_gflops, double bandwidth_gbs, double intensity) {
  const double slope = bandwidth_gbs * intensity;
  return slope < peak_gflops ? slope : peak_gflops;
}

typedef enum sgemm_bound { SGEMM_BOUND_MEMORY, SGEMM_BOUND_COMPUTE } sgemm_bound;

/* Which side of the roofline binds at an intensity; the ridge itself counts as compute. */
static inline sgemm_bound sgemm_bound_at(double peak_gflops, double bandwidth_gbs, double intensity) {
  return bandwidth_gbs * intensity < peak_gflops ? SGEMM_BOUND_MEMORY : SGEMM_BOUND_COMPUTE;
}

/* What one measurement says. Percentages are 0 where their reference was not given. */
typedef struct sgemm_metrics {
  double elapsed_ms;
  double gflops;            /* sgemm_flops() of the whole batch over the time */
  double bandwidth_gbs;     /* sgemm_min_bytes() of the whole batch over the time: a lower bound of the real traffic */
  double intensity;         /* FLOP per byte of that minimum */
  double percent_of_peak;   /* of peak_gflops */
  double percent_of_cublas; /* cuBLAS's time over ours */
} sgemm_metrics;

/* elapsed_ms > 0 for the call p; peak_gflops and cublas_ms may be 0 for unknown. */
static inline sgemm_metrics sgemm_metrics_of(const sgemm_params *p, double elapsed_ms, double peak_gflops,
                                             double cublas_ms) {
  const double flops = sgemm_flops(p->m, p->n, p->k) * (double)p->batch;
  const double bytes = sgemm_min_bytes(p->m, p->n, p->k, p->beta) * (double)p->batch;
  sgemm_metrics r;
  r.elapsed_ms = elapsed_ms;
  r.gflops = flops / elapsed_ms * 1e-6;
  r.bandwidth_gbs = bytes / elapsed_ms * 1e-6;
  r.intensity = sgemm_intensity(flops, bytes);
  r.percent_of_peak = peak_gflops > 0.0 ? 100.0 * r.gflops / peak_gflops : 0.0;
  r.percent_of_cublas = cublas_ms > 0.0 ? 100.0 * cublas_ms / elapsed_ms : 0.0;
  return r;
}

/* One line: "label: 7.0500 ms, 19495 GFLOP/s, ...". Returns fprintf's result. */
static inline int sgemm_metrics_print(FILE *file, const char *label, const sgemm_metrics *r) {
  return fprintf(file, "%s: %.4f ms, %.0f GFLOP/s, %.1f GB/s, %.1f FLOP/byte, %.1f %% of peak, %.1f %% of cuBLAS\n",
                 label, r->elapsed_ms, r->gflops, r->bandwidth_gbs, r->intensity, r->percent_of_peak,
                 r->percent_of_cublas);
}

/* ---- Occupancy --------------------------------------------------------------------------------------------------- */

typedef enum sgemm_limit {
  SGEMM_LIMIT_THREADS,
  SGEMM_LIMIT_BLOCKS,
  SGEMM_LIMIT_REGISTERS,
  SGEMM_LIMIT_SHARED
} sgemm_limit;

typedef struct sgemm_occupancy {
  int blocks;        /* resident on an SM */
  int warps;         /* resident on an SM */
  double fraction;   /* warps over the SM's most */
  sgemm_limit limit; /* what allows no further block */
} sgemm_occupancy;

/* Occupancy from the numbers of a kernel: threads of a block (1 to 1024), registers of a thread (1 to 255), bytes of
   shared memory of a block. Registers are given out to a warp in units of 256 and to an SM's four quarters apart (CUDA
   C++ Programming Guide, "Compute Capabilities"). */
static inline sgemm_occupancy sgemm_occupancy_of(const sgemm_device *d, int threads, int registers, int64_t shared) {
  const int warps = (threads + 31) / 32;
  const int warp_registers = (registers * 32 + 255) / 256 * 256;
  const int64_t block_shared = (shared + d->shared_reserved + 127) / 128 * 128;
  int64_t fit[4];
  sgemm_occupancy r;
  fit[SGEMM_LIMIT_THREADS] = d->threads_per_sm / (warps * 32);
  fit[SGEMM_LIMIT_BLOCKS] = d->blocks_per_sm;
  fit[SGEMM_LIMIT_REGISTERS] = (int64_t)(d->registers_per_sm / 4 / warp_registers) * 4 / warps;
  fit[SGEMM_LIMIT_SHARED] = block_shared > 0 ? d->shared_per_sm / block_shared : d->blocks_per_sm;
  r.limit = SGEMM_LIMIT_THREADS;
  if (fit[SGEMM_LIMIT_BLOCKS] < fit[r.limit])
    r.limit = SGEMM_LIMIT_BLOCKS;
  if (fit[SGEMM_LIMIT_REGISTERS] < fit[r.limit])
    r.limit = SGEMM_LIMIT_REGISTERS;
  if (fit[SGEMM_LIMIT_SHARED] < fit[r.limit])
    r.limit = SGEMM_LIMIT_SHARED;
  r.blocks = (int)fit[r.limit];
  r.warps = r.blocks * warps;
  r.fraction = (double)(r.warps * 32) / d->threads_per_sm;
  return r;
}

/* Occupancy of a variant's kernel on a device of the machine. */
static inline sgemm_status sgemm_variant_occupancy(sgemm_variant variant, sgemm_op op_a, sgemm_op op_b,
                                                   const sgemm_device *device, sgemm_occupancy *out) {
  int registers;
  int64_t shared, local;
  const sgemm_status status = sgemm_kernel_resources(variant, op_a, op_b, &registers, &shared, &local);
  if (status == SGEMM_SUCCESS)
    *out = sgemm_occupancy_of(device, sgemm_variant_get(variant)->threads, registers, shared);
  return status;
}

/* ---- Validation -------------------------------------------------------------------------------------------------- */

static inline int sgemm__is_op(int op) { return op == SGEMM_N || op == SGEMM_T || op == SGEMM_C; }

/* 1 if no two of the batch's results share an element: whole matrices one behind the other, or rows interleaved. */
static inline int sgemm__apart(int64_t rows, int64_t width, int64_t ld, int64_t batch, int64_t stride) {
  return (double)stride >= (double)(rows - 1) * (double)ld + (double)width ||
         (stride >= width && (double)batch * (double)stride <= (double)ld);
}

/* 1 if a batch of rows x ld matrices stays below 2^60 elements, so that no offset overflows. */
static inline int sgemm__addressable(int64_t rows, int64_t ld, int64_t batch, int64_t stride) {
  return (double)rows * (double)ld + (double)batch * (double)stride < 1152921504606846976.0;
}

static inline int sgemm__bad_pointer(const void *p) { return p == NULL || (uintptr_t)p % sizeof(float) != 0; }

/* Nothing to compute: C stays as it is. */
static inline int sgemm__is_noop(const sgemm_params *p) {
  return p->m == 0 || p->n == 0 || p->batch == 0 || ((p->alpha == 0.0f || p->k == 0) && p->beta == 1.0f);
}

/* The first fault in the order of SGEMM_STATUS_LIST, or SGEMM_SUCCESS. Touches no matrix. */
static inline sgemm_status sgemm_check(const sgemm_params *p) {
  int a_plain, b_plain, row_major;
  int64_t a_rows, a_width, b_rows, b_width, c_rows, c_width;
  if (p == NULL)
    return SGEMM_ERROR_PARAMS;
  if (p->order != SGEMM_ROW_MAJOR && p->order != SGEMM_COL_MAJOR)
    return SGEMM_ERROR_ORDER;
  if (!sgemm__is_op(p->op_a))
    return SGEMM_ERROR_OP_A;
  if (!sgemm__is_op(p->op_b))
    return SGEMM_ERROR_OP_B;
  if (p->mode != SGEMM_STRICT && p->mode != SGEMM_TENSOR && p->mode != SGEMM_TENSOR_FULL)
    return SGEMM_ERROR_MODE;
  if (p->m < 0)
    return SGEMM_ERROR_M;
  if (p->n < 0)
    return SGEMM_ERROR_N;
  if (p->k < 0)
    return SGEMM_ERROR_K;

  row_major = p->order == SGEMM_ROW_MAJOR; /* a stored "row" of a column-major matrix is its column */
  a_plain = (p->op_a == SGEMM_N) == row_major;
  b_plain = (p->op_b == SGEMM_N) == row_major;
  a_rows = a_plain ? p->m : p->k;
  a_width = a_plain ? p->k : p->m;
  b_rows = b_plain ? p->k : p->n;
  b_width = b_plain ? p->n : p->k;
  c_rows = row_major ? p->m : p->n;
  c_width = row_major ? p->n : p->m;
  if (p->lda < sgemm__max(1, a_width))
    return SGEMM_ERROR_LDA;
  if (p->ldb < sgemm__max(1, b_width))
    return SGEMM_ERROR_LDB;
  if (p->ldc < sgemm__max(1, c_width))
    return SGEMM_ERROR_LDC;
  if (p->batch < 0)
    return SGEMM_ERROR_BATCH;
  if (p->batch > 1 && p->stride_a < 0)
    return SGEMM_ERROR_STRIDE_A;
  if (p->batch > 1 && p->stride_b < 0)
    return SGEMM_ERROR_STRIDE_B;
  if (p->batch > 1 && c_rows > 0 && c_width > 0 && !sgemm__apart(c_rows, c_width, p->ldc, p->batch, p->stride_c))
    return SGEMM_ERROR_STRIDE_C;
  if (!sgemm__addressable(a_rows, p->lda, p->batch, p->batch > 1 ? p->stride_a : 0) ||
      !sgemm__addressable(b_rows, p->ldb, p->batch, p->batch > 1 ? p->stride_b : 0) ||
      !sgemm__addressable(c_rows, p->ldc, p->batch, p->batch > 1 ? p->stride_c : 0))
    return SGEMM_ERROR_TOO_LARGE;

  if (sgemm__is_noop(p))
    return SGEMM_SUCCESS;
  if (p->alpha != 0.0f && p->k > 0) {
    if (sgemm__bad_pointer(p->A))
      return SGEMM_ERROR_A;
    if (sgemm__bad_pointer(p->B))
      return SGEMM_ERROR_B;
  }
  if (sgemm__bad_pointer(p->C))
    return SGEMM_ERROR_C;
  if ((uintptr_t)p->workspace % 16 != 0 || p->workspace_bytes < 0 || (p->workspace == NULL && p->workspace_bytes > 0))
    return SGEMM_ERROR_WORKSPACE;
  return (uintptr_t)p->prepared_a % 16 != 0 || (uintptr_t)p->prepared_b % 16 != 0 ||
                 (p->mode == SGEMM_STRICT && (p->prepared_a != NULL || p->prepared_b != NULL))
             ? SGEMM_ERROR_PREPARED
             : SGEMM_SUCCESS;
}

/* ---- Selection --------------------------------------------------------------------------------------------------- */

/* How a multiplication runs: a row of the table, and into how many parts k is cut. */
typedef struct sgemm_plan {
  sgemm_variant variant;
  int ranks; /* blocks of a cluster that share a tile's k: 1, 2, 4 or 8; above 1 for rows with split, from sm_90 on */
  int planes; /* partial results in the workspace, summed by a second launch; above 1 for rows with 3 or more buffers. Of a
                 row that packs: blocks that share the tiles that make no whole round of so many, 1: none do */
} sgemm_plan;

/* Params as a kernel wants them. Column-major is the transposed product, C' = op(B)' op(A)', so the operands change
   places. alpha = 0 becomes k = 0, and the epilogue alpha * 0 + beta * C then has to give beta * C to the bit: alpha = -0
   does, since -0 + x = x for every x, also for x = -0; with beta = 0 alpha = +0 stores +0. */
static inline sgemm__args sgemm__arguments(const sgemm_params *p) {
  const int swap = p->order == SGEMM_COL_MAJOR;
  sgemm__args a;
  a.m = swap ? p->n : p->m;
  a.n = swap ? p->m : p->n;
  a.k = p->alpha == 0.0f ? 0 : p->k;
  a.A = swap ? p->B : p->A;
  a.B = swap ? p->A : p->B;
  a.C = p->C;
  a.lda = swap ? p->ldb : p->lda;
  a.ldb = swap ? p->lda : p->ldb;
  a.ldc = p->ldc;
  a.batch = p->batch;
  a.stride_a = swap ? p->stride_b : p->stride_a;
  a.stride_b = swap ? p->stride_a : p->stride_b;
  a.stride_c = p->stride_c;
  a.alpha = a.k > 0 ? p->alpha : p->beta == 0.0f ? 0.0f : -0.0f;
  a.beta = p->beta;
  a.tiles_m = 0;
  a.tiles_n = 0;
  a.k_plane = a.k;
  a.stride_plane = 0;
  a.verdict = NULL;
  a.when_fired = 0;
  a.blocks = 0;
  a.turns = 0;
  a.shared = 0;
  a.shares = 0;
  a.share_steps = 0;
  a.partials = NULL;
  a.BM = 0;
  a.BN = 0;
  a.BK = 0;
  a.sums = 0;
  a.trans_a = (swap ? p->op_b : p->op_a) != SGEMM_N;
  a.trans_b = (swap ? p->op_a : p->op_b) != SGEMM_N;
  return a;
}

/* What a call makes of an operand, split or packed: fewer matrices than the batch where all of it shares one. */
static inline int64_t sgemm__matrices_of(int64_t batch, int64_t stride) { return stride == 0 ? 1 : batch; }

/* 1 if a tensor map can describe an operand, so that tma takes it as it is: all its rows from multiples of 16 bytes on, and
   from one matrix of the batch to the next whole rows (CUDA Driver API, cuTensorMapEncodeTiled; strides are below 2^40
   bytes there). NULL counts as aligned: who asks for a workspace may not have the pointers yet. */
static inline int sgemm__mappable(const float *X, int64_t ld, int64_t matrices, int64_t stride) {
  const int64_t most = INT64_C(1) << 38;
  return (uintptr_t)X % 16 == 0 && ld % 4 == 0 && ld < most && (matrices <= 1 || (stride % ld == 0 && stride < most));
}

/* 1 if B of op NN is better packed along k, where there is room, than taken as it is: with A along k and B along n the loop
   is 1 to 4 % slower (docs/performance.md), and packing moves 8 bytes for the m FMAs of an element, in a launch of its own. */
static inline int sgemm__turns(const sgemm__args *args) {
  return !args->trans_a && !args->trans_b && args->m > SGEMM__TURN_ROWS && args->k >= SGEMM__TURN_K;
}

/* The workspace of a row that packs: those operands that are not ready, along k, and two partial tiles a share. Fills in
   args and returns its bytes; INT64_MAX stands for more than there can be, and for sizes that tensor maps cannot tell. */
static inline int64_t sgemm__packed_at(const sgemm_plan *plan, const sgemm_params *p, sgemm__args *args) {
  const sgemm_variant_info *v = sgemm_variant_get(plan->variant);
  const int64_t shares = plan->planes > 1 ? plan->planes : 0, most = INT32_MAX - 4096; /* tiles reach beyond */
  double matrices; /* none count as one, whose sizes are multiplied all the same */
  int64_t k, a_floats, b_floats, partials;
  *args = sgemm__arguments(p);
  matrices = (double)sgemm__max(args->batch, 1);
  args->a.rows = args->b.rows = args->a.batch = args->b.batch = 0; /* of more than there can be */
  args->a.ready = args->b.ready = 0;
  if (args->m > most || args->n > most || args->k > most || args->batch > most ||
      (((double)args->m + v->BM + (double)args->n + v->BN) * ((double)args->k + SGEMM__PACK_K) +
       2.0 * (double)shares * v->BM * v->BN) *
              matrices >
          1e17)
    return INT64_MAX;
  k = sgemm__ceil_div(args->k, SGEMM__PACK_K) * SGEMM__PACK_K;
  args->BM = v->BM;
  args->BN = v->BN;
  args->BK = v->BK;
  args->a.rows = sgemm__ceil_div(args->m, SGEMM__PACK_ROWS) * SGEMM__PACK_ROWS;
  args->b.rows = sgemm__ceil_div(args->n, SGEMM__PACK_ROWS) * SGEMM__PACK_ROWS;
  args->a.batch = sgemm__matrices_of(args->batch, args->stride_a);
  args->b.batch = sgemm__matrices_of(args->batch, args->stride_b);
  args->a.ready = sgemm__mappable(args->A, args->lda, args->a.batch, args->stride_a);
  args->b.ready = sgemm__mappable(args->B, args->ldb, args->b.batch, args->stride_b);
  a_floats = args->a.ready ? 0 : args->a.rows * k * args->a.batch;
  b_floats = args->b.rows * k * args->b.batch;
  partials = 2 * shares * v->BM * v->BN;
  args->b.ready = args->b.ready && !(sgemm__turns(args) && 4 * (a_floats + b_floats + partials) <= p->workspace_bytes);
  b_floats = args->b.ready ? 0 : b_floats;
  args->a.planes = p->workspace;
  args->b.planes = p->workspace == NULL ? NULL : (float *)p->workspace + a_floats;
  args->partials = p->workspace == NULL ? NULL : (float *)p->workspace + a_floats + b_floats;
  return 4 * (a_floats + b_floats + partials);
}

/* Bytes of workspace that a plan takes: its planes, in rows padded to 16 bytes, 0 for one plane; or of tma, see above.
   INT64_MAX stands for more than there can be. */
static inline int64_t sgemm_plan_workspace(const sgemm_plan *plan, const sgemm_params *p) {
  const sgemm_variant_info *v = sgemm_variant_get(plan->variant);
  sgemm__args args;
  const int swap = p->order == SGEMM_COL_MAJOR;
  const int64_t row = 16 * sgemm__ceil_div(swap ? p->m : p->n, 4), rows = swap ? p->n : p->m;
  if (v != NULL && v->packs)
    return sgemm__packed_at(plan, p, &args);
  if (plan->planes <= 1)
    return 0;
  return (double)row * (double)rows * (double)p->batch * plan->planes < 4611686018427387904.0
             ? row * rows * p->batch * plan->planes
             : INT64_MAX;
}

/* The figures that a plan's time is reckoned from, in clocks of an SM. examples/tune measures plans on a GPU, fits these to
   their times and writes this part. */
typedef struct sgemm__figures {
  double launch;  /* of a kernel, with nothing to do */
  double cluster; /* the sum over a cluster's ranks */
  double planes;  /* the second launch, where k is in planes */
  double plane;   /* each plane that it sums */
  double warps;   /* resident on an SM at which a row has half of its rate */
  double copy;    /* an element copied to shared memory by itself, not four at a time */
  double place;   /* the same through registers, in stages before async */
  double guard;   /* the same where it is not certain to be inside the matrix */
  double latency; /* from a tile's request to its arrival */
  double ingest;  /* bytes that an SM takes in a clock, from wherever */
  double memory;  /* share of the bandwidth that a kernel sees */
  double drift;   /* share of what tiles take in anew that costs as from memory, each k above 4096; not fitted */
  struct {
    double rate;  /* FMAs a clock of a full SM, of its 128 lanes */
    double round; /* that a round of resident blocks takes besides: its first loads and its stores */
  } rows[SGEMM_VARIANT_COUNT];
} sgemm__figures;

/* BEGIN figures */
static const sgemm__figures sgemm__measured = {2550,
                                               2962,
                                               5022,
                                               0,
                                               1.61,
                                               0.0556,
                                               0.0455,
                                               0.0985,
                                               73,
                                               46.3,
                                               0.698,
                                               1.39e-05,
                                               {
                                                   {11.6, 1742},  /* sgemm_naive_32x32x1_1x1 */
                                                   {14.0, 2134},  /* sgemm_coalesced_32x32x1_1x1 */
                                                   {17.8, 3064},  /* sgemm_tiled_16x16x16_1x1 */
                                                   {17.2, 1813},  /* sgemm_tiled_32x32x32_1x1 */
                                                   {35.8, 3487},  /* sgemm_tile1d_64x64x8_8x1 */
                                                   {44.3, 3063},  /* sgemm_tile1d_64x64x32_8x1 */
                                                   {72.3, 11308}, /* sgemm_tile2d_128x128x8_8x8 */
                                                   {81.2, 3063},  /* sgemm_vectorized_128x128x8_8x8 */
                                                   {90.5, 6432},  /* sgemm_warptiled_128x128x16_8x16 */
                                                   {83.4, 3718},  /* sgemm_warptiled_128x128x8_8x8 */
                                                   {113.3, 7219}, /* sgemm_doublebuffered_128x256x8_16x8 */
                                                   {100.3, 4188}, /* sgemm_doublebuffered_128x128x8_8x8 */
                                                   {104.8, 4630}, /* sgemm_doublebuffered_128x64x16_8x8 */
                                                   {84.5, 3361},  /* sgemm_doublebuffered_64x64x16_8x4 */
                                                   {71.2, 2069},  /* sgemm_doublebuffered_32x64x16_4x4 */
                                                   {63.2, 2028},  /* sgemm_doublebuffered_32x32x16_4x4 */
                                                   {113.2, 9118}, /* sgemm_async_128x256x16_16x8 */
                                                   {117.2, 9227}, /* sgemm_async_128x256x8_16x8 */
                                                   {112.5, 8410}, /* sgemm_async_256x128x8_16x8 */
                                                   {111.2, 4525}, /* sgemm_async_64x128x16_8x8 */
                                                   {109.2, 4588}, /* sgemm_async_128x64x16_8x8 */
                                                   {94.6, 2906},  /* sgemm_async_64x64x16_8x4 */
                                                   {99.4, 3834},  /* sgemm_async_64x64x8_8x8 */
                                                   {97.0, 3717},  /* sgemm_async_32x128x32_8x4 */
                                                   {91.4, 3255},  /* sgemm_async_128x32x32_4x8 */
                                                   {95.4, 4879},  /* sgemm_splitk_64x128x16_8x8 */
                                                   {91.7, 3899},  /* sgemm_splitk_64x64x32_8x4 */
                                                   {83.6, 3106},  /* sgemm_splitk_32x64x32_8x4 */
                                                   {75.9, 3184},  /* sgemm_splitk_32x32x64_4x4 */
                                                   {80.8, 3009},  /* sgemm_splitk_16x128x32_16x4 */
                                                   {66.2, 2609},  /* sgemm_splitk_8x128x32_8x4 */
                                                   {52.7, 3259},  /* sgemm_splitk_4x128x32_4x4 */
                                                   {78.1, 3434},  /* sgemm_splitk_128x16x32_4x16 */
                                                   {63.3, 2820},  /* sgemm_splitk_128x8x32_4x8 */
                                                   {45.0, 2628},  /* sgemm_splitk_128x4x32_4x4 */
                                                   {79.6, 2787},  /* sgemm_splitk_16x32x128_4x4 */
                                                   {56.3, 2486},  /* sgemm_splitk_8x32x128_4x4 */
                                                   {47.7, 3895},  /* sgemm_splitk_4x32x128_4x4 */
                                                   {79.1, 2715},  /* sgemm_splitk_32x16x128_4x4 */
                                                   {62.9, 2507},  /* sgemm_splitk_32x8x128_4x4 */
                                                   {42.1, 3519},  /* sgemm_splitk_32x4x128_4x4 */
                                                   {18.0, 2600},  /* sgemm_gemv_1x32x256_1x4 */
                                                   {18.0, 2600},  /* sgemm_gemv_32x1x256_4x1 */
                                                   {122.2, 2193}, /* sgemm_tma_64x128x64_16x8 */
                                                   {122.3, 2234}, /* sgemm_tma_128x64x64_16x8 */
                                                   {119.4, 1763}, /* sgemm_tma_64x64x32_16x8 */
                                                   {120.6, 1891}, /* sgemm_tma_32x32x128_16x8 */
                                                   {120.6, 2443}, /* sgemm_tma_32x256x64_16x8 */
                                                   {122.4, 1964}, /* sgemm_tma_256x32x64_16x8 */
                                               }};
/* END figures */

/* What the reckoning takes from params and machine, once for all plans; in doubles, which are exact enough. */
typedef struct sgemm__problem {
  double m, n, k, batch;
  double a_batch, b_batch;  /* matrices of an operand */
  int a_along_k, b_along_k; /* 1: contiguous along k in memory */
  int a_vectors, b_vectors; /* 1: rows can start on 16 bytes */
  double pack;              /* clocks to pack the operands of tma; 0 where it takes them as they are */
  double sms, per_sm;       /* of the machine; 1 / sms */
  double lane;              /* 128 over the FMA lanes of an SM */
  double ingest;            /* clocks to take in a byte, if all SMs are at it */
  double byte;              /* clocks in which memory moves a byte, at its full bandwidth */
  double bytes, memory;     /* the least that memory moves, and the clocks that takes */
  double l2;                /* bytes that the L2 holds */
  double fmas;              /* clocks of all FMAs, if all SMs' lanes are at it */
  double result;            /* clocks until elements of C have come, where beta asks for them */
} sgemm__problem;

static inline sgemm__problem sgemm__problem_of(const sgemm_params *p, const sgemm_machine *machine,
                                               const sgemm__figures *f) {
  const sgemm__args a = sgemm__arguments(p);
  const int row_major = p->order == SGEMM_ROW_MAJOR;
  double packed; /* elements */
  int turned;
  sgemm__problem q;
  q.m = (double)a.m;
  q.n = (double)a.n;
  q.k = (double)a.k;
  q.batch = (double)a.batch;
  q.a_batch = (double)sgemm__matrices_of(a.batch, a.stride_a);
  q.b_batch = (double)sgemm__matrices_of(a.batch, a.stride_b);
  q.a_along_k = (row_major ? p->op_a : p->op_b) == SGEMM_N;
  q.b_along_k = (row_major ? p->op_b : p->op_a) != SGEMM_N;
  q.a_vectors = a.lda % 4 == 0;
  q.b_vectors = a.ldb % 4 == 0;
  q.sms = machine->multiprocessors;
  q.per_sm = 1.0 / q.sms;
  q.lane = 128.0 / machine->lanes;
  q.ingest = q.per_sm / f->ingest;
  q.byte = 1e-3 / machine->bandwidth_gbs * machine->clock_mhz;
  q.bytes = sgemm_min_bytes(a.m, a.n, a.k, a.beta) * q.batch;
  q.memory = q.bytes * q.byte / f->memory;
  q.l2 = machine->l2_bytes;
  q.fmas = q.m * q.n * q.k * q.batch / 128.0 * q.lane * q.per_sm;
  q.result = a.beta != 0.0f ? 1000.0 : 0.0; /* measured: docs/performance.md, "Results that are read" */
  packed = sgemm__mappable(a.A, a.lda, (int64_t)q.a_batch, a.stride_a) ? 0.0 : q.m * q.k * q.a_batch;
  turned = sgemm__turns(&a) && 4.0 * (packed + q.n * q.k * q.b_batch) <= (double)p->workspace_bytes;
  packed += sgemm__mappable(a.B, a.ldb, (int64_t)q.b_batch, a.stride_b) && !turned ? 0.0 : q.n * q.k * q.b_batch;
  /* It reads and writes 4 bytes an element at 0.9 of the bandwidth, in a launch of its own. */
  q.pack = packed > 0.0 ? f->launch + packed * 8.0 * q.byte / 0.9 : 0.0;
  return q;
}

static inline double sgemm__ceil(double x) {
  const double floor = (double)(int64_t)x;
  return floor < x ? floor + 1.0 : floor;
}

static inline double sgemm__larger(double a, double b) { return a > b ? a : b; }

/* The same of a row. */
typedef struct sgemm__row {
  double tiles;         /* of C, in all the batch */
  double fma, per_k;    /* clocks of a tile's step along k on an SM full of blocks: its FMAs, and its copies too */
  double round;         /* clocks that a round takes besides */
  double half;          /* blocks on an SM at which it has half of its rate */
  double arrival;       /* clocks from one tile of k to the next, at least */
  double bytes;         /* that a block takes in of a step along k */
  double pack;          /* of these before */
  double plane, places; /* clocks of a plane, or of a partial tile; blocks that the machine holds */
  double steps;         /* of BK in all of k */
  double least; /* clocks that any plan takes besides what cutting k costs: all SMs at work all the time, or memory */
} sgemm__row;

/* 1 if the blocks of a row can compute planes of k. */
static inline int sgemm__cuts(const sgemm_variant_info *v) { return v->bufs >= 3 || v->stage == SGEMM_STAGE_gemv; }

/* Clocks that a round of a row takes besides its FMAs. Where beta asks for C, a thread waits for it once a piece of V results;
   rows of 8 x 8 from async on, and tma, load what is beside it too, so that they wait twice in all. */
static inline double sgemm__round(sgemm_variant variant, const sgemm__problem *q, const sgemm__figures *f) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const double pieces = (double)(v->TM * v->TN) / (v->V * v->slices);
  const int ahead = v->packs || (v->bufs > 2 && v->slices == 1 && v->TM * v->TN == 64);
  return f->rows[variant].round + q->result * (ahead ? 2.0 : sgemm__larger(pieces, 1.0));
}

/* Clocks that any plan of a row takes: all SMs at work all the time, or one at a tile alone, unless k is cut, which costs
   something too; or memory. */
static inline double sgemm__least(sgemm_variant variant, const sgemm__problem *q, const sgemm__figures *f) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const double tiles = sgemm__ceil(q->m / v->BM) * sgemm__ceil(q->n / v->BN) * q->batch;
  const double fma = v->BM * v->BN * q->lane / f->rows[variant].rate, even = tiles * fma * q->k * q->per_sm;
  const double alone = sgemm__larger(even, fma * q->k * (1.0 + f->warps * 32.0 / v->threads));
  const double cut = even + (v->split && f->cluster < f->planes ? f->cluster : f->planes);
  return f->launch + (v->packs ? q->pack : 0.0) +
         sgemm__larger((!sgemm__cuts(v) || alone < cut ? alone : cut) + sgemm__round(variant, q, f), q->memory);
}

static inline sgemm__row sgemm__row_of(sgemm_variant variant, const sgemm__problem *q, const sgemm__figures *f) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  /* An element along k is copied by itself where fragments are of more than 4, and any element of unaligned rows. */
  const double single = v->bufs > 2 ? f->copy : f->place;
  const double a_copy = v->packs ? 0.0 : !q->a_vectors ? f->guard : q->a_along_k && v->TM != 4 ? single : 0.0;
  const double b_copy = v->packs ? 0.0 : !q->b_vectors ? f->guard : q->b_along_k && v->TN != 4 ? single : 0.0;
  sgemm__row r;
  r.tiles = sgemm__ceil(q->m / v->BM) * sgemm__ceil(q->n / v->BN) * q->batch;
  r.fma = v->BM * v->BN * q->lane / f->rows[variant].rate;
  r.per_k = r.fma + a_copy * v->BM + b_copy * v->BN;
  r.round = sgemm__round(variant, q, f);
  r.half = f->warps * 32.0 / v->threads;
  r.arrival = f->latency / (v->bufs > 2 ? v->bufs - 1 : 1);
  r.bytes = 4.0 * (v->BM + v->BN);
  r.pack = v->packs ? q->pack : 0.0;
  r.plane = v->packs ? v->BM * v->BN * 8.0 * q->ingest : f->plane + q->m * q->n * q->batch * 8.0 * q->ingest;
  r.places = q->sms * v->resident;
  r.steps = sgemm__ceil(q->k / v->BK);
  r.least = f->launch + r.pack + sgemm__larger(r.tiles * r.fma * q->k * q->per_sm + r.round, q->memory);
  return r;
}

/* How many threads share each sum of so many parts of a tile: each loads 8 parts at a time. */
static inline uint32_t sgemm__sums_by(uint32_t parts) {
  return parts >= 128 ? 32 : parts >= 64 ? 16 : parts >= 32 ? 8 : parts >= 16 ? 4 : parts >= 8 ? 2 : 1;
}

/* What cutting k costs beside the work itself. */
static inline double sgemm__cut(const sgemm_plan *plan, const sgemm__row *r, const sgemm__figures *f) {
  return (plan->ranks > 1 ? f->cluster : 0.0) + (plan->planes > 1 ? f->planes + plan->planes * r->plane : 0.0);
}

/* Reckoned clocks of a plan. The busiest SM works through its blocks in rounds of as many as are resident; each block at
   the cost of a whole tile, whatever an edge cuts off, and no faster than its tiles arrive; the last round's may be shared
   by all SMs. Or memory binds, or what the SMs take in; where two are close, both are felt. */
static inline double sgemm__cost(const sgemm_plan *plan, const sgemm__row *r, const sgemm__problem *q,
                                 const sgemm__figures *f) {
  const sgemm_variant_info *v = sgemm_variant_get(plan->variant);
  const int shared = v->packs && plan->planes > 1; /* the last round's tiles, among all SMs */
  const int ranks = plan->ranks, planes = v->packs ? 1 : plan->planes;
  const double blocks = r->tiles * ranks * planes;
  const double steps = sgemm__ceil(r->steps / (ranks * planes)), k = steps * v->BK; /* of a block */
  /* A round: blocks that run at one time. Clusters fill the groups of some 16 SMs that they cannot leave only in part. */
  const double round = shared ? plan->planes
                              : sgemm__larger(r->places - (ranks - 1) * (double)(int)(q->sms / 32.0), ranks);
  const double rounds = (double)(int64_t)(blocks / round), left = blocks - rounds * round;
  /* Of the last round, on the busiest SM; 1e-9 is more than the rounding of per_sm. */
  const double rest = sgemm__ceil(left * q->per_sm - 1e-9);
  /* Shares that are no whole parts of a tile end one and begin another. */
  const double jobs = shared && left > 0.0 ? 1.0 + ((int64_t)round % (int64_t)left > 0) : 1.0;
  /* Blocks that stay begin once, not in each round: until the first tile has come. */
  const double starts = v->packs ? 3500.0 : 0.0;
  /* Who sums many parts of a tile waits for memory, some 2000 clocks, once for 8 of them. */
  const double parts = shared && left > 0.0 ? round / left : 1.0;
  const double waits = sgemm__ceil(parts / (8.0 * sgemm__sums_by((uint32_t)parts)));
  /* c blocks at once run at c / (c + r->half) of the rate. */
  const double alone = k * r->per_k, arrival = steps * r->arrival;
  const double full = sgemm__larger(alone * (v->resident + r->half), arrival) + r->round;
  const double last = shared       ? alone * (v->resident + r->half) * left / round + jobs * r->round
                      : rest > 0.0 ? sgemm__larger(alone * (rest + r->half), arrival) + r->round
                                   : 0.0;
  const double work = rounds * full + last, bytes = blocks * k * r->bytes, taken = bytes * q->ingest;
  const double work2 = work * work, taken2 = taken * taken, memory2 = q->memory * q->memory;
  /* Blocks that share what they read drift apart as k goes on, until the L2 holds it no longer for the last. Of what tiles
     of 64 x 128 take in an H200 read 10 % from memory at 8192 cubed and 29 % at 16384. That is no limit by itself; it takes
     power, and so clocks, whatever binds. */
  const double deep = shared && rounds < 1.0 ? k * left / round : k;
  const double again = deep > 4096.0 ? (deep - 4096.0) * f->drift * sgemm__larger(bytes - q->bytes, 0.0) * q->byte
                                     : 0.0;
  const double reckoned = f->launch + r->pack + sqrt(sqrt(work2 * work2 + taken2 * taken2 + memory2 * memory2)) +
                          again + sgemm__cut(plan, r, f) + (jobs - 1.0) * left * r->plane + (waits - 1.0) * 2000.0 +
                          starts;
  /* Where shares are no whole parts of a tile, tiles that take in the same rows come to a k at different times. What the L2
     cannot hold until then is read twice. */
  const double both = (q->n > v->BN ? q->m : 0.0) + (q->m > v->BM ? q->n : 0.0); /* rows that several tiles take in */
  const double twice = jobs > 1.0 && q->bytes * left > q->l2 * r->tiles ? 4.0 * q->k * q->batch * both * left / r->tiles
                                                                        : 0.0;
  /* The power that an H200 has is taken by FMAs at their full rate, by moving twice the bytes that memory can, or by taking
     in six times as many: docs/performance.md, "Plans at 700 W". The lesser bound is felt as well. */
  const double power = q->fmas + (0.49 * (q->bytes + twice) + 0.17 * bytes) * q->byte;
  return sgemm__larger(reckoned, power) + 0.06 * (reckoned < power ? reckoned : power);
}

/* 1 if the row and the machine can do the plan. */
static inline int sgemm__possible(const sgemm_plan *plan, const sgemm_machine *machine) {
  const sgemm_variant_info *v = sgemm_variant_get(plan->variant);
  const int ranks = plan->ranks;
  return (ranks == 1 || ((ranks == 2 || ranks == 4 || ranks == 8) && v->split && machine->arch >= 90)) &&
         (plan->planes == 1 || (plan->planes > 1 && sgemm__cuts(v))) && v->shared <= machine->shared_per_block &&
         (!v->packs || (machine->wgmma && plan->planes <= 65535));
}

/* How many of `places` share a matrix's tiles evenly: so many times the tiles; 0 where tiles are more. */
static inline int sgemm__even_shares(double tiles, int places) {
  return tiles >= 1.0 && tiles <= places ? places / (int)tiles * (int)tiles : 0;
}

/* Takes the plans of a row for the best where they are reckoned faster. */
static inline void sgemm__consider(sgemm_variant variant, const sgemm_params *p, const sgemm_machine *machine,
                                   const sgemm__problem *q, sgemm_plan *best, double *best_cost) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  const sgemm__row row = sgemm__row_of(variant, q, &sgemm__measured);
  const int most_ranks = v->split && machine->arch >= 90 ? 8 : 1;
  const int fills = v->packs || (sgemm__cuts(v) && p->workspace_bytes > 0) ? 2 : 0;
  sgemm_plan plan;
  plan.variant = variant;
  for (plan.ranks = 1; plan.ranks <= most_ranks; plan.ranks *= 2) {
    const double places = row.places / (row.tiles * plan.ranks); /* of a round, for each block so far */
    int fill;                                                    /* planes enough for so many rounds; 0: one plane */
    if (plan.ranks > 1 && 2.0 * plan.ranks * v->BK > q->k)
      return; /* as below, for any planes */
    for (fill = 0; fill <= fills; fill++) {
      double cost;
      plan.planes = fill == 0               ? 1
                    : v->packs && fill == 1 ? machine->multiprocessors * v->resident
                    : v->packs              ? sgemm__even_shares(row.tiles, machine->multiprocessors * v->resident)
                    : places * fill < 128.0 ? (int)(places * fill)
                                            : 128;
      if ((fill > 0 && plan.planes < 2) ||
          (plan.planes * plan.ranks > 1 && 2.0 * plan.planes * plan.ranks * v->BK > q->k && !v->packs) ||
          row.least + sgemm__cut(&plan, &row, &sgemm__measured) >= *best_cost || !sgemm__possible(&plan, machine))
        continue;
      cost = sgemm__cost(&plan, &row, q, &sgemm__measured);
      if (cost < *best_cost) {
        const int64_t bytes = sgemm_plan_workspace(&plan, p);
        if (bytes != INT64_MAX && bytes <= p->workspace_bytes) {
          *best = plan;
          *best_cost = cost;
        }
      }
    }
    if (places < 1.0)
      return; /* the SMs are full: nothing to gain from more blocks */
  }
}

/* The plan of least reckoned time for p, with what workspace p has, on a machine; of one stage, or of all stages for
   SGEMM_STAGE_COUNT, where production rows go before all others. A pure function of its arguments and of the
   implementation's SGEMM_STAGE. variant is SGEMM_VARIANT_COUNT where no row is compiled. */
static inline sgemm_plan sgemm_select(const sgemm_params *p, sgemm_stage stage, const sgemm_machine *machine) {
  const int any = stage == SGEMM_STAGE_COUNT;
  const sgemm__problem q = sgemm__problem_of(p, machine, &sgemm__measured);
  sgemm_plan best = {SGEMM_VARIANT_COUNT, 1, 1};
  const double never = 1e300; /* more than any plan takes */
  double least[SGEMM_VARIANT_COUNT], best_cost = never;
  int first, rows;
  for (first = any; first >= 0 && best.variant == SGEMM_VARIANT_COUNT; first--) { /* 1: production rows; 0: the rest */
    int promising = 0;
    for (rows = 0; rows < SGEMM_VARIANT_COUNT; rows++) {
      const sgemm_variant_info *v = sgemm_variant_get((sgemm_variant)rows);
      /* Pipelines wait for memory where the hardware has no cp.async. */
      const int goes_first = any && v->production && (v->bufs < 3 || machine->arch >= 80);
      least[rows] = (any || v->stage == stage) && goes_first == first && sgemm_compiled((sgemm_variant)rows)
                        ? sgemm__least((sgemm_variant)rows, &q, &sgemm__measured)
                        : never;
      promising = least[rows] < least[promising] ? rows : promising;
    }
    /* Begun with the row that could be the fastest, most others need no closer look. */
    for (rows = -1; rows < SGEMM_VARIANT_COUNT; rows++) {
      const int row = rows < 0 ? promising : rows;
      if (least[row] < best_cost)
        sgemm__consider((sgemm_variant)row, p, machine, &q, &best, &best_cost);
    }
  }
  return best;
}

/* ---- Tensor modes ------------------------------------------------------------------------------------------------ */

typedef struct sgemm_tensor_info {
  const char *name;   /* of its kernel: sgemm_wgmma_fp16x3_128x256 */
  const char *reason; /* why the row is there */
  sgemm_format format;
  int wgmma;        /* 1: needs sm_90a; 0: sm_80 */
  int parts;        /* 16-bit numbers of an element */
  int BM, BN;       /* tile of C that a block computes */
  int chunks, sums; /* as in SGEMM_TENSORS */
  int bufs;
  int shared, threads; /* bytes of dynamic shared memory of a block, and its threads */
} sgemm_tensor_info;

/* The row of a tensor mode; NULL if there is no such row. */
static inline const sgemm_tensor_info *sgemm_tensor_get(sgemm_tensor tensor) {
  static const sgemm_tensor_info rows[SGEMM_TENSOR_COUNT] = {
#define SGEMM__X(engine, format, BM, BN, WN, chunks, sums, bufs, reason)                                               \
  {"sgemm_" #engine "_" #format "_" #BM "x" #BN,                                                                       \
   reason,                                                                                                             \
   SGEMM_FORMAT_##format,                                                                                              \
   SGEMM__WGMMA_##engine,                                                                                              \
   SGEMM__PARTS_##format,                                                                                              \
   BM,                                                                                                                 \
   BN,                                                                                                                 \
   chunks,                                                                                                             \
   sums,                                                                                                               \
   bufs,                                                                                                               \
   bufs * SGEMM__BUFFER_BYTES(BM, BN, SGEMM__PARTS_##format),                                                          \
   SGEMM__TENSOR_THREADS_##engine},
      SGEMM_TENSORS(SGEMM__X)
#undef SGEMM__X
  };
  return (int)tensor >= 0 && tensor < SGEMM_TENSOR_COUNT ? &rows[tensor] : NULL;
}

/* How a tensor mode runs: a row of SGEMM_TENSORS, or SGEMM_TENSOR_COUNT for strict fp32; and into how many planes k is cut,
   as in sgemm_plan. */
typedef struct sgemm_tensor_plan {
  sgemm_tensor tensor;
  int planes;
} sgemm_tensor_plan;

/* One operand's memory from `memory` on (NULL: only its size is asked for): planes, units, marks, each from a multiple of
   128 bytes on. Tiles at the edge read up to 256 rows further than there are, which nothing uses. Returns its bytes. */
static inline int64_t sgemm__operand_at(sgemm__operand *o, char *memory, int64_t extent, int64_t k, int64_t batch,
                                        int parts) {
  const int64_t rows = sgemm__ceil_div(extent, SGEMM__PANEL) * SGEMM__PANEL;
  const int64_t blocks_k = sgemm__ceil_div(k, SGEMM__UNIT_K), chunks = SGEMM__CHUNKS(k);
  const int64_t planes = (rows * chunks * batch + 256) * SGEMM__ROW_BYTES(parts);
  const int64_t units = (rows * blocks_k * batch + 256) * 4;
  const int64_t marks = sgemm__ceil_div(rows / SGEMM__PANEL * blocks_k * batch * 4, 128) * 128;
  o->planes = memory;
  o->units = memory == NULL ? NULL : (float *)(memory + planes);
  o->marks = memory == NULL ? NULL : (uint32_t *)(memory + planes + units);
  o->rows = rows;
  o->batch = batch;
  o->ready = 0;
  return planes + units + marks;
}

/* The workspace of a tensor plan: 128 bytes whose first word is the verdict, the operands that are not prepared, the planes
   of C. Fills in args and returns its bytes; INT64_MAX stands for more than there can be. */
static inline int64_t sgemm__tensor_workspace(const sgemm_tensor_plan *plan, const sgemm_params *p, sgemm__args *args) {
  const sgemm_tensor_info *v = sgemm_tensor_get(plan->tensor);
  const int swap = p->order == SGEMM_COL_MAJOR;
  const void *prepared[2];
  char *memory = (char *)p->workspace;
  int64_t bytes = 128, operand;
  prepared[0] = swap ? p->prepared_b : p->prepared_a;
  prepared[1] = swap ? p->prepared_a : p->prepared_b;
  *args = sgemm__arguments(p);
  if (((double)args->m + (double)args->n) * ((double)args->k + 64.0) * (double)sgemm__max(args->batch, 1) * 8.0 > 1e18)
    return INT64_MAX;
  operand = sgemm__operand_at(&args->a,
                              prepared[0] != NULL ? (char *)prepared[0]
                              : memory == NULL    ? NULL
                                                  : memory + bytes,
                              args->m, args->k, sgemm__matrices_of(args->batch, args->stride_a), v->parts);
  args->a.ready = prepared[0] != NULL;
  bytes += args->a.ready ? 0 : operand;
  operand = sgemm__operand_at(&args->b,
                              prepared[1] != NULL ? (char *)prepared[1]
                              : memory == NULL    ? NULL
                                                  : memory + bytes,
                              args->n, args->k, sgemm__matrices_of(args->batch, args->stride_b), v->parts);
  args->b.ready = prepared[1] != NULL;
  bytes += args->b.ready ? 0 : operand;
  args->verdict = (uint32_t *)memory;
  if (plan->planes > 1) {
    const sgemm_plan planes = {SGEMM_VARIANT_COUNT, 1, plan->planes};
    const int64_t more = sgemm_plan_workspace(&planes, p);
    return more == INT64_MAX ? INT64_MAX : bytes + more;
  }
  return bytes;
}

/* Bytes of workspace that a tensor plan takes; 0 for strict fp32. */
static inline int64_t sgemm_tensor_workspace(const sgemm_tensor_plan *plan, const sgemm_params *p) {
  sgemm__args args;
  return sgemm_tensor_get(plan->tensor) == NULL ? 0 : sgemm__tensor_workspace(plan, p, &args);
}

/* Reckoned clocks of a strict plan. */
static inline double sgemm__strict_cost(const sgemm_plan *plan, const sgemm_params *p, const sgemm_machine *machine) {
  const sgemm__problem q = sgemm__problem_of(p, machine, &sgemm__measured);
  const sgemm__row r = sgemm__row_of(plan->variant, &q, &sgemm__measured);
  return sgemm__cost(plan, &r, &q, &sgemm__measured);
}

/* Clocks of a row of SGEMM_TENSORS: for a chunk of a tile, and for what a tile takes besides. From times of squares of 1024
   to 4096 on an H200. */
typedef struct sgemm__tensor_figures {
  double chunk, round;
} sgemm__tensor_figures;
static const sgemm__tensor_figures sgemm__tensor_measured[SGEMM_TENSOR_COUNT] = {
    {2250, 4000}, {1150, 4000}, {860, 4000}, {4080, 4000}, {2060, 4000}, {1200, 4000}, {2600, 4000}, {4400, 4000}};
static const double sgemm__split_measured = 4000; /* of a split, however small, besides its launch */

/* How many times longer than on sm_90 the mma rows are taken to need for a chunk. There they reach some 600 FMAs a clock of
   an SM. The peak is 1024 on sm_80 and on sm_100, and 256 with fp32 sums on the chips for graphics, where strict rows are
   then the faster ones (NVIDIA's architecture whitepapers). Only sm_90 was measured. */
static inline double sgemm__mma_slower(int arch) { return arch == 80 || arch == 90 || arch == 100 ? 1.0 : 4.0; }

/* Reckoned clocks of a tensor plan: the split at the speed of memory, the busiest SM's tiles one after the other, and what is
   written. */
static inline double sgemm__tensor_cost(const sgemm_tensor_plan *plan, const sgemm_params *p,
                                        const sgemm_machine *machine) {
  const sgemm_tensor_info *v = sgemm_tensor_get(plan->tensor);
  const sgemm__tensor_figures *f = &sgemm__tensor_measured[plan->tensor];
  const sgemm__args a = sgemm__arguments(p);
  const int swap = p->order == SGEMM_COL_MAJOR;
  const double m = (double)a.m, n = (double)a.n, k = (double)a.k, batch = (double)a.batch;
  const double split_a = (swap ? p->prepared_b : p->prepared_a) != NULL ? 0.0 : m * (a.stride_a == 0 ? 1.0 : batch);
  const double split_b = (swap ? p->prepared_a : p->prepared_b) != NULL ? 0.0 : n * (a.stride_b == 0 ? 1.0 : batch);
  const double bytes = (split_a + split_b) * k * (4.0 + 2.0 * v->parts);
  const double byte = 1e-3 * machine->clock_mhz / (machine->bandwidth_gbs * 0.85); /* clocks of one, at speed */
  const double tiles = sgemm__ceil(m / v->BM) * sgemm__ceil(n / v->BN) * batch * plan->planes;
  const double chunks = sgemm__ceil((double)SGEMM__CHUNKS(a.k) / plan->planes);
  const double results = m * n * batch * 4.0;
  const double launches = (bytes > 0.0) + 2.0 + (plan->planes > 1);
  return launches * sgemm__measured.launch + (bytes > 0.0 ? sgemm__split_measured : 0.0) + bytes * byte +
         sgemm__ceil(tiles / machine->multiprocessors) *
             (chunks * f->chunk * (v->wgmma ? 1.0 : sgemm__mma_slower(machine->arch)) + f->round) +
         results * byte * (1.0 + (a.beta != 0.0f) + (plan->planes > 1 ? 2.0 * plan->planes : 0.0));
}

/* sgemm_tensor_select() where the strict plan is known. A row has to be reckoned a seventh faster, so that an error of the
   reckoning does not make the mode slower than strict fp32. */
static inline sgemm_tensor_plan sgemm__tensor_or(const sgemm_plan *strict, const sgemm_params *p,
                                                 const sgemm_machine *machine) {
  const sgemm_format format = p->mode == SGEMM_TENSOR ? SGEMM_FORMAT_fp16x3 : SGEMM_FORMAT_bf16x6;
  sgemm_tensor_plan best = {SGEMM_TENSOR_COUNT, 1};
  double best_cost;
  int i;
  if (p->mode == SGEMM_STRICT || p->k < (p->mode == SGEMM_TENSOR ? 128 : 64) ||
      strict->variant == SGEMM_VARIANT_COUNT || !sgemm_tensor_compiled())
    return best;
  best_cost = 0.85 * sgemm__strict_cost(strict, p, machine);
  for (i = 0; i < SGEMM_TENSOR_COUNT && best_cost > 2.0 * sgemm__measured.launch; i++) {
    const sgemm_tensor_info *v = sgemm_tensor_get((sgemm_tensor)i);
    sgemm_tensor_plan plan = {(sgemm_tensor)i, 1};
    /* The k of one sum of large products. Tensor cores cut these sums off; where strict ones are short, be it in planes,
       longer sums of fp16 parts would come out worse for numbers of one sign. */
    const int sum_k = 32 * v->chunks / v->sums;
    const int uncut = sum_k > 32 || (sum_k > 16 && format == SGEMM_FORMAT_fp16x3 && p->k < 16384);
    if (v->format != format || v->shared > machine->shared_per_block || machine->arch < 80 ||
        (v->wgmma && !machine->wgmma) || (sum_k > 32 && p->k < 256))
      continue;
    for (plan.planes = 1; plan.planes <= (uncut ? 1 : 64) && (plan.planes == 1 || plan.planes * 256 <= p->k);
         plan.planes *= 2) {
      const double cost = sgemm__tensor_cost(&plan, p, machine);
      if (cost < best_cost && sgemm_tensor_workspace(&plan, p) <= p->workspace_bytes) {
        best = plan;
        best_cost = cost;
      }
    }
  }
  return best;
}

/* The plan for params of a tensor mode on a machine: of the rows of its format that the machine can run, the one of least
   reckoned time; strict fp32 where that is reckoned as fast, where k < 128 (full range: 64) or where the workspace is too
   small. A pure function of its arguments and of the implementation's SGEMM_STAGE. */
static inline sgemm_tensor_plan sgemm_tensor_select(const sgemm_params *p, const sgemm_machine *machine) {
  const sgemm_plan strict = sgemm_select(p, SGEMM_STAGE_COUNT, machine);
  return sgemm__tensor_or(&strict, p, machine);
}

/* ---- Launch ------------------------------------------------------------------------------------------------------ */

/* Blocks for a batch, or for a split's k, on y and z, each below the grid's limit of 65,535. */
static inline void sgemm__grid_batch(sgemm__grid *grid, int64_t batch) {
  grid->z = (unsigned)sgemm__ceil_div(batch, 65535);
  grid->y = (unsigned)sgemm__ceil_div(batch, grid->z);
}

/* Has a kernel write its results to planes in the workspace, in rows padded to 16 bytes, instead of to C. */
static inline void sgemm__into_planes(sgemm__args *args, float *workspace, int planes) {
  args->C = workspace;
  args->ldc = sgemm__ceil_div(args->n, 4) * 4;
  args->stride_plane = args->ldc * args->m;
  args->stride_c = args->stride_plane * planes;
  args->alpha = 1.0f;
  args->beta = 0.0f;
}

/* The launch that sums them, into what `whole` says. */
static inline sgemm_status sgemm__sum_planes_of(const sgemm__args *whole, const sgemm__args *cut, int planes,
                                                sgemm_stream stream) {
  sgemm__args args = *whole;
  sgemm__grid grid;
  args.A = cut->C;
  args.lda = cut->ldc;
  args.stride_a = cut->stride_c;
  args.stride_plane = cut->stride_plane;
  args.k = planes;
  grid.x = (unsigned)(whole->m * sgemm__ceil_div(whole->n, SGEMM__SUM_THREADS));
  sgemm__grid_batch(&grid, whole->batch);
  grid.threads = SGEMM__SUM_THREADS;
  grid.ranks = 1;
  grid.shared = 0;
  return sgemm__launch(SGEMM__SUM_PLANES, 0, grid, &args, stream);
}

/* The launches of a plan that packs: the operands that are not ready, the tiles, and the sum of those that SMs share. */
static inline sgemm_status sgemm__run_packed(const sgemm_plan *plan, const sgemm_params *p, uint32_t *verdict,
                                             sgemm_stream stream) {
  const sgemm_variant_info *v = sgemm_variant_get(plan->variant);
  sgemm__args args, packed;
  const int64_t bytes = sgemm__packed_at(plan, p, &args);
  const int64_t tiles_m = sgemm__ceil_div(args.m, v->BM), tiles_n = sgemm__ceil_div(args.n, v->BN);
  const int64_t tiles = tiles_m * tiles_n * args.batch;
  const int64_t deep = sgemm__ceil_div(args.k, SGEMM__PACK_K);
  const int64_t rows = (args.a.ready ? 0 : args.a.rows * args.a.batch) +
                       (args.b.ready ? 0 : args.b.rows * args.b.batch);
  const int64_t blocks = rows / SGEMM__PACK_ROWS * deep;
  const uint32_t shared = plan->planes > 1 && args.k > 0 ? (uint32_t)(tiles % plan->planes) : 0;
  const double steps = (double)shared * (double)sgemm__ceil_div(args.k, v->BK); /* of BK; each share has one at least */
  const uint32_t shares = shared == 0 ? 0 : steps < plan->planes ? (uint32_t)steps : (uint32_t)plan->planes;
  const uint32_t sums_by = sgemm__sums_by(shared > 0 ? shares / shared : 0);
  const int64_t sums = (int64_t)shared * (v->BM * v->BN / (4 * SGEMM__PACK_THREADS)) * sums_by;
  sgemm__grid grid = {0, 1, 1, SGEMM__PACK_THREADS, 1, 0};
  sgemm_machine machine;
  int64_t places, rounds;
  sgemm_status status = sgemm_machine_query(&machine);
  if (status != SGEMM_SUCCESS)
    return status;
  if (bytes == INT64_MAX ||
      (double)tiles_m * (double)tiles_n * (double)args.batch + 2.0 * plan->planes > 2147483647.0 ||
      steps >= 2147483648.0 || blocks > 2147483647 || sums > 2147483647 || args.batch > (int64_t)65535 * 65535)
    return SGEMM_ERROR_GRID;
  args.tiles_m = (uint32_t)tiles_m;
  args.tiles_n = (uint32_t)tiles_n;
  args.shared = shared;
  args.shares = shares;
  args.share_steps = shared > 0 ? (((uint64_t)steps << 32) + shares - 1) / shares : 0; /* see sgemm__share_begin() */
  args.sums = sums_by;
  args.verdict = verdict;
  args.when_fired = 1;
  if (blocks > 0) {
    sgemm__args all = args; /* of whose batch each block knows its matrix */
    all.batch = 1;
    grid.x = (unsigned)blocks;
    status = sgemm__launch(SGEMM__PACK, 0, grid, &all, stream);
  }
  packed = args;
  if (!args.a.ready) {
    packed.A = (const float *)args.a.planes;
    packed.trans_a = 0;
    packed.lda = deep * SGEMM__PACK_K;
    packed.stride_a = args.a.batch > 1 ? args.a.rows * packed.lda : 0;
  }
  if (!args.b.ready) {
    packed.B = (const float *)args.b.planes;
    packed.trans_b = 1;
    packed.ldb = deep * SGEMM__PACK_K;
    packed.stride_b = args.b.batch > 1 ? args.b.rows * packed.ldb : 0;
  }
  /* Blocks that stay drift apart, until the L2 no longer holds what they share, which takes power, and so clocks: a block
     leaves after some 32768 of k to the next that is free. 16384 cubed is 3.5 % faster for it, 4096 cubed as fast. */
  places = (int64_t)machine.multiprocessors * v->resident;
  packed.blocks = (uint32_t)(shared > 0 ? plan->planes : tiles < places ? tiles : places);
  packed.turns = (uint32_t)(32768 / (args.k + 1) + 1);
  rounds = shared > 0 ? tiles / packed.blocks : sgemm__ceil_div(tiles, packed.blocks);
  grid.x = packed.blocks * (unsigned)(rounds > packed.turns ? sgemm__ceil_div(rounds, packed.turns) : 1);
  grid.threads = (unsigned)v->threads;
  grid.shared = (unsigned)v->shared;
  if (status == SGEMM_SUCCESS)
    status = sgemm__launch(plan->variant, 2 * packed.trans_a + packed.trans_b, grid, &packed, stream);
  if (status != SGEMM_SUCCESS || shared == 0)
    return status;
  grid.x = (unsigned)sums;
  grid.threads = SGEMM__PACK_THREADS;
  grid.shared = 0;
  return sgemm__launch(SGEMM__SUM_SHARES, 0, grid, &packed, stream);
}

/* The launch of a plan for params that sgemm_check() passed and that leave something to do; two launches for more than one
   plane. With a verdict they do nothing unless the guard fired. */
static inline sgemm_status sgemm__run_if(const sgemm_plan *plan, const sgemm_params *p, uint32_t *verdict,
                                         sgemm_stream stream) {
  const sgemm_variant_info *v = sgemm_variant_get(plan->variant);
  sgemm__args whole = sgemm__arguments(p);
  const int64_t tiles_m = sgemm__ceil_div(whole.m, v->BM), tiles_n = sgemm__ceil_div(whole.n, v->BN);
  const int ops = 2 * whole.trans_a + whole.trans_b;
  sgemm__args args;
  sgemm__grid grid;
  sgemm_status status;
  if (v->packs)
    return sgemm__run_packed(plan, p, verdict, stream);
  whole.verdict = verdict;
  whole.when_fired = 1;
  args = whole;
  if ((double)tiles_m * (double)tiles_n * plan->ranks * plan->planes > 2147483647.0 ||
      (plan->planes > 1 && (double)whole.m * (double)sgemm__ceil_div(whole.n, SGEMM__SUM_THREADS) > 2147483647.0) ||
      whole.batch > (int64_t)65535 * 65535)
    return SGEMM_ERROR_GRID;
  args.tiles_m = (uint32_t)tiles_m;
  args.tiles_n = (uint32_t)tiles_n;
  grid.x = (unsigned)(tiles_m * tiles_n * plan->ranks * plan->planes);
  sgemm__grid_batch(&grid, whole.batch);
  grid.threads = (unsigned)v->threads;
  grid.ranks = (unsigned)plan->ranks;
  grid.shared = (unsigned)v->shared;
  if (plan->planes <= 1)
    return sgemm__launch(plan->variant, ops, grid, &args, stream);

  args.k_plane = sgemm__ceil_div(sgemm__ceil_div(whole.k, v->BK), plan->planes) * v->BK;
  sgemm__into_planes(&args, (float *)p->workspace, plan->planes);
  status = sgemm__launch(plan->variant, ops, grid, &args, stream);
  return status != SGEMM_SUCCESS ? status : sgemm__sum_planes_of(&whole, &args, plan->planes, stream);
}

static inline sgemm_status sgemm__run(const sgemm_plan *plan, const sgemm_params *p, sgemm_stream stream) {
  return sgemm__run_if(plan, p, NULL, stream);
}

/* Runs a plan, whatever the selection would have chosen. */
static inline sgemm_status sgemm_run_plan(const sgemm_plan *plan, const sgemm_params *p, sgemm_stream stream) {
  sgemm_machine machine;
  sgemm_status status, device;
  if (p == NULL)
    return SGEMM_ERROR_PARAMS;
  if (sgemm_variant_get(plan->variant) == NULL)
    return SGEMM_ERROR_VARIANT;
  device = sgemm_machine_query(&machine); /* whose failure is told where there is something to launch */
  if (device == SGEMM_SUCCESS) {
    machine.wgmma |= !sgemm_compiled(plan->variant); /* nobody knows: below it is refused all the same */
    if (!sgemm__possible(plan, &machine))
      return SGEMM_ERROR_PLAN;
  }
  status = sgemm_check(p);
  if (status != SGEMM_SUCCESS || sgemm__is_noop(p))
    return status;
  if (sgemm_plan_workspace(plan, p) > p->workspace_bytes)
    return SGEMM_ERROR_WORKSPACE;
  if (!sgemm_compiled(plan->variant))
    return SGEMM_ERROR_NOT_COMPILED;
  return device != SGEMM_SUCCESS ? device : sgemm__run(plan, p, stream);
}

/* Runs one row of the table, whatever the selection would have chosen: in one plane, and where the row can split k, by as
   many ranks as get four steps of BK each. So the bits depend on neither m nor the batch count. */
static inline sgemm_status sgemm_run_variant(sgemm_variant variant, const sgemm_params *p, sgemm_stream stream) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  sgemm_machine machine;
  sgemm_plan plan = {variant, 8, 1};
  if (p == NULL || v == NULL || sgemm_machine_query(&machine) != SGEMM_SUCCESS)
    plan.ranks = 1; /* sgemm_run_plan() says what is wrong */
  else
    while (plan.ranks > 1 && (4 * plan.ranks * v->BK > p->k || !sgemm__possible(&plan, &machine)))
      plan.ranks /= 2;
  return sgemm_run_plan(&plan, p, stream);
}

/* Why no plan fits: no row of the stage is compiled, or those that are the machine cannot run, or there is no room for
   operands that they pack. */
static inline sgemm_status sgemm__why_none(sgemm_stage stage, const sgemm_machine *machine) {
  sgemm_status why = SGEMM_ERROR_NOT_COMPILED;
  sgemm_plan plan = {(sgemm_variant)0, 1, 1};
  for (; plan.variant < SGEMM_VARIANT_COUNT; plan.variant = (sgemm_variant)(plan.variant + 1))
    if ((stage == SGEMM_STAGE_COUNT || sgemm_variant_get(plan.variant)->stage == stage) &&
        sgemm_compiled(plan.variant) && why != SGEMM_ERROR_WORKSPACE)
      why = sgemm__possible(&plan, machine) ? SGEMM_ERROR_WORKSPACE : SGEMM_ERROR_PLAN;
  return why;
}

/* Runs the best plan of one stage's compiled rows. SGEMM_STAGE_COUNT: of any stage's. */
static inline sgemm_status sgemm_run_stage(sgemm_stage stage, const sgemm_params *p, sgemm_stream stream) {
  sgemm_status status = sgemm_check(p);
  sgemm_machine machine;
  sgemm_plan plan;
  if (status != SGEMM_SUCCESS || sgemm__is_noop(p))
    return status;
  status = sgemm_machine_query(&machine);
  if (status != SGEMM_SUCCESS)
    return status;
  plan = sgemm_select(p, stage, &machine);
  return plan.variant == SGEMM_VARIANT_COUNT ? sgemm__why_none(stage, &machine) : sgemm__run(&plan, p, stream);
}

/* The split of a call's operands that are not ready, for parts of a format. */
static inline sgemm_status sgemm__split_operands(const sgemm__args *args, sgemm_format format, sgemm_stream stream) {
  const int64_t panels = (args->a.ready ? 0 : args->a.rows / SGEMM__PANEL * args->a.batch) +
                         (args->b.ready ? 0 : args->b.rows / SGEMM__PANEL * args->b.batch);
  const int64_t blocks_k = sgemm__ceil_div(args->k, SGEMM__UNIT_K);
  sgemm__grid grid = {0, 1, 1, SGEMM__SPLIT_THREADS, 1, 0};
  if (panels == 0 || blocks_k == 0)
    return SGEMM_SUCCESS;
  if (panels > 2147483647 || blocks_k > (int64_t)65535 * 65535)
    return SGEMM_ERROR_GRID;
  grid.x = (unsigned)panels;
  sgemm__grid_batch(&grid, blocks_k);
  return sgemm__launch(SGEMM__SPLITS + (int)format, 0, grid, args, stream);
}

/* Runs a tensor plan, whatever the selection would have chosen: the split, the row, the sum of its planes, and a strict row
   that has nothing to do unless the guard fired. Not for alpha = 0 or k = 0, which strict plans do. */
static inline sgemm_status sgemm__run_tensor(const sgemm_tensor_plan *plan, const sgemm_plan *strict,
                                             const sgemm_params *p, const sgemm_machine *machine, sgemm_stream stream) {
  const sgemm_tensor_info *v = sgemm_tensor_get(plan->tensor);
  sgemm__args whole, args;
  const int64_t bytes = sgemm__tensor_workspace(plan, p, &whole);
  const int64_t tiles_m = sgemm__ceil_div(whole.m, v->BM), tiles_n = sgemm__ceil_div(whole.n, v->BN);
  /* Planes are of whole units, so that the last of a plan's may be left without any k; those are neither made nor summed. */
  const int64_t blocks_k = sgemm__ceil_div(whole.k, SGEMM__UNIT_K), share = sgemm__ceil_div(blocks_k, plan->planes);
  const int planes = (int)sgemm__ceil_div(blocks_k, share);
  const double works = (double)tiles_m * (double)tiles_n * (double)whole.batch * planes;
  sgemm_params without = *p;
  sgemm__grid grid = {0, 1, 1, 0, 1, 0};
  sgemm_plan fallback = *strict;
  sgemm_status status;
  if (bytes > p->workspace_bytes)
    return SGEMM_ERROR_WORKSPACE;
  if ((double)tiles_m * (double)tiles_n > 2147483647.0 || whole.batch > (int64_t)65535 * 65535 ||
      (planes > 1 && (double)whole.m * (double)sgemm__ceil_div(whole.n, SGEMM__SUM_THREADS) > 2147483647.0))
    return SGEMM_ERROR_GRID;
  status = sgemm__split_operands(&whole, v->format, stream);
  if (status != SGEMM_SUCCESS)
    return status;
  whole.tiles_m = (uint32_t)tiles_m;
  whole.tiles_n = (uint32_t)tiles_n;
  whole.k_plane = share * SGEMM__UNIT_K;
  whole.planes = planes;
  args = whole;
  if (planes > 1) /* which are the last in the workspace */
    sgemm__into_planes(
        &args, (float *)((char *)p->workspace + bytes) - args.m * sgemm__ceil_div(args.n, 4) * 4 * args.batch * planes,
        planes);
  grid.x = (unsigned)(works < machine->multiprocessors ? works : machine->multiprocessors);
  grid.threads = (unsigned)v->threads;
  grid.shared = (unsigned)v->shared;
  status = sgemm__launch(SGEMM__TENSORS + (int)plan->tensor, 0, grid, &args, stream);
  if (status == SGEMM_SUCCESS && planes > 1)
    status = sgemm__sum_planes_of(&whole, &args, planes, stream);
  if (status != SGEMM_SUCCESS)
    return status;
  without.workspace_bytes = 0; /* which is in use */
  if (sgemm_plan_workspace(&fallback, p) > 0)
    fallback = sgemm_select(&without, SGEMM_STAGE_COUNT, machine);
  return sgemm__run_if(&fallback, &without, whole.verdict, stream);
}

/* C = alpha * op(A) * op(B) + beta * C on the stream, in p's mode. The one entry for everyone. */
static inline sgemm_status sgemm_run(const sgemm_params *p, sgemm_stream stream) {
  sgemm_machine machine;
  sgemm_tensor_plan plan;
  sgemm_plan strict;
  sgemm_status status;
  if (p == NULL || p->mode == SGEMM_STRICT || p->alpha == 0.0f)
    return sgemm_run_stage(SGEMM_STAGE_COUNT, p, stream);
  status = sgemm_check(p);
  if (status != SGEMM_SUCCESS || sgemm__is_noop(p))
    return status;
  status = sgemm_machine_query(&machine);
  if (status != SGEMM_SUCCESS)
    return status;
  strict = sgemm_select(p, SGEMM_STAGE_COUNT, &machine);
  if (strict.variant == SGEMM_VARIANT_COUNT)
    return SGEMM_ERROR_NOT_COMPILED;
  plan = sgemm__tensor_or(&strict, p, &machine);
  return plan.tensor == SGEMM_TENSOR_COUNT ? sgemm__run(&strict, p, stream)
                                           : sgemm__run_tensor(&plan, &strict, p, &machine, stream);
}

/* Runs a tensor plan, whatever the selection would have chosen. */
static inline sgemm_status sgemm_run_tensor_plan(const sgemm_tensor_plan *plan, const sgemm_params *p,
                                                 sgemm_stream stream) {
  const sgemm_tensor_info *v = sgemm_tensor_get(plan->tensor);
  sgemm_machine machine;
  sgemm_plan strict;
  sgemm_status status;
  if (p == NULL)
    return SGEMM_ERROR_PARAMS;
  if (v == NULL)
    return SGEMM_ERROR_VARIANT;
  status = sgemm_check(p);
  if (status != SGEMM_SUCCESS || sgemm__is_noop(p))
    return status;
  if (!sgemm_tensor_compiled())
    return SGEMM_ERROR_NOT_COMPILED;
  status = sgemm_machine_query(&machine);
  if (status != SGEMM_SUCCESS)
    return status;
  if (machine.arch < 80 || (v->wgmma && !machine.wgmma) || v->shared > machine.shared_per_block || plan->planes < 1)
    return SGEMM_ERROR_PLAN;
  if (p->alpha == 0.0f || p->k == 0)
    return sgemm_run_stage(SGEMM_STAGE_COUNT, p, stream);
  strict = sgemm_select(p, SGEMM_STAGE_COUNT, &machine);
  return sgemm__run_tensor(plan, &strict, p, &machine, stream);
}

/* Params for one operand, 'A' or 'B': neither the other's size nor what is made of the product plays a part. */
static inline sgemm_params sgemm__one_operand(const sgemm_params *p, char which) {
  sgemm_params one = *p;
  one.alpha = 1.0f;
  if (which == 'A')
    one.n = 1;
  else
    one.m = 1;
  return one;
}

/* Prepared operands: what does not change, such as weights, is split once. sgemm_prepare() reads op(A), for which = 'A', or
   op(B), for which = 'B', from p, with its order, ops, sizes, leading dimensions, batch, strides and mode, and writes
   sgemm_prepared_bytes() to memory, device memory aligned to 16 bytes. p.prepared_a or p.prepared_b then takes it in any
   call with the same of these but the other operand's sizes; p.A and p.B stay needed, for calls that strict fp32 does. */
static inline int64_t sgemm_prepared_bytes(const sgemm_params *p, char which) {
  const sgemm_params one = sgemm__one_operand(p, which);
  const sgemm__args args = sgemm__arguments(&one);
  const int of_a = (which == 'A') == (p->order == SGEMM_ROW_MAJOR);
  const int64_t batch = sgemm__matrices_of(args.batch, of_a ? args.stride_a : args.stride_b);
  sgemm__operand o;
  return sgemm__operand_at(&o, NULL, of_a ? args.m : args.n, args.k, batch,
                           p->mode == SGEMM_TENSOR ? SGEMM__PARTS_fp16x3 : SGEMM__PARTS_bf16x6);
}

static inline sgemm_status sgemm_prepare(const sgemm_params *p, char which, void *memory, sgemm_stream stream) {
  const sgemm_format format = p != NULL && p->mode == SGEMM_TENSOR ? SGEMM_FORMAT_fp16x3 : SGEMM_FORMAT_bf16x6;
  sgemm_params one;
  sgemm__args args;
  sgemm_status status;
  int of_a;
  if (p == NULL)
    return SGEMM_ERROR_PARAMS;
  if (p->mode == SGEMM_STRICT)
    return SGEMM_ERROR_MODE;
  one = sgemm__one_operand(p, which);
  one.C = (float *)memory;
  if (which == 'A')
    one.B = p->A;
  else
    one.A = p->B;
  status = sgemm_check(&one);
  if (status != SGEMM_SUCCESS)
    return status == SGEMM_ERROR_C ? SGEMM_ERROR_PREPARED : status;
  if ((uintptr_t)memory % 16 != 0 || (which != 'A' && which != 'B'))
    return SGEMM_ERROR_PREPARED;
  if (!sgemm_tensor_compiled())
    return SGEMM_ERROR_NOT_COMPILED;
  args = sgemm__arguments(&one);
  if (args.k == 0 || sgemm__is_noop(&one))
    return SGEMM_SUCCESS;
  of_a = (which == 'A') == (p->order == SGEMM_ROW_MAJOR);
  sgemm__operand_at(&args.a, (char *)memory, args.m, args.k, sgemm__matrices_of(args.batch, args.stride_a),
                    format == SGEMM_FORMAT_fp16x3 ? SGEMM__PARTS_fp16x3 : SGEMM__PARTS_bf16x6);
  sgemm__operand_at(&args.b, (char *)memory, args.n, args.k, sgemm__matrices_of(args.batch, args.stride_b),
                    format == SGEMM_FORMAT_fp16x3 ? SGEMM__PARTS_fp16x3 : SGEMM__PARTS_bf16x6);
  args.a.ready = !of_a;
  args.b.ready = of_a;
  return sgemm__split_operands(&args, format, stream);
}

/* Copies the verdict of the last tensor call with that workspace to *verdict, in stream order: 0, or a sum of sgemm_guard.
   verdict is host or device memory; where it is not pinned the copy may wait. Only for calls that sgemm_tensor_select()
   gave a row. */
static inline sgemm_status sgemm_guard_query(const sgemm_params *p, uint32_t *verdict, sgemm_stream stream) {
  return p == NULL ? SGEMM_ERROR_PARAMS
         : p->workspace == NULL || p->workspace_bytes < 128
             ? SGEMM_ERROR_WORKSPACE
             : sgemm__copy_word(verdict, (const uint32_t *)p->workspace, stream);
}

/* Bytes of workspace with which sgemm_run() is at its best for p on the current device: 0 where it needs none. With less,
   or none, it runs the best plan that fits, which in a tensor mode is a strict one. Asked before the pointers are known, when
   they are NULL, it takes them for aligned to 16 bytes; prepared operands need no room. */
static inline sgemm_status sgemm_workspace_query(const sgemm_params *p, int64_t *bytes) {
  sgemm_machine machine;
  sgemm_params roomy;
  sgemm_plan plan;
  sgemm_tensor_plan tensor;
  sgemm_status status;
  if (p == NULL)
    return SGEMM_ERROR_PARAMS;
  status = sgemm_machine_query(&machine);
  if (status != SGEMM_SUCCESS)
    return status;
  roomy = *p;
  roomy.workspace_bytes = INT64_MAX;
  plan = sgemm_select(&roomy, SGEMM_STAGE_COUNT, &machine);
  tensor = sgemm_tensor_select(&roomy, &machine);
  *bytes = tensor.tensor != SGEMM_TENSOR_COUNT ? sgemm_tensor_workspace(&tensor, &roomy)
                                               : sgemm_plan_workspace(&plan, &roomy);
  return SGEMM_SUCCESS;
}

/* sgemm_run_naive(), sgemm_run_tiled(), ...: sgemm_run_stage() by name, one for each stage. */
#define SGEMM__X(stage, idea)                                                                                          \
  static inline sgemm_status sgemm_run_##stage(const sgemm_params *p, sgemm_stream stream) {                           \
    return sgemm_run_stage(SGEMM_STAGE_##stage, p, stream);                                                            \
  }
SGEMM_STAGES(SGEMM__X)
#undef SGEMM__X

/* cblas_sgemm's argument list and a stream: existing code changes one name, and its pointers to device pointers. order
   and the two trans take CBLAS's values (101, 102; 111, 112, 113). For column-major, lda >= m for transA = N and so on. */
static inline sgemm_status sgemm_cblas(int order, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                                       float alpha, const float *A, int64_t lda, const float *B, int64_t ldb,
                                       float beta, float *C, int64_t ldc, sgemm_stream stream) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, m, n, k);
  p.order = order;
  p.op_a = trans_a;
  p.op_b = trans_b;
  p.alpha = alpha;
  p.A = A;
  p.lda = lda;
  p.B = B;
  p.ldb = ldb;
  p.beta = beta;
  p.C = C;
  p.ldc = ldc;
  return sgemm_run(&p, stream);
}

#endif /* SGEMM_H */
