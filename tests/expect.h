/* expect.h: the check of the programs that run under the adapters. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>

/* Conditions that did not hold. A program ends with an error if there is one. Threads may call EXPECT. */
static int faults;

#define EXPECT(condition, ...)                                                                                         \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      printf("line %d: %s: ", __LINE__, #condition);                                                                   \
      printf(__VA_ARGS__);                                                                                             \
      puts("");                                                                                                        \
      __atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED);                                                                \
    }                                                                                                                  \
  } while (0)

#endif
