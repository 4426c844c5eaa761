/* sgemm_kernels.cuh: the kernels of sgemm.h, every tiling variant stamped from one table. Included by sgemm.h only.
   Those of the tensor modes are in sgemm_tensor.cuh.

   To add a variant, add a row to SGEMM_VARIANTS: the enum, the checks, the kernels, the info array, the tests and the
   ladder expand the table. To add a stage, add a line to SGEMM_STAGES, a body and its shell.

   NAMES     sgemm_<stage>_<BM>x<BN>x<BK>_<TM>x<TN>_<ops>, ops = nn, nt, tn, tt for op(A) and op(B); in tma after
             packing, which leaves along k what it packs.
   READING   table -> stamping -> primitives -> phases -> bodies -> launch. A body's sections come in the same order each
             time: indices, tile pointers, accumulators, main loop, epilogue.
   LEGEND    e: an index along m (in A's tile) or n (in B's), k: along the dot product; fetch: global memory -> registers,
             place: registers -> shared memory; pitch: floats from one shared row to the next; lane: thread of a warp.  */
#ifndef SGEMM_KERNELS_CUH
#define SGEMM_KERNELS_CUH

/* ---- The tables -------------------------------------------------------------------------------------------------- */

/* Stages in reading order, one idea each: X([symbol] stage, "idea"). */
// clang-format off
#define SGEMM_STAGES(X)                                                                                                \
  X(naive,          "one thread, one result; a warp walks down a column of C")                                         \
  X(coalesced,      "the same loads, a warp along a row of C: 5 sectors a k-step instead of 33")                       \
  X(tiled,          "tiles of A and B in shared memory, two barriers a tile")                                          \
  X(tile1d,         "a thread computes TM results of a column, so that a B element serves TM FMAs")                    \
  X(tile2d,         "a thread computes TM x TN; dot index outermost, fragments in registers")                          \
  X(vectorized,     "128-bit accesses, A transposed on its way into shared memory")                                    \
  X(warptiled,      "a level between block and thread: a warp owns a compact tile")                                    \
  X(doublebuffered, "the next tile's loads overlap this tile's FMAs, one barrier a tile")                              \
  X(async,          "cp.async: tiles on their way past the registers, several in flight")                              \
  X(splitk,         "k split among slices of a block and blocks of a cluster, summed in a fixed order")                \
  X(gemv,           "one row or column: the matrix goes by once, from memory to registers")                            \
  X(tma,            "tensor maps: the copies of one thread feed warps that only multiply, k dealt to their lanes")

/* The one list of variants. Columns, all [integer constant] but the first and the last:
     stage   [symbol] of SGEMM_STAGES
     BM BN   tile of C that a block computes; multiples of WM, WN
     BK      depth of a step along k; a multiple of 8 a slice for V = 4, a divisor of 32 or 32 for V = 1; 1 where nothing
             is tiled
     TM TN   results of a thread; multiples of V, in gemv or 1
     WM WN   tile that a warp computes, WM/TM * WN/TN = 32, in tma 8; BM, BN where the stage has no warp level
     V       elements of one access to memory: 1, or 4 (128 bits)
     bufs    tiles of each operand that shared memory holds at a time; 0 where nothing is tiled; pipelines have 3 or 4
     slices  groups of threads that share each tile's k among them, 1 in all stages but splitk, gemv and tma; in tma
             every fourth lane
     blocks  resident on a multiprocessor that ptxas budgets registers for: 65,536 / (threads * blocks) a thread
     prod    1: compiled and a candidate where no stage is pinned
     reason  ["sentence"] why the row is there
    stage            BM   BN  BK  TM  TN   WM   WN  V bufs slices blocks prod reason */
#define SGEMM_VARIANTS(X)                                                                                              \
  X(naive,            32,  32,  1,  1,  1,  32,  32, 1, 0, 1, 1, 0, "where everyone starts")                           \
  X(coalesced,        32,  32,  1,  1,  1,  32,  32, 1, 0, 1, 1, 0, "thread indices swapped, nothing else")            \
  X(tiled,            16,  16, 16,  1,  1,  16,  16, 1, 1, 1, 8, 0, "4 FLOP per byte toward global memory")            \
  X(tiled,            32,  32, 32,  1,  1,  32,  32, 1, 1, 1, 2, 0, "8 FLOP per byte, the textbook tile")              \
  X(tile1d,           64,  64,  8,  8,  1,  64,  64, 1, 1, 1, 2, 0, "9K/8 shared loads a result instead of 2K")        \
  X(tile1d,           64,  64, 32,  8,  1,  64,  64, 1, 1, 1, 2, 0, "a quarter of the barriers")                       \
  X(tile2d,          128, 128,  8,  8,  8, 128, 128, 1, 1, 1, 2, 0, "K/4 shared loads a result")                       \
  X(vectorized,      128, 128,  8,  8,  8, 128, 128, 4, 1, 1, 2, 0, "a quarter of the load instructions")              \
  X(warptiled,       128, 128, 16,  8, 16,  64,  64, 4, 1, 1, 2, 0, "3K/16 shared loads a result")                     \
  X(warptiled,       128, 128,  8,  8,  8,  32,  64, 4, 1, 1, 2, 0, "twice the warps to hide latency behind")          \
  X(doublebuffered,  128, 256,  8, 16,  8,  64,  64, 4, 2, 1, 1, 1, "large results: fewest loads a result")            \
  X(doublebuffered,  128, 128,  8,  8,  8,  32,  64, 4, 2, 1, 2, 0, "results of few large tiles")                      \
  X(doublebuffered,  128,  64, 16,  8,  8,  64,  32, 4, 2, 1, 3, 1, "about one tile an SM at 1024 x 1024")             \
  X(doublebuffered,   64,  64, 16,  8,  4,  32,  32, 4, 2, 1, 6, 1, "the shortest k: six blocks an SM")                \
  X(doublebuffered,   32,  64, 16,  4,  4,  16,  32, 4, 2, 1, 4, 0, "about one tile an SM at 512 x 512")               \
  X(doublebuffered,   32,  32, 16,  4,  4,  16,  32, 4, 2, 1, 8, 0, "the smallest results")                            \
  X(async,           128, 256, 16, 16,  8,  64,  64, 4, 3, 1, 1, 1, "large results: fewest loads a result")            \
  X(async,           128, 256,  8, 16,  8,  64,  64, 4, 3, 1, 1, 1, "the same where B is along k")                     \
  X(async,           256, 128,  8, 16,  8,  64,  64, 4, 3, 1, 1, 1, "upright")                                         \
  X(async,            64, 128, 16,  8,  8,  32,  64, 4, 3, 1, 3, 1, "edges, middle sizes; three blocks an SM")         \
  X(async,           128,  64, 16,  8,  8,  64,  32, 4, 3, 1, 3, 1, "narrow results")                                  \
  X(async,            64,  64, 16,  8,  4,  32,  32, 4, 3, 1, 4, 1, "short k: four blocks an SM")                      \
  X(async,            64,  64,  8,  8,  8,  32,  64, 4, 3, 1, 8, 1, "short k: eight blocks of two warps an SM")       \
  X(async,            32, 128, 32,  8,  4,  32,  32, 4, 3, 1, 3, 1, "up to 32 rows")                                   \
  X(async,           128,  32, 32,  4,  8,  32,  32, 4, 3, 1, 3, 1, "up to 32 columns")                                \
  X(splitk,           64, 128, 16,  8,  8,  32,  64, 4, 3, 2, 1, 1, "about one tile an SM at 1024 x 1024")             \
  X(splitk,           64,  64, 32,  8,  4,  32,  32, 4, 3, 2, 2, 1, "the same with smaller tiles")                     \
  X(splitk,           32,  64, 32,  8,  4,  32,  32, 4, 3, 4, 2, 1, "about one tile an SM at 512 x 512")               \
  X(splitk,           32,  32, 64,  4,  4,  16,  32, 4, 3, 4, 2, 1, "the smallest results")                            \
  X(splitk,           16, 128, 32, 16,  4,  16, 128, 4, 4, 4, 2, 1, "up to 16 rows: B streams by once")                \
  X(splitk,            8, 128, 32,  8,  4,   8, 128, 4, 4, 4, 3, 1, "up to 8 rows")                                    \
  X(splitk,            4, 128, 32,  4,  4,   4, 128, 4, 4, 4, 3, 1, "one row, and up to 4")                            \
  X(splitk,          128,  16, 32,  4, 16, 128,  16, 4, 4, 4, 2, 1, "up to 16 columns: A streams by once")             \
  X(splitk,          128,   8, 32,  4,  8, 128,   8, 4, 4, 4, 3, 1, "up to 8 columns")                                 \
  X(splitk,          128,   4, 32,  4,  4, 128,   4, 4, 4, 4, 3, 1, "one column, and up to 4")                         \
  X(splitk,           16,  32,128,  4,  4,  16,  32, 4, 4, 8, 1, 1, "up to 16 rows, fewer columns: k in one block")    \
  X(splitk,            8,  32,128,  4,  4,   8,  32, 4, 4,16, 1, 1, "the same for up to 8 rows")                       \
  X(splitk,            4,  32,128,  4,  4,   4,  32, 4, 4,16, 2, 1, "the same for up to 4 rows")                       \
  X(splitk,           32,  16,128,  4,  4,  32,  16, 4, 4, 8, 1, 1, "up to 16 columns, fewer rows: k in one block")    \
  X(splitk,           32,   8,128,  4,  4,  32,   8, 4, 4,16, 1, 1, "the same for up to 8 columns")                    \
  X(splitk,           32,   4,128,  4,  4,  32,   4, 4, 4,16, 2, 1, "the same for up to 4 columns")                    \
  X(gemv,              1,  32,256,  1,  4,   1,  32, 4, 0, 64, 1, 1, "one row")                                        \
  X(gemv,             32,   1,256,  4,  1,  32,   1, 4, 0, 64, 1, 1, "one column")                                     \
  X(tma,              64, 128, 64, 16,  8,  32,  32, 4, 4, 4, 1, 1, "large results: no copies between FMAs")           \
  X(tma,             128,  64, 64, 16,  8,  32,  32, 4, 4, 4, 1, 1, "the same upright")                                \
  X(tma,              64,  64, 32, 16,  8,  32,  32, 4, 4, 4, 2, 1, "two blocks an SM: one's ends beside the other's FMAs") \
  X(tma,              32,  32,128, 16,  8,  32,  32, 4, 3,16, 2, 1, "small results: its warps share k")                \
  X(tma,              32, 256, 64, 16,  8,  32,  32, 4, 3, 4, 1, 1, "up to 32 rows")                                   \
  X(tma,             256,  32, 64, 16,  8,  32,  32, 4, 3, 4, 1, 1, "up to 32 columns")

/* What a tensor mode makes of an element: 2 or 3 16-bit parts and so many products, which tensor cores multiply exactly and
   sum in fp32: X([symbol] format, parts, "idea"). */
#define SGEMM_FORMATS(X)                                                                                               \
  X(fp16x3, 2, "hi + lo in fp16: hi hi + hi lo + lo hi")                                                               \
  X(bf16x6, 3, "hi + mid + lo in bf16: the six products of 2^-16 and more")

/* The rows of the tensor modes. Columns:
     engine  [symbol] wgmma: asynchronous, operands in shared memory, sm_90a alone; mma: a warp at a time, from sm_80 on
     format  [symbol] of SGEMM_FORMATS
     BM BN   tile of C that a block computes
     WN      columns of it that a warpgroup (wgmma) multiplies at one time, or that a warp (mma) computes
     chunks  of 32 k between two promotions, which add the tensor cores' sums to fp32 registers
     sums    into which the large products of these chunks go, each in registers of its own: the fewer k one sum has, the
             less tensor cores cut off; 1, 2 or 4
     bufs    chunks of both operands that shared memory holds at a time
     reason  ["sentence"] why the row is there
    engine  format   BM   BN   WN chunks sums bufs reason */
#define SGEMM_TENSORS(X)                                                                                               \
  X(wgmma, fp16x3,  128, 256, 128, 2, 1, 4, "large results")                                                           \
  X(wgmma, fp16x3,  128, 128, 128, 2, 2, 6, "middle sizes, k below 256")                                               \
  X(wgmma, fp16x3,  128,  64,  64, 2, 4, 8, "about one tile an SM at 1024 x 1024, and k that is cut into planes")      \
  X(wgmma, bf16x6,  128, 256, 128, 1, 1, 3, "large results")                                                           \
  X(wgmma, bf16x6,  128, 128, 128, 2, 2, 4, "middle sizes")                                                            \
  X(wgmma, bf16x6,  128,  64,  64, 2, 2, 6, "about one tile an SM at 1024 x 1024")                                     \
  X(mma,   fp16x3,  128, 128,  32, 1, 1, 2, "where there is no wgmma: 99 KiB of shared memory at most")                \
  X(mma,   bf16x6,  128, 128,  32, 1, 1, 2, "the same")
// clang-format on

/* SGEMM_FORMAT_fp16x3 and so on. */
typedef enum sgemm_format {
#define SGEMM__X(format, parts, idea) SGEMM_FORMAT_##format,
  SGEMM_FORMATS(SGEMM__X)
#undef SGEMM__X
      SGEMM_FORMAT_COUNT
} sgemm_format;

/* SGEMM_wgmma_fp16x3_128x256 and so on: one name a row. */
typedef enum sgemm_tensor {
#define SGEMM__X(engine, format, BM, BN, WN, chunks, sums, bufs, reason) SGEMM_##engine##_##format##_##BM##x##BN,
  SGEMM_TENSORS(SGEMM__X)
#undef SGEMM__X
      SGEMM_TENSOR_COUNT
} sgemm_tensor;

/* SGEMM_STAGE_tiled and so on, in the order of the table. */
typedef enum sgemm_stage {
#define SGEMM__X(stage, idea) SGEMM_STAGE_##stage,
  SGEMM_STAGES(SGEMM__X)
#undef SGEMM__X
      SGEMM_STAGE_COUNT
} sgemm_stage;

/* SGEMM_tiled_32x32x32_1x1 and so on: one name a row. */
typedef enum sgemm_variant {
#define SGEMM__X(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks, production, reason)                       \
  SGEMM_##stage##_##BM##x##BN##x##BK##_##TM##x##TN,
  SGEMM_VARIANTS(SGEMM__X)
#undef SGEMM__X
      SGEMM_VARIANT_COUNT
} sgemm_variant;

/* ---- What the implementation file provides ----------------------------------------------------------------------- */

#ifdef __cplusplus
extern "C" {
#endif

/* 1 if the implementation file holds the variant's kernels. */
int sgemm_compiled(sgemm_variant variant);

/* 1 if it holds the tensor modes' kernels: where SGEMM_STAGE is unset or all. */
int sgemm_tensor_compiled(void);

/* The properties of a device (0, 1, ...), or of the current one for -1. */
sgemm_status sgemm_device_query(int device, sgemm_device *out);

/* What the compiler made of a variant's kernel for two ops: registers of a thread, shared memory of a block and
   local memory (spills and stack) of a thread in bytes. */
sgemm_status sgemm_kernel_resources(sgemm_variant variant, sgemm_op op_a, sgemm_op op_b, int *registers,
                                    int64_t *shared_bytes, int64_t *local_bytes);

/* What sgemm_select() needs to know of the current device; read from it once, then remembered. */
sgemm_status sgemm_machine_query(sgemm_machine *out);

/* The kernels that are no variant's, numbered behind SGEMM_VARIANT_COUNT - 1. */
enum {
  SGEMM__SUM_PLANES = (int)SGEMM_VARIANT_COUNT,
  SGEMM__PACK,
  SGEMM__SUM_SHARES,
  SGEMM__SPLITS,                                            /* one a format */
  SGEMM__TENSORS = SGEMM__SPLITS + (int)SGEMM_FORMAT_COUNT, /* one a row */
  SGEMM__KERNEL_COUNT = SGEMM__TENSORS + (int)SGEMM_TENSOR_COUNT
};

/* Launches a compiled kernel: of a variant that for ops = 2 * (A transposed) + (B transposed). */
sgemm_status sgemm__launch(int number, int ops, sgemm__grid grid, const sgemm__args *args, sgemm_stream stream);

/* Copies a word between any two memories, in stream order. */
sgemm_status sgemm__copy_word(uint32_t *to, const uint32_t *from, sgemm_stream stream);

#ifdef __cplusplus
}
#endif

/* ---- Stamping: the preprocessor's part --------------------------------------------------------------------------- */

#define SGEMM__CAT2(a, b) a##b
#define SGEMM__CAT(a, b) SGEMM__CAT2(a, b) /* two levels, so that arguments that are macros expand first */

/* [symbol] sgemm_tiled_32x32x32_1x1 */
#define SGEMM__NAME(stage, BM, BN, BK, TM, TN) sgemm_##stage##_##BM##x##BN##x##BK##_##TM##x##TN
#define SGEMM__THREADS(BM, BN, TM, TN, slices) ((BM) / (TM) * ((BN) / (TN)) * (slices))

/* 1 where a warpgroup of its own asks for copies, by tensor maps; operands that these cannot describe are packed into the
   workspace first: sm_90a alone. */
#define SGEMM__PACKS_naive 0
#define SGEMM__PACKS_coalesced 0
#define SGEMM__PACKS_tiled 0
#define SGEMM__PACKS_tile1d 0
#define SGEMM__PACKS_tile2d 0
#define SGEMM__PACKS_vectorized 0
#define SGEMM__PACKS_warptiled 0
#define SGEMM__PACKS_doublebuffered 0
#define SGEMM__PACKS_async 0
#define SGEMM__PACKS_splitk 0
#define SGEMM__PACKS_gemv 0
#define SGEMM__PACKS_tma 1

/* Threads of a block, with the warpgroup that asks for copies. */
#define SGEMM__BLOCK_THREADS(packs, BM, BN, TM, TN, slices) (SGEMM__THREADS(BM, BN, TM, TN, slices) + 128 * (packs))

/* 1 where the blocks of a cluster may share a tile of C. */
#define SGEMM__SPLIT_naive 0
#define SGEMM__SPLIT_coalesced 0
#define SGEMM__SPLIT_tiled 0
#define SGEMM__SPLIT_tile1d 0
#define SGEMM__SPLIT_tile2d 0
#define SGEMM__SPLIT_vectorized 0
#define SGEMM__SPLIT_warptiled 0
#define SGEMM__SPLIT_doublebuffered 0
#define SGEMM__SPLIT_async 0
#define SGEMM__SPLIT_splitk 1
#define SGEMM__SPLIT_gemv 0
#define SGEMM__SPLIT_tma 0

/* Shared memory that a launch asks for, which pipelines do, with 3 or more buffers: its tiles, or where k is split, later
   all slices' results. Tensor maps leave no padding between rows of k. */
#define SGEMM__TILE_FLOATS(E, BK) ((BK) * ((E) + 4)) /* of either layout: see sgemm__spot() */
#define SGEMM__TILE_BYTES(packs, BM, BN, BK, bufs)                                                                     \
  (4 * (bufs) * ((packs) ? (BK) * ((BM) + (BN)) : SGEMM__TILE_FLOATS(BM, BK) + SGEMM__TILE_FLOATS(BN, BK)))
#define SGEMM__SHARED_BYTES(packs, split, BM, BN, BK, bufs, slices)                                                    \
  ((bufs) < 3 ? 0                                                                                                      \
   : (split) && (slices) * (BM) * (BN)*4 > SGEMM__TILE_BYTES(packs, BM, BN, BK, bufs)                                  \
       ? (slices) * (BM) * (BN)*4                                                                                      \
       : SGEMM__TILE_BYTES(packs, BM, BN, BK, bufs))
#define SGEMM__BLOCK_BYTES(packs, split, BM, BN, BK, bufs, slices)                                                     \
  (1024 +                                                                                                              \
   ((bufs) < 3 ? (bufs) * (BK) * ((BM) + (BN) + 8) * 4 : SGEMM__SHARED_BYTES(packs, split, BM, BN, BK, bufs, slices)))
#define SGEMM__RESIDENT_BLOCKS(packs, split, BM, BN, BK, bufs, slices, blocks)                                         \
  (228 * 1024 / SGEMM__BLOCK_BYTES(packs, split, BM, BN, BK, bufs, slices) < (blocks)                                  \
       ? 228 * 1024 / SGEMM__BLOCK_BYTES(packs, split, BM, BN, BK, bufs, slices)                                       \
       : (blocks))
#define SGEMM__SUM_THREADS 128 /* of a block of sgemm_sum_planes */

/* Geometry of packed operands: see sgemm__pack(). */
#define SGEMM__PACK_ROWS 128    /* of an operand, and */
#define SGEMM__PACK_K 64        /* k of them, that a block packs */
#define SGEMM__PACK_THREADS 256 /* of that block, and of one of sgemm_sum_shares */
#define SGEMM__TURN_ROWS 2048   /* rows of C from which on a B along n is worth it, */
#define SGEMM__TURN_K 512       /* if k is as long as this */
#define SGEMM__BOX 32           /* elements of a row of memory that a copy of tma brings: 128 bytes */

/* Geometry of the tensor modes' operands and tiles: see sgemm_tensor.cuh. */
#define SGEMM__CHUNK_K 32                      /* k of a chunk */
#define SGEMM__UNIT_K 128                      /* k that share a row's unit */
#define SGEMM__CHUNKS(k) (((k) + 63) / 64 * 2) /* even: some rows take two at a time */
#define SGEMM__PANEL 64                        /* rows that a block splits */
#define SGEMM__SPLIT_THREADS 256               /* of that block, 8 rows a warp */
#define SGEMM__PARTS_fp16x3 2
#define SGEMM__PARTS_bf16x6 3
#define SGEMM__ROW_BYTES(parts) (2 * SGEMM__CHUNK_K * (parts)) /* of a row of a chunk */
#define SGEMM__GROUP_BYTES 512                                 /* of one part of 8 rows of a chunk */
/* A buffer: a chunk of A and B, the units of A, those of B and those of B before. */
#define SGEMM__CHUNK_BYTES(BM, BN, parts) (((BM) + (BN)) * SGEMM__ROW_BYTES(parts))
#define SGEMM__BUFFER_BYTES(BM, BN, parts) (SGEMM__CHUNK_BYTES(BM, BN, parts) + 4 * (BM) + 8 * (BN))
#define SGEMM__WGMMA_wgmma 1
#define SGEMM__TENSOR_THREADS_wgmma 384 /* two warpgroups that multiply and one that copies */
#define SGEMM__WGMMA_mma 0
#define SGEMM__TENSOR_THREADS_mma 256 /* 8 warps, each of 64 rows and WN columns */

#ifdef SGEMM_IMPLEMENTATION

/* The body that serves each stage. */
#define SGEMM__BODY_naive direct
#define SGEMM__BODY_coalesced direct
#define SGEMM__BODY_tiled blocked
#define SGEMM__BODY_tile1d blocked
#define SGEMM__BODY_tile2d blocked
#define SGEMM__BODY_vectorized blocked
#define SGEMM__BODY_warptiled blocked
#define SGEMM__BODY_doublebuffered doublebuffered
#define SGEMM__BODY_async pipelined
#define SGEMM__BODY_splitk pipelined
#define SGEMM__BODY_gemv streamed
#define SGEMM__BODY_tma fed

/* SGEMM__ENABLED(stage, production) is 1 for the rows that SGEMM_STAGE leaves in. A pinned stage is compared by pasting
   the two names: only SGEMM__SAME_<x>_<x> is a macro, and its comma moves a 1 into second place. */
#define SGEMM__SAME_all_all ~, 1
#define SGEMM__SAME_naive_naive ~, 1
#define SGEMM__SAME_coalesced_coalesced ~, 1
#define SGEMM__SAME_tiled_tiled ~, 1
#define SGEMM__SAME_tile1d_tile1d ~, 1
#define SGEMM__SAME_tile2d_tile2d ~, 1
#define SGEMM__SAME_vectorized_vectorized ~, 1
#define SGEMM__SAME_warptiled_warptiled ~, 1
#define SGEMM__SAME_doublebuffered_doublebuffered ~, 1
#define SGEMM__SAME_async_async ~, 1
#define SGEMM__SAME_splitk_splitk ~, 1
#define SGEMM__SAME_gemv_gemv ~, 1
#define SGEMM__SAME_tma_tma ~, 1
#define SGEMM__SECOND(a, b, ...) b
#define SGEMM__IS(...) SGEMM__SECOND(__VA_ARGS__, 0, ~)
#define SGEMM__SAME3(a, b) SGEMM__IS(SGEMM__SAME_##a##_##b)
#define SGEMM__SAME(a, b) SGEMM__SAME3(a, b)

#if !defined(SGEMM_STAGE)
#define SGEMM__ENABLED(stage, production) production
#define SGEMM__WITH_TENSOR 1
#elif SGEMM__SAME(SGEMM_STAGE, all)
#define SGEMM__ENABLED(stage, production) 1
#define SGEMM__WITH_TENSOR 1
#else
#define SGEMM__WITH_TENSOR 0
#define SGEMM__ENABLED(stage, production) SGEMM__SAME(SGEMM_STAGE, stage)
#define SGEMM__X(stage, idea) +SGEMM__SAME(SGEMM_STAGE, stage)
#if (0 SGEMM_STAGES(SGEMM__X)) != 1
#error "SGEMM_STAGE is not a stage: all, or a name of SGEMM_STAGES in sgemm_kernels.cuh"
#endif
#undef SGEMM__X
#endif

/* SGEMM__IF_0(...) vanishes, SGEMM__IF_1(...) stays. */
#define SGEMM__IF_0(...)
#define SGEMM__IF_1(...) __VA_ARGS__
#define SGEMM__IF(condition) SGEMM__CAT(SGEMM__IF_, condition)

#if defined(__cplusplus)
#define SGEMM__ASSERT(condition, sentence) static_assert(condition, sentence);
#else
#define SGEMM__ASSERT(condition, sentence) _Static_assert(condition, sentence);
#endif

/* ---- Primitives -------------------------------------------------------------------------------------------------- */

/* What a kernel may ask of its machine: where it is, one access to global or shared memory of 1 or 4 elements, an FMA and
   a barrier. Here for CUDA; cpu/sgemm_cpu.h has the same list for the CPU model. */
#if defined(__CUDACC__)
#include <cuda.h> /* types of tensor maps; nothing of it is linked */
#include <cuda_runtime.h>

/* Threads that a multiprocessor holds; sm_75 and the smaller chips of later generations hold fewer than a row may ask
   for (CUDA C++ Programming Guide, "Compute Capabilities"). */
#if !defined(__CUDA_ARCH__)
#define SGEMM__RESIDENT 2048
#elif __CUDA_ARCH__ == 750
#define SGEMM__RESIDENT 1024
#elif (__CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 900) || __CUDA_ARCH__ >= 1200
#define SGEMM__RESIDENT 1536
#else
#define SGEMM__RESIDENT 2048
#endif
#define SGEMM__BLOCKS(threads, blocks) ((threads) * (blocks) > SGEMM__RESIDENT ? SGEMM__RESIDENT / (threads) : (blocks))

#define SGEMM__GLOBAL(name, threads, blocks)                                                                           \
  extern "C" __global__ void __launch_bounds__(threads, SGEMM__BLOCKS(threads, blocks)) name
#define SGEMM__DEVICE static __device__ __forceinline__
#define SGEMM__SHARED(array, count) __shared__ __align__(16) float array[count]
#define SGEMM__SHARED_DYNAMIC(array)                                                                                   \
  extern __shared__ __align__(1024) float array[] /* sized by the launch; for swizzles */
#define SGEMM__UNROLL _Pragma("unroll")
#define SGEMM__UNROLL_BY(n) _Pragma(SGEMM__STRING(unroll n))
#define SGEMM__SHARED_WORDS(array, count) __shared__ uint32_t array[count]
#define SGEMM__SHARED_MBARRIERS(array, count) __shared__ sgemm__mbarrier array[count]
#define SGEMM__SHARED_TASKS(array, count) __shared__ __align__(16) sgemm__task array[count]
#define SGEMM__KERNEL_POINTER(name) (const void *)name
#define sgemm__converge() ((void)0) /* lanes that skipped a guarded access have caught up: the CPU model counts by it */
#define sgemm__load_anyway(faster) (faster) /* what nobody uses, where a branch costs more; not on the CPU model */
typedef const void *sgemm__kernel;

SGEMM__DEVICE int sgemm__thread(void) { return (int)threadIdx.x; }
/* Tells the compiler, from here on, that a thread's number is not negative, which its quotients need not allow for then. */
SGEMM__DEVICE void sgemm__thread_counts_up(void) { __builtin_assume(threadIdx.x < 1024); }
SGEMM__DEVICE uint32_t sgemm__block_x(void) { return blockIdx.x; }
SGEMM__DEVICE uint32_t sgemm__blocks(void) { return gridDim.x; }
SGEMM__DEVICE int64_t sgemm__block_yz(void) { return (int64_t)blockIdx.z * gridDim.y + blockIdx.y; }
SGEMM__DEVICE void sgemm__barrier(void) { __syncthreads(); }
SGEMM__DEVICE void sgemm__barrier_of(int threads) { /* the first of a block, where further ones only copy */
  asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
}

/* Programmatic dependent launch (PTX ISA, griddepcontrol): a kernel's blocks may take their places while the one before
   ends, and wait here until all that it wrote can be seen. No strict kernel but sgemm_pack calls its successor earlier, by
   launch_dependents: the successor would take the places that are free, two on one SM, and then run two to an SM beside idle
   ones. */
SGEMM__DEVICE void sgemm__begin(void) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* sgemm_pack calls it, since blocks of tma need an SM each; and the tensor modes' multiplying kernels do, first of all:
   their launches fill the SMs, one block each, so that the successor's come only where one has left. The tensor modes' split
   does not: with it a call takes 1 us longer at 1024 cubed. */
SGEMM__DEVICE void sgemm__successor_may_come(void) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/* Blocks of a cluster (from sm_90 on; a block alone before): how many, which one, a barrier among all their threads, and
   4 elements of another block's shared memory, where p is the address of the same in this block's. */
SGEMM__DEVICE uint32_t sgemm__cluster_size(void) {
  uint32_t size = 1;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
#endif
  return size;
}
SGEMM__DEVICE uint32_t sgemm__cluster_rank(void) {
  uint32_t rank = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}
SGEMM__DEVICE void sgemm__cluster_barrier(void) {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
  __syncthreads();
#endif
}
SGEMM__DEVICE void sgemm__load_cluster4(float *r, const float *p, uint32_t rank) {
#if __CUDA_ARCH__ >= 900
  uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(address)
               : "r"((uint32_t)__cvta_generic_to_shared(p)), "r"(rank));
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3])
               : "r"(address)
               : "memory");
#else
  (void)r, (void)p, (void)rank;
#endif
}
SGEMM__DEVICE float sgemm__fma(float a, float b, float c) { return fmaf(a, b, c); }
SGEMM__DEVICE int sgemm__log2(uint32_t x) { return 31 - __clz((int)x); } /* of a power of two */

SGEMM__DEVICE float sgemm__load_global(const float *p) { return __ldg(p); }
SGEMM__DEVICE float sgemm__load_result(const float *p) { return *p; } /* C is written too: no read-only path */
SGEMM__DEVICE void sgemm__store_global(float *p, float x) { *p = x; }
SGEMM__DEVICE float sgemm__load_shared(const float *p) { return *p; }
SGEMM__DEVICE void sgemm__store_shared(float *p, float x) { *p = x; }

/* r: 4 registers; p: aligned to 16 bytes. */
SGEMM__DEVICE void sgemm__take4(float *r, float4 x) {
  r[0] = x.x;
  r[1] = x.y;
  r[2] = x.z;
  r[3] = x.w;
}
SGEMM__DEVICE void sgemm__load_global4(float *r, const float *p) { sgemm__take4(r, __ldg((const float4 *)p)); }
SGEMM__DEVICE void sgemm__load_result4(float *r, const float *p) { sgemm__take4(r, *(const float4 *)p); }
SGEMM__DEVICE void sgemm__load_shared4(float *r, const float *p) { sgemm__take4(r, *(const float4 *)p); }
SGEMM__DEVICE void sgemm__store_global4(float *p, const float *r) {
  *(float4 *)p = make_float4(r[0], r[1], r[2], r[3]);
}
SGEMM__DEVICE void sgemm__stream_global4(float *p, const float *r) { /* first to leave the L2 */
  __stcs((float4 *)p, make_float4(r[0], r[1], r[2], r[3]));
}
SGEMM__DEVICE void sgemm__store_shared4(float *p, const float *r) {
  *(float4 *)p = make_float4(r[0], r[1], r[2], r[3]);
}

/* Copies from global to shared memory past the registers (cp.async, from sm_80 on; at once before), of 4 or of 16 bytes;
   zeros where `inside` is 0, in which case p is not read. A thread's copies since its last commit make a group; wait
   returns when all but its `most` latest groups have arrived, which a barrier then tells the others. */
SGEMM__DEVICE void sgemm__copy(float *shared, const float *p, int inside) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((uint32_t)__cvta_generic_to_shared(shared)), "l"(p),
               "r"(inside ? 4 : 0)
               : "memory");
#else
  *shared = inside ? *p : 0.0f;
#endif
}
SGEMM__DEVICE void sgemm__copy4(float *shared, const float *p) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(shared)), "l"(p)
               : "memory");
#else
  *(float4 *)shared = *(const float4 *)p;
#endif
}
SGEMM__DEVICE void sgemm__copy4_if(float *shared, const float *p, int inside) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint32_t)__cvta_generic_to_shared(shared)),
               "l"(p), "r"(inside ? 16 : 0)
               : "memory");
#else
  *(float4 *)shared = inside ? *(const float4 *)p : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#endif
}
SGEMM__DEVICE void sgemm__copies_commit(void) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
SGEMM__DEVICE void sgemm__copies_wait(int most) {
#if __CUDA_ARCH__ >= 800
  if (most == 0) /* the instruction takes a literal */
    asm volatile("cp.async.wait_group 0;" ::: "memory");
  else if (most == 1)
    asm volatile("cp.async.wait_group 1;" ::: "memory");
  else
    asm volatile("cp.async.wait_group 2;" ::: "memory");
#endif
}

/* The tensor modes' primitives: words, 16-bit numbers, mbarriers, bulk copies, tensor cores. */
SGEMM__DEVICE uint32_t sgemm__bits_of(float x) { return __float_as_uint(x); }
SGEMM__DEVICE float sgemm__float_of(uint32_t bits) { return __uint_as_float(bits); }
SGEMM__DEVICE void sgemm__store_words4(void *p, const uint32_t *r) { /* p: global, aligned to 16 bytes */
  *(uint4 *)p = make_uint4(r[0], r[1], r[2], r[3]);
}
SGEMM__DEVICE void sgemm__store_global2(float *p, float x, float y) { *(float2 *)p = make_float2(x, y); }

/* ORs each lane's bits to a shared word; all lanes of a warp call it. */
SGEMM__DEVICE void sgemm__or_shared(uint32_t *p, uint32_t bits) {
#if __CUDA_ARCH__ >= 800
  bits = __reduce_or_sync(0xffffffffu, bits);
  if (threadIdx.x % 32 == 0)
#endif
    atomicOr(p, bits);
}

/* Two 16-bit numbers in a word, the first in its lower half, by rounding to nearest, ties to even; and fp16 back. */
SGEMM__DEVICE uint32_t sgemm__to_fp16x2(float x, float y) {
  uint32_t word = 0;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(y), "f"(x));
#endif
  return word;
}
SGEMM__DEVICE uint32_t sgemm__to_bf16x2(float x, float y) {
  uint32_t word = 0;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(y), "f"(x));
#endif
  return word;
}
SGEMM__DEVICE float sgemm__from_fp16(uint32_t h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((uint16_t)h));
  return x;
}

/* Barriers in shared memory (PTX ISA, "mbarrier"). A phase ends when `count` arrivals have come, and the bytes that were
   announced; wait returns once the phase of that parity has ended. */
typedef uint64_t sgemm__mbarrier;

SGEMM__DEVICE uint32_t sgemm__shared_address(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
SGEMM__DEVICE void sgemm__mbarrier_init(sgemm__mbarrier *b, int count) {
#if __CUDA_ARCH__ >= 800
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(sgemm__shared_address(b)), "r"(count) : "memory");
#endif
}
SGEMM__DEVICE void sgemm__mbarriers_ready(void) { /* behind the last init; a barrier of the block follows */
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
SGEMM__DEVICE void sgemm__mbarrier_arrive(sgemm__mbarrier *b) {
#if __CUDA_ARCH__ >= 800
  asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(sgemm__shared_address(b))
               : "memory");
#endif
}
SGEMM__DEVICE void sgemm__mbarrier_expect(sgemm__mbarrier *b, int bytes) { /* and arrives */
#if __CUDA_ARCH__ >= 900
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(sgemm__shared_address(b)), "r"(bytes)
               : "memory");
#endif
}
SGEMM__DEVICE void sgemm__mbarrier_wait(sgemm__mbarrier *b, int parity) {
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n.reg .pred done;\nmbarrier_wait:\nmbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
               "@!done bra mbarrier_wait;\n}" ::"r"(sgemm__shared_address(b)),
               "r"(parity)
               : "memory");
#elif __CUDA_ARCH__ >= 800
  asm volatile("{\n.reg .pred done;\nmbarrier_wait:\nmbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n"
               "@!done bra mbarrier_wait;\n}" ::"r"(sgemm__shared_address(b)),
               "r"(parity)
               : "memory");
#endif
}

/* The same pointer, that the compiler has to hold in registers: where a loop needs it, it would reckon it anew. */
SGEMM__DEVICE sgemm__mbarrier *sgemm__held(sgemm__mbarrier *b) {
  asm volatile("" : "+l"(b));
  return b;
}

/* Copies consecutive bytes, a multiple of 16 at multiples of 16, from global to shared memory (cp.async.bulk, from sm_90
   on); their arrival is told to the mbarrier. */
SGEMM__DEVICE void sgemm__copy_bulk(void *shared, const void *p, int bytes, sgemm__mbarrier *b) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   sgemm__shared_address(shared)),
               "l"(p), "r"(bytes), "r"(sgemm__shared_address(b))
               : "memory");
#endif
}

/* An operand as TMA sees it (CUDA Driver API, "Tensor Map Object Management"): encoded by sgemm__launch(), a parameter of the
   kernel. A copy brings a box of one matrix, SGEMM__BOX elements of each of so many rows of memory, with zeros where nothing
   exists: x elements and y rows behind the first. Row r is 128 bytes of shared memory, its quad c at place c ^ r % 8
   (CU_TENSOR_MAP_SWIZZLE_128B). */
typedef CUtensorMap sgemm__map;
#define SGEMM__MAPS(a, b) , const __grid_constant__ sgemm__map a, const __grid_constant__ sgemm__map b
#define SGEMM__MAPS_OF(args, shape, a, b)

SGEMM__DEVICE void sgemm__copy_box(float *shared, const sgemm__map *map, int x, int y, int matrix, sgemm__mbarrier *b) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(sgemm__shared_address(shared)),
               "l"(map), "r"(x), "r"(y), "r"(matrix), "r"(sgemm__shared_address(b))
               : "memory");
#endif
}

/* Shared memory by number, where addresses are made by exclusive or. */
typedef uint32_t sgemm__address;
SGEMM__DEVICE sgemm__address sgemm__address_of(const void *p) { return sgemm__shared_address(p); }
SGEMM__DEVICE sgemm__address sgemm__held_address(sgemm__address p) { /* see sgemm__held() */
  asm volatile("" : "+r"(p));
  return p;
}
SGEMM__DEVICE void sgemm__load_shared4_at(float *r, sgemm__address p) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(r[0]), "=f"(r[1]), "=f"(r[2]), "=f"(r[3]) : "r"(p));
}

/* So many pieces of four elements a lane, `apart` bytes apart, which lanes deal each other: lane 8i + g tells the address of
   a quad, of which lane 4g + q gets element q as its i-th (PTX ISA, "ldmatrix", of four matrices of 8 rows x 16 bytes). */
SGEMM__DEVICE void sgemm__load_dealt(float *r, sgemm__address p, int pieces, int apart) {
#if __CUDA_ARCH__ >= 900
  int i;
  SGEMM__UNROLL
  for (i = 0; i < pieces; i++)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=f"(r[4 * i]), "=f"(r[4 * i + 1]), "=f"(r[4 * i + 2]), "=f"(r[4 * i + 3])
                 : "r"(p + (uint32_t)(i * apart)));
#endif
}

/* r: 4 registers; <- those of the lane whose number differs by the bit `mask`. All lanes of a warp call it. */
SGEMM__DEVICE void sgemm__swap_lanes4(float *r, int mask) {
  int i;
  SGEMM__UNROLL
  for (i = 0; i < 4; i++)
    r[i] = __shfl_xor_sync(0xffffffffu, r[i], mask);
}

/* What the thread has read of shared memory is read before copies overwrite it, whoever asks for them later (PTX ISA,
   fence.proxy.async). An mbarrier alone does not see to that: with two blocks an SM, at 4096 cubed, one call in ten had wrong
   results. */
SGEMM__DEVICE void sgemm__reads_before_copies(void) {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
SGEMM__DEVICE void sgemm__warp_barrier(void) { __syncwarp(); }

/* 1 for one lane of the warp, of which the compiler knows that it is alone (PTX ISA, "elect.sync"). Around each copy by tensor
   map of a thread that was chosen by its number it puts a loop over all lanes that may be there. */
SGEMM__DEVICE int sgemm__elected(void) {
  int elected = 0;
#if __CUDA_ARCH__ >= 900
  asm volatile("{\n.reg .pred one;\nelect.sync _|one, 0xffffffff;\n@one mov.b32 %0, 1;\n}" : "+r"(elected));
#endif
  return elected;
}

/* A warp's arrival, SGEMM__ARRIVALS of them, once all its lanes have come here. compute-sanitizer's racecheck does not see
   that a warp's barrier orders what the other lanes read before it; with -DSGEMM_RACECHECK each lane arrives, which is 0.6 %
   slower in tma. */
#if defined(SGEMM_RACECHECK)
#define SGEMM__ARRIVALS 32
SGEMM__DEVICE void sgemm__mbarrier_arrive_warp(sgemm__mbarrier *b, int condition) {
  if (condition)
    sgemm__mbarrier_arrive(b);
}
#else
#define SGEMM__ARRIVALS 1
SGEMM__DEVICE void sgemm__mbarrier_arrive_warp(sgemm__mbarrier *b, int condition) {
  __syncwarp();
  if (condition && threadIdx.x % 32 == 0)
    sgemm__mbarrier_arrive(b);
}
#endif

/* Which quads of two shared arrays differ, bit i for elements 4i to 4i + 3, of up to 32 quads; all lanes of a warp call
   it. */
SGEMM__DEVICE uint32_t sgemm__quads_differ(const float *x, const float *y, int quads) {
  const int quad = threadIdx.x % 32 % quads;
  const uint4 a = ((const uint4 *)x)[quad], b = ((const uint4 *)y)[quad];
  return __ballot_sync(0xffffffffu, ((a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w)) != 0);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 800
#define SGEMM__HAS_mma 0
#else
#define SGEMM__HAS_mma 1

/* Four matrices of 8 rows x 16 bytes in the registers of a warp (PTX ISA, "ldmatrix"): word i of a lane is of matrix i,
   elements 2q and 2q + 1 of row r, where the lane is 4r + q. */
typedef struct sgemm__fragment {
  uint32_t words[4];
} sgemm__fragment;

SGEMM__DEVICE void sgemm__load_matrices(sgemm__fragment *f, const char *p) { /* lane 8i + r: row r of matrix i */
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(f->words[0]), "=r"(f->words[1]), "=r"(f->words[2]), "=r"(f->words[3])
               : "r"(sgemm__shared_address(p))
               : "memory");
}

/* Of A 16 rows x 16 k: rows 0 to 7 and 8 to 15 of 8 k, then of the next 8. Of B 8 columns x 32 k, 8 k by 8. Along k one
   matrix follows the other, along the rows they are group_bytes apart. */
SGEMM__DEVICE void sgemm__load_fragment_a(sgemm__fragment *f, const char *p, int group_bytes) {
  const int lane = threadIdx.x % 32;
  sgemm__load_matrices(f, p + lane / 8 % 2 * group_bytes + lane / 16 * 128 + lane % 8 * 16);
}
SGEMM__DEVICE void sgemm__load_fragment_b(sgemm__fragment *f, const char *p) {
  sgemm__load_matrices(f, p + threadIdx.x % 32 * 16);
}

/* d (16 x 8, fp32) = a b, plus d where add is 1, over the first 16 k of b (half 0) or the second (1); by a warp (PTX
   ISA, "mma.m16n8k16"). A lane 4r + q owns columns 2q and 2q + 1 of row r, then of row r + 8. */
#define SGEMM__MMA(type)                                                                                               \
  SGEMM__DEVICE void sgemm__mma_##type(float *d, const uint32_t *a, const uint32_t *b, const float *c) {               \
    asm("mma.sync.aligned.m16n8k16.row.col.f32." #type "." #type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, " \
        "{%10, %11, %12, %13};"                                                                                        \
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                                                               \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]),           \
          "f"(c[3]));                                                                                                  \
  }
SGEMM__MMA(f16)
SGEMM__MMA(bf16)

SGEMM__DEVICE void sgemm__mma(float *d, const sgemm__fragment *a, const sgemm__fragment *b, int half, int add,
                              int format) {
  const float zero[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  if (format == SGEMM_FORMAT_fp16x3)
    sgemm__mma_f16(d, a->words, b->words + 2 * half, add ? d : zero);
  else
    sgemm__mma_bf16(d, a->words, b->words + 2 * half, add ? d : zero);
}
#endif

#if !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define SGEMM__HAS_wgmma 0
#else
#define SGEMM__HAS_wgmma 1

/* A block's 504 registers a thread of each of three warpgroups, dealt anew: 240 to those that multiply, 24 to that which
   copies (PTX ISA, setmaxnreg); in tma, whose copying thread also reckons where the next tile is, 232 and 40, or 216 and 40
   of the 256 that a block of two warpgroups has, of which an SM holds two. Each thread of a warpgroup calls its one. */
SGEMM__DEVICE void sgemm__more_registers(void) { asm volatile("setmaxnreg.inc.sync.aligned.u32 240;"); }
SGEMM__DEVICE void sgemm__fewer_registers(void) { asm volatile("setmaxnreg.dec.sync.aligned.u32 24;"); }
SGEMM__DEVICE void sgemm__registers_to_multiply(int threads) {
  if (threads == 128)
    asm volatile("setmaxnreg.inc.sync.aligned.u32 216;");
  else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
}
SGEMM__DEVICE void sgemm__registers_to_copy(void) { asm volatile("setmaxnreg.dec.sync.aligned.u32 40;"); }

/* Turns of warpgroups 0 and 1: one waits for its turn, and gives the other one its (PTX ISA, "bar", of 256 threads). */
SGEMM__DEVICE void sgemm__turn_wait(int warpgroup) {
  asm volatile("bar.sync %0, 256;" ::"r"(1 + warpgroup) : "memory");
}
SGEMM__DEVICE void sgemm__turn_give(int warpgroup) {
  asm volatile("bar.arrive %0, 256;" ::"r"(1 + warpgroup) : "memory");
}

/* An operand in shared memory for wgmma (PTX ISA, "Matrix descriptor"): no swizzle; along k one matrix of 8 x 8 follows
   the other, along the rows they are group_bytes apart. */
typedef uint64_t sgemm__matrices;
SGEMM__DEVICE sgemm__matrices sgemm__matrices_at(const void *p, int group_bytes) {
  return (sgemm__shared_address(p) & 0x3ffff) >> 4 | (uint64_t)(128 >> 4) << 16 | (uint64_t)(group_bytes >> 4) << 32;
}
SGEMM__DEVICE sgemm__matrices sgemm__matrices_behind(sgemm__matrices m, int bytes) {
  return m + (uint64_t)(bytes >> 4);
}

SGEMM__DEVICE void sgemm__wgmma_begin(void) { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
SGEMM__DEVICE void sgemm__wgmma_commit(void) { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
SGEMM__DEVICE void sgemm__wgmma_wait(float *d, int count) { /* until all that was committed has ended, and is in d */
  int i;
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  SGEMM__UNROLL
  for (i = 0; i < count; i++)
    asm volatile("" : "+f"(d[i])); /* no use of d moves before this */
}

/* d (64 x N, fp32, N/2 registers a thread) = a (64 x 16) b (16 x N), plus d where add is 1; by a warpgroup. */
// clang-format off
#define SGEMM__REGISTERS_32 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                   \
                            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SGEMM__REGISTERS_64 SGEMM__REGISTERS_32 ", "                                                                   \
                            "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "         \
                            "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SGEMM__IN_OUT_8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]),                                 \
                           "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define SGEMM__IN_OUT_32(i) SGEMM__IN_OUT_8(i), SGEMM__IN_OUT_8(i + 8), SGEMM__IN_OUT_8(i + 16), SGEMM__IN_OUT_8(i + 24)
#define SGEMM__IN_OUT_64(i) SGEMM__IN_OUT_32(i), SGEMM__IN_OUT_32(i + 32)
#define SGEMM__WGMMA(type, N, registers, A, B, ADD)                                                                    \
  SGEMM__DEVICE void sgemm__wgmma_##type##_##N(float *d, sgemm__matrices a, sgemm__matrices b, int add) {              \
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " ADD ", 0;\n"                                                  \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." #type "." #type                                     \
                 " {" SGEMM__REGISTERS_##registers "}, " A ", " B ", add, 1, 1, 0, 0;\n}"                              \
                 : SGEMM__IN_OUT_##registers(0) : "l"(a), "l"(b), "r"(add));                                           \
  }
// clang-format on
SGEMM__WGMMA(f16, 64, 32, "%32", "%33", "%34")
SGEMM__WGMMA(f16, 128, 64, "%64", "%65", "%66")
SGEMM__WGMMA(bf16, 64, 32, "%32", "%33", "%34")
SGEMM__WGMMA(bf16, 128, 64, "%64", "%65", "%66")

SGEMM__DEVICE void sgemm__wgmma(float *d, sgemm__matrices a, sgemm__matrices b, int add, int format, int N) {
  if (format == SGEMM_FORMAT_fp16x3 && N == 64)
    sgemm__wgmma_f16_64(d, a, b, add);
  else if (format == SGEMM_FORMAT_fp16x3)
    sgemm__wgmma_f16_128(d, a, b, add);
  else if (N == 64)
    sgemm__wgmma_bf16_64(d, a, b, add);
  else
    sgemm__wgmma_bf16_128(d, a, b, add);
}
#endif

#elif defined(SGEMM_CPU) && SGEMM_CPU
#include "cpu/sgemm_cpu.h"
#else
#error "SGEMM_IMPLEMENTATION belongs in a file that nvcc compiles, or with SGEMM_CPU=1 in one for the CPU model"
#endif

/* ---- Phases ------------------------------------------------------------------------------------------------------ */

/* A row of the table with the ops of one kernel. A shell passes literals, so after inlining each member is a constant,
   each loop over them unrolls and each array indexed by them lives in registers. */
typedef struct sgemm__shape {
  int BM, BN, BK, TM, TN, WM, WN, V, bufs, slices;
  int split;     /* 1: blocks of a cluster may share a tile of C */
  int fed;       /* 1: a warpgroup only copies */
  int a_along_k; /* 1: A is contiguous along k in memory (op N); 0: along m (op T) */
  int b_along_k; /* 1: B is contiguous along k in memory (op T); 0: along n (op N) */
} sgemm__shape;

/* A tile of C, and where it comes from. */
typedef struct sgemm__tile {
  const float *A, *B; /* element (row 0, k = 0) of op(A)'s rows and (k = 0, column 0) of op(B)'s columns */
  float *C;
  int rows, cols; /* of the tile, inside C: 1 to BM, 1 to BN */
} sgemm__tile;

SGEMM__DEVICE int sgemm__clip(int64_t rest, int most) { return rest < most ? (int)rest : most; }

/* 1 if the block has work: its y and z are of the batch, and a guard, where there is one, decided for this kernel. */
SGEMM__DEVICE int sgemm__runs(const sgemm__args *p) {
  return sgemm__block_yz() < p->batch && (p->verdict == NULL || (*p->verdict != 0) == p->when_fired);
}

/* Tiles are dealt in bands of SGEMM__BAND tile rows, down each column of a band first: the blocks that run at one time
   then cover a compact part of C, and share in the caches what they read of A and of B. */
#define SGEMM__BAND 16

typedef struct sgemm__dealt {
  uint32_t row, col; /* in tiles */
} sgemm__dealt;

SGEMM__DEVICE sgemm__dealt sgemm__deal(const sgemm__args *p, uint32_t number) {
  const uint32_t band = (p->tiles_m < SGEMM__BAND ? p->tiles_m : SGEMM__BAND) * p->tiles_n; /* tiles of a whole band */
  const uint32_t top = number / band * SGEMM__BAND, index = number % band;
  const uint32_t high = p->tiles_m - top < SGEMM__BAND ? p->tiles_m - top : SGEMM__BAND;
  sgemm__dealt at;
  at.row = top + index % high;
  at.col = index / high;
  return at;
}

/* The tile at a place; that of a number in the order above; and the same of the block's own matrix. */
SGEMM__DEVICE sgemm__tile sgemm__tile_in(const sgemm__args *p, const sgemm__shape *s, sgemm__dealt at, int64_t batch) {
  const int64_t row = (int64_t)at.row * s->BM, col = (int64_t)at.col * s->BN;
  sgemm__tile tile;
  tile.A = p->A + batch * p->stride_a + row * (s->a_along_k ? p->lda : 1);
  tile.B = p->B + batch * p->stride_b + col * (s->b_along_k ? p->ldb : 1);
  tile.C = p->C + batch * p->stride_c + row * p->ldc + col;
  tile.rows = sgemm__clip(p->m - row, s->BM);
  tile.cols = sgemm__clip(p->n - col, s->BN);
  return tile;
}

SGEMM__DEVICE sgemm__tile sgemm__tile_of(const sgemm__args *p, const sgemm__shape *s, uint32_t number, int64_t batch) {
  return sgemm__tile_in(p, s, sgemm__deal(p, number), batch);
}

SGEMM__DEVICE sgemm__tile sgemm__tile_at(const sgemm__args *p, const sgemm__shape *s, uint32_t number) {
  return sgemm__tile_of(p, s, number, sgemm__block_yz());
}

/* Which results of the tile a thread owns: TM x TN of them in pieces of V consecutive rows and columns; the pieces lie
   `down` rows and `across` columns apart, as far as the threads of a warp tile reach, so that lanes side by side own
   columns side by side: shared loads then meet no bank twice, and stores to C are coalesced. In a warp's tile, lanes
   4q to 4q + 3 own a 2 x 2 square of pieces: lanes i and i ^ 1 then read the same of A and i and i ^ 2 the same of B, which
   lets the hardware serve a 128-bit load of a warp in 2 wavefronts; it takes 4 where neither holds. */
typedef struct sgemm__place {
  int row, col;     /* of the thread's first result in the tile */
  int down, across; /* constants: WM/TM * V, WN/TN * V */
  int turn;         /* a piece's element v is of its column v ^ turn: 0 but in tma */
} sgemm__place;

SGEMM__DEVICE sgemm__place sgemm__place_of_thread(const sgemm__shape *s) {
  const int lanes_m = s->WM / s->TM, lanes_n = s->WN / s->TN; /* threads of a warp tile along m and n */
  const int t = sgemm__thread() % (SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, 1)); /* within its slice */
  const int warp = t / (lanes_m * lanes_n), lane = t % (lanes_m * lanes_n);
  const int squares = lanes_m * lanes_n == 32 && lanes_m > 1 && lanes_n > 1, across = lanes_n / 2; /* side by side */
  const int lane_m = squares ? lane / 4 / across * 2 + lane / 2 % 2 : lane / lanes_n;
  const int lane_n = squares ? lane / 4 % across * 2 + lane % 2 : lane % lanes_n;
  sgemm__place place;
  place.row = warp / (s->BN / s->WN) * s->WM + lane_m * s->V;
  place.col = warp % (s->BN / s->WN) * s->WN + lane_n * s->V;
  place.down = lanes_m * s->V;
  place.across = lanes_n * s->V;
  place.turn = 0;
  return place;
}

/* How a block's threads share the loads of one operand's tile X[e][k], e < E, k < BK: thread t takes the elements
   t*V, (t + threads)*V, ... of a linear order in which neighbours are neighbours in memory.
     along e   order (k, e): a warp reads 32 V consecutive elements of one row of memory.
     along k   order (k / W, e, k % W), W wide: a warp reads W consecutive elements of each of 32 V / W rows. W = 8 fills a
               32-byte sector of each row and keeps the transposed stores to shared memory free of conflicts: see pitch.
   pitch   of the shared tile where k-rows of e are stored. In one transposing store a warp's lanes hold 32 V / W different
           e, which take that many banks of a row, and W / V different k, V apart: V * pitch = 32 V / W (mod 32) spreads
           them over all 32. So 128 + 4 for W = 8, with V = 1 (k * 132 + e = 4k + e mod 32, k < 8, e < 4) and with V = 4
           (4 * 132 = 16 mod 32, e < 16); 32 + 1 for W = 32. Rows that are stored whole need no padding. */
typedef struct sgemm__loader {
  int E, BK, V, threads, along_k, W; /* constants */
  int e, k;                          /* of the thread's first element */
  int limit;                         /* of the E rows, how many exist */
  int vectors;                       /* 1: every row starts on 16 bytes, so that V elements load at once */
  int64_t ld;
  const float *next; /* the thread's first element in the tile to be fetched next */
} sgemm__loader;

#define SGEMM__WIDE(BK, V) ((V) == 4 ? 8 : (BK) < 32 ? (BK) : 32)
#define SGEMM__PITCH(E, BK, V, along_k) ((E) + ((along_k) ? ((V) == 4 ? 4 : 32 / SGEMM__WIDE(BK, V)) : 0))
#define SGEMM__SLOTS(E, BK, threads) ((E) * (BK) / (threads)) /* elements of a tile that one thread fetches */

SGEMM__DEVICE sgemm__loader sgemm__loader_of(const sgemm__shape *s, int V, int W, int E, int along_k, const float *X,
                                             int64_t ld, int limit) {
  sgemm__loader l;
  const int first = sgemm__thread() * V;
  l.E = E;
  l.BK = s->BK;
  l.V = V;
  l.threads = SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, s->slices);
  l.along_k = along_k;
  l.W = along_k ? W : 1;
  l.e = first / l.W % E;
  l.k = first / (l.W * E) * l.W + first % l.W;
  l.limit = limit;
  l.vectors = V == 1 || ((uintptr_t)X % 16 == 0 && ld % 4 == 0);
  l.ld = ld;
  l.next = X + (along_k ? l.e * ld + l.k : l.k * ld + l.e);
  return l;
}

/* Element offsets of the thread's i-th access from its first, constants: its elements lie threads * V apart. */
SGEMM__DEVICE int sgemm__step_e(const sgemm__loader *l, int i) { return i * l->threads * l->V / l->W % l->E; }
SGEMM__DEVICE int sgemm__step_k(const sgemm__loader *l, int i) { return i * l->threads * l->V / (l->W * l->E) * l->W; }

/* Registers r <- the thread's part of the next tile, of which `depth` columns k exist. What does not exist reads as zero:
   it then adds 0 * 0 to every dot product, and nothing where the other operand is infinite, since k ends for both. */
SGEMM__DEVICE void sgemm__fetch(float *r, sgemm__loader *l, int64_t depth) {
  const int count = l->E * l->BK / (l->threads * l->V);
  int i, v;
  if (l->vectors && l->limit == l->E && depth >= l->BK) {
    SGEMM__UNROLL
    for (i = 0; i < count; i++) {
      const int e = sgemm__step_e(l, i), k = sgemm__step_k(l, i);
      const float *p = l->next + (l->along_k ? e * l->ld + k : k * l->ld + e);
      if (l->V == 4)
        sgemm__load_global4(r + i * 4, p);
      else
        r[i] = sgemm__load_global(p);
    }
  } else {
    SGEMM__UNROLL
    for (i = 0; i < count; i++) {
      const int e = sgemm__step_e(l, i), k = sgemm__step_k(l, i);
      const float *p = l->next + (l->along_k ? e * l->ld + k : k * l->ld + e);
      SGEMM__UNROLL
      for (v = 0; v < l->V; v++) {
        const int inside = l->e + e + (l->along_k ? 0 : v) < l->limit && l->k + k + (l->along_k ? v : 0) < depth;
        r[i * l->V + v] = inside ? sgemm__load_global(p + v) : 0.0f;
      }
      sgemm__converge();
    }
  }
  l->next += l->along_k ? l->BK : l->BK * l->ld;
}

/* Shared tile <- registers r: element (e, k) to shared[e * step_e + k * step_k]; one of the steps is 1. */
SGEMM__DEVICE void sgemm__place_tile(float *shared, int step_e, int step_k, const float *r, const sgemm__loader *l) {
  const int count = l->E * l->BK / (l->threads * l->V);
  float *first = shared + l->e * step_e + l->k * step_k;
  int i, v;
  SGEMM__UNROLL
  for (i = 0; i < count; i++) {
    float *p = first + sgemm__step_e(l, i) * step_e + sgemm__step_k(l, i) * step_k;
    if (l->V == 4 && !l->along_k) {
      sgemm__store_shared4(p, r + i * 4);
    } else {
      SGEMM__UNROLL
      for (v = 0; v < l->V; v++)
        sgemm__store_shared(p + v * step_k, r[i * l->V + v]);
    }
  }
}

/* The tiles of a pipeline. An operand along e in memory keeps k-rows of e as above, pitch E + 4, and is copied 16 bytes at
   a time; one along k gets there element by element, which transposes it. But where fragments are of 4 elements, one along
   k is copied and read in vectors of 4 k ("quads"), the units of its e-rows of BK: unit u of the tile, of row e, then lies
   at place u ^ (e / 4 % 8), so that 8 lanes that read one quad of rows 4 apart meet all 32 banks. Fragments of 8 would
   take 64 registers for two steps. */
#define SGEMM__QUADS(T, BK, along_k) ((along_k) && (T) == 4 && (BK) % 16 == 0)

/* Where element (e, k) of a pipeline's tile lies. */
SGEMM__DEVICE int sgemm__spot(int E, int BK, int quads, int e, int k) {
  return quads ? ((e * BK + k) / 4 ^ e / 4 % 8) * 4 + k % 4 : k * (E + 4) + e;
}

SGEMM__DEVICE sgemm__loader sgemm__copier_of(const sgemm__shape *s, int quads, int E, int along_k, const float *X,
                                             int64_t ld, int limit) {
  return sgemm__loader_of(s, along_k && !quads ? 1 : 4, quads ? s->BK : 8, E, along_k, X, ld, limit);
}

/* Shared tile <- memory, as fetch and place together but past the registers. */
SGEMM__DEVICE void sgemm__copy_tile(float *shared, int quads, sgemm__loader *l, int64_t depth) {
  const int all = l->E * l->BK, reach = l->threads * l->V; /* elements of the tile, and of one access of all threads */
  const int count = (all + reach - 1) / reach;
  int i, v;
  if (all >= reach || sgemm__thread() * l->V < all) { /* otherwise this thread has none */
    if (l->vectors && l->limit == l->E && depth >= l->BK) {
      SGEMM__UNROLL
      for (i = 0; i < count; i++) {
        const int e = sgemm__step_e(l, i), k = sgemm__step_k(l, i);
        const float *p = l->next + (l->along_k ? e * l->ld + k : k * l->ld + e);
        float *to = shared + sgemm__spot(l->E, l->BK, quads, l->e + e, l->k + k);
        if (l->V == 4)
          sgemm__copy4(to, p);
        else
          sgemm__copy(to, p, 1);
      }
    } else if (l->V == 4 && l->vectors &&
               (l->along_k ? depth : l->limit) % 4 == 0) { /* no vector lies across an edge */
      SGEMM__UNROLL
      for (i = 0; i < count; i++) {
        const int e = sgemm__step_e(l, i), k = sgemm__step_k(l, i);
        const float *p = l->next + (l->along_k ? e * l->ld + k : k * l->ld + e);
        float *to = shared + sgemm__spot(l->E, l->BK, quads, l->e + e, l->k + k);
        sgemm__copy4_if(to, p, l->e + e < l->limit && l->k + k < depth);
      }
    } else {
      SGEMM__UNROLL
      for (i = 0; i < count; i++) {
        const int e = sgemm__step_e(l, i), k = sgemm__step_k(l, i);
        const float *p = l->next + (l->along_k ? e * l->ld + k : k * l->ld + e);
        float *to = shared + sgemm__spot(l->E, l->BK, quads, l->e + e, l->k + k);
        SGEMM__UNROLL
        for (v = 0; v < l->V; v++)
          sgemm__copy(to + v, p + v,
                      l->e + e + (l->along_k ? 0 : v) < l->limit && l->k + k + (l->along_k ? v : 0) < depth);
      }
    }
  }
  sgemm__converge();
  l->next += l->along_k ? l->BK : l->BK * l->ld;
}

/* Fragment <- shared: T elements in pieces of V, `apart` elements between pieces' starts, step_e floats an element. */
SGEMM__DEVICE void sgemm__load_fragment(float *fragment, const float *p, int T, int V, int apart, int step_e) {
  int i;
  SGEMM__UNROLL
  for (i = 0; i < T; i += V) {
    if (V == 4)
      sgemm__load_shared4(fragment + i, p + i / V * apart);
    else
      fragment[i] = sgemm__load_shared(p + i * apart * step_e);
  }
}

/* The same for a pipeline's tile, for step k of it: T elements from element e on, in pieces of 4; or of quads, where k is a
   multiple of 4, T = 4 rows of 4 k. */
SGEMM__DEVICE void sgemm__load_step(float *fragment, const float *shared, int E, int BK, int quads, int e, int k, int T,
                                    int apart) {
  int i;
  SGEMM__UNROLL
  for (i = 0; i < T; i += quads ? 1 : 4)
    sgemm__load_shared4(fragment + (quads ? i * 4 : i),
                        shared + sgemm__spot(E, BK, quads, e + i / 4 * apart + i % 4, k));
}

/* acc[TM][TN] += a[TM] b[TN], the outer product of two fragments, whose elements lie step_a and step_b apart. Odd rows run
   backward, so that each FMA shares a multiplicand with the one before and ptxas can keep it in the operand's reuse cache.
   Column j of b goes to column j ^ turn of acc: with turn = 1, and both in quads of registers, an FMA's other two operands
   are of different banks, even and odd. */
SGEMM__DEVICE void sgemm__multiply_fragments(float *acc, const float *a, int step_a, const float *b, int step_b, int TM,
                                             int TN, int turn) {
  int i, j;
  SGEMM__UNROLL
  for (i = 0; i < TM; i++) {
    SGEMM__UNROLL
    for (j = 0; j < TN; j++) {
      const int column = i % 2 ? TN - 1 - j : j;
      float *sum = acc + i * TN + (column ^ turn);
      *sum = sgemm__fma(a[i * step_a], b[column * step_b], *sum);
    }
  }
}

/* C <- alpha * acc + beta * C, V elements from (row, col) of the tile on, as far as they lie inside C. The one epilogue of
   every stage; into planes and partial tiles with alpha 1 and beta 0. */
SGEMM__DEVICE void sgemm__store_at(const sgemm__args *p, int V, const sgemm__tile *tile, int row, int col,
                                   const float *acc) {
  const int vectors = V == 4 && (uintptr_t)tile->C % 16 == 0 && p->ldc % 4 == 0;
  float *C = tile->C + row * p->ldc + col;
  float r[4];
  int v;
  SGEMM__UNROLL
  for (v = 0; v < V; v++)
    r[v] = p->alpha * acc[v];
  if (row < tile->rows && vectors && col + 4 <= tile->cols) {
    if (p->beta != 0.0f) {
      float c[4];
      sgemm__load_result4(c, C);
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        r[v] = sgemm__fma(p->beta, c[v], r[v]);
    }
    sgemm__store_global4(C, r);
  } else if (row < tile->rows) {
    SGEMM__UNROLL
    for (v = 0; v < V; v++)
      if (col + v < tile->cols)
        sgemm__store_global(C + v, p->beta != 0.0f ? sgemm__fma(p->beta, sgemm__load_result(C + v), r[v]) : r[v]);
  }
  sgemm__converge();
}

/* The same for a thread's piece of V results, numbered row by row. */
SGEMM__DEVICE void sgemm__store_numbered(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                         const sgemm__place *place, int piece, const float *acc) {
  const int i = piece / (s->TN / s->V), j = piece % (s->TN / s->V);
  sgemm__store_at(p, s->V, tile, place->row + i / s->V * place->down + i % s->V, place->col + j * place->across, acc);
}

/* The same args for results that are stored as they are. */
SGEMM__DEVICE sgemm__args sgemm__as_they_are(const sgemm__args *p) {
  sgemm__args args = *p;
  args.alpha = 1.0f;
  args.beta = 0.0f;
  return args;
}

/* c <- C, V elements from (row, col) of the tile on, as far as they lie inside C. */
SGEMM__DEVICE void sgemm__load_at(const sgemm__args *p, int V, const sgemm__tile *tile, int row, int col, float *c) {
  const int vectors = V == 4 && (uintptr_t)tile->C % 16 == 0 && p->ldc % 4 == 0;
  const float *C = tile->C + row * p->ldc + col;
  int v;
  if (row < tile->rows && vectors && col + 4 <= tile->cols) {
    sgemm__load_result4(c, C);
  } else if (row < tile->rows) {
    SGEMM__UNROLL
    for (v = 0; v < V; v++)
      if (col + v < tile->cols)
        c[v] = sgemm__load_result(C + v);
  }
  sgemm__converge();
}

/* acc <- alpha * acc + beta * C, for a thread's pieces of V results from number `first` on, `wide` of them a row. Eight are on
   their way before the first is used: one behind the other, as sgemm__store_at() has them, each takes the memory's whole
   latency. */
SGEMM__DEVICE void sgemm__add_result(const sgemm__args *p, float alpha, int V, const sgemm__tile *tile,
                                     const sgemm__place *place, int wide, int first, int pieces, float *acc) {
  float c[8 * 4] = {0.0f};
  int piece, i;
  SGEMM__UNROLL
  for (piece = 0; piece < pieces; piece += 8) {
    const int count = pieces - piece < 8 ? pieces - piece : 8;
    SGEMM__UNROLL
    for (i = 0; i < count; i++) {
      const int row = (first + piece + i) / wide, column = (first + piece + i) % wide;
      sgemm__load_at(p, V, tile, place->row + row / V * place->down + row % V, place->col + column * place->across,
                     c + i * V);
    }
    SGEMM__UNROLL
    for (i = 0; i < count * V; i++)
      acc[piece * V + i] = sgemm__fma(p->beta, c[i], alpha * acc[piece * V + i]);
  }
}

/* 1 for a whole tile to which nothing is added, in rows of whole 16 bytes: the usual case. */
SGEMM__DEVICE int sgemm__plain(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile) {
  return tile->rows == s->BM && tile->cols == s->BN && p->beta == 0.0f && (uintptr_t)tile->C % 16 == 0 &&
         p->ldc % 4 == 0;
}

/* And for all of them. Rows of 8 x 8, from doublebuffered on, store a plain tile without asking for each piece; of larger
   rows that spoils the main loop, and smaller ones have no registers left for it. */
SGEMM__DEVICE void sgemm__store_tile(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                     const sgemm__place *place, const float *acc) {
  int piece;
  if (s->bufs > 1 && s->TM * s->TN == 64 && sgemm__plain(p, s, tile)) {
    float *C = tile->C + place->row * p->ldc + place->col;
    int i, j, v;
    SGEMM__UNROLL
    for (i = 0; i < s->TM; i++) {
      float *row = C + (i / 4 * place->down + i % 4) * p->ldc;
      SGEMM__UNROLL
      for (j = 0; j < s->TN; j += 4) {
        float r[4];
        SGEMM__UNROLL
        for (v = 0; v < 4; v++)
          r[v] = p->alpha * acc[i * s->TN + j + v];
        sgemm__store_global4(row + j / 4 * place->across, r);
      }
    }
  } else {
    SGEMM__UNROLL
    for (piece = 0; piece < s->TM * s->TN / s->V; piece++)
      sgemm__store_numbered(p, s, tile, place, piece, acc + piece * s->V);
  }
}

/* Where k is split, which part of it a thread adds up. */
typedef struct sgemm__part {
  int slice, index;     /* of the block's s->slices; of the slice's threads */
  uint32_t rank, ranks; /* of the cluster's blocks */
} sgemm__part;

/* Floats from the start of shared memory to where the same thread of another slice keeps a piece of its results. */
SGEMM__DEVICE int sgemm__piece_at(const sgemm__shape *s, const sgemm__part *part, int piece, int slice) {
  const int slice_threads = SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, 1);
  return ((piece * s->slices + slice) * slice_threads + part->index) * 4;
}

/* The sum of a thread's piece of 4 over the slices, slice 0 first: to C, or where ranks sum it yet to the place of slice 0. */
SGEMM__DEVICE void sgemm__sum_slices(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                     const sgemm__place *place, const sgemm__part *part, float *shared, int piece) {
  float sum[4], r[4];
  int slice, v;
  sgemm__load_shared4(sum, shared + sgemm__piece_at(s, part, piece, 0));
  SGEMM__UNROLL
  for (slice = 1; slice < s->slices; slice++) {
    sgemm__load_shared4(r, shared + sgemm__piece_at(s, part, piece, slice));
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      sum[v] += r[v];
  }
  if (part->ranks > 1)
    sgemm__store_shared4(shared + sgemm__piece_at(s, part, piece, 0), sum);
  else
    sgemm__store_numbered(p, s, tile, place, piece, sum);
}

/* The sums over the slices, and then over the blocks of the cluster, block 0 first, to C. Results go through shared memory in
   pieces of 4: slices * BM * BN floats, of tiles that have been multiplied, each thread's pieces side by side with the other
   threads'. Each piece has one slice that sums it, and one rank; the loops stay loops, since code that runs once costs more
   to bring than to run. */
SGEMM__DEVICE void sgemm__store_sums(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                     const sgemm__place *place, const sgemm__part *part, float *shared,
                                     const float *acc) {
  const int pieces = s->TM * s->TN / 4, apart = s->slices > pieces ? s->slices / pieces : 1; /* slices that sum */
  const int first = part->slice % apart == 0 ? part->slice / apart : pieces, step = s->slices / apart;
  float sum[4], r[4];
  int piece, v;
  uint32_t rank;
  sgemm__barrier(); /* the loads behind the last tile have read */
  SGEMM__UNROLL
  for (piece = 0; piece < pieces; piece++)
    sgemm__store_shared4(shared + sgemm__piece_at(s, part, piece, part->slice), acc + piece * 4);
  sgemm__barrier();
  SGEMM__UNROLL_BY(2)
  for (piece = first; piece < pieces; piece += step)
    sgemm__sum_slices(p, s, tile, place, part, shared, piece);
  if (part->ranks > 1) {
    sgemm__cluster_barrier();
    SGEMM__UNROLL_BY(1)
    for (piece = first; piece < pieces; piece += step) {
      if ((uint32_t)(piece / s->slices + piece) % part->ranks == part->rank) {
        sgemm__load_cluster4(sum, shared + sgemm__piece_at(s, part, piece, 0), 0);
        for (rank = 1; rank < part->ranks; rank++) {
          sgemm__load_cluster4(r, shared + sgemm__piece_at(s, part, piece, 0), rank);
          SGEMM__UNROLL
          for (v = 0; v < 4; v++)
            sum[v] += r[v];
        }
        sgemm__store_numbered(p, s, tile, place, piece, sum);
      }
    }
    sgemm__cluster_barrier(); /* nobody leaves while others read its shared memory */
  }
}

/* r: 4 registers; += those of the lane whose number differs by the bit `mask`, for both. */
SGEMM__DEVICE void sgemm__add_lanes4(float *r, int mask) {
  float other[4];
  int v;
  SGEMM__UNROLL
  for (v = 0; v < 4; v++)
    other[v] = r[v];
  sgemm__swap_lanes4(other, mask);
  SGEMM__UNROLL
  for (v = 0; v < 4; v++)
    r[v] += other[v];
}

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */

/* naive, coalesced: a thread computes one result from global memory. down: consecutive threads take consecutive rows of C
   (naive), otherwise consecutive columns. */
SGEMM__DEVICE void sgemm__direct(const sgemm__args *p, const sgemm__shape *s, int down) {
  /* Indices. */
  const int t = sgemm__thread();
  const sgemm__tile tile = sgemm__tile_at(p, s, sgemm__block_x());
  const sgemm__place place = {down ? t % s->BM : t / s->BN, down ? t / s->BM : t % s->BN, 1, 1, 0};
  /* Tile pointers. */
  const int64_t a_step = s->a_along_k ? 1 : p->lda, b_step = s->b_along_k ? 1 : p->ldb;
  const float *A = tile.A + place.row * (s->a_along_k ? p->lda : 1);
  const float *B = tile.B + place.col * (s->b_along_k ? p->ldb : 1);
  /* Accumulators. */
  float acc[4] = {0.0f}; /* the one result, in a piece of its own */
  int64_t k;
  if (place.row >= tile.rows || place.col >= tile.cols)
    return;
  /* Main loop. Sixteen steps' loads in flight at once hide their latency. */
  SGEMM__UNROLL_BY(16)
  for (k = 0; k < p->k; k++)
    acc[0] = sgemm__fma(sgemm__load_global(A + k * a_step), sgemm__load_global(B + k * b_step), acc[0]);
  /* Epilogue. */
  sgemm__store_numbered(p, s, &tile, &place, 0, acc);
}

/* tiled, tile1d, tile2d, vectorized, warptiled: tiles in shared memory, one buffer, two barriers a tile. Scalar rows keep
   A as it lies in memory, so that neither its stores nor its broadcast loads meet a bank twice; vector rows want k-rows of
   m for 128-bit fragment loads, so A along k is transposed on its way. */
SGEMM__DEVICE void sgemm__blocked(const sgemm__args *p, const sgemm__shape *s, float *As, float *Bs, float *acc,
                                  float *a, float *b, float *ra, float *rb) {
  /* Indices. */
  const sgemm__tile tile = sgemm__tile_at(p, s, sgemm__block_x());
  const sgemm__place place = sgemm__place_of_thread(s);
  const int a_rows = s->V == 1 && s->a_along_k; /* As[m][k], otherwise As[k][m]; always Bs[k][n] */
  const int a_m = a_rows ? s->BK : 1, a_k = a_rows ? 1 : SGEMM__PITCH(s->BM, s->BK, s->V, s->a_along_k);
  const int b_k = SGEMM__PITCH(s->BN, s->BK, s->V, s->b_along_k);
  /* Tile pointers. */
  sgemm__loader load_a = sgemm__loader_of(s, s->V, SGEMM__WIDE(s->BK, s->V), s->BM, s->a_along_k, tile.A, p->lda,
                                          tile.rows);
  sgemm__loader load_b = sgemm__loader_of(s, s->V, SGEMM__WIDE(s->BK, s->V), s->BN, s->b_along_k, tile.B, p->ldb,
                                          tile.cols);
  const float *fragment_a = As + place.row * a_m, *fragment_b = Bs + place.col;
  /* Accumulators. */
  int64_t rest;
  int i, k;
  SGEMM__UNROLL
  for (i = 0; i < s->TM * s->TN; i++)
    acc[i] = 0.0f;
  /* Main loop. */
  for (rest = p->k; rest > 0; rest -= s->BK) {
    sgemm__fetch(ra, &load_a, rest);
    sgemm__fetch(rb, &load_b, rest);
    sgemm__barrier(); /* nobody reads the last tiles any more; the fetches are under way meanwhile */
    sgemm__place_tile(As, a_m, a_k, ra, &load_a);
    sgemm__place_tile(Bs, 1, b_k, rb, &load_b);
    sgemm__barrier(); /* the tiles are whole */
    SGEMM__UNROLL
    for (k = 0; k < s->BK; k++) {
      sgemm__load_fragment(a, fragment_a + k * a_k, s->TM, s->V, place.down, a_m);
      sgemm__load_fragment(b, fragment_b + k * b_k, s->TN, s->V, place.across, 1);
      sgemm__multiply_fragments(acc, a, 1, b, 1, s->TM, s->TN, 0);
    }
  }
  /* Epilogue. */
  sgemm__store_tile(p, s, &tile, &place, acc);
}

/* doublebuffered: while a tile is multiplied from one shared buffer, the next is on its way to registers and then into the
   other; the one barrier a tile both publishes the next and frees this one. Fragments alternate between two sets as well,
   so that those of k + 1 load while those of k multiply. a, b: two fragments each. */
SGEMM__DEVICE void sgemm__doublebuffered(const sgemm__args *p, const sgemm__shape *s, float *As, float *Bs, float *acc,
                                         float *a, float *b, float *ra, float *rb) {
  /* Indices. */
  const sgemm__tile tile = sgemm__tile_at(p, s, sgemm__block_x());
  const sgemm__place place = sgemm__place_of_thread(s);
  const int a_k = SGEMM__PITCH(s->BM, s->BK, s->V, s->a_along_k);
  const int b_k = SGEMM__PITCH(s->BN, s->BK, s->V, s->b_along_k);
  /* Tile pointers. */
  sgemm__loader load_a = sgemm__loader_of(s, s->V, SGEMM__WIDE(s->BK, s->V), s->BM, s->a_along_k, tile.A, p->lda,
                                          tile.rows);
  sgemm__loader load_b = sgemm__loader_of(s, s->V, SGEMM__WIDE(s->BK, s->V), s->BN, s->b_along_k, tile.B, p->ldb,
                                          tile.cols);
  int buffer = 0; /* 0 or 1: the one that is multiplied */
  /* Accumulators. */
  int64_t rest;
  int i, k;
  SGEMM__UNROLL
  for (i = 0; i < s->TM * s->TN; i++)
    acc[i] = 0.0f;
  /* Main loop. */
  if (p->k > 0) {
    sgemm__fetch(ra, &load_a, p->k);
    sgemm__fetch(rb, &load_b, p->k);
    sgemm__place_tile(As, 1, a_k, ra, &load_a);
    sgemm__place_tile(Bs, 1, b_k, rb, &load_b);
    sgemm__barrier();
  }
  for (rest = p->k; rest > 0; rest -= s->BK) {
    const float *fragment_a = As + buffer * s->BK * a_k + place.row;
    const float *fragment_b = Bs + buffer * s->BK * b_k + place.col;
    if (rest > s->BK) {
      sgemm__fetch(ra, &load_a, rest - s->BK);
      sgemm__fetch(rb, &load_b, rest - s->BK);
    }
    sgemm__load_fragment(a, fragment_a, s->TM, s->V, place.down, 1);
    sgemm__load_fragment(b, fragment_b, s->TN, s->V, place.across, 1);
    SGEMM__UNROLL
    for (k = 0; k < s->BK; k++) {
      const int now = k % 2, next = 1 - now;
      if (k + 1 < s->BK) {
        sgemm__load_fragment(a + next * s->TM, fragment_a + (k + 1) * a_k, s->TM, s->V, place.down, 1);
        sgemm__load_fragment(b + next * s->TN, fragment_b + (k + 1) * b_k, s->TN, s->V, place.across, 1);
      }
      sgemm__multiply_fragments(acc, a + now * s->TM, 1, b + now * s->TN, 1, s->TM, s->TN, 0);
    }
    buffer = 1 - buffer;
    if (rest > s->BK) {
      sgemm__place_tile(As + buffer * s->BK * a_k, 1, a_k, ra, &load_a);
      sgemm__place_tile(Bs + buffer * s->BK * b_k, 1, b_k, rb, &load_b);
    }
    sgemm__barrier();
  }
  /* Epilogue. */
  sgemm__store_tile(p, s, &tile, &place, acc);
}

/* Chains of FMAs a result: two where a block has all of a long k, which halves their length. */
#define SGEMM__CHAINS(slices) ((slices) >= 8 ? 2 : 1)

/* Where a fragment's step k lies among its registers: two steps, of which one loads while the other multiplies; of quads
   two times four. */
#define SGEMM__STEPS(T) ((T) == 4 ? 32 : 2 * (T))
SGEMM__DEVICE int sgemm__step_at(int T, int quads, int k) { return quads ? k / 4 % 2 * 16 + k % 4 : k % 2 * T; }

/* async, splitk: `bufs` tiles of A and of B on their way or in use at a time. A step's fragments load while the step before
   multiplies, across tiles too: with the last step of a tile still to multiply, each thread waits for its own copies of the
   next tile, and one barrier tells all that it is there and that nobody reads this one any more. Behind the last tile a step
   loads that nobody multiplies: around it a branch would cut the loop in two, and FMAs would not cover those loads. */
SGEMM__DEVICE void sgemm__pipelined(const sgemm__args *p, const sgemm__shape *s, float *shared, float *acc, float *a,
                                    float *b) {
  /* It takes up to a third off a row's code. Rows of 8 x 8 whose threads share no k come out slower by it. */
  if (s->TM * s->TN != 64 || s->slices > 1)
    sgemm__thread_counts_up();
  /* Indices. k is cut into planes, one launch's share each, a plane among the ranks of a cluster, each tile's k among the
     slices. */
  const uint32_t ranks = s->split ? sgemm__cluster_size() : 1, rank = s->split ? sgemm__cluster_rank() : 0;
  const int slice_threads = SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, 1);
  const sgemm__part part = {sgemm__thread() / slice_threads, sgemm__thread() % slice_threads, rank, ranks};
  const uint32_t plane_blocks = p->tiles_m * p->tiles_n * ranks, block = sgemm__block_x();
  const uint32_t plane = block < plane_blocks ? 0 : block / plane_blocks, inside = block - plane * plane_blocks;
  const int64_t plane_end = p->k - plane * p->k_plane < p->k_plane ? p->k : (plane + 1) * p->k_plane;
  const int64_t plane_steps = (plane_end - plane * p->k_plane + s->BK - 1) / s->BK;
  const int64_t share = (ranks > 1 ? (plane_steps + ranks - 1) / ranks : plane_steps) * s->BK; /* no division for one */
  const int64_t begin = plane * p->k_plane + rank * share;
  const sgemm__place place = sgemm__place_of_thread(s);
  const int a_quads = SGEMM__QUADS(s->TM, s->BK, s->a_along_k), b_quads = SGEMM__QUADS(s->TN, s->BK, s->b_along_k);
  const int depth = s->BK / s->slices, slice_k = part.slice * depth; /* of each tile, this slice's k */
  const int buffer_b = SGEMM__TILE_FLOATS(s->BM, s->BK);             /* where B's tile begins in a buffer */
  const int buffer = buffer_b + SGEMM__TILE_FLOATS(s->BN, s->BK);
  /* Rows of 8 x 8, 16 deep, are slower by it, and upright ones with op NN. */
  const int anyway = sgemm__load_anyway((s->TM * s->TN != 64 || s->BK < 16) &&
                                        !(s->BM > s->BN && s->a_along_k && !s->b_along_k));
  const int chains = SGEMM__CHAINS(s->slices);
  sgemm__tile tile = sgemm__tile_at(p, s, ranks > 1 ? inside / ranks : inside);
  /* Tile pointers. */
  sgemm__loader load_a = sgemm__copier_of(s, a_quads, s->BM, s->a_along_k, tile.A + begin * (s->a_along_k ? 1 : p->lda),
                                          p->lda, tile.rows);
  sgemm__loader load_b = sgemm__copier_of(s, b_quads, s->BN, s->b_along_k, tile.B + begin * (s->b_along_k ? 1 : p->ldb),
                                          p->ldb, tile.cols);
  float *from = shared, *into = shared; /* the buffers that are multiplied and that are filled next */
  /* Accumulators. */
  int64_t rest = (begin + share < plane_end ? begin + share : plane_end) - begin, ahead = rest;
  int i, k;
  SGEMM__UNROLL
  for (i = 0; i < chains * s->TM * s->TN; i++)
    acc[i] = 0.0f;
  tile.C += plane * p->stride_plane;
  /* Main loop. The indices were reckoned while the kernel before may still have been at work. */
  sgemm__begin();
  if (!sgemm__runs(p))
    return;
  SGEMM__UNROLL_BY(1)
  for (i = 0; i < s->bufs - 1; i++, ahead -= s->BK, into += buffer) {
    if (ahead > 0) {
      sgemm__copy_tile(into, a_quads, &load_a, ahead);
      sgemm__copy_tile(into + buffer_b, b_quads, &load_b, ahead);
    }
    sgemm__copies_commit();
  }
  sgemm__copies_wait(s->bufs - 2);
  sgemm__barrier();
  if (rest > 0) {
    sgemm__load_step(a, from, s->BM, s->BK, a_quads, place.row, slice_k, s->TM, place.down);
    sgemm__load_step(b, from + buffer_b, s->BN, s->BK, b_quads, place.col, slice_k, s->TN, place.across);
  }
  for (; rest > 0; rest -= s->BK, ahead -= s->BK) {
    SGEMM__UNROLL
    for (k = 0; k < depth; k++) {
      const int next = (k + 1) % depth;
      if (k == 0) {
        if (ahead > 0) {
          sgemm__copy_tile(into, a_quads, &load_a, ahead);
          sgemm__copy_tile(into + buffer_b, b_quads, &load_b, ahead);
        }
        sgemm__copies_commit();
        into = into == shared + (s->bufs - 1) * buffer ? shared : into + buffer;
      }
      if (next == 0) {
        sgemm__copies_wait(s->bufs - 2);
        sgemm__barrier();
        from = from == shared + (s->bufs - 1) * buffer ? shared : from + buffer;
      }
      if (anyway || next > 0 || rest > s->BK) {
        if (!a_quads || next % 4 == 0)
          sgemm__load_step(a + sgemm__step_at(s->TM, a_quads, next), from, s->BM, s->BK, a_quads, place.row,
                           slice_k + next, s->TM, place.down);
        if (!b_quads || next % 4 == 0)
          sgemm__load_step(b + sgemm__step_at(s->TN, b_quads, next), from + buffer_b, s->BN, s->BK, b_quads, place.col,
                           slice_k + next, s->TN, place.across);
      }
      sgemm__multiply_fragments(acc + k % chains * s->TM * s->TN, a + sgemm__step_at(s->TM, a_quads, k),
                                a_quads ? 4 : 1, b + sgemm__step_at(s->TN, b_quads, k), b_quads ? 4 : 1, s->TM, s->TN,
                                0);
    }
  }
  /* Epilogue. */
  SGEMM__UNROLL
  for (i = 0; i < (chains - 1) * s->TM * s->TN; i++)
    acc[i] += acc[s->TM * s->TN + i];
  if (s->slices > 1) {
    sgemm__store_sums(p, s, &tile, &place, &part, shared, acc);
  } else if (s->TM * s->TN == 64) { /* other rows are slower by it */
    const sgemm__args sums = sgemm__as_they_are(p);
    SGEMM__UNROLL
    for (i = 0; i < s->TM * s->TN; i++)
      acc[i] *= p->alpha;
    if (p->beta != 0.0f)
      sgemm__add_result(p, 1.0f, s->V, &tile, &place, s->TN / s->V, 0, s->TM * s->TN / s->V, acc);
    sgemm__store_tile(&sums, s, &tile, &place, acc);
  } else {
    sgemm__store_tile(p, s, &tile, &place, acc);
  }
}

/* Four elements that lie side by side, of which the first `exist` exist and the rest read as zero. */
SGEMM__DEVICE void sgemm__fetch_quad(float *r, const float *p, int vectors, int64_t exist) {
  int v;
  if (vectors && exist >= 4) {
    sgemm__load_global4(r, p);
  } else {
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      r[v] = v < exist ? sgemm__load_global(p + v) : 0.0f;
  }
  sgemm__converge();
}

/* The geometry of gemv: rows or columns of the matrix that a block takes, and quads of it that a thread has under way. */
#define SGEMM__STRIP 32
#define SGEMM__QUADS_AHEAD 8

/* What a thread of gemv takes, from its elements of the next step on. */
typedef struct sgemm__stream {
  const float *matrix, *vector;
  int64_t ld, step; /* of the matrix; from one k of the vector to the next */
  int along_k;      /* 1: the matrix is contiguous along k in memory */
  int exist;        /* rows or columns of the matrix, from the thread's first one on */
  int quads;        /* 1: those of the matrix start on 16 bytes */
} sgemm__stream;

/* acc += the thread's part of a step, of which from its first k on `rest` exist; `whole` says that all do, in quads that
   start on 16 bytes. What does not exist reads as zero. The matrix's quads are under way before the first is used. */
SGEMM__DEVICE void sgemm__stream_step(float *acc, float *w, const sgemm__shape *s, sgemm__stream *from, int whole,
                                      int64_t rest) {
  const int depth = SGEMM__QUADS_AHEAD * s->slices; /* k of the step, and of a quad: of four rows of it, or of one */
  const int K = from->along_k ? 4 : 1;
  float x[4];
  int i, row, v;
  SGEMM__UNROLL
  for (i = 0; i < SGEMM__QUADS_AHEAD; i++) {
    const int k = i / K * s->slices * K;
    const float *quad = from->matrix + (K == 4 ? i % 4 * from->ld + k : k * from->ld);
    if (whole)
      sgemm__load_global4(w + i * 4, quad);
    else
      sgemm__fetch_quad(w + i * 4, quad, from->quads,
                        K == 4 ? (i % 4 < from->exist ? rest - k : 0) : (k < rest ? from->exist : 0));
  }
  SGEMM__UNROLL
  for (i = 0; i < SGEMM__QUADS_AHEAD; i += K) {
    const int k = i * s->slices;
    if (whole && K == 4) {
      sgemm__load_global4(x, from->vector + k);
    } else {
      SGEMM__UNROLL
      for (v = 0; v < K; v++)
        x[v] = whole || k + v < rest ? sgemm__load_global(from->vector + (k + v) * from->step) : 0.0f;
      sgemm__converge();
    }
    SGEMM__UNROLL
    for (row = 0; row < K; row++) {
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        acc[K == 4 ? row : v] = sgemm__fma(x[K == 4 ? v : 0], w[(i + row) * 4 + v], acc[K == 4 ? row : v]);
    }
  }
  from->matrix += K == 4 ? depth : depth * from->ld;
  from->vector += depth * from->step;
}

/* gemv: a tile of one row and 32 columns, or upright. Of the large operand, the matrix, each element is of use to one block,
   and there to one thread; so it goes from memory to that thread's registers, past shared memory, 16 bytes at a time, eight
   of which a thread has under way. That makes 64 KB an SM, and what a warp computes between its loads is behind those of 15
   others. The threads' order follows the matrix:
     along e   8 lanes take 128 bytes of a row of k, and 64 slices as many rows
     along k   a warp takes 512 bytes of each of four rows, 4 k a lane, and two warps 256 k of them
   The vector comes from the caches. At the end the slices' sums are added up, over lanes first, then over warps in order. */
SGEMM__DEVICE void sgemm__streamed(const sgemm__args *p, const sgemm__shape *s, float *shared, float *acc, float *w) {
  /* Indices. k is cut into planes as in sgemm__pipelined(). */
  const int across = s->BN > s->BM; /* B is the matrix, and its columns those of the tile */
  const int along_k = across ? s->b_along_k : s->a_along_k, vector_along_k = across ? s->a_along_k : s->b_along_k;
  const int K = along_k ? 4 : 1, depth = SGEMM__QUADS_AHEAD * s->slices, groups = SGEMM__STRIP / 4;
  const int t = sgemm__thread(), lane = t % 32;
  const int slice = along_k ? t % s->slices : t / groups, group = along_k ? t / s->slices : t % groups;
  const int part = along_k ? slice / 32 : t / 32, parts = (along_k ? 1 : groups) * s->slices / 32; /* of sums: warps */
  const uint32_t strips = across ? p->tiles_n : p->tiles_m, vectors = across ? p->tiles_m : p->tiles_n;
  const uint32_t turn = sgemm__block_x() < strips ? 0 : sgemm__block_x() / strips; /* most often no division */
  const uint32_t strip = sgemm__block_x() - turn * strips, plane = turn < vectors ? 0 : turn / vectors;
  const uint32_t vector = turn - plane * vectors;
  const int64_t begin = plane * p->k_plane, first = begin + slice * K; /* k of the block, and of the thread */
  const sgemm__dealt at = {across ? vector : strip, across ? strip : vector};
  sgemm__tile tile = sgemm__tile_in(p, s, at, sgemm__block_yz());
  /* Tile pointers. */
  const int limit = across ? tile.cols : tile.rows;
  const int64_t ld = across ? p->ldb : p->lda, step = vector_along_k ? 1 : across ? p->lda : p->ldb;
  const float *X = (across ? tile.A : tile.B) + first * step;
  const float *W = (across ? tile.B : tile.A) + (along_k ? group * 4 * ld + first : first * ld + group * 4);
  sgemm__stream from = {W, X, ld, step, along_k, limit - group * 4, (uintptr_t)W % 16 == 0 && ld % 4 == 0};
  const int whole = from.quads && limit == SGEMM__STRIP && (!along_k || (step == 1 && (uintptr_t)X % 16 == 0));
  /* Accumulators. */
  int64_t rest = p->k - begin < p->k_plane ? p->k - begin : p->k_plane;
  int i, mask;
  SGEMM__UNROLL
  for (i = 0; i < 4; i++)
    acc[i] = 0.0f;
  tile.C += plane * p->stride_plane;
  /* Main loop: steps of which all exists, then the others. */
  sgemm__begin();
  if (!sgemm__runs(p))
    return;
  for (; whole && rest >= depth; rest -= depth)
    sgemm__stream_step(acc, w, s, &from, 1, rest);
  for (; rest > 0; rest -= depth)
    sgemm__stream_step(acc, w, s, &from, 0, rest - slice * K);
  /* Epilogue. Lanes that have parts of the same four sums: of a warp every eighth, or along k all. */
  SGEMM__UNROLL
  for (mask = 16; mask > 0; mask /= 2)
    if (along_k || mask >= groups)
      sgemm__add_lanes4(acc, mask);
  if (lane < (along_k ? 1 : groups))
    sgemm__store_shared4(shared + part * SGEMM__STRIP + group * 4, acc);
  sgemm__barrier();
  if (t < SGEMM__STRIP) {
    float sum = sgemm__load_shared(shared + t);
    SGEMM__UNROLL
    for (i = 1; i < parts; i++)
      sum += sgemm__load_shared(shared + i * SGEMM__STRIP + t);
    sgemm__store_at(p, 1, &tile, across ? 0 : t, across ? t : 0, &sum);
  }
}

/* C <- alpha * (sum of the planes, the first first) + beta * C, for k in planes across blocks: plane i of the batch's b-th
   result lies at A + b * stride_a + i * stride_plane, in rows of lda. A thread sums one result. */
SGEMM__DEVICE void sgemm__sum_planes(const sgemm__args *p, int threads) {
  const uint32_t columns = (uint32_t)((p->n + threads - 1) / threads), number = sgemm__block_x() / columns;
  const int64_t row = number, col = (int64_t)(sgemm__block_x() - number * columns) * threads + sgemm__thread();
  const float *plane = p->A + sgemm__block_yz() * p->stride_a + row * p->lda + col;
  float *C = p->C + sgemm__block_yz() * p->stride_c + row * p->ldc + col;
  float sum = 0.0f;
  int64_t i;
  sgemm__begin();
  if (col >= p->n || !sgemm__runs(p))
    return;
  SGEMM__UNROLL_BY(16)
  for (i = 0; i < p->k; i++)
    sum += sgemm__load_result(plane + i * p->stride_plane);
  sum *= p->alpha;
  sgemm__store_global(C, p->beta != 0.0f ? sgemm__fma(p->beta, sgemm__load_result(C), sum) : sum);
}

/* Packing (Goto, van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008): an operand that is not `ready` is
   laid out in the workspace along k, rows of a multiple of SGEMM__PACK_K elements, as many as a multiple of SGEMM__PACK_ROWS.
   A block packs SGEMM__PACK_ROWS x SGEMM__PACK_K of one operand. What lies along e is transposed, 4 x 4 elements in a
   thread's registers and then by `shared`, rows of k whose quad q is at place q ^ (row / 4 % 16), so that the 8 lanes of a
   128-bit access meet no bank twice. */
SGEMM__DEVICE void sgemm__pack(const sgemm__args *p, float *shared) {
  /* Indices. */
  const uint32_t deep = (uint32_t)((p->k + SGEMM__PACK_K - 1) / SGEMM__PACK_K); /* blocks along k */
  const uint32_t blocks_a = p->a.ready ? 0 : (uint32_t)(p->a.rows / SGEMM__PACK_ROWS * p->a.batch) * deep;
  const int of_b = sgemm__block_x() >= blocks_a;
  const sgemm__operand *o = of_b ? &p->b : &p->a;
  const uint32_t number = sgemm__block_x() - (of_b ? blocks_a : 0);
  const uint32_t high = (uint32_t)(o->rows / SGEMM__PACK_ROWS); /* blocks along e */
  const uint32_t strip = number / deep,
                 matrix = strip < high ? 0 : strip / high; /* of SGEMM__PACK_ROWS, of all the batch */
  const int64_t first_e = (int64_t)(strip - matrix * high) * SGEMM__PACK_ROWS;
  const int64_t first_k = (int64_t)(number - strip * deep) * SGEMM__PACK_K, row_k = (int64_t)deep * SGEMM__PACK_K;
  const int64_t ld = of_b ? p->ldb : p->lda, extent = of_b ? p->n : p->m;
  const int along_k = of_b ? p->trans_b : !p->trans_a;
  const float *from = of_b ? p->B + matrix * p->stride_b : p->A + matrix * p->stride_a;
  const int vectors = (uintptr_t)from % 16 == 0 && ld % 4 == 0;
  const int t = sgemm__thread(), q = t % 16, row = t / 16; /* the thread's quad of k, and the first of its 8 rows */
  float *to = (float *)o->planes + (matrix * o->rows + first_e) * row_k + first_k;
  float r[4 * 8];
  int i, j, v;
  sgemm__begin();
  if (!sgemm__runs(p))
    return;
  if (along_k) {
    SGEMM__UNROLL
    for (i = 0; i < 8; i++) {
      const int64_t at = first_e + row + i * 16, rest = p->k - first_k - q * 4;
      sgemm__fetch_quad(r + i * 4, from + at * ld + first_k + q * 4, vectors, at < extent ? rest : 0);
    }
  } else {
    const int e = t % 32 * 4, k = t / 32 * 4; /* two blocks of 4 x 4, 32 k apart */
    SGEMM__UNROLL
    for (i = 0; i < 8; i++) {
      const int64_t at = first_k + k + i / 4 * 32 + i % 4;
      sgemm__fetch_quad(r + i * 4, from + at * ld + first_e + e, vectors, at < p->k ? extent - first_e - e : 0);
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

/* What a block of tma computes: a tile, or a share of its k. */
typedef struct sgemm__job {
  uint32_t tile, matrix;
  int begin, steps; /* of BK */
  int64_t partial;  /* which partial tile of the workspace it writes; -1: C itself */
} sgemm__job;

/* Tiles, of all the batch, that make whole rounds of the blocks that share; all tiles where none do. */
SGEMM__DEVICE uint32_t sgemm__whole_tiles(const sgemm__args *p) {
  return p->tiles_m * p->tiles_n * (uint32_t)p->batch - p->shared;
}

/* The first of the steps of BK, of all shared tiles one behind the other, that a share gets: share / p->shares of them, rounded
   down. So each tile begins with a share where shares are a multiple of tiles. p->share_steps was rounded up, by what makes
   less than 2^-16 of a step here; true quotients are whole or 1 / p->shares and more below the next whole. All steps are
   fewer than 2^31, so that this is right for one share beyond the last, too. */
SGEMM__DEVICE uint32_t sgemm__share_begin(const sgemm__args *p, uint32_t share) {
  return (uint32_t)(share * p->share_steps >> 32);
}

/* The share that has the first of the steps of shared tile `index`. */
SGEMM__DEVICE uint32_t sgemm__share_of(const sgemm__args *p, uint32_t index, uint32_t steps) {
  const uint32_t share = index * p->shares / p->shared; /* or the next, if it was rounded down to the same step */
  return share + (sgemm__share_begin(p, share + 1) <= index * steps);
}

/* The turn-th job of this block, if there is one. Blocks stay: of p->blocks side by side each takes one tile of so many in a
   turn, and after p->turns another block comes in its place; the last one has what is left. Stream-K (Osama et al., 2023)
   for the tiles that make no whole round of the blocks: p->shares of these share all their steps evenly. Each gets part of
   one tile, or the end of one and the beginning of the next, which are two jobs. */
SGEMM__DEVICE int sgemm__job_of(const sgemm__args *p, const sgemm__shape *s, uint32_t turn, sgemm__job *job) {
  const uint32_t steps = ((uint32_t)p->k + (uint32_t)s->BK - 1) / (uint32_t)s->BK;
  const uint32_t all = sgemm__blocks(), before = all > p->blocks ? sgemm__block_x() / p->blocks : 0; /* in this place */
  const uint32_t block = sgemm__block_x() - before * p->blocks;
  const uint32_t whole = sgemm__whole_tiles(p), number = block + (before * p->turns + turn) * p->blocks;
  uint32_t tile = number;
  job->begin = 0;
  job->steps = (int)steps;
  job->partial = -1;
  if (turn >= p->turns && (before + 1) * p->blocks < all)
    return 0;
  if (number >= whole) {
    const uint32_t from = sgemm__share_begin(p, block), to = sgemm__share_begin(p, block + 1);
    const uint32_t first = from / (steps > 0 ? steps : 1), next = (first + 1) * steps; /* tile; step */
    const uint32_t second = number - whole >= p->blocks;
    if (block >= p->shares || number - whole >= 2 * p->blocks || to <= (second ? next : from))
      return 0;
    tile = whole + first + second;
    job->begin = second ? 0 : (int)(from - first * steps);
    job->steps = (int)((second || to < next ? to : next) - (second ? next : from));
    job->partial = 2 * (int64_t)block + (second || job->begin == 0); /* the odd one begins a tile */
  }
  job->matrix = tile / (p->tiles_m * p->tiles_n);
  job->tile = tile - job->matrix * (p->tiles_m * p->tiles_n);
  return 1;
}

/* What the warps that multiply are told of a job, in shared memory: reckoned by themselves it took 1000 clocks a tile. */
typedef struct sgemm__task {
  int64_t at;     /* floats from the start of C, or of the partial tiles, to the tile */
  int partial;    /* 1: it is one of those */
  int rows, cols; /* of the tile, inside C; rows 0: there is no further job */
  int steps;      /* of a warp, SGEMM__BOX of k each */
  int plain;      /* see sgemm__plain() */
} sgemm__task;

#define SGEMM__TASKS 8 /* at a time: see sgemm__feed_tiles() */

/* 1 for rows that leave out the second half of a job's last step where it lies behind the end of k. It spoils the main loop of
   most; this one is chosen for odd sizes. */
SGEMM__DEVICE int sgemm__halves(const sgemm__shape *s) { return s->BM == 256 && s->BK == 2 * SGEMM__BOX; }

/* 1 if this job's is. */
SGEMM__DEVICE int sgemm__ends_early(const sgemm__args *p, const sgemm__shape *s, const sgemm__job *job) {
  return sgemm__halves(s) && job->steps > 1 && (int64_t)(job->begin + job->steps) * s->BK - SGEMM__BOX >= p->k;
}

SGEMM__DEVICE void sgemm__tell(const sgemm__args *p, const sgemm__shape *s, const sgemm__job *job, sgemm__task *task) {
  const sgemm__tile tile = sgemm__tile_of(p, s, job->tile, job->matrix);
  const int partial = job->partial >= 0;
  task->at = partial ? job->partial * s->BM * s->BN : tile.C - p->C;
  task->partial = partial;
  task->rows = partial ? s->BM : tile.rows;
  task->cols = partial ? s->BN : tile.cols;
  task->steps = job->steps * (s->BK / (s->slices / 4) / SGEMM__BOX) - sgemm__ends_early(p, s, job);
  task->plain = partial || sgemm__plain(p, s, &tile);
}

/* C <- alpha * (sum of a shared tile's parts, the first k first) + beta * C. Each of p->sums threads sums four results of as
   many parts; then the first of them sums these, the first k first again. A block computes a part of one tile. What it has to
   reckon first takes longer than the sum: so it shifts where it can. */
SGEMM__DEVICE void sgemm__sum_shares(const sgemm__args *p, int threads, float *shared) {
  /* Indices. */
  const sgemm__shape s = {p->BM, p->BN, 0, 1, 4, 0, 0, 4, 0, 1, 0, 0, 1, 1};
  const uint32_t t = (uint32_t)sgemm__thread(), tile_floats = (uint32_t)(p->BM * p->BN);
  const int log_sums = sgemm__log2(p->sums), log_side = sgemm__log2((uint32_t)threads) - log_sums;
  const int log_blocks = sgemm__log2(tile_floats) - 2 -
                         log_side; /* of a tile, each with 2^log_side threads side by side */
  const uint32_t index = sgemm__block_x() >> log_blocks, inside = sgemm__block_x() - (index << log_blocks);
  const uint32_t part = t >> log_side, at = ((inside << log_side) + t - (part << log_side)) * 4;
  const uint32_t steps = ((uint32_t)p->k + (uint32_t)p->BK - 1) >> sgemm__log2((uint32_t)p->BK), first = index * steps;
  const uint32_t begin = sgemm__share_of(p, index, steps), last = sgemm__share_of(p, index + 1, steps);
  const uint32_t end = last + (sgemm__share_begin(p, last) < first + steps); /* of its shares */
  const uint32_t each = (end - begin + p->sums - 1) >> log_sums, before = part * each, from = begin + before;
  const uint32_t rest = from < end ? end - from : 0, parts = rest < each ? rest : each;
  const uint32_t number = sgemm__whole_tiles(p) + index, tiles = p->tiles_m * p->tiles_n;
  const uint32_t matrix = number < tiles ? 0 : number / tiles;
  const sgemm__tile tile = sgemm__tile_of(p, &s, number - matrix * tiles, matrix);
  const int row = (int)(at >> sgemm__log2((uint32_t)p->BN));
  const sgemm__place place = {row, (int)at - row * p->BN, 0, 0, 0};
  const float *next = p->partials + (int64_t)from * 2 * tile_floats + at;
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f}, r[8][4];
  uint32_t i;
  int ahead, v;
  sgemm__begin();
  if (!sgemm__runs(p))
    return;
  for (i = 0; i < parts; i += 8) {
    SGEMM__UNROLL
    for (ahead = 0; ahead < 8; ahead++) { /* all under way before the first is used */
      if (i + (uint32_t)ahead < parts)
        sgemm__load_result4(r[ahead],
                            before + i + (uint32_t)ahead == 0 ? next + tile_floats : next); /* see sgemm__job */
      next += 2 * tile_floats;
      sgemm__converge();
    }
    SGEMM__UNROLL
    for (ahead = 0; ahead < 8; ahead++) {
      SGEMM__UNROLL
      for (v = 0; v < 4 && i + (uint32_t)ahead < parts; v++)
        sum[v] = i + (uint32_t)ahead == 0 ? r[ahead][v] : sum[v] + r[ahead][v];
    }
  }
  if (p->sums > 1) {
    sgemm__store_shared4(shared + t * 4, sum);
    sgemm__barrier();
    for (i = 1; part == 0 && i * each < end - begin; i++) {
      sgemm__load_shared4(r[0], shared + ((i << log_side) + t) * 4);
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        sum[v] += r[0][v];
    }
  }
  if (part == 0)
    sgemm__store_tile(p, &s, &tile, &place, sum);
}

#if SGEMM__HAS_wgmma

/* tma, the thread that feeds: a tile of E rows of an operand, from k on, by boxes of 128 bytes along memory. Along k it is
   boxes of E rows of 32 k, one behind the other; along e of BK rows of 32 e. */
SGEMM__DEVICE void sgemm__copy_boxes(float *shared, const sgemm__map *map, int E, int BK, int along_k, int e, int k,
                                     int matrix, sgemm__mbarrier *full) {
  int i;
  for (i = 0; i < (along_k ? BK : E) / SGEMM__BOX; i++)
    sgemm__copy_box(shared + i * (along_k ? E : BK) * SGEMM__BOX, map,
                    along_k ? k + i * SGEMM__BOX : e + i * SGEMM__BOX, along_k ? e : k, matrix, full);
}

/* And a buffer's tiles of both operands, as buffers come free, for all jobs of the block; behind them a task of rows 0. Each
   job has a step; one of no k takes a buffer of no bytes. So a task may take the place of the one s->bufs + 2 before: the
   step s->bufs + 1 before this one has been multiplied, by all warps, and was of a later job than that. */
SGEMM__DEVICE void sgemm__feed_tiles(const sgemm__args *p, const sgemm__shape *s, const sgemm__map *map_a,
                                     const sgemm__map *map_b, float *shared, sgemm__mbarrier *full,
                                     sgemm__mbarrier *empty, sgemm__task *tasks) {
  const int b_at = s->BK * s->BM, buffer = b_at + s->BK * s->BN;
  int i = 0, parity = 1; /* of the phase before the first: nobody has yet to read the buffers */
  sgemm__job job;
  uint32_t turn;
  for (turn = 0; sgemm__job_of(p, s, turn, &job); turn++) {
    const sgemm__dealt at = sgemm__deal(p, job.tile);
    const int row = (int)at.row * s->BM, col = (int)at.col * s->BN;
    const int matrix_a = p->stride_a != 0 ? (int)job.matrix : 0, matrix_b = p->stride_b != 0 ? (int)job.matrix : 0;
    const int half = sgemm__ends_early(p, s, &job) ? (job.begin + job.steps - 1) * s->BK : -1; /* where it is */
    int k = job.begin * s->BK, left = job.steps;
    sgemm__tell(p, s, &job, tasks + turn % SGEMM__TASKS);
    while (left > 0) { /* buffers up to the last one, in a short loop: its instructions take the place of FMAs */
      const int end = left < s->bufs - i ? i + left : s->bufs;
      float *into = shared + i * buffer;
      left -= end - i;
      SGEMM__UNROLL_BY(1)
      for (; i < end; i++) {
        const int from = sgemm__halves(s) && k == half ? k - SGEMM__BOX : k; /* it lies in its buffer's second half */
        sgemm__mbarrier_wait(empty + i, parity);
        sgemm__mbarrier_expect(full + i, 4 * buffer);
        sgemm__copy_boxes(into, map_a, s->BM, s->BK, s->a_along_k, row, from, matrix_a, full + i);
        sgemm__copy_boxes(into + b_at, map_b, s->BN, s->BK, s->b_along_k, col, from, matrix_b, full + i);
        into += buffer;
        k += s->BK;
      }
      parity ^= i == s->bufs;
      i = i < s->bufs ? i : 0;
    }
    if (job.steps == 0) {
      sgemm__mbarrier_wait(empty + i, parity);
      sgemm__mbarrier_arrive(full + i);
      i = i + 1 < s->bufs ? i + 1 : 0;
      parity ^= i == 0;
    }
  }
  tasks[turn % SGEMM__TASKS].rows = 0;
  sgemm__mbarrier_wait(empty + i, parity);
  sgemm__mbarrier_arrive(full + i);
}

/* A warp of tma has 32 x 32 results, and its lane 4g + q those of group g, 16 x 8 in a warp tile of 2 x 4 groups, of k = q
   (mod 4): a slice. So a fragment of what lies along k needs no transposing: lane 4g + q gets element q of a quad of k, which
   is what sgemm__load_dealt() deals. In these loads lane 8i + g tells where row i of a piece of group g is; the columns of
   groups 2 and 3 come in the order i ^ 2, so that those of all groups lie in different banks. What lies along e is loaded as
   elsewhere, each lane from the row of its own k. Pieces of 4 lie so far apart that lanes meet no bank twice there either:
   see the swizzle at sgemm__copy_box(). Lanes come to it with those rows and columns first whose sums they will keep: see
   sgemm__sum_lanes(). */
SGEMM__DEVICE sgemm__place sgemm__place_of_group(const sgemm__shape *s, int group) {
  const int warp = sgemm__thread() / 32 % (s->BM / s->WM * (s->BN / s->WN)), group_n = group % 4;
  sgemm__place place;
  place.row = warp / (s->BN / s->WN) * s->WM + group / 4 * (s->a_along_k ? 4 : 16);
  place.down = s->a_along_k ? 8 : 4;
  place.col = warp % (s->BN / s->WN) * s->WN + (s->b_along_k ? group_n * 4 : group_n % 2 * 16 + group_n / 2 * 8);
  place.across = s->b_along_k ? 16 : 4;
  place.turn = (s->b_along_k ? group_n & 2 : 0) ^ 1; /* see sgemm__multiply_fragments() */
  return place;
}

/* Bytes from a tile's start to what the lane loads of an operand's first quad of k: `first` is the warp tile's first row. */
SGEMM__DEVICE int sgemm__dealt_at(const sgemm__shape *s, int of_b, int first) {
  const int lane = sgemm__thread() % 32, i = lane / 8, group = lane % 8, own = lane / 4, k = lane % 4;
  const int row = of_b ? group % 4 * 4 + (i ^ (group & 2)) : group / 4 * 4 + i;
  const int quad = of_b ? own % 2 * 4 + own % 4 / 2 * 2 + k / 2
                        : own / 4 * 4 + k % 2 * 2; /* of 8 side by side along e */
  return (of_b ? s->b_along_k : s->a_along_k) ? (first + row) * 128 + row % 8 * 16
                                              : first * s->BK * 4 + k * 128 + (quad ^ k) * 16;
}

/* The same of all quads of a box of 32 k: at[q]; or, along e, of piece i of quads 0, 2, 4, 6 and 1, 3, 5, 7: at[i] and
   at[T / 4 + i]. Held, they cost 4 to 8 registers an operand and no instruction in the loop: a load adds the buffer's address
   to them, and a constant. */
SGEMM__DEVICE void sgemm__lanes_at(const sgemm__shape *s, int of_b, int first, int T, sgemm__address *at) {
  const int along_k = of_b ? s->b_along_k : s->a_along_k, pieces = along_k ? 1 : T / 4;
  int q, i;
  SGEMM__UNROLL
  for (q = 0; q < (along_k ? SGEMM__BOX / 4 : 2); q++) {
    SGEMM__UNROLL
    for (i = 0; i < pieces; i++)
      at[q * pieces + i] = sgemm__held_address((sgemm__address)(first ^ (along_k ? q : q * 4 ^ i) * 16));
  }
}

/* Fragment <- a tile in a buffer of tma, from a box of 32 k on: T elements of the lane's k of its quad q. */
SGEMM__DEVICE void sgemm__load_lanes(float *fragment, sgemm__address tile, const sgemm__address *at, int T, int along_k,
                                     int q) {
  int i;
  if (along_k) { /* pieces of 8 rows, or of 16 */
    sgemm__load_dealt(fragment, tile + at[q], T / 4, 128 / T * 128);
  } else { /* quads of e side by side */
    SGEMM__UNROLL
    for (i = 0; i < T / 4; i++)
      sgemm__load_shared4_at(fragment + i * 4, tile + at[q % 2 * (T / 4) + i] + (sgemm__address)(q * 4 * 128));
  }
}

/* Lanes that differ by `mask` have parts of the same results. Each keeps half of them and adds the other's part: of 2 * apart
   side by side the first ones if the bit of its number is 0; or, if it has loaded those that it keeps first, the first ones
   anyway, which saves the selections. */
SGEMM__DEVICE void sgemm__sum_two_lanes(float *acc, int count, int apart, int mask, int sorted) {
  const int behind = !sorted && (sgemm__thread() & mask) != 0;
  float other[4];
  int i, v;
  SGEMM__UNROLL
  for (i = 0; i < count / 2; i += 4) {
    const int at = i / apart * 2 * apart + i % apart;
    SGEMM__UNROLL
    for (v = 0; v < 4; v++) {
      other[v] = behind ? acc[at + v] : acc[at + apart + v];
      acc[i + v] = behind ? acc[at + apart + v] : acc[at + v];
    }
    sgemm__swap_lanes4(other, mask);
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      acc[i + v] += other[v];
  }
}

/* The four lanes of a group, each with its own k, have parts of the same 16 x 8 results. Lane q gets the sums of four columns,
   lanes 2 and 3 of the latter, and of eight rows, odd lanes of the latter; row by row, and the columns in order. So of k the
   parts 0 and 2 are added, 1 and 3, and these two, whatever lies along k. */
SGEMM__DEVICE void sgemm__sum_lanes(const sgemm__shape *s, float *acc) {
  const sgemm__place place = sgemm__place_of_group(s, sgemm__thread() % 32 / 4);
  const int half = s->TM * s->TN / 2;
  float r[4];
  int i, v;
  sgemm__sum_two_lanes(acc, 2 * half, s->TN / 2, 2, !s->b_along_k);
  sgemm__sum_two_lanes(acc, half, half / 2, 1, !s->a_along_k);
  SGEMM__UNROLL
  for (i = 0; i < half / 2; i += 4) {
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      r[v] = place.turn & 2 ? acc[i + (v ^ 3)] : acc[i + (v ^ 1)];
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      acc[i + v] = r[v];
  }
}

/* Where in a tile the first of a lane's sums is: see sgemm__sum_lanes(). */
SGEMM__DEVICE sgemm__place sgemm__place_of_sums(const sgemm__shape *s) {
  const int q = sgemm__thread() % 4;
  sgemm__place place = sgemm__place_of_group(s, sgemm__thread() % 32 / 4);
  place.row += q % 2 * 2 * place.down;
  place.col += q / 2 * place.across;
  return place;
}

/* Lanes that differ by the bit `mask`, which is set in the `upper` one, exchange elements of two rows of 4: of each pair of
   elements `apart` apart the upper one keeps the second, and gets the other's second for its first. */
SGEMM__DEVICE void sgemm__exchange(float *x, int apart, int upper, int mask) {
  float r[4];
  int v;
  SGEMM__UNROLL
  for (v = 0; v < 4; v++) {
    const int at = v / 2 * 4 + (apart == 1 ? v % 2 * 2 : v % 2); /* the pair's first element */
    r[v] = upper ? x[at] : x[at + apart];
  }
  sgemm__swap_lanes4(r, mask);
  SGEMM__UNROLL
  for (v = 0; v < 4; v++) {
    const int at = v / 2 * 4 + (apart == 1 ? v % 2 * 2 : v % 2);
    x[at] = upper ? r[v] : x[at];
    x[at + apart] = upper ? x[at + apart] : r[v];
  }
}

/* C <- alpha * sums + beta * C: of a lane's rows, which come in pieces of 4, `down` apart, an even number from `first` on,
   four columns each. With beta 0, the usual case, in as little code as there can be: what runs once costs more to bring than
   to run. Where C's rows do not start on 16 bytes, a store of one element a lane would write 4 bytes to each of 32 sectors;
   so four lanes whose columns lie side by side deal them out, two rows at a time: lane l of them gets column l of all four
   quads, and what they store lies side by side. With A along e, and in rows of 4 warps, that spoils the main loop. */
SGEMM__DEVICE void sgemm__store_rows(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile, int first,
                                     int count, float *acc) {
  const sgemm__place place = sgemm__place_of_sums(s);
  const int deals = s->a_along_k && SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, s->slices) == 256;
  const int aligned = (uintptr_t)tile->C % 16 == 0 && p->ldc % 4 == 0;
  int i, v;
  if (p->beta != 0.0f) {
    const sgemm__args sums = sgemm__as_they_are(p);
    sgemm__add_result(p, p->alpha, 4, tile, &place, 1, first, count, acc);
    SGEMM__UNROLL
    for (i = 0; i < count; i++)
      sgemm__store_at(&sums, 4, tile, place.row + (first + i) / 4 * place.down + (first + i) % 4, place.col,
                      acc + i * 4);
  } else {
    int col = place.col, apart = 1, vectors; /* of the lane's first column; from one to the next */
    float *C;
    SGEMM__UNROLL
    for (i = 0; i < count * 4; i++)
      acc[i] *= p->alpha;
    if (deals && !aligned) {
      const int beside = s->b_along_k ? 4 : 2, behind = 8; /* bits: lanes of the next quad, and of the next but one */
      const int odd = (sgemm__thread() & beside) != 0, high = (sgemm__thread() & behind) != 0;
      SGEMM__UNROLL
      for (i = 0; i < count; i += 2) {
        sgemm__exchange(acc + i * 4, 1, odd, beside);
        sgemm__exchange(acc + i * 4, 2, high, behind);
      }
      col -= 3 * (odd + 2 * high);
      apart = 4;
    }
    vectors = aligned && col + 4 <= tile->cols;
    C = tile->C + place.row * p->ldc + col;
    SGEMM__UNROLL
    for (i = 0; i < count; i++) {
      const int down = (first + i) / 4 * place.down + (first + i) % 4, inside = place.row + down < tile->rows;
      float *to = C + down * p->ldc;
      if (inside && vectors)
        sgemm__store_global4(to, acc + i * 4);
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        if (inside && !vectors && col + v * apart < tile->cols)
          sgemm__store_global(to + v * apart, acc[i * 4 + v]);
    }
    sgemm__converge();
  }
}

/* C <- alpha * (the sums over lanes) + beta * C. */
SGEMM__DEVICE void sgemm__store_lanes(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile, int plain,
                                      float *acc) {
  const sgemm__place place = sgemm__place_of_sums(s);
  int i, v;
  sgemm__sum_lanes(s, acc);
  if (plain) {
    float *C = tile->C + place.row * p->ldc + place.col;
    SGEMM__UNROLL
    for (i = 0; i < s->TM / 2; i++) {
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        acc[i * 4 + v] *= p->alpha;
      sgemm__store_global4(C + (i / 4 * place.down + i % 4) * p->ldc, acc + i * 4);
    }
  } else {
    sgemm__store_rows(p, s, tile, 0, s->TM / 2, acc);
  }
}

/* The same where warps share k, each tile's warps another part of it: s->slices / 4 of them, each of which stores its sums to
   shared memory and adds up some rows of all. */
SGEMM__DEVICE void sgemm__store_parts(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                      float *shared, float *acc) {
  const int lane = sgemm__thread() % 32, warps = s->BM / s->WM * (s->BN / s->WN), parts = s->slices / 4;
  const int warp = sgemm__thread() / 32 % warps, own = sgemm__thread() / 32 / warps, rows = s->TM / 2;
  float *area = shared + warp * parts * rows * 128 + lane * 4;
  float r[4];
  int i, part, v;
  sgemm__sum_lanes(s, acc);
  sgemm__barrier_of(parts * warps * 32); /* all warps have read the buffer */
  SGEMM__UNROLL
  for (i = 0; i < rows; i++)
    sgemm__store_shared4(area + (own * rows + i) * 128, acc + i * 4);
  sgemm__barrier_of(parts * warps * 32);
  area += own * (rows / parts) * 128;
  SGEMM__UNROLL
  for (i = 0; i < rows / parts; i++) {
    sgemm__load_shared4(acc + i * 4, area + i * 128);
    SGEMM__UNROLL
    for (part = 1; part < parts; part++) {
      sgemm__load_shared4(r, area + (part * rows + i) * 128);
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        acc[i * 4 + v] += r[v];
    }
  }
  sgemm__store_rows(p, s, tile, own * (rows / parts), rows / parts, acc);
}

/* tma: a warpgroup of which one thread copies and two that multiply, or one, where two blocks share an SM. They meet at two
   mbarriers a buffer: `full`, which the copies' bytes complete, and `empty`, at which each multiplying warp arrives when it
   has read the buffer for the last time. So no warp waits for another but by way of the copies, and there is nothing in the
   loop but loads of fragments and FMAs. The fragments of 4 k load while those before multiply, as in sgemm__pipelined(),
   across buffers too, and across tiles: a block does tile after tile, and behind the last one comes an empty task.
   What the main loop needs is reckoned behind setmaxnreg: held across it, it would be spilled. How the loop is arranged was
   measured, not derived (docs/performance.md, "Blocks that stay" to "The slots of the loop"): its body is 32 k, as longer code
   does not come in time; buffers change among the FMAs of the last quad; which fragments load first, and behind how many
   FMAs, was tried. And ptxas keeps registers that are stored four by four side by side, as fragments are. Its arrangement of
   the accumulators meets fewer banks so, 1 to 2 %, though the store that stands behind the loop for that is never reached. */
SGEMM__DEVICE void sgemm__fed(const sgemm__args *p, const sgemm__shape *s, const sgemm__map *map_a,
                              const sgemm__map *map_b, float *shared, sgemm__mbarrier *full, sgemm__task *tasks,
                              float *acc, float *a, float *b) {
  /* Indices. */
  const int threads = SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, s->slices); /* that multiply */
  const int b_at = s->BK * s->BM, buffer = b_at + s->BK * s->BN;             /* floats of a buffer, B's behind A's */
  sgemm__mbarrier *empty = full + s->bufs;
  int i = 0, q, parity = 0, steps;
  uint32_t turn;
  if (sgemm__thread() == 0) {
    SGEMM__UNROLL
    for (i = 0; i < s->bufs; i++) {
      sgemm__mbarrier_init(full + i, 1);
      sgemm__mbarrier_init(empty + i, threads / 32 * SGEMM__ARRIVALS);
    }
    i = 0;
  }
  sgemm__mbarriers_ready();
  sgemm__barrier();
  sgemm__begin();
  if (!sgemm__runs(p))
    return;
  if (sgemm__thread() >= threads) {
    sgemm__registers_to_copy();
    if (sgemm__thread() / 32 == threads / 32 && sgemm__elected())
      sgemm__feed_tiles(p, s, map_a, map_b, shared, full, empty, tasks);
  } else {
    const int b_first = threads == 256 && s->b_along_k; /* B's fragments load before A's */
    const int firsts = s->b_along_k ? 0 : s->TM / 2;    /* rows that multiply before the next load */
    const int depth = s->BK / (s->slices / 4), passes = depth / SGEMM__BOX; /* k of a step, for a warp; of the loop */
    const int quads = SGEMM__BOX / 4; /* of k in a pass, which are bytes of A and of B: */
    const int quads_a = quads * 128 * (s->a_along_k ? s->BM / 8 : 4),
              quads_b = quads * 128 * (s->b_along_k ? s->BN / 8 : 4);
    int warp, part, a_at, fragment_b_at;
    sgemm__address from_a, from_b, lanes_a[8], lanes_b[8];
    sgemm__registers_to_multiply(threads);
    full = sgemm__held(full);
    empty = full + s->bufs;
    warp = sgemm__thread() / 32 % (s->BM / s->WM * (s->BN / s->WN));
    part = sgemm__thread() / 32 / (s->BM / s->WM * (s->BN / s->WN));
    a_at = sgemm__dealt_at(s, 0, warp / (s->BN / s->WN) * s->WM) +
           part * depth * (s->a_along_k ? s->BM / SGEMM__BOX : 1) * 128;
    fragment_b_at = 4 * b_at + sgemm__dealt_at(s, 1, warp % (s->BN / s->WN) * s->WN) +
                    part * depth * (s->b_along_k ? s->BN / SGEMM__BOX : 1) * 128;
    sgemm__lanes_at(s, 0, a_at, s->TM, lanes_a);
    sgemm__lanes_at(s, 1, fragment_b_at, s->TN, lanes_b);
    from_a = from_b = sgemm__address_of(shared);
    sgemm__mbarrier_wait(full, 0);
    if (sgemm__load_anyway(1) || (p->k > 0 && tasks->rows > 0)) {
      sgemm__load_lanes(a, from_a, lanes_a, s->TM, s->a_along_k, 0);
      sgemm__load_lanes(b, from_b, lanes_b, s->TN, s->b_along_k, 0);
    }
    for (turn = 0; tasks[turn % SGEMM__TASKS].rows > 0; turn++) {
      const sgemm__task *task = tasks + turn % SGEMM__TASKS, *after = tasks + (turn + 1) % SGEMM__TASKS;
      sgemm__tile tile;
      sgemm__args out;
      int last;
      /* Accumulators. */
      SGEMM__UNROLL
      for (q = 0; q < s->TM * s->TN; q++)
        acc[q] = 0.0f;
      /* Main loop. */
      const int odd = sgemm__halves(s) ? task->steps % 2 : 0; /* 1: the last buffer has one step of the loop, not two */
      for (steps = task->steps; steps > 0; steps--) {
        const int ends = sgemm__halves(s) ? steps == 1 || steps % 2 != odd
                                          : passes == 1 || steps % passes == 1; /* a buffer */
        SGEMM__UNROLL
        for (q = 0; q < quads; q++) {
          const int now = q % 2, next = (q + 1) % quads;
          sgemm__multiply_fragments(acc, a + now * s->TM, 1, b + now * s->TN, 1, firsts, s->TN, 1);
          if (next == 0 && ends) {
            sgemm__reads_before_copies();
            sgemm__mbarrier_arrive_warp(empty + i, s->slices == 4 || steps > 1); /* or the sums go through it */
            i = i + 1 < s->bufs ? i + 1 : 0;
            parity ^= i == 0;
            from_a = sgemm__address_of(shared + i * buffer);
            from_b = from_a;
            if (sgemm__halves(s) && steps == 2) {
              from_a += quads_a;
              from_b += quads_b;
            }
            sgemm__mbarrier_wait(full + i, parity);
          } else if (next == 0) {
            from_a += quads_a;
            from_b += quads_b;
          }
          if (sgemm__load_anyway(1) || next > 0 || steps > 1 || after->rows > 0) {
            if (b_first)
              sgemm__load_lanes(b + (1 - now) * s->TN, from_b, lanes_b, s->TN, s->b_along_k, next);
            sgemm__load_lanes(a + (1 - now) * s->TM, from_a, lanes_a, s->TM, s->a_along_k, next);
            if (!b_first)
              sgemm__load_lanes(b + (1 - now) * s->TN, from_b, lanes_b, s->TN, s->b_along_k, next);
          }
          sgemm__multiply_fragments(acc + firsts * s->TN, a + now * s->TM + firsts, 1, b + now * s->TN, 1,
                                    s->TM - firsts, s->TN, 1);
        }
      }
      if (p->k == 0) {
        sgemm__mbarrier_arrive_warp(empty + i, s->slices == 4);
        i = i + 1 < s->bufs ? i + 1 : 0;
        parity ^= i == 0;
        sgemm__mbarrier_wait(full + i, parity);
      }
      if (p->k < 0) { /* never reached: see above */
        SGEMM__UNROLL
        for (q = 0; q < s->TM * s->TN; q += 4)
          sgemm__store_shared4(shared + q * 128 + sgemm__thread() * 4, acc + q);
      }
      /* Epilogue. */
      out = *p;
      tile.A = tile.B = NULL;
      tile.C = p->C + task->at;
      tile.rows = task->rows;
      tile.cols = task->cols;
      if (task->partial) {
        tile.C = p->partials + task->at;
        out.ldc = s->BN;
        out.alpha = 1.0f;
        out.beta = 0.0f;
      }
      if (s->slices > 4) {
        last = i > 0 ? i - 1 : s->bufs - 1;
        sgemm__store_parts(&out, s, &tile, shared + last * buffer, acc);
        sgemm__reads_before_copies();
        sgemm__mbarrier_arrive_warp(empty + last, 1);
      } else {
        sgemm__store_lanes(&out, s, &tile, task->plain, acc);
      }
    }
  }
}
#endif

/* ---- Stamping: one kernel a row and op pair ---------------------------------------------------------------------- */

/* Rules of a row; each refuses to compile with its sentence and the row's name. */
#define SGEMM__RULE(condition, sentence, name) SGEMM__ASSERT(condition, SGEMM__STRING(name) ": " sentence)
#define SGEMM__CHECK(name, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks)                                        \
  SGEMM__RULE((BM) % (WM) == 0 && (BN) % (WN) == 0, "BM and BN must be multiples of WM and WN", name)                  \
  SGEMM__RULE((WM) % (TM) == 0 && (WN) % (TN) == 0, "WM and WN must be multiples of TM and TN", name)                  \
  SGEMM__RULE((V) == 1 || (V) == 4, "V must be 1 or 4", name)                                                          \
  SGEMM__RULE(((TM) % (V) == 0 || (BM) == 1) && ((TN) % (V) == 0 || (BN) == 1), "TM and TN must be multiples of V",    \
              name)                                                                                                    \
  SGEMM__RULE((slices) >= 1 && SGEMM__THREADS(BM, BN, TM, TN, slices) % 32 == 0 &&                                     \
                  SGEMM__WHOLE(SGEMM__THREADS(BM, BN, TM, TN, 1), 32),                                                 \
              "a slice must be whole warps of 32 threads, or a warp whole slices", name)                               \
  SGEMM__RULE(SGEMM__THREADS(BM, BN, TM, TN, slices) <= 1024, "a block has at most 1024 threads", name)                \
  SGEMM__RULE((blocks) >= 1 && SGEMM__THREADS(BM, BN, TM, TN, slices) * (blocks) <= 2048,                              \
              "a multiprocessor holds at most 2048 threads", name)
#define SGEMM__CHECK_direct(stage, name, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices)                                  \
  SGEMM__RULE((TM) == 1 && (TN) == 1 && (BK) == 1 && (V) == 1 && (bufs) == 0 && (slices) == 1,                         \
              "a direct stage computes one result a thread", name)
#define SGEMM__CHECK_TILED(name, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices)                                          \
  SGEMM__RULE((WM) == (BM) ? (WN) == (BN) || (WM) / (TM) * ((WN) / (TN)) == 32 : (WM) / (TM) * ((WN) / (TN)) == 32,    \
              "a warp tile must hold 32 thread tiles, or be the block's", name)                                        \
  SGEMM__RULE((V) == 4 ? (BK) % 8 == 0 : 32 % (BK) == 0, "BK must be a multiple of 8 (V = 4) or divide 32 (V = 1)",    \
              name)
#define SGEMM__CHECK_STATIC(body_bufs, name, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices)                              \
  SGEMM__CHECK_TILED(name, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices)                                                \
  SGEMM__RULE((bufs) == (body_bufs) && (slices) == 1,                                                                  \
              "a stage before async has the buffers of its body and one slice", name)                                  \
  SGEMM__RULE(SGEMM__EVEN(BM, BK, V, SGEMM__THREADS(BM, BN, TM, TN, 1)) &&                                             \
                  SGEMM__EVEN(BN, BK, V, SGEMM__THREADS(BM, BN, TM, TN, 1)),                                           \
              "the threads must share each tile's loads evenly", name)                                                 \
  SGEMM__RULE((bufs) * (BK) * ((BM) + (BN) + 8) * 4 <= 48 * 1024, "static shared memory is at most 48 KiB", name)
#define SGEMM__CHECK_blocked(stage, ...) SGEMM__CHECK_STATIC(1, __VA_ARGS__)
#define SGEMM__CHECK_doublebuffered(stage, ...) SGEMM__CHECK_STATIC(2, __VA_ARGS__)
#define SGEMM__CHECK_pipelined(stage, name, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices)                               \
  SGEMM__CHECK_TILED(name, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices)                                                \
  SGEMM__RULE((V) == 4 && (bufs) >= 3 && (bufs) <= 4, "a pipeline has V = 4 and 3 or 4 buffers", name)                 \
  SGEMM__RULE((BK) % ((slices)*8) == 0 && (SGEMM__SPLIT_##stage || (slices) == 1),                                     \
              "slices share BK by multiples of 8, and only splitk has more than one", name)                            \
  SGEMM__RULE(SGEMM__SHARE(BM, BK, SGEMM__THREADS(BM, BN, TM, TN, slices)) &&                                          \
                  SGEMM__SHARE(BN, BK, SGEMM__THREADS(BM, BN, TM, TN, slices)),                                        \
              "the threads must share each tile's copies evenly, or one access of all must cover it", name)            \
  SGEMM__RULE(SGEMM__SHARED_BYTES(0, SGEMM__SPLIT_##stage, BM, BN, BK, bufs, slices) <= 227 * 1024,                    \
              "shared memory of a block is at most 227 KiB", name)
#define SGEMM__CHECK_streamed(stage, name, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices)                                \
  SGEMM__RULE((BM) + (BN) == 1 + SGEMM__STRIP && ((BM) == 1 || (BN) == 1) && (BM) == (WM) && (BN) == (WN),             \
              "gemv has one row of 32 columns, or one column of 32 rows", name)                                        \
  SGEMM__RULE((TM) == ((BM) == 1 ? 1 : 4) && (TN) == ((BN) == 1 ? 1 : 4) && (V) == 4,                                  \
              "a thread of gemv computes four of them, V = 4", name)                                                   \
  SGEMM__RULE((bufs) == 0 && (slices) % 32 == 0 && (BK) == 4 * (slices),                                               \
              "gemv has no tiles, slices in whole warps, and a quad of BK for each", name)
#define SGEMM__CHECK_fed(stage, name, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices)                                     \
  SGEMM__RULE((WM) == 32 && (WN) == 32 && (TM) == 16 && (TN) == 8 && (slices) % 4 == 0,                                \
              "a warp of tma has 32 x 32 results, 16 x 8 a lane, and slices in fours", name)                           \
  SGEMM__RULE((V) == 4 && (bufs) >= 3 && (bufs) <= 4, "tma has V = 4 and 3 or 4 buffers", name)                        \
  SGEMM__RULE((BK) % (SGEMM__BOX * ((slices) / 4)) == 0, "warps that share BK have whole boxes of it", name)           \
  SGEMM__RULE(8 % ((slices) / 4) == 0 &&                                                                               \
                  (BM) * (BN) / 2 * ((slices) > 4 ? (slices) * (slices) / 16 : 2) <= (BK) * ((BM) + (BN)),             \
              "the sums of a turn go through one buffer", name)                                                        \
  SGEMM__RULE(SGEMM__THREADS(BM, BN, TM, TN, slices) == 256 || SGEMM__THREADS(BM, BN, TM, TN, slices) == 128,          \
              "registers are dealt to two warpgroups that multiply, or to one", name)                                  \
  SGEMM__RULE(SGEMM__SHARED_BYTES(1, 0, BM, BN, BK, bufs, slices) + 1024 <= 227 * 1024,                                \
              "shared memory of a block is at most 227 KiB", name)
/* The threads load whole rows of a tile of E x BK at a time, along e or along k. */
#define SGEMM__WHOLE(part, whole) ((part) > 0 && ((whole) % (part) == 0 || (part) % (whole) == 0))
#define SGEMM__EVEN(E, BK, V, threads)                                                                                 \
  ((E) * (BK) % ((threads) * (V)) == 0 && SGEMM__WHOLE((threads) * (V), E) &&                                          \
   SGEMM__WHOLE((threads) * (V) / SGEMM__WIDE(BK, V), E))
/* The same for copies: 1 element in groups of 8 along k, or 4 along e. */
#define SGEMM__SHARE(E, BK, threads)                                                                                   \
  (SGEMM__WHOLE(threads, (E) * (BK)) && SGEMM__WHOLE((threads) / 8, E) && SGEMM__WHOLE((threads)*4, (E) * (BK)) &&     \
   SGEMM__WHOLE((threads)*4, E))

#define SGEMM__SHAPE(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, trans_a, trans_b)                             \
  { BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, SGEMM__SPLIT_##stage, SGEMM__PACKS_##stage, !(trans_a), trans_b }

#define SGEMM__KERNEL_direct(stage, name, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks, trans_a, trans_b)       \
  SGEMM__GLOBAL(name, SGEMM__THREADS(BM, BN, TM, TN, 1), blocks)(const sgemm__args args) {                             \
    const sgemm__shape shape = SGEMM__SHAPE(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, trans_a, trans_b);     \
    sgemm__begin();                                                                                                    \
    if (sgemm__runs(&args))                                                                                            \
      sgemm__direct(&args, &shape, SGEMM__DOWN_##stage);                                                               \
  }
#define SGEMM__DOWN_naive 1
#define SGEMM__DOWN_coalesced 0

#define SGEMM__KERNEL_tiles(body, stage, name, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks, trans_a, trans_b)  \
  SGEMM__GLOBAL(name, SGEMM__THREADS(BM, BN, TM, TN, 1), blocks)(const sgemm__args args) {                             \
    const sgemm__shape shape = SGEMM__SHAPE(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, trans_a, trans_b);     \
    SGEMM__SHARED(As, (bufs) * (BK)*SGEMM__PITCH(BM, BK, V, !(trans_a)));                                              \
    SGEMM__SHARED(Bs, (bufs) * (BK)*SGEMM__PITCH(BN, BK, V, trans_b));                                                 \
    float acc[(TM) * (TN)], a[(bufs) * (TM)], b[(bufs) * (TN)];                                                        \
    float ra[SGEMM__SLOTS(BM, BK, SGEMM__THREADS(BM, BN, TM, TN, 1))];                                                 \
    float rb[SGEMM__SLOTS(BN, BK, SGEMM__THREADS(BM, BN, TM, TN, 1))];                                                 \
    sgemm__begin();                                                                                                    \
    if (sgemm__runs(&args))                                                                                            \
      sgemm__##body(&args, &shape, As, Bs, acc, a, b, ra, rb);                                                         \
  }
#define SGEMM__KERNEL_blocked(...) SGEMM__KERNEL_tiles(blocked, __VA_ARGS__)
#define SGEMM__KERNEL_doublebuffered(...) SGEMM__KERNEL_tiles(doublebuffered, __VA_ARGS__)

#define SGEMM__KERNEL_pipelined(stage, name, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks, trans_a, trans_b)    \
  SGEMM__GLOBAL(name, SGEMM__THREADS(BM, BN, TM, TN, slices), blocks)(const sgemm__args args) {                        \
    const sgemm__shape shape = SGEMM__SHAPE(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, trans_a, trans_b);     \
    SGEMM__SHARED_DYNAMIC(tiles);                                                                                      \
    float acc[SGEMM__CHAINS(slices) * (TM) * (TN)], a[SGEMM__STEPS(TM)], b[SGEMM__STEPS(TN)];                          \
    sgemm__pipelined(&args, &shape, tiles, acc, a, b);                                                                 \
  }

#define SGEMM__KERNEL_streamed(stage, name, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks, trans_a, trans_b)     \
  SGEMM__GLOBAL(name, SGEMM__THREADS(BM, BN, TM, TN, slices), blocks)(const sgemm__args args) {                        \
    const sgemm__shape shape = SGEMM__SHAPE(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, trans_a, trans_b);     \
    SGEMM__SHARED(sums, SGEMM__STRIP *SGEMM__THREADS(BM, BN, TM, TN, slices) / 32);                                    \
    float acc[4], w[4 * SGEMM__QUADS_AHEAD];                                                                           \
    sgemm__streamed(&args, &shape, sums, acc, w);                                                                      \
  }

#if SGEMM__HAS_wgmma
#define SGEMM__FED(bufs, TM, TN)                                                                                       \
  {                                                                                                                    \
    SGEMM__SHARED_DYNAMIC(tiles);                                                                                      \
    SGEMM__SHARED_MBARRIERS(barriers, 2 * (bufs));                                                                     \
    SGEMM__SHARED_TASKS(tasks, SGEMM__TASKS);                                                                          \
    SGEMM__MAPS_OF(args, shape, map_a, map_b)                                                                          \
    float acc[(TM) * (TN)], a[2 * (TM)], b[2 * (TN)];                                                                  \
    sgemm__fed(&args, &shape, &map_a, &map_b, tiles, barriers, tasks, acc, a, b);                                      \
  }
#else
#define SGEMM__FED(bufs, TM, TN) (void)shape, (void)args; /* sgemm_machine.wgmma says so */
#endif
#define SGEMM__KERNEL_fed(stage, name, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks, trans_a, trans_b)          \
  SGEMM__GLOBAL(name, SGEMM__BLOCK_THREADS(1, BM, BN, TM, TN, slices), blocks)                                         \
  (const sgemm__args args SGEMM__MAPS(map_a, map_b)) {                                                                 \
    const sgemm__shape shape = SGEMM__SHAPE(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, trans_a, trans_b);     \
    SGEMM__FED(bufs, TM, TN)                                                                                           \
  }

/* The operands of tma: see sgemm__pack(). */
SGEMM__GLOBAL(sgemm_pack, SGEMM__PACK_THREADS, 4)(const sgemm__args args) {
  SGEMM__SHARED(transposed, SGEMM__PACK_ROWS * SGEMM__PACK_K);
  sgemm__successor_may_come();
  sgemm__pack(&args, transposed);
}

/* The tiles of tma that SMs share: see sgemm__sum_shares(). */
SGEMM__GLOBAL(sgemm_sum_shares, SGEMM__PACK_THREADS, 4)(const sgemm__args args) {
  SGEMM__SHARED(sums, 4 * SGEMM__PACK_THREADS);
  sgemm__sum_shares(&args, SGEMM__PACK_THREADS, sums);
}

/* The planes of any row's C: see sgemm__sum_planes(). */
SGEMM__GLOBAL(sgemm_sum_planes, SGEMM__SUM_THREADS, 8)(const sgemm__args args) {
  sgemm__sum_planes(&args, SGEMM__SUM_THREADS);
}

#define SGEMM__ROW_NAME(stage, BM, BN, BK, TM, TN, ops) SGEMM__CAT(SGEMM__NAME(stage, BM, BN, BK, TM, TN), ops)
// clang-format off
#define SGEMM__FOUR(kernel, stage, BM, BN, BK, TM, TN, ...)                                                            \
  kernel(stage, SGEMM__ROW_NAME(stage, BM, BN, BK, TM, TN, _nn), BM, BN, BK, TM, TN, __VA_ARGS__, 0, 0)                \
  kernel(stage, SGEMM__ROW_NAME(stage, BM, BN, BK, TM, TN, _nt), BM, BN, BK, TM, TN, __VA_ARGS__, 0, 1)                \
  kernel(stage, SGEMM__ROW_NAME(stage, BM, BN, BK, TM, TN, _tn), BM, BN, BK, TM, TN, __VA_ARGS__, 1, 0)                \
  kernel(stage, SGEMM__ROW_NAME(stage, BM, BN, BK, TM, TN, _tt), BM, BN, BK, TM, TN, __VA_ARGS__, 1, 1)

/* A row's kernels, and their addresses in that order. */
#define SGEMM__KERNELS_direct(...) SGEMM__FOUR(SGEMM__KERNEL_direct, __VA_ARGS__)
#define SGEMM__KERNELS_blocked(...) SGEMM__FOUR(SGEMM__KERNEL_blocked, __VA_ARGS__)
#define SGEMM__KERNELS_doublebuffered(...) SGEMM__FOUR(SGEMM__KERNEL_doublebuffered, __VA_ARGS__)
#define SGEMM__KERNELS_pipelined(...) SGEMM__FOUR(SGEMM__KERNEL_pipelined, __VA_ARGS__)
#define SGEMM__KERNELS_streamed(...) SGEMM__FOUR(SGEMM__KERNEL_streamed, __VA_ARGS__)
#define SGEMM__KERNELS_fed(...) SGEMM__FOUR(SGEMM__KERNEL_fed, __VA_ARGS__)
#define SGEMM__ADDRESS(stage, name, ...) SGEMM__KERNEL_POINTER(name),
#define SGEMM__ADDRESSES_direct(...) SGEMM__FOUR(SGEMM__ADDRESS, __VA_ARGS__)
#define SGEMM__ADDRESSES_blocked(...) SGEMM__FOUR(SGEMM__ADDRESS, __VA_ARGS__)
#define SGEMM__ADDRESSES_doublebuffered(...) SGEMM__FOUR(SGEMM__ADDRESS, __VA_ARGS__)
#define SGEMM__ADDRESSES_pipelined(...) SGEMM__FOUR(SGEMM__ADDRESS, __VA_ARGS__)
#define SGEMM__ADDRESSES_streamed(...) SGEMM__FOUR(SGEMM__ADDRESS, __VA_ARGS__)
#define SGEMM__ADDRESSES_fed(...) SGEMM__FOUR(SGEMM__ADDRESS, __VA_ARGS__)

#define SGEMM__STAMP(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks, production, reason)                   \
  SGEMM__CHECK(SGEMM__NAME(stage, BM, BN, BK, TM, TN), BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks)            \
  SGEMM__CAT(SGEMM__CHECK_, SGEMM__BODY_##stage)                                                                       \
  (stage, SGEMM__NAME(stage, BM, BN, BK, TM, TN), BM, BN, BK, TM, TN, WM, WN, V, bufs, slices)                         \
  SGEMM__IF(SGEMM__ENABLED(stage, production))(                                                                        \
    SGEMM__CAT(SGEMM__KERNELS_, SGEMM__BODY_##stage)(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks))
// clang-format on

SGEMM_VARIANTS(SGEMM__STAMP)

#include "sgemm_tensor.cuh"

/* ---- Launch ------------------------------------------------------------------------------------------------------ */

/* A row's kernels in the order nn, nt, tn, tt; a row that SGEMM_STAGE leaves out holds only the closing 0. */
#define SGEMM__X(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks, production, reason)                       \
  {SGEMM__IF(SGEMM__ENABLED(stage, production))(SGEMM__CAT(SGEMM__ADDRESSES_, SGEMM__BODY_##stage)(                    \
      stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks)) 0},
static const sgemm__kernel sgemm__kernels[SGEMM_VARIANT_COUNT][5] = {SGEMM_VARIANTS(SGEMM__X)};
#undef SGEMM__X

/* The others in the order of their numbers. The tensor modes are compiled where the production rows are, which they fall
   back on. */
#define SGEMM__X(format, parts, idea) SGEMM__KERNEL_POINTER(sgemm_split_##format),
#define SGEMM__Y(engine, format, BM, BN, WN, chunks, sums, bufs, reason)                                               \
  SGEMM__KERNEL_POINTER(SGEMM__TENSOR_NAME(engine, format, BM, BN)),
static const sgemm__kernel sgemm__further[] = {
    SGEMM__KERNEL_POINTER(sgemm_sum_planes), SGEMM__KERNEL_POINTER(sgemm_pack), SGEMM__KERNEL_POINTER(sgemm_sum_shares),
    SGEMM__IF(SGEMM__WITH_TENSOR)(SGEMM_FORMATS(SGEMM__X) SGEMM_TENSORS(SGEMM__Y))};
#undef SGEMM__X
#undef SGEMM__Y

static sgemm__kernel sgemm__kernel_of(int number, int ops) {
  return number < SGEMM_VARIANT_COUNT ? sgemm__kernels[number][ops] : sgemm__further[number - SGEMM_VARIANT_COUNT];
}

int sgemm_tensor_compiled(void) { return SGEMM__WITH_TENSOR; }

int sgemm_compiled(sgemm_variant variant) {
  return (int)variant >= 0 && variant < SGEMM_VARIANT_COUNT && sgemm__kernels[variant][0] != 0;
}

#if defined(__CUDACC__)

static sgemm_status sgemm__status_of(cudaError_t error) {
  return error == cudaSuccess ? SGEMM_SUCCESS : (sgemm_status)(SGEMM_ERROR_CUDA + (int)error);
}

/* fp32 FMA lanes of an SM (CUDA C++ Programming Guide, "Arithmetic Instructions"). */
static int sgemm__lanes(int major, int minor) {
  return (major == 6 && minor == 0) || major == 7 || (major == 8 && minor == 0) ? 64 : 128;
}

/* What is remembered of each device of the process, so that a call asks the runtime for its device only. Any number of
   host threads may meet here: the first to claim a device's entry fills it, and who comes meanwhile reads for itself. */
enum { SGEMM__DEVICES = 64 }; /* remembered; any further one is asked each time */
enum { SGEMM__UNKNOWN, SGEMM__CLAIMED, SGEMM__KNOWN };
static struct {
  int state;
  sgemm_machine machine;
  unsigned char ready[SGEMM__KERNEL_COUNT]; /* bit ops: the kernel's shared memory is allowed */
} sgemm__devices[SGEMM__DEVICES];

static cudaError_t sgemm__read_machine(int device, sgemm_machine *out) {
  struct cudaFuncAttributes attributes;
  int major, minor, clock_khz, memory_khz, bus_bits;
  cudaError_t error = cudaDeviceGetAttribute(&out->multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&out->shared_per_block, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&out->l2_bytes, cudaDevAttrL2CacheSize, device);
  if (error == cudaSuccess)
    error = cudaFuncGetAttributes(&attributes, (const void *)sgemm_sum_planes);
  if (error != cudaSuccess)
    return error;
  out->arch = attributes.ptxVersion; /* of the code in use, which may be older than the device */
  out->wgmma = 0;
  if (sgemm_compiled(SGEMM_tma_64x128x64_16x8)) {
    error = cudaFuncGetAttributes(&attributes, sgemm__kernel_of(SGEMM_tma_64x128x64_16x8, 0));
    if (error != cudaSuccess)
      return error;
    out->wgmma = attributes.sharedSizeBytes > 0; /* code that is not of sm_90a leaves the body out, mbarriers and all */
  }
  out->lanes = sgemm__lanes(major, minor);
  out->clock_mhz = clock_khz / 1000;
  out->bandwidth_gbs = 2e-6 * memory_khz * bus_bits / 8;
  return cudaSuccess;
}

/* The current device and its figures. */
static cudaError_t sgemm__machine_of(int *device, sgemm_machine *out) {
  int unknown = SGEMM__UNKNOWN;
  cudaError_t error = cudaGetDevice(device);
  if (error != cudaSuccess)
    return error;
  if (*device >= SGEMM__DEVICES)
    return sgemm__read_machine(*device, out);
  if (__atomic_load_n(&sgemm__devices[*device].state, __ATOMIC_ACQUIRE) == SGEMM__KNOWN) {
    *out = sgemm__devices[*device].machine;
    return cudaSuccess;
  }
  error = sgemm__read_machine(*device, out);
  if (error == cudaSuccess && __atomic_compare_exchange_n(&sgemm__devices[*device].state, &unknown, SGEMM__CLAIMED, 0,
                                                          __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
    sgemm__devices[*device].machine = *out;
    __atomic_store_n(&sgemm__devices[*device].state, SGEMM__KNOWN, __ATOMIC_RELEASE);
  }
  return error;
}

sgemm_status sgemm_machine_query(sgemm_machine *out) {
  int device;
  return sgemm__status_of(sgemm__machine_of(&device, out));
}

/* Above 48 KiB a kernel must be told once a device how much shared memory it may take. */
static cudaError_t sgemm__allow_shared(int device, int number, int ops, unsigned bytes) {
  unsigned char *ready = device < SGEMM__DEVICES ? &sgemm__devices[device].ready[number] : NULL;
  cudaError_t error;
  if (bytes <= 48 * 1024 || (ready != NULL && (__atomic_load_n(ready, __ATOMIC_RELAXED) >> ops & 1)))
    return cudaSuccess;
  error = cudaFuncSetAttribute(sgemm__kernel_of(number, ops), cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  if (error == cudaSuccess && ready != NULL)
    __atomic_fetch_or(ready, (unsigned char)(1 << ops), __ATOMIC_RELAXED);
  return error;
}

/* The tiles of the rows that tensor maps feed; of the others 0. */
typedef struct sgemm__boxes {
  int BM, BN, BK;
} sgemm__boxes;
#define SGEMM__X(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks, production, reason)                       \
  {SGEMM__PACKS_##stage * (BM), SGEMM__PACKS_##stage * (BN), SGEMM__PACKS_##stage * (BK)},
static const sgemm__boxes sgemm__boxes_of[SGEMM_VARIANT_COUNT] = {SGEMM_VARIANTS(SGEMM__X)};
#undef SGEMM__X

/* A tensor map of an operand. Its encoder is the driver's, which the runtime finds. */
static sgemm_status sgemm__encode(const sgemm__view *v, sgemm__map *map) {
  typedef CUresult encoder(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                           const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                           CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  static encoder *known = NULL;
  const cuuint64_t sizes[3] = {(cuuint64_t)v->wide, (cuuint64_t)v->high, (cuuint64_t)v->matrices};
  const cuuint64_t strides[2] = {4 * (cuuint64_t)v->ld, 4 * (cuuint64_t)v->stride};
  const cuuint32_t box[3] = {SGEMM__BOX, (cuuint32_t)v->rows, 1}, one[3] = {1, 1, 1};
  encoder *encode = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (encode == NULL) {
    cudaDriverEntryPointQueryResult found;
    void *entry = NULL;
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000,
                                                               cudaEnableDefault, &found);
    if (error != cudaSuccess)
      return sgemm__status_of(error);
    if (found != cudaDriverEntryPointSuccess || entry == NULL)
      return sgemm__status_of(cudaErrorNotSupported);
    encode = (encoder *)entry;
    __atomic_store_n(&known, encode, __ATOMIC_RELAXED);
  }
  return encode(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 3, (void *)v->first, sizes, strides, box, one,
                CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS
             ? SGEMM_SUCCESS
             : sgemm__status_of(cudaErrorInvalidValue);
}

sgemm_status sgemm__launch(int number, int ops, sgemm__grid grid, const sgemm__args *args, sgemm_stream stream) {
  const sgemm__boxes none = {0, 0, 0}, box = number < SGEMM_VARIANT_COUNT ? sgemm__boxes_of[number] : none;
  sgemm__map maps[2];
  void *arguments[3] = {(void *)args, &maps[0], &maps[1]}; /* of which a kernel takes what it has parameters for */
  cudaLaunchAttribute attributes[2];
  cudaLaunchConfig_t config;
  sgemm_machine machine;
  int device;
  cudaError_t error = sgemm__machine_of(&device, &machine);
  if (error == cudaSuccess)
    error = sgemm__allow_shared(device, number, ops, grid.shared);
  if (error != cudaSuccess)
    return sgemm__status_of(error);
  if (box.BK > 0 && args->k > 0) {
    const sgemm__view a = sgemm__view_of(args, 0, box.BM, box.BK), b = sgemm__view_of(args, 1, box.BN, box.BK);
    sgemm_status status = sgemm__encode(&a, &maps[0]);
    if (status == SGEMM_SUCCESS)
      status = sgemm__encode(&b, &maps[1]);
    if (status != SGEMM_SUCCESS)
      return status;
  }
  config.gridDim = dim3(grid.x, grid.y, grid.z);
  config.blockDim = dim3(grid.threads);
  config.dynamicSmemBytes = grid.shared;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = 0;
  if (machine.arch >= 90) { /* its kernels wait in sgemm__begin() for what comes before */
    attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (grid.ranks > 1) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs].val.clusterDim.x = grid.ranks;
    attributes[config.numAttrs].val.clusterDim.y = 1;
    attributes[config.numAttrs++].val.clusterDim.z = 1;
  }
  return sgemm__status_of(cudaLaunchKernelExC(&config, sgemm__kernel_of(number, ops), arguments));
}

sgemm_status sgemm__copy_word(uint32_t *to, const uint32_t *from, sgemm_stream stream) {
  return sgemm__status_of(cudaMemcpyAsync(to, from, sizeof *to, cudaMemcpyDefault, stream));
}

sgemm_status sgemm_device_query(int device, sgemm_device *out) {
  struct cudaDeviceProp prop;
  int clock_khz, memory_khz, bus_bits;
  cudaError_t error = device < 0 ? cudaGetDevice(&device) : cudaSuccess;
  if (error == cudaSuccess)
    error = cudaGetDeviceProperties(&prop, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&bus_bits, cudaDevAttrGlobalMemoryBusWidth, device);
  if (error != cudaSuccess)
    return sgemm__status_of(error);
  snprintf(out->name, sizeof out->name, "%.63s", prop.name);
  out->major = prop.major;
  out->minor = prop.minor;
  out->multiprocessors = prop.multiProcessorCount;
  out->lanes = sgemm__lanes(prop.major, prop.minor);
  out->clock_mhz = clock_khz / 1000;
  out->l2_bytes = prop.l2CacheSize;
  out->threads_per_sm = prop.maxThreadsPerMultiProcessor;
  out->blocks_per_sm = prop.maxBlocksPerMultiProcessor;
  out->registers_per_sm = prop.regsPerMultiprocessor;
  out->shared_per_sm = (int64_t)prop.sharedMemPerMultiprocessor;
  out->shared_reserved = (int64_t)prop.reservedSharedMemPerBlock;
  out->peak_gflops = 2.0 * out->lanes * out->multiprocessors * clock_khz * 1e-6;
  out->bandwidth_gbs = 2.0 * memory_khz * bus_bits / 8 * 1e-6;
  return SGEMM_SUCCESS;
}

sgemm_status sgemm_kernel_resources(sgemm_variant variant, sgemm_op op_a, sgemm_op op_b, int *registers,
                                    int64_t *shared_bytes, int64_t *local_bytes) {
#define SGEMM__X(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks, production, reason)                       \
  SGEMM__SHARED_BYTES(SGEMM__PACKS_##stage, SGEMM__SPLIT_##stage, BM, BN, BK, bufs, slices),
  static const int dynamic[SGEMM_VARIANT_COUNT] = {SGEMM_VARIANTS(SGEMM__X)};
#undef SGEMM__X
  struct cudaFuncAttributes attributes;
  cudaError_t error;
  if (!sgemm_compiled(variant))
    return SGEMM_ERROR_NOT_COMPILED;
  error = cudaFuncGetAttributes(&attributes, sgemm__kernels[variant][2 * (op_a != SGEMM_N) + (op_b != SGEMM_N)]);
  if (error != cudaSuccess)
    return sgemm__status_of(error);
  *registers = attributes.numRegs;
  *shared_bytes = (int64_t)attributes.sharedSizeBytes + dynamic[variant];
  *local_bytes = (int64_t)attributes.localSizeBytes;
  return SGEMM_SUCCESS;
}

#else /* the CPU model */

sgemm_status sgemm__launch(int number, int ops, sgemm__grid grid, const sgemm__args *args, sgemm_stream stream) {
  (void)stream; /* the model runs a launch to its end */
  return sgemm__cpu_launch(sgemm__kernel_of(number, ops), grid, args);
}

sgemm_status sgemm__copy_word(uint32_t *to, const uint32_t *from, sgemm_stream stream) {
  (void)stream;
  *to = *from;
  return SGEMM_SUCCESS;
}

sgemm_status sgemm_machine_query(sgemm_machine *out) {
  /* One SM, on which clusters run, with nominal figures. */
  const sgemm_machine model = {1, 90, 128, 1000, 100.0, 227 * 1024, 1, 1 << 20};
  *out = model;
  return SGEMM_SUCCESS;
}

sgemm_status sgemm_device_query(int device, sgemm_device *out) {
  (void)device, (void)out;
  return SGEMM_ERROR_UNAVAILABLE;
}

sgemm_status sgemm_kernel_resources(sgemm_variant variant, sgemm_op op_a, sgemm_op op_b, int *registers,
                                    int64_t *shared_bytes, int64_t *local_bytes) {
  (void)variant, (void)op_a, (void)op_b, (void)registers, (void)shared_bytes, (void)local_bytes;
  return SGEMM_ERROR_UNAVAILABLE;
}

#endif

#endif /* SGEMM_IMPLEMENTATION */
#endif /* SGEMM_KERNELS_CUH */
