/*
 * The one bounded reader: walks foreign bytes in either byte order and can never leave them.
 *
 * A read past the end returns 0, sets a sticky failure and remembers the first bad offset; so a
 * record is read field by field and checked once with fz_read_done(). Integers are little-endian
 * unless `big_endian` is set.
 */
#ifndef FZ_READER_H
#define FZ_READER_H

#include "base/error.h"
#include "base/span.h"

struct fz_reader {
    const uint8_t *data;
    size_t len;
    size_t pos;
    bool big_endian;
    bool failed;
    size_t bad_offset; /* where the first failed read began */
    const char *what;  /* names the input in messages: "macho", "debug_line" */
    uint64_t base;     /* added to offsets in messages: where `data` begins in the whole file */
};

struct fz_reader fz_reader_make(struct fz_span bytes, const char *what);

uint8_t fz_read_u8(struct fz_reader *r);
uint16_t fz_read_u16(struct fz_reader *r);
uint32_t fz_read_u32(struct fz_reader *r);
uint64_t fz_read_u64(struct fz_reader *r);

/* An unsigned integer of `size` bytes, size 1 to 8; any other size is a failure. */
uint64_t fz_read_uint(struct fz_reader *r, unsigned size);

/* LEB128 (DWARF 5, 7.6). Bits above the 64th are dropped; more than 16 bytes is a failure. */
uint64_t fz_read_uleb(struct fz_reader *r);
int64_t fz_read_sleb(struct fz_reader *r);

/* The bytes up to the next NUL, which is consumed and not part of the span. No NUL is a failure. */
struct fz_span fz_read_cstr(struct fz_reader *r);

/* The next `len` bytes, borrowed from the input; an empty span on failure. */
struct fz_span fz_read_bytes(struct fz_reader *r, uint64_t len);

void fz_read_skip(struct fz_reader *r, uint64_t len);
void fz_read_seek(struct fz_reader *r, uint64_t pos);

static inline size_t
fz_read_left(const struct fz_reader *r)
{
    return r->len - r->pos;
}

/* True if `count` records of `record_size` bytes still fit; fails the reader otherwise. Ask before
 * every loop and every allocation whose size comes from the input. */
bool fz_read_fits(struct fz_reader *r, uint64_t count, uint64_t record_size);

/* FZ_OK, or FZ_E_MALFORMED "<what>: truncated at byte <n> of <len>". */
FZ_MUST_CHECK enum fz_code fz_read_done(const struct fz_reader *r, struct fz_error *err);

#endif
