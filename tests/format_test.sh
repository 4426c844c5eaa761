#!/bin/bash
# clang-format 14 does not change any C or CUDA source.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

formatter=
for candidate in clang-format-14 clang-format; do
  if [ -z "$formatter" ] && "$candidate" --version 2> /dev/null | grep -q 'version 14\.'; then formatter=$candidate; fi
done

if [ -z "$formatter" ]; then
  skip "every source" "no clang-format 14"
  finish
fi
cd "$root"
while read -r source; do
  check "$source" "$formatter" "-style=file:$root/.clang-format" --dry-run -Werror "$source"
done < <(find . \( -name 'bazel-*' -o -name '.?*' \) -prune -o -name '*.[ch]' -print -o -name '*.cu' -print \
  -o -name '*.cuh' -print | sed 's|^\./||' | sort)

finish
