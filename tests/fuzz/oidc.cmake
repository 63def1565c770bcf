fz_fuzz_target(oidc fz_oidc)
