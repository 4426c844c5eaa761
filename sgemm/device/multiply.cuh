/* sgemm/device/multiply.cuh: the outer product of two fragments, with all FMAs of the stages with shared tiles. */
#ifndef SGEMM_DEVICE_MULTIPLY_CUH
#define SGEMM_DEVICE_MULTIPLY_CUH

/* acc[TM][TN] += a[TM] b[TN], the outer product of two fragments with strides step_a and step_b. Odd rows run backward:
   each FMA then has a multiplicand of the FMA before, which ptxas can keep in the reuse cache. Column j of b belongs to
   column j ^ col_xor of acc. ptxas keeps b and acc in aligned groups of four registers; with col_xor = 1 the registers
   of b and acc in an FMA are in different register banks, even and odd (docs/notebook/issue_slots.md, "Register banks";
   docs/notebook/tma_origins.md). */
SGEMM__DEVICE void sgemm__multiply_fragments(float *acc, const float *a, int step_a, const float *b, int step_b, int TM,
                                             int TN, int col_xor) {
  int i, j;
  SGEMM__UNROLL
  for (i = 0; i < TM; i++) {
    SGEMM__UNROLL
    for (j = 0; j < TN; j++) {
      const int column = i % 2 ? TN - 1 - j : j;
      float *sum = acc + i * TN + (column ^ col_xor);
      *sum = sgemm__fma(a[i * step_a], b[column * step_b], *sum);
    }
  }
}

#endif /* SGEMM_DEVICE_MULTIPLY_CUH */
