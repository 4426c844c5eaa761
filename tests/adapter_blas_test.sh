#!/bin/bash
# adapter_blas_test.sh ADAPTER ADAPTER64 [CUDA_ADAPTER CUDA_ADAPTER64]: the BLAS adapter under programs that call BLAS.
# The BLAS is the stand-in of fake_blas.c, which counts calls. ADAPTER and ADAPTER64, for plain names with 64-bit
# integers, are linked with the CPU model.
set -euo pipefail
adapter=$(realpath "$1") adapter64=$(realpath "$2") cuda_adapter=${3:+$(realpath "$3")} cuda_adapter64=${4:+$(realpath "$4")}
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

cd "$work"
strict=(-Wall -Wextra -Werror -I"$root" -I"$root/tests")
export SGEMM_BLAS_THRESHOLD=0 SGEMM_BLAS_INTENSITY=0

# ---- Programs --------------------------------------------------------------------------------------------------------

# fake FILE SONAME OPTION...: the stand-in. client FILE LIBRARY OPTION...: the program, linked with it.
fake() { gcc -std=c11 "${strict[@]}" -fPIC -shared "$root/tests/fake_blas.c" -Wl,-soname,"$2" -o "$1" "${@:3}"; }
client() {
  gcc -std=c11 "${strict[@]}" "$root/tests/adapter_blas_test.c" "${@:3}" "$2" -Wl,-rpath,"$work" -ldl -lpthread -lm -o "$1"
}
long=-DFAKE_INTEGER=int64_t
check "stand-in" fake libblas.so.3 libblas.so.3
check "stand-in with 64-bit integers" fake libblas64.so.3 libblas64.so.3 $long
check "stand-in with an unusual name" fake libunusual.so.1 libunusual.so.1
check "program" client program ./libblas.so.3
check "program with 64-bit integers" client program64 ./libblas64.so.3 $long

# ---- Preloaded -------------------------------------------------------------------------------------------------------

# preloaded [VARIABLE=VALUE]... PROGRAM CASE
preloaded() { env LD_PRELOAD="$adapter" "$@"; }
preloaded64() { env LD_PRELOAD="$adapter64" "$@"; }

for case in products arguments long_integers forks no_gpu errors error_before_c; do
  check "preloaded: $case" preloaded ./program $case
  check "preloaded, 64-bit integers: $case" preloaded64 ./program64 $case
done
for mode in tensor full; do
  check "preloaded: products, $mode" preloaded SGEMM_BLAS_MODE=$mode ./program products
done
check "off" preloaded SGEMM_BLAS_MODE=off ./program off
check "lengths of strings" preloaded SGEMM_BLAS_MODE=off ./program lengths
check "threshold" preloaded SGEMM_BLAS_THRESHOLD=0.00012 ./program threshold
check "intensity" preloaded SGEMM_BLAS_INTENSITY=5 ./program intensity
check "by default small calls pass" env -u SGEMM_BLAS_THRESHOLD -u SGEMM_BLAS_INTENSITY LD_PRELOAD="$adapter" ./program off
small=SGEMM_BLAS_MEMORY=0.00005
check "memory" preloaded $small ./program memory
check "too little memory" preloaded $small ./program errors
check "8 threads take the GPU one after the other" preloaded $small ./program threads
check "a call waits for one that is held" preloaded ./program held_call
check "GPUs" preloaded $small SGEMM_BLAS_DEVICES=0,2 ./program gpus
check "a GPU that is not there" preloaded SGEMM_BLAS_DEVICES=0,2 ./program too_few_gpus
check "an error when C is written in part, beta is 0" preloaded $small ./program error_after_c
refuse "an error when C is written in part, beta is not 0" "sgemm_blas: C is written in part and beta is not 0: " \
  preloaded $small ./program lost
refuse "without the adapter" "not preloaded" ./program products

# As Python does it: the program has no BLAS, and loads a module that has, with RTLD_LOCAL.
check "host" gcc -std=c11 "${strict[@]}" "$root/tests/module_host.c" -ldl -o host
for library in libblas.so.3 libunusual.so.1; do
  check "module with $library" client module.so ./$library -shared -fPIC -Dmain=main_of_module
  for case in products arguments off; do
    mode=strict && [ $case != off ] || mode=off
    check "module with $library: $case" preloaded SGEMM_BLAS_MODE=$mode ./host $case
  done
done

# Linked before the BLAS, and without one. A name that no BLAS on this machine has ends the process with a sentence.
mkdir linked
cp "$adapter" linked/libsgemm_blas.so
link=(-Llinked -lsgemm_blas -Wl,-rpath,"$work/linked")
check "linked before the BLAS: build" client before ./libblas.so.3 "${link[@]}"
for case in products arguments lengths; do
  mode=strict && [ $case != lengths ] || mode=off
  check "linked before the BLAS: $case" env SGEMM_BLAS_MODE=$mode ./before $case
done
cat > alone.c <<'C'
void scipy_cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
int main(int argc, char **argv) {
  float x[4] = {1, 2, 3, 4}, y[4];
  (void)argv;
  scipy_cblas_sgemm(101, 111, argc == 1 ? 111 : 0, 2, 2, 2, 1, x, 2, x, 2, 0, y, 2);
  return y[0] != 7 || y[1] != 10 || y[2] != 15 || y[3] != 22;
}
C
check "without a BLAS: build" gcc -std=c11 "${strict[@]}" alone.c "${link[@]}" -o alone
check "without a BLAS: a call of sgemm" ./alone
refuse "without a BLAS: a call that passes" "sgemm_blas: there is no BLAS with scipy_cblas_sgemm" ./alone wrong

# ---- A real BLAS, and numpy ------------------------------------------------------------------------------------------

# numpy's module for products is linked with libblas.so.3 where numpy is a package of Debian.
numpy=
for python in python3 /usr/bin/python3; do
  if [ -z "$numpy" ] && module=$($python -c 'import numpy.core._multiarray_umath as u; print(u.__file__)' 2> /dev/null) &&
    nm -D "$module" | grep -E ' U (scipy_)?cblas_sgemm(64_)?$' > numpy_names; then
    numpy=$python
  fi
done
cat > products.py <<'P'
import numpy

rng = numpy.random.default_rng(1)
matrix = lambda rows, columns: rng.integers(-5, 6, (rows, columns)).astype(numpy.float32)
wide = matrix(64, 300)
for a, b in (matrix(50, 60), matrix(60, 70)), (matrix(60, 50).T, matrix(70, 60).T), (wide[:, 7:90], wide[:, 100:183].T):
    wanted = a.astype(float) @ b.astype(float)
    for c in a @ b, numpy.dot(a, b), numpy.matmul(a, b, out=numpy.full(wanted.shape, numpy.nan, numpy.float32)):
        assert numpy.array_equal(c, wanted)
P
# paths FILE: what computed the calls of a report.
paths() { awk 'there { print $1, $4, $5 } / computed by$/ { there = 1 }' "$1"; }
if [ -n "$numpy" ]; then
  check "numpy" preloaded SGEMM_BLAS_REPORT=numpy_report $numpy products.py
  same "numpy: who computed" "9 sgemm " "$(paths numpy_report)"
  check "numpy, passed" preloaded SGEMM_BLAS_THRESHOLD=4 SGEMM_BLAS_REPORT=numpy_passed $numpy products.py
  same "numpy, passed: who computed" "9 BLAS: fewer" "$(paths numpy_passed)"
else
  skip "numpy" "no numpy, or its BLAS has other names"
fi

# Wrong arguments reach the xerbla of the machine's BLAS.
cat > xerbla.c <<'C'
void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *, const float *, const int *,
            const float *, const int *, const float *, float *, const int *);
int main(void) {
  const int n = 3, ld = 2;
  const float x[9] = {1}, one = 1;
  float y[9];
  sgemm_("N", "N", &n, &n, &n, &one, x, &n, x, &ld, &one, y, &n);
  return 0;
}
C
# xerbla_of COMMAND...: what the call prints, and the exit status, which differs between libraries.
xerbla_of() {
  local status=0
  "$@" 2>&1 || status=$?
  echo "exit status $status"
}
if gcc -std=c11 xerbla.c -lblas -o xerbla 2> /dev/null; then
  same "wrong arguments of a real BLAS" "$(xerbla_of ./xerbla)" "$(xerbla_of preloaded ./xerbla)"
  check "it names the argument" grep -qE 'SGEMM.*\b10\b' <<< "$(xerbla_of preloaded ./xerbla)"
else
  skip "wrong arguments of a real BLAS" "no libblas"
fi

# ---- The environment -------------------------------------------------------------------------------------------------

# says_of VARIABLE=VALUE TEXT: what the adapter prints.
says_of() { same "$1" "$2" "$(preloaded "$1" ./program no_gpu 2>&1)"; }
says_of SGEMM_BLAS_MODE=fast "sgemm_blas: SGEMM_BLAS_MODE=fast is not strict, tensor, full or off; strict is used"
says_of SGEMM_BLAS_MODE= ""
says_of SGEMM_BLAS_THRESHOLD=1x \
  "sgemm_blas: SGEMM_BLAS_THRESHOLD=1x is not a number in 0 ... 1e+12; the default is used"
says_of SGEMM_BLAS_INTENSITY=-1 \
  "sgemm_blas: SGEMM_BLAS_INTENSITY=-1 is not a number in 0 ... 1e+12; the default is used"
says_of SGEMM_BLAS_MEMORY=nan "sgemm_blas: SGEMM_BLAS_MEMORY=nan is not a number in 0 ... 1e+06; the default is used"
says_of SGEMM_BLAS_THREADS=257 "sgemm_blas: SGEMM_BLAS_THREADS=257 is not a number in 0 ... 256; the default is used"
for list in 0, 0:1 0,0 1,2,1 -1 x 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16; do
  says_of SGEMM_BLAS_DEVICES=$list \
    "sgemm_blas: SGEMM_BLAS_DEVICES=$list is not a list of at most 16 different numbers of GPUs; the default is used"
done

read -r -d '' report <<'TEXT' || true
sgemm_blas: 5 calls of process PID, SGEMM_BLAS_MODE=tensor
       calls          GFLOP      seconds  computed by
           2          0.004     SECONDS  sgemm
           1          0.000     SECONDS  BLAS: m, n, k or alpha is 0
           1          0.000     SECONDS  BLAS: fewer FLOP than SGEMM_BLAS_THRESHOLD
           1          0.002     SECONDS  BLAS: fewer FLOP for each byte than SGEMM_BLAS_INTENSITY
TEXT
masked() { sed -E 's/process [0-9]*/process PID/; s/ {1,5}[0-9]+\.[0-9]{6}  /     SECONDS  /'; }
reported() {
  preloaded SGEMM_BLAS_REPORT="$1" SGEMM_BLAS_MODE=tensor SGEMM_BLAS_THRESHOLD=0.001 SGEMM_BLAS_INTENSITY=2 \
    ./program report
}
same "report on stderr" "$report" "$(reported 1 2>&1 > /dev/null | masked)"
same "report to a file: nothing on stderr" "" "$(reported report 2>&1)"
same "report to a file" "$report" "$(masked < report)"
reported report
same "a second process appends" "$report"$'\n'"$report" "$(masked < report)"
check "seconds are counted" awk '/ sgemm$/ { count++; wrong += !($3 > 0 && $3 < 1000) }
  END { exit !(count == 2 && wrong == 0) }' report
same "a file that cannot be written" "sgemm_blas: the report cannot be written to missing/report" \
  "$(reported missing/report 2>&1)"
same "no report" "" "$(reported 0 2>&1)"
same "a process without calls" "" "$(preloaded SGEMM_BLAS_REPORT=1 ./program nothing 2>&1)"
check "calls of 8 threads" preloaded $small SGEMM_BLAS_REPORT=threads ./program threads
same "calls of 8 threads: report" "96 sgemm " "$(paths threads)"
check "forks" preloaded SGEMM_BLAS_REPORT=forks ./program forks
same "forks: reports" $'2 sgemm \n2 BLAS: a\n2 sgemm \n1 BLAS: m,' "$(sed '/^sgemm_blas/d; / computed by$/d' forks | awk '{ print $1, $4, $5 }')"
check "no GPU" preloaded SGEMM_BLAS_REPORT=no_gpu ./program no_gpu
same "no GPU: report" "2 BLAS: no GPU can be used, the CUDA runtime reported an error; sgemm_cuda_error() gives its cudaError_t (cudaError_t 100)" \
  "$(sed -nE 's/^ +2 .*  (BLAS.*)/2 \1/p; s/the first error of sgemm: /, /p' no_gpu | tr -d '\n')"

# ---- Mutants ---------------------------------------------------------------------------------------------------------

# The adapter from its sources, with the host adapter and the stage direct of the CPU model, is built once. A mutant
# replaces one object. The stage has small blocks, because the CPU model makes a stack for each thread of a block.
objects=()
for source in "$root"/adapters/{blas,common,host}/*.c; do
  case $source in */host_rate.c | */device_cuda.c | */blas_rate.c) continue ;; esac
  objects+=("$(basename "$(dirname "$source")")_$(basename "$source" .c).o")
done
compile() { gcc -std=c11 -O0 -ffp-contract=off -fPIC -fvisibility=hidden -I"$root" -c "$1" -o "$2"; }
own() {
  local object source
  for object in "${objects[@]}"; do
    source=${object%.o}.c
    compile "$root/adapters/${source/_//}" "$object" || return 1
  done
  gcc -std=c11 -O0 -ffp-contract=off -fPIC -fvisibility=hidden -DSGEMM_CPU=1 -DSGEMM_STAGE=direct -I"$root" \
    -c "$root/cpu/sgemm.c" -o direct.o
}
linked_as() { gcc -shared "${objects[@]}" direct.o -lpthread -lm -ldl -o "$1"; }
check "the adapter from its sources" own
check "the adapter from its sources: link" linked_as own.so
check "the adapter from its sources: products" env LD_PRELOAD="$work/own.so" ./program products

# mutant NAME FILE OLD NEW [VARIABLE=VALUE]... PROGRAM CASE: with NEW in the place of OLD the case fails.
mutant() {
  local name=$1 object=blas_$2.o
  mv "$object" kept.o
  if ! replaced "$root/adapters/blas/$2.c" "$3" "$4" > mutant.c 2> output.txt; then
    fail "mutant: $name" "$(tail -n 1 output.txt)"
  elif ! compile mutant.c "$object" > output.txt 2>&1 || ! linked_as mutant.so; then
    fail "mutant: $name" "$(grep -m 1 error output.txt)"
  elif { env LD_PRELOAD="$work/mutant.so" timeout 60 env "${@:5}" > output.txt 2>&1; } 2> /dev/null; then
    fail "mutant: $name" "survives"
  else
    ok "mutant: $name"
  fi
  mv kept.o "$object"
}
mutant "an op of Fortran" call "return SGEMM_T;" "return SGEMM_N;" ./program products
mutant "lower case" call "case 'n':" "case 'x':" ./program products
mutant "the order of C" call "call_of(order == SGEMM_COL_MAJOR," "call_of(order != SGEMM_COL_MAJOR," ./program products
mutant "a wrong order" call "order != SGEMM_ROW_MAJOR && order != SGEMM_COL_MAJOR" "0" ./program arguments
mutant "a wrong op" call "pass_if(!valid, SGEMM_BLAS_PATH_ARGUMENTS, &call);" "" ./program arguments
mutant "beta is forgotten" call "call.p.beta = beta;" "" ./program products
mutant "the threshold is passed" call "flop < settings->least_flop" "flop <= settings->least_flop" \
  SGEMM_BLAS_THRESHOLD=0.00012 ./program threshold
mutant "no threshold" call "flop < settings->least_flop" "0" SGEMM_BLAS_THRESHOLD=0.00012 ./program threshold
mutant "the intensity without beta" call "p->n, p->k, p->beta)" "p->n, p->k, 0.0f)" SGEMM_BLAS_INTENSITY=5 ./program intensity
mutant "alpha is 0" call "|| p->alpha == 0.0f" "" ./program arguments
mutant "a child uses the GPU" call "if (used)" "if (0)" ./program forks
mutant "no child uses the GPU" call "if (used)" "" ./program forks
mutant "the GPU is asked again" call "(error != 0 && error != 2)" "0" ./program error_before_c
mutant "too little memory lasts" call "&& error != 2" "" $small ./program errors
mutant "a lost C" call "result.bytes_out > 0 && call->p.beta != 0.0f" "0" $small ./program lost
mutant "a C that does not count" call "&& call->p.beta != 0.0f" "" $small ./program error_after_c
mutant "a C that is untouched" call "result.bytes_out > 0 &&" "" ./program error_before_c
mutant "no lock" call "pthread_mutex_lock(&gpu_lock);" "" ./program held_call
mutant "no lengths" adapter "ldc, 1, 1);" "ldc, 1, 0);" SGEMM_BLAS_MODE=off ./program lengths
mutant "32-bit integers" adapter "SGEMM__C(cblas_sgemm64_, int64_t)" "SGEMM__C(cblas_sgemm64_, int)" ./program long_integers
mutant "the caller's module" real "dladdr(caller, &module) != 0" "0" SGEMM_BLAS_MODE=off ./host off
mutant "the adapter itself" real "function == own ? NULL : function" "function" timeout 10 ./alone wrong
mutant "GPUs" settings "devices[count++] = (int)number;" "devices[count] = count, count++;" $small SGEMM_BLAS_DEVICES=0,2 \
  ./program gpus
mutant "memory" settings "1073741824.0 *" "1e10 *" $small ./program memory

# ---- The programs that measure ---------------------------------------------------------------------------------------

cat > rate.c <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include "adapters/common/rate.h"
#define EXPECT(condition) if (!(condition)) return puts(#condition), 1
int main(void) {
  const float A[2] = {1, 2}, B[1] = {3}, right[2] = {3, 6}, wrong[2] = {NAN, 6}, off[2] = {3, 7};
  const char *const bad[] = {"", "3x", "x", " 3", "-1", "0", "1.5", "1e3", "101", "nan", "99999999999999999999"};
  const char *const bad_sizes[] = {"", "8x8", "8,8", "8,8,8,8", "8,,8", "8,8,", "0", "8,0,8", "101"};
  int64_t x = 0, s[3];
  double d = 0;
  unsigned i;
  EXPECT(rate_error(2, 1, 1, A, B, right) == 0 && rate_error(2, 1, 1, A, B, off) > 1);
  EXPECT(rate_error(2, 1, 1, A, B, wrong) > 1);
  for (i = 0; i < sizeof bad / sizeof *bad; i++)
    EXPECT(!rate_whole(bad[i], 1, 100, &x));
  for (i = 0; i < sizeof bad_sizes / sizeof *bad_sizes; i++)
    EXPECT(!rate_size(bad_sizes[i], 100, s));
  EXPECT(rate_whole("100", 1, 100, &x) && x == 100);
  EXPECT(rate_size("7", 100, s) && s[0] == 7 && s[1] == 7 && s[2] == 7);
  EXPECT(rate_size("7,8,9", 100, s) && s[0] == 7 && s[1] == 8 && s[2] == 9);
  EXPECT(rate_number("1.5", 0, 2, &d) && d == 1.5 && !rate_number("1.5x", 0, 2, &d) && !rate_number("nan", 0, 2, &d));
  return 0;
}
C
check "rate.h: build" gcc -std=c11 -Wall -Wextra -I"$root" rate.c -lm -o rate
check "rate.h: errors, numbers and sizes" ./rate
cat > no_product.c <<'C'
void cblas_sgemm(void);
void cblas_sgemm(void) {}
C
measuring() { gcc -std=c11 "${strict[@]}" "$root/adapters/blas/blas_rate.c" "$1" -Wl,-rpath,"$work" -ldl -lm -o "$2"; }
check "blas_rate: build" measuring ./libblas.so.3 blas_rate
check "blas_rate: build, with a BLAS that computes nothing" measuring no_product.c no_product
check "blas_rate" ./blas_rate --repeat 2 20 8,9,10
# exits NAME STATUS SENTENCE PROGRAM...: exit status and stderr.
exits() {
  local status=0
  "${@:4}" > output.txt 2> errors.txt || status=$?
  same "$1" "$2: $3" "$status: $(cat errors.txt)"
}
exits "blas_rate: a wrong result" 1 "blas_rate: program, 8,8,8: the error is above its bound" ./no_product 8
exits "blas_rate without a size" 2 "blas_rate: usage: blas_rate [--repeat N] [--no-blas] SIZE..." ./blas_rate
same "blas_rate without a size: no heading" "" "$(cat output.txt)"
for size in 4096x4096 8,8 0 -1; do
  exits "blas_rate $size" 2 "blas_rate: $size: a size is M or M,N,K, from 1 on" ./blas_rate "$size"
done
for number in 3x 0 ''; do
  exits "blas_rate --repeat '$number'" 2 "blas_rate: --repeat: needs a whole number from 1 on" ./blas_rate --repeat "$number" 8
done
if [ -n "$numpy" ]; then
  check "numpy_rate.py" $numpy "$root/adapters/blas/numpy_rate.py" --calls 1 16
else
  skip "numpy_rate.py" "no numpy, or its BLAS has other names"
fi

# ---- The built library -----------------------------------------------------------------------------------------------

# library NAME FILE: the names that it gives to programs, and the libraries that it needs.
library() {
  same "$1: names" "cblas_sgemm cblas_sgemm64_ cblas_sgemm_64 scipy_cblas_sgemm scipy_cblas_sgemm64_ scipy_sgemm_ scipy_sgemm_64_ sgemm_ sgemm_64_" \
    "$(nm -D --defined-only "$2" | awk '$3 != "sgemm_host__fake_state" { print $3 }' | sort | tr '\n' ' ' | sed 's/ $//')"
  same "$1: needs" "" "$(readelf -d "$2" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so' || true)"
  check "$1: preloaded into a program without a BLAS" env LD_PRELOAD="$2" true
}
library "adapter" "$adapter"
library "adapter64" "$adapter64"
if [ -n "$cuda_adapter" ]; then
  library "CUDA adapter" "$cuda_adapter"
  library "CUDA adapter64" "$cuda_adapter64"
  if [ -x xerbla ]; then
    check "CUDA adapter: calls pass where there is no GPU" env -u SGEMM_BLAS_THRESHOLD -u SGEMM_BLAS_INTENSITY \
      LD_PRELOAD="$cuda_adapter" ./xerbla
  else
    skip "CUDA adapter: calls pass where there is no GPU" "no libblas"
  fi
else
  skip "CUDA adapter" "no CUDA toolkit"
fi

finish
