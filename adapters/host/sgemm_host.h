/* sgemm_host.h: C = alpha * op(A) * op(B) + beta * C for matrices in host memory of any size, on one GPU or several.

   The call cuts C into tiles. A tile stays on a GPU while the panels of A and B that it needs pass by: the copies of
   the next panels overlap the multiplication of the present ones, and a finished tile goes out while the next one is
   computed. Matrices larger than the memory of the GPU are therefore possible.

     sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, m, n, k);
     p.A = A, p.B = B, p.C = C;                          host pointers: pageable, pinned or registered memory
     int status = sgemm_host_run(&p, NULL, NULL);        0 is success; sgemm_host_error_string(status) explains the rest

   The call returns when C is complete. Any number of threads may call at once. docs/host.md has the details. */
#ifndef SGEMM_HOST_H
#define SGEMM_HOST_H

#include "sgemm.h"

/* The errors of this call beyond those of sgemm.h: X([symbol], "sentence"). sgemm_host_check() checks them in this
   order, behind sgemm_check(). sgemm_host_run() then finds devices that are not there, and after them too little
   memory. */
// clang-format off
#define SGEMM_HOST_STATUS_LIST(X)                                                                                      \
  X(SGEMM_HOST_ERROR_EPILOGUE,     "epilogue is not SGEMM_EPILOGUE_none: a call with host memory has no epilogue")     \
  X(SGEMM_HOST_ERROR_D,            "D is not NULL: a call with host memory has its result in C")                       \
  X(SGEMM_HOST_ERROR_ALPHA_DEVICE, "alpha_device is not NULL: a call with host memory takes alpha from the params")    \
  X(SGEMM_HOST_ERROR_BETA_DEVICE,  "beta_device is not NULL: a call with host memory takes beta from the params")      \
  X(SGEMM_HOST_ERROR_BATCH,        "batch is above 1: a call with host memory computes one multiplication")            \
  X(SGEMM_HOST_ERROR_WORKSPACE,    "workspace is not NULL: a call with host memory allocates its device memory")       \
  X(SGEMM_HOST_ERROR_PREPARED,     "prepared_a or prepared_b is not NULL: both are in device memory")                  \
  X(SGEMM_HOST_ERROR_MEMORY_LIMIT, "memory_bytes is negative, or too small for the smallest tiles")                    \
  X(SGEMM_HOST_ERROR_DEVICES,      "device_count is not in 0 ... 16, or devices is NULL, or names a device twice or "  \
                                   "one that is not there")                                                            \
  X(SGEMM_HOST_ERROR_BLOCK,        "block is negative")                                                                \
  X(SGEMM_HOST_ERROR_PANEL,        "panel is negative")                                                                \
  X(SGEMM_HOST_ERROR_THREADS,      "threads is not in 0 ... 256")                                                      \
  X(SGEMM_HOST_ERROR_STAGING,      "staging_bytes is negative, or not 0 and below 48 KiB")                             \
  X(SGEMM_HOST_ERROR_A,            "A is device memory")                                                               \
  X(SGEMM_HOST_ERROR_B,            "B is device memory")                                                               \
  X(SGEMM_HOST_ERROR_C,            "C is device memory")                                                               \
  X(SGEMM_HOST_ERROR_HOST_MEMORY,  "host memory could not be allocated")                                               \
  X(SGEMM_HOST_ERROR_THREAD,       "a host thread could not be started")                                               \
  X(SGEMM_HOST_CANCELLED,          "the progress callback cancelled the call")
// clang-format on

typedef enum sgemm_host_status {
  SGEMM_HOST_STATUS_FIRST = 499, /* the errors lie between those of sgemm_check() and SGEMM_ERROR_CUDA */
#define SGEMM__X(symbol, sentence) symbol,
  SGEMM_HOST_STATUS_LIST(SGEMM__X)
#undef SGEMM__X
      SGEMM_HOST_STATUS_END
} sgemm_host_status;

enum { SGEMM_HOST_MAX_DEVICES = 16 };

/* A finished tile of C: rows row ... row + rows - 1, and columns col ... col + cols - 1. done, total: tiles. */
typedef struct sgemm_host_progress {
  int64_t done, total;
  int64_t row, col, rows, cols;
} sgemm_host_progress;

/* Fields that are 0 have the default in brackets. sgemm_host_options_init() sets all of them to 0. */
typedef struct sgemm_host_options {
  int64_t memory_bytes;  /* device memory of each GPU that the call may use [80 % of what is free] */
  int device_count;      /* GPUs that share the work [the current device alone] */
  const int *devices;    /* numbers of device_count GPUs */
  int64_t block;         /* largest rows and columns of a tile of C [by the sizes and the memory, at most 8192] */
  int64_t panel;         /* largest k of a panel of A or B [2048; tensor modes with k from 16384 on: 4096] */
  int threads;           /* threads for each GPU that copy pageable memory [CPUs of the caller / GPUs, at most 16] */
  int64_t staging_bytes; /* pinned memory for each GPU, for operands in pageable memory [96 MiB] */
  /* Called after each tile, by one thread at a time, which may be another than the caller's. Not 0: the call ends with
     SGEMM_HOST_CANCELLED, as soon as the tiles on their way are out. */
  int (*progress)(void *context, const sgemm_host_progress *now);
  void *context;
} sgemm_host_options;

/* What a call did. After an error, `tiles_done` tiles are complete. Any other tile may be unwritten or partly written.
   A call with alpha = 0 or k = 0 has no tiles. */
typedef struct sgemm_host_result {
  int64_t tiles, tiles_done;         /* tiles of C: all, and those that have their result */
  int64_t lines_done;                /* the leading rows of C (column-major: columns) that have their result */
  int64_t block_m, block_n, panel_k; /* the plan: rows and columns of a tile, and k of a panel */
  int panels;                        /* panels that the device memory has room for */
  int64_t device_bytes;              /* device memory of each GPU */
  int64_t bytes_in, bytes_out;       /* bytes copied to the GPUs, and from them */
} sgemm_host_result;

#ifdef __cplusplus
extern "C" {
#endif

static inline sgemm_host_options sgemm_host_options_init(void) {
  sgemm_host_options o;
  o.memory_bytes = o.block = o.panel = o.staging_bytes = 0;
  o.device_count = o.threads = 0;
  o.devices = NULL;
  o.progress = NULL;
  o.context = NULL;
  return o;
}

/* The first wrong argument, or SGEMM_SUCCESS: a status of sgemm.h or a sgemm_host_status. Asks no device, so that
   devices which are not there and pointers to device memory are found by sgemm_host_run() alone. options: NULL is the
   defaults. */
int sgemm_host_check(const sgemm_params *p, const sgemm_host_options *options);

/* C = alpha * op(A) * op(B) + beta * C, complete when the call returns. p.A, p.B and p.C are host pointers. options,
   result: may be NULL. Errors: those of sgemm_host_check(), which leave C untouched, as does memory that cannot be had;
   SGEMM_ERROR_CUDA + e; SGEMM_HOST_CANCELLED. After an error in the middle *result tells which part of C is done. */
int sgemm_host_run(const sgemm_params *p, const sgemm_host_options *options, sgemm_host_result *result);

/* A call keeps its streams, threads, staging memory and up to 2 GiB of device memory of each GPU for the next call.
   This function frees what no call uses. */
void sgemm_host_release(void);

/* The sentence of a status of this header or of sgemm.h. Not NULL for any value. */
const char *sgemm_host_error_string(int status);

#ifdef __cplusplus
}
#endif

#endif /* SGEMM_HOST_H */
