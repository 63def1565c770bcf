#include "tests/unit/ingest_case.h"

#include <stdio.h>

#define LOG "<log><![CDATA[Thread 0 Crashed:\n0 Demo 0x10 f + 1\n]]></log>"

static struct report
parse(const char *text)
{
    return parse_as(fz_span_cstr(text), "quincy");
}

static const struct {
    const char *element; /* beside the log */
    const char *name;    /* of the app; NULL: none */
} names[] = {
    {"<applicationname>Demo</applicationname>", "Demo"},
    {"<applicationname>A & B</applicationname>", "A & B"},
    {"<applicationname>A &amp; B &#38; C &#x26; D</applicationname>", "A & B & C & D"},
    {"<applicationname>a < b</applicationname>", "a < b"},
    {"<applicationname><![CDATA[A &amp; B]]></applicationname>", "A &amp; B"},
    {"<applicationname>\n <![CDATA[a]]]]><![CDATA[>b]]>\n</applicationname>", "a]]>b"},
    {"<applicationname>(null)</applicationname>", NULL},
    {"<applicationname></applicationname>", NULL},
    {"<applicationname/>", NULL},
    {"<other><applicationname>inner</applicationname></other>", NULL},
};

static void
test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char text[512];
        snprintf(text, sizeof(text), "<crashes><crash>%s" LOG "</crash></crashes>",
                 names[i].element);
        const char *name = parse(text).app_name;
        if ((name == NULL) != (names[i].name == NULL) || (name && strcmp(name, names[i].name) != 0))
            fail_msg("%s: got %s", names[i].element, name ? name : "nothing");
    }
}

static void
test_log(void **state)
{
    (void)state;
    struct report r = parse("<crash><version>7</version><log>Version: 6\nThread 3 Crashed:\n"
                            "0 Demo 0x10 a&lt;b&gt; + 1\n</log><username>Dev</username></crash>");
    assert_string_equal(r.app_build, "6");
    assert_int_equal(r.crash.thread, 3);
    assert_int_equal(r.threads[0].frames[0].adjust, REPORT_ADJUST_AUTO);
    assert_string_equal(r.threads[0].frames[0].client[0].function, "a<b>");
    assert_string_equal(r.user_json, "{\"name\":\"Dev\"}");
}

static void
test_uuid_of_app(void **state)
{
    (void)state;
    struct report r =
        parse("<crash><applicationname>Demo</applicationname><uuids><uuid type=\"app\" "
              "arch=\"armv7\">4c4c445b55553144a12988beb9d5eb61</uuid><uuid type=\"app\" "
              "arch=\"arm64\">4c4c445b55553144a12988beb9d5eb60</uuid></uuids>"
              "<log>Process: Demo [1]\nThread 0:\n0 Demo 0x1010 0x1000 + 16\n\n"
              "Binary Images:\n0x1000 - 0x1fff Demo arm64\n</log></crash>");
    assert_true(r.images[0].has_uuid);
    assert_int_equal(r.images[0].uuid.bytes[15], 0x60);
}

static const struct {
    const char *text, *want;
} refused[] = {
    {"<crashes></crashes>", "quincy: no <crash> in <crashes>"},
    {"<crashes><crash><version>1</version></crash></crashes>",
     "quincy: no <log> in <crash>, so there is no crash to read"},
    {"<crashes><crash><log>hello</log></crash></crashes>",
     "quincy: the text in <log> is no report, Apple's crash text is wanted"},
    {"<crashes><crash><log><![CDATA[<crashes><crash>" LOG
     "</crash></crashes>]]></log></crash></crashes>",
     "quincy: the text in <log> is quincy, Apple's crash text is wanted"},
};

static void
test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct report report;
        struct fz_error err;
        assert_int_not_equal(
            ingest_parse(fz_span_cstr(refused[i].text), &limits, &arena, &report, &err), FZ_OK);
        assert_string_equal(err.text, refused[i].want);
        assert_true(err.offset >= 0);
    }
}

static void
test_split(void **state)
{
    (void)state;
    struct ingest_item *items;
    struct fz_error err;
    size_t n, n_cut;
    struct fz_span body = fz_span_cstr(
        "<crashes><crash><uuid>4c4c445b55553144a12988beb9d5eb60</uuid>" LOG "</crash> <x/>"
        "<crash><log><![CDATA[</crash>]]></log></crash>"
        "<crash>" LOG "</crash></crashes>");
    assert_int_equal(ingest_split(body, &limits, &arena, &items, &n, &n_cut, &err), FZ_OK);
    assert_int_equal(n, 3);
    assert_string_equal(items[0].format, "quincy");
    assert_string_equal(items[0].id, "4c4c445b55553144a12988beb9d5eb60");
    assert_true(fz_span_is(items[1].body,
                           "<crashes><crash><log><![CDATA[</crash>]]></log></crash></crashes>"));
    assert_true(fz_span_is(items[2].body, "<crashes><crash>" LOG "</crash></crashes>"));
}

static void
test_many(void **state)
{
    (void)state;
    enum { N = INGEST_ITEMS_MAX + 10 };
    static char text[N * 128];
    struct ingest_item *items;
    struct fz_error err;
    size_t n, n_cut, len = 0;
    for (int i = 0; i < N; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "<crash>" LOG "</crash>");
    assert_int_equal(
        ingest_split(fz_span_make(text, len), &limits, &arena, &items, &n, &n_cut, &err), FZ_OK);
    assert_int_equal(n, INGEST_ITEMS_MAX);
    assert_int_equal(n_cut, 10);
}

/* Whichever allocation fails, the parse says so and no more. */
static void
test_out_of_memory(void **state)
{
    (void)state;
    static const char text[] =
        "<crashes><crash><applicationname>A &amp; B</applicationname><uuids><uuid type=\"app\" "
        "arch=\"arm64\">4c4c445b55553144a12988beb9d5eb60</uuid></uuids><version>1</version>"
        "<username>u</username><description>d</description>" LOG "</crash></crashes>";
    fail_each_allocation(fz_span_cstr(text));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_uuid_of_app, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_split, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_out_of_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
