#!/bin/bash
# Each fault of mutants.txt, put into a copy of the headers, makes its test fail on the CPU model; the headers as they are
# pass in the same way.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

# A directory a mutant, with its copy of the headers, and a line a mutant: name stage test suite.
mkdir "$work/control"
cp "$root"/sgemm.h "$root"/sgemm_kernels.cuh "$root"/sgemm_tensor.cuh "$work/control"
python3 - "$root/tests/mutants.txt" "$work" > "$work/list" <<'PYTHON'
import pathlib, re, sys

table, work = map(pathlib.Path, sys.argv[1:])
for mutant in table.read_text().split("\n@ ")[1:]:
    head, *lines = mutant.splitlines()
    name, stage, *rest = head.split()
    test, suite = rest + ["variants", "*"][len(rest):]
    files = {path.name: path.read_text() for path in (work / "control").iterdir()}
    why = ""
    for edit in re.finditer(r"((?:^-.*\n)+)((?:^\+.*\n)+)", "\n".join(lines) + "\n", re.M):
        old, new = (re.sub("^.", "", side, flags=re.M)[:-1] for side in edit.groups())
        found = {file: text.count(old) for file, text in files.items()}
        if sum(found.values()) != 1:
            why = f"'{old.strip().splitlines()[0]}' is there {sum(found.values())} times"
        files = {file: text.replace(old, new) for file, text in files.items()}
    (work / name).mkdir()
    for file, text in files.items():
        (work / name / file).write_text(text)
    print(name, stage, test, suite, why)
PYTHON

# build DIRECTORY STAGE TEST: the test's binary with that directory's headers. Of what mutants change the test's own sources
# expand sgemm.h alone, so most mutants share their object.
build() {
  local of=$1 options=(-std=c11 -O1 -ffp-contract=off -DSGEMM_CPU=1) test
  [ "$2" = production ] || options+=("-DSGEMM_STAGE=$2")
  if cmp -s "$1/sgemm.h" "$work/control/sgemm.h"; then of=$work/control; fi
  test=$of/$2_$3.o
  {
    [ -e "$test" ] || gcc "${options[@]}" -I"$of" -I"$root" -r "$root/tests/$3_test.c" "$root/tests/testing.c" -o "$test"
  } > "$work/output" 2>&1 &&
    gcc "${options[@]}" -I"$1" -I"$root" "$root/cpu/sgemm.c" "$test" -lcriterion -lopenblas -lpthread -lm -o "$work/suite" \
      > "$work/output" 2>&1
}

# suite OPTION...: runs it; every 11th case of a sweep is enough.
suite() { SGEMM_TEST_REDUCED=1 timeout 120 "$work/suite" "$@" > "$work/output" 2>&1; }

# mutant NAME SUITE: dead if Criterion counts a failed test, by an assertion or a signal; not if the run takes too long.
mutant() {
  if suite --fail-fast --filter "$2/*"; then
    fail "$1" "survives"
  elif grep -qE 'Failing: [1-9]' "$work/output"; then
    ok "$1"
  else
    fail "$1" "no test fails, but: $(tail -n 1 "$work/output")"
  fi
}

while read -r name stage test suite why; do
  if [ -n "$why" ]; then
    fail "$name" "$why"
  elif ! build "$work/$name" "$stage" "$test"; then
    fail "$name" "$(why)"
  else
    mutant "$name" "$suite"
  fi
done < "$work/list"

while read -r stage test; do
  if build "$work/control" "$stage" "$test"; then
    check "control $stage $test" suite
  else
    fail "control $stage $test" "$(why)"
  fi
done < <(awk '{ print $2, $3 }' "$work/list" | sort -u)

finish
