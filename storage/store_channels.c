#include "storage/store_channels.h"

#include <stdio.h>

#include "storage/store_private.h"

#define SELECT_CHANNELS                                                                     \
    "SELECT id, project_id, name, kind, target, secret, old_secret, old_until_ms, filter, " \
    "events, per_hour, digest_s, created_ms, is_enabled, why_disabled, free_at_ms, "        \
    "held_since_ms, from_ms, n_failed, failing_ms, delivered_ms FROM channels"

static void
read_channel(struct sql_rows *rows, struct fz_arena *arena, struct store_channel *ret)
{
    *ret = (struct store_channel){
        .id = sql_col_int(rows, 0),
        .project_id = sql_col_int(rows, 1),
        .name = sql_col_text(rows, 2, arena),
        .kind = sql_col_text(rows, 3, arena),
        .target = sql_col_text(rows, 4, arena),
        .secret = sql_col_some_text(rows, 5, arena),
        .old_secret = sql_col_some_text(rows, 6, arena),
        .old_until_ms = sql_col_int(rows, 7),
        .filter = sql_col_text(rows, 8, arena),
        .events = (unsigned)sql_col_int(rows, 9),
        .per_hour = (unsigned)sql_col_int(rows, 10),
        .digest_s = (unsigned)sql_col_int(rows, 11),
        .created_ms = sql_col_int(rows, 12),
        .is_enabled = sql_col_int(rows, 13) != 0,
        .why_disabled = sql_col_some_text(rows, 14, arena),
        .free_at_ms = sql_col_int(rows, 15),
        .held_since_ms = sql_col_int(rows, 16),
        .from_ms = sql_col_int(rows, 17),
        .n_failed = (uint64_t)sql_col_int(rows, 18),
        .failing_ms = sql_col_int(rows, 19),
        .delivered_ms = sql_col_int(rows, 20),
    };
}

static enum fz_code
not_found(int64_t id, struct fz_error *err)
{
    return fz_fail(err, FZ_E_NOT_FOUND, "there is no channel %lld", (long long)id);
}

enum fz_code
store_channel_list(struct store *store, int64_t project_id, struct fz_arena *arena,
                   struct store_channel **ret, size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_channel)};
    enum fz_code code =
        project_id ? sql_query(store->sql, SELECT_CHANNELS " WHERE project_id = $1 ORDER BY id",
                               args, 1, &rows, err)
                   : sql_query(store->sql, SELECT_CHANNELS " WHERE is_enabled = 1 ORDER BY id",
                               NULL, 0, &rows, err);
    for (struct store_channel *one; (one = sql_list_next(&rows, &list, &code, err));)
        read_channel(&rows, arena, one);
    return sql_list_done(&list, code, ret, ret_n);
}

enum fz_code
store_channel_get(struct store *store, int64_t project_id, int64_t id, struct fz_arena *arena,
                  struct store_channel *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id), sql_int(project_id)};
    struct store_channel channel = {.id = 0};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(store->sql, SELECT_CHANNELS " WHERE id = $1 AND project_id = $2",
                                  args, FZ_ARRAY_LEN(args), &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code == FZ_OK && !row)
        return not_found(id, err);
    if (code != FZ_OK)
        return code;
    read_channel(&rows, arena, &channel);
    code = sql_next(&rows, &row, err); /* fails if there was no room for a text */
    if (code == FZ_OK)
        *ret = channel;
    return code;
}

enum fz_code
store_channel_add(struct store *store, const struct store_channel *channel, int64_t *ret_id,
                  struct fz_error *err)
{
    int64_t now = 0, n = 0;
    const struct sql_value project[] = {sql_int(channel->project_id)};
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    if (code == FZ_OK)
        code = sql_number(tx, "SELECT count(*) FROM channels WHERE project_id = $1", project, 1, &n,
                          NULL, err);
    if (code == FZ_OK && n >= STORE_CHANNELS_MAX)
        return fz_fail(err, FZ_E_LIMIT,
                       "the project has %d channels, which is the most it can have; delete one",
                       (int)STORE_CHANNELS_MAX);
    const struct sql_value args[] = {sql_int(channel->project_id), sql_text(channel->name),
                                     sql_text(channel->kind),      sql_text(channel->target),
                                     sql_text(channel->secret),    sql_text(channel->filter),
                                     sql_int(channel->events),     sql_int(channel->per_hour),
                                     sql_int(channel->digest_s),   sql_int(now)};
    if (code == FZ_OK)
        code = sql_number(tx,
                          "INSERT INTO channels (project_id, name, kind, target, secret, filter, "
                          "events, per_hour, digest_s, created_ms) VALUES ($1, $2, $3, $4, $5, $6, "
                          "$7, $8, $9, $10) RETURNING id",
                          args, FZ_ARRAY_LEN(args), &n, NULL, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_OK)
        *ret_id = n;
    return code;
}

/* What was to be sent waits while the channel is disabled. */
static enum fz_code
pause(struct sql *tx, const struct store_channel *channel, int64_t now, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(channel->id), sql_int(now)};
    return channel->is_enabled
               ? sql_exec(tx,
                          "UPDATE deliveries SET state = 0, due_ms = $2 WHERE channel_id = $1 AND "
                          "state = 6",
                          args, 2, NULL, err)
               : sql_exec(tx, "UPDATE deliveries SET state = 6 WHERE channel_id = $1 AND state = 0",
                          args, 1, NULL, err);
}

enum fz_code
store_channel_change(struct store *store, const struct store_channel *channel, bool sets_enabled,
                     struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(channel->id),         sql_int(channel->project_id),
                                     sql_text(channel->name),      sql_text(channel->target),
                                     sql_text(channel->filter),    sql_int(channel->events),
                                     sql_int(channel->per_hour),   sql_int(channel->digest_s),
                                     sql_int(channel->is_enabled), sql_int(sets_enabled)};
    int64_t now = 0;
    uint64_t n = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    if (code == FZ_OK)
        code = sql_exec(
            tx,
            "UPDATE channels SET name = $3, target = $4, filter = $5, events = $6, per_hour = $7, "
            "digest_s = $8, from_ms = CASE WHEN $9 * $10 = 1 THEN 0 ELSE from_ms END, "
            "n_failed = CASE WHEN $9 * $10 = 1 THEN 0 ELSE n_failed END, "
            "failing_ms = CASE WHEN $9 * $10 = 1 THEN 0 ELSE failing_ms END, "
            "why_disabled = CASE WHEN $10 = 0 OR is_enabled = $9 THEN why_disabled ELSE NULL END, "
            "is_enabled = CASE WHEN $10 = 0 THEN is_enabled ELSE $9 END WHERE id = $1 AND "
            "project_id = $2",
            args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n == 0)
        return not_found(channel->id, err);
    if (code == FZ_OK && sets_enabled)
        code = pause(tx, channel, now, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_channel_rotate(struct store *store, int64_t project_id, int64_t id, const char *secret,
                     int64_t *ret_until_ms, struct fz_error *err)
{
    int64_t now = 0;
    uint64_t n = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    const struct sql_value args[] = {sql_int(id), sql_int(project_id), sql_text(secret),
                                     sql_int(now + STORE_SECRET_OVERLAP_MS)};
    if (code == FZ_OK)
        code = sql_exec(store->sql,
                        "UPDATE channels SET old_secret = secret, old_until_ms = $4, secret = $3 "
                        "WHERE id = $1 AND project_id = $2",
                        args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK && n == 0)
        return not_found(id, err);
    if (code == FZ_OK)
        *ret_until_ms = now + STORE_SECRET_OVERLAP_MS;
    return code;
}

enum fz_code
store_channel_delete(struct store *store, int64_t project_id, int64_t id, struct fz_error *err)
{
    static const char *const steps[] = {
        "DELETE FROM delivery_attempts WHERE delivery_id IN (SELECT id FROM deliveries WHERE "
        "channel_id = $1)",
        "DELETE FROM deliveries WHERE channel_id = $1",
    };
    const struct sql_value args[] = {sql_int(id), sql_int(project_id)};
    char lock[128];
    bool found = false;
    uint64_t n = 0;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    /* The channel first: whoever adds a delivery to it waits, and then does not find it. */
    snprintf(lock, sizeof(lock), "SELECT 1 FROM channels WHERE id = $1 AND project_id = $2%s",
             store->sql->driver->for_update);
    if (code == FZ_OK)
        code = sql_number(tx, lock, args, FZ_ARRAY_LEN(args), NULL, &found, err);
    if (code == FZ_OK && !found)
        return not_found(id, err);
    for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(steps); i++)
        code = sql_exec(tx, steps[i], args, 1, NULL, err);
    if (code == FZ_OK)
        code = sql_exec(tx, "DELETE FROM channels WHERE id = $1", args, 1, &n, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}
