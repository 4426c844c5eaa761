/* tuned.h: the fastest plans of calls, for SGEMM_CUBLAS_TUNE. */
#ifndef SGEMM_CUBLAS_TUNED_H
#define SGEMM_CUBLAS_TUNED_H

#include "sgemm.h"

/* Runs p by the plan that sgemm_tune() found for such calls. The first of them is tuned before it runs, unless its
   stream is being captured. Until the plan is known, and if there is none, sgemm_run() runs the call. Any number of
   threads may call at once. */
sgemm_status sgemm_cublas__run_tuned(const sgemm_params *p, sgemm_stream stream);

/* The plan by which p runs now. */
sgemm_plan sgemm_cublas__tuned_plan(const sgemm_params *p, const sgemm_device *device);

#endif /* SGEMM_CUBLAS_TUNED_H */
