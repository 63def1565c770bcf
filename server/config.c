#include "server/config.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "server/http/client.h"

enum { FILE_MAX_BYTES = 64 * 1024, NAME_MAX_LEN = 64, WORKERS_MAX = 256, WAIT_MAX_S = 3600 };

const char config_metrics_variable[] = "FRAMEZERO_METRICS_FD";

enum kind {
    KIND_TEXT,
    KIND_WORKERS,
    KIND_BOOL,
    KIND_SECONDS,
    KIND_LEVEL,
    KIND_LEARNED,
    KIND_PROXIES
};

#define MEMBER(m) offsetof(struct config, m), sizeof(((struct config *)0)->m)
static const struct option {
    const char *name; /* as a flag; '-' and '_' are the same in the file and in variables */
    enum kind kind;
    size_t offset, size;
} options[] = {
    {"listen", KIND_TEXT, MEMBER(listen)},
    {"data", KIND_TEXT, MEMBER(data_dir)},
    {"database", KIND_TEXT, MEMBER(database)},
    {"blobs", KIND_TEXT, MEMBER(blobs)},
    {"public-url", KIND_TEXT, MEMBER(public_url)},
    {"workers", KIND_WORKERS, MEMBER(workers)},
    {"migrate", KIND_BOOL, MEMBER(migrate)},
    {"supervise", KIND_BOOL, MEMBER(supervise)},
    {"log-level", KIND_LEVEL, MEMBER(log_level)},
    {"symbolicate-v5-project", KIND_TEXT, MEMBER(symbolicate_v5_project)},
    {"upload-wait", KIND_SECONDS, MEMBER(upload_wait_s)},
    {"learned-names", KIND_LEARNED, MEMBER(learned_names)},
    {"trusted-proxies", KIND_PROXIES, MEMBER(trusted_proxies)},
};
#undef MEMBER

const char *
config_help(void)
{
    return "  option               variable               default\n"
           "  --config FILE        FRAMEZERO_CONFIG       none; lines of key = value\n"
           "  --listen ADDR:PORT   FRAMEZERO_LISTEN       127.0.0.1:8480\n"
           "  --data DIR           FRAMEZERO_DATA         ./framezero-data\n"
           "  --database URL       FRAMEZERO_DATABASE     sqlite:DIR/framezero.db\n"
           "  --blobs URL          FRAMEZERO_BLOBS        file:DIR/blobs\n"
           "  --public-url URL     FRAMEZERO_PUBLIC_URL   the address it listens on\n"
           "  --workers N          FRAMEZERO_WORKERS      one per core\n"
           "  --no-migrate         FRAMEZERO_MIGRATE=no   migrates\n"
           "  --no-supervise       FRAMEZERO_SUPERVISE=no restarts a process that dies\n"
           "  --log-level LEVEL    FRAMEZERO_LOG_LEVEL    info (debug, info, warn, error)\n"
           "  --upload-wait S      FRAMEZERO_UPLOAD_WAIT  600; an upload's answer waits so long\n"
           "  --learned-names WHO  FRAMEZERO_LEARNED_NAMES                  project\n"
           "       whom a report's names of system functions serve: off, project, shared\n"
           "  --symbolicate-v5-project NAME               none; whose symbols the profiler gets\n"
           "                       FRAMEZERO_SYMBOLICATE_V5_PROJECT         without a token\n"
           "  --trusted-proxies LIST                      none; addresses and networks whose\n"
           "                       FRAMEZERO_TRUSTED_PROXIES      X-Forwarded-For counts\n"
           "  --limit NAME=VALUE   FRAMEZERO_LIMIT_NAME   see README.md\n";
}

/* "public_url" and "PUBLIC_URL" name the flag "public-url". */
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

static const struct option *
find_option(const char *name)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(options); i++) {
        if (same_name(options[i].name, name))
            return &options[i];
    }
    return NULL;
}

static bool
parse_bool(const char *value, bool *ret)
{
    static const char *const words[] = {"no", "yes", "false", "true", "0", "1", "off", "on"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(words); i++) {
        if (strcmp(value, words[i]) == 0) {
            *ret = i % 2 == 1;
            return true;
        }
    }
    return false;
}

/* `where` names the option, the variable or the line in messages. */
static enum fz_code
set_option(struct config *config, const struct option *option, const char *value, const char *where,
           struct fz_error *err)
{
    void *field = (char *)config + option->offset;
    uint64_t number;
    switch (option->kind) {
    case KIND_LEARNED:
        if (strcmp(value, "off") != 0 && strcmp(value, "project") != 0 &&
            strcmp(value, "shared") != 0)
            return fz_fail(err, FZ_E_MALFORMED, "%s: '%.40s' is none of off, project, shared",
                           where, value);
        memcpy(field, value, strlen(value) + 1);
        return FZ_OK;
    case KIND_LEVEL:
        if (strcmp(value, "debug") != 0 && strcmp(value, "info") != 0 &&
            strcmp(value, "warn") != 0 && strcmp(value, "error") != 0)
            return fz_fail(err, FZ_E_MALFORMED,
                           "%s: '%.40s' is not one of debug, info, warn, error", where, value);
        /* fall through */
    case KIND_PROXIES:
    case KIND_TEXT:
        if (option->kind == KIND_PROXIES &&
            http_proxies_parse(value, &(struct http_proxies){.n = 0}, err))
            return fz_wrap(err, "%s", where);
        if (strlen(value) >= option->size)
            return fz_fail(err, FZ_E_MALFORMED, "%s: over %zu bytes", where, option->size - 1);
        if (*value == '\0' && option->kind == KIND_TEXT && strcmp(option->name, "public-url") != 0)
            return fz_fail(err, FZ_E_MALFORMED, "%s: empty", where);
        memcpy(field, value, strlen(value) + 1);
        return FZ_OK;
    case KIND_WORKERS:
        if (!fz_text_u64(fz_span_cstr(value), &number) || number > WORKERS_MAX)
            return fz_fail(err, FZ_E_MALFORMED, "%s: '%.40s' is no number from 0 to %d", where,
                           value, (int)WORKERS_MAX);
        *(int *)field = (int)number;
        return FZ_OK;
    case KIND_SECONDS:
        if (!fz_text_u64(fz_span_cstr(value), &number) || number > WAIT_MAX_S)
            return fz_fail(err, FZ_E_MALFORMED, "%s: '%.40s' is no number of seconds up to %d",
                           where, value, (int)WAIT_MAX_S);
        *(unsigned *)field = (unsigned)number;
        return FZ_OK;
    case KIND_BOOL:
        if (!parse_bool(value, field))
            return fz_fail(err, FZ_E_MALFORMED, "%s: '%.40s' is neither yes nor no", where, value);
        return FZ_OK;
    }
    return fz_fail(err, FZ_E_INTERNAL, "%s: option without a kind", where);
}

static enum fz_code
set_limit(struct config *config, const char *name, const char *value, const char *where,
          struct fz_error *err)
{
    switch (limits_set(&config->limits, name, value)) {
    case 0:
        return FZ_OK;
    case -1:
        return fz_fail(err, FZ_E_MALFORMED,
                       "%s: there is no limit '%.40s'; README.md lists them (report_bytes, "
                       "symbol_bytes, threads, frames, images...)",
                       where, name);
    default:
        return fz_fail(err, FZ_E_MALFORMED,
                       "%s: '%.40s' is no positive number (suffixes K, M, G) for limit %s", where,
                       value, name);
    }
}

/* ---- the file ---------------------------------------------------------------------------- */

static char *
trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        text[--len] = '\0';
    return text;
}

/* Cuts the comment off and takes the quotes away; false if quotes do not close. */
static bool
parse_value(char *text, char **ret)
{
    text = trim(text);
    if (*text == '"' || *text == '\'') {
        char *end = strchr(text + 1, *text);
        if (!end)
            return false;
        char *rest = trim(end + 1);
        if (*rest != '\0' && *rest != '#')
            return false;
        *end = '\0';
        *ret = text + 1;
        return true;
    }
    char *comment = strchr(text, '#');
    if (comment)
        *comment = '\0';
    *ret = trim(text);
    return true;
}

static enum fz_code
read_line(struct config *config, char *line, const char *where, struct fz_error *err)
{
    line = trim(line);
    if (*line == '\0' || *line == '#')
        return FZ_OK;
    char *equals = strchr(line, '=');
    if (!equals)
        return fz_fail(err, FZ_E_MALFORMED, "%s: not a line of key = value", where);
    *equals = '\0';
    char *key = trim(line), *value;
    if (!parse_value(equals + 1, &value))
        return fz_fail(err, FZ_E_MALFORMED, "%s: the quotes of '%.40s' do not close", where, key);
    if (strncmp(key, "limit.", 6) == 0)
        return set_limit(config, key + 6, value, where, err);
    const struct option *option = find_option(key);
    if (!option)
        return fz_fail(err, FZ_E_MALFORMED,
                       "%s: unknown key '%.40s'; known are listen, data, database, blobs, "
                       "public-url, workers, migrate, supervise, log-level, upload-wait, "
                       "symbolicate-v5-project, learned-names, trusted-proxies, limit.NAME",
                       where, key);
    return set_option(config, option, value, where, err);
}

static enum fz_code
read_file(struct config *config, const char *path, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(FILE_MAX_BYTES);
    enum fz_code code = fz_file_read(path, FILE_MAX_BYTES, &text, err);
    if (code)
        return fz_wrap(err, "configuration");
    unsigned number = 1;
    for (char *line = text.data, *next; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char where[128];
        snprintf(where, sizeof(where), "%.100s:%u", path, number);
        if ((code = read_line(config, line, where, err)) != FZ_OK)
            return code;
    }
    return FZ_OK;
}

/* ---- variables and flags ----------------------------------------------------------------- */

extern char **environ;

static enum fz_code
read_variables(struct config *config, struct fz_error *err)
{
    static const char prefix[] = "FRAMEZERO_", limit[] = "LIMIT_";
    for (char **entry = environ; entry && *entry; entry++) {
        const char *equals = strchr(*entry, '=');
        if (!equals || !fz_text_has_prefix(*entry, prefix))
            continue;
        size_t len = (size_t)(equals - *entry);
        char variable[NAME_MAX_LEN];
        if (len >= sizeof(variable))
            continue;
        memcpy(variable, *entry, len);
        variable[len] = '\0';
        char *name = variable + strlen(prefix);
        enum fz_code code = FZ_OK;
        const struct option *option;
        if (fz_text_has_prefix(name, limit)) {
            char key[NAME_MAX_LEN];
            size_t i = 0;
            for (const char *c = name + strlen(limit); *c; c++)
                key[i++] = (char)tolower((unsigned char)*c);
            key[i] = '\0';
            code = set_limit(config, key, equals + 1, variable, err);
        } else if ((option = find_option(name)) != NULL) {
            code = set_option(config, option, equals + 1, variable, err);
        } /* others belong to other commands (FRAMEZERO_URL...) */
        if (code)
            return code;
    }
    return FZ_OK;
}

static bool
is_allowed(const char *name, const char *const *allowed)
{
    for (; *allowed; allowed++) {
        if (strcmp(*allowed, name) == 0)
            return true;
    }
    return false;
}

static enum fz_code
fail_unknown(const char *flag, const char *const *allowed, struct fz_error *err)
{
    char known[256] = "";
    for (size_t used = 0; *allowed && used < sizeof(known); allowed++) {
        const struct option *option = find_option(*allowed);
        const char *no = option && option->kind == KIND_BOOL ? "no-" : "";
        used += (size_t)snprintf(known + used, sizeof(known) - used, "--%s%s, ", no, *allowed);
    }
    return fz_fail(err, FZ_E_MALFORMED, "unknown option '%.40s'; known are %s--config, --limit",
                   flag, known);
}

static enum fz_code
read_flag(struct config *config, const char *flag, const char *value, const char *const *allowed,
          struct fz_error *err)
{
    if (strcmp(flag, "--config") == 0)
        return FZ_OK; /* read before */
    if (strcmp(flag, "--limit") == 0) {
        char name[NAME_MAX_LEN];
        const char *equals = strchr(value, '=');
        if (!equals || (size_t)(equals - value) >= sizeof(name))
            return fz_fail(err, FZ_E_MALFORMED, "--limit: '%.40s' is not NAME=VALUE", value);
        memcpy(name, value, (size_t)(equals - value));
        name[equals - value] = '\0';
        return set_limit(config, name, equals + 1, "--limit", err);
    }
    const struct option *option = find_option(flag + 2);
    if (!option || !is_allowed(option->name, allowed))
        return fail_unknown(flag, allowed, err);
    return set_option(config, option, value, flag, err);
}

static enum fz_code
read_flags(struct config *config, int argc, char **argv, const char *const *allowed,
           struct fz_error *err)
{
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0)
            return fz_fail(err, FZ_E_MALFORMED, "unexpected argument '%.60s'", argv[i]);
        const struct option *option =
            strncmp(argv[i], "--no-", 5) == 0 ? find_option(argv[i] + 5) : NULL;
        if (option && option->kind == KIND_BOOL && is_allowed(option->name, allowed)) {
            *(bool *)((char *)config + option->offset) = false;
            continue;
        }
        char flag[NAME_MAX_LEN];
        const char *equals = strchr(argv[i], '='), *value;
        size_t len = equals ? (size_t)(equals - argv[i]) : strlen(argv[i]);
        if (len >= sizeof(flag))
            return fail_unknown(argv[i], allowed, err);
        memcpy(flag, argv[i], len);
        flag[len] = '\0';
        option = find_option(flag + 2);
        if (strcmp(flag, "--config") != 0 && strcmp(flag, "--limit") != 0 &&
            (!option || !is_allowed(option->name, allowed)))
            return fail_unknown(flag, allowed, err);
        if (equals)
            value = equals + 1;
        else if (++i < argc)
            value = argv[i];
        else
            return fz_fail(err, FZ_E_MALFORMED, "%s: its value is missing", flag);
        enum fz_code code = read_flag(config, flag, value, allowed, err);
        if (code)
            return code;
    }
    return FZ_OK;
}

/* What is made from other values; the URLs follow the data directory. */
static enum fz_code
finish(struct config *config, struct fz_error *err)
{
    static const char sqlite_url[] = "sqlite:%s/framezero.db", file_url[] = "file:%s/blobs";
    int n = 0;
    if (!config->database[0])
        n = snprintf(config->database, sizeof(config->database), sqlite_url, config->data_dir);
    if (n >= 0 && (size_t)n < sizeof(config->database) && !config->blobs[0])
        n = snprintf(config->blobs, sizeof(config->blobs), file_url, config->data_dir);
    if (n < 0 || (size_t)n >= sizeof(config->blobs))
        return fz_fail(err, FZ_E_MALFORMED, "--data: the path is too long");
    if (!strrchr(config->listen, ':'))
        return fz_fail(err, FZ_E_MALFORMED, "--listen: '%.60s' is not ADDRESS:PORT",
                       config->listen);
    if (config->public_url[0] && !fz_text_has_prefix(config->public_url, "http://") &&
        !fz_text_has_prefix(config->public_url, "https://"))
        return fz_fail(err, FZ_E_MALFORMED,
                       "--public-url: '%.60s' begins with neither http:// "
                       "nor https://",
                       config->public_url);
    return FZ_OK;
}

enum fz_code
config_load(int argc, char **argv, const char *const *allowed, struct config *ret,
            struct fz_error *err)
{
    struct config config = {
        .listen = "127.0.0.1:8480",
        .data_dir = "./framezero-data",
        .workers = -1,
        .migrate = true,
        .supervise = true,
        .log_level = "info",
        .learned_names = "project",
        .upload_wait_s = 600,
        .limits = limits_default(),
    };
    const char *path = getenv("FRAMEZERO_CONFIG");
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--config") == 0 && i + 1 < argc)
            path = argv[++i];
        else if (strncmp(argv[i], "--config=", 9) == 0)
            path = argv[i] + 9;
    }
    enum fz_code code = FZ_OK;
    if (path && *path)
        code = read_file(&config, path, err);
    if (!code)
        code = read_variables(&config, err);
    if (!code)
        code = read_flags(&config, argc, argv, allowed, err);
    if (!code)
        code = finish(&config, err);
    if (!code)
        *ret = config;
    return code;
}

enum fz_code
config_take_value(int *argc, char **argv, const char *name, const char **ret_value,
                  struct fz_error *err)
{
    size_t len = strlen(name);
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        const char *arg = argv[i];
        if (strncmp(arg, "--", 2) != 0 || strncmp(arg + 2, name, len) != 0 ||
            (arg[2 + len] != '\0' && arg[2 + len] != '=')) {
            argv[kept++] = argv[i];
        } else if (arg[2 + len] == '=') {
            *ret_value = arg + 2 + len + 1;
        } else if (i + 1 < *argc) {
            *ret_value = argv[++i];
        } else {
            return fz_fail(err, FZ_E_MALFORMED, "--%s: its value is missing", name);
        }
    }
    *argc = kept;
    return FZ_OK;
}

bool
config_take_flag(int *argc, char **argv, const char *name)
{
    bool found = false;
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, name) == 0)
            found = true;
        else
            argv[kept++] = argv[i];
    }
    *argc = kept;
    return found;
}

void
config_set_log_level(const struct config *config)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(names); i++) {
        if (strcmp(config->log_level, names[i]) == 0)
            fz_log_set_level((enum fz_log_level)i);
    }
}

void
config_hide_password(const char *url, char *ret, size_t size)
{
    const char *user = strstr(url, "://");
    const char *at = user ? strrchr(user, '@') : NULL;
    const char *colon = at ? strchr(user + 3, ':') : NULL;
    if (colon && colon < at)
        snprintf(ret, size, "%.*s:***%s", (int)(colon - url), url, at);
    else
        snprintf(ret, size, "%s", url);
}
