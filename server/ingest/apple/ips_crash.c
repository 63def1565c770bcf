#include "server/ingest/apple/ips.h"

#include <stdio.h>

#include "base/json/scan.h"
#include "base/text.h"
#include "server/ingest/common/apple_text.h"

enum { CODES_MAX = 8 };

/* "rawCodes":[1,16], else "codes":"0x0000000000000001, 0x0000000000000010". */
static void
read_codes(struct ingest_builder *b, const json_t *exception)
{
    uint64_t codes[CODES_MAX];
    size_t n = 0;
    /* Older systems write the text only; both have the same numbers. */
    const json_t *raw = json_object_get(exception, "rawCodes");
    for (size_t i = 0; i < json_array_size(raw) && n < CODES_MAX; i++)
        n += json_scan_u64(json_array_get(raw, i), &codes[n]);
    const char *text = n ? NULL : json_string_value(json_object_get(exception, "codes"));
    while (text && *text && n < CODES_MAX) {
        size_t len = strcspn(text, ", ");
        n += len && fz_text_u64(fz_span_make(text, len), &codes[n]);
        text += len + strspn(text + len, ", ");
    }
    ingest_set_mach_codes(b, codes, n);
    ingest_set_address_of_codes(&b->report->crash);
}

static void
append_texts(struct fz_buffer *line, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text && *text)
            fz_buffer_printf(line, "%s%s", line->len ? "; " : "", text);
    }
}

/* "SPRINGBOARD 0x8badf00d scene-update watchdog transgression: ...", as in Apple's text. */
static void
read_termination(struct ingest_builder *b, const json_t *body)
{
    const json_t *object = ingest_json_member(b, body, "", "termination", JSON_OBJECT);
    if (!object)
        return;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer line = fz_buffer_make(0);
    const char *space = json_string_value(json_object_get(object, "namespace"));
    const char *indicator = json_string_value(json_object_get(object, "indicator"));
    uint64_t code;
    if (space)
        fz_buffer_text(&line, space);
    /* Codes of watchdogs are known in hex (0x8badf00d), signals and exits in decimal. */
    if (json_scan_u64(json_object_get(object, "code"), &code))
        fz_buffer_printf(&line, code > 0xffff ? "%s0x%llx" : "%s%llu", line.len ? " " : "",
                         (unsigned long long)code);
    if (indicator && *indicator)
        fz_buffer_printf(&line, "%s%s", line.len ? " " : "", indicator);
    /* dyld and code signing explain themselves here: "Library not loaded: ...". */
    append_texts(&line, json_object_get(object, "reasons"));
    append_texts(&line, json_object_get(object, "details"));
    for (size_t i = 0; i < line.len; i++) {
        /* The model has it on one line, as Apple's text writes it. */
        if (line.data[i] == '\n' || line.data[i] == '\r')
            line.data[i] = ' ';
    }
    b->failed = b->failed || line.failed;
    b->report->crash.termination = ingest_text(b, fz_buffer_span(&line));
    /* All of it: the line does not show where a part ends. */
    ingest_add_extra(b, "termination", object, NULL);
}

static void
add_message(struct ingest_builder *b, const json_t *value)
{
    if (!ingest_add_message(b, ingest_text(b, fz_span_cstr(json_string_value(value)))))
        ingest_note(b, "asi: more than %d messages, the rest is in extra", INGEST_MESSAGES_MAX);
}

/* {"CoreFoundation":["*** Terminating app due to ..."],"libsystem_c.dylib":["abort() called"]} */
static void
read_messages(struct ingest_builder *b, const json_t *body)
{
    struct report_crash *crash = &b->report->crash;
    const json_t *asi = ingest_json_member(b, body, "", "asi", JSON_OBJECT);
    const json_t *exception = json_object_get(body, "exception");
    const char *image;
    json_t *list;
    add_message(b, json_object_get(exception, "message"));
    json_object_foreach((json_t *)(uintptr_t)asi, image, list)
    {
        if (json_is_string(list))
            add_message(b, list);
        for (size_t i = 0; i < json_array_size(list); i++)
            add_message(b, json_array_get(list, i));
    }
    /* Which image logged the exception differs between systems: CoreFoundation, libc++abi, the
     * app. */
    for (size_t i = 0; i < crash->n_messages && !b->failed; i++)
        ingest_apple_uncaught(b, crash->messages[i]);
    /* every abort() leaves "abort() called"; any other message says why the process ended. */
    for (size_t i = 0; i < crash->n_messages && !crash->reason && !crash->exception; i++) {
        if (strcmp(crash->messages[i], "abort() called") != 0)
            crash->reason = crash->messages[i];
    }
}

/* {"name":"NSRangeException","composed_message":"...","class":"NSException","type":"objc-exception"}:
 * systems since iOS 16 describe an exception so, in place of a message. */
static void
read_thrown(struct ingest_builder *b, const json_t *body)
{
    static const char key[] = "exceptionReason";
    struct report_crash *crash = &b->report->crash;
    const json_t *thrown = ingest_json_member(b, body, "", key, JSON_OBJECT);
    const char *name = ingest_json_text(b, thrown, key, "name");
    const char *message = ingest_json_text(b, thrown, key, "composed_message");
    /* The name may be missing; the class is there then. */
    if (!name)
        name = ingest_json_text(b, thrown, key, "class");
    if (name && !crash->exception)
        crash->exception = name;
    if (message && *message)
        crash->reason = message;
}

void
ingest_ips_read_crash(struct ingest_builder *b, const json_t *body)
{
    static const char *const known[] = {"type", "signal", "subtype", "codes", "rawCodes", NULL};
    struct report_crash *crash = &b->report->crash;
    const json_t *exception = ingest_json_member(b, body, "", "exception", JSON_OBJECT);
    int64_t number;
    if (ingest_json_i64(b, body, "", "faultingThread", &number) && number >= 0)
        crash->thread = number;
    crash->mach = ingest_json_text(b, exception, "exception", "type");
    crash->signal = ingest_json_text(b, exception, "exception", "signal");
    ingest_apple_subtype(b, ingest_json_text(b, exception, "exception", "subtype"));
    read_codes(b, exception);
    if (exception)
        ingest_add_extra(b, "exception", exception, known);
    read_termination(b, body);
    read_messages(b, body);
    /* Last: it describes the exception itself and replaces what the texts of asi say. */
    read_thrown(b, body);
}
