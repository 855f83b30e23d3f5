# g++ 12 destroys some temporaries of an awaiting statement twice. The code keeps to the forms that
# it compiles correctly, and scripts/check-layers refuses the others; this probe runs the kept form
# with the compiler and the flags at hand and stops the build where even that goes wrong.

if(NOT CMAKE_CROSSCOMPILING AND NOT STINT_COROUTINES_WORK)
  message(STATUS "Checking coroutines")
  # Configuration flags decide: what breaks at -O0 may work at -O2.
  set(CMAKE_TRY_COMPILE_CONFIGURATION "${CMAKE_BUILD_TYPE}")
  try_run(stint_coroutines_run stint_coroutines_compile
    SOURCES "${CMAKE_CURRENT_LIST_DIR}/check_coroutines.cc"
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    COMPILE_OUTPUT_VARIABLE stint_coroutines_output
    RUN_OUTPUT_VARIABLE stint_coroutines_said)
  if(NOT stint_coroutines_compile)
    message(FATAL_ERROR
      "stint needs C++20 coroutines, which ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} "
      "does not compile:\n${stint_coroutines_output}")
  endif()
  if(NOT stint_coroutines_run EQUAL 0)
    message(FATAL_ERROR
      "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} miscompiles C++20 coroutines "
      "(cmake/check_coroutines.cc ended with ${stint_coroutines_run}). "
      "Use another compiler, for example g++ 12.2 or clang 14.\n${stint_coroutines_said}")
  endif()
  set(STINT_COROUTINES_WORK ON CACHE INTERNAL "Coroutines are compiled correctly")
  message(STATUS "Checking coroutines - done")
endif()
