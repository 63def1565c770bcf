/*
 * The tables of README.md. `./dev docs` writes them between two marks there, and a test compares
 * them with the program.
 */
#include "server/cli/help.h"

#include <string.h>

#include "server/config/config.h"
#include "server/process/limits.h"

/* A cell ends at "|", and "<" begins a tag. */
static void
append_cell(const char *text, struct fz_buffer *out)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '<')
            fz_buffer_char(out, '\\');
        fz_buffer_char(out, *text);
    }
}

/* What can be typed is set as code; "one per core" is not. */
static void
append_default(const struct option_spec *option, struct fz_buffer *out)
{
    const char *text = option_default(option);
    /* A text with a colon and without blanks is a URL, such as sqlite:DATA/framezero.db. */
    bool is_value = !option->fallback || (strchr(text, ':') && !strchr(text, ' '));
    fz_buffer_text(out, is_value ? "`" : "");
    append_cell(text, out);
    fz_buffer_text(out, is_value ? "`" : "");
}

static void
append_setting(const struct option_spec *option, struct fz_buffer *out)
{
    fz_buffer_printf(out, "| `--%s%s", option->is_negative ? "no-" : "", option->name);
    if (option->argument && !option->is_negative) {
        fz_buffer_char(out, ' ');
        append_cell(option->argument, out);
    }
    fz_buffer_printf(out, "` | `%s` | ", option->variable);
    append_default(option, out);
    fz_buffer_text(out, " | ");
    append_cell(option->help, out);
    if (option->more) {
        fz_buffer_char(out, ' ');
        append_cell(option->more, out);
    }
    if (option->see) {
        /* The place within the page belongs to the link, not to its text. */
        int len = (int)strcspn(option->see, "#");
        fz_buffer_printf(out, " See [%.*s](%s).", len, option->see, option->see);
    }
    fz_buffer_text(out, " |\n");
}

void
help_append_readme(struct fz_buffer *out)
{
    fz_buffer_text(out, "| option | variable | default | |\n|---|---|---|---|\n");
    for (const struct option_spec *o = config_settings; !option_is_end(o); o++)
        append_setting(o, out);
    fz_buffer_text(out, "\n| limit | default | of what |\n|---|---|---|\n");
    for (size_t i = 0; limits_name(i); i++) {
        fz_buffer_printf(out, "| `%s` | %s | ", limits_name(i), limits_default_text(i));
        append_cell(limits_help(i), out);
        if (limits_more(i)) {
            fz_buffer_text(out, ". ");
            append_cell(limits_more(i), out);
        }
        fz_buffer_text(out, " |\n");
    }
}
