/* sgemm_kernels.cuh: the generator. Its macros define the kernels of each variant of the tables in sgemm/variants.h,
   from bodies that are ordinary functions, and list the kernels in one table. sgemm.h includes it if
   SGEMM_IMPLEMENTATION is defined.

   NAMES     sgemm_<stage>_<BM>x<BN>x<BK>_<TM>x<TN>_<ops>. <ops>: nn, nt, tn, tt for op(A) and op(B). A kernel that
             reads the op of one operand at run time has n or t, for the other operand. A kernel that reads both has no
             suffix. The ops of a tma kernel are those after packing: a packed operand is K-major.
   READING   sgemm/device: primitives -> tile, load, multiply, reduce, epilogue. sgemm/stages: one file for each stage
             or family of stages. The sections of a body come in one order: indices, tile pointers, accumulators, main
             loop, epilogue.
   LEGEND    mn: index along m (in A's tile) or n (in B's); k: along the dot product. K-major: contiguous along k in
             memory; MN-major: contiguous along m or n. Load: global memory to registers; store: registers to shared
             or global memory; copy: global to shared memory past the registers. Lane: thread of a warp. */
#ifndef SGEMM_KERNELS_CUH
#define SGEMM_KERNELS_CUH

#include "sgemm/geometry.h"
#include "sgemm/args.h"
#if !defined(__CUDACC_RTC__)
#include "sgemm/tensor_map.h"
#endif

/* ---- Which kernels: SGEMM_STAGE and SGEMM_PART ------------------------------------------------------------------- */

/* The lowest architecture of the build, 750 for sm_75. nvcc lists all in __CUDA_ARCH_LIST__, the lowest first. NVRTC
   compiles for one, the CPU model simulates one of sm_90, and SGEMM_HOST_ONLY serves any device. */
#define SGEMM__FIRST(a, ...) a
#define SGEMM__FIRST_OF(...) SGEMM__FIRST(__VA_ARGS__, ~)
#if defined(SGEMM_HOST_ONLY) && SGEMM_HOST_ONLY
#define SGEMM__LOWEST_ARCH 0
#elif defined(__CUDACC_RTC__)
#define SGEMM__LOWEST_ARCH __CUDA_ARCH__
#elif defined(__CUDA_ARCH_LIST__)
#define SGEMM__LOWEST_ARCH SGEMM__FIRST_OF(__CUDA_ARCH_LIST__)
#else
#define SGEMM__LOWEST_ARCH 900
#endif

/* SGEMM__PRODUCTION_<value of the column prod> is 1 if this build compiles such variants without SGEMM_STAGE.
   SGEMM__HAS_CODE_<value> is 0 if their kernels are empty in the code of this architecture, because
   sgemm__in_production() keeps the GPUs that run it from them. */
#define SGEMM__PRODUCTION_0 0
#define SGEMM__PRODUCTION_1 1
#if SGEMM__LOWEST_ARCH < 800
#define SGEMM__PRODUCTION_75 1
#else
#define SGEMM__PRODUCTION_75 0
#endif
#if SGEMM__LOWEST_ARCH < 900
#define SGEMM__PRODUCTION_89 1
#else
#define SGEMM__PRODUCTION_89 0
#endif
#define SGEMM__HAS_CODE_0 1
#define SGEMM__HAS_CODE_1 1
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && !defined(SGEMM_STAGE)
#define SGEMM__HAS_CODE_75 0
#else
#define SGEMM__HAS_CODE_75 1
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && !defined(SGEMM_STAGE)
#define SGEMM__HAS_CODE_89 0
#else
#define SGEMM__HAS_CODE_89 1
#endif

/* SGEMM__ENABLED(stage, production) is 1 for the variants that this build compiles. SGEMM__WITH_STAGE: 1 if SGEMM_STAGE
   is defined, and their kernels then have code for each architecture. */
#if !defined(SGEMM_STAGE)
#define SGEMM__WITH_STAGE 0
#define SGEMM__ENABLED(stage, production) SGEMM__CAT(SGEMM__PRODUCTION_, production)
#define SGEMM__WITH_TENSOR 1
#elif SGEMM__SAME(SGEMM_STAGE, all)
#define SGEMM__WITH_STAGE 1
#define SGEMM__ENABLED(stage, production) 1
#define SGEMM__WITH_TENSOR 1
#else
#define SGEMM__WITH_STAGE 1
#define SGEMM__WITH_TENSOR 0
#define SGEMM__ENABLED(stage, production) SGEMM__SAME(SGEMM_STAGE, stage)
#define SGEMM__X(stage, ...) +SGEMM__SAME(SGEMM_STAGE, stage)
#if (0 SGEMM_STAGES(SGEMM__X)) != 1
#error "SGEMM_STAGE is not a stage: all, or a name of SGEMM_STAGES in sgemm/variants.h"
#endif
#undef SGEMM__X
#endif

/* SGEMM__WITH_MMA: 1 if code for sm_90a has the tensor engine mma, besides wgmma, which the selection takes. The CPU
   model has both. */
#if SGEMM__WITH_STAGE || (defined(SGEMM_CPU) && SGEMM_CPU)
#define SGEMM__WITH_MMA 1
#else
#define SGEMM__WITH_MMA 0
#endif

/* SGEMM__DEFINED(stage) is 1 for the stages whose kernels this object defines. It declares the kernels of the others.
   The part host defines the kernels that belong to no stage, and has the host code, if the compiler has host code. */
#if !defined(SGEMM_PART)
#define SGEMM__DEFINED(stage) 1
#define SGEMM__PART_HOST 1
#define SGEMM__DEFINES_TENSOR SGEMM__WITH_TENSOR
#else
#define SGEMM__DEFINED(stage) SGEMM__SAME(SGEMM_PART, stage)
#define SGEMM__PART_HOST SGEMM__SAME(SGEMM_PART, host)
#define SGEMM__DEFINES_TENSOR SGEMM__SAME(SGEMM_PART, tensor)
#define SGEMM__X(stage, ...) +SGEMM__SAME(SGEMM_PART, stage)
#if SGEMM__PART_HOST + SGEMM__DEFINES_TENSOR + (0 SGEMM_STAGES(SGEMM__X)) != 1
#error "SGEMM_PART is not a part: host, tensor, or a name of SGEMM_STAGES in sgemm/variants.h"
#endif
#undef SGEMM__X
#endif
#if defined(__CUDACC_RTC__)
#define SGEMM__WITH_HOST 0
#else
#define SGEMM__WITH_HOST SGEMM__PART_HOST
#endif

/* SGEMM__IF(1)(...) expands to its arguments, SGEMM__IF(0)(...) to nothing. SGEMM__NOT(condition) is 1 or 0. */
#define SGEMM__IF_0(...)
#define SGEMM__IF_1(...) __VA_ARGS__
#define SGEMM__IF(condition) SGEMM__CAT(SGEMM__IF_, condition)
#define SGEMM__NOT_0 1
#define SGEMM__NOT_1 0
#define SGEMM__NOT(condition) SGEMM__CAT(SGEMM__NOT_, condition)

/* SGEMM__KERNELS(stage, BM, BN, BK, TM, TN)(kernel, stage, name, ...) is kernel(stage, name of a kernel, ..., trans_a,
   trans_b) for each kernel of a variant: one for each pair of ops; one for each op of B or of A, if the kernels read
   the other op at run time; or one that reads both. See SGEMM__ANY_OP. */
#define SGEMM__OP_AT_RUN_TIME 2
// clang-format off
#define SGEMM__KERNELS_00(kernel, stage, name, ...)                                                                    \
  kernel(stage, SGEMM__CAT(name, _nn), __VA_ARGS__, 0, 0)                                                              \
  kernel(stage, SGEMM__CAT(name, _nt), __VA_ARGS__, 0, 1)                                                              \
  kernel(stage, SGEMM__CAT(name, _tn), __VA_ARGS__, 1, 0)                                                              \
  kernel(stage, SGEMM__CAT(name, _tt), __VA_ARGS__, 1, 1)
#define SGEMM__KERNELS_10(kernel, stage, name, ...)                                                                    \
  kernel(stage, SGEMM__CAT(name, _n), __VA_ARGS__, SGEMM__OP_AT_RUN_TIME, 0)                                           \
  kernel(stage, SGEMM__CAT(name, _t), __VA_ARGS__, SGEMM__OP_AT_RUN_TIME, 1)
#define SGEMM__KERNELS_01(kernel, stage, name, ...)                                                                    \
  kernel(stage, SGEMM__CAT(name, _n), __VA_ARGS__, 0, SGEMM__OP_AT_RUN_TIME)                                           \
  kernel(stage, SGEMM__CAT(name, _t), __VA_ARGS__, 1, SGEMM__OP_AT_RUN_TIME)
#define SGEMM__KERNELS_11(kernel, stage, name, ...)                                                                    \
  kernel(stage, name, __VA_ARGS__, SGEMM__OP_AT_RUN_TIME, SGEMM__OP_AT_RUN_TIME)
#define SGEMM__KERNELS(stage, BM, BN, BK, TM, TN)                                                                      \
  SGEMM__CAT(SGEMM__KERNELS_, SGEMM__CAT(SGEMM__ANY_OP(stage, BM, SGEMM__NAME(stage, BM, BN, BK, TM, TN), BK),         \
                                         SGEMM__ANY_OP(stage, BN, SGEMM__NAME(stage, BM, BN, BK, TM, TN), BK)))
// clang-format on

/* ---- Primitives and device functions ----------------------------------------------------------------------------- */

#define SGEMM__CONSUMER_WARPS 8 /* consumer warps of the tensor engine wgmma: two warpgroups of 4 warps */

#if defined(SGEMM_HOST_ONLY) && SGEMM_HOST_ONLY
#define SGEMM__WITH_KERNELS 0
#if defined(SGEMM_CPU) && SGEMM_CPU
#error "SGEMM_HOST_ONLY=1 has no kernels, SGEMM_CPU=1 has those of the CPU model: define one of them"
#endif
#else
#define SGEMM__WITH_KERNELS 1
#endif

#if !SGEMM__WITH_KERNELS
typedef const char *sgemm__kernel; /* the kernel table has names */
#define SGEMM__KERNEL_POINTER(name) #name
#elif defined(__CUDACC__)
#include "sgemm/device/cuda.cuh"
#include "sgemm/device/hopper.cuh"
#include "sgemm/device/mma.cuh"
#elif defined(SGEMM_CPU) && SGEMM_CPU
#include "cpu/sgemm_cpu.h"
#else
#error "SGEMM_IMPLEMENTATION belongs in a file that nvcc compiles, or goes with SGEMM_CPU=1 or SGEMM_HOST_ONLY=1"
#endif

#if SGEMM__WITH_KERNELS

#include "sgemm/device/tile.cuh"
#include "sgemm/device/load.cuh"
#include "sgemm/device/multiply.cuh"
#include "sgemm/device/activations.cuh"
#include "sgemm/device/apply_epilogue.cuh"
#include "sgemm/device/epilogue.cuh"
#include "sgemm/device/reduce.cuh"
#include "sgemm/device/partial_values.cuh"

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

/* Rules of a variant. A variant that breaks a rule does not compile: the error has the variant's name and the rule's
   sentence. A rule uses the columns of the variant as constants. */
#if defined(__cplusplus)
#define SGEMM__CONSTANTS(...) const int __VA_ARGS__;
#define SGEMM__CONSTANT(name, value) name __attribute__((unused)) = value
#else
#define SGEMM__CONSTANTS(...) enum { __VA_ARGS__ };
#define SGEMM__CONSTANT(name, value) name = value
#endif
#define SGEMM__RULE(condition, sentence, name) SGEMM__ASSERT(condition, SGEMM__STRING(name) ": " sentence)

/* Defines the columns of a variant, its marks and the ops of a kernel as constants of a function. No other macro names
   them in order. */
#define SGEMM__COLUMNS(stage, BM_, BN_, BK_, TM_, TN_, WM_, WN_, V_, bufs_, slice_k_, elements_, serial_, fused_,      \
                       has_code_, trans_a_, trans_b_)                                                                  \
  SGEMM__CONSTANTS(                                                                                                    \
      SGEMM__CONSTANT(BM, BM_), SGEMM__CONSTANT(BN, BN_), SGEMM__CONSTANT(BK, BK_), SGEMM__CONSTANT(TM, TM_),          \
      SGEMM__CONSTANT(TN, TN_), SGEMM__CONSTANT(WM, WM_), SGEMM__CONSTANT(WN, WN_), SGEMM__CONSTANT(V, V_),            \
      SGEMM__CONSTANT(bufs, bufs_), SGEMM__CONSTANT(slice_k, slice_k_),                                                \
      SGEMM__CONSTANT(cluster_split_k, SGEMM__CLUSTER_SPLIT_K_##stage),                                                \
      SGEMM__CONSTANT(uses_tma, SGEMM__USES_TMA_##stage), SGEMM__CONSTANT(elements, elements_),                        \
      SGEMM__CONSTANT(serial, serial_), SGEMM__CONSTANT(fused, fused_), SGEMM__CONSTANT(has_code, has_code_),          \
      SGEMM__CONSTANT(trans_a, trans_a_), SGEMM__CONSTANT(trans_b, trans_b_))

/* 1 for an operand that a pipeline copies by single elements with its own loader: its op is read at run time, or it has
   at most 8 rows or columns and is MN-major. mn_major: the op with which it is MN-major. */
#define SGEMM__IS_SMALL(MN, trans, mn_major) (trans == SGEMM__OP_AT_RUN_TIME || (MN <= 8 && trans == mn_major))

/* The sgemm__shape that a kernel passes to its body. The kernel has SGEMM__COLUMNS before it. */
#define SGEMM__SHAPE                                                                                                   \
  {                                                                                                                    \
    BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, cluster_split_k, !trans_a, trans_b == 1, fused, elements, serial,    \
        SGEMM__IS_SMALL(BM, trans_a, 1), SGEMM__IS_SMALL(BN, trans_b, 0)                                               \
  }

/* Threads of a kernel's block, for its launch bounds. */
#define SGEMM__LAUNCH_THREADS(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, ...)                                \
  SGEMM__BLOCK_THREADS(SGEMM__USES_TMA_##stage &&SGEMM__HAS_SM90A, BM, BN, TM, TN, slice_k)

/* Rules of every stage. */
#define SGEMM__RULES(stage, name, blocks)                                                                              \
  SGEMM__RULE(BM % WM == 0 && BN % WN == 0, "BM and BN must be multiples of WM and WN", name)                          \
  SGEMM__RULE(WM % TM == 0 && WN % TN == 0, "WM and WN must be multiples of TM and TN", name)                          \
  SGEMM__RULE(V == 1 || V == 4, "V must be 1 or 4", name)                                                              \
  SGEMM__RULE((TM % V == 0 || BM == 1) && (TN % V == 0 || BN == 1), "TM and TN must be multiples of V", name)          \
  SGEMM__RULE(slice_k >= 1 && SGEMM__THREADS(BM, BN, TM, TN, slice_k) % 32 == 0 &&                                     \
                  SGEMM__DIVIDES(SGEMM__THREADS(BM, BN, TM, TN, 1), 32),                                               \
              "a slice must be whole warps of 32 threads, or a warp whole slices", name)                               \
  SGEMM__RULE(SGEMM__THREADS(BM, BN, TM, TN, slice_k) <= 1024, "a block has at most 1024 threads", name)               \
  SGEMM__RULE((blocks) >= 1 && SGEMM__THREADS(BM, BN, TM, TN, slice_k) * (blocks) <= 2048,                             \
              "a multiprocessor holds at most 2048 threads", name)                                                     \
  SGEMM__RULE(!trans_a + !trans_b + !(elements > 0) >= 2,                                                              \
              "one operand at most is small, and then the variant is not marked ELEMENTS", name)                       \
  SGEMM__RULE(!fused || SGEMM__SAME(stage, tma) || SGEMM__SAME(stage, gemv) || SGEMM__APART(name) ||                   \
                  (SGEMM__SAME(stage, splitk) && slice_k > 1),                                                         \
              "tma, gemv, and splitk with several sliced-K groups apply an epilogue to results in registers", name)    \
  SGEMM__RULE(!SGEMM__APART(name) || (SGEMM__SAME(stage, direct) && (slice_k > 1 || TM * TN == 1)) ||                  \
                  (SGEMM__SAME(stage, async) && V == 4 && elements > 0),                                               \
              "direct with one result a thread, and async with single elements, can be marked FUSED with 3", name)     \
  SGEMM__RULE(fused != SGEMM__EVERY_EPILOGUE || !uses_tma, "tma is marked FUSED with 2 alone", name)                   \
  SGEMM__RULE(!serial || (bufs >= 3 && cluster_split_k), "splitk and clustered can have serial split-K", name)         \
  SGEMM__RULE(elements == 0 || SGEMM__SAME(stage, async) || SGEMM__SAME(stage, splitk) || SGEMM__SAME(stage, direct),  \
              "async, splitk and direct can be marked as copying single elements", name)
#define SGEMM__DIVIDES(a, b) ((a) > 0 && ((b) % (a) == 0 || (a) % (b) == 0)) /* 1 if a divides b, or b divides a */

/* Rules of the stages whose threads compute TM x TN results from tiles in shared memory. */
#define SGEMM__RULES_OF_TILES(name)                                                                                    \
  SGEMM__RULE(WM == BM ? WN == BN || WM / TM * (WN / TN) == 32 : WM / TM * (WN / TN) == 32,                            \
              "a warp tile must hold 32 thread tiles, or be the block's", name)                                        \
  SGEMM__RULE(V == 4 ? BK % 8 == 0 : 32 % BK == 0, "BK must be a multiple of 8 (V = 4) or divide 32 (V = 1)", name)

/* ---- The stages: bodies, their kernels (SGEMM__KERNEL_<stage>) and their rules (SGEMM__RULES_<stage>) ------------ */

#include "sgemm/stages/direct.cuh"
#include "sgemm/stages/blocked.cuh"
#include "sgemm/stages/doublebuffered.cuh"
#include "sgemm/stages/pipelined.cuh"
#include "sgemm/stages/gemv.cuh"
#include "sgemm/stages/pack.cuh"
#include "sgemm/stages/stream_k.cuh"
#include "sgemm/stages/tma_lanes.cuh"
#include "sgemm/stages/tma_reduce.cuh"
#include "sgemm/stages/tma_copies.cuh"
#include "sgemm/stages/tma.cuh"
#if SGEMM__PART_HOST
#include "sgemm/stages/split_k_reduce.cuh"
#include "sgemm/stages/apply_epilogue.cuh"
#include "sgemm/stages/reduction.cuh"
#endif
#if SGEMM__DEFINES_TENSOR
#include "sgemm/stages/tensor_split.cuh"
#include "sgemm/stages/tensor.cuh"
#include "sgemm/stages/tensor_reduce.cuh"
#include "sgemm/stages/tensor_wgmma.cuh"
#include "sgemm/stages/tensor_mma.cuh"
#endif

/* ---- Definitions: the kernels of each variant, one for each op pair, or fewer that read ops at run time ---------- */

// clang-format off
/* A function that is not called holds the rules, so that variants that are not compiled are checked too. */
#define SGEMM__CHECK(stage, name, blocks, BM_, BN_, BK_, ...)                                                          \
  SGEMM__DEVICE void SGEMM__CAT(name, _rules)(void) {                                                                  \
    SGEMM__COLUMNS(stage, BM_, BN_, BK_, __VA_ARGS__, SGEMM__ELEMENTS(name), SGEMM__SERIAL(name),                      \
                   SGEMM__FUSED(name), 1, SGEMM__SMALL(stage, BM_, BK_) * SGEMM__OP_AT_RUN_TIME,                       \
                   SGEMM__SMALL(stage, BN_, BK_) * SGEMM__OP_AT_RUN_TIME)                                              \
    SGEMM__RULES(stage, name, blocks)                                                                                  \
    SGEMM__CAT(SGEMM__RULES_, stage)(name)                                                                             \
  }

#define SGEMM__DECLARE_KERNEL(stage, name, ...) SGEMM__CAT(SGEMM__DECLARE_, stage)(name)

#define SGEMM__STAMP(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, blocks, production, reason)                  \
  SGEMM__CHECK(stage, SGEMM__NAME(stage, BM, BN, BK, TM, TN), blocks, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k)    \
  SGEMM__IF(SGEMM__ENABLED(stage, production))(                                                                        \
    SGEMM__IF(SGEMM__DEFINED(stage))(                                                                                  \
      SGEMM__KERNELS(stage, BM, BN, BK, TM, TN)(                                                                       \
          SGEMM__CAT(SGEMM__KERNEL_, stage), stage, SGEMM__NAME(stage, BM, BN, BK, TM, TN),                            \
          blocks, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k,                                                        \
          SGEMM__ELEMENTS(SGEMM__NAME(stage, BM, BN, BK, TM, TN)),                                                     \
          SGEMM__SERIAL(SGEMM__NAME(stage, BM, BN, BK, TM, TN)),                                                       \
          SGEMM__FUSED(SGEMM__NAME(stage, BM, BN, BK, TM, TN)) *                                                       \
              !SGEMM__APART(SGEMM__NAME(stage, BM, BN, BK, TM, TN)), SGEMM__CAT(SGEMM__HAS_CODE_, production)))        \
    SGEMM__IF(SGEMM__NOT(SGEMM__DEFINED(stage)))(                                                                      \
      SGEMM__KERNELS(stage, BM, BN, BK, TM, TN)(                                                                       \
          SGEMM__DECLARE_KERNEL, stage, SGEMM__NAME(stage, BM, BN, BK, TM, TN), blocks)))

/* A further kernel of a variant: its name, blocks, and SGEMM__COLUMNS. */
#define SGEMM__STAMP_FURTHER(stage, production, name, ...)                                                             \
  SGEMM__IF(SGEMM__ENABLED(stage, production))(                                                                        \
    SGEMM__IF(SGEMM__DEFINED(stage))(SGEMM__CAT(SGEMM__KERNEL_, stage)(stage, name, __VA_ARGS__))                      \
    SGEMM__IF(SGEMM__NOT(SGEMM__DEFINED(stage)))(SGEMM__DECLARE_KERNEL(stage, name)))

/* The reducing kernels. */
#define SGEMM__STAMP_REDUCED(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, blocks, production, reason)          \
  SGEMM__IF(SGEMM__REDUCING(SGEMM__NAME(stage, BM, BN, BK, TM, TN)))(                                                  \
    SGEMM__STAMP_FURTHER(stage, production, SGEMM__CAT(SGEMM__NAME(stage, BM, BN, BK, TM, TN), _reduced), blocks,      \
                         BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, 0, 0, SGEMM__REDUCES, 1, 0, 1))

/* The kernels of the epilogues that have one of their own. */
#define SGEMM__STAMP_FUSED(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, blocks, production, reason)            \
  SGEMM__IF(SGEMM__APART(SGEMM__NAME(stage, BM, BN, BK, TM, TN)))(                                                     \
    SGEMM__STAMP_FURTHER(stage, production, SGEMM__CAT(SGEMM__NAME(stage, BM, BN, BK, TM, TN), _fused), blocks,        \
                         BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k,                                                 \
                         SGEMM__ELEMENTS(SGEMM__NAME(stage, BM, BN, BK, TM, TN)), 0, SGEMM__EPILOGUES_IN_REGISTERS,    \
                         SGEMM__CAT(SGEMM__HAS_CODE_, production), SGEMM__OP_AT_RUN_TIME, SGEMM__OP_AT_RUN_TIME))
// clang-format on

SGEMM_VARIANTS(SGEMM__STAMP)
SGEMM_VARIANTS(SGEMM__STAMP_REDUCED)
SGEMM_VARIANTS(SGEMM__STAMP_FUSED)

/* The tensor modes: a kernel for each format that splits, one for each tensor-core variant, reducing kernels. */
// clang-format off
#if SGEMM__DEFINES_TENSOR
#define SGEMM__X(format, terms, idea) SGEMM__SPLIT_KERNEL(format)
#define SGEMM__TENSOR_STAMP(name, reduces, engine, format, BM, BN, WN, k_blocks, sets, bufs)                           \
  SGEMM__GLOBAL(name, SGEMM__TENSOR_THREADS_##engine, 1, sgemm__tensor_args) {                                         \
    SGEMM__ASSERT(!(reduces) || (BN) == SGEMM__TENSOR_REDUCE_BN, #name " reduces tiles of another width")              \
    const sgemm__tensor_shape shape = {SGEMM_FORMAT_##format, BM, BN, WN, k_blocks, sets, bufs, reduces};              \
    SGEMM__TENSOR_BODY_##engine(BM, BN, WN, SGEMM__TERMS_##format, sets, bufs)                                         \
  }
#define SGEMM__Y(engine, format, BM, BN, WN, k_blocks, sets, bufs, reason)                                             \
  SGEMM__TENSOR_RULES_##engine(SGEMM__TENSOR_NAME(engine, format, BM, BN), format, BM, BN, WN, k_blocks, sets, bufs)   \
  SGEMM__TENSOR_STAMP(SGEMM__TENSOR_NAME(engine, format, BM, BN), 0, engine, format, BM, BN, WN, k_blocks, sets, bufs) \
  SGEMM__IF(SGEMM__REDUCING(SGEMM__TENSOR_NAME(engine, format, BM, BN)))(                                              \
    SGEMM__TENSOR_STAMP(SGEMM__CAT(SGEMM__TENSOR_NAME(engine, format, BM, BN), _reduced), 1, engine, format, BM, BN,   \
                        WN, k_blocks, sets, bufs))
#elif SGEMM__WITH_TENSOR
#define SGEMM__X(format, terms, idea) SGEMM__DECLARE(sgemm_split_##format, sgemm__tensor_args)
#define SGEMM__SPLIT_FALLBACK_KERNEL SGEMM__DECLARE(sgemm_split_fallback, sgemm__tensor_args)
#define SGEMM__Y(engine, format, BM, BN, ...)                                                                          \
  SGEMM__DECLARE(SGEMM__TENSOR_NAME(engine, format, BM, BN), sgemm__tensor_args)                                       \
  SGEMM__IF(SGEMM__REDUCING(SGEMM__TENSOR_NAME(engine, format, BM, BN)))(                                              \
    SGEMM__DECLARE(SGEMM__CAT(SGEMM__TENSOR_NAME(engine, format, BM, BN), _reduced), sgemm__tensor_args))
#endif
// clang-format on
#if SGEMM__WITH_TENSOR
SGEMM_FORMATS(SGEMM__X)
SGEMM__SPLIT_FALLBACK_KERNEL
SGEMM_TENSOR_VARIANTS(SGEMM__Y)
#undef SGEMM__X
#undef SGEMM__Y
#endif

#endif /* SGEMM__WITH_KERNELS */

#if SGEMM__WITH_HOST

/* ---- The kernel table -------------------------------------------------------------------------------------------- */

/* A variant's kernels in the order of sgemm__kernel_number(), or 0: at most four. A variant that is not compiled has
   none. */
#define SGEMM__ADDRESS(stage, name, ...) SGEMM__KERNEL_POINTER(name),
#define SGEMM__X(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, blocks, production, reason)                      \
  {SGEMM__IF(SGEMM__ENABLED(stage, production))(SGEMM__KERNELS(stage, BM, BN, BK, TM, TN)(                             \
      SGEMM__ADDRESS, stage, SGEMM__NAME(stage, BM, BN, BK, TM, TN), blocks)) 0},
static const sgemm__kernel sgemm__kernels[SGEMM_VARIANT_COUNT][5] = {SGEMM_VARIANTS(SGEMM__X)};
#undef SGEMM__X

#if SGEMM__WITH_KERNELS
/* A variant's further kernel, the reducing one or that of epilogues, or 0. */
#define SGEMM__X(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, blocks, production, reason)                      \
  {SGEMM__IF(SGEMM__ENABLED(stage, production))(                                                                       \
      SGEMM__IF(SGEMM__REDUCING(SGEMM__NAME(stage, BM, BN, BK, TM, TN)))(                                              \
          SGEMM__KERNEL_POINTER(SGEMM__CAT(SGEMM__NAME(stage, BM, BN, BK, TM, TN), _reduced)), )                       \
          SGEMM__IF(SGEMM__APART(SGEMM__NAME(stage, BM, BN, BK, TM, TN)))(                                             \
              SGEMM__KERNEL_POINTER(SGEMM__CAT(SGEMM__NAME(stage, BM, BN, BK, TM, TN), _fused)), )) 0},
static const sgemm__kernel sgemm__further_kernels[SGEMM_VARIANT_COUNT][2] = {SGEMM_VARIANTS(SGEMM__X)};
#undef SGEMM__X

/* The kernels that belong to no strict variant, in the order of their numbers in sgemm/args.h. */
// clang-format off
#define SGEMM__W(number, kernel, args) SGEMM__KERNEL_POINTER(kernel),
#define SGEMM__X(format, terms, idea) SGEMM__KERNEL_POINTER(sgemm_split_##format),
#define SGEMM__Y(engine, format, BM, BN, ...) SGEMM__KERNEL_POINTER(SGEMM__TENSOR_NAME(engine, format, BM, BN)),
#define SGEMM__Z(engine, format, BM, BN, ...)                                                                          \
  SGEMM__IF(SGEMM__REDUCING(SGEMM__TENSOR_NAME(engine, format, BM, BN)))(                                              \
    SGEMM__KERNEL_POINTER(SGEMM__CAT(SGEMM__TENSOR_NAME(engine, format, BM, BN), _reduced)))                           \
  SGEMM__IF(SGEMM__NOT(SGEMM__REDUCING(SGEMM__TENSOR_NAME(engine, format, BM, BN))))(0),
static const sgemm__kernel sgemm__other_kernels[SGEMM__KERNEL_COUNT - (int)SGEMM_VARIANT_COUNT] = {
  SGEMM__COMMON_KERNELS(SGEMM__W)
  SGEMM__IF(SGEMM__WITH_TENSOR)(
    SGEMM_FORMATS(SGEMM__X) SGEMM__KERNEL_POINTER(sgemm_split_fallback),
    SGEMM_TENSOR_VARIANTS(SGEMM__Y) SGEMM_TENSOR_VARIANTS(SGEMM__Z))};
// clang-format on
#undef SGEMM__W
#undef SGEMM__X
#undef SGEMM__Y
#undef SGEMM__Z

/* A kernel by its number. ops: that of a variant's kernel; the other kernels have 0. */
static inline sgemm__kernel sgemm__kernel_of(int kernel, int ops) {
  return kernel >= SGEMM_VARIANT_COUNT       ? sgemm__other_kernels[kernel - SGEMM_VARIANT_COUNT]
         : ops == (int)SGEMM__FURTHER_KERNEL ? sgemm__further_kernels[kernel][0]
                                             : sgemm__kernels[kernel][ops];
}
#endif

#endif /* SGEMM__WITH_HOST */

#endif /* SGEMM_KERNELS_CUH */
