/* sgemm/reductions.h: the table of reductions: what a call computes from each row, or each column, of a result that it
   does not store. Included by sgemm.h. */
#ifndef SGEMM_REDUCTIONS_H
#define SGEMM_REDUCTIONS_H

/* X([symbol] name, "what it computes of the elements of a row or column"). max and min also give the element's index:
   argmax and argmin. A NaN is larger than each number in max and smaller in min. Among equal elements, such as -0 and
   0, and among NaNs the one with the lowest index counts. Without elements the results are 0, 0, -Inf, Inf, and the
   index -1. */
// clang-format off
#define SGEMM_REDUCTIONS(X)                                                                                            \
  X(sum,         "the sum")                                                                                            \
  X(sum_squares, "the sum of squares")                                                                                 \
  X(max,         "the largest element, and its index")                                                                 \
  X(min,         "the smallest element, and its index")
// clang-format on

typedef enum sgemm_reduction {
#define SGEMM__X(name, what) SGEMM_REDUCTION_##name,
  SGEMM_REDUCTIONS(SGEMM__X)
#undef SGEMM__X
      SGEMM_REDUCTION_COUNT
} sgemm_reduction;

/* Whether each row of the result, or each column, becomes one value. */
typedef enum sgemm_axis { SGEMM_EACH_ROW = 0, SGEMM_EACH_COLUMN = 1 } sgemm_axis;

#if !defined(__CUDACC_RTC__)

/* The reduction of a call. For each matrix of the batch it stores m values, one for each row of the result, or n
   values, one for each column. */
typedef struct sgemm_reduction_params {
  int reduction;    /* sgemm_reduction */
  int axis;         /* sgemm_axis */
  float *values;    /* device pointer: m values for rows, n for columns; NULL: only the indices are stored */
  int64_t *indices; /* device pointer, max and min: the index of the element in its row or column; NULL: none */
  int64_t stride;   /* elements of values, and of indices, from one matrix of the batch to the next */
} sgemm_reduction_params;

#endif

#endif /* SGEMM_REDUCTIONS_H */
