/* sgemm/select/calibration_h200.h: the calibration constants of the estimate, for an NVIDIA H200. The tool tune
   measures plans on a GPU, fits these constants to their times and writes the lines between BEGIN and END.
   docs/notebook/selection.md, "Fitted to loops with fewer instructions", tells to which times these values are fitted.
   Variants without code for sm_90a have the values of an earlier fit.

   Constants are bound to their variant by name. An entry whose name is no variant, a second entry for a variant and a
   variant without an entry do not compile. A variant that has not been measured is in SGEMM_ESTIMATED instead. */
#ifndef SGEMM_SELECT_CALIBRATION_H200_H
#define SGEMM_SELECT_CALIBRATION_H200_H

/* Calibration constants of the GPU. Clocks are clocks of an SM. */
typedef struct sgemm__calibration {
  double launch;          /* clocks of a launch whose kernel does nothing */
  double cluster;         /* clocks of the sum over the blocks of a cluster */
  double split_k;         /* clocks of the second kernel of split-K or stream-K */
  double pack;            /* clocks of the launch that packs operands, besides its bytes */
  double apply;           /* clocks of the launch that applies an epilogue, besides its bytes; not fitted */
  double half_rate_warps; /* resident warps of an SM at which a variant reaches half of its rate */
  double copy;            /* clocks of an element that cp.async copies by 4 bytes instead of 16 */
  double store;           /* clocks of an element that a stage before async stores to shared memory by 4 bytes */
  double guarded;         /* clocks of an element of an unaligned row, which a guarded access of 4 bytes brings */
  double latency;         /* clocks from the request of a tile to its arrival */
  double sm_bytes;        /* L2-to-SM throughput: bytes that an SM loads in a clock, from L2 or DRAM */
  double bandwidth_share; /* fraction of the nominal DRAM bandwidth that a kernel reaches */
  double read_c;          /* clocks until a vector of C arrives, if beta is not 0 */
  double read_ahead;      /* clocks of a wave that waits for C, in epilogues that load eight vectors of it at a time */
  double read_tma;        /* clocks of a wave of tma or clustered that waits for C; not fitted */
  double unaligned_c;     /* clocks of an SM for 32 results that go to a row of C not aligned to 16 bytes */
  double gemv_guarded;    /* clocks of a k-step of gemv whose loads are guarded one by one */
  double scattered_c;     /* clocks of an SM for 32 results of a column, each in another row of C */
  double segment;         /* clocks of a warp's load for each further segment of consecutive elements */
  double block;           /* clocks in which an SM starts a block */
  double persistent;      /* clocks before the first tile of a persistent block arrives */
  double lost_reuse;      /* fraction of the reused bytes that DRAM re-reads, for each k above 4096; not fitted */
} sgemm__calibration;

/* Calibration constants of one variant. */
typedef struct sgemm__variant_calibration {
  double rate;     /* FMAs in a clock of an SM that is full of blocks; the nominal peak is 128 */
  double overhead; /* clocks of a wave besides its FMAs: the first loads and the stores */
} sgemm__variant_calibration;

/* Calibration constants of one tensor-core variant. */
typedef struct sgemm__tensor_calibration {
  double k_block;  /* clocks of a k-block of a tile */
  double overhead; /* clocks of a tile besides its k-blocks */
} sgemm__tensor_calibration;

// clang-format off
/* BEGIN calibration */
static const sgemm__calibration sgemm__h200 = {
  456,      /* launch */
  3062,     /* cluster */
  2340,     /* split_k */
  3674,     /* pack */
  4600,     /* apply */
  0.36,     /* half_rate_warps */
  0.0750,   /* copy */
  0.0455,   /* store */
  0.0919,   /* guarded */
  588,      /* latency */
  41.0,     /* sm_bytes */
  0.698,    /* bandwidth_share */
  222,      /* read_c */
  279,      /* read_ahead */
  2500,     /* read_tma */
  5.4,      /* unaligned_c */
  1286,     /* gemv_guarded */
  68,       /* scattered_c */
  0.23,     /* segment */
  359,      /* block */
  918,      /* persistent */
  1.39e-05, /* lost_reuse */
};

/* X([symbol] variant, rate, overhead) */
#define SGEMM__H200_VARIANTS(X)                                                                                        \
  X(naive_32x32x1_1x1,                11.6,  1742)                                                                     \
  X(coalesced_32x32x1_1x1,            14.0,  2134)                                                                     \
  X(tiled_16x16x16_1x1,               17.8,  3064)                                                                     \
  X(tiled_32x32x32_1x1,               17.2,  1813)                                                                     \
  X(tile1d_64x64x8_8x1,               35.8,  3487)                                                                     \
  X(tile1d_64x64x32_8x1,              44.3,  3063)                                                                     \
  X(tile2d_128x128x8_8x8,             72.3, 11308)                                                                     \
  X(vectorized_128x128x8_8x8,         81.2,  3063)                                                                     \
  X(warptiled_128x128x16_8x16,        90.5,  6432)                                                                     \
  X(warptiled_128x128x8_8x8,          83.4,  3718)                                                                     \
  X(doublebuffered_128x256x8_16x8,   113.3,  7219)                                                                     \
  X(doublebuffered_128x128x8_8x8,    100.3,  4188)                                                                     \
  X(doublebuffered_128x64x16_8x8,    104.8,  4630)                                                                     \
  X(doublebuffered_64x64x16_8x4,      84.5,  3361)                                                                     \
  X(doublebuffered_32x64x16_4x4,      71.2,  2069)                                                                     \
  X(doublebuffered_32x32x16_4x4,      63.2,  2028)                                                                     \
  X(async_128x256x16_16x8,           113.2,  9118)                                                                     \
  X(async_128x256x8_16x8,            100.6, 12566)                                                                     \
  X(async_256x128x8_16x8,             98.8, 12480)                                                                     \
  X(async_64x128x16_8x8,             107.5,  6772)                                                                     \
  X(async_128x64x16_8x8,              97.0,  7955)                                                                     \
  X(async_64x64x16_8x4,               80.4,  4512)                                                                     \
  X(async_64x64x8_8x8,                81.5,  4514)                                                                     \
  X(async_32x128x32_8x4,              84.6,  4950)                                                                     \
  X(async_128x32x32_4x8,              84.0,  5465)                                                                     \
  X(async_64x128x8_8x8,              112.0,  5220)                                                                     \
  X(async_64x64x8_8x4,                94.0,  4730)                                                                     \
  X(async_128x32x8_8x4,              100.5,  3467)                                                                     \
  X(async_32x32x8_4x4,                88.7,  1566)                                                                     \
  X(async_32x32x8_8x4,                71.2,  3872)                                                                     \
  X(async_64x128x8_16x4,              85.2,  7498)                                                                     \
  X(splitk_64x128x16_8x8,             91.5,  5920)                                                                     \
  X(splitk_64x64x32_8x4,              86.4,  4630)                                                                     \
  X(splitk_32x64x32_8x4,              77.0,  3471)                                                                     \
  X(splitk_32x32x64_4x4,              70.2,  3392)                                                                     \
  X(splitk_64x128x8_8x8,             112.0,  5500)                                                                     \
  X(splitk_64x64x16_8x4,             112.0,  4800)                                                                     \
  X(splitk_32x64x16_8x4,              92.0,  4536)                                                                     \
  X(splitk_32x32x32_4x4,              86.9,  3698)                                                                     \
  X(splitk_16x128x32_16x4,            75.0,  4388)                                                                     \
  X(splitk_8x128x32_8x4,              52.3,  2937)                                                                     \
  X(splitk_4x128x32_4x4,              32.0,  2022)                                                                     \
  X(splitk_128x16x32_4x16,            70.7,  4142)                                                                     \
  X(splitk_128x8x32_4x8,              51.1,  3204)                                                                     \
  X(splitk_128x4x32_4x4,              29.6,  2064)                                                                     \
  X(splitk_16x32x128_4x4,             60.3,  2865)                                                                     \
  X(splitk_8x32x128_4x4,              41.4,  2461)                                                                     \
  X(splitk_4x32x128_4x4,              31.1,  2138)                                                                     \
  X(splitk_32x16x128_4x4,             54.9,  2266)                                                                     \
  X(splitk_32x8x128_4x4,              44.6,  2420)                                                                     \
  X(splitk_32x4x128_4x4,              30.8,  1939)                                                                     \
  X(direct_4x32x8_1x1,                 4.6,   360)                                                                     \
  X(direct_16x32x4_4x1,               13.3,   671)                                                                     \
  X(direct_16x128x4_4x4,              22.4,  1275)                                                                     \
  X(gemv_1x32x256_1x4,               126.0,  3222)                                                                     \
  X(gemv_1x2x512_1x1,                  4.0,  1181)                                                                     \
  X(gemv_1x4x1024_1x1,                 6.5,  1436)                                                                     \
  X(gemv_1x32x64_1x1,                  7.0,  1059)                                                                     \
  X(gemv_1x32x128_1x1,                 8.2,  1384)                                                                     \
  X(gemv_1x128x8_1x1,                 54.8,  1012)                                                                     \
  X(gemv_32x1x256_4x1,               124.9,  2703)                                                                     \
  X(gemv_2x1x512_1x1,                 13.8,  1901)                                                                     \
  X(gemv_4x1x1024_1x1,                 7.5,  1758)                                                                     \
  X(gemv_32x1x64_1x1,                  6.9,  1027)                                                                     \
  X(gemv_32x1x128_1x1,                 8.5,  1367)                                                                     \
  X(gemv_128x1x8_1x1,                 10.3,   516)                                                                     \
  X(tma_64x128x64_16x8,              121.7,  4763)                                                                     \
  X(tma_128x64x64_16x8,              118.0,  4473)                                                                     \
  X(tma_64x64x32_16x8,               125.5,  5099)                                                                     \
  X(tma_32x32x128_16x8,              118.9,  6615)                                                                     \
  X(tma_32x256x64_16x8,              120.5,  7401)                                                                     \
  X(tma_256x32x64_16x8,              120.5,  6513)                                                                     \
  X(clustered_64x64x32_16x8,         105.5,  7533)                                                                     \
  X(clustered_32x32x128_16x8,        106.1,  5771)
/* END calibration */

/* X([symbol] tensor-core variant, k_block, overhead), from measured times of squares of 1024 to 4096. */
#define SGEMM__H200_TENSOR_VARIANTS(X)                                                                                 \
  X(wgmma_fp16x3_128x256,    2250, 4000)                                                                               \
  X(wgmma_fp16x3_128x128,    1150, 4000)                                                                               \
  X(wgmma_fp16x3_128x64,      860, 4000)                                                                               \
  X(wgmma_bf16x6_128x256,    4080, 4000)                                                                               \
  X(wgmma_bf16x6_128x128,    2060, 4000)                                                                               \
  X(wgmma_bf16x6_128x64,     1200, 4000)                                                                               \
  X(mma_fp16x3_128x128,      2600, 4000)                                                                               \
  X(mma_bf16x6_128x128,      4400, 4000)
// clang-format on

/* The calibration constants of a variant. In the switch an unknown name or a second entry does not compile; the
   assertion below finds a missing entry. */
static inline sgemm__variant_calibration sgemm__calibration_of(sgemm_variant variant) {
  sgemm__variant_calibration c = {1.0, 1e9}; /* no variant: never selected */
  switch (variant) {
#define SGEMM__X(name, rate_, overhead_)                                                                               \
  case SGEMM_##name:                                                                                                   \
    c.rate = rate_;                                                                                                    \
    c.overhead = overhead_;                                                                                            \
    break;
    SGEMM__H200_VARIANTS(SGEMM__X)
#undef SGEMM__X
#define SGEMM__X(name, like)                                                                                           \
  case SGEMM_##name:                                                                                                   \
    return sgemm__calibration_of(SGEMM_##like);
    SGEMM_ESTIMATED(SGEMM__X)
#undef SGEMM__X
  default:
    break;
  }
  return c;
}

static inline sgemm__tensor_calibration sgemm__tensor_calibration_of(sgemm_tensor_variant tensor) {
  sgemm__tensor_calibration c = {1e9, 1e9}; /* no variant: never selected */
  switch (tensor) {
#define SGEMM__X(name, k_block_, overhead_)                                                                            \
  case SGEMM_##name:                                                                                                   \
    c.k_block = k_block_;                                                                                              \
    c.overhead = overhead_;                                                                                            \
    break;
    SGEMM__H200_TENSOR_VARIANTS(SGEMM__X)
#undef SGEMM__X
  default:
    break;
  }
  return c;
}

#define SGEMM__X(...) +1
SGEMM__ASSERT((0 SGEMM__H200_VARIANTS(SGEMM__X) SGEMM_ESTIMATED(SGEMM__X)) == SGEMM_VARIANT_COUNT,
              "each variant has one entry in SGEMM__H200_VARIANTS or in SGEMM_ESTIMATED")
SGEMM__ASSERT((0 SGEMM__H200_TENSOR_VARIANTS(SGEMM__X)) == SGEMM_TENSOR_VARIANT_COUNT,
              "each tensor-core variant has one entry in SGEMM__H200_TENSOR_VARIANTS")
#undef SGEMM__X

#endif /* SGEMM_SELECT_CALIBRATION_H200_H */
