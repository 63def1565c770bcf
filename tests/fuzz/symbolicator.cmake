fz_fuzz_target(macho fz_symbolicator)
foreach(name dwarf line index)
  fz_fuzz_target(${name} fz_symbolicator)
endforeach()
