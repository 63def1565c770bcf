/* An open index, shared by open.c and lookup.c. */
#ifndef INDEX_READER_H
#define INDEX_READER_H

#include <stdatomic.h>

#include "base/error.h"
#include "base/file.h"
#include "symbolicator/index/format.h"
#include "symbolicator/macho/macho.h"

struct sym_index {
    struct fz_map map; /* empty if the bytes are the caller's */
    struct fz_span bytes;
    struct fz_span sections[INDEX_N_SECTIONS];
    unsigned unit_shift, page_shift;
    uint64_t base, addr_mask, info_size;
    size_t n_regions;
    struct sym_index_info info;
    size_t n_blocks;
    atomic_uchar *blocks; /* one each: 0 not looked at, else enum index_block_state */
    /* Good blocks so far; at n_blocks is_good is set and lookups ask no more. In the heap, since a
     * lookup has a const index. */
    struct index_trust {
        atomic_size_t n_good;
        atomic_bool is_good, is_damaged; /* damaged: any block */
    } * trust;
};

enum index_block_state { BLOCK_GOOD = 1, BLOCK_BAD = 2 };

/* Open an index in bytes that outlive it. Errors as of sym_index_open(). Fuzzers open indexes in the
 * heap this way, where a sanitizer sees a read past the end; in a mapped file it would not. */
FZ_MUST_CHECK enum fz_code index_open_bytes(struct fz_span bytes, struct sym_index **ret,
                                            struct fz_error *err);

/* Check the block for the first time. */
bool index_block_check(const struct sym_index *index, size_t block);

static inline bool
index_block_is_good(const struct sym_index *index, size_t block)
{
    unsigned state = atomic_load_explicit(&index->blocks[block], memory_order_relaxed);
    return state == BLOCK_GOOD || (state == 0 && index_block_check(index, block));
}

/* All blocks were found good: asked once per lookup, since it is a load that cannot be shared. */
static inline bool
index_is_trusted(const struct sym_index *index)
{
    return atomic_load_explicit(&index->trust->is_good, memory_order_relaxed);
}

/* An index as one lookup sees it. */
struct index_view {
    const struct sym_index *index;
    bool is_trusted;
};

/* `len` bytes (1 .. one block) at `offset` of the section if they are inside and undamaged, else
 * NULL. */
static inline const uint8_t *
index_at(struct index_view view, enum index_section id, uint64_t offset, size_t len)
{
    const struct sym_index *index = view.index;
    const struct fz_span *section = &index->sections[id];
    if (offset > section->len || len > section->len - offset)
        return NULL;
    const uint8_t *at = section->data + offset;
    if (view.is_trusted)
        return at;
    size_t from = (size_t)(at - index->bytes.data) - INDEX_HEADER;
    size_t first = from >> INDEX_BLOCK_SHIFT, last = (from + len - 1) >> INDEX_BLOCK_SHIFT;
    if (!index_block_is_good(index, first) || (first != last && !index_block_is_good(index, last)))
        return NULL;
    return at;
}

#endif
