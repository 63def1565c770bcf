fz_fuzz_target(clients_sentry_cli fz_clients fz_json fz_storage PkgConfig::JANSSON)
fz_fuzz_target(clients_sentry fz_clients fz_config fz_storage)
fz_fuzz_target(symbolicate_v5 FOREIGN_MEMORY fz_clients fz_json fz_config PkgConfig::JANSSON)
