/* probe.h: tests how the tensor cores of the current device add. */
#ifndef PROBE_H
#define PROBE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Prints the results of the tests, in lines that start with "accumulate:". Returns 0 or a cudaError_t. */
int probe_print(void);

#ifdef __cplusplus
}
#endif
#endif
