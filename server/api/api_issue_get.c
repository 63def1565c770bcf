/* One issue: its details, its reports and its variants. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "server/api/api_export.h"
#include "server/api/api_handlers.h"
#include "server/api/api_issue.h"
#include "server/api/api_search.h"

/* ---- finding it -------------------------------------------------------------------------- */

/* A name or value of a query string (RFC 3986, unreserved characters). */
static void
append_encoded(struct fz_buffer *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                        (*c >= '0' && *c <= '9') || strchr("-._~", *c);
        if (is_plain)
            fz_buffer_char(out, *c);
        else
            fz_buffer_printf(out, "%%%02X", (unsigned)(unsigned char)*c);
    }
}

/* The same request for the issue that has the reports now. For good: a number is never given to another issue. */
static enum fz_code
redirect(struct api_call *call, const struct store_issue *issue, const char *rest,
         struct fz_error *err)
{
    const char *name;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer location = fz_buffer_make(0);
    fz_buffer_printf(&location, "/api/v1/issues/%lld%s", (long long)issue->merged_into, rest);
    for (size_t i = 0; (name = http_query_name(call->request, i)) != NULL; i++) {
        const char *value = http_query_value(call->request, i);
        fz_buffer_char(&location, i ? '&' : '?');
        append_encoded(&location, name);
        fz_buffer_char(&location, '=');
        append_encoded(&location, value ? value : "");
    }
    enum fz_code code = fz_buffer_done(&location, err);
    if (code != FZ_OK)
        return code;
    http_add_header(call->request, "Location", fz_buffer_cstr(&location));
    struct json_write w = api_begin(call, '{');
    json_write_i64(&w, "number", issue->number);
    json_write_i64(&w, "merged_into", issue->merged_into);
    return api_answer(call, 308, &w, '}', err);
}

enum fz_code
api_issue_find(struct api_call *call, const char *rest, struct store_issue *ret,
               bool *ret_redirected, struct fz_error *err)
{
    const char *text = http_param(call->request, "number");
    int64_t number = 0;
    *ret_redirected = false;
    if (!fz_text_i64(fz_span_cstr(text), &number) || number < 1)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no issue '%.40s'", text);
    enum fz_code code =
        store_issue_get(call->store, call->project_id, number, call->arena, ret, err);
    if (code != FZ_OK || !ret->merged_into)
        return code;
    *ret_redirected = true;
    return redirect(call, ret, rest, err);
}

/* ---- details ----------------------------------------------------------------------------- */

static void
write_share(struct json_write *w, enum store_distribution by, const struct store_share *share)
{
    static const char *const names[STORE_DISTRIBUTIONS][2] = {
        [STORE_BY_VERSION] = {"version", "build"},
        [STORE_BY_OS] = {"name", "version"},
        [STORE_BY_DEVICE] = {"model", NULL},
        [STORE_BY_ARCH] = {"arch", NULL},
        [STORE_BY_ENVIRONMENT] = {"environment", NULL}};
    json_write_open(w, NULL, '{');
    /* One without either: reports of which it is not known. */
    if (*share->text)
        json_write_text(w, names[by][0], share->text);
    if (names[by][1] && *share->detail)
        json_write_text(w, names[by][1], share->detail);
    json_write_u64(w, "reports", share->n);
    json_write_close(w, '}');
}

static void
write_distributions(struct json_write *w, const struct store_shares *shares)
{
    static const char *const names[STORE_DISTRIBUTIONS] = {[STORE_BY_VERSION] = "versions",
                                                           [STORE_BY_OS] = "os",
                                                           [STORE_BY_DEVICE] = "devices",
                                                           [STORE_BY_ARCH] = "archs",
                                                           [STORE_BY_ENVIRONMENT] = "environments"};
    json_write_open(w, "distributions", '{');
    for (int by = 0; by < STORE_DISTRIBUTIONS; by++) {
        json_write_open(w, names[by], '{');
        json_write_open(w, "top", '[');
        for (size_t i = 0; i < shares[by].n; i++)
            write_share(w, (enum store_distribution)by, &shares[by].list[i]);
        json_write_close(w, ']');
        json_write_u64(w, "others", shares[by].n_others);
        json_write_u64(w, "values", shares[by].n_texts);
        json_write_close(w, '}');
    }
    json_write_close(w, '}');
}

static void
write_variants(struct json_write *w, const struct store_variant *variants, size_t n)
{
    json_write_open(w, "variants", '[');
    for (size_t i = 0; i < n; i++) {
        json_write_open(w, NULL, '{');
        json_write_span(w, "variant", fz_span_make(variants[i].sha256, API_VARIANT_DIGITS));
        json_write_i64(w, "id", variants[i].number);
        json_write_text(w, "label", variants[i].label);
        json_write_u64(w, "reports", variants[i].n_reports);
        json_write_time(w, "first_seen", variants[i].first_ms);
        json_write_time(w, "last_seen", variants[i].last_ms);
        json_write_close(w, '}');
    }
    json_write_close(w, ']');
}

static enum fz_code
read_format(struct api_call *call, bool *ret_is_markdown, struct fz_error *err)
{
    const char *format = http_query(call->request, "format");
    *ret_is_markdown = format && strcmp(format, "md") == 0;
    return !format || *ret_is_markdown || strcmp(format, "json") == 0
               ? FZ_OK
               : fz_fail(err, FZ_E_MALFORMED, "format: '%.40s' is not one of json, md", format);
}

enum fz_code
api_issue_get(struct api_call *call, struct fz_error *err)
{
    struct store_query query;
    struct store_issue issue;
    struct store_issue_terms terms;
    bool is_redirected = false, is_markdown = false;
    struct store_issue_details *details = fz_arena_alloc(call->arena, sizeof(*details));
    enum fz_code code = details ? api_search_read(call, "format, variables", &query, err)
                                : fz_arena_fail(call->arena, err);
    if (code == FZ_OK)
        code = read_format(call, &is_markdown, err);
    if (code == FZ_OK)
        code = api_issue_find(call, "", &issue, &is_redirected, err);
    if (code == FZ_OK && !is_redirected)
        code = store_issue_details(call->store, call->project_id, issue.number, &query, call->arena,
                                   details, err);
    if (code == FZ_OK && !is_redirected)
        code = store_issue_terms(call->store, call->project_id, issue.number, call->arena, &terms,
                                 err);
    if (code != FZ_OK || is_redirected)
        return code;
    if (is_markdown)
        return api_issue_markdown(call, details, err);
    struct json_write w = api_begin(call, '{');
    api_issue_write(&w, &details->listed.issue);
    api_issue_write_terms(&w, &issue, &terms);
    api_issue_write_trend(&w, details->listed.trend);
    json_write_time(&w, "trend_start", details->trend.start_ms);
    json_write_i64(&w, "trend_step_ms", details->trend.step_ms);
    write_distributions(&w, details->shares);
    write_variants(&w, details->variants, details->n_variants);
    json_write_u64(&w, "variant_count", details->n_all_variants);
    if (*details->newest)
        json_write_text(&w, "newest_report", details->newest);
    if (*details->best)
        json_write_text(&w, "best_report", details->best);
    return api_answer(call, 200, &w, '}', err);
}

/* ---- its reports and variants ------------------------------------------------------------ */

enum fz_code
api_issue_reports(struct api_call *call, struct fz_error *err)
{
    struct store_query query;
    struct store_issue issue;
    bool is_redirected = false;
    enum fz_code code = api_search_read(call, "sort, count, limit, cursor", &query, err);
    if (code == FZ_OK)
        code = api_issue_find(call, "/reports", &issue, &is_redirected, err);
    if (code == FZ_OK && !is_redirected)
        code = api_search_of_issue(call, issue.number, &query, err);
    return code == FZ_OK && !is_redirected ? api_report_page(call, &query, err) : code;
}

enum fz_code
api_issue_variants(struct api_call *call, struct fz_error *err)
{
    struct store_query query;
    struct store_issue issue;
    struct store_variants variants = {NULL, 0};
    bool is_redirected = false;
    enum fz_code code = api_search_read(call, "", &query, err);
    if (code == FZ_OK)
        code = api_issue_find(call, "/variants", &issue, &is_redirected, err);
    if (code == FZ_OK && !is_redirected)
        code = store_issue_variant_list(call->store, call->project_id, issue.number, &query,
                                        call->arena, &variants, err);
    if (code != FZ_OK || is_redirected)
        return code;
    struct json_write w = api_begin(call, '{');
    write_variants(&w, variants.list, variants.n);
    return api_answer(call, 200, &w, '}', err);
}
