# fz_cxa_demangle: LLVM's Itanium demangler out of libc++abi (its text is the one LLVM's tools print); libiberty for Rust.
find_library(FZ_CXXABI NAMES libc++abi.a
             PATHS /usr/lib/llvm-19/lib /usr/lib/llvm-20/lib /usr/lib/llvm-18/lib /usr/lib/llvm-16/lib /usr/lib/llvm-14/lib
             PATH_SUFFIXES lib REQUIRED)
find_library(FZ_IBERTY NAMES libiberty.a REQUIRED)
add_library(fz_demangle_libraries INTERFACE)
target_link_libraries(fz_demangle_libraries INTERFACE "${FZ_CXXABI}" "${FZ_IBERTY}" Threads::Threads)
