/* Who may use an object store, and what is said to those who may not. */
#include "tests/contract/blobs_case.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/file.h"

/* tests/e2e/s3_server.py */
static const char ACCESS[] = "TESTACCESSKEY", SECRET[] = "test/secret+key=";

static void
set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void
set_keys(const char *access, const char *secret, const char *token)
{
    set("AWS_ACCESS_KEY_ID", access);
    set("AWS_SECRET_ACCESS_KEY", secret);
    set("AWS_SESSION_TOKEN", token);
}

/* The URL of the case with `more` parameters, or another bucket. */
static enum fz_code
ready(struct blobs_case *c, const char *bucket, const char *more, bool *ret_may_pass)
{
    char url[1200];
    struct blob_store *store = NULL;
    struct blob_config config = c->config;
    const char *rest = strchr(c->url + strlen("s3://"), '/');
    snprintf(url, sizeof(url), "s3://%s%s%s", bucket, rest, more);
    config.url = url;
    *ret_may_pass = false;
    enum fz_code code = blob_open(&config, &store, &c->err);
    if (code == FZ_OK)
        code = blob_ready(store, ret_may_pass, &c->err);
    blob_close(store);
    return code;
}

static void
test_refusals(void **state)
{
    struct blobs_case *c = *state;
    static const struct {
        const char *name, *access, *secret, *bucket, *more, *skew, *want;
    } rows[] = {
        {"key", "ANOTHER", SECRET, "blobs", "", "0", "check AWS_ACCESS_KEY_ID"},
        {"secret", ACCESS, "another", "blobs", "", "0", "check AWS_SECRET_ACCESS_KEY"},
        {"bucket", ACCESS, SECRET, "nobucket", "", "0", "there is no bucket nobucket at http"},
        {"region", ACCESS, SECRET, "blobs", "&region=elsewhere", "0", "set region=test-region-1"},
        {"clock", ACCESS, SECRET, "blobs", "", "4000", "set the clock"},
        {"token", "MACHINEKEY", "machine/secret", "blobs", "", "0", "get new keys"},
        {"no key", NULL, NULL, "blobs", "", "0", "AWS_ACCESS_KEY_ID is not set, and /none/file"},
        {"no secret", ACCESS, NULL, "blobs", "", "0", "AWS_SECRET_ACCESS_KEY is empty"},
        {"no environment", NULL, NULL, "blobs", "&credentials=environment", "0", "is not set"},
    };
    if (!blobs_case_has_control())
        skip();
    set("AWS_SHARED_CREDENTIALS_FILE", "/none/file");
    for (size_t i = 0; i < FZ_ARRAY_LEN(rows); i++) {
        bool may_pass = true;
        set_keys(rows[i].access, rows[i].secret, NULL);
        blobs_case_skew(rows[i].skew);
        enum fz_code code = ready(c, rows[i].bucket, rows[i].more, &may_pass);
        if ((code != FZ_E_DENIED && code != FZ_E_MALFORMED) || may_pass ||
            !strstr(c->err.text, rows[i].want))
            fail_msg("%s: %s: %s", rows[i].name, fz_code_name(code), c->err.text);
    }
    blobs_case_skew("0");
    set_keys(ACCESS, SECRET, NULL);
}

static void
write_file(struct blobs_case *c, char path[128], const char *text)
{
    snprintf(path, 128, "%s/credentials", c->dir);
    enum fz_code code = fz_file_write_atomic(path, fz_span_cstr(text), 0600, &c->err);
    assert_int_equal(code, FZ_OK);
}

static void
test_file(void **state)
{
    struct blobs_case *c = *state;
    char path[128], text[512], sha256[FZ_SHA256_TEXT];
    bool may_pass;
    if (!blobs_case_has_control())
        skip();
    snprintf(text, sizeof(text),
             "# mine\n[default]\naws_access_key_id=WRONG\naws_secret_access_key=x\n"
             "[ other ]\r\n  aws_access_key_id = %s\r\naws_secret_access_key =%s\r\n",
             ACCESS, SECRET);
    write_file(c, path, text);
    set_keys(NULL, NULL, NULL);
    set("AWS_SHARED_CREDENTIALS_FILE", path);
    assert_int_equal(ready(c, "blobs", "", &may_pass), FZ_E_DENIED);
    assert_int_equal(ready(c, "blobs", "&profile=other", &may_pass), FZ_OK);
    assert_int_equal(ready(c, "blobs", "&credentials=file&profile=none", &may_pass), FZ_E_DENIED);
    assert_non_null(strstr(c->err.text, "no keys in the section [none]"));
    set("AWS_PROFILE", "other");
    assert_int_equal(ready(c, "blobs", "", &may_pass), FZ_OK);
    /* Keys that are replaced while the store is open. */
    struct blob_store *store = blobs_case_open(c, "rotated", 0);
    assert_int_equal(blobs_case_put(store, fz_span_cstr("1"), sha256, &c->err), FZ_OK);
    write_file(c, path, "[other]\naws_access_key_id=GONE\naws_secret_access_key=gone\n");
    assert_int_equal(blobs_case_put(store, fz_span_cstr("2"), sha256, &c->err), FZ_E_UNAVAILABLE);
    write_file(c, path, text);
    assert_int_equal(blobs_case_put(store, fz_span_cstr("2"), sha256, &c->err), FZ_OK);
    /* A half of it is not taken. */
    write_file(c, path, "[other]\naws_access_key_id=");
    assert_int_equal(blobs_case_put(store, fz_span_cstr("3"), sha256, &c->err), FZ_OK);
    blob_close(store);
    set("AWS_PROFILE", NULL);
    set("AWS_SHARED_CREDENTIALS_FILE", NULL);
    set_keys(ACCESS, SECRET, NULL);
}

static void
test_instance(void **state)
{
    struct blobs_case *c = *state;
    bool may_pass;
    if (!blobs_case_has_control())
        skip();
    set_keys("WRONG", "wrong", NULL);
    set("AWS_EC2_METADATA_SERVICE_ENDPOINT", getenv("FZ_S3_CONTROL"));
    enum fz_code code = ready(c, "blobs", "&credentials=instance", &may_pass);
    if (code != FZ_OK)
        fail_msg("%s", c->err.text);
    /* No one asks the service who is not told to. */
    assert_int_equal(ready(c, "blobs", "", &may_pass), FZ_E_DENIED);
    set("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1");
    assert_int_equal(ready(c, "blobs", "&credentials=instance", &may_pass), FZ_E_UNAVAILABLE);
    assert_true(may_pass);
    set("AWS_EC2_METADATA_SERVICE_ENDPOINT", NULL);
    set_keys(ACCESS, SECRET, NULL);
}

/* As every store says it, in its own words. */
static void
test_wrong_keys(void **state)
{
    struct blobs_case *c = *state;
    char access[256], secret[256];
    bool may_pass;
    snprintf(access, sizeof(access), "%s", getenv("AWS_ACCESS_KEY_ID"));
    snprintf(secret, sizeof(secret), "%s", getenv("AWS_SECRET_ACCESS_KEY"));
    set("AWS_SHARED_CREDENTIALS_FILE", "/none/file");
    for (int i = 0; i < 3; i++) {
        set_keys(i == 0 ? "ANOTHERKEY" : access, i == 1 ? "another" : secret, NULL);
        enum fz_code code = ready(c, i == 2 ? "there-is-no-such" : "blobs", "", &may_pass);
        set_keys(access, secret, NULL);
        if (code != FZ_E_DENIED || may_pass)
            fail_msg("%d: %s: %s", i, fz_code_name(code), c->err.text);
        print_message("%s\n", c->err.text);
    }
    set("AWS_SHARED_CREDENTIALS_FILE", NULL);
}

int
blobs_keys_run(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, blobs_case_set_up, blobs_case_tear_down)
    const struct CMUnitTest tests[] = {TEST(test_refusals), TEST(test_file), TEST(test_instance),
                                       TEST(test_wrong_keys)};
    return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
