/*
 * What several samples have in common, so that no dictionary holds what is in one report only.
 *
 * A window of WINDOW bytes goes over every sample, and a table counts in how many samples its bytes occur. A second pass keeps the
 * runs of windows that occur in enough samples, and drops all else. With two samples and a limit of 2:
 *
 *     {"name":"Shop","mail":"ann@example.com","os":"17.1"}
 *     {"name":"Shop","mail":"bob@example.com","os":"17.1"}     leave {"name":"Shop","mail":" and @example.com","os":"17.1"}
 *
 * Windows are compared by hashes of 64 bits. A table for all windows of 8 MB would have 64 MB, so windows are looked at by the part
 * of the hashes that they are in, one part after the other, and a bit of each says whether it is in enough samples. ZDICT takes what
 * is left as its samples.
 */
#include <stdlib.h>
#include <string.h>

#define ZDICT_STATIC_LINKING_ONLY /* lengths of segments */
#include <zdict.h>

#include "storage/store_dictionary.h"

enum { WINDOW = 12, SHORTEST = 20, PROBES = 16, MANY = UINT16_MAX };
/* There are as many slots, of all parts together, as the samples have bytes, within these bounds. */
enum { SLOT_BITS_LEAST = 16, SLOT_BITS_MOST = 23, TABLE_BITS = 21 /* 16 MB */ };
/* ZDICT_trainFromBuffer() tries segments of 50 to 2,000 bytes and takes the length that is best for a quarter of the samples. Those
 * of real reports are few and differ, and it chooses 50 to 100: lists of images fall into pieces, and a third of the dictionary
 * stays empty. Longer ones made each format of docs/performance.md smaller, up to this length. */
enum { SEGMENT = 6400 };

/* 32 bits of the hash choose the part and the slot, the others are its tag. */
struct slot {
    uint32_t tag;
    uint16_t n, last; /* samples so far, and the last one of them, from 1 */
};

struct table {
    struct slot *slots; /* of one part */
    uint32_t mask, part, n_parts;
    uint8_t *
        shared; /* a bit for each byte of the samples: the window that begins there is in enough of them */
};

static uint64_t
hash(const uint8_t *at)
{
    static const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t a;
    uint32_t b;
    memcpy(&a, at, sizeof(a));
    memcpy(&b, at + sizeof(a), sizeof(b));
    a = (a ^ (a >> 29)) * odd;
    a = (a ^ b ^ (a >> 32)) * UINT64_C(0xD6E8FEB86659FD93);
    a = (a ^ (a >> 32)) * odd;
    return a ^ (a >> 29);
}

/* The window's slot, or a free one; NULL: the table is full there, and the window counts as rare, or it is of another part. */
static struct slot *
find(const struct table *table, const uint8_t *at, uint32_t *ret_tag)
{
    uint64_t h = hash(at);
    if (((uint32_t)h >> TABLE_BITS) % table->n_parts != table->part)
        return NULL;
    *ret_tag = (uint32_t)(h >> 32);
    for (uint32_t i = 0; i < PROBES; i++) {
        struct slot *slot = &table->slots[((uint32_t)h + i) & table->mask];
        if (slot->n == 0 || slot->tag == *ret_tag)
            return slot;
    }
    return NULL;
}

static void
count(const struct table *table, const uint8_t *sample, size_t len, uint16_t number)
{
    for (size_t at = 0; at + WINDOW <= len; at++) {
        uint32_t tag;
        struct slot *slot = find(table, sample + at, &tag);
        if (!slot || (slot->n && slot->last == number))
            continue;
        *slot = (struct slot){tag, (uint16_t)(slot->n + 1), number};
    }
}

/* `from`: where the sample is among all. */
static void
mark(const struct table *table, const uint8_t *sample, size_t len, size_t from)
{
    for (size_t at = 0; at + WINDOW <= len; at++) {
        uint32_t tag;
        const struct slot *slot = find(table, sample + at, &tag);
        if (slot && slot->n >= STORE_DICTIONARY_SHARED)
            table->shared[(from + at) / 8] |= (uint8_t)(1u << ((from + at) % 8));
    }
}

static void
mark_part(const struct table *table, const uint8_t *bytes, const size_t *lens, size_t n)
{
    memset(table->slots, 0, ((size_t)table->mask + 1) * sizeof(*table->slots));
    for (size_t i = 0, from = 0; i < n; from += lens[i++])
        count(table, bytes + from, lens[i], (uint16_t)(i + 1));
    for (size_t i = 0, from = 0; i < n; from += lens[i++])
        mark(table, bytes + from, lens[i], from);
}

/* Move what is shared to `to`, which is not beyond the sample; its length. */
static size_t
squeeze(const struct table *table, const uint8_t *sample, size_t len, size_t from, uint8_t *to)
{
    size_t kept = 0, at = 0;
    while (at + WINDOW <= len) {
        size_t end = at;
        while (end + WINDOW <= len && table->shared[(from + end) / 8] >> ((from + end) % 8) & 1)
            end++;
        size_t run = end > at ? end - at + WINDOW - 1 : 0;
        if (run >= SHORTEST) {
            memmove(to + kept, sample + at, run);
            kept += run;
        }
        at += run >= SHORTEST ? run : end - at + 1;
    }
    return kept;
}

enum fz_code
store_dictionary_share(struct fz_buffer *samples, size_t *lens, size_t n, struct fz_error *err)
{
    unsigned bits = SLOT_BITS_LEAST;
    while (bits < SLOT_BITS_MOST && samples->len >> bits)
        bits++;
    unsigned bits_of_part = bits < TABLE_BITS ? bits : TABLE_BITS;
    struct table table = {.slots = malloc(sizeof(*table.slots) << bits_of_part),
                          .mask = (UINT32_C(1) << bits_of_part) - 1,
                          .n_parts = UINT32_C(1) << (bits - bits_of_part),
                          .shared = calloc(samples->len / 8 + 1, 1)};
    uint8_t *bytes = (uint8_t *)samples->data;
    size_t from = 0, to = 0;
    if (!table.slots || !table.shared || n >= MANY) {
        free(table.slots);
        free(table.shared);
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    }
    for (; table.part < table.n_parts; table.part++)
        mark_part(&table, bytes, lens, n);
    free(table.slots);
    for (size_t i = 0; i < n; i++) {
        size_t len = lens[i];
        lens[i] = squeeze(&table, bytes + from, len, from, bytes + to);
        to += lens[i];
        from += len;
    }
    free(table.shared);
    samples->len = to;
    return FZ_OK;
}

size_t
store_dictionary_choose(const struct fz_buffer *samples, const size_t *lens, size_t n,
                        uint8_t *content)
{
    const ZDICT_fastCover_params_t how = {.k = SEGMENT, .d = 8, .zParams.compressionLevel = 1};
    size_t len = ZDICT_trainFromBuffer_fastCover(content, STORE_DICTIONARY_BYTES, samples->data,
                                                 lens, (unsigned)n, how);
    return ZDICT_isError(len) ? 0 : len;
}
