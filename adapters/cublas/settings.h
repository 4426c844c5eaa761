/* settings.h: what the environment variables of the adapter say. */
#ifndef SGEMM_CUBLAS_SETTINGS_H
#define SGEMM_CUBLAS_SETTINGS_H

/* The environment is read once, at the first call of cuBLAS. */
typedef struct sgemm_cublas__settings {
  int off;                 /* 1: every call passes to cuBLAS */
  int mode;                /* sgemm_mode */
  const char *mode_name;   /* as SGEMM_CUBLAS_MODE has it */
  int report;              /* 1: calls are counted, and a report is written at exit */
  int tune;                /* 1: calls run by tuned plans, and the first call of each kind is tuned */
  int times;               /* 1: the first call of each shape is measured, here and in cuBLAS */
  int no_tf32;             /* 1: NVIDIA_TF32_OVERRIDE forbids TF32, so that a call that asks for it is one in fp32 */
  const char *report_file; /* the file that the report is appended to; NULL: stderr */
} sgemm_cublas__settings;

const sgemm_cublas__settings *sgemm_cublas__settings_get(void);

#endif /* SGEMM_CUBLAS_SETTINGS_H */
