#include "storage/store_versions.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/version.h"
#include "storage/store_issues.h"
#include "storage/store_newest.h"
#include "storage/store_terms.h"
#include "storage/store_version_sums.h"

enum {
    REGRESSIONS_MAX =
        10000, /* the last ones; an issue that comes back every day must not cost more */
    FIXES_MAX = 100000,
    SUMS_BYTES = 128 * 1024 * 1024 /* of counters while a list is made */
};

/* ---- which are real ---- */

static enum fz_code
judge(struct store_version_sums *sums, struct fz_error *err)
{
    struct store_known_version newest = {NULL, NULL};
    enum fz_code code =
        store_newest_version(sums->sql, sums->project_id, sums->arena, &newest, err);
    const struct store_version *last = NULL;
    for (size_t i = 0; code == FZ_OK && i < sums->n; i++) {
        struct store_version *v = &sums->rows[i].v;
        if (!v->is_ordered)
            continue;
        v->is_invented = newest.version &&
                         fz_version_compare(v->version, v->build, newest.version, newest.build) > 0;
        if (v->is_invented)
            continue;
        if (last) {
            v->previous = last->version;
            v->previous_build = last->build;
        }
        last = v;
    }
    return code;
}

/* ---- issues ---- */

static enum fz_code
read_new(struct store_version_sums *sums, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(sums->project_id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(sums->sql,
                                  "SELECT first_version, count(*) FROM issues WHERE project_id = "
                                  "$1 AND merged_into IS NULL GROUP BY first_version",
                                  args, 1, &rows, err);
    while (sql_row(&rows, &code, err)) {
        struct store_version_row *row = store_version_sums_find_id(sums, sql_col_int(&rows, 0));
        if (row)
            row->v.n_new = (uint64_t)sql_col_int(&rows, 1);
    }
    return code;
}

struct regression {
    struct store_version_row *row;
    int64_t issue_id;
};

static int
compare_regressions(const void *a, const void *b)
{
    const struct regression *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (x->issue_id > y->issue_id) - (x->issue_id < y->issue_id);
}

static enum fz_code
query_regressed(const struct store_version_sums *sums, struct sql_rows *ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(sums->project_id), sql_int(REGRESSIONS_MAX)};
    const char *json = sums->sql->driver->as_json;
    const char *text = fz_arena_printf(
        sums->arena,
        "SELECT coalesce(i.merged_into, i.id), a.detail%s ->> 'version', a.detail%s ->> 'build' "
        "FROM issue_activity a JOIN issues i ON i.id = a.issue_id WHERE a.project_id = $1 AND "
        "a.kind = 'regressed' ORDER BY a.id DESC LIMIT $2",
        json, json);
    return text ? sql_query(sums->sql, text, args, FZ_ARRAY_LEN(args), ret, err)
                : fz_arena_fail(sums->arena, err);
}

/* An issue that came back in a version twice counts once. */
static enum fz_code
read_regressed(struct store_version_sums *sums, struct fz_error *err)
{
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct regression *list = fz_arena_array(sums->arena, REGRESSIONS_MAX, sizeof(*list));
    size_t n = 0;
    if (!list)
        return fz_arena_fail(sums->arena, err);
    enum fz_code code = query_regressed(sums, &rows, err);
    while (sql_row(&rows, &code, err) && n < REGRESSIONS_MAX) {
        const char *version = sql_col_text(&rows, 1, sums->arena),
                   *build = sql_col_text(&rows, 2, sums->arena);
        struct store_version_row *row =
            version ? store_version_sums_find(sums, fz_span_cstr(version),
                                              fz_span_cstr(build ? build : ""))
                    : NULL;
        if (row)
            list[n++] = (struct regression){row, sql_col_int(&rows, 0)};
    }
    if (n)
        qsort(list, n, sizeof(*list), compare_regressions);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        if (i == 0 || compare_regressions(&list[i - 1], &list[i]) != 0)
            list[i].row->v.n_regressed++;
    }
    return code;
}

/* The lowest real version that has a fix: the one that it was entered for, or, for "the next version",
 * the first above it; without a build, the first build of it. */
static struct store_version *
find_fix(const struct store_version_sums *sums, const char *version, const char *build,
         bool is_after)
{
    for (size_t i = 0; i < sums->n; i++) {
        struct store_version *v = &sums->rows[i].v;
        int order = fz_version_compare(v->version, v->build, version, build);
        if (v->is_invented || !v->is_ordered || order < 0 || (is_after && order == 0))
            continue;
        /* Without "after", a version above it is not the one. */
        bool is_it = is_after || fz_version_compare_bound(v->version, version) == 0;
        return is_it ? v : NULL;
    }
    return NULL;
}

static enum fz_code
read_fixed(struct store_version_sums *sums, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(sums->project_id), sql_int(STORE_ISSUE_RESOLVED),
                                     sql_int(FIXES_MAX)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    /* There are as many different fixes as versions, however many issues there are. */
    enum fz_code code = sql_query(
        sums->sql,
        "SELECT f.version, f.build, f.is_after, count(*) FROM issues i JOIN issue_fixes f ON "
        "f.issue_id = i.id WHERE i.project_id = $1 AND i.state = $2 AND i.merged_into IS NULL "
        "GROUP BY f.version, f.build, f.is_after LIMIT $3",
        args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        const char *version = sql_col_text(&rows, 0, sums->arena),
                   *build = sql_col_text(&rows, 1, sums->arena);
        struct store_version *v =
            version && build ? find_fix(sums, version, build, sql_col_int(&rows, 2) != 0) : NULL;
        if (v)
            v->n_fixed += (uint64_t)sql_col_int(&rows, 3);
    }
    return code;
}

/* ---- the list ---- */

static enum fz_code
copy_version(const struct store_version *from, struct fz_arena *arena, struct store_version *ret,
             struct fz_error *err)
{
    const char **texts[] = {&ret->version, &ret->build, &ret->previous, &ret->previous_build};
    *ret = *from;
    for (size_t i = 0; i < FZ_ARRAY_LEN(texts); i++) {
        if (*texts[i] && !(*texts[i] = fz_arena_strdup(arena, *texts[i])))
            return fz_arena_fail(arena, err);
    }
    return FZ_OK;
}

static unsigned
class_of(const struct store_version *v)
{
    return !v->is_ordered ? 2 : v->is_invented ? 1 : 0;
}

static enum fz_code
copy_list(const struct store_version_sums *sums, struct fz_arena *arena,
          struct store_version_list *ret, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    size_t room = sums->n < sums->range->limit ? sums->n : sums->range->limit;
    struct store_version_list list = {
        .n_all = sums->n, .use = sums->all.v.use, .day = sums->all.v.day};
    list.versions = fz_arena_array(arena, room, sizeof(*list.versions));
    if (!list.versions)
        return fz_arena_fail(arena, err);
    for (unsigned class = 0; class <= 2; class ++) {
        for (size_t i = sums->n; code == FZ_OK && i-- > 0 && list.n < room;) {
            if (class_of(&sums->rows[i].v) == class)
                code = copy_version(&sums->rows[i].v, arena, &list.versions[list.n++], err);
        }
    }
    if (code == FZ_OK)
        *ret = list;
    return code;
}

enum fz_code
store_version_list(struct store *store, int64_t project_id, const struct store_version_range *range,
                   struct fz_arena *arena, struct store_version_list *ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena own = fz_arena_make(SUMS_BYTES);
    struct store_version_sums sums = {
        .sql = store->sql, .project_id = project_id, .range = range, .arena = &own};
    enum fz_code code = store_version_sums_start(&sums, err);
    if (code == FZ_OK)
        code = judge(&sums, err);
    if (code == FZ_OK)
        code = store_version_sums_read(&sums, err);
    if (code == FZ_OK)
        code = read_new(&sums, err);
    if (code == FZ_OK)
        code = read_regressed(&sums, err);
    if (code == FZ_OK)
        code = read_fixed(&sums, err);
    struct store_version_list list;
    if (code == FZ_OK)
        code = copy_list(&sums, arena, &list, err);
    if (code == FZ_OK && range->n_parts)
        code = store_version_sums_parts(&sums, arena, &list, err);
    if (code == FZ_OK)
        *ret = list;
    return code;
}

/* ---- the newest ---- */

enum fz_code
store_versions_newest(struct store *store, int64_t project_id, struct fz_arena *arena,
                      struct store_newest_versions *ret, struct fz_error *err)
{
    struct store_known_version newest = {NULL, NULL};
    uint8_t key[FZ_VERSION_KEY_MAX];
    struct store_newest_versions found = {.n = 0};
    struct sql_list list = {.arena = arena, .item = sizeof(int64_t)};
    enum fz_code code = store_newest_version(store->sql, project_id, arena, &newest, err);
    if (code != FZ_OK || !newest.version) {
        if (code == FZ_OK)
            *ret = found;
        return code;
    }
    size_t len = fz_version_key(newest.version, newest.build, key), n_texts = 0;
    const struct sql_value args[] = {sql_int(project_id), sql_int(STORE_TERM_VERSION),
                                     sql_blob(fz_span_make(key, len))};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    code = sql_query(store->sql,
                     "SELECT id, text FROM terms WHERE project_id = $1 AND field = $2 AND sort IS "
                     "NOT NULL AND sort <= $3 ORDER BY sort DESC, id",
                     args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err)) {
        const char *text = sql_col_text(&rows, 1, arena);
        if (!text || !fz_version_is_ordered(text))
            break;
        bool is_last =
            n_texts > 0 && fz_version_compare(found.texts[n_texts - 1], NULL, text, NULL) == 0;
        if (!is_last && n_texts == FZ_ARRAY_LEN(found.texts))
            break;
        if (!is_last)
            found.texts[n_texts++] = text;
        int64_t *ids = fz_list_grow_in(arena, list.items, &list.room, list.n + 1, list.item);
        if (!ids)
            return fz_arena_fail(arena, err);
        ids[list.n++] = sql_col_int(&rows, 0);
        list.items = ids;
    }
    found.ids = list.items;
    found.n = list.n;
    if (code == FZ_OK)
        *ret = found;
    return code;
}
