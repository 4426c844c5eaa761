/* sgemm/geometry.h: sizes that follow from a variant's columns, for the table of variants, the kernels and the
   launches: names, threads, shared memory, workspace blocks. All arguments are [integer constant] unless they say
   otherwise. */
#ifndef SGEMM_GEOMETRY_H
#define SGEMM_GEOMETRY_H

#define SGEMM__CAT2(a, b) a##b
#define SGEMM__CAT(a, b) SGEMM__CAT2(a, b) /* two levels, so that macro arguments expand before they are pasted */

/* A condition that must hold at compile time, with ["sentence"] as the compiler's message. */
#if defined(__cplusplus)
#define SGEMM__ASSERT(condition, sentence) static_assert(condition, sentence);
#else
#define SGEMM__ASSERT(condition, sentence) _Static_assert(condition, sentence);
#endif

/* SGEMM__ALIGNED(bytes) begins the definition of a variable with this alignment. */
#if defined(__cplusplus)
#define SGEMM__ALIGNED(bytes) alignas(bytes)
#else
#define SGEMM__ALIGNED(bytes) _Alignas(bytes)
#endif

/* [symbol] sgemm_tiled_32x32x32_1x1 */
#define SGEMM__NAME(stage, BM, BN, BK, TM, TN) sgemm_##stage##_##BM##x##BN##x##BK##_##TM##x##TN

/* [symbol] sgemm_wgmma_fp16x3_128x256 */
#define SGEMM__TENSOR_NAME(engine, format, BM, BN) sgemm_##engine##_##format##_##BM##x##BN

/* The traits of a stage as constants: SGEMM__CLUSTER_SPLIT_K_tiled, SGEMM__USES_TMA_tiled and so on. */
enum {
#define SGEMM__X(stage, cluster_split_k, uses_tma, idea)                                                               \
  SGEMM__CLUSTER_SPLIT_K_##stage = cluster_split_k, SGEMM__USES_TMA_##stage = uses_tma,
  SGEMM_STAGES(SGEMM__X)
#undef SGEMM__X
};

/* SGEMM__THREADS: threads of a block that compute results. SGEMM__BLOCK_THREADS: all threads of a block, with the
   producer warpgroup of tma in code for sm_90a. */
#define SGEMM__PRODUCER_THREADS 128
#define SGEMM__THREADS(BM, BN, TM, TN, slice_k) ((BM) / (TM) * ((BN) / (TN)) * (slice_k))
#define SGEMM__BLOCK_THREADS(producer, BM, BN, TM, TN, slice_k)                                                        \
  (SGEMM__THREADS(BM, BN, TM, TN, slice_k) + SGEMM__PRODUCER_THREADS * (producer))

/* SGEMM__SHARED_BYTES: bytes of dynamic shared memory of a block. It holds the tiles of pipelines (bufs >= 3), and in
   splitk, after the main loop, the results of all sliced-K groups. Tiles that TMA copies have no padding. In gemv,
   which has no tiles, it holds partial sums, at most one for each sliced-K group and result. */
#define SGEMM__TILE_FLOATS(MN, BK) ((BK) * ((MN) + 4)) /* floats of a tile in either layout of sgemm__shared_offset() */
#define SGEMM__TILE_BYTES(uses_tma, BM, BN, BK, bufs)                                                                  \
  (4 * (bufs) * ((uses_tma) ? (BK) * ((BM) + (BN)) : SGEMM__TILE_FLOATS(BM, BK) + SGEMM__TILE_FLOATS(BN, BK)))
#define SGEMM__SHARED_BYTES(uses_tma, cluster_split_k, BM, BN, BK, bufs, slice_k)                                      \
  ((bufs) < 3 ? ((bufs) == 0 && (cluster_split_k) ? 4 * (slice_k) * (BM) * (BN) : 0)                                   \
   : (cluster_split_k) && (slice_k) * (BM) * (BN)*4 > SGEMM__TILE_BYTES(uses_tma, BM, BN, BK, bufs)                    \
       ? (slice_k) * (BM) * (BN)*4                                                                                     \
       : SGEMM__TILE_BYTES(uses_tma, BM, BN, BK, bufs))

/* SGEMM__BLOCK_BYTES: bytes of an SM's shared memory that a block occupies, with the 1024 bytes that the system
   reserves (CUDA C++ Programming Guide, "Compute Capabilities"). SGEMM__RESIDENT_BLOCKS: blocks that fit on an SM with
   228 KiB of shared memory, at most `blocks`. */
#define SGEMM__BLOCK_BYTES(uses_tma, cluster_split_k, BM, BN, BK, bufs, slice_k)                                       \
  (1024 + ((bufs) < 3 ? (bufs) * (BK) * ((BM) + (BN) + 8) * 4                                                          \
                      : SGEMM__SHARED_BYTES(uses_tma, cluster_split_k, BM, BN, BK, bufs, slice_k)))
#define SGEMM__RESIDENT_BLOCKS(uses_tma, cluster_split_k, BM, BN, BK, bufs, slice_k, blocks)                           \
  (228 * 1024 / SGEMM__BLOCK_BYTES(uses_tma, cluster_split_k, BM, BN, BK, bufs, slice_k) < (blocks)                    \
       ? 228 * 1024 / SGEMM__BLOCK_BYTES(uses_tma, cluster_split_k, BM, BN, BK, bufs, slice_k)                         \
       : (blocks))

#define SGEMM__REDUCE_THREADS 128 /* threads of a block of sgemm_reduce_split_k */

#define SGEMM__APPLY_THREADS 256 /* threads of a block of sgemm_apply_epilogue */

#define SGEMM__REDUCTION_THREADS 256 /* threads of a block of the kernels of reductions */
#define SGEMM__DIRECT_TILE 64        /* rows and columns of a tile of sgemm_reduce_direct */
#define SGEMM__DIRECT_K 16           /* k of a tile of its operands */

/* Packed operands: see sgemm__pack(). */
#define SGEMM__PACK_ROWS 128    /* rows of an operand that a block packs */
#define SGEMM__PACK_K 64        /* k of an operand that a block packs */
#define SGEMM__PACK_THREADS 256 /* threads of a block of sgemm_pack and of sgemm_reduce_stream_k */
#define SGEMM__BOX 32           /* elements in a row of a box, the unit of a TMA copy: 128 bytes */

/* Split operands of the tensor modes: see sgemm/stages/tensor_split.cuh. */
#define SGEMM__K_BLOCK 32                        /* k of a k-block */
#define SGEMM__SCALE_K 128                       /* k of a row with one block scale */
#define SGEMM__K_BLOCKS(k) (((k) + 63) / 64 * 2) /* k-blocks of k, even: some variants multiply two at a time */
#define SGEMM__ROW_BLOCK 64                      /* rows of an operand that a block splits */
#define SGEMM__SPLIT_THREADS 256                 /* threads of a block that splits 64 rows, 8 rows a warp */
#define SGEMM__SPLIT_RESIDENT 4                  /* resident blocks of a split kernel on an SM */
enum {
#define SGEMM__X(format, terms, idea) SGEMM__TERMS_##format = terms,
  SGEMM_FORMATS(SGEMM__X)
#undef SGEMM__X
};
#define SGEMM__ROW_BYTES(terms) (2 * SGEMM__K_BLOCK * (terms)) /* bytes of a row of a k-block */
#define SGEMM__GROUP_BYTES 512                                 /* bytes of one term of 8 rows of a k-block */

/* Bytes of a buffer of shared memory: a k-block of A and of B, A's block scales, B's, and B's for the 128 k before. */
#define SGEMM__K_BLOCK_BYTES(BM, BN, terms) (((BM) + (BN)) * SGEMM__ROW_BYTES(terms))
#define SGEMM__BUFFER_BYTES(BM, BN, terms) (SGEMM__K_BLOCK_BYTES(BM, BN, terms) + 4 * (BM) + 8 * (BN))

#define SGEMM__WGMMA_wgmma 1
#define SGEMM__TENSOR_THREADS_wgmma 384 /* two consumer warpgroups and a producer warpgroup */
#define SGEMM__WGMMA_mma 0
#define SGEMM__TENSOR_THREADS_mma 256 /* 8 warps, each of 64 rows and WN columns */

#endif /* SGEMM_GEOMETRY_H */
