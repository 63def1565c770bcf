/* Cursors of lists: a time, and what distinguishes rows of the same time, so that a list goes on after the row that was last. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "storage/store_private.h"

const char *
store_cursor_make(struct fz_arena *arena, int64_t time_ms, const char *id)
{
    char plain[64];
    int len = snprintf(plain, sizeof(plain), "%lld.%s", (long long)time_ms, id);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    fz_text_base64_append(&text, fz_span_make(plain, (size_t)len));
    size_t n = text.len;
    /* Without padding and with the URL alphabet (RFC 4648, 5): cursors go into query strings. */
    while (n && text.data[n - 1] == '=')
        n--;
    char *cursor = text.failed ? NULL : fz_arena_text(arena, fz_span_make(text.data, n));
    for (char *c = cursor; c && *c; c++)
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c;
    return cursor;
}

enum fz_code
store_cursor_parse(const char *cursor, struct fz_arena *arena, int64_t *ret_time_ms, char *ret_id,
                   struct fz_error *err)
{
    static const char message[] = "the cursor is not one of this list's";
    struct fz_span plain = {NULL, 0};
    /* Ours are shorter; a longer one is not worth decoding. */
    if (strlen(cursor) > 100 ||
        fz_text_base64_decode(fz_span_cstr(cursor), arena, &plain, NULL) != FZ_OK || plain.len == 0)
        return fz_fail(err, FZ_E_MALFORMED, "%s", message);
    const uint8_t *dot = memchr(plain.data, '.', plain.len);
    /* A client may send anything: nothing of the text is trusted. */
    size_t n_time = dot ? (size_t)(dot - plain.data) : plain.len;
    size_t n_id = plain.len - n_time - (dot ? 1 : 0);
    int64_t time_ms;
    if (n_id == 0 || n_id >= STORE_ID_TEXT || memchr(plain.data, '\0', plain.len) ||
        !fz_text_i64(fz_span_make(plain.data, n_time), &time_ms))
        return fz_fail(err, FZ_E_MALFORMED, "%s", message);
    memcpy(ret_id, plain.data + n_time + 1, n_id);
    ret_id[n_id] = '\0';
    *ret_time_ms = time_ms;
    return FZ_OK;
}

const char *
store_cursor_of_key(struct fz_arena *arena, char mark, int64_t time_ms, int64_t key)
{
    const char *text = fz_arena_printf(arena, "%" PRId64, key);
    const char *cursor = text ? store_cursor_make(arena, time_ms, text) : NULL;
    return cursor && mark ? fz_arena_printf(arena, "%c%s", mark, cursor) : cursor;
}

enum fz_code
store_cursor_read_key(const char *cursor, char mark, struct fz_arena *arena, int64_t *ret_time_ms,
                      int64_t *ret_key, struct fz_error *err)
{
    static const char message[] = "the cursor is not one of this list's";
    char key[STORE_ID_TEXT];
    /* Base64 of a digit or a minus sign never begins with a lower-case letter. */
    bool is_marked = *cursor >= 'a' && *cursor <= 'z';
    if (is_marked != (mark != 0) || (is_marked && *cursor != mark))
        return fz_fail(err, FZ_E_MALFORMED, "%s", message);
    enum fz_code code = store_cursor_parse(cursor + is_marked, arena, ret_time_ms, key, err);
    if (code == FZ_OK && !fz_text_i64(fz_span_cstr(key), ret_key))
        code = fz_fail(err, FZ_E_MALFORMED, "%s", message);
    return code;
}
