#include "server/config/config.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/log.h"
#include "base/suggest.h"
#include "base/text.h"
#include "server/config/settings.h"
#include "server/config/term.h"

enum { FILE_MAX_BYTES = 64 * 1024, NAME_MAX_LEN = 64 };

const char config_metrics_variable[] = "FRAMEZERO_METRICS_FD";

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

/* Remove the comment and the quotes; false if a quote is not closed. */
static bool
parse_value(char *text, char **ret)
{
    text = trim(text);
    if (*text == '"' || *text == '\'') {
        char *end = strchr(text + 1, *text);
        if (!end)
            return false;
        char *rest = trim(end + 1);
        /* Most likely a quote was meant to be a part of the value. */
        if (*rest != '\0' && *rest != '#')
            return false;
        *end = '\0';
        *ret = text + 1;
        return true;
    }
    /* A value that contains # has to be in quotes. */
    char *comment = strchr(text, '#');
    if (comment)
        *comment = '\0';
    *ret = trim(text);
    return true;
}

static enum fz_code
fail_key(const char *key, const char *where, struct fz_error *err)
{
    struct fz_suggest suggest;
    fz_suggest_start(&suggest, key);
    for (const struct option_spec *o = config_settings; !option_is_end(o); o++) {
        /* Without --config and --limit, which are not keys of the file. */
        if (config_find_setting(o->name))
            fz_suggest_try(&suggest, o->name);
    }
    return fz_fail(err, FZ_E_MALFORMED, "%s: unknown key '%.40s'%s", where, key,
                   suggest.best[0] ? fz_suggest_question(&suggest)
                                   : "; keys are the long options of 'framezero serve --help' "
                                     "without dashes");
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
    /* A table of their own: limits belong to modules that know nothing of settings. */
    if (strncmp(key, "limit.", 6) == 0)
        return config_set_limit(&config->limits, key + 6, value, where, err);
    const struct option_spec *setting = config_find_setting(key);
    return setting ? config_set(config, setting, value, where, err) : fail_key(key, where, err);
}

static enum fz_code
read_file(struct config *config, const char *path, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(FILE_MAX_BYTES);
    enum fz_code code = fz_file_read(path, FILE_MAX_BYTES, &text, err);
    if (code != FZ_OK)
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

/* Variables of other commands and of docs/xcode/upload-dsyms.sh. */
static const char *const other_variables[] = {
    "FRAMEZERO_CONFIG",  "FRAMEZERO_URL",    "FRAMEZERO_TOKEN",      "FRAMEZERO_PROJECT",
    "FRAMEZERO_STRICT",  "FRAMEZERO_WAIT",   "FRAMEZERO_BINARIES",   "FRAMEZERO_RETRIES",
    "FRAMEZERO_DRY_RUN", "FRAMEZERO_CORPUS", "FRAMEZERO_METRICS_FD",
};

static bool
is_other_variable(const char *variable)
{
    for (size_t i = 0; i < FZ_ARRAY_LEN(other_variables); i++) {
        if (strcmp(other_variables[i], variable) == 0)
            return true;
    }
    /* Variables of the project's own tests. */
    return fz_text_has_prefix(variable, "FRAMEZERO_TEST_");
}

static void
suggest_variable(struct fz_suggest *suggest, const char *prefix, const char *name)
{
    char variable[NAME_MAX_LEN + 32];
    snprintf(variable, sizeof(variable), "%s%s", prefix, name);
    for (char *c = variable; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    fz_suggest_try(suggest, variable);
}

/* A warning, not an error: the variable may be meant for another program. */
static void
warn_unknown(const struct command_spec *command, const char *variable)
{
    struct fz_suggest suggest;
    fz_suggest_start(&suggest, variable);
    for (const struct option_spec *o = config_settings; !option_is_end(o); o++) {
        if (config_find_setting(o->name))
            suggest_variable(&suggest, "FRAMEZERO_", o->name);
    }
    for (size_t i = 0; limits_name(i); i++)
        suggest_variable(&suggest, "FRAMEZERO_LIMIT_", limits_name(i));
    for (size_t i = 0; i < FZ_ARRAY_LEN(other_variables); i++)
        fz_suggest_try(&suggest, other_variables[i]);
    term_warn(command->name, "the variable %.80s is unknown and ignored%s", variable,
              fz_suggest_question(&suggest));
}

static bool
has_limit(const char *key)
{
    for (size_t i = 0; limits_name(i); i++) {
        if (strcmp(limits_name(i), key) == 0)
            return true;
    }
    return false;
}

/* Unknown variables are reported under the name of `command`, unless that is NULL. */
static enum fz_code
read_variables(const struct command_spec *command, struct config *config, struct fz_error *err)
{
    static const char prefix[] = "FRAMEZERO_", limit[] = "FRAMEZERO_LIMIT_";
    /* All of them, since only this finds the mistyped ones. */
    for (char **entry = environ; entry && *entry; entry++) {
        const char *equals = strchr(*entry, '=');
        if (!equals || !fz_text_has_prefix(*entry, prefix))
            continue;
        /* A longer name than any setting has may be cut: it is unknown either way. */
        char variable[NAME_MAX_LEN + 32], key[NAME_MAX_LEN + 32];
        snprintf(variable, sizeof(variable), "%.*s",
                 (int)(equals - *entry < NAME_MAX_LEN ? equals - *entry : NAME_MAX_LEN), *entry);
        /* FRAMEZERO_LIMIT_X begins with the shorter prefix too. */
        bool is_limit = fz_text_has_prefix(variable, limit);
        snprintf(key, sizeof(key), "%s", variable + strlen(is_limit ? limit : prefix));
        for (char *c = key; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        enum fz_code code = FZ_OK;
        const struct option_spec *setting = config_find_setting(key);
        if (is_limit && has_limit(key))
            code = config_set_limit(&config->limits, key, equals + 1, variable, err);
        else if (!is_limit && setting)
            code = config_set(config, setting, equals + 1, variable, err);
        /* Otherwise a mistyped name would have no effect, and no one would learn why. */
        else if (command && !is_other_variable(variable))
            warn_unknown(command, variable);
        if (code != FZ_OK)
            return code;
    }
    return FZ_OK;
}

/* The options that are settings; without a `config` only --config is looked for. */
static enum fz_code
read_flags(const struct command_spec *command, int argc, char **argv, struct config *config,
           const char **ret_path, struct fz_error *err)
{
    for (int at = 1;;) {
        const struct option_spec *option;
        const char *value;
        char shown[NAME_MAX_LEN];
        enum fz_code code = options_next(command, argc, argv, &at, &option, &value, err);
        if (code != FZ_OK || (!option && !value))
            return code;
        if (!option || !option->roles) /* an operand or an option of the command's own */
            continue;
        if (!option->set) {
            *ret_path = value;
        } else if (config) {
            option_show(command, option, shown, sizeof(shown));
            code = config_set(config, option, option->is_negative ? "no" : value, shown, err);
        }
        if (code != FZ_OK)
            return code;
    }
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
    if (config->database_replica[0] && (fz_text_has_prefix(config->database, "sqlite:") ||
                                        fz_text_has_prefix(config->database_replica, "sqlite:")))
        return fz_fail(err, FZ_E_MALFORMED,
                       "--database-replica: only a PostgreSQL has a replica; --database must be "
                       "postgresql://..., too");
    return FZ_OK;
}

enum fz_code
config_load(const struct command_spec *command, int argc, char **argv, bool is_child,
            struct config *ret, struct fz_error *err)
{
    struct config config = {.workers = -1, .limits = limits_default()};
    for (const struct option_spec *o = config_settings; !option_is_end(o); o++) {
        if (o->initial && config_set(&config, o, o->initial, o->name, err) != FZ_OK)
            return fz_wrap(err, "the default");
    }
    const char *path = getenv("FRAMEZERO_CONFIG");
    /* Options win over the file, but the file's path may be one of them: they are read twice. */
    enum fz_code code = read_flags(command, argc, argv, NULL, &path, err);
    if (code == FZ_OK && path && *path)
        code = read_file(&config, path, err);
    snprintf(config.file, sizeof(config.file), "%s", path ? path : "");
    if (code == FZ_OK)
        code = read_variables(is_child ? NULL : command, &config, err);
    if (code == FZ_OK)
        code = read_flags(command, argc, argv, &config, &path, err);
    if (code == FZ_OK)
        /* Last, since what follows the data directory is only known then. */
        code = finish(&config, err);
    if (code == FZ_OK)
        *ret = config;
    return code;
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
