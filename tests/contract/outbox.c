/*
 * The outbox: events in the transactions that cause them, deliveries under leases, channels.
 */
#include "contract.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "issue_case.h"
#include "storage/store_outbox.h"
#include "storage/store_watch.h"

enum { ALL = 0xff, SENDERS = 4, MESSAGES = 40 };

static int64_t
add_channel(struct contract *c, int64_t project)
{
    const struct store_channel channel = {.project_id = project,
                                          .name = "ops",
                                          .kind = "webhook",
                                          .target = "https://hooks.example.com/x",
                                          .secret = "whsec_a",
                                          .filter = "",
                                          .events = ALL,
                                          .per_hour = 30,
                                          .digest_s = 900};
    int64_t id = 0;
    assert_ok(c, store_channel_add(c->store, &channel, &id, &c->err));
    return id;
}

static struct store_channel
channel_of(struct contract *c, int64_t id)
{
    struct store_channel channel;
    assert_ok(c, store_channel_get(c->store, c->project, id, &c->arena, &channel, &c->err));
    return channel;
}

static bool
raise_kind(struct contract *c, int64_t project, enum store_event_kind kind, const char *mark)
{
    const struct store_event event = {
        .project_id = project, .kind = kind, .body = "{}", .marks = &mark, .n_marks = mark ? 1 : 0};
    bool is_new = false;
    assert_ok(c, store_event_raise(c->store, &event, &is_new, &c->err));
    return is_new;
}

static bool
raise_event(struct contract *c, int64_t project, const char *mark)
{
    return raise_kind(c, project, STORE_EVENT_INGEST_LIMITED, mark);
}

static size_t
due(struct contract *c, struct store_event_due **ret)
{
    size_t n = 0;
    assert_ok(c, store_event_list_due(c->store, 100, &c->arena, ret, &n, &c->err));
    return n;
}

/* Give every event that is due to the channel. */
static void
dispatch(struct contract *c, int64_t channel_id, bool is_held)
{
    const struct store_event_target target = {.channel_id = channel_id,
                                              .is_held = is_held,
                                              .held_since_ms = is_held ? fz_time_now_ms() : 0};
    struct store_event_due *list;
    size_t n = due(c, &list);
    for (size_t i = 0; i < n; i++)
        assert_ok(c, store_event_dispatch(c->store, list[i].id,
                                          list[i].event.body ? list[i].event.body : "{}", &target,
                                          1, &c->err));
}

static bool
claim(struct contract *c, struct store *store, struct store_delivery *ret)
{
    bool found = false;
    assert_ok(c, store_delivery_claim(store, 60000, &c->arena, ret, &found, &c->err));
    return found;
}

static struct store_delivery_end
end(enum store_delivery_state state)
{
    return (struct store_delivery_end){
        .attempt = {.result = "answered", .status = 200, .error = "", .answer = "ok"},
        .state = state};
}

static size_t
log_of(struct contract *c, int64_t channel_id, struct store_delivery_row **ret)
{
    struct store_page page = {.limit = 100};
    assert_ok(
        c, store_delivery_list(c->store, c->project, channel_id, &page, &c->arena, ret, &c->err));
    return page.n;
}

/* ---- events ---- */

static void
test_events_need_a_channel(void **state)
{
    struct contract *c = *state;
    struct store_event_due *list;
    assert_false(raise_event(c, c->project, NULL));
    int64_t other = add_channel(c, c->other);
    assert_false(raise_event(c, c->project, "mark"));
    assert_true(raise_event(c, c->other, "mark"));
    assert_int_equal(due(c, &list), 1);
    assert_int_equal(list[0].event.project_id, c->other);
    assert_true(strncmp(list[0].message, "msg_", 4) == 0);
    /* A mark counts for its project, and was not set while that had no channel. */
    add_channel(c, c->project);
    assert_true(raise_event(c, c->project, "mark"));
    assert_false(raise_event(c, c->project, "mark"));
    assert_false(raise_event(c, c->other, "mark"));
    assert_int_equal(due(c, &list), 2);
    dispatch(c, other, false);
    assert_int_equal(due(c, &list), 0);
    dispatch(c, other, false);
}

static void
test_dispatch_once(void **state)
{
    struct contract *c = *state;
    int64_t id = add_channel(c, c->project);
    const struct store_event_target target = {.channel_id = id};
    struct store_event_due *list;
    struct store_delivery_row *rows;
    assert_true(raise_event(c, c->project, NULL));
    assert_int_equal(due(c, &list), 1);
    for (int i = 0; i < 2; i++)
        assert_ok(c, store_event_dispatch(c->store, list[0].id, "{}", &target, 1, &c->err));
    assert_int_equal(log_of(c, id, &rows), 1);
    assert_int_equal(rows[0].state, STORE_DELIVERY_WAITING);
}

/* New issues: at once with names, after a while without; names make it due. */
static void
test_new_issues(void **state)
{
    struct contract *c = *state;
    struct store_event_due *list;
    struct store_event_issue issue;
    add_channel(c, c->project);
    const char *id = contract_group_add(
        c, &(struct contract_group){
               .stack = "s1", .key = "uuid", .variant = "v", .is_placeholder = true});
    assert_int_equal(due(c, &list), 0);
    contract_group_add(c, &(struct contract_group){.stack = "s2", .key = "pay()", .variant = "v"});
    assert_int_equal(due(c, &list), 1);
    assert_int_equal(list[0].event.kind, STORE_EVENT_ISSUE_CREATED);
    assert_ok(c, store_event_issue_get(c->store, list[0].issue_id, &c->arena, &issue, &c->err));
    assert_string_equal(issue.title, "pay()");
    assert_string_equal(issue.version, "1.0 (7)");
    assert_true(issue.n_facts > 10);
    /* The second report of an issue is no event. */
    contract_group_add(c, &(struct contract_group){.stack = "s2", .key = "pay()", .variant = "v"});
    assert_int_equal(due(c, &list), 1);
    contract_group_again(
        c, id, &(struct contract_group){.stack = "s3", .key = "checkout()", .variant = "v"});
    assert_int_equal(due(c, &list), 2);
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
    int64_t id = add_channel(c, c->project);
    struct store_delivery first, again, second;
    struct store_delivery_row *rows;
    const struct store_delivery_end good = end(STORE_DELIVERY_DELIVERED);
    assert_true(raise_event(c, c->project, NULL));
    assert_true(raise_event(c, c->project, NULL));
    dispatch(c, id, false);
    assert_true(claim(c, c->store, &first));
    /* One at a time through one channel. */
    assert_false(claim(c, c->store, &second));
    assert_ok(c, store_delivery_release(c->store, &first, &c->err));
    assert_fails(c, FZ_E_CONFLICT, store_delivery_release(c->store, &first, &c->err));
    assert_true(claim(c, c->store, &again));
    assert_int_equal(again.id, first.id);
    assert_string_equal(again.message, first.message);
    /* The one that was thought dead. */
    assert_fails(c, FZ_E_CONFLICT, store_delivery_finish(c->store, &first, &good, &c->err));
    contract_sql(c, "UPDATE deliveries SET due_ms = 1 WHERE state = 1",
                 "UPDATE deliveries SET due_ms = 1 WHERE state = 1");
    assert_true(claim(c, c->store, &second));
    assert_int_equal(second.id, first.id);
    assert_fails(c, FZ_E_CONFLICT, store_delivery_finish(c->store, &again, &good, &c->err));
    assert_ok(c, store_delivery_finish(c->store, &second, &good, &c->err));
    assert_true(claim(c, c->store, &second));
    assert_ok(c, store_delivery_finish(c->store, &second, &good, &c->err));
    assert_false(claim(c, c->store, &second));
    assert_int_equal(log_of(c, id, &rows), 2);
    assert_int_equal(rows[0].state, STORE_DELIVERY_DELIVERED);
    assert_int_equal(rows[1].n_attempts, 1);
    assert_string_equal(rows[1].attempts[0].answer, "ok");
}

static void
test_failure_pauses_and_disables(void **state)
{
    struct contract *c = *state;
    int64_t id = add_channel(c, c->project), now = fz_time_now_ms();
    struct store_delivery delivery;
    struct store_delivery_row *rows;
    struct store_delivery_end again = end(STORE_DELIVERY_WAITING);
    again.when_ms = 1;
    again.channel_from_ms = now + 3600 * 1000;
    assert_true(raise_event(c, c->project, NULL));
    assert_true(raise_event(c, c->project, NULL));
    dispatch(c, id, false);
    assert_true(claim(c, c->store, &delivery));
    assert_ok(c, store_delivery_finish(c->store, &delivery, &again, &c->err));
    assert_false(claim(c, c->store, &delivery));
    struct store_channel channel = channel_of(c, id);
    assert_int_equal(channel.n_failed, 1);
    assert_true(channel.failing_ms >= now - 60000);
    contract_sql(c, "UPDATE channels SET from_ms = 0", "UPDATE channels SET from_ms = 0");
    assert_true(claim(c, c->store, &delivery));
    struct store_delivery_end gone = end(STORE_DELIVERY_FAILED);
    const struct store_event trouble = {.project_id = c->project,
                                        .kind = STORE_EVENT_CHANNEL_FAILING,
                                        .channel_id = id,
                                        .body = "{}"};
    gone.disable = "gone";
    gone.raised = &trouble;
    int64_t other = add_channel(c, c->project);
    assert_ok(c, store_delivery_finish(c->store, &delivery, &gone, &c->err));
    channel = channel_of(c, id);
    assert_false(channel.is_enabled);
    assert_string_equal(channel.why_disabled, "gone");
    struct store_event_due *list;
    assert_int_equal(due(c, &list), 1);
    assert_int_equal(list[0].channel_id, id);
    dispatch(c, other, false);
    /* What waits is kept for the time when it is enabled again. */
    assert_int_equal(log_of(c, id, &rows), 2);
    assert_true(rows[0].state == STORE_DELIVERY_PAUSED || rows[1].state == STORE_DELIVERY_PAUSED);
    assert_fails(c, FZ_E_CONFLICT,
                 store_delivery_resend(c->store, c->project, id, delivery.id, &c->err));
    channel.is_enabled = true;
    assert_ok(c, store_channel_change(c->store, &channel, &c->err));
    assert_int_equal(channel_of(c, id).n_failed, 0);
    assert_null(channel_of(c, id).why_disabled);
    assert_ok(c, store_delivery_resend(c->store, c->project, id, delivery.id, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_delivery_resend(c->store, c->other, id, delivery.id, &c->err));
    size_t n = 0;
    while (claim(c, c->store, &delivery)) {
        const struct store_delivery_end good = end(STORE_DELIVERY_DELIVERED);
        assert_ok(c, store_delivery_finish(c->store, &delivery, &good, &c->err));
        n++;
    }
    assert_int_equal(n, 3);
}

static void
test_digest(void **state)
{
    struct contract *c = *state;
    int64_t id = add_channel(c, c->project);
    struct store_held_list held;
    struct store_delivery delivery;
    struct store_delivery_row *rows;
    struct store_outbox_work work;
    for (int i = 0; i < 5; i++)
        assert_true(raise_kind(
            c, c->project, i < 2 ? STORE_EVENT_ISSUE_REGRESSED : STORE_EVENT_ISSUE_CREATED, NULL));
    dispatch(c, id, true);
    assert_false(claim(c, c->store, &delivery));
    assert_ok(c, store_held_get(c->store, id, 3, &c->arena, &held, &c->err));
    assert_int_equal(held.n, 5);
    assert_int_equal(held.n_by_kind[STORE_EVENT_ISSUE_CREATED], 3);
    /* New issues are the last, though they came later. */
    assert_int_equal(held.n_shown, 3);
    assert_int_equal(held.shown[0].kind, STORE_EVENT_ISSUE_REGRESSED);
    assert_int_equal(held.shown[2].kind, STORE_EVENT_ISSUE_CREATED);
    struct store_channel channel = channel_of(c, id);
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
    assert_int_equal(channel_of(c, id).held_since_ms, 0);
    assert_true(claim(c, c->store, &delivery));
    assert_int_equal(delivery.kind, STORE_EVENT_DIGEST);
    assert_int_equal(log_of(c, id, &rows), 6);
    assert_int_equal(rows[1].state, STORE_DELIVERY_DIGESTED);
}

static int
send_all(struct contract *c, int i, void *user)
{
    (void)user;
    (void)i;
    struct store_delivery delivery;
    const struct store_delivery_end good = end(STORE_DELIVERY_DELIVERED);
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
    int64_t ids[2] = {add_channel(c, c->project), add_channel(c, c->project)};
    struct store_delivery_row *rows;
    for (int i = 0; i < MESSAGES; i++) {
        assert_true(raise_event(c, c->project, NULL));
        dispatch(c, ids[i % 2], false);
    }
    contract_fork(c, SENDERS, send_all, NULL);
    for (int i = 0; i < 2; i++) {
        size_t n = log_of(c, ids[i], &rows);
        assert_int_equal(n, MESSAGES / 2);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(rows[k].state, STORE_DELIVERY_DELIVERED);
            assert_int_equal(rows[k].n_attempts, 1);
        }
    }
}

/* ---- channels ---- */

static void
test_channels(void **state)
{
    struct contract *c = *state;
    int64_t id = add_channel(c, c->project), until = 0;
    struct store_channel *list;
    struct store_delivery_row *rows;
    size_t n = 0;
    assert_fails(c, FZ_E_NOT_FOUND, store_channel_delete(c->store, c->other, id, &c->err));
    assert_ok(c, store_channel_rotate(c->store, c->project, id, "whsec_b", &until, &c->err));
    struct store_channel channel = channel_of(c, id);
    assert_string_equal(channel.secret, "whsec_b");
    assert_string_equal(channel.old_secret, "whsec_a");
    assert_int_equal(channel.old_until_ms, until);
    assert_true(raise_event(c, c->project, NULL));
    dispatch(c, id, false);
    assert_int_equal(log_of(c, id, &rows), 1);
    assert_ok(c, store_channel_delete(c->store, c->project, id, &c->err));
    assert_ok(c, store_channel_list(c->store, c->project, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 0);
    for (int i = 0; i < STORE_CHANNELS_MAX; i++)
        add_channel(c, c->project);
    assert_fails(c, FZ_E_LIMIT, store_channel_add(c->store, &channel, &id, &c->err));
}

/* What ended long ago is deleted in portions; what did not end, or not long ago, stays. */
static void
test_sweep(void **state)
{
    static const char twice[] = "INSERT INTO deliveries (channel_id, event_id, state, due_ms, "
                                "created_ms) SELECT channel_id, event_id, 3, 0, 0 FROM deliveries";
    struct contract *c = *state;
    int64_t id = add_channel(c, c->project);
    struct store_delivery_row *rows;
    bool is_more = false;
    assert_true(raise_event(c, c->project, NULL));
    dispatch(c, id, false);
    for (int i = 0; i < 9; i++)
        contract_sql(c, twice, twice); /* 511 that ended in 1970, and one that waits */
    assert_ok(c, store_outbox_sweep(c->store, &is_more, &c->err));
    assert_true(is_more);
    assert_ok(c, store_outbox_sweep(c->store, &is_more, &c->err));
    assert_false(is_more);
    assert_int_equal(log_of(c, id, &rows), 1);
    assert_int_equal(rows[0].state, STORE_DELIVERY_WAITING);
}

static void
test_pages(void **state)
{
    struct contract *c = *state;
    int64_t id = add_channel(c, c->project), last = INT64_MAX;
    struct store_delivery_row *rows;
    struct store_page page = {.limit = 3};
    size_t n = 0;
    for (int i = 0; i < 7; i++)
        assert_true(raise_event(c, c->project, NULL));
    dispatch(c, id, false);
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
        contract_test(test_failure_pauses_and_disables),
        contract_test(test_digest),
        contract_test(test_senders),
        contract_test(test_channels),
        contract_test(test_sweep),
        contract_test(test_pages),
        contract_test(test_duties),
        contract_test(test_rules),
    };
    return cmocka_run_group_tests_name("outbox", tests, NULL, NULL);
}
