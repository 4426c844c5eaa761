/* cpu/model/worker.h: the state of the CPU model: fibers, their pending asynchronous operations, a launch, and the OS
   threads that run it. */
#ifndef SGEMM_CPU_WORKER_H
#define SGEMM_CPU_WORKER_H

#include "cpu/sgemm_model.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <ucontext.h>

#ifndef SGEMM_CPU_COUNT
#define SGEMM_CPU_COUNT 0
#endif

typedef void (*sgemm__kernel)(const void *args);

#if defined(__SANITIZE_ADDRESS__)
#define SGEMM__CPU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SGEMM__CPU_ASAN 1
#endif
#endif
#ifndef SGEMM__CPU_ASAN
#define SGEMM__CPU_ASAN 0
#endif

/* A point where a stack resumes. The longjmp() of AddressSanitizer does not support fibers, and its swapcontext() makes
   two system calls and clears what the sanitizer knows of the other stack. So with the sanitizer the compiler's own
   jumps are used (gcc manual, "Nonlocal Gotos"), and the functions of libc in other builds. _longjmp() is declared by
   its symbol: the macro of _FORTIFY_SOURCE refuses jumps to another stack. */
#if SGEMM__CPU_ASAN
typedef void *sgemm__cpu_point[5];
#define SGEMM__CPU_SWITCHES __attribute__((noinline, no_sanitize("address")))
#define SGEMM__CPU_MARK(point) __builtin_setjmp(point)
#define SGEMM__CPU_JUMP(point) __builtin_longjmp(point, 1)
#else
#include <setjmp.h>
typedef jmp_buf sgemm__cpu_point;
void sgemm__cpu_jump(jmp_buf to, int value) __asm__("_longjmp") __attribute__((noreturn));
#define SGEMM__CPU_SWITCHES
#define SGEMM__CPU_MARK(point) _setjmp(point)
#define SGEMM__CPU_JUMP(point) sgemm__cpu_jump(point, 1)
#endif

/* Bytes of a fiber's stack. The local arrays of a kernel take at most 5 KB, more with AddressSanitizer. */
enum { SGEMM__CPU_STACK = 64 * 1024 };
enum { SGEMM__CPU_THREADS = 1024 };      /* maximum threads of a block */
enum { SGEMM__CPU_RANKS = 16 };          /* maximum blocks of a cluster */
enum { SGEMM__CPU_ARRAYS = 80 };         /* maximum shared arrays of all blocks of a cluster together */
enum { SGEMM__CPU_ARRAY_BYTES = 2048 };  /* maximum size of a static shared array of kernels that run in clusters */
enum { SGEMM__CPU_PRODUCTS = 32 };       /* maximum pending wgmma products of one thread */
#define SGEMM__CPU_UNWRITTEN 0x7fa5c0deu /* bits of an unwritten word of shared memory: a signalling NaN */

/* ---- Asynchronous operations ------------------------------------------------------------------------------------- */

/* A cp.async copy, from its issue until its thread waits for its commit group. */
typedef struct sgemm__cpu_copy {
  float *to;         /* shared memory */
  const float *from; /* global memory */
  int floats;        /* floats to copy: 1 or 4. 0: the copy writes one zero */
  int group;         /* number of the commit group */
} sgemm__cpu_copy;

/* A barrier in shared memory (PTX ISA, "mbarrier"). Its current phase completes when no arrivals and no bytes are
   pending. */
typedef struct sgemm__mbarrier {
  uint32_t count;   /* expected arrivals of each phase */
  int32_t arrivals; /* pending arrivals of the current phase */
  int32_t tx_count; /* pending bytes of the current phase (PTX ISA, "tx-count") */
  uint32_t phase;   /* number of completed phases; bit 0 is the parity of the current phase */
} sgemm__mbarrier;

/* A bulk copy or a copy of a box by a tensor map, from its issue to its completion. It copies `rows` rows of row_bytes
   bytes each, and writes zeros to the rest of `bytes` bytes of shared memory. */
typedef struct sgemm__cpu_bulk_copy {
  void *to;         /* shared memory */
  const void *from; /* global memory */
  int bytes;        /* bytes of shared memory that the copy writes */
  int rows;
  int row_bytes;
  int shared_stride;     /* bytes from one row to the next in shared memory */
  int64_t global_stride; /* bytes from one row to the next in global memory */
  int swizzled;          /* 1: 128-byte rows, where float4 c of row r lies at position c ^ r % 8 */
  sgemm__mbarrier *mbarrier;
} sgemm__cpu_bulk_copy;

/* An operand of tensor cores in shared memory: 8 x 8 matrices of 16-bit elements, 128 bytes each, 16 bytes for each
   row. Matrices of consecutive k follow each other. Matrices of consecutive groups of 8 rows are group_bytes apart. */
typedef struct sgemm__matrix_descriptor {
  const char *first;
  int group_bytes;
} sgemm__matrix_descriptor;

/* One thread's part of a wgmma product, from its issue until the thread waits for it. */
typedef struct sgemm__cpu_product {
  float *d; /* the thread's N / 2 accumulators */
  sgemm__matrix_descriptor a, b;
  int add;    /* 1: d = a b + d; 0: d = a b */
  int format; /* SGEMM_FORMAT_<format> */
  int N;      /* columns of b */
} sgemm__cpu_product;

/* ---- Execution --------------------------------------------------------------------------------------------------- */

/* How far a thread is with its PDL wait. */
enum { SGEMM__CPU_NOT_WAITED, SGEMM__CPU_DEFERRED, SGEMM__CPU_WAITED };

/* A thread of a block. */
typedef struct sgemm__cpu_fiber {
  sgemm__cpu_point resume_point; /* where the fiber resumes */
  int started;                   /* 1: resume_point is valid */
  int barrier_line; /* source line of the barrier where the fiber waits; negative: cluster barrier; 0: exited */
  int waited;       /* SGEMM__CPU_NOT_WAITED, _DEFERRED or _WAITED, see sgemm__pdl_wait() */

  int suspended;                  /* 1: the fiber has to resume before its block passes a barrier */
  const sgemm__mbarrier *awaited; /* mbarrier that a suspended fiber waits for; NULL: it may resume at once */
  uint32_t awaited_parity;        /* parity of the phase of `awaited` that has to complete */

  sgemm__cpu_copy *copies; /* pending cp.async copies in the order of their issue */
  int copy_count, copy_capacity;
  int copy_group; /* number of the commit group of the next copy */

  sgemm__cpu_product products[SGEMM__CPU_PRODUCTS]; /* pending wgmma products in the order of their issue */
  int product_count;
  int committed_products; /* how many of them, the first ones, are committed */
} sgemm__cpu_fiber;

/* One launch, shared by the OS threads that run its blocks. */
typedef struct sgemm__cpu_grid {
  sgemm__kernel kernel;
  const void *args;
  sgemm__grid size;
  sgemm_model model;
  atomic_llong next_block; /* first block of the next cluster to run */
  atomic_int failed;       /* 1: every OS thread stops */
  pthread_mutex_t lock;    /* protects the fields below */
  sgemm_counts counts;
  sgemm_status status; /* status of the first failure */
  char message[160];   /* message of the first failure */
} sgemm__cpu_grid;

/* What one OS thread of a launch works with, and the cluster that it runs. A launch without clusters has clusters of
   one block. Between launches a worker is idle, and its fibers wait for the next kernel. */
typedef struct sgemm__cpu_worker {
  struct sgemm__cpu_worker *next_idle;
  sgemm__cpu_grid *grid;
  int64_t block; /* linear index of the running block in the grid */
  int thread;    /* index of the running thread in its block */
  int rank;      /* rank of the running block in its cluster */
  int fiber_count;
  sgemm__cpu_fiber *fibers;             /* of all threads of the cluster, block by block, and further ones */
  char *stacks;                         /* SGEMM__CPU_STACK bytes for each fiber */
  int thread_order[SGEMM__CPU_THREADS]; /* permutation of a block's threads: the order in which they run */
  uint64_t random_state;                /* state of the generator that shuffles thread_order */

  sgemm__cpu_point scheduler_resume_point; /* where the scheduler resumes */
  const void *scheduler_stack;             /* for AddressSanitizer */
  size_t scheduler_stack_size;             /* for AddressSanitizer */

  struct {
    float *first;
    size_t count; /* words */
    const char *name;
  } shared_arrays[SGEMM__CPU_ARRAYS]; /* shared arrays that threads of the cluster have declared */
  int shared_array_count;
  char *dynamic_shared[SGEMM__CPU_RANKS]; /* dynamic shared memory of each block of the cluster */

  sgemm__mbarrier warp_barriers[32]; /* sgemm__warp_barrier() of each warp of the running block */
  sgemm__mbarrier order_barriers[2]; /* sgemm__order_wait() of each consumer warpgroup */
  sgemm__mbarrier consumer_barrier;  /* sgemm__barrier_threads() */
  int barrier_1_purpose;             /* see sgemm__cpu_use_barrier_1(); 0: not used yet */
  uintptr_t exchange[32][2][32];     /* [warp][parity][lane]: words that the lanes of a warp pass to each other */

  sgemm__cpu_bulk_copy *bulk_copies; /* pending bulk copies in the order of their issue */
  int bulk_copy_count, bulk_copy_capacity;
} sgemm__cpu_worker;

static _Thread_local sgemm__cpu_worker *sgemm__cpu; /* worker of the calling OS thread; NULL outside of launches */

/* ---- Settings and results of the calling thread ------------------------------------------------------------------ */

static _Thread_local sgemm_model sgemm__cpu_model; /* zeros: order forward, all cores */
static _Thread_local char sgemm__cpu_message[160];
static _Thread_local sgemm_counts sgemm__cpu_counts, sgemm__cpu_total;

void sgemm_model_set(const sgemm_model *model) { sgemm__cpu_model = *model; }
const char *sgemm_model_error(void) { return sgemm__cpu_message; }
const sgemm_counts *sgemm_model_counts(void) { return &sgemm__cpu_counts; }
const sgemm_counts *sgemm_model_total(void) { return &sgemm__cpu_total; }

/* Keeps the counters of a launch, and adds them to the total. */
static void sgemm__cpu_keep_counts(const sgemm_counts *counts) {
  sgemm__cpu_counts = *counts;
  sgemm_counts_add(&sgemm__cpu_total, counts, 1);
}

#endif /* SGEMM_CPU_WORKER_H */
