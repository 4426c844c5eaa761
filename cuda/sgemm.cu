/* The library's implementation for CUDA: this is all that a project's own .cu file needs. */
#define SGEMM_IMPLEMENTATION
#include "sgemm.h"
