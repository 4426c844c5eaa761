/* sgemm/stages/tma_lanes.cuh: fragments, sums and stores of the consumer lanes of the stage tma, which interleave k. */
#ifndef SGEMM_STAGES_TMA_LANES_CUH
#define SGEMM_STAGES_TMA_LANES_CUH

#if SGEMM__HAS_TMA

/* The output vectors of a quad before the sum over its lanes. A warp computes 32 x 32 results of C with k interleaved
   across lanes: the lanes 4g to 4g + 3 of quad g, 0 to 7, compute the same 16 x 8 results; lane 4g + q multiplies k = q
   (mod 4). The quads lie in 2 rows (g / 4) and 4 columns (g % 4) of the warp tile. group: g.
     A K-major operand needs no transpose: sgemm__ldmatrix_floats() gives lane 4g + q element q of float4s of k. In
     these loads lane 8i + g passes the address of row i of a vector of 4 rows of quad g. Quads with g % 4 = 2 or 3 load
     the columns of B in the order i ^ 2, so that the rows of all quads lie in different banks.
     An MN-major operand is loaded by float4s of consecutive rows or columns, each lane from the row of its own k. A
     lane first loads the rows and columns whose sums it keeps in sgemm__reduce_lanes(). With these row and column
     strides the swizzle of sgemm__copy_box() makes the loads free of bank conflicts. */
SGEMM__DEVICE sgemm__thread_tile sgemm__lane_group_tile(const sgemm__shape *s, int group) {
  const int warp = sgemm__thread() / 32 % (s->BM / s->WM * (s->BN / s->WN)), group_n = group % 4;
  sgemm__thread_tile own;
  own.row = warp / (s->BN / s->WN) * s->WM + group / 4 * (s->a_k_major ? 4 : 16);
  own.row_stride = s->a_k_major ? 8 : 4;
  own.col = warp % (s->BN / s->WN) * s->WN + (s->b_k_major ? group_n * 4 : group_n % 2 * 16 + group_n / 2 * 8);
  own.col_stride = s->b_k_major ? 16 : 4;
  own.col_xor = (s->b_k_major ? group_n & 2 : 0) ^ 1; /* 1: see sgemm__multiply_fragments() */
  return own;
}

/* Byte offset of this lane's first load in the operand's tile of a buffer. K-major: the float4 of k = 0 to 3 of one
   row. MN-major: a float4 of mn at the lane's own k, 0 to 3. of_b: 0 for A, 1 for B. first: the warp tile's first row
   or column. */
SGEMM__DEVICE int sgemm__lane_offset(const sgemm__shape *s, int of_b, int first) {
  const int lane = sgemm__thread() % 32, i = lane / 8, group = lane % 8, own = lane / 4, k = lane % 4;
  const int row = of_b ? group % 4 * 4 + (i ^ (group & 2)) : group / 4 * 4 + i;
  const int vector = of_b ? own % 2 * 4 + own % 4 / 2 * 2 + k / 2
                          : own / 4 * 4 + k % 2 * 2; /* number among the 8 float4s of mn in a row of a box */
  return (of_b ? s->b_k_major : s->a_k_major) ? (first + row) * 128 + row % 8 * 16
                                              : first * s->BK * 4 + k * 128 + (vector ^ k) * 16;
}

/* The lane's byte offsets in a box of 32 k, from `first` = sgemm__lane_offset() on, after the XOR swizzle. K-major:
   at[q] is the offset of float4 q of k, q = 0 to 7. MN-major: at[i] is the offset of float4 i of mn for k = 4q + lane %
   4 with even q, at[T / 4 + i] for odd q. The offsets are pinned in 4 to 8 registers for each operand. A load then adds
   only the buffer's address and a constant: 1100 to 1108 instead of 1110 to 1120 instructions for 32 k
   (docs/notebook/tma_loop.md, "The slots of the loop"). */
SGEMM__DEVICE void sgemm__lane_addresses(const sgemm__shape *s, int of_b, int first, int T, sgemm__address *at) {
  const int k_major = of_b ? s->b_k_major : s->a_k_major, vectors = k_major ? 1 : T / 4;
  int q, i;
  SGEMM__UNROLL
  for (q = 0; q < (k_major ? SGEMM__BOX / 4 : 2); q++) {
    SGEMM__UNROLL
    for (i = 0; i < vectors; i++)
      at[q * vectors + i] = sgemm__pin_address((sgemm__address)(first ^ (k_major ? q : q * 4 ^ i) * 16));
  }
}

/* fragment <- T elements of an operand with k = 4q + lane % 4, q = 0 to 7, from a step of 32 k in shared memory. The
   address is `tile` plus an offset of `at`. */
SGEMM__DEVICE void sgemm__load_lane_fragment(float *fragment, sgemm__address tile, const sgemm__address *at, int T,
                                             int k_major, int q) {
  int i;
  if (k_major) { /* vectors of 4 rows of 128 bytes; stride 8 rows for A, 16 rows for B */
    sgemm__ldmatrix_floats(fragment, tile + at[q], T / 4, 128 / T * 128);
  } else { /* float4s of mn, side by side */
    SGEMM__UNROLL
    for (i = 0; i < T / 4; i++)
      sgemm__load_shared4_at(fragment + i * 4, tile + at[q % 2 * (T / 4) + i] + (sgemm__address)(q * 4 * 128));
  }
}

/* Adds the sums of two lanes whose numbers differ in the bit `mask`. Both have `count` sums of the same results over
   different k. Each lane keeps half of the results, in acc[0] to acc[count / 2 - 1], and adds the other lane's sums of
   these. The lane with bit 0 keeps the first `stride` of each 2 * stride results, the other lane the second. With
   sorted = 1 each lane keeps its first `stride`: it has loaded the rows or columns that it keeps first, which saves the
   selections. */
SGEMM__DEVICE void sgemm__reduce_lane_pair(float *acc, int count, int stride, int mask, int sorted) {
  const int keeps_second = !sorted && (sgemm__thread() & mask) != 0;
  float other[4];
  int i, v;
  SGEMM__UNROLL
  for (i = 0; i < count / 2; i += 4) {
    const int at = i / stride * 2 * stride + i % stride;
    SGEMM__UNROLL
    for (v = 0; v < 4; v++) {
      other[v] = keeps_second ? acc[at + v] : acc[at + stride + v];
      acc[i + v] = keeps_second ? acc[at + stride + v] : acc[at + v];
    }
    sgemm__shuffle_xor4(other, mask);
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      acc[i + v] += other[v];
  }
}

/* Adds the sums of the four lanes of a quad, which have 16 x 8 results each. Lane q keeps 8 x 4 results: columns 0 to 3
   for q = 0 and 1, columns 4 to 7 for q = 2 and 3; rows 0 to 7 for even q, rows 8 to 15 for odd q. acc then holds them
   row by row, 4 columns a row, in order. With S(q) the sum over all k = q (mod 4), each result is (S(0) + S(2)) + (S(1)
   + S(3)) up to the order of two addends, for all layouts of A and B: the bits do not depend on the layout. */
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

/* The position in the tile of the results that the lane has after sgemm__reduce_lanes(). */
SGEMM__DEVICE sgemm__thread_tile sgemm__lane_result_tile(const sgemm__shape *s) {
  const int q = sgemm__thread() % 4;
  sgemm__thread_tile own = sgemm__lane_group_tile(s, sgemm__thread() % 32 / 4);
  own.row += q % 2 * 2 * own.row_stride;
  own.col += q / 2 * own.col_stride;
  return own;
}

/* Loads 4 elements of a row of C to registers c, from (row, col) of the tile on. Elements outside of C leave c
   unchanged. */
SGEMM__DEVICE void sgemm__load_c_row(const sgemm__args *p, const sgemm__tile *tile, int row, int col, float *c) {
  const int aligned = (uintptr_t)tile->C % 16 == 0 && p->ldc % 4 == 0;
  const float *C = tile->C + row * p->ldc + col;
  int v;
  if (row < tile->rows && aligned && col + 4 <= tile->cols) {
    sgemm__load_result4(c, C);
  } else if (row < tile->rows) {
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      if (col + v < tile->cols)
        c[v] = sgemm__load_result(C + v);
  }
  sgemm__converge();
}

/* acc <- acc + beta * C for `count` rows from row `first` on of a lane's 8 rows of 4 columns. acc has been multiplied
   by alpha. All loads of C are in flight before the first is used: with one at a time, as in sgemm__store_vector(),
   each would expose the full latency of memory (docs/notebook/tile_ends.md, "Reading C when beta is not 0"). */
SGEMM__DEVICE void sgemm__add_c_rows(const sgemm__args *p, const sgemm__tile *tile, const sgemm__thread_tile *own,
                                     int first, int count, float *acc) {
  float c[8 * 4] = {0.0f};
  int i;
  SGEMM__UNROLL
  for (i = 0; i < count; i++)
    sgemm__load_c_row(p, tile, own->row + (first + i) / 4 * own->row_stride + (first + i) % 4, own->col, c + i * 4);
  SGEMM__UNROLL
  for (i = 0; i < count * 4; i++)
    acc[i] = sgemm__add_c(p, acc[i], c[i]);
}

/* aux <- the sums and biases of `count` rows from row `first` on of a lane's 8 rows of 4 columns, the value before the
   function of a long epilogue. The rows of aux lie as those of C do. With a loop the code is shorter, but the main loop
   of op TT has other registers, and takes 0.8 % more clocks by the model of the banks. */
SGEMM__DEVICE void sgemm__store_aux_rows(const sgemm__args *p, const sgemm__tile *tile, const sgemm__thread_tile *own,
                                         int first, int count, const float *bias, const float *acc) {
  const int exist = sgemm__clip(tile->cols - own->col, 4);
  float *aux = p->epilogue.aux + (tile->C - p->C) + own->row * p->ldc + own->col;
  const int whole = exist == 4 && (uintptr_t)aux % 16 == 0 && p->ldc % 4 == 0;
  float x[4];
  int i, v;
  SGEMM__UNROLL
  for (i = 0; i < count; i++) {
    const int row = (first + i) / 4 * own->row_stride + (first + i) % 4;
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      x[v] = sgemm__fma(p->alpha, acc[4 * i + v], bias[v]);
    if (whole)
      sgemm__store_whole4(aux + row * p->ldc, x, own->row + row < tile->rows);
    else
      sgemm__store_first4(aux + row * p->ldc, x, own->row + row < tile->rows ? exist : 0);
  }
}

/* C <- alpha * sums + beta * C for `count` rows from row `first` on of a lane's 8 rows of 4 columns. count is even
   where the lanes exchange elements, because an exchange takes two rows. acc: the sums of these rows. In a kernel that
   applies the epilogue, p->epilogue.vec_n is the element for the tile's first column.
     beta = 0, the usual case, has code of its own without loads of C. Shorter epilogue code saves instruction-cache
     misses (docs/notebook/tile_ends.md, "Prologue and epilogue code").
     Unaligned rows: C is stored element by element, and each store of a warp would write 4 bytes to each of 32 sectors.
     Variants with 8 consumer warps and a K-major A therefore exchange elements first, two rows at a time, among four
     lanes with neighbouring columns: lane l of the four gets column l of all four vectors, and a store writes 16
     consecutive bytes for every four lanes. In the other variants the exchange slows the main loop
     (docs/notebook/tile_ends.md). */
SGEMM__DEVICE void sgemm__store_lane_rows(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                          int first, int count, float *acc) {
  const sgemm__thread_tile own = sgemm__lane_result_tile(s);
  const int exchanges = s->a_k_major && SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, s->slice_k) == 256;
  const int aligned = (uintptr_t)tile->C % 16 == 0 && p->ldc % 4 == 0;
  int i, v;
  if (p->beta != 0.0f) {
    const sgemm__args sums = sgemm__unscaled(p);
    SGEMM__UNROLL
    for (i = 0; i < count * 4; i++)
      acc[i] = sgemm__scale(p, acc[i]);
    sgemm__add_c_rows(p, tile, &own, first, count, acc);
    SGEMM__UNROLL
    for (i = 0; i < count; i++)
      sgemm__store_vector(&sums, 4, tile, own.row + (first + i) / 4 * own.row_stride + (first + i) % 4, own.col,
                          acc + i * 4);
  } else {
    int col = own.col, stride = 1, vectors; /* column of the lane's first element; columns from element to element */
    float *C;
    if (s->fused && p->applies_epilogue) {
      float bias[4];
      sgemm__load_row_bias(p->epilogue.vec_n != NULL ? p->epilogue.vec_n + own.col : NULL, tile->cols - own.col, bias);
      if (sgemm__is_short(p->epilogue.number)) {
        sgemm__evaluate_in_registers(p, SGEMM__SHORT_EPILOGUES, bias, 1, 1, count, acc);
      } else {
        if (p->epilogue.aux != NULL)
          sgemm__store_aux_rows(p, tile, &own, first, count, bias, acc);
        sgemm__apply_long_epilogue(p, bias, 1, count, count % 2 == 0 ? 2 : 1, acc);
      }
      if (sgemm__is_full_tile(p, s, tile)) {
        C = tile->C + own.row * p->ldc + own.col;
        SGEMM__UNROLL
        for (i = 0; i < count; i++)
          sgemm__store_global4(C + ((first + i) / 4 * own.row_stride + (first + i) % 4) * p->ldc, acc + i * 4);
        return;
      }
    } else {
      SGEMM__UNROLL
      for (i = 0; i < count * 4; i++)
        acc[i] = sgemm__scale(p, acc[i]);
    }
    if (exchanges && !aligned) {
      const int next = s->b_k_major ? 4 : 2, after = 8; /* bit of a lane 4 columns further on, and 8 columns */
      const int odd = (sgemm__thread() & next) != 0, high = (sgemm__thread() & after) != 0;
      SGEMM__UNROLL
      for (i = 0; i < count; i += 2) {
        sgemm__exchange_elements(acc + i * 4, 1, odd, next);
        sgemm__exchange_elements(acc + i * 4, 2, high, after);
      }
      col -= 3 * (odd + 2 * high);
      stride = 4;
    }
    vectors = aligned && col + 4 <= tile->cols;
    C = tile->C + own.row * p->ldc + col;
    SGEMM__UNROLL
    for (i = 0; i < count; i++) {
      const int row = (first + i) / 4 * own.row_stride + (first + i) % 4, inside = own.row + row < tile->rows;
      float *to = C + row * p->ldc;
      if (inside && vectors)
        sgemm__store_global4(to, acc + i * 4);
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        if (inside && !vectors && col + v * stride < tile->cols)
          sgemm__store_global(to + v * stride, acc[i * 4 + v]);
    }
    sgemm__converge();
  }
}

/* Adds rows `first` to first + count - 1 of a lane's 8 rows of 4 columns over the blocks of a cluster, in ascending
   order of ranks, and stores them to C. Each block adds and stores the rows whose number is its rank modulo the cluster
   size. sums: 8 rows of 128 floats for each warp, in shared memory that nothing else uses. */
SGEMM__DEVICE void sgemm__reduce_cluster_rows(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                              int first, int count, float *sums, float *acc) {
  const uint32_t cluster_k = sgemm__cluster_size();
  float *own = sums + sgemm__thread() / 32 % (s->BM / s->WM * (s->BN / s->WN)) * (s->TM / 2) * 128 +
               sgemm__thread() % 32 * 4;
  float sum[4], r[4];
  uint32_t rank;
  int i, v;
  SGEMM__UNROLL
  for (i = 0; i < count; i++)
    sgemm__store_shared4(own + (first + i) * 128, acc + i * 4);
  sgemm__cluster_barrier();
  SGEMM__UNROLL_BY(1)
  for (i = first; i < first + count; i++) {
    if ((uint32_t)i % cluster_k != sgemm__cluster_rank())
      continue;
    sgemm__load_cluster4(sum, own + i * 128, 0);
    SGEMM__UNROLL_BY(1)
    for (rank = 1; rank < cluster_k; rank++) {
      sgemm__load_cluster4(r, own + i * 128, rank);
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        sum[v] += r[v];
    }
    sgemm__store_lane_rows(p, s, tile, i, 1, sum);
  }
  sgemm__cluster_barrier(); /* no block exits while others read its shared memory */
}

/* Adds the sums of the lanes, and those of a cluster, and stores the results. C <- alpha * sums + beta * C. full: see
   sgemm__is_full_tile(). shared: the first buffer, which holds the sums of a cluster. */
SGEMM__DEVICE void sgemm__store_lanes(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile, int full,
                                      float *shared, float *acc) {
  const sgemm__thread_tile own = sgemm__lane_result_tile(s);
  int i, v;
  sgemm__reduce_lanes(s, acc);
  if (s->cluster_split_k && sgemm__cluster_size() > 1) {
    sgemm__barrier_threads(
        SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, s->slice_k)); /* all have read their last buffers */
    sgemm__reduce_cluster_rows(p, s, tile, 0, s->TM / 2, shared, acc);
  } else if (full) {
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

/* sgemm__store_lanes() for sliced-K variants, in which s->slice_k / 4 consumer warps compute the same results over
   different k of each buffer. Each warp stores its sums to shared memory, 8 rows of 128 floats. Each warp then adds an
   equal number of the rows over all these warps, in ascending order of warps, and stores them to C. shared: the buffer
   that was read last; in a cluster the first buffer, since its blocks may end in different buffers. */
SGEMM__DEVICE void sgemm__reduce_warps_and_store(const sgemm__args *p, const sgemm__shape *s, const sgemm__tile *tile,
                                                 float *shared, float *acc) {
  const int lane = sgemm__thread() % 32, warps = s->BM / s->WM * (s->BN / s->WN), slices = s->slice_k / 4;
  const int warp = sgemm__thread() / 32 % warps, own = sgemm__thread() / 32 / warps, rows = s->TM / 2;
  float *sums = shared + warp * slices * rows * 128 + lane * 4;
  float r[4];
  int i, slice, v;
  sgemm__reduce_lanes(s, acc);
  sgemm__barrier_threads(slices * warps * 32); /* all warps have read the buffer */
  SGEMM__UNROLL
  for (i = 0; i < rows; i++)
    sgemm__store_shared4(sums + (own * rows + i) * 128, acc + i * 4);
  sgemm__barrier_threads(slices * warps * 32);
  sums += own * (rows / slices) * 128;
  SGEMM__UNROLL
  for (i = 0; i < rows / slices; i++) {
    sgemm__load_shared4(acc + i * 4, sums + i * 128);
    SGEMM__UNROLL
    for (slice = 1; slice < slices; slice++) {
      sgemm__load_shared4(r, sums + (slice * rows + i) * 128);
      SGEMM__UNROLL
      for (v = 0; v < 4; v++)
        acc[i * 4 + v] += r[v];
    }
  }
  if (s->cluster_split_k && sgemm__cluster_size() > 1) {
    sgemm__barrier_threads(slices * warps * 32); /* all warps have added */
    sgemm__reduce_cluster_rows(p, s, tile, own * (rows / slices), rows / slices, shared, acc);
  } else {
    sgemm__store_lane_rows(p, s, tile, own * (rows / slices), rows / slices, acc);
  }
}

#endif

#endif /* SGEMM_STAGES_TMA_LANES_CUH */
