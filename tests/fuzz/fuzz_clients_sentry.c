/* Keys in a header's value and in an envelope. */
#include <stdlib.h>
#include <string.h>

#include "server/clients/sentry/sdk.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fz_span body = fz_span_make(data, size);
    struct fz_arena arena;
    char room[API_TOKEN_ROOM];
    fz_arena_init(&arena, 1 << 24);
    const char *text = fz_arena_text(&arena, body);
    const char *key = text ? sentry_header_key(text, room) : NULL;
    if (key && strlen(key) >= sizeof(room))
        abort();
    key = sentry_dsn_key(body, room);
    if (key && strlen(key) >= sizeof(room))
        abort();
    fz_arena_deinit(&arena);
    return 0;
}
