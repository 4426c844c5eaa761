/* environment.h: the environment variables that the adapters have in common, and the report that one names. A line on
   stderr reports a value that cannot be used. The line begins with the name of the adapter. */
#ifndef SGEMM_ADAPTER_ENVIRONMENT_H
#define SGEMM_ADAPTER_ENVIRONMENT_H

#include <stddef.h>

typedef struct sgemm_adapter__mode {
  const char *name; /* as the variable has it */
  int off, mode;    /* 1: every call passes; sgemm_mode */
} sgemm_adapter__mode;

/* The mode that the variable names: strict, tensor, full or off. Without a value it is strict. */
sgemm_adapter__mode sgemm_adapter__mode_of(const char *adapter, const char *variable);

/* The number of the variable, if it is in least ... most, and else `otherwise`. */
double sgemm_adapter__number_of(const char *adapter, const char *variable, double least, double most, double otherwise);

/* 1 if the variable has a value other than 0. */
int sgemm_adapter__is_on(const char *variable);

/* A copy of the file name in a report variable. NULL if the variable is 1 (report on stderr), 0, empty or unset (no
   report). */
const char *sgemm_adapter__file_of(const char *variable);

/* Appends a report to the file. file: NULL is stderr. The report is one write(), so that those of several processes do
   not mix. A line on stderr says that the file cannot be opened. */
void sgemm_adapter__write(const char *adapter, const char *file, const char *report, size_t size);

#endif /* SGEMM_ADAPTER_ENVIRONMENT_H */
