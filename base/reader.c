#include "base/reader.h"

enum { LEB_MAX_BYTES = 16 };

struct fz_reader
fz_reader_make(struct fz_span bytes, const char *what)
{
    return (struct fz_reader){.data = bytes.data, .len = bytes.len, .what = what};
}

static void
fail(struct fz_reader *r)
{
    if (r->failed)
        return;
    r->failed = true;
    /* The first one: what follows it was read from nowhere. */
    r->bad_offset = r->pos;
}

/* The next `len` bytes, or NULL once the reader has failed or would leave its input. */
static const uint8_t *
take(struct fz_reader *r, uint64_t len)
{
    if (r->failed || len > r->len - r->pos) {
        fail(r);
        return NULL;
    }
    const uint8_t *at = r->data + r->pos;
    r->pos += (size_t)len;
    return at;
}

uint64_t
fz_read_uint(struct fz_reader *r, unsigned size)
{
    if (size == 0 || size > 8) {
        fail(r);
        return 0;
    }
    const uint8_t *p = take(r, size);
    if (!p)
        return 0;
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)p[i] << (8 * (r->big_endian ? size - 1 - i : i));
    return value;
}

uint8_t
fz_read_u8(struct fz_reader *r)
{
    const uint8_t *p = take(r, 1);
    return p ? *p : 0;
}

uint16_t
fz_read_u16(struct fz_reader *r)
{
    return (uint16_t)fz_read_uint(r, 2);
}

uint32_t
fz_read_u32(struct fz_reader *r)
{
    return (uint32_t)fz_read_uint(r, 4);
}

uint64_t
fz_read_u64(struct fz_reader *r)
{
    return fz_read_uint(r, 8);
}

static uint64_t
read_leb(struct fz_reader *r, bool is_signed)
{
    size_t start = r->pos;
    uint64_t value = 0;
    for (unsigned n = 0; n < LEB_MAX_BYTES; n++) {
        const uint8_t *p = take(r, 1);
        if (!p)
            return 0;
        /* Bits above the 64th are dropped: writers may pad numbers to a fixed length. */
        if (n < 10)
            value |= (uint64_t)(*p & 0x7f) << (7 * n);
        if (*p & 0x80)
            continue;
        /* The highest of the last byte's 7 bits is the sign. */
        unsigned bits = 7 * (n + 1);
        if (is_signed && (*p & 0x40) && bits < 64)
            value |= UINT64_MAX << bits;
        return value;
    }
    /* The message names where the number began. */
    r->pos = start;
    fail(r);
    return 0;
}

uint64_t
fz_read_uleb(struct fz_reader *r)
{
    return read_leb(r, false);
}

int64_t
fz_read_sleb(struct fz_reader *r)
{
    return (int64_t)read_leb(r, true);
}

struct fz_span
fz_read_cstr(struct fz_reader *r)
{
    if (r->failed || r->pos == r->len) {
        fail(r);
        return (struct fz_span){NULL, 0};
    }
    const uint8_t *start = r->data + r->pos;
    const uint8_t *nul = memchr(start, 0, r->len - r->pos);
    if (!nul) {
        fail(r);
        return (struct fz_span){NULL, 0};
    }
    size_t len = (size_t)(nul - start);
    r->pos += len + 1;
    return fz_span_make(start, len);
}

struct fz_span
fz_read_bytes(struct fz_reader *r, uint64_t len)
{
    /* An empty input may be NULL, to which UBSan allows no offset. */
    const uint8_t *p = len ? take(r, len) : NULL;
    return p ? fz_span_make(p, (size_t)len) : (struct fz_span){NULL, 0};
}

void
fz_read_skip(struct fz_reader *r, uint64_t len)
{
    if (r->failed || len > r->len - r->pos)
        fail(r);
    else
        r->pos += (size_t)len;
}

void
fz_read_seek(struct fz_reader *r, uint64_t pos)
{
    if (r->failed)
        return;
    if (pos > r->len)
        fail(r);
    else
        r->pos = (size_t)pos;
}

bool
fz_read_fits(struct fz_reader *r, uint64_t count, uint64_t record_size)
{
    uint64_t total;
    if (r->failed || __builtin_mul_overflow(count, record_size, &total) ||
        total > r->len - r->pos) {
        fail(r);
        return false;
    }
    return true;
}

enum fz_code
fz_read_done(const struct fz_reader *r, struct fz_error *err)
{
    if (!r->failed)
        return FZ_OK;
    uint64_t at = r->base + r->bad_offset;
    return fz_fail_at(err, FZ_E_MALFORMED, at, "%s: truncated at byte %llu of %llu", r->what,
                      (unsigned long long)at, (unsigned long long)(r->base + r->len));
}
