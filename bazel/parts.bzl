"""The CUDA implementation, compiled in parts on all cores. With SGEMM_PART an object has the kernels of one stage."""

load("@rules_cc//cc:defs.bzl", "cc_library")
load("@sgemm_stages//:stages.bzl", "PRODUCTION_ALL", "PRODUCTION_SOME", "STAGES")
load("//bazel:copts.bzl", "SGEMM_CUDA_COPTS", "SGEMM_HOST_COPTS")
load("//bazel:cuda.bzl", "cuda_library", "requires_cuda", "tags_of_gpu_program")
load("//bazel:stages.bzl", "BUILDS", "stage_defines")

def _part(name, part, build):
    cuda_library(
        name = name,
        srcs = ["cuda/sgemm.cu"],
        copts = SGEMM_CUDA_COPTS,
        host_copts = SGEMM_HOST_COPTS,
        local_defines = stage_defines(build) + ["SGEMM_PART=" + part],
        tags = ["manual"],
        visibility = ["//visibility:private"],
        deps = [
            ":sgemm",
            "@cuda//:cuda_runtime_static",
        ],
    )

def sgemm_cuda_libraries():
    """Declares :sgemm_cuda_BUILD for each of BUILDS.

    Each build has its own object of the host part. The kernels of a stage do not depend on the build, only the set of its
    variants does. So the object with all variants of a stage is linked in the build of that stage, in `all`, and in production
    if production has all of these variants. Production has no kernels of the tensor engine mma in code for sm_90a.
    """
    for stage in STAGES + ["tensor"]:
        _part("sgemm_cuda_kernels_" + stage, stage, "all")
    for stage in PRODUCTION_SOME + ["tensor"]:
        _part("sgemm_cuda_kernels_{}_production".format(stage), stage, "production")
    kernels = {stage: [":sgemm_cuda_kernels_" + stage] for stage in STAGES}
    kernels["all"] = [":sgemm_cuda_kernels_" + stage for stage in STAGES + ["tensor"]]
    kernels["production"] = [":sgemm_cuda_kernels_" + stage for stage in PRODUCTION_ALL] + \
                            [":sgemm_cuda_kernels_{}_production".format(stage) for stage in PRODUCTION_SOME + ["tensor"]]
    for build in BUILDS:
        _part("sgemm_cuda_host_" + build, "host", build)
        cc_library(
            name = "sgemm_cuda_" + build,
            # Wildcards build production, and `all` where a GPU can run it.
            tags = [] if build == "production" else ["manual"] if build in STAGES else tags_of_gpu_program(),
            target_compatible_with = requires_cuda(),
            deps = [":sgemm_cuda_host_" + build] + kernels[build],
        )
