fz_fuzz_target(archive fz_symbolicator PkgConfig::ARCHIVE)
fz_fuzz_target(protocol fz_worker fz_storage fz_symbolicator)
