"""NCCL on this machine as a repository.

The rule looks in $NCCL_PATH, in the CUDA toolkit, in /usr, and in the PyPI package nvidia-nccl-cu13 or nvidia-nccl-cu12 of the
python3 on PATH. Without NCCL the target exists and is incompatible, so that wildcards skip what needs it.
"""

load(":local_cuda.bzl", "find_cuda")

_HEAD = """load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])
"""

# The PyPI package has libnccl.so.2 without the link libnccl.so that -lnccl looks for.
_FOUND = """
cc_library(
    name = "nccl",
    hdrs = ["include/nccl.h"],
    includes = ["include"],
    linkopts = ["-L{directory}", "-Wl,-rpath,{directory}", "-l:libnccl.so.2"],
    deps = ["@cuda//:cuda_headers"],
)
"""

_MISSING = """
cc_library(
    name = "nccl",
    target_compatible_with = ["@platforms//:incompatible"],
)
"""

# Both PyPI packages install to nvidia/nccl of the site-packages.
_PYPI = "import importlib.util; print(list(importlib.util.find_spec('nvidia.nccl').submodule_search_locations)[0])"

def _pypi(rctx):
    python = rctx.which("python3")
    result = rctx.execute([python, "-c", _PYPI]) if python else None
    return result.stdout.strip() if result and result.return_code == 0 else None

def _find_nccl(rctx):
    """The header, and the directory of the library; None: there is no NCCL, or no toolkit to build its programs with."""
    if not find_cuda(rctx):
        return None
    for root in [rctx.os.environ.get("NCCL_PATH"), find_cuda(rctx), "/usr", _pypi(rctx)]:
        for lib in ["lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"]:
            if root and all([rctx.path("{}/{}".format(root, part)).exists for part in ["include/nccl.h", lib + "/libnccl.so.2"]]):
                return struct(header = "{}/include/nccl.h".format(root), directory = "{}/{}".format(root, lib))
    return None

def _local_nccl_impl(rctx):
    nccl = _find_nccl(rctx)
    rctx.file("defs.bzl", "NCCL_FOUND = {}\n".format(nccl != None))
    if nccl:
        rctx.symlink(nccl.header, "include/nccl.h")
    rctx.file("BUILD", _HEAD + (_FOUND.format(directory = nccl.directory) if nccl else _MISSING))

local_nccl = repository_rule(
    implementation = _local_nccl_impl,
    environ = ["CUDA_PATH", "NCCL_PATH", "PATH"],
    local = True,
)
