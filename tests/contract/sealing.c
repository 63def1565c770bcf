/*
 * Sealing: what changes while a day is sealed, and days that are sealed until a time.
 */
#include "issue_case.h"
#include "list_case.h"
#include "seal_case.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "storage/store_fact_cache.h"
#include "storage/store_fact_query.h"
#include "storage/store_fact_scan.h"
#include "storage/store_issue_state.h"

enum { HOUR = 3600000, DAY = 24 * HOUR };

/* A report of the one issue. */
static void
add_at(struct contract *c, int64_t received_ms)
{
    const struct contract_group g = {.stack = "s", .key = "k", .variant = "v", .user = "ann"};
    char body[40];
    snprintf(body, sizeof(body), "received at %lld", (long long)received_ms);
    struct store_report_new item = contract_item(c->project, body);
    item.received_ms = received_ms;
    assert_ok(c, contract_insert(c->store, &item, 1, &c->err));
    struct store_job job = contract_claim(c, item.id);
    assert_ok(c, contract_group_finish(c, &job, &g));
}

/* Hours are sealed as if it were this time. */
static struct store_seal_rules
rules_at(int64_t now_ms)
{
    struct store_seal_rules rules = seal_case_days;
    rules.part_ms = HOUR;
    rules.after_ms = fz_time_now_ms() - now_ms;
    return rules;
}

/* All again, until this time. */
static void
seal_until(struct contract *c, int64_t until_ms)
{
    const struct store_seal_rules rules = rules_at(until_ms);
    contract_sql(c, "UPDATE fact_days SET state = 0", "UPDATE fact_days SET state = 0");
    seal_case(c, &rules);
}

/* ---- until a time ---- */

static int64_t
sealed_until(struct contract *c)
{
    return contract_count(
        c, "SELECT coalesce(max(CASE WHEN until_sealing = sealing THEN until_ms ELSE 0 END), 0) "
           "FROM fact_days WHERE state = 1");
}

static int64_t
is_sealed(struct contract *c, int64_t day)
{
    char text[100];
    snprintf(text, sizeof(text), "SELECT count(*) FROM fact_days WHERE state = 1 AND day = %lld",
             (long long)day);
    return contract_count(c, text);
}

/* The month goes by, and today is sealed again and again. */
static void
check_parts(struct contract *c, uint32_t seed)
{
    const int64_t start_ms = list_case_now - 31 * (int64_t)DAY;
    int n_parts = 0;
    list_case_seed(seed);
    struct list_case *all = list_case_make(c);
    for (int hours = 30; hours < 33 * 24; hours += 61) {
        int64_t now_ms = start_ms + hours * (int64_t)HOUR + 12345;
        const struct store_seal_rules rules = rules_at(now_ms);
        seal_case(c, &rules);
        int64_t until_ms = sealed_until(c);
        assert_in_range(until_ms, 1, now_ms - now_ms % HOUR);
        n_parts += until_ms % DAY != 0;
        /* Facts that were sealed change; later ones do not matter to the columns. */
        struct list_case *one = &all[hours % LIST_CASE_REPORTS];
        bool is_over = one->received_ms < now_ms - now_ms % HOUR;
        int64_t was_sealed = is_sealed(c, one->received_ms / DAY);
        if (!one->is_deleted) {
            list_case_delete(c, one);
            assert_int_equal(is_sealed(c, one->received_ms / DAY), is_over ? 0 : was_sealed);
        }
        list_case_check(c, all, 12);
    }
    assert_int_equal(contract_count(c, "SELECT count(*) FROM fact_days WHERE state = 4"), 0);
    assert_true(n_parts > 5);
}

static void
test_parts(void **state)
{
    check_parts(*state, 21);
}

static void
test_parts_kept(void **state)
{
    struct contract *c = *state;
    FZ_CLEANUP(seal_case_drop_cache) struct store_fact_cache *cache = NULL;
    assert_ok(c, store_fact_cache_create(1 << 20, &cache, &c->err));
    store_set_fact_cache(c->store, cache);
    check_parts(c, 22);
    store_set_fact_cache(c->store, NULL);
}

/* Today is sealed again when there is enough more of it, and when it is over in any case. */
static void
test_least_more(void **state)
{
    struct contract *c = *state;
    const int64_t day_ms = list_case_now - list_case_now % DAY;
    struct store_seal_rules rules;
    for (int hour = 0; hour < 12; hour++)
        add_at(c, day_ms + hour * (int64_t)HOUR);
    static const struct {
        int hour, minute, until; /* 0: nothing is sealed */
    } times[] = {{4, 0, 0},   {4, 59, 0},  {5, 0, 5},   {9, 59, 5}, {10, 0, 10},
                 {12, 0, 10}, {23, 0, 10}, {24, 0, 24}, {30, 0, 24}};
    for (size_t i = 0; i < FZ_ARRAY_LEN(times); i++) {
        rules = rules_at(day_ms + times[i].hour * (int64_t)HOUR + times[i].minute * 60000 + 1000);
        rules.least_more = 5;
        seal_case(c, &rules);
        assert_int_equal(sealed_until(c),
                         times[i].until ? day_ms + times[i].until * (int64_t)HOUR : 0);
        assert_int_equal(seal_case_count(c, "-user:bert"), 12);
    }
}

/* ---- ranges of time ---- */

/* Facts that a scan sees; meanwhile, when it has read which days are sealed, today is sealed until another time. */
static uint64_t
scan(struct contract *c, const struct store_query *query, enum store_fact_order order,
     int64_t then_until_ms)
{
    static const enum store_fact_column columns[] = {STORE_FACT_RECEIVED};
    const struct store_fact_want want = {.columns = columns, .n_columns = 1, .order = order};
    struct store_fact_query facts;
    struct store_fact_scan *opened = NULL;
    struct store_fact_batch batch;
    int64_t last_ms = 0;
    uint64_t n = 0;
    enum fz_code code;
    assert_ok(
        c, store_fact_query_make(c->store, c->project, query, false, &c->arena, &facts, &c->err));
    code = store_fact_scan_open(&facts, &want, &opened, &c->err);
    if (then_until_ms)
        seal_until(c, then_until_ms);
    while (store_fact_scan_next(opened, &batch, &code, &c->err)) {
        for (size_t i = 0; i < batch.n; i++) {
            int64_t ms = store_block_get(&batch.columns[STORE_FACT_RECEIVED], batch.at[i]);
            bool is_ordered = order == STORE_FACTS_NEWEST_FIRST ? ms < last_ms : ms > last_ms;
            assert_true(n == 0 || is_ordered || order == STORE_FACTS_ANY_ORDER);
            last_ms = ms;
            n++;
        }
    }
    assert_ok(c, code);
    store_fact_scan_close(opened);
    return n;
}

static const enum store_fact_order orders[] = {STORE_FACTS_ANY_ORDER, STORE_FACTS_NEWEST_FIRST,
                                               STORE_FACTS_OLDEST_FIRST};

/* From any hour to any other, with 13 hours that are sealed. */
static void
test_ranges(void **state)
{
    struct contract *c = *state;
    const int64_t day_ms = list_case_now - list_case_now % DAY;
    for (int i = 0; i < 24; i++)
        add_at(c, day_ms + i * (int64_t)HOUR);
    seal_until(c, day_ms + 13 * HOUR);
    for (int from = 0; from < 24; from++) {
        for (int to = from; to < 24; to++) {
            const struct store_query query = {.since_ms = day_ms + from * (int64_t)HOUR,
                                              .until_ms = day_ms + to * (int64_t)HOUR + 1};
            for (size_t i = 0; i < FZ_ARRAY_LEN(orders); i++)
                assert_int_equal(scan(c, &query, orders[i], 0), to - from + 1);
        }
    }
    assert_int_equal(is_sealed(c, day_ms / DAY), 1);
}

static void
test_sealed_meanwhile(void **state)
{
    struct contract *c = *state;
    const int64_t day_ms = list_case_now - list_case_now % DAY;
    const struct store_query query = {.since_ms = 0};
    for (int i = -6; i < 24; i++)
        add_at(c, day_ms + i * (int64_t)HOUR);
    for (int before = 1; before < 25; before += 4) {
        for (int then = 2; then < 25; then += 5) {
            for (size_t i = 0; i < FZ_ARRAY_LEN(orders); i++) {
                seal_until(c, day_ms + before * (int64_t)HOUR);
                assert_int_equal(scan(c, &query, orders[i], day_ms + then * (int64_t)HOUR), 30);
                assert_int_equal(is_sealed(c, day_ms / DAY), 1);
            }
        }
    }
}

/* ---- programs of the version before ---- */

static int64_t
sealed_ms(struct contract *c)
{
    return contract_count(c, "SELECT max(sealed_ms) FROM projects");
}

/* They seal whole days, and leave the time as it was. */
static void
test_version_before(void **state)
{
    struct contract *c = *state;
    char text[300];
    int i = 0;
    list_case_seed(23);
    struct list_case *all = list_case_make(c);
    while (all[i].is_deleted || !all[i].is_grouped || all[i].received_ms % DAY > 12 * HOUR)
        i++;
    const int64_t now_ms = all[i].received_ms + HOUR;
    const long long day = now_ms / DAY;
    const struct store_seal_rules rules = rules_at(now_ms);
    seal_case(c, &rules);
    assert_int_equal(sealed_until(c), now_ms);
    assert_int_equal(sealed_ms(c), now_ms);
    assert_int_equal(contract_count(c, "SELECT max(sealed_before) FROM projects"), day + 1);
    /* What its program leaves: columns of all facts of the day, of another sealing. */
    seal_until(c, (day + 1) * DAY);
    snprintf(text, sizeof(text),
             "UPDATE fact_days SET until_ms = %lld, until_sealing = 1 WHERE day = %lld",
             (long long)now_ms, day);
    contract_sql(c, text, text);
    list_case_check(c, all, 40);
    /* A day that it begins to seal, which has a row, and one that has none. */
    snprintf(text, sizeof(text),
             "UPDATE fact_days SET state = 2, sealing = sealing / 2 + 7, day = %lld WHERE day = "
             "%lld",
             day + 40, day);
    contract_sql(c, text, text);
    assert_int_equal(sealed_ms(c), (day + 41) * DAY);
    snprintf(text, sizeof(text),
             "INSERT INTO fact_days (project_id, day, state, sealing) SELECT project_id, %lld, 2, "
             "5 FROM fact_days WHERE day = %lld",
             day + 41, day + 40);
    contract_sql(c, text, text);
    assert_int_equal(sealed_ms(c), (day + 42) * DAY);
    list_case_check(c, all, 10);
}

/* ---- changes ---- */

/* A report that is done late, or again, is counted as it is now. */
static void
test_changed(void **state)
{
    struct contract *c = *state;
    FZ_CLEANUP(seal_case_drop_cache) struct store_fact_cache *cache = NULL;
    assert_ok(c, store_fact_cache_create(1 << 20, &cache, &c->err));
    store_set_fact_cache(c->store, cache);
    const struct contract_group g = {.stack = "s", .key = "k", .variant = "v", .user = "ann"};
    struct contract_group other = g;
    char late[STORE_ID_TEXT];
    const char *id = contract_group_add(c, &g);
    contract_group_add(c, &g);
    contract_report(c, c->project, "late", late);
    seal_case_make_older(c);
    assert_int_equal(seal_case(c, &seal_case_days), 1);
    assert_int_equal(seal_case_count(c, "user:ann"), 2);
    struct store_job job = contract_claim(c, late);
    other.user = "bert";
    assert_ok(c, contract_group_finish(c, &job, &other));
    assert_int_equal(contract_count(c, "SELECT state FROM fact_days"), 0);
    assert_int_equal(seal_case_count(c, "-has:tag.none"), 3);
    assert_int_equal(seal_case(c, &seal_case_days), 1);
    assert_int_equal(seal_case_count(c, "-has:tag.none"), 3);
    other.version = "9.0";
    contract_group_again(c, id, &other);
    assert_int_equal(seal_case_count(c, "-user:ann"), 2);
    assert_int_equal(seal_case(c, &seal_case_days), 1);
    assert_int_equal(seal_case_count(c, "-user:ann"), 2);
    assert_int_equal(seal_case_count(c, "version:9.0"), 1);
    store_set_fact_cache(c->store, NULL);
}

/* ---- at the same time ---- */

enum { CHANGED = 12, ROUNDS = 40 };

struct changes {
    const char *ids[2 * CHANGED];
};

/* Two seal, one deletes reports, one has reports done again. */
static int
change(struct contract *c, int i, void *user)
{
    const struct changes *changes = user;
    struct contract_group g = {.stack = "s", .key = "k", .variant = "v", .user = "bert"};
    struct store_sealed sealed;
    if (store_set_columns(c->store, &report_columns, &c->err) != FZ_OK)
        return 1;
    for (int n = 0; i < 2 && n < ROUNDS; n++) {
        if (store_seal_day(c->store, &seal_case_days, &sealed, &c->err) != FZ_OK)
            return 1;
    }
    for (int n = 0; i == 2 && n < CHANGED; n++) {
        if (store_report_delete(c->store, c->project, changes->ids[n], &c->err) != FZ_OK)
            return 1;
    }
    for (int n = 0; i == 3 && n < CHANGED; n++)
        contract_group_again(c, changes->ids[CHANGED + n], &g);
    return 0;
}

static void
test_changed_meanwhile(void **state)
{
    struct contract *c = *state;
    const struct contract_group g = {.stack = "s", .key = "k", .variant = "v", .user = "ann"};
    struct changes changes;
    for (int i = 0; i < 2 * CHANGED; i++)
        changes.ids[i] = contract_group_add(c, &g);
    seal_case_make_older(c);
    contract_fork(c, 4, change, &changes);
    /* As they are then, and with columns that were made at the end. */
    for (int i = 0; i < 2; i++) {
        struct store_query query;
        uint64_t n = 1;
        /* Opposites have no index, so that columns are read. */
        assert_int_equal(seal_case_count(c, "-user:ann"), CHANGED);
        assert_ok(c,
                  query_parse(fz_span_cstr("user:ann"), list_case_now, &c->arena, &query, &c->err));
        assert_ok(c, store_report_search_count(c->store, c->project, &query, 1000, &c->arena, &n,
                                               &c->err));
        assert_int_equal(n, 0);
        assert_int_equal(seal_case(c, &seal_case_days), 1);
    }
}

enum { READERS = 2, READS = 60 };

/* Two seal the same day until times that come and go, two read. */
static int
read_or_seal(struct contract *c, int i, void *user)
{
    const int64_t day_ms = list_case_now - list_case_now % DAY, *n_reports = user;
    uint32_t random = (uint32_t)i + 1;
    struct store_sealed sealed;
    for (int n = 0; i >= READERS && n < 2 * READS; n++) {
        random = random * 1664525 + 1013904223;
        const struct store_seal_rules rules =
            rules_at(day_ms + (1 + (random >> 16) % 24) * (int64_t)HOUR);
        contract_sql(c, "UPDATE fact_days SET state = 0 WHERE state = 1",
                     "UPDATE fact_days SET state = 0 WHERE state = 1");
        if (store_seal_day(c->store, &rules, &sealed, &c->err) != FZ_OK)
            return 1;
    }
    for (int n = 0; i < READERS && n < READS; n++) {
        /* The oldest and the newest first. */
        struct store_query query;
        const struct store_report_search search = {.query = &query};
        struct store_page page = {.limit = 100};
        struct store_report *reports;
        uint64_t count = 0;
        if (query_parse(fz_span_cstr("-user:bert"), list_case_now, &c->arena, &query, &c->err) !=
                FZ_OK ||
            store_report_search(c->store, c->project, &search, &page, &c->arena, &reports,
                                &c->err) != FZ_OK ||
            store_report_search_count(c->store, c->project, &query, 1000, &c->arena, &count,
                                      &c->err) != FZ_OK)
            return 1;
        if (page.n != (size_t)*n_reports || count != (uint64_t)*n_reports)
            return 2;
    }
    return 0;
}

/* A list sees each fact once, also while its day is sealed until another time. */
static void
test_read_meanwhile(void **state)
{
    struct contract *c = *state;
    const int64_t day_ms = list_case_now - list_case_now % DAY;
    int64_t n_reports = 48;
    for (int i = 0; i < n_reports; i++)
        add_at(c, day_ms + i * (int64_t)HOUR / 2);
    contract_fork(c, READERS + 2, read_or_seal, &n_reports);
}

int
contract_run_sealing(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_parts),
        contract_test(test_parts_kept),
        contract_test(test_least_more),
        contract_test(test_ranges),
        contract_test(test_sealed_meanwhile),
        contract_test(test_version_before),
        contract_test(test_changed),
        contract_test(test_changed_meanwhile),
        contract_test(test_read_meanwhile),
    };
    return cmocka_run_group_tests_name("sealing", tests, NULL, NULL);
}
