#include "server/cli/help.h"

#include <stdio.h>
#include <string.h>

#include "server/config/term.h"

enum { WIDTH = 80, HELP_COLUMN = 24 };

void
help_each_option(const struct command_spec *command, help_option_fn show, struct fz_buffer *out)
{
    for (const struct option_spec *o = command->options; o && !option_is_end(o); o++)
        show(command, o, out);
    for (const struct option_spec *o = command->settings; o && !option_is_end(o); o++) {
        if (command_has_setting(command, o))
            show(command, o, out);
    }
    show(command, &options_help, out);
}

/* The words of the text from `column` on, lines indented and at most WIDTH wide. Line breaks and
 * the spaces after them are kept. Ends with a newline. */
static void
append_wrapped(const char *text, size_t column, size_t indent, struct fz_buffer *out)
{
    bool is_first = true;
    while (*text) {
        size_t len = strcspn(text, " \n");
        /* A word that is too long for a line of its own is not broken: it may be a URL. */
        if (!is_first && column + 1 + len > WIDTH) {
            fz_buffer_printf(out, "\n%*s", (int)indent, "");
            column = indent;
            is_first = true;
        }
        fz_buffer_printf(out, "%s%.*s", is_first ? "" : " ", (int)len, text);
        column += len + (is_first ? 0 : 1);
        is_first = false;
        text += len;
        if (*text == '\n') {
            size_t deeper = strspn(text + 1, " ");
            /* No blanks before an empty line, nor at the end. */
            fz_buffer_printf(out, "\n%*s", text[1] == '\n' || !text[1] ? 0 : (int)(indent + deeper),
                             "");
            column = indent + deeper;
            is_first = true;
            text += 1 + deeper;
        } else {
            text += *text == ' ';
        }
    }
    fz_buffer_char(out, '\n');
}

static void
show_option(const struct command_spec *command, const struct option_spec *option,
            struct fz_buffer *out)
{
    char name[64], left[128];
    option_show(command, option, name, sizeof(name));
    if (option->letter && option->name)
        snprintf(left, sizeof(left), "  -%c, %s", option->letter, name);
    else
        /* Long names begin in one column, with a letter before them or without. */
        snprintf(left, sizeof(left), "  %s%s", option->letter ? "" : "    ", name);
    size_t len = strlen(left);
    if (option->argument && !option->is_negative)
        snprintf(left + len, sizeof(left) - len, " %s", option->argument);
    fz_buffer_text(out, left);
    /* A name that is too long for its column has its help on the next line. */
    len = strlen(left);
    if (len + 2 > HELP_COLUMN) {
        fz_buffer_char(out, '\n');
        len = 0;
    }
    fz_buffer_printf(out, "%*s", HELP_COLUMN - (int)len, "");
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer help = fz_buffer_make(0);
    fz_buffer_text(&help, option->help);
    const char *initial = option_default(option);
    if (option->variable)
        /* On a line of its own: settings have long defaults. */
        fz_buffer_printf(&help, "\n[%s%s%s]", option->variable, initial ? "; default " : "",
                         initial ? initial : "");
    else if (initial)
        fz_buffer_printf(&help, " Default: %s.", initial);
    append_wrapped(fz_buffer_cstr(&help), HELP_COLUMN, HELP_COLUMN, out);
}

static void
heading(bool has_colour, const char *text, struct fz_buffer *out)
{
    fz_buffer_printf(out, "\n%s%s%s\n", term_style(has_colour, TERM_BOLD), text,
                     term_style(has_colour, TERM_PLAIN));
}

static void
show_actions(const struct command_spec *command, bool has_colour, struct fz_buffer *out)
{
    heading(has_colour, "Actions:", out);
    for (const struct command_spec *const *at = command->actions; *at; at++) {
        const char *action = strchr((*at)->name, ' ') + 1;
        fz_buffer_printf(out, "  %-10s %s\n", action, (*at)->summary);
    }
    fz_buffer_printf(out, "\n'framezero %s ACTION --help' shows the options of each.\n",
                     command->name);
}

void
help_append_text(const struct command_spec *command, bool has_colour, struct fz_buffer *out)
{
    fz_buffer_printf(out, "%susage:%s framezero %s", term_style(has_colour, TERM_BOLD),
                     term_style(has_colour, TERM_PLAIN), command->name);
    if (command->actions)
        fz_buffer_text(out, " ACTION");
    if (command->required)
        fz_buffer_printf(out, " %s", command->required);
    fz_buffer_printf(out, " [OPTIONS]%s%s\n\n", *command->operands ? " " : "", command->operands);
    append_wrapped(command->description, 0, 0, out);
    if (command->actions) {
        show_actions(command, has_colour, out);
        return;
    }
    heading(has_colour, "Options:", out);
    for (const struct option_spec *o = command->options; o && !option_is_end(o); o++)
        show_option(command, o, out);
    show_option(command, &options_help, out);
    if (command->settings) {
        heading(has_colour, "Settings, also as variables and in the file of --config:", out);
        for (const struct option_spec *o = command->settings; !option_is_end(o); o++) {
            if (command_has_setting(command, o))
                show_option(command, o, out);
        }
    }
    if (command->examples)
        heading(has_colour, "Examples:", out);
    for (const struct command_example *e = command->examples; e && e->command; e++)
        fz_buffer_printf(out, "  %s\n      %s\n", e->command, e->what);
}
