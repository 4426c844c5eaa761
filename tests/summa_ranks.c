/* summa_ranks.c: the functions of examples/summa.c on the ranks of mpirun, in many grids and sizes.

     summa_ranks products           each result beside double and, where it is linked (SUMMA_SCALAPACK=1), psgemm_
     summa_ranks errors             every rank's multiplication fails in turn, on all ranks at once
     summa_ranks FAULT RANK CALL    a rank meets a fault in the call of sgemm_run() that has this number:
                                    kill, exit, stop (it sleeps), error, memory

   Exit status 0: all is right. */
#define _GNU_SOURCE

#include "sgemm.h"
static sgemm_status run_or_fail(const sgemm_params *p, sgemm_stream stream);
#define sgemm_run(p, stream) run_or_fail(p, stream)
#define main summa_main
#include "examples/summa.c"
#undef main
#undef sgemm_run

#include <signal.h>
#include <unistd.h>

static int number, ranks; /* of this process; of all */
static int calls, fail_at,
    on_tensor_cores; /* calls of sgemm_run(); the one that fails; those that took a tensor plan */
static const char *fault = "error";

static sgemm_status run_or_fail(const sgemm_params *p, sgemm_stream stream) {
  sgemm_device device;
  sgemm_device_query(-1, &device);
  on_tensor_cores += sgemm_select(p, SGEMM_STAGE_ANY, &device).tensor != SGEMM_TENSOR_VARIANT_NONE;
  if (++calls != fail_at)
    return sgemm_run(p, stream);
  if (strcmp(fault, "kill") == 0)
    raise(SIGKILL);
  if (strcmp(fault, "exit") == 0)
    _exit(0);
  if (strcmp(fault, "stop") == 0)
    raise(SIGSTOP);
  return strcmp(fault, "memory") == 0 ? SGEMM_ERROR_WORKSPACE : (sgemm_status)(SGEMM_ERROR_CUDA + 2);
}

static _Noreturn void stop(const char *what, const product *x, const char *why) {
  fprintf(stderr, "summa_ranks: rank %d: grid %dx%d, %lld x %lld x %lld, panel %lld, mode %d: %s %s\n", number, x->p,
          x->q, (long long)x->m, (long long)x->n, (long long)x->k, (long long)x->panel, x->mode, what, why);
  summa_abort(3);
}

/* ---- A rank with its block --------------------------------------------------------------------------------------- */

static void begin(summa_rank *rank, const product *x, block *own) {
  memset(rank, 0, sizeof *rank);
  memset(own, 0, sizeof *own);
  rank->p = x->p;
  rank->q = x->q;
  rank->row = number / x->q;
  rank->col = number % x->q;
  rank->timeout = 3600.0;
  if (summa_open(rank, 1) || make_block(rank, x, own) || fill_blocks(rank, x, own))
    stop("begin", x, rank->error);
  if (own->m * own->n > 0)
    memset(own->C, 0xff, (size_t)(own->m * own->n) * sizeof(float));
}

static void end(summa_rank *rank, block *own) {
  drop_block(own);
  summa_close(rank, 0);
}

/* A and B hold what they held. */
static void check_inputs(const summa_rank *rank, const product *x, const block *own) {
  const int64_t m0 = block_begin(x->m, x->p, rank->row), n0 = block_begin(x->n, x->q, rank->col);
  const int64_t ka = block_begin(x->k, x->q, rank->col), kb = block_begin(x->k, x->p, rank->row);
  int64_t i, j;
  for (i = 0; i < own->m; i++)
    for (j = 0; j < own->k_of_a; j++)
      if (own->A[i * own->k_of_a + j] != element(0, m0 + i, ka + j))
        stop("A", x, "has changed");
  for (i = 0; i < own->k_of_b; i++)
    for (j = 0; j < own->n; j++)
      if (own->B[i * own->n + j] != element(1, kb + i, n0 + j))
        stop("B", x, "has changed");
}

/* ---- ScaLAPACK --------------------------------------------------------------------------------------------------- */

#if SUMMA_SCALAPACK

void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void Cblacs_gridexit(int context);
void descinit_(int *desc, const int *m, const int *n, const int *mb, const int *nb, const int *first_row,
               const int *first_column, const int *context, const int *lld, int *info);
void psgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const float *alpha,
             const float *a, const int *ia, const int *ja, const int *desc_a, const float *b, const int *ib,
             const int *jb, const int *desc_b, const float *beta, float *c, const int *ic, const int *jc,
             const int *desc_c);

static void describe(int *desc, int64_t rows, int64_t columns, const product *x, int context, int64_t ld) {
  const int m = (int)rows, n = (int)columns, mb = (int)block_size(rows, x->q), nb = (int)block_size(columns, x->p);
  const int zero = 0, lld = ld > 0 ? (int)ld : 1;
  int info;
  descinit_(desc, &m, &n, &mb, &nb, &zero, &zero, &context, &lld, &info);
  if (info != 0)
    stop("descinit_", x, "refuses");
}

/* The blocks of row-major A, B and C are column-major blocks of the transposes. psgemm_ computes C' = B' A' with them
   on the transposed grid. */
static void compare(const product *x, const block *own) {
  const int m = (int)x->m, n = (int)x->n, k = (int)x->k, one = 1;
  const float alpha = 1.0f, beta = 0.0f;
  /* Both results are at most the bound of check() away from the exact one, whose terms are below 1. */
  const double limit = 2.0 * (fmin((double)k, 8.0 * sqrt((double)k)) + 2.0) * 0x1p-24 * (double)k;
  float *C = (float *)malloc((size_t)(own->m * own->n) * sizeof *C + 1);
  int desc_a[9], desc_b[9], desc_c[9], context;
  int64_t i;
  Cblacs_get(-1, 0, &context);
  Cblacs_gridinit(&context, "C", x->q, x->p);
  describe(desc_b, x->n, x->k, x, context, own->n);
  describe(desc_a, x->k, x->m, x, context, own->k_of_a);
  describe(desc_c, x->n, x->m, x, context, own->n);
  for (i = 0; i < own->m * own->n; i++)
    C[i] = NAN;
  psgemm_("N", "N", &n, &m, &k, &alpha, own->B, &one, &one, desc_b, own->A, &one, &one, desc_a, &beta, C, &one, &one,
          desc_c);
  for (i = 0; i < own->m * own->n; i++)
    if (!(fabs((double)C[i] - (double)own->C[i]) <= limit))
      stop("C", x, "is not that of psgemm_");
  Cblacs_gridexit(context);
  free(C);
}

#else

static void compare(const product *x, const block *own) { (void)x, (void)own; }

#endif

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

static void check_product(const product *x) {
  summa_rank rank;
  block own;
  double worst;
  begin(&rank, x, &own);
  if (summa(&rank, x, &own) || check(&rank, x, &own, &worst))
    stop("summa", x, rank.error);
  if (!(worst <= 1.0))
    stop("C", x, "is wrong");
  compare(x, &own);
  check_inputs(&rank, x, &own);
  end(&rank, &own);
}

/* Every grid of the ranks, with sizes that are no multiples of it, and with fewer rows, columns or k than ranks. */
static void products(void) {
  static const int64_t sizes[][4] = {{37, 29, 53, 8}, {50, 61, 40, 40}, {3, 70, 23, 5},
                                     {41, 2, 31, 64}, {19, 23, 3, 1},   {1, 1, 1, 1}};
  const int64_t large = 203; /* rows and columns of a rank; with panels of 260 the tensor modes are selected */
  int p, mode;
  size_t i;
  for (p = 1; p <= ranks; p++) {
    const int q = ranks / p;
    if (p * q != ranks)
      continue;
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      const product x = {sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3], p, q, (int)(i % 3)};
      check_product(&x);
    }
  }
  for (mode = 1; mode < 3 && ranks <= 4; mode++) {
    product x = {0, 0, 520, 260, 1, 1, 0};
    choose_grid(&x, ranks);
    x.m = large * x.p - 1;
    x.n = large * x.q + 1 - x.q;
    x.mode = mode;
    on_tensor_cores = 0;
    check_product(&x);
    if (on_tensor_cores == 0)
      stop("no product", &x, "took the tensor mode");
  }
}

/* The call `at` of sgemm_run() fails on every rank. */
static void errors(void) {
  product x = {37, 29, 53, 8, 1, 1, SGEMM_STRICT};
  int at, failures = 0;
  choose_grid(&x, ranks);
  for (at = 1;; at++) {
    summa_rank rank;
    block own;
    int failed;
    begin(&rank, &x, &own);
    calls = 0;
    fail_at = at;
    failed = summa(&rank, &x, &own);
    check_inputs(&rank, &x, &own);
    end(&rank, &own);
    if (!failed)
      break;
    if (strcmp(rank.error, "sgemm_run: out of memory") != 0)
      stop("the error is", &x, rank.error);
    failures++;
  }
  if (failures != calls || failures < 5)
    stop("the number of errors", &x, "is not that of calls");
}

/* The program with a fault on one rank. */
static int with_fault(char **argv) {
  char *arguments[] = {"summa", "37", "29", "53", "--panel", "8", "--timeout", "2", NULL};
  int count = 8;
  fault = argv[1];
  if (atoi(getenv("OMPI_COMM_WORLD_RANK")) == atoi(argv[2]))
    fail_at = atoi(argv[3]);
  if (strcmp(fault, "stop") != 0)
    arguments[7] = "100000"; /* the fault itself ends the ranks, not the time */
  return summa_main(count, arguments);
}

int main(int argc, char **argv) {
  summa_world world;
  if (argc == 4)
    return with_fault(argv);
  world = summa_start(&argc, &argv);
  number = world.first;
  ranks = world.ranks;
  if (argc == 2 && strcmp(argv[1], "products") == 0)
    products();
  else if (argc == 2 && strcmp(argv[1], "errors") == 0)
    errors();
  else
    summa_abort(3);
  return summa_stop(0);
}
