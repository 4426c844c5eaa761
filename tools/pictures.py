#!/usr/bin/python3
"""pictures.py PICTURE [--out FILE] [--note TEXT] FILE...: draws the measurements as PNG, 900 pixels wide.

The script runs with the system's interpreter, which finds Debian's python3-matplotlib. From the repository's root:

  cd docs/measurements
  ../../tools/pictures.py speedup  --out ../pictures/speedup.png  --note "NVIDIA H200, DATE" suite_h200.csv
  ../../tools/pictures.py stages   --out ../pictures/stages.png   ladder_h200.json
  ../../tools/pictures.py rates    --out ../pictures/rates.png    --note "NVIDIA H200, DATE" suite_tensor_h200.csv
  ../../tools/pictures.py roofline --out ../pictures/roofline.png traffic_h200.csv ladder_h200.json
  ../../tools/pictures.py accuracy --out ../pictures/accuracy.png --note "NVIDIA H200, DATE" accuracy_h200.csv

The small print of a picture names its file, device and date. A file of ladder --json holds device and date. For a CSV,
--note gives them. `pictures.py traffic` makes traffic_h200.csv from the CSV output of Nsight Compute. The exit status is
0, or 2 with one line on standard error.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import re
import sys

# Okabe and Ito's palette, which readers with a colour vision deficiency can tell apart: https://jfly.uni-koeln.de/color
# A colour has one meaning in all pictures.
BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION = "#000000", "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00"
GREY, PALE = "#666666", "#dddddd"
DPI = 100
WIDTH = 9.0  # inches: 900 pixels, as wide as GitHub shows a README
VARIANTS = pathlib.Path(__file__).resolve().parent.parent / "sgemm/variants.h"


def fail(message):
    print(f"pictures.py: {message}", file=sys.stderr)
    sys.exit(2)


# ---- Reading --------------------------------------------------------------------------------------------------------


def stages():
    """The names of the stages in reading order."""
    try:
        table = VARIANTS.read_text().split("#define SGEMM_STAGES(X)", 1)[1].split("\n\n", 1)[0]
    except (OSError, IndexError) as error:
        fail(f"{VARIANTS}: no table of the stages ({error.__class__.__name__})")
    return re.findall(r"X\((\w+),", table)


def number(text):
    """The number in a field of CSV or JSON, or None."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def load(path):
    """(context, rows) of a file of ladder --json, or of ladder --csv, which has no context. Skips wrong results."""
    try:
        text = pathlib.Path(path).read_text()
        if text.lstrip().startswith("{"):
            data = json.loads(text)
            context, found = data["context"], data["benchmarks"]
        else:
            context, found = {}, list(csv.DictReader(text.splitlines()))
        rows = []
        for row in found:
            if row.get("error_occurred") or "WRONG" in row.values() or not number(row.get("time_ms")):
                continue
            row = {**row, **{side: int(row[side]) for side in ("m", "n", "k", "batch")}}
            row.update(time_ms=float(row["time_ms"]), gflops=float(row["gflops"]), op=row["op"], variant=row["variant"])
            row["l2"] = {"hot": "warm"}.get(row["mode"], row["mode"].removeprefix("L2-"))
            rows.append(row)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        fail(f"{path}: not a file of ladder --json or --csv ({error.__class__.__name__})")
    if not rows:
        fail(f"{path}: no times, which a GPU's file holds")
    return context, rows


def source(path, context, note):
    """The small print: file, device and date."""
    words = [pathlib.Path(path).name]
    if context.get("gpu"):
        words += [context["gpu"]] + [f"{name} {context[key]}" for key, name in
                                     (("driver", "driver"), ("cuda_runtime", "CUDA"), ("cublas", "cuBLAS"))
                                     if context.get(key)]
        words += [context["date"][:10]] if context.get("date") else []
    if note:
        words.append(note)
    return ", ".join(words)


def geometric_mean(values):
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def power_of_two(size):
    return size & (size - 1) == 0


# ---- Drawing --------------------------------------------------------------------------------------------------------


def plotter():
    try:
        import matplotlib
    except ImportError:
        fail("needs matplotlib; on Debian and Ubuntu: apt-get install python3-matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    matplotlib.rcParams.update({"font.family": "DejaVu Sans", "font.size": 9.5, "axes.titlesize": 12})
    return plt


def canvas(plt, height, title, small_print, width=WIDTH):
    """A figure with a title at its top left and small print at its bottom left; height in pixels."""
    figure = plt.figure(figsize=(width, height / DPI))
    figure.text(10 / (width * DPI), 1 - 8 / height, title, ha="left", va="top", fontsize=12, fontweight="bold")
    figure.text(10 / (width * DPI), 6 / height, small_print, ha="left", va="bottom", fontsize=7.5, color=GREY,
                linespacing=1.3)
    return figure


def axes_at(figure, left, top, right, bottom):
    """Axes whose frame has these distances in pixels from the edges of the figure."""
    width, height = figure.get_size_inches() * DPI
    return figure.add_axes([left / width, bottom / height, (width - left - right) / width,
                            (height - top - bottom) / height])


def bare(axes, *sides):
    for side in sides:
        axes.spines[side].set_visible(False)


def save(plt, figure, path):
    """Saves a PNG without matplotlib's version, so that equal data give equal files."""
    try:
        figure.savefig(path, dpi=DPI, format="png", metadata={"Software": None}, pil_kwargs={"optimize": True})
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    plt.close(figure)


def spread_out(wanted, distance, low, high):
    """Moves ascending positions so that neighbours differ by at least `distance` and all are between low and high."""
    moved = []
    for position in wanted:
        moved.append(max(position, moved[-1] + distance if moved else low))
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], high if i + 1 == len(moved) else moved[i + 1] - distance)
    return moved


# ---- speedup --------------------------------------------------------------------------------------------------------

KINDS = ("squares", "squares, transposed", "not powers of two", "large rectangles", "one row or column",
         "few rows or columns", "short k", "long k", "batches")


def kind_of(m, n, k, batch, op):
    if batch > 1:
        return "batches"
    if min(m, n) == 1:
        return "one row or column"
    if m == n == k and power_of_two(m):
        return "squares" if op == "NN" else "squares, transposed"
    if max(m, n, k) < 2 * min(m, n, k):
        return "not powers of two"
    if 8 * k < min(m, n):
        return "short k"
    if k > 8 * max(m, n):
        return "long k"
    return "few rows or columns" if min(m, n) <= 128 else "large rectangles"


def named(m, n, k, batch, op):
    return f"{f'{batch} of ' if batch > 1 else ''}{m} x {n} x {k}{f'  {op}' if op != 'NN' else ''}"


def speedups(rows):
    """{shape: {L2 state: cuBLAS's time over that of sgemm_run()}} in the order of the file."""
    times = {}
    for row in rows:
        shape = tuple(row[key] for key in ("m", "n", "k", "batch", "op"))
        times.setdefault(shape, {})[row["variant"], row["l2"]] = row["time_ms"]
    found = {}
    for shape, of in times.items():
        ratios = {l2: of["cublas", l2] / of["production", l2] for l2 in ("cold", "warm")
                  if ("cublas", l2) in of and ("production", l2) in of}
        if ratios:
            found[shape] = ratios
    return found


def draw_speedup(arguments):
    context, rows = load(arguments.file)
    found = speedups(rows)
    if not found:
        fail(f"{arguments.file}: no shape with the times of production and cublas")
    groups = [(kind, [shape for shape in found if kind_of(*shape) == kind]) for kind in KINDS]
    groups = [group for group in groups if group[1]]
    lines = sum(1 + len(shapes) for _, shapes in groups)
    columns = [[], []]
    for group in groups:  # the second column begins with the group with which the first would exceed half of all lines
        first = sum(1 + len(shapes) for _, shapes in columns[0])
        columns[bool(columns[1]) or first + 1 + len(group[1]) > (lines + 3) // 2].append(group)
    deepest = max(sum(1 + len(shapes) for _, shapes in column) for column in columns)
    means = {l2: geometric_mean([ratios[l2] for ratios in found.values() if l2 in ratios]) for l2 in ("cold", "warm")
             if any(l2 in ratios for ratios in found.values())}
    most = max(max(ratios.values()) for ratios in found.values())

    plt = plotter()
    height = 19 * deepest + 144
    said = ", ".join(f"{mean:.2f} L2-{l2}" for l2, mean in means.items())
    figure = canvas(plt, height, f"Speed-up over cuBLAS SGEMM: geometric mean {said}",
                    f"Strict fp32, {len(found)} shapes m x n x k, op NN where none is named. L2-warm: repeated calls "
                    "on the same operands; L2-cold: twice the L2's size of other operands in between.\n"
                    f"{source(arguments.file, context, arguments.note)}")
    for column, left, right in zip(columns, (170, 626), (468, 12)):
        axes = axes_at(figure, left, 62, right, 78)
        y, labels = 0, []
        for kind, shapes in column:
            axes.text(-156 / (WIDTH * DPI - left - right), y, kind, transform=axes.get_yaxis_transform(), ha="left",
                      va="center", fontweight="bold", fontsize=9)
            y += 1
            for shape in shapes:
                ratios = found[shape]
                labels.append((y, named(*shape)))
                if "cold" in ratios:
                    axes.barh(y, ratios["cold"], height=0.7, color=BLUE if ratios["cold"] >= 1 else VERMILION)
                if "warm" in ratios:
                    axes.plot([ratios["warm"]], [y], "o", color="white", markeredgecolor=BLACK, markersize=5, zorder=4)
                axes.text(max(ratios.values()) + 0.035 * most, y, f"{ratios.get('cold', max(ratios.values())):.2f}",
                          va="center", ha="left", fontsize=8.5)
                y += 1
        axes.axvline(1, color=BLACK, linewidth=1.4, zorder=3)
        axes.set_ylim(deepest - 0.4, -0.6)
        axes.set_xlim(0, 1.14 * most)
        axes.set_yticks([y for y, _ in labels])
        axes.set_yticklabels([label for _, label in labels], fontsize=8.5)
        axes.tick_params(axis="y", length=0)
        axes.tick_params(axis="x", labelsize=8.5)
        axes.xaxis.set_major_locator(plt.MultipleLocator(0.5 if most < 4 else 1))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel("cuBLAS's time / time of sgemm_run()", fontsize=8.5, labelpad=2)
        axes.grid(True, axis="x", color=PALE, linewidth=0.6)
        axes.set_axisbelow(True)
        bare(axes, "top", "right", "left")
    handles = [plt.Rectangle((0, 0), 1, 1, color=BLUE),
               plt.Line2D([], [], marker="o", color="white", markeredgecolor=BLACK, markersize=5, linestyle="none"),
               plt.Line2D([], [], color=BLACK, linewidth=1.4)]
    words = ["L2-cold, with its number", "L2-warm", "1.0: as fast as cuBLAS"]
    figure.legend(handles, words, loc="upper left", bbox_to_anchor=(0.004, 1 - 30 / height), ncol=3, frameon=False,
                  fontsize=9, handlelength=1.6, columnspacing=2)
    save(plt, figure, arguments.out)


# ---- stages ---------------------------------------------------------------------------------------------------------


def draw_stages(arguments):
    context, rows = load(arguments.file)
    problems = {}
    for row in rows:
        key = row["m"], row["n"], row["k"], row["batch"], row["op"], row["l2"]
        problems.setdefault(key, {}).setdefault(row["variant"], row)
    problem, timed = max(problems.items(), key=lambda item: (len(item[1]), math.prod(item[0][:4])))
    m, n, k, batch, op, l2 = problem
    best = {}
    for row in timed.values():
        if row.get("stage") and row["gflops"] > best.get(row["stage"], (0, None))[0]:
            best[row["stage"]] = row["gflops"], row["variant"]
    if min(m, n) > 1:
        best.pop("gemv", None)
    if not best or "cublas" not in timed or "production" not in timed:
        fail(f"{arguments.file}: not the rates of stages, production and cublas at one size")
    bars = [(stage, best[stage][0] / 1e3, SKY) for stage in stages() if stage in best]
    bars.append(("sgemm_run()", timed["production"]["gflops"] / 1e3, BLUE))
    cublas = timed["cublas"]["gflops"] / 1e3
    ceiling = context["ffma_gflops"] / 1e3 if context.get("ffma_gflops") else None

    plt = plotter()
    height = 26 * len(bars) + 150
    figure = canvas(plt, height, f"The best variant of each stage: TFLOP/s at {m} x {n} x {k}",
                    f"Strict fp32, op {op}{f', batch {batch}' if batch > 1 else ''}, L2-{l2}. sgemm_run() picks a "
                    "plan. splitk and clustered are for small results with a long k, direct for a short k; gemv is "
                    "left out.\n"
                    f"{source(arguments.file, context, arguments.note)}")
    axes = axes_at(figure, 124, 62, 156, 80)
    most = max([rate for _, rate, _ in bars] + [cublas, ceiling or 0])
    for y, (name, rate, colour) in enumerate(bars):
        axes.barh(y, rate, height=0.72, color=colour)
        for x, text, weight in ((62, f"{rate:.1f}" if rate >= 1 else f"{rate:.2f}", "bold"),
                                (142, f"{100 * rate / cublas:.0f} %", "normal")):
            axes.annotate(text, (1, y), xycoords=axes.get_yaxis_transform(), xytext=(x * 72 / DPI, 0),
                          textcoords="offset points", va="center", ha="right", fontweight=weight, annotation_clip=False)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlim(0, 1.01 * most)
    for x, text in ((62, "TFLOP/s"), (142, "of cuBLAS")):
        axes.annotate(text, (1, 1), xycoords="axes fraction", xytext=(x * 72 / DPI, 5), textcoords="offset points",
                      va="bottom", ha="right", fontsize=9, color=GREY)
    axes.axvline(cublas, color=BLACK, linewidth=1.5)
    axes.annotate(f"cuBLAS {cublas:.1f}", (cublas, 1), xycoords=axes.get_xaxis_transform(), xytext=(0, 5),
                  textcoords="offset points", va="bottom", ha="right" if ceiling else "center", fontweight="bold")
    if ceiling:
        axes.axvline(ceiling, color=VERMILION, linewidth=1.5, linestyle="--")
        axes.annotate(f"FFMA {ceiling:.1f}", (ceiling, 1), xycoords=axes.get_xaxis_transform(), xytext=(0, 5),
                      textcoords="offset points", va="bottom", ha="right", color=VERMILION)
    axes.set_yticks(range(len(bars)))
    axes.set_yticklabels([name for name, _, _ in bars], fontsize=10)
    axes.get_yticklabels()[-1].set_fontweight("bold")
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("TFLOP/s" + ("; FFMA: measured rate of fused multiply-adds" if ceiling else ""), labelpad=2)
    axes.grid(True, axis="x", color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    bare(axes, "top", "right", "left")
    save(plt, figure, arguments.out)


# ---- rates ----------------------------------------------------------------------------------------------------------

CURVES = (("production_tensor", "tensor (fp16x3)", ORANGE, "D", "-"),
          ("production_tensor_full", "full range (bf16x6)", GREEN, "^", "-"),
          ("production", "strict", BLUE, "o", "-"),
          ("cublas", "cuBLAS SGEMM", BLACK, "s", "--"))


def draw_rates(arguments):
    context, rows = load(arguments.file)
    curves, picked = {}, {}
    for row in rows:
        if row["m"] == row["n"] == row["k"] and power_of_two(row["m"]) and row["batch"] == 1 and row["op"] == "NN":
            curves.setdefault(row["l2"], {}).setdefault(row["variant"], {})[row["m"]] = row["gflops"] / 1e3
            picked.setdefault((row["l2"], row["m"]), {})[row["variant"]] = row.get("picked")
    l2 = "cold" if "cold" in curves else "warm"
    curves = {name: curves[l2][name] for name, *_ in CURVES if len(curves.get(l2, {}).get(name, ())) > 1}
    if len(curves) < 2:
        fail(f"{arguments.file}: no rates of production and cublas at two squares or more")
    strict = [size for (state, size), of in picked.items() if state == l2 and of.get("production") and
              of.get("production_tensor") == of["production"]]

    plt = plotter()
    height = 440
    figure = canvas(plt, height, "Rate over size, m = n = k: tensor modes, strict fp32 and cuBLAS SGEMM",
                    "sgemm_run() end to end, the operands' split of the tensor modes included; op NN, "
                    f"L2-{l2}, powers of two."
                    f"{f' Up to {max(strict)} the tensor mode runs strict variants.' if strict else ''}\n"
                    f"{source(arguments.file, context, arguments.note)}")
    axes = axes_at(figure, 62, 50, 198, 84)
    ends = []
    for name, label, colour, marker, style in CURVES:
        if name in curves:
            sizes = sorted(curves[name])
            rates = [curves[name][size] for size in sizes]
            axes.plot(sizes, rates, color=colour, marker=marker, markersize=5, linestyle=style, linewidth=1.8)
            ends.append((rates[-1], f"{label}  {rates[-1]:.0f}", colour))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    sizes = sorted({size for curve in curves.values() for size in curve})
    axes.set_xticks(sizes)
    axes.set_xticklabels([str(size) for size in sizes])
    low = min(min(curve.values()) for curve in curves.values())
    high = max(max(curve.values()) for curve in curves.values())
    axes.set_ylim(0.8 * low, 1.25 * high)
    ticks = [step * 10 ** power for power in range(-3, 5) for step in (1, 2, 5)]
    axes.set_yticks([tick for tick in ticks if 0.8 * low <= tick <= 1.25 * high])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.minorticks_off()
    axes.set(xlabel="m = n = k", ylabel="TFLOP/s")
    axes.grid(True, color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    bare(axes, "top", "right")
    to_axes = axes.transData + axes.transAxes.inverted()
    ends.sort()
    at = spread_out([to_axes.transform((sizes[-1], rate))[1] for rate, _, _ in ends], 0.065, 0, 1)
    for (_, label, colour), y in zip(ends, at):
        axes.text(1.01, y, label, transform=axes.transAxes, color=colour, va="center", fontweight="bold")
    axes.annotate(f"TFLOP/s at {sizes[-1]}", (1.01, at[-1]), xycoords="axes fraction", xytext=(0, 11),
                  textcoords="offset points", fontsize=8.5, color=GREY)
    save(plt, figure, arguments.out)


# ---- traffic --------------------------------------------------------------------------------------------------------

KERNEL = re.compile(r"sgemm_([a-z0-9]+)_\d+x\d+x\d+_\d+x\d+(?:_[nt]{1,2})?(?![a-z0-9_])")
BYTES, TIME = "dram__bytes.sum", "gpu__time_duration.sum"
COLUMNS = ("kernel", "m", "n", "k", "dram_bytes", "time_ms")
# Nsight Compute scales the unit of each metric, depending on its version. Unscaled units (--print-units base) work too.
PREFIXES = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
SECONDS = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1}


def scaled(metric, text, unit):
    """The value of a metric in bytes or milliseconds."""
    value, unit = float(text.replace(",", "")), unit.strip()
    if metric == BYTES:
        return value * PREFIXES[re.fullmatch(r"([kmgt]?)(bytes?|b)", unit.lower())[1]]
    return 1e3 * value * SECONDS[re.fullmatch(r"([num]?)(seconds?|s)", unit.lower())[1]]


def counted(path):
    """[(kernel, {metric: value})] for each launch in the CSV of ncu, which has a line or a column for each metric."""
    with open(path, newline="") as file:
        lines = list(csv.reader(line for line in file if not line.startswith("==")))
    launches, header, units = {}, None, {}
    for cells in lines:
        if "Kernel Name" in cells and "ID" in cells:
            header, units = cells, {}
        elif header and len(cells) == len(header):
            row = dict(zip(header, cells))
            if not row["ID"]:  # the line of units
                units = row
                continue
            metrics = launches.setdefault(row["ID"], (row["Kernel Name"], {}))[1]
            if "Metric Name" in row:
                if row["Metric Name"] in (BYTES, TIME):
                    metrics[row["Metric Name"]] = scaled(row["Metric Name"], row["Metric Value"], row["Metric Unit"])
            else:
                metrics.update((name, scaled(name, row[name], units[name])) for name in (BYTES, TIME))
    return list(launches.values())


def write_traffic(arguments):
    m, n, k = arguments.size
    rows, others = {}, set()
    try:
        for name, metrics in counted(arguments.file):
            kernel = KERNEL.search(name)
            if kernel:
                rows.setdefault(kernel[0], []).append((metrics[BYTES], metrics[TIME]))
            else:
                others.add(name)
    except (OSError, ValueError, KeyError, TypeError) as error:
        fail(f"{arguments.file}: not a CSV of ncu with {BYTES} and {TIME} ({error.__class__.__name__})")
    if not rows:
        fail(f"{arguments.file}: no launch of a variant's kernel")
    if others:
        print(f"pictures.py: left out, no variant's kernels: {', '.join(sorted(others))}", file=sys.stderr)
    try:
        lines = [",".join(COLUMNS)]
        if arguments.append and pathlib.Path(arguments.out).exists():
            lines = pathlib.Path(arguments.out).read_text().splitlines()
            if lines[:1] != [",".join(COLUMNS)]:
                fail(f"{arguments.out}: not a file of pictures.py traffic")
        for kernel, launches in rows.items():  # a kernel with several launches has their mean
            moved, time = (sum(values) / len(launches) for values in zip(*launches))
            lines.append(f"{kernel},{m},{n},{k},{moved:.0f},{time:.9g}")
        pathlib.Path(arguments.out).write_text("\n".join(lines) + "\n")
    except OSError as error:
        fail(f"{arguments.out}: {error.strerror}")


# ---- roofline -------------------------------------------------------------------------------------------------------


def read_traffic(path):
    """{(stage, m, n, k): (FLOP per DRAM byte, TFLOP/s)} of each stage's fastest kernel at each size."""
    points = {}
    try:
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                stage = KERNEL.search(row["kernel"])[1]
                m, n, k = (int(row[side]) for side in ("m", "n", "k"))
                flop = 2 * m * n * k
                point = flop / float(row["dram_bytes"]), flop / float(row["time_ms"]) / 1e9
                if (stage != "gemv" or min(m, n) == 1) and point[1] > points.get((stage, m, n, k), (0, 0))[1]:
                    points[stage, m, n, k] = point
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        fail(f"{path}: not a file of pictures.py traffic ({error.__class__.__name__})")
    if not points:
        fail(f"{path}: no kernel")
    return points


def draw_roofline(arguments):
    points = read_traffic(arguments.file)
    context, _ = load(arguments.ladder)
    if not context.get("ffma_gflops") or not context.get("copy_gbs"):
        fail(f"{arguments.ladder}: no measured ceilings, which ladder --json holds on a GPU")
    peak, bandwidth = context["ffma_gflops"] / 1e3, context["copy_gbs"] / 1e3
    ridge = peak / bandwidth
    sizes = [key[1:] for key in points]
    usual = max(map(tuple, sizes), key=lambda size: (sizes.count(size), math.prod(size)))
    ordered = sorted((rate, intensity, stage, size) for (stage, *size), (intensity, rate) in points.items())
    left = 0.4 * min(min(intensity for _, intensity, _, _ in ordered), ridge)
    right = 2.0 * max(max(intensity for _, intensity, _, _ in ordered), ridge)
    bottom, top = 0.5 * min(ordered[0][0], left * bandwidth * 2), 1.9 * peak

    plt = plotter()
    height = 520
    figure = canvas(plt, height, f"Roofline of the stages at {' x '.join(map(str, usual))}, by DRAM traffic",
                    "DRAM bytes and times: Nsight Compute, dram__bytes.sum and gpu__time_duration.sum of one launch of "
                    "each stage's fastest variant, strict fp32.\nRoof: FFMA and copy rates that the ladder measured. "
                    f"{source(arguments.file, {}, arguments.note)}; "
                    f"{source(arguments.ladder, context, None)}")
    axes = axes_at(figure, 62, 40, 182, 92)
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(bottom, top))
    axes.fill_between([left, ridge, right], [left * bandwidth, peak, peak], bottom, color=BLUE, alpha=0.06, linewidth=0)
    axes.plot([left, ridge], [left * bandwidth, peak], color=BLUE, linewidth=2)
    axes.plot([ridge, right], [peak, peak], color=VERMILION, linewidth=2)
    axes.text(ridge, peak * 1.1, f"FFMA {peak:.1f} TFLOP/s", color=VERMILION, va="bottom", fontweight="bold")
    figure.canvas.draw()
    start = max(left, bottom / bandwidth) * 1.25
    (x0, y0), (x1, y1) = axes.transData.transform([(start, start * bandwidth), (start * 10, start * bandwidth * 10)])
    axes.annotate(f"DRAM {bandwidth:.2f} TB/s", (start, start * bandwidth), color=BLUE, xytext=(-4, 6),
                  textcoords="offset points", rotation=math.degrees(math.atan2(y1 - y0, x1 - x0)),
                  rotation_mode="anchor", fontweight="bold")
    # Left of the ridge a label is beside its point. Right of the ridge points are close, and their labels form a column.
    to_axes = axes.transData + axes.transAxes.inverted()
    crowd = [(rate, intensity) for rate, intensity, _, _ in ordered if intensity >= ridge]
    at = spread_out([to_axes.transform((intensity, rate))[1] for rate, intensity in crowd], 0.056, 0.02, 0.9)
    column = dict(zip(crowd, at))
    for rate, intensity, stage, size in ordered:
        axes.plot([intensity], [rate], "o", color=GREEN, markersize=8, markeredgecolor=BLACK, zorder=3)
        label = f"{stage}  {rate:.1f}" if rate >= 1 else f"{stage}  {rate:.2f}"
        label += "" if tuple(size) == usual else "  ({} x {} x {})".format(*size)
        if (rate, intensity) in column:
            axes.annotate(label, (intensity, rate), xytext=(1.03, column[rate, intensity]), textcoords="axes fraction",
                          va="center", arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.7, "shrinkB": 5,
                                                   "relpos": (0, 0.5)})
        else:
            axes.annotate(label, (intensity, rate), xytext=(9, 0), textcoords="offset points", va="center")
        roof = min(peak, intensity * bandwidth)
        if rate > roof:
            print(f"pictures.py: {stage} is at {rate / roof:.2f} of its roof", file=sys.stderr)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.set_xlabel("FLOP per byte of DRAM traffic")
    axes.set_ylabel("TFLOP/s")
    axes.grid(True, which="major", color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    save(plt, figure, arguments.out)


# ---- accuracy -------------------------------------------------------------------------------------------------------

MODES = (("cublas_tf32", "cuBLAS TF32", VERMILION, "v", ":"),
         ("chain_tf32", "chain of FMAs, TF32 inputs", VERMILION, "v", ":"),
         ("strict", "strict", BLUE, "o", "-"),
         ("cublas", "cuBLAS SGEMM", BLACK, "s", "--"),
         ("chain", "chain of FMAs", BLACK, "s", "--"),
         ("tensor", "tensor (fp16x3)", ORANGE, "D", "-"),
         ("tensor_full", "full range (bf16x6)", GREEN, "^", "-"))


def read_errors(path, wanted):
    """{mode: {k: errors of the seeds}}, without results that fell back to strict fp32."""
    errors = {}
    try:
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                if row["input"] == wanted and row["guard"] == "0":
                    errors.setdefault(row["mode"], {}).setdefault(int(row["k"]), []).append(float(row["frobenius"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        fail(f"{path}: not a file of accuracy --csv ({error.__class__.__name__})")
    if not errors:
        fail(f"{path}: no rows of the input {wanted}")
    return errors


def draw_accuracy(arguments):
    errors = read_errors(arguments.file, arguments.input)
    words = {"uniform": "uniform in [-1, 1)", "positive": "uniform in [0, 1)"}.get(arguments.input, arguments.input)
    plt = plotter()
    figure = canvas(plt, 430, f"Error over k: relative Frobenius error, inputs {words}",
                    "Frobenius norm of C - R over that of R, with R computed in fp64; geometric mean of the seeds.\n"
                    f"{source(arguments.file, {}, arguments.note)}")
    axes = axes_at(figure, 72, 40, 190, 84)
    depths = sorted({k for of in errors.values() for k in of})
    ends = []
    for mode, label, colour, marker, style in MODES:
        of = {k: geometric_mean(values) for k, values in errors.get(mode, {}).items() if min(values) > 0}
        if of:
            over = mode in ("cublas", "chain")  # its line is on that of strict, so it has hollow markers
            axes.plot(sorted(of), [of[k] for k in sorted(of)], color=colour, marker=marker, linestyle=style,
                      markersize=8 if over else 5, markerfacecolor="none" if over else colour,
                      linewidth=1.2 if over else 3 if mode == "strict" else 1.8)
            ends.append((of[max(of)], max(of), label, colour))
    if not ends:
        fail(f"{arguments.file}: every error of the input {arguments.input} is zero")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(depths)
    axes.set_xticklabels([str(k) for k in depths])
    axes.minorticks_off()
    axes.set(xlabel="k", ylabel="relative error")
    axes.grid(True, which="major", color=PALE, linewidth=0.6)
    axes.set_axisbelow(True)
    bare(axes, "top", "right")
    to_axes = axes.transData + axes.transAxes.inverted()
    ends.sort(key=lambda end: end[0])
    at = spread_out([to_axes.transform((k, error))[1] for error, k, _, _ in ends], 0.065, 0, 1)
    for (_, _, label, colour), y in zip(ends, at):
        axes.text(1.01, y, label, transform=axes.transAxes, color=colour, va="center", fontweight="bold")
    save(plt, figure, arguments.out)


# ---- Command line ---------------------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(prog="pictures.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="PICTURE", required=True)

    def picture(name, run, what, file):
        command = commands.add_parser(name, help=what, description=what)
        command.add_argument("--out", default=f"{name}.png", metavar="FILE", help=f"the picture (default {name}.png)")
        command.add_argument("--note", metavar="TEXT", help="device and date, for the small print")
        command.add_argument("file", metavar=file, help="the measurements")
        command.set_defaults(run=run)
        return command

    picture("speedup", draw_speedup, "speed-up of sgemm_run() over cuBLAS by shape, from a suite", "SUITE")
    picture("stages", draw_stages, "a bar a stage and cuBLAS, from the ladder's times of every variant", "LADDER")
    picture("rates", draw_rates, "rate over size of each mode and cuBLAS, from a suite with --mode", "SUITE")
    roofline = picture("roofline", draw_roofline, "each stage under the roof, from DRAM traffic", "TRAFFIC_CSV")
    roofline.add_argument("ladder", metavar="LADDER_JSON", help="file of ladder --json, whose ceilings are the roof")
    accuracy = picture("accuracy", draw_accuracy, "error over k, from a file of accuracy --csv", "CSV")
    accuracy.add_argument("--input", default="uniform", metavar="NAME", help="one of accuracy --help (default uniform)")

    traffic = commands.add_parser("traffic", help="DRAM traffic of each kernel, from ncu's CSV", description=(
        "Makes a CSV for the roofline from the output of `ncu --csv --clock-control none --metrics "
        "dram__bytes.sum,gpu__time_duration.sum counts_cuda M N K NN`. Names the kernels that are not of a variant."))
    traffic.add_argument("--size", nargs=3, type=int, required=True, metavar=("M", "N", "K"), help="the size launched")
    traffic.add_argument("--append", action="store_true", help="keep the rows that the file has, for a second size")
    traffic.add_argument("--out", default="traffic.csv", metavar="FILE", help="the CSV (default traffic.csv)")
    traffic.add_argument("file", metavar="NCU_CSV", help="what ncu printed")
    traffic.set_defaults(run=write_traffic)

    arguments = parser.parse_args()
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    arguments.run(arguments)


main()
