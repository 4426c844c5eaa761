/* ceilings.h: the measured ceilings of the current device. */
#ifndef CEILINGS_H
#define CEILINGS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Each ceiling is the best of ten runs. *ffma_gflops: GFLOP/s of FMAs on registers, 2 FLOP each. *copy_gbs: GB/s of a
   copy of 1 GiB within DRAM, bytes read and bytes written. Returns 0 or a cudaError_t. */
int ceilings_measure(double *ffma_gflops, double *copy_gbs);

#ifdef __cplusplus
}
#endif
#endif
