# Compiler, linker and sanitizer settings that hold for every target of this project.

# LibTorch's headers behave differently without NDEBUG (the wheel was built with it), so every build
# type has it; sheaf's own invariants use LibTorch's internal assert, which does not depend on it.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g -DNDEBUG")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer -DNDEBUG")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or Sanitize" FORCE)
endif()

find_program(SHEAF_CCACHE ccache)
if(SHEAF_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers are cached only when ccache may ignore their time stamps.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${SHEAF_CCACHE})
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND SHEAF_PCH)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
elseif(SHEAF_PCH)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()

find_program(SHEAF_MOLD mold)
if(SHEAF_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(SHEAF_SANITIZE)
  add_compile_options(-fsanitize=${SHEAF_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SHEAF_SANITIZE})
  # vptr and function checks compare type information across LibTorch's hidden symbols.
  if(SHEAF_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=vptr)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      add_compile_options(-fno-sanitize=function)
    endif()
  endif()
endif()

# What every own target is compiled with; headers of others are SYSTEM and stay silent.
add_library(sheaf_warnings INTERFACE)
target_compile_options(sheaf_warnings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor)
# g++ complains about designated initializers that leave members to their defaults, which is their use.
target_compile_options(sheaf_warnings INTERFACE -Wno-missing-field-initializers)
if(SHEAF_WERROR)
  target_compile_options(sheaf_warnings INTERFACE -Werror)
endif()
