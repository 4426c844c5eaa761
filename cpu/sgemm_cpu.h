/* sgemm_cpu.h: the CPU model. It implements the primitives of sgemm/device/cuda.cuh, hopper.cuh and mma.cuh in C11, so
   that gcc and clang compile the kernels of sgemm_kernels.cuh for the CPU. The CPU model serves tests and study; it is
   not a fast BLAS.

   EXECUTION  Each thread of a block is a fiber (ucontext of libc). One OS thread runs all fibers of a block, one at a
              time. A fiber runs until it waits: at a barrier, for an mbarrier, for the other lanes of its warp or for
              tensor cores. The scheduler then resumes another fiber, in the order that sgemm_model.h sets. Each OS
              thread takes one cluster of blocks after another until the launch has no more. A launch uses one OS
              thread for each core, and fibers that earlier launches made.
   MEMORY     Each block of a cluster has its own shared memory: dynamic shared memory on the heap, and static shared
              arrays as thread-local arrays of the OS thread, one copy for each rank. An asynchronous copy completes as
              late as the kernel's waits allow.
   FAULTS     Three faults end a launch with an error. A GPU does not report the first two: it hangs or computes wrong
              results.
                divergence  Some threads of a block wait at a barrier, while others wait at another barrier or have
                            exited. Or every thread that has not exited waits for an event that none of them causes.
                            Or a block exits before a copy to its shared memory has completed. Or a thread accesses
                            global memory before its PDL wait, sgemm__pdl_wait(). Or a block uses named barrier 1
                            for two purposes.
                unwritten   A thread reads a word of shared memory that no thread of its block has written. Each word
                            holds a signalling NaN, SGEMM__CPU_UNWRITTEN, when its block starts. No arithmetic produces
                            this NaN. An element of an operand that has the same bits is reported too, except after a
                            bulk copy, which replaces it by 0.
                misaligned  The address of a vector access or of a bulk copy is not a multiple of 16 bytes (8 bytes for
                            an access of 8 bytes).
   COUNTERS   SGEMM_CPU_COUNT=1 adds the counters of sgemm_count.h. By default they add no code.
   FILES      Each file of cpu/model/ includes what it uses of the files above it. Types such as sgemm__grid come from
              sgemm.h and sgemm/args.h, which sgemm_kernels.cuh includes first. */
#ifndef SGEMM_CPU_H
#define SGEMM_CPU_H

#if defined(__cplusplus)
#error "the CPU model is C11: compile cpu/sgemm.c as C"
#endif

#include "cpu/sgemm_model.h"         /* settings and counters, for programs */
#include "cpu/model/worker.h"        /* state of a fiber, of a launch and of an OS thread */
#include "cpu/model/fiber.h"         /* switches between fibers, failures */
#include "cpu/sgemm_count.h"         /* counters */
#include "cpu/model/kernel.h"        /* kernel definitions, indices, arithmetic */
#include "cpu/model/shared_memory.h" /* shared arrays, checks of unwritten words and of alignment */
#include "cpu/model/load_store.h"    /* loads and stores */
#include "cpu/model/cp_async.h"      /* cp.async */
#include "cpu/model/barrier.h"       /* barriers, mbarriers, named barriers */
#include "cpu/model/warp.h"          /* ldmatrix, shuffles, votes, elect.sync */
#include "cpu/model/bulk_copy.h"     /* cp.async.bulk, copies of boxes by tensor maps */
#include "cpu/model/tensor_cores.h"  /* 16-bit conversions, wgmma, mma.sync */
#include "cpu/model/scheduler.h"     /* runs the fibers of a block, and the blocks of a cluster */
#include "cpu/model/launch.h"        /* runs a launch on several OS threads */

#endif /* SGEMM_CPU_H */
