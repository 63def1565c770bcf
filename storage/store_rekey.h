/*
 * Distinct stacks get other keys: the plan, which changes nothing, and carrying it out. Private to
 * storage; store_rules.h has the contract.
 */
#ifndef STORE_REKEY_H
#define STORE_REKEY_H

#include "storage/store_private.h"
#include "storage/store_rules.h"

/* A key that stacks move to. */
struct store_rekey_key {
    uint8_t sha256[FZ_SHA256_LEN];
    const char *title;
    bool is_placeholder;
    bool has_reports;     /* a stack that moves there has some */
    int64_t id, issue_id; /* 0 = there is none yet */
};
struct store_rekey_stack {
    int64_t key, from; /* stacks.key; id of its key now */
    size_t to;         /* in keys; SIZE_MAX = it stays */
    int64_t n_reports; /* if it moves */
};
/* Stacks of one issue that go to one key. */
struct store_rekey_part {
    int64_t issue_id;
    size_t to;
    int64_t n_reports;
};
struct store_rekey_issue {
    int64_t id, number;
    const char *title;
    bool remains; /* it keeps a key with reports, or gets one, or has no reports */
    size_t first_part, n_parts;
    bool is_split;
    int64_t merged_into; /* it redirects there already; 0 = it does not */
    int64_t heir; /* it does not remain: the issue that has all of it; 0 = several, or a new one */
};

struct store_rekey {
    struct store *store;
    int64_t project_id;
    int64_t version; /* of the rules that it makes */
    struct fz_arena *arena;
    const struct store_rules_change *change;
    struct store_rekey_stack *stacks;
    size_t n_stacks, stacks_room;
    struct store_rekey_key *keys;
    size_t n_keys, keys_room;
    size_t *slots; /* of a hash table of keys, index + 1 */
    size_t n_slots;
    struct store_rekey_part *parts;
    size_t n_parts;
    struct store_rekey_issue *issues;
    size_t n_issues, issues_room;
};

/* Add the stacks beyond those that are there, with their new keys. */
FZ_MUST_CHECK enum fz_code store_rekey_load(struct store_rekey *r, struct fz_error *err);
/* Find out what becomes of issues. */
FZ_MUST_CHECK enum fz_code store_rekey_plan(struct store_rekey *r, struct fz_error *err);
/* Carry it out in the transaction. */
FZ_MUST_CHECK enum fz_code store_rekey_move(struct store_rekey *r, struct fz_error *err);

#endif
