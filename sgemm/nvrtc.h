/* sgemm/nvrtc.h: the names of <stddef.h>, <stdint.h> and <math.h> that the kernels use, for NVRTC, which has no host
   headers. */
#ifndef SGEMM_NVRTC_H
#define SGEMM_NVRTC_H

typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t, uintptr_t;

#if !defined(NULL)
#define NULL 0
#endif
#if !defined(INFINITY)
#define INFINITY __int_as_float(0x7f800000)
#endif

#endif /* SGEMM_NVRTC_H */
