#!/usr/bin/env python3
"""page_tables.py [--check]: writes the generated tables of the stage pages, docs/stages/<stage>.md.

The tables stand between <!-- BEGIN name --> and <!-- END name -->. Their sources are files in docs/measurements:
  counted     memory requests of a launch of each variant: counts_512x768x256_nn.csv, written by tools/counts.c on the
              CPU model. The first variant of a table is of an earlier stage, for comparison: the last variant of the
              previous stage, or the variant that BESIDE names.
  measured    times and rates: ladder_h200.txt, the output of the ladder.
  occupancy   registers, shared memory, resident blocks: counts_occupancy_h200.csv, written by tools/counts.c on a GPU.
With --check the script writes nothing, and a page that differs from its sources is an error.
"""
import csv
import pathlib
import re
import textwrap

import generated

DOCS = pathlib.Path(__file__).absolute().parent.parent / "docs"
COUNTS, OCCUPANCY, LADDER = "counts_512x768x256_nn.csv", "counts_occupancy_h200.csv", "ladder_h200.txt"
BESIDE = {"async": "doublebuffered 128x256x8_16x8", "splitk": "async 64x128x16_8x8",
          "direct": "coalesced 32x32x1_1x1", "gemv": "splitk 4x32x128_4x4", "tma": "async 128x256x16_16x8",
          "clustered": "tma 32x32x128_16x8"}
WIDEST = 5  # the most variants with a column each; more variants have a line each


def read_csv(name):
    """[(stage, tiles of the variant's name, cells)] in the order of the file; kernels of op NN, or N where they read the other op."""
    rows = []
    for cells in csv.DictReader((DOCS / "measurements" / name).open(newline="")):
        _, stage, tile, thread, *_ = cells["kernel"].split("_")  # behind them letters of ops, or none
        rows.append((stage, f"{tile}_{thread}", cells))
    return rows


def link(name):
    return f"[{name}](../measurements/{name})"


def source(text):
    """The paragraph below a table."""
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)


def markdown(lines, left=1):
    """The first line is the heading. The first `left` columns are texts, the others numbers."""
    rows = [f"| {' | '.join(line)} |" for line in lines]
    rows.insert(1, "|" + " --- |" * left + " ---: |" * (len(lines[0]) - left))
    return "\n".join(rows)


def ratio(a, b):
    return f"{a / b:,.4g}" if b else "-"


def counters(cells):
    """{heading: cell} of FMAs and global memory, and {heading: cell} of shared memory, ratios and barriers."""
    c = {name: int(value) for name, value in cells.items() if name != "kernel"}
    results, flops = c["m"] * c["n"], 2 * c["m"] * c["n"] * c["k"]
    loads = c["global_load_requests"] + c["shared_load_requests"]
    return {
        "FMA instructions of warps": f"{c['fma_instructions']:,}",
        "global load requests": f"{c['global_load_requests']:,}",
        "global load sectors": f"{c['global_load_sectors']:,}",
        "sectors per global load request": ratio(c["global_load_sectors"], c["global_load_requests"]),
        "elements loaded from global memory per result": ratio(c["global_load_bytes"], 4 * results),
        "FLOP per byte that lanes load from global memory": ratio(flops, c["global_load_bytes"]),
        "FLOP per byte of global load sectors": ratio(flops, 32 * c["global_load_sectors"]),
    }, {
        "shared load requests": f"{c['shared_load_requests']:,}",
        "shared load wavefronts": f"{c['shared_load_wavefronts']:,}",
        "bank conflicts of shared loads and stores": f"{c['shared_load_conflicts'] + c['shared_store_conflicts']:,}",
        "elements loaded from shared memory per result": ratio(c["shared_load_bytes"], 4 * results),
        "FLOP per byte that lanes load from shared memory": ratio(flops, c["shared_load_bytes"]),
        "FMA instructions per load request": ratio(c["fma_instructions"], loads),
        "clocks of shared loads per 100 clocks of FMAs": ratio(400 * c["shared_load_wavefronts"],
                                                               c["fma_instructions"]),
        "barrier instructions of warps": f"{c['barriers']:,}",
    }


def counted(stage):
    rows = read_csv(COUNTS)
    first = next(i for i, row in enumerate(rows) if row[0] == stage)
    before = [row for row in rows if f"{row[0]} {row[1]}" == BESIDE.get(stage)] or rows[max(0, first - 1):first]
    shown = before + [row for row in rows if row[0] == stage]
    names = [f"{of} `{name}`" if of != stage else f"`{name}`" for of, name, _ in shown]
    hidden = {"naive": "shared|bank|barrier", "coalesced": "shared|bank|barrier", "tiled": "$^"}.get(stage, "of global")
    groups = [[{name: cell for name, cell in cells.items() if not re.search(hidden, name)} for cells in group]
              for group in zip(*(counters(cells) for _, _, cells in shown))]
    if len(shown) > WIDEST:
        tables = [markdown([["variant", *group[0]]] + [[name, *cells.values()] for name, cells in zip(names, group)])
                  for group in groups]
    else:
        tables = [markdown([["counter", *names]] + [[name] + [cells[name] for cells in group]
                                                    for group in groups for name in group[0]])]
    size = shown[0][2]
    tables.append(source(f"m {size['m']}, n {size['n']}, k {size['k']}, op NN, beta 0. Counted on the CPU model by "
                         f"[tools/counts.c](../../tools/counts.c): {link(COUNTS)}."))
    return "\n\n".join(tables)


def measured(stage):
    """The table, or None if the stage has no measurement."""
    provenance, problem, device, _, *rest = (DOCS / "measurements" / LADDER).read_text().splitlines()
    peak, = re.findall(r"FMA peak ([\d.]+) TFLOP/s", device)
    cublas, = re.findall(r"cuBLAS SGEMM [\d.]+ ms, ([\d.]+) TFLOP/s", device)
    lines = [["variant", "time, ms", "rate, TFLOP/s", f"% of the FMA peak, {peak} TFLOP/s",
              f"% of cuBLAS SGEMM, {cublas} TFLOP/s"]]
    for line in rest:
        if line.startswith(f"sgemm_{stage}_"):
            kernel, ms, gflops, of_peak, of_cublas, *_ = line.split()
            lines.append([f"`{kernel.split('_', 2)[2]}`", ms, f"{float(gflops) / 1000:.2f}", of_peak, of_cublas])
    if len(lines) == 1:
        return None
    size = ", ".join(re.findall(r"[mnk] \d+|op [NT]{2}", problem))
    caches = "L2-cold" if "cold" in problem else "L2-warm"
    text = f"{size}, {caches}. {provenance.lstrip('# ')}: {link(LADDER)}."
    return f"{markdown(lines)}\n\n{source(text)}"


def occupancy(stage):
    """The table, or None if the file has no kernel of the stage."""
    lines = [["variant", "limited by", "threads per block", "registers per thread", "shared memory per block, bytes",
              "local memory per thread, bytes", "resident blocks per SM", "resident warps per SM", "occupancy, %"]]
    for of, name, c in read_csv(OCCUPANCY):
        if of == stage:
            lines.append([f"`{name}`", c["limit"], c["threads"], c["registers"], f"{int(c['shared_bytes']):,}",
                          c["local_bytes"], c["blocks"], c["warps"], c["occupancy_percent"]])
    if len(lines) == 1:
        return None
    text = f"H200, op NN, nvcc 13.0, computed by `sgemm_occupancy_of()`: {link(OCCUPANCY)}."
    return f"{markdown(lines, 2)}\n\n{source(text)}"


def tables(stage):
    found = {table.__name__: table(stage) for table in (counted, measured, occupancy)}
    return {name: text for name, text in found.items() if text is not None}


generated.main("page_tables.py", {DOCS / "stages" / f"{stage}.md": tables(stage)
                                  for stage in dict.fromkeys(row[0] for row in read_csv(COUNTS))})
