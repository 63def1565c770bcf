/* Queries of list_case.h, and what lists of reports and issues must have of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list_case.h"
#include "storage/store_issue_list.h"

enum { REPORTS = LIST_CASE_REPORTS };

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
    uint32_t n = 1 + list_case_pick(3);
    *text = '\0';
    for (uint32_t i = 0; i < n; i++) {
        const char *word = list_case_words[list_case_pick((uint32_t)list_case_n_words)];
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
                                               .order = (enum store_report_order)list_case_pick(4)};
    struct store_page page = {.limit = 1 + list_case_pick(60)};
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
                                              .sort = (enum store_issue_sort)list_case_pick(5)};
    struct store_page page = {.limit = 1 + list_case_pick(4)};
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
            if (list_case_pick(8) == 0)
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
    int len = lengths[list_case_pick(FZ_ARRAY_LEN(lengths))];
    snprintf(text, size, "%sid:%.*s%s%s", list_case_pick(3) ? "" : "-", len,
             all[list_case_pick(REPORTS)].id, len < 32 ? "*" : "",
             list_case_pick(2) ? " version:4.2,4.10" : "");
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
