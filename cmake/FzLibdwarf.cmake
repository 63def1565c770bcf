# libdwarf 0.11 or newer: the system's, or the one that ./dev built into build/deps/libdwarf (Debian 12).
set(FZ_LIBDWARF_PREFIX "${CMAKE_SOURCE_DIR}/build/deps/libdwarf" CACHE PATH "Where ./dev put its own libdwarf")
if(EXISTS "${FZ_LIBDWARF_PREFIX}/lib/pkgconfig/libdwarf.pc")
  set(ENV{PKG_CONFIG_PATH} "${FZ_LIBDWARF_PREFIX}/lib/pkgconfig:$ENV{PKG_CONFIG_PATH}")
endif()
pkg_check_modules(LIBDWARF IMPORTED_TARGET libdwarf>=0.11)
if(NOT LIBDWARF_FOUND)
  message(FATAL_ERROR "libdwarf 0.11 or newer is needed; './dev build' fetches and builds it where the system's is older")
endif()
