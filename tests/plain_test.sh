#!/bin/bash
# The quickstart as a reader without Bazel builds it, with a C compiler for the CPU and with nvcc for the GPU; how large
# a program the implementation makes, and how slow a build.
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
max_seconds=120
arch=-gencode=arch=compute_90a,code=sm_90a

# gpu STAGE: the program with this stage alone, its symbols stripped; unrolled kernels compress to a fifth.
gpu() {
  nvcc -O3 $arch -Xfatbin=-compress-all "-DSGEMM_STAGE=$1" -I"$root" -c "$root/cuda/sgemm.cu" -o "$1.o" &&
    gcc "${strict[@]}" -DMACHINE_CUDA=1 -I"$cuda/include" "$root/examples/quickstart.c" "$1.o" -L"$cuda/lib64" \
      -lcudart_static -lstdc++ -lpthread -ldl -lrt -lm -o "$1" &&
    strip "$1"
}

# below NAME NUMBER LIMIT UNIT
below() {
  if [ "$2" -lt "$3" ]; then ok "$1: $2 $4"; else fail "$1" "$2 $4, not below $3"; fi
}

if [ -n "$cuda" ]; then
  for stage in tiled warptiled doublebuffered; do
    check "quickstart with $stage on the GPU: build" gpu $stage
    below "quickstart with $stage on the GPU: size" "$(stat -c %s $stage)" $max_bytes bytes
  done
  SECONDS=0
  check "every stage: build" nvcc -O3 $arch -DSGEMM_STAGE=all -I"$root" -c "$root/cuda/sgemm.cu" -o all.o
  below "every stage: build time" $SECONDS $max_seconds seconds
else
  skip "quickstart on the GPU" "no nvcc"
  skip "every stage: build" "no nvcc"
fi

finish
