#!/bin/bash
# The generated tables match the variant table and the committed measurements, the README's example compiles, and all
# files have the same version.
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

# The first block of C under "## Example" compiles.
awk '/^## Example/ { there = 1 } code && /^```$/ { exit } code; there && /^```c$/ { code = 1 }' "$root/README.md" > "$work/example.c"
check "example calls the library" grep -q sgemm_run "$work/example.c"
check "example" gcc -std=c11 -Wall -Wextra -Werror -I"$root" -c "$work/example.c" -o "$work/example.o"
finish
