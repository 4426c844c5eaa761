#!/bin/bash
# The generated tables match the variant table and the committed measurements, the README's example compiles, the worked
# examples of docs/epilogues.md are right and their bytes are those of the page, docs/api.md has every status in the
# order of the header, and all files have the same version.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

check "tables" python3 "$root/tools/readme_tables.py" --check
check "tables of the stage pages" python3 "$root/tools/page_tables.py" --check
check "tables of the variants" python3 "$root/tools/variants_table.py" --check

# The version of the header, of the module and of the changelog.
version=$(echo '#include "sgemm.h"
VERSION SGEMM_VERSION_STRING' | gcc -E -P -I"$root" - | sed -n 's/^VERSION //p' | tr -d '" ')
same "version in MODULE.bazel" "$version" "$(sed -n '/^module(/,/)/s/.*version = "\(.*\)".*/\1/p' "$root/MODULE.bazel")"
check "version in CHANGELOG.md" grep -q "^## $version\b" "$root/CHANGELOG.md"

# The first column of the table under "## Status" of docs/api.md has the statuses of SGEMM_STATUS_LIST in its order, and
# SGEMM_ERROR_CUDA after them.
statuses=$(echo '#include "sgemm.h"
#define NAME(symbol, sentence) STATUS symbol;
SGEMM_STATUS_LIST(NAME) STATUS SGEMM_ERROR_CUDA' | gcc -E -P -I"$root" - | grep -oE 'STATUS \w+' | sed 's/STATUS //')
same "statuses in docs/api.md" "$statuses" "$(awk -F'|' '/^## / { there = /^## Status/ }
  there && /^\| `SGEMM_/ { print $2 }' "$root/docs/api.md" | grep -oE 'SGEMM_\w+')"

# The first block of C under "## Example" compiles.
awk '/^## Example/ { there = 1 } code && /^```$/ { exit } code; there && /^```c$/ { code = 1 }' "$root/README.md" > "$work/example.c"
check "example calls the library" grep -q sgemm_run "$work/example.c"
check "example" gcc -std=c11 -Wall -Wextra -Werror -I"$root" -c "$work/example.c" -o "$work/example.o"

# The blocks of C under "## Worked examples" of docs/epilogues.md, as example_1.c to example_3.c.
for number in 1 2 3; do
  awk -v number=$number '/^## / { there = /^## Worked examples/; code = 0 } /^```$/ { code = 0 } code && block == number
    there && /^```c$/ { code = 1; block++ }' "$root/docs/epilogues.md" > "$work/example_$number.c"
done
# The implementation gets the project's row, as the page demands.
sed -n '/^#define SGEMM_PROJECT_EPILOGUES/,/[^\\]$/p' "$work/example_2.c" > "$work/rows.h"
worked_examples() {
  gcc -std=c11 -O1 -ffp-contract=off -DSGEMM_CPU=1 -DSGEMM_CPU_COUNT=1 -include "$work/rows.h" -I"$root" \
    -c "$root/cpu/sgemm.c" -o "$work/sgemm.o" &&
    gcc -std=c11 -Wall -Wextra -Werror -I"$root" -I"$work" "$root/tests/worked_examples.c" "$work/sgemm.o" -lpthread \
      -lm -o "$work/worked_examples"
}
check "worked examples: build" worked_examples
check "worked examples: results" "$work/worked_examples"
# Each line is "call[, in registers]: bytes loaded, bytes stored". The call's line of the page's table has both numbers. A
# call that has none for a second kernel has one line.
table=$(sed -nE 's/^\| `(\w+)` \| [^|]* \| ([0-9.]+), ([0-9.]+) \| ([0-9.]+), ([0-9.]+) \|$/\1: \2 loaded, \3 stored\
\1, in registers: \4 loaded, \5 stored/p; s/^\| `(\w+)` \| [^|]* \| ([0-9.]+), ([0-9.]+) \| \|$/\1: \2 loaded, \3 stored/p
s/^\| `(\w+)` \| [^|]* \| \| ([0-9.]+), ([0-9.]+) \|$/\1: \2 loaded, \3 stored/p' \
  "$root/docs/epilogues.md")
same "worked examples: bytes" "$("$work/worked_examples")" "$table"
finish
