# fz_options: the interface target that carries language level, warnings, hardening and sanitizers.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()
include(CheckPIESupported)
include(CheckCCompilerFlag)
include(CheckLinkerFlag)
check_pie_supported()

find_program(FZ_CCACHE ccache)
if(FZ_CCACHE AND NOT CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${FZ_CCACHE}")
endif()

add_library(fz_options INTERFACE)
target_include_directories(fz_options INTERFACE "${CMAKE_SOURCE_DIR}")
target_compile_definitions(fz_options INTERFACE _POSIX_C_SOURCE=200809L FZ_VERSION="${PROJECT_VERSION}")
if(APPLE)
  # With _POSIX_C_SOURCE alone, macOS hides even getopt_long() and sysconf()'s number of processors.
  target_compile_definitions(fz_options INTERFACE _DARWIN_C_SOURCE)
endif()
target_compile_options(fz_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wundef -Wstrict-prototypes
  -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wformat=2 -Wswitch-enum
  # Texts are cut to their buffers on purpose and said to be so in their contracts.
  $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>
  # The cleanup and must-check idioms use statement expressions and __typeof__ marked with __extension__.
  $<$<C_COMPILER_ID:Clang,AppleClang>:-Wno-gnu-statement-expression>)
if(FZ_WERROR)
  target_compile_options(fz_options INTERFACE -Werror)
endif()
# A variable that is read before it has a value is 0, not what was on the stack. The one preset that looks for such
# reads (valgrind) switches this off.
if(FZ_ZERO_INIT)
  check_c_compiler_flag(-ftrivial-auto-var-init=zero FZ_HAVE_ZERO_INIT)
  if(FZ_HAVE_ZERO_INIT)
    target_compile_options(fz_options INTERFACE -ftrivial-auto-var-init=zero)
  endif()
endif()
if(FZ_VALGRIND)
  target_compile_definitions(fz_options INTERFACE FZ_VALGRIND)
endif()
if(FZ_SANITIZE)
  target_compile_options(fz_options INTERFACE -fsanitize=${FZ_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(fz_options INTERFACE -fsanitize=${FZ_SANITIZE})
elseif(NOT FZ_VALGRIND)
  # Level 3 is level 2 where a compiler does not know it.
  target_compile_options(fz_options INTERFACE -fstack-protector-strong
                         $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>)
  # Jumps and returns that go where no code expects them: -fcf-protection is x86's, -mbranch-protection arm64's. Not every
  # compiler has these, and only linkers of ELF have those below.
  foreach(flag -fstack-clash-protection -fcf-protection=full -mbranch-protection=standard)
    string(MAKE_C_IDENTIFIER "FZ_HAVE${flag}" has)
    check_c_compiler_flag(${flag} ${has})
    if(${has})
      target_compile_options(fz_options INTERFACE ${flag})
    endif()
  endforeach()
  foreach(flag relro now noexecstack)
    check_linker_flag(C -Wl,-z,${flag} FZ_HAVE_Z_${flag})
    if(FZ_HAVE_Z_${flag})
      target_link_options(fz_options INTERFACE -Wl,-z,${flag})
    endif()
  endforeach()
endif()
if(FZ_FUZZ)
  target_compile_options(fz_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
