# cmake -DSTINT=program -DDIRECTORY=folder [-DGZIP=program] -P write_manual.cmake: makes the folder
# anew. The pages are compressed where there is a GZIP.

# --help shows these as defaults, which must not be those of whoever builds.
unset(ENV{STINT_STORE})
file(REMOVE_RECURSE "${DIRECTORY}")
file(MAKE_DIRECTORY "${DIRECTORY}")
execute_process(COMMAND "${STINT}" help-man "${DIRECTORY}/man1"
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
if(GZIP)
  file(GLOB pages "${DIRECTORY}/man1/*")
  execute_process(COMMAND "${GZIP}" -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
foreach(shell_and_file IN ITEMS "bash stint.bash" "zsh _stint" "fish stint.fish")
  separate_arguments(shell_and_file)
  list(GET shell_and_file 0 shell)
  list(GET shell_and_file 1 file)
  execute_process(COMMAND "${STINT}" completion "${shell}"
    OUTPUT_FILE "${DIRECTORY}/${file}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
