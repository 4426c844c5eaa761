/* sgemm/checks.h: the checks of the arguments of calls. Included by sgemm.h. */
#ifndef SGEMM_CHECKS_H
#define SGEMM_CHECKS_H

static inline int sgemm__is_op(int op) { return op == SGEMM_N || op == SGEMM_T || op == SGEMM_C; }

/* 1 if no two results of the batch overlap: matrices follow each other in memory, or their rows are interleaved, so
   that row i of all matrices is in the ld elements from i * ld on. */
static inline int sgemm__batch_disjoint(int64_t rows, int64_t width, int64_t ld, int64_t batch, int64_t stride) {
  return (double)stride >= (double)(rows - 1) * (double)ld + (double)width ||
         (stride >= width && (double)(batch - 1) * (double)stride + (double)width <= (double)ld);
}

/* 1 if a batch of rows x ld matrices spans fewer than 2^60 elements, so that no offset overflows. */
static inline int sgemm__addressable(int64_t rows, int64_t ld, int64_t batch, int64_t stride) {
  return (double)rows * (double)ld + (double)batch * (double)stride < 1152921504606846976.0;
}

static inline int sgemm__bad_pointer(const void *p) { return p == NULL || (uintptr_t)p % sizeof(float) != 0; }

/* The name of an epilogue; NULL if there is no such epilogue. */
static inline const char *sgemm_epilogue_name(sgemm_epilogue epilogue) {
  switch ((int)epilogue) {
#define SGEMM__X(name, reads, expression, what)                                                                        \
  case SGEMM_EPILOGUE_##name:                                                                                          \
    return #name;
    SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X
  default:
    return NULL;
  }
}

/* The values of an epilogue that the call must read or may store: a mask of SGEMM_READS_<value>. */
static inline uint32_t sgemm_epilogue_reads(sgemm_epilogue epilogue) {
  switch ((int)epilogue) {
#define SGEMM__X(name, reads, expression, what)                                                                        \
  case SGEMM_EPILOGUE_##name:                                                                                          \
    return SGEMM__MASK reads;
    SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X
  default:
    return 0;
  }
}

/* 1 if C is read. */
static inline int sgemm__reads_c(const sgemm_params *p) {
  return p->beta != 0.0f || p->beta_device != NULL ||
         (sgemm_epilogue_reads((sgemm_epilogue)p->epilogue) & SGEMM_READS_c) != 0;
}

/* 1 if the results go through an epilogue, which every result apart from C does. */
static inline int sgemm__has_epilogue(const sgemm_params *p) {
  return p->epilogue != SGEMM_EPILOGUE_none || p->D != NULL || p->alpha_device != NULL || p->beta_device != NULL;
}

/* 1 if A and B are not read: alpha in host memory is 0, or k is 0. */
static inline int sgemm__has_no_products(const sgemm_params *p) {
  return p->k == 0 || (p->alpha == 0.0f && p->alpha_device == NULL);
}

/* 1 if there is nothing to compute and C keeps its values. */
static inline int sgemm__is_noop(const sgemm_params *p) {
  return p->m == 0 || p->n == 0 || p->batch == 0 ||
         (!sgemm__has_epilogue(p) && sgemm__has_no_products(p) && p->beta == 1.0f);
}

/* The leading dimensions and strides of what an epilogue reads and stores. rows, width: those of C as stored. */
static inline sgemm_status sgemm__check_epilogue_sizes(const sgemm_params *p, int64_t rows, int64_t width) {
  const uint32_t reads = sgemm_epilogue_reads((sgemm_epilogue)p->epilogue);
  const int batched = p->batch > 1 && rows > 0 && width > 0;
  if (p->D != NULL && p->ldd < sgemm__max(1, width))
    return SGEMM_ERROR_LDD;
  if (p->D != NULL && batched && !sgemm__batch_disjoint(rows, width, p->ldd, p->batch, p->stride_d))
    return SGEMM_ERROR_STRIDE_D;
  if (batched && p->stride_vec_m < 0)
    return SGEMM_ERROR_STRIDE_VEC_M;
  if (batched && p->stride_vec_n < 0)
    return SGEMM_ERROR_STRIDE_VEC_N;
  if ((reads & SGEMM_READS_e) && p->lde < sgemm__max(1, width))
    return SGEMM_ERROR_LDE;
  if ((reads & SGEMM_READS_e) && batched && p->stride_e < 0)
    return SGEMM_ERROR_STRIDE_E;
  if (p->aux != NULL && p->ld_aux < sgemm__max(1, width))
    return SGEMM_ERROR_LD_AUX;
  return p->aux != NULL && batched && !sgemm__batch_disjoint(rows, width, p->ld_aux, p->batch, p->stride_aux)
             ? SGEMM_ERROR_STRIDE_AUX
             : SGEMM_SUCCESS;
}

/* The pointers of the result and of what an epilogue reads and stores. */
static inline sgemm_status sgemm__check_epilogue_pointers(const sgemm_params *p) {
  const uint32_t reads = sgemm_epilogue_reads((sgemm_epilogue)p->epilogue);
  if (sgemm__reads_c(p) || p->D == NULL ? sgemm__bad_pointer(p->C) : (uintptr_t)p->C % sizeof(float) != 0)
    return SGEMM_ERROR_C;
  if ((uintptr_t)p->D % sizeof(float) != 0)
    return SGEMM_ERROR_D;
  if ((uintptr_t)p->vec_m % sizeof(float) != 0 || ((reads & SGEMM_READS_vec_m) && p->vec_m == NULL))
    return SGEMM_ERROR_VEC_M;
  if ((uintptr_t)p->vec_n % sizeof(float) != 0 || ((reads & SGEMM_READS_vec_n) && p->vec_n == NULL))
    return SGEMM_ERROR_VEC_N;
  if ((uintptr_t)p->E % sizeof(float) != 0 || ((reads & SGEMM_READS_e) && p->E == NULL))
    return SGEMM_ERROR_E;
  if ((uintptr_t)p->aux % sizeof(float) != 0 || (p->aux != NULL && !(reads & SGEMM_READS_aux)))
    return SGEMM_ERROR_AUX;
  if ((uintptr_t)p->alpha_device % sizeof(float) != 0)
    return SGEMM_ERROR_ALPHA_DEVICE;
  return (uintptr_t)p->beta_device % sizeof(float) != 0 ? SGEMM_ERROR_BETA_DEVICE : SGEMM_SUCCESS;
}

/* Checks the arguments in p. Returns the first error in the order of SGEMM_STATUS_LIST, or SGEMM_SUCCESS. Accesses no
   element of a matrix. */
static inline sgemm_status sgemm_check(const sgemm_params *p) {
  int a_plain, b_plain, row_major;
  int64_t a_rows, a_width, b_rows, b_width, c_rows, c_width;
  sgemm_status status;
  if (p == NULL)
    return SGEMM_ERROR_PARAMS;
  if (p->order != SGEMM_ROW_MAJOR && p->order != SGEMM_COL_MAJOR)
    return SGEMM_ERROR_ORDER;
  if (!sgemm__is_op(p->op_a))
    return SGEMM_ERROR_OP_A;
  if (!sgemm__is_op(p->op_b))
    return SGEMM_ERROR_OP_B;
  if (p->epilogue < 0 || p->epilogue >= SGEMM_EPILOGUE_COUNT)
    return SGEMM_ERROR_EPILOGUE;
  if (p->mode != SGEMM_STRICT && p->mode != SGEMM_TENSOR && p->mode != SGEMM_TENSOR_FULL)
    return SGEMM_ERROR_MODE;
  if (p->m < 0)
    return SGEMM_ERROR_M;
  if (p->n < 0)
    return SGEMM_ERROR_N;
  if (p->k < 0)
    return SGEMM_ERROR_K;

  row_major = p->order == SGEMM_ROW_MAJOR; /* a stored row of a column-major matrix is one of its columns */
  a_plain = (p->op_a == SGEMM_N) == row_major;
  b_plain = (p->op_b == SGEMM_N) == row_major;
  a_rows = a_plain ? p->m : p->k;
  a_width = a_plain ? p->k : p->m;
  b_rows = b_plain ? p->k : p->n;
  b_width = b_plain ? p->n : p->k;
  c_rows = row_major ? p->m : p->n;
  c_width = row_major ? p->n : p->m;
  if (p->lda < sgemm__max(1, a_width))
    return SGEMM_ERROR_LDA;
  if (p->ldb < sgemm__max(1, b_width))
    return SGEMM_ERROR_LDB;
  if (p->ldc < sgemm__max(1, c_width))
    return SGEMM_ERROR_LDC;
  if (p->batch < 0)
    return SGEMM_ERROR_BATCH;
  if (p->batch > 1 && p->stride_a < 0)
    return SGEMM_ERROR_STRIDE_A;
  if (p->batch > 1 && p->stride_b < 0)
    return SGEMM_ERROR_STRIDE_B;
  if (p->batch > 1 && c_rows > 0 && c_width > 0 &&
      !sgemm__batch_disjoint(c_rows, c_width, p->ldc, p->batch, p->stride_c))
    return SGEMM_ERROR_STRIDE_C;
  status = sgemm__check_epilogue_sizes(p, c_rows, c_width);
  if (status != SGEMM_SUCCESS)
    return status;
  if (!sgemm__addressable(p->m, 1, 0, 0) || !sgemm__addressable(p->n, 1, 0, 0) || !sgemm__addressable(p->k, 1, 0, 0) ||
      !sgemm__addressable(a_rows, p->lda, p->batch, p->batch > 1 ? p->stride_a : 0) ||
      !sgemm__addressable(b_rows, p->ldb, p->batch, p->batch > 1 ? p->stride_b : 0) ||
      !sgemm__addressable(c_rows, p->ldc, p->batch, p->batch > 1 ? p->stride_c : 0) ||
      (p->D != NULL && !sgemm__addressable(c_rows, p->ldd, p->batch, p->batch > 1 ? p->stride_d : 0)) ||
      ((sgemm_epilogue_reads((sgemm_epilogue)p->epilogue) & SGEMM_READS_e) &&
       !sgemm__addressable(c_rows, p->lde, p->batch, p->batch > 1 ? p->stride_e : 0)) ||
      (p->aux != NULL && !sgemm__addressable(c_rows, p->ld_aux, p->batch, p->batch > 1 ? p->stride_aux : 0)) ||
      (p->vec_m != NULL && !sgemm__addressable(1, p->m, p->batch, p->batch > 1 ? p->stride_vec_m : 0)) ||
      (p->vec_n != NULL && !sgemm__addressable(1, p->n, p->batch, p->batch > 1 ? p->stride_vec_n : 0)))
    return SGEMM_ERROR_TOO_LARGE;

  if (sgemm__is_noop(p))
    return SGEMM_SUCCESS;
  if (!sgemm__has_no_products(p)) {
    if (sgemm__bad_pointer(p->A))
      return SGEMM_ERROR_A;
    if (sgemm__bad_pointer(p->B))
      return SGEMM_ERROR_B;
  }
  status = sgemm__check_epilogue_pointers(p);
  if (status != SGEMM_SUCCESS)
    return status;
  if ((uintptr_t)p->prepared_a % 16 != 0 || (uintptr_t)p->prepared_b % 16 != 0 ||
      (p->mode == SGEMM_STRICT && (p->prepared_a != NULL || p->prepared_b != NULL)))
    return SGEMM_ERROR_PREPARED;
  return (p->workspace == NULL ? p->workspace_bytes != 0 && p->workspace_bytes != SGEMM_WORKSPACE_AUTO
                               : p->workspace_bytes < 0 || (uintptr_t)p->workspace % 16 != 0)
             ? SGEMM_ERROR_WORKSPACE
             : SGEMM_SUCCESS;
}

/* The params of a reduction. Without D, D is a place that is never written, so that neither sgemm_check() nor the args
   take C for the result. */
static inline sgemm_params sgemm__with_result(const sgemm_params *p) {
  static float none;
  sgemm_params with = *p;
  if (p->D == NULL) {
    const int row_major = p->order == SGEMM_ROW_MAJOR;
    with.D = &none;
    with.ldd = sgemm__max(1, row_major ? p->n : p->m);
    with.stride_d = sgemm__product(with.ldd, row_major ? p->m : p->n);
  }
  return with;
}

/* Checks the arguments of sgemm_run_reduction(), as sgemm_check() does. */
static inline sgemm_status sgemm_check_reduction(const sgemm_params *p, const sgemm_reduction_params *r) {
  sgemm_params with;
  sgemm_status status;
  int64_t count;
  if (p == NULL)
    return SGEMM_ERROR_PARAMS;
  if (r == NULL || r->reduction < 0 || r->reduction >= SGEMM_REDUCTION_COUNT)
    return SGEMM_ERROR_REDUCTION;
  if (r->axis != SGEMM_EACH_ROW && r->axis != SGEMM_EACH_COLUMN)
    return SGEMM_ERROR_AXIS;
  with = sgemm__with_result(p);
  status = sgemm_check(&with);
  count = r->axis == SGEMM_EACH_ROW ? p->m : p->n;
  if ((status != SGEMM_SUCCESS && status < SGEMM_ERROR_VALUES) || p->batch == 0 || count == 0)
    return status;
  if ((uintptr_t)r->values % sizeof(float) != 0 || (r->values == NULL && r->indices == NULL))
    return SGEMM_ERROR_VALUES;
  if ((uintptr_t)r->indices % sizeof(int64_t) != 0 ||
      (r->indices != NULL && r->reduction <= SGEMM_REDUCTION_sum_squares))
    return SGEMM_ERROR_INDICES;
  if (p->batch > 1 && r->stride < count)
    return SGEMM_ERROR_STRIDE_VALUES;
  return status;
}

#endif /* SGEMM_CHECKS_H */
