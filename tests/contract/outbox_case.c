#include "outbox_case.h"

#include "base/time.h"

enum { ALL = 0xff };

int64_t
outbox_channel(struct contract *c, int64_t project)
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

struct store_channel
outbox_channel_of(struct contract *c, int64_t id)
{
    struct store_channel channel;
    assert_ok(c, store_channel_get(c->store, c->project, id, &c->arena, &channel, &c->err));
    return channel;
}

bool
outbox_raise_kind(struct contract *c, int64_t project, enum store_event_kind kind, const char *mark)
{
    const struct store_event event = {
        .project_id = project, .kind = kind, .body = "{}", .marks = &mark, .n_marks = mark ? 1 : 0};
    bool is_new = false;
    assert_ok(c, store_event_raise(c->store, &event, &is_new, &c->err));
    return is_new;
}

bool
outbox_raise(struct contract *c, int64_t project, const char *mark)
{
    return outbox_raise_kind(c, project, STORE_EVENT_INGEST_LIMITED, mark);
}

size_t
outbox_due(struct contract *c, struct store_event_due **ret)
{
    size_t n = 0;
    assert_ok(c, store_event_list_due(c->store, 100, &c->arena, ret, &n, &c->err));
    return n;
}

/* Give every event that is due to the channel. */
void
outbox_dispatch(struct contract *c, int64_t channel_id, bool is_held)
{
    const struct store_event_target target = {.channel_id = channel_id,
                                              .is_held = is_held,
                                              .held_since_ms = is_held ? fz_time_now_ms() : 0};
    struct store_event_due *list;
    size_t n = outbox_due(c, &list);
    for (size_t i = 0; i < n; i++)
        assert_ok(c, store_event_dispatch(c->store, list[i].id,
                                          list[i].event.body ? list[i].event.body : "{}", &target,
                                          1, &c->err));
}

bool
outbox_claim(struct contract *c, struct store *store, struct store_delivery *ret)
{
    bool found = false;
    assert_ok(c, store_delivery_claim(store, 60000, &c->arena, ret, &found, &c->err));
    return found;
}

struct store_delivery_end
outbox_end(enum store_delivery_state state)
{
    return (struct store_delivery_end){
        .attempt = {.result = "answered", .status = 200, .error = "", .answer = "ok"},
        .state = state};
}

size_t
outbox_log(struct contract *c, int64_t channel_id, struct store_delivery_row **ret)
{
    struct store_page page = {.limit = 100};
    assert_ok(
        c, store_delivery_list(c->store, c->project, channel_id, &page, &c->arena, ret, &c->err));
    return page.n;
}
