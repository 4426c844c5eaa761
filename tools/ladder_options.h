/* ladder_options.h: the options of the ladder, from its command line and its shape files. */
#ifndef LADDER_OPTIONS_H
#define LADDER_OPTIONS_H

#include "sgemm.h"
#include "tools/shapes.h"

#include <fnmatch.h>
#include <math.h>

static const char usage[] =
    "usage: ladder [OPTION VALUE]...\n"
    "problems\n"
    "  --m --n --k SIZES    lists of numbers from 1 to 1048576 and of ranges first:last:step: 512, 256,512,\n"
    "                       1024:4096:1024\n"
    "  --sizes SIZES        squares m = n = k, in place of --m, --n and --k\n"
    "  --shapes FILE        a CSV file in place of sizes, with the header name,m,n,k,batch,op. On a GPU, with\n"
    "                       --production or --production-only, the last lines are the score: cuBLAS's time over this\n"
    "                       library's time, geometric mean of all shapes and worst shape, L2-warm and L2-cold\n"
    "                       separately. A wrong result counts as 0\n"
    "  --op OP              NN (default), NT, TN or TT\n"
    "  --beta NUMBER        on a GPU: C = op(A) op(B) + NUMBER C, above 0 and at most 1. The result that is checked\n"
    "                       is that of two more calls on a C of zeros\n"
    "kernels\n"
    "  --stages NAME,...    some of the stages below; by default all\n"
    "  --variants GLOB      the variants of these stages whose names match, such as '*128x128x8*'\n"
    "  --production         also the plan that sgemm_run() selects\n"
    "  --production-only    only the plan that sgemm_run() selects: on a GPU, with cuBLAS, a shape file takes seconds\n"
    "  --errors             on a GPU: a table of the errors of production and cuBLAS and of their ratios. An error is\n"
    "                       the largest |C - double reference| / |A||B| of a shape. Implies --production\n"
    "  --epilogues          in place of the stages, the plan that sgemm_run() selects: the plain call, then a line "
    "for\n"
    "                       each row of the table of epilogues and for each reduction of the rows and of the columns,\n"
    "                       with the ratio to the plain call: of times, or without a GPU of the bytes of global "
    "memory\n"
    "  --no-aux             with --epilogues: the rows of the table store no aux\n"
    "modes of production, on a GPU\n"
    "  --mode MODE,...      strict (default), tensor, tensor_full: a row and a score for each. A tensor mode has a\n"
    "                       second score, over the shapes with m, n and k of 512 and more, and the workspace that\n"
    "                       sgemm_workspace_query() asks for. cuBLAS always has 32 MiB. Implies --production\n"
    "  --workspace MIB      the largest workspace of strict production: 32, as for cuBLAS, or 0\n"
    "  --prepared           the tensor modes with B split before the timing starts\n"
    "  --prepared-both      the tensor modes with A and B split before: the time of the multiplying kernels alone.\n"
    "                       With --prepared, both cases\n"
    "  --ceilings           the tensor modes in per cent of cuBLAS on as many 16-bit products, fp16 at 3 k for\n"
    "                       tensor, bf16 at 6 k for tensor_full, for every shape without a batch; without this option\n"
    "                       only for squares from 1024 on\n"
    "timing, on a GPU\n"
    "  --warm               L2-warm: all calls use one set of matrices (default)\n"
    "  --cold               L2-cold: calls on other matrices of twice the L2's size in between. With --warm, both\n"
    "  --time SECONDS       the longest time of a case, after 3 samples; 2 by default, 0.1 with --production-only. A\n"
    "                       case ends earlier after 10 samples, 0.5 s and with a spread below 0.5 %\n"
    "  --reps N             N samples for each case, 1 to 4000\n"
    "rooflines, without a GPU\n"
    "  --gpu NAME           H200 (default), A100, RTX3090 or RTX3070\n"
    "  --peak GFLOPS --bandwidth GBS    another GPU, with 128 lanes per SM\n"
    "output files, - for standard output in place of the table\n"
    "  --csv FILE           written line by line, so that an interrupted run keeps what it measured\n"
    "  --json FILE  --markdown FILE     written at the end\n"
    "exit status: 0, 1 if a result is wrong, 2 if the ladder could not run\n"
    "stages:";

enum { PROBLEMS_MOST = SHAPES_MOST, SAMPLES_MOST = 4000 };

/* A subject of measurement: a variant by its number, or one of these. Production is one subject for each sgemm_mode.
   Each tensor mode has a ceiling; its rate is in the row of the mode's subject. A fusion is an epilogue or a reduction
   (ladder_fusions.h), with a subject in each mode. */
typedef int subject;
enum {
  MODE_COUNT = SGEMM_TENSOR_FULL + 1,
  SUBJECT_CUBLAS = SGEMM_VARIANT_COUNT,
  SUBJECT_PRODUCTION,
  SUBJECT_BOTH_PREPARED = SUBJECT_PRODUCTION + MODE_COUNT, /* the tensor modes with A and B pre-split */
  SUBJECT_FUSED = SUBJECT_BOTH_PREPARED + MODE_COUNT,      /* production with each fusion, and in turn in each mode */
  FUSION_COUNT = SGEMM_EPILOGUE_COUNT + 2 * SGEMM_REDUCTION_COUNT, /* with the epilogue none, the plain call */
  SUBJECT_COUNT = SUBJECT_FUSED + MODE_COUNT * (FUSION_COUNT - 1),
  SUBJECT_CEILING = SUBJECT_COUNT
};

static int is_production(subject s) { return s >= SUBJECT_PRODUCTION && s < SUBJECT_COUNT; }
static int mode_of(subject s) { return is_production(s) ? (s - SUBJECT_PRODUCTION) % MODE_COUNT : SGEMM_STRICT; }

/* How sizes are given. Options of two kinds are an error. */
typedef enum sizes_by { BY_DEFAULT, BY_SIDES, BY_SQUARES, BY_FILE } sizes_by;

typedef struct list {
  int64_t values[PROBLEMS_MOST];
  size_t count;
} list;

typedef struct options {
  problem problems[PROBLEMS_MOST];
  size_t problem_count;
  char stages[SGEMM_STAGE_COUNT]; /* 1: requested */
  const char *variants;           /* glob, or NULL */
  char modes[MODE_COUNT];         /* 1: requested */
  int limited, workspace_mib;     /* 1: strict production has at most so many MiB of workspace */
  int production, production_only, epilogues, no_aux, errors, prepared, prepared_both, ceilings, warm, cold;
  int both_prepared_cases; /* 1: measures both cases, B pre-split and A and B pre-split */
  int reps;                /* 0: until the spread is small or the time has passed */
  float beta;              /* 0: C is not read */
  double seconds;
  const char *gpu;
  double peak_gflops, bandwidth_gbs; /* 0: those of `gpu` */
  const char *csv, *json, *markdown; /* NULL: not requested */
} options;

static const char *stage_name(int stage) {
  static const char *const names[] = {
#define NAME(stage, cluster_split_k, tma, idea) #stage,
      SGEMM_STAGES(NAME)
#undef NAME
  };
  return names[stage];
}

/* Prints one line to stderr. argument: may be NULL. Returns 2, the exit status. */
static int fail(const char *what, const char *argument) {
  fprintf(stderr, "ladder: %s%s%s\n", what, argument != NULL ? ": " : "", argument != NULL ? argument : "");
  return 2;
}

/* The number above 0 that the whole text gives; 0 if it gives none. */
static double parse_real(const char *text) {
  char *end;
  const double value = strtod(text, &end);
  return end != text && *end == '\0' && isfinite(value) && value > 0.0 ? value : 0.0;
}

/* Parses SIZES of the usage text. Returns 0 if the text is something else or lists too many. */
static int parse_sizes(list *sizes, const char *text) {
  sizes->count = 0;
  for (;; text++) {
    int64_t first = shapes_number(&text, SIZE_MOST, ",:"), last = first, step = 1;
    if (*text == ':') {
      text++;
      last = shapes_number(&text, SIZE_MOST, ":");
      if (last == 0 || *text != ':')
        return 0;
      text++;
      step = shapes_number(&text, SIZE_MOST, ",");
    }
    if (first == 0 || last < first || step == 0)
      return 0;
    for (; first <= last; first += step) {
      if (sizes->count == PROBLEMS_MOST)
        return 0;
      sizes->values[sizes->count++] = first;
    }
    if (*text == '\0')
      return 1;
  }
}

static const char *mode_name(int mode) {
  static const char *const names[MODE_COUNT] = {"strict", "tensor", "tensor_full"};
  return names[mode];
}

/* Sets asked[i] for each name of the list that equals name_of(i), i < count. Returns 0 if a name equals none. */
static int parse_names(char *asked, int count, const char *(*name_of)(int), const char *text) {
  for (;; text++) {
    const size_t length = strcspn(text, ",");
    int i = 0;
    while (i < count && (strlen(name_of(i)) != length || strncmp(name_of(i), text, length) != 0))
      i++;
    if (i == count)
      return 0;
    asked[i] = 1;
    text += length;
    if (*text == '\0')
      return 1;
  }
}

/* Makes problems of every m with every n and every k, or squares of every m. Returns 0 if these are too many. */
static int combine(options *o, sizes_by by, const list *m, const list *n, const list *k, const char *op) {
  const size_t count = by == BY_SQUARES ? m->count : m->count * n->count * k->count;
  size_t i;
  if (count > PROBLEMS_MOST)
    return 0;
  for (i = 0; i < count; i++) {
    problem *p = &o->problems[i];
    p->name[0] = '\0';
    p->batch = 1;
    p->m = by == BY_SQUARES ? m->values[i] : m->values[i / k->count / n->count];
    p->n = by == BY_SQUARES ? m->values[i] : n->values[i / k->count % n->count];
    p->k = by == BY_SQUARES ? m->values[i] : k->values[i % k->count];
    memcpy(p->op, op, sizeof p->op);
  }
  o->problem_count = count;
  return 1;
}

static int selected(const options *o, sgemm_variant variant) {
  const sgemm_variant_info *v = sgemm_variant_get(variant);
  return !o->production_only && sgemm_compiled(variant) && o->stages[v->stage] &&
         (o->variants == NULL || fnmatch(o->variants, v->name, 0) == 0);
}

static int is_one_of(const char *name, const char *const *names) {
  while (*names != NULL && strcmp(name, *names) != 0)
    names++;
  return *names != NULL;
}

/* The flag of an option without a value; NULL for other options. */
static int *flag_of(options *o, const char *name) {
  static const char *const names[] = {"--production", "--production-only", "--epilogues", "--no-aux", "--errors",
                                      "--prepared",   "--prepared-both",   "--ceilings",  "--warm",   "--cold"};
  int *const flags[] = {&o->production, &o->production_only, &o->epilogues, &o->no_aux, &o->errors,
                        &o->prepared,   &o->prepared_both,   &o->ceilings,  &o->warm,   &o->cold};
  size_t i;
  for (i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(name, names[i]) == 0)
      return flags[i];
  return NULL;
}

/* What the command line asks for besides `options`. */
typedef struct command {
  list sides[3]; /* m, n and k */
  sizes_by by;
  char op[3];
  const char *shapes, *asked_op, *asked_variants; /* NULL: not given. asked_variants: an option that picks variants */
  int asked_mode;
} command;

static int print_help(void) {
  int s;
  fputs(usage, stdout);
  for (s = 0; s < SGEMM_STAGE_COUNT; s++)
    printf(" %s", stage_name(s));
  putchar('\n');
  return 1;
}

/* Checks the name of an option. Returns 0, or 2 after an error message. */
static int check_name(const char *name, int is_flag, int on_gpu) {
  static const char *const valued[] = {"--m",         "--n",    "--k",    "--sizes",     "--shapes",
                                       "--op",        "--beta", "--mode", "--workspace", "--stages",
                                       "--variants",  "--time", "--reps", "--gpu",       "--peak",
                                       "--bandwidth", "--csv",  "--json", "--markdown",  NULL};
  static const char *const gpu_only[] = {"--errors",   "--mode",      "--prepared", "--prepared-both",
                                         "--ceilings", "--workspace", "--warm",     "--cold",
                                         "--time",     "--reps",      "--beta",     NULL};
  static const char *const model_only[] = {"--gpu", "--peak", "--bandwidth", NULL};
  if (!is_flag && !is_one_of(name, valued))
    return fail("unknown option (--help lists them)", name);
  if (!on_gpu && is_one_of(name, gpu_only))
    return fail("an option of the GPU build, and this is the CPU model", name);
  return on_gpu && is_one_of(name, model_only) ? fail("an option of the CPU model, and this is the GPU build", name)
                                               : 0;
}

/* Reads the value of an option that gives sizes. Returns 0, or 2 after an error message. */
static int read_sizes(command *c, const char *name, const char *value) {
  const sizes_by now = strcmp(name, "--shapes") == 0 ? BY_FILE : strcmp(name, "--sizes") == 0 ? BY_SQUARES : BY_SIDES;
  if (now == BY_FILE)
    c->shapes = value;
  else if (!parse_sizes(&c->sides[now == BY_SQUARES || name[2] == 'm' ? 0 : name[2] == 'n' ? 1 : 2], value))
    return fail("sizes are numbers from 1 to 1048576 and ranges start:stop:step, at most 4096", value);
  if (c->by != BY_DEFAULT && now != c->by)
    return fail("sizes come from --m, --n and --k, from --sizes or from --shapes, not from two of them", name);
  c->by = now;
  return 0;
}

/* Reads the value of an option that check_name() accepts. Returns 0, or 2 after an error message. */
static int read_option(options *o, command *c, const char *name, const char *value) {
  const char *text = value;
  if (strcmp(name, "--op") == 0) {
    if (!shapes_op(c->op, c->asked_op = value))
      return fail("--op is not NN, NT, TN or TT", value);
  } else if (strcmp(name, "--beta") == 0) {
    const double beta = parse_real(value);
    if (beta == 0.0 || beta > 1.0)
      return fail("--beta is not a number above 0 and at most 1", value);
    o->beta = (float)beta;
  } else if (strcmp(name, "--stages") == 0) {
    c->asked_variants = name;
    memset(o->stages, 0, sizeof o->stages);
    if (!parse_names(o->stages, SGEMM_STAGE_COUNT, stage_name, value))
      return fail("--stages names an unknown stage (--help lists them)", value);
  } else if (strcmp(name, "--mode") == 0) {
    c->asked_mode = 1;
    if (!parse_names(o->modes, MODE_COUNT, mode_name, value))
      return fail("--mode is a list of strict, tensor and tensor_full", value);
  } else if (strcmp(name, "--variants") == 0) {
    o->variants = value;
    c->asked_variants = name;
  } else if (strcmp(name, "--reps") == 0) {
    if ((o->reps = (int)shapes_number(&text, SAMPLES_MOST, "")) == 0)
      return fail("--reps is not a whole number from 1 to 4000", value);
  } else if (strcmp(name, "--workspace") == 0) {
    o->limited = 1;
    o->workspace_mib = (int)shapes_number(&text, 1 << 20, "");
    if (o->workspace_mib == 0 && strcmp(value, "0") != 0)
      return fail("--workspace is not a whole number of MiB from 0 to 1048576", value);
  } else if (strcmp(name, "--time") == 0) {
    if ((o->seconds = parse_real(value)) == 0.0)
      return fail("--time is not a number of seconds above 0", value);
  } else if (strcmp(name, "--gpu") == 0) {
    o->gpu = value;
  } else if (strcmp(name, "--peak") == 0) {
    if ((o->peak_gflops = parse_real(value)) == 0.0)
      return fail("--peak is not a number of GFLOP/s above 0", value);
  } else if (strcmp(name, "--bandwidth") == 0) {
    if ((o->bandwidth_gbs = parse_real(value)) == 0.0)
      return fail("--bandwidth is not a number of GB/s above 0", value);
  } else if (strcmp(name, "--csv") == 0 || strcmp(name, "--json") == 0 || strcmp(name, "--markdown") == 0) {
    *(name[2] == 'c' ? &o->csv : name[2] == 'j' ? &o->json : &o->markdown) = value;
  } else {
    return read_sizes(c, name, value);
  }
  return 0;
}

/* Reads all options. Returns 0, 1 if help was printed, or 2 after an error message. */
static int read_command(options *o, command *c, int argc, char **argv, int on_gpu) {
  int i, status = 0;
  for (i = 1; i < argc && status == 0; i++) {
    const char *name = argv[i];
    int *const flag = flag_of(o, name);
    if (strcmp(name, "--help") == 0)
      return print_help();
    status = check_name(name, flag != NULL, on_gpu);
    if (status == 0 && flag != NULL)
      *flag = 1;
    else if (status == 0)
      status = ++i == argc ? fail("the option needs a value", name) : read_option(o, c, name, argv[i]);
  }
  return status;
}

static int is_stdout(const char *path) { return path != NULL && strcmp(path, "-") == 0; }

/* Checks options that exclude each other. Returns 0, or 2 after an error message. */
static int check_combinations(const options *o, const command *c) {
  if (is_stdout(o->csv) + is_stdout(o->json) + is_stdout(o->markdown) > 1)
    return fail("only one of --csv, --json and --markdown can go to standard output", NULL);
  if ((o->peak_gflops > 0.0) != (o->bandwidth_gbs > 0.0))
    return fail("--peak and --bandwidth go together", o->peak_gflops > 0.0 ? "no --bandwidth" : "no --peak");
  if (o->peak_gflops > 0.0 && o->gpu != NULL)
    return fail("--gpu has a peak and a bandwidth of its own", o->gpu);
  if (c->by == BY_FILE && c->asked_op != NULL)
    return fail("each shape of the file has an op of its own, so --op is not for --shapes", c->asked_op);
  if ((o->production_only || o->epilogues) && c->asked_variants != NULL)
    return fail("--production-only and --epilogues measure none of the variants that this option picks",
                c->asked_variants);
  if (o->epilogues && (o->beta != 0.0f || o->errors || o->prepared || o->prepared_both || o->ceilings))
    return fail("this option is not for --epilogues", o->beta != 0.0f ? "--beta"
                                                      : o->errors     ? "--errors"
                                                      : o->ceilings   ? "--ceilings"
                                                      : o->prepared   ? "--prepared"
                                                                      : "--prepared-both");
  if (o->no_aux && !o->epilogues)
    return fail("--no-aux is for --epilogues", NULL);
  return 0;
}

/* Sets what other options imply, and what no option sets. */
static void set_defaults(options *o, const command *c) {
  o->production_only |= o->epilogues;
  o->production |= o->production_only || o->errors || c->asked_mode;
  o->modes[SGEMM_STRICT] |= !c->asked_mode;
  o->both_prepared_cases = o->prepared && o->prepared_both;
  o->prepared |= o->prepared_both;
  o->warm |= !o->cold;
  if (o->seconds == 0.0)
    o->seconds = o->production_only ? 0.1 : 2.0;
}

/* Checks that the modes and variants are compiled. Returns 0, or 2 after an error message. */
static int check_kernels(const options *o) {
  const int tensor = o->modes[SGEMM_TENSOR] || o->modes[SGEMM_TENSOR_FULL];
  int v;
  if ((o->prepared || o->ceilings) && !tensor)
    return fail("this option is for a tensor mode of --mode", o->prepared ? "--prepared" : "--ceilings");
  if (tensor && !sgemm_tensor_compiled())
    return fail("the kernels were compiled without the tensor modes", "--mode");
  for (v = 0; v < SGEMM_VARIANT_COUNT && !selected(o, (sgemm_variant)v); v++)
    ;
  return v < SGEMM_VARIANT_COUNT || o->production
             ? 0
             : fail("no compiled variant of these stages matches", o->variants ? o->variants : "--stages");
}

/* Makes the problems. Returns 0, or 2 after an error message. */
static int make_problems(options *o, const command *c) {
  char where[SHAPES_WHERE];
  const char *wrong;
  if (c->by != BY_FILE)
    return combine(o, c->by, &c->sides[0], &c->sides[1], &c->sides[2], c->op)
               ? 0
               : fail("--m, --n and --k make more than 4096 shapes", NULL);
  wrong = shapes_read(o->problems, &o->problem_count, c->shapes, where);
  return wrong == NULL ? 0 : fail(wrong, where);
}

/* on_gpu: 1 in the GPU build. m, n, k: the sizes if none are given. Returns 0, 1 if help was printed, or 2 after an
   error message. */
static int parse(options *o, int argc, char **argv, int on_gpu, int64_t m, int64_t n, int64_t k) {
  static command c;
  int i, status;
  memset(o, 0, sizeof *o);
  memset(o->stages, 1, sizeof o->stages);
  strcpy(c.op, "NN");
  for (i = 0; i < 3; i++) {
    c.sides[i].values[0] = i == 0 ? m : i == 1 ? n : k;
    c.sides[i].count = 1;
  }
  status = read_command(o, &c, argc, argv, on_gpu);
  if (status == 0)
    status = check_combinations(o, &c);
  if (status != 0)
    return status;
  set_defaults(o, &c);
  status = check_kernels(o);
  return status != 0 ? status : make_problems(o, &c);
}

#endif
