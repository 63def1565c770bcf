fz_unit_test(config fz_config)
if(TARGET fz_api)
  fz_unit_test(api_rate fz_api)
endif()
