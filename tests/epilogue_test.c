/* Tests of epilogues: every row of the table, through every variant that is compiled and every tensor-core variant,
   against the row's own expression in double. A project's rows are tested without a change of this file. */

#if defined(TEST_PROJECT_ROWS)
#include "tests/project_epilogues.h"
#endif
#include "tests/plane.h"
#include "tools/epilogue_reference.h"

/* ---- A call ------------------------------------------------------------------------------------------------------ */

typedef struct call {
  int epilogue, order, op_a, op_b, apart, in_device, pad;
  int64_t m, n, k, batch;
  float alpha, beta;
  int vectors;    /* 1: vec_m, 2: vec_n, 3: both */
  int stores_aux; /* 1: to rows that lie otherwise than those of the result; 2: to rows that lie as those do */
} call;

typedef struct operands {
  plane A, B, C, D, E, aux, vec_m, vec_n, scalars;
} operands;

/* Compares D, or C in place, and aux with the reference, and all that must not change with what was uploaded. */
static void compare(const call *c, operands *o, const char *name) {
  plane *const out = c->apart ? &o->D : &o->C;
  const uint32_t reads = sgemm_epilogue_reads((sgemm_epilogue)c->epilogue);
  const int reads_c = c->beta != 0.0f || (reads & SGEMM_READS_c) != 0;
  const plane *const inputs[] = {&o->A, &o->B, &o->E, &o->vec_m, &o->vec_n, &o->scalars, c->apart ? &o->C : &o->D};
  static const char *const input_names[] = {"A", "B", "E", "vec_m", "vec_n", "a scalar", "C, or D in place,"};
  int64_t b, i, j, k;
  for (b = 0; b < c->batch; b++)
    for (i = 0; i < c->m; i++)
      for (j = 0; j < c->n; j++) {
        epilogue_values v = {0};
        double want, sum = 0.0, got = (double)out->after[plane_at(out, b, i, j)];
        for (k = 0; k < c->k; k++)
          sum += plane_op_element(&o->A, c->op_a, b, i, k) * plane_op_element(&o->B, c->op_b, b, k, j);
        v.c = reads_c ? (double)o->C.before[plane_at(&o->C, b, i, j)] : 0.0;
        v.sum = (c->alpha != 0.0f ? (double)c->alpha * sum : 0.0) + (c->beta != 0.0f ? (double)c->beta * v.c : 0.0);
        v.vec_m = c->vectors & 1 ? (double)o->vec_m.before[plane_at(&o->vec_m, b, i, 0)] : 0.0;
        v.vec_n = c->vectors & 2 ? (double)o->vec_n.before[plane_at(&o->vec_n, b, j, 0)] : 0.0;
        v.bias = v.vec_m + v.vec_n;
        v.e = reads & SGEMM_READS_e ? (double)o->E.before[plane_at(&o->E, b, i, j)] : 0.0;
        v.row = i;
        v.col = j;
        v.s = -0.5;
        v.t = 0.75;
        want = epilogue_reference(c->epilogue, &v);
        if (c->stores_aux) {
          cr_assert((double)o->aux.after[plane_at(&o->aux, b, i, j)] == v.aux,
                    "%s, %s: aux(%lld, %lld) is %.9g, not %.9g", name, sgemm_epilogue_name((sgemm_epilogue)c->epilogue),
                    (long long)i, (long long)j, (double)o->aux.after[plane_at(&o->aux, b, i, j)], v.aux);
          o->aux.after[plane_at(&o->aux, b, i, j)] = o->aux.before[plane_at(&o->aux, b, i, j)];
        }
        cr_assert(
            fabs(got - want) <= epilogue_rounding(c->epilogue, &v, want),
            "%s, %s, order %d, ops %d %d, m %lld, n %lld, k %lld, alpha %g, beta %g, apart %d, device %d, vectors "
            "%d: D(%lld, %lld) of matrix %lld is %.9g, want %.9g",
            name, sgemm_epilogue_name((sgemm_epilogue)c->epilogue), c->order, c->op_a, c->op_b, (long long)c->m,
            (long long)c->n, (long long)c->k, (double)c->alpha, (double)c->beta, c->apart, c->in_device, c->vectors,
            (long long)i, (long long)j, (long long)b, got, want);
        out->after[plane_at(out, b, i, j)] = out->before[plane_at(out, b, i, j)];
      }
  cr_assert(plane_unchanged(out), "%s, %s: padding of D was written", name,
            sgemm_epilogue_name((sgemm_epilogue)c->epilogue));
  cr_assert(plane_unchanged(&o->aux), "%s, %s: aux was written where nothing is stored", name,
            sgemm_epilogue_name((sgemm_epilogue)c->epilogue));
  for (i = 0; i < 7; i++)
    cr_assert(plane_unchanged(inputs[i]), "%s, %s: %s was written", name,
              sgemm_epilogue_name((sgemm_epilogue)c->epilogue), input_names[i]);
}

/* Uploads an operand. Returns its address on the device, or NULL if the call does not get it. */
static float *given(plane *x, int is_given) {
  float *const address = plane_upload(x);
  return is_given ? address : NULL;
}

/* The address of a vector that no call reads: one that the epilogue does not list may be anything, here memory that
   nobody has. */
static const float *vector_given(plane *x, int is_given, int is_listed) {
  float *const address = given(x, is_given);
  return is_listed ? address : (const float *)(uintptr_t)4096;
}

/* Runs a call by a plan, or by sgemm_run() where plan is NULL, and checks it. */
static void solve(const call *c, const sgemm_plan *plan, const char *name) {
  const int col = c->order == SGEMM_COL_MAJOR;
  const uint32_t reads = sgemm_epilogue_reads((sgemm_epilogue)c->epilogue);
  const int reads_c = c->beta != 0.0f || (reads & SGEMM_READS_c);
  unsigned seed = 17u + (unsigned)c->epilogue;
  sgemm_params p = col ? sgemm_params_init_col((sgemm_op)c->op_a, (sgemm_op)c->op_b, c->m, c->n, c->k)
                       : sgemm_params_init((sgemm_op)c->op_a, (sgemm_op)c->op_b, c->m, c->n, c->k);
  operands o;
  sgemm_status status;
  int i;
  o.A = plane_make_op(c->op_a, c->m, c->k, c->batch, col, c->pad, &seed);
  o.B = plane_make_op(c->op_b, c->k, c->n, c->batch, col, c->pad, &seed);
  o.C = plane_make(c->m, c->n, c->batch, col, c->pad, reads_c ? 0.125f : 0.0f, &seed);
  o.D = plane_make(c->m, c->n, c->batch, col, c->pad + 1, 0.0f, &seed);
  o.E = plane_make(c->m, c->n, c->batch, col, c->pad + 2, reads & SGEMM_READS_e ? 0.25f : 0.0f, &seed);
  o.aux = plane_make(c->m, c->n, c->batch, col, c->stores_aux == 2 ? c->pad + c->apart : c->pad + 3, 0.0f, &seed);
  o.vec_m = plane_make(c->m, 1, c->batch, 1, 3, 0.5f, &seed);
  o.vec_n = plane_make(c->n, 1, c->batch, 1, 5, 0.25f, &seed);
  o.scalars = plane_make(2, 1, 1, 1, 0, 0.0f, &seed);
  o.scalars.before[plane_at(&o.scalars, 0, 0, 0)] = c->alpha;
  o.scalars.before[plane_at(&o.scalars, 0, 1, 0)] = c->beta;
  p.batch = c->batch;
  p.epilogue = c->epilogue;
  p.alpha = c->in_device ? NAN : c->alpha;
  p.beta = c->in_device ? 0.0f : c->beta;
  p.alpha_device = given(&o.scalars, c->in_device);
  p.beta_device = c->in_device && reads_c ? p.alpha_device + 1 : NULL;
  p.A = plane_upload(&o.A);
  p.B = plane_upload(&o.B);
  p.C = plane_upload(&o.C);
  p.D = given(&o.D, c->apart);
  p.E = given(&o.E, (reads & SGEMM_READS_e) != 0);
  p.aux = given(&o.aux, c->stores_aux);
  p.vec_m = vector_given(&o.vec_m, c->vectors & 1, (reads & (SGEMM_READS_vec_m | SGEMM_READS_bias)) != 0);
  p.vec_n = vector_given(&o.vec_n, c->vectors & 2, (reads & (SGEMM_READS_vec_n | SGEMM_READS_bias)) != 0);
  p.lda = o.A.ld;
  p.ldb = o.B.ld;
  p.ldc = o.C.ld;
  p.ldd = o.D.ld;
  p.lde = o.E.ld;
  p.ld_aux = o.aux.ld;
  p.stride_a = o.A.stride;
  p.stride_b = o.B.stride;
  p.stride_c = o.C.stride;
  p.stride_d = o.D.stride;
  p.stride_e = o.E.stride;
  p.stride_aux = o.aux.stride;
  p.stride_vec_m = o.vec_m.stride;
  p.stride_vec_n = o.vec_n.stride;
  p.s = -0.5f;
  p.t = 0.75f;
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  status = plan != NULL ? sgemm_run_plan(plan, &p, NULL) : sgemm_run(&p, NULL);
  cr_assert(status == SGEMM_SUCCESS, "%s, %s: %s", name, sgemm_epilogue_name((sgemm_epilogue)c->epilogue),
            sgemm_status_string(status));
  cr_assert(machine_wait() == 0, "%s: the backend reports an error", name);
  for (i = 0; i < 9; i++)
    plane_download((plane *const[]){&o.A, &o.B, &o.C, &o.D, &o.E, &o.aux, &o.vec_m, &o.vec_n, &o.scalars}[i]);
  compare(c, &o, name);
  plane_free(&o.A);
  plane_free(&o.B);
  plane_free(&o.C);
  plane_free(&o.D);
  plane_free(&o.E);
  plane_free(&o.aux);
  plane_free(&o.vec_m);
  plane_free(&o.vec_n);
  plane_free(&o.scalars);
}

/* Case i of a tile of BM x BN x BK: a row of the table, with the other choices so that all of them meet. alpha 2^-6 and
   beta 2 keep sums exact. fused 0: a second kernel applies the epilogue, whose expression cannot read C in place, nor
   can scalars in device memory. */
static call case_of(int i, int BM, int BN, int BK, int fused) {
  static const int ops[4][2] = {{SGEMM_N, SGEMM_N}, {SGEMM_N, SGEMM_T}, {SGEMM_T, SGEMM_N}, {SGEMM_T, SGEMM_T}};
  call c;
  uint32_t reads;
  c.epilogue = i % SGEMM_EPILOGUE_COUNT;
  reads = sgemm_epilogue_reads((sgemm_epilogue)c.epilogue);
  c.order = i / 3 % 2 ? SGEMM_COL_MAJOR : SGEMM_ROW_MAJOR;
  c.op_a = ops[i % 4][0];
  c.op_b = ops[i % 4][1];
  c.apart = i % 3 != 0;
  c.in_device = i % 5 == 1;
  c.pad = i % 2 ? 4 : 1;
  c.m = BM == 1 ? 1 : BM + 3;
  c.n = BN == 1 ? 1 : BN + 6;
  if (c.order == SGEMM_COL_MAJOR) {
    const int64_t m = c.m;
    c.m = c.n;
    c.n = m;
  }
  c.k = BK + 5 < 40 ? BK + 5 : 40;
  c.batch = i % 4 == 2 ? 2 : 1;
  c.alpha = 0x1p-6f;
  c.beta = i % 7 < 3 ? 2.0f : 0.0f;
  c.vectors = reads & (SGEMM_READS_vec_m | SGEMM_READS_vec_n)
                  ? (reads & SGEMM_READS_vec_m ? 1 : 0) | (reads & SGEMM_READS_vec_n ? 2 : 0)
              : reads & SGEMM_READS_bias ? i / 2 % 4
                                         : 0;
  c.stores_aux = (reads & SGEMM_READS_aux) && i % 2 == 0;
  if (!fused && !c.apart)
    c.apart = (reads & SGEMM_READS_c) != 0 || (c.in_device && c.beta != 0.0f);
  return c;
}

/* Every variant. In the quick tier each has four cases, with rows that rotate from variant to variant. */
Test(epilogues, variants, ANYWHERE) {
  int i, number, next = 0;
  need_backend();
  for (i = 0; i < SGEMM_VARIANT_COUNT; i++) {
    const sgemm_variant_info *v = sgemm_variant_get((sgemm_variant)i);
    if (!sgemm_compiled((sgemm_variant)i))
      continue;
    for (number = 0; number < (reduced() ? 4 : SGEMM_EPILOGUE_COUNT); number++) {
      const call c = case_of(next++, v->BM, v->BN, v->BK, v->fuses == 1);
      sgemm_plan plan;
      sgemm_params p = sgemm_params_init((sgemm_op)c.op_a, (sgemm_op)c.op_b, c.m, c.n, c.k);
      plan = sgemm_variant_plan((sgemm_variant)i, &p);
      if (v->uses_tma)
        plan.repack_a = plan.repack_b = 1;
      solve(&c, &plan, v->name);
    }
  }
}

/* Second kernels that sum: split-K, clusters and stream-K. */
Test(epilogues, reductions, ANYWHERE) {
  static const struct {
    sgemm_variant variant;
    int cluster_k, split_k, stream_k;
  } plans[] = {{SGEMM_splitk_16x128x32_16x4, 2, 1, 0},
               {SGEMM_splitk_16x128x32_16x4, 1, 3, 0},
               {SGEMM_async_64x64x8_8x8, 1, 2, 0},
               {SGEMM_gemv_1x32x64_1x1, 2, 2, 0},
               {SGEMM_tma_64x64x32_16x8, 1, 1, 7}};
  int i, number, next = 0;
  need_backend();
  for (i = 0; i < (int)(sizeof plans / sizeof *plans); i++) {
    const sgemm_variant_info *v = sgemm_variant_get(plans[i].variant);
    for (number = 0; number < (reduced() ? 6 : 2 * SGEMM_EPILOGUE_COUNT); number++) {
      call c = case_of(next++, v->BM, v->BN, v->BK, v->fuses == 1);
      sgemm_params p = sgemm_params_init((sgemm_op)c.op_a, (sgemm_op)c.op_b, c.m, c.n, c.k);
      sgemm_plan plan = sgemm_variant_plan(plans[i].variant, &p);
      c.k = 4 * v->BK + 3;
      c.alpha = 0x1p-8f;
      plan.cluster_k = plans[i].cluster_k;
      plan.split_k = plans[i].split_k;
      plan.stream_k = plans[i].stream_k;
      if (v->uses_tma)
        plan.repack_a = plan.repack_b = 1;
      solve(&c, &plan, v->name);
    }
  }
}

/* The tensor modes: all engines and formats, with split-K, slices of m and n, and the strict fallback. The elements are
   integers, which split exactly, so that the bound is that of strict fp32. */
Test(epilogues, tensor, ANYWHERE) {
  int i, number, next = 0;
  need_backend();
  for (i = 0; i < SGEMM_TENSOR_VARIANT_COUNT; i++) {
    const sgemm_tensor_variant_info *v = sgemm_tensor_variant_get((sgemm_tensor_variant)i);
    for (number = 0; can_run_tensor(i) && number < (reduced() ? 3 : SGEMM_EPILOGUE_COUNT); number++) {
      call c = case_of(next++, v->BM, v->BN, 32, 0);
      sgemm_params p = sgemm_params_init((sgemm_op)c.op_a, (sgemm_op)c.op_b, c.m, c.n, c.k);
      sgemm_plan plan = sgemm_variant_plan(SGEMM_splitk_32x32x32_4x4, &p);
      c.alpha = 0x1p-8f;
      plan.tensor = (sgemm_tensor_variant)i;
      plan.split_k = number % 3 == 1 ? 2 : 1;
      c.k = plan.split_k > 1 || !quick_tier() ? 300 : 100;
      plan.slices_m = number % 3 == 2 ? 2 : 1;
      plan.slices_n = number % 3 == 2 ? 2 : 1;
      solve(&c, &plan, v->name);
      c.k = 100; /* one block of 128 k, which split-K does not divide */
      if (plan.split_k > 1)
        solve(&c, &plan, v->name);
    }
  }
}

/* Case i of the rows that kernels apply to results in registers, for a tile of BM x BN x BK: with a vector along n of
   the row-major result or without, with aux or without, apart and in place, at all alignments and edges, in batches.
   Some cases have what the kernels cannot apply: beta, scalars in device memory, a vector along m, vectors of a batch's
   own, and an aux whose rows lie otherwise. */
static call register_case_of(int i, int BM, int BN, int BK) {
  static const int rows[] = {SGEMM_EPILOGUE_gelu, SGEMM_EPILOGUE_relu, SGEMM_EPILOGUE_silu, SGEMM_EPILOGUE_bias,
                             SGEMM_EPILOGUE_none};
  call c = case_of(i, BM, BN, BK, 0);
  const int along_n = c.order == SGEMM_COL_MAJOR ? 1 : 2;
  c.epilogue = rows[(i + i / 5) % 5];
  c.apart = i % 3 != 0;
  c.beta = i % 7 == 5 ? 2.0f : 0.0f;
  c.in_device = i % 11 == 7 && c.apart;
  c.stores_aux = c.epilogue == SGEMM_EPILOGUE_gelu || c.epilogue == SGEMM_EPILOGUE_silu
                     ? (i % 9 == 8 ? 1 : i % 4 / 2 * 2)
                     : 0;
  c.vectors = c.epilogue == SGEMM_EPILOGUE_none || i % 7 == 3 ? 0 : i % 13 == 6 ? 3 - along_n : along_n;
  c.batch = c.vectors == 0 || i % 8 == 0 ? 2 : 1;
  c.pad = i % 5 < 3 ? 4 - (int)((c.order == SGEMM_COL_MAJOR ? c.m : c.n) + c.apart) % 4 : 1; /* < 3: aligned rows */
  return c;
}

/* Epilogues in registers: the strict variants with kernels for them, with stream-K and clusters, and every tensor-core
   variant. The strict fallbacks of the latter apply the epilogue in registers, in a second kernel, or in a kernel of
   their own. */
Test(epilogues, in_registers, ANYWHERE) {
  static const sgemm_variant fallbacks[] = {SGEMM_splitk_32x32x32_4x4, SGEMM_async_64x64x8_8x8,
                                            SGEMM_async_32x32x8_4x4};
  int i, number, next[3] = {0, 0, 0}; /* cases: without TMA; of tma and the tensor modes; of kernels of their own */
  need_backend();
  for (i = 0; i < SGEMM_VARIANT_COUNT; i++) {
    const sgemm_variant_info *v = sgemm_variant_get((sgemm_variant)i);
    if (v->fuses < 2 || !sgemm_compiled((sgemm_variant)i))
      continue;
    for (number = 0; number < (reduced() ? 16 : 40); number++) {
      call c = register_case_of(next[v->fuses == 3 ? 2 : v->uses_tma]++, v->BM, v->BN, v->BK);
      sgemm_params p = sgemm_params_init((sgemm_op)c.op_a, (sgemm_op)c.op_b, c.m, c.n, c.k);
      sgemm_plan plan = sgemm_variant_plan((sgemm_variant)i, &p);
      c.k = number % 4 == 2 ? 3 * v->BK + 5 : 37;
      c.alpha = 0x1p-8f;
      if (v->uses_tma) {
        plan.repack_a = plan.repack_b = 1;
        plan.stream_k = number % 4 == 2 ? 5 : 0;
      } else {
        plan.cluster_k = v->cluster_split_k && number % 4 == 2 ? 2 : 1;
      }
      solve(&c, &plan, v->name);
    }
  }
  for (i = 0; i < SGEMM_TENSOR_VARIANT_COUNT; i++) {
    const sgemm_tensor_variant_info *v = sgemm_tensor_variant_get((sgemm_tensor_variant)i);
    for (number = 0; can_run_tensor(i) && number < (reduced() ? 3 : 8); number++) {
      call c = register_case_of(next[1]++, v->BM, v->BN, 32);
      sgemm_params p = sgemm_params_init((sgemm_op)c.op_a, (sgemm_op)c.op_b, c.m, c.n, c.k);
      sgemm_plan plan = sgemm_variant_plan(fallbacks[number % 3], &p);
      plan.tensor = (sgemm_tensor_variant)i;
      plan.slices_m = plan.slices_n = number % 4 == 2 ? 2 : 1;
      solve(&c, &plan, v->name);
    }
  }
}

/* A bias in a tensor mode, along m, along n and along both, which the multiplying kernels or a second one add. */
Test(epilogues, tensor_bias, ANYWHERE) {
  int i;
  need_backend();
  for (i = 0; i < 24; i++) {
    call c = case_of(SGEMM_EPILOGUE_bias, 128, 64, 100, 0);
    sgemm_params p = sgemm_params_init((sgemm_op)c.op_a, (sgemm_op)c.op_b, c.m, c.n, c.k);
    sgemm_plan plan = sgemm_variant_plan(SGEMM_splitk_32x32x32_4x4, &p);
    plan.tensor = i % 2 ? SGEMM_mma_bf16x6_128x128 : SGEMM_wgmma_fp16x3_128x64;
    if (!can_run_tensor(plan.tensor))
      continue;
    c.order = i / 2 % 2 ? SGEMM_COL_MAJOR : SGEMM_ROW_MAJOR;
    c.vectors = i / 4 % 3 + 1;
    c.beta = i / 12 ? 2.0f : 0.0f;
    c.batch = 2;
    c.k = 100;
    c.in_device = 0;
    solve(&c, &plan, "bias in a tensor mode");
  }
}

/* What sgemm_run() selects, also where C is read in place and alpha or k is 0. */
Test(epilogues, selected, ANYWHERE) {
  int i;
  need_backend();
  for (i = 0; i < 3 * SGEMM_EPILOGUE_COUNT; i++) {
    call c = case_of(i, 20 + i, 37, 21, 1);
    solve(&c, NULL, "selected");
    c.k = 0;
    solve(&c, NULL, "k = 0");
    c.k = 5;
    c.alpha = 0.0f;
    solve(&c, NULL, "alpha = 0");
  }
}

/* Calls in place that differ only in where their scalars are follow each other. The plan of the first, whose second
   kernel applies the epilogue, cannot apply that of the second. */
Test(epilogues, kept_plans, ANYWHERE) {
  static const int sizes[][3] = {{40, 600, 5}, {300, 200, 8}, {96, 96, 12}, {64, 2000, 3}};
  int i;
  need_backend();
  for (i = 0; i < 4; i++) {
    call c = case_of(3, sizes[i][0], sizes[i][1], sizes[i][2], 1);
    c.epilogue = SGEMM_EPILOGUE_bias;
    c.vectors = 2;
    c.apart = c.stores_aux = c.in_device = 0;
    c.beta = 2.0f;
    solve(&c, NULL, "scalars in host memory");
    c.in_device = 1;
    solve(&c, NULL, "scalars in device memory");
  }
}

/* A function of the table, and if `of` is not none its derivative is the row: D = derivative(E). */
typedef struct function {
  int row, of;
} function;

/* The bound of an error: 4 ulp of f(x). The two terms of a derivative, y = f(x) / x and the rest, can cancel: 2 ulp of
   their magnitudes more. */
static double function_bound(const function *f, double x, double want) {
  epilogue_values v = {0};
  double y, bound;
  int exponent;
  frexp(want, &exponent);
  bound = 4.0 * ldexp(1.0, exponent - 24);
  if (f->of == SGEMM_EPILOGUE_none)
    return bound;
  v.sum = x;
  y = x != 0.0 ? epilogue_reference(f->of, &v) / x : want;
  return bound + 2.0 * 0x1p-23 * (fabs(y) + fabs(want - y));
}

/* 4,000 x between -100 and 100, and where the functions of CUDA or of versions before had the largest errors of all
   floats. */
static void fill_x(float *x, int count) {
  static const float further[] = {-1.94154227f, -2.7091918f, -3.45077062f, -3.56001472f, -4.62485933f, -7.59916496f,
                                  -9.23034191f, -11.787531f, 0.750540853f, 1.8505286f,   16.6355305f,  0.0f,
                                  1e-30f,       1e20f,       -1e20f,       3e38f,        -3e38f};
  const int last = count - (int)(sizeof further / sizeof *further);
  int i;
  for (i = 0; i < count; i++)
    x[i] = i >= last ? further[i - last] : i < 1000 ? (float)(i - 500) * 0.2003f : (float)(i - 2500) * 0.00613f;
}

/* The functions of the table and their derivatives, over their whole range. */
Test(epilogues, functions, ANYWHERE) {
  enum { COUNT = 4000 };
  static const function functions[] = {
      {SGEMM_EPILOGUE_relu, SGEMM_EPILOGUE_none},     {SGEMM_EPILOGUE_gelu, SGEMM_EPILOGUE_none},
      {SGEMM_EPILOGUE_gelu_erf, SGEMM_EPILOGUE_none}, {SGEMM_EPILOGUE_silu, SGEMM_EPILOGUE_none},
      {SGEMM_EPILOGUE_sigmoid, SGEMM_EPILOGUE_none},  {SGEMM_EPILOGUE_tanh, SGEMM_EPILOGUE_none},
      {SGEMM_EPILOGUE_dgelu, SGEMM_EPILOGUE_gelu},    {SGEMM_EPILOGUE_dgelu_erf, SGEMM_EPILOGUE_gelu_erf},
      {SGEMM_EPILOGUE_dsilu, SGEMM_EPILOGUE_silu}};
  float *x = (float *)malloc(COUNT * sizeof(float)), *y = (float *)malloc(COUNT * sizeof(float));
  float *X = (float *)machine_alloc(COUNT * sizeof(float)), *ones = (float *)machine_alloc(COUNT * sizeof(float));
  float *C = (float *)machine_alloc(COUNT * sizeof(float));
  int i, f;
  need_backend();
  for (i = 0; i < COUNT; i++)
    y[i] = 1.0f;
  machine_upload(ones, y, COUNT * sizeof(float));
  fill_x(x, COUNT);
  machine_upload(X, x, COUNT * sizeof(float));
  for (f = 0; f < (int)(sizeof functions / sizeof *functions); f++) {
    const int derivative = functions[f].of != SGEMM_EPILOGUE_none;
    sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, COUNT, 1, 1);
    p.A = derivative ? ones : X;
    p.E = derivative ? X : NULL;
    p.B = ones;
    p.C = C;
    p.epilogue = functions[f].row;
    cr_assert(sgemm_run(&p, NULL) == SGEMM_SUCCESS, "the call failed");
    machine_download(y, C, COUNT * sizeof(float));
    for (i = 0; i < COUNT; i++) {
      epilogue_values v = {0};
      double want;
      v.sum = derivative ? 1.0 : (double)x[i];
      v.e = (double)x[i];
      want = epilogue_reference(p.epilogue, &v);
      if (derivative && fabsf(x[i]) > 100.0f) /* the reference multiplies Inf by 0 */
        want = x[i] > 0.0f ? 1.0 : 0.0;
      cr_assert(fabs((double)y[i] - want) <=
                    (fabs(want) < 0x1p-100 ? 0x1p-100 : function_bound(&functions[f], (double)x[i], want)),
                "%s(%.9g) is %.9g, want %.17g", sgemm_epilogue_name((sgemm_epilogue)p.epilogue), (double)x[i],
                (double)y[i], want);
    }
  }
  free(x);
  free(y);
  machine_free(X);
  machine_free(ones);
  machine_free(C);
}

/* Without products alpha does not count, in device memory either: C = beta * C, and +0 for beta = 0. */
Test(epilogues, no_products, ANYWHERE) {
  static const float alphas[] = {INFINITY, NAN, -1.0f};
  float *alpha = (float *)machine_alloc(sizeof(float)), *C = (float *)machine_alloc(6 * sizeof(float)), c[6];
  int i, j;
  need_backend();
  for (i = 0; i < 6; i++) {
    sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 2, 3, 0);
    const float old[6] = {1.0f, -2.0f, 3.0f, -4.0f, 5.0f, -0.0f};
    machine_upload(alpha, &alphas[i / 2], sizeof(float));
    machine_upload(C, old, sizeof old);
    p.alpha_device = alpha;
    p.beta = i % 2 ? 2.0f : 0.0f;
    p.C = C;
    cr_assert(sgemm_run(&p, NULL) == SGEMM_SUCCESS && machine_wait() == SGEMM_SUCCESS);
    machine_download(c, C, sizeof c);
    for (j = 0; j < 6; j++) {
      const float want = i % 2 ? 2.0f * old[j] : 0.0f;
      cr_assert(memcmp(&c[j], &want, sizeof want) == 0, "alpha %g, beta %g: %g in place of %g", (double)alphas[i / 2],
                (double)p.beta, (double)c[j], (double)want);
    }
  }
  machine_free(alpha);
  machine_free(C);
}

/* Each argument of an epilogue that is wrong has its status, and D is untouched. */
Test(epilogues, statuses, ANYWHERE) {
  float memory[64];
  sgemm_params good = sgemm_params_init(SGEMM_N, SGEMM_N, 3, 4, 2), p;
  int i;
  for (i = 0; i < 64; i++)
    memory[i] = 7.0f;
  good.A = good.B = memory;
  good.C = memory + 16;
  good.D = memory + 32;
  good.vec_m = good.vec_n = good.E = memory;
#define BAD(change, status)                                                                                            \
  p = good;                                                                                                            \
  change;                                                                                                              \
  cr_assert(sgemm_run(&p, NULL) == status, "%s gives %s", #change, sgemm_status_string(sgemm_run(&p, NULL)))
  BAD(p.epilogue = -1, SGEMM_ERROR_EPILOGUE);
  BAD(p.epilogue = SGEMM_EPILOGUE_COUNT, SGEMM_ERROR_EPILOGUE);
  BAD(p.ldd = 3, SGEMM_ERROR_LDD);
  BAD((p.batch = 2, p.stride_d = 3), SGEMM_ERROR_STRIDE_D);
  BAD((p.batch = 2, p.stride_vec_m = -1), SGEMM_ERROR_STRIDE_VEC_M);
  BAD((p.batch = 2, p.stride_vec_n = -1), SGEMM_ERROR_STRIDE_VEC_N);
  BAD((p.epilogue = SGEMM_EPILOGUE_residual, p.lde = 3), SGEMM_ERROR_LDE);
  BAD((p.epilogue = SGEMM_EPILOGUE_residual, p.batch = 2, p.stride_e = -1), SGEMM_ERROR_STRIDE_E);
  BAD((p.epilogue = SGEMM_EPILOGUE_gelu, p.aux = memory, p.ld_aux = 3), SGEMM_ERROR_LD_AUX);
  BAD((p.epilogue = SGEMM_EPILOGUE_gelu, p.aux = memory, p.batch = 2, p.stride_aux = 1), SGEMM_ERROR_STRIDE_AUX);
  BAD((p.batch = 2, p.stride_vec_m = INT64_MAX), SGEMM_ERROR_TOO_LARGE);
  BAD((p.batch = 2, p.stride_vec_n = INT64_MAX), SGEMM_ERROR_TOO_LARGE);
  BAD((p.epilogue = SGEMM_EPILOGUE_residual, p.lde = INT64_MAX), SGEMM_ERROR_TOO_LARGE);
  p = good;
  p.lde = INT64_MAX; /* E is not read */
  cr_assert(sgemm_check(&p) == SGEMM_SUCCESS);
  BAD((p.C = NULL, p.beta = 1.0f), SGEMM_ERROR_C);
#if defined(TEST_PROJECT_ROWS)
  BAD((p.C = NULL, p.epilogue = SGEMM_EPILOGUE_masked), SGEMM_ERROR_C);
#endif
  BAD(p.D = (float *)((char *)memory + 2), SGEMM_ERROR_D);
  BAD((p.epilogue = SGEMM_EPILOGUE_scale, p.vec_m = NULL), SGEMM_ERROR_VEC_M);
  BAD((p.epilogue = SGEMM_EPILOGUE_scale, p.vec_n = NULL), SGEMM_ERROR_VEC_N);
  BAD((p.epilogue = SGEMM_EPILOGUE_drelu, p.E = NULL), SGEMM_ERROR_E);
  BAD(p.aux = memory, SGEMM_ERROR_AUX);
  BAD(p.alpha_device = (const float *)((const char *)memory + 1), SGEMM_ERROR_ALPHA_DEVICE);
  BAD(p.beta_device = (const float *)((const char *)memory + 1), SGEMM_ERROR_BETA_DEVICE);
#undef BAD
  for (i = 32; i < 64; i++)
    cr_assert(memory[i] == 7.0f, "D was written");
}
