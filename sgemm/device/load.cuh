/* sgemm/device/load.cuh: tiles of A and B on their way from global to shared memory, by registers or by cp.async, and
   fragments from there to registers. */
#ifndef SGEMM_DEVICE_LOAD_CUH
#define SGEMM_DEVICE_LOAD_CUH

/* How a block's threads share the loads of one operand's tile X[mn][k], mn < MN, k < BK. Thread t takes the elements
   t*V, (t + threads)*V, ... of a linear order in which neighbours are neighbours in memory.
     MN-major  order (k, mn): a warp reads 32 V consecutive elements of one row of memory.
     K-major   order (k / width, mn, k % width): a warp reads `width` consecutive elements of each of 32 V / width rows.
               width = 8 fills a 32-byte sector of each row and keeps the transposing stores to shared memory free of
               bank conflicts, as follows.
   The shared tile has BK rows of MN elements; its pitch is the number of floats from one row to the next. In one
   transposing store a warp's lanes hold 32 V / width different mn, which take as many banks of a row, and width / V
   different k, V apart. V * pitch = 32 V / width (mod 32) spreads them over all 32 banks: a pitch of 128 + 4 for width
   = 8, with V = 1 (k * 132 + mn = 4k + mn mod 32, k < 8, mn < 4) and with V = 4 (4 * 132 = 16 mod 32, mn < 16); 32 + 1
   for width = 32. Rows that are stored whole need no padding. */
typedef struct sgemm__loader {
  int MN, BK, V, threads, k_major, width; /* constants */
  int mn, k;                              /* of the thread's first element */
  int limit;                              /* how many of the MN rows or columns exist */
  int vectors;                            /* 1: every row starts on 16 bytes, so that V elements load at once */
  int64_t ld;
  const float *next; /* the thread's first element in the tile that is loaded next */
} sgemm__loader;

#define SGEMM__LOAD_WIDTH(BK, V) ((V) == 4 ? 8 : (BK) < 32 ? (BK) : 32)
#define SGEMM__PITCH(E, BK, V, k_major) ((E) + ((k_major) ? ((V) == 4 ? 4 : 32 / SGEMM__LOAD_WIDTH(BK, V)) : 0))
#define SGEMM__LOADS_PER_THREAD(E, BK, threads) ((E) * (BK) / (threads)) /* elements of a tile that a thread loads */

SGEMM__DEVICE sgemm__loader sgemm__loader_of(const sgemm__shape *s, int V, int W, int E, int k_major, const float *X,
                                             int64_t ld, int limit) {
  sgemm__loader l;
  const int first = sgemm__thread() * V;
  l.MN = E;
  l.BK = s->BK;
  l.V = V;
  l.threads = SGEMM__THREADS(s->BM, s->BN, s->TM, s->TN, s->slice_k);
  l.k_major = k_major;
  l.width = k_major ? W : 1;
  l.mn = first / l.width % E;
  l.k = first / (l.width * E) * l.width + first % l.width;
  l.limit = limit;
  l.vectors = V == 1 || ((uintptr_t)X % 16 == 0 && ld % 4 == 0);
  l.ld = ld;
  l.next = X + (k_major ? l.mn * ld + l.k : l.k * ld + l.mn);
  return l;
}

/* Element offsets of the thread's i-th access from its first, constants: its elements lie threads * V apart. */
SGEMM__DEVICE int sgemm__step_mn(const sgemm__loader *l, int i) { return i * l->threads * l->V / l->width % l->MN; }
SGEMM__DEVICE int sgemm__step_k(const sgemm__loader *l, int i) {
  return i * l->threads * l->V / (l->width * l->MN) * l->width;
}

/* Registers r <- the thread's part of the next tile, of which `depth` columns k exist. What does not exist reads as
   zero: it then adds 0 * 0 to every dot product, and nothing where the other operand is infinite, since k ends for
   both. */
SGEMM__DEVICE void sgemm__load_tile(float *r, sgemm__loader *l, int64_t depth) {
  const int count = l->MN * l->BK / (l->threads * l->V);
  int i, v;
  if (l->vectors && l->limit == l->MN && depth >= l->BK) {
    SGEMM__UNROLL
    for (i = 0; i < count; i++) {
      const int e = sgemm__step_mn(l, i), k = sgemm__step_k(l, i);
      const float *p = l->next + (l->k_major ? e * l->ld + k : k * l->ld + e);
      if (l->V == 4)
        sgemm__load_global4(r + i * 4, p);
      else
        r[i] = sgemm__load_global(p);
    }
  } else {
    SGEMM__UNROLL
    for (i = 0; i < count; i++) {
      const int e = sgemm__step_mn(l, i), k = sgemm__step_k(l, i);
      const float *p = l->next + (l->k_major ? e * l->ld + k : k * l->ld + e);
      SGEMM__UNROLL
      for (v = 0; v < l->V; v++) {
        const int inside = l->mn + e + (l->k_major ? 0 : v) < l->limit && l->k + k + (l->k_major ? v : 0) < depth;
        r[i * l->V + v] = inside ? sgemm__load_global(p + v) : 0.0f;
      }
      sgemm__converge();
    }
  }
  l->next += l->k_major ? l->BK : l->BK * l->ld;
}

/* Shared tile <- registers r: element (e, k) to shared[e * step_e + k * step_k]; one of the steps is 1. */
SGEMM__DEVICE void sgemm__store_tile_shared(float *shared, int step_e, int step_k, const float *r,
                                            const sgemm__loader *l) {
  const int count = l->MN * l->BK / (l->threads * l->V);
  float *first = shared + l->mn * step_e + l->k * step_k;
  int i, v;
  SGEMM__UNROLL
  for (i = 0; i < count; i++) {
    float *p = first + sgemm__step_mn(l, i) * step_e + sgemm__step_k(l, i) * step_k;
    if (l->V == 4 && !l->k_major) {
      sgemm__store_shared4(p, r + i * 4);
    } else {
      SGEMM__UNROLL
      for (v = 0; v < l->V; v++)
        sgemm__store_shared(p + v * step_k, r[i * l->V + v]);
    }
  }
}

/* The tiles of a pipeline. An operand along e in memory keeps k-rows of e as above, pitch E + 4, and is copied 16 bytes
   at a time; one along k gets there element by element, which transposes it. But where fragments are of 4 elements, one
   along k is copied and read in vectors of 4 k ("quads"), the units of its e-rows of BK: unit u of the tile, of row e,
   then lies at place u ^ (e / 4 % 8), so that 8 lanes that read one quad of rows 4 apart meet all 32 banks. Fragments
   of 8 would take 64 registers for two steps. */
#define SGEMM__K_VECTORS(T, BK, k_major) ((k_major) && (T) == 4 && (BK) % 16 == 0)

/* Where element (e, k) of a pipeline's tile lies. */
SGEMM__DEVICE int sgemm__shared_offset(int E, int BK, int quads, int e, int k) {
  return quads ? ((e * BK + k) / 4 ^ e / 4 % 8) * 4 + k % 4 : k * (E + 4) + e;
}

SGEMM__DEVICE sgemm__loader sgemm__copy_loader_of(const sgemm__shape *s, int quads, int E, int k_major, const float *X,
                                                  int64_t ld, int limit) {
  return sgemm__loader_of(s, k_major && !quads ? 1 : 4, quads ? s->BK : 8, E, k_major, X, ld, limit);
}

/* Shared tile <- memory, as fetch and place together but past the registers. */
SGEMM__DEVICE void sgemm__copy_tile(float *shared, int quads, sgemm__loader *l, int64_t depth) {
  const int all = l->MN * l->BK, reach = l->threads * l->V; /* elements of the tile, and of one access of all threads */
  const int count = (all + reach - 1) / reach;
  int i, v;
  if (all >= reach || sgemm__thread() * l->V < all) { /* otherwise this thread has none */
    if (l->vectors && l->limit == l->MN && depth >= l->BK) {
      SGEMM__UNROLL
      for (i = 0; i < count; i++) {
        const int e = sgemm__step_mn(l, i), k = sgemm__step_k(l, i);
        const float *p = l->next + (l->k_major ? e * l->ld + k : k * l->ld + e);
        float *to = shared + sgemm__shared_offset(l->MN, l->BK, quads, l->mn + e, l->k + k);
        if (l->V == 4)
          sgemm__copy4(to, p);
        else
          sgemm__copy(to, p, 1);
      }
    } else if (l->V == 4 && l->vectors &&
               (l->k_major ? depth : l->limit) % 4 == 0) { /* no vector lies across an edge */
      SGEMM__UNROLL
      for (i = 0; i < count; i++) {
        const int e = sgemm__step_mn(l, i), k = sgemm__step_k(l, i);
        const float *p = l->next + (l->k_major ? e * l->ld + k : k * l->ld + e);
        float *to = shared + sgemm__shared_offset(l->MN, l->BK, quads, l->mn + e, l->k + k);
        sgemm__copy4_if(to, p, l->mn + e < l->limit && l->k + k < depth);
      }
    } else {
      SGEMM__UNROLL
      for (i = 0; i < count; i++) {
        const int e = sgemm__step_mn(l, i), k = sgemm__step_k(l, i);
        const float *p = l->next + (l->k_major ? e * l->ld + k : k * l->ld + e);
        float *to = shared + sgemm__shared_offset(l->MN, l->BK, quads, l->mn + e, l->k + k);
        SGEMM__UNROLL
        for (v = 0; v < l->V; v++)
          sgemm__copy(to + v, p + v,
                      l->mn + e + (l->k_major ? 0 : v) < l->limit && l->k + k + (l->k_major ? v : 0) < depth);
      }
    }
  }
  sgemm__converge();
  l->next += l->k_major ? l->BK : l->BK * l->ld;
}

/* Fragment <- shared: T elements in pieces of V, `apart` elements between pieces' starts, step_e floats an element. */
SGEMM__DEVICE void sgemm__load_fragment(float *fragment, const float *p, int T, int V, int apart, int step_e) {
  int i;
  SGEMM__UNROLL
  for (i = 0; i < T; i += V) {
    if (V == 4)
      sgemm__load_shared4(fragment + i, p + i / V * apart);
    else
      fragment[i] = sgemm__load_shared(p + i * apart * step_e);
  }
}

/* The same for a pipeline's tile, for step k of it: T elements from element e on, in pieces of 4; or of quads, where k
   is a multiple of 4, T = 4 rows of 4 k. */
SGEMM__DEVICE void sgemm__load_fragment_at(float *fragment, const float *shared, int E, int BK, int quads, int e, int k,
                                           int T, int apart) {
  int i;
  SGEMM__UNROLL
  for (i = 0; i < T; i += quads ? 1 : 4)
    sgemm__load_shared4(fragment + (quads ? i * 4 : i),
                        shared + sgemm__shared_offset(E, BK, quads, e + i / 4 * apart + i % 4, k));
}

/* Four elements that lie side by side, of which the first `exist` exist and the rest read as zero. */
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
