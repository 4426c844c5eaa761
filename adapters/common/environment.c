/* environment.c: reads environment variables, and writes a report. */
#define _POSIX_C_SOURCE 200809L /* strdup() */
#include "adapters/common/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sgemm.h"

/* The value, or NULL if there is none or it is empty. */
static const char *value_of(const char *variable) {
  const char *value = getenv(variable);
  return value != NULL && value[0] != '\0' ? value : NULL;
}

sgemm_adapter__mode sgemm_adapter__mode_of(const char *adapter, const char *variable) {
  static const sgemm_adapter__mode modes[] = {{"strict", 0, SGEMM_STRICT},
                                              {"tensor", 0, SGEMM_TENSOR},
                                              {"full", 0, SGEMM_TENSOR_FULL},
                                              {"off", 1, SGEMM_STRICT}};
  const char *value = value_of(variable);
  unsigned i;
  for (i = 0; value != NULL && i < sizeof modes / sizeof *modes; i++)
    if (strcmp(value, modes[i].name) == 0)
      return modes[i];
  if (value != NULL)
    fprintf(stderr, "%s: %s=%s is not strict, tensor, full or off; strict is used\n", adapter, variable, value);
  return modes[0];
}

double sgemm_adapter__number_of(const char *adapter, const char *variable, double least, double most,
                                double otherwise) {
  const char *value = value_of(variable);
  char *end = NULL;
  double number;
  if (value == NULL)
    return otherwise;
  number = strtod(value, &end);
  if (end != value && *end == '\0' && number >= least && number <= most)
    return number;
  fprintf(stderr, "%s: %s=%s is not a number in %g ... %g; the default is used\n", adapter, variable, value, least,
          most);
  return otherwise;
}

int sgemm_adapter__is_on(const char *variable) {
  const char *value = value_of(variable);
  return value != NULL && strcmp(value, "0") != 0;
}

const char *sgemm_adapter__file_of(const char *variable) {
  const char *value = value_of(variable);
  /* A copy, because the program may change its environment. */
  return sgemm_adapter__is_on(variable) && strcmp(value, "1") != 0 ? strdup(value) : NULL;
}

void sgemm_adapter__write(const char *adapter, const char *file, const char *report, size_t size) {
  FILE *opened = file == NULL ? stderr : fopen(file, "a");
  if (opened == NULL) {
    fprintf(stderr, "%s: the report cannot be written to %s\n", adapter, file);
    return;
  }
  if (file != NULL)
    setvbuf(opened, NULL, _IONBF, 0); /* a buffer would divide a long report */
  fwrite(report, 1, size, opened);
  if (file != NULL)
    fclose(opened);
}
