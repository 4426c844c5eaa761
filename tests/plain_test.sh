#!/bin/bash
# The quickstart as a reader without Bazel builds it: with a C compiler for the CPU, with nvcc for the GPU, and how large a
# program and how slow a build the implementation makes.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

cd "$work"
strict=(-std=c11 -O2 -Wall -Wextra -Werror -I"$root")

# ---- On the CPU ------------------------------------------------------------------------------------------------------

cpu() {
  gcc "${strict[@]}" -DSGEMM_CPU=1 "$root/examples/quickstart.c" "$root/cpu/sgemm.c" -lpthread -lm -o cpu
}
check "quickstart on the CPU: build" cpu
same "quickstart on the CPU: run" $'4 5\n10 11' "$(./cpu)"

# ---- On the GPU: one .cu file by nvcc, the C by gcc, which links -----------------------------------------------------

max_bytes=1100000
max_seconds=60
arch=-gencode=arch=compute_90a,code=sm_90a

# gpu STAGE: the stripped program with this stage alone.
gpu() {
  nvcc -O3 $arch "-DSGEMM_STAGE=$1" -I"$root" -c "$root/cuda/sgemm.cu" -o "$1.o" &&
    gcc "${strict[@]}" -DMACHINE_CUDA=1 -I"$cuda/include" "$root/examples/quickstart.c" "$1.o" -L"$cuda/lib64" \
      -lcudart_static -lstdc++ -lpthread -ldl -lrt -o "$1" &&
    strip "$1"
}
small() {
  local size
  size=$(stat -c %s "$1")
  if [ "$size" -lt $max_bytes ]; then ok "$2, $size bytes"; else fail "$2" "$size bytes, not below $max_bytes"; fi
}
