#!/bin/bash
# Each illegal variant and each illegal configuration stops the compiler with an error message of its own.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

# A line has the messages of the rules, joined by +, and behind | a row that breaks exactly these rules: stage, BM, BN,
# BK, TM, TN, WM, WN, V, bufs, slice_k, blocks.
cat > "$work/rows" <<'TABLE'
BM and BN must be multiples of WM and WN                                             | naive,           64,  16,   1,   1,   1,  24,  16, 1, 0, 1, 2
BM and BN must be multiples of WM and WN                                             | naive,           64,  16,   1,   1,   1,  64,  24, 1, 0, 1, 2
WM and WN must be multiples of TM and TN + naive and coalesced compute one result per thread, without tiles | naive,           96,  32,   1,   3,   1,  32,  32, 1, 0, 1, 1
WM and WN must be multiples of TM and TN + naive and coalesced compute one result per thread, without tiles | naive,           32,  96,   1,   1,   3,  32,  32, 1, 0, 1, 1
V must be 1 or 4 + naive and coalesced compute one result per thread, without tiles                       | naive,           64,  16,   1,   2,   2,  64,  16, 2, 0, 1, 1
TM and TN must be multiples of V + naive and coalesced compute one result per thread, without tiles       | naive,           64,  16,   1,   2,   4,  64,  16, 4, 0, 1, 1
TM and TN must be multiples of V + naive and coalesced compute one result per thread, without tiles       | naive,           64,  16,   1,   4,   2,  64,  16, 4, 0, 1, 1
a slice must be whole warps of 32 threads, or a warp whole slices                    | naive,            4,   4,   1,   1,   1,   4,   4, 1, 0, 1, 1
a block has at most 1024 threads                                                     | naive,           64,  32,   1,   1,   1,  64,  32, 1, 0, 1, 1
a multiprocessor holds at most 2048 threads                                          | naive,           32,  16,   1,   1,   1,  32,  16, 1, 0, 1, 5
a multiprocessor holds at most 2048 threads                                          | naive,           32,  16,   1,   1,   1,  32,  16, 1, 0, 1, 0
a warp tile must hold 32 thread tiles, or be the block's                             | tile2d,          64,  64,   8,   4,   4,  16,  64, 1, 1, 1, 1
a warp tile must hold 32 thread tiles, or be the block's                             | tile2d,          64,  64,   8,   4,   4,  64,  32, 1, 1, 1, 1
BK must be a multiple of 8 (V = 4) or divide 32 (V = 1)                              | vectorized,      64,  64,   4,   8,   8,  64,  64, 4, 1, 1, 1
BK must be a multiple of 8 (V = 4) or divide 32 (V = 1)                              | tile2d,          64,  64,  64,   4,   4,  64,  64, 1, 1, 1, 1
all threads have equally many loads of a tile                                      | tile2d,          64,  64,   8,   2,   2,  64,  64, 1, 1, 1, 1
all threads have equally many loads of a tile                                      | tile2d,         256,  32,   8,   4,   4, 256,  32, 1, 1, 1, 1
all threads have equally many loads of a tile                                      | tile2d,          96,  64,   8,  12,   8,  96,  64, 1, 1, 1, 1
static shared memory is at most 48 KiB                                               | tile2d,         256, 256,  32,   8,   8, 256, 256, 1, 1, 1, 1
naive and coalesced compute one result per thread, without tiles                                          | naive,           32,  32,   2,   1,   1,  32,  32, 1, 0, 1, 1
static shared memory is at most 48 KiB                                               | doublebuffered, 128, 128,  32,   8,   8,  32,  64, 4, 2, 1, 1
naive and coalesced compute one result per thread, without tiles                                          | naive,           32,  32,   1,   1,   1,  32,  32, 1, 1, 1, 1
naive and coalesced compute one result per thread, without tiles                                          | naive,           32,  16,   1,   1,   1,  32,  16, 1, 0, 2, 2
a slice must be whole warps of 32 threads, or a warp whole slices + naive and coalesced compute one result per thread, without tiles | naive,           32,  32,   1,   1,   1,  32,  32, 1, 0, 0, 1
a stage before async has the buffers of its body and no sliced-K                       | vectorized,      64,  64,   8,   8,   8,  64,  64, 4, 2, 1, 1
a stage before async has the buffers of its body and no sliced-K                       | doublebuffered,  64,  64,   8,   8,   4,  32,  32, 4, 3, 1, 1
a stage before async has the buffers of its body and no sliced-K                       | doublebuffered,  64,  64,  16,   8,   4,  32,  32, 4, 2, 2, 1
a pipeline has 3 or 4 buffers                                                        | async,           64,  64,  16,   8,   8,  32,  64, 4, 2, 1, 1
a pipeline has 3 or 4 buffers                                                        | async,           64,  64,  16,   8,   8,  32,  64, 4, 5, 1, 1
each sliced-K group has a multiple of 8 of BK, and only splitk has several groups + with single elements an access of all threads brings 8 k of 4, 8, 16 or 32 rows or columns | splitk,          64,  64,  16,   8,   4,  32,  32, 4, 3, 4, 1
each sliced-K group has a multiple of 8 of BK, and only splitk has several groups                 | async,           64,  64,  32,   8,   4,  32,  32, 4, 3, 2, 1
all threads have equally many copies of a tile, or one access of all threads covers it | async,           96,  64,  16,  12,   8,  96,  64, 4, 3, 1, 1
all threads have equally many copies of a tile, or one access of all threads covers it | splitk,          64,  96,  32,   8,  12,  64,  96, 4, 3, 2, 1
with single elements an access of all threads brings 8 k of 4, 8, 16 or 32 rows or columns | async,          128, 256,  16,   8,   8,  32,  64, 4, 3, 1, 1
four lanes along n exchange the elements of vectors that go to unaligned rows       | async,          128,  32,  16,   8,   8, 128,  16, 4, 3, 1, 1
four lanes along n exchange the elements of vectors that go to unaligned rows       | async,           64,  64,   8,   8,   8,  64,  64, 4, 3, 1, 1
four lanes along n exchange the elements of vectors that go to unaligned rows       | splitk,         128,  64,  16,   8,   8, 128,  16, 4, 4, 1, 4
tma, gemv, and splitk with several sliced-K groups apply an epilogue to results in registers | splitk,          64,  64,  16,   8,   8,  32,  64, 4, 3, 1, 4
splitk and clustered can have serial split-K                                         | async,           64,  64,  16,   4,   8,  32,  32, 4, 3, 1, 1
async, splitk and direct can be marked as copying single elements                    | tiled,           16,  16,  32,   1,   1,  16,  16, 1, 1, 1, 1
splitk has V = 4, because it sums vectors of 4 results                               | splitk,          64,  64,  32,   8,   8,  64,  64, 1, 3, 2, 1
one operand at most is small, and then the variant is not marked ELEMENTS             | splitk,          16,  16,  32,   4,   4,  16,  16, 4, 3, 4, 1
one operand at most is small, and then the variant is not marked ELEMENTS + with single elements an access of all threads brings 8 k of 4, 8, 16 or 32 rows or columns | splitk,          16,  64,  32,   4,   4,  16,  64, 4, 3, 4, 1
direct with one result a thread, and async with single elements, can be marked FUSED with 3 | async,           64, 128,  32,   8,   8,  32,  64, 4, 3, 1, 1
tma is marked FUSED with 2 alone                                                      | tma,             64,  64,  64,  16,   8,  32,  32, 4, 3, 4, 1
each access of all threads brings whole k of a small operand + all threads have equally many copies of a tile, or one access of all threads covers it | splitk,           4,  32,  96,   4,   4,   4,  32, 4, 3, 12, 1
each access of all threads brings whole k of a small operand + all threads have equally many copies of a tile, or one access of all threads covers it | splitk,          32,   4,  96,   4,   4,  32,   4, 4, 3, 12, 1
shared memory of a block is at most 227 KiB                                          | async,          256, 256,  32,  16,   8,  64,  64, 4, 4, 1, 1
shared memory of a block is at most 227 KiB                                          | splitk,         128, 128,  32,  16,   8,  64,  64, 4, 3, 4, 1
gemv has one row or one column, and no tiles in shared memory                        | gemv,             4,  32,  16,   1,   1,   4,  32, 1, 0, 2, 1
gemv has one row or one column, and no tiles in shared memory                        | gemv,             1,  32, 256,   1,   4,   1,  32, 4, 3, 64, 1
gemv with V = 4 has 32 results, whole warps of sliced-K groups, and 4 of BK for each group | gemv,             1,  64, 256,   1,   4,   1,  64, 4, 0, 64, 1
gemv with V = 4 has 32 results, whole warps of sliced-K groups, and 4 of BK for each group | gemv,             1,  32, 512,   1,   4,   1,  32, 4, 0, 64, 1
a thread of gemv computes V results                                                  | gemv,             1,  32, 256,   1,   8,   1,  32, 4, 0, 64, 1
a thread of gemv computes V results                                                  | gemv,             1,  64,  64,   1,   2,   1,  64, 1, 0, 8, 1
gemv with V = 1 has at most 16 of BK for each sliced-K group                         | gemv,             1,   4, 2048,  1,   1,   1,   4, 1, 0, 64, 1
gemv with V = 1 has at most 16 of BK for each sliced-K group                         | gemv,             1,  32, 100,   1,   1,   1,  32, 1, 0, 8, 1
a thread of direct computes up to 4 rows of V columns, without tiles                 | direct,          64,  32,   4,   8,   1,  64,  32, 1, 0, 1, 1
lanes of direct that divide k compute a whole tile of 32 results each                | direct,           8,   8,  64,   8,   8,   8,   8, 1, 0, 32, 1
lanes of direct that divide k compute a whole tile of 32 results each                | direct,           4,   8,  48,   4,   8,   4,   8, 1, 0, 32, 1
neighbouring lanes of direct have neighbouring columns                               | direct,          16,  48,   4,   1,   1,  16,  48, 1, 0, 1, 1
with V = 4 the lanes of a warp of direct are in a row, where they exchange elements  | direct,          16,  64,   4,   4,   4,  16,  64, 4, 0, 1, 1
tma has V = 4 and 3 or 4 buffers                                                     | tma,             64,  64,  32,  16,   8,  32,  32, 4, 5, 4, 1
a warp of tma has 32 x 32 results, 16 x 8 a lane, and slice_k a multiple of 4                | tma,             64, 128,  64,   8,  16,  32,  32, 4, 4, 4, 1
BK must be a multiple of 32 for each of the slice_k / 4 warps that divide it                                           | tma,             64, 128,  48,  16,   8,  32,  32, 4, 4, 4, 1
the sums of a tile must fit into one buffer                                             | tma,             64, 128,  32,  16,   8,  32,  32, 4, 4, 4, 1
tma has one or two consumer warpgroups                       | tma,             64,  32,  64,  16,   8,  32,  32, 4, 4, 4, 1
shared memory of a block is at most 227 KiB                                          | tma,             64, 128,  96,  16,   8,  32,  32, 4, 4, 4, 1
clustered has one consumer warpgroup                                                 | clustered,       64, 128,  64,  16,   8,  32,  32, 4, 4, 4, 1
TABLE

# A line has the message of a rule and a row of SGEMM_TENSOR_VARIANTS: engine, format, BM, BN, WN, k_blocks, sets, bufs.
cat > "$work/tensors" <<'TABLE'
wgmma variants have two warpgroups of 64 rows                           | wgmma, fp16x3,  64,  64,  64, 2, 1, 4
WN must be 64 or 128                                                | wgmma, fp16x3, 128,  96,  32, 2, 1, 4
BN must be a multiple of WN, and at most 256                        | wgmma, fp16x3, 128,  96,  64, 2, 1, 4
BN must be a multiple of WN, and at most 256                        | wgmma, bf16x6, 128, 320,  64, 1, 1, 2
k_blocks must be 1 or 2 and divide bufs, of at most 8                 | wgmma, bf16x6, 128, 192,  64, 3, 1, 3
k_blocks must be 1 or 2 and divide bufs, of at most 8                 | wgmma, bf16x6, 128, 192,  64, 2, 1, 3
k_blocks must be 1 or 2 and divide bufs, of at most 8                 | wgmma, fp16x3, 128,  64,  64, 1, 1, 9
sets must be 1, 2 or 2 k_blocks                                       | wgmma, fp16x3, 128,  64,  64, 1, 4, 4
sets must be 1, 2 or 2 k_blocks                                       | wgmma, fp16x3, 128,  64,  64, 2, 3, 4
shared memory of a block is at most 227 KiB, with its mbarriers     | wgmma, bf16x6, 128, 256,  64, 1, 1, 4
BM and BN must be multiples of 64                                   | mma,   fp16x3, 256,  32,  16, 1, 1, 2
WN must be 16 or 32                                                 | mma,   fp16x3,  64,  64,   8, 1, 1, 2
mma variants have 8 warps of 64 rows and WN columns                     | mma,   fp16x3,  64, 128,  32, 1, 1, 2
k_blocks and sets must be 1, and bufs 2 or 3                          | mma,   fp16x3,  64, 128,  16, 2, 1, 2
k_blocks and sets must be 1, and bufs 2 or 3                          | mma,   fp16x3,  64, 128,  16, 1, 2, 2
k_blocks and sets must be 1, and bufs 2 or 3                          | mma,   fp16x3,  64, 128,  16, 1, 1, 1
shared memory of a block is at most 99 KiB on sm_86, sm_89 and sm_120 | mma, bf16x6, 128, 128,  32, 1, 1, 3
TABLE

# The message of each use of SGEMM__RULE is its first text in quotes.
rules=$(cat "$root"/sgemm_kernels.cuh "$root"/sgemm/*.h "$root"/sgemm/*/*.{h,cuh} |
  perl -0777 -ne 'print "$1\n" while /SGEMM__RULE\((?!condition)[^"]*"([^"]*)"/g')
same "every rule has a row" "$(sort -u <<< "$rules")" \
  "$(sed 's/ *|.*//; s/ + /\n/g' "$work/rows" "$work/tensors" | sort -u)"

headers_into "$work/headers"

# table_with SED_OR_PERL_COMMAND...: edits the repository's sgemm/variants.h with the command and writes it to the copy.
table_with() {
  rm -f "$work/headers/sgemm/variants.h"
  "$@" "$root/sgemm/variants.h" > "$work/headers/sgemm/variants.h"
}

# sentences OPTION...: prints the messages of the rules that a build of the CPU model breaks. gcc prints \' for an
# apostrophe.
sentences() {
  gcc -std=c11 -fsyntax-only -DSGEMM_CPU=1 "$@" -I"$work/headers" -I"$root" "$root/cpu/sgemm.c" > "$work/output" 2>&1 || true
  sed -n 's/.*static assertion failed: "\(.*\)".*/\1/p' "$work/output" | tr -d '\\' | grep '^sgemm_' | sort -u
}

# compile_rows: compiles a table that starts with the rows in `lines`, and has estimates for their `variants`, and compares
# the messages of each row with its rules. The build compiles no kernel of these rows. Seven of them have a mark.
lines=() variants=()
compile_rows() {
  local i messages rows=
  for i in "${lines[@]}"; do rows+="  X(${i#*|}, 0, \"a row of the test\") \\"$'\n'; done
  ROWS=$rows ESTIMATES=$(printf ' X(%s, tiled_16x16x16_1x1)' "${variants[@]}") table_with awk '
    /^#define SGEMM_ESTIMATED\(X\)/ {
      sub(/\(X\)/, "(X)" ENVIRON["ESTIMATES"])
      print "#define SGEMM__ELEMENTS_sgemm_splitk_16x64x32_4x4 ~, 1\n#define SGEMM__FUSED_sgemm_tma_64x64x64_16x8 ~, 1"
      print "#define SGEMM__ELEMENTS_sgemm_async_128x256x16_8x8 ~, 1\n#define SGEMM__FUSED_sgemm_splitk_64x64x16_8x8 ~, 1"
      print "#define SGEMM__FUSED_sgemm_async_64x128x32_8x8 ~, 3"
      print "#define SGEMM__ELEMENTS_sgemm_tiled_16x16x32_1x1 ~, 1\n#define SGEMM__SERIAL_sgemm_async_64x64x16_4x8 ~, 1"
    }
    { print }
    /^#define SGEMM_VARIANTS\(X\)/ { printf "%s", ENVIRON["ROWS"] }'
  messages=$(sentences -DSGEMM_STAGE=coalesced)
  for i in "${!lines[@]}"; do
    same "$(tr -s ' ' <<< "${lines[i]#*|}")" "$(sed 's/ *|.*//; s/ + /\n/g' <<< "${lines[i]}" | sort)" \
      "$(sed -n "s/^sgemm_${variants[i]}: //p" <<< "$messages" | sort)"
  done
  lines=() variants=()
}

# One table has many rows, but each variant once.
while read -r line; do
  read -r stage BM BN BK TM TN _ <<< "$(sed 's/.*|//; s/,/ /g' <<< "$line")"
  variant=${stage}_${BM}x${BN}x${BK}_${TM}x${TN}
  if [[ " ${variants[*]} " == *" $variant "* ]]; then compile_rows; fi
  lines+=("$line") variants+=("$variant")
done < "$work/rows"
compile_rows

while IFS='|' read -r rule row; do
  rule=$(sed 's/ *$//' <<< "$rule")
  read -r engine format BM BN WN k_blocks sets bufs <<< "${row//,/}"
  variant=${engine}_${format}_${BM}x${BN}
  # The table has only this row.
  table_with perl -0777 -pe "s/(#define SGEMM_TENSOR_VARIANTS\(X\))(.*\\\\\n)*.*\n/\$1 X($engine, $format, $BM, $BN, $WN, $k_blocks, $sets, $bufs, \"a row of the test\")\n/"
  same "$variant, WN $WN, k_blocks $k_blocks, sets $sets, bufs $bufs" "sgemm_$variant: $rule" "$(sentences)"
done < "$work/tensors"

# illegal SENTENCE COMPILER OPTION...: a file that includes sgemm.h stops at the #error with this message.
illegal() {
  echo "$1" >> "$work/errors"
  with "$2" refuse "${*:2}" "#error \"$1\"" "${@:2}" -I"$root" -c "$work/use.cu" -o "$work/use.o"
}

echo '#include "sgemm.h"' > "$work/use.cu"
emit=-DSGEMM_IMPLEMENTATION
model=-DSGEMM_CPU=1

illegal "sgemm.h needs C11 or later" gcc -x c -std=c89
illegal "sgemm.h needs C11 or later" gcc -x c -std=c99
illegal "sgemm.h needs C++14 or later" g++ -x c++ -std=c++98
illegal "sgemm.h needs C++14 or later" g++ -x c++ -std=c++11

not_a_stage="SGEMM_STAGE is not a stage: all, or a name of SGEMM_STAGES in sgemm/variants.h"
illegal "$not_a_stage" gcc -x c $emit $model -DSGEMM_STAGE=tilde
illegal "$not_a_stage" gcc -x c $emit $model -DSGEMM_STAGE=
illegal "$not_a_stage" gcc -x c $emit $model -DSGEMM_STAGE
illegal "$not_a_stage" nvcc $emit -DSGEMM_STAGE=tilde

not_a_part="SGEMM_PART is not a part: host, tensor, or a name of SGEMM_STAGES in sgemm/variants.h"
illegal "$not_a_part" gcc -x c $emit $model -DSGEMM_PART=hosts
illegal "$not_a_part" gcc -x c $emit $model -DSGEMM_PART=
illegal "$not_a_part" nvcc $emit -DSGEMM_PART=all

no_backend="SGEMM_IMPLEMENTATION belongs in a file that nvcc compiles, or goes with SGEMM_CPU=1 or SGEMM_HOST_ONLY=1"
illegal "$no_backend" gcc -x c $emit
illegal "$no_backend" gcc -x c $emit -DSGEMM_CPU=0
illegal "$no_backend" g++ -x c++ $emit

illegal "SGEMM_HOST_ONLY=1 has no kernels, SGEMM_CPU=1 has those of the CPU model: define one of them" \
  gcc -x c $emit $model -DSGEMM_HOST_ONLY=1

illegal "the CPU model is C11: compile cpu/sgemm.c as C" g++ -x c++ $emit $model

# A row of epilogues that reads a value which it does not list, or that is no expression, stops the compiler in the
# function that has the row's name.
# wrong_row NAME ROW COMPILER OPTION...
wrong_row() {
  echo "#define SGEMM_PROJECT_EPILOGUES(X) X($2, \"a row of the test\")" > "$work/row.h"
  with "$3" refuse "$1, $3" "sgemm_epilogue_${2%%,*}" "${@:3}" $emit -include "$work/row.h" -I"$root" -c "$work/use.cu" -o "$work/use.o"
}
for value in c vec_m vec_n bias e aux row col s t; do
  wrong_row "an epilogue reads $value without listing it" "wrong_$value, (sum), sum + $value" gcc -x c -std=c11 $model
done
wrong_row "an epilogue reads bias without listing it" "wrong_bias, (sum), sum + bias" nvcc -DSGEMM_PART=host
wrong_row "an epilogue is no expression" "wrong_text, (sum), sum +" gcc -x c -std=c11 $model

# A build with two rows alone compiles; one without none as the first row does not.
echo '#define SGEMM_BUILTIN_EPILOGUES(X) X(none, (sum), sum, "plain") X(relu, (sum, bias), sgemm_relu(sum + bias), "relu")' > "$work/row.h"
check "a build with fewer epilogues" gcc -x c -std=c11 $model $emit -Wall -Wextra -Werror -include "$work/row.h" -I"$root" -c "$work/use.cu" -o "$work/use.o"
echo '#define SGEMM_BUILTIN_EPILOGUES(X) X(relu, (sum), sum, "relu") X(none, (sum), sum, "plain")' > "$work/row.h"
refuse "none is not the first row" "the first row of SGEMM_BUILTIN_EPILOGUES is none" \
  gcc -x c -std=c11 $model $emit -include "$work/row.h" -I"$root" -c "$work/use.cu" -o "$work/use.o"

same "every #error has a case" "$(sort -u "$work/errors")" \
  "$(cat "$root"/sgemm.h "$root"/sgemm_kernels.cuh "$root"/sgemm/*.h "$root"/sgemm/*/*.{h,cuh} "$root"/cpu/*.h "$root"/cpu/*/*.h |
    sed -n 's/^#error "\(.*\)"$/\1/p' | sort -u)"

finish
