/* sgemm/select/cost.h: the estimated time of a plan, in clocks of an SM. It depends only on the shape, the device
   properties and the calibration constants. docs/notebook/selection.md and docs/notebook/power.md have the
   measurements. */
#ifndef SGEMM_SELECT_COST_H
#define SGEMM_SELECT_COST_H

/* Constants of the estimate that tune does not fit, each from measurements on an H200 (pages of docs/notebook). */
#define SGEMM__COST_PACK_BANDWIDTH 0.9  /* fraction of nominal DRAM bandwidth that packing reaches (tma_origins.md) */
#define SGEMM__COST_L2_SHARE 1.4        /* bandwidth of the L2, as a fraction of the nominal DRAM bandwidth */
#define SGEMM__COST_L2_FULL 0.7         /* fraction of the L2 up to which the bytes of a call are taken as L2-warm */
#define SGEMM__COST_REDUCE_WAIT 2000.0  /* clocks for 8 loads in flight of a stream-K sum (selection.md) */
#define SGEMM__COST_REUSE_K 4096.0      /* k of a block beyond which L2 reuse is lost (memory_bound.md) */
#define SGEMM__COST_REUSE_LIMIT 16384.0 /* k beyond which no more of it is lost (selection.md, "Long k") */
#define SGEMM__COST_CLUSTER_IDLE 11.0   /* SMs for each SM idle beside clusters (selection.md, "Where clusters run") */
#define SGEMM__COST_GPC_SMS 16          /* SMs of a GPC on which clusters run (selection.md, "Cluster sizes") */
#define SGEMM__COST_POWER_DRAM 0.49     /* power bound: time of a DRAM byte over that at nominal bandwidth (power.md) */
#define SGEMM__COST_POWER_L2 0.17       /* power bound: time of a byte loaded by an SM, in the same unit (power.md) */
#define SGEMM__COST_SMALLER_BOUND 0.06  /* fraction of the smaller of two bounds that adds to the larger (power.md) */

#define SGEMM__COST_INFINITY 1e150 /* clocks of what no plan can do; the square is a finite double */

/* x rounded up, for x >= 0. A fraction of up to 1e-9 is a rounding error of x and does not count. From 2^23 on, where
   doubles are farther apart than that, the result may be too large by 1. The code has no branch, because one would be
   mispredicted every other time. */
static inline double sgemm__ceil(double x) { return (double)(int64_t)(x + (1.0 - 1e-9)); }
static inline double sgemm__larger(double a, double b) { return a > b ? a : b; }
static inline double sgemm__smaller(double a, double b) { return a < b ? a : b; }

/* Blocks of a cluster, at most: on every GPU that has clusters, and on some GPUs, by kernels that opt in (CUDA C++
   Programming Guide, "Thread Block Clusters"). */
enum { SGEMM__PORTABLE_CLUSTER = 8, SGEMM__CLUSTER_LIMIT = 16 };

/* Blocks of a cluster that the device runs, at most. */
static inline int sgemm__cluster_limit(const sgemm_device *device) {
  return device->code_arch < 90                                 ? 1
         : device->cluster_limit > (int)SGEMM__PORTABLE_CLUSTER ? device->cluster_limit
                                                                : (int)SGEMM__PORTABLE_CLUSTER;
}

/* Launches of serial split-K, at most. Each adds to C after the one before, so more of them take longer to end. */
enum { SGEMM__SERIAL_LIMIT = 8 };

/* Launches of serial split-K that the selection considers, at most. Without PDL, before sm_90, they would run one after
   the other. */
static inline int sgemm__serial_limit(const sgemm__args *args, const sgemm_device *device) {
  return device->code_arch >= 90 && sgemm__can_apply_after(args) ? (int)SGEMM__SERIAL_LIMIT : 1;
}

/* 1 if the boxes of an operand have fewer than 32 elements in a row: it is MN-major and has as few rows or columns. All
   SMs together then load at most 15 rows a nanosecond (docs/notebook/selection.md, "Serial split-K"). */
static inline int sgemm__is_narrow(double extent, int state) { return extent < 32.0 && state == 0; }

/* What lower bounds need of a way to divide k: the least of all plans that divide it so. */
typedef struct sgemm__division {
  double more;            /* clocks of every plan of such variants beyond q->fixed[0] */
  double sum, sum_result; /* clocks of plans that divide k: those of the sums and `more`; for each result of a tile */
  double part;            /* part of a tile's k in a block */
  double starts;          /* 1 if an SM starts each block; 0 if blocks are persistent */
} sgemm__division;

/* What the estimate needs of params and device, computed once for all plans. Doubles are accurate enough. */
typedef struct sgemm__problem {
  sgemm__args args;
  double m, n, k, batch;
  double tiles_m[SGEMM__LOG2_COUNT]; /* tiles in a column of C, for each logarithm of BM */
  double tiles_n[SGEMM__LOG2_COUNT]; /* tiles in a row of C, for each logarithm of BN */
  double steps[SGEMM__LOG2_COUNT];   /* k-steps of a tile, for each logarithm of BK */
  double whole_k[SGEMM__LOG2_COUNT]; /* k of these steps */
  double load_m[SGEMM__LOG2_COUNT];  /* elements of B that all tiles of C load for each k, for each logarithm of BM */
  double load_n[SGEMM__LOG2_COUNT];  /* elements of A, for each logarithm of BN */
  double lines_a, lines_b;           /* L1 lines for each k of A and of B: see sgemm__lines() */
  int c_vectors;           /* 1: ldc is a multiple of 4, so that rows of C can start at multiples of 16 bytes */
  int a_state, b_state;    /* states of the operands */
  double pack_a, pack_b;   /* elements of A, and of B, that packing writes */
  double fixed[2];         /* clocks of every plan besides those of SMs and memory, at least: without tma, and with it;
                            SGEMM__COST_INFINITY where a plan of tma has to pack an operand without workspace */
  double sms, per_sm;      /* SMs of the device; 1 / sms */
  double idle, gpcs;       /* SMs that have no place in clusters of more than 2 blocks; GPCs of the others */
  int64_t workspace_bytes; /* bytes of workspace; INT64_MAX if the plan decides how many are allocated */
  int has_workspace;       /* 1: the call has workspace, so that a second kernel can sum partial results */
  int cluster_limit;       /* blocks of a cluster that the device runs, at most */
  int serial_limit;        /* launches of serial split-K, at most */
  double narrow;      /* clocks of an SM for each k of a tile of tma, for the rows of narrow boxes; 0 without them */
  int must_pack;      /* 1: a plan of tma or clustered has to pack an operand */
  double per_cluster; /* 1 / cluster_limit */
  double lane;        /* 128 over the FMA lanes of an SM */
  double dram_byte;   /* clocks for each DRAM byte at the nominal bandwidth */
  double bytes, dram; /* sgemm_min_bytes() of the call, and the clocks that DRAM needs for them; 0 if the L2 has them */
  double dram2;       /* dram squared */
  double l2;          /* bytes of the L2 */
  double power;       /* clocks of the power bound of every plan, at least: all FMAs, and each byte moved once */
  double share;       /* matrices of the batch for each SM */
  double partition;   /* clocks of a split-K partition, which is stored and loaded */
  double serial;      /* clocks of each further launch of serial split-K, which loads and stores C */
  double tile_result; /* clocks for each result of a stream-K partial tile, which is stored and loaded */
  double
      second[2]; /* clocks of the second kernel of split-K, and of stream-K; SGEMM__COST_INFINITY without workspace */
  double per_k;  /* 1 / k; 1 if k is 0 */
  sgemm__division divisions[SGEMM__DIVISIONS]; /* for lower bounds */
} sgemm__problem;

/* Clocks of packing `elements` elements in a launch of its own: each is 4 bytes read and 4 bytes written. */
static inline double sgemm__pack_cost(double elements, double dram_byte, const sgemm__calibration *c) {
  return elements > 0.0 ? c->pack + elements * 8.0 * dram_byte / SGEMM__COST_PACK_BANDWIDTH : 0.0;
}

/* L1 lines of 128 bytes for each k that a load of 32 consecutive k touches: of a row or column of an operand that is
   K-major, or MN-major with this leading dimension. A load that begins within a line touches one more. */
static inline double sgemm__lines(int state, int64_t ld) {
  return (1.0 + ((state & SGEMM__K_MAJOR) ? 1.0 : sgemm__smaller((double)ld, 32.0))) / 32.0;
}

/* Partitions of a split-K plan that the selection considers, at most. */
enum { SGEMM__SPLIT_K_LIMIT = 128 };

/* The divisions of a problem whose other fields are set. Divided k has two parts at least. */
static inline void sgemm__set_divisions(sgemm__problem *q, const sgemm__calibration *c) {
  const double tma = q->fixed[1] - q->fixed[0], split = q->second[0] + 2.0 * q->partition;
  const double clusters = c->cluster + 2.0 * c->cluster_block, split_part = 1.0 / (double)SGEMM__SPLIT_K_LIMIT;
  const sgemm__division by_clusters = {0.0, clusters, c->cluster_result, q->per_cluster, 1.0};
  const sgemm__division by_either = {0.0, sgemm__smaller(split, clusters), 0.0,
                                     sgemm__smaller(split_part, q->per_cluster), 1.0};
  const sgemm__division all[SGEMM__DIVISIONS] = {
      {0.0, SGEMM__COST_INFINITY, 0.0, 1.0, 1.0},
      {0.0, split, 0.0, split_part, 1.0},
      by_clusters,
      q->has_workspace ? by_either : by_clusters,
      {tma, tma + q->second[1], 2.0 * q->tile_result, 0.0, 0.0},
      {tma, tma + clusters, c->cluster_result, q->per_cluster, 1.0},
  };
  memcpy(q->divisions, all, sizeof all);
}

/* Sets a problem in place, because gcc copies a struct that a function returns (docs/notebook/selection.md, "The time
   of the selection"). */
static inline void sgemm__set_problem(sgemm__problem *q, const sgemm_params *p, const sgemm_device *device,
                                      const sgemm__calibration *c) {
  const sgemm__args *a = &q->args;
  double size = 1.0, per_size = 1.0;
  int i, packs_a, packs_b;
  double must_pack; /* elements that a plan of tma has to pack: of operands that tensor maps cannot describe */
  sgemm__set_args(&q->args, p);
  q->m = (double)a->m;
  q->n = (double)a->n;
  q->k = (double)a->k;
  q->batch = (double)a->batch;
  for (i = 0; i < SGEMM__LOG2_COUNT; i++, size *= 2.0, per_size *= 0.5) {
    q->tiles_m[i] = sgemm__ceil(q->m * per_size);
    q->tiles_n[i] = sgemm__ceil(q->n * per_size);
    q->steps[i] = sgemm__ceil(q->k * per_size);
    q->whole_k[i] = sgemm__larger(q->k, q->steps[i] * size);
    q->load_m[i] = q->n * q->tiles_m[i];
    q->load_n[i] = q->m * q->tiles_n[i];
  }
  q->a_state = (!a->trans_a || a->lda == 1 ? SGEMM__K_MAJOR : 0) + (a->lda % 4 != 0 ? SGEMM__UNALIGNED : 0);
  q->b_state = (a->trans_b || a->ldb == 1 ? SGEMM__K_MAJOR : 0) + (a->ldb % 4 != 0 ? SGEMM__UNALIGNED : 0);
  q->lines_a = sgemm__lines(q->a_state, a->lda);
  q->lines_b = sgemm__lines(q->b_state, a->ldb);
  q->c_vectors = a->ldc % 4 == 0;
  q->sms = device->multiprocessors;
  q->per_sm = 1.0 / q->sms;
  q->idle = (double)(int)(q->sms / SGEMM__COST_CLUSTER_IDLE);
  q->gpcs = (q->sms - q->idle) / SGEMM__COST_GPC_SMS;
  q->workspace_bytes = p->workspace_bytes == SGEMM_WORKSPACE_AUTO ? INT64_MAX : p->workspace_bytes;
  q->has_workspace = q->workspace_bytes > 0;
  q->cluster_limit = sgemm__cluster_limit(device);
  q->serial_limit = sgemm__serial_limit(a, device);
  q->per_cluster = 1.0 / q->cluster_limit;
  q->lane = 128.0 / device->lanes;
  q->dram_byte = 1e-3 / device->bandwidth_gbs * device->clock_mhz;
  q->bytes = sgemm_min_bytes(a->m, a->n, a->k, a->beta) * q->batch;
  q->l2 = (double)device->l2_bytes;
  q->dram = q->bytes < SGEMM__COST_L2_FULL * q->l2 ? 0.0 : q->bytes * q->dram_byte / c->bandwidth_share;
  q->dram2 = q->dram * q->dram;
  q->share = q->batch * q->per_sm;
  q->power = q->m * q->n * q->k * q->share / 128.0 * q->lane + SGEMM__COST_POWER_DRAM * q->bytes * q->dram_byte;
  q->partition = 8.0 * q->m * q->n * q->share / c->partial_bytes;
  q->serial = c->serial + q->partition;
  q->tile_result = 8.0 * q->per_sm / c->stream_bytes;
  q->pack_a = q->m * q->k * (double)sgemm__matrix_count(a->batch, a->stride_a);
  q->pack_b = q->n * q->k * (double)sgemm__matrix_count(a->batch, a->stride_b);
  packs_a = sgemm__must_repack(a, 0);
  packs_b = sgemm__must_repack(a, 1);
  must_pack = (packs_a ? q->pack_a : 0.0) + (packs_b ? q->pack_b : 0.0);
  q->must_pack = packs_a || packs_b; /* also without elements */
  q->narrow = c->narrow_row * (sgemm__is_narrow(q->m, q->a_state) + sgemm__is_narrow(q->n, q->b_state));
  q->fixed[0] = c->launch;
  q->fixed[1] = must_pack > 0.0 && !q->has_workspace
                    ? SGEMM__COST_INFINITY
                    : c->launch + c->persistent + sgemm__pack_cost(must_pack, q->dram_byte, c);
  q->second[0] = q->has_workspace ? c->split_k : SGEMM__COST_INFINITY;
  q->second[1] = q->has_workspace ? c->stream_k : SGEMM__COST_INFINITY;
  q->per_k = 1.0 / sgemm__larger(q->k, 1.0);
  sgemm__set_divisions(q, c);
}

static inline sgemm__problem sgemm__problem_of(const sgemm_params *p, const sgemm_device *device,
                                               const sgemm__calibration *c) {
  sgemm__problem q;
  sgemm__set_problem(&q, p, device, c);
  return q;
}

/* Clocks of the second kernel that applies an epilogue: a launch, and for each result 4 bytes read and 4 written. */
static inline double sgemm__apply_cost(const sgemm__problem *q, const sgemm__calibration *c) {
  return c->apply + q->m * q->n * q->batch * 8.0 * q->dram_byte / SGEMM__COST_L2_SHARE;
}

/* What the estimate needs of a variant and its own calibration constants, computed once for all its plans. */
typedef struct sgemm__candidate {
  const sgemm_variant_info *v;
  double resident, BK; /* columns of the variant's row */
  double tiles;        /* tiles of C in all the batch */
  double per_k;        /* clocks for each k of a tile on an SM full of blocks */
  double tile;         /* clocks of a tile's whole k on an SM full of blocks */
  double arrival;      /* clocks until a tile's whole k has arrived and is multiplied, at least */
  double memory2;      /* sum of the squares of the clocks of all loads and of DRAM, at least */
  double wave;         /* clocks of a wave besides those for its k and for C */
  double step;         /* clocks between the arrivals of the tiles of consecutive k-steps, at least */
  double block;        /* clocks of an SM for a block besides its k */
  double read_c;       /* clocks of a wave that wait for C, if beta is not 0; partial results need no C */
  double tile_c;       /* clocks of an SM for the loads of C of a tile, and for stores to unaligned or to many rows */
  double load;         /* clocks of the loads of all tiles for each k, while all SMs load */
  double step_bytes;   /* bytes that a block loads for each k */
  double partial;      /* clocks of a split-K partition, or of a stream-K partial tile */
  double slots;        /* resident block slots of the device for each tile */
  double steps;        /* k-steps of a tile */
  double most_parts;   /* split-K partitions, at most: each has the k of sgemm__min_block_k() or more */
  double most_serial;  /* blocks that divide a tile's k in serial split-K, at most; 1: the variant has none */
  double most_blocks; /* blocks of a cluster, at most: each has the k of sgemm__min_block_k() or more, all are resident,
                         and the blocks of the launch fill four waves at most */
  double cluster;     /* clocks of the sum over a cluster, besides its blocks */
  double apply;       /* clocks of a second kernel that applies the epilogue; 0 if the kernels of the variant do */
  double serial_apply; /* the same for serial split-K, whose kernels never do; 0 without an epilogue */
  double fixed;        /* clocks of every plan besides those of SMs and memory, at least: see sgemm__problem */
} sgemm__candidate;

/* SGEMM__CAN_SPLIT_K() of a variant. */
static inline int sgemm__can_split_k(const sgemm_variant_info *v) {
  return SGEMM__CAN_SPLIT_K(v->uses_tma, v->cluster_split_k, v->bufs, v->stage);
}

/* SGEMM__MIN_BLOCK_K() of a variant. */
static inline double sgemm__min_block_k(const sgemm_variant_info *v) {
  return SGEMM__MIN_BLOCK_K(v->BK, v->V, v->bufs);
}

/* Clocks of a wave that wait for C, if beta is not 0: a thread waits once for each of its output vectors, twice where
   the rows of C are not aligned and a vector is four loads. Pipelines with 8 x 8 results per thread, those that copy
   single elements, and tma load eight vectors at a time; their code for it runs once, and it is long. A thread of
   direct loads all its vectors at a time. */
static inline double sgemm__read_c_cost(const sgemm_variant_info *v, const sgemm__problem *q,
                                        const sgemm__calibration *c) {
  const double vectors = v->stage == SGEMM_STAGE_direct
                             ? 1.0
                             : sgemm__larger((double)(v->TM * v->TN) / (v->V * v->slice_k), 1.0);
  const int ahead = v->copies_elements || (v->bufs > 2 && v->slice_k == 1 && v->TM * v->TN == 64);
  return v->uses_tma ? c->read_tma
         : ahead     ? c->read_ahead
                     : c->read_c * vectors * (!q->c_vectors && v->V == 4 && v->bufs > 0 ? 2.0 : 1.0);
}

/* SGEMM__IS_ELEMENTWISE() of a variant. */
static inline int sgemm__is_elementwise(const sgemm_variant_info *v) { return SGEMM__IS_ELEMENTWISE(v->stage, v->V); }

/* Bytes that a block loads for each k. Where neighbours of k are not consecutive in memory, gemv with V = 1 loads whole
   sectors of 32 bytes, or the rows of a narrow operand. */
static inline double sgemm__step_bytes(const sgemm_variant_info *v, const sgemm__problem *q) {
  const int row = v->BN > v->BM, extent = v->BM * v->BN; /* row: B is the matrix, A the vector */
  double ld_a, ld_b;
  if (v->stage != SGEMM_STAGE_gemv || v->V != 1)
    return 4.0 * (v->BM + v->BN);
  ld_a = (q->a_state & SGEMM__K_MAJOR) ? 1.0 : sgemm__smaller((double)q->args.lda, 8.0);
  ld_b = (q->b_state & SGEMM__K_MAJOR) ? 1.0 : sgemm__smaller((double)q->args.ldb, 8.0);
  return 4.0 * (sgemm__larger(extent, row ? ld_b : ld_a) + (row ? ld_a : ld_b));
}

/* Clocks of an SM full of blocks for each k of a tile. Where lanes divide k, the L1 limits: the rate is that of loads
   which touch a line for each k. */
static inline double sgemm__per_k(const sgemm__tile_sizes *t, const sgemm__variant_calibration *own,
                                  const sgemm__problem *q) {
  const double clocks = t->results * own->fma_clocks * q->lane, a = own->fma_a[q->a_state], b = own->fma_b[q->b_state];
  return t->lane_a > 0.0 ? clocks * (t->lane_a * q->lines_a * a + t->lane_b * q->lines_b * b) : clocks * a * b;
}

/* Clocks of the loads of all tiles for each k, while all SMs load. At an edge a tile loads the rows that exist. */
static inline double sgemm__load(const sgemm__tile_sizes *t, const sgemm__variant_calibration *own,
                                 const sgemm__problem *q) {
  return 4.0 * (q->load_n[t->log_n] + q->load_m[t->log_m]) * q->share * own->byte_clocks * own->load_a[q->a_state] *
         own->load_b[q->b_state];
}

/* Clocks of a split-K partition, or of a stream-K partial tile; and of the sum over a cluster, besides its blocks. */
static inline double sgemm__partial_cost(const sgemm__tile_sizes *t, const sgemm__problem *q) {
  return t->uses_tma ? t->results * q->tile_result : q->partition;
}
static inline double sgemm__cluster_cost(const sgemm__tile_sizes *t, const sgemm__calibration *c) {
  return c->cluster + c->cluster_result * t->results;
}

/* Clocks of a wave with n blocks on an SM: the SM works on all of them, and each waits for its tiles and for C. */
static inline double sgemm__wave(double n, double work, double wait) { return sqrt(n * n * work * work + wait * wait); }

/* Clocks of a plan with this time and this power bound: the larger one, and a fraction of the smaller one. */
static inline double sgemm__with_power(double time, double power) {
  return sgemm__larger(time, power) + SGEMM__COST_SMALLER_BOUND * sgemm__smaller(time, power);
}

/* The time of a plan without the power bound, if sgemm__with_power() of it is `cost`. */
static inline double sgemm__without_power(double cost, double power) {
  const double longer = cost - SGEMM__COST_SMALLER_BOUND * power; /* the time, if it exceeds the power bound */
  return longer >= power ? longer : (cost - power) / SGEMM__COST_SMALLER_BOUND;
}

/* Blocks of the clusters in plans with clusters and serial split-K that the selection considers. */
enum { SGEMM__SERIAL_CLUSTER = 4 };

/* What the bounds of all plans need of a variant: tiles for each SM, and fields of sgemm__candidate. */
typedef struct sgemm__tile_work {
  double on_sm, tile, arrival, wave, memory2;
} sgemm__tile_work;

/* The bound of plans whose blocks divide k: see sgemm__bound_of(). The SM time is at least that of all SMs busy all the
   time, and that of one block. sum: clocks of the sums, at least; part: part of a tile's k in a block, at least; block:
   clocks of a block besides its k. The square of sum + sqrt(busy * busy + x) is at least that of sum + busy, and x. */
static inline double sgemm__divided_bound(double sum, double part, double block, const sgemm__tile_work *w) {
  const double busy = sgemm__larger((w->tile + 2.0 * block) * w->on_sm, w->tile * part + block) + sum;
  const double wait = w->arrival * part + w->wave;
  return busy * busy + wait * wait + w->memory2;
}

/* The work of a variant's tiles. */
static inline sgemm__tile_work sgemm__tile_work_of(const sgemm__tile_sizes *t, const sgemm__variant_calibration *own,
                                                   const sgemm__problem *q) {
  const double k = q->whole_k[t->log_whole], loads = sgemm__load(t, own, q) * k;
  sgemm__tile_work w;
  w.on_sm = q->tiles_m[t->log_m] * q->tiles_n[t->log_n] * q->share;
  w.tile = sgemm__per_k(t, own, q) * k;
  w.arrival = sgemm__larger(w.tile, q->steps[t->log_k] * own->step);
  w.wave = own->wave;
  w.memory2 = loads * loads + q->dram2;
  return w;
}

/* A lower bound of the times of a variant's plans without serial split-K, and without the power bound: the square of
   the clocks beyond q->fixed[0]. Square roots of sums of squares would take more time than the sums. Without divided k
   the SM time is at least that of the SM with the most tiles. The bound costs less to compute than
   sgemm__candidate_of() and spares the candidates of most variants. */
static inline double sgemm__bound_of(const sgemm__tile_sizes *t, const sgemm__variant_calibration *own,
                                     const sgemm__problem *q) {
  const sgemm__tile_work w = sgemm__tile_work_of(t, own, q);
  const double part = t->block_k * q->per_k;
  const sgemm__division *d = &q->divisions[part > 0.5 ? (int)SGEMM__UNDIVIDED : t->division];
  const double busy = (w.tile + own->block) * sgemm__ceil(w.on_sm) + d->more, wait = w.arrival + w.wave;
  return sgemm__smaller(busy * busy + wait * wait + w.memory2,
                        sgemm__divided_bound(d->sum + d->sum_result * t->results, sgemm__larger(d->part, part),
                                             d->starts * own->block, &w));
}

/* 1 if two launches of a variant with serial split-K, or more, fill a wave at most. */
static inline int sgemm__has_serial(const sgemm__tile_sizes *t, const sgemm__problem *q) {
  return t->serial_slots > 0.0 && 2.0 * q->tiles_m[t->log_m] * q->tiles_n[t->log_n] * q->share <= t->serial_slots;
}

/* The same bound of a variant's plans with serial split-K. */
static inline double sgemm__serial_bound(const sgemm__tile_sizes *t, const sgemm__variant_calibration *own,
                                         const sgemm__problem *q) {
  const sgemm__tile_work w = sgemm__tile_work_of(t, own, q);
  const double part = sgemm__larger(w.on_sm / t->serial_slots, t->block_k * q->per_k);
  return sgemm__divided_bound(q->fixed[t->uses_tma] - q->fixed[0] + q->serial, part, own->block, &w);
}

static inline sgemm__candidate sgemm__candidate_of(sgemm_variant variant, const sgemm__variant_calibration *own,
                                                   const sgemm__problem *q, const sgemm__calibration *c) {
  const sgemm_variant_info *v = sgemm__variant_get(variant);
  const sgemm__tile_sizes *t = sgemm__tile_sizes_of(variant);
  const double tiles_m = q->tiles_m[t->log_m], tiles_n = q->tiles_n[t->log_n], results = q->m * q->n * q->batch;
  const double steps = q->steps[t->log_k], k = q->whole_k[t->log_whole];
  const double read_bytes = v->uses_tma ? c->read_bytes_tma : c->read_bytes;
  sgemm__candidate r;
  r.v = v;
  r.resident = v->resident;
  r.BK = v->BK;
  r.tiles = tiles_m * tiles_n * q->batch;
  r.per_k = sgemm__per_k(t, own, q);
  r.steps = steps;
  r.tile = r.per_k * k;
  r.arrival = sgemm__larger(r.tile, steps * own->step);
  r.wave = own->wave;
  r.step = own->step;
  r.block = own->block;
  r.read_c = q->args.beta != 0.0f ? sgemm__read_c_cost(v, q, c) : 0.0;
  r.tile_c = (q->c_vectors ? 0.0 : own->unaligned_c * results / (r.tiles * t->results)) +
             (v->BN == 1 && q->n > 1.0 ? c->scattered_c * v->BM / 32.0 : 0.0) +
             (q->args.beta != 0.0f ? 4.0 * results / (r.tiles * read_bytes) : 0.0);
  r.step_bytes = sgemm__step_bytes(v, q);
  r.load = sgemm__load(t, own, q) * r.step_bytes / t->bytes;
  if (v->uses_tma)
    r.load += r.tiles * q->per_sm * q->narrow;
  r.memory2 = r.load * k * (r.load * k) + q->dram2;
  r.partial = sgemm__partial_cost(t, q);
  r.slots = q->sms * r.resident / r.tiles;
  r.most_parts = sgemm__smaller(SGEMM__SPLIT_K_LIMIT, q->k / sgemm__min_block_k(v));
  r.most_blocks = !v->cluster_split_k ? 1.0
                                      : sgemm__smaller(sgemm__smaller(q->cluster_limit, q->sms * r.resident),
                                                       sgemm__smaller(r.most_parts, 4.0 * r.slots));
  r.most_serial = t->serial_slots > 0.0 && !(v->uses_tma && q->must_pack) ? r.most_parts : 1.0;
  r.cluster = sgemm__cluster_cost(t, c);
  r.serial_apply = q->args.applies_epilogue ? sgemm__apply_cost(q, c) : 0.0;
  r.apply = sgemm__fuses(v, &q->args) ? 0.0 : r.serial_apply;
  r.fixed = q->fixed[t->uses_tma];
  return r;
}

/* Threads that add each stream-K sum of `partials` partial tiles. A thread loads 8 of them at a time. */
static inline uint32_t sgemm__reduce_threads(uint32_t partials) {
  return partials >= 128 ? 32 : partials >= 64 ? 16 : partials >= 32 ? 8 : partials >= 16 ? 4 : partials >= 8 ? 2 : 1;
}

/* Number of partial results of the second kernel: split-K partitions, or stream-K blocks; 1 without a second kernel. */
static inline int sgemm__summed_parts(const sgemm_plan *plan) {
  return plan->stream_k > 1 ? plan->stream_k : plan->split_k;
}

/* Blocks that divide the k of a tile, without stream-K. */
static inline double sgemm__parts_of_tile(const sgemm_plan *plan) {
  return (double)((int64_t)plan->cluster_k * plan->split_k * plan->serial_k);
}

/* Clocks that a split of k and the epilogue cost: the sums over a cluster, the second kernel, and further launches. The
   second kernel that sums split-K partitions applies the epilogue too; it waits for memory once for each 16
   partitions. */
static inline double sgemm__split_cost(const sgemm_plan *plan, const sgemm__candidate *r, const sgemm__problem *q,
                                       const sgemm__calibration *c) {
  const int parts = sgemm__summed_parts(plan), more_waits = (plan->split_k - 1) / 16;
  const double in_cluster = plan->cluster_k > 1 ? r->cluster + plan->cluster_k * c->cluster_block : 0.0;
  const double apply = plan->split_k > 1    ? 0.0
                       : plan->serial_k > 1 ? r->serial_apply + (plan->serial_k - 1) * q->serial
                                            : r->apply;
  const double second = plan->stream_k > 1 ? c->stream_k : c->split_k;
  return parts <= 1 ? in_cluster + apply
                    : in_cluster + apply + second + parts * r->partial + more_waits * c->split_wait;
}

/* 1 if a plan may take less than `limit` clocks, without the power bound. The lower bound costs less to compute than
   the estimate. Without stream-K the busiest SM has at least one block, and at least the mean. */
static inline int sgemm__may_take_less(double limit, const sgemm_plan *plan, const sgemm__candidate *r,
                                       const sgemm__problem *q, const sgemm__calibration *c) {
  const int whole = plan->split_k == 1;
  const double parts = sgemm__parts_of_tile(plan), per_part = 1.0 / parts, mean = r->tiles * parts * q->per_sm;
  const double blocks = plan->stream_k > 1 ? mean : sgemm__larger(sgemm__ceil(mean), 1.0);
  const double block = plan->stream_k > 1 ? 0.0 : r->block + (whole ? r->tile_c : 0.0);
  const double arrival = plan->stream_k > 1 ? 0.0 : r->arrival * per_part;
  const double work = blocks * (r->tile * per_part + block), wait = arrival + r->wave + (whole ? r->read_c : 0.0);
  const double left = limit - r->fixed - sgemm__split_cost(plan, r, q, c);
  return left > 0.0 && !(work * work + wait * wait + r->memory2 >= left * left); /* NaN if there are no results */
}

/* 1 if a plan whose blocks divide k may take less than `limit` clocks, without the power bound. sum: clocks of the
   sums, at least; part: part of a tile's k in a block, at least; block: clocks of a block besides its k. */
static inline int sgemm__may_divide(double limit, double sum, double part, double block, const sgemm__candidate *r,
                                    const sgemm__problem *q) {
  const double mean = r->tiles * q->per_sm, left = limit - r->fixed - sum;
  const double work = sgemm__larger((r->tile + 2.0 * block) * mean, r->tile * part + block);
  const double wait = r->arrival * part + r->wave;
  return left > 0.0 && !(work * work + wait * wait + r->memory2 >= left * left);
}

/* The same for the plans of a kind: with split-K or stream-K; with a cluster for each tile; with serial split-K, with
   one further launch, and with as many of them dividing k as the limit has time for. */
static inline int sgemm__may_be_summed(double limit, const sgemm__candidate *r, const sgemm__problem *q) {
  const int tma = r->v->uses_tma; /* stream-K: the blocks are persistent, a unit may have any part of k */
  const double part = tma ? 0.0 : 1.0 / sgemm__smaller(r->slots, r->most_parts), block = tma ? 0.0 : r->block;
  return q->has_workspace && sgemm__can_split_k(r->v) &&
         sgemm__may_divide(limit, q->second[tma] + 2.0 * r->partial, part, block, r, q);
}
static inline int sgemm__may_be_clustered(double limit, const sgemm__candidate *r, const sgemm__problem *q,
                                          const sgemm__calibration *c) {
  return r->most_blocks >= 2.0 && sgemm__may_divide(limit, r->cluster + 2.0 * c->cluster_block + r->apply,
                                                    1.0 / r->most_blocks, r->block + r->tile_c, r, q);
}
static inline int sgemm__may_be_serial(double limit, const sgemm__candidate *r, const sgemm__problem *q) {
  const double left = limit - r->fixed, launches = sgemm__smaller(1.0 + left / q->serial, q->serial_limit);
  const double parts = launches * (r->v->cluster_split_k ? (int)SGEMM__SERIAL_CLUSTER : 1);
  return sgemm__may_divide(limit, q->serial, 1.0 / parts, 0.0, r, q);
}

/* How a plan's blocks fill the device. */
typedef struct sgemm__waves {
  double blocks;  /* blocks of the launch; tiles, if blocks are persistent */
  double steps;   /* k-steps of a block */
  double k;       /* k that a block loads and multiplies: whole steps where it has tiles */
  double wave;    /* blocks that run at a time */
  double full;    /* full waves */
  double left;    /* blocks of the last, partial wave */
  double busiest; /* blocks of the partial wave on the busiest SM */
  double units;   /* stream-K: largest number of work units of a block, 2 if it may end one tile and begin another */
} sgemm__waves;

/* Blocks of the clusters that sgemm__launch() launches with the policy of load balancing. With two blocks on an SM an
   H200 then runs 64 clusters of 4 at a time, and 62 by its default policy. Clusters of 8 are slower with it. */
enum { SGEMM__BALANCED_CLUSTER = 4 };

/* Size of the clusters that fill whole SMs in the partial wave too: a cluster starts when neighbouring SMs are free,
   and takes all of their slots. 64 x 4096 x 14336 in 512 blocks of 64 x 64, 2.13 waves, takes three full waves of 71 us
   (H200). */
enum { SGEMM__PACKED_CLUSTER = 8 };

/* Blocks that run at a time, with per_sm blocks on an SM, in clusters of a size. A cluster runs within one GPC of about
   16 SMs, and 12 of the 132 SMs of an H200 have no place in one: with one block on an SM it runs 30 clusters of 4, or
   15 of 8. A GPC has only whole clusters: with one block on an SM it runs 2 of 6, on 12 of its SMs, or 2 of 7. 15 of 8
   fill 7 GPCs and half of one, which has no place for a cluster of 16: the H200 runs 7 of them. With several blocks on
   an SM, clusters of 4 leave fewer slots empty: the idle SMs over the blocks on an SM approximate how many. */
static inline double sgemm__cluster_slots(int cluster, int per_sm, const sgemm__problem *q) {
  const int in_gpc = SGEMM__COST_GPC_SMS * per_sm / cluster * cluster; /* blocks of whole clusters */
  return cluster <= 2                         ? q->sms * per_sm
         : cluster == SGEMM__BALANCED_CLUSTER ? q->sms * per_sm - q->idle / per_sm
         : cluster > SGEMM__COST_GPC_SMS / 2  ? (double)(int)q->gpcs * in_gpc
                                              : q->gpcs * in_gpc;
}

/* Blocks on the busiest SM while `blocks` blocks run, not more than run at a time. */
static inline double sgemm__busiest(double blocks, int cluster, int resident, const sgemm__problem *q) {
  int per_sm = 1;
  if (cluster <= 2)
    return sgemm__ceil(blocks * q->per_sm);
  while (per_sm < resident && sgemm__cluster_slots(cluster, per_sm, q) < blocks)
    per_sm++;
  return blocks > 0.0 ? per_sm : 0.0;
}

static inline sgemm__waves sgemm__waves_of(const sgemm_plan *plan, const sgemm__candidate *r, const sgemm__problem *q) {
  const int cluster = plan->cluster_k, stream_k = plan->stream_k > 1;
  const double slots = sgemm__cluster_slots(cluster, r->v->resident, q);
  const double parts = sgemm__parts_of_tile(plan), per_part = 1.0 / parts;
  sgemm__waves w;
  w.blocks = r->tiles * parts;
  w.steps = sgemm__ceil(r->steps * per_part);
  w.k = sgemm__is_elementwise(r->v) ? sgemm__ceil(q->k * per_part) : w.steps * r->BK;
  w.wave = stream_k ? plan->stream_k : sgemm__larger(slots, cluster);
  w.full = (double)(int64_t)(w.blocks / w.wave);
  w.left = w.blocks - w.full * w.wave;
  w.busiest = sgemm__busiest(w.left, cluster, r->v->resident, q);
  if (cluster == SGEMM__PACKED_CLUSTER && w.full > 0.0 && w.left > 0.0)
    w.busiest = r->v->resident;
  w.units = stream_k && w.left > 0.0 ? 1.0 + ((int64_t)w.wave % (int64_t)w.left > 0) : 1.0;
  return w;
}

/* Clocks of the busiest SM, which runs its blocks in waves. A block costs a full tile, at an edge too, and at least the
   arrival of its tiles. Partial results have aligned rows, and no old C. */
static inline double sgemm__sm_time(const sgemm__waves *w, const sgemm_plan *plan, const sgemm__candidate *r) {
  const int whole = plan->split_k == 1;
  const double alone = w->k * r->per_k, besides = r->block + (whole ? r->tile_c : 0.0);
  const double wave = r->wave + (whole ? r->read_c : 0.0);
  const double wait = sgemm__larger(alone, w->steps * r->step) + wave;
  const double full = w->full > 0.0 ? w->full * sgemm__wave(r->resident, alone + besides, wait) : 0.0;
  return plan->stream_k > 1 && w->left > 0.0
             ? full + alone * r->resident * w->left / w->wave + w->units * (wave + besides)
         : w->left > 0.0 ? full + sgemm__wave(w->busiest, alone + besides, wait)
                         : full;
}

/* Clocks of the loads of all blocks. */
static inline double sgemm__load_time(const sgemm__waves *w, const sgemm_plan *plan, const sgemm__candidate *r) {
  return r->load * w->k * sgemm__parts_of_tile(plan);
}

/* Clocks of lost L2 reuse. Blocks that load the same rows come to each k at different times; with a long k the L2 no
   longer holds the rows when the last block loads them, and DRAM delivers re-read bytes. On an H200 DRAM delivers 10 %
   of the bytes that tiles of 64 x 128 load at 8192 x 8192 x 8192, and 29 % at 16384 x 16384 x 16384. This costs power,
   and so clocks, whichever bound is the largest. A longer k does not lose more. */
static inline double sgemm__lost_reuse(const sgemm__waves *w, const sgemm_plan *plan, const sgemm__candidate *r,
                                       const sgemm__problem *q, const sgemm__calibration *c) {
  const double block_k = w->k, bytes = w->blocks * block_k * r->step_bytes;
  const double own_k = plan->stream_k > 1 && w->full < 1.0 ? block_k * w->left / w->wave : block_k;
  const double k = sgemm__smaller(own_k, SGEMM__COST_REUSE_LIMIT);
  return k > SGEMM__COST_REUSE_K
             ? (k - SGEMM__COST_REUSE_K) * c->lost_reuse * sgemm__larger(bytes - q->bytes, 0.0) * q->dram_byte
             : 0.0;
}

/* 1 if the stream-K units of a plan are out of step: a tile has no integer number of units, so that tiles that load the
   same rows, or neighbouring ones, come to each k at different times, and the L2 does not hold what they load. */
static inline int sgemm__out_of_step(const sgemm__waves *w, const sgemm__candidate *r, const sgemm__problem *q) {
  return w->units > 1.0 && q->bytes * w->left > q->l2 * r->tiles;
}

/* Bytes that DRAM reads again for units out of step because TMA brings 256 bytes to the L2 for each 128 bytes of a row:
   a tile of 32 rows or columns of an MN-major operand uses half of them (docs/notebook/stream_k.md, "Narrow tiles"). */
static inline double sgemm__narrow_bytes(const sgemm__waves *w, const sgemm_plan *plan, const sgemm__candidate *r,
                                         const sgemm__problem *q) {
  double of_a, of_b;
  if (!sgemm__out_of_step(w, r, q))
    return 0.0;
  of_a = r->v->BM == 32 && !(q->a_state & SGEMM__K_MAJOR) && !plan->repack_a ? q->m : 0.0;
  of_b = r->v->BN == 32 && !(q->b_state & SGEMM__K_MAJOR) && !plan->repack_b ? q->n : 0.0;
  return 4.0 * q->k * q->batch * (of_a + of_b) * w->left / r->tiles;
}

/* Clocks that DRAM needs for the bytes of a plan. */
static inline double sgemm__memory_time(const sgemm__waves *w, const sgemm_plan *plan, const sgemm__candidate *r,
                                        const sgemm__problem *q, const sgemm__calibration *c) {
  return q->dram + sgemm__narrow_bytes(w, plan, r, q) * q->dram_byte / c->bandwidth_share;
}

/* Power bound: minimum clocks at the 700 W of an H200. FMAs at the full rate need all of the power; so do 2 (1 / 0.49)
   times the bytes that DRAM moves at its nominal bandwidth, or 6 (1 / 0.17) times as many bytes loaded by SMs. Units
   out of step read the rows that several tiles load twice. */
static inline double sgemm__power_bound(const sgemm__waves *w, const sgemm_plan *plan, const sgemm__candidate *r,
                                        const sgemm__problem *q) {
  const double shared_rows = (q->n > r->v->BN ? q->m : 0.0) + (q->m > r->v->BM ? q->n : 0.0);
  const double twice = sgemm__out_of_step(w, r, q) ? 4.0 * q->k * q->batch * shared_rows * w->left / r->tiles : 0.0;
  const double reread = twice + sgemm__narrow_bytes(w, plan, r, q), loaded = w->blocks * w->k * r->step_bytes;
  return q->power + (SGEMM__COST_POWER_DRAM * reread + SGEMM__COST_POWER_L2 * loaded) * q->dram_byte;
}

/* Clocks of a stream-K sum beyond its launch: units that end in two tiles, and waits. A thread waits for memory once
   for each 8 partial tiles that it adds. */
static inline double sgemm__stream_k_cost(const sgemm__waves *w, const sgemm__candidate *r) {
  const double partials = w->wave / w->left;
  const double waits = sgemm__ceil(partials / (8.0 * sgemm__reduce_threads((uint32_t)partials)));
  return (w->units - 1.0) * w->left * r->partial + (waits - 1.0) * SGEMM__COST_REDUCE_WAIT;
}

/* Estimated clocks of a strict plan, if they are below `limit`; otherwise a number that is not below it. The squares
   of SM time, load time and DRAM time add up: the largest dominates, and near ties add. */
static inline double sgemm__cost_below(double limit, const sgemm_plan *plan, const sgemm__candidate *r,
                                       const sgemm__problem *q, const sgemm__calibration *c) {
  const sgemm__waves w = sgemm__waves_of(plan, r, q);
  const double pack = (plan->repack_a ? q->pack_a : 0.0) + (plan->repack_b ? q->pack_b : 0.0);
  const double besides = c->launch + sgemm__pack_cost(pack, q->dram_byte, c) + sgemm__split_cost(plan, r, q, c) +
                         (r->v->uses_tma ? c->persistent : 0.0);
  const double sm = sgemm__sm_time(&w, plan, r), loads = sgemm__load_time(&w, plan, r);
  double dram, time, power;
  if (besides + sgemm__larger(sm, loads) >= limit)
    return besides + sgemm__larger(sm, loads);
  dram = sgemm__memory_time(&w, plan, r, q, c);
  time = besides + sqrt(sm * sm + loads * loads + dram * dram) + sgemm__lost_reuse(&w, plan, r, q, c) +
         (plan->stream_k > 1 && w.left > 0.0 ? sgemm__stream_k_cost(&w, r) : 0.0);
  power = sgemm__power_bound(&w, plan, r, q);
  return sgemm__with_power(time, power);
}

/* Estimated clocks of a strict plan. */
static inline double sgemm__cost(const sgemm_plan *plan, const sgemm__candidate *r, const sgemm__problem *q,
                                 const sgemm__calibration *c) {
  return sgemm__cost_below(1e300, plan, r, q, c);
}

/* ---- Tensor modes ------------------------------------------------------------------------------------------------ */

#define SGEMM__COST_TENSOR_LAUNCH 2550.0 /* clocks of each launch of a tensor plan */
#define SGEMM__COST_SPLIT 4000.0         /* clocks of a split of any size, besides its launch and its bytes */
#define SGEMM__COST_SPLIT_BANDWIDTH 0.85 /* fraction of the nominal DRAM bandwidth that splits and stores reach */
#define SGEMM__COST_TENSOR_ODD_C                                                                                       \
  0.7                             /* clocks of an SM for a result in a C whose leading dimension is odd (tensor.md) */
#define SGEMM__COST_MMA_OTHER 4.0 /* time of a k-block of mma at a quarter of the rate, over that on sm_90 */

/* The time of a k-block of mma, over that on sm_90. On sm_90 the mma variants reach about 600 FMAs per SM and clock.
   The peak is 1024 on sm_80 and sm_100, and 256 with fp32 sums on GPUs for graphics, on which strict variants are
   faster (NVIDIA's architecture whitepapers). sm_90 alone was measured. */
static inline double sgemm__mma_slowdown(int arch) {
  return arch == 80 || arch == 90 || arch == 100 ? 1.0 : SGEMM__COST_MMA_OTHER;
}

/* Launches of the split in all slices of a tensor plan. A slice whose operands are both split before has none.
   split_a, split_b: 1 if the operand is not pre-split. */
static inline double sgemm__split_launches(const sgemm__slices *s, int split_a, int split_b) {
  const double all = (double)s->count_m * (double)s->count_n * (double)s->count_k;
  const double sharing = (double)sgemm__sharing_slices(s);
  return (split_a || split_b ? all - sharing : 0.0) + ((s->shares_b ? split_a : split_b) ? sharing : 0.0);
}

/* Clocks of the tiles of the busiest SM, one after the other, in all slices. In each direction the last slice may be
   smaller than the others. */
static inline double sgemm__tensor_tiles_cost(const sgemm_plan *plan, const sgemm_device *device,
                                              const sgemm__problem *q, const sgemm__slices *s) {
  const sgemm_tensor_variant_info *v = sgemm__tensor_variant_get(plan->tensor);
  const sgemm__tensor_calibration t = sgemm__tensor_calibration_of(plan->tensor);
  const double k_block = t.k_block * (v->wgmma ? 1.0 : sgemm__mma_slowdown(device->code_arch));
  double clocks = 0.0;
  int i;
  for (i = 0; i < 8; i++) { /* bit 0, 1, 2 is 1: the last slice of m, of n, of k; 0: the others */
    const double slices = (i & 1 ? 1.0 : (double)(s->count_m - 1)) * (i & 2 ? 1.0 : (double)(s->count_n - 1)) *
                          (i & 4 ? 1.0 : (double)(s->count_k - 1));
    const double m = (double)(i & 1 ? q->args.m - (s->count_m - 1) * s->m : s->m);
    const double n = (double)(i & 2 ? q->args.n - (s->count_n - 1) * s->n : s->n);
    const int64_t k = i & 4 ? q->args.k - (s->count_k - 1) * s->k : s->k;
    const double tiles = sgemm__ceil(m / v->BM) * sgemm__ceil(n / v->BN) * q->batch * plan->split_k;
    const double k_blocks = sgemm__ceil((double)SGEMM__K_BLOCKS(k) / plan->split_k);
    if (slices > 0.0)
      clocks += slices * sgemm__ceil(tiles * q->per_sm) * (k_blocks * k_block + t.overhead);
  }
  return clocks;
}

/* Estimated clocks of a tensor plan whose guard does not fire: the launches, the split at the speed of DRAM, the tiles
   and the stores. The kernels store two results of a row at a time, but single ones where the leading dimension of C is
   odd; partial results have an even one. With slices of m and n an operand is split again for each slice of the one
   that they share; slices of k read and write all of C again. */
static inline double sgemm__tensor_cost(const sgemm_plan *plan, const sgemm_params *p, const sgemm_device *device,
                                        const sgemm__problem *q) {
  const sgemm_tensor_variant_info *v = sgemm__tensor_variant_get(plan->tensor);
  const sgemm__slices s = sgemm__slices_of(plan, p, &q->args);
  const int split_a = sgemm__prepared_of(p, 0) == NULL, split_b = sgemm__prepared_of(p, 1) == NULL;
  const double bytes = ((split_a ? q->pack_a * (s.shares_b ? (double)s.count_n : 1.0) : 0.0) +
                        (split_b ? q->pack_b * (s.shares_b ? 1.0 : (double)s.count_m) : 0.0)) *
                       (4.0 + 2.0 * v->terms);
  const double byte = q->dram_byte / SGEMM__COST_SPLIT_BANDWIDTH;
  const double results = q->m * q->n * q->batch * 4.0, slices_k = (double)s.count_k;
  const double splits = sgemm__split_launches(&s, split_a, split_b);
  const double launches = (double)s.count_m * (double)s.count_n * slices_k *
                              (2.0 + (plan->split_k > 1) +
                               (plan->tensor_fallback != SGEMM_TENSOR_VARIANT_NONE ? 2.0 : 0.0)) +
                          splits;
  const double odd_c = plan->split_k == 1 && q->args.ldc % 2 != 0 ? SGEMM__COST_TENSOR_ODD_C : 0.0;
  return launches * SGEMM__COST_TENSOR_LAUNCH + odd_c * q->m * q->n * q->share * slices_k +
         (sgemm__applies_after_tensor(plan, plan->split_k, &q->args) ? sgemm__apply_cost(q, &sgemm__h200) : 0.0) +
         splits * SGEMM__COST_SPLIT + bytes * byte + sgemm__tensor_tiles_cost(plan, device, q, &s) +
         results * byte * (slices_k * (2.0 + (plan->split_k > 1 ? 2.0 * plan->split_k : 0.0)) - (q->args.beta == 0.0f));
}

#endif /* SGEMM_SELECT_COST_H */
