/* real.c: looks for a function of the BLAS.

   RTLD_NEXT has it where the program is linked with the BLAS. Python loads numpy, and with it the BLAS, out of
   RTLD_NEXT's sight (RTLD_LOCAL). Then the caller's module and the libraries that it is linked with have it: the call
   would have gone there. If the caller is in no module (code compiled at run time), the function is taken from a loaded
   library of `libraries[]`, or else from one of these that dlopen() finds. */
#define _GNU_SOURCE /* RTLD_NEXT, dladdr() */
#include "adapters/blas/real.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* SGEMM_BLAS_ILP64: the adapter for libraries whose plain names have 64-bit integers, under Debian's names. */
#if SGEMM_BLAS_ILP64
static const char *const libraries[] = {"libblas64.so.3", "libopenblas64.so.0"};
#else
static const char *const libraries[] = {"libblas.so.3", "libopenblas.so.0", "libcblas.so.3"};
#endif

static void *in_library(const char *library, int mode, const char *name, const void *own) {
  void *handle = library == NULL ? NULL : dlopen(library, mode);
  void *function = handle == NULL ? NULL : dlsym(handle, name);
  return function == own ? NULL : function;
}

static void *find(const char *name, const void *own, const void *caller) {
  static const int modes[] = {RTLD_LAZY | RTLD_NOLOAD, RTLD_LAZY};
  void *function = dlsym(RTLD_NEXT, name);
  Dl_info module;
  unsigned i, j;
  if (function == NULL && dladdr(caller, &module) != 0)
    function = in_library(module.dli_fname, RTLD_LAZY | RTLD_NOLOAD, name, own);
  for (i = 0; i < sizeof modes / sizeof *modes; i++)
    for (j = 0; j < sizeof libraries / sizeof *libraries && function == NULL; j++)
      function = in_library(libraries[j], modes[i], name, own);
  return function;
}

void *sgemm_blas__real(const char *name, const void *own, const void *caller, void **found) {
  void *function = __atomic_load_n(found, __ATOMIC_ACQUIRE);
  if (function != NULL)
    return function;
  function = find(name, own, caller);
  if (function == NULL) {
    fprintf(stderr, "sgemm_blas: there is no BLAS with %s\n", name);
    abort();
  }
  __atomic_store_n(found, function, __ATOMIC_RELEASE);
  return function;
}
