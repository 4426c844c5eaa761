/* report.h: counts the calls, and writes the report of SGEMM_BLAS_REPORT when the program exits. */
#ifndef SGEMM_BLAS_REPORT_H
#define SGEMM_BLAS_REPORT_H

/* Who computed a call, and why: X([symbol], "sentence"). */
// clang-format off
#define SGEMM_BLAS_PATHS(X)                                                                                            \
  X(SGEMM,     "sgemm")                                                                                                \
  X(OFF,       "BLAS: SGEMM_BLAS_MODE is off")                                                                         \
  X(ARGUMENTS, "BLAS: an argument is one that sgemm refuses")                                                          \
  X(EMPTY,     "BLAS: m, n, k or alpha is 0")                                                                          \
  X(SMALL,     "BLAS: fewer FLOP than SGEMM_BLAS_THRESHOLD")                                                           \
  X(THIN,      "BLAS: fewer FLOP for each byte than SGEMM_BLAS_INTENSITY")                                             \
  X(FORKED,    "BLAS: a child of fork(), whose parent had used the GPU")                                               \
  X(NO_GPU,    "BLAS: no GPU can be used")                                                                             \
  X(FALLBACK,  "BLAS: sgemm returned an error")
// clang-format on

typedef enum sgemm_blas__path {
#define SGEMM__X(symbol, sentence) SGEMM_BLAS_PATH_##symbol,
  SGEMM_BLAS_PATHS(SGEMM__X)
#undef SGEMM__X
      SGEMM_BLAS_PATH_COUNT
} sgemm_blas__path;

/* Counts a call. Any number of threads may call at once. */
void sgemm_blas__count(sgemm_blas__path path, double flop, double seconds);

/* The status of a call that sgemm did not compute. The report tells the first. */
void sgemm_blas__count_error(int status);

/* Forgets the calls: those of a parent are not those of its child. */
void sgemm_blas__count_none(void);

#endif /* SGEMM_BLAS_REPORT_H */
