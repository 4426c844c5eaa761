/* report.h: counts the calls, and writes the report of SGEMM_CUBLAS_REPORT when the program exits. */
#ifndef SGEMM_CUBLAS_REPORT_H
#define SGEMM_CUBLAS_REPORT_H

#include <stdint.h>

/* Who computed a call, and why: X([symbol], "sentence"). */
// clang-format off
#define SGEMM_CUBLAS_PATHS(X)                                                                                          \
  X(STRICT,          "sgemm, strict")                                                                                  \
  X(TENSOR,          "sgemm, tensor")                                                                                  \
  X(FULL,            "sgemm, full")                                                                                    \
  X(OFF,             "cuBLAS: SGEMM_CUBLAS_MODE is off")                                                               \
  X(TYPE,            "cuBLAS: a matrix is not fp32")                                                                   \
  X(COMPUTE,         "cuBLAS: the compute type is not fp32")                                                           \
  X(MATH_MODE,       "cuBLAS: the math mode of the handle is not fp32")                                                \
  X(DEVICE_POINTERS, "cuBLAS: alpha and beta are device pointers")                                                     \
  X(EMPTY,           "cuBLAS: m, n, k or the batch is 0")                                                              \
  X(ARGUMENTS,       "cuBLAS: an argument is one that sgemm refuses")                                                  \
  X(ALGORITHM,       "cuBLAS: the program asks for autotuning, or for an unknown algorithm")                           \
  X(INCREMENT,       "cuBLAS: an increment of a vector is not 1")                                                      \
  X(SM_COUNT,        "cuBLAS: the program limits the SMs")                                                             \
  X(EPILOGUE,        "cuBLAS: an epilogue other than bias, ReLU and GELU, or a bias with a batch")                     \
  X(LAYOUT,          "cuBLAS: matrices that are not column-major, or a triangle")                                      \
  X(OUT_OF_PLACE,    "cuBLAS: beta is not 0, and C and D differ")                                                      \
  X(SCALES,          "cuBLAS: scale factors in device memory")                                                         \
  X(NO_CODE,         "cuBLAS: sgemm has no code for this GPU or driver")                                               \
  X(FALLBACK,        "cuBLAS: sgemm returned an error")                                                                \
  X(FAILED,          "none: sgemm failed while it wrote C")
// clang-format on

typedef enum sgemm_cublas__path {
#define SGEMM__X(symbol, sentence) SGEMM_CUBLAS_PATH_##symbol,
  SGEMM_CUBLAS_PATHS(SGEMM__X)
#undef SGEMM__X
      SGEMM_CUBLAS_PATH_COUNT
} sgemm_cublas__path;

/* What one line of the report counts. */
typedef struct sgemm_cublas__shape {
  const char *function; /* a string constant */
  int64_t m, n, k, batch;
  char op_a, op_b; /* 'N', 'T' or 'C'; '?': unknown */
  sgemm_cublas__path path;
} sgemm_cublas__shape;

/* A shape of the report. */
typedef struct sgemm_cublas__entry sgemm_cublas__entry;

/* Counts a call. Any number of threads may call at once. Returns the entry of the shape; NULL: there is no room. */
sgemm_cublas__entry *sgemm_cublas__count(const sgemm_cublas__shape *shape);

/* The times of an entry are measured by the one thread that claims them. claim: 1 for this thread. unclaim: a later
   call may measure. set: microseconds of a call in cuBLAS and here. */
int sgemm_cublas__claim_times(sgemm_cublas__entry *entry);
void sgemm_cublas__unclaim_times(sgemm_cublas__entry *entry);
void sgemm_cublas__set_times(sgemm_cublas__entry *entry, double cublas_us, double sgemm_us);

#endif /* SGEMM_CUBLAS_REPORT_H */
