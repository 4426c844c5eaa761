#!/bin/bash
# run_psgemm.sh [PSGEMM_OPTION...] [M N K]: in the archive of //examples:psgemm_archive, where it is run.sh, runs psgemm in
# $PROCESSES [4] processes without the adapter and with it, with every local product on the GPU. Default: integers at
# 4096 cubed, whose checksums must be equal, then 16384 cubed. A process gets a GPU, or its share of 80 % of the memory
# of a GPU.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
processes=${PROCESSES:-4}
short=$(mktemp -d /tmp/mpi.XXXXXX)
trap 'rm -rf "$short"' EXIT
export LD_LIBRARY_PATH=$here/mpi/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} OPAL_PREFIX=$here/mpi TMPDIR=$short
export OMPI_MCA_mca_base_component_path=$here/mpi/lib/openmpi OMPI_MCA_btl=self,vader OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_plm=isolated
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PMIX_MCA_gds=hash
# The archive has no compression for PMIx, and PMIx finds plugins of the host that it cannot load. It warns of both.
export PMIX_MCA_pcompress_base_silence_warning=1 PMIX_MCA_mca_base_component_show_load_errors=0
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-$(($(nproc) / processes > 0 ? $(nproc) / processes : 1))}

# The GPUs, and the GiB of the first.
gpus=$(nvidia-smi --list-gpus 2> /dev/null | wc -l) || gpus=1
gib=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits 2> /dev/null |
  awk 'NR == 1 { print int($1 / 1024) }') || gib=
export GPUS=$((gpus > 0 ? gpus : 1)) ADAPTER=$here/libsgemm_blas.so
of_gpu=$(((processes + GPUS - 1) / GPUS))
export SGEMM_BLAS_MEMORY=${SGEMM_BLAS_MEMORY:-$(awk "BEGIN { print 0.8 * ${gib:-0} / $of_gpu }")} # 0: the default
export SGEMM_BLAS_THRESHOLD=${SGEMM_BLAS_THRESHOLD:-0} SGEMM_BLAS_INTENSITY=${SGEMM_BLAS_INTENSITY:-0} SGEMM_BLAS_REPORT=1

# failed NAME OUTPUT: ends the script with what a failed psgemm printed.
failed() {
  printf 'run.sh: psgemm failed %s:\n%s\n' "$1" "$2" >&2
  exit 1
}

# psgemm ARGUMENT...: without the adapter, and with it.
psgemm() {
  local without with
  without=$("$here/mpi/bin/mpirun" -n "$processes" "$here/psgemm" "$@") || failed "without the adapter" "$without"
  echo "without the adapter: $without"
  with=$("$here/mpi/bin/mpirun" -n "$processes" bash -c \
    'export CUDA_VISIBLE_DEVICES=$((OMPI_COMM_WORLD_LOCAL_RANK % GPUS)) LD_PRELOAD=$ADAPTER; exec "$@"' - "$here/psgemm" "$@") ||
    failed "with the adapter" "$with"
  echo "with the adapter:    $with"
  if [[ " $* " == *" --integers "* && ${without##* } != "${with##* }" ]]; then
    echo "run.sh: the checksums differ" >&2
    exit 1
  fi
}
if [ $# -gt 0 ]; then
  psgemm "$@"
else
  psgemm --integers 4096 4096 4096
  psgemm 16384 16384 16384
fi
