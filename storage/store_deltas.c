#include "storage/store_deltas.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "storage/store_version_days.h"

enum { HOUR_MS = 3600 * 1000, DAY_MS = 24 * HOUR_MS };

/* In the order in which tables are written: users first, since an issue's row has their number. */
enum delta_kind {
    DELTA_USER,
    DELTA_VARIANT,
    DELTA_HOUR,
    DELTA_DAY,
    DELTA_VERSION,
    DELTA_VERSION_DAY, /* key[3]: 0 for the row itself, and one for each user, which follow it */
    DELTA_ISSUE        /* last: find_issue() */
};

struct store_delta {
    enum delta_kind kind;
    int64_t key[4]; /* of the row; unused ones are 0 */
    int64_t n;
    int64_t n_users; /* of an issue: filled in from its rows of issue_users */
    /* Of reports that were added; first_ms 0: none were. */
    int64_t first_ms, last_ms;
    int64_t newest,
        gone; /* keys of the newest report that was added, and that was taken away; 0 = none */
    int64_t low_id, high_id; /* the lowest and the highest version among them; 0 = unknown */
    struct fz_span low, high;
};

/* ---- collect ---- */

static struct store_delta *
append(struct store_deltas *deltas, enum delta_kind kind, int64_t n)
{
    struct store_delta *list =
        fz_list_grow_in(deltas->arena, deltas->list, &deltas->room, deltas->n + 1, sizeof(*list));
    if (!list)
        return NULL;
    deltas->list = list;
    list[deltas->n] = (struct store_delta){.kind = kind, .n = n};
    return &list[deltas->n++];
}

static bool
add_days(struct store_deltas *deltas, const struct store_fact *fact, int sign)
{
    for (int term = 1; term < STORE_FACT_TERMS; term++) {
        if (!store_term_kinds[term].is_daily || !fact->terms[term])
            continue;
        struct store_delta *day = append(deltas, DELTA_DAY, sign);
        if (!day)
            return false;
        day->key[0] = fact->variant_id;
        day->key[1] = term;
        day->key[2] = fact->terms[term];
        day->key[3] = fact->received_ms / DAY_MS;
    }
    return true;
}

static bool
add_span(struct store_deltas *deltas, enum delta_kind kind, int64_t id,
         const struct store_fact *fact, int sign)
{
    struct store_delta *total = append(deltas, kind, sign);
    if (!total)
        return false;
    total->key[0] = id;
    /* What is taken away leaves when it was seen: that it was is history. */
    total->gone = sign < 0 ? fact->report_key : 0;
    if (sign < 0)
        return true;
    total->newest = fact->report_key;
    total->first_ms = total->last_ms = fact->received_ms;
    if (fact->version_sort.len) {
        total->low_id = total->high_id = fact->terms[STORE_TERM_VERSION];
        total->low = total->high = fact->version_sort;
    }
    return true;
}

static bool
add_version(struct store_deltas *deltas, const struct store_fact *fact, int sign)
{
    int64_t version_id = fact->terms[STORE_TERM_VERSION], user_id = fact->terms[STORE_TERM_USER];
    const int64_t users[] = {0, user_id};
    if (!version_id)
        return true;
    if (!add_span(deltas, DELTA_VERSION, version_id, fact, sign))
        return false;
    for (size_t i = 0; i < (user_id ? 2u : 1u); i++) {
        struct store_delta *day = append(deltas, DELTA_VERSION_DAY, sign);
        if (!day)
            return false;
        day->key[0] = version_id;
        day->key[1] = fact->terms[STORE_TERM_ENVIRONMENT];
        day->key[2] = fact->received_ms / DAY_MS;
        day->key[3] = users[i];
    }
    return true;
}

enum fz_code
store_deltas_add(struct store_deltas *deltas, const struct store_fact *fact, int sign,
                 struct fz_error *err)
{
    if (!fact->is_counted)
        return FZ_OK;
    bool fits = add_span(deltas, DELTA_ISSUE, fact->issue_id, fact, sign) &&
                add_span(deltas, DELTA_VARIANT, fact->variant_id, fact, sign) &&
                add_days(deltas, fact, sign) && add_version(deltas, fact, sign);
    struct store_delta *hour = fits ? append(deltas, DELTA_HOUR, sign) : NULL;
    if (!hour)
        return fz_arena_fail(deltas->arena, err);
    hour->key[0] = fact->variant_id;
    hour->key[1] = fact->received_ms / HOUR_MS;
    if (!fact->terms[STORE_TERM_USER])
        return FZ_OK;
    struct store_delta *user = append(deltas, DELTA_USER, sign);
    if (!user)
        return fz_arena_fail(deltas->arena, err);
    user->key[0] = fact->issue_id;
    user->key[1] = fact->terms[STORE_TERM_USER];
    return FZ_OK;
}

/* ---- sum ---- */

static int
compare(const void *a, const void *b)
{
    const struct store_delta *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    for (size_t i = 0; i < FZ_ARRAY_LEN(x->key); i++) {
        if (x->key[i] != y->key[i])
            return x->key[i] < y->key[i] ? -1 : 1;
    }
    return 0;
}

static int
compare_sorts(struct fz_span a, struct fz_span b)
{
    int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static void
join(struct store_delta *into, const struct store_delta *from)
{
    into->n += from->n;
    if (from->first_ms && (!into->first_ms || from->first_ms < into->first_ms))
        into->first_ms = from->first_ms;
    if (from->last_ms > into->last_ms)
        into->last_ms = from->last_ms;
    if (from->newest > into->newest)
        into->newest = from->newest;
    if (from->gone > into->gone)
        into->gone = from->gone;
    if (!from->low_id)
        return;
    if (!into->low_id || compare_sorts(from->low, into->low) < 0) {
        into->low = from->low;
        into->low_id = from->low_id;
    }
    if (!into->high_id || compare_sorts(from->high, into->high) > 0) {
        into->high = from->high;
        into->high_id = from->high_id;
    }
}

static void
sum(struct store_deltas *deltas)
{
    if (deltas->n == 0)
        return;
    qsort(deltas->list, deltas->n, sizeof(*deltas->list), compare);
    size_t n = 0;
    for (size_t i = 1; i < deltas->n; i++) {
        if (compare(&deltas->list[n], &deltas->list[i]) == 0)
            join(&deltas->list[n], &deltas->list[i]);
        else
            deltas->list[++n] = deltas->list[i];
    }
    deltas->n = n + 1;
}

/* ---- write ---- */

static struct store_delta *
find_issue(struct store_deltas *deltas, int64_t issue_id)
{
    for (size_t i = deltas->n; i-- > 0 && deltas->list[i].kind == DELTA_ISSUE;) {
        if (deltas->list[i].key[0] == issue_id)
            return &deltas->list[i];
    }
    return NULL;
}

static enum fz_code
write_user(struct store_deltas *deltas, struct sql *tx, const struct store_delta *d,
           struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(d->key[0]), sql_int(d->key[1]), sql_int(d->n)};
    int64_t after = 0;
    enum fz_code code =
        sql_number(tx,
                   "INSERT INTO issue_users (issue_id, user_id, n) VALUES ($1, $2, $3) ON CONFLICT "
                   "(issue_id, user_id) DO UPDATE SET n = issue_users.n + excluded.n RETURNING n",
                   args, FZ_ARRAY_LEN(args), &after, NULL, err);
    if (code == FZ_OK && after <= 0)
        code = sql_exec(tx, "DELETE FROM issue_users WHERE issue_id = $1 AND user_id = $2", args, 2,
                        NULL, err);
    struct store_delta *issue = find_issue(deltas, d->key[0]);
    if (issue)
        issue->n_users += (after > 0) - (after - d->n > 0);
    return code;
}

static enum fz_code
write_variant(struct sql *tx, const struct store_delta *d, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(d->key[0]), sql_int(d->n), sql_int(d->first_ms),
                                     sql_int(d->last_ms)};
    return sql_exec(tx,
                    "UPDATE variants SET n_reports = n_reports + $2, "
                    "first_ms = CASE WHEN $3 > 0 AND $3 < first_ms THEN $3 ELSE first_ms END, "
                    "last_ms = CASE WHEN $4 > last_ms THEN $4 ELSE last_ms END WHERE id = $1",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

static enum fz_code
write_hour(struct sql *tx, const struct store_delta *d, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(d->key[0]), sql_int(d->key[1]), sql_int(d->n)};
    return sql_exec(tx,
                    "INSERT INTO issue_hours (variant_id, hour, n) VALUES ($1, $2, $3) ON CONFLICT "
                    "(variant_id, hour) DO UPDATE SET n = issue_hours.n + excluded.n",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

static enum fz_code
write_day(struct sql *tx, const struct store_delta *d, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(d->key[0]), sql_int(d->key[1]), sql_int(d->key[2]),
                                     sql_int(d->key[3]), sql_int(d->n)};
    return sql_exec(tx,
                    "INSERT INTO issue_days (variant_id, field, term_id, day, n) VALUES ($1, $2, "
                    "$3, $4, $5) ON CONFLICT (variant_id, field, term_id, day) DO UPDATE SET n = "
                    "issue_days.n + excluded.n",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

static struct sql_value
sort_or_null(struct fz_span sort, int64_t id)
{
    struct sql_value value = sql_blob(sort);
    value.is_null = id == 0;
    return value;
}

static enum fz_code
write_issue(struct store_deltas *deltas, struct sql *tx, const struct store_delta *d,
            struct fz_error *err)
{
    int64_t state = 0;
    const struct sql_value args[] = {sql_int(d->key[0]),  sql_int(d->n),
                                     sql_int(d->n_users), sql_int(d->first_ms),
                                     sql_int(d->last_ms), sort_or_null(d->low, d->low_id),
                                     sql_int(d->low_id),  sort_or_null(d->high, d->high_id),
                                     sql_int(d->high_id), sql_int(d->newest),
                                     sql_int(d->gone)};
    enum fz_code code = sql_number(
        tx,
        "UPDATE issues SET n_reports = n_reports + $2, n_users = n_users + $3, "
        "first_ms = CASE WHEN $4 > 0 AND $4 < first_ms THEN $4 ELSE first_ms END, "
        "last_ms = CASE WHEN $5 > last_ms THEN $5 ELSE last_ms END, "
        "first_version = CASE WHEN $6 < coalesce(first_sort, $6) OR (first_sort IS NULL AND $7 > "
        "0) "
        "THEN $7 ELSE first_version END, "
        "first_sort = CASE WHEN $6 < coalesce(first_sort, $6) OR (first_sort IS NULL AND $7 > 0) "
        "THEN $6 ELSE first_sort END, "
        "last_version = CASE WHEN $8 > coalesce(last_sort, $8) OR (last_sort IS NULL AND $9 > 0) "
        "THEN $9 ELSE last_version END, "
        "last_sort = CASE WHEN $8 > coalesce(last_sort, $8) OR (last_sort IS NULL AND $9 > 0) "
        "THEN $8 ELSE last_sort END, "
        "newest_report = CASE WHEN $10 > 0 AND $10 >= coalesce(newest_report, 0) THEN $10 "
        "WHEN $11 = newest_report THEN NULL ELSE newest_report END WHERE id = $1 RETURNING state",
        args, FZ_ARRAY_LEN(args), &state, NULL, err);
    if (code != FZ_OK || state == 0 || !d->first_ms)
        return code;
    int64_t *closed = fz_list_grow_in(deltas->arena, deltas->closed, &deltas->closed_room,
                                      deltas->n_closed + 1, sizeof(*closed));
    if (!closed)
        return fz_arena_fail(deltas->arena, err);
    deltas->closed = closed;
    closed[deltas->n_closed++] = d->key[0];
    return FZ_OK;
}

static enum fz_code
write_version(struct sql *tx, const struct store_delta *d, struct fz_error *err)
{
    const struct store_version_delta delta = {d->key[0], d->n, d->first_ms, d->last_ms};
    return store_version_write(tx, &delta, err);
}

/* The row of a day, with the users that follow it in the list. */
static enum fz_code
write_version_day(struct store_deltas *deltas, struct sql *tx, const struct store_delta *d,
                  struct fz_error *err)
{
    const struct store_delta *end = deltas->list + deltas->n;
    struct store_version_day_delta delta = {
        .version_id = d->key[0], .environment_id = d->key[1], .day = d->key[2], .n = d->n};
    size_t n = 0;
    while (d + 1 + n < end && d[1 + n].kind == d->kind &&
           memcmp(d[1 + n].key, d->key, 3 * sizeof(d->key[0])) == 0)
        n++;
    int64_t *users = fz_arena_array(deltas->arena, n, sizeof(*users));
    if (!users)
        return fz_arena_fail(deltas->arena, err);
    for (size_t i = 1; i <= n; i++) {
        /* One whose reports were taken away stays: that the user had the version is history. */
        if (d[i].n > 0)
            users[delta.n_users++] = d[i].key[3];
    }
    delta.users = users;
    return delta.n || delta.n_users ? store_version_day_write(tx, &delta, err) : FZ_OK;
}

enum fz_code
store_deltas_write(struct store_deltas *deltas, struct sql *tx, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    sum(deltas);
    for (size_t i = 0; code == FZ_OK && i < deltas->n; i++) {
        const struct store_delta *d = &deltas->list[i];
        /* A report that stayed where it was took away what it added. */
        if (d->n == 0 && !d->first_ms && d->kind != DELTA_VERSION_DAY)
            continue;
        switch (d->kind) {
        case DELTA_USER:
            code = write_user(deltas, tx, d, err);
            break;
        case DELTA_VARIANT:
            code = write_variant(tx, d, err);
            break;
        case DELTA_HOUR:
            code = write_hour(tx, d, err);
            break;
        case DELTA_DAY:
            code = write_day(tx, d, err);
            break;
        case DELTA_ISSUE:
            code = write_issue(deltas, tx, d, err);
            break;
        case DELTA_VERSION:
            code = write_version(tx, d, err);
            break;
        case DELTA_VERSION_DAY:
            if (d->key[3] == 0)
                code = write_version_day(deltas, tx, d, err);
            break;
        }
    }
    deltas->n = 0;
    return code;
}
