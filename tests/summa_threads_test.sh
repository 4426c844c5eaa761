#!/bin/bash
# The example summa with threads of one process on the GPUs and the NCCL of fake_nccl.c: results do not depend on when the
# streams do their work, the sanitizers find nothing, faults end the program with a sentence, and the test finds mutants.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"
cd "$work"
mkdir fake
for header in cuda_runtime nccl; do echo '#include "tests/fake_nccl.h"' > fake/$header.h; done

flags=(-std=c11 -O1 -Wall -Wextra -Werror -I"$root" -Ifake)
sanitizers=(-g -fsanitize=address,undefined -fno-sanitize-recover=all)
wrap=-Wl,--wrap=pthread_barrier_init,--wrap=pthread_barrier_wait
# objects SUFFIX OPTION...: the stage has small blocks, because the CPU model makes a stack for each thread of a block.
objects() {
  gcc -std=c11 -O0 -ffp-contract=off "${@:2}" -DSGEMM_CPU=1 -DSGEMM_STAGE=direct -I"$root" -c "$root/cpu/sgemm.c" \
    -o "sgemm$1.o" &&
    gcc "${flags[@]}" "${@:2}" -c "$root/tests/fake_nccl.c" -o "fake_nccl$1.o"
}
# program DIRECTORY TRANSPORT FILE SUFFIX OPTION...: the program with the example of the directory, which keeps the objects.
# The source of summa_fake.o includes summa.c.
program() {
  local object objects=() source
  for source in "$root/tests/summa_fake.c" "$1"/examples/summa_{$2,threads}.c; do
    object=$1/$(basename "$source" .c)$4.o
    objects+=("$object")
    [ -e "$object" ] || gcc -I"$1" "${flags[@]}" "${@:5}" -c "$source" -o "$object" || return
  done
  gcc "${@:5}" "${objects[@]}" "fake_nccl$4.o" "sgemm$4.o" $wrap -lpthread -lm -o "$3"
}
mkdir -p tree/examples
cp -L "$root"/examples/summa*.[ch] tree/examples
check "CPU model and fake" objects ""
for transport in nccl peer; do
  check "$transport" program tree $transport $transport ""
done
# The sanitizers make the fibers of the CPU model slow, so most cases run without them.
check "CPU model and fake, with sanitizers" objects _asan "${sanitizers[@]}"
for transport in nccl peer; do
  check "$transport, with sanitizers" program tree $transport ${transport}_asan _asan "${sanitizers[@]}"
done

# on GPUS ORDER PROGRAM ARGUMENT...
on() { FAKE_GPUS=$1 FAKE_ORDER=$2 timeout 300 "./$3" "${@:4}"; }

# ---- Orders ----------------------------------------------------------------------------------------------------------

for transport in nccl peer; do
  for order in late early 1 2 3; do
    check "$transport 1x2, $order" on 2 $order $transport 11 13 41 --panel 5 --repeat 2 --check
    check "$transport 2x1, $order" on 2 $order $transport 11 13 41 --panel 6 --repeat 2 --check --grid 2x1
    check "$transport 2x3, $order" on 6 $order $transport 11 13 41 --panel 5 --repeat 1 --check
    check "$transport 3x2 of 8 GPUs, fewer rows than ranks, $order" \
      on 8 $order $transport 2 13 19 --panel 3 --repeat 2 --check --grid 3x2
  done
  for order in late early; do
    check "$transport 2x3, $order, with sanitizers" on 6 $order ${transport}_asan 5 7 23 --panel 3 --repeat 2 --check
  done
  check "$transport, one GPU" on 1 late $transport 11 13 17 --check
  same "$transport, as many ranks as GPUs" "$transport,2x4,9,9,9,strict,9" \
    "$(on 8 late $transport 9 9 9 | sed -n 2p | cut -d, -f1-7)"
done

# ---- Calls that do not return ----------------------------------------------------------------------------------------

# The program ends after 10 s; the cases below run meanwhile. A 2x2 grid calls ncclCommInitAll() four times, so that 5 is a
# broadcast.
hang() { FAKE_FAIL=hang:$1 on 4 late nccl 9 9 9 --timeout 0.5; }
for number in 1 5; do
  { hang $number > hang$number 2>&1 || echo "status $?" >> hang$number; } &
done

# ---- Faults ----------------------------------------------------------------------------------------------------------

# faulty TRANSPORT CALL:N TEXT [OPTION...]: the program says TEXT, prints nothing and exits with status 2, with NCCL after
# ncclCommAbort().
faulty() {
  local status=0
  FAKE_FAIL=$2 on 4 late $1 11 13 41 --panel 5 "${@:4}" > out 2> err || status=$?
  if [ $status = 2 ] && grep -qE "^summa: rank [0-3]: $3" err && [ ! -s out ] &&
    { [ $1 != nccl ] || grep -q aborted err; }; then
    ok "$1, $2"
  else
    fail "$1, $2" "status $status: $(grep -vh WARNING out err | head -n 2 | tr '\n' ' ')"
  fi
}
for transport in nccl peer; do
  for number in 1 2 10 17 28; do
    faulty $transport malloc:$number "[0-9]+ bytes for (the block|a panel) of [ABC]: out of memory"
  done
  for number in 1 6; do faulty $transport stream:$number "cudaStreamCreate: a fake error"; done
  for number in 1 16; do faulty $transport event:$number "cudaEventCreate: a fake error"; done
  for number in 1 7 20; do
    faulty $transport copy:$number "the copy of a panel of [AB]: a fake error"
    faulty $transport wait:$number "cudaStreamWaitEvent: a fake error"
    faulty $transport record:$number "cudaEventRecord: a fake error"
    faulty $transport query:$number "the GPU: a fake error"
    faulty $transport run:$number "the GPU: a fake error"
    faulty $transport multiply:$number "sgemm_run: workspace is not aligned"
  done
  refuse "$transport, no GPU" "summa: there is no GPU to run on" on 0 late $transport 9 9 9
  refuse "$transport, fewer GPUs" "summa: --grid 3x1: the number of GPUs is 2" on 2 late $transport 9 9 9 --grid 3x1
done
for number in 1 7 20; do
  faulty nccl broadcast:$number "ncclBroadcast: a fake error of NCCL; NCCL_DEBUG=INFO tells more"
  faulty nccl stuck:$number "no panel was multiplied for 0.5 s; another rank or a link does not answer" --timeout 0.5
  faulty nccl async:$number "NCCL: a fake error of NCCL"
done
for number in 1 3; do
  refuse "init:$number" "summa: rank 0: ncclCommInitAll: a fake error of NCCL" \
    env FAKE_FAIL=init:$number FAKE_GPUS=4 ./nccl 9 9 9
done
refuse "peer:1" "summa: rank 0: access from GPU 0 to GPU 1: a fake error" env FAKE_FAIL=peer:1 FAKE_GPUS=4 ./peer 9 9 9
refuse "peer:6" "summa: rank 0: access from GPU 2 to GPU 3: a fake error" env FAKE_FAIL=peer:6 FAKE_GPUS=4 ./peer 9 9 9

# ---- Mutants ---------------------------------------------------------------------------------------------------------

# mutant NAME FILE OLD NEW ORDER [GRID]: with NEW in the place of OLD the program fails in this order. Its transport is
# NCCL if FILE is not that of another one.
mutant() {
  local transport=nccl
  [ "$2" != summa_peer.c ] || transport=peer
  rm -rf mutant
  cp -r tree mutant
  case $2 in
    summa.c) rm mutant/summa_fake.o ;;
    summa.h) rm mutant/*.o ;;
    *) rm "mutant/${2%.c}.o" ;;
  esac
  if ! replaced "tree/examples/$2" "$3" "$4" 2> output.txt > "mutant/examples/$2"; then
    fail "mutant: $1" "$(tail -n 1 output.txt)"
  elif ! program mutant $transport changed "" > output.txt 2>&1; then
    fail "mutant: $1" "$(grep -m 1 error output.txt)"
  elif on 6 "$5" changed 11 13 41 --panel 5 --repeat 1 --check --timeout 5 --grid "${6:-2x3}" > output.txt 2>&1; then
    fail "mutant: $1" "survives"
  else
    ok "mutant: $1"
  fi
}
mutant "a product does not wait for its panel" summa.c "cudaStreamWaitEvent(own->multiply, own->arrived[slot], 0)" \
  cudaSuccess late
mutant "a panel does not wait for the product before" summa.c "cudaStreamWaitEvent(own->copy, own->used[slot], 0)" \
  cudaSuccess early
mutant "the event of the other buffer" summa.c "cudaStreamWaitEvent(own->copy, own->used[slot], 0)" \
  "cudaStreamWaitEvent(own->copy, own->used[!slot], 0)" early
mutant "one buffer" summa.c "bring(rank, x, own, &next, !slot)" "bring(rank, x, own, &next, slot)" late
mutant "the end does not wait" summa.c "return wait_for(rank, own->used[!slot]);" "return 0;" late
mutant "the end waits for the product before the last" summa.c "return wait_for(rank, own->used[!slot]);" \
  "return wait_for(rank, own->used[slot]);" late
mutant "beta is 1 in the first product" summa.c "now->begin > 0 ? 1.0f : 0.0f" "1.0f" late
mutant "beta is 0" summa.c "now->begin > 0 ? 1.0f : 0.0f" "0.0f" late
mutant "a panel of two blocks of A" summa.c "end = end < end_a ? end : end_a;" "(void)end_a;" late
mutant "a panel of two blocks of B" summa.c "(end < end_b ? end : end_b)" "((void)end_b, end)" late 3x2
mutant "the root of a row" summa.c "SUMMA_ROW, next->col," "SUMMA_ROW, 0," late
mutant "the root of a column" summa.c "SUMMA_COLUMN, next->row," "SUMMA_COLUMN, 0," late
mutant "the first columns of the block" summa.c "return now->begin - block_begin(x->k, x->q, now->col);" \
  "return 0 * (now->begin + x->k);" late
mutant "the first rows of the block" summa.c "(now->begin - block_begin(x->k, x->p, now->row)) * own->n" \
  "0 * (now->begin + x->k) * own->n" late
mutant "a rank multiplies its block instead of the panel" summa.c "has_a = rank->col == now->col" "has_a = 1" late
mutant "a rank multiplies its buffer instead of the block" summa.c "has_b = rank->row == now->row" "has_b = 0" late
mutant "rows with gaps" summa.h "if (width == pitch)" "if (width <= pitch)" late
mutant "rows and columns of NCCL" summa_nccl.c "connect_group(&ranks[i], SUMMA_COLUMN, p, q)" \
  "connect_group(&ranks[i], SUMMA_COLUMN, p, 1)" late
mutant "the rank of another column" summa_peer.c "rank + (root - rank->col)" "rank - (root - rank->col)" late
mutant "the rank of another row" summa_peer.c "(root - rank->row) * rank->q" "(root - rank->row)" late
mutant "rows of the block without gaps" summa_peer.c "from->ld[group] * sizeof(float)" "width" late
mutant "a copy of one row less" summa_peer.c "make_cudaExtent(width, rows, 1)" "make_cudaExtent(width, rows - 1, 1)" late

# ---- The end of the calls that do not return -------------------------------------------------------------------------

wait
for number in 1 5; do
  same "hang:$number" "summa: a call did not return for 10 s more than --timeout
status 2" "$(cat hang$number)"
done
finish
