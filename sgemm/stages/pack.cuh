/* sgemm/stages/pack.cuh: packs an operand K-major into the workspace, for the stage tma. */
#ifndef SGEMM_STAGES_PACK_CUH
#define SGEMM_STAGES_PACK_CUH

/* What a block packs: SGEMM__PACK_ROWS rows or columns, and SGEMM__PACK_K of k, of one operand. */
typedef struct sgemm__pack_block {
  const float *from;         /* element (0, 0) of the operand's matrix */
  float *to;                 /* element (first_mn, first_k) of the packed operand */
  int64_t first_mn, first_k; /* first row or column, and first k, of the block */
  int64_t extent;            /* rows or columns of the matrix */
  int64_t ld, row_k;         /* leading dimensions of the operand and of the packed operand */
  int k_major;               /* 1: the operand is K-major */
  int vectors;               /* 1: the operand's rows of memory start at multiples of 16 bytes */
} sgemm__pack_block;

/* The work of a block. Blocks are numbered by operand, A before B, then by matrix of the batch, then by rows or
   columns, then by k. */
SGEMM__DEVICE sgemm__pack_block sgemm__pack_block_of(const sgemm__pack_args *args) {
  const sgemm__args *p = &args->gemm;
  const uint32_t blocks_k = (uint32_t)((p->k + SGEMM__PACK_K - 1) / SGEMM__PACK_K);
  const uint32_t blocks_a = args->a.repack ? (uint32_t)(args->a.rows / SGEMM__PACK_ROWS * args->a.batch) * blocks_k : 0;
  const int of_b = sgemm__block_x() >= blocks_a;
  const sgemm__packed_operand *o = of_b ? &args->b : &args->a;
  const uint32_t number = sgemm__block_x() - (of_b ? blocks_a : 0);
  const uint32_t blocks_mn = (uint32_t)(o->rows / SGEMM__PACK_ROWS);
  const uint32_t index = number / blocks_k, matrix = index < blocks_mn ? 0 : index / blocks_mn;
  sgemm__pack_block b;
  b.first_mn = (int64_t)(index - matrix * blocks_mn) * SGEMM__PACK_ROWS;
  b.first_k = (int64_t)(number - index * blocks_k) * SGEMM__PACK_K;
  b.row_k = (int64_t)blocks_k * SGEMM__PACK_K;
  b.ld = of_b ? p->ldb : p->lda;
  b.extent = of_b ? p->n : p->m;
  b.k_major = of_b ? p->trans_b : !p->trans_a;
  b.from = of_b ? p->B + matrix * p->stride_b : p->A + matrix * p->stride_a;
  b.vectors = (uintptr_t)b.from % 16 == 0 && b.ld % 4 == 0;
  b.to = o->data + (matrix * o->rows + b.first_mn) * b.row_k + b.first_k;
  return b;
}

/* Loads MN-major elements and transposes them: first 4 x 4 elements in the thread's registers, then by shared memory
   with rows of SGEMM__PACK_K floats. Float4 c of a row lies at the swizzled offset of float4 c ^ (row / 4 % 16), so
   that the 8 lanes of a 128-bit access have no bank conflict. r: float4 c, four k, of the 8 rows row, row + 16, ...,
   row + 112. */
SGEMM__DEVICE void sgemm__pack_transpose(float *r, const sgemm__pack_block *b, int64_t k_end, float *shared, int row,
                                         int c) {
  const int t = sgemm__thread(), mn = t % 32 * 4,
            k = t / 32 * 4; /* position of the first of two 4 x 4 blocks, stride 32 k */
  int i, j, v;
  SGEMM__UNROLL
  for (i = 0; i < 8; i++) {
    const int64_t at = b->first_k + k + i / 4 * 32 + i % 4;
    sgemm__load_guarded4(r + i * 4, b->from + at * b->ld + b->first_mn + mn, b->vectors,
                         at < k_end ? b->extent - b->first_mn - mn : 0);
  }
  SGEMM__UNROLL
  for (i = 0; i < 8; i += 4) {
    SGEMM__UNROLL
    for (v = 0; v < 4; v++) {
      float column[4];
      SGEMM__UNROLL
      for (j = 0; j < 4; j++)
        column[j] = r[(i + j) * 4 + v];
      sgemm__store_shared4(shared + (mn + v) * SGEMM__PACK_K + ((k / 4 + i * 2) ^ mn / 4 % 16) * 4, column);
    }
  }
  sgemm__barrier();
  SGEMM__UNROLL
  for (i = 0; i < 8; i++)
    sgemm__load_shared4(r + i * 4, shared + (row + i * 16) * SGEMM__PACK_K + (c ^ (row + i * 16) / 4 % 16) * 4);
}

/* Packing (Goto, van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008). Each operand with `repack`
   is written to the workspace K-major: a multiple of SGEMM__PACK_ROWS rows of a multiple of SGEMM__PACK_K elements,
   with zeros outside of the matrix. The tma kernel then copies it by a tensor map. */
SGEMM__DEVICE void sgemm__pack(const sgemm__pack_args *args, float *shared) {
  const sgemm__args *p = &args->gemm;
  const sgemm__pack_block b = sgemm__pack_block_of(args);
  const int t = sgemm__thread(), c = t % 16, row = t / 16; /* the thread's float4 of k, and the first of its 8 rows */
  float r[4 * 8];
  int i;
  sgemm__pdl_wait();
  if (!sgemm__has_work(p))
    return;
  if (b.k_major) {
    SGEMM__UNROLL
    for (i = 0; i < 8; i++) {
      const int64_t at = b.first_mn + row + i * 16, k_left = p->k - b.first_k - c * 4;
      sgemm__load_guarded4(r + i * 4, b.from + at * b.ld + b.first_k + c * 4, b.vectors, at < b.extent ? k_left : 0);
    }
  } else {
    sgemm__pack_transpose(r, &b, p->k, shared, row, c);
  }
  /* Streaming stores are faster, although the tma kernel reads the operand right away (docs/notebook/tile_ends.md). */
  SGEMM__UNROLL
  for (i = 0; i < 8; i++)
    sgemm__stream_global4(b.to + (row + i * 16) * b.row_k + c * 4, r + i * 4);
}

#if SGEMM__PART_HOST
SGEMM__GLOBAL(sgemm_pack, SGEMM__PACK_THREADS, 4, sgemm__pack_args) {
  SGEMM__SHARED(transposed, SGEMM__PACK_ROWS * SGEMM__PACK_K);
  sgemm__pdl_trigger();
  sgemm__pack(&args, transposed);
}
#endif

#endif /* SGEMM_STAGES_PACK_CUH */
