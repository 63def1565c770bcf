/*
 * Any body is rejected with a reason or becomes reports that can be rendered in every form.
 *
 * One program for all formats, since the bytes select the format; each format has a corpus of its own.
 */
#include <stdlib.h>

#include "server/ingest/ingest.h"
#include "server/report/render.h"

static void
render(const struct report *report)
{
    struct report_envelope envelope = {.id = "1"};
    struct fz_buffer out;
    fz_buffer_init(&out, 0);
    if (report_render_json(report, &envelope, &out, NULL) != FZ_OK ||
        report_render_crash(report, &envelope, &out, NULL) != FZ_OK ||
        report_render_ips(report, &envelope, &out, NULL) != FZ_OK)
        abort();
    fz_buffer_deinit(&out);
}

/* A body without its memory is as long, and stays as it is when it is stripped again. */
static void
strip(struct fz_span body, const char *reader, struct report *report, const struct limits *limits)
{
    struct fz_arena arena;
    struct fz_span once, twice;
    struct report again;
    fz_arena_init(&arena, 1 << 22);
    enum fz_code code = ingest_strip(body, reader, limits, report, &arena, &once, NULL);
    if (code == FZ_OK && once.len && !fz_span_is(once, "{}")) {
        if (once.len != body.len)
            abort();
        if (ingest_parse_as(once, reader, limits, &arena, &again, NULL) == FZ_OK &&
            ingest_strip(once, reader, limits, &again, &arena, &twice, NULL) == FZ_OK &&
            twice.len && !fz_span_equal(once, twice))
            abort();
    }
    ingest_drop_memory(report, false);
    fz_arena_deinit(&arena);
}

static const char *const readers[] = {
    "array",     "bugsnag",   "crash",     "framezero", "ips",          "kscrash",
    "metrickit", "minidump",  "multipart", "plcrash",   "multipart/0/", "multipart/1/utf16/crash",
    "quincy",    "sentry",    "text",      "utf16",     "sentry_event", "text_array",
    "utf16/x",   "unknown/x", "/",
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fz_span body = fz_span_make(data, size);
    struct limits limits = limits_default();
    struct fz_error err = {.code = FZ_OK};
    struct fz_arena arena, inner;
    struct ingest_item *items = NULL;
    size_t n = 0, n_cut = 0;
    limits.threads = 8;
    limits.frames = 16;
    limits.images = 8;
    limits.memory_bytes = 4096;
    fz_arena_init(&arena, 1 << 22);
    (void)ingest_detect(body);
    enum fz_code code = ingest_split(body, &limits, &arena, &items, &n, &n_cut, &err);
    if (code != FZ_OK && err.text[0] == '\0')
        abort();
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        struct report report;
        fz_arena_init(&inner, 1 << 22);
        enum fz_code parsed =
            ingest_parse_as(items[i].body, items[i].reader, &limits, &inner, &report, &err);
        struct ingest_item *own;
        size_t n_own;
        /* The worker rejects what HTTP rejects. The check of the item alone decides: a valid report is
         * also rejected for being nested too deep. */
        if (items[i].code != FZ_OK && parsed == FZ_OK &&
            ingest_split(items[i].body, &limits, &inner, &own, &n_own, &n_cut, &err) != FZ_OK)
            abort();
        if (parsed != FZ_OK && err.text[0] == '\0')
            abort();
        if (parsed == FZ_OK) {
            render(&report);
            strip(items[i].body, items[i].reader, &report, &limits);
            render(&report);
        }
        fz_arena_deinit(&inner);
    }
    /* A wrong reader may be given, by a child that was taken over. */
    struct report other;
    const char *reader = readers[body.len % FZ_ARRAY_LEN(readers)];
    if (ingest_parse_as(body, reader, &limits, &arena, &other, &err) == FZ_OK)
        render(&other);
    fz_arena_deinit(&arena);
    return 0;
}
