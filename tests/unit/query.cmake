fz_unit_test(query fz_query)
fz_unit_test(query_complete fz_query)
fz_unit_test(query_match fz_query)
fz_unit_test(query_url fz_query)
