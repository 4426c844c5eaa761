#!/bin/bash
# run.sh peer|nccl|cublasmp OPTION...: runs summa_peer, summa_nccl or cublasmp_rate.py, which lie beside this script, with
# their options. NCCL is taken from LD_LIBRARY_PATH, from the PyPI package nvidia-nccl-cu13 or nvidia-nccl-cu12 of python3, or
# from /usr/local/cuda.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
if [[ ${1:-} != peer && ${1:-} != nccl && ${1:-} != cublasmp ]]; then
  echo "run.sh: the first argument is the transport, peer or nccl, or cublasmp" >&2
  exit 2
fi
python=$(python3 -c "import importlib.util; print(list(importlib.util.find_spec('nvidia.nccl').submodule_search_locations)[0])" \
  2>/dev/null || true)
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}${python:+$python/lib:}/usr/local/cuda/lib64
# Multicast over NVSwitch serves reductions. A broadcast between few GPUs does not need it, and hosts that hand out some of their
# GPUs may refuse it.
export NCCL_NVLS_ENABLE=${NCCL_NVLS_ENABLE:-0}
[[ $1 != cublasmp ]] || exec python3 "$here/cublasmp_rate.py" "${@:2}"
exec "$here/summa_$1" "${@:2}"
