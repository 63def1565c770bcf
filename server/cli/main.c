/* framezero: the sub-commands by name. Each is in its own cmd_<name>.c. */
#include "server/cli/cmd.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/suggest.h"
#include "server/cli/command.h"
#include "server/config/term.h"

/* In the order in which they are shown. */
static const struct command_spec *const commands[] = {
    &cmd_serve,  &cmd_worker,       &cmd_migrate,     &cmd_token,  &cmd_project,
    &cmd_user,   &cmd_row_security, &cmd_prune,       &cmd_backup, &cmd_restore,
    &cmd_copy,   &cmd_upload,       &cmd_symbolicate, &cmd_atos,   &cmd_index,
    &cmd_lookup, &cmd_inspect,      &cmd_demangle,    &cmd_help,   NULL,
};

/* A closed descriptor 0, 1 or 2 would be given to the next file that is opened, and results would
 * be written into it. They are opened the wrong way round, so that using them still fails. */
static void
keep_standard_files(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            fz_ignore(open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0); /* as it was, then */
    }
}

static int
fail_unknown(const char *word)
{
    struct fz_error err;
    struct fz_suggest suggest;
    bool is_option = word[0] == '-';
    const char *what = is_option ? "option " : "command '", *quote = is_option ? "" : "'";
    fz_suggest_start(&suggest, word);
    for (size_t i = 0; commands[i]; i++) {
        if (!(commands[i]->flags & COMMAND_HIDDEN))
            fz_suggest_try(&suggest, commands[i]->name);
    }
    /* The options that come without a command. */
    fz_suggest_try(&suggest, "--help");
    fz_suggest_try(&suggest, "--version");
    fz_fail(&err, FZ_E_MALFORMED, "unknown %s%.60s%s%s", what, word, quote,
            fz_suggest_question(&suggest));
    return term_wrong_usage("", &err);
}

int
main(int argc, char **argv)
{
    keep_standard_files();
    /* Standard error and status 2: a script that lost its arguments must notice. */
    if (argc < 2) {
        cmd_help_overview(commands, stderr);
        return 2;
    }
    const char *word = argv[1];
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        printf("framezero %s\n", FZ_VERSION);
        return term_finish_output("") ? 0 : 1;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        cmd_help_overview(commands, stdout);
        return term_finish_output("") ? 0 : 1;
    }
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(word, commands[i]->name) == 0) {
            int status = command_run(commands[i], commands, argc - 1, argv + 1);
            /* Output is buffered: that the disk is full may only show in the last flush. */
            return !term_finish_output(word) && status == 0 ? 1 : status;
        }
    }
    return fail_unknown(word);
}
