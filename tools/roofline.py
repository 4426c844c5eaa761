#!/usr/bin/python3
"""roofline.py [--out DIR] JSON...: draws what the ladder wrote with --json, as SVG and PNG.

  roofline   the device's two ceilings and the best row of each stage, at the intensity that the CPU model counted
  ladder     every row as a bar against cuBLAS
  rates      production and cuBLAS over the size, of squares

Rates come from a GPU's files, intensities from the CPU model's: give one of each for all of the roofline. Without
rates its points are the bounds that the model's file holds. A picture for which the files hold nothing is left out, and
that is said.
The interpreter is the system's, which has Debian's python3-matplotlib.
"""
import argparse
import json
import math
import os
import pathlib
import sys

# Okabe and Ito's palette, which survives colour blindness: https://jfly.uni-koeln.de/color
BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION = "#000000", "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00"
GREY = "#666666"
WIDTH = 9.0  # inches of 100 pixels: as wide as a README


def fail(message):
    print(f"roofline.py: {message}", file=sys.stderr)
    sys.exit(2)


def load(paths):
    """The contexts and rows of all files; rows whose result was wrong are left out."""
    contexts, rows = [], []
    for path in paths:
        try:
            data = json.loads(pathlib.Path(path).read_text())
            contexts.append(data["context"])
            rows += [row for row in data["benchmarks"] if not row.get("error_occurred")]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            fail(f"{path}: not a file of ladder --json ({error.__class__.__name__})")
    return contexts, rows


def problem(row):
    return (row["m"], row["n"], row["k"], row["batch"], row["op"], row.get("mode"))


def describe(p):
    m, n, k, batch, op, mode = p
    return f"{m} x {n} x {k}{f', batch {batch}' if batch > 1 else ''}, {op}{f', {mode}' if mode else ''}"


def fullest(rows):
    """The rows of the problem that has most of them; of several the one with most work."""
    groups = {}
    for row in rows:
        groups.setdefault(problem(row), []).append(row)
    return max(groups.items(), key=lambda g: (len(g[1]), math.prod(g[0][:4])), default=(None, []))


def ceilings(contexts):
    """(name, TFLOP/s, TB/s, how they are known): measured before rated."""
    for context in contexts:
        if context.get("ffma_gflops") and context.get("copy_gbs"):
            return context["gpu"], context["ffma_gflops"] / 1e3, context["copy_gbs"] / 1e3, "measured"
    context = contexts[0]
    return context["gpu"], context["peak_gflops"] / 1e3, context["bandwidth_gbs"] / 1e3, "rated"


def rounded(rate):
    return f"{rate:.1f}" if rate >= 1 else f"{rate:.2f}"


def spread_out(places, distance, low, high):
    """Ascending places, moved as little as keeps them `distance` apart and between low and high."""
    moved = []
    for place in places:
        moved.append(max(place, moved[-1] + distance if moved else low))
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], high if i + 1 == len(moved) else moved[i + 1] - distance)
    return moved


def draw_roofline(plt, contexts, rows):
    gpu, peak, bandwidth, how = ceilings(contexts)
    counted = {row["variant"]: row["global_flop_per_byte"] for row in rows if row.get("global_flop_per_byte")}
    p, timed = fullest([row for row in rows if row.get("stage") and row.get("gflops") and row["variant"] in counted])
    rate = {row["variant"]: row["gflops"] / 1e3 for row in timed}
    if not timed:
        p, timed = fullest([row for row in rows if row.get("stage") and row.get("roof_tflops")])
        rate = {row["variant"]: row["roof_tflops"] for row in timed}
    best = {}
    for row in timed:
        if row["variant"] in counted and rate[row["variant"]] > best.get(row["stage"], (0, 0))[1]:
            best[row["stage"]] = (counted[row["variant"]], rate[row["variant"]])
    if not best:
        return "no rows with intensities, which the CPU model counts"
    points = sorted(((y, x, stage) for stage, (x, y) in best.items()))
    left = 0.2 * min(point[1] for point in points)
    right = 2.5 * max(max(point[1] for point in points), peak / bandwidth)
    bottom, top = 0.4 * min(min(point[0] for point in points), peak), 2.2 * peak

    figure, axes = plt.subplots(figsize=(WIDTH, 5.2))
    axes.set(xscale="log", yscale="log", xlim=(left, right), ylim=(bottom, top))
    figure.subplots_adjust(left=0.075, right=0.73, top=0.92, bottom=0.14)
    ridge = peak / bandwidth
    axes.plot([left, ridge], [left * bandwidth, peak], color=BLUE, linewidth=2)
    axes.plot([ridge, right], [peak, peak], color=VERMILION, linewidth=2)
    axes.text(left * 1.15, peak * 1.12, f"FFMA, {how}: {peak:.1f} TFLOP/s", color=VERMILION, va="bottom")
    axes.plot([left, ridge], [peak, peak], color=VERMILION, linewidth=1, linestyle=":")
    for y, x, _ in points:
        axes.plot([x], [y], "o", color=GREEN, markersize=8, markeredgecolor=BLACK, zorder=3)
    # At the far left there is room beside a point, and none of the roof left of it. Further right points lie close, so
    # that their labels stand in a column of their own, each tied to its point.
    slope = [point for point in points if point[1] < ridge / 10]
    crowd = [point for point in points if point[1] >= ridge / 10]
    for y, x, stage in slope:
        axes.annotate(f"{stage}  {rounded(y)}", (x, y), xytext=(-9, 0), textcoords="offset points", va="center",
                      ha="right")
    # Along the roof, above it, behind these: its angle on the screen is that of a decade to the right and one up.
    figure.canvas.draw()
    where = 1.6 * max([point[1] for point in slope], default=max(left, bottom / bandwidth))
    (x0, y0), (x1, y1) = axes.transData.transform([(where, where * bandwidth), (where * 10, where * bandwidth * 10)])
    axes.annotate(f"memory, {how}: {bandwidth:.2f} TB/s", (where, where * bandwidth), color=BLUE, xytext=(-4, 7),
                  textcoords="offset points", rotation=math.degrees(math.atan2(y1 - y0, x1 - x0)),
                  rotation_mode="anchor")
    places = spread_out([axes.transAxes.inverted().transform(axes.transData.transform((x, y)))[1] for y, x, _ in crowd],
                        0.065, 0.02, 0.95)
    for (y, x, stage), place in zip(crowd, places):
        axes.annotate(f"{stage}  {rounded(y)}", (x, y), xytext=(1.04, place), textcoords="axes fraction", va="center",
                      arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.7, "shrinkB": 5, "relpos": (0, 0.5)})
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    axes.set_xlabel("FLOP per byte of the sectors that warps load, counted by the CPU model\n"
                    "(caches lift a stage above the memory roof)")
    axes.set_ylabel("TFLOP/s")
    what = "Bound of each stage" if "roof_tflops" in timed[0] else "Best row of each stage"
    axes.set_title(f"{what}, TFLOP/s: {gpu}, {describe(p)}", loc="left", fontsize=11)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    return figure


def draw_ladder(plt, contexts, rows):
    p, timed = fullest([row for row in rows if row.get("gflops")])
    timed = list({row["variant"]: row for row in reversed(timed)}.values())[::-1]  # what two files measured, the first time
    cublas = [row["gflops"] / 1e3 for row in timed if row["variant"] == "cublas"]
    bars = sorted((row for row in timed if row["variant"] != "cublas"), key=lambda row: row["variant"].startswith("production"))
    if not cublas or not bars:
        return "no rates beside cuBLAS's, which a GPU's file holds"
    gpu, peak, _, how = ceilings(contexts)
    figure, axes = plt.subplots(figsize=(WIDTH, 1.5 + 0.29 * len(bars)))
    names = [row["variant"].replace("sgemm_", "") for row in bars]
    values = [row["gflops"] / 1e3 for row in bars]
    colours = [ORANGE if row["variant"].startswith("production") else SKY for row in bars]
    axes.barh(range(len(bars)), values, color=colours, height=0.72)
    # Inside the bar, unless it is too short: the lines of cuBLAS and the peak then cross no text.
    for i, value in enumerate(values):
        inside = value > 0.2 * peak
        axes.text(value - 0.006 * peak if inside else value + 0.008 * peak, i,
                  f"{value:.1f}  ({100 * value / cublas[0]:.0f} %)", va="center", ha="right" if inside else "left",
                  fontsize=9)
    axes.axvline(cublas[0], color=BLACK, linewidth=1.5)
    axes.axvline(peak, color=VERMILION, linewidth=1.5, linestyle="--")
    axes.set_yticks(range(len(bars)))
    axes.set_yticklabels(names, fontsize=9)
    axes.set_ylim(len(bars) - 0.4, -1.6)
    near = peak - cublas[0] < 0.25 * peak  # then their names stand on either side
    axes.text(cublas[0] - 0.006 * peak if near else cublas[0] + 0.006 * peak, -1.0, f"cuBLAS {cublas[0]:.1f}",
              ha="right" if near else "left", va="center", fontsize=9)
    axes.text(peak - 0.006 * peak if not near else peak + 0.012 * peak, -1.0, f"FFMA, {how} {peak:.1f}",
              ha="right" if not near else "left", va="center", color=VERMILION, fontsize=9)
    axes.set_xlim(0, (1.26 if near else 1.04) * max([peak, *cublas, *values]))
    axes.set_xlabel("TFLOP/s (share of cuBLAS)")
    axes.set_title(f"Every row: {gpu}, {describe(p)}", loc="left", fontsize=11)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    return figure


def draw_rates(plt, contexts, rows):
    squares = [row for row in rows if row.get("gflops") and row["m"] == row["n"] == row["k"] and row["batch"] == 1 and
               row["variant"] in ("production", "cublas")]
    kinds = {}
    for row in squares:
        kinds.setdefault((row["op"], row["mode"]), {}).setdefault(row["variant"], {})[row["m"]] = row["gflops"] / 1e3
    kind, lines = max(kinds.items(), key=lambda g: sum(map(len, g[1].values())), default=(None, {}))
    if len(lines) < 2 or min(map(len, lines.values())) < 2:
        return "no rates of production and cuBLAS for two squares or more"
    gpu, peak, _, how = ceilings(contexts)
    figure, axes = plt.subplots(figsize=(WIDTH, 4.2))
    for name, label, colour, marker in (("production", "sgemm_run()", ORANGE, "o"), ("cublas", "cuBLAS", BLUE, "s")):
        sizes = sorted(lines[name])
        axes.plot(sizes, [lines[name][size] for size in sizes], color=colour, marker=marker, markersize=4, label=label)
    axes.axhline(peak, color=VERMILION, linewidth=1.5, linestyle="--", label=f"FFMA, {how}: {peak:.1f}")
    axes.set_ylim(0, 1.08 * max(peak, *(max(line.values()) for line in lines.values())))
    axes.set_xlim(left=0)
    axes.set(xlabel="m = n = k", ylabel="TFLOP/s")
    axes.set_title(f"Rate over size: {gpu}, {kind[0]}, {kind[1]}", loc="left", fontsize=11)
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.legend(loc="lower right", frameon=True)
    figure.tight_layout()
    return figure


def main():
    parser = argparse.ArgumentParser(prog="roofline.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=".", metavar="DIR", help="where the pictures go (default .)")
    parser.add_argument("json", nargs="+", metavar="JSON", help="files of ladder --json")
    arguments = parser.parse_args()
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    contexts, rows = load(arguments.json)
    try:
        import matplotlib
    except ImportError:
        fail("needs matplotlib; on Debian and Ubuntu: apt-get install python3-matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    matplotlib.rcParams.update({"font.size": 10, "svg.hashsalt": "sgemm"})  # the same data give the same file
    out = pathlib.Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    drawn = 0
    for name, draw in (("roofline", draw_roofline), ("ladder", draw_ladder), ("rates", draw_rates)):
        figure = draw(plt, contexts, rows)
        if isinstance(figure, str):
            print(f"roofline.py: no {name}: {figure}", file=sys.stderr)
            continue
        for suffix, metadata in (("svg", {"Date": None}), ("png", {})):
            figure.savefig(out / f"{name}.{suffix}", dpi=100, metadata=metadata)
        plt.close(figure)
        drawn += 1
    sys.exit(0 if drawn else 2)


main()
