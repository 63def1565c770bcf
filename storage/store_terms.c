/*
 * Numbers for texts.
 *
 * A report has about thirty terms, nearly all of which were there before, so each connection
 * remembers those it saw last: a table in which a new entry takes the place of the one with the same
 * hash. An id enters it only once it is committed, so a transaction that fails leaves nothing.
 */
#include "storage/store_terms.h"

#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "storage/store_usage.h"

const struct store_term_kind store_term_kinds[STORE_TERMS] = {
    [STORE_TERM_VERSION] = {"version", "version_id", 5000, false, true, true},
    [STORE_TERM_OS] = {"os", "os_id", 2000, false, true, true},
    [STORE_TERM_DEVICE] = {"device", "device_id", 2000, false, true, false},
    [STORE_TERM_ARCH] = {"arch", "arch_id", 100, false, true, false},
    [STORE_TERM_ENVIRONMENT] = {"environment", "environment_id", 200, false, true, false},
    [STORE_TERM_KIND] = {"kind", "kind_id", 100, false, false, false},
    [STORE_TERM_APP] = {"app", "app_id", 1000, false, false, false},
    [STORE_TERM_EXCEPTION] = {"exception", "exception_id", 20000, true, false, false},
    [STORE_TERM_SIGNAL] = {"signal", "signal_id", 200, false, false, false},
    [STORE_TERM_REASON] = {"reason", "reason_id", 200000, true, false, false},
    /* Counting people exactly needs all of them. */
    [STORE_TERM_USER] = {"user", "user_id", 100 * 1000 * 1000, false, false, false},
    [STORE_TERM_TAG] = {"tag", NULL, 200000, false, false, false},
    [STORE_TERM_FUNCTION] = {"function", NULL, 1000000, true, false, false},
    [STORE_TERM_FILE] = {"file", NULL, 500000, true, false, false},
    [STORE_TERM_RELEASE] = {"release", NULL, 10000, false, false, false},
    [STORE_TERM_OS_BUILD] = {"os_build", NULL, 10000, false, false, false},
    [STORE_TERM_MACH] = {"mach", NULL, 1000, false, false, false},
    [STORE_TERM_CODE] = {"code", NULL, 10000, false, false, false},
    [STORE_TERM_FORMAT] = {"format", NULL, 1000, false, false, false},
};

/* ---- the cache ---- */

enum { CACHE_SLOTS = 16384 };

struct store_term_cache {
    struct term_slot {
        char *key; /* owned */
        size_t len;
        int64_t id;
    } slots[CACHE_SLOTS];
};

void
store_term_cache_destroy(struct store_term_cache *cache)
{
    for (size_t i = 0; cache && i < CACHE_SLOTS; i++)
        free(cache->slots[i].key);
    free(cache);
}

/* One term while it is looked up. */
struct wanted {
    struct store_term_ref *ref;
    struct sql_value text, detail;
    struct fz_span key; /* of the cache */
    struct term_slot *slot;
};

static uint64_t
hash(struct fz_span bytes)
{
    uint64_t h = 0xcbf29ce484222325; /* FNV-1a */
    for (size_t i = 0; i < bytes.len; i++)
        h = (h ^ bytes.data[i]) * 0x100000001b3;
    return h;
}

/* False: out of memory. */
static bool
prepare(struct store_term_cache *cache, int64_t project_id, struct store_term_ref *ref,
        struct fz_arena *arena, struct wanted *ret)
{
    struct wanted w = {
        .ref = ref,
        .text = sql_text_clean(arena, ref->text, STORE_TERM_BYTES),
        .detail = sql_text_clean(arena, ref->detail ? ref->detail : "", STORE_TERM_BYTES / 2)};
    if (w.text.kind == SQL_BAD || w.detail.kind == SQL_BAD)
        return false;
    int64_t head[2] = {project_id, ref->term};
    size_t len = sizeof(head) + w.text.bytes.len + 1 + w.detail.bytes.len;
    char *key = fz_arena_alloc(arena, len);
    if (!key)
        return false;
    memcpy(key, head, sizeof(head));
    if (w.text.bytes.len)
        memcpy(key + sizeof(head), w.text.bytes.data, w.text.bytes.len);
    /* The byte between them is 0, which neither text contains. */
    if (w.detail.bytes.len)
        memcpy(key + len - w.detail.bytes.len, w.detail.bytes.data, w.detail.bytes.len);
    w.key = fz_span_make(key, len);
    w.slot = &cache->slots[hash(w.key) % CACHE_SLOTS];
    *ret = w;
    return true;
}

static bool
cache_has(struct wanted *w)
{
    const struct term_slot *slot = w->slot;
    if (!slot->key || slot->len != w->key.len || memcmp(slot->key, w->key.data, slot->len) != 0)
        return false;
    w->ref->id = slot->id;
    return true;
}

static void
cache_put(const struct wanted *w)
{
    char *key = malloc(w->key.len);
    /* Without memory the next report asks the database again. */
    if (!key)
        return;
    memcpy(key, w->key.data, w->key.len);
    free(w->slot->key);
    *w->slot = (struct term_slot){key, w->key.len, w->ref->id};
}

/* ---- the table ---- */

static enum fz_code
find(struct sql *sql, int64_t project_id, struct wanted *w, bool *ret_found, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(w->ref->term), w->text,
                                     w->detail};
    return sql_number(sql,
                      "SELECT id FROM terms WHERE project_id = $1 AND field = $2 AND text = $3 AND "
                      "detail = $4",
                      args, FZ_ARRAY_LEN(args), &w->ref->id, ret_found, err);
}

/* What versions are ordered by; NULL for other terms. */
static struct sql_value
sort_key(const struct wanted *w, uint8_t room[FZ_VERSION_KEY_MAX])
{
    struct sql_value none = sql_blob((struct fz_span){NULL, 0});
    none.is_null = true;
    if (!store_term_kinds[w->ref->term].has_order)
        return none;
    const char *text = (const char *)w->text.bytes.data,
               *detail = (const char *)w->detail.bytes.data;
    /* Of a system only the version has an order: 18.1 comes after 17.7 on each of them. */
    size_t len = w->ref->term == STORE_TERM_OS ? fz_version_key(detail, NULL, room)
                                               : fz_version_key(text, detail, room);
    return sql_blob(fz_span_make(room, len));
}

static enum fz_code
insert(struct sql *tx, int64_t project_id, struct wanted *w, struct fz_error *err)
{
    uint8_t room[FZ_VERSION_KEY_MAX];
    const struct sql_value args[] = {sql_int(project_id), sql_int(w->ref->term), w->text, w->detail,
                                     sort_key(w, room)};
    bool is_new = false;
    enum fz_code code = sql_number(
        tx,
        "INSERT INTO terms (project_id, field, text, detail, sort) VALUES ($1, $2, $3, $4, $5) "
        "ON CONFLICT (project_id, field, text, detail) DO NOTHING RETURNING id",
        args, FZ_ARRAY_LEN(args), &w->ref->id, &is_new, err);
    if (code != FZ_OK)
        return code;
    /* Another worker was faster. */
    if (!is_new)
        return find(tx, project_id, w, &is_new, err);
    const struct sql_value row[] = {sql_int(w->ref->id), w->text};
    if (store_term_kinds[w->ref->term].is_searched && tx->driver->text_added)
        code = sql_exec(tx, tx->driver->text_added, row, FZ_ARRAY_LEN(row), NULL, err);
    if (code == FZ_OK)
        code = sql_exec(tx,
                        "INSERT INTO term_counts (project_id, field, n) VALUES ($1, $2, 1) ON "
                        "CONFLICT (project_id, field) DO UPDATE SET n = term_counts.n + 1",
                        args, 2, NULL, err);
    return code;
}

/* Too many distinct texts: count this one as "(other)". */
static enum fz_code
drop(struct sql *tx, int64_t project_id, struct wanted *w, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(w->ref->term)};
    bool found = false;
    enum fz_code code = sql_exec(tx,
                                 "UPDATE term_counts SET n_dropped = n_dropped + 1 WHERE "
                                 "project_id = $1 AND field = $2",
                                 args, FZ_ARRAY_LEN(args), NULL, err);
    w->ref->is_other = true;
    w->text = sql_text(STORE_TERM_OTHER);
    w->detail = sql_text("");
    if (code == FZ_OK)
        code = find(tx, project_id, w, &found, err);
    return code == FZ_OK && !found ? insert(tx, project_id, w, err) : code;
}

static enum fz_code
add(struct sql *tx, int64_t project_id, struct wanted *w, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id), sql_int(w->ref->term)};
    bool found = false;
    int64_t n = 0;
    /* An earlier one of these may have been the same text. */
    enum fz_code code = find(tx, project_id, w, &found, err);
    if (code != FZ_OK || found)
        return code;
    code = sql_number(tx, "SELECT n FROM term_counts WHERE project_id = $1 AND field = $2", args,
                      FZ_ARRAY_LEN(args), &n, NULL, err);
    if (code != FZ_OK)
        return code;
    return n >= store_term_kinds[w->ref->term].most ? drop(tx, project_id, w, err)
                                                    : insert(tx, project_id, w, err);
}

/* In one order, so that workers that add the same terms at once cannot wait for each other. */
static int
compare_wanted(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;
    size_t len = x->key.len < y->key.len ? x->key.len : y->key.len;
    int order = memcmp(x->key.data, y->key.data, len);
    return order ? order : (x->key.len > y->key.len) - (x->key.len < y->key.len);
}

static enum fz_code
add_all(struct store *store, int64_t project_id, struct wanted *wanted, size_t n,
        struct fz_error *err)
{
    qsort(wanted, n, sizeof(*wanted), compare_wanted);
    FZ_CLEANUP(sql_rollbackp) struct sql *tx = NULL;
    /* What uses a term is stored after it. */
    enum fz_code code = sql_begin_light(store->sql, &tx, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++)
        code = add(tx, project_id, &wanted[i], err);
    return code == FZ_OK ? sql_commit(&tx, err) : code;
}

enum fz_code
store_terms_number(struct store *store, int64_t project_id, struct store_term_ref *refs, size_t n,
                   struct fz_arena *arena, struct fz_error *err)
{
    if (!store->terms)
        store->terms = calloc(1, sizeof(*store->terms));
    struct wanted *wanted = fz_arena_array(arena, n, sizeof(*wanted));
    if (!wanted || !store->terms)
        return store->terms ? fz_arena_fail(arena, err)
                            : fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    size_t n_wanted = 0;
    for (size_t i = 0; i < n; i++) {
        struct wanted *w = &wanted[n_wanted];
        bool found = false;
        refs[i].id = 0;
        if ((!refs[i].text || !*refs[i].text) && (!refs[i].detail || !*refs[i].detail))
            continue;
        if (!refs[i].text)
            refs[i].text = "";
        if (!prepare(store->terms, project_id, &refs[i], arena, w))
            return fz_arena_fail(arena, err);
        if (cache_has(w))
            continue;
        enum fz_code code = find(store->sql, project_id, w, &found, err);
        if (code != FZ_OK)
            return code;
        if (found)
            cache_put(w);
        else
            n_wanted++;
    }
    if (n_wanted == 0)
        return FZ_OK;
    int n_tries = 0;
    enum fz_code code;
    do
        code = add_all(store, project_id, wanted, n_wanted, err);
    while (sql_try_again(store->sql, code, &n_tries));
    /* What counts as "(other)" is not remembered: there may be a million of them. */
    for (size_t i = 0; code == FZ_OK && i < n_wanted; i++) {
        if (!fz_span_is(wanted[i].text.bytes, STORE_TERM_OTHER))
            cache_put(&wanted[i]);
    }
    return code;
}

/* ---- what was too much ---- */

enum fz_code
store_usage_full(struct store *store, int64_t project_id, struct fz_arena *arena,
                 struct store_full_field **ret, size_t *ret_n, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(project_id)};
    struct sql_list list = {.arena = arena, .item = sizeof(struct store_full_field)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(store->sql,
                                  "SELECT field, n_dropped FROM term_counts WHERE project_id = $1 "
                                  "AND n_dropped > 0 ORDER BY field",
                                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_full_field *one; (one = sql_list_next(&rows, &list, &code, err));) {
        int64_t field = sql_col_int(&rows, 0);
        /* One of a newer program has no name here. */
        bool is_known = field > 0 && field < STORE_TERMS;
        *one = (struct store_full_field){
            .name = is_known ? store_term_kinds[field].name : "unknown",
            .limit = is_known ? store_term_kinds[field].most : 0,
            .n_dropped = (uint64_t)sql_col_int(&rows, 1),
        };
    }
    return sql_list_done(&list, code, ret, ret_n);
}
