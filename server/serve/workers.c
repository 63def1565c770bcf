#include "server/serve/workers.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

extern char **environ;

/* Ours replace what the user set; variables of tests are for the worker too. */
static bool
is_inherited(const char *variable)
{
    return !fz_text_has_prefix(variable, "FRAMEZERO_") ||
           fz_text_has_prefix(variable, "FRAMEZERO_TEST_");
}

/* A worker has its settings from variables alone: a database URL with its password does not belong
 * on a command line, which every user of the machine can read. */
static enum fz_code
make_environment(struct serve_workers *workers, const struct config *config, int metrics_fd,
                 struct fz_error *err)
{
    struct config one = *config;
    /* Each process is one worker, and starts no others. */
    one.workers = 1;
    config_append_variables(&one, CONFIG_WORKER, &workers->variables);
    fz_buffer_char(&workers->variables, '\0');
    fz_buffer_printf(&workers->variables, "%s=%d", config_metrics_variable, metrics_fd);
    enum fz_code code = fz_buffer_done(&workers->variables, err);
    if (code != FZ_OK)
        return code;
    char *first = workers->variables.data, *end = first + workers->variables.len;
    size_t room = 1, n = 0;
    for (char **at = environ; at && *at; at++)
        room++;
    for (char *at = first; at < end; at += strlen(at) + 1)
        room++;
    workers->envp = calloc(room, sizeof(*workers->envp));
    if (!workers->envp)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    /* PATH, locale and the like are the user's. */
    for (char **at = environ; at && *at; at++) {
        if (is_inherited(*at))
            workers->envp[n++] = *at;
    }
    for (char *at = first; at < end; at += strlen(at) + 1)
        workers->envp[n++] = at;
    return FZ_OK;
}

enum fz_code
serve_workers_init(const struct config *config, int metrics_fd, bool may_give_up,
                   struct serve_workers *ret, struct fz_error *err)
{
    static char program[] = "framezero", command[] = "worker";
    static char *arguments[] = {program, command, NULL};
    fz_buffer_init(&ret->variables, 0);
    enum fz_code code = make_environment(ret, config, metrics_fd, err);
    const struct supervise_plan plan = {.name = "worker",
                                        .argv = arguments,
                                        .envp = ret->envp,
                                        .n = (size_t)config->workers,
                                        .own_group = true,
                                        .may_give_up = may_give_up};
    return code != FZ_OK ? code : supervise_create(&plan, &ret->supervise, err);
}

void
serve_workers_deinit(struct serve_workers *workers, int64_t grace_ms)
{
    supervise_destroy(workers->supervise, grace_ms);
    fz_buffer_deinit(&workers->variables);
    /* Its strings are in `variables` and in this process's own environment. */
    free(workers->envp);
}
