/*
 * Duties: what one worker does for all.
 *
 * A duty is a row with the time until which someone has it. It is taken for long enough to be done;
 * if its holder is killed, another one takes it when that is over. A clock that was set back makes it
 * free, too: no one takes a duty for longer than DUTY_MAX_MS.
 */
#include "storage/store_event.h"

static const int64_t DUTY_MAX_MS = 60 * 60 * 1000, KEEP_MS = INT64_C(30) * 24 * 3600 * 1000,
                     KEEP_MARKS_MS = INT64_C(400) * 24 * 3600 * 1000;
enum { SWEEP_AT_ONCE = 500 };

enum fz_code
store_duty_take(struct store *store, const char *name, int64_t for_ms, bool *ret,
                struct fz_error *err)
{
    int64_t now = 0;
    uint64_t n = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    const struct sql_value args[] = {sql_text(name), sql_int(now + for_ms), sql_int(now),
                                     sql_int(now + DUTY_MAX_MS)};
    bool is_taken = false;
    /* The look takes no write lock. */
    if (code == FZ_OK)
        code = sql_number(store->sql,
                          "SELECT 1 FROM duties WHERE name = $1 AND until_ms > $2 AND until_ms <= "
                          "$3",
                          (const struct sql_value[]){args[0], args[2], args[3]}, 3, NULL, &is_taken,
                          err);
    if (code == FZ_OK && !is_taken)
        code = sql_exec(store->sql,
                        "INSERT INTO duties (name, until_ms) VALUES ($1, $2) ON CONFLICT (name) DO "
                        "UPDATE SET until_ms = excluded.until_ms WHERE duties.until_ms <= $3 OR "
                        "duties.until_ms > $4",
                        args, FZ_ARRAY_LEN(args), &n, err);
    if (code == FZ_OK)
        *ret = n > 0;
    return code;
}

enum fz_code
store_duty_give_back(struct store *store, const char *name, struct fz_error *err)
{
    const struct sql_value args[] = {sql_text(name)};
    return sql_exec(store->sql, "UPDATE duties SET until_ms = 0 WHERE name = $1", args, 1, NULL,
                    err);
}

enum fz_code
store_duty_keep(struct store *store, const char *name, int64_t for_ms, struct fz_error *err)
{
    int64_t now = 0;
    enum fz_code code = sql_now(store->sql, &now, err);
    const struct sql_value args[] = {sql_text(name), sql_int(now + for_ms)};
    return code == FZ_OK ? sql_exec(store->sql,
                                    "UPDATE duties SET until_ms = $2 WHERE name = $1 AND until_ms "
                                    "> 0",
                                    args, FZ_ARRAY_LEN(args), NULL, err)
                         : code;
}

/* ---- what is old ---- */

enum fz_code
store_outbox_sweep(struct store *store, bool *ret_more, struct fz_error *err)
{
    static const char *const steps[] = {
        "DELETE FROM delivery_attempts WHERE delivery_id IN (SELECT id FROM deliveries WHERE state "
        ">= 3 AND created_ms < $1 ORDER BY id LIMIT $2)",
        "DELETE FROM deliveries WHERE id IN (SELECT id FROM deliveries WHERE state >= 3 AND "
        "created_ms < $1 ORDER BY id LIMIT $2)",
        "DELETE FROM events WHERE id IN (SELECT id FROM events WHERE is_done = 1 AND at_ms < $1 "
        "AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event_id = events.id) ORDER BY id "
        "LIMIT $2)",
    };
    int64_t now = 0;
    bool is_more = false;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    enum fz_code code = sql_begin(store->sql, &tx, err);
    if (code == FZ_OK)
        code = sql_now(tx, &now, err);
    const struct sql_value args[] = {sql_int(now - KEEP_MS), sql_int(SWEEP_AT_ONCE)};
    for (size_t i = 0; code == FZ_OK && i < FZ_ARRAY_LEN(steps); i++) {
        uint64_t n = 0;
        code = sql_exec(tx, steps[i], args, FZ_ARRAY_LEN(args), &n, err);
        is_more = is_more || n >= SWEEP_AT_ONCE;
    }
    const struct sql_value marks[] = {sql_int(now - KEEP_MARKS_MS)};
    if (code == FZ_OK)
        code = sql_exec(tx, "DELETE FROM event_marks WHERE at_ms < $1", marks, 1, NULL, err);
    if (code == FZ_OK)
        code = sql_commit(&tx, err);
    if (code == FZ_OK)
        *ret_more = is_more;
    return code;
}
