# Settings and helpers shared by all targets of the project.

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
endif()

find_program(STINT_CCACHE ccache)
mark_as_advanced(STINT_CCACHE)
if(STINT_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers are cached only with this sloppiness.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${STINT_CCACHE}")
endif()

# What a shared library shows, and to whom. Before 1.0 a minor version may change the interface, so
# that it is part of the library's name (docs/public-api.md).
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(stint_abi_version "0.${PROJECT_VERSION_MINOR}")
else()
  set(stint_abi_version "${PROJECT_VERSION_MAJOR}")
endif()
set(stint_symbol_map "${PROJECT_BINARY_DIR}/stint.map")
configure_file("${CMAKE_CURRENT_LIST_DIR}/stint.map.in" "${stint_symbol_map}" @ONLY)

# Language level and warnings of every target of ours.
function(stint_target_defaults target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wimplicit-fallthrough
    -Wconversion -Wno-sign-conversion)
  if(STINT_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
endfunction()

# The properties of a library that is installed: only the public headers are visible to its users.
function(stint_library_defaults target file export)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${file}
    EXPORT_NAME ${export}
    LINKER_LANGUAGE CXX
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
endfunction()

# stint_component(name file [ON component] LIBS target...): the library of one component, lib<file>.
# Sources are added to stint_<name>, which is always a static archive: the program and the tests use
# internals, which a shared library does not show, and link that. With BUILD_SHARED_LIBS the same
# objects also make the shared library stint_<name>_shared. Users link stint::<name>, which is
# whichever is installed.
function(stint_component name file)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "ON" "LIBS")
  add_library(stint_${name} STATIC)
  stint_target_defaults(stint_${name})
  stint_library_defaults(stint_${name} ${file} ${name})
  target_link_libraries(stint_${name} PRIVATE ${arg_LIBS})
  if(arg_ON)
    target_link_libraries(stint_${name} PUBLIC stint_${arg_ON})
  endif()
  if(NOT BUILD_SHARED_LIBS)
    add_library(stint::${name} ALIAS stint_${name})
    return()
  endif()

  set(shared stint_${name}_shared)
  add_library(${shared} SHARED "$<TARGET_OBJECTS:stint_${name}>")
  add_library(stint::${name} ALIAS ${shared})
  stint_library_defaults(${shared} ${file} ${name})
  set_target_properties(${shared} PROPERTIES
    VERSION "${PROJECT_VERSION}"
    SOVERSION "${stint_abi_version}"
    LINK_DEPENDS "${stint_symbol_map}")
  target_link_options(${shared} PRIVATE
    "LINKER:--version-script=${stint_symbol_map}" LINKER:--no-undefined)
  target_link_libraries(${shared} PRIVATE ${arg_LIBS})
  if(arg_ON)
    target_link_libraries(${shared} PUBLIC stint_${arg_ON}_shared)
  endif()
endfunction()

# stint_sources(target file...): adds sources; relative names start at the current folder.
function(stint_sources target)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    target_sources(${target} PRIVATE "${file}")
  endforeach()
endfunction()
