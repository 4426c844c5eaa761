# cases.sh: functions of the shell tests. A test sources this file, runs its cases with the functions below and ends
# with `finish`. The file works in a checkout and in Bazel's runfiles, which have the same directories. It prints the
# cases that fail or are skipped; on a terminal it prints all cases.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d "${TEST_TMPDIR:-${TMPDIR:-/tmp}}/sgemm_cases.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'echo "FAILED line $LINENO of $0: $BASH_COMMAND"' ERR
export LC_ALL=C # the locale changes the quotes and the language of compiler messages

passed=0 failed=0 skipped=0
full=${SGEMM_TEST_FULL:-0} # 1 in the full tier
: > "$work/cases.xml"

# record WORD NAME WHY ELEMENT: prints one line, and adds a case with the child element ELEMENT to the XML report.
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

# skip NAME WHY: for a case that needs something this machine lacks.
skip() { record skipped "$1" "$2" skipped && skipped=$((skipped + 1)); }

# why: prints the first line of the last command's output that reports an error, otherwise its last line.
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

# says NAME SENTENCE ARGUMENT...: the program $tool exits with status 2, prints one line to stderr and nothing to stdout.
says() {
  local status=0
  "$tool" "${@:3}" > "$work/out" 2> "$work/err" || status=$?
  same "$1" "2: $2" "$status: $(cat "$work/out" "$work/err")"
}

# prints PATTERN COMMAND...: the command succeeds and a line of its output matches.
prints() { "${@:2}" > "$work/printed" 2>&1 && grep -E -- "$1" "$work/printed"; }

# with COMPILER CASE NAME...: runs a case that needs a compiler; skips it if the compiler is not installed.
with() {
  if command -v "$1" > /dev/null; then "${@:2}"; else skip "$3" "no $1"; fi
}

# The CUDA toolkit's directory, in the search order of bazel/local_cuda.bzl; empty: not installed.
cuda=
on_path=$(realpath "$(command -v nvcc)" 2> /dev/null || true)
for candidate in "${CUDA_PATH:-}" "${on_path%/bin/nvcc}" /usr/local/cuda; do
  if [ -z "$cuda" ] && [ -n "$candidate" ] && [ -x "$candidate/bin/nvcc" ]; then cuda=$candidate; fi
done

# nvcc names its temporary files after its process id, and ids repeat in Bazel's sandboxes. So each call has a directory
# of its own.
if [ -n "$cuda" ]; then
  nvcc() { TMPDIR=$(mktemp -d "$work/nvcc.XXXXXX") "$cuda/bin/nvcc" "$@"; }
fi

# The option of nvcc and NVRTC that leaves out the optimiser of device code. Empty: the toolkit is older than the option.
fast=
if [ -n "$cuda" ] && [[ $("$cuda/bin/nvcc" --help 2> /dev/null || true) = *--Ofast-compile* ]]; then
  fast=--Ofast-compile=max
fi

# headers_into DIRECTORY: makes links to the headers and the kernels' sources, so that a test can replace some of them.
headers_into() {
  mkdir -p "$1/sgemm"
  cp -rsL "$root"/sgemm.h "$root"/sgemm_kernels.cuh "$1"
  cp -rsL "$root"/sgemm/. "$1/sgemm"
}

# replaced FILE OLD NEW: prints a file with NEW in the place of OLD, which occurs once.
replaced() {
  local text behind
  text=$(< "$1") behind=${text#*"$2"}
  if [ "$behind" = "$text" ] || [[ $behind = *"$2"* ]]; then
    echo "'$2' does not occur once" >&2
    return 1
  fi
  printf '%s\n' "${text%%"$2"*}$3$behind"
}

# finish: prints the counts and how to repeat a failure, writes the XML report to the file that Bazel names, and exits.
# The test fails if a case failed or if there was none.
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
