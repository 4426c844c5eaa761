#!/bin/bash
# pack_psgemm.sh ARCHIVE PSGEMM ADAPTER RUN: packs the example psgemm, the adapter, the script RUN, Open MPI with its mpirun and
# plugins, ScaLAPACK and OpenBLAS, for a GPU host without them. The host provides the C library and the driver.
set -euo pipefail

command -v orted > /dev/null || { echo "pack_psgemm.sh: needs Open MPI 4, with its program orted" >&2; exit 1; }
archive=$1 psgemm=$2 adapter=$3 run=$4
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/mpi/{bin,lib,share}
cp -L "$psgemm" "$root/psgemm"
cp -L "$adapter" "$root/libsgemm_blas.so"
cp -L "$run" "$root/run.sh"
cp -L "$(command -v orterun)" "$root/mpi/bin/mpirun"
cp -L "$(command -v orted)" "$root/mpi/bin/orted"
cp -L "$(command -v mpirun)" "$root/mpi/bin/orterun"
libraries=$(dirname "$(ldd "$psgemm" | awk '$1 ~ /^libmpi\.so/ { print $3 }')")
plugins=$(dirname "$(find -L "$libraries" -name mca_pml_ob1.so -print -quit)")
mkdir "$root/mpi/lib/openmpi"
# Processes of one host: shared memory, and no network. The plugins of networks need many libraries.
for plugin in "$plugins"/mca_*.so; do
  case $(basename "$plugin") in
    *ofi* | *ucx* | *psm* | *usnic* | *openib* | *verbs* | *portals* | *monitoring* | *ompio* | *romio* | mca_spml* | mca_scoll* | \
      mca_sshmem* | mca_memheap* | mca_atomic* | mca_io_* | mca_fbtl* | mca_fcoll* | mca_fs_* | mca_sharedfp* | mca_plm_tm* | \
      mca_ras_tm* | mca_ess_tm*) ;;
    *) cp -L "$plugin" "$root/mpi/lib/openmpi" ;;
  esac
done
mkdir "$root/mpi/share/openmpi"
cp -L /usr/share/openmpi/*.txt "$root/mpi/share/openmpi"
find "$root" -type f \( -perm -u+x -o -name '*.so' \) ! -name '*.sh' ! -name libsgemm_blas.so -exec ldd {} + |
  awk '$2 == "=>" && $3 ~ "^/" && $1 !~ /^(lib(c|m|dl|rt|pthread|resolv|util)|ld-linux.*)\.so/ { print $3 }' |
  xargs -r realpath -s | sort -u | awk -F/ '!seen[$NF]++' | xargs -r cp -Lt "$root/mpi/lib"
chmod -R u+w "$root"
tar -C "$root" --sort=name --owner=0 --group=0 --mtime=@0 -cf - . | gzip -n >"$archive"
