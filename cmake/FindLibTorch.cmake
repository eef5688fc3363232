# Finds LibTorch without its own CMake package, which fails for a CUDA wheel where nvcc is missing.
#
# Looks at, in this order: SHEAF_LIBTORCH, the active Python environment, the project's .deps/venv,
# CMAKE_PREFIX_PATH and common install prefixes. Defines
#   LibTorch::cpu       tensors, autograd, gloo
#   LibTorch::cuda      the CUDA half and NCCL (only where the installation has it)
#   LibTorch_VERSION, LibTorch_ROOT, LibTorch_HAS_CUDA

set(LibTorch_PINNED 2.11.0)

function(_libtorch_python_folder executable out)
  set(${out} "" PARENT_SCOPE)
  if(EXISTS ${executable})
    execute_process(
      COMMAND ${executable} -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
      OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed)
      set(${out} ${folder} PARENT_SCOPE)
    endif()
  endif()
endfunction()

function(_libtorch_candidates out)
  set(folders ${SHEAF_LIBTORCH})
  if(NOT folders)
    foreach(environment IN ITEMS $ENV{VIRTUAL_ENV} $ENV{CONDA_PREFIX} ${CMAKE_SOURCE_DIR}/.deps/venv)
      _libtorch_python_folder(${environment}/bin/python3 folder)
      list(APPEND folders ${folder})
    endforeach()
    list(APPEND folders ${CMAKE_PREFIX_PATH} $ENV{LIBTORCH} /opt/libtorch /usr/local/libtorch /usr/local /usr)
  endif()
  set(${out} ${folders} PARENT_SCOPE)
endfunction()

set(LibTorch_ROOT "")
_libtorch_candidates(_libtorch_folders)
foreach(_folder IN LISTS _libtorch_folders)
  if(EXISTS ${_folder}/include/torch/csrc/api/include/torch/version.h AND EXISTS ${_folder}/lib/libtorch_cpu.so)
    set(LibTorch_ROOT ${_folder})
    break()
  endif()
endforeach()

if(NOT LibTorch_ROOT)
  if(SHEAF_LIBTORCH)
    set(LibTorch_NOT_FOUND_MESSAGE "SHEAF_LIBTORCH has no include/ and lib/ of LibTorch: ${SHEAF_LIBTORCH}")
  else()
    set(LibTorch_NOT_FOUND_MESSAGE
        "no LibTorch here: run './dev setup', or 'pip install torch==${LibTorch_PINNED}' in an active environment, or pass -DSHEAF_LIBTORCH=<folder>")
  endif()
  if(LibTorch_FIND_REQUIRED)
    message(FATAL_ERROR "${LibTorch_NOT_FOUND_MESSAGE}")
  endif()
  set(LibTorch_FOUND FALSE)
  return()
endif()

set(LibTorch_FOUND TRUE)
set(_include ${LibTorch_ROOT}/include)
file(STRINGS ${_include}/torch/headeronly/version.h _version_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
list(TRANSFORM _version_lines REPLACE "^#define TORCH_VERSION_[A-Z]+ " "")
list(JOIN _version_lines "." LibTorch_VERSION)
set(LibTorch_HAS_CUDA FALSE)
if(EXISTS ${LibTorch_ROOT}/lib/libtorch_cuda.so)
  set(LibTorch_HAS_CUDA TRUE)
endif()

# The headers name Gloo types whose headers are not shipped; cmake/gloo_stubs has just enough of them
# (beside the sources, and beside this file when sheaf is installed).
set(LibTorch_GLOO_STUBS ${CMAKE_CURRENT_LIST_DIR}/gloo_stubs)

if(NOT TARGET LibTorch::cpu)
  add_library(LibTorch::c10 SHARED IMPORTED)
  set_target_properties(LibTorch::c10 PROPERTIES IMPORTED_LOCATION ${LibTorch_ROOT}/lib/libc10.so)
  add_library(LibTorch::cpu SHARED IMPORTED)
  set_target_properties(LibTorch::cpu PROPERTIES IMPORTED_LOCATION ${LibTorch_ROOT}/lib/libtorch_cpu.so)
  target_include_directories(LibTorch::cpu SYSTEM INTERFACE ${_include} ${_include}/torch/csrc/api/include)
  target_compile_definitions(LibTorch::cpu INTERFACE USE_DISTRIBUTED USE_C10D_GLOO FMT_HEADER_ONLY=1)
  # LibTorch's own dependencies (CUDA runtime, CUPTI) are found by its run path, not by the linker.
  target_link_options(LibTorch::cpu INTERFACE -Wl,--allow-shlib-undefined -Wl,--unresolved-symbols=ignore-in-shared-libs)
  find_package(Threads REQUIRED)
  target_link_libraries(LibTorch::cpu INTERFACE LibTorch::c10 Threads::Threads)
endif()

if(LibTorch_HAS_CUDA AND NOT TARGET LibTorch::cuda)
  add_library(LibTorch::cuda INTERFACE IMPORTED)
  # Its kernels register themselves when it is loaded: it must stay even where no symbol is taken from it.
  target_link_libraries(LibTorch::cuda INTERFACE LibTorch::cpu
    -Wl,--push-state,--no-as-needed ${LibTorch_ROOT}/lib/libtorch_cuda.so ${LibTorch_ROOT}/lib/libc10_cuda.so -Wl,--pop-state)
  # Own kernels bring a CUDA runtime with them: LibTorch's shared one is found by its run path only.
  file(GLOB _cuda_folders ${LibTorch_ROOT}/lib ${LibTorch_ROOT}/../nvidia/*/lib)
  find_library(LibTorch_CUDART NAMES libcudart_static.a
    HINTS ${_cuda_folders} /usr/local/cuda/lib64 /usr/local/cuda/lib NO_CACHE)
  if(LibTorch_CUDART)
    target_link_libraries(LibTorch::cuda INTERFACE ${LibTorch_CUDART} rt ${CMAKE_DL_LIBS} Threads::Threads)
  endif()
endif()

if(NOT LibTorch_FIND_QUIETLY)
  if(LibTorch_HAS_CUDA)
    message(STATUS "LibTorch ${LibTorch_VERSION} with CUDA: ${LibTorch_ROOT}")
  else()
    message(STATUS "LibTorch ${LibTorch_VERSION} without CUDA: ${LibTorch_ROOT}")
  endif()
endif()
if(NOT LibTorch_VERSION VERSION_EQUAL LibTorch_PINNED)
  message(WARNING "sheaf is written for LibTorch ${LibTorch_PINNED}; this one is ${LibTorch_VERSION}")
endif()
