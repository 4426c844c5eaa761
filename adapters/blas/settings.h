/* settings.h: what the environment variables of the adapter say. */
#ifndef SGEMM_BLAS_SETTINGS_H
#define SGEMM_BLAS_SETTINGS_H

#include "adapters/host/sgemm_host.h"

/* The environment is read once, at the first call. */
typedef struct sgemm_blas__settings {
  int off;                 /* 1: every call passes to the BLAS */
  int mode;                /* sgemm_mode */
  const char *mode_name;   /* as SGEMM_BLAS_MODE has it */
  double least_flop;       /* calls with fewer FLOP pass */
  double least_intensity;  /* calls with fewer FLOP for each byte of the matrices pass */
  int report;              /* 1: calls are counted, and a report is written at exit */
  const char *report_file; /* the file that the report is appended to; NULL: stderr */
  sgemm_host_options host; /* GPUs, device memory, copying threads */
} sgemm_blas__settings;

const sgemm_blas__settings *sgemm_blas__settings_get(void);

#endif /* SGEMM_BLAS_SETTINGS_H */
