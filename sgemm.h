/* sgemm.h: single-precision matrix multiplication on NVIDIA GPUs.                        version 0.2.0, MIT licence

       C = alpha * op(A) * op(B) + beta * C            A, B, C row-major, op(X) = X or its transpose, IEEE fp32 FMA

   USE.  Copy sgemm.h, sgemm_kernels.cuh and the folder sgemm/ into the project, or the one generated file that
   `./bazelw build //:single_header` writes. One .cu file emits the kernels:

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

   Link with the CUDA runtime only (-lcudart_static -ldl -lrt -lpthread, and -lstdc++ -lm where gcc links).

   OPTIONS, defined before the header is included:

     name                  where                        meaning, cost
     SGEMM_IMPLEMENTATION  exactly one .cu file         emits the kernels that SGEMM_STAGE selects, the selection and
                                                        the launches
     SGEMM_STAGE=name      the .cu file                 unset: the production variants, selected by shape. A stage's
                                                        name (tiled, warptiled, ...): only its variants are compiled,
                                                        and sgemm_run() selects among them. all: every variant, for
                                                        measuring and teaching
     SGEMM_PART=name       the .cu file, compiled once  unset: one object holds everything. host: the tables, the
                           for each part                selection, the launches, and the kernels that belong to no
                                                        stage. A stage's name or tensor: only the kernels of that
                                                        stage, or of the tensor modes. The objects of all parts are
                                                        linked
     SGEMM_HOST_ONLY=1     the implementation file,     the selection and sgemm_plan_launches(), without kernels and
                           as C or C++                  CUDA headers, for kernels that NVRTC compiles
     SGEMM_MODE=name       any file                     the mode that sgemm_params_init() and sgemm_cblas() set;
                                                        unset: SGEMM_STRICT
     SGEMM_PROJECT_EPILOGUES(X)
                           the .cu file, and each file  rows that a project adds to the table of epilogues; see
                           that names one of them       sgemm/epilogues.h
     SGEMM_BUILTIN_EPILOGUES(X)
                           every file                   the built-in rows of a build, none first; unset: all. See
                                                        sgemm/epilogues.h
     SGEMM_CPU=1           the implementation file,     the CPU model in cpu/: the kernels without a GPU, slow and
                           as C11 by gcc or clang       exact, for tests and study

   CONTRACT
     - Row-major: element (i, j) of a matrix with leading dimension ld is at i * ld + j. ld >= the stored row's length;
       padding is never used and never written. Column-major: sgemm_params_init_col(), sgemm_cblas().
     - m, n, k are any 64-bit sizes >= 0; pointers need 4-byte alignment only (16 bytes and ld % 4 == 0 are faster).
     - beta = 0: C is not read, so NaN in C cannot reach the result, unless the expression of the epilogue reads C.
       alpha = 0 or k = 0: A and B are not read and C = beta * C. Quick return: with m = 0, n = 0 or batch = 0, or,
       without an epilogue and D, with beta = 1 and alpha = 0 or k = 0, a call with valid arguments succeeds, reads and
       writes nothing, and all pointers may be NULL.
     - NaN and Inf propagate as through a plain dot product over k = 0, 1, 2, ...
     - Every launch goes to the caller's stream. Nothing synchronises, so calls can be captured in a graph. Nothing
       allocates, but for the workspace of SGEMM_WORKSPACE_AUTO, which is allocated and freed in stream order. For
       sgemm_tune() alone none of this holds.
     - A call gives the same bits each time; with SGEMM_WORKSPACE_AUTO, if its memory can be had each time. Within one
       plan a row's bits depend on neither m nor the batch count, unless stream_k is on. sgemm_run_variant() chooses
       cluster_k by k and the device alone.
     - The caller may provide device memory in params.workspace; sgemm_workspace_query() returns the useful size. With
       workspace_bytes = SGEMM_WORKSPACE_AUTO the call takes the workspace of its plan from a memory pool.
     - params.mode: SGEMM_STRICT computes in strict fp32. A tensor mode keeps fp32 accuracy; if A or B contains elements
       that the mode cannot represent, such as Inf and NaN, full range or strict fp32 computes the call. So in a tensor
       mode a row's bits depend on all of A and B (docs/stages/tensor.md).
     - Arguments are checked before anything is launched, in the order of SGEMM_STATUS_LIST below; on error C is
       untouched.
     - Thread-safe across host threads, streams and devices. The library caches device properties, each kernel's
       shared-memory opt-in, the address of cuTensorMapEncodeTiled, the memory pools of SGEMM_WORKSPACE_AUTO and, for
       each host thread, the plans of its last calls, and nothing else.
     - After cudaDeviceReset() a process must not call the library for that device again: the library keeps a memory
       pool and kernel attributes of the device.

   CONTENTS   Version . Status . Parameters . Device . Variants . Plans . Calls . Helpers . Checks . Wrappers.
              docs/api.md describes each function, most with an example. */
#ifndef SGEMM_H
#define SGEMM_H

#if defined(__CUDACC_RTC__)
#include "sgemm/nvrtc.h" /* NVRTC has no host headers */
#else
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#endif

#if defined(__cplusplus) && __cplusplus < 201402L
#error "sgemm.h needs C++14 or later"
#elif !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L)
#error "sgemm.h needs C11 or later"
#endif

/* ---- Version ----------------------------------------------------------------------------------------------------- */

#define SGEMM_VERSION_MAJOR 0
#define SGEMM_VERSION_MINOR 2
#define SGEMM_VERSION_PATCH 0
#define SGEMM_VERSION (SGEMM_VERSION_MAJOR * 10000 + SGEMM_VERSION_MINOR * 100 + SGEMM_VERSION_PATCH)

#define SGEMM__STRING2(x) #x
#define SGEMM__STRING(x) SGEMM__STRING2(x)
#define SGEMM_VERSION_STRING                                                                                           \
  SGEMM__STRING(SGEMM_VERSION_MAJOR) "." SGEMM__STRING(SGEMM_VERSION_MINOR) "." SGEMM__STRING(SGEMM_VERSION_PATCH)

#include "sgemm/variants.h"   /* the tables, sgemm_stage, sgemm_variant, sgemm_format, sgemm_tensor_variant */
#include "sgemm/epilogues.h"  /* the table of epilogues, sgemm_epilogue */
#include "sgemm/reductions.h" /* the table of reductions, sgemm_reduction_params */

#if !defined(__CUDACC_RTC__) /* NVRTC compiles no host code: it reads the tables, the enums and the kernels */

static inline int sgemm_version(void) { return SGEMM_VERSION; }

/* ---- Status ------------------------------------------------------------------------------------------------------ */

/* The one list of status codes, in the order in which arguments are checked: X([symbol], "sentence"). If two arguments
   are wrong, other libraries' cblas_sgemm may report the other one. */
// clang-format off
#define SGEMM_STATUS_LIST(X)                                                                                           \
  X(SGEMM_SUCCESS,              "success")                                                                             \
  X(SGEMM_ERROR_PARAMS,         "params is NULL")                                                                      \
  X(SGEMM_ERROR_VARIANT,        "variant is not in SGEMM_VARIANTS, or tensor not in SGEMM_TENSOR_VARIANTS")            \
  X(SGEMM_ERROR_PLAN,           "the plan is NULL, or does not fit the variant, the device or the operands")           \
  X(SGEMM_ERROR_DEVICE,         "device is NULL")                                                                      \
  X(SGEMM_ERROR_LAUNCHES,       "count is NULL, or launches is NULL with a capacity")                                  \
  X(SGEMM_ERROR_CANDIDATES,     "count of candidates is not 1 to 64 (SGEMM_MAX_CANDIDATES)")                           \
  X(SGEMM_ERROR_WHICH,          "which is neither 'A' nor 'B'")                                                        \
  X(SGEMM_ERROR_REDUCTION,      "reduction is NULL, or not in SGEMM_REDUCTIONS")                                       \
  X(SGEMM_ERROR_AXIS,           "axis is neither rows (0) nor columns (1)")                                            \
  X(SGEMM_ERROR_ORDER,          "order is neither row-major (101) nor column-major (102)")                             \
  X(SGEMM_ERROR_OP_A,           "op_a (transA) is not one of N, T and C (111, 112, 113)")                              \
  X(SGEMM_ERROR_OP_B,           "op_b (transB) is not one of N, T and C (111, 112, 113)")                              \
  X(SGEMM_ERROR_EPILOGUE,       "epilogue is not in SGEMM_EPILOGUES")                                                  \
  X(SGEMM_ERROR_MODE,           "mode is not one of strict (0), tensor (1) and full-range tensor (2), or is strict "   \
                                "in sgemm_prepare()")                                                                  \
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
  X(SGEMM_ERROR_LDD,            "ldd is smaller than the length of a stored row of D, or than 1")                      \
  X(SGEMM_ERROR_STRIDE_D,       "stride_d lets two results of the batch overlap")                                      \
  X(SGEMM_ERROR_STRIDE_VEC_M,   "stride_vec_m is negative")                                                            \
  X(SGEMM_ERROR_STRIDE_VEC_N,   "stride_vec_n is negative")                                                            \
  X(SGEMM_ERROR_LDE,            "lde is smaller than the length of a stored row of E, or than 1")                      \
  X(SGEMM_ERROR_STRIDE_E,       "stride_e is negative")                                                                \
  X(SGEMM_ERROR_LD_AUX,         "ld_aux is smaller than the length of a stored row of aux, or than 1")                 \
  X(SGEMM_ERROR_STRIDE_AUX,     "stride_aux lets two matrices of the batch overlap")                                   \
  X(SGEMM_ERROR_TOO_LARGE,      "A, B, C, D, E, aux, vec_m or vec_n span 2^60 elements or more, or m, n or k is that " \
                                "large")                                                                               \
  X(SGEMM_ERROR_A,              "A is NULL or not aligned to 4 bytes")                                                 \
  X(SGEMM_ERROR_B,              "B is NULL or not aligned to 4 bytes")                                                 \
  X(SGEMM_ERROR_C,              "C is NULL or not aligned to 4 bytes")                                                 \
  X(SGEMM_ERROR_D,              "D is not aligned to 4 bytes")                                                         \
  X(SGEMM_ERROR_VEC_M,          "vec_m is NULL where the epilogue reads it, or not aligned to 4 bytes")                \
  X(SGEMM_ERROR_VEC_N,          "vec_n is NULL where the epilogue reads it, or not aligned to 4 bytes")                \
  X(SGEMM_ERROR_E,              "E is NULL where the epilogue reads it, or not aligned to 4 bytes")                    \
  X(SGEMM_ERROR_AUX,            "aux is not aligned to 4 bytes, or given where the epilogue does not store it")        \
  X(SGEMM_ERROR_ALPHA_DEVICE,   "alpha_device is not aligned to 4 bytes")                                              \
  X(SGEMM_ERROR_BETA_DEVICE,    "beta_device is not aligned to 4 bytes")                                               \
  X(SGEMM_ERROR_VALUES,         "values is not aligned to 4 bytes, or NULL without indices")                           \
  X(SGEMM_ERROR_INDICES,        "indices is not aligned to 8 bytes, or given to a sum")                                \
  X(SGEMM_ERROR_STRIDE_VALUES,  "stride of values and indices is smaller than their number in a matrix")               \
  X(SGEMM_ERROR_PREPARED,       "a prepared operand is not aligned to 16 bytes, or given without a tensor mode")       \
  X(SGEMM_ERROR_WORKSPACE,      "workspace is not aligned to 16 bytes, NULL with a size, too small for the plan, or "  \
                                "could not be allocated")                                                              \
  X(SGEMM_ERROR_PREPARE_MEMORY, "memory for a prepared operand is NULL or not aligned to 16 bytes")                    \
  X(SGEMM_ERROR_NOT_COMPILED,   "the implementation file was compiled without this variant or stage (SGEMM_STAGE)")    \
  X(SGEMM_ERROR_GRID,           "a launch needs more than 2^31 - 1 blocks or 65535 * 65535 matrices, or a size is "    \
                                "beyond the integers of its kernel")                                                   \
  X(SGEMM_ERROR_TENSOR_MAP,     "the plan needs tensor maps, and encode is NULL or returned an error")                 \
  X(SGEMM_ERROR_CAPACITY,       "capacity is smaller than the number of launches, which *count has")                   \
  X(SGEMM_ERROR_SCRATCH,        "device memory that takes the place of the results could not be allocated")            \
  X(SGEMM_ERROR_UNAVAILABLE,    "CPU model: kernel resources and devices other than 0 are not available; "             \
                                "SGEMM_HOST_ONLY: there is no device")                                                 \
  X(SGEMM_ERROR_MEMORY,         "CPU model: memory or a host thread for the fibers could not be allocated")            \
  X(SGEMM_ERROR_DIVERGENCE,     "CPU model: threads of a block waited at different barriers, or some had exited")      \
  X(SGEMM_ERROR_UNWRITTEN,      "CPU model: a thread read a word of shared memory that no thread had written")         \
  X(SGEMM_ERROR_MISALIGNED,     "CPU model: a 128-bit access at an address that is not a multiple of 16 bytes")
// clang-format on

typedef enum sgemm_status {
#define SGEMM__X(symbol, sentence) symbol,
  SGEMM_STATUS_LIST(SGEMM__X)
#undef SGEMM__X
      SGEMM_STATUS_COUNT,
  SGEMM_ERROR_CUDA = 1000,     /* a cudaError_t e is returned as SGEMM_ERROR_CUDA + e; sgemm_cuda_error() returns e */
  SGEMM_STATUS_MAX = INT32_MAX /* no status: in C++ an enum has no values beyond its largest enumerator */
} sgemm_status;

/* The cudaError_t of a status, or 0 (cudaSuccess) if the status does not come from the CUDA runtime. */
static inline int sgemm_cuda_error(sgemm_status status) {
  return (int)status > SGEMM_ERROR_CUDA ? (int)status - SGEMM_ERROR_CUDA : 0;
}

/* The sentence of a status; all errors of the CUDA runtime have one sentence. Not NULL for any value. */
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

#endif

/* ---- Parameters -------------------------------------------------------------------------------------------------- */

/* cudaStream_t of the CUDA runtime, declared here so that C files need no CUDA header. NULL: the default stream. */
typedef struct CUstream_st *sgemm_stream;

/* The values are those of CBLAS, so that CblasRowMajor, CblasTrans and the others can be passed unchanged. */
typedef enum sgemm_order { SGEMM_ROW_MAJOR = 101, SGEMM_COL_MAJOR = 102 } sgemm_order;
typedef enum sgemm_op { SGEMM_N = 111, SGEMM_T = 112, SGEMM_C = 113 } sgemm_op; /* C: conjugate transpose, here T */

/* How the products are formed. The tensor modes are as accurate as strict fp32 (docs/stages/tensor.md has the bound).
   Strict fp32 computes a call in a tensor mode if the estimated time of the tensor-core plan is not below 0.85 of
   strict fp32's or the workspace is too small, which sgemm_plan_describe() tells, or if the guard finds on the device
   that the mode cannot represent the input, which sgemm_guard_query() tells. If only small elements are the reason,
   full range takes the place of strict fp32. */
typedef enum sgemm_mode {
  SGEMM_STRICT = 0,     /* IEEE fp32 FMA */
  SGEMM_TENSOR = 1,     /* 2 fp16 terms, 3 products; 22 bits of elements down to 2^-17 of the largest of 128 along k */
  SGEMM_TENSOR_FULL = 2 /* 3 bf16 terms, 6 products; 24 bits of elements down to 2^-110 of the largest of 128 along k */
} sgemm_mode;

/* The fallback reason of a tensor call, a sum of these bits: why the mode's format did not compute C. 0: it did. With
   SGEMM_GUARD_FULL_RANGE the full-range fallback computed C on tensor cores, without it strict fp32 did. An element is
   inexact if it lies too far below the largest of its row's 128 k to keep all bits of the format. */
typedef enum sgemm_guard {
  SGEMM_GUARD_NONFINITE = 1,  /* an element of A or B is Inf or NaN */
  SGEMM_GUARD_SPREAD = 2,     /* 4 or more of 16 consecutive k of a row are inexact */
  SGEMM_GUARD_SPARSE = 4,     /* one operand has an inexact element, the other a row whose 128 magnitudes add up, in
                                 fp32, to the largest one alone */
  SGEMM_GUARD_RANGE = 8,      /* exponents of A and B let fp32 accumulators overflow or lose bits to underflow */
  SGEMM_GUARD_FULL_RANGE = 16 /* full range computed C: plan.tensor_fallback */
} sgemm_guard;

#ifndef SGEMM_MODE
#define SGEMM_MODE SGEMM_STRICT
#endif

/* params.workspace_bytes, with workspace NULL: the call takes the workspace of its plan from a memory pool of the
   library on the current device and gives it back, both in stream order (cudaMallocFromPoolAsync, cudaFreeAsync). The
   pool keeps the memory for later calls, see sgemm_release_workspaces(). If the memory cannot be had, sgemm_run() uses
   a plan with less: in a tensor mode one with slices, in a quarter, and then one without workspace. */
enum { SGEMM_WORKSPACE_AUTO = -1 };

/* One multiplication, or `batch` of them at constant strides. Sizes, leading dimensions and strides are in elements. */
typedef struct sgemm_params {
  int order, op_a, op_b;      /* sgemm_order, sgemm_op */
  int64_t m, n, k;            /* op(A) is m x k, op(B) is k x n, C is m x n; each >= 0 */
  float alpha, beta;          /* host values */
  const float *A, *B;         /* device pointers; neither may overlap C */
  float *C;                   /* device pointer */
  int64_t lda, ldb, ldc;      /* >= 1; row-major: lda >= k (op_a N) or m (T), ldb >= n (op_b N) or k (T), ldc >= n */
  int64_t batch;              /* multiplications in this call, >= 0 */
  int64_t stride_a, stride_b; /* elements from one matrix to the next, >= 0; 0: all multiplications use one matrix */
  int64_t stride_c;           /* elements from one result to the next; results may interleave rows, not overlap */
  void *workspace;            /* device memory, aligned to 16 bytes; NULL: none. See sgemm_workspace_query() */
  int64_t workspace_bytes;    /* bytes at workspace, >= 0; or SGEMM_WORKSPACE_AUTO */
  int mode;                   /* sgemm_mode */
  const void *prepared_a, *prepared_b; /* pre-split operands from sgemm_prepare(); NULL: each call splits A or B */
  /* The epilogue (sgemm/epilogues.h). No matrix may overlap D, but for C, whose elements may be those of D. */
  int epilogue;                       /* sgemm_epilogue */
  float *D;                           /* device pointer: receives the result; NULL: C does */
  int64_t ldd, stride_d;              /* leading dimension and batch stride of D; rules of ldc and stride_c */
  const float *vec_m, *vec_n;         /* device pointers: m and n elements; not read unless the epilogue lists
                                         vec_m, vec_n or bias; NULL: zeros in bias */
  int64_t stride_vec_m, stride_vec_n; /* elements from one vector of the batch to the next; 0: one vector for all */
  const float *E;                     /* device pointer: a matrix like C */
  int64_t lde, stride_e;              /* leading dimension and batch stride of E; stride 0: one matrix for all */
  float *aux;                         /* device pointer: a second result like D; NULL: it is not stored */
  int64_t ld_aux, stride_aux;         /* leading dimension and batch stride of aux; rules of ldc and stride_c */
  float s, t;                         /* scalars of the expression */
  const float *alpha_device, *beta_device; /* device pointers that take the place of alpha and beta; NULL: none */
} sgemm_params;

#if !defined(__CUDACC_RTC__)

static inline int64_t sgemm__max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t sgemm__ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }
/* a * b modulo 2^64. Unsigned overflow is defined, and sgemm_check() refuses sizes that overflow. */
static inline int64_t sgemm__product(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

/* Params of one row-major multiplication: packed leading dimensions and strides, alpha 1, beta 0, batch 1, pointers
   NULL, no workspace, mode SGEMM_MODE. */
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
  p.A = p.B = p.C = NULL;
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
  p.prepared_a = p.prepared_b = NULL;
  p.epilogue = SGEMM_EPILOGUE_none;
  p.D = p.aux = NULL;
  p.E = p.vec_m = p.vec_n = p.alpha_device = p.beta_device = NULL;
  p.ldd = p.lde = p.ld_aux = p.ldc;
  p.stride_d = p.stride_e = p.stride_aux = p.stride_c;
  p.stride_vec_m = p.stride_vec_n = 0;
  p.s = p.t = 0.0f;
  return p;
}

/* Params of one column-major multiplication, the layout of cuBLAS: lda is m (op_a N) or k (T), ldb is k (op_b N) or n
   (T), ldc is m, each at least 1. The other fields are those of sgemm_params_init(). */
static inline sgemm_params sgemm_params_init_col(sgemm_op op_a, sgemm_op op_b, int64_t m, int64_t n, int64_t k) {
  sgemm_params p = sgemm_params_init(op_a, op_b, m, n, k);
  p.order = SGEMM_COL_MAJOR;
  p.lda = sgemm__max(1, op_a == SGEMM_N ? m : k);
  p.ldb = sgemm__max(1, op_b == SGEMM_N ? k : n);
  p.ldc = sgemm__max(1, m);
  p.stride_a = sgemm__product(p.lda, op_a == SGEMM_N ? k : m);
  p.stride_b = sgemm__product(p.ldb, op_b == SGEMM_N ? n : k);
  p.stride_c = sgemm__product(p.ldc, n);
  p.ldd = p.lde = p.ld_aux = p.ldc;
  p.stride_d = p.stride_e = p.stride_aux = p.stride_c;
  return p;
}

/* ---- Device ------------------------------------------------------------------------------------------------------ */

/* Properties of a GPU, for the selection, the roofline and the occupancy. */
typedef struct sgemm_device {
  char name[64];
  int major, minor;    /* compute capability */
  int code_arch;       /* 10 * major + minor of the compiled kernels that run, at most the GPU's; 0: unknown */
  int has_sm90a_code;  /* 1: the kernels that run are sm_90a code: tma has a producer warpgroup, and wgmma runs */
  int multiprocessors; /* SMs */
  int lanes;           /* fp32 FMA lanes of an SM: 64 or 128 */
  int clock_mhz;       /* highest SM clock in MHz */
  int threads_per_sm, blocks_per_sm;       /* maximum resident threads, and blocks, of an SM */
  int registers_per_sm;                    /* 32-bit registers of an SM */
  int64_t shared_per_sm, shared_per_block; /* bytes of shared memory of an SM; their maximum for a block */
  int64_t shared_reserved; /* bytes of shared memory that the system reserves for each block: 1024 from sm_80 on */
  int64_t l2_bytes;        /* bytes of the L2 cache */
  double peak_gflops;      /* nominal GFLOP/s of fp32 FMA without tensor cores: 2 * lanes * SMs * clock */
  double bandwidth_gbs;    /* nominal GB/s of DRAM: 2 * memory clock * bus width in bytes */
  int cluster_limit;       /* maximum blocks of a cluster in code for sm_90 and later: 16; 0 stands for 8 */
} sgemm_device;

/* ---- Variants ---------------------------------------------------------------------------------------------------- */

/* A variant of SGEMM_VARIANTS: its columns, and the sizes that follow from them. */
typedef struct sgemm_variant_info {
  const char *name;       /* as "sgemm_tiled_32x32x32_1x1"; kernels append _nn, _nt, _tn, _tt for the ops of A and B, or
                             _n, _t for the op of B (any_op_a) or of A (any_op_b), or nothing (both) */
  const char *stage_name; /* as "tiled" */
  const char *reason;     /* why the variant is there */
  sgemm_stage stage;
  int BM, BN, BK;      /* tile of C that a block computes; k of one step of the main loop */
  int TM, TN;          /* results of a thread */
  int WM, WN;          /* tile that a warp computes; BM, BN where the stage has no warp level */
  int V;               /* elements of one memory access: 4 (128 bits) or 1 */
  int bufs;            /* tiles of each operand in shared memory at a time */
  int slice_k;         /* sliced-K: parts into which a block divides each tile's k */
  int cluster_split_k; /* 1: the blocks of a cluster may divide a tile's k */
  int uses_tma;        /* 1: TMA copies the operands by tensor maps, after packing where needed; from sm_90 on */
  int shared, threads; /* bytes of dynamic shared memory of a block, 0 in stages with static shared memory; threads of
                          a block, with the producer of sm_90a code: see sgemm_variant_threads() */
  int resident;        /* blocks that fit on an SM with 228 KiB of shared memory, at most `blocks` */
  int blocks;          /* resident blocks per SM for which ptxas budgets registers */
  int production; /* 1: compiled if SGEMM_STAGE is unset; sgemm_run() prefers these. 75, 89: compiled if the build has
                     code for sm_75 or older, or for sm_89 or older, and selected only on GPUs that run such code */
  int fuses;      /* 1: the kernels apply every epilogue; 2: those of calls that sgemm__in_registers() describes, with
                     aux in tma alone (docs/epilogues.md); 3: as 2, in a kernel of their own; 0: a second kernel
                     applies each */
  int serial;     /* 1: plans may have serial_k above 1 */
  int copies_elements; /* 1: copies single elements alone, so that alignment makes no difference */
  int any_op_a;        /* 1: a kernel reads the op of A at run time; 0: there is a kernel for each */
  int any_op_b;        /* 1: a kernel reads the op of B at run time; 0: there is a kernel for each */
} sgemm_variant_info;

/* A variant of SGEMM_TENSOR_VARIANTS: its columns, and the sizes that follow from them. */
typedef struct sgemm_tensor_variant_info {
  const char *name;   /* name of its kernel, as "sgemm_wgmma_fp16x3_128x256" */
  const char *reason; /* why the variant is there */
  sgemm_format format;
  int wgmma;           /* 1: engine wgmma, needs sm_90a; 0: engine mma, needs sm_80 */
  int terms;           /* 16-bit terms of an element */
  int BM, BN;          /* tile of C that a block computes */
  int k_blocks, sets;  /* promotion interval in k-blocks of 32 k; accumulator sets */
  int bufs;            /* k-blocks of each operand in shared memory at a time */
  int shared, threads; /* bytes of dynamic shared memory of a block, and its threads */
} sgemm_tensor_variant_info;

/* ---- Plans ------------------------------------------------------------------------------------------------------- */

/* How a call runs, in strict fp32 or on tensor cores. Fields that the variant does not use are off. If `tensor` is of
   fp16x3, tensor_fallback may be a variant of bf16x6. It computes, with the plan's split_k, the calls whose guard fires
   with SGEMM_GUARD_SPREAD or SGEMM_GUARD_SPARSE alone. The strict variant computes the calls with another reason, and
   those whose guard fires in bf16x6 too. A tensor plan may compute C in slices of m, n and k, of whole tiles and 128 k,
   one after the other in one workspace, each with a guard of its own. Slices of k are added up in C; those of m and n
   change no bit of what plan.tensor computes. */
typedef struct sgemm_plan {
  sgemm_variant variant; /* the strict variant, or the fallback of a tensor plan; SGEMM_VARIANT_NONE: no plan fits */
  sgemm_tensor_variant tensor;          /* the tensor-core variant; SGEMM_TENSOR_VARIANT_NONE: strict fp32 */
  sgemm_tensor_variant tensor_fallback; /* the full-range fallback; SGEMM_TENSOR_VARIANT_NONE: strict fp32 at once */
  int cluster_k;          /* splitk, gemv, clustered: blocks of a cluster that divide a tile's k: 1 to 16 (sm_90) */
  int split_k;            /* async, splitk, gemv, tensor variants: K partitions, >= 1, each written to the workspace and
                             summed by a second kernel; 1: off */
  int stream_k;           /* tma: 2 to 65535 persistent blocks divide the tiles of the last, partial wave; 0: off */
  int serial_k;           /* serial split-K: launches that divide k and add to C in their order: 2 to 8; 1: off */
  int repack_a, repack_b; /* TMA: 1 packs the operand K-major; column-major: repack_a is for B, repack_b for A */
  int slices_m, slices_n, slices_k; /* tensor: number of slices; 1 or 0: off; column-major: slices_m is of n */
} sgemm_plan;

/* Plans that sgemm_tune() times in a call, at most. */
enum { SGEMM_MAX_CANDIDATES = 64 };

/* One launch of a plan, for programs that launch kernels themselves: with the driver API, and kernels that NVRTC has
   compiled. The parameter i for kernelParams of cuLaunchKernelEx() is arguments + argument_offset[i]. As one buffer
   (CU_LAUNCH_PARAM_BUFFER_POINTER) the arguments cannot pass: the driver places tensor maps at other offsets. */
enum { SGEMM_MAX_LAUNCHES = 9, SGEMM_MAX_ARGUMENT_BYTES = 704 };
typedef struct sgemm_launch {
  char kernel[64];                 /* the kernel's extern "C" name, as "sgemm_tiled_32x32x32_1x1_nn" */
  const char *part;                /* the SGEMM_PART that has the kernel: a stage's name, "tensor" or "host" */
  unsigned grid_x, grid_y, grid_z; /* blocks of the grid */
  unsigned threads;                /* threads of a block, along x */
  unsigned cluster;                /* blocks of a cluster, along x; 1: no cluster; above 8 the kernel needs an opt-in */
  unsigned shared_bytes;           /* dynamic shared memory of a block; above 48 KiB the kernel needs an opt-in */
  int argument_count;              /* the kernel's parameters: 1; in tma and clustered 3: its args, the tensor maps of A
                                      and B */
  size_t argument_offset[3];       /* where a parameter begins in arguments */
  size_t argument_bytes;           /* bytes of all of them */
  unsigned char arguments[SGEMM_MAX_ARGUMENT_BYTES];
} sgemm_launch;

/* cuTensorMapEncodeTiled() of the CUDA driver API, with int for its enums: writes the 128 bytes of a tensor map to map
   and returns 0 for success. A program passes (sgemm_tensor_map_encoder)cuTensorMapEncodeTiled. */
typedef int (*sgemm_tensor_map_encoder)(void *map, int type, uint32_t rank, void *first, const uint64_t *sizes,
                                        const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,
                                        int interleave, int swizzle, int promotion, int fill);

/* ---- Calls: what the implementation file provides ---------------------------------------------------------------- */

#ifdef __cplusplus
extern "C" {
#endif

/* Checks p, selects a plan and launches C = alpha * op(A) * op(B) + beta * C on the stream. Candidates are the compiled
   variants of one stage, in strict fp32; for SGEMM_STAGE_ANY those of all stages, and in a tensor mode the tensor-core
   variants. Errors: those of sgemm_check(); SGEMM_ERROR_NOT_COMPILED, _PLAN or _WORKSPACE if no plan fits;
   SGEMM_ERROR_GRID; SGEMM_ERROR_CUDA + e. */
sgemm_status sgemm_run_stage(sgemm_stage stage, const sgemm_params *p, sgemm_stream stream);

/* Runs the caller's plan. A tensor plan with alpha = 0 or k = 0 runs as sgemm_run(). SGEMM_ERROR_VARIANT: the plan
   names no variant. SGEMM_ERROR_PLAN: the plan is NULL, or does not fit the variant, the device or the operands, or
   its tensor variant reads another format than p's pre-split operands have.
   SGEMM_ERROR_WORKSPACE: p's workspace is smaller than sgemm_plan_workspace(). SGEMM_ERROR_NOT_COMPILED: the
   implementation file lacks the variant. */
sgemm_status sgemm_run_plan(const sgemm_plan *plan, const sgemm_params *p, sgemm_stream stream);

/* Runs one variant in strict fp32, with split_k 1, stream_k 0 and serial_k 1. For a variant of splitk, gemv and
   clustered cluster_k is the largest of 1, 2, 4 and 8 that the device can run and with which a block has at least 4 BK
   of k, 2 BK in gemv with V = 1, so that the bits depend on neither m nor the batch. Errors: those of
   sgemm_run_plan(). */
sgemm_status sgemm_run_variant(sgemm_variant variant, const sgemm_params *p, sgemm_stream stream);

/* The plan of one stage with the lowest estimated time for p on a device, among plans that fit p's workspace. For
   SGEMM_STAGE_ANY the candidates are the production variants, and the others only if no production variant fits. In a
   tensor mode SGEMM_STAGE_ANY takes a tensor-core variant if k is at least 128 (64 in full range) and its estimated
   time is below 0.85 of the strict plan's. The result depends only on the arguments and the implementation's
   SGEMM_STAGE; no device is queried. variant is SGEMM_VARIANT_NONE if no compiled variant fits. */
sgemm_plan sgemm_select(const sgemm_params *p, sgemm_stage stage, const sgemm_device *device);

/* The simplest plan of a strict variant for p: cluster_k 1, split_k 1, stream_k 0, serial_k 1, and packing only of
   operands that tensor maps cannot describe. */
sgemm_plan sgemm_variant_plan(sgemm_variant variant, const sgemm_params *p);

/* Bytes of workspace that a plan needs for p. INT64_MAX: the sizes are too large to run. */
int64_t sgemm_plan_workspace(const sgemm_plan *plan, const sgemm_params *p);

/* Writes to launches[0], launches[1], ... what sgemm_run_plan() would launch on a device, in order, and their number to
   *count: at most SGEMM_MAX_LAUNCHES for each slice, 0 if there is nothing to compute. Launches nothing, queries no
   device. device.code_arch and has_sm90a_code are those of the code that will run. p.workspace is the memory of the
   launches: SGEMM_WORKSPACE_AUTO counts as none. encode: the encoder, if plan.variant is of tma or clustered, also as
   the fallback of a tensor plan; else NULL. capacity: elements of launches, which may be NULL for 0. With an error
   launches is untouched, and so is *count but for SGEMM_ERROR_CAPACITY. Errors: those of sgemm_run_plan(), without
   those of CUDA; SGEMM_ERROR_DEVICE, _LAUNCHES, _TENSOR_MAP, _CAPACITY. */
sgemm_status sgemm_plan_launches(const sgemm_plan *plan, const sgemm_params *p, const sgemm_device *device,
                                 sgemm_tensor_map_encoder encode, sgemm_launch *launches, int capacity, int *count);

/* Writes a line on a plan for p, at most `size` bytes with the final 0, and returns the whole line's length, as does
   snprintf(): variants, launches, workspace, estimate, and why a tensor mode is not taken. Size 0: text may be NULL. */
int sgemm_plan_describe(const sgemm_plan *plan, const sgemm_params *p, const sgemm_device *device, char *text,
                        size_t size);

/* Estimated microseconds of a plan that the device can run for p; the constants are those of an H200. 0: no plan. */
double sgemm_plan_estimate(const sgemm_plan *plan, const sgemm_params *p, const sgemm_device *device);

/* Writes the plans for p on a device that fit p's workspace to plans[0], plans[1], ..., at most `capacity` of them, and
   their estimated microseconds to microseconds[]. Returns their number; 0 if no plan fits. The first is the plan of
   sgemm_select(p, SGEMM_STAGE_ANY, device). The others follow by their estimates, the shortest first. In a tensor mode
   strict plans are among them, and plans with slices are not, but for the first. Queries no device, checks no
   argument. */
int sgemm_candidates(const sgemm_params *p, const sgemm_device *device, sgemm_plan *plans, double *microseconds,
                     int capacity);

/* Times the first `count` plans of sgemm_candidates() on the current device, with p's operands, and writes the fastest
   to *plan, for sgemm_run_plan(), and the microseconds of a run to *microseconds, which may be NULL. 8 candidates leave
   hardly any plan that is faster (docs/notebook/selection.md, "Timed candidates").
     This call blocks the host: it waits for the work of the stream, and runs each plan 2 to 385 times. The runs are
   L2-warm, in a graph, on a stream of their own. They write to memory from the pool of SGEMM_WORKSPACE_AUTO, not to C,
   D and aux, and to p's workspace or, with SGEMM_WORKSPACE_AUTO, to one from the pool. A plan whose workspace cannot be
   allocated is left out. The call may write another plan each time, and the results have other bits then.
     Errors: SGEMM_ERROR_PARAMS; SGEMM_ERROR_PLAN for a plan that is NULL; SGEMM_ERROR_CANDIDATES; those of sgemm_run();
   SGEMM_ERROR_SCRATCH; SGEMM_ERROR_CUDA + 900 (cudaErrorStreamCaptureUnsupported) for a stream that is being
   captured. */
sgemm_status sgemm_tune(const sgemm_params *p, int count, sgemm_plan *plan, double *microseconds, sgemm_stream stream);

/* Writes to *bytes the workspace of the plan that sgemm_run() would select for p on the current device without a limit
   on the workspace; 0 if this plan needs none. With less, sgemm_run() selects the best plan that fits, in a tensor mode
   also one with slices; without a workspace it is a strict one. Pointers may be NULL, which counts as aligned to 16
   bytes, and are not checked. In SGEMM_TENSOR the size has room for the full-range fallback, which splits pre-split
   operands again: 6 bytes for each element of A and B (docs/api.md, "Workspace"). Errors: those of sgemm_check() up to
   SGEMM_ERROR_TOO_LARGE; SGEMM_ERROR_CUDA + e. */
sgemm_status sgemm_workspace_query(const sgemm_params *p, int64_t *bytes);

/* Computes one value of each row, or each column, of the result that sgemm_run() would compute, epilogue included, and
   does not store the result unless p.D is given. C is read as by sgemm_run(), and never written. Each time the same
   call gives the same bits; sums are added in an order that depends on the sizes and the workspace.
     The result is computed in slabs, in p's workspace: in the bytes of sgemm_reduction_workspace_query(), or in less,
     which is slower. Where both operands are contiguous along k, kernels of tma and wgmma reduce the rows of their
     tiles and store no sums of products (docs/reductions.md); else a slab is about as large as the L2. Without a
     workspace one kernel multiplies and reduces, at a small part of the speed, in strict fp32, rows or columns of less
     than 2^31 elements. Pre-split operands are not used.
     Errors: SGEMM_ERROR_PARAMS; SGEMM_ERROR_REDUCTION, _AXIS; those of sgemm_check(); SGEMM_ERROR_VALUES, _INDICES,
     _STRIDE_VALUES; those of sgemm_run(). */
sgemm_status sgemm_run_reduction(const sgemm_params *p, const sgemm_reduction_params *r, sgemm_stream stream);

/* Writes to *bytes the workspace that sgemm_run_reduction() takes on the current device if it may: at most 64 MiB for k
   up to 1024, and 64 MiB more for each further 1024 of k. Errors: those of sgemm_check_reduction(), and those of
   CUDA. */
sgemm_status sgemm_reduction_workspace_query(const sgemm_params *p, const sgemm_reduction_params *r, int64_t *bytes);

/* Gives the memory that the pool of SGEMM_WORKSPACE_AUTO keeps on the current device, and that no call uses, back to
   the device. Errors: SGEMM_ERROR_CUDA + e. */
sgemm_status sgemm_release_workspaces(void);

/* Pre-split operands, for a tensor mode: an operand that does not change, such as weights, is split once.
     sgemm_prepare() reads op(A) (which = 'A') or op(B) ('B') as p describes it and writes sgemm_prepared_bytes() bytes
     to `memory`, device memory aligned to 16 bytes.
     A call takes the result in p.prepared_a or p.prepared_b if order, op, sizes, leading dimension, batch, stride and
     mode of this operand are those of the preparation. The other operand's size is free. p.A and p.B are still needed:
     full range and strict fp32 read them on fallback.
     sgemm_prepared_bytes() is INT64_MAX if the sizes are too large.
     Errors: SGEMM_ERROR_WHICH; those of sgemm_check(); SGEMM_ERROR_MODE for a p in strict mode;
     SGEMM_ERROR_PREPARE_MEMORY; SGEMM_ERROR_NOT_COMPILED; SGEMM_ERROR_GRID. */
int64_t sgemm_prepared_bytes(const sgemm_params *p, char which);
sgemm_status sgemm_prepare(const sgemm_params *p, char which, void *memory, sgemm_stream stream);

/* Copies to *reason, in stream order, the fallback reason of the last tensor call with p's workspace: 0, or a sum of
   sgemm_guard bits. Strict fp32 computed that call if the reason is not 0 and SGEMM_GUARD_FULL_RANGE is not in it. With
   slices it has the bits of all of them, and some may be 0.
   *reason is undefined if the plan of that call had no tensor-core variant. reason: host or device memory; a copy to
   pageable host memory may block the host. SGEMM_ERROR_WORKSPACE: p's workspace is NULL or smaller than 128 bytes. */
sgemm_status sgemm_guard_query(const sgemm_params *p, uint32_t *reason, sgemm_stream stream);

/* The columns of a variant; NULL if there is no such variant. */
const sgemm_variant_info *sgemm_variant_get(sgemm_variant variant);
const sgemm_tensor_variant_info *sgemm_tensor_variant_get(sgemm_tensor_variant variant);

/* sgemm_compiled(): 1 if the implementation file holds the variant's kernels. sgemm_tensor_compiled(): 1 if it holds
   the kernels of the tensor modes, for which SGEMM_STAGE is unset or all. */
int sgemm_compiled(sgemm_variant variant);
int sgemm_tensor_compiled(void);

/* sgemm_status_string(), but for SGEMM_ERROR_CUDA + e it is the sentence of cudaGetErrorString(e). Not NULL for any
   value. The CPU model has no such sentences and returns sgemm_status_string(). */
const char *sgemm_error_string(sgemm_status status);

/* Writes the properties of device 0, 1, ..., or of the current device for -1, to *out. The library caches those of the
   current device. For another device it reads them in each call, and code_arch, has_sm90a_code and cluster_limit are 0.
   The CPU model has device 0 alone, with nominal values. Errors: SGEMM_ERROR_CUDA + e; CPU model:
   SGEMM_ERROR_UNAVAILABLE. */
sgemm_status sgemm_device_query(int device, sgemm_device *out);

/* Resources of a variant's compiled kernel for two ops: registers of a thread, bytes of static and dynamic shared
   memory of a block, bytes of local memory (spills and stack) of a thread. Errors: SGEMM_ERROR_NOT_COMPILED,
   SGEMM_ERROR_CUDA + e; CPU model: SGEMM_ERROR_UNAVAILABLE. */
sgemm_status sgemm_kernel_resources(sgemm_variant variant, sgemm_op op_a, sgemm_op op_b, int *registers,
                                    int64_t *shared_bytes, int64_t *local_bytes);

#ifdef __cplusplus
}
#endif

/* ---- Helpers ----------------------------------------------------------------------------------------------------- */

#include "sgemm/helpers.h" /* FLOP, bytes, roofline, metrics, occupancy */

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

#include "sgemm/checks.h" /* sgemm_check(), sgemm_epilogue_name(), sgemm_epilogue_reads() */

/* ---- Wrappers ---------------------------------------------------------------------------------------------------- */

/* C = alpha * op(A) * op(B) + beta * C on the stream, in p's mode, by the plan that sgemm_select() chooses among all
   compiled variants. Errors: those of sgemm_run_stage(). */
static inline sgemm_status sgemm_run(const sgemm_params *p, sgemm_stream stream) {
  return sgemm_run_stage(SGEMM_STAGE_ANY, p, stream);
}

/* sgemm_run_naive(), sgemm_run_tiled(), ...: sgemm_run_stage() of one stage each. */
#define SGEMM__X(stage, cluster_split_k, tma, idea)                                                                    \
  static inline sgemm_status sgemm_run_##stage(const sgemm_params *p, sgemm_stream stream) {                           \
    return sgemm_run_stage(SGEMM_STAGE_##stage, p, stream);                                                            \
  }
SGEMM_STAGES(SGEMM__X)
#undef SGEMM__X

/* sgemm_run() with the arguments of cblas_sgemm (CBLAS) and a stream. A, B and C are device pointers. order: 101 or
   102; trans_a, trans_b: 111, 112 or 113. Column-major: lda >= m (trans_a N) or k (T), ldb >= k (trans_b N) or n (T),
   ldc >= m. The call's workspace is SGEMM_WORKSPACE_AUTO, its mode SGEMM_MODE. */
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
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  return sgemm_run(&p, stream);
}

#endif /* !__CUDACC_RTC__ */

/* ---- Implementation ---------------------------------------------------------------------------------------------- */

#endif /* SGEMM_H */

/* Outside of the guard above, because another header may have included this one before SGEMM_IMPLEMENTATION was
   defined. Both files have guards of their own. */
#if defined(SGEMM_IMPLEMENTATION)
#include "sgemm_kernels.cuh"
#include "sgemm/launch/run.h"
#endif
