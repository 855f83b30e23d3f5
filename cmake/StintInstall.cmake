# What is installed: the CMake package `stint` with the components that were built, pkg-config files,
# headers, the program with its man pages and completions.
#
# Install components, which the Debian packages are made of: `core`, `rocksdb`, `dynamodb` and
# `prometheus` hold what programs need to run (with static libraries: nothing), those with `_dev`
# behind the name what building needs, `cli` the program. All headers are in `core_dev`. `asio`, which
# is a header, has only `asio_dev`.

include(CMakePackageConfigHelpers)

set(stint_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/stint")
set(stint_pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
# The prefix as seen from the folder of the pkg-config files, so that an installed tree can be moved.
# A folder given as an absolute path is not below the prefix and cannot be moved with it.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(stint_pkgconfig_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH stint_pkgconfig_prefix
    "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
  string(REGEX REPLACE "/$" "" stint_pkgconfig_prefix "\${pcfiledir}/${stint_pkgconfig_prefix}")
endif()
foreach(stint_folder IN ITEMS LIBDIR INCLUDEDIR)
  string(TOLOWER "stint_pkgconfig_${stint_folder}" stint_variable)
  cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_${stint_folder} BASE_DIRECTORY "\${prefix}"
    OUTPUT_VARIABLE ${stint_variable})
endforeach()

# stint_install_component(name file DESCRIPTION text [ON package...] [LIBS flag...]
# [REQUIRES package...]): the library, its exported target and its pkg-config file. ON are pkg-config
# packages that every user needs too; LIBS and REQUIRES, flags and packages, only those of an archive.
# A component of headers has no library, but all the rest.
function(stint_install_component name file)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "DESCRIPTION" "ON;LIBS;REQUIRES")
  set(target stint_${name})
  get_target_property(kind ${target} TYPE)
  if(BUILD_SHARED_LIBS AND NOT kind STREQUAL "INTERFACE_LIBRARY")
    set(target stint_${name}_shared)
  endif()
  install(TARGETS ${target} EXPORT stint_${name}
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${name}_dev
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
      COMPONENT ${name} NAMELINK_COMPONENT ${name}_dev
    INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  install(EXPORT stint_${name}
    FILE stint-${name}-targets.cmake
    NAMESPACE stint::
    DESTINATION "${stint_package_dir}"
    COMPONENT ${name}_dev)

  set(libs)
  if(NOT kind STREQUAL "INTERFACE_LIBRARY")
    set(libs "-L\${libdir}" "-l${file}")
  endif()
  set(requires ${arg_ON})
  if(NOT BUILD_SHARED_LIBS)
    # There is no other way to link this tree: nobody should have to know to ask with --static.
    list(APPEND libs ${arg_LIBS})
    list(APPEND requires ${arg_REQUIRES})
  endif()
  list(JOIN libs " " libs)
  list(JOIN requires ", " requires)
  string(REPLACE "_" "-" package "${file}")
  set(description "${arg_DESCRIPTION}")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/stint.pc.in"
    "${PROJECT_BINARY_DIR}/${package}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${package}.pc"
    DESTINATION "${stint_pkgconfig_dir}" COMPONENT ${name}_dev)
endfunction()

stint_install_component(core stint
  DESCRIPTION "Rate limits and quotas: limits, decisions, a store in memory"
  LIBS -ldate-tz -pthread)
if(STINT_BUILD_ROCKSDB)
  stint_install_component(rocksdb stint_rocksdb
    DESCRIPTION "The durable embedded store of stint"
    ON "stint = ${PROJECT_VERSION}"
    REQUIRES rocksdb)
endif()
if(STINT_BUILD_DYNAMODB)
  stint_install_component(dynamodb stint_dynamodb
    DESCRIPTION "Stores of stint on DynamoDB"
    ON "stint = ${PROJECT_VERSION}"
    REQUIRES "libcurl >= ${stint_curl_version}" "libcrypto >= ${stint_openssl_version}" simdjson)
endif()
if(STINT_BUILD_ASIO)
  # Boost has no pkg-config package: its headers are where the compiler looks, or its user says so.
  stint_install_component(asio stint_asio
    DESCRIPTION "Completion tokens of Boost.Asio for stint"
    ON "stint = ${PROJECT_VERSION}")
endif()
if(STINT_BUILD_PROMETHEUS)
  stint_install_component(prometheus stint_prometheus
    DESCRIPTION "Metrics of stint for Prometheus"
    ON "stint = ${PROJECT_VERSION}"
    REQUIRES prometheus-cpp-core)
endif()

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/stint"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT core_dev
  FILES_MATCHING PATTERN "*.h")

if(BUILD_SHARED_LIBS)
  set(stint_is_shared TRUE)
else()
  set(stint_is_shared FALSE)
endif()
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/stint-config.cmake.in"
  "${PROJECT_BINARY_DIR}/stint-config.cmake"
  INSTALL_DESTINATION "${stint_package_dir}"
  NO_SET_AND_CHECK_MACRO
  NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may change the interface.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(stint_compatibility SameMinorVersion)
else()
  set(stint_compatibility SameMajorVersion)
endif()
write_basic_package_version_file("${PROJECT_BINARY_DIR}/stint-config-version.cmake"
  COMPATIBILITY ${stint_compatibility})
install(FILES
  "${PROJECT_BINARY_DIR}/stint-config.cmake"
  "${PROJECT_BINARY_DIR}/stint-config-version.cmake"
  DESTINATION "${stint_package_dir}"
  COMPONENT core_dev)

# Debian packages have a file of their own for it.
if(NOT STINT_PACKAGE)
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE"
    DESTINATION "${CMAKE_INSTALL_DOCDIR}"
    COMPONENT core_dev)
endif()

if(TARGET stint)
  install(TARGETS stint RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT cli)
endif()
