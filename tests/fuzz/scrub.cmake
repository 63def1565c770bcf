fz_fuzz_target(scrub FOREIGN_MEMORY fz_scrub fz_report)
