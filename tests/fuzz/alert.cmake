fz_fuzz_target(alert FOREIGN_MEMORY fz_alert fz_json)
