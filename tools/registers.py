#!/usr/bin/env python3
"""registers.py: writes docs/measurements/registers_*.csv, the registers and the static shared memory of every kernel.

The call is registers.py [NVCC]. It needs no GPU. Each line of a file has a variant, the registers of a thread for the ops
NN, NT, TN and TT, and the bytes of static shared memory of a block for these ops. tools/ladder_model.h includes the files
in an array, so they begin with a C comment, and their lines end with commas. A line of a variant that the table no longer
has does not compile. A variant without a line has no occupancy in the ladder.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).absolute().parent.parent
ARCHITECTURES = {"sm80": "sm_80", "sm86": "sm_86", "sm90a": "sm_90a"}
OPS = ["nn", "nt", "tn", "tt"]
KERNEL = re.compile(r"Compiling entry function 'sgemm_(\w+?)(?:_([nt]{1,2}))?'.*?Used (\d+) registers([^\n]*)", re.S)


def ops_of(variant, suffix):
    """The ops that a kernel serves. One without letters serves all, one with a single letter both ops of the smaller operand:
    of A if its tiles have fewer rows than columns, else of B."""
    if len(suffix) != 1:
        return [suffix] if suffix else OPS
    rows, columns = map(int, re.search(r"_(\d+)x(\d+)x", variant).groups())
    return [op + suffix if rows < columns else suffix + op for op in "nt"]


def measure(nvcc, arch):
    """{variant: {op: (registers, bytes of shared memory)}}, in the order of the table."""
    with tempfile.TemporaryDirectory() as directory:
        log = subprocess.run([nvcc, f"-arch={arch}", "-std=c++17", "-O3", "-lineinfo", "-DSGEMM_STAGE=all", f"-I{ROOT}",
                              "-Xptxas", "-v", "-c", ROOT / "cuda/sgemm.cu", "-o", "sgemm.o"],
                             cwd=directory, check=True, stderr=subprocess.PIPE, text=True).stderr
    kernels = {}
    for variant, suffix, registers, rest in KERNEL.findall(log):
        shared = re.search(r"(\d+) bytes smem", rest)
        if variant.startswith(("tma", "clustered")) and not shared:  # no mbarriers: no body on this architecture
            continue
        for op in ops_of(variant, suffix):
            kernels.setdefault(variant, {})[op] = (int(registers), int(shared[1]) if shared else 0)
    names = re.findall(r"X\((\w+), *(\d+), *(\d+), *(\d+), *(\d+), *(\d+),", (ROOT / "sgemm/variants.h").read_text())
    return {v: kernels[v] for v in ("{}_{}x{}x{}_{}x{}".format(*row) for row in names) if v in kernels}


def main():
    nvcc = sys.argv[1] if len(sys.argv) > 1 else "nvcc"
    version = subprocess.run([nvcc, "--version"], stdout=subprocess.PIPE, text=True).stdout
    release = re.search(r"release ([\d.]+)", version)[1]
    for name, arch in ARCHITECTURES.items():
        lines = ["// variant, registers for NN NT TN TT, static shared bytes for NN NT TN TT: "
                 f"{arch}, nvcc {release}, tools/registers.py"]
        for variant, ops in measure(nvcc, arch).items():
            cells = [str(ops[op][part]) for part in (0, 1) for op in OPS]
            lines.append(", ".join([f"SGEMM_{variant}", *cells]) + ",")
        (ROOT / f"docs/measurements/registers_{name}.csv").write_text("\n".join(lines) + "\n")


main()
