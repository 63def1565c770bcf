#include "server/ingest/sentry/items.h"

#include "base/json/scan.h"
#include "base/json/walk.h"
#include "base/text.h"

enum { HEADER_DEPTH = 32 };

/* From `pos` up to the next line break or the end; *ret_next is behind it. */
static struct fz_span
line_at(struct fz_span body, size_t pos, size_t *ret_next)
{
    struct fz_span rest = {NULL, 0}, line = {NULL, 0};
    *ret_next = body.len;
    if (!fz_span_sub(body, pos, body.len - pos, &rest) || rest.len == 0)
        return line;
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

static struct fz_span
member_value(struct fz_span header, const char *key)
{
    struct json_walk walk = json_walk_start(header);
    struct json_member member;
    struct fz_span found = {NULL, 0};
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, key))
            found = member.value;
    }
    return found;
}

struct fz_span
sentry_header_text(struct fz_span header, const char *key)
{
    struct fz_span value = member_value(header, key);
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
    uint64_t at = pos + (why.offset > 0 ? (uint64_t)why.offset : 0);
    return fz_fail_at(err, FZ_E_MALFORMED, at, "sentry envelope: %s at byte %zu is no JSON object",
                      what, pos);
}

enum fz_code
sentry_items_start(struct fz_span body, struct sentry_items *ret, struct fz_error *err)
{
    struct sentry_items items = {.body = body};
    items.header = without_return(line_at(body, 0, &items.pos));
    enum fz_code code = check_header(items.header, 0, "the header", err);
    if (code != FZ_OK)
        return code;
    *ret = items;
    return FZ_OK;
}

/* The payload of `len` bytes at `pos`, which a line break or the end must follow. */
static enum fz_code
sized_payload(struct sentry_items *items, uint64_t len, struct sentry_item *item,
              struct fz_error *err)
{
    size_t left = items->body.len - item->offset;
    if (!fz_span_sub(items->body, item->offset, len, &item->payload))
        return fz_fail_at(err, FZ_E_MALFORMED, items->body.len,
                          "sentry envelope: the payload at byte %zu has %zu of %llu bytes",
                          item->offset, left, (unsigned long long)len);
    items->pos = item->offset + (size_t)len;
    if (items->pos == items->body.len)
        return FZ_OK;
    if (items->body.data[items->pos] != '\n')
        return fz_fail_at(err, FZ_E_MALFORMED, items->pos,
                          "sentry envelope: no line break behind the payload at byte %zu, which "
                          "is %llu bytes long by its header",
                          item->offset, (unsigned long long)len);
    items->pos++;
    return FZ_OK;
}

enum fz_code
sentry_items_next(struct sentry_items *items, struct sentry_item *ret, bool *ret_any,
                  struct fz_error *err)
{
    struct sentry_item item = {.offset = items->pos};
    size_t pos = items->pos, next = items->pos;
    while (item.header.len == 0 && next < items->body.len) {
        pos = next;
        item.header = without_return(line_at(items->body, pos, &next));
    }
    if (item.header.len == 0) {
        items->pos = items->body.len;
        *ret_any = false;
        return FZ_OK;
    }
    enum fz_code code = check_header(item.header, pos, "the item header", err);
    if (code != FZ_OK)
        return code;
    item.type = sentry_header_text(item.header, "type");
    item.offset = next;
    struct fz_span text = member_value(item.header, "length");
    uint64_t len = 0;
    bool has_length = text.len > 0 && !fz_span_is(text, "null");
    if (has_length && !fz_text_u64(text, &len))
        return fz_fail_at(err, FZ_E_MALFORMED, pos,
                          "sentry envelope: the length in the item header at byte %zu is no number",
                          pos);
    if (has_length) {
        code = sized_payload(items, len, &item, err);
        if (code != FZ_OK)
            return code;
    } else {
        item.payload = line_at(items->body, next, &items->pos);
    }
    *ret = item;
    *ret_any = true;
    return FZ_OK;
}
