/*
 * Threads, newest frame first. Where the crash was caught by a signal or a Mach exception, frame 0
 * is the exact pc; where something was thrown or reported, the reporter walked its own stack, and
 * every frame is a return address.
 */
#include <stdio.h>
#include <string.h>

#include "base/json/scan.h"
#include "base/text.h"
#include "server/ingest/kscrash/kscrash.h"

enum { REGISTERS_MAX = 256 };

bool
kscrash_take_frame(struct ingest_builder *b, const json_t *value, const char *where,
                   struct report_frame *ret)
{
    struct report_frame frame = {.image = -1};
    if (!json_is_object(value)) {
        if (!json_scan_u64(value, &frame.addr))
            return false;
        *ret = frame;
        return true;
    }
    if (!json_scan_u64(json_object_get(value, "instruction_addr"), &frame.addr))
        return false;
    struct report_symbol symbol = {.function = ingest_json_text(b, value, where, "symbol_name")};
    uint64_t start;
    if (ingest_json_u64(b, value, where, "symbol_addr", &start) && start && start <= frame.addr) {
        symbol.has_offset = true;
        symbol.offset = frame.addr - start;
        frame.has_client_start = true;
        frame.client_start = start;
    }
    ingest_add_client_symbol(b, &frame, &symbol);
    *ret = frame;
    return true;
}

struct report_frame *
kscrash_take_frames(struct ingest_builder *b, const json_t *list, const char *where, size_t *ret_n,
                    size_t *ret_n_cut)
{
    size_t n = json_array_size(list);
    size_t max = ingest_limit(b, where, n, b->limits->frames);
    struct report_frame *frames = ingest_alloc(b, max, sizeof(*frames));
    *ret_n = 0;
    *ret_n_cut = n - max;
    for (size_t i = 0; i < max && !b->failed; i++) {
        char at[INGEST_WHERE];
        snprintf(at, sizeof(at), "%s[%zu]", where, i);
        if (!kscrash_take_frame(b, json_array_get(list, i), at, &frames[*ret_n])) {
            report_note(b->report, b->arena, "%s: no address", at);
            continue;
        }
        /* When frames before it are left out, this one is still a return address. */
        if (i > 0 && *ret_n == 0)
            frames[0].adjust = REPORT_ADJUST_RETURN;
        ++*ret_n;
    }
    return frames;
}

static void
take_registers(struct ingest_builder *b, const json_t *object, const char *where,
               struct report_thread *thread)
{
    const char *name;
    json_t *value;
    /* jansson's iterators take a non-const object, but do not change it. */
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        uint64_t number;
        if (b->failed || thread->n_registers == REGISTERS_MAX)
            break;
        if (!json_scan_u64(value, &number)) {
            report_note(b->report, b->arena, "%s.%s: not a register's value", where, name);
            continue;
        }
        const char *copy = fz_arena_strdup(b->arena, name);
        b->failed = !copy;
        thread->registers[thread->n_registers++] = (struct report_register){copy, number};
    }
}

static void
take_all_registers(struct ingest_builder *b, const json_t *object, const char *where,
                   struct report_thread *thread)
{
    const json_t *registers = ingest_json_member(b, object, where, "registers", JSON_OBJECT);
    const json_t *basic = json_object_get(registers, "basic");
    const json_t *exception = json_object_get(registers, "exception");
    size_t n = json_object_size(basic) + json_object_size(exception);
    if (n == 0)
        return;
    char at[INGEST_WHERE];
    snprintf(at, sizeof(at), "%s.registers", where);
    n = ingest_limit(b, at, n, REGISTERS_MAX);
    thread->registers = ingest_alloc(b, n, sizeof(*thread->registers));
    take_registers(b, basic, at, thread);
    take_registers(b, exception, at, thread);
}

/* The bytes around the stack pointer, as one run of hex digits. */
static void
take_stack(struct ingest_builder *b, const json_t *object, const char *where,
           struct report_thread *thread)
{
    char at[INGEST_WHERE];
    const json_t *stack = ingest_json_member(b, object, where, "stack", JSON_OBJECT);
    snprintf(at, sizeof(at), "%s.stack", where);
    if (json_is_true(json_object_get(stack, "overflow")))
        report_note(b->report, b->arena, "%s: the stack had overflowed", at);
    const char *error = ingest_json_text(b, stack, at, "error");
    if (error)
        report_note(b->report, b->arena, "%s: %s", at, error);
    const json_t *contents = json_object_get(stack, "contents");
    uint64_t addr;
    if (!json_is_string(contents) || !ingest_json_u64(b, stack, at, "dump_start", &addr))
        return;
    struct fz_span hex = fz_span_make(json_string_value(contents), json_string_length(contents));
    if (hex.len / 2 > b->memory_left) {
        hex.len = b->memory_left * 2;
        report_note(b->report, b->arena, "%s: cut, the report may carry %zu bytes of memory", at,
                    b->limits->memory_bytes);
    }
    if (hex.len < 2)
        return;
    uint8_t *bytes = ingest_alloc(b, hex.len / 2, 1);
    if (!bytes)
        return;
    if (!fz_text_unhex(hex, bytes)) {
        report_note(b->report, b->arena, "%s: not hex digits, left out", at);
        return;
    }
    thread->stack = (struct report_memory){.addr = addr, .bytes = fz_span_make(bytes, hex.len / 2)};
    b->memory_left -= hex.len / 2;
}

static bool
find_pc(const struct report_thread *thread, uint64_t *ret)
{
    static const char *const names[] = {"pc", "rip", "eip"};
    for (size_t i = 0; i < thread->n_registers; i++) {
        for (size_t j = 0; j < FZ_ARRAY_LEN(names); j++) {
            if (strcmp(thread->registers[i].name, names[j]) == 0) {
                *ret = thread->registers[i].value;
                return true;
            }
        }
    }
    return false;
}

static bool
is_own_stack(const struct kscrash *k)
{
    return strcmp(k->type, "nsexception") == 0 || strcmp(k->type, "cpp_exception") == 0 ||
           strcmp(k->type, "user") == 0;
}

/* Whether the first frame there is is where the thread stood. */
static void
settle_first(const struct kscrash *k, struct report_thread *thread, uint64_t skipped)
{
    uint64_t pc;
    if (thread->n_frames == 0)
        return;
    struct report_frame *first = &thread->frames[0];
    /* A stack overflow's newest frames are skipped; then another address than the pc comes first.
     * Bit 0 is Thumb's. */
    bool later = skipped > 0 || (find_pc(thread, &pc) && (pc ^ first->addr) > 1);
    if (later || (thread->crashed && is_own_stack(k)))
        first->adjust = REPORT_ADJUST_RETURN;
}

static void
take_backtrace(const struct kscrash *k, const json_t *object, const char *where,
               struct report_thread *thread)
{
    char at[INGEST_WHERE];
    struct ingest_builder *b = k->b;
    uint64_t skipped = 0;
    const json_t *backtrace = ingest_json_member(b, object, where, "backtrace", JSON_OBJECT);
    snprintf(at, sizeof(at), "%s.backtrace", where);
    if (ingest_json_u64(b, backtrace, at, "skipped", &skipped) && skipped > 0)
        report_note(b->report, b->arena, "%s: the client left out the %llu newest frames", where,
                    (unsigned long long)skipped);
    const json_t *list = ingest_json_member(b, backtrace, at, "contents", JSON_ARRAY);
    snprintf(at, sizeof(at), "%s.frames", where);
    thread->frames = kscrash_take_frames(b, list, at, &thread->n_frames, &thread->n_frames_cut);
    settle_first(k, thread, skipped);
}

static void
take_thread(const struct kscrash *k, const json_t *object, const char *where, int64_t number,
            struct report_thread *thread)
{
    struct ingest_builder *b = k->b;
    thread->index = number;
    ingest_json_i64(b, object, where, "index", &thread->index);
    thread->name = ingest_json_text(b, object, where, "name");
    thread->queue = ingest_json_text(b, object, where, "dispatch_queue");
    thread->state = ingest_json_text(b, object, where, "state");
    thread->crashed = ingest_json_bool(b, object, where, "crashed", false);
    thread->notable_json = ingest_json_dump(b, object, "notable_addresses");
    take_all_registers(b, object, where, thread);
    take_stack(b, object, where, thread);
    take_backtrace(k, object, where, thread);
}

/* The place of the thread that crashed in the list: the limit must not cut it off. */
static size_t
crashed_position(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (json_is_true(json_object_get(json_array_get(list, i), "crashed")))
            return i;
    }
    return 0;
}

/* A thread behind those there are; NULL when memory is out. */
static struct report_thread *
add_thread(struct ingest_builder *b)
{
    struct report *r = b->report;
    struct report_thread *grown = ingest_alloc(b, r->n_threads + 1, sizeof(*grown));
    if (!grown)
        return NULL;
    if (r->n_threads)
        memcpy(grown, r->threads, r->n_threads * sizeof(*grown));
    r->threads = grown;
    return &grown[r->n_threads++];
}

static int64_t
free_index(const struct report *report)
{
    int64_t index = 0;
    for (size_t i = 0; i < report->n_threads; i++) {
        if (report->threads[i].index >= index && report->threads[i].index < INT64_MAX)
            index = report->threads[i].index + 1;
    }
    return index;
}

/* The stack of another language: a text or an object a frame, without addresses. */
static void
take_language(const struct kscrash *k)
{
    static const char where[] = "crash.error.user_reported";
    struct ingest_builder *b = k->b;
    const json_t *user = json_object_get(k->error, "user_reported");
    const json_t *list = json_object_get(user, "backtrace");
    size_t n = json_array_size(list);
    if (n == 0)
        return;
    n = ingest_limit(b, "crash.error.user_reported.backtrace", n, b->limits->frames);
    int64_t index = free_index(b->report);
    struct report_thread *thread = add_thread(b);
    struct report_frame *frames = ingest_alloc(b, n, sizeof(*frames));
    if (!thread || !frames)
        return;
    thread->index = index;
    thread->name = ingest_json_text(b, user, where, "language");
    thread->frames = frames;
    for (size_t i = 0; i < n && !b->failed; i++) {
        const json_t *value = json_array_get(list, i);
        struct report_symbol symbol = {0};
        uint64_t line = 0, column = 0;
        if (json_is_string(value)) {
            symbol.function = fz_arena_strdup(b->arena, json_string_value(value));
        } else {
            symbol.function = ingest_json_text(b, value, where, "methodName");
            if (!symbol.function)
                symbol.function = ingest_json_text(b, value, where, "function");
            symbol.file = ingest_json_text(b, value, where, "file");
            ingest_json_u64(b, value, where, "lineNumber", &line);
            ingest_json_u64(b, value, where, "column", &column);
            symbol.line = line <= UINT32_MAX ? (uint32_t)line : 0;
            symbol.column = column <= UINT32_MAX ? (uint32_t)column : 0;
        }
        struct report_frame *frame = &frames[thread->n_frames++];
        *frame = (struct report_frame){.image = -1, .adjust = REPORT_ADJUST_EXACT};
        ingest_add_client_symbol(b, frame, &symbol);
    }
}

static void
take_exception_backtrace(const struct kscrash *k)
{
    static const char key[] = "last_exception_backtrace";
    struct ingest_builder *b = k->b;
    const json_t *backtrace = json_object_get(k->crash, key);
    if (!backtrace)
        backtrace = json_object_get(k->report, key);
    const json_t *list =
        json_is_array(backtrace) ? backtrace : json_object_get(backtrace, "contents");
    if (!json_is_array(list))
        return;
    b->report->exception_frames = kscrash_take_frames(b, list, key, &b->report->n_exception_frames,
                                                      &b->report->n_exception_frames_cut);
}

void
kscrash_take_threads(const struct kscrash *k)
{
    struct ingest_builder *b = k->b;
    struct report *r = b->report;
    const json_t *list = ingest_json_member(b, k->crash, "crash", "threads", JSON_ARRAY);
    const json_t *only = json_object_get(k->crash, "crashed_thread");
    size_t n = list ? json_array_size(list) : (size_t)json_is_object(only);
    size_t max = ingest_limit(b, "crash.threads", n, b->limits->threads);
    size_t crashed = crashed_position(list);
    r->threads = ingest_alloc(b, max, sizeof(*r->threads));
    for (size_t i = 0; i < max && !b->failed; i++) {
        char where[INGEST_WHERE];
        size_t number = i + 1 == max && crashed > i ? crashed : i;
        const json_t *object = list ? json_array_get(list, number) : only;
        if (list)
            snprintf(where, sizeof(where), "threads[%zu]", number);
        else
            snprintf(where, sizeof(where), "crashed_thread");
        if (json_is_object(object))
            take_thread(k, object, where, (int64_t)number, &r->threads[r->n_threads++]);
        else
            report_note(r, b->arena, "%s: not an object, left out", where);
    }
    if (!list && r->n_threads) /* there is no other that could have */
        r->threads[0].crashed = true;
    take_exception_backtrace(k);
    take_language(k);
}

void
kscrash_take_recrash(const struct kscrash *k)
{
    struct ingest_builder *b = k->b;
    struct report *r = b->report;
    const json_t *object = json_object_get(k->crash, "crashed_thread");
    const json_t *signal = json_object_get(json_object_get(k->error, "signal"), "name");
    const json_t *mach = json_object_get(json_object_get(k->error, "mach"), "exception_name");
    uint64_t address = 0;
    json_scan_u64(json_object_get(k->error, "address"), &address);
    report_note(r, b->arena,
                "the crash reporter crashed itself while it wrote this report: %s at 0x%llx",
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
    int64_t index = free_index(r);
    bool used = false;
    struct report_thread *thread = add_thread(b);
    if (!thread)
        return;
    take_thread(k, object, "recrash.crashed_thread", index, thread);
    for (size_t i = 0; i + 1 < r->n_threads; i++)
        used = used || r->threads[i].index == thread->index;
    if (used)
        thread->index = index;
    /* The report is about the app's crash, if that one's thread is there. */
    thread->crashed = r->n_threads == 1;
}
