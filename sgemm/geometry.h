/* sgemm/geometry.h: sizes that follow from a variant's columns, for the table of variants, the kernels and the
   launches: names, threads, shared memory, workspace blocks. All arguments are [integer constant] unless they say
   otherwise. */
#ifndef SGEMM_GEOMETRY_H
#define SGEMM_GEOMETRY_H

#define SGEMM__CAT2(a, b) a##b
#define SGEMM__CAT(a, b) SGEMM__CAT2(a, b) /* two levels, so that arguments that are macros expand first */

/* A condition that must hold at compile time, with ["sentence"] as the compiler's message. */
#if defined(__cplusplus)
#define SGEMM__ASSERT(condition, sentence) static_assert(condition, sentence);
#else
#define SGEMM__ASSERT(condition, sentence) _Static_assert(condition, sentence);
#endif

/* [symbol] sgemm_tiled_32x32x32_1x1 */
#define SGEMM__NAME(stage, BM, BN, BK, TM, TN) sgemm_##stage##_##BM##x##BN##x##BK##_##TM##x##TN

/* [symbol] sgemm_wgmma_fp16x3_128x256 */
#define SGEMM__TENSOR_NAME(engine, format, BM, BN) sgemm_##engine##_##format##_##BM##x##BN

/* The traits of a stage as constants: SGEMM__CLUSTER_SPLIT_K_tiled, SGEMM__USES_TMA_tiled and so on. */
enum {
#define SGEMM__X(stage, cluster_k, tma, idea) SGEMM__CLUSTER_SPLIT_K_##stage = cluster_k, SGEMM__USES_TMA_##stage = tma,
  SGEMM_STAGES(SGEMM__X)
#undef SGEMM__X
};

/* Threads of a block that compute results, and all threads of a block: a producer warpgroup comes on top with TMA. */
#define SGEMM__THREADS(BM, BN, TM, TN, slice_k) ((BM) / (TM) * ((BN) / (TN)) * (slice_k))
#define SGEMM__BLOCK_THREADS(tma, BM, BN, TM, TN, slice_k) (SGEMM__THREADS(BM, BN, TM, TN, slice_k) + 128 * (tma))

/* Bytes of dynamic shared memory that a launch asks for. Only pipelines (bufs >= 3) use it: for their tiles, and where
   k is split over a cluster, later for the results of all slices. Tiles that TMA copies have no padding between rows of
   k. */
#define SGEMM__TILE_FLOATS(MN, BK) ((BK) * ((MN) + 4)) /* of either layout: see sgemm__shared_offset() */
#define SGEMM__TILE_BYTES(tma, BM, BN, BK, bufs)                                                                       \
  (4 * (bufs) * ((tma) ? (BK) * ((BM) + (BN)) : SGEMM__TILE_FLOATS(BM, BK) + SGEMM__TILE_FLOATS(BN, BK)))
#define SGEMM__SHARED_BYTES(tma, cluster_k, BM, BN, BK, bufs, slice_k)                                                 \
  ((bufs) < 3 ? 0                                                                                                      \
   : (cluster_k) && (slice_k) * (BM) * (BN)*4 > SGEMM__TILE_BYTES(tma, BM, BN, BK, bufs)                               \
       ? (slice_k) * (BM) * (BN)*4                                                                                     \
       : SGEMM__TILE_BYTES(tma, BM, BN, BK, bufs))

/* Bytes of shared memory that a block takes of an SM, with the 1024 that the system reserves (CUDA C++ Programming
   Guide, "Compute Capabilities"); and the blocks that fit on an SM of 228 KiB, `blocks` at most. */
#define SGEMM__BLOCK_BYTES(tma, cluster_k, BM, BN, BK, bufs, slice_k)                                                  \
  (1024 + ((bufs) < 3 ? (bufs) * (BK) * ((BM) + (BN) + 8) * 4                                                          \
                      : SGEMM__SHARED_BYTES(tma, cluster_k, BM, BN, BK, bufs, slice_k)))
#define SGEMM__RESIDENT_BLOCKS(tma, cluster_k, BM, BN, BK, bufs, slice_k, blocks)                                      \
  (228 * 1024 / SGEMM__BLOCK_BYTES(tma, cluster_k, BM, BN, BK, bufs, slice_k) < (blocks)                               \
       ? 228 * 1024 / SGEMM__BLOCK_BYTES(tma, cluster_k, BM, BN, BK, bufs, slice_k)                                    \
       : (blocks))

#define SGEMM__REDUCE_THREADS 128 /* of a block of sgemm_reduce_split_k */

/* Packed operands: see sgemm__pack(). */
#define SGEMM__PACK_ROWS 128    /* rows of an operand that a block packs */
#define SGEMM__PACK_K 64        /* k of them that a block packs */
#define SGEMM__PACK_THREADS 256 /* of a block of sgemm_pack and of sgemm_reduce_stream_k */
#define SGEMM__BOX 32           /* elements of a row of memory that one TMA copy brings: 128 bytes */

/* Split operands of the tensor modes: see sgemm/stages/tensor_split.cuh. */
#define SGEMM__K_BLOCK 32                        /* k of a k-block */
#define SGEMM__SCALE_K 128                       /* k of a row that share a scale */
#define SGEMM__K_BLOCKS(k) (((k) + 63) / 64 * 2) /* even: some variants take two at a time */
#define SGEMM__ROW_BLOCK 64                      /* rows of an operand that a block splits */
#define SGEMM__SPLIT_THREADS 256                 /* of that block, 8 rows a warp */
enum {
#define SGEMM__X(format, terms, idea) SGEMM__TERMS_##format = terms,
  SGEMM_FORMATS(SGEMM__X)
#undef SGEMM__X
};
#define SGEMM__ROW_BYTES(terms) (2 * SGEMM__K_BLOCK * (terms)) /* of a row of a k-block */
#define SGEMM__GROUP_BYTES 512                                 /* of one term of 8 rows of a k-block */

/* A buffer of shared memory: a k-block of A and B, the scales of A, those of B, and those of B for the k before. */
#define SGEMM__K_BLOCK_BYTES(BM, BN, terms) (((BM) + (BN)) * SGEMM__ROW_BYTES(terms))
#define SGEMM__BUFFER_BYTES(BM, BN, terms) (SGEMM__K_BLOCK_BYTES(BM, BN, terms) + 4 * (BM) + 8 * (BN))

#define SGEMM__WGMMA_wgmma 1
#define SGEMM__TENSOR_THREADS_wgmma 384 /* two consumer warpgroups and a producer */
#define SGEMM__WGMMA_mma 0
#define SGEMM__TENSOR_THREADS_mma 256 /* 8 warps, each of 64 rows and WN columns */

#endif /* SGEMM_GEOMETRY_H */
