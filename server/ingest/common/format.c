/*
 * Which row of the table takes a body, and what follows from it: check, split, parse. The recursion
 * of formats that hold others goes through here, with the table in the context.
 */
#include "server/ingest/common/format.h"

#include <ctype.h>
#include <string.h>

#include "base/json/scan.h"
#include "base/list.h"
#include "server/ingest/common/json_member.h"
#include "server/ingest/common/normalise.h"

enum { CONTAINERS_MAX = 3, START_SHOWN = 16 };

/* ---- detection ----------------------------------------------------------------------------- */

const struct ingest_format *
ingest_format_of(const struct ingest_context *in, struct fz_span body)
{
    for (size_t i = 0; in->formats[i]; i++) {
        const struct ingest_format *format = in->formats[i];
        /* Any text can be in UTF-16: only what it holds makes it a report. */
        if (format->detect(body) && (!format->needs_inside || format->inside(body, in, NULL)))
            return format;
    }
    return NULL;
}

const char *
ingest_format_reader(const struct ingest_format *format)
{
    return format->reader ? format->reader : format->name;
}

/* The row that a reader names first, and what it names then (NULL: nothing). */
static const struct ingest_format *
named_format(const struct ingest_context *in, const char **ret_rest)
{
    size_t len = in->reader ? strcspn(in->reader, "/") : 0;
    for (size_t i = 0; len && in->formats[i]; i++) {
        const char *name = ingest_format_reader(in->formats[i]);
        /* A reader may come from another version of this program, whose row is gone: then the
         * format is detected again. */
        if (strlen(name) != len || strncmp(name, in->reader, len) != 0)
            continue;
        *ret_rest = in->reader[len] ? in->reader + len + 1 : NULL;
        return in->formats[i];
    }
    *ret_rest = NULL;
    return NULL;
}

/* Why the body is not a report, as precisely as its first bytes allow. */
static enum fz_code
refuse(struct fz_span body, const struct limits *limits, struct fz_error *err)
{
    struct fz_span text = fz_span_from(body, ingest_json_start(body));
    if (text.len == 0)
        return fz_fail_at(err, FZ_E_MALFORMED, 0, "the body is empty");
    if (text.data[0] != '{' && text.data[0] != '[') {
        char start[START_SHOWN + 1];
        size_t n = text.len < START_SHOWN ? text.len : START_SHOWN;
        for (size_t i = 0; i < n; i++)
            /* The message is shown on terminals and in pages, where control characters do harm. */
            start[i] = isprint(text.data[i]) ? (char)text.data[i] : '?';
        start[n] = '\0';
        return fz_fail_at(
            err, FZ_E_UNSUPPORTED, (uint64_t)(text.data - body.data),
            "not a report in a known format: neither JSON nor a text with a line such "
            "as 'Thread 0 Crashed:' or "
            "'0 Demo 0x104 f + 8'; begins with \"%s\"",
            start);
    }
    /* A fault in the JSON explains more than the fact that no format has taken it. */
    struct json_scan_limits scan = {limits->json_depth, SIZE_MAX, 0};
    enum fz_code code = json_scan(body, &scan, NULL, NULL, err);
    if (code != FZ_OK)
        return code;
    if (text.data[0] == '[')
        return fz_fail(err, FZ_E_UNSUPPORTED,
                       "JSON, but not a report in a known format: an array without reports");
    return fz_fail(err, FZ_E_UNSUPPORTED,
                   "JSON, but not a report in a known format: its keys are those of no format");
}

enum fz_code
ingest_check_body(const struct ingest_context *in, struct fz_span body, struct ingest_item *ret)
{
    struct ingest_item item = {.body = ret->body};
    const struct ingest_format *format = ingest_format_of(in, body);
    item.code =
        format ? format->check(body, in, item.id, &item.err) : refuse(body, in->limits, &item.err);
    if (item.code == FZ_OK) {
        char rest[INGEST_READER_TEXT] = "";
        /* A user looks for what happened, so a form with a minidump is shown as a minidump. */
        const struct ingest_format *inside = format->inside ? format->inside(body, in, rest) : NULL;
        item.format = inside ? inside->name : format->name;
        snprintf(item.reader, sizeof(item.reader), "%s%s%s", ingest_format_reader(format),
                 *rest ? "/" : "", rest);
    }
    *ret = item;
    return item.code;
}

/* ---- several reports in one body ----------------------------------------------------------- */

void
ingest_found_item(struct ingest_found *found, const struct ingest_item *item)
{
    /* Small reports by the hundred thousand fit into one body. */
    if (found->n == INGEST_ITEMS_MAX) {
        found->n_cut++;
        return;
    }
    struct ingest_item *items =
        fz_list_grow_in(found->arena, found->items, &found->room, found->n + 1, sizeof(*items));
    if (!items) {
        found->failed = true;
        return;
    }
    found->items = items;
    items[found->n++] = *item;
}

void
ingest_found_body(struct ingest_found *found, struct fz_span body)
{
    struct ingest_item item = {.body = body};
    const struct ingest_format *format = ingest_format_of(found->in, body);
    size_t before = found->n + found->n_cut;
    if (found->failed)
        return;
    if (format && format->split) {
        if (found->depth == CONTAINERS_MAX) {
            /* Arrays in forms in arrays: each level could multiply the work. */
            item.code = fz_fail(&item.err, FZ_E_LIMIT, "%s: reports nested deeper than %d",
                                format->name, CONTAINERS_MAX);
            ingest_found_item(found, &item);
            return;
        }
        found->depth++;
        item.code = format->split(body, found, &item.err);
        found->depth--;
        if (found->failed || (item.code == FZ_OK && found->n + found->n_cut > before))
            return;
    }
    if (item.code == FZ_OK)
        fz_ignore(ingest_check_body(found->in, body, &item) != FZ_OK); /* item.code has it */
    ingest_found_item(found, &item);
}

void
ingest_found_copy(struct ingest_found *found, const struct fz_buffer *text)
{
    /* Beyond the limit they are only counted, so that many small reports cost no copies. */
    if (found->n == INGEST_ITEMS_MAX) {
        found->n_cut++;
        return;
    }
    const char *copy = text->failed ? NULL : fz_arena_text(found->arena, fz_buffer_span(text));
    if (copy)
        ingest_found_body(found, fz_span_make(copy, text->len));
    else
        found->failed = true;
}

enum fz_code
ingest_find_items(const struct ingest_context *in, struct fz_span body, struct fz_arena *arena,
                  struct ingest_item **ret, size_t *ret_n, size_t *ret_n_cut, struct fz_error *err)
{
    struct ingest_found found = {.in = in, .arena = arena};
    ingest_found_body(&found, body); /* adds at least one item, or fails */
    if (found.failed)
        return fz_arena_fail(arena, err);
    *ret = found.items;
    *ret_n = found.n;
    *ret_n_cut = found.n_cut;
    return FZ_OK;
}

enum fz_code
ingest_split_body(const struct ingest_context *in, struct fz_span body, struct fz_arena *arena,
                  struct ingest_item **ret, size_t *ret_n, size_t *ret_n_cut, struct fz_error *err)
{
    struct ingest_item *items = NULL;
    size_t n = 0, n_cut = 0;
    bool any = false;
    enum fz_code code = ingest_find_items(in, body, arena, &items, &n, &n_cut, err);
    if (code != FZ_OK)
        return code;
    for (size_t i = 0; i < n; i++)
        any = any || items[i].code == FZ_OK;
    /* One broken report among good ones costs only itself: clients such as KSCrash send all that
     * piled up, and delete it whatever the answer is. */
    if (!any) {
        *err = items[0].err;
        return items[0].code;
    }
    *ret = items;
    *ret_n = n;
    *ret_n_cut = n_cut;
    return FZ_OK;
}

/* ---- one report ---------------------------------------------------------------------------- */

enum fz_code
ingest_parse_body(const struct ingest_context *in, struct fz_span body, struct fz_arena *arena,
                  struct report *ret, struct fz_error *err)
{
    struct ingest_context inner = *in;
    const struct ingest_format *format = named_format(in, &inner.reader);
    if (!format)
        format = ingest_format_of(in, body);
    if (!format)
        return refuse(body, in->limits, err);
    /* 0 is the index of a thread, so "not known" is -1. */
    struct report report = {.format = format->name, .crash.thread = -1};
    enum fz_code code = format->parse(body, &inner, arena, &report, err);
    if (code != FZ_OK)
        return code;
    if (!ingest_normalise(&report, arena))
        return fz_arena_fail(arena, err);
    *ret = report;
    return FZ_OK;
}
