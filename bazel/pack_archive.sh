#!/bin/bash
# pack_archive.sh ARCHIVE RUN FILE...: packs tests (*_test_bin), other programs and their tables (*.csv), the shared libraries of the
# programs, and RUN as run.sh, which starts them on a GPU host without Bazel and Criterion. The host provides the C library, the
# driver and cuBLAS.
set -euo pipefail

archive=$1 run=$2; shift 2
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir "$root"/{bin,lib,tests}
cp -L "$run" "$root/run.sh"
programs=()
for file; do
  name=$(basename "$file")
  case $name in
    *_bin) cp -L "$file" "$root/tests/${name%_bin}" ;;
    *) cp -L "$file" "$root/bin/$name" ;;
  esac
  [[ $name == *.csv ]] || programs+=("$file")
done
ldd "${programs[@]}" |
  awk '$2 == "=>" && $3 ~ "^/" && $1 !~ /^(lib(c|m|dl|rt|pthread|resolv|cuda|cublas|cublasLt)|ld-linux.*)\.so/ { print $3 }' |
  sort -u | xargs -r cp -Lt "$root/lib"
chmod -R u+w "$root"
tar -C "$root" --sort=name --owner=0 --group=0 --mtime=@0 -cf - . | gzip -n >"$archive"
