/*
 * What makes two bodies the same report: the hash of what a client sends again unchanged.
 *
 * A client that got no answer repeats its report. Two formats wrap it in bytes that differ each
 * time: the header line of a Sentry envelope tells when it was sent, and its sessions and client
 * reports are those of the moment; a form has a random boundary. All other bodies count as they are.
 */
#include "server/ingest/identity.h"

#include <string.h>

#include "base/arena.h"
#include "server/ingest/containers/multipart.h"
#include "server/ingest/sentry/items.h"

/* Lengths too, so that bytes cannot move from one part to the next unseen. */
static void
add(struct fz_sha256 *hash, struct fz_span bytes)
{
    uint64_t len = bytes.len;
    fz_sha256_update(hash, fz_span_make(&len, sizeof(len)));
    fz_sha256_update(hash, bytes);
}

static bool
is_of_the_moment(const struct sentry_item *item)
{
    return fz_span_is(item->type, "session") || fz_span_is(item->type, "sessions") ||
           fz_span_is(item->type, "client_report");
}

/* The items without the envelope's header; its id is told by `id`. */
static enum fz_code
add_envelope(struct fz_sha256 *hash, struct fz_span body, struct fz_error *err)
{
    struct sentry_items items;
    struct sentry_item item;
    bool any = true;
    enum fz_code code = sentry_items_start(body, &items, err);
    while (code == FZ_OK && any) {
        code = sentry_items_next(&items, &item, &any, err);
        if (code != FZ_OK || !any || is_of_the_moment(&item))
            continue;
        add(hash, item.header);
        add(hash, item.payload);
    }
    return code;
}

/* The parts without what separates them. */
static enum fz_code
add_form(struct fz_sha256 *hash, struct fz_span body, const char *boundary, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(1024 * 1024);
    struct fz_form_part *parts = NULL;
    size_t n = 0;
    enum fz_code code = fz_form_parse(body, boundary, &arena, &parts, &n, err);
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        add(hash, fz_span_cstr(parts[i].name));
        add(hash, fz_span_cstr(parts[i].filename ? parts[i].filename : ""));
        add(hash, fz_form_content(body, &parts[i]));
    }
    return code;
}

enum fz_code
ingest_identity(struct fz_span body, const char *id, char ret_sha256[FZ_SHA256_TEXT],
                struct fz_error *err)
{
    char boundary[FZ_FORM_BOUNDARY];
    FZ_CLEANUP(fz_sha256_destroyp) struct fz_sha256 *hash = NULL;
    enum fz_code code = fz_sha256_create(&hash, err);
    if (code != FZ_OK)
        return code;
    add(hash, fz_span_cstr(id));
    if (fz_form_find_boundary(body, boundary)) {
        code = add_form(hash, body, boundary, NULL);
    } else if (sentry_items_detect(body)) {
        code = add_envelope(hash, body, NULL);
    } else {
        fz_sha256_hex(body, ret_sha256);
        return FZ_OK;
    }
    if (code == FZ_OK)
        fz_sha256_finish(hash, ret_sha256);
    else
        fz_sha256_hex(body, ret_sha256); /* its framing is broken: the bytes as they are */
    return FZ_OK;
}
