# The HTTP side alone, over raw sockets: a server with test handlers only, and the suites that connect to it.
add_executable(http_echo http_echo.c)
target_link_libraries(http_echo PRIVATE fz_http fz_process fz_config fz_base fz_options Threads::Threads)
foreach(suite framing limits crowd callers streams)
  add_test(NAME e2e.http_${suite}
    COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/http_${suite}.py" $<TARGET_FILE:http_echo>)
  # They look at the clock. Before all others: two places are not free at once again before the end.
  set_tests_properties(e2e.http_${suite} PROPERTIES TIMEOUT 300 LABELS e2e RESOURCE_LOCK page PROCESSORS 2 COST 2000)
endforeach()
