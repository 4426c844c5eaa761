#!/usr/bin/env python3
"""page_tables.py [--check]: writes the generated tables of the stage pages, docs/<stage>.md, from docs/measurements.

Between <!-- BEGIN name --> and <!-- END name --> stand
  counted     counts_512x768x256_nn.csv, docs/counts.c on the CPU model: a column a row, first the row before the stage
              or that of BESIDE
  measured    ladder_h200.txt, the ladder's own output
  occupancy   counts_occupancy_h200.csv, docs/counts.c on the GPU
With --check nothing is written; a page that differs is an error.
"""
import csv
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).absolute().parent
COUNTS, OCCUPANCY, LADDER = "counts_512x768x256_nn.csv", "counts_occupancy_h200.csv", "ladder_h200.txt"
BESIDE = {"async": "doublebuffered 128x256x8_16x8", "splitk": "async 64x128x16_8x8", "gemv": "splitk 4x32x128_4x4",
          "tma": "async 128x256x16_16x8"}


def read_csv(name):
    """[(stage, rest of the row's name, cells)] in the order of the file; kernels of op NN."""
    rows = []
    for cells in csv.DictReader((DOCS / "measurements" / name).open(newline="")):
        _, stage, tile, thread, _ = cells["kernel"].split("_")
        rows.append((stage, f"{tile}_{thread}", cells))
    return rows


def markdown(lines, left=1):
    """The first line is the heading; `left` columns of text, the others are numbers."""
    rows = [f"| {' | '.join(line)} |" for line in lines]
    rows.insert(1, "|" + " --- |" * left + " ---: |" * (len(lines[0]) - left))
    return "\n".join(rows)


def ratio(a, b):
    return f"{a / b:,.4g}" if b else "-"


def counted(stage):
    rows = read_csv(COUNTS)
    first = next(i for i, row in enumerate(rows) if row[0] == stage)
    before = [row for row in rows if f"{row[0]} {row[1]}" == BESIDE.get(stage)] or rows[max(0, first - 1):first]
    shown = before + [row for row in rows if row[0] == stage]
    lines = [["op NN"] + [f"{of} `{name}`" if of != stage else f"`{name}`" for of, name, _ in shown]]
    columns = []
    for _, _, cells in shown:
        c = {name: int(value) for name, value in cells.items() if name != "kernel"}
        results, flops = c["m"] * c["n"], 2 * c["m"] * c["n"] * c["k"]
        loads = c["global_load_requests"] + c["shared_load_requests"]
        columns.append({
            "FMA instructions": f"{c['fma_instructions']:,}",
            "global load requests": f"{c['global_load_requests']:,}",
            "global load sectors": f"{c['global_load_sectors']:,}",
            "sectors a request": ratio(c["global_load_sectors"], c["global_load_requests"]),
            "elements loaded from global memory a result": ratio(c["global_load_bytes"], 4 * results),
            "FLOP a byte that lanes load from global memory": ratio(flops, c["global_load_bytes"]),
            "FLOP a byte of those sectors": ratio(flops, 32 * c["global_load_sectors"]),
            "shared load requests": f"{c['shared_load_requests']:,}",
            "shared load wavefronts": f"{c['shared_load_wavefronts']:,}",
            "bank conflicts": f"{c['shared_load_conflicts'] + c['shared_store_conflicts']:,}",
            "elements loaded from shared memory a result": ratio(c["shared_load_bytes"], 4 * results),
            "FLOP a byte that lanes load from shared memory": ratio(flops, c["shared_load_bytes"]),
            "FMA instructions a load request": ratio(c["fma_instructions"], loads),
            "clocks of shared loads for 100 of FMAs": ratio(400 * c["shared_load_wavefronts"],
                                                            c["fma_instructions"]),
            "barriers, one a warp": f"{c['barriers']:,}",
        })
    dropped = {"naive": "shared|bank|barrier", "coalesced": "shared|bank|barrier", "tiled": ""}.get(stage, "of those")
    columns = [{name: cell for name, cell in column.items() if not dropped or not re.search(dropped, name)}
               for column in columns]
    lines += [[name] + [column[name] for column in columns] for name in columns[0]]
    size = shown[0][2]
    return (f"{markdown(lines)}\n\nm {size['m']}, n {size['n']}, k {size['k']}, beta 0. Counted by "
            f"[counts.c](counts.c) on the CPU model: [{COUNTS}](measurements/{COUNTS}).")


def measured(stage):
    provenance, problem, device, _, *rest = (DOCS / "measurements" / LADDER).read_text().splitlines()
    lines = [["row", "ms", "TFLOP/s", "% of FMA peak", "% of cuBLAS"]]
    for line in rest:
        if line.startswith(f"sgemm_{stage}_"):
            kernel, ms, gflops, peak, cublas, *_ = line.split()
            lines.append([f"`{kernel.split('_', 2)[2]}`", ms, f"{float(gflops) / 1000:.2f}", peak, cublas])
    size = ", ".join(re.findall(r"[mnk] \d+|op [NT]{2}", problem))
    return f"{markdown(lines)}\n\n{size}. {provenance.lstrip('# ')}: [{LADDER}](measurements/{LADDER})."


def occupancy(stage):
    lines = [["row", "limit", "threads", "registers a thread", "shared bytes a block", "local bytes a thread",
              "blocks an SM", "warps an SM", "%"]]
    for of, name, c in read_csv(OCCUPANCY):
        if of == stage:
            lines.append([f"`{name}`", c["limit"], c["threads"], c["registers"], f"{int(c['shared_bytes']):,}",
                          c["local_bytes"], c["blocks"], c["warps"], c["occupancy_percent"]])
    return (f"{markdown(lines, 2)}\n\nH200, op NN, nvcc 13.0, as `sgemm_occupancy_of()` reports it: "
            f"[{OCCUPANCY}](measurements/{OCCUPANCY}).")


def main():
    different = []
    for stage in dict.fromkeys(row[0] for row in read_csv(COUNTS)):
        page = DOCS / f"{stage}.md"
        old = new = page.read_text()
        for table in (counted, measured, occupancy):
            new = re.sub(rf"(<!-- BEGIN {table.__name__} -->\n).*?(<!-- END {table.__name__} -->)",
                         lambda m: f"{m[1]}{table(stage)}\n{m[2]}", new, flags=re.S)
        if new != old:
            different.append(page.name)
            if "--check" not in sys.argv:
                page.write_text(new)
    if "--check" in sys.argv and different:
        sys.exit(f"page_tables.py: not what the measurements make of them: {', '.join(different)}")


main()
