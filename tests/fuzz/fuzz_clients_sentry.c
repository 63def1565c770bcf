/* Keys in a header's value and in an envelope, and what of the envelope is counted. */
#include <stdlib.h>
#include <string.h>

#include "server/clients/sentry/sdk.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fz_span body = fz_span_make(data, size);
    struct limits limits = limits_default();
    struct sentry_counted *counted = NULL;
    struct sentry_items items;
    struct fz_error err;
    struct fz_arena arena;
    char room[API_TOKEN_ROOM];
    fz_arena_init(&arena, 1 << 24);
    const char *text = fz_arena_text(&arena, body);
    const char *key = text ? sentry_header_key(text, room) : NULL;
    if (key && strlen(key) >= sizeof(room))
        abort();
    if (sentry_items_start(body, &items, &err) == FZ_OK)
        key = sentry_dsn_key(items.header, room);
    if (sentry_read_counted(body, &limits, &arena, &counted, &err) == FZ_OK &&
        (counted->n_sessions > SENTRY_COUNTED_MAX || counted->n_discarded > SENTRY_COUNTED_MAX))
        abort();
    fz_arena_deinit(&arena);
    return 0;
}
