#!/usr/bin/env python3
"""readme_tables.py [--check]: writes README.md's generated parts from the variant table and the committed measurements.

The headline and the stages table stand between <!-- BEGIN name --> and <!-- END name -->. They come from SGEMM_STAGES and
SGEMM_VARIANTS in sgemm/variants.h and from docs/measurements/ladder_h200.txt, suite_h200.csv, suite32_h200.csv and
suite_tensor_h200.csv, the ladder's own output. A variant without a measurement is marked "not measured". With --check
nothing is written, and a README that differs is an error.
"""
import csv
import math
import pathlib
import re
import sys

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
    """The line that says how it was measured, the device's line, and {kernel: (TFLOP/s, % of peak, % of cuBLAS)}."""
    provenance, problem, device, _, *lines = text.splitlines()
    rows = {}
    for line in lines:
        if line.startswith("sgemm_"):
            kernel, _, gflops, peak, cublas, *_ = line.split()
            rows[kernel] = (float(gflops) / 1000, float(peak), float(cublas))
    return provenance.lstrip("# "), problem, device, rows


def suite(text, limited):
    """The sentence on the plans that sgemm_run() selects for the suite's shapes, from the ladder's CSV; and where its workspace
    is limited to cuBLAS's."""
    def ratios(state, source=text):
        """L2-warm is called hot in files of version 0.1."""
        return {row["shape"]: float(row["percent_of_cublas"]) / 100 for row in csv.DictReader(source.splitlines())
                if row["variant"] == "production" and row["mode"].replace("hot", "warm") == state}

    def mean(of):
        return math.exp(sum(map(math.log, of.values())) / len(of))

    cold, warm = ratios("cold"), ratios("warm")
    room, = {int(row["workspace_bytes"]) for row in csv.DictReader(text.splitlines())
             if (row["variant"], row["shape"]) == ("production", "sq4096")}
    low, high = (pick(cold, key=cold.get) for pick in (min, max))
    return (f"Over {len(cold)} shapes from 64 x 64 to 16384 x 16384, narrow, deep, odd and batched, `sgemm_run()` with the "
            f"workspace\nthat it asks for, at 4096 cubed {room / 1e6:.0f} MB, has {mean(cold):.2f} times cuBLAS's speed in geometric mean "
            f"L2-cold and\n{mean(warm):.2f} L2-warm, from {cold[low]:.2f} (`{low}`) to {cold[high]:.2f} (`{high}`), L2-cold; "
            f"{cold['sq4096']:.2f} and {cold['sq8192']:.2f} at 4096 and 8192 cubed.\nWith cuBLAS's 32 MiB: {mean(ratios('cold', limited)):.2f} "
            f"and {mean(ratios('warm', limited)):.2f}. `docs/measurements/suite_h200.csv`, `suite32_h200.csv`.")


def tensor(text):
    """The sentence on the tensor modes: their rates at 4096 and 8192 cubed, and over the large shapes."""
    rows = [row for row in csv.DictReader(text.splitlines()) if row["mode"] == "cold"]
    said = []
    for variant in "production_tensor", "production_tensor_full":
        own = {row["shape"]: row for row in rows if row["variant"] == variant}
        rate = [f"{float(own[shape]['gflops']) / 1000:.0f}" for shape in ("sq4096", "sq8192")]
        large = [float(row["percent_of_cublas"]) / 100 for row in own.values()
                 if min(int(row[size]) for size in "mnk") >= 512]
        said.append((" and ".join(rate), math.exp(sum(map(math.log, large)) / len(large)), len(large)))
    return (f"In a mode that is asked for by name tensor cores do it, no less accurate than cuBLAS SGEMM\n([the rule and its "
            f"figures](docs/stages/tensor.md#accuracy)): {said[0][0]} TFLOP/s at 4096 and 8192 cubed, or in its\nfull-range form "
            f"{said[1][0]}, L2-cold, the operands' split included; {said[0][1]:.1f} and {said[1][1]:.1f} times cuBLAS SGEMM over "
            f"the {said[0][2]}\nof these shapes with m, n, k >= 512. `docs/measurements/suite_tensor_h200.csv`.")


def generated():
    source = (ROOT / "sgemm/variants.h").read_text()
    provenance, problem, device, measured = measurements((ROOT / "docs/measurements/ladder_h200.txt").read_text())
    ideas, rows = stages(source), variants(source)
    names = {f"sgemm_{stage}_{name}" for stage, name, _, _ in rows}
    if not ideas or not names & set(measured):
        sys.exit("readme_tables.py: no variant of sgemm/variants.h is in ladder_h200.txt")

    best = max((f"sgemm_{stage}_{name}" for stage, name, production, _ in rows
                if production and f"sgemm_{stage}_{name}" in measured), key=measured.get)
    size = re.search(r"m (\d+), n (\d+), k (\d+)", problem).groups()
    cublas = float(re.search(r"cuBLAS SGEMM [\d.]+ ms, ([\d.]+) TFLOP/s", device).group(1))
    headline = (f"Measured on an {device.split(',')[0]} at {' x '.join(size)}: {measured[best][0]:.1f} TFLOP/s by `{best}`, "
                f"{measured[best][2]:.0f} % of\ncuBLAS SGEMM's {cublas:.1f} in the same run and "
                f"{measured[best][1]:.0f} % of the FMA peak.")

    suite_csv = (ROOT / "docs/measurements/suite_h200.csv").read_text()
    limited = (ROOT / "docs/measurements/suite32_h200.csv").read_text()
    modes = (ROOT / "docs/measurements/suite_tensor_h200.csv").read_text()
    headline += "\n" + suite(suite_csv, limited) + "\n\n" + tensor(modes)

    table = ["| stage | what it changes | variant (* = production) | why | TFLOP/s | % of peak | % of cuBLAS |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for stage, idea in ideas:
        for own_stage, name, production, reason in rows:
            if own_stage == stage:
                rate, peak, cublas = measured.get(f"sgemm_{stage}_{name}", (None, None, None))
                cells = "not measured | | |" if rate is None else f"{rate:.1f} | {peak:.0f} | {cublas:.0f} |"
                table.append(f"| {stage} | {idea} | `{name}`{' *' if production else ''} | {reason} | {cells}")
                idea = ""
    table += ["", f"{problem}. {provenance}; full output in `docs/measurements/ladder_h200.txt`."]
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
        sys.exit("readme_tables.py: README.md is not what tools/readme_tables.py makes of the table and the measurements")


main()
