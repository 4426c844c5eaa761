/* sgemm/device/load.cuh: brings tiles of A and B from global to shared memory, through registers or by cp.async, and
   loads fragments from shared memory to registers. */
#ifndef SGEMM_DEVICE_LOAD_CUH
#define SGEMM_DEVICE_LOAD_CUH

/* How the threads of a block divide the loads of one operand's tile X[mn][k], mn < MN, k < BK. The elements have a
   linear load order in which neighbours are neighbours in memory. Thread t loads V elements each from t * V, (t +
   threads) * V, ... of this order on.
     MN-major  order (k, mn): a warp loads 32 V elements: consecutive ones of one row of memory, or 32 V / MN whole rows
               of the tile.
     K-major   order (k / width, mn, k % width): a warp loads `width` consecutive elements of each of 32 V / width rows.
               width = 8 fills a 32-byte sector of each row.
   The shared tile has BK rows of MN elements; its pitch is the number of floats from one row to the next. A K-major
   tile is transposed as it is stored. In one store the lanes of a warp hold 32 V / width different mn, in as many banks
   of a row, and width / V different k with stride V. With V * pitch = 32 V / width (mod 32) the lanes use all 32 banks:
   a pitch of 128 + 4 for width = 8 with V = 1 (k * 132 + mn = 4k + mn mod 32, k < 8, mn < 4) and with V = 4 (4 * 132 =
   16 mod 32, mn < 16); a pitch of 32 + 1 for width = 32. An MN-major tile is stored row by row and needs no padding. */
typedef struct sgemm__loader {
  int MN, BK, V, threads, k_major, width; /* constants */
  int mn, k;                              /* mn and k of the thread's first element */
  int limit;                              /* number of the MN rows or columns that exist */
  int vectors;                            /* 1: rows start at multiples of 16 bytes, so one load brings V elements */
  int64_t stride_mn, stride_k;            /* floats from one mn to the next, and from one k to the next */
  const float *next;                      /* the thread's first element in the tile that is loaded next */
} sgemm__loader;

/* Width of a load order in elements; pitch of a shared tile in floats. */
#define SGEMM__LOAD_WIDTH(BK, V) ((V) == 4 ? 8 : (BK) < 32 ? (BK) : 32)
#define SGEMM__PITCH(MN, BK, V, k_major) ((MN) + ((k_major) ? ((V) == 4 ? 4 : 32 / SGEMM__LOAD_WIDTH(BK, V)) : 0))
#define SGEMM__LOADS_PER_THREAD(MN, BK, threads) ((MN) * (BK) / (threads)) /* elements of a tile that a thread loads */
#define SGEMM__ROWS_OF_ACCESS(threads) ((threads) / 8) /* rows or columns of an access of sgemm__copy_elements() */

/* The loader of an operand. X: element (0, 0) of its first tile. limit: number of the tile's rows or columns that
   exist. */
SGEMM__DEVICE sgemm__loader sgemm__loader_of(const sgemm__shape *s, int V, int width, int MN, int k_major,
                                             const float *X, int64_t ld, int limit) {
  sgemm__loader l;
  const int first = sgemm__thread() * V;
  l.MN = MN;
  l.BK = s->BK;
  l.V = V;
  l.threads = SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, s->slice_k);
  l.k_major = k_major;
  l.width = k_major ? width : 1;
  l.mn = first / l.width % MN;
  l.k = first / (l.width * MN) * l.width + first % l.width;
  l.limit = limit;
  l.vectors = V == 1 || ((uintptr_t)X % 16 == 0 && ld % 4 == 0);
  l.stride_mn = k_major ? ld : 1;
  l.stride_k = k_major ? 1 : ld;
  l.next = X + l.mn * l.stride_mn + l.k * l.stride_k;
  return l;
}

/* Offsets of the thread's access number i from its first access, in mn and in k; constants after unrolling. The stride
   in the load order is threads * V elements. */
SGEMM__DEVICE int sgemm__step_mn(const sgemm__loader *l, int i) { return i * l->threads * l->V / l->width % l->MN; }
SGEMM__DEVICE int sgemm__step_k(const sgemm__loader *l, int i) {
  return i * l->threads * l->V / (l->width * l->MN) * l->width;
}

/* Loads the thread's elements of the next tile from global memory to registers r. The k < k_left of the tile exist.
   Elements outside of the matrix are zeros. Beyond the end of k the elements of A and of B are zeros, so that they add
   0 * 0 even if an operand holds Inf or NaN. */
SGEMM__DEVICE void sgemm__load_tile(float *r, sgemm__loader *l, int64_t k_left) {
  const int count = l->MN * l->BK / (l->threads * l->V);
  int i, v;
  if (l->vectors && l->limit == l->MN && k_left >= l->BK) {
    SGEMM__UNROLL
    for (i = 0; i < count; i++) {
      const int mn = sgemm__step_mn(l, i), k = sgemm__step_k(l, i);
      const float *p = l->next + mn * l->stride_mn + k * l->stride_k;
      if (l->V == 4)
        sgemm__load_global4(r + i * 4, p);
      else
        r[i] = sgemm__load_global(p);
    }
  } else {
    SGEMM__UNROLL
    for (i = 0; i < count; i++) {
      const int mn = sgemm__step_mn(l, i), k = sgemm__step_k(l, i);
      const float *p = l->next + mn * l->stride_mn + k * l->stride_k;
      SGEMM__UNROLL
      for (v = 0; v < l->V; v++) {
        const int inside = l->mn + mn + (l->k_major ? 0 : v) < l->limit && l->k + k + (l->k_major ? v : 0) < k_left;
        r[i * l->V + v] = inside ? sgemm__load_global(p + v) : 0.0f;
      }
      sgemm__converge();
    }
  }
  l->next += l->BK * l->stride_k;
}

/* Stores registers r of sgemm__load_tile() to the shared tile, element (mn, k) to shared[mn * step_mn + k * step_k].
   One of the two steps is 1. */
SGEMM__DEVICE void sgemm__store_tile_shared(float *shared, int step_mn, int step_k, const float *r,
                                            const sgemm__loader *l) {
  const int count = l->MN * l->BK / (l->threads * l->V);
  float *first = shared + l->mn * step_mn + l->k * step_k;
  int i, v;
  SGEMM__UNROLL
  for (i = 0; i < count; i++) {
    float *p = first + sgemm__step_mn(l, i) * step_mn + sgemm__step_k(l, i) * step_k;
    if (l->V == 4 && !l->k_major) {
      sgemm__store_shared4(p, r + i * 4);
    } else {
      SGEMM__UNROLL
      for (v = 0; v < l->V; v++)
        sgemm__store_shared(p + v * step_k, r[i * l->V + v]);
    }
  }
}

/* Layouts of a pipeline's tile in shared memory:
     k_vectors 0  BK rows of MN elements, pitch MN + 4. An MN-major operand is copied 16 bytes at a time. A K-major
                  operand is copied 4 bytes at a time, which transposes it, and so is a small operand. With MN = 4 the
                  pitch is 4, and 4 floats lie between every 8 k and the next: a warp that loads fragments of four
                  sliced-K groups, 8 k apart, uses different banks.
     k_vectors 1  MN rows of BK elements, for K-major operands, copied and loaded as float4s of four consecutive k. XOR
                  swizzle: float4 u of the tile, in row mn, lies at the swizzled offset of float4 u ^ (mn / 4 % 8). 8
                  lanes that load the same k of rows 0, 4, ..., 28 then use each of the 32 banks once.
   Layout k_vectors 1 is for fragments of T = 4 elements alone: with 8 elements, two steps of four k would need 64
   registers. */
#define SGEMM__K_VECTORS(T, BK, k_major) ((k_major) && (T) == 4 && (BK) % 16 == 0)

/* Offset in floats of element (mn, k) from the start of a pipeline's tile. */
SGEMM__DEVICE int sgemm__shared_offset(int MN, int BK, int k_vectors, int mn, int k) {
  return k_vectors ? ((mn * BK + k) / 4 ^ mn / 4 % 8) * 4 + k % 4
         : MN == 4 ? k * MN + (int)((unsigned)k / 8 * 4) + mn
                   : k * (MN + 4) + mn;
}

/* The loader of a small operand, which is copied by single elements. Its strides, and so k_major, may be known at run
   time alone. An access of the thread lies k_of_access k behind the one before. The lanes of a warp copy neighbours in
   memory: `width` k of a row if the operand is K-major, else the MN elements of a k. */
SGEMM__DEVICE sgemm__loader sgemm__small_loader_of(const sgemm__shape *s, int MN, int k_major, const float *X,
                                                   int64_t ld, int limit) {
  const int t = sgemm__thread(), k_of_access = SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, s->slice_k) / MN;
  const int width = k_of_access < 16 ? k_of_access : 16; /* 16: docs/notebook/compile_time.md, "Small operands" */
  sgemm__loader l = sgemm__loader_of(s, 1, width, MN, 1, X, ld, limit);
  l.mn = k_major ? l.mn : t % MN;
  l.k = k_major ? l.k : t / MN;
  l.stride_mn = k_major ? ld : 1;
  l.stride_k = k_major ? 1 : ld;
  l.next = X + l.mn * l.stride_mn + l.k * l.stride_k;
  return l;
}

/* The loader of sgemm__copy_elements(). The op, and so k_major, may be known at run time alone. An access of all
   threads brings 8 k of R = SGEMM__ROWS_OF_ACCESS() rows or columns. The next accesses bring those of the R after them,
   up to MN, and then of the next 8 k.
     K-major   a warp copies 8 consecutive k of 4 rows
     MN-major  a warp copies R consecutive elements of 32 / R different k, which lie R / 4 apart
   The offsets k * (MN + 4) + mn of a warp's lanes, modulo 32, use each of the 32 banks once. */
SGEMM__DEVICE sgemm__loader sgemm__element_loader_of(const sgemm__shape *s, int MN, int k_major, const float *X,
                                                     int64_t ld, int limit) {
  sgemm__loader l = sgemm__loader_of(s, 1, 8, MN, k_major, X, ld, limit);
  const int lane = sgemm__thread() % 32, warp = sgemm__thread() / 32, rows = SGEMM__ROWS_OF_ACCESS(l.threads);
  l.mn = k_major ? warp * 4 + lane / 8 : lane % rows;
  l.k = k_major ? lane % 8 : lane / rows * (rows / 4) + warp;
  l.next = X + (k_major ? l.mn : l.k) * ld + (k_major ? l.k : l.mn);
  return l;
}

/* The loader of an operand of a pipeline. */
SGEMM__DEVICE sgemm__loader sgemm__copy_loader_of(const sgemm__shape *s, int small, int k_vectors, int MN, int k_major,
                                                  const float *X, int64_t ld, int limit) {
  if (s->elements)
    return sgemm__element_loader_of(s, MN, k_major, X, ld, limit);
  if (small)
    return sgemm__small_loader_of(s, MN, k_major, X, ld, limit);
  return sgemm__loader_of(s, k_major && !k_vectors ? 1 : 4, k_vectors ? s->BK : 8, MN, k_major, X, ld, limit);
}

/* Copies of single elements. The lanes that share a row of an MN-major tile copy neighbouring elements when copies have
   one element: lane n copies elements n, n + lanes, n + 2 lanes and n + 3 lanes of the 4 * lanes elements from lane 0's
   first one on.
     sgemm__row_lanes()       lanes that share a row; 1 for a K-major tile, in which a lane copies its own elements
     sgemm__row_lanes_back()  elements from the first one that the lane copies to its own first one */
SGEMM__DEVICE int sgemm__row_lanes(const sgemm__loader *l) { return l->k_major ? 1 : l->MN < 128 ? l->MN / 4 : 32; }
SGEMM__DEVICE int sgemm__row_lanes_back(int lanes) {
  return lanes == 1 ? 0 : sgemm__opaque(3 * (sgemm__thread() % lanes));
}

/* Issues the thread's cp.async copies of the next tile from global to shared memory. exist: number of the tile's k that
   exist, 1 to BK. Elements outside of the matrix become zeros. Full tiles need no tests. At an edge, copies have 16
   bytes if rows start at multiples of 16 bytes and the contiguous dimension ends at a multiple of 4, so that no float4
   crosses the edge. */
SGEMM__DEVICE void sgemm__copy_tile(float *shared, int k_vectors, sgemm__loader *l, int exist) {
  const int elements = l->MN * l->BK, per_access = l->threads * l->V; /* in the tile; in one access of all threads */
  const int count = (elements + per_access - 1) / per_access;
  int i;
  if (elements >= per_access || sgemm__thread() * l->V < elements) { /* this thread copies some */
    if (l->vectors && l->limit == l->MN && exist >= l->BK) {
      SGEMM__UNROLL
      for (i = 0; i < count; i++) {
        const int mn = sgemm__step_mn(l, i), k = sgemm__step_k(l, i);
        const float *p = l->next + mn * l->stride_mn + k * l->stride_k;
        float *to = shared + sgemm__shared_offset(l->MN, l->BK, k_vectors, l->mn + mn, l->k + k);
        if (l->V == 4)
          sgemm__copy4(to, p);
        else
          sgemm__copy(to, p, 1);
      }
    } else if (l->V == 4 && l->vectors && (l->k_major ? exist : l->limit) % 4 == 0) {
      SGEMM__UNROLL
      for (i = 0; i < count; i++) {
        const int mn = sgemm__step_mn(l, i), k = sgemm__step_k(l, i);
        const float *p = l->next + mn * l->stride_mn + k * l->stride_k;
        float *to = shared + sgemm__shared_offset(l->MN, l->BK, k_vectors, l->mn + mn, l->k + k);
        sgemm__copy4_if(to, p, l->mn + mn < l->limit && l->k + k < exist);
      }
    } else {
      /* Single elements. With BK = 8 neighbours gained nothing (docs/notebook/selection.md, "17 to 256 rows or
         columns"). */
      const int lanes = l->BK == 8 ? 1 : sgemm__row_lanes(l), back = sgemm__row_lanes_back(lanes);
      SGEMM__UNROLL
      for (i = 0; i < count; i++) {
        const int mn = sgemm__step_mn(l, i), k = sgemm__step_k(l, i);
        const float *p = l->next - back + mn * l->stride_mn + k * l->stride_k;
        float *to = shared - back + sgemm__shared_offset(l->MN, l->BK, k_vectors, l->mn + mn, l->k + k);
        if (l->V == 1)
          sgemm__copy(to, p, l->mn + mn < l->limit && l->k + k < exist);
        else if (l->k_major)
          sgemm__copy_single4(to, p, 1, l->mn + mn < l->limit ? exist - l->k - k : 0);
        else
          sgemm__copy_single4(to, p, lanes, l->k + k < exist ? l->limit + back - l->mn - mn : 0);
      }
    }
  }
  sgemm__converge();
  l->next += l->BK * l->stride_k;
}

/* sgemm__copy_tile() for variants that copy single elements alone. full: 1 if all elements of the tile exist. Otherwise
   elements outside of the matrix become zeros. The code has no branches, so that ptxas issues the copies among the FMAs
   of the step that follows. */
SGEMM__DEVICE void sgemm__copy_elements(float *shared, sgemm__loader *l, int exist, int full) {
  const int rows = SGEMM__ROWS_OF_ACCESS(l->threads);
  float *to = shared + sgemm__shared_offset(l->MN, l->BK, 0, l->mn, l->k);
  int k, i;
  SGEMM__UNROLL
  for (k = 0; k < l->BK; k += 8) {
    const int inside = l->k + k < exist ? l->limit - l->mn : 0;
    SGEMM__UNROLL
    for (i = 0; i < l->MN; i += rows)
      sgemm__copy(to + sgemm__shared_offset(l->MN, l->BK, 0, i, k), l->next + k * l->stride_k + i * l->stride_mn,
                  full || i < inside);
  }
  sgemm__converge();
  l->next += l->BK * l->stride_k;
}

/* Loads a fragment of T elements from shared memory, in vectors of V elements. stride: elements from one vector to the
   next. step_mn: floats from one element to the next, 1 for V = 4. */
SGEMM__DEVICE void sgemm__load_fragment(float *fragment, const float *p, int T, int V, int stride, int step_mn) {
  int i;
  SGEMM__UNROLL
  for (i = 0; i < T; i += V) {
    if (V == 4)
      sgemm__load_shared4(fragment + i, p + i / V * stride);
    else
      fragment[i] = sgemm__load_shared(p + i * stride * step_mn);
  }
}

/* Loads the fragment of step k from a pipeline's tile: T elements from row or column mn on, in vectors of V. stride:
   elements from one vector to the next. With k_vectors, k is a multiple of 4, and the call loads k to k + 3 of T = 4
   rows. */
SGEMM__DEVICE void sgemm__load_fragment_at(float *fragment, const float *shared, int MN, int BK, int k_vectors, int mn,
                                           int k, int T, int V, int stride) {
  int i;
  SGEMM__UNROLL
  for (i = 0; i < T; i += k_vectors ? 1 : V)
    if (V == 4)
      sgemm__load_shared4(fragment + (k_vectors ? i * 4 : i),
                          shared + sgemm__shared_offset(MN, BK, k_vectors, mn + i / 4 * stride + i % 4, k));
    else
      fragment[i] = sgemm__load_shared(shared + sgemm__shared_offset(MN, BK, 0, mn + i * stride, k));
}

/* Guarded load of four consecutive elements from global memory. The first `exist` of them exist; the others are zeros.
   vectors: 1 if p is aligned to 16 bytes. */
SGEMM__DEVICE void sgemm__load_guarded4(float *r, const float *p, int vectors, int64_t exist) {
  int v;
  if (vectors && exist >= 4) {
    sgemm__load_global4(r, p);
  } else {
    SGEMM__UNROLL
    for (v = 0; v < 4; v++)
      r[v] = v < exist ? sgemm__load_global(p + v) : 0.0f;
  }
  sgemm__converge();
}

#endif /* SGEMM_DEVICE_LOAD_CUH */
