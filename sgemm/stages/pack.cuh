/* sgemm/stages/pack.cuh: packs an operand K-major into the workspace, for the stage tma. */
#ifndef SGEMM_STAGES_PACK_CUH
#define SGEMM_STAGES_PACK_CUH

/* Packing (Goto, van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008): an operand that is not
   `ready` is laid out in the workspace along k, rows of a multiple of SGEMM__PACK_K elements, as many as a multiple of
   SGEMM__PACK_ROWS. A block packs SGEMM__PACK_ROWS x SGEMM__PACK_K of one operand. What lies along e is transposed, 4 x
   4 elements in a thread's registers and then by `shared`, rows of k whose quad q is at place q ^ (row / 4 % 16), so
   that the 8 lanes of a 128-bit access meet no bank twice. */
SGEMM__DEVICE void sgemm__pack(const sgemm__pack_args *args, float *shared) {
  const sgemm__args *p = &args->gemm;
  /* Indices. */
  const uint32_t deep = (uint32_t)((p->k + SGEMM__PACK_K - 1) / SGEMM__PACK_K); /* blocks along k */
  const uint32_t blocks_a = args->a.repack ? (uint32_t)(args->a.rows / SGEMM__PACK_ROWS * args->a.batch) * deep : 0;
  const int of_b = sgemm__block_x() >= blocks_a;
  const sgemm__packed_operand *o = of_b ? &args->b : &args->a;
  const uint32_t number = sgemm__block_x() - (of_b ? blocks_a : 0);
  const uint32_t high = (uint32_t)(o->rows / SGEMM__PACK_ROWS); /* blocks along e */
  const uint32_t strip = number / deep,
                 matrix = strip < high ? 0 : strip / high; /* of SGEMM__PACK_ROWS, of all the batch */
  const int64_t first_e = (int64_t)(strip - matrix * high) * SGEMM__PACK_ROWS;
  const int64_t first_k = (int64_t)(number - strip * deep) * SGEMM__PACK_K, row_k = (int64_t)deep * SGEMM__PACK_K;
  const int64_t ld = of_b ? p->ldb : p->lda, extent = of_b ? p->n : p->m;
  const int k_major = of_b ? p->trans_b : !p->trans_a;
  const float *from = of_b ? p->B + matrix * p->stride_b : p->A + matrix * p->stride_a;
  const int vectors = (uintptr_t)from % 16 == 0 && ld % 4 == 0;
  const int t = sgemm__thread(), q = t % 16, row = t / 16; /* the thread's quad of k, and the first of its 8 rows */
  float *to = o->data + (matrix * o->rows + first_e) * row_k + first_k;
  float r[4 * 8];
  int i, j, v;
  sgemm__pdl_wait();
  if (!sgemm__has_work(p))
    return;
  if (k_major) {
    SGEMM__UNROLL
    for (i = 0; i < 8; i++) {
      const int64_t at = first_e + row + i * 16, rest = p->k - first_k - q * 4;
      sgemm__load_guarded4(r + i * 4, from + at * ld + first_k + q * 4, vectors, at < extent ? rest : 0);
    }
  } else {
    const int e = t % 32 * 4, k = t / 32 * 4; /* two blocks of 4 x 4, 32 k apart */
    SGEMM__UNROLL
    for (i = 0; i < 8; i++) {
      const int64_t at = first_k + k + i / 4 * 32 + i % 4;
      sgemm__load_guarded4(r + i * 4, from + at * ld + first_e + e, vectors, at < p->k ? extent - first_e - e : 0);
    }
    SGEMM__UNROLL
    for (i = 0; i < 8; i += 4) {
      SGEMM__UNROLL
      for (v = 0; v < 4; v++) {
        float quad[4];
        SGEMM__UNROLL
        for (j = 0; j < 4; j++)
          quad[j] = r[(i + j) * 4 + v];
        sgemm__store_shared4(shared + (e + v) * SGEMM__PACK_K + ((k / 4 + i * 2) ^ e / 4 % 16) * 4, quad);
      }
    }
    sgemm__barrier();
    SGEMM__UNROLL
    for (i = 0; i < 8; i++)
      sgemm__load_shared4(r + i * 4, shared + (row + i * 16) * SGEMM__PACK_K + (q ^ (row + i * 16) / 4 % 16) * 4);
  }
  SGEMM__UNROLL
  for (i = 0; i < 8; i++) /* streaming is faster, read at once though it is */
    sgemm__stream_global4(to + (row + i * 16) * row_k + q * 4, r + i * 4);
}

#if SGEMM__WITH_HOST
SGEMM__GLOBAL(sgemm_pack, SGEMM__PACK_THREADS, 4, sgemm__pack_args) {
  SGEMM__SHARED(transposed, SGEMM__PACK_ROWS * SGEMM__PACK_K);
  sgemm__pdl_trigger();
  sgemm__pack(&args, transposed);
}
#endif

#endif /* SGEMM_STAGES_PACK_CUH */
