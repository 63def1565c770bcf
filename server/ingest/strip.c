/*
 * Reports without captured memory: the body that is stored, and the model that is rendered.
 *
 * Memory is found by the form of the bytes, in all containers alike; the result is parsed again, and
 * must have no memory any more. What hides memory in another way (escaped names, another encoding)
 * is found so, and nothing of its body is kept.
 */
#include "server/ingest/common/strip.h"

#include "base/platform.h"
#include "server/ingest/ingest.h"
#include "server/ingest/minidump/strip.h"

/* A body that still changes after so many is not kept. */
enum { ROUNDS = 4 };

/* Formats that never carry memory; what they call notable is the system's text about registers. */
static bool
is_of_system(const struct report *report)
{
    static const char *const formats[] = {"ips", "metrickit", "plcrash", "bugsnag", "quincy"};
    for (size_t i = 0; report->format && i < FZ_ARRAY_LEN(formats); i++) {
        if (strcmp(report->format, formats[i]) == 0)
            return true;
    }
    return false;
}

static bool
has_memory(const struct report *report)
{
    for (size_t i = 0; i < report->n_threads; i++) {
        if (report->threads[i].stack.bytes.len || report->threads[i].notable_json)
            return true;
    }
    for (size_t i = 0; i < report->n_memory; i++) {
        if (report->memory[i].bytes.len)
            return true;
    }
    return false;
}

/* A look for the words that mark memory, so that other bodies are neither copied nor walked. */
static bool
may_have_memory(struct fz_span body)
{
    static const char *const words[] = {"MDMP",     "PMDM",       "\"stack\"",        "\"memory\"",
                                        "notable_", "Stack Dump", "Notable Addresses"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(words); i++) {
        if (body.len && fz_platform_find(body.data, body.len, words[i], strlen(words[i])))
            return true;
    }
    return false;
}

static bool
is_blank(struct fz_span bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        if (bytes.data[i])
            return false;
    }
    return true;
}

/* Is nothing left but pointers on stacks? */
static bool
is_report_clean(const struct ingest_strip *strip, const struct report *report)
{
    for (size_t i = 0; i < report->n_threads; i++) {
        const struct report_memory *stack = &report->threads[i].stack;
        if (!ingest_strip_is_clean(strip, stack->bytes, stack->addr) ||
            (report->threads[i].notable_json && strcmp(report->threads[i].notable_json, "{}") != 0))
            return false;
    }
    for (size_t i = 0; i < report->n_memory; i++) {
        const struct report_memory *memory = &report->memory[i];
        if (!is_blank(memory->bytes) && !ingest_strip_is_clean(strip, memory->bytes, memory->addr))
            return false;
    }
    return true;
}

/* Strip what has been stripped, now that it is `report`. *ret_changed: there was more to strip. */
static enum fz_code
strip_again(struct ingest_strip *strip, const struct report *report, const struct limits *limits,
            struct fz_arena *arena, bool *ret_changed, struct fz_error *err)
{
    struct ingest_strip now = {.bytes = strip->bytes, .len = strip->len, .arena = arena};
    *ret_changed = false;
    enum fz_code code = ingest_strip_ranges(&now, report, arena, err);
    if (code != FZ_OK)
        return code;
    /* That is so unless parts of the body hide each other, so nearly always there is no more to do. */
    if (strip->n_dumps <= 1 && ingest_strip_same_ranges(strip, &now))
        return FZ_OK;
    uint8_t *before = fz_arena_alloc(arena, strip->len + 1);
    if (!before)
        return fz_arena_fail(arena, err);
    memcpy(before, strip->bytes, strip->len);
    minidump_strip(&now, limits);
    ingest_strip_texts(&now);
    *ret_changed = memcmp(before, strip->bytes, strip->len) != 0;
    return now.failed ? fz_arena_fail(arena, err) : FZ_OK;
}

/* Parsed as the next processing will, in memory of its own: the first parse may have used up most
 * of the report's. */
static enum fz_code
check(struct ingest_strip *strip, const char *reader, const struct limits *limits, bool *ret_clean,
      bool *ret_changed, struct fz_error *err)
{
    FZ_CLEANUP(fz_arena_deinit) struct fz_arena arena = fz_arena_make(limits->report_memory);
    struct report report;
    enum fz_code code = ingest_parse_as(fz_span_make(strip->bytes, strip->len), reader, limits,
                                        &arena, &report, err);
    *ret_clean = code == FZ_OK && is_report_clean(strip, &report);
    *ret_changed = false;
    if (*ret_clean)
        code = strip_again(strip, &report, limits, &arena, ret_changed, err);
    /* Any other failure means that the body is damaged now, which is not kept either. */
    return code == FZ_E_NO_MEMORY || code == FZ_E_LIMIT ? code : FZ_OK;
}

enum fz_code
ingest_strip(struct fz_span body, const char *reader, const struct limits *limits,
             const struct report *report, struct fz_arena *arena, struct fz_span *ret,
             struct fz_error *err)
{
    static const char nothing[] = "{}";
    struct ingest_strip strip;
    bool is_known = has_memory(report), clean = false, changed = true;
    *ret = (struct fz_span){NULL, 0};
    /* Memory that the parser left out is noted; without a note there is none, and nothing to search,
     * which would take a fifth of a report's time. */
    if (is_of_system(report) || (!is_known && (report->n_notes == 0 || !may_have_memory(body))))
        return FZ_OK;
    enum fz_code code = ingest_strip_init(&strip, body, report, arena, err);
    if (code != FZ_OK)
        return code;
    minidump_strip(&strip, limits);
    ingest_strip_texts(&strip);
    if (strip.failed)
        return fz_arena_fail(arena, err);
    if (!strip.found && !is_known)
        return FZ_OK;
    for (int i = 0; i < ROUNDS && code == FZ_OK && changed; i++)
        code = check(&strip, reader, limits, &clean, &changed, err);
    if (code == FZ_OK)
        *ret = clean && !changed ? fz_span_make(strip.bytes, strip.len) : fz_span_cstr(nothing);
    return code;
}

static void
drop(struct report_memory *memory)
{
    /* Where it was and how much stays. */
    if (memory->size == 0)
        memory->size = memory->bytes.len;
    memory->bytes = (struct fz_span){NULL, 0};
}

void
ingest_drop_memory(struct report *report, bool keeps_notable)
{
    for (size_t i = 0; i < report->n_threads; i++) {
        drop(&report->threads[i].stack);
        if (!keeps_notable && !is_of_system(report))
            report->threads[i].notable_json = NULL;
    }
    for (size_t i = 0; i < report->n_memory; i++)
        drop(&report->memory[i]);
    /* Copies of memory go through them, 16 bytes of a text at once. */
    for (size_t i = 0; i < report->n_threads; i++)
        report->threads[i].n_vectors = 0;
}
