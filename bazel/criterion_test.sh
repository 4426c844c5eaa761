#!/bin/bash
# criterion_test.sh BINARY OPTION...: runs a Criterion binary as Bazel expects of a test: results of each case in
# XML_OUTPUT_FILE, and only the cases that --test_filter=SUITE/CASE names.
set -- "$@" ${XML_OUTPUT_FILE:+"--xml=$XML_OUTPUT_FILE"} ${TESTBRIDGE_TEST_ONLY:+"--filter=$TESTBRIDGE_TEST_ONLY"}
exec "$@"
