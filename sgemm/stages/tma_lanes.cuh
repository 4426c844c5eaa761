/* sgemm/stages/tma_lanes.cuh: consumer lanes of the stage tma: fragments, sums and results of lanes that interleave k.
   */
#ifndef SGEMM_STAGES_TMA_LANES_CUH
#define SGEMM_STAGES_TMA_LANES_CUH

#if SGEMM__HAS_SM90A

/* A warp of tma has 32 x 32 results, and its lane 4g + q those of group g, 16 x 8 in a warp tile of 2 x 4 groups, of k
   = q (mod 4): a slice. So a fragment of what lies along k needs no transposing: lane 4g + q gets element q of a quad
   of k, which is what sgemm__ldmatrix_floats() deals. In these loads lane 8i + g tells where row i of a piece of group
   g is; the columns of groups 2 and 3 come in the order i ^ 2, so that those of all groups lie in different banks. What
   lies along e is loaded as elsewhere, each lane from the row of its own k. Pieces of 4 lie so far apart that lanes
   meet no bank twice there either: see the swizzle at sgemm__copy_box(). Lanes come to it with those rows and columns
   first whose sums they will keep: see sgemm__reduce_lanes(). */
SGEMM__DEVICE sgemm__thread_tile sgemm__lane_group_tile(const sgemm__shape *s, int group) {
  const int warp = sgemm__thread() / 32 % (s->BM / s->WM * (s->BN / s->WN)), group_n = group % 4;
  sgemm__thread_tile own;
  own.row = warp / (s->BN / s->WN) * s->WM + group / 4 * (s->a_k_major ? 4 : 16);
  own.row_stride = s->a_k_major ? 8 : 4;
  own.col = warp % (s->BN / s->WN) * s->WN + (s->b_k_major ? group_n * 4 : group_n % 2 * 16 + group_n / 2 * 8);
  own.col_stride = s->b_k_major ? 16 : 4;
  own.col_xor = (s->b_k_major ? group_n & 2 : 0) ^ 1; /* see sgemm__multiply_fragments() */
  return own;
}

/* Bytes from a tile's start to what the lane loads of an operand's first quad of k: `first` is the warp tile's first
   row. */
SGEMM__DEVICE int sgemm__lane_offset(const sgemm__shape *s, int of_b, int first) {
  const int lane = sgemm__thread() % 32, i = lane / 8, group = lane % 8, own = lane / 4, k = lane % 4;
  const int row = of_b ? group % 4 * 4 + (i ^ (group & 2)) : group / 4 * 4 + i;
  const int quad = of_b ? own % 2 * 4 + own % 4 / 2 * 2 + k / 2
                        : own / 4 * 4 + k % 2 * 2; /* of 8 side by side along e */
  return (of_b ? s->b_k_major : s->a_k_major) ? (first + row) * 128 + row % 8 * 16
                                              : first * s->BK * 4 + k * 128 + (quad ^ k) * 16;
}

/* The same of all quads of a box of 32 k: at[q]; or, along e, of piece i of quads 0, 2, 4, 6 and 1, 3, 5, 7: at[i] and
   at[T / 4 + i]. Held, they cost 4 to 8 registers an operand and no instruction in the loop: a load adds the buffer's
   address to them, and a constant. */
SGEMM__DEVICE void sgemm__lane_addresses(const sgemm__shape *s, int of_b, int first, int T, sgemm__address *at) {
  const int k_major = of_b ? s->b_k_major : s->a_k_major, pieces = k_major ? 1 : T / 4;
  int q, i;
  SGEMM__UNROLL
  for (q = 0; q < (k_major ? SGEMM__BOX / 4 : 2); q++) {
    SGEMM__UNROLL
    for (i = 0; i < pieces; i++)
      at[q * pieces + i] = sgemm__pin_address((sgemm__address)(first ^ (k_major ? q : q * 4 ^ i) * 16));
  }
}

/* Fragment <- a tile in a buffer of tma, from a box of 32 k on: T elements of the lane's k of its quad q. */
SGEMM__DEVICE void sgemm__load_lane_fragment(float *fragment, sgemm__address tile, const sgemm__address *at, int T,
                                             int k_major, int q) {
  int i;
  if (k_major) { /* pieces of 8 rows, or of 16 */
    sgemm__ldmatrix_floats(fragment, tile + at[q], T / 4, 128 / T * 128);
  } else { /* quads of e side by side */
    SGEMM__UNROLL
    for (i = 0; i < T / 4; i++)
      sgemm__load_shared4_at(fragment + i * 4, tile + at[q % 2 * (T / 4) + i] + (sgemm__address)(q * 4 * 128));
  }
}

/* Lanes that differ by `mask` have parts of the same results. Each keeps half of them and adds the other's part: of 2 *
   apart side by side the first ones if the bit of its number is 0; or, if it has loaded those that it keeps first, the
   first ones anyway, which saves the selections. */
SGEMM__DEVICE void sgemm__reduce_lane_pair(float *acc, int count, int apart, int mask, int sorted) {
  const int behind = !sorted && (sgemm__thread() & mask) != 0;
  float other[4];
  int i, v;
  SGEMM__UNROLL
  for (i = 0; i < count / 2; i += 4) {
    const int at = i / apart * 2 * apart + i % apart;
    SGEMM__UNROLL
    for (v = 0; v < 4; v++) {
      other[v] = behind ? acc[at + v] : acc[at + apart + v];
      acc[i + v] = behind ? acc[at + apart + v] : acc[at + v];
    }
    sgemm__shuffle_xor4(other, mask);
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      acc[i + v] += other[v];
  }
}

/* The four lanes of a group, each with its own k, have parts of the same 16 x 8 results. Lane q gets the sums of four
   columns, lanes 2 and 3 of the latter, and of eight rows, odd lanes of the latter; row by row, and the columns in
   order. So of k the parts 0 and 2 are added, 1 and 3, and these two, whatever lies along k. */
SGEMM__DEVICE void sgemm__reduce_lanes(const sgemm__shape *s, float *acc) {
  const sgemm__thread_tile own = sgemm__lane_group_tile(s, sgemm__thread() % 32 / 4);
  const int half = s->TM * s->TN / 2;
  float r[4];
  int i, v;
  sgemm__reduce_lane_pair(acc, 2 * half, s->TN / 2, 2, !s->b_k_major);
  sgemm__reduce_lane_pair(acc, half, half / 2, 1, !s->a_k_major);
  SGEMM__UNROLL
  for (i = 0; i < half / 2; i += 4) {
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      r[v] = own.col_xor & 2 ? acc[i + (v ^ 3)] : acc[i + (v ^ 1)];
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      acc[i + v] = r[v];
  }
}

/* Where in a tile the first of a lane's sums is: see sgemm__reduce_lanes(). */
SGEMM__DEVICE sgemm__thread_tile sgemm__lane_result_tile(const sgemm__shape *s) {
  const int q = sgemm__thread() % 4;
  sgemm__thread_tile own = sgemm__lane_group_tile(s, sgemm__thread() % 32 / 4);
  own.row += q % 2 * 2 * own.row_stride;
  own.col += q / 2 * own.col_stride;
  return own;
}

/* Lanes that differ by the bit `mask`, which is set in the `upper` one, exchange elements of two rows of 4: of each
   pair of elements `apart` apart the upper one keeps the second, and gets the other's second for its first. */
SGEMM__DEVICE void sgemm__exchange_elements(float *x, int apart, int upper, int mask) {
  float r[4];
  int v;
  SGEMM__UNROLL
  for (v = 0; v < 4; v++) {
    const int at = v / 2 * 4 + (apart == 1 ? v % 2 * 2 : v % 2); /* the pair's first element */
    r[v] = upper ? x[at] : x[at + apart];
  }
  sgemm__shuffle_xor4(r, mask);
  SGEMM__UNROLL
  for (v = 0; v < 4; v++) {
    const int at = v / 2 * 4 + (apart == 1 ? v % 2 * 2 : v % 2);
    x[at] = upper ? r[v] : x[at];
    x[at + apart] = upper ? x[at + apart] : r[v];
  }
}

/* C <- alpha * sums + beta * C: of a lane's rows, which come in pieces of 4, `down` apart, an even number from `first`
   on, four columns each. With beta 0, the usual case, in as little code as there can be: what runs once costs more to
   bring than to run. Where C's rows do not start on 16 bytes, a store of one element a lane would write 4 bytes to each
   of 32 sectors; so four lanes whose columns lie side by side deal them out, two rows at a time: lane l of them gets
   column l of all four quads, and what they store lies side by side. With A along e, and in rows of 4 warps, that
   spoils the main loop. */
SGEMM__DEVICE void sgemm__store_lane_rows(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                          int first, int count, float *acc) {
  const sgemm__thread_tile own = sgemm__lane_result_tile(s);
  const int deals = s->a_k_major && SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, s->slice_k) == 256;
  const int aligned = (uintptr_t)tile->C % 16 == 0 && p->ldc % 4 == 0;
  int i, v;
  if (p->beta != 0.0f) {
    const sgemm__args sums = sgemm__unscaled(p);
    SGEMM__UNROLL
    for (i = 0; i < count * 4; i++)
      acc[i] = sgemm__scale(p, acc[i]);
    sgemm__add_c_vectors(p, 4, tile, &own, 1, first, count, acc);
    SGEMM__UNROLL
    for (i = 0; i < count; i++)
      sgemm__store_vector(&sums, 4, tile, own.row + (first + i) / 4 * own.row_stride + (first + i) % 4, own.col,
                          acc + i * 4);
  } else {
    int col = own.col, apart = 1, vectors; /* of the lane's first column; from one to the next */
    float *C;
    SGEMM__UNROLL
    for (i = 0; i < count * 4; i++)
      acc[i] = sgemm__scale(p, acc[i]);
    if (deals && !aligned) {
      const int beside = s->b_k_major ? 4 : 2, behind = 8; /* bits: lanes of the next quad, and of the next but one */
      const int odd = (sgemm__thread() & beside) != 0, high = (sgemm__thread() & behind) != 0;
      SGEMM__UNROLL
      for (i = 0; i < count; i += 2) {
        sgemm__exchange_elements(acc + i * 4, 1, odd, beside);
        sgemm__exchange_elements(acc + i * 4, 2, high, behind);
      }
      col -= 3 * (odd + 2 * high);
      apart = 4;
    }
    vectors = aligned && col + 4 <= tile->cols;
    C = tile->C + own.row * p->ldc + col;
    SGEMM__UNROLL
    for (i = 0; i < count; i++) {
      const int down = (first + i) / 4 * own.row_stride + (first + i) % 4, inside = own.row + down < tile->rows;
      float *to = C + down * p->ldc;
      if (inside && vectors)
        sgemm__store_global4(to, acc + i * 4);
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        if (inside && !vectors && col + v * apart < tile->cols)
          sgemm__store_global(to + v * apart, acc[i * 4 + v]);
    }
    sgemm__converge();
  }
}

/* C <- alpha * (the sums over lanes) + beta * C. */
SGEMM__DEVICE void sgemm__store_lanes(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile, int plain,
                                      float *acc) {
  const sgemm__thread_tile own = sgemm__lane_result_tile(s);
  int i, v;
  sgemm__reduce_lanes(s, acc);
  if (plain) {
    float *C = tile->C + own.row * p->ldc + own.col;
    SGEMM__UNROLL
    for (i = 0; i < s->TM / 2; i++) {
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        acc[i * 4 + v] = sgemm__scale(p, acc[i * 4 + v]);
      sgemm__store_global4(C + (i / 4 * own.row_stride + i % 4) * p->ldc, acc + i * 4);
    }
  } else {
    sgemm__store_lane_rows(p, s, tile, 0, s->TM / 2, acc);
  }
}

/* The same where warps share k, each tile's warps another part of it: s->slice_k / 4 of them, each of which stores its
   sums to shared memory and adds up some rows of all. */
SGEMM__DEVICE void sgemm__reduce_warps_and_store(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                                 float *shared, float *acc) {
  const int lane = sgemm__thread() % 32, warps = s->BM / s->WM * (s->BN / s->WN), parts = s->slice_k / 4;
  const int warp = sgemm__thread() / 32 % warps, own = sgemm__thread() / 32 / warps, rows = s->TM / 2;
  float *area = shared + warp * parts * rows * 128 + lane * 4;
  float r[4];
  int i, part, v;
  sgemm__reduce_lanes(s, acc);
  sgemm__barrier_threads(parts * warps * 32); /* all warps have read the buffer */
  SGEMM__UNROLL
  for (i = 0; i < rows; i++)
    sgemm__store_shared4(area + (own * rows + i) * 128, acc + i * 4);
  sgemm__barrier_threads(parts * warps * 32);
  area += own * (rows / parts) * 128;
  SGEMM__UNROLL
  for (i = 0; i < rows / parts; i++) {
    sgemm__load_shared4(acc + i * 4, area + i * 128);
    SGEMM__UNROLL
    for (part = 1; part < parts; part++) {
      sgemm__load_shared4(r, area + (part * rows + i) * 128);
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        acc[i * 4 + v] += r[v];
    }
  }
  sgemm__store_lane_rows(p, s, tile, own * (rows / parts), rows / parts, acc);
}

#endif

#endif /* SGEMM_STAGES_TMA_LANES_CUH */
