/* sgemm/select/workspace.h: sgemm__args of params, and the layout of the workspace: its size for a plan, and the
   address of each operand and partial result in it. The selection, the queries and the launches use these functions. */
#ifndef SGEMM_SELECT_WORKSPACE_H
#define SGEMM_SELECT_WORKSPACE_H

/* Fills the epilogue's args from params. Column-major: rows and columns change places. With D, C of the args is D. A
   vector that the epilogue does not list is absent, so that no kernel reads it. */
static inline void sgemm__take_epilogue(sgemm__args *a, const sgemm_params *p) {
  const int swap = p->order == SGEMM_COL_MAJOR;
  const uint32_t reads = sgemm_epilogue_reads((sgemm_epilogue)p->epilogue);
  const float *vec_m = (reads & (SGEMM_READS_vec_m | SGEMM_READS_bias)) ? p->vec_m : NULL;
  const float *vec_n = (reads & (SGEMM_READS_vec_n | SGEMM_READS_bias)) ? p->vec_n : NULL;
  sgemm__epilogue_args *e = &a->epilogue;
  e->C = p->C;
  e->ldc = p->ldc;
  e->stride_c = p->stride_c;
  e->E = p->E;
  e->lde = p->lde;
  e->stride_e = p->stride_e;
  e->vec_m = swap ? vec_n : vec_m;
  e->vec_n = swap ? vec_m : vec_n;
  e->stride_vec_m = swap ? p->stride_vec_n : p->stride_vec_m;
  e->stride_vec_n = swap ? p->stride_vec_m : p->stride_vec_n;
  e->alpha = a->k > 0 ? p->alpha_device : NULL; /* without products the alpha of the args holds */
  e->beta = p->beta_device;
  e->aux = p->aux;
  e->ld_aux = p->ld_aux;
  e->stride_aux = p->stride_aux;
  e->row = e->col = 0;
  e->s = p->s;
  e->t = p->t;
  e->col_major = swap;
  e->number = p->epilogue;
  e->reads = reads;
  if (p->D != NULL) {
    a->C = p->D;
    a->ldc = p->ldd;
    a->stride_c = p->stride_d;
  }
}

/* Moves what an epilogue reads to the block of the result that begins at a matrix, row and column. */
static inline void sgemm__move_epilogue(sgemm__epilogue_args *e, int64_t matrix, int64_t row, int64_t col) {
  e->row += row;
  e->col += col;
  if (e->C != NULL)
    e->C += matrix * e->stride_c + row * e->ldc + col;
  if (e->E != NULL)
    e->E += matrix * e->stride_e + row * e->lde + col;
  if (e->aux != NULL)
    e->aux += matrix * e->stride_aux + row * e->ld_aux + col;
  if (e->vec_m != NULL)
    e->vec_m += matrix * e->stride_vec_m + row;
  if (e->vec_n != NULL)
    e->vec_n += matrix * e->stride_vec_n + col;
}

/* Sets the args of params. A column-major product is the transpose of a row-major product, C' = op(B)' op(A)', so the
   operands are exchanged. alpha = 0 becomes k = 0. The epilogue alpha * 0 + beta * C then has to be equal to beta * C
   bit for bit. With alpha = -0 it is, because -0 + x = x for every x, also for x = -0. With beta = 0, alpha = +0 stores
   +0. Only beta in host memory is known here: with beta_device the sign of a zero may differ. */
static inline void sgemm__set_args(sgemm__args *a, const sgemm_params *p) {
  const int swap = p->order == SGEMM_COL_MAJOR;
  a->m = swap ? p->n : p->m;
  a->n = swap ? p->m : p->n;
  a->k = sgemm__has_no_products(p) ? 0 : p->k;
  a->A = swap ? p->B : p->A;
  a->B = swap ? p->A : p->B;
  a->C = p->C;
  a->lda = swap ? p->ldb : p->lda;
  a->ldb = swap ? p->lda : p->ldb;
  a->ldc = p->ldc;
  a->batch = p->batch;
  a->stride_a = swap ? p->stride_b : p->stride_a;
  a->stride_b = swap ? p->stride_a : p->stride_b;
  a->stride_c = p->stride_c;
  a->alpha = a->k > 0 ? p->alpha : p->beta == 0.0f ? 0.0f : -0.0f;
  a->beta = p->beta;
  a->tiles_m = 0;
  a->tiles_n = 0;
  a->trans_a = (swap ? p->op_b : p->op_a) != SGEMM_N;
  a->trans_b = (swap ? p->op_a : p->op_b) != SGEMM_N;
  a->fallback_reason = NULL;
  a->run_on_fallback = 0;
  a->follows = a->precedes = 0;
  memset(&a->epilogue, 0, sizeof a->epilogue);
  a->applies_epilogue = sgemm__has_epilogue(p);
  if (a->applies_epilogue)
    sgemm__take_epilogue(a, p);
}

static inline sgemm__args sgemm__args_of(const sgemm_params *p) {
  sgemm__args a;
  sgemm__set_args(&a, p);
  return a;
}

/* 1 if the epilogue reads C. */
static inline int sgemm__epilogue_reads_c(const sgemm__args *args) {
  return args->beta != 0.0f || args->epilogue.beta != NULL || (args->epilogue.reads & SGEMM_READS_c) != 0;
}

/* 1 if a call has an epilogue that some kernels apply to results in registers. Its row is marked
   SGEMM__IN_REGISTERS_<name>, and the call reads nothing but one vector along n. It may store aux, if the rows of aux
   lie as those of the result do. */
static inline int sgemm__in_registers(const sgemm__args *args) {
  const sgemm__epilogue_args *e = &args->epilogue;
  const int batched = args->batch > 1;
  if (sgemm__epilogue_reads_c(args) || e->alpha != NULL || e->vec_m != NULL ||
      (e->vec_n != NULL && e->stride_vec_n != 0 && batched) ||
      (e->aux != NULL && (e->ld_aux != args->ldc || (batched && e->stride_aux != args->stride_c))))
    return 0;
  switch (e->number) {
#define SGEMM__X(name, reads, expression, what)                                                                        \
  case SGEMM_EPILOGUE_##name:                                                                                          \
    return SGEMM__IN_REGISTERS(name) > 0;
    SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X
  default:
    return 0;
  }
}

/* 1 if kernels of a variant apply the epilogue of the call. */
static inline int sgemm__fuses(const sgemm_variant_info *v, const sgemm__args *args) {
  return v->fuses == 1 || (v->fuses >= 2 && sgemm__in_registers(args) && (v->uses_tma || args->epilogue.aux == NULL));
}

/* 1 if a call has no epilogue, or one that a second kernel can apply. If the epilogue reads C and C is D, the first
   kernels compute alpha * sum + beta * C in place, with alpha and beta from the host, and the expression cannot read
   C. */
static inline int sgemm__can_apply_after(const sgemm__args *args) {
  const sgemm__epilogue_args *e = &args->epilogue;
  return !args->applies_epilogue || !sgemm__epilogue_reads_c(args) || e->C != args->C ||
         (e->beta == NULL && e->alpha == NULL && !(e->reads & SGEMM_READS_c));
}

/* 1 if a second kernel applies the epilogue to the results of the first kernels: of a strict plan, and of a tensor plan
   with split_k partitions. A kernel that sums partitions applies it itself. No launch of serial split-K does, because
   the last one reads the sums of the others as C. */
static inline int sgemm__applies_after(const sgemm_plan *plan, const sgemm__args *args) {
  return args->applies_epilogue && plan->split_k == 1 &&
         (plan->serial_k > 1 || !sgemm__fuses(sgemm__variant_get(plan->variant), args));
}
static inline int sgemm__applies_after_tensor(const sgemm_plan *plan, int split_k, const sgemm__args *args) {
  const int engines_apply = sgemm__in_registers(args) && sgemm__tensor_variant_get(plan->tensor)->wgmma &&
                            (plan->tensor_fallback == SGEMM_TENSOR_VARIANT_NONE ||
                             sgemm__tensor_variant_get(plan->tensor_fallback)->wgmma);
  return args->applies_epilogue && split_k == 1 && !engines_apply;
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
   elements. Negative sizes, which sgemm_check() refuses later, do not. */
static inline int sgemm__tma_countable(const sgemm_plan *plan, const sgemm__args *args) {
  const sgemm_variant_info *v = sgemm__variant_get(plan->variant);
  const int64_t limit = INT32_MAX - 4096; /* the last tiles extend beyond the matrix by less than 4096 */
  const double matrices = (double)sgemm__max(args->batch, 1);
  return args->m >= 0 && args->n >= 0 && args->k >= 0 && args->m <= limit && args->n <= limit && args->k <= limit &&
         args->batch <= limit &&
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
   tensor maps cannot describe, and, without serial split-K, B if this is faster and fits into the workspace. */
static inline void sgemm__decide_repack(sgemm_plan *plan, const sgemm__args *args, int64_t workspace_bytes) {
  plan->repack_a = plan->repack_b = 0;
  if (!sgemm__variant_get(plan->variant)->uses_tma)
    return;
  plan->repack_a = sgemm__must_repack(args, 0);
  plan->repack_b = sgemm__must_repack(args, 1);
  if (!plan->repack_b && plan->serial_k == 1 && sgemm__prefers_k_major_b(args) && sgemm__tma_countable(plan, args)) {
    plan->repack_b = 1;
    plan->repack_b = 4 * sgemm__tma_layout_of(plan, args, NULL).floats <= workspace_bytes;
  }
}

/* ---- Tensor modes: 128 bytes with the guard's words, split operands, then split-K -------------------------------- */

/* 1 if the split operands of an m x n x k multiplication have at most 10^18 bytes, so that no offset in them overflows.
   An element takes less than 8 bytes, its block scale included. Rows are padded to SGEMM__ROW_BLOCK, k to 64. */
static inline int sgemm__split_countable(int64_t m, int64_t n, int64_t k, int64_t batch) {
  const double rows = (double)m + (double)n + 2.0 * SGEMM__ROW_BLOCK;
  return rows * ((double)k + SGEMM__SCALE_K) * (double)sgemm__max(batch, 1) * 8.0 <= 1e18;
}

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

/* The slices of a tensor plan, each a multiplication of its own whose terms share the workspace with those of the
   others. Slices of k are added up in C, one after the other. The slices of one k share the split terms of A or of B:
   the outer loop goes over the slices of the shared operand, and only the first slice of each inner loop splits it.
   Without slices there is one, the whole. */
typedef struct sgemm__slices {
  int64_t m, n, k;                   /* sizes of a slice; the last one of a direction may be smaller */
  int64_t count_m, count_n, count_k; /* slices of each direction */
  int shares_b; /* 1: the inner loop goes over m and shares B's terms; 0: it goes over n and shares A's */
} sgemm__slices;

/* The size of a slice: as many units as divide them evenly. */
static inline int64_t sgemm__slice_size(int64_t size, int64_t unit, int slices) {
  const int64_t slice = sgemm__ceil_div(sgemm__ceil_div(size, unit), slices > 1 ? slices : 1) * unit;
  return slice < size ? slice : size;
}
static inline int64_t sgemm__slice_count(int64_t size, int64_t slice) {
  return size == 0 ? 1 : sgemm__ceil_div(size, slice);
}

/* The pre-split operand that A, or B, of the args is; NULL: none. */
static inline const void *sgemm__prepared_of(const sgemm_params *p, int of_b) {
  return (p->order == SGEMM_COL_MAJOR) != of_b ? p->prepared_b : p->prepared_a;
}

/* The operand that costs less to split once is shared. A pre-split operand costs nothing. */
static inline sgemm__slices sgemm__slices_of(const sgemm_plan *plan, const sgemm_params *p, const sgemm__args *args) {
  const sgemm_tensor_variant_info *v = sgemm__tensor_variant_get(plan->tensor);
  const double a = sgemm__prepared_of(p, 0) != NULL
                       ? 0.0
                       : (double)args->m * (double)sgemm__matrix_count(args->batch, args->stride_a);
  const double b = sgemm__prepared_of(p, 1) != NULL
                       ? 0.0
                       : (double)args->n * (double)sgemm__matrix_count(args->batch, args->stride_b);
  sgemm__slices s;
  s.m = sgemm__slice_size(args->m, v->BM, plan->slices_m);
  s.n = sgemm__slice_size(args->n, v->BN, plan->slices_n);
  s.k = sgemm__slice_size(args->k, SGEMM__SCALE_K, plan->slices_k);
  s.count_m = sgemm__slice_count(args->m, s.m);
  s.count_n = sgemm__slice_count(args->n, s.n);
  s.count_k = sgemm__slice_count(args->k, s.k);
  s.shares_b = b + (double)s.count_n * a < a + (double)s.count_m * b;
  return s;
}

/* Slices whose split terms are those of the slice before, for the operand that they share. */
static inline int64_t sgemm__sharing_slices(const sgemm__slices *s) {
  return (s->shares_b ? s->count_n * (s->count_m - 1) : s->count_m * (s->count_n - 1)) * s->count_k;
}

/* The args of the largest slice, for sizes alone. */
static inline sgemm__args sgemm__largest_slice(const sgemm__slices *s, const sgemm__args *whole) {
  sgemm__args largest = *whole;
  largest.m = s->m;
  largest.n = s->n;
  largest.k = s->k;
  return largest;
}

/* One slice. */
typedef struct sgemm__slice {
  sgemm__args args;          /* its multiplication */
  int64_t row, col, first_k; /* its place in the whole */
  int shares_a, shares_b;    /* 1: the operand's split terms are those of the slice before */
} sgemm__slice;

/* Slice `number` of the multiplication `whole`, from 0. */
static inline sgemm__slice sgemm__slice_at(const sgemm__slices *s, const sgemm__args *whole, int64_t number) {
  const int64_t inner_count = s->shares_b ? s->count_m : s->count_n,
                outer_count = s->shares_b ? s->count_n : s->count_m;
  const int64_t inner = number % inner_count, outer = number / inner_count % outer_count;
  sgemm__slice t;
  t.row = (s->shares_b ? inner : outer) * s->m;
  t.col = (s->shares_b ? outer : inner) * s->n;
  t.first_k = number / inner_count / outer_count * s->k;
  t.shares_a = inner > 0 && !s->shares_b;
  t.shares_b = inner > 0 && s->shares_b;
  t.args = *whole;
  t.args.m = whole->m - t.row < s->m ? whole->m - t.row : s->m;
  t.args.n = whole->n - t.col < s->n ? whole->n - t.col : s->n;
  t.args.k = whole->k - t.first_k < s->k ? whole->k - t.first_k : s->k;
  t.args.A += whole->trans_a ? t.row + t.first_k * whole->lda : t.row * whole->lda + t.first_k;
  t.args.B += whole->trans_b ? t.col * whole->ldb + t.first_k : t.col + t.first_k * whole->ldb;
  t.args.C += t.row * whole->ldc + t.col;
  t.args.beta = t.first_k > 0 ? 1.0f : whole->beta;
  if (whole->applies_epilogue) /* without slices of k */
    sgemm__move_epilogue(&t.args.epilogue, 0, t.row, t.col);
  return t;
}

typedef struct sgemm__tensor_layout {
  sgemm__split_operand a, b;           /* for plan.tensor */
  sgemm__split_operand full_a, full_b; /* for plan.tensor_fallback, in the same memory; never pre-split */
  float *partials;                     /* split-K partitions */
  int64_t bytes;                       /* bytes of the workspace; INT64_MAX: the sizes are too large to run */
} sgemm__tensor_layout;

/* The layout for the largest slice, with room for that of each. */
static inline sgemm__tensor_layout sgemm__tensor_layout_of(const sgemm_plan *plan, const sgemm_params *p,
                                                           const sgemm__args *whole) {
  const sgemm_tensor_variant_info *full = sgemm__tensor_variant_get(plan->tensor_fallback);
  const sgemm__slices slices = sgemm__slices_of(plan, p, whole);
  const sgemm__args largest = sgemm__largest_slice(&slices, whole), *args = &largest;
  const int64_t partitions = sgemm__partitions_floats(args, plan->split_k);
  char *memory = (char *)p->workspace;
  sgemm__tensor_layout l;
  if (!sgemm__split_countable(whole->m, whole->n, whole->k, whole->batch)) {
    memset(&l, 0, sizeof l);
    l.bytes = INT64_MAX;
    return l;
  }
  l.bytes = sgemm__split_operands_at(&l.a, &l.b, memory, (char *)(uintptr_t)sgemm__prepared_of(p, 0),
                                     (char *)(uintptr_t)sgemm__prepared_of(p, 1), args,
                                     sgemm__tensor_variant_get(plan->tensor)->terms);
  l.full_a = l.a;
  l.full_b = l.b;
  if (full != NULL)
    l.bytes = sgemm__max(l.bytes,
                         sgemm__split_operands_at(&l.full_a, &l.full_b, memory, NULL, NULL, args, full->terms));
  l.partials = memory == NULL ? NULL : (float *)(memory + l.bytes);
  l.bytes = partitions >= INT64_MAX / 8 ? INT64_MAX : l.bytes + 4 * partitions;
  return l;
}

/* Moves an operand from the layout for the largest slice to that of a slice of `extent` rows and k. An operand that
   sgemm_prepare() has split holds whole_extent rows and whole_k; the slice begins at row `first` and first_k. Its flags
   are those of all its rows. */
static inline void sgemm__lay_out_slice(sgemm__split_operand *o, int64_t extent, int64_t k, int64_t first,
                                        int64_t first_k, int64_t whole_extent, int64_t whole_k, int terms) {
  const int presplit = o->presplit;
  sgemm__split_operand_at(o, (char *)o->data, presplit ? whole_extent : extent, presplit ? whole_k : k, o->batch,
                          terms);
  o->presplit = presplit;
  if (!presplit)
    return;
  o->data = (char *)o->data + (first_k / SGEMM__K_BLOCK * o->rows + first) * SGEMM__ROW_BYTES(terms);
  o->scales += first_k / SGEMM__SCALE_K * o->rows + first;
  o->flags += first_k / SGEMM__SCALE_K * (o->rows / SGEMM__ROW_BLOCK);
}

/* The layout of a slice in that for the largest one. */
static inline sgemm__tensor_layout sgemm__slice_layout(const sgemm__tensor_layout *largest, const sgemm_plan *plan,
                                                       const sgemm__args *whole, const sgemm__slice *t) {
  const sgemm_tensor_variant_info *v = sgemm__tensor_variant_get(plan->tensor),
                                  *full = sgemm__tensor_variant_get(plan->tensor_fallback);
  sgemm__tensor_layout l = *largest;
  sgemm__lay_out_slice(&l.a, t->args.m, t->args.k, t->row, t->first_k, whole->m, whole->k, v->terms);
  sgemm__lay_out_slice(&l.b, t->args.n, t->args.k, t->col, t->first_k, whole->n, whole->k, v->terms);
  if (full != NULL) {
    sgemm__lay_out_slice(&l.full_a, t->args.m, t->args.k, t->row, t->first_k, whole->m, whole->k, full->terms);
    sgemm__lay_out_slice(&l.full_b, t->args.n, t->args.k, t->col, t->first_k, whole->n, whole->k, full->terms);
  }
  l.a.presplit |= t->shares_a;
  l.b.presplit |= t->shares_b;
  l.full_a.presplit = t->shares_a;
  l.full_b.presplit = t->shares_b;
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
