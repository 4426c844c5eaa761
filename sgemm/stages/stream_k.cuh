/* sgemm/stages/stream_k.cuh: work units of persistent blocks, stream-K, and the kernel that sums its partial tiles. */
#ifndef SGEMM_STAGES_STREAM_K_CUH
#define SGEMM_STAGES_STREAM_K_CUH

/* What a block of tma computes: a tile, or a share of its k. */
typedef struct sgemm__work_unit {
  uint32_t tile, matrix;
  int begin, steps; /* of BK */
  int64_t partial;  /* which partial tile of the workspace it writes; -1: C itself */
} sgemm__work_unit;

/* Tiles, of all the batch, that make whole rounds of the blocks that share; all tiles where none do. */
SGEMM__DEVICE uint32_t sgemm__data_parallel_tiles(const sgemm__tma_args *args) {
  const sgemm__args *p = &args->gemm;
  return p->tiles_m * p->tiles_n * (uint32_t)p->batch - args->stream_k_tiles;
}

/* The first of the steps of BK, of all shared tiles one behind the other, that a share gets: share /
   args->stream_k_units of them, rounded down. So each tile begins with a share where shares are a multiple of tiles.
   args->unit_iterations was rounded up, by what makes less than 2^-16 of a step here; true quotients are whole or 1 /
   args->stream_k_units and more below the next whole. All steps are fewer than 2^31, so that this is right for one
   share beyond the last, too. */
SGEMM__DEVICE uint32_t sgemm__unit_begin(const sgemm__tma_args *args, uint32_t share) {
  return (uint32_t)(share * args->unit_iterations >> 32);
}

/* The share that has the first of the steps of shared tile `index`. */
SGEMM__DEVICE uint32_t sgemm__unit_with(const sgemm__tma_args *args, uint32_t index, uint32_t steps) {
  const uint32_t share = index * args->stream_k_units /
                         args->stream_k_tiles; /* or the next, if it was rounded down to the same step */
  return share + (sgemm__unit_begin(args, share + 1) <= index * steps);
}

/* The turn-th job of this block, if there is one. Blocks stay: of args->persistent_blocks side by side each takes one
   tile of so many in a turn, and after args->tiles_per_block another block comes in its place; the last one has what is
   left. Stream-K (Osama et al., 2023) for the tiles that make no whole round of the blocks: args->stream_k_units of
   these share all their steps evenly. Each gets part of one tile, or the end of one and the beginning of the next,
   which are two jobs. */
SGEMM__DEVICE int sgemm__work_unit_of(const sgemm__tma_args *args, const sgemm__shape *s, uint32_t turn,
                                      sgemm__work_unit *job) {
  const sgemm__args *p = &args->gemm;
  const uint32_t steps = ((uint32_t)p->k + (uint32_t)s->BK - 1) / (uint32_t)s->BK;
  const uint32_t all = sgemm__grid_x(), before = all > args->persistent_blocks
                                                     ? sgemm__block_x() / args->persistent_blocks
                                                     : 0; /* in this place */
  const uint32_t block = sgemm__block_x() - before * args->persistent_blocks;
  const uint32_t whole = sgemm__data_parallel_tiles(args),
                 number = block + (before * args->tiles_per_block + turn) * args->persistent_blocks;
  uint32_t tile = number;
  job->begin = 0;
  job->steps = (int)steps;
  job->partial = -1;
  if (turn >= args->tiles_per_block && (before + 1) * args->persistent_blocks < all)
    return 0;
  if (number >= whole) {
    const uint32_t from = sgemm__unit_begin(args, block), to = sgemm__unit_begin(args, block + 1);
    const uint32_t first = from / (steps > 0 ? steps : 1), next = (first + 1) * steps; /* tile; step */
    const uint32_t second = number - whole >= args->persistent_blocks;
    if (block >= args->stream_k_units || number - whole >= 2 * args->persistent_blocks || to <= (second ? next : from))
      return 0;
    tile = whole + first + second;
    job->begin = second ? 0 : (int)(from - first * steps);
    job->steps = (int)((second || to < next ? to : next) - (second ? next : from));
    job->partial = 2 * (int64_t)block + (second || job->begin == 0); /* the odd one begins a tile */
  }
  job->matrix = tile / (p->tiles_m * p->tiles_n);
  job->tile = tile - job->matrix * (p->tiles_m * p->tiles_n);
  return 1;
}

/* What the warps that multiply are told of a job, in shared memory: reckoned by themselves it took 1000 clocks a tile.
   */
typedef struct sgemm__tile_descriptor {
  int64_t at;     /* floats from the start of C, or of the partial tiles, to the tile */
  int partial;    /* 1: it is one of those */
  int rows, cols; /* of the tile, inside C; rows 0: there is no further job */
  int steps;      /* of a warp, SGEMM__BOX of k each */
  int plain;      /* see sgemm__is_full_tile() */
} sgemm__tile_descriptor;

#define SGEMM__DESCRIPTORS 8 /* at a time: see sgemm__produce_tiles() */

/* 1 for rows that leave out the second half of a job's last step where it lies behind the end of k. It spoils the main
   loop of most; this one is chosen for odd sizes. */
SGEMM__DEVICE int sgemm__skips_half_steps(const sgemm__shape *s) { return s->BM == 256 && s->BK == 2 * SGEMM__BOX; }

/* 1 if this job's is. */
SGEMM__DEVICE int sgemm__skips_last_half(const sgemm__tma_args *args, const sgemm__shape *s,
                                         const sgemm__work_unit *job) {
  const sgemm__args *p = &args->gemm;
  return sgemm__skips_half_steps(s) && job->steps > 1 &&
         (int64_t)(job->begin + job->steps) * s->BK - SGEMM__BOX >= p->k;
}

SGEMM__DEVICE void sgemm__publish(const sgemm__tma_args *args, const sgemm__shape *s, const sgemm__work_unit *job,
                                  sgemm__tile_descriptor *task) {
  const sgemm__args *p = &args->gemm;
  const sgemm__tile tile = sgemm__tile_by_number(p, s, job->tile, job->matrix);
  const int partial = job->partial >= 0;
  task->at = partial ? job->partial * s->BM * s->BN : tile.C - p->C;
  task->partial = partial;
  task->rows = partial ? s->BM : tile.rows;
  task->cols = partial ? s->BN : tile.cols;
  task->steps = job->steps * (s->BK / (s->slice_k / 4) / SGEMM__BOX) - sgemm__skips_last_half(args, s, job);
  task->plain = partial || sgemm__is_full_tile(p, s, &tile);
}

/* C <- alpha * (sum of a shared tile's parts, the first k first) + beta * C. Each of args->reduce_threads threads sums
   four results of as many parts; then the first of them sums these, the first k first again. A block computes a part of
   one tile. What it has to reckon first takes longer than the sum: so it shifts where it can. */
SGEMM__DEVICE void sgemm__reduce_stream_k(const sgemm__tma_args *args, int threads, float *shared) {
  const sgemm__args *p = &args->gemm;
  /* Indices. */
  const sgemm__shape s = {args->BM, args->BN, 0, 1, 4, 0, 0, 4, 0, 1, 0, 0, 1, 1};
  const uint32_t t = (uint32_t)sgemm__thread(), tile_floats = (uint32_t)(args->BM * args->BN);
  const int log_sums = sgemm__log2(args->reduce_threads), log_side = sgemm__log2((uint32_t)threads) - log_sums;
  const int log_blocks = sgemm__log2(tile_floats) - 2 -
                         log_side; /* of a tile, each with 2^log_side threads side by side */
  const uint32_t index = sgemm__block_x() >> log_blocks, inside = sgemm__block_x() - (index << log_blocks);
  const uint32_t part = t >> log_side, at = ((inside << log_side) + t - (part << log_side)) * 4;
  const uint32_t steps = ((uint32_t)p->k + (uint32_t)args->BK - 1) >> sgemm__log2((uint32_t)args->BK),
                 first = index * steps;
  const uint32_t begin = sgemm__unit_with(args, index, steps), last = sgemm__unit_with(args, index + 1, steps);
  const uint32_t end = last + (sgemm__unit_begin(args, last) < first + steps); /* of its shares */
  const uint32_t each = (end - begin + args->reduce_threads - 1) >> log_sums, before = part * each,
                 from = begin + before;
  const uint32_t rest = from < end ? end - from : 0, parts = rest < each ? rest : each;
  const uint32_t number = sgemm__data_parallel_tiles(args) + index, tiles = p->tiles_m * p->tiles_n;
  const uint32_t matrix = number < tiles ? 0 : number / tiles;
  const sgemm__tile tile = sgemm__tile_by_number(p, &s, number - matrix * tiles, matrix);
  const int row = (int)(at >> sgemm__log2((uint32_t)args->BN));
  const sgemm__thread_tile own = {row, (int)at - row * args->BN, 0, 0, 0};
  const float *next = args->partials + (int64_t)from * 2 * tile_floats + at;
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f}, r[8][4];
  uint32_t i;
  int ahead, v;
  sgemm__pdl_wait();
  if (!sgemm__has_work(p))
    return;
  for (i = 0; i < parts; i += 8) {
    SGEMM__UNROLL
    for (ahead = 0; ahead < 8; ahead++) { /* all under way before the first is used */
      if (i + (uint32_t)ahead < parts)
        sgemm__load_result4(r[ahead],
                            before + i + (uint32_t)ahead == 0 ? next + tile_floats : next); /* see sgemm__work_unit */
      next += 2 * tile_floats;
      sgemm__converge();
    }
    SGEMM__UNROLL
    for (ahead = 0; ahead < 8; ahead++) {
      SGEMM__UNROLL
      for (v = 0; v < 4 && i + (uint32_t)ahead < parts; v++)
        sum[v] = i + (uint32_t)ahead == 0 ? r[ahead][v] : sum[v] + r[ahead][v];
    }
  }
  if (args->reduce_threads > 1) {
    sgemm__store_shared4(shared + t * 4, sum);
    sgemm__barrier();
    for (i = 1; part == 0 && i * each < end - begin; i++) {
      sgemm__load_shared4(r[0], shared + ((i << log_side) + t) * 4);
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        sum[v] += r[0][v];
    }
  }
  if (part == 0)
    sgemm__store_tile(p, &s, &tile, &own, sum);
}

#if SGEMM__WITH_HOST
SGEMM__GLOBAL(sgemm_reduce_stream_k, SGEMM__PACK_THREADS, 4, sgemm__tma_args) {
  SGEMM__SHARED(sums, 4 * SGEMM__PACK_THREADS);
  sgemm__reduce_stream_k(&args, SGEMM__PACK_THREADS, sums);
}
#endif

#endif /* SGEMM_STAGES_STREAM_K_CUH */
