if(TARGET fz_doors)
  fz_unit_test(doors_sentry_cli fz_doors fz_json fz_storage PkgConfig::JANSSON)
  fz_unit_test(doors_sentry fz_doors fz_ingest fz_report fz_config fz_storage)
endif()
