# cases.sh: what the shell tests share. They source it, list cases with the functions below and end with `finish`. Works
# in a checkout and in Bazel's runfiles, where the tree has the same shape. Prints the cases that fail or are skipped,
# on a terminal all of them.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d "${TEST_TMPDIR:-${TMPDIR:-/tmp}}/sgemm_cases.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'echo "FAILED line $LINENO of $0: $BASH_COMMAND"' ERR
export LC_ALL=C # compilers quote and translate by locale

passed=0 failed=0 skipped=0
full=${SGEMM_TEST_FULL:-0} # 1 in the full tier
: > "$work/cases.xml"

# record WORD NAME WHY ELEMENT: one line of output, and a case with that child element for the XML report.
record() {
  local name why
  name=$(escape <<< "$2") why=$(escape <<< "$3")
  if [ "$1" != ok ] || [ -t 1 ]; then echo "$1 $2${3:+: $3}"; fi
  echo "<testcase name=\"$name\">${4:+<$4 message=\"$why\"/>}</testcase>" >> "$work/cases.xml"
}

escape() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/"/\&quot;/g'; }

ok() { record ok "$1" "" "" && passed=$((passed + 1)); }

# fail NAME WHY
fail() { record FAILED "$1" "$2" failure && failed=$((failed + 1)); }

# skip NAME WHY: for what this machine lacks.
skip() { record skipped "$1" "$2" skipped && skipped=$((skipped + 1)); }

# The first line of the last command's output that tells of an error, else its last line.
why() { grep -m 1 -iE 'error|undefined|differ' "$work/output" || tail -n 1 "$work/output"; }

# check NAME COMMAND...: the command succeeds.
check() {
  if "${@:2}" > "$work/output" 2>&1; then ok "$1"; else fail "$1" "exit status $?: $(why)"; fi
}

# refuse NAME TEXT COMMAND...: the command fails and says TEXT.
refuse() {
  if "${@:3}" > "$work/output" 2>&1; then
    fail "$1" "accepted"
  elif grep -qF -- "$2" "$work/output"; then
    ok "$1"
  else
    fail "$1" "does not say '$2' but: $(why)"
  fi
}

# same NAME WANTED GOT: two texts are equal.
same() {
  if [ "$2" = "$3" ]; then
    ok "$1"
  else
    fail "$1" "$(diff <(echo "$2") <(echo "$3") | grep '^[<>]' | head -n 4 | tr '\n' ' ')(< wanted, > got)"
  fi
}

# with COMPILER CASE NAME...: a case by a compiler, skipped where there is none.
with() {
  if command -v "$1" > /dev/null; then "${@:2}"; else skip "$3" "no $1"; fi
}

# The CUDA toolkit's directory, as bazel/local_cuda.bzl looks for it; empty where there is none.
cuda=
on_path=$(realpath "$(command -v nvcc)" 2> /dev/null || true)
for candidate in "${CUDA_PATH:-}" "${on_path%/bin/nvcc}" /usr/local/cuda; do
  if [ -z "$cuda" ] && [ -n "$candidate" ] && [ -x "$candidate/bin/nvcc" ]; then cuda=$candidate; fi
done

# nvcc names its temporary files after its process id, and ids repeat in Bazel's sandboxes: each call has its own place.
if [ -n "$cuda" ]; then
  nvcc() { TMPDIR=$(mktemp -d "$work/nvcc.XXXXXX") "$cuda/bin/nvcc" "$@"; }
fi

# headers_into DIRECTORY: links to the headers and the kernels' sources, for tests that edit a copy of some.
headers_into() {
  mkdir -p "$1/sgemm"
  cp -rsL "$root"/sgemm.h "$root"/sgemm_kernels.cuh "$1"
  cp -rsL "$root"/sgemm/. "$1/sgemm"
}

# The closing line, how to repeat a failure, and the status: a failed case or none at all fails the test. Bazel names a
# file for the report.
finish() {
  echo "$passed passed, $failed failed$([ $skipped -eq 0 ] || echo ", $skipped skipped")"
  if [ $failed -gt 0 ] && [ -n "${TEST_TARGET:-}" ]; then
    echo "repeat: ./bazelw test $([ "$full" = 0 ] || echo '--config=full ')$TEST_TARGET"
  fi
  if [ -n "${XML_OUTPUT_FILE:-}" ]; then
    {
      echo "<testsuites><testsuite name=\"$(basename "$0" .sh)\" tests=\"$((passed + failed + skipped))\"" \
        "failures=\"$failed\" skipped=\"$skipped\">"
      cat "$work/cases.xml"
      echo '</testsuite></testsuites>'
    } > "$XML_OUTPUT_FILE"
  fi
  [ $failed -eq 0 ] && [ $((passed + skipped)) -gt 0 ]
  exit
}
