#!/bin/bash
# Applies docs/adding_a_variant.md and docs/adding_a_stage.md to copies of the tree. The added code must compile, pass
# its tests on the CPU model, and change the files that the pages name and no others.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cases.sh"

# copy NAME: copies the sources of the library, the tests and the tools to $work/NAME.
copy() {
  mkdir "$work/$1"
  (cd "$root" && cp -rL sgemm.h sgemm_kernels.cuh sgemm cpu tests tools "$work/$1")
  chmod -R u+w "$work/$1"
}

# apply PAGE TREE: applies the C blocks of a page to a copy. A block that begins with a file name becomes this file. The
# line of SGEMM_ESTIMATED replaces the line of the copy. A row of a table goes behind the first row of its stage, or,
# for a new stage, behind the first row of the table.
apply() {
  python3 - "$root/docs/$1" "$work/$2" <<'PYTHON'
import pathlib, re, sys

page, tree = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2])
tables = tree / "sgemm/variants.h"
for block in re.findall(r"```c\n(.*?)```", page, re.S):
    text = tables.read_text()
    name = re.match(r"/\* (sgemm/stages/\w+\.cuh):", block)
    if name:
        (tree / name[1]).write_text(block)
        continue
    for line in filter(None, block.splitlines()):
        if line.startswith("#include"):
            generator = tree / "sgemm_kernels.cuh"
            generator.write_text(generator.read_text().replace('#include "sgemm/stages/direct.cuh"\n',
                                                               '#include "sgemm/stages/direct.cuh"\n' + line + "\n"))
        elif line.startswith("#define SGEMM_ESTIMATED(X)"):
            text = re.sub(r"#define SGEMM_ESTIMATED\(X\).*", line, text)
        elif line.startswith("#define SGEMM__SAME_"):
            text = text.replace("#define SGEMM__SAME_naive_naive", line + "\n#define SGEMM__SAME_naive_naive")
        else:
            stage = re.match(r"  X\((\w+),", line)[1]
            table = "SGEMM_STAGES" if line.count(",") < 6 else "SGEMM_VARIANTS"
            at = text.index(f"#define {table}(X)")
            row = text.find(f"  X({stage},", at)
            row = row if row >= 0 else text.index("  X(", at)
            row = text.index("\n", row) + 1  # behind this row
            text = text[:row] + line.rstrip() + "\n" + text[row:]
    tables.write_text(text)
PYTHON
}

# passes TREE STAGE FILTER: builds variants_test.c for a stage on the CPU model and runs the tests that match the
# filter, one at least.
passes() {
  local tree=$work/$1
  gcc -std=c11 -O1 -ffp-contract=off -DSGEMM_CPU=1 "-DSGEMM_STAGE=$2" -I"$tree" "$tree/tests/variants_test.c" \
    "$tree/tests/testing.c" "$tree/cpu/sgemm.c" -lcriterion -lopenblas -lpthread -lm -o "$work/suite" &&
    env -u SGEMM_TEST_FULL OPENBLAS_NUM_THREADS=1 "$root/bazel/own_pid.sh" "$work/suite" --filter "$3" 2>&1 |
      tee "$work/suite.txt" && grep -q 'Tested: [1-9]' "$work/suite.txt"
}

# changed TREE: prints the files of the copy that differ from the repository.
changed() {
  local directory
  for directory in sgemm.h sgemm_kernels.cuh sgemm cpu; do
    diff -rq "$root/$directory" "$work/$1/$directory" || true
  done | sed -E "s|.*$work/$1/([^ ]*) differ.*|\1|; s|Only in $work/$1/([^:]*): (.*)|\1/\2|" | sort | tr '\n' ' '
}

copy variant
apply adding_a_variant.md variant
same "a variant: files that change" "sgemm/variants.h " "$(changed variant)"
check "a variant: its tests" passes variant async '*/async_64x64x32_8x4*'
sed -i 's/^#define SGEMM_ESTIMATED(X).*/#define SGEMM_ESTIMATED(X)/' "$work/variant/sgemm/variants.h"
refuse "a variant without an estimate" "each variant has one entry in SGEMM__H200_VARIANTS or in SGEMM_ESTIMATED" \
  gcc -std=c11 -fsyntax-only -DSGEMM_CPU=1 -I"$work/variant" "$work/variant/cpu/sgemm.c"
sed -i 's/^#define SGEMM_ESTIMATED(X).*/#define SGEMM_ESTIMATED(X) X(async_64x64x33_8x4, async_64x64x16_8x4)/' \
  "$work/variant/sgemm/variants.h"
refuse "an estimate for no variant" "SGEMM_async_64x64x33_8x4" \
  gcc -std=c11 -fsyntax-only -DSGEMM_CPU=1 -I"$work/variant" "$work/variant/cpu/sgemm.c"

copy stage
apply adding_a_stage.md stage
same "a stage: files that change" "sgemm/stages/toy.cuh sgemm/variants.h sgemm_kernels.cuh " "$(changed stage)"
check "a stage: its tests" passes stage toy '*'

finish
