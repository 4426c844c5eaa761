/* sgemm/device/multiply.cuh: the outer product of two fragments, in which every strict stage spends its FMAs. */
#ifndef SGEMM_DEVICE_MULTIPLY_CUH
#define SGEMM_DEVICE_MULTIPLY_CUH

/* acc[TM][TN] += a[TM] b[TN], the outer product of two fragments, whose elements lie step_a and step_b apart. Odd rows
   run backward, so that each FMA shares a multiplicand with the one before and ptxas can keep it in the operand's reuse
   cache. Column j of b goes to column j ^ turn of acc: with turn = 1, and both in quads of registers, an FMA's other
   two operands are of different banks, even and odd. */
SGEMM__DEVICE void sgemm__multiply_fragments(float *acc, const float *a, int step_a, const float *b, int step_b, int TM,
                                             int TN, int turn) {
  int i, j;
  SGEMM__UNROLL
  for (i = 0; i < TM; i++) {
    SGEMM__UNROLL
    for (j = 0; j < TN; j++) {
      const int column = i % 2 ? TN - 1 - j : j;
      float *sum = acc + i * TN + (column ^ turn);
      *sum = sgemm__fma(a[i * step_a], b[column * step_b], *sum);
    }
  }
}

#endif /* SGEMM_DEVICE_MULTIPLY_CUH */
