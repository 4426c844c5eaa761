/* module_host.c: a program without a BLAS, which loads a module that has one, with RTLD_LOCAL, as Python does. */
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  void *module = dlopen("./module.so", RTLD_NOW | RTLD_LOCAL);
  int (*run)(int, char **) = module == NULL ? NULL : (int (*)(int, char **))dlsym(module, "main_of_module");
  if (run == NULL)
    return puts(dlerror()), 2;
  return run(argc, argv);
}
