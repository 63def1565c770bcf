fz_fuzz_target(alert fz_alert fz_json)
