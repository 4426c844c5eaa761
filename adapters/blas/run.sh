#!/bin/bash
# run.sh SIZE...: runs blas_rate, which lies beside this script, with the adapter preloaded, first with every call on the
# GPU, which shows where the GPU begins to be faster, and then with the default thresholds and a report. The OpenBLAS of
# the archive is in lib/. Then numpy's products, if there is a numpy. Variables SGEMM_BLAS_... of the caller hold.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} adapter=$here/libsgemm_blas.so
[ $# -gt 0 ] || set -- 512 1024 1536 2048 4096 8192 16384 16384,16384,64 16384,16384,256 65536,64,4096 64,64,1000000
nproc
echo "# every call on the GPU"
SGEMM_BLAS_THRESHOLD=0 SGEMM_BLAS_INTENSITY=0 SGEMM_BLAS_REPORT=1 LD_PRELOAD=$adapter "$here/blas_rate" "$@"
echo "# default thresholds"
SGEMM_BLAS_REPORT=1 LD_PRELOAD=$adapter "$here/blas_rate" --no-blas "$@"
if python3 -c 'import numpy' 2> /dev/null; then
  echo "# numpy"
  python3 "$here/numpy_rate.py"
  SGEMM_BLAS_REPORT=1 LD_PRELOAD=$adapter python3 "$here/numpy_rate.py"
fi
