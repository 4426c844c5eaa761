#!/usr/bin/env python3
"""numpy_rate.py [--calls N] [--out] [SIZE...]: measures numpy's product of two fp32 squares, and prints CSV: the first
call, and the fastest and the median of N more [3]. With --out all calls write one C, else each allocates its own. With
LD_PRELOAD=libsgemm_blas.so the adapter computes it, and SGEMM_BLAS_REPORT=1 tells whether it did. error is the largest
difference of a row from the product in fp64, over the bound of fp32 summation. Exit status: 0, 1 if an error is above
its bound, 2 for wrong arguments."""
import argparse
import statistics
import sys
import time

import numpy

parser = argparse.ArgumentParser()
parser.add_argument("--calls", type=int, default=3)
parser.add_argument("--out", action="store_true")
parser.add_argument("sizes", type=int, nargs="*", default=[1024, 4096, 8192, 16384])
options = parser.parse_args()
if options.calls < 1 or min(options.sizes) < 1:
    parser.error("calls and sizes are numbers from 1 on")

wrong = False
print("n,first_ms,ms,median_ms,tflops,median_tflops,error")
for n in options.sizes:
    rng = numpy.random.default_rng(1)
    a, b = (rng.random((n, n), dtype=numpy.float32) - numpy.float32(0.5) for _ in range(2))
    out = numpy.full((n, n), numpy.nan, numpy.float32) if options.out else None
    seconds = []
    for _ in range(1 + options.calls):
        start = time.perf_counter()
        c = numpy.matmul(a, b, out=out) if options.out else a @ b
        seconds.append(time.perf_counter() - start)
    row = a[n // 3].astype(float)
    bound = (n + 2) * 2.0**-24 * (abs(row) @ abs(b))
    error = (abs(c[n // 3] - row @ b) / bound).max()
    best, median = min(seconds[1:]), statistics.median(seconds[1:])
    print(f"{n},{1e3 * seconds[0]:.2f},{1e3 * best:.4f},{1e3 * median:.4f},{2e-12 * n**3 / best:.3f},"
          f"{2e-12 * n**3 / median:.3f},{error:.3g}", flush=True)
    if not error <= 1:  # a NaN is wrong
        print(f"numpy_rate.py: {n}: the error is above its bound", file=sys.stderr)
        wrong = True
sys.exit(wrong)
