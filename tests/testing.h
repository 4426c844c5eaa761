/* testing.h: runs one multiplication on the GPU (MACHINE_CUDA=1) or on the CPU model, and checks it. A problem has
   guarded operands. The reference is computed in double. A fault is reported as a sentence.

     problem q = problem_of(variant, SGEMM_N, SGEMM_T, m, n, k, EXACT);
     q.p.lda += 7;                            any field of sgemm_params but the pointers
     problem_make(&q);                        operands on the host; elements may be edited now
     CHECK(problem_run(&q, stream));          upload to the backend, run, download
     CHECK(problem_check(&q));                every result, and every byte that is not one
     problem_free(&q);

   Memory that a call may not read holds NaN: padding, guards, C where beta = 0, A and B where alpha = 0, and the
   workspace before the call. The workspace is as large as the plan of q.plan or of a tma variant requires, otherwise
   q.p.workspace_bytes. */
#ifndef TESTING_H
#define TESTING_H

#include "tools/machine.h"
#include "sgemm.h"

#include <criterion/criterion.h>

/* A function that returns a sentence returns NULL if there is no fault. */
#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    const char *fault = (call);                                                                                        \
    cr_assert(fault == NULL, "%s", fault ? fault : "");                                                                \
  } while (0)

/* ---- Variants ---------------------------------------------------------------------------------------------------- */

/* VARIANT_IF(stage, production)(code) keeps the code if SGEMM_STAGE compiles the variant. sgemm/variants.h defines
   SGEMM__SAME. */
#define KEEP_0(...)
#define KEEP_1(...) __VA_ARGS__
#define KEEP_75(...) /* for GPUs before sm_80, on which the tests do not run */
#define KEEP2(condition) KEEP_##condition
#define KEEP(condition) KEEP2(condition)
#if !defined(SGEMM_STAGE)
#define VARIANT_IF(stage, production) KEEP(production)
#elif SGEMM__SAME(SGEMM_STAGE, all)
#define VARIANT_IF(stage, production) KEEP_1
#else
#define VARIANT_IF(stage, production) KEEP(SGEMM__SAME(SGEMM_STAGE, stage))
#endif

/* ---- Problems ---------------------------------------------------------------------------------------------------- */

enum { GUARD = 4096 }; /* NaN floats before and behind each operand: a write up to 16 KiB away is detected */
enum { PRIME = 7 };    /* odd padding of a row in floats; T + 1 + 7 is a multiple of 4, so vector paths run too */

/* Elements of the operands, and the bound of the check.
     EXACT     Integers in [-8, 8]. Every order of summation is exact, so results must equal the reference.
     ROUNDING  Uniform in (-1, 1). In every order of summation |error| <= (k + 2) 2^-24 (|alpha| |A| |B| + |beta| |C|):
               a rounding for each of k FMAs, one for alpha and one for beta (Higham 2002, 3.1). */
typedef enum data_kind { EXACT, ROUNDING } data_kind;

/* One operand with its guards, as stored. */
typedef struct matrix {
  int64_t rows, width, ld, batch, stride; /* stored rows of `width` elements; column-major: stored columns */
  int64_t row, col;                       /* floats from element (i, j) of op(X) to (i + 1, j), and to (i, j + 1) */
  int64_t offset;                         /* floats from a 16-byte boundary to the first element */
  int64_t guard;                          /* GUARD; 0 with a guard page, or if SGEMM_TEST_UNGUARDED=1 (sanitizers) */
  int guard_page;                         /* 1: a page without access rights follows the backend's copy */
  int64_t count;                          /* floats in all, guards included */
  float *before, *after;                  /* host images of all floats: as uploaded, and as downloaded */
  float *device;                          /* the copy in the backend's memory */
} matrix;

typedef struct problem {
  sgemm_params p;
  sgemm_variant variant; /* SGEMM_VARIANT_NONE: sgemm_run() selects one */
  sgemm_plan plan;       /* split_k 0: no plan is set, and the library makes one */
  data_kind kind;
  double roundings; /* 0: the bound of ROUNDING has k + 2 roundings; otherwise it has this number of them */
  uint64_t seed;
  int nonfinite;  /* 1: the reference may hold NaN and Inf, and results must match them */
  int guard_page; /* 1: no guards; on the CPU an access behind an operand's last 16 bytes ends the test */
  matrix A, B, C, workspace;
  char fault[768];
} problem;

problem problem_of(sgemm_variant variant, int op_a, int op_b, int64_t m, int64_t n, int64_t k, data_kind kind);

/* 1 if plans of a variant may have split_k > 1, or in stage tma stream_k > 1. */
int can_split(const sgemm_variant_info *v);

/* 1 if the build and the backend can run a tensor-core variant. A GPU, or the architecture that the code was compiled
   for, may lack wgmma, and production code for sm_90a has no mma. */
int can_run_tensor(int variant);

/* Sets a plan. problem_make() adds the fields that depend on strides and alignment: the operands that a tma variant
   repacks, and the strict fallback of a tensor-core variant. split: the plan's split_k, or in stage tma its stream_k
   (1: off). */
void problem_plan(problem *q, int cluster_k, int split);
void problem_plan_serial(problem *q, int cluster_k, int serial_k);
void problem_plan_tensor(problem *q, sgemm_tensor_variant tensor, int split_k);

void problem_make(problem *q);
void problem_free(problem *q);

/* Element (i, j) of op(X), or of C, in matrix b of the batch: element() in the image to upload, result() in the
   downloaded C. */
float *element(const matrix *x, int64_t b, int64_t i, int64_t j);
float result(const problem *q, int64_t b, int64_t i, int64_t j);

const char *problem_upload(problem *q);   /* sets the pointers of q->p to the backend's memory */
const char *problem_download(problem *q); /* waits for all work first */
const char *problem_run(problem *q, sgemm_stream stream);
const char *problem_check(problem *q);
const char *problem_solve(problem *q, sgemm_stream stream); /* make, run, check and free */

/* After a run, compares with the backend's BLAS (OpenBLAS or cuBLAS). Both results are within the bound of the exact
   result, so they differ by at most twice the bound. */
const char *problem_check_blas(problem *q);

/* Prints a sentence to q->fault and returns it: the parameters of the problem, then the fault. */
const char *problem_fault(problem *q, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

/* 1 in the quick tier, which runs fewer cases; 0 with SGEMM_TEST_FULL=1 in the environment. */
int reduced(void);

/* 1 in the quick tier alone, and 0 where mutants run (SGEMM_TEST_MUTANT=1), which need some cases more. */
int quick_tier(void);

/* The tile size whose boundaries a sweep takes for a variant's tile of `tile`: 8 for 1, 4 for 2. Tiles so small have no
   five different sizes around them, and two operands of 4 would have equal ones. */
int swept_tile(int tile);

/* Sets case i of a variant's sweep; returns 0 if there is none. A sweep has 500 cases, in the quick tier 25. Each of m,
   n and k is one of 1, T - 1, T, T + 1 and 2T + 1, where T is the variant's tile size along it. Where two are equal, n
   or k grows by multiples of 5 until all three differ. The cases combine each op pair with each (alpha, beta) and each
   padding of a leading dimension. */
int sweep(problem *q, sgemm_variant variant, data_kind kind, int i);

/* ---- Schedules --------------------------------------------------------------------------------------------------- */

/* A schedule may not change the bits of a result. On a GPU it is a stream: the default one or one of four others. On
   the CPU model it is an order of the threads: forward, backward or one of three shuffles. */
enum { SCHEDULES = 5, REDUCED_SCHEDULES = 3 };
int schedules(void);          /* the number of schedules of the tier; 1 with the sanitizers */
sgemm_stream schedule(int i); /* sets schedule i and returns its stream */

/* If present is 0, the backend lacks something that a GPU or a build without the tensor modes may lack: skips the test
   there. The CPU model of other builds has everything, so there the test fails, as it does on a GPU with
   SGEMM_REQUIRE_GPU=1 in the environment. */
void need(int present, const char *what);
void need_memory(const void *memory, const char *size); /* NULL: skips the test; fails it with SGEMM_REQUIRE_GPU=1 */
void need_backend(void);                                /* needs a GPU where MACHINE_CUDA is 1 */
void need_no_sanitizer(void); /* skips a test of values alone, whose accesses other tests have, under the sanitizers */

/* Test(suite, case, ANYWHERE) runs without a device too. Every other test is skipped there. */
#define ANYWHERE .description = "anywhere"

#endif
