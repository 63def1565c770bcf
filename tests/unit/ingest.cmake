fz_unit_test(ingest fz_ingest fz_config)
fz_unit_test(ingest_mach fz_ingest)
fz_unit_test(ingest_native fz_ingest fz_config)
fz_unit_test(oom fz_ingest fz_report fz_config)
