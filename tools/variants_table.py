#!/usr/bin/env python3
"""variants_table.py [--check]: writes the generated tables of docs/variants.md.

The tables stand between <!-- BEGIN name --> and <!-- END name -->:
  variants  every variant of sgemm/variants.h with its reason, and the suite shapes for which sgemm_run() selects it
  tensor    every tensor-core variant with its reason, and the suite shapes for which sgemm_run() selects it
  stages    the fastest variant at 4096 x 4096 x 4096 of each stage that the production build leaves out
Their sources are the ladder's output in docs/measurements: suite_h200.csv, suite_tensor_h200.csv and ladder_h200.txt. A
plan has the columns cluster_k, split_k, stream_k and serial_k, or, in files of version 0.1, ranks and planes. The column mode is
warm or cold, in files of version 0.1 hot or cold.
With --check the script writes nothing, and a page that differs from its sources is an error.
"""
import csv
import math
import pathlib
import re
import sys
import textwrap

import generated

ROOT = pathlib.Path(__file__).absolute().parent.parent
PAGE = ROOT / "docs" / "variants.md"
SUITE, TENSOR_SUITE, LADDER = "suite_h200.csv", "suite_tensor_h200.csv", "ladder_h200.txt"
MODES = {"production_tensor": "`SGEMM_TENSOR`", "production_tensor_full": "`SGEMM_TENSOR_FULL`"}


def rows_of(table):
    """[[cell]] of an X-macro table of sgemm/variants.h. Text cells have no quotes."""
    text = (ROOT / "sgemm" / "variants.h").read_text()
    body = re.search(rf"#define {table}\(X\)((?:.*\\\n)+.*)", text)[1]
    rows = re.findall(r'X\(((?:[^()"]|"[^"]*")*)\)', body)
    return [[quoted or plain.strip() for quoted, plain in re.findall(r'\s*(?:"([^"]*)"|([^,"]+))\s*,?', row)]
            for row in rows]


def variants():
    """[(stage, name without its prefixes, column prod, reason)] in the order of the table."""
    return [(c[0], "{}x{}x{}_{}x{}".format(*c[1:6]), c[12], c[13]) for c in rows_of("SGEMM_VARIANTS")]


def is_cold(cells):
    mode = cells["mode"]
    if mode not in ("hot", "warm", "cold"):
        sys.exit(f"variants_table.py: mode {mode} is neither warm nor cold")
    return mode == "cold"


def plan_of(cells):
    """The fields of the plan that are on, such as "split_k 8" or "stream_k 132", or an empty text."""
    keys = ("cluster_k", "split_k", "stream_k", "serial_k", "ranks", "planes")
    number = {key: int(float(cells.get(key) or 0)) for key in keys}
    if "ranks" in cells:
        stream = number["planes"] if cells["picked"].startswith("sgemm_tma_") else 1
        number["cluster_k"] = number["ranks"]
        number["split_k"] = 1 if stream > 1 else number["planes"]
        number["stream_k"] = stream if stream > 1 else 0
    fields = (("cluster_k", 1), ("split_k", 1), ("stream_k", 0), ("serial_k", 1))
    return ", ".join(f"{key} {number[key]}" for key, off in fields if number[key] > off)


def picked(name, subjects):
    """{kernel: [(subject, shape, plan, cuBLAS's time over ours L2-cold, L2-warm)]} in the order of the file."""
    cold, warm = {}, {}
    for cells in csv.DictReader((ROOT / "docs" / "measurements" / name).open(newline="")):
        if cells["variant"] in subjects:
            (cold if is_cold(cells) else warm)[cells["variant"], cells["shape"]] = cells
    found = {}
    for (subject, shape), cells in cold.items():
        size = " x ".join(cells[key] for key in "mnk") + f" {cells['op']}"
        size += f", batch {cells['batch']}" if cells["batch"] != "1" else ""
        ratios = [float(of["percent_of_cublas"]) / 100 for of in (cells, warm[subject, shape])]
        found.setdefault(cells["picked"], []).append((subject, f"{shape}: {size}", plan_of(cells), *ratios))
    return found


def link(name):
    return f"[{name}](measurements/{name})"


def markdown(lines, numbers):
    """The first line is the heading. The last `numbers` columns are numbers, the others texts."""
    rows = [f"| {' | '.join(line)} |" for line in lines]
    rows.insert(1, "|" + " --- |" * (len(lines[0]) - numbers) + " ---: |" * numbers)
    return "\n".join(rows)


def paragraph(text):
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)


def shape_lines(head, shapes):
    """A line for each shape. Only the first line has the cells of `head`."""
    return [(head if i == 0 else [""] * len(head)) + [shape, plan, f"{cold:.2f}", f"{warm:.2f}"]
            for i, (_, shape, plan, cold, warm) in enumerate(shapes)]


def variants_table():
    found = picked(SUITE, ("production",))
    counts = {}
    lines = [["variant", "reason", "suite shape", "plan", "L2-cold", "L2-warm"]]
    for stage, name, production, reason in variants():
        shapes = found.pop(f"sgemm_{stage}_{name}", [])
        head = [f"`{stage}_{name}`", reason]
        missing = "no suite shape" + {"0": ", not in production", "1": "", "75": ", in production before sm_80",
                                      "89": ", in production before sm_90"}[production]
        lines += shape_lines(head, shapes) or [head + [missing, "", "", ""]]
        key = production == "1", bool(shapes)
        counts[key] = counts.get(key, 0) + 1
    if found or counts.get((False, True)):
        sys.exit(f"variants_table.py: {SUITE} has shapes of variants that production does not have: {', '.join(found)}")
    ratios = [float(line[4]) for line in lines[1:] if line[4]]
    text = (f"{len(ratios)} suite shapes, on {counts[True, True]} of the {counts[True, True] + counts[True, False]} "
            f"production variants. L2-cold and L2-warm: cuBLAS's time over this library's time, both from one run, "
            f"{min(ratios):.2f} to {max(ratios):.2f} L2-cold. Source: {link(SUITE)}.")
    return f"{markdown(lines, 2)}\n\n{paragraph(text)}"


def tensor_table():
    found = picked(TENSOR_SUITE, MODES)
    strict = {f"sgemm_{stage}_{name}" for stage, name, _, _ in variants()}
    lines = [["variant", "reason", "suite shape", "plan", "L2-cold", "L2-warm"]]
    for engine, form, BM, BN, *_, reason in rows_of("SGEMM_TENSOR_VARIANTS"):
        name = f"{engine}_{form}_{BM}x{BN}"
        shapes = found.pop(f"sgemm_{name}", [])
        head = [f"`{name}`", reason]
        lines += shape_lines(head, shapes) or [head + ["no suite shape", "", "", ""]]
    if set(found) - strict:
        sys.exit(f"variants_table.py: {TENSOR_SUITE} has unknown variants: {', '.join(set(found) - strict)}")
    fallen = [subject for shapes in found.values() for subject, *_ in shapes]
    counts = " and ".join(f"{fallen.count(subject)} in {mode}" for subject, mode in MODES.items())
    text = (f"L2-cold and L2-warm: the time of cuBLAS SGEMM over this library's time, the operands' split included. "
            f"For the other suite shapes, {counts}, the selection takes a strict variant. "
            f"Source: {link(TENSOR_SUITE)}.")
    return f"{markdown(lines, 2)}\n\n{paragraph(text)}"


def stages_table():
    provenance, problem, device, _, *rest = (ROOT / "docs" / "measurements" / LADDER).read_text().splitlines()
    cublas, = re.findall(r"cuBLAS SGEMM [\d.]+ ms, ([\d.]+) TFLOP/s", device)
    of_stage = {}
    for stage, name, production, _ in variants():
        of_stage.setdefault(stage, []).append((name, production))
    lines = [["stage", "fastest variant", "rate, TFLOP/s", f"% of cuBLAS SGEMM, {cublas} TFLOP/s"]]
    for stage, entries in of_stage.items():
        if any(production == "1" for _, production in entries):
            continue
        rates = {}
        for line in rest:
            if line.startswith("sgemm_") and line.split()[0].removeprefix(f"sgemm_{stage}_") in dict(entries):
                kernel, _, gflops, _, of_cublas, *_ = line.split()
                rates[kernel] = float(gflops), of_cublas
        best = max(rates, key=rates.get)
        lines.append([stage, f"`{best.removeprefix('sgemm_')}`", f"{rates[best][0] / 1000:.2f}", rates[best][1]])
    size = ", ".join(re.findall(r"[mnk] \d+|op [NT]{2}", problem))
    text = (f"{size}, {'L2-cold' if 'cold' in problem else 'L2-warm'}. {provenance.lstrip('# ')}. "
            f"Source: {link(LADDER)}.")
    return f"{markdown(lines, 2)}\n\n{paragraph(text)}"


generated.main("variants_table.py", {PAGE: {"variants": variants_table(), "tensor": tensor_table(),
                                            "stages": stages_table()}})
