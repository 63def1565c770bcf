#include "server/serve/workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"

enum { VARIABLES = 7 };

struct serve_workers {
    struct supervise *supervise;
    char **argv; /* of a worker */
    char **envp; /* the same; the last VARIABLES are ours */
    char *variables[VARIABLES];
};

extern char **environ;

/* Options go by variables, since a database URL with its password does not belong on a command
 * line that every user of the machine can read. */
static enum fz_code
make_environment(struct serve_workers *workers, const struct config *config, int metrics_fd,
                 struct fz_error *err)
{
    const struct {
        const char *name, *value;
    } set[] = {
        {"FRAMEZERO_DATABASE", config->database},
        {"FRAMEZERO_BLOBS", config->blobs},
        {"FRAMEZERO_DATA", config->data_dir},
        {"FRAMEZERO_LOG_LEVEL", config->log_level},
        {"FRAMEZERO_LEARNED_NAMES", config->learned_names},
        {"FRAMEZERO_WORKERS", "1"},
        {config_metrics_variable, NULL},
    };
    _Static_assert(FZ_ARRAY_LEN(set) == VARIABLES, "one slot each");
    size_t n_environ = 0, n = 0;
    while (environ && environ[n_environ])
        n_environ++;
    workers->envp = calloc(n_environ + VARIABLES + 1, sizeof(*workers->envp));
    if (!workers->envp)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < n_environ; i++) {
        bool is_ours = false;
        for (size_t j = 0; j < VARIABLES; j++) {
            size_t len = strlen(set[j].name);
            is_ours =
                is_ours || (strncmp(environ[i], set[j].name, len) == 0 && environ[i][len] == '=');
        }
        if (!is_ours)
            workers->envp[n++] = environ[i];
    }
    for (size_t j = 0; j < VARIABLES; j++) {
        char number[16];
        snprintf(number, sizeof(number), "%d", metrics_fd);
        const char *value = set[j].value ? set[j].value : number;
        size_t size = strlen(set[j].name) + strlen(value) + 2;
        workers->variables[j] = malloc(size);
        if (!workers->variables[j])
            return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
        snprintf(workers->variables[j], size, "%s=%s", set[j].name, value);
        workers->envp[n++] = workers->variables[j];
    }
    return FZ_OK;
}

static enum fz_code
make_arguments(struct serve_workers *workers, int argc, char **argv, struct fz_error *err)
{
    static char program[] = "framezero", command[] = "worker";
    workers->argv = calloc((size_t)argc + 3, sizeof(*workers->argv));
    if (!workers->argv)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    size_t n = 0;
    workers->argv[n++] = program;
    workers->argv[n++] = command;
    for (int i = 1; i < argc; i++) {
        bool is_pair = strcmp(argv[i], "--config") == 0 || strcmp(argv[i], "--limit") == 0;
        if (is_pair && i + 1 < argc) {
            workers->argv[n++] = argv[i++];
            workers->argv[n++] = argv[i];
        } else if (strncmp(argv[i], "--config=", 9) == 0 || strncmp(argv[i], "--limit=", 8) == 0) {
            workers->argv[n++] = argv[i];
        }
    }
    return FZ_OK;
}

enum fz_code
serve_workers_create(const struct config *config, int argc, char **argv, int metrics_fd,
                     bool may_give_up, struct serve_workers **ret, struct fz_error *err)
{
    struct serve_workers *workers = calloc(1, sizeof(*workers));
    if (!workers)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    enum fz_code code = make_environment(workers, config, metrics_fd, err);
    if (code == FZ_OK)
        code = make_arguments(workers, argc, argv, err);
    const struct supervise_plan plan = {.name = "worker",
                                        .argv = workers->argv,
                                        .envp = workers->envp,
                                        .n = (size_t)config->workers,
                                        .own_group = true,
                                        .may_give_up = may_give_up};
    if (code == FZ_OK)
        code = supervise_create(&plan, &workers->supervise, err);
    if (code != FZ_OK)
        serve_workers_destroy(workers, 0);
    else
        *ret = workers;
    return code;
}

int64_t
serve_workers_tend(struct serve_workers *workers)
{
    return supervise_tend(workers->supervise);
}

int
serve_workers_running(struct serve_workers *workers)
{
    return supervise_running(workers->supervise);
}

void
serve_workers_ask_stop(struct serve_workers *workers)
{
    supervise_ask_stop(workers->supervise, SIGTERM);
}

int
serve_workers_run(struct serve_workers *workers, const sigset_t *signals, int64_t grace_ms)
{
    struct supervise *supervise = workers->supervise;
    workers->supervise = NULL;
    return supervise_run(supervise, signals, grace_ms);
}

void
serve_workers_destroy(struct serve_workers *workers, int64_t grace_ms)
{
    if (!workers)
        return;
    supervise_destroy(workers->supervise, grace_ms);
    for (size_t i = 0; i < VARIABLES; i++)
        free(workers->variables[i]);
    free(workers->envp);
    free(workers->argv);
    free(workers);
}
