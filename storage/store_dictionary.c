/*
 * Dictionaries in memory, and frames that need them.
 */
#include "storage/store_dictionary.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/digest.h"
#include "base/time.h"
#include "storage/store_private.h"

enum { NEWEST_KEPT = 64 };

/* ---- the set ---- */

/* What was found out about a key. */
struct newest {
    struct store_dictionary_key key;
    char format[STORE_TEXT_SHORT + 1];
    uint32_t id;       /* 0 = there is none */
    int64_t looked_ms; /* monotonic */
};

struct store_dictionaries {
    pthread_mutex_t lock;
    struct store_dictionary
        *kept[STORE_DICTIONARIES_KEPT]; /* counted; the one that was used last is first */
    struct newest newest[NEWEST_KEPT];
    size_t n_kept, most;   /* so many are kept */
    size_t n_newest, next; /* `next` gives its place to a new key */
};

struct store_dictionaries *
store_dictionaries_create(void)
{
    struct store_dictionaries *set = calloc(1, sizeof(*set));
    if (!set)
        return NULL;
    pthread_mutex_init(&set->lock, NULL);
    set->most = STORE_DICTIONARIES_READ;
    return set;
}

void
store_dictionaries_destroy(struct store_dictionaries *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->n_kept; i++)
        store_dictionary_release(set->kept[i]);
    pthread_mutex_destroy(&set->lock);
    free(set);
}

/* Under the lock. */
static struct store_dictionary *
find_kept(struct store_dictionaries *set, uint32_t id)
{
    struct store_dictionary *found = NULL;
    for (size_t i = 0; i < set->n_kept && !found; i++) {
        if (store_dictionary_id(set->kept[i]) != id)
            continue;
        found = set->kept[i];
        memmove(&set->kept[1], &set->kept[0], i * sizeof(set->kept[0]));
        set->kept[0] = found;
        store_dictionary_retain(found);
    }
    return found;
}

static void
keep(struct store_dictionaries *set, struct store_dictionary *dictionary)
{
    pthread_mutex_lock(&set->lock);
    if (set->n_kept == set->most)
        store_dictionary_release(set->kept[--set->n_kept]);
    memmove(&set->kept[1], &set->kept[0], set->n_kept * sizeof(set->kept[0]));
    set->kept[0] = dictionary;
    set->n_kept++;
    store_dictionary_retain(dictionary);
    pthread_mutex_unlock(&set->lock);
}

static struct newest *
find_newest(struct store_dictionaries *set, const struct store_dictionary_key *key)
{
    for (size_t i = 0; i < set->n_newest; i++) {
        struct newest *one = &set->newest[i];
        if (one->key.project_id == key->project_id && one->key.what == key->what &&
            strcmp(one->format, key->format) == 0)
            return one;
    }
    return NULL;
}

struct store_dictionary *
store_dictionary_peek(struct store_dictionaries *set, const struct store_dictionary_key *key)
{
    struct store_dictionary *found = NULL;
    if (!set || !key->format)
        return NULL;
    pthread_mutex_lock(&set->lock);
    const struct newest *one = find_newest(set, key);
    if (one && one->id)
        found = find_kept(set, one->id);
    pthread_mutex_unlock(&set->lock);
    return found;
}

/* Whether the database was asked a short time ago, and what it said. */
static bool
is_fresh(struct store_dictionaries *set, const struct store_dictionary_key *key, int64_t now,
         uint32_t *ret_id)
{
    pthread_mutex_lock(&set->lock);
    const struct newest *one = find_newest(set, key);
    bool is = one && now - one->looked_ms < STORE_DICTIONARY_LOOK_MS;
    *ret_id = is ? one->id : 0;
    pthread_mutex_unlock(&set->lock);
    return is;
}

static void
set_newest(struct store_dictionaries *set, const struct store_dictionary_key *key, int64_t now,
           uint32_t id)
{
    pthread_mutex_lock(&set->lock);
    set->most = STORE_DICTIONARIES_KEPT;
    struct newest *one = find_newest(set, key);
    if (!one && set->n_newest < NEWEST_KEPT)
        one = &set->newest[set->n_newest++];
    if (!one)
        one = &set->newest[set->next++ % NEWEST_KEPT];
    *one = (struct newest){.key = *key, .id = id, .looked_ms = now};
    snprintf(one->format, sizeof(one->format), "%s", key->format);
    one->key.format = one->format;
    pthread_mutex_unlock(&set->lock);
}

/* ---- from the database ---- */

static enum fz_code
damaged(uint32_t id, struct fz_error *err)
{
    return fz_fail(
        err, FZ_E_INTERNAL,
        "dictionary %lu of stored bodies is damaged or gone: check the disk and restore a "
        "backup (framezero restore)",
        (unsigned long)id);
}

/* The row's content, compressed or, of the first program that trained any, as it is. */
static enum fz_code
read_content(struct sql_rows *rows, uint32_t id, struct fz_arena *arena, struct fz_span *ret,
             struct fz_error *err)
{
    char want[FZ_SHA256_TEXT], is[FZ_SHA256_TEXT];
    struct fz_span content = sql_col_bytes(rows, 1);
    uint64_t size = store_packed_size(content);
    enum fz_code code = size > STORE_DICTIONARY_BYTES ? FZ_E_INTERNAL
                        : size                        ? store_unpack(content, arena, &content, err)
                                                      : FZ_OK;
    if (code == FZ_E_INTERNAL)
        return damaged(id, err);
    sql_col_copy(rows, 0, want, sizeof(want));
    fz_sha256_hex(content, is);
    if (code == FZ_OK && strcmp(want, is) != 0)
        return damaged(id, err);
    *ret = content;
    return code;
}

static enum fz_code
load(struct store *store, uint32_t id, struct store_dictionary **ret, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(id)};
    struct fz_span content = {0};
    FZ_CLEANUP(fz_arena_deinit)
    struct fz_arena arena = fz_arena_make(STORE_DICTIONARY_BYTES + 4096);
    FZ_CLEANUP(store_dictionary_releasep) struct store_dictionary *made = NULL;
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        store->sql, "SELECT sha256, content FROM dictionaries WHERE id = $1", args, 1, &rows, err);
    bool row = sql_row(&rows, &code, err);
    if (code != FZ_OK)
        return code;
    if (!row)
        return damaged(id, err);
    code = read_content(&rows, id, &arena, &content, err);
    if (code == FZ_OK)
        code = store_dictionary_make(content, &made, err);
    if (code == FZ_E_MALFORMED || (code == FZ_OK && store_dictionary_id(made) != id))
        return damaged(id, err);
    if (code != FZ_OK)
        return code;
    keep(store->dictionaries, made);
    *ret = fz_take(&made);
    return FZ_OK;
}

static enum fz_code
get(struct store *store, uint32_t id, struct store_dictionary **ret, struct fz_error *err)
{
    struct store_dictionaries *set = store->dictionaries;
    pthread_mutex_lock(&set->lock);
    struct store_dictionary *found = find_kept(set, id);
    pthread_mutex_unlock(&set->lock);
    if (!found)
        return load(store, id, ret, err);
    *ret = found;
    return FZ_OK;
}

struct store_dictionary *
store_dictionary_newest(struct store *store, const struct store_dictionary_key *key)
{
    int64_t id = 0, now = fz_time_monotonic_ms();
    uint32_t known = 0;
    struct store_dictionary *found = NULL;
    if (!store->dictionaries || !key->format || strlen(key->format) > STORE_TEXT_SHORT)
        return NULL;
    if (is_fresh(store->dictionaries, key, now, &known))
        /* It may have left its place to others since. Frames without one are readable always. */
        return known && get(store, known, &found, NULL) == FZ_OK ? found : NULL;
    const struct sql_value args[] = {sql_int(key->project_id), sql_text(key->format),
                                     sql_int(key->what)};
    enum fz_code code =
        sql_number(store->sql,
                   "SELECT id FROM dictionaries WHERE project_id = $1 AND format = $2 AND what = "
                   "$3 ORDER BY version DESC LIMIT 1",
                   args, FZ_ARRAY_LEN(args), &id, NULL, NULL);
    if (code == FZ_OK && id)
        code = get(store, (uint32_t)id, &found, NULL);
    set_newest(store->dictionaries, key, now, found ? (uint32_t)id : 0);
    return found;
}

enum fz_code
store_unpack_frame(struct store *store, struct fz_span packed, struct fz_arena *arena,
                   struct fz_span *ret, struct fz_error *err)
{
    FZ_CLEANUP(store_dictionary_releasep) struct store_dictionary *dictionary = NULL;
    uint32_t id = packed.len ? ZSTD_getDictID_fromFrame(packed.data, packed.len) : 0;
    if (id == 0)
        return store_unpack(packed, arena, ret, err);
    enum fz_code code = get(store, id, &dictionary, err);
    return code == FZ_OK ? store_unpack_with(packed, dictionary, arena, ret, err) : code;
}

enum fz_code
store_unpack_column(struct store *store, struct sql_rows *rows, int column, struct fz_arena *arena,
                    struct fz_span *ret, struct fz_error *err)
{
    struct fz_span packed = sql_col_bytes(rows, column);
    if (!packed.len || ZSTD_getDictID_fromFrame(packed.data, packed.len) == 0) {
        enum fz_code code = store_unpack(packed, arena, ret, err);
        sql_rows_close(rows);
        return code;
    }
    /* The rows end before the next query begins. */
    FZ_CLEANUP(store_freep) void *copy = malloc(packed.len);
    if (!copy)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    memcpy(copy, packed.data, packed.len);
    packed.data = copy;
    sql_rows_close(rows);
    return store_unpack_frame(store, packed, arena, ret, err);
}
