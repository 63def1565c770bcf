#include "storage/blob/blob_s3_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/suggest.h"
#include "base/text.h"

static const char SCHEME[] = "s3://";
/* What every version of libcurl signs as it is (net_signed.h). */
static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";

/* ---- parts of the path ---- */

/* Naming rules of buckets (Amazon S3 User Guide, "General purpose buckets naming rules"), and the
 * underscores and capitals that other stores allow. */
static enum fz_code
take_bucket(const char *text, size_t len, struct blob_s3_place *ret, struct fz_error *err)
{
    if (len < 1 || len >= sizeof(ret->bucket) || text[0] == '.' || text[0] == '-')
        return fz_fail(err, FZ_E_MALFORMED,
                       "blobs: s3://BUCKET/PREFIX needs the name of a bucket, at most 63 letters");
    for (size_t i = 0; i < len; i++) {
        if (!strchr(PLAIN, text[i]) || text[i] == '~')
            return fz_fail(err, FZ_E_MALFORMED,
                           "blobs: a bucket's name has no '%c'; keys belong into the environment "
                           "or the credentials file",
                           text[i]);
    }
    snprintf(ret->bucket, sizeof(ret->bucket), "%.*s", (int)len, text);
    return FZ_OK;
}

static enum fz_code
take_prefix(const char *text, size_t len, struct blob_s3_place *ret, struct fz_error *err)
{
    while (len > 0 && text[len - 1] == '/')
        len--;
    if (len + 2 > sizeof(ret->prefix))
        return fz_fail(err, FZ_E_MALFORMED, "blobs: the prefix is longer than %zu letters",
                       sizeof(ret->prefix) - 2);
    bool starts = true; /* a part of the path */
    for (size_t i = 0; i < len; i++) {
        bool good =
            text[i] == '/' ? !starts : strchr(PLAIN, text[i]) && !(starts && text[i] == '.');
        if (!good)
            return fz_fail(err, FZ_E_MALFORMED,
                           "blobs: the prefix may have letters, digits, '-', '_', '.', '~' and "
                           "single slashes, and no part that begins with a dot");
        starts = text[i] == '/';
    }
    snprintf(ret->prefix, sizeof(ret->prefix), "%.*s%s", (int)len, text, len ? "/" : "");
    return FZ_OK;
}

/* ---- parameters ---- */

static enum fz_code
take_text(char *ret, size_t room, const char *name, const char *value, struct fz_error *err)
{
    if (strlen(value) >= room)
        return fz_fail(err, FZ_E_MALFORMED, "blobs: the value of %s is longer than %zu", name,
                       room - 1);
    memcpy(ret, value, strlen(value) + 1);
    return FZ_OK;
}

/* Only what is before a path, so that there is nothing else in it to sign. */
static enum fz_code
take_endpoint(const char *value, struct blob_s3_place *ret, struct fz_error *err)
{
    size_t scheme = fz_text_has_prefix(value, "https://")  ? 8
                    : fz_text_has_prefix(value, "http://") ? 7
                                                           : 0;
    size_t len = strlen(value);
    while (scheme && len > scheme && value[len - 1] == '/')
        len--;
    bool good = scheme && len > scheme && len < sizeof(ret->endpoint);
    for (size_t i = scheme; good && i < len; i++)
        good = (strchr(PLAIN, value[i]) && value[i] != '~') || strchr(":[]", value[i]);
    if (!good)
        return fz_fail(err, FZ_E_MALFORMED,
                       "blobs: '%.80s' is not an endpoint; expected https://HOST:PORT without a "
                       "path, a user or a query",
                       value);
    snprintf(ret->endpoint, sizeof(ret->endpoint), "%.*s", (int)len, value);
    return FZ_OK;
}

static enum fz_code
take_source(const char *value, struct blob_s3_place *ret, struct fz_error *err)
{
    static const char *const names[] = {[BLOB_S3_ANYWHERE] = "",
                                        [BLOB_S3_ENVIRONMENT] = "environment",
                                        [BLOB_S3_FILE] = "file",
                                        [BLOB_S3_INSTANCE] = "instance"};
    for (size_t i = 1; i < FZ_ARRAY_LEN(names); i++) {
        if (strcmp(value, names[i]) == 0) {
            ret->source = (enum blob_s3_source)i;
            return FZ_OK;
        }
    }
    return fz_fail(err, FZ_E_MALFORMED,
                   "blobs: credentials=%.40s: expected environment, file or instance", value);
}

static enum fz_code
take_parameter(const char *name, const char *value, struct blob_s3_place *ret, bool *ret_has_style,
               struct fz_error *err)
{
    if (strcmp(name, "endpoint") == 0)
        return take_endpoint(value, ret, err);
    if (strcmp(name, "credentials") == 0)
        return take_source(value, ret, err);
    if (strcmp(name, "region") == 0)
        return take_text(ret->region, sizeof(ret->region), name, value, err);
    if (strcmp(name, "profile") == 0)
        return take_text(ret->profile, sizeof(ret->profile), name, value, err);
    if (strcmp(name, "ca_file") == 0)
        return take_text(ret->ca_file, sizeof(ret->ca_file), name, value, err);
    if (strcmp(name, "path_style") == 0 && (strcmp(value, "0") == 0 || strcmp(value, "1") == 0)) {
        ret->path_style = value[0] == '1';
        *ret_has_style = true;
        return FZ_OK;
    }
    if (strcmp(name, "path_style") == 0)
        return fz_fail(err, FZ_E_MALFORMED, "blobs: path_style=%.40s: expected 0 or 1", value);
    return fz_fail(err, FZ_E_MALFORMED,
                   "blobs: there is no parameter '%.40s'; s3:// has endpoint, region, path_style, "
                   "ca_file, credentials and profile",
                   name);
}

/* One part of the query, %XX decoded, with a NUL at its end; false: no such text. */
static bool
decode(const char *from, size_t len, char *ret, size_t room)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = (uint8_t)from[i];
        if (from[i] == '%') {
            if (len - i < 3 || !fz_text_unhex(fz_span_make(from + i + 1, 2), &byte))
                return false;
            i += 2;
        }
        if (byte < ' ' || byte == 0x7f || n + 1 >= room)
            return false;
        ret[n++] = (char)byte;
    }
    ret[n] = '\0';
    return true;
}

static enum fz_code
take_query(const char *query, struct blob_s3_place *ret, bool *ret_has_style, struct fz_error *err)
{
    while (*query) {
        char name[32], value[512];
        size_t len = strcspn(query, "&"), equals = strcspn(query, "=&");
        if (equals >= len || !decode(query, equals, name, sizeof(name)) ||
            !decode(query + equals + 1, len - equals - 1, value, sizeof(value)))
            return fz_fail(err, FZ_E_MALFORMED,
                           "blobs: '%.*s' is not NAME=VALUE with special characters as %%XX",
                           (int)(len < 80 ? len : 80), query);
        enum fz_code code = take_parameter(name, value, ret, ret_has_style, err);
        if (code != FZ_OK)
            return code;
        query += len + (query[len] == '&');
    }
    return FZ_OK;
}

/* ---- what was not said ---- */

static enum fz_code
settle(struct blob_s3_place *ret, bool has_style, struct fz_error *err)
{
    const char *region = getenv("AWS_REGION");
    if (!region || !*region)
        region = getenv("AWS_DEFAULT_REGION");
    if (!ret->region[0])
        snprintf(ret->region, sizeof(ret->region), "%s", region && *region ? region : "us-east-1");
    if (strspn(ret->region, PLAIN) != strlen(ret->region))
        return fz_fail(err, FZ_E_MALFORMED, "blobs: '%s' is not the name of a region", ret->region);
    if (!has_style)
        /* A certificate for *.s3.REGION... does not cover names with dots. */
        ret->path_style = ret->endpoint[0] || strchr(ret->bucket, '.');
    if (!ret->endpoint[0])
        snprintf(ret->endpoint, sizeof(ret->endpoint), "https://s3.%s.amazonaws.com", ret->region);
    const char *host = strstr(ret->endpoint, "://") + strlen("://");
    if (ret->path_style)
        snprintf(ret->base, sizeof(ret->base), "%s/%s/", ret->endpoint, ret->bucket);
    else
        snprintf(ret->base, sizeof(ret->base), "%.*s%s.%s/", (int)(host - ret->endpoint),
                 ret->endpoint, ret->bucket, host);
    return FZ_OK;
}

enum fz_code
blob_s3_url_parse(const char *url, struct blob_s3_place *ret, struct fz_error *err)
{
    bool has_style = false;
    *ret = (struct blob_s3_place){.path_style = false};
    if (!fz_text_has_prefix(url, SCHEME))
        return fz_fail(err, FZ_E_MALFORMED, "blobs: expected s3://BUCKET/PREFIX");
    const char *bucket = url + strlen(SCHEME);
    size_t len = strcspn(bucket, "/?"), path = 0;
    enum fz_code code = take_bucket(bucket, len, ret, err);
    const char *rest = bucket + len;
    if (code == FZ_OK && *rest == '/') {
        rest++;
        path = strcspn(rest, "?");
        code = take_prefix(rest, path, ret, err);
    }
    rest += path;
    if (code == FZ_OK && *rest == '?')
        code = take_query(rest + 1, ret, &has_style, err);
    return code == FZ_OK ? settle(ret, has_style, err) : code;
}
