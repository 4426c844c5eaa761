#!/bin/bash
# pack_gpu_tests.sh ARCHIVE RUN PROGRAM...: packs the tests (*_test_bin) and other programs, their shared libraries and the script
# RUN that runs the tests, for a GPU host without Bazel and Criterion. The host provides the C library, the driver and cuBLAS.
set -euo pipefail

archive=$1 run=$2; shift 2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir "$root"/{bin,lib,tests}
cp -L "$run" "$root/run.sh"
for program; do
  name=$(basename "$program")
  case $name in
    *_bin) cp -L "$program" "$root/tests/${name%_bin}" ;;
    *) cp -L "$program" "$root/bin/$name" ;;
  esac
done
ldd "$@" | awk '$2 == "=>" && $3 ~ "^/" && $1 !~ /^(lib(c|m|dl|rt|pthread|resolv|cuda|cublas|cublasLt)|ld-linux.*)\.so/ { print $3 }' |
  sort -u | xargs -r cp -Lt "$root/lib"
chmod -R u+w "$root"
tar -C "$root" --sort=name --owner=0 --group=0 --mtime=@0 -cf - . | gzip -n >"$archive"
