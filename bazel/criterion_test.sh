#!/bin/bash
# criterion_test.sh BINARY CASES OPTION...: runs a Criterion binary as a Bazel test. It writes the result of each case to
# XML_OUTPUT_FILE. The cases that run are those whose names match CASES; with --test_filter=SUITE/* those of a suite, and with
# --test_filter=SUITE/CASE those that match the filter. For each case that fails it prints the command that repeats this case
# alone. A run without a case fails, unless the cases that match are skipped.
program=$1 cases=$2
filter=${TESTBRIDGE_TEST_ONLY:-*/*}
filter=${filter/%\/\*//$cases}
set -- "$1" "${@:3}" "--filter=$filter" ${XML_OUTPUT_FILE:+"--xml=$XML_OUTPUT_FILE"}

# OpenBLAS's threads would busy-wait while the CPU model runs.
export OPENBLAS_NUM_THREADS=1

log=$(mktemp)
trap 'rm -f "$log" "$log.xml"' EXIT
bazel/own_pid.sh "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}

# Criterion's exit status is 0 if no case matches.
shopt -s extglob
if grep -q 'Tested: 0 ' <(sed $'s/\e\\[[0-9;]*m//g' "$log"); then
  suite='' matches=0
  while read -r first second _; do
    [[ $first != *: ]] || suite=${first%:}
    # shellcheck disable=SC2053
    [[ $first == *: || $suite/$second != $filter ]] || matches=1
  done < <(bazel/own_pid.sh "$program" --list)
  if [[ $matches == 0 ]]; then
    echo "no case matches $filter"
    status=1
  fi
fi

# Criterion reports the cases outside of CASES as skipped. They are cases of other tests.
if [[ -f ${XML_OUTPUT_FILE:-} ]]; then
  mv "$XML_OUTPUT_FILE" "$log.xml"
  while IFS= read -r line; do
    [[ $line =~ '<testcase name="'([^\"]*) ]] && name=${BASH_REMATCH[1]}
    # shellcheck disable=SC2053
    [[ ${name:-} && $name != $cases ]] || echo "$line"
    [[ $line != *'</testcase>'* ]] || name=
  done < "$log.xml" > "$XML_OUTPUT_FILE"
fi

config=
[[ ${SGEMM_TEST_FULL:-0} == 0 ]] || config='--config=full '
[[ ${SGEMM_TEST_UNGUARDED:-0} == 0 ]] || config='--config=asan '
sed $'s/\e\\[[0-9;]*m//g' "$log" |
  sed -nE "s|^\[FAIL\] ([A-Za-z0-9_]+)::([A-Za-z0-9_]+):.*|repeat: ./bazelw test $config${TEST_TARGET:-TEST} --test_filter=\1/\2|p"
exit "$status"
