/* framezero serve: the HTTP server and its workers. */
#include <signal.h>

#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/config/term.h"
#include "server/process/supervise.h"
#include "server/serve/serve.h"
#include "server/serve/user.h"

static const struct command_example examples[] = {
    {"framezero serve", "on http://127.0.0.1:8480, data in ./framezero-data"},
    {"framezero serve --listen :8480 --public-url https://crashes.example.com",
     "on all addresses, known under that URL"},
    {NULL, NULL},
};

static int
run(const struct command_call *call)
{
    struct config config;
    struct fz_error err;
    sigset_t signals;
    /* At once, unlike a worker: nothing is lost, and its successor needs the database's lock. */
    bool is_supervised = supervise_join(SIGKILL);
    if (!command_config(call, is_supervised, &config))
        return 2;
    config_set_log_level(&config);
    if (!is_supervised && serve_user_leave_root(&config, true, &err) != FZ_OK) {
        term_error(cmd_serve.name, "%s", err.text);
        return 1;
    }
    /* Blocked before the first thread starts, since threads inherit the mask. */
    supervise_signals(&signals);
    if (is_supervised || !config.supervise)
        return serve_run(&config, &signals);
    return serve_supervise(call->argc, call->argv, &signals);
}

const struct command_spec cmd_serve = {
    .name = "serve",
    .summary = "HTTP server with its workers",
    .operands = "",
    .description =
        "Serve HTTP and run workers. On the first start it creates the project 'default' and "
        "prints an ingest key and an admin token, which are also in DIR/credentials.json.",
    .settings = config_settings,
    .role = CONFIG_SERVE,
    .examples = examples,
    .run = run,
};
