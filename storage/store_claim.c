/*
 * Which job is next, and how long the queue is.
 *
 * A claim looks at the lanes that have something to do, one of each (kind, priority, project),
 * which are found with one step in an index each, however many jobs wait in them. Of one kind the
 * best priority goes first, and within it the project that has had the smallest share of this
 * worker's time (store_fair.h). Every eighth claim begins with one job of a later priority, so that
 * a flood of fresh reports slows the others down but does not stop them.
 *
 * What may be claimed at once has due_ms = 0; leases that ran out and back-offs that are over are
 * brought back to that first (wake). So the clock decides about those two only.
 */
#include "base/list.h"
#include "storage/store_private.h"

#include <stdio.h>

/* A job is not to blame if its worker ended together with the server (store_job_reclaim), but one
 * that takes the machine down with it each time must come to an end too. */
static const unsigned ATTEMPTS_EVER = 20;
/* No lease and no back-off is longer: a time further ahead was made by another clock. */
static const int64_t LEASE_MAX_MS = 10 * 60 * 1000, BACK_OFF_MAX_MS = 4 * 3600 * 1000;
/* As much work as one claim may take, by what jobs cost lately: others have to wait for its end. Fresh reports that are more than that
 * wait anyway, and what is stored at once costs less for each: a claim that leaves some doubles it for the next one. */
static const int64_t HOLD_US = 20 * 1000, HOLD_MAX_US = 160 * 1000;
/* A job that takes longer than this is a long one. */
static const int64_t LONG_US = 200 * 1000;

enum { CLAIM_MAX = 64, LANES_MAX = 4096, WAKE_AT_ONCE = 64, TURNS = 8 };

struct lane {
    int64_t kind, priority, project_id;
    bool is_done; /* nothing more to claim in it */
};

struct claim {
    struct store *store;
    const char *worker;
    int64_t now, lease_ms, left_us;
    int64_t extra_us; /* of left_us: for fresh reports only */
    struct lane *lanes;
    size_t n_lanes;
    int64_t order[3]; /* the rank of each priority */
    struct store_job jobs[CLAIM_MAX];
    int64_t strikes[CLAIM_MAX];
    size_t n;
};

/* ---- leases and back-offs that are over ---- */

static enum fz_code
wake(struct store *store, int64_t now, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(now), sql_int(now + BACK_OFF_MAX_MS),
                                     sql_int(now + LEASE_MAX_MS), sql_int(WAKE_AT_ONCE)};
    int64_t any = 0;
    enum fz_code code = sql_number(
        store->sql,
        "SELECT CASE WHEN EXISTS (SELECT 1 FROM jobs WHERE state < 2 AND due_ms > 0 AND state = 0 "
        "AND due_ms <= $1) OR EXISTS (SELECT 1 FROM jobs WHERE state < 2 AND due_ms > 0 AND "
        "state = 0 AND due_ms > $2) OR EXISTS (SELECT 1 FROM jobs WHERE state < 2 AND due_ms > 0 "
        "AND state = 1 AND due_ms <= $1) OR EXISTS (SELECT 1 FROM jobs WHERE state < 2 AND "
        "due_ms > 0 AND state = 1 AND due_ms > $3) THEN 1 ELSE 0 END",
        args, 3, &any, NULL, err);
    /* The look takes no write lock, and nearly always finds nothing. */
    if (code != FZ_OK || !any)
        return code;
    char text[512];
    snprintf(text, sizeof(text),
             "UPDATE jobs SET state = 0, due_ms = 0 WHERE id IN (SELECT id FROM jobs WHERE "
             "state < 2 AND due_ms > 0 AND (due_ms <= $1 OR (state = 0 AND due_ms > $2) OR "
             "(state = 1 AND due_ms > $3)) LIMIT $4%s)",
             store->sql->driver->skip_locked);
    return sql_exec(store->sql, text, args, FZ_ARRAY_LEN(args), NULL, err);
}

/* ---- lanes ---- */

/* Each step goes to the next project in the index; what is between them is not read. */
#define LANES                                                                             \
    "WITH RECURSIVE classes (kind, priority) AS "                                         \
    "(VALUES (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)), "                           \
    "lanes (kind, priority, project_id) AS ("                                             \
    "SELECT c.kind, c.priority, (SELECT j.project_id FROM jobs j "                        \
    "WHERE j.state = 0 AND j.due_ms = 0 AND j.kind = c.kind AND j.priority = c.priority " \
    "AND j.project_id > $1 ORDER BY j.project_id LIMIT 1) FROM classes c "                \
    "UNION ALL "                                                                          \
    "SELECT l.kind, l.priority, (SELECT j.project_id FROM jobs j "                        \
    "WHERE j.state = 0 AND j.due_ms = 0 AND j.kind = l.kind AND j.priority = l.priority " \
    "AND j.project_id > l.project_id ORDER BY j.project_id LIMIT 1) FROM lanes l "        \
    "WHERE l.project_id IS NOT NULL) "

const char store_lanes_query[] =
    LANES "SELECT kind, priority, project_id FROM lanes WHERE project_id IS NOT NULL LIMIT $2";

static enum fz_code
find_lanes(struct store *store, struct fz_arena *arena, struct claim *claim, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(store->lanes_after), sql_int(LANES_MAX)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    size_t room = 0;
    int64_t last = 0;
    /* Planned each time: the best plan for an empty queue may be the worst for a full one. */
    enum fz_code code =
        sql_query_planned(store->sql, store_lanes_query, args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        struct lane lane = {sql_col_int(&rows, 0), sql_col_int(&rows, 1), sql_col_int(&rows, 2),
                            false};
        /* Lanes come by project within each class, so the last one says how far the look has
         * come. */
        last = lane.project_id;
        if (lane.kind == STORE_JOB_UPLOAD && store->no_uploads)
            continue;
        claim->lanes =
            fz_list_grow_in(arena, claim->lanes, &room, claim->n_lanes + 1, sizeof(*claim->lanes));
        if (!claim->lanes)
            return fz_arena_fail(arena, err);
        claim->lanes[claim->n_lanes++] = lane;
    }
    /* So many projects at once: the others are looked at by the next claim. */
    store->lanes_after = claim->n_lanes >= LANES_MAX - 1 ? last : 0;
    return code;
}

static bool
goes_before(const struct claim *claim, const struct lane *a, const struct lane *b)
{
    if (a->priority != b->priority)
        return claim->order[a->priority] < claim->order[b->priority];
    const struct store_fair *fair = &claim->store->fair;
    int64_t start_a = store_fair_start(fair, a->kind, a->project_id);
    int64_t start_b = store_fair_start(fair, b->kind, b->project_id);
    /* The id decides at last, so that the order does not depend on the query's. */
    return start_a != start_b ? start_a < start_b : a->project_id < b->project_id;
}

/* Who leaves uploads to others also leaves them what is done again and is known to take long. */
static bool
is_left_to_others(const struct store *store, const struct lane *lane)
{
    return store->no_uploads && lane->priority != STORE_FRESH &&
           store_fair_cost(&store->fair, lane->kind, lane->project_id) > LONG_US;
}

/* The lane of this kind that is next, and how many of its priority there are; NULL: none. */
static struct lane *
choose_lane(const struct claim *claim, int64_t kind, size_t *ret_n)
{
    struct lane *best = NULL;
    for (size_t i = 0; i < claim->n_lanes; i++) {
        struct lane *lane = &claim->lanes[i];
        if (lane->kind != kind || lane->is_done || is_left_to_others(claim->store, lane))
            continue;
        if (!best || goes_before(claim, lane, best))
            best = lane;
    }
    *ret_n = 0;
    for (size_t i = 0; best && i < claim->n_lanes; i++) {
        const struct lane *lane = &claim->lanes[i];
        *ret_n += lane->kind == kind && !lane->is_done && lane->priority == best->priority;
    }
    return best;
}

/* ---- claim ---- */

/* Lease up to `max` jobs of one lane, oldest first. seen_seq is read in the same statement, so
 * whatever symbol files are counted in it were visible before the worker looks anything up. */
static enum fz_code
claim_lane(struct sql *tx, struct claim *claim, const struct lane *lane, size_t max,
           struct fz_error *err)
{
    const struct sql_driver *driver = tx->driver;
    char text[768];
    snprintf(text, sizeof(text),
             "WITH due AS MATERIALIZED (SELECT id FROM jobs WHERE state = 0 AND due_ms = 0 AND "
             "kind = $1 AND priority = $2 AND project_id = $3 ORDER BY id LIMIT $4%s) "
             "UPDATE jobs SET state = 1, fence = fence + 1, attempt = attempt + 1, "
             "strikes = strikes + 1, due_ms = $5, worker = $6, "
             "seen_seq = (SELECT symbol_seq FROM projects WHERE projects.id = jobs.project_id) "
             "WHERE id %sSELECT id FROM due%s "
             "RETURNING id, project_id, subject, attempt, fence, queued_ms, strikes, reader",
             driver->skip_locked, driver->in_few, driver->in_few_end);
    const struct sql_value args[] = {sql_int(lane->kind),
                                     sql_int(lane->priority),
                                     sql_int(lane->project_id),
                                     sql_int((int64_t)max),
                                     sql_int(claim->now + claim->lease_ms),
                                     sql_text(claim->worker)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query_planned(tx, text, args, FZ_ARRAY_LEN(args), &rows, err);
    /* PostgreSQL returns the rows of an UPDATE in any order; within one claim that does not
     * matter. */
    while (sql_row(&rows, &code, err) && claim->n < CLAIM_MAX) {
        struct store_job *job = &claim->jobs[claim->n];
        *job = (struct store_job){.id = sql_col_int(&rows, 0),
                                  .kind = (enum store_job_kind)lane->kind,
                                  .project_id = sql_col_int(&rows, 1),
                                  .attempt = (unsigned)sql_col_int(&rows, 3),
                                  .fence = sql_col_int(&rows, 4),
                                  .queued_ms = sql_col_int(&rows, 5)};
        sql_col_copy(&rows, 2, job->subject, sizeof(job->subject));
        sql_col_copy(&rows, 7, job->reader, sizeof(job->reader));
        claim->strikes[claim->n++] = sql_col_int(&rows, 6);
    }
    return code;
}

static bool
is_fresh_report(const struct lane *lane)
{
    return lane->kind == STORE_JOB_REPORT && lane->priority == STORE_FRESH;
}

/* How many of a lane's jobs to take, of `max`: its part of what is left, and no more than takes
 * the claim's time, but at least the first one. */
static size_t
part_of(const struct claim *claim, const struct lane *lane, size_t max, size_t n_lanes)
{
    /* Rounded up: with more lanes than places each lane still gets one in its turn. */
    size_t n = (max + n_lanes - 1) / n_lanes;
    int64_t cost = store_fair_cost(&claim->store->fair, lane->kind, lane->project_id);
    /* A cost of 0 is not known yet: the first jobs of a project are not held back for it. */
    int64_t left_us = claim->left_us - (is_fresh_report(lane) ? 0 : claim->extra_us);
    if (cost > 0 && (int64_t)n > left_us / cost)
        n = left_us > 0 ? (size_t)(left_us / cost) : 0;
    /* A claim that takes nothing although there is work would be made again at once. */
    return n == 0 && claim->n == 0 ? 1 : n;
}

/* Lease up to `max` jobs of one kind. */
static enum fz_code
claim_kind(struct sql *tx, struct claim *claim, int64_t kind, size_t max, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    struct store_fair *fair = &claim->store->fair;
    for (size_t end = claim->n + max; code == FZ_OK && claim->n < end;) {
        size_t n_lanes = 0, first = claim->n;
        struct lane *lane = choose_lane(claim, kind, &n_lanes);
        size_t want = lane ? part_of(claim, lane, end - claim->n, n_lanes) : 0;
        if (want == 0)
            break;
        code = claim_lane(tx, claim, lane, want, err);
        size_t got = claim->n - first;
        /* Fewer than asked for: another worker has the rest locked, or the lane is empty. */
        lane->is_done = got < want;
        if (code != FZ_OK || got == 0)
            continue;
        claim->left_us -= (int64_t)got * store_fair_cost(fair, kind, lane->project_id);
        /* Charged before the work is done: the next lane is chosen by what the jobs will probably
         * cost. */
        int64_t each = store_fair_charge(fair, kind, lane->project_id, got);
        for (size_t i = first; i < claim->n; i++)
            claim->jobs[i].charged_us = each;
    }
    return code;
}

/* Take out of the claim what has been tried too often. */
static enum fz_code
drop_used_up(struct claim *claim, struct fz_error *err)
{
    size_t kept = 0;
    for (size_t i = 0; i < claim->n; i++) {
        struct store_job *job = &claim->jobs[i];
        /* Counted at the claim: a worker that dies with the job cannot count for it afterwards. */
        if (claim->strikes[i] <= STORE_JOB_ATTEMPTS && job->attempt <= ATTEMPTS_EVER) {
            claim->jobs[kept++] = *job;
            continue;
        }
        char text[128];
        snprintf(text, sizeof(text), "given up after %u attempts whose worker was lost",
                 job->attempt - 1);
        enum fz_code code = store_job_quarantine(claim->store, job, FZ_E_INTERNAL, text, err);
        if (code != FZ_OK)
            return code;
    }
    claim->n = kept;
    return FZ_OK;
}

static void
set_order(struct claim *claim, int64_t first)
{
    for (int64_t i = 0; i < 3; i++)
        claim->order[i] = i == first ? -1 : i;
}

/* The two kinds share what is free, and take turns at the odd one, so that neither a flood of
 * reports nor one of dSYMs keeps the other waiting. */
static enum fz_code
claim_all(struct sql *tx, struct claim *claim, size_t max, struct fz_error *err)
{
    unsigned turn = claim->store->n_claims++;
    int64_t first = turn % 2 == 0 ? STORE_JOB_UPLOAD : STORE_JOB_REPORT;
    int64_t second = turn % 2 == 0 ? STORE_JOB_REPORT : STORE_JOB_UPLOAD;
    enum fz_code code = FZ_OK;
    /* Both kinds have to come first in such a claim, so turns count in pairs. */
    if (turn / 2 % TURNS >= TURNS - 2) {
        set_order(claim, turn / 2 % TURNS == TURNS - 1 ? STORE_LATE : STORE_ASKED);
        code = claim_kind(tx, claim, first, 1, err);
    }
    set_order(claim, STORE_FRESH);
    size_t half = (max + 1) / 2;
    /* The extra claim above may already have filled this kind's half. */
    if (code == FZ_OK && claim->n < half)
        code = claim_kind(tx, claim, first, half - claim->n, err);
    if (code == FZ_OK)
        code = claim_kind(tx, claim, second, max - claim->n, err);
    if (code == FZ_OK)
        /* What the second kind left over goes back to the first. */
        code = claim_kind(tx, claim, first, max - claim->n, err);
    return code;
}

static enum fz_code
claim_in_transaction(struct claim *claim, size_t max, struct fz_error *err)
{
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    /* After a power cut no worker has a job any more. */
    enum fz_code code = sql_begin_light(claim->store->sql, &tx, err);
    if (code == FZ_OK)
        code = claim_all(tx, claim, max, err);
    size_t n_claimed = claim->n;
    if (code == FZ_OK)
        code = drop_used_up(claim, err);
    if (code == FZ_OK && claim->n < n_claimed)
        sql_notify(tx); /* somebody may be waiting for the report that was given up */
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

/* Are there fresh reports that the claim has left? */
static bool
is_cut(const struct claim *claim)
{
    for (size_t i = 0; i < claim->n_lanes; i++) {
        if (is_fresh_report(&claim->lanes[i]) && !claim->lanes[i].is_done)
            return true;
    }
    return false;
}

static void
set_hold(struct store *store, bool was_cut)
{
    int64_t hold_us = store->claim_us;
    store->hold_us = hold_us;
    hold_us = was_cut ? 2 * hold_us : HOLD_US;
    store->claim_us = hold_us < HOLD_MAX_US ? hold_us : HOLD_MAX_US;
}

enum fz_code
store_job_claim(struct store *store, const char *worker, size_t max, int64_t lease_ms,
                struct store_job *ret, size_t *ret_n, struct fz_error *err)
{
    /* Jobs of one claim are done one after the other, while their leases run. */
    if (max > CLAIM_MAX)
        max = CLAIM_MAX;
    /* Not due again within this very claim, whatever the caller asks for. */
    if (lease_ms < 1)
        lease_ms = 1;
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(4 * 1024 * 1024);
    if (store->claim_us == 0)
        store->claim_us = HOLD_US;
    struct claim claim = {.store = store,
                          .worker = worker,
                          .lease_ms = lease_ms,
                          .left_us = store->claim_us,
                          .extra_us = store->claim_us - HOLD_US};
    enum fz_code code = sql_clock(store->sql, &claim.now, err);
    if (code == FZ_OK)
        /* Before the lanes are looked up, so that this claim finds what is due again. */
        code = wake(store, claim.now, err);
    if (code == FZ_OK)
        code = find_lanes(store, &arena, &claim, err);
    if (code != FZ_OK)
        return code;
    if (claim.n_lanes == 0 || max == 0) {
        *ret_n = 0;
        set_hold(store, false);
        /* A worker without work has the time for it. */
        store_sweep_transient(store);
        return FZ_OK;
    }
    /* The shares are in memory: a transaction that fails does not take them back. */
    struct store_fair before = store->fair;
    code = claim_in_transaction(&claim, max, err);
    if (code != FZ_OK) {
        store->fair = before;
        return code;
    }
    if (claim.n)
        memcpy(ret, claim.jobs, claim.n * sizeof(*ret));
    *ret_n = claim.n;
    set_hold(store, is_cut(&claim));
    return FZ_OK;
}

int64_t
store_job_hold_ms(const struct store *store)
{
    return store->hold_us / 1000;
}

void
store_job_spent(struct store *store, const struct store_job *job, int64_t spent_us)
{
    store_fair_settle(&store->fair, job->kind, job->project_id, job->charged_us, spent_us);
}

void
store_job_no_uploads(struct store *store, bool no_uploads)
{
    store->no_uploads = no_uploads;
}

/* ---- the length of the queue ---- */

static enum fz_code
count_ready(struct store *store, struct store_queue *ret, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(store->sql,
                  "SELECT kind, priority, count(*) FROM jobs WHERE state = 0 AND due_ms = 0 "
                  "GROUP BY kind, priority",
                  NULL, 0, &rows, err);
    while (sql_row(&rows, &code, err)) {
        int64_t priority = sql_col_int(&rows, 1);
        uint64_t n = (uint64_t)sql_col_int(&rows, 2);
        ret->n_waiting += n;
        if (priority == STORE_FRESH)
            ret->n_fresh += n;
        else if (priority == STORE_ASKED)
            ret->n_asked += n;
        else
            ret->n_late += n;
    }
    return code;
}

/* Leases, and what waits for another attempt. */
static enum fz_code
count_timed(struct store *store, struct store_queue *ret, int64_t *since, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(store->sql,
                  "SELECT state, count(*), min(since_ms) FROM jobs WHERE state < 2 AND "
                  "due_ms > 0 GROUP BY state",
                  NULL, 0, &rows, err);
    while (sql_row(&rows, &code, err)) {
        uint64_t n = (uint64_t)sql_col_int(&rows, 1);
        if (sql_col_int(&rows, 0) == STORE_LEASED) {
            ret->n_running = n;
            continue;
        }
        ret->n_delayed = n;
        ret->n_waiting += n;
        if (sql_col_int(&rows, 2) < *since)
            *since = sql_col_int(&rows, 2);
    }
    return code;
}

enum fz_code
store_queue_counts(struct store *store, struct store_queue *ret, struct fz_error *err)
{
    struct store_queue queue = {0};
    int64_t now = 0, since = INT64_MAX, first = 0;
    bool found = false;
    /* Projects have positive ids, so this begins with the first. */
    const struct sql_value args[] = {sql_int(0)};
    enum fz_code code = sql_clock(store->sql, &now, err);
    if (code == FZ_OK)
        code = count_ready(store, &queue, err);
    if (code == FZ_OK)
        code = count_timed(store, &queue, &since, err);
    /* The first of each lane has waited longest in it. */
    if (code == FZ_OK && queue.n_waiting > queue.n_delayed)
        code = sql_number(
            store->sql,
            LANES "SELECT (SELECT j.since_ms FROM jobs j WHERE j.state = 0 AND j.due_ms = 0 AND "
                  "j.kind = l.kind AND j.priority = l.priority AND j.project_id = l.project_id "
                  "ORDER BY j.id LIMIT 1) AS since FROM lanes l WHERE l.project_id IS NOT NULL "
                  "ORDER BY since LIMIT 1",
            args, 1, &first, &found, err);
    if (code != FZ_OK)
        return code;
    if (found && first < since)
        since = first;
    /* A clock that was set back would give a negative age. */
    if (queue.n_waiting > 0 && since < now)
        queue.oldest_ms = now - since;
    *ret = queue;
    return FZ_OK;
}
