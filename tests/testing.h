/* testing.h: a multiplication with everything a test needs around it: guarded operands, a reference in double, and a
   sentence for whatever is wrong. The same for the GPU (MACHINE_CUDA=1) and the CPU model.

     problem q = problem_of(variant, SGEMM_N, SGEMM_T, m, n, k, EXACT);
     q.p.lda += 7;                            any field of sgemm_params but the pointers
     problem_make(&q);                        operands on the host; elements may be edited now
     CHECK(problem_run(&q, stream));          to the machine, run, and back
     CHECK(problem_check(&q));                every result, and every byte that is not one
     problem_free(&q);

   Whatever must not be read holds a NaN: padding, guards, C where beta = 0, A and B where alpha = 0, the workspace. It
   has the bytes of q.plan or q.tensor where one is set, otherwise as many as q.p.workspace_bytes asks for. */
#ifndef TESTING_H
#define TESTING_H

#include "examples/machine.h"
#include "sgemm.h"

#include <criterion/criterion.h>

/* Every function that returns a sentence returns NULL if all is well. */
#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    const char *fault = (call);                                                                                        \
    cr_assert(fault == NULL, "%s", fault ? fault : "");                                                                \
  } while (0)

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

/* ROW_IF(stage, production)(code) keeps the code of the rows that SGEMM_STAGE compiles. Two names are compared by
   pasting: only IS_<x>_<x> is a macro, and its comma moves a 1 into second place. */
#define IS_all_all ~, 1
#define IS_naive_naive ~, 1
#define IS_coalesced_coalesced ~, 1
#define IS_tiled_tiled ~, 1
#define IS_tile1d_tile1d ~, 1
#define IS_tile2d_tile2d ~, 1
#define IS_vectorized_vectorized ~, 1
#define IS_warptiled_warptiled ~, 1
#define IS_doublebuffered_doublebuffered ~, 1
#define IS_async_async ~, 1
#define IS_splitk_splitk ~, 1
#define IS_gemv_gemv ~, 1
#define IS_tma_tma ~, 1
#define SECOND(a, b, ...) b
#define IS3(...) SECOND(__VA_ARGS__, 0, ~)
#define IS2(a, b) IS3(IS_##a##_##b)
#define IS(a, b) IS2(a, b)
#define KEEP_0(...)
#define KEEP_1(...) __VA_ARGS__
#define KEEP2(condition) KEEP_##condition
#define KEEP(condition) KEEP2(condition)
#if !defined(SGEMM_STAGE)
#define ROW_IF(stage, production) KEEP(production)
#elif IS(SGEMM_STAGE, all)
#define ROW_IF(stage, production) KEEP_1
#else
#define ROW_IF(stage, production) KEEP(IS(SGEMM_STAGE, stage))
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
  int64_t guard;                          /* GUARD; 0 for the sanitizers, which then see a wild read too */
  int64_t count;                          /* floats in all, guards included */
  float *before, *after;                  /* the whole of it on the host, as uploaded and as downloaded */
  float *machine;
} matrix;

typedef struct problem {
  sgemm_params p;
  sgemm_variant variant;    /* SGEMM_VARIANT_COUNT: whatever sgemm_run() selects */
  sgemm_plan plan;          /* 0 planes: sgemm_run_variant() makes its own */
  sgemm_tensor_plan tensor; /* 0 planes: none */
  layer layer;
  double units; /* where not 0, in place of k + 2 in the bound of ROUNDING */
  uint64_t seed;
  int nonfinite; /* 1: the reference may hold NaN and Inf, which results must then match */
  matrix A, B, C, workspace;
  char fault[768];
} problem;

problem problem_of(sgemm_variant variant, int op_a, int op_b, int64_t m, int64_t n, int64_t k, layer layer);
void problem_plan(problem *q, int ranks, int planes); /* of its variant, with the workspace that this takes */
void problem_make(problem *q);
void problem_free(problem *q);

/* The element (i, j) of op(X), or of C, in matrix b of the batch: before it is uploaded, after it was downloaded. */
float *element(const matrix *x, int64_t b, int64_t i, int64_t j);
float result(const problem *q, int64_t b, int64_t i, int64_t j);

const char *problem_upload(problem *q);   /* afterwards q->p holds the machine's pointers */
const char *problem_download(problem *q); /* waits for all work first */
const char *problem_run(problem *q, sgemm_stream stream);
const char *problem_check(problem *q);
const char *problem_solve(problem *q, sgemm_stream stream); /* make, run, check and free */

/* Against the machine's BLAS (OpenBLAS, cuBLAS), after a run: each within the bound of the true result, so at most
   twice the bound apart. */
const char *problem_check_blas(problem *q);

/* A sentence: the printed reason, with the problem before it. */
const char *problem_fault(problem *q, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

/* SGEMM_TEST_REDUCED=1 in the environment: every 11th case, for the sanitizers, which are slow; of plans every 5th. */
int reduced(void);

/* The i-th case of a row's sweep: m, n, k from the ring 1, T - 1, T, T + 1, 2T + 1 of its own tile, pairwise different;
   ops, (alpha, beta) and leading dimensions change from case to case, so that each meets each. 0: no such case. */
int sweep(problem *q, sgemm_variant variant, layer layer, int i);

/* ---- Schedules --------------------------------------------------------------------------------------------------- */

/* Ways to run the same call that must not show in its bits: streams of the GPU (the default one and four others),
   orders of the CPU model's threads (forward, backward, three shuffles). Sets the way and returns the stream for it. */
enum { SCHEDULES = 5 };
sgemm_stream schedule(int i);

/* Skips the test where the machine lacks something; with SGEMM_REQUIRE_GPU=1 in the environment, fails it. */
void need(int present, const char *what);
void need_machine(void); /* needs a GPU where MACHINE_CUDA is 1 */

#endif
