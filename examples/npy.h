/* npy.h: reads and writes numpy's .npy files of float32. It also reads files of float64 and rounds them to float32. The
   header is C11. Its functions neither print nor exit.

       npy_array a;
       char error[NPY_ERROR];
       if (npy_read(file, &a, error) != 0)                  // file: from fopen(name, "rb"), or a pipe
         fprintf(stderr, "%s: %s\n", name, error);
       ...                                                  // a.data[] holds npy_count(a.dims, a.shape) elements
       free(a.data);

   The format (numpy.lib.format), versions 1.0, 2.0 and 3.0:

       6 bytes    "\x93NUMPY"
       2 bytes    major and minor version
       2 or 4     length of the header, little-endian: 2 bytes in version 1.0, 4 in the others
       header     {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   a Python literal, spaces, a newline
       data       in C order (last index fastest) or Fortran order (first index fastest), to the end of the file

   descr may name the native byte order ('=f4', '|f4', 'f4'), which has to be little-endian. Any other type is refused.
   Literals that Python accepts but numpy never writes are refused too. Memory grows with the data that is read, because
   the size in the header can be wrong. */
#ifndef NPY_H
#define NPY_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "npy.h needs a little-endian machine"
#endif

enum {
  NPY_DIMS = 32,      /* dimensions, at most */
  NPY_HEADER = 65535, /* bytes of a header, at most: the limit of version 1.0; headers of float32 are shorter */
  NPY_ERROR = 160,    /* bytes of an error message */
  NPY_SHAPE = 768     /* bytes of a shape as text */
};

typedef struct npy_array {
  float *data; /* from malloc; NULL if npy_read() failed, never otherwise */
  int dims;    /* 0 to NPY_DIMS */
  int64_t shape[NPY_DIMS];
  int fortran; /* 1: the first index varies fastest */
  int rounded; /* 1: the file held float64 */
} npy_array;

/* Elements of an array, or -1 if as float64 they would have more than 2^63 - 1 bytes. */
static inline int64_t npy_count(int dims, const int64_t *shape) {
  int64_t count = 1;
  int i;
  for (i = 0; i < dims; i++)
    if (shape[i] == 0)
      return 0;
  for (i = 0; i < dims; i++) {
    if (shape[i] > INT64_MAX / (int64_t)sizeof(double) / count)
      return -1;
    count *= shape[i];
  }
  return count;
}

/* Writes the shape as Python prints it, (), (3,) or (3, 4), to NPY_SHAPE bytes of text, and returns text. */
static inline const char *npy_shape(const npy_array *a, char *text) {
  size_t used = 1;
  int i;
  strcpy(text, "(");
  for (i = 0; i < a->dims; i++)
    used += (size_t)snprintf(text + used, NPY_SHAPE - used, i > 0 ? ", %lld" : "%lld", (long long)a->shape[i]);
  strcpy(text + used, a->dims == 1 ? ",)" : ")");
  return text;
}

/* ---- The header's grammar: each function skips blanks and parses the element that it is named after, or returns 0  */

typedef struct npy__cursor {
  const char *at, *end;
} npy__cursor;

static inline void npy__blanks(npy__cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
    c->at++;
}

static inline int npy__char(npy__cursor *c, char wanted) {
  npy__blanks(c);
  if (c->at == c->end || *c->at != wanted)
    return 0;
  c->at++;
  return 1;
}

static inline int npy__word(npy__cursor *c, const char *word) {
  const size_t length = strlen(word);
  npy__blanks(c);
  if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
    return 0;
  c->at += length;
  return 1;
}

/* Copies the text from begin to the cursor. It truncates text that is too long, which matches no known word. */
static inline void npy__copy(const npy__cursor *c, const char *begin, char *text, size_t room) {
  const size_t length = (size_t)(c->at - begin) < room ? (size_t)(c->at - begin) : room - 1;
  memcpy(text, begin, length);
  text[length] = '\0';
}

/* A string in either kind of quotes, without escapes and control characters. */
static inline int npy__string(npy__cursor *c, char *text, size_t room) {
  const char quote = npy__char(c, '\'') ? '\'' : '"';
  const char *begin;
  if (quote == '"' && !npy__char(c, '"'))
    return 0;
  for (begin = c->at; c->at < c->end && *c->at != quote; c->at++)
    if (*c->at == '\\' || (unsigned char)*c->at < ' ')
      return 0;
  npy__copy(c, begin, text, room);
  return npy__char(c, quote);
}

/* The list of a structured type, copied without parsing, for an error message. */
static inline int npy__list(npy__cursor *c, char *text, size_t room) {
  const char *begin;
  int depth;
  if (!npy__char(c, '['))
    return 0;
  begin = c->at - 1;
  for (depth = 1; depth > 0; c->at++) {
    if (c->at == c->end)
      return 0;
    depth += (*c->at == '[') - (*c->at == ']');
  }
  npy__copy(c, begin, text, room);
  return 1;
}

/* A size without leading zeros, which Python refuses too. Python 2 writes an L after it. */
static inline int npy__size(npy__cursor *c, int64_t *size) {
  const char *begin;
  npy__blanks(c);
  *size = 0;
  for (begin = c->at; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
    if (*size > (INT64_MAX - 9) / 10)
      return 0;
    *size = *size * 10 + (*c->at - '0');
  }
  if (c->at == begin || (*begin == '0' && c->at > begin + 1))
    return 0;
  if (c->at < c->end && *c->at == 'L')
    c->at++;
  return 1;
}

/* (), (3,), (3, 4) or (3, 4,). (3) is no tuple but a number in parentheses. */
static inline int npy__tuple(npy__cursor *c, npy_array *a) {
  int comma = 1;
  if (!npy__char(c, '('))
    return 0;
  for (a->dims = 0; !npy__char(c, ')'); a->dims++) {
    if (!comma || a->dims == NPY_DIMS || !npy__size(c, &a->shape[a->dims]))
      return 0;
    comma = npy__char(c, ',');
  }
  return a->dims != 1 || comma;
}

/* The whole header: the three keys, each once, in any order, and after them only blanks. */
static inline int npy__dict(npy__cursor *c, npy_array *a, char *descr, size_t room) {
  int seen = 0, comma = 1;
  if (!npy__char(c, '{'))
    return 0;
  while (!npy__char(c, '}')) {
    char key[16];
    int bit, valid;
    if (!comma || !npy__string(c, key, sizeof key) || !npy__char(c, ':'))
      return 0;
    if (strcmp(key, "descr") == 0) {
      bit = 1;
      valid = npy__string(c, descr, room) || npy__list(c, descr, room);
    } else if (strcmp(key, "fortran_order") == 0) {
      bit = 2;
      a->fortran = npy__word(c, "True");
      valid = a->fortran || npy__word(c, "False");
    } else {
      bit = 4;
      valid = strcmp(key, "shape") == 0 && npy__tuple(c, a);
    }
    if (!valid || (seen & bit) != 0)
      return 0;
    seen |= bit;
    comma = npy__char(c, ',');
  }
  npy__blanks(c);
  return seen == 7 && c->at == c->end;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* Reads everything before the data. *width: bytes of an element in the file, 4 or 8. */
static inline int npy__header(FILE *file, npy_array *a, size_t *width, char *error) {
  unsigned char start[12] = {0};
  char text[NPY_HEADER], descr[64];
  const char *type = descr;
  npy__cursor cursor;
  size_t prefix, length;

  if (fread(start, 1, 8, file) != 8 || memcmp(start, "\x93NUMPY", 6) != 0) {
    snprintf(error, NPY_ERROR, "%s", ferror(file) ? strerror(errno) : "bad magic: this is no .npy file");
    return -1;
  }
  if (start[6] < 1 || start[6] > 3 || start[7] != 0) {
    snprintf(error, NPY_ERROR, "format version %d.%d is not 1.0, 2.0 or 3.0", start[6], start[7]);
    return -1;
  }
  prefix = start[6] == 1 ? 2 : 4;
  if (fread(start + 8, 1, prefix, file) != prefix) {
    snprintf(error, NPY_ERROR, "%s", ferror(file) ? strerror(errno) : "truncated in the header");
    return -1;
  }
  length = start[8] | (size_t)start[9] << 8 | (size_t)start[10] << 16 | (size_t)start[11] << 24;
  if (length > NPY_HEADER) {
    snprintf(error, NPY_ERROR, "a header of %zu bytes is too long", length);
    return -1;
  }
  if (fread(text, 1, length, file) != length) {
    snprintf(error, NPY_ERROR, "%s", ferror(file) ? strerror(errno) : "truncated in the header");
    return -1;
  }
  cursor.at = text;
  cursor.end = text + length;
  if (!npy__dict(&cursor, a, descr, sizeof descr)) {
    snprintf(error, NPY_ERROR, "malformed header, at its byte %d", (int)(cursor.at - text));
    return -1;
  }
  if (*type == '<' || *type == '=' || *type == '|')
    type++;
  if (strcmp(type, "f4") != 0 && strcmp(type, "f8") != 0) {
    snprintf(error, NPY_ERROR, "dtype %s is neither float32 (<f4) nor float64 (<f8)", descr);
    return -1;
  }
  *width = type[1] == '4' ? sizeof(float) : sizeof(double);
  a->rounded = *width == sizeof(double);
  return 0;
}

/* Reads a whole array, after which the file must end. Returns 0, or -1 with a message in error. */
static inline int npy_read(FILE *file, npy_array *a, char *error) {
  double wide[1024];
  int64_t count, done = 0, room = 0;
  size_t width, wanted, got, i;

  a->data = NULL;
  if (npy__header(file, a, &width, error) != 0)
    return -1;
  count = npy_count(a->dims, a->shape);
  if (count < 0) {
    snprintf(error, NPY_ERROR, "the shape has more elements than any memory");
    return -1;
  }

  do {
    if (done == room) { /* true for an empty array too, which gets memory */
      float *data;
      room = count < 2 * room + (1 << 20) ? count : 2 * room + (1 << 20);
      data = (float *)realloc(a->data, (size_t)(room > 0 ? room : 1) * sizeof *data);
      if (data == NULL) {
        snprintf(error, NPY_ERROR, "out of memory for %lld elements", (long long)room);
        free(a->data);
        a->data = NULL;
        return -1;
      }
      a->data = data;
    }
    wanted = (size_t)(room - done);
    if (a->rounded) {
      wanted = wanted < sizeof wide / sizeof *wide ? wanted : sizeof wide / sizeof *wide;
      got = fread(wide, width, wanted, file);
      for (i = 0; i < got; i++)
        a->data[done + (int64_t)i] = (float)wide[i];
    } else {
      got = fread(a->data + done, width, wanted, file);
    }
    done += (int64_t)got;
  } while (got == wanted && done < count);

  if (done == count && fgetc(file) == EOF && !ferror(file))
    return 0;
  if (ferror(file))
    snprintf(error, NPY_ERROR, "%s", strerror(errno));
  else if (done < count)
    snprintf(error, NPY_ERROR, "truncated: %lld of %lld elements are there", (long long)done, (long long)count);
  else
    snprintf(error, NPY_ERROR, "trailing bytes behind the data");
  free(a->data);
  a->data = NULL;
  return -1;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

/* Writes elements of `bytes` bytes and of a type that `descr` names, in the array's shape and order, in format version
   1.0, with the data at a multiple of 64 bytes. Returns 0, or -1 with errno set. An error in the last bytes shows only
   in fclose(). */
static inline int npy_write_as(FILE *file, const npy_array *a, const char *descr, const void *data, size_t bytes) {
  char shape[NPY_SHAPE], header[NPY_SHAPE + 64];
  const size_t count = (size_t)npy_count(a->dims, a->shape);
  const int used = 10 + snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr,
                                 a->fortran ? "True" : "False", npy_shape(a, shape));
  const int padding = 64 - used % 64; /* with the newline, so at least 1 */
  const int length = used - 10 + padding;
  if (fprintf(file, "\x93NUMPY%c%c%c%c%s%*s", 1, 0, length % 256, length / 256, header, padding, "\n") < 0)
    return -1;
  return fwrite(data, bytes, count, file) == count ? 0 : -1;
}

/* Writes the array: npy_write_as() of its elements. */
static inline int npy_write(FILE *file, const npy_array *a) {
  return npy_write_as(file, a, "<f4", a->data, sizeof *a->data);
}

#endif
