#include "base/json/walk.h"

#include "base/json/value_end.h"

static bool
is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static size_t
skip_space(struct fz_span text, size_t pos)
{
    while (pos < text.len && is_space(text.data[pos]))
        pos++;
    return pos;
}

static struct json_walk
start_at(struct fz_span text, char bracket)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    size_t pos = text.len >= 3 && memcmp(text.data, byte_order_mark, 3) == 0 ? 3 : 0;
    pos = skip_space(text, pos);
    if (pos == text.len || text.data[pos] != (uint8_t)bracket)
        return (struct json_walk){text, text.len};
    return (struct json_walk){text, pos + 1};
}

struct json_walk
json_walk_start(struct fz_span text)
{
    return start_at(text, '{');
}

struct json_walk
json_walk_items(struct fz_span text)
{
    return start_at(text, '[');
}

/* The next key, and where its value begins. */
static bool
next_key(const struct json_walk *walk, struct fz_span *ret_key, size_t *ret_value)
{
    struct fz_span text = walk->text;
    size_t pos = skip_space(text, walk->pos);
    if (pos < text.len && text.data[pos] == ',')
        pos = skip_space(text, pos + 1);
    if (pos >= text.len || text.data[pos] != '"')
        return false;
    size_t key = pos + 1, key_end = json_string_end(text, pos);
    if (key_end > text.len)
        return false;
    pos = skip_space(text, key_end);
    if (pos >= text.len || text.data[pos] != ':')
        return false;
    *ret_value = skip_space(text, pos + 1);
    return fz_span_sub(text, key, key_end - 1 - key, ret_key);
}

bool
json_walk_next(struct json_walk *walk, struct json_member *ret)
{
    struct fz_span text = walk->text;
    size_t pos;
    bool found = next_key(walk, &ret->key, &pos);
    walk->pos = text.len;
    if (!found)
        return false;
    size_t end = json_value_end(text, pos);
    /* The head of a body is enough to detect its format, so the last value may be cut. */
    ret->complete = end <= text.len;
    if (!ret->complete)
        end = text.len;
    if (!fz_span_sub(text, pos, end - pos, &ret->value))
        return false;
    walk->pos = end;
    return true;
}

bool
json_walk_key(const struct json_walk *walk, struct fz_span *ret)
{
    size_t value;
    return next_key(walk, ret, &value);
}

bool
json_walk_next_item(struct json_walk *walk, struct json_member *ret)
{
    struct fz_span text = walk->text;
    size_t pos = skip_space(text, walk->pos);
    /* Some senders leave a comma after the last item, or two between items. */
    while (pos < text.len && text.data[pos] == ',')
        pos = skip_space(text, pos + 1);
    walk->pos = text.len;
    if (pos >= text.len || text.data[pos] == ']')
        return false;
    size_t end = json_value_end(text, pos);
    ret->complete = end <= text.len;
    if (!ret->complete)
        end = text.len;
    ret->key = (struct fz_span){NULL, 0};
    /* A stray closing bracket is not a value: the walk ends here. */
    if (end == pos || !fz_span_sub(text, pos, end - pos, &ret->value))
        return false;
    walk->pos = end;
    return true;
}

void
json_walk_compact(struct fz_span json, struct fz_buffer *out)
{
    size_t start = 0, pos = 0;
    while (pos < json.len) {
        if (json.data[pos] == '"') {
            pos = json_string_end(json, pos);
        } else if (!is_space(json.data[pos])) {
            pos++;
        } else {
            fz_buffer_append(out, json.data + start, pos - start);
            start = pos = skip_space(json, pos);
        }
    }
    if (start < json.len)
        fz_buffer_append(out, json.data + start, json.len - start);
}
