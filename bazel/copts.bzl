"""How this repository's own sources are compiled; the headers ask nothing of their users beyond C11 or C++14."""

_WARNINGS = ["-Wall", "-Wextra"]

# No contraction: the CPU model fuses a multiply and an add exactly where the kernels say so.
SGEMM_COPTS = ["-std=c11", "-ffp-contract=off"] + _WARNINGS

# For nvcc, and for the host compiler behind it.
SGEMM_CUDA_COPTS = ["-std=c++17"]
SGEMM_HOST_COPTS = _WARNINGS
