#!/bin/bash
# The headers under every installed compiler: no warnings, and no macro, declaration or symbol without the prefix.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

cd "$work"
strict=(-Wall -Wextra -Werror -pedantic -I"$root")
nvcc_strict=(--Werror all-warnings -Xcompiler=-Wall,-Wextra,-Werror -I"$root")

# ---- Sources ---------------------------------------------------------------------------------------------------------

echo '#include "sgemm.h"' > alone.c
printf '#include "sgemm.h"\n#include "sgemm.h"\n' > twice.c

# Names that a source may have before it includes the header: those of BLAS and CBLAS, and macros of system headers.
cat > crowded.c <<'C'
#include <complex.h>
#include <math.h>
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
typedef enum CBLAS_ORDER { CblasRowMajor = 101, CblasColMajor = 102 } CBLAS_ORDER;
typedef enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112, CblasConjTrans = 113 } CBLAS_TRANSPOSE;
void sgemm(void);
void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *, const float *);
void cblas_sgemm(CBLAS_ORDER, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, float, const float *, int);
#include "sgemm.h"
#include "sgemm.h"
C

# Calls every public function. SGEMM_STAGES expands to the calls of sgemm_run_<stage>().
cat > every.c <<'C'
#include "sgemm.h"

double every(const sgemm_device *device, FILE *file, const float *X, float *C, sgemm_stream stream);
double every(const sgemm_device *device, FILE *file, const float *X, float *C, sgemm_stream stream) {
  const sgemm_variant first = (sgemm_variant)0;
  const sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_T, 3, 4, 5);
  const sgemm_params col = sgemm_params_init_col(SGEMM_N, SGEMM_T, 3, 4, 5);
  const sgemm_metrics metrics = sgemm_metrics_of(&p, 1.0, 2.0, 3.0);
  sgemm_occupancy occupancy = sgemm_occupancy_of(device, 256, 128, 4096);
  const sgemm_reduction_params reduction = {SGEMM_REDUCTION_min, SGEMM_EACH_ROW, C, NULL, 0};
  sgemm_device current;
  sgemm_plan plan;
  sgemm_launch launch;
  uint32_t reason;
  int64_t bytes, shared, local;
  int registers;
  double sum = sgemm_flops(3, 4, 5) + sgemm_min_bytes(3, 4, 5, 1.0f) + sgemm_intensity(6.0, 2.0);
  int bits = sgemm_version() | sgemm_cuda_error(SGEMM_ERROR_CUDA) | sgemm_variant_get(first)->BM;
  sum += sgemm_ridge(6.0, 2.0) + sgemm_attainable(6.0, 2.0, 3.0);
  bits |= sgemm_bound_at(6.0, 2.0, 3.0);
  bits |= sgemm_metrics_print(file, sgemm_status_string(SGEMM_SUCCESS), &metrics);
  bits |= sgemm_variant_occupancy(first, SGEMM_N, SGEMM_N, device, &occupancy);
  bits |= sgemm_variant_threads(sgemm_variant_get(first), device);
  bits |= sgemm_check(&p) | sgemm_check(&col) | *sgemm_error_string(SGEMM_SUCCESS);
  bits |= sgemm_kernel_resources(first, SGEMM_N, SGEMM_N, &registers, &shared, &local);
  bits |= sgemm_compiled(first) | sgemm_tensor_compiled();
  bits |= *sgemm_epilogue_name(SGEMM_EPILOGUE_gelu) | (int)sgemm_epilogue_reads(SGEMM_EPILOGUE_gelu);
  bits |= sgemm_device_query(-1, &current);
  plan = sgemm_variant_plan(first, &p);
  bits |= sgemm_run_plan(&plan, &p, stream);
  plan = sgemm_select(&p, SGEMM_STAGE_ANY, &current);
  bits |= sgemm_workspace_query(&p, &bytes);
  sum += (double)(bytes + sgemm_plan_workspace(&plan, &p)) + sgemm_plan_estimate(&plan, &p, &current);
  bits |= sgemm_plan_describe(&plan, &p, &current, NULL, 0);
  bits |= sgemm_candidates(&p, &current, &plan, &sum, 1) | sgemm_tune(&p, 1, &plan, &sum, stream);
  bits |= sgemm_plan_launches(&plan, &p, &current, NULL, &launch, 1, &registers);
  bits |= sgemm_run_plan(&plan, &p, stream);
  bits |= sgemm_tensor_variant_get(plan.tensor) != NULL;
  sum += (double)sgemm_prepared_bytes(&p, 'A');
  bits |= sgemm_prepare(&p, 'A', C, stream);
  bits |= sgemm_guard_query(&p, &reason, stream);
  bits |= sgemm_check_reduction(&p, &reduction) | sgemm_run_reduction(&p, &reduction, stream);
  bits |= sgemm_reduction_workspace_query(&p, &reduction, &bytes);
  bits |= sgemm_release_workspaces();
  bits |= sgemm_run(&p, stream);
  bits |= sgemm_run_stage(SGEMM_STAGE_naive, &p, stream);
  bits |= sgemm_run_variant(first, &p, stream);
  bits |= sgemm_cblas(101, 111, 111, 3, 4, 5, 1.0f, X, 5, X, 4, 0.0f, C, 4, stream);
#define RUN(stage, ...) bits |= sgemm_run_##stage(&p, stream);
  SGEMM_STAGES(RUN)
  return sum + bits;
}
C

# The header of the host adapter, twice, and each of its functions.
cat > host.c <<'C'
#include "adapters/host/sgemm_host.h"
#include "adapters/host/sgemm_host.h"

int host(const sgemm_params *p, sgemm_host_result *result);
int host(const sgemm_params *p, sgemm_host_result *result) {
  const sgemm_host_options o = sgemm_host_options_init();
  const int status = sgemm_host_check(p, &o) | sgemm_host_run(p, &o, result);
  sgemm_host_release();
  return status | *sgemm_host_error_string(SGEMM_HOST_CANCELLED);
}
C

# A translation unit, to be compiled once as C and once as C++ or CUDA.
cat > unit.c <<'C'
#include "sgemm.h"
#ifdef __cplusplus
extern "C"
#endif
float UNIT(const float *A, const float *B, float *C);
float UNIT(const float *A, const float *B, float *C) {
  sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, 1, 1, 2);
  p.A = A;
  p.B = B;
  p.C = C;
  return sgemm_run(&p, NULL) == SGEMM_SUCCESS ? C[0] : -1.0f;
}
C
cat > main.c <<'C'
float from_c(const float *A, const float *B, float *C);
float from_cpp(const float *A, const float *B, float *C);
int main(void) {
  const float A[2] = {1, 2}, B[2] = {3, 4};
  float C[1];
  return from_c(A, B, C) != 11.0f || from_cpp(A, B, C) != 11.0f;
}
C

# ---- Compilers -------------------------------------------------------------------------------------------------------

# The quick tier leaves out the standards in the middle, one of nvcc's two for each source, and the sources of the header and
# nothing else: every.c includes it alone, crowded.c twice and without a call.
standards="c++14 c++20" nvcc_standards=c++17 sources="crowded every host"
if [ "$full" != 0 ]; then standards="c++14 c++17 c++20" nvcc_standards="c++17 c++20" sources="alone twice $sources"; fi
for source in $sources; do
  for cc in gcc clang; do
    with $cc check "$cc c11 $source" $cc -std=c11 "${strict[@]}" -c $source.c -o $source.o
  done
  for cxx in g++ clang++; do
    for std in $standards; do
      with $cxx check "$cxx $std $source" $cxx -x c++ -std=$std "${strict[@]}" -c $source.c -o $source.o
    done
  done
  for std in $nvcc_standards; do
    with nvcc check "nvcc $std $source" nvcc -x cu -std=$std "${nvcc_strict[@]}" -c $source.c -o $source.o
  done
done

# Some warnings come from the optimiser. Bazel's build has those of gcc, the full tier those of gcc and clang.
for cc in gcc clang; do
  with $cc check "$cc c11 implementation" $cc -std=c11 "${strict[@]}" -DSGEMM_CPU=1 -DSGEMM_STAGE=all \
    $([ "$full" = 0 ] && echo -O0 || echo -O2) -c "$root/cpu/sgemm.c" -o $cc.o
done
# ptxas warns if launch bounds exceed the threads of an SM: 1024 on sm_75, 1536 on sm_86, 2048 on sm_90. One run for all
# architectures compiles the host code once. C++20 has the most warnings. The full tier has those of nvcc's optimiser too.
architectures=(-gencode=arch=compute_75,code=sm_75 -gencode=arch=compute_86,code=sm_86 -gencode=arch=compute_90a,code=sm_90a)
implementation=(nvcc "${nvcc_strict[@]}" -DSGEMM_STAGE=tiled -c "$root/cuda/sgemm.cu" -o nvcc.o)
[ "$full" != 0 ] || implementation+=($fast)
with nvcc check "nvcc c++20 implementation" "${implementation[@]}" -std=c++20 "${architectures[@]}"
[ "$full" = 0 ] || with nvcc check "nvcc c++17 implementation" "${implementation[@]}" -std=c++17 "${architectures[@]}"

# ---- Linking ---------------------------------------------------------------------------------------------------------

units_in_cpp() {
  gcc -std=c11 -I"$root" -c main.c && gcc -std=c11 -DUNIT=from_c -I"$root" -c unit.c -o from_c.o &&
    g++ -x c++ -DUNIT=from_cpp -I"$root" -c unit.c -o from_cpp.o &&
    g++ main.o from_c.o from_cpp.o gcc.o -lpthread -lm -o units
}
units_in_cuda() {
  nvcc -x cu -DUNIT=from_cpp -I"$root" -c unit.c -o from_cu.o && nvcc main.o from_c.o from_cu.o nvcc.o -o units_cuda
}
# A header of the program may include sgemm.h before its source defines SGEMM_IMPLEMENTATION.
printf '#include "sgemm.h"\n#define SGEMM_IMPLEMENTATION\n#include "sgemm.h"\n' > late.c
implementation_after_header() { gcc -std=c11 -DSGEMM_HOST_ONLY=1 -I"$root" -c late.c && [[ $(nm late.o) == *' T sgemm_run_plan'* ]]; }
check "the implementation after the header" implementation_after_header
check "one implementation, units in C and C++: link" units_in_cpp
check "one implementation, units in C and C++: run" ./units
with nvcc check "one implementation, units in C and CUDA: link" units_in_cuda

# ---- Names -----------------------------------------------------------------------------------------------------------

# foreign OWN PREFIX: prints the names on stdin without the prefix, and the name OWN, which proves that stdin had names.
foreign() { awk -v own="$1" -v prefix="^($2)" '$1 == own || $1 !~ prefix'; }

printf '#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n' > without.c
cat without.c alone.c host.c | grep '^#' > with.c

# macros NAME COMPILER OPTION...: the headers define no macro without the prefix.
macros() {
  same "$1" "SGEMM_H" "$(comm -13 <("${@:2}" -dM -E without.c | sort) <("${@:2}" -I"$root" -dM -E with.c | sort) |
    awk '{ sub(/\(.*/, "", $2); print $2 }' | foreign SGEMM_H SGEMM_)"
}
for cc in gcc clang; do with $cc macros "$cc macros" $cc -std=c11; done
for cxx in g++ clang++; do with $cxx macros "$cxx macros" $cxx -x c++; done

# names LANGUAGE FILE: prints the names that a source declares at file scope, with types, tags and enumerators.
names() {
  clang -x "$1" -I"$root" -fsyntax-only -Xclang -ast-dump=json "$2" | python3 -c '
import json, sys

def walk(nodes):
    for node in nodes:
        if "name" in node:
            print(node["name"])
        if node["kind"] in ("EnumDecl", "LinkageSpecDecl"):
            walk(node.get("inner", []))

walk(json.load(sys.stdin)["inner"])' | sort -u
}
# declarations NAME LANGUAGE: the headers declare no name without the prefix, except the CUDA runtime's tag CUstream_st.
declarations() {
  same "$1" $'CUstream_st\nsgemm_run' "$(comm -13 <(names "$2" without.c) <(names "$2" with.c) |
    foreign sgemm_run 'sgemm_|SGEMM_')"
}
with clang declarations "declarations in C" c
with clang declarations "declarations in C++" c++

# symbols NAME OBJECT: an implementation has no global symbol without the prefix, except nvcc's host stubs of kernels.
symbols() {
  same "$1" sgemm_compiled "$(nm -g --defined-only "$2" | awk '$2 ~ /[TDBRC]/ { print $3 }' |
    foreign sgemm_compiled 'sgemm_|_Z[0-9]+__device_stub__Z[0-9]+sgemm_')"
}
with gcc symbols "symbols by gcc" gcc.o
with clang symbols "symbols by clang" clang.o
with nvcc symbols "symbols by nvcc" nvcc.o

# functions: prints the public functions in the text on stdin, each with its opening bracket.
functions() { grep -oE 'sgemm_[a-z][a-z0-9_]*\(' | sort -u; }
public=$(gcc -E -P -I"$root" alone.c | functions)
called=$(gcc -E -P -I"$root" every.c | sed '1,/^double every/d' | functions)
same "every public function is called" "$public" "$(comm -12 <(echo "$public") <(echo "$called"))"

# ---- Include cycles --------------------------------------------------------------------------------------------------

same "files in an include cycle" "" "$(
  python3 - "$root" <<'PYTHON'
import pathlib, re, sys

root = pathlib.Path(sys.argv[1])
files = ["sgemm.h", "sgemm_kernels.cuh"] + [str(path.relative_to(root)) for folder in ("sgemm", "cpu")
                                            for path in sorted((root / folder).rglob("*.*h"))]
graph = {}
for file in files:
    text = re.sub(r"/\*.*?\*/", "", (root / file).read_text(), flags=re.S)
    names = re.findall(r'#\s*include "([^"]+)"', text)
    beside = {name: str(pathlib.PurePath(file).parent / name) for name in names}
    graph[file] = [beside[name] if beside[name] in files else name for name in names]


def reached(file, seen):
    for name in graph[file]:
        if name not in seen:
            seen.add(name)
            reached(name, seen)
    return seen


print(" ".join(file for file in files if file in reached(file, set())), end="")
PYTHON
)"

finish
