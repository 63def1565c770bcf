/* Dictionaries: what reports have in common is stored once, and each frame says which one it needs. */
#include "contract.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/time.h"
#include "storage/store_committer.h"
#include "storage/store_dictionary.h"
#include "storage/store_private.h"
#include "storage/store_request.h"

enum { REPORTS = 110, SIZE = 4096 };

/* A text of words that are the same in all reports of a kind, with a number and a secret of its own. */
static void
make_text(char *ret, const char *kind, int number)
{
    unsigned random = 7;
    size_t len = (size_t)snprintf(ret, SIZE, "{\"secret-%d\":\"hunter-%08x\",\"%s\":[", number,
                                  (unsigned)number * 2654435761u, kind);
    while (len < SIZE - 200) {
        random = random * 1103515245u + 12345;
        len += (size_t)snprintf(ret + len, SIZE - len, "{\"image\":\"lib%08x.dylib\"},", random);
        if (random % 8 == 0)
            len += (size_t)snprintf(ret + len, SIZE - len, "%d,", number);
    }
    snprintf(ret + len, SIZE - len, "0]}");
}

static void
finish_as(struct contract *c, struct store *store, const char *id, int number, const char *format)
{
    char result[SIZE];
    struct store_job job = contract_claim(c, id);
    make_text(result, "result", number);
    const struct store_report_done done = {
        .status = STORE_REPORT_PARTIAL, .format = format, .result = fz_span_cstr(result)};
    assert_ok(c, store_job_finish_report(store, &job, &done, &c->err));
}

static void
finish(struct contract *c, struct store *store, const char *id, int number)
{
    finish_as(c, store, id, number, "native");
}

static void
add_reports(struct contract *c, int first, char ret_id[STORE_ID_TEXT])
{
    for (int i = 0; i < REPORTS; i++) {
        char body[SIZE];
        make_text(body, "body", first + i);
        struct store_report_new item = contract_item(c->project, body);
        item.format = "native";
        item.received_ms = fz_time_now_ms();
        assert_ok(c, contract_insert(c->store, &item, 1, &c->err));
        finish(c, c->store, item.id, first + i);
        memcpy(ret_id, item.id, STORE_ID_TEXT);
    }
}

/* Until all projects were looked at; how many were trained. */
static int
train(struct contract *c)
{
    struct store_dictionary_step step = {0};
    int n = 0;
    do {
        assert_ok(c, store_dictionary_train(c->store, &c->arena, &step, &c->err));
        n += step.is_made;
    } while (!step.is_done);
    return n;
}

static int64_t
number(struct contract *c, const char *query, const char *id)
{
    int64_t ret = 0;
    const struct sql_value args[] = {sql_text(id)};
    assert_ok(c, sql_number(c->store->sql, query, args, id ? 1 : 0, &ret, NULL, &c->err));
    return ret;
}

static int64_t
result_len(struct contract *c, const char *id)
{
    return number(c,
                  "SELECT length(result) FROM report_results WHERE report_key = (SELECT key FROM "
                  "reports WHERE id = $1)",
                  id);
}

static int64_t
body_len(struct contract *c, const char *id)
{
    return number(c,
                  "SELECT length(body) FROM report_bodies WHERE report_key = (SELECT key FROM "
                  "reports WHERE id = $1)",
                  id);
}

/* What a connection without any dictionary in memory reads. */
static void
check(struct contract *c, const char *id, int number)
{
    char body[SIZE], result[SIZE];
    struct store *store = contract_open(c);
    struct fz_span bytes;
    uint64_t size = 0;
    make_text(body, "body", number);
    make_text(result, "result", number);
    assert_ok(c, store_report_body(store, c->project, id, &c->arena, &bytes, &c->err));
    assert_true(fz_span_is(bytes, body));
    assert_ok(c, store_report_result(store, c->project, id, &c->arena, &bytes, &c->err));
    assert_true(fz_span_is(bytes, result));
    assert_ok(c, store_report_size(store, c->project, id, STORE_REPORT_BODY, &size, &c->err));
    assert_int_equal(size, strlen(body));
    store_close(store);
}

static void
on_done(void *user, struct store_report_new *item, enum fz_code code, const char *text)
{
    (void)item;
    (void)text;
    if (code == FZ_OK)
        __atomic_add_fetch((int *)user, 1, __ATOMIC_SEQ_CST);
}

/* As `serve` stores it: the first report of a kind has the dictionary loaded, the second one is written with it. */
static void
commit_one(struct contract *c, struct store_committer *committer, int i, char ret_id[STORE_ID_TEXT])
{
    char body[SIZE];
    int n = 0;
    make_text(body, "body", i);
    struct store_report_new item = contract_item(c->project, body);
    item.format = "native";
    assert_ok(c, store_committer_submit(committer, &item, on_done, &n, &c->err));
    for (int waited = 0; !__atomic_load_n(&n, __ATOMIC_SEQ_CST) && waited < 10000; waited++)
        fz_time_sleep_ms(1);
    assert_int_equal(__atomic_load_n(&n, __ATOMIC_SEQ_CST), 1);
    memcpy(ret_id, item.id, STORE_ID_TEXT);
}

static void
test_versions(void **state)
{
    struct contract *c = *state;
    char old[STORE_ID_TEXT], first[STORE_ID_TEXT], second[STORE_ID_TEXT], third[STORE_ID_TEXT];
    struct store_committer *committer = NULL;
    assert_int_equal(train(c), 0);
    add_reports(c, 0, old);
    assert_int_equal(train(c), 2);
    assert_int_equal(train(c), 0);

    assert_ok(c, store_committer_start(c->url, &committer, &c->err));
    commit_one(c, committer, 1000, first);
    commit_one(c, committer, 1001, second);
    store_committer_stop(committer);
    struct store *other = contract_open(c);
    finish(c, other, first, 1000);
    finish(c, other, second, 1001);
    store_close(other);
    assert_true(body_len(c, first) > 2 * body_len(c, second));
    assert_true(result_len(c, old) > 2 * result_len(c, second));
    check(c, old, REPORTS - 1);
    check(c, second, 1001);

    /* A week later and after as many reports there is another version; frames of both stay readable. */
    contract_sql(c, "UPDATE dictionaries SET trained_ms = trained_ms - 8 * 86400000",
                 "UPDATE dictionaries SET trained_ms = trained_ms - 8 * 86400000");
    add_reports(c, 2000, third);
    assert_int_equal(train(c), 2);
    assert_int_equal(number(c, "SELECT max(version) FROM dictionaries", NULL), 2);
    check(c, second, 1001);
    check(c, third, 2000 + REPORTS - 1);
}

static bool
has(struct fz_span bytes, const char *text)
{
    size_t len = strlen(text);
    for (size_t at = 0; at + len <= bytes.len; at++) {
        if (memcmp(bytes.data + at, text, len) == 0)
            return true;
    }
    return false;
}

/* No dictionary has what is in one report only. */
static void
test_secrets(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    add_reports(c, 0, id);
    assert_int_equal(train(c), 2);
    for (int i = 0; i < REPORTS; i++) {
        char secret[32];
        snprintf(secret, sizeof(secret), "r-%08x\"", (unsigned)i * 2654435761u);
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        enum fz_code code =
            sql_query(c->store->sql, "SELECT content FROM dictionaries", NULL, 0, &rows, &c->err);
        while (sql_row(&rows, &code, &c->err)) {
            struct fz_span content;
            assert_ok(c, store_unpack(sql_col_bytes(&rows, 0), &c->arena, &content, &c->err));
            assert_false(has(content, secret));
            assert_true(has(content, ".dylib\"},{\"image\":\"lib"));
        }
        assert_ok(c, code);
    }
}

/* One user's reports are one sample, however many there are. */
static void
test_one_user(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    add_reports(c, 0, id);
    contract_sql(c, "UPDATE reports SET user_id = 'u1'", "UPDATE reports SET user_id = 'u1'");
    assert_int_equal(train(c), 0);
}

/* A database that was upgraded waits: programs of before may still run. */
static void
test_upgraded(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT];
    add_reports(c, 0, id);
    contract_sql(
        c, "UPDATE schema_migrations SET applied_ms = applied_ms - 7200000 WHERE version = 1",
        "UPDATE schema_migrations SET applied_ms = applied_ms - 7200000 WHERE version = 1");
    assert_int_equal(train(c), 0);
    contract_sql(c, "UPDATE schema_migrations SET applied_ms = applied_ms - 90000000",
                 "UPDATE schema_migrations SET applied_ms = applied_ms - 90000000");
    assert_int_equal(train(c), 2);
}

static void
check_damaged(struct contract *c, const char *id)
{
    struct fz_span bytes;
    struct store *store = contract_open(c);
    assert_fails(c, FZ_E_INTERNAL,
                 store_report_result(store, c->project, id, &c->arena, &bytes, &c->err));
    assert_non_null(strstr(c->err.text, "of stored bodies is damaged or gone"));
    store_close(store);
}

static void
test_damaged(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT], last[STORE_ID_TEXT];
    add_reports(c, 0, id);
    assert_int_equal(train(c), 2);
    contract_report(c, c->project, "{}", last);
    struct store *other = contract_open(c);
    finish(c, other, last, 5000);
    store_close(other);
    assert_true(result_len(c, id) > 2 * result_len(c, last));
    contract_sql(c, "UPDATE dictionaries SET sha256 = 'g' || sha256",
                 "UPDATE dictionaries SET sha256 = 'g' || sha256");
    check_damaged(c, last);
    contract_sql(c, "UPDATE dictionaries SET sha256 = substr(sha256, 2)",
                 "UPDATE dictionaries SET sha256 = substr(sha256, 2)");
    contract_sql(c,
                 "UPDATE dictionaries SET content = CAST(substr(content, 1, 500) || x'00' || "
                 "substr(content, 502) AS BLOB)",
                 "UPDATE dictionaries SET content = overlay(content placing '\\x00'::bytea from "
                 "501)");
    check_damaged(c, last);
    contract_sql(c, "DELETE FROM dictionaries", "DELETE FROM dictionaries");
    check_damaged(c, last);
    /* One writes on without. */
    contract_report(c, c->project, "{\"a\":1}", last);
    other = contract_open(c);
    finish(c, other, last, 5001);
    store_close(other);
}

/* Reports are samples until there are enough, also those that are so large that few of them are 8 MB. */
static void
test_large(void **state)
{
    enum { AT_ONCE = 10, LARGE = 220 * 1024 };
    static char bodies[AT_ONCE][LARGE];
    struct contract *c = *state;
    for (int i = 0; i < 100; i += AT_ONCE) {
        struct store_report_new items[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++) {
            size_t len = 0;
            for (int part = 0; len + SIZE < LARGE; part++) {
                char kind[16];
                snprintf(kind, sizeof(kind), "kind-%d", part);
                make_text(bodies[k] + len, kind, i + k);
                len += strlen(bodies[k] + len);
            }
            items[k] = contract_item(c->project, bodies[k]);
            items[k].format = "native";
        }
        assert_ok(c, contract_insert(c->store, items, AT_ONCE, &c->err));
    }
    contract_sql(c, "UPDATE reports SET status = 'partial'",
                 "UPDATE reports SET status = 'partial'");
    assert_int_equal(train(c), 1);
    assert_int_equal(number(c, "SELECT n_samples FROM dictionaries", NULL), 40);
}

/* A dictionary like `content` with another id, for a format of its own; as the first programs stored it, not compressed. */
static void
insert_like(struct contract *c, struct fz_span content, uint32_t id, const char *format)
{
    uint8_t *bytes = fz_arena_bytes(&c->arena, content.len);
    char sha256[FZ_SHA256_TEXT];
    assert_non_null(bytes);
    memcpy(bytes, content.data, content.len);
    for (unsigned i = 0; i < 4; i++) /* RFC 8878, 5: after the magic number, little endian */
        bytes[4 + i] = (uint8_t)(id >> 8 * i);
    fz_sha256_hex(fz_span_make(bytes, content.len), sha256);
    const struct sql_value args[] = {sql_int(id), sql_int(c->project), sql_text(format),
                                     sql_text(sha256), sql_blob(fz_span_make(bytes, content.len))};
    assert_ok(c, sql_exec(c->store->sql,
                          "INSERT INTO dictionaries (id, project_id, format, what, version, "
                          "trained_ms, n_samples, sha256, content) VALUES ($1, $2, $3, 2, 1, 1, "
                          "40, $4, $5)",
                          args, FZ_ARRAY_LEN(args), NULL, &c->err));
}

/* A worker whose memory has no place for all of them goes on to write with each, and a reader to read. */
static void
test_many(void **state)
{
    struct contract *c = *state;
    char id[STORE_ID_TEXT], ids[STORE_DICTIONARIES_READ + 1][STORE_ID_TEXT], format[16];
    struct fz_span content;
    add_reports(c, 0, id);
    assert_int_equal(train(c), 2);
    {
        FZ_CLEANUP(sql_rows_close) struct sql_rows rows = {0};
        enum fz_code code =
            sql_query(c->store->sql, "SELECT content FROM dictionaries WHERE what = 2", NULL, 0,
                      &rows, &c->err);
        assert_true(sql_row(&rows, &code, &c->err));
        assert_ok(c, store_unpack(sql_col_bytes(&rows, 0), &c->arena, &content, &c->err));
    }
    for (uint32_t i = 0; i <= STORE_DICTIONARIES_KEPT; i++) {
        snprintf(format, sizeof(format), "other-%u", i);
        insert_like(c, content, 40000 + i, format);
    }
    struct store *store = contract_open(c);
    for (uint32_t i = 0; i <= 2 * STORE_DICTIONARIES_KEPT + 1; i++) {
        uint32_t which = i % (STORE_DICTIONARIES_KEPT + 1);
        snprintf(format, sizeof(format), "other-%u", which);
        const struct store_dictionary_key key = {c->project, format, STORE_DICTIONARY_RESULT};
        FZ_CLEANUP(store_dictionary_releasep)
        struct store_dictionary *found = store_dictionary_newest(store, &key);
        assert_non_null(found);
        assert_int_equal(store_dictionary_id(found), 40000 + which);
    }
    for (int i = 0; i <= STORE_DICTIONARIES_READ; i++) {
        char body[SIZE];
        make_text(body, "body", 3000 + i);
        snprintf(format, sizeof(format), "other-%d", i);
        contract_report(c, c->project, body, ids[i]);
        finish_as(c, store, ids[i], 3000 + i, format);
        assert_true(result_len(c, id) > 2 * result_len(c, ids[i]));
    }
    store_close(store);
    store = contract_open(c);
    for (int i = 0; i < 2 * (STORE_DICTIONARIES_READ + 1); i++) {
        char result[SIZE];
        int which = i % (STORE_DICTIONARIES_READ + 1);
        struct fz_span bytes;
        make_text(result, "result", 3000 + which);
        assert_ok(c,
                  store_report_result(store, c->project, ids[which], &c->arena, &bytes, &c->err));
        assert_true(fz_span_is(bytes, result));
    }
    store_close(store);
}

int
contract_run_dictionaries(void)
{
    const struct CMUnitTest tests[] = {
        contract_test(test_versions), contract_test(test_secrets), contract_test(test_one_user),
        contract_test(test_upgraded), contract_test(test_damaged), contract_test(test_many),
        contract_test(test_large),
    };
    return cmocka_run_group_tests_name("dictionaries", tests, NULL, NULL);
}
