#!/bin/bash
# run.sh SIZE...: runs blas_rate, which lies beside this script, with the adapter preloaded, first with every call on the
# GPU, which shows where the GPU begins to be faster, and then with the default thresholds and a report. The OpenBLAS of
# the archive is in lib/. Then numpy's products, if $PYTHON [python3] has a numpy. Variables SGEMM_BLAS_... of the caller
# hold, except SGEMM_BLAS_REPORT, which is 1, and, with every call on the GPU, the two thresholds, which are 0.
#
# run.sh --quick: in about 20 s, numpy under the adapter at 8192 cubed beside sgemm_host_run(), numpy at 256 cubed with
# and without the adapter, and the sizes from which on the GPU is faster than the BLAS of the archive.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} adapter=$here/libsgemm_blas.so
python=${PYTHON:-python3}

# every_call PROGRAM...: with the adapter, and without thresholds.
every_call() { SGEMM_BLAS_THRESHOLD=0 SGEMM_BLAS_INTENSITY=0 SGEMM_BLAS_REPORT=1 LD_PRELOAD=$adapter "$@"; }

# numpy_rate COLUMN ARGUMENT...: a column of the only row of numpy_rate.py.
numpy_rate() {
  "$python" "$here/numpy_rate.py" "${@:2}" |
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i } NR == 2 { print $column }'
}

middle() { sort -g | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'; }

# host_rate SIZE OPTION: the rate of sgemm_host_run().
host_rate() {
  "$here/host_rate" --size "$1" "$2" --repeat 7 --no-xt | awk -F, '$1 == "host" && $2 > 1 { print $15 }' | middle
}

quick_large() {
  local host new fresh again kept
  echo "# $1 cubed, pageable memory, strict: TFLOP/s of the median call after the first"
  host=$(host_rate "$1" --pageable)
  new=$(host_rate "$1" --new-c)
  fresh=$(LD_PRELOAD=$adapter SGEMM_BLAS_REPORT=1 numpy_rate median_tflops --calls 6 "$1")
  again=$(GLIBC_TUNABLES=glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184 LD_PRELOAD=$adapter \
    SGEMM_BLAS_REPORT=1 numpy_rate median_tflops --calls 6 "$1")
  kept=$(LD_PRELOAD=$adapter SGEMM_BLAS_REPORT=1 numpy_rate median_tflops --calls 6 --out "$1")
  echo "what,tflops,of_host_run"
  awk -v host="$host" -v new="$new" -v fresh="$fresh" -v again="$again" -v kept="$kept" 'BEGIN {
    printf "sgemm_host_run() into the same C,%.2f,1\n", host
    printf "sgemm_host_run() into a new C each time,%.2f,%.3f\n", new, new / host
    printf "numpy A @ B with the adapter,%.2f,%.3f\n", fresh, fresh / host
    printf "the same with memory that malloc keeps,%.2f,%.3f\n", again, again / host
    printf "numpy.matmul(A; B; out=C) with the adapter,%.2f,%.3f\n", kept, kept / host }'
}

# The processes with and without the adapter take turns. Their medians differ from process to process.
quick_small() {
  local i with without
  for i in 1 2 3 4 5; do
    without+=$(numpy_rate median_ms --calls 1000 "$1")$'\n'
    with+=$(LD_PRELOAD=$adapter numpy_rate median_ms --calls 1000 "$1")$'\n'
  done
  echo "# numpy A @ B, $1 cubed, ms: median call of each of 5 processes, default thresholds"
  echo "what,median,smallest,largest"
  for i in without with; do
    echo "$i the adapter,$(middle <<< "${!i%?}"),$(sort -g <<< "${!i%?}" | sed -n '1p;$p' | paste -sd,)"
  done
  awk -v with="$(middle <<< "${with%?}")" -v without="$(middle <<< "${without%?}")" \
    'BEGIN { printf "with over without,%.3f,,\n", with / without }'
}

quick_crossover() {
  echo "# every call on the GPU, beside the BLAS of the archive: fastest of 5 calls after the first"
  echo "m,n,k,gflop,flop_per_byte,gpu_ms,blas_ms,blas_over_gpu,error"
  every_call "$here/blas_rate" "$@" | awk -F, '
    $1 == "program" { gpu = $8; error = $10 }
    $1 == "blas" { printf "%s,%s,%s,%s,%s,%s,%s,%.2f,%s\n", $2, $3, $4, $5, $6, gpu, $8, $8 / gpu, error; fflush() }'
}

echo "# $(nproc) CPUs"
if [ "${1:-}" = --quick ]; then
  if "$python" -c 'import numpy' 2> /dev/null; then
    quick_large 8192
    quick_small 256
  else
    echo "# $python has no numpy"
  fi
  quick_crossover 512 640 800 1000 1248 1560 1952 2440 3048 3816 4096,4096,32 4096,4096,64 4096,4096,128 4096,4096,256 \
    4096,4096,512 16384,16,4096 16384,64,4096 16384,256,4096 64,64,262144 256,256,65536
  exit
fi
[ $# -gt 0 ] || set -- 512 1024 1536 2048 4096 8192 16384 16384,16384,64 16384,16384,256 65536,64,4096 64,64,1000000
echo "# every call on the GPU"
every_call "$here/blas_rate" "$@"
echo "# default thresholds"
SGEMM_BLAS_REPORT=1 LD_PRELOAD=$adapter "$here/blas_rate" --no-blas "$@"
if "$python" -c 'import numpy' 2> /dev/null; then
  echo "# numpy"
  "$python" "$here/numpy_rate.py"
  SGEMM_BLAS_REPORT=1 LD_PRELOAD=$adapter "$python" "$here/numpy_rate.py"
fi
