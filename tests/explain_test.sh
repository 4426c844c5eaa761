#!/bin/bash
# explain_test.sh PROGRAM: explain lists the plans of a call by their estimates, the selected one first, and refuses wrong
# arguments.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"
tool=$(realpath "$1")

says "no arguments" "explain: usage: explain M N K [OPTION VALUE]..."
says "two sizes" "explain: usage: explain M N K [OPTION VALUE]..." 3 4
says "a size of 0" "explain: a size is not a whole number of at least 1: 0" 3 0 4
says "no such option" "explain: unknown option: --speed" 3 4 5 --speed 6
says "no value" "explain: the option needs a value: --op" 3 4 5 --op
says "a wrong op" "explain: --op is not NN, NT, TN or TT: NX" 3 4 5 --op NX
says "a wrong mode" "explain: --mode is not strict, tensor or tensor_full: fast" 3 4 5 --mode fast
says "a wrong GPU" "explain: --gpu is not H200, A100, RTX3090 or RTX3070: B200" 3 4 5 --gpu B200
says "a wrong workspace" "explain: --workspace is not a whole number of MiB from 0 to 1048576: -1" 3 4 5 --workspace -1
says "a wrong count" "explain: --count is not a whole number from 1 to 1000: 0" 3 4 5 --count 0
says "a wrong beta" "explain: --beta is not a number: 1x" 3 4 5 --beta 1x
says "a wrong padding" "explain: --padding is not a whole number from 0 to 1048576: a" 3 4 5 --padding a
says "a wrong batch" "explain: --batch is not a whole number of at least 1: 0" 3 4 5 --batch 0

# consistent NAME ARGUMENT...: the estimates ascend, the first plan is the selected one with its estimate, and as many
# plans are printed as are considered.
consistent() {
  "$tool" "${@:2}" --count 1000 > "$work/plans"
  awk 'NR == 2 { variant = $1; sub(/[,;]$/, "", variant); us = $0; sub(/.*estimated /, "", us); sub(/ us.*/, "", us) }
    NR == 3 { wanted = $1 }
    NR == 5 { first = $1 == us && $11 == variant }
    NR > 5 && $1 < before { falls = 1 }
    NR > 4 { before = $1; plans++ }
    END { print (plans == wanted && plans > 0 ? "all" : "not all"), (first ? "selected first" : "another first"),
                (falls ? "unsorted" : "sorted") }' "$work/plans" > "$work/got"
  same "$1" "all selected first sorted" "$(cat "$work/got")"
}
consistent "a square" 4096 4096 4096
consistent "few rows" 8 4096 4096 --op NT
consistent "unaligned rows and beta" 1023 1025 17 --padding 3 --beta 0.5
consistent "a batch" 64 64 64 --batch 1000
consistent "another GPU" 300 400 5000 --gpu A100 --op TN
consistent "no workspace" 256 256 100000 --workspace 0
same "no plan with a workspace" 0 "$(awk 'NR > 4 && $10 > 0' "$work/plans" | wc -l)"
"$tool" 4096 4096 4096 --gpu A100 --count 1000 > "$work/plans"
same "tma is no candidate on an A100" "some, 0" "$([ "$(wc -l < "$work/plans")" -gt 4 ] && echo some), $(grep -c tma_ "$work/plans" || true)"
"$tool" 4096 4096 4096 --mode tensor --count 3 > "$work/plans"
check "a tensor plan" grep -q '^wgmma_fp16x3_.*falls back on' "$work/plans"
same "as many plans as asked for" 7 "$(wc -l < "$work/plans")"
"$tool" 4096 4096 4096 --mode tensor --workspace 48 > "$work/plans"
check "slices in a quarter of the workspace" grep -q '^wgmma_fp16x3_.*, slices_k [0-9]*; ' "$work/plans"

finish
