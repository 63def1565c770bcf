/*
 * Channels: their secrets and limits, and how failures disable them.
 */
#include "outbox_case.h"

#include "base/time.h"

static void
test_failure_pauses_and_disables(void **state)
{
    struct contract *c = *state;
    int64_t id = outbox_channel(c, c->project), now = fz_time_now_ms();
    struct store_delivery delivery;
    struct store_delivery_row *rows;
    struct store_delivery_end again = outbox_end(STORE_DELIVERY_WAITING);
    again.when_ms = 1;
    again.channel_from_ms = now + 3600 * 1000;
    assert_true(outbox_raise(c, c->project, NULL));
    assert_true(outbox_raise(c, c->project, NULL));
    outbox_dispatch(c, id, false);
    assert_true(outbox_claim(c, c->store, &delivery));
    assert_ok(c, store_delivery_finish(c->store, &delivery, &again, &c->err));
    assert_false(outbox_claim(c, c->store, &delivery));
    struct store_channel channel = outbox_channel_of(c, id);
    assert_int_equal(channel.n_failed, 1);
    assert_true(channel.failing_ms >= now - 60000);
    contract_sql(c, "UPDATE channels SET from_ms = 0", "UPDATE channels SET from_ms = 0");
    assert_true(outbox_claim(c, c->store, &delivery));
    struct store_delivery_end gone = outbox_end(STORE_DELIVERY_FAILED);
    const struct store_event trouble = {.project_id = c->project,
                                        .kind = STORE_EVENT_CHANNEL_FAILING,
                                        .channel_id = id,
                                        .body = "{}"};
    gone.disable = "gone";
    gone.raised = &trouble;
    int64_t other = outbox_channel(c, c->project);
    assert_ok(c, store_delivery_finish(c->store, &delivery, &gone, &c->err));
    channel = outbox_channel_of(c, id);
    assert_false(channel.is_enabled);
    assert_string_equal(channel.why_disabled, "gone");
    struct store_event_due *list;
    assert_int_equal(outbox_due(c, &list), 1);
    assert_int_equal(list[0].channel_id, id);
    outbox_dispatch(c, other, false);
    /* What waits is kept for the time when it is enabled again. */
    assert_int_equal(outbox_log(c, id, &rows), 2);
    assert_true(rows[0].state == STORE_DELIVERY_PAUSED || rows[1].state == STORE_DELIVERY_PAUSED);
    assert_fails(c, FZ_E_CONFLICT,
                 store_delivery_resend(c->store, c->project, id, delivery.id, &c->err));
    channel.is_enabled = true;
    assert_ok(c, store_channel_change(c->store, &channel, true, &c->err));
    assert_int_equal(outbox_channel_of(c, id).n_failed, 0);
    assert_null(outbox_channel_of(c, id).why_disabled);
    assert_ok(c, store_delivery_resend(c->store, c->project, id, delivery.id, &c->err));
    assert_fails(c, FZ_E_NOT_FOUND,
                 store_delivery_resend(c->store, c->other, id, delivery.id, &c->err));
    size_t n = 0;
    while (outbox_claim(c, c->store, &delivery)) {
        const struct store_delivery_end good = outbox_end(STORE_DELIVERY_DELIVERED);
        assert_ok(c, store_delivery_finish(c->store, &delivery, &good, &c->err));
        n++;
    }
    assert_int_equal(n, 3);
}

/* A change of a channel and an attempt that disables it, at the same time: neither takes the other back. */
static void
test_change_and_disable(void **state)
{
    struct contract *c = *state;
    int64_t id = outbox_channel(c, c->project);
    struct store_delivery delivery;
    struct store_delivery_end gone = outbox_end(STORE_DELIVERY_FAILED);
    const struct store_event trouble = {.project_id = c->project,
                                        .kind = STORE_EVENT_CHANNEL_FAILING,
                                        .channel_id = id,
                                        .body = "{}"};
    struct store_event_due *list;
    gone.disable = "gone";
    gone.raised = &trouble;
    int64_t other = outbox_channel(c, c->project);
    /* Read before, written after: the name is new, and the channel stays disabled. */
    struct store_channel channel = outbox_channel_of(c, id);
    assert_true(outbox_raise(c, c->project, NULL));
    outbox_dispatch(c, id, false);
    assert_true(outbox_claim(c, c->store, &delivery));
    assert_ok(c, store_delivery_finish(c->store, &delivery, &gone, &c->err));
    channel.name = "renamed";
    assert_ok(c, store_channel_change(c->store, &channel, false, &c->err));
    assert_string_equal(outbox_channel_of(c, id).name, "renamed");
    assert_false(outbox_channel_of(c, id).is_enabled);
    assert_string_equal(outbox_channel_of(c, id).why_disabled, "gone");
    assert_int_equal(outbox_due(c, &list), 1);
    outbox_dispatch(c, other, false);
    assert_true(outbox_claim(c, c->store, &delivery));
    /* A new target while the attempt is under way: the attempt says nothing of it. */
    assert_ok(c, store_channel_change(c->store, &channel, true, &c->err));
    assert_true(outbox_raise(c, c->project, NULL));
    outbox_dispatch(c, id, false);
    assert_true(outbox_claim(c, c->store, &delivery));
    channel.target = "https://example.com/new";
    assert_ok(c, store_channel_change(c->store, &channel, false, &c->err));
    assert_ok(c, store_delivery_finish(c->store, &delivery, &gone, &c->err));
    assert_true(outbox_channel_of(c, id).is_enabled);
    assert_int_equal(outbox_channel_of(c, id).n_failed, 1);
    assert_int_equal(outbox_due(c, &list), 0);
    /* Nor of a channel that failed before and was enabled since. */
    assert_ok(c, store_delivery_resend(c->store, c->project, id, delivery.id, &c->err));
    assert_true(outbox_claim(c, c->store, &delivery));
    assert_ok(c, store_channel_change(c->store, &channel, true, &c->err));
    assert_ok(c, store_delivery_finish(c->store, &delivery, &gone, &c->err));
    assert_true(outbox_channel_of(c, id).is_enabled);
    assert_int_equal(outbox_due(c, &list), 0);
    assert_ok(c, store_delivery_resend(c->store, c->project, id, delivery.id, &c->err));
    assert_true(outbox_claim(c, c->store, &delivery));
    assert_ok(c, store_delivery_finish(c->store, &delivery, &gone, &c->err));
    assert_false(outbox_channel_of(c, id).is_enabled);
}

static void
test_channels(void **state)
{
    struct contract *c = *state;
    int64_t id = outbox_channel(c, c->project), until = 0;
    struct store_channel *list;
    struct store_delivery_row *rows;
    size_t n = 0;
    assert_fails(c, FZ_E_NOT_FOUND, store_channel_delete(c->store, c->other, id, &c->err));
    assert_ok(c, store_channel_rotate(c->store, c->project, id, "whsec_b", &until, &c->err));
    struct store_channel channel = outbox_channel_of(c, id);
    assert_string_equal(channel.secret, "whsec_b");
    assert_string_equal(channel.old_secret, "whsec_a");
    assert_int_equal(channel.old_until_ms, until);
    assert_true(outbox_raise(c, c->project, NULL));
    outbox_dispatch(c, id, false);
    assert_int_equal(outbox_log(c, id, &rows), 1);
    assert_ok(c, store_channel_delete(c->store, c->project, id, &c->err));
    assert_ok(c, store_channel_list(c->store, c->project, &c->arena, &list, &n, &c->err));
    assert_int_equal(n, 0);
    for (int i = 0; i < STORE_CHANNELS_MAX; i++)
        outbox_channel(c, c->project);
    assert_fails(c, FZ_E_LIMIT, store_channel_add(c->store, &channel, &id, &c->err));
}

int
contract_run_channels(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_failure_pauses_and_disables),
        contract_test(test_change_and_disable),
        contract_test(test_channels),
    };
    return cmocka_run_group_tests_name("channels", tests, NULL, NULL);
}
