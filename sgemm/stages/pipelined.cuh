/* sgemm/stages/pipelined.cuh: stages async and splitk: cp.async pipelines of 3 or 4 buffers. */
#ifndef SGEMM_STAGES_PIPELINED_CUH
#define SGEMM_STAGES_PIPELINED_CUH

/* Chains of FMAs a result: two where a block has all of a long k, which halves their length. */
#define SGEMM__ACCUMULATOR_SETS(slice_k) ((slice_k) >= 8 ? 2 : 1)

/* Where a fragment's step k lies among its registers: two steps, of which one loads while the other multiplies; of
   quads two times four. */
#define SGEMM__FRAGMENT_FLOATS(T) ((T) == 4 ? 32 : 2 * (T))
SGEMM__DEVICE int sgemm__fragment_offset(int T, int quads, int k) { return quads ? k / 4 % 2 * 16 + k % 4 : k % 2 * T; }

/* async, splitk: `bufs` tiles of A and of B on their way or in use at a time. A step's fragments load while the step
   before multiplies, across tiles too: with the last step of a tile still to multiply, each thread waits for its own
   copies of the next tile, and one barrier tells all that it is there and that nobody reads this one any more. Behind
   the last tile a step loads that nobody multiplies: around it a branch would cut the loop in two, and FMAs would not
   cover those loads. */
SGEMM__DEVICE void sgemm__pipelined(const sgemm__split_k_args *args, const sgemm__shape *s, float *shared, float *acc,
                                    float *a, float *b) {
  const sgemm__args *p = &args->gemm;
  /* It takes up to a third off a row's code. Rows of 8 x 8 whose threads share no k come out slower by it. */
  if (s->TM * s->TN != 64 || s->slice_k > 1)
    sgemm__assume_thread_index();
  /* Indices. k is cut into planes, one launch's share each, a plane among the ranks of a cluster, each tile's k among
     the slice_k. */
  const uint32_t ranks = s->cluster_split_k ? sgemm__cluster_size() : 1,
                 rank = s->cluster_split_k ? sgemm__cluster_rank() : 0;
  const int slice_threads = SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, 1);
  const sgemm__k_share part = {sgemm__thread() / slice_threads, sgemm__thread() % slice_threads, rank, ranks};
  const uint32_t plane_blocks = p->tiles_m * p->tiles_n * ranks, block = sgemm__block_x();
  const uint32_t plane = block < plane_blocks ? 0 : block / plane_blocks, inside = block - plane * plane_blocks;
  const int64_t plane_end = p->k - plane * args->k_per_split < args->k_per_split ? p->k
                                                                                 : (plane + 1) * args->k_per_split;
  const int64_t plane_steps = (plane_end - plane * args->k_per_split + s->BK - 1) / s->BK;
  const int64_t share = (ranks > 1 ? (plane_steps + ranks - 1) / ranks : plane_steps) * s->BK; /* no division for one */
  const int64_t begin = plane * args->k_per_split + rank * share;
  const sgemm__thread_tile own = sgemm__thread_tile_of(s);
  const int a_k_vectors = SGEMM__K_VECTORS(s->TM, s->BK, s->a_k_major),
            b_k_vectors = SGEMM__K_VECTORS(s->TN, s->BK, s->b_k_major);
  const int depth = s->BK / s->slice_k, slice_k = part.slice * depth; /* of each tile, this slice's k */
  const int buffer_b = SGEMM__TILE_FLOATS(s->BM, s->BK);              /* where B's tile begins in a buffer */
  const int buffer = buffer_b + SGEMM__TILE_FLOATS(s->BN, s->BK);
  /* Rows of 8 x 8, 16 deep, are slower by it, and upright ones with op NN. */
  const int anyway = sgemm__unconditional_prefetch((s->TM * s->TN != 64 || s->BK < 16) &&
                                                   !(s->BM > s->BN && s->a_k_major && !s->b_k_major));
  const int sets = SGEMM__ACCUMULATOR_SETS(s->slice_k);
  sgemm__tile tile = sgemm__tile_of_block(p, s, ranks > 1 ? inside / ranks : inside);
  /* Tile pointers. */
  sgemm__loader load_a = sgemm__copy_loader_of(s, a_k_vectors, s->BM, s->a_k_major,
                                               tile.A + begin * (s->a_k_major ? 1 : p->lda), p->lda, tile.rows);
  sgemm__loader load_b = sgemm__copy_loader_of(s, b_k_vectors, s->BN, s->b_k_major,
                                               tile.B + begin * (s->b_k_major ? 1 : p->ldb), p->ldb, tile.cols);
  float *from = shared, *into = shared; /* the buffers that are multiplied and that are filled next */
  /* Accumulators. */
  int64_t rest = (begin + share < plane_end ? begin + share : plane_end) - begin, ahead = rest;
  int i, k;
  SGEMM__UNROLL
  for (i = 0; i < sets * s->TM * s->TN; i++)
    acc[i] = 0.0f;
  tile.C += plane * args->split_stride;
  /* Main loop. The indices were reckoned while the kernel before may still have been at work. */
  sgemm__pdl_wait();
  if (!sgemm__has_work(p))
    return;
  SGEMM__UNROLL_BY(1)
  for (i = 0; i < s->bufs - 1; i++, ahead -= s->BK, into += buffer) {
    if (ahead > 0) {
      sgemm__copy_tile(into, a_k_vectors, &load_a, ahead);
      sgemm__copy_tile(into + buffer_b, b_k_vectors, &load_b, ahead);
    }
    sgemm__copy_commit();
  }
  sgemm__copy_wait(s->bufs - 2);
  sgemm__barrier();
  if (rest > 0) {
    sgemm__load_fragment_at(a, from, s->BM, s->BK, a_k_vectors, own.row, slice_k, s->TM, own.row_stride);
    sgemm__load_fragment_at(b, from + buffer_b, s->BN, s->BK, b_k_vectors, own.col, slice_k, s->TN, own.col_stride);
  }
  for (; rest > 0; rest -= s->BK, ahead -= s->BK) {
    SGEMM__UNROLL
    for (k = 0; k < depth; k++) {
      const int next = (k + 1) % depth;
      if (k == 0) {
        if (ahead > 0) {
          sgemm__copy_tile(into, a_k_vectors, &load_a, ahead);
          sgemm__copy_tile(into + buffer_b, b_k_vectors, &load_b, ahead);
        }
        sgemm__copy_commit();
        into = into == shared + (s->bufs - 1) * buffer ? shared : into + buffer;
      }
      if (next == 0) {
        sgemm__copy_wait(s->bufs - 2);
        sgemm__barrier();
        from = from == shared + (s->bufs - 1) * buffer ? shared : from + buffer;
      }
      if (anyway || next > 0 || rest > s->BK) {
        if (!a_k_vectors || next % 4 == 0)
          sgemm__load_fragment_at(a + sgemm__fragment_offset(s->TM, a_k_vectors, next), from, s->BM, s->BK, a_k_vectors,
                                  own.row, slice_k + next, s->TM, own.row_stride);
        if (!b_k_vectors || next % 4 == 0)
          sgemm__load_fragment_at(b + sgemm__fragment_offset(s->TN, b_k_vectors, next), from + buffer_b, s->BN, s->BK,
                                  b_k_vectors, own.col, slice_k + next, s->TN, own.col_stride);
      }
      sgemm__multiply_fragments(acc + k % sets * s->TM * s->TN, a + sgemm__fragment_offset(s->TM, a_k_vectors, k),
                                a_k_vectors ? 4 : 1, b + sgemm__fragment_offset(s->TN, b_k_vectors, k),
                                b_k_vectors ? 4 : 1, s->TM, s->TN, 0);
    }
  }
  /* Epilogue. */
  SGEMM__UNROLL
  for (i = 0; i < (sets - 1) * s->TM * s->TN; i++)
    acc[i] += acc[s->TM * s->TN + i];
  if (s->slice_k > 1) {
    sgemm__reduce_and_store(p, s, &tile, &own, &part, shared, acc);
  } else if (s->TM * s->TN == 64) { /* other rows are slower by it */
    const sgemm__args sums = sgemm__unscaled(p);
    SGEMM__UNROLL
    for (i = 0; i < s->TM * s->TN; i++)
      acc[i] = sgemm__scale(p, acc[i]);
    if (p->beta != 0.0f)
      sgemm__add_c_vectors(p, s->V, &tile, &own, s->TN / s->V, 0, s->TM * s->TN / s->V, acc);
    sgemm__store_tile(&sums, s, &tile, &own, acc);
  } else {
    sgemm__store_tile(p, s, &tile, &own, acc);
  }
}

#define SGEMM__KERNEL_PIPELINED(stage, name, blocks, ...)                                                              \
  SGEMM__GLOBAL(name, SGEMM__LAUNCH_THREADS(stage, __VA_ARGS__), blocks, sgemm__split_k_args) {                        \
    SGEMM__COLUMNS(stage, __VA_ARGS__)                                                                                 \
    const sgemm__shape shape = SGEMM__SHAPE;                                                                           \
    SGEMM__SHARED_DYNAMIC(tiles);                                                                                      \
    float acc[SGEMM__ACCUMULATOR_SETS(slice_k) * TM * TN];                                                             \
    float a[SGEMM__FRAGMENT_FLOATS(TM)], b[SGEMM__FRAGMENT_FLOATS(TN)];                                                \
    sgemm__pipelined(&args, &shape, tiles, acc, a, b);                                                                 \
  }
#define SGEMM__KERNEL_async(...) SGEMM__KERNEL_PIPELINED(__VA_ARGS__)
#define SGEMM__DECLARE_async(name) SGEMM__DECLARE(name, sgemm__split_k_args)
#define SGEMM__KERNEL_splitk(...) SGEMM__KERNEL_PIPELINED(__VA_ARGS__)
#define SGEMM__DECLARE_splitk(name) SGEMM__DECLARE(name, sgemm__split_k_args)

#define SGEMM__RULES_PIPELINED(name)                                                                                   \
  SGEMM__RULES_TILED(name)                                                                                             \
  SGEMM__RULE(V == 4 && bufs >= 3 && bufs <= 4, "a pipeline has V = 4 and 3 or 4 buffers", name)                       \
  SGEMM__RULE(BK % (slice_k * 8) == 0 && (cluster_k || slice_k == 1),                                                  \
              "slices share BK by multiples of 8, and only splitk has more than one", name)                            \
  SGEMM__RULE(SGEMM__COPIES_EVENLY(BM, BK, SGEMM__THREADS(BM, BN, TM, TN, slice_k)) &&                                 \
                  SGEMM__COPIES_EVENLY(BN, BK, SGEMM__THREADS(BM, BN, TM, TN, slice_k)),                               \
              "the threads must share each tile's copies evenly, or one access of all must cover it", name)            \
  SGEMM__RULE(SGEMM__SHARED_BYTES(0, cluster_k, BM, BN, BK, bufs, slice_k) <= 227 * 1024,                              \
              "shared memory of a block is at most 227 KiB", name)
/* Copies of 1 element in groups of 8 along k, or of 4 along m or n. */
#define SGEMM__COPIES_EVENLY(MN, BK, threads)                                                                          \
  (SGEMM__DIVIDES(threads, (MN) * (BK)) && SGEMM__DIVIDES((threads) / 8, MN) &&                                        \
   SGEMM__DIVIDES((threads)*4, (MN) * (BK)) && SGEMM__DIVIDES((threads)*4, MN))
#define SGEMM__RULES_async(name) SGEMM__RULES_PIPELINED(name)
#define SGEMM__RULES_splitk(name) SGEMM__RULES_PIPELINED(name)

#endif /* SGEMM_STAGES_PIPELINED_CUH */
