#!/bin/bash
# random_calls_test.sh PROGRAM: random_calls draws the same calls for a seed, within its limits, and reports what a file of
# times says. Wrong arguments are refused.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"
tool=$(realpath "$1")

usage="random_calls: usage: random_calls draw [OPTION]... | measure FILE.csv [OPTION]... | report FILE.csv"
says "no arguments" "$usage"
says "no such verb" "$usage" guess
says "no file to report" "$usage" report
says "no such option" "random_calls: --speed: unknown option" draw --speed 3
says "an option of measure" "random_calls: --plans: unknown option" draw --plans "$work/plans.csv"
says "no value" "random_calls: --seed: the option needs a value" draw --seed
says "a seed that is no number" "random_calls: --seed is not a whole number of at least 0: 1e3" draw --seed 1e3
says "no calls" "random_calls: --count is not a whole number from 1 to 100000: 0" draw --count 0
says "no such mode" "random_calls: --mode is not strict, tensor or tensor_full: fast" \
  measure "$work/times.csv" --mode fast
says "no candidates" "random_calls: --tune is not a whole number from 1 to 64: 0" measure "$work/times.csv" --tune 0
says "too many candidates" "random_calls: --tune is not a whole number from 1 to 64: 65" \
  measure "$work/times.csv" --tune 65
says "no GPU" "random_calls: measure: needs a GPU" measure "$work/times.csv" --count 3
says "no such file" "random_calls: $work/none.csv: No such file or directory" report "$work/none.csv"
echo "m,n,k" > "$work/empty.csv"
says "a file without times" "random_calls: $work/empty.csv: no measured calls" report "$work/empty.csv"
printf 'm,n,k,batch,op,lda,ldb,ldc,beta\n64,64,64,1,NN,64,64,64,0\n\n64,32,16,2,TT,64,16,33,0.5\n' > "$work/listed.csv"
says "listed calls" "random_calls: measure: needs a GPU" measure "$work/times.csv" --calls "$work/listed.csv"
for line in 64,64,64,0,NN,64,64,64,0 64,64,64,-1,NN,64,64,64,0 0,64,64,1,NN,64,64,64,0 64,64,64,1,NX,64,64,64,0 \
  64,64,64,1,NN,64,64,64 64,64,64,1,NN,63,64,64,0 64,64,64,1,NT,64,63,64,0 64,64,64,1,NN,64,64,63,0 \
  64,64,64,1,NN,64,64,64,nan 16384,16384,64,1,NN,64,16384,16384,0 64,64,64,99999999,NN,64,64,64,0 words; do
  { cat "$work/listed.csv" && echo "$line" && echo 8,8,8,1,NN,8,8,8,0; } > "$work/wrong_calls.csv"
  says "a wrong call: $line" "random_calls: $work/wrong_calls.csv, line 5: no call: m, n, k, batch, op, lda, ldb, ldc and beta, each operand of at most 100663296 floats" \
    measure "$work/times.csv" --calls "$work/wrong_calls.csv"
done
says "a call without times" "random_calls: $work/listed.csv, line 2: no measured calls" report "$work/listed.csv"

# ---- Drawn calls -----------------------------------------------------------------------------------------------------

"$tool" draw --seed 7 --count 3000 > "$work/calls.csv"
"$tool" draw --seed 8 --count 3000 > "$work/others.csv"
same "a seed draws the same calls" "$(cat "$work/calls.csv")" "$("$tool" draw --seed 7 --count 3000)"
same "fewer calls are the first ones" "$(head -n 11 "$work/calls.csv")" "$("$tool" draw --seed 7 --count 10)"
check "other seeds draw others" [ "$(sort "$work/calls.csv" "$work/others.csv" | uniq -d | wc -l)" -lt 300 ]

# Leading dimensions hold the rows, sizes are in their ranges, and each kind of call is there.
same "each call is valid, and each kind is drawn" "3000 0 yes" "$(awk -F, 'NR > 1 {
  a = $5 ~ /^N/ ? $3 : $1; b = $5 ~ /N$/ ? $2 : $3; calls++
  bad += $6 < a || $7 < b || $8 < $2 || $1 < 1 || $1 > 16384 || $2 < 1 || $2 > 16384 || $3 < 1 || $3 > 65536 ||
         2 * $1 * $2 * $3 * $4 > 4e11
  op[$5]++; batches += $4 > 1; beta += $9 > 0; wide += $8 > $2; aligned += $6 % 4 == 0 && $7 % 4 == 0 && $8 % 4 == 0
  large += $1 > 1000; small += $1 < 10 }
  END { all = op["NN"] > 600 && op["NT"] > 600 && op["TN"] > 600 && op["TT"] > 600 && batches > 400 && beta > 600 &&
              wide > 600 && aligned > 1300 && aligned < 1900 && large > 400 && small > 400
        print calls, bad + 0, all ? "yes" : "no" }' \
  "$work/calls.csv")"

# ---- Reports ---------------------------------------------------------------------------------------------------------

# Four calls: cuBLAS's time over the library's is 2, 0.5, 1 and 1 with workspace, 1 without. The third has a regret of
# 1.25.
cat > "$work/times.csv" <<'CSV'
m,n,k,batch,op,lda,ldb,ldc,beta,wrong,cublas_us,us,us_without,fastest_us,fastest_us_without,plan,plan_without,fastest_plan,fastest_plan_without
64,64,64,1,NN,64,64,64,0,0,20,10,20,10,20,a:1:1:0:00,a:1:1:0:00,a:1:1:0:00,a:1:1:0:00
1,65,64,1,NN,64,65,65,0,0,10,20,10,20,10,a:1:1:0:00,a:1:1:0:00,a:1:1:0:00,a:1:1:0:00
512,512,9000,1,NT,9000,9000,512,0,0,10,10,10,8,10,a:1:1:0:00,a:1:1:0:00,a:1:1:0:00,a:1:1:0:00
512,512,16,2,TT,512,16,512,0.5,0,10,10,10,10,10,a:1:1:0:00,a:1:1:0:00,a:1:1:0:00,a:1:1:0:00
CSV
"$tool" report "$work/times.csv" > "$work/report"
line() { sed -nE "s/^$1 +//p" "$work/report" | head -n 1 | tr -s ' '; }
same "all calls" "4 1.000 25.0 25.0 0.500 0.500" "$(line "all calls")"
same "aligned calls" "3 1.260 0.0 0.0 1.000 1.000" "$(line "rows aligned to 16 bytes")"
same "calls with one row" "1 0.500 100.0 100.0 0.500 0.500" "$(line "min.m, n. 1 to 2")"
same "calls with a long k" "1 1.000 0.0 0.0 1.000 1.000" "$(line "k above 8192")"
same "calls with a short k" "1 1.000 0.0 0.0 1.000 1.000" "$(line "k up to 32")"
same "regret" "regret of 4 calls: mean 1.062, 95th percentile 1.000, worst 1.250" "$(grep -m 1 "^regret" "$work/report")"
same "the slowest call first" "0.500  1,65,64,1,NN,64,65,65,0  regret 1.00" "$(grep -m 1 '  regret ' "$work/report")"
same "no wrong result" "0 of 4 results wrong" "$(tail -n 1 "$work/report")"

# Without --plans no plan is timed, and nothing is said of the regret.
awk -F, -v OFS=, 'NR > 1 { $14 = $15 = "0.000"; $18 = $19 = "" } { print }' "$work/times.csv" > "$work/unplanned.csv"
"$tool" report "$work/unplanned.csv" > "$work/report"
same "no plans timed" "regret: not measured, see --plans, 2" \
  "$(grep -m 1 "^regret" "$work/report"), $(grep -c regret "$work/report")"
same "no plans timed: all calls" "4 1.000 25.0 25.0 0.500 0.500" "$(line "all calls")"

# A wrong result counts as infinitely slow.
sed '2s/,0,20,10/,1,20,10/' "$work/times.csv" > "$work/wrong.csv"
status=0
"$tool" report "$work/wrong.csv" > "$work/report" || status=$?
same "a wrong result" "1: 1 of 4 results wrong, 4 0.000 50.0 50.0 0.000 0.000" \
  "$status: $(tail -n 1 "$work/report"), $(line "all calls")"

finish
