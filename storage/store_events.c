#include "storage/store_event.h"

#include <stdio.h>

#include "base/random.h"
#include "base/text.h"

enum { VERSION_MAX = 300, DETAIL_MAX = 500, MARK_MAX = 600, BODY_MAX = 64 * 1024, RANDOM = 16 };

/* ---- in ---- */

/* Unique without a sequence, since receivers of several servers may have it in one table. */
static void
make_message(char ret[STORE_MESSAGE_TEXT])
{
    uint8_t bytes[RANDOM];
    char hex[2 * RANDOM + 1];
    fz_random(bytes, sizeof(bytes));
    fz_text_hex(fz_span_make(bytes, sizeof(bytes)), hex);
    snprintf(ret, STORE_MESSAGE_TEXT, "msg_%s", hex);
}

static struct sql_value
or_null(int64_t number)
{
    struct sql_value value = sql_int(number);
    value.is_null = number == 0;
    return value;
}

static enum fz_code
insert_event(struct sql *tx, const struct store_event *event, const char *message, int64_t *ret_id,
             struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(2 * BODY_MAX);
    int64_t now = 0;
    enum fz_code code = sql_now(tx, &now, err);
    const struct sql_value args[] = {sql_int(event->project_id),
                                     sql_int(event->kind),
                                     sql_text(message),
                                     sql_int(now),
                                     sql_int(event->due_ms),
                                     or_null(event->issue_id),
                                     or_null(event->channel_id),
                                     sql_text_clean(&arena, event->version, VERSION_MAX),
                                     sql_text_clean(&arena, event->detail, DETAIL_MAX),
                                     sql_text(event->body)};
    return code == FZ_OK
               ? sql_number(tx,
                            "INSERT INTO events (project_id, kind, message, at_ms, due_ms, "
                            "issue_id, channel_id, version, detail, body) VALUES ($1, $2, $3, $4, "
                            "$5, $6, $7, $8, $9, $10) RETURNING id",
                            args, FZ_ARRAY_LEN(args), ret_id, NULL, err)
               : code;
}

static enum fz_code
set_mark(struct sql *tx, int64_t project_id, const char *mark, bool *ret_is_new,
         struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(2 * BODY_MAX);
    int64_t now = 0;
    uint64_t n = 0;
    enum fz_code code = sql_now(tx, &now, err);
    const struct sql_value args[] = {sql_int(project_id), sql_text_clean(&arena, mark, MARK_MAX),
                                     sql_int(now)};
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "INSERT INTO event_marks (project_id, mark, at_ms) VALUES ($1, $2, $3) ON "
                        "CONFLICT (project_id, mark) DO NOTHING",
                        args, FZ_ARRAY_LEN(args), &n, err);
    *ret_is_new = *ret_is_new || n > 0;
    return code;
}

static enum fz_code
add_event(struct sql *tx, const struct store_event *event, bool *ret_is_new, struct fz_error *err)
{
    const struct sql_value project[] = {sql_int(event->project_id)};
    char message[STORE_MESSAGE_TEXT];
    int64_t id = 0;
    bool is_new = false;
    /* Most projects have none, and then nothing is written. */
    enum fz_code code =
        sql_number(tx, "SELECT 1 FROM channels WHERE project_id = $1 AND is_enabled = 1 LIMIT 1",
                   project, 1, NULL, &is_new, err);
    bool has_channel = is_new;
    is_new = is_new && event->n_marks == 0;
    for (size_t i = 0; code == FZ_OK && has_channel && i < event->n_marks; i++)
        code = set_mark(tx, event->project_id, event->marks[i], &is_new, err);
    *ret_is_new = is_new;
    if (code != FZ_OK || !is_new)
        return code;
    make_message(message);
    return insert_event(tx, event, message, &id, err);
}

enum fz_code
store_event_add(struct sql *tx, const struct store_event *event, struct fz_error *err)
{
    bool is_new;
    return add_event(tx, event, &is_new, err);
}

enum fz_code
store_event_named(struct sql *tx, int64_t issue_id, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(issue_id)};
    return sql_exec(tx,
                    "UPDATE events SET due_ms = 0 WHERE issue_id = $1 AND is_done = 0 AND kind = 0",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

enum fz_code
store_event_raise(struct store *store, const struct store_event *event, bool *ret_is_new,
                  struct fz_error *err)
{
    bool is_new = false;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = add_event(tx, event, &is_new, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_OK)
        *ret_is_new = is_new;
    return code;
}

enum fz_code
store_event_is_marked(struct store *store, int64_t project_id, const char *mark, bool *ret,
                      struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(2 * BODY_MAX);
    const struct sql_value args[] = {sql_int(project_id), sql_text_clean(&arena, mark, MARK_MAX)};
    return sql_number(store->sql, "SELECT 1 FROM event_marks WHERE project_id = $1 AND mark = $2",
                      args, FZ_ARRAY_LEN(args), NULL, ret, err);
}

/* ---- due ---- */

enum fz_code
store_outbox_look(struct store *store, struct store_outbox_work *ret, struct fz_error *err)
{
    int64_t now = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    const struct sql_value args[] = {sql_int(now)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    if (code == FZ_OK)
        code = sql_query(
            store->sql,
            "SELECT CASE WHEN EXISTS (SELECT 1 FROM events WHERE is_done = 0 AND due_ms <= $1) "
            "THEN 1 ELSE 0 END, CASE WHEN EXISTS (SELECT 1 FROM deliveries WHERE state < 2 AND "
            "due_ms <= $1) THEN 1 ELSE 0 END, CASE WHEN EXISTS (SELECT 1 FROM channels WHERE "
            "is_enabled = 1 AND held_since_ms > 0 AND (held_since_ms + digest_s * 1000 <= $1 OR "
            "held_since_ms > $1)) THEN 1 ELSE 0 END, CASE WHEN EXISTS (SELECT 1 FROM channels "
            "WHERE "
            "is_enabled = 1) THEN 1 ELSE 0 END",
            args, FZ_ARRAY_LEN(args), &rows, err);
    if (sql_row(&rows, &code, err))
        *ret = (struct store_outbox_work){sql_col_int(&rows, 0) != 0, sql_col_int(&rows, 1) != 0,
                                          sql_col_int(&rows, 2) != 0, sql_col_int(&rows, 3) != 0};
    return code;
}

enum fz_code
store_event_list_due(struct store *store, size_t max, struct fz_arena *arena,
                     struct store_event_due **ret, size_t *ret_n, struct fz_error *err)
{
    int64_t now = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    const struct sql_value args[] = {sql_int(now), sql_int((int64_t)max)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_event_due)};
    if (code == FZ_OK)
        code = sql_query(store->sql,
                         "SELECT e.id, e.at_ms, e.issue_id, e.channel_id, e.project_id, e.kind, "
                         "e.version, e.detail, e.body, e.message, p.name FROM events e JOIN "
                         "projects p ON p.id = e.project_id WHERE e.is_done = 0 AND e.due_ms <= $1 "
                         "ORDER BY e.due_ms, e.id LIMIT $2",
                         args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_event_due *one; (one = sql_list_next(&rows, &list, &code, err));)
        *one =
            (struct store_event_due){.id = sql_col_int(&rows, 0),
                                     .at_ms = sql_col_int(&rows, 1),
                                     .issue_id = sql_col_int(&rows, 2),
                                     .channel_id = sql_col_int(&rows, 3),
                                     .event = {.project_id = sql_col_int(&rows, 4),
                                               .kind = (enum store_event_kind)sql_col_int(&rows, 5),
                                               .version = sql_col_text(&rows, 6, arena),
                                               .detail = sql_col_text(&rows, 7, arena),
                                               .body = sql_col_text(&rows, 8, arena)},
                                     .message = sql_col_text(&rows, 9, arena),
                                     .project = sql_col_text(&rows, 10, arena)};
    return sql_list_done(&list, code, ret, ret_n);
}

/* ---- out ---- */

/* *ret = false: the channel was deleted or disabled meanwhile. */
static enum fz_code
take_channel(struct sql *tx, const struct store_event_target *target, bool *ret,
             struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(target->channel_id), sql_int(target->free_at_ms),
                                     sql_int(target->held_since_ms)};
    uint64_t n = 0;
    enum fz_code code = sql_exec(tx,
                                 "UPDATE channels SET free_at_ms = $2, held_since_ms = $3 WHERE id "
                                 "= $1 AND is_enabled = 1",
                                 args, FZ_ARRAY_LEN(args), &n, err);
    *ret = n > 0;
    return code;
}

enum fz_code
store_event_dispatch(struct store *store, int64_t event_id, const char *body,
                     const struct store_event_target *targets, size_t n, struct fz_error *err)
{
    int64_t now = 0;
    uint64_t n_changed = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    const struct sql_value event[] = {sql_int(event_id), sql_text(body)};
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "UPDATE events SET is_done = 1, body = coalesce($2, body) WHERE id = $1 "
                        "AND is_done = 0",
                        event, FZ_ARRAY_LEN(event), &n_changed, err);
    for (size_t i = 0; code == FZ_OK && n_changed && body && i < n; i++) {
        bool is_there = false;
        const struct sql_value args[] = {
            sql_int(targets[i].channel_id), sql_int(event_id),
            sql_int(targets[i].is_held ? STORE_DELIVERY_HELD : STORE_DELIVERY_WAITING),
            sql_int(now)};
        code = take_channel(tx, &targets[i], &is_there, err);
        if (code == FZ_OK && is_there)
            code = sql_exec(tx,
                            "INSERT INTO deliveries (channel_id, event_id, state, due_ms, "
                            "created_ms) VALUES ($1, $2, $3, $4, $4)",
                            args, FZ_ARRAY_LEN(args), NULL, err);
    }
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

/* ---- digests ---- */

static enum fz_code
count_held(struct store *store, const struct sql_value *channel, struct store_held_list *ret,
           struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        store->sql,
        "SELECT e.kind, count(*), min(d.created_ms), max(d.id) FROM deliveries d JOIN events e ON "
        "e.id = d.event_id WHERE d.channel_id = $1 AND d.state = 2 GROUP BY e.kind",
        channel, 1, &rows, err);
    while (sql_row(&rows, &code, err)) {
        int64_t kind = sql_col_int(&rows, 0), first_ms = sql_col_int(&rows, 2),
                last_id = sql_col_int(&rows, 3);
        uint64_t n = (uint64_t)sql_col_int(&rows, 1);
        ret->n += n;
        if (kind >= 0 && kind < STORE_EVENT_KINDS)
            ret->n_by_kind[kind] = n;
        if (!ret->first_ms || first_ms < ret->first_ms)
            ret->first_ms = first_ms;
        if (last_id > ret->last_id)
            ret->last_id = last_id;
    }
    return code;
}

enum fz_code
store_held_get(struct store *store, int64_t channel_id, size_t max, struct fz_arena *arena,
               struct store_held_list *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(channel_id), sql_int((int64_t)max)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_held)};
    struct store_held_list held = {.n = 0};
    enum fz_code code = count_held(store, args, &held, err);
    if (code == FZ_OK)
        code = sql_query(store->sql,
                         "SELECT e.kind, e.at_ms, e.body FROM deliveries d JOIN events e ON e.id = "
                         "d.event_id WHERE d.channel_id = $1 AND d.state = 2 ORDER BY CASE e.kind "
                         "WHEN 0 THEN 1 ELSE 0 END, d.id DESC LIMIT $2",
                         args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_held *one; (one = sql_list_next(&rows, &list, &code, err));)
        *one = (struct store_held){(enum store_event_kind)sql_col_int(&rows, 0),
                                   sql_col_int(&rows, 1), sql_col_text(&rows, 2, arena)};
    code = sql_list_done(&list, code, &held.shown, &held.n_shown);
    if (code == FZ_OK)
        *ret = held;
    return code;
}

enum fz_code
store_digest_add(struct store *store, const struct store_channel *channel, int64_t last_id,
                 const char *body, struct fz_error *err)
{
    const struct store_event event = {.project_id = channel->project_id,
                                      .kind = STORE_EVENT_DIGEST,
                                      .channel_id = channel->id,
                                      .body = body};
    char message[STORE_MESSAGE_TEXT];
    int64_t now = 0, event_id = 0;
    uint64_t n = 0;
    make_message(message);
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    const struct sql_value held[] = {sql_int(channel->id), sql_int(last_id), sql_int(now)};
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "UPDATE deliveries SET state = 5, ended_ms = $3 WHERE channel_id = $1 AND "
                        "state = 2 AND id <= $2",
                        held, FZ_ARRAY_LEN(held), &n, err);
    if (code == FZ_OK)
        code =
            sql_exec(tx, "UPDATE channels SET held_since_ms = 0 WHERE id = $1", held, 1, NULL, err);
    if (code == FZ_OK && n)
        code = insert_event(tx, &event, message, &event_id, err);
    const struct sql_value args[] = {sql_int(channel->id), sql_int(event_id), sql_int(now)};
    if (code == FZ_OK && n)
        code = sql_exec(tx, "UPDATE events SET is_done = 1 WHERE id = $1", &args[1], 1, NULL, err);
    if (code == FZ_OK && n)
        code = sql_exec(tx,
                        "INSERT INTO deliveries (channel_id, event_id, state, due_ms, created_ms) "
                        "VALUES ($1, $2, 0, $3, $3)",
                        args, FZ_ARRAY_LEN(args), NULL, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}
