/* Sections of Apple's crash text, which span lines: messages, reasons, memory. */
#include "server/ingest/text/text.h"
#include "server/ingest/text/thrown.h"

#include <strings.h>

#include "base/text.h"

static const char *const sections[] = {
    "Application Specific Information",
    "Application Specific Signatures",
    "Dyld Error Message",
    "Dyld Error Information",
    "Filtered syslog",
    "Filtered log messages",
    "Kernel Triage",
    "kernel messages",
    "VM Region Info",
    "VM Region Summary",
    "Error Formulating Crash Report",
    "External Modification Summary",
    "Extra Information",
    "Notable Addresses",
    "User Data",
    "CrashDoctor Diagnosis",
    "Object referenced by NSException",
    "Last deallocated NSException",
    "Global Trace Buffer (reverse chronological seconds)",
    "Translated Code Information",
    "Thread State",
    "System Profile",
};

/* Versions of the systems write the headings with different capitals. */
static bool
is_same_heading(struct fz_span key, const char *section)
{
    return key.len == strlen(section) && strncasecmp((const char *)key.data, section, key.len) == 0;
}

static const char *
known_section(struct fz_span key)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(sections) && key.len; i++) {
        if (is_same_heading(key, sections[i]))
            return sections[i];
    }
    return NULL;
}

bool
ingest_text_is_section(struct fz_span key)
{
    return known_section(key) || fz_span_begins(key, "VM Regions Near") ||
           fz_span_begins(key, "Stack Dump") || fz_span_begins(key, "Last deallocated");
}

/* One message on each line; a reason in quotes and indented lines continue it. */
static void
read_messages(struct ingest_text *c, struct fz_span text)
{
    size_t start = 0;
    bool in_quotes = false;
    for (size_t at = 0; at < text.len;) {
        struct fz_span rest = fz_span_from(text, at);
        size_t end = fz_text_find(rest, "\n");
        struct fz_span line = fz_span_until(rest, end);
        bool goes_on = in_quotes || (at > 0 && line.len && fz_text_is_blank(line.data[0]));
        if (!goes_on) {
            (void)ingest_add_message(
                c->b, ingest_text(c->b, fz_text_trim(fz_span_between(text, start, at))));
            start = at;
        }
        /* The reason of an exception may have line breaks of its own, up to the closing quote. */
        if (fz_text_contains(line, "reason: '"))
            in_quotes = true;
        if (fz_span_ends(fz_text_trim(line), "'"))
            in_quotes = false;
        at = end == SIZE_MAX ? text.len : at + end + 1;
    }
    (void)ingest_add_message(c->b, ingest_text(c->b, fz_text_trim(fz_span_from(text, start))));
    /* From the whole text: name, reason and type are on different lines. */
    bool thrown = ingest_text_read_thrown(c->b, text);
    struct report_crash *crash = &c->b->report->crash;
    /* Without an exception the first message is that of abort(), of an assertion or of a trap. */
    if (!thrown && !crash->reason && crash->n_messages)
        crash->reason = crash->messages[0];
    /* Some reporters put the stack of the throw into this text, as "(0x... 0x...)". */
    size_t list = fz_text_find(text, "First throw call stack:");
    size_t open = list == SIZE_MAX ? list : fz_text_find(fz_span_from(text, list), "(0x");
    if (open != SIZE_MAX && c->exception.n == 0) {
        struct fz_span addresses = fz_span_from(text, list + open);
        size_t close = fz_text_find(addresses, ")");
        struct fz_span inside = fz_span_until(addresses, close == SIZE_MAX ? close : close + 1);
        (void)ingest_text_stack_add_list(c->b, &c->exception, inside);
    }
}

/* The text on one line, as in reports that have it in a member. */
static const char *
one_line(struct ingest_builder *b, struct fz_span text)
{
    char *copy = b->failed || !text.len ? NULL : fz_arena_text(b->arena, text);
    b->failed = b->failed || (text.len && !copy);
    for (char *p = copy; p && *p; p++) {
        if (*p == '\n')
            *p = ' ';
    }
    return copy;
}

/* KSCrash's "Stack Dump (0x2feab6e8-0x2feab760):" and the bytes in hex. */
static bool
read_stack_dump(struct ingest_text *c, struct fz_span key, struct fz_span text)
{
    struct ingest_builder *b = c->b;
    size_t open = fz_text_find(key, "(");
    struct fz_span range = open == SIZE_MAX ? key : fz_span_from(key, open + 1);
    struct report_thread *crashed = report_crashed_thread(b->report);
    uint64_t start;
    /* Without a crashed thread, or with odd bytes, the dump stays readable as an extra. */
    if (!crashed || !ingest_text_cut_hex(&range, &start) || text.len % 2 != 0)
        return false;
    size_t len = text.len / 2 < b->memory_left ? text.len / 2 : b->memory_left;
    uint8_t *bytes = ingest_alloc(b, len ? len : 1, 1);
    if (!bytes || len == 0 || !fz_text_unhex(fz_span_until(text, len * 2), bytes))
        return false;
    b->memory_left -= len;
    crashed->stack = (struct report_memory){.addr = start, .bytes = fz_span_make(bytes, len)};
    return true;
}

/* A text of KSCrash as JSON; NULL if it is not a JSON object. */
static const char *
as_json(struct ingest_builder *b, struct fz_span text)
{
    json_auto_t *value = NULL;
    struct fz_error err;
    enum fz_code code = ingest_json_load(b, text, NULL, &value, &err);
    return code == FZ_OK && json_is_object(value) ? ingest_json_dump(b, value, NULL) : NULL;
}

/* A section about the crashed thread, which may come before the threads. */
static bool
read_memory(struct ingest_text *c, struct fz_span key, struct fz_span text)
{
    if (fz_span_begins(key, "Stack Dump"))
        return read_stack_dump(c, key, text);
    struct report_thread *crashed = report_crashed_thread(c->b->report);
    if (!fz_span_is(key, "Notable Addresses") || !crashed || !text.len)
        return false;
    crashed->notable_json = as_json(c->b, text);
    return crashed->notable_json != NULL;
}

static bool
read_user(struct ingest_text *c, struct fz_span text)
{
    if (c->b->report->user_json)
        return false;
    c->b->report->user_json = as_json(c->b, text);
    return c->b->report->user_json != NULL;
}

void
ingest_text_end_section(struct ingest_text *c)
{
    struct fz_span key = c->key, text = fz_text_trim(fz_buffer_span(&c->text));
    struct report_crash *crash = &c->b->report->crash;
    /* One spelling for all systems, so that a section is found under the same key. */
    if (known_section(key))
        key = fz_span_cstr(known_section(key));
    c->key = (struct fz_span){NULL, 0};
    c->n_blank = 0;
    c->is_heading = false;
    c->b->failed = c->b->failed || c->text.failed;
    if (!key.len || c->b->failed || !text.len) {
        fz_buffer_clear(&c->text);
        return;
    }
    if (fz_span_is(key, "Application Specific Information") ||
        fz_span_is(key, "Dyld Error Message") || fz_span_is(key, "Dyld Error Information"))
        read_messages(c, text);
    else if (fz_span_is(key, "Termination Reason") && !crash->termination)
        crash->termination = one_line(c->b, text);
    else if (fz_span_is(key, "CrashDoctor Diagnosis") && !crash->diagnosis)
        crash->diagnosis = ingest_text(c->b, text);
    else if (!fz_span_is(key, "User Data") || !read_user(c, text))
        ingest_text_add_extra(c, key, text);
    fz_buffer_clear(&c->text);
}

void
ingest_text_settle_memory(struct ingest_text *c)
{
    for (size_t i = 0; i < c->n_extras && !c->b->failed; i++) {
        struct ingest_text_extra *extra = &c->extras[i];
        /* Sections about the crashed thread may precede all threads, so they wait among the
         * extras. */
        extra->taken =
            read_memory(c, fz_span_cstr(extra->key), fz_span_make(extra->text, extra->len));
    }
}
