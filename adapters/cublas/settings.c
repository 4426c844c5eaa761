/* settings.c: reads SGEMM_CUBLAS_MODE, SGEMM_CUBLAS_REPORT, SGEMM_CUBLAS_TIMES and NVIDIA_TF32_OVERRIDE. */
#define _POSIX_C_SOURCE 200809L /* strdup() */
#include "adapters/cublas/settings.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sgemm.h"

static sgemm_cublas__settings settings = {0, SGEMM_STRICT, "strict", 0, 0, 0, NULL};

static void read_mode(const char *value) {
  static const struct {
    const char *name;
    int off, mode;
  } modes[] = {{"strict", 0, SGEMM_STRICT},
               {"tensor", 0, SGEMM_TENSOR},
               {"full", 0, SGEMM_TENSOR_FULL},
               {"off", 1, SGEMM_STRICT}};
  unsigned i;
  for (i = 0; i < sizeof modes / sizeof *modes; i++)
    if (strcmp(value, modes[i].name) == 0) {
      settings.off = modes[i].off;
      settings.mode = modes[i].mode;
      settings.mode_name = modes[i].name;
      return;
    }
  fprintf(stderr, "sgemm_cublas: SGEMM_CUBLAS_MODE=%s is not strict, tensor, full or off; strict is used\n", value);
}

static int is_on(const char *value) { return value != NULL && value[0] != '\0' && strcmp(value, "0") != 0; }

static void read_environment(void) {
  const char *mode = getenv("SGEMM_CUBLAS_MODE"), *report = getenv("SGEMM_CUBLAS_REPORT");
  const char *tf32 = getenv("NVIDIA_TF32_OVERRIDE");
  if (mode != NULL && mode[0] != '\0')
    read_mode(mode);
  settings.no_tf32 = tf32 != NULL && strcmp(tf32, "0") == 0;
  settings.times = is_on(getenv("SGEMM_CUBLAS_TIMES"));
  settings.report = is_on(report) || settings.times;
  if (is_on(report) && strcmp(report, "1") != 0)
    settings.report_file = strdup(report); /* the program may change its environment */
}

const sgemm_cublas__settings *sgemm_cublas__settings_get(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_environment);
  return &settings;
}
