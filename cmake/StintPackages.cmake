# Debian packages, by `cmake --preset package && cmake --build --preset package && cpack --preset package`:
#
#   libstint0.1          the shared library of the core
#   libstint-rocksdb0.1  the one of the durable store, so that users of the core need no RocksDB
#   libstint-dynamodb0.1 the one of stores on DynamoDB, so that nobody else needs libcurl
#   libstint-dev         headers, CMake package, pkg-config files
#   stint                the program, man pages, completions
#
# The number is the ABI version (docs/public-api.md).

foreach(stint_option IN ITEMS BUILD_SHARED_LIBS STINT_INSTALL STINT_BUILD_ROCKSDB STINT_BUILD_DYNAMODB
    STINT_BUILD_ASIO STINT_BUILD_CLI)
  if(NOT ${stint_option})
    message(FATAL_ERROR "stint: STINT_PACKAGE needs ${stint_option}")
  endif()
endforeach()

find_program(STINT_GZIP gzip REQUIRED)
mark_as_advanced(STINT_GZIP)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME stint)
# Each package has a summary of its own, which this would stand before.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGE_CONTACT "The stint developers <developers@stint.invalid>")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL core rocksdb dynamodb core_dev rocksdb_dev dynamodb_dev asio_dev cli)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Where the libraries of one package find those of another while packages are made.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")

string(TIMESTAMP stint_changelog_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file("${CMAKE_CURRENT_LIST_DIR}/debian/changelog.in"
  "${PROJECT_BINARY_DIR}/debian/changelog" @ONLY)
execute_process(COMMAND "${STINT_GZIP}" -9nkf "${PROJECT_BINARY_DIR}/debian/changelog"
  COMMAND_ERROR_IS_FATAL ANY)

# stint_package(component NAME package SECTION section DEPENDS text [RECOMMENDS text]
# [SUGGESTS text] BRIEF text TEXT text [LIBRARY file] [DOCUMENTS component]): the package of an
# install component or group. LIBRARY is the shared library in it, DOCUMENTS the component of a group
# that its copyright file goes into.
function(stint_package component)
  cmake_parse_arguments(PARSE_ARGV 1 arg ""
    "NAME;SECTION;DEPENDS;RECOMMENDS;SUGGESTS;BRIEF;TEXT;LIBRARY;DOCUMENTS" "")
  string(TOUPPER "${component}" upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME "${arg_NAME}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION "${arg_SECTION}" PARENT_SCOPE)
  foreach(relation IN ITEMS DEPENDS RECOMMENDS SUGGESTS)
    set(CPACK_DEBIAN_${upper}_PACKAGE_${relation} "${arg_${relation}}" PARENT_SCOPE)
  endforeach()
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${arg_BRIEF}\n${arg_TEXT}" PARENT_SCOPE)
  if(arg_LIBRARY)
    # CPack adds scripts that run ldconfig, but not the trigger that Debian asks for.
    set(control_dir "${PROJECT_BINARY_DIR}/debian/${component}")
    file(WRITE "${control_dir}/shlibs"
      "${arg_LIBRARY} ${stint_abi_version} ${arg_NAME} (>= ${PROJECT_VERSION})\n")
    file(WRITE "${control_dir}/triggers" "activate-noawait ldconfig\n")
    set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA
      "${control_dir}/shlibs;${control_dir}/triggers" PARENT_SCOPE)
  endif()
  set(documents ${component})
  if(arg_DOCUMENTS)
    set(documents ${arg_DOCUMENTS})
  endif()
  install(FILES
    "${PROJECT_SOURCE_DIR}/cmake/debian/copyright"
    "${PROJECT_BINARY_DIR}/debian/changelog.gz"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${arg_NAME}"
    COMPONENT ${documents})
endfunction()

set(stint_about "\
stint decides whether a caller may use this much of a resource now, and if
not, when. Rates, calendar quotas and session quotas are weighed in one
decision.
.
")
set(stint_core_package "libstint${stint_abi_version}")
set(stint_rocksdb_package "libstint-rocksdb${stint_abi_version}")
set(stint_dynamodb_package "libstint-dynamodb${stint_abi_version}")
set(stint_exactly "(= ${PROJECT_VERSION})")

stint_package(core NAME "${stint_core_package}" SECTION libs LIBRARY libstint
  DEPENDS "tzdata"
  BRIEF "rate limits and quotas over a shared item store"
  TEXT "${stint_about}This package holds the shared library with a store in memory.")
stint_package(rocksdb NAME "${stint_rocksdb_package}" SECTION libs LIBRARY libstint_rocksdb
  # The two libraries use internals of each other.
  DEPENDS "${stint_core_package} ${stint_exactly}"
  BRIEF "durable embedded store of stint"
  TEXT "${stint_about}\
This package holds the shared library that keeps limits and balances in a
directory, with RocksDB.")
stint_package(dynamodb NAME "${stint_dynamodb_package}" SECTION libs LIBRARY libstint_dynamodb
  DEPENDS "${stint_core_package} ${stint_exactly}"
  # To know the service by.
  RECOMMENDS "ca-certificates"
  BRIEF "stores of stint on DynamoDB"
  TEXT "${stint_about}\
This package holds the shared library that keeps limits and balances in a
table of DynamoDB, which many machines share.")
string(JOIN ", " stint_all_packages "${stint_core_package} ${stint_exactly}"
  "${stint_rocksdb_package} ${stint_exactly}" "${stint_dynamodb_package} ${stint_exactly}")
stint_package(dev NAME libstint-dev SECTION libdevel DOCUMENTS core_dev
  DEPENDS "${stint_all_packages}"
  # For the component asio.
  SUGGESTS "libboost1.81-dev | libboost-dev (>= ${stint_boost_version})"
  BRIEF "rate limits and quotas over a shared item store (development)"
  TEXT "${stint_about}\
This package holds the headers, the CMake package with the components core,
rocksdb, dynamodb and asio, and files for pkg-config.")
stint_package(cli NAME stint SECTION utils
  DEPENDS "tzdata"
  RECOMMENDS "ca-certificates"
  BRIEF "rate limits and quotas from the command line"
  TEXT "${stint_about}\
This package holds the program, which takes from limits, configures them,
tells why a request is rejected, and runs recorded traffic through a policy.")

include(CPack)
include(CPackComponent)
cpack_add_component_group(dev)
cpack_add_component(core_dev GROUP dev)
cpack_add_component(rocksdb_dev GROUP dev)
cpack_add_component(dynamodb_dev GROUP dev)
cpack_add_component(asio_dev GROUP dev)
