/* accuracy: tests whether the tensor modes are as accurate as fp32. It multiplies the inputs of tools/accuracy_data.h
   in all modes and by cuBLAS, and judges the errors by the rules of tools/accuracy_rule.h. Without a GPU it runs small
   sizes on the CPU model and compares them with a chain of FMAs. tools/pictures.py accuracy draws the CSV. */
#define _POSIX_C_SOURCE 200809L /* isatty(), chdir() */

#include "tools/accuracy_rule.h"

#if defined(MACHINE_CUDA) && MACHINE_CUDA
#include "tools/probe.h"
#endif

#include <errno.h>
#include <unistd.h>

static const char usage[] = "usage: accuracy [OPTION]...\n"
                            "  --quick              2 seeds, fewer k\n"
                            "  --m --n N            size of C; 128 by default on the CPU model, 2048 on a GPU\n"
                            "  --k N,...            up to 16 values of k, in place of the default ones\n"
                            "  --seeds N            1 to 100, 5 by default\n"
                            "  --inputs NAME,...    some of the inputs below; rules without inputs are omitted\n"
                            "  --variant NAME       a tensor-core variant, for its format; by default the variant that "
                            "is selected\n"
                            "                       for 4096 x 4096 results. select: in both formats the variants that "
                            "sgemm_run() selects\n"
                            "  --csv FILE           a line for each multiplication and mode\n"
                            "  --probe              on a GPU: only prints how its tensor cores add\n"
                            "exit status: 0, 1 if a rule is broken, 2 if the tool could not run\n"
                            "inputs:\n";

typedef struct options {
  request request;
  int64_t m, n;
  const char *variant, *csv; /* NULL: not given */
  int probe;
} options;

/* Parses an integer from 1 to most at *text and moves *text behind it. Returns 0 if there is none. */
static int64_t parse_number(const char **text, int64_t most) {
  char *end;
  long long value;
  errno = 0;
  value = strtoll(*text, &end, 10);
  if (end == *text || errno != 0 || value < 1 || value > most)
    return 0;
  *text = end;
  return value;
}

/* The integer that the whole text gives; 0 if it gives none. */
static int64_t parse_whole(const char *text, int64_t most) {
  const int64_t value = parse_number(&text, most);
  return *text == '\0' ? value : 0;
}

static int parse_depths(request *q, const char *text) {
  for (q->depth_count = 0; q->depth_count < DEPTHS_MOST; text++) {
    if ((q->depths[q->depth_count++] = parse_number(&text, 1 << 20)) == 0)
      return 0;
    if (*text != ',')
      return *text == '\0';
  }
  return 0;
}

static int parse_inputs(request *q, const char *text) {
  memset(q->inputs, 0, sizeof q->inputs);
  for (;; text++) {
    const size_t length = strcspn(text, ",");
    int input = 0;
    while (input < INPUTS && (strlen(accuracy_input_get(input)->name) != length ||
                              strncmp(accuracy_input_get(input)->name, text, length) != 0))
      input++;
    if (input == INPUTS)
      return 0;
    q->inputs[input] = 1;
    text += length;
    if (*text == '\0')
      return 1;
  }
}

/* Returns 0, 1 if help was printed, or 2 after an error message. */
static int parse(options *o, int argc, char **argv) {
  const char *depths = NULL, *seeds = NULL, *inputs = NULL;
  int i, quick = 0;
  memset(o, 0, sizeof *o);
  o->m = o->n = DEFAULT_SIDE;
  for (i = 1; i < argc; i++) {
    const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(name, "--help") == 0) {
      fputs(usage, stdout);
      for (i = 0; i < INPUTS; i++)
        printf("  %c %-13s %s\n", accuracy_input_get(i)->rule, accuracy_input_get(i)->name,
               accuracy_input_get(i)->idea);
      return 1;
    }
    if (strcmp(name, "--quick") == 0) {
      quick = 1;
      continue;
    }
    if (strcmp(name, "--probe") == 0) {
      o->probe = 1;
      continue;
    }
    if (strcmp(name, "--m") != 0 && strcmp(name, "--n") != 0 && strcmp(name, "--k") != 0 &&
        strcmp(name, "--seeds") != 0 && strcmp(name, "--inputs") != 0 && strcmp(name, "--variant") != 0 &&
        strcmp(name, "--csv") != 0)
      return accuracy_fail("unknown option (--help lists them)", name);
    if (value == NULL)
      return accuracy_fail("the option needs a value", name);
    i++;
    if (strcmp(name, "--m") == 0 || strcmp(name, "--n") == 0) {
      const int m = name[2] == 'm';
      const int64_t size = parse_whole(value, 16384);
      if (size < 8)
        return accuracy_fail(m ? "--m is a whole number from 8 to 16384" : "--n is a whole number from 8 to 16384",
                             value);
      *(m ? &o->m : &o->n) = size;
    } else
      *(name[2] == 'k'   ? &depths
        : name[2] == 's' ? &seeds
        : name[2] == 'i' ? &inputs
        : name[2] == 'v' ? &o->variant
                         : &o->csv) = value;
  }
  request_init(&o->request, quick);
  if (depths != NULL && !parse_depths(&o->request, depths))
    return accuracy_fail("--k is a list of up to 16 whole numbers from 1 to 1048576", depths);
  if (seeds != NULL && (o->request.seeds = (int)parse_whole(seeds, SEEDS_MOST)) == 0)
    return accuracy_fail("--seeds is a whole number from 1 to 100", seeds);
  if (inputs != NULL && !parse_inputs(&o->request, inputs))
    return accuracy_fail("--inputs names an unknown input (--help lists them)", inputs);
  return 0;
}

/* Sets the variants of --variant. Returns 0, or 2 after an error message. */
static int pick_variants(bench *b, const char *name) {
  int variant, mode;
  if (name == NULL)
    return 0;
  if (strcmp(name, "select") == 0) {
    b->variants[TENSOR] = b->variants[TENSOR_FULL] = BY_SELECTION;
    return 0;
  }
  for (variant = 0; variant < SGEMM_TENSOR_VARIANT_COUNT; variant++)
    if (strcmp(sgemm_tensor_variant_get((sgemm_tensor_variant)variant)->name, name) == 0)
      for (mode = TENSOR; mode <= TENSOR_FULL; mode++)
        if (variant_possible(b, mode, variant, INT64_MAX)) {
          b->variants[mode] = variant;
          return 0;
        }
  return accuracy_fail("--variant is no row of SGEMM_TENSOR_VARIANTS that can run here", name);
}

/* ---- Output ------------------------------------------------------------------------------------------------------ */

static void write_csv_header(FILE *csv) {
  fprintf(csv, "mode,input,k,seed,frobenius,componentwise,bias,guard,path,cublas_frobenius,cublas_componentwise,"
               "cublas_bias\n");
}

/* Writes a record. Inputs of rules E and F have no baseline, and empty fields for it. */
static void write_csv(FILE *csv, const record *w) {
  int s;
  for (s = 0; s < SUBJECTS; s++) {
    const outcome *r = &w->of[s], *c = &w->of[BASELINE];
    if (!r->ran)
      continue;
    fprintf(csv, "%s,%s,%lld,%d,%.6e,%.6e,%.6e,%u,%s,", subject_name(s), input_name(w), (long long)w->k, w->seed,
            r->frobenius, r->componentwise, r->bias, (unsigned)r->guard, r->path);
    if (c->ran)
      fprintf(csv, "%.6e,%.6e,%.6e\n", c->frobenius, c->componentwise, c->bias);
    else
      fputs(",,\n", csv);
  }
}

/* Writes the CSV lines of a record, and the progress on a terminal. */
static void write_record(void *csv, const record *w, int done, int all) {
  if (csv != NULL)
    write_csv((FILE *)csv, w);
  if (isatty(STDERR_FILENO))
    fprintf(stderr, "\r[%d/%d] %-16s k %-6lld%s", done, all, input_name(w), (long long)w->k, done < all ? "" : "\n");
}

/* Prints a line for each input of rules A and D, each k and each subject. Over the seeds, it has the geometric mean of
   the Frobenius errors and of their ratios to the baseline's, the largest componentwise error, and the largest bias. */
static void print_table(const record *records, int count) {
  int first, end, i, s;
  printf("%-13s %6s %-12s %10s %10s %10s %10s %7s  %s\n", "input", "k", "mode", "frobenius", "ratio", "worst/u",
         "bias/u", "guard", "path");
  for (first = 0; first < count; first = end) {
    const char rule = accuracy_input_get(records[first].input)->rule;
    end = group_end(records, count, first);
    for (s = 0; s < SUBJECTS && (rule == 'A' || rule == 'D'); s++) {
      double log_error = 0.0, log_ratio = 0.0, worst = 0.0, bias = 0.0;
      const char *path = NULL;
      int fired = 0;
      for (i = first; i < end; i++) {
        const outcome *r = &records[i].of[s];
        log_error += log(r->frobenius);
        log_ratio += log(ratio_of(r->frobenius, records[i].of[BASELINE].frobenius));
        worst = fmax(worst, r->componentwise);
        bias = fabs(r->bias) > fabs(bias) ? r->bias : bias;
        fired += r->guard != 0;
        path = path == NULL || on_tensor_cores(r) ? r->path : path;
      }
      if (records[first].of[s].ran)
        printf("%-13s %6lld %-12s %10.3e %10.4g %10.3f %10.3f %3d/%-3d  %s\n", input_name(&records[first]),
               (long long)records[first].k, subject_name(s), exp(log_error / (end - first)),
               exp(log_ratio / (end - first)), worst / ROUNDOFF, bias / ROUNDOFF, fired, end - first, path);
    }
  }
}

/* Prints the verdicts. Returns 1 if a rule is broken. */
static int print_verdicts(const bench *b, const verdict *verdicts, int count) {
  int i, mode, broken = 0;
  putchar('\n');
  for (mode = TENSOR; mode <= TENSOR_FULL; mode++)
    if (!b->has[mode])
      printf("no verdicts on %s: not compiled, or not for this machine\n", subject_name(mode));
  for (i = 0; i < count; i++) {
    const verdict *v = &verdicts[i];
    const char *word = v->subject == CONTROL ? (v->broken ? "not broken by" : "broken, as it should be, by")
                       : v->broken           ? "BROKEN by"
                                             : "kept by";
    printf("rule %c %s %s: %s\n", v->rule, word, subject_name(v->subject), v->text);
    broken |= v->broken;
  }
  return broken;
}

static int run(bench *b, const options *o, FILE *csv) {
  request q = o->request;
  const int all = count_records(&q);
  record *records = (record *)calloc((size_t)all, sizeof *records);
  verdict verdicts[VERDICTS_MOST];
  int count, status = 2;
  if (records == NULL)
    return accuracy_fail("not enough memory", "for the results");
  q.after_record = write_record;
  q.csv = csv;
  if (measure_all(b, &q, records) == 0 && judge_all(b, &q, records, all, verdicts, &count) == 0) {
    print_table(records, all);
    status = print_verdicts(b, verdicts, count);
  }
  free(records);
  return status;
}

int main(int argc, char **argv) {
  const char *directory = getenv("BUILD_WORKING_DIRECTORY"); /* the directory in which `bazel run` was called */
  FILE *csv = NULL;
  options o;
  bench b;
  int status;
  if (directory != NULL && chdir(directory) != 0)
    return accuracy_fail("BUILD_WORKING_DIRECTORY is no directory", directory);
  status = parse(&o, argc, argv);
  if (status != 0)
    return status == 1 ? 0 : status;
  if (o.probe) {
#if defined(MACHINE_CUDA) && MACHINE_CUDA
    return machine_present() ? machine_failed(probe_print(), "the probe")
                             : accuracy_fail("no device to run on", machine_name());
#else
    return accuracy_fail("an option of the GPU build, and this is the CPU model", "--probe");
#endif
  }
  if (o.csv != NULL && (csv = fopen(o.csv, "w")) == NULL)
    return accuracy_fail(strerror(errno), o.csv);
  if (csv != NULL)
    write_csv_header(csv);
  status = open_bench(&b, o.m, o.n, deepest_of(&o.request));
  if (status == 0) {
    status = pick_variants(&b, o.variant);
    if (status == 0)
      status = run(&b, &o, csv);
    close_bench(&b);
  }
  if (csv != NULL && (ferror(csv) || fclose(csv) != 0))
    status = accuracy_fail("not all could be written", o.csv);
  if (fflush(stdout) != 0 || ferror(stdout))
    status = accuracy_fail("not all could be written", "standard output");
  return status;
}
