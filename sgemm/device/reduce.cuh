/* sgemm/device/reduce.cuh: sums of partial results within a block (sliced-K), within a cluster, and across lanes, all
   in a fixed order. */
#ifndef SGEMM_DEVICE_REDUCE_CUH
#define SGEMM_DEVICE_REDUCE_CUH

/* Where k is split, which part of it a thread adds up. */
typedef struct sgemm__k_share {
  int slice, index;     /* of the block's s->slice_k; of the slice's threads */
  uint32_t rank, ranks; /* of the cluster's blocks */
} sgemm__k_share;

/* Floats from the start of shared memory to where the same thread of another slice keeps a piece of its results. */
SGEMM__DEVICE int sgemm__slice_offset(const sgemm__shape *s, const sgemm__k_share *part, int piece, int slice) {
  const int slice_threads = SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, 1);
  return ((piece * s->slice_k + slice) * slice_threads + part->index) * 4;
}

/* The sum of a thread's piece of 4 over the slice_k, slice 0 first: to C, or where ranks sum it yet to the place of
   slice 0. */
SGEMM__DEVICE void sgemm__reduce_slices(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                        const sgemm__thread_tile *own, const sgemm__k_share *part, float *shared,
                                        int piece) {
  float sum[4], r[4];
  int slice, v;
  sgemm__load_shared4(sum, shared + sgemm__slice_offset(s, part, piece, 0));
  SGEMM__UNROLL
  for (slice = 1; slice < s->slice_k; slice++) {
    sgemm__load_shared4(r, shared + sgemm__slice_offset(s, part, piece, slice));
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      sum[v] += r[v];
  }
  if (part->ranks > 1)
    sgemm__store_shared4(shared + sgemm__slice_offset(s, part, piece, 0), sum);
  else
    sgemm__store_thread_vector(p, s, tile, own, piece, sum);
}

/* The sums over the slice_k, and then over the blocks of the cluster, block 0 first, to C. Results go through shared
   memory in pieces of 4: slice_k * BM * BN floats, of tiles that have been multiplied, each thread's pieces side by
   side with the other threads'. Each piece has one slice that sums it, and one rank; the loops stay loops, since code
   that runs once costs more to bring than to run. */
SGEMM__DEVICE void sgemm__reduce_and_store(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                           const sgemm__thread_tile *own, const sgemm__k_share *part, float *shared,
                                           const float *acc) {
  const int pieces = s->TM * s->TN / 4, apart = s->slice_k > pieces ? s->slice_k / pieces : 1; /* slice_k that sum */
  const int first = part->slice % apart == 0 ? part->slice / apart : pieces, step = s->slice_k / apart;
  float sum[4], r[4];
  int piece, v;
  uint32_t rank;
  sgemm__barrier(); /* the loads behind the last tile have read */
  SGEMM__UNROLL
  for (piece = 0; piece < pieces; piece++)
    sgemm__store_shared4(shared + sgemm__slice_offset(s, part, piece, part->slice), acc + piece * 4);
  sgemm__barrier();
  SGEMM__UNROLL_BY(2)
  for (piece = first; piece < pieces; piece += step)
    sgemm__reduce_slices(p, s, tile, own, part, shared, piece);
  if (part->ranks > 1) {
    sgemm__cluster_barrier();
    SGEMM__UNROLL_BY(1)
    for (piece = first; piece < pieces; piece += step) {
      if ((uint32_t)(piece / s->slice_k + piece) % part->ranks == part->rank) {
        sgemm__load_cluster4(sum, shared + sgemm__slice_offset(s, part, piece, 0), 0);
        for (rank = 1; rank < part->ranks; rank++) {
          sgemm__load_cluster4(r, shared + sgemm__slice_offset(s, part, piece, 0), rank);
          SGEMM__UNROLL
          for (v = 0; v < 4; v++)
            sum[v] += r[v];
        }
        sgemm__store_thread_vector(p, s, tile, own, piece, sum);
      }
    }
    sgemm__cluster_barrier(); /* nobody leaves while others read its shared memory */
  }
}

/* r: 4 registers; += those of the lane whose number differs by the bit `mask`, for both. */
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
