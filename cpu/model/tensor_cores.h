/* cpu/model/tensor_cores.h: tensor cores of the CPU model: conversions to and from 16 bits, matrix descriptors, the dot
   product with the rounding of Hopper, wgmma and mma.sync. */
#ifndef SGEMM_CPU_TENSOR_CORES_H
#define SGEMM_CPU_TENSOR_CORES_H

#include "cpu/model/barrier.h"

/* ---- Conversions ------------------------------------------------------------------------------------------------- */

/* Rounds to fp16, to nearest, ties to even, in integer arithmetic. A result below 2^-14 is subnormal, a multiple of
   2^-24. A NaN becomes 0x7fff, as on the GPU. */
static inline uint32_t sgemm__to_fp16(float x) {
  const uint32_t bits = sgemm__bits_of(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  const uint32_t shift = magnitude < 0x38800000 ? 126 - (magnitude >> 23) : 13;
  const uint32_t kept = shift == 13 ? magnitude - (112u << 23) : (magnitude & 0x7fffff) | 0x800000;
  if (magnitude > 0x7f800000)
    return 0x7fff;
  if (magnitude >= 0x47800000) /* 2^16; between 65520 and 2^16 the rounding below carries to infinity */
    return sign | 0x7c00;
  return shift > 24 ? sign : sign | (kept + (1u << (shift - 1)) - 1 + (kept >> shift & 1)) >> shift;
}

static inline uint32_t sgemm__to_fp16x2(float x, float y) { return sgemm__to_fp16(x) | sgemm__to_fp16(y) << 16; }

/* Rounds to bf16, the upper 16 bits of an fp32, to nearest, ties to even. A NaN becomes 0x7fff, as on the GPU. */
static inline uint32_t sgemm__to_bf16(float x) {
  const uint32_t bits = sgemm__bits_of(x);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return 0x7fff;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static inline uint32_t sgemm__to_bf16x2(float x, float y) { return sgemm__to_bf16(x) | sgemm__to_bf16(y) << 16; }

static inline float sgemm__from_fp16(uint32_t h) {
  const uint32_t sign = (h & 0x8000) << 16, magnitude = h & 0x7fff;
  if (magnitude < 0x400)
    return sign ? -(float)magnitude * 0x1p-24f : (float)magnitude * 0x1p-24f;
  return sgemm__float_of(sign | ((magnitude << 13) + (magnitude < 0x7c00 ? 112u << 23 : 224u << 23)));
}

/* ---- Operands ---------------------------------------------------------------------------------------------------- */

static inline sgemm__matrix_descriptor sgemm__matrix_descriptor_at(const void *p, int group_bytes) {
  const sgemm__matrix_descriptor m = {(const char *)p, group_bytes};
  return m;
}

static inline sgemm__matrix_descriptor sgemm__matrix_descriptor_advance(sgemm__matrix_descriptor m, int bytes) {
  m.first += bytes;
  return m;
}

/* The values and exponents of 16 elements, k = 0 to 15, of a row. The exponent of 0 is -126, of a subnormal element
   that of the smallest normal one. */
typedef struct sgemm__cpu_decoded {
  double value[16]; /* of NaN and Inf: any number */
  int32_t exponent[16];
} sgemm__cpu_decoded;

enum { SGEMM__CPU_NONFINITE = 4096 }; /* exponent of NaN and Inf, above all sums of two finite exponents */

/* Returns 2^n for a normal double. The inner loops below multiply by it, because ldexp() takes longer. */
static inline double sgemm__cpu_power_of_two(int32_t n) {
  const uint64_t bits = (uint64_t)(1023 + n) << 52;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline void sgemm__cpu_decode(sgemm__cpu_decoded *x, const uint16_t *bits, int format) {
  const int fraction = format == SGEMM_FORMAT_fp16x3 ? 10 : 7; /* bits */
  const int bias = format == SGEMM_FORMAT_fp16x3 ? 15 : 127;
  int k;
  for (k = 0; k < 16; k++) {
    const int32_t exponent = bits[k] >> fraction & (2 * bias + 1), normal = exponent > 0, negative = bits[k] >> 15;
    const int32_t significand = (bits[k] & ((1 << fraction) - 1)) | normal << fraction;
    x->exponent[k] = significand == 0           ? -126
                     : exponent == 2 * bias + 1 ? SGEMM__CPU_NONFINITE
                                                : exponent + !normal - bias;
    x->value[k] = (1 - 2 * negative) * significand * sgemm__cpu_power_of_two(x->exponent[k] - fraction);
  }
}

/* The rows that the OS thread decoded last, of A and of B: each is an operand of many threads of a block. */
typedef struct sgemm__cpu_row {
  uint16_t bits[16];
  int format, used;
  sgemm__cpu_decoded decoded;
} sgemm__cpu_row;
enum { SGEMM__CPU_ROWS = 256 };
static _Thread_local sgemm__cpu_row sgemm__cpu_rows[2][SGEMM__CPU_ROWS];

/* 16 elements of a row of A (operand 0) or B (operand 1), which have to be written. The result is valid until the next
   call with the same operand. */
static inline const sgemm__cpu_decoded *sgemm__cpu_operand_row(int operand, sgemm__matrix_descriptor m, int row,
                                                               int format) {
  const char *at = m.first + row / 8 * m.group_bytes + row % 8 * 16;
  sgemm__cpu_row *kept = &sgemm__cpu_rows[operand][row % SGEMM__CPU_ROWS];
  uint16_t bits[16];
  int k;
  memcpy(bits, at, 16);
  memcpy(bits + 8, at + 128, 16);
  if (kept->used && kept->format == format && memcmp(kept->bits, bits, sizeof bits) == 0)
    return &kept->decoded;
  for (k = 0; k < 16; k += 2) {
    uint32_t word;
    memcpy(&word, bits + k, sizeof word);
    if (word == SGEMM__CPU_UNWRITTEN)
      sgemm__cpu_abort_unwritten((const float *)(at + k / 8 * 128 + k % 8 * 2));
  }
  memcpy(kept->bits, bits, sizeof bits);
  kept->format = format;
  kept->used = 1;
  sgemm__cpu_decode(&kept->decoded, bits, format);
  return &kept->decoded;
}

/* ---- Dot products ------------------------------------------------------------------------------------------------ */

/* Returns c plus the sum of 16 products, rounded as Hopper's tensor cores round it. The 17 summands are truncated 25
   bits below the largest exponent among them and added exactly; the sum is truncated to fp32. The exponent of a product
   is the sum of the exponents of its factors, so its significand is below 4. Source: MMA-Sim, nv_fused_dot_add,
   https://github.com/microsoft/MMA-Sim. Returns NaN if a summand is NaN or Inf, and need not tell the two apart: the
   guard of the tensor modes keeps both from every result. The sanitizers have nothing to find in sums of two structs,
   and would take most of the time of the tests of the tensor modes. */
__attribute__((no_sanitize("address", "undefined"))) static inline float
sgemm__cpu_dot(const sgemm__cpu_decoded *a, const sgemm__cpu_decoded *b, float c) {
  const uint32_t bits = sgemm__bits_of(c), magnitude = bits & 0x7fffffff;
  int32_t largest = magnitude >> 23 > 0 ? (int32_t)(magnitude >> 23) - 127 : -126, sum = 0;
  double scale, exact;
  float result;
  int k;
  for (k = 0; k < 16; k++) {
    const int32_t exponent = a->exponent[k] + b->exponent[k];
    largest = largest > exponent ? largest : exponent;
  }
  if (largest > SGEMM__CPU_NONFINITE / 2 || magnitude >= 0x7f800000)
    return NAN;
  scale = sgemm__cpu_power_of_two(25 - largest);
  for (k = 0; k < 16; k++) /* Conversions to integers truncate. A scaled product is below 2^27, so 16 fit in 32 bits. */
    sum += (int32_t)(a->value[k] * b->value[k] * scale);
  exact = ((double)sum + (int32_t)(c * scale)) * sgemm__cpu_power_of_two(largest - 25);
  result = (float)exact;
  return sgemm__float_of(sgemm__bits_of(result) - (fabs((double)result) > fabs(exact))); /* 1 ulp nearer to 0 */
}

/* ---- wgmma ------------------------------------------------------------------------------------------------------- */

/* All lanes of a warp execute the fence, the commit and the wait (PTX ISA, "wgmma.fence", .sync.aligned). */
static inline void sgemm__wgmma_fence(void) { sgemm__warp_barrier(); }

static inline void sgemm__wgmma_commit(void) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(sgemm__cpu);
  sgemm__warp_barrier();
  f->committed_products = f->product_count;
}

/* Issues the thread's part of a product. d: the thread's accumulators of the 64 x N results (PTX ISA, "wgmma", D). With
   add = 0 they are NaN until the thread waits. */
static inline void sgemm__wgmma(float *d, sgemm__matrix_descriptor a, sgemm__matrix_descriptor b, int add, int format,
                                int N) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(sgemm__cpu);
  const sgemm__cpu_product product = {d, a, b, add, format, N};
  int i;
  if (f->product_count == SGEMM__CPU_PRODUCTS)
    sgemm__cpu_abort(SGEMM_ERROR_MEMORY, "no room for the pending products", NULL, 0);
  f->products[f->product_count++] = product;
  for (i = 0; i < N / 2 && !add; i++)
    d[i] = NAN;
}

/* Computes the committed products. All other threads run first: if a kernel releases a buffer too early, the buffer
   holds other data by then, and the result shows it. nvcc alone needs d and count. */
static inline void sgemm__wgmma_wait(float *d, int count) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(sgemm__cpu);
  const int row = sgemm__thread() % 128 / 32 * 16 + sgemm__thread() % 32 / 4, col = sgemm__thread() % 4 * 2;
  int i, g, j;
  (void)d, (void)count;
  sgemm__warp_barrier();
  sgemm__cpu_suspend(NULL, 0);
  for (i = 0; i < f->committed_products; i++) {
    const sgemm__cpu_product *p = &f->products[i];
    const sgemm__cpu_decoded a0 = *sgemm__cpu_operand_row(0, p->a, row, p->format);
    const sgemm__cpu_decoded a8 = *sgemm__cpu_operand_row(0, p->a, row + 8, p->format);
    for (g = 0; g < p->N / 8; g++)
      for (j = 0; j < 2; j++) {
        float *x = p->d + g * 4 + j;
        const sgemm__cpu_decoded *b = sgemm__cpu_operand_row(1, p->b, g * 8 + col + j, p->format);
        x[0] = sgemm__cpu_dot(&a0, b, p->add ? x[0] : 0.0f);
        x[2] = sgemm__cpu_dot(&a8, b, p->add ? x[2] : 0.0f);
      }
  }
  memmove(f->products, f->products + f->committed_products,
          (size_t)(f->product_count - f->committed_products) * sizeof *f->products);
  f->product_count -= f->committed_products;
  f->committed_products = 0;
}

/* ---- mma.sync ---------------------------------------------------------------------------------------------------- */

#define SGEMM__HAS_MMA 1

/* A fragment refers to its operand in shared memory. Each thread computes the results of its lane from there. */
typedef sgemm__matrix_descriptor sgemm__fragment;

static inline void sgemm__load_fragment_a(sgemm__fragment *f, const char *p, int group_bytes) {
  sgemm__cpu_check_aligned((const float *)p);
  *f = sgemm__matrix_descriptor_at(p, group_bytes);
}

static inline void sgemm__load_fragment_b(sgemm__fragment *f, const char *p) { sgemm__load_fragment_a(f, p, 0); }

/* Rounds as wgmma does. */
static inline void sgemm__mma(float *d, const sgemm__fragment *a, const sgemm__fragment *b, int half, int add,
                              int format) {
  const int row = sgemm__thread() % 32 / 4, col = sgemm__thread() % 4 * 2;
  const sgemm__cpu_decoded a0 = *sgemm__cpu_operand_row(0, *a, row, format);
  const sgemm__cpu_decoded a8 = *sgemm__cpu_operand_row(0, *a, row + 8, format);
  int j;
  for (j = 0; j < 2; j++) {
    const sgemm__cpu_decoded *b0 = sgemm__cpu_operand_row(1, sgemm__matrix_descriptor_advance(*b, half * 256), col + j,
                                                          format);
    d[j] = sgemm__cpu_dot(&a0, b0, add ? d[j] : 0.0f);
    d[2 + j] = sgemm__cpu_dot(&a8, b0, add ? d[2 + j] : 0.0f);
  }
}

#endif /* SGEMM_CPU_TENSOR_CORES_H */
