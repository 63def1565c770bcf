#include "server/report/summary.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"

enum { TAGS_MAX = 50, TAGS_BYTES_MAX = 4000, TAG_VALUE_MAX = 256 };

/* ---- top frame ---- */

static const struct report_frame *
first_named(const struct report_frame *frames, size_t n)
{
    const struct report_frame *found = NULL;
    for (size_t i = 0; i < n; i++) {
        if (frames[i].n_symbols == 0)
            continue;
        /* Of the app's own code if any frame is: abort() or objc_msgSend() would be the top of
         * most crashes. */
        if (frames[i].in_app)
            return &frames[i];
        if (!found)
            found = &frames[i];
    }
    return found;
}

static void
set_symbol(const struct report_symbol *symbol, struct report_summary *ret)
{
    ret->top_function = symbol->function;
    ret->top_file = symbol->file;
    ret->top_line = symbol->line;
}

static void
set_top(const struct report *report, struct report_summary *ret)
{
    /* What the key names, if anything; it knows what carries no information. */
    if (report->issue.anchor && report->issue.anchor->function) {
        set_symbol(report->issue.anchor, ret);
        return;
    }
    /* Where an exception was thrown says more than where the process ended because of it. */
    const struct report_frame *top =
        first_named(report->exception_frames, report->n_exception_frames);
    const struct report_thread *thread = report_crashed_thread(report);
    if (!top && thread)
        top = first_named(thread->frames, thread->n_frames);
    if (!top)
        return;
    /* The last symbol of a frame always has a name. */
    const struct report_symbol *symbol = top->symbols;
    while (!symbol->function && symbol + 1 < top->symbols + top->n_symbols)
        symbol++;
    set_symbol(symbol, ret);
}

/* ---- release ---- */

static bool
is_set(const char *text)
{
    return text && *text;
}

bool
report_release(const struct report *r, struct fz_arena *arena, const char **ret)
{
    *ret = NULL;
    /* Without a version there is no release that could be compared. */
    if (!is_set(r->app_version))
        return true;
    bool has_id = is_set(r->app_id), has_build = is_set(r->app_build);
    *ret = fz_arena_printf(arena, "%s%s%s%s%s", has_id ? r->app_id : "", has_id ? "@" : "",
                           r->app_version, has_build ? "+" : "", has_build ? r->app_build : "");
    return *ret != NULL;
}

/* ---- user and tags ---- */

static bool
set_user(const struct report *report, struct fz_arena *arena, struct report_summary *ret)
{
    static const char *const names[] = {"id", "email", "username", "name"};
    if (!report->user_json)
        return true;
    /* An object from Sentry's SDKs; other formats may have only an id. */
    json_auto_t *user = json_loads(report->user_json, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (json_is_string(user)) {
        ret->user = fz_arena_strdup(arena, json_string_value(user));
        return ret->user != NULL;
    }
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        const json_t *value = json_object_get(user, names[i]);
        if (json_is_string(value) && json_string_length(value))
            ret->user = fz_arena_strdup(arena, json_string_value(value));
        else if (json_is_integer(value))
            ret->user = fz_arena_printf(arena, "%lld", (long long)json_integer_value(value));
        else
            continue;
        return ret->user != NULL;
    }
    return true;
}

/* A part of a line: what would end the line becomes a space. */
static void
append_part(struct fz_buffer *out, const char *text)
{
    for (size_t i = 0; text[i] && i < TAG_VALUE_MAX; i++)
        fz_buffer_char(out, (unsigned char)text[i] < ' ' ? ' ' : text[i]);
}

static void
append_tag(struct fz_buffer *out, const char *name, const json_t *value)
{
    char number[32];
    const char *text = json_string_value(value);
    if (json_is_integer(value)) {
        snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
        text = number;
    } else if (json_is_boolean(value)) {
        text = json_is_true(value) ? "true" : "false";
    }
    if (!text)
        return;
    /* Lines of the form that conditions about tags search for. */
    append_part(out, name);
    fz_buffer_char(out, '=');
    append_part(out, text);
    fz_buffer_char(out, '\n');
}

static bool
set_tags(const struct report *report, struct fz_arena *arena, struct report_summary *ret)
{
    if (!report->tags_json)
        return true;
    json_auto_t *tags = json_loads(report->tags_json, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    /* A line feed before the first one, too: a filter finds whole lines. */
    fz_buffer_char(&out, '\n');
    size_t n = 0;
    for (void *at = json_object_iter(tags); at && n < TAGS_MAX;
         at = json_object_iter_next(tags, at)) {
        size_t before = out.len;
        append_tag(&out, json_object_iter_key(at), json_object_iter_value(at));
        if (out.len > TAGS_BYTES_MAX) { /* only whole tags are of use */
            out.len = before;
            break;
        }
        n += out.len > before;
    }
    if (n == 0)
        return !out.failed;
    ret->tags = out.failed ? NULL : fz_arena_text(arena, fz_buffer_span(&out));
    return ret->tags != NULL;
}

enum fz_code
report_summary_make(const struct report *report, struct fz_arena *arena, struct report_summary *ret,
                    struct fz_error *err)
{
    *ret = (struct report_summary){.kind = report->kind ? report->kind : "crash"};
    /* An empty one would make one run of all that have it. */
    if (is_set(report->run_id)) {
        ret->run_id = report->run_id;
        ret->ends_run = report_ends_run(report);
    }
    ret->scrubbed = report->scrubbed_json != NULL;
    set_top(report, ret);
    if (!report_release(report, arena, &ret->release) || !set_user(report, arena, ret) ||
        !set_tags(report, arena, ret))
        return fz_arena_fail(arena, err);
    return FZ_OK;
}
