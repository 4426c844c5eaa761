#!/usr/bin/env python3
"""readme_tables.py [--check]: writes the generated parts of README.md from the variant table and the committed measurements.

The headline and the stages table stand between <!-- BEGIN name --> and <!-- END name -->. Their sources are SGEMM_STAGES
and SGEMM_VARIANTS in sgemm/variants.h, and the ladder's output in docs/measurements: ladder_h200.txt, suite_h200.csv and
suite_tensor_h200.csv. A stage without a measurement is marked "not measured". With --check the script writes nothing, and
a README that differs from its sources is an error.
"""
import csv
import math
import pathlib
import re
import sys

import generated

ROOT = pathlib.Path(__file__).absolute().parent.parent


def stages(source):
    """[(stage, idea)] in reading order."""
    table = source.split("#define SGEMM_STAGES(X)", 1)[1].split("\n\n", 1)[0]
    return re.findall(r'X\((\w+), +\d, \d, "([^"]*)"\)', table)


def variants(source):
    """[(stage, name, production, reason)] in the order of the table."""
    table = source.split("#define SGEMM_VARIANTS(X)", 1)[1].split("\n\n", 1)[0]
    rows = []
    for row in re.findall(r"X\(([^)]*)\)", table):
        stage, BM, BN, BK, TM, TN, *_, production, reason = [cell.strip() for cell in row.split(",", 13)]
        rows.append((stage, f"{BM}x{BN}x{BK}_{TM}x{TN}", production == "1", reason.strip('"')))
    return rows


def measurements(text):
    """The lines of the command, the problem and the device, and {kernel: (TFLOP/s, % of peak, % of cuBLAS)}."""
    provenance, problem, device, _, *lines = text.splitlines()
    rows = {}
    for line in lines:
        if line.startswith("sgemm_"):
            kernel, _, gflops, peak, cublas, *_ = line.split()
            rows[kernel] = (float(gflops) / 1000, float(peak), float(cublas))
    return provenance.lstrip("# "), problem, device, rows


def rows_of(text, variant, state="cold"):
    """{shape: row} of a variant in the suite's CSV. In files of version 0.1 the mode is hot instead of warm."""
    return {row["shape"]: row for row in csv.DictReader(text.splitlines())
            if row["variant"] == variant and row["mode"].replace("hot", "warm") == state}


def speed_up(row):
    return float(row["percent_of_cublas"]) / 100


def rate(row):
    return float(row["gflops"]) / 1000


def mean(rows):
    return math.exp(sum(math.log(speed_up(row)) for row in rows) / len(rows))


def headline(suite, tensor):
    """Two list items, strict fp32 and tensor cores, with the rates of sgemm_run(), and their sources."""
    own, cublas = rows_of(suite, "production"), rows_of(suite, "cublas")
    low, high = (pick(own, key=lambda shape: speed_up(own[shape])) for pick in (min, max))
    lines = [f"- **Strict fp32: {mean(own.values()):.2f} times the speed of cuBLAS SGEMM**, the geometric mean over {len(own)} shapes, "
             f"from {speed_up(own[low]):.2f} (`{low}`) to",
             f"  {speed_up(own[high]):.2f} (`{high}`). {rate(own['sq4096']):.1f} TFLOP/s at 4096 cubed, where cuBLAS has "
             f"{rate(cublas['sq4096']):.1f}."]
    own = rows_of(tensor, "production_tensor")
    large = [row for row in own.values() if min(int(row[size]) for size in "mnk") >= 512]
    lines += [f"- **Tensor cores at fp32 accuracy: {mean(large):.1f} times the speed of cuBLAS SGEMM**, the geometric mean over the "
              f"{len(large)} of these", f"  shapes with m, n and k of 512 and more. {rate(own['sq4096']):.0f} TFLOP/s at 4096 cubed. "
              "The errors keep the rule against those of cuBLAS", "  SGEMM ([rule and inputs](docs/stages/tensor.md#accuracy))."]
    return "\n".join(lines + ["", "`sgemm_run()` with the workspace that `sgemm_workspace_query()` asks for, against cuBLAS 13.1 in the same run, on one",
                              "NVIDIA H200, L2-cold. Sources: [suite_h200.csv](docs/measurements/suite_h200.csv) and",
                              "[suite_tensor_h200.csv](docs/measurements/suite_tensor_h200.csv).",
                              "[docs/variants.md](docs/variants.md) lists each shape."])


# Stages whose rate at a large square says nothing, and what they are for.
NOT_SQUARE = {"direct": "short k, or few rows and columns", "gemv": "one row or column", "clustered": "few tiles, long k"}


def stage_table(ideas, rows, measured):
    """A line a stage: its idea and its fastest variant."""
    table = ["| stage | what it changes | fastest variant | TFLOP/s | % of cuBLAS |", "| --- | --- | --- | ---: | ---: |"]
    for stage, idea in ideas:
        names = [name for own, name, _, _ in rows if own == stage and f"sgemm_{stage}_{name}" in measured]
        best = max(names, key=lambda name: measured[f"sgemm_{stage}_{name}"], default=None)
        cells = "| not measured | |"
        if best:
            tflops, _, cublas = measured[f"sgemm_{stage}_{best}"]
            cells = f"`{best}` | {tflops:.1f} | {cublas:.0f} |"
        if stage in NOT_SQUARE:
            cells = f"{NOT_SQUARE[stage]} alone: see its page | | |"
        table.append(f"| [{stage}](docs/stages/{stage}.md) | {idea} | {cells}")
    return table


def parts():
    source = (ROOT / "sgemm/variants.h").read_text()
    provenance, problem, device, measured = measurements((ROOT / "docs/measurements/ladder_h200.txt").read_text())
    ideas, rows = stages(source), variants(source)
    if not ideas or not {f"sgemm_{stage}_{name}" for stage, name, _, _ in rows} & set(measured):
        sys.exit("readme_tables.py: no variant of sgemm/variants.h is in ladder_h200.txt")
    table = stage_table(ideas, rows, measured)
    size = " x ".join(re.search(r"m (\d+), n (\d+), k (\d+)", problem).groups())
    table += ["", f"Each variant by itself at {size}, op NN, L2-warm. {provenance}:", "`docs/measurements/ladder_h200.txt`."]
    files = [(ROOT / f"docs/measurements/suite{which}_h200.csv").read_text() for which in ("", "_tensor")]
    return {"headline": headline(*files), "stages": "\n".join(table)}


generated.main("readme_tables.py", {ROOT / "README.md": parts()})
