/*
 * JSON with marks: one pass over its tokens, which are copied unless something is masked.
 *
 *   {"user": "u-1", "auth": {"code": 1234}, "note": "mail to a@b.example"}
 *   {"user": "u-1", "auth": {"code": "[secret]"}, "note": "mail to [email]"}
 *
 * A member whose name says what it is hides all that is in it. Strings with escapes are decoded first.
 */
#include <string.h>

#include "base/json/build.h"
#include "base/json/scan.h"
#include "base/sha256.h"
#include "base/text.h"
#include "server/scrub/text.h"

enum { DEPTH_MAX = 128, NAME_MAX_LEN = 96, HASH_SHOWN = 4, PLAIN_NAME = 24 };

struct level {
    bool is_object, expects_key, is_kept, is_user, is_device, is_id;
    enum scrub_kind hides; /* all values; SCRUB_KINDS: none */
};

struct pass {
    struct scrub *scrub;
    struct fz_span json;
    size_t at;
    size_t start, done; /* of the token that is looked at; all before `done` is in `out` */
    struct fz_buffer *out;
    struct fz_buffer scanned, decoded; /* a string that has escapes */
    struct level levels[DEPTH_MAX];
    size_t depth;
    struct level next; /* of the value that comes: what its name said */
    bool has_pseudonyms;
    bool failed; /* not JSON, or too deep */
};

/* ---- names ----------------------------------------------------------------------------------- */

static uint8_t
lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c - 'A' + 'a') : c;
}

/* With '*' for any text. One place to return to is enough: after a later star an earlier one never has to take more. */
static bool
matches(struct fz_span pattern, struct fz_span name)
{
    size_t p = 0, star = SIZE_MAX, back = 0;
    for (size_t t = 0; t < name.len;) {
        if (p < pattern.len && pattern.data[p] == '*') {
            star = p++;
            back = t;
        } else if (p < pattern.len && lower(pattern.data[p]) == lower(name.data[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++back;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.data[p] == '*')
        p++;
    return p == pattern.len;
}

static bool
any_matches(const struct fz_span *patterns, size_t n, struct fz_span name)
{
    for (size_t i = 0; i < n; i++) {
        if (matches(patterns[i], name))
            return true;
    }
    return false;
}

/* Ids and sums have the form of tokens, and say nothing. */
static bool
is_id(struct fz_span name)
{
    static const struct {
        uint8_t len;
        const char *text;
    } ends[] = {
        {2, "id"},     {2, "Id"},          {2, "ID"},     {4, "uuid"},     {4, "UUID"},
        {4, "hash"},   {4, "Hash"},        {3, "sha"},    {4, "sha1"},     {6, "sha256"},
        {6, "commit"}, {8, "revision"},    {6, "digest"}, {8, "checksum"}, {16, "crashReporterKey"},
        {5, "build"},  {11, "fingerprint"}};
    for (size_t i = 0; name.len && i < FZ_ARRAY_LEN(ends); i++) {
        size_t len = ends[i].len;
        /* Most differ in the last byte. */
        if (name.data[name.len - 1] == (uint8_t)ends[i].text[len - 1] && name.len >= len &&
            memcmp(name.data + name.len - len, ends[i].text, len) == 0)
            return true;
    }
    return false;
}

/* Of the report's user. */
static enum scrub_kind
kind_of_user(struct fz_span name)
{
    static const struct {
        const char *name;
        enum scrub_kind kind;
    } rows[] = {{"id", SCRUB_USER_ID},
                {"name", SCRUB_USER},
                {"login", SCRUB_USER},
                {"ip_address", SCRUB_IP}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        if (fz_span_is(name, rows[i].name))
            return rows[i].kind;
    }
    return SCRUB_KINDS;
}

static struct level
judge(const struct pass *p, const struct level *in, struct fz_span name)
{
    const struct scrub_rules *rules = p->scrub->rules;
    struct level next = {.hides = in->hides, .is_kept = in->is_kept, .is_id = is_id(name)};
    next.is_user = fz_span_is(name, "user");
    next.is_device = fz_span_is(name, "device");
    if (any_matches(rules->keep, rules->n_keep, name))
        next.is_kept = true;
    if (next.hides != SCRUB_KINDS)
        return next;
    if (any_matches(rules->key, rules->n_key, name))
        next.hides = SCRUB_CUSTOM;
    else if (in->is_user && kind_of_user(name) != SCRUB_KINDS)
        next.hides = kind_of_user(name);
    else if (in->is_device && fz_span_is(name, "name"))
        next.hides = SCRUB_DEVICE;
    else if (name.len <= NAME_MAX_LEN)
        next.hides = scrub_kind_of_name(name);
    /* The user's id stays as it is, whatever its form. */
    if (in->is_user && next.hides == SCRUB_USER_ID && !(rules->kinds & (1u << SCRUB_USER_ID)))
        next.is_kept = true;
    if (next.hides != SCRUB_KINDS && !(rules->kinds & (1u << next.hides)))
        next.hides = SCRUB_KINDS;
    return next;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Up to the token, which is replaced. Most JSON has nothing to replace, and is not copied at all. */
static void
copy_before(struct pass *p)
{
    fz_buffer_append(p->out, p->json.data + p->done, p->start - p->done);
    p->done = p->at;
}

static void
write_mark(struct pass *p, struct fz_span value)
{
    enum scrub_kind kind = p->next.hides;
    copy_before(p);
    size_t from = p->out->len + 1;
    bool stands_for_user =
        p->has_pseudonyms && p->depth == 1 && (kind == SCRUB_EMAIL || kind == SCRUB_USER);
    fz_buffer_char(p->out, '"');
    if (stands_for_user) {
        uint8_t hash[FZ_SHA256_BYTES];
        struct fz_sha256 sum = fz_sha256_make();
        bool is_quoted = value.data[0] == '"';
        fz_sha256_add(&sum, is_quoted ? fz_span_make(value.data + 1, value.len - 2) : value);
        fz_sha256_end(&sum, hash);
        p->scrub->n[kind]++;
        fz_buffer_printf(p->out, "[%s:", scrub_kind_names[kind]);
        for (size_t i = 0; i < HASH_SHOWN; i++)
            fz_buffer_printf(p->out, "%02x", hash[i]);
        fz_buffer_char(p->out, ']');
    } else {
        scrub_mark(p->scrub, kind, p->out);
    }
    if (p->scrub->seen && !p->out->failed)
        p->scrub->seen(p->scrub->user, value, fz_span_from(fz_buffer_span(p->out), from));
    fz_buffer_char(p->out, '"');
}

static void
write_string(struct pass *p, struct fz_span quoted)
{
    static const struct json_scan_limits one = {.depth = 1, .output_bytes = SIZE_MAX};
    struct fz_span text = fz_span_make(quoted.data + 1, quoted.len - 2);
    if (memchr(text.data, '\\', text.len)) {
        /* The scanner first: what decodes relies on it. */
        fz_buffer_clear(&p->scanned);
        if (json_scan(quoted, &one, &p->scanned, NULL, NULL) != FZ_OK ||
            !json_decode(p->scanned.data + 1, p->scanned.len - 2, &p->decoded)) {
            p->failed = true;
            return;
        }
        text = fz_buffer_span(&p->decoded);
    }
    struct fz_span done = scrub_span(p->scrub, text, p->next.is_id);
    if (done.data == text.data)
        return;
    copy_before(p);
    fz_text_json_append(p->out, done);
}

static bool
is_mark(struct fz_span quoted)
{
    for (int kind = 0; quoted.data[1] == '[' && kind < SCRUB_KINDS; kind++) {
        size_t len = strlen(scrub_kind_names[kind]);
        if (quoted.len >= len + 4 && memcmp(quoted.data + 2, scrub_kind_names[kind], len) == 0 &&
            quoted.data[quoted.len - 2] == ']')
            return true;
    }
    return false;
}

static void
write_value(struct pass *p, struct fz_span value)
{
    bool is_string = value.data[0] == '"',
         is_number = value.data[0] == '-' || scrub_is_digit(value.data[0]);
    bool is_empty = is_string && value.len == 2;
    if (p->next.is_kept || is_empty || (is_string && is_mark(value)) ||
        (!is_string && !(is_number && p->next.hides != SCRUB_KINDS)))
        return;
    if (p->next.hides != SCRUB_KINDS)
        write_mark(p, value);
    else
        write_string(p, value);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static struct fz_span
token_at(const struct pass *p)
{
    size_t end = p->at + 1;
    if (p->json.data[p->at] == '"') {
        while (end < p->json.len && p->json.data[end] != '"')
            end += p->json.data[end] == '\\' ? 2 : 1;
        end++;
    } else {
        while (end < p->json.len && !strchr(",:]}[{\" \t\r\n", p->json.data[end]))
            end++;
    }
    return fz_span_make(p->json.data + p->at, end <= p->json.len ? end - p->at : 0);
}

static void
open_level(struct pass *p, bool is_object)
{
    if (p->depth == DEPTH_MAX) {
        p->failed = true;
        return;
    }
    struct level *level = &p->levels[p->depth++];
    *level = p->next;
    level->is_object = level->expects_key = is_object;
}

/* Of an item of an array all that its array has: "user": [{…}], "tokens": ["…"]. */
static void
take_level(struct pass *p)
{
    if (p->depth)
        p->next = p->levels[p->depth - 1];
}

static void
step(struct pass *p)
{
    uint8_t c = p->json.data[p->at];
    struct level *level = p->depth ? &p->levels[p->depth - 1] : NULL;
    if (c != '"' && strchr(" \t\r\n,:{}[]", c)) {
        p->at++;
        if (c == '{' || c == '[')
            open_level(p, c == '{');
        if ((c == '}' || c == ']') && p->depth)
            p->depth--;
        if (c == ',' && level)
            level->expects_key = level->is_object;
        if (strchr(",{}[]", c))
            take_level(p);
        return;
    }
    struct fz_span token = token_at(p);
    if (token.len == 0) {
        p->failed = true;
        return;
    }
    p->start = p->at;
    p->at += token.len;
    if (!level || !level->expects_key) {
        write_value(p, token);
        return;
    }
    /* A name may be that of a person. */
    level->expects_key = false;
    p->next = (struct level){.hides = SCRUB_KINDS, .is_id = true};
    if (token.len > PLAIN_NAME || p->scrub->rules->n_text || memchr(token.data, '@', token.len))
        write_string(p, token);
    p->next = judge(p, level, fz_span_make(token.data + 1, token.len >= 2 ? token.len - 2 : 0));
}

const char *
scrub_json(struct scrub *scrub, const char *json, enum scrub_top top)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    size_t before = scrub_count(scrub);
    if (!json)
        return NULL;
    struct pass pass = {.scrub = scrub, .json = fz_span_cstr(json), .out = &out};
    pass.has_pseudonyms = top == SCRUB_TOP_PSEUDONYM;
    pass.next = (struct level){.hides = SCRUB_KINDS, .is_user = top != SCRUB_TOP_ANY};
    /* A text alone is the user's id. */
    if (top != SCRUB_TOP_ANY && json[0] == '"')
        return json;
    while (pass.at < pass.json.len && !pass.failed)
        step(&pass);
    fz_buffer_deinit(&pass.scanned);
    fz_buffer_deinit(&pass.decoded);
    if (pass.failed) {
        /* It was JSON when it was parsed, so it is too deep. */
        scrub->n[SCRUB_CUSTOM]++;
        return "\"[custom]\"";
    }
    if (scrub_count(scrub) == before)
        return json;
    fz_buffer_append(&out, pass.json.data + pass.done, pass.json.len - pass.done);
    const char *copy = out.failed ? NULL : fz_arena_text(scrub->arena, fz_buffer_span(&out));
    if (!copy)
        scrub->failed = true;
    return copy;
}
