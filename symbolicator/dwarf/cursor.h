/*
 * A pair of pointers over .debug_info or .debug_line, inlined into the hot loops.
 *
 * The one measured exception to "only fz_reader walks input": a call per LEB128 doubles the time of
 * a scan. Like fz_reader it can never leave its bytes: a read past the end gives 0, moves to the
 * end and sets `bad`, which is checked once per DIE or opcode.
 */
#ifndef DWARF_CURSOR_H
#define DWARF_CURSOR_H

#include "base/span.h"

enum { LEB_BITS_MAX = 7 * 16 /* longer ones are padding without end */ };

struct dwarf_cursor {
    const uint8_t *at, *end;
    bool big_endian, bad;
};

static inline uint64_t
dwarf_cursor_fail(struct dwarf_cursor *c)
{
    c->bad = true;
    c->at = c->end;
    return 0;
}

static inline size_t
dwarf_cursor_left(const struct dwarf_cursor *c)
{
    return (size_t)(c->end - c->at);
}

static inline void
dwarf_cursor_skip(struct dwarf_cursor *c, uint64_t len)
{
    if (len > dwarf_cursor_left(c))
        dwarf_cursor_fail(c);
    else if (len) /* a cursor of no bytes may be at NULL */
        c->at += len;
}

static inline uint64_t
dwarf_cursor_uint(struct dwarf_cursor *c, unsigned size)
{
    if (size > dwarf_cursor_left(c))
        return dwarf_cursor_fail(c);
    const uint8_t *p = c->at;
    c->at += size;
    uint64_t value = 0;
    if (c->big_endian) {
        for (unsigned i = 0; i < size; i++)
            value = value << 8 | p[i];
        return value;
    }
    switch (size) { /* constant sizes become single loads */
    case 1:
        return p[0];
    case 2:
        return (uint64_t)p[0] | (uint64_t)p[1] << 8;
    case 4:
        return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
    case 8:
        return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
               (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
               (uint64_t)p[7] << 56;
    default:
        for (unsigned i = 0; i < size; i++)
            value |= (uint64_t)p[i] << (8 * i);
        return value;
    }
}

static inline uint8_t
dwarf_cursor_u8(struct dwarf_cursor *c)
{
    if (c->at == c->end)
        return (uint8_t)dwarf_cursor_fail(c);
    return *c->at++;
}

/* Bits above the 64th are dropped, as LLVM and libdwarf do for padded numbers. */
static inline uint64_t
dwarf_cursor_uleb(struct dwarf_cursor *c)
{
    if (c->at < c->end && *c->at < 0x80)
        return *c->at++;
    uint64_t value = 0;
    for (unsigned shift = 0; c->at < c->end && shift < LEB_BITS_MAX; shift += 7) {
        uint8_t byte = *c->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    return dwarf_cursor_fail(c);
}

static inline int64_t
dwarf_cursor_sleb(struct dwarf_cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; c->at < c->end && shift < LEB_BITS_MAX;) {
        uint8_t byte = *c->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte < 0x80) {
            if (shift < 64 && byte & 0x40)
                value |= UINT64_MAX << shift;
            return (int64_t)value;
        }
    }
    return (int64_t)dwarf_cursor_fail(c);
}

static inline void
dwarf_cursor_skip_leb(struct dwarf_cursor *c)
{
    while (c->at < c->end) {
        if (*c->at++ < 0x80)
            return;
    }
    dwarf_cursor_fail(c);
}

static inline struct fz_span
dwarf_cursor_cstr(struct dwarf_cursor *c)
{
    const uint8_t *start = c->at;
    const uint8_t *nul = start == c->end ? NULL : memchr(start, 0, dwarf_cursor_left(c));
    if (!nul) {
        dwarf_cursor_fail(c);
        return (struct fz_span){NULL, 0};
    }
    c->at = nul + 1;
    return fz_span_make(start, (size_t)(nul - start));
}

#endif
