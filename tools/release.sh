#!/bin/bash
# release.sh [DIRECTORY]: tests the committed tree, makes the tag vVERSION, and writes the single-file header sgemm-VERSION.h, the
# sources sgemm-VERSION.tar.gz and the entries for package registries, packaging/, to DIRECTORY (default: dist). VERSION is that of
# sgemm.h. Stops if the tree has uncommitted changes, if MODULE.bazel or CHANGELOG.md has another version, or if the changelog has
# no date for it. Pushes nothing.
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/.."
die() { echo "release.sh: $*" >&2; exit 2; }

[[ $# -le 1 && ${1-} != -* ]] || { sed -n '2,5s/^# //p' "tools/release.sh" >&2; exit 2; }
version=$(printf '#include "sgemm.h"\nVERSION SGEMM_VERSION_STRING\n' | gcc -E -P -I. - | sed -n 's/^VERSION //p' | tr -d '" ')
[[ -z $(git status --porcelain) ]] || die "the tree has uncommitted changes"
grep -q "version = \"$version\"" MODULE.bazel || die "MODULE.bazel does not name $version"
grep -qE "^## $version - [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md || die "CHANGELOG.md has no date for $version"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || die "v$version exists"

./bazelw test //...
./bazelw build //:single_header
out=${1:-dist}
mkdir -p "$out"
cp -L bazel-bin/single_header/sgemm.h "$out/sgemm-$version.h"
chmod u+w "$out/sgemm-$version.h"
git archive --prefix="sgemm-$version/" -o "$out/sgemm-$version.tar.gz" HEAD
packaging/fill.sh "$version" "$out/sgemm-$version.tar.gz" "$out/packaging"
git tag -a "v$version" -m "sgemm $version"
echo "v$version: $out/sgemm-$version.h, $out/sgemm-$version.tar.gz; next: git push origin v$version, and attach both files"
