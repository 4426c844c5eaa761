/* sgemm/launch/run.h: the calls of sgemm.h: check, quick returns, select, launch. sgemm.h includes this file at its end
   if SGEMM_IMPLEMENTATION is defined; it is empty in objects without the host part. */
#ifndef SGEMM_LAUNCH_RUN_H
#define SGEMM_LAUNCH_RUN_H

#if SGEMM__WITH_HOST

#include <math.h>
#include <string.h>

#include "sgemm/select/tables.h"
#include "sgemm/select/calibration_h200.h"
#include "sgemm/select/workspace.h"
#include "sgemm/select/cost.h"
#include "sgemm/select/select.h"
#include "sgemm/select/candidates.h"
#include "sgemm/launch/device.h"
#include "sgemm/launch/grid.h"
#include "sgemm/launch/recent.h"
#include "sgemm/launch/target.h"
#include "sgemm/launch/sequence.h"
#if !SGEMM__WITH_KERNELS
#include "sgemm/launch/device_none.h"
#elif defined(__CUDACC__)
#include "sgemm/launch/device_cuda.h"
#else
#include "sgemm/launch/device_cpu.h"
#endif
#include "sgemm/launch/calls.h"
#include "sgemm/launch/slabs.h"
#include "sgemm/launch/tile_slabs.h"
#include "sgemm/launch/reduction.h"
#include "sgemm/launch/describe.h"
#include "sgemm/launch/tune.h"

#endif /* SGEMM__WITH_HOST */

#endif /* SGEMM_LAUNCH_RUN_H */
