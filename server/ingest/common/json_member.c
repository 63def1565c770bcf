#include "server/ingest/common/json_member.h"

#include <stdio.h>

#include "base/arch/arch.h"
#include "base/json/scan.h"
#include "base/text.h"
#include "base/time.h"
#include "server/ingest/common/exception_names.h"

/* Unix times above this are milliseconds: in seconds it would be the year 5138. */
static const int64_t SECONDS_MAX = 100000000000;

enum fz_code
ingest_json_load(struct ingest_builder *b, struct fz_span body, struct fz_buffer *text,
                 json_t **ret, struct fz_error *err)
{
    struct json_scan_limits scan = {b->limits->json_depth, b->limits->report_memory,
                                    b->limits->report_memory};
    struct json_scan_notes found;
    enum fz_code code = text ? json_scan_load_text(body, &scan, text, &found, ret, err)
                             : json_scan_load_leaving(body, &scan, b->leave, &found, ret, err);
    if (code != FZ_OK)
        return code;
    /* One note for all of them: a text in another encoding has thousands. */
    uint64_t n = found.n_bad_utf8 + found.n_bad_escapes;
    if (n)
        ingest_note(
            b, "bytes and escapes that are not Unicode became U+FFFD: %llu, the first at byte %zu",
            (unsigned long long)n, found.first_offset);
    return FZ_OK;
}

json_t *
ingest_json_value(struct ingest_builder *b, struct fz_span text)
{
    json_t *value = NULL;
    struct fz_error err;
    struct json_scan_limits scan = {b->limits->json_depth, b->limits->report_memory,
                                    b->limits->report_memory};
    if (!b->failed && json_scan_load(text, &scan, NULL, &value, &err) != FZ_OK)
        /* Parts that are not JSON are the client's fault and data; only memory ends the parse. */
        b->failed = err.code == FZ_E_NO_MEMORY;
    return value;
}

/* ---- before the tree is built --------------------------------------------------------------- */

size_t
ingest_json_skip_space(struct fz_span text, size_t at)
{
    while (at < text.len && (text.data[at] == ' ' || text.data[at] == '\t' ||
                             text.data[at] == '\r' || text.data[at] == '\n'))
        at++;
    return at;
}

size_t
ingest_json_start(struct fz_span text)
{
    return ingest_json_skip_space(text, fz_span_begins(text, "\xef\xbb\xbf") ? 3 : 0);
}

bool
ingest_json_begins(struct fz_span value, char bracket)
{
    return value.len && value.data[0] == (uint8_t)bracket;
}

struct fz_span
ingest_json_find(struct fz_span object, const char *key)
{
    struct fz_span found = {NULL, 0};
    struct json_walk walk = json_walk_start(object);
    struct json_member member;
    while (json_walk_next(&walk, &member)) {
        /* The last one counts, as with jansson: the check and the parse must find the same
         * value. */
        if (fz_span_is(member.key, key))
            found = member.value;
    }
    return found;
}

size_t
ingest_json_count(struct fz_span array)
{
    struct json_walk walk = json_walk_items(array);
    struct json_member item;
    size_t n = 0;
    while (json_walk_next_item(&walk, &item))
        n++;
    return n;
}

void
ingest_json_append(struct fz_buffer *out, const struct json_member *member)
{
    fz_buffer_char(out, '"');
    fz_buffer_append(out, member->key.data, member->key.len); /* its escapes are still in it */
    fz_buffer_text(out, "\":");
    fz_buffer_append(out, member->value.data, member->value.len);
    fz_buffer_char(out, ',');
}

void
ingest_json_id(struct fz_span value, char ret[FZ_UUID_TEXT])
{
    if (value.len > 2 && value.data[0] == '"')
        (void)ingest_set_id(fz_span_between(value, 1, value.len - 1), ret);
}

/* ---- one member ----------------------------------------------------------------------------- */

static void
note_member(struct ingest_builder *b, const char *where, const char *key, const char *what)
{
    ingest_note(b, "%s%s%s: %s", where, *where ? "." : "", key, what);
}

/* The member unless it is absent or null. */
static const json_t *
member(const struct ingest_builder *b, const json_t *object, const char *key)
{
    /* SDKs write null for what they do not know. */
    const json_t *value = b->failed ? NULL : json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

const char *
ingest_json_text(struct ingest_builder *b, const json_t *object, const char *where, const char *key)
{
    const json_t *value = member(b, object, key);
    if (!value)
        return NULL;
    if (json_is_integer(value))
        return ingest_printf(b, "%lld", (long long)json_integer_value(value));
    if (json_is_real(value))
        return ingest_printf(b, "%.15g", json_real_value(value));
    if (!json_is_string(value)) {
        note_member(b, where, key, "not a text");
        return NULL;
    }
    return ingest_text(b, fz_span_cstr(json_string_value(value)));
}

const char *
ingest_json_first_text(struct ingest_builder *b, const json_t *object, const char *where,
                       const char *const *keys)
{
    const char *text = NULL;
    for (; !text && *keys; keys++)
        text = ingest_json_text(b, object, where, *keys);
    return text;
}

bool
ingest_json_u64(struct ingest_builder *b, const json_t *object, const char *where, const char *key,
                uint64_t *ret)
{
    const json_t *value = member(b, object, key);
    if (!value)
        return false;
    /* As an integer or a text: KSCrash writes registers up to 2^64, which the scanner makes
     * texts of, since jansson refuses them. */
    if (json_scan_u64(value, ret))
        return true;
    note_member(b, where, key, "not an address or number");
    return false;
}

uint32_t
ingest_json_u32(struct ingest_builder *b, const json_t *object, const char *where, const char *key)
{
    uint64_t number;
    bool fits = ingest_json_u64(b, object, where, key, &number) && number <= UINT32_MAX;
    return fits ? (uint32_t)number : 0;
}

bool
ingest_json_i64(struct ingest_builder *b, const json_t *object, const char *where, const char *key,
                int64_t *ret)
{
    const json_t *value = member(b, object, key);
    if (!value)
        return false;
    if (json_is_integer(value)) {
        *ret = json_integer_value(value);
        return true;
    }
    /* Early versions of MetricKit write numbers as texts. */
    if (json_is_string(value) &&
        fz_text_i64(fz_span_make(json_string_value(value), json_string_length(value)), ret))
        return true;
    note_member(b, where, key, "not a number");
    return false;
}

const char *
ingest_json_dylib_version(struct ingest_builder *b, const json_t *object, const char *where)
{
    static const char *const keys[] = {"major_version", "minor_version", "revision_version"};
    uint64_t part[3] = {0};
    for (size_t i = 0; i < FZ_ARRAY_LEN(keys); i++)
        (void)ingest_json_u64(b, object, where, keys[i], &part[i]);
    /* The main executable has no version of its own: KSCrash writes zeros. */
    if (!part[0] && !part[1] && !part[2])
        return NULL;
    return ingest_printf(b, "%llu.%llu.%llu", (unsigned long long)part[0],
                         (unsigned long long)part[1], (unsigned long long)part[2]);
}

const char *
ingest_json_cpu(struct ingest_builder *b, const json_t *object, const char *where, const char *type,
                const char *subtype)
{
    uint64_t number, sub = 0; /* 0 is "all", for writers that leave the second number out */
    if (!ingest_json_u64(b, object, where, type, &number))
        return NULL;
    (void)ingest_json_u64(b, object, where, subtype, &sub);
    return fz_arch_known_name((uint32_t)number, (uint32_t)sub);
}

bool
ingest_json_bool(struct ingest_builder *b, const json_t *object, const char *where, const char *key,
                 bool fallback)
{
    const json_t *value = member(b, object, key);
    if (!value)
        return fallback;
    if (json_is_boolean(value))
        return json_is_true(value);
    note_member(b, where, key, "neither true nor false");
    return fallback;
}

int64_t
ingest_json_time(struct ingest_builder *b, const json_t *object, const char *where, const char *key)
{
    int64_t ms = 0;
    const json_t *value = member(b, object, key);
    if (!value)
        return 0;
    if (json_is_string(value) &&
        fz_time_parse(fz_span_make(json_string_value(value), json_string_length(value)), &ms))
        return ms;
    /* sentry-cocoa sends seconds with a fraction, other clients milliseconds or a text. */
    double number = json_is_string(value) ? -1 : json_number_value(value);
    /* A number above the year 9999 in milliseconds is not a time. */
    if (number > 0 && number < 253402300800000.0)
        return (int64_t)(number < (double)SECONDS_MAX ? number * 1000 : number);
    note_member(b, where, key, "not a time");
    return 0;
}

const json_t *
ingest_json_member(struct ingest_builder *b, const json_t *object, const char *where,
                   const char *key, json_type type)
{
    const json_t *value = member(b, object, key);
    if (!value || json_typeof(value) == type)
        return value;
    note_member(b, where, key, type == JSON_ARRAY ? "not an array" : "not an object");
    return NULL;
}

bool
ingest_json_memory(struct ingest_builder *b, const json_t *object, const char *where,
                   struct report_memory *ret)
{
    uint64_t addr;
    struct fz_error err;
    const json_t *text = member(b, object, "bytes");
    if (!json_is_string(text) || !ingest_json_u64(b, object, where, "address", &addr)) {
        if (!b->failed)
            ingest_note(b, "%s: no address or no bytes, left out", where);
        return false;
    }
    struct fz_span base64 = fz_span_make(json_string_value(text), json_string_length(text));
    bool is_cut = base64.len / 4 * 3 > b->memory_left;
    /* Four digits are three bytes; the lowest addresses are nearest to the crash and are kept. */
    if (is_cut) {
        base64.len = b->memory_left / 3 * 4;
        ingest_note(b, "%s: cut, the report may carry %zu bytes of memory", where,
                    b->limits->memory_bytes);
    }
    struct fz_span bytes;
    enum fz_code code = fz_text_base64_decode(base64, b->arena, &bytes, &err);
    if (code == FZ_E_MALFORMED)
        ingest_note(b, "%s: %s, left out", where, err.text);
    else if (code != FZ_OK)
        b->failed = true;
    if (code != FZ_OK || bytes.len == 0)
        return false;
    b->memory_left -= bytes.len < b->memory_left ? bytes.len : b->memory_left;
    *ret = (struct report_memory){
        .addr = addr, .bytes = bytes, .why = ingest_json_text(b, object, where, "why")};
    ret->truncated = ingest_json_bool(b, object, where, "truncated", false) || is_cut;
    return true;
}

/* As Apple's texts have it: "SIGNAL 6", "SPRINGBOARD 0x8badf00d". */
void
ingest_json_exit_reason(struct ingest_builder *b, const json_t *object, const char *where)
{
    static const char *const text_keys[] = {"text", "description", NULL};
    enum { DECIMAL_MAX = 0xffff };
    uint64_t code, number;
    char space[24] = "exit reason";
    if (!ingest_json_u64(b, object, where, "code", &code))
        return;
    const json_t *value = json_object_get(object, "namespace");
    if (json_scan_u64(value, &number)) {
        const char *name = ingest_exit_namespace(number);
        if (name)
            snprintf(space, sizeof(space), "%s", name);
        else
            snprintf(space, sizeof(space), "NAMESPACE %u", (unsigned)(number & UINT32_MAX));
    } else if (json_is_string(value)) {
        snprintf(space, sizeof(space), "%.20s", json_string_value(value));
    }
    const char *text = ingest_json_first_text(b, object, where, text_keys);
    /* Signals are known by their numbers, the other codes as words like 0x8badf00d. */
    bool decimal = code <= DECIMAL_MAX && strcmp(space, "exit reason") != 0;
    b->report->crash.termination =
        ingest_printf(b, decimal ? "%s %llu%s%s" : "%s 0x%llx%s%s", space, (unsigned long long)code,
                      text ? " " : "", text ? text : "");
}
