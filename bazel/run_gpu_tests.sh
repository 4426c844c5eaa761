#!/bin/bash
# run.sh [--sanitizer memcheck|racecheck|initcheck|synccheck] [TEST...]: runs the packed GPU tests, all or those named, on a
# machine with a GPU and CUDA's libraries; a missing GPU fails them. The examples in bin/ run in the same way: run.sh --exec PROGRAM ARGUMENT...
set -uo pipefail

root=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
export LD_LIBRARY_PATH=$root/lib:${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64
export SGEMM_REQUIRE_GPU=1

wrap=()
case ${1-} in
  --exec) program=$2; shift 2; exec "$root/bin/$program" "$@" ;;
  --sanitizer) wrap=(compute-sanitizer --tool "$2" --target-processes all --error-exitcode 9); shift 2 ;;
  -*) sed -n '2,3s/^# //p' "$0"; exit 2 ;;
esac
PATH=$PATH:/usr/local/cuda/bin

cd "$root/tests" || exit
[[ $# -gt 0 ]] || set -- *
passed=0 failed=()
for test in "$@"; do
  echo "== $test"
  if "${wrap[@]}" "./$test" --jobs=1; then
    passed=$((passed + 1))
  else
    failed+=("$test")
  fi
done
echo "$passed of $# GPU tests passed${failed:+; failed: ${failed[*]}}"
[[ ${#failed[@]} == 0 ]]
