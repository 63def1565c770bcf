/*
 * What an event about an issue says, and what filters look at: the issue, and its newest report.
 *
 * The newest report is that of the variant that was seen last: one step in each of two indexes,
 * however many reports the issue has.
 */
#include "storage/store_event.h"

#include <string.h>

#include "storage/store_issues.h"
#include "storage/store_terms.h"

enum { TEXTS_MAX = 128, MISSING_MAX = 20, FACTS_ROOM = 320, FIXES_MAX = 32 };

struct reader {
    struct store *store;
    struct fz_arena *arena;
    struct store_event_issue *ret;
    struct store_event_fact *facts;
    size_t n;
    int64_t received_ms, report_key, stack_key, status;
    int64_t terms[STORE_TERMS];
};

static void
add_fact(struct reader *r, enum store_field field, const char *text, int64_t number)
{
    if (((text && *text) || number) && r->n < FACTS_ROOM)
        r->facts[r->n++] =
            (struct store_event_fact){.field = field, .text = text, .number = number};
}

/* ---- the issue ---- */

static const char *
full_version(struct fz_arena *arena, const char *version, const char *build)
{
    if (!version || !*version)
        return NULL;
    return build && *build ? fz_arena_printf(arena, "%s (%s)", version, build) : version;
}

static void
add_states(struct reader *r, int64_t now)
{
    static const char *const names[] = {"open", "resolved", "ignored"};
    const struct store_event_issue *issue = r->ret;
    if (issue->state >= 0 && issue->state < (int64_t)FZ_ARRAY_LEN(names))
        add_fact(r, STORE_FIELD_IS, names[issue->state], 0);
    if (issue->is_regressed)
        add_fact(r, STORE_FIELD_IS, "regressed", 0);
    if (issue->is_placeholder)
        add_fact(r, STORE_FIELD_IS, "placeholder", 0);
    if (!issue->assignee)
        add_fact(r, STORE_FIELD_IS, "unassigned", 0);
    if (issue->state == STORE_ISSUE_OPEN && issue->first_ms >= now - STORE_QUERY_NEW_MS)
        add_fact(r, STORE_FIELD_IS, "new", 0);
    add_fact(r, STORE_FIELD_ISSUE, NULL, issue->number);
    add_fact(r, STORE_FIELD_ASSIGNEE, issue->assignee, 0);
    add_fact(r, STORE_FIELD_FIRST_SEEN, NULL, issue->first_ms);
    add_fact(r, STORE_FIELD_LAST_SEEN, NULL, issue->last_ms);
}

static void
add_version(struct reader *r, enum store_field field, const char *version, const char *build)
{
    add_fact(r, field, version, 0);
    if (build && *build)
        add_fact(r, field, full_version(r->arena, version, build), 0);
}

/* What it is resolved in. */
static enum fz_code
add_fixes(struct reader *r, int64_t issue_id, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(issue_id), sql_int(FIXES_MAX)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(r->store->sql,
                                  "SELECT version, build FROM issue_fixes WHERE issue_id = $1 AND "
                                  "is_after = 0 ORDER BY version, build LIMIT $2",
                                  args, FZ_ARRAY_LEN(args), &rows, err);
    while (sql_row(&rows, &code, err))
        add_version(r, STORE_FIELD_FIXED, sql_col_text(&rows, 0, r->arena),
                    sql_col_text(&rows, 1, r->arena));
    return code;
}

static enum fz_code
read_issue(struct reader *r, int64_t issue_id, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(issue_id)};
    struct store_issue issue;
    int64_t project_id = 0, number = 0, now = 0;
    bool found = false;
    enum fz_code code = sql_now(r->store->sql, &now, err);
    if (code == FZ_OK)
        code = sql_number(r->store->sql, "SELECT project_id FROM issues WHERE id = $1", args, 1,
                          &project_id, &found, err);
    if (code == FZ_OK && !found)
        return fz_fail(err, FZ_E_NOT_FOUND, "there is no issue with the id %lld",
                       (long long)issue_id);
    if (code == FZ_OK)
        code = sql_number(r->store->sql, "SELECT number FROM issues WHERE id = $1", args, 1,
                          &number, NULL, err);
    if (code == FZ_OK)
        code = store_issue_get(r->store, project_id, number, r->arena, &issue, err);
    if (code != FZ_OK)
        return code;
    *r->ret = (struct store_event_issue){
        .number = issue.number,
        .merged_into = issue.merged_into,
        .title = issue.title,
        .kind = issue.kind,
        .assignee = issue.assignee,
        .state = issue.state,
        .is_regressed = issue.is_regressed,
        .is_placeholder = issue.is_placeholder,
        .first_ms = issue.first_ms,
        .last_ms = issue.last_ms,
        .n_reports = issue.n_reports,
        .n_users = issue.n_users,
        .first_version = full_version(r->arena, issue.first_version, issue.first_build),
        .last_version = full_version(r->arena, issue.last_version, issue.last_build)};
    add_states(r, now);
    add_version(r, STORE_FIELD_INTRODUCED, issue.first_version, issue.first_build);
    return issue.state == STORE_ISSUE_RESOLVED ? add_fixes(r, issue_id, err) : FZ_OK;
}

/* ---- its newest report ---- */

static enum fz_code
find_newest(struct reader *r, int64_t issue_id, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(issue_id)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code = sql_query(
        r->store->sql,
        "SELECT received_ms, report_key, stack_key, status, version_id, os_id, device_id, arch_id, "
        "environment_id, kind_id, app_id, exception_id, signal_id, reason_id, user_id FROM facts "
        "WHERE variant_id = (SELECT id FROM variants WHERE issue_id = $1 ORDER BY last_ms DESC, id "
        "DESC LIMIT 1) ORDER BY received_ms DESC LIMIT 1",
        args, 1, &rows, err);
    if (!sql_row(&rows, &code, err))
        return code;
    r->received_ms = sql_col_int(&rows, 0);
    r->report_key = sql_col_int(&rows, 1);
    r->stack_key = sql_col_int(&rows, 2);
    r->status = sql_col_int(&rows, 3);
    for (int term = STORE_TERM_VERSION; term <= STORE_TERM_USER; term++)
        r->terms[term] = sql_col_int(&rows, 3 + term);
    add_fact(r, STORE_FIELD_RECEIVED, NULL, r->received_ms);
    if (r->status >= STORE_REPORT_QUEUED && r->status <= STORE_REPORT_FAILED)
        add_fact(r, STORE_FIELD_STATUS,
                 store_report_status_name((enum store_report_status)r->status), 0);
    return FZ_OK;
}

static void
add_term(struct reader *r, enum store_term term, const char *text, const char *detail)
{
    static const enum store_field fields[STORE_TERMS] = {
        [STORE_TERM_VERSION] = STORE_FIELD_VERSION,
        [STORE_TERM_OS] = STORE_FIELD_OS,
        [STORE_TERM_DEVICE] = STORE_FIELD_DEVICE,
        [STORE_TERM_ARCH] = STORE_FIELD_ARCH,
        [STORE_TERM_ENVIRONMENT] = STORE_FIELD_ENVIRONMENT,
        [STORE_TERM_KIND] = STORE_FIELD_KIND,
        [STORE_TERM_APP] = STORE_FIELD_APP,
        [STORE_TERM_EXCEPTION] = STORE_FIELD_EXCEPTION,
        [STORE_TERM_SIGNAL] = STORE_FIELD_SIGNAL,
        [STORE_TERM_REASON] = STORE_FIELD_REASON,
        [STORE_TERM_USER] = STORE_FIELD_USER,
        [STORE_TERM_FUNCTION] = STORE_FIELD_FUNCTION,
        [STORE_TERM_FILE] = STORE_FIELD_FILE,
    };
    add_fact(r, fields[term], text, 0);
    if (term == STORE_TERM_VERSION) {
        add_fact(r, STORE_FIELD_BUILD, detail, 0);
        r->ret->version = full_version(r->arena, text, detail);
    } else if (term == STORE_TERM_OS) {
        add_fact(r, STORE_FIELD_OS_VERSION, detail, 0);
    }
}

/* "name=value" as two. */
static void
add_tag(struct reader *r, const char *text)
{
    const char *equals = text ? strchr(text, '=') : NULL;
    if (!equals || r->n == FACTS_ROOM)
        return;
    const char *name = fz_arena_text(r->arena, fz_span_make(text, (size_t)(equals - text)));
    r->facts[r->n++] =
        (struct store_event_fact){.field = STORE_FIELD_TAG, .name = name, .text = equals + 1};
}

static enum fz_code
read_terms(struct reader *r, struct fz_error *err)
{
    enum fz_code code = FZ_OK;
    for (int term = STORE_TERM_VERSION; code == FZ_OK && term <= STORE_TERM_USER; term++) {
        const struct sql_value args[] = {sql_int(r->terms[term])};
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        if (!r->terms[term])
            continue;
        code = sql_query(r->store->sql, "SELECT text, detail FROM terms WHERE id = $1", args, 1,
                         &rows, err);
        if (sql_row(&rows, &code, err))
            add_term(r, (enum store_term)term, sql_col_text(&rows, 0, r->arena),
                     sql_col_text(&rows, 1, r->arena));
    }
    return code;
}

static enum fz_code
read_texts(struct reader *r, struct fz_error *err)
{
    const struct sql_value stack[] = {sql_int(r->stack_key), sql_int(TEXTS_MAX)};
    const struct sql_value report[] = {sql_int(r->report_key), sql_int(r->received_ms)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    FZ_CLEANUP(sql_rows_close) struct sql_rows tags = {0};
    enum fz_code code = sql_query(r->store->sql,
                                  "SELECT t.field, t.text FROM stack_terms s JOIN terms t ON t.id "
                                  "= s.term_id WHERE s.stack_key = $1 LIMIT $2",
                                  stack, FZ_ARRAY_LEN(stack), &rows, err);
    while (sql_row(&rows, &code, err))
        add_term(r, (enum store_term)sql_col_int(&rows, 0), sql_col_text(&rows, 1, r->arena), NULL);
    if (code == FZ_OK)
        code = sql_query(r->store->sql,
                         "SELECT t.text FROM fact_tags f JOIN terms t ON t.id = f.term_id WHERE "
                         "f.report_key = $1 AND f.received_ms = $2",
                         report, FZ_ARRAY_LEN(report), &tags, err);
    while (sql_row(&tags, &code, err))
        add_tag(r, sql_col_text(&tags, 0, r->arena));
    return code;
}

static enum fz_code
read_stack(struct reader *r, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(r->stack_key)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    enum fz_code code =
        sql_query(r->store->sql, "SELECT body FROM stacks WHERE key = $1", args, 1, &rows, err);
    if (sql_row(&rows, &code, err))
        code = store_unpack(sql_col_bytes(&rows, 0), r->arena, &r->ret->stack, err);
    /* Damaged: better an event without its frames than none, which all others would wait for. */
    return code == FZ_E_INTERNAL ? FZ_OK : code;
}

static enum fz_code
read_missing(struct reader *r, struct fz_error *err)
{
    const struct sql_value args[] = {sql_int(r->report_key), sql_int(MISSING_MAX)};
    FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
    struct sql_list list = {.arena = r->arena, .item = sizeof(struct store_missing)};
    enum fz_code code =
        sql_query(r->store->sql,
                  "SELECT i.uuid, i.name, i.arch FROM reports p JOIN wait_set_items i ON i.set_key "
                  "= p.wait_set WHERE p.key = $1 ORDER BY i.name, i.uuid LIMIT $2",
                  args, FZ_ARRAY_LEN(args), &rows, err);
    for (struct store_missing *one; (one = sql_list_next(&rows, &list, &code, err));) {
        struct fz_span uuid = sql_col_bytes(&rows, 0);
        if (uuid.len == sizeof(one->uuid.bytes))
            memcpy(one->uuid.bytes, uuid.data, uuid.len);
        one->name = sql_col_text(&rows, 1, r->arena);
        one->arch = sql_col_text(&rows, 2, r->arena);
    }
    return sql_list_done(&list, code, &r->ret->missing, &r->ret->n_missing);
}

enum fz_code
store_event_issue_get(struct store *store, int64_t issue_id, struct fz_arena *arena,
                      struct store_event_issue *ret, struct fz_error *err)
{
    struct store_event_issue issue = {.number = 0};
    struct reader r = {.store = store,
                       .arena = arena,
                       .ret = &issue,
                       .facts = fz_arena_array(arena, FACTS_ROOM, sizeof(*r.facts))};
    if (!r.facts)
        return fz_arena_fail(arena, err);
    enum fz_code code = read_issue(&r, issue_id, err);
    if (code == FZ_OK)
        code = find_newest(&r, issue_id, err);
    if (code == FZ_OK)
        code = read_terms(&r, err);
    if (code == FZ_OK)
        code = read_texts(&r, err);
    if (code == FZ_OK && r.stack_key)
        code = read_stack(&r, err);
    if (code == FZ_OK && r.report_key > 0)
        code = read_missing(&r, err);
    if (code != FZ_OK)
        return code;
    issue.facts = r.facts;
    issue.n_facts = r.n;
    *ret = issue;
    return FZ_OK;
}
