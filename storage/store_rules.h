/*
 * A project's rules of grouping: their history, what others would do, applying and undoing them.
 *
 * Storage does not know the rules: the caller makes the key of each distinct stack under the new
 * ones. Applying is one transaction under the project's lock: every stack, fact, count and issue is
 * as if the reports had come under the new rules, but issues keep their numbers:
 *
 *   an issue that keeps a key with reports keeps its number there
 *   one that loses all of them takes the new key with most of its reports, lower numbers first
 *   one for which there is none redirects to the issue that has all its reports now; if they went to
 *   several, it stays without reports
 *
 * What a user has split off stays split off. Undoing applies the rules from before in the same way:
 * an issue that was redirected is there again with its number, state and history.
 */
#ifndef STORE_RULES_H
#define STORE_RULES_H

#include "storage/store_grouping.h"
#include "storage/store_issues.h"

enum { STORE_RULES_EXAMPLES = 20, STORE_RULES_HISTORY = 100 };

struct store_stack_key {
    uint8_t key[FZ_SHA256_LEN];
    const char *title; /* borrowed until the next call */
    bool is_placeholder;
};
/* The key of an encoded stack under the new rules. NOT_FOUND: it cannot be read; its key stays. */
typedef enum fz_code (*store_key_fn)(void *user, struct fz_span stack, struct store_stack_key *ret,
                                     struct fz_error *err);

struct store_rules_change {
    const char *actor, *rules; /* rules NULL = none */
    int64_t based_on;          /* projects.rules_version that the caller saw */
    int64_t undoes;            /* of struct store_rules_version; 0 = it is not an undo */
    store_key_fn key_of;
    void *user;
};

/* An issue whose reports would go elsewhere. */
struct store_rules_example {
    bool is_split; /* else it becomes part of others */
    int64_t number;
    const char *title;
    uint64_t n_reports; /* that move */
    /* Where most of them go: the number of an issue, 0 = a new one, and the title of the key. */
    int64_t into;
    const char *into_title;
};
struct store_rules_effect {
    uint64_t n_stacks, n_moved; /* distinct stacks; those whose key changes */
    uint64_t n_reports;         /* of the moved ones */
    uint64_t n_merged, n_split; /* issues */
    uint64_t n_new;             /* issues that are made */
    struct store_rules_example *examples;
    size_t n_examples;
    int64_t version; /* the new one; of a dry run, the present one */
};
/* What applying the change would do; changes nothing. */
FZ_MUST_CHECK enum fz_code store_rules_try(struct store *store, int64_t project_id,
                                           const struct store_rules_change *change,
                                           struct fz_arena *arena, struct store_rules_effect *ret,
                                           struct fz_error *err);
/* CONFLICT: the rules are not those of `based_on` any more. */
FZ_MUST_CHECK enum fz_code store_rules_apply(struct store *store, int64_t project_id,
                                             const struct store_rules_change *change,
                                             struct fz_arena *arena, struct store_rules_effect *ret,
                                             struct fz_error *err);

/* ---- history ---- */

struct store_rules_version {
    int64_t version, at_ms;
    const char *rules; /* NULL = none */
    const char *actor;
    int64_t undoes; /* the version that it takes back; 0 = none */
    bool is_undone;
    uint64_t n_merged, n_split;
};
/* The newest ones first, STORE_RULES_HISTORY at most. */
FZ_MUST_CHECK enum fz_code store_rules_history(struct store *store, int64_t project_id,
                                               struct fz_arena *arena,
                                               struct store_rules_version **ret, size_t *ret_n,
                                               struct fz_error *err);
/* What an undo takes back, *ret_undoes, and the rules from before it. CONFLICT: there is nothing to
 * undo. */
FZ_MUST_CHECK enum fz_code store_rules_before(struct store *store, int64_t project_id,
                                              struct fz_arena *arena, const char **ret_rules,
                                              int64_t *ret_undoes, struct fz_error *err);

#endif
