/*
 * The range of a query is a sequence of sealed days and of gaps between them, which are read as rows:
 *
 *     since |----gap----|day|day|----gap----|day|----gap----| until
 *
 * A day may be sealed until a time; a gap follows. Which days are sealed is read first. When the columns are read a day may not be
 * sealed any more: then it becomes part of a gap.
 */
#include "storage/store_fact_scan.h"

#include <stdlib.h>
#include <string.h>

#include "storage/store_fact_cache.h"
#include "storage/store_fact_day.h"
#include "storage/store_fact_gap.h"
#include "storage/store_fact_texts.h"

enum {
    BYTES_AT_ONCE = 16 * 1024 * 1024, /* of columns that one statement reads */
    BYTES_EACH = 3                    /* of one fact in a column, about */
};

struct store_fact_scan {
    struct store *store;
    const struct store_fact_query *facts;
    struct store_fact_want want;
    struct store_fact_pick pick;
    int64_t from_ms, to_ms;        /* what is left to read, without to_ms */
    struct store_sealed_day *days; /* in the order of reading; owned */
    size_t n_days, at_day;
    /* The statement that reads columns of days up to end_day: those that are not in memory. */
    struct sql_rows rows;
    size_t end_day;
    bool reads[STORE_FACT_COLUMNS];
    bool reads_all;                      /* what was in memory is there no more */
    bool has_row;                        /* its current row is still to be used */
    bool is_reading, has_ended, is_held; /* held: the batch is of columns in `kept` */
    struct store_fact_gap gap;
    struct store_fact_day day; /* that of the batch, or the rows of a gap in its place */
    size_t n_others;
    int64_t damaged; /* a day whose columns cannot be read; -1 = none */
};

/* ---- sealed days ---- */

static enum fz_code
read_days(struct store_fact_scan *scan, struct fz_error *err)
{
    int64_t to_ms = scan->to_ms == INT64_MAX ? INT64_MAX : scan->to_ms + STORE_DAY_MS - 1;
    const struct store_day_range range = {.project_id = scan->facts->project_id,
                                          .from = scan->from_ms / STORE_DAY_MS,
                                          .to = to_ms / STORE_DAY_MS,
                                          .is_falling = scan->pick.is_falling};
    return store_sealed_days_read(scan->store->sql, &range, &scan->days, &scan->n_days, err);
}

/* Leave out what is before and after the days that are wanted. */
static void
leave_days(struct store_fact_scan *scan)
{
    size_t n = scan->want.n_days < scan->n_days ? scan->want.n_days : scan->n_days;
    if (n == 0)
        return;
    const struct store_sealed_day *one = &scan->days[0], *other = &scan->days[n - 1];
    scan->n_days = n;
    int64_t from_ms = (scan->pick.is_falling ? other : one)->day * STORE_DAY_MS;
    int64_t to_ms = (scan->pick.is_falling ? one : other)->until_ms;
    scan->from_ms = from_ms > scan->from_ms ? from_ms : scan->from_ms;
    scan->to_ms = to_ms < scan->to_ms ? to_ms : scan->to_ms;
}

/* Hold a column, if it is in memory. */
static bool
take_kept(struct store_fact_scan *scan, int64_t day, int64_t sealing, int column)
{
    const struct store_fact_key key = {scan->facts->project_id, day, sealing};
    struct store_fact_cache *cache = scan->store->fact_cache;
    struct store_fact_kept *kept = cache ? store_fact_cache_get(cache, &key, column) : NULL;
    store_fact_kept_drop(scan->day.kept[column]);
    scan->day.kept[column] = kept;
    if (kept)
        scan->day.columns[column] = *store_fact_kept_block(kept);
    return kept != NULL;
}

/* Add to scan->reads what is not in memory of this day; is that anything? */
static bool
find_missing(struct store_fact_scan *scan, const struct store_sealed_day *day)
{
    bool any = false;
    for (int i = 1; i < STORE_FACT_COLUMNS; i++) {
        if (scan->pick.needs[i] && (scan->reads_all || !take_kept(scan, day->day, day->sealing, i)))
            any = scan->reads[i] = true;
    }
    return any;
}

/* Read the columns of the next days, as many as fit. */
static enum fz_code
open_days(struct store_fact_scan *scan, struct fz_error *err)
{
    uint64_t facts = 0;
    size_t end = scan->at_day, n_reads = 0;
    memset(scan->reads, 0, sizeof(scan->reads));
    while (end < scan->n_days &&
           (end == scan->at_day || facts * n_reads * BYTES_EACH < BYTES_AT_ONCE)) {
        if (!find_missing(scan, &scan->days[end]))
            break;
        facts += scan->days[end++].n;
        n_reads = 0;
        for (int i = 1; i < STORE_FACT_COLUMNS; i++)
            n_reads += scan->reads[i];
    }
    int64_t from = scan->days[scan->pick.is_falling ? end - 1 : scan->at_day].day;
    int64_t to = scan->days[scan->pick.is_falling ? scan->at_day : end - 1].day;
    const struct sql_value args[] = {sql_int(scan->facts->project_id), sql_int(from), sql_int(to)};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_buffer_text(&text, "SELECT d.day, d.n, d.sealing, " STORE_SEALED_UNTIL);
    for (int i = 1; i < STORE_FACT_COLUMNS; i++) {
        if (scan->reads[i])
            fz_buffer_printf(&text,
                             ", (SELECT c.body FROM fact_columns c WHERE c.project_id = "
                             "d.project_id AND c.day = d.day AND c.field = %d%s)",
                             i, i < STORE_FACT_TEXT_FIRST ? "" : " AND c.sealing = d.sealing");
    }
    fz_buffer_printf(&text,
                     " FROM fact_days d WHERE d.project_id = $1 AND d.day >= $2 AND d.day <= $3 "
                     "AND d.state = 1 ORDER BY d.day%s",
                     scan->pick.is_falling ? " DESC" : "");
    enum fz_code code = fz_buffer_done(&text, err);
    if (code == FZ_OK)
        code = sql_query_once(scan->store->sql, fz_buffer_cstr(&text), args, FZ_ARRAY_LEN(args),
                              &scan->rows, err);
    scan->is_reading = code == FZ_OK;
    scan->has_row = scan->has_ended = false;
    scan->end_day = end;
    return code;
}

/* Is the current row, or the next one, that of this day? */
static bool
find_row(struct store_fact_scan *scan, int64_t day, enum fz_code *code, struct fz_error *err)
{
    while (!scan->has_ended) {
        if (!scan->has_row)
            scan->has_row = sql_row(&scan->rows, code, err);
        scan->has_ended = !scan->has_row;
        int64_t found = scan->has_row ? sql_col_int(&scan->rows, 0) : day;
        if (scan->has_ended || (scan->pick.is_falling ? found <= day : found >= day))
            return scan->has_row && found == day;
        /* A day that was sealed just now. */
        scan->has_row = false;
    }
    return false;
}

static void
end_days(struct store_fact_scan *scan)
{
    sql_rows_close(&scan->rows);
    scan->is_reading = false;
}

/* ---- a day as columns ---- */

/* What is known of the day whose columns are used. */
struct day_columns {
    struct store_sealed_day as; /* it was when they were read */
    bool is_gone;               /* a column was in memory, and is not any more */
    bool is_old;                /* an earlier version has sealed it, without this column */
};

/* The columns of the current row, which are kept in memory, too. */
static bool
open_row(struct store_fact_scan *scan, struct day_columns *day)
{
    const struct store_fact_key key = {scan->facts->project_id, day->as.day, day->as.sealing};
    int column = 4;
    for (int i = 1; i < STORE_FACT_COLUMNS; i++) {
        day->is_gone = scan->pick.needs[i] && !scan->reads[i] &&
                       !take_kept(scan, day->as.day, day->as.sealing, i);
        if (day->is_gone)
            return false;
        if (!scan->reads[i])
            continue;
        struct fz_span bytes = sql_col_bytes(&scan->rows, column++);
        day->is_old = bytes.len == 0 && i >= STORE_FACT_TEXT_FIRST;
        if (day->is_old || store_block_open(bytes, &scan->day.columns[i], NULL) != FZ_OK)
            return false;
        if (scan->store->fact_cache)
            store_fact_cache_put(scan->store->fact_cache, &key, i, bytes, &scan->day.columns[i]);
    }
    return true;
}

/* ---- all ---- */

/* The columns that must be read of sealed days. */
static void
find_needs(struct store_fact_pick *pick, const struct store_fact_want *want)
{
    memcpy(pick->needs, pick->filter.needs, sizeof(pick->needs));
    for (size_t i = 0; i < want->n_columns; i++)
        pick->needs[want->columns[i]] = true;
    pick->needs[STORE_FACT_COUNTED] |= pick->counted_only;
    pick->needs[STORE_FACT_REPORT] |= pick->kept_only || pick->has_after;
    pick->needs[STORE_FACT_RECEIVED] |= pick->since_ms || pick->until_ms || pick->has_after;
}

enum fz_code
store_fact_scan_open(const struct store_fact_query *facts, const struct store_fact_want *want,
                     struct store_fact_scan **ret, struct fz_error *err)
{
    struct store_fact_scan *scan = calloc(1, sizeof(*scan));
    if (!scan)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *scan = (struct store_fact_scan){.store = facts->store,
                                     .facts = facts,
                                     .want = *want,
                                     .pick = {.since_ms = facts->since_ms,
                                              .until_ms = facts->until_ms,
                                              .counted_only = want->counted_only,
                                              .kept_only = want->kept_only || facts->for_reports,
                                              .is_falling = want->order == STORE_FACTS_NEWEST_FIRST,
                                              .has_after = want->has_after,
                                              .after_ms = want->after_ms,
                                              .after_key = want->after_key},
                                     .from_ms = facts->since_ms,
                                     .to_ms = facts->until_ms ? facts->until_ms : INT64_MAX,
                                     .damaged = -1};
    scan->want.kept_only = scan->pick.kept_only;
    /* An index finds few facts faster. */
    bool by_columns = !facts->driver && store_fact_filter_can(facts);
    enum fz_code code = by_columns ? store_fact_filter_init(&scan->pick.filter, facts, err) : FZ_OK;
    if (code == FZ_OK)
        code = store_fact_day_room(&scan->day, STORE_FACT_GAP_ROWS, err);
    find_needs(&scan->pick, want);
    if (by_columns && facts->store->fact_cache)
        store_fact_cache_begin(facts->store->fact_cache);
    if (code == FZ_OK && by_columns)
        code = read_days(scan, err);
    if (want->n_days)
        leave_days(scan);
    if (code == FZ_OK)
        *ret = scan;
    else
        store_fact_scan_close(scan);
    return code;
}

void
store_fact_scan_close(struct store_fact_scan *scan)
{
    if (!scan)
        return;
    end_days(scan);
    store_fact_gap_close(&scan->gap);
    if (scan->damaged >= 0)
        store_facts_damaged(scan->store->sql, scan->facts->project_id, scan->damaged);
    store_fact_filter_deinit(&scan->pick.filter);
    store_fact_day_deinit(&scan->day);
    free(scan->days);
    free(scan);
}

/* Is there something to read before the day? Then it is opened as a gap. */
static bool
step_gap(struct store_fact_scan *scan, int64_t day_from, int64_t day_to, enum fz_code *code,
         struct fz_error *err)
{
    int64_t from = scan->pick.is_falling && day_to > scan->from_ms ? day_to : scan->from_ms;
    int64_t to = scan->pick.is_falling || day_from > scan->to_ms ? scan->to_ms : day_from;
    if (from >= to)
        return false;
    const struct store_fact_range range = {from, to, scan->pick.is_falling};
    *code = store_fact_gap_open(&scan->gap, scan->facts, &scan->want, &range, err);
    if (scan->pick.is_falling)
        scan->to_ms = day_to;
    else
        scan->from_ms = day_from;
    return true;
}

/* The columns of the next day, from memory or from the current row; false: it has none that can be used. */
static bool
take_day(struct store_fact_scan *scan, struct day_columns *ret, enum fz_code *code,
         struct fz_error *err)
{
    const struct store_sealed_day *day = &scan->days[scan->at_day];
    *ret = (struct day_columns){.as = *day};
    if (!scan->is_reading) {
        scan->is_held = !find_missing(scan, day);
        if (scan->is_held)
            return true;
        *code = open_days(scan, err);
    }
    /* Otherwise it is not sealed any more: its facts are read with the next gap. */
    if (*code != FZ_OK || !find_row(scan, day->day, code, err))
        return false;
    scan->has_row = false;
    ret->as.n = (uint64_t)sql_col_int(&scan->rows, 1);
    ret->as.sealing = sql_col_int(&scan->rows, 2);
    ret->as.until_ms = sql_col_int(&scan->rows, 3);
    /* Sealed again, with more; what follows was read as rows before. */
    if (scan->pick.is_falling && ret->as.until_ms != day->until_ms)
        return false;
    bool is_good = open_row(scan, ret);
    if (!is_good && !ret->is_gone && !ret->is_old)
        scan->damaged = day->day;
    return is_good;
}

/* What is left to read begins after this day, or ends before it. */
static void
pass_day(struct store_fact_scan *scan, const struct store_sealed_day *day)
{
    int64_t from_ms = day->day * STORE_DAY_MS;
    if (scan->pick.is_falling)
        scan->to_ms = from_ms;
    else
        scan->from_ms = day->until_ms > scan->from_ms ? day->until_ms : scan->from_ms;
}

/* The next day, or the gap before it; returns how many facts it has. */
static size_t
step_day(struct store_fact_scan *scan, enum fz_code *code, struct fz_error *err)
{
    int64_t from = scan->days[scan->at_day].day * STORE_DAY_MS;
    struct day_columns day;
    size_t n = 0, n_others = 0;
    if (step_gap(scan, from, scan->days[scan->at_day].until_ms, code, err))
        return 0;
    if (take_day(scan, &day, code, err)) {
        bool is_good = store_fact_day_start(&scan->day, &scan->pick, day.as.day, day.as.n);
        if (is_good) {
            pass_day(scan, &day.as);
            *code = store_fact_day_pick(&scan->day, &scan->pick, &n, &n_others, err);
            scan->n_others += n_others;
        } else {
            scan->damaged = day.as.day;
        }
    } else if (day.is_gone) {
        /* Once more, without what is in memory. */
        scan->reads_all = true;
        end_days(scan);
        return 0;
    }
    scan->at_day++;
    return n;
}

/* Facts of a day whose columns are all held. */
static struct store_fact_batch
batch_of(const struct store_fact_day *day, const struct store_fact_pick *pick, size_t n)
{
    bool has_times = !pick->is_falling && pick->needs[STORE_FACT_RECEIVED];
    return (struct store_fact_batch){.n = n,
                                     .at = day->at,
                                     .columns = day->columns,
                                     .times = has_times ? day->kept[STORE_FACT_RECEIVED] : NULL};
}

bool
store_fact_scan_next(struct store_fact_scan *scan, struct store_fact_batch *ret, enum fz_code *code,
                     struct fz_error *err)
{
    size_t n = 0;
    if (*code != FZ_OK) /* it may not have been opened */
        return false;
    while (*code == FZ_OK && n == 0) {
        scan->is_held = false;
        if (scan->gap.is_open)
            n = store_fact_gap_read(&scan->gap, &scan->want, scan->day.columns, scan->day.at, code,
                                    err);
        else if (scan->is_reading && scan->at_day == scan->end_day)
            end_days(scan);
        else if (scan->at_day < scan->n_days)
            n = step_day(scan, code, err);
        else if (!step_gap(scan, scan->pick.is_falling ? scan->from_ms : scan->to_ms,
                           scan->pick.is_falling ? scan->from_ms : scan->to_ms, code, err))
            break;
    }
    *ret = batch_of(&scan->day, &scan->pick, n);
    ret->n_others = scan->n_others;
    if (!scan->is_held)
        ret->times = NULL;
    return *code == FZ_OK && n > 0;
}

uint64_t
store_fact_scan_expects(const struct store_fact_scan *scan)
{
    uint64_t n = 0;
    for (size_t i = scan->at_day; i < scan->n_days; i++)
        n += scan->days[i].n;
    return n;
}

bool
store_fact_scan_lend(struct store_fact_scan *scan, struct store_fact_day *ret, enum fz_code *code,
                     struct fz_error *err)
{
    if (*code != FZ_OK || scan->gap.is_open || scan->is_reading || scan->at_day == scan->n_days)
        return false;
    const struct store_sealed_day *day = &scan->days[scan->at_day];
    if (step_gap(scan, day->day * STORE_DAY_MS, day->until_ms, code, err) ||
        find_missing(scan, day) ||
        !store_fact_day_start(&scan->day, &scan->pick, day->day, (size_t)day->n))
        return false;
    /* In exchange the scan gets the other one, which rows of a gap must fit into. */
    *code = store_fact_day_room(ret, STORE_FACT_GAP_ROWS, err);
    if (*code != FZ_OK)
        return false;
    struct store_fact_day lent = *ret;
    *ret = scan->day;
    scan->day = lent;
    pass_day(scan, day);
    scan->at_day++;
    return true;
}

enum fz_code
store_fact_scan_read(const struct store_fact_scan *scan, struct store_fact_day *lent,
                     struct store_fact_batch *ret, struct fz_error *err)
{
    size_t n = 0, n_others = 0;
    enum fz_code code = store_fact_day_pick(lent, &scan->pick, &n, &n_others, err);
    *ret = batch_of(lent, &scan->pick, n);
    return code;
}
