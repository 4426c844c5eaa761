/* sgemm_model.h: settings and counters of the CPU model, for programs linked with its implementation. */
#ifndef SGEMM_MODEL_H
#define SGEMM_MODEL_H

#include <stdint.h>

/* The order in which the threads of a block run between two barriers. A kernel without races gives the same bits in
   each order. A kernel that lacks a barrier has an order in which a thread reads too early. In shuffled order the
   threads have a new permutation after each barrier, from the seed and the index of the block, and one warp pauses as
   long as others can run, so that they run ahead of it. */
typedef enum sgemm_model_order {
  SGEMM_MODEL_FORWARD,  /* thread 0 runs first */
  SGEMM_MODEL_BACKWARD, /* thread 0 runs last */
  SGEMM_MODEL_SHUFFLED
} sgemm_model_order;

typedef struct sgemm_model {
  sgemm_model_order order;
  uint64_t seed;       /* seed of the permutations of SGEMM_MODEL_SHUFFLED */
  int cores;           /* OS threads that run the blocks of a launch; 0: one for each online core */
  int multiprocessors; /* SMs of the device that sgemm_device_query() describes; 0: one SM */
} sgemm_model;

/* The counters of a launch, summed over its warps. They need an implementation that is compiled with SGEMM_CPU_COUNT=1.
   sgemm_count.h defines how each is counted. X([symbol] counter, "the metric of Nsight Compute (ncu) with the same
   meaning"). */
// clang-format off
#define SGEMM_COUNTS(X)                                                                                                \
  X(global_load_requests,   "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum")             /* loads of warps */        \
  X(global_load_sectors,    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")              /* 32-byte sectors */       \
  X(global_load_bytes,      "smsp__sass_data_bytes_mem_global_op_ld.sum")                  /* requested by lanes */    \
  X(global_store_requests,  "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum")                                         \
  X(global_store_sectors,   "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")                                          \
  X(global_store_bytes,     "smsp__sass_data_bytes_mem_global_op_st.sum")                                              \
  X(shared_load_requests,   "smsp__inst_executed_op_shared_ld.sum")                                                    \
  X(shared_load_wavefronts, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum")                                    \
  X(shared_load_conflicts,  "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum")    /* excess wavefronts */     \
  X(shared_load_bytes,      "smsp__sass_data_bytes_mem_shared_op_ld.sum")                                              \
  X(shared_store_requests,  "smsp__inst_executed_op_shared_st.sum")                                                    \
  X(shared_store_wavefronts,"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum")                                    \
  X(shared_store_conflicts, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum")                                \
  X(shared_store_bytes,     "smsp__sass_data_bytes_mem_shared_op_st.sum")                                              \
  X(fma_threads,            "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum")         /* FMAs of lanes */         \
  X(fma_instructions,       "sass__inst_executed_per_opcode, FFMA")                        /* FMAs of warps */         \
  X(barriers,               "sass__inst_executed_per_opcode, BAR")                         /* one per warp */
// clang-format on

typedef struct sgemm_counts {
#define SGEMM__X(counter, metric) int64_t counter;
  SGEMM_COUNTS(SGEMM__X)
#undef SGEMM__X
} sgemm_counts;

/* Adds `factor` times the counters of x to those of counts; -1 subtracts them. */
static inline void sgemm_counts_add(sgemm_counts *counts, const sgemm_counts *x, int64_t factor) {
#define SGEMM__X(counter, metric) counts->counter += factor * x->counter;
  SGEMM_COUNTS(SGEMM__X)
#undef SGEMM__X
}

#ifdef __cplusplus
extern "C" {
#endif

/* Sets the calling thread's settings for its later launches. By default they are zeros: forward order, all cores, one
   SM. */
void sgemm_model_set(const sgemm_model *model);

/* Returns where and why the calling thread's last failed launch failed, for example "block (3, 0, 0), thread 17: read
   of an unwritten word of As[5]". Never NULL; empty before the first failure. */
const char *sgemm_model_error(void);

/* Returns the counters of the calling thread's last launch, valid until its next launch. Never NULL. The counters are 0
   before the first launch and without SGEMM_CPU_COUNT=1. The counters of a failed launch are incomplete. A call of the
   library that has nothing to compute makes no launch. */
const sgemm_counts *sgemm_model_counts(void);

/* Returns the sums of the counters over all launches of the calling thread so far. The counts of a call with several
   launches are the difference of the sums after it and before it. Never NULL. */
const sgemm_counts *sgemm_model_total(void);

#ifdef __cplusplus
}
#endif
#endif
