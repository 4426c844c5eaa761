/* times.h: the time of a call here and in cuBLAS, for the report of SGEMM_CUBLAS_TIMES. */
#ifndef SGEMM_CUBLAS_TIMES_H
#define SGEMM_CUBLAS_TIMES_H

#include "adapters/cublas/adapter.h"

/* Measures the call, after it was computed, unless the times of its entry in the report are known. Results go to
   scratch memory, so the program's C is not touched. Waits for the device. */
void sgemm_cublas__measure(const sgemm_cublas__call *call, sgemm_cublas__entry *entry);

#endif /* SGEMM_CUBLAS_TIMES_H */
