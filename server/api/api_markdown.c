/*
 * A stack looks like this; ">" marks the app's own frames, "*" the one that the issue is named after:
 *
 *      0  libsystem_kernel.dylib  __pthread_kill + 8
 *   *  1  Shop                    checkout(int)  checkout.swift:12  (inlined)
 *   >  1  Shop                    pay()  pay.swift:40
 */
#include "server/api/api_markdown.h"

#include <string.h>

#include "server/api/api_escape.h"

enum {
    FRAMES_MAX = 100,
    VALUES_MAX = 100,
    TEXT_MAX = 400, /* bytes of a name: a mangled one may be long */
    IMAGE_WIDTH = 24
};

static const char *
text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static bool
is_set(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

/* At most TEXT_MAX bytes, ending between two characters. */
static void
append_code(struct fz_buffer *out, const char *text)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer cut = fz_buffer_make(TEXT_MAX + 1);
    size_t len = strlen(text);
    bool is_long = len > TEXT_MAX;
    if (is_long) {
        len = TEXT_MAX;
        while (len > 0 && ((uint8_t)text[len] & 0xc0) == 0x80)
            len--;
    }
    fz_buffer_append(&cut, text, len);
    api_md_code(out, fz_buffer_cstr(&cut));
    if (is_long)
        fz_buffer_text(out, "...");
}

/* ---- the stack ---- */

/* An uncaught exception was thrown elsewhere than the process ended. */
static const json_t *
frames_of(const json_t *report, const json_t **ret_thread)
{
    const json_t *frames =
        json_object_get(json_object_get(report, "exception_backtrace"), "frames");
    const json_t *threads = json_object_get(report, "threads");
    *ret_thread = NULL;
    if (json_array_size(frames))
        return frames;
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        if (is_set(thread, "crashed")) {
            *ret_thread = thread;
            return json_object_get(thread, "frames");
        }
    }
    *ret_thread = json_array_get(threads, 0);
    return json_object_get(*ret_thread, "frames");
}

static void
append_head(struct fz_buffer *out, const json_t *frame, size_t index, char mark)
{
    const char *image = text_of(frame, "image");
    fz_buffer_printf(out, "%c %3zu  ", mark, index);
    size_t before = out->len;
    append_code(out, *image ? image : "???");
    for (size_t n = out->len - before; n < IMAGE_WIDTH; n++)
        fz_buffer_char(out, ' ');
    fz_buffer_text(out, "  ");
}

static void
append_symbol(struct fz_buffer *out, const json_t *symbol)
{
    const char *function = text_of(symbol, "function"), *file = text_of(symbol, "file");
    const char *name = strrchr(file, '/');
    json_int_t line = json_integer_value(json_object_get(symbol, "line")),
               offset = json_integer_value(json_object_get(symbol, "offset"));
    append_code(out, *function ? function : "???");
    if (*file) {
        fz_buffer_text(out, "  ");
        append_code(out, name ? name + 1 : file);
        if (line > 0)
            fz_buffer_printf(out, ":%lld", (long long)line);
    } else if (offset > 0) {
        fz_buffer_printf(out, " + %lld", (long long)offset);
    }
    if (is_set(symbol, "inlined"))
        fz_buffer_text(out, "  (inlined)");
    fz_buffer_char(out, '\n');
}

static void
append_frame(struct fz_buffer *out, const json_t *frame, size_t index)
{
    const json_t *symbols = json_object_get(frame, "symbols");
    char mark = is_set(frame, "anchor") ? '*' : is_set(frame, "in_app") ? '>' : ' ';
    for (size_t i = 0; i < json_array_size(symbols); i++) {
        append_head(out, frame, index, mark);
        append_symbol(out, json_array_get(symbols, i));
    }
    if (json_array_size(symbols))
        return;
    append_head(out, frame, index, mark);
    append_code(out, text_of(frame, "address"));
    fz_buffer_text(out, "  ");
    append_code(out, text_of(frame, "status"));
    fz_buffer_char(out, '\n');
}

void
api_markdown_row(struct fz_buffer *out, const char *name, const char *text)
{
    if (!text || !*text)
        return;
    fz_buffer_printf(out, "| %s | ", name);
    api_md_text(out, text);
    fz_buffer_text(out, " |\n");
}

static void
append_facts(struct fz_buffer *out, const json_t *report)
{
    const json_t *crash = json_object_get(report, "crash"), *app = json_object_get(report, "app"),
                 *os = json_object_get(report, "os");
    const struct {
        const char *name, *text;
    } rows[] = {
        {"Report", text_of(report, "id")},
        {"Exception", text_of(crash, "exception")},
        {"Signal", text_of(crash, "signal")},
        {"Reason", text_of(crash, "reason")},
        {"Version", text_of(app, "version")},
        {"Build", text_of(app, "build")},
        {"System", text_of(os, "name")},
        {"System version", text_of(os, "version")},
        {"Device", text_of(json_object_get(report, "device"), "model")},
        {"Architecture", text_of(report, "arch")},
        {"Time", text_of(report, "timestamp")},
    };
    fz_buffer_text(out, "| Report | |\n|---|---|\n");
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++)
        api_markdown_row(out, rows[i].name, rows[i].text);
    fz_buffer_char(out, '\n');
}

void
api_markdown_stack(struct fz_buffer *out, const json_t *report)
{
    const json_t *thread, *frames = frames_of(report, &thread);
    size_t n = json_array_size(frames), shown = n < FRAMES_MAX ? n : FRAMES_MAX;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer lines = fz_buffer_make(0);
    append_facts(out, report);
    for (size_t i = 0; i < shown; i++)
        append_frame(&lines, json_array_get(frames, i), i);
    if (n > shown)
        fz_buffer_printf(&lines, "      ... %zu more frames\n", n - shown);
    if (n == 0)
        return;
    fz_buffer_printf(
        out,
        "%s, innermost first; `>` marks the app's own code, `*` what the issue is named after:\n\n",
        thread ? "The thread that crashed" : "Where the exception was thrown");
    api_md_fence(out, fz_buffer_span(&lines));
    fz_buffer_char(out, '\n');
}

/* ---- values ---- */

static bool
is_shown(const json_t *variable)
{
    const char *availability = text_of(variable, "availability");
    return *text_of(variable, "value") && strcmp(availability, "redacted") != 0;
}

static size_t
append_values(struct fz_buffer *out, const json_t *symbol, size_t n_before)
{
    const json_t *variables = json_object_get(symbol, "variables");
    size_t n = n_before;
    for (size_t i = 0; i < json_array_size(variables) && n < VALUES_MAX; i++) {
        const json_t *variable = json_array_get(variables, i);
        if (!is_shown(variable))
            continue;
        append_code(out, text_of(symbol, "function"));
        fz_buffer_text(out, ": ");
        append_code(out, text_of(variable, "type"));
        fz_buffer_char(out, ' ');
        append_code(out, text_of(variable, "name"));
        fz_buffer_text(out, " = ");
        append_code(out, text_of(variable, "value"));
        fz_buffer_char(out, '\n');
        n++;
    }
    return n;
}

void
api_markdown_values(struct fz_buffer *out, const json_t *report)
{
    const json_t *thread, *frames = frames_of(report, &thread);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer lines = fz_buffer_make(0);
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(frames) && i < FRAMES_MAX; i++) {
        const json_t *frame = json_array_get(frames, i);
        const json_t *symbols = json_object_get(frame, "symbols");
        for (size_t k = 0; is_set(frame, "in_app") && k < json_array_size(symbols); k++)
            n = append_values(&lines, json_array_get(symbols, k), n);
    }
    if (n == 0)
        return;
    fz_buffer_text(out, "## Values\n\n");
    api_md_fence(out, fz_buffer_span(&lines));
    fz_buffer_char(out, '\n');
}
