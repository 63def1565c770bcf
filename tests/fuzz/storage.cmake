fz_fuzz_target(s3_xml fz_storage)
fz_fuzz_target(store_block fz_storage)
fz_fuzz_target(store_cursor fz_storage)
fz_fuzz_target(store_unpack fz_storage)
