/*
 * Slack and Mattermost, whose incoming webhooks have the same shape.
 *
 * Slack shows `blocks`, and `text` in notifications: header of at most 150 characters, sections of
 * 3,000, fields of 2,000, ten of them. The document's texts are in plain_text objects, where * and _
 * mean nothing; frames and commands are in code blocks. Mattermost shows `text`, which is Markdown.
 */
#include "server/alert/render.h"

enum {
    HEADER_MAX = 150,
    SECTION_MAX = 2900, /* 3,000, with room for ``` */
    FIELD_MAX = 300,
    TEXT_MAX = 1000,
    MARKDOWN_MAX = 3000,
};

/* ---- Slack ------------------------------------------------------------------------------- */

static void
write_plain(struct json_write *w, const char *key, const char *text, size_t max)
{
    json_write_open(w, key, '{');
    json_write_text(w, "type", "plain_text");
    json_write_bool(w, "emoji", false);
    alert_write_escaped(w, "text", ALERT_SLACK, text, max);
    json_write_close(w, '}');
}

static void
write_section(struct json_write *w, const char *text)
{
    if (!text || !*text)
        return;
    json_write_open(w, NULL, '{');
    json_write_text(w, "type", "section");
    write_plain(w, "text", text, SECTION_MAX);
    json_write_close(w, '}');
}

/* `mrkdwn` that was escaped already. */
static void
write_mrkdwn(struct json_write *w, const char *text)
{
    json_write_open(w, NULL, '{');
    json_write_text(w, "type", "section");
    json_write_open(w, "text", '{');
    json_write_text(w, "type", "mrkdwn");
    /* Names of people and channels, and URLs, are not looked for. */
    json_write_bool(w, "verbatim", true);
    json_write_text(w, "text", text);
    json_write_close(w, '}');
    json_write_close(w, '}');
}

static void
write_code(struct json_write *w, const struct alert_lines *lines)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer code = fz_buffer_make(0);
    alert_append_code(&code, ALERT_SLACK_CODE, lines, SECTION_MAX);
    if (code.len > 0)
        write_mrkdwn(w, fz_buffer_cstr(&code));
    w->out->failed |= code.failed;
}

static void
write_fields(struct json_write *w, const struct alert_doc *doc)
{
    if (doc->n_fields == 0)
        return;
    json_write_open(w, NULL, '{');
    json_write_text(w, "type", "section");
    json_write_open(w, "fields", '[');
    for (size_t i = 0; i < doc->n_fields; i++) {
        FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer field = fz_buffer_make(0);
        fz_buffer_printf(&field, "%s: %s", doc->fields[i].name, doc->fields[i].value);
        write_plain(w, NULL, fz_buffer_cstr(&field), FIELD_MAX);
        w->out->failed |= field.failed;
    }
    json_write_close(w, ']');
    json_write_close(w, '}');
}

static void
write_link(struct json_write *w, const struct alert_doc *doc)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer link = fz_buffer_make(0);
    if (!doc->link)
        return;
    fz_buffer_char(&link, '<');
    alert_escape(&link, ALERT_SLACK, doc->link, SECTION_MAX);
    fz_buffer_char(&link, '|');
    alert_escape(&link, ALERT_SLACK, doc->link_name, FIELD_MAX);
    fz_buffer_char(&link, '>');
    write_mrkdwn(w, fz_buffer_cstr(&link));
    w->out->failed |= link.failed;
}

void
alert_render_slack(const struct alert_doc *doc, struct fz_buffer *out)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    const struct alert_lines lines = alert_doc_lines(doc), commands = alert_doc_commands(doc);
    fz_buffer_printf(&text, "%s. %s", doc->headline, doc->summary);
    struct json_write w = json_write_start(out);
    json_write_open(&w, NULL, '{');
    alert_write_escaped(&w, "text", ALERT_SLACK, fz_buffer_cstr(&text), TEXT_MAX);
    json_write_bool(&w, "unfurl_links", false);
    json_write_bool(&w, "unfurl_media", false);
    json_write_open(&w, "blocks", '[');
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "type", "header");
    write_plain(&w, "text", doc->headline, HEADER_MAX);
    json_write_close(&w, '}');
    write_section(&w, doc->summary);
    write_fields(&w, doc);
    write_code(&w, &lines);
    write_section(&w, doc->advice);
    write_code(&w, &commands);
    write_link(&w, doc);
    json_write_close(&w, ']');
    json_write_close(&w, '}');
    out->failed |= text.failed;
}

/* ---- Mattermost -------------------------------------------------------------------------- */

void
alert_render_mattermost(const struct alert_doc *doc, struct fz_buffer *out)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    const struct alert_lines lines = alert_doc_lines(doc), commands = alert_doc_commands(doc);
    fz_buffer_text(&text, "**");
    alert_escape(&text, ALERT_MARKDOWN, doc->headline, MARKDOWN_MAX);
    fz_buffer_text(&text, "**\n\n");
    alert_escape(&text, ALERT_MARKDOWN, doc->summary, MARKDOWN_MAX);
    fz_buffer_text(&text, "\n\n");
    for (size_t i = 0; i < doc->n_fields; i++) {
        fz_buffer_printf(&text, "- %s: ", doc->fields[i].name);
        alert_escape(&text, ALERT_MARKDOWN, doc->fields[i].value, MARKDOWN_MAX);
        fz_buffer_char(&text, '\n');
    }
    fz_buffer_text(&text, doc->n_fields ? "\n" : "");
    alert_append_code(&text, ALERT_CODE, &lines, MARKDOWN_MAX);
    if (doc->advice) {
        alert_escape(&text, ALERT_MARKDOWN, doc->advice, MARKDOWN_MAX);
        fz_buffer_text(&text, "\n\n");
    }
    alert_append_code(&text, ALERT_CODE, &commands, MARKDOWN_MAX);
    if (doc->link) {
        fz_buffer_char(&text, '[');
        alert_escape(&text, ALERT_MARKDOWN, doc->link_name, MARKDOWN_MAX);
        /* The document has only links without characters that end this. */
        fz_buffer_printf(&text, "](%s)\n", doc->link);
    }
    struct json_write w = json_write_start(out);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "username", "framezero");
    json_write_text(&w, "text", fz_buffer_cstr(&text));
    json_write_close(&w, '}');
    out->failed |= text.failed;
}
