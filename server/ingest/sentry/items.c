#include "server/ingest/sentry/items.h"

#include "base/json/scan.h"
#include "base/json/walk.h"
#include "base/list.h"
#include "base/text.h"
#include "server/ingest/common/json_member.h"

enum { HEADER_DEPTH = 32 };

/* From `pos` up to the next line break or the end; *ret_next is after it. */
static struct fz_span
line_at(struct fz_span body, size_t pos, size_t *ret_next)
{
    struct fz_span rest = {NULL, 0}, line = {NULL, 0};
    *ret_next = body.len;
    if (!fz_span_sub(body, pos, body.len - pos, &rest) || rest.len == 0)
        return line;
    /* "\n" alone ends a line: payloads are binary, so "\r" may belong to them. */
    const uint8_t *end = memchr(rest.data, '\n', rest.len);
    size_t len = end ? (size_t)(end - rest.data) : rest.len;
    if (end)
        *ret_next = pos + len + 1;
    return len ? fz_span_make(rest.data, len) : line;
}

/* A header line may end with \r, a payload may not. */
static struct fz_span
without_return(struct fz_span line)
{
    if (line.len && line.data[line.len - 1] == '\r')
        line.len--;
    return line;
}

struct fz_span
sentry_header_text(struct fz_span header, const char *key)
{
    struct fz_span value = ingest_json_find(header, key);
    /* Types and file names are plain texts, so their escapes are not decoded. */
    if (value.len <= 2 || value.data[0] != '"')
        return (struct fz_span){NULL, 0};
    return fz_span_make(value.data + 1, value.len - 2);
}

static bool
is_object(struct fz_span line)
{
    return line.len >= 2 && line.data[0] == '{' && line.data[line.len - 1] == '}';
}

bool
sentry_items_detect(struct fz_span head)
{
    size_t next;
    if (!is_object(without_return(line_at(head, 0, &next))))
        return false;
    while (next < head.len) {
        struct fz_span line = without_return(line_at(head, next, &next));
        /* Empty lines between items are tolerated, as Relay does. */
        if (line.len == 0)
            continue;
        /* The last line of a head may be cut. */
        return line.data[0] == '{' && sentry_header_text(line, "type").len > 0 &&
               (is_object(line) || next == head.len);
    }
    return false;
}

static enum fz_code
check_header(struct fz_span line, size_t pos, const char *what, struct fz_error *err)
{
    struct json_scan_limits limits = {HEADER_DEPTH, SIZE_MAX, 0};
    struct fz_error why = {.offset = 0};
    if (line.len && line.data[0] == '{' && json_scan(line, &limits, NULL, NULL, &why) == FZ_OK)
        return FZ_OK;
    /* The scanner counts from the start of the line. */
    uint64_t at = pos + (why.offset > 0 ? (uint64_t)why.offset : 0);
    return fz_fail_at(err, FZ_E_MALFORMED, at,
                      "sentry envelope: %s at byte %zu is not a JSON object", what, pos);
}

/* Where the next item begins. */
struct place {
    struct fz_span body;
    size_t pos;
};

/* The payload of `len` bytes at `pos`, which a line break or the end must follow. */
static enum fz_code
sized_payload(struct place *place, uint64_t len, struct sentry_item *item, struct fz_error *err)
{
    size_t left = place->body.len - item->offset;
    /* A client that was cut off: Relay rejects such an envelope, too. */
    if (!fz_span_sub(place->body, item->offset, len, &item->payload))
        return fz_fail_at(err, FZ_E_MALFORMED, place->body.len,
                          "sentry envelope: the payload at byte %zu has %zu of %llu bytes",
                          item->offset, left, (unsigned long long)len);
    place->pos = item->offset + (size_t)len;
    /* sentry-cocoa ends without a line break. */
    if (place->pos == place->body.len)
        return FZ_OK;
    if (place->body.data[place->pos] != '\n')
        return fz_fail_at(err, FZ_E_MALFORMED, place->pos,
                          "sentry envelope: no line break after the payload at byte %zu, which "
                          "is %llu bytes long by its header",
                          item->offset, (unsigned long long)len);
    place->pos++;
    return FZ_OK;
}

/* The next item; *ret_any is false at the end. */
static enum fz_code
next_item(struct place *place, struct sentry_item *ret, bool *ret_any, struct fz_error *err)
{
    struct sentry_item item = {.offset = place->pos};
    size_t pos = place->pos, next = place->pos;
    while (item.header.len == 0 && next < place->body.len) {
        pos = next;
        item.header = without_return(line_at(place->body, pos, &next));
    }
    *ret_any = item.header.len > 0;
    if (!*ret_any)
        return FZ_OK;
    enum fz_code code = check_header(item.header, pos, "the item header", err);
    if (code != FZ_OK)
        return code;
    item.type = sentry_header_text(item.header, "type");
    item.offset = next;
    struct fz_span text = ingest_json_find(item.header, "length");
    uint64_t len = 0;
    /* @sentry/node leaves the length out of events and sessions. */
    bool has_length = text.len > 0 && !fz_span_is(text, "null");
    if (has_length && !fz_text_u64(text, &len))
        return fz_fail_at(err, FZ_E_MALFORMED, pos,
                          "sentry envelope: the length in the item header at byte %zu is not a "
                          "number",
                          pos);
    if (has_length)
        code = sized_payload(place, len, &item, err);
    else
        /* Without a length the payload is one line: JSON has no line breaks in it. */
        item.payload = line_at(place->body, next, &place->pos);
    *ret = item;
    return code;
}

enum fz_code
sentry_items_read(struct fz_span body, struct fz_arena *arena, struct sentry_items *ret,
                  struct fz_error *err)
{
    struct sentry_items items = {.n = 0};
    struct place place = {.body = body};
    size_t room = 0;
    items.header = without_return(line_at(body, 0, &place.pos));
    enum fz_code code = check_header(items.header, 0, "the header", err);
    for (bool any = true; code == FZ_OK && any;) {
        struct sentry_item item;
        code = next_item(&place, &item, &any, err);
        if (code != FZ_OK || !any)
            continue;
        struct sentry_item *list =
            fz_list_grow_in(arena, items.list, &room, items.n + 1, sizeof(*list));
        if (!list)
            return fz_arena_fail(arena, err);
        items.list = list;
        items.list[items.n++] = item;
    }
    if (code == FZ_OK)
        *ret = items;
    return code;
}
