#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/sql/sql.h"

enum { N = 7 };

/* Seven reports, A to G, one a second from 1000 on; G and F share their time. */
static const struct {
    enum store_report_status status;
    int64_t timestamp_ms;
    const char *values[48]; /* column, value... */
} columns[N] = {
    {STORE_REPORT_SYMBOLICATED, 900, {"app_id",       "com.acme.shop",
                                      "app_name",     "Shop",
                                      "app_version",  "4.2",
                                      "app_build",    "4201",
                                      "os_name",      "iOS",
                                      "os_version",   "18.1",
                                      "device_model", "iPhone15,2",
                                      "arch",         "arm64",
                                      "signal",       "SIGSEGV",
                                      "exception",    "NSRangeException",
                                      "reason",       "index 7",
                                      "top_function", "inner(int)",
                                      "top_file",     "/src/work.c",
                                      "top_line",     "2",
                                      "kind",         "crash",
                                      "os_build",     "22B83",
                                      "mach",         "EXC_BAD_ACCESS",
                                      "code",         "KERN_INVALID_ADDRESS",
                                      "environment",  "production",
                                      "release",      "com.acme.shop@4.2+4201",
                                      "user_id",      "u-1",
                                      "tags",         "\nchannel=beta\nplan=pro\n"}},
    {STORE_REPORT_PARTIAL,
     650,
     {"app_id", "com.acme.shop", "app_version", "4.3", "signal", "SIGABRT", "kind", "hang",
      "user_id", "u-1", "tags", "\nchannel=store\n"}},
    {STORE_REPORT_UNSYMBOLICATED,
     0,
     {"app_name", "100%_sure!", "os_name", "macOS", "arch", "x86_64"}},
    {STORE_REPORT_SYMBOLICATED,
     0,
     {"top_function", "Worker.run()", "top_file", "/src/Worker.swift"}},
    {STORE_REPORT_SYMBOLICATED, 0, {"top_function", "a_b", "top_file", "/src/a%b.m"}},
    {STORE_REPORT_SYMBOLICATED,
     0,
     {"top_function", "axb", "reason", "it's \"quoted\"; DROP TABLE x"}},
    {STORE_REPORT_SYMBOLICATED, 0, {"app_name", "caf\xc3\xa9"}},
};

static const char *
value_of(size_t report, const char *column)
{
    for (size_t i = 0; columns[report].values[i]; i += 2) {
        if (strcmp(columns[report].values[i], column) == 0)
            return columns[report].values[i + 1];
    }
    return NULL;
}

/* With an issue for each, which they are found by, or without. */
static void
make_reports(struct contract *c, bool is_grouped)
{
    struct store_image images[N];
    static const char *const names[N] = {"libA", "libB", "libC", "libD", "libE", "libF", "libG"};
    for (size_t i = 0; i < N; i++) {
        char body[2] = {(char)('A' + i), 0};
        struct store_report_new item = contract_item(c->project, body);
        memset(item.id, body[0] - 'A' + 'a', sizeof(item.id) - 1);
        if (i == 6)
            memset(item.id, '0', sizeof(item.id) - 1);
        item.received_ms = 1000 * (int64_t)(i < 6 ? i + 1 : 6);
        assert_ok(c, contract_insert(c->store, &item, 1, &c->err));
        struct store_job job = contract_claim(c, item.id);
        images[i] = (struct store_image){contract_uuid(body[0]), names[i]};
        struct store_report_done done = {.status = columns[i].status,
                                         .timestamp_ms = columns[i].timestamp_ms,
                                         .values = contract_values(c, columns[i].values),
                                         .result = fz_span_cstr("{}"),
                                         .images = images,
                                         .n_images = i + 1};
        const char *function = value_of(i, "top_function"), *file = value_of(i, "top_file");
        struct store_grouping grouping = {.stack = fz_span_make(body, 1),
                                          .functions = &function,
                                          .n_functions = function != NULL,
                                          .files = &file,
                                          .n_files = file != NULL,
                                          .key = {(uint8_t)body[0]},
                                          .title = "",
                                          .variant_label = ""};
        done.grouping = is_grouped ? &grouping : NULL;
        assert_ok(c, store_job_finish_report(c->store, &job, &done, &c->err));
    }
}

/* The bodies of the listed reports, newest first, as one word. */
static void
list(struct contract *c, const struct contract_filter *filter, size_t limit, char *ret)
{
    const char *cursor = NULL;
    size_t at = 0;
    do {
        struct store_report *page;
        size_t n;
        assert_ok(c,
                  contract_report_list(c, c->project, filter, cursor, limit, &page, &n, &cursor));
        assert_true(n <= limit);
        for (size_t i = 0; i < n; i++) {
            struct fz_span body;
            assert_ok(
                c, store_report_body(c->store, c->project, page[i].id, &c->arena, &body, &c->err));
            ret[at++] = (char)body.data[0];
        }
        assert_true(!cursor || n == limit);
    } while (cursor);
    ret[at] = '\0';
}

static void
check_filters(struct contract *c, bool is_grouped)
{
    static const struct {
        struct contract_where where[16]; /* all must hold; of one name, one of them */
        struct contract_filter more;
        const char *want;
    } cases[] = {
        {{{0}}, {0}, "GFEDCBA"},
        {{{"status", "partial"}}, {0}, "B"},
        {{{"app", "com.acme.shop"}}, {0}, "BA"},
        {{{"app", "SHOP"}}, {0}, "A"},
        {{{"version", "4.2"}}, {0}, "A"},
        {{{"build", "4201"}}, {0}, "A"},
        {{{"os", "ios"}}, {0}, "A"},
        {{{"os", "18.1"}}, {0}, "A"},
        {{{"device", "iPhone15,2"}}, {0}, "A"},
        {{{"arch", "x86_64"}}, {0}, "C"},
        {{{"signal", "SIGABRT"}}, {0}, "B"},
        {{{"exception", "NSRangeException"}}, {0}, "A"},
        {{{"function", "inner"}}, {0}, "A"},
        {{{"function", "WORKER"}}, {0}, "D"},
        {{{"function", "a_b"}}, {0}, "E"},
        {{{"file", "a%b"}}, {0}, "E"},
        {{{"file", "src"}}, {0}, "EDA"},
        {{{"file", "SRC"}}, {0}, "EDA"},
        {{{"q", "100%_sure!"}}, {0}, "C"},
        {{{"q", "0%_"}}, {0}, "C"},
        {{{"q", "re!"}}, {0}, "C"},
        {{{"q", "a\\b"}}, {0}, ""},
        {{{"q", "it's \"quoted\"; DROP"}}, {0}, "F"},
        {{{"q", "caf\xc3\xa9"}}, {0}, "G"},
        {{{"q", "shop"}, {"signal", "SIGABRT"}}, {0}, "B"},
        {{{"uuid", "41000000000000000000000000000001"}}, {0}, "GFEDCBA"},
        {{{"uuid", "46000000-0000-0000-0000-000000000001"}}, {0}, "GF"},
        {{{"uuid", "99000000000000000000000000000001"}}, {0}, ""},
        {{{0}}, {.since_ms = 3000, .until_ms = 5000}, "DC"},
        {{{0}}, {.since_ms = 6000}, "GF"},
        {{{0}}, {.until_ms = 1000}, ""},
        {{{"status", "symbolicated"},
          {"app", "com.acme.shop"},
          {"version", "4.2"},
          {"build", "4201"},
          {"os", "iOS"},
          {"device", "iPhone15,2"},
          {"arch", "arm64"},
          {"signal", "SIGSEGV"},
          {"exception", "NSRangeException"},
          {"uuid", "41000000000000000000000000000001"},
          {"function", "inner"},
          {"file", "work"},
          {"q", "index"}},
         {.since_ms = 1, .until_ms = 9999},
         "A"},
        /* The new ones. */
        {{{"kind", "hang"}}, {0}, "B"},
        {{{"mach", "EXC_BAD_ACCESS"}}, {0}, "A"},
        {{{"code", "KERN_INVALID_ADDRESS"}}, {0}, "A"},
        {{{"environment", "production"}}, {0}, "A"},
        {{{"release", "com.acme.shop@4.2+4201"}}, {0}, "A"},
        {{{"os_version", "18.1"}}, {0}, "A"},
        {{{"os_version", "iOS"}}, {0}, ""},
        {{{"os_build", "22B83"}}, {0}, "A"},
        {{{"user", "u-1"}}, {0}, "BA"},
        {{{"format", "framezero"}}, {0}, "GFEDCBA"},
        {{{"tag", "channel:beta"}}, {0}, "A"},
        {{{"tag", "channel:bet"}}, {0}, ""},
        {{{"tag", "channel"}}, {0}, "BA"},
        {{{"tag", "chan"}}, {0}, ""},
        {{{"tag", "channel"}, {"tag", "plan:pro"}}, {0}, "A"},
        {{{"image", "libF"}}, {0}, "GF"},
        {{{"image", "lib"}}, {0}, ""},
        {{{"status", "partial"}, {"status", "unsymbolicated"}}, {0}, "CB"},
        {{{"status", "partial"}, {"status", "unsymbolicated"}, {"arch", "x86_64"}}, {0}, "C"},
        {{{0}}, {.order = STORE_OLDEST_FIRST}, "ABCDEFG"},
        /* B crashed before A; what has no time is the oldest. */
        {{{"user", "u-1"}}, {.order = STORE_CRASHED_LAST_FIRST}, "AB"},
        {{{"user", "u-1"}}, {.order = STORE_CRASHED_FIRST_FIRST}, "BA"},
        {{{0}}, {.order = STORE_CRASHED_LAST_FIRST, .crashed_since_ms = 1}, "AB"},
        {{{0}}, {.crashed_since_ms = 600, .crashed_until_ms = 700}, "B"},
        {{{0}}, {.crashed_until_ms = 700}, "B"},
    };
    char got[2 * N + 1];
    make_reports(c, is_grouped);
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct contract_filter filter = cases[i].more;
        while (filter.n_where < 16 && cases[i].where[filter.n_where].value)
            filter.n_where++;
        filter.where = cases[i].where;
        uint64_t count = 0;
        struct store_query query = contract_query(c, &filter);
        assert_ok(c, store_report_search_count(c->store, c->project, &query, 100, &c->arena, &count,
                                               &c->err));
        assert_int_equal(count, strlen(cases[i].want));
        assert_ok(c, store_report_search_count(c->store, c->project, &query, 1, &c->arena, &count,
                                               &c->err));
        assert_int_equal(count, *cases[i].want ? 1 : 0);
        for (size_t limit = 1; limit <= N + 1; limit += 3) {
            list(c, &filter, limit, got);
            if (strcmp(got, cases[i].want) != 0)
                fail_msg("case %zu, limit %zu: %s instead of %s", i, limit, got, cases[i].want);
        }
    }
}

static void
test_filters(void **state)
{
    check_filters(*state, false);
}

/* The same reports, found through their facts. */
static void
test_filters_of_facts(void **state)
{
    check_filters(*state, true);
}

static void
test_columns_come_back(void **state)
{
    struct contract *c = *state;
    struct store_report report;
    make_reports(c, false);
    assert_ok(c, store_report_get(c->store, c->project, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                  &c->arena, &report, &c->err));
    for (size_t i = 0; columns[0].values[i]; i += 2) {
        const char *want = columns[0].values[i + 1],
                   *text = contract_text(&report, columns[0].values[i]);
        if (strcmp(columns[0].values[i], "top_line") != 0 && (!text || strcmp(text, want) != 0))
            fail_msg("%s: %s instead of %s", columns[0].values[i], text ? text : "nothing", want);
    }
    for (size_t i = 0; i < report_columns.n; i++) {
        if (strcmp(report_columns.list[i].name, "top_line") == 0)
            assert_int_equal(report.values[i].number, 2);
    }
    assert_int_equal(report.timestamp_ms, 900);
    assert_null(report.error);
}

/* A column that storage has besides those of the table. */
static bool
is_own(const char *name)
{
    static const char *const own[] = {"key",        "project_id",  "id",         "body_sha256",
                                      "transient",  "status",      "format",     "error",
                                      "n_missing",  "n_processed", "image_set",  "wait_set",
                                      "claimed_id", "memory",      "is_grouped", "has_body"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(own); i++) {
        if (strcmp(name, own[i]) == 0)
            return true;
    }
    return false;
}

/* The migrations of each engine make the columns of the table, with their types, and no others. */
static void
test_table_is_the_schema(void **state)
{
    struct contract *c = *state;
    struct sql *sql = NULL;
    bool row = false, seen[64] = {false};
    size_t n_seen = 0;
    assert_ok(c, sql_open(c->url, false, &sql, &c->err));
    struct sql_rows rows = {0};
    bool is_sqlite = contract_is_sqlite(c);
    assert_ok(c, sql_query(sql,
                           is_sqlite ? "SELECT name, type FROM pragma_table_info('reports')"
                                     : "SELECT column_name::text, data_type::text FROM "
                                       "information_schema.columns WHERE table_name = 'reports' "
                                       "AND table_schema = current_schema()",
                           NULL, 0, &rows, &c->err));
    while (sql_next(&rows, &row, &c->err) == FZ_OK && row) {
        const char *name = sql_col_text(&rows, 0, &c->arena);
        const char *type = sql_col_text(&rows, 1, &c->arena);
        size_t at = 0;
        while (at < report_columns.n && strcmp(report_columns.list[at].name, name) != 0)
            at++;
        if (at == report_columns.n && !is_own(name))
            fail_msg("no row in the table of columns for %s", name);
        if (at == report_columns.n)
            continue;
        bool is_text = strcmp(type, "TEXT") == 0 || strcmp(type, "text") == 0;
        if (is_text != fz_column_is_text(&report_columns.list[at]))
            fail_msg("%s is %s in the database", name, type);
        n_seen += !seen[at];
        seen[at] = true;
    }
    sql_rows_close(&rows);
    sql_close(sql);
    for (size_t i = 0; i < report_columns.n; i++) {
        if (!seen[i])
            fail_msg("no migration adds %s", report_columns.list[i].name);
    }
    assert_int_equal(n_seen, report_columns.n);
}

/* Texts out of reports and symbol files may be anything. */
static void
test_odd_texts(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    size_t len = 3000000;
    char *huge = malloc(len + 1);
    assert_non_null(huge);
    memset(huge, 'x', len);
    for (size_t i = 0; i + 1 < len; i += 2) /* two-byte characters: a cut may fall inside one */
        memcpy(huge + i + 1 - (i + 2 > len), "\xc3\xa9", i + 2 > len ? 1 : 2);
    huge[len] = '\0';
    contract_report(c, c->project, "a", id);
    struct store_job job = contract_claim(c, id);
    struct store_image_wait wait = {contract_uuid('x'), "\xff\xfe", huge};
    const char *const odd[] = {"app_id",
                               "\xff"
                               "bad",
                               "app_version",
                               huge,
                               "device_model",
                               huge,
                               "reason",
                               huge,
                               "top_function",
                               "\xc3",
                               "signal",
                               "",
                               NULL};
    struct store_report_done done = {.status = STORE_REPORT_PARTIAL,
                                     .values = contract_values(c, odd),
                                     .result = fz_span_cstr("{}"),
                                     .waits = &wait,
                                     .n_waits = 1};
    assert_ok(c, store_job_finish_report(c->store, &job, &done, &c->err));
    struct store_report report;
    assert_ok(c, store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
    assert_string_equal(contract_text(&report, "app_id"), "\xef\xbf\xbd"
                                                          "bad");
    assert_string_equal(contract_text(&report, "top_function"), "\xef\xbf\xbd");
    assert_string_equal(contract_text(&report, "signal"), "");
    assert_true(strlen(contract_text(&report, "app_version")) <= 256);
    assert_true(strlen(contract_text(&report, "reason")) <= 4096 &&
                strlen(contract_text(&report, "reason")) >= 4094);
    struct store_missing *missing;
    size_t n;
    assert_ok(c, store_missing_list(c->store, c->project, 10, &c->arena, &missing, &n, &c->err));
    assert_int_equal(n, 1);
    assert_string_equal(missing[0].name, "\xef\xbf\xbd\xef\xbf\xbd");

    /* An odd query is the client's mistake and is reported as such. */
    struct store_report *list_;
    const char *cursor;
    const struct contract_where no_utf8 = {"app", "\xff"}, no_uuid = {"uuid", "zz"};
    struct contract_filter bad_text = {.where = &no_utf8, .n_where = 1},
                           bad_uuid = {.where = &no_uuid, .n_where = 1};
    assert_fails(c, FZ_E_MALFORMED,
                 contract_report_list(c, c->project, &bad_text, NULL, 10, &list_, &n, &cursor));
    assert_fails(c, FZ_E_MALFORMED,
                 contract_report_list(c, c->project, &bad_uuid, NULL, 10, &list_, &n, &cursor));
    assert_string_equal(c->err.text, "uuid: 'zz' is not a UUID");
    free(huge);
}

static void
test_bad_cursors(void **state)
{
    struct contract *c = *state;
    struct store_report *page;
    struct store_symbol *symbols;
    size_t n;
    const char *cursor;
    make_reports(c, false);
    assert_ok(c, contract_report_list(c, c->project, NULL, NULL, 3, &page, &n, &cursor));
    assert_non_null(cursor);
    assert_null(strpbrk(cursor, "+/=&?#"));
    char cut[128];
    snprintf(cut, sizeof(cut), "%.4s", cursor); /* before the key */
    char longer[256];
    memset(longer, 'A', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    const char *const bad[] = {"",        "x", "!", cut, longer, "MTAwMC4", "LmFh", "MTAwMC4nOy0t",
                               "\xff\xff"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(bad); i++) {
        assert_fails(c, FZ_E_MALFORMED,
                     contract_report_list(c, c->project, NULL, bad[i], 3, &page, &n, &cursor));
        assert_string_equal(c->err.text, "the cursor is not one of this list's");
        assert_fails(c, FZ_E_MALFORMED,
                     contract_symbol_list(c, c->project, NULL, bad[i], 3, &symbols, &n, &cursor));
    }
}

int
contract_run_list(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_filters),           contract_test(test_filters_of_facts),
        contract_test(test_columns_come_back), contract_test(test_table_is_the_schema),
        contract_test(test_odd_texts),         contract_test(test_bad_cursors),
    };
    return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
