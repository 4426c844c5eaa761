/* sgemm/select/workspace.h: sgemm__args of params, and the layout of the workspace: its size for a plan, and the
   address of each operand and partial result in it. The selection, the queries and the launches use these functions. */
#ifndef SGEMM_SELECT_WORKSPACE_H
#define SGEMM_SELECT_WORKSPACE_H

/* The args of params. A column-major product is the transpose of a row-major product, C' = op(B)' op(A)', so the
   operands are exchanged. alpha = 0 becomes k = 0. The epilogue alpha * 0 + beta * C then has to be equal to beta * C
   bit for bit. With alpha = -0 it is, because -0 + x = x for every x, also for x = -0. With beta = 0, alpha = +0 stores
   +0. */
static inline sgemm__args sgemm__args_of(const sgemm_params *p) {
  const int swap = p->order == SGEMM_COL_MAJOR;
  sgemm__args a;
  a.m = swap ? p->n : p->m;
  a.n = swap ? p->m : p->n;
  a.k = p->alpha == 0.0f ? 0 : p->k;
  a.A = swap ? p->B : p->A;
  a.B = swap ? p->A : p->B;
  a.C = p->C;
  a.lda = swap ? p->ldb : p->lda;
  a.ldb = swap ? p->lda : p->ldb;
  a.ldc = p->ldc;
  a.batch = p->batch;
  a.stride_a = swap ? p->stride_b : p->stride_a;
  a.stride_b = swap ? p->stride_a : p->stride_b;
  a.stride_c = p->stride_c;
  a.alpha = a.k > 0 ? p->alpha : p->beta == 0.0f ? 0.0f : -0.0f;
  a.beta = p->beta;
  a.tiles_m = 0;
  a.tiles_n = 0;
  a.trans_a = (swap ? p->op_b : p->op_a) != SGEMM_N;
  a.trans_b = (swap ? p->op_a : p->op_b) != SGEMM_N;
  a.fallback_reason = NULL;
  a.run_on_fallback = 0;
  return a;
}

/* Matrices of an operand; 1 if all multiplications of the batch use one. */
static inline int64_t sgemm__matrix_count(int64_t batch, int64_t stride) { return stride == 0 ? 1 : batch; }

static inline float *sgemm__floats_at(void *workspace, int64_t floats) {
  return workspace == NULL ? NULL : (float *)workspace + floats;
}

/* ---- Split-K ----------------------------------------------------------------------------------------------------- */

/* sgemm__partition_ld(): floats of a row of a split-K partition, padded to 16 bytes. sgemm__partition_floats(): floats
   of one partition of one matrix. sgemm__partitions_floats(): floats of all partitions of the batch; INT64_MAX / 4 if
   they are 2^62 bytes or more. */
static inline int64_t sgemm__partition_ld(const sgemm__args *args) { return sgemm__ceil_div(args->n, 4) * 4; }
static inline int64_t sgemm__partition_floats(const sgemm__args *args) { return sgemm__partition_ld(args) * args->m; }
static inline int64_t sgemm__partitions_floats(const sgemm__args *args, int split_k) {
  if (split_k <= 1)
    return 0;
  if (4.0 * (double)sgemm__partition_ld(args) * (double)args->m * (double)args->batch * split_k >=
      4611686018427387904.0)
    return INT64_MAX / 4;
  return sgemm__partition_floats(args) * args->batch * split_k;
}

/* ---- Stage tma: packed operands, then two partial tiles a stream-K unit ------------------------------------------ */

/* B of op NN is repacked K-major if m is above the first limit, k is at least the second, and the workspace has room:
   with A K-major and B MN-major the main loop is 1 to 4 % slower (H200, docs/notebook/tma_origins.md). Packing moves 8
   bytes for each element of B in a launch of its own; the m FMAs of the element have to save more time than that. */
enum { SGEMM__REPACK_MIN_M = 2048, SGEMM__REPACK_MIN_K = 512 };

static inline int sgemm__prefers_k_major_b(const sgemm__args *args) {
  return !args->trans_a && !args->trans_b && args->m > SGEMM__REPACK_MIN_M && args->k >= SGEMM__REPACK_MIN_K;
}

/* 1 if tensor maps cannot describe an operand, so that tma has to pack it. */
static inline int sgemm__must_repack(const sgemm__args *args, int of_b) {
  const float *X = of_b ? args->B : args->A;
  const int64_t ld = of_b ? args->ldb : args->lda, stride = of_b ? args->stride_b : args->stride_a;
  return !sgemm__tma_compatible(X, ld, sgemm__matrix_count(args->batch, stride), stride);
}

/* 1 if the sizes fit the integers of the tma kernels and launches: 32-bit coordinates, a workspace below 10^17
   elements. */
static inline int sgemm__tma_countable(const sgemm_plan *plan, const sgemm__args *args) {
  const sgemm_variant_info *v = sgemm__variant_get(plan->variant);
  const int64_t limit = INT32_MAX - 4096; /* the last tiles extend beyond the matrix by less than 4096 */
  const double matrices = (double)sgemm__max(args->batch, 1);
  return args->m <= limit && args->n <= limit && args->k <= limit && args->batch <= limit &&
         (((double)args->m + v->BM + (double)args->n + v->BN) * ((double)args->k + SGEMM__PACK_K) +
          2.0 * plan->stream_k * v->BM * v->BN) *
                 matrices <=
             1e17;
}

typedef struct sgemm__tma_layout {
  sgemm__packed_operand a, b;
  float *partials;
  int64_t ld;     /* leading dimension of the packed operands */
  int64_t floats; /* floats of the workspace */
} sgemm__tma_layout;

static inline sgemm__tma_layout sgemm__tma_layout_of(const sgemm_plan *plan, const sgemm__args *args, void *workspace) {
  const sgemm_variant_info *v = sgemm__variant_get(plan->variant);
  sgemm__tma_layout l;
  l.ld = sgemm__ceil_div(args->k, SGEMM__PACK_K) * SGEMM__PACK_K;
  l.a.repack = plan->repack_a;
  l.a.rows = sgemm__ceil_div(args->m, SGEMM__PACK_ROWS) * SGEMM__PACK_ROWS;
  l.a.batch = sgemm__matrix_count(args->batch, args->stride_a);
  l.a.data = sgemm__floats_at(workspace, 0);
  l.floats = l.a.repack ? l.a.rows * l.ld * l.a.batch : 0;
  l.b.repack = plan->repack_b;
  l.b.rows = sgemm__ceil_div(args->n, SGEMM__PACK_ROWS) * SGEMM__PACK_ROWS;
  l.b.batch = sgemm__matrix_count(args->batch, args->stride_b);
  l.b.data = sgemm__floats_at(workspace, l.floats);
  l.floats += l.b.repack ? l.b.rows * l.ld * l.b.batch : 0;
  l.partials = sgemm__floats_at(workspace, l.floats);
  l.floats += 2 * (int64_t)plan->stream_k * v->BM * v->BN;
  return l;
}

/* Decides which operands a plan packs; no other function does. The plan's other fields are set. It packs operands that
   tensor maps cannot describe, and B if this is faster and fits into the workspace. */
static inline void sgemm__decide_repack(sgemm_plan *plan, const sgemm__args *args, int64_t workspace_bytes) {
  plan->repack_a = plan->repack_b = 0;
  if (!sgemm__variant_get(plan->variant)->uses_tma)
    return;
  plan->repack_a = sgemm__must_repack(args, 0);
  plan->repack_b = sgemm__must_repack(args, 1);
  if (!plan->repack_b && sgemm__prefers_k_major_b(args) && sgemm__tma_countable(plan, args)) {
    plan->repack_b = 1;
    plan->repack_b = 4 * sgemm__tma_layout_of(plan, args, NULL).floats <= workspace_bytes;
  }
}

/* ---- Tensor modes: 128 bytes with the guard's words, split operands, then split-K -------------------------------- */

/* Lays out one split operand from `memory` on: terms, block scales, flags, each at a multiple of 128 bytes. Returns its
   bytes. With memory = NULL only the size is computed. Tiles at an edge read up to 256 rows beyond the operand; no
   result depends on these values. */
static inline int64_t sgemm__split_operand_at(sgemm__split_operand *o, char *memory, int64_t extent, int64_t k,
                                              int64_t batch, int terms) {
  const int64_t rows = sgemm__ceil_div(extent, SGEMM__ROW_BLOCK) * SGEMM__ROW_BLOCK;
  const int64_t scale_blocks = sgemm__ceil_div(k, SGEMM__SCALE_K), k_blocks = SGEMM__K_BLOCKS(k);
  const int64_t data = (rows * k_blocks * batch + 256) * SGEMM__ROW_BYTES(terms);
  const int64_t scales = (rows * scale_blocks * batch + 256) * 4;
  const int64_t flags = sgemm__ceil_div(rows / SGEMM__ROW_BLOCK * scale_blocks * batch * 4, 128) * 128;
  o->data = memory;
  o->scales = memory == NULL ? NULL : (float *)(memory + data);
  o->flags = memory == NULL ? NULL : (uint32_t *)(memory + data + scales);
  o->rows = rows;
  o->batch = batch;
  o->presplit = 0;
  return data + scales + flags;
}

enum { SGEMM__GUARD_BYTES = 128 };

/* Lays out split A and B behind the guard's words. Returns the bytes up to their end. presplit_a, presplit_b: a
   pre-split operand, which takes no workspace; NULL: none. memory: the workspace, or NULL as above. */
static inline int64_t sgemm__split_operands_at(sgemm__split_operand *a, sgemm__split_operand *b, char *memory,
                                               char *presplit_a, char *presplit_b, const sgemm__args *args, int terms) {
  int64_t bytes = SGEMM__GUARD_BYTES, operand;
  operand = sgemm__split_operand_at(a,
                                    presplit_a != NULL ? presplit_a
                                    : memory == NULL   ? NULL
                                                       : memory + bytes,
                                    args->m, args->k, sgemm__matrix_count(args->batch, args->stride_a), terms);
  a->presplit = presplit_a != NULL;
  bytes += a->presplit ? 0 : operand;
  operand = sgemm__split_operand_at(b,
                                    presplit_b != NULL ? presplit_b
                                    : memory == NULL   ? NULL
                                                       : memory + bytes,
                                    args->n, args->k, sgemm__matrix_count(args->batch, args->stride_b), terms);
  b->presplit = presplit_b != NULL;
  return bytes + (b->presplit ? 0 : operand);
}

typedef struct sgemm__tensor_layout {
  sgemm__split_operand a, b;           /* for plan.tensor */
  sgemm__split_operand full_a, full_b; /* for plan.tensor_fallback, in the same memory; never pre-split */
  float *partials;                     /* split-K partitions */
  int64_t bytes;                       /* bytes of the workspace; INT64_MAX: the sizes are too large to run */
} sgemm__tensor_layout;

static inline sgemm__tensor_layout sgemm__tensor_layout_of(const sgemm_plan *plan, const sgemm_params *p,
                                                           const sgemm__args *args) {
  const sgemm_tensor_variant_info *full = sgemm__tensor_variant_get(plan->tensor_fallback);
  const int swap = p->order == SGEMM_COL_MAJOR;
  char *memory = (char *)p->workspace;
  const int64_t partitions = sgemm__partitions_floats(args, plan->split_k);
  sgemm__tensor_layout l;
  l.bytes = sgemm__split_operands_at(&l.a, &l.b, memory, (char *)(swap ? p->prepared_b : p->prepared_a),
                                     (char *)(swap ? p->prepared_a : p->prepared_b), args,
                                     sgemm__tensor_variant_get(plan->tensor)->terms);
  l.full_a = l.a;
  l.full_b = l.b;
  if (full != NULL)
    l.bytes = sgemm__max(l.bytes,
                         sgemm__split_operands_at(&l.full_a, &l.full_b, memory, NULL, NULL, args, full->terms));
  l.partials = memory == NULL ? NULL : (float *)(memory + l.bytes);
  l.bytes = partitions >= INT64_MAX / 8 ? INT64_MAX : l.bytes + 4 * partitions;
  if (((double)args->m + (double)args->n) * ((double)args->k + 64.0) * (double)sgemm__max(args->batch, 1) * 8.0 > 1e18)
    l.bytes = INT64_MAX;
  return l;
}

/* ---- Any plan ---------------------------------------------------------------------------------------------------- */

/* Bytes of workspace of a plan; INT64_MAX: the sizes are too large to run. */
static inline int64_t sgemm__plan_bytes(const sgemm_plan *plan, const sgemm_params *p, const sgemm__args *args) {
  const sgemm_variant_info *v = sgemm__variant_get(plan->variant);
  if (plan->tensor != SGEMM_TENSOR_VARIANT_NONE)
    return sgemm__tensor_layout_of(plan, p, args).bytes;
  if (v != NULL && v->uses_tma)
    return sgemm__tma_countable(plan, args) ? 4 * sgemm__tma_layout_of(plan, args, NULL).floats : INT64_MAX;
  {
    const int64_t floats = sgemm__partitions_floats(args, plan->split_k);
    return floats >= INT64_MAX / 4 ? INT64_MAX : 4 * floats;
  }
}

#endif /* SGEMM_SELECT_WORKSPACE_H */
