/* One request to the object store: its URL, what its answer means, and when it is tried again. */
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/random.h"
#include "base/time.h"
#include "storage/blob/blob_s3.h"
#include "storage/blob/blob_s3_xml.h"

enum {
    CONNECT_MS = 3000,
    STALL_MS = 10000,
    PATIENT_STALL_MS = 90000,
    QUICK_MS = 4000,       /* one request */
    QUICK_TRIES_MS = 2000, /* from the first failure to the last try */
    TRIES_MS = 6000,
    PAUSE_MS = 100, /* the first; each next one is twice as long */
    PAUSE_MAX_MS = 1600,
    TRIES_MAX = 64,
    BROKEN_MS = 1000,
};

/* Of no bytes. */
static const char EMPTY[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/* ---- names ---- */

void
blob_s3_key(const char *sha256, char ret[BLOB_S3_KEY])
{
    snprintf(ret, BLOB_S3_KEY, "%.2s/%.2s/%.64s", sha256, sha256 + 2, sha256);
}

void
blob_s3_encode(struct fz_buffer *out, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    for (; *text; text++) {
        if (strchr(plain, *text))
            fz_buffer_char(out, *text);
        else
            fz_buffer_printf(out, "%%%02X", (unsigned)(unsigned char)*text);
    }
}

static void
make_url(const struct blob_s3 *s3, const struct blob_s3_call *call, struct fz_buffer *ret)
{
    size_t len = strlen(s3->place.base);
    /* Of the bucket itself a path style URL has no slash at its end. */
    bool is_bare = call->is_bucket && s3->place.path_style;
    fz_buffer_append(ret, s3->place.base, is_bare ? len - 1 : len);
    if (!call->is_bucket)
        fz_buffer_printf(ret, "%s%s", s3->place.prefix, call->key);
    if (call->query)
        fz_buffer_printf(ret, "?%s", call->query);
}

/* ---- one transfer ---- */

struct transfer {
    struct blob_s3 *s3;
    const struct blob_s3_call *call;
    struct net_signed_answer *answer;
    enum fz_code tick_code;
    struct fz_error tick_err;
};

/* Bytes before what is there are passed over: a store may answer a part with the whole. */
static bool
on_bytes(void *user, struct fz_span bytes)
{
    struct transfer *t = user;
    struct blob_s3_sink *sink = t->call->sink;
    if (!sink->has_started) {
        sink->has_started = true;
        sink->at = (uint64_t)t->answer->start;
    }
    if (sink->at > sink->got)
        return false;
    uint64_t known = sink->got - sink->at;
    sink->at += bytes.len;
    if (known >= bytes.len)
        return true;
    bytes = fz_span_from(bytes, (size_t)known);
    if (sink->fd >= 0)
        sink->code = fz_file_write_fd(sink->fd, bytes, &sink->err);
    if (sink->code != FZ_OK)
        return false;
    fz_hash_update(sink->hash, bytes);
    sink->got += bytes.len;
    return true;
}

static bool
go_on(void *user)
{
    struct transfer *t = user;
    t->tick_code = t->s3->tick(t->s3->tick_user, &t->tick_err);
    return t->tick_code == FZ_OK;
}

static struct net_signed *
take_handle(struct blob_s3 *s3, struct fz_error *err)
{
    struct net_signed *ret = NULL;
    pthread_mutex_lock(&s3->lock);
    if (s3->n_idle > 0)
        ret = s3->idle[--s3->n_idle];
    pthread_mutex_unlock(&s3->lock);
    if (!ret)
        fz_ignore(net_signed_create(&ret, err)); /* the caller looks at ret */
    return ret;
}

static void
give_handle(struct blob_s3 *s3, struct net_signed *handle)
{
    pthread_mutex_lock(&s3->lock);
    bool is_kept = s3->n_idle < BLOB_S3_IDLE;
    if (is_kept)
        s3->idle[s3->n_idle++] = handle;
    pthread_mutex_unlock(&s3->lock);
    if (!is_kept)
        net_signed_destroy(handle);
}

static void
fill(struct transfer *t, const char *url, const struct net_keys *keys, const char *range,
     struct net_signed_request *ret)
{
    const struct blob_s3_call *call = t->call;
    bool is_quick = call->patience >= BLOB_S3_QUICK;
    *ret = (struct net_signed_request){
        .method = call->method,
        .url = url,
        .region = t->s3->place.region,
        .keys = keys,
        .sha256 = call->sha256 ? call->sha256 : EMPTY,
        .body = call->body,
        .fd = call->fd,
        .offset = call->offset,
        .body_len = call->body_len,
        .on_bytes = call->sink ? on_bytes : NULL,
        .go_on = t->s3->tick && !is_quick ? go_on : NULL,
        .user = t,
        .ca_file = t->s3->place.ca_file,
        .connect_ms = CONNECT_MS,
        .stall_ms = call->patience == BLOB_S3_PATIENT ? PATIENT_STALL_MS : STALL_MS,
        .total_ms = is_quick ? QUICK_MS : 0,
    };
    if (call->header)
        ret->headers[ret->n_headers++] = *call->header;
    if (call->sink && call->sink->got > 0)
        ret->headers[ret->n_headers++] = (struct net_header){"Range", range};
    if (call->body.len > 0 || call->body_len > 0)
        ret->headers[ret->n_headers++] =
            (struct net_header){"Content-Type", "application/octet-stream"};
}

/* FZ_OK: there is an outcome in t->answer, whatever it is. */
static enum fz_code
transfer(struct transfer *t, const char *url, struct fz_error *err)
{
    char range[48] = "";
    struct net_keys keys;
    struct net_signed_request request;
    struct blob_s3_sink *sink = t->call->sink;
    enum fz_code code = blob_s3_keys_get(t->s3->keys, &keys, err);
    struct net_signed *handle = code == FZ_OK ? take_handle(t->s3, err) : NULL;
    if (!handle)
        return code == FZ_OK ? FZ_E_NO_MEMORY : code;
    if (sink) {
        sink->has_started = false;
        snprintf(range, sizeof(range), "bytes=%llu-", (unsigned long long)sink->got);
    }
    fill(t, url, &keys, range, &request);
    net_signed_send(handle, &request, t->answer);
    give_handle(t->s3, handle);
    if (t->tick_code != FZ_OK)
        return fz_fail(err, t->tick_code, "%s", t->tick_err.text);
    if (sink && sink->code != FZ_OK)
        return fz_fail(err, sink->code, "%s", sink->err.text);
    return FZ_OK;
}

/* ---- what an answer means ---- */

static enum fz_code
fail_region(const struct blob_s3 *s3, const struct net_signed_answer *answer, struct fz_error *err)
{
    char region[64];
    snprintf(region, sizeof(region), "%s", answer->region);
    if (!region[0])
        fz_ignore(
            blob_s3_xml_text(fz_buffer_span(&answer->text), "Region", region, sizeof(region)));
    if (!region[0] || strcmp(region, s3->place.region) == 0)
        return fz_fail(err, FZ_E_MALFORMED,
                       "object store: the bucket %s is at another endpoint than %.80s: set "
                       "endpoint= and region= in blobs",
                       s3->place.bucket, s3->place.endpoint);
    return fz_fail(
        err, FZ_E_MALFORMED,
        "object store: the bucket %s is in the region %s and not in %s: set region=%s in "
        "blobs",
        s3->place.bucket, region, s3->place.region, region);
}

static enum fz_code
fail_clock(const struct net_signed_answer *answer, struct fz_error *err)
{
    int64_t off_s = answer->date_ms ? (fz_time_now_ms() - answer->date_ms) / 1000 : 0;
    return fz_fail(
        err, FZ_E_DENIED,
        "object store: the clocks differ too much (this machine's is %lld s %s): set the "
        "clock, and keep it with NTP",
        (long long)(off_s < 0 ? -off_s : off_s), off_s < 0 ? "late" : "early");
}

/* What to do about a refusal; NULL: not known. */
static const char *
advice(const char *name)
{
    static const struct {
        const char *name, *advice;
    } list[] = {
        {"InvalidAccessKeyId", "the store does not know the access key: check AWS_ACCESS_KEY_ID"},
        {"SignatureDoesNotMatch", "the secret key is not the one of the access key: check "
                                  "AWS_SECRET_ACCESS_KEY, or region="},
        {"ExpiredToken", "the session token has expired: get new keys"},
        {"InvalidToken", "the session token is not valid: get new keys"},
        {"AccessDenied", "the keys may not do this: allow s3:GetObject, PutObject, DeleteObject, "
                         "ListBucket, AbortMultipartUpload and ListBucketMultipartUploads"},
        {"AllAccessDisabled", "the bucket is closed"},
        {"InvalidBucketName", "the bucket's name is not one"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(list); i++) {
        if (strcmp(name, list[i].name) == 0)
            return list[i].advice;
    }
    return NULL;
}

static bool
is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++) {
        if (strcmp(name, *list) == 0)
            return true;
    }
    return false;
}

/* *ret_again: it may be another one the next time. */
static enum fz_code
judge_error(const struct blob_s3 *s3, const struct net_signed_answer *answer, const char *method,
            bool *ret_again, struct fz_error *err)
{
    static const char *const elsewhere[] = {"PermanentRedirect", "TemporaryRedirect",
                                            "AuthorizationHeaderMalformed",
                                            "IllegalLocationConstraintException", NULL};
    static const char *const passing[] = {"BadDigest",          "XAmzContentSHA256Mismatch",
                                          "RequestTimeout",     "OperationAborted",
                                          "IncompleteBody",     "ConditionalRequestConflict",
                                          "SlowDown",           "InternalError",
                                          "ServiceUnavailable", NULL};
    char name[64], message[128];
    long status = answer->status;
    struct fz_span text = fz_buffer_span(&answer->text);
    fz_ignore(blob_s3_xml_text(text, "Code", name, sizeof(name)));
    fz_ignore(blob_s3_xml_text(text, "Message", message, sizeof(message)));
    *ret_again = false;
    if (strcmp(name, "NoSuchBucket") == 0)
        return fz_fail(err, FZ_E_DENIED, "object store: there is no bucket %s at %.80s: create it",
                       s3->place.bucket, s3->place.endpoint);
    if (status == 404)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no such blob");
    if (status == 412)
        return fz_fail(err, FZ_E_CONFLICT, "there is such a blob already");
    if (strcmp(name, "RequestTimeTooSkewed") == 0)
        return fail_clock(answer, err);
    if (status / 100 == 3 || is_one_of(name, elsewhere) ||
        (status == 400 && answer->region[0] && strcmp(answer->region, s3->place.region) != 0))
        return fail_region(s3, answer, err);
    *ret_again = (status >= 500 && status != 501) || status == 408 || status == 429 ||
                 is_one_of(name, passing);
    const char *todo = advice(name);
    if (todo)
        return fz_fail(err, FZ_E_DENIED, "object store: %s (%s)", todo, name);
    enum fz_code code =
        *ret_again || (status != 401 && status != 403) ? FZ_E_UNAVAILABLE : FZ_E_DENIED;
    return fz_fail(err, code, "object store: %.80s answered %s with status %ld %s %.100s",
                   s3->place.endpoint, method, status, name, message);
}

static enum fz_code
judge(const struct blob_s3 *s3, const struct net_signed_answer *answer, const char *method,
      bool *ret_again, struct fz_error *err)
{
    *ret_again = false;
    if (answer->status == 0) {
        *ret_again = !answer->is_refused && !answer->is_ended;
        return fz_fail(err, answer->is_refused ? FZ_E_DENIED : FZ_E_UNAVAILABLE,
                       "object store: %.80s does not answer: %.120s", s3->place.endpoint,
                       answer->why);
    }
    /* Some requests are answered with 200 before their result is known, and with <Error> then. */
    struct fz_span text = fz_buffer_span(&answer->text), error;
    size_t at = 0;
    bool is_error = text.len > 0 && blob_s3_xml_next(text, "Error", &at, &error);
    if (answer->status / 100 != 2)
        return judge_error(s3, answer, method, ret_again, err);
    if (!is_error)
        return FZ_OK;
    *ret_again = true;
    return fz_fail(err, FZ_E_UNAVAILABLE,
                   "object store: %.80s answered %s with 200 and an error: "
                   "%.*s",
                   s3->place.endpoint, method, (int)(error.len < 100 ? error.len : 100),
                   (const char *)error.data);
}

/* ---- again ---- */

/* Between half of it and all of it. */
static void
pause_before(int n_failed)
{
    uint32_t random;
    int64_t pause_ms = PAUSE_MS;
    for (int i = 1; i < n_failed && pause_ms < PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    fz_random(&random, sizeof(random));
    fz_time_sleep_ms(pause_ms / 2 + (int64_t)(random % (uint32_t)(pause_ms / 2 + 1)));
}

static int64_t
failed_ms(struct blob_s3 *s3)
{
    pthread_mutex_lock(&s3->lock);
    int64_t ret = s3->failed_ms;
    pthread_mutex_unlock(&s3->lock);
    return ret;
}

/* After the last try. Other requests will fail, too, if there was no answer, a failure of the server, or
 * a refusal of the keys. */
static void
note_end(struct blob_s3 *s3, const struct net_signed_answer *answer, enum fz_code code)
{
    bool is_trouble = code == FZ_E_DENIED || code == FZ_E_MALFORMED ||
                      (answer->status == 0 && !answer->is_ended) ||
                      (answer->status >= 500 && answer->status != 501);
    pthread_mutex_lock(&s3->lock);
    s3->failed_ms = is_trouble ? fz_time_monotonic_ms() : 0;
    pthread_mutex_unlock(&s3->lock);
}

/* From the first failure to the last try. In an outage one of those who ask has waited for all: what
 * they try then is a single time. */
static int64_t
tries_ms(struct blob_s3 *s3, const struct blob_s3_call *call)
{
    if (failed_ms(s3) != 0)
        return 0;
    return call->patience >= BLOB_S3_QUICK ? QUICK_TRIES_MS : TRIES_MS;
}

bool
blob_s3_is_away(struct blob_s3 *s3)
{
    return failed_ms(s3) != 0;
}

enum fz_code
blob_s3_send(struct blob_s3 *s3, const struct blob_s3_call *call, struct net_signed_answer *ret,
             struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer url = fz_buffer_make(0);
    struct fz_error own;
    err = err ? err : &own;
    *ret = (struct net_signed_answer){.status = 0};
    make_url(s3, call, &url);
    enum fz_code code = fz_buffer_done(&url, err);
    /* What is called within a transaction does not wait for that each time. */
    int64_t limit_ms = tries_ms(s3, call), end_ms = 0, last_ms = failed_ms(s3);
    if (call->patience == BLOB_S3_QUICK && last_ms && fz_time_monotonic_ms() < last_ms + BROKEN_MS)
        return fz_fail(err, FZ_E_UNAVAILABLE, "object store: %.80s did not answer just now",
                       s3->place.endpoint);
    bool again = code == FZ_OK, has_new_keys = false;
    uint64_t got = 0;
    for (int n_failed = 0; again && n_failed < TRIES_MAX;) {
        struct transfer t = {.s3 = s3, .call = call, .answer = ret};
        net_signed_answer_deinit(ret);
        code = transfer(&t, fz_buffer_cstr(&url), err);
        if (code != FZ_OK)
            return code;
        code = judge(s3, ret, call->method, &again, err);
        if (code == FZ_OK)
            break;
        /* Keys of a file or an instance may have been replaced by others. */
        if (code == FZ_E_DENIED && !has_new_keys && ret->status == 403) {
            blob_s3_keys_forget(s3->keys);
            has_new_keys = again = true;
            continue;
        }
        int64_t now_ms = fz_time_monotonic_ms();
        /* Bytes came: that is another failure than the last one. */
        bool has_more = call->sink && call->sink->got > got, is_first = n_failed == 0 || has_more;
        n_failed = is_first ? 1 : n_failed + 1;
        end_ms = is_first ? now_ms + (has_more ? TRIES_MS : limit_ms) : end_ms;
        got = call->sink ? call->sink->got : 0;
        again = again && now_ms < end_ms;
        if (again)
            pause_before(n_failed);
    }
    note_end(s3, ret, code);
    return code;
}

enum fz_code
blob_s3_do(struct blob_s3 *s3, const struct blob_s3_call *call, struct fz_error *err)
{
    struct net_signed_answer answer;
    enum fz_code code = blob_s3_send(s3, call, &answer, err);
    net_signed_answer_deinit(&answer);
    return code;
}

enum fz_code
blob_s3_outside(enum fz_code code)
{
    return code == FZ_E_DENIED || code == FZ_E_MALFORMED ? FZ_E_UNAVAILABLE : code;
}
