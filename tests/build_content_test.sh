#!/bin/bash
# build_content_test.sh [PRODUCTION [ALL]]: a build has exactly the kernels that SGEMM_STAGE selects. PRODUCTION and ALL
# are programs that are linked from the parts of these builds; nm lists their kernels, and cuobjdump, where it is
# installed, their machine code. Other builds are compiled to PTX.
# The full tier compiles every stage, and production for the architectures of nvcc 13 from sm_75 to sm_120.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

# SGEMM_VARIANTS after the preprocessor, one row a line: ROW stage production name any_op_a any_op_b reducing apart.
# any_op_a, any_op_b: 1 if the kernels read the op of A, or of B, at run time. reducing: 1 if the variant has a reducing
# kernel. apart: 1 if it has a kernel for epilogues.
cat > "$work/rows.c" <<'TABLE'
#include "sgemm.h"
#define ROW_OF(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, blocks, production, reason)                         \
  ROW stage production sgemm_##stage##_##BM##x##BN##x##BK##_##TM##x##TN                                                 \
      SGEMM__ANY_OP(stage, BM, sgemm_##stage##_##BM##x##BN##x##BK##_##TM##x##TN, BK)                                    \
      SGEMM__ANY_OP(stage, BN, sgemm_##stage##_##BM##x##BN##x##BK##_##TM##x##TN, BK)                                   \
      SGEMM__REDUCING(sgemm_##stage##_##BM##x##BN##x##BK##_##TM##x##TN)                                                \
      SGEMM__APART(sgemm_##stage##_##BM##x##BN##x##BK##_##TM##x##TN)
SGEMM_VARIANTS(ROW_OF)
TABLE
gcc -E -P -I"$root" "$work/rows.c" | grep -oE 'ROW [a-z0-9_]+ [0-9]+ sgemm_[a-z0-9_]+ [01] [01] [01] [01]' > "$work/rows"

# The kernels of the tensor modes. A build of a single stage does not have them.
cat > "$work/tensors.c" <<'TABLE'
#include "sgemm.h"
#define SPLIT_OF(format, terms, idea) TENSOR sgemm_split_##format
#define TENSOR_OF(engine, format, BM, BN, ...) TENSOR sgemm_##engine##_##format##_##BM##x##BN                           \
    SGEMM__REDUCING(sgemm_##engine##_##format##_##BM##x##BN)
SGEMM_FORMATS(SPLIT_OF)
TENSOR sgemm_split_fallback
SGEMM_TENSOR_VARIANTS(TENSOR_OF)
TABLE
tensors=$(gcc -E -P -I"$root" "$work/tensors.c" | grep -oE 'TENSOR sgemm_[a-z0-9_]+( 1)?' |
  awk '{ print $2 } $3 == 1 { print $2 "_reduced" }')

# kernels AWK_CONDITION: prints the kernels of the rows that meet the condition, and the kernels of every build.
kernels() {
  awk "$1"' {
      count = split($5 + $6 == 0 ? "_nn _nt _tn _tt" : $5 + $6 == 1 ? "_n _t" : "", suffixes, " ")
      if (count == 0) print $4
      for (i = 1; i <= count; i++) print $4 suffixes[i]
      if ($7 == 1) print $4 "_reduced"
      if ($8 == 1) print $4 "_fused"
    }
    END {
      print "sgemm_apply_epilogue"; print "sgemm_reduce_split_k"; print "sgemm_pack"; print "sgemm_reduce_stream_k"
      print "sgemm_reduce_slab"; print "sgemm_reduce_parts"; print "sgemm_reduce_tiles"; print "sgemm_reduce_direct"
    }' "$work/rows" | sort
}

# stage_kernels STAGE AWK_CONDITION: prints the kernels of a stage's rows that meet the condition.
stage_kernels() { kernels "\$2 == \"$1\" && ($2)" | grep "_$1_"; }

# The stages in the order of the table.
stages=$(awk '!seen[$2]++ { print $2 }' "$work/rows")

# unpinned AWK_CONDITION: prints the output of kernels(), and the kernels of the tensor modes.
unpinned() { printf '%s\n' "$(kernels "$1")" "$tensors" | sort; }

# ptx NAME WANTED OPTION...: compiles a build to PTX and compares its kernels, without optimisation where nvcc can do without,
# because only names are compared.
ptx() {
  if nvcc -ptx $fast "${@:3}" -I"$root" -o "$work/ptx" "$root/cuda/sgemm.cu" > "$work/output" 2>&1; then
    same "$1" "$2" "$(sed -nE 's/.*\.entry ([A-Za-z0-9_$]+).*/\1/p' "$work/ptx" | sort)"
  else
    fail "$1" "$(why)"
  fi
}

# linked NAME WANTED PROGRAM: compares the kernels of a program. nvcc's host stubs have the names of the kernels.
linked() {
  same "$1" "$2" "$(nm --defined-only "$3" |
    perl -ne 'print substr($2, 0, $1), "\n" if /__device_stub__Z(\d+)(sgemm_\w+)$/' | sort -u)"
}

if [ $# -gt 0 ]; then
  linked "production, linked from parts" "$(unpinned '$3 == 1')" "$1"
else
  skip "programs linked from parts" "no CUDA toolkit"
fi
if [ $# -gt 1 ]; then
  linked "all, linked from parts" "$(unpinned 1)" "$2"
fi

# The machine code of the last program waits for each load. ptxas 13.0.88 forgot such waits in three kernels.
waits() {
  if PATH=${cuda:+$cuda/bin:}$PATH python3 "$root/tools/check_sass.py" "${!#}" > "$work/output" 2>&1; then
    ok "$1"
  else
    fail "$1" "$(grep -m 1 'reads' "$work/output" || tail -n 1 "$work/output")"
  fi
}
if ! [ -x "$cuda/bin/cuobjdump" ] && ! command -v cuobjdump > /dev/null; then
  skip "waits of the machine code" "no cuobjdump"
elif [ $# -eq 0 ]; then
  skip "waits of the machine code" "no CUDA toolkit"
else
  waits "waits of the machine code" "$@"
fi

for stage in $([ "$full" = 0 ] && echo naive gemv || echo "$stages"); do
  with nvcc ptx "$stage" "$(kernels "\$2 == \"$stage\"")" "-DSGEMM_STAGE=$stage" -arch=compute_90a
done
# notices NAME COUNT OPTION...: a build prints the message on sm_90 so many times.
notices() {
  if nvcc -ptx $fast "${@:3}" -I"$root" -o "$work/ptx" "$root/cuda/sgemm.cu" > "$work/output" 2>&1; then
    same "$1" "$2" "$(grep -c '#pragma message: "sgemm' "$work/output" || true)"
  else
    fail "$1" "$(why)"
  fi
}
with nvcc notices "sm_90 without the letter a" 1 -arch=compute_90 -DSGEMM_STAGE=tma
with nvcc notices "sm_90a" 0 -arch=compute_90a -DSGEMM_STAGE=tma -DSGEMM_PART=host
with nvcc notices "sm_90, a stage that does not need the letter" 0 -arch=compute_90 -DSGEMM_STAGE=naive
with nvcc notices "sm_90, a part without the host" 0 -arch=compute_90 -DSGEMM_STAGE=tma -DSGEMM_PART=tma

# A build for sm_80 and sm_90a has the kernels of the variants with 89 in the column prod, empty in the code for sm_90a.
# with_body FILE: prints the kernels of the stage async in a file of PTX that have its body, inlined or called.
with_body() {
  perl -0777 -ne 'for (split /(?=\.entry )/) {
    print "$1\n" if /cp\.async|call.*sgemm__pipelined/s && /^\.entry (sgemm_async\w+)/ }' "$1" | sort
}
two_architectures() {
  mkdir "$work/keep"
  if nvcc -fatbin $fast -gencode=arch=compute_80,code=compute_80 -gencode=arch=compute_90a,code=compute_90a \
    -DSGEMM_PART=async -I"$root" --keep --keep-dir "$work/keep" -o "$work/fatbin" "$root/cuda/sgemm.cu" \
    > "$work/output" 2>&1; then
    same "$1, sm_80" "$(stage_kernels async '$3 != 0')" "$(with_body "$work"/keep/*compute_80*.ptx)"
    same "$1, sm_90a" "$(stage_kernels async '$3 == 1')" "$(with_body "$work"/keep/*compute_90a*.ptx)"
  else
    fail "$1" "$(why)"
  fi
}
with nvcc two_architectures "production for two architectures"

if [ "$full" != 0 ]; then
  with nvcc ptx all "$(unpinned 1)" -DSGEMM_STAGE=all -arch=compute_90a
  # On two architectures the optimiser must compile production too. It does so on sm_90a in every build with kernels.
  quick=$fast
  for arch in 75 80 86 89 90 90a 100 120; do
    rows='$3 == 1' fast=$quick
    case $arch in
      75) rows='$3 != 0' ;;
      80 | 86 | 89) rows='$3 == 1 || $3 == 89' ;;
    esac
    case $arch in
      80 | 90) fast= ;;
    esac
    if [ -n "$cuda" ] && ! "$cuda/bin/nvcc" --list-gpu-arch 2> /dev/null | grep -qx "compute_${arch%a}"; then
      skip "production, compute_$arch" "this nvcc does not know it"
      continue
    fi
    with nvcc ptx "production, compute_$arch" "$(unpinned "$rows")" "-arch=compute_$arch"
  done
fi

finish
