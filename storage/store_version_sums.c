#include "storage/store_version_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "storage/store_session_users.h"
#include "storage/store_terms.h"

static const int64_t DAY_MS = INT64_C(24) * 3600 * 1000;

/* ---- the rows ---- */

static int
compare_ids(const void *a, const void *b)
{
    const struct store_version_row *const *x = a, *const *y = b;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

static int
compare_spans(struct fz_span a, struct fz_span b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.data, b.data, len) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int
compare_texts(const void *a, const void *b)
{
    const struct store_version_row *const *x = a, *const *y = b;
    int order = compare_spans(fz_span_cstr((*x)->v.version), fz_span_cstr((*y)->v.version));
    return order ? order : compare_spans(fz_span_cstr((*x)->v.build), fz_span_cstr((*y)->v.build));
}

struct store_version_row *
store_version_sums_find(const struct store_version_sums *sums, struct fz_span version,
                        struct fz_span build)
{
    size_t low = 0, high = sums->n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        struct store_version_row *row = sums->by_text[mid];
        int order = compare_spans(version, fz_span_cstr(row->v.version));
        if (order == 0)
            order = compare_spans(build, fz_span_cstr(row->v.build));
        if (order == 0)
            return row;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

struct store_version_row *
store_version_sums_find_id(const struct store_version_sums *sums, int64_t id)
{
    const struct store_version_row key = {.id = id}, *at = &key;
    struct store_version_row **found =
        sums->n ? bsearch(&at, sums->by_id, sums->n, sizeof(at), compare_ids) : NULL;
    return found ? *found : NULL;
}

enum fz_code
store_version_sums_start(struct store_version_sums *sums, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(sums->project_id), sql_int(STORE_TERM_VERSION)};
    struct sql_list list = {.arena = sums->arena, .item = sizeof(struct store_version_row)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        sums->sql,
        "SELECT t.id, t.text, t.detail, v.first_ms, v.last_ms FROM versions v JOIN terms t ON "
        "t.id = v.version_id WHERE v.project_id = $1 AND t.field = $2 ORDER BY t.sort, t.id",
        args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_version_row *row; (row = sql_list_next(&rows, &list, &code, err));) {
        row->id = sql_col_int(&rows, 0);
        row->v = (struct store_version){.version = sql_col_text(&rows, 1, sums->arena),
                                        .build = sql_col_text(&rows, 2, sums->arena),
                                        .first_ms = sql_col_int(&rows, 3),
                                        .last_ms = sql_col_int(&rows, 4)};
        row->v.is_ordered = row->v.version && fz_version_is_ordered(row->v.version);
    }
    code = sql_list_done(&list, code, &sums->rows, &sums->n);
    if (code != FZ_OK)
        return code;
    sums->by_id = fz_arena_array(sums->arena, sums->n, sizeof(struct store_version_row *));
    sums->by_text = fz_arena_array(sums->arena, sums->n, sizeof(struct store_version_row *));
    if (!sums->by_id || !sums->by_text)
        return fz_arena_fail(sums->arena, err);
    for (size_t i = 0; i < sums->n; i++)
        sums->by_id[i] = sums->by_text[i] = &sums->rows[i];
    if (sums->n) {
        qsort(sums->by_id, sums->n, sizeof(*sums->by_id), compare_ids);
        qsort(sums->by_text, sums->n, sizeof(*sums->by_text), compare_texts);
    }
    return FZ_OK;
}

/* ---- users ---- */

static enum fz_code
add_users(struct store_version_sums *sums, struct store_version_row *row,
          enum store_version_users kind, struct fz_span bytes, struct fz_error *err)
{
    if (bytes.len == 0)
        return FZ_OK;
    if (!row->users[kind])
        row->users[kind] = fz_arena_alloc(sums->arena, sizeof(struct fz_hll));
    if (!row->users[kind])
        return fz_arena_fail(sums->arena, err);
    /* A damaged counter costs its day, not the list. */
    fz_ignore(fz_hll_merge_encoded(row->users[kind], bytes, NULL));
    return FZ_OK;
}

static uint64_t
count_users(const struct store_version_row *row, enum store_version_users kind, uint64_t most)
{
    uint64_t n = row->users[kind] ? fz_hll_count(row->users[kind]) : 0;
    /* An estimate may be more than there can be. */
    return n < most ? n : most;
}

static void
count_all_users(struct store_version_row *row)
{
    struct store_version *v = &row->v;
    v->n_users = count_users(row, STORE_USERS_REPORTS, v->n_reports);
    v->use.n_users = count_users(row, STORE_USERS_SESSIONS, v->use.n_sessions);
    v->use.n_crashed_users = count_users(row, STORE_USERS_CRASHED, v->use.n_users);
    v->day.n_users = count_users(row, STORE_USERS_DAY, v->day.n_sessions);
}

/* ---- reports ---- */

static enum fz_code
find_environment(const struct store_version_sums *sums, int64_t *ret, struct fz_error *err)
{
    const char *text = sums->range->environment;
    const struct sql_value args[] = {sql_int(sums->project_id), sql_int(STORE_TERM_ENVIRONMENT),
                                     sql_text(text)};
    bool found = false;
    *ret = text ? 0 : -1;
    /* "" is the unknown one, whose number is 0. */
    if (!text || !*text)
        return FZ_OK;
    enum fz_code code = sql_number(sums->sql,
                                   "SELECT id FROM terms WHERE project_id = $1 AND field = $2 AND "
                                   "text = $3 AND detail = ''",
                                   args, FZ_ARRAY_LEN(args), ret, &found, err);
    if (code == FZ_OK && !found)
        *ret = -2; /* no report has it */
    return code;
}

static enum fz_code
read_reports(struct store_version_sums *sums, struct fz_error *err)
{
    int64_t environment_id = -1;
    enum fz_code code = find_environment(sums, &environment_id, err);
    const struct sql_value args[] = {
        sql_int(sums->project_id), sql_int(sums->range->since_ms / DAY_MS),
        sql_int(sums->range->until_ms / DAY_MS), sql_int(environment_id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    if (code == FZ_OK)
        code = sql_query(sums->sql,
                         "SELECT version_id, n, users FROM version_days WHERE project_id = $1 AND "
                         "day >= $2 AND day <= $3 AND (environment_id = $4 OR $4 = -1)",
                         args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        struct store_version_row *row = store_version_sums_find_id(sums, sql_col_int(&rows, 0));
        int64_t n = sql_col_int(&rows, 1);
        if (!row)
            continue;
        row->v.n_reports += n > 0 ? (uint64_t)n : 0;
        code = add_users(sums, row, STORE_USERS_REPORTS, sql_col_bytes(&rows, 2), err);
    }
    return code;
}

/* ---- sessions ---- */

/* The row of a release; NULL: it has none. */
static struct store_version_row *
find_release(const struct store_version_sums *sums, const char *release)
{
    struct fz_release parts;
    if (!release)
        return NULL;
    fz_release_split(release, &parts);
    return store_version_sums_find(sums, parts.version, parts.build);
}

static void
add_use(struct store_version_use *use, int64_t n_sessions, int64_t n_crashed)
{
    use->n_sessions += n_sessions > 0 ? (uint64_t)n_sessions : 0;
    use->n_crashed += n_crashed > 0 ? (uint64_t)n_crashed : 0;
}

/* What each of the three queries of sessions asks for. */
#define IN_RANGE \
    " WHERE project_id = $1 AND day_ms >= $2 AND day_ms <= $3 AND (environment = $4 OR $5 = 1)"

static enum fz_code
query_sessions(const struct store_version_sums *sums, const char *text, int64_t since_ms,
               int64_t until_ms, struct sql_rows *ret, struct fz_error *err)
{
    const char *environment = sums->range->environment;
    const struct sql_value args[] = {sql_int(sums->project_id), sql_int(since_ms),
                                     sql_int(until_ms), sql_text(environment ? environment : ""),
                                     sql_int(environment == NULL)};
    return sql_query(sums->sql, text, args, FZ_ARRAY_LEN(args), ret, err);
}

static enum fz_code
read_counts(struct store_version_sums *sums, int64_t since_ms, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = query_sessions(
        sums,
        "SELECT release, CAST(sum(healthy + errored + abnormal + crashed) AS "
        "bigint), CAST(sum(crashed) AS bigint) FROM session_counts" IN_RANGE " GROUP BY release",
        since_ms, sums->range->until_ms, &rows, err);
    while (sql_row(&rows, &code, err)) {
        struct store_version_row *row = find_release(sums, sql_col_text(&rows, 0, sums->arena));
        int64_t n = sql_col_int(&rows, 1), n_crashed = sql_col_int(&rows, 2);
        add_use(&sums->all.v.use, n, n_crashed);
        if (row)
            add_use(&row->v.use, n, n_crashed);
    }
    return code;
}

static enum fz_code
read_users(struct store_version_sums *sums, int64_t since_ms, int64_t until_ms,
           struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    char release[STORE_TERM_BYTES];
    enum fz_code code =
        query_sessions(sums, "SELECT release, users, crashed FROM session_users" IN_RANGE, since_ms,
                       until_ms, &rows, err);
    while (sql_row(&rows, &code, err)) {
        sql_col_copy(&rows, 0, release, sizeof(release));
        struct store_version_row *row = find_release(sums, release);
        row = row ? row : &sums->all;
        code = add_users(sums, row, STORE_USERS_SESSIONS, sql_col_bytes(&rows, 1), err);
        if (code == FZ_OK)
            code = add_users(sums, row, STORE_USERS_CRASHED, sql_col_bytes(&rows, 2), err);
    }
    return code;
}

static enum fz_code
read_last_day(struct store_version_sums *sums, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    char release[STORE_TERM_BYTES];
    int64_t now = 0;
    enum fz_code code = sql_now(sums->sql, &now, err);
    if (code == FZ_OK)
        code = query_sessions(sums,
                              "SELECT release, n, users FROM session_hours WHERE project_id = $1 "
                              "AND hour_ms > $2 AND hour_ms <= $3 AND (environment = $4 OR $5 = 1)",
                              now - DAY_MS, now + DAY_MS, &rows, err);
    while (sql_row(&rows, &code, err)) {
        sql_col_copy(&rows, 0, release, sizeof(release));
        struct store_version_row *row = find_release(sums, release);
        add_use(&sums->all.v.day, sql_col_int(&rows, 1), 0);
        if (row)
            add_use(&row->v.day, sql_col_int(&rows, 1), 0);
        code =
            add_users(sums, row ? row : &sums->all, STORE_USERS_DAY, sql_col_bytes(&rows, 2), err);
    }
    return code;
}

/* The users of all versions: a counter of a day was merged once, into that of its version. */
static enum fz_code
add_up_users(struct store_version_sums *sums, struct fz_error *err)
{
    static const enum store_version_users kinds[] = {STORE_USERS_SESSIONS, STORE_USERS_CRASHED,
                                                     STORE_USERS_DAY};
    for (size_t k = 0; k < FZ_ARRAY_LEN(kinds); k++) {
        struct fz_hll **all = &sums->all.users[kinds[k]];
        for (size_t i = 0; i < sums->n; i++) {
            if (!sums->rows[i].users[kinds[k]])
                continue;
            if (!*all && !(*all = fz_arena_alloc(sums->arena, sizeof(**all))))
                return fz_arena_fail(sums->arena, err);
            fz_hll_merge(*all, sums->rows[i].users[kinds[k]]);
        }
    }
    return FZ_OK;
}

enum fz_code
store_version_sums_read(struct store_version_sums *sums, struct fz_error *err)
{
    int64_t since_ms = sums->range->since_ms;
    since_ms -= since_ms % DAY_MS;
    enum fz_code code = read_reports(sums, err);
    if (code == FZ_OK)
        code = read_counts(sums, since_ms, err);
    for (int64_t from = since_ms, end = from - 1; code == FZ_OK && end < sums->range->until_ms;
         from = end + 1) {
        end = store_session_users_step(since_ms, sums->range->until_ms, from);
        code = read_users(sums, from, end, err);
    }
    if (code == FZ_OK)
        code = read_last_day(sums, err);
    if (code == FZ_OK)
        code = add_up_users(sums, err);
    for (size_t i = 0; code == FZ_OK && i < sums->n; i++)
        count_all_users(&sums->rows[i]);
    count_all_users(&sums->all);
    return code;
}

/* ---- parts of the range ---- */

struct parts {
    const struct store_version_sums *sums;
    struct store_version_list *list;
    int64_t first_day, last_day, step; /* days; the last part ends with last_day */
    struct {
        struct fz_hll all, crashed;
    } * users; /* of each part: those of all versions, then those of each in list.most */
};

/* Those of the list with most runs, and their rows. */
static void
choose_most(struct store_version_sums *sums, struct store_version_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        uint64_t n = list->versions[i].use.n_sessions;
        size_t at = list->n_most;
        while (at > 0 && n > list->versions[list->most[at - 1]].use.n_sessions)
            at--;
        if (n == 0 || at == STORE_VERSION_MOST)
            continue;
        list->n_most += list->n_most < STORE_VERSION_MOST;
        for (size_t j = list->n_most - 1; j > at; j--)
            list->most[j] = list->most[j - 1];
        list->most[at] = i;
    }
    for (size_t i = 0; i < list->n_most; i++) {
        const struct store_version *v = &list->versions[list->most[i]];
        struct store_version_row *row =
            store_version_sums_find(sums, fz_span_cstr(v->version), fz_span_cstr(v->build));
        if (row)
            row->most = i + 1;
    }
}

static enum fz_code
cut_range(struct parts *parts, struct fz_arena *arena, struct fz_error *err)
{
    const struct store_version_range *range = parts->sums->range;
    struct store_version_list *list = parts->list;
    parts->first_day = range->since_ms / DAY_MS;
    parts->last_day = range->until_ms / DAY_MS;
    int64_t n_days = parts->last_day - parts->first_day + 1, n = (int64_t)range->n_parts;
    if (n_days < 1)
        return FZ_OK;
    parts->step = (n_days + n - 1) / n;
    list->n_parts = (size_t)((n_days + parts->step - 1) / parts->step);
    list->parts = fz_arena_array(arena, list->n_parts, sizeof(*list->parts));
    parts->users = fz_arena_array(parts->sums->arena, list->n_parts * (1 + list->n_most),
                                  sizeof(*parts->users));
    if (!list->parts || !parts->users)
        return fz_arena_fail(list->parts ? parts->sums->arena : arena, err);
    for (size_t i = list->n_parts; i-- > 0;) {
        int64_t after = parts->last_day + 1 - (int64_t)(list->n_parts - 1 - i) * parts->step;
        int64_t first = after - parts->step;
        first = first > parts->first_day ? first : parts->first_day;
        list->parts[i] =
            (struct store_version_part){.since_ms = first * DAY_MS, .until_ms = after * DAY_MS - 1};
    }
    return FZ_OK;
}

static size_t
part_of(const struct parts *parts, int64_t day_ms)
{
    return parts->list->n_parts - 1 - (size_t)((parts->last_day - day_ms / DAY_MS) / parts->step);
}

static enum fz_code
read_part_counts(struct parts *parts, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    char release[STORE_TERM_BYTES];
    enum fz_code code = query_sessions(
        parts->sums,
        "SELECT release, day_ms, healthy + errored + abnormal + crashed, crashed FROM "
        "session_counts" IN_RANGE,
        parts->first_day * DAY_MS, parts->sums->range->until_ms, &rows, err);
    while (sql_row(&rows, &code, err)) {
        sql_col_copy(&rows, 0, release, sizeof(release));
        const struct store_version_row *row = find_release(parts->sums, release);
        struct store_version_part *part =
            &parts->list->parts[part_of(parts, sql_col_int(&rows, 1))];
        int64_t n = sql_col_int(&rows, 2), n_crashed = sql_col_int(&rows, 3);
        add_use(&part->use, n, n_crashed);
        if (row && row->most)
            add_use(&part->most[row->most - 1], n, n_crashed);
    }
    return code;
}

static enum fz_code
read_part_users(struct parts *parts, int64_t since_ms, int64_t until_ms, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    char release[STORE_TERM_BYTES];
    enum fz_code code = query_sessions(
        parts->sums, "SELECT release, day_ms, users, crashed FROM session_users" IN_RANGE, since_ms,
        until_ms, &rows, err);
    while (sql_row(&rows, &code, err)) {
        sql_col_copy(&rows, 0, release, sizeof(release));
        const struct store_version_row *row = find_release(parts->sums, release);
        size_t at = part_of(parts, sql_col_int(&rows, 1)) * (1 + parts->list->n_most) +
                    (row ? row->most : 0);
        /* A damaged counter costs its day, as above. */
        fz_ignore(fz_hll_merge_encoded(&parts->users[at].all, sql_col_bytes(&rows, 2), NULL));
        fz_ignore(fz_hll_merge_encoded(&parts->users[at].crashed, sql_col_bytes(&rows, 3), NULL));
    }
    return code;
}

static void
count_part_users(const struct parts *parts)
{
    size_t n_most = parts->list->n_most;
    for (size_t i = 0; i < parts->list->n_parts; i++) {
        struct store_version_part *part = &parts->list->parts[i];
        /* That of all comes last: the others are part of it. */
        for (size_t j = n_most + 1; j-- > 0;) {
            struct store_version_use *use = j ? &part->most[j - 1] : &part->use;
            size_t at = i * (1 + n_most) + j, all = i * (1 + n_most);
            uint64_t n = fz_hll_count(&parts->users[at].all);
            uint64_t n_crashed = fz_hll_count(&parts->users[at].crashed);
            use->n_users = n < use->n_sessions ? n : use->n_sessions;
            use->n_crashed_users = n_crashed < use->n_users ? n_crashed : use->n_users;
            if (j == 0)
                break;
            fz_hll_merge(&parts->users[all].all, &parts->users[at].all);
            fz_hll_merge(&parts->users[all].crashed, &parts->users[at].crashed);
        }
    }
}

enum fz_code
store_version_sums_parts(struct store_version_sums *sums, struct fz_arena *arena,
                         struct store_version_list *list, struct fz_error *err)
{
    struct parts parts = {.sums = sums, .list = list};
    choose_most(sums, list);
    enum fz_code code = cut_range(&parts, arena, err);
    if (code == FZ_OK && list->n_parts)
        code = read_part_counts(&parts, err);
    int64_t from = parts.first_day * DAY_MS, end = from - 1;
    for (; code == FZ_OK && list->n_parts && end < sums->range->until_ms; from = end + 1) {
        end = store_session_users_step(sums->range->since_ms, sums->range->until_ms, from);
        code = read_part_users(&parts, from, end, err);
    }
    if (code == FZ_OK)
        count_part_users(&parts);
    return code;
}
