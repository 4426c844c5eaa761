#!/usr/bin/env python3
"""gpu_test.py [--adapter FILE] [--no-times]: PyTorch and CuPy under the cuBLAS adapter, on a host with a GPU.

A process without the adapter, and one with the adapter in each of the modes strict and tensor, computes fp32 products
and compares them with float64. With PyTorch it then measures a product, a network of two layers, and products of a
matrix and a vector. The script prints the errors, the times, and what passed to cuBLAS. It fails if a result is wrong,
or if the adapter computed nothing. A framework that is not installed is skipped. FILE is by default libsgemm_cublas.so
beside this script.
"""

import argparse
import copy
import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import tempfile

MODES = ["none", "strict", "tensor"]
UNIT = 2.0**-24  # unit roundoff of fp32
NETWORK = 1e-5  # bound of a network's errors, relative in the Frobenius norm; TF32 exceeds it
TIMES = ["4096 cubed", "network, no bias", "network, bias"]
VECTORS = [(n, n) for n in [1024, 2048, 4096, 8192]] + [
    (65536, 64), (65536, 512), (16384, 4096), (100000, 100), (64, 65536), (512, 65536), (4096, 16384), (100, 100000)]
VECTOR_CALLS = 100  # in a graph


class Checks:
    """The largest error of each kind of product, with its bound."""

    def __init__(self):
        self.errors = {}

    def add(self, name, error, bound):
        """A NaN counts as an infinite error."""
        ratio = error / bound if error == error else float("inf")
        old = self.errors.get(name, (0.0, bound))
        if name not in self.errors or ratio > old[0] / old[1]:
            self.errors[name] = (error if error == error else float("inf"), bound)

    def product(self, name, got, a, b, alpha=1.0, beta=0.0, c=None):
        """Componentwise: |error| <= (k + 10) 2^-24 (|alpha| |A| |B| + |beta| |C|). k roundings of the dot product, and
        some for alpha and beta and for operands that a tensor mode splits. The arguments are float64 arrays."""
        want, size = alpha * (a @ b), abs(alpha) * (abs(a) @ abs(b))
        if c is not None:
            want, size = want + beta * c, size + abs(beta) * abs(c)
        self.add(name, float((abs(got - want) / (size + 1e-300)).max()), (a.shape[-1] + 10) * UNIT)


# ---- PyTorch ---------------------------------------------------------------------------------------------------------

SHAPES = [(1, 1, 1), (7, 5, 3), (33, 65, 129), (1, 300, 700), (300, 1, 700), (512, 768, 1024), (1000, 999, 2001)]
BATCHES = [(5, 7, 9, 3), (64, 64, 64, 96), (128, 200, 256, 8)]  # m, n, k, batch


def torch_products(torch, checks):
    def random(*shape):
        return torch.randn(*shape, device="cuda")

    def check(name, got, a, b, alpha=1.0, beta=0.0, c=None):
        checks.product(name, got.double(), a.double(), b.double(), alpha, beta, None if c is None else c.double())

    for m, n, k in SHAPES:
        for op in ["NN", "NT", "TN", "TT"]:
            a = random(m, k) if op[0] == "N" else random(k, m).t()
            b = random(k, n) if op[1] == "N" else random(n, k).t()
            c = random(m, n)
            check("matmul", a @ b, a, b)
            check("addmm", torch.addmm(c, a, b, alpha=-2.0, beta=0.5), a, b, -2.0, 0.5, c)
            check("addmm with a bias", torch.addmm(c[0], a, b), a, b, 1.0, 1.0, c[:1])
    for m, n, k, batch in BATCHES:
        a, b, c = random(batch, m, k), random(batch, k, n), random(batch, m, n)
        check("bmm", torch.bmm(a, b), a, b)
        check("baddbmm", torch.baddbmm(c, a, b, alpha=3.0, beta=-1.0), a, b, 3.0, -1.0, c)
        a, b = random(batch, k, m).transpose(1, 2), random(batch, n, k).transpose(1, 2)
        check("bmm", torch.bmm(a, b), a, b)
    part, b, v = random(700, 900)[3:403, 5:605], random(600, 300), random(600, 1)
    check("part of a matrix", part @ b, part, b)
    check("mv", torch.mv(part, v[:, 0])[:, None], part, v)


def torch_streams(torch, checks):
    a, b = torch.randn(700, 800, device="cuda"), torch.randn(800, 900, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        c = a @ b
    torch.cuda.current_stream().wait_stream(stream)
    checks.product("another stream", c.double(), a.double(), b.double())
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        c = a @ b
    a.copy_(torch.randn_like(a))  # the replay reads the new elements
    graph.replay()
    checks.product("graph", c.double(), a.double(), b.double())
    if torch.cuda.device_count() > 1:
        a, b = a.to("cuda:1"), b.to("cuda:1")
        checks.product("another device", (a @ b).double(), a.double(), b.double())


def torch_tf32(torch, checks):
    """Where the program allows TF32, cuBLAS computes: an error as small as that of fp32 is an error of the adapter."""
    if torch.cuda.get_device_capability()[0] < 8:
        return  # no TF32
    a, b = torch.randn(1024, 1024, device="cuda"), torch.randn(1024, 1024, device="cuda")
    want = a.double() @ b.double()
    torch.backends.cuda.matmul.allow_tf32 = True
    c = a @ b
    torch.backends.cuda.matmul.allow_tf32 = False
    error = float((c.double() - want).norm() / want.norm())
    checks.add("TF32 is left to cuBLAS", error if error > 1e-5 else float("inf"), 2e-3)


def torch_layers(torch, bias):
    torch.manual_seed(3)
    nn = torch.nn
    return nn.Sequential(nn.Linear(1024, 4096, bias=bias), nn.GELU(), nn.Linear(4096, 1024, bias=bias)).to("cuda")


def torch_step(layers, x, gradient):
    """Forward and backward. Returns the result and every gradient."""
    layers.zero_grad(set_to_none=True)
    x.grad = None
    y = layers(x)
    y.backward(gradient)
    return [y.detach(), x.grad] + [p.grad for p in layers.parameters()]


def torch_networks(torch, checks):
    for bias in [False, True]:
        layers = torch_layers(torch, bias)
        x, gradient = torch.randn(640, 1024, device="cuda"), torch.randn(640, 1024, device="cuda")
        got = torch_step(layers, x.clone().requires_grad_(True), gradient)
        exact = copy.deepcopy(layers).double()
        want = torch_step(exact, x.double().requires_grad_(True), gradient.double())
        for g, w in zip(got, want):
            checks.add(f"network, {'bias' if bias else 'no bias'}", float((g.double() - w).norm() / w.norm()), NETWORK)


def torch_median_ms(torch, run):
    times = []
    for i in range(25):  # 5 to warm up
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times[5:])[10]


def torch_vector_us(torch, a, v):
    """Microseconds of a @ v in a graph of VECTOR_CALLS, the shortest of 10 replays."""
    stream, out = torch.cuda.Stream(), torch.empty(a.shape[0], device="cuda")
    with torch.cuda.stream(stream):  # a first call outside of the capture loads code
        torch.mv(a, v, out=out)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(VECTOR_CALLS):
            torch.mv(a, v, out=out)
    best = float("inf")
    for _ in range(11):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        best = min(best, 1e3 * begin.elapsed_time(end) / VECTOR_CALLS)
    return best


def torch_vectors(torch):
    """cublasSgemv with both ops. PyTorch's row-major matrix is cuBLAS's transposed one, so a @ v has op T."""
    times = {}
    for m, k in VECTORS:
        a, v = torch.randn(m, k, device="cuda"), torch.randn(k, device="cuda")
        times[f"{m} x {k}, op T"] = torch_vector_us(torch, a, v)
        a = torch.randn(k, m, device="cuda")
        times[f"{m} x {k}, op N"] = torch_vector_us(torch, a.t(), v)
    return times


def torch_times(torch):
    a, b = torch.randn(4096, 4096, device="cuda"), torch.randn(4096, 4096, device="cuda")
    times = [torch_median_ms(torch, lambda: a @ b)]
    for bias in [False, True]:
        layers = torch_layers(torch, bias)
        x = torch.randn(8192, 1024, device="cuda").requires_grad_(True)
        gradient = torch.randn(8192, 1024, device="cuda")
        times.append(torch_median_ms(torch, lambda: torch_step(layers, x, gradient)))
    return dict(zip(TIMES, times))


def run_torch(times):
    import torch

    checks = Checks()
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch_products(torch, checks)
    torch_streams(torch, checks)
    torch_tf32(torch, checks)
    torch_networks(torch, checks)
    about = f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, {torch.cuda.get_device_name(0)}"
    return {
        "about": about,
        "errors": checks.errors,
        "times": torch_times(torch) if times else {},
        "vectors": torch_vectors(torch) if times else {},
    }


# ---- CuPy ------------------------------------------------------------------------------------------------------------


def run_cupy(times):
    import cupy

    checks = Checks()
    random = cupy.random.default_rng(1)

    def normal(*shape):
        return random.standard_normal(shape, dtype=cupy.float32)

    def check(name, got, a, b):
        assert got.dtype == cupy.float32
        checks.product(name, *(x.astype(cupy.float64) for x in [got, a, b]))

    for m, n, k in SHAPES:
        for op in ["NN", "NT", "TN", "TT"]:
            a = normal(m, k) if op[0] == "N" else normal(k, m).T
            b = normal(k, n) if op[1] == "N" else normal(n, k).T
            check("matmul", a @ b, a, b)
            check("dot", cupy.dot(a, b), a, b)
    for m, n, k, batch in BATCHES:
        a, b = normal(batch, m, k), normal(batch, k, n)
        check("batched matmul", cupy.matmul(a, b), a, b)
    a, b = normal(300, 500), normal(500, 400)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        c = a @ b
        stream.synchronize()
    check("another stream", c, a, b)
    return {"about": f"CuPy {cupy.__version__}", "errors": checks.errors, "times": {}}


FRAMEWORKS = {"torch": run_torch, "cupy": run_cupy}

# ---- The processes ---------------------------------------------------------------------------------------------------


def run_process(framework, mode, adapter, times):
    """Runs a framework in a process of its own. Returns what it found, with the adapter's report under "report"."""
    with tempfile.TemporaryDirectory() as folder:
        report, result = os.path.join(folder, "report"), os.path.join(folder, "result")
        env = {key: value for key, value in os.environ.items() if not key.startswith("SGEMM_CUBLAS_")}
        if mode != "none":
            env["LD_PRELOAD"] = ":".join(filter(None, [adapter, env.get("LD_PRELOAD")]))
            env.update(SGEMM_CUBLAS_MODE=mode, SGEMM_CUBLAS_REPORT=report)
        command = [sys.executable, os.path.abspath(__file__), "--run", framework, "--result", result]
        status = subprocess.run(command + ([] if times else ["--no-times"]), env=env).returncode
        if status != 0 or not os.path.exists(result):
            errors = {f"process ended with status {status}": (1.0, 0.0)}
            return {"about": framework, "errors": errors, "times": {}, "report": ""}
        with open(result) as file:
            found = json.load(file)
        # A helper process of the framework may have appended a report of its own: the last one is that of this process.
        text = open(report).read() if os.path.exists(report) else ""
        found["report"] = text[text.rfind("sgemm_cublas: ") :] if text else ""
        return found


def paths_of(report):
    """The calls of each path in a report: {"sgemm, strict": 12, "cuBLAS: ...": 3}."""
    paths = report.split("the most frequent shapes")[0]
    return {path: int(calls) for calls, path in re.findall(r"^ *(\d+) +[\d.]+  (\w.*)$", paths, re.M)}


def print_errors(found):
    names = list(dict.fromkeys(name for mode in MODES for name in found[mode]["errors"]))
    print(f"  {'largest error over its bound':34}" + "".join(f"{mode:>10}" for mode in MODES))
    for name in names:
        cells = []
        for mode in MODES:
            error, bound = found[mode]["errors"].get(name, (None, None))
            cells.append("-" if error is None else f"{error / bound:.4f}" if bound else "inf")
        print(f"  {name:34}" + "".join(f"{cell:>10}" for cell in cells))


def print_times(found):
    print(f"  {'median of 20, ms (over cuBLAS)':34}" + "".join(f"{mode:>16}" for mode in MODES))
    for name in TIMES:
        cells = []
        for mode in MODES:
            ms, base = found[mode]["times"].get(name), found["none"]["times"].get(name)
            ratio = f" ({base / ms:.2f})" if ms and base and mode != "none" else ""
            cells.append(f"{'-' if ms is None else f'{ms:.3f}{ratio}':>16}")
        print(f"  {name:34}" + "".join(cells))
    print("  network: 1024 to 4096, GELU, to 1024, 8192 rows, forward and backward, input gradient too")


def print_vectors(found):
    title = f"matrix and vector, graph of {VECTOR_CALLS}, us (over cuBLAS)"
    print(f"  {title:50}" + "".join(f"{mode:>16}" for mode in MODES[:2]))
    ratios = []
    for name, base in found["none"]["vectors"].items():
        us = found["strict"].get("vectors", {}).get(name)
        if us:
            ratios.append(base / us)
        print(f"  {name:50}{base:>16.2f}{f'{us:.2f} ({base / us:.2f})' if us else '-':>16}")
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        slow = sum(ratio < 0.97 for ratio in ratios)
        print(f"  geometric mean {mean:.3f}, least {min(ratios):.3f}, {slow} of {len(ratios)} under 0.97")


def failures(found, framework):
    """Sentences about what is wrong."""
    faults = []
    for mode in MODES:
        for name, (error, bound) in found[mode]["errors"].items():
            if not error <= bound:
                faults.append(f"{framework}, {mode}: {name}: error {error:.2e}, bound {bound:.2e}")
        paths = paths_of(found[mode]["report"])
        if mode != "none" and not any(path == f"sgemm, {mode}" for path in paths):
            faults.append(f"{framework}, {mode}: the adapter computed no call in this mode: {paths}")
        for path, calls in paths.items():
            if re.search("error|failed|no code", path):
                faults.append(f"{framework}, {mode}: {calls} calls: {path}")
    return faults


def test_framework(framework, adapter, times):
    found = {mode: run_process(framework, mode, adapter, times) for mode in MODES}
    print(found["none"]["about"])
    print_errors(found)
    if any(found[mode]["times"] for mode in MODES):
        print_times(found)
    if found["none"].get("vectors"):
        print_vectors(found)
    for mode in MODES[1:]:
        print(f"  calls, {mode}: " + "; ".join(f"{n} {path}" for path, n in paths_of(found[mode]["report"]).items()))
    return failures(found, framework)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libsgemm_cublas.so")
    parser.add_argument("--adapter", default=beside)
    parser.add_argument("--no-times", action="store_true")
    parser.add_argument("--run", choices=FRAMEWORKS, help=argparse.SUPPRESS)
    parser.add_argument("--result", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        found = FRAMEWORKS[options.run](not options.no_times)
        with open(options.result, "w") as file:
            json.dump(found, file)
        return 0
    if not os.path.exists(options.adapter):
        sys.exit(f"gpu_test.py: no adapter at {options.adapter}")
    faults, tested = [], 0
    for framework in FRAMEWORKS:
        if importlib.util.find_spec(framework) is None:
            print(f"{framework} is not installed: skipped")
            continue
        tested += 1
        faults += test_framework(framework, os.path.abspath(options.adapter), not options.no_times)
    for fault in faults:
        print("FAILED", fault)
    print(f"{tested} frameworks, {len(faults)} faults")
    return int(bool(faults) or tested == 0)


if __name__ == "__main__":
    sys.exit(main())
