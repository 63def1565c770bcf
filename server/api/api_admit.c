/*
 * The one place where rate limits and quotas are checked, for every route that takes reports or
 * symbol files: after the sender is known, and before the body arrives if the key is in the header.
 */
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "server/api/api_object.h"
#include "server/api/api_usage.h"

/* An operator may raise a quota, so Retry-After never asks a client to wait a whole day. */
static const int64_t QUOTA_WAIT_MAX_S = 3600;
static const char DISK_RETRY_S[] = "30";

struct refusal {
    const char *limit, *scope; /* the limit's name; "key", "address", "project" */
    unsigned wait_s;
    enum metrics_limited counter;
    char why[128];
};

static unsigned
address_exceeded_s(struct api *api, const struct http_request *request, enum api_takes takes)
{
    struct http_client client;
    struct fz_ip whole;
    http_request_client(request, &client);
    /* Behind a proxy that is not listed as trusted, all clients have the address of the proxy. */
    if (http_address_parse(fz_span_cstr(client.text), &whole) && http_address_is_loopback(&whole))
        return 0;
    const struct api_rate_key key = api_rate_of_client(request, takes);
    return api_rate_count(api->address_rate, &key, fz_time_monotonic_ms());
}

static bool
is_over_rate(struct api *api, const struct http_request *request, const struct api_grant *grant,
             enum api_takes takes, struct refusal *ret)
{
    const struct limits *limits = api->config.limits;
    const struct api_rate_key key = {.who = {(uint64_t)grant->token_id}, .kind = takes};
    /* First, and without counting for the key: one address that floods must not use up the minute
     * of all others with that key. */
    ret->wait_s = address_exceeded_s(api, request, takes);
    if (ret->wait_s) {
        ret->limit = "events_per_minute_address";
        ret->scope = "address";
        ret->counter = METRICS_LIMITED_ADDRESS;
        snprintf(ret->why, sizeof(ret->why), "%s may send %u requests a minute",
                 http_client_ip(request), limits->events_per_minute_address);
        return true;
    }
    ret->wait_s = api_rate_count(api->rate, &key, fz_time_monotonic_ms());
    ret->limit = "events_per_minute";
    ret->scope = "key";
    ret->counter = METRICS_LIMITED_KEY;
    snprintf(ret->why, sizeof(ret->why), "this key may send %u requests a minute",
             limits->events_per_minute);
    return ret->wait_s > 0;
}

static bool
is_over_quota(struct api *api, const struct api_grant *grant, enum api_takes takes,
              struct refusal *ret)
{
    bool is_symbols = takes == API_TAKES_SYMBOLS;
    /* Sessions and dropped events are sums in a few rows, so they have rates but no quota. */
    if (!is_symbols && takes != API_TAKES_REPORTS)
        return false;
    const struct store_quota quota = api_usage_quota(api->usage, grant->project_id);
    uint64_t limit = is_symbols ? quota.symbol_bytes : quota.report_bytes;
    uint64_t n_limit = is_symbols ? 0 : quota.reports;
    int64_t left_ms = 0;
    if (limit == 0 && n_limit == 0)
        return false;
    struct store_usage used =
        api_usage_get(api->usage, grant->project_id,
                      is_symbols ? STORE_USAGE_SYMBOLS : STORE_USAGE_REPORTS, &left_ms);
    bool too_many = n_limit && used.n >= n_limit;
    if (!too_many && (limit == 0 || used.bytes < limit))
        return false;
    /* Rounded up: a second too early the client would be refused again. */
    int64_t left_s = (left_ms + 999) / 1000;
    ret->wait_s = (unsigned)(left_s < 1                  ? 1
                             : left_s > QUOTA_WAIT_MAX_S ? QUOTA_WAIT_MAX_S
                                                         : left_s);
    ret->limit = is_symbols ? "symbol_bytes_per_day"
                 : too_many ? "reports_per_day"
                            : "report_bytes_per_day";
    ret->scope = "project";
    ret->counter = METRICS_LIMITED_QUOTA;
    if (too_many)
        snprintf(ret->why, sizeof(ret->why), "the project may send %llu reports a day",
                 (unsigned long long)n_limit);
    else
        snprintf(ret->why, sizeof(ret->why), "the project may send %llu bytes of %s a day",
                 (unsigned long long)limit, is_symbols ? "symbol files" : "reports");
    return true;
}

/* Refused before the disk is full: what is accepted then could not be finished. */
static enum fz_code
check_disk(struct api *api, struct http_request *request, enum api_takes takes, int *ret_status,
           struct fz_error *err)
{
    uint64_t left;
    enum api_disk state =
        api->config.disk ? api->config.disk(api->config.disk_user, &left) : API_DISK_OK;
    /* What passes through is answered and not stored. */
    if (takes == API_TAKES_PASSING || state == API_DISK_OK ||
        (state == API_DISK_NO_SYMBOLS && takes != API_TAKES_SYMBOLS))
        return FZ_OK;
    http_add_header(request, "Retry-After", DISK_RETRY_S);
    http_log_note(request, "limit",
                  state == API_DISK_NO_SYMBOLS ? "disk_free_symbols" : "disk_free_reports");
    *ret_status = 503;
    return fz_fail(err, FZ_E_UNAVAILABLE, "the server's disk is almost full; try again later");
}

enum fz_code
api_admit(struct api *api, struct http_request *request, const struct api_grant *grant,
          enum api_takes takes, int *ret_status, struct fz_error *err)
{
    const struct api_route *route = api_route_of(request);
    struct refusal refusal = {0};
    char seconds[16];
    if (takes == API_TAKES_NOTHING || takes == API_TAKES_ENVELOPES)
        return FZ_OK;
    enum fz_code code = check_disk(api, request, takes, ret_status, err);
    if (code != FZ_OK)
        return code;
    /* The quota first: what it refuses does not count for the rates. */
    if (!is_over_quota(api, grant, takes, &refusal) &&
        !is_over_rate(api, request, grant, takes, &refusal))
        return FZ_OK;
    snprintf(seconds, sizeof(seconds), "%u", refusal.wait_s);
    http_add_header(request, "Retry-After", seconds);
    /* Sentry's SDKs read a header of their own, and drop what it names by themselves. */
    if (route && route->limited)
        route->limited(request, takes, refusal.wait_s, refusal.scope, refusal.limit);
    if (api->config.metrics)
        api->config.metrics->requests_limited[refusal.counter]++;
    http_log_note(request, "limit", refusal.limit);
    *ret_status = 429;
    return fz_fail(err, FZ_E_LIMIT, "%s: %s; try again in %u s", refusal.limit, refusal.why,
                   refusal.wait_s);
}
