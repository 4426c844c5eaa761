/* sgemm_cpu.h: the CUDA execution model on the CPU, for the kernels of sgemm_kernels.cuh and sgemm_tensor_variant.cuh
   compiled as C11 by gcc or clang. A functional model for tests and study, not a fast BLAS.

   A block's threads are fibers of one OS thread (ucontext of libc); a barrier switches to the next fiber, so between
   two barriers the threads run one after the other in an order that sgemm_model.h sets. So do waits for mbarriers, for
   a warp and for tensor cores, whose fiber takes another turn when there is nothing to wait for. Shared arrays are
   static and thread-local. Blocks are dealt to as many OS threads as there are cores. Three faults end a launch, of
   which a GPU lets the first two pass, or hangs:
     divergence   at a barrier some threads are at another one or have left the kernel; or all that have not wait for
     what
                  none of them brings; or a block ends before a copy to it has;
     unwritten    a thread reads a word of shared memory that no thread of its block has written: at the start of a
     block
                  each word holds a NaN of its own (SGEMM__CPU_UNWRITTEN), which no arithmetic produces. An input that
                  holds these very bits is taken for one;
     misaligned   a 128-bit access is not at a multiple of 16 bytes.
   SGEMM_CPU_COUNT=1 adds the counters of sgemm_count.h; by default they are no code at all.
   */
#ifndef SGEMM_CPU_H
#define SGEMM_CPU_H

#include "sgemm_model.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__cplusplus)
#error "the CPU model is C11: compile cpu/sgemm.c as C"
#endif

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
#if SGEMM__CPU_ASAN
#include <sanitizer/common_interface_defs.h> /* it must be told of each change of stack */
#endif

#ifndef SGEMM_CPU_COUNT
#define SGEMM_CPU_COUNT 0
#endif

typedef void (*sgemm__kernel)(const void *args);

enum { SGEMM__CPU_STACK = 64 * 1024 };   /* bytes of a fiber: a kernel's registers take up to 5 KB, more under ASan */
enum { SGEMM__CPU_ARRAYS = 8 };          /* shared arrays of a kernel's cluster, at most */
enum { SGEMM__CPU_PRODUCTS = 32 };       /* of tensor cores, that a thread has under way at most */
#define SGEMM__CPU_UNWRITTEN 0x7fa5c0deu /* bits of an unwritten word: a signalling NaN */

/* A copy past the registers, from its issue to the wait that completes it. */
typedef struct sgemm__cpu_copy {
  float *to;
  const float *from;
  int floats; /* 1, 4, or 0: a zero */
  int group;
} sgemm__cpu_copy;

/* A barrier in shared memory. Its phase ends when no arrivals and no bytes are left to come. */
typedef struct sgemm__mbarrier {
  uint32_t count; /* arrivals of a phase */
  int32_t arrivals, bytes;
  uint32_t phase; /* the number of phases that have ended */
} sgemm__mbarrier;

/* A bulk copy under way: `rows` rows of `wide` bytes, `apart` from one to the next in memory and `pitch` in shared
   memory, and zeros for what is left of `bytes`; `swizzled` in rows of 8 quads, of which row r has quad c at place c ^
   r % 8. */
typedef struct sgemm__cpu_bulk {
  void *to;
  const void *from;
  int bytes, rows, pitch, wide;
  int64_t apart;
  int swizzled;
  sgemm__mbarrier *mbarrier;
} sgemm__cpu_bulk;

/* Matrices of 8 rows x 8 k in shared memory, 16 bytes a row: along k one follows the other, along the rows they are
   group_bytes apart. */
typedef struct sgemm__matrix_descriptor {
  const char *first;
  int group_bytes;
} sgemm__matrix_descriptor;

/* A thread's part of a product on tensor cores. */
typedef struct sgemm__cpu_product {
  float *d;
  sgemm__matrix_descriptor a, b;
  int add, format, N;
} sgemm__cpu_product;

typedef struct sgemm__cpu_fiber {
  ucontext_t context; /* its first instruction; with ASan, where it goes on */
  jmp_buf resumption; /* where it goes on */
  int started;
  int line;                /* of the barrier at which it waits, negative for a cluster's; 0: it has left the kernel */
  sgemm__cpu_copy *copies; /* under way, in the order of their issue */
  int count, capacity;
  int group;                       /* that the next copy belongs to */
  int paused;                      /* 1: it takes another turn before the others pass a barrier */
  const sgemm__mbarrier *mbarrier; /* but not before the phase of that parity has ended; NULL: at once */
  uint32_t parity;
  sgemm__cpu_product products[SGEMM__CPU_PRODUCTS]; /* under way, in the order of their issue */
  int product_count, committed;
} sgemm__cpu_fiber;

/* One launch, shared by the workers that run its blocks. */
typedef struct sgemm__cpu_grid {
  sgemm__kernel kernel;
  const void *args;
  sgemm__grid size;
  sgemm_model model;
  atomic_llong next_block;
  atomic_int failed;    /* 1: no worker goes on */
  pthread_mutex_t lock; /* of what follows: the counters, the first failure */
  sgemm_counts counts;
  sgemm_status status;
  char message[160];
} sgemm__cpu_grid;

/* One OS thread and the cluster that it runs, of one block unless k is split. */
typedef struct sgemm__cpu_worker {
  sgemm__cpu_grid *grid;
  int64_t block; /* that runs */
  int thread;    /* of that block, whose fiber runs */
  int rank;      /* of that block in its cluster */
  sgemm__cpu_fiber *fibers;
  char *stacks;
  int *order;           /* of the threads */
  uint64_t random;      /* state of the shuffle */
  ucontext_t scheduler; /* where the scheduler goes on, with ASan */
  jmp_buf scheduler_resumption;
  const void *scheduler_stack; /* for ASan */
  size_t scheduler_stack_size;
  struct {
    float *first;
    size_t count;
    const char *name;
  } arrays[SGEMM__CPU_ARRAYS]; /* shared arrays of the cluster that its threads have declared so far */
  int array_count;
  char *dynamic[8];                    /* each block's dynamic shared memory */
  sgemm__mbarrier warps[32], turns[2]; /* of the block that runs */
  sgemm__mbarrier some;                /* of its threads: see sgemm__barrier_threads() */
  uintptr_t told[32][2][32];           /* and what the lanes of a warp tell each other: see sgemm__ldmatrix_floats() */
  sgemm__cpu_bulk *bulk;               /* its copies under way, in the order of their issue */
  int bulk_count, bulk_capacity;
} sgemm__cpu_worker;

static _Thread_local sgemm__cpu_worker *sgemm__cpu; /* the calling OS thread's, inside a launch */
static _Thread_local sgemm_model sgemm__cpu_model;  /* all zero: forward, on all cores */
static _Thread_local char sgemm__cpu_message[160];
static _Thread_local sgemm_counts sgemm__cpu_counts;

void sgemm_model_set(const sgemm_model *model) { sgemm__cpu_model = *model; }
const char *sgemm_model_error(void) { return sgemm__cpu_message; }
const sgemm_counts *sgemm_model_counts(void) { return &sgemm__cpu_counts; }

/* ---- Fibers ------------------------------------------------------------------------------------------------------ */

static sgemm__cpu_fiber *sgemm__cpu_running(sgemm__cpu_worker *w) {
  return &w->fibers[w->rank * (int)w->grid->size.threads + w->thread];
}

/* A switch between scheduler and fiber: swapcontext() changes the signal mask too, two system calls a switch, so only
   ASan's build uses it, whose _longjmp() knows no fibers. Elsewhere _longjmp() switches, by its symbol: the macro of
   _FORTIFY_SOURCE would refuse to jump to another stack. */
#if SGEMM__CPU_ASAN

static void sgemm__cpu_resume(sgemm__cpu_worker *w) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(w);
  void *fake;
  __sanitizer_start_switch_fiber(&fake, w->stacks + (size_t)(f - w->fibers) * SGEMM__CPU_STACK, SGEMM__CPU_STACK);
  swapcontext(&w->scheduler, &f->context);
  __sanitizer_finish_switch_fiber(fake, NULL, NULL);
}

static void sgemm__cpu_yield(sgemm__cpu_worker *w) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(w);
  void *fake;
  __sanitizer_start_switch_fiber(&fake, w->scheduler_stack, w->scheduler_stack_size);
  swapcontext(&f->context, &w->scheduler);
  __sanitizer_finish_switch_fiber(fake, &w->scheduler_stack, &w->scheduler_stack_size);
}

#else

void sgemm__cpu_jump(jmp_buf to, int value) __asm__("_longjmp") __attribute__((noreturn));

/* To the running fiber from the scheduler; back when it meets a barrier, leaves the kernel or fails. */
static void sgemm__cpu_resume(sgemm__cpu_worker *w) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(w);
  if (_setjmp(w->scheduler_resumption) != 0)
    return;
  if (f->started)
    sgemm__cpu_jump(f->resumption, 1);
  f->started = 1;
  setcontext(&f->context);
}

static void sgemm__cpu_yield(sgemm__cpu_worker *w) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(w);
  if (_setjmp(f->resumption) == 0)
    sgemm__cpu_jump(w->scheduler_resumption, 1);
}

#endif

/* A fiber serves its thread of one block after the other; the launch's end abandons it at the last yield. */
static void sgemm__cpu_fiber_main(void) {
  sgemm__cpu_worker *w = sgemm__cpu;
#if SGEMM__CPU_ASAN
  __sanitizer_finish_switch_fiber(NULL, &w->scheduler_stack, &w->scheduler_stack_size);
#endif
  for (;;) {
    w->grid->kernel(w->grid->args);
    sgemm__cpu_running(w)->line = 0;
    sgemm__cpu_yield(w);
  }
}

/* Ends the launch at the running fiber; the first failure of a launch is the one that is told. */
static void sgemm__cpu_fail(sgemm_status status, const char *what, const char *array, size_t index) {
  sgemm__cpu_worker *w = sgemm__cpu;
  sgemm__cpu_grid *g = w->grid;
  pthread_mutex_lock(&g->lock);
  if (g->status == SGEMM_SUCCESS) {
    const int64_t x = g->size.x, y = g->size.y;
    const int n = snprintf(g->message, sizeof g->message, "block (%lld, %lld, %lld), thread %d: %s",
                           (long long)(w->block % x), (long long)(w->block / x % y), (long long)(w->block / x / y),
                           w->thread, what);
    if (array != NULL)
      snprintf(g->message + n, sizeof g->message - (size_t)n, " %s[%zu]", array, index);
    g->status = status;
  }
  pthread_mutex_unlock(&g->lock);
  atomic_store(&g->failed, 1);
}

#include "sgemm_count.h" /* sgemm__count_access() and the like, of what follows */

/* ---- Primitives, in the order of sgemm_kernels.cuh --------------------------------------------------------------- */

#define SGEMM__GLOBAL(name, threads, blocks, type)                                                                     \
  static void SGEMM__CAT(name, _body)(const type args);                                                                \
  static void name(const void *args) { SGEMM__CAT(name, _body)(*(const type *)args); }                                 \
  static void SGEMM__CAT(name, _body)(const type args)
#define SGEMM__GLOBAL_TMA(name, threads, blocks) SGEMM__GLOBAL(name, threads, blocks, sgemm__tma_args)
#define SGEMM__DEVICE static inline
#define SGEMM__SHARED(array, count)                                                                                    \
  static _Thread_local _Alignas(16) float array[count];                                                                \
  sgemm__cpu_declare(array, count, #array)
#define SGEMM__UNROLL
#define SGEMM__UNROLL_BY(n)
#define SGEMM__SHARED_WORDS(array, number)                                                                             \
  static _Thread_local uint32_t array[number];                                                                         \
  sgemm__cpu_declare((float *)array, number, #array)
#define SGEMM__SHARED_MBARRIERS(array, number)                                                                         \
  static _Thread_local sgemm__mbarrier array[number];                                                                  \
  sgemm__cpu_declare((float *)array, (number) * (sizeof *(array) / sizeof(float)), #array)
#define SGEMM__SHARED_DESCRIPTORS(array, number)                                                                       \
  static _Thread_local sgemm__tile_descriptor array[number];                                                           \
  sgemm__cpu_declare((float *)array, (number) * (sizeof *(array) / sizeof(float)), #array)
#define SGEMM__KERNEL_POINTER(name) name
#define SGEMM__SHARED_DYNAMIC(array)                                                                                   \
  float *array = (float *)sgemm__cpu->dynamic[sgemm__cpu->rank];                                                       \
  sgemm__cpu_declare(array, sgemm__cpu->grid->size.shared / sizeof *array, #array)
#define sgemm__barrier() sgemm__cpu_barrier(__LINE__)
#define sgemm__cluster_barrier() sgemm__cpu_barrier(-__LINE__)

static inline void sgemm__cpu_unwrite(float *array, size_t count) {
  const uint32_t unwritten = SGEMM__CPU_UNWRITTEN;
  size_t i;
  for (i = 0; i < count; i++)
    memcpy(&array[i], &unwritten, sizeof unwritten);
}

/* The first thread of a block to declare a shared array fills it with unwritten words. Dynamic shared memory is
   declared for all blocks of a cluster before any of them runs, and gets its name from the kernel. */
static inline void sgemm__cpu_declare(float *array, size_t count, const char *name) {
  sgemm__cpu_worker *w = sgemm__cpu;
  int a;
  for (a = 0; a < w->array_count; a++)
    if (w->arrays[a].first == array) {
      w->arrays[a].name = name;
      return;
    }
  w->arrays[a].first = array;
  w->arrays[a].count = count;
  w->arrays[a].name = name;
  w->array_count++;
  sgemm__cpu_unwrite(array, count);
}

static inline void sgemm__cpu_barrier(int line) {
  sgemm__cpu_running(sgemm__cpu)->line = line;
  sgemm__cpu_yield(sgemm__cpu);
}

static void sgemm__cpu_unwritten(const float *p) {
  sgemm__cpu_worker *w = sgemm__cpu;
  int a = 0;
  while (a + 1 < w->array_count && !(p >= w->arrays[a].first && p < w->arrays[a].first + w->arrays[a].count))
    a++;
  sgemm__cpu_fail(SGEMM_ERROR_UNWRITTEN, "read of an unwritten word of", w->arrays[a].name,
                  (size_t)(p - w->arrays[a].first));
  sgemm__cpu_yield(w); /* for good */
}

static inline int sgemm__thread(void) { return sgemm__cpu->thread; }
static inline void sgemm__assume_thread_index(void) {}
static inline int sgemm__elect_one(void) { return sgemm__cpu->thread % 32 == 0; }
static inline uint32_t sgemm__cluster_size(void) { return sgemm__cpu->grid->size.cluster; }
static inline uint32_t sgemm__cluster_rank(void) { return (uint32_t)sgemm__cpu->rank; }
static inline void sgemm__pdl_wait(void) {} /* a launch begins when the one before it has ended */
static inline void sgemm__pdl_trigger(void) {}
static inline uint32_t sgemm__block_x(void) { return (uint32_t)(sgemm__cpu->block % sgemm__cpu->grid->size.x); }
static inline uint32_t sgemm__grid_x(void) { return sgemm__cpu->grid->size.x; }
static inline int64_t sgemm__block_yz(void) { return sgemm__cpu->block / sgemm__cpu->grid->size.x; }
static inline void sgemm__converge(void) { sgemm__count_converge(); }
static inline int sgemm__unconditional_prefetch(int faster) {
  return (void)faster, 0;
} /* loads and counts what is used */

static inline int sgemm__log2(uint32_t x) { return 31 - __builtin_clz(x); }

static inline float sgemm__fma(float a, float b, float c) {
  sgemm__count_fma();
  return fmaf(a, b, c);
}

static inline float sgemm__load_global(const float *p) {
  sgemm__count_access(SGEMM__COUNT_LOAD_GLOBAL, p, 1);
  return *p;
}

static inline float sgemm__load_result(const float *p) { return sgemm__load_global(p); }

/* A result's NaN is the GPU's 0x7fffffff, whatever NaN it came from (CUDA C++ Programming Guide, "Floating-point
   Standard"). So a test sees a write to padding, even where the kernel read a NaN there and added to it. */
static inline float sgemm__cpu_result(float x) {
  const uint32_t bits = 0x7fffffffu;
  if (x != x)
    memcpy(&x, &bits, sizeof x);
  return x;
}

static inline void sgemm__store_global(float *p, float x) {
  sgemm__count_access(SGEMM__COUNT_STORE_GLOBAL, p, 1);
  *p = sgemm__cpu_result(x);
}

static inline float sgemm__cpu_written(const float *p) {
  uint32_t bits;
  memcpy(&bits, p, sizeof bits);
  if (bits == SGEMM__CPU_UNWRITTEN)
    sgemm__cpu_unwritten(p);
  return *p;
}

static inline float sgemm__load_shared(const float *p) {
  sgemm__count_access(SGEMM__COUNT_LOAD_SHARED, p, 1);
  return sgemm__cpu_written(p);
}

static inline void sgemm__store_shared(float *p, float x) {
  sgemm__count_access(SGEMM__COUNT_STORE_SHARED, p, 1);
  *p = x;
}

/* Four elements at once, at addresses that are multiples of 16 bytes as on the GPU. */
static inline void sgemm__cpu_aligned(const float *p) {
  if ((uintptr_t)p % 16 != 0) {
    sgemm__cpu_fail(SGEMM_ERROR_MISALIGNED, "a 128-bit access that is not aligned to 16 bytes", NULL, 0);
    sgemm__cpu_yield(sgemm__cpu); /* for good */
  }
}

static inline void sgemm__load_global4(float *r, const float *p) {
  sgemm__cpu_aligned(p);
  sgemm__count_access(SGEMM__COUNT_LOAD_GLOBAL, p, 4);
  memcpy(r, p, 16);
}

static inline void sgemm__load_result4(float *r, const float *p) { sgemm__load_global4(r, p); }

static inline void sgemm__store_global4(float *p, const float *r) {
  int v;
  sgemm__cpu_aligned(p);
  sgemm__count_access(SGEMM__COUNT_STORE_GLOBAL, p, 4);
  for (v = 0; v < 4; v++)
    p[v] = sgemm__cpu_result(r[v]);
}
static inline void sgemm__stream_global4(float *p, const float *r) { sgemm__store_global4(p, r); }

static inline void sgemm__load_shared4(float *r, const float *p) {
  int v;
  sgemm__cpu_aligned(p);
  sgemm__count_access(SGEMM__COUNT_LOAD_SHARED, p, 4);
  for (v = 0; v < 4; v++)
    r[v] = sgemm__cpu_written(p + v);
}

static inline void sgemm__store_shared4(float *p, const float *r) {
  sgemm__cpu_aligned(p);
  sgemm__count_access(SGEMM__COUNT_STORE_SHARED, p, 4);
  memcpy(p, r, 16);
}

static inline void sgemm__load_cluster4(float *r, const float *p, uint32_t rank) {
  const sgemm__cpu_worker *w = sgemm__cpu;
  sgemm__load_shared4(r, (const float *)(w->dynamic[rank] + ((const char *)p - w->dynamic[w->rank])));
}

/* A copy takes place at the wait for it, and until then its words are unwritten: who reads them too early is told. */
static inline void sgemm__cpu_copy_later(float *shared, const float *p, int floats) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(sgemm__cpu);
  if (f->count == f->capacity) {
    const int capacity = f->capacity > 0 ? 2 * f->capacity : 64;
    sgemm__cpu_copy *copies = (sgemm__cpu_copy *)realloc(f->copies, (size_t)capacity * sizeof *copies);
    if (copies == NULL) {
      sgemm__cpu_fail(SGEMM_ERROR_MEMORY, "no memory for the copies under way", NULL, 0);
      sgemm__cpu_yield(sgemm__cpu); /* for good */
    }
    f->copies = copies;
    f->capacity = capacity;
  }
  f->copies[f->count].to = shared;
  f->copies[f->count].from = p;
  f->copies[f->count].floats = floats;
  f->copies[f->count].group = f->group;
  f->count++;
  sgemm__cpu_unwrite(shared, floats == 4 ? 4 : 1);
}

static inline void sgemm__copy(float *shared, const float *p, int inside) {
  if (inside)
    sgemm__count_access(SGEMM__COUNT_LOAD_GLOBAL, p, 1);
  else
    sgemm__count_skip();
  sgemm__count_access(SGEMM__COUNT_STORE_SHARED, shared, 1);
  sgemm__cpu_copy_later(shared, p, inside ? 1 : 0);
}

static inline void sgemm__copy4(float *shared, const float *p) {
  sgemm__cpu_aligned(p);
  sgemm__cpu_aligned(shared);
  sgemm__count_access(SGEMM__COUNT_LOAD_GLOBAL, p, 4);
  sgemm__count_access(SGEMM__COUNT_STORE_SHARED, shared, 4);
  sgemm__cpu_copy_later(shared, p, 4);
}

static inline void sgemm__copy4_if(float *shared, const float *p, int inside) {
  static const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  sgemm__cpu_aligned(shared);
  if (inside) {
    sgemm__cpu_aligned(p);
    sgemm__count_access(SGEMM__COUNT_LOAD_GLOBAL, p, 4);
  } else {
    sgemm__count_skip();
  }
  sgemm__count_access(SGEMM__COUNT_STORE_SHARED, shared, 4);
  sgemm__cpu_copy_later(shared, inside ? p : zeros, 4);
}

static inline void sgemm__copy_commit(void) { sgemm__cpu_running(sgemm__cpu)->group++; }

static inline void sgemm__copy_wait(int most) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(sgemm__cpu);
  int done = 0;
  for (; done < f->count && f->copies[done].group < f->group - most; done++) {
    const sgemm__cpu_copy *c = &f->copies[done];
    const float zero = 0.0f;
    memcpy(c->to, c->floats > 0 ? c->from : &zero, c->floats > 0 ? (size_t)c->floats * sizeof(float) : sizeof zero);
  }
  f->count -= done;
  if (done > 0)
    memmove(f->copies, f->copies + done, (size_t)f->count * sizeof *f->copies);
}

/* ---- The tensor modes' primitives -------------------------------------------------------------------------------- */

static inline uint32_t sgemm__bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline float sgemm__float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline void sgemm__store_words4(void *p, const uint32_t *r) {
  sgemm__cpu_aligned((const float *)p);
  sgemm__count_access(SGEMM__COUNT_STORE_GLOBAL, (const float *)p, 4);
  memcpy(p, r, 16);
}

static inline void sgemm__store_global2(float *p, float x, float y) {
  if ((uintptr_t)p % 8 != 0) {
    sgemm__cpu_fail(SGEMM_ERROR_MISALIGNED, "a 64-bit access that is not aligned to 8 bytes", NULL, 0);
    sgemm__cpu_yield(sgemm__cpu); /* for good */
  }
  sgemm__count_access(SGEMM__COUNT_STORE_GLOBAL, p, 2);
  p[0] = x;
  p[1] = y;
}

static inline void sgemm__or_shared(uint32_t *p, uint32_t bits) { *p |= bits; }

/* fp16 by rounding to nearest, ties to even, in integers: below 2^-14 a number of 2^-24s; a NaN is 0x7fff as on the
   GPU. */
static inline uint32_t sgemm__to_fp16(float x) {
  const uint32_t bits = sgemm__bits_of(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  const uint32_t shift = size < 0x38800000 ? 126 - (size >> 23) : 13;
  const uint32_t kept = shift == 13 ? size - (112u << 23) : (size & 0x7fffff) | 0x800000;
  if (size > 0x7f800000)
    return 0x7fff;
  if (size >= 0x47800000) /* 2^16; from 65520 on the rounding below carries to infinity */
    return sign | 0x7c00;
  return shift > 24 ? sign : sign | (kept + (1u << (shift - 1)) - 1 + (kept >> shift & 1)) >> shift;
}

static inline uint32_t sgemm__to_fp16x2(float x, float y) { return sgemm__to_fp16(x) | sgemm__to_fp16(y) << 16; }

/* bf16 is the upper half of an fp32. */
static inline uint32_t sgemm__to_bf16(float x) {
  const uint32_t bits = sgemm__bits_of(x);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}
static inline uint32_t sgemm__to_bf16x2(float x, float y) { return sgemm__to_bf16(x) | sgemm__to_bf16(y) << 16; }

static inline float sgemm__from_fp16(uint32_t h) {
  const uint32_t sign = (h & 0x8000) << 16, size = h & 0x7fff;
  if (size < 0x400)
    return sign ? -(float)size * 0x1p-24f : (float)size * 0x1p-24f;
  return sgemm__float_of(sign | ((size << 13) + (size < 0x7c00 ? 112u << 23 : 224u << 23)));
}

static void sgemm__cpu_pause(const sgemm__mbarrier *b, int parity) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(sgemm__cpu);
  f->paused = 1;
  f->mbarrier = b;
  f->parity = (uint32_t)parity;
  sgemm__cpu_yield(sgemm__cpu);
}

static inline void sgemm__mbarrier_init(sgemm__mbarrier *b, int count) {
  const sgemm__mbarrier fresh = {(uint32_t)count, count, 0, 0};
  *b = fresh;
}

static inline void sgemm__mbarrier_init_fence(void) {}

static inline void sgemm__cpu_initialized(const sgemm__mbarrier *b) {
  if (b->count == SGEMM__CPU_UNWRITTEN)
    sgemm__cpu_unwritten((const float *)b);
}

/* So much of a phase has come: its end begins the next. */
static inline void sgemm__cpu_mbarrier_progress(sgemm__mbarrier *b, int arrivals, int bytes) {
  b->arrivals -= arrivals;
  b->bytes -= bytes;
  if (b->arrivals == 0 && b->bytes == 0) {
    b->arrivals = (int32_t)b->count;
    b->phase++;
  }
}

static inline void sgemm__mbarrier_arrive(sgemm__mbarrier *b) {
  sgemm__cpu_initialized(b);
  sgemm__cpu_mbarrier_progress(b, 1, 0);
}

static inline void sgemm__mbarrier_arrive_expect_tx(sgemm__mbarrier *b, int bytes) {
  sgemm__cpu_initialized(b);
  b->bytes += bytes;
  sgemm__cpu_mbarrier_progress(b, 1, 0);
}

static inline void sgemm__mbarrier_wait(sgemm__mbarrier *b, int parity) {
  sgemm__cpu_initialized(b);
  while ((b->phase & 1) == (uint32_t)parity)
    sgemm__cpu_pause(b, parity);
}

static inline sgemm__mbarrier *sgemm__pin_pointer(sgemm__mbarrier *b) { return b; }

/* A bulk copy takes place when no thread of the block can go on without one, and until then its words are unwritten. */
static void sgemm__cpu_bulk_later(const sgemm__cpu_bulk *copy) {
  sgemm__cpu_worker *w = sgemm__cpu;
  sgemm__cpu_initialized(copy->mbarrier);
  if ((uintptr_t)copy->to % 16 != 0 || (uintptr_t)copy->from % 16 != 0 || copy->bytes % 16 != 0) {
    sgemm__cpu_fail(SGEMM_ERROR_MISALIGNED, "a bulk copy that is not of 16 bytes at multiples of 16", NULL, 0);
    sgemm__cpu_yield(w); /* for good */
  }
  if (w->bulk_count == w->bulk_capacity) {
    const int capacity = w->bulk_capacity > 0 ? 2 * w->bulk_capacity : 64;
    sgemm__cpu_bulk *bulk = (sgemm__cpu_bulk *)realloc(w->bulk, (size_t)capacity * sizeof *bulk);
    if (bulk == NULL) {
      sgemm__cpu_fail(SGEMM_ERROR_MEMORY, "no memory for the copies under way", NULL, 0);
      sgemm__cpu_yield(w); /* for good */
    }
    w->bulk = bulk;
    w->bulk_capacity = capacity;
  }
  w->bulk[w->bulk_count++] = *copy;
  sgemm__count_bulk(copy);
  sgemm__cpu_unwrite((float *)copy->to, (size_t)copy->bytes / sizeof(float));
}

static inline void sgemm__copy_bulk(void *shared, const void *p, int bytes, sgemm__mbarrier *b) {
  const sgemm__cpu_bulk copy = {shared, p, bytes, 1, bytes, bytes, 0, 0, b};
  sgemm__cpu_bulk_later(&copy);
}

typedef sgemm__tensor_map_shape sgemm__tensor_map;
#define SGEMM__MAKE_TENSOR_MAPS(args, shape, a, b)                                                                     \
  const sgemm__tensor_map a = sgemm__tensor_map_shape_of(&args.gemm, 0, shape.BM, shape.BK);                           \
  const sgemm__tensor_map b = sgemm__tensor_map_shape_of(&args.gemm, 1, shape.BN, shape.BK);

/* What a tensor map may not say is a misalignment here; what lies outside of the matrix is zero. */
static inline void sgemm__copy_box(float *shared, const sgemm__tensor_map *map, int x, int y, int matrix,
                                   sgemm__mbarrier *b) {
  const int64_t wide = sgemm__max(0, map->row_length - x < SGEMM__BOX ? map->row_length - x : SGEMM__BOX);
  const int64_t high = sgemm__max(0, map->rows - y < map->box_rows ? map->rows - y : map->box_rows);
  const sgemm__cpu_bulk copy = {shared,
                                map->first + matrix * map->stride + y * map->ld + x,
                                4 * SGEMM__BOX * map->box_rows,
                                (int)high,
                                4 * SGEMM__BOX,
                                4 * (int)wide,
                                4 * map->ld,
                                1,
                                b};
  if ((uintptr_t)map->first % 16 != 0 || map->ld % 4 != 0 || map->stride % 4 != 0 || x < 0 || y < 0 || matrix < 0 ||
      matrix >= map->matrices) {
    sgemm__cpu_fail(SGEMM_ERROR_MISALIGNED, "a copy by a tensor map of rows that do not start on 16 bytes", NULL, 0);
    sgemm__cpu_yield(sgemm__cpu); /* for good */
  }
  sgemm__cpu_bulk_later(&copy);
}

/* Shared memory by number. */
typedef uintptr_t sgemm__address;
static inline sgemm__address sgemm__address_of(const void *p) { return (uintptr_t)p; }
static inline sgemm__address sgemm__pin_address(sgemm__address p) { return p; }
static inline void sgemm__load_shared4_at(float *r, sgemm__address p) { sgemm__load_shared4(r, (const float *)p); }

static inline void sgemm__fence_proxy_async(void) {} /* reads take place when they are asked for */

/* The lanes of a warp wait for each other: unlike a GPU's they do not run in step, so that what one of them tells the
   block would else be told before the others have got there. */
static inline void sgemm__warp_barrier(void) {
  sgemm__mbarrier *b = &sgemm__cpu->warps[sgemm__thread() / 32];
  const int parity = b->phase & 1;
  sgemm__cpu_mbarrier_progress(b, 1, 0);
  sgemm__mbarrier_wait(b, parity);
}

/* A lane tells its address and waits until all have. Each load has the other half of `told`, since the next begins
   while some have yet to read: the one after it cannot. */
static inline void sgemm__ldmatrix_floats(float *r, sgemm__address p, int pieces, int apart) {
  const int warp = sgemm__thread() / 32, lane = sgemm__thread() % 32;
  sgemm__address(*told)[32] = sgemm__cpu->told[warp];
  const int half = (int)(sgemm__cpu->warps[warp].phase & 1);
  int i;
  sgemm__cpu_aligned((const float *)p);
  for (i = 0; i < pieces; i++)
    sgemm__count_access(SGEMM__COUNT_LOAD_MATRIX, (const float *)(p + (uintptr_t)(i * apart)), 4);
  told[half][lane] = p;
  sgemm__warp_barrier();
  for (i = 0; i < 4 * pieces; i++)
    r[i] = sgemm__cpu_written((const float *)(told[half][i % 4 * 8 + lane / 4] + (uintptr_t)(i / 4 * apart)) +
                              lane % 4);
}

static inline void sgemm__shuffle_xor4(float *r, int mask) {
  const int warp = sgemm__thread() / 32, lane = sgemm__thread() % 32;
  sgemm__address *told = sgemm__cpu->told[warp][sgemm__cpu->warps[warp].phase & 1];
  float other[4];
  told[lane] = (uintptr_t)r;
  sgemm__warp_barrier();
  memcpy(other, (const float *)told[lane ^ mask], sizeof other);
  sgemm__warp_barrier(); /* nobody overwrites what others have yet to read */
  memcpy(r, other, sizeof other);
}

#define SGEMM__ARRIVALS 1
static inline void sgemm__mbarrier_arrive_warp(sgemm__mbarrier *b, int condition) {
  sgemm__warp_barrier();
  if (condition && sgemm__thread() % 32 == 0)
    sgemm__mbarrier_arrive(b);
}

static inline uint32_t sgemm__vectors_differ(const float *x, const float *y, int quads) {
  uint32_t differ = 0;
  float a[4], b[4];
  int i;
  for (i = 0; i < quads; i++) {
    sgemm__load_shared4(a, x + 4 * i);
    sgemm__load_shared4(b, y + 4 * i);
    differ |= (uint32_t)(memcmp(a, b, sizeof a) != 0) << i;
  }
  return differ;
}

#define SGEMM__HAS_SM90A 1

static inline void sgemm__setmaxnreg_tensor_consumer(void) {}
static inline void sgemm__setmaxnreg_tensor_producer(void) {}
static inline void sgemm__setmaxnreg_consumer(int threads) { (void)threads; }
static inline void sgemm__setmaxnreg_producer(void) {}

static inline void sgemm__order_arrive(int warpgroup) {
  sgemm__cpu_mbarrier_progress(&sgemm__cpu->turns[warpgroup], 1, 0);
}
static inline void sgemm__order_wait(int warpgroup) {
  const int parity = sgemm__cpu->turns[warpgroup].phase & 1;
  sgemm__order_arrive(warpgroup);
  sgemm__mbarrier_wait(&sgemm__cpu->turns[warpgroup], parity);
}

static inline void sgemm__barrier_threads(int threads) {
  sgemm__mbarrier *b = &sgemm__cpu->some;
  int parity;
  if (b->count == 0)
    sgemm__mbarrier_init(b, threads);
  parity = (int)(b->phase & 1);
  sgemm__cpu_mbarrier_progress(b, 1, 0);
  sgemm__mbarrier_wait(b, parity);
}

static inline sgemm__matrix_descriptor sgemm__matrix_descriptor_at(const void *p, int group_bytes) {
  const sgemm__matrix_descriptor m = {(const char *)p, group_bytes};
  return m;
}

static inline sgemm__matrix_descriptor sgemm__matrix_descriptor_advance(sgemm__matrix_descriptor m, int bytes) {
  m.first += bytes;
  return m;
}

/* 16 k of a row, taken apart: significands of `fraction` bits behind the point, and exponents, which are -126 for 0 and
   beyond all others for NaN and Inf. */
typedef struct sgemm__cpu_decoded {
  int32_t significand[16], exponent[16];
} sgemm__cpu_decoded;

enum { SGEMM__CPU_NONFINITE = 4096 };

static inline int sgemm__cpu_fraction(int format) { return format == SGEMM_FORMAT_fp16x3 ? 10 : 7; }

static inline void sgemm__cpu_decode(sgemm__cpu_decoded *x, sgemm__matrix_descriptor m, int row, int format) {
  const int fraction = sgemm__cpu_fraction(format), bias = format == SGEMM_FORMAT_fp16x3 ? 15 : 127;
  const char *at = m.first + row / 8 * m.group_bytes + row % 8 * 16;
  int k;
  for (k = 0; k < 16; k++) {
    const char *p = at + k / 8 * 128 + k % 8 / 2 * 4;
    uint32_t word;
    int32_t exponent, significand;
    memcpy(&word, p, sizeof word);
    if (word == SGEMM__CPU_UNWRITTEN)
      sgemm__cpu_unwritten((const float *)p);
    word = word >> k % 2 * 16 & 0xffff;
    exponent = (int32_t)(word >> fraction) & (2 * bias + 1);
    significand = (int32_t)(word & ((1u << fraction) - 1)) | (exponent > 0) << fraction;
    x->significand[k] = word >> 15 ? -significand : significand;
    x->exponent[k] = significand == 0           ? -126
                     : exponent == 2 * bias + 1 ? SGEMM__CPU_NONFINITE
                     : exponent > 0             ? exponent - bias
                                                : 1 - bias;
  }
}

/* c + the sum of 16 products as Hopper's tensor cores round it: all 17 are cut off 25 bits below the largest exponent
   among them, summed exactly, and the sum is cut off to fp32. A product's exponent is the sum of its factors', so that
   its significand is below 4. Source: MMA-Sim, https://github.com/microsoft/MMA-Sim, nv_fused_dot_add. The guard keeps
   NaN and Inf from every result, so that they need be told from numbers only. */
static inline float sgemm__cpu_dot(const sgemm__cpu_decoded *a, const sgemm__cpu_decoded *b, float c, int fraction) {
  const uint32_t bits = sgemm__bits_of(c), size = bits & 0x7fffffff;
  const int32_t c_exponent = size >> 23 > 0 ? (int32_t)(size >> 23) - 127 : -126;
  int32_t top = c_exponent, shift;
  int64_t sum;
  double whole;
  float result;
  int k;
  for (k = 0; k < 16; k++) {
    const int32_t exponent = a->exponent[k] + b->exponent[k];
    top = top > exponent ? top : exponent;
  }
  if (top > SGEMM__CPU_NONFINITE / 2 || size >= 0x7f800000)
    return NAN;
  shift = top - c_exponent < 31 ? top - c_exponent : 31;
  sum = (int64_t)(((size & 0x7fffff) | (uint32_t)(size >> 23 > 0) << 23) << 2 >> shift);
  sum = bits >> 31 ? -sum : sum;
  for (k = 0; k < 16; k++) {
    const int32_t product = a->significand[k] * b->significand[k], below = top - a->exponent[k] - b->exponent[k];
    const int32_t cut = (product < 0 ? -product : product) << (25 - 2 * fraction) >> (below < 31 ? below : 31);
    sum += product < 0 ? -cut : cut;
  }
  whole = ldexp((double)sum, top - 25);
  result = (float)whole;
  return fabs((double)result) > fabs(whole) ? nextafterf(result, 0.0f) : result;
}

static inline void sgemm__wgmma_fence(void) {}
static inline void sgemm__wgmma_commit(void) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(sgemm__cpu);
  f->committed = f->product_count;
}

/* d: the thread's fragment of the 64 x N results (PTX ISA, "wgmma", D). Until the wait it holds NaN. */
static inline void sgemm__wgmma(float *d, sgemm__matrix_descriptor a, sgemm__matrix_descriptor b, int add, int format,
                                int N) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(sgemm__cpu);
  const sgemm__cpu_product product = {d, a, b, add, format, N};
  int i;
  if (f->product_count == SGEMM__CPU_PRODUCTS) {
    sgemm__cpu_fail(SGEMM_ERROR_MEMORY, "no room for the products under way", NULL, 0);
    sgemm__cpu_yield(sgemm__cpu); /* for good */
  }
  f->products[f->product_count++] = product;
  for (i = 0; i < N / 2 && !add; i++)
    d[i] = NAN;
}

/* Products take place at the wait for them, behind a turn of all other threads: by then a buffer that was given back
   too early has been filled again. */
static inline void sgemm__wgmma_wait(float *d, int count) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(sgemm__cpu);
  const int row = sgemm__thread() % 128 / 32 * 16 + sgemm__thread() % 32 / 4, col = sgemm__thread() % 4 * 2;
  int i, g, j;
  (void)d, (void)count; /* for the compiler of the GPU */
  sgemm__cpu_pause(NULL, 0);
  for (i = 0; i < f->committed; i++) {
    const sgemm__cpu_product *p = &f->products[i];
    const int fraction = sgemm__cpu_fraction(p->format);
    sgemm__cpu_decoded a0, a8, b;
    sgemm__cpu_decode(&a0, p->a, row, p->format);
    sgemm__cpu_decode(&a8, p->a, row + 8, p->format);
    for (g = 0; g < p->N / 8; g++)
      for (j = 0; j < 2; j++) {
        float *x = p->d + g * 4 + j;
        sgemm__cpu_decode(&b, p->b, g * 8 + col + j, p->format);
        x[0] = sgemm__cpu_dot(&a0, &b, p->add ? x[0] : 0.0f, fraction);
        x[2] = sgemm__cpu_dot(&a8, &b, p->add ? x[2] : 0.0f, fraction);
      }
  }
  memmove(f->products, f->products + f->committed, (size_t)(f->product_count - f->committed) * sizeof *f->products);
  f->product_count -= f->committed;
  f->committed = 0;
}

#define SGEMM__HAS_MMA 1

/* A fragment is where it lies in shared memory: a thread computes the results of its lane straight from there. */
typedef sgemm__matrix_descriptor sgemm__fragment;

static inline void sgemm__load_fragment_a(sgemm__fragment *f, const char *p, int group_bytes) {
  sgemm__cpu_aligned((const float *)p);
  *f = sgemm__matrix_descriptor_at(p, group_bytes);
}

static inline void sgemm__load_fragment_b(sgemm__fragment *f, const char *p) { sgemm__load_fragment_a(f, p, 0); }

/* Summed as wgmma sums. */
static inline void sgemm__mma(float *d, const sgemm__fragment *a, const sgemm__fragment *b, int half, int add,
                              int format) {
  const int row = sgemm__thread() % 32 / 4, col = sgemm__thread() % 4 * 2, fraction = sgemm__cpu_fraction(format);
  sgemm__cpu_decoded a0, a8, b0;
  int j;
  sgemm__cpu_decode(&a0, *a, row, format);
  sgemm__cpu_decode(&a8, *a, row + 8, format);
  for (j = 0; j < 2; j++) {
    sgemm__cpu_decode(&b0, sgemm__matrix_descriptor_advance(*b, half * 256), col + j, format);
    d[j] = sgemm__cpu_dot(&a0, &b0, add ? d[j] : 0.0f, fraction);
    d[2 + j] = sgemm__cpu_dot(&a8, &b0, add ? d[2 + j] : 0.0f, fraction);
  }
}

/* ---- The scheduler ----------------------------------------------------------------------------------------------- */

/* The order of the threads up to the next barrier. Shuffled: Fisher and Yates, with Marsaglia's xorshift64. */
static void sgemm__cpu_reorder(sgemm__cpu_worker *w) {
  const int threads = (int)w->grid->size.threads;
  int i;
  for (i = 0; i < threads; i++)
    w->order[i] = w->grid->model.order == SGEMM_MODEL_BACKWARD ? threads - 1 - i : i;
  if (w->grid->model.order != SGEMM_MODEL_SHUFFLED)
    return;
  for (i = threads - 1; i > 0; i--) {
    int other, t = w->order[i];
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    other = (int)(w->random % (uint64_t)(i + 1));
    w->order[i] = w->order[other];
    w->order[other] = t;
  }
}

/* One of the bulk copies takes place: the oldest, the latest or any, as the threads' order is. */
static int sgemm__cpu_copy_one(sgemm__cpu_worker *w) {
  const sgemm_model_order order = w->grid->model.order;
  const uint32_t unwritten = SGEMM__CPU_UNWRITTEN;
  sgemm__cpu_bulk copy;
  int i, at;
  if (w->bulk_count == 0)
    return 0;
  i = order == SGEMM_MODEL_FORWARD    ? 0
      : order == SGEMM_MODEL_BACKWARD ? w->bulk_count - 1
                                      : w->order[0] % w->bulk_count;
  copy = w->bulk[i];
  memmove(&w->bulk[i], &w->bulk[i + 1], (size_t)(--w->bulk_count - i) * sizeof *w->bulk);
  memset(copy.to, 0, (size_t)copy.bytes);
  for (i = 0; i < copy.rows; i++) {
    char *to = (char *)copy.to + i * copy.pitch;
    const char *from = (const char *)copy.from + i * copy.apart;
    for (at = 0; copy.swizzled && at < copy.wide; at += 16) /* by the address, as on the GPU */
      memcpy(to + (at ^ (uintptr_t)to / 128 % 8 * 16), from + at, (size_t)(copy.wide - at < 16 ? copy.wide - at : 16));
    if (!copy.swizzled)
      memcpy(to, from, (size_t)copy.wide);
  }
  /* Tiles at an edge bring rows that nobody has written, in which the allocator may have left our mark. */
  for (i = 0; i < copy.bytes / 4; i++)
    if (memcmp((char *)copy.to + 4 * i, &unwritten, 4) == 0)
      memset((char *)copy.to + 4 * i, 0, 4);
  sgemm__cpu_mbarrier_progress(copy.mbarrier, 0, copy.bytes);
  return 1;
}

/* Runs all threads of a block to the next barrier, and tells whether that is possible: who pauses on the way takes turn
   after turn. */
static int sgemm__cpu_run_threads(sgemm__cpu_worker *w, sgemm__cpu_fiber *fibers) {
  const int threads = (int)w->grid->size.threads;
  int i, paused = threads;
  for (i = 0; i < threads; i++) {
    fibers[i].paused = 1;
    fibers[i].mbarrier = NULL;
  }
  while (paused > 0) {
    int turns = 0;
    paused = 0;
    sgemm__cpu_reorder(w);
    for (i = 0; i < threads; i++) {
      sgemm__cpu_fiber *f = &fibers[w->order[i]];
      if (f->paused && (f->mbarrier == NULL || (f->mbarrier->phase & 1) != f->parity)) {
        f->paused = 0;
        turns++;
        w->thread = w->order[i];
        sgemm__count_turn(w->thread);
        sgemm__cpu_resume(w);
        if (atomic_load_explicit(&w->grid->failed, memory_order_relaxed))
          return 0;
      }
      paused += f->paused;
    }
    if (paused > 0 && turns == 0 && !sgemm__cpu_copy_one(w)) {
      for (i = 0; !fibers[i].paused; i++)
        ;
      w->thread = i;
      sgemm__cpu_fail(SGEMM_ERROR_DIVERGENCE, "waits for what no other thread brings", NULL, 0);
      return 0;
    }
  }
  return 1;
}

/* Runs the block of a rank from barrier to barrier, until all its threads have left or wait for the cluster. */
static void sgemm__cpu_run_block(sgemm__cpu_worker *w, int rank) {
  const int threads = (int)w->grid->size.threads;
  sgemm__cpu_fiber *fibers = w->fibers + rank * threads;
  int i, line = 1;
  w->block += rank - w->rank;
  w->rank = rank;
  while (line > 0) {
    if (!sgemm__cpu_run_threads(w, fibers))
      return;
    for (i = 0; i < threads; i++)
      if (fibers[w->order[i]].line != fibers[w->order[0]].line) {
        w->thread = w->order[i];
        sgemm__cpu_fail(SGEMM_ERROR_DIVERGENCE, "not at the barrier of the other threads", NULL, 0);
        return;
      }
    line = fibers[0].line;
    sgemm__count_barrier(threads, line);
  }
  if (line == 0 && w->bulk_count > 0) {
    sgemm__cpu_fail(SGEMM_ERROR_DIVERGENCE, "its block has ended before a copy to its shared memory", NULL, 0);
    return;
  }
  if (line == 0) /* its shared memory is gone, whoever reads it yet */
    for (i = 0; i < w->array_count; i++)
      if ((char *)w->arrays[i].first == w->dynamic[rank])
        sgemm__cpu_unwrite(w->arrays[i].first, w->arrays[i].count);
}

/* Runs the cluster whose first block is the worker's, from one barrier of all its blocks to the next. */
static void sgemm__cpu_run_cluster(sgemm__cpu_worker *w) {
  const int ranks = (int)w->grid->size.cluster, threads = (int)w->grid->size.threads;
  int i;
  w->rank = 0;
  w->array_count = 0;
  w->random = (w->grid->model.seed + 1) * 0x9e3779b97f4a7c15u ^ (uint64_t)(w->block + 1) * 0xbf58476d1ce4e5b9u;
  w->random += w->random == 0;
  w->bulk_count = 0;
  for (i = 0; i < ranks * threads; i++)
    w->fibers[i].count = w->fibers[i].group = w->fibers[i].product_count = w->fibers[i].committed = 0;
  for (i = 0; i < 32; i++)
    sgemm__mbarrier_init(&w->warps[i], 32);
  for (i = 0; i < 2; i++)
    sgemm__mbarrier_init(&w->turns[i], 256);
  sgemm__mbarrier_init(&w->some, 0); /* the first to wait knows how many they are */
  for (i = 0; i < ranks && w->grid->size.shared > 0; i++)
    sgemm__cpu_declare((float *)w->dynamic[i], w->grid->size.shared / sizeof(float), "shared memory");
  do {
    for (i = 0; i < ranks; i++) {
      const int before = w->rank;
      sgemm__cpu_run_block(w, w->grid->model.order == SGEMM_MODEL_BACKWARD ? ranks - 1 - i : i);
      if (!atomic_load(&w->grid->failed) && i > 0 &&
          w->fibers[w->rank * threads].line != w->fibers[before * threads].line)
        sgemm__cpu_fail(SGEMM_ERROR_DIVERGENCE, "its block is not at the barrier of the cluster's others", NULL, 0);
      if (atomic_load(&w->grid->failed))
        return;
    }
  } while (w->fibers[0].line != 0);
}

/* One OS thread of a launch: makes its fibers and runs clusters while there are any. */
static void *sgemm__cpu_work(void *grid) {
  sgemm__cpu_worker w;
  int t, ranks, fibers;
  int64_t blocks;
  memset(&w, 0, sizeof w);
  w.grid = (sgemm__cpu_grid *)grid;
  ranks = (int)w.grid->size.cluster;
  fibers = (int)w.grid->size.threads * ranks;
  blocks = (int64_t)w.grid->size.x * w.grid->size.y * w.grid->size.z;
  w.fibers = (sgemm__cpu_fiber *)calloc((size_t)fibers, sizeof *w.fibers);
  w.stacks = (char *)malloc((size_t)fibers * SGEMM__CPU_STACK);
  w.order = (int *)malloc((size_t)w.grid->size.threads * sizeof *w.order);
  sgemm__cpu = &w;
  for (t = 0; t < ranks && w.grid->size.shared > 0; t++) {
    /* C11 asks for a size that is a multiple of the alignment. */
    w.dynamic[t] = (char *)aligned_alloc(1024, (size_t)sgemm__ceil_div(w.grid->size.shared, 1024) * 1024);
    if (w.dynamic[t] == NULL)
      sgemm__cpu_fail(SGEMM_ERROR_MEMORY, "no memory for the shared memory", NULL, 0);
  }
  if (w.fibers == NULL || w.stacks == NULL || w.order == NULL)
    sgemm__cpu_fail(SGEMM_ERROR_MEMORY, "no memory for the fibers", NULL, 0);
  for (t = 0; t < fibers && !atomic_load(&w.grid->failed); t++) {
    sgemm__cpu_fiber *f = &w.fibers[t];
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = w.stacks + (size_t)t * SGEMM__CPU_STACK;
    f->context.uc_stack.ss_size = SGEMM__CPU_STACK;
    f->context.uc_link = NULL;
    makecontext(&f->context, sgemm__cpu_fiber_main, 0);
  }
  while (!atomic_load(&w.grid->failed) && (w.block = atomic_fetch_add(&w.grid->next_block, ranks)) < blocks)
    sgemm__cpu_run_cluster(&w);
  sgemm__count_finish(&w.grid->counts, &w.grid->lock);
  sgemm__cpu = NULL;
  for (t = 0; t < fibers && w.fibers != NULL; t++)
    free(w.fibers[t].copies);
  for (t = 0; t < ranks; t++)
    free(w.dynamic[t]);
  free(w.bulk);
  free(w.order);
  free(w.stacks);
  free(w.fibers);
  return NULL;
}

/* Runs a launch to its end on the calling thread and as many more as the model and the number of blocks ask for. */
static sgemm_status sgemm__cpu_launch(sgemm__kernel kernel, sgemm__grid size, const void *args) {
  enum { MOST = 64 };
  pthread_t helpers[MOST];
  const int64_t blocks = (int64_t)size.x * size.y * size.z;
  const long online = sgemm__cpu_model.cores > 0 ? sgemm__cpu_model.cores : sysconf(_SC_NPROCESSORS_ONLN);
  sgemm__cpu_grid g;
  int started = 0;
  memset(&g, 0, sizeof g);
  g.kernel = kernel;
  g.args = args;
  g.size = size;
  g.model = sgemm__cpu_model;
  pthread_mutex_init(&g.lock, NULL);
  while (started < MOST && started + 1 < online && started + 1 < blocks &&
         pthread_create(&helpers[started], NULL, sgemm__cpu_work, &g) == 0)
    started++; /* a thread that cannot be had only makes the launch slower */
  sgemm__cpu_work(&g);
  while (started > 0)
    pthread_join(helpers[--started], NULL);
  pthread_mutex_destroy(&g.lock);
  sgemm__cpu_counts = g.counts;
  if (g.status != SGEMM_SUCCESS)
    memcpy(sgemm__cpu_message, g.message, sizeof g.message);
  return g.status;
}

#endif /* SGEMM_CPU_H */
