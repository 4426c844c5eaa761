"""How this repository's own C is compiled; the headers ask nothing of their users beyond C11."""

# No contraction: the CPU model fuses a multiply and an add exactly where the kernels say fma.
SGEMM_COPTS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"]
