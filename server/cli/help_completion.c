/*
 * Completions. Both scripts are one function that looks at the command (and action), then at the
 * option before the cursor, whose value is wanted, and else offers options or operands.
 */
#include "server/cli/help.h"

#include <stdio.h>
#include <string.h>

/* Every command that is shown, and in place of one with actions each of those. */
typedef void (*command_fn)(const struct command_spec *command, struct fz_buffer *out);

static void
each_command(const struct command_spec *const *commands, command_fn show, struct fz_buffer *out)
{
    for (; *commands; commands++) {
        if ((*commands)->flags & COMMAND_HIDDEN)
            continue;
        /* A command with actions has no options of its own. */
        for (const struct command_spec *const *at = (*commands)->actions; at && *at; at++)
            show(*at, out);
        if (!(*commands)->actions)
            show(*commands, out);
    }
}

/* "serve worker ..." */
static void
append_names(const struct command_spec *const *commands, struct fz_buffer *out)
{
    const char *space = "";
    for (; *commands; commands++) {
        const char *action = strchr((*commands)->name, ' ');
        if ((*commands)->flags & COMMAND_HIDDEN)
            continue;
        fz_buffer_printf(out, "%s%s", space, action ? action + 1 : (*commands)->name);
        space = " ";
    }
}

/* ---- bash -------------------------------------------------------------------------------- */

/* A pattern of `case` for the option: "--output|-o". */
static void
append_bash_pattern(const struct command_spec *command, const struct option_spec *option,
                    struct fz_buffer *out)
{
    char name[64];
    option_show(command, option, name, sizeof(name));
    fz_buffer_printf(out, "'%s %s'", command->name, name);
    if (option->name && option->letter)
        fz_buffer_printf(out, " | '%s -%c'", command->name, option->letter);
}

static void
append_bash_action(const char *complete, struct fz_buffer *out)
{
    if (!complete)
        fz_buffer_text(out, "return");
    else if (strcmp(complete, "file") == 0)
        fz_buffer_text(out, "_framezero_files -f; return");
    else if (strcmp(complete, "dir") == 0)
        fz_buffer_text(out, "_framezero_files -d; return");
    else if (strcmp(complete, "commands") == 0)
        /* Made by the script itself, from the list at its start. */
        fz_buffer_text(out, "words=$commands");
    else
        fz_buffer_printf(out, "words='%s'", complete);
}

static void
bash_value(const struct command_spec *command, const struct option_spec *option,
           struct fz_buffer *out)
{
    /* --no-x takes no value, though the setting x has one in files and variables. */
    if (!option->argument || option->is_negative)
        return;
    fz_buffer_text(out, "    ");
    append_bash_pattern(command, option, out);
    fz_buffer_text(out, ") ");
    append_bash_action(option->complete, out);
    fz_buffer_text(out, " ;;\n");
}

static void
bash_option(const struct command_spec *command, const struct option_spec *option,
            struct fz_buffer *out)
{
    char name[64];
    option_show(command, option, name, sizeof(name));
    fz_buffer_printf(out, " %s", name);
}

static void
bash_values(const struct command_spec *command, struct fz_buffer *out)
{
    help_each_option(command, bash_value, out);
}

static void
bash_options(const struct command_spec *command, struct fz_buffer *out)
{
    fz_buffer_printf(out, "        '%s') words='", command->name);
    help_each_option(command, bash_option, out);
    fz_buffer_text(out, "' ;;\n");
}

static void
bash_operands(const struct command_spec *command, struct fz_buffer *out)
{
    fz_buffer_printf(out, "        '%s') ", command->name);
    append_bash_action(command->complete, out);
    fz_buffer_text(out, " ;;\n");
}

void
help_append_bash(const struct command_spec *const *commands, struct fz_buffer *out)
{
    fz_buffer_text(out, "# Completions of framezero for bash, made by framezero help --completion "
                        "bash.\n"
                        "_framezero_files() { # -f, or -d for folders only\n"
                        "    local IFS=$'\\n'\n"
                        "    compopt -o filenames 2>/dev/null\n"
                        "    COMPREPLY=($(compgen \"$1\" -- \"$cur\"))\n"
                        "}\n"
                        "_framezero() {\n"
                        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                        "    local command=${COMP_WORDS[1]} words= commands='");
    append_names(commands, out);
    fz_buffer_text(out, "'\n"
                        "    COMPREPLY=()\n"
                        "    # --name=value comes as three words.\n"
                        "    if [ \"$cur\" = = ]; then\n"
                        "        cur=\n"
                        "    elif [ \"$prev\" = = ]; then\n"
                        "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                        "    fi\n"
                        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                        "        COMPREPLY=($(compgen -W \"$commands --help --version\" -- "
                        "\"$cur\"))\n"
                        "        return\n"
                        "    fi\n"
                        "    case $command in\n");
    for (const struct command_spec *const *at = commands; *at; at++) {
        if (!(*at)->actions)
            continue;
        fz_buffer_printf(out,
                         "    %s)\n        if [ \"$COMP_CWORD\" -eq 2 ]; then\n"
                         "            COMPREPLY=($(compgen -W '",
                         (*at)->name);
        append_names((*at)->actions, out);
        fz_buffer_text(out, " --help' -- \"$cur\"))\n            return\n        fi\n"
                            "        command=\"$command ${COMP_WORDS[2]}\"\n        ;;\n");
    }
    fz_buffer_text(out, "    esac\n    case \"$command $prev\" in\n");
    each_command(commands, bash_values, out);
    fz_buffer_text(out, "    esac\n"
                        "    if [ -z \"$words\" ] && [[ $cur == -* ]]; then\n"
                        "        case $command in\n");
    each_command(commands, bash_options, out);
    fz_buffer_text(out, "        esac\n"
                        "    elif [ -z \"$words\" ]; then\n"
                        "        case $command in\n");
    each_command(commands, bash_operands, out);
    fz_buffer_text(out, "        esac\n"
                        "    fi\n"
                        "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                        "}\n"
                        "complete -F _framezero framezero\n");
}

/* ---- zsh --------------------------------------------------------------------------------- */

/* Text within single quotes, within a [description] or a message that ends at a colon. */
static void
append_zsh_text(const char *text, struct fz_buffer *out)
{
    for (; *text; text++) {
        if (*text == '\'')
            /* Ends the quoted text, adds an escaped quote, and begins the next quoted text. */
            fz_buffer_text(out, "'\\''");
        else if (*text == '[' || *text == ']' || *text == ':' || *text == '\\')
            fz_buffer_printf(out, "\\%c", *text);
        else
            fz_buffer_char(out, *text);
    }
}

static void
append_zsh_action(const char *complete, struct fz_buffer *out)
{
    if (!complete)
        /* A blank as the action: a value is expected, and nothing is offered for it. */
        fz_buffer_char(out, ' ');
    else if (strcmp(complete, "file") == 0)
        fz_buffer_text(out, "_files");
    else if (strcmp(complete, "dir") == 0)
        fz_buffer_text(out, "_files -/");
    else if (strcmp(complete, "commands") == 0)
        fz_buffer_text(out, "_framezero_commands");
    else
        fz_buffer_printf(out, "(%s)", complete);
}

static bool
may_repeat(const struct option_spec *option)
{
    /* --limit is a setting with a setter of its own: only its help says that it may be repeated. */
    return option->set == option_add_text || strstr(option->help, "May be repeated");
}

static void
zsh_spelling(const struct option_spec *option, const char *name, struct fz_buffer *out)
{
    bool has_value = option->argument && !option->is_negative;
    fz_buffer_text(out, " \\\n            '");
    if (may_repeat(option))
        fz_buffer_char(out, '*');
    fz_buffer_text(out, name);
    /* "+": the value may be joined or come next; "=": after an equals sign or next. */
    if (has_value)
        fz_buffer_text(out, strncmp(name, "--", 2) == 0 ? "=" : name[2] == '\0' ? "+" : "");
    fz_buffer_char(out, '[');
    append_zsh_text(option->help, out);
    fz_buffer_char(out, ']');
    if (has_value) {
        fz_buffer_char(out, ':');
        append_zsh_text(option->argument, out);
        fz_buffer_char(out, ':');
        append_zsh_action(option->complete, out);
    }
    fz_buffer_char(out, '\'');
}

static void
zsh_option(const struct command_spec *command, const struct option_spec *option,
           struct fz_buffer *out)
{
    char name[64], letter[8];
    option_show(command, option, name, sizeof(name));
    zsh_spelling(option, name, out);
    if (option->name && option->letter) {
        snprintf(letter, sizeof(letter), "-%c", option->letter);
        zsh_spelling(option, letter, out);
    }
}

static void
zsh_command(const struct command_spec *command, struct fz_buffer *out)
{
    fz_buffer_printf(out, "    '%s')\n        _arguments", command->name);
    help_each_option(command, zsh_option, out);
    if (*command->operands) {
        /* "*" offers the operand again after each one, "1" only once. */
        bool is_list = strstr(command->operands, "...") != NULL;
        fz_buffer_printf(out, " \\\n            '%s:", is_list ? "*" : "1");
        /* The operands' names are the message that zsh shows above the matches. */
        append_zsh_text(command->operands, out);
        fz_buffer_char(out, ':');
        append_zsh_action(command->complete, out);
        fz_buffer_char(out, '\'');
    }
    fz_buffer_text(out, "\n        ;;\n");
}

/* ('name:summary' ...) */
static void
append_zsh_list(const struct command_spec *const *commands, struct fz_buffer *out)
{
    fz_buffer_text(out, "(\n");
    for (; *commands; commands++) {
        const char *action = strchr((*commands)->name, ' ');
        if ((*commands)->flags & COMMAND_HIDDEN)
            continue;
        fz_buffer_printf(out, "        '%s:", action ? action + 1 : (*commands)->name);
        append_zsh_text((*commands)->summary, out);
        fz_buffer_text(out, "'\n");
    }
    fz_buffer_text(out, "    )\n");
}

void
help_append_zsh(const struct command_spec *const *commands, struct fz_buffer *out)
{
    fz_buffer_text(out, "#compdef framezero\n"
                        "# Completions of framezero for zsh, made by framezero help --completion "
                        "zsh.\n"
                        "_framezero_commands() {\n    local -a names=");
    append_zsh_list(commands, out);
    fz_buffer_text(out, "    _describe command names\n}\n"
                        "_framezero() {\n"
                        "    local command=$words[2]\n"
                        "    if ((CURRENT == 2)); then\n"
                        "        _framezero_commands\n"
                        "        return\n"
                        "    fi\n"
                        "    shift words\n"
                        "    ((CURRENT--))\n"
                        "    case $command in\n");
    for (const struct command_spec *const *at = commands; *at; at++) {
        if (!(*at)->actions)
            continue;
        fz_buffer_printf(out, "    %s)\n        local -a names=", (*at)->name);
        append_zsh_list((*at)->actions, out);
        fz_buffer_text(out, "        if ((CURRENT == 2)); then\n"
                            "            _describe action names\n"
                            "            return\n"
                            "        fi\n"
                            "        command=\"$command $words[2]\"\n"
                            "        shift words\n"
                            "        ((CURRENT--))\n"
                            "        ;;\n");
    }
    fz_buffer_text(out, "    esac\n    case $command in\n");
    each_command(commands, zsh_command, out);
    fz_buffer_text(out, "    esac\n}\n"
                        "if [ \"$funcstack[1]\" = _framezero ]; then\n"
                        "    _framezero \"$@\"\n"
                        "else\n"
                        "    compdef _framezero framezero\n"
                        "fi\n");
}
