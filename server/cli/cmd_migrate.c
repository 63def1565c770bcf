/* framezero migrate: bring the database to this version. */
#include <stdio.h>

#include "base/file.h"
#include "base/text.h"
#include "server/cli/cmd.h"
#include "server/cli/command.h"
#include "server/config/term.h"
#include "storage/store.h"

static int
run(const struct command_call *call)
{
    struct config config;
    struct fz_error err;
    unsigned n = 0;
    if (!command_config(call, false, &config))
        return 2;
    enum fz_code code = FZ_OK;
    /* The default database is in the data folder, which nothing has made before the first start. */
    if (fz_text_has_prefix(config.database, "sqlite:"))
        code = fz_file_make_dirs(config.data_dir, &err);
    if (code == FZ_OK)
        code = store_migrate(config.database, &n, &err);
    if (code != FZ_OK)
        return term_failed(cmd_migrate.name, &err);
    printf("%u new migration%s\n", n, n == 1 ? "" : "s");
    return 0;
}

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
