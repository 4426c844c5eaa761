/* sgemm/args.h: what a launch passes to a kernel: the multiplication, and beside it what split-K, the stage tma and the
   tensor modes add. A kernel receives the smallest of these structs that holds what it uses. */
#ifndef SGEMM_ARGS_H
#define SGEMM_ARGS_H

/* A multiplication without special cases, as sgemm__args_of() makes it from params: row-major, alpha = 0 turned into k
   = 0. */
typedef struct sgemm__args {
  int64_t m, n, k;
  int64_t lda, ldb, ldc;
  int64_t batch, stride_a, stride_b, stride_c;
  const float *A, *B;
  float *C;
  float alpha, beta;
  uint32_t tiles_m, tiles_n; /* tiles of C along m and n */
  int trans_a, trans_b;      /* 1: op T */
  const uint32_t
      *fallback_reason; /* tensor modes: the guard's word, 0: tensor cores computed C. NULL: no tensor mode */
  int run_on_fallback;  /* with a fallback_reason: 1: the kernel runs if it is not 0; 0: if it is 0 */
} sgemm__args;

/* Stages async, splitk and gemv. Partition i of k is computed into C + i * split_stride. */
typedef struct sgemm__split_k_args {
  sgemm__args gemm;
  int64_t k_per_split;  /* k of a partition; all of k where split-K is off */
  int64_t split_stride; /* floats from a result's partition to the next in the workspace */
} sgemm__split_k_args;

/* The second kernel of split-K. The sum of `partitions` partial results goes to C. */
typedef struct sgemm__reduce_args {
  sgemm__args gemm;
  const float *partials;   /* element (0, 0) of the first partition of the first matrix */
  int64_t ld_partials;     /* floats from a row to the next */
  int64_t split_stride;    /* floats from a partition to the next */
  int64_t stride_partials; /* floats from a matrix of the batch to the next */
  int64_t partitions;
} sgemm__reduce_args;

/* One operand of the stage tma for sgemm_pack. */
typedef struct sgemm__packed_operand {
  float *data;   /* in the workspace: K-major rows of a multiple of SGEMM__PACK_K elements */
  int64_t rows;  /* a multiple of SGEMM__PACK_ROWS */
  int64_t batch; /* matrices: 1 where all the batch shares one */
  int repack;    /* 1: the operand is packed; 0: the kernel takes it as it is */
} sgemm__packed_operand;

typedef struct sgemm__pack_args {
  sgemm__args gemm;
  sgemm__packed_operand a, b;
} sgemm__pack_args;

/* Stage tma: persistent blocks, and stream-K for the tiles of the last, partial wave. */
typedef struct sgemm__tma_args {
  sgemm__args gemm;
  uint32_t persistent_blocks; /* that run side by side */
  uint32_t tiles_per_block;   /* after which a block leaves its place to the next block of the grid */
  uint32_t stream_k_tiles;    /* tiles of the last, partial wave; 0: stream-K is off */
  uint32_t stream_k_units;    /* work units that share the iterations of these tiles, one a block */
  uint64_t unit_iterations;   /* iterations (steps of BK) of a unit, in units of 2^-32 */
  float *partials;            /* workspace: two partial tiles a unit */
  int BM, BN, BK;             /* of the variant, for sgemm_reduce_stream_k */
  uint32_t reduce_threads;    /* threads that share each sum there: a power of two, 32 at most */
} sgemm__tma_args;

/* An operand of a tensor mode, split into 16-bit terms. Row i of op(A), or column i of op(B), is its row i. */
typedef struct sgemm__split_operand {
  void *data;      /* the terms, in the order in which tensor cores take them: see sgemm__k_block_bytes() */
  float *scales;   /* a power of two for each row and SGEMM__SCALE_K of k: the value of a term's 1 */
  uint32_t *flags; /* SGEMM__FLAG_* of each SGEMM__ROW_BLOCK rows and SGEMM__SCALE_K of k */
  int64_t rows;    /* a multiple of SGEMM__ROW_BLOCK */
  int64_t batch;   /* matrices: 1 where all the batch shares one */
  int presplit;    /* 1: prepared before this call */
} sgemm__split_operand;

/* The tensor modes: the split and the multiplication. */
typedef struct sgemm__tensor_args {
  sgemm__args gemm;
  sgemm__split_operand a, b;
  int split_k;
  int64_t k_per_split, split_stride; /* as in sgemm__split_k_args */
  uint32_t *guard_word;              /* where the multiplying kernel writes the fallback reason */
} sgemm__tensor_args;

/* Blocks of a launch, and threads of a block: x counts the tiles of one C, y * z >= batch, with y and z <= 65535. */
typedef struct sgemm__grid {
  unsigned x, y, z, threads;
  unsigned cluster; /* blocks of a cluster, along x */
  unsigned shared;  /* bytes of dynamic shared memory */
} sgemm__grid;

/* The kernels that belong to no strict variant, numbered from SGEMM_VARIANT_COUNT on. */
enum {
  SGEMM__REDUCE_SPLIT_K = (int)SGEMM_VARIANT_COUNT,
  SGEMM__PACK,
  SGEMM__REDUCE_STREAM_K,
  SGEMM__SPLIT,                                                  /* one a format */
  SGEMM__TENSOR_KERNEL = SGEMM__SPLIT + (int)SGEMM_FORMAT_COUNT, /* one a tensor-core variant */
  SGEMM__KERNEL_COUNT = SGEMM__TENSOR_KERNEL + (int)SGEMM_TENSOR_VARIANT_COUNT
};

#endif /* SGEMM_ARGS_H */
