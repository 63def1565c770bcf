#include "server/cli/command.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/cli/help.h"
#include "server/config/suggest.h"
#include "server/config/term.h"

static int
show_help(const struct command_spec *command)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    help_append_text(command, term_has_colour(STDOUT_FILENO), &out);
    return term_write(command->name, fz_buffer_cstr(&out), out.len) ? 0 : 1;
}

int
command_start(const struct command_spec *command, int argc, char **argv, void *values,
              struct options *ret)
{
    struct fz_error err;
    /* The parent may ignore SIGPIPE; with `| head -1` a command has to end without a message. */
    signal(SIGPIPE, SIG_DFL);
    if (options_parse(command, argc, argv, values, ret, &err) != FZ_OK)
        return term_wrong_usage(command->name, &err);
    return ret->wants_help ? show_help(command) : -1;
}

int
command_config(const struct command_spec *command, int argc, char **argv, bool is_child,
               struct config *ret)
{
    struct fz_error err;
    if (config_load(command, argc, argv, is_child, ret, &err) != FZ_OK) {
        term_error(command->name, "%s", err.text);
        return 2;
    }
    return -1;
}

int
command_run_action(const struct command_spec *command, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return show_help(command);
    struct suggest suggest;
    suggest_start(&suggest, word);
    char names[128] = "";
    for (const struct command_spec *const *at = command->actions; *at; at++) {
        const char *action = strchr((*at)->name, ' ') + 1;
        if (strcmp(word, action) == 0)
            return (*at)->run(argc - 1, argv + 1);
        suggest_try(&suggest, action);
        size_t len = strlen(names);
        snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "", action);
    }
    struct fz_error err;
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
