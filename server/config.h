/*
 * Configuration of the commands that touch the database or the server: defaults, then the file
 * (--config or FRAMEZERO_CONFIG), then FRAMEZERO_* variables, then flags; later ones win.
 *
 * The file is lines of `key = value` with # comments; a value may stand in "quotes". A key is the
 * flag's name without dashes ("public-url" and "public_url" are the same); limits are `limit.NAME`.
 */
#ifndef FZ_CONFIG_H
#define FZ_CONFIG_H

#include "base/error.h"
#include "server/limits.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The variable through which `serve` hands its metrics block (server/metrics.h) to the workers it
 * starts: the number of an inherited descriptor. */
extern const char config_metrics_variable[]; /* "FRAMEZERO_METRICS_FD" */

struct config {
    char listen[256];
    char data_dir[PATH_MAX];
    char database[PATH_MAX]; /* URL; made from data_dir unless set */
    char blobs[PATH_MAX];    /* the same */
    char public_url[256];    /* how clients reach the server; "" = the address it listens on */
    int workers;             /* -1 = one per core */
    bool migrate;            /* false with --no-migrate */
    bool supervise;          /* false with --no-supervise */
    char log_level[16];
    char symbolicate_v5_project[256]; /* whose symbols /symbolicate/v5 gives without a token; "" */
    unsigned upload_wait_s; /* how long POST /symbols waits for its job before it answers 202; 600
                             */
    char learned_names[16]; /* "off", "project", "shared" */
    char trusted_proxies[2048]; /* as http_proxies_parse(); "" = none */
    struct limits limits;
};

/*
 * Read everything for one sub-command. `allowed` names the options this command takes
 * (NULL-terminated, without dashes; --config and --limit NAME=VALUE are always allowed). argv[0] is
 * the command's name. MALFORMED names the option, the variable, or the file and line. NOT_FOUND:
 * the file of --config.
 */
FZ_MUST_CHECK enum fz_code config_load(int argc, char **argv, const char *const *allowed,
                                       struct config *ret, struct fz_error *err);

/* The level that log_level names, set for this process. */
void config_set_log_level(const struct config *config);

/* The text for --help: option, variable, default. Static. */
const char *config_help(void);

/*
 * A command's own options are taken out of argv before config_load() sees the rest.
 *
 * `--name VALUE` or `--name=VALUE` is removed from argv and *ret_value set (unchanged if it is not
 * there); the last one wins. MALFORMED: the value is lacking.
 */
FZ_MUST_CHECK enum fz_code config_take_value(int *argc, char **argv, const char *name,
                                             const char **ret_value, struct fz_error *err);
/* True if the flag `--name` was there; it is removed. */
bool config_take_flag(int *argc, char **argv, const char *name);

/* A URL without its password, for logs and messages. */
void config_hide_password(const char *url, char *ret, size_t size);

#endif
