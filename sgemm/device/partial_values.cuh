/* sgemm/device/partial_values.cuh: partial values of reductions: how two are combined, and how elements are added. */
#ifndef SGEMM_DEVICE_PARTIAL_VALUES_CUH
#define SGEMM_DEVICE_PARTIAL_VALUES_CUH

/* A partial value: a sum, or the key and the index of the element that wins so far. The key is the element for min and
   the negated element for max; the smallest key wins. */
typedef struct sgemm__partial {
  float value;
  int64_t index;
} sgemm__partial;

#define SGEMM__NO_INDEX ((int64_t)0x7fffffffffffffff) /* index of a partial value without elements */

SGEMM__DEVICE int sgemm__sums(int reduction) { return reduction <= SGEMM_REDUCTION_sum_squares; }
SGEMM__DEVICE float sgemm__value_of_none(int reduction) {
  return sgemm__sums(reduction) ? 0.0f : sgemm__float_of(0x7f800000u); /* Inf */
}

/* Compares elements: 1 if a wins over b, a NaN over a number or the smaller key; -1 if b wins; 0: the index decides. */
SGEMM__DEVICE int sgemm__compare_keys(float a, float b) {
  const int a_nan = a != a, b_nan = b != b;
  return a_nan || b_nan ? a_nan - b_nan : (a < b) - (b < a);
}

/* Combines two partial values: adds b to a, or replaces a by b if b wins. */
SGEMM__DEVICE void sgemm__combine(int reduction, sgemm__partial *a, const sgemm__partial *b) {
  const int order = sgemm__compare_keys(b->value, a->value);
  if (sgemm__sums(reduction))
    a->value += b->value;
  else if (order > 0 || (order == 0 && b->index < a->index))
    *a = *b;
}

/* An index in memory is 8 bytes, the low word first. */
SGEMM__DEVICE void sgemm__store_index(int64_t *p, int64_t index) {
  sgemm__store_global2((float *)p, sgemm__float_of((uint32_t)index),
                       sgemm__float_of((uint32_t)((uint64_t)index >> 32)));
}
SGEMM__DEVICE int64_t sgemm__load_index(const int64_t *p) {
  const uint64_t low = sgemm__bits_of(sgemm__load_result((const float *)p));
  return (int64_t)(low | (uint64_t)sgemm__bits_of(sgemm__load_result((const float *)p + 1)) << 32);
}

/* ---- In registers ------------------------------------------------------------------------------------------------ */

/* Partial values in registers have the index in the slab, whose 32 bits make the loops shorter. */
#define SGEMM__NO_SLAB_INDEX 0x7fffffff /* index of a partial value without elements */

/* Combines a partial value with another one. */
SGEMM__DEVICE void sgemm__combine_value(int reduction, float *value, int *index, float other_value, int other_index) {
  const int order = sgemm__compare_keys(other_value, *value);
  if (sgemm__sums(reduction)) {
    *value += other_value;
  } else if (order > 0 || (order == 0 && other_index < *index)) {
    *value = other_value;
    *index = other_index;
  }
}

/* An element that changes no partial value: 0 for sums, -Inf for max, Inf for min. */
SGEMM__DEVICE float sgemm__neutral_element(int reduction) {
  return sgemm__sums(reduction) ? 0.0f : sgemm__float_of(reduction == SGEMM_REDUCTION_max ? 0xff800000u : 0x7f800000u);
}

/* Adds `count` elements to W partial values: element i to number i % W, with the index first + i % W * step + i / W *
   next. W and count are literals. The elements of a partial value come in the order of their indices, so that of equal
   ones the first remains. Inf does not replace the Inf of the beginning: where all elements are Inf, the index that the
   partial value begins with, that of the first element, is right. */
SGEMM__DEVICE void sgemm__add_elements(int reduction, int W, int count, const float *x, int first, int step, int next,
                                       float *value, int *index) {
  const float sign = reduction == SGEMM_REDUCTION_max ? -1.0f : 1.0f;
  int i;
  if (reduction == SGEMM_REDUCTION_sum) {
    SGEMM__UNROLL
    for (i = 0; i < count; i++)
      value[i % W] += x[i];
  } else if (reduction == SGEMM_REDUCTION_sum_squares) {
    SGEMM__UNROLL
    for (i = 0; i < count; i++)
      value[i % W] = sgemm__fma(x[i], x[i], value[i % W]);
  } else {
    SGEMM__UNROLL
    for (i = 0; i < count; i++) {
      const int v = i % W;
      const float key = sign * x[i];
      const int wins = !(key >= value[v]) && value[v] == value[v];
      value[v] = wins ? key : value[v];
      index[v] = wins ? first + v * step + i / W * next : index[v];
    }
  }
}

/* ---- Partial values of tiles ------------------------------------------------------------------------------------- */

/* The reducing kernels store a partial value for each row of a tile: 8 bytes, the value and the index in the slab. The
   partial values of a row, one for each tile along n, follow each other. number: that of the partial value. */
SGEMM__DEVICE void sgemm__store_tile_value(float *partials, int64_t number, float value, int index) {
  sgemm__store_global2(partials + 2 * number, value, sgemm__float_of((uint32_t)index));
}

#endif /* SGEMM_DEVICE_PARTIAL_VALUES_CUH */
