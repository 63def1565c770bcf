fz_fuzz_target(query fz_query)
