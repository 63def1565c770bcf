# C++ demangling by libc++abi, whose text equals that of LLVM's tools. FZ_CXX_DEMANGLER selects how it is linked:
#
#   archive  cxa_demangle.cpp.o is extracted from libc++abi.a, and what it uses of C and C++ is renamed to functions in
#            symbolicator/demangle/cxx/runtime.c. Memory is then limited: the original aborts the process if a name
#            expands to more than there is. The server requires this, since it reads files from untrusted sources.
#   system   __cxa_demangle() of the installed C++ library (on macOS libc++abi), without a limit on memory.
#   auto     archive if libc++abi.a and objcopy are found, except on macOS, where the renaming needs other tools.
set(FZ_CXX_DEMANGLER auto CACHE STRING "Where the C++ demangler comes from: auto, archive or system")
set_property(CACHE FZ_CXX_DEMANGLER PROPERTY STRINGS auto archive system)

if(NOT FZ_CXX_DEMANGLER STREQUAL "system")
  find_library(FZ_CXXABI NAMES libc++abi.a
    PATHS /usr/lib/llvm-19/lib /usr/lib/llvm-20/lib /usr/lib/llvm-18/lib /usr/lib/llvm-16/lib /usr/lib/llvm-14/lib
    PATH_SUFFIXES lib)
endif()
set(FZ_CXX_RENAMED OFF)
if(FZ_CXX_DEMANGLER STREQUAL "archive" OR
   (FZ_CXX_DEMANGLER STREQUAL "auto" AND FZ_CXXABI AND CMAKE_OBJCOPY AND NOT APPLE))
  set(FZ_CXX_RENAMED ON)
endif()
if(FZ_CXX_RENAMED AND NOT (FZ_CXXABI AND CMAKE_OBJCOPY))
  message(FATAL_ERROR "FZ_CXX_DEMANGLER=archive needs libc++abi.a (-DFZ_CXXABI=PATH) and objcopy")
endif()
if(FZ_SERVER AND NOT FZ_CXX_RENAMED)
  message(FATAL_ERROR
    "the server needs libc++abi.a (Debian: libc++abi-19-dev) and objcopy: only that demangler limits its memory")
endif()

add_library(fz_demangle_libraries INTERFACE)
target_link_libraries(fz_demangle_libraries INTERFACE Threads::Threads)
if(NOT FZ_CXX_RENAMED)
  find_library(FZ_CXXABI_SYSTEM NAMES c++abi supc++ stdc++
    PATHS /usr/lib/llvm-19/lib /usr/lib/llvm-20/lib /usr/lib/llvm-18/lib PATH_SUFFIXES lib)
  if(APPLE)
    target_link_libraries(fz_demangle_libraries INTERFACE c++abi)
  elseif(FZ_CXXABI_SYSTEM)
    target_link_libraries(fz_demangle_libraries INTERFACE "${FZ_CXXABI_SYSTEM}")
  else()
    message(FATAL_ERROR "no C++ library with __cxa_demangle() found: libc++abi or libstdc++")
  endif()
  message(STATUS "C++ names are demangled by the system's __cxa_demangle(), without a limit on memory")
endif()

# Add the demangler to a library of the calling folder.
function(fz_add_cxa_demangle target)
  if(NOT FZ_CXX_RENAMED)
    target_sources(${target} PRIVATE "${CMAKE_SOURCE_DIR}/symbolicator/demangle/cxx/system.c")
    return()
  endif()
  # Mach-O puts an underscore before C names.
  set(_ "")
  if(APPLE)
    set(_ "_")
  endif()
  set(object "${CMAKE_CURRENT_BINARY_DIR}/sym_cxa_demangle.o")
  add_custom_command(OUTPUT "${object}"
    COMMAND "${CMAKE_AR}" x "${FZ_CXXABI}" cxa_demangle.cpp.o
    COMMAND "${CMAKE_OBJCOPY}"
      --redefine-sym ${_}__cxa_demangle=${_}sym_cxa_demangle
      --redefine-sym ${_}malloc=${_}sym_cxa_malloc
      --redefine-sym ${_}realloc=${_}sym_cxa_realloc
      --redefine-sym ${_}free=${_}sym_cxa_free
      --redefine-sym ${_}_ZdlPvm=${_}sym_cxa_delete
      --redefine-sym ${_}abort=${_}sym_cxa_abort
      --redefine-sym ${_}_ZSt9terminatev=${_}sym_cxa_terminate
      --redefine-sym ${_}abort_message=${_}sym_cxa_abort_message
      --redefine-sym ${_}_Unwind_Resume=${_}sym_cxa_resume
      --redefine-sym ${_}__cxa_begin_catch=${_}sym_cxa_begin_catch
      --redefine-sym ${_}__gxx_personality_v0=${_}sym_cxa_personality
      --redefine-sym ${_}_ZTVN10__cxxabiv117__class_type_infoE=${_}sym_cxa_class_type_info
      --redefine-sym ${_}_ZTVN10__cxxabiv120__si_class_type_infoE=${_}sym_cxa_si_class_type_info
      cxa_demangle.cpp.o "${object}"
    DEPENDS "${FZ_CXXABI}"
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
    COMMENT "Renaming what the C++ demangler calls" VERBATIM)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_sources(${target} PRIVATE "${object}")
endfunction()
