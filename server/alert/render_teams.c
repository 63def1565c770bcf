/*
 * Teams Workflows ("When a Teams webhook request is received"): a message with an adaptive card.
 *
 * All texts are TextRuns, which know no Markdown; a TextBlock or a Fact would format what a report
 * says. A message may have 28 KB: where a long list in another alphabet would exceed that, its end is
 * left out.
 */
#include "server/alert/render.h"

#include <stdio.h>

enum { TEXT_MAX = 1000, BODY_BYTES = 27 * 1024 };

struct run {
    const char *text;
    const char *weight, *color, *font; /* NULL: the card's default */
};

static void
write_run(struct json_write *w, const struct run *run, size_t max)
{
    json_write_open(w, NULL, '{');
    json_write_text(w, "type", "TextRun");
    alert_write_escaped(w, "text", ALERT_CARD, run->text, max);
    json_write_text(w, "weight", run->weight);
    json_write_text(w, "color", run->color);
    json_write_text(w, "fontType", run->font);
    json_write_close(w, '}');
}

/* One paragraph; `second` may be NULL. */
static void
write_block(struct json_write *w, const struct run *first, const struct run *second,
            const char *spacing)
{
    json_write_open(w, NULL, '{');
    json_write_text(w, "type", "RichTextBlock");
    json_write_text(w, "spacing", spacing);
    json_write_open(w, "inlines", '[');
    write_run(w, first, TEXT_MAX);
    if (second)
        write_run(w, second, TEXT_MAX);
    json_write_close(w, ']');
    json_write_close(w, '}');
}

static void
write_lines(struct json_write *w, const char *const *lines, size_t n_lines)
{
    for (size_t i = 0; i < n_lines; i++) {
        struct run run = {.text = lines[i], .font = "Monospace"};
        write_block(w, &run, NULL, i ? "None" : "Default");
    }
}

static void
write_list(struct json_write *w, const struct alert_doc *doc, size_t n_lines)
{
    char text[40];
    uint64_t n_more = doc->n_more + (doc->n_lines - n_lines);
    struct run more = {.text = text};
    write_lines(w, doc->lines, n_lines);
    snprintf(text, sizeof(text), "and %llu more", (unsigned long long)n_more);
    if (n_more > 0)
        write_block(w, &more, NULL, "None");
}

static void
write_body(struct json_write *w, const struct alert_doc *doc, size_t n_lines)
{
    static const char *const colors[] = {[ALERT_INFO] = "Default",
                                         [ALERT_GOOD] = "Good",
                                         [ALERT_WARNING] = "Warning",
                                         [ALERT_BAD] = "Attention"};
    struct run headline = {.text = doc->headline, .weight = "Bolder", .color = colors[doc->level]};
    struct run summary = {.text = doc->summary}, advice = {.text = doc->advice};
    write_block(w, &headline, NULL, NULL);
    write_block(w, &summary, NULL, NULL);
    for (size_t i = 0; i < doc->n_fields; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s: ", doc->fields[i].name);
        struct run first = {.text = name, .weight = "Bolder"};
        struct run second = {.text = doc->fields[i].value};
        write_block(w, &first, &second, i ? "None" : "Default");
    }
    write_list(w, doc, n_lines);
    if (doc->advice)
        write_block(w, &advice, NULL, NULL);
    write_lines(w, doc->commands, doc->n_commands);
}

static void
write_card(struct json_write *w, const struct alert_doc *doc, size_t n_lines)
{
    json_write_open(w, "content", '{');
    json_write_text(w, "$schema", "http://adaptivecards.io/schemas/adaptive-card.json");
    json_write_text(w, "type", "AdaptiveCard");
    json_write_text(w, "version", "1.4");
    json_write_open(w, "msteams", '{');
    json_write_text(w, "width", "Full");
    json_write_close(w, '}');
    json_write_open(w, "body", '[');
    write_body(w, doc, n_lines);
    json_write_close(w, ']');
    if (doc->link) {
        json_write_open(w, "actions", '[');
        json_write_open(w, NULL, '{');
        json_write_text(w, "type", "Action.OpenUrl");
        json_write_text(w, "title", doc->link_name);
        json_write_text(w, "url", doc->link);
        json_write_close(w, '}');
        json_write_close(w, ']');
    }
    json_write_close(w, '}');
}

static void
write_message(const struct alert_doc *doc, size_t n_lines, struct fz_buffer *out)
{
    struct json_write w = json_write_start(out);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "type", "message");
    json_write_open(&w, "attachments", '[');
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "contentType", "application/vnd.microsoft.card.adaptive");
    json_write_null(&w, "contentUrl");
    write_card(&w, doc, n_lines);
    json_write_close(&w, '}');
    json_write_close(&w, ']');
    json_write_close(&w, '}');
}

void
alert_render_teams(const struct alert_doc *doc, struct fz_buffer *out)
{
    for (size_t n_lines = doc->n_lines;; n_lines /= 2) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer body = fz_buffer_make(0);
        write_message(doc, n_lines, &body);
        out->failed |= body.failed;
        if (body.failed || body.len <= BODY_BYTES || n_lines == 0) {
            fz_buffer_append(out, body.data, body.len);
            return;
        }
    }
}
