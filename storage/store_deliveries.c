/*
 * Deliveries: claimed under a lease, ended with what the receiver said.
 *
 * due_ms of a lease is its end, and the fence grows with each claim, so a sender that was thought
 * dead cannot end what another one has. Times are the database's calendar: a clock that was set back
 * makes a lease or a pause longer by as much, at most.
 */
#include "storage/store_event.h"

#include <stdio.h>

enum { ERROR_MAX = 500, ANSWER_MAX = 2048, ROW_MEMORY = 16 * 1024, ATTEMPTS_SHOWN = 50 };

const char *
store_delivery_state_name(enum store_delivery_state state)
{
    static const char *const names[STORE_DELIVERY_STATES] = {
        [STORE_DELIVERY_WAITING] = "waiting", [STORE_DELIVERY_LEASED] = "sending",
        [STORE_DELIVERY_HELD] = "held",       [STORE_DELIVERY_DELIVERED] = "delivered",
        [STORE_DELIVERY_FAILED] = "failed",   [STORE_DELIVERY_DIGESTED] = "digested",
        [STORE_DELIVERY_PAUSED] = "paused"};
    return names[state];
}

/* ---- claim ---- */

/* The next one: of each channel, one at a time. */
static enum fz_code
choose(struct store *store, int64_t now, int64_t *ret_id, bool *ret_found, struct fz_error *err)
{
    char text[600];
    /* Both rows are locked: two workers cannot take two deliveries of one channel. */
    snprintf(text, sizeof(text),
             "SELECT d.id FROM deliveries d JOIN channels c ON c.id = d.channel_id WHERE d.state < "
             "2 AND d.due_ms <= $1 AND c.is_enabled = 1 AND c.from_ms <= $1 AND NOT EXISTS (SELECT "
             "1 FROM deliveries l WHERE l.channel_id = d.channel_id AND l.state = 1 AND l.due_ms > "
             "$1) ORDER BY d.due_ms, d.id LIMIT 1%s",
             store->sql->driver->skip_locked);
    const struct sql_value args[] = {sql_int(now)};
    return sql_number(store->sql, text, args, FZ_ARRAY_LEN(args), ret_id, ret_found, err);
}

static enum fz_code
lease(struct sql *tx, int64_t id, int64_t until_ms, struct fz_arena *arena,
      struct store_delivery *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id), sql_int(until_ms)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    int64_t fence = 0;
    bool row = false;
    enum fz_code code =
        sql_number(tx,
                   "UPDATE deliveries SET state = 1, due_ms = $2, fence = fence + 1 WHERE id = $1 "
                   "RETURNING fence",
                   args, FZ_ARRAY_LEN(args), &fence, NULL, err);
    if (code == FZ_OK)
        code = sql_query(tx,
                         "SELECT d.event_id, d.n_attempts, d.n_before, e.kind, e.message, e.body, "
                         "d.channel_id, e.project_id FROM deliveries d JOIN events e ON e.id = "
                         "d.event_id WHERE d.id = $1",
                         args, 1, &rows, err);
    if (!sql_row(&rows, &code, err))
        return code;
    *ret = (struct store_delivery){
        .id = id,
        .fence = fence,
        .event_id = sql_col_int(&rows, 0),
        .n_attempts = (unsigned)sql_col_int(&rows, 1),
        .n_tried = (unsigned)(sql_col_int(&rows, 1) - sql_col_int(&rows, 2)),
        .kind = (enum store_event_kind)sql_col_int(&rows, 3),
        .message = sql_col_text(&rows, 4, arena),
        .body = sql_col_text(&rows, 5, arena),
        .channel = {.id = sql_col_int(&rows, 6), .project_id = sql_col_int(&rows, 7)}};
    return sql_next(&rows, &row, err); /* fails if there was no room for a text */
}

enum fz_code
store_delivery_claim(struct store *store, int64_t lease_ms, struct fz_arena *arena,
                     struct store_delivery *ret, bool *ret_found, struct fz_error *err)
{
    struct store_delivery delivery = {.id = 0};
    int64_t now = 0, id = 0;
    bool found = false;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    if (code == FZ_OK)
        code = choose(store, now, &id, &found, err);
    if (code == FZ_OK && found)
        code = lease(tx, id, now + lease_ms, arena, &delivery, err);
    if (code == FZ_OK && found)
        code = store_channel_get(store, delivery.channel.project_id, delivery.channel.id, arena,
                                 &delivery.channel, err);
    if (code == FZ_OK && found)
        code = sql_commit(&tx, err);
    if (code != FZ_OK)
        return code;
    *ret_found = found;
    if (found)
        *ret = delivery;
    return FZ_OK;
}

/* ---- end ---- */

static enum fz_code
not_ours(const struct store_delivery *delivery, struct fz_error *err)
{
    return fz_fail(err, FZ_E_CONFLICT, "delivery %lld is no longer this worker's",
                   (long long)delivery->id);
}

static enum fz_code
log_attempt(struct sql *tx, const struct store_delivery *delivery,
            const struct store_attempt *attempt, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(ROW_MEMORY);
    const struct sql_value args[] = {sql_int(delivery->id),
                                     sql_int((int64_t)delivery->n_attempts + 1),
                                     sql_int(attempt->at_ms),
                                     sql_int(attempt->took_ms),
                                     sql_text(attempt->result),
                                     sql_int(attempt->status),
                                     sql_text_clean(&arena, attempt->error, ERROR_MAX),
                                     sql_text_clean(&arena, attempt->answer, ANSWER_MAX)};
    return sql_exec(tx,
                    "INSERT INTO delivery_attempts (delivery_id, n, at_ms, took_ms, result, "
                    "status, error, answer) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

/* Unless someone has changed the target or enabled the channel since the attempt began, or another attempt succeeded. */
static enum fz_code
disable(struct sql *tx, const struct store_delivery *delivery, const char *why, bool *ret,
        struct fz_error *err)
{
    const struct store_channel *seen = &delivery->channel;
    const struct sql_value args[] = {sql_int(seen->id), sql_text(why), sql_text(seen->target),
                                     sql_int(seen->failing_ms)};
    uint64_t n = 0;
    enum fz_code code = sql_exec(tx,
                                 "UPDATE channels SET is_enabled = 0, why_disabled = $2 WHERE id = "
                                 "$1 AND is_enabled = 1 AND target = $3 AND (failing_ms = $4 OR "
                                 "$4 = 0)",
                                 args, FZ_ARRAY_LEN(args), &n, err);
    *ret = n > 0;
    /* Sent once the channel is enabled again. */
    return code == FZ_OK && n
               ? sql_exec(tx, "UPDATE deliveries SET state = 6 WHERE channel_id = $1 AND state = 0",
                          args, 1, NULL, err)
               : code;
}

/* *ret_disabled: end->disable has done so. */
static enum fz_code
end_channel(struct sql *tx, const struct store_delivery *delivery,
            const struct store_delivery_end *end, int64_t now, bool *ret_disabled,
            struct fz_error *err)
{
    bool is_good = end->state == STORE_DELIVERY_DELIVERED;
    const struct sql_value args[] = {sql_int(delivery->channel.id), sql_int(now),
                                     sql_int(end->channel_from_ms)};
    enum fz_code code =
        is_good ? sql_exec(tx,
                           "UPDATE channels SET n_failed = 0, failing_ms = 0, from_ms = 0, "
                           "delivered_ms = $2 WHERE id = $1",
                           args, 2, NULL, err)
                : sql_exec(tx,
                           "UPDATE channels SET n_failed = n_failed + 1, failing_ms = CASE "
                           "failing_ms WHEN 0 THEN $2 ELSE failing_ms END, from_ms = $3 WHERE id = "
                           "$1",
                           args, 3, NULL, err);
    *ret_disabled = false;
    return code == FZ_OK && end->disable ? disable(tx, delivery, end->disable, ret_disabled, err)
                                         : code;
}

enum fz_code
store_delivery_finish(struct store *store, const struct store_delivery *delivery,
                      const struct store_delivery_end *end, struct fz_error *err)
{
    int64_t now = 0;
    uint64_t n = 0;
    bool is_disabled = false;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    bool is_over = end->state != STORE_DELIVERY_WAITING;
    const struct sql_value args[] = {sql_int(delivery->id), sql_int(delivery->fence),
                                     sql_int(end->state), sql_int(end->when_ms),
                                     sql_int(is_over ? now : 0)};
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "UPDATE deliveries SET state = $3, due_ms = $4, ended_ms = $5, n_attempts "
                        "= n_attempts + 1 WHERE id = $1 AND fence = $2 AND state = 1",
                        args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n == 0)
        return not_ours(delivery, err);
    if (code == FZ_OK)
        code = log_attempt(tx, delivery, &end->attempt, err);
    if (code == FZ_OK)
        code = end_channel(tx, delivery, end, now, &is_disabled, err);
    /* Otherwise what it reports has not happened. */
    if (code == FZ_OK && end->raised && (!end->disable || is_disabled))
        code = store_event_add(tx, end->raised, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_delivery_release(struct store *store, const struct store_delivery *delivery,
                       struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(delivery->id), sql_int(delivery->fence)};
    uint64_t n = 0;
    enum fz_code code = sql_exec(store->sql,
                                 "UPDATE deliveries SET state = 0, due_ms = 0 WHERE id = $1 AND "
                                 "fence = $2 AND state = 1",
                                 args, FZ_ARRAY_LEN(args), &n, err);
    return code == FZ_OK && n == 0 ? not_ours(delivery, err) : code;
}

/* ---- the log ---- */

static enum fz_code
read_attempts(struct store *store, struct store_delivery_row *row, struct fz_arena *arena,
              struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(row->id), sql_int(ATTEMPTS_SHOWN)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_attempt)};
    enum fz_code code = sql_query(store->sql,
                                  "SELECT n, at_ms, took_ms, result, status, error, answer FROM "
                                  "delivery_attempts WHERE delivery_id = $1 ORDER BY n DESC LIMIT "
                                  "$2",
                                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_attempt *one; (one = sql_list_next(&rows, &list, &code, err));)
        *one =
            (struct store_attempt){(unsigned)sql_col_int(&rows, 0), sql_col_int(&rows, 1),
                                   sql_col_int(&rows, 2),           sql_col_text(&rows, 3, arena),
                                   (int)sql_col_int(&rows, 4),      sql_col_text(&rows, 5, arena),
                                   sql_col_text(&rows, 6, arena)};
    return sql_list_done(&list, code, &row->attempts, &row->n_attempts);
}

static enum fz_code
read_page(struct store *store, const struct sql_value args[3], struct fz_arena *arena,
          struct store_delivery_row **ret, size_t *ret_n, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_delivery_row)};
    enum fz_code code =
        sql_query(store->sql,
                  "SELECT d.id, e.kind, d.state, e.message, e.at_ms, d.due_ms, d.ended_ms FROM "
                  "deliveries d JOIN events e ON e.id = d.event_id WHERE d.channel_id = $1 AND "
                  "d.id < $2 ORDER BY d.id DESC LIMIT $3",
                  args, 3, &rows, err);
    for (struct store_delivery_row *one; (one = sql_list_next(&rows, &list, &code, err));) {
        enum store_delivery_state state = (enum store_delivery_state)sql_col_int(&rows, 2);
        *one = (struct store_delivery_row){
            .id = sql_col_int(&rows, 0),
            .kind = (enum store_event_kind)sql_col_int(&rows, 1),
            .state = state,
            .message = sql_col_text(&rows, 3, arena),
            .at_ms = sql_col_int(&rows, 4),
            .due_ms = state == STORE_DELIVERY_WAITING ? sql_col_int(&rows, 5) : 0,
            .ended_ms = sql_col_int(&rows, 6)};
    }
    return sql_list_done(&list, code, ret, ret_n);
}

enum fz_code
store_delivery_list(struct store *store, int64_t project_id, int64_t channel_id,
                    struct store_page *page, struct fz_arena *arena,
                    struct store_delivery_row **ret, struct fz_error *err)
{
    struct store_channel channel;
    struct store_delivery_row *list = NULL;
    int64_t before = INT64_MAX;
    char none[STORE_ID_TEXT];
    size_t n = 0;
    enum fz_code code = store_channel_get(store, project_id, channel_id, arena, &channel, err);
    if (code == FZ_OK && page->cursor)
        code = store_cursor_parse(page->cursor, arena, &before, none, err);
    const struct sql_value args[3] = {sql_int(channel_id), sql_int(before),
                                      sql_int((int64_t)page->limit + 1)};
    if (code == FZ_OK)
        code = read_page(store, args, arena, &list, &n, err);
    page->n = n < page->limit ? n : page->limit;
    page->next = NULL;
    for (size_t i = 0; code == FZ_OK && i < page->n; i++)
        code = read_attempts(store, &list[i], arena, err);
    /* One more than the page was read, to know whether there is another page. */
    if (code == FZ_OK && n > page->limit) {
        page->next =
            store_cursor_make(arena, list[page->n - 1].id, "00000000000000000000000000000000");
        if (!page->next)
            return fz_arena_fail(arena, err);
    }
    if (code == FZ_OK)
        *ret = list;
    return code;
}

enum fz_code
store_delivery_resend(struct store *store, int64_t project_id, int64_t channel_id, int64_t id,
                      struct fz_error *err)
{
    int64_t now = 0;
    uint64_t n = 0;
    int64_t is_enabled = 0;
    bool found = false;
    enum fz_code code = sql_now(store->sql, &now, err);
    const struct sql_value args[] = {sql_int(id), sql_int(channel_id), sql_int(project_id),
                                     sql_int(now)};
    if (code == FZ_OK)
        code = sql_number(store->sql,
                          "SELECT c.is_enabled FROM deliveries d JOIN channels c ON c.id = "
                          "d.channel_id WHERE d.id = $1 AND c.id = $2 AND c.project_id = $3",
                          args, 3, &is_enabled, &found, err);
    if (code == FZ_OK && !found)
        return fz_fail(err, FZ_E_NOT_FOUND, "the channel has no delivery %lld", (long long)id);
    if (code == FZ_OK && !is_enabled)
        return fz_fail(err, FZ_E_CONFLICT, "the channel is disabled; enable it first");
    const struct sql_value change[] = {args[0], args[3]};
    if (code == FZ_OK)
        code = sql_exec(store->sql,
                        "UPDATE deliveries SET state = 0, due_ms = $2, ended_ms = 0, n_before = "
                        "n_attempts WHERE id = $1 AND state <> 1",
                        change, FZ_ARRAY_LEN(change), &n, err);
    if (code == FZ_OK && n == 0)
        return fz_fail(err, FZ_E_CONFLICT,
                       "delivery %lld is being sent; see its log for how that ends", (long long)id);
    return code;
}
