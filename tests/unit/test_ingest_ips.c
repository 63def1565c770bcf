#include "tests/unit/ingest_case.h"

#include <stdio.h>

#include "base/buffer.h"
#include "tests/unit/check_body.h"

#define HEADER                                                                                    \
    "{\"app_name\":\"Shop\",\"timestamp\":\"2026-11-20 10:11:12.00 +0100\",\"bug_type\":\"309\"," \
    "\"incident_id\":\"0FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11\"}\n"
#define IMAGES                                                                            \
    "\"usedImages\":[{\"base\":4096,\"size\":4096,\"uuid\":\"4c4c445b-5555-3144-a129-"    \
    "88beb9d5eb60\",\"name\":\"Shop\"},{\"source\":\"A\",\"base\":0,\"size\":0,\"uuid\":" \
    "\"00000000-0000-0000-0000-000000000000\"}]"

static struct report
parse(const char *text)
{
    return parse_as(fz_span_cstr(text), "ips");
}

/* Newest first; only frame 0 of a thread is exact; in the exception backtrace none is. */
static void
test_order_and_exactness(void **state)
{
    (void)state;
    struct report r = parse(
        HEADER "{\"faultingThread\":0,\"threads\":[{\"frames\":[{\"imageOffset\":16,\"imageIndex\":"
               "0},{\"imageOffset\":32,\"imageIndex\":0}]}],\"lastExceptionBacktrace\":[{"
               "\"imageOffset\":48,\"imageIndex\":0}]," IMAGES "}");
    assert_int_equal(r.n_threads, 1);
    assert_true(r.threads[0].crashed);
    assert_int_equal(r.threads[0].n_frames, 2);
    assert_int_equal(r.threads[0].frames[0].addr, 4112);
    assert_int_equal(r.threads[0].frames[0].adjust, REPORT_ADJUST_AUTO);
    assert_int_equal(r.threads[0].frames[1].addr, 4128);
    assert_int_equal(r.threads[0].frames[1].adjust, REPORT_ADJUST_AUTO);
    assert_int_equal(r.n_exception_frames, 1);
    assert_int_equal(r.exception_frames[0].addr, 4144);
    assert_int_equal(r.exception_frames[0].adjust, REPORT_ADJUST_RETURN);
    /* A frame 0 that cannot be read does not make the next one exact. */
    r = parse(HEADER
              "{\"threads\":[{\"frames\":[{},{\"imageOffset\":32,\"imageIndex\":0}]}]," IMAGES "}");
    assert_int_equal(r.threads[0].n_frames, 1);
    assert_int_equal(r.threads[0].frames[0].adjust, REPORT_ADJUST_RETURN);
}

/* What systems since iOS 16 say of an exception; it says more than a message. */
static void
test_thrown(void **state)
{
    (void)state;
    static const char more[] = ",\"threads\":[]," IMAGES "}";
    static const struct {
        const char *body, *exception, *reason;
    } cases[] = {
        {"{\"exceptionReason\":{\"name\":\"NSRangeException\",\"class\":\"NSException\","
         "\"composed_message\":\"*** index 7\",\"type\":\"objc-exception\"},"
         "\"asi\":{\"libsystem_c.dylib\":[\"abort() called\"],\"x\":[\"other\\n\"]}",
         "NSRangeException", "*** index 7"},
        {"{\"exceptionReason\":{\"class\":\"MyError\",\"composed_message\":\"\"}", "MyError", NULL},
        {"{\"exceptionReason\":\"odd\"", NULL, NULL},
        {"{\"asi\":{\"libswiftCore.dylib\":[\"a.swift:1: Fatal error: x\\n\"]}", NULL,
         "a.swift:1: Fatal error: x"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char text[2048];
        snprintf(text, sizeof(text), HEADER "%s%s", cases[i].body, more);
        struct report r = parse(text);
        if (cases[i].exception)
            assert_string_equal(r.crash.exception, cases[i].exception);
        else
            assert_null(r.crash.exception);
        if (cases[i].reason)
            assert_string_equal(r.crash.reason, cases[i].reason);
        else
            assert_null(r.crash.reason);
    }
}

/* Inlined calls join the frame around them; another frame's do not. */
static void
test_client_names(void **state)
{
    (void)state;
    struct report r = parse(
        HEADER
        "{\"threads\":[{\"frames\":["
        "{\"imageOffset\":16,\"imageIndex\":0,\"symbol\":\"a\",\"symbolLocation\":0,\"sourceFile\":"
        "\"a.c\",\"sourceLine\":1,\"inline\":true},"
        "{\"imageOffset\":16,\"imageIndex\":0,\"symbol\":\"b\",\"symbolLocation\":4,\"sourceFile\":"
        "\"b.c\",\"sourceLine\":2},"
        "{\"imageOffset\":32,\"imageIndex\":0,\"symbol\":\"c\",\"inline\":true},"
        "{\"imageOffset\":48,\"imageIndex\":0,\"symbol\":\"<redacted>\"},"
        "{\"imageOffset\":64,\"imageIndex\":1,\"symbol\":\"d\",\"symbolLocation\":65}]}]," IMAGES
        "}");
    const struct report_frame *frames = r.threads[0].frames;
    assert_int_equal(r.threads[0].n_frames, 4);
    assert_int_equal(frames[0].n_client, 2);
    assert_string_equal(frames[0].client[0].function, "a");
    assert_true(frames[0].client[0].inlined);
    assert_false(frames[0].client[0].has_offset);
    assert_string_equal(frames[0].client[0].file, "a.c");
    assert_int_equal(frames[0].client[0].line, 1);
    assert_string_equal(frames[0].client[1].function, "b");
    assert_false(frames[0].client[1].inlined);
    assert_int_equal(frames[0].client[1].offset, 4);
    assert_string_equal(frames[0].client[1].source, "client");
    assert_true(frames[0].has_client_start);
    assert_int_equal(frames[0].client_start, 4108);
    assert_int_equal(frames[1].n_client, 1);
    assert_int_equal(frames[2].n_client, 0);
    /* In no image: the offset is the address; a start before 0 is invalid. */
    assert_int_equal(frames[3].addr, 64);
    assert_int_equal(frames[3].image, -1);
    assert_false(frames[3].has_client_start);
}

/* "asiBacktraces" is used if there is no list of frames. */
static void
test_backtrace_text(void **state)
{
    (void)state;
    struct report r = parse(
        HEADER "{\"threads\":[],\"asiBacktraces\":[\"0   Core Kit   0x0000000000001004 -[A b:] + 4"
               "\\n1   Shop\\t0x1010 0x1000 + 16\\nno frame\\n2   x   0x1020 ???\"]," IMAGES "}");
    assert_int_equal(r.n_exception_frames, 3);
    assert_int_equal(r.exception_frames[0].addr, 0x1004);
    assert_int_equal(r.exception_frames[0].adjust, REPORT_ADJUST_RETURN);
    assert_string_equal(r.exception_frames[0].client[0].function, "-[A b:]");
    assert_int_equal(r.exception_frames[0].client_start, 0x1000);
    assert_int_equal(r.exception_frames[1].addr, 0x1010);
    assert_int_equal(r.exception_frames[1].n_client, 0);
    assert_int_equal(r.exception_frames[2].n_client, 0);
}

static void
test_limits(void **state)
{
    (void)state;
    limits.threads = 2;
    limits.frames = 2;
    struct report r =
        parse(HEADER "{\"threads\":[{\"frames\":[]},{\"frames\":[]},{\"name\":\"crashed\","
                     "\"triggered\":true,\"frames\":["
                     "{\"imageOffset\":1,\"imageIndex\":0},"
                     "{\"imageOffset\":2,\"imageIndex\":0,\"symbol\":\"i\",\"inline\":true},"
                     "{\"imageOffset\":2,\"imageIndex\":0,\"symbol\":\"o\"},"
                     "{\"imageOffset\":3,\"imageIndex\":0,\"inline\":true},"
                     "{\"imageOffset\":3,\"imageIndex\":0}]}]," IMAGES "}");
    assert_int_equal(r.n_threads, 2);
    assert_string_equal(r.threads[1].name, "crashed");
    assert_int_equal(r.crash.thread, 2);
    assert_int_equal(r.threads[1].n_frames, 2);
    assert_int_equal(r.threads[1].frames[1].n_client, 2);
    assert_int_equal(r.threads[1].n_frames_cut, 1);
    assert_string_equal(r.notes[0], "threads: 3, of which 2 are kept");
    assert_string_equal(r.notes[1], "threads[2].frames: 3, of which 2 are kept");
}

/* A report that ends in the middle keeps what is complete. */
static void
test_cut(void **state)
{
    (void)state;
    struct report r = parse(HEADER "{\"procName\":\"Shop\"," IMAGES
                                   ",\"threads\":[{\"frames\":[{\"imageOffset\":16,"
                                   "\"imageIndex\":0},{\"imageOffset\":3");
    assert_int_equal(r.n_threads, 1);
    assert_int_equal(r.threads[0].frames[0].addr, 4112);
    assert_memory_equal(r.notes[r.n_notes - 1], "not valid JSON (json: ", 22);
}

static void
test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum fz_code code;
        const char *message;
    } cases[] = {
        {HEADER, FZ_E_MALFORMED, "ips: no report follows the header"},
        {HEADER "{\"procName\":", FZ_E_MALFORMED, "ips: json: "},
        {HEADER "no report", FZ_E_UNSUPPORTED,
         "ips: the text after the header is not a report in a known format"},
        {"{\"bug_type\":\"210\",\"timestamp\":\"x\"}\n{\"panicString\":\"x\"}", FZ_E_UNSUPPORTED,
         "ips: no 'threads', 'processByPid' or 'processes', so no stacks to symbolicate (bug type "
         "\"210\", a panic of the kernel)"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_span body = fz_span_cstr(cases[i].text);
        struct report report;
        struct fz_error err;
        const char *format;
        char id[FZ_UUID_TEXT];
        print_message("%s\n", cases[i].text);
        assert_int_equal(check_body(body, &limits, &format, id, &err), cases[i].code);
        assert_memory_equal(err.text, cases[i].message, strlen(cases[i].message));
        assert_int_equal(ingest_parse(body, &limits, &arena, &report, &err), cases[i].code);
    }
}

/* Which first lines make it an .ips, and the report's own id. */
static void
test_detected(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_ips;
        const char *id;
    } cases[] = {
        {HEADER "{\"threads\":[]}", true, "0fdff9a94c274a3d9f265a4b2f0b6c11"},
        {"\xef\xbb\xbf\r\n" HEADER "{\"threads\":[]}", true, "0fdff9a94c274a3d9f265a4b2f0b6c11"},
        {"some text\n{not JSON\n" HEADER "{\"threads\":[]}", true,
         "0fdff9a94c274a3d9f265a4b2f0b6c11"},
        {"{\"threads\":[],\"usedImages\":[]}", true, ""},
        {"{\"procName\":\"a\",\"pid\":1,\"captureTime\":\"x\",\"incident\":"
         "\"0FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11\",\"threads\":[]}",
         true, "0fdff9a94c274a3d9f265a4b2f0b6c11"},
        {"{\"threads\":[],\"images\":[]}", false, ""},
        {"{\"bug_type\":\"309\"}\n{\"threads\":[]}", true, ""},
        {"{\"bug_type\":\"309\",\"a\":1}\n{\"threads\":[]}", false, ""},
        {"text only\n{\"a\":1}\n", false, ""},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct fz_span body = fz_span_cstr(cases[i].text);
        const char *format = ingest_detect(body);
        struct fz_error err;
        char id[FZ_UUID_TEXT];
        print_message("%s\n", cases[i].text);
        assert_int_equal(format && strcmp(format, "ips") == 0, cases[i].is_ips);
        if (!cases[i].is_ips)
            continue;
        assert_int_equal(check_body(body, &limits, &format, id, &err), FZ_OK);
        assert_string_equal(id, cases[i].id);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order_and_exactness, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_thrown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_client_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_backtrace_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_detected, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
