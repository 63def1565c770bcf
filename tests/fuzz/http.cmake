fz_fuzz_target(http_uri fz_http)
fz_fuzz_target(http_framing fz_http)
fz_fuzz_target(http_wire fz_http)
fz_fuzz_target(inflate fz_http)
