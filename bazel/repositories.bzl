"""The repositories that a WORKSPACE needs. Nothing is downloaded."""

load("//bazel:local_cuda.bzl", "local_cuda")
load("//bazel:local_mpi.bzl", "local_mpi")
load("//bazel:local_nccl.bzl", "local_nccl")
load("//bazel:local_stages.bzl", "local_stages")

def _native_rules_impl(rctx):
    rctx.file("BUILD")
    rctx.file(rctx.attr.package + "/BUILD")
    for path, rules in rctx.attr.files.items():
        lines = ["{0} = native.{0}\n".format(rule) for rule in rules]
        rctx.file("{}/{}".format(rctx.attr.package, path), "".join(lines))

# BUILD files load these rules from the labels of later Bazel versions. A Bazel that reads a WORKSPACE has them built in.
_native_rules = repository_rule(
    implementation = _native_rules_impl,
    attrs = {
        "package": attr.string(),
        "files": attr.string_list_dict(),
    },
)

def sgemm_repositories():
    """Declares the repositories that the WORKSPACE has not declared yet."""
    known = native.existing_rules()
    if "rules_cc" not in known:
        _native_rules(
            name = "rules_cc",
            package = "cc",
            files = {"defs.bzl": ["cc_binary", "cc_import", "cc_library", "cc_test", "cc_toolchain", "cc_toolchain_suite"]},
        )
    if "rules_shell" not in known:
        _native_rules(
            name = "rules_shell",
            package = "shell",
            files = {
                "sh_binary.bzl": ["sh_binary"],
                "sh_test.bzl": ["sh_test"],
            },
        )
    if "cuda" not in known:
        local_cuda(name = "cuda")
    if "mpi" not in known:
        local_mpi(name = "mpi")
    if "nccl" not in known:
        local_nccl(name = "nccl")
    if "sgemm_stages" not in known:
        local_stages(name = "sgemm_stages")
