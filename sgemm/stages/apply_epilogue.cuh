/* sgemm/stages/apply_epilogue.cuh: the second kernel of variants without kernels that apply an epilogue. */
#ifndef SGEMM_STAGES_APPLY_EPILOGUE_CUH
#define SGEMM_STAGES_APPLY_EPILOGUE_CUH

/* D <- the expression of the call's epilogue. D holds the sums of products. A thread computes 4 elements of a row. The
   threads of an SM have enough loads in flight, and the code is short, because small results wait for the instruction
   cache longer than for anything else (docs/notebook/epilogues.md). */
SGEMM__DEVICE void sgemm__apply_to_matrix(const sgemm__args *p, int threads) {
  const uint64_t per_row = (uint64_t)(p->n + 3) / 4;
  const uint64_t number = (uint64_t)sgemm__block_x() * (uint64_t)threads + (uint64_t)sgemm__thread();
  const uint64_t row = number / per_row;
  const sgemm__result_vector at = sgemm__result_vector_at(p, sgemm__block_yz(), (int64_t)row,
                                                          (int64_t)(number - row * per_row) * 4, 4);
  float sums[4] = {0.0f};
  sgemm__pdl_wait();
  if (at.exist <= 0 || !sgemm__has_work(p))
    return;
  sgemm__load_values(sums, p->C + at.matrix * p->stride_c + at.row * p->ldc + at.col, 4, at.exist);
  sgemm__apply_epilogue(p, 4, &at, sums);
}

SGEMM__GLOBAL(sgemm_apply_epilogue, SGEMM__APPLY_THREADS, 6, sgemm__args) {
  sgemm__apply_to_matrix(&args, SGEMM__APPLY_THREADS);
}

#endif /* SGEMM_STAGES_APPLY_EPILOGUE_CUH */
