#include "tests/unit/ingest_case.h"

static struct ingest_item *items;
static size_t n_items;
static struct fz_error err;

static enum fz_code
split(const char *text)
{
    size_t n_cut;
    n_items = 0;
    return ingest_split(fz_span_cstr(text), &limits, &arena, &items, &n_items, &n_cut, &err);
}

#define A "{\"framezero\":1,\"addresses\":[1],\"images\":[]}"
#define B "{\"report\":{\"id\":\"0FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11\"},\"crash\":{\"error\":{}}}"
#define PART(name, more, content)                                                                 \
    "------FOO\r\nContent-Disposition: form-data; name=\"" name "\"" more "\r\n\r\n" content "\r" \
    "\n"
#define END "------FOO--\r\n"

/* One part is the report; several in it are several. */
static void
test_alone(void **state)
{
    (void)state;
    assert_int_equal(split(PART("reports", "; filename=\"reports.json\"", "[" A "," B "]") END),
                     FZ_OK);
    assert_int_equal(n_items, 2);
    assert_true(fz_span_is(items[0].body, A));
    assert_string_equal(items[1].format, "kscrash");
    assert_string_equal(items[1].id, "0fdff9a94c274a3d9f265a4b2f0b6c11");
    assert_int_equal(split(PART("whatever", "", A) END), FZ_OK);
    assert_int_equal(n_items, 1);
    assert_true(fz_span_is(items[0].body, A));
}

/* With others beside it the form is the report, and they are kept. */
static void
test_beside(void **state)
{
    (void)state;
    static const char form[] = PART("prod", "", "Shop") PART("ver", "", "4.2")
        PART("sentry[tags][channel]", "", "beta") PART("note", "", "a") PART("note", "", "b")
            PART("xml", "; filename=\"crash.json\"", "[" B "]")
                PART("attachment0", "; filename=\"log.txt\"\r\nContent-Type: text/plain", "hi") END;
    struct report r;
    assert_int_equal(split(form), FZ_OK);
    assert_int_equal(n_items, 1);
    assert_int_equal(items[0].body.len, sizeof(form) - 1);
    assert_string_equal(items[0].format, "kscrash");
    assert_string_equal(items[0].reader, "multipart");
    assert_string_equal(items[0].id, "0fdff9a94c274a3d9f265a4b2f0b6c11");
    assert_int_equal(ingest_parse(items[0].body, &limits, &arena, &r, &err), FZ_OK);
    assert_string_equal(r.format, "kscrash");
    assert_string_equal(r.app_name, "Shop");
    assert_string_equal(r.app_version, "4.2");
    assert_string_equal(r.tags_json, "{\"channel\":\"beta\"}");
    assert_non_null(strstr(r.extra_json, "\"form\":{\"prod\":\"Shop\",\"ver\":\"4.2\",\"note\":"
                                         "[\"a\",\"b\"]}"));
    assert_int_equal(r.n_attachments, 1);
    assert_string_equal(r.attachments[0].name, "log.txt");
    assert_string_equal(r.attachments[0].type, "text/plain");
    assert_string_equal(r.attachments[0].kind, "attachment0");
    assert_int_equal(r.attachments[0].size, 2);
    assert_memory_equal(form + r.attachments[0].offset, "hi", 2);
}

/* What was detected is given to the parser, and taken as given. */
static void
test_reader(void **state)
{
    (void)state;
    static const char form[] = PART("prod", "", "Shop") PART("xml", "; filename=\"a\"", B) END;
    struct report r;
    assert_int_equal(split(form), FZ_OK);
    assert_string_equal(items[0].reader, "multipart/1/kscrash");
    static const struct {
        const char *reader;
        enum fz_code code;
    } cases[] = {
        {"multipart/1/kscrash", FZ_OK},
        {"multipart/1/sentry_event", FZ_OK}, /* any JSON object is an event */
        {"multipart/0/kscrash", FZ_E_MALFORMED},
        {"multipart/7/kscrash", FZ_OK}, /* no such part, no such rows: detected */
        {"multipart/1/nothing", FZ_OK},
        {"nothing", FZ_OK},
        {NULL, FZ_OK},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        enum fz_code code =
            ingest_parse_as(items[0].body, cases[i].reader, &limits, &arena, &r, &err);
        if (code != cases[i].code)
            fail_msg("%s: %s", cases[i].reader, fz_code_name(code));
        if (code == FZ_OK && strcmp(r.format, i == 1 ? "sentry" : "kscrash") != 0)
            fail_msg("%s: %s", cases[i].reader, r.format);
    }
}

static void
test_event_field(void **state)
{
    (void)state;
    struct report r;
    assert_int_equal(split(PART("sentry", "",
                                "{\"tags\":{\"a\":\"b\"},\"release\":\"9\",\"user\":{\"id\":\"1\"},"
                                "\"level\":\"fatal\"}") PART("file", "; filename=\"\"", B) END),
                     FZ_OK);
    assert_int_equal(ingest_parse(items[0].body, &limits, &arena, &r, &err), FZ_OK);
    assert_string_equal(r.tags_json, "{\"a\":\"b\"}");
    assert_string_equal(r.app_version, "9");
    assert_string_equal(r.user_json, "{\"id\":\"1\"}");
    assert_non_null(strstr(r.extra_json, "\"sentry\":{\"level\":\"fatal\"}"));
}

/* The last line break of HockeySDK's last part is not content; that of others is. */
static void
test_surplus(void **state)
{
    (void)state;
    struct report r;
    static const struct {
        const char *form;
        uint64_t sizes[2];
    } cases[] = {
        {PART("sdk", "", "HockeySDK") PART("xml", "; filename=\"x\"", B) PART(
             "a0", "; filename=\"a\"", "1\r\n") PART("a1", "; filename=\"b\"", "2\r\n\r\n") END,
         {3, 3}},
        {PART("sdk", "", "Other") PART("xml", "; filename=\"x\"", B) PART(
             "a0", "; filename=\"a\"", "1\r\n") PART("a1", "; filename=\"b\"", "2\r\n\r\n") END,
         {3, 5}},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        assert_int_equal(split(cases[i].form), FZ_OK);
        assert_int_equal(ingest_parse(items[0].body, &limits, &arena, &r, &err), FZ_OK);
        assert_int_equal(r.n_attachments, 2);
        assert_int_equal(r.attachments[0].size, cases[i].sizes[0]);
        assert_int_equal(r.attachments[1].size, cases[i].sizes[1]);
    }
}

/* The named part wins over a file, a file over a text. */
static void
test_which_part(void **state)
{
    (void)state;
    struct report r;
    assert_int_equal(
        split(PART("a", "", A) PART("b", "; filename=\"b\"", A) PART("xml", "", B) END), FZ_OK);
    assert_string_equal(items[0].format, "kscrash");
    assert_int_equal(split(PART("a", "", A) PART("b", "; filename=\"b\"", B) END), FZ_OK);
    assert_string_equal(items[0].format, "kscrash");
    assert_int_equal(ingest_parse(items[0].body, &limits, &arena, &r, &err), FZ_OK);
    assert_int_equal(r.n_attachments, 0);
    /* Of two alike the first is it, the other goes with it. */
    assert_int_equal(split(PART("a", "; filename=\"a\"", B) PART("b", "; filename=\"b\"", A) END),
                     FZ_OK);
    assert_int_equal(ingest_parse(items[0].body, &limits, &arena, &r, &err), FZ_OK);
    assert_string_equal(r.format, "kscrash");
    assert_int_equal(r.n_attachments, 1);
    assert_string_equal(r.attachments[0].name, "b");
}

static void
test_refused(void **state)
{
    (void)state;
    assert_int_equal(split(PART("a", "", "1") PART("b", "", "2") END), FZ_E_UNSUPPORTED);
    assert_string_equal(err.text, "a form without a report: no part ('a', 'b') is one in "
                                  "a known format");
    assert_int_equal(split(PART("a", "", A)), FZ_E_MALFORMED); /* no end */
    assert_int_equal(split(PART("a", "", "[1]") PART("xml", "", "[{\"x\":1}]") END),
                     FZ_E_UNSUPPORTED);
    /* A form in a form is not a report. */
    assert_int_equal(split("--b\r\nContent-Disposition: form-data; name=x\r\n\r\n" PART("a", "", A)
                               END "\r\n--b--"),
                     FZ_E_UNSUPPORTED);
    assert_null(ingest_detect(fz_span_cstr("--b\r\nHello: x\r\n")));
    assert_null(ingest_detect(fz_span_cstr("--\r\nContent-Disposition: x\r\n")));
    assert_string_equal(ingest_detect(fz_span_cstr("--b\r\ncontent-type: x\r\n")), "multipart");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_beside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reader, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_event_field, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_surplus, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_which_part, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
