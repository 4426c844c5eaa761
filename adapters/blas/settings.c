/* settings.c: reads the environment variables SGEMM_BLAS_... */
#include "adapters/blas/settings.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "adapters/common/environment.h"

static const char NAME[] = "sgemm_blas";

static sgemm_blas__settings settings;
static int devices[SGEMM_HOST_MAX_DEVICES];

/* Reads different numbers of GPUs with commas between them. Returns how many there are; 0: the list is wrong. */
static int read_devices(const char *list) {
  int count = 0, i;
  for (;;) {
    char *end = NULL;
    const long number = strtol(list, &end, 10);
    if (end == list || number < 0 || number > 1023 || count == SGEMM_HOST_MAX_DEVICES)
      return 0;
    for (i = 0; i < count; i++)
      if (devices[i] == (int)number)
        return 0;
    devices[count++] = (int)number;
    if (*end == '\0')
      return count;
    if (*end != ',')
      return 0;
    list = end + 1;
  }
}

static void read_environment(void) {
  const sgemm_adapter__mode mode = sgemm_adapter__mode_of(NAME, "SGEMM_BLAS_MODE");
  const char *list = getenv("SGEMM_BLAS_DEVICES");
  settings.off = mode.off;
  settings.mode = mode.mode;
  settings.mode_name = mode.name;
  settings.least_flop = 1e9 * sgemm_adapter__number_of(NAME, "SGEMM_BLAS_THRESHOLD", 0.0, 1e12, 2.0);
  settings.least_intensity = sgemm_adapter__number_of(NAME, "SGEMM_BLAS_INTENSITY", 0.0, 1e12, 100.0);
  settings.report = sgemm_adapter__is_on("SGEMM_BLAS_REPORT");
  settings.report_file = sgemm_adapter__file_of("SGEMM_BLAS_REPORT");
  settings.host = sgemm_host_options_init();
  settings.host.memory_bytes = (int64_t)(1073741824.0 *
                                         sgemm_adapter__number_of(NAME, "SGEMM_BLAS_MEMORY", 0.0, 1e6, 0.0));
  settings.host.threads = (int)sgemm_adapter__number_of(NAME, "SGEMM_BLAS_THREADS", 0.0, 256.0, 0.0);
  if (list == NULL || list[0] == '\0')
    return;
  settings.host.device_count = read_devices(list);
  settings.host.devices = devices;
  if (settings.host.device_count == 0)
    fprintf(stderr,
            "%s: SGEMM_BLAS_DEVICES=%s is not a list of at most %d different numbers of GPUs; the default is used\n",
            NAME, list, SGEMM_HOST_MAX_DEVICES);
}

const sgemm_blas__settings *sgemm_blas__settings_get(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_environment);
  return &settings;
}
