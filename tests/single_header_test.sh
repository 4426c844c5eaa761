#!/bin/bash
# single_header_test.sh FILE: FILE, the generated sgemm.h, is alone in a directory. C11, C++14 and nvcc include it, and
# it is the implementation of a program on the CPU model, and compiles for a GPU.
set -euo pipefail
file=$(realpath "$1")
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

cd "$work"
cp "$file" sgemm.h
chmod u+w sgemm.h
echo '#include "sgemm.h"' > use.c
cp use.c use.cu
printf '#define SGEMM_IMPLEMENTATION\n#include "sgemm.h"\n' > sgemm.c
cp sgemm.c sgemm.cu
cat > program.c <<'C'
#include "sgemm.h"

int main(void) {
  const float A[6] = {1, 2, 3, 4, 5, 6}, B[6] = {1, 0, 0, 1, 1, 1};
  float C[4];
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 2, 2, 3);
  p.A = A;
  p.B = B;
  p.C = C;
  if (sgemm_run(&p, NULL) != SGEMM_SUCCESS)
    return 1;
  printf("%g %g %g %g\n", C[0], C[1], C[2], C[3]);
  return 0;
}
C

strict=(-Wall -Wextra -Werror -pedantic -I.)
same "it includes nothing by quotes" "" "$(grep '^ *# *include "' sgemm.h || true)"
check "C11" gcc -std=c11 "${strict[@]}" -fsyntax-only use.c
with clang check "C11 by clang" clang -std=c11 "${strict[@]}" -fsyntax-only use.c
check "C++14" g++ -x c++ -std=c++14 "${strict[@]}" -fsyntax-only use.c
program() { gcc -std=c11 -O1 -DSGEMM_CPU=1 -DSGEMM_STAGE=tiled -I. program.c sgemm.c -lpthread -lm -o program; }
check "a program on the CPU model: build" program
same "a program on the CPU model: run" "4 5 10 11" "$(./program)"
if [ -n "$cuda" ]; then
  check "nvcc: a user" nvcc -std=c++17 -I. -c use.cu -o use.o
  check "nvcc: the implementation" nvcc -std=c++17 -arch=compute_90a -DSGEMM_STAGE=tiled -I. -ptx sgemm.cu -o sgemm.ptx
else
  skip "nvcc" "no nvcc"
fi

finish
