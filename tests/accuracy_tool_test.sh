#!/bin/bash
# The accuracy tool on the CPU model: arguments, table, CSV, verdicts and picture. The modes keep the rules; TF32 breaks
# some.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"
tool=$(realpath "$1")

says "no such option" "accuracy: unknown option (--help lists them): --fast" --fast
says "no value" "accuracy: the option needs a value: --k" --quick --k
says "no such input" "accuracy: --inputs names an unknown input (--help lists them): uniform,none" --inputs uniform,none
says "no such variant" "accuracy: --variant is no row of SGEMM_TENSOR_VARIANTS that can run here: none" --variant none
says "no number" "accuracy: --k is a list of up to 16 whole numbers from 1 to 1048576: 64,x" --k 64,x
says "no result" "accuracy: --m is a whole number from 8 to 16384: 0" --m 0
says "too many columns" "accuracy: --n is a whole number from 8 to 16384: 16385" --n 16385
says "no such directory" "accuracy: No such file or directory: $work/none/file.csv" --csv "$work/none/file.csv"
"$tool" --help > "$work/help"
same "inputs of --help" 27 "$(grep -cE '^  [A-F] [a-z0-9_]+ +' "$work/help")"

# A small run: 2 seeds of each input at k = 128.
check "the rules are kept" "$tool" --seeds 2 --k 128 --m 64 --n 96 --csv "$work/errors.csv"
cp "$work/output" "$work/table"
modes=3 # strict, tensor, tensor_full

rows=$(awk 'NF == 9 && $2 == 128 && $4 ~ /^[0-9.]+e[-+][0-9]+$/ && ($5 == "inf" || $5 > 0) && $8 ~ "^[0-2]/2$"' \
  "$work/table" | wc -l)
same "rows of the table" "$((19 * (modes + 2)))" "$rows"
same "the ratio of the baseline" 19 "$(awk '$3 == "chain" && $5 == 1' "$work/table" | wc -l)"
same "rows of the CSV" "$((2 * 19 * (modes + 2) + 2 * 2 * modes + 6 * 4 * modes + 1))" "$(wc -l < "$work/errors.csv")"
same "fields of the CSV" 12 "$(awk -F, '{ print NF }' "$work/errors.csv" | sort -u)"
same "modes of the CSV" "$((modes + 2))" "$(sed 1d "$work/errors.csv" | cut -d, -f1 | sort -u | wc -l)"

# Verdicts: rules E to G for strict, A to G for each tensor mode, and the rules that TF32 breaks.
same "verdicts" "$((3 + 7 * (modes - 1)))" "$(grep -cE '^rule [A-G] kept by (strict|tensor(_full)?): ' "$work/table")"
same "TF32 breaks A and B" "A B" \
  "$(sed -nE 's/^rule (.) broken, as it should be, by chain_tf32: .*/\1/p' "$work/table" | paste -sd' ')"

# --inputs limits the run to the named inputs and to their rules.
check "one input" "$tool" --seeds 1 --k 64 --m 16 --n 16 --inputs integers_a
same "rules of one input" "E G" "$(sed -nE 's/^rule (.) kept by strict: .*/\1/p' "$work/output" | paste -sd' ')"

# The picture, if matplotlib is installed.
if /usr/bin/python3 -c 'import matplotlib' 2> /dev/null; then
  check "picture" "$root/tools/pictures.py" accuracy --out "$work/errors.png" "$work/errors.csv"
  same "PNG" "89504e47" "$(head -c 4 "$work/errors.png" | od -An -tx1 | tr -d ' ')"
  refuse "no such input in the picture" "no rows of the input none" "$root/tools/pictures.py" accuracy --input none \
    --out "$work/none.png" "$work/errors.csv"
else
  skip "picture" "no matplotlib"
fi

finish
