/*
 * Names that reports contain: for which addresses and projects they hold, and which are kept.
 */
#include "contract.h"

#include <stdio.h>
#include <string.h>

#include "storage/store_learned.h"

/* Finish a new report of the project that brings these names. */
static void
bring(struct contract *c, int64_t project, bool shared, const struct store_learned *list, size_t n)
{
    static int number;
    char body[32], id[STORE_ID_TEXT];
    snprintf(body, sizeof(body), "report %d", number++);
    contract_report(c, project, body, id);
    struct store_job job = contract_claim(c, id);
    struct store_report_done done = {.status = STORE_REPORT_SYMBOLICATED,
                                     .result = fz_span_cstr("{}"),
                                     .learned = list,
                                     .n_learned = n,
                                     .learned_shared = shared};
    assert_ok(c, store_job_finish_report(c->store, &job, &done, &c->err));
}

static void
tell_one(struct contract *c, int64_t project, char uuid, uint32_t start, uint32_t reach,
         const char *name)
{
    struct store_learned one = {contract_uuid(uuid), start, reach, name};
    bring(c, project, false, &one, 1);
}

/* The name at an offset; NULL if none is known. */
static const char *
name_at(struct contract *c, int64_t project, char uuid, uint32_t offset)
{
    struct fz_uuid image = contract_uuid(uuid);
    struct store_learned found;
    assert_ok(c, store_learned_find(c->store, project,
                                    &(struct store_learned_question){image, &offset, 1}, &c->arena,
                                    &found, &c->err));
    return found.name;
}

static void
expect(struct contract *c, int64_t project, char uuid, uint32_t offset, const char *want)
{
    const char *got = name_at(c, project, uuid, offset);
    if (want ? !got || strcmp(got, want) != 0 : got != NULL)
        fail_msg("%c+%#x: %s, wanted %s", uuid, (unsigned)offset, got ? got : "-",
                 want ? want : "-");
}

static void
test_reach(void **state)
{
    struct contract *c = *state;
    const struct store_learned list[] = {
        {contract_uuid('s'), 0x100, 0x20, "first"},
        {contract_uuid('s'), 0x200, 0, "second"},
        {contract_uuid('s'), UINT32_MAX - 1, 1, "last"},
        {contract_uuid('t'), 0x100, 0x30, "other image"},
    };
    bring(c, c->project, false, list, 4);
    static const struct {
        char uuid;
        uint32_t offset;
        const char *want;
    } cases[] = {
        {'s', 0, NULL},
        {'s', 0xff, NULL},
        {'s', 0x100, "first"},
        {'s', 0x120, "first"},
        {'s', 0x121, NULL},
        {'s', 0x1ff, NULL},
        {'s', 0x200, "second"},
        {'s', 0x201, NULL},
        {'s', UINT32_MAX, "last"},
        {'t', 0x130, "other image"},
        {'u', 0x100, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect(c, c->project, cases[i].uuid, cases[i].offset, cases[i].want);

    /* Many at once, as they are asked for. */
    struct fz_uuid image = contract_uuid('s');
    static uint32_t offsets[STORE_LEARNED_ASK + 1];
    static struct store_learned found[STORE_LEARNED_ASK + 1];
    for (uint32_t i = 0; i <= STORE_LEARNED_ASK; i++)
        offsets[i] = 0x80 + i;
    assert_ok(
        c, store_learned_find(c->store, c->project,
                              &(struct store_learned_question){image, offsets, STORE_LEARNED_ASK},
                              &c->arena, found, &c->err));
    size_t n = 0;
    for (uint32_t i = 0; i < STORE_LEARNED_ASK; i++)
        n += found[i].name != NULL;
    assert_int_equal(n, 0x21);
    assert_int_equal(found[0xa0].start, 0x100);
    assert_fails(
        c, FZ_E_LIMIT,
        store_learned_find(c->store, c->project,
                           &(struct store_learned_question){image, offsets, STORE_LEARNED_ASK + 1},
                           &c->arena, found, &c->err));
}

/* The range grows and the name stays; a start inside the range ends the earlier range. */
static void
test_told_again(void **state)
{
    struct contract *c = *state;
    tell_one(c, c->project, 's', 0x100, 0x20, "first");
    tell_one(c, c->project, 's', 0x100, 0x40, "another name");
    expect(c, c->project, 's', 0x140, "first");
    tell_one(c, c->project, 's', 0x100, 0x10, "first");
    expect(c, c->project, 's', 0x140, "first");
    tell_one(c, c->project, 's', 0x130, 0, "second");
    expect(c, c->project, 's', 0x12f, "first");
    expect(c, c->project, 's', 0x130, "second");
    expect(c, c->project, 's', 0x131, NULL);
}

/* More than are looked for at once, each written once. */
static void
test_many(void **state)
{
    enum { N = 600 };
    struct contract *c = *state;
    static struct store_learned list[N];
    for (uint32_t i = 0; i < N; i++)
        list[i] = (struct store_learned){contract_uuid('s'), 16 * (i + 1), 8, "f"};
    bring(c, c->project, false, list, N);
    expect(c, c->project, 's', 16, "f");
    expect(c, c->project, 's', 16 * 257 + 8, "f");
    expect(c, c->project, 's', 16 * N + 8, "f");
    list[300].reach = 9;
    list[599].reach = 9;
    bring(c, c->project, false, list, N);
    expect(c, c->project, 's', list[300].start + 9, "f");
    expect(c, c->project, 's', list[599].start + 9, "f");
    expect(c, c->project, 's', list[299].start + 9, NULL);
}

static void
test_isolation(void **state)
{
    struct contract *c = *state;
    tell_one(c, c->project, 's', 0x100, 0x20, "ours");
    expect(c, c->project, 's', 0x110, "ours");
    expect(c, c->other, 's', 0x110, NULL);
    expect(c, 0, 's', 0x110, NULL);
    tell_one(c, c->other, 's', 0x100, 0x10, "theirs");
    expect(c, c->project, 's', 0x110, "ours");
    expect(c, c->other, 's', 0x110, "theirs");

    const struct store_learned one = {contract_uuid('s'), 0x300, 4, "everybody's"};
    bring(c, c->project, true, &one, 1);
    expect(c, 0, 's', 0x304, "everybody's");
    expect(c, c->project, 's', 0x304, NULL);
    expect(c, 0, 's', 0x100, NULL);
}

/* What was sent only to be symbolicated leaves nothing. */
static void
test_transient(void **state)
{
    struct contract *c = *state;
    struct store_report_new item = contract_item(c->project, "transient");
    item.transient = true;
    assert_ok(c, contract_insert(c->store, &item, 1, &c->err));
    struct store_job job = contract_claim(c, item.id);
    const struct store_learned one = {contract_uuid('s'), 0x100, 4, "no"};
    struct store_report_done done = {.status = STORE_REPORT_SYMBOLICATED,
                                     .result = fz_span_cstr("{}"),
                                     .learned = &one,
                                     .n_learned = 1};
    assert_ok(c, store_job_finish_report(c->store, &job, &done, &c->err));
    expect(c, c->project, 's', 0x100, NULL);
}

/* A fence that is too old keeps its names for itself. */
static void
test_lost_job(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    contract_report(c, c->project, "a", id);
    struct store_job job = contract_claim(c, id);
    job.fence--;
    const struct store_learned one = {contract_uuid('s'), 0x100, 4, "no"};
    struct store_report_done done = {.status = STORE_REPORT_SYMBOLICATED,
                                     .result = fz_span_cstr("{}"),
                                     .learned = &one,
                                     .n_learned = 1};
    assert_fails(c, FZ_E_CONFLICT, store_job_finish_report(c->store, &job, &done, &c->err));
    expect(c, c->project, 's', 0x100, NULL);
}

/* A known name is not written again, unless it was last seen long ago. */
static void
test_seen(void **state)
{
    struct contract *c = *state;
    uint64_t n = 9;
    tell_one(c, c->project, 'a', 0x100, 4, "a");
    tell_one(c, c->project, 'b', 0x100, 4, "b");
    tell_one(c, c->other, 'c', 0x100, 4, "c");
    contract_sql(c, "UPDATE learned_names SET seen_ms = 1 WHERE name = 'a'",
                 "UPDATE learned_names SET seen_ms = 1 WHERE name = 'a'");
    contract_sql(c, "UPDATE learned_names SET seen_ms = seen_ms - 1000 WHERE name = 'b'",
                 "UPDATE learned_names SET seen_ms = seen_ms - 1000 WHERE name = 'b'");
    tell_one(c, c->project, 'a', 0x100, 4, "a");
    tell_one(c, c->project, 'b', 0x100, 4, "b");
    assert_ok(c, store_learned_trim(c->store, 2, &n, &c->err));
    assert_int_equal(n, 0);
    assert_ok(c, store_learned_trim(c->store, 1, &n, &c->err)); /* of each project */
    assert_int_equal(n, 1);
    expect(c, c->project, 'a', 0x100, "a");
    expect(c, c->project, 'b', 0x100, NULL);
    expect(c, c->other, 'c', 0x100, "c");
    assert_ok(c, store_learned_trim(c->store, 1, &n, &c->err));
    assert_int_equal(n, 0);
}

/* Names that a child would never send. */
static void
test_foreign_names(void **state)
{
    struct contract *c = *state;
    static char long_name[STORE_LEARNED_NAME + 100];
    memset(long_name, 'x', sizeof(long_name) - 1);
    tell_one(c, c->project, 'a', 0, 4,
             "a\xff"
             "b");
    tell_one(c, c->project, 'b', 0, 4, long_name);
    tell_one(c, c->project, 'c', UINT32_MAX, UINT32_MAX, "');--");
    assert_int_equal(strlen(name_at(c, c->project, 'b', 4)), STORE_LEARNED_NAME);
    expect(c, c->project, 'a', 4,
           "a\xef\xbf\xbd"
           "b");
    expect(c, c->project, 'c', UINT32_MAX, "');--");
}

/* Two processes that store the same names at once both succeed. */
static int
tell_many(struct contract *c, int i, void *user)
{
    struct store_learned list[64];
    char names[64][16];
    (void)user;
    for (uint32_t k = 0; k < 64; k++) {
        snprintf(names[k], sizeof(names[k]), "f%u", (unsigned)k);
        list[k] = (struct store_learned){contract_uuid('s'), k * 16, (uint32_t)i, names[k]};
    }
    for (int k = 0; k < 8; k++) {
        struct store_job job;
        size_t n = 0;
        if (store_job_claim(c->store, "w", 1, 60000, &job, &n, &c->err) != FZ_OK || n != 1)
            return 1;
        struct store_report_done done = {.status = STORE_REPORT_SYMBOLICATED,
                                         .result = fz_span_cstr("{}"),
                                         .learned = list,
                                         .n_learned = 64};
        if (store_job_finish_report(c->store, &job, &done, &c->err) != FZ_OK)
            return 1;
    }
    return 0;
}

static void
test_at_once(void **state)
{
    struct contract *c = *state;
    char body[16], id[STORE_ID_TEXT];
    for (int i = 0; i < 32; i++) {
        snprintf(body, sizeof(body), "%d", i);
        contract_report(c, c->project, body, id);
    }
    contract_fork(c, 4, tell_many, NULL);
    expect(c, c->project, 's', 63 * 16 + 3, "f63");
    expect(c, c->project, 's', 63 * 16 + 4, NULL);
}

int
contract_run_learned(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_reach), contract_test(test_told_again),    contract_test(test_isolation),
        contract_test(test_many),  contract_test(test_transient),     contract_test(test_lost_job),
        contract_test(test_seen),  contract_test(test_foreign_names), contract_test(test_at_once),
    };
    return cmocka_run_group_tests_name("learned", tests, NULL, NULL);
}
