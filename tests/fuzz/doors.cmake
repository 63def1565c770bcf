fz_fuzz_target(doors_sentry_cli fz_doors fz_json fz_storage PkgConfig::JANSSON)
fz_fuzz_target(doors_sentry fz_doors fz_config fz_storage)
fz_fuzz_target(symbolicate_v5 fz_doors fz_json fz_config PkgConfig::JANSSON)
