/*
 * Memory in texts: members of JSON, and KSCrash's sections in Apple's crash text.
 *
 *   "stack":{"address":"0x16f0ffa60","bytes":"AAEC..."}                native, base64
 *   "stack":{"dump_start":6167722592,"contents":"00010F...", ...}      KSCrash, hexadecimal digits
 *   "memory":[{"address":"0x280000000","bytes":"..."}]                 native
 *   "notable_addresses":{"x0":{"type":"string","value":"..."}}         KSCrash
 *   Stack Dump (0x2feab6e8-0x2feab760):  00010F...                     KSCrash as Apple's text
 *
 * A string keeps its length: base64 is filled up with spaces, which its decoder skips.
 */
#include "server/ingest/common/strip.h"

#include "base/json/walk.h"
#include "base/platform.h"
#include "base/text.h"

enum { DEPTH_MAX = 24, KEY_MAX = 96 };

/* Of an empty part, which may be none at all, nothing is written. */
static uint8_t *
writable(struct ingest_strip *s, struct fz_span part)
{
    return part.len ? s->bytes + (part.data - s->bytes) : s->bytes;
}

/* An object, array or string becomes an empty one and spaces. */
static void
make_empty(struct ingest_strip *s, struct fz_span value)
{
    uint8_t *to = writable(s, value);
    uint8_t open = value.len >= 2 ? to[0] : 0;
    if (open != '{' && open != '[' && open != '"')
        return;
    memset(to + 1, ' ', value.len - 1);
    to[1] = open == '{' ? '}' : open == '[' ? ']' : '"';
    s->found = true;
}

/* Between the quotes; an empty span if it is not a string. */
static struct fz_span
content(struct fz_span value)
{
    if (value.len < 2 || value.data[0] != '"' || value.data[value.len - 1] != '"')
        return (struct fz_span){NULL, 0};
    return fz_span_make(value.data + 1, value.len - 2);
}

static uint64_t
read_address(struct fz_span value)
{
    uint64_t address = 0;
    int64_t negative = 0;
    struct fz_span text = value.len && value.data[0] == '"' ? content(value) : value;
    bool is_hex = text.len > 2 && text.data[0] == '0' && (text.data[1] | 0x20) == 'x';
    if (is_hex && fz_text_hex_u64(fz_span_from(text, 2), &address))
        return address;
    if (fz_text_u64(text, &address))
        return address;
    /* Writers without unsigned numbers. */
    return fz_text_i64(text, &negative) ? (uint64_t)negative : 0;
}

static void
strip_hex(struct ingest_strip *s, struct fz_span digits, uint64_t addr)
{
    static const char upper[] = "0123456789ABCDEF", lower[] = "0123456789abcdef";
    uint8_t *to = writable(s, digits);
    uint8_t *bytes = fz_arena_alloc(s->arena, digits.len / 2 + 1);
    s->failed = s->failed || !bytes;
    s->found = s->found || digits.len;
    if (!bytes || digits.len % 2 != 0 || !fz_text_unhex(digits, bytes)) {
        memset(to, '0', digits.len);
        return;
    }
    const char *alphabet = lower;
    for (size_t i = 0; i < digits.len; i++) {
        if (to[i] >= 'A' && to[i] <= 'F')
            alphabet = upper;
    }
    ingest_strip_words(s, bytes, digits.len / 2, addr);
    for (size_t i = 0; i < digits.len / 2; i++) {
        to[2 * i] = (uint8_t)alphabet[bytes[i] >> 4];
        to[2 * i + 1] = (uint8_t)alphabet[bytes[i] & 15];
    }
}

static void
strip_base64(struct ingest_strip *s, struct fz_span text, uint64_t addr)
{
    uint8_t *to = writable(s, text), *plain = fz_arena_alloc(s->arena, text.len + 1);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct fz_span bytes = {NULL, 0};
    size_t n = 0;
    s->failed = s->failed || !plain;
    s->found = s->found || text.len;
    for (size_t i = 0; plain && i < text.len; i++) {
        /* "\/": Apple's writer escapes slashes. */
        bool is_escape = text.data[i] == '\\' && i + 1 < text.len && text.data[i + 1] == '/';
        if (!is_escape)
            plain[n++] = text.data[i];
    }
    if (plain && fz_text_base64_decode(fz_span_make(plain, n), s->arena, &bytes, NULL) == FZ_OK &&
        bytes.len) {
        uint8_t *words = fz_arena_alloc(s->arena, bytes.len);
        s->failed = s->failed || !words;
        if (words) {
            memcpy(words, bytes.data, bytes.len);
            ingest_strip_words(s, words, bytes.len, addr);
            fz_text_base64_append(&out, fz_span_make(words, bytes.len));
        }
    }
    /* Without padding in the text, that of ours is cut. */
    size_t len = out.len < text.len ? out.len : text.len;
    bool fits = out.len > 0 && !out.failed && out.len <= text.len + 2;
    memset(to, ' ', text.len);
    if (fits)
        memcpy(to, out.data, len);
}

static void
strip_stack(struct ingest_strip *s, struct fz_span object)
{
    struct json_walk walk = json_walk_start(object);
    struct json_member member;
    uint64_t addr = 0;
    /* Twice, since the address may come after the bytes. */
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, "address") || fz_span_is(member.key, "dump_start"))
            addr = read_address(member.value);
    }
    walk = json_walk_start(object);
    while (json_walk_next(&walk, &member)) {
        if (fz_span_is(member.key, "bytes"))
            strip_base64(s, content(member.value), addr);
        else if (fz_span_is(member.key, "contents"))
            strip_hex(s, content(member.value), addr);
    }
}

/* Members that the app's author fills, and that may have any names. */
static bool
is_foreign(struct fz_span key)
{
    static const char *const keys[] = {"user", "tags", "breadcrumbs", "extra", "contexts"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(keys); i++) {
        if (fz_span_is(key, keys[i]))
            return true;
    }
    return false;
}

static void
strip_value(struct ingest_strip *s, const struct json_member *member, unsigned depth)
{
    struct fz_span value = member->value;
    uint8_t open = value.len ? value.data[0] : 0;
    struct json_member inner;
    if (fz_span_is(member->key, "notable_addresses")) {
        make_empty(s, value);
    } else if (fz_span_is(member->key, "stack") && open == '{') {
        strip_stack(s, value);
    } else if (fz_span_is(member->key, "memory") && open == '[') {
        make_empty(s, value);
    } else if (open == '{' && depth < DEPTH_MAX && !is_foreign(member->key)) {
        struct json_walk walk = json_walk_start(value);
        while (json_walk_next(&walk, &inner))
            strip_value(s, &inner, depth + 1);
    } else if (open == '[' && depth < DEPTH_MAX && !is_foreign(member->key)) {
        struct json_walk walk = json_walk_items(value);
        while (json_walk_next_item(&walk, &inner))
            strip_value(s, &inner, depth + 1);
    }
}

static size_t
skip_space(const struct ingest_strip *s, size_t at)
{
    while (at < s->len && (fz_text_is_blank(s->bytes[at]) || s->bytes[at] == '\n'))
        at++;
    return at;
}

/* The end of the JSON value that begins at `at`, a part of a form or a line of an envelope. With
 * `strips`, what is in it is stripped. */
static size_t
pass_json(struct ingest_strip *s, size_t at, bool strips)
{
    struct fz_span text = fz_span_make(s->bytes + at, s->len - at);
    struct json_member member;
    bool is_object = text.data[0] == '{';
    struct json_walk walk = is_object ? json_walk_start(text) : json_walk_items(text);
    size_t end = walk.pos;
    while (is_object ? json_walk_next(&walk, &member) : json_walk_next_item(&walk, &member)) {
        if (strips)
            strip_value(s, &member, 0);
        /* The walk's own place is lost when it ends. */
        end = walk.pos;
    }
    end = skip_space(s, at + end);
    bool is_closed = end < s->len && s->bytes[end] == (is_object ? '}' : ']');
    return is_closed ? end + 1 : end;
}

/* A section of Apple's text that begins at `at`; its end. */
static size_t
strip_section(struct ingest_strip *s, size_t at)
{
    struct fz_span line =
        fz_span_make(s->bytes + at, s->len - at < KEY_MAX ? s->len - at : KEY_MAX);
    const uint8_t *colon = memchr(line.data, ':', line.len);
    struct fz_span key = fz_span_make(line.data, colon ? (size_t)(colon - line.data) : 0);
    size_t open = fz_text_find(key, "("), end = skip_space(s, at + key.len + 1);
    bool is_dump = fz_span_begins(key, "Stack Dump");
    if (!colon || (!is_dump && !fz_span_begins(key, "Notable Addresses")))
        return at + 1;
    if (!is_dump) {
        if (end >= s->len || s->bytes[end] != '{')
            return end;
        size_t start = end;
        end = pass_json(s, start, false);
        make_empty(s, fz_span_make(s->bytes + start, end - start));
        return end;
    }
    struct fz_span range =
        open == SIZE_MAX ? (struct fz_span){NULL, 0} : fz_span_from(key, open + 1);
    size_t dash = fz_text_find(range, "-");
    uint64_t addr = dash == SIZE_MAX ? 0 : read_address(fz_span_make(range.data, dash));
    size_t start = end;
    while (end < s->len && fz_text_hex_digit((char)s->bytes[end]) >= 0)
        end++;
    strip_hex(s, fz_span_make(s->bytes + start, end - start), addr);
    return end;
}

void
ingest_strip_texts(struct ingest_strip *s)
{
    bool at_start = true;
    for (size_t at = 0; at < s->len && !s->failed;) {
        uint8_t c = s->bytes[at];
        if (at_start && (c == '{' || c == '['))
            at = pass_json(s, at, true);
        else if (at_start && (c == 'S' || c == 'N'))
            at = strip_section(s, at);
        else {
            /* A byte order mark may come first. */
            at_start = c == '\n' || (at_start && (fz_text_is_blank(c) || c >= 0x80));
            at++;
            continue;
        }
        at_start = false;
    }
}
