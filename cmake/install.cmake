# The installed files: headers in include/, the implementation's sources in share/sgemm/ for a project that compiles them itself,
# the archives, the CMake package and the pkg-config files. The folder cpu/ is not in include/, because its name is not this
# project's own.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(sources ${CMAKE_INSTALL_DATADIR}/sgemm)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/sgemm)

install(FILES sgemm.h sgemm_kernels.cuh TYPE INCLUDE)
install(DIRECTORY sgemm TYPE INCLUDE)
install(DIRECTORY cpu cuda DESTINATION ${sources})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# sgemm::cuda has an export file of its own, so that the other targets work on a machine without the CUDA toolkit.
target_include_directories(sgemm_cpu INTERFACE $<INSTALL_INTERFACE:${sources}>)
install(TARGETS sgemm_headers sgemm_cpu EXPORT sgemmTargets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT sgemmTargets NAMESPACE sgemm:: DESTINATION ${package})
if(TARGET sgemm_cuda)
  install(TARGETS sgemm_cuda EXPORT sgemmCudaTargets)
  install(EXPORT sgemmCudaTargets NAMESPACE sgemm:: DESTINATION ${package})
endif()

configure_package_config_file(cmake/sgemmConfig.cmake.in sgemmConfig.cmake INSTALL_DESTINATION ${package}
  NO_SET_AND_CHECK_MACRO)
# In 0.x a minor version may change calls.
write_basic_package_version_file(sgemmConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sgemmConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/sgemmConfigVersion.cmake
  DESTINATION ${package})

# pkgconfig_file(NAME DESCRIPTION CFLAGS LIBS): installs NAME.pc. Its paths are relative to the file, so that an installed tree
# can be moved.
function(sgemm_pkgconfig_file name description cflags libs)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig"
    OUTPUT_VARIABLE prefix)
  foreach(directory LIBDIR INCLUDEDIR DATADIR)
    set(${directory} "\${prefix}")
    cmake_path(APPEND ${directory} "${CMAKE_INSTALL_${directory}}") # an absolute path replaces the prefix
  endforeach()
  configure_file(cmake/sgemm.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

sgemm_pkgconfig_file(sgemm-cpu "The CPU model of sgemm, which runs its kernels without a GPU" "-I\${sourcedir}"
  "-lsgemm_cpu -lpthread -lm")
if(TARGET sgemm_cuda)
  get_target_property(cudart CUDA::cudart_static IMPORTED_LOCATION)
  cmake_path(GET cudart PARENT_PATH cudart)
  list(JOIN CUDAToolkit_INCLUDE_DIRS " -I" cuda_includes)
  sgemm_pkgconfig_file(sgemm "${PROJECT_DESCRIPTION}" "-I${cuda_includes}"
    "-lsgemm_cuda -L${cudart} -lcudart_static -lstdc++ -lpthread -ldl -lrt -lm")
endif()
