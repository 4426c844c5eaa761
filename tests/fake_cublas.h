/* fake_cublas.h: what a test sees of the stand-in for cuBLAS and cuBLASLt. The stand-in computes nothing. It records
   the last call with its arguments, and the test sets what its getters return. */
#ifndef FAKE_CUBLAS_H
#define FAKE_CUBLAS_H

#include <stddef.h>
#include <stdint.h>

/* WORDS(a, b, ...): the arguments, at most 24, as words of 64 bits. Pointers are their addresses. */
#define WORDS(...) WORDS_N(__VA_ARGS__, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8)(__VA_ARGS__)
#define WORDS_N(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22,   \
                a23, a24, n, ...)                                                                                      \
  WORDS_##n
#define WORDS_1(x) (uint64_t)(x)
#define WORDS_2(x, ...) (uint64_t)(x), WORDS_1(__VA_ARGS__)
#define WORDS_3(x, ...) (uint64_t)(x), WORDS_2(__VA_ARGS__)
#define WORDS_4(x, ...) (uint64_t)(x), WORDS_3(__VA_ARGS__)
#define WORDS_5(x, ...) (uint64_t)(x), WORDS_4(__VA_ARGS__)
#define WORDS_6(x, ...) (uint64_t)(x), WORDS_5(__VA_ARGS__)
#define WORDS_7(x, ...) (uint64_t)(x), WORDS_6(__VA_ARGS__)
#define WORDS_8(x, ...) (uint64_t)(x), WORDS_7(__VA_ARGS__)
#define WORDS_9(x, ...) (uint64_t)(x), WORDS_8(__VA_ARGS__)
#define WORDS_10(x, ...) (uint64_t)(x), WORDS_9(__VA_ARGS__)
#define WORDS_11(x, ...) (uint64_t)(x), WORDS_10(__VA_ARGS__)
#define WORDS_12(x, ...) (uint64_t)(x), WORDS_11(__VA_ARGS__)
#define WORDS_13(x, ...) (uint64_t)(x), WORDS_12(__VA_ARGS__)
#define WORDS_14(x, ...) (uint64_t)(x), WORDS_13(__VA_ARGS__)
#define WORDS_15(x, ...) (uint64_t)(x), WORDS_14(__VA_ARGS__)
#define WORDS_16(x, ...) (uint64_t)(x), WORDS_15(__VA_ARGS__)
#define WORDS_17(x, ...) (uint64_t)(x), WORDS_16(__VA_ARGS__)
#define WORDS_18(x, ...) (uint64_t)(x), WORDS_17(__VA_ARGS__)
#define WORDS_19(x, ...) (uint64_t)(x), WORDS_18(__VA_ARGS__)
#define WORDS_20(x, ...) (uint64_t)(x), WORDS_19(__VA_ARGS__)
#define WORDS_21(x, ...) (uint64_t)(x), WORDS_20(__VA_ARGS__)
#define WORDS_22(x, ...) (uint64_t)(x), WORDS_21(__VA_ARGS__)
#define WORDS_23(x, ...) (uint64_t)(x), WORDS_22(__VA_ARGS__)
#define WORDS_24(x, ...) (uint64_t)(x), WORDS_23(__VA_ARGS__)

enum { FAKE_ARGUMENTS = 24, FAKE_STATUS = 16 }; /* FAKE_STATUS: the result of a recorded call */

typedef struct fake_record {
  int calls;            /* recorded calls since a test set this to 0 */
  const char *function; /* of the last call */
  uint64_t arguments[FAKE_ARGUMENTS];
  int succeeds;   /* 1: calls return CUBLAS_STATUS_SUCCESS */
  int nested;     /* 1: a product calls cublasLtMatmul with `inner`, as the real library may */
  void *inner[6]; /* handle, description, layout of all matrices, A, B, D */
  int old;        /* 1: cuBLASLt is a version without the attributes that came with version 13 */
  int batch_mode; /* of every layout */
} fake_record;
extern fake_record fake;

/* A handle is a pointer to one of these. */
typedef struct fake_handle {
  void *stream;
  int pointers, math, sms;
  int broken; /* 1: the getters fail */
} fake_handle;

/* The word of a description or of a layout that has an attribute. */
enum { FAKE_D_OUT_SCALE = 30 }; /* the word for attribute 36 */

#endif /* FAKE_CUBLAS_H */
