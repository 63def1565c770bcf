/*
 * Threads, newest frame first. Where the crash was caught by a signal or a Mach exception, frame 0
 * is the exact pc; where something was thrown or reported, the reporter walked its own stack, and
 * every frame is a return address.
 */
#include <stdio.h>

#include "base/json/scan.h"
#include "server/ingest/kscrash/kscrash.h"

enum { NOTABLE_MAX = 1024 };

/* The bytes around the stack pointer, as one run of hex digits. */
static void
read_stack(struct ingest_builder *b, const json_t *object, const char *where,
           struct report_thread *thread)
{
    char at[INGEST_WHERE];
    const json_t *stack = ingest_json_member(b, object, where, "stack", JSON_OBJECT);
    snprintf(at, sizeof(at), "%s.stack", where);
    if (json_is_true(json_object_get(stack, "overflow")))
        ingest_note(b, "%s: the stack had overflowed", at);
    const char *error = ingest_json_text(b, stack, at, "error");
    /* In place of the bytes: the stack pointer led to memory that cannot be read. */
    if (error)
        ingest_note(b, "%s: %s", at, error);
    const json_t *contents = json_object_get(stack, "contents");
    uint64_t addr;
    if (json_is_string(contents) && ingest_json_u64(b, stack, at, "dump_start", &addr))
        ingest_hex_memory(b, at, addr,
                          fz_span_make(json_string_value(contents), json_string_length(contents)),
                          &thread->stack);
}

/* Texts that the reporter found at registers and on the stack, as the memory that they are: the
 * reporter takes a text only with the zero byte at its end. */
static void
read_notable(struct ingest_builder *b, const json_t *object)
{
    const json_t *notable = json_object_get(object, "notable_addresses");
    struct report *r = b->report;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)notable, name, value)
    {
        const char *type = json_string_value(json_object_get(value, "type"));
        const json_t *text = json_object_get(value, "value");
        size_t len = json_string_length(text) + 1;
        uint64_t addr;
        /* The values of objects are made from several places. U+FFFD stands for a byte that JSON
         * cannot have. */
        if (!type || strcmp(type, "string") != 0 || len < 2 || len > b->memory_left ||
            r->n_memory >= NOTABLE_MAX || strlen(json_string_value(text)) + 1 != len ||
            strstr(json_string_value(text), "\xef\xbf\xbd") ||
            !json_scan_u64(json_object_get(value, "address"), &addr) || addr > UINT64_MAX - len)
            continue;
        const char *copy = ingest_text(b, fz_span_cstr(json_string_value(text)));
        struct report_memory memory = {.addr = addr, .why = "notable"};
        if (!copy)
            return;
        memory.bytes = fz_span_make(copy, len);
        ingest_add_memory(b, &memory);
    }
}

static bool
is_own_stack(const struct ingest_kscrash *k)
{
    return strcmp(k->type, "nsexception") == 0 || strcmp(k->type, "cpp_exception") == 0 ||
           strcmp(k->type, "user") == 0;
}

static void
read_backtrace(const struct ingest_kscrash *k, const json_t *object, const char *where,
               struct report_thread *thread)
{
    char at[INGEST_WHERE];
    struct ingest_builder *b = k->b;
    uint64_t skipped = 0;
    const json_t *backtrace = ingest_json_member(b, object, where, "backtrace", JSON_OBJECT);
    snprintf(at, sizeof(at), "%s.backtrace", where);
    if (ingest_json_u64(b, backtrace, at, "skipped", &skipped) && skipped > 0)
        ingest_note(b, "%s: the client left out the %llu newest frames", where,
                    (unsigned long long)skipped);
    struct json_rows rows;
    const json_t *list = json_object_get(backtrace, "contents");
    if (!json_rows_of(list, &rows))
        list = ingest_json_member(b, backtrace, at, "contents", JSON_ARRAY);
    snprintf(at, sizeof(at), "%s.frames", where);
    struct ingest_stack stack = ingest_kscrash_read_stack(k, list, at);
    ingest_set_stack(thread, &stack);
    /* KSCrash skips a stack overflow's newest frames; what is first then is not the pc. */
    if (skipped > 0 || ingest_starts_elsewhere(thread) || (thread->crashed && is_own_stack(k)))
        ingest_first_is_return(thread->frames, thread->n_frames);
}

static void
read_thread(const struct ingest_kscrash *k, const json_t *object, const char *where, int64_t number)
{
    struct ingest_builder *b = k->b;
    struct report_thread *thread = ingest_add_thread(b);
    if (!thread)
        return;
    thread->index = number;
    ingest_json_i64(b, object, where, "index", &thread->index);
    thread->name = ingest_json_text(b, object, where, "name");
    thread->queue = ingest_json_text(b, object, where, "dispatch_queue");
    thread->state = ingest_json_text(b, object, where, "state");
    thread->crashed = ingest_json_bool(b, object, where, "crashed", false);
    thread->notable_json = ingest_json_dump(b, object, "notable_addresses");
    const json_t *registers = ingest_json_member(b, object, where, "registers", JSON_OBJECT);
    ingest_json_registers(b, json_object_get(registers, "basic"), where, thread);
    /* esr and far belong to the crash, but people look for them beside the others. */
    ingest_json_registers(b, json_object_get(registers, "exception"), where, thread);
    read_stack(b, object, where, thread);
    read_notable(b, object);
    read_backtrace(k, object, where, thread);
}

/* A frame of another language: a text or an object, without an address. */
static bool
read_language_frame(void *user, const json_t *value, const char *where, struct report_frame *ret)
{
    static const char *const names[] = {"methodName", "function", NULL};
    struct ingest_builder *b = user;
    struct report_symbol symbol = {0};
    if (json_is_string(value)) {
        symbol.function = ingest_text(b, fz_span_cstr(json_string_value(value)));
    } else {
        symbol.function = ingest_json_first_text(b, value, where, names);
        symbol.file = ingest_json_text(b, value, where, "file");
        symbol.line = ingest_json_u32(b, value, where, "lineNumber");
        symbol.column = ingest_json_u32(b, value, where, "column");
    }
    /* There is no address, so nothing may be subtracted from it. */
    ret->adjust = REPORT_ADJUST_EXACT;
    ingest_add_client_symbol(b, ret, &symbol);
    return true;
}

/* The stack of another language, as a thread. */
static void
read_language(const struct ingest_kscrash *k)
{
    static const char where[] = "crash.error.user_reported";
    struct ingest_builder *b = k->b;
    const json_t *user = json_object_get(k->error, "user_reported");
    const json_t *list = json_object_get(user, "backtrace");
    int64_t index = ingest_free_index(b->report);
    /* An app reports errors of its scripts like this; their stack is beside the native ones. */
    struct report_thread *thread = json_array_size(list) ? ingest_add_thread(b) : NULL;
    if (!thread)
        return;
    thread->index = index;
    thread->name = ingest_json_text(b, user, where, "language");
    struct ingest_stack stack = ingest_json_stack(b, list, "crash.error.user_reported.backtrace",
                                                  false, read_language_frame, b);
    ingest_set_stack(thread, &stack);
}

static void
read_exception_backtrace(const struct ingest_kscrash *k)
{
    static const char key[] = "last_exception_backtrace";
    struct ingest_builder *b = k->b;
    const json_t *backtrace = json_object_get(k->crash, key);
    if (!backtrace)
        backtrace = json_object_get(k->report, key);
    /* KSCrash has {"contents":[...]}; a bare list is accepted, too. */
    const json_t *list =
        json_is_array(backtrace) ? backtrace : json_object_get(backtrace, "contents");
    if (!json_is_array(list))
        return;
    struct ingest_stack stack =
        ingest_json_stack(b, list, key, false, ingest_kscrash_read_frame, b);
    ingest_set_exception_stack(b->report, &stack);
}

void
ingest_kscrash_read_threads(const struct ingest_kscrash *k)
{
    struct ingest_builder *b = k->b;
    const json_t *threads = ingest_json_member(b, k->crash, "crash", "threads", JSON_ARRAY);
    const json_t *only = json_object_get(k->crash, "crashed_thread");
    struct ingest_json_list list =
        ingest_json_list_start(b, threads, "threads", b->limits->threads);
    list.must = ingest_json_crashed(threads, NULL, "crashed", -1);
    while (ingest_json_list_next_object(&list))
        read_thread(k, list.item, list.where, (int64_t)list.number);
    if (!threads && json_is_object(only)) {
        read_thread(k, only, "crashed_thread", 0);
        /* It is the only one, so it is the one that crashed. */
        if (b->report->n_threads)
            b->report->threads[0].crashed = true;
    }
    read_exception_backtrace(k);
    read_language(k);
}

void
ingest_kscrash_read_recrash(const struct ingest_kscrash *k)
{
    struct ingest_builder *b = k->b;
    struct report *r = b->report;
    const json_t *object = json_object_get(k->crash, "crashed_thread");
    const json_t *signal = json_object_get(json_object_get(k->error, "signal"), "name");
    const json_t *mach = json_object_get(json_object_get(k->error, "mach"), "exception_name");
    uint64_t address = 0;
    json_scan_u64(json_object_get(k->error, "address"), &address);
    ingest_note(b, "the crash reporter crashed itself while it wrote this report: %s at 0x%llx",
                json_is_string(signal) ? json_string_value(signal)
                : json_is_string(mach) ? json_string_value(mach)
                                       : k->type,
                (unsigned long long)address);
    static const char *const known[] = {"error", "crashed_thread", "threads", NULL};
    ingest_add_extra(b, "recrash", k->crash, known);
    ingest_add_extra(b, "recrash_error", k->error, NULL);
    ingest_add_extra(b, "recrash_report", json_object_get(k->report, "report"), NULL);
    if (!json_is_object(object))
        return;
    size_t n = r->n_threads;
    int64_t index = ingest_free_index(r);
    read_thread(k, object, "recrash.crashed_thread", index);
    /* Beyond the limit: the app's own threads count more. */
    if (r->n_threads == n)
        return;
    struct report_thread *thread = &r->threads[n];
    for (size_t i = 0; i < n; i++) {
        if (r->threads[i].index == thread->index)
            thread->index = index;
    }
    /* The report is about the app's crash, if that one's thread is there. */
    thread->crashed = r->n_threads == 1;
}
