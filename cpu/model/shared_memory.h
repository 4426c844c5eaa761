/* cpu/model/shared_memory.h: declarations of shared arrays, and the checks of unwritten words and of alignment. */
#ifndef SGEMM_CPU_SHARED_MEMORY_H
#define SGEMM_CPU_SHARED_MEMORY_H

#include "cpu/model/kernel.h"

/* ---- Declarations ------------------------------------------------------------------------------------------------ */

/* Shared arrays inside a kernel: of floats, of words, of mbarriers, of tile descriptors, of the copies of units; and
   the dynamic shared memory of the running block. Each block of a cluster has arrays of its own. Kernels with arrays of
   more than SGEMM__CPU_ARRAY_BYTES do not run in clusters. All thread-local arrays together have 1 MB at most: with 1.4
   MB Criterion cannot start its tests. */
#define SGEMM__CPU_RANKS_OF(type, count) ((count) * sizeof(type) > SGEMM__CPU_ARRAY_BYTES ? 1 : SGEMM__CPU_RANKS)
#define SGEMM__SHARED_OF(type, array, count)                                                                           \
  static _Thread_local _Alignas(16) type array##_of_rank[SGEMM__CPU_RANKS_OF(type, count)][count];                     \
  type *const array = array##_of_rank[sgemm__cpu_checked_rank(SGEMM__CPU_RANKS_OF(type, count))];                      \
  sgemm__cpu_declare((float *)array, (count) * (sizeof *(array) / sizeof(float)), #array)
#define SGEMM__SHARED(array, count) SGEMM__SHARED_OF(float, array, count)
#define SGEMM__SHARED_WORDS(array, count) SGEMM__SHARED_OF(uint32_t, array, count)
#define SGEMM__SHARED_MBARRIERS(array, count) SGEMM__SHARED_OF(sgemm__mbarrier, array, count)
#define SGEMM__SHARED_DESCRIPTORS(array, count) SGEMM__SHARED_OF(sgemm__tile_descriptor, array, count)
#define SGEMM__SHARED_COPIES(array, count) SGEMM__SHARED_OF(sgemm__unit_copies, array, count)
#define SGEMM__SHARED_DYNAMIC(array)                                                                                   \
  float *array = (float *)sgemm__cpu->dynamic_shared[sgemm__cpu->rank];                                                \
  sgemm__cpu_declare(array, sgemm__cpu->grid->size.shared / sizeof *array, #array)

/* Marks `count` words as unwritten. */
static inline void sgemm__cpu_mark_unwritten(float *array, size_t count) {
  const uint32_t unwritten = SGEMM__CPU_UNWRITTEN;
  size_t i;
  for (i = 0; i < count; i++)
    memcpy(&array[i], &unwritten, sizeof unwritten);
}

/* The rank of the running block, which has to be below `ranks`. */
static inline int sgemm__cpu_checked_rank(int ranks) {
  if (sgemm__cpu->rank >= ranks)
    sgemm__cpu_abort(SGEMM_ERROR_MEMORY, "a kernel with large static arrays in a cluster", NULL, 0);
  return sgemm__cpu->rank;
}

/* Registers a shared array of `count` words. The first thread of a block that declares the array marks its words as
   unwritten. The worker declares the dynamic shared memory of all blocks of a cluster before the first block runs; the
   kernel then gives it a name. */
static inline void sgemm__cpu_declare(float *array, size_t count, const char *name) {
  sgemm__cpu_worker *w = sgemm__cpu;
  int a;
  for (a = 0; a < w->shared_array_count; a++)
    if (w->shared_arrays[a].first == array) {
      w->shared_arrays[a].name = name;
      return;
    }
  if (a == SGEMM__CPU_ARRAYS)
    sgemm__cpu_abort(SGEMM_ERROR_MEMORY, "no room for shared array", name, count);
  w->shared_arrays[a].first = array;
  w->shared_arrays[a].count = count;
  w->shared_arrays[a].name = name;
  w->shared_array_count++;
  sgemm__cpu_mark_unwritten(array, count);
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

/* Ends the launch: the running thread has read the unwritten word at p. */
static void sgemm__cpu_abort_unwritten(const float *p) {
  sgemm__cpu_worker *w = sgemm__cpu;
  int a = 0;
  while (a + 1 < w->shared_array_count &&
         !(p >= w->shared_arrays[a].first && p < w->shared_arrays[a].first + w->shared_arrays[a].count))
    a++;
  sgemm__cpu_abort(SGEMM_ERROR_UNWRITTEN, "read of an unwritten word of", w->shared_arrays[a].name,
                   (size_t)(p - w->shared_arrays[a].first));
}

/* Reads a word of shared memory that has to be written. */
static inline float sgemm__cpu_read_shared(const float *p) {
  uint32_t bits;
  memcpy(&bits, p, sizeof bits);
  if (bits == SGEMM__CPU_UNWRITTEN)
    sgemm__cpu_abort_unwritten(p);
  return *p;
}

/* Requires a multiple of 16 bytes, as the GPU requires it of a 128-bit access. */
static inline void sgemm__cpu_check_aligned(const float *p) {
  if ((uintptr_t)p % 16 != 0)
    sgemm__cpu_abort(SGEMM_ERROR_MISALIGNED, "a 128-bit access that is not aligned to 16 bytes", NULL, 0);
}

#endif /* SGEMM_CPU_SHARED_MEMORY_H */
