#include "server/config/settings.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "server/config/values.h"

enum { NAME_MAX_LEN = 64, WORKERS_MAX = 256, WAIT_MAX_S = 3600, SESSION_DAYS_MAX = 3650 };

#define MEMBER(m) .offset = offsetof(struct config, m), .size = sizeof(((struct config *)0)->m)
const struct option_spec config_settings[] = {
    {.name = "config",
     .argument = "FILE",
     .complete = "file",
     .variable = "FRAMEZERO_CONFIG",
     .fallback = "none",
     .roles = CONFIG_ALL,
     .help = "Read settings from FILE: lines of 'key = value'. Variables and options override it."},
    {.name = "listen",
     .argument = "ADDRESS:PORT",
     .set = config_value_listen,
     MEMBER(listen),
     .variable = "FRAMEZERO_LISTEN",
     .initial = "127.0.0.1:8480",
     .roles = CONFIG_SERVE,
     .help = "Where to serve HTTP: 0.0.0.0:8480, [::1]:8480, or :8480 for all addresses."},
    {.name = "data",
     .argument = "DIR",
     .complete = "dir",
     .set = config_value_text,
     MEMBER(data_dir),
     .variable = "FRAMEZERO_DATA",
     .initial = "./framezero-data",
     .roles = CONFIG_ALL,
     .help = "The folder for everything that is kept."},
    {.name = "database",
     .argument = "URL",
     .set = config_value_database,
     MEMBER(database),
     .variable = "FRAMEZERO_DATABASE",
     .fallback = "sqlite:DATA/framezero.db",
     .roles = CONFIG_SERVE | CONFIG_WORKER | CONFIG_STORE,
     .help = "sqlite:PATH or postgresql://USER@HOST/DATABASE."},
    {.name = "database-replica",
     .argument = "URL",
     .set = config_value_database,
     MEMBER(database_replica),
     .variable = "FRAMEZERO_DATABASE_REPLICA",
     .fallback = "none",
     .see = "docs/postgresql.md#a-read-replica",
     .roles = CONFIG_SERVE,
     .help =
         "A standby of the PostgreSQL of --database, which lists, searches and reports are read "
         "from as long as it is not late."},
    {.name = "blobs",
     .argument = "URL",
     .set = config_value_blobs,
     MEMBER(blobs),
     .variable = "FRAMEZERO_BLOBS",
     .fallback = "file:DATA/blobs",
     .roles = CONFIG_SERVE | CONFIG_WORKER | CONFIG_STORE,
     .help =
         "Where symbol files are kept: file:DIR, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME "
         "(docs/s3.md)."},
    {.name = "workers",
     .argument = "N",
     .set = config_value_number,
     MEMBER(workers),
     .max = WORKERS_MAX,
     .variable = "FRAMEZERO_WORKERS",
     .fallback = "one per core",
     .roles = CONFIG_SERVE | CONFIG_WORKER,
     .help = "Worker processes; 0 with 'serve' leaves the work to other machines."},
    {.name = "public-url",
     .argument = "URL",
     .set = config_value_url,
     MEMBER(public_url),
     .variable = "FRAMEZERO_PUBLIC_URL",
     .fallback = "the address it listens on",
     .roles = CONFIG_SERVE | CONFIG_WORKER | CONFIG_STORE,
     .help = "How clients and people reach the server: for credentials.json, cookies, and links."},
    {.name = "migrate",
     .is_negative = true,
     .set = config_value_bool,
     MEMBER(migrate),
     .variable = "FRAMEZERO_MIGRATE=no",
     .initial = "yes",
     .fallback = "it migrates",
     .roles = CONFIG_SERVE,
     .help = "Leave the schema of the database to 'framezero migrate'."},
    {.name = "supervise",
     .is_negative = true,
     .set = config_value_bool,
     MEMBER(supervise),
     .variable = "FRAMEZERO_SUPERVISE=no",
     .initial = "yes",
     .fallback = "it restarts a process that dies",
     .see = "docs/operations.md#when-something-dies",
     .roles = CONFIG_SERVE | CONFIG_WORKER,
     .help =
         "Serve, or run one worker, in the first process, which nothing restarts: for debuggers "
         "and other supervisors."},
    {.name = "user",
     .argument = "NAME",
     .set = config_value_text,
     MEMBER(user),
     .variable = "FRAMEZERO_USER",
     .fallback = "the owner of the data's folder, or framezero",
     .see = "docs/operations.md#the-user-that-it-runs-as",
     .roles = CONFIG_SERVE | CONFIG_WORKER,
     .help = "The user that it becomes when root starts it; root: it stays root."},
    {.name = "upload-wait",
     .argument = "SECONDS",
     .set = config_value_number,
     MEMBER(upload_wait_s),
     .max = WAIT_MAX_S,
     .variable = "FRAMEZERO_UPLOAD_WAIT",
     .initial = "600",
     .roles = CONFIG_SERVE,
     .help = "Seconds after which an upload of symbols is answered with status 202."},
    {.name = "learned-names",
     .argument = "WHO",
     .complete = "off project shared",
     .set = config_value_word,
     MEMBER(learned_names),
     .variable = "FRAMEZERO_LEARNED_NAMES",
     .initial = "project",
     .see = "docs/formats.md#learned-names",
     .roles = CONFIG_SERVE | CONFIG_WORKER,
     .help = "Who benefits from the names of system functions in a report: off (no one), project, "
             "shared (all projects)."},
    {.name = "symbolicate-v5-project",
     .argument = "NAME",
     .set = config_value_text,
     MEMBER(symbolicate_v5_project),
     .variable = "FRAMEZERO_SYMBOLICATE_V5_PROJECT",
     .fallback = "none",
     .see = "docs/firefox-profiler.md",
     .roles = CONFIG_SERVE,
     .help = "The project whose symbols the Firefox Profiler gets without a token."},
    {.name = "log-level",
     .argument = "LEVEL",
     .complete = "debug info warn error",
     .set = config_value_word,
     MEMBER(log_level),
     .variable = "FRAMEZERO_LOG_LEVEL",
     .initial = "info",
     .roles = CONFIG_SERVE | CONFIG_WORKER,
     .help = "debug, info, warn or error."},
    {.name = "trusted-proxies",
     .argument = "LIST",
     .set = config_value_proxies,
     MEMBER(trusted_proxies),
     .variable = "FRAMEZERO_TRUSTED_PROXIES",
     .fallback = "none",
     .more =
         "From them the client's address is the rightmost one in X-Forwarded-For (else Forwarded, "
         "else X-Real-IP) that is not a proxy itself; a proxy must set the first of these headers "
         "that a client could send. Limits per address count the client, IPv6 by its /64.",
     .roles = CONFIG_SERVE,
     .help = "Addresses and networks of reverse proxies (10.0.0.0/8,::1), whose X-Forwarded-For "
             "names the client."},
    {.name = "proxy-user-header",
     .argument = "NAME",
     .set = config_value_header,
     MEMBER(proxy_user_header),
     .variable = "FRAMEZERO_PROXY_USER_HEADER",
     .fallback = "none",
     .see = "docs/users.md#a-proxy-that-knows-the-user",
     .roles = CONFIG_SERVE,
     .help = "The header in which a trusted proxy names the user who is logged in there "
             "(X-Forwarded-User)."},
    {.name = "proxy-role",
     .argument = "ROLE",
     .complete = "none viewer member admin",
     .set = config_value_word,
     MEMBER(proxy_role),
     .variable = "FRAMEZERO_PROXY_ROLE",
     .initial = "none",
     .see = "docs/users.md#a-proxy-that-knows-the-user",
     .roles = CONFIG_SERVE,
     .help =
         "The role in all projects of users that the proxy names for the first time: none (they "
         "need an invitation), viewer, member, admin."},
    {.name = "proxy-groups-header",
     .argument = "NAME",
     .set = config_value_header,
     MEMBER(proxy_groups_header),
     .variable = "FRAMEZERO_PROXY_GROUPS_HEADER",
     .fallback = "none",
     .see = "docs/users.md#a-proxy-that-knows-the-user",
     .roles = CONFIG_SERVE,
     .help =
         "The header in which a trusted proxy names the groups of the user, with commas between "
         "them (X-Forwarded-Groups)."},
    {.name = "proxy-groups",
     .argument = "LIST",
     .set = config_value_groups,
     MEMBER(proxy_groups),
     .variable = "FRAMEZERO_PROXY_GROUPS",
     .fallback = "none",
     .roles = CONFIG_SERVE,
     .help = "Which role in all projects which group has (ops=admin,ios=member). The greatest one "
             "counts, and that of proxy-role without any."},
    {.name = "session-idle-days",
     .argument = "DAYS",
     .set = config_value_number,
     MEMBER(session_idle_days),
     .min = 1,
     .max = SESSION_DAYS_MAX,
     .variable = "FRAMEZERO_SESSION_IDLE_DAYS",
     .initial = "14",
     .roles = CONFIG_SERVE,
     .help = "A login of the page ends when it was not used for so many days."},
    {.name = "session-days",
     .argument = "DAYS",
     .set = config_value_number,
     MEMBER(session_days),
     .min = 1,
     .max = SESSION_DAYS_MAX,
     .variable = "FRAMEZERO_SESSION_DAYS",
     .initial = "90",
     .roles = CONFIG_SERVE,
     .help = "It ends after so many days in any case."},
    {.name = "oidc-issuer",
     .argument = "URL",
     .set = config_value_issuer,
     MEMBER(oidc_issuer),
     .variable = "FRAMEZERO_OIDC_ISSUER",
     .fallback = "none",
     .see = "docs/users.md#an-openid-provider",
     .roles = CONFIG_SERVE,
     .help = "The OpenID provider that people may log in through (https://id.example.com). Needs "
             "oidc-client-id and public-url."},
    {.name = "oidc-client-id",
     .argument = "ID",
     .set = config_value_or_clear,
     MEMBER(oidc_client_id),
     .variable = "FRAMEZERO_OIDC_CLIENT_ID",
     .fallback = "none",
     .roles = CONFIG_SERVE,
     .help = "What the provider calls this server."},
    {.name = "oidc-client-secret",
     .argument = "SECRET",
     .set = config_value_or_clear,
     MEMBER(oidc_client_secret),
     .variable = "FRAMEZERO_OIDC_CLIENT_SECRET",
     .fallback = "none: a public client",
     .roles = CONFIG_SERVE,
     .help = "The secret that goes with it. Other users of the machine see options, but neither "
             "variables nor the file of --config."},
    {.name = "oidc-client-secret-file",
     .argument = "FILE",
     .complete = "file",
     .set = config_value_or_clear,
     MEMBER(oidc_client_secret_file),
     .variable = "FRAMEZERO_OIDC_CLIENT_SECRET_FILE",
     .fallback = "none",
     .roles = CONFIG_SERVE,
     .help = "A file that contains the secret and nothing else, in place of the former."},
    {.name = "oidc-name",
     .argument = "NAME",
     .set = config_value_text,
     MEMBER(oidc_name),
     .variable = "FRAMEZERO_OIDC_NAME",
     .initial = "single sign-on",
     .roles = CONFIG_SERVE,
     .help = "The provider's name on the button of the login page."},
    {.name = "oidc-domains",
     .argument = "LIST",
     .set = config_value_domains,
     MEMBER(oidc_domains),
     .variable = "FRAMEZERO_OIDC_DOMAINS",
     .fallback = "none: only users who exist",
     .see = "docs/users.md#an-openid-provider",
     .roles = CONFIG_SERVE,
     .help = "Domains of addresses (example.com,example.org, or *) that become users with their "
             "first login through the provider."},
    {.name = "oidc-role",
     .argument = "ROLE",
     .complete = "viewer member admin",
     .set = config_value_word,
     MEMBER(oidc_role),
     .variable = "FRAMEZERO_OIDC_ROLE",
     .initial = "viewer",
     .roles = CONFIG_SERVE,
     .help = "Their role in all projects."},
    {.name = "oidc-internal",
     .argument = "LIST",
     .set = config_value_internal,
     MEMBER(oidc_internal),
     .variable = "FRAMEZERO_OIDC_INTERNAL",
     .fallback = "none",
     .roles = CONFIG_SERVE,
     .help = "Networks, addresses and host names in the own network where the provider may be "
             "(10.20.0.0/16,id.local)."},
    {.name = "oidc-ca",
     .argument = "FILE",
     .complete = "file",
     .set = config_value_or_clear,
     MEMBER(oidc_ca),
     .variable = "FRAMEZERO_OIDC_CA",
     .fallback = "those of the system",
     .roles = CONFIG_SERVE,
     .help = "The certificates that the provider is checked against."},
    {.name = "cors-origins",
     .argument = "LIST",
     .set = config_value_origins,
     MEMBER(cors_origins),
     .variable = "FRAMEZERO_CORS_ORIGINS",
     .fallback = "none",
     .more = "Paths that accept reports answer every origin.",
     .roles = CONFIG_SERVE,
     .help =
         "Origins whose pages may use the API from a browser (https://dash.example.com, or *)."},
    {.name = "alert-internal",
     .argument = "LIST",
     .set = config_value_internal,
     MEMBER(alert_internal),
     .variable = "FRAMEZERO_ALERT_INTERNAL",
     .fallback = "none",
     .see = "docs/alerts.md#targets",
     .roles = CONFIG_SERVE | CONFIG_WORKER,
     .help = "Networks, addresses and host names in the own network to which alerts may be sent "
             "(10.20.0.0/16,hooks.local)."},
    {.name = "alert-ca",
     .argument = "FILE",
     .complete = "file",
     .set = config_value_or_clear,
     MEMBER(alert_ca),
     .variable = "FRAMEZERO_ALERT_CA",
     .fallback = "those of the system",
     .roles = CONFIG_SERVE | CONFIG_WORKER,
     .help = "The certificates that receivers of alerts and the mail server are checked against."},
    {.name = "smtp-url",
     .argument = "URL",
     .set = config_value_smtp,
     MEMBER(smtp_url),
     .variable = "FRAMEZERO_SMTP_URL",
     .fallback = "no mail",
     .see = "docs/alerts.md#mail",
     .roles = CONFIG_SERVE | CONFIG_WORKER,
     .help = "The server for mail: smtp://mail.example.com:587 or smtps://mail.example.com."},
    {.name = "smtp-user",
     .argument = "NAME",
     .set = config_value_or_clear,
     MEMBER(smtp_user),
     .variable = "FRAMEZERO_SMTP_USER",
     .fallback = "no login",
     .roles = CONFIG_SERVE | CONFIG_WORKER,
     .help = "The user name at the mail server."},
    {.name = "smtp-password",
     .argument = "PASSWORD",
     .set = config_value_or_clear,
     MEMBER(smtp_password),
     .variable = "FRAMEZERO_SMTP_PASSWORD",
     .fallback = "none",
     .roles = CONFIG_SERVE | CONFIG_WORKER,
     .help = "Its password. Other users of the machine see options, but neither variables nor the "
             "file of --config."},
    {.name = "smtp-tls",
     .argument = "WORD",
     .complete = "required offered off",
     .set = config_value_word,
     MEMBER(smtp_tls),
     .variable = "FRAMEZERO_SMTP_TLS",
     .initial = "required",
     .roles = CONFIG_SERVE | CONFIG_WORKER,
     .help =
         "Encryption with smtp://: required, offered (if the server offers it), off. A password "
         "needs required."},
    {.name = "mail-from",
     .argument = "ADDRESS",
     .set = config_value_mail,
     MEMBER(mail_from),
     .variable = "FRAMEZERO_MAIL_FROM",
     .fallback = "none",
     .roles = CONFIG_SERVE | CONFIG_WORKER,
     .help = "The sender of mail: alerts@example.com."},
    {.name = "limit",
     .argument = "NAME=VALUE",
     .set = config_value_limit,
     MEMBER(limits),
     .variable = "FRAMEZERO_LIMIT_NAME",
     .fallback = "see 'framezero help limits'",
     .roles = CONFIG_SERVE | CONFIG_WORKER,
     .help = "A limit on what comes from outside; K, M and G are understood. May be repeated."},
    {.name = NULL},
};
#undef MEMBER

/* "public_url" and "PUBLIC_URL" name the setting "public-url". */
static bool
same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char x = *a == '_' ? '-' : (char)tolower((unsigned char)*a);
        char y = *b == '_' ? '-' : (char)tolower((unsigned char)*b);
        if (x != y)
            return false;
    }
    return *a == *b;
}

const struct option_spec *
config_find_setting(const char *name)
{
    for (const struct option_spec *o = config_settings; !option_is_end(o); o++) {
        if (o->set && o->set != config_value_limit && same_name(o->name, name))
            return o;
    }
    return NULL;
}

enum fz_code
config_set(struct config *config, const struct option_spec *option, const char *value,
           const char *where, struct fz_error *err)
{
    return option->set ? option->set(option, (char *)config + option->offset, value, where, err)
                       : FZ_OK;
}

static void
append_variable(const char *name, const char *value, struct fz_buffer *out)
{
    if (out->len > 0)
        fz_buffer_char(out, '\0');
    fz_buffer_text(out, "FRAMEZERO_");
    for (; *name; name++)
        fz_buffer_char(out, *name == '-' ? '_' : (char)toupper((unsigned char)*name));
    fz_buffer_printf(out, "=%s", value);
}

static void
append_limits(const struct limits *limits, struct fz_buffer *out)
{
    for (size_t i = 0; limits_name(i); i++) {
        char name[NAME_MAX_LEN], value[24];
        snprintf(name, sizeof(name), "limit-%s", limits_name(i));
        snprintf(value, sizeof(value), "%llu", (unsigned long long)limits_value(limits, i));
        append_variable(name, value, out);
    }
}

void
config_append_variables(const struct config *config, unsigned role, struct fz_buffer *out)
{
    for (const struct option_spec *o = config_settings; !option_is_end(o); o++) {
        const void *field = (const char *)config + o->offset;
        char number[16];
        if (!o->set || !(o->roles & role))
            continue;
        /* Values as they are now: the file that they came from may have changed since. */
        if (o->set == config_value_limit) {
            append_limits(field, out);
        } else if (o->set == config_value_number) {
            snprintf(number, sizeof(number), "%u", *(const unsigned *)field);
            append_variable(o->name, number, out);
        } else if (o->set == config_value_bool) {
            append_variable(o->name, *(const bool *)field ? "yes" : "no", out);
        } else if (*(const char *)field != '\0') {
            append_variable(o->name, field, out);
        }
    }
}
