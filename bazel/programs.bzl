"""Programs that run on a GPU, or, without one, on the CPU model."""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("@rules_shell//shell:sh_binary.bzl", "sh_binary")
load("@cuda//:defs.bzl", "GPU_FOUND")
load("//bazel:copts.bzl", "SGEMM_COPTS")
load("//bazel:cuda.bzl", "requires_cuda", "tags_of_gpu_program")

def program(name, srcs, implementation = "", cpu_implementation = None, deps = [], cpu_deps = [], cuda_deps = []):
    """Declares the builds NAME_cpu and NAME_cuda, and NAME, which starts one of them.

    NAME_cuda links //:sgemm_cuda with the suffix `implementation`. NAME_cpu links //:sgemm_cpu with the suffix
    `cpu_implementation`, or `implementation` if that is None.
    """
    cc_binary(
        name = name + "_cpu",
        srcs = srcs,
        copts = SGEMM_COPTS,
        deps = deps + cpu_deps + [
            "//:cuda_runtime_cpu",
            "//:sgemm_cpu" + (cpu_implementation or implementation),
        ],
    )
    cc_binary(
        name = name + "_cuda",
        srcs = srcs,
        copts = SGEMM_COPTS,
        tags = tags_of_gpu_program(),
        target_compatible_with = requires_cuda(),
        deps = deps + cuda_deps + [
            "//tools:machine_cuda",
            "//:sgemm_cuda" + implementation,
        ],
    )
    sh_binary(
        name = name,
        srcs = ["//bazel:launch.sh"],
        data = [name + "_cpu"] + ([name + "_cuda"] if GPU_FOUND else []),
    )
