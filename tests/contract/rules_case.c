#include "rules_case.h"

#include <stdio.h>
#include <string.h>

const char rules_by[] = "admin token";

/* Rules as pairs of a stack and its key; a stack that is not named has its own text as its key. */
enum fz_code
rules_key_of(void *user, struct fz_span stack, struct store_stack_key *ret,
             struct fz_error *err FZ_UNUSED)
{
    static char text[64];
    const char *const *pairs = user;
    snprintf(text, sizeof(text), "%.*s", (int)stack.len, (const char *)stack.data);
    const char *key = text;
    for (size_t i = 0; pairs && pairs[i]; i += 2) {
        if (strcmp(pairs[i], text) == 0)
            key = pairs[i + 1];
    }
    *ret = (struct store_stack_key){.title = key};
    memcpy(ret->key, key, strlen(key));
    return FZ_OK;
}

int64_t
rules_now(struct contract *c)
{
    struct store_project project;
    assert_ok(c, store_project_by_id(c->store, c->project, &c->arena, &project, &c->err));
    return project.rules_version;
}

struct store_rules_change
rules_change(struct contract *c, const char *const *pairs, const char *text)
{
    return (struct store_rules_change){.actor = rules_by,
                                       .rules = text,
                                       .based_on = rules_now(c),
                                       .key_of = rules_key_of,
                                       .user = (void *)(uintptr_t)pairs};
}

struct store_rules_effect
rules_apply(struct contract *c, const char *const *pairs, const char *text)
{
    const struct store_rules_change what = rules_change(c, pairs, text);
    struct store_rules_effect tried, done;
    assert_ok(c, store_rules_try(c->store, c->project, &what, &c->arena, &tried, &c->err));
    assert_ok(c, store_rules_apply(c->store, c->project, &what, &c->arena, &done, &c->err));
    /* The dry run says what happens. */
    assert_int_equal(tried.n_moved, done.n_moved);
    assert_int_equal(tried.n_merged, done.n_merged);
    assert_int_equal(tried.n_split, done.n_split);
    assert_int_equal(tried.n_new, done.n_new);
    assert_int_equal(done.version, what.based_on + 1);
    contract_recount(c);
    return done;
}

void
rules_undo(struct contract *c, const char *const *pairs)
{
    struct store_rules_change what = rules_change(c, pairs, NULL);
    struct store_rules_effect done;
    assert_ok(
        c, store_rules_before(c->store, c->project, &c->arena, &what.rules, &what.undoes, &c->err));
    assert_ok(c, store_rules_apply(c->store, c->project, &what, &c->arena, &done, &c->err));
    contract_recount(c);
}

const char *
rules_add(struct contract *c, const char *stack, const char *key, const char *variant,
          const char *user)
{
    const struct contract_group g = {.stack = stack,
                                     .key = key,
                                     .variant = variant,
                                     .user = user,
                                     .rules_version = rules_now(c)};
    return contract_group_add(c, &g);
}
