/* nvrtc SOURCE OPTION...: compiles a file by NVRTC to PTX, and prints the PTX. Prints NVRTC's messages to stderr. */
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  char *source = (char *)calloc(1, 4 << 20), *text;
  FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
  nvrtcProgram program;
  nvrtcResult result;
  size_t bytes;
  if (file == NULL || fread(source, 1, (4 << 20) - 1, file) == 0 ||
      nvrtcCreateProgram(&program, source, argv[1], 0, NULL, NULL) != NVRTC_SUCCESS)
    return 1;
  result = nvrtcCompileProgram(program, argc - 2, (const char *const *)argv + 2);
  nvrtcGetProgramLogSize(program, &bytes);
  text = (char *)malloc(bytes);
  nvrtcGetProgramLog(program, text);
  fputs(text, stderr);
  if (result != NVRTC_SUCCESS)
    return 1;
  nvrtcGetPTXSize(program, &bytes);
  text = (char *)malloc(bytes);
  nvrtcGetPTX(program, text);
  fputs(text, stdout);
  return 0;
}
