/* Makes the project of the tests of retention, and sweeps it. */
#include "retention_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"

enum { RARE = 20, BATCH = 500 };

/* ---- the project ---- */

static int64_t
received_ms(const struct retention_case_world *w, int i)
{
    return w->now - (w->n - i) * (INT64_C(100) * 86400000 / w->n);
}

static struct contract_group
group_of(int i)
{
    static char rare[RARE][16];
    struct contract_group group = {.stack = "often", .key = "often", .variant = "v"};
    if (i % 50 == 7) {
        snprintf(rare[i / 50 % RARE], sizeof(rare[0]), "rare %d", i / 50 % RARE);
        group.stack = group.key = rare[i / 50 % RARE];
    } else if (i % 7 == 3) {
        group.stack = group.key = "sometimes";
    }
    return group;
}

static void
finish_batch(struct contract *c, const struct retention_case_world *w, const struct store_job *jobs,
             const int *numbers, size_t n)
{
    struct store_report_done done[STORE_ENDS_MAX];
    struct store_report_end ends[STORE_ENDS_MAX];
    struct store_grouping groupings[STORE_ENDS_MAX];
    static const struct store_image old = {.name = "Old"}, new = {.name = "New"};
    struct store_image images[STORE_ENDS_MAX];
    for (size_t i = 0; i < n; i++) {
        struct contract_group group = group_of(numbers[i]);
        bool is_old = numbers[i] < w->n / 20; /* of the first five days */
        groupings[i] = contract_grouping(&group);
        images[i] = is_old ? old : new;
        images[i].uuid = contract_uuid(is_old ? 'o' : 'n');
        done[i] = (struct store_report_done){
            /* Of the very frequent issue one report alone has all names. */
            .status = strcmp(group.key, "often") == 0 && numbers[i] != w->n / 3
                          ? STORE_REPORT_PARTIAL
                          : STORE_REPORT_SYMBOLICATED,
            .values = contract_group_values(c, &group),
            .result = fz_span_cstr("{\"threads\":[]}"),
            .images = &images[i],
            .n_images = 1,
            .grouping = &groupings[i]};
        ends[i] = (struct store_report_end){.job = &jobs[i], .done = &done[i]};
    }
    assert_ok(c, store_job_finish_reports(c->store, ends, n, &c->err));
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ends[i].code, FZ_OK);
}

/* Store and process the first `n`. */
void
retention_case_add_reports(struct contract *c, struct retention_case_world *w, int n_all)
{
    struct store_report_new items[BATCH];
    char bodies[BATCH][32];
    for (int at = 0; at < n_all; at += BATCH) {
        int n = n_all - at < BATCH ? n_all - at : BATCH;
        for (int i = 0; i < n; i++) {
            snprintf(bodies[i], sizeof(bodies[i]), "retention %d", at + i);
            items[i] = contract_item(c->project, bodies[i]);
            items[i].received_ms = received_ms(w, at + i);
            snprintf(items[i].id, sizeof(items[i].id), "%032d", at + i + 1);
            memcpy(w->ids[at + i], items[i].id, STORE_ID_TEXT);
        }
        assert_ok(c, contract_insert(c->store, items, (size_t)n, &c->err));
    }
    for (int left = n_all; left > 0;) {
        struct store_job jobs[STORE_ENDS_MAX];
        int numbers[STORE_ENDS_MAX];
        size_t n = contract_claim_all(c, jobs, STORE_ENDS_MAX);
        assert_true(n > 0);
        for (size_t i = 0; i < n; i++)
            numbers[i] = atoi(jobs[i].subject + 20) - 1;
        finish_batch(c, w, jobs, numbers, n);
        left -= (int)n;
    }
}

struct retention_case_world *
retention_case_make_world(struct contract *c, int n)
{
    char upload[STORE_ID_TEXT];
    uint64_t n_unblocked = 0;
    struct retention_case_world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->now = fz_time_now_ms();
    w->n = n;
    retention_case_add_reports(c, w, n);
    contract_upload(c, c->project, upload);
    struct store_job job = contract_claim(c, upload);
    assert_ok(c, contract_finish_upload(c, &job, "onxabcdef", STORE_SYMBOL_READY, &n_unblocked));
    contract_sql(c,
                 "UPDATE symbol_files SET uploaded_ms = 4000000000000 WHERE substr(uuid, 1, 1) IN "
                 "(x'61', x'62', x'63', x'64', x'65', x'66')",
                 "UPDATE symbol_files SET uploaded_ms = 4000000000000 WHERE substr(uuid, 1, 1) IN "
                 "('\\x61', '\\x62', '\\x63', '\\x64', '\\x65', '\\x66')");
    return w;
}

/* ---- sweeping ---- */

void
retention_case_set(struct contract *c, const struct store_retention *retention)
{
    assert_ok(c, store_retention_set(c->store, c->project, retention, &c->err));
}

struct store_retention_plan *
retention_case_look(struct contract *c)
{
    struct store_retention_plan *plan = NULL;
    struct store_retention retention;
    bool is_done = false;
    assert_ok(c, store_retention_get(c->store, c->project, &retention, NULL, &c->err));
    assert_ok(c, store_retention_plan_create(c->store, c->project, &retention, &plan, &c->err));
    for (int i = 0; !is_done && i < 1000; i++)
        assert_ok(c, store_retention_look(c->store, plan, &is_done, &c->err));
    assert_true(is_done);
    return plan;
}

/* One sweep; NULL in `ret` is allowed. False: it has to wait. */
bool
retention_case_sweep(struct contract *c, struct store_retention_done *ret)
{
    struct store_retention_plan *plan = retention_case_look(c);
    struct store_retention_done done = {0};
    bool is_held = true, is_done = false;
    assert_ok(c, store_retention_hold(c->store, plan, &is_held, &c->err));
    for (int i = 0; !is_held && !is_done && i < 10000; i++) {
        struct store_retention_done before = done;
        assert_ok(c, store_retention_portion(c->store, plan, &done, &is_done, &c->err));
        assert_true(done.n_reports - before.n_reports <= STORE_RETENTION_PORTION);
    }
    store_retention_plan_destroy(plan);
    if (ret)
        *ret = done;
    return !is_held;
}

int64_t
retention_case_reports(struct contract *c)
{
    return contract_count(c, "SELECT count(*) FROM reports");
}

bool
retention_case_is_there(struct contract *c, const char *id)
{
    struct store_report report;
    enum fz_code code = store_report_get(c->store, c->project, id, &c->arena, &report, &c->err);
    assert_true(code == FZ_OK || code == FZ_E_NOT_FOUND);
    return code == FZ_OK;
}

bool
retention_case_has_symbol(struct contract *c, char name)
{
    struct fz_uuid uuid = contract_uuid(name);
    bool is_unknown = true;
    assert_ok(c, store_symbol_unknown(c->store, c->project, &uuid, 1, &is_unknown, &c->err));
    return !is_unknown;
}

const char *
retention_case_counts(struct contract *c)
{
    return fz_arena_printf(
        &c->arena, "%lld %lld %lld %lld %lld",
        (long long)contract_count(c, "SELECT CAST(sum(n_reports) AS bigint) FROM issues"),
        (long long)contract_count(c, "SELECT CAST(sum(n) AS bigint) FROM issue_hours"),
        (long long)contract_count(c, "SELECT CAST(sum(n) AS bigint) FROM issue_days"),
        (long long)contract_count(c, "SELECT CAST(sum(n) AS bigint) FROM version_days"),
        (long long)contract_count(c, "SELECT count(*) FROM facts"));
}
