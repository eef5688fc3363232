# `cmake --install`: headers, library, program and a CMake package that finds LibTorch again.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(SHEAF_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/sheaf)
install(TARGETS sheaf EXPORT sheaf-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
# The program loads the LibTorch it was built with, or one beside it. CMake itself would leave out a
# LibTorch inside the source tree, where './dev setup' puts it.
set_target_properties(sheaf_program PROPERTIES INSTALL_RPATH "${LibTorch_ROOT}/lib;$ORIGIN/../lib")
install(TARGETS sheaf_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sheaf DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT sheaf-targets NAMESPACE sheaf:: DESTINATION ${SHEAF_PACKAGE_DIR})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/sheaf-config.cmake.in ${PROJECT_BINARY_DIR}/sheaf-config.cmake
  INSTALL_DESTINATION ${SHEAF_PACKAGE_DIR})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/sheaf-config-version.cmake COMPATIBILITY SameMinorVersion)
install(
  FILES ${PROJECT_BINARY_DIR}/sheaf-config.cmake ${PROJECT_BINARY_DIR}/sheaf-config-version.cmake
        ${PROJECT_SOURCE_DIR}/cmake/FindLibTorch.cmake
  DESTINATION ${SHEAF_PACKAGE_DIR})
install(DIRECTORY ${LibTorch_GLOO_STUBS} DESTINATION ${SHEAF_PACKAGE_DIR})
