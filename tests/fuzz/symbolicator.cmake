fz_fuzz_target(macho fz_symbolicator)
