#!/bin/bash
# clang-format 14 does not change any C or CUDA source, and no line of one has more than 120 columns. clang-format keeps
# comments as they are (ReflowComments), so their length has a check of its own.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

cd "$root"
sources=$(find . \( -name 'bazel-*' -o -name '.?*' \) -prune -o -name '*.[ch]' -print -o -name '*.cu' -print \
  -o -name '*.cuh' -print | sed 's|^\./||' | sort)
long=$(echo "$sources" | LC_ALL=C.UTF-8 xargs perl -CSD -lne 'print "$ARGV:$." if length > 120; close ARGV if eof')
if [ -z "$long" ]; then ok "no line has more than 120 columns"; else fail "no line has more than 120 columns" "$long"; fi

formatter=
for candidate in clang-format-14 clang-format; do
  if [ -z "$formatter" ] && "$candidate" --version 2> /dev/null | grep -q 'version 14\.'; then formatter=$candidate; fi
done

if [ -z "$formatter" ]; then
  skip "every source" "no clang-format 14"
  finish
fi
while read -r source; do
  check "$source" "$formatter" "-style=file:$root/.clang-format" --dry-run -Werror "$source"
done <<< "$sources"

finish
