"""Tests written with Criterion."""

load("@rules_cc//cc:defs.bzl", "cc_binary")
load("@rules_shell//shell:sh_test.bzl", "sh_test")
load("//bazel:copts.bzl", "SGEMM_COPTS")
load("//bazel:cuda.bzl", "requires_cuda", "requires_gpu")

def criterion_binary(name, srcs, deps = [], local_defines = [], target_compatible_with = []):
    """A binary with Criterion, for tests and for a debugger."""
    cc_binary(
        name = name,
        testonly = True,
        srcs = srcs,
        copts = SGEMM_COPTS,
        # With -c opt the linker removes unreferenced sections, Criterion's tests among them, and a run without tests passes.
        linkopts = ["-Wl,--no-gc-sections"],
        local_defines = local_defines,
        tags = ["manual"],
        target_compatible_with = target_compatible_with,
        visibility = ["//visibility:private"],
        deps = deps + ["//bazel:criterion"],
    )

def criterion_test(name, srcs, deps = [], jobs = 2, local_defines = [], tags = [], cases = ["*"], quick_binary = None, builds_with = [], runs_with = [], **kwargs):
    """The test NAME runs the binary NAME_bin with `jobs` cases at a time.

    Bazel counts one CPU for the test all the same: if it kept `jobs` of them, a core would be idle whenever a test with one
    process is beside it.

    Args:
      cases: the names of the cases that run: one pattern of Criterion, in a list, so that it may depend on the tier.
      quick_binary: the label of a binary that has these cases too. The quick tier runs it, so that NAME_bin is not built there.
      builds_with: target_compatible_with of the binary.
      runs_with: target_compatible_with of the test."""
    binary = ":{}_bin".format(name)
    criterion_binary(
        name = name + "_bin",
        srcs = srcs,
        deps = deps,
        local_defines = local_defines,
        target_compatible_with = builds_with,
    )
    sh_test(
        name = name,
        size = "small",
        srcs = ["//bazel:criterion_test.sh"],
        args = _of_tier("$(rootpath {})", binary, quick_binary) + cases + ["--jobs={}".format(jobs)],
        data = _of_tier("{}", binary, quick_binary) + ["//bazel:own_pid.sh"],
        tags = tags,
        target_compatible_with = runs_with,
        **kwargs
    )

def _of_tier(text, full, quick):
    return [text.format(full)] if quick == None else select({
        "//bazel:full_tier": [text.format(full)],
        "//conditions:default": [text.format(quick)],
    })

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
