/* sgemm/select/calibration_h200.h: the calibration constants of the estimate, for an NVIDIA H200. The tool tune
   measures plans on a GPU, fits these constants to their times and writes the lines between BEGIN and END.
   docs/notebook/selection.md, "Work and wait", tells to which times these values are fitted. Variants that production
   builds have no code of sm_90a for are fitted to their estimates of before.

   Constants are bound to their variant by name. An entry whose name is no variant, a second entry for a variant and a
   variant without an entry do not compile. A variant that has not been measured is in SGEMM_ESTIMATED instead. */
#ifndef SGEMM_SELECT_CALIBRATION_H200_H
#define SGEMM_SELECT_CALIBRATION_H200_H

/* Calibration constants of the GPU. Clocks are clocks of an SM. */
typedef struct sgemm__calibration {
  double launch;          /* clocks of a launch besides those of its blocks */
  double persistent;      /* clocks before the first tile of a persistent block arrives */
  double cluster;         /* clocks of the sum over the blocks of a cluster, besides the results */
  double cluster_result;  /* clocks of this sum for each result of a tile */
  double split_k;         /* clocks of the second kernel of split-K or stream-K, besides the partial results */
  double partial_bytes;   /* bytes of partial results that an SM stores or loads in a clock */
  double split_wait;      /* clocks of that kernel for each further 16 partitions, whose loads are in flight together */
  double pack;            /* clocks of the launch that packs operands, besides its bytes */
  double apply;           /* clocks of the launch that applies an epilogue, besides its bytes; not fitted */
  double bandwidth_share; /* DRAM bandwidth over the nominal one; above 1, because the time of the SMs is added */
  double read_c;          /* clocks until a vector of C arrives, if beta is not 0 */
  double read_ahead;      /* clocks of a wave that waits for C, in epilogues that load eight vectors of it at a time */
  double read_tma;        /* clocks of a wave of tma or clustered that waits for C */
  double read_bytes;      /* bytes of old C that an SM loads in a clock, if beta is not 0 */
  double read_bytes_tma;  /* the same in the stages tma and clustered */
  double scattered_c;     /* clocks of an SM for 32 results of a column, each in another row of C */
  double lost_reuse;      /* fraction of the reused bytes that DRAM re-reads, for each k above 4096; not fitted */
} sgemm__calibration;

/* What the operands of a call can be, each with a factor on the clocks of a variant. */
enum { SGEMM__A_K_MAJOR, SGEMM__B_K_MAJOR, SGEMM__A_UNALIGNED, SGEMM__B_UNALIGNED, SGEMM__OPERAND_TRAITS };

/* Calibration constants of one variant. */
typedef struct sgemm__variant_calibration {
  double fma_clocks;                     /* clocks for an FMA of an SM that is full of blocks: 1 / rate */
  double wave;                           /* clocks of a wave besides its k: the first loads and the stores */
  double step;                           /* clocks between the arrivals of the tiles of consecutive k-steps, at least */
  double block;                          /* clocks of an SM for a block besides its k */
  double unaligned_c;                    /* clocks of an SM for a tile of C whose rows are not aligned to 16 bytes */
  double byte_clocks;                    /* clocks for a byte that an SM loads, from L2 or DRAM: 1 / sm_bytes */
  double fma[SGEMM__OPERAND_TRAITS][2];  /* factors on the clocks of the FMAs; [1]: of calls with the trait, [0]: 1 */
  double load[SGEMM__OPERAND_TRAITS][2]; /* factors on the clocks of the loads */
} sgemm__variant_calibration;

/* Calibration constants of one tensor-core variant. */
typedef struct sgemm__tensor_calibration {
  double k_block;  /* clocks of a k-block of a tile */
  double overhead; /* clocks of a tile besides its k-blocks */
} sgemm__tensor_calibration;

// clang-format off
/* BEGIN calibration */
static const sgemm__calibration sgemm__h200 = {
  2128,     /* launch */
  1542,     /* persistent */
  2576,     /* cluster */
  0.693,    /* cluster_result */
  2512,     /* split_k */
  18.1,     /* partial_bytes */
  280,      /* split_wait */
  4763,     /* pack */
  4600,     /* apply */
  1.025,    /* bandwidth_share */
  332,      /* read_c */
  366,      /* read_ahead */
  669,      /* read_tma */
  35.0,     /* read_bytes */
  11.2,     /* read_bytes_tma */
  28.2,     /* scattered_c */
  1.39e-05, /* lost_reuse */
};

/* X([symbol] variant, rate, wave, step, block, unaligned_c, sm_bytes, then factors on the FMAs and on the loads, each
   for A K-major, B K-major, A unaligned, B unaligned) */
#define SGEMM__H200_VARIANTS(X)                                                                                        \
  X(naive_32x32x1_1x1,              4.3,  370,  533, 1387,  419,  1.5, 0.97, 0.96, 0.94, 0.94, 1.08, 1.04, 1.10, 1.06) \
  X(coalesced_32x32x1_1x1,          4.0,  612,  528, 1644,  441,  1.6, 0.98, 0.97, 0.95, 0.95, 1.07, 1.04, 1.12, 1.06) \
  X(tiled_16x16x16_1x1,            22.3, 1312,  538,  593,  5.2, 15.7, 1.03, 1.04, 1.06, 1.08, 1.03, 1.04, 1.19, 1.01) \
  X(tiled_32x32x32_1x1,            23.9,    5,  588,  785,   29,  6.1, 1.01, 1.01, 1.03, 1.03, 1.02, 1.00, 1.08, 1.04) \
  X(tile1d_64x64x8_8x1,            48.2,  363,  588, 1691,  2.0,  7.2, 1.01, 1.02, 1.04, 1.03, 1.04, 1.01, 1.06, 1.07) \
  X(tile1d_64x64x32_8x1,           59.7,   25,  588, 1678,  2.5,  8.9, 1.02, 1.02, 1.04, 1.04, 1.05, 1.02, 1.08, 1.07) \
  X(tile2d_128x128x8_8x8,          95.9, 8387,  588, 3180,  3.9,  7.1, 1.01, 1.02, 1.04, 1.03, 1.02, 1.01, 1.11, 0.99) \
  X(vectorized_128x128x8_8x8,     108.1,   60,  588, 1663, 2826,  7.9, 1.02, 1.02, 1.04, 1.05, 1.00, 1.02, 1.10, 1.06) \
  X(warptiled_128x128x16_8x16,    115.5, 3625,  588, 2626, 3381,  9.2, 1.02, 1.02, 1.05, 1.05, 1.01, 1.03, 1.09, 1.03) \
  X(warptiled_128x128x8_8x8,      110.9,  516,  588, 2030, 2876,  8.3, 1.02, 1.02, 1.04, 1.05, 1.00, 1.02, 1.10, 1.05) \
  X(doublebuffered_128x256x8_16x8,126.0,  589,  588, 6147, 6134, 98.7, 0.92, 0.92, 0.98, 1.01, 2.20, 2.18, 1.69, 1.69) \
  X(doublebuffered_128x128x8_8x8, 126.0, 1249,  588, 2013, 3069, 12.0, 0.99, 0.99, 1.04, 1.04, 1.11, 1.14, 1.16, 1.09) \
  X(doublebuffered_128x64x16_8x8, 126.0, 2447,  588, 1436, 1685, 17.9, 1.02, 1.00, 1.10, 1.04, 1.15, 1.13, 1.21, 1.04) \
  X(doublebuffered_64x64x16_8x4,  107.6, 1446,  588,  862,  749, 15.7, 1.04, 1.01, 1.09, 1.12, 1.05, 1.01, 1.13, 1.13) \
  X(doublebuffered_32x64x16_4x4,   79.6,   10,  357,  636,  387, 27.6, 1.00, 1.00, 1.05, 1.09, 0.97, 0.97, 1.27, 1.64) \
  X(doublebuffered_32x32x16_4x4,   77.0,   55,  528,  527,  174, 28.7, 1.01, 1.00, 1.12, 1.21, 0.98, 0.97, 1.45, 1.09) \
  X(async_128x256x16_16x8,        126.0, 7819,  294,  177,11662,  400, 0.94, 0.94, 0.98, 1.00, 0.98, 0.98, 1.00, 0.99) \
  X(async_128x256x8_16x8,         126.0, 4334,  294,10046, 7113,  400, 0.99, 1.00, 1.01, 1.02, 0.99, 0.99, 1.00, 1.00) \
  X(async_256x128x8_16x8,         126.0, 3694,  294,10368, 6882,  400, 1.01, 0.99, 1.04, 1.00, 0.99, 0.99, 1.00, 1.00) \
  X(async_64x128x16_8x8,          126.0, 5147,  294,  873, 2394, 20.6, 1.02, 1.07, 1.03, 1.09, 1.14, 1.21, 1.19, 0.93) \
  X(async_128x64x16_8x8,          117.1, 6400,  294,  969, 2442, 16.3, 1.06, 1.04, 1.08, 1.04, 1.11, 1.05, 1.20, 0.93) \
  X(async_64x64x16_8x4,            99.0, 2738,  294,  776, 1142, 16.6, 1.05, 1.01, 1.07, 1.11, 1.09, 0.99, 1.13, 1.05) \
  X(async_64x64x8_8x8,            102.1,  886,  816,  550, 1123, 64.5, 0.90, 1.06, 1.11, 1.04, 3.76, 0.62, 0.85, 1.10) \
  X(async_32x128x32_8x4,          103.8, 2985,  294, 1059, 1230, 24.2, 1.02, 1.01, 1.04, 1.25, 1.09, 0.99, 1.10, 1.12) \
  X(async_128x32x32_4x8,          103.0, 3538,  294, 1092, 1254, 23.6, 1.00, 1.03, 1.23, 1.04, 1.01, 1.04, 1.23, 1.00) \
  X(async_64x128x8_8x8,           104.8, 1023,  116,  887, 2108, 16.5, 1.03, 1.02, 1.02, 1.02, 0.72, 0.74, 0.59, 0.31) \
  X(async_64x64x8_8x4,             96.5, 3107,  196,  702, 1082, 15.7, 0.99, 1.01, 0.99, 1.01, 1.00, 0.98, 1.05, 0.99) \
  X(async_128x32x8_8x4,            88.7,  682,   78,  716,  862, 29.8, 1.04, 1.01, 1.04, 1.03, 1.09, 0.98, 0.77, 0.33) \
  X(async_32x32x8_4x4,             76.1,  603,  249,  221,  104, 25.3, 1.02, 0.97, 1.00, 1.18, 0.93, 1.09, 1.10, 0.61) \
  X(async_32x32x8_8x4,             72.8, 2233,  258,  419,  316, 94.6, 1.03, 1.01, 1.17, 1.19, 3.29, 0.97, 0.39, 1.07) \
  X(async_64x128x8_16x4,           94.6, 4021,  124, 1403,  676, 18.1, 1.02, 0.99, 1.02, 0.97, 1.00, 1.13, 0.96, 1.21) \
  X(splitk_64x128x16_8x8,         121.9, 4443,  294, 1787, 3099, 34.2, 1.03, 1.06, 1.03, 1.07, 1.26, 1.49, 1.44, 0.50) \
  X(splitk_64x64x32_8x4,          113.4, 2358,  294, 1379, 1058, 17.6, 1.06, 1.01, 1.07, 1.12, 1.10, 0.98, 1.17, 1.03) \
  X(splitk_32x64x32_8x4,          100.4, 1136,  294, 1280,  516, 23.5, 1.04, 1.01, 1.06, 1.22, 1.11, 0.98, 1.18, 1.07) \
  X(splitk_32x32x64_4x4,           93.2, 1083,  294, 1318,  257, 27.5, 0.99, 1.00, 1.18, 1.21, 1.00, 0.98, 1.27, 1.09) \
  X(splitk_64x128x8_8x8,          102.2, 1060,  204, 1406, 1650, 19.8, 1.03, 1.02, 1.03, 1.01, 0.55, 0.88, 0.69, 1.11) \
  X(splitk_64x64x16_8x4,           93.9,  868,  256,  931,  474, 31.0, 1.03, 1.03, 0.99, 1.03, 0.95, 1.01, 1.16, 0.76) \
  X(splitk_32x64x16_8x4,           86.3, 1580,   21, 1062,  391, 37.0, 1.03, 1.07, 0.98, 1.02, 0.80, 0.84, 1.45, 0.90) \
  X(splitk_32x32x32_4x4,           75.6,  418,   16, 1859,  503, 44.0, 1.02, 1.02, 1.03, 0.99, 1.32, 1.40, 0.82, 1.30) \
  X(splitk_16x128x32_16x4,        102.0, 1177,   47, 1698,  439, 25.7, 0.99, 1.25, 1.04, 1.38, 1.02, 0.16, 1.14, 0.14) \
  X(splitk_8x128x32_8x4,           67.7,  851,   55, 1065,  328,  182, 1.00, 1.05, 1.03, 1.22, 0.99, 2.74, 1.05, 6.28) \
  X(splitk_4x128x32_4x4,           85.7,  650,  440,  923,  9.4, 33.5, 0.93, 1.86, 1.03, 2.48, 1.10, 0.63, 1.04, 1.13) \
  X(splitk_128x16x32_4x16,        100.5, 1155,  169, 2010, 1384, 25.2, 1.24, 1.01, 1.47, 1.02, 0.23, 0.84, 0.22, 1.28) \
  X(splitk_128x8x32_4x8,           68.7,  811,   81, 1185, 1031,  110, 1.04, 1.02, 1.19, 1.07, 2.35, 0.98, 4.91, 0.96) \
  X(splitk_128x4x32_4x4,           44.9,  659,  132,  864,  766, 83.1, 0.99, 1.00, 1.20, 1.05, 2.36, 0.91, 3.86, 0.94) \
  X(splitk_16x32x128_4x4,         105.8, 1530,  685, 1530,  381, 27.4, 1.11, 1.20, 1.16, 1.32, 0.29, 0.40, 1.29, 1.55) \
  X(splitk_8x32x128_4x4,           73.2, 1259,  522, 1273,  174, 33.4, 1.08, 1.17, 1.04, 1.58, 0.66, 0.13, 1.17, 1.12) \
  X(splitk_4x32x128_4x4,           43.6,  410,  276, 1260,   26, 29.4, 0.99, 1.10, 1.07, 1.69, 1.05, 0.36, 0.99, 1.38) \
  X(splitk_32x16x128_4x4,          92.6, 1290,  359, 1323,  789, 33.5, 1.12, 1.06, 1.34, 1.12, 0.12, 1.32, 0.84, 1.41) \
  X(splitk_32x8x128_4x4,           75.1, 1245,  175, 1298,  427, 27.0, 1.05, 1.12, 1.52, 1.07, 0.06, 0.61, 0.85, 1.24) \
  X(splitk_32x4x128_4x4,           40.7,  103,   94, 1257,  148, 28.7, 1.02, 0.99, 1.67, 1.06, 0.62, 0.97, 1.18, 1.17) \
  X(direct_4x32x8_1x1,              3.6,    1,   99,  123,   50, 26.6, 0.87, 0.98, 1.04, 0.99, 1.00, 9.85, 0.49, 0.57) \
  X(direct_16x32x4_4x1,            14.3,    4,  424,  246,  4.9,  4.9, 0.53, 1.42, 0.84, 0.96, 0.97, 0.54, 1.60, 0.91) \
  X(direct_16x128x4_4x4,          126.0,   30,  686,  434,   53,  7.2, 0.84, 1.44, 0.99, 7.14, 0.77, 1.64, 1.62, 0.30) \
  X(gemv_1x32x256_1x4,             12.2,  367,  717, 2087,   75,  162, 0.66, 0.91, 0.97, 1.10, 1.22, 1.20, 0.93, 6.39) \
  X(gemv_1x2x512_1x1,               3.3,  522,  294,  431,  6.7, 50.2, 0.29, 0.89, 0.28, 0.95, 0.90, 0.58, 1.03, 1.75) \
  X(gemv_1x4x1024_1x1,              9.0,  166,  664,  720,   17, 37.7, 0.30, 1.93, 0.40, 0.85, 1.03, 0.52, 1.00, 1.89) \
  X(gemv_1x32x64_1x1,              13.6,  318,  286,  563,  4.6, 32.7, 0.80, 1.55, 0.91, 0.97, 1.05, 1.35, 0.91, 1.17) \
  X(gemv_1x32x128_1x1,             13.2,  672,   17, 1090,   74, 32.6, 0.88, 1.28, 0.94, 0.97, 1.12, 0.78, 0.93, 1.32) \
  X(gemv_1x128x8_1x1,              15.7,  377,  275,  299,   20, 38.0, 1.02, 0.67, 0.88, 1.16, 0.94, 5.31, 0.97, 0.93) \
  X(gemv_32x1x256_4x1,             13.2, 1589,  749, 1123,  128,  139, 1.10, 0.43, 1.35, 0.90, 0.99, 1.38, 4.54, 1.20) \
  X(gemv_2x1x512_1x1,               4.9,  799,  291,  455,  8.9, 38.9, 0.58, 0.60, 0.60, 0.53, 0.76, 0.67, 0.95, 1.55) \
  X(gemv_4x1x1024_1x1,              6.1,  187,  668,  839,  3.1, 37.8, 1.01, 0.29, 0.51, 0.91, 0.67, 1.07, 1.34, 1.24) \
  X(gemv_32x1x64_1x1,              14.0,  325,  293,  619,  4.1, 38.7, 1.54, 0.80, 0.81, 1.18, 1.25, 1.14, 1.28, 1.00) \
  X(gemv_32x1x128_1x1,             13.0,  710,   20, 1130,  107, 36.6, 1.29, 0.84, 0.90, 1.05, 0.77, 1.06, 1.38, 1.07) \
  X(gemv_128x1x8_1x1,              15.5,  355,  270,  247,  1.7, 31.8, 0.60, 1.28, 0.97, 1.04, 5.39, 0.70, 1.01, 0.96) \
  X(tma_64x128x64_16x8,           126.0, 2810,  196,   10, 2560,  189, 0.87, 0.85, 1.00, 1.00, 3.10, 3.66, 1.00, 1.00) \
  X(tma_128x64x64_16x8,           126.0, 2540,  196,    9, 2482,  128, 0.89, 0.87, 1.00, 1.00, 2.34, 3.20, 1.00, 1.00) \
  X(tma_64x64x32_16x8,            126.0, 2262,  358,  293, 1896,  400, 0.95, 0.96, 1.00, 1.00, 0.88, 0.88, 1.00, 1.00) \
  X(tma_32x32x128_16x8,           126.0, 3905,   68,  333,  256,  265, 0.98, 1.02, 1.00, 1.00, 0.60, 0.61, 1.00, 1.00) \
  X(tma_32x256x64_16x8,           126.0, 1967,  124, 1940, 2476,  180, 0.72, 0.82, 1.00, 1.00, 6.73, 1.33, 1.00, 1.00) \
  X(tma_256x32x64_16x8,           126.0, 1746,  112, 1716, 3112,  185, 0.69, 0.84, 1.00, 1.00, 7.17, 1.30, 1.00, 1.00) \
  X(clustered_64x64x32_16x8,      126.0,  102,   90, 2724,  715,  120, 0.98, 0.89, 1.00, 1.00, 1.08, 3.65, 1.00, 1.00) \
  X(clustered_32x32x128_16x8,     126.0,   66,   60, 3175,   38,  400, 0.98, 0.95, 1.00, 1.00, 1.71, 2.89, 1.00, 1.00)
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
#define SGEMM__PAIR(factor)                                                                                            \
  { 1.0, factor }
#define SGEMM__X(name, rate, wave, step, block, unaligned_c, sm_bytes, ak, bk, au, bu, load_ak, load_bk, load_au,      \
                 load_bu)                                                                                              \
  {1.0 / (rate),                                                                                                       \
   wave,                                                                                                               \
   step,                                                                                                               \
   block,                                                                                                              \
   unaligned_c,                                                                                                        \
   1.0 / (sm_bytes),                                                                                                   \
   {SGEMM__PAIR(ak), SGEMM__PAIR(bk), SGEMM__PAIR(au), SGEMM__PAIR(bu)},                                               \
   {SGEMM__PAIR(load_ak), SGEMM__PAIR(load_bk), SGEMM__PAIR(load_au), SGEMM__PAIR(load_bu)}},
  static const sgemm__variant_calibration rows[SGEMM__ROW_COUNT + 1] = {SGEMM__H200_VARIANTS(SGEMM__X) SGEMM__X(
      none, 1.0, 1e9, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)};
#undef SGEMM__X
#undef SGEMM__PAIR
#define SGEMM__X(stage, BM, BN, BK, TM, TN, ...) SGEMM__ROW_##stage##_##BM##x##BN##x##BK##_##TM##x##TN,
  static const unsigned char numbers[SGEMM_VARIANT_COUNT + 1] = {SGEMM_VARIANTS(SGEMM__X) SGEMM__ROW_NONE};
#undef SGEMM__X
  return &rows[numbers[(int)variant >= 0 && variant < SGEMM_VARIANT_COUNT ? variant : SGEMM_VARIANT_COUNT]];
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
