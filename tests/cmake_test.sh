#!/bin/bash
# The CMake build: targets, options, architectures, the installed package and pkg-config files. The project in
# examples/consumer_cmake uses each of them; it runs on the CPU model, and the program for a GPU is linked. Builds of the
# stage tiled alone keep the test short. In the quick tier device code is compiled without optimisation. The recipe for
# Conan and the files in packaging/ are checked too.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

for program in cmake ninja; do
  if ! command -v $program > /dev/null; then
    skip "CMake" "no $program"
    finish
  fi
done

# A copy without links, because CMake installs a link as a link. nvcc needs a directory for its temporary files.
tree=$work/tree
mkdir "$tree" "$work/tmp"
export TMPDIR=$work/tmp
(cd "$root" && cp -rL CMakeLists.txt LICENSE MODULE.bazel cmake conanfile.py cpu cuda examples packaging sgemm sgemm.h \
  sgemm_kernels.cuh "$tree")
cd "$work"
version=$(sed -nE 's/^#define SGEMM_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)$/\2/p' "$tree/sgemm.h" | paste -sd.)
product=$'4 5\n10 11'

# CMake takes the CUDA toolkit that cases.sh finds.
unset CUDAARCHS CUDAFLAGS
if [ -n "$cuda" ]; then export CUDACXX=$cuda/bin/nvcc CUDAToolkit_ROOT=$cuda; fi
# The first build finds nvcc and has no build type. In the quick tier the later ones are given nvcc, which CMake then tries
# once and not twice, and have the build type Debug, which compiles host code without optimisation.
debug=() given=()
if [ "$full" = 0 ]; then
  debug=(-DCMAKE_BUILD_TYPE=Debug)
  if [ -n "$cuda" ]; then export CUDAFLAGS=$fast && given=(-DCMAKE_CUDA_COMPILER="$cuda/bin/nvcc"); fi
fi
configure() { cmake -G Ninja -DSGEMM_STAGE=tiled "$@"; }
build() { configure "${@:2}" -B "$1" && ninja -C "$1"; }
without=(-DCMAKE_CUDA_COMPILER=NOTFOUND)

# cuda NAME CASE...: runs a case that needs the CUDA toolkit.
cuda() { if [ -n "$cuda" ]; then "${@:2}"; else skip "$1" "no CUDA toolkit"; fi; }

# prints NAME TEXT COMMAND...: the command succeeds and prints TEXT.
prints() { check "$1" succeeds_with "$2" "${@:3}"; }
succeeds_with() {
  "${@:2}" > said 2>&1 || { cat said && return 1; }
  tr -s ' \n' ' ' < said | grep -F -- "$1" || { cat said && return 1; }
}

# refused NAME TEXT COMMAND...: the command fails and says TEXT.
refused() { refuse "$1" "$2" joined "${@:3}"; }
# joined COMMAND...: prints the output of a command, and again as one line, because CMake breaks the lines of its messages.
joined() {
  local status=0
  "$@" > said 2>&1 || status=$?
  cat said && tr -s ' \n' ' ' < said
  return $status
}

# ---- The library and its installation --------------------------------------------------------------------------------

# The prefix lies below DESTDIR, so the tree is not where CMake was told to install it. Its libraries are in a subfolder of
# lib/, as in Debian.
prefix=$work/dest/opt/sgemm
lib=lib/$(gcc -print-multiarch)
CUDAARCHS=86 check "build" build library -S "$tree" -DCMAKE_INSTALL_PREFIX=/opt/sgemm -DCMAKE_INSTALL_LIBDIR="$lib" \
  -DSGEMM_CUDA_ARCHITECTURES=90a-real
check "test on the CPU model" ctest --test-dir library --no-tests=error
check "install" env DESTDIR="$work/dest" cmake --install library

files() { (cd "$1" && find "${@:2}" -type f | sort); }
same "installed headers" "$(files "$tree" ./sgemm.h ./sgemm_kernels.cuh ./sgemm)" "$(files "$prefix/include" .)"
same "installed sources" "$(files "$tree" ./cpu ./cuda)" "$(files "$prefix/share/sgemm" .)"
package=$prefix/$lib/cmake/sgemm
same "version of the package" "$version" \
  "$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")$/\1/p' "$package/sgemmConfigVersion.cmake")"
same "paths of the build in the installed files" "" \
  "$(grep -rlF "$work" "$prefix" --include='*.cmake' --include='*.pc' || true)"

# shared ARCHIVE OPTION...: links an archive as a shared library.
shared() { gcc -shared -Wl,--whole-archive "$prefix/$lib/$1" -Wl,--no-whole-archive "${@:2}" -o shared.so; }
check "sgemm::cpu in a shared library" shared libsgemm_cpu.a -lpthread -lm
cuda "sgemm::cuda in a shared library" check "sgemm::cuda in a shared library" \
  shared libsgemm_cuda.a -L"$cuda/lib64" -lcudart_static -lstdc++ -lpthread -ldl -lrt -lm

# ---- Consumers -------------------------------------------------------------------------------------------------------

# consumer NAME DIRECTORY OPTION...: builds the example and runs it on the CPU model.
consumer() {
  check "$1: build" build "$2" -S "$tree/examples/consumer_cmake" "${@:3}"
  same "$1: run" "$product" "$("$2/multiply_cpu" 2>&1)"
  cuda "$1: link with CUDA" check "$1: link with CUDA" linked "$2/multiply_cuda"
}
# linked PROGRAM: the program has the kernels of the stage tiled.
linked() { nm "$1" > symbols && grep -q 'T sgemm_tiled_32x32x32_1x1_nn$' symbols; }

consumer "find_package" package -DCMAKE_PREFIX_PATH="$prefix"
consumer "FetchContent" fetched -DFROM_SOURCE=ON -DCMAKE_CUDA_ARCHITECTURES=90 "${debug[@]}" "${given[@]}"
same "FetchContent: targets of the library's own" "" \
  "$(ninja -C fetched -t targets all | grep -E 'quickstart|sgemmConfig' || true)"

# by_pkg_config PACKAGE PROGRAM: compiles a program with gcc alone.
by_pkg_config() {
  local options
  options=$(PKG_CONFIG_PATH=$prefix/$lib/pkgconfig pkg-config --cflags --libs "$1") || return
  # shellcheck disable=SC2086
  gcc -std=c11 -Wall -Wextra -Werror "$tree/examples/consumer_cmake/$2.c" $options -o "$2"
}
if command -v pkg-config > /dev/null; then
  check "pkg-config: build" by_pkg_config sgemm-cpu multiply_cpu
  same "pkg-config: run" "$product" "$(./multiply_cpu 2>&1)"
  same "pkg-config: version" "$version" "$(PKG_CONFIG_PATH=$prefix/$lib/pkgconfig pkg-config --modversion sgemm-cpu)"
  cuda "pkg-config: link with CUDA" check "pkg-config: link with CUDA" by_pkg_config sgemm multiply_cuda
else
  skip "pkg-config" "no pkg-config"
fi

# The installed sources are enough to compile the implementation.
own() {
  gcc -std=c11 -DSGEMM_CPU=1 -DSGEMM_STAGE=tiled -I"$prefix/include" -I"$prefix/share/sgemm" \
    "$tree/examples/consumer_cmake/multiply_cpu.c" "$prefix/share/sgemm/cpu/sgemm.c" -lpthread -lm -o own
}
check "implementation compiled from the installed sources" own

# finds VERSION COMPONENT [PREFIX]: configures a project that asks for a version and a component.
mkdir asks
cat > asks/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(asks LANGUAGES C)
find_package(sgemm ${VERSION} REQUIRED COMPONENTS ${COMPONENT})
CMAKE
finds() {
  cmake -S asks -B asks/build -U sgemm_DIR -DVERSION="$1" -DCOMPONENT="$2" -DCMAKE_PREFIX_PATH="${3:-$prefix}"
}
IFS=. read -r major minor _ <<< "$version"
check "find_package $version" finds "$version" cpu
for other in "$major.$((minor - 1))" "$major.$((minor + 1))" "$((major + 1)).0"; do
  refused "find_package $other" "compatible with requested version \"$other\"" finds "$other" cpu
done
cuda "component cuda" check "component cuda" finds "$version" cuda

# ---- Without CUDA ----------------------------------------------------------------------------------------------------

prints "no nvcc: configure" "there is no target sgemm::cuda: CMake finds no working nvcc" \
  configure "${without[@]}" "${debug[@]}" -S "$tree" -B no_cuda
check "no nvcc: build" ninja -C no_cuda
check "no nvcc: install" cmake --install no_cuda --prefix "$work/no_cuda_prefix"
check "no nvcc: the component cpu" finds "$version" cpu "$work/no_cuda_prefix"
refused "no nvcc: the component cuda" "there is no target sgemm::cuda: this sgemm was built without CUDA" \
  finds "$version" cuda "$work/no_cuda_prefix"
same "no nvcc: pkg-config files" "sgemm-cpu.pc" "$(find no_cuda_prefix -name '*.pc' -printf '%f\n')"
refused "no nvcc: SGEMM_CUDA=ON" "SGEMM_CUDA is ON, but CMake finds no working nvcc" \
  configure "${without[@]}" -DSGEMM_CUDA=ON -S "$tree" -B refused
mkdir links
cat > links/CMakeLists.txt <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(links LANGUAGES C)
add_subdirectory("$tree" sgemm)
add_executable(links "$tree/examples/consumer_cmake/multiply_cuda.c")
target_link_libraries(links sgemm::cuda)
CMAKE
refused "no nvcc: link with sgemm::cuda" "sgemm::cuda but the target was not found" \
  configure "${without[@]}" -S links -B refused_links

# ---- Stages and parts ------------------------------------------------------------------------------------------------

refused "SGEMM_STAGE of no stage" "SGEMM_STAGE=tilde: no such stage; there are all, naive, coalesced, tiled," \
  configure "${without[@]}" -DSGEMM_STAGE=tilde -S "$tree" -B refused

# The stages with variants in a production build, from the table as the compiler sees it.
cat > production.c <<'TABLE'
#include "sgemm/variants.h"
#define ROW_OF(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, blocks, production, reason) ROW stage production
SGEMM_VARIANTS(ROW_OF)
TABLE
production=$(gcc -E -P -I"$tree" production.c | grep -oE 'ROW [a-z0-9]+ (1|75|89)\b' | cut -d' ' -f2)

# parts OPTION...: prints the parts that the library is compiled in.
parts() {
  cmake "$@" library > said && ninja -C library -t commands sgemm_cuda | sed -nE 's|.*/([a-z0-9]+)\.cu -o .*|\1|p' | sort
}
sorted() { printf '%s\n' "$@" | sort -u; }
# shellcheck disable=SC2086
if [ -n "$cuda" ]; then
  same "parts of a stage" "$(sorted host tiled)" "$(parts -DSGEMM_STAGE=tiled)"
  same "parts of production" "$(sorted host tensor $production)" "$(parts -DSGEMM_STAGE=)"
  same "SGEMM_PARTS=OFF" "sgemm" "$(parts -DSGEMM_PARTS=OFF)"
else
  skip "parts" "no CUDA toolkit"
fi

# ---- Architectures ---------------------------------------------------------------------------------------------------

# nvcc 12 lists sm_90a, and architectures before sm_75.
cat > nvcc_12 <<'NVCC'
#!/bin/sh
printf '%s\n' sm_50 sm_52 sm_60 sm_70 sm_72 sm_75 sm_80 sm_86 sm_89 sm_90 sm_90a sm_100 sm_100a sm_120 sm_120a
NVCC
chmod +x nvcc_12
# mapped WANTED OPTION...: prints what CMAKE_CUDA_ARCHITECTURES=WANTED becomes.
cat > map.cmake <<'CMAKE'
include(${TREE}/cmake/architectures.cmake)
set(SGEMM_CUDA_ARCHITECTURES "${OWN}")
sgemm_architectures(out)
execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${out}")
CMAKE
mapped() {
  cmake -DTREE="$tree" -DCMAKE_CUDA_COMPILER="$work/nvcc_12" -DCMAKE_CUDA_ARCHITECTURES="$1" "${@:2}" -P map.cmake \
    2> /dev/null
}
default="80-real;90a-real;90-virtual"
same "90" "90a-real;90-virtual" "$(mapped 90)"
same "90-real" "90a-real" "$(mapped 90-real)"
same "90-virtual" "90a-real;90-virtual" "$(mapped 90-virtual)"
same "other architectures" "75;80-real;90a;100-virtual" "$(mapped "75;80-real;90a;100-virtual")"
same "90 among others" "86;90a-real;90-virtual;120" "$(mapped "86;90;90a-real;120")"
same "all-major" "75-real;80-real;90a-real;100-real;120" "$(mapped all-major)"
same "all" "75-real;80-real;86-real;89-real;90a-real;100-real;120" "$(mapped all)"
same "native on Hopper" "90a-real" "$(mapped native -DCMAKE_CUDA_ARCHITECTURES_NATIVE=90-real)"
same "native without a GPU" "$default" \
  "$(mapped native -DCMAKE_CUDA_ARCHITECTURES_NATIVE="No CUDA devices found.-real")"
same "SGEMM_CUDA_ARCHITECTURES" "90a-real" "$(mapped 75 -DOWN=90-real)"
same "OFF" "OFF" "$(mapped OFF)"

# A parent that enables CUDA and names no architecture. The second run of CMake has the cache of the first.
mkdir parent
cat > parent/CMakeLists.txt <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES C CUDA)
add_subdirectory("$tree" sgemm)
CMAKE
targets() { ninja -C "$1" -t commands | grep -oE 'code=\[[^]]*\]' | sort -u | tr '\n' ' '; }
architectures() {
  same "compiled for 90" "code=[compute_90] code=[sm_90a] " "$(targets fetched)"
  prints "no architecture is set: the default" "compiled for $default" configure -S parent -B parent/build
  prints "no architecture is set: the default again" "compiled for $default" configure -S parent -B parent/build
  same "SGEMM_CUDA_ARCHITECTURES and CUDAARCHS" "code=[sm_90a] " "$(targets library)"
  prints "CUDAARCHS of the first run" "compiled for 86" cmake -U SGEMM_CUDA_ARCHITECTURES library
  if [ "$full" != 0 ]; then
    prints "CUDAARCHS" "compiled for 86;90a-real" env CUDAARCHS="86;90-real" cmake -G Ninja -S parent -B parent/environment
    prints "CUDAARCHS again" "compiled for 86;90a-real" cmake parent/environment
  fi
}
cuda "architectures of the build" architectures

# ---- Packages --------------------------------------------------------------------------------------------------------

check "conanfile.py" python3 -m py_compile "$tree/conanfile.py" "$tree/examples/consumer_cmake/conanfile.py"
conan_create() {
  export CONAN_HOME=$work/conan
  conan profile detect && (cd "$tree" && conan create . --no-remote -o '&:cuda=False' -o '&:stage=tiled')
}
with conan check "conan create" conan_create

echo release > release.tar.gz
check "packaging/fill.sh" "$tree/packaging/fill.sh" "$version" release.tar.gz filled
entry=filled/bazel_registry/modules/sgemm/$version
port=filled/vcpkg/ports/sgemm
same "files of the registries" \
  "$(sorted MODULE.bazel presubmit.yml source.json metadata.json portfile.cmake usage vcpkg.json)" \
  "$(find filled -type f -printf '%f\n' | sort)"
check "JSON" python3 -c 'import json, sys
for path in sys.argv[1:]: json.load(open(path))' "$entry/source.json" "$entry/../metadata.json" $port/vcpkg.json
check "version of the port" grep -qF "\"version\": \"$version\"" $port/vcpkg.json
check "SHA512 of the port" grep -qF "SHA512 $(sha512sum < release.tar.gz | cut -d' ' -f1))" $port/portfile.cmake
# The hash of the text "release" and a line feed.
check "integrity of the Bazel module" grep -qF '"sha256-OTPjJ0tj3AH9KG1tk5piaGfIOkYD/ENH4Pi4hW8bmP0="' "$entry/source.json"

finish
