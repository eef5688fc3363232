# Decides whether the CUDA twins (*_cuda.cpp, nccl_*.cpp, *.cu) are built, and with which headers.

set(SHEAF_WITH_CUDA OFF)
if(NOT SHEAF_CUDA STREQUAL "OFF" AND LibTorch_HAS_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  # LibTorch's NCCL options embed a struct of the NCCL it was built with: only that header will do.
  find_path(SHEAF_NCCL_INCLUDE nccl.h
    HINTS ${LibTorch_ROOT}/../nvidia/nccl/include NO_DEFAULT_PATH)
  if(CMAKE_CUDA_COMPILER AND SHEAF_NCCL_INCLUDE)
    set(SHEAF_WITH_CUDA ON)
  endif()
endif()

if(SHEAF_WITH_CUDA)
  set(CMAKE_CUDA_ARCHITECTURES ${SHEAF_CUDA_ARCHITECTURES})
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    # CMake 3.25 does not know that this nvcc has C++20.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    # A fifth of the size; drivers of this CUDA unpack it.
    string(APPEND CMAKE_CUDA_FLAGS " --compress-mode=size")
  endif()
  find_package(CUDAToolkit REQUIRED)
  message(STATUS "CUDA twins: built with nvcc ${CMAKE_CUDA_COMPILER_VERSION} for ${SHEAF_CUDA_ARCHITECTURES}")
elseif(SHEAF_CUDA STREQUAL "ON")
  message(FATAL_ERROR "SHEAF_CUDA=ON needs nvcc, a LibTorch with CUDA and its nccl.h; found nvcc '${CMAKE_CUDA_COMPILER}', LibTorch with CUDA ${LibTorch_HAS_CUDA}, nccl.h '${SHEAF_NCCL_INCLUDE}'")
else()
  message(STATUS "CUDA twins: not built (nvcc '${CMAKE_CUDA_COMPILER}', LibTorch with CUDA ${LibTorch_HAS_CUDA})")
endif()
