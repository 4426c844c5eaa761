/* real.c: looks for the real cuBLAS and cuBLASLt.

   The library is looked for in three places. RTLD_NEXT has it where the program is linked with it. Python loads it out
   of RTLD_NEXT's sight (RTLD_LOCAL), and then it is found among the loaded libraries by its name. Otherwise it is
   loaded. All functions are taken from one place, because a handle belongs to one library. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "adapters/cublas/real.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

/* The handle for dlsym() of the library `stem`.so.13, .12 or .11, which has the function `first`. NULL: there is
   none. */
static void *find_library(const char *stem, const char *first) {
  static const int modes[] = {RTLD_LAZY | RTLD_NOLOAD, RTLD_LAZY};
  char name[32];
  unsigned i;
  int version;
  if (dlsym(RTLD_NEXT, first) != NULL)
    return RTLD_NEXT;
  for (i = 0; i < sizeof modes / sizeof *modes; i++)
    for (version = 13; version >= 11; version--) {
      void *library;
      snprintf(name, sizeof name, "%s.so.%d", stem, version);
      library = dlopen(name, modes[i]);
      if (library != NULL)
        return library;
    }
  return NULL;
}

static sgemm_cublas__functions functions;
static sgemm_cublas__lt_functions lt_functions;

static void find_functions(void) {
  void *library = find_library("libcublas", "cublasGetStream_v2");
#define SGEMM__X(name) functions.name = library == NULL ? NULL : (__typeof__(&name))dlsym(library, #name);
  SGEMM_CUBLAS_FUNCTIONS(SGEMM__X)
#undef SGEMM__X
}

static void find_lt_functions(void) {
  void *library = find_library("libcublasLt", "cublasLtMatmul");
#define SGEMM__X(name) lt_functions.name = library == NULL ? NULL : (__typeof__(&name))dlsym(library, #name);
  SGEMM_CUBLASLT_FUNCTIONS(SGEMM__X)
#undef SGEMM__X
}

const sgemm_cublas__functions *sgemm_cublas__real(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_functions);
  return &functions;
}

const sgemm_cublas__lt_functions *sgemm_cublas__real_lt(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_lt_functions);
  return &lt_functions;
}
