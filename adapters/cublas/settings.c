/* settings.c: reads SGEMM_CUBLAS_MODE, SGEMM_CUBLAS_TUNE, SGEMM_CUBLAS_REPORT, SGEMM_CUBLAS_TIMES and
   NVIDIA_TF32_OVERRIDE. */
#include "adapters/cublas/settings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/common/environment.h"

static sgemm_cublas__settings settings;

static void read_environment(void) {
  const sgemm_adapter__mode mode = sgemm_adapter__mode_of("sgemm_cublas", "SGEMM_CUBLAS_MODE");
  const char *tf32 = getenv("NVIDIA_TF32_OVERRIDE");
  settings.off = mode.off;
  settings.mode = mode.mode;
  settings.mode_name = mode.name;
  settings.no_tf32 = tf32 != NULL && strcmp(tf32, "0") == 0;
  settings.tune = sgemm_adapter__is_on("SGEMM_CUBLAS_TUNE");
  settings.times = sgemm_adapter__is_on("SGEMM_CUBLAS_TIMES");
  settings.report = sgemm_adapter__is_on("SGEMM_CUBLAS_REPORT") || settings.times;
  settings.report_file = sgemm_adapter__file_of("SGEMM_CUBLAS_REPORT");
}

const sgemm_cublas__settings *sgemm_cublas__settings_get(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_environment);
  return &settings;
}
