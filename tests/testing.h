/* testing.h: a multiplication with everything a test needs around it: guarded operands, a reference in double, and a
   sentence for whatever is wrong. The same for the GPU (MACHINE_CUDA=1) and the CPU model.

     problem q = problem_of(variant, SGEMM_N, SGEMM_T, m, n, k, EXACT);
     q.p.lda += 7;                            any field of sgemm_params but the pointers
     problem_make(&q);                        operands on the host; elements may be edited now
     CHECK(problem_run(&q, stream));          upload to the backend, run, download
     CHECK(problem_check(&q));                every result, and every byte that is not one
     problem_free(&q);

   Whatever must not be read holds a NaN: padding, guards, C where beta = 0, A and B where alpha = 0, the workspace. The
   workspace has the bytes of q.plan where one is set, otherwise as many as q.p.workspace_bytes asks for. */
#ifndef TESTING_H
#define TESTING_H

#include "tools/machine.h"
#include "sgemm.h"

#include <criterion/criterion.h>

/* Every function that returns a sentence returns NULL if all is well. */
#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    const char *fault = (call);                                                                                        \
    cr_assert(fault == NULL, "%s", fault ? fault : "");                                                                \
  } while (0)

/* ---- Variants ---------------------------------------------------------------------------------------------------- */

/* VARIANT_IF(stage, production)(code) keeps the code of the variants that SGEMM_STAGE compiles. SGEMM__SAME stands beside the
   table of stages. */
#define KEEP_0(...)
#define KEEP_1(...) __VA_ARGS__
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

enum { GUARD = 4096 }; /* poisoned floats before and behind each operand: a write within 16 KiB is seen */
enum { PRIME = 7 };    /* a leading dimension's odd surplus; T + 1 + 7 is a multiple of 4, so vector paths run too */

/* EXACT: integers in [-8, 8], for which every order of summation is exact; results must be equal.
   ROUNDING: uniform in (-1, 1); |error| <= (k + 2) 2^-24 (|alpha| |A| |B| + |beta| |C|) in any order of summation, a
   rounding for each of k FMAs, for alpha and for beta (Higham, Accuracy and Stability of Numerical Algorithms, 3.1). */
typedef enum layer { EXACT, ROUNDING } layer;

/* One operand with its guards, as stored. */
typedef struct matrix {
  int64_t rows, width, ld, batch, stride; /* stored rows of `width` elements: columns where column-major */
  int64_t row, col;                       /* from element (i, j) of op(X) to (i + 1, j) and (i, j + 1) */
  int64_t offset;                         /* floats beyond 16-byte alignment */
  int64_t guard;                          /* GUARD; 0 where fenced, or with SGEMM_TEST_UNGUARDED=1 for a sanitizer */
  int fenced;                             /* 1: the device's copy ends where its memory ends */
  int64_t count;                          /* floats in all, guards included */
  float *before, *after;                  /* the whole of it on the host, as uploaded and as downloaded */
  float *device;                          /* its copy in the backend's memory */
} matrix;

typedef struct problem {
  sgemm_params p;
  sgemm_variant variant; /* SGEMM_VARIANT_NONE: whatever sgemm_run() selects */
  sgemm_plan plan;       /* split_k 0: none is set, and sgemm_run_variant() makes its own */
  layer layer;
  double roundings; /* where not 0, in place of k + 2 in the bound of ROUNDING */
  uint64_t seed;
  int nonfinite; /* 1: the reference may hold NaN and Inf, which results must then match */
  int fenced;    /* 1: no guards; the CPU model faults at an access behind the 16 bytes that hold an operand's end */
  matrix A, B, C, workspace;
  char fault[768];
} problem;

problem problem_of(sgemm_variant variant, int op_a, int op_b, int64_t m, int64_t n, int64_t k, layer layer);

/* 1 if plans of a variant may have a split_k above 1, or in tma a stream_k above 1. */
int can_split(const sgemm_variant_info *v);

/* Sets a plan. problem_make() adds what depends on how the operands lie: the operands that a variant of tma repacks,
   and the strict fallback of a tensor-core variant. split: the plan's split_k, or in tma its stream_k, where 1 is off.
   */
void problem_plan(problem *q, int cluster_k, int split);
void problem_plan_tensor(problem *q, sgemm_tensor_variant tensor, int split_k);

void problem_make(problem *q);
void problem_free(problem *q);

/* The element (i, j) of op(X), or of C, in matrix b of the batch: before it is uploaded, after it was downloaded. */
float *element(const matrix *x, int64_t b, int64_t i, int64_t j);
float result(const problem *q, int64_t b, int64_t i, int64_t j);

const char *problem_upload(problem *q);   /* afterwards q->p holds the backend's pointers */
const char *problem_download(problem *q); /* waits for all work first */
const char *problem_run(problem *q, sgemm_stream stream);
const char *problem_check(problem *q);
const char *problem_solve(problem *q, sgemm_stream stream); /* make, run, check and free */

/* Compares with the backend's BLAS (OpenBLAS, cuBLAS), after a run: each is within the bound of the true result, so
   they are at most twice the bound apart. */
const char *problem_check_blas(problem *q);

/* A sentence: the printed reason, with the problem before it. */
const char *problem_fault(problem *q, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

/* 1 in the quick tier, whose tests take few cases; 0 with SGEMM_TEST_FULL=1 in the environment. */
int reduced(void);

/* The i-th case of a variant's sweep: m, n, k from the ring 1, T - 1, T, T + 1, 2T + 1 of its own tile, pairwise
   different; ops, (alpha, beta) and leading dimensions change from case to case, so that each meets each. 500 cases, 25
   in the quick tier. 0: no such case. */
int sweep(problem *q, sgemm_variant variant, layer layer, int i);

/* ---- Schedules --------------------------------------------------------------------------------------------------- */

/* Ways to run the same call that must not show in its bits: streams of the GPU (the default one and four others),
   orders of the CPU model's threads (forward, backward, three shuffles). Sets the way and returns the stream for it. */
enum { SCHEDULES = 5, REDUCED_SCHEDULES = 3 };
int schedules(void); /* how many of them a test takes that runs the same call on each */
sgemm_stream schedule(int i);

/* Skips the test where the backend lacks something; with SGEMM_REQUIRE_GPU=1 in the environment, fails it. */
void need(int present, const char *what);
void need_backend(void); /* needs a GPU where MACHINE_CUDA is 1 */

/* Test(suite, case, ANYWHERE) runs also where there is no device; without it need_backend() is understood. */
#define ANYWHERE .description = "anywhere"

#endif
