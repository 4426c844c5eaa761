#!/bin/bash
# The figures in sgemm.h still choose well among the committed times; tune says what it cannot do.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"
tune=$(realpath "$1") times=$root/docs/measurements/tune_h200.csv

# says NAME SENTENCE ARGUMENT...: exit status 2, that one line on stderr and nothing on stdout.
says() {
  local status=0
  "$tune" "${@:3}" > "$work/out" 2> "$work/err" || status=$?
  same "$1" "2: $2" "$status: $(cat "$work/out" "$work/err")"
}

usage="tune: usage: tune measure FILE.csv [SHAPES.csv] | tune check FILE.csv | tune fit FILE.csv"
says "no arguments" "$usage"
says "no such verb" "$usage" guess "$times"
says "too many arguments" "$usage" check "$times" "$times"
says "no such file" "tune: $work/none.csv: cannot be read" check "$work/none.csv"
echo "m,n,k,batch,op,variant,ranks,planes,microseconds" > "$work/empty.csv"
says "no times" "tune: $work/empty.csv: no times of this table's rows" fit "$work/empty.csv"

# Of the committed times: the plans that the figures choose take less than 5 % longer than the fastest, in geometric mean.
"$tune" check "$times" 2> "$work/check"
longer=$(sed -nE 's/.*the plans chosen take ([0-9.]+) % longer.*/\1/p' "$work/check")
same "the committed figures" yes "$(awk -v x="$longer" 'BEGIN { print x != "" && x < 5 ? "yes" : "no: " x " % longer" }')"

# A fit from there is no worse, and has a line a row.
"$tune" fit "$times" > "$work/figures" 2> "$work/fit"
same "rows of a fit" "$(grep -cE '^ +X\([a-z0-9]+, +[0-9]+, +[0-9]' "$root/sgemm_kernels.cuh")" "$(grep -c '/\* sgemm_' "$work/figures")"

finish
