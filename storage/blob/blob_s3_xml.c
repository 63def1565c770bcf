/*
 * A scan for tags. "<a:Key x='1'>k&amp;l</a:Key>" is a tag that opens Key, text, a tag that closes
 * it. A tag ends at the first '>' that is not in quotes; "<!--", "<?" and "<![CDATA[" end where
 * theirs do. Nested elements of the same name are counted, so that the end is the right one.
 */
#include "storage/blob/blob_s3_xml.h"

#include <stdint.h>
#include <string.h>

#include "base/attr.h"
#include "base/text.h"

enum { ENTITY_MAX = 10 };
enum kind { OPENS, CLOSES, IS_EMPTY, IS_OTHER };

struct tag {
    size_t start, end; /* from '<' to after '>' */
    enum kind kind;
    struct fz_span name; /* without a prefix */
};

/* Where `mark` ends, at or after `pos`; the end of the text without it. */
static size_t
after(struct fz_span xml, size_t pos, const char *mark)
{
    size_t at = fz_text_find(fz_span_from(xml, pos), mark);
    return at == SIZE_MAX ? xml.len : pos + at + strlen(mark);
}

static bool
begins_at(struct fz_span xml, size_t pos, const char *mark)
{
    size_t len = strlen(mark);
    return xml.len - pos >= len && memcmp(xml.data + pos, mark, len) == 0;
}

/* After the '>' of the tag that starts at `pos`. */
static size_t
tag_end(struct fz_span xml, size_t pos)
{
    uint8_t quote = 0;
    for (size_t i = pos; i < xml.len; i++) {
        uint8_t c = xml.data[i];
        if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '>')
            return i + 1;
    }
    return xml.len;
}

static struct fz_span
local_name(struct fz_span text)
{
    size_t len = 0, start = 0;
    while (len < text.len && !strchr(" \t\r\n/>", text.data[len])) {
        if (text.data[len] == ':')
            start = len + 1;
        len++;
    }
    return fz_span_between(text, start, len);
}

/* The next tag at or after `pos`; false: there is none that is whole. */
static bool
next_tag(struct fz_span xml, size_t pos, struct tag *ret)
{
    const uint8_t *at = pos < xml.len ? memchr(xml.data + pos, '<', xml.len - pos) : NULL;
    if (!at)
        return false;
    size_t start = (size_t)(at - xml.data);
    *ret = (struct tag){.start = start, .kind = IS_OTHER};
    if (begins_at(xml, start, "<!--"))
        ret->end = after(xml, start + 4, "-->");
    else if (begins_at(xml, start, "<![CDATA["))
        ret->end = after(xml, start + 9, "]]>");
    else if (begins_at(xml, start, "<?"))
        ret->end = after(xml, start + 2, "?>");
    else
        ret->end = tag_end(xml, start);
    if (ret->end <= start + 1 || xml.data[ret->end - 1] != '>')
        return false;
    if (begins_at(xml, start, "<!") || begins_at(xml, start, "<?"))
        return true;
    bool closes = begins_at(xml, start, "</");
    ret->name = local_name(fz_span_between(xml, start + 1 + closes, ret->end));
    ret->kind = closes                                                  ? CLOSES
                : ret->end - start > 2 && xml.data[ret->end - 2] == '/' ? IS_EMPTY
                                                                        : OPENS;
    return true;
}

bool
blob_s3_xml_next(struct fz_span xml, const char *name, size_t *pos, struct fz_span *ret)
{
    struct fz_span want = fz_span_cstr(name);
    struct tag tag;
    size_t at = *pos, start = 0, depth = 0;
    while (next_tag(xml, at, &tag)) {
        at = tag.end;
        if (!fz_span_equal(tag.name, want))
            continue;
        if (tag.kind == IS_EMPTY && depth == 0) {
            *pos = tag.end;
            *ret = (struct fz_span){NULL, 0};
            return true;
        }
        if (tag.kind == OPENS && depth++ == 0)
            start = tag.end;
        if (tag.kind == CLOSES && depth > 0 && --depth == 0) {
            *pos = tag.end;
            *ret = fz_span_between(xml, start, tag.start);
            return true;
        }
    }
    return false;
}

/* ---- text ---- */

/* One character of the text at *pos, which moves after it; 0: not one that is needed (names, hashes
 * and messages are ASCII), which is left out. */
static char
next_char(struct fz_span text, size_t *pos)
{
    static const struct {
        const char *name;
        char c;
    } entities[] = {
        {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    uint8_t c = text.data[*pos];
    if (c != '&') {
        ++*pos;
        return c >= ' ' && c < 0x7f ? (char)c : 0;
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(entities); i++) {
        if (begins_at(text, *pos, entities[i].name)) {
            *pos += strlen(entities[i].name);
            return entities[i].c;
        }
    }
    /* "&#x10ffff;" is the longest: a far ';' belongs to something else. */
    size_t end = after(fz_span_until(text, *pos + ENTITY_MAX), *pos, ";");
    bool is_hex = begins_at(text, *pos, "&#x");
    uint64_t number = 0;
    struct fz_span digits = fz_span_between(text, *pos + 2 + is_hex, end - 1);
    bool good = begins_at(text, *pos, "&#") && text.data[end - 1] == ';' &&
                (is_hex ? fz_text_hex_u64(digits, &number) : fz_text_u64(digits, &number));
    if (!good) {
        ++*pos; /* a '&' that stands for itself */
        return '&';
    }
    *pos = end;
    return number >= ' ' && number < 0x7f ? (char)number : 0;
}

bool
blob_s3_xml_text(struct fz_span xml, const char *name, char *ret, size_t room)
{
    struct fz_span text;
    size_t at = 0, n = 0;
    ret[0] = '\0';
    if (!blob_s3_xml_next(xml, name, &at, &text) ||
        (text.len > 0 && memchr(text.data, '<', text.len)))
        return false;
    for (size_t i = 0; i < text.len;) {
        char c = next_char(text, &i);
        if (c && n + 1 >= room) {
            ret[0] = '\0';
            return false;
        }
        if (c)
            ret[n++] = c;
    }
    ret[n] = '\0';
    return true;
}
