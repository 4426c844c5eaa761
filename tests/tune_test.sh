#!/bin/bash
# With the committed calibration the selection chooses plans that are nearly the fastest of the measured ones. A fit has
# the form of calibration_h200.h. Wrong arguments are refused.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"
tool=$(realpath "$1") times=$root/docs/measurements/plans_h200.csv

usage="tune: usage: tune measure FILE.csv [SHAPES.csv] | tune check FILE.csv... | tune fit FILE.csv..."
says "no arguments" "$usage"
says "no such verb" "$usage" guess "$times"
says "no such file" "tune: $work/none.csv: cannot be read" check "$work/none.csv"
echo "m,n,k,batch,op,variant,cluster_k,split_k,stream_k,serial_k,microseconds" > "$work/empty.csv"
says "no GPU" "tune: measure: needs a GPU" measure "$work/times.csv"
shapes() { printf 'name,m,n,k,batch,op\n%s\n' "$1" > "$work/shapes.csv"; }
shapes $'good,1,2,3,1,NN\nlast,5,6,7,8,TT'
says "shapes" "tune: measure: needs a GPU" measure "$work/times.csv" "$work/shapes.csv"
for line in a,1,2,3,1,XX a,1,2,3,1 a,0,2,3,1,NN a,1,2,3,4611686018427387904,NN; do
  shapes $'good,1,2,3,1,NN\n'"$line"
  says "shapes, $line" "tune: $work/shapes.csv, line 3: a shape is a name (letters, digits, . _ -), m, n, k and batch from 1 to 1048576, and an op" \
    measure "$work/times.csv" "$work/shapes.csv"
done
says "no such shapes" "tune: $work/none.csv: No such file or directory" measure "$work/times.csv" "$work/none.csv"
check "no times are written" [ ! -e "$work/times.csv" ]
says "no times" "tune: $work/empty.csv: no times of variants that the table has" fit "$work/empty.csv"

# Measured times of docs/measurements/plans_h200.csv, 38 shapes of the suite and 300 drawn calls: the plans with the
# lowest estimates take less than 5 % longer than the fastest plans, in geometric mean over the shapes.
longer() { sed -nE "s/.*$1 workspace.*the plans chosen take ([0-9.]+) % longer.*/\1/p" "$work/check"; }
"$tool" check "$times" > "$work/check"
for how in with without; do
  same "the committed calibration, $how workspace" yes \
    "$(awk -v x="$(longer $how)" 'BEGIN { print x != "" && x < 5 ? "yes" : "no: " x " % longer" }')"
done

# Without the columns lda, ldb, ldc and beta the matrices are packed and beta is 0: for such calls both files are equal.
packed='NR == 1 || ($12 == ($5 ~ /^N/ ? $3 : $1) && $13 == ($5 ~ /N$/ ? $2 : $3) && $14 == $2 && $15 == 0)'
awk -F, "$packed" "$times" > "$work/packed.csv"
cut -d, -f1-11 "$work/packed.csv" > "$work/short.csv"
"$tool" check "$work/packed.csv" > "$work/check"
"$tool" check "$work/short.csv" > "$work/check2"
same "files with and without leading dimensions" "$(cat "$work/check")" "$(cat "$work/check2")"

# Two files are read like one.
head -n 3000 "$work/short.csv" > "$work/first.csv"
tail -n +3001 "$work/short.csv" > "$work/second.csv"
"$tool" check "$work/first.csv" "$work/second.csv" > "$work/check2"
same "two files" "$(cat "$work/check")" "$(cat "$work/check2")"

# A fit differs from calibration_h200.h in its numbers alone.
numbers() { sed -E 's/ *-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?,? +\/\*/ number \/*/; s/(, *[0-9.]+)+\) *(\\?)$/, numbers) \2/'; }
"$tool" fit "$times" > "$work/fitted" 2> "$work/fit"
same "form of a fit" \
  "$(sed -n '/BEGIN calibration \*/,/END calibration \*/p' "$root/sgemm/select/calibration_h200.h" | numbers)" \
  "$(numbers < "$work/fitted")"

finish
