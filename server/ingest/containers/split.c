/* Bodies that hold several reports, or one inside something else: taken apart. */
#include <string.h>

#include "server/ingest/common/format.h"

enum { CONTAINERS_MAX = 3 };

static void
add_item(struct ingest_found *found, const struct ingest_item *item)
{
    if (found->n == INGEST_ITEMS_MAX) {
        found->n_cut++;
        return;
    }
    if (found->n == found->room) {
        size_t room = found->room ? found->room * 4 : 1;
        struct ingest_item *grown = fz_arena_array(found->arena, room, sizeof(*grown));
        if (!grown) {
            found->failed = true;
            return;
        }
        if (found->n)
            memcpy(grown, found->items, found->n * sizeof(*grown));
        found->items = grown;
        found->room = room;
    }
    found->items[found->n++] = *item;
}

void
ingest_found_body(struct ingest_found *found, struct fz_span body)
{
    struct ingest_item item = {.body = body};
    const struct ingest_format *format = ingest_format_of(body);
    size_t before = found->n + found->n_cut;
    if (found->failed)
        return;
    if (format && format->split) {
        if (found->depth == CONTAINERS_MAX) {
            item.code = fz_fail(&item.err, FZ_E_LIMIT, "%s: reports nested deeper than %d",
                                format->name, CONTAINERS_MAX);
            add_item(found, &item);
            return;
        }
        found->depth++;
        item.code = format->split(body, found, &item.err);
        found->depth--;
        if (found->failed || (item.code == FZ_OK && found->n + found->n_cut > before))
            return;
    }
    if (item.code == FZ_OK)
        item.code = ingest_check(body, found->limits, &item.format, item.id, &item.err);
    add_item(found, &item);
}

enum fz_code
ingest_split(struct fz_span body, const struct limits *limits, struct fz_arena *arena,
             struct ingest_item **ret, size_t *ret_n, size_t *ret_n_cut, struct fz_error *err)
{
    struct ingest_found found = {.arena = arena, .limits = limits};
    ingest_found_body(&found, body);
    if (found.failed)
        return fz_arena_fail(arena, err);
    const struct ingest_item *bad = NULL;
    bool any = false;
    for (size_t i = 0; i < found.n; i++) {
        if (found.items[i].code == FZ_OK)
            any = true;
        else if (!bad)
            bad = &found.items[i];
    }
    if (!any && bad) {
        *err = bad->err;
        return bad->code;
    }
    if (!any) /* ingest_found_body() adds at least one item, or fails */
        return fz_fail(err, FZ_E_MALFORMED, "no report in the body");
    *ret = found.items;
    *ret_n = found.n;
    *ret_n_cut = found.n_cut;
    return FZ_OK;
}
