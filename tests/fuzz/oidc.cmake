fz_fuzz_target(oidc FOREIGN_MEMORY fz_oidc)
