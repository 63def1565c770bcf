#include "contract.h"

#include <stdio.h>
#include <string.h>

#include "storage/store_filters.h"

static void
test_projects(void **state)
{
    struct contract *c = *state;
    static const struct {
        const char *name;
        enum fz_code code;
    } cases[] = {
        {"shop", FZ_OK},
        {"shop", FZ_E_CONFLICT},
        {"0-a_b", FZ_OK},
        {"", FZ_E_MALFORMED},
        {"Shop", FZ_E_MALFORMED},
        {"-shop", FZ_E_MALFORMED},
        {"sh op", FZ_E_MALFORMED},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", FZ_OK},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", FZ_E_MALFORMED},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        int64_t id = -1;
        assert_fails(c, cases[i].code, store_project_create(c->store, cases[i].name, &id, &c->err));
        assert_true((id > 0) == (cases[i].code == FZ_OK));
    }
    struct store_project project, again, *list;
    size_t n;
    assert_ok(c, store_project_find(c->store, "shop", &c->arena, &project, &c->err));
    assert_string_equal(project.name, "shop");
    assert_true(project.created_ms > 1600000000000);
    assert_ok(c, store_project_by_id(c->store, project.id, &c->arena, &again, &c->err));
    assert_string_equal(again.name, "shop");
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_project_find(c->store, "nope", &c->arena, &project, &c->err));
    assert_string_equal(c->err.text, "there is no project nope");
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_project_by_id(c->store, 4711, &c->arena, &project, &c->err));
    assert_ok(c, store_project_list(c->store, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 5);
    assert_null(list[1].cut_prefixes);
    assert_ok(c, store_project_set_prefixes(c->store, project.id, "/a/\n/b c/", &c->err));
    assert_ok(c, store_project_by_id(c->store, project.id, &c->arena, &again, &c->err));
    assert_string_equal(again.cut_prefixes, "/a/\n/b c/");
    assert_ok(c, store_project_set_prefixes(c->store, project.id, "", &c->err));
    assert_ok(c, store_project_by_id(c->store, project.id, &c->arena, &again, &c->err));
    assert_null(again.cut_prefixes);
    assert_fails(c, FZ_E_NOT_FOUND, store_project_set_prefixes(c->store, 4711, "/a/", &c->err));
    assert_false(again.privacy.values);
    assert_false(again.privacy.keep_memory);
    assert_int_equal(again.privacy.memory_days, STORE_MEMORY_DAYS);
    assert_null(again.privacy.redact_allow);
    struct store_privacy privacy = {true, true, 3, "pass\nfunction:lex_*", "salary"};
    assert_ok(c, store_project_set_privacy(c->store, project.id, &privacy, &c->err));
    assert_ok(c, store_project_by_id(c->store, project.id, &c->arena, &again, &c->err));
    assert_true(again.privacy.values);
    assert_true(again.privacy.keep_memory);
    assert_int_equal(again.privacy.memory_days, 3);
    assert_string_equal(again.privacy.redact_allow, "pass\nfunction:lex_*");
    assert_string_equal(again.privacy.redact_deny, "salary");
    assert_fails(c, FZ_E_NOT_FOUND, store_project_set_privacy(c->store, 4711, &privacy, &c->err));
    privacy = (struct store_privacy){.memory_days = 0};
    assert_fails(c, FZ_E_MALFORMED,
                 store_project_set_privacy(c->store, project.id, &privacy, &c->err));
    privacy.memory_days = STORE_MEMORY_DAYS_MAX;
    assert_ok(c, store_project_set_privacy(c->store, project.id, &privacy, &c->err));
    assert_ok(c, store_project_by_id(c->store, project.id, &c->arena, &again, &c->err));
    assert_false(again.privacy.values);
    assert_null(again.privacy.redact_deny);
    assert_string_equal(list[0].name, "default");
    assert_string_equal(list[1].name, "other");
}

/* Its name, and how the page links its sources. */
static void
test_project_changes(void **state)
{
    struct contract *c = *state;
    struct store_project project;
    assert_ok(c, store_project_by_id(c->store, c->project, &c->arena, &project, &c->err));
    const char *name = project.name;
    assert_null(project.source.link);
    assert_null(project.source.paths);
    assert_ok(c, store_project_rename(c->store, c->project, "shop-2", &c->err));
    assert_ok(c, store_project_rename(c->store, c->project, "shop-2", &c->err));
    assert_ok(c, store_project_find(c->store, "shop-2", &c->arena, &project, &c->err));
    assert_int_equal(project.id, c->project);
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_project_find(c->store, name, &c->arena, &project, &c->err));
    assert_fails(c, FZ_E_CONFLICT, store_project_rename(c->store, c->other, "shop-2", &c->err));
    assert_string_equal(c->err.text, "there is a project shop-2 already");
    assert_fails(c, FZ_E_MALFORMED, store_project_rename(c->store, c->project, "Shop", &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_project_rename(c->store, 4711, "shop-3", &c->err));
    assert_ok(c, store_project_by_id(c->store, c->other, &c->arena, &project, &c->err));
    assert_string_equal(project.name, "other");

    struct store_source source = {"https://git.example.com/{path}#L{line}", "/a/\tb/\n/c/\t"};
    assert_ok(c, store_project_set_source(c->store, c->project, &source, &c->err));
    assert_ok(c, store_project_by_id(c->store, c->project, &c->arena, &project, &c->err));
    assert_string_equal(project.source.link, source.link);
    assert_string_equal(project.source.paths, source.paths);
    assert_ok(c, store_project_by_id(c->store, c->other, &c->arena, &project, &c->err));
    assert_null(project.source.link);
    source = (struct store_source){"", NULL};
    assert_ok(c, store_project_set_source(c->store, c->project, &source, &c->err));
    assert_ok(c, store_project_by_id(c->store, c->project, &c->arena, &project, &c->err));
    assert_null(project.source.link);
    assert_null(project.source.paths);
    assert_fails(c, FZ_E_NOT_FOUND, store_project_set_source(c->store, 4711, &source, &c->err));
}

static void
test_filters(void **state)
{
    struct contract *c = *state;
    struct store_filter filter = {.project_id = c->project,
                                  .name = "crashes",
                                  .query = "kind:crash",
                                  .since = "14d",
                                  .sort = "users",
                                  .actor = "Ann"};
    struct store_filter all = {.project_id = c->project, .name = "all", .query = "", .actor = ""};
    struct store_filter got, *list;
    size_t n = 1;
    int64_t id = 0, second = 0, other = 0;
    assert_ok(c, store_filter_list(c->store, c->project, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 0);
    assert_ok(c, store_filter_add(c->store, &filter, &id, &c->err));
    assert_fails(c, FZ_E_CONFLICT, store_filter_add(c->store, &filter, &second, &c->err));
    assert_string_equal(c->err.text, "there is a filter 'crashes' already");
    assert_ok(c, store_filter_add(c->store, &all, &second, &c->err));
    /* Names are a project's own. */
    filter.project_id = c->other;
    assert_ok(c, store_filter_add(c->store, &filter, &other, &c->err));
    assert_ok(c, store_filter_list(c->store, c->project, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 2);
    assert_string_equal(list[0].name, "all");
    assert_string_equal(list[0].query, "");
    assert_null(list[0].since);
    assert_null(list[0].sort);
    assert_string_equal(list[1].query, "kind:crash");
    assert_string_equal(list[1].since, "14d");
    assert_null(list[1].until);
    assert_string_equal(list[1].sort, "users");
    assert_string_equal(list[1].actor, "Ann");
    assert_true(list[1].created_ms > 1600000000000);

    assert_ok(c, store_filter_get(c->store, c->project, id, &c->arena, &got, &c->err));
    got.name = "hangs";
    got.query = "kind:hang";
    got.until = "2026-11-20";
    got.sort = NULL;
    assert_ok(c, store_filter_change(c->store, &got, &c->err));
    assert_ok(c, store_filter_get(c->store, c->project, id, &c->arena, &got, &c->err));
    assert_string_equal(got.name, "hangs");
    assert_string_equal(got.query, "kind:hang");
    assert_string_equal(got.until, "2026-11-20");
    assert_null(got.sort);
    assert_string_equal(got.actor, "Ann");
    got.name = "all";
    assert_fails(c, FZ_E_CONFLICT, store_filter_change(c->store, &got, &c->err));

    /* What is another project's is not there. */
    got.project_id = c->other;
    assert_fails(c, FZ_E_NOT_FOUND, store_filter_change(c->store, &got, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_filter_get(c->store, c->other, id, &c->arena, &got, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_filter_delete(c->store, c->other, id, &c->err));
    assert_ok(c, store_filter_delete(c->store, c->project, id, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND, store_filter_delete(c->store, c->project, id, &c->err));
    for (int i = 1; i < STORE_FILTERS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "f%d", i);
        all.name = name;
        assert_ok(c, store_filter_add(c->store, &all, &id, &c->err));
    }
    all.name = "one more";
    assert_fails(c, FZ_E_LIMIT, store_filter_add(c->store, &all, &id, &c->err));
}

static void
test_tokens(void **state)
{
    struct contract *c = *state;
    char text[STORE_TOKEN_TEXT], key[STORE_TOKEN_TEXT], all[STORE_TOKEN_TEXT];
    int64_t id, key_id, all_id;
    assert_ok(c, store_token_create(c->store, c->project, STORE_SCOPE_READ | STORE_SCOPE_UPLOAD,
                                    "ci", text, &id, &c->err));
    assert_ok(
        c, store_token_create(c->store, c->other, STORE_SCOPE_INGEST, NULL, key, &key_id, &c->err));
    assert_ok(c, store_token_create(c->store, 0, STORE_SCOPE_ADMIN, "root", all, &all_id, &c->err));
    assert_int_equal(strlen(text), 46);
    assert_int_equal(strncmp(text, "fz_", 3), 0);
    assert_null(strpbrk(text, "+/="));
    assert_int_equal(strlen(key), 32);
    assert_int_equal(strspn(key, "0123456789abcdef"), 32);

    struct store_token token;
    assert_ok(c, store_token_check(c->store, text, &token, &c->err));
    assert_int_equal(token.id, id);
    assert_int_equal(token.project_id, c->project);
    assert_int_equal(token.scopes, STORE_SCOPE_READ | STORE_SCOPE_UPLOAD);
    assert_null(token.label);
    assert_ok(c, store_token_check(c->store, key, &token, &c->err));
    assert_int_equal(token.project_id, c->other);
    assert_ok(c, store_token_check(c->store, all, &token, &c->err));
    assert_int_equal(token.project_id, 0);
    assert_int_equal(token.scopes, STORE_SCOPE_ADMIN);
    int64_t own = -1;
    assert_ok(c, store_token_project(c->store, key_id, &own, &c->err));
    assert_int_equal(own, c->other);
    assert_ok(c, store_token_project(c->store, all_id, &own, &c->err));
    assert_int_equal(own, 0);
    assert_fails(c, FZ_E_NOT_FOUND, store_token_project(c->store, 4711, &own, &c->err));

    /* One character off at the end, at the start, too short, nothing, no UTF-8. */
    char wrong[STORE_TOKEN_TEXT];
    memcpy(wrong, text, sizeof(wrong));
    wrong[45] = wrong[45] == 'A' ? 'B' : 'A';
    const char *const bad[] = {wrong, "fz_", "", "\xff\xfe", "' OR 1=1 --", NULL};
    for (size_t i = 0; i < FZ_ARRAY_LEN(bad); i++) {
        assert_fails(c, FZ_E_DENIED, store_token_check(c->store, bad[i], &token, &c->err));
        assert_string_equal(c->err.text, "the token is not known");
    }

    struct store_token *list;
    size_t n;
    assert_ok(c, store_token_revoke(c->store, id, &c->err));
    assert_fails(c, FZ_E_DENIED, store_token_check(c->store, text, &token, &c->err));
    assert_string_equal(c->err.text, "the token is not known");
    assert_fails(c, FZ_E_NOT_FOUND, store_token_revoke(c->store, 4711, &c->err));
    assert_ok(c, store_token_list(c->store, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 3);
    assert_string_equal(list[0].label, "ci");
    assert_int_equal(strncmp(list[0].hint, text, 8), 0);
    assert_int_equal(strlen(list[0].hint), 8);
    assert_true(list[0].revoked_ms > 0);
    assert_int_equal(list[1].revoked_ms, 0);

    assert_fails(c, FZ_E_NOT_FOUND,
                 store_token_create(c->store, 4711, STORE_SCOPE_READ, "x", text, &id, &c->err));
    assert_fails(c, FZ_E_MALFORMED,
                 store_token_create(c->store, c->project, 0, "x", text, &id, &c->err));
    assert_fails(c, FZ_E_MALFORMED,
                 store_token_create(c->store, c->project, 64, "x", text, &id, &c->err));
}

/* The contents of the database must not be enough to authenticate. */
static void
test_only_hashes_are_stored(void **state)
{
    struct contract *c = *state;
    char text[STORE_TOKEN_TEXT];
    int64_t id;
    assert_ok(c,
              store_token_create(c->store, c->project, STORE_SCOPE_READ, "x", text, &id, &c->err));
    struct store_token token;
    assert_ok(c, store_token_check(c->store, text, &token, &c->err));
    /* The row as a whole is looked up under another token whose hash starts alike: refused. */
    contract_sql(c, "UPDATE tokens SET sha256 = lookup || substr(sha256, 18) || '0'",
                 "UPDATE tokens SET sha256 = lookup || substr(sha256, 18) || '0'");
    assert_fails(c, FZ_E_DENIED, store_token_check(c->store, text, &token, &c->err));
}

static void
test_ping_and_counts(void **state)
{
    struct contract *c = *state;
    struct store_counts counts;
    char id[STORE_ID_TEXT];
    assert_ok(c, store_ping(c->store, &c->err));
    for (int i = 0; i < 600; i++) { /* enough for the ledger to be folded */
        char body[16];
        snprintf(body, sizeof(body), "{%d}", i);
        contract_report(c, c->project, body, id);
        if (i == 599)
            assert_ok(c, store_report_delete(c->store, c->project, id, &c->err));
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(c, store_counts(c->store, &counts, &c->err));
        assert_int_equal(counts.n_reports, 599);
    }
    assert_int_equal(counts.jobs_queued, 599);
    assert_int_equal(counts.jobs_leased, 0);
    assert_int_equal(counts.jobs_quarantined, 0);
    assert_true(counts.database_bytes > 10000);
    contract_claim(c, NULL);
    assert_ok(c, store_counts(c->store, &counts, &c->err));
    assert_int_equal(counts.jobs_queued, 598);
    assert_int_equal(counts.jobs_leased, 1);
}

int
contract_run_projects(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_projects),
        contract_test(test_project_changes),
        contract_test(test_filters),
        contract_test(test_tokens),
        contract_test(test_only_hashes_are_stored),
        contract_test(test_ping_and_counts),
    };
    return cmocka_run_group_tests_name("projects", tests, NULL, NULL);
}
