/*
 * "exception": what happened. The last one of the chain ended the app, the ones before it are its
 * causes.
 *
 *   {"type","value","thread_id","mechanism":{"type":"mach","handled":false,
 *     "meta":{"mach_exception":{"name","exception","code","subcode"},
 *             "signal":{"number","code","name","code_name"}},
 *     "data":{"relevant_address","crash_info_messages"}},"stacktrace":{...}}
 *
 * until 2018: "mechanism":{"posix_signal":{"signal","name"},"mach_exception":{"exception_name"},
 * "relevant_address"}.
 */
#include <string.h>

#include "base/text.h"
#include "server/ingest/common/exception_names.h"
#include "server/ingest/sentry/sentry.h"

/* Mechanisms and types of exceptions that are not crashes. */
static const struct {
    const char *name, *kind;
} kinds[] = {
    {"AppHang", "hang"},
    {"App Hanging", "hang"},
    {"MXHangDiagnostic", "hang"},
    {"mx_hang_diagnostic", "hang"},
    {"MXCPUException", "cpu"},
    {"mx_cpu_exception", "cpu"},
    {"MXDiskWriteException", "disk_write"},
    {"mx_disk_write_exception", "disk_write"},
    {"watchdog_termination", "memory"},
    {"WatchdogTermination", "memory"},
    {"OutOfMemory", "memory"},
};

/* A mechanism as both generations of the SDK write it. */
struct mechanism {
    const json_t *object, *meta, *mach, *signal, *data;
    const char *type;
    bool is_unhandled;
};

static bool
is_one_of(const char *text, const char *a, const char *b)
{
    return text && (strcmp(text, a) == 0 || strcmp(text, b) == 0);
}

static struct mechanism
find_mechanism(struct ingest_builder *b, const json_t *exception)
{
    struct mechanism m = {0};
    m.object = ingest_json_member(b, exception, "exception", "mechanism", JSON_OBJECT);
    m.type = ingest_json_text(b, m.object, "mechanism", "type");
    /* `handled` may be absent or null: only false says that the app was ended. */
    m.is_unhandled = !ingest_json_bool(b, m.object, "mechanism", "handled", true);
    m.meta = ingest_json_member(b, m.object, "mechanism", "meta", JSON_OBJECT);
    m.data = ingest_json_member(b, m.object, "mechanism", "data", JSON_OBJECT);
    m.mach = ingest_json_member(b, m.meta, "mechanism.meta", "mach_exception", JSON_OBJECT);
    m.signal = ingest_json_member(b, m.meta, "mechanism.meta", "signal", JSON_OBJECT);
    /* The place of both until 2018. */
    if (!m.mach)
        m.mach = ingest_json_member(b, m.object, "mechanism", "mach_exception", JSON_OBJECT);
    if (!m.signal)
        m.signal = ingest_json_member(b, m.object, "mechanism", "posix_signal", JSON_OBJECT);
    return m;
}

static void
read_mach(struct ingest_builder *b, const json_t *mach)
{
    struct report_crash *crash = &b->report->crash;
    static const char where[] = "mach_exception";
    static const char *const name_keys[] = {"name", "exception_name", NULL};
    uint64_t codes[2] = {0}, type = 0;
    bool has_type = ingest_json_u64(b, mach, where, "exception", &type);
    crash->mach = ingest_json_first_text(b, mach, where, name_keys);
    if (!crash->mach && has_type)
        crash->mach = ingest_mach_exception(type);
    crash->code = ingest_json_text(b, mach, where, "code_name");
    if (!ingest_json_u64(b, mach, where, "code", &codes[0]))
        return;
    bool has_subcode = ingest_json_u64(b, mach, where, "subcode", &codes[1]);
    /* The subcode is an address for EXC_BAD_ACCESS; 0 would be shown as one. */
    ingest_set_mach_codes(b, codes, has_subcode ? 2 : 1);
}

static void
read_signal(struct sentry *s, const json_t *signal, const char *type)
{
    struct ingest_builder *b = &s->b;
    struct report_crash *crash = &b->report->crash;
    static const char *const dropping[] = {"SIGILL", "SIGBUS", "SIGSEGV", NULL};
    crash->signal = ingest_json_text(b, signal, "signal", "name");
    crash->signal_code = ingest_json_text(b, signal, "signal", "code_name");
    /* The SDK names the exception after the signal if there was no other. */
    if (!crash->signal && type && fz_text_has_prefix(type, "SIG"))
        crash->signal = type;
    const json_t *number = json_object_get(signal, "number");
    if (!json_is_integer(number))
        number = json_object_get(signal, "signal");
    if (!crash->signal && json_is_integer(number))
        crash->signal = ingest_signal_name(json_integer_value(number));
    /* Known of KSCrash's handler for these signals (seen in CrashProbe's events). */
    s->drops_frames = ingest_is_one_of(fz_span_cstr(crash->signal), dropping);
}

static void
read_messages(struct ingest_builder *b, const json_t *data)
{
    const json_t *messages =
        ingest_json_member(b, data, "mechanism.data", "crash_info_messages", JSON_ARRAY);
    struct ingest_json_list list =
        ingest_json_list_start(b, messages, "crash_info_messages", INGEST_MESSAGES_MAX);
    while (ingest_json_list_next(&list)) {
        struct fz_span text = fz_span_cstr(json_string_value(list.item));
        (void)ingest_add_message(b, ingest_text(b, text));
    }
}

/* "Exception 1, Code 1, Subcode 8", "Signal 6, Code 0": repeats other members. */
static bool
is_spelt_out(const char *value)
{
    return fz_text_has_prefix(value, "Exception ") || fz_text_has_prefix(value, "Signal ");
}

/* "Exception 1, Code 1, Subcode 8 >\nKERN_INVALID_ADDRESS at 0x8." */
static const char *
second_line(struct ingest_builder *b, const char *value)
{
    const char *line = strchr(value, '\n');
    size_t len = line ? strlen(line + 1) : 0;
    if (len && line[len] == '.')
        len--;
    if (len == 0)
        return NULL;
    return ingest_text(b, fz_span_make(line + 1, len));
}

/* type and value are the language exception's; for a signal the SDK makes them up. */
static void
read_words(struct sentry *s, const struct mechanism *m, const char *type)
{
    struct ingest_builder *b = &s->b;
    struct report_crash *crash = &b->report->crash;
    const char *value = ingest_json_text(b, s->exception, "exception", "value");
    bool is_signal = type && (fz_text_has_prefix(type, "EXC_") || fz_text_has_prefix(type, "SIG"));
    /* The mechanism knows how it was caught; the type is a name only. */
    if (is_one_of(m->type, "mach", "signal"))
        is_signal = true;
    /* An exception of a language may have any name, also one that begins with "SIG". */
    if (is_one_of(m->type, "nsexception", "cpp_exception"))
        is_signal = false;
    if (is_signal) {
        if (!crash->mach && type && fz_text_has_prefix(type, "EXC_"))
            crash->mach = type;
        if (value && !is_spelt_out(value))
            /* Newer SDKs put a sentence here: what is at the address, or the text of a fatal
             * error. */
            crash->diagnosis = value;
        else if (value)
            crash->subtype = second_line(b, value);
        return;
    }
    crash->exception = type;
    crash->reason = value;
    s->is_thrown = is_one_of(m->type, "nsexception", "cpp_exception");
    /* The SDK makes the stack where the app called it. */
    s->is_made = s->exception && (!b->report->kind || strcmp(b->report->kind, "error") == 0);
}

static const char *
kind_of(struct sentry *s, const struct mechanism *m, const char *type)
{
    const char *level = json_string_value(json_object_get(s->root, "level"));
    /* The mechanism comes before the level: SDKs send hangs as errors. */
    for (size_t i = 0; i < FZ_ARRAY_LEN(kinds); i++) {
        if (is_one_of(kinds[i].name, m->type ? m->type : "-", type ? type : "-"))
            return kinds[i].kind;
    }
    if (is_one_of(level, "fatal", "critical") || is_one_of(m->type, "mach", "signal") ||
        m->is_unhandled)
        return NULL;
    if (s->exception)
        return "error";
    /* Without level and exception, a thread that is marked still means a crash. */
    const json_t *threads = s->threads;
    for (size_t i = 0; i < json_array_size(threads); i++) {
        if (json_is_true(json_object_get(json_array_get(threads, i), "crashed")))
            return NULL;
    }
    return "message";
}

/* The last exception of the list, or the one that is there without a list. */
static const json_t *
last_exception(struct sentry *s)
{
    const json_t *single = json_object_get(s->root, "exception");
    /* Old SDKs send one exception without a list. */
    if (json_is_object(single) && !json_object_get(single, "values"))
        return json_object_size(single) ? single : NULL;
    const json_t *list = s->exceptions;
    for (size_t i = json_array_size(list); i-- > 0;) {
        if (json_is_object(json_array_get(list, i)))
            return json_array_get(list, i);
    }
    return NULL;
}

void
sentry_read_crash(struct sentry *s)
{
    struct ingest_builder *b = &s->b;
    struct report_crash *crash = &b->report->crash;
    s->exception = last_exception(s);
    struct mechanism m = find_mechanism(b, s->exception);
    const char *type = ingest_json_text(b, s->exception, "exception", "type");
    const json_t *id = json_object_get(s->exception, "thread_id");
    /* SDKs write null or leave it out where the thread is not known. */
    if (json_is_integer(id) || json_is_string(id))
        ingest_json_i64(b, s->exception, "exception", "thread_id", &s->thread_id);
    /* Before the kind and the words, which depend on what was caught. */
    read_mach(b, m.mach);
    read_signal(s, m.signal, type);
    read_messages(b, m.data);
    b->report->kind = kind_of(s, &m, type);
    read_words(s, &m, type);
    crash->has_address =
        ingest_json_u64(b, m.data, "mechanism.data", "relevant_address", &crash->address) ||
        ingest_json_u64(b, m.object, "mechanism", "relevant_address", &crash->address);
}

/* The exceptions before the last one. */
static void
add_causes(struct sentry *s)
{
    struct ingest_builder *b = &s->b;
    const json_t *list = s->exceptions;
    json_auto_t *object = json_object();
    json_t *causes = json_array();
    for (size_t i = 0; causes && i < json_array_size(list); i++) {
        json_t *one = json_array_get(list, i);
        /* The model has one exception; a user still wants to see what led to it. */
        if (one != s->exception && !json_is_null(one) && json_array_append(causes, one) != 0)
            b->failed = true;
    }
    if (!object || !causes || json_object_set_new(object, "causes", causes) != 0)
        b->failed = true;
    else
        ingest_add_extra(b, NULL, object, NULL);
}

void
sentry_read_chain(struct sentry *s, bool with_stack)
{
    static const char *const known[] = {"type",       "value",     "thread_id",
                                        "stacktrace", "mechanism", NULL};
    struct ingest_builder *b = &s->b;
    if (!s->exception || b->failed)
        return;
    add_causes(s);
    ingest_add_extra(b, "exception", s->exception, known);
    ingest_add_extra(b, "mechanism", json_object_get(s->exception, "mechanism"), NULL);
    /* Frames with members that the model lacks (variables, source lines) are kept whole. */
    if (with_stack)
        ingest_add_extra(b, "stacktrace", json_object_get(s->exception, "stacktrace"), NULL);
}
