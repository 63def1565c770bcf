/* What follows the images in Apple's crash text. */
#include "server/report/crash/parts.h"

/* How often other processes modified this one. */
static void
put_modifications(struct report_crash_out *c)
{
    static const struct {
        const char *key, *title;
    } groups[] = {{"targeted", "Calls made by other processes targeting this process"},
                  {"caller", "Calls made by this process"},
                  {"system", "Calls made by all processes on this machine"}};
    static const char *const calls[] = {"task_for_pid", "thread_create", "thread_set_state"};
    const json_t *all = c->is_ips ? json_object_get(c->extra, "extMods") : NULL;
    /* A text has the whole part under its heading. */
    if (!json_is_object(all)) {
        report_crash_section(c, "External Modification Summary", NULL);
        return;
    }
    fz_buffer_text(c->out, "External Modification Summary:\n");
    for (size_t i = 0; i < FZ_ARRAY_LEN(groups); i++) {
        const json_t *group = json_object_get(all, groups[i].key);
        fz_buffer_printf(c->out, "  %s:\n", groups[i].title);
        for (size_t k = 0; k < FZ_ARRAY_LEN(calls); k++)
            fz_buffer_printf(c->out, "    %s: %lld\n", calls[k],
                             (long long)json_integer_value(json_object_get(group, calls[k])));
    }
    fz_buffer_char(c->out, '\n');
}

/* Headings of Apple's text that no other part has written; keys of .ips begin with a small letter.
 */
static void
put_remaining(struct report_crash_out *c)
{
    bool is_text = c->r->format && strcmp(c->r->format, "crash") == 0;
    const char *key;
    json_t *value;
    if (!is_text && !c->is_ips)
        return;
    json_object_foreach(c->extra, key, value)
    {
        const char *text = json_string_value(value);
        if (!text || !*text || (c->is_ips && (*key < 'A' || *key > 'Z')))
            continue;
        /* So a parser reads it again as the same heading. */
        bool is_long = strchr(text, '\n') != NULL;
        report_crash_text(c->out, key);
        fz_buffer_text(c->out, is_long ? ":\n" : ": ");
        report_crash_block(c->out, fz_span_cstr(text), false);
        fz_buffer_char(c->out, '\n');
    }
}

void
report_crash_tail(struct report_crash_out *c)
{
    if (c->r->crash.diagnosis && !c->is_ips) { /* the heading that KSCrash gives it */
        report_crash_inline(c->out, "CrashDoctor Diagnosis", fz_span_cstr(c->r->crash.diagnosis));
        fz_buffer_char(c->out, '\n');
    }
    put_modifications(c);
    if (c->is_mac) /* iOS has it in the .ips only */
        report_crash_section(c, "VM Region Summary", "vmSummary");
    report_crash_section(c, "Error Formulating Crash Report", "reportNotes");
    report_crash_section(c, c->is_mac ? "Filtered log messages" : "Filtered syslog", "filteredLog");
    put_remaining(c);
    if (!c->is_mac)
        fz_buffer_text(c->out, "EOF\n");
}
