#include "tests/unit/ingest_case.h"

static struct fz_error err;

static struct report
parse(const char *text)
{
    return parse_as(fz_span_cstr(text), "bugsnag");
}

static void
test_detect(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{\"exceptions\":[{\"errorClass\":\"E\"}]}", "bugsnag"},
        {"{\"exceptions\":[{\"stacktrace\":[{\"frameAddress\":", "bugsnag"}, /* the head's end */
        {"{\"exceptions\":[{\"type\":\"E\"}]}", NULL},
        {"{\"exceptions\":[]}", NULL},
        {"{\"notifier\":{},\"events\":[{\"exceptions\":[{\"errorClass\":\"E\"}]}]}", "bugsnag"},
        {"{\"notifier\":{},\"events\":[{\"device\":{", "bugsnag"},
        {"{\"events\":[{\"a\":1}]}", NULL},
        {"{\"notifier\":{},\"events\":[]}", NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const char *got = ingest_detect(fz_span_cstr(cases[i].text));
        if (!cases[i].want != !got || (got && strcmp(got, cases[i].want) != 0))
            fail_msg("%s: %s", cases[i].text, got ? got : "none");
    }
}

/* Only a marked pc of a thread that was caught is exact; others threw or reported themselves. */
static void
test_first_frame(void **state)
{
    (void)state;
    static const struct {
        const char *class, *is_pc, *type;
        enum report_adjust want;
    } cases[] = {
        {"EXC_BAD_ACCESS", "true", "mach", REPORT_ADJUST_AUTO},
        {"SIGABRT", "true", "signal", REPORT_ADJUST_AUTO},
        {"SIGABRT", "true", "", REPORT_ADJUST_AUTO},
        {"NSRangeException", "true", "nsexception", REPORT_ADJUST_RETURN},
        {"EXC_BAD_ACCESS", "false", "mach", REPORT_ADJUST_RETURN},
        {"NSError", "false", "", REPORT_ADJUST_RETURN},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report r = parse(fz_arena_printf(
            &arena,
            "{\"exceptions\":[{\"errorClass\":\"%s\"}],\"metaData\":{\"error\":{\"type\":\"%s\"}},"
            "\"threads\":[{\"id\":\"4\",\"stacktrace\":[{\"frameAddress\":\"0x10\"}]},{\"id\":"
            "\"5\","
            "\"errorReportingThread\":true,\"stacktrace\":[{\"frameAddress\":\"0x20\",\"isPC\":%s},"
            "{\"frameAddress\":\"0x30\"}]}]}",
            cases[i].class, cases[i].type, cases[i].is_pc));
        assert_int_equal(r.threads[0].frames[0].adjust, REPORT_ADJUST_AUTO);
        if (r.threads[1].frames[0].adjust != cases[i].want)
            fail_msg("%s: %d", cases[i].class, r.threads[1].frames[0].adjust);
        assert_int_equal(r.threads[1].frames[1].addr, 0x30);
        assert_int_equal(r.crash.thread, 5);
    }
}

/* The exception's stack is kept if it differs from the thread's; without one it is the thread. */
static void
test_exception_stack(void **state)
{
    (void)state;
    static const char head[] = "{\"exceptions\":[{\"errorClass\":\"E\",\"stacktrace\":["
                               "{\"frameAddress\":\"0x10\",\"isPC\":true}]}],\"threads\":[";
    struct report r = parse(fz_arena_printf(&arena, "%s]}", head));
    assert_int_equal(r.n_threads, 1);
    assert_true(r.threads[0].crashed);
    assert_int_equal(r.threads[0].frames[0].adjust, REPORT_ADJUST_RETURN);
    assert_int_equal(r.n_exception_frames, 0);
    r = parse(fz_arena_printf(&arena,
                              "%s{\"id\":0,\"errorReportingThread\":true,\"stacktrace\":["
                              "{\"frameAddress\":\"0x10\"}]}]}",
                              head));
    assert_int_equal(r.n_exception_frames, 0);
    r = parse(fz_arena_printf(&arena,
                              "%s{\"id\":0,\"errorReportingThread\":true,\"stacktrace\":["
                              "{\"frameAddress\":\"0x11\"}]}]}",
                              head));
    assert_int_equal(r.n_exception_frames, 1);
    assert_int_equal(r.exception_frames[0].addr, 0x10);
}

static void
test_images(void **state)
{
    (void)state;
    struct report r = parse(
        "{\"exceptions\":[{\"errorClass\":\"E\",\"stacktrace\":["
        "{\"frameAddress\":\"0x3010\",\"machoLoadAddress\":\"0x3000\",\"machoFile\":\"/b/Kit\","
        "\"machoUUID\":\"x\"},"
        "{\"frameAddress\":\"0x1010\",\"machoLoadAddress\":\"0x1000\",\"machoFile\":\"/a/Shop\","
        "\"machoUUID\":\"4C4C445B-5555-3144-A129-88BEB9D5EB60\",\"method\":\"0x1010\"},"
        "{\"frameAddress\":\"0x1020\",\"machoLoadAddress\":\"0x1000\",\"method\":\"f\","
        "\"symbolAddress\":\"0x1018\"}]}],\"app\":{\"binaryArch\":\"amd64\"}}");
    assert_int_equal(r.n_images, 2);
    assert_string_equal(r.images[0].name, "Shop");
    assert_true(r.images[0].has_uuid);
    assert_string_equal(r.images[0].arch, "x86_64");
    assert_false(r.images[1].has_uuid);
    assert_int_equal(r.threads[0].frames[1].n_client, 0);
    assert_string_equal(r.threads[0].frames[2].client[0].function, "f");
    assert_int_equal(r.threads[0].frames[2].client_start, 0x1018);
}

static void
test_several(void **state)
{
    (void)state;
    struct ingest_item *items;
    size_t n, n_cut;
    static const char body[] =
        "{\"apiKey\":\"k\",\"events\":[{\"exceptions\":[{\"errorClass\":\"A\"}]},{\"x\":1},"
        "{\"exceptions\":[{\"errorClass\":\"B\"}]}],\"notifier\":{\"name\":\"n\"}}";
    assert_int_equal(ingest_split(fz_span_cstr(body), &limits, &arena, &items, &n, &n_cut, &err),
                     FZ_OK);
    assert_int_equal(n, 3);
    assert_true(fz_span_is(items[2].body,
                           "{\"apiKey\":\"k\",\"notifier\":{\"name\":\"n\"},"
                           "\"events\":[{\"exceptions\":[{\"errorClass\":\"B\"}]}]}"));
    assert_int_equal(items[1].code, FZ_E_UNSUPPORTED);
    struct report r;
    assert_int_equal(ingest_parse(items[2].body, &limits, &arena, &r, &err), FZ_OK);
    assert_string_equal(r.crash.exception, "B");
    assert_string_equal(r.extra_json, "{\"notifier\":{\"name\":\"n\"}}");
}

static void
test_broken(void **state)
{
    (void)state;
    struct report r =
        parse("{\"exceptions\":[{\"errorClass\":\"A\"}],\"threads\":[{\"id\":\"1\"},{\"i");
    assert_string_equal(r.crash.exception, "A");
    assert_int_equal(r.n_threads, 2);
    assert_int_equal(r.n_notes, 1);
    assert_string_equal(r.notes[0], "the payload is not valid JSON (json: ends inside a string at "
                                    "byte 60); what precedes the fault is kept");
    r = parse("{\"events\":[{\"exceptions\":[{\"errorClass\":\"A\"}]},"
              "{\"exceptions\":[{\"errorClass\":\"B\"}]},],\"notifier\":{}}");
    assert_string_equal(r.notes[1], "events: 2, of which only the first is read");
}

static void
test_refused(void **state)
{
    (void)state;
    struct report r;
    static const char none[] = "{\"exceptions\":[{\"errorClass\":\"A\"}],\"events\":[{\"x\":1}]}";
    assert_int_equal(ingest_parse(fz_span_cstr(none), &limits, &arena, &r, &err), FZ_E_MALFORMED);
    assert_string_equal(err.text, "Bugsnag report: no event with 'exceptions' in it");
    assert_int_equal(err.offset, strstr(none, "{\"x\"") - none);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_detect, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_first_frame, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_exception_stack, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_images, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_several, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
