/*
 * A growing byte buffer with a cap: text and bytes are appended, the result is read as a span or a
 * C string.
 *
 * Appending cannot fail half-way: once the cap or memory is exhausted the buffer is `failed`, keeps
 * what it had and ignores the rest. Check once with fz_buffer_done().
 */
#ifndef FZ_BUFFER_H
#define FZ_BUFFER_H

#include "base/error.h"
#include "base/span.h"

struct fz_buffer {
    char *data; /* NUL-terminated when not NULL */
    size_t len;
    size_t room;
    size_t cap; /* at most this many bytes; 0 = SIZE_MAX / 2 */
    bool failed;
    bool over_cap; /* failed because of the cap, not of memory */
};

/* An empty buffer, for a local variable:
 *     FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
 */
static inline struct fz_buffer
fz_buffer_make(size_t cap)
{
    return (struct fz_buffer){.cap = cap ? cap : SIZE_MAX / 2};
}

/* The same for a member of a structure. */
void fz_buffer_init(struct fz_buffer *buffer, size_t cap);
void fz_buffer_deinit(struct fz_buffer *buffer);

void fz_buffer_append(struct fz_buffer *buffer, const void *data, size_t len);
void fz_buffer_text(struct fz_buffer *buffer, const char *text);
void fz_buffer_printf(struct fz_buffer *buffer, const char *fmt, ...) FZ_PRINTF(2, 3);
void fz_buffer_clear(struct fz_buffer *buffer);

/* For text made in place: room for `more` bytes after the content, NULL once the buffer is failed;
 * fz_buffer_grow_to() then makes what was written up to `end` part of the content. */
char *fz_buffer_make_room(struct fz_buffer *buffer, size_t more);
static inline char *
fz_buffer_room(struct fz_buffer *buffer, size_t more)
{
    /* A result has a hundred thousand pieces, and nearly all of them fit. */
    bool fits =
        !buffer->failed && more < buffer->room - buffer->len && more <= buffer->cap - buffer->len;
    return fits ? buffer->data + buffer->len : fz_buffer_make_room(buffer, more);
}
static inline void
fz_buffer_grow_to(struct fz_buffer *buffer, char *end)
{
    buffer->len = (size_t)(end - buffer->data);
    *end = '\0';
}

static inline void
fz_buffer_char(struct fz_buffer *buffer, char c)
{
    char *end = fz_buffer_room(buffer, 1);
    if (!end)
        return;
    *end = c;
    fz_buffer_grow_to(buffer, end + 1);
}

/* The content as a C string, "" when empty; borrowed until the next change. */
const char *fz_buffer_cstr(const struct fz_buffer *buffer);
static inline struct fz_span
fz_buffer_span(const struct fz_buffer *buffer)
{
    return fz_span_make(buffer->data, buffer->len);
}

/* FZ_OK, or FZ_E_LIMIT / FZ_E_NO_MEMORY if something was not appended. */
FZ_MUST_CHECK enum fz_code fz_buffer_done(const struct fz_buffer *buffer, struct fz_error *err);

#endif
