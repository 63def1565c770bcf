/*
 * The outbox: events in the transactions that cause them, deliveries under leases, channels.
 */
#include "contract.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "issue_case.h"
#include "outbox_case.h"
#include "storage/store_watch.h"

enum { SENDERS = 4, MESSAGES = 40 };

/* ---- events ---- */

static void
test_events_need_a_channel(void **state)
{
    struct contract *c = *state;
    struct store_event_due *list;
    assert_false(outbox_raise(c, c->project, NULL));
    int64_t other = outbox_channel(c, c->other);
    assert_false(outbox_raise(c, c->project, "mark"));
    assert_true(outbox_raise(c, c->other, "mark"));
    assert_int_equal(outbox_due(c, &list), 1);
    assert_int_equal(list[0].event.project_id, c->other);
    assert_true(strncmp(list[0].message, "msg_", 4) == 0);
    /* A mark counts for its project, and was not set while that had no channel. */
    outbox_channel(c, c->project);
    assert_true(outbox_raise(c, c->project, "mark"));
    assert_false(outbox_raise(c, c->project, "mark"));
    assert_false(outbox_raise(c, c->other, "mark"));
    assert_int_equal(outbox_due(c, &list), 2);
    outbox_dispatch(c, other, false);
    assert_int_equal(outbox_due(c, &list), 0);
    outbox_dispatch(c, other, false);
}

static void
test_dispatch_once(void **state)
{
    struct contract *c = *state;
    int64_t id = outbox_channel(c, c->project);
    const struct store_event_target target = {.channel_id = id};
    struct store_event_due *list;
    struct store_delivery_row *rows;
    assert_true(outbox_raise(c, c->project, NULL));
    assert_int_equal(outbox_due(c, &list), 1);
    for (int i = 0; i < 2; i++)
        assert_ok(c, store_event_dispatch(c->store, list[0].id, "{}", &target, 1, &c->err));
    assert_int_equal(outbox_log(c, id, &rows), 1);
    assert_int_equal(rows[0].state, STORE_DELIVERY_WAITING);
}

/* New issues: at once with names, after a while without; names make it due. */
static void
test_new_issues(void **state)
{
    struct contract *c = *state;
    struct store_event_due *list;
    struct store_event_issue issue;
    outbox_channel(c, c->project);
    const char *id = contract_group_add(
        c, &(struct contract_group){
               .stack = "s1", .key = "uuid", .variant = "v", .is_placeholder = true});
    assert_int_equal(outbox_due(c, &list), 0);
    contract_group_add(c, &(struct contract_group){.stack = "s2", .key = "pay()", .variant = "v"});
    assert_int_equal(outbox_due(c, &list), 1);
    assert_int_equal(list[0].event.kind, STORE_EVENT_ISSUE_CREATED);
    assert_ok(c, store_event_issue_get(c->store, list[0].issue_id, &c->arena, &issue, &c->err));
    assert_string_equal(issue.title, "pay()");
    assert_string_equal(issue.version, "1.0 (7)");
    assert_true(issue.n_facts > 10);
    /* The second report of an issue is no event. */
    contract_group_add(c, &(struct contract_group){.stack = "s2", .key = "pay()", .variant = "v"});
    assert_int_equal(outbox_due(c, &list), 1);
    contract_group_again(
        c, id, &(struct contract_group){.stack = "s3", .key = "checkout()", .variant = "v"});
    assert_int_equal(outbox_due(c, &list), 2);
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_event_issue_get(c->store, 99999, &c->arena, &issue, &c->err));
    /* A damaged stack costs the event its frames: no other event waits for it. */
    assert_true(issue.stack.len > 0);
    contract_sql(c, "UPDATE stacks SET body = x'00'", "UPDATE stacks SET body = '\\x00'");
    assert_ok(c, store_event_issue_get(c->store, list[0].issue_id, &c->arena, &issue, &c->err));
    assert_int_equal(issue.stack.len, 0);
}

/* ---- deliveries ---- */

static void
test_lease_and_fence(void **state)
{
    struct contract *c = *state;
    int64_t id = outbox_channel(c, c->project);
    struct store_delivery first, again, second;
    struct store_delivery_row *rows;
    const struct store_delivery_end good = outbox_end(STORE_DELIVERY_DELIVERED);
    assert_true(outbox_raise(c, c->project, NULL));
    assert_true(outbox_raise(c, c->project, NULL));
    outbox_dispatch(c, id, false);
    assert_true(outbox_claim(c, c->store, &first));
    /* One at a time through one channel. */
    assert_false(outbox_claim(c, c->store, &second));
    assert_ok(c, store_delivery_release(c->store, &first, &c->err));
    assert_fails(c, FZ_E_CONFLICT, store_delivery_release(c->store, &first, &c->err));
    assert_true(outbox_claim(c, c->store, &again));
    assert_int_equal(again.id, first.id);
    assert_string_equal(again.message, first.message);
    /* The one that was thought dead. */
    assert_fails(c, FZ_E_CONFLICT, store_delivery_finish(c->store, &first, &good, &c->err));
    contract_sql(c, "UPDATE deliveries SET due_ms = 1 WHERE state = 1",
                 "UPDATE deliveries SET due_ms = 1 WHERE state = 1");
    assert_true(outbox_claim(c, c->store, &second));
    assert_int_equal(second.id, first.id);
    assert_fails(c, FZ_E_CONFLICT, store_delivery_finish(c->store, &again, &good, &c->err));
    assert_ok(c, store_delivery_finish(c->store, &second, &good, &c->err));
    assert_true(outbox_claim(c, c->store, &second));
    assert_ok(c, store_delivery_finish(c->store, &second, &good, &c->err));
    assert_false(outbox_claim(c, c->store, &second));
    assert_int_equal(outbox_log(c, id, &rows), 2);
    assert_int_equal(rows[0].state, STORE_DELIVERY_DELIVERED);
    assert_int_equal(rows[1].n_attempts, 1);
    assert_string_equal(rows[1].attempts[0].answer, "ok");
}

static void
test_digest(void **state)
{
    struct contract *c = *state;
    int64_t id = outbox_channel(c, c->project);
    struct store_held_list held;
    struct store_delivery delivery;
    struct store_delivery_row *rows;
    struct store_outbox_work work;
    for (int i = 0; i < 5; i++)
        assert_true(outbox_raise_kind(
            c, c->project, i < 2 ? STORE_EVENT_ISSUE_REGRESSED : STORE_EVENT_ISSUE_CREATED, NULL));
    outbox_dispatch(c, id, true);
    assert_false(outbox_claim(c, c->store, &delivery));
    assert_ok(c, store_held_get(c->store, id, 3, &c->arena, &held, &c->err));
    assert_int_equal(held.n, 5);
    assert_int_equal(held.n_by_kind[STORE_EVENT_ISSUE_CREATED], 3);
    /* New issues are the last, though they came later. */
    assert_int_equal(held.n_shown, 3);
    assert_int_equal(held.shown[0].kind, STORE_EVENT_ISSUE_REGRESSED);
    assert_int_equal(held.shown[2].kind, STORE_EVENT_ISSUE_CREATED);
    struct store_channel channel = outbox_channel_of(c, id);
    assert_true(channel.held_since_ms > 0);
    /* Nobody has anything to do before the digest is due, nor while the channel is disabled. */
    assert_ok(c, store_outbox_look(c->store, &work, &c->err));
    assert_false(work.has_held);
    contract_sql(c, "UPDATE channels SET held_since_ms = held_since_ms - digest_s * 1000",
                 "UPDATE channels SET held_since_ms = held_since_ms - digest_s * 1000");
    assert_ok(c, store_outbox_look(c->store, &work, &c->err));
    assert_true(work.has_held);
    contract_sql(c, "UPDATE channels SET is_enabled = 0", "UPDATE channels SET is_enabled = 0");
    assert_ok(c, store_outbox_look(c->store, &work, &c->err));
    assert_false(work.has_held);
    contract_sql(c, "UPDATE channels SET is_enabled = 1", "UPDATE channels SET is_enabled = 1");
    assert_ok(c, store_digest_add(c->store, &channel, held.last_id, "{}", &c->err));
    /* Again, by one who was late: there is nothing left for it. */
    assert_ok(c, store_digest_add(c->store, &channel, held.last_id, "{}", &c->err));
    assert_int_equal(outbox_channel_of(c, id).held_since_ms, 0);
    assert_true(outbox_claim(c, c->store, &delivery));
    assert_int_equal(delivery.kind, STORE_EVENT_DIGEST);
    assert_int_equal(outbox_log(c, id, &rows), 6);
    assert_int_equal(rows[1].state, STORE_DELIVERY_DIGESTED);
}

static int
send_all(struct contract *c, int i, void *user)
{
    (void)user;
    (void)i;
    struct store_delivery delivery;
    const struct store_delivery_end good = outbox_end(STORE_DELIVERY_DELIVERED);
    int64_t until = fz_time_monotonic_ms() + 20000;
    int64_t n = 0;
    while (fz_time_monotonic_ms() < until) {
        FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
        bool found = false;
        if (store_delivery_claim(c->store, 60000, &arena, &delivery, &found, &c->err) != FZ_OK)
            return 1;
        if (found && store_delivery_finish(c->store, &delivery, &good, &c->err) != FZ_OK)
            return 2;
        struct store_outbox_work work;
        if (store_outbox_look(c->store, &work, &c->err) != FZ_OK)
            return 3;
        if (!found && !work.has_deliveries && ++n > 3)
            return 0;
    }
    return 4;
}

/* Several senders at once: each message is claimed by one of them. */
static void
test_senders(void **state)
{
    struct contract *c = *state;
    int64_t ids[2] = {outbox_channel(c, c->project), outbox_channel(c, c->project)};
    struct store_delivery_row *rows;
    for (int i = 0; i < MESSAGES; i++) {
        assert_true(outbox_raise(c, c->project, NULL));
        outbox_dispatch(c, ids[i % 2], false);
    }
    contract_fork(c, SENDERS, send_all, NULL);
    for (int i = 0; i < 2; i++) {
        size_t n = outbox_log(c, ids[i], &rows);
        assert_int_equal(n, MESSAGES / 2);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(rows[k].state, STORE_DELIVERY_DELIVERED);
            assert_int_equal(rows[k].n_attempts, 1);
        }
    }
}

/* ---- channels ---- */

/* What ended long ago is deleted in portions; what did not end, or not long ago, stays. */
static void
test_sweep(void **state)
{
    static const char twice[] = "INSERT INTO deliveries (channel_id, event_id, state, due_ms, "
                                "created_ms) SELECT channel_id, event_id, 3, 0, 0 FROM deliveries";
    struct contract *c = *state;
    int64_t id = outbox_channel(c, c->project);
    struct store_delivery_row *rows;
    bool is_more = false;
    assert_true(outbox_raise(c, c->project, NULL));
    outbox_dispatch(c, id, false);
    for (int i = 0; i < 9; i++)
        contract_sql(c, twice, twice); /* 511 that ended in 1970, and one that waits */
    assert_ok(c, store_outbox_sweep(c->store, &is_more, &c->err));
    assert_true(is_more);
    assert_ok(c, store_outbox_sweep(c->store, &is_more, &c->err));
    assert_false(is_more);
    assert_int_equal(outbox_log(c, id, &rows), 1);
    assert_int_equal(rows[0].state, STORE_DELIVERY_WAITING);
}

static void
test_pages(void **state)
{
    struct contract *c = *state;
    int64_t id = outbox_channel(c, c->project), last = INT64_MAX;
    struct store_delivery_row *rows;
    struct store_page page = {.limit = 3};
    size_t n = 0;
    for (int i = 0; i < 7; i++)
        assert_true(outbox_raise(c, c->project, NULL));
    outbox_dispatch(c, id, false);
    do {
        page.cursor = page.next;
        assert_ok(c,
                  store_delivery_list(c->store, c->project, id, &page, &c->arena, &rows, &c->err));
        for (size_t i = 0; i < page.n; i++) {
            assert_true(rows[i].id < last);
            last = rows[i].id;
        }
        n += page.n;
    } while (page.next);
    assert_int_equal(n, 7);
    page.cursor = "nonsense";
    assert_fails(c, FZ_E_MALFORMED,
                 store_delivery_list(c->store, c->project, id, &page, &c->arena, &rows, &c->err));
}

/* ---- duties and rules ---- */

static void
test_duties(void **state)
{
    struct contract *c = *state;
    bool is_ours = false;
    assert_ok(c, store_duty_take(c->store, "a", 60000, &is_ours, &c->err));
    assert_true(is_ours);
    assert_ok(c, store_duty_take(c->store, "a", 60000, &is_ours, &c->err));
    assert_false(is_ours);
    assert_ok(c, store_duty_take(c->store, "b", 60000, &is_ours, &c->err));
    assert_true(is_ours);
    assert_ok(c, store_duty_give_back(c->store, "a", &c->err));
    assert_ok(c, store_duty_take(c->store, "a", 60000, &is_ours, &c->err));
    assert_true(is_ours);
    /* Taken in a year that never came. */
    contract_sql(c, "UPDATE duties SET until_ms = until_ms + 31536000000",
                 "UPDATE duties SET until_ms = until_ms + 31536000000");
    assert_ok(c, store_duty_take(c->store, "a", 60000, &is_ours, &c->err));
    assert_true(is_ours);
}

static void
test_rules(void **state)
{
    struct contract *c = *state;
    struct store_watch_rules rules;
    assert_ok(c, store_watch_rules_get(c->store, c->project, &rules, &c->err));
    assert_int_equal(rules.urgent_ppm, 10000);
    assert_int_equal(rules.urgent_users, 25);
    assert_int_equal(rules.window_s, 1800);
    rules.urgent_users = 7;
    assert_ok(c, store_watch_rules_set(c->store, c->project, &rules, &c->err));
    assert_ok(c, store_watch_rules_get(c->store, c->project, &rules, &c->err));
    assert_int_equal(rules.urgent_users, 7);
    assert_fails(c, FZ_E_NOT_FOUND, store_watch_rules_get(c->store, 9999, &rules, &c->err));
}

int
contract_run_outbox(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_events_need_a_channel),
        contract_test(test_dispatch_once),
        contract_test(test_new_issues),
        contract_test(test_lease_and_fence),
        contract_test(test_digest),
        contract_test(test_senders),
        contract_test(test_sweep),
        contract_test(test_pages),
        contract_test(test_duties),
        contract_test(test_rules),
    };
    return cmocka_run_group_tests_name("outbox", tests, NULL, NULL);
}
