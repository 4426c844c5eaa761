"""The repositories of //bazel:repositories.bzl that no registry has, for MODULE.bazel."""

load("//bazel:local_cuda.bzl", "local_cuda")

def _toolkit_impl(_module_ctx):
    local_cuda(name = "cuda")

toolkit = module_extension(implementation = _toolkit_impl)
