/*
 * Configuration of `serve` and `worker`: defaults, then the file (--config), then FRAMEZERO_*
 * variables, then flags.
 */
#ifndef FZ_CONFIG_H
#define FZ_CONFIG_H

#include "base/error.h"
#include "server/limits.h"
#include <limits.h>
#include <stdbool.h>

struct config {
    char listen[256];
    char data_dir[PATH_MAX];
    char database[PATH_MAX]; /* URL; made from data_dir unless set */
    char blobs[PATH_MAX];    /* the same */
    char public_url[256];    /* how clients reach the server; "" = the address it listens on */
    int workers;             /* -1 = one per core */
    bool migrate;            /* false with --no-migrate */
    char log_level[16];
    struct limits limits;
};

/*
 * Read everything for one sub-command. `allowed` names the options this command takes
 * (NULL-terminated, without dashes; limits are always allowed as --limit NAME=VALUE). MALFORMED
 * names the option, or the file and line. NOT_FOUND: the file of --config.
 */
FZ_MUST_CHECK enum fz_code config_load(int argc, char **argv, const char *const *allowed,
                                       struct config *ret, struct fz_error *err);
/* The text for --help: option, variable, default. Static. */
const char *config_help(void);

#endif
