#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/list.h"
#include "server/child/parts.h"

struct entry {
    uint8_t sha256[FZ_SHA256_LEN];
    struct sym_index *index; /* NULL: it cannot be opened; not tried again for this report */
    uint64_t used;           /* the clock at its last use */
};

/* An answer to INDEX. */
struct known {
    struct fz_uuid uuid;
    unsigned rank;
    struct fz_buffer answer; /* owned */
};

/* More than a report's own images mostly are; of others the worker is asked again. */
enum { KNOWN_MAX = 64 };

struct child_cache {
    struct entry *entries;
    size_t n, room;
    uint64_t clock, hits, misses;
    uint64_t claim; /* that `known` is of */
    struct known known[KNOWN_MAX];
    size_t n_known;
};

enum fz_code
child_cache_create(struct child_cache **ret, struct fz_error *err)
{
    struct child_cache *cache = calloc(1, sizeof(*cache));
    if (!cache)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    *ret = cache;
    return FZ_OK;
}

static void
forget(struct child_cache *cache)
{
    while (cache->n_known > 0)
        fz_buffer_deinit(&cache->known[--cache->n_known].answer);
}

void
child_cache_begin(struct child_cache *cache, uint64_t claim)
{
    if (cache->claim != claim)
        forget(cache);
    cache->claim = claim;
}

void
child_cache_destroy(struct child_cache *cache)
{
    if (!cache)
        return;
    forget(cache);
    for (size_t i = 0; i < cache->n; i++)
        sym_index_close(cache->entries[i].index);
    free(cache->entries);
    free(cache);
}

/* Not kept for the next report: the same name may hold other bytes by then, repaired ones. */
static void
drop_damaged(struct child_cache *cache)
{
    for (size_t i = cache->n; i-- > 0;) {
        struct entry *entry = &cache->entries[i];
        if (entry->index && !sym_index_is_damaged(entry->index))
            continue;
        sym_index_close(entry->index);
        *entry = cache->entries[--cache->n];
    }
}

void
child_cache_trim(struct child_cache *cache)
{
    drop_damaged(cache);
    /* A linear search for the oldest: there are at most as many as images of one report. */
    while (cache->n > CHILD_CACHE_ROOM) {
        size_t oldest = 0;
        for (size_t i = 1; i < cache->n; i++) {
            if (cache->entries[i].used < cache->entries[oldest].used)
                oldest = i;
        }
        sym_index_close(cache->entries[oldest].index);
        cache->entries[oldest] = cache->entries[--cache->n];
    }
}

void
child_cache_counts(struct child_cache *cache, uint64_t *ret_hits, uint64_t *ret_misses)
{
    *ret_hits = cache->hits;
    *ret_misses = cache->misses;
    /* The worker adds up what each report brings. */
    cache->hits = cache->misses = 0;
}

static struct entry *
find(struct child_cache *cache, const uint8_t *sha256)
{
    for (size_t i = 0; i < cache->n; i++) {
        /* By content: after a new upload of the same UUID another hash asks for another index. */
        if (memcmp(cache->entries[i].sha256, sha256, FZ_SHA256_LEN) == 0)
            return &cache->entries[i];
    }
    return NULL;
}

static enum fz_code
add(struct child_cache *cache, const uint8_t *sha256, struct entry **ret, struct fz_error *err)
{
    struct entry *entries =
        fz_list_grow(NULL, cache->entries, &cache->room, cache->n + 1, sizeof(*entries));
    if (!entries)
        return fz_budget_fail(NULL, err);
    cache->entries = entries;
    struct entry *entry = &cache->entries[cache->n++];
    *entry = (struct entry){.index = NULL};
    memcpy(entry->sha256, sha256, FZ_SHA256_LEN);
    *ret = entry;
    return FZ_OK;
}

/* Get the index that the worker named last, and keep it, even as one that cannot be opened. */
static enum fz_code
fetch(struct child *child, const uint8_t *sha256, struct entry **ret, struct fz_error *err)
{
    /* The worker serves only the index that it named last, so no child can ask for others. */
    enum fz_code code = child_ask(child, PROTO_INDEX_GET, NULL, PROTO_INDEX_IS, err);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(fz_closep) int fd = proto_take_fd(&child->inbox, 0);
    if (fd < 0) /* not remembered: its blob may be back the next time */
        return fz_fail(err, FZ_E_MALFORMED, "its index is not in the store");
    struct sym_index *index = NULL;
    code = sym_index_open_fd(fd, &index, err);
    /* A lack of memory or descriptors may pass; a broken index stays broken and is remembered. */
    if (code != FZ_OK && code != FZ_E_MALFORMED && code != FZ_E_UNSUPPORTED)
        return code;
    code = add(child->cache, sha256, ret, err);
    if (code != FZ_OK)
        sym_index_close(index);
    else
        (*ret)->index = index;
    return code;
}

static const struct known *
find_known(const struct child_cache *cache, const struct fz_uuid *uuid, unsigned rank)
{
    for (size_t i = 0; i < cache->n_known; i++) {
        if (cache->known[i].rank == rank && fz_uuid_equal(&cache->known[i].uuid, uuid))
            return &cache->known[i];
    }
    return NULL;
}

/* INDEX; the answer is in the inbox, and is kept. */
static enum fz_code
ask(struct child *child, const struct fz_uuid *uuid, unsigned rank, struct fz_error *err)
{
    struct child_cache *cache = child->cache;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer question = fz_buffer_make(0);
    /* Rank 0 is the best file; the next one is asked for where the best has no name. */
    fz_buffer_append(&question, uuid->bytes, sizeof(uuid->bytes));
    proto_put_u8(&question, (uint8_t)rank);
    enum fz_code code = child_ask(child, PROTO_INDEX, &question, PROTO_INDEX_IS, err);
    if (code != FZ_OK || cache->n_known == KNOWN_MAX || find_known(cache, uuid, rank))
        return code;
    struct known *known = &cache->known[cache->n_known];
    *known = (struct known){.uuid = *uuid, .rank = rank, .answer = fz_buffer_make(0)};
    fz_buffer_append(&known->answer, child->inbox.body.data, child->inbox.body.len);
    if (known->answer.failed)
        fz_buffer_deinit(&known->answer);
    else
        cache->n_known++;
    return FZ_OK;
}

/* What an answer says. */
static enum fz_code
read_answer(struct child *child, struct fz_span answer, struct resolve_found *ret,
            uint8_t ret_sha256[FZ_SHA256_LEN], struct fz_error *err)
{
    static const char *const kinds[PROTO_SLICE_KINDS] = {
        [PROTO_SLICE_DSYM] = "dsym", [PROTO_SLICE_BINARY] = "binary"};
    struct fz_reader in = fz_reader_make(answer, "answer");
    uint8_t state = fz_read_u8(&in);
    struct fz_span hash = fz_read_bytes(&in, FZ_SHA256_LEN);
    uint8_t kind = fz_read_u8(&in);
    ret->file.name = proto_get_text(&in, PROTO_TEXT_MAX, child->arena);
    ret->file.sha256 = proto_get_text(&in, PROTO_TEXT_MAX, child->arena);
    if (in.failed)
        return fz_read_done(&in, err);
    if (state == PROTO_INDEX_MISSING)
        return fz_fail(err, FZ_E_NOT_FOUND, "no symbol file");
    if (state != PROTO_INDEX_FOUND)
        return fz_fail(err, FZ_E_MALFORMED, "its symbol file cannot be read");
    ret->file.kind = kind < PROTO_SLICE_KINDS ? kinds[kind] : NULL;
    memcpy(ret_sha256, hash.data, FZ_SHA256_LEN);
    return FZ_OK;
}

enum fz_code
child_cache_find(void *user, const struct report_image *image, unsigned rank,
                 struct resolve_found *ret, struct fz_error *err)
{
    struct child *child = user;
    struct child_cache *cache = child->cache;
    uint8_t sha256[FZ_SHA256_LEN];
    const struct known *known = find_known(cache, &image->uuid, rank);
    enum fz_code code = known ? FZ_OK : ask(child, &image->uuid, rank, err);
    if (code == FZ_OK)
        code = read_answer(child, known ? fz_buffer_span(&known->answer) : child->inbox.body, ret,
                           sha256, err);
    if (code != FZ_OK)
        return code;
    struct entry *entry = find(cache, sha256);
    if (!entry && known) {
        /* Only what the worker has named last can be fetched. */
        code = ask(child, &image->uuid, rank, err);
        if (code == FZ_OK)
            code = read_answer(child, child->inbox.body, ret, sha256, err);
        if (code != FZ_OK)
            return code;
        entry = find(cache, sha256);
    }
    if (entry) {
        cache->hits++;
    } else {
        cache->misses++;
        code = fetch(child, sha256, &entry, err);
        ret->is_damaged = code == FZ_E_MALFORMED;
        if (code != FZ_OK)
            return code;
    }
    /* A counter, not the time: two uses in one millisecond keep their order. */
    entry->used = ++cache->clock;
    ret->is_damaged = !entry->index;
    if (!entry->index)
        return fz_fail(err, FZ_E_MALFORMED, "its symbol file cannot be read");
    ret->index = entry->index;
    return FZ_OK;
}
