#!/bin/bash
# engines_test.sh ADAPTER [PSGEMM MPIRUN]: the examples of NumPy, Octave and ScaLAPACK, with and without the BLAS adapter.
# ADAPTER is linked with the CPU model.
set -euo pipefail
adapter=$(realpath "$1") psgemm=${2:+$(realpath "$2")} mpirun=${3:-}
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"
. "$(dirname "${BASH_SOURCE[0]}")/open_mpi.sh"

cd "$work"
export OPENBLAS_NUM_THREADS=1 SGEMM_BLAS_THREADS=1 SGEMM_BLAS_THRESHOLD=0 SGEMM_BLAS_INTENSITY=0

# preloaded [VARIABLE=VALUE]... PROGRAM ARGUMENT...
preloaded() { env LD_PRELOAD="$adapter" "$@"; }

# computed FILE: what computed the calls of each process of a report.
computed() { sed -nE 's/^ +([0-9]+) .*  (sgemm|BLAS.*)$/\1 \2/p' "$1"; }

# A BLAS with a fault: the last product of each dot product is missing.
cat > faulty.c <<'C'
void sgemm_(const char *op_a, const char *op_b, const int *m, const int *n, const int *k, const float *alpha, const float *A,
            const int *lda, const float *B, const int *ldb, const float *beta, float *C, const int *ldc) {
  int i, j, l;
  for (j = 0; j < *n; j++)
    for (i = 0; i < *m; i++) {
      float sum = *beta == 0.0f ? 0.0f : *beta * C[i + j * *ldc];
      for (l = 0; l + 1 < *k; l++)
        sum += *alpha * (*op_a == 'N' ? A[i + l * *lda] : A[l + i * *lda]) * (*op_b == 'N' ? B[l + j * *ldb] : B[j + l * *ldb]);
      C[i + j * *ldc] = sum;
    }
}
void cblas_sgemm(int order, int op_a, int op_b, int m, int n, int k, float alpha, const float *A, int lda, const float *B,
                 int ldb, float beta, float *C, int ldc) {
  (void)order; /* row-major */
  sgemm_(op_b == 111 ? "N" : "T", op_a == 111 ? "N" : "T", &n, &m, &k, &alpha, B, &ldb, A, &lda, &beta, C, &ldc);
}
C
check "faulty BLAS" gcc -std=c11 -O1 -Wall -Wextra -Werror -fPIC -shared faulty.c -o faulty.so

# engine NAME COMMAND...: the example without the adapter, with it and, unless `faulty` is empty, over the faulty BLAS.
faulty=1
engine() {
  local size="70 x 50 x 90"
  check "$1 without the adapter" "${@:2}" 70 50 90
  same "$1 without the adapter: output" "$1 VERSION, without the BLAS adapter; $size; 1" "$(told "$1")"
  check "$1 with the adapter" preloaded SGEMM_BLAS_REPORT=report "${@:2}" 70 50 90
  same "$1 with the adapter: output" "$1 VERSION, with the BLAS adapter; $size; 1" "$(told "$1")"
  same "$1 with the adapter: what computed" "3 sgemm" "$(computed report)"
  rm -f report
  if [ -n "$faulty" ]; then
    refuse "$1 over a faulty BLAS" "of the bound" env LD_PRELOAD="$work/faulty.so" "${@:2}" 70 50 90
  else
    skip "$1 over a faulty BLAS" "it calls another name"
  fi
}

# told NAME: the last output, without its times; 1 if the error is within the bound, and is not 0 by chance.
told() {
  sed -nE "s/^$1 [0-9.]+,/$1 VERSION,/p; s/^([0-9]+ x [0-9]+ x [0-9]+): first .* error ([0-9.e+-]+) of the bound/\1; \2/p" output |
    awk 'NR == 1 { text = $0 } NR == 2 { print text "; " $1, $2, $3, $4, $5, ($6 > 0 && $6 <= 1) }'
}

# The faulty BLAS has the name that the numpy of Debian calls. That of PyPI calls scipy_cblas_sgemm64_.
numpy=
for python in python3 /usr/bin/python3; do
  if [ -z "$numpy" ] && module=$($python -c 'import numpy.core._multiarray_umath as u; print(u.__file__)' 2> /dev/null) &&
    name=$(nm -D "$module" | grep -oE ' U (scipy_)?cblas_sgemm(64_)?$'); then
    numpy=$python
  fi
done
if [ -n "$numpy" ]; then
  [ "$name" = " U cblas_sgemm" ] || faulty=
  engine NumPy "$numpy" "$root/examples/numpy_product.py"
  faulty=1
else
  skip "NumPy" "no numpy, or its BLAS has other names"
fi
if command -v octave-cli > /dev/null; then
  engine Octave octave-cli --norc "$root/examples/octave_product.m"
else
  skip "Octave" "no octave-cli"
fi

# ---- ScaLAPACK -------------------------------------------------------------------------------------------------------

if [ -z "$psgemm" ]; then
  skip "ScaLAPACK" "no Open MPI or no ScaLAPACK"
  finish
fi

open_mpi

# ranks COMMAND...: 4 processes. They must end, so a process that dies must end the others.
ranks() { timeout 100 "$mpirun" -n 4 "$@"; }
small=(--block 16 --panel 40 --repeat 1 120 90 150)

# value NAME WORD: a number of the last output.
value() { sed -nE "s/^[0-9]+ x .*\b$1 ([0-9a-f.e+-]+).*/\1/p" output; }

# The elements are integers: one process without the adapter gives the bits that every grid and library must give.
declare -A bits
grids=(2x2 1x4 4x1)
for op in NN NT TN TT; do
  check "psgemm: $op, one process" "$psgemm" --integers --op $op "${small[@]}"
  bits[$op]=$(value checksum)
done
same "psgemm: checksums of 16 digits, each of its own" 4 "$(printf '%s\n' "${bits[@]}" | grep -xE '[0-9a-f]{16}' | sort -u | wc -l)"
for grid in "${grids[@]}"; do
  for op in NN NT TN TT; do
    case $full/$grid/$op in 1/* | */2x2/* | */1x4/NT | */4x1/TN) ;; *) continue ;; esac
    name="psgemm: $op, grid $grid"
    check "$name, with the adapter" ranks env LD_PRELOAD="$adapter" SGEMM_BLAS_REPORT=report "$psgemm" --integers --op $op \
      --grid $grid "${small[@]}"
    same "$name, with the adapter: bits" "${bits[$op]} 0" "$(value checksum) $(value error)"
    same "$name, with the adapter: processes that computed" 4 "$(grep -c '^sgemm_blas: ' report)"
    same "$name, with the adapter: what computed" "sgemm" "$(computed report | sed 's/^[0-9]* //' | sort -u)"
    rm -f report
    if [ "$full" = 1 ] || [ $op = NN ] || [ $grid != 2x2 ]; then
      check "$name, without the adapter" ranks "$psgemm" --integers --op $op --grid $grid "${small[@]}"
      same "$name, without the adapter: bits" "${bits[$op]} 0" "$(value checksum) $(value error)"
    fi
  done
done

# Elements that round. A panel of 40 makes ceil(150 / 40) local products of each process.
within() { awk "BEGIN { exit !($1 > 0 && $1 <= 1) }"; }
check "psgemm: rounded, without the adapter" ranks "$psgemm" "${small[@]}"
check "psgemm: rounded, without the adapter: error" within "$(value error)"
for run in 1 2; do
  check "psgemm: rounded, with the adapter" ranks env LD_PRELOAD="$adapter" SGEMM_BLAS_REPORT=report$run "$psgemm" "${small[@]}"
  check "psgemm: rounded, with the adapter: error" within "$(value error)"
  bits[$run]=$(value checksum)
done
same "psgemm: equal bits from run to run" "${bits[1]}" "${bits[2]}"
same "psgemm: local products" "$(printf '4 sgemm\n%.0s' 1 2 3 4)" "$(computed report1)"
check "psgemm: panels of its own" ranks env LD_PRELOAD="$adapter" SGEMM_BLAS_REPORT=report3 "$psgemm" --panel 150 "${small[@]:4}"
same "psgemm: local products with panels of its own" "$(printf '1 sgemm\n%.0s' 1 2 3 4)" "$(computed report3)"

# Faults.
refuse "psgemm: over a faulty BLAS" "error " ranks env LD_PRELOAD="$work/faulty.so" "$psgemm" "${small[@]}"
check "psgemm: over a faulty BLAS: error" awk "BEGIN { exit !($(value error) > 1) }"
cat > lose.c <<'C'
#include <stdlib.h>
#include "adapters/host/device_cpu.h"
/* The GPU of process 2 fails when it has written the first tile of its second product, with beta = 1. */
__attribute__((constructor)) static void lose(void) {
  const char *rank = getenv("OMPI_COMM_WORLD_RANK");
  sgemm_host__fake_state.fail_call = SGEMM_HOST__FAKE_COPY_OUT;
  sgemm_host__fake_state.fail_at = rank != NULL && atoi(rank) == 2 ? LOSE_AT : 0;
}
C
check "psgemm: GPU that fails" gcc -std=c11 -I"$root" -DLOSE_AT=6 -fPIC -shared lose.c -o lose.so
refuse "psgemm: a process that dies ends all" "sgemm_blas: C is written in part and beta is not 0: " \
  ranks env LD_PRELOAD="$adapter:$work/lose.so" SGEMM_BLAS_MEMORY=0.00002 "$psgemm" "${small[@]}"

tool=$psgemm
says "psgemm: no sizes" "psgemm: the sizes: M N K are missing" 1 2
says "psgemm: a size" "psgemm: a size: a number in 1 ... 2^30 is missing" 1 2x 3
says "psgemm: four sizes" "psgemm: 4: a fourth size" 1 2 3 4
says "psgemm: --grid" "psgemm: --grid: not PxQ" --grid 2x2x 1 2 3
says "psgemm: --op" "psgemm: --op: not NN, NT, TN or TT" --op NC 1 2 3
says "psgemm: --block" "psgemm: --block: a number in 1 ... 2^30 is missing" 1 2 3 --block
says "psgemm: an option" "psgemm: --size: no such option; the head of psgemm.c lists them" --size 3
says "psgemm: a grid of other processes" "psgemm: --grid 2x3: there are 1 processes" --grid 2x3 1 2 3

finish
