"""Open MPI and its ScaLAPACK on this machine as a repository.

The rule asks the mpicc on PATH. ScaLAPACK is libscalapack-openmpi.so or libscalapack.so beside the MPI library or in the directory
of system libraries above it. Without them the targets exist and are incompatible, so that wildcards skip what needs them.
"""

_HEAD = """load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])
"""

_MPI = """
cc_library(
    name = "mpi",
    hdrs = glob(["include/*.h"]),
    includes = ["include"],
    linkopts = {linkopts},
)
"""

_SCALAPACK = """
cc_library(
    name = "scalapack",
    linkopts = ["-L{directory}", "-Wl,-rpath,{directory}", "-l{library}"],
    deps = [":mpi"],
)
"""

_MISSING = """
cc_library(
    name = "{name}",
    target_compatible_with = ["@platforms//:incompatible"],
)
"""

def _showme(rctx, mpicc, what):
    """What Open MPI's mpicc tells of itself, as a list of words. The wrappers of other MPIs know no --showme: None."""
    result = rctx.execute([mpicc, "--showme:" + what])
    return [word for word in result.stdout.strip().split(" ") if word] if result.return_code == 0 else None

def _headers(rctx, directories):
    """Links the headers into this repository. False: there is no mpi.h."""
    for directory in directories:
        if rctx.path(directory + "/mpi.h").exists:
            for header in ["mpi.h", "mpi_portable_platform.h"]:
                if rctx.path("{}/{}".format(directory, header)).exists:
                    rctx.symlink("{}/{}".format(directory, header), "include/" + header)
            return True
    return False

def _find_scalapack(rctx, directories):
    for directory in directories:
        for library in ["scalapack-openmpi", "scalapack"]:
            if rctx.path("{}/lib{}.so".format(directory, library)).exists:
                return struct(directory = directory, library = library)
    return None

def _local_mpi_impl(rctx):
    mpicc, mpirun = rctx.which("mpicc"), rctx.which("mpirun")
    libs = _showme(rctx, mpicc, "libs") if mpicc and mpirun else None
    found = libs != None and _headers(rctx, _showme(rctx, mpicc, "incdirs") or [])
    text, scalapack = _HEAD, None
    if found:
        libdirs = _showme(rctx, mpicc, "libdirs") or []
        linkopts = [option for d in libdirs for option in ["-L" + d, "-Wl,-rpath," + d]] + ["-l" + lib for lib in libs]
        text += _MPI.format(linkopts = linkopts)
        above = [str(rctx.path(d).dirname.dirname) for d in libdirs]
        scalapack = _find_scalapack(rctx, libdirs + above)
    else:
        text += _MISSING.format(name = "mpi")
    if scalapack:
        text += _SCALAPACK.format(directory = scalapack.directory, library = scalapack.library)
    else:
        text += _MISSING.format(name = "scalapack")
    rctx.file("BUILD", text)
    rctx.file("defs.bzl", "MPI_FOUND = {}\nSCALAPACK_FOUND = {}\nMPIRUN = {}\n".format(
        found,
        scalapack != None,
        repr(str(mpirun)) if found else "None",
    ))

local_mpi = repository_rule(
    implementation = _local_mpi_impl,
    environ = ["PATH"],
    local = True,
)
