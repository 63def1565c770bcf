/* The items of an envelope are inside it, in order; any body that an SDK sends is taken or rejected. */
#include <stdlib.h>

#include "base/attr.h"
#include "server/ingest/ingest.h"
#include "server/ingest/sentry/items.h"

static void
check_inside(struct fz_span body, struct fz_span part)
{
    if (part.len && (part.data < body.data || part.data + part.len > body.data + body.len))
        abort();
}

static void
check_items(struct fz_span body, struct fz_arena *arena)
{
    struct sentry_items items;
    struct fz_error err;
    if (sentry_items_read(body, arena, &items, &err) != FZ_OK)
        return;
    check_inside(body, sentry_header_text(items.header, "dsn"));
    for (size_t i = 0; i < items.n; i++) {
        const struct sentry_item *item = &items.list[i];
        if (item->offset + item->payload.len > body.len ||
            (i && item->offset <= items.list[i - 1].offset))
            abort();
        check_inside(body, item->header);
        check_inside(body, item->type);
        check_inside(body, item->payload);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum ingest_kind kinds[] = {INGEST_REPORTS, INGEST_ENVELOPE, INGEST_EVENT,
                                             INGEST_MINIDUMP};
    struct fz_span body = fz_span_make(data, size);
    struct limits limits = limits_default();
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1 << 24);
    (void)sentry_items_detect(body);
    check_items(body, &arena);
    for (size_t k = 0; k < FZ_ARRAY_LEN(kinds); k++) {
        const struct ingest_request request = {
            .kind = kinds[k], .body = body, .boundary = "B", .was_packed = size % 2};
        struct ingest_intake found;
        struct fz_error err;
        if (ingest_intake(&request, &limits, &arena, &found, &err) != FZ_OK)
            continue;
        if (found.n == 0 && (!found.counted || found.counted->has_report))
            abort();
        for (size_t i = 0; i < found.n; i++) {
            struct fz_span *pieces = NULL;
            size_t n = 0;
            if (found.items[i].code == FZ_OK)
                fz_ignore(ingest_identity(&found.items[i], &arena, &pieces, &n, &err) != FZ_OK);
        }
    }
    return 0;
}
