"""The Conan 2 recipe. `conan create .` builds the package with CMake and then the project in examples/consumer_cmake."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import load


class Sgemm(ConanFile):
    name = "sgemm"
    license = "MIT"
    description = "Single-precision matrix multiplication on NVIDIA GPUs"
    topics = ("cuda", "gemm", "blas", "linear-algebra")
    package_type = "static-library"
    languages = "C"
    settings = "os", "compiler", "build_type", "arch"
    # stage and architectures have the values of SGEMM_STAGE and SGEMM_CUDA_ARCHITECTURES.
    options = {"cuda": [True, False], "stage": ["", "ANY"], "architectures": ["", "ANY"]}
    default_options = {"cuda": True, "stage": "", "architectures": ""}
    exports_sources = ("CMakeLists.txt", "LICENSE", "cmake/*", "cpu/*", "cuda/*", "sgemm/*", "sgemm.h", "sgemm_kernels.cuh")
    test_package_folder = "examples/consumer_cmake"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "sgemm.h"))
        self.version = ".".join(re.findall(r"^#define SGEMM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M))

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["SGEMM_CUDA"] = "ON" if self.options.cuda else "OFF"
        toolchain.cache_variables["SGEMM_CUDA_ARCHITECTURES"] = str(self.options.architectures)
        toolchain.cache_variables["SGEMM_STAGE"] = str(self.options.stage)
        toolchain.cache_variables["SGEMM_TESTS"] = "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # find_package() reads the installed sgemmConfig.cmake, which has the same targets as an installation without Conan.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "sgemm")]
