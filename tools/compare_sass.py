#!/usr/bin/env python3
"""compare_sass.py OLD NEW [--names FILE] [--parameters]: compares the machine code of two builds kernel by kernel.

OLD and NEW are cubins or objects that `cuobjdump -sass` reads, or its output in files that end in .sass. FILE has a line
"old new" for each renamed kernel. With --parameters, operands in the constant bank of the kernel's parameters (c[0x0][...])
count as equal, so that a change of only the layout of parameters is no difference. The script prints the kernels that
differ and the number of equal kernels. The exit status is 1 if a kernel differs or is missing.
"""
import pathlib
import re
import sys

import sass


def kernels(path):
    """{kernel: [instruction]}, without addresses and encodings, which follow from the instructions."""
    return {name: re.findall(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?;)", body, flags=re.M)
            for name, body in sass.listings(path).items()}


def main():
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    paths = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    renamed = {}
    if "--names" in options:
        renamed = dict(line.split() for line in pathlib.Path(paths.pop()).read_text().splitlines() if line.strip())
    if len(paths) != 2 or set(options) - {"--names", "--parameters"}:
        sys.exit(__doc__.splitlines()[0])
    old, new = ({renamed.get(name, name): code for name, code in kernels(paths[0]).items()}, kernels(paths[1]))
    if not old or not new:
        sys.exit("compare_sass.py: no kernel found")
    if "--parameters" in options:
        for build in old, new:
            for name, code in build.items():
                build[name] = [re.sub(r"c\[0x0\]\[0x[0-9a-f]+\]", "c[0x0][]", line) for line in code]
    same = 0
    for name in sorted(old.keys() | new.keys()):
        if name not in old or name not in new:
            print(f"{name}: only in the {'new' if name in new else 'old'} build")
        elif old[name] != new[name]:
            changed = sum(a != b for a, b in zip(old[name], new[name]))
            print(f"{name}: {len(old[name])} instructions before, {len(new[name])} after, {changed} differ in place")
        else:
            same += 1
    print(f"{same} of {len(old.keys() | new.keys())} kernels have the same code")
    sys.exit(same < len(old.keys() | new.keys()))


main()
