"""The CUDA toolkit of this machine as a repository.

The rule looks in $CUDA_PATH, beside the nvcc on PATH, and in /usr/local/cuda. Without a toolkit every target exists and is
incompatible, so that wildcards skip targets that need CUDA, and analysis does not fail.
"""

# nvcc names its temporary files by its process id, and ids repeat in Bazel's sandboxes. So each call gets a temporary directory.
_NVCC = """#!/bin/bash
TMPDIR=$(mktemp -d) && export TMPDIR || exit
trap 'rm -rf "$TMPDIR"' EXIT
"{root}/bin/nvcc" "$@"
"""

_HEAD = """load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

exports_files(["nvcc"])
"""

_FOUND = """
cc_library(
    name = "cuda_headers",
    hdrs = glob(["include/*.h", "include/*.hpp", "include/crt/**", "include/nv/**"]),
    includes = ["include"],
)

cc_library(
    name = "cuda_runtime_static",
    linkopts = ["-L{root}/lib64", "-lcudart_static", "-ldl", "-lpthread", "-lrt"],
    deps = [":cuda_headers"],
)

cc_library(
    name = "cublas",
    linkopts = ["-L{root}/lib64", "-Wl,-rpath,{root}/lib64", "-lcublas"],
    deps = [":cuda_headers"],
)
"""

_MISSING = """
[cc_library(
    name = name,
    target_compatible_with = ["@platforms//:incompatible"],
) for name in ["cuda_headers", "cuda_runtime_static", "cublas"]]
"""

def find_cuda(rctx):
    """The directory of the toolkit, or None."""
    nvcc = rctx.which("nvcc")
    for root in [rctx.os.environ.get("CUDA_PATH"), nvcc and nvcc.realpath.dirname.dirname, "/usr/local/cuda"]:
        if root and all([rctx.path("{}/{}".format(root, part)).exists for part in ["bin/nvcc", "lib64/libcudart_static.a"]]):
            return root
    return None

def _find_gpu(rctx):
    """True if this machine has a GPU, under Linux or WSL; SGEMM_GPU=0 or 1 decides otherwise."""
    asked = rctx.os.environ.get("SGEMM_GPU")
    return asked != "0" if asked else any([rctx.path(file).exists for file in ["/dev/nvidiactl", "/dev/dxg"]])

def _local_cuda_impl(rctx):
    root = find_cuda(rctx)
    rctx.file("defs.bzl", "CUDA_FOUND = {}\nGPU_FOUND = {}\n".format(root != None, root != None and _find_gpu(rctx)))
    if root:
        rctx.symlink("{}/include".format(root), "include")
    rctx.file("nvcc", _NVCC.format(root = root))
    rctx.file("BUILD", _HEAD + (_FOUND.format(root = root) if root else _MISSING))

local_cuda = repository_rule(
    implementation = _local_cuda_impl,
    environ = ["CUDA_PATH", "PATH", "SGEMM_GPU"],
    local = True,
)
