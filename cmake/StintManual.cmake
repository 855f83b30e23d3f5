# Man pages and completions, which the program itself writes: what --help says, in other forms.

if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  message(STATUS "stint: the program cannot be run here; no man pages and completions are made")
  return()
endif()

# Man pages are read as well where they are not compressed.
find_program(STINT_GZIP gzip)
mark_as_advanced(STINT_GZIP)
set(stint_manual_dir "${PROJECT_BINARY_DIR}/manual")
set(stint_manual_stamp "${PROJECT_BINARY_DIR}/manual.stamp")
set(stint_manual_script "${CMAKE_CURRENT_LIST_DIR}/write_manual.cmake")
add_custom_command(OUTPUT "${stint_manual_stamp}"
  COMMAND "${CMAKE_COMMAND}" "-DSTINT=$<TARGET_FILE:stint>" "-DDIRECTORY=${stint_manual_dir}"
    "-DGZIP=${STINT_GZIP}" -P "${stint_manual_script}"
  COMMAND "${CMAKE_COMMAND}" -E touch "${stint_manual_stamp}"
  DEPENDS stint "${stint_manual_script}"
  COMMENT "Writing man pages and completions"
  VERBATIM)
add_custom_target(stint_manual ALL DEPENDS "${stint_manual_stamp}")

if(STINT_INSTALL)
  # Debian keeps what packages bring apart from what administrators add.
  set(zsh_folder "site-functions")
  if(STINT_PACKAGE)
    set(zsh_folder "vendor-completions")
  endif()
  install(DIRECTORY "${stint_manual_dir}/man1"
    DESTINATION "${CMAKE_INSTALL_MANDIR}" COMPONENT cli)
  install(FILES "${stint_manual_dir}/stint.bash" RENAME stint
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT cli)
  install(FILES "${stint_manual_dir}/_stint"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/${zsh_folder}" COMPONENT cli)
  install(FILES "${stint_manual_dir}/stint.fish"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" COMPONENT cli)
endif()
