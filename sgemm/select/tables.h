/* sgemm/select/tables.h: the tables of variants and of tensor-core variants as arrays of structs. The library calls
   these static functions. In position-independent code (-fPIC) compilers do not inline public functions, because
   another library can replace them: with public ones sgemm_select() takes 11 to 25 % longer (gcc 12, x86-64). */
#ifndef SGEMM_SELECT_TABLES_H
#define SGEMM_SELECT_TABLES_H

/* Minimum k of a block when several blocks divide the k of a tile. A pipeline copies one k-step while it multiplies
   another, and a full step of gemv with V = 4 is 2 BK. gemv with V = 1 needs one step. */
#define SGEMM__MIN_BLOCK_K(BK, V, bufs) (((bufs) > 0 || (V) == 4 ? 2.0 : 1.0) * (BK))

/* 1 if a variant has split-K or stream-K, with a second kernel that sums partial results. */
#define SGEMM__CAN_SPLIT_K(uses_tma, cluster_split_k, bufs, stage)                                                     \
  (((bufs) >= 3 && !((uses_tma) && (cluster_split_k))) || (stage) == SGEMM_STAGE_gemv)

/* How the blocks of a variant can divide the k of a tile: not at all, by split-K, by clusters, by either of these, by
   stream-K, by clusters of the stage clustered. */
enum {
  SGEMM__UNDIVIDED,
  SGEMM__SPLIT_K,
  SGEMM__CLUSTERS,
  SGEMM__SPLIT_K_OR_CLUSTERS = SGEMM__SPLIT_K + SGEMM__CLUSTERS,
  SGEMM__STREAM_K,
  SGEMM__CLUSTERS_OF_TMA,
  SGEMM__DIVISIONS
};
#define SGEMM__DIVISION(uses_tma, cluster_split_k, can_split_k)                                                        \
  (!(uses_tma)       ? (can_split_k) * (int)SGEMM__SPLIT_K + (cluster_split_k) * (int)SGEMM__CLUSTERS                  \
   : cluster_split_k ? (int)SGEMM__CLUSTERS_OF_TMA                                                                     \
                     : (int)SGEMM__STREAM_K)

/* 1 if the loads bypass shared memory and a block multiplies the k that exist, not whole k-steps: direct, and gemv with
   V = 1. */
#define SGEMM__IS_ELEMENTWISE(stage, V) ((stage) == SGEMM_STAGE_direct || ((stage) == SGEMM_STAGE_gemv && (V) == 1))

/* 1 if the lanes of direct divide k. */
#define SGEMM__LANES_DIVIDE_K(stage, slice_k) ((stage) == SGEMM_STAGE_direct && (slice_k) > 1)

/* Rows of C, at most, with which the selection considers a variant of gemv for one row, and columns for one column:
   each row or column loads the matrix again. Without this limit 11 of 20,000 drawn calls have another plan. */
#define SGEMM__MOST_OF(stage, extent) ((stage) == SGEMM_STAGE_gemv && (extent) == 1 ? 256.0 : 1e300)

/* The newest architecture for which a build of the production variants has code of a variant: see the column prod.
   INT32_MAX: it has code for every one; -1: for none. */
#define SGEMM__LAST_ARCH(production) ((production) == 1 ? INT32_MAX : (production) == 0 ? -1 : (production))

/* The base-2 logarithm of BM, BN or BK. */
#define SGEMM__LOG2(x)                                                                                                 \
  (((x) > 1) + ((x) > 2) + ((x) > 4) + ((x) > 8) + ((x) > 16) + ((x) > 32) + ((x) > 64) + ((x) > 128) + ((x) > 256) +  \
   ((x) > 512))
enum { SGEMM__LOG2_COUNT = 11 }; /* 0 to 10 */

#define SGEMM__X(stage, BM, BN, BK, ...)                                                                               \
  +((BM) == 1 << SGEMM__LOG2(BM) && (BN) == 1 << SGEMM__LOG2(BN) && (BK) == 1 << SGEMM__LOG2(BK))
SGEMM__ASSERT((0 SGEMM_VARIANTS(SGEMM__X)) == SGEMM_VARIANT_COUNT, "BM, BN and BK are powers of two up to 1024")
#undef SGEMM__X

static inline const sgemm_variant_info *sgemm__variant_get(sgemm_variant variant) {
  static const sgemm_variant_info rows[SGEMM_VARIANT_COUNT] = {
#define SGEMM__X(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, blocks, production, reason)                      \
  {SGEMM__STRING(SGEMM__NAME(stage, BM, BN, BK, TM, TN)),                                                              \
   #stage,                                                                                                             \
   reason,                                                                                                             \
   SGEMM_STAGE_##stage,                                                                                                \
   BM,                                                                                                                 \
   BN,                                                                                                                 \
   BK,                                                                                                                 \
   TM,                                                                                                                 \
   TN,                                                                                                                 \
   WM,                                                                                                                 \
   WN,                                                                                                                 \
   V,                                                                                                                  \
   bufs,                                                                                                               \
   slice_k,                                                                                                            \
   SGEMM__CLUSTER_SPLIT_K_##stage,                                                                                     \
   SGEMM__USES_TMA_##stage,                                                                                            \
   SGEMM__SHARED_BYTES(SGEMM__USES_TMA_##stage, SGEMM__CLUSTER_SPLIT_K_##stage, BM, BN, BK, bufs, slice_k),            \
   SGEMM__BLOCK_THREADS(SGEMM__USES_TMA_##stage, BM, BN, TM, TN, slice_k),                                             \
   SGEMM__RESIDENT_BLOCKS(SGEMM__USES_TMA_##stage, SGEMM__CLUSTER_SPLIT_K_##stage, BM, BN, BK, bufs, slice_k, blocks), \
   blocks,                                                                                                             \
   production,                                                                                                         \
   SGEMM__FUSED(SGEMM__NAME(stage, BM, BN, BK, TM, TN)),                                                               \
   SGEMM__SERIAL(SGEMM__NAME(stage, BM, BN, BK, TM, TN)),                                                              \
   SGEMM__ELEMENTS(SGEMM__NAME(stage, BM, BN, BK, TM, TN)) > 0,                                                        \
   SGEMM__ANY_OP(stage, BM, SGEMM__NAME(stage, BM, BN, BK, TM, TN), BK),                                               \
   SGEMM__ANY_OP(stage, BN, SGEMM__NAME(stage, BM, BN, BK, TM, TN), BK)},
      SGEMM_VARIANTS(SGEMM__X)
#undef SGEMM__X
  };
  return (int)variant >= 0 && variant < SGEMM_VARIANT_COUNT ? &rows[variant] : NULL;
}

/* What lower bounds need of a variant's row, in doubles where they compute with it: conversions and divisions would
   take more time than the rest of a bound. Few cache lines hold the rows of all variants. */
typedef struct sgemm__tile_sizes {
  double results;        /* BM x BN */
  double bytes;          /* bytes of A and B for each k */
  double lane_a, lane_b; /* parts of A and of B in the loads of a lane of direct that divides k; 0 in other variants */
  double block_k; /* k of each block that divides a tile's k, at least: sgemm__min_block_k(), or 0 for stream-K */
  double most_m, most_n;     /* rows and columns of C, at most: SGEMM__MOST_OF() */
  double serial_slots;       /* resident blocks of an SM in serial split-K; 0: the variant has none */
  int log_m, log_n, log_k;   /* base-2 logarithms of BM, BN and BK */
  int log_whole;             /* base-2 logarithm of the k that a block multiplies as a whole: log_k; 0 if elementwise */
  int uses_tma, stage;       /* columns of its row */
  int division;              /* how its blocks can divide k: SGEMM__DIVISION() */
  int first_arch, last_arch; /* architectures of devices that the selection prefers it for */
} sgemm__tile_sizes;

static inline const sgemm__tile_sizes *sgemm__tile_sizes_of(sgemm_variant variant) {
  static const sgemm__tile_sizes rows[SGEMM_VARIANT_COUNT] = {
#define SGEMM__X(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, blocks, production, reason)                      \
  {(BM) * (BN),                                                                                                        \
   4.0 * ((BM) + (BN)),                                                                                                \
   SGEMM__LANES_DIVIDE_K(SGEMM_STAGE_##stage, slice_k) ? (double)(BM) / ((BM) + (BN)) : 0.0,                           \
   SGEMM__LANES_DIVIDE_K(SGEMM_STAGE_##stage, slice_k) ? (double)(BN) / ((BM) + (BN)) : 0.0,                           \
   SGEMM__USES_TMA_##stage && !SGEMM__CLUSTER_SPLIT_K_##stage ? 0.0 : SGEMM__MIN_BLOCK_K(BK, V, bufs),                 \
   SGEMM__MOST_OF(SGEMM_STAGE_##stage, BM),                                                                            \
   SGEMM__MOST_OF(SGEMM_STAGE_##stage, BN),                                                                            \
   SGEMM__SERIAL(SGEMM__NAME(stage, BM, BN, BK, TM, TN))                                                               \
       ? SGEMM__RESIDENT_BLOCKS(SGEMM__USES_TMA_##stage, SGEMM__CLUSTER_SPLIT_K_##stage, BM, BN, BK, bufs, slice_k,    \
                                blocks)                                                                                \
       : 0,                                                                                                            \
   SGEMM__LOG2(BM),                                                                                                    \
   SGEMM__LOG2(BN),                                                                                                    \
   SGEMM__LOG2(BK),                                                                                                    \
   SGEMM__IS_ELEMENTWISE(SGEMM_STAGE_##stage, V) ? 0 : SGEMM__LOG2(BK),                                                \
   SGEMM__USES_TMA_##stage,                                                                                            \
   SGEMM_STAGE_##stage,                                                                                                \
   SGEMM__DIVISION(                                                                                                    \
       SGEMM__USES_TMA_##stage, SGEMM__CLUSTER_SPLIT_K_##stage,                                                        \
       SGEMM__CAN_SPLIT_K(SGEMM__USES_TMA_##stage, SGEMM__CLUSTER_SPLIT_K_##stage, bufs, SGEMM_STAGE_##stage)),        \
   (bufs) < 3 ? 0 : 80,                                                                                                \
   SGEMM__LAST_ARCH(production)},
      SGEMM_VARIANTS(SGEMM__X)
#undef SGEMM__X
  };
  return &rows[variant];
}

/* The number of a variant's kernel for the ops of a call: its place in the variant's row of the kernel table. */
static inline int sgemm__kernel_number(const sgemm_variant_info *v, int trans_a, int trans_b) {
  const int a = !v->any_op_a && trans_a, b = !v->any_op_b && trans_b;
  return v->any_op_a || v->any_op_b ? a + b : 2 * a + b;
}

static inline const sgemm_tensor_variant_info *sgemm__tensor_variant_get(sgemm_tensor_variant tensor) {
  static const sgemm_tensor_variant_info rows[SGEMM_TENSOR_VARIANT_COUNT] = {
#define SGEMM__X(engine, format, BM, BN, WN, k_blocks, sets, bufs, reason)                                             \
  {SGEMM__STRING(SGEMM__TENSOR_NAME(engine, format, BM, BN)),                                                          \
   reason,                                                                                                             \
   SGEMM_FORMAT_##format,                                                                                              \
   SGEMM__WGMMA_##engine,                                                                                              \
   SGEMM__TERMS_##format,                                                                                              \
   BM,                                                                                                                 \
   BN,                                                                                                                 \
   k_blocks,                                                                                                           \
   sets,                                                                                                               \
   bufs,                                                                                                               \
   bufs * SGEMM__BUFFER_BYTES(BM, BN, SGEMM__TERMS_##format),                                                          \
   SGEMM__TENSOR_THREADS_##engine},
      SGEMM_TENSOR_VARIANTS(SGEMM__X)
#undef SGEMM__X
  };
  return (int)tensor >= 0 && tensor < SGEMM_TENSOR_VARIANT_COUNT ? &rows[tensor] : NULL;
}

#endif /* SGEMM_SELECT_TABLES_H */
