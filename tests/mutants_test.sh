#!/bin/bash
# Each mutant of mutants.txt makes its test fail on the CPU model. The quick tier runs every 48th mutant and checks
# that the edits of all can be made. The full tier runs all mutants, and runs their tests on unchanged headers too.
# --test_filter=NAME (a pattern of the shell) selects mutants by name.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

[ -z "${TEST_SHARD_STATUS_FILE:-}" ] || touch "$TEST_SHARD_STATUS_FILE"

# Writes a directory with edited headers for each mutant, and prints a line for each: name stage test suite why. `why`
# says why the edits cannot be made. The lines are sorted by stage and test, so that a shard compiles few tests.
headers_into "$work/control"
mkdir -p "$work/control/adapters/host"
cp -sL "$root"/adapters/host/*.[ch] "$work/control/adapters/host"
python3 - "$root/tests/mutants.txt" "$work" "$full" "${TESTBRIDGE_TEST_ONLY:-}" "${TEST_SHARD_INDEX:-0}" \
  "${TEST_TOTAL_SHARDS:-1}" > "$work/list" <<'PYTHON'
import fnmatch, os, pathlib, re, sys

table, work = map(pathlib.Path, sys.argv[1:3])
full, only, shard, shards = sys.argv[3] != "0", sys.argv[4], int(sys.argv[5]), int(sys.argv[6])
control = work / "control"
headers = {path.relative_to(control): path.read_text() for path in control.rglob("*") if path.is_file()}

picked, stale = [], []
for number, mutant in enumerate(table.read_text().split("\n@ ")[1:]):
    head, *lines = mutant.splitlines()
    name, stage, *rest = head.split()
    test, suite = rest + ["variants", "*"][len(rest):]
    files, why = dict(headers), ""
    for edit in re.finditer(r"((?:^-.*\n)+)((?:^\+.*\n)+)", "\n".join(lines) + "\n", re.M):
        old, new = (re.sub("^.", "", side, flags=re.M)[:-1] for side in edit.groups())
        found = sum(text.count(old) for text in files.values())
        if found != 1:
            why = f"'{old.strip().splitlines()[0]}' occurs {found} times"
        files = {path: text.replace(old, new) for path, text in files.items()}
    if why:
        stale.append((stage, test, suite, name, why, {}))
    elif fnmatch.fnmatch(name, only) if only else full or number % 48 == 0:
        picked.append((stage, test, suite, name, "", {p: t for p, t in files.items() if t != headers[p]}))
if only and not picked:
    sys.exit(f"no mutant is named {only}")
if full and not only:
    picked += [(stage, test, "*", "control", "", {}) for stage, test in {mutant[:2] for mutant in picked}]

picked = sorted(picked + stale, key=lambda mutant: mutant[:2])
for stage, test, suite, name, why, edited in picked[len(picked) * shard // shards:len(picked) * (shard + 1) // shards]:
    for path in headers if edited else ():
        to = work / name / path
        to.parent.mkdir(parents=True, exist_ok=True)
        if path in edited:
            to.write_text(edited[path])
        else:
            to.symlink_to(os.path.realpath(control / path))
    print(name, stage, test, suite, why)
PYTHON

# options STAGE: the compiler options of a build. Building and running the mutants takes 17 % longer with -O1 than with -Og,
# and 60 % longer with -O0.
options() {
  echo -std=c11 -Og -ffp-contract=off
  [ "$1" = host ] || echo -DSGEMM_CPU=1
  case $1 in
    host | production) ;;
    tma_sm90) echo -DSGEMM_STAGE=tma -DSGEMM_CPU_SM90=1 ;;
    *) echo "-DSGEMM_STAGE=$1" ;;
  esac
}

# test_object DIRECTORY STAGE TEST: compiles the test with the headers of the directory and prints the object's path.
# Mutants that change no header of the test share the object of the control.
test_object() {
  local of=$1 object sources=("$root/tests/$3_test.c") header
  [ "$2" = host ] || sources+=("$root/tests/testing.c")
  if [ ! -e "$work/control/$3.d" ]; then
    gcc $(options "$2") -I"$work/control" -I"$root" -MM "${sources[@]}" > "$work/control/$3.d"
  fi
  of=$work/control
  while read -r header; do
    cmp -s "$1/$header" "$work/control/$header" || of=$1
  done < <(grep -oE "$work/control/[^ ]+" "$work/control/$3.d" | sed "s|^$work/control/||" | sort -u)
  object=$of/$2_$3.o
  [ -e "$object" ] || gcc $(options "$2") -I"$of" -I"$root" -r "${sources[@]}" -o "$object" && echo "$object"
}

# build DIRECTORY STAGE TEST: links the test with the implementation of the directory. Stage host: the test includes it.
build() {
  local object adapter=() implementation=("$root/cpu/sgemm.c")
  if [ "$2" = host ]; then implementation=(); fi
  if [ "$3" = adapter_host ]; then adapter=("$1"/adapters/host/{host,lane,plan,pool,queue,resources,transfer,device_cpu}.c); fi
  object=$(test_object "$@") &&
    gcc $(options "$2") -I"$1" -I"$root" "${implementation[@]}" "${adapter[@]}" "$object" -lcriterion -lopenblas -lpthread -lm -o "$work/suite"
}

# suite OPTION...: runs the test with the cases for mutants, about those of the quick tier. The time limit of 900 s ends an endless loop.
suite() { env -u SGEMM_TEST_FULL SGEMM_TEST_MUTANT=1 OPENBLAS_NUM_THREADS=1 timeout 900 "$root/bazel/own_pid.sh" "$work/suite" "$@" > "$work/output" 2>&1; }

# mutant NAME SUITE: the case passes if Criterion counts a failed test, by an assertion or a signal. It fails if the run
# reaches the time limit. It is skipped if no test fails and the kernel lacks what some of them need. SUITE may be a suite
# and one of its cases: SUITE/CASE.
mutant() {
  local filter=$2
  [[ $filter == */* ]] || filter+='/*'
  if suite --fail-fast --filter "$filter"; then
    if grep -qF 'skipped: MADV_POPULATE_WRITE fails' "$work/output"; then
      skip "$1" "a kernel before Linux 5.14"
    else
      fail "$1" "survives"
    fi
  elif grep -qE 'Failing: [1-9]' "$work/output"; then
    ok "$1"
  else
    fail "$1" "no test fails, but: $(tail -n 1 "$work/output")"
  fi
}

while read -r name stage test suite why; do
  if [ -n "$why" ]; then
    fail "$name" "$why"
  elif ! build "$work/$name" "$stage" "$test" > "$work/output" 2>&1; then
    fail "$name" "$(why)"
  elif [ "$name" = control ]; then
    check "control $stage $test" suite
  else
    mutant "$name" "$suite"
  fi
  [ "$name" = control ] || rm -rf "${work:?}/$name"
done < "$work/list"

ok "the edits of every mutant were checked"
finish
