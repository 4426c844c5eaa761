"""CUDA rules with the names and attributes of bazel-contrib's rules_cuda. A user of rules_cuda changes only the load line."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")
load("@cuda//:defs.bzl", "CUDA_FOUND", "GPU_FOUND")
load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_test")

def requires_cuda():
    """A value for target_compatible_with: without a CUDA toolkit, wildcards skip the target."""
    return [] if CUDA_FOUND else [Label("@platforms//:incompatible")]

def requires_gpu():
    """A value for target_compatible_with: without a toolkit or a GPU, wildcards skip the target."""
    return [] if GPU_FOUND else [Label("@platforms//:incompatible")]

def tags_of_gpu_program():
    """The tags of a program that needs a GPU to run: wildcards build it only where there is one, and its label everywhere."""
    return [] if GPU_FOUND else ["manual"]

_ArchsInfo = provider(fields = ["gencode"])

def _gencode(archs):
    flags = []
    for spec in archs.split(";"):
        virtual, _, codes = spec.rpartition(":")
        virtual = virtual or codes.split(",")[0].replace("sm_", "compute_")
        flags += ["-gencode=arch={},code={}".format(virtual, code) for code in codes.split(",")]
    return flags

def _cuda_archs_impl(ctx):
    return _ArchsInfo(gencode = _gencode(ctx.build_setting_value))

cuda_archs = rule(
    implementation = _cuda_archs_impl,
    doc = "Specs separated by ';', each [VIRTUAL:]CODE,CODE...; VIRTUAL is by default that of the first CODE.",
    build_setting = config.string(flag = True),
)

def _compile(ctx, src, context, cc_toolchain):
    obj = ctx.actions.declare_file("_objs/{}/{}.o".format(ctx.label.name, src.basename))
    args = ctx.actions.args()
    args.add_all(ctx.attr._archs[_ArchsInfo].gencode)
    args.add_all(["-G", "-g"] if ctx.var["COMPILATION_MODE"] == "dbg" else ["-O3", "-lineinfo"])
    args.add("--compress-mode=size")  # reduces the object to a third; the driver decompresses it when it loads the first kernel
    args.add_all(["-fPIC"] + ctx.fragments.cpp.copts, format_each = "-Xcompiler=%s")
    args.add(cc_toolchain.compiler_executable, format = "-ccbin=%s")
    args.add_all(context.defines, format_each = "-D%s")
    args.add_all(ctx.attr.local_defines, format_each = "-D%s")
    args.add_all(depset(transitive = [context.quote_includes, context.includes]), format_each = "-I%s")
    args.add_all(context.system_includes, before_each = "-isystem")
    args.add_all(ctx.attr.copts)
    args.add_all(ctx.attr.host_copts, format_each = "-Xcompiler=%s")
    args.add_all(["-c", src, "-o", obj])
    ctx.actions.run(
        executable = ctx.executable._nvcc,
        arguments = [args],
        inputs = depset([src], transitive = [context.headers, cc_toolchain.all_files]),
        outputs = [obj],
        mnemonic = "CudaCompile",
        progress_message = "Compiling CUDA " + src.short_path,
        use_default_shell_env = True,
    )
    return obj

def _cuda_library_impl(ctx):
    cc_toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = cc_toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    own = CcInfo(compilation_context = cc_common.create_compilation_context(
        headers = depset(ctx.files.hdrs),
        defines = depset(ctx.attr.defines),
    ))
    deps = [dep[CcInfo] for dep in ctx.attr.deps]
    context = cc_common.merge_cc_infos(cc_infos = [own] + deps).compilation_context
    objects = depset([_compile(ctx, src, context, cc_toolchain) for src in ctx.files.srcs])
    linking_context, outputs = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        feature_configuration = features,
        cc_toolchain = cc_toolchain,
        compilation_outputs = cc_common.create_compilation_outputs(objects = objects, pic_objects = objects),
        user_link_flags = ctx.attr.linkopts,
        linking_contexts = [dep.linking_context for dep in deps],
        alwayslink = ctx.attr.alwayslink,
        disallow_dynamic_library = True,
    )
    library = outputs.library_to_link
    return [
        CcInfo(compilation_context = context, linking_context = linking_context),
        DefaultInfo(files = depset([library.pic_static_library or library.static_library])),
    ]

_cuda_library = rule(
    implementation = _cuda_library_impl,
    attrs = {
        "srcs": attr.label_list(
            allow_empty = False,
            allow_files = [".cu"],
            mandatory = True,
        ),
        "hdrs": attr.label_list(allow_files = True),
        "deps": attr.label_list(providers = [CcInfo]),
        "defines": attr.string_list(),
        "local_defines": attr.string_list(),
        "copts": attr.string_list(doc = "for nvcc"),
        "host_copts": attr.string_list(doc = "for nvcc's host compiler"),
        "linkopts": attr.string_list(),
        "alwayslink": attr.bool(),
        "_archs": attr.label(default = "//bazel:archs"),
        "_nvcc": attr.label(
            default = "@cuda//:nvcc",
            allow_single_file = True,
            cfg = "exec",
            executable = True,
        ),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def cuda_library(name, **kwargs):
    """A static library of .cu files for cc_* and cuda_* rules. Without a CUDA toolkit it and its dependents are incompatible."""
    kwargs.setdefault("target_compatible_with", requires_cuda())
    _cuda_library(name = name, **kwargs)

def _linked(rule, name, srcs, deps, defines, local_defines, copts, host_copts, **kwargs):
    """A cc_binary or cc_test that links a private library of the .cu files."""
    cuda_library(
        name = "_" + name,
        testonly = rule == cc_test,
        srcs = srcs,
        copts = copts,
        defines = defines,
        host_copts = host_copts,
        local_defines = local_defines,
        visibility = ["//visibility:private"],
        deps = deps + [Label("@cuda//:cuda_runtime_static")],
    )
    rule(name = name, deps = ["_" + name], **kwargs)

def cuda_binary(name, srcs, deps = [], defines = [], local_defines = [], copts = [], host_copts = [], **kwargs):
    _linked(cc_binary, name, srcs, deps, defines, local_defines, copts, host_copts, **kwargs)

def cuda_test(name, srcs, deps = [], defines = [], local_defines = [], copts = [], host_copts = [], **kwargs):
    _linked(cc_test, name, srcs, deps, defines, local_defines, copts, host_copts, **kwargs)
