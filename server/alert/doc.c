#include "server/alert/doc.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "server/alert/build.h"

/* ---- what several kinds have ------------------------------------------------------------- */

static void
add_issue(struct alert_build *b)
{
    const struct alert_issue *issue = &b->event->issue;
    if (!issue->number)
        return;
    alert_build_field(b, "In", issue->culprit);
    if (issue->first_seen_ms)
        alert_build_field(b, "First seen", alert_build_time(b, issue->first_seen_ms));
    alert_build_field(b, "First version", issue->first_version);
    alert_build_field(b, "Last version", issue->last_version);
    for (size_t i = 0; i < issue->n_frames && i < ALERT_FRAMES_MAX; i++) {
        const struct alert_frame *frame = &issue->frames[i];
        char place[320] = "";
        if (frame->file && frame->line)
            snprintf(place, sizeof(place), " (%.200s:%llu)", fz_text_base_name(frame->file),
                     (unsigned long long)frame->line);
        else if (frame->file)
            snprintf(place, sizeof(place), " (%.200s)", fz_text_base_name(frame->file));
        alert_build_line(b, alert_build_text(b, ALERT_LINE_MAX, "%.200s  %.1000s%s",
                                             frame->module ? frame->module : "?",
                                             frame->function ? frame->function : "?", place));
    }
}

/* Only what a shell takes as it is. */
static bool
is_shell_safe(const char *text)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "-._:/[]@%+,=";
    return *text && *text != '-' && text[strspn(text, safe)] == '\0';
}

/* A UUID is the only part of a report that gets into a command. */
static bool
is_uuid(const char *text)
{
    return text && strlen(text) == 36 && text[strspn(text, "0123456789abcdefABCDEF-")] == '\0';
}

static void
add_command(struct alert_build *b, const struct alert_symbol *symbol)
{
    struct alert_doc *doc = b->doc;
    const char *project = b->event->project ? b->event->project : "";
    const char *server = b->server ? b->server : "";
    if (!is_uuid(symbol->uuid) || doc->n_commands == ALERT_COMMANDS_MAX)
        return;
    char upper[37];
    for (size_t i = 0; i < sizeof(upper); i++)
        upper[i] = (char)(symbol->uuid[i] >= 'a' ? symbol->uuid[i] - 32 : symbol->uuid[i]);
    /* Spotlight knows the UUIDs of the dSYMs in archives. */
    doc->commands[doc->n_commands++] =
        alert_build_text(b, 1000,
                         "framezero upload --server %.400s --project %.200s \"$(mdfind "
                         "'com_apple_xcode_dsym_uuids == %s' | head -n 1)\"",
                         is_shell_safe(server) ? server : "SERVER",
                         is_shell_safe(project) ? project : "PROJECT", upper);
}

static void
add_symbols(struct alert_build *b)
{
    const struct alert_event *event = b->event;
    for (size_t i = 0; i < event->n_symbols && i < ALERT_SYMBOLS_MAX; i++) {
        const struct alert_symbol *symbol = &event->symbols[i];
        alert_build_line(b, alert_build_text(b, ALERT_LINE_MAX, "missing: %.200s %.20s %.40s",
                                             symbol->name ? symbol->name : "?",
                                             symbol->arch ? symbol->arch : "",
                                             symbol->uuid ? symbol->uuid : ""));
        add_command(b, symbol);
    }
    size_t n_cut = event->n_symbols > ALERT_SYMBOLS_MAX ? event->n_symbols - ALERT_SYMBOLS_MAX : 0;
    b->doc->n_more += n_cut + event->n_unlisted;
    if (event->n_symbols > 0)
        b->doc->advice =
            "Upload what is missing, from the Mac that built it, with FRAMEZERO_TOKEN set "
            "to a token with the scope 'upload'; elsewhere, give the path of the dSYM or "
            "archive. The reports then get their names by themselves.";
}

/* Nothing that ends a link in Markdown or at Slack. */
static bool
is_link(const char *url)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "-._~:/?#[]@!$&+,;=%";
    return url[strspn(url, safe)] == '\0';
}

enum fz_code
alert_doc_make(const struct alert_event *event, const char *server, struct fz_arena *arena,
               struct alert_doc *ret, struct fz_error *err)
{
    struct alert_doc doc = {.headline = "", .summary = ""};
    struct alert_build b = {.event = event, .server = server, .arena = arena, .doc = &doc};
    alert_build_field(&b, "Version", event->version);
    alert_kind_describe(&b);
    add_issue(&b);
    add_symbols(&b);
    if (server && *server && event->path && event->path[0] == '/' && is_link(server) &&
        is_link(event->path)) {
        size_t len = strlen(server);
        doc.link = alert_build_text(&b, 1000, "%.*s%.500s",
                                    (int)(len && server[len - 1] == '/' ? len - 1 : len), server,
                                    event->path);
        doc.link_name = event->issue.number
                            ? alert_build_text(&b, ALERT_VALUE_MAX, "Open issue #%llu",
                                               (unsigned long long)event->issue.number)
                            : "Open framezero";
    }
    if (b.failed)
        return fz_arena_fail(arena, err);
    *ret = doc;
    return FZ_OK;
}

struct alert_lines
alert_doc_lines(const struct alert_doc *doc)
{
    return (struct alert_lines){doc->lines, doc->n_lines, doc->n_more, true};
}

struct alert_lines
alert_doc_commands(const struct alert_doc *doc)
{
    return (struct alert_lines){doc->commands, doc->n_commands, 0, false};
}
