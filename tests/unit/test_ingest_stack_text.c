#include "tests/unit/ingest_case.h"

#include <stdio.h>

static struct report
parse(const char *text)
{
    return parse_as(fz_span_cstr(text), "text");
}

/* The same two frames in every dialect: newest first, with these names. */
static const struct {
    const char *name, *text;
    enum report_adjust first;
    bool has_start;
} dialects[] = {
    {"callStackSymbols",
     "0   Demo                0x0000000104004068 work_step + 8\n"
     "1   Demo                0x000000010400404c main + 12\n",
     REPORT_ADJUST_AUTO, true},
    {"NSLog of an array",
     "(\n\t0   Demo   0x0000000104004068 work_step + 8,\n\t1   Demo   0x000000010400404c main + "
     "12\n)\n",
     REPORT_ADJUST_AUTO, true},
    {"NSLog of an array, quoted",
     "(\n    \"0   Demo   0x0000000104004068 work_step + 8\",\n"
     "    \"1   Demo   0x000000010400404c main + 12\"\n)\n",
     REPORT_ADJUST_AUTO, true},
    {"print of an array",
     "[\"0   Demo   0x0000000104004068 work_step + 8\", \"1   Demo   0x000000010400404c main + "
     "12\"]",
     REPORT_ADJUST_AUTO, true},
    {"JSON array",
     "[\n  \"0   Demo   0x0000000104004068 work_step + 8\",\n"
     "  \"1   Demo   0x000000010400404c main + 12\"\n]",
     REPORT_ADJUST_AUTO, true},
    {"BSBacktraceLogger",
     "Backtrace of Thread 0:\nDemo     0x104004068 work_step + 8\nDemo     0x10400404c main + 12\n",
     REPORT_ADJUST_AUTO, true},
    {"lldb",
     "* thread #0, stop reason = signal SIGABRT\n"
     "  * frame #0: 0x0000000104004068 Demo`work_step + 8\n"
     "    frame #1: 0x000000010400404c Demo`main + 12\n",
     REPORT_ADJUST_AUTO, true},
    {"lldb with lines",
     "  * frame #0: 0x0000000104004068 Demo`work_step(x=21) at work.c:5:3 [opt]\n"
     "    frame #1: 0x000000010400404c Demo`main(argc=1, argv=0x000000016fdff000) at main.c:5\n",
     REPORT_ADJUST_AUTO, false},
    {"log of an exception",
     "*** First throw call stack:\n(\n0   Demo   0x0000000104004068 work_step + 8\n"
     "1   Demo   0x000000010400404c main + 12\n)\n",
     REPORT_ADJUST_RETURN, true},
    {"cut at its start",
     "4   Demo   0x0000000104004068 work_step + 8\n5   Demo   0x000000010400404c main + 12\n",
     REPORT_ADJUST_RETURN, true},
    {"mail",
     "Hello,\r\n\r\n> 0   Demo   0x0000000104004068 work_step + 8\r\n"
     "> 1   Demo   0x000000010400404c main + 12\r\nBye\r\n",
     REPORT_ADJUST_AUTO, true},
    {"sample",
     "Call graph:\n    9 Thread_1\n      9 main  (in Demo) + 12  [0x10400404c]\n"
     "        9 work_step  (in Demo) + 8  [0x104004068]\n",
     REPORT_ADJUST_AUTO, true},
    {"spindump",
     "  Thread 0x4c7  DispatchQueue \"q\"(1)  9 samples (1-9)\n"
     "  9  main + 12 (Demo + 16460) [0x10400404c 1-9]\n"
     "    9  work_step + 8 (work.c:5 in Demo + 16488) [0x104004068 1-9]\n",
     REPORT_ADJUST_AUTO, true},
};

static void
test_dialects(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
        struct report r = parse(dialects[i].text);
        if (r.n_threads != 1 || r.threads[0].n_frames != 2)
            fail_msg("%s: %zu threads", dialects[i].name, r.n_threads);
        const struct report_frame *frames = r.threads[0].frames;
        bool right = frames[0].addr == 0x104004068 && frames[1].addr == 0x10400404c &&
                     frames[0].n_client == 1 && frames[1].n_client == 1 &&
                     strcmp(frames[0].client[0].function, "work_step") == 0 &&
                     strcmp(frames[1].client[0].function, "main") == 0 &&
                     frames[0].has_client_start == dialects[i].has_start &&
                     frames[0].adjust == dialects[i].first &&
                     frames[1].adjust == REPORT_ADJUST_AUTO && r.threads[0].crashed;
        if (!right)
            fail_msg("%s", dialects[i].name);
        if (dialects[i].has_start)
            assert_true(frames[0].client_start == 0x104004060);
        assert_string_equal(r.images[0].name, "Demo");
    }
}

static const struct {
    const char *line, *name, *path;
} lists[] = {
    {"0x104000000 - 0x10400bfff Demo arm64  <4c4c445b55553144a12988beb9d5eb60> /v/Demo", "Demo",
     "/v/Demo"},
    {"Demo 0x104000000 4c4c445b55553144a12988beb9d5eb60", "Demo", NULL},
    {"My Demo 0x104000000 <4C4C445B-5555-3144-A129-88BEB9D5EB60>", "My Demo", NULL},
    {"4C4C445B-5555-3144-A129-88BEB9D5EB60 0x104000000 /v/My App/Demo", "Demo", "/v/My App/Demo"},
    {"0x104000000, 4C4C445B-5555-3144-A129-88BEB9D5EB60, Demo", "Demo", NULL},
    {"4C4C445B-5555-3144-A129-88BEB9D5EB60 Demo: 0x104000000", "Demo", NULL},
    {"[  0] 4C4C445B-5555-3144-A129-88BEB9D5EB60 0x0000000104000000 /v/Demo", "Demo", "/v/Demo"},
};

static void
test_lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), "0 Demo 0x104004068 f + 8\n1 Demo 0x104004000 g + 8\n%s\n",
                 lists[i].line);
        struct report r = parse(text);
        if (r.n_images < 1 || !r.images[0].has_uuid || r.images[0].addr != 0x104000000)
            fail_msg("%s", lists[i].line);
        assert_int_equal(r.images[0].uuid.bytes[15], 0x60);
        assert_string_equal(r.images[0].name, lists[i].name);
        if (lists[i].path)
            assert_string_equal(r.images[0].path, lists[i].path);
    }
}

static void
test_hints(void **state)
{
    (void)state;
    struct report r = parse("0 libsystem_c.dylib 0x1a0000010 0x1a0000000 + 16\n"
                            "1 Demo 0x104004068 Demo + 16488\n2 Demo 0x104004070 main + 8\n"
                            "3 Kit 0x200000000 f + 1\n4 ??? 0x10 0x0 + 16\n");
    assert_int_equal(r.n_images, 3);
    assert_string_equal(r.images[0].name, "Demo"); /* that of main() */
    assert_true(r.images[0].addr == 0x104000000);
    assert_string_equal(r.images[1].name, "libsystem_c.dylib");
    assert_true(r.images[1].addr == 0x1a0000000);
    assert_string_equal(r.images[2].name, "Kit"); /* by name alone */
    assert_true(r.images[2].addr == 0 && r.images[2].size == 0);
    assert_int_equal(report_image_at(&r, 0x10), -1); /* contains no address */
    const struct report_frame *frames = r.threads[0].frames;
    static const int images[] = {1, 0, 0, 2, -1};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(frames[i].image, images[i]);
}

static void
test_lldb(void **state)
{
    (void)state;
    struct report r =
        parse("* thread #3, name = 'worker', queue = 'q', stop reason = EXC_BAD_ACCESS (code=1, "
              "address=0x10)\n"
              "  * frame #0: 0x40 Demo`work_step [inlined] A::inner(int)(x=21) at w.cpp:2:9 [opt]\n"
              "    frame #1: 0x40 Demo`work_step(x=20) at w.cpp:5:3 [opt]\n"
              "    frame #2: 0x50 Demo`___lldb_unnamed_symbol12 + 8\n"
              "  thread #1\n    frame #0: 0x60 dyld`start\n");
    assert_int_equal(r.n_threads, 2);
    assert_int_equal(r.crash.thread, 3);
    assert_string_equal(r.crash.mach, "EXC_BAD_ACCESS");
    assert_true(r.crash.has_address && r.crash.address == 0x10);
    assert_int_equal(r.crash.n_mach_codes, 2);
    assert_true(r.crash.mach_codes[0] == 1 && r.crash.mach_codes[1] == 0x10);
    assert_string_equal(r.threads[0].name, "worker");
    assert_int_equal(r.threads[0].n_frames, 2);
    const struct report_frame *frame = &r.threads[0].frames[0];
    assert_int_equal(frame->n_client, 2);
    assert_string_equal(frame->client[0].function, "A::inner(int)");
    assert_true(frame->client[0].inlined);
    assert_int_equal(frame->client[0].column, 9);
    assert_string_equal(frame->client[1].function, "work_step");
    assert_string_equal(frame->client[1].file, "w.cpp");
    assert_int_equal(r.threads[0].frames[1].n_client, 0);
}

static void
test_lldb_codes(void **state)
{
    (void)state;
    static const struct {
        const char *reason;
        size_t n_codes;
        uint64_t codes[2];
        const char *code;
    } cases[] = {
        {"EXC_BREAKPOINT (code=1, subcode=0x1045f4314)", 2, {1, 0x1045f4314}, "EXC_ARM_BREAKPOINT"},
        {"EXC_BAD_ACCESS (code=257)", 1, {257}, "EXC_ARM_DA_ALIGN"},
        {"EXC_BAD_ACCESS (code=EXC_I386_GPFLT)", 0, {0}, "EXC_I386_GPFLT"},
        {"EXC_BAD_INSTRUCTION (code=EXC_I386_INVOP, subcode=0x0)", 0, {0}, "EXC_I386_INVOP"},
        {"EXC_RESOURCE RESOURCE_TYPE_MEMORY (limit=50 MB, unused=0x0)", 0, {0}, NULL},
        {"signal SIGABRT", 0, {0}, NULL},
        {"EXC_BAD_ACCESS (code=", 0, {0}, NULL},
    };
    for (size_t i = 0; i < FZ_ARRAY_LEN(cases); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "* thread #1, stop reason = %s\n"
                 "  * frame #0: 0x40 Demo`f\n    frame #1: 0x50 Demo`g\n",
                 cases[i].reason);
        struct report r = parse(text);
        assert_int_equal(r.crash.n_mach_codes, cases[i].n_codes);
        for (size_t k = 0; k < cases[i].n_codes; k++)
            assert_true(r.crash.mach_codes[k] == cases[i].codes[k]);
        if (cases[i].code)
            assert_string_equal(r.crash.code, cases[i].code);
        else
            assert_null(r.crash.code);
    }
}

/* Self time makes a stack of its own; the heads of threads do not. */
static void
test_tree(void **state)
{
    (void)state;
    struct report r = parse("Call graph:\n    10 Thread_1: t  DispatchQueue_1: q  (serial)\n"
                            "    + 10 a  (in D) + 1  [0x1]\n    +   6 b  (in D) + 1  [0x2]\n"
                            "    +   ! 6 c  (in D) + 1  [0x3]\n    +   1 b  (in D) + 1  [0x4]\n"
                            "    2 Thread_2\n      2 d  (in D) + 1  [0x5]\n");
    static const struct {
        uint32_t samples;
        uint64_t addrs[4];
    } want[] = {{6, {3, 2, 1}}, {1, {4, 1}}, {3, {1}}, {2, {5}}};
    assert_int_equal(r.n_threads, 4);
    assert_string_equal(r.kind, "hang");
    assert_string_equal(r.threads[0].name, "t");
    assert_string_equal(r.threads[2].queue, "q");
    assert_null(r.threads[3].queue);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(r.threads[i].samples, want[i].samples);
        for (size_t j = 0; j < r.threads[i].n_frames; j++)
            assert_true(r.threads[i].frames[j].addr == want[i].addrs[j]);
    }
    assert_int_equal(r.threads[1].frames[1].samples, 10);
}

static void
test_list_alone(void **state)
{
    (void)state;
    struct report r = parse("*** Terminating app due to uncaught exception 'E', reason: 'why'\n"
                            "*** First throw call stack:\n(0x10 0x20\n 0x30)\n");
    assert_string_equal(r.crash.exception, "E");
    assert_string_equal(r.crash.reason, "why");
    assert_int_equal(r.n_threads, 1);
    assert_true(r.threads[0].frames[0].adjust == REPORT_ADJUST_RETURN);
    assert_true(r.threads[0].frames[1].addr == 0x20);
}

static void
test_log_head(void **state)
{
    (void)state;
    struct report r = parse("2024-03-15 08:38:21.236 My Demo[123:4567] *** Terminating app due to "
                            "uncaught exception 'E', reason: 'it's that'\n"
                            "0 Demo 0x10 f + 1\n1 Demo 0x20 g + 1\n");
    assert_string_equal(r.process.name, "My Demo");
    assert_int_equal(r.process.pid, 123);
    assert_true(r.timestamp_ms == 1710491901236);
    assert_string_equal(r.crash.reason, "it's that");
}

static void
test_no_stack(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "hello\n",
        "3 errors at 0x10\n",
        "0x10 0x20\n",
        "(0x10 0x20)\n",
        "1 Demo 0x10 f + 1\n",
        "[\"a\", \"b\"]",
        "{\"a\":\n0 Demo 0x10 f + 1\n1 Demo 0x10 f + 1\n}",
        "Call graph:\n",
        "frame #0: main\nframe #1: start\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *format = ingest_detect(fz_span_cstr(texts[i]));
        if (format && strcmp(format, "text") == 0)
            fail_msg("\"%s\" was taken for a stack", texts[i]);
    }
}

/* Whichever allocation fails, the parse says so and no more. */
static void
test_out_of_memory(void **state)
{
    (void)state;
    static const char text[] =
        "2024-03-15 08:38:21.236 Demo[1:2] *** Terminating app due to uncaught exception 'E', "
        "reason: "
        "'why'\nBacktrace of Thread 7:\n0 Demo 0x104004068 f + 8 (w.c:1)\n1 Kit 0x3010 0x3000 + "
        "16\n"
        "2 Demo 0x104004000 main + 1\n* thread #2, name = 'a', queue = 'q', stop reason = EXC_BAD "
        "(x)\n"
        "frame #0: 0x40 Demo`a [inlined] b at w.c:2\nother\nKey: value\n"
        "[ 0] 4C4C445B-5555-3144-A129-88BEB9D5EB60 0x104000000 /v/Demo\nCall graph:\n"
        "  9 Thread_1: t  DispatchQueue_1: q  (serial)\n    9 f  (in D) + 1  [0x1]\n";
    fail_each_allocation(fz_span_cstr(text));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_dialects, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lists, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hints, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lldb, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lldb_codes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_list_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_log_head, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_stack, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_out_of_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
