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
#define B "{\"report\":{},\"crash\":{\"error\":{}}}"

static void
test_split(void **state)
{
    (void)state;
    assert_int_equal(split(" [" A "," B ", 7, {\"x\":1}]"), FZ_OK);
    assert_int_equal(n_items, 4);
    assert_string_equal(items[0].format, "framezero");
    assert_true(fz_span_is(items[0].body, A));
    assert_string_equal(items[1].format, "kscrash");
    assert_true(fz_span_is(items[1].body, B));
    assert_int_equal(items[2].code, FZ_E_UNSUPPORTED);
    assert_int_equal(items[3].code, FZ_E_UNSUPPORTED);
}

/* A string is the text of a report, escapes undone. */
static void
test_strings(void **state)
{
    (void)state;
    assert_int_equal(
        split("[\"{\\\"framezero\\\":1,\\\"addresses\\\":[1],\\n\\u0022images\\\":[]}\","
              "\"nothing\",\"\"]"),
        FZ_OK);
    assert_int_equal(n_items, 3);
    assert_string_equal(items[0].format, "framezero");
    assert_true(fz_span_is(items[0].body, "{\"framezero\":1,\"addresses\":[1],\n\"images\":[]}"));
    assert_int_equal(items[1].code, FZ_E_UNSUPPORTED);
    assert_int_equal(items[2].code, FZ_E_MALFORMED);
}

/* The broken end of an array costs what is broken. */
static void
test_broken(void **state)
{
    (void)state;
    assert_int_equal(split("[" A ",{\"report\":{},\"crash\":{\"error\":{\"type\":\"mach\""), FZ_OK);
    assert_int_equal(n_items, 2);
    assert_int_equal(items[1].code, FZ_OK);
    assert_string_equal(items[1].format, "kscrash");
    assert_int_equal(split("[" A "}," A "]"), FZ_OK); /* nothing after the bracket can be read */
    assert_int_equal(n_items, 1);
    assert_int_equal(split("[" A ",\"cut"), FZ_OK);
    assert_int_equal(n_items, 2);
    assert_int_equal(items[1].code, FZ_E_UNSUPPORTED);
}

static void
test_none(void **state)
{
    (void)state;
    assert_int_equal(split("[]"), FZ_E_UNSUPPORTED);
    assert_int_equal(split("[1,2]"), FZ_E_UNSUPPORTED);
    assert_int_equal(split("[{\"x\":1}]"), FZ_E_UNSUPPORTED);
    /* Arrays within strings of arrays have an end. */
    assert_int_equal(
        split("[\"[\\\"[\\\\\\\"[\\\\\\\\\\\\\\\"[]\\\\\\\\\\\\\\\"]\\\\\\\"]\\\"]\"]"),
        FZ_E_LIMIT);
    /* Nor are forms within arrays. */
    assert_int_equal(split("[\"--b\\r\\nContent-Disposition: form-data; name=x\\r\\n\\r\\n1\\r\\n"
                           "--b--\"]"),
                     FZ_E_UNSUPPORTED);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_split, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_strings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_none, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
