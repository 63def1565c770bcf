fz_fuzz_target(scrub fz_scrub fz_report)
