# C++ demangling out of libc++abi: its text is the one LLVM's tools print.
#
# fz_cxa_demangle.o is libc++abi's demangler with its way to memory and to abort() renamed, so that
# symbolicator/demangle/cxx.c can keep it within bounds: it aborts the process on names that expand
# to more than there is memory.
find_library(FZ_CXXABI NAMES libc++abi.a
             PATHS /usr/lib/llvm-19/lib /usr/lib/llvm-20/lib /usr/lib/llvm-18/lib /usr/lib/llvm-16/lib /usr/lib/llvm-14/lib
             PATH_SUFFIXES lib REQUIRED)
add_library(fz_demangle_libraries INTERFACE)
target_link_libraries(fz_demangle_libraries INTERFACE "${FZ_CXXABI}" Threads::Threads)

# Add the renamed demangler to a library of the calling folder.
function(fz_add_cxa_demangle target)
  set(object "${CMAKE_CURRENT_BINARY_DIR}/fz_cxa_demangle.o")
  add_custom_command(OUTPUT "${object}"
    COMMAND "${CMAKE_AR}" x "${FZ_CXXABI}" cxa_demangle.cpp.o
    COMMAND "${CMAKE_OBJCOPY}"
      --redefine-sym __cxa_demangle=fz_cxa_demangle
      --redefine-sym malloc=fz_cxa_malloc
      --redefine-sym realloc=fz_cxa_realloc
      --redefine-sym free=fz_cxa_free
      --redefine-sym _ZdlPvm=fz_cxa_delete
      --redefine-sym abort=fz_cxa_abort
      --redefine-sym _ZSt9terminatev=fz_cxa_terminate
      --redefine-sym abort_message=fz_cxa_abort_message
      cxa_demangle.cpp.o "${object}"
    DEPENDS "${FZ_CXXABI}"
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
    COMMENT "Renaming the C++ demangler's allocator" VERBATIM)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_sources(${target} PRIVATE "${object}")
endfunction()
