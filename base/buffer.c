#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_ROOM = 256 };

void
fz_buffer_init(struct fz_buffer *buffer, size_t cap)
{
    *buffer = fz_buffer_make(cap);
}

void
fz_buffer_deinit(struct fz_buffer *buffer)
{
    if (!buffer)
        return;
    free(buffer->data);
    *buffer = (struct fz_buffer){.cap = buffer->cap};
}

/* Make room for `more` bytes and a NUL. */
static bool
reserve(struct fz_buffer *buffer, size_t more)
{
    /* Half of SIZE_MAX, so that doubling the room cannot overflow. */
    size_t cap = buffer->cap ? buffer->cap : SIZE_MAX / 2;
    if (buffer->failed)
        return false;
    if (more > cap - buffer->len) {
        buffer->failed = buffer->over_cap = true;
        return false;
    }
    size_t need = buffer->len + more + 1;
    if (need <= buffer->room)
        return true;
    size_t room = buffer->room ? buffer->room : FIRST_ROOM;
    /* Doubled: all copies together are at most twice the content. */
    while (room < need)
        room *= 2;
    char *data = realloc(buffer->data, room);
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->room = room;
    return true;
}

void
fz_buffer_append(struct fz_buffer *buffer, const void *data, size_t len)
{
    if (!reserve(buffer, len))
        return;
    if (len)
        memcpy(buffer->data + buffer->len, data, len);
    buffer->len += len;
    buffer->data[buffer->len] = '\0';
}

void
fz_buffer_text(struct fz_buffer *buffer, const char *text)
{
    fz_buffer_append(buffer, text, strlen(text));
}

void
fz_buffer_printf(struct fz_buffer *buffer, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (len >= 0 && reserve(buffer, (size_t)len)) {
        vsnprintf(buffer->data + buffer->len, (size_t)len + 1, fmt, again);
        buffer->len += (size_t)len;
    }
    va_end(again);
}

char *
fz_buffer_make_room(struct fz_buffer *buffer, size_t more)
{
    return reserve(buffer, more) ? buffer->data + buffer->len : NULL;
}

void
fz_buffer_clear(struct fz_buffer *buffer)
{
    buffer->len = 0;
    buffer->failed = buffer->over_cap = false;
    if (buffer->data)
        buffer->data[0] = '\0';
}

const char *
fz_buffer_cstr(const struct fz_buffer *buffer)
{
    return buffer->data ? buffer->data : "";
}

enum fz_code
fz_buffer_done(const struct fz_buffer *buffer, struct fz_error *err)
{
    if (!buffer->failed)
        return FZ_OK;
    if (buffer->over_cap)
        return fz_fail(err, FZ_E_LIMIT, "output is larger than its limit of %zu bytes",
                       buffer->cap);
    return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
}
