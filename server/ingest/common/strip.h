/*
 * Captured memory is overwritten in a body, in place: its length and the places of all else stay as
 * they are, so attachments keep their offsets, and the body is still of its format.
 *
 * Memory is overwritten as a whole. On stacks, words that lead into an image or onto a stack stay,
 * so that the stack can be unwound again when symbol files come late; all other words become 0.
 */
#ifndef INGEST_COMMON_STRIP_H
#define INGEST_COMMON_STRIP_H

#include "base/arena.h"
#include "base/error.h"
#include "server/report/report.h"

struct ingest_strip_range {
    uint64_t start, end;
};

struct ingest_strip {
    uint8_t *bytes; /* the copy of the body that is changed */
    size_t len;
    struct fz_arena *arena;
    struct ingest_strip_range *images, *stacks; /* sorted, apart from each other */
    size_t n_images, n_stacks;
    unsigned word;      /* bytes of a pointer */
    bool is_signed;     /* return addresses may have a signature in their upper bits */
    bool is_big_endian; /* of a processor that is not unwound: no word stays */
    unsigned n_dumps;   /* places where a minidump may begin */
    bool found;         /* there was memory */
    bool failed;        /* out of memory */
};

/* Ranges are those of the report that was read from the body. LIMIT, NO_MEMORY: the arena. */
FZ_MUST_CHECK enum fz_code ingest_strip_init(struct ingest_strip *strip, struct fz_span body,
                                             const struct report *report, struct fz_arena *arena,
                                             struct fz_error *err);

/* Only the ranges and what depends on the processor, in `strip`, which has the bytes; fails as above. */
FZ_MUST_CHECK enum fz_code ingest_strip_ranges(struct ingest_strip *strip,
                                               const struct report *report, struct fz_arena *arena,
                                               struct fz_error *err);
/* Would both keep the same words? */
bool ingest_strip_same_ranges(const struct ingest_strip *a, const struct ingest_strip *b);

/* Of `n` bytes that were at `addr` on a stack, only words that are pointers stay. */
void ingest_strip_words(struct ingest_strip *strip, uint8_t *bytes, size_t n, uint64_t addr);
/* Would ingest_strip_words() leave the bytes as they are? */
bool ingest_strip_is_clean(const struct ingest_strip *strip, struct fz_span bytes, uint64_t addr);
/* Does a part of the range belong to a stack? */
bool ingest_strip_is_stack(const struct ingest_strip *strip, uint64_t addr, uint64_t size);

/* Objects of JSON, and sections of Apple's text, wherever they begin in the body: members "stack",
 * "memory", "notable_addresses"; "Stack Dump", "Notable Addresses". strip_text.c */
void ingest_strip_texts(struct ingest_strip *strip);

#endif
