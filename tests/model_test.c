/* Tests of the tests' own tools. The CPU model must report the fault of each faulty kernel in this file. The checks of
   testing.h must refuse each wrong multiplication in this file. Compiled with SGEMM_CPU=1. */
#define _POSIX_C_SOURCE 200809L /* setenv() */
#define SGEMM_IMPLEMENTATION
#include "tests/testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* ---- Kernels for the model --------------------------------------------------------------------------------------- */

enum { THREADS = 64 };

/* The address of this thread's result. The thread may store it: it has waited for the preceding kernel. */
static float *own_result(const sgemm__args *args) {
  sgemm__pdl_wait();
  return args->C + ((int64_t)sgemm__block_x() + sgemm__block_yz() * args->m) * THREADS + sgemm__thread();
}

/* Thread t stores what thread THREADS - 1 - t wrote to shared memory. barrier 0: no barrier before the load. */
static inline void reverse(const sgemm__args *args, float *tile, int barrier) {
  const int t = sgemm__thread();
  sgemm__store_shared(tile + t, (float)(t + 1));
  if (barrier)
    sgemm__barrier();
  sgemm__store_global(own_result(args), sgemm__load_shared(tile + THREADS - 1 - t));
}

SGEMM__GLOBAL(reverse_right, THREADS, 1, sgemm__args) {
  SGEMM__SHARED(tile, THREADS);
  reverse(&args, tile, 1);
}

SGEMM__GLOBAL(reverse_unsynchronised, THREADS, 1, sgemm__args) {
  SGEMM__SHARED(tile, THREADS);
  reverse(&args, tile, 0);
}

/* Each thread replaces its word by the next thread's word. barrier 0: no barrier between the load and the store, so the
   store may come before another thread's load. */
static inline void rotate(const sgemm__args *args, float *tile, int barrier) {
  const int t = sgemm__thread();
  float x;
  sgemm__store_shared(tile + t, (float)(t + 1));
  sgemm__barrier();
  x = sgemm__load_shared(tile + (t + 1) % THREADS);
  if (barrier)
    sgemm__barrier();
  sgemm__store_shared(tile + t, x);
  sgemm__barrier();
  sgemm__store_global(own_result(args), sgemm__load_shared(tile + t));
}

SGEMM__GLOBAL(rotate_right, THREADS, 1, sgemm__args) {
  SGEMM__SHARED(tile, THREADS);
  rotate(&args, tile, 1);
}

SGEMM__GLOBAL(rotate_unsynchronised, THREADS, 1, sgemm__args) {
  SGEMM__SHARED(tile, THREADS);
  rotate(&args, tile, 0);
}

/* Half of the threads exit without the barrier. */
SGEMM__GLOBAL(half_of_the_threads_exit, THREADS, 1, sgemm__args) {
  if (sgemm__thread() < 32)
    sgemm__barrier();
  sgemm__store_global(own_result(&args), 1.0f);
}

/* Odd threads wait at one barrier, even ones at another. */
SGEMM__GLOBAL(two_barriers, THREADS, 1, sgemm__args) {
  if (sgemm__thread() % 2)
    sgemm__barrier();
  else
    sgemm__barrier();
  sgemm__store_global(own_result(&args), 1.0f);
}

/* The last thread has one iteration less. */
SGEMM__GLOBAL(uneven_loops, THREADS, 1, sgemm__args) {
  int i;
  for (i = 0; i < 3 - (sgemm__thread() == THREADS - 1); i++)
    sgemm__barrier();
  sgemm__store_global(own_result(&args), 1.0f);
}

/* Thread 7 of block (2, 1, 0) reads a word of the second array that no thread wrote. */
SGEMM__GLOBAL(unwritten, THREADS, 1, sgemm__args) {
  SGEMM__SHARED(As, THREADS);
  SGEMM__SHARED(Bs, 2 * THREADS);
  const int t = sgemm__thread(), astray = sgemm__block_x() == 2 && sgemm__block_yz() == 1 && t == 7;
  sgemm__store_shared(As + t, 1.0f);
  sgemm__store_shared(Bs + t, 1.0f);
  sgemm__barrier();
  sgemm__store_global(own_result(&args),
                      sgemm__load_shared(As + t) + sgemm__load_shared(Bs + (astray ? THREADS + 5 : t)));
}

/* Only the first block writes. The next block must not read the words of the first. */
SGEMM__GLOBAL(words_of_another_block, THREADS, 1, sgemm__args) {
  SGEMM__SHARED(tile, THREADS);
  if (sgemm__block_x() == 0)
    sgemm__store_shared(tile + sgemm__thread(), 1.0f);
  sgemm__barrier();
  sgemm__store_global(own_result(&args), sgemm__load_shared(tile + sgemm__thread()));
}

/* Thread 3 of each block stores four words to an address that is 4 bytes behind a multiple of 16. */
SGEMM__GLOBAL(misaligned, THREADS, 1, sgemm__args) {
  SGEMM__SHARED(tile, 4 * THREADS + 4);
  const float r[4] = {1.0f, 2.0f, 3.0f, 4.0f};
  const int t = sgemm__thread();
  sgemm__store_shared4(tile + 4 * t + (t == 3), r);
  sgemm__store_global(own_result(&args), sgemm__load_shared(tile + 4 * t + (t == 3)));
}

/* Each thread writes NaN or Inf and reads it. */
SGEMM__GLOBAL(nonfinite_words, THREADS, 1, sgemm__args) {
  SGEMM__SHARED(tile, THREADS);
  const int t = sgemm__thread();
  sgemm__store_shared(tile + t, t % 2 ? NAN : INFINITY - (t % 4 ? INFINITY : 0.0f));
  sgemm__barrier();
  sgemm__store_global(own_result(&args), sgemm__load_shared(tile + t));
}

/* Each thread copies a word of global memory, or a zero, to its word of shared memory (cp.async). Its result is the
   word that thread THREADS - 1 - t copied. */
typedef enum omission { NOTHING, WAIT, BARRIER } omission;

static const float SOURCE[4 * THREADS] = {1.0f, 2.0f, 3.0f, 4.0f};

static inline void copy_reverse(const sgemm__args *args, float *tile, omission omission) {
  const int t = sgemm__thread();
  sgemm__pdl_wait();
  sgemm__copy(tile + t, SOURCE + t, t < 4);
  sgemm__copy_commit();
  if (omission != WAIT)
    sgemm__copy_wait(0);
  if (omission != BARRIER)
    sgemm__barrier();
  sgemm__store_global(own_result(args), sgemm__load_shared(tile + THREADS - 1 - t));
}

SGEMM__GLOBAL(copy_right, THREADS, 1, sgemm__args) {
  SGEMM__SHARED_DYNAMIC(tile);
  copy_reverse(&args, tile, NOTHING);
}

SGEMM__GLOBAL(copy_without_wait, THREADS, 1, sgemm__args) {
  SGEMM__SHARED_DYNAMIC(tile);
  copy_reverse(&args, tile, WAIT);
}

SGEMM__GLOBAL(copy_without_barrier, THREADS, 1, sgemm__args) {
  SGEMM__SHARED_DYNAMIC(tile);
  copy_reverse(&args, tile, BARRIER);
}

/* Each thread copies three commit groups, waits until at most `pending` are incomplete, and reads its words of the
   first two. */
static inline void copy_groups(const sgemm__args *args, float *tile, int pending) {
  const int t = sgemm__thread();
  int i;
  sgemm__pdl_wait();
  for (i = 0; i < 3; i++) {
    sgemm__copy4(tile + (3 * t + i) * 4, SOURCE);
    sgemm__copy_commit();
  }
  sgemm__copy_wait(pending);
  sgemm__store_global(own_result(args), sgemm__load_shared(tile + 12 * t) + sgemm__load_shared(tile + 12 * t + 7));
}

SGEMM__GLOBAL(copy_groups_right, THREADS, 1, sgemm__args) {
  SGEMM__SHARED_DYNAMIC(tile);
  copy_groups(&args, tile, 1);
}

SGEMM__GLOBAL(copy_groups_too_few, THREADS, 1, sgemm__args) {
  SGEMM__SHARED_DYNAMIC(tile);
  copy_groups(&args, tile, 2);
}

/* Each thread copies to the next thread's word. No barrier makes sure that the next thread has read it. */
SGEMM__GLOBAL(copy_before_the_read, THREADS, 1, sgemm__args) {
  SGEMM__SHARED_DYNAMIC(tile);
  const int t = sgemm__thread();
  sgemm__pdl_wait();
  sgemm__store_shared(tile + t, 1.0f);
  sgemm__barrier();
  sgemm__copy(tile + (t + 1) % THREADS, SOURCE, 1);
  sgemm__copy_commit();
  sgemm__store_global(own_result(&args), sgemm__load_shared(tile + t));
  sgemm__barrier();
  sgemm__copy_wait(0);
}

/* Thread 5 copies 16 bytes to, or from, an address that is 4 bytes behind a multiple of 16. */
SGEMM__GLOBAL(copy_to_misaligned, THREADS, 1, sgemm__args) {
  SGEMM__SHARED_DYNAMIC(tile);
  (void)args;
  sgemm__pdl_wait();
  sgemm__copy4(tile + 4 * sgemm__thread() + (sgemm__thread() == 5), SOURCE);
}

SGEMM__GLOBAL(copy_from_misaligned, THREADS, 1, sgemm__args) {
  SGEMM__SHARED_DYNAMIC(tile);
  (void)args;
  sgemm__pdl_wait();
  sgemm__copy4(tile + 4 * sgemm__thread(), SOURCE + (sgemm__thread() == 5));
}

/* Each thread reads what the same thread of the cluster's next block has stored. first, last: 1 if a cluster barrier
   comes before and after the read. */
static inline void next_block(const sgemm__args *args, float *tile, int first, int last) {
  const int t = sgemm__thread();
  const uint32_t rank = sgemm__cluster_rank();
  const float mine[4] = {(float)rank, (float)t, 0.0f, 0.0f};
  float r[4];
  sgemm__store_shared4(tile + 4 * t, mine);
  if (first)
    sgemm__cluster_barrier();
  sgemm__load_cluster4(r, tile + 4 * t, (rank + 1) % sgemm__cluster_size());
  sgemm__store_global(own_result(args), 100.0f * r[0] + r[1]);
  if (last)
    sgemm__cluster_barrier();
}

SGEMM__GLOBAL(cluster_right, THREADS, 1, sgemm__args) {
  SGEMM__SHARED_DYNAMIC(tile);
  next_block(&args, tile, 1, 1);
}

SGEMM__GLOBAL(cluster_reads_early, THREADS, 1, sgemm__args) {
  SGEMM__SHARED_DYNAMIC(tile);
  next_block(&args, tile, 0, 1);
}

SGEMM__GLOBAL(cluster_exits_early, THREADS, 1, sgemm__args) {
  SGEMM__SHARED_DYNAMIC(tile);
  next_block(&args, tile, 1, 0);
}

/* Block 1 of each cluster exits without the cluster barrier. */
SGEMM__GLOBAL(block_exits, THREADS, 1, sgemm__args) {
  if (sgemm__cluster_rank() != 1)
    sgemm__cluster_barrier();
  sgemm__store_global(own_result(&args), 1.0f);
}

/* Odd threads wait at a cluster barrier, even ones at a block barrier. */
SGEMM__GLOBAL(block_and_cluster_barrier, THREADS, 1, sgemm__args) {
  if (sgemm__thread() % 2)
    sgemm__cluster_barrier();
  else
    sgemm__barrier();
  sgemm__store_global(own_result(&args), 1.0f);
}

enum { X = 3, Y = 2, Z = 2, RESULTS = X * Y * Z * THREADS };

/* The producer, thread 32, fills two buffers of 4 floats alternately. The consumers, the threads of warp 0, each sum
   what they read. */
typedef enum pipe_fault { NO_FAULT, NO_WAIT, NO_BYTES, NO_ARRIVAL, NO_SYNC, NO_COPY, EARLY_END, NO_INIT } pipe_fault;

static const float FILLS[6][4] __attribute__((aligned(16))) = {{1.0f}, {2.0f}, {4.0f}, {8.0f}, {16.0f}, {32.0f}};

static inline void pipeline(const sgemm__args *args, float *tile, sgemm__mbarrier *full, pipe_fault fault) {
  const int t = sgemm__thread(), fills = fault == EARLY_END ? 7 : 6;
  sgemm__mbarrier *empty = full + 2;
  float sum = 0.0f;
  int i;
  if (t < 2 && fault != NO_INIT) {
    sgemm__mbarrier_init(full + t, 1);
    sgemm__mbarrier_init(empty + t, 1);
  }
  sgemm__mbarrier_init_fence();
  sgemm__barrier();
  sgemm__pdl_wait();
  for (i = 0; i < fills && t == 32; i++) {
    sgemm__mbarrier_wait(empty + i % 2, i / 2 % 2 ^ 1);
    sgemm__mbarrier_arrive_expect_tx(full + i % 2, fault == NO_BYTES ? 0 : 16);
    if (fault != NO_COPY)
      sgemm__copy_bulk(tile + i % 2 * 4, FILLS[i % 6], 16, full + i % 2);
  }
  for (i = 0; i < 6 && t < 32; i++) {
    if (fault != NO_WAIT)
      sgemm__mbarrier_wait(full + i % 2, i / 2 % 2);
    sum += sgemm__load_shared(tile + i % 2 * 4);
    if (fault != NO_SYNC)
      sgemm__warp_barrier();
    if (t == 0 && fault != NO_ARRIVAL)
      sgemm__mbarrier_arrive(empty + i % 2);
  }
  sgemm__store_global(own_result(args), sum);
}

#define PIPE(name, fault)                                                                                              \
  SGEMM__GLOBAL(name, THREADS, 1, sgemm__args) {                                                                       \
    SGEMM__SHARED(tile, 8);                                                                                            \
    SGEMM__SHARED_MBARRIERS(barriers, 4);                                                                              \
    pipeline(&args, tile, barriers, fault);                                                                            \
  }
PIPE(pipe_right, NO_FAULT)
PIPE(pipe_without_wait, NO_WAIT)
PIPE(pipe_without_bytes, NO_BYTES)
PIPE(pipe_without_arrival, NO_ARRIVAL)
PIPE(pipe_without_warp_barrier, NO_SYNC)
PIPE(pipe_without_copy, NO_COPY)
PIPE(pipe_ends_early, EARLY_END)
PIPE(pipe_without_init, NO_INIT)

/* Thread 0 copies to an address that is 4 bytes behind a multiple of 16. */
SGEMM__GLOBAL(bulk_misaligned, THREADS, 1, sgemm__args) {
  SGEMM__SHARED_DYNAMIC(tile);
  SGEMM__SHARED_MBARRIERS(barriers, 1);
  (void)args;
  sgemm__pdl_wait();
  if (sgemm__thread() == 0) {
    sgemm__mbarrier_init(barriers, 1);
    sgemm__copy_bulk(tile + 1, SOURCE, 16, barriers);
  }
}

/* Thread 0 copies a box of 4 rows that begins in column x and row y of a matrix. The tensor map has one matrix, C. */
static inline void copy_box(const sgemm__args *args, float *tile, sgemm__mbarrier *full, int64_t ld, int x, int y,
                            int matrix) {
  const sgemm__tensor_map map = {
      .first = args->C, .row_length = 4, .rows = 4, .ld = ld, .matrices = 1, .stride = 4, .box_rows = 4};
  sgemm__pdl_wait();
  if (sgemm__thread() == 0) {
    sgemm__mbarrier_init(full, 1);
    sgemm__copy_box(tile, &map, x, y, matrix, full);
  }
}

#define BOX(name, ld, x, y, matrix)                                                                                    \
  SGEMM__GLOBAL(name, THREADS, 1, sgemm__args) {                                                                       \
    SGEMM__SHARED_DYNAMIC(tile);                                                                                       \
    SGEMM__SHARED_MBARRIERS(barriers, 1);                                                                              \
    copy_box(&args, tile, barriers, ld, x, y, matrix);                                                                 \
  }
BOX(box_of_unaligned_rows, 6, 0, 0, 0)
BOX(box_before_the_first_column, 4, -32, 0, 0)
BOX(box_before_the_first_row, 4, 0, -1, 0)
BOX(box_of_no_matrix, 4, 0, 0, 1)

/* Each thread accesses global memory, with the PDL wait before the access or behind it. */
typedef enum global_access { LOAD, LOAD4, STORE, STORE2, STORE4, STORE_WORDS4, COPY, BULK, ACCESSES } global_access;

static inline void access_global(const sgemm__args *args, float *tile, sgemm__mbarrier *full, global_access access,
                                 int waits) {
  const int t = sgemm__thread();
  float *const result = args->C + ((int64_t)sgemm__block_x() + sgemm__block_yz() * args->m) * THREADS + t / 4 * 4;
  const uint32_t words[4] = {0};
  float r[4] = {0.0f};
  if (waits)
    sgemm__pdl_wait();
  if (access == LOAD)
    sgemm__load_global(SOURCE + t);
  if (access == LOAD4)
    sgemm__load_global4(r, SOURCE);
  if (access == STORE)
    sgemm__store_global(result, 0.0f);
  if (access == STORE2)
    sgemm__store_global2(result, 0.0f, 0.0f);
  if (access == STORE4)
    sgemm__store_global4(result, r);
  if (access == STORE_WORDS4)
    sgemm__store_words4(result, words);
  if (access == COPY) {
    sgemm__copy(tile + t, SOURCE, 1);
    sgemm__copy_commit();
    sgemm__copy_wait(0);
  }
  if (access == BULK && t == 0) {
    sgemm__mbarrier_init(full, 1);
    sgemm__mbarrier_arrive_expect_tx(full, 16);
    sgemm__copy_bulk(tile, SOURCE, 16, full);
    sgemm__mbarrier_wait(full, 0);
  }
  sgemm__pdl_wait();
}

#define ACCESS(name, access)                                                                                           \
  SGEMM__GLOBAL(name##_after_the_wait, THREADS, 1, sgemm__args) {                                                      \
    SGEMM__SHARED_DYNAMIC(tile);                                                                                       \
    SGEMM__SHARED_MBARRIERS(barriers, 1);                                                                              \
    access_global(&args, tile, barriers, access, 1);                                                                   \
  }                                                                                                                    \
  SGEMM__GLOBAL(name##_before_the_wait, THREADS, 1, sgemm__args) {                                                     \
    SGEMM__SHARED_DYNAMIC(tile);                                                                                       \
    SGEMM__SHARED_MBARRIERS(barriers, 1);                                                                              \
    access_global(&args, tile, barriers, access, 0);                                                                   \
  }
ACCESS(load, LOAD)
ACCESS(load4, LOAD4)
ACCESS(store, STORE)
ACCESS(store2, STORE2)
ACCESS(store4, STORE4)
ACCESS(store_words4, STORE_WORDS4)
ACCESS(copy, COPY)
ACCESS(bulk, BULK)

/* The first `lanes` lanes of each warp call a function that needs all lanes. */
typedef enum collective { DIFFER, ELECT, FENCE, COMMIT, PRODUCTS_WAIT, COLLECTIVES } collective;

static inline void collect(const sgemm__args *args, float *tile, collective function, int lanes) {
  float result = 0.0f;
  sgemm__store_shared(tile + sgemm__thread(), 0.0f);
  sgemm__barrier();
  if (sgemm__thread() % 32 < lanes) {
    if (function == DIFFER)
      result = (float)sgemm__vectors_differ(tile + 32, tile + 48, 4);
    if (function == ELECT)
      result = (float)sgemm__elect_one();
    if (function == FENCE)
      sgemm__wgmma_fence();
    if (function == COMMIT)
      sgemm__wgmma_commit();
    if (function == PRODUCTS_WAIT)
      sgemm__wgmma_wait(&result, 1);
  }
  sgemm__store_global(own_result(args), result);
}

#define COLLECT(name, function)                                                                                        \
  SGEMM__GLOBAL(warp_##name, THREADS, 1, sgemm__args) {                                                                \
    SGEMM__SHARED_DYNAMIC(tile);                                                                                       \
    collect(&args, tile, function, 32);                                                                                \
  }                                                                                                                    \
  SGEMM__GLOBAL(half_warp_##name, THREADS, 1, sgemm__args) {                                                           \
    SGEMM__SHARED_DYNAMIC(tile);                                                                                       \
    collect(&args, tile, function, 16);                                                                                \
  }
COLLECT(differ, DIFFER)
COLLECT(elect, ELECT)
COLLECT(fence, FENCE)
COLLECT(commit, COMMIT)
COLLECT(products_wait, PRODUCTS_WAIT)

/* All threads use sgemm__barrier_threads() and then the barrier of warpgroup 0, which is the same on the GPU. */
SGEMM__GLOBAL(barrier_1_has_two_purposes, THREADS, 1, sgemm__args) {
  sgemm__barrier_threads(THREADS);
  sgemm__order_arrive(0);
  sgemm__store_global(own_result(&args), 1.0f);
}

/* The barrier of warpgroup 1 is another one. */
SGEMM__GLOBAL(barriers_1_and_2, THREADS, 1, sgemm__args) {
  sgemm__barrier_threads(THREADS);
  sgemm__order_arrive(1);
  sgemm__store_global(own_result(&args), 1.0f);
}

/* Each thread declares more shared arrays than the model has room for. */
SGEMM__GLOBAL(too_many_arrays, THREADS, 1, sgemm__args) {
  static _Thread_local float arrays[SGEMM__CPU_ARRAYS + 1][4];
  int i;
  for (i = 0; i <= SGEMM__CPU_ARRAYS; i++)
    sgemm__cpu_declare(arrays[i], 4, "arrays");
  sgemm__store_global(own_result(&args), 1.0f);
}

/* A warpgroup multiplies 64 x 16 and 16 x 64 fp16 numbers twice: C = A B, then C += A B. A and B are stored as groups
   of 8 rows, each with 2 matrices of 8 x 8. */
static inline void tensor_product(const sgemm__args *args, float *tile, sgemm__mbarrier *full, int commit) {
  const int t = sgemm__thread();
  const sgemm__matrix_descriptor a = sgemm__matrix_descriptor_at(tile, 256),
                                 b = sgemm__matrix_descriptor_advance(a, 2048);
  float d[32];
  int g, j;
  if (t == 0)
    sgemm__mbarrier_init(full, 1);
  sgemm__barrier();
  sgemm__pdl_wait();
  if (t == 0) {
    sgemm__mbarrier_arrive_expect_tx(full, 4096);
    sgemm__copy_bulk(tile, args->A, 2048, full);
    sgemm__copy_bulk(tile + 512, args->B, 2048, full);
  }
  sgemm__mbarrier_wait(full, 0);
  sgemm__wgmma_fence();
  sgemm__wgmma(d, a, b, 0, SGEMM_FORMAT_fp16x3, 64);
  sgemm__wgmma(d, a, b, 1, SGEMM_FORMAT_fp16x3, 64);
  if (commit)
    sgemm__wgmma_commit();
  sgemm__wgmma_wait(d, 32);
  for (g = 0; g < 8; g++)
    for (j = 0; j < 4; j++)
      sgemm__store_global(args->C + (t / 32 * 16 + t % 32 / 4 + j / 2 * 8) * 64 + g * 8 + t % 4 * 2 + j % 2,
                          d[g * 4 + j]);
}

SGEMM__GLOBAL(tensor_right, 128, 1, sgemm__args) {
  SGEMM__SHARED_DYNAMIC(tile);
  SGEMM__SHARED_MBARRIERS(barriers, 1);
  tensor_product(&args, tile, barriers, 1);
}

SGEMM__GLOBAL(tensor_without_commit, 128, 1, sgemm__args) {
  SGEMM__SHARED_DYNAMIC(tile);
  SGEMM__SHARED_MBARRIERS(barriers, 1);
  tensor_product(&args, tile, barriers, 0);
}

SGEMM__GLOBAL(mma_unwritten, THREADS, 1, sgemm__args) {
  SGEMM__SHARED_DYNAMIC(tile);
  sgemm__fragment a, b;
  float d[4];
  sgemm__load_fragment_a(&a, (const char *)tile, 256);
  sgemm__load_fragment_b(&b, (const char *)tile);
  sgemm__mma(d, &a, &b, 0, 0, SGEMM_FORMAT_fp16x3);
  sgemm__pdl_wait();
  sgemm__store_global(args.C + sgemm__thread(), d[0]);
}

/* Bytes of dynamic shared memory of a block: 12 floats a thread, the largest use of a kernel of this file. */
enum { SHARED = 12 * THREADS * (int)sizeof(float) };

/* Launches X x Y x Z blocks on schedule s; clusters 1: in clusters of X blocks. out: RESULTS floats. */
static sgemm_status launch_in(sgemm__kernel kernel, int clusters, int s, float *out) {
  const sgemm__grid grid = {X, Y, Z, THREADS, clusters ? X : 1, SHARED};
  sgemm__args args;
  memset(&args, 0, sizeof args);
  memset(out, 0, RESULTS * sizeof *out);
  args.C = out;
  args.m = X;
  schedule(s);
  return sgemm__cpu_launch(kernel, grid, &args);
}

static sgemm_status launch(sgemm__kernel kernel, int s, float *out) { return launch_in(kernel, 0, s, out); }

static void expect_fault_in(sgemm__kernel kernel, int clusters, int s, sgemm_status status, const char *where) {
  float out[RESULTS] __attribute__((aligned(16)));
  const sgemm_status got = launch_in(kernel, clusters, s, out);
  cr_assert(got == status, "status %d, want %d (%s)", got, status, sgemm_model_error());
  cr_assert(strstr(sgemm_model_error(), where) != NULL, "\"%s\" does not say \"%s\"", sgemm_model_error(), where);
}

static void expect_fault(sgemm__kernel kernel, int s, sgemm_status status, const char *where) {
  expect_fault_in(kernel, 0, s, status, where);
}

Test(model, every_thread_of_every_block_runs_once) {
  float out[RESULTS];
  int s, i;
  for (s = 0; s < SCHEDULES; s++) {
    cr_assert(launch(reverse_right, s, out) == SGEMM_SUCCESS, "%s", sgemm_model_error());
    for (i = 0; i < RESULTS; i++)
      cr_assert(out[i] == (float)(THREADS - i % THREADS), "schedule %d: result %d is %g", s, i, (double)out[i]);
  }
  cr_assert_str_empty(sgemm_model_error());
}

Test(model, a_missing_barrier_reads_unwritten_words) {
  expect_fault(reverse_unsynchronised, 0, SGEMM_ERROR_UNWRITTEN, "block (0, 0, 0), thread 0: ");
  expect_fault(reverse_unsynchronised, 0, SGEMM_ERROR_UNWRITTEN, "tile[63]");
}

Test(model, a_missing_barrier_changes_the_bits) {
  float first[RESULTS], out[RESULTS];
  int s, different = 0;
  for (s = 0; s < SCHEDULES; s++) {
    cr_assert(launch(rotate_right, s, s ? out : first) == SGEMM_SUCCESS);
    cr_assert(s == 0 || memcmp(first, out, sizeof out) == 0, "schedule %d", s);
  }
  for (s = 0; s < SCHEDULES; s++) {
    cr_assert(launch(rotate_unsynchronised, s, out) == SGEMM_SUCCESS);
    different += memcmp(first, out, sizeof out) != 0;
  }
  cr_assert(different == SCHEDULES, "the race changes the bits on %d of %d schedules", different, SCHEDULES);
}

Test(model, divergence) {
  expect_fault(half_of_the_threads_exit, 0, SGEMM_ERROR_DIVERGENCE, "block (0, 0, 0), thread 32: ");
  expect_fault(two_barriers, 0, SGEMM_ERROR_DIVERGENCE, "block (0, 0, 0), thread 1: ");
  expect_fault(uneven_loops, 0, SGEMM_ERROR_DIVERGENCE, "block (0, 0, 0), thread 63: ");
}

Test(model, divergence_on_every_schedule) {
  int s;
  for (s = 0; s < SCHEDULES; s++) {
    expect_fault(half_of_the_threads_exit, s, SGEMM_ERROR_DIVERGENCE, "thread ");
    expect_fault(two_barriers, s, SGEMM_ERROR_DIVERGENCE, "thread ");
    expect_fault(uneven_loops, s, SGEMM_ERROR_DIVERGENCE, "thread ");
  }
}

Test(model, unwritten_words) {
  int s;
  expect_fault(mma_unwritten, 0, SGEMM_ERROR_UNWRITTEN, "thread 0: read of an unwritten word of tile[0]");
  for (s = 0; s < SCHEDULES; s++)
    expect_fault(unwritten, s, SGEMM_ERROR_UNWRITTEN, "block (2, 1, 0), thread 7: read of an unwritten word of Bs[69]");
  expect_fault(words_of_another_block, 0, SGEMM_ERROR_UNWRITTEN,
               "block (1, 0, 0), thread 0: read of an unwritten word of tile[0]");
}

Test(model, misaligned_vectors) {
  expect_fault(misaligned, 0, SGEMM_ERROR_MISALIGNED, "thread 3: a 128-bit access that is not aligned to 16 bytes");
}

Test(model, copies_complete) {
  float out[RESULTS];
  int s, i;
  for (s = 0; s < SCHEDULES; s++) {
    cr_assert(launch(copy_right, s, out) == SGEMM_SUCCESS, "%s", sgemm_model_error());
    for (i = 0; i < RESULTS; i++) {
      const int from = THREADS - 1 - i % THREADS;
      cr_assert(out[i] == (from < 4 ? (float)(from + 1) : 0.0f), "schedule %d: result %d is %g", s, i, (double)out[i]);
    }
    cr_assert(launch(copy_groups_right, s, out) == SGEMM_SUCCESS, "%s", sgemm_model_error());
    for (i = 0; i < RESULTS; i++)
      cr_assert(out[i] == 5.0f, "schedule %d: result %d is %g", s, i, (double)out[i]);
  }
}

Test(model, a_copy_read_before_its_wait) {
  int s;
  expect_fault(copy_without_wait, 0, SGEMM_ERROR_UNWRITTEN, "block (0, 0, 0), thread 0: ");
  expect_fault(copy_without_wait, 0, SGEMM_ERROR_UNWRITTEN, "tile[63]");
  expect_fault(copy_groups_too_few, 0, SGEMM_ERROR_UNWRITTEN, "thread 0: read of an unwritten word of tile[7]");
  for (s = 0; s < SCHEDULES; s++) {
    expect_fault(copy_without_wait, s, SGEMM_ERROR_UNWRITTEN, "tile");
    expect_fault(copy_groups_too_few, s, SGEMM_ERROR_UNWRITTEN, "tile");
  }
}

/* A wait completes the copies of its own thread. Copies of other threads need a barrier after the wait. A copy to a
   word needs a barrier after the last read of this word: the word is unwritten while the copy is in flight. */
Test(model, a_missing_barrier_with_copies) {
  int s;
  expect_fault(copy_without_barrier, 0, SGEMM_ERROR_UNWRITTEN, "thread 0: read of an unwritten word of tile[63]");
  for (s = 0; s < SCHEDULES; s++) {
    expect_fault(copy_without_barrier, s, SGEMM_ERROR_UNWRITTEN, "tile");
    expect_fault(copy_before_the_read, s, SGEMM_ERROR_UNWRITTEN, "tile");
  }
}

Test(model, misaligned_copies) {
  expect_fault(copy_to_misaligned, 0, SGEMM_ERROR_MISALIGNED, "thread 5: a 128-bit access");
  expect_fault(copy_from_misaligned, 0, SGEMM_ERROR_MISALIGNED, "thread 5: a 128-bit access");
}

/* 1 if the launch succeeds and each thread of warp 0 has the sum of FILLS, the others 0. */
static int sums_fills(sgemm__kernel kernel, int s) {
  float out[RESULTS];
  int i, right = launch(kernel, s, out) == SGEMM_SUCCESS;
  for (i = 0; i < RESULTS; i++)
    right = right && out[i] == (i % THREADS < 32 ? 63.0f : 0.0f);
  return right;
}

Test(model, mbarrier_pipelines) {
  float out[RESULTS];
  int s, faults = 0;
  for (s = 0; s < SCHEDULES; s++) {
    cr_assert(sums_fills(pipe_right, s), "schedule %d: %s", s, sgemm_model_error());
    /* In shuffled order the reading warp may pause until the bytes have arrived: then another wait or a sum is
     wrong. */
    if (s < 2) {
      expect_fault(pipe_without_wait, s, SGEMM_ERROR_UNWRITTEN, "tile");
      expect_fault(pipe_without_bytes, s, SGEMM_ERROR_UNWRITTEN, "tile");
    }
    cr_assert(!sums_fills(pipe_without_wait, s) && !sums_fills(pipe_without_bytes, s), "schedule %d: no fault", s);
    expect_fault(pipe_without_arrival, s, SGEMM_ERROR_DIVERGENCE, "waits for an event that no other thread causes");
    expect_fault(pipe_without_copy, s, SGEMM_ERROR_DIVERGENCE, "waits for an event that no other thread causes");
    expect_fault(pipe_ends_early, s, SGEMM_ERROR_DIVERGENCE, "its block exited before a copy");
    expect_fault(pipe_without_init, s, SGEMM_ERROR_UNWRITTEN, "barriers");
    expect_fault(bulk_misaligned, s, SGEMM_ERROR_MISALIGNED,
                 "thread 0: a bulk copy whose addresses or size are not multiples of 16 bytes");
    faults += launch(pipe_without_warp_barrier, s, out) != SGEMM_SUCCESS;
  }
  cr_assert(faults > 0, "no schedule shows that a lane arrives before the others have read");
}

Test(model, boxes_of_a_tensor_map) {
  expect_fault(box_of_unaligned_rows, 0, SGEMM_ERROR_MISALIGNED,
               "thread 0: a copy by a tensor map of rows that do not");
  expect_fault(box_before_the_first_column, 0, SGEMM_ERROR_MISALIGNED, "begins outside of its matrices");
  expect_fault(box_before_the_first_row, 0, SGEMM_ERROR_MISALIGNED, "begins outside of its matrices");
  expect_fault(box_of_no_matrix, 0, SGEMM_ERROR_MISALIGNED, "begins outside of its matrices");
}

Test(model, accesses_before_the_pdl_wait) {
  static const sgemm__kernel kernels[ACCESSES][2] = {
      {load_before_the_wait, load_after_the_wait},     {load4_before_the_wait, load4_after_the_wait},
      {store_before_the_wait, store_after_the_wait},   {store2_before_the_wait, store2_after_the_wait},
      {store4_before_the_wait, store4_after_the_wait}, {store_words4_before_the_wait, store_words4_after_the_wait},
      {copy_before_the_wait, copy_after_the_wait},     {bulk_before_the_wait, bulk_after_the_wait}};
  float out[RESULTS] __attribute__((aligned(16)));
  int access;
  for (access = 0; access < ACCESSES; access++) {
    expect_fault(kernels[access][0], 0, SGEMM_ERROR_DIVERGENCE,
                 "block (0, 0, 0), thread 0: an access to global memory before the PDL wait");
    cr_assert(launch(kernels[access][1], 0, out) == SGEMM_SUCCESS, "access %d: %s", access, sgemm_model_error());
  }
}

Test(model, functions_that_need_all_lanes) {
  static const sgemm__kernel kernels[COLLECTIVES][2] = {{half_warp_differ, warp_differ},
                                                        {half_warp_elect, warp_elect},
                                                        {half_warp_fence, warp_fence},
                                                        {half_warp_commit, warp_commit},
                                                        {half_warp_products_wait, warp_products_wait}};
  float out[RESULTS];
  int function, s;
  for (function = 0; function < COLLECTIVES; function++)
    for (s = 0; s < SCHEDULES; s++) {
      expect_fault(kernels[function][0], s, SGEMM_ERROR_DIVERGENCE, "waits for an event that no other thread causes");
      cr_assert(launch(kernels[function][1], s, out) == SGEMM_SUCCESS, "%d: %s", function, sgemm_model_error());
      cr_assert(out[0] == (float)(function == ELECT) && out[1] == 0.0f, "%d: %g", function, (double)out[0]);
    }
}

Test(model, named_barriers) {
  float out[RESULTS];
  expect_fault(barrier_1_has_two_purposes, 0, SGEMM_ERROR_DIVERGENCE, "named barrier 1 has two purposes");
  cr_assert(launch(barriers_1_and_2, 0, out) == SGEMM_SUCCESS, "%s", sgemm_model_error());
}

Test(model, too_many_shared_arrays) {
  expect_fault(too_many_arrays, 0, SGEMM_ERROR_MEMORY, "thread 0: no room for shared array arrays[4]");
}

static uint16_t fp16(double x) { return (uint16_t)sgemm__to_fp16((float)x); }

static void tensor_launch(sgemm__kernel kernel, int s, const uint16_t *a, const uint16_t *b, float *c) {
  const sgemm__grid grid = {1, 1, 1, 128, 1, 4096};
  sgemm__args args;
  memset(&args, 0, sizeof args);
  args.A = (const float *)a;
  args.B = (const float *)b;
  args.C = c;
  schedule(s);
  cr_assert(sgemm__cpu_launch(kernel, grid, &args) == SGEMM_SUCCESS, "%s", sgemm_model_error());
}

/* The offset in elements of (row, k) in an operand of tensor_product(). */
static int offset_of(int row, int k) { return row / 8 * 128 + k / 8 * 64 + row % 8 * 8 + k % 8; }

Test(model, tensor_cores_multiply) {
  static uint16_t a[1024] __attribute__((aligned(16))), b[1024] __attribute__((aligned(16)));
  static float c[64 * 64];
  int s, i, j, k;
  for (i = 0; i < 64; i++)
    for (k = 0; k < 16; k++) {
      a[offset_of(i, k)] = fp16((i * 37 + k * 11) % 61 - 30);
      b[offset_of(i, k)] = fp16((i * 23 + k * 7) % 53 - 26);
    }
  for (s = 0; s < SCHEDULES; s++) {
    tensor_launch(tensor_right, s, a, b, c);
    for (i = 0; i < 64; i++)
      for (j = 0; j < 64; j++) {
        int want = 0;
        for (k = 0; k < 16; k++)
          want += 2 * ((i * 37 + k * 11) % 61 - 30) * ((j * 23 + k * 7) % 53 - 26);
        cr_assert(c[i * 64 + j] == (float)want, "(%d, %d) is %g, want %d", i, j, (double)c[i * 64 + j], want);
      }
  }
  tensor_launch(tensor_without_commit, 0, a, b, c);
  cr_assert(isnan(c[0]) && isnan(c[4095]));
}

/* Each product is truncated 25 bits below the largest exponent, and the sum to 24 bits, toward zero. A product of zeros
   has a small exponent. */
Test(model, tensor_cores_truncate) {
  static const struct {
    double first, others; /* one product, and each of `count` others */
    int count;
    double want; /* the result of the first instruction */
  } cases[] = {{1.0, 0x1p-25, 8, 1.0 + 0x1p-22},
               {1.0, 0x1p-26, 8, 1.0},
               {-1.0, -0x1p-25, 8, -1.0 - 0x1p-22},
               {1.0, -0x1p-26, 8, 1.0},
               {1.0, 0x1.8p-25, 8, 1.0 + 0x1p-22},
               {0x1p-30, 0.0, 8, 0x1p-30},
               {1.0, 0x1p-25, 3, 1.0},
               {-1.0, -0x1p-25, 3, -1.0}};
  static uint16_t a[1024] __attribute__((aligned(16))), b[1024] __attribute__((aligned(16)));
  static float c[64 * 64];
  int i, k;
  for (i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    a[offset_of(i, 0)] = fp16(cases[i].first * 0x1p10);
    b[offset_of(5, 0)] = fp16(0x1p-10);
    for (k = 1; k <= cases[i].count; k++) {
      a[offset_of(i, k)] = fp16(cases[i].others * 0x1p13);
      b[offset_of(5, k)] = fp16(0x1p-13);
    }
    tensor_launch(tensor_right, i, a, b, c);
    cr_assert((double)c[i * 64 + 5] == 2.0 * cases[i].want, "case %d: %a", i, (double)c[i * 64 + 5]);
  }
}

/* Every fp16 number converts to fp32 and back. Random fp32 numbers round to fp16 as rint() does in units in the last
   place. */
Test(model, fp16) {
  uint64_t random = 1;
  uint32_t h;
  int i;
  for (h = 0; h < 65536; h++) {
    const int exponent = (int)(h >> 10 & 31), significand = (int)(h & 1023);
    const float x = sgemm__from_fp16(h);
    if (exponent == 31 && significand > 0) {
      cr_assert(isnan(x) && sgemm__to_fp16(x) == 0x7fff);
      continue;
    }
    cr_assert((signbit(x) != 0) == (h >> 15 == 1) && sgemm__to_fp16(x) == h, "0x%x is %a", h, (double)x);
    cr_assert(fabs((double)x) == (exponent == 31  ? (double)INFINITY
                                  : exponent == 0 ? ldexp(significand, -24)
                                                  : ldexp(1024 + significand, exponent - 25)));
  }
  for (i = 0; i < 1 << 20; i++) {
    float x;
    double size, ulp, want;
    uint32_t bits;
    random = random * 6364136223846793005u + 1442695040888963407u;
    /* Every exponent around those of fp16. Half of the numbers have few bits, so that ties are common. */
    bits = (uint32_t)(random >> 32) & (i % 2 ? 0x807fffffu : 0x807ff000u);
    bits |= (uint32_t)(100 + i / 2 % 46) << 23;
    memcpy(&x, &bits, sizeof x);
    size = fabs((double)x);
    ulp = ldexp(1.0, (ilogb(size) > -14 ? ilogb(size) : -14) - 10);
    want = rint(size / ulp) * ulp;
    want = want > 65504.0 ? (double)INFINITY : want;
    h = sgemm__to_fp16(x);
    cr_assert(fabs((double)sgemm__from_fp16(h)) == want && h >> 15 == bits >> 31, "%a became 0x%x", (double)x, h);
  }
  cr_assert(sgemm__to_fp16(65519.996f) == 0x7bff && sgemm__to_fp16(65520.0f) == 0x7c00);
  cr_assert(sgemm__to_fp16(0x1p-25f) == 0 && sgemm__to_fp16(0x1.000002p-25f) == 1 && sgemm__to_fp16(-1e-40f) == 0x8000);
}

/* Every bf16 number converts to itself. Ties round to even. Each NaN becomes 0x7fff. */
Test(model, bf16) {
  static const uint32_t cases[][2] = {{0x7fffffff, 0x7fff}, {0xffffffff, 0x7fff}, {0x7f800001, 0x7fff},
                                      {0xff800001, 0x7fff}, {0x7f7fffff, 0x7f80}, {0xff7fffff, 0xff80},
                                      {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81},
                                      {0x00008000, 0x0000}, {0x00018000, 0x0002}, {0x80000001, 0x8000}};
  uint32_t h;
  int i;
  for (h = 0; h < 65536; h++) {
    const uint32_t want = (h & 0x7fff) > 0x7f80 ? 0x7fff : h;
    cr_assert(sgemm__to_bf16(sgemm__float_of(h << 16)) == want, "0x%x", h);
  }
  for (i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
    cr_assert(sgemm__to_bf16x2(sgemm__float_of(cases[i][0]), 1.0f) == (cases[i][1] | 0x3f80u << 16), "0x%x",
              cases[i][0]);
}

Test(model, clusters_read_each_other) {
  float out[RESULTS];
  int s, i;
  for (s = 0; s < SCHEDULES; s++) {
    cr_assert(launch_in(cluster_right, 1, s, out) == SGEMM_SUCCESS, "%s", sgemm_model_error());
    for (i = 0; i < RESULTS; i++)
      cr_assert(out[i] == (float)((i / THREADS + 1) % X * 100 + i % THREADS), "schedule %d: result %d is %g", s, i,
                (double)out[i]);
  }
}

/* Without the first barrier a block reads words that another has not stored yet. Without the last it reads words of a
   block that has exited. */
Test(model, a_missing_barrier_of_the_cluster) {
  int s;
  expect_fault_in(cluster_reads_early, 1, 0, SGEMM_ERROR_UNWRITTEN, "block (0, 0, 0), thread 0: read of an unwritten");
  expect_fault_in(cluster_exits_early, 1, 0, SGEMM_ERROR_UNWRITTEN, "block (2, 0, 0), thread 0: read of an unwritten");
  for (s = 0; s < SCHEDULES; s++) {
    expect_fault_in(cluster_reads_early, 1, s, SGEMM_ERROR_UNWRITTEN, "read of an unwritten word of ");
    expect_fault_in(cluster_exits_early, 1, s, SGEMM_ERROR_UNWRITTEN, "tile[");
  }
}

Test(model, divergence_in_a_cluster) {
  int s;
  for (s = 0; s < SCHEDULES; s++) {
    expect_fault_in(block_exits, 1, s, SGEMM_ERROR_DIVERGENCE,
                    "its block is not at the barrier of the cluster's others");
    expect_fault_in(block_and_cluster_barrier, 1, s, SGEMM_ERROR_DIVERGENCE, "not at the barrier of the other threads");
  }
}

Test(model, written_nan_is_no_fault) {
  float out[RESULTS];
  int i;
  cr_assert(launch(nonfinite_words, 0, out) == SGEMM_SUCCESS, "%s", sgemm_model_error());
  for (i = 0; i < RESULTS; i++)
    cr_assert(i % 4 ? isnan(out[i]) : isinf(out[i]), "result %d is %g", i, (double)out[i]);
}

Test(model, a_failed_launch_leaves_no_trace) {
  float out[RESULTS];
  expect_fault(half_of_the_threads_exit, 0, SGEMM_ERROR_DIVERGENCE, "");
  cr_assert(launch(reverse_right, 0, out) == SGEMM_SUCCESS);
  expect_fault(unwritten, 0, SGEMM_ERROR_UNWRITTEN, "Bs");
  cr_assert(launch(rotate_right, 0, out) == SGEMM_SUCCESS);
}

#if !SGEMM__CPU_ASAN /* AddressSanitizer ends the program if no memory is left */
Test(model, no_memory) {
  struct rlimit before, none;
  float out[RESULTS];
  sgemm_status status;
  cr_assert(getrlimit(RLIMIT_AS, &before) == 0);
  none = before;
  none.rlim_cur = 1;
  cr_assert(setrlimit(RLIMIT_AS, &none) == 0);
  status = launch(reverse_right, 0, out);
  cr_assert(setrlimit(RLIMIT_AS, &before) == 0);
  cr_assert(status == SGEMM_ERROR_MEMORY, "status %d", status);
}
#endif

Test(model, has_one_nominal_device) {
  sgemm_device current, first, second = {.major = -1};
  int registers;
  int64_t shared, local;
  cr_assert(sgemm_device_query(-1, &current) == SGEMM_SUCCESS && sgemm_device_query(0, &first) == SGEMM_SUCCESS);
  cr_assert(memcmp(&current, &first, sizeof first) == 0);
  cr_assert_str_eq(current.name, "CPU model");
  cr_assert(current.multiprocessors == 1 && current.code_arch == 90 && current.has_sm90a_code == 1);
  cr_assert(sgemm_device_query(1, &second) == SGEMM_ERROR_UNAVAILABLE && second.major == -1);
  cr_assert(sgemm_kernel_resources((sgemm_variant)0, SGEMM_N, SGEMM_N, &registers, &shared, &local) ==
            SGEMM_ERROR_UNAVAILABLE);
}

/* ---- Multiplications for the comparator -------------------------------------------------------------------------- */

/* The checks of guards are on. */
static void guarded(void) { unsetenv("SGEMM_TEST_UNGUARDED"); }

TestSuite(comparator, .init = guarded);

/* A right multiplication, and faults that the tests of other libraries did not find. */
typedef enum mutant {
  RIGHT,
  LAST_K_DROPPED,
  LDA_IGNORED,
  LDB_IGNORED,
  LDC_IGNORED,
  OP_A_IGNORED,
  OP_B_IGNORED,
  ALPHA_IGNORED,
  BETA_IGNORED,
  C_READ_FOR_BETA_0,
  AB_READ_FOR_ALPHA_0,
  LAST_ROW_OMITTED,
  LAST_COLUMN_OMITTED,
  PADDING_OF_A_READ,
  ROW_OF_C_WRITTEN_WHOLE,
  NOTHING_DONE,
  MUTANTS
} mutant;

static void multiply(const sgemm_params *p, mutant mutant) {
  const int a_plain = p->op_a == SGEMM_N || mutant == OP_A_IGNORED,
            b_plain = p->op_b == SGEMM_N || mutant == OP_B_IGNORED;
  const int64_t lda = mutant != LDA_IGNORED ? p->lda : a_plain ? p->k : p->m;
  const int64_t ldb = mutant != LDB_IGNORED ? p->ldb : b_plain ? p->n : p->k;
  const int64_t ldc = mutant != LDC_IGNORED ? p->ldc : p->n;
  const int64_t m = mutant == NOTHING_DONE ? 0 : p->m - (mutant == LAST_ROW_OMITTED),
                n = p->n - (mutant == LAST_COLUMN_OMITTED);
  const int64_t from = mutant == PADDING_OF_A_READ ? -1 : 0, to = p->k - (mutant == LAST_K_DROPPED);
  const int product = p->alpha != 0.0f || mutant == AB_READ_FOR_ALPHA_0;
  const int reads_c = p->beta != 0.0f || mutant == C_READ_FOR_BETA_0;
  int64_t i, j, k;
  for (i = 0; i < m; i++) {
    for (j = 0; j < n; j++) {
      float sum = 0.0f, *c = p->C + i * ldc + j;
      for (k = from; k < to && product; k++)
        sum = fmaf(p->A[a_plain ? i * lda + k : k * lda + i], k < 0 ? 0.0f : p->B[b_plain ? k * ldb + j : j * ldb + k],
                   sum);
      sum *= mutant == ALPHA_IGNORED ? 1.0f : p->alpha;
      *c = reads_c ? fmaf(mutant == BETA_IGNORED ? 0.0f : p->beta, *c, sum) : sum;
    }
    if (mutant == ROW_OF_C_WRITTEN_WHOLE)
      p->C[i * ldc + n] = 0.0f;
  }
}

/* A small problem with padding in all operands. transposed 1: op TT. */
static problem padded_problem(int transposed, float alpha, float beta, data_kind kind) {
  problem q = problem_of((sgemm_variant)0, transposed ? SGEMM_T : SGEMM_N, transposed ? SGEMM_T : SGEMM_N, 5, 6, 7,
                         kind);
  q.p.lda += PRIME;
  q.p.ldb += PRIME;
  q.p.ldc += PRIME;
  q.p.alpha = alpha;
  q.p.beta = beta;
  return q;
}

/* 1 if the checks accept the multiplication of each problem. */
static int accepted(mutant mutant) {
  static const float pairs[][2] = {{1.0f, 0.0f}, {0.5f, 1.25f}, {0.0f, 0.5f}};
  int i, result = 1;
  for (i = 0; i < 12 && result; i++) {
    problem q = padded_problem(i % 2, pairs[i / 4][0], pairs[i / 4][1], i / 2 % 2 ? ROUNDING : EXACT);
    problem_make(&q);
    CHECK(problem_upload(&q));
    multiply(&q.p, mutant);
    CHECK(problem_download(&q));
    result = problem_check(&q) == NULL;
    problem_free(&q);
  }
  return result;
}

Test(comparator, accepts_the_right_and_no_mutant) {
  int m;
  for (m = 0; m < MUTANTS; m++)
    cr_assert(accepted((mutant)m) == (m == RIGHT), "mutant %d is %s", m, m == RIGHT ? "refused" : "accepted");
}

/* Sets one downloaded float of an operand to `value`. The check must refuse it with a sentence that contains `what`. */
static void expect_refusal(matrix *changed, problem *q, int64_t at, float value, const char *what) {
  float *x = changed->after + at, kept = *x;
  const char *fault;
  memcpy(x, &value, sizeof value);
  fault = problem_check(q);
  cr_assert(fault != NULL, "accepted: %s", what);
  cr_assert(strstr(fault, what) != NULL, "\"%s\" does not say \"%s\"", fault, what);
  cr_assert(strstr(fault, sgemm_variant_get(q->variant)->name) != NULL && strstr(fault, "m 5, n 6, k 7") != NULL, "%s",
            fault);
  memcpy(x, &kept, sizeof kept);
  CHECK(problem_check(q));
}

/* A problem after a right multiplication. */
static problem solved(data_kind kind) {
  problem q = padded_problem(0, 0.5f, 1.0f, kind);
  problem_make(&q);
  CHECK(problem_upload(&q));
  multiply(&q.p, RIGHT);
  CHECK(problem_download(&q));
  CHECK(problem_check(&q));
  return q;
}

Test(comparator, refuses_one_wrong_element_in_each_corner) {
  static const int corners[4][2] = {{0, 0}, {0, 5}, {4, 0}, {4, 5}};
  int l, c, w;
  for (l = EXACT; l <= ROUNDING; l++) {
    problem q = solved((data_kind)l);
    for (c = 0; c < 4; c++) {
      const int64_t at = element(&q.C, 0, corners[c][0], corners[c][1]) - q.C.before;
      const float right = q.C.after[at];
      const float wrong[] = {NAN, INFINITY, -INFINITY, right + 1.0f, right - 1.0f, -right - 1.0f, q.C.before[0]};
      char what[16];
      snprintf(what, sizeof what, "C(%d, %d)", corners[c][0], corners[c][1]);
      for (w = 0; w < (int)(sizeof wrong / sizeof *wrong); w++)
        expect_refusal(&q.C, &q, at, wrong[w], what);
      if (l == EXACT)
        expect_refusal(&q.C, &q, at, nextafterf(right, INFINITY), what);
    }
    problem_free(&q);
  }
}

/* On both sides of the reference the check accepts the last float within the bound and refuses the next one. */
Test(comparator, accepts_errors_up_to_the_bound) {
  problem q = solved(ROUNDING);
  const int64_t at = element(&q.C, 0, 4, 5) - q.C.before;
  double want = 0.0, size = 0.0, bound;
  int side;
  int64_t k;
  for (k = 0; k < 7; k++) {
    const double product = (double)*element(&q.A, 0, 4, k) * (double)*element(&q.B, 0, k, 5);
    want += 0.5 * product;
    size += 0.5 * fabs(product);
  }
  want += (double)q.C.before[at];
  size += fabs((double)q.C.before[at]);
  bound = 9 * 0x1p-24 * size;
  for (side = -1; side <= 1; side += 2) {
    const float toward = side < 0 ? -INFINITY : INFINITY;
    float x = (float)(want + side * bound);
    while (fabs((double)x - want) <= bound)
      x = nextafterf(x, toward);
    expect_refusal(&q.C, &q, at, x, "C(4, 5)");
    q.C.after[at] = nextafterf(x, (float)want);
    CHECK(problem_check(&q));
  }
  problem_free(&q);
}

Test(comparator, refuses_every_forbidden_write) {
  problem q = solved(EXACT);
  matrix *const operands[] = {&q.A, &q.B, &q.C};
  static const char *const names[] = {"A was written", "B was written", "C was written"};
  int x;
  for (x = 0; x < 3; x++) {
    matrix *o = operands[x];
    const int64_t first = element(o, 0, 0, 0) - o->before, end = first + (o->rows - 1) * o->ld + o->width;
    const int64_t at[] = {0, first - 1, first + o->width, first + o->ld - 1, end, o->count - 1};
    int i;
    for (i = 0; i < 6; i++) {
      expect_refusal(o, &q, at[i], 1.0f, names[x]);
      expect_refusal(o, &q, at[i], NAN, names[x]); /* another NaN than POISON */
    }
    if (o != &q.C)
      expect_refusal(o, &q, first, 9.0f, names[x]);
  }
  problem_free(&q);
}

Test(comparator, refuses_to_compare_nothing) {
  static const int64_t empty[][3] = {{0, 6, 7}, {5, 0, 7}, {0, 0, 0}};
  int i;
  for (i = 0; i < 4; i++) {
    problem q = i < 3 ? problem_of((sgemm_variant)0, SGEMM_N, SGEMM_N, empty[i][0], empty[i][1], empty[i][2], EXACT)
                      : problem_of((sgemm_variant)0, SGEMM_N, SGEMM_N, 5, 6, 7, EXACT);
    const char *fault;
    q.p.batch = i < 3;
    problem_make(&q);
    CHECK(problem_upload(&q));
    CHECK(problem_download(&q));
    fault = problem_check(&q);
    cr_assert(fault != NULL && strstr(fault, "nothing was compared") != NULL, "%s", fault ? fault : "accepted");
    problem_free(&q);
  }
}

/* An unintended NaN in the reference would accept a NaN as result. */
Test(comparator, refuses_a_nonfinite_reference) {
  problem q = padded_problem(0, 1.0f, 0.0f, EXACT);
  problem_make(&q);
  *element(&q.A, 0, 0, 0) = NAN;
  CHECK(problem_upload(&q));
  multiply(&q.p, RIGHT);
  CHECK(problem_download(&q));
  cr_assert(problem_check(&q) != NULL);
  q.nonfinite = 1;
  CHECK(problem_check(&q));
  problem_free(&q);
}

/* The comparison with OpenBLAS refuses a wrong result too. */
Test(comparator, compares_with_blas) {
  problem q = solved(ROUNDING);
  const int64_t at = element(&q.C, 0, 2, 3) - q.C.before;
  CHECK(problem_check_blas(&q));
  q.C.after[at] += 1e-4f;
  cr_assert(problem_check_blas(&q) != NULL);
  problem_free(&q);
}

/* ---- The sweep --------------------------------------------------------------------------------------------------- */

static void full_tier(void) { setenv("SGEMM_TEST_FULL", "1", 1); }
static void leave_full_tier(void) { unsetenv("SGEMM_TEST_FULL"); }

/* In the quick tier any two of m, the ops and (alpha, beta) take each pair of their values, the ops meet each padding
   of a leading dimension, and n and k take each of their boundary sizes. Index 5 of a size: sweep() made it larger,
   because two sizes were equal. */
Test(sweep, covers_pairs_in_the_quick_tier, .init = leave_full_tier) {
  enum { M, N, K, OPS, PAIR, LDA, LDB, LDC, FACTORS };
  static const struct {
    int x, y, x_count, y_count;
  } claims[] = {{M, M, 5, 1},      {N, N, 5, 1},     {K, K, 5, 1},     {M, OPS, 5, 4},  {M, PAIR, 5, 5},
                {OPS, PAIR, 4, 5}, {OPS, LDA, 4, 3}, {OPS, LDB, 4, 3}, {OPS, LDC, 4, 3}};
  int v, kind;
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
    for (kind = EXACT; kind <= ROUNDING; kind++) {
      const sgemm_variant_info *info = sgemm_variant_get((sgemm_variant)v);
      const int tile[3] = {swept_tile(info->BM), swept_tile(info->BN), swept_tile(info->BK)};
      int met[FACTORS][FACTORS][6][6] = {{{{0}}}}, i, x, y, a, b;
      problem q;
      for (i = 0; sweep(&q, (sgemm_variant)v, (enum data_kind)kind, i); i++) {
        const sgemm_params *p = &q.p, packed = sgemm_params_init(p->op_a, p->op_b, p->m, p->n, p->k);
        const int64_t size[3] = {p->m, p->n, p->k};
        const int64_t padding[3] = {p->lda - packed.lda, p->ldb - packed.ldb, p->ldc - packed.ldc};
        int of[FACTORS];
        for (x = 0; x < 3; x++) {
          const int64_t boundary[5] = {1, tile[x] - 1, tile[x], tile[x] + 1, 2 * tile[x] + 1};
          for (a = 0; a < 5 && size[x] != boundary[a]; a++)
            ;
          of[x] = a;
          of[LDA + x] = padding[x] == 0 ? 0 : padding[x] == 1 ? 1 : 2;
        }
        of[OPS] = 2 * (p->op_a != SGEMM_N) + (p->op_b != SGEMM_N);
        of[PAIR] = p->beta == 0.0f ? p->alpha != 1.0f : p->alpha == 0.0f ? 2 : p->beta == 1.0f ? 3 : 4;
        for (x = 0; x < FACTORS; x++)
          for (y = 0; y < FACTORS; y++)
            met[x][y][of[x]][x == y ? 0 : of[y]]++;
      }
      cr_assert(i == 25, "%d cases", i);
      for (i = 0; i < (int)(sizeof claims / sizeof *claims); i++)
        for (a = 0; a < claims[i].x_count; a++)
          for (b = 0; b < claims[i].y_count; b++) {
            x = claims[i].x, y = claims[i].y;
            cr_assert(met[x][y][a][b] > 0, "variant %d: value %d of factor %d never meets %d of %d", v, a, x, b, y);
          }
    }
}

/* A variant has at least 125 shapes, and m, n and k of a shape differ. Each op pair meets each (alpha, beta) and each
   combination of the paddings. */
Test(sweep, covers_pairs_in_the_full_tier, .init = full_tier) {
  int v, i, j;
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++) {
    enum { MOST = 1000 };
    int64_t shapes[MOST][3];
    int distinct = 0, pairs[2][2][5] = {{{0}}}, lds[2][2][27] = {{{0}}}, conjugated = 0, a, b, x;
    problem q;
    for (i = 0; sweep(&q, (sgemm_variant)v, ROUNDING, i); i++) {
      const sgemm_params packed = sgemm_params_init((sgemm_op)q.p.op_a, (sgemm_op)q.p.op_b, q.p.m, q.p.n, q.p.k),
                         *p = &q.p;
      const int64_t padding[3] = {p->lda - packed.lda, p->ldb - packed.ldb, p->ldc - packed.ldc};
      const float key = 10.0f * p->alpha + p->beta;
      int ld = 0;
      cr_assert(i < MOST && p->m != p->n && p->n != p->k && p->k != p->m && p->m > 0 && p->n > 0 && p->k > 0);
      for (j = 0; j < distinct; j++)
        if (shapes[j][0] == p->m && shapes[j][1] == p->n && shapes[j][2] == p->k)
          break;
      if (j == distinct) {
        shapes[distinct][0] = p->m;
        shapes[distinct][1] = p->n;
        shapes[distinct++][2] = p->k;
      }
      for (x = 0; x < 3; x++) {
        cr_assert(padding[x] == 0 || padding[x] == 1 || padding[x] == PRIME);
        ld = 3 * ld + (padding[x] > 0) + (padding[x] > 1);
      }
      a = p->op_a != SGEMM_N;
      b = p->op_b != SGEMM_N;
      conjugated += p->op_a == SGEMM_C || p->op_b == SGEMM_C;
      lds[a][b][ld]++;
      pairs[a][b][key == 10.0f ? 0 : key == 11.0f ? 1 : key == 0.5f ? 2 : key == 5.0f ? 3 : 4]++;
    }
    cr_assert(distinct >= 125, "variant %d: %d shapes", v, distinct);
    cr_assert(conjugated > 0);
    for (a = 0; a < 2; a++)
      for (b = 0; b < 2; b++) {
        for (x = 0; x < 5; x++)
          cr_assert(pairs[a][b][x] > 0, "variant %d: ops %d %d never meet pair %d", v, a, b, x);
        for (x = 0; x < 27; x++)
          cr_assert(lds[a][b][x] > 0, "variant %d: ops %d %d never meet leading dimensions %d", v, a, b, x);
      }
  }
}
