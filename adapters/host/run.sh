#!/bin/bash
# run.sh OPTION...: runs host_rate, which lies beside this script, with the options of host_rate. cuBLASXt is taken from
# LD_LIBRARY_PATH or from /usr/local/cuda.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64
exec "$here/host_rate" "$@"
