/*
 * The manual page, in the macros of man(7): .TH title, .SH section, .SS part, .TP a term and the
 * indented paragraph after it, .B bold, .I italic. A line that begins with a dot is a request, and
 * a backslash begins an escape, so both are escaped in text; "-" is written \- to be a minus sign.
 */
#include "server/cli/help.h"

#include <stdio.h>
#include <string.h>

#include "server/process/limits.h"

/* Text in which nothing is a request or an escape; empty lines separate paragraphs. */
static void
append_text(const char *text, struct fz_buffer *out)
{
    bool is_line_start = true;
    for (; *text; text++) {
        if (text[0] == '\n' && text[1] == '\n') {
            fz_buffer_text(out, "\n.PP\n");
            is_line_start = true;
            text++;
            continue;
        }
        /* \& has no width; it only keeps the character from the start of the line. */
        if (is_line_start && (*text == '.' || *text == '\''))
            fz_buffer_text(out, "\\&");
        is_line_start = *text == '\n';
        if (*text == '\\')
            fz_buffer_text(out, "\\e");
        else if (*text == '-')
            fz_buffer_text(out, "\\-");
        else if (*text == '\'')
            fz_buffer_text(out, "\\(aq");
        else
            fz_buffer_char(out, *text);
    }
}

static void
append_option(const struct command_spec *command, const struct option_spec *option,
              struct fz_buffer *out)
{
    char name[64], letter[8] = "";
    option_show(command, option, name, sizeof(name));
    if (option->letter && option->name)
        snprintf(letter, sizeof(letter), "-%c", option->letter);
    fz_buffer_text(out, ".TP\n\\fB");
    append_text(letter, out);
    fz_buffer_text(out, *letter ? "\\fR, \\fB" : "");
    append_text(name, out);
    fz_buffer_text(out, "\\fR");
    if (option->argument && !option->is_negative) {
        fz_buffer_text(out, " \\fI");
        append_text(option->argument, out);
        fz_buffer_text(out, "\\fR");
    }
    fz_buffer_char(out, '\n');
    append_text(option->help, out);
    if (option->more) {
        fz_buffer_char(out, '\n');
        append_text(option->more, out);
    }
    if (option_default(option)) {
        /* On a line of its own in the source, which man(7) joins with the one before. */
        fz_buffer_text(out, "\nDefault: ");
        append_text(option_default(option), out);
        fz_buffer_char(out, '.');
    }
    if (option->variable) {
        fz_buffer_text(out, "\nVariable: ");
        append_text(option->variable, out);
        fz_buffer_char(out, '.');
    }
    fz_buffer_char(out, '\n');
}

static void
append_command(const struct command_spec *command, struct fz_buffer *out)
{
    fz_buffer_text(out, ".SS framezero ");
    append_text(command->name, out);
    for (int i = 0; i < 3; i++) {
        const char *parts[] = {command->required, "[OPTIONS]", command->operands};
        /* Of a command with actions each action has a line of its own. */
        if (!parts[i] || !*parts[i] || command->actions)
            continue;
        fz_buffer_char(out, ' ');
        append_text(parts[i], out);
    }
    fz_buffer_char(out, '\n');
    append_text(command->description, out);
    fz_buffer_char(out, '\n');
    for (const struct command_spec *const *at = command->actions; at && *at; at++)
        append_command(*at, out);
    if (command->actions)
        return;
    for (const struct option_spec *o = command->options; o && !option_is_end(o); o++)
        append_option(command, o, out);
    /* Settings have a section of their own. */
    bool is_first = true;
    for (const struct option_spec *o = command->settings; o && !option_is_end(o); o++) {
        char name[64];
        if (!command_has_setting(command, o))
            continue;
        option_show(command, o, name, sizeof(name));
        fz_buffer_text(out, is_first ? ".PP\nSettings: " : ", ");
        append_text(name, out);
        is_first = false;
    }
    fz_buffer_text(out, is_first ? "" : ".\n");
    for (const struct command_example *e = command->examples; e && e->command; e++) {
        fz_buffer_text(out, ".PP\n.RS\n.nf\n\\fB");
        append_text(e->command, out);
        fz_buffer_text(out, "\\fR\n.fi\n");
        append_text(e->what, out);
        fz_buffer_text(out, "\n.RE\n");
    }
}

static void
append_settings(const struct command_spec *const *commands, struct fz_buffer *out)
{
    for (; *commands; commands++) {
        if (!(*commands)->settings)
            continue;
        /* All commands share one table of settings, so that of the first one is complete. */
        for (const struct option_spec *o = (*commands)->settings; !option_is_end(o); o++)
            append_option(*commands, o, out);
        return;
    }
}

static void
append_limits(struct fz_buffer *out)
{
    fz_buffer_text(out, ".SS Limits\n");
    for (size_t i = 0; limits_name(i); i++) {
        fz_buffer_printf(out, ".TP\n\\fB%s\\fR\n", limits_name(i));
        append_text(limits_help(i), out);
        fz_buffer_printf(out, "; default %s.\n", limits_default_text(i));
        if (limits_more(i)) {
            append_text(limits_more(i), out);
            fz_buffer_char(out, '\n');
        }
    }
}

void
help_append_manual(const struct command_spec *const *commands, struct fz_buffer *out)
{
    fz_buffer_text(out,
                   ".\\\" Made by framezero help --man.\n"
                   ".TH FRAMEZERO 1 \"\" \"framezero " FZ_VERSION "\" \"User Commands\"\n"
                   ".SH NAME\nframezero \\- crash reports of apps on Apple platforms, with "
                   "names instead of addresses\n"
                   ".SH SYNOPSIS\n.B framezero\n.I COMMAND\n[\\fIOPTIONS\\fR]\n"
                   ".SH DESCRIPTION\n"
                   "framezero takes crash reports, finds the dSYM that was built with each "
                   "binary, and answers with function, file and line. It is a server "
                   "(\\fBserve\\fR) and a set of commands that need no server.\n"
                   ".PP\nA long option\\(aqs value follows as the next word or after \\(aq=\\(aq. "
                   "After \\fB\\-\\-\\fR no word is an option. Every command has "
                   "\\fB\\-h\\fR, \\fB\\-\\-help\\fR.\n"
                   ".SH COMMANDS\n");
    for (const struct command_spec *const *at = commands; *at; at++) {
        if (!((*at)->flags & COMMAND_HIDDEN))
            append_command(*at, out);
    }
    fz_buffer_text(out, ".SH SETTINGS\nDefaults, then the file given by \\fB\\-\\-config\\fR, then "
                        "variables, then options; later ones win. A key in the file is the option "
                        "without its dashes; limits are \\fBlimit.\\fINAME\\fR.\n");
    append_settings(commands, out);
    append_limits(out);
    fz_buffer_text(out,
                   ".SH EXIT STATUS\n.TP\n.B 0\nsuccess\n.TP\n.B 1\nthe work failed\n.TP\n.B 2\n"
                   "wrong usage\n"
                   ".SH ENVIRONMENT\n.TP\n.B FRAMEZERO_*\nsee SETTINGS and the options of "
                   "\\fBupload\\fR; an unknown one is reported\n.TP\n.B NO_COLOR\nno colour, "
                   "even on a terminal\n"
                   ".SH FILES\n.TP\n.I framezero\\-data/credentials.json\nthe URL, the ingest "
                   "key and the admin token of the server on this machine\n");
}
