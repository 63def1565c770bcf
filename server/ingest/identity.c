/*
 * What makes two bodies the same report: what a client sends again unchanged.
 *
 * A client that got no answer repeats its report. Two formats wrap it in bytes that differ each
 * time: the header line of a Sentry envelope says when it was sent, and its sessions and client
 * reports are those of the moment; a form has a random boundary. All other bodies count as they are.
 */
#include <string.h>

#include "base/form.h"
#include "server/ingest/ingest.h"
#include "server/ingest/sentry/intake.h"

/* More pieces than this are not sent by any client; such a body counts as it is. */
enum { PIECES_MAX = 1024 };

/* The items without the envelope's header; its id is a part of the identity by itself. */
static size_t
envelope_pieces(const struct sentry_items *items, struct fz_span *pieces)
{
    size_t n = 0;
    for (size_t i = 0; i < items->n; i++) {
        /* Sessions and client reports are those of the moment in which the envelope was sent
         * again. */
        if (sentry_is_counted(&items->list[i]))
            continue;
        if (n + 2 > PIECES_MAX)
            return 0;
        pieces[n++] = items->list[i].header;
        pieces[n++] = items->list[i].payload;
    }
    return n;
}

/* The parts without what separates them. */
static size_t
form_pieces(struct fz_span body, const struct fz_form_part *parts, size_t n_parts,
            struct fz_span *pieces)
{
    size_t n = 0;
    for (size_t i = 0; i < n_parts && n + 3 <= PIECES_MAX; i++) {
        pieces[n++] = fz_span_cstr(parts[i].name);
        pieces[n++] = fz_span_cstr(parts[i].filename ? parts[i].filename : "");
        pieces[n++] = fz_form_content(body, &parts[i]);
    }
    return n;
}

enum fz_code
ingest_identity(const struct ingest_item *item, struct fz_arena *arena, struct fz_span **ret,
                size_t *ret_n, struct fz_error *err)
{
    char boundary[FZ_FORM_BOUNDARY];
    struct fz_form_part *parts;
    struct sentry_items items;
    size_t n_parts;
    bool is_form = fz_form_find_boundary(item->body, boundary);
    *ret_n = 0;
    if (!is_form && !sentry_items_detect(item->body))
        return FZ_OK;
    struct fz_span *pieces = fz_arena_array(arena, PIECES_MAX, sizeof(*pieces));
    if (!pieces)
        return fz_arena_fail(arena, err);
    /* Where the framing is broken, the bytes count as they are. */
    if (item->parts) {
        *ret_n = form_pieces(item->body, item->parts, item->n_parts, pieces);
    } else if (is_form) {
        if (fz_form_parse(item->body, boundary, arena, &parts, &n_parts, NULL) == FZ_OK)
            *ret_n = form_pieces(item->body, parts, n_parts, pieces);
    } else if (item->envelope) {
        *ret_n = envelope_pieces(item->envelope, pieces);
    } else if (sentry_items_read(item->body, arena, &items, NULL) == FZ_OK) {
        *ret_n = envelope_pieces(&items, pieces);
    }
    *ret = pieces;
    return FZ_OK;
}
