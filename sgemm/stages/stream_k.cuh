/* sgemm/stages/stream_k.cuh: work units of persistent blocks, stream-K, and the kernel that sums its partial tiles. */
#ifndef SGEMM_STAGES_STREAM_K_CUH
#define SGEMM_STAGES_STREAM_K_CUH

/* A work unit of a block of the stages tma and clustered: all iterations of a tile, or some of them. An iteration is BK
   of k, one buffer of shared memory. */
typedef struct sgemm__work_unit {
  uint32_t tile, matrix; /* number of the tile in raster order; number of its matrix in the batch */
  int begin, iterations; /* first iteration in the tile, from 0 on; number of iterations */
  int64_t partial;       /* number of the partial tile in the workspace that receives the sums; -1: C receives them */
} sgemm__work_unit;

/* Number of data-parallel tiles in all matrices of the batch. One block computes all of k of each. With stream-K off
   all tiles are data-parallel. The numbers of the stream-K tiles follow those of the data-parallel tiles. */
SGEMM__DEVICE uint32_t sgemm__data_parallel_tiles(const sgemm__tma_args *args) {
  const sgemm__args *p = &args->gemm;
  return p->tiles_m * p->tiles_n * (uint32_t)p->batch - args->stream_k_tiles;
}

/* First iteration of stream-K unit `unit`, 0 to args->stream_k_units, among the iterations of all stream-K tiles, tile
   after tile: unit * iterations / args->stream_k_units, rounded down. If the number of units is a multiple of the
   number of tiles, each tile begins with a unit. For unit = args->stream_k_units the result is the number of
   iterations.
   The result is exact. The host rounds args->unit_iterations up, which adds less than 2^-16 iterations to the product.
   A true quotient is an integer or lies at least 1 / args->stream_k_units below the next one, and there are fewer than
   2^31 iterations. */
SGEMM__DEVICE uint32_t sgemm__unit_begin(const sgemm__tma_args *args, uint32_t unit) {
  return (uint32_t)(unit * args->unit_iterations >> 32);
}

/* The stream-K unit that computes the first iteration of stream-K tile `index`, 0 to args->stream_k_tiles. iterations:
   iterations of a tile. */
SGEMM__DEVICE uint32_t sgemm__unit_with(const sgemm__tma_args *args, uint32_t index, uint32_t iterations) {
  /* This unit, or the next one if its first iteration was rounded down to the tile's first. */
  const uint32_t unit = index * args->stream_k_units / args->stream_k_tiles;
  return unit + (sgemm__unit_begin(args, unit + 1) <= index * iterations);
}

/* Writes work unit number `index` of this block, from 0 on, to *unit. Returns 0 if the block has no such unit.
     Persistent blocks: args->persistent_blocks blocks run at a time, each in a resident block slot. A block computes
     one tile of each wave. After args->tiles_per_block tiles it ends, and the next block of the grid gets its slot. The
     last block of a slot computes all remaining tiles.
     Stream-K (Osama et al., "Stream-K", 2023): args->stream_k_units blocks divide the iterations of the tiles of the
     last, partial wave evenly. A block's iterations lie in one tile, or are the end of one tile and the beginning of
     the next, which are two work units.
     Stage clustered: the blocks of a cluster divide the iterations of one tile. A block has one work unit. It may have
     no iterations. */
SGEMM__DEVICE int sgemm__work_unit_of(const sgemm__tma_args *args, const sgemm__shape *s, uint32_t index,
                                      sgemm__work_unit *unit) {
  const sgemm__args *p = &args->gemm;
  const uint32_t iterations = ((uint32_t)p->k + (uint32_t)s->BK - 1) / (uint32_t)s->BK; /* in a tile */
  const uint32_t blocks = sgemm__grid_x(), before = blocks > args->persistent_blocks
                                                        ? sgemm__block_x() / args->persistent_blocks
                                                        : 0;                  /* earlier blocks of this slot */
  const uint32_t block = sgemm__block_x() - before * args->persistent_blocks; /* number of the slot */
  const uint32_t data_parallel = sgemm__data_parallel_tiles(args),
                 number = block + (before * args->tiles_per_block + index) * args->persistent_blocks;
  uint32_t tile = number;
  unit->begin = 0;
  unit->iterations = (int)iterations;
  unit->partial = -1;
  if (s->cluster_split_k ? index > 0
                         : index >= args->tiles_per_block && (before + 1) * args->persistent_blocks < blocks)
    return 0;
  if (s->cluster_split_k) {
    const uint32_t cluster_k = sgemm__cluster_size(), rank = sgemm__cluster_rank();
    tile = sgemm__block_x() / cluster_k;
    unit->begin = (int)(rank * iterations / cluster_k);
    unit->iterations = (int)((rank + 1) * iterations / cluster_k) - unit->begin;
  } else if (number >= data_parallel) {
    const uint32_t from = sgemm__unit_begin(args, block), to = sgemm__unit_begin(args, block + 1);
    const uint32_t first = from / (iterations > 0 ? iterations : 1); /* stream-K tile that has iteration `from` */
    const uint32_t next = (first + 1) * iterations;                  /* first iteration of the tile after it */
    const uint32_t second = number - data_parallel >= args->persistent_blocks; /* 1: the unit lies in that tile */
    if (block >= args->stream_k_units || number - data_parallel >= 2 * args->persistent_blocks ||
        to <= (second ? next : from))
      return 0;
    tile = data_parallel + first + second;
    unit->begin = second ? 0 : (int)(from - first * iterations);
    unit->iterations = (int)((second || to < next ? to : next) - (second ? next : from));
    unit->partial = 2 * (int64_t)block + (second || unit->begin == 0); /* odd: the unit begins its tile */
  }
  unit->matrix = tile / (p->tiles_m * p->tiles_n);
  unit->tile = tile - unit->matrix * (p->tiles_m * p->tiles_n);
  return 1;
}

/* Tile descriptor: a work unit as the consumer warps need it, in shared memory. The producer thread publishes it, or a
   consumer warp in code without a producer (sgemm__publish_unit()). When each consumer warp computed its units itself,
   a 64 x 64 x 64 tile of 8700 clocks spent 720 clocks on its position in C and 310 clocks on the next unit (H200,
   docs/notebook/tma_loop.md, "Persistent blocks"). offset is not a pointer: nvcc cannot prove that a pointer from
   shared memory points to global memory (docs/notebook/tile_ends.md, "Sums by shuffles"). */
typedef struct sgemm__tile_descriptor {
  int64_t offset; /* floats from C, or from the first partial tile, to the results of this unit; in a reducing kernel
                     the number of the tile's first row among the rows of all matrices */
  int partial;    /* 1: the results go to a partial tile of the workspace; 0: to C */
  int rows, cols; /* rows and columns of the tile that lie inside C; rows = 0: the block has no further unit */
  int steps;      /* steps of a consumer warp's main loop, SGEMM__BOX of k each */
  int full;       /* 1: the fast store of sgemm__store_lanes() applies, see sgemm__is_full_tile() */
  int col;        /* first column of the tile, in kernels that apply an epilogue */
} sgemm__tile_descriptor;

/* Slots of descriptors in shared memory: see sgemm__produce_tiles() and sgemm__publish_unit(). */
#define SGEMM__DESCRIPTORS (SGEMM__HAS_SM90A ? 8 : 16)

/* The copies of a work unit, for consumer warps that issue them: see sgemm__publish_unit(). */
typedef struct sgemm__unit_copies {
  int row, col;           /* first row of A's tiles, first column of B's */
  int matrix_a, matrix_b; /* numbers in the batch */
  int k;                  /* first k */
  int iterations;         /* 0: k is 0, or the block has no such unit */
  int half;               /* first k of the iteration whose second half is left out; -1: none is */
  int exists;             /* 0: the block has no such unit */
} sgemm__unit_copies;

/* 1 for variants with tiles of 256 rows and 64 k. They leave out the second half of a unit's last iteration if that
   half lies beyond the end of k. The selection prefers them for odd sizes. Every other variant loses more time by the
   two additional instructions in its main loop (docs/notebook/tile_ends.md, "Quotients and half steps"). */
SGEMM__DEVICE int sgemm__skips_half_steps(const sgemm__shape *s) { return s->BM == 256 && s->BK == 2 * SGEMM__BOX; }

/* 1 if this work unit leaves out the second half of its last iteration. */
SGEMM__DEVICE int sgemm__skips_last_half(const sgemm__tma_args *args, const sgemm__shape *s,
                                         const sgemm__work_unit *unit) {
  const sgemm__args *p = &args->gemm;
  return sgemm__skips_half_steps(s) && unit->iterations > 1 &&
         (int64_t)(unit->begin + unit->iterations) * s->BK - SGEMM__BOX >= p->k;
}

/* Writes the descriptor of a work unit. */
SGEMM__DEVICE void sgemm__publish(const sgemm__tma_args *args, const sgemm__shape *s, const sgemm__work_unit *unit,
                                  sgemm__tile_descriptor *descriptor) {
  const sgemm__args *p = &args->gemm;
  const sgemm__tile_coord at = sgemm__rasterize(p, unit->tile);
  const sgemm__tile tile = sgemm__tile_at(p, s, at, unit->matrix);
  const int partial = unit->partial >= 0;
  descriptor->offset = partial ? unit->partial * s->BM * s->BN : tile.C - p->C;
  if (s->fused == SGEMM__REDUCES)
    descriptor->offset = unit->matrix * p->m + (int64_t)at.row * s->BM;
  descriptor->partial = partial;
  descriptor->rows = partial ? s->BM : tile.rows;
  descriptor->cols = partial ? s->BN : tile.cols;
  descriptor->steps = unit->iterations * (s->BK / (s->slice_k / 4) / SGEMM__BOX) -
                      sgemm__skips_last_half(args, s, unit);
  descriptor->full = partial || (!(s->fused && p->applies_epilogue) && sgemm__is_full_tile(p, s, &tile));
  if (s->fused)
    descriptor->col = (int)at.col * s->BN;
}

/* C <- alpha * (sum of the partial tiles of a stream-K tile) + beta * C. A block computes 4 * threads /
   args->reduce_threads results of one tile. args->reduce_threads threads, one of each group, add a float4 of results:
   each adds consecutive partial tiles in ascending order of k, then the thread of group 0 adds the sums of the groups
   in ascending order of k. BM, BN and BK are powers of two: the indices need shifts instead of divisions, 568 instead
   of 744 instructions (docs/notebook/tile_ends.md, "Prologue and epilogue code"). */
SGEMM__DEVICE void sgemm__reduce_stream_k(const sgemm__tma_args *args, int threads, float *shared) {
  const sgemm__args *p = &args->gemm;
  /* Indices. */
  const sgemm__shape s = sgemm__vector_shape(args->BM, args->BN);
  const uint32_t t = (uint32_t)sgemm__thread(), tile_floats = (uint32_t)(args->BM * args->BN);
  const int log_groups = sgemm__log2(args->reduce_threads);
  const int log_threads = sgemm__log2((uint32_t)threads) - log_groups; /* threads of a group */
  const int log_blocks = sgemm__log2(tile_floats) - 2 - log_threads;   /* blocks for each tile */
  const uint32_t index = sgemm__block_x() >> log_blocks;               /* stream-K tile */
  const uint32_t inside = sgemm__block_x() - (index << log_blocks);    /* number of the block in the tile */
  const uint32_t group = t >> log_threads;
  const uint32_t at = ((inside << log_threads) + t - (group << log_threads)) * 4; /* first result, in the tile */
  const uint32_t iterations = ((uint32_t)p->k + (uint32_t)args->BK - 1) >> sgemm__log2((uint32_t)args->BK),
                 first = index * iterations; /* first iteration of the tile */
  const uint32_t begin = sgemm__unit_with(args, index, iterations),
                 last = sgemm__unit_with(args, index + 1, iterations);
  const uint32_t end = last + (sgemm__unit_begin(args, last) < first + iterations); /* units begin to end - 1 */
  const uint32_t per_group = (end - begin + args->reduce_threads - 1) >> log_groups, before = group * per_group,
                 from = begin + before;
  const uint32_t rest = from < end ? end - from : 0, partials = rest < per_group ? rest : per_group;
  const uint32_t number = sgemm__data_parallel_tiles(args) + index, tiles = p->tiles_m * p->tiles_n;
  const uint32_t matrix = number < tiles ? 0 : number / tiles;
  const sgemm__tile_coord coord = sgemm__rasterize(p, number - matrix * tiles);
  const sgemm__tile tile = sgemm__tile_at(p, &s, coord, matrix);
  const int row = (int)(at >> sgemm__log2((uint32_t)args->BN));
  const sgemm__thread_tile own = {row, (int)at - row * args->BN, 0, 0, 0};
  const float *next = args->partials + (int64_t)from * 2 * tile_floats + at;
  float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f}, r[8][4];
  sgemm__args out = *p;
  uint32_t i;
  int ahead, v;
  sgemm__pdl_wait();
  if (!sgemm__has_work(p))
    return;
  for (i = 0; i < partials; i += 8) {
    SGEMM__UNROLL
    for (ahead = 0; ahead < 8; ahead++) { /* eight loads are in flight before the first is used */
      if (i + (uint32_t)ahead < partials)
        sgemm__load_result4(r[ahead], before + i + (uint32_t)ahead == 0
                                          ? next + tile_floats
                                          : next); /* the unit that begins the tile wrote the odd partial tile */
      next += 2 * tile_floats;
      sgemm__converge();
    }
    SGEMM__UNROLL
    for (ahead = 0; ahead < 8; ahead++) {
      SGEMM__UNROLL
      for (v = 0; v < 4 && i + (uint32_t)ahead < partials; v++)
        sum[v] = i + (uint32_t)ahead == 0 ? r[ahead][v] : sum[v] + r[ahead][v];
    }
  }
  if (args->reduce_threads > 1) {
    sgemm__store_shared4(shared + t * 4, sum);
    sgemm__barrier();
    for (i = 1; group == 0 && i * per_group < end - begin; i++) {
      sgemm__load_shared4(r[0], shared + ((i << log_threads) + t) * 4);
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        sum[v] += r[0][v];
    }
  }
  if (group > 0)
    return;
  if (p->applies_epilogue) { /* beta is 0 */
    const float *vec_n = p->epilogue.vec_n;
    float bias[4];
    vec_n += vec_n != NULL ? (int64_t)coord.col * args->BN + own.col : 0;
    sgemm__load_row_bias(vec_n, tile.cols - own.col, bias);
    if (p->epilogue.aux != NULL) {
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        r[0][v] = sgemm__fma(p->alpha, sum[v], bias[v]);
      sgemm__store_values(p->epilogue.aux + (tile.C - p->C) + own.row * p->ldc + own.col, r[0], 4,
                          own.row < tile.rows ? sgemm__clip(tile.cols - own.col, 4) : 0);
    }
    sgemm__evaluate_in_registers(p, SGEMM__ALL_IN_REGISTERS, bias, 1, 1, 1, sum);
    out.alpha = 1.0f;
  }
  sgemm__store_tile(&out, &s, &tile, &own, sum);
}

#if SGEMM__PART_HOST
SGEMM__GLOBAL(sgemm_reduce_stream_k, SGEMM__PACK_THREADS, 4, sgemm__tma_args) {
  SGEMM__SHARED(sums, 4 * SGEMM__PACK_THREADS);
  sgemm__reduce_stream_k(&args, SGEMM__PACK_THREADS, sums);
}
#endif

#endif /* SGEMM_STAGES_STREAM_K_CUH */
