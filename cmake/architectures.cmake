# sgemm_architectures(OUT): sets OUT to the property CUDA_ARCHITECTURES of sgemm::cuda.
#
# The wanted list is SGEMM_CUDA_ARCHITECTURES, or CMAKE_CUDA_ARCHITECTURES if the user, the environment variable CUDAARCHS or
# a parent project sets it, or the default 80-real;90. The function then replaces:
#   native          the GPUs of this machine. Without a GPU: the default, with a warning.
#   all, all-major  the architectures of this nvcc from 75 on, or only 75 and those that end in 0, and PTX of the highest. The
#                   values of CMake and nvcc lack 90a.
#   90              90a-real;90-virtual: sm_90 lacks wgmma, and sm_90a has no use beside Hopper, the only GPUs of compute
#                   capability 9.0. Later GPUs compile the PTX of compute_90 when they load it.
#   90-real         90a-real
#   90-virtual      90a-real;90-virtual
# Other values, such as 80 or 90a, stay as they are. OFF means that the user's CMAKE_CUDA_FLAGS name the architectures.
function(sgemm_architectures out)
  set(default 80-real 90)

  # CMake sets CMAKE_CUDA_ARCHITECTURES to the lowest architecture of nvcc if nobody does. Only the text in the cache tells such
  # a value from the user's. CMake reads CUDAARCHS once, so a later run of CMake may lack it.
  if(NOT DEFINED CACHE{SGEMM_CUDAARCHS})
    set(SGEMM_CUDAARCHS "$ENV{CUDAARCHS}" CACHE INTERNAL "CUDAARCHS of the first run of CMake")
  endif()
  get_property(help CACHE CMAKE_CUDA_ARCHITECTURES PROPERTY HELPSTRING)
  if(NOT SGEMM_CUDA_ARCHITECTURES STREQUAL "")
    set(wanted ${SGEMM_CUDA_ARCHITECTURES})
  elseif(SGEMM_CUDAARCHS STREQUAL "" AND help STREQUAL "CUDA architectures" AND
         CMAKE_CUDA_ARCHITECTURES STREQUAL "$CACHE{CMAKE_CUDA_ARCHITECTURES}")
    set(wanted ${default})
  else()
    set(wanted ${CMAKE_CUDA_ARCHITECTURES})
  endif()

  if(wanted STREQUAL "native")
    set(wanted ${CMAKE_CUDA_ARCHITECTURES_NATIVE})
    if(NOT wanted MATCHES "^[0-9]") # CMake 3.25 sets nothing without a GPU, later versions a message
      message(WARNING "sgemm: CMake finds no GPU for the architecture native; sgemm::cuda is compiled for the default")
      set(wanted ${default})
    endif()
  elseif(wanted MATCHES "^all(-major)?$")
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[0-9]+" listed "${listed}") # without the letters that nvcc 12 lists too
    list(REMOVE_DUPLICATES listed)
    list(SORT listed COMPARE NATURAL)
    list(FILTER listed EXCLUDE REGEX "^([1-6].|7[0-4])$")
    if(wanted STREQUAL "all-major")
      list(FILTER listed INCLUDE REGEX "0$|^75$")
    endif()
    list(POP_BACK listed highest)
    list(TRANSFORM listed APPEND "-real")
    set(wanted ${listed} ${highest})
  endif()

  list(TRANSFORM wanted REPLACE "^90(-virtual)?$" "90a-real;90-virtual")
  list(TRANSFORM wanted REPLACE "^90-real$" "90a-real")
  list(REMOVE_DUPLICATES wanted)
  set(${out} "${wanted}" PARENT_SCOPE)
endfunction()
