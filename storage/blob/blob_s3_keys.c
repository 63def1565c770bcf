#include "storage/blob/blob_s3_keys.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/json/walk.h"
#include "base/text.h"
#include "base/time.h"

enum {
    FILE_MAX = 256 * 1024,
    METADATA_MS = 3000,
    METADATA_CONNECT_MS = 1000,
    /* Keys of an instance are read again so long before they end. */
    EARLY_MS = 5 * 60 * 1000,
};

struct blob_s3_keys {
    const struct blob_s3_place *place;
    pthread_mutex_t lock;
    struct net_keys keys;
    bool has_keys;
    int64_t ends_ms;     /* of an instance's keys; 0: they do not end */
    struct stat file;    /* whose keys these are; st_ino 0: of none */
    char path[PATH_MAX]; /* of that file */
};

static enum fz_code
take(char *ret, size_t room, struct fz_span value, const char *what, struct fz_error *err)
{
    if (value.len == 0 || value.len >= room)
        return fz_fail(err, FZ_E_DENIED, "%s is empty or too long", what);
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] <= ' ' || value.data[i] >= 0x7f)
            return fz_fail(err, FZ_E_DENIED, "%s has a character that no key has", what);
    }
    memcpy(ret, value.data, value.len);
    ret[value.len] = '\0';
    return FZ_OK;
}

/* ---- environment ---- */

/* NOT_FOUND: it has none. */
static enum fz_code
from_environment(struct net_keys *ret, struct fz_error *err)
{
    const char *access = getenv("AWS_ACCESS_KEY_ID"), *secret = getenv("AWS_SECRET_ACCESS_KEY");
    const char *token = getenv("AWS_SESSION_TOKEN");
    *ret = (struct net_keys){.token = ""};
    if (!access || !*access)
        return fz_fail(err, FZ_E_NOT_FOUND, "AWS_ACCESS_KEY_ID is not set");
    enum fz_code code =
        take(ret->access, sizeof(ret->access), fz_span_cstr(access), "AWS_ACCESS_KEY_ID", err);
    if (code == FZ_OK)
        code = take(ret->secret, sizeof(ret->secret), fz_span_cstr(secret), "AWS_SECRET_ACCESS_KEY",
                    err);
    if (code == FZ_OK && token && *token)
        code = take(ret->token, sizeof(ret->token), fz_span_cstr(token), "AWS_SESSION_TOKEN", err);
    return code;
}

/* ---- file ---- */

static void
file_path(char ret[PATH_MAX])
{
    const char *named = getenv("AWS_SHARED_CREDENTIALS_FILE"), *home = getenv("HOME");
    if (named && *named)
        snprintf(ret, PATH_MAX, "%s", named);
    else
        snprintf(ret, PATH_MAX, "%s/.aws/credentials", home ? home : "");
}

static const char *
profile_of(const struct blob_s3_place *place)
{
    const char *named = getenv("AWS_PROFILE");
    return place->profile[0] ? place->profile : named && *named ? named : "default";
}

/* "name = value" within the section of the profile. */
static enum fz_code
take_line(struct fz_span line, struct net_keys *ret, struct fz_error *err)
{
    size_t equals = fz_text_find(line, "=");
    if (equals == SIZE_MAX)
        return FZ_OK;
    struct fz_span name = fz_text_trim(fz_span_until(line, equals));
    struct fz_span value = fz_text_trim(fz_span_from(line, equals + 1));
    if (fz_span_equal(name, fz_span_cstr("aws_access_key_id")))
        return take(ret->access, sizeof(ret->access), value, "aws_access_key_id", err);
    if (fz_span_equal(name, fz_span_cstr("aws_secret_access_key")))
        return take(ret->secret, sizeof(ret->secret), value, "aws_secret_access_key", err);
    if (fz_span_equal(name, fz_span_cstr("aws_session_token")))
        return take(ret->token, sizeof(ret->token), value, "aws_session_token", err);
    return FZ_OK;
}

static enum fz_code
read_profile(struct fz_span text, const char *profile, struct net_keys *ret, struct fz_error *err)
{
    bool is_inside = false;
    enum fz_code code = FZ_OK;
    *ret = (struct net_keys){.token = ""};
    for (size_t at = 0; code == FZ_OK && at < text.len;) {
        size_t end = fz_text_find(fz_span_from(text, at), "\n");
        size_t len = end == SIZE_MAX ? text.len - at : end;
        struct fz_span line = fz_text_trim(fz_span_between(text, at, at + len));
        at += len + 1;
        if (line.len == 0 || line.data[0] == '#' || line.data[0] == ';')
            continue;
        if (line.data[0] == '[' && line.data[line.len - 1] == ']')
            is_inside = fz_span_equal(fz_text_trim(fz_span_between(line, 1, line.len - 1)),
                                      fz_span_cstr(profile));
        else if (is_inside)
            code = take_line(line, ret, err);
    }
    if (code == FZ_OK && (!ret->access[0] || !ret->secret[0]))
        code = fz_fail(err, FZ_E_NOT_FOUND, "it has no keys in the section [%.40s]", profile);
    return code;
}

/* NOT_FOUND: no such file or section. */
static enum fz_code
from_file(struct blob_s3_keys *keys, struct net_keys *ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    file_path(keys->path);
    enum fz_code code = FZ_OK;
    if (stat(keys->path, &keys->file) != 0)
        code = fz_fail_errno(err, "it cannot be read");
    if (code == FZ_OK)
        code = fz_file_read(keys->path, FILE_MAX, &text, err);
    if (code == FZ_OK)
        code = read_profile(fz_buffer_span(&text), profile_of(keys->place), ret, err);
    return code;
}

static bool
file_is_new(const struct blob_s3_keys *keys)
{
    struct stat st;
    /* One that is being replaced may be gone for a moment: the keys are still those. */
    return keys->file.st_ino != 0 && stat(keys->path, &st) == 0 &&
           (st.st_ino != keys->file.st_ino || st.st_size != keys->file.st_size ||
            st.st_mtim.tv_sec != keys->file.st_mtim.tv_sec ||
            st.st_mtim.tv_nsec != keys->file.st_mtim.tv_nsec);
}

/* ---- instance ---- */

static enum fz_code
ask(struct net_signed *http, const char *method, const char *path, struct net_header header,
    struct fz_buffer *ret, struct fz_error *err)
{
    char url[512];
    const char *service = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    snprintf(url, sizeof(url), "%.200s%.300s",
             service && *service ? service : "http://169.254.169.254", path);
    const struct net_signed_request request = {.method = method,
                                               .url = url,
                                               .headers = {header},
                                               .n_headers = 1,
                                               .connect_ms = METADATA_CONNECT_MS,
                                               .stall_ms = METADATA_MS,
                                               .total_ms = METADATA_MS};
    struct net_signed_answer answer;
    net_signed_send(http, &request, &answer);
    enum fz_code code = FZ_OK;
    if (answer.status != 200)
        code = fz_fail(err, FZ_E_UNAVAILABLE,
                       "the metadata service of the machine gives no keys (%s %.80s: %ld %.80s); "
                       "does it have a role?",
                       method, path, answer.status, answer.why);
    fz_buffer_append(ret, answer.text.data, code == FZ_OK ? answer.text.len : 0);
    net_signed_answer_deinit(&answer);
    return code;
}

/* The text of a member, in which only "\/" is an escape. */
static bool
take_member(const struct json_member *member, const char *name, char *ret, size_t room)
{
    struct fz_span v = member->value;
    if (!fz_span_equal(member->key, fz_span_cstr(name)) || v.len < 2 || v.data[0] != '"')
        return false;
    size_t n = 0;
    for (size_t i = 1; i + 1 < v.len && n + 1 < room; i++) {
        if (v.data[i] != '\\' || v.data[i + 1] != '/')
            ret[n++] = (char)v.data[i];
    }
    ret[n] = '\0';
    return true;
}

static enum fz_code
read_answer(struct fz_span text, struct net_keys *ret, int64_t *ret_ends_ms, struct fz_error *err)
{
    char ends[64] = "";
    struct json_walk walk = json_walk_start(text);
    struct json_member member;
    *ret = (struct net_keys){.token = ""};
    while (json_walk_next(&walk, &member)) {
        fz_ignore(take_member(&member, "AccessKeyId", ret->access, sizeof(ret->access)));
        fz_ignore(take_member(&member, "SecretAccessKey", ret->secret, sizeof(ret->secret)));
        fz_ignore(take_member(&member, "Token", ret->token, sizeof(ret->token)));
        fz_ignore(take_member(&member, "Expiration", ends, sizeof(ends)));
    }
    if (!ret->access[0] || !ret->secret[0] || !fz_time_parse(fz_span_cstr(ends), ret_ends_ms))
        return fz_fail(err, FZ_E_UNAVAILABLE,
                       "the metadata service of the machine answered without keys");
    return FZ_OK;
}

static enum fz_code
from_instance(struct net_keys *ret, int64_t *ret_ends_ms, struct fz_error *err)
{
    static const char roles[] = "/latest/meta-data/iam/security-credentials/";
    struct net_header header = {"X-aws-ec2-metadata-token-ttl-seconds", "300"};
    char token_text[256], path[300];
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer token = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer role = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    struct net_signed *http = NULL;
    enum fz_code code = net_signed_create(&http, err);
    if (code == FZ_OK)
        code = ask(http, "PUT", "/latest/api/token", header, &token, err);
    snprintf(token_text, sizeof(token_text), "%.255s", fz_buffer_cstr(&token));
    header = (struct net_header){"X-aws-ec2-metadata-token", token_text};
    if (code == FZ_OK)
        code = ask(http, "GET", roles, header, &role, err);
    const char *name = fz_buffer_cstr(&role);
    size_t len = strcspn(name, "\r\n/?#% ");
    snprintf(path, sizeof(path), "%s%.*s", roles, len < 128 ? (int)len : 0, name);
    if (code == FZ_OK)
        code = ask(http, "GET", path, header, &text, err);
    net_signed_destroy(http);
    return code == FZ_OK ? read_answer(fz_buffer_span(&text), ret, ret_ends_ms, err) : code;
}

/* ---- all of them ---- */

static enum fz_code
load(struct blob_s3_keys *keys, struct fz_error *err)
{
    enum blob_s3_source source = keys->place->source;
    struct fz_error why;
    struct net_keys found;
    enum fz_code code = FZ_E_NOT_FOUND;
    int64_t ends_ms = 0;
    if (source == BLOB_S3_INSTANCE)
        code = from_instance(&found, &ends_ms, &why);
    if (source == BLOB_S3_ANYWHERE || source == BLOB_S3_ENVIRONMENT)
        code = from_environment(&found, &why);
    if (source == BLOB_S3_FILE || (source == BLOB_S3_ANYWHERE && code == FZ_E_NOT_FOUND))
        code = from_file(keys, &found, &why);
    if (code == FZ_OK) {
        keys->keys = found;
        keys->ends_ms = ends_ms;
        keys->has_keys = true;
        return FZ_OK;
    }
    if (code == FZ_E_UNAVAILABLE || code == FZ_E_NO_MEMORY)
        return fz_fail(err, code, "%s", why.text);
    if (source == BLOB_S3_ENVIRONMENT)
        return fz_fail(err, FZ_E_DENIED, "no keys for the object store: %s", why.text);
    return fz_fail(err, FZ_E_DENIED, "no keys for the object store: %s%.120s: %.80s",
                   source == BLOB_S3_ANYWHERE ? "AWS_ACCESS_KEY_ID is not set, and " : "",
                   keys->path, why.text);
}

enum fz_code
blob_s3_keys_create(const struct blob_s3_place *place, struct blob_s3_keys **ret,
                    struct fz_error *err)
{
    struct blob_s3_keys *keys = calloc(1, sizeof(*keys));
    if (!keys)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    keys->place = place;
    pthread_mutex_init(&keys->lock, NULL);
    *ret = keys;
    return FZ_OK;
}

void
blob_s3_keys_destroy(struct blob_s3_keys *keys)
{
    if (!keys)
        return;
    pthread_mutex_destroy(&keys->lock);
    free(keys);
}

enum fz_code
blob_s3_keys_get(struct blob_s3_keys *keys, struct net_keys *ret, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    pthread_mutex_lock(&keys->lock);
    bool ends = keys->ends_ms != 0 && fz_time_now_ms() > keys->ends_ms - EARLY_MS;
    if (!keys->has_keys || ends || file_is_new(keys))
        code = load(keys, err);
    /* The metadata service may be away, or a file half written, while the last keys still count. */
    if (code != FZ_OK && keys->has_keys && (!ends || fz_time_now_ms() < keys->ends_ms))
        code = FZ_OK;
    if (code == FZ_OK)
        *ret = keys->keys;
    pthread_mutex_unlock(&keys->lock);
    return code;
}

void
blob_s3_keys_forget(struct blob_s3_keys *keys)
{
    pthread_mutex_lock(&keys->lock);
    keys->has_keys = false;
    pthread_mutex_unlock(&keys->lock);
}
