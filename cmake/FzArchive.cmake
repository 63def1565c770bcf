# libarchive, linked statically where that works: the shared one brings libxml2, ICU and a C++ library for formats that
# framezero does not read, and each start of a child waits for them (./dev bench startup).
#
# A static libarchive leaves its own libraries to those who link it. Of all that its .pc file names, only the
# decompressors and the ciphers of zips are used here; where one of them is missing, the shared library is linked.
option(FZ_STATIC_ARCHIVE "Link libarchive statically if its own libraries are there" ON)
set(FZ_ARCHIVE_IS_STATIC OFF)
# Tests that write archives need more of it than the programs do. Named first, it serves all that is linked.
add_library(fz_whole_archive INTERFACE)
target_link_libraries(fz_whole_archive INTERFACE "${ARCHIVE_LINK_LIBRARIES}")
if(ARCHIVE_LINK_LIBRARIES MATCHES "libarchive\\.a")
  set(FZ_ARCHIVE_A "${ARCHIVE_LINK_LIBRARIES}")
elseif(FZ_STATIC_ARCHIVE AND NOT APPLE AND NOT FZ_DEPS_PREFIX)
  find_library(FZ_ARCHIVE_A NAMES libarchive.a)
endif()
if(FZ_ARCHIVE_A)
  set(FZ_ARCHIVE_NEEDS "")
  if(FZ_DEPS_PREFIX)
    pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)
    list(APPEND FZ_ARCHIVE_NEEDS PkgConfig::LZMA)
  else()
    foreach(name lzma bz2 lz4 nettle)
      find_library(FZ_ARCHIVE_${name} NAMES ${name})
      if(FZ_ARCHIVE_${name})
        list(APPEND FZ_ARCHIVE_NEEDS "${FZ_ARCHIVE_${name}}")
      endif()
    endforeach()
  endif()
  list(APPEND FZ_ARCHIVE_NEEDS PkgConfig::ZLIB PkgConfig::ZSTD)
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES "${FZ_ARCHIVE_A}" ${FZ_ARCHIVE_NEEDS})
  check_c_source_compiles("
    #include <archive.h>
    #include <archive_entry.h>
    int main(void)
    {
        struct archive *archive = archive_read_new();
        struct archive_entry *entry;
        int failed = archive_read_support_format_zip(archive) | archive_read_support_format_tar(archive) |
                     archive_read_support_format_raw(archive) | archive_read_support_filter_all(archive) |
                     archive_read_open_memory(archive, \"\", 0) | archive_read_next_header(archive, &entry);
        return failed | archive_read_free(archive);
    }" FZ_ARCHIVE_LINKS)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(FZ_ARCHIVE_LINKS)
    set(FZ_ARCHIVE_IS_STATIC ON)
  elseif(FZ_DEPS_PREFIX)
    message(FATAL_ERROR "${FZ_ARCHIVE_A} cannot be linked: see CMakeFiles/CMakeError.log or CMakeConfigureLog.yaml")
  endif()
endif()
if(FZ_ARCHIVE_IS_STATIC)
  if(ARCHIVE_LINK_LIBRARIES MATCHES "libarchive\\.a")
    set_property(TARGET fz_whole_archive PROPERTY INTERFACE_LINK_LIBRARIES PkgConfig::ARCHIVE)
  endif()
  add_library(fz_static_archive STATIC IMPORTED)
  set_target_properties(fz_static_archive PROPERTIES IMPORTED_LOCATION "${FZ_ARCHIVE_A}"
                        INTERFACE_LINK_LIBRARIES "${FZ_ARCHIVE_NEEDS}")
  set_property(TARGET PkgConfig::ARCHIVE PROPERTY INTERFACE_LINK_LIBRARIES fz_static_archive)
else()
  message(STATUS "libarchive is linked as a shared library: children start slower (liblzma, libbz2, liblz4 and nettle "
                 "are needed for a static one)")
endif()
