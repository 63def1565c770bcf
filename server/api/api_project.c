/* The settings of a project, its name among them: GET and PUT /project. */
#include <string.h>

#include <jansson.h>

#include "base/json/scan.h"
#include "base/json/write.h"
#include "base/time.h"
#include "server/api/api_alert_rules.h"
#include "server/api/api_answer.h"
#include "server/api/api_handlers.h"
#include "server/api/api_object.h"
#include "server/api/api_privacy.h"
#include "server/api/api_query.h"
#include "server/api/api_retention.h"
#include "server/api/api_scrub.h"
#include "server/api/api_session.h"
#include "server/api/api_source.h"
#include "server/api/api_usage.h"
#include "storage/store_usage.h"

enum { PREFIXES_MAX = 64, PREFIX_BYTES = 256 };

static const int64_t DAY_MS = INT64_C(24) * 3600 * 1000;

static void
write_used(struct json_write *w, const char *key, const struct store_usage *used, uint64_t limit,
           uint64_t n_limit)
{
    json_write_open(w, key, '{');
    json_write_u64(w, "n", used->n);
    json_write_u64(w, "bytes", used->bytes);
    /* No member rather than a 0, which a dashboard would show as "full". */
    if (limit)
        json_write_u64(w, "limit", limit);
    if (n_limit)
        json_write_u64(w, "n_limit", n_limit);
    json_write_close(w, '}');
}

/* The project's own; 0 is the server's limit. */
static void
write_quotas(struct json_write *w, const struct store_quota *quota)
{
    json_write_open(w, "quotas", '{');
    json_write_u64(w, "reports_per_day", quota->reports);
    json_write_u64(w, "report_bytes_per_day", quota->report_bytes);
    json_write_u64(w, "symbol_bytes_per_day", quota->symbol_bytes);
    json_write_close(w, '}');
}

/* What the project has sent today, and how much it may send. */
static void
write_usage(const struct api_call *call, struct store_quota quota, struct json_write *w)
{
    int64_t left_ms = 0;
    api_usage_fill_quota(call->api->config.limits, &quota);
    const struct store_usage reports =
        api_usage_get(call->api->usage, call->project_id, STORE_USAGE_REPORTS, &left_ms);
    const struct store_usage symbols =
        api_usage_get(call->api->usage, call->project_id, STORE_USAGE_SYMBOLS, NULL);
    json_write_open(w, "usage", '{');
    /* The day ends by the database's clock; ours may differ by a little. */
    int64_t until_ms = fz_time_now_ms() + left_ms + DAY_MS / 2;
    json_write_time(w, "until", until_ms - until_ms % DAY_MS);
    write_used(w, "reports", &reports, quota.report_bytes, quota.reports);
    write_used(w, "symbols", &symbols, quota.symbol_bytes, 0);
    json_write_close(w, '}');
}

/* What the project has sent too many different texts of: filters and counts have them as one. */
static enum fz_code
write_full_fields(const struct api_call *call, struct json_write *w, struct fz_error *err)
{
    struct store_full_field *full = NULL;
    size_t n = 0;
    enum fz_code code =
        store_usage_full(call->store, call->project_id, call->arena, &full, &n, err);
    if (code != FZ_OK)
        return code;
    json_write_open(w, "full_fields", '[');
    for (size_t i = 0; i < n; i++) {
        json_write_open(w, NULL, '{');
        json_write_text(w, "field", full[i].name);
        json_write_u64(w, "limit", full[i].limit);
        json_write_u64(w, "n_other", full[i].n_dropped);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
    return FZ_OK;
}

enum fz_code
api_project_get(struct api_call *call, struct fz_error *err)
{
    struct store_watch_rules rules;
    struct store_project project;
    struct store_retention retention;
    struct store_quota quota;
    enum fz_code code =
        store_project_by_id(call->store, call->project_id, call->arena, &project, err);
    if (code == FZ_OK)
        code = store_retention_get(call->store, call->project_id, &retention, NULL, err);
    if (code == FZ_OK)
        code = store_watch_rules_get(call->store, call->project_id, &rules, err);
    if (code == FZ_OK)
        code = store_quota_get(call->store, call->project_id, &quota, err);
    if (code != FZ_OK)
        return code;
    struct json_write w = api_begin(call, '{');
    json_write_u64(&w, "id", (uint64_t)project.id);
    json_write_text(&w, "name", project.name);
    json_write_time(&w, "created", project.created_ms);
    api_privacy_write_lines(&w, "cut_prefixes", project.cut_prefixes, PREFIX_BYTES);
    api_source_write(&w, &project.source);
    api_privacy_write(&w, &project.privacy);
    api_scrub_write(&w, &project.scrub);
    api_retention_write(&w, &retention);
    api_alert_rules_write(&w, &rules);
    write_quotas(&w, &quota);
    write_usage(call, quota, &w);
    code = write_full_fields(call, &w, err);
    return code == FZ_OK ? api_answer(call, 200, &w, '}', err) : code;
}

/* For those who run the server: a project must not raise what it may take of it. */
static enum fz_code
read_quotas(struct api_call *call, const json_t *root, struct store_quota *ret, bool *ret_any,
            struct fz_error *err)
{
    struct {
        const char *name;
        uint64_t *number;
    } const members[] = {{"reports_per_day", &ret->reports},
                         {"report_bytes_per_day", &ret->report_bytes},
                         {"symbol_bytes_per_day", &ret->symbol_bytes}};
    const json_t *quotas = json_object_get(root, "quotas");
    if (!quotas)
        return FZ_OK;
    call->detail = "{\"path\":\"quotas\"}";
    if (!(api_tokens_scopes(call->api->tokens, http_token_id(call->request), 0) &
          STORE_SCOPE_ADMIN))
        return fz_fail(err, FZ_E_DENIED, "quotas: only an admin of all projects may set them");
    size_t n_known = 0;
    for (size_t i = 0; i < FZ_ARRAY_LEN(members); i++) {
        const json_t *value = json_object_get(quotas, members[i].name);
        json_int_t number = json_integer_value(value);
        if (!value)
            continue;
        if (!json_is_integer(value) || number < 0 || number >> STORE_QUOTA_BITS)
            return fz_fail(err, FZ_E_MALFORMED, "%s: no number from 0 (the server's limit) to 2^%d",
                           members[i].name, STORE_QUOTA_BITS);
        *members[i].number = (uint64_t)number;
        n_known++;
    }
    if (!json_is_object(quotas) || n_known == 0 || n_known != json_object_size(quotas))
        return fz_fail(err, FZ_E_MALFORMED,
                       "quotas: an object with reports_per_day, report_bytes_per_day or "
                       "symbol_bytes_per_day, and nothing else");
    call->detail = NULL;
    *ret_any = true;
    return FZ_OK;
}

static enum fz_code
rename_project(struct api_call *call, const json_t *name, struct fz_error *err)
{
    const char *text = json_string_value(name);
    enum fz_code code = text ? store_project_rename(call->store, call->project_id, text, err)
                             : fz_fail(err, FZ_E_MALFORMED, "name: not a text");
    if (code == FZ_E_MALFORMED || code == FZ_E_CONFLICT)
        call->detail = "{\"path\":\"name\"}";
    if (code == FZ_OK)
        api_senders_changed(call->api);
    return code;
}

/* The members that are there; the others stay as they are. */
static enum fz_code
change(struct api_call *call, const json_t *root, struct fz_error *err)
{
    static const struct api_lines lines = {"cut_prefixes", PREFIXES_MAX, PREFIX_BYTES,
                                           "{\"path\":\"cut_prefixes\"}",
                                           "{\"cut_prefixes\":[\"/Users/ci/build/\"]}"};
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer text = fz_buffer_make(0);
    struct store_project project;
    struct store_watch_rules rules;
    struct store_retention retention;
    struct store_quota quota;
    bool any = false, any_rules = false, any_source = false, any_scrub = false,
         any_retention = false, any_quota = false;
    const json_t *prefixes = json_object_get(root, lines.key),
                 *name = json_object_get(root, "name");
    enum fz_code code =
        store_project_by_id(call->store, call->project_id, call->arena, &project, err);
    if (code == FZ_OK)
        code = api_privacy_read(call, root, &project.privacy, &any, err);
    if (code == FZ_OK)
        code = store_retention_get(call->store, call->project_id, &retention, NULL, err);
    if (code == FZ_OK)
        code = api_retention_read(call, root, &retention, &any_retention, err);
    if (code == FZ_OK)
        code = store_watch_rules_get(call->store, call->project_id, &rules, err);
    if (code == FZ_OK)
        code = api_alert_rules_read(call, root, &rules, &any_rules, err);
    if (code == FZ_OK)
        code = store_quota_get(call->store, call->project_id, &quota, err);
    if (code == FZ_OK)
        code = read_quotas(call, root, &quota, &any_quota, err);
    /* Before anything is stored, so that a request counts as a whole or not at all. */
    if (code == FZ_OK)
        code = api_source_read(call, root, &project.source, &any_source, err);
    if (code == FZ_OK)
        code = api_scrub_read(call, root, &project.scrub, &any_scrub, err);
    if (code == FZ_OK && (prefixes || (!any && !any_rules && !any_source && !any_scrub &&
                                       !any_retention && !any_quota && !name)))
        code = api_privacy_join_lines(call, prefixes, &lines, &text, err);
    /* The first that is stored, since another project may have the name. */
    if (code == FZ_OK && name)
        code = rename_project(call, name, err);
    if (code == FZ_OK && any)
        code = store_project_set_privacy(call->store, call->project_id, &project.privacy, err);
    if (code == FZ_OK && any_retention)
        code = store_retention_set(call->store, call->project_id, &retention, err);
    if (code == FZ_OK && any_quota)
        code = store_quota_set(call->store, &quota, err);
    if (code == FZ_OK && any_source)
        code = store_project_set_source(call->store, call->project_id, &project.source, err);
    if (code == FZ_OK && any_scrub)
        code = store_project_set_scrub(call->store, call->project_id, &project.scrub, err);
    if (code == FZ_OK && any_rules)
        code = store_watch_rules_set(call->store, call->project_id, &rules, err);
    if (code == FZ_OK && prefixes)
        code =
            store_project_set_prefixes(call->store, call->project_id, fz_buffer_cstr(&text), err);
    return code;
}

enum fz_code
api_project_put(struct api_call *call, struct fz_error *err)
{
    const struct limits *limits = call->api->config.limits;
    /* A repaired character is longer than the byte that it replaces. */
    struct json_scan_limits scan = {.depth = limits->json_depth,
                                    .output_bytes = 2 * limits->json_bytes};
    json_auto_t *root = NULL;
    enum fz_code code = json_scan_load(http_body(call->request), &scan, NULL, &root, err);
    if (code == FZ_OK)
        code = change(call, root, err);
    /* The answer is what is stored now. */
    return code != FZ_OK ? code : api_project_get(call, err);
}
