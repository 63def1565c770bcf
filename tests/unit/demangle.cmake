fz_unit_test(demangle_names fz_symbolicator)
target_compile_definitions(test_demangle_names PRIVATE FZ_TOP="${CMAKE_SOURCE_DIR}"
                           FZ_CXX_RENAMED=$<BOOL:${FZ_CXX_RENAMED}>)
fz_unit_test(demangle_rust fz_symbolicator)
target_compile_definitions(test_demangle_rust PRIVATE FZ_TOP="${CMAKE_SOURCE_DIR}")
fz_unit_test(demangle_swift fz_symbolicator)
target_compile_definitions(test_demangle_swift PRIVATE FZ_TOP="${CMAKE_SOURCE_DIR}")
fz_unit_test(demangle_swift_kinds fz_symbolicator)
