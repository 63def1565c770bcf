/*
 * QuincyKit's and HockeyApp's crash XML:
 *
 *   <crashes><crash>
 *     <applicationname>Demo</applicationname>
 *     <uuids><uuid type="app" arch="arm64">4c4c445b55553144a12988beb9d5eb60</uuid></uuids>
 *     <bundleidentifier>com.example.demo</bundleidentifier> <systemversion>17.2</systemversion>
 *     <platform>iPhone15,2</platform> <version>34</version> <uuid>0FDFF9A9-...</uuid>
 *     <log><![CDATA[ Apple's crash text ]]></log> <username>Dev</username>
 *   </crash></crashes>
 *
 * The clients paste values between the tags without escaping them, so tags are searched for and
 * nothing else is asked of the XML. A missing value is empty or the text "(null)"; "]]>" in a text
 * is written as two CDATA sections. The crash itself is in the log.
 */
#include "server/ingest/common/format.h"
#include "server/ingest/common/json_member.h"

#include "base/text.h"

enum { ELEMENTS_MAX = 256, UUIDS_MAX = 64 };

static const char cdata_start[] = "<![CDATA[", cdata_end[] = "]]>";

struct element {
    struct fz_span name, attributes;
    struct fz_span content; /* with its CDATA marks */
    struct fz_span whole;   /* from its "<" on */
};

static bool
is_name_char(uint8_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Where the CDATA section at the start of `text` ends. */
static size_t
cdata_end_of(struct fz_span text)
{
    size_t end = fz_text_find(text, cdata_end);
    return end == SIZE_MAX ? text.len : end + strlen(cdata_end);
}

/* Where "</name>" begins in the text, outside of CDATA; the end of the text if nowhere. */
static size_t
find_close(struct fz_span text, struct fz_span name)
{
    for (size_t i = 0; i < text.len;) {
        const uint8_t *open = memchr(text.data + i, '<', text.len - i);
        if (!open)
            break;
        i = (size_t)(open - text.data);
        struct fz_span rest = fz_span_from(text, i);
        /* Not an XML parser: "&" and "<" in values come without escapes from these clients. */
        struct fz_span after = fz_span_from(rest, 2 + name.len);
        if (fz_span_begins(rest, cdata_start))
            i += cdata_end_of(rest);
        else if (fz_span_begins(rest, "</") && after.len && after.data[0] == '>' &&
                 fz_span_equal(fz_span_until(fz_span_from(rest, 2), name.len), name))
            return i;
        else
            i++;
    }
    return text.len;
}

/* The next element in *rest; one without an end reaches to the end of the text. */
static bool
next_element(struct fz_span *rest, struct element *ret)
{
    while (rest->len) {
        const uint8_t *open = memchr(rest->data, '<', rest->len);
        if (!open)
            break;
        struct fz_span text = fz_span_from(*rest, (size_t)(open - rest->data));
        if (fz_span_begins(text, cdata_start)) {
            *rest = fz_span_from(text, cdata_end_of(text));
            continue;
        }
        struct fz_span tag = fz_span_from(text, 1);
        size_t len = 0;
        while (len < tag.len && is_name_char(tag.data[len]))
            len++;
        /* Attributes have no ">" in what the clients write. */
        size_t close = len ? fz_text_find(tag, ">") : SIZE_MAX;
        if (len == 0 || close == SIZE_MAX) { /* "</...", "<?xml", "a < b" */
            *rest = tag;
            if (len)
                break;
            continue;
        }
        ret->name = fz_span_until(tag, len);
        ret->attributes = fz_span_between(tag, len, close);
        ret->content = fz_span_from(tag, close + 1);
        size_t end = 0;
        /* An empty element has no end tag: the search would run to the end of the body. */
        if (!fz_span_ends(ret->attributes, "/"))
            end = find_close(ret->content, ret->name);
        struct fz_span after = fz_span_from(ret->content, end);
        if (after.len && !fz_span_ends(ret->attributes, "/"))
            after = fz_span_from(after, len + 3);
        ret->content = fz_span_until(ret->content, end);
        ret->whole = fz_span_until(text, text.len - after.len);
        *rest = after;
        return true;
    }
    *rest = (struct fz_span){NULL, 0};
    return false;
}

/* The first element of that name at the top of the text. */
static bool
find_element(struct fz_span text, const char *name, struct element *ret)
{
    struct element element;
    while (next_element(&text, &element)) {
        if (fz_span_is(element.name, name)) {
            *ret = element;
            return true;
        }
    }
    return false;
}

/* What is inside <crashes>, or the text itself: the <crash> elements are at its top level. */
static struct fz_span
inside_crashes(struct fz_span body)
{
    struct element crashes;
    return find_element(body, "crashes", &crashes) ? crashes.content : body;
}

static bool
quincy_detect(struct fz_span head)
{
    struct element element;
    if (fz_span_begins(head, "\xef\xbb\xbf"))
        head = fz_span_from(head, 3);
    /* An XML declaration may come first, but nothing long. */
    head = fz_text_trim(fz_span_until(head, 4096));
    if (!fz_span_begins(head, "<"))
        return false;
    struct fz_span rest = head;
    if (!next_element(&rest, &element))
        return false;
    if (fz_span_is(element.name, "crashes"))
        return true;
    return fz_span_is(element.name, "crash") && fz_text_contains(element.content, "<");
}

/* "&amp;", "&#38;" at the start of the text: the character, and how long it is; 0 if it is not an entity. */
static size_t
entity_len(struct fz_span text, uint32_t *ret)
{
    static const struct {
        const char *name;
        uint32_t c;
    } names[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (fz_span_begins(text, names[i].name)) {
            *ret = names[i].c;
            return strlen(names[i].name);
        }
    }
    size_t end = fz_text_find(fz_span_until(text, 10), ";");
    uint64_t c;
    if (!fz_span_begins(text, "&#") || end == SIZE_MAX)
        return 0;
    struct fz_span digits = fz_span_between(text, 2, end);
    bool is_hex = fz_span_begins(digits, "x");
    bool is_number =
        is_hex ? fz_text_hex_u64(fz_span_from(digits, 1), &c) : fz_text_u64(digits, &c);
    if (!is_number || c == 0 || c >= 0x80) /* others than ASCII need none in UTF-8 */
        return 0;
    *ret = (uint32_t)c;
    return end + 1;
}

/* The value of an element: CDATA as it is, text with its entities decoded. Borrowed from the
 * arena; empty for "(null)". */
static struct fz_span
value_of(struct ingest_builder *b, struct fz_span content)
{
    uint8_t *out = ingest_alloc(b, content.len + 1, 1);
    size_t n = 0;
    uint32_t c;
    bool any_cdata = fz_text_contains(content, cdata_start);
    for (size_t i = 0; out && i < content.len;) {
        struct fz_span rest = fz_span_from(content, i);
        if (rest.data[0] == '<' && fz_span_begins(rest, cdata_start)) {
            size_t len = cdata_end_of(rest);
            size_t start = strlen(cdata_start);
            struct fz_span inside = fz_span_between(rest, start, len);
            if (fz_span_ends(inside, cdata_end))
                inside = fz_span_until(inside, inside.len - strlen(cdata_end));
            /* "]]>" in a text makes two sections of it: they are joined. */
            if (inside.len)
                memcpy(out + n, inside.data, inside.len);
            n += inside.len;
            i += len;
            continue;
        }
        size_t len = rest.data[0] == '&' ? entity_len(rest, &c) : 0;
        /* White space around CDATA is layout. */
        if (!any_cdata || !(fz_text_is_blank(rest.data[0]) || rest.data[0] == '\n'))
            out[n++] = len ? (uint8_t)c : rest.data[0];
        i += len ? len : 1;
    }
    /* Objective-C prints a nil value as "(null)". */
    struct fz_span value = out ? fz_text_trim(fz_span_make(out, n)) : (struct fz_span){NULL, 0};
    return fz_span_is(value, "(null)") ? (struct fz_span){NULL, 0} : value;
}

/* A value as a text of the report. */
static const char *
read_value(struct ingest_builder *b, struct fz_span content)
{
    return ingest_clean_text(b, value_of(b, content));
}

static uint64_t
offset_in(struct fz_span body, struct fz_span part)
{
    return part.len ? (uint64_t)(part.data - body.data) : 0;
}

/* The crash and its text. */
static enum fz_code
find_log(struct fz_span body, struct element *ret_crash, struct element *ret_log,
         struct fz_error *err)
{
    struct fz_span crashes = inside_crashes(body);
    if (!find_element(crashes, "crash", ret_crash))
        return fz_fail_at(err, FZ_E_MALFORMED, offset_in(body, crashes),
                          "quincy: no <crash> in <crashes>");
    /* The other elements say where it crashed, not how. */
    if (!find_element(ret_crash->content, "log", ret_log))
        return fz_fail_at(err, FZ_E_MALFORMED, offset_in(body, ret_crash->whole),
                          "quincy: no <log> in <crash>, so there is no crash to read");
    return FZ_OK;
}

static enum fz_code
quincy_check(struct fz_span body, const struct ingest_context *in, char ret_id[FZ_UUID_TEXT],
             struct fz_error *err)
{
    (void)in;
    struct element crash, element;
    enum fz_code code = find_log(body, &crash, &element, err);
    if (code == FZ_OK && find_element(crash.content, "uuid", &element))
        (void)ingest_set_id(fz_text_trim(element.content), ret_id);
    return code;
}

/* The next <crash> element. */
static bool
next_crash(struct fz_span *rest, struct element *ret)
{
    while (next_element(rest, ret)) {
        if (fz_span_is(ret->name, "crash"))
            return true;
    }
    return false;
}

/* One body for each <crash>, if there are several. */
static enum fz_code
quincy_split(struct fz_span body, struct ingest_found *found, struct fz_error *err)
{
    struct fz_span all = inside_crashes(body), rest = all;
    struct element crash;
    (void)err;
    /* One alone is the body: its offsets in messages then count from the start of the body. */
    if (!next_crash(&rest, &crash) || !next_crash(&rest, &crash))
        return FZ_OK;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    while (!found->failed && next_crash(&all, &crash)) {
        fz_buffer_clear(&text);
        fz_buffer_text(&text, "<crashes>");
        fz_buffer_append(&text, crash.whole.data, crash.whole.len);
        fz_buffer_text(&text, "</crashes>");
        ingest_found_copy(found, &text);
    }
    return FZ_OK;
}

/* <uuid type="app" arch="arm64">...</uuid>: the value of an attribute. */
static struct fz_span
attribute(struct fz_span attributes, const char *name)
{
    size_t at = fz_text_find(attributes, name);
    struct fz_span rest =
        at == SIZE_MAX ? (struct fz_span){NULL, 0} : fz_span_from(attributes, at + strlen(name));
    if (!fz_span_begins(rest, "=\"") && !fz_span_begins(rest, "='"))
        return (struct fz_span){NULL, 0};
    char quote[2] = {(char)rest.data[1], '\0'};
    rest = fz_span_from(rest, 2);
    return fz_span_until(rest, fz_text_find(rest, quote));
}

/* The binary whose symbols are wanted, where the log has no UUID for it. */
static void
name_app_image(struct ingest_builder *b, const struct fz_uuid *uuid, struct fz_span arch)
{
    struct report *r = b->report;
    const char *name = r->process.name ? r->process.name : r->app_name;
    for (size_t i = 0; i < r->n_images; i++) {
        struct report_image *image = &r->images[i];
        if (image->has_uuid || !image->name || !name || strcmp(image->name, name) != 0)
            continue;
        if (image->arch && arch.len && !fz_span_is(arch, image->arch))
            continue;
        /* Both are from the device that crashed, so the UUID fits the log. */
        image->uuid = *uuid;
        image->has_uuid = true;
        ingest_note(b, "images: the UUID of %s is the one beside the log", name);
        return;
    }
}

static void
read_uuids(struct ingest_builder *b, struct fz_span content, json_t *extra)
{
    json_t *list = json_array();
    struct element element;
    struct fz_uuid uuid;
    for (int i = 0; list && i < UUIDS_MAX && next_element(&content, &element); i++) {
        const char *text = read_value(b, element.content);
        if (!text)
            continue;
        struct fz_span type = attribute(element.attributes, "type");
        struct fz_span arch = attribute(element.attributes, "arch");
        const char *type_text = read_value(b, type), *arch_text = read_value(b, arch);
        /* All are kept; only that of the app itself can complete an image. */
        json_t *one =
            json_pack("{s:s, s:s?, s:s?}", "uuid", text, "type", type_text, "arch", arch_text);
        if (json_array_append_new(list, one) != 0)
            b->failed = true;
        if (fz_span_is(type, "app") && fz_uuid_parse(fz_span_cstr(text), &uuid) &&
            !fz_uuid_is_nil(&uuid))
            name_app_image(b, &uuid, arch);
    }
    if (json_object_set_new(extra, "uuids", list) != 0)
        b->failed = true;
}

/* One element of <crash>: what the log says comes first, since it is of the crash itself. */
static void
read_element(struct ingest_builder *b, const struct element *element, json_t *user, json_t *extra)
{
    static const struct {
        const char *element, *key;
    } users[] = {{"userid", "id"}, {"username", "name"}, {"contact", "contact"}};
    struct report *r = b->report;
    const struct {
        const char *element;
        const char **to;
        bool replaces; /* what the log says */
    } members[] = {
        {"uuid", &r->id, true},
        {"applicationname", &r->app_name, true},
        {"bundleidentifier", &r->app_id, false},
        {"systemversion", &r->os_version, false},
        {"platform", &r->device_model, false},
        {"versionstring", &r->app_version, false},
        {"version", &r->app_build, false},
    };
    if (fz_span_is(element->name, "uuids")) {
        read_uuids(b, element->content, extra);
        return;
    }
    const char *value = read_value(b, element->content);
    if (!value)
        return;
    for (size_t i = 0; i < FZ_ARRAY_LEN(users); i++) {
        if (fz_span_is(element->name, users[i].element)) {
            ingest_json_set(b, user, users[i].key, json_string(value));
            return;
        }
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(members); i++) {
        if (!fz_span_is(element->name, members[i].element))
            continue;
        if (members[i].replaces || !*members[i].to)
            *members[i].to = value;
        return;
    }
    const char *name = ingest_text(b, element->name);
    if (name)
        ingest_json_set(b, extra, name, json_string(value));
}

static void
read_elements(struct ingest_builder *b, struct fz_span content)
{
    json_auto_t *user = json_object();
    json_auto_t *extra = json_object();
    struct element element;
    b->failed = b->failed || !user || !extra;
    for (int i = 0; i < ELEMENTS_MAX && !b->failed && next_element(&content, &element); i++) {
        if (!fz_span_is(element.name, "log"))
            read_element(b, &element, user, extra);
    }
    if (b->failed)
        return;
    /* The clients write about 15 elements; each one costs a search for its end. */
    if (next_element(&content, &element))
        ingest_note(b, "quincy: elements after the first %d are left out", ELEMENTS_MAX);
    const char *text = ingest_json_dump(b, user, NULL);
    if (text)
        b->report->user_json = text;
    ingest_add_extra(b, NULL, extra, NULL);
}

static enum fz_code
quincy_parse(struct fz_span body, const struct ingest_context *in, struct fz_arena *arena,
             struct report *ret, struct fz_error *err)
{
    struct ingest_builder b = ingest_builder_make(ret, arena, in->limits);
    struct element crash, log;
    enum fz_code code = find_log(body, &crash, &log, err);
    if (code != FZ_OK)
        return code;
    struct fz_span text = value_of(&b, log.content);
    if (b.failed)
        return fz_arena_fail(arena, err);
    /* Only texts: a format that holds others could hold this one again. */
    const struct ingest_format *format = ingest_format_of(in, text);
    if (format != &ingest_crash_text && format != &ingest_stack_text)
        return fz_fail_at(err, FZ_E_UNSUPPORTED, offset_in(body, log.whole),
                          "quincy: the text in <log> is %s, Apple's crash text is wanted",
                          format ? format->name : "no report");
    code = format->parse(text, in, arena, ret, err);
    if (code != FZ_OK)
        return fz_wrap(err, "quincy: log");
    read_elements(&b, crash.content);
    return b.failed ? fz_arena_fail(arena, err) : FZ_OK;
}

const struct ingest_format ingest_quincy = {
    .name = "quincy",
    .detect = quincy_detect,
    .check = quincy_check,
    .parse = quincy_parse,
    .split = quincy_split,
};
