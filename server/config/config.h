/*
 * Configuration of the commands that touch the database or the server: defaults, then the file
 * (--config or FRAMEZERO_CONFIG), then FRAMEZERO_* variables, then flags; later ones win.
 *
 * The file is lines of `key = value` with # comments; a value may be in "quotes". A key is the
 * flag's name without dashes ("public-url" and "public_url" are the same); limits are `limit.NAME`.
 *
 * A new setting is a field of struct config and a row of config_settings[].
 */
#ifndef CONFIG_H
#define CONFIG_H

#include "base/error.h"
#include "server/config/options.h"
#include "server/process/limits.h"
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The variable through which `serve` hands its metrics block (server/process/metrics.h) to the
 * workers it starts: the number of an inherited descriptor. */
extern const char config_metrics_variable[]; /* "FRAMEZERO_METRICS_FD" */

struct config {
    char file[PATH_MAX]; /* that of --config; "" = none */
    char user[64];       /* which one root becomes; "" = as serve/user.h says */
    char listen[256];
    char data_dir[PATH_MAX];
    char database[PATH_MAX];         /* URL; made from data_dir unless set */
    char database_replica[PATH_MAX]; /* URL of a standby that requests may read from; "" = none */
    char blobs[PATH_MAX];            /* as database */
    char public_url[256]; /* how clients reach the server; "" = the address it listens on */
    int workers;          /* -1 = one per core */
    bool migrate;         /* false with --no-migrate */
    bool supervise;       /* false with --no-supervise */
    char log_level[16];
    char symbolicate_v5_project[256]; /* whose symbols /symbolicate/v5 gives without a token; "" */
    unsigned upload_wait_s; /* how long POST /symbols waits for its job before it answers 202; 600
                             */
    char learned_names[16]; /* "off", "project", "shared" */
    char trusted_proxies[2048];    /* as http_proxies_parse(); "" = none */
    char proxy_user_header[128];   /* in which a trusted proxy names the user; "" = none */
    char proxy_role[16];           /* of users that it names for the first time; "none" */
    char proxy_groups_header[128]; /* in which it names the user's groups; "" = none */
    char proxy_groups[2048];       /* what role which group has, as api_groups_role(); "" = none */
    unsigned session_idle_days, session_days;
    char oidc_issuer[1024]; /* the provider that people may log in through; "" = none */
    char oidc_client_id[256], oidc_client_secret[512];
    char oidc_client_secret_file[PATH_MAX]; /* where the secret is; "" = the one above */
    char oidc_name[65];                     /* what the page calls it */
    char oidc_domains[2048];   /* whose addresses become users with their first login; "" = none */
    char oidc_role[16];        /* of those in all projects */
    char oidc_internal[2048];  /* the provider in the own network, as net_guard_parse(); "" */
    char oidc_ca[PATH_MAX];    /* certificates that it may use; "" = the system's */
    char cors_origins[2048];   /* whose pages may use the API, as http_origins_fault(); "" = none */
    char alert_internal[2048]; /* targets of alerts in the own network, as net_guard_parse(); "" */
    char alert_ca[PATH_MAX];   /* certificates that receivers may use; "" = the system's */
    char smtp_url[256];        /* the mail server, as net_mail.h; "" = no mail */
    char smtp_user[256];
    char smtp_password[256];
    char smtp_tls[16]; /* "required", "offered", "off" */
    char mail_from[256];
    struct limits limits;
};

/* Which commands have a setting: option_spec.roles and command_spec.role. */
enum {
    CONFIG_SERVE = 1,
    CONFIG_WORKER = 2,
    CONFIG_STORE = 4, /* migrate, project, token, user: they open the database */
    CONFIG_UPLOAD = 8,
    CONFIG_ALL = 15,
};

/* Every setting; ends as tables of options do. */
extern const struct option_spec config_settings[];

/*
 * Read the settings of one command from everywhere; its own options in argv are skipped. Unknown
 * FRAMEZERO_* variables are reported on standard error. MALFORMED names the option, the variable,
 * or the file and line. NOT_FOUND: the file of --config.
 *
 * With `is_child` unknown variables are not reported: the process that started this one has done
 * so.
 */
FZ_MUST_CHECK enum fz_code config_load(const struct command_spec *command, int argc, char **argv,
                                       bool is_child, struct config *ret, struct fz_error *err);

/*
 * Append the settings of the commands with `role` as variables, "FRAMEZERO_LISTEN=..." and so on,
 * with a NUL between two: a process that has them in its environment has the same settings. Check
 * `out` as ever.
 */
void config_append_variables(const struct config *config, unsigned role, struct fz_buffer *out);

/* The level that log_level names, set for this process. */
void config_set_log_level(const struct config *config);

/* A URL without its password, for logs and messages. */
void config_hide_password(const char *url, char *ret, size_t size);

#endif
