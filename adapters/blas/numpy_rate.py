#!/usr/bin/env python3
"""numpy_rate.py [SIZE...]: measures numpy's product of two fp32 squares, and prints CSV. With LD_PRELOAD=libsgemm_blas.so
the adapter computes it, and SGEMM_BLAS_REPORT=1 tells whether it did. error is the largest difference of a row from the
product in fp64, over the bound of fp32 summation."""
import sys
import time

import numpy

print("n,first_ms,ms,tflops,error")
for n in map(int, sys.argv[1:] or ("1024", "4096", "8192", "16384")):
    rng = numpy.random.default_rng(1)
    a, b = (rng.random((n, n), dtype=numpy.float32) - numpy.float32(0.5) for _ in range(2))
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        c = a @ b
        seconds.append(time.perf_counter() - start)
    row = a[n // 3].astype(float)
    bound = (n + 2) * 2.0**-24 * (abs(row) @ abs(b))
    error = (abs(c[n // 3] - row @ b) / bound).max()
    best = min(seconds[1:])
    print(f"{n},{1e3 * seconds[0]:.2f},{1e3 * best:.2f},{2e-12 * n**3 / best:.3f},{error:.3g}", flush=True)
