/* summa.c: one matrix multiplication on several GPUs by SUMMA; summa --help lists the options.

   C = A B, all row-major, on a grid of p x q ranks. Each rank has one block of A, of B and of C, and C does not move. k
   is cut into panels. For each panel the rank with these columns of A broadcasts them along its row of the grid, and
   the rank with these rows of B broadcasts them along its column. Each rank multiplies the two and adds the product to
   its block of C. There are two buffers for panels: a copy stream brings the next panel while the present one is
   multiplied.

   summa.h has the functions that move panels and start ranks. docs/summa.md has the arithmetic. */
#define _POSIX_C_SOURCE 200809L /* alarm(), clock_gettime(), sched_yield() */

#include "examples/summa.h"

#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sgemm.h"

/* The problem, the same for all ranks. */
typedef struct product {
  int64_t m, n, k, panel;
  int p, q, mode;
} product;

/* What a rank has. */
typedef struct block {
  int64_t m, n;                /* rows and columns of the block of C */
  int64_t k_of_a, k_of_b;      /* columns of its block of A, rows of its block of B */
  float *A, *B, *C;            /* m x k_of_a, k_of_b x n, m x n */
  float *a_panel[2];           /* buffers for m x panel; none if q = 1: the rank's own block of A has all of k */
  float *b_panel[2];           /* buffers for panel x n; none if p = 1: the rank's own block of B has all of k */
  cudaStream_t copy, multiply; /* streams */
  cudaEvent_t arrived[2];      /* the panel is in the buffer */
  cudaEvent_t used[2];         /* the panel has been multiplied */
} block;

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static int cuda(summa_rank *rank, const char *what, cudaError_t error) {
  return error != cudaSuccess ? summa_report(rank, "%s: %s", what, cudaGetErrorString(error)) : 0;
}

static int sgemm(summa_rank *rank, sgemm_status status) {
  const int error = sgemm_cuda_error(status);
  if (status == SGEMM_SUCCESS)
    return 0;
  return summa_report(rank, "sgemm_run: %s",
                      error ? cudaGetErrorString((cudaError_t)error) : sgemm_status_string(status));
}

/* Ends the process if a call of NCCL, MPI or CUDA does not return. Under MPI mpirun then ends the other processes. */
static void end_late(int number) {
  static const char sentence[] = "summa: a call did not return for 10 s more than --timeout\n";
  (void)number;
  (void)!write(STDERR_FILENO, sentence, sizeof sentence - 1);
  _exit(2);
}

/* Starts the time of end_late() again, for all ranks of the process. A wait of --timeout ends before it, with a
   sentence that says what was waited for. */
static void start_time(double timeout) { alarm((unsigned)timeout + 10); }
static void stop_time(void) { alarm(0); }

/* Waits for an event, at most the time of the rank. */
static int wait_for(summa_rank *rank, cudaEvent_t event) {
  const double end = summa_now() + rank->timeout;
  cudaError_t error;
  start_time(rank->timeout);
  while ((error = cudaEventQuery(event)) == cudaErrorNotReady) {
    if (summa_poll(rank) != 0)
      return 1;
    if (summa_now() > end)
      return summa_report(rank, "no panel was multiplied for %g s; another rank or a link does not answer",
                          rank->timeout);
    sched_yield();
  }
  return cuda(rank, "the GPU", error);
}

/* ---- SUMMA ------------------------------------------------------------------------------------------------------- */

/* Rows or columns are cut into `parts` blocks. All have the size ceil(size / parts), but for the last ones. */
static int64_t block_size(int64_t size, int parts) { return sgemm__ceil_div(size, parts); }
static int64_t block_begin(int64_t size, int parts, int i) {
  const int64_t begin = block_size(size, parts) * i;
  return begin < size ? begin : size;
}
static int64_t block_length(int64_t size, int parts, int i) {
  return block_begin(size, parts, i + 1) - block_begin(size, parts, i);
}

/* A panel: columns of A and rows of B. It lies in one block of A and in one of B. */
typedef struct panel {
  int64_t begin, width; /* width 0: there is none */
  int col, row;         /* the column of the grid that has it of A, and the row that has it of B */
} panel;

static panel panel_at(const product *x, int64_t begin) {
  panel next = {begin, 0, 0, 0};
  int64_t end = begin + x->panel, end_a, end_b;
  if (begin >= x->k)
    return next;
  next.col = (int)(begin / block_size(x->k, x->q));
  next.row = (int)(begin / block_size(x->k, x->p));
  end_a = block_begin(x->k, x->q, next.col + 1);
  end_b = block_begin(x->k, x->p, next.row + 1);
  end = end < end_a ? end : end_a;
  next.width = (end < end_b ? end : end_b) - begin;
  return next;
}

/* The elements from the first one of the block that has the panel to the first one of the panel. */
static int64_t offset_a(const product *x, const panel *now) { return now->begin - block_begin(x->k, x->q, now->col); }
static int64_t offset_b(const product *x, const block *own, const panel *now) {
  return (now->begin - block_begin(x->k, x->p, now->row)) * own->n;
}

/* Brings a panel to the buffers `slot`, when the panel before in these buffers has been multiplied. */
static int bring(summa_rank *rank, const product *x, block *own, const panel *next, int slot) {
  const size_t m = (size_t)own->m, n = (size_t)own->n, width = (size_t)next->width;
  start_time(rank->timeout);
  return cuda(rank, "cudaStreamWaitEvent", cudaStreamWaitEvent(own->copy, own->used[slot], 0)) ||
         (x->q > 1 && m > 0 &&
          summa_broadcast(rank, SUMMA_ROW, next->col, (size_t)offset_a(x, next), m, width, own->a_panel[slot],
                          own->copy)) ||
         (x->p > 1 && n > 0 &&
          summa_broadcast(rank, SUMMA_COLUMN, next->row, (size_t)offset_b(x, own, next), width, n, own->b_panel[slot],
                          own->copy)) ||
         cuda(rank, "cudaEventRecord", cudaEventRecord(own->arrived[slot], own->copy));
}

/* Adds the product of a panel to C, when the panel has arrived. A rank that has a panel in its own block multiplies it
   there. The first product is written without reading C. */
static int multiply(summa_rank *rank, const product *x, block *own, const panel *now, int slot) {
  const int has_a = rank->col == now->col, has_b = rank->row == now->row;
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, own->m, own->n, now->width);
  p.beta = now->begin > 0 ? 1.0f : 0.0f;
  p.A = has_a ? own->A + offset_a(x, now) : own->a_panel[slot];
  p.lda = has_a ? own->k_of_a : now->width;
  p.B = has_b ? own->B + offset_b(x, own, now) : own->b_panel[slot];
  p.C = own->C;
  p.mode = x->mode;
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  return cuda(rank, "cudaStreamWaitEvent", cudaStreamWaitEvent(own->multiply, own->arrived[slot], 0)) ||
         sgemm(rank, sgemm_run(&p, own->multiply)) || wait_for(rank, own->used[slot]) ||
         cuda(rank, "cudaEventRecord", cudaEventRecord(own->used[slot], own->multiply));
}

/* C = A B. While a panel is multiplied, the next one is brought. The host is at most two panels ahead of the GPU,
   because multiply() waits for the panel before in its buffers; so an error is seen soon, and the queues of the GPU
   stay short. A and B are only read. After an error C is undefined. */
static int summa(summa_rank *rank, const product *x, block *own) {
  panel next = panel_at(x, 0);
  int slot = 0;
  if (bring(rank, x, own, &next, slot))
    return 1;
  while (next.width > 0) {
    const panel now = next;
    next = panel_at(x, now.begin + now.width);
    if (next.width > 0 && bring(rank, x, own, &next, !slot))
      return 1;
    if (multiply(rank, x, own, &now, slot))
      return 1;
    slot = !slot;
  }
  return wait_for(rank, own->used[!slot]);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

static int allocate(summa_rank *rank, const char *what, float **memory, int64_t rows, int64_t columns) {
  const size_t bytes = (size_t)rows * (size_t)columns * sizeof(float);
  const cudaError_t error = cudaMalloc((void **)memory, bytes);
  return error != cudaSuccess ? summa_report(rank, "%zu bytes for %s: %s", bytes, what, cudaGetErrorString(error)) : 0;
}

static int make_block(summa_rank *rank, const product *x, block *own) {
  int low, high, i;
  own->m = block_length(x->m, x->p, rank->row);
  own->n = block_length(x->n, x->q, rank->col);
  own->k_of_a = block_length(x->k, x->q, rank->col);
  own->k_of_b = block_length(x->k, x->p, rank->row);
  if (allocate(rank, "the block of A", &own->A, own->m, own->k_of_a) ||
      allocate(rank, "the block of B", &own->B, own->k_of_b, own->n) ||
      allocate(rank, "the block of C", &own->C, own->m, own->n) ||
      cuda(rank, "cudaDeviceGetStreamPriorityRange", cudaDeviceGetStreamPriorityRange(&low, &high)) ||
      cuda(rank, "cudaStreamCreate", cudaStreamCreateWithPriority(&own->multiply, cudaStreamNonBlocking, low)) ||
      /* The copy stream comes first where SMs are free: a broadcast needs few SMs, and the next product needs it. */
      cuda(rank, "cudaStreamCreate", cudaStreamCreateWithPriority(&own->copy, cudaStreamNonBlocking, high)))
    return 1;
  for (i = 0; i < 2; i++)
    if ((x->q > 1 && allocate(rank, "a panel of A", &own->a_panel[i], own->m, x->panel)) ||
        (x->p > 1 && allocate(rank, "a panel of B", &own->b_panel[i], x->panel, own->n)) ||
        cuda(rank, "cudaEventCreate", cudaEventCreateWithFlags(&own->arrived[i], cudaEventDisableTiming)) ||
        cuda(rank, "cudaEventCreate", cudaEventCreateWithFlags(&own->used[i], cudaEventDisableTiming)))
      return 1;
  rank->block[SUMMA_ROW] = own->A;
  rank->ld[SUMMA_ROW] = (size_t)own->k_of_a;
  rank->block[SUMMA_COLUMN] = own->B;
  rank->ld[SUMMA_COLUMN] = (size_t)own->n;
  return 0;
}

static void drop_block(block *own) {
  int i;
  for (i = 0; i < 2; i++) {
    cudaFree(own->a_panel[i]);
    cudaFree(own->b_panel[i]);
    cudaEventDestroy(own->arrived[i]);
    cudaEventDestroy(own->used[i]);
  }
  cudaFree(own->A);
  cudaFree(own->B);
  cudaFree(own->C);
  cudaStreamDestroy(own->copy);
  cudaStreamDestroy(own->multiply);
}

/* Element (i, j) of the whole matrix A (which = 0) or B (1): a number in [-1, 1) that any rank can compute. */
static float element(int which, int64_t i, int64_t j) {
  uint64_t x = (uint64_t)i * 0x9e3779b97f4a7c15u + (uint64_t)j * 0xc2b2ae3d27d4eb4fu + (uint64_t)which;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
  x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
  return (float)((int32_t)(x >> 40) - (1 << 23)) * 0x1p-23f;
}

/* Writes a block whose first element is (i, j) of the whole matrix to the GPU, some rows at a time. */
static int fill(summa_rank *rank, int which, int64_t i, int64_t j, int64_t rows, int64_t columns, float *block) {
  const int64_t at_once = sgemm__max(1, ((int64_t)1 << 24) / sgemm__max(1, columns));
  float *host;
  int64_t begin, r, c;
  int failed = 0;
  if (rows == 0 || columns == 0)
    return 0;
  host = (float *)malloc((size_t)(at_once < rows ? at_once : rows) * (size_t)columns * sizeof *host);
  if (host == NULL)
    return summa_report(rank, "out of memory on the host");
  for (begin = 0; begin < rows && !failed; begin += at_once) {
    const int64_t count = at_once < rows - begin ? at_once : rows - begin;
    for (r = 0; r < count; r++)
      for (c = 0; c < columns; c++)
        host[r * columns + c] = element(which, i + begin + r, j + c);
    failed = cuda(
        rank, "the copy to the GPU",
        cudaMemcpy(block + begin * columns, host, (size_t)(count * columns) * sizeof *host, cudaMemcpyHostToDevice));
  }
  free(host);
  return failed;
}

static int fill_blocks(summa_rank *rank, const product *x, const block *own) {
  return fill(rank, 0, block_begin(x->m, x->p, rank->row), block_begin(x->k, x->q, rank->col), own->m, own->k_of_a,
              own->A) ||
         fill(rank, 1, block_begin(x->k, x->p, rank->row), block_begin(x->n, x->q, rank->col), own->k_of_b, own->n,
              own->B);
}

/* ---- Check ------------------------------------------------------------------------------------------------------- */

/* The error of element (i, j) of C over its bound. The rounding errors of k additions behave as a random walk, so that
   8 sqrt(k) roundings are far more than they add up to; (k + 2) are their limit. A NaN gives a NaN. */
static double error_of(const product *x, int64_t i, int64_t j, float c) {
  const double k = (double)x->k, roundings = fmin(k, 8.0 * sqrt(k)) + 2.0;
  double sum = 0.0, size = 0.0;
  int64_t l;
  for (l = 0; l < x->k; l++) {
    const double term = (double)element(0, i, l) * (double)element(1, l, j);
    sum += term;
    size += fabs(term);
  }
  return (double)c == sum ? 0.0 : fabs((double)c - sum) / (roundings * 0x1p-24 * size);
}

/* The largest error of a rank's block: of every element of a small one, of 16 x 16 of a large one. */
static int check(summa_rank *rank, const product *x, const block *own, double *worst) {
  const int all = (double)own->m * (double)own->n * (double)x->k <= 0x1p25;
  const int64_t rows = all || own->m < 16 ? own->m : 16, columns = all || own->n < 16 ? own->n : 16;
  const int64_t first = block_begin(x->m, x->p, rank->row), left = block_begin(x->n, x->q, rank->col);
  float *line = (float *)malloc((size_t)own->n * sizeof *line + 1);
  int64_t r, c;
  int failed = line == NULL ? summa_report(rank, "out of memory on the host") : 0;
  *worst = 0.0;
  for (r = 0; r < rows && !failed; r++) {
    const int64_t i = rows > 1 ? r * (own->m - 1) / (rows - 1) : 0;
    failed = cuda(rank, "the copy from the GPU",
                  cudaMemcpy(line, own->C + i * own->n, (size_t)own->n * sizeof *line, cudaMemcpyDeviceToHost));
    for (c = 0; c < columns && !failed; c++) {
      const int64_t j = columns > 1 ? c * (own->n - 1) / (columns - 1) : 0;
      const double error = error_of(x, first + i, left + j, line[j]);
      *worst = error <= *worst ? *worst : isnan(error) ? INFINITY : error;
    }
  }
  free(line);
  return failed;
}

/* ---- Command line ------------------------------------------------------------------------------------------------ */

typedef struct options {
  product x;
  int repeat, check;
  double timeout;
  const char *mode;
  char error[256];
} options;

static const char usage[] =
    "usage: summa M N K [option ...]\n"
    "\n"
    "C = A B in float32, C of M x N, on several GPUs. The matrices are random numbers that each rank makes for "
    "itself.\n"
    "Prints a head and a line of CSV. The exit status is 0, or 2 with a line on standard error.\n"
    "\n"
    "  --grid PxQ   P x Q ranks; default: all, as near to a square as can be\n"
    "  --mode NAME  strict (default), tensor or full\n"
    "  --panel K    the width of a panel; default: 4096, 8192 in the tensor modes, K for one rank\n"
    "  --repeat N   multiply N times and print the least time; default 3\n"
    "  --check      compare C with sums in double: all of a small block, 256 elements of a large one\n"
    "  --timeout S  give up if no panel is multiplied for S seconds, or a call lasts S + 10 s; default 60";

static int refuse(options *o, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(o->error, sizeof o->error, format, arguments);
  va_end(arguments);
  return 1;
}

/* A whole number in 1 ... 2^30, so that no product of two of them overflows. */
static int whole(options *o, const char *name, const char *text, int64_t *number) {
  char *end;
  const long long x = strtoll(text, &end, 10);
  *number = x;
  if (end == text || *end != '\0' || x < 1 || x > 1 << 30)
    return refuse(o, "%s %s: not a whole number in 1 ... 2^30", name, text);
  return 0;
}

static int read_grid(options *o, const char *text) {
  char rest;
  if (sscanf(text, "%dx%d%c", &o->x.p, &o->x.q, &rest) != 2 || o->x.p < 1 || o->x.q < 1)
    return refuse(o, "--grid %s: not two numbers above 0, as 2x4", text);
  return 0;
}

static int read_option(options *o, const char *name, const char *value) {
  static const char *const modes[] = {"strict", "tensor", "full"}; /* in the order of sgemm_mode */
  int64_t number;
  char *end;
  if (strcmp(name, "--grid") == 0)
    return read_grid(o, value);
  if (strcmp(name, "--panel") == 0)
    return whole(o, name, value, &o->x.panel);
  if (strcmp(name, "--repeat") == 0) {
    const int failed = whole(o, name, value, &number);
    o->repeat = (int)number;
    return failed;
  }
  if (strcmp(name, "--timeout") == 0) {
    o->timeout = strtod(value, &end);
    return end == value || *end != '\0' || !(o->timeout > 0.0) || !(o->timeout <= 1e6)
               ? refuse(o, "--timeout %s: not a number of seconds above 0 and up to 1e6", value)
               : 0;
  }
  if (strcmp(name, "--mode") != 0)
    return refuse(o, "%s: unknown option; summa --help lists them", name);
  for (o->x.mode = 0; o->x.mode < 3; o->x.mode++)
    if (strcmp(value, modes[o->x.mode]) == 0) {
      o->mode = modes[o->x.mode];
      return 0;
    }
  return refuse(o, "--mode %s: neither strict nor tensor nor full", value);
}

/* The grid of all ranks that is nearest to a square, with p <= q. */
static void choose_grid(product *x, int ranks) {
  for (x->p = (int)sqrt((double)ranks); ranks % x->p != 0; x->p--)
    ;
  x->q = ranks / x->p;
}

static int check_grid(options *o, const summa_world *world) {
  const int64_t wanted = (int64_t)o->x.p * o->x.q;
  if (world->ranks == 0)
    return refuse(o, "there is no GPU to run on");
  if (o->x.p == 0)
    choose_grid(&o->x, world->ranks);
  else if (wanted > world->ranks || (world->exact && wanted != world->ranks))
    return refuse(o, "--grid %dx%d: the number of %s is %d", o->x.p, o->x.q, world->exact ? "ranks" : "GPUs",
                  world->ranks);
  return 0;
}

static int read_options(options *o, char **argv, const summa_world *world) {
  static const char *const names[] = {"M", "N", "K"};
  int64_t *const sizes[] = {&o->x.m, &o->x.n, &o->x.k};
  int count = 0;
  for (argv++; *argv != NULL; argv++) {
    if (strcmp(*argv, "--check") == 0)
      o->check = 1;
    else if (**argv == '-' && argv[1] == NULL)
      return refuse(o, "%s: its value is missing, or the option is unknown; summa --help lists them", *argv);
    else if (strncmp(*argv, "--", 2) == 0) {
      if (read_option(o, argv[0], argv[1]))
        return 1;
      argv++;
    } else if (count == 3)
      return refuse(o, "%s: a fourth size", *argv);
    else if (whole(o, names[count], *argv, sizes[count]))
      return 1;
    else
      count++;
  }
  if (count < 3)
    return refuse(o, "%s is missing; summa --help tells how to call", names[count]);
  if (check_grid(o, world))
    return 1;
  if (o->x.panel == 0) /* with one rank no copy has to be hidden: a single sgemm_run() of all k */
    o->x.panel = o->x.p * o->x.q == 1 ? o->x.k : o->x.mode == SGEMM_STRICT ? 4096 : 8192;
  o->x.panel = o->x.panel < o->x.k ? o->x.panel : o->x.k;
  return 0;
}

/* ---- Ranks ------------------------------------------------------------------------------------------------------- */

static options option;
static double seconds, worst_error; /* the results of all ranks, which rank 0 writes */

/* Prints the error of a rank and ends all ranks. */
static _Noreturn void fail(summa_rank *rank) {
  fprintf(stderr, "summa: rank %d: %s\n", rank->row * rank->q + rank->col, rank->error);
  fflush(stderr);
  summa_close(rank, 1);
  summa_abort(2);
}

static int run(summa_rank *rank, const product *x, block *own) {
  const size_t bytes = (size_t)own->m * (size_t)own->n * sizeof(float);
  double least = INFINITY, worst = 0.0;
  int i;
  for (i = 0; i < option.repeat; i++) {
    double begin, longest;
    if ((bytes > 0 && cuda(rank, "cudaMemset", cudaMemset(own->C, 0xff, bytes))) || /* NaN */
        cuda(rank, "cudaDeviceSynchronize", cudaDeviceSynchronize()))
      return 1;
    summa_max(0.0); /* all ranks begin at the same time */
    begin = summa_now();
    if (summa(rank, x, own))
      return 1;
    longest = summa_max(summa_now() - begin);
    stop_time();
    least = longest < least ? longest : least;
  }
  if (option.check && check(rank, x, own, &worst))
    return 1;
  worst = summa_max(worst);
  if (rank->row == 0 && rank->col == 0) {
    seconds = least;
    worst_error = worst;
  }
  return 0;
}

static void body(summa_rank *rank) {
  const product *x = &option.x;
  block own;
  memset(&own, 0, sizeof own);
  if (cuda(rank, "cudaSetDevice", cudaSetDevice(rank->device)) || make_block(rank, x, &own) ||
      fill_blocks(rank, x, &own) || run(rank, x, &own))
    fail(rank);
  drop_block(&own);
  summa_close(rank, 0);
}

static void print_results(void) {
  const product *x = &option.x;
  const double flop = 2.0 * (double)x->m * (double)x->n * (double)x->k;
  printf("transport,grid,m,n,k,mode,panel,ms,tflops,error\n%s,%dx%d,%lld,%lld,%lld,%s,%lld,%.6g,%.6g,", summa_transport,
         x->p, x->q, (long long)x->m, (long long)x->n, (long long)x->k, option.mode, (long long)x->panel, 1e3 * seconds,
         flop / seconds * 1e-12);
  if (option.check)
    printf("%.3g", worst_error);
  printf("\n");
}

int main(int argc, char **argv) {
  const summa_world world = summa_start(&argc, &argv);
  summa_rank *ranks;
  int count, i;
  if (argc > 1 && strcmp(argv[1], "--help") == 0) {
    if (world.first == 0)
      puts(usage);
    return summa_stop(0);
  }
  option.repeat = 3;
  option.timeout = 60.0;
  option.mode = "strict";
  if (read_options(&option, argv, &world)) {
    if (world.first == 0)
      fprintf(stderr, "summa: %s\n", option.error);
    return summa_stop(2);
  }
  count = world.alone ? 1 : option.x.p * option.x.q;
  ranks = (summa_rank *)calloc((size_t)count, sizeof *ranks);
  if (ranks == NULL)
    summa_abort(2);
  for (i = 0; i < count; i++) {
    ranks[i].p = option.x.p;
    ranks[i].q = option.x.q;
    ranks[i].row = (world.first + i) / option.x.q;
    ranks[i].col = (world.first + i) % option.x.q;
    ranks[i].timeout = option.timeout;
  }
  signal(SIGALRM, end_late);
  start_time(option.timeout);
  if (summa_open(ranks, count))
    fail(&ranks[0]);
  stop_time();
  summa_each(ranks, count, body);
  free(ranks);
  if (world.first == 0)
    print_results();
  if (option.check && !(worst_error <= 1.0)) {
    fprintf(stderr, "summa: an element of C is %.3g times its bound away from the sum in double\n", worst_error);
    return summa_stop(2);
  }
  return summa_stop(0);
}
