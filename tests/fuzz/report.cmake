fz_fuzz_target(report_load fz_report)
