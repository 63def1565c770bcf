fz_fuzz_target(group_stack fz_group)
fz_fuzz_target(group_rules fz_group)
