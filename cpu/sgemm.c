/* cpu/sgemm.c: the library's implementation for the CPU model. gcc or clang compiles it as C11 with -DSGEMM_CPU=1. With
   -DSGEMM_HOST_ONLY=1 it is the implementation without kernels. */
#define SGEMM_IMPLEMENTATION
#include "sgemm.h"
