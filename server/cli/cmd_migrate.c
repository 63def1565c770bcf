/* framezero migrate: bring the database to this version. */
#include <stdio.h>

#include "base/file.h"
#include "base/text.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/config/term.h"
#include "storage/store.h"

static int run(int argc, char **argv);
const struct command_spec cmd_migrate = {
    .name = "migrate",
    .summary = "bring the database to this version",
    .operands = "",
    .description = "Bring the schema of the database to this version of framezero. 'serve' does so "
                   "itself unless it was started with --no-migrate.",
    .settings = config_settings,
    .role = CONFIG_STORE,
    .run = run,
};

static int
run(int argc, char **argv)
{
    FZ_CLEANUP(options_deinit) struct options given = options_make();
    struct config config;
    struct fz_error err;
    unsigned n = 0;
    int ended = command_start(&cmd_migrate, argc, argv, NULL, &given);
    if (ended < 0)
        ended = command_config(&cmd_migrate, argc, argv, false, &config);
    if (ended >= 0)
        return ended;
    enum fz_code code = FZ_OK;
    if (fz_text_has_prefix(config.database, "sqlite:"))
        code = fz_file_make_dirs(config.data_dir, &err);
    if (code == FZ_OK)
        code = store_migrate(config.database, &n, &err);
    if (code != FZ_OK)
        return term_failed(cmd_migrate.name, &err);
    printf("%u new migration%s\n", n, n == 1 ? "" : "s");
    return 0;
}
