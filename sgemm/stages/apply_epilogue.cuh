/* sgemm/stages/apply_epilogue.cuh: the second kernel of the stages that do not fuse the epilogue. */
#ifndef SGEMM_STAGES_APPLY_EPILOGUE_CUH
#define SGEMM_STAGES_APPLY_EPILOGUE_CUH

/* D <- the expression of the call's epilogue. D holds the sums of products. A thread computes 4 elements of a row. */
SGEMM__DEVICE void sgemm__apply_to_matrix(const sgemm__args *p, int threads) {
  const int64_t per_row = (p->n + 3) / 4, number = (int64_t)sgemm__block_x() * threads + sgemm__thread();
  const int64_t row = number / per_row, col = (number - row * per_row) * 4;
  float *D = p->C + sgemm__block_yz() * p->stride_c + row * p->ldc + col;
  float sums[4] = {0.0f};
  sgemm__pdl_wait();
  if (row >= p->m || !sgemm__has_work(p))
    return;
  sgemm__load_values(sums, D, sgemm__clip(p->n - col, 4));
  sgemm__apply_to_vector(p, D, 0, 0, 4, sums);
}

SGEMM__GLOBAL(sgemm_apply_epilogue, SGEMM__REDUCE_THREADS, 8, sgemm__args) {
  sgemm__apply_to_matrix(&args, SGEMM__REDUCE_THREADS);
}

#endif /* SGEMM_STAGES_APPLY_EPILOGUE_CUH */
