#include "server/cli/lookup_pieces.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { SLOTS_FIRST = 4096, CHUNK = 256 * 1024, BYTES_MAX = 64 * 1024 * 1024 };

/* At most half of its slots are taken, so every search ends. One that has been replaced stays,
 * since a thread may be in the middle of it. */
struct table {
    struct table *older;
    size_t n_slots; /* a power of two */
    atomic_size_t n_taken;
    _Atomic(const struct lookup_piece *) slots[];
};

/* Memory for pieces. */
struct chunk {
    struct chunk *next;
    char bytes[]; /* aligned as the pointer before them is */
};

struct lookup_pieces {
    _Atomic(struct table *) table;
    _Atomic(struct chunk *) chunks;
    atomic_size_t n_bytes;
    atomic_flag is_growing; /* stays set once there is no memory for a larger table */
};

static inline size_t
first_slot(const struct table *table, const char *first, const char *second)
{
    uint64_t hash = ((uint64_t)(uintptr_t)first ^ (uint64_t)(uintptr_t)second << 20) *
                    UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 32) & (table->n_slots - 1);
}

/* The piece, or the free slot for it. */
static inline const struct lookup_piece *
search(struct table *table, const char *first, const char *second, size_t *ret_slot)
{
    for (size_t at = first_slot(table, first, second);; at = (at + 1) & (table->n_slots - 1)) {
        const struct lookup_piece *piece =
            atomic_load_explicit(&table->slots[at], memory_order_acquire);
        *ret_slot = at;
        if (!piece || (piece->key[0] == first && piece->key[1] == second))
            return piece;
    }
}

static inline struct table *
current(struct lookup_pieces *pieces)
{
    return atomic_load_explicit(&pieces->table, memory_order_acquire);
}

const struct lookup_piece *
lookup_pieces_find(struct lookup_pieces *pieces, const char *first, const char *second)
{
    size_t at;
    return search(current(pieces), first, second, &at);
}

void
lookup_pieces_prefetch(struct lookup_pieces *pieces, const char *first, const char *second)
{
    struct table *table = current(pieces);
    __builtin_prefetch(&table->slots[first_slot(table, first, second)]);
}

/* Put the piece into the table unless its keys are there or the table is full. */
static void
insert(struct table *table, const struct lookup_piece *piece)
{
    /* Counted before the search: a slot may stay unused then, but the table never fills up. */
    size_t at, taken = atomic_fetch_add_explicit(&table->n_taken, 1, memory_order_relaxed);
    if (2 * taken >= table->n_slots)
        return;
    const struct lookup_piece *there = NULL;
    while (!search(table, piece->key[0], piece->key[1], &at) &&
           !atomic_compare_exchange_strong_explicit(&table->slots[at], &there, piece,
                                                    memory_order_release, memory_order_relaxed))
        there = NULL;
}

/* A table with twice the slots in the place of the one that is there. */
static bool
grow(struct lookup_pieces *pieces)
{
    /* Kept until the end: another thread may be in the middle of a search in it. */
    struct table *older = current(pieces);
    size_t n = older ? 2 * older->n_slots : SLOTS_FIRST;
    struct table *table = calloc(1, sizeof(*table) + n * sizeof(table->slots[0]));
    if (!table)
        return false;
    table->older = older;
    table->n_slots = n;
    for (size_t i = 0; older && i < older->n_slots; i++) {
        const struct lookup_piece *piece =
            atomic_load_explicit(&older->slots[i], memory_order_acquire);
        if (piece)
            insert(table, piece);
    }
    /* Released only when it is filled: readers then find all earlier pieces in it. */
    atomic_store_explicit(&pieces->table, table, memory_order_release);
    return true;
}

/* Room for a piece with that many bytes of text, NULL when memory is used up. */
static struct lookup_piece *
take(struct lookup_pieces *pieces, struct lookup_pieces_room *room, size_t len)
{
    if (len > BYTES_MAX)
        return NULL;
    /* Rounded up, so that the next piece is aligned as well. */
    size_t need = (sizeof(struct lookup_piece) + len + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
    if (need > room->left) {
        size_t size = need > CHUNK ? need : CHUNK;
        /* Not subtracted again: once the limit is reached, no thread adds any more. */
        if (atomic_fetch_add(&pieces->n_bytes, size) + size > BYTES_MAX)
            return NULL;
        struct chunk *chunk = malloc(sizeof(*chunk) + size);
        if (!chunk)
            return NULL;
        chunk->next = atomic_load(&pieces->chunks);
        /* Only lookup_pieces_destroy() reads this list, when no other thread is left. */
        while (!atomic_compare_exchange_weak(&pieces->chunks, &chunk->next, chunk))
            ;
        *room = (struct lookup_pieces_room){chunk->bytes, size};
    }
    struct lookup_piece *piece = (struct lookup_piece *)(void *)room->at;
    room->at += need;
    room->left -= need;
    return piece;
}

const struct lookup_piece *
lookup_pieces_add(struct lookup_pieces *pieces, struct lookup_pieces_room *room, const char *first,
                  const char *second, struct fz_span text)
{
    struct lookup_piece *piece = take(pieces, room, text.len);
    if (!piece)
        return NULL;
    piece->key[0] = first;
    piece->key[1] = second;
    piece->len = text.len;
    if (text.len)
        memcpy(piece->text, text.data, text.len);
    struct table *table = current(pieces);
    /* One thread grows the table. The others go on with the full one meanwhile; a piece that finds
     * no slot there is made again later. */
    size_t taken = atomic_load_explicit(&table->n_taken, memory_order_relaxed);
    if (2 * taken >= table->n_slots && !atomic_flag_test_and_set(&pieces->is_growing) &&
        grow(pieces))
        atomic_flag_clear(&pieces->is_growing);
    insert(current(pieces), piece);
    return piece;
}

struct lookup_pieces *
lookup_pieces_create(void)
{
    struct lookup_pieces *pieces = calloc(1, sizeof(*pieces));
    if (!pieces)
        return NULL;
    atomic_flag_clear(&pieces->is_growing);
    /* The first table, so that a search never meets NULL. */
    if (!grow(pieces)) {
        free(pieces);
        return NULL;
    }
    return pieces;
}

void
lookup_pieces_destroy(struct lookup_pieces *pieces)
{
    if (!pieces)
        return;
    for (struct table *older, *table = current(pieces); table; table = older) {
        older = table->older;
        free(table);
    }
    for (struct chunk *next, *chunk = atomic_load(&pieces->chunks); chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(pieces);
}
