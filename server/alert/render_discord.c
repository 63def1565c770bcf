/*
 * Discord's webhooks: one embed. A title has at most 256 characters, a description 4,096, a field's
 * value 1,024, and all together 6,000. Its Markdown is escaped, and allowed_mentions is empty.
 */
#include "server/alert/render.h"

enum { TITLE_MAX = 250, DESCRIPTION_MAX = 3800, PART_MAX = 1200, VALUE_MAX = 200 };

/* What an embed shows at its left edge, 0xRRGGBB. */
static uint64_t
color_of(enum alert_level level)
{
    static const uint64_t colors[] = {[ALERT_INFO] = 0x5865f2,
                                      [ALERT_GOOD] = 0x2e9e5b,
                                      [ALERT_WARNING] = 0xe0a100,
                                      [ALERT_BAD] = 0xd1383d};
    return colors[level];
}

static void
append_description(const struct alert_doc *doc, struct fz_buffer *out)
{
    alert_escape(out, ALERT_MARKDOWN, doc->summary, PART_MAX);
    fz_buffer_char(out, '\n');
    const struct alert_lines lines = alert_doc_lines(doc), commands = alert_doc_commands(doc);
    alert_append_code(out, ALERT_CODE, &lines, PART_MAX);
    if (doc->advice) {
        alert_escape(out, ALERT_MARKDOWN, doc->advice, PART_MAX);
        fz_buffer_char(out, '\n');
    }
    /* The last part is what is cut where the limit of an embed would be exceeded. */
    size_t room = out->len < DESCRIPTION_MAX ? DESCRIPTION_MAX - out->len : 0;
    if (room > PART_MAX / 4)
        alert_append_code(out, ALERT_CODE, &commands, room < PART_MAX ? room : PART_MAX);
}

void
alert_render_discord(const struct alert_doc *doc, int64_t time_ms, struct fz_buffer *out)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer description = fz_buffer_make(0);
    append_description(doc, &description);
    struct json_write w = json_write_start(out);
    json_write_open(&w, NULL, '{');
    json_write_text(&w, "username", "framezero");
    json_write_open(&w, "embeds", '[');
    json_write_open(&w, NULL, '{');
    alert_write_escaped(&w, "title", ALERT_MARKDOWN, doc->headline, TITLE_MAX);
    json_write_text(&w, "url", doc->link);
    json_write_text(&w, "description", fz_buffer_cstr(&description));
    json_write_u64(&w, "color", color_of(doc->level));
    json_write_time(&w, "timestamp", time_ms);
    json_write_open(&w, "fields", '[');
    for (size_t i = 0; i < doc->n_fields; i++) {
        json_write_open(&w, NULL, '{');
        json_write_text(&w, "name", doc->fields[i].name);
        alert_write_escaped(&w, "value", ALERT_MARKDOWN, doc->fields[i].value, VALUE_MAX);
        json_write_bool(&w, "inline", true);
        json_write_close(&w, '}');
    }
    json_write_close(&w, ']');
    json_write_close(&w, '}');
    json_write_close(&w, ']');
    json_write_open(&w, "allowed_mentions", '{');
    json_write_open(&w, "parse", '[');
    json_write_close(&w, ']');
    json_write_close(&w, '}');
    json_write_close(&w, '}');
    out->failed |= description.failed;
}
