#!/usr/bin/env python3
"""numpy_product.py [M N K]: NumPy multiplies two float32 matrices, on a GPU if the BLAS adapter is preloaded.

    python3 numpy_product.py 8192 8192 8192
    LD_PRELOAD=libsgemm_blas.so python3 numpy_product.py 8192 8192 8192

The error is that of 16 rows against the product in float64, as a fraction of the bound of fp32 summation. With the
adapter the process ends with a report on stderr, which says what computed the products. The exit status is 1 if the
error is above the bound."""
import os
import sys
import time

os.environ.setdefault("SGEMM_BLAS_REPORT", "1")  # the adapter reads its variables at the first product

import numpy

m, n, k = map(int, sys.argv[1:] or (2048, 2048, 2048))
rng = numpy.random.default_rng(1)
a = rng.standard_normal((m, k), dtype=numpy.float32)
b = rng.standard_normal((k, n), dtype=numpy.float32)

seconds = []
for _ in range(3):
    start = time.perf_counter()
    c = a @ b
    seconds.append(time.perf_counter() - start)

rows = numpy.unique(numpy.linspace(0, m - 1, 16).astype(int))
a64, b64 = a[rows].astype(float), b.astype(float)
bound = (k + 2) * 2.0**-24 * (abs(a64) @ abs(b64))
error = numpy.max(abs(c[rows] - a64 @ b64) / bound)
with open("/proc/self/maps") as maps:
    adapter = "libsgemm_blas" in maps.read()

print(f"NumPy {numpy.__version__}, {'with' if adapter else 'without'} the BLAS adapter")
print(f"{m} x {n} x {k}: first {1e3 * seconds[0]:.2f} ms, then {1e3 * min(seconds[1:]):.2f} ms,",
      f"{2e-12 * m * n * k / min(seconds[1:]):.3f} TFLOP/s, error {error:.3g} of the bound")
sys.exit(not error <= 1)
