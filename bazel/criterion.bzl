"""Tests written with Criterion."""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("@rules_shell//shell:sh_test.bzl", "sh_test")
load("//bazel:copts.bzl", "SGEMM_COPTS")
load("//bazel:cuda.bzl", "requires_cuda", "requires_gpu")

def criterion_test(name, srcs, deps = [], jobs = 2, local_defines = [], data = [], tags = [], args = [], builds_with = [], runs_with = [], **kwargs):
    """NAME_bin is the binary with Criterion, for a debugger. The test NAME runs it with `jobs` cases at a time. builds_with and
    runs_with are their target_compatible_with.

    Bazel counts one CPU for the test all the same: if it kept `jobs` of them, a core would be idle whenever a test with one
    process is beside it."""
    cc_binary(
        name = name + "_bin",
        testonly = True,
        srcs = srcs,
        copts = SGEMM_COPTS,
        # With -c opt the linker removes unreferenced sections, Criterion's tests among them, and a run without tests passes.
        linkopts = ["-Wl,--no-gc-sections"],
        local_defines = local_defines,
        tags = ["manual"],
        target_compatible_with = builds_with,
        visibility = ["//visibility:private"],
        deps = deps + ["//bazel:criterion"],
    )
    sh_test(
        name = name,
        size = "small",
        srcs = ["//bazel:criterion_test.sh"],
        args = ["$(rootpath :{}_bin)".format(name), "--jobs={}".format(jobs)] + args,
        data = data + [
            name + "_bin",
            "//bazel:own_pid.sh",
        ],
        tags = tags,
        target_compatible_with = runs_with,
        **kwargs
    )

def cuda_criterion_test(name, tags = [], **kwargs):
    """Runs one case at a time and no other test beside it, because each case is a process with its own CUDA context. The
    result is never cached, because it is that of the GPU. Without a GPU the test is skipped, and its binary can be built."""
    criterion_test(
        name = name,
        jobs = 1,
        tags = ["exclusive", "external", "gpu"] + tags,
        builds_with = requires_cuda(),
        runs_with = requires_gpu(),
        **kwargs
    )
