/* sgemm_model.h: settings and counters of the CPU model, for programs linked with its implementation. */
#ifndef SGEMM_MODEL_H
#define SGEMM_MODEL_H

#include <stdint.h>

/* The order in which the threads of a block take turns between two barriers. A kernel without races gives the same bits
   in each; one that misses a barrier reads what another order has not written yet. */
typedef enum sgemm_model_order {
  SGEMM_MODEL_FORWARD,  /* thread 0 first */
  SGEMM_MODEL_BACKWARD, /* thread 0 last */
  SGEMM_MODEL_SHUFFLED  /* a new permutation after each barrier, from the seed and the block's index */
} sgemm_model_order;

typedef struct sgemm_model {
  sgemm_model_order order;
  uint64_t seed;       /* of SGEMM_MODEL_SHUFFLED */
  int cores;           /* that share the blocks of a launch; 0: as many as are online */
  int multiprocessors; /* SMs of the nominal device, among which a plan divides persistent blocks; 0: one */
} sgemm_model;

/* What a launch asks of the GPU, summed over its warps, where the implementation is compiled with SGEMM_CPU_COUNT=1;
   sgemm_count.h says how it is counted. X([symbol] counter, "the metric of Nsight Compute (ncu) for the same"). */
// clang-format off
#define SGEMM_COUNTS(X)                                                                                                \
  X(global_load_requests,   "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum")             /* warp instructions */     \
  X(global_load_sectors,    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")              /* of 32 bytes */           \
  X(global_load_bytes,      "smsp__sass_data_bytes_mem_global_op_ld.sum")                  /* that lanes asked for */  \
  X(global_store_requests,  "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum")                                         \
  X(global_store_sectors,   "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")                                          \
  X(global_store_bytes,     "smsp__sass_data_bytes_mem_global_op_st.sum")                                              \
  X(shared_load_requests,   "smsp__inst_executed_op_shared_ld.sum")                                                    \
  X(shared_load_wavefronts, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum")                                    \
  X(shared_load_conflicts,  "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum")    /* wavefronts too many */   \
  X(shared_load_bytes,      "smsp__sass_data_bytes_mem_shared_op_ld.sum")                                              \
  X(shared_store_requests,  "smsp__inst_executed_op_shared_st.sum")                                                    \
  X(shared_store_wavefronts,"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum")                                    \
  X(shared_store_conflicts, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum")                                \
  X(shared_store_bytes,     "smsp__sass_data_bytes_mem_shared_op_st.sum")                                              \
  X(fma_threads,            "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum")         /* FMAs of lanes */         \
  X(fma_instructions,       "sass__inst_executed_per_opcode, FFMA")                        /* FMAs of warps */         \
  X(barriers,               "sass__inst_executed_per_opcode, BAR")                         /* one a warp */
// clang-format on

typedef struct sgemm_counts {
#define SGEMM__X(counter, metric) int64_t counter;
  SGEMM_COUNTS(SGEMM__X)
#undef SGEMM__X
} sgemm_counts;

#ifdef __cplusplus
extern "C" {
#endif

/* The calling thread's settings, for its launches from now on; at first forward, on all cores. */
void sgemm_model_set(const sgemm_model *model);

/* Where the calling thread's last failed launch failed: "block (3, 0, 0), thread 17: read of an unwritten word of
   As[5]". Never NULL; empty before the first failure. */
const char *sgemm_model_error(void);

/* What the calling thread's last launch asked for, valid until its next; of one that failed, a part of it. Never NULL;
   all zero before the first launch and without SGEMM_CPU_COUNT=1. A call that has nothing to do launches nothing. */
const sgemm_counts *sgemm_model_counts(void);

#ifdef __cplusplus
}
#endif
#endif
