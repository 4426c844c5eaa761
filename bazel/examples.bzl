"""Programs that run on a GPU where there is one and on the CPU elsewhere."""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("@rules_shell//shell:sh_binary.bzl", "sh_binary")
load("@cuda//:defs.bzl", "CUDA_FOUND")
load("//bazel:copts.bzl", "SGEMM_COPTS")
load("//bazel:cuda.bzl", "requires_cuda")

def example(name, srcs, implementation = "", cuda_deps = []):
    """NAME_cpu and NAME_cuda are the two builds, linking //:sgemm_cpu and //:sgemm_cuda plus the suffix; NAME picks one as it starts."""
    cc_binary(
        name = name + "_cpu",
        srcs = srcs,
        copts = SGEMM_COPTS,
        deps = [
            ":machine_cpu",
            "//:sgemm_cpu" + implementation,
        ],
    )
    cc_binary(
        name = name + "_cuda",
        srcs = srcs,
        copts = SGEMM_COPTS,
        target_compatible_with = requires_cuda(),
        deps = cuda_deps + [
            ":machine_cuda",
            "//:sgemm_cuda" + implementation,
        ],
    )
    sh_binary(
        name = name,
        srcs = ["//bazel:launch.sh"],
        data = [name + "_cpu"] + ([name + "_cuda"] if CUDA_FOUND else []),
    )
