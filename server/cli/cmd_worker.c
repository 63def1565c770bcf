/* framezero worker: claims jobs and has them done; several are so many processes. */
#include <signal.h>

#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/config/term.h"
#include "server/process/supervise.h"
#include "server/serve/setup.h"
#include "server/serve/user.h"
#include "server/serve/worker.h"

/* --no-supervise is one worker, in this very process. */
static enum fz_code
settle_workers(struct config *config, struct fz_error *err)
{
    if (config->workers < 0 && !config->supervise)
        config->workers = 1;
    serve_setup_workers(config);
    if (!config->supervise && config->workers != 1)
        return fz_fail(err, FZ_E_MALFORMED,
                       "--no-supervise runs a single worker: leave out --workers %d, or start "
                       "that many",
                       config->workers);
    return FZ_OK;
}

static int
run(const struct command_call *call)
{
    struct config config;
    struct fz_error err;
    sigset_t signals;
    /* SIGTERM, so that the worker gives back what it has claimed. */
    bool is_supervised = supervise_join(SIGTERM);
    if (!command_config(call, is_supervised, &config))
        return 2;
    if (!is_supervised && settle_workers(&config, &err) != FZ_OK)
        return term_wrong_usage(cmd_worker.name, &err);
    config_set_log_level(&config);
    if (!is_supervised && serve_user_leave_root(&config, false, &err) != FZ_OK) {
        term_error(cmd_worker.name, "%s", err.text);
        return 1;
    }
    /* Blocked before the first thread starts, since threads inherit the mask. */
    supervise_signals(&signals);
    if (!is_supervised && config.supervise)
        return serve_worker_supervise(&config, &signals);
    return serve_worker_run(&config, is_supervised, &signals);
}

const struct command_spec cmd_worker = {
    .name = "worker",
    .summary = "workers only, for further machines",
    .operands = "",
    .description =
        "Run workers without the HTTP server, on the same database and blobs as a 'serve' "
        "elsewhere.",
    .settings = config_settings,
    .role = CONFIG_WORKER,
    .run = run,
};
