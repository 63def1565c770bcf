/*
 * What Crashpad and Mozilla's Breakpad add: annotations, Apple's crash information, comments.
 *
 * Crashpad's stream: u32 version, GUID of the report, GUID of the client, place of a dictionary,
 * place of a list of modules: u32 count, then (u32 module, place of its record). A module's record:
 * u32 version, then the places of a list of texts, a dictionary, and annotation objects (name, u16
 * type, u16, value). A dictionary: u32 count, then pairs of offsets; a text: u32 length, UTF-8.
 */

#include "base/text.h"
#include "server/ingest/minidump/minidump.h"

enum {
    ENTRIES_MAX = 1024,
    TEXT_MAX = 16384,
    CRASH_INFOS_MAX = 20,
    TYPE_STRING = 1,
};

/* Bytes that follow their length; false if they are outside the dump or the budget is used up. */
static bool
counted(struct minidump *m, uint32_t offset, struct fz_span *ret)
{
    struct minidump_place place = {4, offset};
    struct fz_reader head = minidump_reader(m, place);
    uint32_t len = fz_read_u32(&head);
    /* 0 is the header of the dump, so no text can be there. */
    if (offset == 0 || head.failed || offset > UINT32_MAX - 4)
        return false;
    place = (struct minidump_place){len < TEXT_MAX ? len : TEXT_MAX, offset + 4};
    struct fz_reader r = minidump_reader(m, place);
    if (r.len + 1 > m->text_left)
        return false;
    m->text_left -= r.len + 1; /* + 1: a million empty texts cost memory too */
    *ret = fz_read_bytes(&r, r.len);
    return true;
}

/* A copy of a text, NULL if it is empty. */
static const char *
read_text(struct minidump *m, struct fz_span bytes)
{
    const uint8_t *end = bytes.len ? memchr(bytes.data, 0, bytes.len) : NULL;
    if (end)
        bytes.len = (size_t)(end - bytes.data);
    return ingest_clean_text(&m->b, bytes);
}

/* Annotations that the model has a member for; all of them are tags as well. */
static void
read_known(struct minidump *m, const char *key, const char *value)
{
    struct report *r = m->b.report;
    const struct {
        const char *key;
        const char **member;
    } known[] = {
        {"prod", &r->app_name},
        {"_productName", &r->app_name},
        {"ProductName", &r->app_name},
        {"ver", &r->app_version},
        {"_version", &r->app_version},
        {"Version", &r->app_version},
        {"bundle_id", &r->app_id},
        {"BuildID", &r->app_build},
        {"channel", &r->environment},
        {"ReleaseChannel", &r->environment},
        {"model", &r->device_model},
        {"device_model", &r->device_model},
        {"device-model", &r->device_model},
        {"hw_machine", &r->device_model},
        {"hw.machine", &r->device_model},
        {"exceptionName", &r->crash.exception},
        {"exceptionReason", &r->crash.reason},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(known); i++) {
        /* The first one that is there: products write the same fact under several of these. */
        if (strcmp(known[i].key, key) == 0 && !*known[i].member)
            *known[i].member = value;
    }
}

static void
add_tag(struct minidump *m, const char *key, const char *value)
{
    /* The process's annotations come before the modules'; the first value counts. */
    if (!key || !value || json_object_get(m->tags, key))
        return;
    ingest_json_set(&m->b, m->tags, key, json_string(value));
    read_known(m, key, value);
}

/* A list of the stream: u32 count, then its entries. */
struct entries {
    struct minidump *m;
    struct fz_reader r;
    uint32_t left;
    size_t size; /* of one */
};

static struct entries
entries_of(struct minidump *m, struct minidump_place place, size_t size)
{
    struct entries list = {.m = m, .r = minidump_reader(m, place), .size = size};
    list.left = place.size ? fz_read_u32(&list.r) : 0;
    if (list.left > ENTRIES_MAX)
        /* The count comes from the dump; real lists have some dozens of entries. */
        list.left = ENTRIES_MAX;
    return list;
}

/* Is there another entry for the reader? */
static bool
next_entry(struct entries *list)
{
    return list->left && list->left-- && !list->m->b.failed && fz_read_left(&list->r) >= list->size;
}

static void
read_dictionary(struct minidump *m, struct minidump_place place)
{
    struct entries list = entries_of(m, place, 8);
    while (next_entry(&list)) {
        struct fz_span key, value;
        uint32_t key_at = fz_read_u32(&list.r), value_at = fz_read_u32(&list.r);
        if (counted(m, key_at, &key) && counted(m, value_at, &value))
            add_tag(m, read_text(m, key), read_text(m, value));
    }
}

/* On macOS these are the messages of the module's __crash_info: "abort() called". */
static void
read_texts(struct minidump *m, struct minidump_place place)
{
    struct entries list = entries_of(m, place, 4);
    while (next_entry(&list)) {
        struct fz_span text;
        if (counted(m, fz_read_u32(&list.r), &text))
            (void)ingest_add_message(&m->b, read_text(m, text));
    }
}

static void
read_object(struct minidump *m, struct fz_span name, unsigned type, struct fz_span value)
{
    const char *key = read_text(m, name);
    if (!key || type == TYPE_STRING) {
        add_tag(m, key, read_text(m, value));
        return;
    }
    /* Other types are defined by the app, so their bytes are kept. */
    ingest_json_set_base64(&m->b, ingest_json_object(&m->b, m->extra, "annotations_base64"), key,
                           value);
}

static void
read_objects(struct minidump *m, struct minidump_place place)
{
    struct entries list = entries_of(m, place, 12);
    while (next_entry(&list)) {
        struct fz_span name, value;
        uint32_t name_at = fz_read_u32(&list.r);
        unsigned type = fz_read_u16(&list.r);
        fz_read_skip(&list.r, 2);
        uint32_t value_at = fz_read_u32(&list.r);
        if (counted(m, name_at, &name) && counted(m, value_at, &value))
            read_object(m, name, type, value);
    }
}

static void
read_modules(struct minidump *m, struct minidump_place place)
{
    struct entries list = entries_of(m, place, 12);
    while (next_entry(&list)) {
        fz_read_skip(&list.r, 4);
        struct fz_reader record = minidump_reader(m, minidump_read_place(&list.r));
        /* Version; fields were only ever added at the end. */
        fz_read_skip(&record, 4);
        struct minidump_place texts = minidump_read_place(&record);
        struct minidump_place dictionary = minidump_read_place(&record);
        if (record.failed)
            continue;
        read_texts(m, texts);
        read_dictionary(m, dictionary);
        struct minidump_place objects = minidump_read_place(&record);
        if (!record.failed) /* older versions have none */
            read_objects(m, objects);
    }
}

static void
read_client(struct minidump *m, const struct fz_uuid *id)
{
    char text[FZ_UUID_DASHED];
    if (fz_uuid_is_nil(id))
        return;
    fz_uuid_format_dashed(id, text);
    json_auto_t *user = json_object();
    ingest_json_set(&m->b, user, "id", json_string(text));
    /* Crashpad makes one id for each installation: it counts affected users without naming them. */
    m->b.report->user_json = ingest_json_dump(&m->b, user, NULL);
}

void
minidump_crashpad(struct minidump *m)
{
    struct minidump_place place = minidump_find(m, MINIDUMP_CRASHPAD_INFO);
    struct fz_reader r = minidump_reader(m, place);
    m->has_crashpad = place.size != 0;
    if (!m->has_crashpad)
        return;
    fz_read_skip(&r, 4);
    (void)minidump_guid(&r); /* the report's, see minidump_report_id() */
    struct fz_uuid client = minidump_guid(&r);
    struct minidump_place dictionary = minidump_read_place(&r), modules = minidump_read_place(&r);
    if (r.failed) {
        ingest_note(&m->b, "crashpad_info: cut off");
        return;
    }
    read_client(m, &client);
    read_dictionary(m, dictionary);
    read_modules(m, modules);
    /* Not exact: a shorter text may still have fitted. */
    if (m->text_left < TEXT_MAX)
        ingest_note(&m->b, "annotations: the limit is %d bytes, some may be left out",
                    MINIDUMP_TEXT_BUDGET);
}

/* One __crash_info: numbers, then five C strings: module, message, signature, backtrace and a
 * second message. */
static void
read_crash_info(struct minidump *m, struct minidump_place place, uint32_t numbers, json_t *list)
{
    static const char *const names[] = {"module", "message", "signature", "backtrace", "message2"};
    struct fz_reader r = minidump_reader(m, place);
    json_t *info = json_object();
    if (json_array_append_new(list, info) != 0)
        m->b.failed = true;
    fz_read_skip(&r, numbers);
    for (size_t i = 0; i < FZ_ARRAY_LEN(names) && !m->b.failed; i++) {
        struct fz_span bytes = fz_read_cstr(&r);
        /* The budget is one for all texts of the dump, since each of them becomes a tag or a
         * message. */
        if (r.failed || bytes.len > m->text_left)
            break;
        m->text_left -= bytes.len;
        const char *text = read_text(m, bytes);
        if (text)
            ingest_json_set(&m->b, info, names[i], json_string(text));
        /* message and message2; the others stay in extra. */
        if (i == 1 || i == 4)
            (void)ingest_add_message(&m->b, text);
    }
}

static void
read_comment(struct minidump *m)
{
    struct minidump_place wide = minidump_find(m, MINIDUMP_COMMENT_W);
    struct fz_reader r = minidump_reader(m, minidump_find(m, MINIDUMP_COMMENT_A));
    size_t len = r.len < TEXT_MAX ? r.len : TEXT_MAX;
    (void)ingest_add_message(&m->b, read_text(m, fz_read_bytes(&r, len)));
    if (wide.size)
        (void)ingest_add_message(&m->b, minidump_utf16(m, wide.offset, MINIDUMP_TEXT_UNITS));
}

void
minidump_crash_info(struct minidump *m)
{
    struct fz_reader r = minidump_reader(m, minidump_find(m, MINIDUMP_MAC_CRASH_INFO));
    fz_read_skip(&r, 4);
    uint32_t n = fz_read_u32(&r), numbers = fz_read_u32(&r);
    /* Before the numbers are judged: comments have streams of their own. */
    read_comment(m);
    if (r.failed || n == 0)
        return;
    /* All of it is kept, since only two of the texts have a place in the model. */
    json_t *list = json_array();
    ingest_json_set(&m->b, m->extra, "crash_info", list);
    for (uint32_t i = 0; i < n && i < CRASH_INFOS_MAX && !m->b.failed; i++) {
        struct minidump_place place = minidump_read_place(&r);
        if (!r.failed && place.size)
            read_crash_info(m, place, numbers, list);
    }
}
