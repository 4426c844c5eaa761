"""For MODULE.bazel: the repositories of //bazel:repositories.bzl that are in no registry."""

load("//bazel:local_cuda.bzl", "local_cuda")
load("//bazel:local_mpi.bzl", "local_mpi")
load("//bazel:local_nccl.bzl", "local_nccl")
load("//bazel:local_stages.bzl", "local_stages")

def _local_impl(_module_ctx):
    local_cuda(name = "cuda")
    local_mpi(name = "mpi")
    local_nccl(name = "nccl")
    local_stages(name = "sgemm_stages")

local = module_extension(implementation = _local_impl)
