#!/bin/bash
# nvrtc_test.sh FILE: the implementation without kernels and CUDA headers, and kernels that NVRTC compiles. FILE is the
# generated sgemm.h. NVRTC and the example are built where the CUDA toolkit is; no GPU is needed. NVRTC compiles without
# optimisation, except parts that the example compiles: its optimiser is that of nvcc, with which build_content_test.sh
# compiles production. The quick tier compiles production for two architectures.
set -euo pipefail
single=$(realpath "$1")
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

cd "$work"

# ---- SGEMM_HOST_ONLY -------------------------------------------------------------------------------------------------

printf '#define SGEMM_IMPLEMENTATION\n#include "sgemm.h"\n' > sgemm.c
cat > host.c <<'C'
#include "sgemm.h"

/* Prints the launches of a plan, whether one is selected for an RTX 3090, and whether calls that need a device say so. */
int main(void) {
  const sgemm_device device = {"GeForce RTX 3090", 8,       6,    86,      0,     82,   128, 1695, 1536, 16, 65536,
                               100 << 10,          99 << 10, 1024, 6 << 20, 35581, 936.2};
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_T, 300, 200, 100);
  sgemm_launch launches[SGEMM_MAX_LAUNCHES];
  sgemm_device current;
  sgemm_plan plan;
  int count, i;
  p.A = p.B = (const float *)4096;
  p.C = (float *)4096;
  plan = sgemm_variant_plan(SGEMM_async_64x64x8_8x8, &p);
  if (sgemm_plan_launches(&plan, &p, &device, NULL, launches, SGEMM_MAX_LAUNCHES, &count) != SGEMM_SUCCESS)
    return 1;
  for (i = 0; i < count; i++)
    printf("%s of %s, %u x %u x %u blocks of %u threads, %d bytes\n", launches[i].kernel, launches[i].part,
           launches[i].grid_x, launches[i].grid_y, launches[i].grid_z, launches[i].threads,
           (int)launches[i].argument_bytes);
  printf("%d %d %d\n", sgemm_select(&p, SGEMM_STAGE_ANY, &device).variant != SGEMM_VARIANT_NONE,
         sgemm_run(&p, NULL) == SGEMM_ERROR_UNAVAILABLE,
         sgemm_device_query(-1, &current) == SGEMM_ERROR_UNAVAILABLE);
  return 0;
}
C
strict=(-Wall -Wextra -Werror -pedantic -I"$root" -O1 -DSGEMM_HOST_ONLY=1)
check "gcc" gcc -std=c11 "${strict[@]}" -c sgemm.c -o sgemm.o
check "g++" g++ -x c++ -std=c++14 "${strict[@]}" -c sgemm.c -o sgemm_cpp.o
with clang check "clang" clang -std=c11 "${strict[@]}" -c sgemm.c -o sgemm_clang.o
same "undefined symbols" "" "$(nm -u sgemm.o | awk '{ print $NF }' | grep -vxE '_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|mem(cpy|set|cmp)|snprintf|sqrt|str(len|cpy)' || true)"
for object in sgemm sgemm_cpp; do
  check "$object: link" gcc -std=c11 -I"$root" host.c $object.o -lm -o host
  same "$object: run" "sgemm_async_64x64x8_8x8_nt of async, 20 x 1 x 1 blocks of 64 threads, 328 bytes
1 1 1" "$(./host)"
done

# ---- NVRTC -----------------------------------------------------------------------------------------------------------

if [ -z "$cuda" ] || [ ! -e "$cuda/lib64/libnvrtc.so" ]; then
  skip "NVRTC" "no CUDA toolkit with libnvrtc"
  finish
fi
export LD_LIBRARY_PATH=$cuda/lib64
gcc -O1 -I"$cuda/include" "$root/tests/nvrtc.c" -L"$cuda/lib64" -lnvrtc -o nvrtc

# without_optimisation SOURCE OPTION...: compiles a file, if the toolkit has the option in 0.3 s at most. Production takes 45 s
# with optimisation.
without_optimisation() { ./nvrtc "$1" "-I$root" $fast "${@:2}"; }

# compiled NAME WANTED OPTION...: compiles the implementation file, and compares its kernels with names of WANTED.
compiled() {
  if without_optimisation sgemm.c "${@:3}" > ptx 2> output; then
    same "$1" "$2" "$(sed -nE 's/.*\.entry ([A-Za-z0-9_$]+).*/\1/p' ptx | sed -E 's/_(nn|nt|tn|tt|fused)$//' | sort -u | paste -sd' ')"
  else
    fail "$1" "$(why)"
  fi
}
common="sgemm_apply_epilogue sgemm_pack sgemm_reduce_direct sgemm_reduce_parts sgemm_reduce_slab"
common+=" sgemm_reduce_split_k sgemm_reduce_stream_k sgemm_reduce_tiles"
compiled "one stage" "$common sgemm_tiled_16x16x16_1x1 sgemm_tiled_32x32x32_1x1" --gpu-architecture=compute_90 \
  -DSGEMM_STAGE=tiled
compiled "one part" "sgemm_direct_16x128x4_4x4 sgemm_direct_16x32x4_4x1 sgemm_direct_4x32x8_1x1 sgemm_direct_4x8x256_4x8 \
sgemm_direct_4x8x64_4x8 sgemm_direct_8x4x256_8x4 sgemm_direct_8x4x64_8x4" \
  --gpu-architecture=compute_90 -DSGEMM_PART=direct
compiled "part host" "$common" --gpu-architecture=compute_90a -DSGEMM_PART=host
compiled "doublebuffered is not in production from sm_80 on" "" --gpu-architecture=compute_80 \
  -DSGEMM_PART=doublebuffered
compiled "doublebuffered is in production for sm_75" \
  "sgemm_doublebuffered_128x256x8_16x8 sgemm_doublebuffered_128x64x16_8x8 sgemm_doublebuffered_64x64x16_8x4" \
  --gpu-architecture=compute_75 -DSGEMM_PART=doublebuffered
refuse "SGEMM_STAGE of no stage" "SGEMM_STAGE is not a stage" without_optimisation sgemm.c -DSGEMM_STAGE=tilde
refuse "SGEMM_PART of no part" "SGEMM_PART is not a part" without_optimisation sgemm.c -DSGEMM_PART=tilde

# The generated file is the whole program.
{ echo '#define SGEMM_IMPLEMENTATION' && cat "$single"; } > single.c
check "the single file" ./nvrtc single.c $fast --gpu-architecture=compute_90 -DSGEMM_PART=gemv

for arch in $([ "$full" = 0 ] && echo 90a 120 || echo 75 80 86 89 90 90a 100 120); do
  if "$cuda/bin/nvcc" --list-gpu-arch 2> /dev/null | grep -qx "compute_${arch%a}"; then
    check "production, compute_$arch" without_optimisation sgemm.c --gpu-architecture=compute_$arch
  else
    skip "production, compute_$arch" "this toolkit does not know it"
  fi
done

# ---- The example -----------------------------------------------------------------------------------------------------

example=$root/examples/nvrtc.c
check "the example" gcc -std=c11 -Wall -Wextra -Werror -pedantic -O2 -I"$root" -I"$cuda/include" -DSGEMM_HOST_ONLY=1 \
  -DSGEMM_IMPLEMENTATION "$example" -ldl -lm -o example
mkdir modules fake
parts=gemv
if [ "$full" != 0 ]; then parts+=" host tma"; fi
check "the example compiles parts" ./example compile compute_90a modules "$root" $parts
for part in $(./example list compute_90a | awk '{ print $1 }' | sort -u); do
  module=modules/$part.compute_90a
  [ -e "$module" ] ||
    without_optimisation sgemm.c --gpu-architecture=compute_90a "-DSGEMM_PART=$part" > "$module"
done

# The bytes of each kernel's parameters, each of which begins at a multiple of its alignment.
cat modules/* | awk '
  /\.entry / { name = $0; sub(/.*\.entry /, "", name); sub(/\(.*/, "", name); bytes = 0; inside = 1 }
  inside && /\.param/ {
    align = $0; sub(/.*\.align /, "", align); sub(/ .*/, "", align)
    size = $0; sub(/.*\[/, "", size); sub(/\].*/, "", size)
    bytes = int((bytes + align - 1) / align) * align + size
  }
  inside && /^\)/ { print name, bytes; inside = 0 }' | sort > parameters
./example list compute_90a | awk '{ print $2, $3 }' | sort -u > launches
same "kernels and bytes of their parameters" "$(cat launches)" "$(comm -12 launches parameters)"
check "at least 20 kernels" test "$(wc -l < launches)" -ge 20

# The program runs with a driver that launches the kernels of the CPU model. Vectors make its tensor cores faster. The rest
# of -O2 takes longer to compile than it saves.
check "the stand-in of the driver" gcc -std=c11 -O1 -ftree-vectorize -shared -fPIC -Wall -Wextra -Werror -I"$root" -I"$cuda/include" \
  -DSGEMM_CPU=1 -ffp-contract=off "$root/tests/fake_cuda.c" -lpthread -lm -o fake/libcuda.so.1
check "the example runs" env LD_LIBRARY_PATH=fake ./example run compute_90a modules
same "the example multiplies" "14 of ok, passed" \
  "$(grep -c '^ok ' output) of ok, $(tail -n 1 output)"

finish
