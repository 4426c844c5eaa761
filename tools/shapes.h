/* shapes.h: shapes of multiplications, and files of them, for tools. */
#ifndef SHAPES_H
#define SHAPES_H

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MOST = 1048576, SHAPES_MOST = 4096, NAME_MOST = 31 };

typedef struct problem {
  char name[NAME_MOST + 1]; /* the name in the shape file; empty without one */
  int64_t m, n, k, batch;
  char op[3]; /* NN, NT, TN or TT */
} problem;

/* Parses an integer in [1, most] that one of `ends` follows, and moves *text to that character. 0: there is none. */
static inline int64_t shapes_number(const char **text, int64_t most, const char *ends) {
  char *end;
  long long value;
  if (!isdigit((unsigned char)**text))
    return 0;
  errno = 0;
  value = strtoll(*text, &end, 10);
  if (errno != 0 || value < 1 || value > most || strchr(ends, *end) == NULL)
    return 0;
  *text = end;
  return value;
}

static inline int shapes_op(char op[3], const char *text) {
  if (strlen(text) != 2 || strspn(text, "NT") != 2)
    return 0;
  memcpy(op, text, 3);
  return 1;
}

/* Parses one line of a shape file. A name has only characters that need no quotes in CSV and JSON. */
static inline int shapes_line(problem *p, const char *line) {
  size_t length = strcspn(line, ",");
  int64_t *const numbers[] = {&p->m, &p->n, &p->k, &p->batch};
  size_t i;
  if (length < 1 || length > NAME_MOST || line[length] != ',')
    return 0;
  for (i = 0; i < length; i++)
    if (!isalnum((unsigned char)line[i]) && strchr("._-", line[i]) == NULL)
      return 0;
  memcpy(p->name, line, length);
  p->name[length] = '\0';
  line += length;
  for (i = 0; i < 4; i++) {
    line++;
    if ((*numbers[i] = shapes_number(&line, SIZE_MOST, ",")) == 0 || *line != ',')
      return 0;
  }
  return shapes_op(p->op, line + 1);
}

enum { SHAPES_WHERE = 300 };

/* Reads a CSV file with the header name,m,n,k,batch,op into `shapes`, which has room for SHAPES_MOST. Returns NULL, or
   a sentence that says what is wrong with `where`, the file and its line. */
static inline const char *shapes_read(problem *shapes, size_t *count, const char *path, char where[SHAPES_WHERE]) {
  char line[256];
  int number = 0, bad = 0;
  FILE *file = fopen(path, "r");
  *count = 0;
  snprintf(where, SHAPES_WHERE, "%.250s", path);
  if (file == NULL)
    return strerror(errno);
  while (!bad && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\r\n")] = '\0';
    if (number++ == 0)
      bad = strcmp(line, "name,m,n,k,batch,op") != 0;
    else if (line[0] != '\0')
      bad = *count == SHAPES_MOST || !shapes_line(&shapes[(*count)++], line);
  }
  fclose(file);
  if (!bad)
    return *count > 0 ? NULL : "the file has no shapes";
  snprintf(where, SHAPES_WHERE, "%.250s, line %d", path, number);
  return number == 1 ? "the header of a shape file is name,m,n,k,batch,op"
                     : "a shape is a name (letters, digits, . _ -), m, n, k and batch from 1 to 1048576, and an op";
}

#endif
