#!/usr/bin/env python3
"""build_figures.py [--archs sm_80,sm_90a] [--builds production,all,tiled,...]: build time and size of the CUDA implementation.

The script prints a table with a row for each build of SGEMM_STAGE. For each architecture it has the CPU seconds of nvcc, the
KiB of the object with the compression that Bazel uses, and the KiB without compression. CPU seconds are the user and system
time of nvcc and its child processes, which depend less on other load than the wall clock. Compilers run one at a time. The
script takes nvcc from $CUDA_PATH, from PATH, or from /usr/local/cuda.
"""
import argparse
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).absolute().parent.parent
ARCHS = ["sm_80", "sm_86", "sm_90a"]


def find_nvcc():
    on_path = shutil.which("nvcc")
    for directory in [os.environ.get("CUDA_PATH"), on_path and pathlib.Path(on_path).resolve().parent.parent,
                      "/usr/local/cuda"]:
        if directory and (pathlib.Path(directory) / "bin/nvcc").exists():
            return str(pathlib.Path(directory) / "bin/nvcc")
    sys.exit("build_figures.py: no nvcc")


def stages():
    table = (ROOT / "sgemm/variants.h").read_text().split("#define SGEMM_STAGES(X)", 1)[1].split("\n\n", 1)[0]
    return re.findall(r"^  X\((\w+),", table, re.M)


def compile_object(nvcc, build, archs, compress, directory):
    """Compiles the implementation and returns CPU seconds and the bytes of the object."""
    output = pathlib.Path(directory) / "sgemm.o"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([nvcc, "-O3", "-std=c++17", "--compress-mode=" + compress, "-I" + str(ROOT),
                    *(f"-gencode=arch={arch.replace('sm_', 'compute_')},code={arch}" for arch in archs),
                    *([] if build == "production" else ["-DSGEMM_STAGE=" + build]),
                    "-c", str(ROOT / "cuda/sgemm.cu"), "-o", str(output)],
                   check=True, env={**os.environ, "TMPDIR": directory})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, output.stat().st_size


def main():
    known = ["production", "all", *stages()]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archs", default=",".join(ARCHS))
    parser.add_argument("--builds", default=",".join(known))
    options = parser.parse_args()
    archs, builds = options.archs.split(","), options.builds.split(",")
    unknown = [build for build in builds if build not in known]
    if unknown:
        parser.error(f"no such build: {', '.join(unknown)}; there are {', '.join(known)}")

    nvcc = find_nvcc()
    print(subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout.splitlines()[-2])
    print(f"{'build':<15}" + "".join(f" {arch + ' s':>9} {arch + ' KiB':>12} {'plain KiB':>10}" for arch in archs))
    for build in builds:
        line = f"{build:<15}"
        for arch in archs:
            with tempfile.TemporaryDirectory() as directory:
                seconds, size = compile_object(nvcc, build, [arch], "size", directory)
                _, plain = compile_object(nvcc, build, [arch], "none", directory)
            line += f" {seconds:>9.1f} {size / 1024:>12.0f} {plain / 1024:>10.0f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
