# Reads the version from include/stint/version.h, its only source, into `stint_version`.

set(stint_version_header "${CMAKE_CURRENT_LIST_DIR}/../include/stint/version.h")
file(STRINGS "${stint_version_header}" stint_version_lines
  REGEX "^#define STINT_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
foreach(part IN ITEMS MAJOR MINOR PATCH)
  if(NOT "${stint_version_lines}" MATCHES "STINT_VERSION_${part} ([0-9]+)")
    message(FATAL_ERROR "${stint_version_header} has no STINT_VERSION_${part}")
  endif()
  set(stint_version_${part} "${CMAKE_MATCH_1}")
endforeach()
set(stint_version "${stint_version_MAJOR}.${stint_version_MINOR}.${stint_version_PATCH}")
# A new version must not wait for somebody to run CMake.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${stint_version_header}")
