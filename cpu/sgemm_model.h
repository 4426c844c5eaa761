/* sgemm_model.h: settings of the CPU model, for programs linked with the implementation that SGEMM_CPU=1 makes. */
#ifndef SGEMM_MODEL_H
#define SGEMM_MODEL_H

#include <stdint.h>

/* The order in which the threads of a block take turns between two barriers. A kernel without races gives the same bits in
   each; one that misses a barrier reads what another order has not written yet. */
typedef enum sgemm_model_order {
  SGEMM_MODEL_FORWARD,  /* thread 0 first */
  SGEMM_MODEL_BACKWARD, /* thread 0 last */
  SGEMM_MODEL_SHUFFLED  /* a new permutation after each barrier, from the seed and the block's index */
} sgemm_model_order;

typedef struct sgemm_model {
  sgemm_model_order order;
  uint64_t seed;  /* of SGEMM_MODEL_SHUFFLED */
  int cores;      /* that share the blocks of a launch; 0: as many as are online */
} sgemm_model;

#ifdef __cplusplus
extern "C" {
#endif

/* The calling thread's settings, for its launches from now on; at first forward, on all cores. */
void sgemm_model_set(const sgemm_model *model);

/* Where the calling thread's last failed launch failed: "block (3, 0, 0), thread 17: read of an unwritten word of As[5]".
   Never NULL; empty before the first failure. */
const char *sgemm_model_error(void);

#ifdef __cplusplus
}
#endif
#endif
