# libdwarf 0.11 or newer: the system's, or the one that ./dev built into build/deps/libdwarf (Debian 12).
# Not by pkg-config: Debian 13's libdwarf.pc names a folder that does not exist and a version that is not its own.
set(FZ_LIBDWARF_PREFIX "${CMAKE_SOURCE_DIR}/build/deps/libdwarf" CACHE PATH "Where ./dev put its own libdwarf")
find_path(FZ_LIBDWARF_INCLUDE libdwarf.h HINTS "${FZ_LIBDWARF_PREFIX}/include"
          PATH_SUFFIXES libdwarf libdwarf-0 libdwarf-2)
find_library(FZ_LIBDWARF_LIBRARY dwarf HINTS "${FZ_LIBDWARF_PREFIX}/lib")
set(version 0)
if(FZ_LIBDWARF_INCLUDE AND FZ_LIBDWARF_LIBRARY)
  file(STRINGS "${FZ_LIBDWARF_INCLUDE}/libdwarf.h" line REGEX "^#define DW_LIBDWARF_VERSION ")
  if(line MATCHES "\"([0-9.]+)")
    set(version ${CMAKE_MATCH_1})
  endif()
endif()
if(version VERSION_LESS 0.11)
  # Looked for again next time, when ./dev may have brought it.
  unset(FZ_LIBDWARF_INCLUDE CACHE)
  unset(FZ_LIBDWARF_LIBRARY CACHE)
  message(FATAL_ERROR "libdwarf 0.11 or newer is needed; './dev build' fetches and builds it where the system's is older")
endif()
add_library(PkgConfig::LIBDWARF INTERFACE IMPORTED GLOBAL)
target_include_directories(PkgConfig::LIBDWARF INTERFACE "${FZ_LIBDWARF_INCLUDE}")
target_link_libraries(PkgConfig::LIBDWARF INTERFACE "${FZ_LIBDWARF_LIBRARY}" PkgConfig::ZLIB PkgConfig::ZSTD)
