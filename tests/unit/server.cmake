fz_unit_test(limits fz_config)
