/* psgemm.c: C = op(A) op(B) in fp32 by ScaLAPACK, with matrices in block-cyclic distribution over a grid of processes.

     mpirun -n 4 psgemm [option ...] M N K
       --grid PxQ    rows and columns of the grid of processes; default: the squarest grid
       --block B     rows and columns of a block [64]
       --op XY       NN (default), NT, TN, TT
       --panel KB    k of a local product: the result of pilaenv_() [4096]
       --repeat N    products [2]; the time is that of the first, and of the fastest of the others
       --integers    elements -8 ... 7: every sum is exact below k = 262144, so that all grids and libraries must agree

   Each process computes its part of C by local calls of sgemm_(), which the BLAS adapter takes if it is preloaded. The
   error is that of up to 64 x 64 elements of each process against a sum in double, as a fraction of the bound of fp32
   summation, (k + 2) 2^-24 |A| |B|. The checksum depends on each bit of C, and not on the grid. The exit status is 0,
   1 if an error is above the bound, and 2 after wrong arguments. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime() */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* BLACS, ScaLAPACK and PBLAS have no headers. */
void Cblacs_pinfo(int *rank, int *processes);
void Cblacs_get(int context, int what, int *value);
void Cblacs_gridinit(int *context, const char *order, int rows, int columns);
void Cblacs_gridinfo(int context, int *rows, int *columns, int *row, int *column);
void Cblacs_barrier(int context, const char *scope);
void Cblacs_exit(int keep_mpi);
void Cdgsum2d(int context, const char *scope, const char *top, int m, int n, double *x, int ldx, int row, int column);
void Cdgamx2d(int context, const char *scope, const char *top, int m, int n, double *x, int ldx, int *rows,
              int *columns, int ld_rows, int row, int column);
int numroc_(const int *n, const int *block, const int *process, const int *source, const int *processes);
void descinit_(int *desc, const int *m, const int *n, const int *mb, const int *nb, const int *row, const int *column,
               const int *context, const int *ld, int *info);
void psgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const float *alpha,
             const float *A, const int *ia, const int *ja, const int *desc_a, const float *B, const int *ib,
             const int *jb, const int *desc_b, const float *beta, float *C, const int *ic, const int *jc,
             const int *desc_c);

typedef struct setup {
  int m, n, k, block, repeat, integers;
  int context, rows, columns, row, column; /* the grid, and the place of this process in it */
  char op_a, op_b;
} setup;

/* A distributed matrix. Its local part is column-major with the leading dimension local_m. */
typedef struct matrix {
  int m, n, local_m, local_n;
  int desc[9];
  uint64_t seed;
  float *x;
} matrix;

static int panel = 4096;

/* PBLAS asks this function for the k of its local products. The one of ScaLAPACK says 32: for each 32 of k a local
   product would read and write C, which a GPU would have to copy twice. */
int pilaenv_(const int *context, const char *precision);
int pilaenv_(const int *context, const char *precision) {
  (void)context;
  (void)precision;
  return panel;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void stop(const char *what, const char *why) {
  fprintf(stderr, "psgemm: %s: %s\n", what, why);
  exit(2);
}

/* ---- Elements ---------------------------------------------------------------------------------------------------- */

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static uint64_t place(int i, int j) { return (uint64_t)(uint32_t)i << 32 | (uint32_t)j; }

static float element(const setup *s, uint64_t seed, int i, int j) {
  const uint64_t bits = mix(seed ^ place(i, j));
  return s->integers ? (float)(int)(bits >> 60) - 8.0f : (float)(int32_t)(bits >> 32) * 0x1p-31f;
}

static float element_of(const setup *s, const matrix *x, char op, int i, int j) {
  return op == 'N' ? element(s, x->seed, i, j) : element(s, x->seed, j, i);
}

/* The global index of the local index l of process p of a row or column of `processes`. */
static int global(const setup *s, int l, int p, int processes) {
  return (l / s->block * processes + p) * s->block + l % s->block;
}

/* The local part of an m x n matrix. seed 0: its elements are NaN. */
static matrix distributed(const setup *s, int m, int n, uint64_t seed) {
  const int zero = 0;
  matrix x = {m, n, 0, 0, {0}, mix(seed), NULL};
  int ld, info, i, j;
  x.local_m = numroc_(&m, &s->block, &s->row, &zero, &s->rows);
  x.local_n = numroc_(&n, &s->block, &s->column, &zero, &s->columns);
  ld = x.local_m > 0 ? x.local_m : 1;
  descinit_(x.desc, &m, &n, &s->block, &s->block, &zero, &zero, &s->context, &ld, &info);
  x.x = (float *)malloc(sizeof *x.x * (size_t)ld * (size_t)(x.local_n > 0 ? x.local_n : 1));
  if (info != 0 || x.x == NULL)
    stop("a matrix", info != 0 ? "descinit_() refuses it" : "no memory");
  for (j = 0; j < x.local_n; j++)
    for (i = 0; i < x.local_m; i++)
      x.x[(size_t)j * (size_t)ld + (size_t)i] =
          seed == 0 ? NAN : element(s, x.seed, global(s, i, s->row, s->rows), global(s, j, s->column, s->columns));
  return x;
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

enum { SAMPLES = 64 };

/* The local index of a sample: all of a small part, else evenly spread with both ends. */
static int sample(int i, int count) { return count <= SAMPLES ? i : (int)((int64_t)i * (count - 1) / (SAMPLES - 1)); }

static int samples_of(int count) { return count < SAMPLES ? count : SAMPLES; }

/* The largest error of the samples of this process over its bound; infinity after a NaN. */
static double error_of(const setup *s, const matrix *a, const matrix *b, const matrix *c) {
  const int m = samples_of(c->local_m), n = samples_of(c->local_n);
  double *rows = (double *)malloc(sizeof *rows * (size_t)(SAMPLES + 1) * (size_t)s->k), *column, worst = 0.0;
  int i, j, l;
  if (rows == NULL)
    stop("the rows to compare with", "no memory");
  column = rows + (size_t)SAMPLES * (size_t)s->k;
  for (i = 0; i < m; i++)
    for (l = 0; l < s->k; l++)
      rows[(size_t)i * (size_t)s->k + (size_t)l] = (double)element_of(
          s, a, s->op_a, global(s, sample(i, c->local_m), s->row, s->rows), l);
  for (j = 0; j < n; j++) {
    const int local_j = sample(j, c->local_n);
    for (l = 0; l < s->k; l++)
      column[l] = (double)element_of(s, b, s->op_b, l, global(s, local_j, s->column, s->columns));
    for (i = 0; i < m; i++) {
      const double *row = rows + (size_t)i * (size_t)s->k;
      const float got = c->x[(size_t)local_j * (size_t)c->local_m + (size_t)sample(i, c->local_m)];
      double sum = 0.0, sizes = 0.0, difference;
      for (l = 0; l < s->k; l++) {
        sum += row[l] * column[l];
        sizes += fabs(row[l] * column[l]);
      }
      difference = fabs((double)got - sum);
      if (!(difference <= 0.0)) /* a NaN too */
        worst = fmax(worst, isnan(difference) ? INFINITY : difference / ((s->k + 2) * 0x1p-24 * sizes));
    }
  }
  free(rows);
  return worst;
}

/* The sum of a hash of each element, mod 2^64, over all processes: in 4 digits of 16 bits, whose sums are exact. */
static uint64_t checksum_of(const setup *s, const matrix *c) {
  uint64_t sum = 0;
  double digits[4];
  int i, j;
  for (j = 0; j < c->local_n; j++)
    for (i = 0; i < c->local_m; i++) {
      uint32_t bits;
      memcpy(&bits, &c->x[(size_t)j * (size_t)c->local_m + (size_t)i], sizeof bits);
      sum += mix(bits ^ mix(place(global(s, i, s->row, s->rows), global(s, j, s->column, s->columns))));
    }
  for (i = 0; i < 4; i++)
    digits[i] = (double)(sum >> 16 * i & 0xffff);
  Cdgsum2d(s->context, "All", " ", 4, 1, digits, 4, -1, -1);
  for (sum = 0, i = 0; i < 4; i++)
    sum += (uint64_t)digits[i] << 16 * i;
  return sum;
}

static double largest(const setup *s, double x) {
  Cdgamx2d(s->context, "All", " ", 1, 1, &x, 1, NULL, NULL, -1, -1, -1);
  return x;
}

/* ---- Command line ------------------------------------------------------------------------------------------------ */

static int number(const char *what, const char *text) {
  char *end;
  const long x = strtol(text, &end, 10);
  if (end == text || *end != '\0' || x < 1 || x > 1 << 30)
    stop(what, "a number in 1 ... 2^30 is missing");
  return (int)x;
}

static void read_option(setup *s, const char *name, const char *value) {
  char end;
  if (strcmp(name, "--block") == 0) {
    s->block = number(name, value);
  } else if (strcmp(name, "--panel") == 0) {
    panel = number(name, value);
  } else if (strcmp(name, "--repeat") == 0) {
    s->repeat = number(name, value);
  } else if (strcmp(name, "--grid") == 0) {
    if (sscanf(value, "%dx%d%c", &s->rows, &s->columns, &end) != 2 || s->rows < 1 || s->columns < 1)
      stop(name, "not PxQ");
  } else if (strcmp(name, "--op") == 0) {
    if (strlen(value) != 2 || strspn(value, "NT") != 2)
      stop(name, "not NN, NT, TN or TT");
    s->op_a = value[0];
    s->op_b = value[1];
  } else {
    stop(name, "no such option; the head of psgemm.c lists them");
  }
}

static void read_arguments(setup *s, int argc, char **argv) {
  int *const sizes[] = {&s->m, &s->n, &s->k};
  int i, count = 0;
  for (i = 1; i < argc; i++)
    if (strcmp(argv[i], "--integers") == 0)
      s->integers = 1;
    else if (strncmp(argv[i], "--", 2) == 0)
      read_option(s, argv[i], i + 1 < argc ? argv[i + 1] : ""), i++;
    else if (count < 3)
      *sizes[count++] = number("a size", argv[i]);
    else
      stop(argv[i], "a fourth size");
  if (count < 3)
    stop("the sizes", "M N K are missing");
}

/* Sets the grid. Returns 0 if it is not the number of processes. */
static int set_grid(setup *s, int processes) {
  int row;
  for (row = 1; s->columns == 0 && row * row <= processes; row++)
    if (processes % row == 0)
      s->rows = row;
  s->columns = s->columns == 0 ? processes / s->rows : s->columns;
  if (s->rows * s->columns != processes)
    return 0;
  Cblacs_get(-1, 0, &s->context);
  Cblacs_gridinit(&s->context, "Row-major", s->rows, s->columns);
  Cblacs_gridinfo(s->context, &s->rows, &s->columns, &s->row, &s->column);
  return 1;
}

int main(int argc, char **argv) {
  setup s = {.block = 64, .repeat = 2, .op_a = 'N', .op_b = 'N'};
  const float one = 1.0f, zero = 0.0f;
  const int first = 1;
  double times[2] = {0.0, INFINITY}, error;
  uint64_t checksum;
  matrix a, b, c;
  int rank, processes, i;
  read_arguments(&s, argc, argv);
  Cblacs_pinfo(&rank, &processes);
  if (!set_grid(&s, processes)) {
    if (rank == 0)
      fprintf(stderr, "psgemm: --grid %dx%d: there are %d processes\n", s.rows, s.columns, processes);
    Cblacs_exit(0);
    return 2;
  }
  a = distributed(&s, s.op_a == 'N' ? s.m : s.k, s.op_a == 'N' ? s.k : s.m, 1);
  b = distributed(&s, s.op_b == 'N' ? s.k : s.n, s.op_b == 'N' ? s.n : s.k, 2);
  c = distributed(&s, s.m, s.n, 0);

  for (i = 0; i < s.repeat; i++) {
    double start, seconds;
    Cblacs_barrier(s.context, "All");
    start = now();
    psgemm_(&s.op_a, &s.op_b, &s.m, &s.n, &s.k, &one, a.x, &first, &first, a.desc, b.x, &first, &first, b.desc, &zero,
            c.x, &first, &first, c.desc);
    Cblacs_barrier(s.context, "All");
    seconds = now() - start;
    times[i > 0] = i == 0 || seconds < times[1] ? seconds : times[1];
  }
  times[1] = largest(&s, s.repeat > 1 ? times[1] : times[0]);
  error = largest(&s, error_of(&s, &a, &b, &c));
  checksum = checksum_of(&s, &c);
  if (rank == 0)
    printf("%d x %d x %d, %c%c, grid %dx%d, block %d, panel %d: first %.4f s, then %.4f s, %.3f TFLOP/s, "
           "error %.3g, checksum %016llx\n",
           s.m, s.n, s.k, s.op_a, s.op_b, s.rows, s.columns, s.block, panel, times[0], times[1],
           2e-12 * s.m * s.n * s.k / times[1], error, (unsigned long long)checksum);
  free(a.x);
  free(b.x);
  free(c.x);
  Cblacs_exit(0);
  return error <= 1.0 ? 0 : 1;
}
