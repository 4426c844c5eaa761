/* sgemm/stages/apply_epilogue.cuh: the second kernel of variants without kernels that apply an epilogue. */
#ifndef SGEMM_STAGES_APPLY_EPILOGUE_CUH
#define SGEMM_STAGES_APPLY_EPILOGUE_CUH

/* D <- the expression of the call's epilogue. D holds the sums of products. A thread computes 4 columns of
   SGEMM__APPLY_ROWS rows, and loads all their sums before it uses the first. */
SGEMM__DEVICE void sgemm__apply_to_matrix(const sgemm__args *p, int threads) {
  const uint64_t per_row = (uint64_t)(p->n + 3) / 4;
  const uint64_t number = (uint64_t)sgemm__block_x() * (uint64_t)threads + (uint64_t)sgemm__thread();
  const uint64_t rows = number / per_row;
  const int64_t row = (int64_t)rows * SGEMM__APPLY_ROWS, col = (int64_t)(number - rows * per_row) * 4;
  sgemm__result_vector at[SGEMM__APPLY_ROWS];
  float sums[SGEMM__APPLY_ROWS * 4] = {0.0f};
  int i;
  sgemm__pdl_wait();
  if (row >= p->m || !sgemm__has_work(p))
    return;
  SGEMM__UNROLL
  for (i = 0; i < SGEMM__APPLY_ROWS; i++) {
    at[i] = sgemm__result_vector_at(p, sgemm__block_yz(), row + i, col, 4);
    sgemm__load_values(sums + i * 4, p->C + at[i].matrix * p->stride_c + at[i].row * p->ldc + col, 4, at[i].exist);
  }
  SGEMM__UNROLL
  for (i = 0; i < SGEMM__APPLY_ROWS; i++)
    sgemm__apply_epilogue(p, 4, &at[i], sums + i * 4);
}

SGEMM__GLOBAL(sgemm_apply_epilogue, SGEMM__APPLY_THREADS, 4, sgemm__args) {
  sgemm__apply_to_matrix(&args, SGEMM__APPLY_THREADS);
}

#endif /* SGEMM_STAGES_APPLY_EPILOGUE_CUH */
