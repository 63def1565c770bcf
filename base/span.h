/*
 * A borrowed run of bytes: a pointer and a length, valid as long as the memory it points into.
 *
 * An empty span may have a NULL pointer; nothing is ever added to it.
 */
#ifndef FZ_SPAN_H
#define FZ_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct fz_span {
    const uint8_t *data;
    size_t len;
};

static inline struct fz_span
fz_span_make(const void *data, size_t len)
{
    return (struct fz_span){.data = data, .len = len};
}

/* The bytes of a C string without its NUL; NULL gives the empty span. */
static inline struct fz_span
fz_span_cstr(const char *text)
{
    return (struct fz_span){.data = (const uint8_t *)text, .len = text ? strlen(text) : 0};
}

static inline bool
fz_span_equal(struct fz_span a, struct fz_span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool
fz_span_is(struct fz_span a, const char *text)
{
    return fz_span_equal(a, fz_span_cstr(text));
}

/* `len` bytes from `off`; false (and *ret untouched) if they do not all lie inside. */
static inline bool
fz_span_sub(struct fz_span span, uint64_t off, uint64_t len, struct fz_span *ret)
{
    if (off > span.len || len > span.len - off)
        return false;
    *ret = len == 0 ? (struct fz_span){NULL, 0}
                    : (struct fz_span){.data = span.data + off, .len = (size_t)len};
    return true;
}

#endif
