/* ladder_report.h: the ladder's results as a printed table, CSV, JSON and Markdown, from one list of columns. */
#ifndef LADDER_REPORT_H
#define LADDER_REPORT_H

#include "sgemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TEXT = -1, HIDDEN = 0 }; /* values of `decimals` and of `width` of a column */

typedef struct column {
  const char *key;             /* in CSV and JSON */
  const char *above, *heading; /* two lines above the printed column */
  int width;                   /* of the printed column; HIDDEN: not printed */
  int decimals;                /* of a printed number; TEXT: the cell is a text */
} column;

/* A number or a text. Without a value they are NAN or NULL. */
typedef union cell {
  double number;
  const char *text;
} cell;

// clang-format off
/* X([symbol] key, "two", "headings", width, decimals) */
#define CASE_COLUMNS(X)                                                                                                \
  X(variant, "", "variant", 35,     TEXT)                                                                              \
  X(stage,   "", "",        HIDDEN, TEXT)                                                                              \
  X(shape,   "", "",        HIDDEN, TEXT)                                                                              \
  X(m,       "", "",        HIDDEN, 0)                                                                                 \
  X(n,       "", "",        HIDDEN, 0)                                                                                 \
  X(k,       "", "",        HIDDEN, 0)                                                                                 \
  X(batch,   "", "",        HIDDEN, 0)                                                                                 \
  X(op,      "", "",        HIDDEN, TEXT)                                                                              \
  X(picked,  "", "",        HIDDEN, TEXT) /* the variant that runs; the next columns are its plan */                   \
  X(cluster_k, "", "",    HIDDEN, 0)                                                                                   \
  X(split_k, "", "",        HIDDEN, 0)                                                                                 \
  X(stream_k, "", "",       HIDDEN, 0)                                                                                 \
  X(serial_k, "", "",       HIDDEN, 0)

/* The lines of --epilogues. */
#define FUSION_COLUMNS(X)                                                                                              \
  X(over_plain, "over",  "plain",  HIDDEN, 3)    /* time, or bytes of global memory, over those of the plain call */   \
  X(epilogue,   "",      "",       HIDDEN, TEXT)                                                                       \
  X(reduction,  "",      "",       HIDDEN, TEXT)                                                                       \
  X(along,      "",      "",       HIDDEN, TEXT) /* rows or columns: what is reduced to one value */

#define RESULT_COLUMNS(X)                                                                                              \
  X(componentwise_error, "", "",      HIDDEN, 0)    /* the largest |error| / |A||B| in the compared rows of C */       \
  X(error_over_bound,    "", "error", 6,      4)                                                                       \
  X(verdict,             "", "",      5,      TEXT) /* WRONG, or nothing */

#if defined(MACHINE_CUDA) && MACHINE_CUDA

#define COLUMNS(X)                                                                                                     \
  CASE_COLUMNS(X)                                                                                                      \
  X(mode,              "", "",         HIDDEN, TEXT) /* L2 state: warm or cold */                                      \
  X(time_ms,           "", "ms",       9,      4)    /* median of the samples */                                       \
  FUSION_COLUMNS(X)                                                                                                    \
  X(gflops,            "", "GFLOP/s",  8,      0)                                                                      \
  X(percent_of_peak,   "", "% peak",   6,      1)    /* of the nominal peak */                                         \
  X(percent_of_cublas, "", "% cuBLAS", 8,      1)                                                                      \
  X(percent_of_ffma,   "", "% FFMA",   6,      1)    /* of the measured ceiling */                                     \
  X(percent_of_copy,   "", "% copy",   6,      1)    /* minimum bytes over the time, of the measured ceiling */        \
  X(ceiling_gflops,    "", "",         HIDDEN, 0)    /* of a tensor mode: cuBLAS on as many 16-bit products */         \
  X(percent_of_ceiling, "", "",        HIDDEN, 1)                                                                      \
  X(workspace_bytes,   "", "",         HIDDEN, 0)    /* of production */                                               \
  X(guard,             "", "",         HIDDEN, 0)    /* 0: the mode's format computed C; else sgemm_guard bits */      \
  X(spread_percent,    "", "spread %", 8,      2)    /* interquartile range over median */                             \
  X(samples,           "", "runs",     4,      0)                                                                      \
  X(clock_before_mhz,  "", "",         HIDDEN, 0)    /* SM clock during the first sample */                            \
  X(clock_after_mhz,   "", "MHz",      5,      0)    /* SM clock during the last sample */                             \
  X(power_w,           "", "",         HIDDEN, 0)                                                                      \
  X(throttle,          "", "",         HIDDEN, TEXT) /* the driver's reason for low clocks; empty without NVML */      \
  X(error_over_cublas, "", "",         HIDDEN, 0)    /* componentwise error over cuBLAS's */                           \
  RESULT_COLUMNS(X)
#define COUNT_COLUMNS(X)

#else

#include "cpu/sgemm_model.h"

#define COLUMNS(X)                                                                                                     \
  CASE_COLUMNS(X)                                                                                                      \
  X(global_loads_per_result, "global",  "loads",   6,      1)    /* 4-byte loads per result */                         \
  X(sectors_per_load,        "sect.",   "/load",   5,      2)    /* 32-byte sectors per load request */                \
  X(global_flop_per_byte,    "global",  "FLOP/B",  6,      2)    /* per byte of sectors loaded */                      \
  X(global_stores_per_result, "global", "stores",  HIDDEN, 1)    /* 4-byte stores per result */                        \
  X(shared_loads_per_result, "shared",  "loads",   6,      1)    /* 4-byte loads per result */                         \
  X(conflict_percent,        "bank",    "confl%",  6,      1)    /* of the wavefronts of loads and stores */           \
  X(shared_flop_per_byte,    "shared",  "FLOP/B",  6,      2)    /* per byte that threads load */                      \
  X(registers,               "",        "regs",    4,      0)                                                          \
  X(shared_bytes,            "",        "",        HIDDEN, 0)                                                          \
  X(occupancy_percent,       "",        "occ%",    4,      0)                                                          \
  X(occupancy_limit,         "",        "",        HIDDEN, TEXT)                                                       \
  X(memory_roof_tflops,      "memory",  "roof",    6,      1)                                                          \
  X(shared_roof_tflops,      "shared",  "roof",    6,      1)                                                          \
  X(bound,                   "",        "bound",   6,      TEXT)                                                       \
  X(roof_tflops,             "",        "",        HIDDEN, 1)    /* the lowest roof */                                 \
  FUSION_COLUMNS(X)                                                                                                    \
  RESULT_COLUMNS(X)
#define COUNT_COLUMNS(X) SGEMM_COUNTS(X)

#endif
// clang-format on

#define COLUMN_ID(key, above, heading, width, decimals) COLUMN_##key,
#define COLUMN_ROW(key, above, heading, width, decimals) {#key, above, heading, width, decimals},
#define COUNT_ID(counter, metric) COLUMN_##counter,
#define COUNT_ROW(counter, metric) {#counter, "", "", HIDDEN, 0},

enum { COLUMNS(COLUMN_ID) COUNT_COLUMNS(COUNT_ID) COLUMN_COUNT };
static const column columns[COLUMN_COUNT] = {COLUMNS(COLUMN_ROW) COUNT_COLUMNS(COUNT_ROW)};

/* The printed width of a column. The table of --epilogues has the ratio to the plain call, and none of the columns that
   compare variants with a roof. */
static int width_of(int c, int epilogues) {
  enum { NAME_WIDTH = 42, RATIO_WIDTH = 7 };
  if (!epilogues)
    return columns[c].width;
  switch (c) {
  case COLUMN_variant:
    return NAME_WIDTH;
  case COLUMN_over_plain:
    return RATIO_WIDTH;
#if defined(MACHINE_CUDA) && MACHINE_CUDA
  case COLUMN_percent_of_peak:
  case COLUMN_percent_of_ffma:
  case COLUMN_percent_of_copy:
    return HIDDEN;
#else
  case COLUMN_global_stores_per_result:
    return columns[COLUMN_global_loads_per_result].width;
  case COLUMN_registers:
  case COLUMN_occupancy_percent:
  case COLUMN_memory_roof_tflops:
  case COLUMN_shared_roof_tflops:
  case COLUMN_bound:
    return HIDDEN;
#endif
  default:
    return columns[c].width;
  }
}

/* An entry of the JSON object `context`. text is NULL for a number. */
typedef struct fact {
  char key[48];
  const char *text;
  double number;
} fact;

enum { CASE_MOST = 112 };

typedef struct row {
  char name[CASE_MOST + 48]; /* name of the benchmark in JSON: variant/mxnxk/op and more */
  int subject, cold;
  double real_ms, cpu_ms;
  int64_t iterations;
  int wrong;
  char note[160]; /* printed below the row; empty: nothing */
  cell cells[COLUMN_COUNT];
} row;

typedef struct report {
  row *rows;
  size_t row_count;
  fact facts[72];
  int fact_count;
  char summary[20][160]; /* printed below the table; `facts` has the numbers */
  int summary_count;
  int epilogues; /* 1: the table of --epilogues */
} report;

static void add_fact(report *r, const char *key, const char *text, double number) {
  fact *f = &r->facts[r->fact_count++];
  snprintf(f->key, sizeof f->key, "%s", key);
  f->text = text;
  f->number = number;
}

static void add_text(report *r, const char *key, const char *text) { add_fact(r, key, text, NAN); }
static void add_number(report *r, const char *key, double number) { add_fact(r, key, NULL, number); }

/* Adds a row whose cells have no value; NULL without memory. Earlier rows may have moved. */
static row *add_row(report *r) {
  row *rows = (row *)realloc(r->rows, (r->row_count + 1) * sizeof *rows), *added;
  int c;
  if (rows == NULL)
    return NULL;
  r->rows = rows;
  added = &rows[r->row_count];
  memset(added, 0, sizeof *added);
  for (c = 0; c < COLUMN_COUNT; c++)
    if (columns[c].decimals != TEXT)
      added->cells[c].number = NAN;
  r->row_count++;
  return added;
}

/* ---- The printed table ------------------------------------------------------------------------------------------- */

/* The text of a cell, in a buffer of the caller. A number that is too long for its column gets an exponent. */
static const char *shown(const column *c, int width, cell value, char text[32]) {
  if (c->decimals == TEXT)
    return value.text == NULL ? "" : value.text;
  if (isnan(value.number))
    return "-";
  if (snprintf(text, 32, "%.*f", c->decimals, value.number) > width)
    snprintf(text, 32, "%.0e", value.number);
  return text;
}

/* Prints a line without the spaces at its end. Prints nothing for an empty line. */
static void print_line(const char *line) {
  size_t length = strlen(line);
  while (length > 0 && line[length - 1] == ' ')
    length--;
  if (length > 0)
    printf("%.*s\n", (int)length, line);
}

/* The first column is left-aligned, the others right-aligned. */
static void print_headings(int epilogues) {
  char above[256], heading[256];
  int c, used = 0;
  for (c = 0; c < COLUMN_COUNT; c++) {
    const column *k = &columns[c];
    const int width = c == 0 ? -width_of(c, epilogues) : width_of(c, epilogues);
    if (width == HIDDEN)
      continue;
    snprintf(above + used, sizeof above - (size_t)used, "%*s ", width, k->above);
    used += snprintf(heading + used, sizeof heading - (size_t)used, "%*s ", width, k->heading);
  }
  print_line(above);
  print_line(heading);
}

static void print_row(const row *w, int epilogues) {
  char line[256], text[32];
  int c, used = 0;
  for (c = 0; c < COLUMN_COUNT; c++) {
    const int width = width_of(c, epilogues);
    if (width != HIDDEN)
      used += snprintf(line + used, sizeof line - (size_t)used, "%*s ", c == 0 ? -width : width,
                       shown(&columns[c], width, w->cells[c], text));
  }
  print_line(line);
  if (w->note[0] != '\0')
    printf("    %s\n", w->note);
  fflush(stdout);
}

/* ---- CSV, JSON and Markdown -------------------------------------------------------------------------------------- */

static void write_csv_header(FILE *file) {
  int c;
  for (c = 0; c < COLUMN_COUNT; c++)
    fprintf(file, "%s%s", c ? "," : "", columns[c].key);
  fputc('\n', file);
}

/* Nine digits reproduce every float. A field without a value is empty. */
static void write_csv_row(const row *w, FILE *file) {
  int c;
  for (c = 0; c < COLUMN_COUNT; c++) {
    const cell value = w->cells[c];
    fputs(c ? "," : "", file);
    if (columns[c].decimals == TEXT)
      fputs(value.text ? value.text : "", file);
    else if (!isnan(value.number))
      fprintf(file, "%.9g", value.number);
  }
  fputc('\n', file);
}

/* JSON has neither NaN nor infinity: null stands for NaN, and 1e999 is parsed as infinity. No text of the ladder needs
   an escape. */
static void write_value(FILE *file, const char *key, const char *text, double number) {
  fprintf(file, "\"%s\": ", key);
  if (text != NULL)
    fprintf(file, "\"%s\"", text);
  else if (isfinite(number))
    fprintf(file, "%.9g", number);
  else
    fputs(isnan(number) ? "null" : "1e999", file);
}

/* Writes Google Benchmark's layout, which its compare.py reads. The columns are counters. */
static void write_json(const report *r, FILE *file) {
  char date[32];
  const time_t now = time(NULL);
  size_t i;
  int c;
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
  fprintf(file,
          "{\n  \"context\": {\n    \"date\": \"%s\",\n    \"executable\": \"ladder\",\n    \"num_cpus\": %ld,\n"
          "    \"library_version\": \"" SGEMM_VERSION_STRING "\"",
          date, sysconf(_SC_NPROCESSORS_ONLN));
  for (c = 0; c < r->fact_count; c++) {
    fputs(",\n    ", file);
    write_value(file, r->facts[c].key, r->facts[c].text, r->facts[c].number);
  }
  fputs("\n  },\n  \"benchmarks\": [", file);
  for (i = 0; i < r->row_count; i++) {
    const row *w = &r->rows[i];
    fprintf(file,
            "%s\n    {\n      \"name\": \"%s\",\n      \"run_name\": \"%s\",\n      \"run_type\": \"iteration\",\n"
            "      \"repetitions\": 1,\n      \"repetition_index\": 0,\n      \"threads\": 1,\n      \"iterations\": "
            "%lld,\n"
            "      \"real_time\": %.9g,\n      \"cpu_time\": %.9g,\n      \"time_unit\": \"ms\"",
            i ? "," : "", w->name, w->name, (long long)w->iterations, w->real_ms, w->cpu_ms);
    if (w->wrong)
      fputs(",\n      \"error_occurred\": true,\n      \"error_message\": \"wrong result\"", file);
    for (c = 0; c < COLUMN_COUNT; c++) {
      const int text = columns[c].decimals == TEXT;
      fputs(",\n      ", file);
      write_value(file, columns[c].key, text ? w->cells[c].text : NULL, text ? NAN : w->cells[c].number);
    }
    fputs("\n    }", file);
  }
  fputs("\n  ]\n}\n", file);
}

/* Writes the columns of the printed table, and the sizes, which the printed table has in a line above it. */
static void write_markdown(const report *r, FILE *file) {
  char text[32];
  size_t i;
  int c, rule;
  for (rule = 0; rule < 2; rule++) {
    fputs(rule ? "| --- | --- |" : "| variant | size |", file);
    for (c = 1; c < COLUMN_COUNT; c++)
      if (width_of(c, r->epilogues) != HIDDEN && rule)
        fputs(" ---: |", file);
      else if (width_of(c, r->epilogues) != HIDDEN)
        fprintf(file, " %s%s%s |", columns[c].above, *columns[c].above ? " " : "", columns[c].heading);
    fputc('\n', file);
  }
  for (i = 0; i < r->row_count; i++) {
    const row *w = &r->rows[i];
    fprintf(file, "| `%s` | %s |", w->cells[0].text, strchr(w->name, '/') + 1);
    for (c = 1; c < COLUMN_COUNT; c++)
      if (width_of(c, r->epilogues) != HIDDEN)
        fprintf(file, " %s |", shown(&columns[c], width_of(c, r->epilogues), w->cells[c], text));
    fputc('\n', file);
  }
  for (c = 0; c < r->summary_count; c++)
    fprintf(file, "%s- %s\n", c ? "" : "\n", r->summary[c]);
}

#endif
