fz_unit_test(limits fz_config)
fz_unit_test(atos fz_atos)
fz_use_fixtures(test_atos)
fz_unit_test(lookup_stream fz_lookup fz_dwarf_text)
