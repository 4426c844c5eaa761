/* sgemm/stages/pipelined.cuh: stages async and splitk: a cp.async pipeline of 3 or 4 buffers; k is divided among
   sliced-K groups, blocks of a cluster and split-K partitions. */
#ifndef SGEMM_STAGES_PIPELINED_CUH
#define SGEMM_STAGES_PIPELINED_CUH

/* Accumulator sets of a thread: independent accumulators of each result. Variants with at least 8 sliced-K groups have
   two sets, one for even and one for odd k. One block of these variants multiplies all of a long k, and two sets halve
   the number of roundings of a sum (docs/notebook/memory_bound.md, "Two accumulator sets"). */
#define SGEMM__ACCUMULATOR_SETS(slice_k) ((slice_k) >= 8 ? 2 : 1)

/* Registers of an operand's fragments: two steps of T elements; one step loads while the other is multiplied. With
   k_vectors they hold two times four k of T = 4 rows. sgemm__fragment_offset(): the first register of step k. With
   k_vectors the elements of a step have stride 4. */
#define SGEMM__FRAGMENT_FLOATS(T) ((T) == 4 ? 32 : 2 * (T))
SGEMM__DEVICE int sgemm__fragment_offset(int T, int k_vectors, int k) {
  return k_vectors ? k / 4 % 2 * 16 + k % 4 : k % 2 * T;
}

/* Floats of A's tile, and of a buffer of the pipeline: A's tile, then B's. */
#define SGEMM__PIPELINE_A_FLOATS(s) SGEMM__TILE_FLOATS((s)->BM, (s)->BK)
#define SGEMM__PIPELINE_BUFFER_FLOATS(s) (SGEMM__PIPELINE_A_FLOATS(s) + SGEMM__TILE_FLOATS((s)->BN, (s)->BK))
#define SGEMM__A_K_VECTORS(s)                                                                                          \
  ((s)->V == 4 && !(s)->elements && !(s)->small_a && SGEMM__K_VECTORS((s)->TM, (s)->BK, (s)->a_k_major))
#define SGEMM__B_K_VECTORS(s)                                                                                          \
  ((s)->V == 4 && !(s)->elements && !(s)->small_b && SGEMM__K_VECTORS((s)->TN, (s)->BK, (s)->b_k_major))

/* The pipeline of a block: its copies, and where it stands. */
typedef struct sgemm__pipeline {
  sgemm__loader load_a, load_b;
  float *from, *into;      /* the buffer that is multiplied, and the one that is filled next */
  int tiles_left, to_copy; /* tiles to multiply, and tiles to copy; 0 or negative: none */
  int last_k;              /* k of the last tile: 1 to BK */
} sgemm__pipeline;

/* Issues the thread's copies of the next tiles of A and B, and commits them as one group. Beyond the last tile the
   group is empty, so that sgemm__copy_wait() counts one group for each tile to the end. full: 1 if the next tiles exist
   and have all their elements. */
SGEMM__DEVICE void sgemm__copy_tiles(const sgemm__shape *s, sgemm__pipeline *x, int full) {
  float *into_a = x->into, *into_b = x->into + SGEMM__PIPELINE_A_FLOATS(s);
  const int exist = x->to_copy > 1 ? s->BK : x->last_k;
  if (s->elements && (full || x->to_copy > 0)) {
    sgemm__copy_elements(into_a, &x->load_a, exist, full);
    sgemm__copy_elements(into_b, &x->load_b, exist, full);
  } else if (x->to_copy > 0) {
    sgemm__copy_tile(into_a, SGEMM__A_K_VECTORS(s), &x->load_a, exist);
    sgemm__copy_tile(into_b, SGEMM__B_K_VECTORS(s), &x->load_b, exist);
  }
  x->to_copy--;
  sgemm__copy_commit();
}

/* The buffer of the ring after buffer `at`. */
SGEMM__DEVICE float *sgemm__buffer_after(const sgemm__shape *s, float *shared, float *at) {
  const int buffer = SGEMM__PIPELINE_BUFFER_FLOATS(s);
  return at == shared + (s->bufs - 1) * buffer ? shared : at + buffer;
}

/* Loads the fragments of step `step` of the thread's sliced-K group from a buffer. first_k: k of step 0 in the tile.
   With k_vectors every fourth step loads, for four steps. */
SGEMM__DEVICE void sgemm__load_step(float *a, float *b, const sgemm__shape *s, const sgemm__thread_tile *own,
                                    const float *buffer, int first_k, int step) {
  const int a_k_vectors = SGEMM__A_K_VECTORS(s), b_k_vectors = SGEMM__B_K_VECTORS(s);
  if (!a_k_vectors || step % 4 == 0)
    sgemm__load_fragment_at(a + sgemm__fragment_offset(s->TM, a_k_vectors, step), buffer, s->BM, s->BK, a_k_vectors,
                            own->row, first_k + step, s->TM, s->V, own->row_stride);
  if (!b_k_vectors || step % 4 == 0)
    sgemm__load_fragment_at(b + sgemm__fragment_offset(s->TN, b_k_vectors, step), buffer + SGEMM__PIPELINE_A_FLOATS(s),
                            s->BN, s->BK, b_k_vectors, own->col, first_k + step, s->TN, s->V, own->col_stride);
}

/* Multiplies the fragments of step `step` into the accumulator set of that step. */
SGEMM__DEVICE void sgemm__multiply_step(float *acc, const float *a, const float *b, const sgemm__shape *s, int step) {
  const int a_k_vectors = SGEMM__A_K_VECTORS(s), b_k_vectors = SGEMM__B_K_VECTORS(s);
  sgemm__multiply_fragments(acc + step % SGEMM__ACCUMULATOR_SETS(s->slice_k) * s->TM * s->TN,
                            a + sgemm__fragment_offset(s->TM, a_k_vectors, step), a_k_vectors ? 4 : 1,
                            b + sgemm__fragment_offset(s->TN, b_k_vectors, step), b_k_vectors ? 4 : 1, s->TM, s->TN, 0);
}

/* The copies of single elements that sgemm__multiply_tile() issues: none, those of a tile that may have an edge, those
   of a tile that has none. */
enum { SGEMM__NO_COPIES, SGEMM__EDGE_COPIES, SGEMM__FULL_COPIES };

/* Multiplies a tile whose first fragments are in registers, and goes on to the next tile. Meanwhile the fragments of
   the next step load, at the last step those of the next tile, and copies fill a buffer, see `copies`. Before the
   last step each thread waits for its own copies of the next tile. After the one barrier per tile the next tile is
   complete, and no thread reads this tile any more, because the fragments of its last step are in registers. Copies of
   single elements follow the loads of the next step's fragments: behind so many copies these loads would wait
   (docs/notebook/selection.md, "Guarded copies"). */
SGEMM__DEVICE void sgemm__multiply_tile(float *acc, float *a, float *b, const sgemm__shape *s,
                                        const sgemm__thread_tile *own, float *shared, sgemm__pipeline *x, int first_k,
                                        int prefetch, int copies) {
  const int steps = s->BK / s->slice_k; /* k of the tile for the sliced-K group */
  int step;
  SGEMM__UNROLL
  for (step = 0; step < steps; step++) {
    const int next = (step + 1) % steps;
    if (step == 0 && !s->elements) {
      sgemm__copy_tiles(s, x, 0);
      x->into = sgemm__buffer_after(s, shared, x->into);
    }
    if (next == 0) {
      sgemm__copy_wait(s->bufs - 2);
      if (s->BM <= 16 || s->BN <= 16)
        sgemm__ptxas_fence();
      sgemm__barrier();
      x->from = sgemm__buffer_after(s, shared, x->from);
    }
    if (prefetch || next > 0 || x->tiles_left > 1)
      sgemm__load_step(a, b, s, own, x->from, first_k, next);
    if (step == 0 && s->elements && copies != SGEMM__NO_COPIES) {
      sgemm__copy_tiles(s, x, copies == SGEMM__FULL_COPIES);
      x->into = sgemm__buffer_after(s, shared, x->into);
    } else if (step == 0 && s->elements) {
      sgemm__copy_commit();
    }
    sgemm__multiply_step(acc, a, b, s, step);
  }
  x->tiles_left--;
}

/* Adds the accumulator sets, the sliced-K groups and the blocks of the cluster, and stores the results. number: the
   tile's, in raster order. Variants with 64 results per thread and without sliced-K have code of their own for full
   tiles. They, at an edge, and those that copy single elements multiply all results by alpha first and load C eight
   vectors at a time. This order makes the other variants slower (docs/notebook/tile_ends.md, "Reading C when beta is
   not 0"). */
SGEMM__DEVICE void sgemm__store_pipelined(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                          uint32_t number, const sgemm__thread_tile *own, const sgemm__k_split *split,
                                          float *shared, float *acc) {
  int i;
  SGEMM__UNROLL
  for (i = 0; i < (SGEMM__ACCUMULATOR_SETS(s->slice_k) - 1) * s->TM * s->TN; i++)
    acc[i] += acc[s->TM * s->TN + i];
  if (s->slice_k > 1 || (s->cluster_split_k && split->cluster_k > 1)) {
    sgemm__reduce_and_store(p, s, tile, number, own, split, shared, acc);
  } else if (sgemm__stores_full_tiles(s) && sgemm__is_full_tile(p, s, tile)) {
    sgemm__store_full_tile(p, s, tile, own, acc);
  } else if (s->TM * s->TN == 64 || s->elements) {
    sgemm__scale_and_store(p, s->V, tile, own, s->TN / s->V, s->TM * s->TN / s->V, acc);
  } else {
    sgemm__store_tile(p, s, tile, own, acc);
  }
}

/* The body of async and splitk. A ring of `bufs` buffers holds the tile that is multiplied and bufs - 1 tiles in
   flight. Variants that copy single elements multiply the last bufs - 1 tiles, whose copies have been issued, in a loop
   of their own: predicates of copies that do nothing would take a seventh to a quarter of its instructions
   (docs/notebook/selection.md, "A loop without copies"). In splitk blocks without an edge have a loop of their own too,
   whose copies have no predicates (docs/notebook/selection.md, "Fewer instructions for each copy"). */
SGEMM__DEVICE void sgemm__pipelined(const sgemm__split_k_args *args, const sgemm__shape *s, float *shared, float *acc,
                                    float *a, float *b) {
  const sgemm__args *p = &args->gemm;
  /* sgemm__assume_thread_index() removes up to a third of the instructions. It makes variants with 64 results per
     thread and without sliced-K slower (docs/notebook/tile_ends.md, "Quotients and half steps"). */
  if (s->TM * s->TN != 64 || s->slice_k > 1)
    sgemm__assume_thread_index();
  /* Indices. Blocks are numbered by rank in the cluster, then by tile, then by split-K partition. The blocks of a
     cluster divide the k-steps of a partition: each has an equal number, rounded up, and the last ranks have the rest.
     Conditions skip the divisions if split_k or cluster_k is 1 (docs/notebook/tile_ends.md, "Prologue and epilogue
     code"). */
  const uint32_t cluster_k = s->cluster_split_k ? sgemm__cluster_size() : 1,
                 cluster_rank = s->cluster_split_k ? sgemm__cluster_rank() : 0;
  const int slice_threads = SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, 1);
  const sgemm__k_split split = {sgemm__thread() / slice_threads, sgemm__thread() % slice_threads, cluster_rank,
                                cluster_k};
  const uint32_t partition_blocks = p->tiles_m * p->tiles_n * cluster_k, block = sgemm__block_x();
  const uint32_t partition = block < partition_blocks ? 0 : block / partition_blocks;
  const uint32_t block_in_partition = block - partition * partition_blocks;
  const int steps = (int)((p->k + s->BK - 1) / s->BK), steps_per_split = (int)((args->k_per_split + s->BK - 1) / s->BK);
  const int begin_of_partition = (int)partition * steps_per_split,
            partition_steps = begin_of_partition < steps ? sgemm__clip(steps - begin_of_partition, steps_per_split) : 0;
  const int steps_of_rank = cluster_k > 1 ? (int)(((uint32_t)partition_steps + cluster_k - 1) / cluster_k)
                                          : partition_steps;
  const int skipped = (int)cluster_rank * steps_of_rank, begin = begin_of_partition + skipped; /* first step */
  const sgemm__thread_tile own = sgemm__thread_tile_of(s);
  /* First k of each tile for the sliced-K group. sgemm__opaque(): without it ptxas 13.0.88 leaves out the wait for a
     load of a fragment in one kernel (docs/notebook/compile_time.md, "A fault of ptxas"). */
  const int first_k = (s->slice_k > 1 ? sgemm__opaque(split.slice) : split.slice) * (s->BK / s->slice_k);
  const int buffer = SGEMM__PIPELINE_BUFFER_FLOATS(s);
  const int fused = s->fused && s->slice_k == 1; /* 1: a kernel of its own for epilogues */
  /* Unconditional prefetch: after the last tile a step loads fragments that are not multiplied. With a branch around
     these loads no FMAs would cover their latency. Variants with 64 results per thread and a BK of 16 or more, and
     tall tiles with op NN whose B is not small, are slower without the branch (docs/notebook/issue_slots.md, "What was
     tried"). */
  const int prefetch = sgemm__unconditional_prefetch((s->TM * s->TN != 64 || s->BK < 16) &&
                                                     !(s->BM > s->BN && s->a_k_major && !s->small_b && !s->b_k_major));
  const uint32_t number = cluster_k > 1 ? block_in_partition / cluster_k : block_in_partition; /* tile number */
  sgemm__tile tile = sgemm__tile_of_block(p, s, number);
  /* Tile pointers. */
  sgemm__pipeline x;
  float bias[16]; /* of a kernel of its own for epilogues */
  int i;
  x.load_a = sgemm__copy_loader_of(s, s->small_a, SGEMM__A_K_VECTORS(s), s->BM, s->a_k_major,
                                   tile.A + (int64_t)begin * s->BK * (s->a_k_major ? 1 : p->lda), p->lda, tile.rows);
  x.load_b = sgemm__copy_loader_of(s, s->small_b, SGEMM__B_K_VECTORS(s), s->BN, s->b_k_major,
                                   tile.B + (int64_t)begin * s->BK * (s->b_k_major ? 1 : p->ldb), p->ldb, tile.cols);
  x.from = x.into = shared;
  x.tiles_left = x.to_copy = sgemm__clip(partition_steps - skipped, steps_of_rank);
  x.last_k = begin + x.to_copy == steps ? (int)(p->k - (int64_t)(steps - 1) * s->BK) : s->BK;
  /* Accumulators. */
  SGEMM__UNROLL
  for (i = 0; i < SGEMM__ACCUMULATOR_SETS(s->slice_k) * s->TM * s->TN; i++)
    acc[i] = 0.0f;
  tile.C += partition * args->split_stride;
  /* Main loop. All indices are computed before the PDL wait, while the preceding kernel may still run. */
  sgemm__begin(p, s);
  if (!sgemm__has_work(p))
    return;
  if (fused && s->TM * s->TN < 64) /* variants with 8 x 8 results a thread have no registers for them */
    sgemm__load_thread_biases(p, s, &tile, number, &own, bias);
  SGEMM__UNROLL_BY(1)
  for (i = 0; i < s->bufs - 1; i++, x.into += buffer)
    sgemm__copy_tiles(s, &x, 0);
  sgemm__copy_wait(s->bufs - 2);
  sgemm__barrier();
  if (x.tiles_left > 0)
    sgemm__load_step(a, b, s, &own, x.from, first_k, 0);
  if (s->elements && s->cluster_split_k && tile.rows == s->BM && tile.cols == s->BN)
    while (x.to_copy > 1)
      sgemm__multiply_tile(acc, a, b, s, &own, shared, &x, first_k, prefetch, SGEMM__FULL_COPIES);
  while (s->elements && x.to_copy > 0)
    sgemm__multiply_tile(acc, a, b, s, &own, shared, &x, first_k, prefetch, SGEMM__EDGE_COPIES);
  while (x.tiles_left > 0)
    sgemm__multiply_tile(acc, a, b, s, &own, shared, &x, first_k, prefetch, SGEMM__NO_COPIES);
  /* Epilogue. */
  sgemm__wait_for_c(p, s);
  if (fused && s->TM * s->TN == 64)
    sgemm__load_thread_biases(p, s, &tile, number, &own, bias);
  if (fused)
    sgemm__store_tile_through_epilogue(p, s, &tile, &own, bias, acc);
  else
    sgemm__store_pipelined(p, s, &tile, number, &own, &split, shared, acc);
}

#define SGEMM__KERNEL_PIPELINED(stage, name, blocks, ...)                                                              \
  SGEMM__GLOBAL(name, SGEMM__LAUNCH_THREADS(stage, __VA_ARGS__), blocks, sgemm__split_k_args) {                        \
    SGEMM__COLUMNS(stage, __VA_ARGS__)                                                                                 \
    sgemm__shape shape = SGEMM__SHAPE;                                                                                 \
    SGEMM__SHARED_DYNAMIC(tiles);                                                                                      \
    float acc[SGEMM__ACCUMULATOR_SETS(slice_k) * TM * TN];                                                             \
    float a[SGEMM__FRAGMENT_FLOATS(TM)], b[SGEMM__FRAGMENT_FLOATS(TN)];                                                \
    sgemm__read_op(&shape, trans_a, trans_b, &args.gemm);                                                              \
    if (has_code)                                                                                                      \
      sgemm__pipelined(&args, &shape, tiles, acc, a, b);                                                               \
  }
#define SGEMM__KERNEL_async(...) SGEMM__KERNEL_PIPELINED(__VA_ARGS__)
#define SGEMM__DECLARE_async(name) SGEMM__DECLARE(name, sgemm__split_k_args)
#define SGEMM__KERNEL_splitk(...) SGEMM__KERNEL_PIPELINED(__VA_ARGS__)
#define SGEMM__DECLARE_splitk(name) SGEMM__DECLARE(name, sgemm__split_k_args)

#define SGEMM__RULES_PIPELINED(name)                                                                                   \
  SGEMM__RULES_OF_TILES(name)                                                                                          \
  SGEMM__RULE(bufs >= 3 && bufs <= 4, "a pipeline has 3 or 4 buffers", name)                                           \
  SGEMM__RULE(BK % (slice_k * 8) == 0 && (cluster_split_k || slice_k == 1),                                            \
              "each sliced-K group has a multiple of 8 of BK, and only splitk has several groups", name)               \
  SGEMM__RULE(SGEMM__COPIES_EVENLY(BM, BK, SGEMM__THREADS(BM, BN, TM, TN, slice_k)) &&                                 \
                  SGEMM__COPIES_EVENLY(BN, BK, SGEMM__THREADS(BM, BN, TM, TN, slice_k)),                               \
              "all threads have equally many copies of a tile, or one access of all threads covers it", name)          \
  SGEMM__RULE(elements == 0 || SGEMM__ELEMENTS_EVENLY(BM, BN, SGEMM__THREADS(BM, BN, TM, TN, slice_k)),                \
              "with single elements an access of all threads brings 8 k of 4, 8, 16 or 32 rows or columns", name)      \
  SGEMM__RULE(V == 1 || slice_k > 1 || (TM * TN != 64 && !elements) || (WN / TN >= 4 && WM / TM * (WN / TN) == 32),    \
              "four lanes along n exchange the elements of vectors that go to unaligned rows", name)                   \
  SGEMM__RULE(SGEMM__SHARED_BYTES(0, cluster_split_k, BM, BN, BK, bufs, slice_k) <= 227 * 1024,                        \
              "shared memory of a block is at most 227 KiB", name)
/* 1 if each copy of all threads covers full rows of a tile of MN x BK: 8 consecutive k of a row by copies of 1 element,
   or copies of 4 elements along m or n. */
#define SGEMM__COPIES_EVENLY(MN, BK, threads)                                                                          \
  (SGEMM__DIVIDES(threads, (MN) * (BK)) && SGEMM__DIVIDES((threads) / 8, MN) &&                                        \
   SGEMM__DIVIDES((threads)*4, (MN) * (BK)) && SGEMM__DIVIDES((threads)*4, MN))
/* 1 if an access of single elements by all threads brings 8 k of as many rows, see sgemm__element_loader_of(). */
#define SGEMM__ELEMENTS_EVENLY(BM, BN, threads)                                                                        \
  ((threads) % 32 == 0 && 32 % SGEMM__ROWS_OF_ACCESS(threads) == 0 && (BM) % SGEMM__ROWS_OF_ACCESS(threads) == 0 &&    \
   (BN) % SGEMM__ROWS_OF_ACCESS(threads) == 0)
#define SGEMM__RULES_async(name) SGEMM__RULES_PIPELINED(name)
/* sgemm__reduce_and_store() adds sliced-K groups and blocks of a cluster by vectors of 4 results. */
#define SGEMM__RULES_splitk(name)                                                                                      \
  SGEMM__RULES_PIPELINED(name)                                                                                         \
  SGEMM__RULE(V == 4, "splitk has V = 4, because it sums vectors of 4 results", name)                                  \
  SGEMM__RULE((BM > 16 || SGEMM__SMALL_EVENLY(BM, BK, SGEMM__THREADS(BM, BN, TM, TN, slice_k))) &&                     \
                  (BN > 16 || SGEMM__SMALL_EVENLY(BN, BK, SGEMM__THREADS(BM, BN, TM, TN, slice_k))),                   \
              "each access of all threads brings whole k of a small operand", name)
/* 1 if an access of single elements by all threads brings all MN elements of threads / MN k, and these are whole k of
   sgemm__small_loader_of(). */
#define SGEMM__SMALL_EVENLY(MN, BK, threads)                                                                           \
  ((threads) % (MN) == 0 && SGEMM__DIVIDES((threads) / (MN), BK) &&                                                    \
   ((threads) / (MN) < 16 || (threads) / (MN) % 16 == 0))

#endif /* SGEMM_STAGES_PIPELINED_CUH */
