/* real.h: looks for the functions of the BLAS that the adapter stands before. */
#ifndef SGEMM_BLAS_REAL_H
#define SGEMM_BLAS_REAL_H

/* The function `name` of the BLAS, other than `own`, the adapter's. caller: an address in the code that called `own`.
   *found keeps the function from the first call on. If there is none, a line on stderr tells it and the process ends:
   a BLAS has no status to return. Any number of threads may call at once. */
void *sgemm_blas__real(const char *name, const void *own, const void *caller, void **found);

#endif /* SGEMM_BLAS_REAL_H */
