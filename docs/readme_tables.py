#!/usr/bin/env python3
"""readme_tables.py [--check]: writes README.md's generated parts from the variant table and the committed measurements.

The headline and the stages table stand between <!-- BEGIN name --> and <!-- END name -->. They come from SGEMM_STAGES and
SGEMM_VARIANTS in sgemm_kernels.cuh and from docs/measurements/ladder_h200.txt, the ladder's own output. Stages whose
kernels have changed since then are named in CHANGED and get no figures. With --check nothing is written; a README that
differs, or a measurement that misses a row, is an error.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).absolute().parent.parent
CHANGED = "async", "splitk"


def stages(source):
    """[(stage, idea)] in reading order."""
    table = source[source.index("#define SGEMM_STAGES(X)"):source.index("/* The one list of variants.")]
    return re.findall(r'X\((\w+), +"([^"]*)"\)', table)


def variants(source):
    """[(stage, name, production, reason)] in the order of the table."""
    table = source.split("#define SGEMM_VARIANTS(X)", 1)[1].split("\n\n", 1)[0]
    rows = []
    for row in re.findall(r"X\(([^)]*)\)", table):
        stage, BM, BN, BK, TM, TN, *_, production, reason = [cell.strip() for cell in row.split(",", 13)]
        rows.append((stage, f"{BM}x{BN}x{BK}_{TM}x{TN}", production == "1", reason.strip('"')))
    return rows


def measurements(text):
    """The line that says how it was measured, the device's line, and {kernel: (TFLOP/s, % of peak, % of cuBLAS)}."""
    provenance, problem, device, _, *lines = text.splitlines()
    rows = {}
    for line in lines:
        if line.startswith("sgemm_"):
            kernel, _, gflops, peak, cublas, *_ = line.split()
            rows[kernel] = (float(gflops) / 1000, float(peak), float(cublas))
    return provenance.lstrip("# "), problem, device, rows


def generated():
    source = (ROOT / "sgemm_kernels.cuh").read_text()
    provenance, problem, device, measured = measurements((ROOT / "docs/measurements/ladder_h200.txt").read_text())
    ideas, rows = stages(source), variants(source)
    missing = {f"sgemm_{stage}_{name}" for stage, name, _, _ in rows} ^ set(measured)
    if missing:
        sys.exit(f"readme_tables.py: measured and compiled rows differ: {', '.join(sorted(missing))}")

    best = max((f"sgemm_{stage}_{name}" for stage, name, production, _ in rows
                if production and stage not in CHANGED), key=measured.get)
    size = re.search(r"m (\d+), n (\d+), k (\d+)", problem).groups()
    cublas = float(re.search(r"cuBLAS SGEMM [\d.]+ ms, ([\d.]+) TFLOP/s", device).group(1))
    headline = (f"Measured on an {device.split(',')[0]} at {' x '.join(size)}: {measured[best][0]:.1f} TFLOP/s by `{best}`, "
                f"{measured[best][2]:.0f} % of\ncuBLAS SGEMM's {cublas:.1f} in the same run and "
                f"{measured[best][1]:.0f} % of the FMA peak.")

    table = ["| stage | what it changes | row (* = production) | why | TFLOP/s | % of peak | % of cuBLAS |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for stage, idea in ideas:
        for own_stage, name, production, reason in rows:
            if own_stage == stage:
                rate, peak, cublas = measured[f"sgemm_{stage}_{name}"]
                figures = " | | " if stage in CHANGED else f"{rate:.1f} | {peak:.0f} | {cublas:.0f}"
                table.append(f"| {stage} | {idea} | `{name}`{' *' if production else ''} | {reason} | {figures} |")
                idea = ""
    table += ["", f"{problem}. {provenance}; full output in `docs/measurements/ladder_h200.txt`. The kernels of "
              f"{' and '.join(CHANGED)} have changed since."]
    return {"headline": headline, "stages": "\n".join(table)}


def main():
    readme = ROOT / "README.md"
    old = new = readme.read_text()
    for name, text in generated().items():
        new = re.sub(rf"(<!-- BEGIN {name} -->\n).*?(<!-- END {name} -->)", lambda m: f"{m[1]}{text}\n{m[2]}", new,
                     flags=re.S)
    if "--check" not in sys.argv:
        readme.write_text(new)
    elif new != old:
        sys.exit("readme_tables.py: README.md is not what docs/readme_tables.py makes of the table and the measurements")


main()
