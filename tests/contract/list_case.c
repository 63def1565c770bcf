#include "list_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/store_issue_list.h"

enum { REPORTS = LIST_CASE_REPORTS, FACTS = LIST_CASE_FACTS, DAY = 86400000 };

const int64_t list_case_now = 1795402800000;

static uint32_t seed;

void
list_case_seed(uint32_t start)
{
    seed = start;
}

static uint32_t
pick(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

#define PICK(list) list[pick(FZ_ARRAY_LEN(list))]

static void
add_fact(struct list_case *m, enum store_field field, const char *name, const char *text,
         int64_t number)
{
    assert_true(m->n < FACTS);
    m->facts[m->n++] =
        (struct query_fact){.field = field, .name = name, .text = text, .number = number};
}

/* ---- reports ---- */

static const char *const versions[] = {"4.2", "4.10", "4.2-beta.1", "5.0", "main", NULL};
static const char *const builds[] = {"4201", "7", "45", NULL};
static const char *const os_names[] = {"iOS", "macOS", NULL};
static const char *const os_versions[] = {"18.1", "17.7.2", "26.0", NULL};
static const char *const devices[] = {"iPhone15,2", "iPad8,1", "iPad13,4", "Mac14,7", NULL};
static const char *const archs[] = {"arm64", "x86_64"};
static const char *const environments[] = {"production", "beta", NULL, NULL};
static const char *const exceptions[] = {"NSRangeException", "NSInvalidArgumentException", NULL};
static const char *const signals[] = {"SIGSEGV", "SIGABRT"};
static const char *const reasons[] = {"index 7 beyond bounds", "unrecognized selector sent",
                                      "100% of \"it\" isn't c:\\x", NULL};
static const char *const users[] = {"anna@acme.com", "bert", "Cy Lee", NULL};
static const char *const functions[] = {"-[CartView total:]", "checkout(int)", "main",
                                        "Shop.Store.load()"};
static const char *const files[] = {"/src/Cart.m", "/src/checkout.cpp", "/src/main.c",
                                    "/src/Store.swift"};
static const char *const kinds[] = {"crash", "hang"};
static const char *const tags[] = {"\nchannel=beta\n", "\nchannel=Store\nplan=pro\n",
                                   "\nplan=a=b\n", NULL};

struct values {
    const char *pairs[64];
    size_t n;
};

static const char *
put(struct values *values, const char *column, const char *text)
{
    if (text) {
        values->pairs[values->n++] = column;
        values->pairs[values->n++] = text;
    }
    return text;
}

static void
make_values(struct list_case *m, struct values *v)
{
    m->version = put(v, "app_version", PICK(versions));
    m->user = put(v, "user_id", PICK(users));
    m->os_name = put(v, "os_name", PICK(os_names));
    m->os_version = put(v, "os_version", PICK(os_versions));
    add_fact(m, STORE_FIELD_VERSION, NULL, m->version, 0);
    add_fact(m, STORE_FIELD_USER, NULL, m->user, 0);
    add_fact(m, STORE_FIELD_OS, NULL, m->os_name, 0);
    add_fact(m, STORE_FIELD_OS_VERSION, NULL, m->os_version, 0);
    add_fact(m, STORE_FIELD_BUILD, NULL, put(v, "app_build", PICK(builds)), 0);
    add_fact(m, STORE_FIELD_DEVICE, NULL, put(v, "device_model", PICK(devices)), 0);
    add_fact(m, STORE_FIELD_ARCH, NULL, put(v, "arch", PICK(archs)), 0);
    add_fact(m, STORE_FIELD_ENVIRONMENT, NULL, put(v, "environment", PICK(environments)), 0);
    add_fact(m, STORE_FIELD_EXCEPTION, NULL, put(v, "exception", PICK(exceptions)), 0);
    add_fact(m, STORE_FIELD_SIGNAL, NULL, put(v, "signal", PICK(signals)), 0);
    add_fact(m, STORE_FIELD_REASON, NULL, put(v, "reason", PICK(reasons)), 0);
    add_fact(m, STORE_FIELD_KIND, NULL, put(v, "kind", PICK(kinds)), 0);
    add_fact(m, STORE_FIELD_APP, NULL, put(v, "app_id", "com.acme.shop"), 0);
    add_fact(m, STORE_FIELD_APP, NULL, put(v, "app_name", pick(2) ? "Shop" : NULL), 0);
    const char *list = put(v, "tags", PICK(tags));
    bool is_pro = list && strstr(list, "plan=pro");
    if (list && strstr(list, "channel="))
        add_fact(m, STORE_FIELD_TAG, "channel", is_pro ? "Store" : "beta", 0);
    if (list && strstr(list, "plan="))
        add_fact(m, STORE_FIELD_TAG, "plan", is_pro ? "pro" : "a=b", 0);
}

static void
make_row_values(struct list_case *m, struct values *v)
{
    static const char *const oses[] = {"22B83", "21H16", NULL};
    static const char *const codes[] = {"KERN_INVALID_ADDRESS", "0x8badf00d", NULL};
    static const char *const releases[] = {"shop@4.2+7", "shop@4.10", NULL};
    static const char *const runs[] = {"run-1", "run-2", NULL};
    add_fact(m, STORE_FIELD_OS_BUILD, NULL, put(v, "os_build", PICK(oses)), 0);
    add_fact(m, STORE_FIELD_RELEASE, NULL, put(v, "release", PICK(releases)), 0);
    add_fact(m, STORE_FIELD_MACH, NULL, put(v, "mach", pick(2) ? "EXC_BAD_ACCESS" : NULL), 0);
    add_fact(m, STORE_FIELD_CODE, NULL, put(v, "code", PICK(codes)), 0);
    add_fact(m, STORE_FIELD_RUN, NULL, put(v, "run_id", PICK(runs)), 0);
    add_fact(m, STORE_FIELD_FORMAT, NULL, "framezero", 0);
    add_fact(m, STORE_FIELD_ID, NULL, m->id, 0);
}

/* Two images at most, the second one with either of two UUIDs. */
static void
make_images(struct list_case *m, struct store_report_done *done)
{
    static const struct store_image images[][2] = {
        {{{{0x4c, 0x4c, 1}}, "Shop"}, {{{0x5a, 2}}, "libCart.dylib"}},
        {{{{0x4c, 0x4c, 1}}, "Shop"}, {{{0x5a, 3}}, "libCart.dylib"}},
        {{{{0x77, 4}}, NULL}, {{{0x5a, 3}}, "libCart.dylib"}}};
    static const char *const uuids[][2] = {
        {"4c4c0100000000000000000000000000", "5a020000000000000000000000000000"},
        {"4c4c0100000000000000000000000000", "5a030000000000000000000000000000"},
        {"77040000000000000000000000000000", "5a030000000000000000000000000000"}};
    uint32_t set = pick(FZ_ARRAY_LEN(images));
    done->images = images[set];
    done->n_images = pick(3);
    for (size_t i = 0; i < done->n_images; i++) {
        add_fact(m, STORE_FIELD_IMAGE, NULL, images[set][i].name, 0);
        add_fact(m, STORE_FIELD_UUID, NULL, uuids[set][i], 0);
    }
}

static void
finish(struct contract *c, struct list_case *m, const struct store_job *job)
{
    static const enum store_report_status statuses[] = {
        STORE_REPORT_SYMBOLICATED, STORE_REPORT_PARTIAL, STORE_REPORT_UNSYMBOLICATED};
    static const char *const variants[] = {"SIGSEGV at Cart.m:12", "SIGTRAP"};
    struct values v = {.n = 0};
    struct store_grouping grouping = {.title = ""};
    struct store_report_done done = {.status = PICK(statuses), .result = fz_span_cstr("{}")};
    const char *names[2], *paths[2];
    uint32_t top = pick(FZ_ARRAY_LEN(functions)), other = pick(FZ_ARRAY_LEN(functions));
    char stack[32];
    make_values(m, &v);
    done.timestamp_ms = pick(3) ? m->received_ms - 1 - pick(5) * (int64_t)DAY : 0;
    add_fact(m, STORE_FIELD_STATUS, NULL, store_report_status_name(done.status), 0);
    add_fact(m, STORE_FIELD_FUNCTION, NULL, put(&v, "top_function", functions[top]), 0);
    add_fact(m, STORE_FIELD_FILE, NULL, put(&v, "top_file", files[top]), 0);
    if (m->is_grouped) {
        names[0] = functions[top];
        names[1] = functions[other];
        paths[0] = files[top];
        paths[1] = files[other];
        snprintf(stack, sizeof(stack), "stack %u %u", top, other);
        uint32_t variant = pick(2);
        grouping = (struct store_grouping){.stack = fz_span_cstr(stack),
                                           .functions = names,
                                           .n_functions = 2,
                                           .files = paths,
                                           .n_files = 2,
                                           .key = {(uint8_t)(1 + top), (uint8_t)(1 + other % 2)},
                                           .title = functions[top],
                                           .variant = {(uint8_t)(1 + variant)},
                                           .variant_label = variants[variant]};
        add_fact(m, STORE_FIELD_FUNCTION, NULL, functions[other], 0);
        add_fact(m, STORE_FIELD_FILE, NULL, files[other], 0);
        done.grouping = &grouping;
    }
    m->n_row = m->n;
    make_row_values(m, &v);
    add_fact(m, STORE_FIELD_CRASHED, NULL, NULL, done.timestamp_ms);
    m->crashed_ms = done.timestamp_ms;
    make_images(m, &done);
    v.pairs[v.n] = NULL;
    done.values = contract_values(c, v.pairs);
    assert_ok(c, store_job_finish_report(c->store, job, &done, &c->err));
}

static void
make(struct contract *c, struct list_case *m, int i)
{
    char body[32];
    snprintf(body, sizeof(body), "report %d", i);
    struct store_report_new item = contract_item(c->project, body);
    /* Some at the same time. */
    item.received_ms = list_case_now - 30 * (int64_t)DAY + (int64_t)pick(40) * DAY * 3 / 4;
    assert_ok(c, contract_insert(c->store, &item, 1, &c->err));
    memcpy(m->id, item.id, sizeof(m->id));
    m->received_ms = item.received_ms;
    m->order = i;
    struct store_job job = contract_claim(c, m->id);
    add_fact(m, STORE_FIELD_RECEIVED, NULL, NULL, m->received_ms);
    m->is_grouped = pick(8) > 0;
    finish(c, m, &job);
}

static void
read_issue(struct contract *c, struct list_case *m)
{
    struct store_report_issue found;
    struct store_issue issue;
    if (!m->is_grouped)
        return;
    assert_ok(c, store_report_find_issue(c->store, c->project, m->id, &c->arena, &found, &c->err));
    assert_ok(c, store_issue_get(c->store, c->project, found.number, &c->arena, &issue, &c->err));
    m->issue = found.number;
    /* Room that is known if the report is deleted comes first. */
    struct query_fact more[] = {
        {.field = STORE_FIELD_ISSUE, .number = issue.number},
        {.field = STORE_FIELD_TEXT, .text = issue.title},
        {.field = STORE_FIELD_FIRST_SEEN, .number = issue.first_ms},
        {.field = STORE_FIELD_LAST_SEEN, .number = issue.last_ms},
        {.field = STORE_FIELD_ASSIGNEE, .text = issue.assignee},
        {.field = STORE_FIELD_INTRODUCED, .text = issue.first_version},
        {.field = STORE_FIELD_INTRODUCED,
         .text = issue.first_build && *issue.first_build
                     ? fz_arena_printf(&c->arena, "%s (%s)", issue.first_version, issue.first_build)
                     : NULL},
        {.field = STORE_FIELD_IS,
         .text = issue.state == STORE_ISSUE_OPEN       ? "open"
                 : issue.state == STORE_ISSUE_RESOLVED ? "resolved"
                                                       : "ignored"},
        {.field = STORE_FIELD_IS, .text = issue.assignee ? NULL : "unassigned"},
        {.field = STORE_FIELD_IS,
         .text =
             issue.state == STORE_ISSUE_OPEN && issue.first_ms >= list_case_now - 7 * (int64_t)DAY
                 ? "new"
                 : NULL},
    };
    assert_true(m->n + FZ_ARRAY_LEN(more) <= FACTS);
    memmove(m->facts + m->n_row + FZ_ARRAY_LEN(more), m->facts + m->n_row,
            (m->n - m->n_row) * sizeof(*m->facts));
    memcpy(m->facts + m->n_row, more, sizeof(more));
    m->n_row += FZ_ARRAY_LEN(more);
    m->n += FZ_ARRAY_LEN(more);
}

void
list_case_delete(struct contract *c, struct list_case *one)
{
    assert_ok(c, store_report_delete(c->store, c->project, one->id, &c->err));
    one->is_deleted = true;
}

struct list_case *
list_case_make(struct contract *c)
{
    struct list_case *all = fz_arena_array(&c->arena, REPORTS, sizeof(*all));
    assert_non_null(all);
    memset(all, 0, REPORTS * sizeof(*all));
    for (int i = 0; i < REPORTS; i++)
        make(c, &all[i], i);
    contract_sql(c, "UPDATE issues SET state = 1, assignee = 'Ann' WHERE number = 2",
                 "UPDATE issues SET state = 1, assignee = 'Ann' WHERE number = 2");
    for (int i = 0; i < REPORTS; i++)
        read_issue(c, &all[i]);
    for (int i = 0; i < REPORTS; i++) {
        if (pick(12) > 0)
            continue;
        list_case_delete(c, &all[i]);
    }
    return all;
}

/* ---- queries ---- */

/* clang-format off */
const char *const list_case_words[] = {
    "version:4.2", "version:4.2,5.0", "version:>=4.2", "version:<4.10", "-version:4.*", "version:<=4.2",
    "has:version", "-has:version", "version:9.9", "-version:9.9", "build:4201", "build:>=45", "has:build",
    "os:ios", "os:18.1", "os:\"iOS 18.1\"", "os:>=18", "os:<18 os:>17", "-os:*OS", "os_version:17.*",
    "-has:os_version", "device:iPad*", "-device:iPad*", "device:\"iPhone15,2\"", "device:mac14*", "arch:ARM64",
    "arch:=ARM64", "environment:beta", "-has:env", "app:shop", "app:com.acme.shop", "status:symbolicated",
    "-status:symbolicated", "status:partial,unsymbolicated", "kind:hang", "exception:nsrange*", "-has:exception",
    "signal:sigabrt", "function:cart", "function:=main", "function:checkout*", "-function:total", "has:function",
    "file:.swift", "file:\"/src/Cart.m\"", "-file:main,store", "reason:selector", "reason:100%", "-has:reason",
    "reason:\"isn't c:\\\\\"", "selector", "-selector", "checkout", "\"range\"", "user:bert", "user:*@acme.com",
    "-has:user", "user:\"Cy Lee\"", "tag.channel:beta", "tag.channel:store", "-tag.channel:=store",
    "has:user", "has:device", "has:exception", "has:reason", "has:tag.plan", "tag.PLAN:a=*", "-has:tag.channel", "tag.plan:*r*", "os_build:22B83", "-os_build:22*",
    "release:shop*", "-has:release", "release:shop@4.10", "-release:shop@4.10", "release:shop@9", "has:os_build", "code:kern*",
    "code:=kern_invalid_address", "-has:code", "-code:0x8BADF00D", "-has:mach", "has:format", "mach:exc_bad_access", "run:run-1", "-run:run-1", "format:framezero",
    "has:run", "-has:run", "-run:run-1,run-2", "image:shop", "image:=libCart.dylib", "image:lib*,x",
    "-image:shop", "-image:*cart*", "has:image", "-has:image", "uuid:4C4C0100-0000-0000-0000-000000000000",
    "-uuid:5a030000000000000000000000000000", "uuid:77040000000000000000000000000000", "-uuid:00000000000000000000000000000001",
    "id:1*,a*", "-id:0*", "has:crashed", "arch:arm64,x86_64", "has:arch", "app:com.acme.shop has:arch", "crashed:<2026-11-10", "crashed:<=2026-11-12", "-crashed:>=2026-11-05",
    "-crashed:<2026-11-03",
    "-format:framezero", "issue:1", "-issue:1,2", "has:issue", "-has:issue", "is:open", "is:resolved",
    "-is:resolved", "is:new", "is:unassigned", "assignee:ann", "-has:assignee", "first_seen:>2026-10-26",
    "seen:<7d", "since:14d", "until:2026-11-10", "received:>=2026-11-01", "-received:>2026-11-05",
    "received:<=2026-11-03", "crashed:>2026-11-01", "-has:crashed", "nothing_has_this", "-nothing_has_this",
    "introduced:4.2", "introduced:\"4.2 (4201)\"", "-introduced:4.*", "introduced:5*,4.10", "has:introduced", "-has:introduced",
};
/* clang-format on */
const size_t list_case_n_words = FZ_ARRAY_LEN(list_case_words);

static struct store_query
make_query(struct contract *c, char *text, size_t size)
{
    struct store_query query;
    uint32_t n = 1 + pick(3);
    *text = '\0';
    for (uint32_t i = 0; i < n; i++) {
        const char *word = list_case_words[pick((uint32_t)list_case_n_words)];
        /* A start may be there once only. */
        if (!strstr(text, word))
            snprintf(text + strlen(text), size - strlen(text), "%s%s", i ? " " : "", word);
    }
    assert_ok(c, query_parse(fz_span_cstr(text), list_case_now, &c->arena, &query, &c->err));
    return query;
}

static bool
matches(const struct store_query *query, const struct list_case *m)
{
    const struct query_record record = {m->facts, m->is_deleted ? m->n_row : m->n};
    return query_matches(query, &record);
}

/* ---- reports ---- */

/* Newest first. */
static int
compare_made(const void *a, const void *b)
{
    const struct list_case *const *x = a, *const *y = b;
    if ((*x)->received_ms != (*y)->received_ms)
        return (*x)->received_ms < (*y)->received_ms ? 1 : -1;
    return (int)((*y)->order - (*x)->order);
}

static int
compare_crashed(const void *a, const void *b)
{
    const struct list_case *const *x = a, *const *y = b;
    if ((*x)->crashed_ms != (*y)->crashed_ms)
        return (*x)->crashed_ms < (*y)->crashed_ms ? 1 : -1;
    return (int)((*y)->order - (*x)->order);
}

static void
sort_made(const struct list_case **list, size_t n, enum store_report_order order)
{
    bool by_crash = order == STORE_CRASHED_FIRST_FIRST || order == STORE_CRASHED_LAST_FIRST;
    qsort(list, n, sizeof(list[0]), by_crash ? compare_crashed : compare_made);
    if (order == STORE_NEWEST_FIRST || order == STORE_CRASHED_LAST_FIRST)
        return;
    for (size_t i = 0; i < n / 2; i++) {
        const struct list_case *swapped = list[i];
        list[i] = list[n - 1 - i];
        list[n - 1 - i] = swapped;
    }
}

static void
check_reports(struct contract *c, struct list_case *all, const struct store_query *query,
              const char *text)
{
    const struct list_case *want[REPORTS];
    size_t n_want = 0, at = 0;
    const struct store_report_search search = {.query = query,
                                               .order = (enum store_report_order)pick(4)};
    struct store_page page = {.limit = 1 + pick(60)};
    uint64_t count = 0;
    for (int i = 0; i < REPORTS; i++) {
        if (!all[i].is_deleted && matches(query, &all[i]))
            want[n_want++] = &all[i];
    }
    sort_made(want, n_want, search.order);
    do {
        struct store_report *reports;
        page.cursor = page.next;
        assert_ok(c, store_report_search(c->store, c->project, &search, &page, &c->arena, &reports,
                                         &c->err));
        for (size_t i = 0; i < page.n; i++, at++) {
            if (at >= n_want || strcmp(reports[i].id, want[at]->id) != 0)
                fail_msg("%s: report %zu of %zu is wrong", text, at, n_want);
        }
    } while (page.next);
    if (at != n_want)
        fail_msg("%s: %zu reports of %zu", text, at, n_want);
    assert_ok(c, store_report_search_count(c->store, c->project, query, 1000, &c->arena, &count,
                                           &c->err));
    if (count != n_want)
        fail_msg("%s: counted %d instead of %zu", text, (int)count, n_want);
}

/* ---- issues ---- */

struct counts {
    uint64_t n_reports, n_users;
    int64_t first_ms, last_ms;
};

static struct counts
count_issue(struct list_case *all, const struct store_query *query, int64_t number)
{
    struct counts counts = {0};
    for (int i = 0; i < REPORTS; i++) {
        const struct list_case *m = &all[i];
        if (m->issue != number || !matches(query, m))
            continue;
        bool is_known = !m->user;
        for (int k = 0; k < i && !is_known; k++)
            is_known = all[k].issue == number && all[k].user && strcmp(all[k].user, m->user) == 0 &&
                       matches(query, &all[k]);
        counts.n_users += !is_known;
        counts.n_reports++;
        if (!counts.first_ms || m->received_ms < counts.first_ms)
            counts.first_ms = m->received_ms;
        if (m->received_ms > counts.last_ms)
            counts.last_ms = m->received_ms;
    }
    return counts;
}

static void
check_issue(const struct store_issue *issue, const struct counts *want, const char *text)
{
    if (issue->n_reports != want->n_reports || issue->n_users != want->n_users ||
        issue->first_ms != want->first_ms || issue->last_ms != want->last_ms)
        fail_msg("%s: issue %d: %d reports of %d users instead of %d of %d; or its times", text,
                 (int)issue->number, (int)issue->n_reports, (int)issue->n_users,
                 (int)want->n_reports, (int)want->n_users);
}

static void
check_details(struct contract *c, const struct store_query *query, const struct store_issue *issue,
              const struct counts *want, const char *text)
{
    struct store_issue_details details;
    assert_ok(c, store_issue_details(c->store, c->project, issue->number, query, &c->arena,
                                     &details, &c->err));
    check_issue(&details.listed.issue, want, text);
    uint64_t n = 0;
    for (size_t i = 0; i < details.n_variants; i++)
        n += details.variants[i].n_reports;
    if (n != want->n_reports)
        fail_msg("%s: issue %d: its variants have %d reports of %d", text, (int)issue->number,
                 (int)n, (int)want->n_reports);
    for (int by = 0; by < STORE_DISTRIBUTIONS; by++) {
        n = details.shares[by].n_others;
        for (size_t i = 0; i < details.shares[by].n; i++)
            n += details.shares[by].list[i].n;
        if (n != want->n_reports)
            fail_msg("%s: issue %d: distribution %d has %d reports of %d", text, (int)issue->number,
                     by, (int)n, (int)want->n_reports);
    }
}

static void
check_issues(struct contract *c, struct list_case *all, const struct store_query *query,
             const char *text)
{
    bool seen[64] = {false};
    size_t n = 0, n_want = 0;
    struct store_issue last = {0};
    const struct store_issue_search search = {.query = query,
                                              .sort = (enum store_issue_sort)pick(5)};
    struct store_page page = {.limit = 1 + pick(4)};
    do {
        struct store_issue_page issues;
        page.cursor = page.next;
        assert_ok(
            c, store_issue_list(c->store, c->project, &search, &page, &c->arena, &issues, &c->err));
        assert_int_equal(page.n, issues.n);
        for (size_t i = 0; i < issues.n; i++, n++) {
            const struct store_issue *issue = &issues.issues[i].issue;
            struct counts want = count_issue(all, query, issue->number);
            assert_true(issue->number < 64 && !seen[issue->number]);
            seen[issue->number] = true;
            check_issue(issue, &want, text);
            if (n &&
                ((search.sort == STORE_ISSUES_BY_REPORTS && issue->n_reports > last.n_reports) ||
                 (search.sort == STORE_ISSUES_BY_LAST_SEEN && issue->last_ms > last.last_ms) ||
                 (search.sort == STORE_ISSUES_BY_FIRST_SEEN && issue->first_ms > last.first_ms)))
                fail_msg("%s: issue %d is out of order", text, (int)issue->number);
            last = *issue;
            if (pick(8) == 0)
                check_details(c, query, issue, &want, text);
        }
    } while (page.next);
    for (int64_t number = 1; number < 64; number++)
        n_want += count_issue(all, query, number).n_reports > 0;
    if (n != n_want)
        fail_msg("%s: %zu issues of %zu", text, n, n_want);
}

/* Of one report, or of those whose ids begin so. */
static struct store_query
make_id_query(struct contract *c, const struct list_case *all, char *text, size_t size)
{
    static const int lengths[] = {1, 2, 4, 32};
    struct store_query query;
    int len = PICK(lengths);
    snprintf(text, size, "%sid:%.*s%s%s", pick(3) ? "" : "-", len, all[pick(REPORTS)].id,
             len < 32 ? "*" : "", pick(2) ? " version:4.2,4.10" : "");
    assert_ok(c, query_parse(fz_span_cstr(text), list_case_now, &c->arena, &query, &c->err));
    return query;
}

void
list_case_check(struct contract *c, struct list_case *all, int n_queries)
{
    char text[400];
    for (int i = 0; i < n_queries; i++) {
        struct store_query query = i % 8 == 7 ? make_id_query(c, all, text, sizeof(text))
                                              : make_query(c, text, sizeof(text));
        if (i == 0)
            query.n = 0;
        check_reports(c, all, &query, text);
        check_issues(c, all, &query, text);
    }
}
