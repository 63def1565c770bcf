/* An issue as Markdown: what it is, its stack, variants, where it happens, and values if they may be seen. */
#include <string.h>

#include "base/json/scan.h"
#include "base/time.h"
#include "server/api/api_escape.h"
#include "server/api/api_export.h"
#include "server/api/api_issue.h"
#include "server/api/api_markdown.h"
#include "server/api/api_object.h"
#include "server/api/api_query.h"

enum { VARIANTS_MAX = 20, SHARES_MAX = 10, JSON_DEPTH = 64 };

static void
append_number_row(struct fz_buffer *out, const char *name, uint64_t n)
{
    fz_buffer_printf(out, "| %s | %llu |\n", name, (unsigned long long)n);
}

static void
append_version(struct fz_buffer *out, const char *name, const char *version, const char *build)
{
    if (!version || !*version)
        return;
    fz_buffer_printf(out, "| %s | ", name);
    api_md_text(out, version);
    if (build && *build) {
        fz_buffer_text(out, " \\(");
        api_md_text(out, build);
        fz_buffer_text(out, "\\)");
    }
    fz_buffer_text(out, " |\n");
}

/* A link as those of alerts are, where it is known how people reach the server; else the path. It names the project, since a
 * token may be one of all projects. */
static enum fz_code
append_link(struct api_call *call, struct fz_buffer *out, int64_t number, struct fz_error *err)
{
    /* Nothing that ends a link or a row. The name of a project has less. */
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "-._~:/?[]@!$&+,;=%";
    const struct outbox_setup *alerts = call->api->config.alerts;
    const char *server = alerts && alerts->server ? alerts->server : "";
    bool is_known = *server && !server[strspn(server, safe)];
    struct store_project project;
    enum fz_code code =
        store_project_by_id(call->store, call->project_id, call->arena, &project, err);
    if (code == FZ_OK)
        fz_buffer_printf(out, "| Link | %s%s/api/v1/issues/%lld?project=%s%s |\n\n",
                         is_known ? "<" : "`", is_known ? server : "", (long long)number,
                         project.name, is_known ? ">" : "`");
    return code;
}

static void
append_head(struct fz_buffer *out, const struct store_issue *issue)
{
    char first[FZ_TIME_TEXT], last[FZ_TIME_TEXT];
    fz_time_format(issue->first_ms, first);
    fz_time_format(issue->last_ms, last);
    fz_buffer_printf(out, "# Issue %lld: ", (long long)issue->number);
    api_md_text(out, issue->title);
    fz_buffer_text(out, "\n\n| Issue | |\n|---|---|\n");
    api_markdown_row(out, "State",
                     issue->is_regressed && issue->state == STORE_ISSUE_OPEN
                         ? "open, came back after it was resolved"
                         : api_issue_state_name(issue->state));
    api_markdown_row(out, "Kind", issue->kind);
    append_number_row(out, "Reports", issue->n_reports);
    append_number_row(out, "Users", issue->n_users);
    if (issue->first_ms) {
        api_markdown_row(out, "First seen", first);
        api_markdown_row(out, "Last seen", last);
    }
    append_version(out, "First version", issue->first_version, issue->first_build);
    append_version(out, "Last version", issue->last_version, issue->last_build);
    api_markdown_row(out, "Assignee", issue->assignee);
}

static void
append_variants(struct fz_buffer *out, const struct store_issue_details *details)
{
    size_t n = details->n_variants < VARIANTS_MAX ? details->n_variants : VARIANTS_MAX;
    fz_buffer_text(out, "## Variants\n\n| Variant | Reports |\n|---|---|\n");
    for (size_t i = 0; i < n; i++) {
        fz_buffer_text(out, "| ");
        api_md_text(out, details->variants[i].label);
        fz_buffer_printf(out, " | %llu |\n", (unsigned long long)details->variants[i].n_reports);
    }
    if (details->n_all_variants > n)
        fz_buffer_printf(out, "\n%zu more variants\n", details->n_all_variants - n);
    fz_buffer_char(out, '\n');
}

static void
append_shares(struct fz_buffer *out, const char *name, const struct store_shares *shares)
{
    uint64_t n_others = shares->n_others;
    if (shares->n == 0)
        return;
    fz_buffer_printf(out, "| %s | Reports |\n|---|---|\n", name);
    for (size_t i = 0; i < shares->n; i++) {
        const struct store_share *share = &shares->list[i];
        if (i >= SHARES_MAX) {
            n_others += share->n;
            continue;
        }
        fz_buffer_text(out, "| ");
        api_md_text(out, *share->text || *share->detail ? share->text : "unknown");
        fz_buffer_text(out, *share->text && *share->detail ? " " : "");
        api_md_text(out, share->detail);
        fz_buffer_printf(out, " | %llu |\n", (unsigned long long)share->n);
    }
    if (n_others)
        fz_buffer_printf(out, "| others | %llu |\n", (unsigned long long)n_others);
    fz_buffer_char(out, '\n');
}

static void
append_distribution(struct fz_buffer *out, const struct store_issue_details *details)
{
    static const char *const names[STORE_DISTRIBUTIONS] = {[STORE_BY_VERSION] = "Version",
                                                           [STORE_BY_OS] = "System",
                                                           [STORE_BY_DEVICE] = "Device",
                                                           [STORE_BY_ARCH] = "Architecture",
                                                           [STORE_BY_ENVIRONMENT] = "Environment"};
    fz_buffer_text(out, "## Distribution\n\n");
    for (int by = 0; by < STORE_DISTRIBUTIONS; by++)
        append_shares(out, names[by], &details->shares[by]);
}

/* The best-named report; NULL in *ret: there is none any more. */
static enum fz_code
load_report(struct api_call *call, const char *id, bool with_values, json_t **ret,
            struct fz_error *err)
{
    const struct limits *limits = api_limits(call->api);
    const struct json_scan_limits scan = {JSON_DEPTH, limits->report_memory, limits->report_memory};
    struct store_report report;
    struct fz_span json = {NULL, 0};
    enum fz_code code = FZ_E_NOT_FOUND;
    *ret = NULL;
    if (*id)
        code = store_report_get(call->store, call->project_id, id, call->arena, &report, err);
    if (code == FZ_OK)
        code = api_export_report(call, &report, with_values, &json, err);
    if (code == FZ_E_NOT_FOUND || (code == FZ_OK && !json.len))
        return FZ_OK;
    return code == FZ_OK ? json_scan_load(json, &scan, NULL, ret, err) : code;
}

enum fz_code
api_issue_markdown(struct api_call *call, const struct store_issue_details *details,
                   struct fz_error *err)
{
    bool with_values = false;
    json_auto_t *report = NULL;
    const char *id = *details->best ? details->best : details->newest;
    enum fz_code code = api_query_flag(call->request, "variables", &with_values, err);
    if (code == FZ_OK)
        code = load_report(call, id, with_values, &report, err);
    if (code != FZ_OK)
        return code;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    append_head(&out, &details->listed.issue);
    code = append_link(call, &out, details->listed.issue.number, err);
    if (code != FZ_OK)
        return code;
    if (report) {
        fz_buffer_text(&out, "## Stack\n\n");
        api_markdown_stack(&out, report);
        api_markdown_values(&out, report);
    }
    append_variants(&out, details);
    append_distribution(&out, details);
    code = fz_buffer_done(&out, err);
    if (code == FZ_OK)
        http_respond(call->request, 200, "text/markdown; charset=utf-8", fz_buffer_span(&out));
    return code;
}
