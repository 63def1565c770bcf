#include "storage/store_sessions.h"

#include <stdlib.h>

#include "base/hll.h"
#include "base/version.h"
#include "storage/store_private.h"
#include "storage/store_session_users.h"
#include "storage/store_terms.h"

enum { RELEASE_MAX = 250, ENVIRONMENT_MAX = 64, REASON_MAX = 64 };

static const int64_t HOUR_MS = 3600 * 1000, DAY_MS = INT64_C(24) * 3600 * 1000;

/* One call's transaction. */
struct put {
    struct sql *tx;
    int64_t project_id, now_ms;
    struct fz_arena *arena;
};

/* What a session was part of, in the numbers of the dictionary. */
struct origin {
    const char *release, *environment; /* "(other)" where there are too many of them */
    int64_t version_id;                /* 0 = unknown */
};

static int64_t
day_of(int64_t time_ms)
{
    return time_ms - time_ms % DAY_MS;
}

/* A device's clock may be anything; a day far off would never be looked at. */
static int64_t
likely_time(const struct put *put, int64_t time_ms)
{
    bool is_likely =
        time_ms > put->now_ms - STORE_SESSION_LIFE_MS && time_ms < put->now_ms + DAY_MS;
    return is_likely ? time_ms : put->now_ms;
}

/* Where a session is counted. */
struct place {
    int64_t day_ms;
    int64_t hour_ms; /* 0 = it was counted before */
    struct sql_value release, environment;
};

static struct sql_value
clean(const struct put *put, const char *text, size_t max)
{
    return sql_text_clean(put->arena, text ? text : "", max);
}

static enum fz_code
count(const struct put *put, const struct place *place, const int64_t n[STORE_SESSION_OUTCOMES],
      struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(put->project_id),
                                     sql_int(place->day_ms),
                                     place->release,
                                     place->environment,
                                     sql_int(n[STORE_SESSION_HEALTHY]),
                                     sql_int(n[STORE_SESSION_ERRORED]),
                                     sql_int(n[STORE_SESSION_ABNORMAL]),
                                     sql_int(n[STORE_SESSION_CRASHED])};
    return sql_exec(put->tx,
                    "INSERT INTO session_counts (project_id, day_ms, release, environment, "
                    "healthy, errored, abnormal, crashed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
                    "ON CONFLICT (project_id, day_ms, release, environment) DO UPDATE SET "
                    "healthy = session_counts.healthy + excluded.healthy, "
                    "errored = session_counts.errored + excluded.errored, "
                    "abnormal = session_counts.abnormal + excluded.abnormal, "
                    "crashed = session_counts.crashed + excluded.crashed",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

/* What is known of a run: where it was counted, and as what. */
static enum fz_code
find_run(const struct put *put, const char *sid, struct place *ret, int64_t *ret_outcome,
         bool *ret_found, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(put->project_id), sql_text(sid)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(put->tx,
                                  "SELECT day_ms, release, environment, outcome FROM sessions "
                                  "WHERE project_id = $1 AND sid = $2",
                                  args, FZ_ARRAY_LEN(args), &rows, err);
    if (code == FZ_OK)
        code = sql_next(&rows, ret_found, err);
    if (code != FZ_OK || !*ret_found)
        return code;
    ret->day_ms = sql_col_int(&rows, 0);
    ret->release = sql_text(sql_col_text(&rows, 1, put->arena));
    ret->environment = sql_text(sql_col_text(&rows, 2, put->arena));
    *ret_outcome = sql_col_int(&rows, 3);
    bool more;
    return sql_next(&rows, &more, err); /* fails if there was no room for a text */
}

static struct place
place_of(const struct put *put, const struct store_session *session, const struct origin *origin)
{
    int64_t time_ms = likely_time(put, session->started_ms);
    return (struct place){day_of(time_ms), time_ms - time_ms % HOUR_MS,
                          clean(put, origin->release, RELEASE_MAX),
                          clean(put, origin->environment, ENVIRONMENT_MAX)};
}

static enum fz_code
count_user(const struct put *put, const struct place *place, const struct store_session *session,
           const int64_t n[STORE_SESSION_OUTCOMES], struct fz_error *err)
{
    struct store_session_seen seen = {.project_id = put->project_id,
                                      .day_ms = place->day_ms,
                                      .hour_ms = place->hour_ms,
                                      .now_ms = put->now_ms,
                                      .release = place->release,
                                      .environment = place->environment,
                                      .has_user = session->user && *session->user,
                                      .has_crashed = n[STORE_SESSION_CRASHED] > 0};
    for (size_t i = 0; i < STORE_SESSION_OUTCOMES; i++)
        seen.n += n[i];
    if (seen.has_user)
        seen.user = fz_hll_hash(fz_span_cstr(session->user));
    return store_session_seen(put->tx, &seen, err);
}

static enum fz_code
put_run(const struct put *put, const struct store_session *session, struct place place,
        struct fz_error *err)
{
    int64_t n[STORE_SESSION_OUTCOMES] = {0}, before = 0;
    bool found = false;
    /* The place is replaced: an update counts where its run was counted first. */
    enum fz_code code = find_run(put, session->sid, &place, &before, &found, err);
    /* Updates may come in any order; the worst outcome stays. */
    if (code != FZ_OK || (found && before >= (int64_t)session->outcome))
        return code;
    const struct sql_value args[] = {
        sql_int(put->project_id), sql_text(session->sid),    sql_int(place.day_ms), place.release,
        place.environment,        sql_int(session->outcome), sql_int(put->now_ms)};
    code = sql_exec(put->tx,
                    "INSERT INTO sessions (project_id, sid, day_ms, release, environment, outcome, "
                    "seen_ms) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (project_id, sid) "
                    "DO UPDATE SET outcome = excluded.outcome, seen_ms = excluded.seen_ms",
                    args, FZ_ARRAY_LEN(args), NULL, err);
    if (code != FZ_OK)
        return code;
    /* The run moves from one column to another, so that the sum stays the number of runs. */
    n[session->outcome]++;
    if (found && before >= 0 && before < STORE_SESSION_OUTCOMES)
        n[before]--;
    if (found)
        place.hour_ms = 0;
    code = count(put, &place, n, err);
    return code == FZ_OK ? count_user(put, &place, session, n, err) : code;
}

static enum fz_code
put_session(const struct put *put, const struct store_session *session, const struct origin *origin,
            struct fz_error *err)
{
    if (session->sid[0] && !store_is_id(session->sid))
        return fz_fail(err, FZ_E_MALFORMED, "a session's id has 32 lower-case hex digits");
    const struct place place = place_of(put, session, origin);
    if (session->sid[0])
        return put_run(put, session, place, err);
    int64_t n[STORE_SESSION_OUTCOMES];
    for (size_t i = 0; i < STORE_SESSION_OUTCOMES; i++)
        n[i] = session->n[i];
    enum fz_code code = count(put, &place, n, err);
    return code == FZ_OK ? count_user(put, &place, session, n, err) : code;
}

static enum fz_code
put_discarded(const struct put *put, const struct store_discarded *discarded, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(put->project_id), sql_int(day_of(put->now_ms)),
                                     clean(put, discarded->reason, REASON_MAX),
                                     clean(put, discarded->category, REASON_MAX),
                                     sql_int(discarded->n)};
    return sql_exec(put->tx,
                    "INSERT INTO discarded_counts (project_id, day_ms, reason, category, n) VALUES "
                    "($1, $2, $3, $4, $5) ON CONFLICT (project_id, day_ms, reason, category) DO "
                    "UPDATE SET n = discarded_counts.n + excluded.n",
                    args, FZ_ARRAY_LEN(args), NULL, err);
}

/* Runs of which no update can be expected any more. */
static enum fz_code
forget_old(const struct put *put, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(put->now_ms - STORE_SESSION_LIFE_MS),
                                     sql_int(put->project_id)};
    enum fz_code code =
        sql_exec(put->tx, "DELETE FROM sessions WHERE seen_ms < $1 AND project_id = $2", args,
                 FZ_ARRAY_LEN(args), NULL, err);
    return code == FZ_OK ? store_session_hours_forget(put->tx, put->project_id, put->now_ms, err)
                         : code;
}

/* ---- releases and environments ---- */

enum { REFS = 3 }; /* app, version, environment */

static enum fz_code
split_release(const struct store_session *session, struct fz_arena *arena,
              struct store_term_ref refs[REFS], struct fz_error *err)
{
    struct fz_release parts;
    fz_release_split(session->release, &parts);
    const char *app = fz_arena_text(arena, parts.app),
               *version = fz_arena_text(arena, parts.version),
               *build = fz_arena_text(arena, parts.build);
    if (!app || !version || !build)
        return fz_arena_fail(arena, err);
    refs[0] = (struct store_term_ref){.term = STORE_TERM_APP, .text = app};
    refs[1] = (struct store_term_ref){.term = STORE_TERM_VERSION, .text = version, .detail = build};
    refs[2] = (struct store_term_ref){.term = STORE_TERM_ENVIRONMENT, .text = session->environment};
    return FZ_OK;
}

/*
 * Versions of sessions are in the dictionary, as those of reports are, so that both meet, and because
 * a field of the dictionary has a limit: releases that clients make up could be a million rows of
 * every day. Before the transaction, as store_terms_number() has it.
 */
static enum fz_code
find_origins(struct store *store, int64_t project_id, const struct store_session_update *update,
             struct fz_arena *arena, struct origin **ret, struct fz_error *err)
{
    size_t n = update->n_sessions;
    struct origin *origins = fz_arena_array(arena, n, sizeof(*origins));
    struct store_term_ref *refs = fz_arena_array(arena, n * REFS, sizeof(*refs));
    if (!origins || !refs)
        return fz_arena_fail(arena, err);
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = split_release(&update->sessions[i], arena, &refs[i * REFS], err);
    if (code == FZ_OK)
        code = store_terms_number(store, project_id, refs, n * REFS, arena, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        const struct store_term_ref *at = &refs[i * REFS];
        bool is_other = at[0].is_other || at[1].is_other;
        origins[i] = (struct origin){
            .release = is_other ? STORE_TERM_OTHER : update->sessions[i].release,
            .environment = at[2].is_other ? STORE_TERM_OTHER : update->sessions[i].environment,
            .version_id = at[1].id};
    }
    if (code == FZ_OK)
        *ret = origins;
    return code;
}

static int
compare_versions(const void *a, const void *b)
{
    const struct origin *x = a, *y = b;
    return (x->version_id > y->version_id) - (x->version_id < y->version_id);
}

/* In the order in which reports write them, too, so that neither waits for the other for ever. */
static enum fz_code
see_versions(const struct put *put, struct origin *origins, size_t n, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    if (n)
        qsort(origins, n, sizeof(*origins), compare_versions);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        if (origins[i].version_id && (i == 0 || origins[i - 1].version_id != origins[i].version_id))
            code = store_version_seen(put->tx, origins[i].version_id, put->now_ms, err);
    }
    return code;
}

enum fz_code
store_session_put(struct store *store, int64_t project_id,
                  const struct store_session_update *update, struct fz_arena *arena,
                  struct fz_error *err)
{
    struct put put = {.project_id = project_id, .arena = arena};
    struct origin *origins = NULL;
    if (update->n_sessions + update->n_discarded == 0)
        return FZ_OK;
    enum fz_code code = find_origins(store, project_id, update, arena, &origins, err);
    /* The database's clock: servers that are many would not agree on the day. */
    if (code == FZ_OK)
        code = sql_now(store->sql, &put.now_ms, err);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    code = sql_begin(store->sql, &tx, err);
    put.tx = tx;
    /* Two updates of one run at once must not both count it. Projects' own locks are positive. */
    if (code == FZ_OK)
        code = sql_lock(tx, -1 - project_id, true, err);
    for (size_t i = 0; code == FZ_OK && i < update->n_sessions; i++)
        code = put_session(&put, &update->sessions[i], &origins[i], err);
    for (size_t i = 0; code == FZ_OK && i < update->n_discarded; i++)
        code = put_discarded(&put, &update->discarded[i], err);
    if (code == FZ_OK)
        /* With each update of the project, which is often enough and needs no timer. */
        code = forget_old(&put, err);
    if (code == FZ_OK)
        code = see_versions(&put, origins, update->n_sessions, err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_session_counts(struct store *store, int64_t project_id,
                     const struct store_session_range *range, struct fz_arena *arena,
                     struct store_session_count **ret, size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {
        sql_int(project_id), sql_int(day_of(range->since_ms)), sql_int(range->until_ms),
        sql_text(range->release ? range->release : ""), sql_int((int64_t)range->limit)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_session_count)};
    enum fz_code code =
        sql_query(store->sql,
                  "SELECT release, environment, CAST(sum(healthy) AS bigint), CAST(sum(errored) AS "
                  "bigint), CAST(sum(abnormal) AS bigint), CAST(sum(crashed) AS bigint), "
                  "min(day_ms), max(day_ms) FROM session_counts WHERE "
                  "project_id = $1 AND day_ms >= $2 AND day_ms <= $3 AND (release = $4 OR $4 = '') "
                  "GROUP BY release, environment ORDER BY max(day_ms) DESC, release DESC, "
                  "environment LIMIT $5",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_session_count *one; (one = sql_list_next(&rows, &list, &code, err));) {
        *one = (struct store_session_count){.release = sql_col_text(&rows, 0, arena),
                                            .environment = sql_col_text(&rows, 1, arena),
                                            .first_day_ms = sql_col_int(&rows, 6),
                                            .last_day_ms = sql_col_int(&rows, 7)};
        for (int i = 0; i < STORE_SESSION_OUTCOMES; i++)
            one->n[i] = (uint64_t)sql_col_int(&rows, 2 + i);
    }
    struct store_session_count *counts = NULL;
    size_t n = 0;
    code = sql_list_done(&list, code, &counts, &n);
    sql_rows_close(&rows);
    if (code == FZ_OK)
        code = store_session_users_count(store->sql, project_id, range, counts, n, err);
    if (code == FZ_OK) {
        *ret = counts;
        *ret_n = n;
    }
    return code;
}

enum fz_code
store_discarded_counts(struct store *store, int64_t project_id,
                       const struct store_session_range *range, struct fz_arena *arena,
                       struct store_discarded_count **ret, size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(day_of(range->since_ms)),
                                     sql_int(range->until_ms), sql_int((int64_t)range->limit)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_discarded_count)};
    enum fz_code code =
        sql_query(store->sql,
                  "SELECT reason, category, CAST(sum(n) AS bigint) FROM discarded_counts WHERE "
                  "project_id = $1 AND day_ms >= $2 AND day_ms <= $3 GROUP BY "
                  "reason, category ORDER BY sum(n) DESC, reason, category LIMIT $4",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_discarded_count *one; (one = sql_list_next(&rows, &list, &code, err));)
        *one = (struct store_discarded_count){.reason = sql_col_text(&rows, 0, arena),
                                              .category = sql_col_text(&rows, 1, arena),
                                              .n = (uint64_t)sql_col_int(&rows, 2)};
    return sql_list_done(&list, code, ret, ret_n);
}
