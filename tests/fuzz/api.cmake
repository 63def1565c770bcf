fz_fuzz_target(api FOREIGN_MEMORY fz_api fz_clients fz_web fz_http fz_storage fz_process fz_config fz_outbox)
# Reports are read in a child, which is looked for beside the program.
foreach(target replay_api fuzz_api)
  if(TARGET ${target})
    add_custom_command(TARGET ${target} POST_BUILD COMMAND "${CMAKE_COMMAND}" -E create_symlink
      $<TARGET_FILE:framezero-child> "${CMAKE_CURRENT_BINARY_DIR}/framezero-child")
    add_dependencies(${target} framezero-child)
  endif()
endforeach()
