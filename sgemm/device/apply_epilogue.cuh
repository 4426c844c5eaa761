/* sgemm/device/apply_epilogue.cuh: the results of a thread through the expression of an epilogue. */
#ifndef SGEMM_DEVICE_APPLY_EPILOGUE_CUH
#define SGEMM_DEVICE_APPLY_EPILOGUE_CUH

SGEMM__ASSERT(SGEMM_EPILOGUE_none == 0, "the first row of SGEMM_BUILTIN_EPILOGUES is none")

/* The function of each row of the table. Its parameters are the values that the row lists, so that another value does
   not compile. */
#define SGEMM__DECLARATION(value) SGEMM__DECLARATION_##value
#define SGEMM__DECLARATION_sum float sum
#define SGEMM__DECLARATION_c float c
#define SGEMM__DECLARATION_vec_m float vec_m
#define SGEMM__DECLARATION_vec_n float vec_n
#define SGEMM__DECLARATION_bias float bias
#define SGEMM__DECLARATION_e float e
#define SGEMM__DECLARATION_aux float *aux
#define SGEMM__DECLARATION_row int64_t row
#define SGEMM__DECLARATION_col int64_t col
#define SGEMM__DECLARATION_s float s
#define SGEMM__DECLARATION_t float t
#define SGEMM__DECLARATIONS(...) SGEMM__EACH(SGEMM__DECLARATION, SGEMM__COMMA, __VA_ARGS__)
#define SGEMM__X(name, reads, expression, what)                                                                        \
  SGEMM__DEVICE float sgemm_epilogue_##name(SGEMM__DECLARATIONS reads) { return expression; }
SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X

/* The values of 4 elements of a row, for the expressions. */
typedef struct sgemm__epilogue_values {
  float sum[4], c[4], vec_m[4], vec_n[4], bias[4], e[4], aux[4];
  float s, t;
  int64_t row, col; /* row and column of the first element in the row-major result */
  int col_major;    /* 1: the caller's matrices are column-major: its row is the column here */
} sgemm__epilogue_values;

/* Values of a call: its scalars, and zeros. col_major: 0 where no row of the table that runs there reads row or col. */
SGEMM__DEVICE sgemm__epilogue_values sgemm__epilogue_values_of(const sgemm__epilogue_args *e, int col_major) {
  const sgemm__epilogue_values values = {{0.0f}, {0.0f}, {0.0f}, {0.0f}, {0.0f}, {0.0f},
                                         {0.0f}, e->s,   e->t,   0,      0,      col_major};
  return values;
}

/* r <- the expression of an epilogue for the first `width` of 4 elements. width is a literal. */
#define SGEMM__VALUE(value) SGEMM__VALUE_##value
#define SGEMM__VALUE_sum values->sum[v]
#define SGEMM__VALUE_c values->c[v]
#define SGEMM__VALUE_vec_m values->vec_m[v]
#define SGEMM__VALUE_vec_n values->vec_n[v]
#define SGEMM__VALUE_bias values->bias[v]
#define SGEMM__VALUE_e values->e[v]
#define SGEMM__VALUE_aux (values->aux + v)
#define SGEMM__VALUE_row (values->col_major ? values->col + v : values->row)
#define SGEMM__VALUE_col (values->col_major ? values->row : values->col + v)
#define SGEMM__VALUE_s values->s
#define SGEMM__VALUE_t values->t
#define SGEMM__VALUES(...) SGEMM__EACH(SGEMM__VALUE, SGEMM__COMMA, __VA_ARGS__)
SGEMM__DEVICE void sgemm__evaluate(int epilogue, int width, sgemm__epilogue_values *values, float *r) {
  int v;
  switch (epilogue) {
#define SGEMM__X(name, reads, expression, what)                                                                        \
  case SGEMM_EPILOGUE_##name:                                                                                          \
    SGEMM__UNROLL                                                                                                      \
    for (v = 0; v < width; v++)                                                                                        \
      r[v] = sgemm_epilogue_##name(SGEMM__VALUES reads);                                                               \
    break;
    SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X
  }
}

/* Loads and stores the first `exist` of `width` consecutive elements; 0 or negative: none. width: the literal 1 or
   4. */
SGEMM__DEVICE void sgemm__load_values(float *r, const float *p, int width, int exist) {
  if (width == 4 && exist == 4 && (uintptr_t)p % 16 == 0)
    sgemm__load_whole4(r, p, 1);
  else if (width == 4)
    sgemm__load_first4(r, p, exist);
  else if (exist > 0)
    r[0] = sgemm__load_result(p);
  sgemm__converge();
}

SGEMM__DEVICE void sgemm__store_values(float *p, const float *r, int width, int exist) {
  if (width == 4 && exist == 4 && (uintptr_t)p % 16 == 0)
    sgemm__store_whole4(p, r, 1);
  else if (width == 4)
    sgemm__store_first4(p, r, exist);
  else if (exist > 0)
    sgemm__store_global(p, r[0]);
  sgemm__converge();
}

/* A vector of up to 4 results in a row of the result, and how many of its elements exist; 0 or negative: none. */
typedef struct sgemm__result_vector {
  int64_t matrix, row, col;
  int exist;
} sgemm__result_vector;

SGEMM__DEVICE sgemm__result_vector sgemm__result_vector_at(const sgemm__args *p, int64_t matrix, int64_t row,
                                                           int64_t col, int width) {
  sgemm__result_vector at;
  at.matrix = matrix;
  at.row = row;
  at.col = col;
  at.exist = row < p->m ? sgemm__clip(p->n - col, width) : 0;
  return at;
}

/* Sets the elements of the caller's vectors, from those along m and along n of the row-major result. col_major: that of
   the call. */
SGEMM__DEVICE void sgemm__set_biases(int col_major, float along_m, const float *along_n, int width,
                                     sgemm__epilogue_values *values) {
  int v;
  SGEMM__UNROLL
  for (v = 0; v < width; v++) {
    values->vec_m[v] = col_major ? along_n[v] : along_m;
    values->vec_n[v] = col_major ? along_m : along_n[v];
    values->bias[v] = along_m + along_n[v];
  }
}

/* Loads the elements of the caller's vectors; an absent vector is zeros. */
SGEMM__DEVICE void sgemm__load_biases(const sgemm__epilogue_args *e, int width, const sgemm__result_vector *at,
                                      sgemm__epilogue_values *values) {
  float along_m = 0.0f, along_n[4] = {0.0f};
  if (e->vec_m != NULL && at->exist > 0)
    along_m = sgemm__load_global(e->vec_m + at->matrix * e->stride_vec_m + at->row);
  sgemm__converge();
  if (e->vec_n != NULL)
    sgemm__load_values(along_n, e->vec_n + at->matrix * e->stride_vec_n + at->col, width, at->exist);
  sgemm__set_biases(e->col_major, along_m, along_n, width, values);
}

/* The scalars of a call, from host or device memory. */
typedef struct sgemm__scalars {
  float alpha, beta;
} sgemm__scalars;

SGEMM__DEVICE sgemm__scalars sgemm__scalars_of(const sgemm__args *p) {
  const sgemm__epilogue_args *e = &p->epilogue;
  sgemm__scalars s;
  s.alpha = e->alpha != NULL ? sgemm__load_global(e->alpha) : p->alpha;
  s.beta = e->beta != NULL ? sgemm__load_global(e->beta) : p->beta;
  return s;
}

/* result <- the expression of an epilogue for a vector of results, and aux <- what it stores there. sums: the sums of
   products. width: a literal. number, reads: those of the call, or literals of a row, so that the loads of all other
   values vanish. The function is inlined, so that the fields of p are operands in constant memory: loaded through a
   pointer they would be loaded again after each store to D. */
SGEMM__DEVICE void sgemm__evaluate_vector(const sgemm__args *p, int number, uint32_t reads,
                                          const sgemm__scalars *scalars, int width, const sgemm__result_vector *at,
                                          const float *sums, float *result, float *aux) {
  const sgemm__epilogue_args *e = &p->epilogue;
  const uint32_t vectors = SGEMM_READS_vec_m | SGEMM_READS_vec_n | SGEMM_READS_bias;
  const float alpha = scalars->alpha, beta = scalars->beta;
  const float zero = beta != 0.0f ? -0.0f : 0.0f; /* the scaled sum for alpha = 0 in device memory */
  sgemm__epilogue_values values = sgemm__epilogue_values_of(e, e->col_major);
  int v;
  values.row = e->row + at->row;
  values.col = e->col + at->col;
  if (beta != 0.0f || (reads & SGEMM_READS_c))
    sgemm__load_values(values.c, e->C + at->matrix * e->stride_c + at->row * e->ldc + at->col, width, at->exist);
  if (reads & SGEMM_READS_e)
    sgemm__load_values(values.e, e->E + at->matrix * e->stride_e + at->row * e->lde + at->col, width, at->exist);
  if ((reads & vectors) && (e->vec_m != NULL || e->vec_n != NULL))
    sgemm__load_biases(e, width, at, &values);
  SGEMM__UNROLL
  for (v = 0; v < width; v++) {
    const float scaled = e->alpha != NULL && alpha == 0.0f ? zero : alpha * sums[v];
    values.sum[v] = beta != 0.0f ? sgemm__fma(beta, values.c[v], scaled) : scaled;
  }
  sgemm__evaluate(number, width, &values, result);
  SGEMM__UNROLL
  for (v = 0; v < width; v++)
    aux[v] = values.aux[v];
}

/* Stores what an epilogue stores besides the result. */
SGEMM__DEVICE void sgemm__store_aux(const sgemm__args *p, int width, const sgemm__result_vector *at, const float *aux) {
  const sgemm__epilogue_args *e = &p->epilogue;
  if (e->aux != NULL)
    sgemm__store_values(e->aux + at->matrix * e->stride_aux + at->row * e->ld_aux + at->col, aux, width, at->exist);
}

/* D <- the expression of the call's epilogue for a vector of results. */
SGEMM__DEVICE void sgemm__apply_epilogue(const sgemm__args *p, int width, const sgemm__result_vector *at,
                                         const float *sums) {
  const sgemm__scalars scalars = sgemm__scalars_of(p);
  float result[4] = {0.0f}, aux[4];
  sgemm__evaluate_vector(p, p->epilogue.number, p->epilogue.reads, &scalars, width, at, sums, result, aux);
  sgemm__store_values(p->C + at->matrix * p->stride_c + at->row * p->ldc + at->col, result, width, at->exist);
  sgemm__store_aux(p, width, at, aux);
}

/* x <- the epilogue of a call that sgemm__in_registers() describes, for `vectors` vectors of 4 sums of products in x.
   bias: 4 elements for each of `biases` vectors of columns; the vectors of x have them in turn, `repeat` vectors each.
   alpha is applied here, so that its multiplication and the addition of the bias are one FMA. The function has the
   expressions of the rows of the table whose SGEMM__IN_REGISTERS_<name> is a bit of `kinds`. All parameters but p, bias
   and x are literals. */
SGEMM__DEVICE void sgemm__evaluate_in_registers(const sgemm__args *p, int kinds, const float *bias, int biases,
                                                int repeat, int vectors, float *x) {
  sgemm__epilogue_values of_call = sgemm__epilogue_values_of(&p->epilogue, 0), *values = &of_call;
  int i, v;
  switch (p->epilogue.number) {
#define SGEMM__X(name, reads, expression, what)                                                                        \
  case SGEMM_EPILOGUE_##name:                                                                                          \
    SGEMM__UNROLL                                                                                                      \
    for (i = 0; i < vectors && (SGEMM__IN_REGISTERS(name) & kinds); i++) {                                             \
      SGEMM__UNROLL                                                                                                    \
      for (v = 0; v < 4; v++) {                                                                                        \
        values->sum[v] = p->alpha * x[4 * i + v];                                                                      \
        values->bias[v] = bias[i / repeat % biases * 4 + v];                                                           \
        x[4 * i + v] = sgemm_epilogue_##name(SGEMM__VALUES reads);                                                     \
      }                                                                                                                \
    }                                                                                                                  \
    break;
    SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X
  }
}

/* 1 for a short epilogue. */
SGEMM__DEVICE int sgemm__is_short(int epilogue) {
#define SGEMM__X(name, reads, expression, what)                                                                        \
  || (SGEMM__IN_REGISTERS(name) == SGEMM__SHORT_EPILOGUES && epilogue == SGEMM_EPILOGUE_##name)
  return 0 SGEMM_EPILOGUES(SGEMM__X);
#undef SGEMM__X
}

/* bias <- 4 elements of the caller's vector along n, from vec_n on; zeros if vec_n is NULL. exist: elements that exist;
   0 or negative: none. */
SGEMM__DEVICE void sgemm__load_row_bias(const float *vec_n, int exist, float *bias) {
  int v;
  SGEMM__UNROLL
  for (v = 0; v < 4; v++)
    bias[v] = 0.0f;
  if (vec_n != NULL)
    sgemm__load_values(bias, vec_n, 4, exist < 4 ? exist : 4);
}

/* acc <- a long epilogue, such as GELU, for `vectors` vectors of 4 sums, which have `biases` vectors of 4 biases in
   turn. The code of the epilogue, 100 instructions for 4 elements in GELU (sm_90a), is there once. Each pass of a loop
   computes the first `of_pass` vectors of acc and rotates all, because registers have no index. More vectors a pass,
   and the vectors in shared memory instead, have fewer instructions and are slower in tma (docs/notebook/epilogues.md,
   "Results stay in registers"). */
SGEMM__DEVICE void sgemm__apply_long_epilogue(const sgemm__args *p, const float *bias, int biases, int vectors,
                                              int of_pass, float *acc) {
  int i, j;
  SGEMM__UNROLL_BY(1)
  for (i = 0; i < vectors; i += of_pass) {
    float x[16];
    SGEMM__UNROLL
    for (j = 0; j < 4 * of_pass; j++)
      x[j] = acc[j];
    sgemm__evaluate_in_registers(p, SGEMM__LONG_EPILOGUES, bias, biases, 1, of_pass, x);
    SGEMM__UNROLL
    for (j = 0; j < 4 * (vectors - of_pass); j++)
      acc[j] = acc[j + 4 * of_pass];
    SGEMM__UNROLL
    for (j = 0; j < 4 * of_pass; j++)
      acc[4 * (vectors - of_pass) + j] = x[j];
  }
}

/* The epilogue of a call that sgemm__in_registers() describes, without aux, for one sum of products. The rows of the
   table are compared one after the other: the switch of sgemm__evaluate_in_registers() is a jump through a table in
   constant memory, and its first load takes longer (docs/notebook/epilogues.md, "Small results"). */
SGEMM__DEVICE float sgemm__evaluate_element(const sgemm__args *p, float bias, float sum) {
  sgemm__epilogue_values of_call = sgemm__epilogue_values_of(&p->epilogue, 0), *values = &of_call;
  const int v = 0;
  float r = 0.0f;
  values->sum[v] = p->alpha * sum;
  values->bias[v] = bias;
#define SGEMM__X(name, reads, expression, what)                                                                        \
  if (SGEMM__IN_REGISTERS(name) && sgemm__opaque(p->epilogue.number) == SGEMM_EPILOGUE_##name)                         \
    r = sgemm_epilogue_##name(SGEMM__VALUES reads);
  SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X
  return r;
}

/* C[0] to C[exist - 1] <- the epilogue of such a call for the first `exist` of V sums of products in a row of the
   result, from column col on. sums is overwritten. One code evaluates and stores the elements in turn: it runs once in
   a kernel of some microseconds, in which longer code takes longer to fetch. */
SGEMM__DEVICE void sgemm__store_elements(const sgemm__args *p, int V, float *C, int64_t col, int exist, float *sums) {
  const float *vec_n = p->epilogue.vec_n == NULL ? NULL : p->epilogue.vec_n + col;
  float bias[4] = {0.0f};
  int i, v;
  if (V == 4)
    sgemm__load_row_bias(vec_n, exist, bias);
  else if (vec_n != NULL && exist > 0)
    bias[0] = sgemm__load_global(vec_n);
  sgemm__converge();
  SGEMM__UNROLL_BY(1)
  for (i = 0; i < exist; i++) { /* element 0 is evaluated, and the others move to its place */
    sgemm__store_global(C + i, sgemm__evaluate_element(p, bias[0], sums[0]));
    SGEMM__UNROLL
    for (v = 0; v < V - 1; v++) {
      sums[v] = sums[v + 1];
      bias[v] = bias[v + 1];
    }
  }
}

#endif /* SGEMM_DEVICE_APPLY_EPILOGUE_CUH */
