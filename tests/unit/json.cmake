fz_unit_test(json_scan fz_json)
fz_unit_test(json_load fz_json)
fz_unit_test(json_pool fz_json)
fz_unit_test(json_write fz_json)
