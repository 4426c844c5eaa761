/* ceilings.h: the measured ceilings of the current device. */
#ifndef CEILINGS_H
#define CEILINGS_H

#ifdef __cplusplus
extern "C" {
#endif

/* The best of ten runs each: GFLOP/s of FMAs on registers, a multiplication and an addition each, and GB/s of a copy of
   1 GiB on the device, reading and writing counted. 0, or a cudaError_t. */
int ceilings_measure(double *ffma_gflops, double *copy_gbs);

#ifdef __cplusplus
}
#endif
#endif
