fz_unit_test(protocol fz_worker fz_storage fz_symbolicator)
fz_unit_test(archive fz_worker fz_symbolicator PkgConfig::ARCHIVE)
fz_unit_test(resolve fz_worker fz_report fz_symbolicator fz_dwarf_text)
fz_unit_test(child fz_worker fz_config fz_storage fz_symbolicator)
