/* environment.h: the environment variables that the adapters have in common. A line on stderr reports a value that
   cannot be used. The line begins with the name of the adapter. */
#ifndef SGEMM_ADAPTER_ENVIRONMENT_H
#define SGEMM_ADAPTER_ENVIRONMENT_H

#include <stdio.h>

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

/* The file that a variable for a report names, a copy; NULL: stderr, which 1 stands for, or no report. */
const char *sgemm_adapter__file_of(const char *variable);

/* The file, opened to append, or stderr. NULL: it cannot be opened, and a line on stderr says so. */
FILE *sgemm_adapter__open(const char *adapter, const char *file);

#endif /* SGEMM_ADAPTER_ENVIRONMENT_H */
