/*
 * contract_store: all tests against SQLite, or against the PostgreSQL of FRAMEZERO_TEST_POSTGRESQL
 * if the first argument is "postgresql", or against the same through the pooler of FRAMEZERO_TEST_PGBOUNCER if it is "pgbouncer".
 * Further arguments: only these groups of tests; "even" and "odd" are every other one.
 */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/query/query.h"
#include "storage/store_private.h"

void
contract_code(const struct contract *c, enum fz_code want, enum fz_code got, const char *what,
              int line)
{
    if (want == got)
        return;
    print_error("line %d: %s\n  gave %s, wanted %s: %s\n", line, what, fz_code_name(got),
                fz_code_name(want), got ? c->err.text : "");
    fail();
}

bool
contract_is_sqlite(const struct contract *c)
{
    return strncmp(c->url, "sqlite:", strlen("sqlite:")) == 0;
}

enum fz_code
contract_insert(struct store *store, struct store_report_new *items, size_t n, struct fz_error *err)
{
    struct store_packed *packed = calloc(n + 1, sizeof(*packed));
    assert_non_null(packed);
    enum fz_code code = FZ_OK;
    for (size_t i = 0; code == FZ_OK && i < n; i++) {
        packed[i].item = &items[i];
        code = store_pack(items[i].body, NULL, &packed[i].body, &packed[i].body_len, err);
    }
    if (code == FZ_OK)
        code = store_report_insert_packed(store, packed, n, err);
    for (size_t i = 0; i < n; i++)
        free(packed[i].body);
    free(packed);
    return code;
}

/* ---- reports and jobs ---- */

struct store_report_new
contract_item(int64_t project, const char *body)
{
    struct store_report_new item = {.project_id = project,
                                    .reader = "framezero",
                                    .format = "framezero",
                                    .body = fz_span_cstr(body),
                                    .received_ms = 1700000000000};
    struct fz_uuid id = fz_uuid_new();
    fz_uuid_format(&id, item.id);
    fz_sha256_hex(item.body, item.body_sha256);
    return item;
}

void
contract_report(struct contract *c, int64_t project, const char *body, char ret_id[STORE_ID_TEXT])
{
    struct store_report_new item = contract_item(project, body);
    assert_ok(c, contract_insert(c->store, &item, 1, &c->err));
    assert_int_equal(item.code, FZ_OK);
    assert_false(item.is_duplicate);
    memcpy(ret_id, item.id, STORE_ID_TEXT);
}

void
contract_upload(struct contract *c, int64_t project, char ret_id[STORE_ID_TEXT])
{
    struct store_upload upload = {.project_id = project, .name = "App.zip", .size = 123};
    struct fz_uuid id = fz_uuid_new();
    fz_uuid_format(&id, upload.id);
    fz_sha256_hex(fz_span_cstr(upload.id), upload.blob_sha256);
    assert_ok(c, store_upload_insert(c->store, &upload, &c->err));
    memcpy(ret_id, upload.id, STORE_ID_TEXT);
}

size_t
contract_claim_all(struct contract *c, struct store_job *ret, size_t max)
{
    size_t n = 0;
    assert_ok(c, store_job_claim(c->store, "test", max, 60000, ret, &n, &c->err));
    return n;
}

struct store_job
contract_claim(struct contract *c, const char *id)
{
    struct store_job job = {0};
    assert_int_equal(contract_claim_all(c, &job, 1), 1);
    if (id)
        assert_string_equal(job.subject, id);
    return job;
}

struct fz_uuid
contract_uuid(char c)
{
    struct fz_uuid uuid = {{0}};
    uuid.bytes[0] = (uint8_t)c;
    uuid.bytes[15] = 1;
    return uuid;
}

const union fz_value *
contract_values(struct contract *c, const char *const *pairs)
{
    union fz_value *values = fz_arena_array(&c->arena, report_columns.n, sizeof(*values));
    assert_non_null(values);
    for (; *pairs; pairs += 2) {
        size_t at = 0;
        while (at < report_columns.n && strcmp(report_columns.list[at].name, pairs[0]) != 0)
            at++;
        assert_true(at < report_columns.n && !report_columns.list[at].is_fixed);
        if (fz_column_is_text(&report_columns.list[at]))
            values[at].text = pairs[1];
        else
            values[at].number = strtoll(pairs[1], NULL, 10);
    }
    return values;
}

const char *
contract_text(const struct store_report *report, const char *column)
{
    return fz_columns_text(&report_columns, report->values, column);
}

static void
add_time(struct contract *c, struct store_query *query, enum store_op op, int64_t time_ms)
{
    struct store_condition *list = fz_arena_array(&c->arena, query->n + 1, sizeof(*list));
    struct store_query_value *value = fz_arena_alloc(&c->arena, sizeof(*value));
    assert_true(list && value);
    for (size_t i = 0; i < query->n; i++)
        list[i] = query->conditions[i];
    *value = (struct store_query_value){.number = time_ms};
    list[query->n++] = (struct store_condition){
        .field = STORE_FIELD_CRASHED, .op = op, .values = value, .n_values = 1};
    query->conditions = list;
}

static enum fz_code
read_query(struct contract *c, const struct contract_filter *filter, struct store_query *ret)
{
    struct query_parameter list[32];
    size_t n = filter ? filter->n_where : 0;
    *ret = (struct store_query){.now_ms = 1};
    assert_true(n <= FZ_ARRAY_LEN(list));
    for (size_t i = 0; i < n; i++)
        list[i] = (struct query_parameter){filter->where[i].filter, filter->where[i].value};
    enum fz_code code = query_add_parameters(ret, list, n, &c->arena, &c->err);
    ret->since_ms = filter ? filter->since_ms : 0;
    ret->until_ms = filter ? filter->until_ms : 0;
    if (filter && filter->crashed_since_ms)
        add_time(c, ret, STORE_OP_AT_LEAST, filter->crashed_since_ms);
    if (filter && filter->crashed_until_ms)
        add_time(c, ret, STORE_OP_LESS, filter->crashed_until_ms);
    return code;
}

struct store_query
contract_query(struct contract *c, const struct contract_filter *filter)
{
    struct store_query query;
    assert_ok(c, read_query(c, filter, &query));
    return query;
}

enum fz_code
contract_report_list(struct contract *c, int64_t project, const struct contract_filter *filter,
                     const char *cursor, size_t limit, struct store_report **ret, size_t *ret_n,
                     const char **ret_cursor)
{
    struct store_page page = {.cursor = cursor, .limit = limit};
    struct store_query query;
    enum fz_code code = read_query(c, filter, &query);
    if (code != FZ_OK)
        return code;
    const struct store_report_search search = {
        .query = &query, .order = filter ? filter->order : STORE_NEWEST_FIRST};
    code = store_report_search(c->store, project, &search, &page, &c->arena, ret, &c->err);
    *ret_n = page.n;
    *ret_cursor = page.next;
    return code;
}

enum fz_code
contract_symbol_list(struct contract *c, int64_t project, const struct fz_uuid *uuid,
                     const char *cursor, size_t limit, struct store_symbol **ret, size_t *ret_n,
                     const char **ret_cursor)
{
    struct store_page page = {.cursor = cursor, .limit = limit};
    enum fz_code code = store_symbol_list(c->store, project, uuid, &page, &c->arena, ret, &c->err);
    *ret_n = page.n;
    *ret_cursor = page.next;
    return code;
}

enum fz_code
contract_finish(struct contract *c, const struct store_job *job, const char *waits)
{
    struct store_image_wait list[16];
    size_t n = 0;
    for (; waits && waits[n]; n++)
        list[n] = (struct store_image_wait){contract_uuid(waits[n]), "Shop", "arm64"};
    struct store_image images[] = {{contract_uuid('a'), "a"}, {contract_uuid('b'), NULL}};
    struct store_report_done done = {
        .status = n ? STORE_REPORT_UNSYMBOLICATED : STORE_REPORT_SYMBOLICATED,
        .values = contract_values(c, (const char *const[]){"app_version", "4.2", NULL}),
        .result = fz_span_cstr("{\"threads\":[]}"),
        .waits = list,
        .n_waits = n,
        .images = images,
        .n_images = 2};
    return store_job_finish_report(c->store, job, &done, &c->err);
}

enum fz_code
contract_finish_upload(struct contract *c, const struct store_job *job, const char *uuids,
                       enum store_symbol_state state, uint64_t *ret_unblocked)
{
    struct store_symbol symbols[16] = {0};
    char hashes[16][FZ_SHA256_TEXT];
    size_t n = 0;
    for (; uuids[n]; n++) {
        fz_sha256_hex(fz_span_make(&uuids[n], 1), hashes[n]);
        symbols[n] =
            (struct store_symbol){.uuid = contract_uuid(uuids[n]),
                                  .arch = "arm64",
                                  .kind = STORE_SYMBOL_DSYM,
                                  .name = "Shop",
                                  .size = 77,
                                  .state = state,
                                  .file_sha256 = hashes[n],
                                  /* One that cannot be read has none. */
                                  .index_sha256 = state == STORE_SYMBOL_FAILED ? NULL : hashes[n],
                                  .index_version = 1,
                                  .features_json = "{}",
                                  .problems_json = "[]",
                                  .uploaded_ms = 1700000000000,
                                  .has_dwarf = true};
    }
    enum fz_code code =
        store_job_register_symbols(c->store, job, symbols, n, &c->arena, ret_unblocked, &c->err);
    if (code != FZ_OK)
        return code;
    size_t n_new = 0;
    for (size_t i = 0; i < n; i++)
        n_new += symbols[i].is_new;
    const char *result = fz_arena_printf(&c->arena, "{\"new\":%zu}", n_new);
    assert_non_null(result);
    return store_job_finish_upload(c->store, job, result, &c->err);
}

void
contract_fork(struct contract *c, int n, contract_child_fn fn, void *user)
{
    pid_t children[16];
    assert_true(n <= 16);
    fflush(NULL);
    for (int i = 0; i < n; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            /* The parent's connection must not be used here, not even closed. */
            struct contract own = *c;
            own.store = NULL;
            fz_arena_init(&own.arena, 64 * 1024 * 1024);
            int failed = store_open(own.url, &own.store, &own.err) != FZ_OK || fn(&own, i, user);
            if (failed)
                fprintf(stderr, "child %d: %s\n", i, own.err.text);
            store_close(own.store);
            fz_arena_deinit(&own.arena);
            _exit(failed);
        }
    }
    int n_failed = 0;
    for (int i = 0; i < n; i++) {
        int status = 0;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        n_failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    assert_int_equal(n_failed, 0);
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } groups[] = {
        {"projects", contract_run_projects},
        {"migrate", contract_run_migrate},
        {"reports", contract_run_reports},
        {"list", contract_run_list},
        {"jobs", contract_run_jobs},
        {"queue", contract_run_queue},
        {"unblock", contract_run_unblock},
        {"rebuild", contract_run_rebuild},
        {"isolation", contract_run_isolation},
        {"row_security", contract_run_row_security},
        {"learned", contract_run_learned},
        {"chunks", contract_run_chunks},
        {"sessions", contract_run_sessions},
        {"versions", contract_run_versions},
        {"usage", contract_run_usage},
        {"audit", contract_run_audit},
        {"people", contract_run_people},
        {"changes", contract_run_changes},
        {"memory", contract_run_memory},
        {"dictionaries", contract_run_dictionaries},
        {"retention", contract_run_retention},
        {"months", contract_run_months},
        {"runs", contract_run_runs},
        {"grouping", contract_run_grouping},
        {"outbox", contract_run_outbox},
        {"channels", contract_run_channels},
        {"users", contract_run_users},
        {"issue_actions", contract_run_issue_actions},
        {"lists", contract_run_lists},
        {"rules", contract_run_rules},
        {"rules_many", contract_run_rules_many},
        {"similar", contract_run_similar},
        {"committer", contract_run_committer},
        {"processes", contract_run_processes},
        {"ints", contract_run_ints},
        {"sealing", contract_run_sealing},
    };
    int n_failed = 0, first = 1;
    if (argc > 1 && (strcmp(argv[1], "pgbouncer") == 0 || strcmp(argv[1], "postgresql") == 0)) {
        first = 2;
        if (!contract_use_postgresql(strcmp(argv[1], "pgbouncer") == 0))
            return 77;
    }
    /* Every other group, beginning with the first or the second: what two processes share. */
    static const char *const halves[] = {"even", "odd"};
    int n_meant = 0;
    for (size_t i = 0; i < FZ_ARRAY_LEN(groups); i++) {
        bool is_meant = argc <= first;
        for (int j = first; j < argc; j++)
            is_meant = is_meant || strcmp(argv[j], groups[i].name) == 0 ||
                       strcmp(argv[j], halves[i % 2]) == 0;
        n_meant += is_meant;
        n_failed += is_meant ? groups[i].run() : 0;
    }
    if (n_meant < argc - first)
        puts("there is no such group of tests");
    return n_failed != 0 || n_meant < argc - first;
}
