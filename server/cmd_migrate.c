/* framezero migrate: bring the database to this version. */
#include <stdio.h>

#include "base/file.h"
#include "base/text.h"
#include "server/cmd.h"
#include "server/config.h"
#include "storage/store.h"

int
cmd_migrate(int argc, char **argv)
{
    static const char *const allowed[] = {"data", "database", NULL};
    struct config config;
    struct fz_error err;
    unsigned n = 0;
    if (config_take_flag(&argc, argv, "help")) {
        printf("usage: framezero migrate [--data DIR] [--database URL] [--config FILE]\n");
        return 0;
    }
    if (config_load(argc, argv, allowed, &config, &err)) {
        fprintf(stderr, "framezero migrate: %s\n", err.text);
        return 2;
    }
    enum fz_code code = FZ_OK;
    if (fz_text_has_prefix(config.database, "sqlite:"))
        code = fz_file_make_dirs(config.data_dir, &err);
    if (!code)
        code = store_migrate(config.database, &n, &err);
    if (code) {
        fprintf(stderr, "framezero migrate: %s\n", err.text);
        return 1;
    }
    printf("%u new migration%s\n", n, n == 1 ? "" : "s");
    return 0;
}
