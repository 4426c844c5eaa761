/* The library's implementation for the CPU model: the same kernels, compiled as C11 by gcc or clang with -DSGEMM_CPU=1. */
#define SGEMM_IMPLEMENTATION
#include "sgemm.h"
