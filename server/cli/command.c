#include "server/cli/command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "server/cli/help.h"
#include "server/config/term.h"

static int
show_help(const struct command_spec *command)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    help_append_text(command, term_has_colour(STDOUT_FILENO), &out);
    return term_write(command->name, fz_buffer_cstr(&out), out.len) ? 0 : 1;
}

bool
command_config(const struct command_call *call, bool is_child, struct config *ret)
{
    struct fz_error err;
    if (config_load(call->command, call->argc, call->argv, is_child, ret, &err) == FZ_OK)
        return true;
    term_error(call->command->name, "%s", err.text);
    return false;
}

/* With the memory for the values of its options. */
static int
run(struct command_call *call)
{
    FZ_CLEANUP(options_deinit) struct options given = options_make();
    struct fz_error err;
    const struct command_spec *command = call->command;
    if (options_parse(command, call->argc, call->argv, call->values, &given, &err) != FZ_OK)
        return term_wrong_usage(command->name, &err);
    if (given.wants_help)
        return show_help(command);
    call->operands = given.operands;
    call->n_operands = given.n_operands;
    return command->run(call);
}

static int
run_action(const struct command_spec *command, const struct command_spec *const *commands, int argc,
           char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return show_help(command);
    struct fz_suggest suggest;
    fz_suggest_start(&suggest, word);
    char names[128] = "";
    for (const struct command_spec *const *at = command->actions; *at; at++) {
        const char *action = strchr((*at)->name, ' ') + 1;
        if (strcmp(word, action) == 0)
            return command_run(*at, commands, argc - 1, argv + 1);
        fz_suggest_try(&suggest, action);
        /* For the message, if the word is not among them. */
        size_t len = strlen(names);
        snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "", action);
    }
    struct fz_error err;
    /* Three mistakes, and three messages: each says what to type instead. */
    if (*word == '\0')
        fz_fail(&err, FZ_E_MALFORMED, "the action is missing: one of %s", names);
    else if (*word == '-')
        fz_fail(&err, FZ_E_MALFORMED, "expected an action (%s) before the option %.60s", names,
                word);
    else
        fz_fail(&err, FZ_E_MALFORMED, "unknown action '%.60s'; %s%s%s", word,
                suggest.best[0] ? "did you mean " : "there are ",
                suggest.best[0] ? suggest.best : names, suggest.best[0] ? "?" : "");
    return term_wrong_usage(command->name, &err);
}

int
command_run(const struct command_spec *command, const struct command_spec *const *commands,
            int argc, char **argv)
{
    struct command_call call = {
        .command = command, .commands = commands, .argc = argc, .argv = argv};
    if (command->actions)
        return run_action(command, commands, argc, argv);
    /* It only says why this build lacks it, whatever its options would be. */
    if (command->flags & COMMAND_HIDDEN)
        return command->run(&call);
    /* The parent may ignore SIGPIPE; with `| head -1` a command has to end without a message. */
    signal(SIGPIPE, SIG_DFL);
    /* One byte more: calloc() may answer NULL for none, as for a command without options. */
    call.values = calloc(1, command->values_size + 1);
    if (!call.values) {
        term_error(command->name, "out of memory");
        return 1;
    }
    if (command->defaults)
        memcpy(call.values, command->defaults, command->values_size);
    int status = run(&call);
    options_free_lists(command, call.values);
    free(call.values);
    return status;
}
