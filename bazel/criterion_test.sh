#!/bin/bash
# criterion_test.sh BINARY OPTION...: runs a Criterion binary as a Bazel test. It writes the result of each case to
# XML_OUTPUT_FILE, and runs only the cases that --test_filter=SUITE/CASE names. For each case that fails it prints the
# command that repeats this case alone.
set -- "$@" ${XML_OUTPUT_FILE:+"--xml=$XML_OUTPUT_FILE"} ${TESTBRIDGE_TEST_ONLY:+"--filter=$TESTBRIDGE_TEST_ONLY"}

# OpenBLAS's threads would busy-wait while the CPU model runs.
export OPENBLAS_NUM_THREADS=1

log=$(mktemp)
trap 'rm -f "$log"' EXIT
bazel/own_pid.sh "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}

config=
[[ ${SGEMM_TEST_FULL:-0} == 0 ]] || config='--config=full '
[[ ${SGEMM_TEST_UNGUARDED:-0} == 0 ]] || config='--config=asan '
sed $'s/\e\\[[0-9;]*m//g' "$log" |
  sed -nE "s|^\[FAIL\] ([A-Za-z0-9_]+)::([A-Za-z0-9_]+):.*|repeat: ./bazelw test $config${TEST_TARGET:-TEST} --test_filter=\1/\2|p"
exit "$status"
