/* sgemm/variants.h: the tables of stages and variants, and the enums that they expand to. Included by sgemm.h.

   To add a variant, add it to SGEMM_VARIANTS and, until it is measured, to SGEMM_ESTIMATED. Enums, checks, kernels,
   selection, tests and tools expand these tables (docs/adding_a_variant.md). To add a stage, add it to SGEMM_STAGES,
   add its SGEMM__SAME line, and add a file to sgemm/stages (docs/adding_a_stage.md). */
#ifndef SGEMM_VARIANTS_H
#define SGEMM_VARIANTS_H

/* ---- Stages ------------------------------------------------------------------------------------------------------ */

/* Stages in reading order, one idea each. Columns:
     stage            [symbol] its kernels come from the file of sgemm/stages that defines SGEMM__KERNEL_<stage>
     cluster_split_k  1: the blocks of a thread block cluster may divide a tile's k (sm_90 and later)
     tma              1: TMA copies the operands by tensor maps (sm_90 and later)
     idea             ["sentence"]
    stage          cluster_split_k, tma, idea */
// clang-format off
#define SGEMM_STAGES(X)                                                                                                \
  X(naive,          0, 0, "one thread computes one result; a warp computes 32 rows of a column of C")                  \
  X(coalesced,      0, 0, "a warp computes 32 columns of a row of C: 5 sectors for each k instead of 33")              \
  X(tiled,          0, 0, "tiles of A and B in shared memory, two barriers a tile")                                    \
  X(tile1d,         0, 0, "a thread computes TM results of a column, so that an element of B is used in TM FMAs")      \
  X(tile2d,         0, 0, "a thread computes TM x TN results by outer products of fragments in registers")             \
  X(vectorized,     0, 0, "128-bit accesses; A is transposed as it is stored to shared memory")                        \
  X(warptiled,      0, 0, "warp tiles, a level between block and thread: each warp computes a compact tile")           \
  X(doublebuffered, 0, 0, "the next tile's loads overlap this tile's FMAs, one barrier a tile")                        \
  X(async,          0, 0, "cp.async copies bypass the registers, several tiles in flight")                             \
  X(splitk,         1, 0, "k is split among warp groups of a block and blocks of a cluster, summed in a fixed order")  \
  X(direct,         0, 0, "short k, or few rows and columns: from global memory to registers, without tiles")          \
  X(gemv,           1, 0, "C has one row or column: the matrix is loaded once, from global memory to registers")       \
  X(tma,            0, 1, "warp-specialized: a producer thread issues TMA copies, consumer warps multiply")            \
  X(clustered,      1, 1, "tma for few tiles and long k: the blocks of a cluster divide k and sum in shared memory")

/* SGEMM__SAME(a, b) is 1 if the names a and b are equal, else 0. It compares SGEMM_STAGE and SGEMM_PART with the
   stages. It pastes the two names: only SGEMM__SAME_<x>_<x> is a macro, and its comma makes 1 the second argument of
   SGEMM__SECOND. Each stage has a line, and so have `all` and the values of SGEMM_PART that are not stages. */
#define SGEMM__SAME_all_all ~, 1
#define SGEMM__SAME_host_host ~, 1
#define SGEMM__SAME_tensor_tensor ~, 1
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
#define SGEMM__SAME_direct_direct ~, 1
#define SGEMM__SAME_gemv_gemv ~, 1
#define SGEMM__SAME_tma_tma ~, 1
#define SGEMM__SAME_clustered_clustered ~, 1
#define SGEMM__SECOND(a, b, ...) b
#define SGEMM__IS(...) SGEMM__SECOND(__VA_ARGS__, 0, ~)
#define SGEMM__FUSED2(name) SGEMM__IS(SGEMM__FUSED_##name)
#define SGEMM__FUSED(name) SGEMM__FUSED2(name)
#define SGEMM__APART_0 0
#define SGEMM__APART_1 0
#define SGEMM__APART_2 0
#define SGEMM__APART_3 1
#define SGEMM__APART3(fused) SGEMM__APART_##fused
#define SGEMM__APART2(fused) SGEMM__APART3(fused)
#define SGEMM__APART(name) SGEMM__APART2(SGEMM__FUSED(name))
#define SGEMM__REDUCING2(name) SGEMM__IS(SGEMM__REDUCING_##name)
#define SGEMM__REDUCING(name) SGEMM__REDUCING2(name)
#define SGEMM__ELEMENTS2(name) SGEMM__IS(SGEMM__ELEMENTS_##name)
#define SGEMM__ELEMENTS(name) SGEMM__ELEMENTS2(name)
#define SGEMM__SERIAL2(name) SGEMM__IS(SGEMM__SERIAL_##name)
#define SGEMM__SERIAL(name) SGEMM__SERIAL2(name)
#define SGEMM__SMALL2(stage, extent, BK) SGEMM__IS(SGEMM__SMALL_##stage##_##extent##_##BK)
#define SGEMM__SMALL(stage, extent, BK) SGEMM__SMALL2(stage, extent, BK)
#define SGEMM__ANY_OP_00 0
#define SGEMM__ANY_OP_01 0
#define SGEMM__ANY_OP_02 1
#define SGEMM__ANY_OP_10 1
#define SGEMM__ANY_OP_11 1
#define SGEMM__ANY_OP_12 1
#define SGEMM__ANY_OP3(small, elements) SGEMM__ANY_OP_##small##elements
#define SGEMM__ANY_OP2(small, elements) SGEMM__ANY_OP3(small, elements)
#define SGEMM__ANY_OP(stage, extent, name, BK) SGEMM__ANY_OP2(SGEMM__SMALL(stage, extent, BK), SGEMM__ELEMENTS(name))
#define SGEMM__SAME3(a, b) SGEMM__IS(SGEMM__SAME_##a##_##b)
#define SGEMM__SAME(a, b) SGEMM__SAME3(a, b)

/* ---- Variants ---------------------------------------------------------------------------------------------------- */

/* The one list of variants. All columns but the first and the last are [integer constant]:
     stage    [symbol] of SGEMM_STAGES
     BM BN    tile of C that a block computes: powers of two, multiples of WM and WN
     BK       k of one step of the main loop, a power of two. naive, coalesced: 1. tiled to doublebuffered: a multiple
              of 8 (V = 4), or a divisor of 32 (V = 1). Pipelines and tma: a multiple of 8 * slice_k. direct: a multiple
              of V, and of slice_k. gemv: 4 * slice_k (V = 4), or a multiple of slice_k up to 16 * slice_k (V = 1)
     TM TN    results of a thread, multiples of V (gemv: of V or 1; direct: TN = V, or all of the tile)
     WM WN    tile that a warp computes, WM/TM * WN/TN = 32 (tma: 8); BM, BN where the stage has no warp level
     V        elements of one memory access: 1, or 4 (128 bits)
     bufs     tiles of each operand in shared memory at a time; 0 in stages without shared tiles, 3 or 4 in a pipeline
     slice_k  sliced-K groups of a block, which divide k; 1 in most stages. A group of direct is a lane, one of gemv
              BM/TM * BN/TN threads. tma counts lanes too: 4 lanes of a quad interleave k, so slice_k is 4 times the
              number of sliced-K warp groups
     blocks   resident blocks per SM for which ptxas budgets registers: 65,536 / (threads * blocks) per thread
     prod     1: compiled if SGEMM_STAGE is unset, and then a candidate of the selection; 0: neither. 75, 89: 1 for GPUs
              up to sm_75 or sm_89 alone, which have no cp.async, or no TMA
     reason   ["sentence"] why the variant is there
    stage            BM   BN  BK  TM  TN   WM   WN  V bufs slice_k blocks prod reason */
#define SGEMM_VARIANTS(X)                                                                                              \
  X(naive,            32,  32,  1,  1,  1,  32,  32, 1, 0, 1, 1, 0, "the first kernel of most tutorials")              \
  X(coalesced,        32,  32,  1,  1,  1,  32,  32, 1, 0, 1, 1, 0, "naive with the thread indices exchanged")         \
  X(tiled,            16,  16, 16,  1,  1,  16,  16, 1, 1, 1, 8, 0, "4 FLOP per byte of global loads")                 \
  X(tiled,            32,  32, 32,  1,  1,  32,  32, 1, 1, 1, 2, 0, "8 FLOP per byte of global loads, as in textbooks")\
  X(tile1d,           64,  64,  8,  8,  1,  64,  64, 1, 1, 1, 2, 0, "9k/8 shared loads a result instead of 2k")        \
  X(tile1d,           64,  64, 32,  8,  1,  64,  64, 1, 1, 1, 2, 0, "a quarter of the barriers of BK = 8")             \
  X(tile2d,          128, 128,  8,  8,  8, 128, 128, 1, 1, 1, 2, 0, "k/4 shared loads a result")                       \
  X(vectorized,      128, 128,  8,  8,  8, 128, 128, 4, 1, 1, 2, 0, "128-bit loads: a quarter of the instructions")    \
  X(warptiled,       128, 128, 16,  8, 16,  64,  64, 4, 1, 1, 2, 0, "3k/16 shared loads a result")                     \
  X(warptiled,       128, 128,  8,  8,  8,  32,  64, 4, 1, 1, 2, 0, "8 warps a block, not 4, to hide latency")         \
  X(doublebuffered,  128, 256,  8, 16,  8,  64,  64, 4, 2, 1, 1,75, "large results: fewest loads a result")            \
  X(doublebuffered,  128, 128,  8,  8,  8,  32,  64, 4, 2, 1, 2, 0, "results of a few tiles of 128 x 128")             \
  X(doublebuffered,  128,  64, 16,  8,  8,  64,  32, 4, 2, 1, 3,75, "about one tile an SM at 1024 x 1024")             \
  X(doublebuffered,   64,  64, 16,  8,  4,  32,  32, 4, 2, 1, 6,75, "the shortest k: six blocks an SM")                \
  X(doublebuffered,   32,  64, 16,  4,  4,  16,  32, 4, 2, 1, 4, 0, "about one tile an SM at 512 x 512")               \
  X(doublebuffered,   32,  32, 16,  4,  4,  16,  32, 4, 2, 1, 8, 0, "the smallest results")                            \
  X(async,           128, 256, 16, 16,  8,  64,  64, 4, 3, 1, 1, 0, "large results: fewest loads a result")            \
  X(async,           128, 256,  8, 16,  8,  64,  64, 4, 3, 1, 1,89, "large results, B K-major")                        \
  X(async,           256, 128,  8, 16,  8,  64,  64, 4, 3, 1, 1,89, "tall results")                                    \
  X(async,            64, 128, 16,  8,  8,  32,  64, 4, 3, 1, 3,89, "middle sizes, edges; three blocks an SM")         \
  X(async,           128,  64, 16,  8,  8,  64,  32, 4, 3, 1, 3,89, "narrow results")                                  \
  X(async,            64,  64, 16,  8,  4,  32,  32, 4, 3, 1, 4,89, "short k: four blocks an SM")                      \
  X(async,            64,  64,  8,  8,  8,  32,  64, 4, 3, 1, 8, 1, "short k: eight blocks of two warps an SM")        \
  X(async,            32, 128, 32,  8,  4,  32,  32, 4, 3, 1, 3,89, "up to 32 rows")                                   \
  X(async,           128,  32, 32,  4,  8,  32,  32, 4, 3, 1, 3,89, "up to 32 columns")                                \
  X(async,            64, 128,  8,  8,  8,  32,  64, 4, 4, 1, 4, 1, "any alignment: copies among the FMAs")            \
  X(async,            64,  64,  8,  8,  4,  32,  32, 4, 4, 1, 4,89, "middle sizes, any alignment")                     \
  X(async,           128,  32,  8,  8,  4,  32,  32, 4, 3, 1, 4, 1, "up to 32 columns, any alignment")                 \
  X(async,            32,  32,  8,  4,  4,  16,  32, 4, 4, 1, 8, 1, "small results, any alignment")                    \
  X(async,            32,  32,  8,  8,  4,  32,  32, 4, 3, 1,16,89, "batches of small matrices: one warp a block")     \
  X(async,            64, 128,  8, 16,  4,  16, 128, 1, 3, 1, 4, 1, "short k, unaligned C: a warp stores rows of 128") \
  X(splitk,           64, 128, 16,  8,  8,  32,  64, 4, 3, 2, 1,89, "about one tile an SM at 1024 x 1024")             \
  X(splitk,           64,  64, 32,  8,  4,  32,  32, 4, 3, 2, 2,89, "about two tiles an SM at 1024 x 1024")            \
  X(splitk,           32,  64, 32,  8,  4,  32,  32, 4, 3, 4, 2,89, "about one tile an SM at 512 x 512")               \
  X(splitk,           32,  32, 64,  4,  4,  16,  32, 4, 3, 4, 2,89, "the smallest results")                            \
  X(splitk,           64, 128,  8,  8,  8,  32,  64, 4, 4, 1, 4, 1, "long k, larger results, any alignment")           \
  X(splitk,           64,  64, 16,  8,  4,  32,  32, 4, 4, 1, 4, 1, "long k, any alignment: copies among FMAs")        \
  X(splitk,           32,  64, 16,  8,  4,  32,  32, 4, 4, 2, 4, 1, "long k, smaller results, any alignment")          \
  X(splitk,           32,  32, 32,  4,  4,  16,  32, 4, 4, 4, 2, 1, "long k, the smallest results, any alignment")     \
  X(splitk,           16, 128, 32, 16,  4,  16, 128, 4, 4, 4, 2, 1, "up to 16 rows: B is read once")                   \
  X(splitk,            8, 128, 32,  8,  4,   8, 128, 4, 4, 4, 3, 1, "up to 8 rows")                                    \
  X(splitk,            4, 128, 32,  4,  4,   4, 128, 4, 4, 4, 3, 1, "up to 4 rows")                                    \
  X(splitk,          128,  16, 32,  4, 16, 128,  16, 4, 4, 4, 2, 1, "up to 16 columns: A is read once")                \
  X(splitk,          128,   8, 32,  4,  8, 128,   8, 4, 4, 4, 3, 1, "up to 8 columns")                                 \
  X(splitk,          128,   4, 32,  4,  4, 128,   4, 4, 4, 4, 3, 1, "up to 4 columns")                                 \
  X(splitk,           16,  32,128,  4,  4,  16,  32, 4, 4, 8, 1, 1, "up to 16 rows, few columns: k in one block")      \
  X(splitk,            8,  32,128,  4,  4,   8,  32, 4, 4,16, 1, 1, "up to 8 rows, few columns: k in one block")       \
  X(splitk,            4,  32,128,  4,  4,   4,  32, 4, 4,16, 2, 1, "up to 4 rows, few columns: k in one block")       \
  X(splitk,           32,  16,128,  4,  4,  32,  16, 4, 4, 8, 1, 1, "up to 16 columns, few rows: k in one block")      \
  X(splitk,           32,   8,128,  4,  4,  32,   8, 4, 4,16, 1, 1, "up to 8 columns, few rows: k in one block")       \
  X(splitk,           32,   4,128,  4,  4,  32,   4, 4, 4,16, 2, 1, "up to 4 columns, few rows: k in one block")       \
  X(direct,            4,  32,  8,  1,  1,   4,  32, 1, 0, 1, 8, 1, "short k, small results")                          \
  X(direct,           16,  32,  4,  4,  1,  16,  32, 1, 0, 1, 8, 1, "short k, larger results: fewer loads of B")       \
  X(direct,           16, 128,  4,  4,  4,  16, 128, 4, 0, 1, 5, 1, "short k, wide results: four columns a thread")    \
  X(direct,            4,   8, 64,  4,  8,   4,   8, 1, 0, 32, 16, 1, "few rows and columns: a warp's lanes divide k") \
  X(direct,            8,   4, 64,  8,  4,   8,   4, 1, 0, 32, 16, 1, "few rows, fewer columns")                       \
  X(direct,            4,   8,256,  4,  8,   4,   8, 1, 0, 128, 4, 1, "longer k: the lanes of four warps divide it")   \
  X(direct,            8,   4,256,  8,  4,   8,   4, 1, 0, 128, 4, 1, "longer k, fewer columns")                       \
  X(gemv,              1,  32,256,  1,  4,   1,  32, 4, 0, 64, 1, 1, "one row, aligned: 128-bit loads")                \
  X(gemv,              1,   2,512,  1,  1,   1,   2, 1, 0, 64, 8, 1, "one row of few columns")                         \
  X(gemv,              1,   4,1024, 1,  1,   1,   4, 1, 0, 64, 4, 1, "one row of few columns, long k")                 \
  X(gemv,              1,  32, 64,  1,  1,   1,  32, 1, 0, 8, 4, 1, "one row, any alignment")                          \
  X(gemv,              1,  32,128,  1,  1,   1,  32, 1, 0, 16, 2, 1, "one row, any alignment, longer k")               \
  X(gemv,              1, 128,  8,  1,  1,   1, 128, 1, 0, 1, 8, 1, "one row, short k")                                \
  X(gemv,             32,   1,256,  4,  1,  32,   1, 4, 0, 64, 1, 1, "one column, aligned: 128-bit loads")             \
  X(gemv,              2,   1,512,  1,  1,   2,   1, 1, 0, 64, 8, 1, "one column of few rows")                         \
  X(gemv,              4,   1,1024, 1,  1,   4,   1, 1, 0, 64, 4, 1, "one column of few rows, long k")                 \
  X(gemv,             32,   1, 64,  1,  1,  32,   1, 1, 0, 8, 4, 1, "one column, any alignment")                       \
  X(gemv,             32,   1,128,  1,  1,  32,   1, 1, 0, 16, 2, 1, "one column, any alignment, longer k")            \
  X(gemv,            128,   1,  8,  1,  1, 128,   1, 1, 0, 1, 8, 1, "one column, short k")                             \
  X(tma,              64, 128, 64, 16,  8,  32,  32, 4, 4, 4, 1, 0, "large results: one producer thread copies")       \
  X(tma,             128,  64, 64, 16,  8,  32,  32, 4, 4, 4, 1, 0, "large tall results")                              \
  X(tma,              64,  64, 32, 16,  8,  32,  32, 4, 4, 4, 2, 1, "two blocks an SM: epilogues overlap FMAs")        \
  X(tma,              32,  32,128, 16,  8,  32,  32, 4, 3,16, 2, 1, "small results: the warps of a block divide k")    \
  X(tma,              32, 256, 64, 16,  8,  32,  32, 4, 3, 4, 1, 1, "up to 32 rows")                                   \
  X(tma,             256,  32, 64, 16,  8,  32,  32, 4, 3, 4, 1, 1, "up to 32 columns")                                \
  X(clustered,        64,  64, 32, 16,  8,  32,  32, 4, 4, 4, 2, 1, "few tiles, long k, no workspace")                 \
  X(clustered,        32,  32,128, 16,  8,  32,  32, 4, 3,16, 2, 1, "fewest tiles, long k, no workspace")

/* SGEMM__FUSED_<variant> marks the variants whose kernels apply the epilogue of a call to the results in registers.
     1  every row of the table, in every call: in place and without workspace too
     2  a few rows, in the calls that sgemm__in_registers() describes: SGEMM__IN_REGISTERS_<epilogue>
     3  the same, in a kernel of their own, <variant>_fused, which reads the ops at run time: in the kernels of plain
        calls this code makes calls of 3 us 3 % slower (docs/notebook/epilogues.md, "Kernels of their own for short
        calls")
   With the other variants and rows a second kernel applies the epilogue to D, or the kernel that sums partial results
   does: a large tile whose threads evaluate any expression at its end loses more time than that
   (docs/notebook/epilogues.md). */
#define SGEMM__FUSED_sgemm_async_64x128x8_8x8 ~, 3
#define SGEMM__FUSED_sgemm_async_32x32x8_4x4 ~, 3
#define SGEMM__FUSED_sgemm_direct_4x32x8_1x1 ~, 3
#define SGEMM__FUSED_sgemm_direct_4x8x64_4x8 ~, 3
#define SGEMM__FUSED_sgemm_direct_8x4x64_8x4 ~, 3
#define SGEMM__FUSED_sgemm_direct_4x8x256_4x8 ~, 3
#define SGEMM__FUSED_sgemm_direct_8x4x256_8x4 ~, 3
#define SGEMM__FUSED_sgemm_splitk_32x32x32_4x4 ~, 1
#define SGEMM__FUSED_sgemm_splitk_16x128x32_16x4 ~, 2
#define SGEMM__FUSED_sgemm_splitk_8x128x32_8x4 ~, 2
#define SGEMM__FUSED_sgemm_splitk_4x128x32_4x4 ~, 2
#define SGEMM__FUSED_sgemm_splitk_16x32x128_4x4 ~, 2
#define SGEMM__FUSED_sgemm_splitk_8x32x128_4x4 ~, 2
#define SGEMM__FUSED_sgemm_splitk_4x32x128_4x4 ~, 2
#define SGEMM__FUSED_sgemm_splitk_32x16x128_4x4 ~, 2
#define SGEMM__FUSED_sgemm_splitk_32x8x128_4x4 ~, 2
#define SGEMM__FUSED_sgemm_splitk_32x4x128_4x4 ~, 2
#define SGEMM__FUSED_sgemm_gemv_1x32x256_1x4 ~, 2
#define SGEMM__FUSED_sgemm_gemv_32x1x256_4x1 ~, 2
#define SGEMM__FUSED_sgemm_tma_64x64x32_16x8 ~, 2
#define SGEMM__FUSED_sgemm_tma_32x32x128_16x8 ~, 2

/* SGEMM__REDUCING_<variant> marks the variant of tma, and the tensor-core variants, with a further kernel,
   <variant>_reduced; that of tma is for op NT. It reduces the rows of its tiles and stores a partial value for each
   instead of the results: see sgemm_run_reduction(). */
#define SGEMM__REDUCING_sgemm_tma_64x64x32_16x8 ~, 1
#define SGEMM__REDUCING_sgemm_wgmma_fp16x3_128x256 ~, 1
#define SGEMM__REDUCING_sgemm_wgmma_bf16x6_128x256 ~, 1

/* SGEMM__ELEMENTS_<variant> marks the variants of async and splitk that copy single elements, whatever the alignment,
   without branches, and those of direct whose lanes divide k. In async and splitk the copies are issued among the FMAs
   of a tile. The other variants of these two branch to copies of 16 bytes, of 16 bytes at an edge, or of single
   elements, which precede the FMAs (docs/stages/async.md, "Single elements").
     1  a kernel for each pair of ops
     2  one kernel, which reads the ops at run time: 0 to 2 % slower, and 3.5 % in 32x32x8_4x4, which has 1 therefore
        (docs/notebook/compile_time.md, "One kernel for all ops") */
#define SGEMM__ELEMENTS_sgemm_async_64x128x8_8x8 ~, 2
#define SGEMM__ELEMENTS_sgemm_async_64x64x8_8x4 ~, 2
#define SGEMM__ELEMENTS_sgemm_async_64x128x8_16x4 ~, 2
#define SGEMM__ELEMENTS_sgemm_async_128x32x8_8x4 ~, 2
#define SGEMM__ELEMENTS_sgemm_async_32x32x8_4x4 ~, 1
#define SGEMM__ELEMENTS_sgemm_splitk_64x128x8_8x8 ~, 2
#define SGEMM__ELEMENTS_sgemm_splitk_64x64x16_8x4 ~, 2
#define SGEMM__ELEMENTS_sgemm_splitk_32x64x16_8x4 ~, 2
#define SGEMM__ELEMENTS_sgemm_splitk_32x32x32_4x4 ~, 2
#define SGEMM__ELEMENTS_sgemm_direct_4x8x64_4x8 ~, 2
#define SGEMM__ELEMENTS_sgemm_direct_8x4x64_8x4 ~, 2
#define SGEMM__ELEMENTS_sgemm_direct_4x8x256_4x8 ~, 2
#define SGEMM__ELEMENTS_sgemm_direct_8x4x256_8x4 ~, 2

/* SGEMM__SERIAL_<variant> marks the variants of splitk and clustered whose plans may have serial split-K: serial_k > 1.
   Their kernels have a PDL trigger and a second PDL wait. The trigger costs calls of 2 to 5 us 1 to 2 %, also if it is
   not executed, so the variants for short calls are not marked (docs/notebook/selection.md, "Serial split-K"). */
#define SGEMM__SERIAL_sgemm_splitk_64x128x8_8x8 ~, 1
#define SGEMM__SERIAL_sgemm_splitk_64x64x16_8x4 ~, 1
#define SGEMM__SERIAL_sgemm_splitk_32x64x16_8x4 ~, 1
#define SGEMM__SERIAL_sgemm_splitk_32x32x32_4x4 ~, 1
#define SGEMM__SERIAL_sgemm_splitk_16x128x32_16x4 ~, 1
#define SGEMM__SERIAL_sgemm_splitk_128x16x32_4x16 ~, 1
#define SGEMM__SERIAL_sgemm_clustered_64x64x32_16x8 ~, 1
#define SGEMM__SERIAL_sgemm_clustered_32x32x128_16x8 ~, 1

/* SGEMM__SMALL_<stage>_<BM or BN>_<BK> marks tiles of few rows or few columns. The operand with as many rows or columns
   is a small part of the loads. A kernel of such a variant reads its op at run time, so that there are two kernels,
   <variant>_n and <variant>_t for the op of the other operand, in place of four. With BK = 128 this would cost 5
   to 20 % (docs/notebook/compile_time.md, "Small operands"). A variant with such a tile can also be marked
   SGEMM__SERIAL or SGEMM__FUSED, but not SGEMM__ELEMENTS.
     SGEMM__ANY_OP(stage, extent, variant, BK) is 1 if the kernels read the op of an operand at run time. */
#define SGEMM__SMALL_splitk_4_32 ~, 1
#define SGEMM__SMALL_splitk_8_32 ~, 1
#define SGEMM__SMALL_splitk_16_32 ~, 1
#define SGEMM__SMALL_gemv_1_256 ~, 1
#define SGEMM__SMALL_gemv_1_512 ~, 1
#define SGEMM__SMALL_gemv_1_1024 ~, 1
#define SGEMM__SMALL_gemv_1_64 ~, 1
#define SGEMM__SMALL_gemv_1_128 ~, 1
#define SGEMM__SMALL_gemv_1_8 ~, 1

/* Variants that have not been measured yet: X(variant, like). The selection uses the calibration constants of the
   variant `like` for them (sgemm/select/calibration_h200.h). Names are <stage>_<BM>x<BN>x<BK>_<TM>x<TN>. */
#define SGEMM_ESTIMATED(X)

/* ---- Tensor-core variants ---------------------------------------------------------------------------------------- */

/* Formats of the tensor modes: X([symbol] format, terms, "idea"). An fp32 element is split into `terms` 16-bit terms
   (hi, mid, lo). The number at the end of a format's name counts the products of terms for a product of two elements.
   Tensor cores multiply terms exactly and add in fp32. */
#define SGEMM_FORMATS(X)                                                                                               \
  X(fp16x3, 2, "hi + lo in fp16: hi hi + hi lo + lo hi")                                                               \
  X(bf16x6, 3, "hi + mid + lo in bf16: the six products that weigh 2^-16 of hi hi or more")

/* The one list of tensor-core variants. Columns:
     engine    [symbol] wgmma: asynchronous, operands in shared memory, sm_90a only; mma: one warp, from sm_80 on
     format    [symbol] of SGEMM_FORMATS
     BM BN     tile of C that a block computes
     WN        columns of the tile that a warpgroup (wgmma) multiplies at a time, or that a warp (mma) computes
     k_blocks  promotion interval in k-blocks of 32 k, after which the tensor cores' sums are added to fp32 registers
     sets      accumulator sets for the hi hi products of an interval: 1, 2 or 4. The fewer k one set sums, the less
               tensor cores truncate
     bufs      k-blocks of each operand in shared memory at a time
     reason    ["sentence"] why the variant is there
    engine  format   BM   BN   WN k_blocks sets bufs reason */
#define SGEMM_TENSOR_VARIANTS(X)                                                                                       \
  X(wgmma, fp16x3,  128, 256, 128, 2, 1, 4, "large results")                                                           \
  X(wgmma, fp16x3,  128, 128, 128, 2, 2, 6, "middle sizes, k below 256")                                               \
  X(wgmma, fp16x3,  128,  64,  64, 2, 4, 8, "about one tile an SM at 1024 x 1024, and split-K")                        \
  X(wgmma, bf16x6,  128, 256, 128, 1, 1, 3, "large results")                                                           \
  X(wgmma, bf16x6,  128, 128, 128, 2, 2, 4, "middle sizes")                                                            \
  X(wgmma, bf16x6,  128,  64,  64, 2, 2, 6, "about one tile an SM at 1024 x 1024")                                     \
  X(mma,   fp16x3,  128, 128,  32, 1, 1, 2, "GPUs without wgmma: 99 KiB of shared memory at most")                     \
  X(mma,   bf16x6,  128, 128,  32, 1, 1, 2, "GPUs without wgmma: 99 KiB of shared memory at most")
// clang-format on

/* ---- Enums ------------------------------------------------------------------------------------------------------- */

/* SGEMM_STAGE_tiled and so on, in the order of the table. SGEMM_STAGE_ANY stands for all stages. */
typedef enum sgemm_stage {
#define SGEMM__X(stage, cluster_split_k, tma, idea) SGEMM_STAGE_##stage,
  SGEMM_STAGES(SGEMM__X)
#undef SGEMM__X
      SGEMM_STAGE_COUNT,
  SGEMM_STAGE_ANY = SGEMM_STAGE_COUNT
} sgemm_stage;

/* SGEMM_tiled_32x32x32_1x1 and so on: one name a variant. SGEMM_VARIANT_NONE: no variant. */
typedef enum sgemm_variant {
#define SGEMM__X(stage, BM, BN, BK, TM, TN, ...) SGEMM_##stage##_##BM##x##BN##x##BK##_##TM##x##TN,
  SGEMM_VARIANTS(SGEMM__X)
#undef SGEMM__X
      SGEMM_VARIANT_COUNT,
  SGEMM_VARIANT_NONE = SGEMM_VARIANT_COUNT
} sgemm_variant;

/* SGEMM_FORMAT_fp16x3 and so on. */
typedef enum sgemm_format {
#define SGEMM__X(format, terms, idea) SGEMM_FORMAT_##format,
  SGEMM_FORMATS(SGEMM__X)
#undef SGEMM__X
      SGEMM_FORMAT_COUNT
} sgemm_format;

/* SGEMM_wgmma_fp16x3_128x256 and so on: one name a tensor-core variant. SGEMM_TENSOR_VARIANT_NONE: strict fp32. */
typedef enum sgemm_tensor_variant {
#define SGEMM__X(engine, format, BM, BN, ...) SGEMM_##engine##_##format##_##BM##x##BN,
  SGEMM_TENSOR_VARIANTS(SGEMM__X)
#undef SGEMM__X
      SGEMM_TENSOR_VARIANT_COUNT,
  SGEMM_TENSOR_VARIANT_NONE = SGEMM_TENSOR_VARIANT_COUNT
} sgemm_tensor_variant;

#endif /* SGEMM_VARIANTS_H */
