/* sgemm/select/calibration_h200.h: the calibration constants of the estimate, for an NVIDIA H200. The tool tune
   measures plans on a GPU, fits these constants to their times and writes the lines between BEGIN and END.
   docs/notebook/selection.md, "Work and wait", tells to which times these values are fitted. Variants of no
   production build for sm_90a have constants that repeat the estimates of an earlier fit.

   Constants are bound to their variant by name. An entry whose name is no variant, a second entry for a variant and a
   variant without an entry do not compile. A variant that has not been measured is in SGEMM_ESTIMATED instead. */
#ifndef SGEMM_SELECT_CALIBRATION_H200_H
#define SGEMM_SELECT_CALIBRATION_H200_H

/* Calibration constants of the GPU. Clocks are clocks of an SM. */
typedef struct sgemm__calibration {
  double launch;          /* clocks of a launch besides those of its blocks */
  double persistent;      /* clocks before the first tile of a persistent block arrives */
  double cluster;         /* clocks of the sum over the blocks of a cluster, besides blocks and results */
  double cluster_block;   /* clocks of this sum for each block */
  double cluster_result;  /* clocks of this sum for each result of a tile */
  double split_k;         /* clocks of the second kernel of split-K, besides the partial results */
  double partial_bytes;   /* bytes of partial results that an SM stores or loads in a clock */
  double stream_k;        /* clocks of the second kernel of stream-K, besides the partial tiles */
  double stream_bytes;    /* bytes of partial tiles that an SM stores or loads in a clock */
  double split_wait;      /* clocks of the second kernel of split-K for each further 16 partitions, whose loads are in
                             flight together */
  double serial;          /* clocks of each further launch of serial split-K: it waits, and adds to C */
  double pack;            /* clocks of the launch that packs operands, besides its bytes */
  double apply;           /* clocks of the launch that applies an epilogue, besides its bytes; not fitted */
  double bandwidth_share; /* DRAM bandwidth over the nominal one; above 1, because the time of the SMs is added */
  double read_c;          /* clocks until a vector of C arrives, if beta is not 0 */
  double read_ahead;      /* clocks of a wave that waits for C, in epilogues that load eight vectors of it at a time */
  double read_tma;        /* clocks of a wave of tma or clustered that waits for C */
  double read_bytes;      /* bytes of old C that an SM loads in a clock, if beta is not 0 */
  double read_bytes_tma;  /* bytes of old C that an SM loads in a clock in tma and clustered, if beta is not 0 */
  double scattered_c;     /* clocks of an SM for 32 results of a column, each in another row of C */
  double narrow_row;      /* clocks of an SM for a row of a box of TMA that has fewer than 32 elements */
  double lost_reuse;      /* fraction of the reused bytes that DRAM re-reads, for each k above 4096; not fitted */
} sgemm__calibration;

/* The state of an operand is a sum of these. An unaligned operand has rows that are not aligned to 16 bytes. */
enum { SGEMM__K_MAJOR = 1, SGEMM__UNALIGNED = 2, SGEMM__OPERAND_STATES = 4 };

/* Calibration constants of one variant. */
typedef struct sgemm__variant_calibration {
  double fma_clocks;                    /* clocks for an FMA of an SM that is full of blocks: 1 / rate */
  double wave;                          /* clocks of a wave besides its k: the first loads and the stores */
  double step;                          /* clocks between the arrivals of the tiles of consecutive k-steps, at least */
  double block;                         /* clocks of an SM for a block besides its k */
  double unaligned_c;                   /* clocks of an SM for a tile of C whose rows are not aligned to 16 bytes */
  double byte_clocks;                   /* clocks for a byte that an SM loads, from L2 or DRAM: 1 / sm_bytes */
  double fma_a[SGEMM__OPERAND_STATES];  /* factor on the clocks of the FMAs for each state of A; [0]: 1 */
  double fma_b[SGEMM__OPERAND_STATES];  /* for each state of B */
  double load_a[SGEMM__OPERAND_STATES]; /* factor on the clocks of the loads for each state of A; [0]: 1 */
  double load_b[SGEMM__OPERAND_STATES]; /* for each state of B */
} sgemm__variant_calibration;

/* Calibration constants of one tensor-core variant. */
typedef struct sgemm__tensor_calibration {
  double k_block;  /* clocks of a k-block of a tile */
  double overhead; /* clocks of a tile besides its k-blocks */
} sgemm__tensor_calibration;

// clang-format off
/* BEGIN calibration */
static const sgemm__calibration sgemm__h200 = {
  2133,     /* launch */
  1387,     /* persistent */
  2096,     /* cluster */
  70,       /* cluster_block */
  0.702,    /* cluster_result */
  2608,     /* split_k */
  20.6,     /* partial_bytes */
  4339,     /* stream_k */
  14.7,     /* stream_bytes */
  281,      /* split_wait */
  2300,     /* serial */
  4345,     /* pack */
  4600,     /* apply */
  1.037,    /* bandwidth_share */
  329,      /* read_c */
  373,      /* read_ahead */
  498,      /* read_tma */
  35.0,     /* read_bytes */
  11.1,     /* read_bytes_tma */
  28.2,     /* scattered_c */
  10.0,     /* narrow_row */
  1.39e-05, /* lost_reuse */
};

/* X([symbol] variant, rate, wave, step, block, unaligned_c, sm_bytes, then factors in percent: of the FMAs by A
   and by B, of the loads by A and by B, each for an operand that is K-major, unaligned, both) */
#define SGEMM__H200_VARIANTS(X)                                                                                        \
  X(naive_32x32x1_1x1,              6.6,  531,  563, 1392,  449,  1.5, 99, 87, 55, 90, 82, 78,106,113,126,103,107,109) \
  X(coalesced_32x32x1_1x1,          6.7,  847,  565, 1594,  490,  1.7,100, 87, 59, 91, 82, 77,105,114,127,103,108,111) \
  X(tiled_16x16x16_1x1,            22.9, 1306,  538,  596,  4.1, 15.5,104,108,111,108,111,111,106,117,112,101,108,109) \
  X(tiled_32x32x32_1x1,            24.1,    5,  588,  791,   24,  6.1,102,104,104,102,104,105,103,109,109,101,106,105) \
  X(tile1d_64x64x8_8x1,            48.6,  328,  588, 1709,  2.0,  7.3,102,105,105,103,104,105,105,108,108,101,110,108) \
  X(tile1d_64x64x32_8x1,           60.4,   22,  588, 1689,  2.4,  9.0,103,106,105,103,105,106,106,111,112,102,110,108) \
  X(tile2d_128x128x8_8x8,          96.4, 8316,  588, 3269,  3.8,  7.1,102,104,106,103,104,105,100,106,115,102,100, 99) \
  X(vectorized_128x128x8_8x8,     109.0,   58,  588, 1673, 2831,  7.8,102,105,106,103,106,106, 99,108,111,102,108,107) \
  X(warptiled_128x128x16_8x16,    116.6, 3540,  588, 2708, 3339,  9.1,103,106,107,104,107,107, 99,107,110,102,105,106) \
  X(warptiled_128x128x8_8x8,      111.8,  477,  588, 2059, 2873,  8.2,102,105,106,103,106,107, 99,108,110,102,107,107) \
  X(doublebuffered_128x256x8_16x8,126.0,  635,  588, 6170, 6162, 81.0, 91, 96, 95, 91, 97, 96,232,108,252,239,109,255) \
  X(doublebuffered_128x128x8_8x8, 126.0, 1204,  588, 2052, 3063, 12.3, 99,103,104, 99,103,104,113,121,125,118,120,122) \
  X(doublebuffered_128x64x16_8x8, 126.0, 2414,  588, 1465, 1668, 19.4,103,111,111, 99,104,104,122,134,133,121,123,121) \
  X(doublebuffered_64x64x16_8x4,  108.7, 1425,  588,  883,  739, 16.0,106,111,111,100,113,113,108,118,112,101,118,117) \
  X(doublebuffered_32x64x16_4x4,   79.7,   10,  353,  644,  385, 27.4,100,105,105,100,109,109, 96,126,123, 97,164,159) \
  X(doublebuffered_32x32x16_4x4,   77.7,   44,  528,  534,  171, 27.9,102,112,113,101,123,122, 95,143,143, 95,106,106) \
  X(async_128x256x16_16x8,        126.0, 7882,  294,  269,11522,  400, 92, 96, 95, 94, 97, 97, 99,100, 98, 99, 99, 98) \
  X(async_128x256x8_16x8,         126.0, 3659,  294,10498, 6883,  400, 98,100,100,100,102,102, 99,100, 99, 99,100, 99) \
  X(async_256x128x8_16x8,         126.0, 3544,  294,10496, 6813,  400,102,104,104, 99,100,100, 99,100, 99, 99,100, 99) \
  X(async_64x128x16_8x8,          126.0, 5091,  294,  932, 2369, 23.4,101,104,103,109,112,113,124,131,134,131,126,125) \
  X(async_128x64x16_8x8,          121.1, 6356,  294, 1045, 2396, 16.0,111,113,112,106,108,108,110,123,122,105,104,100) \
  X(async_64x64x16_8x4,           101.0, 2700,  294,  807, 1120, 16.5,109,110,110,101,113,113,110,117,115, 99,111,109) \
  X(async_64x64x8_8x8,            103.0,  880,  811,  555, 1096, 64.0, 92,112,101,109,111,111,365, 81,330, 53, 93, 38) \
  X(async_32x128x32_8x4,          105.3, 2940,  294, 1097, 1210, 23.5,104,106,105,101,126,126,106,109,117, 98,113,114) \
  X(async_128x32x32_4x8,          104.1, 3492,  294, 1137, 1223, 23.4,100,123,123,105,106,107,101,123,124,105,107,101) \
  X(async_64x128x8_8x8,           105.8,  985,  116,  911, 2070, 15.6,103,102,105,105,104,106, 77, 63, 73, 64, 20, 11) \
  X(async_64x64x8_8x4,             96.9, 3069,  196,  738, 1077, 15.5, 99, 99, 99,101,102,102,100,106,104, 98,100, 97) \
  X(async_128x32x8_8x4,            90.4,  654,   78,  723,  851, 25.3,105,105,109,103,106,106, 96, 79, 85, 82, 27, 23) \
  X(async_32x32x8_4x4,             73.0,  598,  245,  221,  105, 28.1,100, 97,104, 92,116,111, 96,125, 82,120, 50, 79) \
  X(async_32x32x8_8x4,             75.1, 2204,  257,  426,  313, 57.2,117,120,118,101,120,122,115,119,158, 92, 94, 84) \
  X(async_64x128x8_16x4,           93.8, 4012,  124, 1436,  633, 18.0,101,101,104,100, 97, 96, 97, 97, 94,107,120,135) \
  X(splitk_64x128x16_8x8,         126.0, 1885,  294, 4517, 2069, 25.8,105,106,105,111,113,113,114,147,190, 99, 73, 73) \
  X(splitk_64x64x32_8x4,          115.7, 2325,  294, 1421, 1031, 17.6,110,111,111,101,113,113,110,119,117, 98,111,108) \
  X(splitk_32x64x32_8x4,          102.3, 1115,  294, 1302,  505, 23.3,108,110,109,101,123,123,110,118,122, 97,112,111) \
  X(splitk_32x32x64_4x4,           93.2, 1078,  294, 1330,  258, 27.5, 99,118,117,100,121,121,100,126,127, 99,110,108) \
  X(splitk_64x128x8_8x8,          101.9, 1026,  204, 1434, 1613, 19.8,103,102,105,102,101,104, 56, 81, 58, 86,108, 94) \
  X(splitk_64x64x16_8x4,           94.0,  824,  256,  949,  451, 30.8,103, 99,103,103,102,105,104,127, 93,103, 91, 89) \
  X(splitk_32x64x16_8x4,           86.9, 1543,   21, 1073,  357, 35.4,103, 99,101,107,102,110, 86,144,117, 89, 92, 75) \
  X(splitk_32x32x32_4x4,           76.3,  364,   16, 1866,  499, 36.1,102,103,106,102,100,101,119, 75,104,124,114,166) \
  X(splitk_16x128x32_16x4,         91.1, 1151,   47, 1699,  572, 34.3, 97, 99,100,103,117,144,112,132,125, 85, 77,176) \
  X(splitk_8x128x32_8x4,           72.7,  924,   55, 1038,  266, 49.0, 99,101, 99,110,125,181,104,109,106, 85,186,386) \
  X(splitk_4x128x32_4x4,           51.7,  742,  374,  813,  8.8, 42.6, 96,104,105,113,135,216,105, 98, 98, 89,171,345) \
  X(splitk_128x16x32_4x16,         93.2, 1209,  169, 1998, 1409, 31.7,107,127,155,103, 97, 99, 78, 89,160, 91,145,125) \
  X(splitk_128x8x32_4x8,           75.5,  882,   81, 1158,  966, 38.4,114,128,176,104,103,106, 80,165,319, 95,115,103) \
  X(splitk_128x4x32_4x4,           50.9,  754,  132,  799,  724, 34.1,110,134,200,102,101,103, 93,147,308, 93,109, 88) \
  X(splitk_16x32x128_4x4,         107.1, 1489,  696, 1535,  433, 26.8,110,109,126,122,133,159, 22,138, 82, 46,153, 82) \
  X(splitk_8x32x128_4x4,           69.4, 1196,  512, 1307,  183, 33.0,108,103,114,110,146,177, 55,105, 76, 12,142, 19) \
  X(splitk_4x32x128_4x4,           42.5,  477,  276, 1227,   27, 29.8, 95,100,113,107,151,175,110,112, 90, 45,159,120) \
  X(splitk_32x16x128_4x4,          90.4, 1303,  359, 1291,  891, 34.9,110,122,153,105,108,119, 11,124, 14,136,165,177) \
  X(splitk_32x8x128_4x4,           70.5, 1221,  175, 1256,  558, 29.4, 97,130,162,113,103,119,  5,138,  7, 34,121, 80) \
  X(splitk_32x4x128_4x4,           38.9,   90,   94, 1245,  179, 29.7, 94,145,175, 96,102,106, 71,142, 82,102,117,109) \
  X(direct_4x32x8_1x1,              3.7,    1,   97,  123,   48, 35.0, 88,106, 93,102,102, 93,100, 61, 59,990, 67,990) \
  X(direct_16x32x4_4x1,            14.2,    3,  422,  246,  4.7,  4.6, 49, 79, 50,139, 96,135, 98,155,138, 70, 89, 43) \
  X(direct_16x128x4_4x4,          126.0,   21,  690,  437,   59,  7.3, 78,100, 89,125,676,987, 78,143,137,172, 34, 39) \
  X(direct_4x8x64_4x8,              4.9,  1.0,  595,  200,  0.1, 30.3,147, 89,146, 61, 73,131,103,135,101,110, 72, 99) \
  X(direct_8x4x64_8x4,              4.6,  1.0,  592,  212,  0.1, 34.2, 46, 74, 57, 73, 91,435,108, 80, 95,131,138,104) \
  X(direct_4x8x256_4x8,             5.3,  1.0,  522,  500, 82.2, 27.8,288, 84,516,261, 52,139, 67,127, 52, 62,112,108) \
  X(direct_8x4x256_8x4,             5.4,  3.4,  617,  550, 96.7, 20.9,175, 74,120,253, 78,404, 57, 43, 64,124,111, 90) \
  X(gemv_1x32x256_1x4,             11.4,  835,  718, 1768,   65,  147, 48, 86, 73, 91, 95,137,128, 95,109, 98,601,550) \
  X(gemv_1x2x512_1x1,               3.8,  524,  295,  406,  5.6, 41.9, 32, 26, 35, 82, 48, 80, 68, 78, 55, 97,229,102) \
  X(gemv_1x4x1024_1x1,              9.5,  151,  663,  717,   20, 38.5, 17, 33, 11,184,264,174,110,100, 99, 93,182,100) \
  X(gemv_1x32x64_1x1,              14.1,  313,  284,  564,  4.0, 32.1, 76, 89, 74,149, 97,153,103, 91, 94,153,121,158) \
  X(gemv_1x32x128_1x1,             12.8,  653,   13, 1079,   64, 36.3, 78, 83, 82,128,101,125,127,112,110,105,137,104) \
  X(gemv_1x128x8_1x1,              17.3,  377,  274,  301,   15, 38.8, 97, 81, 87, 76,118, 71,106,108, 97,506,100,467) \
  X(gemv_32x1x256_4x1,             11.4, 1792,  685,  663,  199, 82.9,108,113,144, 41, 88, 79, 57,307,236,130,119,127) \
  X(gemv_2x1x512_1x1,               4.5,  793,  287,  424,  7.3, 42.0, 75, 37,113, 43, 23, 33, 61, 95, 55, 99,208,103) \
  X(gemv_4x1x1024_1x1,              5.7,  139,  697,  851,  2.5, 48.8,102, 66, 36, 16, 80, 13, 76,135, 98,160,167,158) \
  X(gemv_32x1x64_1x1,              14.6,  320,  290,  609,  3.3, 41.9,144, 80,118, 79,123, 92,163,139,171,120,101,119) \
  X(gemv_32x1x128_1x1,             13.4,  713,   14, 1100,  108, 33.2,128, 92,115, 85,107, 88, 98,137,109, 94, 95,108) \
  X(gemv_128x1x8_1x1,              15.5,  354,  266,  245,  1.4, 33.5, 81, 94, 39,126, 88,128,608,114,521, 62,103, 77) \
  X(tma_64x128x64_16x8,           126.0, 2305,  196,    5, 2970,  255, 88,100, 88, 86,100, 86,355,100,355,381,100,381) \
  X(tma_128x64x64_16x8,           126.0, 2001,  196,    5, 2919,  188, 90,100, 90, 88,100, 88,284,100,284,332,100,332) \
  X(tma_64x64x32_16x8,            126.0,  473,  358,  927, 1727,  400, 96,100, 96, 95,100, 95, 76,100, 76, 77,100, 77) \
  X(tma_32x32x128_16x8,           126.0, 3271,   68,  489,  311,  232, 99,100, 99,102,100,102, 47,100, 47, 49,100, 49) \
  X(tma_32x256x64_16x8,           126.0, 1396,  124, 1638, 2756,  328, 75,100, 75, 83,100, 83,990,100,990,140,100,140) \
  X(tma_256x32x64_16x8,           126.0, 1077,  112, 1584, 3166,  321, 73,100, 73, 85,100, 85,990,100,990,135,100,135) \
  X(clustered_64x64x32_16x8,      126.0,   88,   90, 2793,  752,  169, 98,100, 98, 89,100, 89,106,100,106,505,100,505) \
  X(clustered_32x32x128_16x8,     126.0,   51,   60, 3262,   44,  400, 98,100, 98, 95,100, 95,173,100,173,274,100,274)
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

/* SGEMM__ROW_<variant>: number of a variant's row in SGEMM__H200_VARIANTS. A second row of a variant does not compile,
   nor does a variant without one, nor an entry of SGEMM_ESTIMATED whose name is no variant (its enumerator is added
   zero times). The assertion below finds a row whose name is no variant. */
enum {
#define SGEMM__X(name, ...) SGEMM__ROW_##name,
  SGEMM__H200_VARIANTS(SGEMM__X)
#undef SGEMM__X
      SGEMM__ROW_COUNT
};
enum {
#define SGEMM__X(name, like) SGEMM__ROW_##name = (int)SGEMM__ROW_##like + 0 * (int)SGEMM_##name,
  SGEMM_ESTIMATED(SGEMM__X)
#undef SGEMM__X
      SGEMM__ROW_NONE = SGEMM__ROW_COUNT
};

/* The calibration constants of a variant. No variant: constants with which it is never selected. */
static inline const sgemm__variant_calibration *sgemm__calibration_of(sgemm_variant variant) {
#define SGEMM__STATES(k_major, unaligned, both)                                                                        \
  { 1.0, (k_major) / 100.0, (unaligned) / 100.0, (both) / 100.0 }
#define SGEMM__X(name, rate, wave, step, block, unaligned_c, sm_bytes, fk, fu, fb, gk, gu, gb, hk, hu, hb, ik, iu, ib) \
  {1.0 / (rate),                                                                                                       \
   wave,                                                                                                               \
   step,                                                                                                               \
   block,                                                                                                              \
   unaligned_c,                                                                                                        \
   1.0 / (sm_bytes),                                                                                                   \
   SGEMM__STATES(fk, fu, fb),                                                                                          \
   SGEMM__STATES(gk, gu, gb),                                                                                          \
   SGEMM__STATES(hk, hu, hb),                                                                                          \
   SGEMM__STATES(ik, iu, ib)},
  static const sgemm__variant_calibration rows[SGEMM__ROW_COUNT + 1] = {SGEMM__H200_VARIANTS(SGEMM__X) SGEMM__X(
      none, 1.0, 1e9, 1.0, 1.0, 1.0, 1.0, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100)};
#undef SGEMM__X
#undef SGEMM__STATES
#define SGEMM__X(stage, BM, BN, BK, TM, TN, ...) rows + SGEMM__ROW_##stage##_##BM##x##BN##x##BK##_##TM##x##TN,
  static const sgemm__variant_calibration *const of[SGEMM_VARIANT_COUNT] = {SGEMM_VARIANTS(SGEMM__X)};
#undef SGEMM__X
  return (int)variant >= 0 && variant < SGEMM_VARIANT_COUNT ? of[variant] : rows + SGEMM__ROW_NONE;
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
