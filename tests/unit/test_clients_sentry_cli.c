#include "server/clients/sentry/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void
test_credential(void **state)
{
    (void)state;
    static const struct {
        const char *header, *want; /* NULL: another scheme */
    } cases[] = {
        {"Bearer fz_abc", "fz_abc"},
        {"bearer fz_abc", "fz_abc"},
        {"Bearer ", ""},
        {"Basic Zno6", "fz"}, /* fz: */
        {"basic Zno6eA==", "fz"},
        {"Basic Zno=", "fz"},
        {"Basic ", ""},
        {"Basic Og==", ""}, /* : */
        {"Basic !!!", ""},
        {"Basic AGE6", ""}, /* NUL, a, colon */
        {"Digest x", NULL},
        {"", NULL},
        {"Sentry sentry_key=1", NULL},
        /* 43 characters after the last '_', '+' and '/' for '-' and '_' */
        {"Bearer sntrys_eyJpYXQiOjF9_abcdefghijklmnopqrstuvwxyz0123456789+/ABCDE",
         "fz_abcdefghijklmnopqrstuvwxyz0123456789-_ABCDE"},
        {"Bearer sntrys_eyJpYXQiOjF9_short", "sntrys_eyJpYXQiOjF9_short"},
        {"Bearer sntrys_", "sntrys_"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char room[API_TOKEN_ROOM] = "left over";
        const char *got = sentry_cli_credential(cases[i].header, room);
        if ((got == NULL) != (cases[i].want == NULL) || (got && strcmp(got, cases[i].want) != 0))
            fail_msg("%s: %s, wanted %s", cases[i].header, got ? got : "NULL",
                     cases[i].want ? cases[i].want : "NULL");
    }
    /* Longer than there is room. */
    char room[API_TOKEN_ROOM], header[8 + 2 * API_TOKEN_ROOM] = "Basic ";
    memset(header + 6, 'A', 2 * API_TOKEN_ROOM);
    assert_string_equal(sentry_cli_credential(header, room), "");
}

static void
test_error(void **state)
{
    (void)state;
    struct fz_error err;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    fz_ignore(fz_fail(&err, FZ_E_DENIED, "no \"token\"")); /* only fills it */
    sentry_cli_error(&err, 401, "{}", &out);
    assert_string_equal(fz_buffer_cstr(&out), "{\"detail\":\"no \\\"token\\\"\"}");
}

static void
test_dif(void **state)
{
    (void)state;
    const struct upload_file file = {.uuid = {{0x4c, 0x4c, 0x44, 0x5b, 0x55, 0x55, 0x31, 0x44, 0xa1,
                                               0x29, 0x88, 0xbe, 0xb9, 0xd5, 0xeb, 0x60}},
                                     .arch = "arm64",
                                     .kind = STORE_SYMBOL_DSYM,
                                     .name = "Demo",
                                     .size = 7,
                                     .features = {.symtab = true, .dwarf = true}};
    const struct upload_file nothing = {.arch = "", .name = ""};
    struct sentry_dif dif;
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer out = fz_buffer_make(0);
    struct json_write w = json_write_start(&out);
    sentry_cli_dif_of(&file, &dif);
    assert_true(dif.has_symtab && dif.has_dwarf && !dif.has_unwind);
    sentry_cli_dif(&w, NULL, &dif);
    json_auto_t *got = json_loads(fz_buffer_cstr(&out), 0, NULL);
    assert_string_equal(sentry_cli_text(got, "debugId"), "4c4c445b-5555-3144-a129-88beb9d5eb60");
    assert_string_equal(sentry_cli_text(got, "sha1"), ""); /* never absent: the client fails then */
    assert_string_equal(sentry_cli_text(json_object_get(got, "data"), "type"), "dbg");
    assert_int_equal(json_array_size(json_object_get(json_object_get(got, "data"), "features")), 2);
    assert_true(json_is_null(json_object_get(got, "dateCreated")));
    /* A symbol map has no architecture. */
    sentry_cli_dif_of(&nothing, &dif);
    assert_true(fz_uuid_is_nil(&dif.uuid));
    fz_buffer_clear(&out);
    w = json_write_start(&out);
    sentry_cli_dif(&w, NULL, &dif);
    json_auto_t *empty = json_loads(fz_buffer_cstr(&out), 0, NULL);
    assert_string_equal(sentry_cli_text(empty, "objectName"), "");
    assert_string_equal(sentry_cli_text(empty, "cpuName"), "any");
}

static void
test_members(void **state)
{
    (void)state;
    json_auto_t *body = json_loads("{\"a\":\"x\",\"b\":null,\"c\":7,\"t\":\"1970-01-01T00:00:02Z\","
                                   "\"n\":\"soon\",\"old\":\"1960-01-01T00:00:00Z\"}",
                                   0, NULL);
    assert_string_equal(sentry_cli_text(body, "a"), "x");
    assert_null(sentry_cli_text(body, "b"));
    assert_null(sentry_cli_text(body, "c"));
    assert_null(sentry_cli_text(body, "d"));
    assert_int_equal(sentry_cli_time(body, "t"), 2000);
    assert_int_equal(sentry_cli_time(body, "n"), 0);
    assert_int_equal(sentry_cli_time(body, "old"), 0);
    assert_int_equal(sentry_cli_time(body, "b"), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_credential),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_dif),
        cmocka_unit_test(test_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
