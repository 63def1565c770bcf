/* The audit log: what is asked for and in which order, texts that are cut, entries that are too old. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "storage/store_audit.h"

static void
add(struct contract *c, int64_t project, const char *action, const char *actor)
{
    const struct store_audit entry = {.project_id = project,
                                      .sender_id = -7,
                                      .actor = actor,
                                      .address = "192.0.2.1",
                                      .action = action,
                                      .object = "o",
                                      .detail = NULL};
    assert_ok(c, store_audit_add(c->store, &entry, &c->err));
}

/* "action/actor" of a page, joined; *cursor goes to the next one. */
static const char *
list(struct contract *c, const struct store_audit_filter *filter, const char **cursor, size_t limit)
{
    struct store_page page = {.cursor = *cursor, .limit = limit};
    struct store_audit *found = NULL;
    const char *all = "";
    assert_ok(c, store_audit_list(c->store, filter, &page, &c->arena, &found, &c->err));
    assert_true(page.n <= limit);
    for (size_t i = 0; i < page.n; i++)
        all = fz_arena_printf(&c->arena, "%s %s/%s", all, found[i].action, found[i].actor);
    *cursor = page.next;
    return all;
}

static const char *
list_all(struct contract *c, const struct store_audit_filter *filter)
{
    const char *cursor = NULL, *all = list(c, filter, &cursor, 100);
    assert_null(cursor);
    return all;
}

static void
test_filters(void **state)
{
    struct contract *c = *state;
    int64_t before = fz_time_now_ms();
    add(c, c->project, "token_post", "anna");
    add(c, c->other, "token_post", "bert");
    add(c, 0, "login", "anna");
    add(c, c->project, "project_put", "bert");
    struct store_audit_filter filter = {.project_id = c->project};
    assert_string_equal(list_all(c, &filter), " project_put/bert token_post/anna");
    filter.with_global = true;
    assert_string_equal(list_all(c, &filter), " project_put/bert login/anna token_post/anna");
    filter.actor = "anna";
    assert_string_equal(list_all(c, &filter), " login/anna token_post/anna");
    filter.action = "login";
    assert_string_equal(list_all(c, &filter), " login/anna");
    filter.since_ms = before - 60000;
    filter.until_ms = before + 60000;
    assert_string_equal(list_all(c, &filter), " login/anna");
    filter.until_ms = before - 60000;
    assert_string_equal(list_all(c, &filter), "");
    filter = (struct store_audit_filter){.project_id = c->other, .since_ms = before + 60000};
    assert_string_equal(list_all(c, &filter), "");
}

static void
test_pages(void **state)
{
    struct contract *c = *state;
    const struct store_audit_filter filter = {.project_id = c->project};
    const char *cursor = NULL;
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++)
        add(c, c->project, "login", names[i]);
    assert_string_equal(list(c, &filter, &cursor, 2), " login/e login/d");
    assert_non_null(cursor);
    /* What comes meanwhile is not on the next page. */
    add(c, c->project, "login", "f");
    assert_string_equal(list(c, &filter, &cursor, 2), " login/c login/b");
    assert_string_equal(list(c, &filter, &cursor, 2), " login/a");
    assert_null(cursor);
    static const char *const wrong[] = {"x", "0", "-1", "1x", "99999999999999999999"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(wrong); i++) {
        struct store_page page = {.cursor = wrong[i], .limit = 2};
        struct store_audit *found = NULL;
        assert_fails(c, FZ_E_MALFORMED,
                     store_audit_list(c->store, &filter, &page, &c->arena, &found, &c->err));
    }
}

static void
test_texts(void **state)
{
    struct contract *c = *state;
    char text[STORE_AUDIT_TEXT + 20];
    /* The last byte that has room is the first of a character of two. */
    memset(text, 'x', sizeof(text));
    memcpy(text + STORE_AUDIT_TEXT - 1, "\xc3\xa4", 2);
    text[sizeof(text) - 1] = '\0';
    const struct store_audit entry = {.project_id = c->project,
                                      .sender_id = 5,
                                      .actor = text,
                                      .address = "2001:db8::1",
                                      .action = "project_put",
                                      .detail = text};
    assert_ok(c, store_audit_add(c->store, &entry, &c->err));
    const struct store_audit_filter filter = {.project_id = c->project};
    struct store_page page = {.limit = 10};
    struct store_audit *found = NULL;
    assert_ok(c, store_audit_list(c->store, &filter, &page, &c->arena, &found, &c->err));
    assert_int_equal(page.n, 1);
    assert_int_equal(strlen(found->actor), STORE_AUDIT_TEXT - 1);
    assert_int_equal(strlen(found->detail), STORE_AUDIT_TEXT - 1);
    assert_null(found->object);
    assert_string_equal(found->address, "2001:db8::1");
    assert_int_equal(found->sender_id, 5);
    assert_in_range(found->at_ms, fz_time_now_ms() - 60000, fz_time_now_ms() + 60000);
}

/* They go when the next one comes. */
static void
test_old(void **state)
{
    struct contract *c = *state;
    const struct store_audit_filter filter = {.project_id = c->project};
    char sql[200];
    int64_t edge = fz_time_now_ms() - STORE_AUDIT_DAYS * INT64_C(24) * 3600 * 1000;
    add(c, c->project, "login", "old");
    snprintf(sql, sizeof(sql), "UPDATE audit SET at_ms = %lld", (long long)edge - 60000);
    contract_sql(c, sql, sql);
    add(c, c->project, "login", "older");
    assert_string_equal(list_all(c, &filter), " login/older");
    snprintf(sql, sizeof(sql), "UPDATE audit SET at_ms = %lld", (long long)edge + 60000);
    contract_sql(c, sql, sql);
    add(c, c->project, "login", "new");
    assert_string_equal(list_all(c, &filter), " login/new login/older");
}

int
contract_run_audit(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_filters),
        contract_test(test_pages),
        contract_test(test_texts),
        contract_test(test_old),
    };
    return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
