#!/bin/bash
# adapter_cublas_test.sh ADAPTER [CUDA_ADAPTER]: the cuBLAS adapter under programs that call cuBLAS. cuBLAS is the
# stand-in of fake_cublas.c, which records calls. ADAPTER is linked with the CPU model, CUDA_ADAPTER with the kernels.
set -euo pipefail
adapter=$(realpath "$1") cuda_adapter=${2:+$(realpath "$2")}
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

cd "$work"
strict=(-Wall -Wextra -Werror -I"$root")
sources=("$root"/adapters/{common/environment,cublas/{adapter,lt,real,report,settings,times,tuned}}.c)

# ---- Programs --------------------------------------------------------------------------------------------------------

# NVIDIA's headers as far as the programs need them.
mkdir include
cat > include/cublas_v2.h <<'C'
#define CUBLAS_V2_H_
#include "adapters/cublas/cublas_abi.h"
#define cublasSgemm cublasSgemm_v2
#ifdef __cplusplus
static inline cublasStatus_t cublasMigrateComputeType(cublasHandle_t, cudaDataType, cublasComputeType_t *type) {
  *type = CUBLAS_COMPUTE_32F;
  return CUBLAS_STATUS_SUCCESS;
}
#endif
C
echo '#define CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA 1' > include/cublasLt.h

# fakes VERSION: the stand-ins in the folder VERSION, with the names and the versions of symbols of the real libraries.
fakes() {
  local shared=(gcc -std=c11 "${strict[@]}" -fPIC -shared "$root/tests/fake_cublas.c") cublas=libcublas.so.$1 \
    lt=libcublasLt.so.$1
  mkdir "$1"
  echo "$cublas { global: cublas*; local: *; };" > "$1/cublas.lds"
  echo "$lt { global: cublasLt*; fake*; local: *; };" > "$1/lt.lds"
  "${shared[@]}" -DFAKE_LT=1 -Wl,-soname,$lt,--version-script,"$1/lt.lds" -o "$1/$lt"
  "${shared[@]}" "$1/$lt" -Wl,-soname,$cublas,--version-script,"$1/cublas.lds",-rpath,'$ORIGIN' -o "$1/$cublas"
}
# client OUTPUT OPTION...: the program.
client() {
  gcc -std=c11 "${strict[@]}" -I"$root/tests" "${@:2}" "$root/tests/adapter_cublas_test.c" $linked_first \
    $version/libcublas.so.$version $version/libcublasLt.so.$version $linked_last -Wl,-rpath,"$work/$version" \
    -lopenblas -ldl -lpthread -lm -o "$1"
}
linked_first='' linked_last='' version=13
for v in 12 13 14; do check "stand-ins of cuBLAS $v" fakes $v; done
check "program" client program -Iinclude
same "it asks for the versioned symbol" cublasSgemm_v2@libcublas.so.13 \
  "$(nm -D program | awk '$2 ~ /^cublasSgemm_v2@/ { print $2 }')"

# ---- Preloaded -------------------------------------------------------------------------------------------------------

preloaded() { LD_PRELOAD=$adapter "$@"; }
for case in products vectors bias handles arguments types lt_attributes lt_layouts lt_biases nested threads; do
  check "preloaded: $case" preloaded ./program $case
done
check "preloaded: off" env SGEMM_CUBLAS_MODE=off LD_PRELOAD="$adapter" ./program off
for case in products bias threads; do
  check "preloaded: $case, tuned" env SGEMM_CUBLAS_TUNE=1 LD_PRELOAD="$adapter" ./program $case
done
for mode in tensor full; do
  for case in products bias; do
    check "preloaded: $case, $mode" env SGEMM_CUBLAS_MODE=$mode LD_PRELOAD="$adapter" ./program $case
  done
done
for case in products bias; do
  check "preloaded: $case, measured" env SGEMM_CUBLAS_TIMES=1 SGEMM_CUBLAS_REPORT=measured LD_PRELOAD="$adapter" \
    ./program $case
done
check "TF32 is forbidden" env NVIDIA_TF32_OVERRIDE=0 LD_PRELOAD="$adapter" ./program no_tf32
for case in handles types lt_attributes; do
  check "TF32 is not forbidden: $case" env NVIDIA_TF32_OVERRIDE=1 LD_PRELOAD="$adapter" ./program $case
done
refuse "without the adapter the stand-in gets the calls" "calls of cuBLAS" ./program products

# As Python does it: the program has no cuBLAS, and loads a module that has, with RTLD_LOCAL.
check "module" client module.so -Iinclude -shared -fPIC -Dmain=main_of_module
check "host" gcc -std=c11 "${strict[@]}" "$root/tests/module_host.c" -ldl -o host
for case in products handles lt_attributes; do check "module of a host: $case" preloaded ./host $case; done

# The adapter calls the version of cuBLAS that the program has loaded, also if it does not know its number.
version=12
check "module with cuBLAS 12" client module.so -Iinclude -shared -fPIC -Dmain=main_of_module
for case in handles lt_attributes; do
  check "module with cuBLAS 12, where 13 can be loaded: $case" \
    env LD_LIBRARY_PATH="$work/13" LD_PRELOAD="$adapter" ./host $case
done
version=14
check "program with cuBLAS 14" client program14 -Iinclude
for case in handles lt_attributes; do
  check "program with cuBLAS 14, where 13 can be loaded: $case" \
    env LD_LIBRARY_PATH="$work/13" LD_PRELOAD="$adapter" ./program14 $case
done
version=13

# ---- Linked, and redirected ------------------------------------------------------------------------------------------

mkdir linked
cp "$adapter" linked/libsgemm_cublas.so
linked_first="-Llinked -lsgemm_cublas -Wl,-rpath,$work/linked"
check "linked before cuBLAS: build" client before -Iinclude
for case in products handles lt_attributes; do check "linked before cuBLAS: $case" ./before $case; done
linked_last=$linked_first linked_first=''
check "redirected by the header: build" client redirected -Iinclude -DREDIRECT
for case in products vectors handles types lt_attributes; do
  check "redirected by the header: $case" ./redirected $case
done
linked_last=''

cat > use.c <<'C'
#include <cublas_v2.h>
#ifdef WITH_LT
#include <cublasLt.h>
#endif
#include "adapters/cublas/sgemm_cublas.h"
int use(cublasHandle_t h, const float *A, float *C);
int use(cublasHandle_t h, const float *A, float *C) {
  const float x = 1;
  int status = cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_T, 2, 3, 4, &x, A, 2, A, 3, &x, C, 2);
  status |= cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &x, A, CUDA_R_32F, 1, A, CUDA_R_32F, 1, &x, C,
                         CUDA_R_32F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
#ifdef __cplusplus /* the old type of the compute type */
  status |= cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &x, A, CUDA_R_32F, 1, A, CUDA_R_32F, 1, &x, C,
                         CUDA_R_32F, 1, CUDA_R_32F, CUBLAS_GEMM_DEFAULT);
  status |= cublasGemmStridedBatchedEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &x, A, CUDA_R_32F, 1, 1, A, CUDA_R_32F, 1,
                                       1, &x, C, CUDA_R_32F, 1, 1, 2, CUDA_R_32F, CUBLAS_GEMM_DEFAULT);
#endif
  return status;
}
C
# header NAME INCLUDE: the header after these headers of cuBLAS, in C11 and C++14. It leaves no name of a product.
header() {
  local language
  for language in "c -std=c11" "c++ -std=c++14"; do
    check "sgemm_cublas.h, $1, ${language% *}" gcc -x $language "${strict[@]}" -I"$2" -DWITH_LT -c use.c -o use.o
    same "sgemm_cublas.h, $1, ${language% *}: names" "" "$(nm use.o | awk '/ U cublas/ && !/cublasGetMathMode/')"
    check "sgemm_cublas.h, $1, ${language% *}, no cublasLt.h" gcc -x $language "${strict[@]}" -I"$2" -c use.c -o use.o
  done
}
header "stand-in headers" include
echo '#include "adapters/cublas/sgemm_cublas.h"' > alone.c
refuse "sgemm_cublas.h first" "include cublas_v2.h first" gcc -std=c11 "${strict[@]}" -c alone.c

# ---- The example of docs/from_cublas.md ------------------------------------------------------------------------------

# Prints the block of C behind a marker.
block() {
  awk -v marker="<!-- $1 -->" '
    $0 == marker { there = 1 }
    code && /^```$/ { exit }
    code
    there && /^```c$/ { code = 1 }' "$root/docs/from_cublas.md"
}
block before > example_before.c
block after > example_after.c
cat > example.c <<'C'
#include <cublas_v2.h>
#include "fake_cublas.h"
#include "sgemm.h"
#include <string.h>
int gradient_by_cublas(cublasHandle_t, const float *, const float *, float *, int, int, int);
int scores_by_cublas(cublasHandle_t, const float *, const float *, float *, int, int, int, int, float);
int gradient(const float *, const float *, float *, int, int, int, sgemm_stream);
int gradient_by_cblas(const float *, const float *, float *, int, int, int, sgemm_stream);
int scores(const float *, const float *, float *, int, int, int, int, float, sgemm_stream);
int main(void) {
  static float A[60], B[60], C[3][60];
  fake_handle h = {NULL, 0, 0, 0, 0};
  cublasMath_t math;
  int i, done = cublasGetMathMode((cublasHandle_t)&h, &math) == CUBLAS_STATUS_SUCCESS;
  for (i = 0; i < 60; i++)
    A[i] = (float)(i * i % 11), B[i] = (float)(i * i % 7), C[0][i] = C[1][i] = C[2][i] = (float)i;
  done &= gradient_by_cublas((cublasHandle_t)&h, A, B, C[0], 3, 4, 5);
  done &= gradient(A, B, C[1], 3, 4, 5, NULL) & gradient_by_cblas(A, B, C[2], 3, 4, 5, NULL);
  done &= C[0][0] != 0 && memcmp(C[0], C[1], sizeof C[0]) == 0 && memcmp(C[0], C[2], sizeof C[0]) == 0;
  done &= scores_by_cublas((cublasHandle_t)&h, A, B, C[0], 3, 4, 5, 3, 0.5f);
  done &= scores(A, B, C[1], 3, 4, 5, 3, 0.5f, NULL) & (C[0][35] != C[2][35]);
  return !done || memcmp(C[0], C[1], sizeof C[0]) != 0;
}
C
example() {
  gcc -std=c11 "${strict[@]}" -Iinclude -I"$root/tests" -DSGEMM_CPU=1 -DSGEMM_STAGE=naive example.c example_before.c \
    example_after.c "$root/cpu/sgemm.c" 13/libcublas.so.13 13/libcublasLt.so.13 -Wl,-rpath,"$work/13" -lpthread -lm \
    -o example
}
check "docs/from_cublas.md: the example compiles" example
check "docs/from_cublas.md: both ways have equal results" preloaded ./example

# ---- The headers of the toolkit --------------------------------------------------------------------------------------

# Prints each enumerator of cublas_abi.h with its value.
enumerators() {
  echo '#include "adapters/cublas/cublas_abi.h"'
  printf '#include <stdio.h>\nint main(void) {\n'
  grep -oE '\bCU(BLAS|BLASLT|DA)_[A-Z0-9_]+ = ' "$root/adapters/cublas/cublas_abi.h" |
    sed 's/\(.*\) = /  printf("\1 %d\\n", (int)\1);/'
  echo '  return 0; }'
}
if [ -n "$cuda" ] && [ -e "$cuda/include/cublas_v2.h" ]; then
  enumerators > values.c
  toolkit=(-DSGEMM_CUBLAS_TOOLKIT=1 -I"$cuda/include")
  values() { gcc -std=c11 -I"$root" "$@" values.c -o values && ./values; }
  own=$(values)
  same "values of the enumerators" "$own" "$(values "${toolkit[@]}")"
  check "there are enumerators" test "$(wc -l <<< "$own")" -gt 40
  for source in "${sources[@]}"; do
    check "$(basename "$source") with the toolkit's declarations" \
      gcc -std=c11 "${strict[@]}" "${toolkit[@]}" -c "$source" -o toolkit.o
  done
  header "toolkit's headers" "$cuda/include"
  check "program with the toolkit's headers: build" client toolkit_program -I"$cuda/include"
  for case in products types lt_attributes; do
    check "program with the toolkit's headers: $case" preloaded ./toolkit_program $case
  done
else
  skip "the toolkit's headers" "no CUDA toolkit"
fi

# ---- Over a stand-in of this library ---------------------------------------------------------------------------------

stub() {
  gcc -std=c11 "${strict[@]}" -fPIC -c "$root/tests/fake_sgemm.c" -o fake_sgemm.o &&
    gcc -std=c11 "${strict[@]}" -fPIC -c "$root/tests/fake_device.c" -o fake_device.o &&
    gcc -std=c11 "${strict[@]}" -fPIC -fvisibility=hidden -shared "${sources[@]}" fake_sgemm.o fake_device.o -ldl -lpthread -o stub.so
}
check "adapter over a stand-in" stub
over_stub() { LD_PRELOAD=$work/stub.so "$@"; }
check "stream and mode" env SGEMM_CUBLAS_MODE=tensor LD_PRELOAD="$work/stub.so" ./program stream_and_mode
check "errors, tensor" env SGEMM_CUBLAS_MODE=tensor LD_PRELOAD="$work/stub.so" ./program fallback
check "errors, strict" over_stub ./program strict_fallback
check "errors with an epilogue" over_stub ./program epilogue_fallback
tuned() { SGEMM_CUBLAS_TUNE=1 over_stub ./program tuned; }
check "tuned calls" tuned

# ---- The environment -------------------------------------------------------------------------------------------------

same "an unknown mode" "sgemm_cublas: SGEMM_CUBLAS_MODE=fast is not strict, tensor, full or off; strict is used" \
  "$(SGEMM_CUBLAS_MODE=fast over_stub ./program strict_fallback 2>&1)"
same "an empty mode" "" "$(SGEMM_CUBLAS_MODE='' over_stub ./program strict_fallback 2>&1)"

read -r -d '' report <<'TEXT' || true
sgemm_cublas: 8 calls of process PID, SGEMM_CUBLAS_MODE=tensor
       calls          GFLOP  computed by
           3          0.000  sgemm, strict
           2          0.000  sgemm, tensor
           1          0.000  cuBLAS: the math mode of the handle is not fp32
           1          0.000  cuBLAS: an increment of a vector is not 1
           1          0.000  cuBLAS: sgemm returned an error
the most frequent shapes, column-major (5 of 5):
       calls        m        n        k  batch ops  function                       computed by
           3        5        6        7      1 NT   cublasSgemm_v2                 sgemm, strict
           2       50        6      100      4 TN   cublasSgemmStridedBatched      sgemm, tensor
           1       50       60       70      1 NC   cublasSgemm_v2                 cuBLAS: the math mode of the handle is not fp32
           1        9        8        7      1 NN   cublasGemmEx                   cuBLAS: sgemm returned an error
           1        7        1        5      1 TN   cublasSgemv_v2                 cuBLAS: an increment of a vector is not 1
TEXT
without_pid() { sed 's/process [0-9]*/process PID/'; }
same "report on stderr" "$report" \
  "$(SGEMM_CUBLAS_REPORT=1 SGEMM_CUBLAS_MODE=tensor over_stub ./program report 2>&1 > /dev/null | without_pid)"
same "report to a file: nothing on stderr" "" \
  "$(SGEMM_CUBLAS_REPORT=report SGEMM_CUBLAS_MODE=tensor over_stub ./program report 2>&1)"
same "report to a file" "$report" "$(without_pid < report)"
SGEMM_CUBLAS_REPORT=report SGEMM_CUBLAS_MODE=tensor over_stub ./program report
same "a second process appends" "$report"$'\n'"$report" "$(without_pid < report)"
same "a file that cannot be written" "sgemm_cublas: the report cannot be written to missing/report" \
  "$(SGEMM_CUBLAS_REPORT=missing/report over_stub ./program report 2>&1)"
for value in 0 ''; do
  same "SGEMM_CUBLAS_REPORT='$value'" "" "$(SGEMM_CUBLAS_REPORT=$value over_stub ./program report 2>&1)"
done
read -r -d '' times <<'TEXT' || true
time saved: 1.100 ms; 11 calls of sgemm take 2.200 ms, in cuBLAS 3.300 ms; 4 are not measured
the most frequent shapes, column-major (10 of 10):
       calls        m        n        k  batch ops  function                        cuBLAS us   sgemm us computed by
           5        5        6        7      1 NT   cublasSgemm_v2                      300.0      200.0 sgemm, strict
           2        5        6        8      1 NN   cublasSgemm_v2                          -          - sgemm, strict
           2        5        6        7      1 NN   cublasSgemm_v2                      300.0      200.0 sgemm, strict
           1       50        6      100      4 TC   cublasGemmStridedBatchedEx          300.0      200.0 sgemm, tensor
TEXT
measured() { SGEMM_CUBLAS_TIMES=1 SGEMM_CUBLAS_MODE=tensor over_stub ./program times 2> times; }
check "which calls are measured" measured
same "times" "$times" "$(sed -n '/^time saved/,/ TC /p' times)"
same "SGEMM_CUBLAS_TIMES=0" "" "$(SGEMM_CUBLAS_TIMES=0 over_stub ./program report 2>&1)"
same "a process without calls" "" "$(SGEMM_CUBLAS_REPORT=1 over_stub ./program nothing 2>&1)"
same "a process without calls, an unknown mode" "" \
  "$(SGEMM_CUBLAS_REPORT=1 SGEMM_CUBLAS_MODE=fast over_stub ./program nothing 2>&1)"
# paths FILE: the calls and GFLOP of each path, and what computed them.
paths() { awk '/^the most frequent/ { there = 0 } there { print $1, $2, $3, $4 } / computed by$/ { there = NF == 4 }' "$1"; }
check "negative sizes" env SGEMM_CUBLAS_REPORT=negative LD_PRELOAD="$work/stub.so" ./program negative
same "negative sizes have no FLOP" $'1 0.000 cuBLAS: a\n1 0.000 cuBLAS: an' "$(paths negative)"
check "forks" env SGEMM_CUBLAS_REPORT=forks LD_PRELOAD="$work/stub.so" ./program forks
same "forks: the child reports its own call" $'1 0.000 sgemm, strict\n1 0.000 sgemm, strict' "$(paths forks)"
# Each write() to the socket is a packet.
cat > writes.py <<'P'
import socket
import subprocess
import sys

here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
subprocess.run(sys.argv[1:], stderr=there)
there.close()
print(sum(1 for _ in iter(lambda: here.recv(1 << 16), b"")))
P
same "a report on stderr is one write" 1 \
  "$(python3 writes.py env SGEMM_CUBLAS_REPORT=1 LD_PRELOAD="$work/stub.so" ./program report)"
same "off" "           7          0.000  cuBLAS: SGEMM_CUBLAS_MODE is off" \
  "$(SGEMM_CUBLAS_REPORT=1 SGEMM_CUBLAS_MODE=off over_stub ./program off 2>&1 | grep -m 1 'mode\|MODE is off')"
SGEMM_CUBLAS_REPORT=threads preloaded ./program threads
same "calls of 8 threads" "320 320" "$(awk '/calls of process/ { all = $2 } /sgemm, strict$/ && NF == 4 { path = $1 }
  END { print all, path }' threads)"
same "calls of 8 threads, by shapes" 0 "$(grep -c 'no room' threads || true)"

# ---- The built library -----------------------------------------------------------------------------------------------

# library NAME FILE: the names that it gives to programs, and the libraries that it needs.
library() {
  same "$1: names" "" "$(nm -D --defined-only "$2" | awk '$3 !~ /^(sgemm_)?cublas[A-Z]/ { print $3 }')"
  check "$1: cublasSgemm_v2" prints ' T cublasSgemm_v2$' nm -D --defined-only "$2"
  same "$1: needs" "" "$(readelf -d "$2" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
    grep -vE '^(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so' || true)"
  check "$1: preloaded into a program without cuBLAS" env LD_PRELOAD="$2" true
}
library "adapter" "$adapter"
if [ -n "$cuda_adapter" ]; then library "CUDA adapter" "$cuda_adapter"; else skip "CUDA adapter" "no CUDA toolkit"; fi

finish
