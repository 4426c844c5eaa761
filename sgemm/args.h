/* sgemm/args.h: what a launch passes to a kernel: the multiplication, and the additions of split-K, the stage tma and
   the tensor modes. A kernel receives the smallest of these structs that holds what it uses. */
#ifndef SGEMM_ARGS_H
#define SGEMM_ARGS_H

/* What an epilogue reads besides the sums of products. The leading dimensions and strides are those of sgemm_params,
   and all matrices are row-major. */
typedef struct sgemm__epilogue_args {
  const float *C, *E;
  const float *vec_m, *vec_n; /* NULL: zeros */
  const float *alpha, *beta;  /* device memory; NULL: those of sgemm__args */
  float *aux;
  int64_t ldc, lde, ld_aux;
  int64_t stride_c, stride_e, stride_aux, stride_vec_m, stride_vec_n;
  int64_t row, col; /* position in the call's result of the first element that this launch computes; slices, slabs */
  float s, t;
  int col_major;  /* 1: the table's vec_m is vec_n here, its row a column */
  int number;     /* sgemm_epilogue */
  uint32_t reads; /* mask of SGEMM_READS_<value> */
} sgemm__epilogue_args;

/* A multiplication as sgemm__args_of() makes it from params: row-major, and k = 0 where params have alpha = 0. */
typedef struct sgemm__args {
  int64_t m, n, k;
  int64_t lda, ldb, ldc;
  int64_t batch, stride_a, stride_b, stride_c;
  const float *A, *B;
  float *C;
  float alpha, beta;
  uint32_t tiles_m, tiles_n;       /* tiles of C along m and n */
  int trans_a, trans_b;            /* 1: op T */
  const uint32_t *fallback_reason; /* tensor modes: the guard's word, 0 if tensor cores computed C; else NULL */
  int run_on_fallback;             /* 1: the kernel runs if *fallback_reason is not 0; 0: if it is 0 */
  int follows, precedes;           /* serial split-K: 1 if the launch before, or the next one, computes the same C */
  int applies_epilogue;            /* 1: results go through sgemm__apply_epilogue(), and C above is D; 0: plain */
  sgemm__epilogue_args epilogue;
} sgemm__args;

/* Args of the stages async, splitk and gemv. The results of split-K partition i go to C + i * split_stride. */
typedef struct sgemm__split_k_args {
  sgemm__args gemm;
  int64_t k_per_split;  /* k of a partition; all of k if split-K is off */
  int64_t split_stride; /* floats from one partition of a matrix to the next in the workspace */
} sgemm__split_k_args;

/* Args of the second kernel of split-K. The sum of `partitions` partial results goes to C. */
typedef struct sgemm__reduce_args {
  sgemm__args gemm;
  const float *partials;   /* element (0, 0) of the first partition of the first matrix */
  int64_t ld_partials;     /* floats from a row to the next */
  int64_t split_stride;    /* floats from a partition to the next */
  int64_t stride_partials; /* floats from a matrix of the batch to the next */
  int64_t partitions;
  int log2_cols; /* a block sums 2^log2_cols columns of SGEMM__REDUCE_THREADS >> log2_cols rows */
} sgemm__reduce_args;

/* One operand of the stage tma for sgemm_pack. */
typedef struct sgemm__packed_operand {
  float *data;   /* workspace: K-major rows, each a multiple of SGEMM__PACK_K elements long */
  int64_t rows;  /* rows of a matrix, a multiple of SGEMM__PACK_ROWS */
  int64_t batch; /* matrices; 1 if all multiplications of the batch use one */
  int repack;    /* 1: the operand is packed; 0: TMA copies the caller's operand */
} sgemm__packed_operand;

typedef struct sgemm__pack_args {
  sgemm__args gemm;
  sgemm__packed_operand a, b;
} sgemm__pack_args;

/* Stage tma: persistent blocks, and stream-K for the tiles of the last, partial wave. */
typedef struct sgemm__tma_args {
  sgemm__args gemm;
  uint32_t persistent_blocks; /* persistent blocks that run at a time */
  uint32_t tiles_per_block;   /* tiles after which a block ends and frees its slot for the next block of the grid */
  uint32_t stream_k_tiles;    /* tiles of the last, partial wave; 0: stream-K is off */
  uint32_t stream_k_units;    /* stream-K units, which divide the iterations of the stream-K tiles; one a block */
  uint64_t unit_iterations;   /* iterations (k-steps of BK) of a stream-K unit, in multiples of 2^-32 */
  float *partials;            /* workspace: two partial tiles for each stream-K unit */
  float *tile_values;         /* reducing kernel: workspace, a partial value for each row of each tile, see
                                 sgemm__store_tile_value() */
  int reduction;              /* reducing kernel: sgemm_reduction */
  int BM, BN, BK;             /* columns of the variant, for sgemm_reduce_stream_k */
  uint32_t reduce_threads;    /* sgemm_reduce_stream_k: threads that add one sum, a power of two, at most 32 */
} sgemm__tma_args;

/* An operand of a tensor mode, split into 16-bit terms. Its row i is row i of op(A), or column i of op(B). */
typedef struct sgemm__split_operand {
  void *data;      /* split terms, in the layout that sgemm__k_block_bytes() describes */
  float *scales;   /* block scales: for each row and SGEMM__SCALE_K of k, the value of a term's 1, a power of two */
  uint32_t *flags; /* SGEMM__FLAG_* bits of each SGEMM__ROW_BLOCK rows and SGEMM__SCALE_K of k */
  int64_t rows;    /* rows of a matrix, a multiple of SGEMM__ROW_BLOCK */
  int64_t batch;   /* matrices; 1 if all multiplications of the batch use one */
  int presplit;    /* 1: sgemm_prepare() has split the operand before this call, or the slice before has */
} sgemm__split_operand;

/* Words at the start of a tensor plan's workspace. The multiplying kernels write them; later launches read them. Each
   slice of a plan writes them again. SGEMM__WORD_SPREAD_AT is also written by the split, which reads what earlier
   blocks or calls have left there. */
enum {
  SGEMM__WORD_REPORT, /* the value of sgemm_guard_query(): the sum of the bits of all slices */
  SGEMM__WORD_STRICT, /* not 0 if strict fp32 computes C */
  /* Words of plans with tensor_fallback: */
  SGEMM__WORD_FIRST,      /* the fallback reason of plan.tensor */
  SGEMM__WORD_FULL_TERMS, /* 1 if the split terms in the workspace are those of full range */
  SGEMM__WORD_SPREAD_AT   /* two words: the place of a spread, as sgemm__spread_place() makes it */
};

/* The value of SGEMM__WORD_SPREAD_AT where no spread is known. */
#define SGEMM__NO_SPREAD (~(uint64_t)0)

/* Args of the tensor modes' kernels: the split and the multiplication. */
typedef struct sgemm__tensor_args {
  sgemm__args gemm;
  sgemm__split_operand a, b;
  int split_k;                       /* split-K partitions; 1: off */
  int64_t k_per_split, split_stride; /* as in sgemm__split_k_args */
  uint32_t *guard_word;              /* workspace: the multiplying kernel writes the fallback reason here */
  const uint32_t *first_reason;      /* kernels of tensor_fallback: SGEMM__WORD_FIRST; else NULL */
  uint32_t *report;                  /* SGEMM__WORD_REPORT; NULL: a later kernel writes it */
  int adds_to_report;                /* 1: the report has the bits of earlier slices */
  int reduction;                     /* reducing kernels: sgemm_reduction */
  uint32_t *full_terms;              /* SGEMM__WORD_FULL_TERMS: in kernels of tensor_fallback, and in fp16x3 if slices
                                        share an operand; else NULL */
  uint64_t *spread_at;               /* SGEMM__WORD_SPREAD_AT in fp16x3 of plans with tensor_fallback; else NULL */
  float *tile_values;                /* reducing kernels: workspace, a partial value for each row of each tile, see
                                        sgemm__store_tile_value(); else NULL */
} sgemm__tensor_args;

/* Args of the kernels of reductions. The m x n results of gemm are a slab of the result of the call. */
typedef struct sgemm__reduction_args {
  sgemm__args gemm;         /* C: the slab's sums of products, each row aligned to 16 bytes */
  float *D;                 /* receives the result of the slab; NULL: it is not stored */
  int64_t ldd, stride_d;    /* floats of D from a row to the next, and from a matrix to the next */
  float *values;            /* the reduction's results; NULL: not stored. See partial_values */
  int64_t *indices;         /* NULL: not stored */
  int64_t stride;           /* elements of values and of indices from a matrix to the next */
  float *partial_values;    /* workspace: the values of each part of the reduced direction; NULL: there is one part */
  int64_t *partial_indices; /* workspace: their indices */
  int64_t part_stride;      /* elements of partial_values, and of partial_indices, from a part to the next;
                               parts * part_stride from a matrix to the next */
  int64_t first;            /* index of the slab's first element in the reduced direction of the result */
  int64_t per_part;         /* rows, or vectors of 4 columns, of a part */
  int parts;                /* parts of the reduced direction of a slab */
  int log2_lanes;           /* neighbouring threads that load neighbouring vectors of a row */
  int along_n;              /* 1: each row of the row-major slab is reduced; 0: each column */
  int accumulates;          /* 1: the partial values have those of earlier slabs; 0: they are overwritten */
  int reduction;            /* sgemm_reduction */
} sgemm__reduction_args;

/* Args of sgemm_reduce_tiles: the partial values of a slab's rows, all in the workspace. slab.gemm.fallback_reason: the
   guard's word, not 0 if the strict fallback multiplied; NULL in strict mode. */
typedef struct sgemm__tile_reduction_args {
  sgemm__reduction_args slab;
  const float *tiles;    /* slab.parts partial values for each row, one for each tile, see sgemm__store_tile_value() */
  const float *fallback; /* fallback_parts partial values for each row, of the strict fallback */
  float *earlier;        /* a partial value for each row, of the slabs before along n; NULL: there is one slab */
  int fallback_parts;
  int ends; /* 1: the slab is the last one along n; 0: `earlier` receives the partial values */
} sgemm__tile_reduction_args;

/* The grid of a launch. A block's number in y and z selects a matrix of the batch, or 128 k in the split. y * z may
   exceed their number; surplus blocks return. */
typedef struct sgemm__grid {
  unsigned x, y, z, threads; /* blocks, y and z at most 65535; threads of a block */
  unsigned cluster;          /* blocks of a cluster, along x */
  unsigned shared;           /* bytes of dynamic shared memory */
} sgemm__grid;

/* The kernels in each build beside those of variants: X(number, kernel, struct of its args). */
// clang-format off
#define SGEMM__COMMON_KERNELS(X)                                                                                       \
  X(REDUCE_SPLIT_K,  sgemm_reduce_split_k,  sgemm__reduce_args)                                                        \
  X(PACK,            sgemm_pack,            sgemm__pack_args)                                                          \
  X(REDUCE_STREAM_K, sgemm_reduce_stream_k, sgemm__tma_args)                                                           \
  X(APPLY_EPILOGUE,  sgemm_apply_epilogue,  sgemm__args)                                                               \
  X(REDUCE_SLAB,     sgemm_reduce_slab,     sgemm__reduction_args)                                                     \
  X(REDUCE_PARTS,    sgemm_reduce_parts,    sgemm__reduction_args)                                                     \
  X(REDUCE_TILES,    sgemm_reduce_tiles,    sgemm__tile_reduction_args)                                                \
  X(REDUCE_DIRECT,   sgemm_reduce_direct,   sgemm__reduction_args)
// clang-format on

/* The numbers of kernels: a strict variant's kernels have its number, the others follow. */
enum {
  SGEMM__LAST_VARIANT = (int)SGEMM_VARIANT_COUNT - 1,
#define SGEMM__X(number, kernel, args) SGEMM__##number,
  SGEMM__COMMON_KERNELS(SGEMM__X)
#undef SGEMM__X
      SGEMM__SPLIT,                                               /* one for each format */
  SGEMM__SPLIT_FALLBACK = SGEMM__SPLIT + (int)SGEMM_FORMAT_COUNT, /* the split of plans with tensor_fallback */
  SGEMM__TENSOR_KERNEL,                                           /* one for each tensor-core variant */
  /* The reducing kernel of each tensor-core variant; the table has 0 where there is none. */
  SGEMM__TENSOR_REDUCED = SGEMM__TENSOR_KERNEL + (int)SGEMM_TENSOR_VARIANT_COUNT,
  SGEMM__KERNEL_COUNT = SGEMM__TENSOR_REDUCED + (int)SGEMM_TENSOR_VARIANT_COUNT,
  /* Among a strict variant's kernels: the number of the further one, <variant>_reduced or <variant>_fused. Those of
     sgemm__kernel_number() are smaller. */
  SGEMM__FURTHER_KERNEL = 4
};

#endif /* SGEMM_ARGS_H */
