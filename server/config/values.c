#include "server/config/values.h"

#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "base/net/net_guard.h"
#include "base/net/net_mail.h"
#include "base/suggest.h"
#include "base/text.h"
#include "server/config/settings.h"
#include "server/http/client.h"

enum { NAME_MAX_LEN = 64 };

void
config_hide_password(const char *url, char *ret, size_t size)
{
    const char *user = strstr(url, "://");
    /* The last one: a password may contain an @ that is not percent-encoded. */
    const char *at = user ? strrchr(user, '@') : NULL;
    const char *colon = at ? strchr(user + 3, ':') : NULL;
    if (colon && colon < at)
        snprintf(ret, size, "%.*s:***%s", (int)(colon - url), url, at);
    else
        snprintf(ret, size, "%s", url);
}

enum fz_code
config_value_text(const struct option_spec *option, void *field, const char *value,
                  const char *where, struct fz_error *err)
{
    if (strlen(value) >= option->size)
        return fz_fail(err, FZ_E_MALFORMED, "%s: longer than %zu bytes", where, option->size - 1);
    if (*value == '\0')
        return fz_fail(err, FZ_E_MALFORMED, "%s: the value is empty", where);
    memcpy(field, value, strlen(value) + 1);
    return FZ_OK;
}

enum fz_code
config_value_word(const struct option_spec *option, void *field, const char *value,
                  const char *where, struct fz_error *err)
{
    size_t len = strlen(value);
    for (const char *word = option->complete; len && word; word = strchr(word, ' ')) {
        word += *word == ' ';
        /* The words are separated by blanks, so a prefix of one is not enough. */
        if (strncmp(word, value, len) == 0 && (word[len] == ' ' || word[len] == '\0'))
            return config_value_text(option, field, value, where, err);
    }
    return fz_fail(err, FZ_E_MALFORMED, "%s: '%.40s' is not one of: %s", where, value,
                   option->complete);
}

enum fz_code
config_value_listen(const struct option_spec *option, void *field, const char *value,
                    const char *where, struct fz_error *err)
{
    struct fz_address address;
    enum fz_code code = config_value_text(option, field, value, where, err);
    if (code == FZ_OK && fz_address_parse(value, &address, err) != FZ_OK)
        code = fz_wrap(err, "%s", where);
    return code;
}

enum fz_code
config_value_or_clear(const struct option_spec *option, void *field, const char *value,
                      const char *where, struct fz_error *err)
{
    if (*value != '\0')
        return config_value_text(option, field, value, where, err);
    *(char *)field = '\0';
    return FZ_OK;
}

enum fz_code
config_value_url(const struct option_spec *option, void *field, const char *value,
                 const char *where, struct fz_error *err)
{
    /* The empty value is how a variable or an option unsets what the file says. */
    if (*value != '\0' && fz_address_check_url(value, err) != FZ_OK)
        return fz_wrap(err, "%s", where);
    return config_value_or_clear(option, field, value, where, err);
}

/* sqlite:PATH or postgresql://...; what follows the scheme is for the library to judge. */
enum fz_code
config_value_database(const struct option_spec *option, void *field, const char *value,
                      const char *where, struct fz_error *err)
{
    /* An empty path is SQLite's temporary database, which would lose every report. */
    bool is_sqlite = fz_text_has_prefix(value, "sqlite:") && value[strlen("sqlite:")];
    char shown[128];
    if (is_sqlite || fz_text_has_prefix(value, "postgresql://") ||
        fz_text_has_prefix(value, "postgres://"))
        return config_value_text(option, field, value, where, err);
    config_hide_password(value, shown, sizeof(shown));
    return fz_fail(err, FZ_E_MALFORMED,
                   "%s: '%.80s' is not a database URL; expected sqlite:PATH or "
                   "postgresql://USER@HOST/DATABASE",
                   where, shown);
}

enum fz_code
config_value_blobs(const struct option_spec *option, void *field, const char *value,
                   const char *where, struct fz_error *err)
{
    static const char *const schemes[] = {"file:", "s3://"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(schemes); i++) {
        /* What follows s3:// is checked by what opens it. */
        if (fz_text_has_prefix(value, schemes[i]) && value[strlen(schemes[i])])
            return config_value_text(option, field, value, where, err);
    }
    return fz_fail(err, FZ_E_MALFORMED,
                   "%s: '%.80s' is not a place for blobs; expected file:DIR or s3://BUCKET/PREFIX",
                   where, value);
}

enum fz_code
config_value_bool(const struct option_spec *option FZ_UNUSED, void *field, const char *value,
                  const char *where, struct fz_error *err)
{
    static const char *const words[2][4] = {{"no", "false", "0", "off"},
                                            {"yes", "true", "1", "on"}};
    for (size_t truth = 0; truth < 2; truth++) {
        for (size_t i = 0; i < 4; i++) {
            if (strcmp(value, words[truth][i]) == 0) {
                *(bool *)field = truth == 1;
                return FZ_OK;
            }
        }
    }
    return fz_fail(err, FZ_E_MALFORMED, "%s: '%.40s' is neither yes nor no", where, value);
}

enum fz_code
config_value_proxies(const struct option_spec *option, void *field, const char *value,
                     const char *where, struct fz_error *err)
{
    /* Only to check it: the server parses its own copy of the text. */
    struct http_proxies ignored = {.n = 0};
    if (http_proxies_parse(value, &ignored, err) != FZ_OK)
        return fz_wrap(err, "%s", where);
    return config_value_or_clear(option, field, value, where, err);
}

enum fz_code
config_value_origins(const struct option_spec *option, void *field, const char *value,
                     const char *where, struct fz_error *err)
{
    const char *fault = http_origins_fault(value);
    if (fault)
        return fz_fail(err, FZ_E_MALFORMED,
                       "%s: '%.60s' is not an origin; expected https://HOST[:PORT], or * for all",
                       where, fault);
    return config_value_or_clear(option, field, value, where, err);
}

enum fz_code
config_value_internal(const struct option_spec *option, void *field, const char *value,
                      const char *where, struct fz_error *err)
{
    /* Only to check it, as with proxies. */
    struct net_guard ignored;
    if (net_guard_parse(value, &ignored, err) != FZ_OK)
        return fz_wrap(err, "%s", where);
    return config_value_or_clear(option, field, value, where, err);
}

/* The rest of the URL is judged where libcurl is. */
enum fz_code
config_value_issuer(const struct option_spec *option, void *field, const char *value,
                    const char *where, struct fz_error *err)
{
    if (*value != '\0' && !fz_text_has_prefix(value, "https://") &&
        !fz_text_has_prefix(value, "http://"))
        return fz_fail(err, FZ_E_MALFORMED,
                       "%s: '%.60s' is not the URL of a provider; expected https://HOST[/PATH]",
                       where, value);
    return config_value_or_clear(option, field, value, where, err);
}

enum fz_code
config_value_domains(const struct option_spec *option, void *field, const char *value,
                     const char *where, struct fz_error *err)
{
    static const char separators[] = ", ";
    for (const char *at = value + strspn(value, separators); *at; at += strspn(at, separators)) {
        size_t len = strcspn(at, separators);
        /* What somebody who means all addresses of the domain might write, too. */
        if (len == 0 || (memchr(at, '*', len) && len > 1) || memchr(at, '@', len))
            return fz_fail(err, FZ_E_MALFORMED,
                           "%s: '%.*s' is not a domain; expected example.com, or * for all", where,
                           (int)(len < 60 ? len : 60), at);
        at += len;
    }
    return config_value_or_clear(option, field, value, where, err);
}

enum fz_code
config_value_groups(const struct option_spec *option, void *field, const char *value,
                    const char *where, struct fz_error *err)
{
    static const char *const roles[] = {"viewer", "member", "admin"};
    for (const char *at = value; *at;) {
        struct fz_span one = fz_span_make(at, strcspn(at, ","));
        size_t equals = fz_text_find_last(one, "="), n_good = 0;
        const struct fz_span group = fz_text_trim(fz_span_until(one, equals));
        for (size_t i = 0; i < FZ_ARRAY_LEN(roles) && equals != SIZE_MAX && group.len; i++)
            n_good += fz_span_is(fz_text_trim(fz_span_from(one, equals + 1)), roles[i]);
        if (!n_good)
            return fz_fail(err, FZ_E_MALFORMED,
                           "%s: '%.*s' is not GROUP=ROLE with the role viewer, member or admin",
                           where, (int)(one.len < 60 ? one.len : 60), at);
        at += one.len + (at[one.len] == ',');
    }
    return config_value_or_clear(option, field, value, where, err);
}

/* As with the issuer. */
enum fz_code
config_value_smtp(const struct option_spec *option, void *field, const char *value,
                  const char *where, struct fz_error *err)
{
    bool is_smtp = fz_text_has_prefix(value, "smtp://") || fz_text_has_prefix(value, "smtps://");
    if (*value != '\0' && (!is_smtp || strchr(value, '@')))
        return fz_fail(err, FZ_E_MALFORMED,
                       "%s: expected smtp://HOST[:PORT] or smtps://HOST[:PORT], and the login in "
                       "smtp-user and smtp-password",
                       where);
    return config_value_or_clear(option, field, value, where, err);
}

enum fz_code
config_value_mail(const struct option_spec *option, void *field, const char *value,
                  const char *where, struct fz_error *err)
{
    if (*value != '\0' && net_mail_check_address(value, err) != FZ_OK)
        return fz_wrap(err, "%s", where);
    return config_value_or_clear(option, field, value, where, err);
}

enum fz_code
config_value_header(const struct option_spec *option, void *field, const char *value,
                    const char *where, struct fz_error *err)
{
    /* Those of RFC 9110, 5.6.2, that are in use. */
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    if (value[strspn(value, allowed)] != '\0')
        return fz_fail(err, FZ_E_MALFORMED, "%s: '%.60s' is not the name of a header", where,
                       value);
    return config_value_or_clear(option, field, value, where, err);
}

/* ---- numbers and limits ------------------------------------------------------------------ */

/* unsigned or int, from min to max. */
enum fz_code
config_value_number(const struct option_spec *option, void *field, const char *value,
                    const char *where, struct fz_error *err)
{
    uint64_t number;
    enum fz_code code = option_set_count(option, &number, value, where, err);
    if (code == FZ_OK)
        *(unsigned *)field = (unsigned)number;
    return code;
}

enum fz_code
config_set_limit(struct limits *limits, const char *name, const char *value, const char *where,
                 struct fz_error *err)
{
    struct fz_suggest suggest;
    switch (limits_set(limits, name, value)) {
    case 0:
        return FZ_OK;
    case -1:
        fz_suggest_start(&suggest, name);
        for (size_t i = 0; limits_name(i); i++)
            fz_suggest_try(&suggest, limits_name(i));
        return fz_fail(err, FZ_E_MALFORMED,
                       "%s: there is no limit '%.40s'%s; 'framezero help limits' lists them", where,
                       name, fz_suggest_question(&suggest));
    default:
        return fz_fail(err, FZ_E_MALFORMED,
                       "%s: '%.40s' is not a positive number for the limit %s; the suffixes K, M "
                       "and G are allowed",
                       where, value, name);
    }
}

/* NAME=VALUE */
enum fz_code
config_value_limit(const struct option_spec *option FZ_UNUSED, void *field, const char *value,
                   const char *where, struct fz_error *err)
{
    char name[NAME_MAX_LEN];
    const char *equals = strchr(value, '=');
    if (!equals || (size_t)(equals - value) >= sizeof(name))
        return fz_fail(err, FZ_E_MALFORMED, "%s: '%.40s' is not NAME=VALUE", where, value);
    memcpy(name, value, (size_t)(equals - value));
    name[equals - value] = '\0';
    return config_set_limit(field, name, equals + 1, where, err);
}
