#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 7 };

/* Seven reports, A to G, one a second from 1000 on; G and F share their time. */
static const struct store_report columns[N] = {
    {.status = "symbolicated",
     .app_id = "com.acme.shop",
     .app_name = "Shop",
     .app_version = "4.2",
     .app_build = "4201",
     .os_name = "iOS",
     .os_version = "18.1",
     .device_model = "iPhone15,2",
     .arch = "arm64",
     .signal = "SIGSEGV",
     .exception = "NSRangeException",
     .reason = "index 7",
     .top_function = "inner(int)",
     .top_file = "/src/work.c",
     .top_line = 2,
     .timestamp_ms = 900,
     .kind = "crash",
     .os_build = "22B83",
     .mach = "EXC_BAD_ACCESS",
     .code = "KERN_INVALID_ADDRESS",
     .environment = "production",
     .release = "com.acme.shop@4.2+4201",
     .user = "u-1",
     .tags = "\nchannel=beta\nplan=pro\n"},
    {.status = "partial",
     .app_id = "com.acme.shop",
     .app_version = "4.3",
     .signal = "SIGABRT",
     .timestamp_ms = 650,
     .kind = "hang",
     .user = "u-1",
     .tags = "\nchannel=store\n"},
    {.status = "unsymbolicated", .app_name = "100%_sure!", .os_name = "macOS", .arch = "x86_64"},
    {.status = "symbolicated", .top_function = "Worker.run()", .top_file = "/src/Worker.swift"},
    {.status = "symbolicated", .top_function = "a_b", .top_file = "/src/a%b.m"},
    {.status = "symbolicated", .top_function = "axb", .reason = "it's \"quoted\"; DROP TABLE x"},
    {.status = "symbolicated", .app_name = "caf\xc3\xa9"},
};

static void
make_reports(struct contract *c)
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
        assert_ok(c, store_report_insert(c->store, &item, 1, &c->err));
        struct store_job job = contract_claim(c, item.id);
        images[i] = (struct store_image){contract_uuid(body[0]), names[i]};
        struct store_report_done done = {.columns = columns[i],
                                         .result = fz_span_cstr("{}"),
                                         .images = images,
                                         .n_images = i + 1};
        assert_ok(c, store_job_finish_report(c->store, &job, &done, &c->err));
    }
}

/* The bodies of the listed reports, newest first, as one word. */
static void
list(struct contract *c, const struct store_report_filter *filter, size_t limit, char *ret)
{
    const char *cursor = NULL;
    size_t at = 0;
    do {
        struct store_report *page;
        size_t n;
        assert_ok(c, store_report_list(c->store, c->project, filter, cursor, limit, &c->arena,
                                       &page, &n, &cursor, &c->err));
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
test_filters(void **state)
{
    struct contract *c = *state;
    static const struct {
        struct store_report_where where[16]; /* all must hold, but those of a group: one of them */
        struct store_report_filter more;
        const char *want;
    } cases[] = {
        {{{0}}, {0}, "FGEDCBA"},
        {{{STORE_BY_STATUS, "partial", 0}}, {0}, "B"},
        {{{STORE_BY_STATUS, "nope", 0}}, {0}, ""},
        {{{STORE_BY_APP, "com.acme.shop", 0}}, {0}, "BA"},
        {{{STORE_BY_APP, "SHOP", 0}}, {0}, "A"},
        {{{STORE_BY_VERSION, "4.2", 0}}, {0}, "A"},
        {{{STORE_BY_BUILD, "4201", 0}}, {0}, "A"},
        {{{STORE_BY_OS, "ios", 0}}, {0}, "A"},
        {{{STORE_BY_OS, "18.1", 0}}, {0}, "A"},
        {{{STORE_BY_DEVICE, "iPhone15,2", 0}}, {0}, "A"},
        {{{STORE_BY_ARCH, "x86_64", 0}}, {0}, "C"},
        {{{STORE_BY_SIGNAL, "SIGABRT", 0}}, {0}, "B"},
        {{{STORE_BY_EXCEPTION, "NSRangeException", 0}}, {0}, "A"},
        {{{STORE_BY_FUNCTION, "inner", 0}}, {0}, "A"},
        {{{STORE_BY_FUNCTION, "WORKER", 0}}, {0}, "D"},
        {{{STORE_BY_FUNCTION, "a_b", 0}}, {0}, "E"},
        {{{STORE_BY_FILE, "a%b", 0}}, {0}, "E"},
        {{{STORE_BY_FILE, "src", 0}}, {0}, "EDA"},
        {{{STORE_BY_FILE, "SRC", 0}}, {0}, "EDA"},
        {{{STORE_BY_Q, "100%_sure!", 0}}, {0}, "C"},
        {{{STORE_BY_Q, "%", 0}}, {0}, "EC"},
        {{{STORE_BY_Q, "!", 0}}, {0}, "C"},
        {{{STORE_BY_Q, "\\", 0}}, {0}, ""},
        {{{STORE_BY_Q, "'", 0}}, {0}, "F"},
        {{{STORE_BY_Q, "it's \"quoted\"; DROP", 0}}, {0}, "F"},
        {{{STORE_BY_Q, "caf\xc3\xa9", 0}}, {0}, "G"},
        {{{STORE_BY_Q, "shop", 0}, {STORE_BY_SIGNAL, "SIGABRT", 0}}, {0}, "B"},
        {{{STORE_BY_UUID, "41000000000000000000000000000001", 0}}, {0}, "FGEDCBA"},
        {{{STORE_BY_UUID, "46000000-0000-0000-0000-000000000001", 0}}, {0}, "FG"},
        {{{STORE_BY_UUID, "99000000000000000000000000000001", 0}}, {0}, ""},
        {{{0}}, {.since_ms = 3000, .until_ms = 5000}, "DC"},
        {{{0}}, {.since_ms = 6000}, "FG"},
        {{{0}}, {.until_ms = 1000}, ""},
        {{{STORE_BY_STATUS, "symbolicated", 0},
          {STORE_BY_APP, "com.acme.shop", 0},
          {STORE_BY_VERSION, "4.2", 0},
          {STORE_BY_BUILD, "4201", 0},
          {STORE_BY_OS, "iOS", 0},
          {STORE_BY_DEVICE, "iPhone15,2", 0},
          {STORE_BY_ARCH, "arm64", 0},
          {STORE_BY_SIGNAL, "SIGSEGV", 0},
          {STORE_BY_EXCEPTION, "NSRangeException", 0},
          {STORE_BY_UUID, "41000000000000000000000000000001", 0},
          {STORE_BY_FUNCTION, "inner", 0},
          {STORE_BY_FILE, "work", 0},
          {STORE_BY_Q, "index", 0}},
         {.since_ms = 1, .until_ms = 9999},
         "A"},
        /* The new ones. */
        {{{STORE_BY_KIND, "hang", 0}}, {0}, "B"},
        {{{STORE_BY_MACH, "EXC_BAD_ACCESS", 0}}, {0}, "A"},
        {{{STORE_BY_CODE, "KERN_INVALID_ADDRESS", 0}}, {0}, "A"},
        {{{STORE_BY_ENVIRONMENT, "production", 0}}, {0}, "A"},
        {{{STORE_BY_RELEASE, "com.acme.shop@4.2+4201", 0}}, {0}, "A"},
        {{{STORE_BY_OS_VERSION, "18.1", 0}}, {0}, "A"},
        {{{STORE_BY_OS_VERSION, "iOS", 0}}, {0}, ""},
        {{{STORE_BY_OS_BUILD, "22B83", 0}}, {0}, "A"},
        {{{STORE_BY_USER, "u-1", 0}}, {0}, "BA"},
        {{{STORE_BY_FORMAT, "framezero", 0}}, {0}, "FGEDCBA"},
        {{{STORE_BY_TAG, "channel:beta", 0}}, {0}, "A"},
        {{{STORE_BY_TAG, "channel:bet", 0}}, {0}, ""},
        {{{STORE_BY_TAG, "channel", 0}}, {0}, "BA"},
        {{{STORE_BY_TAG, "chan", 0}}, {0}, ""},
        {{{STORE_BY_TAG, "channel", 0}, {STORE_BY_TAG, "plan:pro", 0}}, {0}, "A"},
        {{{STORE_BY_IMAGE, "libF", 0}}, {0}, "FG"},
        {{{STORE_BY_IMAGE, "lib", 0}}, {0}, ""},
        {{{STORE_BY_STATUS, "partial", 7}, {STORE_BY_STATUS, "unsymbolicated", 7}}, {0}, "CB"},
        {{{STORE_BY_STATUS, "partial", 7},
          {STORE_BY_STATUS, "unsymbolicated", 7},
          {STORE_BY_ARCH, "x86_64", 0}},
         {0},
         "C"},
        {{{STORE_BY_APP, "shop", 7}, {STORE_BY_FUNCTION, "axb", 7}}, {0}, "FA"},
        {{{0}}, {.order = STORE_OLDEST_FIRST}, "ABCDEGF"},
        /* B crashed before A; what has no time is the oldest. */
        {{{STORE_BY_USER, "u-1", 0}}, {.order = STORE_CRASHED_LAST_FIRST}, "AB"},
        {{{STORE_BY_USER, "u-1", 0}}, {.order = STORE_CRASHED_FIRST_FIRST}, "BA"},
        {{{0}}, {.order = STORE_CRASHED_LAST_FIRST, .crashed_since_ms = 1}, "AB"},
        {{{0}}, {.crashed_since_ms = 600, .crashed_until_ms = 700}, "B"},
        {{{0}}, {.crashed_until_ms = 700}, "B"},
    };
    char got[2 * N + 1];
    make_reports(c);
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct store_report_where where[16];
        struct store_report_filter filter = cases[i].more;
        while (filter.n_where < 16 && cases[i].where[filter.n_where].value) {
            where[filter.n_where] = cases[i].where[filter.n_where];
            if (where[filter.n_where].group == 0)
                where[filter.n_where].group = 100 + (unsigned)filter.n_where;
            filter.n_where++;
        }
        filter.where = where;
        uint64_t count = 0;
        assert_ok(
            c, store_report_count(c->store, c->project, &filter, 100, &c->arena, &count, &c->err));
        assert_int_equal(count, strlen(cases[i].want));
        assert_ok(c,
                  store_report_count(c->store, c->project, &filter, 1, &c->arena, &count, &c->err));
        assert_int_equal(count, *cases[i].want ? 1 : 0);
        for (size_t limit = 1; limit <= N + 1; limit += 3) {
            list(c, &filter, limit, got);
            if (strcmp(got, cases[i].want) != 0)
                fail_msg("case %zu, limit %zu: %s instead of %s", i, limit, got, cases[i].want);
        }
    }
}

static void
test_columns_come_back(void **state)
{
    struct contract *c = *state;
    struct store_report report;
    make_reports(c);
    assert_ok(c, store_report_get(c->store, c->project, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                                  &c->arena, &report, &c->err));
    const struct store_report *want = &columns[0];
    assert_string_equal(report.app_id, want->app_id);
    assert_string_equal(report.app_name, want->app_name);
    assert_string_equal(report.app_build, want->app_build);
    assert_string_equal(report.os_name, want->os_name);
    assert_string_equal(report.os_version, want->os_version);
    assert_string_equal(report.device_model, want->device_model);
    assert_string_equal(report.arch, want->arch);
    assert_string_equal(report.signal, want->signal);
    assert_string_equal(report.exception, want->exception);
    assert_string_equal(report.reason, want->reason);
    assert_string_equal(report.top_function, want->top_function);
    assert_string_equal(report.top_file, want->top_file);
    assert_int_equal(report.top_line, 2);
    assert_string_equal(report.kind, want->kind);
    assert_string_equal(report.os_build, want->os_build);
    assert_string_equal(report.mach, want->mach);
    assert_string_equal(report.code, want->code);
    assert_string_equal(report.environment, want->environment);
    assert_string_equal(report.release, want->release);
    assert_string_equal(report.user, want->user);
    assert_null(report.error);
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
    struct store_report_done done = {.columns = {.status = "partial",
                                                 .app_id = "\xff"
                                                           "bad",
                                                 .app_version = huge,
                                                 .device_model = huge,
                                                 .reason = huge,
                                                 .top_function = "\xc3",
                                                 .signal = ""},
                                     .result = fz_span_cstr("{}"),
                                     .waits = &wait,
                                     .n_waits = 1};
    assert_ok(c, store_job_finish_report(c->store, &job, &done, &c->err));
    struct store_report report;
    assert_ok(c, store_report_get(c->store, c->project, id, &c->arena, &report, &c->err));
    assert_string_equal(report.app_id, "\xef\xbf\xbd"
                                       "bad");
    assert_string_equal(report.top_function, "\xef\xbf\xbd");
    assert_string_equal(report.signal, "");
    assert_true(strlen(report.app_version) <= 256);
    assert_true(strlen(report.reason) <= 4096 && strlen(report.reason) >= 4094);
    struct store_missing *missing;
    size_t n;
    assert_ok(c, store_missing_list(c->store, c->project, 10, &c->arena, &missing, &n, &c->err));
    assert_int_equal(n, 1);
    assert_string_equal(missing[0].name, "\xef\xbf\xbd\xef\xbf\xbd");

    /* What a client asks for may be odd too; that is its mistake and told as one. */
    struct store_report *list_;
    const char *cursor;
    const struct store_report_where no_utf8 = {STORE_BY_APP, "\xff", 0},
                                    no_uuid = {STORE_BY_UUID, "zz", 0};
    struct store_report_filter bad_text = {.where = &no_utf8, .n_where = 1},
                               bad_uuid = {.where = &no_uuid, .n_where = 1};
    assert_fails(c, FZ_E_MALFORMED,
                 store_report_list(c->store, c->project, &bad_text, NULL, 10, &c->arena, &list_, &n,
                                   &cursor, &c->err));
    assert_fails(c, FZ_E_MALFORMED,
                 store_report_list(c->store, c->project, &bad_uuid, NULL, 10, &c->arena, &list_, &n,
                                   &cursor, &c->err));
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
    make_reports(c);
    assert_ok(c, store_report_list(c->store, c->project, NULL, NULL, 3, &c->arena, &page, &n,
                                   &cursor, &c->err));
    assert_non_null(cursor);
    assert_null(strpbrk(cursor, "+/=&?#"));
    char cut[128];
    snprintf(cut, sizeof(cut), "%.*s", (int)strlen(cursor) - 3, cursor);
    char longer[256];
    memset(longer, 'A', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    const char *const bad[] = {"",        "x", "!", cut, longer, "MTAwMC4", "LmFh", "MTAwMC4nOy0t",
                               "\xff\xff"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(bad); i++) {
        assert_fails(c, FZ_E_MALFORMED,
                     store_report_list(c->store, c->project, NULL, bad[i], 3, &c->arena, &page, &n,
                                       &cursor, &c->err));
        assert_string_equal(c->err.text, "the cursor is not one of this list's");
        assert_fails(c, FZ_E_MALFORMED,
                     store_symbol_list(c->store, c->project, NULL, bad[i], 3, &c->arena, &symbols,
                                       &n, &cursor, &c->err));
    }
}

int
contract_run_list(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_filters),
        contract_test(test_columns_come_back),
        contract_test(test_odd_texts),
        contract_test(test_bad_cursors),
    };
    return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
