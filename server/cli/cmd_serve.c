/* framezero serve: the HTTP server and its workers. */
#include <signal.h>

#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/process/supervise.h"
#include "server/serve/serve.h"

static const struct command_example examples[] = {
    {"framezero serve", "on http://127.0.0.1:8480, data in ./framezero-data"},
    {"framezero serve --listen :8480 --public-url https://crashes.example.com",
     "on all addresses, known under that URL"},
    {NULL, NULL},
};
static int run(int argc, char **argv);
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

static int
run(int argc, char **argv)
{
    FZ_CLEANUP(options_deinit) struct options given = options_make();
    struct config config;
    sigset_t signals;
    int ended = command_start(&cmd_serve, argc, argv, NULL, &given);
    if (ended >= 0)
        return ended;
    /* At once, unlike a worker: nothing is lost, and its successor needs the database's lock. */
    bool is_supervised = supervise_join(SIGKILL);
    ended = command_config(&cmd_serve, argc, argv, is_supervised, &config);
    if (ended >= 0)
        return ended;
    config_set_log_level(&config);
    supervise_signals(&signals);
    if (is_supervised || !config.supervise)
        return serve_run(&config, &signals);
    return serve_supervise(argc, argv, &signals);
}
