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

/* `len` bytes from `off`; false (and *ret untouched) if they are not all inside. */
static inline bool
fz_span_sub(struct fz_span span, uint64_t off, uint64_t len, struct fz_span *ret)
{
    if (off > span.len || len > span.len - off)
        return false;
    *ret = len == 0 ? (struct fz_span){NULL, 0}
                    : (struct fz_span){.data = span.data + off, .len = (size_t)len};
    return true;
}

/* What is left of the span from byte `at` on; an empty result has NULL data. */
static inline struct fz_span
fz_span_from(struct fz_span text, size_t at)
{
    return at >= text.len ? (struct fz_span){NULL, 0} : fz_span_make(text.data + at, text.len - at);
}

/* The first `end` bytes of the span, or all of it if it is shorter. */
static inline struct fz_span
fz_span_until(struct fz_span text, size_t end)
{
    return end == 0 ? (struct fz_span){NULL, 0}
                    : fz_span_make(text.data, end < text.len ? end : text.len);
}

/* The bytes from `start` to before `end`; an empty result has NULL data. */
static inline struct fz_span
fz_span_between(struct fz_span text, size_t start, size_t end)
{
    return fz_span_from(fz_span_until(text, end), start);
}

static inline bool
fz_span_begins(struct fz_span text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && (len == 0 || memcmp(text.data, prefix, len) == 0);
}

static inline bool
fz_span_ends(struct fz_span text, const char *suffix)
{
    size_t len = strlen(suffix);
    return text.len >= len && (len == 0 || memcmp(text.data + text.len - len, suffix, len) == 0);
}

#endif
