#!/bin/bash
# summa_test.sh [MPIRUN SUMMA RANKS SCALAPACK]: the example summa on processes of MPI with the CPU model. SUMMA is
# examples/summa_cpu, RANKS is summa_ranks.c, SCALAPACK is 1 if it is linked with ScaLAPACK. Without arguments there is no
# MPI, and the cases are skipped.
set -euo pipefail
mpirun=${1:-} summa=${2:+$(realpath "$2")} ranks=${3:+$(realpath "$3")} scalapack=${4:-0}
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"
. "$(dirname "${BASH_SOURCE[0]}")/open_mpi.sh"
cd "$work"

if [ -z "$mpirun" ]; then
  skip "processes of MPI" "no Open MPI"
  finish
fi

open_mpi
export OPENBLAS_NUM_THREADS=1

# Open MPI does not free all of its memory, and unloads the code that allocated it. summa_threads_test.sh finds leaks of the
# example. An allocation that is too large fails, as it does without a sanitizer.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1

# on COUNT PROGRAM ARGUMENT...: the program on COUNT ranks. The limit is for a hang.
on() { timeout 600 "$mpirun" -n "$@"; }

# ---- Products and errors ---------------------------------------------------------------------------------------------

[ "$scalapack" = 1 ] || skip "psgemm_" "no ScaLAPACK"
for count in 1 2 4 6; do
  check "$count ranks: every grid, beside psgemm_ and double" on $count "$ranks" products
done
check "a multiplication that fails on all ranks" on 4 "$ranks" errors

# on_one_line COMMAND...: its output without line breaks, which Open MPI 4 and 5 have at different words.
on_one_line() {
  local status=0
  "$@" > "$work/lines" 2>&1 || status=$?
  tr '\n' ' ' < "$work/lines"
  return $status
}

# faulty NAME TEXT FAULT RANK CALL: the job ends, with an exit status that is not 0, and says TEXT.
faulty() { refuse "$1" "$2" on_one_line on 4 "$ranks" "${@:3}"; }
faulty "a rank is killed" "signal 9" kill 2 3
faulty "rank 0 is killed" "signal 9" kill 0 1
faulty "a rank exits" "exiting improperly" exit 1 4
faulty "an error of a GPU" "summa: rank 3: sgemm_run: out of memory" error 3 2
faulty "no workspace" "summa: rank 1: sgemm_run: workspace is not aligned to 16 bytes, NULL with a size" memory 1 5
faulty "a rank stops: the others give up after the time of --timeout" "no panel came for 2 s; another rank does not answer" \
  stop 1 3

# ---- The program -----------------------------------------------------------------------------------------------------

# csv COUNT ARGUMENT...: the CSV of the program on COUNT ranks; its exit status, if that is not 0.
csv() {
  local status=0
  on "$1" "$summa" "${@:2}" > "$work/out" 2> "$work/err" || status=$?
  if [ $status = 0 ]; then cat "$work/out"; else printf 'exit status %s\n' $status $status; fi
}

# line ARGUMENT...: the line of CSV of the program on 4 ranks, without times and error.
line() { csv 4 "$@" | sed -n 2p | cut -d, -f1-7; }
same "the head" "transport,grid,m,n,k,mode,panel,ms,tflops,error" "$(csv 1 5 6 7 --check | sed -n 1p)"
same "a line" "mpi,2x2,61,53,47,strict,47" "$(line 61 53 47 --check)"
same "a line with options" "mpi,4x1,61,53,47,full,9" \
  "$(line 61 53 47 --grid 4x1 --mode full --panel 9 --repeat 2 --check --timeout 1e3)"
same "without a check" "mpi 10 " "$(csv 2 5 6 7 | sed -n 2p | awk -F, '{ print $1, NF, $10 }')"
check "6 ranks: 2x3" prints "^mpi,2x3," on 6 "$summa" 20 20 20 --check
check "one rank: a single panel" prints "^mpi,1x1,20,30,40,strict,40," on 1 "$summa" 20 30 40 --check
check "help" prints "^usage: summa M N K" on 2 "$summa" --help

# told NAME SENTENCE ARGUMENT...: the program says the sentence and its exit status is 2. It runs without mpirun as the
# only rank, because mpirun takes a second to end after a rank with such a status.
told() {
  local status=0
  "$summa" "${@:3}" > "$work/out" 2> "$work/err" || status=$?
  same "$1" "2: summa: $2" "$status: $(cat "$work/err" "$work/out")"
}
told "no size" "M is missing; summa --help tells how to call"
told "two sizes" "K is missing; summa --help tells how to call" 3 4
told "four sizes" "6: a fourth size" 3 4 5 6
told "m is 0" "M 0: not a whole number in 1 ... 2^30" 0 4 5
told "n is no number" "N 4x: not a whole number in 1 ... 2^30" 3 4x 5
told "k is too large" "K 1073741825: not a whole number in 1 ... 2^30" 3 4 1073741825
told "a number that overflows" "K 99999999999999999999: not a whole number in 1 ... 2^30" 3 4 99999999999999999999
told "a negative size" "-3: its value is missing, or the option is unknown; summa --help lists them" 5 6 -3
told "grid of more ranks" "--grid 2x2: the number of ranks is 1" 3 4 5 --grid 2x2
told "grid of a huge number" "--grid 65536x65536: the number of ranks is 1" 3 4 5 --grid 65536x65536
told "grid that is none" "--grid 2: not two numbers above 0, as 2x4" 3 4 5 --grid 2
told "grid of 0" "--grid 0x2: not two numbers above 0, as 2x4" 3 4 5 --grid 0x2
told "mode" "--mode fast: neither strict nor tensor nor full" 3 4 5 --mode fast
told "panel" "--panel 0: not a whole number in 1 ... 2^30" 3 4 5 --panel 0
told "repeat" "--repeat x: not a whole number in 1 ... 2^30" 3 4 5 --repeat x
told "timeout" "--timeout nan: not a number of seconds above 0 and up to 1e6" 3 4 5 --timeout nan
told "an option without a value" "--mode: its value is missing, or the option is unknown; summa --help lists them" 3 4 5 --mode
told "an unknown option" "--order: unknown option; summa --help lists them" 3 4 5 --order C

refuse "more memory than there is" "summa: rank 0: 4611686018427387904 bytes for the block of A: out of memory" \
  "$summa" $((1 << 30)) 1 $((1 << 30))
status=0
on 2 "$summa" 3 4 5 --grid 1x1 > "$work/out" 2> "$work/err" || status=$?
same "grid of fewer ranks: one sentence" "2: summa: --grid 1x1: the number of ranks is 2" "$status: $(grep '^summa: ' "$work/err")$(cat "$work/out")"

finish
