/* One user of an app: what is stored of the id, and an erasure that leaves the counts and nothing else. */
#include "issue_case.h"

#include <stdio.h>
#include <string.h>

#include "storage/store_person.h"

enum { STEPS_MAX = 50 };

static const char *
add(struct contract *c, const char *user, const char *stack)
{
    const struct contract_group group = {
        .stack = stack, .key = stack, .variant = stack, .user = user, .version = "1.0"};
    return contract_group_add(c, &group);
}

static void
erase(struct contract *c)
{
    bool more = true;
    int n = 0;
    for (; more && n < STEPS_MAX; n++)
        assert_ok(c, store_erasure_step(c->store, &more, &c->err));
    assert_false(more);
}

static bool
is_there(struct contract *c, const char *report)
{
    struct store_report row;
    enum fz_code code = store_report_get(c->store, c->project, report, &c->arena, &row, &c->err);
    assert_true(code == FZ_OK || code == FZ_E_NOT_FOUND);
    return code == FZ_OK;
}

static void
test_found(void **state)
{
    struct contract *c = *state;
    struct store_person person = {0};
    const char **ids = NULL;
    size_t n = 0;
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_person_get(c->store, c->project, "user-anna", &person, &c->err));
    for (int i = 0; i < 5; i++)
        add(c, i == 2 ? "user-annabel" : "user-anna", "s1");
    assert_ok(c, store_person_get(c->store, c->project, "user-anna", &person, &c->err));
    assert_int_equal(person.n_reports, 4);
    assert_int_equal(person.n_facts, 4);
    assert_true(person.first_ms > 0 && person.first_ms <= person.last_ms);
    /* Of this project alone, and the whole id. */
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_person_get(c->store, c->other, "user-anna", &person, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_person_get(c->store, c->project, "user-ann", &person, &c->err));
    struct store_person_query query = {c->project, "user-anna", NULL, 3};
    assert_ok(c, store_person_reports(c->store, &query, &c->arena, &ids, &n, &c->err));
    assert_int_equal(n, 3);
    assert_true(strcmp(ids[0], ids[1]) < 0 && strcmp(ids[1], ids[2]) < 0);
    query.after = ids[2];
    assert_ok(c, store_person_reports(c->store, &query, &c->arena, &ids, &n, &c->err));
    assert_int_equal(n, 1);
    assert_true(strcmp(ids[0], query.after) > 0);
    query.after = ids[0];
    assert_ok(c, store_person_reports(c->store, &query, &c->arena, &ids, &n, &c->err));
    assert_int_equal(n, 0);
}

static void
test_erased(void **state)
{
    struct contract *c = *state;
    struct store_person person;
    struct store_erasure erasure;
    int64_t first = 0, again = 0;
    const char *mine[30], *other;
    for (size_t i = 0; i < FZ_ARRAY_LEN(mine); i++) /* more than one step takes */
        mine[i] = add(c, "user-anna", "s1");
    other = add(c, "user-bert", "s1");
    struct store *second = contract_open(c), *first_store = c->store;
    bool more = true;
    c->store = second; /* it has the user's number in memory, too */
    add(c, "user-anna", "s1");
    c->store = first_store;
    int64_t number = contract_number_of(c, other);
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_erasure_begin(c->store, c->project, "user-carl", &first, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_erasure_begin(c->store, c->other, "user-anna", &first, &c->err));
    assert_ok(c, store_erasure_begin(c->store, c->project, "user-anna", &first, &c->err));
    assert_ok(c, store_erasure_begin(c->store, c->project, "user-anna", &again, &c->err));
    assert_int_equal(first, again);
    assert_ok(c, store_erasure_get(c->store, c->project, first, &erasure, &c->err));
    assert_true(erasure.finished_ms == 0 && erasure.n_reports == 0 && erasure.created_ms > 0);
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_erasure_get(c->store, c->other, first, &erasure, &c->err));
    erase(c);
    assert_ok(c, store_erasure_get(c->store, c->project, first, &erasure, &c->err));
    assert_true(erasure.finished_ms >= erasure.created_ms);
    assert_int_equal(erasure.n_reports, FZ_ARRAY_LEN(mine) + 1);
    for (size_t i = 0; i < FZ_ARRAY_LEN(mine); i++)
        assert_false(is_there(c, mine[i]));
    assert_true(is_there(c, other));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_person_get(c->store, c->project, "user-anna", &person, &c->err));
    assert_ok(c, store_person_get(c->store, c->project, "user-bert", &person, &c->err));
    /* Crashes and users were counted and stay; the id is in no table. */
    assert_int_equal(contract_issue(c, number).n_reports, FZ_ARRAY_LEN(mine) + 2);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM terms WHERE text LIKE '%user-anna%'"),
                     0);
    assert_int_equal(contract_count(c, "SELECT count(*) FROM erasures WHERE user_id IS NOT NULL"),
                     0);
    contract_recount(c);
    /* Whoever comes back is another user, also for a process that has had the old one's number in memory. */
    c->store = second;
    assert_ok(c, store_erasure_step(c->store, &more, &c->err));
    add(c, "user-anna", "s1");
    c->store = first_store;
    store_close(second);
    add(c, "user-anna", "s1");
    assert_ok(c, store_person_get(c->store, c->project, "user-anna", &person, &c->err));
    assert_int_equal(person.n_facts, 2);
    assert_ok(c, store_erasure_begin(c->store, c->project, "user-anna", &again, &c->err));
    assert_true(again != first);
    erase(c);
}

/* Of reports without a fact, and of those whose fact has another text for the user. */
static void
test_found_otherwise(void **state)
{
    struct contract *c = *state;
    struct store_person person = {0};
    int64_t erasure = 0;
    const char *mine[3];
    for (size_t i = 0; i < FZ_ARRAY_LEN(mine); i++)
        mine[i] = add(c, "user-anna", "s1");
    add(c, "user-bert", "s1");
    const char *no_fact =
        fz_arena_printf(&c->arena, "UPDATE reports SET is_grouped = 0 WHERE id = '%s'", mine[0]);
    const char *delete_fact =
        fz_arena_printf(&c->arena,
                        "DELETE FROM facts WHERE report_key = (SELECT key FROM reports WHERE id = "
                        "'%s')",
                        mine[0]);
    contract_sql(c, no_fact, no_fact);
    contract_sql(c, delete_fact, delete_fact);
    static const char *const names[] = {"user-anna", "(other)", "[erased:7]", "[gone]"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        const char *rename = fz_arena_printf(
            &c->arena,
            "UPDATE terms SET text = '%s' WHERE id = (SELECT user_id FROM facts WHERE report_key = "
            "(SELECT key FROM reports WHERE id = '%s'))",
            names[i], mine[1]);
        contract_sql(c, rename, rename);
        assert_ok(c, store_person_get(c->store, c->project, "user-anna", &person, &c->err));
        assert_int_equal(person.n_reports, FZ_ARRAY_LEN(mine));
    }
    assert_ok(c, store_erasure_begin(c->store, c->project, "user-anna", &erasure, &c->err));
    erase(c);
    for (size_t i = 0; i < FZ_ARRAY_LEN(mine); i++)
        assert_false(is_there(c, mine[i]));
    assert_ok(c, store_person_get(c->store, c->project, "user-bert", &person, &c->err));
    assert_int_equal(person.n_reports, 1);
}

/* A step is a transaction: a process that is killed between two leaves work for the next one. */
static void
test_two_connections(void **state)
{
    struct contract *c = *state;
    struct store_erasure erasure;
    struct store *second = contract_open(c);
    int64_t id = 0;
    bool more = true, more_too = true;
    for (int i = 0; i < 45; i++)
        add(c, "user-anna", "s1");
    assert_ok(c, store_erasure_begin(c->store, c->project, "user-anna", &id, &c->err));
    for (int n = 0; (more || more_too) && n < STEPS_MAX; n++) {
        assert_ok(c, store_erasure_step(c->store, &more, &c->err));
        assert_ok(c, store_erasure_step(second, &more_too, &c->err));
    }
    assert_false(more || more_too);
    assert_ok(c, store_erasure_get(c->store, c->project, id, &erasure, &c->err));
    assert_int_equal(erasure.n_reports, 45);
    assert_true(erasure.finished_ms > 0);
    store_close(second);
}

int
contract_run_people(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_found),
        contract_test(test_found_otherwise),
        contract_test(test_erased),
        contract_test(test_two_connections),
    };
    return cmocka_run_group_tests_name("people", tests, NULL, NULL);
}
