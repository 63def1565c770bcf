fz_fuzz_target(reader)
fz_fuzz_target(text)
fz_fuzz_target(form)
fz_fuzz_target(version)
