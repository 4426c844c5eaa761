/* sgemm/stages/split_k_reduce.cuh: the second kernel of split-K, which sums the partitions. */
#ifndef SGEMM_STAGES_SPLIT_K_REDUCE_CUH
#define SGEMM_STAGES_SPLIT_K_REDUCE_CUH

/* C <- alpha * sum + beta * C. The sum adds the partitions in order, partition 0 first. A thread computes one result. A
   block computes 2^log2_cols columns of several rows: a row of few columns would leave most of its threads without a
   result. The loads of up to 16 (AHEAD) partitions are in flight at a time; the last, smaller group is loaded together
   too. A loop of single loads over 12 partitions would take 12 times the latency of memory
   (docs/notebook/selection.md, "Sums of partitions"). */
SGEMM__DEVICE void sgemm__reduce_split_k(const sgemm__reduce_args *args, int threads) {
  enum { AHEAD = 16 };
  const sgemm__args *p = &args->gemm;
  const int cols = 1 << args->log2_cols;
  const uint32_t blocks_n = (uint32_t)((p->n + cols - 1) >> args->log2_cols), block_row = sgemm__block_x() / blocks_n;
  const int64_t row = (int64_t)block_row * (threads >> args->log2_cols) + (sgemm__thread() >> args->log2_cols);
  const int64_t col = (int64_t)(sgemm__block_x() - block_row * blocks_n) * cols + (sgemm__thread() & (cols - 1));
  const float *partial = args->partials + sgemm__block_yz() * args->stride_partials + row * args->ld_partials + col;
  float *C = p->C + sgemm__block_yz() * p->stride_c + row * p->ldc + col;
  float sum = 0.0f, r[AHEAD];
  int rest = (int)args->partitions, i;
  sgemm__pdl_wait();
  if (row >= p->m || col >= p->n || !sgemm__has_work(p))
    return;
  for (; rest >= AHEAD; rest -= AHEAD) {
    SGEMM__UNROLL
    for (i = 0; i < AHEAD; i++, partial += args->split_stride)
      r[i] = sgemm__load_result(partial);
    SGEMM__UNROLL
    for (i = 0; i < AHEAD; i++)
      sum += r[i];
  }
  if (rest > 0) {
    SGEMM__UNROLL
    for (i = 0; i < AHEAD - 1; i++, partial += args->split_stride)
      if (i < rest)
        r[i] = sgemm__load_result(partial);
    SGEMM__UNROLL
    for (i = 0; i < AHEAD - 1; i++)
      sum = i < rest ? sum + r[i] : sum;
  }
  if (p->applies_epilogue) {
    const sgemm__result_vector at = sgemm__result_vector_at(p, sgemm__block_yz(), row, col, 1);
    sgemm__apply_epilogue(p, 1, &at, &sum);
    return;
  }
  sum = sgemm__scale(p, sum);
  sgemm__store_global(C, p->beta != 0.0f ? sgemm__add_c(p, sum, sgemm__load_result(C)) : sum);
}

SGEMM__GLOBAL(sgemm_reduce_split_k, SGEMM__REDUCE_THREADS, 8, sgemm__reduce_args) {
  sgemm__reduce_split_k(&args, SGEMM__REDUCE_THREADS);
}

#endif /* SGEMM_STAGES_SPLIT_K_REDUCE_CUH */
