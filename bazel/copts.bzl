"""Compiler options of the sources in this repository. The headers need only C11 or C++14."""

_WARNINGS = ["-Wall", "-Wextra"]

# No contraction: the CPU model fuses a multiplication and an addition only where a kernel has an FMA.
SGEMM_COPTS = ["-std=c11", "-ffp-contract=off"] + _WARNINGS

# Options of nvcc, and of its host compiler.
SGEMM_CUDA_COPTS = ["-std=c++17"]
SGEMM_HOST_COPTS = _WARNINGS
