#!/usr/bin/env python3
"""ncu_compare.py: compares the CPU model's counters with those of a GPU, kernel by kernel.

  ncu_compare.py [--out DIR] [--ncu PROGRAM] BINARY MODEL.csv...     measure, then compare
  ncu_compare.py [--out DIR] --from DIR MODEL.csv...                 compare what an earlier run left in DIR

BINARY is tools/counts.c compiled for CUDA. Each MODEL.csv is the output of tools/counts.c on the CPU model, which gives
kernels, sizes and ops. Nsight Compute counts one launch of each kernel. DIR (default: .) receives
  device.txt              GPU, driver, ncu's version, date
  occupancy.csv           output of BINARY: registers, shared memory and occupancy of each kernel
  <size>.ncu-rep          ncu's report for each MODEL.csv, the source of the next three files
  <size>.raw.csv          ncu's raw page: the metrics
  <size>.opcodes.csv      instructions that warps executed, by kernel and opcode
  <size>.source.csv       ncu's source page, with the opcodes if the two other files lack them
and, from these files alone, ncu.csv and ncu.md. In these a counter is equal, different, or n/a if ncu gave no number.
Exit status: 0 if ncu gave requests, sectors or FMAs and all that it gave are equal, 1 if not, 2 for bad arguments or a
failed run. The script needs Python 3, ncu, and permission to read the GPU's counters.
"""
import argparse
import csv
import datetime
import os
import pathlib
import re
import shutil
import subprocess
import sys

# The metric of each counter of SGEMM_COUNTS (cpu/sgemm_model.h), or an opcode of the metric OPCODES.
OPCODES = "sass__inst_executed_per_opcode"
METRICS = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_load_bytes": "smsp__sass_data_bytes_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "global_store_bytes": "smsp__sass_data_bytes_mem_global_op_st.sum",
    "shared_load_requests": "smsp__inst_executed_op_shared_ld.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_load_bytes": "smsp__sass_data_bytes_mem_shared_op_ld.sum",
    "shared_store_requests": "smsp__inst_executed_op_shared_st.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "shared_store_bytes": "smsp__sass_data_bytes_mem_shared_op_st.sum",
    "fma_threads": "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
    "fma_instructions": "FFMA",
    "barriers": "BAR",
}
# Counters of the model that must equal those of the hardware. Counters of shared memory can differ: nvcc may combine accesses.
PROMISED = ("global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
            "fma_threads", "fma_instructions")
EXTRA = ["inst_executed"]  # counted by instruction, on the source page
KERNEL = re.compile(r"sgemm_[a-z0-9]+_\d+x\d+x\d+_\d+x\d+(?:_[nt]{1,2})?(?![a-z0-9_])")


def fail(message):
    sys.exit(print(f"ncu_compare.py: {message}", file=sys.stderr) or 2)


# ---- The model ------------------------------------------------------------------------------------------------------


def read_model(path):
    """{kernel: {column: number}} in the order of the file, and the arguments of BINARY."""
    try:
        with open(path, newline="") as file:
            rows = {row.pop("kernel"): {name: int(value) for name, value in row.items()}
                    for row in csv.DictReader(file)}
    except (OSError, KeyError, ValueError, TypeError) as error:
        fail(f"{path} is not a CSV of counts.c: {error}")
    if not rows:
        fail(f"{path} holds no row")
    first, row = next(iter(rows.items()))
    if set(METRICS) - set(row):
        fail(f"{path} lacks {', '.join(sorted(set(METRICS) - set(row)))}")
    return rows, [str(row["m"]), str(row["n"]), str(row["k"]), first[-2:].upper()]


# ---- The hardware ---------------------------------------------------------------------------------------------------


def capture(command, stderr=subprocess.STDOUT):
    """(exit status, stdout and stderr) of a command. The status is 127 if the program is missing. stderr: where its
    messages go."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, universal_newlines=True)
        return done.returncode, done.stdout
    except OSError as error:
        return 127, str(error)


def profile(ncu, options, command, metrics, report):
    """Profiles the launches of a command into a report. Returns (success, output of ncu)."""
    if report.exists():
        report.unlink()
    status, said = capture([ncu, "--clock-control", "none", "--force-overwrite", "-o", str(report.with_suffix("")),
                            "--metrics", ",".join(metrics)] + options + command)
    return status == 0 and report.exists(), said


def known_metrics(ncu, command, metrics, report):
    """The metrics that ncu can collect, each tried with one launch. Prints ncu's messages for the others to stderr."""
    known = []
    for metric in metrics:
        worked, said = profile(ncu, ["--launch-count", "1"], command, [metric], report)
        if worked:
            known.append(metric)
        else:
            print(f"ncu_compare.py: {metric}: n/a: {' '.join(said.split())[-300:]}", file=sys.stderr)
    return known


def write_opcodes(ncu, report, path):
    """Writes instructions by opcode with the Python module of ncu. Writes nothing if the module cannot be loaded."""
    program = shutil.which(ncu)
    folders = pathlib.Path(program).resolve().parents if program else []
    folders = [*folders, *sorted(pathlib.Path("/opt/nvidia/nsight-compute").glob("*"))]
    sys.path += [str(folder / "extras/python") for folder in folders if (folder / "extras/python").is_dir()]
    try:
        import ncu_report
        rows = []
        for launches in ncu_report.load_report(str(report)):
            for launch in launches:
                metric = launch.metric_by_name(OPCODES)
                names = metric.correlation_ids()
                rows += [[launch.name(), names.as_string(i), metric.as_uint64(i)]
                         for i in range(metric.num_instances())]
    except Exception as error:  # versions of the module differ
        print(f"ncu_compare.py: no opcodes through ncu_report: {error}", file=sys.stderr)
        return
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["kernel", "opcode", "executed"]] + rows)


def measure(ncu, binary, arguments, stem):
    """Writes ncu's report and pages to files that begin with `stem`, and occupancy.csv and device.txt to its directory."""
    command = [str(pathlib.Path(binary).absolute())] + arguments
    status, said = capture(command, stderr=None)  # a line for each variant that the GPU cannot run
    if status != 0:
        fail(f"{' '.join(command)} failed")
    stem.with_name("occupancy.csv").write_text(said)

    report = pathlib.Path(f"{stem}.ncu-rep")
    metrics = [metric for metric in METRICS.values() if "__" in metric] + [OPCODES] + EXTRA
    worked, said = profile(ncu, [], command, metrics, report)
    if not worked:
        print(f"ncu_compare.py: all metrics at once failed, trying each: {said.strip()[-600:]}", file=sys.stderr)
        metrics = known_metrics(ncu, command, metrics, report)
        worked, said = profile(ncu, [], command, metrics, report) if metrics else (False, said)
    if not worked:
        fail(f"{ncu} failed: {said.strip()}")

    show = [ncu, "--import", str(report), "--csv", "--print-units", "base", "--page"]
    for suffix, *ways in [("raw", ["raw", "--print-metric-instances", "details"], ["raw"]),
                          ("source", ["source", "--print-source", "sass"], ["source"])]:
        for way in ways:  # the second is for versions of ncu without the option
            status, text = capture(show + way)
            if status == 0:
                break
            print(f"ncu_compare.py: {' '.join(way)}: {text.strip()[-300:]}", file=sys.stderr)
        pathlib.Path(f"{stem}.{suffix}.csv").write_text(text if status == 0 else "")
    write_opcodes(ncu, report, pathlib.Path(f"{stem}.opcodes.csv"))

    status, gpu = capture(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"])
    gpu = gpu.strip().replace(", ", ", driver ") if status == 0 else "unknown GPU"
    _, version = capture([ncu, "--version"])
    version = re.findall(r"Version (\S+)", version) or ["unknown"]
    line = f"{gpu}, Nsight Compute {version[0]}, {datetime.date.today().isoformat()}\n"
    stem.with_name("device.txt").write_text(line)


# ---- Reading ncu's pages --------------------------------------------------------------------------------------------


def number(text):
    """The number that a cell begins with, or None: 1,234 or 1234.0 or 1234 (FFMA: 1000; BAR: 12)."""
    match = re.match(r"\s*(\d[\d,]*(\.\d+)?)", text or "")
    return round(float(match[1].replace(",", ""))) if match else None


def instances(text):
    """{opcode: executions} of a cell such as `2 (FFMA: 1; BAR: 1)`, `2; FFMA=1`, `2 (1 [FFMA], ...)`."""
    pairs = re.findall(r"\b([A-Z][A-Z0-9_]*)\b\"?\s*[:=]\s*(\d[\d,]*)", text)
    pairs += [(name, value) for value, name in re.findall(r"(\d[\d,]*)\s*[\[({:]\s*\"?([A-Z][A-Z0-9_]*)\b", text)]
    found = {}
    for name, value in pairs:
        found.setdefault(name, number(value))
    return found


def read_lines(path):
    """The lines of a page as lists of cells, without the lines of ncu that begin with ==."""
    if not path.exists():
        return []
    return list(csv.reader(line for line in path.read_text().splitlines() if not line.startswith("==")))


def read_raw(path):
    """{kernel: {metric or opcode: number}} of the raw page, which has a column or a line for each metric."""
    found, header = {}, None
    for cells in read_lines(path):
        if "Kernel Name" in cells and "ID" in cells:
            header = cells
            continue
        if header is None or len(cells) != len(header):
            continue
        row = dict(zip(header, cells))
        kernel = KERNEL.search(row["Kernel Name"])
        if kernel is None:  # the line of units
            continue
        if "Metric Name" in row:
            row = {row["Metric Name"]: row["Metric Value"]}
        values = found.setdefault(kernel[0], {})
        for name, text in row.items():
            name = name.split("\n")[0].strip()
            if name == OPCODES:
                values.update(instances(text))
            elif "__" in name and number(text) is not None:
                values[name] = number(text)
    return found


def read_source(path):
    """{kernel: {opcode: executions by warps}} of the source page."""
    found, kernel, columns = {}, None, None
    for cells in read_lines(path):
        name = next((match[0] for match in map(KERNEL.search, cells) if match), None)
        executed = [i for i, cell in enumerate(cells) if cell in ("inst_executed", "# Instructions Executed",
                                                                  "Instructions Executed")]
        if name:
            kernel, columns = name, None
        elif "Source" in cells and executed:
            columns = cells.index("Source"), executed[0]
        elif kernel and columns and len(cells) > max(columns):
            opcode = re.match(r"\s*(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)", cells[columns[0]])
            if opcode and number(cells[columns[1]]) is not None:
                of = found.setdefault(kernel, {})
                of[opcode[1]] = of.get(opcode[1], 0) + number(cells[columns[1]])
    return found


def read_opcodes(path):
    """{kernel: {opcode: executions by warps}} of a file of write_opcodes()."""
    found = {}
    for cells in read_lines(path)[1:]:
        kernel = KERNEL.search(cells[0]) if len(cells) == 3 else None
        if len(cells) != 3 or not cells[2].isdigit():
            fail(f"{path} is not a CSV of kernel, opcode and executed: {','.join(cells)}")
        if kernel is not None:  # others, such as sgemm_pack, are no variant's
            found.setdefault(kernel[0], {})[cells[1]] = int(cells[2])
    return found


def read_hardware(stem):
    """{kernel: {counter: number or None}}. An opcode that a kernel's list lacks was not executed and counts 0."""
    raw = read_raw(pathlib.Path(f"{stem}.raw.csv"))
    opcodes = read_opcodes(pathlib.Path(f"{stem}.opcodes.csv"))
    source = read_source(pathlib.Path(f"{stem}.source.csv"))
    found = {}
    for kernel, values in raw.items():
        on_page = {name: value for name, value in values.items() if "__" not in name}
        listed = opcodes.get(kernel) or on_page or source.get(kernel)
        found[kernel] = {counter: values.get(metric) if "__" in metric else listed.get(metric, 0) if listed else None
                         for counter, metric in METRICS.items()}
    return found


# ---- Comparison -----------------------------------------------------------------------------------------------------


def verdict(model, hardware):
    return "n/a" if hardware is None else "equal" if model == hardware else "different"


def table(kernels, model, hardware, counters):
    """A Markdown table, a line for each kernel and a column for each counter: one number if both agree, else model / hardware."""
    lines = ["| kernel | " + " | ".join(counter.replace("_", " ") for counter in counters) + " |",
             "| --- |" + " ---: |" * len(counters)]
    for kernel in kernels:
        cells = []
        for counter in counters:
            ours, theirs = model[kernel][counter], hardware.get(kernel, {}).get(counter)
            cells.append({"equal": f"{ours:,}", "n/a": f"{ours:,} / n/a"}.get(
                verdict(ours, theirs), f"**{ours:,} / {theirs if theirs is None else format(theirs, ',')}**"))
        lines.append(f"| `{kernel[len('sgemm_'):]}` | " + " | ".join(cells) + " |")
    return lines


GROUPS = [
    ("Global memory", ["global_load_requests", "global_load_sectors", "global_load_bytes", "global_store_requests",
                       "global_store_sectors", "global_store_bytes"]),
    ("FMAs and barriers", ["fma_threads", "fma_instructions", "barriers"]),
    ("Shared memory, loads", ["shared_load_requests", "shared_load_wavefronts", "shared_load_conflicts",
                              "shared_load_bytes"]),
    ("Shared memory, stores", ["shared_store_requests", "shared_store_wavefronts", "shared_store_conflicts",
                               "shared_store_bytes"]),
]
HEAD = """# The CPU model's counters compared with the hardware

This page shows where the counters of the CPU model agree with those of a GPU, and where they differ and why. Both count
what one launch of each kernel asks of the memories: the model by `tools/counts.c`, the GPU by Nsight Compute
(`tools/ncu_compare.py`, which wrote this page). A single number means that both agree. **Model / hardware** means that
they differ. n/a means that ncu gave no number. All numbers are in [ncu.csv](../measurements/ncu.csv). The metric of ncu
stands beside each counter of `SGEMM_COUNTS` (`cpu/sgemm_model.h`).

Three differences are expected.

- **Shared loads.** The model counts the loads that the source asks for. nvcc joins a thread's scalar loads of
  neighbouring words. So a kernel with V = 1 that keeps A K-major (`tiled`, `tile1d`, `tile2d`, op N) executes one
  `LDS.128` for four loads of the source.
- **Bytes.** ncu counts a word that several lanes of a request share once: 132 instead of 256 bytes for the two requests
  of one k of `naive`.
- **Wavefronts and conflicts.** The model derives them from addresses alone (`cpu/sgemm_count.h`). ncu counts the
  cycles in which the data stage was busy. Its counts for stores are up to 10 % higher.
"""


def write_table(out, device, runs):
    """runs: [(arguments, model, hardware)]. Returns True if the promised counters are equal."""
    lines, rows, promised = [HEAD, f"{device}.", ""], [], []
    for arguments, model, hardware in runs:
        m, n, k, ops = arguments
        lines += [f"## {m} x {n} x {k}, op {ops}", ""]
        for title, counters in GROUPS:
            lines += [f"**{title}**", ""] + table(list(model), model, hardware, counters) + [""]
        verdicts = {}
        for kernel in model:
            for counter in METRICS:
                ours, theirs = model[kernel][counter], hardware.get(kernel, {}).get(counter)
                verdicts.setdefault(counter, []).append(verdict(ours, theirs))
                rows.append([kernel, m, n, k, counter, ours, "n/a" if theirs is None else theirs,
                             verdicts[counter][-1]])
        lines += ["| counter | equal | different | n/a |", "| --- | ---: | ---: | ---: |"]
        lines += [f"| {counter.replace('_', ' ')} | {of.count('equal')} | {of.count('different')} | {of.count('n/a')} |"
                  for counter, of in verdicts.items()]
        lines.append("")
        promised += [v for counter in PROMISED for v in verdicts[counter]]
    (out / "ncu.md").write_text("\n".join(lines))
    with open(out / "ncu.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["kernel", "m", "n", "k", "counter", "model", "hardware", "verdict"])
        writer.writerows(rows)
    print(f"ncu_compare.py: of requests, sectors and FMAs {promised.count('equal')} equal, "
          f"{promised.count('different')} different, {promised.count('n/a')} n/a; see {out / 'ncu.md'}")
    return "equal" in promised and "different" not in promised


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--ncu", default=os.environ.get("NCU", "ncu"))
    parser.add_argument("--from", dest="earlier", type=pathlib.Path)
    parser.add_argument("files", nargs="+", metavar="BINARY or MODEL.csv")
    o = parser.parse_args()
    binary = None if o.earlier else o.files.pop(0)
    if not o.files:
        fail("no MODEL.csv given")
    if binary and shutil.which(o.ncu) is None:
        fail(f"{o.ncu} is not a program; --ncu or $NCU gives the path of Nsight Compute")
    o.out.mkdir(parents=True, exist_ok=True)
    runs = []
    for path in map(pathlib.Path, o.files):
        model, arguments = read_model(path)
        name = "x".join(arguments[:3]) + "_" + arguments[3].lower()
        if binary:
            measure(o.ncu, binary, arguments, o.out / name)
        stem = (o.earlier or o.out) / name
        hardware = read_hardware(stem)
        if not hardware:
            fail(f"{stem}.raw.csv is missing or holds no kernel")
        runs.append((arguments, model, hardware))
    try:
        device = ((o.earlier or o.out) / "device.txt").read_text().strip()
    except OSError as error:
        fail(f"no GPU and driver for the page: {error}")
    sys.exit(0 if write_table(o.out, device, runs) else 1)


main()
