#include "server/oidc/provider.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "server/oidc/flow.h"

enum {
    REQUEST_MS = 8000,
    KEPT_MS = 60 * 60 * 1000,
    /* Whoever invents key ids must not make this server ask again and again. */
    AGAIN_MS = 60 * 1000,
    /* A provider that is down is asked again by the next login after this. */
    FAILED_MS = 2000,
    DESCRIPTION_BYTES = 256 * 1024
};

struct oidc {
    struct oidc_config config;
    struct net_rules rules;
    atomic_bool is_stopped;
    pthread_mutex_t lock; /* also while the description and the keys are read: others need them */
    struct oidc_endpoints endpoints;
    struct oidc_keys *keys;        /* NULL: none yet */
    int64_t endpoints_ms, keys_ms; /* when they were read; 0 = never */
    int64_t again_ms;              /* when the keys were read before that was due */
    int64_t failed_ms;             /* when the provider did not answer; 0 = it did */
    struct fz_error failure;
};

/* ---- life ------------------------------------------------------------------------------------ */

enum fz_code
oidc_create(const struct oidc_config *config, struct oidc **ret, struct fz_error *err)
{
    struct oidc *oidc = calloc(1, sizeof(*oidc));
    if (!oidc)
        return fz_fail(err, FZ_E_NO_MEMORY, "out of memory");
    pthread_mutex_init(&oidc->lock, NULL);
    oidc->config = *config;
    oidc->rules.setting = "oidc-internal";
    oidc->rules.ca_file = config->ca_file;
    oidc->rules.timeout_ms = REQUEST_MS;
    oidc->rules.is_cancelled = &oidc->is_stopped;
    enum fz_code code = net_guard_parse(config->internal, &oidc->rules.guard, err);
    if (code == FZ_OK &&
        (code = net_request_check_url(config->issuer, &oidc->rules.guard, err)) != FZ_OK)
        code = fz_wrap(err, "oidc-issuer");
    /* Without https, everybody on the way can be everybody; in the own network that may be known. */
    if (code == FZ_OK && !oidc_is_https(config->issuer) && !*config->internal)
        code = fz_fail(err, FZ_E_MALFORMED,
                       "oidc-issuer: must begin with https://; http:// only for a provider in the "
                       "own network, which oidc-internal names");
    if (code == FZ_OK && strpbrk(config->issuer, "?#"))
        code =
            fz_fail(err, FZ_E_MALFORMED, "oidc-issuer: must have neither a query nor a fragment");
    if (code == FZ_OK)
        *ret = oidc;
    else
        oidc_destroy(oidc);
    return code;
}

void
oidc_stop(struct oidc *oidc)
{
    if (oidc)
        atomic_store(&oidc->is_stopped, true);
}

void
oidc_destroy(struct oidc *oidc)
{
    if (!oidc)
        return;
    oidc_keys_destroy(oidc->keys);
    pthread_mutex_destroy(&oidc->lock);
    free(oidc);
}

const struct oidc_config *
oidc_provider_config(const struct oidc *oidc)
{
    return &oidc->config;
}

/* ---- requests -------------------------------------------------------------------------------- */

static enum fz_code
send(struct oidc *oidc, struct net_request *request, const char *what, struct net_outcome *outcome,
     struct fz_error *err)
{
    net_request_send(request, &oidc->rules, outcome);
    if (outcome->result != NET_ANSWERED)
        return fz_fail(err, FZ_E_UNAVAILABLE, "%s: %s", what, outcome->text);
    return FZ_OK;
}

/* GET a JSON text. */
static enum fz_code
fetch(struct oidc *oidc, const char *url, const char *what, struct fz_buffer *out,
      struct fz_error *err)
{
    struct net_request request = {.url = url,
                                  .headers = {{"Accept", "application/json"}},
                                  .n_headers = 1,
                                  .is_get = true,
                                  .answer = out};
    struct net_outcome outcome;
    enum fz_code code = send(oidc, &request, what, &outcome, err);
    if (code == FZ_OK && outcome.status != 200)
        code = fz_fail(err, FZ_E_UNAVAILABLE, "%s: %s", what, outcome.text);
    return code == FZ_OK ? fz_buffer_done(out, err) : code;
}

enum fz_code
oidc_provider_ask(struct oidc *oidc, struct net_request *request, const char *what, int *ret_status,
                  json_t **ret, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(DESCRIPTION_BYTES);
    struct net_outcome outcome;
    request->answer = &out;
    enum fz_code code = send(oidc, request, what, &outcome, err);
    if (code != FZ_OK)
        return code;
    if (outcome.status != 200 && outcome.status != 400)
        return fz_fail(err, FZ_E_UNAVAILABLE, "%s: %s%s", what, outcome.text,
                       outcome.status == 401 ? ": the client id or its secret is wrong" : "");
    /* Its text is not repeated: it may contain what must not be in a log. */
    if (oidc_json_load(fz_buffer_span(&out), ret, NULL) != FZ_OK)
        return fz_fail(err, FZ_E_UNAVAILABLE, "%s: the answer is not JSON", what);
    *ret_status = outcome.status;
    return FZ_OK;
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static bool
is_old(int64_t read_ms, int64_t kept_ms)
{
    return read_ms == 0 || fz_time_monotonic_ms() - read_ms >= kept_ms;
}

static enum fz_code
read_endpoints(struct oidc *oidc, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer url = fz_buffer_make(0);
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(DESCRIPTION_BYTES);
    const char *issuer = oidc->config.issuer;
    size_t len = strlen(issuer);
    while (len && issuer[len - 1] == '/')
        len--;
    fz_buffer_append(&url, issuer, len);
    fz_buffer_text(&url, "/.well-known/openid-configuration");
    enum fz_code code = fetch(oidc, fz_buffer_cstr(&url), "its description", &out, err);
    if (code == FZ_OK &&
        (code = oidc_endpoints_parse(fz_buffer_span(&out), issuer, &oidc->rules.guard,
                                     &oidc->endpoints, err)) != FZ_OK) {
        fz_ignore(fz_wrap(err, "its description"));
        code = FZ_E_UNAVAILABLE;
    }
    if (code == FZ_OK)
        oidc->endpoints_ms = fz_time_monotonic_ms();
    return code;
}

/* Under the lock. A provider that hangs must not keep each login for seconds: those that waited
 * meanwhile get the same answer. */
static enum fz_code
need_endpoints(struct oidc *oidc, struct fz_error *err)
{
    struct fz_error why;
    if (!is_old(oidc->endpoints_ms, KEPT_MS))
        return FZ_OK;
    if (!is_old(oidc->failed_ms, FAILED_MS))
        return fz_fail(err, FZ_E_UNAVAILABLE, "%s", oidc->failure.text);
    enum fz_code code = read_endpoints(oidc, &why);
    oidc->failed_ms = code == FZ_OK ? 0 : fz_time_monotonic_ms();
    if (code == FZ_OK)
        return FZ_OK;
    oidc->failure = why;
    return fz_fail(err, FZ_E_UNAVAILABLE, "%s", why.text);
}

enum fz_code
oidc_provider_endpoints(struct oidc *oidc, struct oidc_endpoints *ret, struct fz_error *err)
{
    pthread_mutex_lock(&oidc->lock);
    enum fz_code code = need_endpoints(oidc, err);
    if (code == FZ_OK)
        *ret = oidc->endpoints;
    pthread_mutex_unlock(&oidc->lock);
    return code;
}

/* Under the lock. Keys that were read before stay if this fails. */
static enum fz_code
read_keys(struct oidc *oidc, struct fz_error *err)
{
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(OIDC_KEYS_BYTES_MAX);
    struct oidc_keys *keys = NULL;
    enum fz_code code = need_endpoints(oidc, err);
    if (code == FZ_OK)
        code = fetch(oidc, oidc->endpoints.keys, "its keys", &out, err);
    if (code == FZ_OK && oidc_keys_parse(fz_buffer_span(&out), &keys, err) != FZ_OK)
        code = FZ_E_UNAVAILABLE;
    if (code != FZ_OK)
        return code;
    oidc_keys_destroy(oidc->keys);
    oidc->keys = keys;
    oidc->keys_ms = fz_time_monotonic_ms();
    return FZ_OK;
}

enum fz_code
oidc_provider_verify(struct oidc *oidc, const struct oidc_token *token, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    pthread_mutex_lock(&oidc->lock);
    /* A key that the provider has withdrawn counts for an hour at most. */
    if (is_old(oidc->keys_ms, KEPT_MS))
        code = read_keys(oidc, err);
    if (code == FZ_OK)
        code = oidc_keys_verify(oidc->keys, token, err);
    if (code == FZ_E_NOT_FOUND && is_old(oidc->again_ms, AGAIN_MS)) {
        oidc->again_ms = fz_time_monotonic_ms();
        code = read_keys(oidc, err);
        if (code == FZ_OK)
            code = oidc_keys_verify(oidc->keys, token, err);
    }
    pthread_mutex_unlock(&oidc->lock);
    return code == FZ_E_NOT_FOUND ? FZ_E_DENIED : code;
}
