# The CMake package `stint` with the components core and rocksdb.

include(CMakePackageConfigHelpers)

set(stint_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/stint")

function(stint_install_library target component)
  install(TARGETS ${target} EXPORT stint_${component}
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component}
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component}
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(EXPORT stint_${component}
    FILE stint-${component}-targets.cmake
    NAMESPACE stint::
    DESTINATION "${stint_package_dir}"
    COMPONENT ${component})
endfunction()

stint_install_library(stint_core core)
if(STINT_BUILD_ROCKSDB)
  stint_install_library(stint_rocksdb rocksdb)
endif()

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/stint"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT core
  FILES_MATCHING PATTERN "*.h")

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/stint-config.cmake.in"
  "${PROJECT_BINARY_DIR}/stint-config.cmake"
  INSTALL_DESTINATION "${stint_package_dir}"
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/stint-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/stint-config.cmake"
  "${PROJECT_BINARY_DIR}/stint-config-version.cmake"
  DESTINATION "${stint_package_dir}"
  COMPONENT core)

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  COMPONENT core)

if(TARGET stint)
  install(TARGETS stint RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT cli)
endif()
