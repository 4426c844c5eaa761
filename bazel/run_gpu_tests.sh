#!/bin/bash
# run.sh [--sanitizer memcheck|racecheck|initcheck|synccheck] [TEST...]: runs the packed GPU tests, all or those named, on a host
# with a GPU and CUDA's libraries in /usr/local/cuda or on LD_LIBRARY_PATH. A missing GPU fails them.
set -uo pipefail

wrap=()
options=(--jobs=1)
if [[ ${1-} == --sanitizer && $# -ge 2 ]]; then
  wrap=(compute-sanitizer --tool "$2" --target-processes all --error-exitcode 1)
  # One test causes an error of the CUDA runtime on purpose, which memcheck would report.
  [[ $2 != memcheck ]] || wrap+=(--report-api-errors no)
  # The quick tier without guards around operands, and without the tests on gigabytes, which would take a sanitizer hours.
  export SGEMM_TEST_UNGUARDED=1
  options+=(--filter '!(offsets|sizes)/*')
  shift 2
elif [[ ${1-} == -* ]]; then
  sed -n '2,3s/^# //p' "$0"
  exit 2
else
  export SGEMM_TEST_FULL=1
fi

root=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
export LD_LIBRARY_PATH=$root/lib:${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64
export PATH=$PATH:/usr/local/cuda/bin
export SGEMM_REQUIRE_GPU=1

cd "$root/tests" || exit
[[ $# -gt 0 ]] || set -- *
failed=()
for test; do
  [[ -e $test ]] || test=${test}_gpu_test
  echo "== $test"
  "${wrap[@]}" "./$test" "${options[@]}" || failed+=("$test")
done
echo "$(($# - ${#failed[@]})) of $# GPU tests passed${failed:+; failed: ${failed[*]}}"
[[ ${#failed[@]} == 0 ]]
