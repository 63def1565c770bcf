fz_fuzz_target(json_scan fz_json)
