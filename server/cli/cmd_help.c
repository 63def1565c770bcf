/* framezero help: the commands, one of them, the limits; and what packages install. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/cli/help.h"
#include "server/config/term.h"
#include "server/process/limits.h"

struct arguments {
    bool man;
    const char *shell;
};

static const struct option_spec own_options[] = {
    {.name = "man",
     .offset = offsetof(struct arguments, man),
     .help = "Print the manual page, for man -l or to be installed as framezero.1."},
    {.name = "completion",
     .argument = "SHELL",
     .complete = "bash zsh",
     .offset = offsetof(struct arguments, shell),
     .help = "Print the completion script of bash or zsh."},
    {.name = NULL},
};
static const struct command_example examples[] = {
    {"framezero help symbolicate", "the same as framezero symbolicate --help"},
    {"source <(framezero help --completion bash)", "completions in this shell"},
    {NULL, NULL},
};

void
cmd_help_overview(const struct command_spec *const *commands, FILE *to)
{
    fprintf(to, "usage: framezero COMMAND [OPTIONS]\n\n");
    for (size_t i = 0; commands[i]; i++) {
        if (!(commands[i]->flags & COMMAND_HIDDEN))
            fprintf(to, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
    }
    fprintf(to, "\n'framezero COMMAND --help' or 'framezero help COMMAND' shows the options of a "
                "command;\n'framezero --version' or -V the version.\n");
}

static void
show_limits(void)
{
    printf("Limits on what comes from outside: --limit NAME=VALUE, FRAMEZERO_LIMIT_NAME=VALUE, or\n"
           "limit.NAME = VALUE in the file of --config. K, M and G are understood.\n\n"
           "  %-28s %-9s %s\n",
           "name", "default", "of what");
    for (size_t i = 0; limits_name(i); i++)
        printf("  %-28s %-9s %s\n", limits_name(i), limits_default_text(i), limits_help(i));
}

/* "token" or "token create"; NULL without such a command. */
static const struct command_spec *
find_command(const struct command_spec *const *commands, const char *const *words, size_t n)
{
    char name[64];
    /* A longer word is not the name of a command, so it may be cut. */
    snprintf(name, sizeof(name), "%.24s%s%.24s", words[0], n > 1 ? " " : "", n > 1 ? words[1] : "");
    for (size_t i = 0; commands[i]; i++) {
        if (commands[i]->flags & COMMAND_HIDDEN)
            continue;
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
        for (size_t k = 0; commands[i]->actions && commands[i]->actions[k]; k++) {
            if (strcmp(commands[i]->actions[k]->name, name) == 0)
                return commands[i]->actions[k];
        }
    }
    return NULL;
}

/* What is unknown: the first word, or the action of a command that is known. */
static int
reject_topic(const struct command_call *call)
{
    const struct command_spec *parent =
        call->n_operands > 1 ? find_command(call->commands, call->operands, 1) : NULL;
    const struct command_spec *const *candidates = parent ? parent->actions : call->commands;
    const char *word = call->operands[parent ? 1 : 0];
    struct fz_suggest suggest;
    struct fz_error err;
    fz_suggest_start(&suggest, word);
    for (size_t i = 0; candidates && candidates[i]; i++) {
        /* The name of an action is that of its command, a space and the word. */
        if (!(candidates[i]->flags & COMMAND_HIDDEN))
            fz_suggest_try(&suggest, candidates[i]->name + (parent ? strlen(parent->name) + 1 : 0));
    }
    fz_fail(&err, FZ_E_MALFORMED, "unknown %s '%.60s'%s", parent ? "action" : "command", word,
            fz_suggest_question(&suggest));
    return term_wrong_usage(parent ? parent->name : "", &err);
}

static int
show_topic(const struct command_call *call)
{
    const struct command_spec *const *commands = call->commands;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    /* Not an error, unlike `framezero` alone, which was meant to do something. */
    if (call->n_operands == 0) {
        cmd_help_overview(commands, stdout);
        return 0;
    }
    if (call->n_operands == 1 && strcmp(call->operands[0], "limits") == 0) {
        show_limits();
        return 0;
    }
    /* For `./dev docs`; not a topic for users. */
    if (call->n_operands == 1 && strcmp(call->operands[0], "readme") == 0) {
        help_append_readme(&out);
        return term_write(cmd_help.name, fz_buffer_cstr(&out), out.len) ? 0 : 1;
    }
    const struct command_spec *command = find_command(commands, call->operands, call->n_operands);
    if (!command)
        return reject_topic(call);
    /* Asked about standard output: with `| less` there is no colour. */
    help_append_text(command, term_has_colour(STDOUT_FILENO), &out);
    return term_write(cmd_help.name, fz_buffer_cstr(&out), out.len) ? 0 : 1;
}

static int
run(const struct command_call *call)
{
    const struct command_spec *const *commands = call->commands;
    const struct arguments *arguments = call->values;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    if (arguments->man) {
        help_append_manual(commands, &out);
    } else if (arguments->shell && strcmp(arguments->shell, "bash") == 0) {
        help_append_bash(commands, &out);
    } else if (arguments->shell && strcmp(arguments->shell, "zsh") == 0) {
        help_append_zsh(commands, &out);
    } else if (arguments->shell) {
        struct fz_error err;
        fz_fail(&err, FZ_E_MALFORMED, "--completion: '%.40s' is not one of: bash zsh",
                arguments->shell);
        return term_wrong_usage(cmd_help.name, &err);
    } else {
        return show_topic(call);
    }
    return term_write(cmd_help.name, fz_buffer_cstr(&out), out.len) ? 0 : 1;
}

const struct command_spec cmd_help = {
    .name = "help",
    .summary = "what there is, and the options of one command",
    .operands = "[COMMAND...]",
    .complete = "commands",
    .description = "Show the commands, or the options of COMMAND ('framezero help token create'). "
                   "'framezero help limits' lists what --limit can set.",
    .options = own_options,
    .values_size = sizeof(struct arguments),
    .examples = examples,
    .run = run,
};
