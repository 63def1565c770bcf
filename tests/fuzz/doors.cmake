fz_fuzz_target(doors_sentry_cli fz_doors fz_json fz_storage PkgConfig::JANSSON)
fz_fuzz_target(doors_sentry fz_doors fz_config fz_storage)
