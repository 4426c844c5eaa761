#!/bin/bash
# README.md's generated parts are what the variant table and the committed measurements make of them, and its code builds.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

check "tables" python3 "$root/docs/readme_tables.py" --check

# The block of C under "## Example" compiles as it stands.
sed -n '/^## Example/,$p' "$root/README.md" | sed -n '/^```c$/,/^```$/p;/^```$/q' | sed '/^```/d' > "$work/example.c"
check "example calls the library" grep -q sgemm_run "$work/example.c"
check "example" gcc -std=c11 -Wall -Wextra -Werror -I"$root" -c "$work/example.c" -o "$work/example.o"
finish
