/* The items of an envelope are inside it, in order, and the traversal ends. */
#include <stdlib.h>

#include "server/ingest/sentry/items.h"

static void
check_inside(struct fz_span body, struct fz_span part)
{
    if (part.len && (part.data < body.data || part.data + part.len > body.data + body.len))
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fz_span body = fz_span_make(data, size);
    struct sentry_items items;
    struct sentry_item item;
    struct fz_error err;
    bool any = true;
    (void)sentry_items_detect(body);
    if (sentry_items_start(body, &items, &err) != FZ_OK)
        return 0;
    check_inside(body, sentry_header_text(items.header, "dsn"));
    while (any) {
        size_t before = items.pos;
        if (sentry_items_next(&items, &item, &any, &err) != FZ_OK)
            return 0;
        if (!any)
            break;
        if (items.pos <= before || items.pos > size || item.offset + item.payload.len > size)
            abort();
        check_inside(body, item.header);
        check_inside(body, item.type);
        check_inside(body, item.payload);
    }
    return 0;
}
