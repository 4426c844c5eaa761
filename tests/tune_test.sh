#!/bin/bash
# With the committed calibration the selection chooses plans that are nearly the fastest of the measured ones. A fit has
# the form of calibration_h200.h. Wrong arguments are refused.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"
tune=$(realpath "$1") times=$root/docs/measurements/tune_h200.csv

# says NAME SENTENCE ARGUMENT...: the tool exits with status 2, prints one line to stderr and nothing to stdout.
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
echo "m,n,k,batch,op,variant,cluster_k,split_k,stream_k,microseconds" > "$work/empty.csv"
says "no times" "tune: $work/empty.csv: no times of variants that the table has" fit "$work/empty.csv"

# Measured times of docs/measurements/tune_h200.csv: the plans with the least estimate take less than 5 % longer than
# the fastest plans, in geometric mean over the shapes.
"$tune" check "$times" 2> "$work/check"
longer=$(sed -nE 's/.*the plans chosen take ([0-9.]+) % longer.*/\1/p' "$work/check")
same "the committed calibration" yes "$(awk -v x="$longer" 'BEGIN { print x != "" && x < 5 ? "yes" : "no: " x " % longer" }')"

# The committed file has older columns: `ranks` is cluster_k; `planes` is split_k, or stream_k of a tma variant (1:
# off). A file with the present columns must give equal results.
awk -F, -v OFS=, 'NR == 1 { print "m,n,k,batch,op,variant,cluster_k,split_k,stream_k,microseconds"; next }
  $6 ~ /^sgemm_tma_/ { print $1, $2, $3, $4, $5, $6, $7, 1, ($8 > 1 ? $8 : 0), $9; next }
  { print $1, $2, $3, $4, $5, $6, $7, $8, 0, $9 }' "$times" > "$work/times.csv"
"$tune" check "$work/times.csv" 2> "$work/check2"
same "columns of both versions" "$(cat "$work/check")" "$(cat "$work/check2")"

# A fit differs from calibration_h200.h in its numbers alone.
numbers() { sed -E 's/ *-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?,? +\/\*/ number \/*/; s/, *[0-9.]+, *[0-9.]+\) *(\\?)$/, numbers) \1/'; }
"$tune" fit "$times" > "$work/fitted" 2> "$work/fit"
same "form of a fit" \
  "$(sed -n '/BEGIN calibration \*/,/END calibration \*/p' "$root/sgemm/select/calibration_h200.h" | numbers)" \
  "$(numbers < "$work/fitted")"

finish
