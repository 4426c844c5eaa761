/* sgemm/stages/tensor_spread.cuh: tensor modes: warps leave out their part of the fp16x3 split once full range is known
   to compute the call. It is included by tensor_split.cuh.

   A spread anywhere in A or B makes a plan with tensor_fallback compute the call in full range. The warp that finds one
   writes its place to SGEMM__WORD_SPREAD_AT. Warps that start later read the row at that place, and leave out their own
   part of the split if the row has a spread indeed. The word may have any value, such as one of an earlier call, and
   warps may read it early or late: a part is left out only where the operands have a spread, so the way of the call and
   its bits do not depend on it. */
#ifndef SGEMM_STAGES_TENSOR_SPREAD_CUH
#define SGEMM_STAGES_TENSOR_SPREAD_CUH

/* The place of a row's 128 k: their number in the operand, and which operand it is. number: row block, of all matrices.
   row: row in the row block, below 64. */
SGEMM__DEVICE uint64_t sgemm__spread_place(const sgemm__split_operand *o, int of_b, uint32_t number, uint32_t block_k,
                                           uint32_t row) {
  const uint64_t row_blocks = (uint64_t)(o->rows / SGEMM__ROW_BLOCK) * (uint64_t)o->batch;
  return (block_k * row_blocks + number) << 7 | (uint64_t)of_b << 6 | row;
}

/* 1 if a row has a spread in 128 k: SGEMM__SPREAD_MIN or more of 16 consecutive k are inexact, and no element is Inf or
   NaN. first: the first of the 128 elements. step: elements from one k to the next. ks: k that exist. Each lane of the
   warp has four consecutive k. */
SGEMM__DEVICE int sgemm__has_spread(const float *first, int64_t step, int64_t ks, uint32_t lane, int format) {
  float x[4], largest = 0.0f, inexact = 0.0f, block_scale;
  int j, mask;
  SGEMM__UNROLL
  for (j = 0; j < 4; j++) {
    const int64_t k = lane * 4 + j;
    x[j] = k < ks ? fabsf(sgemm__load_global(first + k * step)) : 0.0f;
    largest = x[j] == x[j] ? fmaxf(largest, x[j]) : INFINITY;
  }
  SGEMM__UNROLL
  for (mask = 16; mask > 0; mask /= 2)
    largest = fmaxf(largest, sgemm__shuffle_xor(largest, mask));
  block_scale = sgemm__block_scale(sgemm__scale_exponent(largest, format), format);
  SGEMM__UNROLL
  for (j = 0; j < 4; j++)
    inexact += x[j] != 0.0f && x[j] < block_scale * sgemm__exact_from(format) ? 1.0f : 0.0f;
  inexact += sgemm__shuffle_xor(inexact, 1); /* four lanes have 16 consecutive k */
  inexact += sgemm__shuffle_xor(inexact, 2);
  SGEMM__UNROLL
  for (mask = 16; mask > 2; mask /= 2)
    inexact = fmaxf(inexact, sgemm__shuffle_xor(inexact, mask));
  return largest < INFINITY && inexact >= (float)SGEMM__SPREAD_MIN;
}

/* 1 if the operands have a spread at the place of SGEMM__WORD_SPREAD_AT. All lanes of a warp call it.
   A pre-split operand has flag bits of its own; its elements are not read. */
SGEMM__DEVICE int sgemm__spread_is_known(const sgemm__tensor_args *args, uint32_t lane, int format) {
  const sgemm__args *p = &args->gemm;
  const uint64_t place = args->spread_at == NULL ? SGEMM__NO_SPREAD : sgemm__load_for_warp(args->spread_at);
  const int of_b = (int)(place >> 6 & 1), k_major = of_b ? p->trans_b : !p->trans_a;
  const sgemm__split_operand *o = of_b ? &args->b : &args->a;
  const int64_t ld = of_b ? p->ldb : p->lda, stride = of_b ? p->stride_b : p->stride_a;
  const int64_t of_matrix = o->rows / SGEMM__ROW_BLOCK, row_blocks = of_matrix * o->batch;
  int64_t number, row, block_k;
  if (place == SGEMM__NO_SPREAD || o->presplit)
    return 0;
  number = (int64_t)(place >> 7) % row_blocks;
  row = number % of_matrix * SGEMM__ROW_BLOCK + (int64_t)(place & (SGEMM__ROW_BLOCK - 1));
  block_k = (int64_t)(place >> 7) / row_blocks;
  if (block_k >= sgemm__scale_blocks(p->k) || row >= (of_b ? p->n : p->m))
    return 0;
  return sgemm__has_spread((of_b ? p->B : p->A) + number / of_matrix * stride + row * (k_major ? ld : 1) +
                               block_k * SGEMM__SCALE_K * (k_major ? 1 : ld),
                           k_major ? 1 : ld, p->k - block_k * SGEMM__SCALE_K, lane, format);
}

#endif /* SGEMM_STAGES_TENSOR_SPREAD_CUH */
