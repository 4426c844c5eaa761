/* numbers.h: parses and sorts numbers, for tools. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <errno.h>
#include <stdlib.h>

/* Parses a whole number from `least` to `most`. Returns 0 if the text is something else. */
static inline int numbers_parse(const char *text, long long least, long long most, long long *out) {
  char *end;
  errno = 0;
  *out = strtoll(text, &end, 10);
  return end != text && *end == '\0' && errno == 0 && *out >= least && *out <= most;
}

/* For qsort() of doubles, ascending. */
static inline int numbers_compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

#endif
