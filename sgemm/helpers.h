/* sgemm/helpers.h: FLOP, bytes, roofline, metrics and occupancy of a multiplication. Included by sgemm.h. */
#ifndef SGEMM_HELPERS_H
#define SGEMM_HELPERS_H

/* ---- FLOP, bytes, roofline, metrics ------------------------------------------------------------------------------ */

/* FLOP of a multiplication by convention (BLAS): 2 m n k, a multiplication and an addition for each k of each dot
   product. With alpha and beta the exact count is m n (2k + 3). A double, because 2 m n k reaches 2^63 for squares of
   1.7 million. */
static inline double sgemm_flops(int64_t m, int64_t n, int64_t k) { return 2.0 * (double)m * (double)n * (double)k; }

/* The minimum of bytes that a multiplication moves, 4 per element: A and B are read once, C is written once, and C is
   read once if beta is not 0. */
static inline double sgemm_min_bytes(int64_t m, int64_t n, int64_t k, float beta) {
  const double mn = (double)m * (double)n;
  return 4.0 * ((double)m * (double)k + (double)k * (double)n + mn + (beta != 0.0f ? mn : 0.0));
}

/* Arithmetic intensity in FLOP per byte: for squares of n, n/8 if beta is not 0, n/6 if it is. 0 if bytes is 0. */
static inline double sgemm_intensity(double flops, double bytes) { return bytes > 0.0 ? flops / bytes : 0.0; }

/* The ridge of the roofline in FLOP per byte: the intensity at which a GPU of peak_gflops (GFLOP/s) and bandwidth_gbs
   (GB/s) passes from memory-bound to compute-bound. Source: Williams, Waterman, Patterson, "Roofline", CACM 52(4),
   2009. */
static inline double sgemm_ridge(double peak_gflops, double bandwidth_gbs) { return peak_gflops / bandwidth_gbs; }

/* GFLOP/s that the roofline allows at an intensity in FLOP per byte: min(peak, bandwidth * intensity). Source: Williams
   et al., 2009. */
static inline double sgemm_attainable(double peak_gflops, double bandwidth_gbs, double intensity) {
  const double slope = bandwidth_gbs * intensity;
  return slope < peak_gflops ? slope : peak_gflops;
}

typedef enum sgemm_bound { SGEMM_BOUND_MEMORY, SGEMM_BOUND_COMPUTE } sgemm_bound;

/* The bound of the roofline at an intensity in FLOP per byte; the ridge itself is compute-bound. Source: Williams et
   al., 2009. */
static inline sgemm_bound sgemm_bound_at(double peak_gflops, double bandwidth_gbs, double intensity) {
  return bandwidth_gbs * intensity < peak_gflops ? SGEMM_BOUND_MEMORY : SGEMM_BOUND_COMPUTE;
}

/* Rates of one measured call. A percentage is 0 if its reference is unknown. */
typedef struct sgemm_metrics {
  double elapsed_ms;        /* milliseconds */
  double gflops;            /* GFLOP/s: sgemm_flops() of all the batch over the time */
  double bandwidth_gbs;     /* GB/s: sgemm_min_bytes() of all the batch over the time, a lower bound of the traffic */
  double intensity;         /* FLOP per byte: sgemm_flops() over sgemm_min_bytes() */
  double percent_of_peak;   /* 100 * gflops / peak_gflops */
  double percent_of_cublas; /* 100 * cublas_ms / elapsed_ms */
} sgemm_metrics;

/* Metrics of the call p, which took elapsed_ms > 0 milliseconds. peak_gflops: peak in GFLOP/s; cublas_ms: milliseconds
   of cuBLAS; 0: unknown. */
static inline sgemm_metrics sgemm_metrics_of(const sgemm_params *p, double elapsed_ms, double peak_gflops,
                                             double cublas_ms) {
  const double flops = sgemm_flops(p->m, p->n, p->k) * (double)p->batch;
  const double bytes = sgemm_min_bytes(p->m, p->n, p->k, p->beta) * (double)p->batch;
  sgemm_metrics r;
  r.elapsed_ms = elapsed_ms;
  r.gflops = flops / elapsed_ms * 1e-6;
  r.bandwidth_gbs = bytes / elapsed_ms * 1e-6;
  r.intensity = sgemm_intensity(flops, bytes);
  r.percent_of_peak = peak_gflops > 0.0 ? 100.0 * r.gflops / peak_gflops : 0.0;
  r.percent_of_cublas = cublas_ms > 0.0 ? 100.0 * cublas_ms / elapsed_ms : 0.0;
  return r;
}

/* One line: "label: 7.0500 ms, 19495 GFLOP/s, ...". Returns fprintf's result. */
static inline int sgemm_metrics_print(FILE *file, const char *label, const sgemm_metrics *r) {
  return fprintf(file, "%s: %.4f ms, %.0f GFLOP/s, %.1f GB/s, %.1f FLOP/byte, %.1f %% of peak, %.1f %% of cuBLAS\n",
                 label, r->elapsed_ms, r->gflops, r->bandwidth_gbs, r->intensity, r->percent_of_peak,
                 r->percent_of_cublas);
}

/* ---- Occupancy --------------------------------------------------------------------------------------------------- */

typedef enum sgemm_limit {
  SGEMM_LIMIT_THREADS,
  SGEMM_LIMIT_BLOCKS,
  SGEMM_LIMIT_REGISTERS,
  SGEMM_LIMIT_SHARED
} sgemm_limit;

typedef struct sgemm_occupancy {
  int blocks;        /* resident blocks on an SM */
  int warps;         /* resident warps on an SM */
  double fraction;   /* resident warps over the maximum of the SM, 0 to 1 */
  sgemm_limit limit; /* the resource that leaves no room for one more block */
} sgemm_occupancy;

/* Occupancy of a kernel: threads of a block (1 to 1024), registers of a thread (1 to 255), bytes of shared memory of a
   block. An SM allocates the registers of a warp in units of 256, from one of its four partitions, and shared memory in
   units of 128 bytes (CUDA C++ Programming Guide, "Compute Capabilities"). */
static inline sgemm_occupancy sgemm_occupancy_of(const sgemm_device *d, int threads, int registers, int64_t shared) {
  const int warps = (threads + 31) / 32;
  const int warp_registers = (registers * 32 + 255) / 256 * 256;
  const int64_t block_shared = (shared + d->shared_reserved + 127) / 128 * 128;
  int64_t fit[4];
  sgemm_occupancy r;
  fit[SGEMM_LIMIT_THREADS] = d->threads_per_sm / (warps * 32);
  fit[SGEMM_LIMIT_BLOCKS] = d->blocks_per_sm;
  fit[SGEMM_LIMIT_REGISTERS] = (int64_t)(d->registers_per_sm / 4 / warp_registers) * 4 / warps;
  fit[SGEMM_LIMIT_SHARED] = block_shared > 0 ? d->shared_per_sm / block_shared : d->blocks_per_sm;
  r.limit = SGEMM_LIMIT_THREADS;
  if (fit[SGEMM_LIMIT_BLOCKS] < fit[r.limit])
    r.limit = SGEMM_LIMIT_BLOCKS;
  if (fit[SGEMM_LIMIT_REGISTERS] < fit[r.limit])
    r.limit = SGEMM_LIMIT_REGISTERS;
  if (fit[SGEMM_LIMIT_SHARED] < fit[r.limit])
    r.limit = SGEMM_LIMIT_SHARED;
  r.blocks = (int)fit[r.limit];
  r.warps = r.blocks * warps;
  r.fraction = (double)(r.warps * 32) / d->threads_per_sm;
  return r;
}

/* Threads of a block of a variant's kernels in the code that a device runs. Blocks of tma have a producer warpgroup,
   128 threads, in code for sm_90a alone. */
static inline int sgemm_variant_threads(const sgemm_variant_info *variant, const sgemm_device *device) {
  return variant->threads - (variant->uses_tma && !device->has_sm90a_code ? 128 : 0);
}

/* Occupancy of a variant's kernel on a device, from the kernel's resources on the current device. Errors: those of
   sgemm_kernel_resources(). */
static inline sgemm_status sgemm_variant_occupancy(sgemm_variant variant, sgemm_op op_a, sgemm_op op_b,
                                                   const sgemm_device *device, sgemm_occupancy *out) {
  int registers;
  int64_t shared, local;
  const sgemm_status status = sgemm_kernel_resources(variant, op_a, op_b, &registers, &shared, &local);
  if (status == SGEMM_SUCCESS)
    *out = sgemm_occupancy_of(device, sgemm_variant_threads(sgemm_variant_get(variant), device), registers, shared);
  return status;
}

#endif /* SGEMM_HELPERS_H */
