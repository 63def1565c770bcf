/* What only an object store can do wrong: copies here, answers that fail, keys. */
#include "tests/contract/blobs_case.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/file.h"
#include "base/time.h"
#include "storage/blob/blob_s3.h"

static void
need_control(void)
{
    if (!blobs_case_has_control())
        skip();
}

static void
put(struct blobs_case *c, const char *text, char ret_sha256[FZ_SHA256_TEXT])
{
    enum fz_code code = blobs_case_put(c->blobs, fz_span_cstr(text), ret_sha256, &c->err);
    if (code != FZ_OK)
        fail_msg("%s", c->err.text);
}

/* ---- copies ---- */

static void
test_copies(void **state)
{
    struct blobs_case *c = *state;
    char sha256[FZ_SHA256_TEXT];
    need_control();
    put(c, "hello", sha256);
    blobs_case_requests("");
    /* Who put it has it. */
    blobs_case_expect(c, sha256, fz_span_cstr("hello"));
    assert_int_equal(blobs_case_requests("GET"), 0);
    struct blob_store *mine = c->blobs;
    c->blobs = blobs_case_open(c, "another", 1024 * 1024);
    for (int i = 0; i < 3; i++)
        blobs_case_expect(c, sha256, fz_span_cstr("hello"));
    assert_int_equal(blobs_case_requests("GET"), 1);
    blob_close(c->blobs);
    c->blobs = mine;
}

/* A copy that a disk or a power cut has damaged is fetched again. */
static void
test_damaged_copy(void **state)
{
    struct blobs_case *c = *state;
    static const char *const damage[] = {"jello", "", "hello, world"};
    for (size_t i = 0; i < FZ_ARRAY_LEN(damage); i++) {
        char sha256[FZ_SHA256_TEXT], path[256];
        put(c, "hello", sha256);
        blobs_case_expect(c, sha256, fz_span_cstr("hello"));
        snprintf(path, sizeof(path), "%s/%.2s/%s", c->cache, sha256, sha256);
        assert_int_equal(chmod(path, 0600), 0);
        FZ_CLEANUP(fz_closep) int fd = open(path, O_WRONLY | O_TRUNC);
        assert_int_equal(write(fd, damage[i], strlen(damage[i])), strlen(damage[i]));
        blobs_case_expect(c, sha256, fz_span_cstr("hello"));
    }
}

static uint64_t
folder_bytes(const char *path)
{
    char command[256], text[64] = "";
    snprintf(command, sizeof(command), "du -sk %s", path);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof(text), f));
    pclose(f);
    return strtoull(text, NULL, 10) * 1024;
}

static void
test_limit(void **state)
{
    struct blobs_case *c = *state;
    enum { LIMIT = 2 * 1024 * 1024, EACH = 200 * 1024, N = 30 };
    char names[N][FZ_SHA256_TEXT], folder[128], path[256];
    struct blob_store *mine = c->blobs;
    c->blobs = blobs_case_open(c, "small", LIMIT);
    snprintf(folder, sizeof(folder), "%s/small", c->dir);
    FZ_CLEANUP(fz_closep) int held = -1;
    for (unsigned i = 0; i < N; i++) {
        uint8_t *bytes = blobs_case_bytes(EACH, i);
        assert_int_equal(blobs_case_put(c->blobs, fz_span_make(bytes, EACH), names[i], &c->err),
                         FZ_OK);
        free(bytes);
        if (i == 0)
            assert_int_equal(blob_get_fd(c->blobs, names[0], &held, &c->err), FZ_OK);
        /* 256 folders of a block each, and one copy. */
        assert_in_range(folder_bytes(folder), 0, LIMIT + LIMIT / 16 + EACH + 300 * 4096);
    }
    /* The first is gone from the folder, and whoever has it open keeps it. */
    snprintf(path, sizeof(path), "%s/%.2s/%s", folder, names[0], names[0]);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(lseek(held, 0, SEEK_END), EACH);
    snprintf(path, sizeof(path), "%s/%.2s/%s", folder, names[N - 1], names[N - 1]);
    assert_int_equal(access(path, F_OK), 0);
    /* More than half of the limit is not kept, and comes all the same. */
    uint8_t *bytes = blobs_case_bytes(LIMIT / 2 + 1, 99);
    struct fz_span span = fz_span_make(bytes, LIMIT / 2 + 1);
    assert_int_equal(blobs_case_put(c->blobs, span, names[0], &c->err), FZ_OK);
    snprintf(path, sizeof(path), "%s/%.2s/%s", folder, names[0], names[0]);
    assert_int_equal(access(path, F_OK), -1);
    blobs_case_expect(c, names[0], span);
    free(bytes);
    blob_close(c->blobs);
    c->blobs = mine;
}

/* ---- answers that fail ---- */

static void
test_passing_failures(void **state)
{
    struct blobs_case *c = *state;
    static const struct {
        const char *name, *faults;
        size_t len;
    } rows[] = {
        {"busy", "[{\"match\": \"PUT \", \"times\": 2, \"do\": \"503\"}]", 5},
        {"broken", "[{\"match\": \"PUT \", \"times\": 2, \"do\": \"500\"}]", 5},
        {"another node just now", "[{\"match\": \"PUT \", \"do\": \"409\"}]", 5},
        {"no answer", "[{\"match\": \"PUT \", \"times\": 2, \"do\": \"close\"}]", 5},
        {"a lost answer", "[{\"match\": \"PUT \", \"do\": \"lose\"}]", 5},
        {"a lost look", "[{\"match\": \"HEAD \", \"do\": \"close\"}]", 5},
        {"it came meanwhile", "[{\"match\": \"HEAD \", \"do\": \"404\"}]", 5},
        {"no beginning", "[{\"match\": \"POST .*uploads=\", \"do\": \"500\"}]", 17 << 20},
        {"a part", "[{\"match\": \"PUT .*partNumber=2\", \"do\": \"500\"}]", 17 << 20},
        {"a lost part", "[{\"match\": \"PUT .*partNumber=1\", \"do\": \"lose\"}]", 17 << 20},
        {"the end", "[{\"match\": \"POST .*uploadId=\", \"do\": \"error200\"}]", 17 << 20},
        {"a lost end", "[{\"match\": \"POST .*uploadId=\", \"do\": \"lose\"}]", 17 << 20},
        /* The first look finds nothing. */
        {"half of it", "[{\"match\": \"HEAD \", \"times\": 3, \"do\": \"half\"}]", 17 << 20},
    };
    need_control();
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        char sha256[FZ_SHA256_TEXT];
        uint8_t *bytes = blobs_case_bytes(rows[i].len, 50 + (unsigned)i);
        struct fz_span span = fz_span_make(bytes, rows[i].len);
        blobs_case_faults(rows[i].faults);
        enum fz_code code = blobs_case_put(c->blobs, span, sha256, &c->err);
        if (code != FZ_OK)
            fail_msg("%s: %s", rows[i].name, c->err.text);
        if (blob_check(c->blobs, sha256, NULL, &c->err) != FZ_OK)
            fail_msg("%s, afterwards: %s", rows[i].name, c->err.text);
        assert_int_equal(blobs_case_uploads(), 0);
        free(bytes);
    }
}

/* Another node put a damaged blob between the look and the PUT, which If-None-Match refuses. */
static void
test_damaged_meanwhile(void **state)
{
    struct blobs_case *c = *state;
    char sha256[FZ_SHA256_TEXT];
    need_control();
    put(c, "hello", sha256);
    blobs_case_damage(c, sha256, "jello");
    blobs_case_requests("");
    blobs_case_faults("[{\"match\": \"HEAD \", \"do\": \"404\"}]");
    put(c, "hello", sha256);
    assert_int_equal(blobs_case_requests("PUT"), 2);
    assert_int_equal(blob_check(c->blobs, sha256, NULL, &c->err), FZ_OK);
}

/* A download that breaks goes on where it was; what is damaged on its way comes once more. */
static void
test_downloads(void **state)
{
    struct blobs_case *c = *state;
    static const struct {
        const char *name, *faults;
        size_t n_gets;
        enum fz_code want;
    } rows[] = {
        {"cut twice", "[{\"match\": \"GET \", \"times\": 2, \"do\": \"cut\"}]", 3, FZ_OK},
        {"damaged once", "[{\"match\": \"GET \", \"do\": \"corrupt\"}]", 2, FZ_OK},
        {"damaged always", "[{\"match\": \"GET \", \"times\": 9, \"do\": \"corrupt\"}]", 2,
         FZ_E_MALFORMED},
        {"another error", "[{\"match\": \"GET \", \"do\": \"503\"}]", 2, FZ_OK},
        {"refused", "[{\"match\": \"GET \", \"times\": 9, \"do\": \"403\"}]", 2, FZ_E_UNAVAILABLE},
    };
    need_control();
    size_t len = 4 << 20;
    uint8_t *bytes = blobs_case_bytes(len, 3);
    struct fz_span span = fz_span_make(bytes, len);
    char sha256[FZ_SHA256_TEXT];
    assert_int_equal(blobs_case_put(c->blobs, span, sha256, &c->err), FZ_OK);
    struct blob_store *mine = c->blobs;
    c->blobs = blobs_case_open(c, "none", 0);
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        FZ_CLEANUP(fz_closep) int fd = -1;
        blobs_case_requests("");
        blobs_case_faults(rows[i].faults);
        if (rows[i].want == FZ_OK)
            blobs_case_expect(c, sha256, span);
        else
            assert_int_equal(blob_get_fd(c->blobs, sha256, &fd, &c->err), rows[i].want);
        size_t n = blobs_case_requests("GET");
        if (n != rows[i].n_gets)
            fail_msg("%s: %zu requests, not %zu", rows[i].name, n, rows[i].n_gets);
    }
    /* Only what was missing came again. */
    blobs_case_faults("[{\"match\": \"GET \", \"do\": \"cut\"}]");
    blobs_case_expect(c, sha256, span);
    assert_int_equal(blobs_case_requests("bytes="), 1);
    blob_close(c->blobs);
    c->blobs = mine;
    free(bytes);
}

/* What has failed for good leaves nothing behind. */
static void
test_given_up(void **state)
{
    struct blobs_case *c = *state;
    char sha256[FZ_SHA256_TEXT];
    bool is_there = true;
    need_control();
    uint8_t *bytes = blobs_case_bytes(17 << 20, 77);
    struct fz_span span = fz_span_make(bytes, 17 << 20);
    blobs_case_faults("[{\"match\": \"PUT .*partNumber=2\", \"do\": \"501\"}]");
    assert_int_equal(blobs_case_put(c->blobs, span, sha256, &c->err), FZ_E_UNAVAILABLE);
    assert_non_null(strstr(c->err.text, "status 501"));
    assert_int_equal(blobs_case_uploads(), 0);
    fz_sha256_hex(span, sha256);
    assert_int_equal(blob_is_there(c->blobs, sha256, &is_there, &c->err), FZ_OK);
    assert_false(is_there);
    free(bytes);
}

/* Not from any known store: what cannot be signed is said, and what can be is sent. */
static void
test_plus(void **state)
{
    struct blobs_case *c = *state;
    char sha256[FZ_SHA256_TEXT];
    need_control();
    uint8_t *bytes = blobs_case_bytes(17 << 20, 78);
    struct fz_span span = fz_span_make(bytes, 17 << 20);
    blobs_case_faults("[{\"match\": \"POST .*uploads=\", \"do\": \"plus\"}]");
    enum fz_code code = blobs_case_put(c->blobs, span, sha256, &c->err);
    if (curl_version_info(CURLVERSION_NOW)->version_num < 0x080e00) {
        assert_int_equal(code, FZ_OK);
        blobs_case_expect(c, sha256, span);
    } else {
        assert_int_equal(code, FZ_E_UNAVAILABLE);
        assert_non_null(strstr(c->err.text, "signs a '+' in a query wrongly"));
    }
    free(bytes);
}

static enum fz_code
ignore(void *user FZ_UNUSED, const char *sha256 FZ_UNUSED, struct fz_error *err FZ_UNUSED)
{
    return FZ_OK;
}

/* Of a process that was killed in the middle. */
static void
test_old_uploads(void **state)
{
    struct blobs_case *c = *state;
    char sha256[FZ_SHA256_TEXT], key[BLOB_S3_KEY];
    need_control();
    fz_sha256_hex(fz_span_cstr("unfinished"), sha256);
    blob_s3_key(sha256, key);
    const struct blob_s3_call call = {.method = "POST", .key = key, .query = "uploads="};
    assert_int_equal(blob_s3_do((struct blob_s3 *)c->blobs, &call, &c->err), FZ_OK);
    assert_int_equal(blobs_case_uploads(), 1);
    assert_int_equal(blob_list_old(c->blobs, NULL, 3600 * 1000, ignore, NULL, &c->err), FZ_OK);
    assert_int_equal(blobs_case_uploads(), 1);
    assert_int_equal(blob_list_old(c->blobs, NULL, -5000, ignore, NULL, &c->err), FZ_OK);
    assert_int_equal(blobs_case_uploads(), 0);
}

/* ---- time ---- */

static enum fz_code
refuse(void *user, struct fz_error *err)
{
    ++*(int *)user;
    return fz_fail(err, FZ_E_CONFLICT, "the lease is lost");
}

/* A worker that lost its lease while a file is on its way. */
static void
test_tick(void **state)
{
    struct blobs_case *c = *state;
    char sha256[FZ_SHA256_TEXT];
    int n = 0;
    need_control();
    struct blob_store *mine = c->blobs;
    c->config.tick = refuse;
    c->config.tick_user = &n;
    c->blobs = blobs_case_open(c, "ticks", 0);
    blobs_case_faults("[{\"match\": \"HEAD \", \"do\": \"stall3\"}]");
    int64_t start_ms = fz_time_monotonic_ms();
    assert_int_equal(blobs_case_put(c->blobs, fz_span_cstr("hello"), sha256, &c->err),
                     FZ_E_CONFLICT);
    assert_string_equal(c->err.text, "the lease is lost");
    assert_int_equal(n, 1);
    assert_in_range(fz_time_monotonic_ms() - start_ms, 0, 2500);
    blob_close(c->blobs);
    c->blobs = mine;
}

static enum fz_code
count(void *user, struct fz_error *err FZ_UNUSED)
{
    ++*(int *)user;
    return FZ_OK;
}

/* A download is a transfer that may take long, too. */
static void
test_tick_of_downloads(void **state)
{
    struct blobs_case *c = *state;
    char sha256[FZ_SHA256_TEXT];
    int n = 0;
    put(c, "hello", sha256);
    c->config.tick = count;
    c->config.tick_user = &n;
    struct blob_store *other = blobs_case_open(c, "ticks", 0);
    assert_int_equal(blob_check(other, sha256, NULL, &c->err), FZ_OK);
    assert_true(n > 0);
    blob_close(other);
}

/* No one listens: in a transaction that is known in seconds, and then at once. */
static void
test_not_up(void **state)
{
    struct blobs_case *c = *state;
    bool is_there, may_pass = false;
    setenv("AWS_ACCESS_KEY_ID", "x", 0);
    setenv("AWS_SECRET_ACCESS_KEY", "x", 0);
    snprintf(c->url, sizeof(c->url), "s3://b/p?endpoint=http://127.0.0.1:1");
    struct blob_store *store = blobs_case_open(c, "unused", 0);
    int64_t start_ms = fz_time_monotonic_ms();
    assert_int_equal(blob_ready(store, &may_pass, &c->err), FZ_E_UNAVAILABLE);
    assert_true(may_pass);
    assert_non_null(strstr(c->err.text, "http://127.0.0.1:1 does not answer"));
    assert_in_range(fz_time_monotonic_ms() - start_ms, 1000, 6000);
    start_ms = fz_time_monotonic_ms();
    assert_int_equal(
        blob_is_there(store, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
                      &is_there, &c->err),
        FZ_E_UNAVAILABLE);
    assert_in_range(fz_time_monotonic_ms() - start_ms, 0, 500);
    blob_close(store);
}

int
blobs_s3_run(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, blobs_case_set_up, blobs_case_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_copies),
        TEST(test_damaged_copy),
        TEST(test_limit),
        TEST(test_passing_failures),
        TEST(test_damaged_meanwhile),
        TEST(test_downloads),
        TEST(test_given_up),
        TEST(test_plus),
        TEST(test_old_uploads),
        TEST(test_tick),
        TEST(test_tick_of_downloads),
        TEST(test_not_up),
    };
    return cmocka_run_group_tests_name("object store", tests, NULL, NULL);
}
