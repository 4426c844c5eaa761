#!/bin/bash
# fill.sh VERSION ARCHIVE DIRECTORY: writes the port for vcpkg and the entry for the Bazel Central Registry to DIRECTORY, with
# the version and the hashes of ARCHIVE, the release's sgemm-VERSION.tar.gz. It prints the placeholders that a person has to fill.
set -euo pipefail
[[ $# == 3 ]] || { sed -n '2,3s/^# //p' "${BASH_SOURCE[0]}" >&2; exit 2; }
version=$1 archive=$2 out=$3
here=$(dirname "${BASH_SOURCE[0]}")

sha512=$(sha512sum <"$archive" | cut -d' ' -f1)
integrity=sha256-$(python3 -c 'import base64, hashlib, sys
print(base64.b64encode(hashlib.sha256(sys.stdin.buffer.read()).digest()).decode())' <"$archive")
write() { # write SOURCE TARGET
  mkdir -p "$(dirname "$out/$2")"
  sed -e "s|<version>|$version|" -e "s|<sha512 of the release>|$sha512|" -e "s|<integrity of the release>|$integrity|" \
    "$here/$1" >"$out/$2"
}
for file in portfile.cmake vcpkg.json usage; do write vcpkg/$file vcpkg/ports/sgemm/$file; done
module=bazel_registry/modules/sgemm
write bazel_registry/metadata.json $module/metadata.json
for file in source.json presubmit.yml; do write bazel_registry/$file "$module/$version/$file"; done
write ../MODULE.bazel "$module/$version/MODULE.bazel"

echo "to fill by hand in $out:"
(cd "$out" && grep -rnoE '<[a-z][a-z ]*>' vcpkg bazel_registry | sort)
