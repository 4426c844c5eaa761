#!/bin/bash
# Builds the quickstart without Bazel: with a C compiler for the CPU, with nvcc and a C compiler for the GPU. The quick tier
# builds without optimisation.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

cd "$work"
optimised=-O2
if [ "$full" = 0 ]; then optimised=-O0; else fast=; fi
strict=(-std=c11 $optimised -Wall -Wextra -Werror -I"$root")

cpu() {
  gcc "${strict[@]}" -I"$root/cpu/runtime" -DSGEMM_CPU=1 "$root/examples/quickstart.c" "$root/cpu/sgemm.c" -lpthread -lm -o cpu
}
check "quickstart on the CPU: build" cpu
same "quickstart on the CPU: run" $'4 5\n10 11' "$(./cpu)"

# nvcc compiles one .cu file. gcc compiles the C file and links. A single stage keeps the compilation short.
gpu() {
  nvcc -O3 $fast -gencode=arch=compute_90a,code=sm_90a --compress-mode=size -DSGEMM_STAGE=tiled -I"$root" \
    -c "$root/cuda/sgemm.cu" -o sgemm.o &&
    gcc "${strict[@]}" -I"$cuda/include" "$root/examples/quickstart.c" sgemm.o -L"$cuda/lib64" \
      -lcudart_static -lstdc++ -lpthread -ldl -lrt -lm -o gpu
}
with nvcc check "quickstart on the GPU: build" gpu

finish
