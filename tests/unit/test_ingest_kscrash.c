#include "tests/unit/ingest_case.h"

#include <stdio.h>

#include "base/text.h"
#include "tests/unit/check_body.h"

static struct report
parse(const char *text)
{
    return parse_as(fz_span_cstr(text), "kscrash");
}

static bool
noted(const struct report *r, const char *part)
{
    for (size_t i = 0; i < r->n_notes; i++) {
        if (strstr(r->notes[i], part))
            return true;
    }
    return false;
}

static void
test_detect(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{\"crash\":{\"error\":{}},\"report\":{}}", "kscrash"},
        {"{\"binary_images\":[],\"crash\":{\"threads\":[]}}", "kscrash"},
        {"{\"binary_images\":[{\"image_addr\":1", "kscrash"}, /* where the first 64 KB end */
        {"{\"crash\":{\"threads\":[{", "kscrash"},
        {"{\"recrash_report\":{}}", "kscrash"},
        {"{\"crash\":{\"signal\":\"SIGSEGV\"},\"report\":{}}", NULL},
        {"{\"framezero\":1,\"crash\":{\"error\":1},\"report\":{},\"threads\":[]}", "framezero"},
        {"{\"crash\":{\"thread\":0},\"system\":{},\"threads\":[],\"images\":[]}", "framezero"},
        {"{\"report\":{}}", NULL},
        {"{\"report\":{\"type\":\"custom\"},\"mine\":1}", "kscrash"},
        {"{\"report\":{\"type\":\"weekly\"}}", NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const char *got = ingest_detect(fz_span_cstr(cases[i].text));
        if (!cases[i].want != !got || (got && strcmp(got, cases[i].want) != 0))
            fail_msg("%s: %s", cases[i].text, got ? got : "none");
    }
}

/* Frame 0 is exact only where a signal or a Mach exception caught the thread at its pc. */
static void
test_first_frame(void **state)
{
    (void)state;
    static const struct {
        const char *type, *thread;
        enum report_adjust want;
    } cases[] = {
        {"mach", "\"registers\":{\"basic\":{\"pc\":4096}},", REPORT_ADJUST_AUTO},
        {"signal", "", REPORT_ADJUST_AUTO},
        {"deadlock", "", REPORT_ADJUST_AUTO},
        {"mach", "\"registers\":{\"basic\":{\"pc\":4097}},", REPORT_ADJUST_AUTO}, /* Thumb */
        {"mach", "\"registers\":{\"basic\":{\"rip\":4000}},", REPORT_ADJUST_RETURN},
        {"nsexception", "", REPORT_ADJUST_RETURN},
        {"cpp_exception", "\"registers\":{\"basic\":{\"pc\":4096}},", REPORT_ADJUST_RETURN},
        {"user", "", REPORT_ADJUST_RETURN},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        const char *text = fz_arena_printf(
            &arena,
            "{\"report\":{},\"crash\":{\"error\":{\"type\":\"%s\"},\"threads\":[{\"crashed\":true,"
            "%s\"backtrace\":{\"contents\":[{\"instruction_addr\":4096},"
            "{\"instruction_addr\":8192}]}},"
            "{\"backtrace\":{\"contents\":[{\"instruction_addr\":12288}]}}]}}",
            cases[i].type, cases[i].thread);
        struct report r = parse(text);
        if (r.threads[0].frames[0].adjust != cases[i].want)
            fail_msg("%s %s: %d", cases[i].type, cases[i].thread, r.threads[0].frames[0].adjust);
        assert_int_equal(r.threads[0].frames[1].addr, 8192);
        assert_int_equal(r.threads[0].frames[1].adjust, REPORT_ADJUST_AUTO);
        assert_int_equal(r.threads[1].frames[0].adjust, REPORT_ADJUST_AUTO);
        assert_int_equal(r.crash.thread, 0);
    }
    /* Newest frames left out, by the client or because they are odd. */
    struct report r = parse("{\"report\":{},\"crash\":{\"threads\":[{\"backtrace\":{\"contents\":"
                            "[{\"instruction_addr\":1}],\"skipped\":7}},{\"backtrace\":{"
                            "\"contents\":[\"hello\",{\"instruction_addr\":2}]}}]}}");
    assert_int_equal(r.threads[0].frames[0].adjust, REPORT_ADJUST_RETURN);
    assert_int_equal(r.threads[1].frames[0].adjust, REPORT_ADJUST_RETURN);
    assert_true(noted(&r, "the client left out the 7 newest frames"));
    assert_true(noted(&r, "threads[1].frames[0]: no address"));
}

static void
test_client_names(void **state)
{
    (void)state;
    struct report r =
        parse("{\"report\":{},\"crash\":{\"threads\":[{\"backtrace\":{\"contents\":["
              "{\"instruction_addr\":18446744073709551600,\"symbol_name\":\"f\","
              "\"symbol_addr\":18446744073709551584},"
              "{\"instruction_addr\":4096,\"symbol_name\":\"<redacted>\",\"symbol_addr\":4090},"
              "{\"instruction_addr\":4096,\"symbol_addr\":4090},"
              "{\"instruction_addr\":4096,\"symbol_name\":\"g\",\"symbol_addr\":5000}]}}]}}");
    const struct report_frame *frames = r.threads[0].frames;
    assert_int_equal(frames[0].addr, UINT64_MAX - 15);
    assert_int_equal(frames[0].n_client, 1);
    assert_string_equal(frames[0].client[0].function, "f");
    assert_int_equal(frames[0].client[0].offset, 16);
    assert_true(frames[0].has_client_start);
    assert_int_equal(frames[0].client_start, UINT64_MAX - 31);
    assert_int_equal(frames[1].n_client, 0);
    assert_int_equal(frames[2].n_client, 0);
    assert_int_equal(frames[3].n_client, 1);
    /* Where a function without a name starts is worth keeping. */
    assert_true(frames[2].has_client_start);
    assert_int_equal(frames[2].client_start, 4090);
    assert_false(frames[3].has_client_start);
}

static void
test_stack_and_registers(void **state)
{
    (void)state;
    limits.memory_bytes = 6;
    struct report r =
        parse("{\"report\":{},\"crash\":{\"threads\":["
              "{\"stack\":{\"dump_start\":256,\"contents\":\"00FFa0B1\"},"
              "\"registers\":{\"basic\":{\"x0\":18446744073709551615,\"x1\":\"?\"},"
              "\"exception\":{\"far\":16}},\"notable_addresses\":{\"x0\":{\"type\":\"unknown\"}}},"
              "{\"stack\":{\"dump_start\":512,\"contents\":\"010203\"}},"
              "{\"stack\":{\"dump_start\":768,\"contents\":\"0g\"}}]}}");
    const struct report_thread *thread = &r.threads[0];
    assert_int_equal(thread->stack.addr, 256);
    assert_int_equal(thread->stack.bytes.len, 4);
    assert_memory_equal(thread->stack.bytes.data, "\x00\xff\xa0\xb1", 4);
    assert_int_equal(thread->n_registers, 2);
    assert_int_equal(thread->registers[0].value, UINT64_MAX);
    assert_string_equal(report_register_name(&r, &thread->registers[1]), "far");
    assert_string_equal(thread->notable_json, "{\"x0\":{\"type\":\"unknown\"}}");
    assert_true(noted(&r, "threads[0].registers.x1: not a register's value"));
    assert_int_equal(r.threads[1].stack.bytes.len, 2); /* of 3: the limit */
    assert_true(noted(&r, "threads[1].stack: cut"));
    assert_int_equal(r.threads[2].stack.bytes.len, 0);
}

static void
test_threads_limit_keeps_crashed(void **state)
{
    (void)state;
    limits.threads = 2;
    limits.frames = 1;
    struct report r =
        parse("{\"report\":{},\"crash\":{\"threads\":[{\"index\":0},{\"index\":1},"
              "{\"index\":2},{\"index\":3,\"crashed\":true,\"backtrace\":{"
              "\"contents\":[{\"instruction_addr\":1},{\"instruction_addr\":2}]}}]}}");
    assert_int_equal(r.n_threads, 2);
    assert_int_equal(r.threads[1].index, 3);
    assert_int_equal(r.threads[1].n_frames, 1);
    assert_int_equal(r.threads[1].n_frames_cut, 1);
    assert_int_equal(r.crash.thread, 3);
    assert_true(noted(&r, "threads: 4, of which 2 are kept"));
}

static void
test_recrash(void **state)
{
    (void)state;
    /* The threads of the one, the crash of both, whichever holds the other. */
    static const char app[] = "\"crash\":{\"error\":{\"type\":\"mach\","
                              "\"mach\":{\"exception\":1}},\"threads\":[{\"index\":7,\"crashed\":"
                              "true,\"backtrace\":{\"contents\":[{\"instruction_addr\":16}]}}]}";
    static const char own[] = "\"crash\":{\"error\":{\"signal\":{"
                              "\"name\":\"SIGBUS\"},\"address\":9},\"crashed_thread\":{\"index\":7,"
                              "\"crashed\":true,\"backtrace\":{\"contents\":[{"
                              "\"instruction_addr\":32}]}}}";
    for (int i = 0; i < 2; i++) {
        struct report r = parse(fz_arena_printf(
            &arena,
            "{\"report\":{\"id\":\"a\"},\"recrash_report\":{\"report\":{\"id\":\"b\"},%s},%s}",
            i ? own : app, i ? app : own));
        assert_string_equal(r.id, "a");
        assert_string_equal(r.crash.mach, "EXC_BAD_ACCESS");
        assert_int_equal(r.n_threads, 2);
        assert_int_equal(r.threads[0].frames[0].addr, 16);
        assert_true(r.threads[0].crashed);
        assert_int_equal(r.threads[1].frames[0].addr, 32);
        assert_int_equal(r.threads[1].index, 8); /* 7 is taken */
        assert_false(r.threads[1].crashed);
        assert_int_equal(r.crash.thread, 7);
        assert_true(noted(&r, "the crash reporter crashed itself while it wrote this report: "
                              "SIGBUS at 0x9"));
        assert_non_null(strstr(r.extra_json, "\"recrash_error\":{"));
    }
}

static void
test_broken(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n_threads;
        const char *note;
    } cases[] = {
        {"{\"report\":{},\"crash\":{\"threads\":[{},{},]}}", 2, "the bracket at byte 39"},
        {"{\"report\":{},\"crash\":{\"threads\":[{},{\"name\":\"a", 2, "at byte 46"},
        {"{\"report\":{},\"crash\":{\"threads\":[{},{}]}}}tail", 2, "at byte 41"},
        {"{\"report\":{},\"crash\":{\"threads\":[{},{}]},\"user\":{\"a\":1 2}}", 2, "at byte 55"},
        {"{\"report\":{},\"crash\":{\"threads\":[{}]}", 1, "what precedes the fault is kept"},
        {"{\"report\":{},\"crash\":{\"threads\":[{\"index\":1", 1,
         "what precedes the fault is kept"},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        struct report r = parse(cases[i].text);
        if (r.n_threads != cases[i].n_threads || !noted(&r, cases[i].note))
            fail_msg("%s: %zu threads, %s", cases[i].text, r.n_threads,
                     r.n_notes ? r.notes[0] : "no note");
    }
    /* A number at the end may have been longer. */
    struct report r = parse(cases[5].text);
    assert_int_equal(r.threads[0].index, 0);
}

static void
test_refused(void **state)
{
    (void)state;
    struct report report;
    struct fz_error err;
    const char *format;
    char id[FZ_UUID_TEXT];
    static const char text[] = "{\"binary_images\":[{\"image_addr\":1,}],\"x\":[}";
    assert_int_equal(ingest_parse(fz_span_cstr(text), &limits, &arena, &report, &err),
                     FZ_E_MALFORMED);
    assert_int_equal(err.offset, 34);
    assert_int_equal(check_body(fz_span_cstr(text), &limits, &format, id, &err), FZ_E_MALFORMED);
    assert_int_equal(err.offset, 34);
}

static void
test_id(void **state)
{
    (void)state;
    struct fz_error err;
    const char *format;
    char id[FZ_UUID_TEXT];
    static const char text[] = "{\"crash\":{\"error\":{}},\"report\":{\"type\":\"standard\","
                               "\"id\":\"0FDFF9A9-4C27-4A3D-9F26-5A4B2F0B6C11\"},";
    assert_int_equal(check_body(fz_span_cstr(text), &limits, &format, id, &err), FZ_OK);
    assert_string_equal(id, "0fdff9a94c274a3d9f265a4b2f0b6c11");
    assert_string_equal(format, "kscrash");
}

static void
test_images_of_frames(void **state)
{
    (void)state;
    struct report r =
        parse("{\"report\":{},\"binary_images\":[{\"image_addr\":4096,\"image_size\":4096,"
              "\"name\":\"/a/Shop\",\"uuid\":\"4c4c445b-5555-3144-a129-88beb9d5eb60\","
              "\"crash_info_message\":\"Fatal error\",\"major_version\":1}],"
              "\"crash\":{\"threads\":[{\"backtrace\":{\"contents\":["
              "{\"instruction_addr\":4100,\"object_addr\":4096,\"object_name\":\"Shop\"},"
              "{\"instruction_addr\":9100,\"object_addr\":9000,\"object_name\":\"Kit\"},"
              "{\"instruction_addr\":9050,\"object_addr\":9000,\"object_name\":\"Kit\"}]}}]}}");
    assert_int_equal(r.n_images, 2);
    assert_string_equal(r.images[0].version, "1.0.0");
    assert_string_equal(r.images[0].name, "Shop");
    assert_string_equal(r.images[1].name, "Kit");
    assert_int_equal(r.images[1].size, 101);
    assert_false(r.images[1].has_uuid);
    assert_int_equal(r.crash.n_messages, 1);
    assert_string_equal(r.crash.messages[0], "Fatal error");
}

/* An image that one frame names is found wherever that frame is, also where all others are in listed images. */
static void
test_image_of_one_frame(void **state)
{
    (void)state;
#define FRAME(base) \
    "{\"instruction_addr\":" base "1,\"object_addr\":" base "0,\"object_name\":\"x\"}"
#define SHOP FRAME("409")
    static const struct {
        const char *threads;
        size_t n_images;
    } cases[] = {
        {"{\"backtrace\":{\"contents\":[" SHOP "," SHOP "]}}", 1},
        {"{\"backtrace\":{\"contents\":[" SHOP "," FRAME("900") "]}}", 2},
        {"{\"backtrace\":{\"contents\":[" SHOP "," SHOP "," FRAME("900") "]}}",
         2}, /* beyond the limit */
        {"{\"index\":1},{\"index\":2},{\"backtrace\":{\"contents\":[" SHOP "]}},"
         "{\"backtrace\":{\"contents\":[" FRAME("900") "]}}",
         2},
        {"{\"backtrace\":{\"contents\":[" SHOP ",{\"instruction_addr\":9001,\"object_addr\":9000,"
         "\"object_name\":\"\\u0078\"}]}}",
         2},
        {"{\"backtrace\":{\"contents\":[" SHOP
         ",{\"instruction_addr\":\"9001\",\"object_addr\":\"0x2328\","
         "\"object_name\":\"x\"}]}}",
         2},
        {"{\"backtrace\":{\"contents\":[" SHOP "]}},{\"backtrace\":{\"contents\":{\"no\":1}}}", 1},
    };
    limits.threads = 3;
    limits.frames = 2;
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char text[1024];
        snprintf(text, sizeof(text),
                 "{\"report\":{},\"binary_images\":[{\"image_addr\":4090,\"image_size\":90,"
                 "\"name\":\"x\"}],\"crash\":{\"threads\":[%s]}}",
                 cases[i].threads);
        struct report r = parse(text);
        if (r.n_images != cases[i].n_images)
            fail_msg("%s: %zu images", text, r.n_images);
    }
    /* More images than are kept in mind. */
    FZ_CLEANUP(fz_buffer_deinit) struct fz_buffer many = fz_buffer_make(0);
    fz_buffer_text(&many, "{\"report\":{},\"binary_images\":[");
    for (unsigned i = 1; i <= 60; i++)
        fz_buffer_printf(&many, "%s{\"image_addr\":%u0,\"image_size\":9}", i > 1 ? "," : "", i);
    fz_buffer_text(&many, "],\"crash\":{\"threads\":[{}");
    for (unsigned i = 1; i <= 100; i++) {
        fz_buffer_printf(&many,
                         "%s{\"instruction_addr\":%u1,\"object_addr\":%u0,\"object_name\":\"x\"}",
                         i % 50 == 1 ? ",{\"backtrace\":{\"contents\":[" : ",", i, i);
        fz_buffer_text(&many, i % 50 == 0 ? "]}}" : "");
    }
    fz_buffer_text(&many, "]}}");
    limits.frames = 100;
    struct report r = parse(fz_buffer_cstr(&many));
    assert_int_equal(r.n_images, 100);
#undef SHOP
#undef FRAME
}

/* Samples of one stack are counted, other stacks are kept beside it; the limit is reported. */
static void
test_profile(void **state)
{
    (void)state;
    limits.threads = 2;
    struct report r =
        parse("{\"report\":{},\"crash\":{\"error\":{\"type\":\"profile\",\"profile\":{\"frames\":["
              "{\"instruction_addr\":1},{\"instruction_addr\":2}],\"samples\":[{\"frames\":[0,1]},"
              "{\"frames\":[1]},{\"frames\":[0,1]},{\"frames\":[0]},{\"frames\":[-1,7]}]}}}}");
    assert_string_equal(r.kind, "cpu");
    assert_int_equal(r.n_threads, 2);
    assert_int_equal(r.threads[0].samples, 2);
    assert_int_equal(r.threads[0].n_frames, 2);
    assert_int_equal(r.threads[1].samples, 1);
    assert_int_equal(r.threads[1].frames[0].addr, 2);
    assert_true(noted(&r, "profile: 1 samples of other stacks"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_detect, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_first_frame, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_client_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stack_and_registers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_threads_limit_keeps_crashed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_recrash, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_id, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_images_of_frames, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_image_of_one_frame, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_profile, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
