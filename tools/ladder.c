/* ladder: runs every stage, checks each result against a reference in double precision, and measures the stage.

   On a GPU: time and rate, in per cent of cuBLAS SGEMM in the same run and of the device's measured ceilings.
   On the CPU model: counted memory requests, and the roofline bounds that follow from them for a GPU (--gpu).
   ladder --help lists the options; tools/pictures.py draws the JSON. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime(), chdir() */

#if defined(MACHINE_CUDA) && MACHINE_CUDA
#include "tools/ladder_gpu.h"
#else
#include "tools/ladder_model.h"
#endif

/* A progress line, on a terminal only. The next one overwrites it, and it is cleared before a line of the table. */
static void show_progress(int index, int all, const char *name) {
  if (isatty(STDERR_FILENO))
    fprintf(stderr, "\r[%d/%d] %-40s", index, all, name);
}

static void clear_progress(void) {
  if (isatty(STDERR_FILENO))
    fprintf(stderr, "\r%60s\r", "");
}

static const char *subject_name(subject s, const options *o) {
  static const char *const production[3][MODE_COUNT] = {
      {"production", "production_tensor", "production_tensor_full"},
      {"production", "production_tensor_prepared", "production_tensor_full_prepared"},
      {NULL, "production_tensor_prepared_both", "production_tensor_full_prepared_both"}};
  return s == SUBJECT_CUBLAS  ? "cublas"
         : s >= SUBJECT_FUSED ? fusions[fusion_of(s)].names[mode_of(s)]
         : is_production(s)   ? production[s < SUBJECT_BOTH_PREPARED ? o->prepared : 2][mode_of(s)]
                              : sgemm_variant_get((sgemm_variant)s)->name;
}

/* Lists the subjects in order: cuBLAS first, because the others are compared with it. A mode with both operands
   pre-split follows the mode with B pre-split. The fusions of a mode follow the mode. */
static int list_subjects(const options *o, subject *subjects) {
  int count = 0, v, f;
  for (v = SUBJECT_CUBLAS; v < SUBJECT_BOTH_PREPARED; v++) {
    if (has_subject(v, o))
      subjects[count++] = v;
    if (v >= SUBJECT_PRODUCTION && has_subject(v + MODE_COUNT, o))
      subjects[count++] = v + MODE_COUNT;
    for (f = 1; f < FUSION_COUNT && o->epilogues && v >= SUBJECT_PRODUCTION && has_subject(v, o); f++)
      subjects[count++] = SUBJECT_FUSED + MODE_COUNT * (f - 1) + mode_of(v);
  }
  for (v = 0; v < SGEMM_VARIANT_COUNT; v++)
    if (selected(o, (sgemm_variant)v))
      subjects[count++] = v;
  return count;
}

static void print_problem(const problem *q, float beta, int cold) {
  if (q->name[0] != '\0')
    printf("%s: ", q->name);
  printf("C = op(A) op(B)");
  if (beta != 0.0f)
    printf(" + %g C", (double)beta);
  printf(", m %lld, n %lld, k %lld, ", (long long)q->m, (long long)q->n, (long long)q->k);
  if (q->batch > 1)
    printf("batch %lld, ", (long long)q->batch);
  printf("op %s, uniform [-1, 1), on the %s%s\n", q->op, machine_name(),
         !RUNS_ON_GPU ? ""
         : cold       ? ", L2-cold"
                      : ", L2-warm");
}

/* The name of a problem in an L2 state, which is unique. */
static void name_case(const problem *q, int cold, char name[CASE_MOST]) {
  char batch[24] = "";
  if (q->batch > 1)
    snprintf(batch, sizeof batch, "x%lld", (long long)q->batch);
  snprintf(name, CASE_MOST, "%lldx%lldx%lld%s/%s%s%s%s", (long long)q->m, (long long)q->n, (long long)q->k, batch,
           q->op, cold ? "/cold" : "", q->name[0] != '\0' ? "/" : "", q->name);
}

/* Fills the cells of the problem and of the plan. */
static void fill_case(const meter *m, const problem *q, const data *d, const options *o, subject s, int cold, row *w) {
  const choice picked = picked_by(m, s, d);
  cell *cells = w->cells;
  w->subject = s;
  w->cold = cold;
  cells[COLUMN_variant].text = subject_name(s, o);
  cells[COLUMN_stage].text = s < SGEMM_VARIANT_COUNT ? sgemm_variant_get((sgemm_variant)s)->stage_name : NULL;
  cells[COLUMN_picked].text = picked.variant;
  cells[COLUMN_cluster_k].number = picked.cluster_k;
  cells[COLUMN_split_k].number = picked.split_k;
  cells[COLUMN_stream_k].number = picked.stream_k;
  cells[COLUMN_serial_k].number = picked.serial_k;
  cells[COLUMN_shape].text = q->name[0] != '\0' ? q->name : NULL;
  cells[COLUMN_m].number = (double)q->m;
  cells[COLUMN_n].number = (double)q->n;
  cells[COLUMN_k].number = (double)q->k;
  cells[COLUMN_batch].number = (double)q->batch;
  cells[COLUMN_op].text = q->op;
  cells[COLUMN_epilogue].text = fusions[fusion_of(s)].epilogue;
  cells[COLUMN_reduction].text = fusions[fusion_of(s)].reduction;
  cells[COLUMN_along].text = fusions[fusion_of(s)].along;
}

/* Fills the error over its bound. The bound of a dot product of k FMAs and its epilogue is (k + 2) 2^-24 |A||B|
   (Higham, Accuracy and Stability, 3.1). */
static void fill_error(meter *m, double error, row *w) {
  const double over_bound = error / ((w->cells[COLUMN_k].number + 2.0) * 0x1p-24);
  w->wrong = over_bound > 1.0;
  w->cells[COLUMN_componentwise_error].number = error;
  w->cells[COLUMN_error_over_bound].number = over_bound;
  w->cells[COLUMN_verdict].text = w->wrong ? "WRONG" : NULL;
  compare_error(m, w);
}

/* Checks the results of a subject and fills the cells of their error. 0 is success. */
static int check(meter *m, subject s, const data *d, int set, row *w) {
  double error;
  if (s >= SUBJECT_FUSED) {
    if (fusion_error(d, s, set, &error))
      return 1;
    w->wrong = error > 1.0;
    w->cells[COLUMN_error_over_bound].number = error;
    w->cells[COLUMN_verdict].text = w->wrong ? "WRONG" : NULL;
    return 0;
  }
  if (error_of(d, set, &error))
    return 1;
  fill_error(m, error, w);
  return 0;
}

/* Prints why a subject was not measured. Returns 2. */
static int fail_subject(const meter *m, const char *what, const char *name) {
  clear_progress();
  return fail(m->status != SGEMM_SUCCESS ? sgemm_status_string(m->status) : what, name);
}

/* 1 if the variant cannot run on this device or with these operands, after a line that says so. */
static int is_left_out(const meter *m, subject s, const char *name) {
  if (s >= SGEMM_VARIANT_COUNT || m->status != SGEMM_ERROR_PLAN)
    return 0;
  clear_progress();
  fprintf(stderr, "ladder: left out, no variant for this device and these operands: %s\n", name);
  return 1;
}

/* Flushes, so that the file keeps its lines if the ladder is killed. Returns 0, or 2 after an error message. */
static int flush(FILE *file, const char *path) {
  errno = 0;
  if (fflush(file) == 0 && !ferror(file))
    return 0;
  return fail(errno != 0 ? strerror(errno) : "not all could be written", path);
}

/* Returns 0, 1 if a result is wrong, or 2 after an error message. csv may be NULL. */
static int run_problem(meter *m, const problem *q, const options *o, int cold, int quiet, FILE *csv, report *r,
                       int *done, int all) {
  subject subjects[SUBJECT_COUNT];
  const int count = list_subjects(o, subjects);
  char name[CASE_MOST];
  data d;
  int i, measured = 0, wrong = 0, failed = 0;
  name_case(q, cold, name);
  if (open_data(&d, q, o->beta, eviction_bytes(m, cold)) || (o->epilogues && open_fusions(&d, !o->no_aux)))
    return fail("not enough memory for the matrices", name);
  for (i = 0; i < count && !failed; i++) {
    row *w = add_row(r);
    int set = 0;
    if (w == NULL) {
      failed = fail("not enough memory for", "the results");
      break;
    }
    show_progress(++*done, all, subject_name(subjects[i], o));
    snprintf(w->name, sizeof w->name, "%s/%s", subject_name(subjects[i], o), name);
    if (open_subject(m, subjects[i], &d, o)) {
      failed = fail_subject(m, "not enough memory for the workspace", w->name);
      break;
    }
    fill_case(m, q, &d, o, subjects[i], cold, w);
    if (spoil(&d) || spoil_fusion(subjects[i], &d) || measure(m, subjects[i], &d, o, cold, w, &set) ||
        check(m, subjects[i], &d, set, w)) {
      if (is_left_out(m, subjects[i], w->name)) {
        r->row_count--;
        continue;
      }
      failed = fail_subject(m, "the run failed", w->name);
      break;
    }
    clear_progress();
    wrong |= w->wrong;
    if (!quiet && measured++ == 0) {
      if (*done > 1)
        putchar('\n');
      print_problem(q, o->beta, cold);
      print_machine(m, &d.p);
      print_headings(o->epilogues);
    }
    if (!quiet)
      print_row(w, o->epilogues);
    if (csv != NULL) {
      write_csv_row(w, csv);
      failed = flush(csv, o->csv);
    }
  }
  close_subject(m);
  close_fusions(&d);
  close_data(&d);
  return failed ? failed : wrong;
}

static int run_ladder(meter *m, const options *o, int quiet, FILE *csv, report *r) {
  subject subjects[SUBJECT_COUNT];
  const int all = list_subjects(o, subjects) * (int)o->problem_count * (o->warm + o->cold);
  size_t q, i, wrong = 0;
  int status = 0, cold, done = 0;
  for (q = 0; q < o->problem_count; q++)
    for (cold = !o->warm; cold <= o->cold; cold++)
      if ((status = run_problem(m, &o->problems[q], o, cold, quiet, csv, r, &done, all)) == 2)
        return status;
  r->epilogues = o->epilogues;
  sum_up(o, r);
  for (i = 0; i < r->row_count; i++)
    wrong += (size_t)r->rows[i].wrong;
  if (!quiet) {
    putchar('\n');
    print_legend(r);
    if (o->epilogues)
      puts(
          "+NAME: with an epilogue, or with a reduction of the rows or columns. Its error is against the expression in "
          "double, over\n"
          "how far the expression moves within the bound of the sum, and its own rounding");
    printf(
        "error: largest |C - double reference| over (k + 2) 2^-24 |A||B|, in at least %d rows and %d results; bound: "
        "1\n"
        "%zu results, %zu wrong\n",
        COMPARED_ROWS, COMPARED_RESULTS, r->row_count, wrong);
    print_errors(o, r);
    for (i = 0; i < (size_t)r->summary_count; i++)
      printf("%s\n", r->summary[i]);
  }
  return wrong > 0;
}

/* The output files. The CSV is written line by line, the others at the end. */
enum { CSV, JSON, MARKDOWN, OUTPUTS };

typedef struct output {
  const char *path; /* NULL: not asked for; -: standard output */
  FILE *file;
} output;

/* Opens all files before the first measurement. Returns 0, or 2 after an error message. */
static int open_outputs(output *outputs) {
  int i;
  for (i = 0; i < OUTPUTS; i++) {
    if (outputs[i].path == NULL)
      continue;
    outputs[i].file = strcmp(outputs[i].path, "-") == 0 ? stdout : fopen(outputs[i].path, "w");
    if (outputs[i].file == NULL)
      return fail(strerror(errno), outputs[i].path);
  }
  if (outputs[CSV].file == NULL)
    return 0;
  write_csv_header(outputs[CSV].file);
  return flush(outputs[CSV].file, outputs[CSV].path);
}

static int write_outputs(const output *outputs, const report *r) {
  int status = 0;
  if (outputs[JSON].file != NULL) {
    write_json(r, outputs[JSON].file);
    status = flush(outputs[JSON].file, outputs[JSON].path);
  }
  if (status == 0 && outputs[MARKDOWN].file != NULL) {
    write_markdown(r, outputs[MARKDOWN].file);
    status = flush(outputs[MARKDOWN].file, outputs[MARKDOWN].path);
  }
  return status;
}

int main(int argc, char **argv) {
  static options o;
  static meter m;
  report r = {0};
  const char *directory = getenv("BUILD_WORKING_DIRECTORY"); /* the directory in which `bazel run` was called */
  output outputs[OUTPUTS] = {{NULL, NULL}};
  int i, status, quiet = 0;
  if (directory != NULL && chdir(directory) != 0)
    return fail("BUILD_WORKING_DIRECTORY is no directory", directory);
  status = parse(&o, argc, argv, RUNS_ON_GPU, DEFAULT_M, DEFAULT_N, DEFAULT_K);
  if (status != 0)
    return status == 1 ? flush(stdout, "standard output") : status;
  outputs[CSV].path = o.csv;
  outputs[JSON].path = o.json;
  outputs[MARKDOWN].path = o.markdown;
  if (!machine_present())
    return fail("no device to run on", machine_name());
  if ((status = open_meter(&m, &o, &r)) != 0 || (status = open_outputs(outputs)) != 0)
    return status;
  for (i = 0; i < OUTPUTS; i++)
    quiet |= outputs[i].file == stdout;
  status = run_ladder(&m, &o, quiet, outputs[CSV].file, &r);
  if (status != 2 && (write_outputs(outputs, &r) != 0 || flush(stdout, "standard output") != 0))
    status = 2;
  free(r.rows);
  close_meter(&m);
  return status;
}
