#!/usr/bin/python3
"""accuracy.py [--input NAME] [--out FILE.svg|FILE.png] CSV: draws the error over k from what accuracy wrote with --csv.

The relative Frobenius error of each mode and of what it is held against, the geometric mean of the seeds, on one input,
uniform by default. The interpreter is the system's, which has Debian's python3-matplotlib.
"""
import argparse
import csv
import math
import os
import sys

# Okabe and Ito's palette, which survives colour blindness: https://jfly.uni-koeln.de/color
BLACK, ORANGE, GREEN, BLUE, VERMILION = "#000000", "#e69f00", "#009e73", "#0072b2", "#d55e00"
LINES = [  # mode, label, color, marker, style
    ("cublas_tf32", "cuBLAS TF32", VERMILION, "v", ":"),
    ("chain_tf32", "chain of FMAs, TF32 inputs", VERMILION, "v", ":"),
    ("cublas", "cuBLAS SGEMM", BLACK, "s", "--"),
    ("chain", "chain of FMAs", BLACK, "s", "--"),
    ("strict", "strict", BLUE, "o", "-"),
    ("tensor", "tensor (fp16x3)", ORANGE, "D", "-"),
    ("tensor_full", "tensor_full (bf16x6)", GREEN, "^", "-"),
]


def fail(message):
    print(f"accuracy.py: {message}", file=sys.stderr)
    sys.exit(2)


def load(path, wanted):
    """mode -> k -> errors of the seeds; what the guard sent to strict fp32 is strict's and left out."""
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


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if min(values) > 0 else float("nan")


def main():
    parser = argparse.ArgumentParser(prog="accuracy.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", default="uniform", metavar="NAME", help="one of accuracy --help (default uniform)")
    parser.add_argument("--out", default="accuracy.svg", metavar="FILE", help="the picture (default accuracy.svg)")
    parser.add_argument("csv", metavar="CSV", help="file of accuracy --csv")
    arguments = parser.parse_args()
    os.chdir(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    errors = load(arguments.csv, arguments.input)
    try:
        import matplotlib
    except ImportError:
        fail("needs matplotlib; on Debian and Ubuntu: apt-get install python3-matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    matplotlib.rcParams.update({"font.size": 10, "svg.hashsalt": "sgemm"})  # the same data give the same file
    figure, axes = plt.subplots(figsize=(6.4, 4.0))
    for mode, label, colour, marker, style in LINES:
        if mode in errors:
            depths = sorted(errors[mode])
            axes.plot(depths, [mean(errors[mode][k]) for k in depths], color=colour, marker=marker, linestyle=style,
                      markersize=5, label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    depths = sorted({k for mode in errors.values() for k in mode})
    axes.set_xticks(depths)
    axes.set_xticklabels([str(k) for k in depths])
    axes.minorticks_off()
    axes.set_xlabel("k")
    words = {"uniform": "uniform in [-1, 1)", "positive": "uniform in [0, 1)"}.get(arguments.input, arguments.input)
    axes.set_title(f"Relative Frobenius error, inputs {words}", loc="left", fontsize=11)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(frameon=True, fontsize=9)
    figure.tight_layout()
    figure.savefig(arguments.out, dpi=100, metadata={"Date": None} if arguments.out.endswith(".svg") else {})


main()
