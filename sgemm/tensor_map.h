/* sgemm/tensor_map.h: what the tensor map of an operand of the stage tma holds. The launch encodes it, the CPU model
   reads it. */
#ifndef SGEMM_TENSOR_MAP_H
#define SGEMM_TENSOR_MAP_H

typedef struct sgemm__tensor_map_shape {
  const float *first;       /* first element of the first matrix */
  int64_t row_length, rows; /* elements of a row of memory; rows of a matrix */
  int64_t ld;               /* elements from a row to the next */
  int64_t matrices, stride; /* matrices of the batch; elements from a matrix to the next */
  int box_rows;             /* rows of a box, which has SGEMM__BOX elements of each */
} sgemm__tensor_map_shape;

/* The tensor map's contents for A (of_b = 0) or B (of_b = 1). MN: rows of op(A), or columns of op(B), of a tile. BK: k
   of a tile. */
static inline sgemm__tensor_map_shape sgemm__tensor_map_shape_of(const sgemm__args *args, int of_b, int MN, int BK) {
  const int k_major = of_b ? args->trans_b : !args->trans_a;
  const int64_t extent = of_b ? args->n : args->m;
  sgemm__tensor_map_shape v;
  v.first = of_b ? args->B : args->A;
  v.row_length = k_major ? args->k : extent;
  v.rows = k_major ? extent : args->k;
  v.ld = of_b ? args->ldb : args->lda;
  v.stride = of_b ? args->stride_b : args->stride_a;
  v.matrices = v.stride == 0 ? 1 : args->batch;
  v.stride = v.matrices > 1 ? v.stride : v.ld; /* the stride of a single matrix is not used, but must be valid */
  v.box_rows = k_major ? MN : BK;
  return v;
}

/* 1 if a tensor map can describe an operand: its rows start at multiples of 16 bytes, its strides are below 2^40 bytes,
   and the stride of the batch is a multiple of ld (CUDA Driver API, cuTensorMapEncodeTiled). NULL counts as aligned,
   because the pointers may be NULL in sgemm_workspace_query(). */
static inline int sgemm__tma_compatible(const float *X, int64_t ld, int64_t matrices, int64_t stride) {
  const int64_t limit = INT64_C(1) << 38;
  return (uintptr_t)X % 16 == 0 && ld > 0 && ld % 4 == 0 && ld < limit &&
         (matrices <= 1 || (stride % ld == 0 && stride < limit));
}

#endif /* SGEMM_TENSOR_MAP_H */
