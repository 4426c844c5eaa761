/* sgemm/device/reduce.cuh: sums of partial results over sliced-K groups, over the blocks of a cluster and over lanes.
   The order of the additions is fixed, so that a plan gives the same bits each time. */
#ifndef SGEMM_DEVICE_REDUCE_CUH
#define SGEMM_DEVICE_REDUCE_CUH

/* The part of k that a thread multiplies: sliced-K divides k within a block, cluster split-K among blocks. */
typedef struct sgemm__k_split {
  int slice;             /* sliced-K group of the thread: 0 to slice_k - 1 */
  int slice_thread;      /* number of the thread within its group */
  uint32_t cluster_rank; /* rank of the block within its cluster: 0 to cluster_k - 1 */
  uint32_t cluster_k;    /* blocks of the cluster, which divide the tile's k */
} sgemm__k_split;

/* Offset in floats, from the start of shared memory, of output vector `vector` of thread split->slice_thread in
   sliced-K group `slice`. Vectors of neighbouring threads are neighbours, so that 128-bit accesses have no bank
   conflicts. */
SGEMM__DEVICE int sgemm__slice_offset(const sgemm__shape *s, const sgemm__k_split *split, int vector, int slice) {
  const int slice_threads = SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, 1);
  return ((vector * s->slice_k + slice) * slice_threads + split->slice_thread) * 4;
}

/* sum <- the sum of an output vector of 4 results over the sliced-K groups, group 0 first. */
SGEMM__DEVICE void sgemm__sum_slices(const sgemm__shape *s, const sgemm__k_split *split, const float *shared,
                                     int vector, float *sum) {
  float r[4];
  int slice, v;
  sgemm__load_shared4(sum, shared + sgemm__slice_offset(s, split, vector, 0));
  SGEMM__UNROLL
  for (slice = 1; slice < s->slice_k; slice++) {
    sgemm__load_shared4(r, shared + sgemm__slice_offset(s, split, vector, slice));
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      sum[v] += r[v];
  }
}

/* sum <- the sum of an output vector over the blocks of the cluster, rank 0 first. own: the block's sum of the vector
   in shared memory. */
SGEMM__DEVICE void sgemm__sum_blocks(const sgemm__k_split *split, const float *own, float *sum) {
  float r[4];
  uint32_t rank;
  int v;
  sgemm__load_cluster4(sum, own, 0);
  for (rank = 1; rank < split->cluster_k; rank++) {
    sgemm__load_cluster4(r, own, rank);
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      sum[v] += r[v];
  }
}

/* 1 if this block of the cluster adds and stores an output vector. */
SGEMM__DEVICE int sgemm__is_own_vector(const sgemm__shape *s, const sgemm__k_split *split, int vector) {
  return (uint32_t)(vector / s->slice_k + vector) % split->cluster_k == split->cluster_rank;
}

/* Sums the results over the sliced-K groups and then over the blocks of the cluster, and stores them to C. The sums use
   slice_k * BM * BN floats of shared memory, in place of tiles that have been multiplied. One sliced-K group sums each
   output vector; with more groups than vectors, every slice_stride-th group sums one. In a cluster these sums go to
   shared memory, in place of the vectors of group 0, and one block sums each output vector.
     Variants with at least as many groups as vectors have code with one store. In the others the loops are not
   unrolled: their code runs once, and instruction-cache misses cost more than its execution
   (docs/notebook/tile_ends.md, "The ends of tiles"). */
SGEMM__DEVICE void sgemm__reduce_and_store(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                           uint32_t number, const sgemm__thread_tile *own, const sgemm__k_split *split,
                                           float *shared, const float *acc) {
  const int vectors = s->TM * s->TN / 4, slice_stride = s->slice_k > vectors ? s->slice_k / vectors : 1;
  const int first = split->slice % slice_stride == 0 ? split->slice / slice_stride : vectors;
  const int step = s->slice_k / slice_stride;
  float sum[4];
  int vector;
  sgemm__barrier(); /* all threads have read the last tile, and what an unconditional prefetch loads */
  SGEMM__UNROLL
  for (vector = 0; vector < vectors; vector++)
    sgemm__store_shared4(shared + sgemm__slice_offset(s, split, vector, split->slice), acc + vector * 4);
  sgemm__barrier();
  if (step == vectors) {
    int stores = first < vectors;
    if (stores)
      sgemm__sum_slices(s, split, shared, first, sum);
    if (split->cluster_k > 1) {
      if (stores)
        sgemm__store_shared4(shared + sgemm__slice_offset(s, split, first, 0), sum);
      sgemm__cluster_barrier();
      stores &= sgemm__is_own_vector(s, split, first);
      if (stores)
        sgemm__sum_blocks(split, shared + sgemm__slice_offset(s, split, first, 0), sum);
    }
    if (stores)
      sgemm__store_thread_results(p, s, tile, number, own, first, sum);
  } else {
    SGEMM__UNROLL_BY(1)
    for (vector = first; vector < vectors; vector += step) {
      sgemm__sum_slices(s, split, shared, vector, sum);
      if (split->cluster_k > 1)
        sgemm__store_shared4(shared + sgemm__slice_offset(s, split, vector, 0), sum);
      else
        sgemm__store_thread_results(p, s, tile, number, own, vector, sum);
    }
    if (split->cluster_k > 1) {
      sgemm__cluster_barrier();
      SGEMM__UNROLL_BY(1)
      for (vector = first; vector < vectors; vector += step) {
        if (sgemm__is_own_vector(s, split, vector)) {
          sgemm__sum_blocks(split, shared + sgemm__slice_offset(s, split, vector, 0), sum);
          sgemm__store_thread_results(p, s, tile, number, own, vector, sum);
        }
      }
    }
  }
  if (split->cluster_k > 1)
    sgemm__cluster_barrier(); /* no block exits while others read its shared memory */
}

/* Adds the 4 registers of lane ^ mask to r. All lanes of a warp call it; both lanes get the sum. */
SGEMM__DEVICE void sgemm__add_across_lanes4(float *r, int mask) {
  float other[4];
  int v;
  SGEMM__UNROLL
  for (v = 0; v < 4; v++)
    other[v] = r[v];
  sgemm__shuffle_xor4(other, mask);
  SGEMM__UNROLL
  for (v = 0; v < 4; v++)
    r[v] += other[v];
}

#endif /* SGEMM_DEVICE_REDUCE_CUH */
