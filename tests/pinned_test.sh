#!/bin/bash
# A build holds exactly the kernels that SGEMM_STAGE asks for, as its PTX lists them, and compiles for architectures
# from the oldest that nvcc 13 knows to the newest.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

# The table as its own preprocessor expands it, a line a row: ROW stage production name.
cat > "$work/rows.c" <<'TABLE'
#include "sgemm.h"
#define ROW_OF(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slices, blocks, production, reason)                         \
  ROW stage production SGEMM__NAME(stage, BM, BN, BK, TM, TN)
SGEMM_VARIANTS(ROW_OF)
TABLE
gcc -E -P -I"$root" "$work/rows.c" | grep -oE 'ROW [a-z0-9_]+ [01] sgemm_[a-z0-9_]+' > "$work/rows"

# The kernels of the tensor modes, which builds have that are not of one stage.
cat > "$work/tensors.c" <<'TABLE'
#include "sgemm.h"
#define SPLIT_OF(format, parts, idea) TENSOR sgemm_split_##format
#define TENSOR_OF(engine, format, BM, BN, ...) TENSOR sgemm_##engine##_##format##_##BM##x##BN
SGEMM_FORMATS(SPLIT_OF)
SGEMM_TENSORS(TENSOR_OF)
TABLE
tensors=$(gcc -E -P -I"$root" "$work/tensors.c" | grep -oE 'TENSOR sgemm_[a-z0-9_]+' | sed 's/TENSOR //')

# kernels AWK_CONDITION: the kernels of the rows that meet it, and those that every build has.
kernels() {
  awk "$1"' { for (i = 1; i <= 4; i++) print $4 "_" substr("nnnttntt", 2 * i - 1, 2) }
    END { print "sgemm_sum_planes"; print "sgemm_pack"; print "sgemm_sum_shares" }' "$work/rows" | sort
}

# pinned NAME WANTED OPTION...: the kernels of a build.
pinned() {
  if nvcc -ptx "${@:3}" -I"$root" -o "$work/ptx" "$root/cuda/sgemm.cu" > "$work/output" 2>&1; then
    same "$1" "$2" "$(sed -nE 's/.*\.entry ([A-Za-z0-9_$]+).*/\1/p' "$work/ptx" | sort)"
  else
    fail "$1" "$(why)"
  fi
}

# unpinned AWK_CONDITION: the same with those of the tensor modes.
unpinned() { printf '%s\n' "$(kernels "$1")" "$tensors" | sort; }

same "stages of the table and of bazel/stages.bzl" "$(awk '!seen[$2]++ { print $2 }' "$work/rows")" \
  "$(sed -n '/^STAGES = \[/,/^\]/s/.*"\(.*\)".*/\1/p' "$root/bazel/stages.bzl")"

for stage in $(awk '!seen[$2]++ { print $2 }' "$work/rows"); do
  with nvcc pinned "$stage" "$(kernels "\$2 == \"$stage\"")" "-DSGEMM_STAGE=$stage" -arch=compute_90a
done
with nvcc pinned unset "$(unpinned '$3 == 1')" -arch=compute_90a
with nvcc pinned all "$(unpinned 1)" -DSGEMM_STAGE=all -arch=compute_90a

for arch in 75 80 86 89 90a 100 120; do
  with nvcc pinned "compute_$arch" "$(unpinned '$3 == 1')" "-arch=compute_$arch"
done

finish
