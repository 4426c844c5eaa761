/* sgemm/epilogues.h: the table of epilogues: what a call computes from each element of the product before it stores it.
   Included by sgemm.h.

   An epilogue is a row: a name, the values that it reads, a C expression over them, and a sentence. The result of the
   call is D(i, j) = expression. A project adds rows of its own, in the same form, by defining SGEMM_PROJECT_EPILOGUES
   before it includes sgemm.h, in the implementation file and in each file that names them:

       #define SGEMM_PROJECT_EPILOGUES(X) \
         X(leaky_relu, (sum, s), sum > 0.0f ? sum : s * sum, "the slope s below 0")

   and params.epilogue = SGEMM_EPILOGUE_leaky_relu (docs/epilogues.md). A row that reads a value that it does not list
   does not compile. */
#ifndef SGEMM_EPILOGUES_H
#define SGEMM_EPILOGUES_H

/* The values of an expression, for the element (row, col) of the result: X(value, bit of what the call must read)
     sum       alpha * (op(A) * op(B))(row, col) + beta * C(row, col); C is not read if beta is 0
     c         C(row, col), whether beta is 0 or not
     vec_m     element `row` of params.vec_m
     vec_n     element `col` of params.vec_n
     bias      vec_m + vec_n; either or both may be NULL and count as zeros
     e         element (row, col) of params.E
     aux       pointer to a float, which the call stores to element (row, col) of params.aux, unless this is NULL
     row, col  the indices as int64_t; they count from 0 in each matrix of a batch
     s, t      params.s and params.t */
#define SGEMM_EPILOGUE_VALUES(X)                                                                                       \
  X(sum, 0) X(c, 1) X(vec_m, 2) X(vec_n, 4) X(bias, 8) X(e, 16) X(aux, 32) X(row, 0) X(col, 0) X(s, 0) X(t, 0)

/* The built-in epilogues: X([symbol] name, (values), expression, "what it computes"). The functions are those of
   sgemm/device/activations.cuh. none is the plain multiplication. A build that needs fewer rows defines
   SGEMM_BUILTIN_EPILOGUES itself, with those that it needs, none first; the other names then do not compile. */
#ifndef SGEMM_BUILTIN_EPILOGUES
// clang-format off
#define SGEMM_BUILTIN_EPILOGUES(X)                                                                                     \
  X(none,      (sum),               sum,                               "the plain result")                             \
  X(bias,      (sum, bias),         sum + bias,                        "bias")                                         \
  X(relu,      (sum, bias),         sgemm_relu(sum + bias),            "max(x, 0) of x = sum + bias")                  \
  X(gelu,      (sum, bias, aux),    sgemm_gelu(*aux = sum + bias),     "GELU by tanh of x; aux: x")                    \
  X(gelu_erf,  (sum, bias, aux),    sgemm_gelu_erf(*aux = sum + bias), "GELU by erf of x; aux: x")                     \
  X(silu,      (sum, bias, aux),    sgemm_silu(*aux = sum + bias),     "x sigmoid(x); aux: x")                         \
  X(sigmoid,   (sum, bias),         sgemm_sigmoid(sum + bias),         "1 / (1 + exp(-x))")                            \
  X(tanh,      (sum, bias),         sgemm_tanh(sum + bias),            "tanh(x)")                                      \
  X(clamp,     (sum, bias, s, t),   sgemm_clamp(sum + bias, s, t),     "x, but at least s and at most t")              \
  X(residual,  (sum, bias, e),      sum + bias + e,                    "bias, and the residual E")                     \
  X(scale_m,   (sum, vec_m),        sum * vec_m,                       "a factor for each row")                        \
  X(scale_n,   (sum, vec_n),        sum * vec_n,                       "a factor for each column")                     \
  X(scale,     (sum, vec_m, vec_n), sum * vec_m * vec_n,               "factors for rows and columns")                 \
  X(drelu,     (sum, e),            e > 0.0f ? sum : 0.0f,             "gradient through relu at E")                   \
  X(dgelu,     (sum, e),            sum * sgemm_dgelu(e),              "gradient through GELU by tanh at E")           \
  X(dgelu_erf, (sum, e),            sum * sgemm_dgelu_erf(e),          "gradient through GELU by erf at E")            \
  X(dsilu,     (sum, e),            sum * sgemm_dsilu(e),              "gradient through SiLU at E")                   \
  X(distance,  (sum, vec_m, vec_n), sgemm_relu(vec_m + vec_n - 2.0f * sum), "squared Euclidean, of squared norms")     \
  X(cosine,    (sum, vec_m, vec_n), 1.0f - sum * vec_m * vec_n,        "cosine distance, of reciprocal norms")
// clang-format on
#endif

/* SGEMM__IN_REGISTERS_<name> marks the rows that some kernels apply to the results of a tile in registers, in calls
   that sgemm__in_registers() describes. Each of these kernels has their code, so that they are the rows of common
   layers (docs/notebook/epilogues.md, "In the registers of large tiles"). 2: a short epilogue, of one or two
   instructions an element, without aux; 1: a long one, of x = sum + bias, which is what it stores to aux. */
enum { SGEMM__LONG_EPILOGUES = 1, SGEMM__SHORT_EPILOGUES = 2, SGEMM__ALL_IN_REGISTERS = 3 };
#define SGEMM__IN_REGISTERS_none ~, 2
#define SGEMM__IN_REGISTERS_bias ~, 2
#define SGEMM__IN_REGISTERS_relu ~, 2
#define SGEMM__IN_REGISTERS_gelu ~, 1
#define SGEMM__IN_REGISTERS_silu ~, 1
#define SGEMM__IN_REGISTERS(name) SGEMM__IS(SGEMM__IN_REGISTERS_##name)

/* SGEMM__IN_TILES_<name> marks the rows that reducing kernels apply to the results of a tile before they reduce its
   rows (docs/notebook/reductions.md, "In the tiles"). They have code for each of these rows, which read no matrix. A
   vec_m and a vec_n can change places in them, as they do in column-major calls. */
#define SGEMM__IN_TILES_none ~, 1
#define SGEMM__IN_TILES_bias ~, 1
#define SGEMM__IN_TILES_distance ~, 1
#define SGEMM__IN_TILES_cosine ~, 1
#define SGEMM__IN_TILES(name) SGEMM__IS(SGEMM__IN_TILES_##name)

#ifndef SGEMM_PROJECT_EPILOGUES
#define SGEMM_PROJECT_EPILOGUES(X)
#endif
#define SGEMM_EPILOGUES(X) SGEMM_BUILTIN_EPILOGUES(X) SGEMM_PROJECT_EPILOGUES(X)

/* SGEMM_EPILOGUE_none and so on, the built-in ones first, in the order of the table. */
typedef enum sgemm_epilogue {
#define SGEMM__X(name, reads, expression, what) SGEMM_EPILOGUE_##name,
  SGEMM_EPILOGUES(SGEMM__X)
#undef SGEMM__X
      SGEMM_EPILOGUE_COUNT
} sgemm_epilogue;

/* SGEMM_READS_<value>: the value's bit in the mask of what an epilogue reads. */
enum {
#define SGEMM__X(value, bit) SGEMM_READS_##value = bit,
  SGEMM_EPILOGUE_VALUES(SGEMM__X)
#undef SGEMM__X
      SGEMM__READS_NOTHING = 0
};

/* SGEMM__EACH(macro, join, a, b, ...) is macro(a) join() macro(b) ..., for up to eight values. */
#define SGEMM__COMMA() ,
#define SGEMM__OR() |
#define SGEMM__EACH_1(macro, join, a) macro(a)
#define SGEMM__EACH_2(macro, join, a, ...) macro(a) join() SGEMM__EACH_1(macro, join, __VA_ARGS__)
#define SGEMM__EACH_3(macro, join, a, ...) macro(a) join() SGEMM__EACH_2(macro, join, __VA_ARGS__)
#define SGEMM__EACH_4(macro, join, a, ...) macro(a) join() SGEMM__EACH_3(macro, join, __VA_ARGS__)
#define SGEMM__EACH_5(macro, join, a, ...) macro(a) join() SGEMM__EACH_4(macro, join, __VA_ARGS__)
#define SGEMM__EACH_6(macro, join, a, ...) macro(a) join() SGEMM__EACH_5(macro, join, __VA_ARGS__)
#define SGEMM__EACH_7(macro, join, a, ...) macro(a) join() SGEMM__EACH_6(macro, join, __VA_ARGS__)
#define SGEMM__EACH_8(macro, join, a, ...) macro(a) join() SGEMM__EACH_7(macro, join, __VA_ARGS__)
#define SGEMM__NINTH(a, b, c, d, e, f, g, h, ninth, ...) ninth
#define SGEMM__EACH_OF(...)                                                                                            \
  SGEMM__NINTH(__VA_ARGS__, SGEMM__EACH_8, SGEMM__EACH_7, SGEMM__EACH_6, SGEMM__EACH_5, SGEMM__EACH_4, SGEMM__EACH_3,  \
               SGEMM__EACH_2, SGEMM__EACH_1, ~)
#define SGEMM__EACH(macro, join, ...) SGEMM__EACH_OF(__VA_ARGS__)(macro, join, __VA_ARGS__)

/* SGEMM__MASK(sum, bias): the mask of these values. */
#define SGEMM__READS_BIT(value) SGEMM_READS_##value
#define SGEMM__MASK(...) SGEMM__EACH(SGEMM__READS_BIT, SGEMM__OR, __VA_ARGS__)

#endif /* SGEMM_EPILOGUES_H */
